//! Reproductions of papers: the claims of a paper, the measured values and the verdicts.
//!
//! Papers leave details out. Whether a claim holds often depends on how these details are filled in, so each claim is
//! measured under several [`Reading`]s. All readings of a claim have the same rule ([`Expected`]). The [`Verdict`]
//! depends only on the measured numbers: [`Verdict::Reproduced`] if the rule holds under every reading that was run,
//! [`Verdict::ReproducedUnder`] if it holds under some, and [`Verdict::NotReproduced`] if it holds under none.

use std::fmt;

use serde::Serialize;

use hindmost_math::statistics::{mean, student_interval};

/// The experiments of a paper, repeated: the claims, the measured values and the verdicts.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reproduction {
    /// The paper's name on the command line, such as `xu2015`.
    pub paper: String,
    /// Authors, title and year.
    pub title: String,
    /// True if the simulations were made smaller to save time: shorter, with fewer seeds, readings or swept values.
    pub quick: bool,
    /// Seeds of the simulations. A figure with other seeds says so in its description.
    pub seeds: Vec<u64>,
    /// Sentences that explain all figures: how values are measured and what the verdicts mean.
    pub notes: Vec<String>,
    /// The interpretations of details that the paper leaves out. [`Measured::reading`] refers to them by name.
    pub readings: Vec<Reading>,
    /// The paper's figures, in the order of the paper.
    pub figures: Vec<Figure>,
}

/// One interpretation of the details that the paper leaves out.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reading {
    /// Name of the reading, such as `oracle`.
    pub name: String,
    /// Sentences that say what the reading assumes.
    pub description: String,
}

/// A figure of the paper with the claims that it supports.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Figure {
    /// Name, such as `Figure 2`.
    pub name: String,
    /// Sentences that say what the figure shows and how the experiment was repeated.
    pub about: String,
    /// The paper's claims about the figure.
    pub claims: Vec<Claim>,
    /// The numbers of the figure.
    pub tables: Vec<DataTable>,
}

/// The numbers of a figure. Each row has as many cells as `columns`; a cell without a number is `None`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DataTable {
    /// Caption of the table: what the numbers mean.
    pub caption: String,
    /// Headings of the columns, from left to right.
    pub columns: Vec<String>,
    /// Rows from top to bottom, each with one cell for each column.
    pub rows: Vec<Vec<Cell>>,
    /// How the numbers are drawn; `None` if the table is not drawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plot: Option<Plot>,
}

/// How the numbers of a [`DataTable`] are drawn as curves.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Plot {
    /// Title of the figure.
    pub title: String,
    /// Label of the horizontal axis, with its unit.
    pub x: String,
    /// Label of the vertical axis, with its unit; for cumulative shares, the name of the quantity without a unit.
    pub y: String,
    /// Which cells of the table form a curve.
    pub shape: PlotShape,
    /// The curves to draw, named by the heading of their column or the first cell of their row; empty: all curves.
    pub curves: Vec<String>,
    /// Number of rows to draw, counted from the first row; `None`: all rows.
    pub rows: Option<usize>,
}

/// Which cells of a table form a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PlotShape {
    /// The first column has the positions on the horizontal axis, and each other column is a curve. A column whose
    /// heading begins with `±` is no curve: it has half of the 95% intervals of the column before it. A row whose first
    /// cell is a text is drawn as a horizontal line.
    Columns,
    /// The headings have the positions on the horizontal axis. Each row is a curve of cumulative shares, named by its
    /// first cell.
    CumulativeRows,
}

impl DataTable {
    /// Creates a table that is not drawn.
    pub fn new(caption: impl Into<String>, columns: Vec<String>, rows: Vec<Vec<Cell>>) -> DataTable {
        DataTable { caption: caption.into(), columns, rows, plot: None }
    }
}

/// A cell of a [`DataTable`].
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Cell {
    /// A finite number; `None` if the cell has no number.
    Number(Option<f64>),
    /// Text, such as the name of a policy.
    Text(String),
}

