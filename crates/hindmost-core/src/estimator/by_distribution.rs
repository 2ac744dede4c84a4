//! The estimators that know the distribution of a phase's durations, and ages or progress.

use std::cell::RefCell;

use hindmost_math::distribution::Distribution;
use hindmost_math::outcomes::Outcomes;
use hindmost_math::shapes::{ShapeNumber, Shapes};
use rustc_hash::FxHashMap;

use super::estimates::{Estimator, Pace, Test, elapsed, remaining_by_distribution};
use super::knowledge::Knowledge;
use crate::cluster::{Attempt, Cluster, Phase};
use crate::record::Condition;
use crate::time::Time;

/// The estimator that derives remaining times from progress (`oracle`, `progress(…)`).
pub(super) struct ByProgress(Knowledge, AgeTable);

impl ByProgress {
    /// Creates the estimator of this progress model.
    pub(super) fn new(knowledge: Knowledge) -> ByProgress {
        ByProgress(knowledge, AgeTable::default())
    }
}

/// The estimator that derives remaining times from the age of attempts (`age`, `history`).
pub(super) struct ByAge(Knowledge, AgeTable);

impl ByAge {
    /// Creates the estimator of this progress model.
    pub(super) fn new(knowledge: Knowledge) -> ByAge {
        ByAge(knowledge, AgeTable::default())
    }
}

/// A cache of the ages from which on tests hold. Computing such an age takes one or more integrals. Divided by the mean
/// duration, the age depends only on the shape of the distribution and on the test.
#[derive(Default)]
struct AgeTable(RefCell<Answers>);

/// What [`AgeTable`] holds.
#[derive(Default)]
struct Answers {
    shapes: Shapes,
    /// Ages in mean durations.
    ages: FxHashMap<Question, Option<f64>>,
    /// Probabilities, whose questions have a factor and an age.
    probabilities: FxHashMap<Question, f64>,
}

/// Key of the cache: a shape of a distribution, and the parameters of a test in units of the mean duration.
type Question = (ShapeNumber, [u64; 2]);

/// When the cache holds this many ages, it is cleared.
const QUESTIONS_REMEMBERED: usize = 10_000;

/// When the cache holds this many probabilities, it is cleared.
const PROBABILITIES_REMEMBERED: usize = 200_000;

impl AgeTable {
    /// Returns the age, seconds on a node of speed 1, from which on the expected remaining time is above `threshold`
    /// seconds. `None` if there is no such age.
    fn residual_exceeds(&self, durations: &Distribution, threshold: f64) -> Option<f64> {
        let mean = durations.mean();
        if mean <= 0.0 {
            return durations.age_where_residual_exceeds(threshold);
        }
        // Rounded, because σ·E[x]/E[x] differs in its last bits from job to job and should give the same key for all
        // jobs.
        let in_means = ((threshold / mean) * 1e12).round() / 1e12;
        self.answer(durations, [in_means.to_bits(), u64::MAX], |durations| {
            durations.age_where_residual_exceeds(in_means * mean)
        })
    }

    /// Returns the age, seconds on a node of speed 1, from which on P(remaining > `factor` × new copy) is above
    /// `chance`. `None` if there is no such age.
    fn fresh_likely_better(&self, durations: &Distribution, factor: f64, chance: f64) -> Option<f64> {
        if let Some(last) = self.fresh_likely_better_from(durations, factor, chance) {
            let at_once = durations.conditional_probability_exceeds_fresh(0.0, factor) > chance;
            return Some(if at_once { 0.0 } else { last.max(durations.minimum()) });
        }
        self.answer(durations, [factor.to_bits(), chance.to_bits()], |durations| {
            durations.age_where_probability_exceeds(chance, factor)
        })
    }

    /// Returns the age, seconds on a node of speed 1, at which P(remaining > `factor` × new copy) rises above `chance`
    /// and stays above it. Between the minimum duration and this age, the probability is at most `chance`. `None` if it
    /// is unknown whether there is such an age. One cached value serves all factors, of which there are as many as node
    /// speeds.
    fn fresh_likely_better_from(&self, durations: &Distribution, factor: f64, chance: f64) -> Option<f64> {
        if !durations.probability_grows_from(durations.minimum()) {
            return None;
        }
        let ratio = self.answer(durations, [u64::MAX, chance.to_bits()], |durations| durations.age_over_factor(chance));
        ratio.map(|ratio| ratio * factor)
    }

