//! Formats that are blocks one after the other, each decompressed as a whole.

use std::io::{self, Read};

/// Gives one block after the other.
pub(super) trait NextBlock {
    /// Puts the next block's data at the beginning of `block`, making it longer if need be, and says
    /// how many they are; `None` at the end.
    fn next_block(&mut self, block: &mut Vec<u8>) -> io::Result<Option<usize>>;
}

/// Reads from blocks.
pub(super) struct Blockwise<B> {
    blocks: B,
    block: Vec<u8>,
    /// How much of it is the block's.
    filled: usize,
    given: usize,
}

/// Makes room for so many bytes.
pub(super) fn room(block: &mut Vec<u8>, length: usize) -> &mut [u8] {
    if block.len() < length {
        block.resize(length, 0);
    }
    &mut block[..length]
}

impl<B: NextBlock> Blockwise<B> {
    pub(super) fn new(blocks: B) -> Self {
        Blockwise { blocks, block: Vec::new(), filled: 0, given: 0 }
    }
}

impl<B: NextBlock> Read for Blockwise<B> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        while self.given == self.filled {
            (self.filled, self.given) = (0, 0);
            let Some(length) = self.blocks.next_block(&mut self.block)? else { return Ok(0) };
            self.filled = length;
        }
        let count = bytes.len().min(self.filled - self.given);
        bytes[..count].copy_from_slice(&self.block[self.given..self.given + count]);
        self.given += count;
        Ok(count)
    }
}
