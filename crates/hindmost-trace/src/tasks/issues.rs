//! Counts rows that a reader left out or could not read, and turns them into warnings.

use std::collections::BTreeMap;

use crate::reading::warnings::{Occurrences, some, warn};

/// The most unknown states that are counted one by one.
const MOST_STATES: usize = 16;
/// The most unknown states that a warning names.
const NAMED_STATES: usize = 5;

/// Counts of problems in a log.
#[derive(Debug, Default)]
pub(crate) struct Issues {
    /// Rows that can't be read, and why the first one can't.
    unreadable: Occurrences<(u64, String)>,
    /// Rows that are no attempts, by what they are, with the first line.
    left_out: BTreeMap<&'static str, (u64, u64)>,
    /// Rows whose state is not known, with the first line.
    unknown_states: Occurrences<u64>,
    /// Rows of the first of these states.
    rows_of_states: BTreeMap<String, u64>,
    /// Rows that have a state.
    pub with_state: u64,
    /// Whether the user can say what the states mean.
    pub can_name_states: bool,
    /// Where the log is cut.
    cut: Option<String>,
    /// The file that is being read, if the log is a folder.
    pub file: String,
    /// Attempts without a start or an end.
    pub untimed: Occurrences<u64>,
    /// Times that can't be read, of attempts that are counted: what is written, and where.
    pub unread_times: Occurrences<String>,
    /// Attempts that end before they start.
    pub reversed: Occurrences<u64>,
    /// Attempts that have not ended.
    pub unended: Occurrences<u64>,
    /// Whether bytes of the current row were replaced, because they are not valid UTF-8.
    pub is_repaired: bool,
    /// Jobs with more attempts than a diagnosis holds.
    pub partly_diagnosed: Occurrences<String>,
    /// Jobs whose diagnosis is not kept.
    pub undiagnosed: u64,
    /// Attempts of phases that had been completed, to hold less in memory.
    pub late: u64,
    /// Attempts of phases or jobs, and on nodes, beyond those that are distinguished.
    pub of_others: u64,
    pub on_others: u64,
    /// Applications that were forgotten, and had another attempt.
    pub forgotten: u64,
    /// Attempts that are in the log twice.
    pub repeated: u64,
    /// Attempts that began after their task had succeeded.
    pub ran_again: u64,
    /// Tasks whose first attempts are not in the log.
    pub without_first: u64,
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

    /// Records that JSON ends early, or can't be read from somewhere on.
    pub(crate) fn json(&mut self, error: &serde_json::Error) {
        let (line, why) = (error.line() as u64, error.to_string());
        if error.is_eof() {
            self.cut(format!("in line {line}"));
        } else {
            self.unreadable(line, why.split(" at line ").next().unwrap_or(&why));
        }
    }

    /// Records a row that is no attempt. `what` says what such rows are.
    pub(crate) fn left_out(&mut self, line: u64, what: &'static str) {
        self.left_out.entry(what).or_insert((0, line)).0 += 1;
    }

    /// Records a state that is not known.
    pub(crate) fn unknown_state(&mut self, line: u64, state: &str) {
        self.unknown_states.add(|| line);
        let state = crate::reading::causes::shortened(state.trim(), 40);
        if let Some(rows) = self.rows_of_states.get_mut(&state) {
            *rows += 1;
        } else if self.rows_of_states.len() < MOST_STATES {
            self.rows_of_states.insert(state, 1);
        }
    }

    /// Says which states are not known, how many rows have them, and how to say what they mean.
    fn about_states(&self, first: u64) -> String {
        let count = self.unknown_states.count;
        let mut states: Vec<(&String, u64)> = self.rows_of_states.iter().map(|(state, rows)| (state, *rows)).collect();
        states.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        let named: Vec<String> = states
            .iter()
            .take(NAMED_STATES)
            .map(|(state, rows)| format!("{state:?} ({})", some(*rows, "row", "rows")))
            .collect();
        let rest = count - states.iter().take(NAMED_STATES).map(|(_, rows)| rows).sum::<u64>();
        let others = if rest > 0 { format!(" and others ({})", some(rest, "row", "rows")) } else { String::new() };
        let share = if self.with_state > 0 {
            format!(" ({:.1}% of those with a state)", 100.0 * count as f64 / self.with_state as f64)
        } else {
            String::new()
        };
        let cure = match states.first() {
            Some((state, _)) if self.can_name_states => format!(
                " Say what they mean with --states, such as --states failed={state}; the meanings are succeeded, failed, \
                 killed and running."
            ),
            _ => String::new(),
        };
        format!(
            "{}{share} {} an unknown state, which is taken for success: {}{others}; the first is line {first}.{cure}",
            some(count, "row", "rows"),
            if count == 1 { "has" } else { "have" },
            named.join(", "),
        )
    }

    /// Records where the log is cut.
    pub(crate) fn cut(&mut self, at: String) {
        let of = if self.file.is_empty() { String::new() } else { format!(" of {}", self.file) };
        self.cut.get_or_insert(at + &of);
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
        if let Some(line) = self.unknown_states.first {
            warnings.push(self.about_states(line));
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
        if let Some(first) = &self.unread_times.first {
            warnings.push(format!(
                "{} not be read; the first is {first}.",
                some(self.unread_times.count, "time could", "times could")
            ));
        }
        if let Some(job) = &self.partly_diagnosed.first {
            warnings.push(format!(
                "{} more attempts than are kept at a time: the diagnosis covers only the first ones; the first such job is {job}.",
                some(self.partly_diagnosed.count, "job has", "jobs have")
            ));
        }
        #[rustfmt::skip]
        warn(warnings, &[
            (self.late, "attempt is", "attempts are", "counted, but not in the durations, waits and tails of their phases: the log has too many \
              phases at a time."),
            (self.of_others, "time", "times", "an attempt named a phase, or a job within its application, beyond the first 262,143; all of these count as one, called other."),
            (self.on_others, "attempt names", "attempts name", "a node beyond the first 262,144, which is left out."),
            (self.forgotten, "job", "jobs", "had attempts after so many other jobs that its first ones were forgotten: it counts again, and so do its phases and tasks."),
            (self.undiagnosed, "job has", "jobs have", "no diagnosis of its own: only those with the most machine time have one."),
            (self.repeated, "row repeats", "rows repeat", "an attempt with the same task, node and times; each attempt counts once."),
            (self.ran_again, "attempt", "attempts", "began after the task had succeeded (its result was lost, or the work was run again); \
              left out of replays."),
            (self.without_first, "task has", "tasks have", "no first attempt among the rows that count, by the numbers of their attempts: earlier ones are missing or left out."),
            (self.never_succeeded, "task", "tasks", "never succeeded; left out of replays."),
        ]);
        warnings.extend(self.notes.iter().cloned());
    }
}
