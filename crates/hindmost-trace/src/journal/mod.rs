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

use std::path::{Path, PathBuf};

use crate::error::{JOURNAL_IN_FOLDER, TraceError};
use crate::format::{Beginning, Format, Input, Kind, Source};
use crate::reading::progress::OnProgress;
use crate::recorder::Recorder;
pub use crate::recording::{JournalNode, RecordedRun};
use crate::summary::TraceSummary;
use collect::Collected;

use record_reader::begins_like_one;
pub use record_reader::{JournalRecords, MOST_TASKS};

/// A note for the user of a replay: where durations that are not in the journal come from.
pub const COPIES_NOTE: &str = "Attempts take as long as in the recorded run; an attempt that did not finish takes at least as \
                               long as it ran. Its remaining time, and the durations of copies that never ran, are drawn from \
                               the winners of the same phase. If no winner took longer than an unfinished attempt ran, the \
                               attempt is assumed to need no more time, so the replay understates how much time policies save \
                               that start copies of such attempts.";

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

/// Journals of Hindmost's runs. All of a run is one application.
pub(crate) struct Journal;

impl Format for Journal {
    fn kind(&self) -> Kind {
        Kind::Journal
    }

    fn is_one(&self, beginning: &Beginning<'_>) -> bool {
        begins_like_one(beginning.raw)
    }

    fn read(&self, source: Source<'_>, recorder: &mut Recorder) -> Result<TraceSummary, TraceError> {
        let path = match &source.input {
            Input::Stream(stream) => stream.path,
            Input::Folder(_) => None,
        };
        let (name, reader) = source.stream()?;
        let collected = Collected::from(JournalRecords::beside(path, reader, &name)?)?;
        recorder.add(collected.recording());
        let summary = collected.summary();
        if recorder.wants_replays() {
            recorder.kept.run = Some(for_replay(collected, &mut recorder.kept.about));
        }
        Ok(summary)
    }
}

/// Returns a run for a replay, and adds warnings about durations that the journal does not have.
fn for_replay(collected: Collected, warnings: &mut Vec<String>) -> RecordedRun {
    let notes = collected.notes();
    let jobs = workload::jobs(&collected, warnings);
    let nodes = collected.nodes();
    RecordedRun { header: collected.header, jobs, nodes, notes }
}
