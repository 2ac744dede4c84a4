//! What a policy may know of running attempts.
//!
//! Papers assume more than a real system has, and how much is assumed moves the ratios between
//! policies more than the policies do. A policy asks an [`Estimator`], never the truth; what the
//! estimator knows came through records, so a journal replays to the same answers.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::cluster::{Attempt, Cluster, Phase};
use crate::record::Condition;

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
}

/// A text that names no kind of knowledge.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no kind of knowledge: give oracle, progress(S) with S in [0, 1), progress(uniform) or age")]
pub struct UnknownKnowledge(String);

impl FromStr for Knowledge {
    type Err = UnknownKnowledge;

    fn from_str(text: &str) -> Result<Knowledge, UnknownKnowledge> {
        let wrong = || UnknownKnowledge(text.to_owned());
        match text.trim() {
            "oracle" => return Ok(Knowledge::Oracle),
            "age" => return Ok(Knowledge::Age),
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
}

/// How fast an attempt goes through its work: node speed and the work left when it began.
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
        Knowledge::Age => Box::new(ByAge),
        _ => Box::new(ByProgress(knowledge)),
    }
}

/// Remaining times known once progress tells (`oracle`, `progress(…)`).
struct ByProgress(Knowledge);

/// Remaining times guessed from age.
struct ByAge;

fn elapsed(cluster: &Cluster, attempt: &Attempt) -> f64 {
    (cluster.now() - attempt.since()).seconds()
}

/// Expectation of the remaining time, seconds, given only how long the attempt has run.
fn remaining_by_age(cluster: &Cluster, attempt: &Attempt) -> Option<f64> {
    let pace = Pace::of(cluster, attempt);
    let durations = cluster.phase(attempt.id().task)?.durations();
    Some(pace.seconds(durations.mean_residual(pace.age(elapsed(cluster, attempt)))))
}

impl Estimator for ByProgress {
    fn knowledge(&self) -> Knowledge {
        self.0
    }

    fn remaining(&self, cluster: &Cluster, attempt: &Attempt) -> Option<f64> {
        attempt.expected_finish().map(|finish| (finish - cluster.now()).seconds())
    }

    fn holds(&self, test: Test, cluster: &Cluster, attempt: &Attempt) -> bool {
        let known = self.remaining(cluster, attempt);
        match test {
            Test::RemainingAbove(threshold) => known.is_some_and(|remaining| remaining > threshold),
            Test::RemainingOrByAgeAbove(threshold) => {
                known.or_else(|| remaining_by_age(cluster, attempt)).is_some_and(|remaining| remaining > threshold)
            }
            Test::FreshLikelyBetter { factor, chance } => known
                .zip(cluster.phase(attempt.id().task))
                .is_some_and(|(remaining, phase)| remaining > factor * phase.durations().quantile(chance)),
        }
    }

    fn condition(&self, test: Test, phase: &Phase, pace: Pace) -> Option<Condition> {
        match test {
            Test::RemainingAbove(threshold) => Some(Condition::RemainingAbove(threshold)),
            Test::RemainingOrByAgeAbove(threshold) => {
                let by_age = phase.durations().age_where_residual_exceeds(threshold / pace.seconds(1.0));
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
        Knowledge::Age
    }

    fn remaining(&self, cluster: &Cluster, attempt: &Attempt) -> Option<f64> {
        remaining_by_age(cluster, attempt)
    }

    fn holds(&self, test: Test, cluster: &Cluster, attempt: &Attempt) -> bool {
        match test {
            Test::RemainingAbove(threshold) | Test::RemainingOrByAgeAbove(threshold) => {
                remaining_by_age(cluster, attempt).is_some_and(|remaining| remaining > threshold)
            }
            Test::FreshLikelyBetter { factor, chance } => cluster.phase(attempt.id().task).is_some_and(|phase| {
                let pace = Pace::of(cluster, attempt);
                let age = pace.age(elapsed(cluster, attempt));
                // The remaining time shrinks with the pace, the fresh copy's does not.
                phase.durations().conditional_probability_exceeds_fresh(age, factor / pace.seconds(1.0)) > chance
            }),
        }
    }

    fn condition(&self, test: Test, phase: &Phase, pace: Pace) -> Option<Condition> {
        let durations = phase.durations();
        let age = match test {
            Test::RemainingAbove(threshold) | Test::RemainingOrByAgeAbove(threshold) => {
                durations.age_where_residual_exceeds(threshold / pace.seconds(1.0))
            }
            Test::FreshLikelyBetter { factor, chance } => {
                durations.age_where_probability_exceeds(chance, factor / pace.seconds(1.0))
            }
        };
        age.map(|age| Condition::ElapsedAbove(pace.seconds(age)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knowledge_survives_the_round_trip() {
        for text in ["oracle", "progress(0.2)", "progress(0)", "progress(uniform)", "age"] {
            assert_eq!(text.parse::<Knowledge>().unwrap().to_string(), text);
        }
        for wrong in ["", "progress", "progress(1)", "progress(-0.1)", "progress(NaN)", "prophet"] {
            assert!(wrong.parse::<Knowledge>().is_err(), "{wrong}");
        }
    }
}
