//! The reproduction as text for the terminal.

use std::fmt::Write as _;

use comfy_table::{ContentArrangement, Table};
use hindmost_core::reproduction::{Claim, Figure, Reproduction, Verdict};

use super::{
    FirstScreen, QUANTILE_HEADINGS, base_value, beside_base, best_value, counts, first_screen, matrix,
    search_sentences, seeds_sentence, span, verdict_text,
};
use crate::table::STYLE;
use crate::text::{escaped, wrapped};

/// Terminals with fewer columns than this get lists instead of tables.
const TABLE_FROM_WIDTH: u16 = 80;

/// Returns the reproduction as text of at most `width` columns: first the answer, the claims of the abstract and what
/// decides them, then all claims by figure. The JSON document and the pages have the values under all readings.
pub fn text(reproduction: &Reproduction, width: u16) -> String {
    let page = Terminal { width, columns: usize::from(width.max(20)) };
    let first = first_screen(reproduction);
    let quick = if reproduction.quick { " (quick)" } else { "" };
    let mut text = page.paragraph(&format!("{}{quick}: {}", reproduction.paper, reproduction.title));
    if !first.answer.is_empty() {
        text.push('\n');
    }
    for sentence in &first.answer {
        text += &page.paragraph(sentence);
    }
    headline(&mut text, &page, &first);
    decides(&mut text, &page, &first);
    quantiles(&mut text, &page, &first);
    let _ = write!(text, "\n{}{}", page.paragraph(&first.coverage), page.paragraph(&counts(reproduction)));
    text += &page.paragraph(&format!("Command: {}. {}", first.command, first.minutes));
    text += &page.paragraph(&seeds_sentence(reproduction));
    for figure in reproduction.figures.iter().filter(|figure| !figure.claims.is_empty()) {
        let _ = write!(text, "\n{}", page.paragraph(&figure.name));
        claims(&mut text, &page, reproduction, figure);
    }
    let paragraphs = search_sentences(reproduction);
    if !paragraphs.is_empty() {
        text += "\nWhich claims hold together\n";
    }
    for paragraph in &paragraphs {
        text += &page.paragraph(paragraph);
    }
    if !reproduction.notes.is_empty() {
        text.push('\n');
    }
    for note in &reproduction.notes {
        text += &page.paragraph(note);
    }
    readings(&mut text, &page, reproduction);
    text
}

/// The terminal that shows the text.
struct Terminal {
    width: u16,
    columns: usize,
}

impl Terminal {
    /// Returns text that is wrapped at the width of the terminal and ends with a line feed.
    fn paragraph(&self, text: &str) -> String {
        wrapped(&escaped(text), self.columns, 0) + "\n"
    }

    /// Returns an entry of a list, with its first line and the lines below it.
    fn entry(&self, first: &str, others: &[String]) -> String {
        let mut text = wrapped(&format!("- {}", escaped(first)), self.columns, 2) + "\n";
        for line in others {
            let lines = wrapped(&escaped(line), self.columns.saturating_sub(2), 0);
            let _ = writeln!(text, "  {}", lines.replace('\n', "\n  "));
        }
        text
    }

    /// Returns a table with as many lines for a row as its cells need.
    fn table(&self, headings: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
        let mut table = Table::new();
        table.load_style(STYLE).set_content_arrangement(ContentArrangement::Dynamic).set_width(self.width);
        table.set_header(headings);
        for row in rows {
            table.add_row(row.iter().map(|cell| escaped(cell)));
        }
        for (at, column) in table.column_iter_mut().enumerate() {
            column.set_padding((u16::from(at > 0), 1));
        }
        let drawn = table.to_string();
        let lines: Vec<&str> = drawn.lines().map(str::trim_end).collect();
        lines.join("\n") + "\n"
    }

    fn has_tables(&self) -> bool {
        self.width >= TABLE_FROM_WIDTH
    }
}

/// Appends the claims of the abstract.
fn headline(text: &mut String, page: &Terminal, first: &FirstScreen) {
    if first.claims.is_empty() {
        return;
    }
    let _ = write!(
        text,
        "\n{}",
        page.paragraph(
            "Claims of the abstract and the headline (✓ holds, ✗ does not hold; ? may differ on other seeds)"
        )
    );
    if page.has_tables() {
        let row = |claim: &super::first_screen::HeadlineRow| {
            vec![claim.claimed.clone(), claim.base.signed(), claim.best.signed(), claim.short.clone()]
        };
        let headings = ["claimed", "base reading [95% interval]", "best joint reading", "verdict"];
        *text += &page.table(&headings, first.claims.iter().map(row));
        return;
    }
    for claim in &first.claims {
        let lines = [
            format!("base reading: {}", claim.base.signed()),
            format!("best joint reading: {}", claim.best.signed()),
            claim.short.clone(),
        ];
        *text += &page.entry(&claim.claimed, &lines);
    }
}

