//! The timeline of a recorded run: when and where each attempt ran, whether it was redundant, and how it ended.
//!
//! Charts, explanations and replays of recorded runs are built from it.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use crate::ids::{AttemptId, JobId, NodeId, TaskId};
use crate::record::{Change, Decision, Event, Record, StopReason};
use crate::resources::Resources;
use crate::time::Time;
use crate::usage::Usage;
use crate::workload::JobSpec;

/// Why an attempt failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The attempt itself failed, with this error.
    Own(Arc<str>),
    /// Something else ended the attempt. The text says what; `None` if the journal does not record it.
    External(Option<Arc<str>>),
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptEnd {
    /// The attempt was the first copy of its task to finish.
    Won,
    /// The attempt ended in any way after another copy had won, or was stopped because another copy was expected to
    /// win.
    Lost,
    /// The attempt was stopped, and a replacement or a relaunched copy follows it.
    Replaced,
    /// The attempt failed.
    Failed(Cause),
    /// The attempt's node was lost.
    NodeLost,
    /// The attempt was stopped because its job was abandoned, or ended in any other way after that.
    Abandoned,
    /// The attempt was stopped because the run was interrupted.
    Stopped,
    /// The attempt was still running at the end of the journal.
    Running,
}

/// One attempt of a recorded run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TimelineRow {
    /// Id of the attempt.
    pub attempt: AttemptId,
    /// Id of the node on which the attempt ran.
    pub node: NodeId,
    /// Time at which the attempt was started.
    pub start: Time,
    /// Time at which the attempt ended; the end of the journal if the attempt was still running.
    pub end: Time,
    /// How the attempt ended.
    pub outcome: AttemptEnd,
    /// True if another copy of the task was running when this attempt started, or was stopped so that this attempt
    /// could start. False for a task's first attempt and for a retry after a failure.
    pub redundant: bool,
    /// Share of the work that was done before the attempt started, in [0, 1).
    pub from_progress: f64,
    /// What the attempt needed; `None` if that was not measured. Only winners are measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// A node of a recorded run.
#[derive(Clone, Debug, PartialEq)]
pub struct TimelineNode {
    /// Name of the node, for display.
    pub name: Arc<str>,
    /// Resources of the node when nothing runs on it.
    pub capacity: Resources,
    /// Times at which the node was lost and at which it returned, alternating.
    pub lost_and_returned: Vec<Time>,
}

/// A job of a recorded run.
#[derive(Clone, Debug, PartialEq)]
pub struct TimelineJob {
    /// The job as policies see it.
    pub spec: Arc<JobSpec>,
    /// Time at which the job arrived.
    pub arrival: Time,
    /// Time at which the job's last task finished; `None` if the job was abandoned, or unfinished at the end of the
    /// journal.
    pub finish: Option<Time>,
    /// Time at which the job was abandoned; `None` if it was not.
    pub abandoned: Option<Time>,
}

/// A recorded run: its nodes, jobs and attempts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// The nodes of the run, by id.
    pub nodes: Vec<TimelineNode>,
    /// The jobs of the run, by id.
    pub jobs: Vec<TimelineJob>,
    /// The attempts, ordered by start.
    pub rows: Vec<TimelineRow>,
    /// The time of the last record.
    pub end: Time,
    /// Begin and end of each pause of a resumed run, in which no attempt of it ran, in order and without overlaps. The
    /// records do not show pauses; the record of the run's job does. Empty if the run had none or they are unknown.
    pub pauses: Vec<[Time; 2]>,
    /// The tasks of the first job that no longer belong to it, because their inputs or values are gone. The records do not show
    /// them; the plan of the run does. Empty if there are none or they are unknown.
    pub withdrawn: Vec<TaskId>,
}

/// How an attempt relates to the other attempts of its task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AttemptKind {
    /// The first attempt of its task.
    Original,
    /// A later attempt that started when no other copy of the task was running, after a failure or a lost node.
    Retry,
    /// A redundant copy that started at the same time as another copy of the task.
    Clone,
    /// A redundant copy that started after another copy that was still running.
    Backup,
    /// The attempt replaces a stopped one, on the same node or on another one.
    Replacement,
}

