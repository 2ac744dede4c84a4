//! Counts problems that a reader worked around, and turns them into warnings.

/// Returns a count with its noun: "1 task", "2 tasks".
pub(crate) fn some(count: u64, one: &str, more: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { more })
}

/// Lists the names in `named`. If `count` is larger than their number, adds how many are not listed: "a, b and 3 more".
pub(crate) fn names(named: &[String], count: u64) -> String {
    let more = count - named.len() as u64;
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", named.join(", "))
}

/// A row of a table of warnings: the count, its noun in the singular and plural, and the rest of the sentence.
pub(crate) type Counted<'a> = (u64, &'a str, &'a str, &'a str);

/// Adds a warning for each row with a count above 0.
pub(crate) fn warn(warnings: &mut Vec<String>, table: &[Counted<'_>]) {
    let happened = table.iter().filter(|(count, ..)| *count > 0);
    warnings.extend(happened.map(|(count, one, more, rest)| format!("{} {rest}", some(*count, one, more))));
}

/// Counts occurrences of a problem, and keeps a description of the first one.
#[derive(Debug)]
pub(crate) struct Occurrences<T> {
    pub count: u64,
    pub first: Option<T>,
}

impl<T> Occurrences<T> {
    pub(crate) fn add(&mut self, first: impl FnOnce() -> T) {
        self.count += 1;
        self.first.get_or_insert_with(first);
    }
}

impl<T> Default for Occurrences<T> {
    fn default() -> Self {
        Occurrences { count: 0, first: None }
    }
}
