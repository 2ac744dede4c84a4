//! When each executor of an application was there, and from when on it could be used.

use rustc_hash::FxHashMap;

use super::losses::Losses;
use crate::diagnosis::typical::Typical;
use crate::recording::{Executor, Recording};

/// Seconds that an executor may take from its registration to its first attempt.
const READY: f64 = 0.2;
/// The most seconds for which an executor starts after its registration: less than the default wait for slots near the input.
const LAUNCH: f64 = 3.0;

/// When an executor was there, in seconds after the origin of the replay.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Presence {
    /// When it was added, or first used if other slots were used again before; `None`: it was there from the beginning.
    pub added: Option<f64>,
    /// When it was added, whether it was used then or not; `None`: it was there from the beginning.
    pub registered: Option<f64>,
    /// When it was removed; `None`: it stayed.
    pub removed: Option<f64>,
    /// True if attempts were lost with it.
    pub lost: bool,
    /// From when on it was held, used or not: before the first job, this is negative.
    pub held_from: f64,
    /// Until when it was held, used or not; `None`: to the end of the application.
    pub held_to: Option<f64>,
}

/// Returns when each executor was there. Those that were removed after the last attempt stayed. An executor that got no attempt
/// while slots elsewhere were used again could not be used yet.
pub(super) fn presence(recording: &Recording, typical: &[Typical], losses: &Losses, origin: f64) -> Vec<Presence> {
    let starts = Starts::of(recording, typical);
    let last = recording.phases.iter().flat_map(|phase| &phase.rows).map(|row| row.end).fold(f64::MIN, f64::max);
    let of = |(number, executor): (usize, &Executor)| {
        let removed = executor.removed.filter(|removed| *removed < last);
        let registered = executor.added.map(|added| starts.launched(number as u32, added).unwrap_or(added));
        let usable = starts.usable_from(number as u32, registered);
        Presence {
            added: usable.map(|added| added - origin).filter(|added| *added > 0.0),
            registered: registered.map(|added| added - origin).filter(|added| *added > 0.0),
            removed: removed.map(|removed| removed - origin),
            lost: removed.is_some() && losses.of_executor(number as u32),
            held_from: executor.added.map_or(0.0, |added| added - origin),
            held_to: executor.removed.map(|removed| removed - origin),
        }
    };
    recording.executors.iter().enumerate().map(of).collect()
}

/// When attempts started.
struct Starts {
    /// The first start on each executor.
    first: FxHashMap<u32, f64>,
    /// For each executor whose first attempt is the first one of its task: its start, and when its phase was submitted.
    waited: FxHashMap<u32, (f64, f64)>,
    /// Starts of attempts that are in no first wave, ascending: tasks waited for these slots.
    later: Vec<f64>,
}

impl Starts {
    fn of(recording: &Recording, typical: &[Typical]) -> Starts {
        let (waited, first, later) = (FxHashMap::default(), FxHashMap::default(), Vec::new());
        let mut starts = Starts { first, waited, later };
        for (phase, typical) in recording.phases.iter().zip(typical) {
            let mut of_tasks: FxHashMap<u32, f64> = FxHashMap::default();
            for row in &phase.rows {
                let first = of_tasks.entry(row.task).or_insert(row.start);
                *first = first.min(row.start);
            }
            for (row, is_first) in phase.rows.iter().zip(&typical.is_first) {
                let first = starts.first.entry(row.executor).or_insert(f64::INFINITY);
                if row.start < *first {
                    *first = row.start;
                    starts.waited.remove(&row.executor);
                    if let Some(submitted) = phase.submitted.filter(|_| of_tasks[&row.task] >= row.start) {
                        starts.waited.insert(row.executor, (row.start, submitted));
                    }
                }
                if !is_first {
                    starts.later.push(row.start);
                }
            }
        }
        starts.later.sort_by(f64::total_cmp);
        starts
    }

    /// Returns when an executor that was registered at this time had started: with its first attempt, if that had waited for it.
    /// `None` if the log does not show it.
    fn launched(&self, executor: u32, registered: f64) -> Option<f64> {
        let (start, submitted) = self.waited.get(&executor)?;
        (*submitted <= registered && *start <= registered + LAUNCH).then_some(*start)
    }

    /// Returns when an executor could be used that was added at this time; `None` if from the beginning.
    fn usable_from(&self, executor: u32, added: Option<f64>) -> Option<f64> {
        let first = self.first.get(&executor).copied().unwrap_or(f64::INFINITY);
        let from = added.unwrap_or(f64::NEG_INFINITY) + READY;
        let waited = self.later.get(self.later.partition_point(|start| *start <= from));
        if waited.is_some_and(|start| *start < first - READY) { Some(first) } else { added }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::PhaseRows;
    use crate::testing::{executor, phase, recording, row};

    #[test]
    fn an_executor_is_there_when_it_has_started() {
        // The phase is submitted at 0 s; executor 1 is registered at 2 s, and its first attempt starts `later` seconds after that.
        let added = |later: f64| {
            let first = 2.0 + later;
            let rows = vec![row(0, 0, 0.0, 4.0), row(1, 1, first, first + 4.0), row(2, 0, 4.0, 5.0)];
            let of_phase = PhaseRows { submitted: Some(0.0), ..phase(rows) };
            let mut executors = vec![executor("h0", 1), executor("h1", 1)];
            executors[1].added = Some(2.0);
            let recording = recording(vec![of_phase], executors);
            let typical: Vec<Typical> = recording.phases.iter().map(Typical::of).collect();
            let found = presence(&recording, &typical, &Losses::of(&recording), 0.0);
            (found[1].added, found[1].registered)
        };
        assert_eq!(added(1.4), (Some(3.4), Some(3.4)));
        // Something else held the task back for so long.
        assert_eq!(added(5.0).1, Some(2.0));
    }
}