/// Builds a timeline record by record, for journals that are still being written.
///
/// ```
/// use hindmost_core::record::{Change, Event, Record};
/// use hindmost_core::time::Time;
/// use hindmost_core::timeline::TimelineBuilder;
///
/// let mut builder = TimelineBuilder::default();
/// builder.apply(Record { at: Time(7), change: Change::Event(Event::Round) });
/// assert_eq!(builder.timeline().end, Time(7));
/// assert!(builder.timeline().rows.is_empty());
/// ```
#[derive(Default)]
pub struct TimelineBuilder {
    timeline: Timeline,
    /// The kind of each row.
    kinds: Vec<AttemptKind>,
    /// Time at which each task last started an attempt.
    started: FxHashMap<TaskId, Time>,
    /// The row of each running attempt.
    running: FxHashMap<AttemptId, usize>,
    /// Number of running attempts of each task.
    copies: FxHashMap<TaskId, u32>,
    /// Tasks that have their winner.
    won: FxHashSet<TaskId>,
    /// Tasks with an attempt that was stopped to be relaunched on another node.
    relaunched: FxHashSet<TaskId>,
    /// Number of unfinished tasks of each job.
    unfinished: FxHashMap<JobId, u64>,
    /// Why each stopping attempt is stopped.
    stopping: FxHashMap<AttemptId, StopReason>,
    /// The replacement of each attempt that is being replaced. The replacement waits for the resources of that attempt.
    replacements: FxHashMap<AttemptId, AttemptId>,
    /// The number of the next copy of each task.
    next_copy: FxHashMap<TaskId, u32>,
    /// Running attempts that are known to have begun.
    begun: FxHashSet<AttemptId>,
    /// The task of the last record, if that says that the task gets no more copies.
    no_more_copies: Option<TaskId>,
}

impl Timeline {
    /// Builds the timeline of the records of a journal. The records are not checked. A record with an earlier time than
    /// the record before it gets that record's time.
    pub fn of(records: impl IntoIterator<Item = Record>) -> Timeline {
        let mut builder = TimelineBuilder::default();
        for record in records {
            builder.apply(record);
        }
        let end = builder.timeline.end;
        for row in builder.running.into_values() {
            builder.timeline.rows[row].end = end;
        }
        builder.timeline
    }

    /// Returns the timeline of one of several jobs, in which this job has number 0; empty if there is no such job.
    #[must_use]
    pub fn of_job(self, job: JobId) -> Timeline {
        let is_its = |task: &TaskId| task.job == job;
        let alone = |task: TaskId| TaskId { job: JobId(0), ..task };
        let rows = self.rows.into_iter().filter(|row| is_its(&row.attempt.task)).map(|row| {
            let attempt = AttemptId { task: alone(row.attempt.task), ..row.attempt };
            TimelineRow { attempt, ..row }
        });
        Timeline {
            jobs: self.jobs.into_iter().nth(job.0 as usize).into_iter().collect(),
            rows: rows.collect(),
            withdrawn: self.withdrawn.into_iter().filter(is_its).map(alone).collect(),
            ..Timeline { nodes: self.nodes, end: self.end, pauses: self.pauses, ..Timeline::default() }
        }
    }

    /// Returns the total length of the pauses before the time `until`.
    pub fn paused_until(&self, until: Time) -> Time {
        Time(self.pauses.iter().map(|[begin, end]| (until.min(*end) - *begin).0).sum())
    }

    /// Returns a node's name, or `?` if it is unknown.
    pub fn node_name(&self, node: NodeId) -> &str {
        self.nodes.get(node.0 as usize).map_or("?", |node| &node.name)
    }

    /// Returns the name of a task's phase, or `?` if it is unknown.
    pub fn phase_name(&self, task: TaskId) -> &str {
        let job = self.jobs.get(task.job.0 as usize);
        job.and_then(|job| job.spec.phases.get(task.phase as usize)).map_or("?", |phase| &phase.name)
    }

