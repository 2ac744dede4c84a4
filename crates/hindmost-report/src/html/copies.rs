//! The stories of attempts: where and when each ran, why copies were started, and what came of them.

use std::collections::BTreeMap;

use hindmost_core::ids::{AttemptId, TaskId};
use hindmost_core::timeline::{AttemptEnd, Cause, Timeline, TimelineRow};

use serde::Serialize;

use super::{full, name, sentence};
use crate::text::duration;

/// A copy's story.
pub(super) struct Story {
    pub(super) task: String,
    pub(super) copy: u32,
    pub(super) node: String,
    /// When it was started, seconds since `origin`.
    pub(super) at: f64,
    pub(super) why: String,
    pub(super) came: String,
}

/// The first so many copies in the order of their starts.
pub(super) fn stories(
    timeline: &Timeline,
    reasons: &BTreeMap<AttemptId, String>,
    origin: f64,
    most: usize,
) -> Vec<Story> {
    let mut copies: Vec<&TimelineRow> = timeline.rows.iter().filter(|row| row.redundant).collect();
    copies.sort_by_key(|row| (row.start, row.attempt));
    let story = |row: &&TimelineRow| {
        let task = row.attempt.task;
        Story {
            task: task_name(timeline, task),
            copy: row.attempt.copy,
            node: name(timeline.node_name(row.node)),
            at: row.start.seconds() - origin,
            why: why(reasons, row),
            came: came(timeline, row),
        }
    };
    copies.iter().take(most).map(story).collect()
}

/// Attempts in words, a paragraph a task.
#[derive(Serialize)]
pub(super) struct Told {
    heading: String,
    /// Each task's name, and its attempts.
    tasks: Vec<[String; 2]>,
    /// What is left out; nothing if empty.
    pub(super) note: String,
    #[serde(skip)]
    pub(super) left_out: usize,
}

/// The attempts of some tasks: what a picture shows where a pointer rests on a bar, for those who have paper or no
/// pointer. Beyond `most` attempts none is told of.
pub(super) fn told(
    heading: String,
    timeline: &Timeline,
    tasks: &[TaskId],
    reasons: &BTreeMap<AttemptId, String>,
    origin: f64,
    most: usize,
) -> Told {
    let mut by_task: BTreeMap<TaskId, Vec<&TimelineRow>> = tasks.iter().map(|task| (*task, Vec::new())).collect();
    for row in &timeline.rows {
        if let Some(rows) = by_task.get_mut(&row.attempt.task) {
            rows.push(row);
        }
    }
    let mut paragraphs = Vec::new();
    let (mut left, mut left_out) = (most, 0);
    // The reasons of clones are the same over and over.
    let mut last_why = String::new();
    for task in tasks {
        let mut rows = by_task.remove(task).unwrap_or_default();
        rows.sort_by_key(|row| (row.start, row.attempt));
        let shown = rows.len().min(left);
        left -= shown;
        left_out += rows.len() - shown;
        let mut sentences = Vec::new();
        for row in &rows[..shown] {
            let copy = if row.redundant { "copy" } else { "attempt" };
            let mut text = format!(
                "{copy} {} on {} from {} on",
                row.attempt.copy,
                name(timeline.node_name(row.node)),
                duration(row.start.seconds() - origin),
            );
            if row.redundant {
                let why = why(reasons, row);
                text += &if why == last_why { ", for the same reason".to_owned() } else { format!(", because {why}") };
                last_why = why;
            }
            let came = match &row.outcome {
                // What it overtook is told of beside it.
                AttemptEnd::Won => format!("finished first, after {}", duration((row.end - row.start).seconds())),
                _ => came(timeline, row),
            };
            sentences.push(full(&format!("{text}; {came}")));
        }
        if shown > 0 {
            paragraphs.push([task_name(timeline, *task), sentences.join(" ")]);
        }
    }
    Told { heading, tasks: paragraphs, note: String::new(), left_out }
}

fn task_name(timeline: &Timeline, task: TaskId) -> String {
    if timeline.jobs.first().is_some_and(|job| job.spec.phases.len() > 1) {
        format!("{}/{}", name(timeline.phase_name(task)), task.index)
    } else {
        format!("task {}", task.index)
    }
}

fn why(reasons: &BTreeMap<AttemptId, String>, row: &TimelineRow) -> String {
    reasons.get(&row.attempt).map_or_else(|| "no reason is recorded".to_owned(), |why| sentence(why))
}

/// What came of an attempt.
fn came(timeline: &Timeline, row: &TimelineRow) -> String {
    let ran = duration((row.end - row.start).seconds());
    match &row.outcome {
        AttemptEnd::Won => {
            // What it overtook ended then, or would have gone on.
            let other = timeline.attempts_of(row.attempt.task).find(|other| other.attempt.copy < row.attempt.copy);
            match other.filter(|other| other.outcome == AttemptEnd::Lost) {
                Some(other) => format!("finished first, after {ran}; attempt {} had run for {}", other.attempt.copy, {
                    duration((other.end - other.start).seconds())
                }),
                None => format!("finished first, after {ran}"),
            }
        }
        AttemptEnd::Lost => format!("lost: stopped after {ran}, as another copy was first"),
        AttemptEnd::Replaced => format!("stopped after {ran} for a fresh copy"),
        AttemptEnd::Failed(Cause::Own(reason)) => format!("failed after {ran}: {}", sentence(reason)),
        AttemptEnd::Failed(Cause::External(Some(what))) => {
            format!("was ended from outside after {ran}: {}", sentence(what))
        }
        AttemptEnd::Failed(Cause::External(None)) => format!("was killed after {ran}"),
        AttemptEnd::NodeLost => format!("lost with its node after {ran}"),
        AttemptEnd::Stopped => format!("stopped with the run after {ran}"),
        AttemptEnd::Running => format!("had run for {ran} when the record ends"),
    }
}
