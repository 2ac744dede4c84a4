//! Counts rows that a reader left out or could not read, and turns them into warnings.

use std::collections::BTreeMap;

use crate::reading::warnings::{Occurrences, some, warn};

/// Counts of problems in a log.
#[derive(Debug, Default)]
pub(crate) struct Issues {
    /// Rows that can't be read, and why the first one can't.
    unreadable: Occurrences<(u64, String)>,
    /// Rows that are no attempts, by what they are, with the first line.
    left_out: BTreeMap<&'static str, (u64, u64)>,
    /// States that are not known.
    unknown_states: Occurrences<(u64, String)>,
    /// Where the log is cut.
    cut: Option<String>,
    /// Attempts without a start or an end.
    pub untimed: Occurrences<u64>,
    /// Attempts that end before they start.
    pub reversed: Occurrences<u64>,
    /// Attempts that have not ended.
    pub unended: Occurrences<u64>,
    /// Jobs with more attempts than a diagnosis holds.
    pub partly_diagnosed: Occurrences<String>,
    /// Jobs whose diagnosis is not kept.
    pub undiagnosed: u64,
    /// Attempts that are in the log twice.
    pub repeated: u64,
    /// Tasks that never succeeded.
    pub never_succeeded: u64,
    /// What else the reader says, once.
    pub notes: Vec<String>,
}

impl Issues {
    /// Records a row that can't be read.
    pub(crate) fn unreadable(&mut self, line: u64, why: &str) {
        self.unreadable.add(|| (line, why.to_owned()));
    }

    /// Records a row that is no attempt. `what` says what such rows are.
    pub(crate) fn left_out(&mut self, line: u64, what: &'static str) {
        self.left_out.entry(what).or_insert((0, line)).0 += 1;
    }

    /// Records a state that is not known.
    pub(crate) fn unknown_state(&mut self, line: u64, state: &str) {
        self.unknown_states.add(|| (line, crate::reading::causes::shortened(state, 40)));
    }

    /// Records where the log is cut.
    pub(crate) fn cut(&mut self, at: String) {
        self.cut.get_or_insert(at);
    }

    /// Adds a note, unless it is there.
    pub(crate) fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Adds a warning for each kind of problem that occurred.
    pub(crate) fn add_warnings(&self, warnings: &mut Vec<String>) {
        if let Some(at) = &self.cut {
            warnings.push(format!("The log is cut short {at}; everything before that was read."));
        }
        if let Some((line, why)) = &self.unreadable.first {
            let rows = some(self.unreadable.count, "row was", "rows were");
            warnings.push(format!("{rows} skipped as unreadable; the first is line {line}: {why}."));
        }
        for (what, (count, line)) in &self.left_out {
            let rows = some(*count, "row was", "rows were");
            warnings.push(format!("{rows} left out ({what}); the first is line {line}."));
        }
        if let Some((line, state)) = &self.unknown_states.first {
            let rows = some(self.unknown_states.count, "row has", "rows have");
            warnings.push(format!(
                "{rows} an unknown state, which is taken for success; the first is line {line}: {state:?}."
            ));
        }
        for (lines, one, more, rest) in [
            (&self.unended, "attempt has", "attempts have", "not ended; not counted"),
            (&self.untimed, "attempt has", "attempts have", "no start or no end; counted, but without a duration"),
            (&self.reversed, "attempt ends", "attempts end", "before the start; counted, but without a duration"),
        ] {
            if let Some(line) = lines.first {
                warnings.push(format!("{} {rest}; the first is line {line}.", some(lines.count, one, more)));
            }
        }
        if let Some(job) = &self.partly_diagnosed.first {
            warnings.push(format!(
                "{} more attempts than are kept at a time: the diagnosis covers only the first ones; the first such job is {job}.",
                some(self.partly_diagnosed.count, "job has", "jobs have")
            ));
        }
        #[rustfmt::skip]
        warn(warnings, &[
            (self.undiagnosed, "job has", "jobs have", "no diagnosis of its own: only those with the most machine time have one."),
            (self.repeated, "row repeats", "rows repeat", "an attempt with the same task, node and times; each attempt counts once."),
            (self.never_succeeded, "task", "tasks", "never succeeded; left out of replays."),
        ]);
        warnings.extend(self.notes.iter().cloned());
    }
}
