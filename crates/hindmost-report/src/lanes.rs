//! Which attempt is in which lane, when nodes were lost, and how attempts ended: what charts in terminals and pictures have in
//! common.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hindmost_core::timeline::{AttemptEnd, Cause, Timeline, TimelineNode, TimelineRow};

use crate::text::beginning;

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The attempt finished before all other attempts of its task.
    Won,
    /// The attempt was stopped because another copy finished first, will finish first, or replaces it.
    Lost,
    /// The attempt failed or was killed from outside.
    Failed,
    /// The attempt's node was lost.
    NodeLost,
    /// The attempt was stopped with the run, or was still running at the end of the record.
    Cut,
}

impl Fate {
    pub(crate) const ALL: [Fate; 5] = [Fate::Won, Fate::Lost, Fate::Failed, Fate::NodeLost, Fate::Cut];

    /// Returns the fate of an attempt that ended in this way.
    pub(crate) fn of(outcome: &AttemptEnd) -> Fate {
        match outcome {
            AttemptEnd::Won => Fate::Won,
            AttemptEnd::Lost | AttemptEnd::Replaced => Fate::Lost,
            AttemptEnd::Failed(_) => Fate::Failed,
            AttemptEnd::NodeLost => Fate::NodeLost,
            AttemptEnd::Abandoned | AttemptEnd::Stopped | AttemptEnd::Running => Fate::Cut,
        }
    }

    /// Returns what the legend of a chart calls an attempt, or a copy, with this fate.
    pub(crate) fn words(self, is_copy: bool) -> &'static str {
        match (self, is_copy) {
            (Fate::Won, false) => "finished first",
            (Fate::Won, true) => "copy that finished first",
            (Fate::Lost, false) => "stopped for another copy",
            (Fate::Lost, true) => "copy that was stopped for another copy",
            (Fate::Failed, false) => "failed",
            (Fate::Failed, true) => "copy that failed",
            (Fate::NodeLost, _) => "lost with its node",
            (Fate::Cut, false) => "not finished",
            (Fate::Cut, true) => "copy that is not finished",
        }
    }

    /// Returns true unless the attempt finished first or was stopped for another copy.
    pub(crate) fn is_broken(self) -> bool {
        !matches!(self, Fate::Won | Fate::Lost)
    }
}

/// Says how an attempt ended. `ran` is empty, or says for how long it ran, such as ` after 5 s`. Reasons have at most `most` columns.
pub(crate) fn ending(outcome: &AttemptEnd, ran: &str, most: usize) -> String {
    let short = |reason: &str| beginning(reason, most, "…");
    match outcome {
        AttemptEnd::Won => "finished first".to_owned(),
        AttemptEnd::Lost => format!("stopped{ran} for another copy"),
        AttemptEnd::Replaced => format!("stopped{ran} for another copy, which replaced it"),
        AttemptEnd::Failed(Cause::Own(reason)) => format!("failed{ran}: {}", short(reason)),
        AttemptEnd::Failed(Cause::External(Some(what))) => format!("failed{ran}, ended from outside: {}", short(what)),
        AttemptEnd::Failed(Cause::External(None)) => format!("failed{ran}, killed from outside"),
        AttemptEnd::NodeLost => format!("lost with its node{ran}"),
        AttemptEnd::Abandoned => format!("not finished, stopped{ran} because the job was abandoned"),
        AttemptEnd::Stopped => format!("not finished, stopped with the run{ran}"),
        AttemptEnd::Running => format!("not finished, still running{ran} at the end of the record"),
    }
}

/// Returns the lanes of each node.
pub(crate) fn by_node(timeline: &Timeline) -> Vec<Vec<Vec<&TimelineRow>>> {
    let mut by_node: Vec<Vec<&TimelineRow>> = vec![Vec::new(); timeline.nodes.len()];
    for row in &timeline.rows {
        if let Some(rows) = by_node.get_mut(row.node.0 as usize) {
            rows.push(row);
        }
    }
    by_node.into_iter().map(packed).collect()
}

/// Returns the spans during which a node was lost, in seconds. A node that did not return was lost until `end`.
pub(crate) fn lost_spans(node: &TimelineNode, end: f64) -> impl Iterator<Item = [f64; 2]> {
    let spans = node.lost_and_returned.chunks(2);
    spans.map(move |span| [span[0].seconds(), span.get(1).map_or(end, |returned| returned.seconds())])
}

/// Packs attempts of one node or task into lanes. In order of their start, each attempt gets the first lane that is free at
/// that time.
pub(crate) fn packed<'a>(mut attempts: Vec<&'a TimelineRow>) -> Vec<Vec<&'a TimelineRow>> {
    // Rows are in the order of decisions. An attempt may start later than the next one, if it waits until another
    // attempt has released its resources.
    attempts.sort_by_key(|row| (row.start, row.attempt));
    let mut lanes: Vec<Vec<&'a TimelineRow>> = Vec::new();
    let mut busy = BinaryHeap::new();
    let mut free = BinaryHeap::new();
    for row in attempts {
        while let Some(Reverse((end, lane))) = busy.peek().copied()
            && end <= row.start
        {
            busy.pop();
            free.push(Reverse(lane));
        }
        let Reverse(lane) = free.pop().unwrap_or(Reverse(lanes.len()));
        if lane == lanes.len() {
            lanes.push(Vec::new());
        }
        lanes[lane].push(row);
        busy.push(Reverse((row.end, lane)));
    }
    lanes
}
