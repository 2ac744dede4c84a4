//! Sets of ids that are mostly consecutive, stored in a few bytes.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

/// A set of numbers, stored as ranges.
#[derive(Debug, Default)]
pub(super) struct RangeSet {
    /// The last number of each range, by its first number. Ranges neither overlap nor touch.
    ranges: BTreeMap<u32, u32>,
    len: u64,
}

impl RangeSet {
    pub(super) fn contains(&self, number: u32) -> bool {
        self.ranges.range(..=number).next_back().is_some_and(|(_, &last)| number <= last)
    }

    /// Adds a number; returns whether it is new.
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

    /// Returns the number of ranges, which determines the memory of the set.
    pub(super) fn pieces(&self) -> usize {
        self.ranges.len()
    }

    /// Returns the first number of the middle range.
    pub(super) fn middle(&self) -> Option<u32> {
        self.ranges.keys().nth(self.ranges.len() / 2).copied()
    }

    /// Returns how many numbers of this set are not in the other.
    pub(super) fn beyond(&self, other: &RangeSet) -> u64 {
        let mut common = 0;
        for (&first, &last) in &self.ranges {
            let before = other.ranges.range(..=first).next_back().filter(|&(_, &end)| end >= first);
            let from = before.map_or(first, |(&start, _)| start);
            for (&start, &end) in other.ranges.range(from..=last) {
                common += u64::from(end.min(last) - start.max(first)) + 1;
            }
        }
        self.len - common
    }

    /// Removes and returns the numbers below `least`.
    pub(super) fn below(&mut self, least: u32) -> RangeSet {
        let above = self.ranges.split_off(&least);
        let mut below = RangeSet { ranges: std::mem::replace(&mut self.ranges, above), len: 0 };
        let last = below.ranges.last_entry().filter(|range| *range.get() >= least);
        if let (Some(mut range), Some(end)) = (last, least.checked_sub(1)) {
            self.ranges.insert(least, range.insert(end));
        }
        below.len = below.ranges.iter().map(|(first, last)| u64::from(last - first) + 1).sum();
        self.len -= below.len;
        below
    }
}

/// A set of names, most of which are numbers.
#[derive(Debug, Default)]
pub(super) struct NameSet {
    numbers: RangeSet,
    others: FxHashSet<Box<str>>,
}

/// Parses a name as a number; `None` if the name is not a number in its usual form, for example if it has leading
/// zeros.
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
    fn range_sets_hold_the_same_numbers_as_hash_sets() {
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
    fn range_sets_are_compared_and_split_like_hash_sets() {
        let (mut one, mut other) = (RangeSet::default(), RangeSet::default());
        let (mut these, mut those) = (FxHashSet::default(), FxHashSet::default());
        for i in 0..4000_u32 {
            let number = i.wrapping_mul(2_654_435_761) % 5003;
            if i % 3 != 0 {
                one.insert(number);
                these.insert(number);
            }
            if i % 5 < 3 {
                other.insert(number);
                those.insert(number);
            }
        }
        assert_eq!(one.beyond(&other), these.difference(&those).count() as u64);
        assert_eq!(other.beyond(&one), those.difference(&these).count() as u64);
        for least in [0, 1, 777, 2500, 2501, 6000] {
            let below = one.below(least);
            let (low, high): (FxHashSet<u32>, _) = these.iter().partition(|number| **number < least);
            these = high;
            assert_eq!((below.len(), one.len()), (low.len() as u64, these.len() as u64), "{least}");
            assert!((0..5003).all(|n| below.contains(n) == low.contains(&n) && one.contains(n) == these.contains(&n)));
        }
        let mut all = RangeSet::default();
        all.insert(u32::MAX);
        assert_eq!((all.below(u32::MAX).len(), all.len(), all.middle(), all.pieces()), (0, 1, Some(u32::MAX), 1));
    }

    #[test]
    fn names_with_leading_zeros_are_not_numbers() {
        let mut set = NameSet::default();
        for name in ["0", "00", "1", "01", "", "driver", "1", "4294967295", "4294967296", "-1", "1"] {
            set.insert(name);
        }
        assert_eq!(set.len(), 9);
        assert!(set.contains("01") && set.contains("") && !set.contains("2"));
    }
}
