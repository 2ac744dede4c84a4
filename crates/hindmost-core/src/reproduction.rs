//! Reproductions of papers: what a paper claims, what is measured, and the verdict.
//!
//! Papers leave details out, and how these are filled in decides many claims. So a claim is measured under several
//! [`Reading`]s, each with the same rule ([`Expected`]). Its [`Verdict`] follows from the measured numbers alone:
//! [`Verdict::Reproduced`] if the rule holds under every reading that was run, [`Verdict::ReproducedUnder`] if it holds
//! under some, and [`Verdict::NotReproduced`] if it holds under none.

use std::fmt;

use serde::Serialize;

use hindmost_math::statistics::{mean, student_interval};

/// The results of a paper's experiments, run again.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reproduction {
    /// Key of the paper on the command line.
    pub paper: String,
    /// Authors, title and year.
    pub title: String,
    /// True if horizons were shortened and sweeps thinned to save time.
    pub quick: bool,
    /// Seeds of the simulations, unless a figure says otherwise.
    pub seeds: Vec<u64>,
    /// What a reader of all figures must know.
    pub notes: Vec<String>,
    /// The ways in which missing details were filled in. Claims refer to their names.
    pub readings: Vec<Reading>,
    /// The paper's figures, in its order.
    pub figures: Vec<Figure>,
}

/// One way to fill in the details that the paper leaves out.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reading {
    /// Its name.
    pub name: String,
    /// What it assumes.
    pub description: String,
}

/// A figure of the paper with the claims that it supports.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Figure {
    /// Name, such as `Figure 2`.
    pub name: String,
    /// What it shows, and how the experiment was run again.
    pub about: String,
    /// What the paper claims about it.
    pub claims: Vec<Claim>,
    /// The numbers of the figure.
    pub tables: Vec<DataTable>,
}

/// The numbers of a figure. Each row has as many cells as `columns`; a cell without a number is `None`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DataTable {
    /// What the numbers mean; printed as the caption of the table.
    pub caption: String,
    /// Headings.
    pub columns: Vec<String>,
    /// Rows.
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
    /// How curves are read from the table.
    pub shape: PlotShape,
    /// The curves to draw, by the heading of their column or row; empty: all.
    pub curves: Vec<String>,
    /// Number of rows to draw, from the first; `None`: all.
    pub rows: Option<usize>,
}

/// How the curves of a plot are read from its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PlotShape {
    /// The first column has the positions on the horizontal axis. Each other column is a curve, or half of the interval
    /// of the column before it if its heading begins with `±`. A row whose first cell is a text is a constant level.
    Columns,
    /// The headings have the positions. Each row is a curve of cumulative shares, named by its first cell.
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
    /// A number; `None` where there is none.
    Number(Option<f64>),
    /// A text.
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
    /// What the paper states.
    pub claimed: String,
    /// The section in which it states this.
    pub section: String,
    /// The rule that a measured value must satisfy.
    pub expected: Expected,
    /// The measured values.
    pub readings: Vec<Measured>,
    /// The verdict.
    pub verdict: Verdict,
    /// A comment that helps to understand the claim; may be empty.
    pub comment: String,
}

/// A value measured under one reading.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Measured {
    /// The reading's name.
    pub reading: String,
    /// What was measured.
    pub value: String,
    /// Mean over seeds, or the value if nothing is random; `None` if there is no value.
    pub mean: Option<f64>,
    /// 95% interval of the mean (Student's t over seeds); `None` if nothing is random.
    pub ci95: Option<[f64; 2]>,
    /// The unit; may be empty.
    pub unit: String,
    /// True if the claim's rule holds.
    pub holds: bool,
}

/// The rule that a measured value must satisfy to confirm a claim.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Expected {
    /// Smallest value; `None` for no limit.
    pub low: Option<f64>,
    /// Largest value; `None` for no limit.
    pub high: Option<f64>,
    /// True if the whole 95% interval must be strictly within the limits, not only the mean. Used for claims about a
    /// direction.
    pub whole_interval: bool,
}

/// Whether the measured values confirm a claim.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The claim holds under every reading.
    Reproduced,
    /// The claim holds only under these readings.
    ReproducedUnder {
        /// Names of the readings.
        readings: Vec<String>,
    },
    /// The claim holds under no reading.
    NotReproduced {
        /// What was measured instead.
        why: String,
    },
}

