//! Decompression of logs: gzip, zstd, LZ4, Snappy and LZF, recognised by their first bytes.
//!
//! | first bytes | format | decoder |
//! | --- | --- | --- |
//! | `1f 8b` | gzip, of several members too | `flate2` |
//! | `28 b5 2f fd` | zstd, of several frames too | `zstd` |
//! | `04 22 4d 18` | LZ4 frames, of the `lz4` tool | `lz4_flex` |
//! | `ff 06 00 00 sNaPpY` | Snappy's framing format | `snap` |
//! | `LZ4Block` | LZ4 of Spark's `lz4` codec (`LZ4BlockOutputStream` of lz4-java) | `lz4.rs` |
//! | `82 SNAPPY 00` | Snappy of Spark's `snappy` codec (`SnappyOutputStream` of snappy-java) | `snappy.rs` |
//! | `ZV 00`, `ZV 01` | LZF of Spark's `lzf` codec (`LZFOutputStream` of compress-lzf) | `lzf.rs` |
//!
//! No library reads the last three formats. [`Plain`] returns the decompressed data of all formats. If the compressed
//! data end early or are damaged, it returns all data before the damage and then ends; [`Plain::damage`] names the byte
//! of the file. With gzip and zstd, up to 8 KiB of data directly before damage may be lost, because a failing call of
//! their libraries returns no data. No data before a file's early end are lost.
//!
//! Memory: the size fields of LZ4 frames and zstd frames allocate at most 16 MiB and 128 MiB. Blocks of lz4-java and
//! snappy-java may be larger, so their buffers grow only as data arrive.

mod blocks;
mod damage;
mod gzip;
mod input;
mod kind;
mod lz4;
mod lzf;
mod snappy;

#[cfg(test)]
mod tests;

use std::io::{self, Cursor, Read};
use std::rc::Rc;

use blocks::Blockwise;
pub(crate) use damage::Damage;
use input::{Input, Place};
pub(crate) use kind::Compression;

/// First bytes that are needed to recognise the compression.
const LOOKED_AT: u64 = 10;
/// Decompressed bytes per call of a decoder. A failing call loses the data that it has decompressed.
const PIECE: usize = 8 << 10;

impl Compression {
    /// Recognises the compression by the first bytes.
    pub(crate) fn of(beginning: &[u8]) -> Compression {
        match beginning {
            [0x1f, 0x8b, ..] => Compression::Gzip,
            // A frame, or a skippable frame, which parallel compressors write before the first frame.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Compression::Zstd,
            [0x04, 0x22, 0x4d, 0x18, ..] => Compression::Lz4Frames,
            _ if beginning.starts_with(lz4::MAGIC) => Compression::Lz4Blocks,
            _ if beginning.starts_with(snappy::MAGIC) => Compression::SnappyChunks,
            [b'Z', b'V', lzf::STORED | lzf::PACKED, ..] => Compression::LzfChunks,
            _ if beginning.starts_with(b"\xff\x06\0\0sNaPpY") => Compression::SnappyFrames,
            _ => Compression::None,
        }
    }

    /// Returns the compression's name for messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Compression::None => "plain",
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
            Compression::Lz4Blocks | Compression::Lz4Frames => "LZ4",
            Compression::SnappyChunks | Compression::SnappyFrames => "Snappy",
            Compression::LzfChunks => "LZF",
        }
    }
}

/// Reads the decompressed data of a log, or a plain log. It ends where compressed data end early or are damaged. Its
/// errors are errors of the system; damage is no error.
pub(crate) struct Plain<'r> {
    decoder: Box<dyn Read + 'r>,
    compression: Compression,
    place: Rc<Place>,
    ended: bool,
    damage: Option<Damage>,
    /// A system error that the next call returns, because this call still had data to return.
    error: Option<io::Error>,
}

impl<'r> Plain<'r> {
    /// Recognises the compression by the reader's first bytes.
    ///
    /// # Errors
    /// If the first bytes can't be read.
    pub(crate) fn new(mut reader: impl Read + 'r) -> io::Result<Plain<'r>> {
        let mut beginning = Vec::new();
        reader.by_ref().take(LOOKED_AT).read_to_end(&mut beginning)?;
        let compression = Compression::of(&beginning);
        let (input, place) = Input::new(Cursor::new(beginning).chain(reader));
        let decoder: Box<dyn Read + 'r> = match compression {
            Compression::None => Box::new(input),
            Compression::Gzip => Box::new(gzip::Members::new(input)),
            Compression::Zstd => Box::new(zstd::Decoder::with_buffer(input)?),
            Compression::Lz4Blocks => Box::new(Blockwise::new(lz4::Blocks::new(input, place.clone()))),
            Compression::Lz4Frames => Box::new(lz4::Frames::new(input)),
            Compression::SnappyChunks => Box::new(Blockwise::new(snappy::Chunks::new(input, place.clone()))),
            Compression::SnappyFrames => Box::new(snap::read::FrameDecoder::new(input)),
            Compression::LzfChunks => Box::new(Blockwise::new(lzf::Chunks::new(input, place.clone()))),
        };
        Ok(Plain { decoder, compression, place, ended: false, damage: None, error: None })
    }

    /// Returns the bytes of the file that the decoder has read.
    pub(crate) fn position(&self) -> u64 {
        self.place.position()
    }

    /// Returns where and why the data end too early; `None` if they do not.
    pub(crate) fn damage(&self) -> Option<&Damage> {
        self.damage.as_ref()
    }
}

impl Read for Plain<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.compression == Compression::None {
            return self.decoder.read(bytes);
        }
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let mut given = 0;
        while given < bytes.len() && !self.ended {
            let end = bytes.len().min(given + PIECE);
            match self.decoder.read(&mut bytes[given..end]) {
                Ok(some) => {
                    given += some;
                    self.ended = some == 0;
                }
                Err(error) => {
                    self.ended = true;
                    if !self.place.failed() {
                        self.damage = Some(Damage::of(&error, self.compression, self.place.position()));
                    } else if given > 0 {
                        self.error = Some(error);
                    } else {
                        return Err(error);
                    }
                }
            }
        }
        Ok(given)
    }
}
