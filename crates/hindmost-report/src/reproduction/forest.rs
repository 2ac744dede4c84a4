//! The picture of the abstract's claims: the claimed ranges and the measured values.

use hindmost_claims::{Claim, Expected, Measured, Reproduction, Status, rounded_text, with_unit};

use super::wording::span_of;
use crate::figures::{Axis, Drawing, ForestChart, ForestPanel, ForestRow, ForestValue, Unit};
use crate::text::counted;

/// Name of the file with the picture of the abstract's claims.
pub(super) const FOREST_FILE: &str = "forest.svg";
/// If fewer claims than this are drawn, further claims are drawn with them.
const FEW: usize = 3;
/// Largest number of panels. Values of further units are not drawn.
const MOST_PANELS: usize = 3;
/// Largest number of claims that are drawn.
const MOST_CLAIMS: usize = 16;

/// Draws the claims of the abstract; `None` if none of them has a measured value.
pub(crate) fn forest(reproduction: &Reproduction) -> Option<Drawing> {
    let panels = panels(reproduction);
    if panels.is_empty() {
        return None;
    }
    let best = reproduction.search.is_some();
    let chart = ForestChart {
        title: "Claims of the abstract and the headline: claimed and measured".to_owned(),
        about: "For each claim, the range of values that confirms it, the value under the base reading and under the \
                best joint reading with their 95% intervals, and the range over all readings."
            .to_owned(),
        base: "base reading".to_owned(),
        best: best.then(|| "best joint reading".to_owned()),
        panels,
    };
    Some(chart.draw())
}

/// Returns sentences that say how to read the picture and which claims it leaves out.
pub(crate) fn forest_caption(reproduction: &Reproduction) -> String {
    let mut text = "The shaded area has the values that confirm the claim; it continues to the edge if the claim has only one \
                    limit. A filled mark satisfies this rule, a hollow one does not. The bars at a mark are its 95% interval, \
                    unless it is narrower than the mark. The thin line is the range over all readings; an arrow means that it \
                    continues beyond the axis."
        .to_owned();
    let shown = chosen(reproduction);
    if shown.iter().any(|claim| !claim.confirmed.is_empty()) {
        text += " The values under the best joint reading are those on fresh seeds.";
    }
    match shown.iter().filter(|claim| !claim.in_abstract && !claim.in_headline).count() {
        0 => {}
        more => {
            let have = if more == 1 { "is" } else { "are" };
            text += &format!(" Of the claims shown, {more} {have} neither in the abstract nor in the headline.");
        }
    }
    let left_out = reproduction.claims().filter(|(_, claim)| claim.in_abstract && !is_drawable(claim)).count();
    if left_out > 0 {
        let claims = counted(left_out as u64, "claim");
        text += &format!(" Not drawn, because there is no value in some case: {claims} of the abstract.");
    }
    text
}

/// Returns whether a claim has a value to draw.
fn is_drawable(claim: &Claim) -> bool {
    let finite = |measured: &Measured| measured.mean.is_some_and(f64::is_finite);
    // A formula that has no value in some case would be drawn as if it had one.
    let all = claim.status != Status::Formula || claim.readings.iter().all(finite);
    all && claim.readings.iter().any(finite)
}

/// Returns the claims to draw: those of the abstract, and if these are few, those that the factors are about, those that
/// were measured again, and other claims of numbers in per cent about the paper's own methods.
fn chosen(reproduction: &Reproduction) -> Vec<&Claim> {
    let of = |wanted: &dyn Fn(&Claim) -> bool| -> Vec<&Claim> {
        reproduction.claims().map(|(_, claim)| claim).filter(|claim| is_drawable(claim) && wanted(claim)).collect()
    };
    let mut chosen = of(&|claim| claim.in_abstract || claim.in_headline);
    let is_number = |claim: &Claim| {
        let percent = claim.readings.first().is_some_and(|measured| measured.unit == "%");
        let Expected { low, high, .. } = claim.expected;
        claim.status == Status::Simulated && !claim.of_baseline && percent && low.is_some() && high.is_some()
    };
    let further = [
        of(&|claim| reproduction.factors.iter().any(|factor| factor.claim == claim.id)),
        of(&|claim| !claim.confirmed.is_empty()),
        of(&is_number),
    ];
    for claim in further.into_iter().flatten() {
        if chosen.len() >= FEW {
            break;
        }
        if !chosen.iter().any(|other| std::ptr::eq(*other, claim)) {
            chosen.push(claim);
        }
    }
    chosen.truncate(MOST_CLAIMS);
    chosen
}

