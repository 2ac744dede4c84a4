//! Recognises columns that name kinds of tasks instead of tasks: many rows have the same value, although none of them repeats another one.

use rustc_hash::FxHashSet;

use super::columns::{Meaning, Places};
use super::presets::Tool;
use super::states::States;
use crate::recording::Ended;
use crate::tasks::Collector;

/// Fewest rows that show it.
const FEWEST: usize = 10;
/// Rows for each value of the column and each number of an attempt, on average, from which on it names no tasks. Few tasks need as
/// many attempts.
const ROWS_OF_EACH: usize = 3;
/// What the first rows of a table show.
#[derive(Debug, Default)]
pub(super) struct Kinds {
    /// Jobs, phases, tasks and numbers of attempts that occur: rows that differ in the number are attempts of one task.
    attempts: FxHashSet<String>,
    all: usize,
    succeeded: usize,
}

impl Kinds {
    /// Adds a row.
    pub(super) fn add<'a>(&mut self, field: impl Fn(usize) -> &'a str, (places, states): (&Places, &States)) {
        let text = |meaning: Meaning| places.of(meaning).map_or("", &field);
        self.attempts.insert([Meaning::Job, Meaning::Phase, Meaning::Task, Meaning::Attempt].map(text).join("\u{1f}"));
        self.all += 1;
        let state = text(Meaning::State);
        self.succeeded +=
            usize::from(state.is_empty() || matches!(states.ended(state), Ok(Some(Ended::Succeeded)) | Err(_)));
    }

    /// Makes the column of tasks that of phases, if it names kinds of tasks and is not chosen by name. Then each row is a task.
    pub(super) fn settle(self, places: &mut Places, is_chosen: bool, collector: &mut Collector) {
        let Some(column) = places.name(Meaning::Task).map(str::to_owned) else { return };
        let repeats = if places.tool == Some(Tool::Airflow) {
            // Each row of Airflow is another try, or another instance of a mapped task.
            self.all > self.attempts.len()
        } else {
            let repeats = self.all >= FEWEST && self.all >= ROWS_OF_EACH * self.attempts.len();
            repeats && 2 * self.succeeded >= self.all
        };
        if is_chosen || !repeats {
            return;
        }
        let has_phase = places.of(Meaning::Phase).is_some();
        let is_phase = !has_phase || places.of(Meaning::Phase) == places.of(Meaning::Task);
        if has_phase {
            places.drop_column(Meaning::Task);
        } else {
            places.turn(Meaning::Task, Meaning::Phase);
        }
        let kind = if is_phase { "read as the phase" } else { "not read" };
        collector.issues.note(format!(
            "The column {column:?} has the same value in many rows that are no attempts of one task: it was {kind}, and \
             each row as a task. --columns task=COLUMN names the column of the tasks."
        ));
    }
}
