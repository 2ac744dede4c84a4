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
//!
//! Parameters: `sigma`, a number or `optimal`; `max_copies` (r of P3), 8.

use rustc_hash::FxHashMap;

use crate::cluster::Phase;
use crate::distribution::Distribution;
use crate::estimator::Test;
use crate::theory::sigma;

use super::shapes::{ShapeNumber, Shapes};
use super::stragglers::StragglerRule;

/// How σ is chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SigmaChoice {
    /// The one that minimises a task's expected resource.
    Optimal,
    /// This one.
    Fixed(f64),
}

/// Which algorithm's σ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SigmaOf {
    /// SDA's, with its number of copies.
    Sda,
    /// ESE's, with one duplicate.
    Ese,
}

/// σ and the number of copies for the shapes of distributions met so far.
pub(super) struct SigmaTable {
    choice: SigmaChoice,
    of: SigmaOf,
    max_copies: u32,
    shapes: Shapes,
    solved: FxHashMap<ShapeNumber, (f64, u32)>,
}

impl SigmaTable {
    pub(super) fn new(choice: SigmaChoice, of: SigmaOf, max_copies: u32) -> SigmaTable {
        SigmaTable { choice, of, max_copies, shapes: Shapes::default(), solved: FxHashMap::default() }
    }

    /// σ and the number of copies for durations of this distribution.
    pub(super) fn get(&mut self, durations: &Distribution) -> (f64, u32) {
        let number = self.shapes.number(durations);
        if let Some(known) = self.solved.get(&number) {
            return *known;
        }
        let solved = self.solve(durations);
        self.solved.insert(number, solved);
        solved
    }

    /// Durations that are always 0 have no stragglers, whatever σ is.
    fn solve(&self, durations: &Distribution) -> (f64, u32) {
        match (self.of, self.choice) {
            (SigmaOf::Sda, SigmaChoice::Optimal) => {
                sigma::sda(durations, 0.0, self.max_copies.max(2)).map_or((2.0, 2), |best| (best.sigma, best.copies))
            }
            (SigmaOf::Ese, SigmaChoice::Optimal) => sigma::ese(durations).map_or((2.0, 2), |best| (best.sigma, 2)),
            (SigmaOf::Sda, SigmaChoice::Fixed(sigma)) => (sigma, copies_at(durations, sigma, self.max_copies)),
            (SigmaOf::Ese, SigmaChoice::Fixed(sigma)) => (sigma, 2),
        }
    }
}

/// c* for a given σ (Eq. 27): the number of copies that costs a task the least.
fn copies_at(durations: &Distribution, sigma: f64, max_copies: u32) -> u32 {
    let cost = |copies: u32| sigma::sda_resource_ratio(durations, 0.0, sigma, copies).unwrap_or(f64::INFINITY);
    let mut best = 2;
    while best < max_copies && cost(best + 1) < cost(best) {
        best += 1;
    }
    best
}

/// SDA's rule. See the module's documentation.
pub struct SdaRule {
    table: SigmaTable,
}

impl SdaRule {
    /// With this σ, and at most so many copies of a task in all.
    pub fn new(sigma: SigmaChoice, max_copies: u32) -> SdaRule {
        SdaRule { table: SigmaTable::new(sigma, SigmaOf::Sda, max_copies) }
    }
}

impl StragglerRule for SdaRule {
    fn test(&mut self, phase: &Phase) -> Test {
        Test::RemainingAbove(self.table.get(phase.durations()).0 * phase.mean())
    }

    fn copies(&mut self, phase: &Phase) -> u32 {
        self.table.get(phase.durations()).1
    }

    fn longest_first(&self) -> bool {
        false
    }
}
