//! Reports how much of the files has been read.

use std::io::{self, Read};

/// A callback that receives the number of bytes read so far and, if known, the total size of all files. For compressed
/// files these are compressed bytes.
pub type OnProgress<'a> = &'a mut dyn FnMut(u64, Option<u64>);

/// Progress of reading one or several files.
pub(crate) struct Progress<'a> {
    callback: Option<OnProgress<'a>>,
    read: u64,
    total: Option<u64>,
}

impl<'a> Progress<'a> {
    pub(crate) fn new(callback: Option<OnProgress<'a>>, total: Option<u64>) -> Progress<'a> {
        Progress { callback, read: 0, total }
    }

    /// Returns the number of bytes read so far.
    pub(crate) fn read(&self) -> u64 {
        self.read
    }

    /// Sets the number of bytes read so far. This counts a file as read to its end if its reader has stopped early.
    pub(crate) fn reach(&mut self, position: u64) {
        self.read = position;
    }

    /// Wraps a reader so that its reads are reported.
    pub(crate) fn watch<R: Read>(&mut self, reader: R) -> impl Read + use<'_, 'a, R> {
        Watched { reader, on_read: |count| self.add(count) }
    }

    /// Does the same as [`watch`](Progress::watch), but takes ownership of the progress. Used if the log is a single
    /// file.
    pub(crate) fn watch_all<R: Read>(mut self, reader: R) -> impl Read + use<'a, R> {
        Watched { reader, on_read: move |count| self.add(count) }
    }

    fn add(&mut self, count: usize) {
        self.read += count as u64;
        if let Some(callback) = &mut self.callback {
            callback(self.read, self.total);
        }
    }
}

struct Watched<R, F> {
    reader: R,
    on_read: F,
}

impl<R: Read, F: FnMut(usize)> Read for Watched<R, F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        (self.on_read)(count);
        Ok(count)
    }
}
