//! Renders the reproduction of a paper: as Markdown for the documentation, and as text for the terminal.

mod plots;

use std::fmt::Write as _;

use comfy_table::{ContentArrangement, LineStyle, Table, TableStyle};
use hindmost_core::reproduction::{
    Cell, Claim, DataTable, Figure, Reproduction, Verdict, number_text, rounded_text, with_unit,
};
pub use plots::{PlotFile, plots};

use crate::text::{counted, wrapped};
pub(crate) use plots::{caption, drawn};

/// Columns separated by space, with one line under the headings.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));
/// Terminals with fewer columns than this get a list of claims instead of tables.
const TABLE_FROM_WIDTH: u16 = 80;
/// The heading of a column begins with this if the column has half of the intervals of the column before it.
const HALF: &str = "±";
/// Shown for a reading under which a claim's rule holds.
const HOLDS: &str = "yes";

/// Returns the whole reproduction as Markdown: the claims in one table, then every figure with all its readings and
/// numbers. The Markdown links to the pictures of [`plots`] in a folder that has the paper's name.
pub fn markdown(reproduction: &Reproduction) -> String {
    let mut text = format!("# {} reproduced\n\n{}.\n\n", escaped(&reproduction.paper), escaped(&reproduction.title));
    let _ = writeln!(
        text,
        "Made by `hindmost {}` (hindmost {}), seeds {}. The same command gives the same numbers on any number of \
         threads.\n",
        command(reproduction),
        env!("CARGO_PKG_VERSION"),
        seeds(reproduction)
    );
    for note in &reproduction.notes {
        let _ = writeln!(text, "{}\n", escaped(note));
    }
    let _ = writeln!(text, "## Claims\n\n{}\n", counts(reproduction));
    text += "| | Claimed | Quantity | Measured [95% interval] | Reading | Under all readings | Verdict |\n\
             | --- | --- | --- | --- | --- | --- | --- |\n";
    for (figure, claim) in claims(reproduction) {
        let Shown { quantity, measured, reading } = representative(claim);
        let cells = [
            figure.name.clone(),
            format!("{} ({})", claim.claimed, claim.section),
            quantity,
            measured,
            reading,
            span(claim).unwrap_or_default(),
            claim.verdict.short(claim.readings.len()),
        ];
        row(&mut text, cells.iter());
    }
    text += "\nA claim's rule says which values confirm the claim. The table shows the value under the first reading \
             that confirms it, or under the first reading if none does. The rules and the values under all readings \
             are below.\n\n\
             ## Readings\n\n";
    for reading in &reproduction.readings {
        let _ = writeln!(text, "- **{}**: {}", escaped(&reading.name), escaped(&reading.description));
    }
    for (figure, plots) in reproduction.figures.iter().zip(plots(reproduction)) {
        let _ = write!(text, "\n## {}\n\n{}\n", escaped(&figure.name), escaped(&figure.about));
        for plot in plots {
            let (title, file) = (escaped(plot.drawing.title()), &plot.file);
            let folder = &reproduction.paper;
            let _ = write!(text, "\n![{title}]({folder}/{file})\n\n{}\n", escaped(&plot.caption));
        }
        for claim in &figure.claims {
            claim_markdown(&mut text, claim);
        }
        for table in &figure.tables {
            table_markdown(&mut text, table);
        }
    }
    text
}

fn claim_markdown(text: &mut String, claim: &Claim) {
    let _ = write!(text, "\n### {} ({})\n\n", escaped(&claim.claimed), escaped(&claim.section));
    let verdict = match &claim.verdict {
        Verdict::NotReproduced { why } => format!("**Not reproduced**: {}.", escaped(why)),
        other => {
            let short = other.short(claim.readings.len());
            let mut letters = short.chars();
            let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
            format!("**{first}{}**.", letters.as_str())
        }
    };
    let _ = writeln!(text, "{verdict} Rule: {}. {}\n", claim.rule(), escaped(&claim.comment));
    text.push_str("| Reading | Quantity | Measured [95% interval] | Rule holds |\n| --- | --- | --- | --- |\n");
    for measured in &claim.readings {
        let holds = if measured.holds { HOLDS } else { "no" };
        row(text, [&measured.reading, &measured.value, &measured.text(), holds].into_iter());
    }
}

