//! Chooses the number of clones of each job: Algorithm 1 of Alamro, Xu, Lan & Subramaniam, *Shed: Optimal Dynamic
//! Cloning to Meet Application Deadlines in Cloud*.
//!
//! With λ slots on each of m machines, job j of N_j unfinished tasks uses N_j slots for the first copies, and one for
//! its application master. The other slots are for clones. r_j clones of each of its tasks use N_j·r_j slots.
//!
//! - One job alone: r = ⌊(λ·m − N₁ − 1)/N₁⌋ (line 5).
//! - Several jobs: κ = λ·m − Σ N_j − |J| slots are left for clones. All r_j begin at 0. The job with the lowest
//!   [PoCD](super::pocd) gets one more clone of each of its tasks, again and again. A job whose clones do not fit any
//!   more is dropped, and the others go on until all are dropped (lines 8 to 21).
//!
//! Readings and deviations:
//! - r is never below 0: if the first copies do not fit, no job gets clones.
//! - Of jobs with the same PoCD the one with the lower id goes first. Two PoCDs are the same if their logarithms differ by
//!   less than about 1 part in 10¹⁰.
//! - PoCDs are compared by ln(−ln PoCD), so that jobs whose PoCD rounds to 1 or 0 keep their order.
//! - A job whose PoCD does not rise with a clone, R(r + 1) = R(r), remains the job with the lowest PoCD once it is that job,
//!   so the printed algorithm gives it every slot that is left. Such hopeless jobs are skipped, unless [`Hopeless::Clone`]
//!   is chosen. Under R_ru these are the jobs that miss their deadlines with any number of clones. Where clones start from
//!   the beginning, they are also the jobs with less than t_min left until the deadline, whose originals may still
//!   meet it. p = first·clone^r has the same factor for every clone, so that a job is hopeless with every r or with none.
//! - Jobs may have copies of different sizes, in units of a slot, and a largest number of clones. The paper's have
//!   size 1 and no limit: its copies of a task may share a machine. Where they may not, a task has at most as many
//!   clones as there are machines besides that of its original, and slots above this are left to other jobs.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::pocd::MissChance;

/// A job that may get clones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShedJob {
    /// N_j: number of unfinished tasks, at least 1.
    pub tasks: u64,
    /// The probability that one of its tasks misses the deadline.
    pub miss: MissChance,
    /// Slots that a copy of a task uses; 1 in the paper.
    pub copy_slots: f64,
    /// Largest number of clones of a task; with at most one copy of a task on each machine, the number of machines on which
    /// a copy fits minus 1.
    pub most_clones: u32,
}

impl ShedJob {
    /// Creates a job with copies of one slot each, and no limit on clones.
    pub fn new(tasks: u64, miss: MissChance) -> ShedJob {
        ShedJob { tasks, miss, copy_slots: 1.0, most_clones: u32::MAX }
    }

    /// Returns the slots that one copy of every task uses.
    fn slots(&self) -> f64 {
        self.tasks as f64 * self.copy_slots
    }

    /// Returns whether the job may get clones.
    fn may_get_clones(&self, hopeless: Hopeless) -> bool {
        hopeless == Hopeless::Clone || self.miss.falls_with_clones()
    }
}

/// What jobs get whose probability of meeting the deadline no clone raises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hopeless {
    /// No clones.
    Skip,
    /// Clones before all other jobs, as printed.
    Clone,
}

crate::words!(Hopeless: Skip = "skip", Clone = "clone");

/// The slots of a cluster, and the jobs that share them.
#[derive(Clone, Debug, PartialEq)]
pub struct ShedProblem {
    /// The jobs, by id.
    pub jobs: Vec<ShedJob>,
    /// λ·m: number of slots.
    pub slots: f64,
    /// Slots that are used for other things than the jobs' tasks, such as one for each application master.
    pub reserved: f64,
    /// What hopeless jobs get.
    pub hopeless: Hopeless,
}

