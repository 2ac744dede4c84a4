//! What changes at an instant of an application, and what is the case between two instants.

use hindmost_core::metrics::{SlotUse, Spent};
use rustc_hash::FxHashMap;

use super::slots::{avoided, slots, unended};
use super::typical::{Typical, retries};
use crate::recording::Ended;
use crate::recording::{PhaseRows, Recording};

/// The share of the slots from which on all count as used.
const FULL: f64 = 0.9;

/// What changes at an instant. It is small, because there are two or more for each attempt.
#[derive(Clone, Copy, Debug)]
pub(super) enum Change {
    /// Number of active jobs.
    Jobs(i32),
    /// Number of slots.
    Slots(i32),
    /// Number of tasks of a phase that wait.
    Waiting(i32),
    /// Number of tasks of a phase that has begun that can't start yet.
    Due(i32),
    /// A phase begins (true) or ends.
    Phase(u32, bool),
    /// An attempt of a phase starts, and whether its task waited until now.
    Start(u32, SlotUse, bool),
    /// An attempt has taken longer than is typical.
    Late(SlotUse),
    /// An attempt of a phase ends.
    End(u32, SlotUse),
    /// The part of a running attempt of a first wave that is longer than is typical.
    Cold(f32),
    /// Number of running attempts that will not win.
    Lost(i32),
    /// Number of running attempts that are killed in the end.
    Killed(i32),
    /// Number of attempts that have a slot, although the log does not have their end.
    Unended(i32),
    /// Number of free slots of slow nodes, which the engine left free.
    Avoided(i32),
}

impl Change {
    /// The order of changes at the same instant. Only that of phases matters, because the one that began last counts in ties.
    pub(super) fn rank(self) -> (u32, bool) {
        match self {
            Change::Phase(phase, begins) => (phase, !begins),
            _ => (0, false),
        }
    }
}

/// What is the case between two instants.
#[derive(Debug, Default)]
pub(super) struct State {
    jobs: i64,
    slots: i64,
    waiting: i64,
    due: i64,
    /// Running attempts by how they count.
    uses: [i64; SlotUse::ALL.len()],
    /// The sum of these.
    used: i64,
    /// Sum of the parts of running attempts of first waves that are longer than is typical.
    pub(super) cold: f64,
    /// Running attempts that will not win their task.
    pub(super) lost: i64,
    /// Those of them that are killed in the end.
    killed: i64,
    /// Free slots of slow nodes that the engine left free.
    avoided: i64,
    /// Running attempts of each phase.
    running: Vec<i64>,
    /// Phases that have begun and not ended.
    phases: Vec<usize>,
    /// Number of tasks of these phases.
    tasks: u64,
}

impl State {
    /// The state before the first change of a recording with so many phases.
    pub(super) fn of(phases: usize) -> State {
        State { running: vec![0; phases], ..State::default() }
    }

    /// Attempts that run.
    pub(super) fn used(&self) -> i64 {
        self.used
    }

    /// Slots in use, by what ran there. They are no more than there are: engines log the end of an attempt a little later than they use its
    /// slot again.
    pub(super) fn uses(&self) -> [i64; SlotUse::ALL.len()] {
        let mut uses = self.uses;
        lower_the_most(&mut uses, self.used() - self.all_slots());
        uses
    }

    /// The slots; if none is known, those in use.
    pub(super) fn all_slots(&self) -> i64 {
        if self.slots > 0 { self.slots } else { self.used() }
    }

    /// Applies a change. `sizes` are the numbers of tasks of the phases.
    pub(super) fn apply(&mut self, change: Change, sizes: &[u64]) {
        match change {
            Change::Jobs(by) => self.jobs += i64::from(by),
            Change::Slots(by) => self.slots += i64::from(by),
            Change::Waiting(by) => self.waiting += i64::from(by),
            Change::Due(by) => self.due += i64::from(by),
            Change::Cold(by) => self.cold += f64::from(by),
            Change::Lost(by) => self.lost += i64::from(by),
            Change::Killed(by) => self.killed += i64::from(by),
            Change::Unended(by) => {
                self.uses[SlotUse::Lost as usize] += i64::from(by);
                self.used += i64::from(by);
                self.lost += i64::from(by);
                self.killed += i64::from(by);
            }
            Change::Avoided(by) => self.avoided += i64::from(by),
            Change::Phase(phase, true) => {
                self.phases.push(phase as usize);
                self.tasks += sizes[phase as usize];
            }
            Change::Phase(phase, false) => {
                self.phases.retain(|other| *other != phase as usize);
                self.tasks -= sizes[phase as usize];
            }
            Change::Start(phase, what, waited) => {
                self.running[phase as usize] += 1;
                self.uses[what as usize] += 1;
                self.used += 1;
                self.waiting -= i64::from(waited);
            }
            Change::Late(what) => {
                self.uses[what as usize] -= 1;
                self.uses[SlotUse::Straggler as usize] += 1;
            }
            Change::End(phase, what) => {
                self.running[phase as usize] -= 1;
                self.uses[what as usize] -= 1;
                self.used -= 1;
            }
        }
    }

