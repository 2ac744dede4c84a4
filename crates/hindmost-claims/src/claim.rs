//! Claims and their verdicts.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::expected::{Expected, Measured};

/// A claim of the paper and its measured values.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[allow(clippy::struct_excessive_bools, reason = "independent properties of a claim, each a key of the JSON document")]
pub struct Claim {
    /// Name of the claim on the command line, unique within the paper, such as `fig2-sca-flowtime`. It stays the same
    /// in later versions.
    pub id: String,
    /// Place of the claim among all claims of the paper, from 1, also where only some of them are measured; 0 if it is
    /// not known.
    pub number: usize,
    /// The paper's statement in a sentence.
    pub claimed: String,
    /// The paper's words; may be empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub quote: String,
    /// The paper's section or figure that makes the statement.
    pub section: String,
    /// True if the abstract makes the statement.
    pub in_abstract: bool,
    /// True if the claim is one of those that form the paper's headline.
    pub in_headline: bool,
    /// True if the claim is about the published numbers of the paper's baseline, and not about its own methods.
    pub of_baseline: bool,
    /// Whether the statement is in the paper's words or goes beyond them.
    pub stated_by: StatedBy,
    /// True if other numbers of the paper contradict the statement, so that its verdict says nothing about the method.
    pub is_slip: bool,
    /// Whether the values are simulated, follow from formulas, or were not measured.
    pub status: Status,
    /// The rule that a measured value must satisfy.
    pub expected: Expected,
    /// One measured value for each reading; empty if the claim was not run.
    pub readings: Vec<Measured>,
    /// Statements that the paper makes together with this one: the claim holds under a reading only if they hold too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Part>,
    /// The values under the best joint reading, measured again on fresh seeds: that of the claim, then those of
    /// `also`. Empty if they were not measured again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub confirmed: Vec<Measured>,
    /// Whether the measured values satisfy the rule.
    pub verdict: Verdict,
    /// Sentences that explain the rule or the measured values; may be empty.
    pub comment: String,
}

/// Who makes the statement of a claim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StatedBy {
    /// The paper, in its own words.
    #[default]
    Paper,
    /// Hindmost, as a reading of the paper's words: stricter than they are, joined from several statements, or about a
    /// case that the paper does not name.
    Reading,
}

/// How the values of a claim are obtained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// By simulation, under each reading.
    Simulated,
    /// By formulas, without simulation.
    Formula,
    /// Measured on one machine, which the values name, and not measured again.
    Recorded,
    /// The claim was not measured; its verdict says why.
    NotRun,
}

/// A statement that is one part of a claim.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Part {
    /// The rule that a measured value must satisfy.
    pub expected: Expected,
    /// One measured value for each reading.
    pub readings: Vec<Measured>,
}

/// Whether the measured values confirm a claim.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The claim holds under every reading that was run.
    Reproduced,
    /// The claim holds only under these readings.
    ReproducedUnder {
        /// Names of the readings.
        readings: Vec<String>,
    },
    /// The claim holds under no reading.
    NotReproduced {
        /// The measured values and the rule, as text.
        why: String,
    },
    /// The claim was not measured.
    NotRun {
        /// The reason.
        why: String,
    },
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Reproduced => f.write_str("reproduced"),
            Verdict::ReproducedUnder { readings } => write!(f, "reproduced under {}", readings.join("; ")),
            Verdict::NotReproduced { why } => write!(f, "not reproduced: {why}"),
            Verdict::NotRun { why } => write!(f, "not run: {why}"),
        }
    }
}

impl Verdict {
    /// Returns `reproduced`, `reproduced under N of M readings`, `not reproduced` or `not run`, where M is
    /// `readings_run`.
    pub fn short(&self, readings_run: usize) -> String {
        match self {
            Verdict::Reproduced => "reproduced".to_owned(),
            Verdict::ReproducedUnder { readings } => {
                format!("reproduced under {} of {readings_run} readings", readings.len())
            }
            Verdict::NotReproduced { .. } => "not reproduced".to_owned(),
            Verdict::NotRun { .. } => "not run".to_owned(),
        }
    }
}

impl Part {
    /// Creates a part: applies the rule to every measured value.
    pub fn judge(expected: Expected, mut readings: Vec<Measured>) -> Part {
        for measured in &mut readings {
            measured.holds = expected.accepts(measured.mean, measured.ci95);
        }
        Part { expected, readings }
    }

