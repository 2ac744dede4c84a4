//! Collects the events of one Spark application.

use rustc_hash::FxHashSet;

use super::events::parse;
use super::executors::Executors;
use super::fields::{
    ApplicationEnd, ApplicationStart, BlockManagerAdded, Excluded, ExecutorAdded, ExecutorRemoved, JobEnd, JobStart,
    StageInfo,
};
use super::jobs::Jobs;
use super::reasons::LOST;
use super::recording::{RecordingBuilder, Started};
use super::stage::Counted;
use super::stages::Stages;
use super::tally::Tally;
use super::task_end::{End, Metrics, TaskEnd, TaskInfo, TaskStart};
use super::task_ids::{Seen, TaskIds, task_id};
use crate::reading::values::Number;

#[derive(Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "independent facts about the application")]
pub(super) struct Application {
    pub id: Option<String>,
    /// The number of the application's attempt; `None` if the cluster manager does not number attempts.
    pub attempt: Option<String>,
    pub name: Option<String>,
    pub version: Option<String>,
    /// Whether the log has any event of the application.
    pub touched: bool,
    /// Whether the log has the start of the application.
    pub started: bool,
    /// Whether the log has the end of the application.
    ended: bool,
    /// Whether the log is known to be cut short.
    pub cut: bool,
    /// Whether jobs that had ended were removed from the log.
    pub compacted: bool,
    /// When the first job was submitted, in milliseconds since 1970.
    first_job: Option<i64>,
    start: Option<i64>,
    end: Option<i64>,
    /// Earliest and latest time seen, in milliseconds since 1970.
    span: Option<(i64, i64)>,
    excluded_executors: FxHashSet<Box<str>>,
    excluded_hosts: FxHashSet<Box<str>>,
    pub executors: Executors,
    pub stages: Stages,
    pub jobs: Jobs,
    task_ids: TaskIds,
    /// Counts that follow from single events.
    pub counts: Tally,
}

/// The meaning of a task end event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TaskEnded {
    /// The end of an attempt, and whether an attempt of its task has succeeded so far.
    Attempt { has_winner: bool },
    /// A report that the output of an attempt that had succeeded is lost.
    OutputLost,
    /// A duplicate of an earlier event.
    Twice,
}

/// The fields of an attempt that are needed for counting it; `None` if its event does not say which task it is of.
fn counted(stage: Number, stage_attempt: Number, info: &TaskInfo<'_>, succeeded: bool) -> Option<Counted> {
    let (partition, index) = (info.partition.id(), info.index.id());
    Some(Counted {
        stage: stage.id()?,
        stage_attempt: stage_attempt.id().unwrap_or(0),
        partition,
        index: index.or(partition)?,
        succeeded,
        speculative: info.speculative.0,
    })
}

impl Application {
    /// Creates an application. A replay needs its finished jobs and stages.
    pub(super) fn new(for_replay: bool) -> Self {
        let (stages, jobs) = (Stages::new(!for_replay), Jobs::new(!for_replay));
        Application { stages, jobs, ..Application::default() }
    }

    /// Returns the prefix for names of jobs and executors where there are several applications.
    pub(super) fn prefix(&self, number: u32) -> String {
        match (&self.id, &self.attempt) {
            (Some(id), Some(attempt)) => format!("{id}_{attempt} "),
            (Some(id), None) => format!("{id} "),
            (None, _) => format!("application {} ", number + 1),
        }
    }

    /// Returns whether an application start event belongs to this application.
    pub(super) fn is_of(&self, event: &ApplicationStart<'_>) -> bool {
        self.id.as_deref() == event.id.get()
            && self.attempt.as_deref() == event.attempt.get()
            && self.start == event.time.instant()
    }

    pub(super) fn start(&mut self, event: &ApplicationStart<'_>) {
        self.started = true;
        self.id = event.id.get().map(str::to_owned);
        self.attempt = event.attempt.get().map(str::to_owned);
        self.name = event.name.get().map(str::to_owned);
        self.start = event.time.instant();
        self.saw(event.time);
    }

    pub(super) fn ended(&mut self, event: &ApplicationEnd) {
        self.ended = true;
        self.end = self.end.max(event.time.instant());
        self.saw(event.time);
    }

