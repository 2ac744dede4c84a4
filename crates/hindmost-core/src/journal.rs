//! The journal: a run's records, one JSON object per line, after a header with the format's version.
//!
//! The first line is `{"hindmost_journal":1,…}`. It has what is needed to read the other lines: the names of the
//! resource dimensions, the policy, its parameters and its progress model (`knowledge`). Every further line is a
//! [`Record`]: `{"at":0,"event":{"job_arrived":{…}}}`. Times are ticks of 1 ns. If a journal ends in the middle of a
//! line, that line is ignored.
//!
//! ```
//! use hindmost_core::journal::JournalReader;
//!
//! let journal =
//! r#"{"hindmost_journal":1,"dimensions":["slots"],"policy":"none","order":"fifo","gamma":0,"knowledge":"oracle"}
//! {"at":0,"event":"round"}
//! {"at":100,"eve"#;
//! let mut reader = JournalReader::new(journal.as_bytes())?;
//! assert_eq!(reader.header().policy, "none");
//! assert_eq!(reader.by_ref().count(), 1);
//! assert!(reader.cut_short());
//! # Ok::<(), hindmost_core::journal::JournalError>(())
//! ```

use std::io::{self, BufRead, Read, Write};

use serde::de::value::StrDeserializer;
use serde::{Deserialize, Deserializer, Serialize};

use crate::cluster::Placement;
use crate::estimator::Knowledge;
use crate::record::Record;
use crate::resources::Dimensions;
use crate::workload::QueueSpec;

/// The version of the format that this library writes, which is also the newest version that it reads.
pub const VERSION: u32 = 1;

/// The most tasks that all jobs of a journal may have together. Each task takes memory as soon as its job arrives, so
/// this limits the memory that a damaged number can cost.
pub const MOST_TASKS: u64 = 50_000_000;

/// The maximum length of a header, bytes. The limit is needed because a file that is not a journal may have no line
/// breaks.
const LONGEST_HEADER: u64 = 1 << 20;

/// The first line of a journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Version of the journal's format.
    pub hindmost_journal: u32,
    /// Names of the resource dimensions.
    pub dimensions: Dimensions,
    /// The policy as the user named it.
    pub policy: String,
    /// The order of jobs, used by policies without an order of their own.
    pub order: String,
    /// Price of a machine-second, γ.
    pub gamma: f64,
    /// The progress model of the policy.
    pub knowledge: Knowledge,
    /// How nodes for copies were chosen.
    #[serde(default, deserialize_with = "placement")]
    pub placement: Placement,
    /// The seed of [`Placement::Random`]; `None` under other placements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement_seed: Option<u64>,
    /// True if the run was a live run. `None` in journals of earlier versions: see [`Header::is_live`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<bool>,
    /// The queues to which jobs could be submitted; empty if none were configured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queues: Vec<QueueSpec>,
}

impl Header {
    /// Returns true if the run was a live run, and false if it was simulated. Earlier versions did not record this; their
    /// live runs, and only these, had [`Placement::Spread`].
    pub fn is_live(&self) -> bool {
        self.live.unwrap_or(self.placement == Placement::Spread)
    }
}

/// Reads a placement. Earlier versions called [`Placement::First`] `first_fit`.
fn placement<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Placement, D::Error> {
    let name = String::deserialize(deserializer)?;
    if name == "first_fit" {
        return Ok(Placement::First);
    }
    Placement::deserialize(StrDeserializer::new(&name))
}

/// An error while reading or writing a journal.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The first line is not a header.
    #[error("not a journal: the first line is not a header with \"hindmost_journal\"")]
    NoHeader,
    /// The journal has a newer format.
    #[error("the journal has format {found}, and this version reads formats up to {VERSION}")]
    TooNew {
        /// The version of the journal's format.
        found: u32,
    },
    /// A line before the last one is not a record.
    #[error("line {line} is not a record: {error}")]
    BadLine {
        /// Line number, from 1.
        line: u64,
        /// Why the line could not be read.
        error: serde_json::Error,
    },
    /// A record could not be written as JSON.
    #[error("a record could not be written: {0}")]
    Unwritable(serde_json::Error),
}

