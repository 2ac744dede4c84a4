//! Journals of our own runs, live or simulated, as [`hindmost_core::journal`] writes them.
//!
//! | journal | here |
//! | --- | --- |
//! | job | job, arriving when it did, with its phases, demands and dependencies |
//! | node that joined | node with its room and speed, there from the beginning to the end |
//! | attempt | what is known of how long one copy of its task takes |
//!
//! A replay knows no failures and no lost nodes, so what happened is read like this:
//!
//! - Of a task's attempts those count, in their order, that were started since it last began anew: with
//!   its first attempt, or with one that was started while no copy of it was alive, because all had
//!   failed, were lost with their nodes or stopped with the run. What ran before brought nothing, and
//!   without that mishap the attempt after it would not have been needed.
//! - A winner took as long as it ran, and so did a copy that finished after it. A copy that was ended
//!   in any other way, or still runs, takes at least as long as it ran.
//! - Copies that nobody ran, and how much longer the others would have taken, are drawn from the
//!   durations of the phase's winners ([`Durations::Observed`]).
//! - Where no task of a phase has finished, the job's other phases lend their durations, and where none
//!   of the job has, all jobs of the journal. A journal in which no task has finished can't be replayed.
//!
//! Tasks that were finished before the run are left out, because nothing is known of their durations: the others of
//! their phase are numbered anew, and phases of which none is left are dropped. No phase waited for those in the run.
//!
//! Durations are counted on a node of speed 1 by the speeds with which nodes joined, or by what was last
//! learned of one that is slow: a replay has it so from the beginning, and the notes tell it.
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
use hindmost_core::resources::Resources;
use hindmost_core::workload::WorkloadJob;

use crate::JOURNAL_IN_FOLDER;
use crate::analysis::Findings;
use crate::error::TraceError;
use crate::reading::progress::OnProgress;
use crate::summary::TraceSummary;
use collect::Collected;

pub(crate) use record_reader::begins_like_one;
pub use record_reader::{JournalRecords, MOST_TASKS};

/// What to tell the user of a replay about durations that the journal does not tell.
pub const COPIES_NOTE: &str = "Attempts of the recorded run take as long as they did; one that was ended unfinished takes at least as long as it ran. How much longer, and the durations of copies that never ran, are drawn from those of the winners of the same phase. Where no winner took longer it takes no longer either: what policies save that beat such attempts is then understated.";

/// A recorded run, ready to be replayed. Times are counted from its beginning.
#[derive(Clone, Debug)]
pub struct JournalTrace {
    /// Policy, order, knowledge and dimensions of the run.
    pub header: Header,
    /// The counts and everything the reader had to get around.
    pub summary: TraceSummary,
    /// The jobs, in the order of their arrival.
    pub jobs: Vec<WorkloadJob>,
    /// The nodes, in the order in which they joined.
    pub nodes: Vec<JournalNode>,
    /// What of the run a replay takes otherwise than it was, and how long the run took, in sentences
    /// for people; the summary's warnings are not among them.
    pub notes: Vec<String>,
}

/// A node of a recorded run.
#[derive(Clone, Debug, PartialEq)]
pub struct JournalNode {
    /// Its name.
    pub name: Arc<str>,
    /// Its room, in the journal's dimensions.
    pub capacity: Resources,
    /// Work done in a second, relative to a node of speed 1: as it was told when the node joined, or as it was
    /// learned last if the node is slow.
    pub speed: f64,
}

/// The journal that a path names: itself if its first line is a journal's, or the one of the run
/// whose output folder it is. `None`: a file of another kind, or none at all.
///
/// # Errors
/// If the path is another directory.
pub(crate) fn find(path: &Path) -> Result<Option<PathBuf>, TraceError> {
    if path.is_dir() {
        let found = of_folder(path);
        return found.map(Some).ok_or_else(|| TraceError::Directory { path: path.to_owned() });
    }
    Ok(record_reader::begins_like_a_journal(path).then(|| path.to_owned()))
}

/// The journal of the run whose output folder this is, if it is one.
pub(crate) fn of_folder(folder: &Path) -> Option<PathBuf> {
    Some(folder.join(JOURNAL_IN_FOLDER)).filter(|journal| journal.is_file())
}

/// The records of the journal in a file, or of the run whose output folder it is.
///
/// # Errors
/// If there is none, it can't be opened, or its first line is no journal's header.
pub fn records<'a>(path: &Path, progress: Option<OnProgress<'a>>) -> Result<JournalRecords<'a>, TraceError> {
    JournalRecords::open(path, progress)
}

/// Reads the journal in a file, or of the run whose output folder it is, for a replay.
///
/// # Errors
/// As [`records`], if a line other than the last is no record, or if no task has finished.
pub fn open(path: &Path, progress: Option<OnProgress<'_>>) -> Result<JournalTrace, TraceError> {
    for_replay(JournalRecords::open(path, progress)?)
}

/// Reads a journal for a replay. `name` is what errors call it.
///
/// # Errors
/// As [`open`].
pub fn read(reader: impl Read, name: &str) -> Result<JournalTrace, TraceError> {
    for_replay(JournalRecords::new(reader, name)?)
}

/// Counts what a journal holds and finds what stragglers cost in it. `name` is what errors call it.
///
/// # Errors
/// As [`summarize`].
pub fn analyse_journal(reader: impl Read, name: &str) -> Result<(TraceSummary, Findings), TraceError> {
    let collected = Collected::from(JournalRecords::new(reader, name)?)?;
    Ok((collected.summary(), collected.findings()))
}

/// Counts what the journal in a file holds, or that of the run whose output folder it is.
///
/// # Errors
/// As [`records`], and if a line other than the last is no record.
pub fn summarize(path: &Path, progress: Option<OnProgress<'_>>) -> Result<TraceSummary, TraceError> {
    Ok(Collected::from(JournalRecords::open(path, progress)?)?.summary())
}

/// Counts what a journal holds, and finds what stragglers cost in it, and why.
///
/// # Errors
/// As [`summarize`].
pub fn analyse(path: &Path, progress: Option<OnProgress<'_>>) -> Result<(TraceSummary, Findings), TraceError> {
    let collected = Collected::from(JournalRecords::open(path, progress)?)?;
    Ok((collected.summary(), collected.findings()))
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