fn table_markdown(text: &mut String, table: &DataTable) {
    let _ = write!(text, "\n<details><summary>{}</summary>\n\n", in_html(&table.caption));
    let (columns, rows) = as_text(table);
    row(text, columns.iter());
    row(text, (0..columns.len()).map(|at| if at == 0 { "---" } else { "---:" }));
    for cells in rows {
        row(text, cells.iter());
    }
    text.push_str("\n</details>\n");
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
        shown.iter().filter_map(with_halves).map(with_half).collect()
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

fn row(text: &mut String, cells: impl Iterator<Item = impl AsRef<str>>) {
    text.push('|');
    for cell in cells {
        let _ = write!(text, " {} |", escaped(cell.as_ref()));
    }
    text.push('\n');
}

/// Formats a cell of a table; a dash if the cell has no number.
fn cell_text(cell: &Cell) -> String {
    match cell {
        Cell::Number(Some(number)) => number_text(*number),
        Cell::Number(None) => "–".to_owned(),
        Cell::Text(text) => text.clone(),
    }
}

/// Escapes what Markdown would interpret; code between backticks stays code.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let (mut in_code, mut left) = (false, text.matches('`').count());
    for letter in text.chars() {
        if letter == '`' {
            left -= 1;
        }
        match letter {
            // A backtick begins code only if a later backtick ends the code.
            '`' if in_code || left > 0 => in_code = !in_code,
            // A bar would end a table cell even in code.
            '|' => escaped.push('\\'),
            '*' | '_' | '<' | '`' if !in_code => escaped.push('\\'),
            _ => {}
        }
        escaped.push(letter);
    }
    escaped
}

fn in_html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Returns the claims with their verdicts as text of at most `width` columns. The text has one measured value for each
/// claim; the JSON document and the Markdown have all values.
pub fn text(reproduction: &Reproduction, width: u16) -> String {
    let columns = usize::from(width.max(20));
    let quick = if reproduction.quick { " (quick)" } else { "" };
    let mut text = wrapped(&format!("{}{quick}: {}", reproduction.paper, reproduction.title), columns, 0);
    let _ = write!(text, "\n{}\n", wrapped(&counts(reproduction), columns, 0));
    for figure in reproduction.figures.iter().filter(|figure| !figure.claims.is_empty()) {
        let _ = write!(text, "\n{}\n", figure.name);
        if width < TABLE_FROM_WIDTH {
            list(&mut text, figure, columns);
        } else {
            text += &claim_table(figure, width);
            text.push('\n');
        }
    }
    text.push('\n');
    for note in &reproduction.notes {
        let _ = writeln!(text, "{}", wrapped(note, columns, 0));
    }
    text += "\nReadings\n";
    let used = |name: &str| {
        claims(reproduction).any(|(_, claim)| representative(claim).reading.split(", ").any(|part| part == name))
    };
    for reading in reproduction.readings.iter().filter(|reading| used(&reading.name)) {
        let _ = writeln!(text, "{}", wrapped(&format!("{}: {}", reading.name, reading.description), columns, 2));
    }
    text
}

/// Draws the claims of a figure as a table.
fn claim_table(figure: &Figure, width: u16) -> String {
    let mut table = Table::new();
    table.load_style(STYLE).set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    table.set_header(["claimed", "measured [95% interval]", "reading", "verdict"]);
    for claim in &figure.claims {
        let Shown { quantity, measured, reading } = representative(claim);
        let mut measured = format!("{quantity}: {measured}");
        if let Some(span) = span(claim) {
            let _ = write!(measured, "; under all readings {span}");
        }
        table.add_row([&claim.claimed, &measured, &reading, &claim.verdict.short(claim.readings.len())]);
    }
    for (at, column) in table.column_iter_mut().enumerate() {
        column.set_padding((u16::from(at > 0), 1));
    }
    let drawn = table.to_string();
    let lines: Vec<&str> = drawn.lines().map(str::trim_end).collect();
    lines.join("\n")
}

