//! The search of section 5: the number of decisions, what Algorithm 1 evaluates and finds, the scores of rescheduling,
//! and the three cases of locality, tested on random instances with the code of the policy.

use hindmost_claims::{Cell, DataTable, Measured};
use hindmost_math::random::{hash, unit};
use hindmost_policies::theory::skyline::{
    Closeness, Gain, LastTask, Slots, allocate, best_slot, copy_duration, energy_saved, exchange_score, time_saved,
};

use super::one;

/// The stream of random numbers of instances; any number that nothing else uses.
const STREAM: u64 = 0x7a68_6f75;
/// Number of random instances.
const INSTANCES: u64 = 500;
/// Number of stragglers that may have to leave their slot: k in the paper.
const EXCHANGES: usize = 3;

/// Returns a random number from 0 to below 1.
fn random(instance: u64, item: usize, what: u64) -> f64 {
    unit(hash(instance, STREAM, item as u64, what))
}

/// Stragglers, the most critical first, and slots in the order in which they come free.
struct Instance {
    /// Remaining times.
    criticalness: Vec<f64>,
    /// Gain of each straggler's copy on each slot.
    gains: Vec<Vec<Gain>>,
    taken: Vec<bool>,
    /// Number of gains that were evaluated.
    evaluated: u64,
}

/// What differs between the slots of an instance.
#[derive(Clone, Copy, PartialEq)]
enum Differ {
    /// The duration of a copy and the wait.
    Times,
    /// The powers, too.
    Powers,
    /// The duration of a copy, the wait, and for each straggler whether its input must be read from another node.
    Reading,
}

impl Instance {
    fn new(number: u64, stragglers: usize, slots: usize, differ: Differ) -> Instance {
        let mut criticalness: Vec<f64> = (0..stragglers).map(|at| 20.0 + 80.0 * random(number, at, 0)).collect();
        criticalness.sort_by(|one, other| other.total_cmp(one));
        let mut waits: Vec<f64> = (0..slots).map(|at| 5.0 * random(number, at, 1)).collect();
        waits.sort_by(f64::total_cmp);
        let gain = |straggler: usize, slot: usize| {
            let watts = |which: u64, at: usize| {
                if differ == Differ::Powers { 5.0 + 20.0 * random(number, at, which) } else { 10.0 }
            };
            let reads = differ == Differ::Reading && random(number, straggler * slots + slot, 4) < 0.5;
            let copy = 8.0 + 30.0 * random(number, slot, 2) + if reads { 12.0 } else { 0.0 };
            let time = time_saved(criticalness[straggler], 0.0, copy, waits[slot]);
            Gain { time, energy: energy_saved(watts(5, straggler), time, watts(6, slot), copy) }
        };
        let gains = (0..stragglers).map(|one| (0..slots).map(|slot| gain(one, slot)).collect()).collect();
        Instance { gains, taken: vec![false; slots], evaluated: 0, criticalness }
    }

    /// Returns the gains of Algorithm 1.
    fn allocate(&mut self, exchanges: usize) -> Vec<Option<Gain>> {
        let criticalness = self.criticalness.clone();
        let placed = allocate(&criticalness, exchanges, Closeness::Printed, self);
        placed.into_iter().map(|found| found.map(|(_, gain)| gain)).collect()
    }
}

impl Slots for Instance {
    type Slot = usize;

    fn best(&mut self, straggler: usize) -> Option<(usize, Gain)> {
        let free: Vec<usize> = (0..self.taken.len()).filter(|slot| !self.taken[*slot]).collect();
        self.evaluated += free.len() as u64;
        best_slot(free.into_iter().map(|slot| (slot, self.gains[straggler][slot])))
    }

    fn gain(&mut self, straggler: usize, slot: usize) -> Option<Gain> {
        self.evaluated += 1;
        Some(self.gains[straggler][slot])
    }

    fn take(&mut self, slot: usize) {
        self.taken[slot] = true;
    }
}

/// Returns the number of ordered choices of `chosen` of `of` things.
fn permutations(of: u64, chosen: u64) -> u64 {
    (0..chosen).map(|at| of - at).product()
}

fn combinations(of: u64, chosen: u64) -> u64 {
    permutations(of, chosen) / permutations(chosen, chosen)
}

pub(super) fn solutions() -> Result<Vec<Measured>, String> {
    let difference = |stragglers: u64, slots: u64| {
        let possible = |copies: u64| combinations(stragglers, copies) * permutations(slots, copies);
        let printed = |copies: u64| permutations(slots, copies);
        let sum = |count: &dyn Fn(u64) -> u64| (0..=stragglers.min(slots)).map(count).sum::<u64>();
        sum(&possible) as f64 - sum(&printed) as f64
    };
    let largest = (1..=5).flat_map(|stragglers| (1..=5).map(move |slots| difference(stragglers, slots)));
    one(
        "possible decisions minus Σ P(|V|, n), at most, up to 5 stragglers and 5 slots",
        largest.fold(0.0, f64::max),
        "",
    )
}

pub(super) fn evaluations() -> Result<Vec<Measured>, String> {
    let share = |number: u64| {
        let size = |what| 1 + (20.0 * random(number, 0, what)) as usize;
        let (stragglers, slots) = (size(7), size(8));
        let mut instance = Instance::new(number, stragglers, slots, Differ::Powers);
        instance.allocate(EXCHANGES);
        instance.evaluated as f64 / (slots * stragglers.min(slots)) as f64
    };
    let largest = (0..INSTANCES).map(share).fold(0.0, f64::max);
    one("evaluated pairs divided by |V|·min(|S|, |V|), at most", largest, "")
}

