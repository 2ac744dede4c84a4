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

/// The places of the document of a log: its beginning, and those of the applications in it, which can be replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptLog {
    /// All up to the list of applications.
    pub beginning: Kept,
    /// The applications.
    pub applications: Vec<Kept>,
}

/// What follows the applications in the document of a log.
const END: &[u8] = b"]}";

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

    /// Writes the documents of logs, each on a line and with commas between them.
    pub fn copy<'a>(&self, logs: impl IntoIterator<Item = &'a KeptLog>, out: &mut impl Write) -> io::Result<()> {
        let mut spool = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut copy = |kept: Kept, out: &mut _| {
            spool.0.seek(SeekFrom::Start(kept.at))?;
            io::copy(&mut Read::by_ref(&mut spool.0).take(kept.length), out)
        };
        for (number, log) in logs.into_iter().enumerate() {
            out.write_all(if number == 0 { b"\n" } else { b",\n" })?;
            copy(log.beginning, out)?;
            for (number, application) in log.applications.iter().enumerate() {
                out.write_all(if number == 0 { b"" } else { b"," })?;
                copy(*application, out)?;
            }
            out.write_all(END)?;
        }
        let end = spool.1;
        spool.0.seek(SeekFrom::Start(end)).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_come_back_in_any_order() {
        let spool = Spool::new().unwrap();
        let [one, two, x, y] = ["{\"a\":[", "{\"b\":[", "1", "22"].map(|text| spool.keep(text).unwrap());
        let mut logs =
            [KeptLog { beginning: two, applications: vec![x, y] }, KeptLog { beginning: one, applications: vec![] }];
        let written = |logs: &[KeptLog]| {
            let mut out = Vec::new();
            spool.copy(logs, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(written(&logs), "\n{\"b\":[1,22]},\n{\"a\":[]}");
        logs[0].applications[0] = spool.keep("3").unwrap();
        assert_eq!(written(&logs), "\n{\"b\":[3,22]},\n{\"a\":[]}");
    }
}
