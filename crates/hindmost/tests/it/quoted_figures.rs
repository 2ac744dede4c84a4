//! Compares figures in sentences of the documents with the tables that they are from.
//!
//! `documents.rs` keeps the tables of commands up to date, and `hindmost reproduce` writes those of the ranking. A sentence
//! that quotes them has an entry in `quoted_figures.toml`, so that it cannot be left behind.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;

/// The file `quoted_figures.toml`, whose comments say what is in it.
#[derive(Deserialize)]
struct Quoted {
    tables: BTreeMap<String, [String; 2]>,
    columns: BTreeMap<String, usize>,
    quotes: Vec<Quote>,
}

#[derive(Deserialize)]
struct Quote {
    document: String,
    sentence: String,
    figures: Vec<[String; 4]>,
}

fn read(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Returns the text without quotes of Markdown for code.
fn plain(text: &str) -> String {
    text.replace('`', "")
}

/// Returns the cells of a line of a table: of Markdown, or of a command, whose columns have two spaces between them.
fn cells(line: &str) -> Vec<String> {
    match line.strip_prefix('|') {
        Some(row) => row.trim_end().trim_end_matches('|').split('|').map(|cell| plain(cell.trim())).collect(),
        None => line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(str::to_owned).collect(),
    }
}

/// Returns a cell of a table.
fn cell([document, above]: &[String; 2], row: &str, column: usize) -> String {
    let text = read(document);
    let (_, below) = text.split_once(above).unwrap_or_else(|| panic!("{document} does not contain {above:?}"));
    let found = below.lines().map(cells).find(|cells| cells.len() > 1 && cells[0] == row);
    let found = found.unwrap_or_else(|| panic!("{document}: no row {row:?} below {above:?}"));
    found.get(column).unwrap_or_else(|| panic!("{document}: {row:?} below {above:?} has no column {column}")).clone()
}

/// Returns the figure of a cell without its interval, deviation and unit.
fn figure(cell: &str) -> &str {
    let end = cell.find(['±', '(', '[']).unwrap_or(cell.len());
    cell[..end].trim().trim_end_matches(" s")
}

fn number(cell: &str) -> f64 {
    let digits: String = figure(cell).chars().filter(|letter| !letter.is_whitespace() && *letter != '%').collect();
    digits.replace('−', "-").parse().unwrap_or_else(|error| panic!("{cell:?}: {error}"))
}

impl Quoted {
    /// Returns a figure as its sentence should have it.
    fn written(&self, [table, row, column, form]: &[String; 4]) -> String {
        let table = &self.tables[table];
        let column = column.parse().unwrap_or_else(|_| self.columns[column]);
        let found = cell(table, row, column);
        let rounded = |digits: &str, number: f64| format!("{number:.*}", digits.parse().unwrap());
        match form.split(' ').collect::<Vec<_>>()[..] {
            ["same"] => figure(&found).to_owned(),
            ["whole"] => found,
            ["decimals", digits] => rounded(digits, number(&found)),
            ["over", digits, other] => rounded(digits, number(&found) / number(&cell(table, other, column))),
            ["saves"] => format!("{:.0}%", 100.0 * (1.0 - number(&found))),
            ["adds"] => format!("{:.0}%", 100.0 * (number(&found) - 1.0)),
            _ => panic!("there is no form {form:?}"),
        }
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn sentences_quote_the_figures_of_the_tables() {
    let quoted: Quoted = toml::from_str(include_str!("quoted_figures.toml")).unwrap();
    let mut wrong = Vec::new();
    for Quote { document, sentence, figures } in &quoted.quotes {
        let mut parts = sentence.split("{}");
        let mut expected = parts.next().unwrap_or_default().to_owned();
        assert_eq!(parts.clone().count(), figures.len(), "{document}: {sentence}");
        for (part, figure) in parts.zip(figures) {
            expected += &quoted.written(figure);
            expected += part;
        }
        if !one_line(&read(document)).contains(&one_line(&expected)) {
            wrong.push(format!("{document}: by its tables it should have the sentence\n  {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn cells_are_read_from_both_kinds_of_tables() {
    assert_eq!(cells("pace      2.884 ± 0.055    0.300   23 243"), ["pace", "2.884 ± 0.055", "0.300", "23 243"]);
    assert_eq!(cells("| `pace` | 21 (20 to 23) | −3.3% ± 0.9 |"), ["pace", "21 (20 to 23)", "−3.3% ± 0.9"]);
    assert_eq!(
        ["−3.3% ± 0.9", "15.5 s [13.8, 16.6]", "0.621 (0.614 to 0.627)"].map(figure),
        ["−3.3%", "15.5", "0.621"]
    );
    assert_eq!((number("23 243"), number("−3.3% ± 0.9")), (23_243.0, -3.3));
}
