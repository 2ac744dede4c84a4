//! LZ4 in two wrappings: the blocks of lz4-java, as Spark writes them, and the frames of the `lz4` tool.

use std::io::{self, BufRead, Read};
use std::rc::Rc;

use lz4_flex::frame::{Error, FrameDecoder};
use xxhash_rust::xxh32::xxh32;

use super::blocks::{NextBlock, room};
use super::damage::{cut, wrong};
use super::input::{Place, take};

pub(super) const MAGIC: &[u8; 8] = b"LZ4Block";

/// What lz4-java seeds its checksums with, and the bits of them that it writes.
pub(super) const SEED: u32 = 0x9747_b28c;
pub(super) const SUM_BITS: u32 = 0x0fff_ffff;
/// Bytes of a block's header.
const HEADER: usize = 21;
/// No LZ4 block grows by more than this when it is decompressed.
const LARGEST_RATIO: usize = 255;

/// Blocks of lz4-java's `LZ4BlockOutputStream`: 8 bytes magic, 1 of method and largest block, compressed
/// length, length and checksum in 4 bytes each. A block of length 0 ends a stream; another may follow.
pub(super) struct Blocks<R> {
    input: R,
    place: Rc<Place>,
    packed: Vec<u8>,
    /// Whether the last block was one that ends a stream.
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
                    return wrong("there is no block of LZ4 data");
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
                    return wrong("an end mark with a checksum");
                }
                continue;
            }
            // lz4-java keeps a block as it is where compressing would make it no shorter.
            let plausible = match method {
                0x10 => packed == length,
                0x20 => packed > 0 && packed <= length + length / 255 + 16 && length <= packed * LARGEST_RATIO,
                _ => return wrong(&format!("blocks of a method numbered {method:#x} are not known")),
            };
            if !plausible || length == 0 || length > largest {
                return wrong(&format!("a block of {length} bytes in {packed} can't be"));
            }
            if !take(&mut self.input, &mut self.packed, packed)? {
                return Err(cut());
            }
            let to = room(block, length);
            if method == 0x10 {
                to.copy_from_slice(&self.packed);
            } else {
                match lz4_flex::block::decompress_into(&self.packed, to) {
                    Ok(found) if found == length => {}
                    Ok(found) => return wrong(&format!("a block of {length} bytes has only {found}")),
                    Err(error) => return wrong(&error.to_string()),
                }
            }
            if xxh32(to, SEED) & SUM_BITS != sum {
                return wrong("the checksum of the block is another");
            }
            return Ok(Some(length));
        }
    }
}

/// A reader of LZ4 frames, any number of them. `lz4_flex` alone takes a frame that breaks off between two blocks for a
/// whole one, and stops at skippable frames.
pub(super) struct Frames<R: Read> {
    /// The frame that is being read; `None`: there is no further one.
    frame: Option<FrameDecoder<Within<R>>>,
}

/// The input of one frame. The end of the file is an error here, of a kind that `lz4_flex` does not take for an end.
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

/// Words an error of `lz4_flex` for people.
fn why(error: &Error) -> String {
    let why = match error {
        Error::WrongMagicNumber => "what follows is no frame of LZ4",
        Error::UnsupportedBlocksize(_)
        | Error::UnsupportedVersion(_)
        | Error::ReservedBitsSet
        | Error::HeaderChecksumError => "a frame whose header is not valid",
        Error::DictionaryNotSupported => "a frame that needs a dictionary",
        Error::BlockTooBig => "a block is longer than its frame allows",
        Error::BlockChecksumError => "the checksum of the block is another",
        Error::ContentChecksumError => "the checksum of the frame is another",
        Error::ContentLengthError { .. } => "the frame holds more or less than it says",
        Error::DecompressionError(error) => return error.to_string(),
        other => return other.to_string(),
    };
    why.to_owned()
}
