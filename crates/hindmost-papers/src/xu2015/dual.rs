//! Fig. 1: how fast the dual method for problem P2 converges (section IV-A).

use hindmost_core::reproduction::{Cell, Claim, DataTable, Expected, Figure, Measured, Plot, PlotShape, number_text};
use hindmost_policies::theory::clones::{self, CloneProblem, ContinuousSolution};
use hindmost_policies::theory::clones_dual::{DEFAULT_STEPS, DualSolution, PRINTED_STEPS, START, dual};

use super::readings::{PRINTED_STEPS as PRINTED, SMALLER_STEPS};
use hindmost_sim::driver::SimulationError;

/// Number of iterations after which the method stops even if it has not converged.
const ITERATIONS: usize = 2000;
/// The method has converged if no number of copies c changes by more than this in an iteration.
const TOLERANCE: f64 = 1e-6;
/// Step sizes η₁ for ν, the multiplier of the limit on machines, with which the claim of Theorem 2 is tested.
const TRIED: [f64; 10] = [0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002];

pub(super) fn figure() -> Result<Figure, SimulationError> {
    let wrong = |error: String| SimulationError::Workload(error);
    let problem = CloneProblem::figure_1().map_err(|error| wrong(error.to_string()))?;
    let run = |steps| dual(&problem, steps, START, TOLERANCE, ITERATIONS).map_err(|error| wrong(error.to_string()));
    let printed = run(PRINTED_STEPS)?;
    let smaller = run(DEFAULT_STEPS)?;
    let best = clones::continuous(&problem).map_err(|error| wrong(error.to_string()))?;
    let whole = clones::exact(&problem).map_err(|error| wrong(error.to_string()))?;
    let tried: Vec<(f64, DualSolution)> = TRIED
        .into_iter()
        .map(|step| Ok((step, run([step, PRINTED_STEPS[1], PRINTED_STEPS[2]])?)))
        .collect::<Result<_, SimulationError>>()?;

    let mut optimum = DataTable::new(
        "Copies of each task of the four jobs: the optimum, and the last iteration of the dual method",
        ["", "c1", "c2", "c3", "c4", "objective", "machines"].map(str::to_owned).to_vec(),
        Vec::new(),
    );
    let mut add = |name: &str, copies: Vec<f64>, objective: f64, machines: f64| {
        let mut row = vec![Cell::from(name)];
        row.extend(copies.into_iter().map(Cell::from));
        row.extend([objective, machines].map(Cell::from));
        optimum.rows.push(row);
    };
    let whole_copies = whole.copies.iter().map(|copies| f64::from(*copies)).collect();
    add("optimum in whole copies", whole_copies, whole.objective, whole.machines_used as f64);
    add("optimum in fractional copies", best.copies.clone(), best.objective, best.machines_used);
    for (name, solution) in [(PRINTED, &printed), (SMALLER_STEPS, &smaller)] {
        let name = format!("dual method, {name}, after {} iterations", solution.iterations);
        add(&name, solution.copies.clone(), solution.objective, solution.machines_used);
    }
    let steps = DataTable::new(
        format!(
            "Convergence with several step sizes η₁ of the machines' multiplier (η₂ = 0.3, η₃ = 0.4), in at most \
             {ITERATIONS} iterations"
        ),
        ["η₁", "converged", "iterations", "largest |c − c*| (copies)"].map(str::to_owned).to_vec(),
        tried
            .iter()
            .map(|(step, solution)| {
                let converged = if solution.converged { "yes" } else { "no" };
                vec![
                    Cell::from(*step),
                    Cell::from(converged),
                    Cell::from(solution.iterations as f64),
                    Cell::from(distance(solution, &best)),
                ]
            })
            .collect(),
    );
    Ok(Figure {
        name: "Figure 1".to_owned(),
        about:
            "The dual gradient projection for problem P2. There are four jobs of 10, 20, 5 and 10 tasks with μ = 1, \
                2, 1, 2 and α = 2 on 100 machines, and r = 8. The figure does not name γ; here it is 0.01. The paper's \
                stopping test compares c^{k+1} with itself. Here it compares c^{k+1} with c^k, and the multipliers \
                must have converged, too. Nothing is random: every number follows from the formulas."
                .to_owned(),
        claims: claims(&printed, &smaller, &best, &tried),
        tables: vec![optimum, steps, trace(PRINTED, &printed), trace(SMALLER_STEPS, &smaller)],
    })
}

