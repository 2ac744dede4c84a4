//! Which attempts of a task are behind others when only the best one is to continue.
//!
//! The paper compares expected finishes, which it always knows. Here the finish of an attempt may be unknown. An attempt is
//! never stopped in favour of one that is known to miss the deadline, and attempts that nothing distinguishes all continue.

use hindmost_core::cluster::{Attempt, Cluster, Phase};
use hindmost_core::estimator::{Estimator, Knowledge, Pace};
use hindmost_core::ids::{AttemptId, TaskId};
use hindmost_core::time::Time;

use crate::cloning::known_progress::running;

/// Expected finishes of attempts with unknown finish that differ by less than this share of the mean duration count as equal.
/// Copies that start together do so within some milliseconds in a live run.
const EQUAL: f64 = 0.1;

/// What is known about the finish of an attempt.
#[derive(Clone, Copy, Debug)]
enum Finish {
    Known(Time),
    Unknown {
        earliest: Time,
        /// The expected finish, at least `earliest`; `None` if the phase's durations are only a guess.
        expected: Option<Time>,
    },
}

/// Returns the attempts of a task that another one is ahead of, each with one that is ahead of it. At least one attempt is not
/// among the first ones.
pub(super) fn behind_others(
    cluster: &Cluster,
    estimator: &dyn Estimator,
    task: TaskId,
    deadline: Time,
) -> Vec<(AttemptId, AttemptId)> {
    let mut copies: Vec<(AttemptId, Finish)> =
        running(cluster, task).map(|copy| (copy.id(), finish(cluster, estimator, copy))).collect();
    copies.sort_unstable_by_key(|(id, _)| *id);
    let mean = cluster.phase(task).map_or(0.0, |phase| phase.durations().mean());
    let tolerance = Time::from_seconds(EQUAL * mean);
    let is_behind = |one: &(AttemptId, Finish), other: &(AttemptId, Finish)| {
        one.0 != other.0 && is_behind(one, other, deadline, tolerance)
    };
    let is_best = |one: &&(AttemptId, Finish)| !copies.iter().any(|other| is_behind(one, other));
    let ahead_of = |one: &(AttemptId, Finish)| {
        let mut ahead = copies.iter().filter(|other| is_behind(one, other));
        ahead.clone().find(is_best).or_else(|| ahead.next()).map(|ahead| (one.0, ahead.0))
    };
    copies.iter().filter_map(ahead_of).collect()
}

/// Returns true if the first attempt is to be stopped in favour of the second one. A chain of such pairs never returns to its
/// start, because along it (expected) finishes do not grow, except that nothing but earlier attempts of the same kind is ahead
/// of an attempt that is known to meet the deadline.
fn is_behind(
    (one_id, one): &(AttemptId, Finish),
    (other_id, other): &(AttemptId, Finish),
    deadline: Time,
    tolerance: Time,
) -> bool {
    match (*one, *other) {
        (Finish::Known(one), Finish::Known(other)) => (other, other_id) < (one, one_id),
        (Finish::Unknown { earliest, .. }, Finish::Known(other)) => other <= deadline || other <= earliest,
        (Finish::Known(one), Finish::Unknown { expected, .. }) => {
            one > deadline && expected.is_some_and(|expected| expected < one)
        }
        (
            Finish::Unknown { earliest: one_earliest, expected: one },
            Finish::Unknown { earliest: other_earliest, expected: other },
        ) => {
            let other_is_late = other_earliest > deadline && one_earliest <= deadline;
            !other_is_late && one.zip(other).is_some_and(|(one, other)| other < one && one - other > tolerance)
        }
    }
}

fn finish(cluster: &Cluster, estimator: &dyn Estimator, attempt: &Attempt) -> Finish {
    if let Some(finish) = attempt.measured_finish() {
        return Finish::Known(finish);
    }
    let (now, since) = (cluster.now(), attempt.since());
    let gives_progress = cluster.phase(attempt.id().task).is_some_and(Phase::gives_progress);
    let earliest = if gives_progress { earliest_finish(estimator.knowledge(), attempt, now) } else { now };
    let by_profiles = matches!(estimator.knowledge(), Knowledge::Profiles(_));
    let range = if by_profiles { estimator.remaining_range(cluster, attempt) } else { None };
    let remaining = range.map(|range| now + Time::from_seconds(range.mean()));
    let expected = remaining.or_else(|| {
        let phase = cluster.phase(attempt.id().task).filter(|phase| !phase.is_assumed())?;
        let pace = Pace::of(cluster, attempt);
        // It takes longer than this.
        let known = (earliest - since).seconds();
        let left = pace.seconds(phase.durations().mean_residual(pace.age(known)));
        left.is_finite().then(|| earliest + Time::from_seconds(left))
    });
    Finish::Unknown { earliest, expected: expected.map(|expected| expected.max(earliest)) }
}

/// Returns the earliest time at which an attempt can finish whose remaining time is not known yet.
pub(super) fn earliest_finish(knowledge: Knowledge, attempt: &Attempt, now: Time) -> Time {
    match knowledge {
        // It has done less than this share of its work.
        Knowledge::Progress(share) if share > 0.0 => {
            attempt.since() + Time::from_seconds((now - attempt.since()).seconds() / share)
        }
        _ => now,
    }
}

#[cfg(test)]
mod tests {
    use hindmost_core::ids::JobId;

    use super::*;

    fn at(seconds: f64) -> Time {
        Time::from_seconds(seconds)
    }

    fn known(finish: f64) -> Finish {
        Finish::Known(at(finish))
    }

    fn unknown(earliest: f64, expected: f64) -> Finish {
        Finish::Unknown { earliest: at(earliest), expected: Some(at(expected)) }
    }

    /// Returns whether the first attempt is behind the second one, with a deadline of 10 s and a tolerance of 1 s.
    fn behind(one: Finish, other: Finish) -> bool {
        let id = |copy| AttemptId { task: TaskId { job: JobId(0), phase: 0, index: 0 }, copy };
        is_behind(&(id(0), one), &(id(1), other), at(10.0), at(1.0))
    }

    #[test]
    fn an_attempt_that_is_late_is_ahead_of_no_unknown_one() {
        let late = known(12.0);
        assert!(!behind(unknown(2.0, 5.0), late) && behind(late, unknown(2.0, 5.0)));
        // The unknown one is expected to end later, but may be in time: both continue.
        assert!(!behind(unknown(2.0, 50.0), late) && !behind(late, unknown(2.0, 50.0)));
        // It is certain to end later.
        assert!(behind(unknown(12.5, 50.0), late));
        // An attempt that is late for certain, though its finish is not known, is not ahead of one that may be in time.
        assert!(!behind(unknown(2.0, 50.0), unknown(11.0, 12.0)));
    }

    #[test]
    fn an_attempt_in_time_is_ahead_of_all_unknown_ones() {
        assert!(behind(unknown(2.0, 3.0), known(9.0)) && !behind(known(9.0), unknown(2.0, 3.0)));
        assert!(behind(known(9.0), known(8.0)) && !behind(known(9.0), known(9.0)));
    }

    #[test]
    fn equal_and_absent_knowledge_stops_nothing() {
        let guess = Finish::Unknown { earliest: at(1.0), expected: None };
        for (one, other) in
            [(unknown(2.0, 5.0), unknown(2.0, 5.9)), (guess, guess), (guess, unknown(1.0, 2.0)), (known(12.0), guess)]
        {
            assert!(!behind(one, other) && !behind(other, one), "{one:?} {other:?}");
        }
        assert!(behind(unknown(2.0, 6.5), unknown(2.0, 5.0)));
    }
}
