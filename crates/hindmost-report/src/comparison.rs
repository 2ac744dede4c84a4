//! The comparison of policies as a table for the terminal.

use comfy_table::{CellAlignment, ContentArrangement, Table};
use comfy_table::{LineStyle, TableStyle};
use hindmost_core::metrics::{Comparison, PolicyResult, Summary};

/// Columns apart by space, with one line under the headings.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// A column: its heading, how much width the table must have for it, and its cells.
struct Column {
    heading: &'static str,
    from_width: u16,
    cell: fn(&PolicyResult) -> String,
}

/// The columns in the order in which they are shown; the least important need the widest terminal.
const COLUMNS: &[Column] = &[
    Column { heading: "policy", from_width: 0, cell: |row| row.policy.clone() },
    Column { heading: "mean\nflowtime", from_width: 0, cell: |row| with_interval(&row.flowtime) },
    Column { heading: "versus\nfirst", from_width: 0, cell: versus_first },
    Column { heading: "p50", from_width: 90, cell: |row| number(row.flowtime.p50) },
    Column { heading: "p95", from_width: 70, cell: |row| number(row.flowtime.p95) },
    Column { heading: "p99", from_width: 80, cell: |row| number(row.flowtime.p99) },
    Column { heading: "mean\nresource", from_width: 60, cell: |row| number(row.resource.mean) },
    Column { heading: "copies\nlaunched", from_width: 100, cell: |row| row.copies.launched.to_string() },
    Column { heading: "won", from_width: 110, cell: |row| row.copies.won.to_string() },
    Column { heading: "wasted", from_width: 75, cell: |row| percent(row.copies.wasted_share) },
    Column { heading: "busy", from_width: 105, cell: |row| percent(row.utilization) },
];

/// The comparison as a table that fits so many columns of text, with what its reader must know.
pub fn text(compared: &Comparison, width: u16) -> String {
    let mut text = heading(compared);
    for set in sets(compared) {
        if !set.is_empty() {
            let values: Vec<String> = set.iter().map(|(key, value)| format!("{key} = {value}")).collect();
            text += &format!("\n{}\n", values.join(", "));
        }
        text += &table(compared.results.iter().filter(|row| row.set == set), width);
        text.push('\n');
    }
    text += &footnotes(compared, width);
    text
}

fn heading(compared: &Comparison) -> String {
    let jobs = compared.results.first().map_or(0, |row| row.jobs);
    let tasks = compared.results.first().map_or(0, |row| row.tasks);
    let seeds = compared.seeds.len();
    format!(
        "{}: {} of {} over {}, knowledge {}\n",
        compared.scenario,
        counted(jobs, "job"),
        counted(tasks, "task"),
        counted(seeds as u64, "seed"),
        compared.knowledge
    )
}

fn counted(count: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// A count with a narrow gap between each three digits.
fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped
}

pub(crate) fn sets(compared: &Comparison) -> Vec<Vec<(String, String)>> {
    let mut sets: Vec<Vec<(String, String)>> = Vec::new();
    for row in &compared.results {
        if !sets.contains(&row.set) {
            sets.push(row.set.clone());
        }
    }
    sets
}

fn table<'a>(rows: impl Iterator<Item = &'a PolicyResult>, width: u16) -> String {
    let rows: Vec<&PolicyResult> = rows.collect();
    let mut columns: Vec<&Column> = COLUMNS.iter().filter(|column| column.from_width <= width).collect();
    // Long names of policies may still need more room than there is: the least important columns go.
    loop {
        let rendered = draw(&columns, &rows, None);
        let widest = rendered.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        if widest <= usize::from(width) {
            return rendered;
        }
        let least = columns.iter().enumerate().filter(|(_, column)| column.from_width > 0);
        match least.max_by_key(|(_, column)| column.from_width).map(|(at, _)| at) {
            Some(at) => drop(columns.remove(at)),
            None => return draw(&columns, &rows, Some(width)),
        }
    }
}

