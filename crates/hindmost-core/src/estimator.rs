//! Progress models: what a policy may know about running attempts (`knowledge`).
//!
//! Papers assume more knowledge than a real system has, and this assumption changes the ratios between policies more
//! than the choice of policy does. A policy therefore queries an [`Estimator`] and never reads the true remaining time.
//! Everything that an estimator knows is in the records, so a replayed journal gives the same answers.

use std::cell::RefCell;
use std::fmt;
use std::str::FromStr;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::cluster::{Attempt, Cluster, Phase};
use crate::record::Condition;
use crate::time::Time;
use hindmost_math::distribution::Distribution;
use hindmost_math::plain::Quoted;
use hindmost_math::shapes::{ShapeNumber, Shapes};

/// The progress model: what is known about a running attempt, and when. The distribution of the phase's durations is
/// known in all models except [`Knowledge::History`], which estimates it.
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
}

/// The error for a text that names no progress model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} is not a kind of knowledge: use oracle, progress(S) with S in [0, 1), progress(uniform), age or history",
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
            _ => {}
        }
        let inner = text.trim().strip_prefix("progress(").and_then(|rest| rest.strip_suffix(')')).ok_or_else(wrong)?;
        if inner.trim() == "uniform" {
            return Ok(Knowledge::ProgressUniform);
        }
        let fraction: f64 = inner.trim().parse().map_err(|_| wrong())?;
        if (0.0..1.0).contains(&fraction) { Ok(Knowledge::Progress(fraction)) } else { Err(wrong()) }
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
    /// Its remaining time is above this.
    RemainingAbove(f64),
    /// As `RemainingAbove`. If the remaining time is unknown, its expectation from the age is used.
    RemainingOrByAgeAbove(f64),
    /// P(remaining time > `factor` × duration of a new copy) is above `chance`.
    FreshLikelyBetter {
        /// The factor.
        factor: f64,
        /// The probability, in [0, 1).
        chance: f64,
    },
}

impl Test {
    /// Describes the test in words, for an attempt of a phase with this mean duration in seconds.
    pub fn in_words(&self, mean: f64) -> String {
        match self {
            Test::RemainingAbove(limit) => format!("a remaining time above {limit:.2} s"),
            Test::RemainingOrByAgeAbove(limit) => {
                format!("a remaining time, known or expected from its age, above {limit:.2} s")
            }
            Test::FreshLikelyBetter { factor, chance } => format!(
                "with a probability above {chance} a remaining time more than {factor} times that of a new copy, which takes \
                 {mean:.2} s on average"
            ),
        }
    }
}

/// Answers a policy's tests on running attempts from what the records contain.
pub trait Estimator: Send {
    /// Returns the progress model of this estimator.
    fn knowledge(&self) -> Knowledge;

    /// Returns the remaining time of an attempt, seconds; `None` while it is unknown. If only the age is known, this is
    /// the expectation given how long the attempt has been running.
    fn remaining(&self, cluster: &Cluster, attempt: &Attempt) -> Option<f64>;

    /// Returns whether a test holds now. False if the estimator does not know.
    fn holds(&self, test: Test, cluster: &Cluster, attempt: &Attempt) -> bool;

    /// Returns the condition that comes true when a test begins to hold for an attempt of this phase and pace; `None`
    /// if it never holds. The driver watches the condition, so that policies need not repeat the test.
    fn condition(&self, test: Test, phase: &Phase, pace: Pace) -> Option<Condition>;

    /// Returns the seconds from the start of an attempt of this phase and pace before which a test surely does not
    /// hold. `None` if no such time is known.
    fn stays_no_until(&self, _test: Test, _phase: &Phase, _pace: Pace) -> Option<f64> {
        None
    }
}