    /// Returns P(remaining > `factor` × new copy) at an age, seconds on a node of speed 1, which is rounded up: where the
    /// probability rises above a limit, it has risen above it at the rounded age, too.
    fn probability(&self, durations: &Distribution, age: f64, factor: f64) -> f64 {
        let mean = durations.mean();
        if !(mean > 0.0 && age > 0.0) {
            return durations.conditional_probability_exceeds_fresh(age, factor);
        }
        let in_means = (((age / mean).log2() * STEPS).ceil() / STEPS).exp2();
        let Answers { shapes, probabilities, .. } = &mut *self.0.borrow_mut();
        if probabilities.len() >= PROBABILITIES_REMEMBERED {
            probabilities.clear();
        }
        let question = (shapes.number(durations), [factor.to_bits(), in_means.to_bits()]);
        let compute = || durations.conditional_probability_exceeds_fresh(in_means * mean, factor);
        *probabilities.entry(question).or_insert_with(compute)
    }

    /// Returns a cached age, or computes it with `solve`. Both are in seconds; the cache stores ages in units of the
    /// mean duration.
    fn answer(
        &self,
        durations: &Distribution,
        parameters: [u64; 2],
        solve: impl FnOnce(&Distribution) -> Option<f64>,
    ) -> Option<f64> {
        let mean = durations.mean();
        if mean <= 0.0 {
            return solve(durations);
        }
        let Answers { shapes, ages: known, .. } = &mut *self.0.borrow_mut();
        if known.len() >= QUESTIONS_REMEMBERED {
            known.clear();
        }
        let question = (shapes.number(durations), parameters);
        let in_means = *known.entry(question).or_insert_with(|| solve(durations).map(|age| age / mean));
        in_means.map(|age| age * mean)
    }
}

/// Returns the expected remaining time, seconds, at the attempt's age. `None` if its job has left the cluster.
fn remaining_by_age(cluster: &Cluster, attempt: &Attempt) -> Option<f64> {
    let pace = Pace::of(cluster, attempt);
    let durations = cluster.phase(attempt.id().task)?.durations();
    Some(pace.seconds(durations.mean_residual(pace.age(elapsed(cluster, attempt)))))
}

/// Returns false if copies of the attempt's phase report no progress. Straggler tests then use the attempt's age.
fn gives_progress(cluster: &Cluster, attempt: &Attempt) -> bool {
    cluster.phase(attempt.id().task).is_none_or(Phase::gives_progress)
}

impl Estimator for ByProgress {
    fn knowledge(&self) -> Knowledge {
        self.0
    }

    fn remaining(&self, cluster: &Cluster, attempt: &Attempt) -> Option<f64> {
        match attempt.expected_finish() {
            Some(finish) => Some((finish - cluster.now()).seconds()),
            None if gives_progress(cluster, attempt) => None,
            None => remaining_by_age(cluster, attempt),
        }
    }

    fn holds(&self, test: Test, cluster: &Cluster, attempt: &Attempt) -> bool {
        if attempt.expected_finish().is_none() && !gives_progress(cluster, attempt) {
            return holds_by_age(&self.1, test, cluster, attempt);
        }
        let known = self.remaining(cluster, attempt);
        match test {
            Test::RemainingAbove(threshold) => known.is_some_and(|remaining| remaining > threshold),
            Test::FreshLikelyBetter { factor, chance } => known
                .zip(cluster.phase(attempt.id().task))
                .is_some_and(|(remaining, phase)| remaining > factor * phase.durations().quantile(chance)),
        }
    }

    fn condition(&self, test: Test, phase: &Phase, pace: Pace) -> Option<Condition> {
        if !phase.gives_progress() {
            let age = age_where_holds(&self.1, test, phase.durations(), pace)?;
            return Some(Condition::ElapsedAbove(pace.seconds(age)));
        }
        match test {
            // No remaining time is above an infinite threshold. Besides, JSON can't express infinity.
            Test::RemainingAbove(threshold) if !threshold.is_finite() => None,
            Test::RemainingAbove(threshold) => Some(Condition::RemainingAbove(threshold)),
            // A known remaining time t is longer than factor × Y with probability F(t / factor), where F is the
            // distribution function of Y, the duration of a new copy.
            Test::FreshLikelyBetter { factor, chance } => {
                Some(Condition::RemainingAbove(factor * phase.durations().quantile(chance)))
            }
        }
    }

    fn remaining_range(&self, cluster: &Cluster, attempt: &Attempt) -> Option<Outcomes> {
        match attempt.expected_finish() {
            Some(finish) => Some(Outcomes::certain((finish.max(cluster.now()) - cluster.now()).seconds())),
            None if gives_progress(cluster, attempt) => None,
            None => remaining_by_distribution(cluster, attempt),
        }
    }
}

impl Estimator for ByAge {
    fn knowledge(&self) -> Knowledge {
        self.0
    }

    fn remaining(&self, cluster: &Cluster, attempt: &Attempt) -> Option<f64> {
        remaining_by_age(cluster, attempt)
    }

    fn holds(&self, test: Test, cluster: &Cluster, attempt: &Attempt) -> bool {
        holds_by_age(&self.1, test, cluster, attempt)
    }