/// Appends the claims of a figure as a list.
fn list(text: &mut String, figure: &Figure, columns: usize) {
    for claim in &figure.claims {
        let Shown { quantity, measured, reading } = representative(claim);
        let _ = writeln!(text, "{}", wrapped(&format!("- {}", claim.claimed), columns, 2));
        for line in [format!("{quantity}: {measured}, reading {reading}"), claim.verdict.short(claim.readings.len())] {
            let _ = writeln!(text, "  {}", wrapped(&line, columns.saturating_sub(2), 0).replace('\n', "\n  "));
        }
    }
}

/// Returns all claims of a reproduction, each with its figure.
pub(crate) fn claims(reproduction: &Reproduction) -> impl Iterator<Item = (&Figure, &Claim)> {
    reproduction.figures.iter().flat_map(|figure| figure.claims.iter().map(move |claim| (figure, claim)))
}

/// What summaries of a claim show of its measured values.
#[derive(Default)]
pub(crate) struct Shown {
    /// The measured quantity in words.
    pub(crate) quantity: String,
    /// The measured value with its unit and interval.
    pub(crate) measured: String,
    /// Name of the reading under which the value was measured.
    pub(crate) reading: String,
}

/// Returns the measured value that summaries of a claim show; empty texts if the claim has none.
pub(crate) fn representative(claim: &Claim) -> Shown {
    claim.representative().map_or_else(Shown::default, |measured| Shown {
        quantity: measured.value.clone(),
        measured: measured.text(),
        reading: measured.reading.clone(),
    })
}

/// Returns the smallest and largest mean over a claim's readings as text; `None` if they are equal.
fn span(claim: &Claim) -> Option<String> {
    let means = || claim.readings.iter().filter_map(|measured| measured.mean);
    let (low, high) = (means().min_by(f64::total_cmp)?, means().max_by(f64::total_cmp)?);
    let unit = claim.readings.first().map_or("", |measured| measured.unit.as_str());
    let [low, high] = [low, high].map(rounded_text);
    let low_unit = if unit == "%" { unit } else { "" };
    (low != high).then(|| format!("{} to {}", with_unit(&low, low_unit), with_unit(&high, unit)))
}

/// Returns a sentence with the number of claims for each verdict.
pub(crate) fn counts(reproduction: &Reproduction) -> String {
    let (mut all, mut some, mut none) = (0, 0, 0);
    for (_, claim) in claims(reproduction) {
        match claim.verdict {
            Verdict::Reproduced => all += 1,
            Verdict::ReproducedUnder { .. } => some += 1,
            Verdict::NotReproduced { .. } => none += 1,
        }
    }
    format!(
        "The paper has {}. Under every reading that was run, {all} are reproduced; under some readings, {some}; under \
         no reading, {none}.",
        counted(all + some + none, "tested claim")
    )
}

/// Returns the command that makes the reproduction, without `hindmost`.
fn command(reproduction: &Reproduction) -> String {
    format!("reproduce {}{}", reproduction.paper, if reproduction.quick { " --quick" } else { "" })
}

/// Formats the seeds as a range, such as `1 to 5`.
pub(crate) fn seeds(reproduction: &Reproduction) -> String {
    match reproduction.seeds.as_slice() {
        [] => "none".to_owned(),
        [only] => only.to_string(),
        [first, .., last] => format!("{first} to {last}"),
    }
}

#[cfg(test)]
mod tests {
    use hindmost_core::reproduction::{Expected, Measured, Reading};

    use super::*;

