//! Records everything about an application.

use std::collections::BTreeMap;

use hindmost_core::metrics::FailedJob;
use rustc_hash::{FxHashMap, FxHashSet};

use super::fields::{Settings, StageInfo};
use super::reasons::of_failure;
use super::stage::{Counted, Found, Stage};
use super::task_end::{End, Metrics, TaskEnd, TaskInfo};
use crate::reading::causes::shortened;
use crate::reading::values::Number;
use crate::recording::{AttemptRow, Ended, PhaseRows, Recording, TaskTimes, UNKNOWN, Unended};

/// Beginnings of the names of settings that matter for stragglers.
const SETTINGS: [&str; 24] = [
    "spark.master",
    "spark.speculation",
    "spark.task.",
    "spark.executor.cores",
    "spark.executor.instances",
    "spark.executor.memory",
    "spark.dynamicAllocation.",
    "spark.locality.wait",
    "spark.default.parallelism",
    "spark.sql.shuffle.partitions",
    "spark.sql.adaptive.",
    "spark.sql.files.maxPartitionBytes",
    "spark.stage.",
    "spark.excludeOnFailure.",
    "spark.hadoop.mapreduce.fileoutputcommitter.",
    "spark.sql.sources.commitProtocolClass",
    "spark.sql.sources.outputCommitterClass",
    "spark.sql.parquet.output.committer.class",
    "spark.hadoop.mapred.output.committer.class",
    "spark.hadoop.mapred.output.direct.",
    "mapred.output.direct.",
    "spark.shuffle.reduceLocality.enabled",
    "spark.scheduler.mode",
    "spark.decommission.enabled",
];

/// The largest number of characters of a stage's name.
const LONGEST: usize = 120;

/// The most jobs that failed that are kept.
const FAILED_JOBS: usize = 100;

/// The most running attempts that are kept. A log may lack the ends of many.
const RUNNING: usize = 1 << 16;

/// Builds the recordings of applications, one after the other.
#[derive(Debug, Default)]
pub(super) struct RecordingBuilder {
    recording: Recording,
    /// Positions of the stages in the recording.
    stages: FxHashMap<u32, usize>,
    /// Positions of the jobs in the recording.
    jobs: FxHashMap<u32, usize>,
    /// Attempts that have not ended so far, by task id.
    running: FxHashMap<u32, Started>,
    /// When the last attempt of each stage failed, and why.
    failed: FxHashMap<u32, (f64, String)>,
    /// Attempts whose times are not known, by stage.
    without_times: FxHashMap<u32, Vec<AttemptRow>>,
    /// Prefix of the names of the current application's jobs.
    prefix: String,
}

/// An attempt that started.
#[derive(Clone, Copy, Debug)]
pub(super) struct Started {
    pub attempt: Counted,
    pub executor: u32,
    /// Milliseconds since 1970.
    pub launch: i64,
}

/// An attempt that the log does not end, from its launch until it certainly held a slot, in seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ending {
    pub attempt: Counted,
    executor: u32,
    start: f64,
    end: f64,
}

pub(super) fn seconds(milliseconds: i64) -> f64 {
    milliseconds as f64 / 1000.0
}

impl RecordingBuilder {
    /// Sets the prefix of the names of the current application's jobs.
    pub(super) fn set_prefix(&mut self, prefix: String) {
        self.prefix = prefix;
    }

    pub(super) fn job_started(&mut self, id: Option<u32>, time: Option<i64>) {
        if let (Some(id), Some(time)) = (id, time) {
            self.jobs.entry(id).or_insert_with(|| {
                self.recording.active.push((seconds(time), None));
                self.recording.active_ids.push(id);
                self.recording.active.len() - 1
            });
        }
    }

    pub(super) fn job_ended(&mut self, id: Option<u32>, time: Option<i64>) {
        if let (Some(at), Some(time)) = (id.and_then(|id| self.jobs.get(&id)), time) {
            self.recording.active[*at].1.get_or_insert(seconds(time));
        }
    }

