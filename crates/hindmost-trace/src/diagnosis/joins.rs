//! When nodes joined of which the log does not say it: at their first attempt, if tasks had waited before although nothing was free
//! elsewhere. A log of attempts does not show a node on which nothing runs.

use std::borrow::Borrow;
use std::cell::LazyCell;

use hindmost_math::statistics::median;
use rustc_hash::FxHashMap;

use super::area::Area;
use crate::recording::Recording;

/// The share of the busy time that overlaps must last to count, where the number of slots is not known.
pub(super) const BRIEF: f64 = 0.01;

/// Tasks must have waited for so many times the median duration, without a new node, for the next one to have been away.
const WAITED: f64 = 1.0;
/// The share of that time in which they must have waited, and of the slots of the nodes seen before that were in use.
const FULL: f64 = 0.9;

/// An attempt: the number of its node, its start and its end.
pub(crate) type Ran = (u32, f64, f64);

/// Returns the changes of the number of slots from a time on: the slots of the nodes that were there, up to `most` in all, and the first
/// times and slots of those that joined. `used` returns the slots in use, and `waits` the times from when until when tasks waited: they are
/// needed only where nodes are first seen late.
pub(crate) fn slots_that_join<A: Borrow<Area>>(
    attempts: impl Iterator<Item = Ran> + Clone,
    used: impl FnOnce() -> A,
    waits: impl FnOnce() -> Vec<(f64, f64)>,
    (from, most): (f64, i64),
) -> Vec<(f64, i64)> {
    let mut seconds: Vec<f64> = attempts.clone().map(|(_, start, end)| end - start).collect();
    let needed = median(&mut seconds).map_or(f64::INFINITY, |usual| WAITED * usual);
    let seen = first_seen(attempts.clone());
    if needed <= 0.0 || seen.last().is_none_or(|(last, _)| *last < from + needed) {
        return vec![(from, most)];
    }
    let used = used();
    let used: &Area = used.borrow();
    // A node on which anything ran has one slot at least.
    let least = Area::of(seen.iter().map(|(first, ran)| (*first, f64::from(u8::from(*ran)))).collect());
    let begins = std::iter::once(from).chain(seen.iter().map(|(first, _)| *first));
    let is_late = |(before, until): (f64, f64)| {
        let since = until - needed;
        since >= before && used.between(since, until) >= FULL * least.between(since, until)
    };
    if !begins.zip(&seen).any(|(before, (first, _))| is_late((before, *first))) {
        return vec![(from, most)];
    }
    let nodes = nodes(attempts);
    let late = late(used, &LazyCell::new(|| any(waits())), &nodes, (from, needed));
    let all: i64 = nodes.iter().map(|node| node.slots).sum();
    let mut slots = (all - late.iter().map(|(_, slots)| slots).sum::<i64>()).min(most);
    if late.is_empty() || slots <= 0 {
        return vec![(from, most)];
    }
    let mut changes = vec![(from, slots)];
    for (first, more) in late {
        let more = more.min(most - slots);
        slots += more;
        changes.push((first, more));
    }
    changes
}

/// A node.
struct Node {
    /// When it is first seen.
    first: f64,
    /// The most attempts at the same time.
    slots: i64,
}

/// When each node is first seen, ascending, and whether anything ran there for any time.
fn first_seen(attempts: impl Iterator<Item = Ran>) -> Vec<(f64, bool)> {
    let mut nodes: FxHashMap<u32, (f64, bool)> = FxHashMap::default();
    for (node, start, end) in attempts {
        let (first, ran) = nodes.entry(node).or_insert((start, false));
        (*first, *ran) = (first.min(start), *ran || start < end);
    }
    let mut seen: Vec<(f64, bool)> = nodes.into_values().collect();
    seen.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    seen
}

/// The nodes, in the order in which they are first seen.
fn nodes(attempts: impl Iterator<Item = Ran>) -> Vec<Node> {
    let mut intervals: FxHashMap<u32, Vec<(f64, f64)>> = FxHashMap::default();
    for (node, start, end) in attempts {
        intervals.entry(node).or_default().push((start, end));
    }
    let of = |intervals: Vec<(f64, f64)>| Node {
        first: intervals.iter().map(|(start, _)| *start).fold(f64::INFINITY, f64::min),
        slots: most_at_once(&intervals, BRIEF),
    };
    let mut nodes: Vec<Node> = intervals.into_values().map(of).collect();
    nodes.sort_by(|a, b| a.first.total_cmp(&b.first).then(a.slots.cmp(&b.slots)));
    nodes
}

/// The nodes that joined late: when, and their slots. Tasks must have waited for the time `needed`.
fn late<F: FnOnce() -> Area>(
    used: &Area,
    waits: &LazyCell<Area, F>,
    nodes: &[Node],
    (from, needed): (f64, f64),
) -> Vec<(f64, i64)> {
    let seen = Area::of(nodes.iter().map(|node| (node.first, node.slots as f64)).collect());
    let (mut before, mut was_late) = (from, false);
    let is_late = |node: &&Node| {
        let (since, until) = (node.first - needed, node.first);
        // A scheduler that starts tasks one by one finds one node after another; those that join soon after another one join with it.
        if since >= before {
            let there = seen.between(since, until);
            let is_full = there > 0.0 && used.between(since, until) >= FULL * there;
            was_late = is_full && waits.between(since, until) >= FULL * needed;
        }
        before = node.first;
        was_late
    };
    nodes.iter().filter(is_late).map(|node| (node.first, node.slots)).collect()
}

