//! The table of a phase (`table = "samples.csv"`): each row is a task, and its columns are variables.

use std::borrow::Cow;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use hindmost_math::plain::Quoted;
use hindmost_math::suggest::did_you_mean;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::{Value, json};

use super::matrix::{COLUMNS, is_variable};
use super::values::check_text;

/// Largest size of a table: 16 MiB. The record of a run holds its values.
const LARGEST: u64 = 16 << 20;
/// Number of bytes that surround a value in the record of a run, at least.
const AROUND: usize = 24;
/// Ends the text of a table while it is read. No value may contain it, so that it shows a quote that is never closed.
const END: &str = "\n\0\n";

/// A table with a header, whose rows are tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    file: PathBuf,
    columns: Vec<String>,
    /// The values of all rows, one after the other.
    values: Vec<String>,
    /// Number of the line on which each row begins, from 1.
    lines: Vec<u64>,
}

/// A mistake in a table, with the number of its line.
type Mistake = (u64, String);

impl Table {
    /// Reads a table. `file` is its absolute path.
    ///
    /// # Errors
    /// If the file can't be read, or is no table whose columns can be variables. The text names the line and what to do.
    pub(super) fn read(file: &Path, given: &str) -> Result<Table, String> {
        let extension = file.extension().and_then(|end| end.to_str()).unwrap_or_default().to_ascii_lowercase();
        let delimiter = match extension.as_str() {
            "csv" => Some(b','),
            "tsv" | "tab" => Some(b'\t'),
            "jsonl" | "ndjson" => None,
            _ => {
                return Err(format!(
                    "{} is no table that is known by its ending: name it .csv (commas), .tsv (tabs), or .jsonl or .ndjson (a JSON \
                     object on each line)",
                    Quoted(given)
                ));
            }
        };
        let mut bytes = Vec::new();
        let read = File::open(file).and_then(|opened| opened.take(LARGEST + 1).read_to_end(&mut bytes));
        read.map_err(|error| format!("{}: {error}; give its path from the folder of the job file", file.display()))?;
        let file_name = file.file_name().map_or_else(|| given.into(), |name| name.to_string_lossy());
        if bytes.len() as u64 > LARGEST {
            return Err(format!(
                "{file_name} is larger than {} MiB: put long values into files and their names into the table",
                LARGEST >> 20
            ));
        }
        let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&bytes);
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let line = bytes[..error.valid_up_to()].split(|byte| *byte == b'\n').count();
            format!("{file_name}, line {line}: this is not UTF-8; save the table as UTF-8, for example with `iconv -t UTF-8`")
        })?;
        let mut table = Table { file: file.to_owned(), columns: Vec::new(), values: Vec::new(), lines: Vec::new() };
        let read = match delimiter {
            Some(delimiter) => table.read_delimited(text, delimiter),
            None => table.read_json(text),
        };
        read.and_then(|()| table.check()).map_err(|(line, what)| format!("{file_name}, line {line}: {what}"))?;
        Ok(table)
    }

    fn read_delimited(&mut self, text: &str, delimiter: u8) -> Result<(), Mistake> {
        let text = [text.trim_end_matches(['\n', '\r']), END].concat();
        let mut reader = csv::ReaderBuilder::new();
        reader.has_headers(false).flexible(true).delimiter(delimiter);
        // The byte up to which lines have been counted, and the number of the line there.
        let (mut counted, mut line) = (0, 1);
        for record in reader.from_reader(text.as_bytes()).into_records() {
            let record = record.map_err(|error| (line, format!("{error}; correct the table")))?;
            // The reader has not yet passed the empty lines before the row.
            let begin = record.position().map_or(counted, |position| position.byte() as usize);
            let empty = text.as_bytes()[begin..].iter().take_while(|byte| matches!(byte, b'\n' | b'\r')).count();
            line += text.as_bytes()[counted..begin + empty].split(|byte| *byte == b'\n').count() as u64 - 1;
            counted = begin + empty;
            if record.len() == 1 && &record[0] == "\0" {
                break;
            }
            if record.iter().any(|value| value.contains('\0')) {
                let what = if record.iter().next_back().is_some_and(|value| value.ends_with(END)) {
                    "a quote (\") that opens a field in this row is never closed; close it, or write \"\" for a quote in a \
                     quoted field"
                } else {
                    "a field contains the character NUL; remove it"
                };
                return Err((line, what.to_owned()));
            }
            if self.columns.is_empty() {
                self.columns = record.iter().map(str::to_owned).collect();
                self.check_columns(line)?;
                continue;
            }
            if record.len() != self.columns.len() {
                let (has, expected) = (record.len(), self.columns.len());
                let fields = if has == 1 { "field" } else { "fields" };
                let more = if has > expected { "; put a field with the delimiter in it into quotes" } else { "" };
                return Err((
                    line,
                    format!(
                        "this row has {has} {fields}, but the header has {expected}: complete or correct the row{more}"
                    ),
                ));
            }
            self.values.extend(record.iter().map(str::to_owned));
            self.lines.push(line);
        }
        Ok(())
    }

    fn read_json(&mut self, text: &str) -> Result<(), Mistake> {
        for (line, text) in (1..).zip(text.lines()).filter(|(_, text)| !text.trim().is_empty()) {
            let Object(fields) = serde_json::from_str(text).map_err(|error| {
                (
                    line,
                    format!(
                        "this is not a JSON object ({error}): write one object on each line, {{\"sample\": \"A\"}}"
                    ),
                )
            })?;
            if self.columns.is_empty() {
                self.columns = fields.iter().map(|(name, _)| name.clone()).collect();
                self.check_columns(line)?;
            }
            if let Some((name, _)) = fields.iter().find(|(name, _)| !self.columns.contains(name)) {
                return Err((
                    line,
                    format!("{} is not a field of the first row: all rows have the same fields", Quoted(name)),
                ));
            }
            for column in &self.columns {
                let mut found = fields.iter().filter(|(name, _)| name == column);
                let value = match (found.next(), found.next()) {
                    (Some((_, value)), None) => value,
                    (None, _) => {
                        let what = "is missing; all rows have the fields of the first one, and null is an empty value";
                        return Err((line, format!("{} {what}", Quoted(column))));
                    }
                    _ => return Err((line, format!("{} is there twice; remove one", Quoted(column)))),
                };
                self.values.push(match value {
                    Value::Null => String::new(),
                    Value::String(text) => text.clone(),
                    Value::Bool(_) | Value::Number(_) => value.to_string(),
                    Value::Array(_) | Value::Object(_) => {
                        let what = "is a list or an object; values are texts, numbers, true, false or null";
                        return Err((line, format!("{} {what}", Quoted(column))));
                    }
                });
            }
            self.lines.push(line);
        }
        Ok(())
    }

    fn check_columns(&self, line: u64) -> Result<(), Mistake> {
        for (at, name) in self.columns.iter().enumerate() {
            let number = at + 1;
            let what = if self.columns[..at].contains(name) {
                format!("two columns are called {}: rename one", Quoted(name))
            } else if name.is_empty() {
                format!("column {number} has no name: give it one")
            } else if !is_variable(name) {
                let plain: String =
                    name.trim().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
                let plain = if is_variable(&plain) { format!(", such as {}", Quoted(&plain)) } else { String::new() };
                let header = if number == 1 { "; the first line of a table names its columns" } else { "" };
                format!(
                    "the column {} can't be a variable: rename it to letters, digits and _, not beginning with a digit{plain}{header}",
                    Quoted(name)
                )
            } else if COLUMNS.contains(&name.as_str()) {
                format!("results.tsv has another column {}: rename this one", Quoted(name))
            } else {
                continue;
            };
            return Err((line, what));
        }
        Ok(())
    }

    fn check(&self) -> Result<(), Mistake> {
        if self.columns.is_empty() {
            return Err((
                1,
                "the table is empty: its first line names the columns, and each further line is a task".to_owned(),
            ));
        }
        if self.lines.is_empty() {
            return Err((1, "the table has no rows after its header: add a line for each task".to_owned()));
        }
        for (row, line) in (0..).zip(&self.lines) {
            if self.row(row).all(|(_, value)| value.trim().is_empty()) {
                return Err((*line, "all fields of this row are empty: remove the line".to_owned()));
            }
            for (name, value) in self.row(row) {
                check_text(&format!("the value of {name}"), value).map_err(|what| (*line, what))?;
            }
        }
        Ok(())
    }

    /// Returns the absolute path of the table.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Returns the name of the table's file, for people.
    pub(crate) fn name(&self) -> Cow<'_, str> {
        self.file.file_name().unwrap_or_default().to_string_lossy()
    }

    /// Returns the names of the columns, in their order.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> u32 {
        self.lines.len() as u32
    }

    /// Returns the values of a row by column; nothing if there is no such row.
    pub fn row(&self, row: u32) -> impl Iterator<Item = (&str, &str)> {
        let width = self.columns.len();
        let begin = row as usize * width;
        let values = self.values.get(begin..begin + width).unwrap_or_default();
        self.columns.iter().map(String::as_str).zip(values.iter().map(String::as_str))
    }

    /// Begins a message about a row with the file and the line.
    pub(super) fn about(&self, row: u32, what: impl fmt::Display) -> String {
        let line = self.lines.get(row as usize).copied().unwrap_or_default();
        format!("{}, line {line}: {what}", self.name())
    }

    /// Says that a name is no column.
    pub(super) fn no_column(&self, name: &str) -> String {
        let near = did_you_mean(name, self.columns.iter().map(String::as_str));
        let all = format!("; its columns are {}", self.columns.join(", "));
        format!("{{{name}}} is no column of {}{}", self.name(), if near.is_empty() { all } else { near })
    }

    /// Returns the size that the values of all rows take in the record of a run, about.
    pub(super) fn recorded_size(&self) -> usize {
        let names: usize = self.columns.iter().map(|name| name.len() + AROUND).sum();
        self.values.iter().map(String::len).sum::<usize>() + names * self.lines.len()
    }

    /// Returns the table as JSON: its file, columns and number of rows.
    pub(super) fn to_json(&self) -> Value {
        json!({"file": self.file.to_string_lossy(), "columns": self.columns, "rows": self.rows()})
    }

    /// Returns where the columns stand in a text: `{NAME}`. Braces around other text stand for themselves.
    ///
    /// # Errors
    /// If a name in braces is no column.
    pub(super) fn columns_in(table: Option<&Table>, text: &str) -> Result<RowText, String> {
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(open) = rest.find('{') {
            let named = rest[open + 1..].find('}').map(|length| &rest[open + 1..open + 1 + length]);
            let Some(name) = named.filter(|name| is_variable(name)) else {
                literal.push_str(&rest[..=open]);
                rest = &rest[open + 1..];
                continue;
            };
            let Some(table) = table else {
                return Err(format!(
                    "{{{name}}} is a column, but the phase has no table: give it table = \"samples.csv\""
                ));
            };
            let Some(column) = table.columns.iter().position(|column| column == name) else {
                return Err(table.no_column(name));
            };
            literal.push_str(&rest[..open]);
            parts.push((std::mem::take(&mut literal), column));
            rest = &rest[open + name.len() + 2..];
        }
        literal.push_str(rest);
        Ok(RowText { parts, end: literal })
    }

    /// Returns a text with the values of a row. `quote` turns each value into text.
    pub(super) fn fill(&self, text: &RowText, row: u32, quote: fn(&str) -> Cow<'_, str>) -> String {
        let values = self.values.get(row as usize * self.columns.len()..).unwrap_or_default();
        let mut filled = String::new();
        for (before, column) in &text.parts {
            filled.push_str(before);
            filled.push_str(&quote(values.get(*column).map_or("", String::as_str)));
        }
        filled + &text.end
    }
}

