//! The journal's file: appended to line by line, synced before decisions are carried out.

use std::fs::File;
use std::io::{BufReader, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use hindmost_core::journal::{Header, JournalError, JournalReader};
use hindmost_core::record::{Change, Decision, Event, Record};
use hindmost_core::time::Time;
use serde::Serialize;

use super::RunError;

/// A journal that is being written.
pub(super) struct LiveJournal {
    path: PathBuf,
    to: BufWriter<File>,
    dirty: bool,
}

/// Reads a journal: header and records, without a last line that is cut short. `None` if not even the
/// header was written.
pub(super) fn read(path: &Path) -> Result<Option<(Header, Vec<Record>)>, RunError> {
    let fault = |error| RunError::Journal { path: path.to_owned(), error };
    let file = File::open(path).map_err(|error| fault(error.into()))?;
    let length = whole_lines(path)?;
    if length == 0 {
        return Ok(None);
    }
    let reader = JournalReader::new(BufReader::new(std::io::Read::take(file, length))).map_err(fault)?;
    let header = reader.header().clone();
    let records = reader.collect::<Result<Vec<Record>, JournalError>>().map_err(fault)?;
    Ok(Some((header, records)))
}

/// Length of a file up to the end of its last whole line.
fn whole_lines(path: &Path) -> Result<u64, RunError> {
    let fault = |error| RunError::Io { path: path.to_owned(), error };
    let bytes = std::fs::read(path).map_err(fault)?;
    Ok(bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at as u64 + 1))
}

impl LiveJournal {
    /// Opens a journal to append to it; with a header begins it anew. A line that is cut short goes.
    pub(super) fn open(path: &Path, header: Option<&Header>) -> Result<LiveJournal, RunError> {
        let fault = |error| RunError::Io { path: path.to_owned(), error };
        let mut file = File::options().create(true).truncate(false).write(true).read(true).open(path).map_err(fault)?;
        let keep = if header.is_some() { 0 } else { whole_lines(path)? };
        file.set_len(keep).map_err(fault)?;
        file.seek(SeekFrom::End(0)).map_err(fault)?;
        let mut journal = LiveJournal { path: path.to_owned(), to: BufWriter::new(file), dirty: true };
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
        let fault = |error| RunError::Journal { path: self.path.clone(), error };
        serde_json::to_writer(&mut self.to, value).map_err(|error| fault(JournalError::Unwritable(error)))?;
        self.to.write_all(b"\n").map_err(|error| fault(error.into()))
    }

    /// Everything that was written survives this process once this returns.
    pub(super) fn flush(&mut self) -> Result<(), RunError> {
        self.to.flush().map_err(|error| RunError::Journal { path: self.path.clone(), error: error.into() })
    }

    /// Everything that was written is safe once this returns.
    pub(super) fn sync(&mut self) -> Result<(), RunError> {
        if !self.dirty {
            return Ok(());
        }
        self.dirty = false;
        let written = self.to.flush().and_then(|()| self.to.get_ref().sync_data());
        written.map_err(|error| RunError::Journal { path: self.path.clone(), error: error.into() })
    }
}
