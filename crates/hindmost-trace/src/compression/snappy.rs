//! Snappy in two wrappings: the chunks of snappy-java, as Spark writes them, and the framing format.

use std::io::{self, Read};

use snap::raw::{Decoder, decompress_len, max_compress_len};
use snap::read::FrameDecoder;

use super::blocks::{NextBlock, room};
use super::input::Input;
use super::{Compression, Damage};

pub(super) const MAGIC: &[u8; 8] = b"\x82SNAPPY\0";

/// snappy-java takes no larger block size.
const LARGEST: usize = 512 << 20;

/// Chunks of snappy-java's `SnappyOutputStream`: a header of 16 bytes, then chunks, each after its length
/// in 4 bytes, the highest first. There is no end mark, and further streams may follow, header and all.
pub(super) struct Chunks<R> {
    input: Input<R>,
    packed: Vec<u8>,
    decoder: Decoder,
}

impl<R: Read> Chunks<R> {
    pub(super) fn new(input: Input<R>) -> Self {
        Chunks { input, packed: Vec::new(), decoder: Decoder::new() }
    }
}

impl<R: Read> NextBlock for Chunks<R> {
    fn next_block(&mut self, block: &mut Vec<u8>) -> io::Result<Option<usize>> {
        let cut = |at| Err(Damage::cut(Compression::SnappyChunks, at));
        loop {
            let at = self.input.position();
            let wrong = |why: String| Err(Damage::wrong(Compression::SnappyChunks, at, why));
            let mut word = [0; 4];
            match self.input.take_into(&mut word)? {
                0 => return Ok(None),
                some if some < word.len() => return cut(at + some as u64),
                _ => {}
            }
            if word == MAGIC[..4] {
                let mut rest = [0; 12];
                let some = self.input.take_into(&mut rest)?;
                if some < rest.len() {
                    return cut(self.input.position());
                }
                let [.., a, b, c, d] = rest;
                if rest[..4] != MAGIC[4..] || u32::from_be_bytes([a, b, c, d]) > 1 {
                    return wrong("a header that no version of snappy-java known here writes".to_owned());
                }
                continue;
            }
            let packed = u32::from_be_bytes(word) as usize;
            // The length of the data comes first in them: both lengths must suit each other.
            let beginning = self.input.peek(5)?;
            let beginning = &beginning[..beginning.len().min(5).min(packed)];
            if beginning.len() < packed.min(5) {
                return cut(at + 4 + beginning.len() as u64);
            }
            let length = decompress_len(beginning).unwrap_or(usize::MAX);
            // A copy of at most 64 bytes takes 3.
            let plausible = length <= LARGEST && packed <= max_compress_len(length) && length / 22 <= packed;
            if packed == 0 || !plausible {
                return wrong("lengths that can't be".to_owned());
            }
            self.input.take_onto(&mut self.packed, packed)?;
            if self.packed.len() < packed {
                return cut(self.input.position());
            }
            return match self.decoder.decompress(&self.packed, room(block, length)) {
                Ok(length) => Ok(Some(length)),
                Err(error) => wrong(error.to_string()),
            };
        }
    }
}

/// Snappy's own framing format.
pub(super) struct Frames<R: Read> {
    decoder: FrameDecoder<Input<R>>,
    ended: bool,
}

impl<R: Read> Frames<R> {
    pub(super) fn new(input: Input<R>) -> Self {
        Frames { decoder: FrameDecoder::new(input), ended: false }
    }
}

impl<R: Read> Read for Frames<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.ended {
            return Ok(0);
        }
        self.decoder.read(bytes).map_err(|error| {
            self.ended = true;
            let at = self.decoder.get_ref().position();
            let of_snappy = error.get_ref().and_then(|inner| inner.downcast_ref::<snap::Error>()).is_some();
            if error.kind() == io::ErrorKind::UnexpectedEof {
                Damage::cut(Compression::SnappyFrames, at)
            } else if of_snappy {
                Damage::wrong(Compression::SnappyFrames, at, error.to_string())
            } else {
                error
            }
        })
    }
}