    fn condition(&self, test: Test, phase: &Phase, pace: Pace) -> Option<Condition> {
        let age = age_where_holds(&self.1, test, phase.durations(), pace)?;
        Some(Condition::ElapsedAbove(pace.seconds(age)))
    }

    fn stays_no_until(&self, test: Test, phase: &Phase, pace: Pace) -> Option<f64> {
        let Test::FreshLikelyBetter { factor, chance } = test else { return None };
        let from = self.1.fresh_likely_better_from(phase.durations(), factor / pace.seconds(1.0), chance)?;
        Some(pace.seconds(from) * (1.0 - 2.0 * MARGIN))
    }

    fn remaining_range(&self, cluster: &Cluster, attempt: &Attempt) -> Option<Outcomes> {
        remaining_by_distribution(cluster, attempt)
    }
}

/// Returns the age, seconds on a node of speed 1, from which on a test holds for an attempt of this pace if only the
/// age is known. `None` if there is no such age.
fn age_where_holds(table: &AgeTable, test: Test, durations: &Distribution, pace: Pace) -> Option<f64> {
    match test {
        Test::RemainingAbove(threshold) => table.residual_exceeds(durations, threshold / pace.seconds(1.0)),
        // The pace multiplies the attempt's remaining time, but not the new copy's duration.
        Test::FreshLikelyBetter { factor, chance } => {
            table.fresh_likely_better(durations, factor_at(factor, durations, pace), chance)
        }
    }
}

/// Relative error of the ages in [`AgeTable`]. If an attempt's age exceeds the age in the table by at most this share,
/// the test counts as met. So the test always holds when its condition comes true.
const MARGIN: f64 = 1e-6;

/// Steps to which factors and ages are rounded, for each doubling: factors by at most 0.55%, ages up by at most 1.1%. Learned
/// speeds have larger errors.
const STEPS: f64 = 64.0;

/// Returns whether factors and ages are rounded for an attempt of this pace. A probability takes a quadrature, and an age
/// hundreds of them, unless it grows in proportion to the factor. Speeds of nodes, learned ones above all, give nearly
/// every attempt a pace of its own, so that no result could be used twice.
fn is_rounded(durations: &Distribution, pace: Pace) -> bool {
    pace.seconds(1.0) != 1.0 && !durations.probability_grows_from(durations.minimum())
}

/// Returns the factor of a test for an attempt of this pace, in new copies on a node of speed 1.
fn factor_at(factor: f64, durations: &Distribution, pace: Pace) -> f64 {
    let exact = factor / pace.seconds(1.0);
    if is_rounded(durations, pace) && exact.is_normal() && exact > 0.0 {
        ((exact.log2() * STEPS).round() / STEPS).exp2()
    } else {
        exact
    }
}

/// Returns whether a test holds if only the age is known.
fn holds_by_age(table: &AgeTable, test: Test, cluster: &Cluster, attempt: &Attempt) -> bool {
    let Some(phase) = cluster.phase(attempt.id().task) else { return false };
    let (pace, durations) = (Pace::of(cluster, attempt), phase.durations());
    let Some(from) = age_where_holds(table, test, durations, pace) else { return false };
    let elapsed = attempt.age(cluster.now());
    if elapsed <= Time::from_seconds(pace.seconds(from)) {
        return false;
    }
    let age = pace.age(elapsed.seconds());
    if age <= from * (1.0 + MARGIN) + 1e-6 {
        return true;
    }
    // If the tail gets lighter, the test may fail again at a larger age.
    match test {
        Test::RemainingAbove(threshold) => pace.seconds(durations.mean_residual(age)) > threshold,
        Test::FreshLikelyBetter { factor, chance } => {
            let factor = factor_at(factor, durations, pace);
            let for_good =
                table.fresh_likely_better_from(durations, factor, chance).filter(|_| age >= durations.minimum());
            match for_good {
                // Near 1 the probability grows so slowly with the age that ages just outside the margin are not safe to
                // decide.
                Some(last) if chance < 0.999 && (age - last).abs() > MARGIN * last => age > last,
                _ if is_rounded(durations, pace) => table.probability(durations, age, factor) > chance,
                _ => durations.conditional_probability_exceeds_fresh(age, factor) > chance,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_models_are_parsed_and_printed() {
        for text in [
            "oracle",
            "progress(0.2)",
            "progress(0)",
            "progress(uniform)",
            "age",
            "history",
            "profiles",
            "profiles(0.25)",
        ] {
            assert_eq!(text.parse::<Knowledge>().unwrap().to_string(), text);
        }
        for wrong in [
            "",
            "progress",
            "progress(1)",
            "progress(-0.1)",
            "progress(NaN)",
            "prophet",
            "profiles(uniform)",
            "profiles(1)",
        ] {
            assert!(wrong.parse::<Knowledge>().is_err(), "{wrong}");
        }
    }
}
