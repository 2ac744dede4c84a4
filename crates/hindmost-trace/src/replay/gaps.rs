//! The time that an engine takes between tasks: gaps on a slot while tasks wait, and the time before a phase starts. Also the phases
//! whose tasks wait although slots are free.

use hindmost_math::statistics::mean;
use rustc_hash::FxHashMap;

use crate::diagnosis::area::Area;
use crate::diagnosis::typical::{Typical, retries};
use crate::recording::{AttemptRow, PhaseRows, Recording};

/// Returns for each phase the mean time for which a slot was free before an attempt started there, although the phase had begun.
/// First waves and retries have none: what retries wait for is no work between tasks. 0 for phases without such a start, and on
/// executors whose slots are not known.
///
/// Engines log the end of an attempt a little later than they use its slot again. So an attempt may start while all slots are in use; it
/// has the slot whose end comes next.
pub(super) fn gaps(recording: &Recording, typical: &[Typical]) -> Vec<f64> {
    let mut events: FxHashMap<u32, Vec<(f64, Event)>> = FxHashMap::default();
    let mut begins = Vec::with_capacity(recording.phases.len());
    for (at, (phase, typical)) in recording.phases.iter().zip(typical).enumerate() {
        begins.push(phase.rows.iter().map(|row| row.start).fold(f64::INFINITY, f64::min));
        for ((row, is_first), is_retry) in phase.rows.iter().zip(&typical.is_first).zip(retries(phase)) {
            let of_executor = events.entry(row.executor).or_default();
            of_executor.push((row.end, Event::End));
            of_executor.push((row.start, Event::Start((!is_first && !is_retry).then_some(at))));
        }
    }
    let mut found: Vec<Vec<f64>> = vec![Vec::new(); recording.phases.len()];
    for (executor, mut of_executor) in events {
        let Some(slots) = recording.executors.get(executor as usize).and_then(|one| one.slots) else { continue };
        of_executor.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.rank().cmp(&b.1.rank())));
        // When the free slots became free; and attempts that started before the log says that their slot was free.
        let (mut free, mut early) = (vec![f64::NEG_INFINITY; slots as usize], 0);
        for (time, event) in of_executor {
            match event {
                Event::End if early > 0 => early -= 1,
                Event::End => free.push(time),
                Event::Start(phase) => {
                    let since = free.pop();
                    early += u32::from(since.is_none());
                    if let Some(phase) = phase {
                        found[phase].push(since.map_or(0.0, |since: f64| time - since.max(begins[phase])));
                    }
                }
            }
        }
    }
    found.iter().map(|gaps| mean(gaps).unwrap_or(0.0)).collect()
}

/// What happens on an executor.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// An attempt ends.
    End,
    /// An attempt starts; the phase, if it is not in a first wave.
    Start(Option<usize>),
}

impl Event {
    /// Ends count before starts at the same time.
    fn rank(self) -> u8 {
        u8::from(matches!(self, Event::Start(_)))
    }
}

/// The least share of the slots that is free while tasks of a phase wait, if something else than slots holds them back.
const MUCH_FREE: f64 = 0.2;
/// The least share of a phase's time for which tasks must wait then.
const LONG_WAIT: f64 = 0.2;

/// Returns for each phase whether something else than slots held its tasks back: many slots were free for much of the time until its
/// last task started. The engine may have waited for slots near the tasks' input. `present` is when each executor could be used.
pub(super) fn held_back(recording: &Recording, present: &[(f64, f64)]) -> Vec<bool> {
    let slots = recording.executors.iter().map(|executor| executor.slots.map(f64::from)).collect::<Option<Vec<f64>>>();
    let Some(slots) = slots else { return vec![false; recording.phases.len()] };
    let rows = recording.phases.iter().flat_map(|phase| &phase.rows);
    let used = Area::of(rows.flat_map(|row| [(row.start, 1.0), (row.end, -1.0)]).collect());
    let (first, last) = used.ends();
    let held = present.iter().zip(&slots).filter(|((from, to), _)| *from < last && *to > first);
    let held = held.flat_map(|((from, to), slots)| [(from.max(first), *slots), (to.min(last), -slots)]);
    let held = Area::of(held.collect());
    let of = |phase: &PhaseRows| {
        let begin = phase.rows.iter().map(|row| row.start).fold(f64::INFINITY, f64::min);
        let end = phase.rows.iter().map(|row| row.end).fold(begin, f64::max);
        let mut starts: FxHashMap<u32, f64> = FxHashMap::default();
        for row in &phase.rows {
            let start = starts.entry(row.task).or_insert(row.start);
            *start = start.min(row.start);
        }
        let last = starts.values().copied().fold(begin, f64::max);
        let (used, held) = (used.between(begin, last), held.between(begin, last));
        last - begin > LONG_WAIT * (end - begin) && held - used > MUCH_FREE * held
    };
    recording.phases.iter().map(of).collect()
}

/// When the slots of an application were all in use.
pub(super) struct Busy {
    /// Times from which on a number of attempts run, ascending.
    running: Vec<(f64, i64)>,
    /// The most attempts that ran at the same time.
    most: i64,
    /// Times from which on there is a number of slots, ascending; empty if the log does not say.
    slots: Vec<(f64, i64)>,
}

