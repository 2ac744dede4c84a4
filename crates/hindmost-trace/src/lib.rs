//! Readers of cluster logs (Spark, Hadoop, tables of tasks and others) and of Hindmost journals, and what stragglers cost in
//! them and why.
//!
//! Four concepts:
//!
//! - **Summary**: counts of what a log holds (jobs, stages, tasks, attempts, causes of failures), with a warning for
//!   each problem that the reader worked around. See [`TraceSummary`].
//! - **Findings**: what stragglers cost and why, phase by phase: waiting time, slow nodes, skew, speculative copies.
//!   See [`findings`].
//! - **Diagnosis**: what each application spent its time on, and why its stragglers were slow. See [`diagnosis`].
//! - **Replay**: jobs with recorded durations, nodes and attempts, for a simulation of the same workload. See
//!   [`spark::open`], [`hadoop::open`] and [`journal::open`].
//!
//! Attempts are kept until their application has been diagnosed, about 100 bytes each; a replay keeps those of all applications. A log that
//! is damaged or cut short is read as far as possible.
//!
//! ```
//! use hindmost_trace::any;
//!
//! let log = concat!(
//!     r#"{"Event":"SparkListenerApplicationStart","App Name":"a","App ID":"app-1","Timestamp":1000}"#, "\n",
//!     r#"{"Event":"SparkListenerTaskEnd","Stage ID":0,"Task End Reason":{"Reason":"Success"},"#,
//!     r#""Task Info":{"Task ID":0,"Index":0,"Launch Time":1000,"Finish Time":3000,"Host":"h1"}}"#, "\n",
//! );
//! let (summary, findings, diagnoses) = any::diagnose_stream(log.as_bytes(), "my log", None)?;
//! assert_eq!((summary.format, summary.attempts), ("spark", 1));
//! assert_eq!(findings.machine_time.winners, 2.0); // seconds
//! assert_eq!(diagnoses[0].tasks, 1);
//! # Ok::<(), hindmost_trace::TraceError>(())
//! ```
//!
//! | module | logs |
//! | --- | --- |
//! | [`any`] | any format, recognised by its first bytes |
//! | [`spark`] | Spark event logs |
//! | [`hadoop`] | MapReduce job histories (`.jhist`, and text of Hadoop 0.16 to 1.x) and Rumen traces |
//! | [`table`] | tables of tasks: CSV, TSV, JSON lines |
//! | [`tasks`] | all logs of which each row is an attempt: tables, Slurm, GNU parallel, Nextflow, Ray, Trino |
//! | [`journal`] | journals of Hindmost's own runs |
//!
//! # How to add a format
//!
//! If each row of the log is an attempt, write a module next to `slurm.rs` that turns rows into `tasks::row::Row`, and add
//! a variant to [`tasks::TaskFormat`]. Otherwise:
//!
//! 1. Add a folder next to `spark/`. Use `reading/` for everything that is not particular to the format: `Plain` reads
//!    a file of any compression, `Window` and `Lines` hold a bounded part of it, fields of type `Number`, `Text` and
//!    `Flag` accept values of unexpected types, `warn` turns counted problems into warnings, `Causes` counts causes of
//!    failures, `Progress` reports progress.
//! 2. Write two functions, each for a reader and for a path: `diagnose` returns the counts ([`TraceSummary`]) and adds a
//!    [`diagnosis::Recording`] of each application to [`findings::Applications`]; `open` keeps what a replay needs, and `replay.rs` builds
//!    jobs and phases. Put counts that only this format has into a struct in `summary/`.
//! 3. Add a variant to [`any::LogKind`], code that recognises the format by its first bytes, and a variant to
//!    [`TraceError`] for files that the reader refuses.
//! 4. Test a small log for each irregularity. Test that a log that is cut or damaged at any byte is read up to this
//!    byte, with a warning that names the position, and that both functions return the same counts.
//!
//! Nothing outside the format's folder imports from it, except [`any`] and formats that must recognise its files.

pub mod any;
pub mod diagnosis;
mod error;
pub mod findings;
pub mod hadoop;
pub mod journal;
mod nextflow;
mod parallel;
mod ray;
mod reading;
mod recorded;
mod replay;
mod slurm;
pub mod spark;
mod summary;
pub mod table;
pub mod tasks;
mod trino;

pub use error::TraceError;
pub use reading::progress::OnProgress;
pub use recorded::{Outcome, RecordedAttempt, RecordedNode};
pub use summary::{SparkCounts, TraceSummary};

/// A note for the user of a replay: where the durations of copies that are not in the log come from.
pub const COPIES_NOTE: &str = "Durations of copies that never ran are drawn from the recorded tasks of the same stage.";

/// The same for a log whose replay knows what each attempt met.
pub const SITUATED_NOTE: &str = "Attempts that the log shows take as long as they took. Copies that never ran take as long as their own task or as another task of the same stage, with the input of their own and with what they meet (first waves, slow and busy nodes).";

/// Path of the journal within the output folder of a run.
const JOURNAL_IN_FOLDER: &str = ".hindmost/journal.jsonl";
