//! Formulas of Xu & Lau 2015: the limit between light and heavy load (section III), the dual method (IV-A), and the
//! optimal σ of SDA (V) and ESE (VI).

use hindmost_core::reproduction::{Cell, DataTable, Measured, Plot, PlotShape};
use hindmost_math::distribution::Distribution;
use hindmost_policies::theory::clones::{self, CloneProblem, ContinuousSolution};
use hindmost_policies::theory::clones_dual::{DEFAULT_STEPS, DualSolution, PRINTED_STEPS, START, dual};
use hindmost_policies::theory::cutoff::{Cutoff, CutoffError, cutoff, task_delay, task_delay_two_copies};
use hindmost_policies::theory::sigma::{ese, ese_resource_ratio, sda, sda_resource_ratio};

use super::{ANALYSIS, Table, Value};

/// The values of this paper, by name.
pub(super) const VALUES: &[(&str, Value)] = &[
    ("cutoff/theorem-1", theorem_1),
    ("cutoff/equal-delays", equal_delays),
    ("cutoff/lambda-6", || against_limit(&[6.0])),
    ("cutoff/lambda-30-and-40", || against_limit(&[30.0, 40.0])),
    ("dual/printed-distance", printed_distance),
    ("dual/smaller-iterations", || iterations("smaller steps", DEFAULT_STEPS)),
    ("dual/printed-iterations", || iterations("printed steps", PRINTED_STEPS)),
    ("dual/positive-steps", positive_steps),
    ("ese/sigma-of-2", ese_sigma_of_2),
    ("ese/sigma-increases", ese_sigma_increases),
    ("ese/sigma-near-2", ese_sigma_near_2),
    ("sda/copies", sda_copies),
    ("sda/sigma", sda_sigma),
    ("sda/sigma-spread", sda_sigma_spread),
];

/// The tables of this paper, by name.
pub(super) const TABLES: &[(&str, Table)] = &[
    ("cutoff/limits", limits_table),
    ("dual/optimum", optimum_table),
    ("dual/steps", steps_table),
    ("dual/printed-trace", || trace_table("printed steps", PRINTED_STEPS)),
    ("dual/smaller-trace", || trace_table("smaller steps", DEFAULT_STEPS)),
    ("ese/ratio", ese_ratio_table),
    ("ese/optima", ese_optima_table),
];

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
/// The unit of σ.
const SIGMA: &str = "mean durations";

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Returns the Pareto distribution with this tail index and a mean of 1.
fn pareto(alpha: f64) -> Result<Distribution, String> {
    Distribution::pareto_with_mean(alpha, 1.0).map_err(text)
}

fn one(value: &str, number: f64, unit: &str) -> Result<Vec<Measured>, String> {
    Ok(vec![Measured::exact(ANALYSIS, value, Some(number), unit)])
}

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

fn theorem_1() -> Result<Vec<Measured>, String> {
    let duration = pareto(2.0)?;
    let necessary = FULL / (2.0 * duration.expected_minimum(2.0) / duration.mean());
    // 4(α − 1)/(2α − 1) is 4/3 for α = 2.
    one(
        "λ at which 2·λ·E[m]·E[min of 2] = M, divided by the theorem's λ, α = 2",
        necessary / (FULL / (4.0 / 3.0)),
        "times the theorem's λ",
    )
}

fn equal_delays() -> Result<Vec<Measured>, String> {
    let mut worst: f64 = 0.0;
    for alpha in ALPHAS {
        let duration = pareto(alpha)?;
        if let Some(omega) = limit(alpha)?.omega {
            worst = worst.max((task_delay_two_copies(&duration, omega) / task_delay(&duration, omega) - 1.0).abs());
        }
    }
    one("largest relative difference between both delays at ω^U, α from 2.1 to 5", worst, "as a share of the delay")
}

