//! Holds the part of a log that a reader currently needs, in one reused buffer.

use std::io::{self, Read};

use super::compression::{Damage, Plain};
use super::relined::{Layout, Relined};

/// Length of the buffer at first, in bytes. One read fills at most the free part of the buffer.
pub(crate) const CHUNK: usize = 256 << 10;

pub(crate) struct Window<'r> {
    plain: Plain<'r>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Whether the end of the log has been reached.
    ended: bool,
    read: u64,
    /// Rewrites the log as one object a line, if it has another layout.
    relined: Option<Relined>,
}

impl<'r> Window<'r> {
    pub(crate) fn new(plain: Plain<'r>) -> Self {
        Window { plain, buffer: vec![0; CHUNK], start: 0, end: 0, ended: false, read: 0, relined: None }
    }

    /// Returns the bytes that have been read but not taken.
    pub(crate) fn held(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Returns whether the log ends after the bytes that are held.
    pub(crate) fn ended(&self) -> bool {
        self.ended
    }

    /// Returns where and why the compressed data end too early; `None` if they do not.
    pub(crate) fn damage(&self) -> Option<&Damage> {
        self.plain.damage()
    }

    /// Returns the bytes of the file read so far; for a compressed file, compressed bytes.
    pub(crate) fn position(&self) -> u64 {
        self.plain.position()
    }

    /// Returns the decompressed bytes of the log read so far.
    pub(crate) fn read(&self) -> u64 {
        self.read
    }

    /// Removes the first `count` of the bytes held, and returns them.
    pub(crate) fn take(&mut self, count: usize) -> &[u8] {
        let from = self.start;
        self.start = self.end.min(from + count);
        &self.buffer[from..self.start]
    }

    /// Reads until at least `least` bytes are held or the log ends. Returns all bytes held.
    pub(crate) fn hold(&mut self, least: usize) -> io::Result<&[u8]> {
        while self.end - self.start < least && !self.ended {
            self.fill()?;
        }
        Ok(self.held())
    }

    /// Rewrites the log as one object a line if its objects span several lines or are the elements of an array; see
    /// [`Layout::of`]. All bytes read so far must be held. Returns whether the log is rewritten.
    pub(crate) fn one_object_a_line(&mut self) -> bool {
        if Layout::of(self.held()) == Layout::Lines {
            return false;
        }
        self.rewrite(0, Relined::new());
        true
    }

    /// Rewrites the objects of an array as one object a line. The array's first element begins after the first `before` bytes held;
    /// what is outside the array is left out. All bytes read so far must be held.
    pub(crate) fn only_array(&mut self, before: usize) {
        self.rewrite(before, Relined::of_array());
    }

    fn rewrite(&mut self, before: usize, mut relined: Relined) {
        let mut lines = Vec::new();
        relined.rewrite(self.held().get(before..).unwrap_or_default(), &mut lines);
        self.relined = Some(relined);
        (self.start, self.end) = (0, 0);
        self.hold_more(&lines);
    }

    /// Appends to the bytes held.
    fn hold_more(&mut self, bytes: &[u8]) {
        let end = self.end + bytes.len();
        if self.buffer.len() < end {
            self.buffer.resize(end, 0);
        }
        self.buffer[self.end..end].copy_from_slice(bytes);
        self.end = end;
    }

    /// Reads one more chunk, after moving the bytes held to the front of the buffer.
    pub(crate) fn fill(&mut self) -> io::Result<()> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.buffer.len() {
            self.buffer.resize(2 * self.buffer.len(), 0);
        } else if self.buffer.len() > 16 * CHUNK && self.end < CHUNK {
            // A very long line or object has been taken, so the buffer can shrink.
            self.buffer.truncate(2 * CHUNK);
            self.buffer.shrink_to_fit();
        }
        let read = self.plain.read(&mut self.buffer[self.end..])?;
        self.read += read as u64;
        self.ended = read == 0;
        if let Some(relined) = &mut self.relined {
            let mut lines = Vec::new();
            relined.rewrite(&self.buffer[self.end..self.end + read], &mut lines);
            self.hold_more(&lines);
        } else {
            self.end += read;
        }
        Ok(())
    }

    /// Returns the bytes held and the reader of the rest.
    pub(crate) fn into_rest(mut self) -> (Vec<u8>, Plain<'r>) {
        self.buffer.truncate(self.end);
        self.buffer.drain(..self.start);
        (self.buffer, self.plain)
    }
}
