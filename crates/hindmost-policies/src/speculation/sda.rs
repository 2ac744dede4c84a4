//! `sda` starts c − 1 backups for each straggler: an attempt whose remaining time is above σ mean durations. It chooses
//! σ and c so that a task uses the least expected resources.
//!
//! Paper: Xu & Lau 2015, section V (Straggler Detection Algorithm).
//!
//! Algorithm: an attempt is a straggler if its remaining time is above σ·E\[x]. Its task then gets c − 1 backups, once.
//! σ and c minimise the expected resource of a task (Eq. 27–28). For Pareto durations with α = 2 they are σ = 1 + √2/2
//! and c = 2. They depend only on the shape of the distribution, so [`crate::theory::sigma`] solves them once for each
//! shape.
//!
//! Passes: `[Backups(sda rule), Originals(smallest_workload)]`.
//!
//! Readings:
//! - The test is made again when resources are free. A straggler that had to wait for resources gets no backup once its
//!   remaining time is short.
//! - If fewer than c − 1 nodes are free, each free node gets a backup. The task gets no more backups while one of these
//!   runs.
//! - Stragglers get backups in order of their ids. The paper takes "a random idle machine"; here the cluster's placement
//!   chooses the machine. Under `random` this is the paper's choice. By default it is the first idle machine if all
//!   machines have the same speed, because they are then identical.
//! - Theorem 3 (c* = 2) is wrong for very heavy tails, where three copies cost less, and for durations that can be very
//!   short, where more copies are always better. So c is searched up to r (`max_copies`).

use hindmost_core::cluster::Phase;
use hindmost_core::estimator::Test;
use hindmost_core::ids::AttemptId;
use hindmost_core::policy::Round;

use super::candidates::Candidates;
use super::sigma_table::{SigmaOf, SigmaTable};
use super::straggler_test::{self, ByTest};

crate::parameters! {
    /// The parameters of `sda`.
    pub struct SdaParameters {
        /// an attempt is a straggler if its remaining time exceeds sigma times the mean duration; optimal: the best
        /// value for the distribution
        pub sigma: Option<f64> = None, word optimal;
        /// maximum number of copies of a task
        pub max_copies: u32 = 8, in 1..=64, unit "copies";
    }
}

/// The rule by which SDA starts backups.
pub struct SdaRule {
    table: SigmaTable,
    candidates: Candidates,
}

impl SdaRule {
    /// Creates the rule with these parameters.
    pub fn new(parameters: SdaParameters) -> SdaRule {
        let table = SigmaTable::new(parameters.sigma, SigmaOf::Sda, parameters.max_copies);
        SdaRule { table, candidates: Candidates::default() }
    }
}

impl ByTest for SdaRule {
    const BY_ID: bool = true;

    fn candidates(&mut self) -> &mut Candidates {
        &mut self.candidates
    }

    fn test(&mut self, phase: &Phase) -> Test {
        Test::RemainingAbove(self.table.get(phase.durations()).0 * phase.mean())
    }

    fn help(&mut self, id: AttemptId, round: &mut Round<'_>) {
        if let Some(phase) = round.cluster().phase(id.task) {
            let (test, copies) = (self.test(phase), self.table.get(phase.durations()).1);
            straggler_test::start_backups(id, test, copies.saturating_sub(1), round);
        }
    }
}
