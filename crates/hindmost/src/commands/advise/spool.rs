//! Keeps what is said about each log in a temporary file until everything is printed, so that memory does not grow with the
//! number of logs.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::{Mutex, PoisonError};

/// The place of a text in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    at: u64,
    length: u64,
}

/// A temporary file of texts, which has no name.
pub struct Spool(Mutex<(File, u64)>);

impl Spool {
    /// Creates an empty file.
    pub fn new() -> io::Result<Spool> {
        Ok(Spool(Mutex::new((tempfile::tempfile()?, 0))))
    }

    /// Keeps a text.
    pub fn keep(&self, text: &str) -> io::Result<Kept> {
        let mut spool = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = Kept { at: spool.1, length: text.len() as u64 };
        spool.0.write_all(text.as_bytes())?;
        spool.1 += kept.length;
        Ok(kept)
    }

    /// Returns a text.
    pub fn text(&self, kept: Kept) -> io::Result<String> {
        let mut spool = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::new();
        spool.0.seek(SeekFrom::Start(kept.at))?;
        Read::by_ref(&mut spool.0).take(kept.length).read_to_string(&mut text)?;
        let end = spool.1;
        spool.0.seek(SeekFrom::Start(end))?;
        Ok(text)
    }

    /// Writes texts, each on a line and with commas between them.
    pub fn copy(&self, order: impl IntoIterator<Item = Kept>, out: &mut impl Write) -> io::Result<()> {
        let mut spool = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (number, kept) in order.into_iter().enumerate() {
            out.write_all(if number == 0 { b"\n" } else { b",\n" })?;
            spool.0.seek(SeekFrom::Start(kept.at))?;
            io::copy(&mut Read::by_ref(&mut spool.0).take(kept.length), out)?;
        }
        let end = spool.1;
        spool.0.seek(SeekFrom::Start(end)).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back_in_any_order() {
        let spool = Spool::new().unwrap();
        let [one, two] = ["one", "two2"].map(|text| spool.keep(text).unwrap());
        let mut out = Vec::new();
        spool.copy([two, one], &mut out).unwrap();
        let three = spool.keep("3").unwrap();
        assert_eq!(spool.text(one).unwrap(), "one");
        spool.copy([three, one], &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "\ntwo2,\none\n3,\none");
    }
}