    /// Formats the rule with the unit of the measured values: `from −65% to −55%`.
    pub fn rule(&self) -> String {
        rule(self.expected, &self.readings)
    }
}

impl Claim {
    /// Creates a claim from its parts, the main one first, and derives the verdict. The claim has no number and no
    /// quote, is stated by the paper, and is not in the abstract, about the baseline or a slip; set these fields afterwards.
    pub fn judge(
        id: &str,
        claimed: &str,
        section: &str,
        main: Part,
        also: Vec<Part>,
        comment: impl Into<String>,
    ) -> Claim {
        let claim = Claim {
            id: id.to_owned(),
            number: 0,
            claimed: claimed.to_owned(),
            quote: String::new(),
            section: section.to_owned(),
            in_abstract: false,
            in_headline: false,
            of_baseline: false,
            stated_by: StatedBy::Paper,
            is_slip: false,
            status: Status::Simulated,
            expected: main.expected,
            readings: Vec::new(),
            also: Vec::new(),
            confirmed: Vec::new(),
            verdict: Verdict::Reproduced,
            comment: comment.into(),
        };
        claim.with_parts(main, also)
    }

    /// Returns the claim with these parts instead of its own, the main one first, and with the verdict that follows from
    /// them.
    pub fn with_parts(self, main: Part, also: Vec<Part>) -> Claim {
        let mut claim = Claim { expected: main.expected, readings: main.readings, also, ..self };
        let names = || claim.readings.iter().map(|measured| measured.reading.clone());
        let holding: Vec<String> = names().filter(|name| claim.holds_under(name) == Some(true)).collect();
        claim.verdict = if holding.is_empty() {
            Verdict::NotReproduced { why: claim.why_not() }
        } else if holding.len() == claim.readings.len() {
            Verdict::Reproduced
        } else {
            Verdict::ReproducedUnder { readings: holding }
        };
        claim
    }

    /// Creates a claim that was not measured, with the reason.
    pub fn not_run(id: &str, claimed: &str, section: &str, why: impl Into<String>) -> Claim {
        let nothing = Part::judge(Expected { low: None, high: None, whole_interval: false }, Vec::new());
        Claim {
            status: Status::NotRun,
            verdict: Verdict::NotRun { why: why.into() },
            ..Claim::judge(id, claimed, section, nothing, Vec::new(), "")
        }
    }

    /// Returns whether the claim counts when claims are counted: the paper states it, and no other number of the paper
    /// contradicts it.
    pub fn counts(&self) -> bool {
        self.stated_by == StatedBy::Paper && !self.is_slip
    }

    /// Returns the verdict in a few words: `reproduced`, `reproduced under N of M readings that differ in it`, `not
    /// reproduced` or `not run`. Readings with the same values count once. A formula with values for several cases,
    /// which all must satisfy the rule, is `not reproduced: holds in N of M cases` if only some do.
    pub fn short_verdict(&self) -> String {
        match &self.verdict {
            Verdict::ReproducedUnder { readings } if self.status == Status::Formula => {
                format!("not reproduced: holds in {} of {} cases", readings.len(), self.readings.len())
            }
            Verdict::ReproducedUnder { .. } => match self.distinct() {
                (holding, all) if all < self.readings.len() => {
                    format!("reproduced under {holding} of {all} readings that differ in it")
                }
                (holding, all) => format!("reproduced under {holding} of {all} readings"),
            },
            verdict => verdict.short(self.readings.len()),
        }
    }

    /// Returns whether all parts of the claim hold under a reading; `None` if a part was not measured under it.
    pub fn holds_under(&self, reading: &str) -> Option<bool> {
        let of = |readings: &[Measured]| {
            readings.iter().find(|measured| measured.reading == reading).map(|measured| measured.holds)
        };
        let mut holds = of(&self.readings)?;
        for part in &self.also {
            holds &= of(&part.readings)?;
        }
        Some(holds)
    }

    /// Returns the parts of the claim, the main one first: their rules and values.
    pub fn parts(&self) -> impl Iterator<Item = (Expected, &[Measured])> {
        let also = self.also.iter().map(|part| (part.expected, part.readings.as_slice()));
        std::iter::once((self.expected, self.readings.as_slice())).chain(also)
    }

    /// Returns whether the verdict under a reading might be another one on other seeds: a part that decides it has an
    /// interval that contains a limit of its rule.
    pub fn is_close_under(&self, reading: &str) -> bool {
        let under = |(expected, readings): (Expected, &'_ [Measured])| {
            let measured = readings.iter().find(|measured| measured.reading == reading)?;
            Some((measured.holds, expected.is_close(measured)))
        };
        is_close(self.parts().filter_map(under))
    }

