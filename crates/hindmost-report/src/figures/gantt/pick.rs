//! Arranges the attempts of a recorded run by node, and picks the nodes that are drawn if there are too many.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use hindmost_core::timeline::{Timeline, TimelineRow};

use super::{Attempt, Fate, Panel, Row};
use crate::lanes::{self, ending, lost_spans};
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
    let name = |name: &str| crate::text::name(name, 48, "…");
    let mut tip = format!(
        "{}/{}, attempt {}{} on {}: {} to {} ({}), {}",
        name(timeline.phase_name(task)),
        task.index,
        row.attempt.copy,
        if row.redundant { " (copy)" } else { "" },
        name(timeline.node_name(row.node)),
        duration(from),
        duration(to),
        duration(to - from),
        ending(&row.outcome, "", 120)
    );
    if let Some(why) = why {
        tip += &format!(". Started because {}", crate::text::beginning(why, 300, "…"));
    }
    Attempt { from, to, fate: Fate::of(&row.outcome), copy: row.redundant, label: task.index.to_string(), tip }
}

/// Returns one row for each node, with as many lanes as attempts ran there at the same time. `reasons` are the reasons
/// for which attempts were started. If there are too many nodes, only some are drawn: the nodes with the most attempts
/// that are copies or did not finish first.
pub fn by_node(timeline: &Timeline, reasons: &BTreeMap<hindmost_core::ids::AttemptId, String>) -> Panel {
    let several = timeline.jobs.first().is_some_and(|job| job.spec.phases.len() > 1);
    let end = timeline.end.seconds();
    let mut rows: Vec<(usize, Row)> = Vec::new();
    for (node, lanes) in lanes::by_node(timeline).into_iter().enumerate() {
        let lanes = lanes.into_iter().map(|lane| {
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
        let away = lost_spans(about, end);
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