/// Writes a journal, record by record.
pub struct JournalWriter<W: Write> {
    to: W,
}

impl<W: Write> JournalWriter<W> {
    /// Creates a journal and writes its header.
    ///
    /// # Errors
    /// If writing fails.
    pub fn new(mut to: W, header: &Header) -> Result<JournalWriter<W>, JournalError> {
        line(&mut to, header)?;
        Ok(JournalWriter { to })
    }

    /// Appends a record.
    ///
    /// # Errors
    /// If writing fails.
    pub fn write(&mut self, record: &Record) -> Result<(), JournalError> {
        line(&mut self.to, record)
    }

    /// Flushes the journal and returns the underlying writer.
    ///
    /// # Errors
    /// If flushing fails.
    pub fn finish(mut self) -> Result<W, JournalError> {
        self.to.flush()?;
        Ok(self.to)
    }
}

fn line<W: Write>(to: &mut W, value: &impl Serialize) -> Result<(), JournalError> {
    serde_json::to_writer(&mut *to, value).map_err(JournalError::Unwritable)?;
    to.write_all(b"\n")?;
    Ok(())
}

/// Reads a journal record by record. The iterator ends at the end of the file or before an incomplete last line. The
/// [module's example](self) uses it.
pub struct JournalReader<R: BufRead> {
    from: R,
    header: Header,
    line: u64,
    buffer: Vec<u8>,
    cut_short: bool,
}

impl<R: BufRead> JournalReader<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// If there is no header, the version of the format is too new, or reading fails.
    pub fn new(mut from: R) -> Result<JournalReader<R>, JournalError> {
        let mut buffer = Vec::new();
        from.by_ref().take(LONGEST_HEADER).read_until(b'\n', &mut buffer)?;
        let version: serde_json::Value = serde_json::from_slice(&buffer).map_err(|_| JournalError::NoHeader)?;
        let found =
            version.get("hindmost_journal").and_then(serde_json::Value::as_u64).ok_or(JournalError::NoHeader)?;
        if found > u64::from(VERSION) {
            return Err(JournalError::TooNew { found: found as u32 });
        }
        let header = serde_json::from_slice(&buffer).map_err(|error| JournalError::BadLine { line: 1, error })?;
        Ok(JournalReader { from, header, line: 1, buffer, cut_short: false })
    }

    /// Returns the header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the number of the line that was read last, from 1. The header is line 1.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// Returns true if the last line was incomplete and was ignored.
    pub fn cut_short(&self) -> bool {
        self.cut_short
    }
}