impl From<f64> for Cell {
    fn from(number: f64) -> Cell {
        Cell::Number(number.is_finite().then_some(number))
    }
}

impl From<Option<f64>> for Cell {
    fn from(number: Option<f64>) -> Cell {
        Cell::Number(number.filter(|number| number.is_finite()))
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::Text(text.to_owned())
    }
}

/// A claim of the paper and its measured values.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Claim {
    /// The paper's statement in a sentence.
    pub claimed: String,
    /// The paper's section or figure that makes the statement.
    pub section: String,
    /// The rule that a measured value must satisfy.
    pub expected: Expected,
    /// One measured value for each reading.
    pub readings: Vec<Measured>,
    /// Whether the measured values satisfy the rule.
    pub verdict: Verdict,
    /// Sentences that explain the rule or the measured values; may be empty.
    pub comment: String,
}

/// A value measured under one reading.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Measured {
    /// Name of the reading.
    pub reading: String,
    /// The measured quantity in words.
    pub value: String,
    /// Mean over seeds, or the value itself if nothing is random; `None` if there is no finite value.
    pub mean: Option<f64>,
    /// 95% interval of the mean (Student's t over seeds); `None` if nothing is random or there are fewer than two
    /// seeds.
    pub ci95: Option<[f64; 2]>,
    /// Unit of `mean` and `ci95`, such as `%` or `time units`; may be empty.
    pub unit: String,
    /// True if the value satisfies the claim's rule.
    pub holds: bool,
}

/// The rule that a measured value must satisfy to confirm a claim.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Expected {
    /// Smallest value that confirms the claim; `None` for no limit.
    pub low: Option<f64>,
    /// Largest value that confirms the claim; `None` for no limit.
    pub high: Option<f64>,
    /// True if the whole 95% interval must be strictly within the limits, and not only the mean. Claims such as "A is
    /// faster than B" have such a rule.
    pub whole_interval: bool,
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
}

impl Measured {
    /// Creates a measured value from one value for each seed: their mean and its 95% interval. There is no mean if
    /// there are no values, or if one of them is not finite.
    pub fn over_seeds(reading: &str, value: &str, values: &[f64], unit: &str) -> Measured {
        let finite = !values.is_empty() && values.iter().all(|value| value.is_finite());
        Measured {
            mean: mean(values).filter(|_| finite),
            ci95: student_interval(values).filter(|_| finite),
            ..Measured::exact(reading, value, None, unit)
        }
    }

    /// Creates a measured value that does not depend on random numbers, so it has no interval.
    pub fn exact(reading: &str, value: &str, number: Option<f64>, unit: &str) -> Measured {
        Measured {
            reading: reading.to_owned(),
            value: value.to_owned(),
            mean: number.filter(|number| number.is_finite()),
            ci95: None,
            unit: unit.to_owned(),
            holds: false,
        }
    }

    /// Formats the value with its unit and its interval: `−40% [−41, −39]`; `no value` if there is none.
    pub fn text(&self) -> String {
        let Some(mean) = self.mean else { return "no value".to_owned() };
        match self.ci95 {
            Some([low, high]) => format!(
                "{} [{}, {}]",
                with_unit(&rounded_text(mean), &self.unit),
                rounded_text(low),
                rounded_text(high)
            ),
            None => with_unit(&number_text(mean), &self.unit),
        }
    }
}

impl Expected {
    /// The rule that the mean differs from `target` by at most `tolerance`.
    pub fn near(target: f64, tolerance: f64) -> Expected {
        Expected { low: Some(target - tolerance), high: Some(target + tolerance), whole_interval: false }
    }

    /// The rule that the mean is at most `high`.
    pub fn at_most(high: f64) -> Expected {
        Expected { low: None, high: Some(high), whole_interval: false }
    }

