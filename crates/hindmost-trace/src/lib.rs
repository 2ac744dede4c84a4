//! Readers of the logs people already have, and of the journals of our own runs.
//!
//! Spark event logs: [`spark::open`] reads one into a [`spark::SparkTrace`], with the jobs and nodes
//! that a replay needs; [`spark::summarize`] only counts, and [`spark::analyse`] counts and finds what
//! stragglers cost, in memory that does not grow with the log.
//!
//! Hadoop's job histories and Rumen traces: the same in [`hadoop`].
//!
//! Journals: [`journal::open`] reads one into a [`journal::JournalTrace`], [`journal::summarize`]
//! counts, [`journal::records`] gives record by record.
//!
//! [`any`] tells from a log's first bytes which of them reads it.
//!
//! # How a new format is added
//!
//! 1. Add a folder beside `spark/`. Use `reading/` for everything that is not particular to the format: `Plain` reads
//!    a file of any compression, `Window` and `Lines` hold a bounded part of it, `Number`, `Text` and `Flag` are lenient
//!    fields, `warn` words counted problems as warnings, `Causes` counts causes of failures, `Progress` reports progress.
//! 2. Give it three functions, each for a reader and for a path: `summarize` returns the counts ([`TraceSummary`]),
//!    `analyse` also passes every attempt that ended to an [`analysis::Analysis`], and `open` keeps what a replay needs;
//!    `replay.rs` builds jobs and phases. Counts that only this format has are a struct in `summary/`.
//! 3. Add a variant to [`any::LogKind`] with the test that recognises the format by its first bytes, and one to
//!    [`TraceError`] for files that the reader refuses.
//! 4. Test small logs with each oddity. Test that a log cut or damaged at any byte is read up to there, with a warning
//!    that names the place, and that the three functions count alike.
//!
//! Nothing outside the format's folder imports from it, except [`any`] and formats that must recognise its files.

pub mod analysis;
pub mod any;
mod error;
pub mod hadoop;
pub mod journal;
mod reading;
mod recorded;
mod replay;
pub mod spark;
mod summary;

pub use error::TraceError;
pub use reading::progress::OnProgress;
pub use recorded::{Outcome, RecordedAttempt, RecordedNode};
pub use summary::{SparkCounts, TraceSummary};

/// What to tell the user of a replay about copies that the log never saw.
pub const COPIES_NOTE: &str = "Durations of copies that never ran are drawn from the recorded tasks of the same stage.";

/// Where the output folder of a run has its journal.
const JOURNAL_IN_FOLDER: &str = ".hindmost/journal.jsonl";
