//! `dolly`: full cloning of small jobs (Ananthanarayanan, Ghodsi, Shenker & Stoica, "Effective Straggler
//! Mitigation: Attack of the Clones", NSDI 2013).
//!
//! If each copy of a task straggles with probability p, independently, a job of n tasks with c copies each
//! (clones of tasks, not of jobs) is held up by a straggler with probability
//!
//! ```text
//! 1 - (1 - p^c)^n <= epsilon    for    c = ceil( log(1 - (1 - epsilon)^(1/n)) / log p )
//! ```
//!
//! A small job asks for that c when it starts, and is admitted if the clones stay within a budget β of the
//! cluster's room, and if with them no more than a share τ of the cluster is in use:
//!
//! ```text
//! budget used + clones of the job <= β · room    and    room in use + clones of the job <= τ · room
//! ```
//!
//! All of its tasks are then cloned, each as it starts, or none is: one task without clones would hold up
//! the job as before. The first copy to finish wins.
//!
//! Passes: `[Originals(order), Clones(small jobs, budget)]`.
//!
//! Readings where the paper is silent, or speaks of slots: c counts all copies, so the clones are
//! (c − 1)·n; n counts the tasks of all phases, and so does the claim on the budget, for an admitted job's
//! later phases must find theirs; tasks that were finished before the job arrived are not counted; budget and utilisation hold in every dimension of room; a task's claim
//! ends when it has finished and its copies are gone; small is a job of at most `small` tasks, as the
//! paper's smallest class of jobs is 1 to 10; a job is judged once, after the originals of the round in
//! which its first task starts; a clone goes to a node without a copy of its task, and waits for one as
//! long as its task runs; a task that has lost all copies is started and cloned again. Where the cluster
//! has become smaller than the budget was made for, clones wait. Tasks that may not have a second copy
//! have none. Delay assignment, the paper's remedy for contention over intermediate data, is not here.

use std::collections::{BTreeMap, BTreeSet};

use hindmost_core::cluster::{Applied, Cluster, Job, Task};
use hindmost_core::ids::{AttemptId, JobId, TaskId};
use hindmost_core::record::{Decision, Event};
use hindmost_core::resources::Resources;

use hindmost_core::policy::{Pass, Round, Seen, View};

crate::parameters! {
    /// Dolly's parameters. See the module's documentation.
    pub struct DollyParameters {
        /// most tasks of a small job
        pub small: u32 = 10, in 1..=1_000_000, unit "tasks";
        /// probability that a copy straggles
        pub p: f64 = 0.05, in 0.0..1.0;
        /// probability that a cloned job may still have a straggler
        pub epsilon: f64 = 0.05, in 0.0..1.0;
        /// share of the cluster's room that clones may hold
        pub budget: f64 = 0.05, in 0.0..=1.0;
        /// share of the cluster's room in use, clones included, above which no job is cloned
        pub utilization: f64 = 0.8, in 0.0..=1.0;
    }
}

/// Copies of each of a job's `tasks` with which the probability of a straggler in the job is at most
/// `epsilon`, if each copy straggles with probability `straggler`; at least 1, and the largest number where
/// no number is enough.
pub fn copies_for(tasks: u64, straggler: f64, epsilon: f64) -> u32 {
    // A task may have one with 1 - (1 - epsilon)^(1/n), written so that small numbers keep their digits.
    let of_a_task = -((-epsilon).ln_1p() / tasks.max(1) as f64).exp_m1();
    let copies = of_a_task.ln() / straggler.ln();
    // Where the quotient is a whole number, as for one task and p = epsilon, it may come out a bit larger.
    let copies = (copies - 1e-9).ceil();
    if copies.is_nan() { 1 } else { copies.max(1.0) as u32 }
}

/// The pass that clones small jobs. See the module's documentation.
pub struct CloneSmallJobs {
    parameters: DollyParameters,
    /// Small jobs that have started, with the copies that each of their tasks shall have: 1 if not admitted.
    judged: BTreeMap<JobId, u32>,
    /// Small jobs that have started since the last round.
    fresh: Vec<JobId>,
    /// Tasks of admitted jobs that run with fewer copies than they shall have.
    waiting: BTreeSet<TaskId>,
    /// What the clones of admitted jobs hold or may still ask for.
    claimed: Resources,
    /// What all attempts hold.
    in_use: Resources,
}

/// `times` as much.
pub(crate) fn multiple(amount: &Resources, times: u64) -> Resources {
    Resources(amount.0.map(|units| units.saturating_mul(times)))
}

/// True if an amount is at most this share of another in every dimension.
pub(crate) fn within(amount: &Resources, share: f64, total: &Resources) -> bool {
    // Half a unit, of which there are a thousand to a cpu, is no excess: 0.05 × 20 slots are one slot.
    amount.0.iter().zip(&total.0).all(|(amount, total)| *amount as f64 <= share * *total as f64 + 0.5)
}