    /// Returns the attempts of a task, ordered by start.
    pub fn attempts_of(&self, task: TaskId) -> impl Iterator<Item = &TimelineRow> {
        self.rows.iter().filter(move |row| row.attempt.task == task)
    }
}

impl TimelineBuilder {
    /// Applies the next record. The record is not checked. If it has an earlier time than the record before it, it gets
    /// that record's time.
    pub fn apply(&mut self, record: Record) {
        let at = record.at.max(self.timeline.end);
        self.timeline.end = at;
        let no_more_copies = self.no_more_copies.take();
        match record.change {
            Change::Event(Event::NoMoreCopies { task, .. }) => self.no_more_copies = Some(task),
            Change::Event(Event::AttemptStopped { attempt })
                if no_more_copies == Some(attempt.task) && !self.begun.contains(&attempt) =>
            {
                self.leave_out(attempt);
            }
            Change::Event(event) => self.event(at, event),
            Change::Decision(decision) => self.decision(at, &decision),
        }
    }

    /// Returns the timeline of the records so far. The end of a row whose attempt is still running is its start.
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// Returns how the attempt of a row relates to the other attempts of its task, by the row's index.
    pub fn kind(&self, row: usize) -> AttemptKind {
        self.kinds.get(row).copied().unwrap_or(AttemptKind::Original)
    }

    /// Returns true if a decision has stopped an attempt that is still running.
    pub fn is_stopping(&self, attempt: AttemptId) -> bool {
        self.stopping.contains_key(&attempt)
    }

    fn event(&mut self, at: Time, event: Event) {
        match event {
            Event::NodeJoined { name, capacity, .. } => {
                self.timeline.nodes.push(TimelineNode { name, capacity, lost_and_returned: Vec::new() });
            }
            Event::JobArrived { job, spec } => {
                let to_do = spec.phases.iter().map(|phase| u64::from(phase.tasks_to_do())).sum();
                self.unfinished.insert(job, to_do);
                self.timeline.jobs.push(TimelineJob { spec, arrival: at, finish: None, abandoned: None });
            }
            Event::NodeLost { node, .. } => {
                let lost = |row: &usize| self.timeline.rows[*row].node == node;
                let gone: Vec<AttemptId> =
                    self.running.iter().filter(|(_, row)| lost(row)).map(|(attempt, _)| *attempt).collect();
                for attempt in gone {
                    self.end(at, attempt, AttemptEnd::NodeLost);
                }
                self.lost_or_returned(at, node, false);
            }
            Event::NodeReturned { node } => self.lost_or_returned(at, node, true),
            Event::AttemptFinished { attempt } if self.is_abandoned(attempt.task.job) => {
                let outcome = self.outcome_of_stopped(attempt).unwrap_or(AttemptEnd::Abandoned);
                self.end(at, attempt, outcome);
            }
            Event::AttemptFinished { attempt } => {
                let first = self.won.insert(attempt.task);
                self.end(at, attempt, if first { AttemptEnd::Won } else { AttemptEnd::Lost });
                if first {
                    self.one_less(at, attempt.task.job);
                }
            }
            Event::AttemptFailed { attempt, reason, external } => {
                let cause = reason.map_or(Cause::External(external), Cause::Own);
                let outcome = self.outcome_of_stopped(attempt).unwrap_or(AttemptEnd::Failed(cause));
                self.end(at, attempt, outcome);
            }
            Event::AttemptStopped { attempt } => {
                let outcome = self.outcome_of_stopped(attempt).unwrap_or(AttemptEnd::Stopped);
                self.end(at, attempt, outcome);
            }
            Event::TaskGivenUp { task } => self.one_less(at, task.job),
            Event::JobGivenUp { job } => self.abandon(at, job),
            Event::AttemptRunning { attempt, .. } => {
                self.begun.insert(attempt);
            }
            Event::AttemptMeasured { attempt, usage } => {
                if let Some(row) = self.running.get(&attempt) {
                    self.timeline.rows[*row].usage = Some(usage);
                }
            }
            Event::NodeLeaving { .. }
            | Event::NoMoreCopies { .. }
            | Event::TaskDemands { .. }
            | Event::TaskWithheld { .. }
            | Event::TaskReturned { .. }
            | Event::WatchMet { .. }
            | Event::DurationsLearned { .. }
            | Event::NodeSpeedLearned { .. }
            | Event::ProfilesRecalled { .. }
            | Event::WeightsFitted { .. }
            | Event::Woken
            | Event::Round => {}
        }
    }

