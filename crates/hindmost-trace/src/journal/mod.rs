//! Reads journals of Hindmost's runs, live or simulated, as [`hindmost_core::journal`] writes them.
//!
//! | journal | replay |
//! | --- | --- |
//! | job | job with the same arrival, phases, demands and dependencies |
//! | node that joined | node with the same capacity and speed, available from beginning to end |
//! | attempt | the duration of one copy of its task, or a lower bound of it |
//!
//! A replay has no failures and no lost nodes. The durations of copies are therefore derived as follows:
//!
//! - Only the latest attempts of a task count: the last attempt that was started while no copy of the task was running,
//!   and all attempts after it. Such an attempt is the task's first, or was started after all copies had failed, had
//!   been lost with their nodes, or had been stopped with the run. Earlier attempts are ignored, because they had no
//!   result, and in a replay nothing fails.
//! - A winner takes as long as it ran. So does a copy that finished after the winner. Any other copy, stopped or still
//!   running at the end, takes at least as long as it ran.
//! - Durations of copies that never ran, and remaining times of stopped copies, are drawn from the durations of the
//!   phase's winners ([`Durations::Observed`]).
//! - A phase without a finished task uses the durations of the job's other phases; if no task of the job has finished,
//!   it uses the durations of all jobs of the journal. A journal without any finished task cannot be replayed.
//!
//! Tasks that were finished before the run are left out, because their durations are unknown. The other tasks of
//! their phase are renumbered, and phases without any other task are removed, together with the dependencies on them.
//!
//! Durations are converted to a node of speed 1. The speed of a node is the speed with which it joined or, if the run
//! found that the node is slow, the geometric mean of the speeds that the run learned since the node last counted as
//! normal. In a replay a slow node has this speed from the beginning, and a note says so.
//!
//! The pauses of a resumed run are left out of all times. They are known if the journal is in the run's folder.
//!
//! [`Durations::Observed`]: hindmost_core::workload::Durations::Observed

mod collect;
mod record_reader;
mod workload;

#[cfg(test)]
mod tests;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hindmost_core::journal::Header;
use hindmost_core::metrics::Diagnosis;
use hindmost_core::power::PowerModel;
use hindmost_core::resources::Resources;
use hindmost_core::workload::WorkloadJob;

use crate::JOURNAL_IN_FOLDER;
use crate::diagnosis::RecordedWorkload;
use crate::error::TraceError;
use crate::findings::Applications;
use crate::reading::progress::OnProgress;
use crate::summary::TraceSummary;
use collect::Collected;
use hindmost_core::metrics::Findings;

pub(crate) use record_reader::begins_like_one;
pub use record_reader::{JournalRecords, MOST_TASKS};

/// A note for the user of a replay: where durations that are not in the journal come from.
pub const COPIES_NOTE: &str = "Attempts take as long as in the recorded run; an attempt that did not finish takes at least as long as it ran. Its remaining time, and the durations of copies that never ran, are drawn from the winners of the same phase. If no winner took longer than an unfinished attempt ran, the attempt is assumed to need no more time, so the replay understates how much time policies save that start copies of such attempts.";

/// A recorded run, ready for a replay. Times are counted from the beginning of the run.
#[derive(Clone, Debug)]
pub struct JournalTrace {
    /// Policy, order, progress model (`knowledge`) and dimensions of the run.
    pub header: Header,
    /// Counts, and warnings about problems that the reader worked around.
    pub summary: TraceSummary,
    /// The jobs, in the order of their arrival.
    pub jobs: Vec<WorkloadJob>,
    /// The nodes, in the order in which they joined.
    pub nodes: Vec<JournalNode>,
    /// How a replay differs from the recorded run, and how long the run took, as sentences for the user. The
    /// summary's warnings are separate.
    pub notes: Vec<String>,
}

/// A node of a recorded run.
#[derive(Clone, Debug, PartialEq)]
pub struct JournalNode {
    /// The node's name.
    pub name: Arc<str>,
    /// The node's resources, in the dimensions of the journal's header.
    pub capacity: Resources,
    /// The node's speed; 1 is normal. If the run found that the node is slow, this is the geometric mean of the speeds
    /// that the run learned, otherwise the speed with which the node joined.
    pub speed: f64,
    /// The node's power model; `None` if the journal has none.
    pub power: Option<Arc<PowerModel>>,
}