    /// Records which of the stages that failed ended a job: the one in which an attempt failed last.
    pub(super) fn job_failed(&mut self, name: &str, stages: impl Iterator<Item = u32>) {
        let failed = stages.filter_map(|stage| Some((stage, self.failed.get(&stage)?)));
        let last = failed.max_by(|(_, a), (_, b)| a.0.total_cmp(&b.0));
        let Some((stage, (_, reason))) = last.filter(|_| self.recording.failed_jobs.len() < FAILED_JOBS) else {
            return;
        };
        let phase = self.stages.get(&stage).and_then(|at| self.recording.phases.get(*at));
        self.recording.failed_jobs.push(FailedJob {
            job: format!("{}{name}", self.prefix),
            phase: stage,
            name: phase.and_then(|phase| phase.name.clone()),
            reason: reason.clone(),
        });
    }

    pub(super) fn settings(&mut self, event: Settings<'_>) {
        let all = event.spark.into_iter().flatten();
        let kept = all.filter(|(name, _)| SETTINGS.iter().any(|beginning| name.starts_with(beginning)));
        let kept: BTreeMap<String, String> =
            kept.filter_map(|(name, value)| Some((name.into_owned(), value.get()?.to_owned()))).collect();
        self.recording.settings.extend(kept);
    }

    fn phase(&mut self, stage: u32) -> &mut PhaseRows {
        let phases = &mut self.recording.phases;
        let at = *self.stages.entry(stage).or_insert_with(|| {
            phases.push(PhaseRows { phase: stage, ..PhaseRows::default() });
            phases.len() - 1
        });
        &mut phases[at]
    }

    /// Records the name, the job and the number of tasks of a stage, unless that has happened before.
    pub(super) fn introduce(&mut self, id: u32, stage: &mut Stage) {
        if stage.introduced {
            return;
        }
        stage.introduced = true;
        let job = stage.job_name.as_ref().map(|name| format!("{}{name}", self.prefix));
        let phase = self.phase(id);
        phase.name.get_or_insert_with(|| phase_name(id, stage.name.as_deref()));
        phase.job = phase.job.take().or(job);
        phase.tasks = phase.tasks.or(stage.size);
    }

    pub(super) fn stage(&mut self, stage: u32, info: &StageInfo<'_>) {
        let phase = self.phase(stage);
        let (submitted, completed) = (info.submitted.instant().map(seconds), info.completed.instant().map(seconds));
        phase.submitted = [phase.submitted, submitted].into_iter().flatten().min_by(f64::total_cmp);
        phase.completed = [phase.completed, completed].into_iter().flatten().max_by(f64::total_cmp);
        if completed.is_some() {
            // Few attempts follow. There may be many thousand stages, in each of which a third of the memory would be unused.
            phase.rows.shrink_to_fit();
        }
    }

    /// Records the end of an attempt.
    pub(super) fn ended<M: Metrics>(
        &mut self,
        (stage, task): (u32, u32),
        event: &TaskEnd<'_, M>,
        info: &TaskInfo<'_>,
        executor: Option<u32>,
        (end, found): (End, Found),
    ) {
        let seconds = |time: Number| time.instant().map_or(f64::NAN, seconds);
        let row = AttemptRow {
            task,
            executor: executor.unwrap_or(UNKNOWN),
            start: seconds(info.launch),
            end: seconds(info.finish),
            bytes_read: event.metrics.bytes_read(),
            spent: event.metrics.times(info),
            ended: match end {
                End::Success => Ended::Succeeded,
                End::Failed => Ended::Failed,
                End::Killed => Ended::Killed,
            },
            wins: found.wins,
            speculative: info.speculative.0,
            repeated: found.repeated,
            is_unmatched: found.task.is_none(),
        };
        if !row.has_times() {
            self.without_times.entry(stage).or_default().push(row);
            return;
        }
        if row.ended == Ended::Failed {
            let reason = of_failure(event.reason.as_ref());
            self.recording.failed(&reason, row.seconds());
            self.failed.insert(stage, (row.end, reason));
        }
        self.phase(stage).rows.push(row);
    }

