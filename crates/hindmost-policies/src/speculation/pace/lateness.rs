//! From which age on `pace` starts copies of an attempt of which only the age is known.
//!
//! The age is compared with the durations of the phase. Their median m and 90th percentile p fit a log-normal distribution
//! with σ = ln(p/m)/1.2816. An estimate from n durations is uncertain, so that 0.5/√n is added to σ. An age of m·exp(z·σ)
//! lies z standard deviations above the median:
//!
//! - [`IDLE`]: one attempt in 15 that follows the distribution gets older. This is enough while no task is pending, because a
//!   copy then delays nothing.
//! - [`PENDING`]: one in 160. While tasks are pending, a copy takes the slot of one.
//! - [`HUNG`]: one in 31 000. The attempt does not follow the distribution: its remaining time may be anything.
//!
//! Where copies have won, the age need not be that unusual, because then the duration of an attempt says nothing about that
//! of its copy. In every case the attempt must lag: it is older than `late` times the 90th percentile, and than
//! `min_age`.

use hindmost_core::cluster::Phase;

use super::evidence::Outcomes;

/// Standard deviations above the median from which on an attempt gets a copy while no task is pending.
pub(super) const IDLE: f64 = 1.5;
/// Standard deviations above the median from which on an attempt gets a copy while tasks are pending.
pub(super) const PENDING: f64 = 2.5;
/// Standard deviations above the median from which on an attempt counts as hung.
pub(super) const HUNG: f64 = 4.0;

/// The 90th percentile of the standard normal distribution.
const NORMAL_P90: f64 = 1.281_551_565_544_600_4;
/// What is added to σ for an estimate from one duration. It falls with the root of their number.
const UNCERTAIN: f64 = 0.5;

/// The ages of a phase, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Lateness {
    /// From this age on an attempt lags.
    pub(super) lags: f64,
    /// Median duration, and σ.
    median: f64,
    sigma: f64,
}

impl Lateness {
    /// Returns the ages of a task that is expected to take `factor` times as long as others of its phase. Its attempt lags above `late`
    /// times the 90th percentile and above `least` seconds.
    pub(super) fn of(phase: &Phase, factor: f64, (late, least): (f64, f64)) -> Lateness {
        let ages = Lateness::from((factor * phase.median(), factor * phase.p90(), phase.samples()), late);
        Lateness { lags: ages.lags.max(least), ..ages }
    }

    fn from((median, p90, samples): (f64, f64, Option<u32>), late: f64) -> Lateness {
        let p90 = p90.max(median);
        let spread = if median > 0.0 { (p90 / median).ln() / NORMAL_P90 } else { 0.0 };
        let sigma = spread + samples.map_or(0.0, |samples| UNCERTAIN / f64::from(samples.max(1)).sqrt());
        Lateness { lags: late * p90, median, sigma }
    }

    /// Returns the age above which an attempt gets a copy if ages must lie `deviations` standard deviations above the
    /// median.
    pub(super) fn limit(self, deviations: f64, outcomes: Outcomes) -> f64 {
        let unusual = if outcomes.copies_win() { 0.0 } else { self.median * (deviations * self.sigma).exp() };
        self.lags.max(unusual) * outcomes.factor()
    }

    /// Returns the age above which an attempt counts as hung.
    pub(super) fn hung(self, outcomes: Outcomes) -> f64 {
        self.lags.max(self.median * (HUNG * self.sigma).exp()) * outcomes.factor()
    }

    /// Returns the smallest limit above an age, at which the attempt must be examined again; `None` if there is none.
    pub(super) fn next_limit(self, age: f64, outcomes: Outcomes) -> Option<f64> {
        let limits = [self.limit(IDLE, outcomes), self.limit(PENDING, outcomes), self.hung(outcomes)];
        limits.into_iter().filter(|limit| *limit > age && limit.is_finite()).reduce(f64::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No copy has ended yet.
    fn none() -> Outcomes {
        Outcomes::default()
    }

    #[test]
    fn equal_durations_make_any_longer_age_unusual() {
        // 0.4 s and 0.41 s from 100 durations: σ = ln(1.025)/1.2816 + 0.05 = 0.0693.
        let ages = Lateness::from((0.4, 0.41, Some(100)), 1.2);
        assert_eq!(ages.limit(IDLE, none()), 1.2 * 0.41);
        assert_eq!(ages.limit(PENDING, none()), 1.2 * 0.41);
        assert!((ages.hung(none()) - 0.4 * (4.0f64 * 0.0693).exp()).abs() < 1e-3);
    }

    #[test]
    fn spread_durations_make_long_ages_usual() {
        // A log-normal distribution with median 1 and σ = 0.8: the 90th percentile is exp(0.8 · 1.2816) = 2.788.
        let ages = Lateness::from((1.0, (0.8 * NORMAL_P90).exp(), None), 1.2);
        // exp(1.5 · 0.8) = 3.32 is below 1.2 · 2.788.
        assert!((ages.limit(IDLE, none()) - ages.lags).abs() < 1e-12);
        assert!((ages.limit(PENDING, none()) - 2.0f64.exp()).abs() < 1e-12);
        assert!((ages.hung(none()) - 3.2f64.exp()).abs() < 1e-12);
        assert_eq!(ages.next_limit(5.0, none()), Some(ages.limit(PENDING, none())));
        assert_eq!(ages.next_limit(30.0, none()), None);
    }

    #[test]
    fn wins_leave_only_the_lag_and_losses_double_the_age() {
        let ages = Lateness::from((1.0, 3.0, None), 1.2);
        assert_eq!(ages.limit(PENDING, Outcomes { won: 1, lost: 0.5, ..none() }), 1.2 * 3.0);
        assert_eq!(ages.limit(IDLE, Outcomes { lost: 2.0, ..none() }), 4.0 * ages.limit(IDLE, none()));
    }

    #[test]
    fn few_durations_are_uncertain() {
        let ages = |samples| Lateness::from((1.0, 1.0, Some(samples)), 1.2).limit(PENDING, none());
        // exp(2.5 · 0.5/√5) = 1.749, and exp(2.5 · 0.5/√100) is below 1.2.
        assert!((ages(5) - 1.749).abs() < 1e-3 && (ages(100) - 1.2).abs() < 1e-12);
    }
}
