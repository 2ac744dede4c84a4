//! The pages of a reproduction: one with the answer, all claims and all readings, and one for each figure of the paper.

mod figure;

use hindmost_core::reproduction::{Claim, Measured, Reading, Reproduction, Verdict};
use serde::Serialize;

use super::{Frame, Picture, Pictures, Step, Table, full, glossary, name, paragraph, rendered, sentence};
use crate::figures::{Strip, StripDot};
use crate::reproduction::{
    FirstScreen, Matrix, Page, QUANTILE_HEADINGS, Quantiles, Value, base_value, best_value, capitalised, counts,
    figure_slugs, first_screen, forest, forest_caption, matrix, opening, same_results, search_sentences,
    seeds_sentence, sign, slug, slugs, span, verdict_text,
};
use figure::figure_page;

/// Largest number of readings whose values are all shown in the small picture of a claim.
const MOST_DOTS: usize = 16;

#[derive(Serialize)]
struct Content {
    answer: Vec<[String; 2]>,
    headline: Vec<HeadlineRow>,
    forest: Option<Picture>,
    factors: Option<Table>,
    other_factors: String,
    quantiles: Option<Table>,
    coverage: String,
    command: String,
    minutes: String,
    seeds: String,
    notes: Vec<String>,
    claims: Vec<ClaimRow>,
    not_run: Vec<NotRunRow>,
    readings: Vec<[String; 2]>,
    same: Vec<String>,
    search: Vec<String>,
    matrix: Option<MatrixTable>,
}

#[derive(Serialize)]
struct HeadlineRow {
    number: usize,
    link: String,
    claimed: String,
    base: Shown,
    best: Shown,
    verdict: String,
    class: &'static str,
}

/// A measured value with the style class of its sign.
#[derive(Serialize)]
struct Shown {
    sign: &'static str,
    class: &'static str,
    text: String,
}

#[derive(Serialize)]
struct ClaimRow {
    number: usize,
    link: String,
    anchor: String,
    id: String,
    claimed: String,
    place: String,
    base: Shown,
    best: Shown,
    rule: String,
    range: String,
    strip: String,
    verdict: String,
    class: &'static str,
}

#[derive(Serialize)]
struct NotRunRow {
    number: usize,
    link: String,
    claimed: String,
    why: String,
}

#[derive(Serialize)]
struct MatrixTable {
    not_counted: String,
    columns: Vec<MatrixColumn>,
    has_errors: bool,
    rows: Vec<MatrixRow>,
}

#[derive(Serialize)]
struct MatrixColumn {
    number: usize,
    id: String,
}

