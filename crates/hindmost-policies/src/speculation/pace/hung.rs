//! Attempts that seem to hang, in `pace`, if only ages are known.
//!
//! A task that is long by nature and one whose attempts hang look alike while they run, and a copy that is late as well shows nothing
//! new. They differ in whether tasks of the phase ever end at such ages. As long as none has, and the attempts that seem to
//! hang hold half of all slots, they would soon hold all of them, and nothing could go on. Then their tasks get copies although
//! earlier copies were late and have cost the job its usual budget: one at a time, each task again only at twice the age, and from a budget
//! of their own ([`CROWD_SHARE`](super::budget::CROWD_SHARE)), because many tasks may be long by nature.

use std::collections::{BTreeMap, BTreeSet};

use hindmost_core::cluster::{Attempt, Cluster};
use hindmost_core::ids::{AttemptId, JobId};

use super::PaceRule;
use super::evidence::Outcomes;

/// An attempt seems to hang only if it is older than the longest winner of its phase times this.
pub(super) const BEYOND: f64 = 1.5;
/// Share of the running attempts that must seem to hang.
const CROWD: f64 = 0.5;
/// Least number of attempts that must seem to hang.
const FEWEST: u32 = 2;

/// While no task is pending, an attempt must be older by this many doublings.
const PATIENCE: u32 = 2;

/// The phases of which attempts that seem to hang hold much of the cluster, in one round.
#[derive(Debug, Default)]
pub(super) struct Crowds(BTreeSet<(JobId, u32)>);

impl Crowds {
    /// Returns true if attempts of the phase that seem to hang hold much of the cluster.
    fn holds(&self, id: AttemptId) -> bool {
        self.0.contains(&(id.task.job, id.task.phase))
    }
}

impl PaceRule {
    /// Returns true if an attempt is older than its phase's durations explain by 2 to the power of `doublings`, and much older than any
    /// winner of its phase became. Ages on a slow node count less.
    pub(super) fn seems_to_hang(&self, attempt: &Attempt, doublings: u32, cluster: &Cluster) -> bool {
        let task = attempt.id().task;
        let Some(phase) = cluster.phase(task).filter(|phase| !phase.is_assumed()) else { return false };
        let age = attempt.age(cluster.now()).seconds() * PaceRule::node_speed(cluster, attempt).min(1.0);
        age > self.ages(task, phase, cluster).hung(Outcomes::default()) * f64::from(doublings).exp2()
            && age > BEYOND * self.evidence.longest(task)
    }

    /// Finds the phases of which attempts that seem to hang hold much of the cluster. `late` are old attempts without copies.
    pub(super) fn crowds(&self, late: &[AttemptId], cluster: &Cluster) -> Crowds {
        let with_copies = self.several.iter().filter_map(|task| cluster.copies(*task).min_by_key(|copy| copy.id()));
        let alone = late.iter().filter_map(|id| cluster.attempt(*id));
        let mut hung: BTreeMap<(JobId, u32), u32> = BTreeMap::new();
        for attempt in alone.chain(with_copies).filter(|attempt| self.seems_to_hang(attempt, 0, cluster)) {
            *hung.entry((attempt.id().task.job, attempt.id().task.phase)).or_default() += 1;
        }
        let most = CROWD * cluster.running_attempts() as f64;
        let is_crowd = |hung: u32| hung >= FEWEST && f64::from(hung) >= most;
        Crowds(hung.into_iter().filter(|(_, hung)| is_crowd(*hung)).map(|(phase, _)| phase).collect())
    }

    /// Returns true if a task may get a copy although earlier ones were late: its attempt seems to hang, and it does so in a crowd or
    /// no task is pending, and it is old enough after the copies that were stopped.
    pub(super) fn may_retry(
        &self,
        id: AttemptId,
        (late, pending): (&[AttemptId], bool),
        crowds: &Crowds,
        cluster: &Cluster,
    ) -> bool {
        let Some(attempt) = cluster.attempt(id) else { return false };
        let stopped = self.evidence.of(id.task).stopped;
        // While no task is pending, nothing but the copy's own work is at stake: an attempt that hangs can wait a little.
        let doublings = stopped + if pending { 0 } else { PATIENCE };
        (!pending || (crowds.holds(id) && self.budget.is_left_in_a_crowd(id.task.job, late, cluster)))
            && self.seems_to_hang(attempt, doublings, cluster)
    }
}