    /// Counts a task that has finished or was given up. With the last one, its job has finished.
    fn one_less(&mut self, at: Time, job: JobId) {
        let Some(left) = self.unfinished.get_mut(&job) else { return };
        *left = left.saturating_sub(1);
        if *left == 0
            && let Some(job) = self.timeline.jobs.get_mut(job.0 as usize)
        {
            job.finish = Some(at);
        }
    }

    fn abandon(&mut self, at: Time, job: JobId) {
        if let Some(job) = self.timeline.jobs.get_mut(job.0 as usize) {
            job.abandoned = Some(at);
        }
    }

    /// Returns the outcome of an attempt that ends without finishing, if a decision stopped the attempt or its task has
    /// a winner; otherwise `None`. A policy may keep a copy running after another one has won; this copy has lost,
    /// however it ends.
    fn outcome_of_stopped(&mut self, attempt: AttemptId) -> Option<AttemptEnd> {
        let Some(reason) = self.stopping.get(&attempt) else {
            return self.won.contains(&attempt.task).then_some(AttemptEnd::Lost);
        };
        Some(match reason {
            StopReason::Lost | StopReason::Overtaken => AttemptEnd::Lost,
            StopReason::Replaced => AttemptEnd::Replaced,
            StopReason::Relaunched | StopReason::Restarted => {
                self.relaunched.insert(attempt.task);
                AttemptEnd::Replaced
            }
            StopReason::Abandoned => AttemptEnd::Abandoned,
        })
    }

    /// Returns false if the attempts of a task do the whole work, even if they are started from progress.
    fn resumes(&self, task: TaskId) -> bool {
        let phases = self.timeline.jobs.get(task.job.0 as usize).map(|job| &job.spec.phases);
        let phase = phases.and_then(|phases| phases.get(task.phase as usize));
        phase.is_none_or(|phase| !phase.never_resumed)
    }

    fn is_abandoned(&self, job: JobId) -> bool {
        self.timeline.jobs.get(job.0 as usize).is_some_and(|job| job.abandoned.is_some())
    }

    fn decision(&mut self, at: Time, decision: &Decision) {
        match decision {
            Decision::Start { attempt, node, from_progress } => self.start(at, *attempt, *node, *from_progress, false),
            Decision::Stop { attempt, reason } => {
                self.stopping.insert(*attempt, *reason);
            }
            Decision::Replace { attempt, from_progress } => {
                self.stopping.insert(*attempt, StopReason::Replaced);
                let Some(row) = self.running.get(attempt) else { return };
                let node = self.timeline.rows[*row].node;
                let copy = self.next_copy.get(&attempt.task).copied().unwrap_or(0);
                let replacement = AttemptId { task: attempt.task, copy };
                self.replacements.insert(*attempt, replacement);
                self.start(at, replacement, node, *from_progress, true);
            }
            Decision::Abandon { job } => self.abandon(at, *job),
            Decision::Reserve { .. } | Decision::Release { .. } | Decision::Wake { .. } | Decision::Watch { .. } => {}
        }
    }

