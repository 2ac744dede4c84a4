//! The reproduction as Markdown: one page with the answer, all claims and all readings, and one page for each figure.

mod figure;
pub(crate) mod syntax;

use std::fmt::Write as _;

use hindmost_core::reproduction::{Claim, Reproduction, Verdict};

use super::forest::{FOREST_FILE, forest, forest_caption};
use super::plots::figure_plots;
use super::wording::{capitalised, figure_slugs};
use super::{
    FirstScreen, Page, QUANTILE_HEADINGS, base_value, best_value, counts, first_screen, matrix, opening, same_results,
    search_sentences, seeds_sentence, sign, slug, slugs, span, verdict_text,
};
use figure::figure_page;
use syntax::{code, escaped, header, picture, row};

/// Returns the pages: `PAPER.md` with the answer, all claims and all readings, then `PAPER/figure-ID.md` for each figure.
/// They show the pictures of [`super::pictures`] from the folder `PAPER`.
pub fn markdown_pages(reproduction: &Reproduction) -> Vec<Page> {
    let folder = slug(&reproduction.paper);
    let names = figure_slugs(reproduction);
    let mut pages = vec![Page { file: format!("{folder}.md"), text: main_page(reproduction, &folder, &names) }];
    let mut before = 0;
    for ((figure, name), plots) in reproduction.figures.iter().zip(&names).zip(figure_plots(reproduction)) {
        let text = figure_page(reproduction, figure, &plots, &folder, before);
        pages.push(Page { file: format!("{folder}/{name}.md"), text });
        before += figure.claims.len();
    }
    pages
}

fn main_page(reproduction: &Reproduction, folder: &str, names: &[String]) -> String {
    let first = first_screen(reproduction);
    let quick = if reproduction.quick { " (quick)" } else { "" };
    let mut text =
        format!("# {} reproduced{quick}\n\n{}.\n\n", escaped(&reproduction.paper), escaped(&reproduction.title));
    for (at, sentence) in first.answer.iter().enumerate() {
        let (opening, details) = opening(sentence.trim());
        let bold = if at == 0 && !opening.is_empty() { "**" } else { "" };
        let _ = writeln!(text, "{bold}{}{bold}{}\n", escaped(opening), escaped(details));
    }
    headline(&mut text, &first, folder, names, &anchors(reproduction));
    if let Some(drawing) = forest(reproduction) {
        picture(&mut text, drawing.title(), &format!("{folder}/{FOREST_FILE}"), &forest_caption(reproduction));
    }
    decides(&mut text, &first);
    quantiles(&mut text, &first);
    let _ = writeln!(text, "## What was tested\n\n{} {}\n", escaped(&first.coverage), escaped(&counts(reproduction)));
    let _ = writeln!(
        text,
        "Made by {} (hindmost {}). {} {} The same command gives the same numbers on any number of threads.\n",
        code(&first.command),
        env!("CARGO_PKG_VERSION"),
        first.minutes,
        seeds_sentence(reproduction)
    );
    for note in &reproduction.notes {
        let _ = writeln!(text, "{}\n", escaped(note));
    }
    all_claims(&mut text, reproduction, folder, names);
    not_run(&mut text, reproduction, folder, names);
    readings(&mut text, reproduction);
    joint(&mut text, reproduction);
    text.truncate(text.trim_end().len());
    text + "\n"
}

/// Appends the claims of the abstract.
fn headline(text: &mut String, first: &FirstScreen, folder: &str, names: &[String], anchors: &[String]) {
    if first.claims.is_empty() {
        return;
    }
    text.push_str("## Claims of the abstract and the headline\n\n");
    header(text, &["#", "Claimed", "Under the base reading [95% interval]", "Best joint reading", "Verdict"]);
    for claim in &first.claims {
        let link = format!("[{}]({folder}/{}.md#{})", claim.number, names[claim.figure], anchors[claim.at]);
        let cells =
            [&claim.claimed, &claim.base.signed(), &claim.best.signed(), &claim.short].map(|cell| escaped(cell));
        let _ = writeln!(text, "| {link} | {} |", cells.join(" | "));
    }
    text.push_str("\n✓ the claim holds under the reading, ✗ it does not. A question mark: the 95% interval contains a limit of the rule, so other seeds might decide otherwise.\n\n");
}

/// Appends what decides the headline.
fn decides(text: &mut String, first: &FirstScreen) {
    if first.factors.is_empty() {
        return;
    }
    let _ = write!(text, "## What decides it\n\n{}\n\n", escaped(&first.about_factors));
    let has_claims = first.factors.iter().any(|factor| !factor.claimed.is_empty());
    let claim = has_claims.then_some("Claim");
    let headings = ["Detail"].into_iter().chain(claim).chain(["Base reading", "Lowest", "Highest", "Swing"]);
    header(text, &headings.collect::<Vec<_>>());
    for factor in &first.factors {
        let claimed = has_claims.then_some(&factor.claimed);
        let values = [&factor.base, &factor.low, &factor.high, &factor.swing];
        row(text, std::iter::once(&factor.name).chain(claimed).chain(values));
    }
    text.push('\n');
    if !first.other_factors.is_empty() {
        let _ = writeln!(text, "{}\n", escaped(&first.other_factors));
    }
}

/// Appends quantiles beside means.
fn quantiles(text: &mut String, first: &FirstScreen) {
    let Some(quantiles) = &first.quantiles else { return };
    let _ = write!(text, "## Quantiles beside the means\n\n{}\n\n", escaped(&quantiles.about));
    header(text, &QUANTILE_HEADINGS);
    for cells in &quantiles.rows {
        row(text, cells.iter());
    }
    text.push('\n');
}

