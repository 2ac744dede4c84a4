//! The scores of the example in Figure 2.

use hindmost_claims::{Cell, DataTable, Measured};

use super::one;

/// Demand, duration in seconds, and demand × duration of the large job and of a small job of Figure 2.
const LARGE: (f64, f64) = (1.0, 10.0);
const SMALL: (f64, f64) = (0.25, 8.0);

/// Returns the score a + ε·p of a job on the empty server of capacity 1.
fn score((demand, duration): (f64, f64), epsilon: f64) -> f64 {
    demand + epsilon * demand * duration
}

pub(super) fn example_scores() -> Result<Vec<Measured>, String> {
    let least = [0.0, 0.01, 0.05, 0.1, 0.5, 1.0, 10.0]
        .map(|epsilon| score(LARGE, epsilon) - score(SMALL, epsilon))
        .into_iter()
        .fold(f64::INFINITY, f64::min);
    one("smallest score a + ε·p of job 1 minus that of job 2, ε from 0 to 10", least, "")
}

pub(super) fn epsilon_table() -> Result<DataTable, String> {
    let rows = [0.0, 0.02, 0.05, 0.09, 0.1, 0.2, 0.5].map(|epsilon| {
        let of = |sign: f64| {
            let first = score(LARGE, sign * epsilon) > score(SMALL, sign * epsilon);
            Cell::from(if first { "job 1" } else { "jobs 2 and 3" })
        };
        vec![Cell::from(epsilon), of(1.0), of(-1.0)]
    });
    Ok(DataTable::new(
        "Which jobs go first in Figure 2 with the score a + ε·p, as printed, and with a − ε·p, as in Tetris; p is demand \
         × time",
        ["ε", "a + ε·p", "a − ε·p"].map(str::to_owned).to_vec(),
        rows.to_vec(),
    ))
}
