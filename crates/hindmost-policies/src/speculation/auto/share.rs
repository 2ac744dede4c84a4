//! What all copies of a task have in common: the share w of a duration that belongs to the task, learned for each kind of phase.
//!
//! An attempt takes w·x0 + (1 − w)·y, if the first one of its task took x0 and y is a fresh duration. w is different from task to task,
//! so a kind has a distribution of w over its tasks, on [`SHARES`]. Each task with two or more copies says how likely its durations are under
//! each w ([`likelihoods`]); the distribution is the most probable one, given the [`PRIOR`] (three steps of expectation and
//! maximisation whenever something has changed).

use std::collections::VecDeque;

use hindmost_core::ids::TaskId;
use rustc_hash::FxHashMap;

/// The shares that are distinguished.
pub(super) const SHARES: [f64; 6] = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0];

/// A probability for each of [`SHARES`].
pub(super) type Mixture = [f64; SHARES.len()];

/// What is assumed of a kind before any of its tasks had copies.
const PRIOR: Mixture = [0.5, 0.0625, 0.0625, 0.0625, 0.0625, 0.25];
/// The weight of the assumption, in tasks.
const WEIGHT: f64 = 4.0;
/// Number of the last tasks of a kind that count.
const KEPT: usize = 300;
/// Steps to the most probable distribution after each change.
const STEPS: usize = 3;
/// A kind is fitted again once more than one in so many of its tasks has changed.
const ENOUGH: usize = 10;
/// The least probability of an observation, whatever w is.
const LEAST: f64 = 0.003;
/// Tasks count no more once predictions are found to be off by so much more.
const UNLIKE: f64 = 1.15;
/// A known duration counts as one within this factor.
pub(super) const WITHIN: f64 = 1.105_170_918_075_647_7; // e^0.1
/// Three equally likely values have the variance of a normal distribution if the outer ones are so many standard deviations away.
const OUTER: f64 = 1.224_744_871_391_589; // √1.5
/// If w is 1, a copy takes as long as the first one within this share.
const ALIKE: f64 = 0.1;
/// Quantiles that stand for an unknown duration of the first attempt.
const QUANTILES: u32 = 10;
/// The mean share below which copies are trusted to be independent.
pub(super) const TRUSTED: f64 = 0.1;

/// What is known of the duration of an attempt, in E on a node of speed 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Known {
    /// It is this long.
    Exactly(f64),
    /// It is predicted to be this long; two of three predictions are off by less than the factor `within`.
    About {
        /// The predicted duration.
        time: f64,
        /// The factor.
        within: f64,
    },
    /// It is longer than this.
    Above(f64),
}

impl Known {
    /// Returns the least duration that agrees with this.
    pub(super) fn least(self) -> f64 {
        match self {
            Known::Exactly(time) | Known::Above(time) => time,
            Known::About { time, within } => time / within,
        }
    }
}

/// Returns P(a copy takes longer than `time`) if the first attempt took `first` and the share is `share`. `fresh` is P(y > t).
pub(super) fn survival(time: f64, first: f64, share: f64, fresh: impl Fn(f64) -> f64) -> f64 {
    if share >= 1.0 {
        return ((first * (1.0 + ALIKE) - time) / (2.0 * ALIKE * first)).clamp(0.0, 1.0);
    }
    fresh(((time - share * first) / (1.0 - share)).max(0.0))
}

/// Returns values that stand for a duration that was predicted: equally likely, with the spread of the predictions.
fn around(time: f64, within: f64) -> [f64; 3] {
    let factor = within.powf(OUTER);
    [time / factor, time, time * factor]
}