/// The simulations have α = 2, for which λ^U does not exist. The λ of Theorem 1 replaces it there. For comparison, the
/// values of α up to 2.5, for which λ^U exists, are measured too.
fn against_limit(rates: &[f64]) -> Result<Vec<Measured>, String> {
    let mut measured = Vec::new();
    for rate in rates {
        for alpha in [2.0, 2.1, 2.5] {
            let limit = limit(alpha)?;
            let (value, lambda) = match limit.lambda {
                Some(lambda) => (format!("λ = {rate} divided by λ^U"), lambda),
                None => (
                    format!("λ = {rate} divided by the λ of Theorem 1, because λ^U does not exist"),
                    limit.necessary,
                ),
            };
            let reading = format!("{ANALYSIS}, α = {alpha}, λ = {rate}");
            measured.push(Measured::exact(&reading, &value, Some(rate / lambda), "times the limit"));
        }
    }
    Ok(measured)
}

fn limits_table() -> Result<DataTable, String> {
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
    });
    Ok(table)
}

/// Number of iterations after which the dual method stops even if it has not converged.
const ITERATIONS: usize = 2000;
/// The dual method has converged if no number of copies c changes by more than this in an iteration.
const TOLERANCE: f64 = 1e-6;
/// Step sizes η₁ for ν, the multiplier of the limit on machines, with which Theorem 2 is tested.
const TRIED: [f64; 10] = [0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002];

fn problem() -> Result<CloneProblem, String> {
    CloneProblem::figure_1().map_err(text)
}

fn run(steps: [f64; 3]) -> Result<DualSolution, String> {
    dual(&problem()?, steps, START, TOLERANCE, ITERATIONS).map_err(text)
}

fn optimum() -> Result<ContinuousSolution, String> {
    clones::continuous(&problem()?).map_err(text)
}

/// Returns the largest difference between a number of copies and the optimum, in copies.
fn apart(copies: &[f64], best: &ContinuousSolution) -> f64 {
    copies.iter().zip(&best.copies).map(|(one, other)| (one - other).abs()).fold(0.0, f64::max)
}

fn printed_distance() -> Result<Vec<Measured>, String> {
    let (printed, best) = (run(PRINTED_STEPS)?, optimum()?);
    // A solution that oscillates may be close to the optimum in a single iteration.
    let last = printed.trace.iter().rev().take(50);
    let distance = last.map(|iteration| apart(&iteration.copies, &best)).fold(0.0, f64::max);
    let value = format!("largest |c − c*| in the last 50 of {} iterations, printed steps", printed.iterations);
    one(&value, distance, "copies from the optimum")
}

fn iterations(name: &str, steps: [f64; 3]) -> Result<Vec<Measured>, String> {
    let solution = run(steps)?;
    let number = solution.converged.then_some(solution.iterations as f64);
    let value = format!("iterations until the method converges with {name}; no value if it does not");
    Ok(vec![Measured::exact(ANALYSIS, &value, number, "iterations")])
}

fn tried() -> Result<Vec<(f64, DualSolution)>, String> {
    TRIED.into_iter().map(|step| Ok((step, run([step, PRINTED_STEPS[1], PRINTED_STEPS[2]])?))).collect()
}

fn positive_steps() -> Result<Vec<Measured>, String> {
    let tried = tried()?;
    let converging = tried.iter().filter(|(_, solution)| solution.converged).count();
    let value = format!("share of {} positive steps η₁ from 0.0002 to 0.2 that converge", tried.len());
    one(&value, 100.0 * converging as f64 / tried.len() as f64, "%")
}

fn optimum_table() -> Result<DataTable, String> {
    let mut table = DataTable::new(
        "Copies of each task of the four jobs: the optimum, and the last iteration of the dual method",
        ["", "c1", "c2", "c3", "c4", "objective", "machines"].map(str::to_owned).to_vec(),
        Vec::new(),
    );
    let mut add = |name: &str, copies: Vec<f64>, objective: f64, machines: f64| {
        let mut row = vec![Cell::from(name)];
        row.extend(copies.into_iter().chain([objective, machines]).map(Cell::from));
        table.rows.push(row);
    };
    let (whole, best) = (clones::exact(&problem()?).map_err(text)?, optimum()?);
    let whole_copies = whole.copies.iter().map(|copies| f64::from(*copies)).collect();
    add("optimum in whole copies", whole_copies, whole.objective, whole.machines_used as f64);
    add("optimum in fractional copies", best.copies, best.objective, best.machines_used);
    for (name, steps) in [("printed steps", PRINTED_STEPS), ("smaller steps", DEFAULT_STEPS)] {
        let solution = run(steps)?;
        let name = format!("dual method, {name}, after {} iterations", solution.iterations);
        add(&name, solution.copies, solution.objective, solution.machines_used);
    }
    Ok(table)
}

