//! The stories of copies: why each was started, and what came of it.

use std::collections::BTreeMap;

use hindmost_core::ids::AttemptId;
use hindmost_core::timeline::{AttemptEnd, Timeline, TimelineRow};

use super::{name, sentence};
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
    let several = timeline.jobs.first().is_some_and(|job| job.spec.phases.len() > 1);
    let story = |row: &&TimelineRow| {
        let task = row.attempt.task;
        let task_name = if several {
            format!("{}/{}", name(timeline.phase_name(task)), task.index)
        } else {
            format!("task {}", task.index)
        };
        Story {
            task: task_name,
            copy: row.attempt.copy,
            node: name(timeline.node_name(row.node)),
            at: row.start.seconds() - origin,
            why: reasons.get(&row.attempt).map_or_else(|| "no reason is recorded".to_owned(), |why| sentence(why)),
            came: came(timeline, row),
        }
    };
    copies.iter().take(most).map(story).collect()
}

/// What came of a copy.
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
        AttemptEnd::Failed(Some(reason)) => format!("failed after {ran}: {}", sentence(reason)),
        AttemptEnd::Failed(None) => format!("was killed after {ran}"),
        AttemptEnd::NodeLost => format!("lost with its node after {ran}"),
        AttemptEnd::Stopped => format!("stopped with the run after {ran}"),
        AttemptEnd::Running => format!("had run for {ran} when the record ends"),
    }
}
