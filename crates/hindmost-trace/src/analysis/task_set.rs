//! A set of task indices in bounded memory.

use rustc_hash::FxHashMap;

/// Number of tasks in a block of bits.
const BLOCK: u32 = 4096;
/// The most blocks of a set. They hold up to 33 million tasks with neighbouring indices in 4 MB.
const BLOCKS: usize = 8192;

/// A set of task indices: one bit each where indices lie close together, 512 bytes for an isolated index. Once it is
/// full, tasks in new blocks are not remembered.
#[derive(Debug, Default)]
pub(super) struct TaskSet {
    blocks: FxHashMap<u32, Box<[u64; (BLOCK / 64) as usize]>>,
}

impl TaskSet {
    /// Adds a task; returns whether it is new.
    pub(super) fn insert(&mut self, task: u32) -> bool {
        let full = self.blocks.len() >= BLOCKS;
        let block = match self.blocks.get_mut(&(task / BLOCK)) {
            Some(block) => block,
            None if full => return true,
            None => self.blocks.entry(task / BLOCK).or_insert_with(|| Box::new([0; (BLOCK / 64) as usize])),
        };
        let (word, bit) = (((task % BLOCK) / 64) as usize, 1 << (task % 64));
        let new = block[word] & bit == 0;
        block[word] |= bit;
        new
    }

    pub(super) fn contains(&self, task: u32) -> bool {
        let block = self.blocks.get(&(task / BLOCK));
        block.is_some_and(|block| block[((task % BLOCK) / 64) as usize] & (1 << (task % 64)) != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_new_only_the_first_time() {
        let mut set = TaskSet::default();
        for task in [0, 63, 64, 4095, 4096, u32::MAX] {
            assert!(!set.contains(task) && set.insert(task));
            assert!(set.contains(task) && !set.insert(task));
        }
        assert!(!set.contains(1) && !set.contains(u32::MAX - 1));
    }

    #[test]
    fn a_full_set_does_not_grow() {
        let mut set = TaskSet::default();
        for block in 0..2 * BLOCKS as u32 {
            assert!(set.insert(block * BLOCK));
        }
        assert_eq!(set.blocks.len(), BLOCKS);
        assert!(!set.insert(0) && set.insert(1) && !set.insert(1));
    }
}