fn steps_table() -> Result<DataTable, String> {
    let best = optimum()?;
    let rows = tried()?.into_iter().map(|(step, solution)| {
        let converged = if solution.converged { "yes" } else { "no" };
        let distance = apart(&solution.copies, &best);
        vec![Cell::from(step), Cell::from(converged), Cell::from(solution.iterations as f64), Cell::from(distance)]
    });
    Ok(DataTable::new(
        format!(
            "Convergence with several step sizes η₁ of the machines' multiplier (η₂ = 0.3, η₃ = 0.4), in at most \
             {ITERATIONS} iterations"
        ),
        ["η₁", "converged", "iterations", "largest |c − c*| (copies)"].map(str::to_owned).to_vec(),
        rows.collect(),
    ))
}

/// Number of iterations at the beginning that are all shown, so that oscillations are visible.
const SHOWN_ONE_BY_ONE: usize = 10;

/// Returns a table of iterations: the first [`SHOWN_ONE_BY_ONE`], then every 10th up to 100, every 100th up to 1000 and
/// every 1000th, and the last four.
fn trace_table(name: &str, steps: [f64; 3]) -> Result<DataTable, String> {
    let solution = run(steps)?;
    let count = solution.trace.len();
    let shown = |at: usize| {
        let number = at + 1;
        number <= SHOWN_ONE_BY_ONE
            || number + 4 > count
            || (number <= 100 && number.is_multiple_of(10))
            || (number <= 1000 && number.is_multiple_of(100))
            || number.is_multiple_of(1000)
    };
    let rows = solution.trace.iter().enumerate().filter(|(at, _)| shown(*at)).map(|(at, iteration)| {
        let mut row = vec![Cell::from((at + 1) as f64)];
        row.extend(iteration.copies.iter().copied().map(Cell::from));
        row.extend([iteration.nu, iteration.change].map(Cell::from));
        row
    });
    let columns = ["iteration", "c1", "c2", "c3", "c4", "ν", "largest change"].map(str::to_owned);
    Ok(DataTable {
        plot: Some(Plot {
            title: format!("Copies in the first {SHOWN_ONE_BY_ONE} iterations, {name}"),
            x: "iteration".to_owned(),
            y: "copies of each task".to_owned(),
            shape: PlotShape::Columns,
            curves: columns[1..5].to_vec(),
            rows: Some(SHOWN_ONE_BY_ONE),
        }),
        ..DataTable::new(format!("Iterations of the dual method, {name}"), columns.to_vec(), rows.collect())
    })
}

/// The tail indices of Figure 4, and more of them for the claim about all α ≥ 3.
const ESE_ALPHAS: [f64; 7] = [2.0, 3.0, 4.0, 5.0, 7.0, 10.0, 20.0];

fn ese_sigma(alpha: f64) -> Result<f64, String> {
    Ok(ese(&pareto(alpha)?).map_err(text)?.sigma)
}

fn ese_sigma_of_2() -> Result<Vec<Measured>, String> {
    one("optimal σ with α = 2", ese_sigma(2.0)?, SIGMA)
}

fn ese_sigma_increases() -> Result<Vec<Measured>, String> {
    let sigmas: Vec<f64> = ESE_ALPHAS.into_iter().map(ese_sigma).collect::<Result<_, _>>()?;
    let least = sigmas.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::INFINITY, f64::min);
    one("smallest difference of σ* from one α to the next, α = 2, 3, 4, 5, 7, 10, 20", least, SIGMA)
}

