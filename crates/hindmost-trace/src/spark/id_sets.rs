//! A set of ids that are mostly consecutive, stored in a few bytes.

use std::collections::BTreeMap;

/// A set of numbers, stored as ranges.
#[derive(Clone, Debug, Default)]
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

    /// Removes a number.
    pub(super) fn remove(&mut self, number: u32) {
        let Some((&first, &last)) = self.ranges.range(..=number).next_back().filter(|(_, last)| number <= **last)
        else {
            return;
        };
        self.len -= 1;
        self.ranges.remove(&first);
        if first < number {
            self.ranges.insert(first, number - 1);
        }
        if number < last {
            self.ranges.insert(number + 1, last);
        }
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
}

#[cfg(test)]
mod tests {
    use rustc_hash::FxHashSet;

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
    fn range_sets_are_compared_like_hash_sets() {
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
        for number in (0..5003).filter(|number| number % 7 < 2) {
            one.remove(number);
            these.remove(&number);
        }
        assert!((0..5003).all(|number| one.contains(number) == these.contains(&number)));
        assert_eq!((one.len(), one.beyond(&other)), (these.len() as u64, these.difference(&those).count() as u64));
        let mut all = RangeSet::default();
        all.insert(u32::MAX);
        all.remove(u32::MAX);
        assert_eq!((all.len(), all.contains(u32::MAX)), (0, false));
    }
}
