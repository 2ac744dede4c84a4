//! What a reader sees first: the answer, the claims of the abstract, what decides them, and what was tested.

use hindmost_claims::{
    BesideMean, Claim, Factor, HeavyTails, Measured, Reading, Reproduction, Status, number_text, rounded_text,
    with_unit,
};

use super::wording::seeds;
use super::wording::sign;
use crate::text::{capitalised, counted};

/// The headings of the rows of [`quantiles`].
pub(crate) const QUANTILE_HEADINGS: [&str; 4] = ["Measured", "Mean [95% interval]", "Median", "95th percentile"];

/// A detail that the paper leaves out.
pub(crate) struct FactorRow {
    /// Name of the detail.
    pub(crate) name: String,
    /// The claim whose value changes; empty if it is the same for all details.
    pub(crate) claimed: String,
    /// The value under the base reading.
    pub(crate) base: String,
    /// The smallest value with its reading.
    pub(crate) low: String,
    /// The largest value with its reading.
    pub(crate) high: String,
    /// The difference between the largest and the smallest value.
    pub(crate) swing: String,
}

/// The measured values of all parts of a claim under one reading.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Value {
    /// The values with their units and intervals; a dash if there is none.
    pub(crate) text: String,
    /// Whether the claim holds; `None` if it was not measured.
    pub(crate) holds: Option<bool>,
    /// Whether other seeds might decide otherwise.
    pub(crate) is_close: bool,
}

impl Value {
    fn of<'a>(values: impl Iterator<Item = &'a Measured>, holds: Option<bool>) -> Value {
        let values: Vec<&Measured> = values.collect();
        let text = |measured: &&Measured| match values.len() {
            1 => measured.text(),
            _ => format!("{}: {}", measured.value, measured.text()),
        };
        Value { text: values.iter().map(text).collect::<Vec<_>>().join("; "), holds, is_close: false }
    }

    fn none() -> Value {
        Value { text: "–".to_owned(), holds: None, is_close: false }
    }

    /// Returns the value with a sign before it that says whether the claim holds.
    pub(crate) fn signed(&self) -> String {
        match self.holds {
            None => self.text.clone(),
            holds => format!("{}{} {}", sign(holds), if self.is_close { "?" } else { "" }, self.text),
        }
    }
}

/// Returns the values of a claim under a reading.
fn under(claim: &Claim, reading: &str) -> Option<Value> {
    let main = claim.under(reading)?;
    let find = |readings: &'_ [Measured]| readings.iter().position(|measured| measured.reading == reading);
    let parts = claim.also.iter().filter_map(|part| part.readings.get(find(&part.readings)?));
    let value = Value::of(std::iter::once(main).chain(parts), claim.holds_under(reading));
    Some(Value { is_close: claim.is_close_under(reading), ..value })
}

/// Returns the values of a claim under the base reading. If the claim was not measured under it, the value is under
/// another reading, which the text names, or comes from a formula.
pub(crate) fn base_value(reproduction: &Reproduction, claim: &Claim) -> Value {
    let base = reproduction.readings.first().and_then(|base| under(claim, &base.name));
    base.or_else(|| {
        // All cases of a formula must satisfy the rule, so one that does not is shown.
        let fails = |measured: &&Measured| claim.holds_under(&measured.reading) != Some(true);
        let failing = claim.readings.iter().find(fails).filter(|_| claim.status == Status::Formula);
        let reading = &failing.or_else(|| claim.representative())?.reading;
        let value = under(claim, reading)?;
        Some(Value { text: format!("{} ({reading})", value.text), ..value })
    })
    .unwrap_or_else(Value::none)
}

/// Returns the values of a claim under the best joint reading, on fresh seeds if there are such values.
pub(crate) fn best_value(reproduction: &Reproduction, claim: &Claim) -> Value {
    if !claim.confirmed.is_empty() {
        let holds = claim.confirmed.iter().all(|measured| measured.holds);
        let value = Value::of(claim.confirmed.iter(), Some(holds));
        return Value { is_close: claim.is_confirmation_close(), ..value };
    }
    let best = reproduction.search.as_ref().filter(|_| claim.status == Status::Simulated);
    best.and_then(|search| under(claim, &search.best)).unwrap_or_else(Value::none)
}

/// Largest number of readings besides the base reading whose values are all shown.
const MOST_OTHERS: usize = 3;

/// Returns the text of a claim's values beside those under the base reading, given its value under the best joint reading.
type Beside<'a> = Box<dyn Fn(&Claim, &Value) -> String + 'a>;

/// Returns what claims are compared with besides the base reading, and the text for a claim: the values under the other
/// readings if there are few of them, otherwise the values under the best joint reading.
pub(crate) fn beside_base(reproduction: &Reproduction) -> (&'static str, Beside<'_>) {
    let others = reproduction.readings.get(1..).unwrap_or_default();
    if others.is_empty() || others.len() > MOST_OTHERS {
        return ("best joint reading", Box::new(|_, best| best.signed()));
    }
    let text = move |claim: &Claim, _: &Value| {
        let of = |reading: &Reading| Some(format!("{}: {}", reading.name, under(claim, &reading.name)?.signed()));
        let values: Vec<String> = others.iter().filter_map(of).collect();
        if values.is_empty() { "–".to_owned() } else { values.join("; ") }
    };
    (if others.len() == 1 { "other reading" } else { "other readings" }, Box::new(text))
}

