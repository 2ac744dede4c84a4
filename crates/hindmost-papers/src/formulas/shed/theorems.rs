//! The theorems R_su and R_ru: where they give probabilities, and whether they are those of a running task.

use hindmost_claims::{Cell, DataTable, Measured};
use hindmost_math::numeric::integrate_panels;
use hindmost_policies::theory::pocd::{MissChance, ParetoTail};

use super::super::ANALYSIS;
use super::one;

/// The tail index, the shortest duration and the deadline of the base reading, seconds.
const BETA: f64 = 2.0;
const T_MIN: f64 = 15.0;
const DEADLINE: f64 = 60.0;

/// R_su as it is printed, without a limit on its base.
fn printed(t_min: f64, deadline: f64, clones: i32, tasks: i32) -> f64 {
    (1.0 - (t_min / deadline).powf(BETA * f64::from(clones + 1))).powi(tasks)
}

pub(super) fn submitted_at_most_one() -> Result<Vec<Measured>, String> {
    // Deadlines from the shortest duration on give probabilities; half of it is too early for any copy.
    one(
        "printed R_su for two tasks without clones and D = t_min/2, where no copy can end in time",
        printed(2.0, 1.0, 0, 2),
        "",
    )
}

/// Returns the probability that a task misses the deadline if its original has been running since the submission at a
/// constant rate and has not finished after `elapsed` seconds, at least the shortest duration, and gets so many clones
/// that continue from its progress: what R_ru says, and what happens. The clones have new durations; the original's end
/// is known from its progress.
///
/// With v = elapsed/duration, which is the progress, P(v ≤ x) = x^β for an original that is still running.
fn misses(elapsed: f64, clones: f64) -> (f64, f64) {
    let base = |progress: f64| ((1.0 - progress) * T_MIN / (DEADLINE - elapsed)).min(1.0);
    let density = |progress: f64| BETA * progress.powf(BETA - 1.0);
    // The base reaches its limit of 1 at this progress, where the integrand has a corner.
    let corner = (1.0 - (DEADLINE - elapsed) / T_MIN).max(0.0);
    let integral = |power: f64, end: f64| {
        let breaks = [0.0, corner.min(end), end];
        integrate_panels(|progress| base(progress).powf(power) * density(progress), &breaks, 1e-12).value
    };
    // The original misses the deadline if its progress is below elapsed/deadline.
    (integral(BETA * (clones + 1.0), 1.0), integral(BETA * clones, elapsed / DEADLINE))
}

pub(super) fn running_at_constant_rate() -> Result<Vec<Measured>, String> {
    let case = |clones: u32| {
        let (printed, actual) = misses(DEADLINE / 2.0, f64::from(clones));
        let reading = format!("{ANALYSIS}, r = {clones}");
        let value =
            "probability by R_ru that a task which runs at half of its deadline misses it, divided by the actual one";
        Measured::exact(&reading, value, Some(printed / actual), "times")
    };
    Ok((0..3).map(case).collect())
}

pub(super) fn running_table() -> Result<DataTable, String> {
    let times = [0.25, 0.375, 0.5, 0.625, 0.75];
    let row = |share: &f64| {
        let of = |clones: f64| {
            let (printed, actual) = misses(share * DEADLINE, clones);
            [Cell::from(100.0 * printed), Cell::from(100.0 * actual)]
        };
        std::iter::once(Cell::from(share * DEADLINE)).chain((0..3).flat_map(|clones| of(f64::from(clones)))).collect()
    };
    let heading = |clones: u32| [format!("R_ru, r = {clones}"), format!("actual, r = {clones}")];
    let columns = std::iter::once("elapsed time (s)".to_owned()).chain((0..3).flat_map(heading));
    Ok(DataTable::new(
        "Probability (%) that a task which is still running misses a deadline of 60 s; β = 2, t_min = 15 s, clones continue \
         from its progress",
        columns.collect(),
        times.iter().map(row).collect(),
    ))
}

pub(super) fn submitted_table() -> Result<DataTable, String> {
    let tail = ParetoTail::new(T_MIN, BETA).map_err(|error| error.to_string())?;
    let row = |factor: &f64| {
        let deadline = factor * tail.t_min() * BETA / (BETA - 1.0);
        let miss = MissChance::submitted(tail, deadline);
        let pocds = (0..5).map(|clones| Cell::from(100.0 * miss.pocd(10, clones)));
        [Cell::from(*factor), Cell::from(deadline)].into_iter().chain(pocds).collect()
    };
    let columns = ["deadline (mean durations)", "deadline (s)", "r = 0", "r = 1", "r = 2", "r = 3", "r = 4"];
    Ok(DataTable::new(
        "R_su: PoCD (%) of a job of 10 tasks if nothing waits; β = 2, t_min = 15 s",
        columns.map(str::to_owned).to_vec(),
        [0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 5.0].iter().map(row).collect(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_values_are_those_of_the_formula() {
        // (1 − (1/2)²)³ = 27/64; a base of 2: (1 − 4)² = 9.
        assert_eq!(printed(5.0, 10.0, 0, 3), 27.0 / 64.0);
        assert_eq!(printed(2.0, 1.0, 0, 2), 9.0);
    }

    #[test]
    fn chances_of_running_tasks_are_those_worked_out_by_hand() {
        // At 30 of 60 s the base is (1 − v)/2, and v has the density 2v. Without clones R_ru gives
        // ¼·∫(1 − v)²·2v dv = ¼·(1 − 4/3 + 1/2) = 1/24; the original misses with P(v < ½) = 1/4.
        let (printed, actual) = misses(30.0, 0.0);
        assert!((printed - 1.0 / 24.0).abs() < 1e-10 && (actual - 0.25).abs() < 1e-10, "{printed}, {actual}");
        // One clone: (1/16)·∫(1 − v)⁴·2v dv = (1/16)·2·B(2, 5) = (1/16)·(1/15); the original and the clone miss with
        // ¼·∫₀^½ (1 − v)²·2v dv = ¼·2·(1/8 − 1/12 + 1/64) = 11/384.
        let (printed, actual) = misses(30.0, 1.0);
        assert!((printed - 1.0 / 240.0).abs() < 1e-10, "{printed}");
        assert!((actual - 11.0 / 384.0).abs() < 1e-10, "{actual}");
    }
}
