//! A buffered reader that counts what is taken from it.

use std::io::{self, Read};

/// Bytes asked of the system at a time.
const CHUNK: usize = 128 << 10;

pub(super) struct Input<R> {
    reader: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    taken: u64,
}

impl<R: Read> Input<R> {
    pub(super) fn new(reader: R) -> Self {
        Input { reader, buffer: vec![0; CHUNK], start: 0, end: 0, taken: 0 }
    }

    /// Bytes taken so far.
    pub(super) fn position(&self) -> u64 {
        self.taken
    }

    /// Bytes that can be taken: none only at the end.
    pub(super) fn available(&mut self) -> io::Result<&[u8]> {
        self.peek(1)
    }

    /// So many bytes, or all there are if these are fewer, without taking them; more if they are there.
    pub(super) fn peek(&mut self, least: usize) -> io::Result<&[u8]> {
        while self.end - self.start < least && self.fill()? > 0 {}
        Ok(&self.buffer[self.start..self.end])
    }

    /// Takes bytes that are available.
    pub(super) fn advance(&mut self, count: usize) {
        let count = count.min(self.end - self.start);
        self.start += count;
        self.taken += count as u64;
    }

    /// Fills `bytes`, or as much of it as there is; says how much that was.
    pub(super) fn take_into(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let mut done = 0;
        while done < bytes.len() {
            let rest = &mut bytes[done..];
            let available = self.available()?;
            let count = available.len().min(rest.len());
            if count == 0 {
                break;
            }
            rest[..count].copy_from_slice(&available[..count]);
            self.advance(count);
            done += count;
        }
        Ok(done)
    }

    /// So many bytes in place of what `bytes` holds, or as many as there are; it grows only as they come.
    pub(super) fn take_onto(&mut self, bytes: &mut Vec<u8>, count: usize) -> io::Result<()> {
        bytes.clear();
        while bytes.len() < count {
            let missing = count - bytes.len();
            let available = self.available()?;
            let some = available.len().min(missing);
            if some == 0 {
                break;
            }
            bytes.extend_from_slice(&available[..some]);
            self.advance(some);
        }
        Ok(())
    }

    /// Takes so many bytes and forgets them; says how many there were.
    pub(super) fn pass(&mut self, count: u64) -> io::Result<u64> {
        let mut left = count;
        while left > 0 {
            let available = self.available()?.len() as u64;
            if available == 0 {
                break;
            }
            let some = available.min(left);
            self.advance(some as usize);
            left -= some;
        }
        Ok(count - left)
    }

    fn fill(&mut self) -> io::Result<usize> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.end == self.buffer.len() {
            self.buffer.resize(2 * self.buffer.len(), 0);
        }
        let read = read(&mut self.reader, &mut self.buffer[self.end..])?;
        self.end += read;
        Ok(read)
    }
}

fn read(reader: &mut impl Read, bytes: &mut [u8]) -> io::Result<usize> {
    loop {
        match reader.read(bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

impl<R: Read> Read for Input<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.start == self.end {
            // Plain data needn't come by way of the buffer.
            let count = read(&mut self.reader, bytes)?;
            self.taken += count as u64;
            return Ok(count);
        }
        let count = bytes.len().min(self.end - self.start);
        bytes[..count].copy_from_slice(&self.buffer[self.start..self.start + count]);
        self.advance(count);
        Ok(count)
    }
}
