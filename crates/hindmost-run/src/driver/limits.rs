//! How long attempts may take: a time, a multiple of the median duration of finished tasks, or the smaller of both.
//!
//! Invariant: the durations of each phase are sorted.

use std::collections::BTreeMap;
use std::time::Duration;

use hindmost_core::ids::{AttemptId, TaskId};
use hindmost_core::time::Time;

use super::Driver;
use super::attempts::Kill;
use super::deadlines::Deadline;
use crate::job_file::Plan;

/// Number of tasks that must have finished before a multiple of their median is a limit.
const ENOUGH: usize = 3;

/// The limit of one phase.
#[derive(Clone, Debug, Default)]
struct OfPhase {
    fixed: Option<Time>,
    /// The limits of its tasks, if they differ.
    of_tasks: Vec<Option<Time>>,
    /// Multiple of the median.
    of_median: Option<f64>,
    /// Durations of finished tasks in seconds, if `of_median` needs them.
    durations: Vec<f64>,
    /// How many times the fixed limit a retry gets after a time-out, if it gets more.
    retry: Option<f64>,
    /// How often attempts of tasks have reached the limit, if retries get more.
    timed_out: BTreeMap<u32, i32>,
}

/// The limits of all phases.
#[derive(Clone, Debug, Default)]
pub(super) struct TimeLimits(Vec<OfPhase>);

impl TimeLimits {
    pub(super) fn new(plan: &Plan) -> TimeLimits {
        let time = |limit: Duration| Time(limit.as_nanos() as u64);
        let limits = plan.phases.iter().map(|phase| OfPhase {
            fixed: phase.time_limit.map(time),
            of_tasks: match phase.row_limits.time_limit.as_slice() {
                [] => Vec::new(),
                _ => (0..phase.tasks).map(|task| phase.time_limit_of(task).map(time)).collect(),
            },
            of_median: phase.time_limit_of_median,
            durations: Vec::new(),
            retry: phase.time_limit_retry,
            timed_out: BTreeMap::new(),
        });
        TimeLimits(limits.collect())
    }

    /// Returns how long an attempt of a task may take now; `None` without a limit.
    pub(super) fn of(&self, task: TaskId) -> Option<Time> {
        let limits = &self.0[task.phase as usize];
        let times = limits.timed_out.get(&task.index).copied().unwrap_or(0);
        let grown = limits.retry.map_or(1.0, |retry| retry.powi(times));
        let fixed = limits.of_tasks.get(task.index as usize).copied().unwrap_or(limits.fixed);
        let fixed = fixed.map(|fixed| if grown > 1.0 { Time::from_seconds(fixed.seconds() * grown) } else { fixed });
        fixed.into_iter().chain(limits.relative()).min()
    }

    /// Notes that an attempt of a task has reached its limit.
    pub(super) fn timed_out(&mut self, task: TaskId) {
        let limits = &mut self.0[task.phase as usize];
        if limits.retry.is_some() {
            *limits.timed_out.entry(task.index).or_default() += 1;
        }
    }

    /// Adds the duration of a finished task in seconds. Returns true if the limit that follows from the phase's median is lower now.
    fn add(&mut self, phase: u32, seconds: f64) -> bool {
        let limits = &mut self.0[phase as usize];
        let before = limits.relative();
        if limits.of_median.is_none() {
            return false;
        }
        let at = limits.durations.partition_point(|duration| *duration < seconds);
        limits.durations.insert(at, seconds);
        limits.relative().is_some_and(|now| before.is_none_or(|before| now < before))
    }
}

impl OfPhase {
    /// Returns the limit that follows from the median.
    fn relative(&self) -> Option<Time> {
        let median = self.durations.get(self.durations.len() / 2).filter(|_| self.durations.len() >= ENOUGH);
        self.of_median.zip(median).map(|(share, median)| Time::from_seconds(share * median))
    }
}

