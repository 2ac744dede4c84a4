//! The reproduction of a paper, as Markdown for the documentation and as text for the terminal.

mod plots;

use std::fmt::Write as _;

use comfy_table::{ContentArrangement, LineStyle, Table, TableStyle};
use hindmost_core::reproduction::{Cell, Claim, DataTable, Figure, Reproduction, Verdict, number_text};
pub use plots::{PlotFile, plots};
pub(crate) use plots::{caption, drawn};

/// Columns separated by space, with one line under the headings.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));
/// Terminals narrower than this, in columns, get a list instead of tables.
const TABLE_FROM_WIDTH: u16 = 80;
/// Begins the heading of a column that holds half the interval of the column before it.
const HALF: &str = "±";
/// Marks a reading under which a claim's criterion holds.
const HOLDS: &str = "yes";

/// Returns the whole reproduction as Markdown: the claims in one table, then every figure with all its readings
/// and numbers. It links to the pictures of [`plots`] in a folder that has the paper's name.
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
    text += "| | Claimed | Measured [95% interval] | Reading | Over all readings | Verdict |\n\
             | --- | --- | --- | --- | --- | --- |\n";
    for (figure, claim) in claims(reproduction) {
        let (measured, reading) = representative(claim);
        let cells = [
            figure.name.clone(),
            format!("{} ({})", claim.claimed, claim.section),
            measured,
            reading,
            span(claim).unwrap_or_default(),
            claim.verdict.short(claim.readings.len()),
        ];
        row(&mut text, cells.iter());
    }
    text += "\nThe reading shown is the first under which a claim's rule holds, else the first that was run; all of them \
             are below.\n\n## Readings\n\n";
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
    let _ = writeln!(text, "{verdict} Rule: {}. {}\n", claim.expected, escaped(&claim.comment));
    text.push_str("| Reading | What | Measured | Holds |\n| --- | --- | --- | --- |\n");
    for measured in &claim.readings {
        let holds = if measured.holds { HOLDS } else { "no" };
        row(text, [&measured.reading, &measured.value, &measured.text(), holds].into_iter());
    }
}

fn table_markdown(text: &mut String, table: &DataTable) {
    let _ = write!(text, "\n<details><summary>{}</summary>\n\n", in_html(&table.caption));
    // Half an interval is shown in the cell of its value, not in a column of its own.
    let is_half = |at: usize| at > 0 && table.columns.get(at).is_some_and(|heading| heading.starts_with(HALF));
    let shown = || (0..table.columns.len()).filter(|at| !is_half(*at));
    let half = format!(" {HALF}");
    row(text, shown().map(|at| table.columns[at].clone() + if is_half(at + 1) { &half } else { "" }));
    row(text, shown().map(|at| if at == 0 { "---" } else { "---:" }));
    for cells in &table.rows {
        row(
            text,
            shown()
                .filter_map(|at| Some((cells.get(at)?, cells.get(at + 1).filter(|_| is_half(at + 1)))))
                .map(with_half),
        );
    }
    text.push_str("\n</details>\n");
}

/// Formats a value with half of its interval, if it has one.
fn with_half((value, half): (&Cell, Option<&Cell>)) -> String {
    match half {
        None | Some(Cell::Number(None)) => cell_text(value),
        Some(half) => format!("{} {HALF} {}", cell_text(value), cell_text(half)),
    }
}

fn row(text: &mut String, cells: impl Iterator<Item = impl AsRef<str>>) {
    text.push('|');
    for cell in cells {
        let _ = write!(text, " {} |", escaped(cell.as_ref()));
    }
    text.push('\n');
}

pub(crate) fn cell_text(cell: &Cell) -> String {
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
            // A backtick that closes code, or that a later one closes.
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

/// Returns the claims with their verdicts as text of at most `width` columns. All numbers are in the JSON and the
/// Markdown only.
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
        claims(reproduction).any(|(_, claim)| representative(claim).1.split(", ").any(|part| part == name))
    };
    for reading in reproduction.readings.iter().filter(|reading| used(&reading.name)) {
        let _ = writeln!(text, "{}", wrapped(&format!("{}: {}", reading.name, reading.description), columns, 2));
    }
    text
}