impl<R: BufRead> Iterator for JournalReader<R> {
    type Item = Result<Record, JournalError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.buffer.clear();
        // Read bytes, not text, because the file may end inside a multi-byte character.
        match self.from.read_until(b'\n', &mut self.buffer) {
            Err(error) => Some(Err(error.into())),
            Ok(0) => None,
            Ok(_) => {
                self.line += 1;
                match serde_json::from_slice(&self.buffer) {
                    Ok(record) => Some(Ok(record)),
                    Err(_) if !self.buffer.ends_with(b"\n") => {
                        self.cut_short = true;
                        None
                    }
                    Err(error) => Some(Err(JournalError::BadLine { line: self.line, error })),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{AttemptId, JobId, TaskId};
    use crate::record::{Change, Event};
    use crate::time::Time;

    fn header() -> Header {
        Header {
            hindmost_journal: VERSION,
            dimensions: Dimensions::one_slot(),
            policy: "sda".to_owned(),
            order: "fair".to_owned(),
            gamma: 0.01,
            knowledge: Knowledge::Progress(0.2),
            placement: Placement::Random,
            placement_seed: Some(7),
            live: Some(false),
            queues: Vec::new(),
        }
    }

    fn journal() -> Vec<u8> {
        let mut writer = JournalWriter::new(Vec::new(), &header()).unwrap();
        for at in 0..3 {
            writer.write(&Record { at: Time(at), change: Change::Event(Event::Round) }).unwrap();
        }
        writer.finish().unwrap()
    }

    #[test]
    fn written_records_are_read_back() {
        let bytes = journal();
        let mut reader = JournalReader::new(&bytes[..]).unwrap();
        assert_eq!(reader.header(), &header());
        let records: Vec<Record> = reader.by_ref().map(Result::unwrap).collect();
        assert_eq!(records.len(), 3);
        assert_eq!(records[2], Record { at: Time(2), change: Change::Event(Event::Round) });
        assert!(!reader.cut_short());
    }

    #[test]
    fn headers_of_earlier_versions_are_read() {
        let read = |placement: &str| {
            let header = format!(
                r#"{{"hindmost_journal":1,"dimensions":["slots"],"policy":"none","order":"fifo","gamma":0,"knowledge":"age"{placement}}}"#
            );
            let reader = JournalReader::new(header.as_bytes()).map(|reader| reader.header().clone());
            reader.map(|header| (header.placement, header.is_live()))
        };
        assert_eq!(read("").unwrap(), (Placement::First, false));
        assert_eq!(read(r#","placement":"first_fit""#).unwrap(), (Placement::First, false));
        assert_eq!(read(r#","placement":"spread""#).unwrap(), (Placement::Spread, true));
        assert_eq!(read(r#","placement":"spread","live":false"#).unwrap(), (Placement::Spread, false));
        assert_eq!(read(r#","placement":"first","live":true"#).unwrap(), (Placement::First, true));
        assert!(read(r#","placement":"last""#).is_err());
    }

    #[test]
    fn an_incomplete_last_line_is_ignored() {
        let mut bytes = journal();
        bytes.truncate(bytes.len() - 5);
        let mut reader = JournalReader::new(&bytes[..]).unwrap();
        assert_eq!(reader.by_ref().map(Result::unwrap).count(), 2);
        assert!(reader.cut_short());
    }

    #[test]
    fn a_journal_may_end_inside_a_character() {
        let mut bytes = journal();
        let reason = Some("größer".into());
        let event = Event::AttemptFailed {
            attempt: AttemptId { task: TaskId { job: JobId(0), phase: 0, index: 0 }, copy: 0 },
            reason,
            external: None,
        };
        serde_json::to_writer(&mut bytes, &Record { at: Time(3), change: Change::Event(event) }).unwrap();
        let sharp = bytes.iter().position(|byte| !byte.is_ascii()).unwrap();
        bytes.truncate(sharp + 1);
        let mut reader = JournalReader::new(&bytes[..]).unwrap();
        assert_eq!(reader.by_ref().map(Result::unwrap).count(), 3);
        assert!(reader.cut_short());
    }

    #[test]
    fn a_bad_line_is_reported_with_its_number() {
        let mut bytes = journal();
        bytes.extend_from_slice(b"not a record\n");
        let last = JournalReader::new(&bytes[..]).unwrap().last().unwrap();
        assert!(matches!(last, Err(JournalError::BadLine { line: 5, .. })), "{last:?}");
    }

    #[test]
    fn other_files_and_newer_formats_are_refused() {
        assert!(matches!(JournalReader::new(&b"{\"a\":1}\n"[..]), Err(JournalError::NoHeader)));
        assert!(matches!(JournalReader::new(&b""[..]), Err(JournalError::NoHeader)));
        let newer = b"{\"hindmost_journal\":99}\n";
        assert!(matches!(JournalReader::new(&newer[..]), Err(JournalError::TooNew { found: 99 })));
    }
}
