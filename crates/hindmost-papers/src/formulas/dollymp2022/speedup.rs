//! The speed-up by copies (section 3).

use hindmost_claims::{Cell, DataTable, Measured};
use hindmost_math::distribution::Distribution;
use hindmost_policies::theory::speedup::{fitted_alpha, speedup};

use super::{one, text};

/// Tail indices for which the speed-up is computed.
pub(super) const ALPHAS: [f64; 9] = [1.05, 1.2, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 10.0];
/// Largest number of copies for which the speed-up is computed.
const MOST_COPIES: u32 = 100;

pub(super) fn speedup_is_minimum() -> Result<Vec<Measured>, String> {
    let mut worst: f64 = 0.0;
    for alpha in ALPHAS {
        let duration = Distribution::pareto_with_mean(alpha, 1.0).map_err(text)?;
        for copies in 1..=10 {
            let mean = duration.expected_minimum(f64::from(copies));
            worst = worst.max((mean * speedup(alpha, copies) - 1.0).abs());
        }
    }
    one("largest relative difference between θ / h(r) and the mean of the fastest of r copies", worst, "")
}

pub(super) fn speedup_increases() -> Result<Vec<Measured>, String> {
    let steps =
        ALPHAS.iter().flat_map(|alpha| (1..MOST_COPIES).map(|it| speedup(*alpha, it + 1) - speedup(*alpha, it)));
    one("smallest h(x + 1) − h(x), x up to 99", steps.fold(f64::INFINITY, f64::min), "")
}

pub(super) fn speedup_concave() -> Result<Vec<Measured>, String> {
    let bends = ALPHAS.iter().flat_map(|alpha| {
        (2..MOST_COPIES).map(|it| speedup(*alpha, it + 1) + speedup(*alpha, it - 1) - 2.0 * speedup(*alpha, it))
    });
    one("largest h(x + 1) − 2·h(x) + h(x − 1), x up to 99", bends.fold(f64::NEG_INFINITY, f64::max), "")
}

pub(super) fn third_copy() -> Result<Vec<Measured>, String> {
    let share = |alpha: &f64| (speedup(*alpha, 3) - speedup(*alpha, 2)) / (speedup(*alpha, 2) - 1.0);
    let largest = ALPHAS.iter().map(share).fold(0.0, f64::max);
    one("h(3) − h(2) divided by h(2) − h(1), the same for all α", largest, "")
}

pub(super) fn smallest_fitted_alpha() -> Result<Vec<Measured>, String> {
    let mut least = f64::INFINITY;
    for deviation in [0.1, 0.5, 1.0, 2.0] {
        least = least.min(fitted_alpha(1.0, deviation).map_err(text)?);
    }
    one("smallest α fitted to standard deviations from 0.1 to 2 means", least, "")
}

pub(super) fn speedup_table() -> Result<DataTable, String> {
    let mut columns = vec!["α".to_owned()];
    columns.extend([2, 3, 4].map(|copies| format!("h({copies})")));
    columns.push("limit α / (α − 1)".to_owned());
    columns.extend([2, 3].map(|copies| format!("resource usage of {copies} copies")));
    let rows = ALPHAS.map(|alpha| {
        let mut row = vec![Cell::from(alpha)];
        row.extend([2, 3, 4].map(|copies| Cell::from(speedup(alpha, copies))));
        row.push(Cell::from(alpha / (alpha - 1.0)));
        row.extend([2, 3].map(|copies| Cell::from(f64::from(copies) / speedup(alpha, copies))));
        row
    });
    Ok(DataTable::new(
        "Speed-up h of a task by copies that start together, and their resource usage relative to one copy",
        columns,
        rows.to_vec(),
    ))
}
