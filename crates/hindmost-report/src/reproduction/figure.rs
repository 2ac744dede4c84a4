//! The document of a figure: its pictures, and its claims and numbers under all readings.

use hindmost_claims::{Claim, Figure, Reproduction, Verdict};

use super::Names;
use super::first_screen::best_value;
use super::plots::PlotFile;
use super::points::{POINT_COLUMNS, point_rows};
use super::report::{tone, value_text};
use super::wording::{ClaimTable, as_text, claim_table, kind_of_claim, same_results};
use crate::document::{Column, Document, Form, Picture, Role, Table, Text};
use crate::text::{capitalised, counted};

/// Builds the document of figure `at`, with its `plots`.
pub(super) fn figure_document(
    reproduction: &Reproduction,
    at: usize,
    plots: Vec<PlotFile>,
    form: Form,
    names: &Names,
) -> Document {
    let figure = &reproduction.figures[at];
    let mut document = Document::new(form);
    let back = format!("{} reproduced", reproduction.paper);
    if form == Form::Page {
        let mut links = Text::default().link(&names.report, back);
        for (other, file) in
            reproduction.figures.iter().zip(&names.figures).filter(|(other, _)| !std::ptr::eq(*other, figure))
        {
            links = links.plain(" · ").link(file, &other.name);
        }
        document.paragraph(links);
    } else {
        document.heading(1, &figure.name);
        document.paragraph(Text::from("A part of ").link(&names.report, back).plain("."));
        document.paragraph(&figure.about);
    }
    let picture = |plot: PlotFile| Picture { file: plot.file, ..Picture::new(plot.drawing, plot.caption) };
    document.pictures(plots.into_iter().map(picture).collect());
    let before: usize = reproduction.figures[..at].iter().map(|figure| figure.claims.len()).sum();
    for (claim, place) in figure.claims.iter().zip(&names.claims[before..]) {
        claim_section(&mut document, reproduction, claim, place);
    }
    if !figure.points.is_empty() {
        document.heading(2, "Points of the curves");
        let about = "Points that the paper's text states, and their distances from the measured curves";
        document.table(Table::new(about, &POINT_COLUMNS).with_rows(point_rows(figure)));
    }
    numbers(&mut document, figure);
    if form == Form::Page {
        document.paragraphs(Role::Usual, same_results(reproduction));
    }
    document
}

fn claim_section(document: &mut Document, reproduction: &Reproduction, claim: &Claim, place: &str) {
    document.heading_at(2, place, format!("{}. {} ({})", claim.number, claim.claimed, claim.section));
    document.paragraph_as(Role::Quote, &claim.quote);
    let verdict = capitalised(&claim.short_verdict());
    let verdict = match document.form() {
        Form::Page => Text::default().toned(tone(&claim.verdict), verdict),
        _ => Text::default().strong(verdict),
    };
    let why = match &claim.verdict {
        Verdict::NotReproduced { why } | Verdict::NotRun { why } => format!(": {}.", why.trim_end_matches('.')),
        _ => ".".to_owned(),
    };
    let rule = if claim.readings.is_empty() { String::new() } else { format!(" Rule: {}.", claim.rule()) };
    let more = format!("{why}{rule}{} {}", kind_of_claim(claim), claim.comment);
    document.paragraph(verdict.plain(more.trim_end()));
    if !claim.confirmed.is_empty() {
        let best = value_text(&best_value(reproduction, claim));
        document.paragraph(Text::from("Under the best joint reading on fresh seeds: ").and(best).plain("."));
    }
    let ClaimTable { headings, rows, same } = claim_table(reproduction, claim);
    let count = counted(claim.readings.len() as u64, "reading");
    document.details(format!("Measured under {count}: mean [95% interval]"), |inside| {
        inside.table(with_names(&headings, rows));
        inside.paragraphs(Role::Small, same);
    });
}

/// Adds the tables of the figure.
fn numbers(document: &mut Document, figure: &Figure) {
    if document.form() == Form::Page && !figure.tables.is_empty() {
        document.heading(2, "Numbers");
    }
    for table in &figure.tables {
        let (headings, rows) = as_text(table);
        document.details(&table.caption, |inside| inside.table(with_names(&headings, rows)));
    }
}

/// Returns a table whose first column has names, and whose others have numbers.
fn with_names(headings: &[String], rows: Vec<Vec<String>>) -> Table {
    let column = |(at, heading): (usize, &String)| Column {
        heading: heading.into(),
        label: heading.clone(),
        is_text: at == 0,
        ..Column::new("")
    };
    Table { columns: headings.iter().enumerate().map(column).collect(), ..Table::default() }.with_rows(rows)
}
