//! Attempts that seem to hang, in `pace`, if only ages are known.
//!
//! A task that is long by nature and one whose attempts hang look alike while they run, and a copy that is late as well shows nothing
//! new. They differ in whether tasks of the phase ever end at such ages. As long as none has, and the attempts that seem to
//! hang hold half of all slots, they would soon hold all of them, and nothing could go on. Then their tasks get copies although
//! earlier copies were late and have cost the job its budget: one at a time, and each task again only at twice the age.

use std::collections::BTreeMap;

use hindmost_core::cluster::{Attempt, Cluster};
use hindmost_core::ids::{AttemptId, JobId};

use super::PaceRule;
use super::evidence::Outcomes;

/// An attempt seems to hang only if it is older than the longest winner of its phase times this.
const BEYOND: f64 = 1.5;
/// Share of the running attempts that must seem to hang.
const CROWD: f64 = 0.5;
/// Least number of attempts that must seem to hang.
const FEWEST: u32 = 2;

/// While no task is pending, an attempt must be older by this many doublings.
const PATIENCE: u32 = 2;

/// The phases of which attempts that seem to hang hold much of the cluster, in one round.
#[derive(Debug, Default)]
pub(super) struct Crowds(BTreeMap<(JobId, u32), bool>);

impl Crowds {
    /// Returns true if attempts of the phase that seem to hang hold much of the cluster.
    fn holds(&self, id: AttemptId) -> bool {
        self.0.get(&(id.task.job, id.task.phase)).copied().unwrap_or(false)
    }
}

impl PaceRule {
    /// Returns true if an attempt is much older than its phase's durations explain, and than any winner of its phase became.
    fn seems_to_hang(&self, attempt: &Attempt, cluster: &Cluster) -> bool {
        let task = attempt.id().task;
        let Some(phase) = cluster.phase(task).filter(|phase| !phase.is_assumed()) else { return false };
        let age = (cluster.now() - attempt.since()).seconds() * PaceRule::node_speed(cluster, attempt).min(1.0);
        age > self.ages(phase).hung(Outcomes::default()) && age > BEYOND * self.evidence.longest(task)
    }

    /// Finds the phases of which attempts that seem to hang hold much of the cluster. `late` are old attempts without copies.
    pub(super) fn crowds(&self, late: &[AttemptId], cluster: &Cluster) -> Crowds {
        let with_copies = self.several.iter().filter_map(|task| cluster.copies(*task).min_by_key(|copy| copy.id()));
        let alone = late.iter().filter_map(|id| cluster.attempt(*id));
        let mut hung: BTreeMap<(JobId, u32), u32> = BTreeMap::new();
        for attempt in alone.chain(with_copies).filter(|attempt| self.seems_to_hang(attempt, cluster)) {
            *hung.entry((attempt.id().task.job, attempt.id().task.phase)).or_default() += 1;
        }
        let most = CROWD * cluster.running_attempts() as f64;
        Crowds(hung.into_iter().map(|(phase, hung)| (phase, hung >= FEWEST && f64::from(hung) >= most)).collect())
    }

    /// Returns true if a task may get a copy although earlier ones were late: its attempt seems to hang, and it does so in a crowd or
    /// no task is pending, and it is old enough after the copies that were stopped.
    pub(super) fn may_retry(&self, id: AttemptId, pending: bool, crowds: &Crowds, cluster: &Cluster) -> bool {
        let Some((attempt, phase)) = cluster.attempt(id).zip(cluster.phase(id.task)) else { return false };
        let stopped = self.evidence.of(id.task).stopped;
        let age = (cluster.now() - attempt.since()).seconds() * PaceRule::node_speed(cluster, attempt).min(1.0);
        // While no task is pending, nothing but the copy's own work is at stake: an attempt that hangs can wait a little.
        let doublings = stopped + if pending { 0 } else { PATIENCE };
        (!pending || crowds.holds(id))
            && self.seems_to_hang(attempt, cluster)
            && age > self.ages(phase).hung(Outcomes::default()) * f64::from(doublings).exp2()
    }
}
