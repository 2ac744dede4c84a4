//! A file to which lines are appended: they wait in memory until they are written, and what a full disk has kept from being written
//! waits on.

use std::fs::File;
use std::io::{self, Write};

/// A file, and the bytes that are to be appended to it.
pub(crate) struct Appended {
    file: File,
    waiting: Vec<u8>,
}

impl Appended {
    /// Appends to a file from its present position.
    pub(crate) fn new(file: File) -> Appended {
        Appended { file, waiting: Vec::new() }
    }

    /// Returns the bytes that wait, so that more can be added.
    pub(crate) fn waiting(&mut self) -> &mut Vec<u8> {
        &mut self.waiting
    }

    /// Passes all that waits to the operating system.
    ///
    /// # Errors
    /// If not all could be written. The rest still waits.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        let mut done = 0;
        let outcome = loop {
            match self.file.write(&self.waiting[done..]) {
                _ if done == self.waiting.len() => break Ok(()),
                Ok(0) => break Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => done += written,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break Err(error),
            }
        };
        self.waiting.drain(..done);
        outcome
    }

    /// Syncs what has been written to the disk.
    ///
    /// # Errors
    /// If the system can't.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}