fn ese_sigma_near_2() -> Result<Vec<Measured>, String> {
    let sigmas: Vec<f64> = ESE_ALPHAS[1..].iter().map(|alpha| ese_sigma(*alpha)).collect::<Result<_, _>>()?;
    let off = sigmas.into_iter().map(|sigma| (sigma - 2.0).abs()).fold(0.0, f64::max);
    one("largest |σ* − 2| for α = 3, 4, 5, 7, 10, 20", off, SIGMA)
}

fn ese_ratio_table() -> Result<DataTable, String> {
    let alphas = &ESE_ALPHAS[..4];
    let mut columns = vec!["σ".to_owned()];
    columns.extend(alphas.iter().map(|alpha| format!("α = {alpha}")));
    let mut rows = Vec::new();
    for step in 1..=24 {
        let sigma = f64::from(step) * 0.25;
        let mut row = vec![Cell::from(sigma)];
        for alpha in alphas {
            row.push(Cell::from(ese_resource_ratio(&pareto(*alpha)?, sigma).map_err(text)?));
        }
        rows.push(row);
    }
    Ok(DataTable {
        plot: Some(Plot {
            title: "Expected resource usage of a task by σ".to_owned(),
            x: "σ (mean durations)".to_owned(),
            y: "E[R]/E[x]; 1 without backups".to_owned(),
            shape: PlotShape::Columns,
            curves: Vec::new(),
            rows: None,
        }),
        ..DataTable::new(
            "Expected resource usage of a task divided by the mean duration, E[R]/E[x], by σ",
            columns,
            rows,
        )
    })
}

fn ese_optima_table() -> Result<DataTable, String> {
    let mut rows = Vec::new();
    for alpha in ESE_ALPHAS {
        let best = ese(&pareto(alpha)?).map_err(text)?;
        rows.push([alpha, best.sigma, best.resource_ratio].map(Cell::from).to_vec());
    }
    let columns = ["α", "σ*", "E[R]/E[x] at σ*"].map(str::to_owned).to_vec();
    Ok(DataTable::new("Optimal σ for each tail index α", columns, rows))
}

fn sda_copies() -> Result<Vec<Measured>, String> {
    let mut copies = Vec::new();
    for alpha in [1.2, 1.4, 1.5, 1.6, 2.0, 3.0, 4.0, 5.0] {
        let best = sda(&pareto(alpha)?, 0.2, 64).map_err(text)?;
        let value = format!("number of copies with the lowest cost, if σ is optimal ({:.3})", best.sigma);
        let reading = format!("{ANALYSIS}, α = {alpha}");
        copies.push(Measured::exact(&reading, &value, Some(f64::from(best.copies)), "copies"));
    }
    Ok(copies)
}

/// Returns the σ with the lowest value of Eq. 26, on a grid with a step of 0.001, for several s and mean durations.
fn sda_sigmas() -> Result<Vec<f64>, String> {
    let mut lowest = Vec::new();
    for s in [0.0, 0.1, 0.2, 0.3] {
        for mean in [1.0, 4.0] {
            let duration = Distribution::pareto_with_mean(2.0, mean).map_err(text)?;
            let mut best = (f64::NAN, f64::INFINITY);
            for step in 1000..3000 {
                let sigma = f64::from(step) / 1000.0;
                let cost = sda_resource_ratio(&duration, s, sigma, 2).map_err(text)?;
                if cost < best.1 {
                    best = (sigma, cost);
                }
            }
            lowest.push(best.0);
        }
    }
    Ok(lowest)
}

fn sda_sigma() -> Result<Vec<Measured>, String> {
    let sigmas = sda_sigmas()?;
    one("σ with the lowest E[R]", sigmas.iter().sum::<f64>() / sigmas.len() as f64, SIGMA)
}

fn sda_sigma_spread() -> Result<Vec<Measured>, String> {
    let sigmas = sda_sigmas()?;
    let (low, high) =
        sigmas.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), one| (low.min(*one), high.max(*one)));
    one("largest minus smallest optimal σ for s = 0, 0.1, 0.2, 0.3 and E[x] = 1, 4", high - low, SIGMA)
}
