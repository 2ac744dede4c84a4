//! The paper's own method for P2: gradient projection on the dual (section IV-A, Eq. 14–16).
//!
//! Each iteration maximises the Lagrangian over every c_j by itself and then moves the multipliers
//! along the violated constraints, by the steps η₁ (machines, ν), η₂ (c ≤ r, ξ) and η₃ (c ≥ 1, h).
//! The printed stopping test compares c^{k+1} with itself; here it is c^{k+1} with c^k, together with
//! the condition that the multipliers stand still too (complementary slackness): c may rest at an end
//! of its domain while ν is still on its way.
//!
//! With the printed steps ([`PRINTED_STEPS`]) the iteration oscillates on Fig. 1's own case: Σ m·c − N
//! is in tens of machines while ν is in hundredths, so the step for ν must be a hundred times smaller
//! ([`DEFAULT_STEPS`]; the other two stay as printed). No fixed steps suit every case: with γ = 0 and
//! many machines the optimum is so flat that these oscillate as well, and the result says so.
//!
//! The inner maximum is taken over c from the least number for which durations have a finite mean
//! (1/α for Pareto, else 0) to 16·r: without an upper end it would run away wherever ν = 0. Where the
//! iteration oscillates, that end decides how widely.

use super::clones::{CloneError, CloneProblem};
use hindmost_math::distribution::Distribution;
use hindmost_math::numeric::minimize;

/// The paper's steps η₁, η₂, η₃.
pub const PRINTED_STEPS: [f64; 3] = [0.2, 0.3, 0.4];
/// Steps that converge on Fig. 1's case.
pub const DEFAULT_STEPS: [f64; 3] = [0.002, 0.3, 0.4];
/// Where the paper starts: every multiplier at 0.1, and c = 1.
pub const START: DualStart = DualStart { copies: 1.0, nu: 0.1, xi: 0.1, h: 0.1 };
/// The inner maximum is searched up to so many times r.
const DOMAIN: f64 = 16.0;

/// Where the iteration starts, the same for all jobs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DualStart {
    /// Copies c of every job: only the first comparison of c sees it.
    pub copies: f64,
    /// Multiplier ν of the machines.
    pub nu: f64,
    /// Multipliers ξ of c ≤ r.
    pub xi: f64,
    /// Multipliers h of c ≥ 1.
    pub h: f64,
}

/// One iteration.
#[derive(Clone, Debug, PartialEq)]
pub struct DualIteration {
    /// Copies of each job after it.
    pub copies: Vec<f64>,
    /// The multiplier ν after it.
    pub nu: f64,
    /// Largest change of a c in it.
    pub change: f64,
}

/// How the iteration ended.
#[derive(Clone, Debug, PartialEq)]
pub struct DualSolution {
    /// Copies after the last iteration. Without convergence they need not be feasible.
    pub copies: Vec<f64>,
    /// The objective of P2 (not of its dual) at these copies.
    pub objective: f64,
    /// Machines that they take.
    pub machines_used: f64,
    /// Whether c stood still and the optimality conditions held to the tolerance.
    pub converged: bool,
    /// Iterations made.
    pub iterations: usize,
    /// One entry an iteration.
    pub trace: Vec<DualIteration>,
}

/// Runs the iteration from `start` with steps η₁, η₂, η₃ until c moves by less than `tolerance` and the
/// optimality conditions hold to `tolerance` (of c; the machines relative to the number of tasks), or
/// `max_iterations` are made, which is reported and not an error.
///
/// # Errors
/// As [`super::clones::exact`]; steps or a tolerance that aren't positive and finite.
pub fn dual(
    problem: &CloneProblem,
    steps: [f64; 3],
    start: DualStart,
    tolerance: f64,
    max_iterations: usize,
) -> Result<DualSolution, CloneError> {
    problem.check()?;
    for value in steps.into_iter().chain([tolerance]) {
        if !(value > 0.0 && value.is_finite()) {
            return Err(CloneError::Parameter { parameter: "step or tolerance", value, valid: "positive and finite" });
        }
    }
    for value in [start.copies, start.nu, start.xi, start.h] {
        if !(value >= 0.0 && value.is_finite()) {
            return Err(CloneError::Parameter { parameter: "start", value, valid: "zero or more and finite" });
        }
    }
    let count = problem.jobs.len();
    let machines = problem.machines as f64;
    let most = f64::from(problem.max_copies);
    let all_tasks: f64 = problem.jobs.iter().map(|job| f64::from(job.tasks)).sum::<f64>().max(1.0);
    let mut copies = vec![start.copies; count];
    let (mut nu, mut xi, mut h) = (start.nu, vec![start.xi; count], vec![start.h; count]);
    let mut trace = Vec::new();
    let mut converged = count == 0;
    while !converged && trace.len() < max_iterations {
        let mut change = 0.0_f64;
        // Largest violation of feasibility or complementary slackness, in copies.
        let mut violation = 0.0_f64;
        for (place, job) in problem.jobs.iter().enumerate() {
            let price = nu * f64::from(job.tasks) + xi[place] - h[place];
            let cost = |log: f64| price * log.exp() - job.value(log.exp(), problem.gamma);
            let new = minimize(cost, least_copies(&job.duration).ln(), (DOMAIN * most).ln()).exp();
            change = change.max((new - copies[place]).abs());
            copies[place] = new;
            violation = violation.max(project(&mut xi[place], steps[1], new - most)).max(project(
                &mut h[place],
                steps[2],
                1.0 - new,
            ));
        }
        let excess = problem.machines_used(&copies) - machines;
        violation = violation.max(project(&mut nu, steps[0], excess) / all_tasks);
        trace.push(DualIteration { copies: copies.clone(), nu, change });
        converged = change < tolerance && violation < tolerance;
    }
    Ok(DualSolution {
        objective: problem.objective(&copies),
        machines_used: problem.machines_used(&copies),
        copies,
        converged,
        iterations: trace.len(),
        trace,
    })
}

/// One projected step of a multiplier, and by how much it moved per unit of step: 0 only where its
/// constraint holds and it is complementary to its slack.
fn project(multiplier: &mut f64, step: f64, excess: f64) -> f64 {
    let before = *multiplier;
    *multiplier = (before + step * excess).max(0.0);
    (*multiplier - before).abs() / step
}

/// Just above the number of copies below which the mean of the shortest is infinite.
fn least_copies(duration: &Distribution) -> f64 {
    match duration {
        Distribution::Pareto(pareto) if pareto.maximum().is_none() => (1.0 + 1e-9) / pareto.alpha(),
        _ => 1e-3,
    }
}
