//! Relaunches, in `pace`: a lagging attempt on a slow node is stopped, and its task starts again on another node, where no
//! resources are free for a backup.

use hindmost_core::cluster::{Attempt, Cluster};
use hindmost_core::ids::AttemptId;

use super::PaceRule;

/// A lagging attempt is relaunched if its remaining time is more than this many times the time that the other nodes need
/// for the pending tasks and the new copy.
pub(super) const RELAUNCH: f64 = 2.0;

impl PaceRule {
    /// Returns true if a lagging attempt may be relaunched on another node, now or later. Its node must be slow, and a
    /// new copy must take more than [`RELAUNCH`] medians there. Only the first copy of a task is relaunched, so a task is
    /// relaunched at most once.
    pub(super) fn may_relaunch(&self, attempt: &Attempt, cluster: &Cluster) -> bool {
        let speed = PaceRule::node_speed(cluster, attempt);
        self.saving && attempt.id().copy == 0 && speed < self.parameters.slow && 1.0 / speed > RELAUNCH
    }

    /// Returns true if a lagging attempt is expected to end sooner when it is relaunched on another node.
    pub(super) fn should_relaunch(&mut self, remaining: f64, id: AttemptId, cluster: &Cluster) -> bool {
        let Some((attempt, phase)) = cluster.attempt(id).zip(cluster.phase(id.task)) else { return false };
        if !self.may_relaunch(attempt, cluster) || attempt.measured_finish().is_none() {
            return false;
        }
        let Some(waves) = self.good_nodes.waves(id.task, cluster) else { return false };
        let useless = 1.0 / PaceRule::node_speed(cluster, attempt) > RELAUNCH * (1.0 + waves);
        useless && remaining > RELAUNCH * (1.0 + waves) * phase.median()
    }
}
