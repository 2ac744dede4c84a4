//! A job task by task, each with its attempts below each other: the race between copies as it was.

use std::cmp::Reverse;

use hindmost_core::ids::{AttemptId, TaskId};
use hindmost_core::timeline::{AttemptEnd, Timeline, TimelineRow};
use rustc_hash::FxHashMap;

use super::pick::attempt;
use super::{Panel, Row};
use crate::gantt::lanes;
use crate::text::counted;

/// The most tasks that are drawn.
const MOST_TASKS: usize = 18;
/// The most lanes of a task, and of all.
const MOST_LANES: usize = 8;
const MOST_LANES_IN_ALL: usize = 36;
/// The most attempts of a lane.
const MOST_ATTEMPTS: usize = 40;

/// A row a task of a timeline's only job, times counted from the job's arrival. Of too many tasks those are drawn
/// that finished last, and those with copies that ran longest.
pub fn by_task(timeline: &Timeline, reasons: &FxHashMap<AttemptId, String>) -> Panel {
    let Some(job) = timeline.jobs.first() else { return Panel::default() };
    let origin = job.arrival.seconds();
    let mut tasks: FxHashMap<TaskId, Vec<&TimelineRow>> = FxHashMap::default();
    for row in &timeline.rows {
        tasks.entry(row.attempt.task).or_default().push(row);
    }
    let mut tasks: Vec<(TaskId, Vec<&TimelineRow>)> = tasks.into_iter().collect();
    tasks.sort_unstable_by_key(|(task, _)| *task);
    let ready = phases_ready(timeline);
    let count = tasks.len();
    let finish = |rows: &[&TimelineRow]| rows.iter().map(|row| row.end).max();
    // Half of the room goes to those that finished last, the rest to those whose copies ran longest.
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|at| (Reverse(finish(&tasks[*at].1)), *at));
    let (last, others) = order.split_at(if count > MOST_TASKS { MOST_TASKS / 2 } else { count });
    let raced = |at: usize| {
        let longest = tasks[at].1.iter().filter(|row| row.redundant).map(|row| row.end - row.start).max();
        Reverse(longest)
    };
    let mut others = others.to_vec();
    others.sort_by_key(|at| (raced(*at), *at));
    let mut chosen: Vec<usize> = Vec::new();
    let mut lanes_left = MOST_LANES_IN_ALL;
    for at in last.iter().chain(&others) {
        let lanes = lanes::packed(tasks[*at].1.clone()).len().clamp(1, MOST_LANES);
        if chosen.len() < MOST_TASKS && lanes <= lanes_left {
            lanes_left -= lanes;
            chosen.push(*at);
        }
    }
    chosen.sort_unstable();
    let several = job.spec.phases.len() > 1;
    let mut panel = Panel { end: (timeline.end.seconds() - origin).max(0.0), ..Panel::default() };
    for at in &chosen {
        let (task, rows) = &tasks[*at];
        let mut lanes: Vec<Vec<super::Attempt>> = lanes::packed(rows.clone())
            .into_iter()
            .map(|lane| {
                let drawn = lane.into_iter().map(|row| {
                    let mut drawn = attempt(timeline, row, origin, reasons.get(&row.attempt).map(String::as_str));
                    drawn.label = crate::text::name(timeline.node_name(row.node), 24, "…");
                    drawn
                });
                drawn.collect()
            })
            .collect();
        if lanes.len() > MOST_LANES || lanes.iter().any(|lane| lane.len() > MOST_ATTEMPTS) {
            panel.notes.push(format!("Of task {} not all {} are drawn.", task.index, counted(rows.len() as u64, "attempt")));
            lanes.truncate(MOST_LANES);
            lanes.iter_mut().for_each(|lane| lane.truncate(MOST_ATTEMPTS));
        }
        let begun = rows.iter().map(|row| row.start).min().map_or(0.0, |start| start.seconds() - origin);
        let since = ready.get(task.phase as usize).copied().unwrap_or(origin) - origin;
        let name = if several {
            format!("{}/{}", timeline.phase_name(*task), task.index)
        } else {
            format!("task {}", task.index)
        };
        let waited = (begun > since).then_some([since, begun]);
        panel.rows.push(Row { name, lanes, away: Vec::new(), waited });
    }
    if chosen.len() < count {
        panel.notes.push(format!(
            "Drawn: {} of {}, those that finished last and those whose copies ran longest.",
            chosen.len(),
            counted(count as u64, "task"),
        ));
    }
    panel
}

/// When each phase's tasks could start: when its parents' last ones had finished, seconds.
fn phases_ready(timeline: &Timeline) -> Vec<f64> {
    let Some(job) = timeline.jobs.first() else { return Vec::new() };
    let arrival = job.arrival.seconds();
    let mut finished = vec![arrival; job.spec.phases.len()];
    for row in timeline.rows.iter().filter(|row| row.outcome == AttemptEnd::Won) {
        if let Some(finish) = finished.get_mut(row.attempt.task.phase as usize) {
            *finish = finish.max(row.end.seconds());
        }
    }
    let after = |phase: &hindmost_core::workload::PhaseSpec| {
        phase.after.iter().filter_map(|parent| finished.get(*parent as usize)).copied().fold(arrival, f64::max)
    };
    job.spec.phases.iter().map(after).collect()
}
