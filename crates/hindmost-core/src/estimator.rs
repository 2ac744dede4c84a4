//! Progress models: what a policy may know about running attempts (`knowledge`).
//!
//! Papers assume more knowledge than a real system has, and this assumption changes the ratios between policies more
//! than the choice of policy does. A policy therefore queries an [`Estimator`] and never reads the true remaining time.
//! Everything that an estimator knows is in the records, so a replayed journal gives the same answers.

use std::cell::RefCell;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::cluster::{Attempt, Cluster, Phase};
use crate::ids::{NodeId, TaskId};
use crate::profiles::Profile;
use crate::profiles::estimator::ByProfiles;
use crate::record::{Condition, Event};
use crate::time::Time;
use hindmost_math::distribution::Distribution;
use hindmost_math::outcomes::Outcomes;
use hindmost_math::plain::Quoted;
use hindmost_math::shapes::{ShapeNumber, Shapes};

/// The progress model: what is known about a running attempt, and when. The distribution of the phase's durations is
/// known in all models except [`Knowledge::History`] and [`Knowledge::Profiles`], which estimate it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Knowledge {
    /// The remaining time of an attempt is known from its start. Most papers assume this.
    #[default]
    Oracle,
    /// The remaining time of an attempt is known once this fraction of its work, in [0, 1), is done. Before that,
    /// speculation policies that test the remaining time leave the attempt alone.
    Progress(f64),
    /// As `Progress`, with a fraction drawn for each attempt uniformly from (0, 1): the asktime of Xu & Lau 2015,
    /// Definition 2.
    ProgressUniform,
    /// Progress is unknown; only how long an attempt has been running is known.
    Age,
    /// As `Age`, but the distribution of durations is estimated from earlier runs of the job and from the phase's
    /// finished tasks. Used by live runs.
    History,
    /// Durations are known from profiles of finished attempts, of this run and of earlier ones (RiskI). As with `Progress`,
    /// the remaining time of an attempt is known once this fraction of its work, in [0, 1), is done; before that, its
    /// range is known from profiles and its age.
    Profiles(f64),
}

/// The share of an attempt's work from which on its remaining time is known under the progress model `profiles` without
/// a share.
pub const PROFILES_SHARE: f64 = 0.1;

/// The error for a text that names no progress model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} is not a kind of knowledge: use oracle, progress(S) with S in [0, 1), progress(uniform), age, history, profiles or \
     profiles(S)",
    Quoted(.0)
)]
pub struct UnknownKnowledge(String);

impl FromStr for Knowledge {
    type Err = UnknownKnowledge;

    fn from_str(text: &str) -> Result<Knowledge, UnknownKnowledge> {
        let wrong = || UnknownKnowledge(text.to_owned());
        match text.trim() {
            "oracle" => return Ok(Knowledge::Oracle),
            "age" => return Ok(Knowledge::Age),
            "history" => return Ok(Knowledge::History),
            "profiles" => return Ok(Knowledge::Profiles(PROFILES_SHARE)),
            _ => {}
        }
        let inner = |name: &str| text.trim().strip_prefix(name).and_then(|rest| rest.strip_suffix(')')).map(str::trim);
        let (share, model): (&str, fn(f64) -> Knowledge) = match (inner("progress("), inner("profiles(")) {
            (Some("uniform"), _) => return Ok(Knowledge::ProgressUniform),
            (Some(share), _) => (share, Knowledge::Progress),
            (None, Some(share)) => (share, Knowledge::Profiles),
            (None, None) => return Err(wrong()),
        };
        let fraction: f64 = share.parse().map_err(|_| wrong())?;
        if (0.0..1.0).contains(&fraction) { Ok(model(fraction)) } else { Err(wrong()) }
    }
}

