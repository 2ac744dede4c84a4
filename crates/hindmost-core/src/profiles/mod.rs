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

/// Returns the type of a job from its name: the name without a number, date or time at its end, and without a date at its
/// beginning. Jobs of one type run the same program on other data. A name that is only a number or date has the type `job`, as
/// have all jobs that a scenario generates without `name`: profiles of different such scenarios in one file mix.
///
/// ```
/// use hindmost_core::profiles::job_type;
///
/// assert_eq!(job_type("wordcount"), "wordcount");
/// assert_eq!(job_type("etl-17"), "etl");
/// assert_eq!(job_type("report_2026-11-23"), "report");
/// assert_eq!(job_type("2024-05-08-daily"), "daily");
/// assert_eq!(job_type("daily.2024.05.08T0300"), "daily");
/// assert_eq!(job_type("17"), "job");
/// // A digit that belongs to a word stays.
/// assert_eq!(job_type("tpch-q5"), "tpch-q5");
/// assert_eq!(job_type("2000-miles"), "2000-miles");
/// ```
pub fn job_type(name: &str) -> &str {
    let is_separator = |letter: char| matches!(letter, '-' | '_' | '.' | '#' | ':' | ' ' | '/');
    let mut kept = name;
    // The last word while it is a number or a time such as T0300.
    while let Some(last) = kept.rsplit(is_separator).next().filter(|last| is_number_or_time(last)) {
        let before = kept[..kept.len() - last.len()].trim_end_matches(is_separator);
        if before.is_empty() {
            return "job";
        }
        kept = before;
    }
    let without_date = after_date(kept, is_separator).unwrap_or(kept);
    if without_date.is_empty() { "job" } else { without_date }
}

/// Returns true for `17`, `T0300`, `08T0300` and `T030000Z`.
fn is_number_or_time(word: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let Some((date, time)) = word.split_once('T') else { return is_number(word) };
    let time = time.strip_suffix('Z').unwrap_or(time);
    (date.is_empty() || is_number(date)) && is_number(time) && matches!(time.len(), 4 | 6)
}

/// Returns what follows a date at the beginning of a name, such as `2024-05-08` or `20240508`, and the time after it; `None` if
/// the name begins otherwise. A year alone may belong to the name.
fn after_date(name: &str, is_separator: impl Fn(char) -> bool + Copy) -> Option<&str> {
    let mut words = name.split(is_separator);
    let year = words.next().filter(|word| word.starts_with("19") || word.starts_with("20"))?;
    let is_date = match year.len() {
        4 => words.next().is_some_and(|month| month.len() == 2 && is_number_or_time(month)),
        length => length == 8,
    };
    if !is_date || !is_number_or_time(year) {
        return None;
    }
    let mut rest = name;
    while let Some(word) = rest.split(is_separator).next().filter(|word| is_number_or_time(word)) {
        rest = rest[word.len()..].trim_start_matches(is_separator);
    }
    Some(rest)
}
