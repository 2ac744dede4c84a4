//! Reads the records of a journal one by one. Errors name the file and the line.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use hindmost_core::journal::{Header, JournalError, JournalReader};
use hindmost_core::record::{Change, Event, Record};
use hindmost_core::time::Time;
use serde::Deserialize;

use crate::error::{JOURNAL_IN_FOLDER, TraceError};
use crate::reading::progress::{OnProgress, Progress};

pub use hindmost_core::journal::MOST_TASKS;

/// Bytes within which a journal's header must contain its first key.
const SNIFFED: usize = 4 << 10;

/// Returns whether these bytes look like the beginning of a journal.
pub(super) fn begins_like_one(beginning: &[u8]) -> bool {
    let line = beginning.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = &line[..line.len().min(SNIFFED)];
    let key = b"\"hindmost_journal\"";
    line.trim_ascii_start().starts_with(b"{") && memchr::memmem::find(line, key).is_some()
}

/// The name of a run's journal, and of the record of the run's job in the same folder.
const JOURNAL_AND_JOB: [&str; 2] = ["journal.jsonl", "job.json"];
/// The largest record of a job that is read, in bytes.
const LARGEST_JOB: u64 = 64 << 20;

/// Returns the begin and end of each pause of a run, in order and without overlaps, from the record of its job beside
/// the journal. Empty if there is no such record. Journals of earlier runs of the job (`journal-1.jsonl`) have none.
fn pauses_of(journal: &Path) -> Vec<[Time; 2]> {
    #[derive(Default, Deserialize)]
    struct JobRecord {
        #[serde(default)]
        pauses: Vec<[u64; 2]>,
    }
    let [name, job] = JOURNAL_AND_JOB;
    let path = journal.with_file_name(job);
    if journal.file_name() != Some(name.as_ref()) || !path.is_file() {
        return Vec::new();
    }
    let read = File::open(&path).map(|file| serde_json::from_reader(BufReader::new(file.take(LARGEST_JOB))));
    let JobRecord { mut pauses } = read.ok().and_then(Result::ok).unwrap_or_default();
    pauses.retain(|[begin, end]| begin < end);
    pauses.sort_unstable();
    let mut apart: Vec<[Time; 2]> = Vec::new();
    for [begin, end] in pauses.into_iter().map(|pause| pause.map(Time)) {
        match apart.last_mut() {
            Some([_, last]) if begin <= *last => *last = end.max(*last),
            _ => apart.push([begin, end]),
        }
    }
    apart
}

/// Reads a journal record by record.
pub struct JournalRecords<'a> {
    reader: JournalReader<Box<dyn BufRead + 'a>>,
    name: String,
    tasks: u64,
    pauses: Vec<[Time; 2]>,
}

impl<'a> JournalRecords<'a> {
    pub(super) fn open(path: &Path, progress: Option<OnProgress<'a>>) -> Result<JournalRecords<'a>, TraceError> {
        let mut journal = path.to_owned();
        if path.is_dir() {
            journal.push(JOURNAL_IN_FOLDER);
            if !journal.is_file() {
                return Err(TraceError::NoJournal { path: path.to_owned() });
            }
        }
        let failed = |source| TraceError::Open { path: journal.clone(), source };
        let file = File::open(&journal).map_err(failed)?;
        let about = file.metadata().map_err(failed)?;
        let total = about.is_file().then_some(about.len());
        let name = journal.display().to_string();
        JournalRecords::beside(Some(&journal), Progress::new(progress, total).watch_all(file), &name)
    }

    /// Reads a journal. If its `path` is known, the pauses of the run come from the files beside it.
    pub(super) fn beside(
        path: Option<&Path>,
        reader: impl Read + 'a,
        name: &str,
    ) -> Result<JournalRecords<'a>, TraceError> {
        let records = JournalRecords::new(reader, name)?;
        Ok(JournalRecords { pauses: path.map(pauses_of).unwrap_or_default(), ..records })
    }

    fn new(reader: impl Read + 'a, name: &str) -> Result<JournalRecords<'a>, TraceError> {
        let buffered: Box<dyn BufRead + 'a> = Box::new(BufReader::with_capacity(1 << 16, reader));
        let reader = JournalReader::new(buffered).map_err(|error| in_file(name, 0, error))?;
        Ok(JournalRecords { reader, name: name.to_owned(), tasks: 0, pauses: Vec::new() })
    }

    /// Returns the journal's name for errors.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the journal's header.
    pub fn header(&self) -> &Header {
        self.reader.header()
    }

    /// Returns the begin and end of each pause of a resumed run, in order and without overlaps. They come from the run's
    /// folder; empty for a journal outside of it. The times of the records include the pauses.
    pub fn pauses(&self) -> &[[Time; 2]] {
        &self.pauses
    }

    /// Returns the number of the line that was read last, counted from 1; the header is line 1.
    pub fn line(&self) -> u64 {
        self.reader.line()
    }

    /// Returns whether the last line is incomplete and was left out. False until the last record has been read.
    pub fn cut_short(&self) -> bool {
        self.reader.cut_short()
    }
}

impl Iterator for JournalRecords<'_> {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        let record = match self.reader.next()? {
            Ok(record) => record,
            Err(error) => return Some(Err(in_file(&self.name, self.reader.line(), error))),
        };
        if let Change::Event(Event::JobArrived { spec, .. }) = &record.change {
            self.tasks += spec.tasks();
            if self.tasks > MOST_TASKS {
                let (name, line) = (self.name.clone(), self.reader.line());
                return Some(Err(TraceError::TooManyTasks { name, line, tasks: self.tasks, most: MOST_TASKS }));
            }
            // A phase must come after the phases that it waits for.
            let before = spec.phase_before_its_parent();
            let before = before.map(|phase| format!("phase {:?} waits for itself or a later phase", phase.name));
            if let Some(fault) = before.or_else(|| spec.fault_of_edges()) {
                let (name, line, job) = (self.name.clone(), self.reader.line(), spec.name.to_string());
                return Some(Err(TraceError::BadPhases { name, line, job, fault }));
            }
        }
        Some(Ok(record))
    }
}

/// Adds the name of the file to an error of a journal; `line` lines were read before it.
fn in_file(name: &str, line: u64, error: JournalError) -> TraceError {
    let name = name.to_owned();
    match error {
        JournalError::NoHeader => TraceError::NotJournal { name },
        JournalError::TooNew { found } => TraceError::JournalTooNew { name, found },
        JournalError::BadLine { line, error } => TraceError::BadRecord { name, line, error },
        // Cannot happen here, since nothing is written.
        JournalError::Unwritable(error) => TraceError::BadRecord { name, line, error },
        JournalError::Io(source) => TraceError::ReadJournal { name, line, source },
    }
}
