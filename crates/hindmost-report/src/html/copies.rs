//! Describes attempts in words: their nodes and times, the reasons for copies, and how the attempts ended.

use std::collections::BTreeMap;

use hindmost_core::ids::{AttemptId, TaskId};
use hindmost_core::timeline::{AttemptEnd, Cause, Timeline, TimelineRow};

use serde::Serialize;

use super::{full, name, sentence};
use crate::text::duration;

/// A row of the table of copies.
pub(super) struct CopyEntry {
    pub(super) task: String,
    /// Number of the attempt among the attempts of its task, from 0.
    pub(super) attempt: u32,
    pub(super) node: String,
    /// Time of the start, in seconds since the origin of times.
    pub(super) at: f64,
    /// Reason for which the copy was started.
    pub(super) why: String,
    /// How the copy ended.
    pub(super) result: String,
}

/// Returns the first `most` copies in order of their start. Times count from `origin`, in seconds.
pub(super) fn copy_entries(
    timeline: &Timeline,
    reasons: &BTreeMap<AttemptId, String>,
    origin: f64,
    most: usize,
) -> Vec<CopyEntry> {
    let mut copies: Vec<&TimelineRow> = timeline.rows.iter().filter(|row| row.redundant).collect();
    copies.sort_by_key(|row| (row.start, row.attempt));
    let entry = |row: &&TimelineRow| {
        let task = row.attempt.task;
        CopyEntry {
            task: task_name(timeline, task),
            attempt: row.attempt.copy,
            node: name(timeline.node_name(row.node)),
            at: row.start.seconds() - origin,
            why: why(reasons, row),
            result: result(timeline, row),
        }
    };
    copies.iter().take(most).map(entry).collect()
}

/// A list of attempts in words, with one paragraph for each task.
#[derive(Serialize)]
pub(super) struct AttemptList {
    heading: String,
    /// Name of each task and sentences about its attempts.
    tasks: Vec<[String; 2]>,
    /// A sentence about attempts that the list leaves out; empty if it has all attempts.
    pub(super) note: String,
    /// Number of attempts of the listed tasks that the list leaves out.
    #[serde(skip)]
    pub(super) left_out: usize,
}

/// Lists at most `most` attempts of `tasks`. Times count from `origin`, in seconds. The list has the content of a
/// picture's tooltips, for readers on paper or without a mouse.
pub(super) fn attempt_list(
    heading: String,
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
    AttemptList { heading, tasks: paragraphs, note: String::new(), left_out }
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
        AttemptEnd::Lost => format!("stopped after {ran} for another copy"),
        AttemptEnd::Replaced => format!("stopped after {ran} for another copy, which replaced it"),
        AttemptEnd::Failed(Cause::Own(reason)) => format!("failed after {ran}: {}", sentence(reason)),
        AttemptEnd::Failed(Cause::External(Some(what))) => {
            format!("failed after {ran}, ended from outside: {}", sentence(what))
        }
        AttemptEnd::Failed(Cause::External(None)) => format!("failed after {ran}, killed from outside"),
        AttemptEnd::NodeLost => format!("lost with its node after {ran}"),
        AttemptEnd::Abandoned => format!("not finished, stopped after {ran} because the job was abandoned"),
        AttemptEnd::Stopped => format!("not finished, stopped with the run after {ran}"),
        AttemptEnd::Running => format!("not finished, still running after {ran} at the end of the record"),
    }
}
