//! Reads logs whose first line names the fields of all others.

use super::Collector;
use super::delimited::{Fields, Joined, delimiter};
use super::lines;
use crate::error::TraceError;
use crate::reading::window::Window;

/// The header of a log.
#[derive(Debug)]
pub(crate) struct Header {
    line: String,
    /// Whether the log begins with rows, because the header is missing.
    is_missing: bool,
    delimiter: char,
    names: Vec<String>,
}

impl Header {
    /// Finds the header in the beginning of a log: the first line that has all of these names, in any case, among its
    /// fields. Lines before it, such as what a shell printed, are left out.
    pub(crate) fn find(beginning: &[u8], needed: &[&str]) -> Option<Header> {
        let text = String::from_utf8_lossy(beginning);
        text.lines().take(50).find_map(|line| {
            let line = line.trim_start_matches(['#', ' ']).trim_end_matches('\r');
            let header = Header::of(line)?;
            needed.iter().all(|name| header.place(&[name]).is_some()).then_some(header)
        })
    }

    /// Returns the header that a log without one would have.
    pub(crate) fn missing(line: &str) -> Option<Header> {
        Some(Header { is_missing: true, ..Header::of(line)? })
    }

    fn of(line: &str) -> Option<Header> {
        let delimiter = delimiter(line)?;
        let mut fields = Fields::default();
        fields.split(line, delimiter);
        let names = (0..fields.len()).map(|at| fields.get(at).to_ascii_lowercase()).collect();
        Some(Header { line: line.to_owned(), is_missing: false, delimiter, names })
    }

    /// Returns the position of the first of these fields that the log has.
    pub(crate) fn place(&self, names: &[&str]) -> Option<usize> {
        names.iter().find_map(|name| self.names.iter().position(|field| field.eq_ignore_ascii_case(name)))
    }

    /// Calls `take` with the line and the fields of each row after the header.
    ///
    /// # Errors
    /// If reading fails.
    pub(crate) fn rows(
        &self,
        window: Window<'_>,
        name: &str,
        collector: &mut Collector,
        mut take: impl FnMut(&mut Collector, u64, &Fields),
    ) -> Result<(), TraceError> {
        let mut joined = Joined::default();
        let mut fields = Fields::default();
        let mut begun = self.is_missing;
        lines::each(window, name, collector, |collector, line, text, terminated| {
            let is_header = text.trim_start_matches(['#', ' ']) == self.line;
            if is_header || !begun {
                if begun {
                    collector.issues.left_out(line, "repeated headers");
                } else if !is_header {
                    collector.issues.left_out(line, "lines before the header");
                }
                begun |= is_header;
                return Ok(());
            }
            let Some(row) = joined.add(text, self.delimiter) else { return Ok(()) };
            fields.split(row, self.delimiter);
            if fields.len() >= self.names.len() {
                take(collector, line, &fields);
            } else if terminated {
                let why = format!("it has {} fields instead of {}", fields.len(), self.names.len());
                collector.issues.unreadable(line, &why);
            } else {
                collector.issues.cut(format!("in line {line}"));
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_found_after_other_lines() {
        let log = b"loading modules\n# Job ID|none\n\nJobID|State|Start\r\n1|DONE|2\n";
        let header = Header::find(log, &["jobid", "start"]).unwrap();
        assert_eq!(header.place(&["nodelist", "STATE"]), Some(1));
        assert!(Header::find(log, &["jobid", "end"]).is_none());
    }
}