/// Returns the anchors of all claims in the pages of their figures.
fn anchors(reproduction: &Reproduction) -> Vec<String> {
    slugs(reproduction.claims().map(|(_, claim)| claim.id.as_str()))
}

/// Returns the tested claims, or those that were not run, each with the position of its figure, and its anchor.
fn anchored(reproduction: &Reproduction, tested: bool) -> Vec<(usize, String, &Claim)> {
    let figures = reproduction.figures.iter().enumerate();
    let all = figures.flat_map(|(at, figure)| figure.claims.iter().map(move |claim| (at, claim)));
    let all = all.zip(anchors(reproduction)).map(|((figure, claim), anchor)| (figure, anchor, claim));
    all.filter(|(_, _, claim)| matches!(claim.verdict, Verdict::NotRun { .. }) != tested).collect()
}

/// Appends the table of all tested claims.
fn all_claims(text: &mut String, reproduction: &Reproduction, folder: &str, names: &[String]) {
    text.push_str(
        "## All tested claims\n\nThe number of a claim leads to its figure, with the values under all readings. ✓ the \
         claim holds under the reading, ✗ it does not.\n\n",
    );
    header(
        text,
        &[
            "#",
            "Claim",
            "Claimed",
            "Under the base reading [95% interval]",
            "Best joint reading",
            "Range over readings",
            "Verdict",
        ],
    );
    for (figure, anchor, claim) in anchored(reproduction, true) {
        let cells = [
            claim.id.clone(),
            format!("{} ({})", claim.claimed, claim.section),
            base_value(reproduction, claim).signed(),
            best_value(reproduction, claim).signed(),
            span(claim).unwrap_or_default(),
            verdict_text(claim),
        ]
        .map(|cell| escaped(&cell));
        let _ =
            writeln!(text, "| [{}]({folder}/{}.md#{anchor}) | {} |", claim.number, names[figure], cells.join(" | "));
    }
    text.push('\n');
}

/// Appends the claims that were not run, with the reasons.
fn not_run(text: &mut String, reproduction: &Reproduction, folder: &str, names: &[String]) {
    let claims = anchored(reproduction, false);
    if claims.is_empty() {
        return;
    }
    text.push_str("## Claims that were not run\n\n");
    header(text, &["#", "Claim", "Claimed", "Why it was not run"]);
    for (figure, anchor, claim) in claims {
        let Verdict::NotRun { why } = &claim.verdict else { continue };
        let claimed = format!("{} ({})", claim.claimed, claim.section);
        let cells = [claim.id.clone(), claimed, capitalised(why)].map(|cell| escaped(&cell));
        let _ =
            writeln!(text, "| [{}]({folder}/{}.md#{anchor}) | {} |", claim.number, names[figure], cells.join(" | "));
    }
    text.push('\n');
}

/// Appends the readings with their descriptions.
fn readings(text: &mut String, reproduction: &Reproduction) {
    if reproduction.readings.is_empty() {
        return;
    }
    text.push_str("## Readings\n\nInterpretations of details that the paper leaves out.\n\n");
    for (at, reading) in reproduction.readings.iter().enumerate().filter(|(_, reading)| reading.same_as.is_none()) {
        let base = if at == 0 { " (base reading)" } else { "" };
        let _ = writeln!(text, "- **{}**{base}: {}", escaped(&reading.name), escaped(&reading.description));
    }
    for sentence in same_results(reproduction) {
        let _ = write!(text, "\n{}\n", escaped(&sentence));
    }
    text.push('\n');
}

/// Appends the matrix of readings and claims, and what the search found.
fn joint(text: &mut String, reproduction: &Reproduction) {
    let matrix = matrix(reproduction);
    let paragraphs = search_sentences(reproduction);
    if matrix.rows.is_empty() && paragraphs.is_empty() {
        return;
    }
    text.push_str("## Which claims hold together\n\n");
    for paragraph in paragraphs {
        let _ = writeln!(text, "{}\n", escaped(&paragraph));
    }
    if matrix.rows.is_empty() {
        return;
    }
    let legend: Vec<String> = matrix.claims.iter().map(|(number, id)| format!("{number} {}", escaped(id))).collect();
    let _ = writeln!(
        text,
        "A column is a simulated claim, a row is a reading. ✓ the claim holds, ✗ it does not, – it was not measured. \
         Claims: {}.\n",
        legend.join(", ")
    );
    if !matrix.not_counted.is_empty() {
        let _ = writeln!(text, "{}\n", escaped(&matrix.not_counted));
    }
    if matrix.has_errors {
        text.push_str(
            "The baseline error is the mean distance from the published numbers of the paper's baseline, as a share of \
             what the rules allow.\n\n",
        );
    }
    let numbers: Vec<String> = matrix.claims.iter().map(|(number, _)| number.to_string()).collect();
    let mut headings = vec!["Reading", "Hold"];
    if matrix.has_errors {
        headings.push("Baseline error");
    }
    headings.extend(numbers.iter().map(String::as_str));
    header(text, &headings);
    for one in &matrix.rows {
        let [holds, of] = one.holds;
        let mut cells = vec![one.name(), format!("{holds} of {of}")];
        if matrix.has_errors {
            cells.push(one.baseline_error.clone());
        }
        cells.extend(one.cells.iter().map(|holds| sign(*holds).to_owned()));
        row(text, cells.iter());
    }
}