    fn example() -> Reproduction {
        let measured = |reading: &str, mean: f64| Measured {
            ci95: Some([mean - 1.0, mean + 1.0]),
            ..Measured::exact(reading, "mean flowtime against Mantri", Some(mean), "%")
        };
        let near = Expected::near(-60.0, 5.0);
        let claim = |name: &str, readings| Claim::judge(name, "IV-C", near, readings, "a|b");
        Reproduction {
            paper: "xu2015".to_owned(),
            title: "A title".to_owned(),
            quick: true,
            seeds: vec![1, 2, 3],
            notes: vec!["A note.".to_owned()],
            readings: vec![Reading { name: "oracle".to_owned(), description: "Everything is known.".to_owned() }],
            figures: vec![Figure {
                name: "Figure 2".to_owned(),
                about: "About it.".to_owned(),
                claims: vec![
                    claim("SDA is faster", vec![measured("early", -40.0), measured("oracle", -61.0)]),
                    claim("SDA is slower", vec![measured("oracle", 61.0)]),
                ],
                tables: vec![DataTable::new(
                    "Numbers < 3",
                    vec!["σ".to_owned(), "|c|".to_owned()],
                    vec![vec![Cell::from("no backup"), Cell::from(f64::NAN)]],
                )],
            }],
        }
    }

    #[test]
    fn markdown_has_claims_readings_and_tables() {
        let text = markdown(&example());
        for part in [
            "Made by `hindmost reproduce xu2015 --quick` (hindmost ",
            "The paper has 2 tested claims. Under every reading that was run, 0 are reproduced; under some readings, \
             1; under no reading, 1.",
            "| Figure 2 | SDA is faster (IV-C) | mean flowtime against Mantri | −61% [−62, −60] | oracle | −61% to −40% | reproduced under 1 of 2 readings |",
            "| early | mean flowtime against Mantri | −40% [−41, −39] | no |",
            "**Not reproduced**: measured 61% [60, 62], expected from −65% to −55%. Rule: from −65% to −55%. a\\|b",
            "<summary>Numbers &lt; 3</summary>",
            "| σ | \\|c\\| |\n| --- | ---: |\n| no backup | – |",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }

    #[test]
    fn half_an_interval_follows_its_value_in_one_cell() {
        let columns = ["load", "flowtime", "± flowtime", "copies"].map(str::to_owned).to_vec();
        let rows = vec![
            vec![Cell::from(1.0), Cell::from(12.5), Cell::from(0.5), Cell::from(3.0)],
            vec![Cell::from(2.0), Cell::from(20.0), Cell::from(f64::NAN), Cell::from("none")],
            vec![Cell::from(3.0), Cell::from(-1.59e-5), Cell::from(0.0643), Cell::from(1e-7)],
        ];
        let mut text = String::new();
        table_markdown(&mut text, &DataTable::new("Numbers", columns, rows));
        let table = "| load | flowtime ± | copies |\n| --- | ---: | ---: |\n| 1 | 12.5 ± 0.5 | 3 |\n| 2 | 20 | none |\n\
             | 3 | 0 ± 0.0643 | \\< 0.0001 |\n";
        assert!(text.contains(table), "{text}");
    }

    #[test]
    fn text_between_backticks_is_not_escaped() {
        assert_eq!(escaped("a_b (`per_node=2`) `"), "a\\_b (`per_node=2`) \\`");
        assert_eq!(escaped("`a|b*` * `"), "`a\\|b*` \\* \\`");
        assert_eq!(escaped("`"), "\\`");
    }

    #[test]
    fn text_fits_the_terminal() {
        for width in [30, 60, 80, 120] {
            let text = text(&example(), width);
            assert!(text.contains("oracle: Everything is"), "{text}");
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(width >= TABLE_FROM_WIDTH || words.contains("mean flowtime against Mantri: −61%"), "{text}");
            for line in text.lines() {
                assert!(line.chars().count() <= usize::from(width), "{width}: {line}");
            }
        }
    }
}
