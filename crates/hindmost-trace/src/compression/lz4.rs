//! LZ4 in two wrappings: the blocks of lz4-java, as Spark writes them, and the frames of the `lz4` tool.

use std::io::{self, Read};

use super::blocks::{NextBlock, room};
use super::input::Input;
use super::xxhash::{XxHash32, xxhash32};
use super::{Compression, Damage};

pub(super) const MAGIC: &[u8; 8] = b"LZ4Block";

/// What lz4-java seeds its checksums with, and the bits of them that it writes.
const SEED: u32 = 0x9747_b28c;
const SUM_BITS: u32 = 0x0fff_ffff;
/// No LZ4 block grows by more than this when it is decompressed.
const LARGEST_RATIO: usize = 255;

fn word(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte))
}

/// Decompresses a block into exactly `to`.
fn decompress(from: &[u8], to: &mut [u8]) -> Result<(), String> {
    match lz4_flex::block::decompress_into(from, to) {
        Ok(length) if length == to.len() => Ok(()),
        Ok(length) => Err(format!("a block of {} bytes has only {length}", to.len())),
        Err(error) => Err(error.to_string()),
    }
}

/// Blocks of lz4-java's `LZ4BlockOutputStream`: 8 bytes magic, 1 of method and largest block, compressed
/// length, length and checksum in 4 bytes each. A block of length 0 ends a stream; another may follow.
pub(super) struct Blocks<R> {
    input: Input<R>,
    packed: Vec<u8>,
    /// Whether the last block was one that ends a stream.
    closed: bool,
}

impl<R: Read> Blocks<R> {
    pub(super) fn new(input: Input<R>) -> Self {
        Blocks { input, packed: Vec::new(), closed: false }
    }
}

impl<R: Read> NextBlock for Blocks<R> {
    fn next_block(&mut self, block: &mut Vec<u8>) -> io::Result<Option<usize>> {
        loop {
            let at = self.input.position();
            let cut = |at| Err(Damage::cut(Compression::Lz4Blocks, at));
            let wrong = |why: String| Err(Damage::wrong(Compression::Lz4Blocks, at, why));
            let mut header = [0; 21];
            match self.input.take_into(&mut header)? {
                0 if self.closed => return Ok(None),
                0 => return cut(at),
                some if some < header.len() && header[..some.min(8)] == MAGIC[..some.min(8)] => {
                    return cut(at + some as u64);
                }
                _ => {}
            }
            if header[..8] != *MAGIC {
                return wrong("there is no block of LZ4 data".to_owned());
            }
            let method = header[8] & 0xf0;
            let largest = 1_usize << (10 + (header[8] & 0x0f));
            let [packed, length, sum] = [9, 13, 17].map(|from| word(&header[from..from + 4]));
            let (packed, length) = (packed as usize, length as usize);
            if length == 0 && packed == 0 {
                if sum != 0 {
                    return wrong("an end mark with a checksum".to_owned());
                }
                self.closed = true;
                continue;
            }
            self.closed = false;
            // lz4-java keeps a block as it is where compressing would make it no shorter.
            let plausible = match method {
                0x10 => packed == length,
                0x20 => packed > 0 && packed <= length + length / 255 + 16 && length <= packed * LARGEST_RATIO,
                _ => return wrong(format!("blocks of a method numbered {method:#x} are not known")),
            };
            if !plausible || length == 0 || length > largest {
                return wrong(format!("a block of {length} bytes in {packed} can't be"));
            }
            self.input.take_onto(&mut self.packed, packed)?;
            if self.packed.len() < packed {
                return cut(self.input.position());
            }
            let to = room(block, length);
            if method == 0x10 {
                to.copy_from_slice(&self.packed);
            } else if let Err(why) = decompress(&self.packed, to) {
                return wrong(why);
            }
            if xxhash32(to, SEED) & SUM_BITS != sum {
                return wrong("the checksum of the block is another".to_owned());
            }
            return Ok(Some(length));
        }
    }
}

/// LZ4 frames, any number of them.
pub(super) struct Frames<R> {
    input: Input<R>,
    packed: Vec<u8>,
    frame: Option<Frame>,
    first: bool,
}

/// What a frame's header says.
struct Frame {
    largest: usize,
    block_sums: bool,
    /// Of all data, if the frame ends with a checksum.
    sum: Option<XxHash32>,
    /// The last 64 KiB, if blocks refer to those before them.
    history: Option<Vec<u8>>,
}