/// Returns sentences that say why means with infinite variance alone may mislead, and a row for each of them: what was measured, the
/// mean, the median and the 95th percentile, under the base reading.
pub(super) fn quantiles(tails: &HeavyTails) -> (String, Vec<[String; 4]>) {
    let cautions: Vec<String> = tails.cautions.iter().map(|caution| capitalised(caution) + ".").collect();
    let row = |one: &BesideMean| {
        // Whose change it is, without the words for a mean.
        let measured = capitalised(one.value.strip_prefix("mean ").unwrap_or(&one.value));
        [measured, one.text(&one.mean), one.text(&one.median), one.text(&one.p95)]
    };
    let about = format!("{} Here quantiles stand beside the means, under the base reading.", cautions.join(" "));
    (about, tails.beside.iter().map(row).collect())
}

/// Largest number of details that the first screen shows.
const MOST_FACTORS: usize = 10;

/// Returns a sentence that introduces the details that change the headline, the details with the largest effect, and a
/// sentence about all others.
pub(super) fn factors(reproduction: &Reproduction) -> (String, Vec<FactorRow>, String) {
    let claimed = |id: &String| reproduction.claim(id).map_or_else(|| id.clone(), |claim| claim.claimed.clone());
    let first = reproduction.factors.first().map(|factor| &factor.claim);
    let one = first.filter(|first| reproduction.factors.iter().all(|factor| factor.claim == **first));
    let seeds = seeds(&reproduction.seeds);
    let about = match one {
        Some(claim) => format!(
            "Details that the paper leaves out change the value of this claim: {}. Measured on seeds {seeds}.",
            claimed(claim)
        ),
        None => format!("Details that the paper leaves out, those with the largest effect first, on seeds {seeds}."),
    };
    let swing = |factor: &Factor| {
        let swing = rounded_text(factor.swing());
        match factor.unit.as_str() {
            "%" => with_unit(&swing, "percentage points"),
            unit => with_unit(&swing, unit),
        }
    };
    let row = |factor: &Factor| {
        let value = |number: f64| with_unit(&rounded_text(number), &factor.unit);
        let of_reading = |number: f64, reading: &str| format!("{} ({reading})", value(number));
        FactorRow {
            name: factor.name.clone(),
            claimed: if one.is_some() { String::new() } else { claimed(&factor.claim) },
            base: value(factor.base),
            low: of_reading(factor.low, &factor.low_reading),
            high: of_reading(factor.high, &factor.high_reading),
            swing: swing(factor),
        }
    };
    let (shown, left) = reproduction.factors.split_at(reproduction.factors.len().min(MOST_FACTORS));
    let mut others: Vec<&str> = Vec::new();
    for factor in left {
        let known = shown.iter().any(|shown| shown.name == factor.name) || others.contains(&factor.name.as_str());
        if !known {
            others.push(&factor.name);
        }
    }
    let rest = match left.first() {
        Some(largest) if !others.is_empty() => {
            let less = format!("These change the values by at most {}: {}.", swing(largest), others.join("; "));
            if largest.swing() > 0.0 { less } else { format!("These change nothing: {}.", others.join("; ")) }
        }
        _ => String::new(),
    };
    (about, shown.iter().map(row).collect(), rest)
}

/// Returns a sentence with the number of claims that were listed, tested and not run.
pub(super) fn coverage(reproduction: &Reproduction) -> String {
    let coverage = reproduction.coverage;
    let were = |count: usize| if count == 1 { "was" } else { "were" };
    let formulas = match coverage.by_formula {
        0 => String::new(),
        count => format!(", {count} of them by formulas without simulation"),
    };
    let recorded = match coverage.recorded {
        0 => String::new(),
        count => format!(", {count} by times that were measured once on a known machine"),
    };
    let not_run = match coverage.not_run {
        0 => "every claim was tested".to_owned(),
        1 => "1 was not run, and the reason is given".to_owned(),
        count => format!("{count} were not run, and the reason is given for each"),
    };
    format!(
        "{}: {} {} tested{formulas}{recorded}; {not_run}.",
        counted(coverage.listed as u64, "claim"),
        coverage.tested,
        were(coverage.tested)
    )
}

/// Returns whether a command names figures or claims.
fn is_part(command: &str) -> bool {
    [" --figure ", " --claim "].iter().any(|option| command.contains(option))
}

/// Returns a sentence that says how long the reproduction takes.
pub(super) fn minutes(reproduction: &Reproduction) -> String {
    match reproduction.minutes {
        Some(minutes) if minutes < 0.95 => "It takes less than a minute on two cores.".to_owned(),
        Some(minutes) if minutes.round() <= 1.0 => "It takes about a minute on two cores.".to_owned(),
        Some(minutes) => format!("It takes about {} minutes on two cores.", number_text(minutes.round())),
        None if reproduction.quick && !is_part(&reproduction.command) => "It takes a few minutes.".to_owned(),
        None => "It makes only a part of the reproduction.".to_owned(),
    }
}