impl fmt::Display for Knowledge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Knowledge::Oracle => f.write_str("oracle"),
            Knowledge::Progress(fraction) => write!(f, "progress({fraction})"),
            Knowledge::ProgressUniform => f.write_str("progress(uniform)"),
            Knowledge::Age => f.write_str("age"),
            Knowledge::History => f.write_str("history"),
            Knowledge::Profiles(PROFILES_SHARE) => f.write_str("profiles"),
            Knowledge::Profiles(fraction) => write!(f, "profiles({fraction})"),
        }
    }
}

impl Serialize for Knowledge {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Knowledge {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Knowledge, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// A test on a running attempt that a speculation policy applies. Times are seconds on a node of speed 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Test {
    /// The attempt's remaining time is above this.
    RemainingAbove(f64),
    /// The probability that the remaining time is longer than `factor` × the duration of a new copy is above `chance`.
    FreshLikelyBetter {
        /// Factor of the new copy's duration; > 0.
        factor: f64,
        /// Probability above which the test holds, in [0, 1).
        chance: f64,
    },
}

impl Test {
    /// Describes the test in words. `mean` is the mean duration of the attempt's phase, seconds.
    pub fn in_words(&self, mean: f64) -> String {
        match self {
            Test::RemainingAbove(limit) => format!("a remaining time above {limit:.2} s"),
            Test::FreshLikelyBetter { factor, chance } => format!(
                "a probability above {chance} that its remaining time is more than {factor} times the duration of a \
                 new copy, which takes {mean:.2} s on average"
            ),
        }
    }
}

/// Answers a policy's tests on running attempts from what the records contain.
pub trait Estimator: Send {
    /// Returns the progress model of this estimator.
    fn knowledge(&self) -> Knowledge;

    /// Returns the remaining time of an attempt, seconds; `None` while it is unknown. If only the age is known, this is
    /// the expected remaining time at that age.
    fn remaining(&self, cluster: &Cluster, attempt: &Attempt) -> Option<f64>;

    /// Returns whether a test holds now. False if the estimator does not know.
    fn holds(&self, test: Test, cluster: &Cluster, attempt: &Attempt) -> bool;

    /// Returns the condition that comes true when a test begins to hold for an attempt of this phase and pace; `None`
    /// if the test never holds. The driver watches the condition, so that policies need not repeat the test.
    fn condition(&self, test: Test, phase: &Phase, pace: Pace) -> Option<Condition>;

    /// Returns a time, in seconds from the start of an attempt of this phase and pace, before which a test can't hold.
    /// `None` if no such time is known.
    fn stays_no_until(&self, _test: Test, _phase: &Phase, _pace: Pace) -> Option<f64> {
        None
    }

    /// Returns how long a new copy of a task would take on a node, seconds, as a range with probabilities. `None` while
    /// the phase's durations are only a guess.
    fn new_copy_range(&self, cluster: &Cluster, task: TaskId, node: NodeId) -> Option<Outcomes> {
        new_copy_by_distribution(cluster, task, node)
    }

    /// Returns the mean of [`Estimator::new_copy_range`], without making the range where it is known.
    fn new_copy_mean(&self, cluster: &Cluster, task: TaskId, node: NodeId) -> Option<f64> {
        self.new_copy_range(cluster, task, node).map(|range| range.mean())
    }

    /// Returns the remaining time of an attempt, seconds, as a range with probabilities, given what is known of it.
    /// `None` while it is unknown.
    fn remaining_range(&self, cluster: &Cluster, attempt: &Attempt) -> Option<Outcomes>;

    /// Returns the mean of [`Estimator::remaining_range`], without making the range where this is possible.
    fn remaining_mean(&self, cluster: &Cluster, attempt: &Attempt) -> Option<f64> {
        self.remaining_range(cluster, attempt).map(|range| range.mean())
    }

    /// Returns true if [`Estimator::new_copy_range`] may differ between nodes of equal speed, so that the fastest node
    /// need not be the best one.
    fn distinguishes_nodes(&self) -> bool {
        false
    }

    /// Observes an event after it was applied.
    fn observe(&mut self, _event: &Event) {}

