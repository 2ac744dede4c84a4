//! Compressed logs: gzip, zstd, LZ4 and Snappy as Spark writes them, told by their first bytes.
//!
//! | first bytes | format |
//! | --- | --- |
//! | `1f 8b` | gzip, of several members too |
//! | `28 b5 2f fd` | zstd, of several frames too |
//! | `LZ4Block` | LZ4 of Spark's `lz4` codec (`LZ4BlockOutputStream` of lz4-java) |
//! | `04 22 4d 18` | LZ4 frames, of the `lz4` tool |
//! | `82 SNAPPY 00` | Snappy of Spark's `snappy` codec (`SnappyOutputStream` of snappy-java) |
//! | `ff 06 00 00 sNaPpY` | Snappy's framing format |
//!
//! Data that break off or are damaged give everything that comes before, and then an error that
//! [`Damage::of`] tells from one of the system's. Room is made only as data come, never because a length
//! field asks for it.

mod blocks;
mod gzip;
mod input;
mod lz4;
mod snappy;
mod xxhash;
mod zstandard;

#[cfg(test)]
pub(crate) mod tests;

use std::fmt;
use std::io::{self, Read};

use blocks::Blockwise;
use input::Input;

/// How data are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    /// Not at all, or in a way that isn't known here.
    None,
    Gzip,
    Zstd,
    /// Blocks of lz4-java, as Spark writes them.
    Lz4Blocks,
    Lz4Frames,
    /// Chunks of snappy-java, as Spark writes them.
    SnappyChunks,
    SnappyFrames,
}

/// As many first bytes as are looked at.
const LOOKED_AT: usize = 10;

impl Compression {
    /// From the first bytes.
    pub(crate) fn of(beginning: &[u8]) -> Compression {
        match beginning {
            [0x1f, 0x8b, ..] => Compression::Gzip,
            // A frame, or one that is to be skipped, as parallel compressors put before the first.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Compression::Zstd,
            [0x04, 0x22, 0x4d, 0x18, ..] => Compression::Lz4Frames,
            _ if beginning.starts_with(lz4::MAGIC) => Compression::Lz4Blocks,
            _ if beginning.starts_with(snappy::MAGIC) => Compression::SnappyChunks,
            _ if beginning.starts_with(b"\xff\x06\0\0sNaPpY") => Compression::SnappyFrames,
            _ => Compression::None,
        }
    }

    /// Its name, for people.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Compression::None => "plain",
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
            Compression::Lz4Blocks | Compression::Lz4Frames => "LZ4",
            Compression::SnappyChunks | Compression::SnappyFrames => "Snappy",
        }
    }

    /// What to call it where it is found behind another.
    pub(crate) fn twice(self) -> &'static str {
        match self {
            Compression::None => "plain",
            Compression::Gzip => "gzip within another compression",
            Compression::Zstd => "zstd within another compression",
            Compression::Lz4Blocks | Compression::Lz4Frames => "LZ4 within another compression",
            Compression::SnappyChunks | Compression::SnappyFrames => "Snappy within another compression",
        }
    }
}

/// Gives the data behind any compression, and says which it is. A plain reader's data come as they are.
///
/// # Errors
///
/// If the first bytes can't be read. Reading from what is given back fails with [`Damage`] inside where
/// compressed data break off or are damaged.
pub(crate) fn decompressed<'r>(reader: impl Read + 'r) -> io::Result<(Box<dyn Read + 'r>, Compression)> {
    let mut input = Input::new(reader);
    let compression = Compression::of(input.peek(LOOKED_AT)?);
    let plain: Box<dyn Read + 'r> = match compression {
        Compression::None => Box::new(input),
        Compression::Gzip => Box::new(gzip::Gzip::new(input)),
        Compression::Zstd => Box::new(zstandard::Zstandard::new(input)?),
        Compression::Lz4Blocks => Box::new(Blockwise::new(lz4::Blocks::new(input))),
        Compression::Lz4Frames => Box::new(Blockwise::new(lz4::Frames::new(input))),
        Compression::SnappyChunks => Box::new(Blockwise::new(snappy::Chunks::new(input))),
        Compression::SnappyFrames => Box::new(snappy::Frames::new(input)),
    };
    Ok((plain, compression))
}

/// What is wrong with compressed data; all before it was given out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Damage {
    compression: Compression,
    /// Byte of the compressed data at which it shows, from 0.
    at: u64,
    /// Why nothing more can be read; `None`: the data end before they should.
    why: Option<String>,
}

impl Damage {
    /// The damage that an error from [`decompressed`] tells of, if it isn't one of the system's.
    pub(crate) fn of(error: &io::Error) -> Option<&Damage> {
        error.get_ref().and_then(|inner| inner.downcast_ref())
    }

    fn cut(compression: Compression, at: u64) -> io::Error {
        io::Error::new(io::ErrorKind::UnexpectedEof, Damage { compression, at, why: None })
    }

    fn wrong(compression: Compression, at: u64, why: impl Into<String>) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, Damage { compression, at, why: Some(why.into()) })
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, at) = (self.compression.name(), self.at);
        match &self.why {
            None => write!(f, "the {name} data break off at byte {at}"),
            Some(why) => write!(f, "the {name} data are damaged at byte {at}: {why}"),
        }
    }
}

impl std::error::Error for Damage {}
