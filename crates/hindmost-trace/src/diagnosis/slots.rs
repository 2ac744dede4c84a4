//! The slots of an application over time: how many there were, which attempts without an end held some, and which ones the engine left
//! free.

use std::collections::BTreeMap;

use super::area::Area;
use super::joins::{BRIEF, most_at_once, most_of, slots_that_join, waits};
use crate::recording::{Executor, Recording};

/// The same, where the log states fewer slots.
const BRIEF_BEYOND: f64 = 0.1;

/// Returns the changes of the number of slots, and whether the log says it of each executor. An executor whose slots are not known
/// has as many as attempts ran there at the same time. If nothing is known of any executor, the application had as many slots as
/// attempts ran at the same time.
pub(super) fn slots(recording: &Recording, from: f64) -> (Vec<(f64, i32)>, bool) {
    if !recording.slots_left.is_empty() {
        return (recording.slots_left.clone(), false);
    }
    let rows = || recording.phases.iter().flat_map(|phase| &phase.rows);
    let nowhere = !rows().any(|row| (row.executor as usize) < recording.executors.len());
    let are_counted = recording.executors.iter().any(|executor| executor.slots.is_some());
    if !are_counted || nowhere {
        let all: Vec<(f64, f64)> = rows().map(|row| (row.start, row.end)).collect();
        let most = most_at_once(&all, BRIEF);
        if nowhere {
            return (vec![(from, whole(most))], false);
        }
        let attempts = rows().map(|row| (row.executor, row.start, row.end));
        let used = || Area::of(attempts.clone().flat_map(|(_, start, end)| [(start, 1.0), (end, -1.0)]).collect());
        let joins = slots_that_join(attempts.clone(), used, || waits(recording), (from, most));
        return (joins.into_iter().map(|(at, by)| (at, whole(by))).collect(), false);
    }
    let mut intervals: Vec<Vec<(f64, f64)>> = vec![Vec::new(); recording.executors.len()];
    for row in rows() {
        if let Some(intervals) = intervals.get_mut(row.executor as usize) {
            intervals.push((row.start, row.end));
        }
    }
    let (mut changes, mut all_known) = (Vec::new(), true);
    let removed = removals(&recording.executors, &intervals);
    for ((executor, intervals), removed) in recording.executors.iter().zip(&intervals).zip(removed) {
        let seen = most_at_once(intervals, if executor.slots.is_some() { BRIEF_BEYOND } else { BRIEF });
        all_known &= executor.slots.is_some() || seen == 0;
        let slots = executor.slots.map_or(seen, |slots| i64::from(slots).max(seen));
        let first = intervals.iter().map(|(start, _)| *start).min_by(f64::total_cmp);
        let last = intervals.iter().map(|(_, end)| *end).max_by(f64::total_cmp);
        let Some(mut added) = executor.added.or(first) else { continue };
        added = first.map_or(added, |first| added.min(first));
        let slots = whole(slots);
        changes.push((added, slots));
        if let Some(removed) = removed {
            changes.push((last.map_or(removed, |last| removed.max(last)), -slots));
        }
    }
    (changes, all_known)
}

/// A number of slots. Larger ones than any cluster has come from wrong logs.
fn whole(slots: i64) -> i32 {
    i32::try_from(slots).unwrap_or(i32::MAX / 1024)
}

/// Returns when executors were removed. Old versions of Spark do not log the loss of an executor: it counts as removed after its
/// last attempt, if another executor was added on its machine later, and none of its attempts began after that.
fn removals(executors: &[Executor], intervals: &[Vec<(f64, f64)>]) -> Vec<Option<f64>> {
    let of = |(at, executor): (usize, &Executor)| {
        let last = intervals[at].iter().map(|(_, end)| *end).max_by(f64::total_cmp);
        let is_replaced = |last: f64| {
            executors.iter().enumerate().any(|(other, one)| {
                other != at && one.host == executor.host && one.added.is_some_and(|added| added >= last)
            })
        };
        executor.removed.or_else(|| last.filter(|last| is_replaced(*last)))
    };
    executors.iter().enumerate().map(of).collect()
}

/// The most slots that are used, by the sorted changes of their number.
pub(crate) fn most_slots(changes: impl Iterator<Item = (f64, i64)>) -> i32 {
    whole(most_of(changes, BRIEF))
}

/// Returns from when until when attempts had slots whose end the log does not have: until their executor was removed, or until all of its
/// slots ran other attempts.
pub(super) fn unended(recording: &Recording, to: f64) -> Vec<(f64, f64)> {
    let mut of_executors: BTreeMap<u32, Vec<(f64, f64)>> = BTreeMap::new();
    for one in &recording.unended {
        of_executors.entry(one.executor).or_default().push((one.start, one.until.min(to)));
    }
    let mut found = Vec::new();
    for (number, mut open) in of_executors {
        let Some(executor) = recording.executors.get(number as usize) else { continue };
        let Some(slots) = executor.slots else { continue };
        open.sort_by(|a, b| a.0.total_cmp(&b.0));
        for one in &mut open {
            one.1 = one.1.min(executor.removed.unwrap_or(to)).max(one.0);
        }
        let rows = recording.phases.iter().flat_map(|phase| &phase.rows).filter(|row| row.executor == number);
        // Engines log the end of an attempt a little later than they use its slot again.
        let mut changes: Vec<(f64, i64)> =
            rows.flat_map(|row| [(row.start, 1), (row.end - 0.1 * row.seconds(), -1)]).collect();
        changes.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut running = 0;
        for (at, by) in changes {
            running += by;
            let holding = |one: &(f64, f64)| one.0 <= at && at < one.1;
            while by > 0 && running + open.iter().filter(|one| holding(one)).count() as i64 > i64::from(slots) {
                let Some(earliest) = open.iter_mut().find(|one| holding(one)) else { break };
                earliest.1 = at;
            }
        }
        found.extend(open);
    }
    found
}

/// Returns the changes of the number of free slots on nodes that the engine counted as slow.
pub(super) fn avoided(recording: &Recording) -> Vec<(f64, i32)> {
    let mut changes = Vec::new();
    for (number, executor) in (0..).zip(&recording.executors) {
        let Some(slots) = executor.slots.filter(|_| !executor.avoided.is_empty()) else { continue };
        let rows = || recording.phases.iter().flat_map(|phase| &phase.rows).filter(|row| row.executor == number);
        // Slots count from the first attempt on if the log does not say when they were added.
        if executor.added.is_none() && rows().next().is_none() {
            continue;
        }
        for &(from, until) in &executor.avoided {
            changes.extend([(from, whole(slots.into())), (until, -whole(slots.into()))]);
            for row in rows().filter(|row| row.start < until && row.end > from) {
                let (start, end) = (row.start.max(from), row.end.min(until));
                changes.extend([(start, -1), (end, 1)]);
            }
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brief_overlaps_are_no_slots() {
        assert_eq!(most_at_once(&[(0.0, 1.0), (0.995, 2.0), (0.5, 0.5)], BRIEF), 1);
        assert_eq!(most_at_once(&[(0.0, 1.0), (0.5, 2.0)], BRIEF), 2);
        assert_eq!(most_at_once(&[], BRIEF), 0);
    }
}
