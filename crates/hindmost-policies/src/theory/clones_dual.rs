//! Solves problem P2 with the paper's own method: gradient projection on the dual (Xu & Lau 2015, section IV-A, Eq.
//! 14–16).
//!
//! Each iteration maximises the Lagrangian over each c_j separately. It then moves the multipliers along the violated
//! constraints, with the steps η₁ (machines, ν), η₂ (c ≤ r, ξ) and η₃ (c ≥ 1, h). The printed stopping test compares
//! c^{k+1} with itself. Here the test compares c^{k+1} with c^k, and also requires that the multipliers do not move
//! (complementary slackness), because c may stay at an end of its domain while ν still moves.
//!
//! The printed steps ([`PRINTED_STEPS`]) oscillate on the instance of the paper's Fig. 1: Σ m·c − N is in tens of
//! machines while ν is in hundredths, so the step for ν must be a hundred times smaller. [`DEFAULT_STEPS`] has this
//! step for ν and the printed steps for ξ and h. No fixed steps converge in every case. For example, with γ = 0 and
//! many machines the optimum is so flat that [`DEFAULT_STEPS`] oscillate too; [`DualSolution::converged`] reports this.
//!
//! The Lagrangian is maximised over c from the least number of copies with a finite mean duration (1/α for Pareto,
//! otherwise 0) to 16·r. Without the upper bound, c would grow without limit while ν = 0. If the iteration oscillates,
//! the upper bound determines the amplitude.

use super::clones::{CloneError, CloneProblem};
use hindmost_math::distribution::Distribution;
use hindmost_math::numeric::minimize;

/// The paper's steps η₁, η₂, η₃.
pub const PRINTED_STEPS: [f64; 3] = [0.2, 0.3, 0.4];
/// Steps η₁, η₂, η₃ that converge on the instance of Fig. 1.
pub const DEFAULT_STEPS: [f64; 3] = [0.002, 0.3, 0.4];
/// The start of the iteration in the paper: every multiplier is 0.1, and c = 1.
pub const START: DualStart = DualStart { copies: 1.0, nu: 0.1, xi: 0.1, h: 0.1 };
/// The Lagrangian is maximised over c up to this many times r.
const DOMAIN: f64 = 16.0;

/// The values with which the iteration starts, the same for all jobs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DualStart {
    /// The number c of copies of each task. Only the stopping test of the first iteration uses it.
    pub copies: f64,
    /// The multiplier ν of the limit on machines.
    pub nu: f64,
    /// The multiplier ξ of the constraint c ≤ r.
    pub xi: f64,
    /// The multiplier h of the constraint c ≥ 1.
    pub h: f64,
}

/// The values after an iteration.
#[derive(Clone, Debug, PartialEq)]
pub struct DualIteration {
    /// The number of copies of each job's tasks.
    pub copies: Vec<f64>,
    /// The multiplier ν of the limit on machines.
    pub nu: f64,
    /// The largest change of a job's number of copies in the iteration.
    pub change: f64,
}

/// The result of the whole method.
#[derive(Clone, Debug, PartialEq)]
pub struct DualSolution {
    /// The number of copies of each job's tasks after the last iteration. If the method has not converged, it may not
    /// be feasible.
    pub copies: Vec<f64>,
    /// The objective of P2 (not of its dual) at these copies.
    pub objective: f64,
    /// The number of machines that these copies take.
    pub machines_used: f64,
    /// True if, in the last iteration, c moved by less than the tolerance and the optimality conditions held to the
    /// tolerance.
    pub converged: bool,
    /// The number of iterations.
    pub iterations: usize,
    /// The values after each iteration, in order.
    pub trace: Vec<DualIteration>,
}

/// Iterates from `start` with the steps η₁, η₂, η₃ until c moves by less than `tolerance` and the optimality conditions
/// hold to `tolerance` (in units of c; for machines, relative to the number of tasks). It stops after `max_iterations`,
/// which is not an error: `converged` is then false.
///
/// # Errors
/// The errors of [`super::clones::exact`]; and an error if a step or the tolerance is not positive and finite, or a
/// start value is negative or not finite.
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
        // The largest violation of feasibility or complementary slackness, in copies.
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

/// Moves a multiplier by one projected step. Returns the absolute change per unit of step, which is 0 only if the
/// constraint holds and the multiplier is complementary to its slack.
fn project(multiplier: &mut f64, step: f64, excess: f64) -> f64 {
    let before = *multiplier;
    *multiplier = (before + step * excess).max(0.0);
    (*multiplier - before).abs() / step
}

/// Returns the lower end of the search for c, just above the numbers of copies for which the mean of the shortest copy
/// is infinite.
fn least_copies(duration: &Distribution) -> f64 {
    match duration {
        Distribution::Pareto(pareto) if pareto.maximum().is_none() => (1.0 + 1e-9) / pareto.alpha(),
        _ => 1e-3,
    }
}