impl Busy {
    pub(super) fn of(recording: &Recording) -> Busy {
        let rows = || recording.phases.iter().flat_map(|phase| &phase.rows);
        let changes = |row: &AttemptRow| [(row.start, 1), (row.end, -1)];
        let mut changes: Vec<(f64, i64)> = rows().flat_map(changes).collect();
        changes.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let running = sums(changes);
        let most = running.iter().map(|(_, now)| *now).max().unwrap_or(0);
        let known = recording.executors.iter().all(|executor| executor.slots.is_some());
        let mut slots: Vec<(f64, i64)> = Vec::new();
        for executor in recording.executors.iter().filter(|_| known) {
            let count = i64::from(executor.slots.unwrap_or(0));
            slots.push((executor.added.unwrap_or(f64::NEG_INFINITY), count));
            slots.extend(executor.removed.map(|removed| (removed, -count)));
        }
        slots.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        Busy { running, most, slots: sums(slots) }
    }

    /// Returns when the tasks of a phase could start that was submitted at a time and whose first attempt started at `first`: then, or,
    /// if they had to wait for slots, when it was submitted.
    pub(super) fn could_start(&self, first: f64, submitted: f64) -> f64 {
        let at = |sums: &[(f64, i64)]| {
            let after = sums.partition_point(|(time, _)| *time <= submitted);
            after.checked_sub(1).map_or(0, |last| sums[last].1)
        };
        let slots = if self.slots.is_empty() { self.most } else { at(&self.slots).min(self.most) };
        if at(&self.running) < slots { first } else { submitted.min(first) }
    }
}

/// Returns the sums of changes in the order of their times.
fn sums(changes: Vec<(f64, i64)>) -> Vec<(f64, i64)> {
    let mut now = 0;
    let add = |(time, change): (f64, i64)| {
        now += change;
        (time, now)
    };
    changes.into_iter().map(add).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::Executor;
    use crate::testing::{phase, row};

    fn recording(rows: Vec<AttemptRow>, slots: Option<u32>) -> Recording {
        let executor = Executor { host: "a".to_owned(), slots, ..Executor::default() };
        Recording { executors: vec![executor], phases: vec![phase(rows)], ..Recording::default() }
    }

    fn gap(rows: Vec<AttemptRow>, slots: Option<u32>) -> f64 {
        let recording = recording(rows, slots);
        let typical: Vec<Typical> = recording.phases.iter().map(Typical::of).collect();
        gaps(&recording, &typical)[0]
    }

    #[test]
    fn a_gap_is_the_time_for_which_a_slot_was_free_while_tasks_waited() {
        // One slot: attempts of 2 s that start 0.5 s and 1 s after the one before.
        let rows = vec![row(0, 0, 0.0, 2.0), row(1, 0, 2.5, 4.5), row(2, 0, 5.5, 7.5)];
        assert!((gap(rows.clone(), Some(1)) - 0.75).abs() < 1e-9);
        assert_eq!(gap(rows, None), 0.0, "slots that are not known have no gaps");
        // Two slots, of which the second was not used before 3 s, although the phase had begun at 0: a gap of 3 s, and one of 0.
        let rows = vec![row(0, 0, 0.0, 2.0), row(1, 0, 2.0, 9.0), row(2, 0, 3.0, 5.0)];
        assert!((gap(rows, Some(2)) - 1.5).abs() < 1e-9);
    }

    #[test]
    fn an_attempt_that_starts_before_the_logged_end_of_another_has_its_slot() {
        // Each start is 30 ms before the end of the attempt whose slot it uses. A slot is never free.
        let rows = (0..5).map(|at| row(at, 0, 1.97 * f64::from(at), 1.97 * f64::from(at) + 2.0)).collect();
        assert_eq!(gap(rows, Some(1)), 0.0);
    }

    #[test]
    fn tasks_that_wait_although_slots_are_free_are_held_back() {
        let held = |rows: Vec<AttemptRow>, present: (f64, f64)| {
            let mut two = recording(rows, Some(1));
            two.executors.push(Executor { host: "b".to_owned(), ..two.executors[0].clone() });
            held_back(&two, &[(0.0, 100.0), present])[0]
        };
        // One executor runs four tasks, and the other none.
        let near: Vec<AttemptRow> = (0..4).map(|at| row(at, 0, f64::from(at), f64::from(at) + 1.0)).collect();
        assert!(held(near.clone(), (0.0, 100.0)));
        assert!(!held(near.clone(), (2.9, 100.0)), "the other could not be used");
        // A retry is no wait.
        let again = vec![row(0, 0, 0.0, 1.0), row(1, 1, 0.0, 1.0), row(1, 1, 8.0, 10.0)];
        assert!(!held(again, (0.0, 100.0)));
        let both: Vec<AttemptRow> =
            (0..4).map(|at| row(at, at % 2, f64::from(at / 2), f64::from(at / 2 + 1))).collect();
        assert!(!held(both, (0.0, 100.0)), "all slots were in use");
        assert_eq!(held_back(&recording(near, None), &[(0.0, 9.0)]), [false]);
    }

    #[test]
    fn a_phase_that_waits_for_slots_could_start_when_it_was_submitted() {
        let busy = Busy::of(&recording(vec![row(0, 0, 0.0, 5.0), row(1, 0, 5.0, 8.0)], Some(1)));
        assert_eq!(busy.could_start(5.0, 1.0), 1.0, "the slot was in use");
        assert_eq!(busy.could_start(9.5, 9.0), 9.5, "the slot was free: the engine took half a second");
    }
}
