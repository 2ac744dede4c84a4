//! Upper bounds for remaining times that are estimated from an attempt's age. The bounds let a round compute the estimate
//! only for attempts whose remaining time may be the longest.

use hindmost_core::cluster::{Attempt, Cluster, Phase};
use hindmost_core::estimator::Pace;
use hindmost_core::time::Time;
use hindmost_math::distribution::Distribution;

use super::candidates::Scale;

/// An upper bound is this many times the remaining time that is expected when the bound is computed.
const BOUND_FACTOR: f64 = 1.05;

/// Relative error that rounding may cause in an age.
const ROUNDING: f64 = 1e-6;

/// Returns the rank of a candidate on scale 0, if it is expected to end at this time or earlier.
pub(super) fn ends(end: Time) -> (Scale, u64) {
    (0, u64::MAX - end.0)
}

/// Returns the end from which [`ends`] made this rank.
pub(super) fn end(rank: u64) -> Time {
    Time(u64::MAX - rank)
}

/// Returns the remaining time of a candidate of this rank in seconds, or an upper bound for it. On scale 0 the rank is
/// an end. Any other scale is a factor, and the rank is the candidate's start: the bound is the factor times its age.
pub(super) fn left(scale: Scale, rank: u64, now: Time) -> f64 {
    match scale {
        0 => (end(rank) - now).seconds(),
        times => f64::from_bits(times) * (now - Time(rank)).seconds(),
    }
}

/// Returns a rank for an attempt whose age alone is known, and the time until which the rank is valid. Until then,
/// [`left`] returns an upper bound for the remaining time that is expected from the attempt's age. `remaining` is the
/// remaining time expected now, in seconds.
pub(super) fn rank_until(remaining: f64, attempt: &Attempt, phase: &Phase, cluster: &Cluster) -> ((Scale, u64), Time) {
    let (now, since, pace, durations) = (cluster.now(), attempt.since(), Pace::of(cluster, attempt), phase.durations());
    let age = pace.age((now - since).seconds());
    if let Distribution::Pareto(pareto) = durations
        && pareto.maximum().is_none()
    {
        let (alpha, minimum) = (pareto.alpha(), pareto.minimum());
        if age < (1.0 - ROUNDING) * minimum {
            let end = since + Time::from_seconds((1.0 + ROUNDING) * pace.seconds(durations.mean()));
            return (ends(end + Time(1000)), since + Time::from_seconds(pace.seconds(minimum)));
        }
        let times = (1.0 + (2.0 + alpha) * ROUNDING) / (alpha - 1.0);
        return ((times.to_bits(), since.0), Time::NEVER);
    }
    let limit = BOUND_FACTOR * remaining;
    match first_above(pace.age(limit), age, durations) {
        Some(until) => {
            let due = now + Time::from_seconds(pace.seconds(until - age).min((BOUND_FACTOR - 1.0) * remaining));
            (ends(due + Time::from_seconds(limit)), due)
        }
        None => ((0, 0), Time::NEVER),
    }
}

/// Returns an age up to which the expected remaining time does not exceed `limit`; `None` if it may exceed the limit
/// already at `age`. The expected remaining time at age a is m(a) = ∫S/S(a), integrated from a on. It exceeds the limit
/// at a later age b only if S(b) < m(a)·S(a)/limit.
pub(super) fn first_above(limit: f64, age: f64, durations: &Distribution) -> Option<f64> {
    // The factor covers the limited precision of the numeric mean.
    let share = 1.01 * durations.mean_residual(age) / limit;
    let survival = share * durations.survival(age);
    (share < 1.0).then(|| if survival > 0.0 { durations.survival_quantile(survival) } else { f64::INFINITY })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remaining_time_stays_below_the_limit_until_first_above() {
        let (heavy, light) = (Distribution::pareto_with_mean(2.0, 2.0), Distribution::uniform(1.0, 3.0));
        let all = [heavy, light, Distribution::log_normal(2.0, 2.0), Distribution::exponential(2.0)];
        let grid = (0..20).flat_map(|age| (1..20).map(move |limit| (0.2 * f64::from(age), 0.4 * f64::from(limit))));
        for durations in all.map(Result::unwrap) {
            for (age, limit) in grid.clone() {
                let Some(until) = first_above(limit, age, &durations) else { continue };
                assert!(durations.mean_residual(age) < limit && until >= age, "{durations:?} {age} {limit}");
                for step in 0..100 {
                    let later = age + (until.min(100.0) - age) * f64::from(step) / 100.0;
                    assert!(durations.mean_residual(later) <= limit, "{durations:?} {age} {limit} {later}");
                }
            }
        }
    }
}
