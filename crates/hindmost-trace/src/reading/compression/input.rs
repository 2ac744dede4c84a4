//! A buffered reader that counts the bytes it has returned.

use std::cell::Cell;
use std::io::{self, BufRead, BufReader, Read};
use std::rc::Rc;

/// The most bytes that one read requests from the system.
const CHUNK: usize = 128 << 10;

/// The position of a reader, shared with the decoder that owns the reader.
#[derive(Debug, Default)]
pub(super) struct Place {
    taken: Cell<u64>,
    failed: Cell<bool>,
}

impl Place {
    /// Returns the number of bytes that the decoder has read.
    pub(super) fn position(&self) -> u64 {
        self.taken.get()
    }

    /// Returns whether the last read from the system failed. All other errors come from the data.
    pub(super) fn failed(&self) -> bool {
        self.failed.get()
    }

    fn take(&self, count: usize) {
        self.taken.set(self.taken.get() + count as u64);
    }
}

pub(super) struct Input<R> {
    reader: BufReader<Retrying<R>>,
    place: Rc<Place>,
}

/// Retries interrupted reads, and records whether reading failed.
struct Retrying<R> {
    reader: R,
    place: Rc<Place>,
}

impl<R: Read> Input<R> {
    pub(super) fn new(reader: R) -> (Input<R>, Rc<Place>) {
        let place = Rc::<Place>::default();
        let reader = BufReader::with_capacity(CHUNK, Retrying { reader, place: place.clone() });
        (Input { reader, place: place.clone() }, place)
    }
}

/// Replaces the content of `bytes` by the next `count` bytes, or fewer at the end. `bytes` grows only as data arrive,
/// so a damaged length does not allocate memory. Returns whether all `count` bytes were there.
pub(super) fn take(input: &mut impl BufRead, bytes: &mut Vec<u8>, count: usize) -> io::Result<bool> {
    bytes.clear();
    take_more(input, bytes, count)
}

/// Does the same as [`take`], but appends to `bytes`.
pub(super) fn take_more(input: &mut impl BufRead, bytes: &mut Vec<u8>, count: usize) -> io::Result<bool> {
    let mut missing = count;
    while missing > 0 {
        let available = input.fill_buf()?;
        let some = available.len().min(missing);
        if some == 0 {
            break;
        }
        bytes.extend_from_slice(&available[..some]);
        input.consume(some);
        missing -= some;
    }
    Ok(missing == 0)
}

impl<R: Read> Read for Retrying<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.reader.read(bytes) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => {
                    self.place.failed.set(result.is_err());
                    return result;
                }
            }
        }
    }
}

impl<R: Read> Read for Input<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(bytes)?;
        self.place.take(count);
        Ok(count)
    }
}

impl<R: Read> BufRead for Input<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.reader.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        self.reader.consume(count);
        self.place.take(count);
    }
}
