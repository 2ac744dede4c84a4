//! The dual method for problem P2 (section IV-A, Figure 1).

use hindmost_claims::{Cell, DataTable, Measured, Plot, PlotShape};
use hindmost_math::numeric::minimize;
use hindmost_math::random::{hash, unit};
use hindmost_policies::theory::clones::{self, CloneProblem, ContinuousSolution};
use hindmost_policies::theory::clones_dual::{DualSolution, PRINTED_STEPS, START, dual};

use super::{ANALYSIS, largest, one, text};

/// Which steps the method makes for ν, the multiplier of the limit on machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Steps {
    /// η₁ times the excess of machines, Σ m·c − N, as printed.
    Printed,
    /// η₁ times this excess divided by N.
    Divided,
}

impl Steps {
    const BOTH: [Steps; 2] = [Steps::Printed, Steps::Divided];

    fn name(self) -> &'static str {
        match self {
            Steps::Printed => "printed steps",
            Steps::Divided => "excess divided by N",
        }
    }

    /// Returns the reading of values with these steps.
    fn reading(self) -> String {
        format!("{ANALYSIS}, {}", self.name())
    }

    fn solve(self) -> Result<DualSolution, String> {
        let [nu, xi, h] = PRINTED_STEPS;
        match self {
            Steps::Printed => run(PRINTED_STEPS),
            Steps::Divided => run([nu / problem()?.machines as f64, xi, h]),
        }
    }
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

/// Returns the largest distance from the optimum in the last iterations. A solution that oscillates may be close to the
/// optimum in a single iteration.
pub(super) fn distance() -> Result<Vec<Measured>, String> {
    let best = optimum()?;
    let of = |steps: Steps| {
        let solution = steps.solve()?;
        let last = solution.trace.iter().rev().take(50.min(solution.iterations.div_ceil(10)));
        let far = largest(last.map(|iteration| apart(&iteration.copies, &best)));
        let value = "largest |c − c*| in the last tenth of the iterations, at most 50 of them";
        Ok(Measured::exact(&steps.reading(), value, Some(far), "copies"))
    };
    Steps::BOTH.into_iter().map(of).collect()
}

pub(super) fn iterations() -> Result<Vec<Measured>, String> {
    let of = |steps: Steps| {
        let solution = steps.solve()?;
        let number = solution.converged.then_some(solution.iterations as f64);
        let value = "iterations until the method converges; no value if it does not";
        Ok(Measured::exact(&steps.reading(), value, number, "iterations"))
    };
    Steps::BOTH.into_iter().map(of).collect()
}

/// Compares the fewest with the most iterations of the tried steps that converge.
pub(super) fn tuned() -> Result<Vec<Measured>, String> {
    let tried = tried()?;
    let converged = || tried.iter().filter(|(_, solution)| solution.converged).map(|(_, it)| it.iterations as f64);
    let change = 100.0 * (converged().fold(f64::INFINITY, f64::min) / largest(converged()) - 1.0);
    one("fewest compared with most iterations of the steps that converge, η₁ from 0.0002 to 0.2", change, "%")
}

/// The multipliers of all constraints of P2.
#[derive(Clone)]
struct Multipliers {
    nu: f64,
    xi: Vec<f64>,
    h: Vec<f64>,
}

/// Returns the copies that maximise the Lagrangian, and its value: the dual objective D.
fn lagrangian(problem: &CloneProblem, at: &Multipliers) -> (Vec<f64>, f64) {
    let most = f64::from(problem.max_copies);
    let mut copies = Vec::with_capacity(problem.jobs.len());
    let mut value = at.nu * problem.machines as f64;
    for (place, job) in problem.jobs.iter().enumerate() {
        let price = at.nu * f64::from(job.tasks) + at.xi[place] - at.h[place];
        let cost = |log: f64| price * log.exp() - job.value(log.exp(), problem.gamma);
        // The mean is finite above 1/α = 0.5 copies. The upper end is that of the dual method.
        let best = minimize(cost, 0.5_f64.ln() + 1e-9, (16.0 * most).ln());
        value += at.xi[place] * most - at.h[place] - cost(best);
        copies.push(best.exp());
    }
    (copies, value)
}

pub(super) fn gap() -> Result<Vec<Measured>, String> {
    let (problem, best) = (problem()?, optimum()?);
    let zero = vec![0.0; problem.jobs.len()];
    let at = Multipliers { nu: best.multiplier, xi: zero.clone(), h: zero };
    let gap = lagrangian(&problem, &at).1 - best.objective;
    one("dual minus primal optimum, in fractional copies", gap.abs(), "units of utility")
}