#[derive(Serialize)]
struct MatrixRow {
    name: String,
    holds: String,
    error: String,
    cells: Vec<[&'static str; 2]>,
}

/// The names of the pages, and the links between them.
struct Names {
    /// Name of the page with the answer, such as `report.html`.
    report: String,
    /// Names of the figures' pages, in the order of the figures.
    figures: Vec<String>,
    /// Anchors of the claims in the figures' pages, in the order of the paper.
    claims: Vec<String>,
}

impl Names {
    fn of(reproduction: &Reproduction, several: bool) -> Names {
        let paper = slug(&reproduction.paper);
        let file = |figure: &String| if several { format!("{paper}-{figure}.html") } else { format!("{figure}.html") };
        Names {
            report: if several { format!("{paper}.html") } else { "report.html".to_owned() },
            figures: figure_slugs(reproduction).iter().map(file).collect(),
            claims: slugs(reproduction.claims().map(|(_, claim)| claim.id.as_str())),
        }
    }
}

/// Returns the pages of a reproduction: `report.html` with the answer, all claims and all readings, then
/// `figure-ID.html` for each figure. If `several` papers are written into the same folder, the names are `PAPER.html`
/// and `PAPER-figure-ID.html`.
///
/// # Errors
/// If a template is faulty, which is a defect of this crate.
pub fn html_pages(reproduction: &Reproduction, several: bool, again: &[Step]) -> Result<Vec<Page>, minijinja::Error> {
    let names = Names::of(reproduction, several);
    let mut pages = vec![Page { file: names.report.clone(), text: report(reproduction, &names, again)? }];
    let mut before = 0;
    for (figure, file) in reproduction.figures.iter().zip(&names.figures) {
        let text = figure_page(reproduction, figure, &names, before)?;
        pages.push(Page { file: file.clone(), text });
        before += figure.claims.len();
    }
    Ok(pages)
}

fn report(reproduction: &Reproduction, names: &Names, again: &[Step]) -> Result<String, minijinja::Error> {
    let mut pictures = Pictures::default();
    let first = first_screen(reproduction);
    let figures = reproduction.figures.iter().enumerate();
    let all: Vec<(usize, &Claim)> =
        figures.flat_map(|(at, figure)| figure.claims.iter().map(move |claim| (at, claim))).collect();
    let forest = forest(reproduction).map(|drawing| Picture {
        svg: pictures.inline(&drawing),
        wide: String::new(),
        caption: paragraph(&forest_caption(reproduction)),
    });
    let tested = all.iter().enumerate().filter(|(_, (_, claim))| !matches!(claim.verdict, Verdict::NotRun { .. }));
    let not_run = all.iter().filter_map(|(figure, claim)| {
        let Verdict::NotRun { why } = &claim.verdict else { return None };
        Some(NotRunRow {
            number: claim.number,
            link: names.figures[*figure].clone(),
            claimed: format!("{} ({})", sentence(&claim.claimed), sentence(&claim.section)),
            why: full(why),
        })
    });
    let shown = reproduction.readings.iter().enumerate().filter(|(_, reading)| reading.same_as.is_none());
    let reading = |(at, reading): (usize, &Reading)| {
        let base = if at == 0 { " (base reading)" } else { "" };
        [name(&reading.name) + base, full(&reading.description)]
    };
    let matrix = matrix(reproduction);
    let content = Content {
        answer: first.answer.iter().map(|text| answer(text)).collect(),
        headline: headline(&first, names),
        forest,
        factors: factors(&first),
        other_factors: paragraph(&first.other_factors),
        quantiles: first.quantiles.as_ref().map(quantiles),
        coverage: format!("{} {}", first.coverage, counts(reproduction)),
        command: sentence(&first.command),
        minutes: first.minutes.clone(),
        seeds: paragraph(&seeds_sentence(reproduction)),
        notes: reproduction.notes.iter().map(|note| full(note)).collect(),
        claims: tested
            .map(|(at, (figure, claim))| claim_row(reproduction, names, (at, *figure), claim, &mut pictures))
            .collect(),
        not_run: not_run.collect(),
        readings: shown.map(reading).collect(),
        same: same_results(reproduction).iter().map(|text| paragraph(text)).collect(),
        search: search_sentences(reproduction).iter().map(|text| paragraph(text)).collect(),
        matrix: (!matrix.rows.is_empty()).then(|| matrix_table(&matrix)),
    };
    let quick = if reproduction.quick { " (quick)" } else { "" };
    let frame = Frame {
        title: format!("{} reproduced – hindmost", name(&reproduction.paper)),
        heading: format!("{} reproduced{quick}", name(&reproduction.paper)),
        lead: full(&reproduction.title),
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
        Verdict::NotRun { .. } => "soft",
    }
}

/// Returns the style class of the sign for whether a claim holds.
fn sign_class(holds: Option<bool>) -> &'static str {
    match holds {
        Some(true) => "good",
        Some(false) => "bad",
        None => "soft",
    }
}

fn shown(value: &Value) -> Shown {
    let sign = match (value.holds, value.is_close) {
        (None, _) => "",
        (Some(true), true) => "✓?",
        (Some(false), true) => "✗?",
        (holds, false) => sign(holds),
    };
    Shown { sign, class: sign_class(value.holds), text: sentence(&value.text) }
}

/// Returns what a sentence states, and its details.
fn answer(sentence: &str) -> [String; 2] {
    let (opening, details) = opening(sentence);
    [paragraph(opening), paragraph(details)]
}

fn headline(first: &FirstScreen, names: &Names) -> Vec<HeadlineRow> {
    let row = |claim: &crate::reproduction::HeadlineRow| HeadlineRow {
        number: claim.number,
        link: format!("{}#{}", names.figures[claim.figure], names.claims[claim.at]),
        claimed: sentence(&claim.claimed),
        base: shown(&claim.base),
        best: shown(&claim.best),
        verdict: capitalised(&claim.short),
        class: class(&claim.verdict),
    };
    first.claims.iter().map(row).collect()
}

