//! Sets of ids that are numbered one after the other, in a few bytes however many there are.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

/// A set of numbers, held as ranges.
#[derive(Debug, Default)]
pub(super) struct RangeSet {
    /// First number of a range to its last; ranges neither overlap nor touch.
    ranges: BTreeMap<u32, u32>,
    len: u64,
}

impl RangeSet {
    pub(super) fn contains(&self, number: u32) -> bool {
        self.ranges.range(..=number).next_back().is_some_and(|(_, &last)| number <= last)
    }

    /// Whether the number is new.
    pub(super) fn insert(&mut self, number: u32) -> bool {
        let before = self.ranges.range_mut(..=number).next_back();
        let first = match before {
            Some((_, last)) if number <= *last => return false,
            Some((&first, last)) if number - 1 == *last => {
                *last = number;
                first
            }
            _ => {
                self.ranges.insert(number, number);
                number
            }
        };
        let after = number.checked_add(1).and_then(|next| self.ranges.remove(&next));
        if let Some(last) = after {
            self.ranges.insert(first, last);
        }
        self.len += 1;
        true
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }
}

/// A set of names, most of which are numbers.
#[derive(Debug, Default)]
pub(super) struct NameSet {
    numbers: RangeSet,
    others: FxHashSet<Box<str>>,
}

/// The number that a name is, if it is written as numbers are.
fn number(name: &str) -> Option<u32> {
    let digits = name.bytes().all(|byte| byte.is_ascii_digit());
    (digits && (name.len() == 1 || !name.starts_with('0'))).then(|| name.parse().ok())?
}

impl NameSet {
    pub(super) fn contains(&self, name: &str) -> bool {
        number(name).map_or_else(|| self.others.contains(name), |number| self.numbers.contains(number))
    }

    pub(super) fn insert(&mut self, name: &str) {
        match number(name) {
            Some(number) => {
                self.numbers.insert(number);
            }
            None if self.others.contains(name) => {}
            None => {
                self.others.insert(name.into());
            }
        }
    }

    pub(super) fn len(&self) -> u64 {
        self.numbers.len() + self.others.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_grow_and_join() {
        let mut set = RangeSet::default();
        for number in [5, 3, 4, 5, 0, u32::MAX, u32::MAX - 1, 1, 2, 9] {
            let new = !set.contains(number);
            assert_eq!(set.insert(number), new);
        }
        let ranges: Vec<_> = set.ranges.into_iter().collect();
        assert_eq!((ranges.as_slice(), set.len), (&[(0, 5), (9, 9), (u32::MAX - 1, u32::MAX)][..], 9));
    }

    #[test]
    fn numbers_in_any_order_are_as_in_a_set() {
        let mut set = RangeSet::default();
        let mut known = FxHashSet::default();
        for i in 0..5000_u32 {
            let number = i.wrapping_mul(2_654_435_761) % 3001;
            assert_eq!(set.insert(number), known.insert(number));
        }
        assert!((0..3100).all(|number| set.contains(number) == known.contains(&number)));
        assert_eq!(set.len(), known.len() as u64);
    }

    #[test]
    fn names_are_told_apart() {
        let mut set = NameSet::default();
        for name in ["0", "00", "1", "01", "", "driver", "1", "4294967295", "4294967296", "-1", "1"] {
            set.insert(name);
        }
        assert_eq!(set.len(), 9);
        assert!(set.contains("01") && set.contains("") && !set.contains("2"));
    }
}
