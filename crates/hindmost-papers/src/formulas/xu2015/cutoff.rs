//! The limit between light and heavy load (section III-B).

use hindmost_claims::{Cell, DataTable, Measured, Plot, PlotShape};
use hindmost_policies::theory::cutoff::{Cutoff, CutoffError, cutoff, task_delay, task_delay_two_copies};

use super::{ANALYSIS, by_alpha, largest, pareto, smallest, text};

/// Number of machines in the simulations.
const MACHINES: f64 = 3000.0;
/// Mean number of tasks of a job in the simulations.
const MEAN_TASKS: f64 = 50.5;
/// Mean duration of a task in the simulations, in units of time.
const MEAN_DURATION: f64 = 2.5;
/// Arrival rate at which one copy of every task keeps all machines busy.
const FULL: f64 = MACHINES / (MEAN_TASKS * MEAN_DURATION);
/// Tail indices for which the cut-off is computed.
const ALPHAS: [f64; 7] = [1.5, 2.0, 2.1, 2.5, 3.0, 4.0, 5.0];
/// A limit between light and heavy load: ω^U and λ^U, if they exist, and the λ of Theorem 1.
struct Limit {
    alpha: f64,
    omega: Option<f64>,
    lambda: Option<f64>,
    necessary: f64,
}

fn limit(alpha: f64) -> Result<Limit, String> {
    match cutoff(&pareto(alpha)?, MACHINES, MEAN_TASKS, MEAN_DURATION) {
        Ok(Cutoff { omega, lambda, necessary_lambda, .. }) => {
            Ok(Limit { alpha, omega, lambda, necessary: necessary_lambda })
        }
        Err(CutoffError::InfiniteSecondMoment { necessary_lambda }) => {
            Ok(Limit { alpha, omega: None, lambda: None, necessary: necessary_lambda })
        }
        Err(error) => Err(text(error)),
    }
}

/// Tail indices for which λ^U exists.
const WITH_LIMIT: [f64; 5] = [2.1, 2.5, 3.0, 4.0, 5.0];

/// Returns the load at which two copies of every task keep all machines busy.
fn full_with_two(alpha: f64) -> Result<f64, String> {
    Ok(limit(alpha)?.necessary / FULL)
}

pub(super) fn theorem_1() -> Result<Vec<Measured>, String> {
    let value = "λ at which 2·λ·E[m]·E[min of 2] = M, divided by the theorem's λ";
    by_alpha(&ALPHAS, value, "times the theorem's λ", |alpha| {
        let duration = pareto(alpha)?;
        let necessary = FULL / (2.0 * duration.expected_minimum(2.0) / duration.mean());
        Ok(Some(necessary / (FULL * (2.0 * alpha - 1.0) / (4.0 * (alpha - 1.0)))))
    })
}

/// Measures by how much the machine time of a task grows with each second copy, from two copies on.
pub(super) fn two_load_least() -> Result<Vec<Measured>, String> {
    let value = "smallest growth of a task's machine time from r to r + 1 copies, r = 2 to 15";
    by_alpha(&ALPHAS, value, "mean durations", |alpha| {
        let duration = pareto(alpha)?;
        let load = |copies: u32| f64::from(copies) * duration.expected_minimum(f64::from(copies));
        Ok(Some(smallest((2..16).map(|copies| load(copies + 1) - load(copies)))))
    })
}

pub(super) fn equal_delays() -> Result<Vec<Measured>, String> {
    by_alpha(&WITH_LIMIT, "relative difference between both delays at ω^U", "", |alpha| {
        let (duration, limit) = (pareto(alpha)?, limit(alpha)?);
        let ratio = |omega| task_delay_two_copies(&duration, omega) / task_delay(&duration, omega);
        Ok(limit.omega.map(|omega| (ratio(omega) - 1.0).abs()))
    })
}

/// Compares the printed Eq. 3 with the delay of an M/G/1 queue of two copies of every task.
pub(super) fn equation_3() -> Result<Vec<Measured>, String> {
    let value = "largest relative difference between Eq. 3 and the M/G/1 queue, ω = 0.05 to 0.45";
    by_alpha(&[1.5, 2.0, 2.5, 3.0, 5.0], value, "", |alpha| {
        let duration = pareto(alpha)?;
        let printed = |omega: f64| {
            let first =
                omega * (alpha - 1.0) * (1.0 - 4.0 * alpha * alpha + 4.0 * alpha) / (alpha * (2.0 * alpha - 1.0));
            (first + 2.0 * (alpha - 1.0)) / (2.0 * alpha - 1.0 - 4.0 * omega * (alpha - 1.0))
        };
        let loads = (1..=9).map(|step| 0.05 * f64::from(step));
        Ok(Some(largest(loads.map(|omega| (printed(omega) / task_delay_two_copies(&duration, omega) - 1.0).abs()))))
    })
}

