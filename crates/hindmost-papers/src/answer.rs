//! The sentences that answer: does the paper's headline hold, how often does its direction, under what do all claims hold
//! together, and why not otherwise. The paper's data have the last one and name the claims of the direction; without the last
//! one, the detail with the largest effect is named.

use hindmost_claims::{Claim, Factor, Measured, Reading, Search, Status, Verdict, number_text, with_unit};

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
    sentences.extend(directions(paper, claims, base));
    if readings.len() > 1 {
        sentences.push(under_some(&headline, readings, search, headline.len() == paper.headline.len()));
    }
    let decisive = factors.iter().find(|factor| headline.first().is_some_and(|claim| claim.id == factor.claim));
    match decisive {
        // The reason is about the whole headline.
        _ if !paper.why.trim().is_empty() && headline.len() == paper.headline.len() => {
            sentences.push(paper.why.trim().to_owned());
        }
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

/// Returns whether a claim holds under a reading. A formula has cases instead of readings, in which all it must hold.
fn holds(claim: &Claim, reading: &str) -> bool {
    match claim.status {
        Status::Formula | Status::Recorded => claim.verdict == Verdict::Reproduced,
        _ => claim.holds_under(reading) == Some(true),
    }
}

/// Returns the value of a claim under a reading, after a mark that says whether the claim holds, with a question mark if
/// other seeds might decide otherwise. Of a claim of several parts, the first one that does not hold is shown, or the
/// first one, and how many hold. Of the cases of a formula, the first one is shown in which it does not hold.
fn shown(claim: &Claim, reading: &str) -> Option<String> {
    let mark = if holds(claim, reading) { "✓" } else { "✗" };
    let Some(main) = claim.under(reading) else {
        let fails = |case: &&Measured| claim.holds_under(&case.reading) != Some(true);
        let case = claim.readings.iter().find(fails).or(claim.readings.first())?;
        return Some(format!("{mark} “{}” ({}, {})", claim.claimed, case.text(), case.reading));
    };
    let mark = if claim.is_close_under(reading) { format!("{mark}?") } else { mark.to_owned() };
    let others = claim.also.iter().filter_map(|part| part.readings.iter().find(|one| one.reading == reading));
    let parts: Vec<&Measured> = std::iter::once(main).chain(others).collect();
    let worst = parts.iter().copied().find(|part| !part.holds).unwrap_or(main);
    let value = match parts.len() {
        1 => format!("measured {}", worst.text()),
        all => {
            let holding = parts.iter().filter(|part| part.holds).count();
            let how_many = if holding == all { format!("all {all}") } else { format!("{holding} of {all}") };
            format!("{how_many} parts hold; {} {}", worst.value, worst.text())
        }
    };
    Some(format!("{mark} “{}” ({value})", claim.claimed))
}

/// `all` is the number of claims that form the paper's headline, of which `headline` were measured.
fn under_base(headline: &[&Claim], base: &Reading, all: usize) -> String {
    let held: Vec<&&Claim> = headline.iter().filter(|claim| holds(claim, &base.name)).collect();
    let values: Vec<String> = headline.iter().filter_map(|claim| shown(claim, &base.name)).collect();
    let verb = |count: usize| if count == 1 { "holds" } else { "hold" };
    let opening = match (held.len(), headline.len()) {
        (some, measured) if measured < all => format!(
            "Of the headline's {all} claims, {measured} {} measured here, of which {some} {} under the base reading",
            if measured == 1 { "was" } else { "were" },
            verb(some)
        ),
        (1, 1) => "The headline holds under the base reading".to_owned(),
        (0, 1) => "The headline does not hold under the base reading".to_owned(),
        (0, all) => format!("None of the headline's {all} claims holds under the base reading"),
        (some, all) if some == all => format!("All {all} claims of the headline hold under the base reading"),
        (some, all) => format!("{some} of the headline's {all} claims {} under the base reading", verb(some)),
    };
    format!("{opening}: {}.", values.join("; "))
}

/// Says of each claim of the direction whether it holds under the base reading, and under how many readings it holds.
/// Returns `None` if none was measured.
fn directions(paper: &Paper, claims: &[Claim], base: &Reading) -> Option<String> {
    let measured = |id: &String| claims.iter().find(|claim| claim.id == *id && !claim.readings.is_empty());
    let shown = |claim: &Claim| {
        let mark = if holds(claim, &base.name) { "✓" } else { "✗" };
        format!("{mark} “{}” ({})", claim.claimed, claim.short_verdict())
    };
    let all: Vec<String> = paper.direction.iter().filter_map(measured).map(shown).collect();
    (!all.is_empty()).then(|| {
        format!("Its directions and single numbers, under the base reading and under all: {}.", all.join("; "))
    })
}

fn under_some(headline: &[&Claim], readings: &[Reading], search: Option<&Search>, is_whole: bool) -> String {
    // Readings with the same results count once.
    let distinct: Vec<&Reading> = readings.iter().filter(|reading| reading.same_as.is_none()).collect();
    let readings = distinct.as_slice();
    let together: Vec<&str> = readings
        .iter()
        .filter(|reading| headline.iter().all(|claim| holds(claim, &reading.name)))
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
            let count = |reading: &&Reading| headline.iter().filter(|claim| holds(claim, &reading.name)).count();
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
    // A few claims say nothing about a search.
    if let Some(search) = search.filter(|_| is_whole) {
        text += &format!(
            "; of the {} claims that were simulated under every reading, most hold under “{}”: {}, where the best of as \
             many readings would reach {} by chance{}",
            search.of,
            search.best,
            search.holds,
            number_text(search.by_chance),
            if search.holds as f64 > search.by_chance_p95 { "" } else { ", so that this says little" }
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