    /// The rule that the mean is at least `low`.
    pub fn at_least(low: f64) -> Expected {
        Expected { low: Some(low), high: None, whole_interval: false }
    }

    /// The rule that the whole interval is below `high`.
    pub fn below(high: f64) -> Expected {
        Expected { low: None, high: Some(high), whole_interval: true }
    }

    /// The rule that the whole interval is above `low`.
    pub fn above(low: f64) -> Expected {
        Expected { low: Some(low), high: None, whole_interval: true }
    }

    /// Returns whether a mean with its interval satisfies the rule; false if `mean` is `None`. If `whole_interval` is
    /// set, an interval that touches a limit does not satisfy the rule.
    pub fn accepts(&self, mean: Option<f64>, ci95: Option<[f64; 2]>) -> bool {
        let Some(mean) = mean else { return false };
        let [least, most] = ci95.filter(|_| self.whole_interval).unwrap_or([mean, mean]);
        let strict = self.whole_interval;
        self.low.is_none_or(|low| least > low || (!strict && least == low))
            && self.high.is_none_or(|high| most < high || (!strict && most == high))
    }

    /// Formats the rule for values that have this unit. `has_intervals` says whether the values have intervals.
    fn text(&self, unit: &str, has_intervals: bool) -> String {
        let limit = |value: f64| with_unit(&limit_text(value), unit);
        let text = match (self.low, self.high, self.whole_interval) {
            (Some(low), Some(high), false) if limit_text(low) == limit_text(high) => format!("equal to {}", limit(low)),
            (Some(low), Some(high), false) if unit == "%" => format!("from {} to {}", limit(low), limit(high)),
            (Some(low), Some(high), false) => format!("from {} to {}", limit_text(low), limit(high)),
            (Some(low), None, false) => format!("at least {}", limit(low)),
            (None, Some(high), false) => format!("at most {}", limit(high)),
            (Some(low), Some(high), true) => format!("between {} and {}", limit(low), limit(high)),
            (Some(low), None, true) => format!("above {}", limit(low)),
            (None, Some(high), true) => format!("below {}", limit(high)),
            (None, None, _) => "any value".to_owned(),
        };
        let whole = if self.whole_interval && has_intervals { "the whole interval " } else { "" };
        format!("{whole}{text}")
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Reproduced => f.write_str("reproduced"),
            Verdict::ReproducedUnder { readings } => write!(f, "reproduced under {}", readings.join("; ")),
            Verdict::NotReproduced { why } => write!(f, "not reproduced: {why}"),
        }
    }
}

impl Verdict {
    /// Returns `reproduced`, `reproduced under N of M readings` or `not reproduced`, where M is `readings_run`.
    pub fn short(&self, readings_run: usize) -> String {
        match self {
            Verdict::Reproduced => "reproduced".to_owned(),
            Verdict::ReproducedUnder { readings } => {
                format!("reproduced under {} of {readings_run} readings", readings.len())
            }
            Verdict::NotReproduced { .. } => "not reproduced".to_owned(),
        }
    }
}

impl Claim {
    /// Creates a claim: applies the rule to every measured value and derives the verdict.
    pub fn judge(
        claimed: &str,
        section: &str,
        expected: Expected,
        mut readings: Vec<Measured>,
        comment: impl Into<String>,
    ) -> Claim {
        for measured in &mut readings {
            measured.holds = expected.accepts(measured.mean, measured.ci95);
        }
        let holding: Vec<String> =
            readings.iter().filter(|measured| measured.holds).map(|measured| measured.reading.clone()).collect();
        let verdict = if holding.is_empty() {
            Verdict::NotReproduced { why: why_not(expected, &readings) }
        } else if holding.len() == readings.len() {
            Verdict::Reproduced
        } else {
            Verdict::ReproducedUnder { readings: holding }
        };
        Claim {
            claimed: claimed.to_owned(),
            section: section.to_owned(),
            expected,
            readings,
            verdict,
            comment: comment.into(),
        }
    }

