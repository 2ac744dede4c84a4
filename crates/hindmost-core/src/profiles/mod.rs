//! Profiles of finished attempts, and predictions from the most similar ones (progress model `profiles`).
//!
//! Paper: RiskI, sections 4.3 and 5. Every finished attempt leaves a [`Profile`]: what ran, where, under which
//! [`Conditions`], and for how long. A prediction for a copy on a node searches the profiles of its kind for similar
//! ones, and is a range of durations with probabilities ([`hindmost_math::outcomes::Outcomes`]).
//!
//! - [`Collector`] makes profiles from the records of a run.
//! - [`Weights`] say how much each factor counts: the similarity.
//! - [`Index`] keeps the newest profiles of each kind in memory, and predicts.
//! - [`estimator`] answers policies' questions from an index.
//!
//! Profiles of earlier runs and fitted weights reach the estimator as events
//! ([`Event::ProfilesRecalled`](crate::record::Event), [`Event::WeightsFitted`](crate::record::Event)), so a replayed
//! journal gives the same predictions. The crate `hindmost-profiles` keeps profiles in a file and fits weights.

mod collector;
mod conditions;
pub mod estimator;
mod index;
mod ring;
mod similarity;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use collector::{Collector, FinishedProfile};
pub use conditions::Conditions;
pub use index::{ENOUGH, Index, Kind, OF_NODE, OF_PHASE, Prediction};
pub use similarity::{FactorWeight, Weights, factors_of, value_of};

/// What a finished attempt leaves: what ran, where, under which conditions, and for how long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// Type of the job: see [`job_type`].
    pub job: Arc<str>,
    /// Name of the phase.
    pub phase: Arc<str>,
    /// Name of the node.
    pub node: Arc<str>,
    /// Speed of the node as policies knew it: work done per second, relative to a node of speed 1.
    pub speed: f64,
    /// Time from the start of the attempt to its finish, seconds.
    pub seconds: f64,
    /// The conditions when the attempt started.
    pub conditions: Conditions,
}

impl Profile {
    /// Returns whether all numbers are in their ranges. Files and journals may contain anything.
    pub fn is_valid(&self) -> bool {
        let is_positive = |value: f64| value.is_finite() && value > 0.0;
        is_positive(self.speed) && is_positive(self.seconds) && self.conditions.is_valid()
    }

    /// Returns the duration that the same work would have taken on a node of speed 1, seconds.
    pub fn seconds_at_speed_1(&self) -> f64 {
        self.seconds * self.speed
    }
}

/// Returns the type of a job from its name: the name without a number or date at its end. Jobs of one type run the same
/// program on other data. A name that is only a number has the type `job`.
///
/// ```
/// use hindmost_core::profiles::job_type;
///
/// assert_eq!(job_type("wordcount"), "wordcount");
/// assert_eq!(job_type("etl-17"), "etl");
/// assert_eq!(job_type("report_2026-11-23"), "report");
/// assert_eq!(job_type("17"), "job");
/// // A digit that belongs to a word stays.
/// assert_eq!(job_type("tpch-q5"), "tpch-q5");
/// ```
pub fn job_type(name: &str) -> &str {
    let is_separator = |letter: char| matches!(letter, '-' | '_' | '.' | '#' | ':' | ' ' | '/');
    let mut kept = name;
    loop {
        let without = kept.trim_end_matches(|letter: char| letter.is_ascii_digit());
        if without.len() == kept.len() {
            return kept;
        }
        if without.is_empty() {
            return "job";
        }
        let before = without.trim_end_matches(is_separator);
        if before.len() == without.len() {
            return kept;
        }
        if before.is_empty() {
            return "job";
        }
        kept = before;
    }
}
