//! The chunks of snappy-java, as Spark writes them.

use std::io::{self, BufRead};
use std::rc::Rc;

use snap::raw::{Decoder, decompress_len, max_compress_len};

use super::blocks::{NextBlock, room};
use super::damage::{cut, wrong};
use super::input::{Place, take, take_more};

pub(super) const MAGIC: &[u8; 8] = b"\x82SNAPPY\0";

/// snappy-java takes no larger block size.
const LARGEST: usize = 512 << 20;
/// Bytes of a chunk that tell its length.
const LENGTH: usize = 5;

/// Chunks of snappy-java's `SnappyOutputStream`: a header of 16 bytes, then chunks, each after its length
/// in 4 bytes, the highest first. There is no end mark, and further streams may follow, header and all.
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

/// The number that the first 4 bytes are.
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
                // The rest of the magic bytes, the version, and the least that reads this one.
                if !take(&mut self.input, packed, 12)? {
                    return Err(cut());
                }
                if packed[..4] != MAGIC[4..] || word(&packed[8..]) > 1 {
                    return Err(wrong(at, "a header that no version of snappy-java known here writes"));
                }
                continue;
            }
            let count = word(packed) as usize;
            // The length of the data comes first in them: both lengths must suit each other.
            if !take(&mut self.input, packed, count.min(LENGTH))? {
                return Err(cut());
            }
            let length = decompress_len(packed).unwrap_or(usize::MAX);
            // A copy of at most 64 bytes takes 3.
            let plausible = length <= LARGEST && count <= max_compress_len(length) && length / 22 <= count;
            if count == 0 || !plausible {
                return Err(wrong(at, "lengths that can't be"));
            }
            if !take_more(&mut self.input, packed, count - packed.len())? {
                return Err(cut());
            }
            return match self.decoder.decompress(packed, room(block, length)) {
                Ok(length) => Ok(Some(length)),
                Err(error) => Err(wrong(at, error.to_string())),
            };
        }
    }
}
