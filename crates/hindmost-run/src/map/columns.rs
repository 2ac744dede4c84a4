//! Columns of a value (`--colsep`).

use regex::bytes::{Regex, RegexBuilder};

use super::MapError;

/// A pattern that separates the columns of a value.
#[derive(Clone, Debug)]
pub struct ColumnSeparator(Regex);

impl ColumnSeparator {
    /// Reads a regular expression such as `,`, `\t`, ` +` or `[,;]`.
    ///
    /// # Errors
    /// If it is not a regular expression, or one that only Perl knows.
    pub fn new(pattern: &str) -> Result<ColumnSeparator, MapError> {
        // As in Perl, a pattern matches bytes, because values need not be valid UTF-8.
        RegexBuilder::new(pattern).unicode(false).build().map(ColumnSeparator).map_err(|_| {
            MapError::Option(format!(
                "--colsep {pattern:?} is not a regular expression that Hindmost knows: write \\ before each of \
                 . ^ $ * + ? ( ) [ ] {{ }} | that stands for itself, and use neither lookaround nor back references"
            ))
        })
    }

    /// True if the pattern matches the empty text, so that it splits a value between all characters.
    pub fn matches_nothing(&self) -> bool {
        self.0.is_match(b"")
    }

    /// Splits a value into columns as `split` of Perl does, which also returns what the groups of the pattern match.
    pub(super) fn columns(&self, value: &[u8]) -> Vec<Vec<u8>> {
        let mut columns = Vec::new();
        let mut begin = 0;
        for found in self.0.captures_iter(value) {
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