/// Returns how likely what is known of a task's attempts is under each share, relative to the largest. `quantile(p, above)` is the
/// quantile of a fresh duration given that it is above a bound.
pub(super) fn likelihoods(
    first: Known,
    others: &[Known],
    fresh: impl Fn(f64) -> f64,
    quantile: impl Fn(f64, f64) -> f64,
) -> Mixture {
    let firsts: Vec<f64> = match first {
        Known::Exactly(time) => vec![time],
        Known::About { time, within } => around(time, within).to_vec(),
        Known::Above(least) => {
            (0..QUANTILES).map(|part| quantile((f64::from(part) + 0.5) / f64::from(QUANTILES), least)).collect()
        }
    };
    let mut all = SHARES.map(|share| {
        let of_first = |first: &f64| -> f64 {
            let between = |time: f64, within: f64| {
                survival(time / within, *first, share, &fresh) - survival(time * within, *first, share, &fresh)
            };
            let probability = |known: &Known| match *known {
                Known::Exactly(time) => between(time, WITHIN),
                Known::About { time, within } => {
                    let window = WITHIN.max(within.powf(0.5 * OUTER));
                    let all = around(time, within).map(|time| between(time, window));
                    all.iter().sum::<f64>() / all.len() as f64
                }
                // It may be just as long as that.
                Known::Above(least) => survival(least * (1.0 - 1e-9), *first, share, &fresh),
            };
            others.iter().map(|known| probability(known).max(LEAST)).product()
        };
        firsts.iter().map(of_first).sum::<f64>() / firsts.len() as f64
    });
    let largest = all.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    for one in &mut all {
        *one /= largest;
    }
    all
}

/// Returns the probabilities of the shares for one task: those of its kind, weighted with its likelihoods.
fn posterior(kind: &Mixture, task: &Mixture) -> Mixture {
    let weighted: Mixture = std::array::from_fn(|at| kind[at] * task[at]);
    let sum: f64 = weighted.iter().sum();
    if sum > 0.0 { weighted.map(|one| one / sum) } else { *kind }
}

/// The tasks of one kind that had copies.
#[derive(Clone, Debug)]
struct OfKind {
    likelihoods: VecDeque<(TaskId, Mixture)>,
    mixture: Mixture,
    /// Number of changes since the last fit.
    changes: usize,
    /// The factor by which predictions were off when the first of these tasks was noted.
    within: f64,
}

impl OfKind {
    fn new(mixture: Mixture) -> OfKind {
        OfKind { likelihoods: VecDeque::new(), mixture, changes: 0, within: 1.0 }
    }

    fn note(&mut self, task: TaskId, likelihoods: Mixture, within: f64) {
        if within > self.within * UNLIKE {
            // What predictions showed when they were trusted too much counts no more.
            self.likelihoods.clear();
            self.within = within;
        }
        // The newest tasks are the ones that change.
        match self.likelihoods.iter_mut().rev().find(|(known, _)| *known == task) {
            Some((_, known)) => *known = likelihoods,
            None => self.likelihoods.push_back((task, likelihoods)),
        }
        if self.likelihoods.len() > KEPT {
            self.likelihoods.pop_front();
        }
        self.changes += 1;
    }

    fn fit(&mut self, prior: &Mixture) {
        if self.changes <= self.likelihoods.len() / ENOUGH {
            return;
        }
        self.changes = 0;
        let total = self.likelihoods.len() as f64 + WEIGHT;
        for _ in 0..STEPS {
            let mut sums = prior.map(|one| one * WEIGHT);
            for (_, likelihoods) in &self.likelihoods {
                for (sum, one) in sums.iter_mut().zip(posterior(&self.mixture, likelihoods)) {
                    *sum += one;
                }
            }
            self.mixture = sums.map(|sum| sum / total);
        }
    }
}

/// What is known of all kinds.
#[derive(Debug)]
pub(super) struct Shares {
    kinds: FxHashMap<u64, OfKind>,
    /// All kinds together: what a new kind starts from.
    all: OfKind,
}

impl Default for Shares {
    fn default() -> Shares {
        Shares { kinds: FxHashMap::default(), all: OfKind::new(PRIOR) }
    }
}

impl Shares {
    /// Notes how likely what is known of a task is under each share; two of three predictions are off by less than the factor `within`.
    pub(super) fn note(&mut self, kind: u64, task: TaskId, likelihoods: Mixture, within: f64) {
        self.all.note(task, likelihoods, within);
        let mixture = self.all.mixture;
        self.kinds.entry(kind).or_insert_with(|| OfKind::new(mixture)).note(task, likelihoods, within);
    }

