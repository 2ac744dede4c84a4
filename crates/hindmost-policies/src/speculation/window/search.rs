//! The slots of a window: what a straggler's copy would gain on each of them, and the search of Algorithm 1 over them.
//!
//! A search visits slots in the order in which they come free and stops once no later slot can be better. So its cost
//! depends on how many slots can improve what was found, not on how many attempts run.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hindmost_core::cluster::Cluster;
use hindmost_core::ids::{AttemptId, NodeId, TaskId};
use hindmost_core::power::busy_cores;
use hindmost_core::resources::Resources;
use hindmost_core::time::Time;
use rustc_hash::FxHashMap;

use super::free_times::{FreeTimes, fits_after};
use super::history::History;
use super::{Choice, Saves, Settings};
use crate::theory::skyline::{Gain, Slots, energy_saved, time_saved};

/// A search visits at most this many slots that come free in the window.
const MOST_VISITED: usize = 64;

/// A node without limits on any resource that a copy demands offers this many slots.
const MOST_SPACE: u64 = 64;

/// A straggler that may get a copy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Straggler {
    pub(super) attempt: AttemptId,
    /// Time for which it has run, seconds.
    pub(super) elapsed: f64,
    /// Its remaining time, which is its criticalness, seconds.
    pub(super) remaining: f64,
    /// The power of its slot.
    pub(super) watts: f64,
    /// Its progress rate relative to the mean of its phase, if that is known.
    pub(super) rate: Option<f64>,
}

/// Space for a copy on a node from a time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) at: Time,
    pub(super) node: NodeId,
    /// The attempt with whose end the slot comes free; `None` if it is free now.
    pub(super) after: Option<AttemptId>,
}

/// What is known when copies are assessed.
#[derive(Clone, Copy)]
pub(super) struct Known<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) history: &'a History,
    pub(super) settings: &'a Settings,
    /// True if all nodes have a power model.
    pub(super) has_power: bool,
}

impl Known<'_> {
    /// Returns the power of an attempt's slot, watts, or its busy cores if nodes have no power model. `duration` is the
    /// attempt's whole duration, seconds.
    pub(super) fn watts_of_straggler(&self, attempt: AttemptId, node: NodeId, duration: f64) -> f64 {
        let cores = || self.cores(attempt.task);
        if !self.has_power {
            return cores();
        }
        let rate = self.cluster.transferred_bytes(attempt.task, node) as f64 / duration;
        self.cluster.watts_of_attempt(attempt, if rate.is_finite() { rate } else { 0.0 }).unwrap_or_else(cores)
    }

    /// Returns the unit of saved energies; `None` if copies need not save energy.
    pub(super) fn unit(&self) -> Option<&'static str> {
        let unit = if self.has_power { "J" } else { "core-seconds" };
        (self.settings.saves == Saves::Both).then_some(unit)
    }

    fn cores(&self, task: TaskId) -> f64 {
        let demand = self.cluster.phase(task).map(|phase| busy_cores(self.cluster.dimensions(), phase.demand()));
        demand.filter(|cores| *cores > 0.0).unwrap_or(1.0)
    }

    /// Returns the expected duration of a copy on a node, seconds.
    pub(super) fn copy_seconds(&self, task: TaskId, node: NodeId, mean: f64) -> f64 {
        self.history.copy_seconds(task, node, mean, self.settings.bandwidth, self.cluster)
    }

    /// Returns true if a copy of a task may run on a node.
    fn may_run_on(&self, task: TaskId, node: NodeId) -> bool {
        self.cluster.may_copy_on(task, node) && !self.cluster.avoids(task, node)
    }

    /// Returns the gain of a straggler's copy on a slot; `None` if it may not run on the slot's node.
    pub(super) fn gain(&self, straggler: &Straggler, slot: &Slot, mean: f64) -> Option<Gain> {
        self.gain_above(straggler, slot, mean, None)
    }

    /// Returns the gain of a straggler's copy on a slot; `None` if it may not run on the slot's node, or if the gain does
    /// not beat `bar`.
    fn gain_above(&self, straggler: &Straggler, slot: &Slot, mean: f64, bar: Option<Gain>) -> Option<Gain> {
        let task = straggler.attempt.task;
        let copy = self.copy_seconds(task, slot.node, mean);
        let wait = (slot.at - self.cluster.now()).seconds();
        let time = time_saved(straggler.remaining, 0.0, copy, wait);
        // Most slots that a search visits save too little time, which is known before anything else.
        if bar.is_some_and(|bar| time <= bar.time) {
            return None;
        }
        let energy = match (self.settings.saves, self.has_power) {
            (Saves::Time, _) => time,
            // Without power models, all slots have the power of the straggler's.
            (Saves::Both, false) => energy_saved(straggler.watts, time, straggler.watts, copy),
            (Saves::Both, true) => {
                let rate = self.cluster.transferred_bytes(task, slot.node) as f64 / copy;
                let rate = if rate.is_finite() { rate } else { 0.0 };
                let watts = self.cluster.watts_of_copy(task, slot.node, slot.after, rate);
                energy_saved(straggler.watts, time, watts.unwrap_or_else(|| self.cores(task)), copy)
            }
        };
        let gain = Gain { time, energy };
        let beats = bar.is_none_or(|bar| gain.beats(bar));
        (beats && self.may_run_on(task, slot.node)).then_some(gain)
    }

    /// Returns the largest gain that a straggler's copy can have anywhere if it takes at least `least` seconds and starts
    /// after `wait` seconds or later.
    pub(super) fn bound(&self, straggler: &Straggler, least: f64, wait: f64) -> Gain {
        let time = straggler.remaining - wait - least;
        if self.settings.saves == Saves::Time {
            return Gain { time, energy: time };
        }
        // Without power models, all slots have the power of the straggler's.
        let copy = if self.has_power { 0.0 } else { straggler.watts * least };
        Gain { time, energy: straggler.watts * time - copy }
    }
}

