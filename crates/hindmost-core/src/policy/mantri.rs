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
//!
//! Parameters: `delta`, a probability, 0.25; `kill_restart`, false; `max_restarts`, 3 (ours).

use crate::cluster::Phase;
use crate::estimator::Test;

use super::stragglers::StragglerRule;

/// Mantri's rule. See the module's documentation.
pub struct MantriRule {
    /// δ: how likely the saving must be, in [0, 1).
    pub delta: f64,
    /// Whether to stop and start afresh where there is no room for a duplicate.
    pub kill_restart: bool,
    /// How often a task may be started afresh.
    pub max_restarts: u32,
}

/// A duplicate pays if the remaining time is longer than this many fresh copies: the original and the
/// duplicate both run for as long as the duplicate takes.
const COPIES_RUNNING: f64 = 2.0;

impl StragglerRule for MantriRule {
    fn test(&mut self, _phase: &Phase) -> Test {
        Test::FreshLikelyBetter { factor: COPIES_RUNNING, chance: self.delta }
    }

    fn restarts(&self) -> u32 {
        if self.kill_restart { self.max_restarts } else { 0 }
    }
}
