//! The time that an engine takes between tasks: gaps on a slot while tasks wait, and the time before a phase starts.

use hindmost_math::statistics::mean;
use rustc_hash::FxHashMap;

use super::recording::{AttemptRow, Recording};
use super::typical::Typical;

/// The longest gap, in seconds, that counts as one: the default time for which an engine waits for a nearer node.
const LONGEST: f64 = 60.0;
/// How much later than it uses the slot again an engine may log the end of an attempt, seconds.
const LATE: f64 = 0.05;

/// Returns for each phase the mean time between an attempt's start and the latest end on its executor before that which no other
/// start follows. First waves have none. 0 for phases without such a start.
pub(super) fn gaps(recording: &Recording, typical: &[Typical]) -> Vec<f64> {
    let mut events: FxHashMap<u32, Vec<(f64, Event)>> = FxHashMap::default();
    for (at, (phase, typical)) in recording.phases.iter().zip(typical).enumerate() {
        for (row, is_first) in phase.rows.iter().zip(&typical.is_first) {
            let of_executor = events.entry(row.executor).or_default();
            // Engines log the end of an attempt a little later than they use its slot again.
            of_executor.push((row.end - (0.1 * row.seconds()).min(LATE), Event::End(row.end)));
            of_executor.push((row.start, Event::Start((!is_first).then_some(at))));
        }
    }
    let mut found: Vec<Vec<f64>> = vec![Vec::new(); recording.phases.len()];
    for mut of_executor in events.into_values() {
        of_executor.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.rank().cmp(&b.1.rank())));
        let mut free: Vec<f64> = Vec::new();
        for (time, event) in of_executor {
            let phase = match event {
                Event::End(end) => {
                    free.push(end);
                    continue;
                }
                Event::Start(phase) => phase,
            };
            if let (Some(since), Some(phase)) = (free.pop(), phase)
                && time - since <= LONGEST
            {
                found[phase].push((time - since).max(0.0));
            }
        }
    }
    found.iter().map(|gaps| mean(gaps).unwrap_or(0.0)).collect()
}

/// What happens on an executor.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// An attempt ends, at this time by the log.
    End(f64),
    /// An attempt starts; the phase, if it is not in a first wave.
    Start(Option<usize>),
}

impl Event {
    /// Ends count before starts at the same time.
    fn rank(self) -> u8 {
        u8::from(matches!(self, Event::Start(_)))
    }
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
