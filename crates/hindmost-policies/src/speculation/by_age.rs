//! Remaining times that are told from ages: what they may become, so that a round asks only for those that may be the
//! longest.

use hindmost_core::cluster::{Attempt, Cluster, Phase};
use hindmost_core::estimator::Pace;
use hindmost_core::time::Time;
use hindmost_math::distribution::Distribution;

use super::candidates::Scale;

/// A remaining time is taken to be at most so many times what is expected now.
const ROOM: f64 = 1.05;

/// Share by which what is known of ages may be wrong.
const ROUNDING: f64 = 1e-6;

/// The rank of a candidate that ends at a time, or of which that is the latest that it may be expected to.
pub(super) fn ends(end: Time) -> (Scale, u64) {
    (0, u64::MAX - end.0)
}

/// The end that such a rank stands for.
pub(super) fn end(rank: u64) -> Time {
    Time(u64::MAX - rank)
}

/// The seconds that a candidate of this rank has left, or the most that it may. Scale 0: until an end; others are how many
/// times as long as it has run, by its start.
pub(super) fn left(scale: Scale, rank: u64, now: Time) -> f64 {
    match scale {
        0 => (end(rank) - now).seconds(),
        times => f64::from_bits(times) * (now - Time(rank)).seconds(),
    }
}

/// A rank that leaves an attempt more than what will be expected from its age, now `remaining`, until it is due for another.
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
    let limit = ROOM * remaining;
    match first_above(pace.age(limit), age, durations) {
        Some(until) => {
            let due = now + Time::from_seconds(pace.seconds(until - age).min((ROOM - 1.0) * remaining));
            (ends(due + Time::from_seconds(limit)), due)
        }
        None => ((0, 0), Time::NEVER),
    }
}

/// An age before which the expected remaining time is not above a limit, as it is not at a given one. At age a it is ∫S/S(a)
/// from a on, m(a): it is above the limit at a later age b only if S(b) < m(a)·S(a)/limit.
pub(super) fn first_above(limit: f64, age: f64, durations: &Distribution) -> Option<f64> {
    // What is expected is known to some digits only.
    let share = 1.01 * durations.mean_residual(age) / limit;
    let survival = share * durations.survival(age);
    (share < 1.0).then(|| if survival > 0.0 { durations.survival_quantile(survival) } else { f64::INFINITY })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_expected_to_take_long_before_it_may_be() {
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
