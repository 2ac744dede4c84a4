//! Reads LZ4 in two containers: the blocks of lz4-java, which Spark writes, and the frames of the `lz4` tool.

use std::io::{self, BufRead, Read};
use std::rc::Rc;

use lz4_flex::frame::{Error, FrameDecoder};
use xxhash_rust::xxh32::xxh32;

use super::blocks::{NextBlock, sized};
use super::damage::{cut, wrong};
use super::input::{Place, take};

pub(super) const MAGIC: &[u8; 8] = b"LZ4Block";

/// The seed of lz4-java's checksums.
pub(super) const SEED: u32 = 0x9747_b28c;
/// The bits of a checksum that lz4-java writes.
pub(super) const SUM_BITS: u32 = 0x0fff_ffff;
/// Length of a block's header, in bytes.
const HEADER: usize = 21;
/// An LZ4 block expands by at most this factor.
const LARGEST_RATIO: usize = 255;

/// Reads the blocks of lz4-java's `LZ4BlockOutputStream`. A block's header has 8 magic bytes, 1 byte for method and
/// maximum block size, and 4 bytes each for compressed length, length and checksum. A block of length 0 ends a stream;
/// another stream may follow.
pub(super) struct Blocks<R> {
    input: R,
    place: Rc<Place>,
    packed: Vec<u8>,
    /// Whether the last block ended a stream.
    closed: bool,
}

impl<R: BufRead> Blocks<R> {
    pub(super) fn new(input: R, place: Rc<Place>) -> Self {
        Blocks { input, place, packed: Vec::new(), closed: false }
    }
}

impl<R: BufRead> NextBlock for Blocks<R> {
    fn next_block(&mut self, block: &mut Vec<u8>) -> io::Result<Option<usize>> {
        loop {
            let at = self.place.position();
            let wrong = |why: &str| Err(wrong(at, why));
            let whole = take(&mut self.input, &mut self.packed, HEADER)?;
            match &self.packed[..] {
                [] if self.closed => return Ok(None),
                header if !MAGIC.starts_with(&header[..header.len().min(8)]) => {
                    return wrong("no LZ4 block begins here");
                }
                _ if !whole => return Err(cut()),
                _ => {}
            }
            let word =
                |from: usize| self.packed[from..from + 4].iter().rev().fold(0, |word, &b| word << 8 | u32::from(b));
            let (method, largest) = (self.packed[8] & 0xf0, 1_usize << (10 + (self.packed[8] & 0x0f)));
            let (packed, length, sum) = (word(9) as usize, word(13) as usize, word(17));
            self.closed = length == 0 && packed == 0;
            if self.closed {
                if sum != 0 {
                    return wrong("the end mark has a checksum");
                }
                continue;
            }
            // lz4-java stores a block uncompressed if compression would not shorten it.
            let plausible = match method {
                0x10 => packed == length,
                0x20 => packed > 0 && packed <= length + length / 255 + 16 && length <= packed * LARGEST_RATIO,
                _ => return wrong(&format!("the block has the unknown method {method:#x}")),
            };
            if !plausible || length == 0 || length > largest {
                return wrong(&format!("a block can't have {length} bytes in {packed} compressed bytes"));
            }
            if !take(&mut self.input, &mut self.packed, packed)? {
                return Err(cut());
            }
            let to = sized(block, length);
            if method == 0x10 {
                to.copy_from_slice(&self.packed);
            } else {
                match lz4_flex::block::decompress_into(&self.packed, to) {
                    Ok(found) if found == length => {}
                    Ok(found) => {
                        return wrong(&format!("a block with a stated length of {length} bytes has only {found}"));
                    }
                    Err(error) => return wrong(&error.to_string()),
                }
            }
            if xxh32(to, SEED) & SUM_BITS != sum {
                return wrong("the checksum does not match the block");
            }
            return Ok(Some(length));
        }
    }
}

/// Reads any number of LZ4 frames. `lz4_flex` alone accepts a frame that is cut between two blocks as complete, and
/// stops at skippable frames.
pub(super) struct Frames<R: Read> {
    /// The frame that is being read; `None` after the last one.
    frame: Option<FrameDecoder<Within<R>>>,
}

/// The input of one frame. At the end of the file it returns an error that `lz4_flex` does not take for the end of
/// the frame.
struct Within<R> {
    input: R,
    ended: bool,
}

impl<R: BufRead> Frames<R> {
    pub(super) fn new(input: R) -> Self {
        Frames { frame: Some(FrameDecoder::new(Within { input, ended: false })) }
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        while let Some(frame) = &mut self.frame {
            match frame.read(bytes) {
                Ok(given) if given > 0 || bytes.is_empty() => return Ok(given),
                Ok(_) => {}
                Err(_) if frame.get_ref().ended => return Err(cut()),
                Err(error) => match error.get_ref().and_then(|inner| inner.downcast_ref()) {
                    Some(Error::SkippableFrame(length)) => {
                        let length = u64::from(*length);
                        let rest = &mut frame.get_mut().input;
                        if io::copy(&mut rest.take(length), &mut io::sink())? < length {
                            return Err(cut());
                        }
                    }
                    Some(found) => return Err(io::Error::new(io::ErrorKind::InvalidData, why(found))),
                    None => return Err(error),
                },
            }
            let Some(mut input) = self.frame.take().map(|frame| frame.into_inner().input) else { break };
            if !input.fill_buf()?.is_empty() {
                *self = Frames::new(input);
            }
        }
        Ok(0)
    }
}

impl<R: Read> Read for Within<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(bytes)?;
        self.ended = read == 0 && !bytes.is_empty();
        if self.ended { Err(io::Error::other("within a frame")) } else { Ok(read) }
    }
}

/// Returns the message for an error of `lz4_flex`.
fn why(error: &Error) -> String {
    let why = match error {
        Error::WrongMagicNumber => "the data that follow are not an LZ4 frame",
        Error::UnsupportedBlocksize(_)
        | Error::UnsupportedVersion(_)
        | Error::ReservedBitsSet
        | Error::HeaderChecksumError => "the frame's header is invalid",
        Error::DictionaryNotSupported => "the frame needs a dictionary",
        Error::BlockTooBig => "a block is longer than its frame allows",
        Error::BlockChecksumError => "the checksum does not match the block",
        Error::ContentChecksumError => "the checksum does not match the frame",
        Error::ContentLengthError { .. } => "the frame's length differs from the stated one",
        Error::DecompressionError(error) => return error.to_string(),
        other => return other.to_string(),
    };
    why.to_owned()
}
