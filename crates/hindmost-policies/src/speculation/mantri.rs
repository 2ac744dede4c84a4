//! `mantri` starts a backup for an attempt if the backup is likely to save resources. With `kill_restart`, it stops the
//! attempt and starts a replacement in its place if no resources are free for a backup.
//!
//! Paper: Ananthanarayanan et al., "Reining in the outliers in Map-Reduce clusters using Mantri", OSDI 2010, as Xu &
//! Lau 2015 state it for their baseline.
//!
//! Algorithm: an attempt gets a backup when a node is free and P(t_rem > 2·t_new) > δ, where t_rem is its remaining
//! time and t_new the duration of a new copy. If the test holds while no node is free, kill-restart stops the attempt
//! and starts a replacement on the same resources.
//!
//! Passes: `[Backups(mantri rule), Originals(order)]`.
//!
//! Readings where the paper is silent:
//! - Backups start before originals. A task has one backup at a time. Attempts with long remaining times get backups
//!   before attempts with short ones.
//! - The test is made again when the backup starts.
//! - A replacement may be replaced again, but copies of a task are replaced at most `max_restarts` times. Without this
//!   limit, a task might be replaced forever: on a slow node, or if each new copy passes the test too.
//! - For the same reason an attempt is replaced only if, besides the test, a new copy on the same node is expected to end
//!   sooner than the attempt.

use hindmost_core::cluster::{Cluster, Node, Phase};
use hindmost_core::estimator::{Pace, Test};
use hindmost_core::ids::AttemptId;
use hindmost_core::policy::Round;
use hindmost_core::resources::Resources;

use super::candidates::Candidates;
use super::straggler_test::{self, ByTest};

crate::parameters! {
    /// The parameters of `mantri`.
    pub struct MantriParameters {
        /// probability of saving resources above which a backup starts
        pub delta: f64 = 0.25, in 0.0..1.0;
        /// if no resources are free for a backup, stop the straggler and start a replacement in its place
        pub kill_restart: bool = false;
        /// how often the copies of a task may be replaced
        pub max_restarts: u32 = 3, in 1..=1000;
    }
}

/// The rule by which Mantri starts backups and replacements.
pub struct MantriRule {
    parameters: MantriParameters,
    candidates: Candidates,
}

/// A backup saves resources if the remaining time is longer than this many durations of a new copy, because the
/// original and the backup both run until the backup ends.
const COPIES_RUNNING: f64 = 2.0;

impl MantriRule {
    /// Creates the rule with these parameters.
    pub fn new(parameters: MantriParameters) -> MantriRule {
        MantriRule { parameters, candidates: Candidates::default() }
    }

    /// Returns true if the attempt may be replaced once more, and its remaining time is longer than a new copy is
    /// expected to take on the same node.
    fn restart_pays(&self, id: AttemptId, round: &Round<'_>) -> bool {
        let cluster = round.cluster();
        let Some((attempt, phase)) = cluster.attempt(id).zip(cluster.phase(id.task)) else { return false };
        let fresh = Pace::new(cluster.node(attempt.node()).map_or(1.0, Node::speed), 0.0).seconds(phase.mean());
        let may_restart = self.parameters.kill_restart && id.copy < self.parameters.max_restarts;
        may_restart && round.estimator.remaining(cluster, attempt).is_some_and(|remaining| remaining > fresh)
    }
}

impl ByTest for MantriRule {
    fn candidates(&mut self) -> &mut Candidates {
        &mut self.candidates
    }

    fn test(&mut self, _phase: &Phase) -> Test {
        Test::FreshLikelyBetter { factor: COPIES_RUNNING, chance: self.parameters.delta }
    }

    fn is_ready(&self, cluster: &Cluster) -> bool {
        cluster.open_nodes() > 0 || self.parameters.kill_restart
    }

    fn is_worth(&self, demand: &Resources, cluster: &Cluster) -> bool {
        self.parameters.kill_restart || cluster.fits_somewhere(demand)
    }

    fn only_starts_copies(&self) -> bool {
        !self.parameters.kill_restart
    }

    fn help(&mut self, id: AttemptId, round: &mut Round<'_>) {
        let Some(test) = round.cluster().phase(id.task).map(|phase| self.test(phase)) else { return };
        if !straggler_test::start_backups(id, test, 1, round) && self.restart_pays(id, round) {
            straggler_test::replace(id, test, round);
        }
    }
}