/// The slots of one window of a phase, and its stragglers.
pub(super) struct Search<'a> {
    pub(super) known: Known<'a>,
    pub(super) free: &'a FreeTimes,
    pub(super) stragglers: &'a [Straggler],
    /// Demand of a copy.
    pub(super) demand: Resources,
    /// Mean duration of the phase, seconds.
    pub(super) mean: f64,
    /// A duration that no copy is expected to undercut, seconds.
    pub(super) least: f64,
    /// Slots that come free before this time count; none if it is not after now.
    pub(super) until: Time,
    /// Nodes on which a copy fits now.
    pub(super) now: Vec<NodeId>,
    /// The nodes in `now` by the expected duration of a copy, then by id, as far as they are sorted. Empty if slots differ
    /// in power, if transfers count, or if the first slot is taken.
    pub(super) by_speed: Vec<NodeId>,
    /// The other nodes in `now`, with the bits of the expected durations. Durations are not negative, so they sort as
    /// their bits do.
    pub(super) slower: BinaryHeap<Reverse<(u64, NodeId)>>,
    /// What the window has given away on nodes.
    pub(super) claimed: FxHashMap<NodeId, Resources>,
}

impl Search<'_> {
    fn claimed(&self, node: NodeId) -> Resources {
        self.claimed.get(&node).copied().unwrap_or(Resources::NONE)
    }

    fn fits_now(&self, id: NodeId) -> bool {
        let node = self.known.cluster.node(id).filter(|node| node.is_up());
        node.is_some_and(|node| self.demand.fits(&node.free().minus(&self.claimed(id))))
    }

    /// Sorts the nodes that have free resources now, if copies on them differ in nothing but their durations. Of slots that are free
    /// at the same time, the scan then keeps the one with the shortest copy.
    pub(super) fn sort_by_speed(&mut self, task: TaskId) {
        let Settings { choice, bandwidth, .. } = self.known.settings;
        if self.known.has_power || bandwidth.is_some() || *choice == Choice::First {
            return;
        }
        let seconds = |node: NodeId| self.known.copy_seconds(task, node, self.mean).max(0.0);
        let nodes: Vec<_> = self.now.iter().map(|node| Reverse((seconds(*node).to_bits(), *node))).collect();
        self.slower = BinaryHeap::from(nodes);
        self.sort_one_more();
    }

    /// Sorts the next node by speed. Usually the first ones are all that a search needs.
    fn sort_one_more(&mut self) -> Option<NodeId> {
        let Reverse((_, node)) = self.slower.pop()?;
        self.by_speed.push(node);
        Some(node)
    }

    /// Returns the fastest node that is free now and on which a straggler's copy may run, with the gain there.
    fn fastest_now(&mut self, straggler: &Straggler) -> Option<(Slot, Gain)> {
        let mut visited = 0;
        loop {
            let node = self.by_speed.get(visited).copied().or_else(|| self.sort_one_more())?;
            visited += 1;
            let slot = Slot { at: self.known.cluster.now(), node, after: None };
            if self.fits_now(node)
                && let Some(gain) = self.known.gain(straggler, &slot, self.mean)
            {
                return Some((slot, gain));
            }
        }
    }

    /// Returns the nodes that hold a straggler's input and on which a copy fits now, besides those in `now`.
    fn local_now(&self, task: TaskId) -> Vec<NodeId> {
        if self.known.settings.bandwidth.is_none() {
            return Vec::new();
        }
        let local = self.known.cluster.replicas(task).iter().copied();
        local.filter(|node| self.now.binary_search(node).is_err() && self.fits_now(*node)).collect()
    }
}