/// Returns the path of the journal that `path` names: the file itself if its first line is a journal's header, or the
/// journal in the output folder of a run. `None` if the file is of another kind or missing.
///
/// # Errors
/// If the path is any other directory.
pub(crate) fn find(path: &Path) -> Result<Option<PathBuf>, TraceError> {
    if path.is_dir() {
        let found = of_folder(path);
        return found.map(Some).ok_or_else(|| TraceError::Directory { path: path.to_owned() });
    }
    Ok(record_reader::begins_like_a_journal(path).then(|| path.to_owned()))
}

/// Returns the path of the journal in the output folder of a run; `None` if the folder has no journal.
pub(crate) fn of_folder(folder: &Path) -> Option<PathBuf> {
    Some(folder.join(JOURNAL_IN_FOLDER)).filter(|journal| journal.is_file())
}

/// Reads the records of a journal one by one. `path` is the journal or the output folder of a run.
///
/// # Errors
/// If there is no journal, it can't be opened, or its first line is not a journal's header.
pub fn records<'a>(path: &Path, progress: Option<OnProgress<'a>>) -> Result<JournalRecords<'a>, TraceError> {
    JournalRecords::open(path, progress)
}

/// Reads a journal for a replay. `path` is the journal or the output folder of a run.
///
/// # Errors
/// As for [`records`]; also if a line other than the last is no record, or if no task has finished.
pub fn open(path: &Path, progress: Option<OnProgress<'_>>) -> Result<JournalTrace, TraceError> {
    for_replay(JournalRecords::open(path, progress)?)
}

/// Reads a journal for a replay. `name` is the journal's name in errors.
///
/// # Errors
/// As for [`open`].
pub fn read(reader: impl Read, name: &str) -> Result<JournalTrace, TraceError> {
    for_replay(JournalRecords::new(reader, name)?)
}

/// Counts what a journal holds, finds what stragglers cost in it, and finds out what the run spent its time on. `path` is the journal or
/// the output folder of a run.
///
/// # Errors
/// As for [`records`]; also if a line other than the last is no record.
pub fn diagnose(
    path: &Path,
    progress: Option<OnProgress<'_>>,
) -> Result<(TraceSummary, Findings, Vec<Diagnosis>), TraceError> {
    Collected::from(JournalRecords::open(path, progress)?).map(|collected| with_diagnosis(&collected))
}

/// Does the same as [`diagnose`] for a journal that is read from `reader`. `name` is the journal's name in errors.
///
/// # Errors
/// As for [`diagnose`].
pub fn diagnose_journal(reader: impl Read, name: &str) -> Result<(TraceSummary, Findings, Vec<Diagnosis>), TraceError> {
    Collected::from(JournalRecords::new(reader, name)?).map(|collected| with_diagnosis(&collected))
}

/// Reads a recorded run as it ran: its header, and jobs, nodes and world. `None` instead of these if no task has finished.
///
/// # Errors
/// As for [`diagnose`].
pub fn as_recorded(
    path: &Path,
    progress: Option<OnProgress<'_>>,
) -> Result<(Header, Option<RecordedWorkload>), TraceError> {
    let collected = Collected::from(JournalRecords::open(path, progress)?)?;
    let mut recording = collected.recording();
    recording.active_ids = (0..recording.active.len() as u32).collect();
    Ok((collected.header, crate::diagnosis::workload(recording)))
}

fn with_diagnosis(collected: &Collected) -> (TraceSummary, Findings, Vec<Diagnosis>) {
    let mut applications = Applications::default();
    applications.add(&collected.recording());
    let (findings, diagnoses) = applications.end();
    (collected.summary(), findings, diagnoses)
}

fn for_replay(records: JournalRecords<'_>) -> Result<JournalTrace, TraceError> {
    let name = records.name().to_owned();
    let collected = Collected::from(records)?;
    let mut summary = collected.summary();
    let notes = collected.notes();
    let jobs = workload::jobs(&collected, &mut summary.warnings).ok_or(TraceError::NothingFinished { name })?;
    let nodes = collected.nodes();
    Ok(JournalTrace { header: collected.header, summary, jobs, nodes, notes })
}
