//! What each phase shows of its attempts: their predicted rates, the durations and inputs of finished ones, and which phases may
//! have an attempt whose backup is worth its cost.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::Bound;

use hindmost_core::cluster::Cluster;
use hindmost_core::ids::{AttemptId, JobId, TaskId};
use hindmost_core::time::Time;
use rustc_hash::FxHashMap;

use super::super::progress_rates::{ProgressRates, Threshold};

pub(super) type PhaseId = (JobId, u32);

/// An attempt, by its predicted end. The latest end is first.
pub(super) type Entry = (Reverse<Time>, AttemptId);

/// An attempt is slow if it is below the mean.
const BELOW_MEAN: Threshold = Threshold::Deviations(0.0);

/// The ratios of remaining time to the duration of a backup for which phases are sorted. A round under load looks only at
/// phases that exceed the largest of them that is not above the ratio of the round.
const RATIOS: [f64; 4] = [1.0, 1.25, 1.5, 1.75];

/// Returns the phase of a task.
pub(super) fn phase_of(task: TaskId) -> PhaseId {
    (task.job, task.phase)
}

/// Returns the bytes that a task reads; 1 if they are unknown.
pub(super) fn bytes(task: TaskId, cluster: &Cluster) -> f64 {
    cluster.input_bytes(task).map_or(1.0, |bytes| bytes as f64)
}

/// The attempts of one phase.
#[derive(Default)]
struct PhaseState {
    rates: ProgressRates,
    bandwidths: ProgressRates,
    /// The number of finished tasks, their summed durations in seconds and their summed inputs in bytes.
    finished: u32,
    seconds: f64,
    bytes: f64,
    /// The attempts that were found slow.
    slow: BTreeSet<Entry>,
    /// The smallest input of an attempt that was found slow, in bytes.
    smallest: Option<f64>,
    /// For each of [`RATIOS`], the time until which it may be exceeded; zero if it can't be.
    until: [Time; RATIOS.len()],
}

impl PhaseState {
    /// Returns how long a backup of a task that reads `bytes` is expected to take, in seconds; `None` before a task of the
    /// phase has finished.
    fn backup(&self, bytes: f64) -> Option<f64> {
        let count = f64::from(self.finished);
        let factor = if self.bytes > 0.0 { bytes * count / self.bytes } else { 1.0 };
        (self.finished > 0).then(|| self.seconds / count * factor)
    }
}

/// The phases that have running attempts of known progress or finished ones.
#[derive(Default)]
pub(super) struct Phases {
    of: FxHashMap<PhaseId, PhaseState>,
    /// For each of [`RATIOS`], the phases that may exceed it until a time.
    exceeding: [BTreeSet<(Time, PhaseId)>; RATIOS.len()],
}

impl Phases {
    /// Sets the rate of an attempt that started at `since`. Returns the attempts that may have become slow.
    pub(super) fn set_rate(&mut self, id: AttemptId, since: Time, rate: f64, cluster: &Cluster) -> Vec<AttemptId> {
        let copy = (id.task.index, id.copy);
        let state = self.of.entry(phase_of(id.task)).or_default();
        let mut slow = state.rates.set(copy, since, rate, BELOW_MEAN);
        slow.extend(state.bandwidths.set(copy, since, rate * bytes(id.task, cluster), BELOW_MEAN));
        slow.push(copy);
        slow.into_iter().map(|(index, copy)| AttemptId { task: TaskId { index, ..id.task }, copy }).collect()
    }

    /// Returns true if the rate of an attempt and its bandwidth are below the means of its phase.
    pub(super) fn is_slow(&self, id: AttemptId, rate: f64, cluster: &Cluster) -> bool {
        self.of.get(&phase_of(id.task)).is_some_and(|state| {
            rate < state.rates.limit() && rate * bytes(id.task, cluster) < state.bandwidths.limit()
        })
    }

