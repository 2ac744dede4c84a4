//! A bit set of small ids. It also keeps one bit per word that says whether the word is empty, so that the next member
//! after an id is found quickly.

/// A set of whole numbers, with one bit per number. Its memory grows with the largest member.
#[derive(Clone, Debug, Default)]
pub struct IdSet {
    words: Vec<u64>,
    /// One bit per entry of `words`: 1 if the entry is not 0.
    summary: Vec<u64>,
    len: usize,
}

impl IdSet {
    /// Returns the number of members.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Adds a number. Returns false if the number was a member already.
    pub fn insert(&mut self, number: u32) -> bool {
        let word = (number / 64) as usize;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
            self.summary.resize(word / 64 + 1, 0);
        }
        let bit = 1 << (number % 64);
        let is_new = self.words[word] & bit == 0;
        if is_new {
            self.len += 1;
            self.words[word] |= bit;
            self.summary[word / 64] |= 1 << (word % 64);
        }
        is_new
    }

    /// Removes a number. Returns false if the number was not a member.
    pub fn remove(&mut self, number: u32) -> bool {
        let word = (number / 64) as usize;
        let bit = 1 << (number % 64);
        let was_there = self.words.get(word).is_some_and(|bits| bits & bit != 0);
        if was_there {
            self.len -= 1;
            self.words[word] &= !bit;
            if self.words[word] == 0 {
                self.summary[word / 64] &= !(1 << (word % 64));
            }
        }
        was_there
    }

    /// Removes all members.
    pub fn clear(&mut self) {
        for (at, summary) in self.summary.iter_mut().enumerate() {
            for word in bits(std::mem::take(summary)) {
                self.words[at * 64 + word as usize] = 0;
            }
        }
        self.len = 0;
    }

    /// Returns true if the set has no members.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds all members of another set.
    pub fn insert_all(&mut self, other: &IdSet) {
        for number in other.iter() {
            self.insert(number);
        }
    }

    /// Removes all members of another set.
    pub fn remove_all(&mut self, other: &IdSet) {
        for number in other.iter() {
            self.remove(number);
        }
    }

    /// Returns true if the number is a member.
    pub fn contains(&self, number: u32) -> bool {
        self.words.get((number / 64) as usize).is_some_and(|bits| bits & (1 << (number % 64)) != 0)
    }

    /// Returns the smallest member that is at least `from`.
    pub fn next(&self, from: u32) -> Option<u32> {
        if self.len == 0 {
            return None;
        }
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

    /// Returns the members in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
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
    fn members_are_iterated_in_order() {
        let mut set = IdSet::default();
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
        set.clear();
        assert!(set.is_empty() && set.next(0).is_none() && !set.contains(3));
        assert!(set.insert(3) && !set.insert(3) && set.remove(3) && !set.remove(3));
    }
}