/// How far back a block can refer.
const REACH: usize = 64 << 10;

impl<R: Read> Frames<R> {
    pub(super) fn new(input: Input<R>) -> Self {
        Frames { input, packed: Vec::new(), frame: None, first: true }
    }

    fn cut(&self) -> io::Error {
        Damage::cut(Compression::Lz4Frames, self.input.position())
    }

    fn wrong(&self, why: impl Into<String>) -> io::Error {
        Damage::wrong(Compression::Lz4Frames, self.input.position(), why)
    }

    fn take<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        if self.input.take_into(&mut bytes)? < N { Err(self.cut()) } else { Ok(bytes) }
    }

    /// The next frame's header; `None` at the end.
    fn header(&mut self) -> io::Result<Option<Frame>> {
        loop {
            if !self.first && self.input.available()?.is_empty() {
                return Ok(None);
            }
            self.first = false;
            match self.take()? {
                [0x04, 0x22, 0x4d, 0x18] => break,
                // A frame that isn't data.
                [0x50..=0x5f, 0x2a, 0x4d, 0x18] => {
                    let length = u64::from(u32::from_le_bytes(self.take()?));
                    if self.input.pass(length)? < length {
                        return Err(self.cut());
                    }
                }
                _ => return Err(self.wrong("what follows is no frame of LZ4")),
            }
        }
        let [flags, sizes] = self.take()?;
        let mut described = vec![flags, sizes];
        if flags & 0x08 != 0 {
            described.extend(self.take::<8>()?);
        }
        if flags & 0x01 != 0 {
            return Err(self.wrong("a frame that needs a dictionary"));
        }
        let [sum] = self.take()?;
        let size = sizes >> 4;
        if flags >> 6 != 1 || !(4..8).contains(&size) || (xxhash32(&described, 0) >> 8) as u8 != sum {
            return Err(self.wrong("a frame whose header is not valid"));
        }
        Ok(Some(Frame {
            largest: 1 << (8 + 2 * size),
            block_sums: flags & 0x10 != 0,
            sum: (flags & 0x04 != 0).then(|| XxHash32::new(0)),
            history: (flags & 0x20 == 0).then(Vec::new),
        }))
    }

    /// The next block of a frame; `None` at the frame's end.
    fn block(&mut self, frame: &mut Frame, block: &mut Vec<u8>) -> io::Result<Option<usize>> {
        let word = u32::from_le_bytes(self.take()?);
        let (plain, packed) = (word >> 31 == 1, (word & 0x7fff_ffff) as usize);
        if packed == 0 {
            if let Some(sum) = &frame.sum
                && sum.finish() != u32::from_le_bytes(self.take()?)
            {
                return Err(self.wrong("the checksum of the frame is another"));
            }
            return Ok(None);
        }
        if packed > frame.largest {
            return Err(self.wrong(format!("a block of {packed} bytes where {} are the most", frame.largest)));
        }
        self.input.take_onto(&mut self.packed, packed)?;
        if self.packed.len() < packed {
            return Err(self.cut());
        }
        if frame.block_sums && xxhash32(&self.packed, 0) != u32::from_le_bytes(self.take()?) {
            return Err(self.wrong("the checksum of the block is another"));
        }
        let to = room(block, frame.largest.min(packed.saturating_mul(LARGEST_RATIO)));
        let length = if plain {
            to[..packed].copy_from_slice(&self.packed);
            packed
        } else {
            let before = frame.history.as_deref().unwrap_or_default();
            lz4_flex::block::decompress_into_with_dict(&self.packed, to, before)
                .map_err(|error| self.wrong(error.to_string()))?
        };
        let data = &to[..length];
        if let Some(sum) = &mut frame.sum {
            sum.update(data);
        }
        if let Some(history) = &mut frame.history {
            let new = &data[length.saturating_sub(REACH)..];
            let kept = history.len().min(REACH - new.len());
            history.drain(..history.len() - kept);
            history.extend_from_slice(new);
        }
        Ok(Some(length))
    }
}

impl<R: Read> NextBlock for Frames<R> {
    fn next_block(&mut self, block: &mut Vec<u8>) -> io::Result<Option<usize>> {
        loop {
            let mut frame = match self.frame.take() {
                Some(frame) => frame,
                None => match self.header()? {
                    Some(frame) => frame,
                    None => return Ok(None),
                },
            };
            if let Some(length) = self.block(&mut frame, block)? {
                self.frame = Some(frame);
                return Ok(Some(length));
            }
        }
    }
}
