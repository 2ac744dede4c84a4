//! `dolly` clones all tasks of a small job, so that a straggler rarely delays it. It admits a job to cloning only while
//! the clones stay within a budget of the cluster's resources.
//!
//! Paper: Ananthanarayanan, Ghodsi, Shenker & Stoica, "Effective Straggler Mitigation: Attack of the Clones", NSDI
//! 2013.
//!
//! Algorithm: assume that each copy of a task straggles with probability p, independently. A job of n tasks with c
//! copies of each task (clones of tasks, not of jobs) is delayed by a straggler with probability
//!
//! ```text
//! 1 - (1 - p^c)^n <= epsilon    for    c = ceil( log(1 - (1 - epsilon)^(1/n)) / log p )
//! ```
//!
//! A small job requests that c when it starts. It is admitted if the clones stay within a budget β of the cluster's
//! capacity, and if at most a share τ of the capacity is then in use:
//!
//! ```text
//! budget used + clones of the job <= β · capacity    and    resources in use + clones of the job <= τ · capacity
//! ```
//!
//! All tasks of an admitted job are cloned, each one when it starts. Cloning only some of them would not help, because
//! one task without clones can delay the job as before. The first copy to finish wins.
//!
//! Passes: `[Originals(order), Clones(small jobs, budget)]`.
//!
//! Readings where the paper is silent or speaks of slots:
//! - c counts all copies, so a job has (c − 1)·n clones.
//! - n counts the tasks of all phases. So does the claim on the budget, because the later phases of an admitted job
//!   need their clones too. Tasks that were finished before the job arrived are not counted.
//! - Budget and utilisation hold in every resource dimension.
//! - A task's claim on the budget ends when the task has finished and its copies have ended.
//! - A job is small if it has at most `small` tasks; the paper's smallest class of jobs has 1 to 10.
//! - A job is admitted or rejected once, after the originals of the round in which its first task starts.
//! - A clone goes to a node without a copy of its task. It waits for such a node as long as its task runs.
//! - A task that has lost all copies is started and cloned again.
//! - If the cluster shrinks below the size for which the budget was granted, clones wait.
//! - Tasks that may not have a second copy get no clones.
//! - Delay assignment, the paper's remedy for contention over intermediate data, is not implemented.

use std::collections::{BTreeMap, BTreeSet};

use hindmost_core::cluster::{Applied, Cluster, Job, Task};
use hindmost_core::ids::{AttemptId, JobId, TaskId};
use hindmost_core::record::{Decision, Event};
use hindmost_core::resources::Resources;

use hindmost_core::policy::{Pass, Round, Seen, View};

crate::parameters! {
    /// The parameters of `dolly`.
    pub struct DollyParameters {
        /// a job is small if it has at most this many tasks
        pub small: u32 = 10, in 1..=1_000_000, unit "tasks";
        /// probability that a copy is a straggler
        pub p: f64 = 0.05, in 0.0..1.0;
        /// accepted probability that a cloned job still has a straggler
        pub epsilon: f64 = 0.05, in 0.0..1.0;
        /// share of the cluster's capacity that clones may hold
        pub budget: f64 = 0.05, in 0.0..=1.0;
        /// share of the cluster's capacity in use, clones included, above which no job is cloned
        pub utilization: f64 = 0.8, in 0.0..=1.0;
    }
}

/// Returns the number of copies of each task with which a job of `tasks` tasks has a straggler with a probability of at
/// most `epsilon`, if each copy straggles with probability `straggler`. The number is at least 1; it is `u32::MAX` if
/// no number is enough.
pub fn copies_for(tasks: u64, straggler: f64, epsilon: f64) -> u32 {
    // The accepted probability for one task, 1 - (1 - epsilon)^(1/n), computed without loss of digits for small
    // numbers.
    let of_a_task = -((-epsilon).ln_1p() / tasks.max(1) as f64).exp_m1();
    let copies = of_a_task.ln() / straggler.ln();
    // Rounding may make a whole quotient slightly larger, as for one task and p = epsilon.
    let copies = (copies - 1e-9).ceil();
    if copies.is_nan() { 1 } else { copies.max(1.0) as u32 }
}

/// The pass that clones small jobs.
pub struct CloneSmallJobs {
    parameters: DollyParameters,
    /// Small jobs that have started, with the number of copies of each of their tasks: 1 if the job is not admitted.
    copies: BTreeMap<JobId, u32>,
    /// Small jobs that have started since the last round.
    new_jobs: Vec<JobId>,
    /// Running tasks of admitted jobs that need more clones.
    waiting: BTreeSet<TaskId>,
    /// The resources that the clones of admitted jobs hold or may still need.
    claimed: Resources,
    /// The resources that all attempts hold.
    in_use: Resources,
}

