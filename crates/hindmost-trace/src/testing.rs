//! Helpers for tests: small recordings, and logs read in every way.

pub mod rows;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use hindmost_core::metrics::{Diagnosis, Findings};
use hindmost_core::workload::WorkloadJob;
use rustc_hash::FxHashMap;

use crate::error::TraceError;
use crate::format::{Format, Input, Stream};
use crate::log::{Log, read_with};
use crate::reading::progress::OnProgress;
use crate::recorder::Wanted;
use crate::recording::{AttemptRow, Ended, Executor, PhaseRows, Recording, TaskTimes};
use crate::replay::{RecordedNode, RecordedWorld, Replay};
use crate::summary::{HadoopFacts, TraceSummary};

/// An attempt that won.
pub fn row(task: u32, executor: u32, start: f64, end: f64) -> AttemptRow {
    AttemptRow {
        task,
        executor,
        start,
        end,
        bytes_read: None,
        spent: TaskTimes::default(),
        ended: Ended::Succeeded,
        wins: true,
        speculative: false,
        repeated: false,
        is_unmatched: false,
    }
}

/// A phase with these attempts.
pub fn phase(rows: Vec<AttemptRow>) -> PhaseRows {
    PhaseRows { rows, ..PhaseRows::default() }
}

/// An executor with this many slots.
pub fn executor(host: &str, slots: u32) -> Executor {
    Executor { host: host.to_owned(), slots: Some(slots), ..Executor::default() }
}

/// An application with these phases and executors.
pub fn recording(phases: Vec<PhaseRows>, executors: Vec<Executor>) -> Recording {
    Recording { executors, phases, ..Recording::default() }
}

/// Reads a log of this format.
pub fn read(
    format: &dyn Format,
    log: impl Read,
    name: &str,
    wanted: Wanted,
    progress: Option<OnProgress<'_>>,
) -> Result<Log, TraceError> {
    let stream = Stream { reader: Box::new(log), name: name.to_owned(), path: None, size: None };
    read_with(format, Input::Stream(stream), wanted, progress)
}

/// Reads the log of this format at a path.
pub fn read_path(
    format: &dyn Format,
    path: &Path,
    wanted: Wanted,
    progress: Option<OnProgress<'_>>,
) -> Result<Log, TraceError> {
    if path.is_dir() {
        return read_with(format, Input::Folder(path), wanted, progress);
    }
    let file = File::open(path).map_err(|source| TraceError::Open { path: path.to_owned(), source })?;
    let (name, size) = (path.display().to_string(), Some(file.metadata().unwrap().len()));
    let stream = Stream { reader: Box::new(file), name, path: Some(path), size };
    read_with(format, Input::Stream(stream), wanted, progress)
}

/// Returns the counts, findings and diagnoses of a log.
pub fn diagnosed(
    format: &dyn Format,
    log: impl Read,
    name: &str,
) -> Result<(TraceSummary, Findings, Vec<Diagnosis>), TraceError> {
    let Log { summary, findings, diagnoses, .. } = read(format, log, name, Wanted::DIAGNOSES, None)?;
    Ok((summary, findings, diagnoses))
}

/// A log that was read for a replay.
#[derive(Clone, Debug)]
pub struct Trace {
    summary: TraceSummary,
    replay: Replay,
    attempts: Vec<RecordedAttempt>,
}

impl Trace {
    /// Reads a log of this format.
    pub fn read(format: &dyn Format, log: impl Read, name: &str) -> Result<Trace, TraceError> {
        Ok(Trace::of(read(format, log, name, Wanted::REPLAYS, None)?))
    }

    /// Takes a log that was read.
    pub fn of(log: Log) -> Trace {
        let mut summary = log.summary.clone();
        let recordings = log.recordings().to_vec();
        let (replay, warnings) = log.into_replay();
        summary.warnings.extend(warnings);
        let attempts = attempts(&recordings, &replay);
        Trace { summary, replay, attempts }
    }

    pub fn summary(&self) -> &TraceSummary {
        &self.summary
    }

    pub fn facts(&self) -> &HadoopFacts {
        self.summary.hadoop.as_deref().unwrap()
    }

