//! Columns of a value (`--colsep`, `--csv`).

use regex::bytes::{Regex, RegexBuilder};

use super::MapError;

/// What separates the columns of a value.
#[derive(Clone, Debug)]
pub enum ColumnSeparator {
    /// A pattern.
    Pattern(Regex),
    /// This character, unless it is in quotes as CSV has them.
    Csv(u8),
}

impl ColumnSeparator {
    /// Reads a regular expression such as `,`, `\t`, ` +` or `[,;]`.
    ///
    /// # Errors
    /// If it is not a regular expression, or one that only Perl knows.
    pub fn new(pattern: &str) -> Result<ColumnSeparator, MapError> {
        // As in Perl, a pattern matches bytes, because values need not be valid UTF-8.
        RegexBuilder::new(pattern).unicode(false).build().map(ColumnSeparator::Pattern).map_err(|_| {
            MapError::Option(format!(
                "--colsep {pattern:?} is not a regular expression that Hindmost knows: write \\ before each of \
                 . ^ $ * + ? ( ) [ ] {{ }} | that stands for itself, and use neither lookaround nor back references"
            ))
        })
    }

    /// Reads the separator of CSV: a comma, or the one character of `--colsep`.
    ///
    /// # Errors
    /// If it is not one character of ASCII, or a quote or line end.
    pub fn csv(colsep: Option<&str>) -> Result<ColumnSeparator, MapError> {
        match colsep.unwrap_or(",").as_bytes() {
            [byte] if byte.is_ascii() && !b"\"\r\n".contains(byte) => Ok(ColumnSeparator::Csv(*byte)),
            b"\\t" => Ok(ColumnSeparator::Csv(b'\t')),
            _ => Err(MapError::Option(format!(
                "--colsep {:?}: with --csv, columns are separated by one character, such as ; or \\t",
                colsep.unwrap_or_default()
            ))),
        }
    }

    /// True if the pattern matches the empty text, so that it splits a value between all characters.
    pub fn matches_nothing(&self) -> bool {
        matches!(self, ColumnSeparator::Pattern(pattern) if pattern.is_match(b""))
    }

    /// Splits a value into columns.
    pub(super) fn columns(&self, value: &[u8]) -> Vec<Vec<u8>> {
        match self {
            ColumnSeparator::Pattern(pattern) => ColumnSeparator::at_pattern(pattern, value),
            // An empty value is one empty column.
            ColumnSeparator::Csv(_) if value.is_empty() => vec![Vec::new()],
            ColumnSeparator::Csv(separator) => {
                let mut reader = csv::ReaderBuilder::new();
                reader.has_headers(false).flexible(true).delimiter(*separator);
                // Reading from memory does not fail.
                let rows = reader.from_reader(value).into_byte_records().filter_map(Result::ok);
                rows.flat_map(|row| row.iter().map(<[u8]>::to_vec).collect::<Vec<_>>()).collect()
            }
        }
    }

    /// Splits a value as `split` of Perl does, which also returns what the groups of the pattern match.
    fn at_pattern(pattern: &Regex, value: &[u8]) -> Vec<Vec<u8>> {
        let mut columns = Vec::new();
        let mut begin = 0;
        for found in pattern.captures_iter(value) {
            let whole = found.get(0).map_or(begin..begin, |whole| whole.range());
            // An empty match at the begin separates nothing.
            if whole.end == 0 {
                continue;
            }
            columns.push(value[begin..whole.start].to_vec());
            columns
                .extend(found.iter().skip(1).map(|group| group.map_or(Vec::new(), |group| group.as_bytes().to_vec())));
            begin = whole.end;
        }
        columns.push(value[begin..].to_vec());
        columns
    }
}

/// Returns true for white space, as Perl's `\s` does.
pub(super) fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b
}

/// Returns a value without white space at its begin and end.
pub(super) fn trimmed(value: &[u8]) -> &[u8] {
    let begin = value.iter().position(|byte| !is_space(*byte)).unwrap_or(value.len());
    let end = value.iter().rposition(|byte| !is_space(*byte)).map_or(begin, |last| last + 1);
    &value[begin..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(pattern: &str, value: &str) -> String {
        let columns = ColumnSeparator::new(pattern).unwrap().columns(value.as_bytes());
        String::from_utf8(columns.join(&b'-')).unwrap()
    }

    #[test]
    fn columns_are_those_of_gnu_parallel() {
        // Measured with GNU parallel 20221122: parallel --colsep PATTERN echo {1}-{2}-{3} ::: VALUE
        for (pattern, value, expected) in [
            (",", "a,b,,c", "a-b--c"),
            (r"\t", "a\tb", "a-b"),
            (" ", " a  b", "-a--b"),
            (" +", "a  b   c", "a-b-c"),
            (r"\s+", " a  b", "-a-b"),
            ("[,;]", "a,b;c", "a-b-c"),
            (r"(\d)", "a1b2c", "a-1-b-2-c"),
            (r"\|", "a|b", "a-b"),
            ("(?i)x", "aXbxc", "a-b-c"),
            (".", "abc", "---"),
            ("", "abc", "a-b-c-"),
            ("$", "a$b", "a$b-"),
            ("^", "a^b", "a^b"),
            (",", "", ""),
            ("é", "aéb", "a-b"),
        ] {
            assert_eq!(columns(pattern, value), expected, "{pattern:?} {value:?}");
        }
    }

    #[test]
    fn columns_in_quotes_are_those_of_csv() {
        let columns = |separator: Option<&str>, value: &str| {
            let columns = ColumnSeparator::csv(separator).unwrap().columns(value.as_bytes());
            String::from_utf8(columns.join(&b'|')).unwrap()
        };
        // The example of the manual of GNU parallel, and what RFC 4180 says.
        assert_eq!(
            columns(None, "\"1 big, 2 small\",\"2\"\"x4\"\" plank\",12.34"),
            "1 big, 2 small|2\"x4\" plank|12.34"
        );
        assert_eq!(columns(None, "a, b ,,\"x\ny\",\"\""), "a| b ||x\ny|");
        assert_eq!(
            (columns(Some(";"), "a,b;\"c;d\""), columns(Some("\\t"), "a\tb")),
            ("a,b|c;d".to_owned(), "a|b".to_owned())
        );
        assert_eq!((columns(None, ""), columns(None, "5\" pipe")), (String::new(), "5\" pipe".to_owned()));
        for wrong in [", *", "\"", "é", ""] {
            assert!(ColumnSeparator::csv(Some(wrong)).unwrap_err().to_string().contains("one character"), "{wrong}");
        }
    }

    #[test]
    fn patterns_that_match_nothing_are_known() {
        let matches =
            ["|", "", " *", ",", r"\|"].map(|pattern| ColumnSeparator::new(pattern).unwrap().matches_nothing());
        assert_eq!(matches, [true, true, true, false, false]);
    }

    #[test]
    fn patterns_of_perl_alone_are_refused() {
        for pattern in ["*", "+", "(", "[", "(?=b)", r"(a)\1"] {
            let error = ColumnSeparator::new(pattern).unwrap_err().to_string();
            assert!(error.contains("--colsep") && error.contains("write \\ before"), "{error}");
        }
    }

    #[test]
    fn white_space_is_removed_at_both_ends() {
        let trim = |value: &'static str| std::str::from_utf8(trimmed(value.as_bytes())).unwrap();
        assert_eq!(["", " ", " a b\t\n", "\x0ba"].map(trim), ["", "", "a b", "a"]);
    }
}