    pub(super) fn saw(&mut self, time: Number) {
        if let Some(at) = time.instant() {
            let (from, to) = self.span.unwrap_or((at, at));
            self.span = Some((from.min(at), to.max(at)));
        }
    }

    /// Returns from when on the log has what happened: when the application started; if the log does not say, the earliest time in the
    /// log. What happened before the first job that is left in a compacted log was removed.
    pub(super) fn from(&self) -> Option<i64> {
        let first_job = self.first_job.filter(|_| self.compacted);
        first_job.or(self.start).or(self.span.map(|(from, _)| from))
    }

    /// Returns when the application ended; if the log does not say, the latest time in the log.
    pub(super) fn to(&self) -> Option<i64> {
        self.end.or(self.span.map(|(_, to)| to))
    }

    pub(super) fn executor_added(&mut self, event: &ExecutorAdded<'_>) {
        self.saw(event.time);
        self.executors.added(event);
    }

    pub(super) fn executor_removed(&mut self, event: &ExecutorRemoved<'_>) {
        self.saw(event.time);
        self.executors.removed(event);
    }

    pub(super) fn block_manager_added(&mut self, event: &BlockManagerAdded<'_>) {
        self.saw(event.time);
        self.executors.block_manager(event);
    }

    /// Records an executor or host that was excluded after failures, for a stage or for the whole application.
    pub(super) fn excluded(&mut self, event: &Excluded<'_>) {
        self.saw(event.time);
        self.excluded_executors.extend(event.executor.get().map(Box::from));
        self.excluded_hosts.extend(event.host.get().map(Box::from));
    }

    pub(super) fn job_start(&mut self, event: &JobStart<'_>) {
        self.saw(event.time);
        self.first_job = self.first_job.into_iter().chain(event.time.instant()).min();
        for info in event.stages.iter().flatten() {
            self.stages.listed(info, event.execution());
        }
        self.jobs.start(event);
    }

    /// Records why a job failed that ends.
    pub(super) fn job_failed(&self, event: &JobEnd, recording: &mut RecordingBuilder) {
        if let Some((name, stages)) = self.jobs.running(event.id.id()) {
            recording.job_failed(name, stages.filter(|stage| self.stages.has_failed(*stage)));
        }
    }

    pub(super) fn job_end(&mut self, event: &JobEnd, recording: &mut RecordingBuilder) {
        self.saw(event.time);
        for id in self.jobs.end(event.id.id()) {
            if let Some(stage) = self.stages.abandoned(id) {
                recording.introduce(id, stage);
            }
            self.stages.settle(id);
        }
    }

    pub(super) fn stage_submitted(&mut self, info: &StageInfo<'_>, recording: &mut RecordingBuilder) {
        self.saw(info.submitted);
        let Some(id) = info.id.id() else { return };
        let stage = self.stages.submitted(id, info, &mut self.jobs);
        recording.introduce(id, stage);
        recording.stage(id, info);
    }

    pub(super) fn stage_completed(&mut self, info: &StageInfo<'_>, recording: &mut RecordingBuilder) {
        self.saw(info.submitted);
        self.saw(info.completed);
        let Some(id) = info.id.id() else { return };
        let stage = self.stages.completed(id, info, &mut self.jobs);
        recording.introduce(id, stage);
        recording.stage(id, info);
        self.stages.settle(id);
    }

    /// Records a task start event, given its line.
    pub(super) fn task_start(&mut self, line: &[u8], recording: &mut RecordingBuilder) {
        self.task_ids.start(task_id(line));
        if let Ok(event) = parse::<TaskStart<'_>>(line)
            && let Some(info) = &event.info
            && let Some(attempt) = counted(event.stage, event.stage_attempt, info, false)
            && let (Some(id), Some(launch)) = (info.id.id(), info.launch.instant())
            && let Some(executor) = self.executors.started(info)
            && self.task_ids.is_running(id)
        {
            recording.started(id, Started { attempt, executor, launch });
        }
    }

