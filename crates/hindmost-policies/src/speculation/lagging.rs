//! An index of the lagging attempts of `pace`. It lets a round check only those attempts for which the decision may have
//! changed since the last check.
//!
//! A backup pays if the remaining time, in medians of the phase, is above a bound:
//! - If the end is known, the remaining time only gets shorter. Once an attempt was below the bound, rounds skip it until
//!   the bound falls below the remaining time that the attempt had at that check.
//! - If only the age is known, a backup pays for the oldest attempt first.
//! - If a demand fits on no node, a round checks only those attempts with this demand that may be relaunched on another
//!   node.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use hindmost_core::cluster::{Attempt, AttemptState, Cluster};
use hindmost_core::ids::{AttemptId, JobId, TaskId};
use hindmost_core::resources::Resources;
use hindmost_core::time::Time;
use rustc_hash::FxHashMap;

use super::is_only_copy;

/// Remaining time in medians, as the bits of a float. Floats that are not negative sort as their bits do.
type Bits = u64;

/// The remaining time of an attempt that no round has checked yet. It sorts above all numbers of medians.
const UNKNOWN: Bits = u64::MAX;

/// For each demand, a round checks the oldest of the attempts whose age alone is known: as many as there are open nodes,
/// and this many more.
const CHECKED_BY_AGE: usize = 64;

/// The time at which a lagging attempt is expected to end, as far as it is known.
#[derive(Clone, Copy, Debug)]
enum End {
    /// The expected end, and the remaining time in medians when a round last checked the attempt.
    At(Time, Bits),
    /// The end is unknown; the time is the attempt's start.
    Unknown(Time),
}

/// The lagging attempts with one demand.
#[derive(Debug)]
struct SameDemand {
    demand: Resources,
    /// Attempts whose end is known, the longest remaining time first.
    by_left: BTreeSet<(Reverse<Bits>, AttemptId)>,
    /// Attempts whose age alone is known, the oldest first.
    by_age: BTreeSet<(Time, AttemptId)>,
}

/// The lagging attempts, by demand and remaining time.
#[derive(Debug, Default)]
pub(super) struct Lagging {
    /// Every lagging attempt, with the index of its demand in `of_demand`.
    all: FxHashMap<AttemptId, (u32, End)>,
    of_demand: Vec<SameDemand>,
    /// The attempts whose end is known, by expected end.
    by_finish: BTreeSet<(Time, AttemptId)>,
    /// Attempts on slow nodes that may be relaunched on another node, now or later.
    relaunchable: BTreeSet<AttemptId>,
    /// The relaunchable attempts whose age alone is known.
    relaunchable_by_age: BTreeSet<AttemptId>,
    /// The relaunchable attempts for which the next round must check whether a relaunch pays.
    unsettled: BTreeSet<AttemptId>,
    /// Attempts that have got a sibling copy since the last round.
    copied: Vec<AttemptId>,
}

impl Lagging {
    /// Returns true if no attempt lags.
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns the lagging attempts of a phase, in order of their ids.
    pub(super) fn of_phase(&self, job: JobId, phase: u32) -> Vec<AttemptId> {
        let of_phase = self.all.keys().copied().filter(|id| (id.task.job, id.task.phase) == (job, phase));
        let mut of_phase: Vec<AttemptId> = of_phase.collect();
        of_phase.sort_unstable();
        of_phase
    }

    /// Adds a lagging attempt with this demand, or updates its expected end. `relaunchable` is true if the attempt
    /// may be relaunched on another node.
    pub(super) fn add(&mut self, attempt: &Attempt, demand: &Resources, relaunchable: bool) {
        let id = attempt.id();
        self.remove(id);
        let place = self.place_of(demand);
        if relaunchable {
            self.relaunchable.insert(id);
            self.unsettled.insert(id);
        }
        if let Some(finish) = attempt.expected_finish() {
            self.all.insert(id, (place, End::At(finish, UNKNOWN)));
            self.of_demand[place as usize].by_left.insert((Reverse(UNKNOWN), id));
            self.by_finish.insert((finish, id));
        } else {
            self.add_by_age(id, place, attempt.since());
        }
    }

    /// Returns the index of a demand in `of_demand`. Adds an empty entry for a new demand.
    fn place_of(&mut self, demand: &Resources) -> u32 {
        let known = self.of_demand.iter().position(|same| same.demand == *demand);
        let place = known.unwrap_or_else(|| {
            self.of_demand.push(SameDemand { demand: *demand, by_left: BTreeSet::new(), by_age: BTreeSet::new() });
            self.of_demand.len() - 1
        });
        place as u32
    }

    fn add_by_age(&mut self, id: AttemptId, place: u32, since: Time) {
        self.all.insert(id, (place, End::Unknown(since)));
        self.of_demand[place as usize].by_age.insert((since, id));
        if self.relaunchable.contains(&id) {
            self.relaunchable_by_age.insert(id);
        }
    }

    /// Removes an attempt that has ended, has got a backup, or may not get one now.
    pub(super) fn remove(&mut self, id: AttemptId) {
        let Some((place, end)) = self.all.remove(&id) else { return };
        let same = &mut self.of_demand[place as usize];
        match end {
            End::At(finish, left) => {
                same.by_left.remove(&(Reverse(left), id));
                self.by_finish.remove(&(finish, id));
            }
            End::Unknown(since) => _ = same.by_age.remove(&(since, id)),
        }
        if self.relaunchable.remove(&id) {
            self.relaunchable_by_age.remove(&id);
            self.unsettled.remove(&id);
        }
    }

