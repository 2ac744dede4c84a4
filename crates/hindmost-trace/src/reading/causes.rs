//! Counts the causes of failed and killed attempts.

use std::collections::BTreeMap;

/// The most distinct causes that are counted. Any further cause counts as [`OTHER`].
const MOST: usize = 200;
/// The cause of texts that match no known cause.
pub(crate) const OTHER: &str = "other";
/// The cause of attempts for which the log names no cause.
pub(crate) const NOT_SAID: &str = "not said";

/// Counts by cause, for at most 200 distinct causes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Causes(BTreeMap<String, u64>);

impl Causes {
    pub(crate) fn count(&mut self, cause: &str) {
        if let Some(count) = self.0.get_mut(cause) {
            *count += 1;
        } else if self.0.len() < MOST {
            self.0.insert(cause.to_owned(), 1);
        } else {
            *self.0.entry(OTHER.to_owned()).or_default() += 1;
        }
    }

    pub(crate) fn counts(&self) -> &BTreeMap<String, u64> {
        &self.0
    }
}

/// Rows of text fragments and the cause that they indicate.
pub(crate) type CauseTable = [(&'static [&'static str], &'static str)];

/// Returns the cause of the first row with a fragment that occurs in the text.
pub(crate) fn cause_in(text: &str, table: &CauseTable) -> Option<&'static str> {
    table.iter().find(|(parts, _)| parts.iter().any(|part| text.contains(part))).map(|&(_, cause)| cause)
}

/// Returns the first line that isn't blank, cut after `most` characters.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let mut short: String = line.chars().take(most).collect();
    if short.len() < line.len() {
        short = short.trim_end().to_owned();
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_beyond_the_limit_count_as_other() {
        let mut causes = Causes::default();
        for i in 0..1000 {
            causes.count(&i.to_string());
        }
        causes.count("7");
        assert_eq!((causes.counts().len(), causes.counts()["other"], causes.counts()["7"]), (MOST + 1, 800, 2));
    }

    #[test]
    fn long_texts_are_cut_to_the_given_length() {
        assert_eq!(shortened("\n  count at A.scala:1 \nmore", 80), "count at A.scala:1");
        assert_eq!(shortened("größer als", 6), "größer…");
        assert_eq!(shortened("", 6), "");
    }
}
