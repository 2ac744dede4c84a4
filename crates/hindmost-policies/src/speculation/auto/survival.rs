//! Survival functions of remaining times on one grid, and what integrals over them need.
//!
//! Times are in units of E, the mean duration of a copy of the phase on a node of speed 1. The grid is geometric: heavy tails need cells
//! up to thousands of E, and what decides most copies lies below 2 E.

/// Number of cells of the grid: a multiple of [`LANES`].
pub(super) const CELLS: usize = 44;
/// Numbers that a processor adds or multiplies at a time.
const LANES: usize = 4;
/// End of the first cell.
const FIRST: f64 = 0.05;
/// How much further each cell after the first reaches than the last one: up to 3 200 E. With cells up to 60 E instead, mean flowtimes are
/// up to 22% longer where the tail index is 1.5.
const RATIO: f64 = 1.2936;
/// Points in each cell at which a function is evaluated for the cell's mean.
const POINTS: u32 = 4;

/// A number for each cell. Their precision is that of what is known of durations.
pub(super) type Cells = [f32; CELLS];

/// The limits of the cells: cell i reaches from limit i to limit i + 1.
const LIMITS: [f64; CELLS + 1] = {
    let mut limits = [0.0; CELLS + 1];
    let (mut at, mut limit) = (1, FIRST);
    while at <= CELLS {
        limits[at] = limit;
        limit *= RATIO;
        at += 1;
    }
    limits
};

/// The widths of the cells.
pub(super) const WIDTHS: Cells = {
    let (mut widths, mut at) = ([0.0; CELLS], 0);
    while at < CELLS {
        widths[at] = (LIMITS[at + 1] - LIMITS[at]) as f32;
        at += 1;
    }
    widths
};

/// Returns the middle of a cell.
fn middle(cell: usize) -> f64 {
    0.5 * (LIMITS[cell] + LIMITS[cell + 1])
}

/// Returns the cell in which a time lies; [`CELLS`] if it is beyond the last.
fn cell_of(time: f64) -> usize {
    LIMITS[1..].partition_point(|limit| *limit <= time)
}

/// Returns the sum of products of numbers, as many at a time as a processor can.
pub(super) fn dot(one: &[f32], other: &[f32]) -> f64 {
    let mut sums = [0.0_f32; LANES];
    for (one, other) in one.as_chunks::<LANES>().0.iter().zip(other.as_chunks::<LANES>().0) {
        for lane in 0..LANES {
            sums[lane] += one[lane] * other[lane];
        }
    }
    f64::from((sums[0] + sums[2]) + (sums[1] + sums[3]))
}

/// P(T > t) as a function of t: its mean in each cell of the grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Survival {
    cells: Cells,
    /// From here on all cells are 0: a multiple of [`LANES`].
    used: usize,
}

impl Survival {
    /// T is never above 0.
    pub(super) const ZERO: Survival = Survival { cells: [0.0; CELLS], used: 0 };
    /// T is above every time of the grid.
    pub(super) const ONE: Survival = Survival { cells: [1.0; CELLS], used: CELLS };

    fn tabulated(value: impl Fn(usize) -> f64) -> Survival {
        let mut survival = Survival::ZERO;
        for (cell, kept) in survival.cells.iter_mut().enumerate() {
            *kept = value(cell) as f32;
            if *kept > 0.0 {
                survival.used = (cell + 1).next_multiple_of(LANES);
            }
        }
        survival
    }

    /// Tabulates a function.
    pub(super) fn of(survival: impl Fn(f64) -> f64) -> Survival {
        Survival::tabulated(|cell| {
            let (from, width) = (LIMITS[cell], LIMITS[cell + 1] - LIMITS[cell]);
            let points = (0..POINTS).map(|point| from + width * (f64::from(point) + 0.5) / f64::from(POINTS));
            points.map(&survival).sum::<f64>() / f64::from(POINTS)
        })
    }

