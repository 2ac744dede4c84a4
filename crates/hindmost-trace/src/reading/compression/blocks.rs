//! Reads formats that consist of blocks, each of which is decompressed as a whole.

use std::io::{self, Read};

/// A source of decompressed blocks.
pub(super) trait NextBlock {
    /// Writes the next block's data to the beginning of `block`, which it extends if needed, and returns their
    /// length; `None` at the end.
    fn next_block(&mut self, block: &mut Vec<u8>) -> io::Result<Option<usize>>;
}

/// A reader of the data of all blocks.
pub(super) struct Blockwise<B> {
    blocks: B,
    block: Vec<u8>,
    /// Length of the current block's data in `block`.
    filled: usize,
    /// Number of these bytes that have been returned.
    given: usize,
}

/// Returns the first `length` bytes of `block`, which it extends if needed.
pub(super) fn sized(block: &mut Vec<u8>, length: usize) -> &mut [u8] {
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