    /// Returns the distribution of the share over the tasks of a kind.
    pub(super) fn of(&mut self, kind: u64) -> &Mixture {
        self.all.fit(&PRIOR);
        let prior = &self.all.mixture;
        let Some(tasks) = self.kinds.get_mut(&kind) else { return prior };
        tasks.fit(prior);
        &tasks.mixture
    }

    /// Returns the distribution of the share of one task.
    pub(super) fn of_task(&mut self, kind: u64, task: TaskId) -> Mixture {
        let mixture = *self.of(kind);
        let known = self.kinds.get(&kind).and_then(|tasks| tasks.likelihoods.iter().rev().find(|(of, _)| *of == task));
        known.map_or(mixture, |(_, likelihoods)| posterior(&mixture, likelihoods))
    }
}

impl Shares {
    /// Returns the number of tasks that show what is known of a kind.
    pub(super) fn tried(&self, kind: u64) -> usize {
        self.kinds.get(&kind).map_or(0, |tasks| tasks.likelihoods.len())
    }

    /// Returns the mean share of a kind in words, and from how many tasks it is known.
    pub(super) fn in_words(&mut self, kind: u64) -> String {
        let share = 100.0 * mean(self.of(kind));
        match self.tried(kind) {
            0 => format!("copies of a task are assumed to have {share:.0}% of their durations in common"),
            1 => format!("copies of a task have {share:.0}% of their durations in common, as far as 1 task shows"),
            tasks => format!("copies of a task have {share:.0}% of their durations in common, as {tasks} tasks show"),
        }
    }
}

/// Returns the mean share W.
pub(super) fn mean(mixture: &Mixture) -> f64 {
    mixture.iter().zip(SHARES).map(|(probability, share)| probability * share).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hindmost_core::ids::JobId;
    use hindmost_math::distribution::Distribution;
    use hindmost_testing::Draw;

    /// Returns the mixture that is learned from this many tasks whose share is drawn by `share`.
    fn learned(tasks: u32, share: impl Fn(&mut Draw) -> f64, stops_copies: bool) -> Mixture {
        let pareto = Distribution::pareto_with_mean(2.0, 1.0).unwrap();
        let mut draw = Draw(7);
        let mut uniform = || (draw.below(1 << 30) as f64 + 0.5) / f64::from(1 << 30);
        let mut shares = Shares::default();
        let mut second = Draw(8);
        for index in 0..tasks {
            let w = share(&mut second);
            // Only long attempts get copies.
            let first = pareto.survival_quantile(uniform() * pareto.survival(1.5));
            let copy = w * first + (1.0 - w) * pareto.survival_quantile(uniform());
            let copy =
                if stops_copies && copy > 0.5 * first { Known::Above(0.5 * first) } else { Known::Exactly(copy) };
            let quantile = |p: f64, above: f64| pareto.survival_quantile((1.0 - p) * pareto.survival(above));
            let likely = likelihoods(Known::Exactly(first), &[copy], |time| pareto.survival(time), quantile);
            shares.note(1, TaskId { job: JobId(0), phase: 0, index }, likely, 1.0);
        }
        *shares.of(1)
    }

    #[test]
    fn the_share_is_found() {
        for share in [0.0, 0.4, 1.0] {
            let found = mean(&learned(300, |_| share, false));
            assert!((found - share).abs() < 0.1, "{share}: {found}");
        }
    }

    #[test]
    fn a_mixture_is_found() {
        let mixture = learned(300, |draw| f64::from(u8::from(draw.one_in(2))), false);
        assert!((mixture[0] - 0.5).abs() < 0.12 && (mixture[5] - 0.5).abs() < 0.12, "{mixture:?}");
    }

    #[test]
    fn copies_that_were_stopped_early_show_it_too() {
        let (none, all) = (mean(&learned(300, |_| 0.0, true)), mean(&learned(300, |_| 1.0, true)));
        assert!(none < 0.15 && all > 0.6, "{none} {all}");
    }
}
