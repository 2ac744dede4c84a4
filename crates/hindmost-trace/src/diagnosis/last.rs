//! What the phases of an application waited for last, and work that was lost.

use hindmost_core::metrics::{FailureCost, FinishedLast, LostWork, TaskTime, Waited};

use super::typical::{Typical, retries};
use crate::findings::roles::{Role, Roles};
use crate::recording::{Ended, PhaseRows, Recording};

/// Fewest winners of a phase whose last 5 % are looked at.
const FEWEST: usize = 20;

/// Returns the machine time of all attempts, and what the log says it went into.
pub fn task_time(recording: &Recording) -> TaskTime {
    let mut sum = TaskTime::default();
    for row in recording.phases.iter().flat_map(|phase| &phase.rows) {
        sum.seconds += row.seconds();
        sum.garbage_collection += f64::from(row.spent.garbage_collection);
        sum.deserialization += f64::from(row.spent.deserialization);
        sum.fetch_wait += f64::from(row.spent.fetch_wait);
        sum.delay += f64::from(row.spent.delay);
    }
    sum
}

/// Returns what the phases waited for last.
pub fn finished_last(recording: &Recording, typical: &[Typical]) -> FinishedLast {
    let mut sum = FinishedLast::default();
    for (phase, typical) in recording.phases.iter().zip(typical) {
        let Some((seconds, what)) = of_phase(phase, typical) else { continue };
        let part = match what {
            What::LongAttempt => &mut sum.long_attempt,
            What::LateStart => &mut sum.late_start,
            What::Retry { .. } => &mut sum.retry,
        };
        add(part, seconds);
        add(&mut sum.all, seconds);
        if what == (What::Retry { has_failed: false }) {
            add(&mut sum.retry_without_failure, seconds);
        }
    }
    sum
}

fn add(waited: &mut Waited, seconds: f64) {
    waited.phases += 1;
    waited.seconds += seconds;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    LongAttempt,
    LateStart,
    Retry {
        /// Whether an attempt of the task had failed.
        has_failed: bool,
    },
}

/// Returns how long a phase waited for its last 5 %, and for what; `None` if it did not wait.
fn of_phase(phase: &PhaseRows, typical: &Typical) -> Option<(f64, What)> {
    let retries = retries(phase);
    let mut winners: Vec<(f64, usize)> =
        phase.rows.iter().enumerate().filter(|(_, row)| row.wins).map(|(at, row)| (row.end, at)).collect();
    if winners.len() < FEWEST {
        return None;
    }
    winners.sort_by(|a, b| a.0.total_cmp(&b.0));
    let most = winners[(winners.len() * 95).div_ceil(100) - 1].0;
    let (end, last) = *winners.last()?;
    let what = if retries[last] {
        let task = phase.rows[last].task;
        What::Retry { has_failed: phase.rows.iter().any(|row| row.task == task && row.ended == Ended::Failed) }
    } else if typical.is_straggler(&phase.rows[last]) {
        What::LongAttempt
    } else {
        What::LateStart
    };
    (end > most).then_some((end - most, what))
}

/// Returns the machine time of attempts that did not win.
pub fn lost_work(recording: &Recording) -> LostWork {
    let mut lost = LostWork::default();
    for phase in &recording.phases {
        let roles = Roles::of(phase);
        for row in phase.rows.iter().filter(|row| !row.wins) {
            *match (row.ended, roles.role(row)) {
                (Ended::Failed, _) => &mut lost.failed,
                (_, Role::Repeat) => &mut lost.repeated,
                (_, Role::Alone) => &mut lost.killed,
                (_, Role::Loser | Role::Winner) => &mut lost.losers,
            } += row.seconds();
        }
    }
    lost
}

/// Returns what failed attempts cost, by reason.
pub fn failures(recording: &Recording) -> Vec<FailureCost> {
    let cost = |(reason, (attempts, seconds)): (&String, &(u64, f64))| FailureCost {
        reason: reason.clone(),
        attempts: *attempts,
        seconds: *seconds,
    };
    let mut all: Vec<FailureCost> = recording.failures.iter().map(cost).collect();
    all.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{phase, recording, row};

    fn of(change: impl Fn(&mut PhaseRows)) -> FinishedLast {
        // Forty tasks of a second, one after the other, on two executors.
        let mut one = phase((0..40).map(|at| row(at, at % 2, f64::from(at / 2), f64::from(at / 2 + 1))).collect());
        change(&mut one);
        let typical = vec![Typical::of(&one)];
        finished_last(&recording(vec![one], Vec::new()), &typical)
    }

    #[test]
    fn what_finished_last_says_why_a_phase_waited() {
        let late = of(|phase| phase.rows[39] = row(39, 1, 30.0, 31.0));
        assert_eq!((late.late_start.phases, late.late_start.seconds), (1, 31.0 - 19.0));
        let long = of(|phase| phase.rows[39].end = 40.0);
        assert_eq!((long.long_attempt.phases, long.long_attempt.seconds), (1, 40.0 - 19.0));
        let retry = of(|phase| {
            (phase.rows[39].wins, phase.rows[39].ended) = (false, Ended::Failed);
            phase.rows.push(row(39, 0, 20.0, 50.0));
        });
        assert_eq!((retry.retry.phases, retry.retry.seconds), (1, 50.0 - 19.0));
        assert_eq!(retry.all, retry.retry);
        assert_eq!(retry.retry_without_failure.phases, 0);
    }

    #[test]
    fn only_attempts_beside_the_winner_of_their_task_lost_to_it() {
        let mut rows = vec![
            row(0, 0, 0.0, 2.0),
            row(0, 0, 5.0, 9.0),
            row(0, 1, 6.0, 13.0),
            row(0, 0, 9.0, 24.0),
            row(1, 0, 0.0, 1.0),
        ];
        for (at, ended) in [(0, Ended::Killed), (2, Ended::Killed), (3, Ended::Killed), (4, Ended::Interrupted)] {
            (rows[at].wins, rows[at].ended) = (false, ended);
        }
        let lost = lost_work(&recording(vec![phase(rows)], Vec::new()));
        let LostWork { failed, losers, killed, repeated } = lost;
        assert_eq!([failed, losers, killed, repeated], [0.0, 7.0, 2.0 + 1.0, 15.0]);
    }

    #[test]
    fn a_task_that_ran_again_after_it_was_killed_has_not_failed() {
        let killed = of(|phase| {
            (phase.rows[39].wins, phase.rows[39].ended) = (false, Ended::Killed);
            phase.rows.push(row(39, 0, 20.0, 50.0));
        });
        assert_eq!((killed.retry, killed.retry_without_failure), (killed.all, killed.all));
        assert_eq!(killed.all.phases, 1);
    }
}