impl Measured {
    /// Returns the mean of one value per seed, with its interval.
    pub fn over_seeds(reading: &str, value: &str, values: &[f64], unit: &str) -> Measured {
        let finite = !values.is_empty() && values.iter().all(|value| value.is_finite());
        Measured {
            mean: mean(values).filter(|_| finite),
            ci95: student_interval(values).filter(|_| finite),
            ..Measured::exact(reading, value, None, unit)
        }
    }

    /// Returns a value that does not depend on random numbers.
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

    /// Formats the value with its interval and unit.
    pub fn text(&self) -> String {
        let Some(mean) = self.mean else { return "none".to_owned() };
        let unit = if self.unit.is_empty() || self.unit == "%" { self.unit.clone() } else { format!(" {}", self.unit) };
        match self.ci95 {
            Some([low, high]) => format!("{}{unit} [{}, {}]", number_text(mean), number_text(low), number_text(high)),
            None => format!("{}{unit}", number_text(mean)),
        }
    }
}

impl Expected {
    /// The mean is within `tolerance` of `target`.
    pub fn near(target: f64, tolerance: f64) -> Expected {
        Expected { low: Some(target - tolerance), high: Some(target + tolerance), whole_interval: false }
    }

    /// The mean is at most `high`.
    pub fn at_most(high: f64) -> Expected {
        Expected { low: None, high: Some(high), whole_interval: false }
    }

    /// The mean is at least `low`.
    pub fn at_least(low: f64) -> Expected {
        Expected { low: Some(low), high: None, whole_interval: false }
    }

    /// The whole interval is below `high`.
    pub fn below(high: f64) -> Expected {
        Expected { low: None, high: Some(high), whole_interval: true }
    }

    /// The whole interval is above `low`.
    pub fn above(low: f64) -> Expected {
        Expected { low: Some(low), high: None, whole_interval: true }
    }

    /// Returns whether a value satisfies the rule. False without a value. If the whole interval counts, it must not
    /// touch a limit.
    pub fn accepts(&self, mean: Option<f64>, ci95: Option<[f64; 2]>) -> bool {
        let Some(mean) = mean else { return false };
        let [least, most] = ci95.filter(|_| self.whole_interval).unwrap_or([mean, mean]);
        let strict = self.whole_interval;
        self.low.is_none_or(|low| least > low || (!strict && least == low))
            && self.high.is_none_or(|high| most < high || (!strict && most == high))
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.low, self.high, self.whole_interval) {
            (Some(low), Some(high), false) => write!(f, "from {} to {}", number_text(low), number_text(high)),
            (Some(low), None, false) => write!(f, "at least {}", number_text(low)),
            (None, Some(high), false) => write!(f, "at most {}", number_text(high)),
            (Some(low), Some(high), true) => {
                write!(f, "interval between {} and {}", number_text(low), number_text(high))
            }
            (Some(low), None, true) => write!(f, "interval above {}", number_text(low)),
            (None, Some(high), true) => write!(f, "interval below {}", number_text(high)),
            (None, None, _) => f.write_str("any value"),
        }
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
    /// Returns `reproduced`, `reproduced under N of M readings` or `not reproduced`. `of` is M.
    pub fn short(&self, of: usize) -> String {
        match self {
            Verdict::Reproduced => "reproduced".to_owned(),
            Verdict::ReproducedUnder { readings } => format!("reproduced under {} of {of} readings", readings.len()),
            Verdict::NotReproduced { .. } => "not reproduced".to_owned(),
        }
    }
}

impl Claim {
    /// Applies the rule to every measured value and returns the claim with its verdict.
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

    /// Returns the measured value that represents the claim in a summary: the first that holds, or else the first.
    pub fn representative(&self) -> Option<&Measured> {
        self.readings.iter().find(|measured| measured.holds).or(self.readings.first())
    }
}

