//! The Markdown page of a figure: its pictures, and its claims and numbers under all readings.

use std::fmt::Write as _;

use hindmost_core::reproduction::{Claim, DataTable, Figure, Reproduction, Verdict};

use super::super::points::{POINT_COLUMNS, point_rows};
use super::super::wording::{ClaimTable, as_text, capitalised, claim_table, kind_of_claim};
use super::super::{PlotFile, best_value};
use super::anchors;
use super::syntax::{escaped, header, in_html, picture, row};
use crate::text::counted;

/// Returns the page of a figure. `before` is the number of claims of the figures before it.
pub(super) fn figure_page(
    reproduction: &Reproduction,
    figure: &Figure,
    plots: &[PlotFile],
    folder: &str,
    before: usize,
) -> String {
    let (name, paper) = (escaped(&figure.name), escaped(&reproduction.paper));
    let mut text =
        format!("# {name}\n\nA part of [{paper} reproduced](../{folder}.md).\n\n{}\n\n", escaped(&figure.about));
    for plot in plots {
        picture(&mut text, plot.drawing.title(), &plot.file, &plot.caption);
    }
    let anchors = anchors(reproduction);
    for (at, claim) in figure.claims.iter().enumerate() {
        let anchor = anchors.get(before + at).map_or("", String::as_str);
        claim_markdown(&mut text, reproduction, claim, anchor);
    }
    points(&mut text, figure);
    for table in &figure.tables {
        table_markdown(&mut text, table);
    }
    text.truncate(text.trim_end().len());
    text + "\n"
}

fn claim_markdown(text: &mut String, reproduction: &Reproduction, claim: &Claim, anchor: &str) {
    let (claimed, section) = (escaped(&claim.claimed), escaped(&claim.section));
    let _ = write!(text, "<a id=\"{anchor}\"></a>\n\n## {}. {claimed} ({section})\n\n", claim.number);
    if !claim.quote.is_empty() {
        let _ = write!(text, "> {}\n\n", escaped(&claim.quote));
    }
    let verdict = match &claim.verdict {
        Verdict::NotReproduced { why } => format!("**Not reproduced**: {}.", escaped(why)),
        Verdict::NotRun { why } => format!("**Not run**: {}.", escaped(why.trim_end_matches('.'))),
        _ => format!("**{}**.", capitalised(&claim.short_verdict())),
    };
    let kind = kind_of_claim(claim);
    if claim.readings.is_empty() {
        let _ = writeln!(text, "{verdict}{kind} {}\n", escaped(&claim.comment));
        return;
    }
    let _ = writeln!(text, "{verdict} Rule: {}.{kind} {}\n", escaped(&claim.rule()), escaped(&claim.comment));
    if !claim.confirmed.is_empty() {
        let best = best_value(reproduction, claim).signed();
        let _ = writeln!(text, "Under the best joint reading on fresh seeds: {}.\n", escaped(&best));
    }
    let ClaimTable { headings, rows, same } = claim_table(reproduction, claim);
    let count = counted(claim.readings.len() as u64, "reading");
    folded(text, &format!("Measured under {count}: mean [95% interval]"), &headings, &rows, &same);
}

/// Appends the points that the paper's text states.
fn points(text: &mut String, figure: &Figure) {
    if figure.points.is_empty() {
        return;
    }
    text.push_str(
        "## Points of the curves\n\nPoints that the paper's text states, and their distances from the measured \
         curves.\n\n",
    );
    header(text, &POINT_COLUMNS.map(|heading| heading.trim_end_matches(':')));
    for cells in point_rows(figure) {
        row(text, cells.iter());
    }
    text.push('\n');
}

fn table_markdown(text: &mut String, table: &DataTable) {
    let (columns, rows) = as_text(table);
    folded(text, &table.caption, &columns, &rows, &[]);
}

/// Appends a table that is shown after its caption is clicked, with sentences below it. All columns but the first are
/// aligned to the right.
fn folded(text: &mut String, caption: &str, columns: &[String], rows: &[Vec<String>], below: &[String]) {
    let _ = write!(text, "<details><summary>{}</summary>\n\n", in_html(caption));
    row(text, columns.iter());
    row(text, (0..columns.len()).map(|at| if at == 0 { "---" } else { "---:" }));
    for cells in rows {
        row(text, cells.iter());
    }
    for sentence in below {
        let _ = write!(text, "\n{}\n", escaped(sentence));
    }
    text.push_str("\n</details>\n\n");
}