/// The time for which any task waited.
fn any(waits: Vec<(f64, f64)>) -> Area {
    let mut changes: Vec<(f64, i64)> = waits
        .into_iter()
        .filter(|(ready, start)| ready < start)
        .flat_map(|(ready, start)| [(ready, 1), (start, -1)])
        .collect();
    changes.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut waiting = 0;
    let change = |(at, by): (f64, i64)| {
        let before = i32::from(waiting > 0);
        waiting += by;
        (at, f64::from(i32::from(waiting > 0) - before))
    };
    Area::of(changes.into_iter().map(change).collect())
}

/// Returns from when until when the tasks of a recording waited.
pub(super) fn waits(recording: &Recording) -> Vec<(f64, f64)> {
    let mut waits = Vec::new();
    for phase in &recording.phases {
        let mut starts: FxHashMap<u32, f64> = FxHashMap::default();
        for row in &phase.rows {
            let start = starts.entry(row.task).or_insert(row.start);
            *start = start.min(row.start);
        }
        let Some((begin, _)) = phase.span(starts.values().copied().min_by(f64::total_cmp)) else { continue };
        waits.extend(starts.into_iter().map(|(task, start)| {
            let at = phase.ready.binary_search_by_key(&task, |(task, _)| *task);
            (at.map_or(begin, |at| phase.ready[at].1), start)
        }));
    }
    waits
}

/// The most intervals that overlap, leaving out what lasted for less than the share `brief` of the time in which there is any. Engines log
/// the end of an attempt a little later than they use its slot again.
pub(super) fn most_at_once(intervals: &[(f64, f64)], brief: f64) -> i64 {
    let (mut starts, mut ends): (Vec<f64>, Vec<f64>) = intervals.iter().copied().unzip();
    starts.sort_unstable_by(f64::total_cmp);
    // Mostly sorted, because logs have attempts in the order of their ends.
    ends.sort_by(f64::total_cmp);
    let (mut starts, mut ends) = (&starts[..], &ends[..]);
    let next = || {
        // At the same instant, ends count before starts.
        let (first, of, by) = match (starts.first(), ends.first()) {
            (Some(start), Some(end)) if start.total_cmp(end).is_lt() => (start, &mut starts, 1),
            (_, Some(end)) => (end, &mut ends, -1),
            (start, None) => (start?, &mut starts, 1),
        };
        *of = &of[1..];
        Some((*first, by))
    };
    most_of(std::iter::from_fn(next), brief)
}

pub(super) fn most_of(changes: impl Iterator<Item = (f64, i64)>, brief: f64) -> i64 {
    let (mut running, mut before) = (0, f64::NAN);
    // Seconds for which so many overlap, from one on.
    let mut levels: Vec<f64> = Vec::new();
    for (at, by) in changes {
        if running > 0 {
            let level = running as usize;
            levels.resize(levels.len().max(level), 0.0);
            levels[level - 1] += at - before;
        }
        (running, before) = (running + by, at);
    }
    let busy: f64 = levels.iter().sum();
    let mut above = 0.0;
    for (at, seconds) in levels.iter().enumerate().rev() {
        above += seconds;
        if above >= brief * busy {
            return at as i64 + 1;
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::super::slots::slots;
    use super::*;
    use crate::testing::{executor, phase, recording, row};

    /// Tasks of 10 s on nodes of two slots, which take them from the given times on.
    fn on(nodes: &[f64], tasks: u32) -> Recording {
        let mut free: Vec<(f64, u32)> = nodes.iter().zip(0..).flat_map(|(at, node)| [(*at, node); 2]).collect();
        let rows = (0..tasks).map(|task| {
            free.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let (start, node) = free[0];
            free[0].0 = start + 10.0;
            row(task, node, start, start + 10.0)
        });
        let rows = rows.collect();
        let executors =
            (0..nodes.len()).map(|node| crate::recording::Executor { slots: None, ..executor(&format!("n{node}"), 2) });
        recording(vec![phase(rows)], executors.collect())
    }

    #[test]
    fn a_node_that_is_first_seen_while_others_are_full_joins_then() {
        assert_eq!(slots(&on(&[0.0, 0.0, 35.0], 40), 0.0).0, [(0.0, 4), (35.0, 2)]);
        assert_eq!(slots(&on(&[0.0, 0.0, 0.0], 40), 0.0).0, [(0.0, 6)]);
    }

    #[test]
    fn a_scheduler_that_starts_tasks_slowly_has_all_nodes() {
        // One node every 4 s: no task waited for as long as one takes.
        assert_eq!(slots(&on(&[0.0, 4.0, 8.0, 12.0], 40), 0.0).0, [(0.0, 8)]);
        // One task every 12 s, while others are free.
        let mut slow = on(&[0.0, 0.0], 0);
        let rows: Vec<_> =
            (0..8).map(|task| row(task, task % 2, 12.0 * f64::from(task), 12.0 * f64::from(task) + 10.0)).collect();
        slow.phases = vec![phase(rows)];
        assert_eq!(slots(&slow, 0.0).0, [(0.0, 1)]);
    }
}