/// Returns multipliers for tests, drawn at random: ν up to 0.5, the others up to 1.
fn samples(jobs: usize) -> impl Iterator<Item = Multipliers> {
    (0..200).map(move |sample| {
        let draw = |stream: u64, at: usize| unit(hash(1, stream, sample, at as u64));
        Multipliers {
            nu: 0.5 * draw(0, 0),
            xi: (0..jobs).map(|at| draw(1, at)).collect(),
            h: (0..jobs).map(|at| draw(2, at)).collect(),
        }
    })
}

/// Compares the subgradients of Lemma 2 with differences of D.
pub(super) fn subgradients() -> Result<Vec<Measured>, String> {
    const STEP: f64 = 1e-5;
    let problem = problem()?;
    let most = f64::from(problem.max_copies);
    let mut worst: f64 = 0.0;
    for at in samples(problem.jobs.len()) {
        let (copies, _) = lagrangian(&problem, &at);
        // At the ends of the domain of c the minimum is not a stationary point.
        if copies.iter().any(|copies| !(0.6..100.0).contains(copies)) {
            continue;
        }
        let value = |change: &dyn Fn(&mut Multipliers, f64)| {
            let moved = |step: f64| {
                let mut moved = at.clone();
                change(&mut moved, step);
                lagrangian(&problem, &moved).1
            };
            (moved(STEP) - moved(-STEP)) / (2.0 * STEP)
        };
        let stated = problem.machines as f64 - problem.machines_used(&copies);
        worst = worst.max((value(&|at, step| at.nu += step) - stated).abs() / problem.machines as f64);
        for (place, copies) in copies.iter().enumerate() {
            worst = worst.max((value(&|at, step| at.xi[place] += step) - (most - copies)).abs() / most);
            worst = worst.max((value(&|at, step| at.h[place] += step) - (copies - 1.0)).abs() / most);
        }
    }
    one("largest difference between Lemma 2 and differences of D, relative to N or r, 200 random points", worst, "")
}

/// Measures the largest derivative of V = Σ (p − p*)²/(2η) over the multipliers p along the continuous trajectory, with
/// all steps η equal to 1.
pub(super) fn lyapunov() -> Result<Vec<Measured>, String> {
    let (problem, best) = (problem()?, optimum()?);
    let most = f64::from(problem.max_copies);
    let rate = |at: Multipliers| {
        let (copies, _) = lagrangian(&problem, &at);
        let excess = problem.machines_used(&copies) - problem.machines as f64;
        // No constraint on a single c binds at the optimum, so its multipliers are 0 there.
        let of_jobs = copies
            .iter()
            .enumerate()
            .map(|(place, copies)| at.xi[place] * (copies - most) + at.h[place] * (1.0 - copies));
        (at.nu - best.multiplier) * excess + of_jobs.sum::<f64>()
    };
    one("largest derivative of V at 200 random points", largest(samples(problem.jobs.len()).map(rate)), "")
}

fn tried() -> Result<Vec<(f64, DualSolution)>, String> {
    TRIED.into_iter().map(|step| Ok((step, run([step, PRINTED_STEPS[1], PRINTED_STEPS[2]])?))).collect()
}

pub(super) fn positive_steps() -> Result<Vec<Measured>, String> {
    let tried = tried()?;
    let converging = tried.iter().filter(|(_, solution)| solution.converged).count();
    let value = format!("share of {} positive steps η₁ from 0.0002 to 0.2 that converge", tried.len());
    one(&value, 100.0 * converging as f64 / tried.len() as f64, "%")
}

pub(super) fn optimum_table() -> Result<DataTable, String> {
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
    for steps in Steps::BOTH {
        let solution = steps.solve()?;
        let name = format!("dual method, {}, after {} iterations", steps.name(), solution.iterations);
        add(&name, solution.copies, solution.objective, solution.machines_used);
    }
    Ok(table)
}

pub(super) fn steps_table() -> Result<DataTable, String> {
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
pub(super) fn trace_table(steps: Steps) -> Result<DataTable, String> {
    let (name, solution) = (steps.name(), steps.solve()?);
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
            stated: Vec::new(),
        }),
        ..DataTable::new(format!("Iterations of the dual method, {name}"), columns.to_vec(), rows.collect())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_steps_converge_only_if_the_excess_is_divided() {
        assert!(!Steps::Printed.solve().unwrap().converged);
        let divided = Steps::Divided.solve().unwrap();
        assert!(divided.converged && divided.iterations <= 100);
        assert!(apart(&divided.copies, &optimum().unwrap()) < 0.01);
    }
}