impl Search<'_> {
    /// Returns the number of slots that are free now and that a copy can choose from before the window has given any away.
    pub(super) fn offered_now(&self) -> u64 {
        let space = |node: &NodeId| {
            self.known.cluster.node(*node).map_or(0, |node| node.free().times(&self.demand).min(MOST_SPACE))
        };
        self.now.iter().map(space).sum()
    }
}

impl Slots for Search<'_> {
    type Slot = Slot;

    fn best(&mut self, straggler: usize) -> Option<(Slot, Gain)> {
        let (found, now) = (self.stragglers[straggler], self.known.cluster.now());
        let takes_first = self.known.settings.choice == Choice::First;
        let mut best: Option<(Slot, Gain)> = None;
        let fastest = if self.by_speed.is_empty() { None } else { self.fastest_now(&found) };
        let consider = |slot: Slot, best: &mut Option<(Slot, Gain)>| {
            let bar = best.map_or(Gain::NONE, |(_, gain)| gain);
            if let Some(gain) = self.known.gain_above(&found, &slot, self.mean, Some(bar)) {
                let fits = slot.after.is_none_or(|attempt| {
                    let end = (slot.at, slot.node, attempt);
                    fits_after(&self.demand, end, &self.claimed(slot.node), self.known.cluster)
                });
                if fits {
                    *best = Some((slot, gain));
                }
            }
            takes_first && best.is_some()
        };
        let slot_now = |node: NodeId| Slot { at: now, node, after: None };
        if self.by_speed.is_empty() {
            let mut free: Vec<NodeId> = self.local_now(found.attempt.task);
            free.extend(self.now.iter().filter(|node| self.fits_now(**node)));
            free.sort_unstable();
            for node in free {
                if consider(slot_now(node), &mut best) {
                    return best;
                }
            }
        } else {
            best = fastest.filter(|(_, gain)| gain.beats(Gain::NONE));
        }
        for end in self.free.between(now, self.until).take(MOST_VISITED) {
            let (at, node, attempt) = *end;
            let bar = best.map_or(Gain::NONE, |(_, gain)| gain);
            if !self.known.bound(&found, self.least, (at - now).seconds()).beats(bar) {
                break;
            }
            if consider(Slot { at, node, after: Some(attempt) }, &mut best) {
                return best;
            }
        }
        best
    }

    fn gain(&mut self, straggler: usize, slot: Slot) -> Option<Gain> {
        self.known.gain(&self.stragglers[straggler], &slot, self.mean)
    }

    fn take(&mut self, slot: Slot) {
        let claimed = self.claimed.entry(slot.node).or_insert(Resources::NONE);
        *claimed = claimed.plus(&self.demand);
    }
}
