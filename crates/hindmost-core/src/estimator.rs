//! What a policy may know of running attempts.
//!
//! Papers assume more than a real system has, and how much is assumed moves the ratios between
//! policies more than the policies do. A policy asks an [`Estimator`], never the truth; what the
//! estimator knows came through records, so a journal replays to the same answers.

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

/// How much is known of a running attempt, and when. The distribution of a phase's durations is
/// known in all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Knowledge {
    /// An attempt's remaining time is known from its start: the papers' assumption.
    #[default]
    Oracle,
    /// Once this fraction of its work is done, in [0, 1), an attempt's remaining time is known;
    /// before, rules on remaining time leave it alone.
    Progress(f64),
    /// As `Progress`, with a fraction drawn for each attempt uniformly from (0, 1): the asktime of
    /// Xu & Lau 2015, Definition 2.
    ProgressUniform,
    /// No progress is seen: only how long an attempt has run.
    Age,
    /// As `Age`, with a distribution of durations that comes from earlier runs of the job and from the
    /// phase's own finished tasks instead of being known: for live runs.
    History,
}

/// A text that names no kind of knowledge.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} is no kind of knowledge: give oracle, progress(S) with S in [0, 1), progress(uniform), age or history",
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

/// A question about a running attempt that a redundancy rule asks. Times are seconds on a node of
/// speed 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Test {
    /// Is its remaining time above this?
    RemainingAbove(f64),
    /// As `RemainingAbove`, by its age where the remaining time is not known.
    RemainingOrByAgeAbove(f64),
    /// Is P(remaining time > `factor` × a fresh copy's duration) above `chance`?
    FreshLikelyBetter {
        /// The factor.
        factor: f64,
        /// The probability, in [0, 1).
        chance: f64,
    },
}

impl Test {
    /// What is asked of an attempt of a phase with this mean duration, seconds, in words.
    pub fn in_words(&self, mean: f64) -> String {
        match self {
            Test::RemainingAbove(limit) => format!("a remaining time above {limit:.2} s"),
            Test::RemainingOrByAgeAbove(limit) => {
                format!("a remaining time, known or expected from its age, above {limit:.2} s")
            }
            Test::FreshLikelyBetter { factor, chance } => format!(
                "with a probability above {chance} a remaining time more than {factor} times a fresh copy's, which takes \
                 {mean:.2} s on average"
            ),
        }
    }
}

/// Answers a policy's questions from what records have told. See the module's documentation.
pub trait Estimator: Send {
    /// How much this estimator knows.
    fn knowledge(&self) -> Knowledge;

    /// Remaining time of an attempt in seconds, where it is known; for `age` its expectation given
    /// how long the attempt has run.
    fn remaining(&self, cluster: &Cluster, attempt: &Attempt) -> Option<f64>;

    /// The answer to a rule's question now. Unknown is no.
    fn holds(&self, test: Test, cluster: &Cluster, attempt: &Attempt) -> bool;

    /// The condition under which the answer to a question about an attempt of this phase, started
    /// now on a node of the given speed from the given progress, becomes yes; `None` if it never
    /// does. The driver watches it, so that nobody asks again and again.
    fn condition(&self, test: Test, phase: &Phase, pace: Pace) -> Option<Condition>;

    /// Where the answer for an attempt of this phase and pace follows from its age and is no: seconds from its start before
    /// which it stays no. `None` where that is not known.
    fn stays_no_until(&self, _test: Test, _phase: &Phase, _pace: Pace) -> Option<f64> {
        None
    }
}

/// How long an attempt takes for its work: node speed and the work left when it began.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace(f64);

impl Pace {
    /// Of an attempt that begins with a share of its work done, on a node of this speed.
    pub fn new(speed: f64, from_progress: f64) -> Pace {
        Pace((1.0 - from_progress) / speed)
    }

    /// Of a living attempt.
    pub fn of(cluster: &Cluster, attempt: &Attempt) -> Pace {
        let speed = cluster.node(attempt.node()).map_or(1.0, super::cluster::Node::speed);
        Pace::new(speed, attempt.from_progress())
    }

    /// Seconds that the attempt takes for what a fresh one does in `seconds` on a node of speed 1.
    pub fn seconds(self, seconds: f64) -> f64 {
        seconds * self.0
    }

    /// The age that the attempt's time so far would be on a node of speed 1, from scratch.
    pub fn age(self, elapsed: f64) -> f64 {
        elapsed / self.0
    }
}

/// The estimator for a kind of knowledge.
pub fn estimator(knowledge: Knowledge) -> Box<dyn Estimator> {
    match knowledge {
        Knowledge::Age | Knowledge::History => Box::new(ByAge(knowledge, AgeTable::default())),
        _ => Box::new(ByProgress(knowledge, AgeTable::default())),
    }
}

/// Remaining times known once progress tells (`oracle`, `progress(…)`).
struct ByProgress(Knowledge, AgeTable);

/// Remaining times guessed from age.
struct ByAge(Knowledge, AgeTable);

