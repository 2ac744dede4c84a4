//! The page of a reproduction: claims of a paper, measured values, and figures drawn from the measured values.

use hindmost_core::reproduction::{Claim, DataTable, Figure, Reproduction, Verdict};
use serde::Serialize;

use super::{Frame, Picture, Pictures, Step, Table, full, glossary, name, rendered, sentence};
use crate::figures::{Axis, Bar, BarChart, Strip, StripDot, Unit};
use crate::reproduction::{Shown, as_text, claims, counts, drawn, representative, seeds};
use crate::text::counted;

#[derive(Serialize)]
struct Content {
    notes: Vec<String>,
    counts: String,
    strips_about: String,
    tally: Picture,
    claims: Vec<ClaimRow>,
    readings: Vec<[String; 2]>,
    figures: Vec<FigureSection>,
}

#[derive(Serialize)]
struct ClaimRow {
    claimed: String,
    place: String,
    quantity: String,
    measured: String,
    reading: String,
    rule: String,
    strip: String,
    verdict: String,
    class: &'static str,
}

#[derive(Serialize)]
struct FigureSection {
    name: String,
    about: String,
    pictures: Vec<Picture>,
    claims: Vec<ClaimSection>,
    tables: Vec<Table>,
}

#[derive(Serialize)]
struct ClaimSection {
    heading: String,
    verdict: String,
    class: &'static str,
    more: String,
    count: String,
    table: Table,
}

/// Returns the page of a reproduction.
///
/// # Errors
/// If a template is faulty, which is a defect of this crate.
pub fn reproduction_page(reproduction: &Reproduction, again: &[Step]) -> Result<String, minijinja::Error> {
    let mut pictures = Pictures::default();
    let rows = claims(reproduction).map(|(figure, claim)| claim_row(figure, claim, &mut pictures)).collect();
    let content = Content {
        notes: reproduction.notes.iter().map(|note| full(note)).collect(),
        counts: counts(reproduction),
        strips_about: "A claim's rule says which values confirm the claim. The value shown is measured under the \
                       first reading that confirms it, or under the first if none does. In the small pictures, the \
                       shaded area contains the values that satisfy the rule. Each dot is the value under a reading: \
                       filled if it satisfies the rule, hollow if it does not. Each picture has its own scale."
            .to_owned(),
        tally: tally(reproduction, &mut pictures),
        claims: rows,
        readings: reproduction
            .readings
            .iter()
            .map(|reading| [name(&reading.name), full(&reading.description)])
            .collect(),
        figures: reproduction.figures.iter().map(|figure| section(figure, &mut pictures)).collect(),
    };
    let quick = if reproduction.quick { " in the quick version" } else { "" };
    let frame = Frame {
        title: format!("{} reproduced – hindmost", name(&reproduction.paper)),
        heading: format!("{} reproduced", name(&reproduction.paper)),
        lead: format!(
            "The experiments of {}, repeated{quick} on seeds {}: the paper's claims, the measured values, and figures \
             drawn from the measured values.",
            sentence(&reproduction.title),
            seeds(reproduction)
        ),
        glossary: glossary::reproduction(),
        again,
    };
    rendered("reproduction.html", &frame, &content)
}

/// Returns the style class of a verdict.
fn class(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Reproduced => "good",
        Verdict::ReproducedUnder { .. } => "",
        Verdict::NotReproduced { .. } => "bad",
    }
}

fn claim_row(figure: &Figure, claim: &Claim, pictures: &mut Pictures) -> ClaimRow {
    let Shown { quantity, measured, reading } = representative(claim);
    let strip = Strip {
        title: format!("{}: measured values against the rule", claim.claimed),
        low: claim.expected.low,
        high: claim.expected.high,
        dots: claim
            .readings
            .iter()
            .filter_map(|one| {
                let tip = format!("{}: {}, {}", one.reading, one.value, one.text());
                Some(StripDot { tip, value: one.mean?, interval: one.ci95, holds: one.holds })
            })
            .collect(),
    };
    ClaimRow {
        claimed: sentence(&claim.claimed),
        place: format!("{}; {}", name(&figure.name), sentence(&claim.section)),
        quantity: sentence(&quantity),
        measured,
        reading: sentence(&reading),
        rule: format!("rule: {}", claim.rule()),
        strip: pictures.inline(&strip.draw()),
        verdict: claim.verdict.short(claim.readings.len()),
        class: class(&claim.verdict),
    }
}