    fn start(&mut self, at: Time, attempt: AttemptId, node: NodeId, from_progress: f64, replaces: bool) {
        let copies = self.copies.entry(attempt.task).or_default();
        let is_relaunch = !replaces && *copies == 0 && self.relaunched.remove(&attempt.task);
        let redundant = replaces || *copies > 0 || is_relaunch;
        let last = self.started.insert(attempt.task, at);
        self.kinds.push(match redundant {
            true if replaces || *copies == 0 => AttemptKind::Replacement,
            true if last == Some(at) => AttemptKind::Clone,
            true => AttemptKind::Backup,
            false if last.is_some() => AttemptKind::Retry,
            false => AttemptKind::Original,
        });
        *copies += 1;
        self.next_copy.insert(attempt.task, attempt.copy.saturating_add(1));
        let from_progress = if self.resumes(attempt.task) { from_progress } else { 0.0 };
        self.running.insert(attempt, self.timeline.rows.len());
        let row = TimelineRow {
            attempt,
            node,
            start: at,
            end: at,
            outcome: AttemptEnd::Running,
            redundant,
            from_progress,
            usage: None,
        };
        self.timeline.rows.push(row);
    }

    fn end(&mut self, at: Time, attempt: AttemptId, outcome: AttemptEnd) {
        let Some(row) = self.running.remove(&attempt) else { return };
        let row = &mut self.timeline.rows[row];
        row.end = at;
        row.outcome = outcome;
        self.stopping.remove(&attempt);
        self.begun.remove(&attempt);
        if let Some(copies) = self.copies.get_mut(&attempt.task) {
            *copies = copies.saturating_sub(1);
        }
        // A replacement starts when it gets the resources of the attempt that has ended.
        let replacement = self.replacements.remove(&attempt);
        if let Some(row) = replacement.and_then(|replacement| self.running.get(&replacement)) {
            self.timeline.rows[*row].start = at;
        }
    }

    /// Removes an attempt that was decided, but not started: its task's other attempt writes a file that it would have written too.
    fn leave_out(&mut self, attempt: AttemptId) {
        let Some(row) = self.running.remove(&attempt) else { return };
        self.timeline.rows.remove(row);
        self.kinds.remove(row);
        for later in self.running.values_mut().filter(|later| **later > row) {
            *later -= 1;
        }
        if let Some(copies) = self.copies.get_mut(&attempt.task) {
            *copies = copies.saturating_sub(1);
        }
    }