impl CloneSmallJobs {
    /// With these parameters.
    pub fn new(parameters: DollyParameters) -> CloneSmallJobs {
        CloneSmallJobs {
            parameters,
            judged: BTreeMap::new(),
            fresh: Vec::new(),
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
        match self.judged.get(&task.job) {
            None => {
                self.judged.insert(task.job, 1);
                self.fresh.push(task.job);
            }
            Some(1) => {}
            // A lost task that runs again, or one whose clones have not been started with it.
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
        if let Some(copies) = self.judged.get(&task.job)
            && phase.may_be_copied()
            && cluster.task(task).is_some_and(|task| task.is_finished() && task.running_copies() == 0)
        {
            self.claimed = self.claimed.minus(&multiple(phase.demand(), u64::from(copies - 1)));
        }
        if job.finished().is_some() && job.running_copies() == 0 {
            self.judged.remove(&task.job);
        }
    }

    /// Counts what attempts hold and clones claim afresh, for a node went with whatever was on it.
    fn recount(&mut self, cluster: &Cluster) {
        let held = cluster.jobs().map(Job::in_use);
        self.in_use = held.fold(Resources::NONE, |sum, held| sum.plus(&held));
        self.judged
            .retain(|job, _| cluster.job(*job).is_some_and(|job| job.finished().is_none() || job.running_copies() > 0));
        let claims = self.judged.iter().map(|(job, copies)| claim(cluster, *job, *copies));
        self.claimed = claims.fold(Resources::NONE, |sum, claim| sum.plus(&claim));
    }

    /// Admits the jobs that have started since the last round to cloning, or not.
    fn judge(&mut self, cluster: &Cluster) {
        let mut in_use = self.in_use;
        for id in std::mem::take(&mut self.fresh) {
            let Some(job) = cluster.job(id).filter(|job| job.finished().is_none()) else { continue };
            let copies = copies_for(job.tasks_to_do(), self.parameters.p, self.parameters.epsilon);
            let clones = claim(cluster, id, copies);
            let (claimed, used) = (self.claimed.plus(&clones), in_use.plus(&clones));
            let total = cluster.total();
            let admitted = copies > 1
                && within(&claimed, self.parameters.budget, total)
                && within(&used, self.parameters.utilization, total);
            self.judged.insert(id, if admitted { copies } else { 1 });
            if admitted {
                (self.claimed, in_use) = (claimed, used);
                self.waiting.extend(running_alone(cluster, id));
            }
        }
    }
}

/// What the clones of a job's tasks take that have not finished or still hold room, with so many copies each.
fn claim(cluster: &Cluster, job: JobId, copies: u32) -> Resources {
    let phases = cluster.job(job).map_or(&[][..], Job::phases);
    let open = phases.iter().filter(|phase| phase.may_be_copied()).map(|phase| {
        let tasks = phase.tasks().iter().filter(|task| !task.is_finished() || task.running_copies() > 0).count() as u64;
        multiple(phase.demand(), tasks.saturating_mul(u64::from(copies.saturating_sub(1))))
    });
    open.fold(Resources::NONE, |sum, claim| sum.plus(&claim))
}

/// The tasks of a job that run and may be cloned.
fn running_alone(cluster: &Cluster, job: JobId) -> impl Iterator<Item = TaskId> + '_ {
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
        self.judge(round.cluster());
        if self.waiting.is_empty() || round.cluster().open_nodes() == 0 {
            return;
        }
        if !within(&self.claimed, self.parameters.budget, round.cluster().total()) {
            return;
        }
        let waiting: Vec<TaskId> = self.waiting.iter().copied().collect();
        for task in waiting {
            let alive = round.cluster().task(task).filter(|task| !task.is_finished()).map_or(0, Task::running_copies);
            let copies = self.judged.get(&task.job).copied().unwrap_or(1);
            let wanted = copies.saturating_sub(alive);
            // Without a copy it waits for its original; with all of them, or finished, for nothing.
            if alive == 0 || wanted == 0 {
                self.waiting.remove(&task);
                continue;
            }
            let mut started = 0;
            while started < wanted && round.start_copies(task, 1).started == 1 {
                started += 1;
                round
                    .because(|| format!("its job is small: each of its tasks is given {copies} copies from the start"));
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
    fn copies_are_as_the_formula_says() {
        // By hand: 1 - 0.95^(1/10) = 0.005116, log of it -5.2753; log 0.05 = -2.9957; quotient 1.761.
        assert_eq!(copies_for(10, 0.05, 0.05), 2);
        // 1 - 0.995^(1/10) = 0.00050113, -7.5987; quotient 2.54.
        assert_eq!(copies_for(10, 0.05, 0.005), 3);
        // 1 - 0.95^(1/50) = 0.0010253, -6.8827; quotient 2.297.
        assert_eq!(copies_for(50, 0.05, 0.05), 3);
        // With p = 0.2: -5.2753 / -1.6094 = 3.278.
        assert_eq!(copies_for(10, 0.2, 0.05), 4);
        // One task and p = epsilon: one copy is just enough; anything less asks for two.
        assert_eq!((copies_for(1, 0.05, 0.05), copies_for(1, 0.05, 0.0499)), (1, 2));
        // Two tasks, p = 1/2, one chance in 1024 each and two in 1024 together, about: ten copies.
        assert_eq!(copies_for(2, 0.5, 1.0 - (1023.0 / 1024.0f64).powi(2)), 10);
    }

    #[test]
    fn copies_are_the_fewest_that_are_enough() {
        for tasks in [1u64, 2, 3, 9, 10, 77, 1000] {
            for straggler in [0.01, 0.05, 0.2, 0.5, 0.9] {
                for epsilon in [1e-6, 0.01, 0.05, 0.3] {
                    let held_up = |copies: u32| 1.0 - (1.0 - f64::powf(straggler, copies.into())).powf(tasks as f64);
                    let copies = copies_for(tasks, straggler, epsilon);
                    assert!(held_up(copies) <= epsilon * (1.0 + 1e-6), "{tasks}, {straggler}, {epsilon}: {copies}");
                    assert!(copies == 1 || held_up(copies - 1) > epsilon, "{tasks}, {straggler}, {epsilon}: {copies}");
                }
            }
        }
    }

    #[test]
    fn extremes_are_numbers() {
        assert_eq!(copies_for(10, 0.0, 0.05), 1);
        assert_eq!(copies_for(10, 0.05, 0.0), u32::MAX);
        assert_eq!(copies_for(10, 0.0, 0.0), 1);
        assert_eq!(copies_for(0, 0.05, 0.05), 1);
    }
}
