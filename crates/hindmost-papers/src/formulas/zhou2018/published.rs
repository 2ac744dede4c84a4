//! Arithmetic of the published numbers of section 6.

use hindmost_claims::{Cell, DataTable, Measured};

use super::one;

/// Returns by how many per cent 1/(time · energy) grows if both become less by so many per cent.
fn growth(less_time: f64, less_energy: f64) -> f64 {
    100.0 * (1.0 / ((1.0 - less_time / 100.0) * (1.0 - less_energy / 100.0)) - 1.0)
}

pub(super) fn efficiency(against: &str, less_time: f64, less_energy: f64) -> Result<Vec<Measured>, String> {
    let value = format!(
        "growth of 1/(time · energy) with {less_time}% less time and {less_energy}% less energy, compared with {against}"
    );
    one(&value, growth(less_time, less_energy), "%")
}

pub(super) fn one_over_energy() -> Result<Vec<Measured>, String> {
    one("growth of 1/energy with 21% less energy", growth(0.0, 21.0), "%")
}

/// The mean over all jobs and the least gain of 90% of them leave this mean gain to the others.
pub(super) fn other_jobs() -> Result<Vec<Measured>, String> {
    let (mean, share, least) = (27.0, 0.9, 30.0);
    one("mean gain of the other 10% of the jobs, at most", (mean - share * least) / (1.0 - share), "%")
}

pub(super) fn figure_9_difference() -> Result<Vec<Measured>, String> {
    let figures = [(29.0, 27.0), (24.0, 22.0), (22.0, 20.0)];
    let largest = figures.iter().map(|(ninth, sixth): &(f64, f64)| (ninth - sixth).abs()).fold(0.0, f64::max);
    one("largest difference between the gains of Figures 9 and 6", largest, "percentage points")
}

pub(super) fn arithmetic_table() -> Result<DataTable, String> {
    let rows = [
        ("noSpec, Figure 6", 27.0, 21.0, 75.0),
        ("Default, Figure 6", 22.0, 23.0, 70.0),
        ("Hete-aware, Figure 6", 20.0, 20.0, 61.0),
        ("Hete-aware, straggler ratio 0.4", 30.0, 34.0, 130.0),
    ];
    let row = |(against, time, energy, published): (&str, f64, f64, f64)| {
        let computed = [growth(time, energy), growth(0.0, energy)];
        let numbers = [time, energy, published, computed[0], computed[1]];
        std::iter::once(Cell::from(against)).chain(numbers.map(Cell::from)).collect()
    };
    Ok(DataTable::new(
        "Energy efficiency: as published, and as it follows from the published gains in time and energy (%)",
        ["compared with", "less time", "less energy", "published", "1/(time · energy)", "1/energy"]
            .map(str::to_owned)
            .to_vec(),
        rows.map(row).to_vec(),
    ))
}
