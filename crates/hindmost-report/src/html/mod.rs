//! Renders results as pages of HTML, each in one file. A page loads nothing, runs no scripts (except the live page), and suits
//! phones, dark screens and paper.
//!
//! The templates escape all text. Only style sheets and pictures are inserted without escaping; pictures escape their
//! own text. Control characters and marks of the writing direction are shown as escape sequences, and long texts are
//! cut.

mod advice;
mod application;
mod applications;
mod comparison;
mod copies;
mod energy;
mod glossary;
mod jobs;
mod keys;
mod live;
mod ranking;
mod reproduction;
mod run;
mod sweep;
#[cfg(test)]
mod tests;

pub use application::{ApplicationPage, application_page};
pub use applications::{ApplicationRow, ApplicationsPage, UnreadLog, applications_page};
pub use comparison::{ComparisonPage, comparison_page};
pub use live::{LivePage, live_page};
pub use ranking::ranking_page;
pub use reproduction::html_pages;
pub use run::{RunPage, run_page};

use hindmost_core::cluster::Placement;
use minijinja::value::Serde;
use minijinja::{Environment, HtmlEscape, Value, context};
use serde::Serialize;

use crate::comparison::half_width::{half_width, with_half_width};
use crate::comparison::significant;
use crate::figures::{Drawing, STYLE};
use crate::text;

/// Largest number of letters of a name.
const NAME: usize = 80;
/// Largest number of letters of a sentence.
const SENTENCE: usize = 600;
/// Largest number of letters of a paragraph.
const PARAGRAPH: usize = 3_000;
/// Largest number of letters of a long text such as a scenario.
const LONG: usize = 20_000;
const ELLIPSIS: &str = "…";

/// One step of the instructions at the end of a page, which say how to produce the result again.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Step {
    /// A sentence that says what the step does.
    pub text: String,
    /// A command or the content of a file; empty for none.
    pub code: String,
}

/// A picture in a page.
#[derive(Clone, Debug, Serialize)]
struct Picture {
    svg: String,
    /// The picture for wide screens and paper; empty if they show `svg`, too.
    wide: String,
    caption: String,
}

/// A table in a page; its first column holds the names of the rows.
#[derive(Clone, Debug, Default, Serialize)]
struct Table {
    caption: String,
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
    /// Whether narrow screens show each row as a paragraph. This suits tables of text.
    stacked: bool,
}

#[derive(Clone, Debug, Serialize)]
struct Column {
    name: String,
    /// True if the cells are text, false if they are numbers.
    text: bool,
}

impl Table {
    /// Creates a table without rows. A heading that ends with `:` belongs to a column of text; the `:` is not shown.
    fn new(caption: &str, columns: &[&str]) -> Table {
        let columns = columns
            .iter()
            .map(|name| Column { name: name.strip_suffix(':').unwrap_or(name).to_owned(), text: name.ends_with(':') });
        Table { caption: caption.to_owned(), columns: columns.collect(), rows: Vec::new(), stacked: false }
    }
}

/// Numbers the pictures of a page, so that their ids are unique.
#[derive(Default)]
struct Pictures(u32);

impl Pictures {
    fn inline(&mut self, drawing: &Drawing) -> String {
        self.0 += 1;
        drawing.inline(&format!("p{}", self.0))
    }

    fn picture(&mut self, drawing: &Drawing, caption: impl Into<String>) -> Picture {
        Picture { svg: self.inline(drawing), wide: String::new(), caption: caption.into() }
    }
}

/// The texts that all pages have.
struct Frame<'a> {
    title: String,
    heading: String,
    lead: String,
    glossary: Vec<[&'static str; 2]>,
    again: &'a [Step],
}

/// Renders a page.
///
/// # Errors
/// If a template is faulty, which is a defect of this crate.
fn rendered(template: &str, frame: &Frame<'_>, content: &impl Serialize) -> Result<String, minijinja::Error> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(minijinja::UndefinedBehavior::Strict);
    environment.add_filter("breakable", breakable);
    environment.add_template("base.html", include_str!("templates/base.html"))?;
    environment.add_template("parts.html", include_str!("templates/parts.html"))?;
    environment.add_template("comparison.html", include_str!("templates/comparison.html"))?;
    environment.add_template("reproduction.html", include_str!("templates/reproduction.html"))?;
    environment.add_template("figure.html", include_str!("templates/figure.html"))?;
    environment.add_template("ranking.html", include_str!("templates/ranking.html"))?;
    environment.add_template("diagnosis.html", include_str!("templates/diagnosis.html"))?;
    environment.add_template("application.html", include_str!("templates/application.html"))?;
    environment.add_template("applications.html", include_str!("templates/applications.html"))?;
    environment.add_template("run.html", include_str!("templates/run.html"))?;
    let style = format!("{}{STYLE}", include_str!("templates/page.css"));
    let again: Vec<Step> =
        frame.again.iter().map(|step| Step { text: sentence(&step.text), code: long(&step.code) }).collect();
    let page = context! {
        style,
        version => env!("CARGO_PKG_VERSION"),
        title => frame.title.as_str(),
        heading => frame.heading.as_str(),
        lead => frame.lead.as_str(),
        glossary => frame.glossary.clone(),
        again => Value::from(Serde(again)),
        ..Value::from(Serde(content))
    };
    environment.get_template(template)?.render(page).map(|page| page + "\n")
}

/// Escapes a text and allows line breaks after brackets and commas. Without them, browsers do not break names such as
/// `progress(uniform)`.
fn breakable(text: &str) -> Value {
    let escaped = HtmlEscape(text).to_string();
    Value::from_safe_string(escaped.replace('(', "(<wbr />").replace(',', ",<wbr />"))
}

/// Escapes and shortens a name.
fn name(text: &str) -> String {
    text::name(text, NAME, ELLIPSIS)
}

/// Escapes and shortens a sentence.
fn sentence(text: &str) -> String {
    text::beginning(text, SENTENCE, ELLIPSIS)
}

/// Escapes and shortens a paragraph.
fn paragraph(text: &str) -> String {
    text::beginning(text, PARAGRAPH, ELLIPSIS)
}

/// Escapes and shortens a text of many lines. Line ends and tabs are kept.
fn long(text: &str) -> String {
    let cut: String = text.chars().take(LONG).collect();
    let more = if cut.len() < text.len() { "\n…" } else { "" };
    let escaped_line = |line: &str| line.split('\t').map(text::escaped).collect::<Vec<_>>().join("\t");
    let lines: Vec<String> = cut.trim_end().lines().map(escaped_line).collect();
    lines.join("\n") + more
}

/// Turns a text into a sentence that begins with a capital letter and ends with a full stop.
fn full(text: &str) -> String {
    let mut letters = text.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    let end = if text.ends_with(['.', '!', '?', '…']) || text.is_empty() { "" } else { "." };
    paragraph(&format!("{first}{}{end}", letters.as_str()))
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
