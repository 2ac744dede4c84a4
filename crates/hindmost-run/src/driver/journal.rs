//! The journal's file: the driver appends lines to it, and syncs it before it carries decisions out.

use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::PathBuf;

use hindmost_core::journal::{Header, JournalError, JournalReader};
use hindmost_core::record::{Change, Decision, Event, Record};
use hindmost_core::time::Time;
use serde::Serialize;

use super::RunError;
use crate::store::{Appended, JOURNAL, Store};

/// Number of bytes that one read takes while searching for the last complete line.
const BLOCK: usize = 8192;

/// A journal that is being written.
pub(super) struct LiveJournal {
    path: PathBuf,
    to: Appended,
    /// True if lines were written after the last sync.
    dirty: bool,
    /// False with `--no-sync`: then a power cut may lose lines.
    syncs: bool,
}

/// Reads a run's journal: its header and records. An incomplete last line is left out. Returns `None` if there is no
/// complete header.
pub(super) fn read(store: &Store) -> Result<Option<(Header, Vec<Record>)>, RunError> {
    read_named(store, JOURNAL)
}

/// Reads a journal of a run as [`read`] does; `name` is that of its file.
pub(super) fn read_named(store: &Store, name: &str) -> Result<Option<(Header, Vec<Record>)>, RunError> {
    let fault = |error| RunError::Journal { path: store.journal().with_file_name(name), error };
    let mut file = match store.inner().file(name) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(fault(error.into())),
    };
    let whole = whole_lines(&mut file).and_then(|length| file.rewind().map(|()| length));
    let length = whole.map_err(|error| fault(error.into()))?;
    if length == 0 {
        return Ok(None);
    }
    let reader = JournalReader::new(BufReader::new(file.take(length))).map_err(fault)?;
    let header = reader.header().clone();
    let records = reader.collect::<Result<Vec<Record>, JournalError>>().map_err(fault)?;
    Ok(Some((header, records)))
}

/// Returns the length in bytes of a journal up to the end of its last complete line. Reads backwards from the end, and
/// only as far as that line.
fn whole_lines(journal: &mut (impl Read + Seek)) -> io::Result<u64> {
    let mut block = [0; BLOCK];
    let mut end = journal.seek(SeekFrom::End(0))?;
    while end > 0 {
        let start = end.saturating_sub(BLOCK as u64);
        let block = &mut block[..(end - start) as usize];
        journal.seek(SeekFrom::Start(start))?;
        journal.read_exact(block)?;
        if let Some(at) = block.iter().rposition(|byte| *byte == b'\n') {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

impl LiveJournal {
    /// Opens a run's journal for appending and removes an incomplete last line. If `header` is
    /// given, empties the journal and writes the header.
    pub(super) fn open(store: &Store, header: Option<&Header>) -> Result<LiveJournal, RunError> {
        let path = store.journal();
        let fault = |error| RunError::Io { path: path.clone(), error };
        let mut file = store.inner().own_file(JOURNAL).map_err(fault)?;
        let keep = if header.is_none() { whole_lines(&mut file).map_err(fault)? } else { 0 };
        file.set_len(keep).map_err(fault)?;
        file.seek(SeekFrom::End(0)).map_err(fault)?;
        let syncs = store.is_synced();
        let mut journal = LiveJournal { path: path.clone(), to: Appended::new(file), dirty: true, syncs };
        if let Some(header) = header {
            journal.line(header)?;
            journal.sync()?;
        }
        Ok(journal)
    }

    pub(super) fn event(&mut self, at: Time, event: &Event) -> Result<(), RunError> {
        self.line(&Record { at, change: Change::Event(event.clone()) })
    }

    pub(super) fn decision(&mut self, at: Time, decision: &Decision) -> Result<(), RunError> {
        self.line(&Record { at, change: Change::Decision(decision.clone()) })
    }

    fn line(&mut self, value: &impl Serialize) -> Result<(), RunError> {
        self.dirty = true;
        let fault = |error| RunError::Journal { path: self.path.clone(), error: JournalError::Unwritable(error) };
        serde_json::to_writer(self.to.waiting(), value).map_err(fault)?;
        self.to.waiting().push(b'\n');
        Ok(())
    }

    /// Passes all lines to the operating system, so that they survive the end of this process.
    ///
    /// # Errors
    /// If the disk is full, or can't be written. What could not be written waits for the next call.
    pub(super) fn write(&mut self) -> io::Result<()> {
        self.to.flush()
    }

    /// Returns the error of a write of this journal.
    pub(super) fn fault(&self, error: io::Error) -> RunError {
        RunError::Journal { path: self.path.clone(), error: error.into() }
    }

    /// Syncs all lines to the disk, so that they survive a power cut; with `--no-sync` only passes them to the operating system.
    pub(super) fn sync(&mut self) -> Result<(), RunError> {
        if !self.dirty {
            return Ok(());
        }
        self.dirty = false;
        let mut written = self.to.flush();
        if self.syncs {
            written = written.and_then(|()| self.to.sync());
        }
        written.map_err(|error| self.fault(error))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    /// A journal that counts the bytes that are read from it.
    struct Counted(Cursor<Vec<u8>>, usize);

    impl Read for Counted {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let read = self.0.read(into)?;
            self.1 += read;
            Ok(read)
        }
    }

    impl Seek for Counted {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            self.0.seek(to)
        }
    }

    #[test]
    fn the_last_whole_line_is_found_wherever_blocks_end() {
        for whole in [0, 1, 2, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 3 * BLOCK + 7] {
            for cut_short in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 3] {
                let mut bytes = vec![b'x'; whole + cut_short];
                if let Some(last) = whole.checked_sub(1) {
                    bytes[last] = b'\n';
                }
                assert_eq!(whole_lines(&mut Cursor::new(bytes)).unwrap(), whole as u64, "{whole} + {cut_short}");
            }
        }
    }

    #[test]
    fn only_the_end_of_a_long_journal_is_read() {
        let mut journal = Counted(Cursor::new(b"a line\n".repeat(1_000_000)), 0);
        assert_eq!(whole_lines(&mut journal).unwrap(), 7_000_000);
        assert_eq!(journal.1, BLOCK);
    }
}