fn factors(first: &FirstScreen) -> Option<Table> {
    let has_claims = first.factors.iter().any(|factor| !factor.claimed.is_empty());
    let claim = has_claims.then_some("claim:");
    let headings = ["detail:"].into_iter().chain(claim).chain(["base reading", "lowest:", "highest:", "swing"]);
    let mut table = Table::new(&sentence(&first.about_factors), &headings.collect::<Vec<_>>());
    table.stacked = true;
    for factor in &first.factors {
        let claimed = has_claims.then_some(&factor.claimed);
        let values = [&factor.base, &factor.low, &factor.high, &factor.swing];
        let cells = std::iter::once(&factor.name).chain(claimed).chain(values);
        table.rows.push(cells.map(|cell| sentence(cell)).collect());
    }
    (!table.rows.is_empty()).then_some(table)
}

fn quantiles(quantiles: &Quantiles) -> Table {
    let headings = QUANTILE_HEADINGS.map(|heading| format!("{heading}:"));
    let mut table = Table::new(&full(&quantiles.about), &headings.each_ref().map(String::as_str));
    table.stacked = true;
    table.rows = quantiles.rows.iter().map(|row| row.iter().map(|cell| sentence(cell)).collect()).collect();
    table
}

fn claim_row(
    reproduction: &Reproduction,
    names: &Names,
    (at, figure): (usize, usize),
    claim: &Claim,
    pictures: &mut Pictures,
) -> ClaimRow {
    let strip = strip(reproduction, claim);
    ClaimRow {
        number: claim.number,
        link: format!("{}#{}", names.figures[figure], names.claims[at]),
        anchor: format!("claim-{}", claim.number),
        id: name(&claim.id),
        claimed: sentence(&claim.claimed),
        place: format!("{}; {}", name(&reproduction.figures[figure].name), sentence(&claim.section)),
        base: shown(&base_value(reproduction, claim)),
        best: shown(&best_value(reproduction, claim)),
        rule: sentence(&format!("rule: {}", claim.rule())),
        range: span(claim).map_or_else(String::new, |span| sentence(&format!("range: {span}"))),
        strip: pictures.inline(&strip.draw()),
        verdict: sentence(&capitalised(&verdict_text(claim))),
        class: class(&claim.verdict),
    }
}

/// Returns the small picture of a claim. If there are many readings, it shows the base reading, the best joint reading,
/// the smallest and the largest value, and some between them.
fn strip(reproduction: &Reproduction, claim: &Claim) -> Strip {
    let mut values: Vec<(f64, &Measured)> = claim.readings.iter().filter_map(|one| Some((one.mean?, one))).collect();
    if values.len() > MOST_DOTS {
        values.sort_by(|one, other| one.0.total_cmp(&other.0));
        let base = reproduction.readings.first().map(|reading| &reading.name);
        let best = reproduction.search.as_ref().map(|search| &search.best);
        let last = values.len() - 1;
        let every = last.div_ceil(MOST_DOTS - 1);
        let is_shown =
            |at: usize, name: &String| at.is_multiple_of(every) || at == last || [base, best].contains(&Some(name));
        let shown = values.iter().enumerate().filter(|(at, (_, one))| is_shown(*at, &one.reading));
        values = shown.map(|(_, value)| *value).collect();
    }
    let dot = |(value, one): (f64, &Measured)| {
        let tip = format!("{}: {}", one.reading, one.text());
        StripDot { tip, value, interval: one.ci95, holds: one.holds }
    };
    Strip {
        title: format!("{}: measured values against the rule", claim.claimed),
        low: claim.expected.low,
        high: claim.expected.high,
        dots: values.into_iter().map(dot).collect(),
    }
}

fn matrix_table(matrix: &Matrix) -> MatrixTable {
    let row = |row: &crate::reproduction::Row| MatrixRow {
        name: name(&row.name()),
        holds: format!("{} of {}", row.holds[0], row.holds[1]),
        error: row.baseline_error.clone(),
        cells: row.cells.iter().map(|holds| [sign_class(*holds), sign(*holds)]).collect(),
    };
    let column = |(number, id): &(usize, String)| MatrixColumn { number: *number, id: name(id) };
    MatrixTable {
        not_counted: matrix.not_counted.clone(),
        columns: matrix.claims.iter().map(column).collect(),
        has_errors: matrix.has_errors,
        rows: matrix.rows.iter().map(row).collect(),
    }
}