    /// Tabulates a function by its value in the middle of each cell.
    pub(super) fn sampled(survival: impl Fn(f64) -> f64) -> Survival {
        Survival::tabulated(|cell| survival(middle(cell)))
    }

    /// T is known to be `time`.
    pub(super) fn step(time: f64) -> Survival {
        let time = time.max(0.0);
        let last = cell_of(time);
        let mut survival = Survival { cells: [0.0; CELLS], used: (last + 1).next_multiple_of(LANES).min(CELLS) };
        survival.cells[..last].fill(1.0);
        if let Some(cell) = survival.cells.get_mut(last) {
            *cell = ((time - LIMITS[last]) / (LIMITS[last + 1] - LIMITS[last])) as f32;
        }
        survival
    }

    /// Returns the cells up to the last that is not 0.
    pub(super) fn cells(&self) -> &[f32] {
        &self.cells[..self.used]
    }

    /// Returns all cells.
    pub(super) fn all(&self) -> &Cells {
        &self.cells
    }

    /// Returns P(T > `time`), interpolated between the middles of cells.
    pub(super) fn at(&self, time: f64) -> f64 {
        let cell = cell_of(time);
        let after = if cell < CELLS && middle(cell) <= time { cell + 1 } else { cell };
        let value = |cell: usize| f64::from(self.cells[cell]);
        let (from, before) = if after == 0 { (0.0, 1.0) } else { (middle(after - 1), value(after - 1)) };
        let (to, next) = if after == CELLS { (LIMITS[CELLS], 0.0) } else { (middle(after), value(after)) };
        before + (next - before) * ((time - from) / (to - from)).clamp(0.0, 1.0)
    }

    /// Returns the survival function of `factor` · T.
    pub(super) fn stretched(&self, factor: f64) -> Survival {
        if (factor - 1.0).abs() < 1e-9 { *self } else { Survival::of(|time| self.at(time / factor)) }
    }

    /// Makes this the survival function of the smaller of two independent times.
    pub(super) fn and(&mut self, other: &Survival) {
        for (one, other) in self.cells.iter_mut().zip(&other.cells) {
            *one *= other;
        }
        self.used = self.used.min(other.used);
    }

    /// Adds `weight` times another function.
    pub(super) fn add(&mut self, other: &Survival, weight: f64) {
        let weight = weight as f32;
        for (sum, one) in self.cells.iter_mut().zip(other.cells()) {
            *sum += weight * one;
        }
        self.used = self.used.max(other.used);
    }

    /// Returns ∫ P(T > t) dt: the mean of T.
    pub(super) fn integral(&self) -> f64 {
        dot(self.cells(), &WIDTHS)
    }

    /// Returns ∫ P(T > t) dt from 0 to `end`.
    pub(super) fn integral_to(&self, end: f64) -> f64 {
        let last = cell_of(end);
        let whole: f64 = self.cells[..last].iter().zip(&WIDTHS).map(|(value, width)| f64::from(value * width)).sum();
        whole + self.cells.get(last).map_or(0.0, |value| f64::from(*value) * (end - LIMITS[last]))
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
            assert!((Survival::step(mean).integral() / mean - 1.0).abs() < 1e-6);
            let exponential = Survival::of(|time| (-time / mean).exp());
            assert!((exponential.integral() / mean - 1.0).abs() < 0.01, "{}", exponential.integral());
            // The smaller of two exponential times has half the mean.
            let mut smaller = exponential;
            smaller.and(&exponential);
            assert!((smaller.integral() / mean - 0.5).abs() < 0.02);
        }
        // A Pareto distribution with tail index 2 and mean 1, which is cut off at 3200: 1 − 0.25/3200.
        let pareto = Survival::of(|time| (0.5 / time).powi(2).min(1.0));
        assert!((pareto.integral() - 1.0).abs() < 0.01, "{}", pareto.integral());
        assert!((pareto.stretched(3.0).integral() - 3.0).abs() < 0.1);
    }
}
