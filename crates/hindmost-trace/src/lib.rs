//! Readers of cluster logs (Spark, Hadoop, tables of tasks and others) and of Hindmost journals, and what stragglers cost in
//! them and why.
//!
//! A reader turns a log into counts and into one neutral [`Recording`](recording::Recording) of each application. All else is made of
//! these, so a command reads each log once:
//!
//! - **Summary**: counts of what a log holds (jobs, stages, tasks, attempts, causes of failures), with a warning for
//!   each problem that the reader worked around. See [`TraceSummary`].
//! - **Findings**: what stragglers cost and why, phase by phase: waiting time, slow nodes, skew, speculative copies.
//!   See [`findings`].
//! - **Diagnosis**: what each application spent its time on, and why its stragglers were slow. See [`diagnosis`].
//! - **Replay**: jobs with recorded durations, nodes, and the world in which they ran. See [`replay`].
//!
//! [`log::read`] recognises the format and returns what is [`Wanted`]. A recording has about 100 bytes for each attempt. It is
//! dropped once its application has been diagnosed, unless it may be replayed. A log that is damaged or cut short is read as far as
//! possible.
//!
//! ```
//! use hindmost_trace::table::Columns;
//! use hindmost_trace::{Wanted, log};
//!
//! let text = concat!(
//!     r#"{"Event":"SparkListenerApplicationStart","App Name":"a","App ID":"app-1","Timestamp":1000}"#, "\n",
//!     r#"{"Event":"SparkListenerTaskEnd","Stage ID":0,"Task End Reason":{"Reason":"Success"},"#,
//!     r#""Task Info":{"Task ID":0,"Index":0,"Launch Time":1000,"Finish Time":3000,"Host":"h1"}}"#, "\n",
//! );
//! let found = log::read_stream(text.as_bytes(), "my log", &Columns::default(), Wanted::DIAGNOSES, None)?;
//! assert_eq!((found.summary.format, found.summary.attempts), ("spark", 1));
//! assert_eq!(found.findings.machine_time.winners, 2.0); // seconds
//! assert_eq!(found.diagnoses[0].tasks, 1);
//! # Ok::<(), hindmost_trace::TraceError>(())
//! ```
//!
//! | module | logs |
//! | --- | --- |
//! | `spark` | Spark event logs |
//! | [`hadoop`] | MapReduce job histories (`.jhist`, and text of Hadoop 0.16 to 1.x) and Rumen traces |
//! | [`table`] | tables of tasks: CSV, TSV, JSON lines |
//! | `tasks` | what all logs have in common of which each row is an attempt: tables, Slurm, GNU parallel, Nextflow, Ray, Trino, Flink, Dask, Snakemake, HTCondor, SWF |
//! | [`journal`] | journals of Hindmost's own runs |
//!
//! # How to add a format
//!
//! If each row of the log is an attempt, write a module next to `nextflow.rs` that turns rows into `tasks::row::Row`, with a constant of type
//! `tasks::Rows`. Otherwise:
//!
//! 1. Add a folder next to `spark/` with a type that implements `format::Format`: it recognises a log by its beginning, reads it, and gives
//!    the recording of each application to a `Recorder`. Use `reading/` for everything that is not particular to the format: `Plain` reads
//!    a file of any compression, `Window` and `Lines` hold a bounded part of it, fields of type `Number`, `Text` and
//!    `Flag` accept values of unexpected types, `warn` turns counted problems into warnings, `Causes` counts causes of
//!    failures, `Progress` reports progress. Put counts that only this format has into a struct in `summary/`.
//! 2. If the log says which phases wait for each other, record a [plan](recording::PlannedJob) of the jobs, and build their replay in
//!    `replay/planned.rs`.
//!
//! Then, for either kind:
//!
//! 3. Add a variant to [`Kind`] or [`TaskFormat`], the reader to the list in `log.rs`, and a variant to [`TraceError`] for files that the
//!    reader refuses.
//! 4. Add a small log for each irregularity to `tests/it/fixtures/`. Test that a log that is cut or damaged at any byte is read up to this
//!    byte, with a warning that names the position, and that it has the same counts whatever is wanted of it.
//!
//! Nothing outside the format's folder imports from it, except `log.rs` and formats that must recognise its files.

mod condor;
mod dask;
mod diagnosing;
pub mod diagnosis;
mod error;
pub mod findings;
mod flink;
mod format;
pub mod hadoop;
mod joined;
pub mod journal;
pub mod log;
mod nextflow;
mod parallel;
mod ray;
mod reading;
mod recorder;
pub mod recording;
pub mod replay;
mod slurm;
mod snakemake;
mod spark;
mod summary;
mod swf;
pub mod table;
mod tasks;
#[cfg(test)]
mod testing;
mod trino;

pub use error::TraceError;
pub use format::{Kind, TaskFormat};
pub use log::Log;
pub use reading::progress::OnProgress;
pub use recorder::{Longest, Replays, Wanted};
pub use summary::{SparkCounts, TraceSummary};

/// A note for the user of a replay: where the durations of copies that are not in the log come from.
pub const COPIES_NOTE: &str = "Durations of copies that never ran are drawn from the recorded tasks of the same stage.";

/// The same for a log whose replay knows what each attempt met.
pub const SITUATED_NOTE: &str = "Attempts that the log shows take as long as they took. Copies that never ran take as long as \
                                 their own task or as another task of the same stage, with the input of their own and with \
                                 what they meet (first waves, slow and busy nodes).";
