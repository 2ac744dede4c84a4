//! Names and sentences that the Markdown, the HTML pages and the text share.

use std::fmt::Write as _;

use hindmost_claims::{
    Cell, Claim, DataTable, Measured, Reproduction, StatedBy, Status, Verdict, given_text, number_text, rounded_text,
    with_unit,
};
use hindmost_core::cluster::Placement;

use crate::text::{capitalised, counted};

/// Returns the sign for whether a claim holds.
pub(crate) fn sign(holds: Option<bool>) -> &'static str {
    match holds {
        Some(true) => "✓",
        Some(false) => "✗",
        None => "–",
    }
}

/// The heading of a column begins with this if the column has half of the intervals of the column before it.
const HALF: &str = "±";
/// Largest number of letters of a name's part in a file name or an anchor.
const SLUG: usize = 60;

/// Turns a name into a part of a file name: ASCII letters and digits in lower case, and hyphens; `x` for an empty name.
pub(crate) fn slug(name: &str) -> String {
    if name.is_empty() {
        return "x".to_owned();
    }
    let letters = name.chars().take(SLUG);
    letters.map(|letter| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' }).collect()
}

/// Turns names into parts of file names that differ from each other.
pub(crate) fn slugs<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut taken: Vec<String> = Vec::new();
    for name in names {
        let plain = slug(name);
        let numbered = (2..).map(|at| format!("{plain}-{at}"));
        let free = std::iter::once(plain.clone()).chain(numbered).find(|one| !taken.contains(one));
        taken.extend(free);
    }
    taken
}

/// Returns the names of the figures' pages without an ending, such as `figure-2`, in the order of the figures.
pub(crate) fn figure_slugs(reproduction: &Reproduction) -> Vec<String> {
    slugs(reproduction.figures.iter().map(|figure| figure.id.as_str()))
        .into_iter()
        .map(|slug| format!("figure-{slug}"))
        .collect()
}

/// Returns the smallest and largest mean over a claim's readings as text; `None` if they are equal.
pub(crate) fn span(claim: &Claim) -> Option<String> {
    span_of(&claim.readings)
}

/// Returns the smallest and largest mean of measured values as text; `None` if they are equal.
pub(super) fn span_of(readings: &[Measured]) -> Option<String> {
    let means = || readings.iter().filter_map(|measured| measured.mean);
    let (low, high) = (means().min_by(f64::total_cmp)?, means().max_by(f64::total_cmp)?);
    let unit = readings.first().map_or("", |measured| measured.unit.as_str());
    let [low, high] = [low, high].map(rounded_text);
    let low_unit = if unit == "%" { unit } else { "" };
    (low != high).then(|| format!("{} to {}", with_unit(&low, low_unit), with_unit(&high, unit)))
}

/// Returns the verdict on a claim in a few words, and why the claim does not count if it does not.
pub(crate) fn verdict_text(claim: &Claim) -> String {
    let mark = match (claim.stated_by, claim.is_slip) {
        (StatedBy::Reading, _) => " (not counted: a reading of the paper's words)",
        (_, true) => " (not counted: a slip of the paper)",
        _ => "",
    };
    claim.short_verdict() + mark
}

/// Returns sentences, each after a space, that say what kind of statement a claim is; empty for a usual one.
pub(crate) fn kind_of_claim(claim: &Claim) -> String {
    let mut text = String::new();
    if claim.of_baseline {
        text += " The claim is about the paper's baseline.";
    }
    if claim.stated_by == StatedBy::Reading {
        text += " The statement is Hindmost's reading of the paper's words, so it does not count.";
    }
    if claim.is_slip {
        text += " Other numbers of the paper contradict the statement, so it does not count.";
    }
    text
}

/// Returns sentences with the number of tested claims for each verdict, and the claims that do not count.
pub(crate) fn counts(reproduction: &Reproduction) -> String {
    let (mut all, mut some, mut none) = (0, 0, 0);
    for (_, claim) in reproduction.claims().filter(|(_, claim)| claim.counts()) {
        match claim.verdict {
            Verdict::Reproduced => all += 1,
            Verdict::ReproducedUnder { .. } => some += 1,
            Verdict::NotReproduced { .. } => none += 1,
            Verdict::NotRun { .. } => {}
        }
    }
    let mut text = format!(
        "Of {}, {all} {} under every reading that was run, {some} under some readings or in some cases, and {none} \
         under none.",
        counted(all + some + none, "tested claim"),
        if all == 1 { "holds" } else { "hold" }
    );
    let mut others = Vec::new();
    let readings = left_out(reproduction, |claim| claim.stated_by == StatedBy::Reading);
    if !readings.is_empty() {
        let count = counted(readings.len() as u64, "statement");
        let what = if readings.len() == 1 { "is a reading" } else { "are readings" };
        others.push(format!("{count} that {what} of the paper's words ({})", readings.join(", ")));
    }
    let slips = left_out(reproduction, |claim| claim.is_slip && claim.stated_by == StatedBy::Paper);
    if !slips.is_empty() {
        others.push(format!("{} of the paper ({})", counted(slips.len() as u64, "slip"), slips.join(", ")));
    }
    if !others.is_empty() {
        let _ = write!(text, " Not among them: {}.", others.join("; and "));
    }
    text
}