/// The ages from which on a test holds, for the shapes of durations and questions met so far: they
/// take an integral or many to find, and depend on the shape and the question alone once times are
/// counted in means.
#[derive(Default)]
struct AgeTable(RefCell<(Shapes, FxHashMap<Question, Option<f64>>)>);

/// A shape, and what is asked of it, in means.
type Question = (ShapeNumber, [u64; 2]);

/// Questions remembered; with more, all are answered anew.
const QUESTIONS_REMEMBERED: usize = 10_000;

impl AgeTable {
    /// The age, in seconds on a node of speed 1, from which on the remaining time is expected to be
    /// above so many seconds.
    fn residual_exceeds(&self, durations: &Distribution, threshold: f64) -> Option<f64> {
        let mean = durations.mean();
        if mean <= 0.0 {
            return durations.age_where_residual_exceeds(threshold);
        }
        // Rounded, so that σ·E[x]/E[x] is one question and not one for each job's last bit.
        let in_means = ((threshold / mean) * 1e12).round() / 1e12;
        self.answer(durations, [in_means.to_bits(), u64::MAX], |durations| {
            durations.age_where_residual_exceeds(in_means * mean)
        })
    }

    /// The age, in seconds on a node of speed 1, from which on P(remaining > `factor` × fresh) is
    /// above `chance`.
    fn fresh_likely_better(&self, durations: &Distribution, factor: f64, chance: f64) -> Option<f64> {
        if let Some(last) = self.fresh_likely_better_from(durations, factor, chance) {
            let at_once = durations.conditional_probability_exceeds_fresh(0.0, factor) > chance;
            return Some(if at_once { 0.0 } else { last.max(durations.minimum()) });
        }
        self.answer(durations, [factor.to_bits(), chance.to_bits()], |durations| {
            durations.age_where_probability_exceeds(chance, factor)
        })
    }

    /// The age, in seconds on a node of speed 1, above which P(remaining > `factor` × fresh) is above `chance` for good, and
    /// from the minimum up to which it is not; `None` where that is not known. One answer serves all factors, which are as
    /// many as the nodes have speeds.
    fn fresh_likely_better_from(&self, durations: &Distribution, factor: f64, chance: f64) -> Option<f64> {
        if !durations.probability_grows_from(durations.minimum()) {
            return None;
        }
        let ratio = self.answer(durations, [u64::MAX, chance.to_bits()], |durations| durations.age_over_factor(chance));
        ratio.map(|ratio| ratio * factor)
    }

    /// `solve` gives an age in seconds for these durations; it is kept in means.
    fn answer(
        &self,
        durations: &Distribution,
        asked: [u64; 2],
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
        let question = (shapes.number(durations), asked);
        let in_means = *known.entry(question).or_insert_with(|| solve(durations).map(|age| age / mean));
        in_means.map(|age| age * mean)
    }
}

fn elapsed(cluster: &Cluster, attempt: &Attempt) -> f64 {
    (cluster.now() - attempt.since()).seconds()
}

/// Expectation of the remaining time, seconds, given only how long the attempt has run.
fn remaining_by_age(cluster: &Cluster, attempt: &Attempt) -> Option<f64> {
    let pace = Pace::of(cluster, attempt);
    let durations = cluster.phase(attempt.id().task)?.durations();
    Some(pace.seconds(durations.mean_residual(pace.age(elapsed(cluster, attempt)))))
}

/// False where copies of the attempt's phase do not tell their progress: then age must do.
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
            // Above all numbers: never, and no number that a journal could hold.
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

/// The age, on a node of speed 1, from which on a test holds for an attempt of this pace of which only
/// the age is known.
fn age_where_holds(table: &AgeTable, test: Test, durations: &Distribution, pace: Pace) -> Option<f64> {
    match test {
        Test::RemainingAbove(threshold) | Test::RemainingOrByAgeAbove(threshold) => {
            table.residual_exceeds(durations, threshold / pace.seconds(1.0))
        }
        // The remaining time shrinks with the pace, the fresh copy's does not.
        Test::FreshLikelyBetter { factor, chance } => {
            table.fresh_likely_better(durations, factor / pace.seconds(1.0), chance)
        }
    }
}

/// Share of an age within which the age from which on a test holds is taken at its word: it is known to
/// some digits only, and a watch that was met must find its test to hold.
const MARGIN: f64 = 1e-6;

/// Whether a test holds, by age alone.
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
    // Of tails that get lighter the test may fail again later.
    match test {
        Test::RemainingAbove(threshold) | Test::RemainingOrByAgeAbove(threshold) => {
            pace.seconds(durations.mean_residual(age)) > threshold
        }
        Test::FreshLikelyBetter { factor, chance } => {
            let factor = factor / pace.seconds(1.0);
            let for_good =
                table.fresh_likely_better_from(durations, factor, chance).filter(|_| age >= durations.minimum());
            match for_good {
                // Near 1 it grows too slowly for the margin to make sure of it.
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
