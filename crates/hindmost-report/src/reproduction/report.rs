//! The document of a reproduction: the answer, the claims of the abstract, what decides them, and all claims and readings.

use hindmost_claims::{Claim, Measured, Reading, Reproduction, Verdict};

use super::first_screen::{Value, base_value, beside_base, best_value, coverage, factors, minutes, quantiles};
use super::forest::{FOREST_FILE, forest, forest_caption};
use super::matrix::{matrix, search_sentences};
use super::wording::sign;
use super::wording::{counts, opening, same_results, seeds_sentence, span, verdict_text};
use super::{Names, QUANTILE_HEADINGS};
use crate::document::{Beside, Column, Document, Form, Layout, Picture, Role, Table, Text, Tone};
use crate::figures::{Strip, StripDot};
use crate::text::{capitalised, full};

/// Largest number of readings whose values are all shown in the small picture of a claim.
const MOST_DOTS: usize = 16;

/// Builds the document. A terminal shows the claims by figure, the other forms in one table with links of `names` to the pages
/// of the figures.
pub(super) fn report(reproduction: &Reproduction, form: Form, names: &Names) -> Document {
    let report = Report { reproduction, names };
    let mut document = Document::new(form);
    let first = [Report::opening, Report::headline].as_slice();
    let answer = [Report::forest, Report::decides, Report::quantiles, Report::tested].as_slice();
    let lists = match form {
        Form::Terminal => [Report::by_figure, Report::together, Report::notes, Report::readings].as_slice(),
        _ => &[Report::notes, Report::all_claims, Report::not_run, Report::readings, Report::together],
    };
    let parts = if form == Form::Page { [first, &[Report::beside], lists] } else { [first, answer, lists] };
    for part in parts.concat() {
        part(&report, &mut document);
    }
    document
}

/// Begins the document of a reproduction or a ranking, given its name, heading and title: with what it is about and the answer, of which
/// each sentence is given as its opening and its details.
pub(crate) fn begin<'a>(
    document: &mut Document,
    (name, heading, title): (&str, &str, &str),
    is_quick: bool,
    answer: impl ExactSizeIterator<Item = (&'a str, &'a str)>,
) {
    let quick = if is_quick { " (quick)" } else { "" };
    match document.form() {
        Form::Terminal => {
            document.paragraph(format!("{name}{quick}: {title}"));
            if answer.len() > 0 {
                document.gap();
            }
        }
        Form::Markdown => {
            document.heading(1, format!("{heading}{quick}"));
            document.paragraph(format!("{title}."));
        }
        Form::Page => {}
    }
    for (at, (opening, details)) in answer.enumerate() {
        let text = if at == 0 { Text::default().strong(opening) } else { opening.into() };
        document.paragraph_as(Role::Answer, text.plain(details));
    }
}

/// Returns how good a verdict is.
pub(super) fn tone(verdict: &Verdict) -> Tone {
    match verdict {
        Verdict::Reproduced => Tone::Good,
        Verdict::ReproducedUnder { .. } => Tone::Neutral,
        Verdict::NotReproduced { .. } => Tone::Bad,
        Verdict::NotRun { .. } => Tone::Unimportant,
    }
}

/// Returns the sign for whether a claim holds, and `?` if other seeds might decide otherwise.
fn signed(holds: Option<bool>, is_close: bool) -> Text {
    let tone = match holds {
        Some(true) => Tone::Good,
        Some(false) => Tone::Bad,
        None => Tone::Unimportant,
    };
    Text::default().toned(tone, format!("{}{}", sign(holds), if is_close { "?" } else { "" }))
}

/// Returns a value after a sign that says whether the claim holds.
pub(super) fn value_text(value: &Value) -> Text {
    match value.holds {
        None => value.text.as_str().into(),
        holds => signed(holds, value.is_close).plain(format!(" {}", value.text)),
    }
}

/// What the parts of the document are built from.
struct Report<'a> {
    reproduction: &'a Reproduction,
    names: &'a Names,
}

