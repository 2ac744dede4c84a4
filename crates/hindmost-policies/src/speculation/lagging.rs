//! The attempts that lag (`pace`), so that a round looks at those alone for which something may have changed.
//!
//! A backup pays if the remaining time, in medians of the phase, is above some bound. Where the end is known, the remaining
//! time only gets shorter: an attempt that failed a bound is not looked at again until the bound is lower than what it had
//! left then. Where only the age is known, the oldest is the first that a backup may pay for. And where a demand fits on no
//! node, a round need look only at those attempts with this demand that may be relaunched elsewhere.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use hindmost_core::cluster::{Attempt, AttemptState, Cluster};
use hindmost_core::ids::{AttemptId, JobId, TaskId};
use hindmost_core::resources::Resources;
use hindmost_core::time::Time;
use rustc_hash::FxHashMap;

/// Remaining medians as bits: numbers that are not negative sort as their bits do.
type Bits = u64;

/// More medians than any number of them.
const UNKNOWN: Bits = u64::MAX;

/// Of attempts with one demand of which only the age is known, so many more than there are open nodes are looked at in a
/// round.
const LOOKED_AT_BY_AGE: usize = 64;

/// What is known of when a lagging attempt ends.
#[derive(Clone, Copy, Debug)]
enum End {
    /// That, and the medians that it had left when a round last looked at it.
    At(Time, Bits),
    /// Only when it began.
    Unknown(Time),
}

/// The lagging attempts with one demand.
#[derive(Debug)]
struct SameDemand {
    demand: Resources,
    /// Those whose end is known.
    by_left: BTreeSet<(Reverse<Bits>, AttemptId)>,
    /// Those of which only the age is known, the oldest first.
    by_age: BTreeSet<(Time, AttemptId)>,
}

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct Lagging {
    /// Each with the place of its demand in `of_demand`.
    all: FxHashMap<AttemptId, (u32, End)>,
    of_demand: Vec<SameDemand>,
    by_finish: BTreeSet<(Time, AttemptId)>,
    /// Attempts that a relaunch elsewhere may pay for some day, those of them of which only the age is known, and those for
    /// which it may have begun to.
    movable: BTreeSet<AttemptId>,
    movable_by_age: BTreeSet<AttemptId>,
    unsettled: BTreeSet<AttemptId>,
    /// Attempts that have got another copy beside them since a round last looked.
    copied: Vec<AttemptId>,
}

impl Lagging {
    /// True if nothing lags.
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// An attempt lags that has such a demand, or more has become known of one that does. `movable` if a relaunch elsewhere
    /// may pay for it.
    pub(super) fn add(&mut self, attempt: &Attempt, demand: &Resources, movable: bool) {
        let id = attempt.id();
        self.remove(id);
        let place = self.place_of(demand);
        if movable {
            self.movable.insert(id);
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
        if self.movable.contains(&id) {
            self.movable_by_age.insert(id);
        }
    }

    /// An attempt has ended or has a backup.
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
        if self.movable.remove(&id) {
            self.movable_by_age.remove(&id);
            self.unsettled.remove(&id);
        }
    }

    /// A copy was started beside an attempt.
    pub(super) fn copied(&mut self, attempt: AttemptId) {
        if self.all.contains_key(&attempt) {
            self.copied.push(attempt);
        }
    }

    /// Forgets the attempts that still have the copy beside them.
    pub(super) fn forget_copied(&mut self, cluster: &Cluster) {
        for id in std::mem::take(&mut self.copied) {
            if !is_only_copy(id, cluster) {
                self.remove(id);
            }
        }
    }

    /// Forgets attempts that are not their task's only copy any more.
    pub(super) fn forget_gone(&mut self, cluster: &Cluster) {
        let gone: Vec<AttemptId> = self.all.keys().copied().filter(|id| !is_only_copy(*id, cluster)).collect();
        gone.into_iter().for_each(|id| self.remove(id));
    }

    /// What the remaining time is compared with has changed for these attempts: they are looked at again.
    pub(super) fn look_again(&mut self, concerns: impl Fn(TaskId) -> bool) {
        for (id, (place, end)) in self.all.iter_mut().filter(|(id, _)| concerns(id.task)) {
            if let End::At(_, left) = end {
                set_left(&mut self.of_demand[*place as usize], *id, left, UNKNOWN);
            }
        }
        self.unsettled.extend(self.movable.iter().filter(|id| concerns(id.task)));
    }

    /// A task of a job was started: less of it is pending, and that may make relaunches of its other tasks pay.
    pub(super) fn unsettle(&mut self, job: JobId) {
        let first = |job| AttemptId { task: TaskId { job, phase: 0, index: 0 }, copy: 0 };
        let of_job = self.movable.range(first(job)..first(JobId(job.0.saturating_add(1))));
        self.unsettled.extend(of_job);
    }

    /// A round has looked at an attempt, which has so many medians left, and has left it alone.
    pub(super) fn looked_at(&mut self, id: AttemptId, medians_left: f64) {
        if let Some((place, End::At(_, left))) = self.all.get_mut(&id) {
            set_left(&mut self.of_demand[*place as usize], id, left, medians_left.max(0.0).to_bits());
        }
    }

    /// What should have ended by now is told from its age.
    pub(super) fn let_time_pass(&mut self, cluster: &Cluster) {
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

    /// Returns the attempts for which a backup or a relaunch may have begun to pay: those that may have more than so many
    /// medians left (`None` if no node is open), and the oldest of those of which only the age is known, as far as there is
    /// room for their demands. For all of them a relaunch counts as settled from now on.
    pub(super) fn take_concerned(&mut self, medians: Option<f64>, cluster: &Cluster) -> Vec<AttemptId> {
        let mut concerned: Vec<AttemptId> = std::mem::take(&mut self.unsettled).into_iter().collect();
        let Some(bound) = medians.map(f64::to_bits) else { return concerned };
        concerned.extend(&self.movable_by_age);
        for SameDemand { demand, by_left, by_age } in &self.of_demand {
            let is_empty = by_age.is_empty() && by_left.first().is_none_or(|(Reverse(left), _)| *left <= bound);
            if !is_empty && cluster.fits_somewhere(demand) {
                let known = by_left.iter().take_while(|(Reverse(left), _)| *left > bound).map(|(_, id)| *id);
                concerned.extend(known);
                concerned.extend(by_age.iter().take(cluster.open_nodes() + LOOKED_AT_BY_AGE).map(|(_, id)| *id));
            }
        }
        concerned
    }

    /// Whether a relaunch pays for an attempt has still to be found out.
    pub(super) fn leave_unsettled(&mut self, id: AttemptId) {
        if self.movable.contains(&id) {
            self.unsettled.insert(id);
        }
    }
}

fn set_left(same: &mut SameDemand, id: AttemptId, left: &mut Bits, now: Bits) {
    same.by_left.remove(&(Reverse(*left), id));
    *left = now;
    same.by_left.insert((Reverse(now), id));
}

fn is_only_copy(id: AttemptId, cluster: &Cluster) -> bool {
    cluster.attempt(id).is_some_and(|attempt| cluster.is_only_copy(attempt))
}

/// True if an attempt is its task's only copy and was not asked to stop.
pub(super) fn waits(attempt: &Attempt, cluster: &Cluster) -> bool {
    cluster.is_only_copy(attempt) && attempt.state() != AttemptState::Stopping
}
