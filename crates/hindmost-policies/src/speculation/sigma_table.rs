//! A cache of the σ and the number of copies that SDA and ESE use. Both are computed once for each shape of durations.

use hindmost_math::distribution::Distribution;
use hindmost_math::shapes::{ShapeNumber, Shapes};
use rustc_hash::FxHashMap;

use crate::theory::sigma;

/// The algorithm for which σ is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SigmaOf {
    /// SDA: σ and the number of copies.
    Sda,
    /// ESE: σ for two copies, the original and one backup.
    Ese,
}

/// The values of σ and of the number of copies, by shape of the distribution.
pub(super) struct SigmaTable {
    /// The σ that the user has set; `None` for the σ that minimises a task's expected resource.
    fixed: Option<f64>,
    of: SigmaOf,
    max_copies: u32,
    shapes: Shapes,
    solved: FxHashMap<ShapeNumber, (f64, u32)>,
}

impl SigmaTable {
    pub(super) fn new(fixed: Option<f64>, of: SigmaOf, max_copies: u32) -> SigmaTable {
        SigmaTable { fixed, of, max_copies, shapes: Shapes::default(), solved: FxHashMap::default() }
    }

    /// Returns σ and the number of copies for durations of this distribution.
    pub(super) fn get(&mut self, durations: &Distribution) -> (f64, u32) {
        let number = self.shapes.number(durations);
        if let Some(known) = self.solved.get(&number) {
            return *known;
        }
        let solved = self.solve(durations);
        self.solved.insert(number, solved);
        solved
    }

    /// Computes σ and the number of copies for one distribution. Returns (2, 2) if there is no solution: then all
    /// durations are 0, and there are no stragglers for any σ.
    fn solve(&self, durations: &Distribution) -> (f64, u32) {
        match (self.of, self.fixed) {
            (SigmaOf::Sda, None) => {
                sigma::sda(durations, 0.0, self.max_copies.max(2)).map_or((2.0, 2), |best| (best.sigma, best.copies))
            }
            (SigmaOf::Ese, None) => sigma::ese(durations).map_or((2.0, 2), |best| (best.sigma, 2)),
            (SigmaOf::Sda, Some(sigma)) => (sigma, copies_at(durations, sigma, self.max_copies)),
            (SigmaOf::Ese, Some(sigma)) => (sigma, 2),
        }
    }
}

/// Returns c* for a given σ (Eq. 27): the number of copies with which a task uses the least expected resource.
fn copies_at(durations: &Distribution, sigma: f64, max_copies: u32) -> u32 {
    let cost = |copies: u32| sigma::sda_resource_ratio(durations, 0.0, sigma, copies).unwrap_or(f64::INFINITY);
    let mut best = 2;
    while best < max_copies && cost(best + 1) < cost(best) {
        best += 1;
    }
    best
}