    /// Formats the claim's rule with the unit of the measured values: `from −65% to −55%`.
    pub fn rule(&self) -> String {
        rule(self.expected, &self.readings)
    }

    /// Returns the measured value that summaries show: the first one that satisfies the rule, or the first one if none
    /// does.
    pub fn representative(&self) -> Option<&Measured> {
        self.readings.iter().find(|measured| measured.holds).or(self.readings.first())
    }
}

/// Formats a rule with the unit of the measured values.
fn rule(expected: Expected, readings: &[Measured]) -> String {
    let unit = readings.first().map_or("", |measured| measured.unit.as_str());
    expected.text(unit, readings.iter().any(|measured| measured.ci95.is_some()))
}

/// Describes the measured values of a claim whose rule holds under no reading.
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

/// Sizes below this are rounding errors.
const ROUNDING_ERROR: f64 = 1e-12;
/// Smallest size that is shown as a number.
const SMALLEST_SHOWN: f64 = 1e-4;
/// Sizes from here on are shown with a power of ten.
const LARGE: f64 = 1e15;

/// Formats a number with three significant digits, or four from 1000 on. Whole numbers keep all digits. Sizes below
/// 0.0001 are shown as `< 0.0001` or `> −0.0001`.
pub fn number_text(value: f64) -> String {
    match value.abs() {
        size if (ROUNDING_ERROR..SMALLEST_SHOWN).contains(&size) && value > 0.0 => "< 0.0001".to_owned(),
        size if (ROUNDING_ERROR..SMALLEST_SHOWN).contains(&size) => "> \u{2212}0.0001".to_owned(),
        size => decimal(value, if size < 1000.0 { 3 } else { 4 }),
    }
}

/// Formats a number like [`number_text`], but sizes below 0.0001 are rounded to 0 or 0.0001. Suits numbers that have an
/// interval, and the ends of intervals.
pub fn rounded_text(value: f64) -> String {
    if value.abs() < SMALLEST_SHOWN {
        decimal((value / SMALLEST_SHOWN).round() * SMALLEST_SHOWN, 1)
    } else {
        number_text(value)
    }
}

/// Formats a limit of a rule with at most four significant digits.
fn limit_text(value: f64) -> String {
    decimal(value, 4)
}

/// Formats a number with some significant digits, without trailing zeros. Whole numbers keep all digits.
fn decimal(value: f64, significant: i32) -> String {
    let size = value.abs();
    let text = match size {
        _ if !value.is_finite() => return format!("{value}"),
        _ if size < ROUNDING_ERROR => return "0".to_owned(),
        _ if size >= LARGE => {
            let power = size.log10().floor();
            return format!("{}·10^{power}", decimal(value / 10f64.powf(power), significant));
        }
        _ if value.fract() == 0.0 => format!("{value}"),
        _ => match significant - 1 - size.log10().floor() as i32 {
            decimals @ 0.. => format!("{value:.*}", decimals as usize),
            decimals => {
                let step = 10f64.powi(-decimals);
                format!("{:.0}", (value / step).round() * step)
            }
        },
    };
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text };
    text.replace('-', "\u{2212}")
}