impl Driver<'_> {
    /// Notes that a task has finished after this time. If that lowers the limit of its phase's running attempts, they are
    /// checked at its end.
    pub(super) fn finished_in(&mut self, task: TaskId, seconds: f64) {
        let limits = &mut self.jobs[task.job].limits;
        if !limits.add(task.phase, seconds) {
            return;
        }
        let limits = &self.jobs[task.job].limits;
        let is_of_phase = |attempt: &AttemptId| attempt.task.job == task.job && attempt.task.phase == task.phase;
        for (attempt, running) in self.attempts.iter().filter(|(attempt, _)| is_of_phase(attempt)) {
            let Some(limit) = limits.of(attempt.task) else { continue };
            self.deadlines.push(running.progress.since + limit, Deadline::TimeLimit(attempt));
        }
    }

    /// Kills an attempt that has reached its limit. If the limit has grown, checks again later.
    pub(super) fn check_time_limit(&mut self, attempt: AttemptId) {
        // A limit counts from the begin of the command.
        let begun = self.attempts.get(attempt).filter(|running| !running.is_starting());
        let Some(since) = begun.map(|running| running.progress.since) else { return };
        let Some(limit) = self.jobs[attempt.task.job].limits.of(attempt.task) else { return };
        if since + limit <= self.engine.now() {
            self.kill(attempt, Kill::TimeLimit);
        } else {
            self.deadlines.push(since + limit, Deadline::TimeLimit(attempt));
        }
    }
}

#[cfg(test)]
mod tests {
    use hindmost_core::ids::JobId;

    use super::*;

    fn task(phase: u32) -> TaskId {
        TaskId { job: JobId(0), phase, index: 0 }
    }

    #[test]
    fn a_retry_after_a_time_out_gets_more_time() {
        let fixed = OfPhase { fixed: Some(Time::from_seconds(5.0)), ..OfPhase::default() };
        let mut limits = TimeLimits(vec![OfPhase { retry: Some(3.0), ..fixed.clone() }, fixed]);
        let of = |phase, index| TaskId { index, ..task(phase) };
        for phase in [0, 1] {
            limits.timed_out(of(phase, 7));
            limits.timed_out(of(phase, 7));
        }
        let seconds = |phase, index| limits.of(of(phase, index)).unwrap().seconds();
        assert_eq!([seconds(0, 7), seconds(0, 8), seconds(1, 7)], [45.0, 5.0, 5.0]);
    }

    #[test]
    fn the_limit_follows_the_median_of_three_or_more_tasks() {
        let relative = OfPhase { of_median: Some(2.0), ..OfPhase::default() };
        let mut limits = TimeLimits(vec![relative]);
        assert!(!limits.add(0, 9.0) && !limits.add(0, 1.0));
        assert_eq!(limits.of(task(0)), None);
        assert!(limits.add(0, 3.0));
        assert_eq!(limits.of(task(0)), Some(Time::from_seconds(6.0)));
        assert!(!limits.add(0, 10.0));
        assert_eq!(limits.of(task(0)), Some(Time::from_seconds(18.0)));
        assert!(limits.add(0, 1.0));
        assert_eq!(limits.of(task(0)), Some(Time::from_seconds(6.0)));
    }

    #[test]
    fn the_smaller_limit_holds() {
        let both = OfPhase {
            fixed: Some(Time::from_seconds(5.0)),
            of_median: Some(1.0),
            durations: vec![4.0; 3],
            ..OfPhase::default()
        };
        let fixed = OfPhase { fixed: Some(Time::from_seconds(5.0)), ..OfPhase::default() };
        let mut limits = TimeLimits(vec![both, fixed]);
        assert_eq!(
            (limits.of(task(0)), limits.of(task(1))),
            (Some(Time::from_seconds(4.0)), Some(Time::from_seconds(5.0)))
        );
        assert!(!limits.add(1, 1.0));
        assert_eq!(limits.of(task(1)), Some(Time::from_seconds(5.0)));
        limits.0[1].of_tasks = vec![Some(Time::from_seconds(2.0)), None];
        assert_eq!(limits.of(task(1)), Some(Time::from_seconds(2.0)));
        assert_eq!(limits.of(TaskId { index: 1, ..task(1) }), None);
    }
}