    /// Counts attempts that lost or whose stage was given up, although the log does not have their ends: Spark stops without waiting for
    /// them. Returns why each was killed.
    pub(super) fn end_what_runs(&mut self, recording: &mut RecordingBuilder) -> Vec<&'static str> {
        let mut causes = Vec::new();
        for ended in recording.end_what_runs(|attempt| self.stages.gave_up(attempt)) {
            let found = self.stages.attempt(ended.attempt, &mut self.jobs);
            recording.killed(&ended, found);
            self.counts.attempts += 1;
            self.counts.killed += 1;
            self.counts.speculative += u64::from(ended.attempt.speculative);
            self.counts.without_end += 1;
            causes.push(if found.has_winner { LOST } else { self.stages.given_up_because(ended.attempt) });
        }
        causes
    }

    /// Classifies a task end event by its task id, and counts it unless it is a duplicate.
    fn end_of(&mut self, id: Option<u32>, lost: bool, end: End, attempt: Option<Counted>) -> TaskEnded {
        let seen = if lost { self.task_ids.lost(id) } else { self.task_ids.end(id, end) };
        if seen == Seen::Before {
            let known = attempt.and_then(|attempt| self.stages.knows(attempt));
            if lost || known != Some(false) {
                self.counts.twice += 1;
                return TaskEnded::Twice;
            }
            self.task_ids.are_shared();
        }
        self.counts.attempts += 1;
        if lost {
            self.counts.outputs_lost += 1;
            return TaskEnded::OutputLost;
        }
        match end {
            End::Success => {}
            End::Killed => self.counts.killed += 1,
            End::Failed => self.counts.failed += 1,
        }
        TaskEnded::Attempt { has_winner: false }
    }

    pub(super) fn task_end<M: Metrics>(
        &mut self,
        event: &TaskEnd<'_, M>,
        end: End,
        recording: &mut RecordingBuilder,
    ) -> TaskEnded {
        let lost = event.is_loss_of_output();
        let succeeded = end == End::Success;
        let Some(info) = &event.info else {
            self.counts.unidentified += 1;
            return self.end_of(None, lost, end, None);
        };
        let speculative = info.speculative.0;
        let counted = counted(event.stage, event.stage_attempt, info, succeeded);
        recording.has_end(info.id.id());
        let ended = self.end_of(info.id.id(), lost, end, counted);
        if ended == TaskEnded::Twice {
            return ended;
        }
        self.counts.speculative += u64::from(speculative && !lost);
        self.saw(info.launch);
        self.saw(info.finish);
        let executor = self.executors.ended(info, lost);
        let Some(counted) = counted else {
            self.counts.unidentified += 1;
            return ended;
        };
        if lost {
            // The loss of an output is reported by a second end event of the attempt that produced the output.
            self.stages.lost(counted);
        }
        let found = self.stages.attempt(counted, &mut self.jobs);
        if lost {
            return ended;
        }
        let (launch, finish) = (info.launch.instant(), info.finish.instant());
        if launch.zip(finish).is_some_and(|(launch, finish)| finish < launch) {
            self.counts.backwards += 1;
        } else if succeeded && (launch.is_none() || finish.is_none()) {
            self.counts.untimed += 1;
        }
        let task = found.task.unwrap_or(counted.index);
        recording.ended((counted.stage, task), event, info, executor, (end, found));
        TaskEnded::Attempt { has_winner: found.has_winner }
    }

    /// Records the names of stages of which the log has neither a submission nor an end.
    pub(super) fn introduce_stages(&mut self, recording: &mut RecordingBuilder) {
        for (id, stage) in self.stages.that_ran() {
            recording.introduce(id, stage);
        }
    }

    pub(super) fn tally(&self) -> Tally {
        let mut tally = Tally {
            applications: 1,
            jobs: self.jobs.len(),
            skipped_stages: self.jobs.skipped_stages,
            executors: self.executors.named(),
            excluded_executors: self.excluded_executors.len() as u64,
            excluded_hosts: self.excluded_hosts.len() as u64,
            from: self.from(),
            to: self.to(),
            unannounced: self.executors.unannounced(),
            unended: self.task_ids.unended().saturating_sub(self.counts.without_end),
            unstarted: self.task_ids.unstarted(),
            log_without_starts: if self.task_ids.any_start() { 0 } else { self.counts.attempts },
            missing_starts: u64::from(!self.started),
            missing_ends: u64::from(!self.ended && !self.cut),
            open_jobs: if self.ended || self.cut { 0 } else { self.jobs.open() },
            ..self.counts
        };
        tally.add(&self.stages.tally());
        tally
    }
}