/// Appends a unit to a number. There is no space before `%`.
pub fn with_unit(number: &str, unit: &str) -> String {
    match unit {
        "" => number.to_owned(),
        "%" => format!("{number}%"),
        _ => format!("{number} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(reading: &str, mean: f64, half: f64) -> Measured {
        Measured { ci95: Some([mean - half, mean + half]), ..Measured::exact(reading, "change", Some(mean), "%") }
    }

    fn verdict(expected: Expected, readings: Vec<Measured>) -> Verdict {
        Claim::judge("A is faster than B", "I", expected, readings, "").verdict
    }

    #[test]
    fn verdicts_depend_on_how_many_readings_hold() {
        let near = Expected::near(-60.0, 5.0);
        assert_eq!(verdict(near, vec![measured("a", -57.0, 1.0), measured("b", -65.0, 9.0)]), Verdict::Reproduced);
        let some = verdict(near, vec![measured("a", -40.0, 1.0), measured("b", -61.0, 1.0)]);
        assert_eq!(some, Verdict::ReproducedUnder { readings: vec!["b".to_owned()] });
        let none = verdict(near, vec![measured("a", -40.0, 1.0), measured("b", 3.25, 0.5)]);
        let why = "measured \u{2212}40% [\u{2212}41, \u{2212}39] (a) to 3.25% [2.75, 3.75] (b), \
                   expected from \u{2212}65% to \u{2212}55%";
        assert_eq!(none, Verdict::NotReproduced { why: why.to_owned() });
    }

    #[test]
    fn a_rule_for_the_whole_interval_excludes_its_limit() {
        let below = Expected::below(0.0);
        assert!(below.accepts(Some(-1.0), Some([-1.5, -0.5])));
        assert!(!below.accepts(Some(-1.0), Some([-2.5, 0.5])));
        assert!(!below.accepts(Some(0.0), Some([0.0, 0.0])));
        assert!(Expected::at_most(0.0).accepts(Some(0.0), Some([-1.0, 1.0])));
        assert!(!Expected::above(0.0).accepts(Some(1.0), Some([-0.1, 2.1])));
    }

    #[test]
    fn a_reading_without_a_value_does_not_hold() {
        let missing = Measured::over_seeds("a", "x", &[1.0, f64::NAN], "s");
        assert_eq!((missing.mean, missing.ci95), (None, None));
        let none = verdict(Expected::at_most(1.0), vec![missing]);
        assert_eq!(none, Verdict::NotReproduced { why: "there is no value to compare".to_owned() });
        let none =
            verdict(Expected::at_most(1.0), vec![Measured::over_seeds("a", "x", &[], ""), measured("b", 2.0, 0.0)]);
        assert!(matches!(none, Verdict::NotReproduced { why } if why.contains("no value under 1 reading,")));
    }

    #[test]
    fn numbers_have_three_or_four_significant_digits() {
        for (number, text) in [
            (0.0, "0"),
            (1.70711, "1.71"),
            (1234.5, "1234"),
            (26914.2, "26910"),
            (26914.0, "26914"),
            (-0.01234, "\u{2212}0.0123"),
            (100.0, "100"),
            (8.9e-16, "0"),
            (4.5e-7, "< 0.0001"),
            (-1.59e-5, "> \u{2212}0.0001"),
            (2.5e9, "2500000000"),
            (2.5e18, "2.5·10^18"),
        ] {
            assert_eq!(number_text(number), text);
        }
        assert_eq!([-1.59e-5, 8.4e-5, 0.0643].map(rounded_text), ["0", "0.0001", "0.0643"]);
    }

    #[test]
    fn rules_have_the_unit_of_the_measured_values() {
        let rule = |expected: Expected, unit: &str, interval| {
            let values: &[f64] = if interval { &[1.0, 2.0] } else { &[1.0] };
            Claim::judge("", "", expected, vec![Measured::over_seeds("a", "x", values, unit)], "").rule()
        };
        for (text, expected, unit, interval) in [
            ("from \u{2212}65% to \u{2212}55%", Expected::near(-60.0, 5.0), "%", true),
            ("from 1.706 to 1.708 mean durations", Expected::near(1.707, 0.001), "mean durations", false),
            ("equal to 46 s", Expected::near(46.0, 0.0), "s", false),
            ("at most 0.000000001 of the delay", Expected::at_most(1e-9), "of the delay", false),
            ("at least 20", Expected::at_least(20.0), "", true),
            ("the whole interval below 0%", Expected::below(0.0), "%", true),
            ("above 0 copies", Expected::above(0.0), "copies", false),
        ] {
            assert_eq!(rule(expected, unit, interval), text);
        }
    }
}