    /// Adds the duration of a finished task. Returns its bandwidth relative to the mean of its phase; `None` if no task of it
    /// has read anything.
    pub(super) fn finished(&mut self, task: TaskId, seconds: f64, cluster: &Cluster) -> Option<f64> {
        let (state, bytes) = (self.of.entry(phase_of(task)).or_default(), bytes(task, cluster));
        state.finished += 1;
        state.seconds += seconds;
        state.bytes += bytes;
        (state.bytes > 0.0).then(|| bytes / seconds * state.seconds / state.bytes)
    }

    /// Returns how long a backup of a task is expected to take, in seconds; `None` if nothing is known of its phase.
    pub(super) fn backup(&self, task: TaskId, cluster: &Cluster) -> Option<f64> {
        self.of.get(&phase_of(task))?.backup(bytes(task, cluster))
    }

    /// Adds a slow attempt.
    pub(super) fn add_slow(&mut self, (end, id): Entry, cluster: &Cluster) {
        let state = self.of.entry(phase_of(id.task)).or_default();
        state.slow.insert((end, id));
        let bytes = bytes(id.task, cluster);
        state.smallest = Some(state.smallest.map_or(bytes, |smallest| smallest.min(bytes)));
        self.refresh(id.task, cluster);
    }

    /// Removes an attempt from the slow ones.
    pub(super) fn remove_slow(&mut self, entry: Entry, cluster: &Cluster) {
        if let Some(state) = self.of.get_mut(&phase_of(entry.1.task)) {
            state.slow.remove(&entry);
            self.refresh(entry.1.task, cluster);
        }
    }

    /// Updates until when a backup in the phase of a task may be worth its cost: never while a task of it is pending.
    pub(super) fn refresh(&mut self, task: TaskId, cluster: &Cluster) {
        let Some(state) = self.of.get_mut(&phase_of(task)) else { return };
        let is_started = cluster.phase(task).is_some_and(|phase| phase.pending() == 0);
        let least = state.smallest.and_then(|smallest| state.backup(smallest)).filter(|_| is_started);
        let latest = state.slow.first().map(|(Reverse(end), _)| *end).zip(least);
        for ((ratio, phases), until) in RATIOS.iter().zip(&mut self.exceeding).zip(&mut state.until) {
            let now = latest.map_or(Time::ZERO, |(end, least)| end - Time::from_seconds(ratio * least));
            let before = std::mem::replace(until, now);
            if before != now {
                phases.remove(&(before, phase_of(task)));
                phases.extend((now > Time::ZERO).then_some((now, phase_of(task))));
            }
        }
    }

    /// Removes the phases for which `is_over` is true.
    pub(super) fn forget(&mut self, is_over: impl Fn(PhaseId) -> bool) {
        let over: Vec<PhaseId> = self.of.keys().copied().filter(|id| is_over(*id)).collect();
        for id in over {
            self.remove(id);
        }
    }

    /// Removes a phase.
    pub(super) fn remove(&mut self, id: PhaseId) {
        let Some(state) = self.of.remove(&id) else { return };
        for (phases, until) in self.exceeding.iter_mut().zip(state.until) {
            phases.remove(&(until, id));
        }
    }

    /// Returns the slow attempt with the latest end of each phase that may have a remaining time of more than `ratio` times the
    /// duration of a backup.
    pub(super) fn exceeding(&self, ratio: f64, now: Time) -> impl Iterator<Item = Entry> {
        let at = RATIOS.iter().rposition(|known| *known <= ratio).unwrap_or(0);
        let first = (Time(now.0 + 1), (JobId(0), 0));
        self.exceeding[at].range(first..).filter_map(|(_, id)| self.of.get(id)?.slow.first().copied())
    }

    /// Returns the slow attempt of the same phase that ends next before `entry`, if it may have a remaining time of more than
    /// the duration of a backup.
    pub(super) fn after(&self, entry: Entry, now: Time) -> Option<Entry> {
        let state = self.of.get(&phase_of(entry.1.task))?;
        let next = state.slow.range((Bound::Excluded(entry), Bound::Unbounded)).next();
        let least = state.smallest.and_then(|smallest| state.backup(smallest))?;
        next.copied().filter(|(Reverse(end), _)| (*end - now).seconds() > least)
    }
}
