//! Computes how many copies of each task to start when jobs begin: problem P2 (Xu & Lau 2015, section IV-A).
//!
//! Jobs j of m_j tasks start together on N idle machines, with c_j copies of each task. P2 maximises
//! Σ −E\[d_j(c_j)] − γ·Σ m_j·c_j·E\[min of c_j copies] subject to 1 ≤ c_j ≤ r and Σ m_j·c_j ≤ N, where
//! E\[d_j(c)] = ∫₀^∞ 1 − (1 − S^c)^m dt (Eq. 12) is the expected duration of the job.
//!
//! [`exact`] solves P2 over whole numbers. It first takes the best c of each job without the limit on machines; if
//! these copies fit, which is the usual case, they are the optimum. Otherwise Lagrangian bounds exclude choices that
//! cannot be part of an optimum, and a dynamic programme over machines chooses among the others. The method does not
//! assume that the gain of another copy falls with c, because it does not for durations with a tail lighter than
//! exponential. The greedy rule by gain per machine is not exact either, because jobs differ in size. [`continuous`]
//! solves P2 over real numbers.

use thiserror::Error;

use super::knapsack::{Item, best_choice, solve};
use hindmost_math::distribution::Distribution;
use hindmost_math::numeric::minimize;
use hindmost_math::plain::Plain;

/// A job of problem P2.
#[derive(Clone, Debug, PartialEq)]
pub struct CloneJob {
    /// Number of tasks, which all start together; at least 1.
    pub tasks: u32,
    /// Distribution of the duration of one copy of a task.
    pub duration: Distribution,
}

/// An instance of problem P2.
#[derive(Clone, Debug, PartialEq)]
pub struct CloneProblem {
    /// The jobs to start.
    pub jobs: Vec<CloneJob>,
    /// The number N of idle machines; each runs one copy.
    pub machines: u64,
    /// The maximum number r of copies of a task; at least 1.
    pub max_copies: u32,
    /// The price γ of a machine-time unit, zero or more.
    pub gamma: f64,
}

impl CloneProblem {
    /// Returns the instance of the paper's Fig. 1: four jobs of m = 10, 20, 5, 10 tasks with μ = 1, 2, 1, 2, α = 2, N =
    /// 100 machines and r = 8. The figure does not state γ; 0.01 is the value of the paper's simulations.
    ///
    /// # Errors
    /// Never, because the parameters are valid.
    pub fn figure_1() -> Result<Self, hindmost_math::distribution::DistributionError> {
        let jobs = [(10, 1.0), (20, 2.0), (5, 1.0), (10, 2.0)]
            .into_iter()
            .map(|(tasks, minimum)| Ok(CloneJob { tasks, duration: Distribution::pareto(2.0, minimum)? }))
            .collect::<Result<_, _>>()?;
        Ok(Self { jobs, machines: 100, max_copies: 8, gamma: 0.01 })
    }

    /// Returns the objective: −E\[d_j(c)] − γ·m_j·c·E\[min of c copies], summed over jobs. Returns NaN if `copies` does
    /// not have one entry for each job.
    pub fn objective(&self, copies: &[f64]) -> f64 {
        if copies.len() != self.jobs.len() {
            return f64::NAN;
        }
        self.jobs.iter().zip(copies).map(|(job, &copies)| job.value(copies, self.gamma)).sum()
    }

    /// Returns the number of machines that the copies take, Σ m_j·c_j.
    pub fn machines_used(&self, copies: &[f64]) -> f64 {
        self.jobs.iter().zip(copies).map(|(job, copies)| f64::from(job.tasks) * copies).sum()
    }

    /// Checks that the parameters are valid and that a solution exists.
    ///
    /// # Errors
    /// See [`CloneError`].
    pub fn check(&self) -> Result<(), CloneError> {
        check(self.jobs.iter().map(|job| job.tasks), self.machines, self.max_copies, self.gamma)
    }
}

impl CloneJob {
    /// Returns the job's term of the objective with `copies` copies of each task; −∞ if the expected duration is
    /// infinite.
    pub fn value(&self, copies: f64, gamma: f64) -> f64 {
        let tasks = f64::from(self.tasks);
        let duration = self.duration.expected_maximum_of_minima(tasks, copies);
        let machine_time = tasks * copies * self.duration.expected_minimum(copies);
        let price = if gamma == 0.0 { 0.0 } else { gamma * machine_time };
        if duration.is_finite() { -duration - price } else { f64::NEG_INFINITY }
    }
}

/// The error for a problem without a solution.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum CloneError {
    /// There are more tasks than machines.
    #[error("{tasks} tasks don't fit on {machines} machines: each needs at least one copy")]
    Infeasible {
        /// The number of tasks of all jobs.
        tasks: u64,
        /// The number of idle machines.
        machines: u64,
    },
    /// A parameter is outside its range.
    #[error("{parameter} = {}: must be {valid}", Plain(*value))]
    Parameter {
        /// Name of the parameter.
        parameter: &'static str,
        /// The value of the parameter.
        value: f64,
        /// A phrase for the valid values.
        valid: &'static str,
    },
}

