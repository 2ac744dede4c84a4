//! Counts attempts and sums up their machine time (the time for which they held a slot).

use hindmost_core::metrics::{AttemptCounts, MachineTime, Speculation};

use super::roles::Role;
use crate::recording::{AttemptRow, Ended};

/// Times further from 0 than this, in seconds, are treated as unknown.
const FAR: f64 = 1e12;
/// Durations are rounded to 1/PARTS of a second.
const PARTS: f64 = 1e6;

/// Returns the time, or `None` if it is not a number or further from 0 than `FAR`.
fn time(seconds: f64) -> Option<f64> {
    Some(seconds).filter(|seconds| seconds.abs() <= FAR)
}

/// When an attempt started and ended, and its duration, in seconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Times {
    pub start: Option<f64>,
    pub end: Option<f64>,
    pub seconds: Option<f64>,
}

impl Times {
    pub(super) fn of(attempt: &AttemptRow) -> Times {
        match (time(attempt.start), time(attempt.end)) {
            (Some(start), Some(end)) if end < start => Times::default(),
            (Some(start), Some(end)) => {
                let seconds = ((end - start) * PARTS).round() / PARTS;
                Times { start: Some(start), end: Some(end), seconds: Some(seconds) }
            }
            (start, end) => Times { start, end, seconds: None },
        }
    }
}

/// Counts of attempts and sums of their machine time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub tasks: u64,
    pub attempts: AttemptCounts,
    pub speculation: Speculation,
    pub machine_time: MachineTime,
}

impl Tally {
    /// Adds an attempt.
    pub(super) fn take(&mut self, attempt: &AttemptRow, seconds: Option<f64>, role: Role) {
        let seconds = seconds.unwrap_or(0.0);
        self.attempts.ended += 1;
        match attempt.ended {
            Ended::Succeeded => self.attempts.succeeded += 1,
            Ended::Failed => self.attempts.failed += 1,
            Ended::Killed | Ended::Interrupted => self.attempts.killed += 1,
        }
        self.tasks += u64::from(role == Role::Winner);
        let time = &mut self.machine_time;
        time.total += seconds;
        *match (role, attempt.ended) {
            (Role::Winner, _) => &mut time.winners,
            (_, Ended::Failed) => &mut time.failed,
            (Role::Repeat, _) => &mut time.repeated,
            (Role::Loser, _) => &mut time.losers,
            (Role::Alone, _) => &mut time.killed,
        } += seconds;
        if attempt.speculative {
            let speculation = &mut self.speculation;
            speculation.started += 1;
            if role == Role::Winner {
                speculation.won += 1;
                speculation.won_seconds += seconds;
            } else {
                speculation.lost += 1;
                speculation.lost_seconds += seconds;
            }
        }
    }

    pub(super) fn add(&mut self, other: &Tally) {
        self.tasks += other.tasks;
        let (sum, more) = (&mut self.attempts, &other.attempts);
        sum.ended += more.ended;
        sum.succeeded += more.succeeded;
        sum.failed += more.failed;
        sum.killed += more.killed;
        let (sum, more) = (&mut self.speculation, &other.speculation);
        sum.started += more.started;
        sum.won += more.won;
        sum.lost += more.lost;
        sum.won_seconds += more.won_seconds;
        sum.lost_seconds += more.lost_seconds;
        let (sum, more) = (&mut self.machine_time, &other.machine_time);
        sum.total += more.total;
        sum.winners += more.winners;
        sum.losers += more.losers;
        sum.repeated += more.repeated;
        sum.failed += more.failed;
        sum.killed += more.killed;
    }
}
