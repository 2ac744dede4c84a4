//! How long attempts may take: a time, a multiple of the median duration of finished tasks, or the smaller of both.
//!
//! Invariant: the durations of each phase are sorted.

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
    /// Multiple of the median.
    of_median: Option<f64>,
    /// Durations of finished tasks in seconds, if `of_median` needs them.
    durations: Vec<f64>,
}

/// The limits of all phases.
#[derive(Clone, Debug, Default)]
pub(super) struct TimeLimits(Vec<OfPhase>);

impl TimeLimits {
    pub(super) fn new(plan: &Plan) -> TimeLimits {
        let limits = plan.phases.iter().map(|phase| OfPhase {
            fixed: phase.time_limit.map(|limit| Time(limit.as_nanos() as u64)),
            of_median: phase.time_limit_of_median,
            durations: Vec::new(),
        });
        TimeLimits(limits.collect())
    }

    /// Returns how long an attempt of a phase may take now; `None` without a limit.
    pub(super) fn of(&self, phase: u32) -> Option<Time> {
        let limits = &self.0[phase as usize];
        let median = limits.durations.get(limits.durations.len() / 2).filter(|_| limits.durations.len() >= ENOUGH);
        let relative = limits.of_median.zip(median).map(|(share, median)| Time::from_seconds(share * median));
        limits.fixed.into_iter().chain(relative).min()
    }

    /// Adds the duration of a finished task in seconds. Returns true if the phase's limit is lower now.
    fn add(&mut self, phase: u32, seconds: f64) -> bool {
        let before = self.of(phase);
        let limits = &mut self.0[phase as usize];
        if limits.of_median.is_none() {
            return false;
        }
        let at = limits.durations.partition_point(|duration| *duration < seconds);
        limits.durations.insert(at, seconds);
        self.of(phase).is_some_and(|now| before.is_none_or(|before| now < before))
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
        let Some(limit) = limits.of(task.phase) else { return };
        let is_of_phase = |attempt: &AttemptId| attempt.task.job == task.job && attempt.task.phase == task.phase;
        for (attempt, running) in self.attempts.iter().filter(|(attempt, _)| is_of_phase(attempt)) {
            self.deadlines.push(running.progress.since + limit, Deadline::TimeLimit(attempt));
        }
    }

    /// Kills an attempt that has reached its limit. If the limit has grown, checks again later.
    pub(super) fn check_time_limit(&mut self, attempt: AttemptId) {
        // A limit counts from the begin of the command.
        let begun = self.attempts.get(attempt).filter(|running| !running.is_starting());
        let Some(since) = begun.map(|running| running.progress.since) else { return };
        let Some(limit) = self.jobs[attempt.task.job].limits.of(attempt.task.phase) else { return };
        if since + limit <= self.engine.now() {
            self.kill(attempt, Kill::TimeLimit);
        } else {
            self.deadlines.push(since + limit, Deadline::TimeLimit(attempt));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_follows_the_median_of_three_or_more_tasks() {
        let relative = OfPhase { of_median: Some(2.0), ..OfPhase::default() };
        let mut limits = TimeLimits(vec![relative]);
        assert!(!limits.add(0, 9.0) && !limits.add(0, 1.0));
        assert_eq!(limits.of(0), None);
        assert!(limits.add(0, 3.0));
        assert_eq!(limits.of(0), Some(Time::from_seconds(6.0)));
        assert!(!limits.add(0, 10.0));
        assert_eq!(limits.of(0), Some(Time::from_seconds(18.0)));
        assert!(limits.add(0, 1.0));
        assert_eq!(limits.of(0), Some(Time::from_seconds(6.0)));
    }

    #[test]
    fn the_smaller_limit_holds() {
        let both = OfPhase { fixed: Some(Time::from_seconds(5.0)), of_median: Some(1.0), durations: vec![4.0; 3] };
        let fixed = OfPhase { fixed: Some(Time::from_seconds(5.0)), ..OfPhase::default() };
        let mut limits = TimeLimits(vec![both, fixed]);
        assert_eq!((limits.of(0), limits.of(1)), (Some(Time::from_seconds(4.0)), Some(Time::from_seconds(5.0))));
        assert!(!limits.add(1, 1.0));
        assert_eq!(limits.of(1), Some(Time::from_seconds(5.0)));
    }
}
