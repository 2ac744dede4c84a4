//! Nodes and the index of those with free room.

use std::sync::Arc;

use crate::resources::Resources;

/// A node of the cluster.
#[derive(Clone, Debug)]
pub struct Node {
    pub(super) name: Arc<str>,
    pub(super) rack: Option<Arc<str>>,
    pub(super) capacity: Resources,
    pub(super) free: Resources,
    pub(super) reserved: Resources,
    pub(super) speed: f64,
    pub(super) up: bool,
    /// Slots of the attempts that hold room here.
    pub(super) attempts: Vec<u32>,
}

impl Node {
    /// Its name.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// The rack that it is in; nodes of which none is told share one.
    pub fn rack(&self) -> Option<&Arc<str>> {
        self.rack.as_ref()
    }

    /// Its room when empty.
    pub fn capacity(&self) -> &Resources {
        &self.capacity
    }

    /// Room that nothing holds or has reserved.
    pub fn free(&self) -> &Resources {
        &self.free
    }

    /// The smallest share, over dimensions, of its room that is free.
    pub fn free_share(&self) -> f64 {
        let dimensions = self.free.0.iter().zip(&self.capacity.0).filter(|(_, capacity)| **capacity > 0);
        dimensions.map(|(free, capacity)| *free as f64 / *capacity as f64).fold(1.0, f64::min)
    }

    /// Room that is reserved and not in use.
    pub fn reserved(&self) -> &Resources {
        &self.reserved
    }

    /// Work done in a second, relative to a node of speed 1.
    pub fn speed(&self) -> f64 {
        self.speed
    }

    /// False while it is lost.
    pub fn is_up(&self) -> bool {
        self.up
    }

    /// Number of attempts that hold room here.
    pub fn attempts(&self) -> usize {
        self.attempts.len()
    }
}

/// A set of node numbers with the smallest found fast: bits, and bits that tell which words of bits
/// are not empty.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeSet {
    words: Vec<u64>,
    summary: Vec<u64>,
    len: usize,
}

impl NodeSet {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn insert(&mut self, number: u32) {
        let word = (number / 64) as usize;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
            self.summary.resize(word / 64 + 1, 0);
        }
        let bit = 1 << (number % 64);
        if self.words[word] & bit == 0 {
            self.len += 1;
            self.words[word] |= bit;
            self.summary[word / 64] |= 1 << (word % 64);
        }
    }

    pub(super) fn remove(&mut self, number: u32) {
        let word = (number / 64) as usize;
        let bit = 1 << (number % 64);
        if self.words.get(word).is_some_and(|bits| bits & bit != 0) {
            self.len -= 1;
            self.words[word] &= !bit;
            if self.words[word] == 0 {
                self.summary[word / 64] &= !(1 << (word % 64));
            }
        }
    }

    pub(super) fn contains(&self, number: u32) -> bool {
        self.words.get((number / 64) as usize).is_some_and(|bits| bits & (1 << (number % 64)) != 0)
    }

    /// The first member that is at least so large.
    pub(super) fn next(&self, from: u32) -> Option<u32> {
        let word = (from / 64) as usize;
        let here = self.words.get(word)? & (u64::MAX << (from % 64));
        if here != 0 {
            return Some(word as u32 * 64 + here.trailing_zeros());
        }
        let after = word + 1;
        let first = self.summary.get(after / 64)? & (u64::MAX << (after % 64));
        let rest = self.summary.iter().enumerate().skip(after / 64 + 1).map(|(at, summary)| (at, *summary));
        let (at, summary) = std::iter::once((after / 64, first)).chain(rest).find(|(_, summary)| *summary != 0)?;
        let word = at * 64 + summary.trailing_zeros() as usize;
        Some(word as u32 * 64 + self.words[word].trailing_zeros())
    }

    /// The members in ascending order.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.summary.iter().enumerate().flat_map(move |(at, summary)| {
            bits(*summary).flat_map(move |word| {
                let word = at * 64 + word as usize;
                bits(self.words[word]).map(move |bit| word as u32 * 64 + bit)
            })
        })
    }
}

fn bits(mut word: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        if word == 0 {
            return None;
        }
        let bit = word.trailing_zeros();
        word &= word - 1;
        Some(bit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_come_in_order() {
        let mut set = NodeSet::default();
        for number in [70_000, 3, 64, 63, 4096, 3] {
            set.insert(number);
        }
        set.remove(64);
        set.remove(65);
        assert_eq!(set.len(), 4);
        assert_eq!(set.iter().collect::<Vec<_>>(), [3, 63, 4096, 70_000]);
        let next = [0, 3, 4, 63, 64, 4096, 4097, 70_000, 70_001, 9_999_999].map(|from| set.next(from));
        let (some, none) = next.split_at(8);
        assert_eq!(some, [3, 3, 63, 63, 4096, 4096, 70_000, 70_000].map(Some));
        assert_eq!(none, [None, None]);
    }
}
