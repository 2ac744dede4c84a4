//! Reads the chunks of snappy-java, which Spark writes.

use std::io::{self, BufRead};
use std::rc::Rc;

use snap::raw::{Decoder, decompress_len, max_compress_len};

use super::blocks::{NextBlock, sized};
use super::damage::{cut, wrong};
use super::input::{Place, take, take_more};

pub(super) const MAGIC: &[u8; 8] = b"\x82SNAPPY\0";

/// The largest block size that snappy-java accepts.
const LARGEST: usize = 512 << 20;
/// The most bytes that the decompressed length takes at the beginning of a chunk.
const LENGTH: usize = 5;

/// Reads the chunks of snappy-java's `SnappyOutputStream`: a header of 16 bytes, then chunks, each preceded by its
/// length as 4 big-endian bytes. There is no end mark, and further streams with their own headers may follow.
pub(super) struct Chunks<R> {
    input: R,
    place: Rc<Place>,
    packed: Vec<u8>,
    decoder: Decoder,
}

impl<R: BufRead> Chunks<R> {
    pub(super) fn new(input: R, place: Rc<Place>) -> Self {
        Chunks { input, place, packed: Vec::new(), decoder: Decoder::new() }
    }
}

/// Parses the first 4 bytes as a big-endian number.
fn word(bytes: &[u8]) -> u32 {
    bytes.iter().take(4).fold(0, |word, &byte| word << 8 | u32::from(byte))
}

impl<R: BufRead> NextBlock for Chunks<R> {
    fn next_block(&mut self, block: &mut Vec<u8>) -> io::Result<Option<usize>> {
        loop {
            let at = self.place.position();
            let packed = &mut self.packed;
            if !take(&mut self.input, packed, 4)? {
                return if packed.is_empty() { Ok(None) } else { Err(cut()) };
            }
            if packed[..] == MAGIC[..4] {
                // The rest of the magic bytes, the version, and the minimum version that can read the file.
                if !take(&mut self.input, packed, 12)? {
                    return Err(cut());
                }
                if packed[..4] != MAGIC[4..] || word(&packed[8..]) > 1 {
                    return Err(wrong(at, "the snappy-java header has an unknown version"));
                }
                continue;
            }
            let count = word(packed) as usize;
            // The decompressed length comes first in the chunk. Both lengths must be consistent.
            if !take(&mut self.input, packed, count.min(LENGTH))? {
                return Err(cut());
            }
            let length = decompress_len(packed).unwrap_or(usize::MAX);
            // A back reference takes 3 bytes and copies at most 64.
            let plausible = length <= LARGEST && count <= max_compress_len(length) && length / 22 <= count;
            if count == 0 || !plausible {
                return Err(wrong(at, "the lengths of the chunk can't be right"));
            }
            if !take_more(&mut self.input, packed, count - packed.len())? {
                return Err(cut());
            }
            return match self.decoder.decompress(packed, sized(block, length)) {
                Ok(length) => Ok(Some(length)),
                Err(error) => Err(wrong(at, error.to_string())),
            };
        }
    }
}