impl Report<'_> {
    fn opening(&self, document: &mut Document) {
        let Reproduction { paper, title, quick, answer, .. } = self.reproduction;
        let sentences = answer.iter().map(|sentence| opening(sentence.trim()));
        begin(document, (paper, &format!("{paper} reproduced"), title), *quick, sentences);
    }

    /// Returns the link to claim `at`, counted from 0, of figure `figure`.
    fn link(&self, figure: usize, at: usize) -> String {
        format!("{}#{}", self.names.figures[figure], self.names.claims[at])
    }

    /// Adds the claims of the abstract.
    fn headline(&self, document: &mut Document) {
        let form = document.form();
        let claims = self.claims().filter(|(.., claim)| claim.in_abstract || claim.in_headline);
        let claims: Vec<_> = claims.collect();
        if claims.is_empty() {
            return;
        }
        let heading = "Claims of the abstract and the headline";
        let signs =
            if form == Form::Terminal { " (✓ holds, ✗ does not hold; ? may differ on other seeds)" } else { "" };
        document.heading(2, format!("{heading}{signs}"));
        let mut table = Table { layout: Layout::Headline, ..Table::default() };
        table.columns = Self::columns(form, &["Claimed:"], &["Best joint reading:"]);
        for (figure, at, claim) in claims {
            let (link, claimed) = (self.link(figure, at), format!("{} ({})", claim.claimed, claim.section));
            let name = match form {
                Form::Page => vec![Text::default().link(link, claimed)],
                _ => numbered(form, claim.number, link).chain([Text::from(claimed)]).collect(),
            };
            let base = value_text(&base_value(self.reproduction, claim));
            let best = value_text(&best_value(self.reproduction, claim));
            let verdict = verdict_cell(form, &claim.verdict, &claim.short_verdict());
            table.row(name.into_iter().chain([base, best, verdict]));
        }
        document.table(table);
        if form != Form::Terminal {
            let links = " Each claim leads to its figure, with the values under all readings.";
            document.paragraph_as(
                Role::Note,
                format!(
                    "✓ the claim holds under the reading, ✗ it does not. A question mark: the 95% interval contains a limit of \
                     the rule, so other seeds might decide otherwise.{}",
                    if form == Form::Page { links } else { "" }
                ),
            );
        }
    }

    /// Returns the columns of a table of claims: those with `names`, the value under the base reading, `others`, and the
    /// verdict.
    fn columns(form: Form, names: &[&str], others: &[&str]) -> Vec<Column> {
        let number = (form == Form::Markdown).then_some("#:");
        let before = number.iter().chain(names).map(|heading| Column::new(heading));
        let under = if form == Form::Terminal { "Base reading" } else { "Under the base reading" };
        let base = Column { label: under.to_owned(), ..Column::new(&format!("{under} [95% interval]:")) };
        // A list says the verdict without a label.
        let label = if form == Form::Page { "Verdict" } else { "" }.to_owned();
        let verdict = Column { label, ..Column::new("Verdict:") };
        before.chain([base]).chain(others.iter().map(|heading| Column::new(heading))).chain([verdict]).collect()
    }

    /// Adds the picture of the claims of the abstract.
    fn forest(&self, document: &mut Document) {
        if document.form() == Form::Terminal {
            return;
        }
        if let Some(drawing) = forest(self.reproduction) {
            let file = format!("{}/{FOREST_FILE}", self.names.folder);
            document.picture(Picture { file, ..Picture::new(drawing, forest_caption(self.reproduction)) });
        }
    }

    /// Adds the picture with what was tested beside it, and then what decides the headline.
    fn beside(&self, document: &mut Document) {
        document.beside(Beside::Sections, [Report::forest, Report::tested], |part, build| build(self, part));
        self.decides(document);
        self.quantiles(document);
    }

    /// Adds what decides the headline.
    fn decides(&self, document: &mut Document) {
        let (about, factors, others) = factors(self.reproduction);
        if factors.is_empty() {
            return;
        }
        document.heading(2, "What decides it");
        if document.form() == Form::Terminal {
            document.paragraph(about);
            for factor in &factors {
                let claimed = if factor.claimed.is_empty() { String::new() } else { format!("{}: ", factor.claimed) };
                let line = format!(
                    "{claimed}{} to {}, a swing of {}; base reading {}",
                    factor.low, factor.high, factor.swing, factor.base
                );
                document.entry(&factor.name, [line]);
            }
        } else {
            let has_claims = factors.iter().any(|factor| !factor.claimed.is_empty());
            let claim = has_claims.then_some("Claim:");
            let headings = ["Detail:"].into_iter().chain(claim).chain(["Base reading", "Lowest:", "Highest:", "Swing"]);
            let mut table = Table::new(about, &headings.collect::<Vec<_>>()).laid_out(Layout::Stacked);
            for factor in &factors {
                let claimed = has_claims.then_some(&factor.claimed);
                let values = [&factor.base, &factor.low, &factor.high, &factor.swing];
                table.row(std::iter::once(&factor.name).chain(claimed).chain(values));
            }
            document.table(table);
        }
        document.paragraph_as(Role::Small, others);
    }

    /// Adds quantiles beside means.
    fn quantiles(&self, document: &mut Document) {
        let Some(tails) = &self.reproduction.heavy_tails else { return };
        let (about, rows) = quantiles(tails);
        document.heading(2, "Quantiles beside the means");
        let headings = QUANTILE_HEADINGS.map(|heading| format!("{heading}:"));
        let table = Table::new(full(&about), &headings.each_ref().map(String::as_str));
        document.table(table.laid_out(Layout::Stacked).with_rows(rows));
    }

    /// Adds how many claims were tested, with which command and which seeds.
    fn tested(&self, document: &mut Document) {
        let (coverage, minutes) = (coverage(self.reproduction), minutes(self.reproduction));
        let command = format!("hindmost {}", self.reproduction.command);
        let (counts, seeds) = (counts(self.reproduction), seeds_sentence(self.reproduction));
        match document.form() {
            Form::Terminal => {
                document.gap();
                let command = format!("Command: {command}. {minutes}");
                document.paragraphs(Role::Usual, [coverage, counts, command, seeds]);
                return;
            }
            _ => document.heading(2, "What was tested"),
        }
        document.paragraph(format!("{coverage} {counts}"));
        if document.form() == Form::Page {
            document.code(command);
            document.paragraph(format!("{minutes} {seeds}"));
        } else {
            document.paragraph(Text::from("Made by ").code(command).plain(format!(
                " (hindmost {}). {minutes} {seeds} The same command gives the same numbers on any number of threads.",
                env!("CARGO_PKG_VERSION")
            )));
        }
    }

    fn notes(&self, document: &mut Document) {
        if !self.reproduction.notes.is_empty() {
            document.gap();
        }
        let is_page = document.form() == Form::Page;
        let note = |note: &String| if is_page { full(note) } else { note.clone() };
        document.paragraphs(Role::Usual, self.reproduction.notes.iter().map(note));
    }

    /// Adds a table of the claims of each figure.
    fn by_figure(&self, document: &mut Document) {
        let (heading, beside) = beside_base(self.reproduction);
        let measured = |claim: &Claim| {
            let value = base_value(self.reproduction, claim).signed();
            let all = span(claim).map_or_else(String::new, |span| format!("; all readings {span}"));
            // The values of several parts have their names.
            match claim.representative().filter(|_| claim.also.is_empty()) {
                Some(one) => format!("{}: {value}{all}", one.value),
                None => value + &all,
            }
        };
        for figure in self.reproduction.figures.iter().filter(|figure| !figure.claims.is_empty()) {
            document.heading(2, &figure.name);
            let mut table =
                Table { columns: Self::columns(Form::Terminal, &["Claimed:"], &[heading]), ..Table::default() };
            // A list shows measured values without a label.
            table.columns[1].label.clear();
            for claim in &figure.claims {
                let verdict = match &claim.verdict {
                    Verdict::NotRun { .. } => claim.verdict.to_string(),
                    _ => verdict_text(claim),
                };
                let value = if claim.readings.is_empty() { "–".to_owned() } else { measured(claim) };
                let best = beside(claim, &best_value(self.reproduction, claim));
                table.row([claim.claimed.clone(), value, best, verdict]);
            }
            document.table(table);
        }
    }

    /// Returns all claims, each with the position of its figure and its position among all claims.
    fn claims(&self) -> impl Iterator<Item = (usize, usize, &Claim)> {
        let figures = self.reproduction.figures.iter().enumerate();
        let all = figures.flat_map(|(figure, one)| one.claims.iter().map(move |claim| (figure, claim)));
        all.enumerate().map(|(at, (figure, claim))| (figure, at, claim))
    }

    /// Adds the table of all tested claims.
    fn all_claims(&self, document: &mut Document) {
        let form = document.form();
        let tested = self.claims().filter(|(.., claim)| !matches!(claim.verdict, Verdict::NotRun { .. }));
        let claims: Vec<_> = tested.collect();
        if claims.is_empty() {
            return;
        }
        document.heading(2, "All tested claims");
        let mut table = Table { layout: Layout::Claims, ..Table::default() };
        if form == Form::Page {
            document.paragraph(
                "A claim's rule says which values confirm the claim. In the small pictures, the shaded area contains the values \
                 that satisfy the rule. Each dot is the value under a reading: filled if it satisfies the rule, hollow if it does \
                 not. Each picture has its own scale and shows the first part of its claim.",
            );
            let others = ["Best joint reading:", "All readings against the rule:"];
            table.columns = Self::columns(form, &["Claimed:", "Where:"], &others);
        } else {
            document.paragraph(
                "The number of a claim leads to its figure, with the values under all readings. ✓ the claim holds under the \
                 reading, ✗ it does not.",
            );
            let others = ["Best joint reading:", "Range over readings:"];
            table.columns = Self::columns(form, &["Claim:", "Claimed:"], &others);
        }
        for (figure, at, claim) in claims {
            let link = self.link(figure, at);
            let range = span(claim).unwrap_or_default();
            let base = value_text(&base_value(self.reproduction, claim));
            let best = value_text(&best_value(self.reproduction, claim));
            let verdict = verdict_cell(form, &claim.verdict, &verdict_text(claim));
            if form == Form::Page {
                let name = Text::default().place(format!("claim-{}", claim.number), format!("{}. ", claim.number));
                let figure = &self.reproduction.figures[figure].name;
                let place = Text::from(format!("{figure}; {}", claim.section)).line(&claim.id);
                let range = if range.is_empty() { range } else { format!("; range: {range}") };
                let strip = Text::default().drawing(strip(self.reproduction, claim).draw());
                let strip = strip.line(format!("rule: {}{range}", claim.rule()));
                table.row([name.link(link, &claim.claimed), place, base, best, strip, verdict]);
            } else {
                let claimed = format!("{} ({})", claim.claimed, claim.section);
                let cells = [Text::from(&claim.id), claimed.into(), base, best, range.into(), verdict];
                table.row(numbered(form, claim.number, link).chain(cells));
            }
        }
        document.table(table);
    }

    /// Adds the claims that were not run, with the reasons.
    fn not_run(&self, document: &mut Document) {
        let headings = ["#:", "Claim:", "Claimed:", "Why it was not run:"];
        let mut table = Table::new("", &headings).laid_out(Layout::Stacked);
        for (figure, at, claim) in self.claims() {
            let Verdict::NotRun { why } = &claim.verdict else { continue };
            let number = Text::default().link(self.link(figure, at), claim.number.to_string());
            let cells = [claim.id.clone(), format!("{} ({})", claim.claimed, claim.section), capitalised(why)];
            table.row(std::iter::once(number).chain(cells.map(Text::from)));
        }
        if !table.rows.is_empty() {
            document.heading(2, "Claims that were not run");
            document.table(table);
        }
    }

    /// Adds the readings with their descriptions; in a terminal, only the base reading, the best joint reading and the calibrated
    /// reading.
    fn readings(&self, document: &mut Document) {
        let readings = &self.reproduction.readings;
        if document.form() == Form::Terminal {
            let rows = matrix(self.reproduction).rows;
            let mut shown: Vec<_> = rows.iter().filter(|row| !row.roles.is_empty()).collect();
            shown.sort_by_key(|row| !row.roles.contains(&"base reading"));
            let found = |reading: &str| readings.iter().find(|one| one.name == reading);
            let facts: Vec<_> =
                shown.iter().filter_map(|row| Some((row.name(), &found(&row.reading)?.description))).collect();
            if !facts.is_empty() {
                document.heading(2, "Readings");
            }
            document.facts(facts);
            return;
        }
        if readings.is_empty() {
            return;
        }
        document.heading(2, "Readings");
        document.paragraph("Interpretations of details that the paper leaves out.");
        let is_page = document.form() == Form::Page;
        let fact = |(at, reading): (usize, &Reading)| {
            let name = if is_page { Text::from(&reading.name) } else { Text::default().strong(&reading.name) };
            let about = if is_page { full(&reading.description) } else { reading.description.clone() };
            (name.plain(if at == 0 { " (base reading)" } else { "" }), about)
        };
        document.facts(readings.iter().enumerate().filter(|(_, reading)| reading.same_as.is_none()).map(fact));
        document.paragraphs(Role::Usual, same_results(self.reproduction));
    }

    /// Adds what the search found, and the matrix of readings and claims.
    fn together(&self, document: &mut Document) {
        let form = document.form();
        let (matrix, found) = (matrix(self.reproduction), search_sentences(self.reproduction));
        let has_matrix = form != Form::Terminal && !matrix.rows.is_empty();
        if found.is_empty() && !has_matrix {
            return;
        }
        document.heading(2, "Which claims hold together");
        document.paragraphs(Role::Usual, found);
        if !has_matrix {
            return;
        }
        let is_page = form == Form::Page;
        let ids = || matrix.claims.iter().map(|(number, id)| format!("{number} {id}")).collect::<Vec<_>>().join(", ");
        document.paragraph(format!(
            "A column is a simulated claim, a row is a reading. ✓ the claim holds, ✗ it does not, – it was not measured. {}.",
            if is_page {
                "The numbers of the columns are those of the table of all claims".to_owned()
            } else {
                format!("Claims: {}", ids())
            }
        ));
        document.paragraph(&matrix.not_counted);
        let errors = matrix.has_errors.then_some(());
        if errors.is_some() {
            document.paragraph(
                "The baseline error is the mean distance from the published numbers of the paper's baseline, as a share of what \
                 the rules allow.",
            );
        }
        let column = |(number, id): &(usize, String)| {
            let number = number.to_string();
            let heading =
                if is_page { Text::default().link(format!("#claim-{number}"), &number) } else { number.into() };
            Column { heading, tip: id.clone(), ..Column::new("") }
        };
        let mut table = Table::new("", &["Reading:", "Hold"]).laid_out(Layout::Matrix);
        table.columns.extend(errors.map(|()| Column::new("Baseline error")));
        table.columns.extend(matrix.claims.iter().map(column));
        for row in &matrix.rows {
            let [holds, of] = row.holds;
            let names = [Text::from(row.name()), format!("{holds} of {of}").into()];
            let error = errors.map(|()| Text::from(&row.baseline_error));
            table.row(names.into_iter().chain(error).chain(row.cells.iter().map(|holds| signed(*holds, false))));
        }
        document.table(table);
    }
}

/// Returns the number of a claim as a link, which only Markdown has in a column of its own.
fn numbered(form: Form, number: usize, link: String) -> impl Iterator<Item = Text> {
    (form == Form::Markdown).then(|| Text::default().link(link, number.to_string())).into_iter()
}

/// Returns a verdict as a cell of a table.
fn verdict_cell(form: Form, verdict: &Verdict, text: &str) -> Text {
    if form == Form::Page { Text::default().toned(tone(verdict), capitalised(text)) } else { text.into() }
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
