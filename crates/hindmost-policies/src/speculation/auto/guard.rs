//! What copies of a task promise where they may be slow together: everything is averaged over the shares w that the task may have.
//!
//! A fresh copy of a task with the share w takes longer than t with the probability S_w(t | x0) (`share`). If w is 1, it does not end
//! before the first attempt. If x0 is not known, it is what it must be if the first attempt still runs at t.

use super::fresh::{Copy, Fresh};
use super::share::{Known, Mixture, SHARES, mean, survival};
use super::survival::Survival;

/// Probabilities of a share below this are left out.
const SMALL: f64 = 0.01;
/// Quantiles that stand for the unknown duration of the first attempt.
const QUANTILES: [f64; 2] = [0.25, 0.75];
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
    /// True if its remaining time is known.
    pub(super) is_known: bool,
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
}

impl Guard {
    /// Returns a fresh copy of the task.
    pub(super) fn copy(&self, fresh: &Fresh) -> Copy {
        let mut sum = Survival::ZERO;
        for (probability, share) in self.shares() {
            let one = match (share, self.first) {
                (share, _) if share <= 0.0 => fresh.single.survival,
                (share, _) if share >= 1.0 && self.age.is_some() => Survival::ONE,
                (share, Known::Exactly(first)) => Survival::sampled(|time| survival(time, first, share, |t| fresh.survival(t))),
                (share, Known::Above(least)) => Survival::sampled(|time| {
                    let least = self.age.map_or(least, |age| least.max(age + time));
                    let firsts = QUANTILES.map(|quantile| fresh.quantile(quantile, least));
                    firsts.map(|first| survival(time, first, share, |t| fresh.survival(t))).iter().sum::<f64>()
                        / QUANTILES.len() as f64
                }),
            };
            sum.add(&one, probability);
        }
        Copy::tabulated(sum, fresh.single.held)
    }

    /// Returns what is left of the task while these attempts run.
    pub(super) fn left(&self, running: &[Running], fresh: &mut Fresh) -> Survival {
        let mut sum = Survival::ZERO;
        for (probability, share) in self.shares() {
            let mut all = Survival::ONE;
            for attempt in running {
                let alone = attempt.is_first || attempt.is_known || share <= 0.0;
                all = all.and(&if alone { attempt.left } else { self.left_of(attempt, share, fresh) });
            }
            sum.add(&all, probability);
        }
        sum
    }

    /// Returns what is left of a copy of unknown remaining time, if the task has this share.
    fn left_of(&self, attempt: &Running, share: f64, fresh: &Fresh) -> Survival {
        let first = match self.first {
            Known::Exactly(first) => first,
            Known::Above(least) => least.max(fresh.quantile(0.5, least).min(MOST * least / share)),
        };
        let least = attempt.duration.least();
        let reached = survival(least, first, share, |t| fresh.survival(t));
        if reached <= 1e-9 {
            // It has outlived what the share lets one expect.
            return attempt.left;
        }
        Survival::sampled(|time| {
            survival((attempt.age + time).max(least), first, share, |t| fresh.survival(t)) / reached
        })
    }

    /// Returns the most copies of the task that may run at the same time. `waits` says that jobs wait.
    pub(super) fn most(&self, waits: bool) -> u32 {
        let independent = 1.0 - mean(&self.mixture);
        1 + (7.0 * independent.powi(if waits { 4 } else { 2 })).ceil() as u32
    }

    fn shares(&self) -> impl Iterator<Item = (f64, f64)> {
        self.mixture.into_iter().zip(SHARES).filter(|(probability, _)| *probability >= SMALL)
    }
}
#[cfg(test)]
mod debug {
    use super::*;
    use crate::speculation::auto::fresh::Tables;
    use crate::speculation::auto::worth::Judged;
    #[test]
    fn show() {
        let d = hindmost_math::distribution::Distribution::pareto_with_mean(5.0, 1.0).unwrap();
        let mut tables = Tables::default();
        let fresh = tables.of(&d, 1.0);
        println!("chain mean {} starts again {} least {}", fresh.chain.mean, fresh.starts_again, fresh.least);
        for age in [0.0, 0.5, 0.8, 0.9, 1.0, 1.2, 1.5, 2.0] {
            let task = *fresh.unknown(age);
            for n in [0.0, 5.0, 50.0] {
                let mut others = Survival::ZERO;
                others.add(&task, n);
                let judged = Judged { task: &task, copies: 1, others: &others };
                let a = judged.offer(&fresh.chain, false, fresh.chain.mean);
                let g = Guard { mixture: [0.5, 0.0625, 0.0625, 0.0625, 0.0625, 0.25], first: Known::Above(age), age: Some(age) };
                let c = g.copy(fresh);
                let b = judged.offer(&c, false, f64::INFINITY);
                println!("age {age} others {n}: left {:.3} free {:?} uses {:.3} | guarded {:?} M(1)={:.3}", task.integral(), (a.value, a.prices), a.uses, (b.value, b.prices), c.survival.at(1.0));
            }
        }
    }
}