/// Draws a bar chart of the number of claims for each verdict.
fn tally(reproduction: &Reproduction, pictures: &mut Pictures) -> Picture {
    let count = |is: fn(&Verdict) -> bool| claims(reproduction).filter(|(_, claim)| is(&claim.verdict)).count();
    let counts = [
        ("reproduced", count(|verdict| matches!(verdict, Verdict::Reproduced))),
        ("under some readings", count(|verdict| matches!(verdict, Verdict::ReproducedUnder { .. }))),
        ("not reproduced", count(|verdict| matches!(verdict, Verdict::NotReproduced { .. }))),
    ];
    let bars = counts.map(|(name, count)| Bar {
        name: name.to_owned(),
        whole: count as f64,
        part: None,
        text: counted(count as u64, "claim"),
    });
    let chart = BarChart {
        title: "Claims by verdict".to_owned(),
        about:
            "The number of claims that are reproduced under all readings, under some readings, and under no reading."
                .to_owned(),
        axis: Axis::new("claims", Unit::Number(String::new())),
        bars: bars.into(),
        legend: None,
    };
    pictures.picture(&chart.draw(), "A claim is reproduced if its rule holds under every reading that was run.")
}

fn section(figure: &Figure, pictures: &mut Pictures) -> FigureSection {
    let redrawn = figure.tables.iter().filter_map(|table| Some((table, drawn(table)?)));
    FigureSection {
        name: name(&figure.name),
        about: full(&figure.about),
        pictures: redrawn.map(|(table, drawing)| pictures.picture(&drawing, caption(table))).collect(),
        claims: figure.claims.iter().map(claim_section).collect(),
        tables: figure.tables.iter().map(table).collect(),
    }
}

/// Returns the caption of the picture of a table.
fn caption(table: &DataTable) -> String {
    crate::reproduction::caption(table).map_or_else(String::new, |text| sentence(&text))
}

fn claim_section(claim: &Claim) -> ClaimSection {
    let mut table = Table::new(
        "The measured value under every reading",
        &["reading:", "quantity:", "measured [95% interval]", "rule holds"],
    );
    for measured in &claim.readings {
        let holds = if measured.holds { "yes" } else { "no" };
        table.rows.push(vec![name(&measured.reading), sentence(&measured.value), measured.text(), holds.to_owned()]);
    }
    let more = match &claim.verdict {
        Verdict::NotReproduced { why } => format!(": {}.", sentence(why)),
        _ => ".".to_owned(),
    };
    let verdict = claim.verdict.short(claim.readings.len());
    let mut letters = verdict.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    ClaimSection {
        heading: format!("{} ({})", sentence(&claim.claimed), sentence(&claim.section)),
        verdict: format!("{first}{}", letters.as_str()),
        class: class(&claim.verdict),
        more: format!("{more} Rule: {}. {}", claim.rule(), sentence(&claim.comment)).trim_end().to_owned(),
        count: format!("Measured under {}", counted(claim.readings.len() as u64, "reading")),
        table,
    }
}

fn table(table: &DataTable) -> Table {
    let (columns, rows) = as_text(table);
    let columns = columns.iter().enumerate().map(|(at, name)| super::Column { name: sentence(name), text: at == 0 });
    Table {
        caption: sentence(&table.caption),
        columns: columns.collect(),
        stacked: false,
        rows: rows.iter().map(|row| row.iter().map(|cell| sentence(cell)).collect()).collect(),
    }
}
