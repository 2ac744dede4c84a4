//! Renders results as pages of HTML, each in one file. A page loads nothing, runs no scripts (except the live page), and suits
//! phones, dark screens and paper.
//!
//! The printer of documents escapes all text (`report/src/document`). Only style sheets and pictures are inserted without escaping;
//! pictures escape their own text. Control characters and marks of the writing direction are shown as escape sequences, and long
//! texts are cut.

mod application;
mod applications;
mod comparison;
mod copies;
mod energy;
pub(crate) mod glossary;
mod jobs;
mod keys;
mod live;
mod run;
mod sweep;
#[cfg(test)]
pub(crate) mod tests;

pub use application::{ApplicationPage, application_page};
pub use applications::{ApplicationRow, ApplicationsPage, UnreadLog, applications_page};
pub use comparison::{ComparisonPage, comparison_page};
pub use live::{LivePage, live_page};
pub use run::{RunPage, run_page};

use hindmost_core::cluster::Placement;
use serde::Serialize;

use crate::comparison::half_width::{half_width, with_half_width};
use crate::comparison::significant;
use crate::text;

/// Largest number of letters of a name.
const NAME: usize = 80;
/// Largest number of letters of a sentence.
pub(crate) const SENTENCE: usize = 600;
/// Largest number of letters of a paragraph.
pub(crate) const PARAGRAPH: usize = 3_000;
/// Largest number of letters of a long text such as a scenario.
pub(crate) const LONG: usize = 20_000;
const ELLIPSIS: &str = "…";

/// One step of the instructions at the end of a page, which say how to produce the result again.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Step {
    /// A sentence that says what the step does.
    pub text: String,
    /// A command or the content of a file; empty for none.
    pub code: String,
}

/// Escapes and shortens a name.
pub(crate) fn name(text: &str) -> String {
    text::name(text, NAME, ELLIPSIS)
}

/// Escapes and shortens a sentence.
fn sentence(text: &str) -> String {
    text::beginning(text, SENTENCE, ELLIPSIS)
}

/// Describes a progress model: what policies know about running attempts.
fn knowledge_text(knowledge: &str) -> String {
    let text = match knowledge {
        "oracle" => {
            "policies know the remaining time of every attempt from its start, as most papers assume".to_owned()
        }
        "age" => "policies observe no progress, only for how long an attempt has been running".to_owned(),
        "history" => {
            "policies know durations from earlier runs of the job and for how long an attempt has been running"
                .to_owned()
        }
        profiles if profiles == "profiles" || profiles.starts_with("profiles(") => {
            "policies know durations from profiles of finished attempts, and learn the remaining time of an attempt once \
             a share of its work is done"
                .to_owned()
        }
        "progress(uniform)" => {
            "policies learn the remaining time of an attempt once a share of its work is done, which is drawn at \
             random for each attempt"
                .to_owned()
        }
        other => match other.strip_prefix("progress(").and_then(|rest| rest.strip_suffix(')')) {
            Some(share) => match share.parse::<f64>() {
                Ok(share) => format!(
                    "policies learn the remaining time of an attempt once {}% of its work is done",
                    (share * 1000.0).round() / 10.0
                ),
                Err(_) => return name(other),
            },
            None => return name(other),
        },
    };
    format!("{}: {text}", name(knowledge))
}

/// Describes how nodes for copies are chosen.
fn placement_text(placement: Placement) -> String {
    let text = match placement {
        Placement::First => "a copy gets the first node on which it fits, in the order in which the nodes are listed",
        Placement::Random => "a copy gets a random one of the nodes on which it fits",
        Placement::Spread => "a copy gets the node with the largest share of its capacity free",
        Placement::Fastest => "a copy gets the fastest node on which it fits",
    };
    format!("{placement}: {text}")
}

/// Formats a mean with half of its interval; a dash without a mean.
fn measured(mean: Option<f64>, ci95: Option<[f64; 2]>) -> String {
    let Some(mean) = mean else { return "–".to_owned() };
    let half = ci95.map(|ends| half_width(mean, ends)).filter(|half| half.is_finite() && *half > 0.0);
    half.map_or_else(|| significant(mean), |half| with_half_width(mean, half))
}

/// Joins words: `a, b and c`.
fn listed(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}