/// Returns an amount multiplied by `times`.
pub(crate) fn multiple(amount: &Resources, times: u64) -> Resources {
    Resources(amount.0.map(|units| units.saturating_mul(times)))
}

/// Returns true if an amount is at most this share of `total` in every dimension.
pub(crate) fn within(amount: &Resources, share: f64, total: &Resources) -> bool {
    // An excess of half a unit (a cpu has 1000) is rounding: 0.05 × 20 slots are one slot.
    amount.0.iter().zip(&total.0).all(|(amount, total)| *amount as f64 <= share * *total as f64 + 0.5)
}

impl CloneSmallJobs {
    /// Creates the pass with these parameters.
    pub fn new(parameters: DollyParameters) -> CloneSmallJobs {
        CloneSmallJobs {
            parameters,
            copies: BTreeMap::new(),
            new_jobs: Vec::new(),
            waiting: BTreeSet::new(),
            claimed: Resources::NONE,
            in_use: Resources::NONE,
        }
    }

    fn started(&mut self, attempt: AttemptId, cluster: &Cluster) {
        let task = attempt.task;
        let Some((job, phase)) = cluster.job(task.job).zip(cluster.phase(task)) else { return };
        self.in_use = self.in_use.plus(phase.demand());
        if job.tasks_to_do() > u64::from(self.parameters.small) {
            return;
        }
        match self.copies.get(&task.job) {
            None => {
                self.copies.insert(task.job, 1);
                self.new_jobs.push(task.job);
            }
            Some(1) => {}
            // The task of an admitted job has started, possibly again after it had lost all copies.
            Some(_) if cluster.task(task).is_some_and(|task| task.running_copies() == 1) && phase.may_be_copied() => {
                self.waiting.insert(task);
            }
            Some(_) => {}
        }
    }

    fn ended(&mut self, attempt: AttemptId, applied: Applied, cluster: &Cluster) {
        let task = attempt.task;
        let Some((job, phase)) = cluster.job(task.job).zip(cluster.phase(task)) else { return };
        if applied.released.is_none() {
            return;
        }
        self.in_use = self.in_use.minus(phase.demand());
        if let Some(copies) = self.copies.get(&task.job)
            && phase.may_be_copied()
            && cluster.task(task).is_some_and(|task| task.is_finished() && task.running_copies() == 0)
        {
            self.claimed = self.claimed.minus(&multiple(phase.demand(), u64::from(copies - 1)));
        }
        if job.finished().is_some() && job.running_copies() == 0 {
            self.copies.remove(&task.job);
        }
    }

    /// Recomputes the resources that attempts hold and clones claim, after a node was lost with all its attempts.
    fn recount(&mut self, cluster: &Cluster) {
        let held = cluster.jobs().map(Job::in_use);
        self.in_use = held.fold(Resources::NONE, |sum, held| sum.plus(&held));
        self.copies
            .retain(|job, _| cluster.job(*job).is_some_and(|job| job.finished().is_none() || job.running_copies() > 0));
        let claims = self.copies.iter().map(|(job, copies)| claim(cluster, *job, *copies));
        self.claimed = claims.fold(Resources::NONE, |sum, claim| sum.plus(&claim));
    }

    /// Admits or rejects the small jobs that have started since the last round.
    fn admit(&mut self, cluster: &Cluster) {
        let mut in_use = self.in_use;
        for id in std::mem::take(&mut self.new_jobs) {
            let Some(job) = cluster.job(id).filter(|job| job.finished().is_none()) else { continue };
            let copies = copies_for(job.tasks_to_do(), self.parameters.p, self.parameters.epsilon);
            let clones = claim(cluster, id, copies);
            let (claimed, used) = (self.claimed.plus(&clones), in_use.plus(&clones));
            let total = cluster.total();
            let admitted = copies > 1
                && within(&claimed, self.parameters.budget, total)
                && within(&used, self.parameters.utilization, total);
            self.copies.insert(id, if admitted { copies } else { 1 });
            if admitted {
                (self.claimed, in_use) = (claimed, used);
                self.waiting.extend(running_without_clones(cluster, id));
            }
        }
    }
}

/// Returns the resources that a job's clones need if each task has this many copies. Counts the tasks that have not
/// finished or still have running copies.
fn claim(cluster: &Cluster, job: JobId, copies: u32) -> Resources {
    let phases = cluster.job(job).map_or(&[][..], Job::phases);
    let open = phases.iter().filter(|phase| phase.may_be_copied()).map(|phase| {
        let tasks = phase.tasks().iter().filter(|task| !task.is_finished() || task.running_copies() > 0).count() as u64;
        multiple(phase.demand(), tasks.saturating_mul(u64::from(copies.saturating_sub(1))))
    });
    open.fold(Resources::NONE, |sum, claim| sum.plus(&claim))
}