/// Returns the ids of the tested claims that do not count for a reason.
fn left_out(reproduction: &Reproduction, is: impl Fn(&Claim) -> bool) -> Vec<&str> {
    let tested = reproduction.claims().map(|(_, claim)| claim).filter(|claim| claim.status != Status::NotRun);
    tested.filter(|claim| is(claim)).map(|claim| claim.id.as_str()).collect()
}

/// Splits a sentence after its first colon: what it states, and the details.
pub(crate) fn opening(sentence: &str) -> (&str, &str) {
    sentence.split_at(sentence.find(": ").map_or(sentence.len(), |at| at + 1))
}

/// Formats seeds: successive ones as a range, such as `1 to 5`.
pub(super) fn seeds(seeds: &[u64]) -> String {
    match seeds {
        [] => "none".to_owned(),
        [only] => only.to_string(),
        [first, .., last] if seeds.windows(2).all(|pair| pair[0].checked_add(1) == Some(pair[1])) => {
            format!("{first} to {last}")
        }
        several => several.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
    }
}

/// Returns sentences with the seeds of the simulations.
pub(crate) fn seeds_sentence(reproduction: &Reproduction) -> String {
    let mut text = format!("Seeds: {}.", seeds(&reproduction.seeds));
    if !reproduction.headline_seeds.is_empty() {
        let headline = seeds(&reproduction.headline_seeds);
        let _ = write!(text, " The claims of the abstract and the headline under the base reading: seeds {headline}.");
    }
    if !reproduction.fresh_seeds.is_empty() {
        let _ = write!(
            text,
            " The same claims under the best joint reading: fresh seeds {}, none of which was used to choose that reading.",
            seeds(&reproduction.fresh_seeds)
        );
    }
    text + &placement_sentence(reproduction)
}

/// Returns a sentence that says how nodes are chosen under the base reading, after a space; empty without simulations.
fn placement_sentence(reproduction: &Reproduction) -> String {
    let mut by_placement: Vec<(Placement, Vec<&str>)> = Vec::new();
    for (world, placement) in &reproduction.placement {
        match by_placement.iter_mut().find(|(known, _)| known == placement) {
            Some((_, worlds)) => worlds.push(world),
            None => by_placement.push((*placement, vec![world])),
        }
    }
    let text = match by_placement.as_slice() {
        [] => return String::new(),
        [(placement, _)] => placement.to_string(),
        several => {
            let of = |(placement, worlds): &(Placement, Vec<&str>)| format!("{placement} ({})", worlds.join(", "));
            several.iter().map(of).collect::<Vec<_>>().join("; ")
        }
    };
    format!(" Placement of tasks under the base reading: {text}.")
}

/// Returns a sentence for each group of readings that have exactly the same results.
pub(crate) fn same_results(reproduction: &Reproduction) -> Vec<String> {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for reading in &reproduction.readings {
        let Some(original) = reading.same_as.as_deref() else { continue };
        match groups.iter_mut().find(|(name, _)| *name == original) {
            Some((_, names)) => names.push(&reading.name),
            None => groups.push((original, vec![&reading.name])),
        }
    }
    let sentence = |(original, names): (&str, Vec<&str>)| match names.as_slice() {
        [only] => format!("This reading has the same results as {original}: {only}."),
        several => format!("These readings have the same results as {original}: {}.", several.join("; ")),
    };
    groups.into_iter().map(sentence).collect()
}

/// The measured values of a claim: one row for each reading with values of its own.
pub(crate) struct ClaimTable {
    pub(crate) headings: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
    /// Sentences that name the readings whose values are those of a row.
    pub(crate) same: Vec<String>,
}

