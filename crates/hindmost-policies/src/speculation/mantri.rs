//! `mantri`: Microsoft Mantri's speculative execution (Ananthanarayanan et al., "Reining in the
//! outliers in Map-Reduce clusters using Mantri", OSDI 2010), as Xu & Lau 2015 state it for their
//! baseline.
//!
//! A duplicate is started when a node is free and P(t_rem > 2·t_new) > δ, so only where resources are
//! expected to be saved. With kill-restart, an attempt for which the same test holds while no node is
//! free is stopped and started afresh in its own room.
//!
//! Passes: `[Backups(mantri rule), Originals(order)]`.
//!
//! Readings where the paper is silent: backups before originals; one backup a task; the longest
//! remaining time first; the test is made again when the backup starts; a restarted copy may be
//! restarted again, but a task only `max_restarts` times: on a slow node, or where a fresh copy itself
//! passes the test, it would never end. For the same reason a restart needs more than a backup: a fresh
//! copy must be expected to end sooner on the attempt's own node.

use hindmost_core::cluster::{Cluster, Node, Phase};
use hindmost_core::estimator::{Pace, Test};
use hindmost_core::ids::AttemptId;
use hindmost_core::policy::Round;
use hindmost_core::resources::Resources;

use super::candidates::Candidates;
use super::straggler_test::{self, ByTest};

crate::parameters! {
    /// Mantri's parameters. See the module's documentation.
    pub struct MantriParameters {
        /// how likely the saving must be
        pub delta: f64 = 0.25, in 0.0..1.0;
        /// stop and start afresh where there is no room for a backup
        pub kill_restart: bool = false;
        /// how often a task may be started afresh
        pub max_restarts: u32 = 3, in 1..=1000;
    }
}

/// Mantri's rule. See the module's documentation.
pub struct MantriRule {
    parameters: MantriParameters,
    candidates: Candidates,
}

/// A duplicate pays if the remaining time is longer than this many fresh copies: the original and the
/// duplicate both run for as long as the duplicate takes.
const COPIES_RUNNING: f64 = 2.0;

impl MantriRule {
    /// With these parameters.
    pub fn new(parameters: MantriParameters) -> MantriRule {
        MantriRule { parameters, candidates: Candidates::default() }
    }

    /// True if the task may be started afresh once more, and its attempt's remaining time is longer than a fresh copy is
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