/// A text in which columns stand: for each of them the text before it and its number; then the text after the last one.
#[derive(Clone, Debug)]
pub(super) struct RowText {
    parts: Vec<(String, usize)>,
    end: String,
}

impl RowText {
    /// True if no column stands in the text.
    pub fn is_same_for_all(&self) -> bool {
        self.parts.is_empty()
    }
}

/// Returns a value as a pattern of files that stands for itself.
pub(super) fn as_pattern(value: &str) -> Cow<'_, str> {
    if value.contains(['*', '?', '[', '$']) || value.starts_with('~') {
        // Variables and the home folder are no part of a value either: in brackets they stand for themselves.
        let escaped = glob::Pattern::escape(value).replace('$', "[$]");
        return Cow::Owned(escaped.strip_prefix('~').map_or(escaped.clone(), |rest| format!("[~]{rest}")));
    }
    Cow::Borrowed(value)
}

/// A JSON object with its fields in order, also if a name is there twice.
struct Object(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Object, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Object;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Object(fields))
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, bytes: impl AsRef<[u8]>) -> Result<Table, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        Table::read(&path, name)
    }

    fn rows(table: &Table) -> Vec<String> {
        let row = |row| table.row(row).map(|(_, value)| value.to_owned()).collect::<Vec<_>>().join("|");
        (0..table.rows()).map(row).collect()
    }

    #[test]
    fn all_kinds_of_tables_are_read() {
        // As RFC 4180 has it: quotes, doubled quotes, commas and line feeds in quotes; with a byte order mark and CRLF.
        let csv = read("s.csv", "\u{feff}sample,note\r\nA,\"x, \"\"y\"\"\"\r\n\r\nB,\"two\nlines\"\r\nC,\r\n").unwrap();
        assert_eq!(csv.columns(), ["sample", "note"]);
        assert_eq!(rows(&csv), ["A|x, \"y\"", "B|two\nlines", "C|"]);
        assert_eq!(
            (csv.about(1, "x"), csv.about(2, "x")),
            ("s.csv, line 4: x".to_owned(), "s.csv, line 6: x".to_owned())
        );
        assert_eq!(rows(&read("s.TSV", "a\tb\n1,5\t\"q\tr\"").unwrap()), ["1,5|q\tr"]);
        let json = "{\"a\": \"x y\", \"b\": 1.5}\n\n{\"b\": null, \"a\": true}\n";
        assert_eq!(rows(&read("s.jsonl", json).unwrap()), ["x y|1.5", "true|"]);
        assert_eq!(read("s.ndjson", json).unwrap().columns(), ["a", "b"]);
    }

    #[test]
    fn mistakes_name_the_line_and_what_to_do() {
        for (name, text, expected) in [
            ("s.txt", &b"a\n1\n"[..], "\"s.txt\" is no table that is known by its ending: name it .csv"),
            ("s.csv", b"", "s.csv, line 1: the table is empty"),
            ("s.csv", b"\n\n", "s.csv, line 1: the table is empty"),
            ("s.csv", b"a,b\n", "s.csv, line 1: the table has no rows"),
            ("s.csv", b"a,b\n1,2\n\n3\n", "s.csv, line 4: this row has 1 field, but the header has 2"),
            (
                "s.csv",
                b"a,b\n1,2,3\n",
                "line 2: this row has 3 fields, but the header has 2: complete or correct the row; put",
            ),
            ("s.csv", b"a,b\n1,2\n,\n", "s.csv, line 3: all fields of this row are empty: remove the line"),
            ("s.csv", b"a,a\n1,2\n", "s.csv, line 1: two columns are called \"a\": rename one"),
            ("s.csv", b"a,\n1,2\n", "s.csv, line 1: column 2 has no name"),
            (
                "s.csv",
                b"a,b c\n1,2\n",
                "\"b c\" can't be a variable: rename it to letters, digits and _, not beginning with a \
                                        digit, such as \"b_c\"",
            ),
            ("s.csv", b"1,2\n3,4\n", "not beginning with a digit; the first line of a table names its columns"),
            ("s.csv", b"a,folder\n1,2\n", "results.tsv has another column \"folder\": rename this one"),
            ("s.csv", b"a,b\n1,2\nx,\xff\n", "s.csv, line 3: this is not UTF-8; save the table as UTF-8"),
            (
                "s.csv",
                b"a,b\n1,\"2\n3,4\n",
                "s.csv, line 2: a quote (\") that opens a field in this row is never closed",
            ),
            ("s.csv", b"a,b\n1,2\0\n", "s.csv, line 2: a field contains the character NUL"),
            ("s.jsonl", b"{\"a\": 1}\n[2]\n", "s.jsonl, line 2: this is not a JSON object"),
            ("s.jsonl", b"{\"a\": 1}\n{\"a\": 2\n", "s.jsonl, line 2: this is not a JSON object"),
            ("s.jsonl", b"{\"a\": 1, \"b\": 2}\n{\"a\": 1}\n", "s.jsonl, line 2: \"b\" is missing"),
            (
                "s.jsonl",
                b"{\"a\": 1}\n{\"a\": 1, \"c\": 1}\n",
                "s.jsonl, line 2: \"c\" is not a field of the first row",
            ),
            ("s.jsonl", b"{\"a\": 1}\n{\"a\": 1, \"a\": 2}\n", "s.jsonl, line 2: \"a\" is there twice"),
            ("s.jsonl", b"{\"a\": [1]}\n", "s.jsonl, line 1: \"a\" is a list or an object"),
        ] {
            let error = read(name, text).unwrap_err();
            assert!(error.contains(expected), "{error:?} lacks {expected:?}");
        }
        let missing = Table::read(Path::new("/no/such.csv"), "such.csv").unwrap_err();
        assert!(missing.starts_with("/no/such.csv: No such file"), "{missing}");
    }

    #[test]
    fn columns_stand_in_texts() {
        let table = read("s.csv", "sample,lane\nA[1],2\n").unwrap();
        let text = Table::columns_in(Some(&table), "{x,y}/{sample}_{lane}.{").unwrap();
        assert_eq!(table.fill(&text, 0, |value| value.into()), "{x,y}/A[1]_2.{");
        assert_eq!(table.fill(&text, 0, as_pattern), "{x,y}/A[[]1[]]_2.{");
        let error = Table::columns_in(Some(&table), "{sampel}").unwrap_err();
        assert_eq!(error, "{sampel} is no column of s.csv; did you mean \"sample\"?");
        let error = Table::columns_in(Some(&table), "{x}").unwrap_err();
        assert_eq!(error, "{x} is no column of s.csv; its columns are sample, lane");
        assert!(Table::columns_in(None, "{sample}").unwrap_err().contains("the phase has no table"));
    }
}