/// Returns the table of a claim's measured values. Readings that have the same values as another one in all claims or in
/// this one have no row and are named below the table. A quantity is in a heading if it
/// is the same under all readings, and in the cells otherwise.
pub(crate) fn claim_table(reproduction: &Reproduction, claim: &Claim) -> ClaimTable {
    let parts = || std::iter::once(&claim.readings).chain(claim.also.iter().map(|part| &part.readings));
    let common = |readings: &[Measured]| {
        let first = readings.first()?.value.clone();
        readings.iter().all(|measured| measured.value == first).then_some(first)
    };
    let mut headings = vec!["reading".to_owned()];
    headings.extend(parts().map(|part| common(part).unwrap_or_else(|| "measured".to_owned())));
    headings.push(if claim.also.is_empty() { "rule holds" } else { "all rules hold" }.to_owned());
    let cell = |part: &Vec<Measured>, reading: &str| {
        let Some(measured) = part.iter().find(|measured| measured.reading == reading) else { return "–".to_owned() };
        let alone = if claim.also.is_empty() { String::new() } else { format!("{} ", sign(Some(measured.holds))) };
        match common(part) {
            Some(_) => alone + &measured.text(),
            None => format!("{alone}{}: {}", measured.value, measured.text()),
        }
    };
    // The reading whose results another one has in all claims, although it may have been measured on more seeds.
    let original = |name: &str| {
        reproduction.readings.iter().find(|reading| reading.name == name).and_then(|reading| reading.same_as.as_deref())
    };
    let cells = |reading: &str| {
        let holds = match claim.holds_under(reading) {
            Some(true) if claim.is_close_under(reading) => "yes?",
            Some(true) => "yes",
            Some(false) if claim.is_close_under(reading) => "no?",
            Some(false) => "no",
            None => "–",
        };
        let mut cells: Vec<String> = parts().map(|part| cell(part, reading)).collect();
        cells.push(holds.to_owned());
        cells
    };
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut repeated: Vec<Vec<&str>> = Vec::new();
    // Values of formulas are of different cases, which are all shown.
    let groups = claim.status == Status::Simulated;
    for measured in &claim.readings {
        let new = cells(&measured.reading);
        if let Some(at) = original(&measured.reading).and_then(|name| rows.iter().position(|row| row[0] == name)) {
            repeated[at].push(&measured.reading);
        } else if let Some(at) = rows.iter().position(|row| groups && row[1..] == new) {
            repeated[at].push(&measured.reading);
        } else {
            rows.push(std::iter::once(measured.reading.clone()).chain(new).collect());
            repeated.push(Vec::new());
        }
    }
    let same = rows.iter().zip(&repeated).filter(|(_, names)| !names.is_empty());
    let mut same: Vec<String> =
        same.map(|(row, names)| format!("The same values as under {}: {}.", row[0], names.join("; "))).collect();
    let base = reproduction.readings.first().filter(|base| claim.under(&base.name).is_some());
    if let Some(base) = base.filter(|_| {
        (claim.in_abstract || claim.in_headline) && !reproduction.headline_seeds.is_empty() && rows.len() > 1
    }) {
        let (many, few) = (seeds(&reproduction.headline_seeds), seeds(&reproduction.seeds));
        same.push(format!("{}: seeds {many}; the other readings: seeds {few}.", capitalised(&base.name)));
    }
    ClaimTable { headings, rows, same }
}

/// Returns the headings and the rows of a table as text. Half of an interval is in the cell of its value and has no
/// column of its own.
pub(crate) fn as_text(table: &DataTable) -> (Vec<String>, Vec<Vec<String>>) {
    let is_half = |at: usize| at > 0 && table.columns.get(at).is_some_and(|heading| heading.starts_with(HALF));
    let shown: Vec<usize> = (0..table.columns.len()).filter(|at| !is_half(*at)).collect();
    let heading = |at: &usize| {
        let half = if is_half(at + 1) { format!(" {HALF}") } else { String::new() };
        table.columns[*at].clone() + &half
    };
    let cells = |row: &Vec<Cell>| {
        let with_halves = |at: &usize| Some((row.get(*at)?, row.get(at + 1).filter(|_| is_half(at + 1))));
        let mut cells: Vec<String> = shown.iter().filter_map(with_halves).map(with_half).collect();
        // The first column has given values, not measured ones, so small ones keep their digits.
        if let (Some(first), Some(Cell::Number(Some(number)))) = (cells.first_mut(), row.first()) {
            *first = given_text(*number);
        }
        cells
    };
    (shown.iter().map(heading).collect(), table.rows.iter().map(cells).collect())
}

/// Formats a value with half of its interval, if it has one.
fn with_half((value, half): (&Cell, Option<&Cell>)) -> String {
    match (value, half) {
        (Cell::Number(Some(value)), Some(Cell::Number(Some(half)))) => {
            format!("{} {HALF} {}", rounded_text(*value), rounded_text(*half))
        }
        _ => cell_text(value),
    }
}

/// Formats a cell of a table; a dash if the cell has no number.
fn cell_text(cell: &Cell) -> String {
    match cell {
        Cell::Number(Some(number)) => number_text(*number),
        Cell::Number(None) => "–".to_owned(),
        Cell::Text(text) => text.clone(),
    }
}