    /// Receives the profile of an attempt that has finished. Only called under [`Knowledge::Profiles`], or if the session
    /// collects profiles.
    fn learn(&mut self, _profile: &Arc<Profile>) {}
}

/// Number of equally likely values that stand for a distribution in a range.
const RANGE_PARTS: u32 = 20;

/// Returns the range of a new copy's duration on a node from the distribution of its phase. `None` while this is only a
/// guess.
pub(crate) fn new_copy_by_distribution(cluster: &Cluster, task: TaskId, node: NodeId) -> Option<Outcomes> {
    let phase = cluster.phase(task).filter(|phase| !phase.is_assumed())?;
    let pace = Pace::new(cluster.node(node)?.speed(), 0.0);
    Some(Outcomes::of(phase.durations(), RANGE_PARTS).scaled(pace.seconds(1.0)))
}

/// Returns the range of an attempt's remaining time from the distribution of its phase, given the attempt's age. `None`
/// while the distribution is only a guess.
pub(crate) fn remaining_by_distribution(cluster: &Cluster, attempt: &Attempt) -> Option<Outcomes> {
    let phase = cluster.phase(attempt.id().task).filter(|phase| !phase.is_assumed())?;
    let pace = Pace::of(cluster, attempt);
    let age = pace.age(elapsed(cluster, attempt));
    Some(Outcomes::of_tail(phase.durations(), age, RANGE_PARTS).scaled(pace.seconds(1.0)))
}

/// The duration of an attempt relative to that of a new copy on a node of speed 1. It depends on the node's speed and
/// on the share of the work that the attempt has to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace(f64);

impl Pace {
    /// Returns the pace of an attempt that starts with the share `from_progress` of its work done, on a node of this
    /// speed.
    pub fn new(speed: f64, from_progress: f64) -> Pace {
        Pace((1.0 - from_progress) / speed)
    }

    /// Returns the pace of a running attempt.
    pub fn of(cluster: &Cluster, attempt: &Attempt) -> Pace {
        let speed = cluster.node(attempt.node()).map_or(1.0, super::cluster::Node::speed);
        Pace::new(speed, attempt.from_progress())
    }

    /// Returns the time, in seconds, after which the attempt has the progress that a new copy on a node of speed 1 has
    /// after `seconds`.
    pub fn seconds(self, seconds: f64) -> f64 {
        seconds * self.0
    }

    /// Converts the time since the attempt's start, seconds, into the age at which a new copy on a node of speed 1 has
    /// the same progress.
    pub fn age(self, elapsed: f64) -> f64 {
        elapsed / self.0
    }
}

/// Returns the estimator for a progress model.
///
/// ```
/// use hindmost_core::estimator::{Knowledge, estimator};
///
/// let knowledge: Knowledge = "progress(0.2)".parse()?;
/// assert_eq!(estimator(knowledge).knowledge(), Knowledge::Progress(0.2));
/// # Ok::<(), hindmost_core::estimator::UnknownKnowledge>(())
/// ```
pub fn estimator(knowledge: Knowledge) -> Box<dyn Estimator> {
    match knowledge {
        Knowledge::Age | Knowledge::History => Box::new(ByAge(knowledge, AgeTable::default())),
        Knowledge::Profiles(_) => {
            Box::new(ByProfiles::new(knowledge, Box::new(ByProgress(knowledge, AgeTable::default()))))
        }
        _ => Box::new(ByProgress(knowledge, AgeTable::default())),
    }
}

/// The estimator that derives remaining times from progress (`oracle`, `progress(…)`).
struct ByProgress(Knowledge, AgeTable);

/// The estimator that derives remaining times from the age of attempts (`age`, `history`).
struct ByAge(Knowledge, AgeTable);

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

fn elapsed(cluster: &Cluster, attempt: &Attempt) -> f64 {
    attempt.age(cluster.now()).seconds()
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
