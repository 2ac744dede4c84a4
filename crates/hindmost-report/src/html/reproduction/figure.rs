//! The page of a figure: its pictures, and its claims and numbers under all readings.

use hindmost_core::reproduction::{Claim, Figure, Reproduction, Verdict};
use serde::Serialize;

use super::super::{Column, Frame, Picture, Pictures, Table, full, glossary, name, paragraph, rendered, sentence};
use super::{Names, Shown, class, shown};
use crate::reproduction::{
    ClaimTable, POINT_COLUMNS, as_text, best_value, capitalised, caption, claim_table, drawn, kind_of_claim,
    point_rows, same_results,
};
use crate::text::counted;

#[derive(Serialize)]
struct Content {
    report: String,
    back: String,
    pictures_of: Vec<Picture>,
    claims: Vec<ClaimSection>,
    points: Option<Table>,
    tables: Vec<Table>,
    same: Vec<String>,
    pages: Vec<[String; 2]>,
}

#[derive(Serialize)]
struct ClaimSection {
    anchor: String,
    heading: String,
    quote: String,
    verdict: String,
    class: &'static str,
    more: String,
    best: Option<Shown>,
    count: String,
    /// Sentences below the table.
    same: Vec<String>,
    table: Table,
}

/// Returns the page of a figure. `before` is the number of claims of the figures before it.
pub(super) fn figure_page(
    reproduction: &Reproduction,
    figure: &Figure,
    names: &Names,
    before: usize,
) -> Result<String, minijinja::Error> {
    let mut pictures = Pictures::default();
    let mut redrawn = Vec::new();
    for table in &figure.tables {
        if let Some(drawing) = drawn(table) {
            let caption = caption(table).unwrap_or_default();
            redrawn.push(pictures.picture(&drawing, paragraph(&caption)));
        }
    }
    let claims = figure.claims.iter().enumerate();
    let others = reproduction.figures.iter().zip(&names.figures).filter(|(other, _)| !std::ptr::eq(*other, figure));
    let paper = name(&reproduction.paper);
    let content = Content {
        report: names.report.clone(),
        back: format!("{paper} reproduced"),
        pictures_of: redrawn,
        claims: claims.map(|(at, claim)| claim_section(reproduction, names, before + at, claim)).collect(),
        points: points(figure),
        tables: figure.tables.iter().map(table).collect(),
        same: same_results(reproduction).iter().map(|text| paragraph(text)).collect(),
        pages: others.map(|(other, file)| [file.clone(), name(&other.name)]).collect(),
    };
    let frame = Frame {
        title: format!("{}, {paper} reproduced – hindmost", name(&figure.name)),
        heading: format!("{} of {paper}", name(&figure.name)),
        lead: full(&figure.about),
        glossary: glossary::reproduction(),
        again: &[],
    };
    rendered("figure.html", &frame, &content)
}

/// Returns the section of claim `at`, counted from 0 in the order of the reproduction.
fn claim_section(reproduction: &Reproduction, names: &Names, at: usize, claim: &Claim) -> ClaimSection {
    let ClaimTable { headings, rows, same } = claim_table(reproduction, claim);
    let column = |(at, heading): (usize, &String)| Column { name: sentence(heading), text: at == 0 };
    let table = Table {
        caption: "The measured value [95% interval] under every reading".to_owned(),
        columns: headings.iter().enumerate().map(column).collect(),
        rows: rows.iter().map(|row| row.iter().map(|cell| sentence(cell)).collect()).collect(),
        stacked: false,
    };
    let why = match &claim.verdict {
        Verdict::NotReproduced { why } | Verdict::NotRun { why } => format!(": {}.", sentence(why)),
        _ => ".".to_owned(),
    };
    let rule = if claim.readings.is_empty() { String::new() } else { format!(" Rule: {}.", claim.rule()) };
    let kind = kind_of_claim(claim);
    ClaimSection {
        anchor: names.claims[at].clone(),
        heading: format!("{}. {} ({})", claim.number, sentence(&claim.claimed), sentence(&claim.section)),
        quote: sentence(&claim.quote),
        verdict: capitalised(&claim.short_verdict()),
        class: class(&claim.verdict),
        more: format!("{why}{}{kind} {}", sentence(&rule), sentence(&claim.comment)).trim_end().to_owned(),
        best: (!claim.confirmed.is_empty()).then(|| shown(&best_value(reproduction, claim))),
        count: format!("Measured under {}", counted(claim.readings.len() as u64, "reading")),
        table,
        same: same.iter().map(|text| paragraph(text)).collect(),
    }
}

fn points(figure: &Figure) -> Option<Table> {
    let caption = "Points that the paper's text states, and their distances from the measured curves";
    let mut table = Table::new(caption, &POINT_COLUMNS);
    for row in point_rows(figure) {
        table.rows.push(row.iter().map(|cell| sentence(cell)).collect());
    }
    (!table.rows.is_empty()).then_some(table)
}

fn table(table: &hindmost_core::reproduction::DataTable) -> Table {
    let (columns, rows) = as_text(table);
    let columns = columns.iter().enumerate().map(|(at, name)| Column { name: sentence(name), text: at == 0 });
    Table {
        caption: sentence(&table.caption),
        columns: columns.collect(),
        stacked: false,
        rows: rows.iter().map(|row| row.iter().map(|cell| sentence(cell)).collect()).collect(),
    }
}
