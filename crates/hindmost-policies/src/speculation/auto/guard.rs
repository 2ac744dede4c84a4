//! What copies of a task promise where they may be slow together: everything is averaged over the shares w that the task may have.
//!
//! A fresh copy of a task with the share w takes longer than t with the probability S_w(t | x0) (`share`). If w is 1, it does not end
//! before the first attempt. If x0 is not known, it is what it must be if the first attempt still runs at t.

use super::fresh::{Copy, First, Fresh};
use super::share::{Known, Mixture, SHARES, mean};
use super::survival::Survival;

/// Probabilities of a share below this are left out.
const NEGLIGIBLE: f64 = 0.01;
/// The unknown duration of the first attempt is assumed to be at most this many times its age, divided by the share: above it every running
/// copy would count as certain to lose.
const MOST: f64 = 0.9;

/// A running attempt of a task with several copies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Running {
    /// Its age, in E on a node of speed 1.
    pub(super) age: f64,
    /// Its duration, in the same units.
    pub(super) duration: Known,
    /// Its remaining time, as if it were alone.
    pub(super) left: Survival,
    /// Its remaining time, if it is known.
    pub(super) step: Option<f64>,
    /// True if it is the first attempt of the task.
    pub(super) is_first: bool,
}

/// What is known of a task whose copies may be slow together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Guard {
    /// The probabilities of its shares.
    pub(super) mixture: Mixture,
    /// The duration of its first attempt.
    pub(super) first: Known,
    /// The age of the first attempt, if it still runs.
    pub(super) age: Option<f64>,
    /// Some other attempt takes longer than this.
    pub(super) after: f64,
    /// How many times as long as usual the task takes because of its input; the durations above are without that.
    pub(super) times: f64,
}

impl Guard {
    /// Returns a fresh copy of the task, as if its input were usual.
    pub(super) fn copy(&self, fresh: &mut Fresh) -> Copy {
        let mut sum = Copy::never(fresh.single.held);
        for (probability, share) in self.shares() {
            let first = match (self.first, self.age) {
                (Known::Exactly(first) | Known::About { time: first, .. }, _) => First::Exactly(first),
                (Known::Above(_), Some(age)) => First::Runs(age),
                (Known::Above(least), None) => First::Above { least, after: self.after },
            };
            if share <= 0.0 {
                sum.add(&fresh.single, probability);
            } else if share >= 1.0 && self.age.is_some() {
                sum.add_never(probability);
            } else {
                sum.add(fresh.common(share, first), probability);
            }
        }
        sum
    }

    /// Returns how long the task takes if its only attempt, whose duration is not known, starts again, as if its input were usual.
    pub(super) fn again(&self, fresh: &mut Fresh) -> Survival {
        let mut sum = Survival::ZERO;
        for (probability, share) in self.shares() {
            let first = First::Above { least: self.first.least(), after: self.after };
            let copy = if share <= 0.0 { &fresh.single } else { fresh.common(share, first) };
            sum.add(&copy.survival, probability);
        }
        sum
    }

    /// Returns what is left of the task while these attempts run.
    pub(super) fn left(&self, running: &[&Running], fresh: &mut Fresh) -> Survival {
        let mut sum = Survival::ZERO;
        for (probability, share) in self.shares() {
            let mut all = Survival::ONE;
            for attempt in running {
                let alone = attempt.is_first || attempt.step.is_some() || share <= 0.0;
                let least = attempt.duration.least();
                if alone {
                    all.and(&attempt.left);
                } else if let (Known::Above(first), None) = (self.first, self.age) {
                    all.and(&fresh.common_left_above(share, first, attempt.age, least).stretched(self.times));
                } else {
                    let first = match self.first {
                        Known::Exactly(first) | Known::About { time: first, .. } => first,
                        Known::Above(least) => least.max(fresh.quantile(0.5, least).min(MOST * least / share)),
                    };
                    match fresh.common_left(share, first, attempt.age, least) {
                        Some(left) => all.and(&left.stretched(self.times)),
                        // It has outlived what the share lets one expect.
                        None => all.and(&attempt.left),
                    }
                }
            }
            sum.add(&all, probability);
        }
        sum
    }

    /// Returns the most copies of the task that may run at the same time. `waits` says that jobs wait.
    pub(super) fn most(&self, waits: bool) -> u32 {
        let independent = 1.0 - mean(&self.mixture);
        1 + (7.0 * independent.powi(if waits { 4 } else { 2 })).ceil() as u32
    }

    fn shares(&self) -> impl Iterator<Item = (f64, f64)> {
        self.mixture.into_iter().zip(SHARES).filter(|(probability, _)| *probability >= NEGLIGIBLE)
    }
}
