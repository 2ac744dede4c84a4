//! The attempts that lag (`pace`), so that a round looks at those alone for which something may have changed.
//!
//! A backup pays if the remaining time, in medians of the phase, is above some bound. Where the end is known, the remaining
//! time only gets shorter: an attempt that failed a bound is not looked at again until the bound is lower than what it had
//! left then. Where only the age is known, the oldest is the first that a backup may pay for.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use hindmost_core::cluster::{Attempt, AttemptState, Cluster};
use hindmost_core::ids::{AttemptId, JobId, TaskId};
use hindmost_core::time::Time;
use rustc_hash::FxHashMap;

/// Remaining medians as bits: numbers that are not negative sort as their bits do.
type Bits = u64;

/// More medians than any number of them.
const UNKNOWN: Bits = u64::MAX;

/// Of attempts of which only the age is known, so many more than there are open nodes are looked at in a round.
const LOOKED_AT_BY_AGE: usize = 64;

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct Lagging {
    /// Attempts whose end is known: that end, and the medians that they had left when a round last looked at them.
    known: FxHashMap<AttemptId, (Time, Bits)>,
    by_left: BTreeSet<(Reverse<Bits>, AttemptId)>,
    by_finish: BTreeSet<(Time, AttemptId)>,
    /// Attempts of which only the age is known, the oldest first.
    by_age: BTreeSet<(Time, AttemptId)>,
    /// Attempts that a relaunch elsewhere may pay for some day, and those for which it may have begun to.
    movable: BTreeSet<AttemptId>,
    unsettled: BTreeSet<AttemptId>,
    /// Attempts that have got another copy beside them since a round last looked.
    copied: Vec<(AttemptId, Time)>,
}

impl Lagging {
    /// True if nothing lags.
    pub(super) fn is_empty(&self) -> bool {
        self.known.is_empty() && self.by_age.is_empty()
    }

    /// An attempt lags, or more has become known of one that does. `movable` if a relaunch elsewhere may pay for it.
    pub(super) fn add(&mut self, attempt: &Attempt, movable: bool) {
        let id = attempt.id();
        self.remove(id, Some(attempt.since()));
        if let Some(finish) = attempt.expected_finish() {
            self.known.insert(id, (finish, UNKNOWN));
            self.by_left.insert((Reverse(UNKNOWN), id));
            self.by_finish.insert((finish, id));
        } else {
            self.by_age.insert((attempt.since(), id));
        }
        if movable {
            self.movable.insert(id);
            self.unsettled.insert(id);
        }
    }

    /// An attempt has ended or has a backup. `since` is when it began, where that is known.
    pub(super) fn remove(&mut self, id: AttemptId, since: Option<Time>) {
        if self.is_empty() {
            return;
        }
        if let Some((finish, left)) = self.known.remove(&id) {
            self.by_left.remove(&(Reverse(left), id));
            self.by_finish.remove(&(finish, id));
        }
        since.map(|since| self.by_age.remove(&(since, id)));
        self.movable.remove(&id);
        self.unsettled.remove(&id);
    }

    /// A copy was started beside an attempt.
    pub(super) fn copied(&mut self, attempt: &Attempt) {
        if !self.is_empty() {
            self.copied.push((attempt.id(), attempt.since()));
        }
    }

    /// Forgets the attempts that still have the copy beside them.
    pub(super) fn forget_copied(&mut self, cluster: &Cluster) {
        for (id, since) in std::mem::take(&mut self.copied) {
            if !cluster.attempt(id).is_some_and(|attempt| cluster.is_only_copy(attempt)) {
                self.remove(id, Some(since));
            }
        }
    }

    /// Forgets attempts that are not their task's only copy any more.
    pub(super) fn forget_gone(&mut self, cluster: &Cluster) {
        let gone = |id: &AttemptId| !cluster.attempt(*id).is_some_and(|attempt| cluster.is_only_copy(attempt));
        let known: Vec<AttemptId> = self.known.keys().copied().filter(gone).collect();
        for id in known {
            self.remove(id, None);
        }
        self.by_age.retain(|(_, id)| !gone(id));
        self.movable.retain(|id| !gone(id));
        self.unsettled.retain(|id| !gone(id));
    }

    /// What the remaining time is compared with has changed for these attempts: they are looked at again.
    pub(super) fn look_again(&mut self, concerns: impl Fn(TaskId) -> bool) {
        for (id, (_, left)) in self.known.iter_mut().filter(|(id, _)| concerns(id.task)) {
            self.by_left.remove(&(Reverse(*left), *id));
            *left = UNKNOWN;
            self.by_left.insert((Reverse(UNKNOWN), *id));
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
        let Some((_, left)) = self.known.get_mut(&id) else { return };
        self.by_left.remove(&(Reverse(*left), id));
        *left = medians_left.max(0.0).to_bits();
        self.by_left.insert((Reverse(*left), id));
    }

    /// What should have ended by now is told from its age.
    pub(super) fn let_time_pass(&mut self, cluster: &Cluster) {
        while let Some((finish, id)) = self.by_finish.first().copied().filter(|(finish, _)| *finish <= cluster.now()) {
            self.by_finish.remove(&(finish, id));
            if let Some((_, left)) = self.known.remove(&id) {
                self.by_left.remove(&(Reverse(left), id));
            }
            self.by_age.extend(cluster.attempt(id).map(|attempt| (attempt.since(), id)));
        }
    }

    /// Returns the attempts that may have more than so many medians left, and the oldest of those of which only the age
    /// is known.
    pub(super) fn above(&self, medians: f64, cluster: &Cluster) -> Vec<AttemptId> {
        let bound = medians.to_bits();
        let known = self.by_left.iter().take_while(|(Reverse(left), _)| *left > bound).map(|(_, id)| *id);
        let by_age = self.by_age.iter().take(cluster.open_nodes() + LOOKED_AT_BY_AGE).map(|(_, id)| *id);
        known.chain(by_age).collect()
    }

    /// Returns the attempts for which a relaunch may have begun to pay, and takes them for settled.
    pub(super) fn take_unsettled(&mut self) -> BTreeSet<AttemptId> {
        std::mem::take(&mut self.unsettled)
    }

    /// Whether a relaunch pays for an attempt has still to be found out.
    pub(super) fn leave_unsettled(&mut self, id: AttemptId) {
        if self.movable.contains(&id) {
            self.unsettled.insert(id);
        }
    }
}

/// True if an attempt is its task's only copy and was not asked to stop.
pub(super) fn waits(attempt: &Attempt, cluster: &Cluster) -> bool {
    cluster.is_only_copy(attempt) && attempt.state() != AttemptState::Stopping
}
