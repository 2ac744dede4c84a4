//! Splits the lines of tables into fields: CSV with quotes, and fields separated by tabs, bars or semicolons.

/// Comes after each field, of which it is no part.
const DELIMITER: char = '\n';
/// The most lines that one quoted field may span.
const MOST_LINES: u32 = 1000;
/// The longest row, in bytes; a longer one has a quote that is never closed.
const LONGEST_ROW: usize = 1 << 20;

/// Fields of a row. Their texts are in one buffer, which is used again for the next row, with a delimiter after each.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    text: String,
    ends: Vec<usize>,
}

impl Fields {
    /// Returns the number of fields.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns a field without blanks around it; empty if the row has no such field.
    pub(crate) fn get(&self, at: usize) -> &str {
        let Some(&end) = self.ends.get(at) else { return "" };
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before] + 1);
        let field = &self.text[start..end];
        // Most fields have no blanks to look for.
        let is_dark = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_graphic);
        let bytes = field.as_bytes();
        if is_dark(bytes.first()) && is_dark(bytes.last()) { field } else { field.trim() }
    }

    /// Removes all fields.
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
    }

    /// Adds a field.
    pub(crate) fn push(&mut self, field: &str) {
        self.text.push_str(field);
        self.end();
    }

    /// Ends a field whose text was added.
    fn end(&mut self) {
        self.ends.push(self.text.len());
        self.text.push(DELIMITER);
    }

    /// Splits a row. With a comma or semicolon as delimiter, a field may be in quotes.
    pub(crate) fn split(&mut self, row: &str, delimiter: char) {
        self.clear();
        if !may_be_quoted(delimiter) || memchr::memchr(b'"', row.as_bytes()).is_none() {
            self.text.push_str(row);
            self.ends.extend(memchr::memchr_iter(delimiter as u8, row.as_bytes()));
            self.ends.push(row.len());
            return;
        }
        let mut rest = row;
        loop {
            let field = rest.trim_start_matches(' ');
            if let Some(quoted) = field.strip_prefix('"') {
                let mut after = quoted;
                while let Some(quote) = after.find('"') {
                    self.text.push_str(&after[..quote]);
                    after = &after[quote + 1..];
                    if let Some(more) = after.strip_prefix('"') {
                        self.text.push('"');
                        after = more;
                    } else {
                        break;
                    }
                }
                let end = after.find(delimiter).unwrap_or(after.len());
                self.push(&after[..end]);
                rest = &after[end..];
            } else {
                let end = rest.find(delimiter).unwrap_or(rest.len());
                self.push(&rest[..end]);
                rest = &rest[end..];
            }
            match rest.strip_prefix(delimiter) {
                Some(more) => rest = more,
                None => return,
            }
        }
    }
}

/// Returns whether fields of a table with this delimiter may be in quotes.
pub(crate) fn may_be_quoted(delimiter: char) -> bool {
    matches!(delimiter, ',' | ';')
}

/// Returns the delimiter of a table, from its header: the one of tab, bar, semicolon and comma that occurs most often.
pub(crate) fn delimiter(header: &str) -> Option<char> {
    let counts = ['\t', '|', ';', ','].map(|c| (c, header.matches(c).count()));
    // Of equally frequent ones the first counts.
    counts.into_iter().rev().max_by_key(|(_, count)| *count).filter(|(_, count)| *count > 0).map(|(c, _)| c)
}

/// Joins the lines of rows whose quoted fields contain line feeds.
#[derive(Debug, Default)]
pub(crate) struct Joined {
    row: String,
    lines: u32,
}

impl Joined {
    /// Adds a line. Returns the row that it completes; `None` if the row continues on the next line. A row that
    /// continues for too long is returned as it is.
    pub(crate) fn add<'a>(&'a mut self, line: &'a str, delimiter: char) -> Option<&'a str> {
        let is_odd = may_be_quoted(delimiter) && memchr::memchr_iter(b'"', line.as_bytes()).count() % 2 == 1;
        if self.lines == 0 && !is_odd {
            return Some(line);
        }
        if self.lines == 0 {
            self.row.clear();
        } else {
            self.row.push(' ');
        }
        self.row.push_str(line);
        self.lines += 1;
        let ends = self.lines > 1 && is_odd;
        if !ends && self.lines < MOST_LINES && self.row.len() < LONGEST_ROW {
            return None;
        }
        self.lines = 0;
        Some(&self.row)
    }

    /// Returns whether a row is incomplete.
    pub(crate) fn is_open(&self) -> bool {
        self.lines > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(row: &str, delimiter: char) -> Vec<String> {
        let mut fields = Fields::default();
        fields.split(row, delimiter);
        (0..fields.len()).map(|at| fields.get(at).to_owned()).collect()
    }

    #[test]
    fn quoted_fields_may_contain_delimiters_and_quotes() {
        assert_eq!(split(r#"a,"b,c", d ,"say ""x""" ,"#, ','), ["a", "b,c", "d", "say \"x\"", ""]);
        assert_eq!(split("a\t\"b\t c", '\t'), ["a", "\"b", "c"]);
        assert_eq!(split("", ','), [""]);
        assert_eq!(split("\"open,x", ','), ["open", "x"]);
    }

    #[test]
    fn missing_fields_are_empty() {
        let mut fields = Fields::default();
        fields.split("a|b", '|');
        assert_eq!((fields.get(1), fields.get(2)), ("b", ""));
    }

    #[test]
    fn delimiters_are_recognised() {
        assert_eq!(delimiter("start,end,node"), Some(','));
        assert_eq!(delimiter("start\tend\tname, or id"), Some('\t'));
        assert_eq!(delimiter("JobID|Start|End"), Some('|'));
        assert_eq!(delimiter("start"), None);
    }

    #[test]
    fn rows_with_line_feeds_in_quotes_are_joined() {
        let mut joined = Joined::default();
        assert_eq!(joined.add("1,\"a", ','), None);
        assert!(joined.is_open());
        assert_eq!(joined.add("b,c\",2", ','), Some("1,\"a b,c\",2"));
        assert_eq!(joined.add("1,2", ','), Some("1,2"));
        assert_eq!(joined.add("1\t\"", '\t'), Some("1\t\""));
    }
}
