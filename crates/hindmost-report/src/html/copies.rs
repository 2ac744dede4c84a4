//! Describes attempts in words: their nodes and times, the reasons for copies, and how the attempts ended.

use std::collections::BTreeMap;

use hindmost_core::ids::{AttemptId, TaskId};
use hindmost_core::timeline::{AttemptEnd, Timeline, TimelineRow};

use super::{SENTENCE, name, sentence};
use crate::document::{Document, Layout, Role, Table, Text};
use crate::lanes::ending;
use crate::text::{duration, full};

/// Returns the table of the first `most` copies in order of their start.
pub(super) fn copies_table(timeline: &Timeline, reasons: &BTreeMap<AttemptId, String>, most: usize) -> Table {
    let mut copies: Vec<&TimelineRow> = timeline.rows.iter().filter(|row| row.redundant).collect();
    copies.sort_by_key(|row| (row.start, row.attempt));
    let row = |row: &&TimelineRow| {
        [
            task_name(timeline, row.attempt.task),
            row.attempt.copy.to_string(),
            name(timeline.node_name(row.node)),
            duration(row.start.seconds()),
            why(reasons, row),
            result(timeline, row),
        ]
    };
    let headings = ["task:", "attempt", "node", "started after", "reason:", "result:"];
    let table = Table::new("Copies in order of start", &headings).laid_out(Layout::Stacked);
    table.with_rows(copies.iter().take(most).map(row))
}

/// A list of attempts in words, with one paragraph for each task.
pub(super) struct AttemptList {
    /// Name of each task and sentences about its attempts.
    tasks: Vec<[String; 2]>,
    /// Number of attempts of the listed tasks that the list leaves out.
    pub(super) left_out: usize,
}

impl AttemptList {
    /// Adds the list below a heading that hides it, with a note about attempts that it leaves out; nothing if it is empty.
    pub(super) fn add_to(self, document: &mut Document, heading: impl Into<Text>, note: String) {
        let item = |[task, attempts]: [String; 2]| Text::default().strong(task).plain(format!(": {attempts}"));
        let items: Vec<Text> = self.tasks.into_iter().map(item).collect();
        if !items.is_empty() {
            document.details(heading, |inside| {
                inside.attempts(items);
                inside.paragraph_as(Role::Note, note);
            });
        }
    }
}

/// Lists at most `most` attempts of `tasks`. Times count from `origin`, in seconds. The list has the content of a
/// picture's tooltips, for readers on paper or without a mouse.
pub(super) fn attempt_list(
    timeline: &Timeline,
    tasks: &[TaskId],
    reasons: &BTreeMap<AttemptId, String>,
    origin: f64,
    most: usize,
) -> AttemptList {
    let mut by_task: BTreeMap<TaskId, Vec<&TimelineRow>> = tasks.iter().map(|task| (*task, Vec::new())).collect();
    for row in &timeline.rows {
        if let Some(rows) = by_task.get_mut(&row.attempt.task) {
            rows.push(row);
        }
    }
    let mut paragraphs = Vec::new();
    let (mut left, mut left_out) = (most, 0);
    // Many clones have the same reason, so a reason that was just written is not repeated.
    let mut last_why = String::new();
    for task in tasks {
        let mut rows = by_task.remove(task).unwrap_or_default();
        rows.sort_by_key(|row| (row.start, row.attempt));
        let shown = rows.len().min(left);
        left -= shown;
        left_out += rows.len() - shown;
        let mut sentences = Vec::new();
        for row in &rows[..shown] {
            let copy = if row.redundant { " (copy)" } else { "" };
            let mut text = format!(
                "attempt {}{copy} on {}, started after {}",
                row.attempt.copy,
                name(timeline.node_name(row.node)),
                duration(row.start.seconds() - origin),
            );
            if row.redundant {
                let why = why(reasons, row);
                text += &if why == last_why { " for the same reason".to_owned() } else { format!(" because {why}") };
                last_why = why;
            }
            let result = match &row.outcome {
                // The attempts that were stopped for this one are in the same list.
                AttemptEnd::Won => format!("finished first, in {}", duration((row.end - row.start).seconds())),
                _ => result(timeline, row),
            };
            sentences.push(full(&format!("{text}; {result}")));
        }
        if shown > 0 {
            paragraphs.push([task_name(timeline, *task), sentences.join(" ")]);
        }
    }
    AttemptList { tasks: paragraphs, left_out }
}

/// Returns the name of a task; it contains the phase if the job has several phases.
fn task_name(timeline: &Timeline, task: TaskId) -> String {
    if timeline.jobs.first().is_some_and(|job| job.spec.phases.len() > 1) {
        format!("{}/{}", name(timeline.phase_name(task)), task.index)
    } else {
        format!("task {}", task.index)
    }
}

/// Returns the reason for which an attempt was started.
fn why(reasons: &BTreeMap<AttemptId, String>, row: &TimelineRow) -> String {
    reasons.get(&row.attempt).map_or_else(|| "no reason is recorded".to_owned(), |why| sentence(why))
}

/// Describes how an attempt ended.
fn result(timeline: &Timeline, row: &TimelineRow) -> String {
    let ran = duration((row.end - row.start).seconds());
    match &row.outcome {
        AttemptEnd::Won => {
            // Finds an earlier attempt of the task that was stopped for this one.
            let other = timeline.attempts_of(row.attempt.task).find(|other| other.attempt.copy < row.attempt.copy);
            match other.filter(|other| other.outcome == AttemptEnd::Lost) {
                Some(other) => format!("finished first, in {ran}; attempt {} had run for {}", other.attempt.copy, {
                    duration((other.end - other.start).seconds())
                }),
                None => format!("finished first, in {ran}"),
            }
        }
        other => ending(other, &format!(" after {ran}"), SENTENCE),
    }
}