pub(super) fn faster_below() -> Result<Vec<Measured>, String> {
    let value = "largest delay with two copies compared with one copy, at 10% to 90% of ω^U";
    by_alpha(&WITH_LIMIT, value, "%", |alpha| {
        let (duration, limit) = (pareto(alpha)?, limit(alpha)?);
        let change = |omega| 100.0 * (task_delay_two_copies(&duration, omega) / task_delay(&duration, omega) - 1.0);
        Ok(limit.omega.map(|omega| largest((1..10).map(|step| change(omega * f64::from(step) / 10.0)))))
    })
}

/// Measures the delay with two copies half-way between ω^U and the load at which two copies keep all machines busy.
pub(super) fn not_sufficient() -> Result<Vec<Measured>, String> {
    let value = "delay with two copies compared with one copy, half-way between ω^U and the load of Theorem 1";
    by_alpha(&WITH_LIMIT, value, "%", |alpha| {
        let (duration, limit, full) = (pareto(alpha)?, limit(alpha)?, full_with_two(alpha)?);
        let change = |omega| 100.0 * (task_delay_two_copies(&duration, omega) / task_delay(&duration, omega) - 1.0);
        Ok(limit.omega.map(|omega| change(f64::midpoint(omega, full))))
    })
}

pub(super) fn delay() -> Result<Vec<Measured>, String> {
    let value = "mean delay of a task without copies at the load of λ = 6 (Eq. 1); no value if it is infinite";
    by_alpha(&ALPHAS, value, "mean durations", |alpha| Ok(Some(task_delay(&pareto(alpha)?, 6.0 / FULL))))
}

pub(super) fn threshold() -> Result<Vec<Measured>, String> {
    let value = "λ^U; no value if it does not exist";
    by_alpha(&ALPHAS, value, "jobs per unit of time", |alpha| Ok(limit(alpha)?.lambda))
}

/// The simulations have α = 2, for which λ^U does not exist. The λ of Theorem 1 replaces it there. For comparison, the
/// values of α up to 2.5, for which λ^U exists, are measured too.
pub(super) fn against_limit(rates: &[f64]) -> Result<Vec<Measured>, String> {
    let mut measured = Vec::new();
    for rate in rates {
        for alpha in [2.0, 2.1, 2.5] {
            let limit = limit(alpha)?;
            let (value, lambda) = match limit.lambda {
                Some(lambda) => (format!("λ = {rate} divided by λ^U"), lambda),
                None => {
                    (format!("λ = {rate} divided by the λ of Theorem 1, because λ^U does not exist"), limit.necessary)
                }
            };
            let reading = format!("{ANALYSIS}, α = {alpha}, λ = {rate}");
            measured.push(Measured::exact(&reading, &value, Some(rate / lambda), "times the limit"));
        }
    }
    Ok(measured)
}

pub(super) fn limits_table() -> Result<DataTable, String> {
    let columns = ["α", "ω^U", "λ^U (Eq. 5)", "λ of Theorem 1", "λ of a full cluster"].map(str::to_owned).to_vec();
    let mut table = DataTable::new(
        "Arrival rates λ in jobs per unit of time, and the load ω^U: two copies of every task shorten the mean delay \
         below λ^U, and fit on the machines below the λ of Theorem 1. At the λ of a full cluster, one copy of every \
         task keeps all machines busy",
        columns.clone(),
        Vec::new(),
    );
    for alpha in ALPHAS {
        let limit = limit(alpha)?;
        let numbers = [Some(limit.alpha), limit.omega, limit.lambda, Some(limit.necessary), Some(FULL)];
        table.rows.push(numbers.map(Cell::from).to_vec());
    }
    table.plot = Some(Plot {
        title: "Arrival rates up to which two copies of every task shorten delays or fit on the machines".to_owned(),
        x: "tail index α of the durations".to_owned(),
        y: "arrival rate λ (jobs per unit of time)".to_owned(),
        shape: PlotShape::Columns,
        curves: columns[2..].to_vec(),
        rows: None,
        stated: Vec::new(),
    });
    Ok(table)
}