/// The clones of all jobs.
#[derive(Clone, Debug, PartialEq)]
pub struct ShedPlan {
    /// r_j: number of clones of each task, by job.
    pub clones: Vec<u32>,
    /// Slots that first copies, clones and everything reserved use. More than there are if the first copies do not fit.
    pub slots_used: f64,
}

/// Tolerance for rounding errors in sums of slots. Copies of one slot each give exact sums.
const ROUNDING: f64 = 1e-9;

/// Returns the clones of all jobs by Algorithm 1: the closed form for one job, the greedy choice for several.
///
/// ```
/// use hindmost_policies::theory::pocd::{MissChance, ParetoTail};
/// use hindmost_policies::theory::shed::{Hopeless, ShedJob, ShedProblem, solve};
///
/// // Four tasks of at least 5 s, β = 2, and 10 s until the deadline, on 20 slots: ⌊(20 − 4 − 1)/4⌋ = 3 clones.
/// let miss = MissChance::submitted(ParetoTail::new(5.0, 2.0)?, 10.0);
/// let jobs = vec![ShedJob::new(4, miss)];
/// let plan = solve(&ShedProblem { jobs, slots: 20.0, reserved: 1.0, hopeless: Hopeless::Skip });
/// assert_eq!((plan.clones, plan.slots_used), (vec![3], 17.0));
/// # Ok::<(), hindmost_policies::theory::pocd::PocdError>(())
/// ```
pub fn solve(problem: &ShedProblem) -> ShedPlan {
    match &problem.jobs[..] {
        [job] => problem.plan(vec![most_alone(job, problem)]),
        _ => greedy(problem),
    }
}

/// Returns r = ⌊(λ·m − N − 1)/N⌋, the number of clones of a job that is alone (line 5); at least 0, and at most
/// `most_clones`.
fn most_alone(job: &ShedJob, problem: &ShedProblem) -> u32 {
    if !job.may_get_clones(problem.hopeless) {
        return 0;
    }
    let left = problem.slots - job.slots() - problem.reserved;
    // The conversion turns negative numbers into 0.
    ((left + ROUNDING) / job.slots()).floor().min(f64::from(job.most_clones)) as u32
}

/// Returns the clones of all jobs by the greedy choice of lines 8 to 21, also for one job.
pub fn greedy(problem: &ShedProblem) -> ShedPlan {
    let mut clones = vec![0; problem.jobs.len()];
    let free = problem.slots - problem.plan(clones.clone()).slots_used;
    let mut used = 0.0;
    // The riskiest job comes first, and of equally risky ones that with the lowest id.
    let entry = |at: usize, clones: u32| (Risk::of(&problem.jobs[at], clones), Reverse(at));
    let may_get = |at: &usize| problem.jobs[*at].may_get_clones(problem.hopeless);
    let mut waiting: BinaryHeap<_> = (0..problem.jobs.len()).filter(may_get).map(|at| entry(at, 0)).collect();
    while let Some((_, Reverse(at))) = waiting.pop() {
        let job = &problem.jobs[at];
        // A job whose clones do not fit is dropped.
        if used + job.slots() <= free + ROUNDING && clones[at] < job.most_clones {
            clones[at] += 1;
            used += job.slots();
            waiting.push(entry(at, clones[at]));
        }
    }
    problem.plan(clones)
}

impl ShedProblem {
    fn plan(&self, clones: Vec<u32>) -> ShedPlan {
        let used = self.jobs.iter().zip(&clones).map(|(job, clones)| job.slots() * (1.0 + f64::from(*clones)));
        ShedPlan { slots_used: self.reserved + used.sum::<f64>(), clones }
    }
}

/// ln(−ln PoCD), rounded so that rounding errors do not make equal jobs different.
#[derive(PartialEq)]
struct Risk(f64);

impl Risk {
    /// Number of steps between two whole numbers.
    const STEPS: f64 = 1e10;

    fn of(job: &ShedJob, clones: u32) -> Risk {
        Risk((job.miss.ln_risk(job.tasks, clones) * Risk::STEPS).round())
    }
}

impl Eq for Risk {}

impl Ord for Risk {
    fn cmp(&self, other: &Risk) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Risk {
    fn partial_cmp(&self, other: &Risk) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests;