/// Returns a panel for each unit. Per cent are first.
fn panels(reproduction: &Reproduction) -> Vec<ForestPanel> {
    let mut units: Vec<(String, Vec<ForestRow>)> = Vec::new();
    for claim in chosen(reproduction) {
        let parts = claim.also.iter().enumerate().map(|(at, part)| (Some(at), part.expected, &part.readings));
        for (part, expected, readings) in std::iter::once((None, claim.expected, &claim.readings)).chain(parts) {
            let Some(first) = readings.first() else { continue };
            let name = match part {
                None => claim.claimed.clone(),
                Some(_) => format!("and {}", first.value),
            };
            let confirmed = claim.confirmed.get(part.map_or(0, |at| at + 1));
            let row = row(reproduction, name, expected, readings, confirmed);
            match units.iter_mut().find(|(unit, _)| *unit == first.unit) {
                Some((_, rows)) => rows.push(row),
                None => units.push((first.unit.clone(), vec![row])),
            }
        }
    }
    units.sort_by_key(|(unit, _)| unit != "%");
    units.truncate(MOST_PANELS);
    let panel = |(unit, rows): (String, Vec<ForestRow>)| ForestPanel {
        axis: Axis { from_zero: unit == "%", ..Axis::new("measured value", Unit::Number(unit)) },
        rows,
    };
    units.into_iter().map(panel).collect()
}

fn row(
    reproduction: &Reproduction,
    name: String,
    expected: Expected,
    readings: &[Measured],
    confirmed: Option<&Measured>,
) -> ForestRow {
    let under = |reading: &str| readings.iter().find(|measured| measured.reading == reading);
    let base = reproduction.readings.first().and_then(|base| under(&base.name));
    let best = confirmed.or_else(|| reproduction.search.as_ref().and_then(|search| under(&search.best)));
    // Formulas have values under their own readings only.
    let (what, base) = match base {
        None if best.is_none() => ("Under another reading", readings.first()),
        base => ("Under the base reading", base),
    };
    let value = |what: &str, measured: &Measured| {
        let mean = measured.mean?;
        let holds = if measured.holds { "the rule holds" } else { "the rule does not hold" };
        Some(ForestValue {
            value: mean,
            interval: measured.ci95,
            text: with_unit(&rounded_text(mean), if measured.unit == "%" { "%" } else { "" }),
            holds: measured.holds,
            tip: format!("{what} ({}): {}, {holds}", measured.reading, measured.text()),
        })
    };
    let unit = readings.first().map_or("", |measured| measured.unit.as_str());
    let limit = |limit: f64| with_unit(&rounded_text(limit), unit);
    let means = || readings.iter().filter_map(|measured| measured.mean).filter(|mean| mean.is_finite());
    ForestRow {
        name,
        low: expected.low,
        high: expected.high,
        claimed: match (expected.low, expected.high) {
            (Some(low), Some(high)) => format!("claimed: {} to {}", limit(low), limit(high)),
            (Some(low), None) => format!("claimed: above {}", limit(low)),
            (None, Some(high)) => format!("claimed: below {}", limit(high)),
            (None, None) => "claimed: any value".to_owned(),
        },
        base: base.and_then(|measured| value(what, measured)),
        best: best.and_then(|measured| value("Best joint reading", measured)),
        range: means()
            .min_by(f64::total_cmp)
            .zip(means().max_by(f64::total_cmp))
            .filter(|(low, high)| low < high)
            .map(|(low, high)| [low, high]),
        range_tip: format!("over all readings: {}", span_of(readings).unwrap_or_default()),
    }
}