    /// What time is spent on in this state.
    pub(super) fn spent(&self) -> Spent {
        // The engine uses the other slots only.
        let (used, slots) = (self.used() as f64, (self.slots - self.avoided.max(0)) as f64);
        let of = |what: SlotUse| self.uses[what as usize];
        let (late, retries, lost) = (of(SlotUse::Straggler), of(SlotUse::Retry), of(SlotUse::Lost));
        if self.jobs <= 0 && self.used() <= self.killed || self.due > 0 && self.waiting <= 0 && self.used() == 0 {
            Spent::NoJob
        } else if self.slots <= 0 && self.used() == 0 {
            Spent::NoSlots
        } else if self.used() > 0 && used >= FULL * slots {
            Spent::Work
        } else if self.waiting > 0 || self.used() == 0 {
            Spent::Scheduling
        // Beside a retry, attempts that will not win keep nothing waiting: their stage is given up when it fails.
        } else if self.used() > late + retries + if retries > 0 { lost } else { 0 } {
            // More tasks are still to come.
            if self.tasks < self.slots as u64 || self.due > 0 { Spent::FewTasks } else { Spent::LastWave }
        } else if late > 0 {
            Spent::Stragglers
        } else {
            Spent::Retries
        }
    }

    /// The phase with the most running attempts, or else the one that began last.
    pub(super) fn foremost(&self) -> Option<usize> {
        if let [only] = self.phases[..] {
            return Some(only);
        }
        let most = self.phases.iter().copied().max_by_key(|phase| (self.running[*phase], *phase));
        most.filter(|phase| self.running[*phase] > 0).or_else(|| self.phases.last().copied())
    }

    /// Slots that the engine left free on slow nodes although tasks waited.
    pub(super) fn left_free(&self) -> i64 {
        if self.waiting > 0 { self.avoided.clamp(0, (self.slots - self.used()).max(0)) } else { 0 }
    }
}

/// Returns all changes in the order of their times, given those of the number of slots and all others.
pub(super) fn merged<'c>(
    mut slots: &'c [(f64, i32)],
    mut others: &'c [(f64, Change)],
) -> impl Iterator<Item = (f64, Change)> + Clone + 'c {
    std::iter::from_fn(move || match (slots.first(), others.first()) {
        (Some((at, by)), other) if other.is_none_or(|(other, _)| at <= other) => {
            slots = &slots[1..];
            Some((*at, Change::Slots(*by)))
        }
        (_, other) => {
            others = others.get(1..).unwrap_or_default();
            other.copied()
        }
    })
}

/// The changes of the number of slots, others, and whether the numbers of slots are known.
pub(super) type Changes = (Vec<(f64, i32)>, Vec<(f64, Change)>, bool);

/// Returns all changes, in any order.
pub(super) fn changes(
    recording: &Recording,
    typical: &[Typical],
    (from, to): (f64, f64),
    is_cold: impl Fn(usize, usize) -> bool,
    excess: impl Fn(usize, usize) -> f64,
) -> Changes {
    // First, because it needs memory for all attempts, too.
    let (slots, slots_known) = slots(recording, from);
    let mut changes = Vec::new();
    let attempts: usize = recording.phases.iter().map(|phase| phase.rows.len()).sum();
    changes.reserve(2 * attempts + 3 * recording.phases.len());
    if recording.active.is_empty() {
        changes.push((from, Change::Jobs(1)));
    }
    for (begin, end) in &recording.active {
        changes.push((*begin, Change::Jobs(1)));
        changes.push((end.unwrap_or(to).max(*begin), Change::Jobs(-1)));
    }
    for (at, (phase, typical)) in recording.phases.iter().zip(typical).enumerate() {
        of_phase(at, phase, typical, |row| is_cold(at, row), &mut changes);
        for (number, row) in phase.rows.iter().enumerate() {
            let beyond = excess(at, number);
            if beyond > 0.0 {
                let beyond = (beyond / row.seconds()) as f32;
                changes.extend([(row.start, Change::Cold(beyond)), (row.end, Change::Cold(-beyond))]);
            }
        }
    }
    for (start, end) in unended(recording, to) {
        changes.extend([(start, Change::Unended(1)), (end, Change::Unended(-1))]);
    }
    if slots_known {
        changes.extend(avoided(recording).into_iter().map(|(at, by)| (at, Change::Avoided(by))));
    }
    (slots, changes, slots_known)
}