pub(super) fn residual() -> Result<Vec<Measured>, String> {
    let spare = |number: u64| {
        let [residual, copy, wait] = [7, 8, 9].map(|what| 60.0 * random(number, 0, what));
        let time = time_saved(residual, 0.0, copy, wait);
        let gains = energy_saved(10.0, time, 10.0, copy) > 0.0;
        gains.then_some(residual - 2.0 * copy - wait)
    };
    let smallest = (0..INSTANCES).filter_map(spare).fold(f64::INFINITY, f64::min);
    one("residual time minus twice the copy's duration minus the wait, at least, where energy is saved", smallest, "s")
}

pub(super) fn scan_order() -> Result<Vec<Measured>, String> {
    let is_beaten = |number: u64| {
        let mut instance = Instance::new(number, 1, 8, Differ::Powers);
        let found = instance.allocate(0)[0]?;
        let saves = |gain: &&Gain| gain.beats(Gain::NONE);
        let is_better = |gain: &Gain| gain.time > found.time || gain.energy > found.energy;
        Some(instance.gains[0].iter().filter(saves).any(is_better))
    };
    let found: Vec<bool> = (0..INSTANCES).filter_map(is_beaten).collect();
    let share = found.iter().filter(|beaten| **beaten).count() as f64 / found.len() as f64;
    one("share of instances in which another slot saves more time or more energy", share, "")
}

/// Returns score¹ of a placed straggler that has this multiple of the other's remaining time left.
fn closeness_score(multiple: f64) -> Result<f64, String> {
    // With gains of 1 and 2, score² and score³ are 1 each.
    let gain = |value| Gain { time: value, energy: value };
    let score = exchange_score(Closeness::Printed, (1.0, multiple), (gain(2.0), gain(1.0)));
    score.map(|score| score - 2.0).ok_or_else(|| "a straggler that gains more must have a score".to_owned())
}

pub(super) fn closeness() -> Result<Vec<Measured>, String> {
    let difference = closeness_score(1.1)? - closeness_score(2.0)?;
    one("score¹ of a straggler with 1.1 times the remaining time minus that of one with 2 times", difference, "")
}

pub(super) fn second_score() -> Result<Vec<Measured>, String> {
    // Score² of a placed straggler: how much more time the one without a slot saves on its slot.
    let largest_of = |number: u64| {
        let instance = Instance::new(number, 2, 6, Differ::Times);
        let [placed, waiting] = [0, 1].map(|straggler: usize| &instance.gains[straggler]);
        let scores = placed.iter().zip(waiting).filter(|(old, _)| old.time > 0.0);
        scores.map(|(old, new)| (new.time - old.time) / old.time).fold(f64::NEG_INFINITY, f64::max)
    };
    let largest = (0..INSTANCES).map(largest_of).fold(f64::NEG_INFINITY, f64::max);
    one("largest score² within a job, without reading times", largest, "")
}

pub(super) fn rescheduling() -> Result<Vec<Measured>, String> {
    let gain = |number: u64| {
        let total = |exchanges| {
            let gains = Instance::new(number, 2, 2, Differ::Reading).allocate(exchanges);
            let sum = |of: fn(&Gain) -> f64| gains.iter().flatten().map(of).sum::<f64>();
            (sum(|gain| gain.time), sum(|gain| gain.energy))
        };
        let (with, without) = (total(EXCHANGES), total(0));
        (with.0 - without.0).min(with.1 - without.1)
    };
    let largest = (0..INSTANCES).map(gain).fold(f64::NEG_INFINITY, f64::max);
    one(
        "what rescheduling saves more than the single copy, in time (s) or energy (10 J), whichever is less",
        largest,
        "",
    )
}

pub(super) fn locality_cases() -> Result<Vec<Measured>, String> {
    let difference = |number: u64| {
        let [work, reading] = [7, 8].map(|what| 60.0 * random(number, 0, what));
        let seconds = |is_local: bool| work + if is_local { 0.0 } else { reading };
        let cases = [(true, true), (true, false), (false, true), (false, false)];
        let error = |(copy, last): (bool, bool)| {
            let last = LastTask { seconds: seconds(last), is_local: last, data_seconds: reading };
            (copy_duration(&last, copy, reading) - seconds(copy)).abs()
        };
        cases.into_iter().map(error).fold(0.0, f64::max)
    };
    one("largest error of the predicted duration", (0..INSTANCES).map(difference).fold(0.0, f64::max), "s")
}

pub(super) fn scores_table() -> Result<DataTable, String> {
    let mut rows = Vec::new();
    for multiple in [1.0, 1.1, 1.5, 2.0, 4.0] {
        rows.push(vec![Cell::from(multiple), Cell::from(closeness_score(multiple)?), Cell::from(1.0 / multiple)]);
    }
    Ok(DataTable::new(
        "Score¹ of a placed straggler j, by its remaining time ct_j in multiples of ct_i: as printed, (ct_j − ct_i)/ct_j, \
         and a closeness, ct_i/ct_j",
        ["ct_j/ct_i", "printed", "closeness"].map(str::to_owned).to_vec(),
        rows,
    ))
}
