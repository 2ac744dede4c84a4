//! `ese` starts one backup for each attempt with a long remaining time, and clones small new jobs. It is designed for
//! heavily loaded clusters.
//!
//! Paper: Xu & Lau 2015, section VI, Algorithm 2 (Enhanced Speculative Execution).
//!
//! Algorithm:
//! 1. Each attempt that is its task's only copy and whose remaining time is above σ·E\[x] gets one backup, the longest
//!    remaining time first.
//! 2. Started jobs start their pending tasks, the smallest remaining workload first.
//! 3. New jobs start in order of workload. A job is small if it has m < η·N/|χ| tasks and its mean duration is
//!    E\[x] < ξ. A small job starts with c* copies of each task, where c* maximises
//!    −E\[d(c)] − γ·m·c·E\[min of c] (Eq. 29).
//!
//! Passes: `[Backups(ese rule, longest first), Originals(started jobs), NewJobs(small ones cloned)]`.
//!
//! Readings:
//! - N is the number of idle machines when the policy reaches the job. |χ| is the number of new jobs when step 3
//!   begins.
//! - In a job of several phases, m counts the tasks of the open phases.
//! - With the paper's ξ = 1 and durations of E\[x] ≥ 1, no job is small and none is cloned.
//! - Copies go to the nodes that the cluster's placement chooses; `random` is the paper's choice (Algorithm 2).
//! - If fewer than m·c nodes are free, every task gets its first copy before any task gets its second.
//!
//! This module has step 1. Step 3 and the parameters are in [`cloning::ese`](crate::cloning::ese).

use hindmost_core::cluster::Phase;
use hindmost_core::estimator::Test;
use hindmost_core::ids::AttemptId;
use hindmost_core::policy::Round;

use super::candidates::Candidates;
use super::sigma_table::{SigmaOf, SigmaTable};
use super::straggler_test::{self, ByTest};
use crate::cloning::ese::EseParameters;

/// The rule by which `ese` starts backups (step 1 of the algorithm).
pub struct EseRule {
    table: SigmaTable,
    candidates: Candidates,
}

impl EseRule {
    /// Creates the rule with these parameters.
    pub fn new(parameters: EseParameters) -> EseRule {
        EseRule { table: SigmaTable::new(parameters.sigma, SigmaOf::Ese, 2), candidates: Candidates::default() }
    }
}

impl ByTest for EseRule {
    fn candidates(&mut self) -> &mut Candidates {
        &mut self.candidates
    }

    fn test(&mut self, phase: &Phase) -> Test {
        Test::RemainingAbove(self.table.get(phase.durations()).0 * phase.mean())
    }

    fn help(&mut self, id: AttemptId, round: &mut Round<'_>) {
        if let Some(phase) = round.cluster().phase(id.task) {
            let test = self.test(phase);
            straggler_test::start_backups(id, test, 1, round);
        }
    }
}