/// How fast an attempt gets through its work: depends on the node's speed and on the work left at its start.
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

    /// Returns the seconds that the attempt takes for what a new copy does in `seconds` on a node of speed 1.
    pub fn seconds(self, seconds: f64) -> f64 {
        seconds * self.0
    }

    /// Converts the attempt's elapsed time, seconds, into the age of a new copy on a node of speed 1 with the same
    /// progress.
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
        _ => Box::new(ByProgress(knowledge, AgeTable::default())),
    }
}

/// Knows remaining times from progress (`oracle`, `progress(…)`).
struct ByProgress(Knowledge, AgeTable);

/// Estimates remaining times from age (`age`, `history`).
struct ByAge(Knowledge, AgeTable);

/// A cache of the ages from which on tests hold. Each costs one or many integrals. In units of the mean duration it
/// depends only on the shape of the distribution and on the test.
#[derive(Default)]
struct AgeTable(RefCell<(Shapes, FxHashMap<Question, Option<f64>>)>);

/// A shape of a distribution, and the parameters of a test in units of the mean duration.
type Question = (ShapeNumber, [u64; 2]);

/// When the cache holds this many answers, it is cleared.
const QUESTIONS_REMEMBERED: usize = 10_000;

impl AgeTable {
    /// Returns the age, seconds on a node of speed 1, from which on the expected remaining time is above `threshold`
    /// seconds.
    fn residual_exceeds(&self, durations: &Distribution, threshold: f64) -> Option<f64> {
        let mean = durations.mean();
        if mean <= 0.0 {
            return durations.age_where_residual_exceeds(threshold);
        }
        // Rounded, so that σ·E[x]/E[x] gives one key although its last bits differ from job to job.
        let in_means = ((threshold / mean) * 1e12).round() / 1e12;
        self.answer(durations, [in_means.to_bits(), u64::MAX], |durations| {
            durations.age_where_residual_exceeds(in_means * mean)
        })
    }

    /// Returns the age, seconds on a node of speed 1, from which on P(remaining > `factor` × new copy) is above
    /// `chance`.
    fn fresh_likely_better(&self, durations: &Distribution, factor: f64, chance: f64) -> Option<f64> {
        if let Some(last) = self.fresh_likely_better_from(durations, factor, chance) {
            let at_once = durations.conditional_probability_exceeds_fresh(0.0, factor) > chance;
            return Some(if at_once { 0.0 } else { last.max(durations.minimum()) });
        }
        self.answer(durations, [factor.to_bits(), chance.to_bits()], |durations| {
            durations.age_where_probability_exceeds(chance, factor)
        })
    }

    /// Returns the age, seconds on a node of speed 1, above which P(remaining > `factor` × new copy) stays above
    /// `chance`, and below which, from the minimum duration on, it is not above. `None` if it is not known. One cached
    /// answer serves all factors; there are as many factors as node speeds.
    fn fresh_likely_better_from(&self, durations: &Distribution, factor: f64, chance: f64) -> Option<f64> {
        if !durations.probability_grows_from(durations.minimum()) {
            return None;
        }
        let ratio = self.answer(durations, [u64::MAX, chance.to_bits()], |durations| durations.age_over_factor(chance));
        ratio.map(|ratio| ratio * factor)
    }

    /// Returns the cached answer, or computes it. `solve` returns an age in seconds; the cache holds it in means.
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
        let (shapes, known) = &mut *self.0.borrow_mut();
        if known.len() >= QUESTIONS_REMEMBERED {
            known.clear();
        }
        let question = (shapes.number(durations), parameters);
        let in_means = *known.entry(question).or_insert_with(|| solve(durations).map(|age| age / mean));
        in_means.map(|age| age * mean)
    }
}

fn elapsed(cluster: &Cluster, attempt: &Attempt) -> f64 {
    (cluster.now() - attempt.since()).seconds()
}

/// Returns the expected remaining time, seconds, given how long the attempt has been running.
fn remaining_by_age(cluster: &Cluster, attempt: &Attempt) -> Option<f64> {
    let pace = Pace::of(cluster, attempt);
    let durations = cluster.phase(attempt.id().task)?.durations();
    Some(pace.seconds(durations.mean_residual(pace.age(elapsed(cluster, attempt)))))
}

