//! `sda`: the Straggler Detection Algorithm (Xu & Lau 2015, section V).
//!
//! An attempt is a straggler if its remaining time is above σ·E\[x]; then c − 1 fresh copies race it,
//! once a task. σ and c minimise the expected resource of a task (Eq. 27–28): for Pareto durations
//! with α = 2, σ = 1 + √2/2 and c = 2. They depend on the shape of the distribution only, so they are
//! solved once a shape, by [`crate::theory::sigma`].
//!
//! Passes: `[Backups(sda rule), Originals(smallest_workload)]`.
//!
//! Readings: the test is made again when room is there (a straggler that could not be helped in time
//! is left alone once it is nearly done); where fewer than c − 1 nodes are free, all of them get a
//! copy and the task is done with; stragglers are served by id; among identical machines "a random
//! idle one" is the first. Theorem 3 (c* = 2) does not hold for very heavy tails, where three copies
//! cost less, nor for durations that can be very short, where the more copies the better: c is searched
//! up to r.

use hindmost_core::cluster::Phase;
use hindmost_core::estimator::Test;
use hindmost_core::ids::AttemptId;
use hindmost_core::policy::Round;

use super::candidates::Candidates;
use super::sigma_table::{SigmaOf, SigmaTable};
use super::straggler_test::{self, ByTest};

crate::parameters! {
    /// SDA's parameters. See the module's documentation.
    pub struct SdaParameters {
        /// a straggler's remaining time is above sigma mean durations
        pub sigma: Option<f64> = None, word optimal;
        /// most copies of a task
        pub max_copies: u32 = 8, in 1..=64, unit "copies";
    }
}

/// SDA's rule. See the module's documentation.
pub struct SdaRule {
    table: SigmaTable,
    candidates: Candidates,
}

impl SdaRule {
    /// With these parameters.
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