/// Adds the changes of a phase.
fn of_phase(
    at: usize,
    phase: &PhaseRows,
    typical: &Typical,
    is_cold: impl Fn(usize) -> bool,
    changes: &mut Vec<(f64, Change)>,
) {
    let limit = typical.limit();
    // The first start of each task that has an attempt that did not win. The others have no other attempt.
    let mut first_start: FxHashMap<u32, f64> =
        phase.rows.iter().filter(|row| !row.wins).map(|row| (row.task, f64::INFINITY)).collect();
    let mut tasks = first_start.len() as i32;
    for row in &phase.rows {
        match first_start.get_mut(&row.task) {
            Some(start) => *start = start.min(row.start),
            None => tasks += 1,
        }
    }
    let earliest = phase.rows.iter().map(|row| row.start).min_by(f64::total_cmp);
    let number = at as u32;
    for (at, (row, is_retry)) in phase.rows.iter().zip(retries(phase)).enumerate() {
        let mut what = match () {
            () if is_retry => SlotUse::Retry,
            () if !row.wins => SlotUse::Lost,
            () if is_cold(at) => SlotUse::FirstWave,
            () => SlotUse::Work,
        };
        let waited = first_start.get_mut(&row.task).is_none_or(|start| {
            let is_first = *start >= row.start;
            // Of attempts that start together, one counts.
            *start = if is_first { f64::NEG_INFINITY } else { *start };
            is_first
        });
        changes.push((row.start, Change::Start(number, what, waited)));
        if let Some(late) = limit.map(|limit| row.start + limit).filter(|late| *late < row.end && !is_retry) {
            changes.push((late, Change::Late(what)));
            what = SlotUse::Straggler;
        }
        changes.push((row.end, Change::End(number, what)));
        if !row.wins {
            changes.extend([(row.start, Change::Lost(1)), (row.end, Change::Lost(-1))]);
        }
        if row.ended == Ended::Killed {
            changes.extend([(row.start, Change::Killed(1)), (row.end, Change::Killed(-1))]);
        }
    }
    let Some((begin, end)) = phase.span(earliest) else { return };
    changes.push((begin, Change::Phase(number, true)));
    changes.push((end, Change::Phase(number, false)));
    let due = phase.ready.iter().filter(|(_, ready)| *ready > begin);
    let later: i32 = due.clone().count() as i32;
    changes.push((begin, Change::Waiting(tasks - later)));
    if later > 0 {
        changes.push((begin, Change::Due(later)));
        changes.extend(due.flat_map(|(_, ready)| [(*ready, Change::Due(-1)), (*ready, Change::Waiting(1))]));
    }
}

/// Takes `by` away from numbers, one after the other from the largest one, of equal ones from the last.
fn lower_the_most(numbers: &mut [i64], mut by: i64) {
    while by > 0 {
        let Some(most) = numbers.iter().copied().max() else { return };
        let next = numbers.iter().copied().filter(|number| *number < most).max();
        let equal = numbers.iter().filter(|number| **number == most).count() as i64;
        // Down to the next number all of them in turn.
        let turns = (by / equal).min(next.map_or(i64::MAX, |next| most - next));
        let once_more = if turns == 0 { by } else { 0 };
        let lowered = numbers.iter_mut().rev().filter(|number| **number == most);
        for (place, number) in (0..).zip(lowered) {
            *number -= turns + i64::from(place < once_more);
        }
        by -= turns * equal + once_more;
    }
}

#[cfg(test)]
mod tests {
    use super::lower_the_most;

    #[test]
    fn the_most_are_lowered_first() {
        let one_by_one = |mut numbers: Vec<i64>, by: i64| {
            for _ in 0..by {
                *numbers.iter_mut().max().unwrap() -= 1;
            }
            numbers
        };
        for numbers in [vec![7, 7, 2, 7, 0], vec![3], vec![5, 9, 9, 4, 9, 9], vec![0, 1, 0]] {
            for by in 0..=numbers.iter().sum() {
                let mut lowered = numbers.clone();
                lower_the_most(&mut lowered, by);
                assert_eq!(lowered, one_by_one(numbers.clone(), by), "{numbers:?} by {by}");
            }
        }
    }
}