    /// Removes the attempts of a job that was abandoned.
    pub(super) fn forget_job(&mut self, job: JobId) {
        let of_job = self.all.keys().copied().filter(|id| id.task.job == job);
        for id in of_job.collect::<Vec<AttemptId>>() {
            self.remove(id);
        }
    }

    /// Records that an attempt has got a sibling copy.
    pub(super) fn copied(&mut self, attempt: AttemptId) {
        if self.all.contains_key(&attempt) {
            self.copied.push(attempt);
        }
    }

    /// Removes the attempts that have got a sibling copy since the last round, unless the sibling has ended already.
    pub(super) fn forget_copied(&mut self, cluster: &Cluster) {
        for id in std::mem::take(&mut self.copied) {
            if !is_only_copy(id, cluster) {
                self.remove(id);
            }
        }
    }

    /// Removes all attempts that are no longer their task's only copy.
    pub(super) fn forget_gone(&mut self, cluster: &Cluster) {
        let gone: Vec<AttemptId> = self.all.keys().copied().filter(|id| !is_only_copy(*id, cluster)).collect();
        for id in gone {
            self.remove(id);
        }
    }

    /// Makes the next round check the attempts of tasks for which `concerns` is true, because the bound on their
    /// remaining time has changed.
    pub(super) fn check_again(&mut self, concerns: impl Fn(TaskId) -> bool) {
        for (id, (place, end)) in self.all.iter_mut().filter(|(id, _)| concerns(id.task)) {
            if let End::At(_, left) = end {
                set_left(&mut self.of_demand[*place as usize], *id, left, UNKNOWN);
            }
        }
        self.unsettled.extend(self.relaunchable.iter().filter(|id| concerns(id.task)));
    }

    /// Makes the next round check a job's relaunchable attempts. Called when a task of the job was started, because a
    /// relaunch may pay when fewer tasks are pending.
    pub(super) fn unsettle(&mut self, job: JobId) {
        let first = |job| AttemptId { task: TaskId { job, phase: 0, index: 0 }, copy: 0 };
        let of_job = self.relaunchable.range(first(job)..first(JobId(job.0.saturating_add(1))));
        self.unsettled.extend(of_job);
    }

    /// Records that a round has checked an attempt whose remaining time is this many medians, and has started no copy.
    pub(super) fn checked(&mut self, id: AttemptId, medians_left: f64) {
        if let Some((place, End::At(_, left))) = self.all.get_mut(&id) {
            set_left(&mut self.of_demand[*place as usize], id, left, medians_left.max(0.0).to_bits());
        }
    }

    /// Treats each attempt whose expected end is past as an attempt whose age alone is known.
    pub(super) fn move_overdue(&mut self, cluster: &Cluster) {
        while let Some((finish, id)) = self.by_finish.first().copied().filter(|(finish, _)| *finish <= cluster.now()) {
            self.by_finish.remove(&(finish, id));
            let Some((place, End::At(_, left))) = self.all.get(&id).copied() else { continue };
            self.of_demand[place as usize].by_left.remove(&(Reverse(left), id));
            match cluster.attempt(id) {
                Some(attempt) => self.add_by_age(id, place, attempt.since()),
                None => self.remove(id),
            }
        }
    }

    /// Returns the attempts for which a backup or a relaunch may pay now, unsorted and possibly twice. `medians` is the
    /// bound above which a remaining time pays; `None` if no node is open.
    ///
    /// - It returns the unsettled attempts and marks them as settled.
    /// - If a node is open, it also returns the relaunchable attempts whose age alone is known.
    /// - For each demand that fits on a node, it also returns the attempts whose remaining time may be above the bound,
    ///   and the oldest attempts whose age alone is known.
    pub(super) fn take_concerned(&mut self, medians: Option<f64>, cluster: &Cluster) -> Vec<AttemptId> {
        let mut concerned: Vec<AttemptId> = std::mem::take(&mut self.unsettled).into_iter().collect();
        let Some(bound) = medians.map(f64::to_bits) else { return concerned };
        concerned.extend(&self.relaunchable_by_age);
        for SameDemand { demand, by_left, by_age } in &self.of_demand {
            let is_empty = by_age.is_empty() && by_left.first().is_none_or(|(Reverse(left), _)| *left <= bound);
            if !is_empty && cluster.fits_somewhere(demand) {
                let known = by_left.iter().take_while(|(Reverse(left), _)| *left > bound).map(|(_, id)| *id);
                concerned.extend(known);
                concerned.extend(by_age.iter().take(cluster.open_nodes() + CHECKED_BY_AGE).map(|(_, id)| *id));
            }
        }
        concerned
    }

    /// Makes the next round check again whether a relaunch of this attempt pays.
    pub(super) fn leave_unsettled(&mut self, id: AttemptId) {
        if self.relaunchable.contains(&id) {
            self.unsettled.insert(id);
        }
    }
}

fn set_left(same: &mut SameDemand, id: AttemptId, left: &mut Bits, now: Bits) {
    same.by_left.remove(&(Reverse(*left), id));
    *left = now;
    same.by_left.insert((Reverse(now), id));
}

/// Returns true if an attempt is its task's only copy and is not being stopped.
pub(super) fn is_single(attempt: &Attempt, cluster: &Cluster) -> bool {
    cluster.is_only_copy(attempt) && attempt.state() != AttemptState::Stopping
}
