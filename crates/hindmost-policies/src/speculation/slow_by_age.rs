//! The attempts that LATE finds slow by their age, or whose remaining times are estimated from their age.

use hindmost_core::cluster::{Cluster, Phase};
use hindmost_core::estimator::Estimator;
use hindmost_core::ids::{AttemptId, TaskId};
use hindmost_core::policy::{Round, Seen, View};
use hindmost_core::resources::Resources;

use super::candidates::Candidates;
use super::{by_age, is_only_copy};

/// The slow attempts, in two parts: `known` and `new`.
#[derive(Default)]
pub(super) struct SlowByAge {
    /// Attempts found slow in earlier rounds, sorted by an upper bound for their remaining time.
    pub(super) known: Candidates,
    /// Attempts found slow since the last round. They are not sorted into `known` at once, because most of them get a
    /// backup in the next round.
    pub(super) new: Vec<AttemptId>,
    /// Tasks that already had more than one copy when an attempt of theirs was added to `known`.
    copied: Vec<TaskId>,
}

impl SlowByAge {
    pub(super) fn is_empty(&self) -> bool {
        self.known.is_empty() && self.new.is_empty()
    }

    pub(super) fn add(&mut self, id: AttemptId, cluster: &Cluster, estimator: &dyn Estimator) {
        if self.known.contains(id) || !is_only_copy(id, cluster) {
            self.put(id, cluster, estimator);
        } else {
            self.new.push(id);
        }
    }

    fn put(&mut self, id: AttemptId, cluster: &Cluster, estimator: &dyn Estimator) {
        let Some((attempt, phase)) = cluster.attempt(id).zip(cluster.phase(id.task)) else { return };
        let remaining = estimator.remaining(cluster, attempt).unwrap_or(0.0);
        let (rank, due) = by_age::rank_until(remaining, attempt, phase, cluster);
        self.known.put(rank, id, due, phase.demand());
        self.copied.extend((!cluster.is_only_copy(attempt)).then_some(id.task));
    }

    pub(super) fn observe(&mut self, seen: Seen<'_>, view: &View<'_>) {
        let mut changed = Vec::new();
        self.known.observe(seen, view.cluster, &mut changed);
        for id in changed {
            self.put(id, view.cluster, view.estimator);
        }
    }

    /// Removes attempts that have got another copy, and updates which jobs the order may permit more copies.
    pub(super) fn forget_copied(&mut self, round: &Round<'_>) {
        let cluster = round.cluster();
        self.known.forget_copied(cluster);
        self.known.close(|task| round.slack_needed(task), round.slack());
        self.new.sort_unstable();
        self.new.dedup();
        self.new.retain(|id| is_only_copy(*id, cluster));
    }

    /// Returns the demands of all slow attempts.
    pub(super) fn demands<'a>(&'a self, cluster: &'a Cluster) -> impl Iterator<Item = &'a Resources> {
        let new = self.new.iter().filter_map(|id| cluster.phase(id.task));
        new.map(Phase::demand).chain(self.known.demands())
    }

    /// Sorts the new attempts into `known`.
    pub(super) fn keep_new(&mut self, round: &Round<'_>) {
        for id in std::mem::take(&mut self.new) {
            self.put(id, round.cluster(), round.estimator);
        }
    }

    /// Prepares `known` for a round that may start backups. Removes the new attempts and returns them.
    pub(super) fn take_new(&mut self, round: &Round<'_>) -> Vec<AttemptId> {
        let cluster = round.cluster();
        for task in std::mem::take(&mut self.copied) {
            for copy in cluster.copies(task).filter(|copy| !cluster.is_only_copy(copy)) {
                self.known.remove(copy.id());
            }
        }
        for id in self.known.take_due(cluster.now()) {
            self.put(id, cluster, round.estimator);
        }
        std::mem::take(&mut self.new)
    }
}

/// Returns the remaining time in seconds; 0 if it is unknown.
pub(super) fn remaining(id: AttemptId, round: &Round<'_>) -> f64 {
    let attempt = round.cluster().attempt(id);
    attempt.and_then(|attempt| round.estimator.remaining(round.cluster(), attempt)).unwrap_or(0.0)
}