/// A solution in whole numbers of copies.
#[derive(Clone, Debug, PartialEq)]
pub struct CloneSolution {
    /// For each job, the number of copies of each of its tasks.
    pub copies: Vec<u32>,
    /// The objective of this solution.
    pub objective: f64,
    /// The number of machines that the copies take.
    pub machines_used: u64,
    /// Upper bound of the optimum minus `objective`; 0 if the solution is exact.
    pub gap: f64,
}

/// A solution in real numbers of copies.
#[derive(Clone, Debug, PartialEq)]
pub struct ContinuousSolution {
    /// For each job, the number of copies of each of its tasks.
    pub copies: Vec<f64>,
    /// The objective of this solution.
    pub objective: f64,
    /// The number of machines that the copies take.
    pub machines_used: f64,
    /// The multiplier ν of the machines: the increase of the objective by one more machine. 0 if the limit on machines
    /// does not bind.
    pub multiplier: f64,
}

/// The expectations that the solver needs for a job, for 1, 2, … copies of each task and durations of mean 1.
///
/// The expectations depend only on the number of tasks and on the shape of the distribution, and scale with the mean.
/// So one table serves all jobs with the same number of tasks and the same shape.
#[derive(Clone, Debug, PartialEq)]
pub struct CloneTable {
    tasks: u32,
    /// (E\[d(c)], E\[min of c copies]) for c = 1, 2, …
    entries: Vec<(f64, f64)>,
}

impl CloneTable {
    /// Computes the table for `tasks` tasks whose durations have the shape of `shape` (its scale does not matter) and
    /// up to `max_copies` copies. If durations are always 0, all expectations are 0.
    pub fn new(tasks: u32, shape: &Distribution, max_copies: u32) -> Self {
        let tasks = tasks.max(1);
        let mean = shape.mean();
        let scale = if mean > 0.0 { 1.0 / mean } else { 0.0 };
        let entries = (1..=max_copies.max(1))
            .map(|copies| {
                let copies = f64::from(copies);
                let duration = shape.expected_maximum_of_minima(f64::from(tasks), copies);
                (duration * scale, shape.expected_minimum(copies) * scale)
            })
            .collect();
        Self { tasks, entries }
    }

    /// Returns the number of tasks that the table is for.
    pub fn tasks(&self) -> u32 {
        self.tasks
    }

    /// Returns the job's terms of the objective with 1, 2, … copies.
    fn values(&self, mean: f64, gamma: f64) -> Vec<f64> {
        let tasks = f64::from(self.tasks);
        self.entries
            .iter()
            .zip(1_u32..)
            .map(|(&(duration, minimum), copies)| -mean * (duration + gamma * tasks * f64::from(copies) * minimum))
            .collect()
    }
}

/// Returns the best number of copies of a job without a limit on machines (Eq. 29): the c from 1 to the table's end
/// that maximises −E\[d(c)] − γ·m·c·E\[min]. If several numbers are equally good, returns the smallest.
pub fn best_alone(table: &CloneTable, mean: f64, gamma: f64) -> u32 {
    best_choice(&table.values(mean, gamma)) as u32 + 1
}

/// Returns the optimum over whole numbers. The module's documentation describes the method.
///
/// The solution is exact if the product jobs × copies × (machines − tasks), after pruning, is at most 10⁸, which takes
/// some tenths of a second. Otherwise it is the greedy solution, and [`CloneSolution::gap`] bounds its distance from
/// the optimum.
///
/// # Errors
/// [`CloneError::Infeasible`] if Σ m_j > N. [`CloneError::Parameter`] if γ is negative or not finite, `max_copies` is 0
/// or a job has no tasks.
pub fn exact(problem: &CloneProblem) -> Result<CloneSolution, CloneError> {
    problem.check()?;
    let tasks: u64 = problem.jobs.iter().map(|job| u64::from(job.tasks)).sum();
    let table = |job: &CloneJob| {
        // The table needs no entries for more copies than fit beside one copy of each task of the other jobs.
        let fit = 1 + (problem.machines - tasks) / u64::from(job.tasks);
        CloneTable::new(job.tasks, &job.duration, u64::from(problem.max_copies).min(fit) as u32)
    };
    let tables: Vec<CloneTable> = problem.jobs.iter().map(table).collect();
    let jobs: Vec<_> = tables.iter().zip(&problem.jobs).map(|(table, job)| (table, job.duration.mean())).collect();
    exact_with_tables(&jobs, problem.machines, problem.gamma)
}

