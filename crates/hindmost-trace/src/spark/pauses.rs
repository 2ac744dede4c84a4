//! Pauses of the driver: it stands still, such as for a garbage collection, on a machine without memory or because it was stopped, while its
//! executors run on. What ends meanwhile is recorded afterwards, all at once, so that the attempts seem to have taken longer.

use crate::recording::{AttemptRow, Recording};

/// The shortest pause, seconds. Delays of a second are usual where machines are busy.
const SHORTEST: f64 = 2.0;
/// Fewest attempts that end at once after a pause, of which some ran on different executors.
const FEWEST: usize = 3;
/// For how long after a pause the driver records ends of attempts, as a share of the pause.
const AFTERWARDS: f64 = 0.1;

/// A time for which the driver stood still.
#[derive(Debug, PartialEq)]
pub(super) struct Pause {
    /// Its length at least: from when the work of an attempt ended until the driver recorded that.
    pub seconds: f64,
    /// Attempts whose work ended meanwhile.
    pub attempts: u64,
}

/// Takes pauses of the driver out of the times of attempts: they end when their work did. Returns the pauses.
pub(super) fn take_out(recording: &mut Recording) -> Vec<Pause> {
    let mut late: Vec<f64> = rows(recording).filter(|row| may_be_late(row)).map(|row| row.end).collect();
    if late.len() < FEWEST {
        return Vec::new();
    }
    late.sort_by(f64::total_cmp);
    let instants = instants(recording);
    let mut pauses = Vec::new();
    let mut recorded_until = f64::NEG_INFINITY;
    for to in late {
        if to <= recorded_until {
            continue;
        }
        let before = instants.partition_point(|at| *at < to);
        let Some(from) = before.checked_sub(1).map(|at| instants[at]).filter(|from| to - from >= SHORTEST) else {
            continue;
        };
        recorded_until = to + AFTERWARDS * (to - from);
        pauses.extend(end_with_their_work(recording, (from, to), recorded_until));
    }
    pauses
}

fn rows(recording: &Recording) -> impl Iterator<Item = &AttemptRow> {
    recording.phases.iter().flat_map(|phase| &phase.rows)
}

/// Returns whether the driver may have recorded the end of an attempt late. Results that it fetched took time of their own.
fn may_be_late(row: &AttemptRow) -> bool {
    f64::from(row.spent.delay) >= SHORTEST / 2.0 && !row.spent.fetched_result
}

/// All times at which the driver recorded something, sorted.
fn instants(recording: &Recording) -> Vec<f64> {
    let of_attempts = rows(recording).flat_map(|row| [row.start, row.end]);
    let of_phases = recording.phases.iter().flat_map(|phase| phase.submitted.into_iter().chain(phase.completed));
    let of_jobs = recording.active.iter().flat_map(|(from, to)| std::iter::once(*from).chain(*to));
    let of_executors = recording.executors.iter().flat_map(|one| one.added.into_iter().chain(one.removed));
    let mut all: Vec<f64> = of_attempts.chain(of_phases).chain(of_jobs).chain(of_executors).collect();
    all.sort_by(f64::total_cmp);
    all
}

/// Lets attempts end when their work did whose ends were recorded from the end of a pause on until `recorded_until`. `None` if these are
/// too few, or too few of those that ended then, to show a pause, or if their work ended shortly before it was recorded.
fn end_with_their_work(recording: &mut Recording, (from, to): (f64, f64), recorded_until: f64) -> Option<Pause> {
    let ran_on = |row: &&AttemptRow| row.start <= from && (to..=recorded_until).contains(&row.end);
    let worked_until = |row: &AttemptRow| row.end - f64::from(row.spent.delay);
    let ended_before = |row: &AttemptRow| may_be_late(row) && worked_until(row) < to;
    let ended: Vec<&AttemptRow> = rows(recording).filter(ran_on).collect();
    let late: Vec<&AttemptRow> = ended.iter().copied().filter(|row| ended_before(row)).collect();
    let is_everywhere = late.iter().any(|row| row.executor != late[0].executor);
    let first = late.iter().map(|row| worked_until(row)).min_by(f64::total_cmp)?.max(from);
    if late.len() < FEWEST || 2 * late.len() < ended.len() || !is_everywhere || to - first < SHORTEST {
        return None;
    }
    let attempts = late.len() as u64;
    for row in recording.phases.iter_mut().flat_map(|phase| &mut phase.rows) {
        if ran_on(&&*row) && ended_before(row) {
            // The delay before the work is not known apart from that after it.
            let end = worked_until(row).max(from).min(row.end);
            row.spent.delay -= (row.end - end) as f32;
            row.end = end;
        }
    }
    Some(Pause { seconds: to - first, attempts })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::TaskTimes;
    use crate::testing::{executor, phase, recording, row};

    /// Four attempts of 2 s on two executors, from 0 and 0.1 s on, whose ends are recorded at 12 s, and one that began then.
    fn paused() -> Recording {
        let late = |task: u32| {
            let start = f64::from(task) / 10.0;
            let spent = TaskTimes { delay: 10.0 - start as f32, ..TaskTimes::default() };
            AttemptRow { spent, ..row(task, task % 2, start, 12.0 + start) }
        };
        let mut rows: Vec<AttemptRow> = (0..4).map(late).collect();
        rows.push(row(4, 0, 12.0, 14.0));
        recording(vec![phase(rows)], vec![executor("a", 2), executor("b", 2)])
    }

    #[test]
    fn attempts_end_with_their_work_where_the_driver_stood_still() {
        let mut one = paused();
        let found = take_out(&mut one);
        assert_eq!(found.len(), 1);
        assert!((found[0].seconds - 10.0).abs() < 1e-5 && found[0].attempts == 4, "{found:?}");
        let ends: Vec<f64> = one.phases[0].rows.iter().map(|row| (row.end * 10.0).round() / 10.0).collect();
        assert_eq!(ends, [2.0, 2.2, 2.4, 2.6, 14.0]);
        assert!(one.phases[0].rows.iter().all(|row| row.spent.delay.abs() < 1e-5));
    }

    #[test]
    fn delays_of_other_kinds_stay() {
        let unchanged = |change: &dyn Fn(&mut Recording)| {
            let mut one = paused();
            change(&mut one);
            let before = one.phases[0].rows.clone();
            take_out(&mut one).is_empty() && one.phases[0].rows == before
        };
        assert!(unchanged(&|one| one.phases[0].rows.iter_mut().for_each(|row| row.spent.fetched_result = true)));
        assert!(unchanged(&|one| one.phases[0].rows.iter_mut().for_each(|row| row.executor = 0)), "a single executor");
        assert!(unchanged(&|one| one.phases[0].rows.truncate(2)), "too few");
        // Others end meanwhile.
        assert!(unchanged(&|one| one.phases[0].rows.extend((0..110).map(|at| row(
            5 + at,
            1,
            0.5,
            1.0 + f64::from(at) / 10.0
        )))));
        assert!(
            unchanged(&|one| one.phases[0].rows.iter_mut().for_each(|row| row.spent.delay = row.spent.delay.min(1.5))),
            "usual delays"
        );
        let longer = |row: &mut AttemptRow| row.spent.delay = 0.1;
        assert!(unchanged(&|one| one.phases[0].rows.iter_mut().take(2).for_each(longer)), "their work took longer");
    }
}