/// Appends quantiles beside means.
fn quantiles(text: &mut String, page: &Terminal, first: &FirstScreen) {
    let Some(quantiles) = &first.quantiles else { return };
    let _ = write!(text, "\nQuantiles beside the means\n{}", page.paragraph(&quantiles.about));
    let headings = QUANTILE_HEADINGS.map(str::to_lowercase);
    if page.has_tables() {
        let headings = headings.each_ref().map(String::as_str);
        *text += &page.table(&headings, quantiles.rows.iter().map(|row| row.to_vec()));
        return;
    }
    for [measured, values @ ..] in &quantiles.rows {
        let lines: Vec<String> =
            headings[1..].iter().zip(values).map(|(name, value)| format!("{name}: {value}")).collect();
        *text += &page.entry(measured, &lines);
    }
}

/// Appends what decides the headline.
fn decides(text: &mut String, page: &Terminal, first: &FirstScreen) {
    if first.factors.is_empty() {
        return;
    }
    let _ = write!(text, "\nWhat decides it\n{}", page.paragraph(&first.about_factors));
    for factor in &first.factors {
        let claimed = if factor.claimed.is_empty() { String::new() } else { format!("{}: ", factor.claimed) };
        let line = format!(
            "{claimed}{} to {}, a swing of {}; base reading {}",
            factor.low, factor.high, factor.swing, factor.base
        );
        *text += &page.entry(&factor.name, &[line]);
    }
    if !first.other_factors.is_empty() {
        *text += &page.paragraph(&first.other_factors);
    }
}

/// Appends the claims of a figure.
fn claims(text: &mut String, page: &Terminal, reproduction: &Reproduction, figure: &Figure) {
    let (heading, beside) = beside_base(reproduction);
    let quantity = |claim: &Claim| claim.representative().map_or("", |measured| measured.value.as_str()).to_owned();
    let measured = |claim: &Claim| {
        let value = base_value(reproduction, claim).signed();
        // The values of several parts have their names.
        let mut text = if claim.also.is_empty() { format!("{}: {value}", quantity(claim)) } else { value };
        if let Some(span) = span(claim) {
            let _ = write!(text, "; all readings {span}");
        }
        text
    };
    let verdict = |claim: &Claim| match &claim.verdict {
        Verdict::NotRun { .. } => claim.verdict.to_string(),
        _ => verdict_text(claim),
    };
    if page.has_tables() {
        let row = |claim: &Claim| {
            let measured = if claim.readings.is_empty() { "–".to_owned() } else { measured(claim) };
            vec![claim.claimed.clone(), measured, beside(claim, &best_value(reproduction, claim)), verdict(claim)]
        };
        let headings = ["claimed", "base reading [95% interval]", heading, "verdict"];
        *text += &page.table(&headings, figure.claims.iter().map(row));
        return;
    }
    for claim in &figure.claims {
        let mut lines = Vec::new();
        if !claim.readings.is_empty() {
            lines.push(measured(claim));
            lines.push(format!("{heading}: {}", beside(claim, &best_value(reproduction, claim))));
        }
        lines.push(verdict(claim));
        *text += &page.entry(&claim.claimed, &lines);
    }
}

/// Appends the base reading, the best joint reading and the calibrated reading with their descriptions.
fn readings(text: &mut String, page: &Terminal, reproduction: &Reproduction) {
    let rows = matrix(reproduction).rows;
    let mut shown: Vec<_> = rows.iter().filter(|row| !row.roles.is_empty()).collect();
    shown.sort_by_key(|row| !row.roles.contains(&"base reading"));
    if shown.is_empty() {
        return;
    }
    text.push_str("\nReadings\n");
    for row in shown {
        let Some(reading) = reproduction.readings.iter().find(|reading| reading.name == row.reading) else { continue };
        let line = format!("{}: {}", row.name(), reading.description);
        let _ = writeln!(text, "{}", wrapped(&escaped(&line), page.columns, 2));
    }
}