fn draw(columns: &[&Column], rows: &[&PolicyResult], width: Option<u16>) -> String {
    let mut table = Table::new();
    table.load_style(STYLE);
    match width {
        Some(width) => table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width),
        None => table.set_content_arrangement(ContentArrangement::Disabled),
    };
    table.set_header(columns.iter().map(|column| column.heading));
    for row in rows {
        table.add_row(columns.iter().map(|column| (column.cell)(row)));
    }
    for (at, column) in table.column_iter_mut().enumerate() {
        column.set_cell_alignment(if at == 0 { CellAlignment::Left } else { CellAlignment::Right });
        column.set_padding((u16::from(at != 0), 1));
    }
    let drawn = table.to_string();
    let lines: Vec<&str> = drawn.lines().map(str::trim_end).collect();
    lines.join("\n")
}

fn footnotes(compared: &Comparison, width: u16) -> String {
    let mut notes = vec![
        "Flowtime: seconds from a job's arrival to its finish; the mean is over seeds' means, ± half of its 95% \
         interval. Versus first: ratio of mean flowtimes on the same jobs. Resource: room-time of all copies of a \
         job, times gamma. Wasted: share of it held by copies that lost."
            .to_owned(),
    ];
    let unfinished: u64 = compared.results.iter().map(|row| row.unfinished_jobs).sum();
    if unfinished > 0 {
        let each: Vec<String> =
            compared.results.iter().map(|row| format!("{} {}", row.policy, row.unfinished_jobs)).collect();
        notes.push(format!("Unfinished jobs, left out of the figures: {}.", each.join(", ")));
    }
    notes.extend(compared.notes.iter().map(|note| capitalised(note)));
    notes.iter().map(|note| wrapped(note, usize::from(width))).collect::<Vec<_>>().join("\n")
}

fn capitalised(note: &str) -> String {
    let mut chars = note.chars();
    let first: String = chars.next().into_iter().flat_map(char::to_uppercase).collect();
    let end = if note.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{first}{}{end}", chars.as_str())
}

/// Text broken at spaces into lines of at most `width`.
fn wrapped(text: &str, width: usize) -> String {
    let (mut lines, mut line) = (Vec::new(), String::new());
    for word in text.split_whitespace() {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line += word;
    }
    lines.push(line);
    lines.join("\n")
}

pub(crate) fn with_interval(summary: &Summary) -> String {
    match (summary.mean, summary.ci95) {
        (Some(mean), Some([low, high])) => format!("{} ± {}", significant(mean), significant((high - low) / 2.0)),
        (mean, _) => number(mean),
    }
}

fn versus_first(row: &PolicyResult) -> String {
    row.versus_first.flowtime_ratio.map_or("–".to_owned(), |ratio| format!("{ratio:.3}"))
}

fn number(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), significant)
}

/// Four significant digits, without an exponent for ordinary sizes.
pub(crate) fn significant(value: f64) -> String {
    let size = value.abs();
    match size {
        _ if size == 0.0 => "0".to_owned(),
        _ if !(1e-4..1e7).contains(&size) => format!("{value:.3e}"),
        _ => {
            let digits = (3 - size.log10().floor() as i32).max(0) as usize;
            format!("{value:.digits$}")
        }
    }
}

pub(crate) fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_significant_digits() {
        for (value, expected) in [
            (0.0, "0"),
            (14.98123, "14.98"),
            (0.012_346, "0.01235"),
            (123_456.7, "123457"),
            (2.5e9, "2.500e9"),
            (-3.21987, "-3.220"),
        ] {
            assert_eq!(significant(value), expected);
        }
        assert_eq!(grouped(1_234_567), "1 234 567");
        assert_eq!(grouped(123), "123");
    }

    #[test]
    fn text_is_wrapped_at_spaces() {
        assert_eq!(wrapped("one two three", 7), "one two\nthree");
    }
}