/// Returns the tasks of a job that run with one copy and may be cloned.
fn running_without_clones(cluster: &Cluster, job: JobId) -> impl Iterator<Item = TaskId> + '_ {
    let phases = cluster.job(job).map_or(&[][..], Job::phases).iter().enumerate();
    phases.filter(|(_, phase)| phase.may_be_copied()).flat_map(move |(at, phase)| {
        let running =
            phase.tasks().iter().enumerate().filter(|(_, task)| !task.is_finished() && task.running_copies() == 1);
        running.map(move |(index, _)| TaskId { job, phase: at as u32, index: index as u32 })
    })
}

impl Pass for CloneSmallJobs {
    fn observe(&mut self, seen: Seen<'_>, view: &mut View<'_>) {
        match seen {
            Seen::Decision(Decision::Start { attempt, .. }) => self.started(*attempt, view.cluster),
            Seen::Event(
                Event::AttemptFinished { attempt }
                | Event::AttemptFailed { attempt, .. }
                | Event::AttemptStopped { attempt },
                applied,
            ) => self.ended(*attempt, applied, view.cluster),
            Seen::Event(Event::NodeLost { .. }, _) => self.recount(view.cluster),
            _ => {}
        }
    }

    fn decide(&mut self, round: &mut Round<'_>) {
        self.admit(round.cluster());
        if self.waiting.is_empty() || round.cluster().open_nodes() == 0 {
            return;
        }
        if !within(&self.claimed, self.parameters.budget, round.cluster().total()) {
            return;
        }
        let waiting: Vec<TaskId> = self.waiting.iter().copied().collect();
        for task in waiting {
            let running = round.cluster().task(task).filter(|task| !task.is_finished()).map_or(0, Task::running_copies);
            let copies = self.copies.get(&task.job).copied().unwrap_or(1);
            let wanted = copies.saturating_sub(running);
            // A task without running copies is finished or must first get an original again.
            if running == 0 || wanted == 0 {
                self.waiting.remove(&task);
                continue;
            }
            let mut started = 0;
            while started < wanted && round.start_copies(task, 1).started == 1 {
                started += 1;
                round.because(|| format!("its job is small and cloned: each of its tasks starts with {copies} copies"));
            }
            if started == wanted {
                self.waiting.remove(&task);
            }
            if round.cluster().open_nodes() == 0 {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::copies_for;

    #[test]
    fn copies_follow_the_formula() {
        // By hand: 1 - 0.95^(1/10) = 0.005116, log of it -5.2753; log 0.05 = -2.9957; quotient 1.761.
        assert_eq!(copies_for(10, 0.05, 0.05), 2);
        // 1 - 0.995^(1/10) = 0.00050113, -7.5987; quotient 2.54.
        assert_eq!(copies_for(10, 0.05, 0.005), 3);
        // 1 - 0.95^(1/50) = 0.0010253, -6.8827; quotient 2.297.
        assert_eq!(copies_for(50, 0.05, 0.05), 3);
        // With p = 0.2: -5.2753 / -1.6094 = 3.278.
        assert_eq!(copies_for(10, 0.2, 0.05), 4);
        // One task and p = epsilon: one copy is just enough; a smaller epsilon needs two.
        assert_eq!((copies_for(1, 0.05, 0.05), copies_for(1, 0.05, 0.0499)), (1, 2));
        // Two tasks, p = 1/2, epsilon about 2/1024, so 1/1024 for each task: ten copies.
        assert_eq!(copies_for(2, 0.5, 1.0 - (1023.0 / 1024.0f64).powi(2)), 10);
    }

    #[test]
    fn copies_are_the_smallest_sufficient_number() {
        for tasks in [1u64, 2, 3, 9, 10, 77, 1000] {
            for straggler in [0.01, 0.05, 0.2, 0.5, 0.9] {
                for epsilon in [1e-6, 0.01, 0.05, 0.3] {
                    let delayed = |copies: u32| 1.0 - (1.0 - f64::powf(straggler, copies.into())).powf(tasks as f64);
                    let copies = copies_for(tasks, straggler, epsilon);
                    assert!(delayed(copies) <= epsilon * (1.0 + 1e-6), "{tasks}, {straggler}, {epsilon}: {copies}");
                    assert!(copies == 1 || delayed(copies - 1) > epsilon, "{tasks}, {straggler}, {epsilon}: {copies}");
                }
            }
        }
    }

    #[test]
    fn copies_are_defined_for_extreme_probabilities() {
        assert_eq!(copies_for(10, 0.0, 0.05), 1);
        assert_eq!(copies_for(10, 0.05, 0.0), u32::MAX);
        assert_eq!(copies_for(10, 0.0, 0.0), 1);
        assert_eq!(copies_for(0, 0.05, 0.05), 1);
    }
}
