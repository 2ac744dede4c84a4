//! The journal's file: appended to line by line, synced before decisions are carried out.

use std::fs::File;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

use hindmost_core::journal::{Header, JournalError, JournalReader};
use hindmost_core::record::{Change, Decision, Event, Record};
use hindmost_core::time::Time;
use serde::Serialize;

use super::RunError;
use crate::store::{JOURNAL, Store};

/// A journal that is being written.
pub(super) struct LiveJournal {
    path: PathBuf,
    to: BufWriter<File>,
    dirty: bool,
    /// False where a power cut may cost what was written.
    syncs: bool,
}

/// Reads a run's journal: header and records, without a last line that is cut short. `None` if not even the
/// header was written.
pub(super) fn read(store: &Store) -> Result<Option<(Header, Vec<Record>)>, RunError> {
    let fault = |error| RunError::Journal { path: store.journal(), error };
    let mut bytes = Vec::new();
    match store.inner().file(JOURNAL) {
        Ok(mut file) => file.read_to_end(&mut bytes).map_err(|error| fault(error.into()))?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(fault(error.into())),
    };
    bytes.truncate(whole_lines(&bytes));
    if bytes.is_empty() {
        return Ok(None);
    }
    let reader = JournalReader::new(&bytes[..]).map_err(fault)?;
    let header = reader.header().clone();
    let records = reader.collect::<Result<Vec<Record>, JournalError>>().map_err(fault)?;
    Ok(Some((header, records)))
}

/// Length up to the end of the last whole line.
fn whole_lines(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1)
}

impl LiveJournal {
    /// Opens a run's journal to append to it; with a header begins it anew. A line that is cut short goes.
    pub(super) fn open(store: &Store, header: Option<&Header>) -> Result<LiveJournal, RunError> {
        let path = store.journal();
        let fault = |error| RunError::Io { path: path.clone(), error };
        let mut file = store.inner().own_file(JOURNAL).map_err(fault)?;
        let mut keep = 0;
        if header.is_none() {
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).map_err(fault)?;
            keep = whole_lines(&bytes) as u64;
        }
        file.set_len(keep).map_err(fault)?;
        file.seek(SeekFrom::End(0)).map_err(fault)?;
        let syncs = store.is_synced();
        let mut journal = LiveJournal { path: path.clone(), to: BufWriter::new(file), dirty: true, syncs };
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

    /// Everything that was written survives a power cut once this returns, unless the run does without.
    pub(super) fn sync(&mut self) -> Result<(), RunError> {
        if !self.dirty {
            return Ok(());
        }
        self.dirty = false;
        let mut written = self.to.flush();
        if self.syncs {
            written = written.and_then(|()| self.to.get_ref().sync_data());
        }
        written.map_err(|error| RunError::Journal { path: self.path.clone(), error: error.into() })
    }
}
