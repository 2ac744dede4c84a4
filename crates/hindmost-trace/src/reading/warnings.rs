//! Warnings: problems that a reader worked around, counted and worded for people.

/// Returns a count with its noun: "1 task", "2 tasks".
pub(crate) fn some(count: u64, one: &str, more: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { more })
}

/// Lists names of which `named` are the first and `count` is the number of all: "a, b and 3 more".
pub(crate) fn names(named: &[String], count: u64) -> String {
    let more = count - named.len() as u64;
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", named.join(", "))
}

/// A row of a table of warnings: the count, the noun for one and for several, and the rest of the sentence.
pub(crate) type Counted<'a> = (u64, &'a str, &'a str, &'a str);

/// Adds a warning for each row whose count isn't 0.
pub(crate) fn warn(warnings: &mut Vec<String>, table: &[Counted<'_>]) {
    let happened = table.iter().filter(|(count, ..)| *count > 0);
    warnings.extend(happened.map(|(count, one, more, rest)| format!("{} {rest}", some(*count, one, more))));
}

/// A count of events of one kind, and the first of them.
#[derive(Debug)]
pub(crate) struct Happened<T> {
    pub count: u64,
    pub first: Option<T>,
}

impl<T> Happened<T> {
    pub(crate) fn once(&mut self, first: impl FnOnce() -> T) {
        self.count += 1;
        self.first.get_or_insert_with(first);
    }
}

impl<T> Default for Happened<T> {
    fn default() -> Self {
        Happened { count: 0, first: None }
    }
}