    pub fn workload_jobs(&self) -> &[WorkloadJob] {
        &self.replay.jobs
    }

    pub fn cluster_nodes(&self) -> &[RecordedNode] {
        &self.replay.nodes
    }

    pub fn world(&self) -> Option<&RecordedWorld> {
        self.replay.world.as_ref()
    }

    /// The attempts that did not win and the speculative attempts that won, by start time.
    pub fn attempts(&self) -> &[RecordedAttempt] {
        &self.attempts
    }
}

fn attempts(recordings: &[Recording], replay: &Replay) -> Vec<RecordedAttempt> {
    let mut all = Vec::new();
    for recording in recordings {
        let phases = recording.phases.iter().chain(&recording.without_times);
        for phase in phases {
            let counted = phase.counted();
            let mut rows: Vec<&AttemptRow> = phase.rows.iter().chain(&phase.without_times).collect();
            rows.sort_by(|a, b| a.start.total_cmp(&b.start));
            let mut numbers: FxHashMap<u32, u32> = FxHashMap::default();
            for row in rows {
                let number = numbers.entry(row.task).or_default();
                let attempt = *number;
                *number += 1;
                let winner = counted.get(&row.task).filter(|_| !row.is_unmatched);
                let outcome = match (row.ended, winner) {
                    (Ended::Failed, _) => Outcome::Failed,
                    (Ended::Killed | Ended::Interrupted, None) => Outcome::Killed,
                    (Ended::Succeeded, Some(winner)) if *winner == row => Outcome::Won,
                    (Ended::Succeeded, Some(winner)) if row.start >= winner.end => Outcome::Repeated,
                    (Ended::Succeeded, None) => Outcome::Repeated,
                    _ => Outcome::Lost,
                };
                if outcome == Outcome::Won && !row.speculative {
                    continue;
                }
                let since = |at: f64| row.has_times().then(|| ((at - replay.origin) * 1000.0).round() / 1000.0);
                all.push(RecordedAttempt {
                    application: recording.application,
                    stage: phase.phase,
                    task: row.task,
                    attempt,
                    node: Some(row.executor),
                    launch: since(row.start),
                    finish: since(row.end),
                    speculative: row.speculative,
                    outcome,
                });
            }
        }
    }
    let launch = |one: &RecordedAttempt| one.launch.unwrap_or(f64::NEG_INFINITY);
    let key = |one: &RecordedAttempt| (one.application, one.stage, one.task, one.attempt);
    all.sort_by(|a, b| launch(a).total_cmp(&launch(b)).then_with(|| key(a).cmp(&key(b))));
    all
}

/// How an attempt ended, compared with the other attempts of its task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The attempt was the first of its task to succeed.
    Won,
    /// Another attempt of the task won; this one was killed, or succeeded later.
    Lost,
    /// The attempt succeeded, but started after the winner had finished, because the winner's output was lost. Also
    /// used for attempts of a resubmitted stage whose task is unknown.
    Repeated,
    /// The attempt was killed, and no attempt of the task succeeded: the stage or job was cancelled.
    Killed,
    /// The attempt failed, for any reason.
    Failed,
}

/// An attempt that lost, failed or was speculative. Originals that won their task are not recorded here.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedAttempt {
    /// Index of the attempt's application within the trace, counted from 0.
    pub application: u32,
    /// Id of the attempt's stage; for Hadoop, 0 for maps and 1 for reduces.
    pub stage: u32,
    /// The task within the stage: its partition if the log names it, otherwise its index. For an attempt of a
    /// resubmitted stage whose task is unknown, the index within that submission.
    pub task: u32,
    /// The attempt's number among the attempts of the task, counted from 0 in the order of their starts.
    pub attempt: u32,
    /// The node of the attempt, as an index into the trace's nodes; `None` if unknown.
    pub node: Option<u32>,
    /// When the attempt started, in seconds after the trace's origin; `None` if unknown.
    pub launch: Option<f64>,
    /// When the attempt ended, in seconds after the trace's origin; `None` if unknown.
    pub finish: Option<f64>,
    /// Whether the attempt was started as a speculative copy.
    pub speculative: bool,
    /// How the attempt ended.
    pub outcome: Outcome,
}
