//! `mantri` starts a backup for an attempt if the backup is likely to save resources. With `kill_restart`, it stops the
//! attempt and starts a replacement in its place if no resources are free for a backup.
//!
//! Papers: Ananthanarayanan et al., "Reining in the outliers in Map-Reduce clusters using Mantri", OSDI 2010; and Xu &
//! Lau 2015, section II, who state its rule for their baseline. By default (`rule=xu2015`) this module follows Xu & Lau,
//! so that their experiments can be repeated. [`mantri_osdi`](super::mantri_osdi) has the rule of the OSDI paper
//! (`rule=osdi2010`).
//!
//! Algorithm of `rule=xu2015`: an attempt gets a backup when a node is free and P(t_rem > 2·t_new) > δ, where t_rem is its
//! remaining time and t_new the duration of a new copy. "Mantri also may terminate a task which shows an excessively large
//! remaining-time-to-finish": with `kill_restart`, if the test holds while no node is free, the attempt is stopped and a
//! replacement starts on the same resources. With `backups=false` as well, Mantri restarts stragglers instead of
//! duplicating them, even if nodes are free.
//!
//! Passes: `[Backups(mantri rule), Originals(order)]`.
//!
//! Readings where Xu & Lau are silent:
//! - Backups start before originals. A task has one backup at a time. Attempts with long remaining times get backups
//!   before attempts with short ones.
//! - The test is made again when the backup starts.
//! - t_new is the duration of a new copy on a node of speed 1.
//! - A replacement may be replaced again, but copies of a task are replaced at most `max_restarts` times, 3 as in the OSDI
//!   paper. Without this limit, a task might be replaced forever: on a slow node, or if each new copy passes the test too.
//! - For the same reason an attempt is replaced only if, besides the test, a new copy on the same node is expected to end
//!   sooner than the attempt.
//!
//! The differences from the source, and what this was written from, are in the catalogue (`catalogue/sources/`).

use hindmost_core::cluster::{Cluster, Node, Phase};
use hindmost_core::estimator::{Pace, Test};
use hindmost_core::ids::AttemptId;
use hindmost_core::policy::Round;
use hindmost_core::resources::Resources;

use super::candidates::Candidates;
use super::straggler_test::{self, ByTest};

/// The statement of Mantri's rule that is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statement {
    /// That of Xu & Lau 2015.
    Xu2015,
    /// That of Mantri's own paper.
    Osdi2010,
}

crate::words!(Statement: Xu2015 = "xu2015", Osdi2010 = "osdi2010");

crate::parameters! {
    /// The parameters of `mantri`.
    pub struct MantriParameters {
        /// probability of saving resources above which a backup starts
        pub delta: f64 = 0.25, in 0.0..1.0;
        /// xu2015 only: if no resources are free for a backup, stop the straggler and start a replacement in its place
        pub kill_restart: bool = false;
        /// how often the copies of a task may be replaced
        pub max_restarts: u32 = 3, in 0..=1000;
        /// false: stragglers are only restarted, never duplicated
        pub backups: bool = true;
        /// xu2015 only: backups start after originals and use only what these leave free
        pub originals_first: bool = false;
        /// xu2015: a backup if P(t_rem > 2 t_new) > delta, as Xu & Lau 2015 state the rule; osdi2010: the rule of
        /// Mantri's own paper, with kill-restart and up to copies + 1 copies of a task
        pub rule: Statement = Statement::Xu2015;
        /// osdi2010 only: number of copies of a task that keep running; slower ones are stopped
        pub copies: u32 = 2, in 1..=63, unit "copies";
        /// osdi2010 only: how many duplicates of a task may be started in all
        pub max_duplicates: u32 = 10, in 0..=1000, unit "copies";
        /// osdi2010 only: longest time between progress reports; a task also reports after every tenth of its mean
        /// duration
        pub report: f64 = 10.0, in 0.0.., unit "s";
        /// osdi2010 only: while no task waits, a backup must save more than this many times the time between reports
        pub spare: f64 = 3.0, in 0.0..;
    }
}

/// The rule by which Mantri starts backups and replacements, as Xu & Lau 2015 state it.
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
        (cluster.open_nodes() > 0 && self.parameters.backups) || self.parameters.kill_restart
    }

    fn is_worth(&self, demand: &Resources, cluster: &Cluster) -> bool {
        self.parameters.kill_restart || cluster.fits_somewhere(demand)
    }

    fn only_starts_copies(&self) -> bool {
        !self.parameters.kill_restart
    }

    fn help(&mut self, id: AttemptId, round: &mut Round<'_>) {
        let Some(test) = round.cluster().phase(id.task).map(|phase| self.test(phase)) else { return };
        let has_backup = self.parameters.backups && straggler_test::start_backups(id, test, 1, round);
        if !has_backup && self.restart_pays(id, round) {
            straggler_test::replace(id, test, round);
        }
    }
}