fn claim_table(figure: &Figure, width: u16) -> String {
    let mut table = Table::new();
    table.load_style(STYLE).set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    table.set_header(["claimed", "measured [95% interval]", "reading", "verdict"]);
    for claim in &figure.claims {
        let (mut measured, reading) = representative(claim);
        if let Some(span) = span(claim) {
            let _ = write!(measured, "; all readings {span}");
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

fn list(text: &mut String, figure: &Figure, columns: usize) {
    for claim in &figure.claims {
        let (measured, reading) = representative(claim);
        let _ = writeln!(text, "{}", wrapped(&format!("- {}", claim.claimed), columns, 2));
        for line in [format!("measured {measured}, {reading}"), claim.verdict.short(claim.readings.len())] {
            let _ = writeln!(text, "  {}", wrapped(&line, columns.saturating_sub(2), 0).replace('\n', "\n  "));
        }
    }
}

pub(crate) fn claims(reproduction: &Reproduction) -> impl Iterator<Item = (&Figure, &Claim)> {
    reproduction.figures.iter().flat_map(|figure| figure.claims.iter().map(move |claim| (figure, claim)))
}

/// Returns the measured value that represents a claim, and its reading.
pub(crate) fn representative(claim: &Claim) -> (String, String) {
    claim.representative().map_or_else(Default::default, |measured| (measured.text(), measured.reading.clone()))
}

/// Returns the smallest and largest mean over a claim's readings; `None` if they are equal.
fn span(claim: &Claim) -> Option<String> {
    let means = || claim.readings.iter().filter_map(|measured| measured.mean);
    let (low, high) = (means().min_by(f64::total_cmp)?, means().max_by(f64::total_cmp)?);
    (low < high).then(|| format!("{} to {}", number_text(low), number_text(high)))
}

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
        "Of {} claims {all} are reproduced under every reading that was run, {some} under some readings, {none} under none.",
        all + some + none
    )
}

fn command(reproduction: &Reproduction) -> String {
    format!("reproduce {}{}", reproduction.paper, if reproduction.quick { " --quick" } else { "" })
}

pub(crate) fn seeds(reproduction: &Reproduction) -> String {
    match reproduction.seeds.as_slice() {
        [] => "none".to_owned(),
        [only] => only.to_string(),
        [first, .., last] => format!("{first} to {last}"),
    }
}

/// Wraps text at spaces into lines of at most `width` letters and indents all lines but the first.
fn wrapped(text: &str, width: usize, indent: usize) -> String {
    let (mut lines, mut line) = (Vec::new(), String::new());
    for word in text.split_whitespace() {
        let used = line.chars().count();
        if used > indent && used + 1 + word.chars().count() > width {
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
        }
        if !line.trim().is_empty() {
            line.push(' ');
        }
        line += word;
    }
    lines.push(line);
    lines.join("\n")
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
                    claim("It is shorter", vec![measured("early", -40.0), measured("oracle", -61.0)]),
                    claim("It is longer", vec![measured("oracle", 61.0)]),
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
    fn markdown_begins_with_the_claims() {
        let text = markdown(&example());
        for part in [
            "Made by `hindmost reproduce xu2015 --quick` (hindmost ",
            "Of 2 claims 0 are reproduced under every reading that was run, 1 under some readings, 1 under none.",
            "| Figure 2 | It is shorter (IV-C) | −61% [−62, −60] | oracle | −61 to −40 | reproduced under 1 of 2 readings |",
            "| early | mean flowtime against Mantri | −40% [−41, −39] | no |",
            "**Not reproduced**: measured 61% [60, 62], needed from −65 to −55. Rule: from −65 to −55. a\\|b",
            "<summary>Numbers &lt; 3</summary>",
            "| σ | \\|c\\| |\n| --- | ---: |\n| no backup | – |",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }

    #[test]
    fn half_an_interval_is_in_the_cell_of_its_value() {
        let columns = ["load", "flowtime", "± flowtime", "copies"].map(str::to_owned).to_vec();
        let rows = vec![
            vec![Cell::from(1.0), Cell::from(12.5), Cell::from(0.5), Cell::from(3.0)],
            vec![Cell::from(2.0), Cell::from(20.0), Cell::from(f64::NAN), Cell::from("none")],
        ];
        let mut text = String::new();
        table_markdown(&mut text, &DataTable::new("Numbers", columns, rows));
        let table =
            "| load | flowtime ± | copies |\n| --- | ---: | ---: |\n| 1 | 12.5 ± 0.5 | 3 |\n| 2 | 20 | none |\n";
        assert!(text.contains(table), "{text}");
    }

    #[test]
    fn code_stays_code() {
        assert_eq!(escaped("a_b (`per_node=2`) `"), "a\\_b (`per_node=2`) \\`");
        assert_eq!(escaped("`a|b*` * `"), "`a\\|b*` \\* \\`");
        assert_eq!(escaped("`"), "\\`");
    }

    #[test]
    fn text_fits_the_terminal() {
        for width in [30, 60, 80, 120] {
            let text = text(&example(), width);
            assert!(text.contains("oracle: Everything is"), "{text}");
            for line in text.lines() {
                assert!(line.chars().count() <= usize::from(width), "{width}: {line}");
            }
        }
    }
}