    fn lost_or_returned(&mut self, at: Time, node: NodeId, returned: bool) {
        if let Some(node) = self.timeline.nodes.get_mut(node.0 as usize)
            && (node.lost_and_returned.len() % 2 == 1) == returned
        {
            node.lost_and_returned.push(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_that_ends_after_the_winner_has_lost() {
        let task = TaskId { job: JobId(0), phase: 0, index: 0 };
        let of = |copy| AttemptId { task, copy };
        let start = |copy| Change::Decision(Decision::Start { attempt: of(copy), node: NodeId(0), from_progress: 0.0 });
        let failed = |reason: Option<&str>, external: Option<&str>| Event::AttemptFailed {
            attempt: of(0),
            reason: reason.map(Arc::from),
            external: external.map(Arc::from),
        };
        let ends = [
            (Event::AttemptStopped { attempt: of(0) }, AttemptEnd::Stopped, AttemptEnd::Lost),
            (failed(None, None), AttemptEnd::Failed(Cause::External(None)), AttemptEnd::Lost),
            (failed(Some("exit code 1"), None), AttemptEnd::Failed(Cause::Own("exit code 1".into())), AttemptEnd::Lost),
            (
                failed(None, Some("cut off")),
                AttemptEnd::Failed(Cause::External(Some("cut off".into()))),
                AttemptEnd::Lost,
            ),
        ];
        for (event, before, after) in ends {
            let won = Change::Event(Event::AttemptFinished { attempt: of(1) });
            let first = |changes: Vec<Change>| {
                let records =
                    changes.into_iter().enumerate().map(|(at, change)| Record { at: Time(at as u64), change });
                Timeline::of(records).rows[0].outcome.clone()
            };
            assert_eq!(first(vec![start(0), start(1), Change::Event(event.clone()), won.clone()]), before);
            assert_eq!(first(vec![start(0), start(1), won, Change::Event(event)]), after);
        }
    }

    #[test]
    fn kinds_say_how_copies_relate_to_each_other() {
        use AttemptKind::{Backup, Clone, Original, Replacement, Retry};
        let of = |copy| AttemptId { task: TaskId { job: JobId(0), phase: 0, index: 0 }, copy };
        let start = |copy| Change::Decision(Decision::Start { attempt: of(copy), node: NodeId(0), from_progress: 0.0 });
        let stopped = |copy| Change::Event(Event::AttemptStopped { attempt: of(copy) });
        let failed = |copy| Change::Event(Event::AttemptFailed { attempt: of(copy), reason: None, external: None });
        let relaunch = |copy| Change::Decision(Decision::Stop { attempt: of(copy), reason: StopReason::Relaunched });
        let changes = [
            (0, start(0)),
            (0, start(1)),
            (1, start(2)),
            (2, Change::Decision(Decision::Replace { attempt: of(2), from_progress: 0.0 })),
            (3, stopped(2)),
            (3, failed(0)),
            (3, failed(1)),
            (3, failed(3)),
            (4, start(4)),
            (5, relaunch(4)),
            (6, stopped(4)),
            (7, start(5)),
        ];
        let mut builder = TimelineBuilder::default();
        for (at, change) in changes {
            builder.apply(Record { at: Time(at), change });
        }
        let kinds: Vec<AttemptKind> = (0..builder.timeline().rows.len()).map(|row| builder.kind(row)).collect();
        assert_eq!(kinds, [Original, Clone, Backup, Replacement, Retry, Replacement]);
    }

    #[test]
    fn a_copy_that_is_left_out_before_it_begins_is_no_attempt() {
        let of = |index, copy| AttemptId { task: TaskId { job: JobId(0), phase: 0, index }, copy };
        let start = |attempt| Change::Decision(Decision::Start { attempt, node: NodeId(0), from_progress: 0.0 });
        let running = |attempt| Change::Event(Event::AttemptRunning { attempt, waited: None });
        let no_more = |index| Change::Event(Event::NoMoreCopies { task: of(index, 0).task, may_restart: true });
        let stopped = |attempt| Change::Event(Event::AttemptStopped { attempt });
        let finished = |attempt| Change::Event(Event::AttemptFinished { attempt });
        let changes = [
            start(of(0, 0)),
            running(of(0, 0)),
            start(of(0, 1)),
            start(of(1, 0)),
            running(of(1, 0)),
            no_more(0),
            stopped(of(0, 1)),
            // A copy that has begun has been an attempt.
            start(of(1, 1)),
            running(of(1, 1)),
            no_more(1),
            stopped(of(1, 1)),
            finished(of(1, 0)),
            finished(of(0, 0)),
        ];
        let timeline = Timeline::of((0..).zip(changes).map(|(at, change)| Record { at: Time(at), change }));
        let rows: Vec<_> = timeline.rows.iter().map(|row| (row.attempt, row.end, row.outcome.clone())).collect();
        let expected = [
            (of(0, 0), Time(12), AttemptEnd::Won),
            (of(1, 0), Time(11), AttemptEnd::Won),
            (of(1, 1), Time(10), AttemptEnd::Stopped),
        ];
        assert_eq!(rows, expected);
    }

    #[test]
    fn an_earlier_end_is_moved_to_the_start() {
        let attempt = AttemptId { task: TaskId { job: JobId(0), phase: 0, index: 0 }, copy: 0 };
        let start = Change::Decision(Decision::Start { attempt, node: NodeId(0), from_progress: 0.0 });
        let failed = Change::Event(Event::AttemptFailed { attempt, reason: None, external: None });
        let records = [Record { at: Time(2), change: start }, Record { at: Time(1), change: failed }];
        let timeline = Timeline::of(records);
        assert_eq!((timeline.rows[0].start, timeline.rows[0].end), (Time(2), Time(2)));
    }
}
