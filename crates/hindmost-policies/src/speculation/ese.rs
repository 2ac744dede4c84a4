//! `ese`: Enhanced Speculative Execution (Xu & Lau 2015, section VI, Algorithm 2), for heavy load.
//!
//! Backups go to attempts that are their task's only copy and whose remaining time is above σ·E\[x],
//! the longest first, one each; then come started jobs, smallest remaining workload first; then new
//! jobs in order of workload, of which small ones (m < η·N/|χ| tasks of mean duration E\[x] < ξ) are
//! cloned: c* maximises −E\[d(c)] − γ·m·c·E\[min of c] (Eq. 29).
//!
//! Passes: `[Backups(ese rule, longest first), Originals(started jobs), NewJobs(small ones cloned)]`.
//!
//! Readings: N is what is idle when the job's turn comes, |χ| the number of new jobs when the level
//! begins; of a job of several phases, m counts the tasks of those that are open. With the paper's
//! ξ = 1 and E\[x] ≥ 1 cloning never fires. Where fewer than m·c nodes are free, every task gets its
//! first copy before any gets its second.

use hindmost_core::cluster::Phase;
use hindmost_core::estimator::Test;
use hindmost_core::ids::AttemptId;
use hindmost_core::policy::Round;

use super::candidates::Candidates;
use super::sigma_table::{SigmaOf, SigmaTable};
use super::straggler_test::{self, ByTest};

crate::parameters! {
    /// ESE's parameters. See the module's documentation.
    pub struct EseParameters {
        /// a straggler's remaining time is above sigma mean durations
        pub sigma: Option<f64> = None, word optimal;
        /// a small job has fewer tasks than this share of the idle machines for each new job
        pub eta: f64 = 0.1, in 0.0..;
        /// a small job's mean duration is below this, seconds
        pub xi: f64 = 1.0, in 0.0.., unit "s";
        /// most copies of a task
        pub max_copies: u32 = 8, in 1..=64, unit "copies";
    }
}

/// ESE's rule for backups. See the module's documentation.
pub struct EseRule {
    table: SigmaTable,
    candidates: Candidates,
}

impl EseRule {
    /// With these parameters.
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
