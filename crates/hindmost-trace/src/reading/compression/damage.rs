//! Describes damage in compressed data: at which byte it is, and why decompression ends there.

use std::fmt;
use std::io;

use super::kind::Compression;

/// Where and why decompression ended too early. All data before the damage have been returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Damage {
    compression: Compression,
    /// Byte of the compressed data at which the damage was found, from 0.
    pub(super) at: u64,
    /// What is wrong with the data; `None` if the data just end too early.
    pub(super) why: Option<String>,
}

/// Messages of the decompression libraries, and the messages that are shown instead.
const REWORDED: &[(&str, &str)] = &[
    ("Unknown frame descriptor", "the data that follow are not zstd"),
    ("corrupt gzip stream does not have a matching checksum", "the checksum does not match the data before it"),
    ("corrupt deflate stream", "the deflate data are invalid"),
];

/// The error of a decoder that knows at which byte the damaged block begins.
#[derive(Debug)]
struct Found {
    at: u64,
    why: String,
}

/// Returns the error for data that are damaged at a byte.
pub(super) fn wrong(at: u64, why: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, Found { at, why: why.into() })
}

/// Returns the error for data that end early at the reader's position.
pub(super) fn cut() -> io::Error {
    io::ErrorKind::UnexpectedEof.into()
}

impl Damage {
    /// Converts a decoder's error; `position` is the number of compressed bytes that it has read.
    pub(super) fn of(error: &io::Error, compression: Compression, position: u64) -> Damage {
        let found = error.get_ref().and_then(|inner| inner.downcast_ref::<Found>());
        let at = found.map_or(position, |found| found.at);
        let said = error.to_string();
        let plainer = REWORDED.iter().find(|(decoder, _)| *decoder == said).map(|(_, plainer)| (*plainer).to_owned());
        let why = (error.kind() != io::ErrorKind::UnexpectedEof).then(|| plainer.unwrap_or(said));
        Damage { compression, at, why }
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

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for Found {}
