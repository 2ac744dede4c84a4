//! Readers that tests of several modules use.

use std::io::{self, Read};

use super::compression::Plain;

/// A reader of the bytes in field 0. Each read returns at most as many bytes as field 1 says.
pub(crate) struct Drip<'a>(pub &'a [u8], pub usize);

impl Read for Drip<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.1.min(buffer.len()).min(self.0.len());
        buffer[..count].copy_from_slice(&self.0[..count]);
        self.0 = &self.0[count..];
        Ok(count)
    }
}

/// Returns a log that is read at most `bytes` bytes at a time.
pub(crate) fn dripping(log: &[u8], bytes: usize) -> Plain<'_> {
    Plain::new(Drip(log, bytes)).unwrap()
}