/// Returns the same as [`exact`] for jobs that are given as tables and mean durations. The length of a job's table is
/// the limit r on its copies.
///
/// # Errors
/// The errors of [`exact`].
pub fn exact_with_tables(jobs: &[(&CloneTable, f64)], machines: u64, gamma: f64) -> Result<CloneSolution, CloneError> {
    check(jobs.iter().map(|(table, _)| table.tasks), machines, 1, gamma)?;
    let choices: Vec<Item> = jobs
        .iter()
        .map(|(table, mean)| Item { weight: u64::from(table.tasks), values: table.values(*mean, gamma) })
        .collect();
    let tasks: u64 = choices.iter().map(|item| item.weight).sum();
    let (chosen, gap) = solve(&choices, machines - tasks);
    Ok(CloneSolution {
        objective: choices.iter().zip(&chosen).map(|(item, &choice)| item.values[choice]).sum(),
        machines_used: choices.iter().zip(&chosen).map(|(item, &choice)| item.weight * (choice as u64 + 1)).sum(),
        copies: chosen.into_iter().map(|choice| choice as u32 + 1).collect(),
        gap,
    })
}

/// Returns the optimum over real numbers of copies, 1 ≤ c_j ≤ r.
///
/// For a multiplier ν of the machines, each job takes the c that maximises its value − ν·m·c; bisection finds the
/// smallest ν at which the machines suffice. The result is exact to about 1e-7 of each c if the objective is concave in
/// c: this holds for Pareto, exponential and other durations with tails no lighter than exponential (the paper's Lemma
/// 1). For other durations the allocation may jump with ν. The result is then feasible, and optimal only among mixtures
/// of the allocations on both sides of the jump.
///
/// # Errors
/// The errors of [`exact`].
pub fn continuous(problem: &CloneProblem) -> Result<ContinuousSolution, CloneError> {
    problem.check()?;
    let machines = problem.machines as f64;
    let most = f64::from(problem.max_copies);
    let allocate = |multiplier: f64| -> Vec<f64> {
        problem
            .jobs
            .iter()
            .map(|job| {
                let price = multiplier * f64::from(job.tasks);
                best_real(|copies| price * copies - job.value(copies, problem.gamma), 1.0, most)
            })
            .collect()
    };
    let mut copies = allocate(0.0);
    let mut multiplier = 0.0;
    if problem.machines_used(&copies) > machines {
        let (mut low, mut high) = (0.0_f64, 1.0_f64);
        let mut inside = allocate(high);
        while problem.machines_used(&inside) > machines && high < 1e300 {
            (low, copies) = (high, inside);
            high *= 4.0;
            inside = allocate(high);
        }
        while high - low > 1e-13 * high {
            let middle = 0.5 * (low + high);
            let tried = allocate(middle);
            if problem.machines_used(&tried) > machines {
                (low, copies) = (middle, tried);
            } else {
                (high, inside) = (middle, tried);
            }
        }
        multiplier = high;
        // `copies` needs too many machines and `inside` does not; they differ by rounding or by a jump. The mixture of
        // both that fills the machines is taken.
        let (over, under) = (problem.machines_used(&copies), problem.machines_used(&inside));
        let share = if over > under { ((machines - under) / (over - under)).clamp(0.0, 1.0) } else { 0.0 };
        for (copies, inside) in copies.iter_mut().zip(inside) {
            *copies = inside + share * (*copies - inside);
        }
    }
    Ok(ContinuousSolution {
        objective: problem.objective(&copies),
        machines_used: problem.machines_used(&copies),
        copies,
        multiplier,
    })
}

/// Returns the minimiser of `cost` on [`low`, `high`]. It searches a grid first and then between the neighbours of the
/// best grid point, so it misses the global minimum only if this is in a narrow valley.
fn best_real(cost: impl Fn(f64) -> f64, low: f64, high: f64) -> f64 {
    const STEPS: u32 = 24;
    if high <= low {
        return low;
    }
    // Grid points have equal ratios, because the range between 1 and 2 copies matters most.
    let place = |step: u32| {
        if step == STEPS { high } else { low * (high / low).powf(f64::from(step) / f64::from(STEPS)) }
    };
    let mut best = (0, f64::INFINITY);
    for step in 0..=STEPS {
        let value = cost(place(step));
        if value < best.1 {
            best = (step, value);
        }
    }
    let left = place(best.0.saturating_sub(1));
    let right = place((best.0 + 1).min(STEPS));
    let inside = minimize(&cost, left, right);
    // Return an end of the range itself if it is as good.
    [low, high].into_iter().fold(inside, |best, end| if cost(end) <= cost(best) { end } else { best })
}

fn check(
    tasks: impl Iterator<Item = u32> + Clone,
    machines: u64,
    max_copies: u32,
    gamma: f64,
) -> Result<(), CloneError> {
    let error = |parameter, value, valid| Err(CloneError::Parameter { parameter, value, valid });
    if !(gamma >= 0.0 && gamma.is_finite()) {
        return error("gamma", gamma, "zero or more and finite");
    }
    if max_copies == 0 {
        return error("max_copies", 0.0, "at least 1");
    }
    if tasks.clone().any(|tasks| tasks == 0) {
        return error("tasks", 0.0, "at least 1");
    }
    let tasks: u64 = tasks.map(u64::from).sum();
    if tasks > machines {
        return Err(CloneError::Infeasible { tasks, machines });
    }
    Ok(())
}