    /// Records that an attempt started, given its task id.
    pub(super) fn started(&mut self, id: u32, attempt: Started) {
        if self.running.len() < RUNNING {
            self.running.insert(id, attempt);
        }
    }

    /// Records that the log has the end of an attempt.
    pub(super) fn has_end(&mut self, id: Option<u32>) {
        if let Some(id) = id {
            self.running.remove(&id);
        }
    }

    /// Returns the attempts without an end that lost to another attempt of their task, or whose submission `gave_up`. They held their slots
    /// at least until the winner's end or the stage's. All others ended before the attempts that followed them, or before their stage did.
    pub(super) fn end_what_runs(&mut self, gave_up: impl Fn(Counted) -> bool) -> Vec<Ending> {
        let mut running: Vec<Started> = self.running.drain().map(|(_, attempt)| attempt).collect();
        running.sort_by_key(|one| (one.launch, one.executor, one.attempt.stage, one.attempt.number()));
        let tasks: FxHashSet<(u32, u32)> =
            running.iter().map(|one| (one.attempt.stage, one.attempt.number())).collect();
        let phases = self.recording.phases.iter().filter(|_| !tasks.is_empty());
        let rows = phases.flat_map(|phase| phase.rows.iter().map(move |row| (phase.phase, row)));
        let winners: FxHashMap<(u32, u32), AttemptRow> = rows
            .filter(|(phase, row)| row.wins && tasks.contains(&(*phase, row.task)))
            .map(|(phase, row)| ((phase, row.task), *row))
            .collect();
        let mut ended = Vec::new();
        for Started { attempt, executor, launch } in running {
            let start = seconds(launch);
            let completed = self.phase(attempt.stage).completed;
            let winner = winners.get(&(attempt.stage, attempt.number()));
            // Only with a copy can two attempts of a task run at the same time.
            let won = winner.filter(|row| row.end >= start && (row.speculative || attempt.speculative));
            let end = won.map(|row| row.end).or(completed.filter(|_| winner.is_none() && gave_up(attempt)));
            let until = match end {
                Some(_) => f64::INFINITY,
                None => completed.map_or(f64::INFINITY, |completed| completed.max(start)),
            };
            let end = end.map(|end| end.max(start));
            self.recording.unended.push(Unended { executor, start: end.unwrap_or(start), until });
            ended.extend(end.map(|end| Ending { attempt, executor, start, end }));
        }
        self.recording.unended.sort_by(|a, b| a.start.total_cmp(&b.start).then(a.executor.cmp(&b.executor)));
        ended
    }

    /// Records an attempt that was killed, although the log does not have its end.
    pub(super) fn killed(&mut self, ending: &Ending, found: Found) {
        let Ending { attempt, executor, start, end } = *ending;
        self.phase(attempt.stage).rows.push(AttemptRow {
            task: found.task.unwrap_or(attempt.number()),
            executor,
            start,
            end,
            bytes_read: None,
            spent: TaskTimes::default(),
            ended: Ended::Killed,
            wins: false,
            speculative: attempt.speculative,
            repeated: found.repeated,
            is_unmatched: found.task.is_none(),
        });
    }

    /// Returns the attempts and stages of the application, and begins the next one.
    pub(super) fn take(&mut self) -> Recording {
        let mut recording = std::mem::take(&mut self.recording);
        let mut without_times = std::mem::take(&mut self.without_times);
        self.stages.clear();
        self.jobs.clear();
        self.failed.clear();
        for phase in &mut recording.phases {
            phase.without_times = without_times.remove(&phase.phase).unwrap_or_default();
        }
        let rest = recording.phases.extract_if(.., |phase| phase.rows.is_empty());
        recording.without_times = rest.filter(|phase| !phase.without_times.is_empty()).collect();
        recording
    }
}

/// Returns the name of a stage as a phase.
pub(super) fn phase_name(id: u32, name: Option<&str>) -> String {
    match name.map(|name| shortened(name, LONGEST)).filter(|name| !name.is_empty()) {
        Some(name) => format!("stage {id}: {name}"),
        None => format!("stage {id}"),
    }
}
