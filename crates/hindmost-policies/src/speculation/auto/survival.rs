//! Survival functions of remaining times on one grid, and what integrals over them need.
//!
//! Times are in units of E, the mean duration of a copy of the phase on a node of speed 1. The grid is geometric: heavy tails need cells
//! up to thousands of E, and what decides most copies lies below 2 E.

use std::sync::LazyLock;

/// Number of cells of the grid.
pub(super) const CELLS: usize = 42;
/// End of the first cell.
const FIRST: f64 = 0.05;
/// End of the last cell. With 28 cells up to 60 E instead, mean flowtimes are up to 22% longer where the tail index is 1.5.
const LAST: f64 = 3200.0;
/// Points in each cell at which a function is evaluated for the cell's mean.
const POINTS: u32 = 4;

/// The limits of the cells: cell i reaches from limit i to limit i + 1.
static LIMITS: LazyLock<[f64; CELLS + 1]> = LazyLock::new(|| {
    let ratio = (LAST / FIRST).powf(1.0 / (CELLS - 1) as f64);
    let mut limits = [0.0; CELLS + 1];
    for (at, limit) in limits.iter_mut().enumerate().skip(1) {
        *limit = FIRST * ratio.powi(at as i32 - 1);
    }
    limits
});

/// The widths of the cells.
static WIDTHS: LazyLock<[f64; CELLS]> = LazyLock::new(|| std::array::from_fn(|at| LIMITS[at + 1] - LIMITS[at]));

/// Returns the widths of the cells.
pub(super) fn widths() -> &'static [f64; CELLS] {
    &WIDTHS
}

/// The middles of the cells.
static MIDDLES: LazyLock<[f64; CELLS]> = LazyLock::new(|| std::array::from_fn(|at| LIMITS[at] + 0.5 * WIDTHS[at]));

/// P(T > t) as a function of t: its mean in each cell of the grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Survival(pub(super) [f64; CELLS]);

impl Survival {
    /// T is never above 0.
    pub(super) const ZERO: Survival = Survival([0.0; CELLS]);
    /// T is above every time of the grid.
    pub(super) const ONE: Survival = Survival([1.0; CELLS]);

    /// Tabulates a function.
    pub(super) fn of(survival: impl Fn(f64) -> f64) -> Survival {
        Survival(std::array::from_fn(|at| {
            let points =
                (0..POINTS).map(|point| LIMITS[at] + WIDTHS[at] * (f64::from(point) + 0.5) / f64::from(POINTS));
            points.map(&survival).sum::<f64>() / f64::from(POINTS)
        }))
    }

    /// Tabulates a function by its value in the middle of each cell.
    pub(super) fn sampled(survival: impl Fn(f64) -> f64) -> Survival {
        Survival(MIDDLES.map(survival))
    }

    /// T is known to be `time`.
    pub(super) fn step(time: f64) -> Survival {
        Survival(std::array::from_fn(|at| ((time - LIMITS[at]) / WIDTHS[at]).clamp(0.0, 1.0)))
    }

    /// Returns P(T > `time`), interpolated between the middles of cells.
    pub(super) fn at(&self, time: f64) -> f64 {
        let after = MIDDLES.partition_point(|middle| *middle <= time);
        let (from, before) = if after == 0 { (0.0, 1.0) } else { (MIDDLES[after - 1], self.0[after - 1]) };
        let (to, next) = if after == CELLS { (LAST, 0.0) } else { (MIDDLES[after], self.0[after]) };
        before + (next - before) * ((time - from) / (to - from)).clamp(0.0, 1.0)
    }

    /// Returns the survival function of `factor` · T.
    pub(super) fn stretched(&self, factor: f64) -> Survival {
        if (factor - 1.0).abs() < 1e-9 { *self } else { Survival::of(|time| self.at(time / factor)) }
    }

    /// Returns the survival function of the smaller of two independent times.
    pub(super) fn and(&self, other: &Survival) -> Survival {
        Survival(std::array::from_fn(|at| self.0[at] * other.0[at]))
    }

    /// Returns a function of each value.
    pub(super) fn map(&self, f: impl Fn(f64) -> f64) -> Survival {
        Survival(self.0.map(f))
    }

    /// Adds `weight` times another function.
    pub(super) fn add(&mut self, other: &Survival, weight: f64) {
        for (sum, one) in self.0.iter_mut().zip(&other.0) {
            *sum += weight * one;
        }
    }

    /// Returns ∫ P(T > t) dt: the mean of T.
    pub(super) fn integral(&self) -> f64 {
        self.0.iter().zip(&*WIDTHS).map(|(value, width)| value * width).sum()
    }

    /// Returns ∫ P(T > t) dt from 0 to `end`.
    pub(super) fn integral_to(&self, end: f64) -> f64 {
        let mut sum = 0.0;
        for ((value, width), limit) in self.0.iter().zip(&*WIDTHS).zip(&*LIMITS) {
            if *limit >= end {
                break;
            }
            sum += value * width.min(end - limit);
        }
        sum
    }

    /// Returns ∫ f(this, one, other) dt.
    pub(super) fn integral_with(&self, one: &Survival, other: &Survival, f: impl Fn(f64, f64, f64) -> f64) -> f64 {
        let cells = self.0.iter().zip(&one.0).zip(&other.0).zip(&*WIDTHS);
        cells.map(|(((this, one), other), width)| f(*this, *one, *other) * width).sum()
    }
}

impl Default for Survival {
    fn default() -> Survival {
        Survival::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integrals_of_survival_functions_are_means() {
        for mean in [0.07, 1.0, 12.3] {
            assert!((Survival::step(mean).integral() - mean).abs() < 1e-9);
            let exponential = Survival::of(|time| (-time / mean).exp());
            assert!((exponential.integral() / mean - 1.0).abs() < 0.01, "{}", exponential.integral());
            // The smaller of two exponential times has half the mean.
            assert!((exponential.and(&exponential).integral() / mean - 0.5).abs() < 0.02);
        }
        // A Pareto distribution with tail index 2 and mean 1, which is cut off at 3200: 1 − 0.25/3200.
        let pareto = Survival::of(|time| (0.5 / time).powi(2).min(1.0));
        assert!((pareto.integral() - 1.0).abs() < 0.01, "{}", pareto.integral());
        assert!((pareto.stretched(3.0).integral() - 3.0).abs() < 0.1);
    }
}
