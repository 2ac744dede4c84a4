//! Three sentences that answer: does the paper's headline hold, under what, and why not otherwise. The paper's data have
//! the third one; without it, the detail with the largest effect is named.

use hindmost_core::reproduction::{Claim, Factor, Measured, Reading, Search, number_text, with_unit};

use crate::data::Paper;

/// Returns the sentences. They are empty if no claim of the headline was measured.
pub fn answer(
    paper: &Paper,
    claims: &[Claim],
    readings: &[Reading],
    search: Option<&Search>,
    factors: &[Factor],
) -> Vec<String> {
    let headline: Vec<&Claim> = paper
        .headline
        .iter()
        .filter_map(|id| claims.iter().find(|claim| claim.id == *id && !claim.readings.is_empty()))
        .collect();
    let Some(base) = readings.first().filter(|_| !headline.is_empty()) else { return Vec::new() };
    let mut sentences = vec![under_base(&headline, base, paper.headline.len())];
    if readings.len() > 1 {
        sentences.push(under_some(&headline, readings, search, headline.len() == paper.headline.len()));
    }
    let decisive = factors.iter().find(|factor| headline.first().is_some_and(|claim| claim.id == factor.claim));
    match decisive {
        _ if !paper.why.trim().is_empty() => sentences.push(paper.why.trim().to_owned()),
        Some(factor) => sentences.push(most_depends(headline[0], factor)),
        None => {}
    }
    sentences
}

fn most_depends(claim: &Claim, factor: &Factor) -> String {
    let value = |value: f64| with_unit(&number_text(value), &factor.unit);
    format!(
        "Most depends on {}: with nothing else changed, the value of “{}” is {} to {}.",
        factor.name,
        claim.claimed,
        value(factor.low),
        value(factor.high)
    )
}

/// Number of claims whose values the first sentence shows.
const SHOWN_VALUES: usize = 3;

/// Returns the values of a claim under a reading. Of a claim of several parts, those that do not hold are shown by name,
/// or the first one.
fn shown(claim: &Claim, reading: &str) -> Option<String> {
    let main = claim.under(reading)?;
    if claim.also.is_empty() {
        return Some(main.text());
    }
    let others = claim.also.iter().filter_map(|part| part.readings.iter().find(|one| one.reading == reading));
    let parts: Vec<&Measured> = std::iter::once(main).chain(others).collect();
    let failing: Vec<&Measured> = parts.iter().copied().filter(|part| !part.holds).collect();
    let shown = failing.first().copied().unwrap_or(main);
    let more = match failing.len() {
        0 | 1 => String::new(),
        several => format!(" and {} more of {} parts do not hold", several - 1, parts.len()),
    };
    Some(format!("{} {}{more}", shown.text(), quoted(&shown.value)))
}

fn quoted(text: &str) -> String {
    format!("({text})")
}

/// `all` is the number of claims that form the paper's headline, of which `headline` were measured.
fn under_base(headline: &[&Claim], base: &Reading, all: usize) -> String {
    let held: Vec<&&Claim> = headline.iter().filter(|claim| claim.holds_under(&base.name) == Some(true)).collect();
    let values: Vec<String> = headline
        .iter()
        .filter_map(|claim| Some(format!("“{}”: measured {}", claim.claimed, shown(claim, &base.name)?)))
        .take(SHOWN_VALUES)
        .collect();
    let opening = match (held.len(), headline.len()) {
        (some, measured) if measured < all => format!(
            "Of the headline's {all} claims, {measured} {} measured here, of which {some} {} under the base reading",
            if measured == 1 { "was" } else { "were" },
            if some == 1 { "holds" } else { "hold" }
        ),
        (1, 1) => "The headline holds under the base reading".to_owned(),
        (0, 1) => "The headline does not hold under the base reading".to_owned(),
        (0, all) => format!("None of the headline's {all} claims holds under the base reading"),
        (some, all) if some == all => format!("All {all} claims of the headline hold under the base reading"),
        (some, all) => format!(
            "{some} of the headline's {all} claims {} under the base reading",
            if some == 1 { "holds" } else { "hold" }
        ),
    };
    format!("{opening}: {}.", values.join("; "))
}

fn under_some(headline: &[&Claim], readings: &[Reading], search: Option<&Search>, is_whole: bool) -> String {
    let together: Vec<&str> = readings
        .iter()
        .filter(|reading| headline.iter().all(|claim| claim.holds_under(&reading.name) == Some(true)))
        .map(|reading| reading.name.as_str())
        .collect();
    let plural = match (headline.len(), is_whole) {
        (1, true) => "The headline holds",
        (1, false) => "This claim of the headline holds",
        (_, true) => "The headline's claims hold together",
        (_, false) => "These claims of the headline hold together",
    };
    let mut text = match together.as_slice() {
        [] => {
            let count = |reading: &Reading| {
                headline.iter().filter(|claim| claim.holds_under(&reading.name) == Some(true)).count()
            };
            let most = readings.iter().map(count).max().unwrap_or(0);
            let who: Vec<&str> =
                readings.iter().filter(|reading| count(reading) == most).map(|reading| reading.name.as_str()).collect();
            if headline.len() == 1 || most == 0 {
                format!("{plural} under none of the {} readings", readings.len())
            } else {
                format!(
                    "{plural} under none of the {} readings; at most {most} of them hold under one reading ({})",
                    readings.len(),
                    listed(&who)
                )
            }
        }
        names if names.len() == readings.len() => format!("{plural} under all {} readings", readings.len()),
        names => format!("{plural} under {} of {} readings ({})", names.len(), readings.len(), listed(names)),
    };
    if let Some(search) = search {
        text += &format!(
            "; of all simulated claims, most hold under “{}”: {} of {}, where {} would be expected by chance",
            search.best,
            search.holds,
            search.of,
            number_text(search.by_chance)
        );
    }
    text + "."
}

/// Lists at most four names.
fn listed(names: &[&str]) -> String {
    const SHOWN: usize = 4;
    let shown = names.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN { format!("{shown} and {} more", names.len() - SHOWN) } else { shown }
}