/// Describes in numbers why no reading holds.
fn why_not(expected: Expected, readings: &[Measured]) -> String {
    let values: Vec<(f64, &Measured)> = readings.iter().filter_map(|one| Some((one.mean?, one))).collect();
    let least = values.iter().min_by(|one, other| one.0.total_cmp(&other.0));
    let most = values.iter().max_by(|one, other| one.0.total_cmp(&other.0));
    match (least, most) {
        (None, _) | (_, None) => "there is no value to compare".to_owned(),
        (Some((_, only)), Some(_)) if readings.len() == 1 => format!("measured {}, needed {expected}", only.text()),
        (Some((low, least)), Some((high, most))) => {
            let range = if low == high {
                format!("measured {} under all {} readings", least.text(), readings.len())
            } else {
                format!("measured {} ({}) to {} ({})", least.text(), least.reading, most.text(), most.reading)
            };
            let missing = readings.len() - values.len();
            let missing = if missing > 0 { format!(", no value under {missing} readings") } else { String::new() };
            format!("{range}{missing}, needed {expected}")
        }
    }
}

/// Formats a number with three or four digits, without an exponent for ordinary sizes.
pub fn number_text(value: f64) -> String {
    let size = value.abs();
    let text = match size {
        _ if !value.is_finite() => return format!("{value}"),
        _ if size < 1e-12 => return "0".to_owned(),
        _ if !(1e-4..1e7).contains(&size) => return format!("{value:.2e}"),
        _ => {
            let digits = (2 - size.log10().floor() as i32).max(0) as usize;
            format!("{value:.digits$}")
        }
    };
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text };
    text.replace('-', "\u{2212}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(reading: &str, mean: f64, half: f64) -> Measured {
        Measured { ci95: Some([mean - half, mean + half]), ..Measured::exact(reading, "change", Some(mean), "%") }
    }

    fn verdict(expected: Expected, readings: Vec<Measured>) -> Verdict {
        Claim::judge("it is so", "I", expected, readings, "").verdict
    }

    #[test]
    fn verdicts_follow_from_the_numbers() {
        let near = Expected::near(-60.0, 5.0);
        assert_eq!(verdict(near, vec![measured("a", -57.0, 1.0), measured("b", -65.0, 9.0)]), Verdict::Reproduced);
        let some = verdict(near, vec![measured("a", -40.0, 1.0), measured("b", -61.0, 1.0)]);
        assert_eq!(some, Verdict::ReproducedUnder { readings: vec!["b".to_owned()] });
        let none = verdict(near, vec![measured("a", -40.0, 1.0), measured("b", 3.25, 0.5)]);
        let why = "measured \u{2212}40% [\u{2212}41, \u{2212}39] (a) to 3.25% [2.75, 3.75] (b), \
                   needed from \u{2212}65 to \u{2212}55";
        assert_eq!(none, Verdict::NotReproduced { why: why.to_owned() });
    }

    #[test]
    fn a_direction_needs_the_whole_interval() {
        let below = Expected::below(0.0);
        assert!(below.accepts(Some(-1.0), Some([-1.5, -0.5])));
        assert!(!below.accepts(Some(-1.0), Some([-2.5, 0.5])));
        assert!(!below.accepts(Some(0.0), Some([0.0, 0.0])));
        assert!(Expected::at_most(0.0).accepts(Some(0.0), Some([-1.0, 1.0])));
        assert!(!Expected::above(0.0).accepts(Some(1.0), Some([-0.1, 2.1])));
    }

    #[test]
    fn a_missing_value_never_holds() {
        let missing = Measured::over_seeds("a", "x", &[1.0, f64::NAN], "s");
        assert_eq!((missing.mean, missing.ci95), (None, None));
        let none = verdict(Expected::at_most(1.0), vec![missing]);
        assert_eq!(none, Verdict::NotReproduced { why: "there is no value to compare".to_owned() });
        let none =
            verdict(Expected::at_most(1.0), vec![Measured::over_seeds("a", "x", &[], ""), measured("b", 2.0, 0.0)]);
        assert!(matches!(none, Verdict::NotReproduced { why } if why.contains("no value under 1 readings")));
    }

    #[test]
    fn numbers_are_short() {
        for (number, text) in [
            (0.0, "0"),
            (1.70711, "1.71"),
            (26520.4, "26520"),
            (-0.01234, "\u{2212}0.0123"),
            (100.0, "100"),
            (2.5e9, "2.50e9"),
        ] {
            assert_eq!(number_text(number), text);
        }
    }
}
