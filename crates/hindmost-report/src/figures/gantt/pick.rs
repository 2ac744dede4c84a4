//! Arranges the attempts of a recorded run by node, and picks the nodes that are drawn if there are too many.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use hindmost_core::timeline::{AttemptEnd, Cause, Timeline, TimelineRow};

use super::{Attempt, Fate, Panel, Row};
use crate::gantt::lanes;
use crate::text::{counted, duration};

/// Largest number of lanes that are drawn.
const MOST_LANES: usize = 40;
/// Largest number of attempts that are drawn.
const MOST_ATTEMPTS: usize = 600;

/// Converts an attempt of a timeline for drawing. Times count from `origin`, in seconds; `why` is the reason for which
/// the attempt was started, if it is known.
pub(super) fn attempt(timeline: &Timeline, row: &TimelineRow, origin: f64, why: Option<&str>) -> Attempt {
    let (from, to) = (row.start.seconds() - origin, row.end.seconds() - origin);
    let task = row.attempt.task;
    let (fate, end) = match &row.outcome {
        AttemptEnd::Won => (Fate::Won, "finished first".to_owned()),
        AttemptEnd::Lost => (Fate::Lost, "stopped for another copy".to_owned()),
        AttemptEnd::Replaced => (Fate::Lost, "stopped for another copy, which replaced it".to_owned()),
        AttemptEnd::Failed(Cause::Own(reason)) => {
            (Fate::Failed, format!("failed: {}", crate::text::beginning(reason, 120, "…")))
        }
        AttemptEnd::Failed(Cause::External(Some(what))) => {
            (Fate::Failed, format!("failed, ended from outside: {}", crate::text::beginning(what, 120, "…")))
        }
        AttemptEnd::Failed(Cause::External(None)) => (Fate::Failed, "failed, killed from outside".to_owned()),
        AttemptEnd::NodeLost => (Fate::NodeLost, "lost with its node".to_owned()),
        AttemptEnd::Abandoned => (Fate::Cut, "not finished, stopped because the job was abandoned".to_owned()),
        AttemptEnd::Stopped => (Fate::Cut, "not finished, stopped with the run".to_owned()),
        AttemptEnd::Running => (Fate::Cut, "not finished, still running at the end of the record".to_owned()),
    };
    let name = |name: &str| crate::text::name(name, 48, "…");
    let mut tip = format!(
        "{}/{}, attempt {}{} on {}: {} to {} ({}), {end}",
        name(timeline.phase_name(task)),
        task.index,
        row.attempt.copy,
        if row.redundant { " (copy)" } else { "" },
        name(timeline.node_name(row.node)),
        duration(from),
        duration(to),
        duration(to - from),
    );
    if let Some(why) = why {
        tip += &format!(". Started because {}", crate::text::beginning(why, 300, "…"));
    }
    Attempt { from, to, fate, copy: row.redundant, label: task.index.to_string(), tip }
}

/// Returns one row for each node, with as many lanes as attempts ran there at the same time. `reasons` are the reasons
/// for which attempts were started. If there are too many nodes, only some are drawn: the nodes with the most attempts
/// that are copies or did not finish first.
pub fn by_node(timeline: &Timeline, reasons: &BTreeMap<hindmost_core::ids::AttemptId, String>) -> Panel {
    let mut by_node: Vec<Vec<&TimelineRow>> = vec![Vec::new(); timeline.nodes.len()];
    for row in &timeline.rows {
        if let Some(rows) = by_node.get_mut(row.node.0 as usize) {
            rows.push(row);
        }
    }
    let several = timeline.jobs.first().is_some_and(|job| job.spec.phases.len() > 1);
    let end = timeline.end.seconds();
    let mut rows: Vec<(usize, Row)> = Vec::new();
    for (node, attempts) in by_node.into_iter().enumerate() {
        let lanes = lanes::packed(attempts).into_iter().map(|lane| {
            let drawn = lane.into_iter().map(|row| {
                let mut drawn = attempt(timeline, row, 0.0, reasons.get(&row.attempt).map(String::as_str));
                if several {
                    let phase = crate::text::name(timeline.phase_name(row.attempt.task), 16, "…");
                    drawn.label = format!("{phase}/{}", drawn.label);
                }
                drawn
            });
            drawn.collect()
        });
        let about = &timeline.nodes[node];
        let away = about.lost_and_returned.chunks(2);
        let away = away.map(|span| [span[0].seconds(), span.get(1).map_or(end, |returned| returned.seconds())]);
        let row = Row { name: about.name.to_string(), lanes: lanes.collect(), away: away.collect(), waited: None };
        rows.push((node, row));
    }
    let pauses = timeline.pauses.iter().map(|pause| pause.map(hindmost_core::time::Time::seconds)).collect();
    let mut panel = Panel { end, pauses, ..Panel::default() };
    let (nodes, attempts) = (rows.len(), timeline.rows.len());
    let count = |row: &Row| row.lanes.iter().map(Vec::len).sum::<usize>();
    let odd = |row: &Row| row.lanes.iter().flatten().filter(|one| one.copy || one.fate != Fate::Won).count();
    rows.sort_by_key(|(node, row)| (Reverse(odd(row) + row.away.len()), *node));
    let (mut lanes, mut drawn) = (0, 0);
    rows.retain(|(_, row)| {
        let fits = lanes == 0
            || (lanes + row.lanes.len().max(1) <= MOST_LANES
                && drawn + count(row) <= MOST_ATTEMPTS.max(attempts / nodes.max(1)));
        if fits {
            lanes += row.lanes.len().max(1);
            drawn += count(row);
        }
        fits
    });
    rows.sort_by_key(|(node, _)| *node);
    if rows.len() < nodes {
        panel.notes.push(format!(
            "{} of {} are drawn, with {drawn} of {}: the nodes with the most attempts that are copies or did not finish first.",
            rows.len(),
            counted(nodes as u64, "node"),
            counted(attempts as u64, "attempt"),
        ));
    }
    for (_, row) in &mut rows {
        let lanes = row.lanes.len();
        if lanes > MOST_LANES {
            row.lanes.truncate(MOST_LANES);
            panel.notes.push(format!(
                "{}: the first {MOST_LANES} of {lanes} lanes are drawn.",
                crate::text::name(&row.name, 40, "…")
            ));
        }
        for lane in &mut row.lanes {
            if lane.len() > MOST_ATTEMPTS {
                lane.truncate(MOST_ATTEMPTS);
                panel.notes.push(format!("The first {MOST_ATTEMPTS} attempts of a lane are drawn."));
            }
        }
    }
    panel.notes.dedup();
    panel.rows = rows.into_iter().map(|(_, row)| row).collect();
    panel
}