    /// Returns the same for the values on fresh seeds.
    pub fn is_confirmation_close(&self) -> bool {
        let rules = self.parts().map(|(expected, _)| expected);
        is_close(rules.zip(&self.confirmed).map(|(expected, measured)| (measured.holds, expected.is_close(measured))))
    }

    /// Returns the number of different results that the claim has under all readings, and under how many of them it holds.
    /// Readings with the same values in all parts count once.
    pub fn distinct(&self) -> (usize, usize) {
        let means = |reading: &str| -> Vec<Option<u64>> {
            let of = |(_, readings): (Expected, &'_ [Measured])| {
                readings.iter().find(|one| one.reading == reading).and_then(|one| one.mean).map(f64::to_bits)
            };
            self.parts().map(of).collect()
        };
        let mut seen: Vec<Vec<Option<u64>>> = Vec::new();
        let mut holding = 0;
        for measured in &self.readings {
            let values = means(&measured.reading);
            if !seen.contains(&values) {
                holding += usize::from(self.holds_under(&measured.reading) == Some(true));
                seen.push(values);
            }
        }
        (holding, seen.len())
    }

    /// Returns the value of the main part that was measured under a reading.
    pub fn under(&self, reading: &str) -> Option<&Measured> {
        self.readings.iter().find(|measured| measured.reading == reading)
    }

    /// Formats the claim's rule with the unit of the measured values: `from −65% to −55%`. The rules of several parts
    /// are joined by `; and`.
    pub fn rule(&self) -> String {
        let mut text = rule(self.expected, &self.readings);
        for part in &self.also {
            let what = part.readings.first().map_or("", |measured| measured.value.as_str());
            text += &format!("; and {what} {}", part.rule());
        }
        text
    }

    /// Returns the measured value that summaries show: the first one under a reading for which the claim holds, or the
    /// first one if there is none.
    pub fn representative(&self) -> Option<&Measured> {
        let holds = |measured: &&Measured| self.holds_under(&measured.reading) == Some(true);
        self.readings.iter().find(holds).or(self.readings.first())
    }

    /// Describes the measured values if the claim holds under no reading.
    fn why_not(&self) -> String {
        let mut text = why_not(self.expected, &self.readings);
        for part in &self.also {
            let what = part.readings.first().map_or("", |measured| measured.value.as_str());
            text += &format!("; {what}: {}", why_not(part.expected, &part.readings));
        }
        text
    }
}

/// Returns whether a verdict might change, given whether each part holds and whether its value is close to a limit.
fn is_close(parts: impl Iterator<Item = (bool, bool)>) -> bool {
    let parts: Vec<(bool, bool)> = parts.collect();
    if parts.iter().all(|(holds, _)| *holds) {
        return parts.iter().any(|(_, close)| *close);
    }
    parts.iter().filter(|(holds, _)| !holds).all(|(_, close)| *close)
}

/// Formats a rule with the unit of the measured values.
fn rule(expected: Expected, readings: &[Measured]) -> String {
    let unit = readings.first().map_or("", |measured| measured.unit.as_str());
    expected.text(unit, readings.iter().any(|measured| measured.ci95.is_some()))
}

/// Describes the measured values of one part of a claim.
fn why_not(expected: Expected, readings: &[Measured]) -> String {
    let expected = rule(expected, readings);
    let values: Vec<(f64, &Measured)> = readings.iter().filter_map(|one| Some((one.mean?, one))).collect();
    let least = values.iter().min_by(|one, other| one.0.total_cmp(&other.0));
    let most = values.iter().max_by(|one, other| one.0.total_cmp(&other.0));
    match (least, most) {
        (None, _) | (_, None) => "there is no value to compare".to_owned(),
        (Some((_, only)), Some(_)) if readings.len() == 1 => format!("measured {}, expected {expected}", only.text()),
        (Some((low, least)), Some((high, most))) => {
            let range = if low == high {
                format!("measured {} under all {} readings", least.text(), readings.len())
            } else {
                format!("measured {} ({}) to {} ({})", least.text(), least.reading, most.text(), most.reading)
            };
            let missing = readings.len() - values.len();
            let missing = match missing {
                0 => String::new(),
                1 => ", no value under 1 reading".to_owned(),
                several => format!(", no value under {several} readings"),
            };
            format!("{range}{missing}, expected {expected}")
        }
    }
}