fn claims(
    printed: &DualSolution,
    smaller: &DualSolution,
    best: &ContinuousSolution,
    tried: &[(f64, DualSolution)],
) -> Vec<Claim> {
    let both = [(PRINTED, printed), (SMALLER_STEPS, smaller)];
    let iterations = both.map(|(name, solution)| {
        let number = solution.converged.then_some(solution.iterations as f64);
        Measured::exact(name, "iterations until the method converges; no value if it does not", number, "iterations")
    });
    // The largest change of a number of copies from one iteration to the next, in the last 50 iterations.
    let swing = |solution: &DualSolution| {
        let last = solution.trace.iter().rev().take(50);
        last.map(|iteration| iteration.change).fold(0.0, f64::max)
    };
    let converging = tried.iter().filter(|(_, solution)| solution.converged).count();
    let largest = tried.iter().find(|(_, solution)| solution.converged);
    vec![
        Claim::judge(
            "With η = 0.2, 0.3, 0.4 the number of copies converges to the optimum",
            "IV-A, Fig. 1",
            Expected::at_most(0.01),
            vec![Measured::exact(
                PRINTED,
                &format!("largest |c − c*| in the last 50 of {} iterations", printed.iterations),
                Some(last_distance(printed, best)),
                "copies from the optimum",
            )],
            format!(
                "In the last 50 of {} iterations with the printed steps, a number of copies c still changes by up to \
                 {:.1} copies from one iteration to the next. The step η₁ for the multiplier ν is too large: ν is in \
                 hundredths, but each iteration adds η₁ times the excess of machines, Σ m·c − N, which is in tens.",
                printed.iterations,
                swing(printed)
            ),
        ),
        Claim::judge(
            "The method can converge very fast to the optimum",
            "IV-A, Fig. 1",
            Expected::at_most(100.0),
            iterations.to_vec(),
            format!(
                "Very fast is taken as at most 100 iterations. With the smaller steps, the result differs from the \
                 optimum by {} copies at most.",
                number_text(distance(smaller, best))
            ),
        ),
        Claim::judge(
            "The method converges to the global optimum whenever the steps are positive",
            "Theorem 2",
            Expected::at_least(100.0),
            vec![Measured::exact(
                "analysis",
                &format!("share of {} positive steps η₁ from 0.0002 to 0.2 that converge", tried.len()),
                Some(100.0 * converging as f64 / tried.len() as f64),
                "%",
            )],
            largest.map_or_else(String::new, |(step, _)| {
                format!(
                    "The largest of these steps with which the method converges is {step}. The paper's proof is for a \
                     continuous flow, not for steps."
                )
            }),
        ),
    ]
}

/// Returns the largest difference between a number of copies and the optimum, in copies.
fn apart(copies: &[f64], best: &ContinuousSolution) -> f64 {
    copies.iter().zip(&best.copies).map(|(one, other)| (one - other).abs()).fold(0.0, f64::max)
}

/// Returns the largest difference between the solution and the optimum, in copies.
fn distance(solution: &DualSolution, best: &ContinuousSolution) -> f64 {
    apart(&solution.copies, best)
}

/// Returns the largest distance from the optimum in the last 50 iterations, in copies. A solution that oscillates may
/// be close to the optimum in a single iteration.
fn last_distance(solution: &DualSolution, best: &ContinuousSolution) -> f64 {
    solution.trace.iter().rev().take(50).map(|iteration| apart(&iteration.copies, best)).fold(0.0, f64::max)
}

/// Number of iterations at the beginning that are all shown, so that oscillations are visible.
const SHOWN_ONE_BY_ONE: usize = 10;

/// Returns a table of iterations: the first [`SHOWN_ONE_BY_ONE`], then every 10th up to 100, every 100th up to 1000 and
/// every 1000th, and the last four.
fn trace(name: &str, solution: &DualSolution) -> DataTable {
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
    DataTable {
        plot: Some(Plot {
            title: format!("Copies in the first {SHOWN_ONE_BY_ONE} iterations, {name}"),
            x: "iteration".to_owned(),
            y: "copies of each task".to_owned(),
            shape: PlotShape::Columns,
            curves: columns[1..5].to_vec(),
            rows: Some(SHOWN_ONE_BY_ONE),
        }),
        ..DataTable::new(format!("Iterations of the dual method, {name}"), columns.to_vec(), rows.collect())
    }
}