/// Returns false if copies of the attempt's phase report no progress. Then tests use the age.
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
            Test::RemainingOrByAgeAbove(threshold) => match known {
                Some(remaining) => remaining > threshold,
                None => holds_by_age(&self.1, test, cluster, attempt),
            },
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
            // Never above an infinite threshold; and JSON has no infinity.
            Test::RemainingAbove(threshold) | Test::RemainingOrByAgeAbove(threshold) if !threshold.is_finite() => None,
            Test::RemainingAbove(threshold) => Some(Condition::RemainingAbove(threshold)),
            Test::RemainingOrByAgeAbove(threshold) => {
                let by_age = self.1.residual_exceeds(phase.durations(), threshold / pace.seconds(1.0));
                Some(match by_age {
                    Some(age) => Condition::RemainingOrElapsedAbove(threshold, pace.seconds(age)),
                    None => Condition::RemainingAbove(threshold),
                })
            }
            // A known remaining time t is longer than factor × Y with probability F(t / factor).
            Test::FreshLikelyBetter { factor, chance } => {
                Some(Condition::RemainingAbove(factor * phase.durations().quantile(chance)))
            }
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
}

/// Returns the age, on a node of speed 1, from which on a test holds for an attempt of this pace if only its age is
/// known.
fn age_where_holds(table: &AgeTable, test: Test, durations: &Distribution, pace: Pace) -> Option<f64> {
    match test {
        Test::RemainingAbove(threshold) | Test::RemainingOrByAgeAbove(threshold) => {
            table.residual_exceeds(durations, threshold / pace.seconds(1.0))
        }
        // The remaining time shrinks with the pace, the new copy's duration does not.
        Test::FreshLikelyBetter { factor, chance } => {
            table.fresh_likely_better(durations, factor / pace.seconds(1.0), chance)
        }
    }
}

/// Relative error of the ages in [`AgeTable`]. Within this margin above the age in the table a test counts as met, so that
/// the test always holds when its condition comes true.
const MARGIN: f64 = 1e-6;

/// Returns whether a test holds, by age alone.
fn holds_by_age(table: &AgeTable, test: Test, cluster: &Cluster, attempt: &Attempt) -> bool {
    let Some(phase) = cluster.phase(attempt.id().task) else { return false };
    let (pace, durations) = (Pace::of(cluster, attempt), phase.durations());
    let Some(from) = age_where_holds(table, test, durations, pace) else { return false };
    let elapsed = cluster.now() - attempt.since();
    if elapsed <= Time::from_seconds(pace.seconds(from)) {
        return false;
    }
    let age = pace.age(elapsed.seconds());
    if age <= from * (1.0 + MARGIN) + 1e-6 {
        return true;
    }
    // If the tail gets lighter, the test may fail again at a larger age.
    match test {
        Test::RemainingAbove(threshold) | Test::RemainingOrByAgeAbove(threshold) => {
            pace.seconds(durations.mean_residual(age)) > threshold
        }
        Test::FreshLikelyBetter { factor, chance } => {
            let factor = factor / pace.seconds(1.0);
            let for_good =
                table.fresh_likely_better_from(durations, factor, chance).filter(|_| age >= durations.minimum());
            match for_good {
                // Near 1 the probability grows too slowly for the margin to be safe.
                Some(last) if chance < 0.999 && (age - last).abs() > MARGIN * last => age > last,
                _ => durations.conditional_probability_exceeds_fresh(age, factor) > chance,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knowledge_survives_the_round_trip() {
        for text in ["oracle", "progress(0.2)", "progress(0)", "progress(uniform)", "age", "history"] {
            assert_eq!(text.parse::<Knowledge>().unwrap().to_string(), text);
        }
        for wrong in ["", "progress", "progress(1)", "progress(-0.1)", "progress(NaN)", "prophet"] {
            assert!(wrong.parse::<Knowledge>().is_err(), "{wrong}");
        }
    }
}
