//! `dolly` clones all tasks of a small job, so that a straggler rarely delays the job. A job gets clones only if the
//! clones of all jobs together stay within a budget of the cluster's resources.
//!
//! Paper: Ananthanarayanan, Ghodsi, Shenker & Stoica, "Effective Straggler Mitigation: Attack of the Clones", NSDI
//! 2013.
//!
//! Algorithm: assume that each copy of a task straggles with probability p, independently of all others. A straggler
//! delays a job if all copies of one of its tasks straggle. The policy clones tasks one by one, not the job as a whole.
//! For a job of n tasks with c copies of each task, the probability of a delay is 1 - (1 - p^c)^n. It is at most
//! epsilon for
//!
//! ```text
//! c = ceil( log(1 - (1 - epsilon)^(1/n)) / log p )
//! ```
//!
//! When a small job starts, the policy computes this c. It admits the job to cloning if its c·n copies stay within a
//! share β (`budget`) of the cluster's capacity, together with the copies of the other cloned jobs (B_U), and within a
//! share τ (`utilization`), together with the resources in use before the job (U):
//!
//! ```text
//! B_U + c·n <= β · capacity    and    U + c·n <= τ · capacity          (section 3, admission control for the job)
//! ```
//!
//! An admitted job adds its c·n copies to B_U. So the budget pays for the originals of cloned jobs too: with c = 2, at
//! most half of it goes to extra copies. `admission=clones` counts only the (c − 1)·n extra copies in both conditions,
//! so that the whole budget goes to them.
//!
//! All tasks of an admitted job are cloned, each one when it starts. Cloning only some of them would not help, because
//! one task without clones can delay the job as before. The first copy to finish wins.
//!
//! Passes: `[Originals(order), Clones(small jobs, budget)]`.
//!
//! Readings where the paper is silent or speaks of slots:
//! - c counts all copies of a task, because p^c is the probability that all of them straggle. So a cloned job has
//!   (c − 1)·n extra copies, and a job with c = 1 needs no admission and no budget.
//! - n counts the tasks of all phases, except those that were finished before the job arrived.
//! - An admitted job claims budget for the copies of all its phases at once, because later phases need their clones
//!   too. A task's claim ends when the task has finished and its copies have ended.
//! - The limits β and τ hold for each resource separately.
//! - A job is small if it has at most `small` tasks; the paper's smallest class of jobs has 1 to 10 tasks.
//! - A job is admitted or rejected once: in the round in which its first task starts, after that round's originals.
//! - A clone goes to a node without a copy of its task. It waits for such a node while its task runs.
//! - A task whose copies have all failed or were lost with their nodes is started and cloned again.
//! - If nodes are lost and the claims exceed the budget of the smaller cluster, no clone starts until they fit again.
//! - Tasks of phases that are not idempotent get no clones, and claim no budget.
//! - Delay assignment (section 5), the paper's remedy for contention over intermediate data, belongs to the simulated
//!   network and not to this policy: `assignment = "delay"` under `[network]` in a scenario. It has no effect under
//!   `dolly`, because it needs upstream copies that run on after their task has finished, and `dolly` stops them.
//!
//! The differences from the source, and what this was written from, are in the catalogue (`catalogue/sources/`).

use std::collections::{BTreeMap, BTreeSet};

use hindmost_core::cluster::{Applied, Cluster, Job, Task};
use hindmost_core::ids::{AttemptId, JobId, TaskId};
use hindmost_core::record::{Decision, Event};
use hindmost_core::resources::Resources;

use hindmost_core::policy::{Pass, Round, Seen, View};

/// The copies that a job needs budget for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// All c·n copies of its tasks, as in the paper.
    Copies,
    /// The (c − 1)·n copies in addition to the originals.
    Clones,
}

crate::words!(Admission: Copies = "copies", Clones = "clones");

crate::parameters! {
    /// The parameters of `dolly`.
    pub struct DollyParameters {
        /// a job is small if it has at most this many tasks
        pub small: u32 = 10, in 1..=1_000_000, unit "tasks";
        /// probability that a copy is a straggler
        pub p: f64 = 0.05, in 0.0..1.0;
        /// accepted probability that a cloned job still has a straggler
        pub epsilon: f64 = 0.05, in 0.0..1.0;
        /// share of the cluster's capacity that the copies of cloned jobs may hold (see admission)
        pub budget: f64 = 0.05, in 0.0..=1.0;
        /// share of the cluster's capacity in use, the job's copies included, above which no job is cloned
        pub utilization: f64 = 0.8, in 0.0..=1.0;
        /// copies that count for the budget: copies (all copies of cloned jobs) or clones (only extra copies)
        pub admission: Admission = Admission::Copies;
    }
}

/// Returns how many copies each task needs, so that a straggler delays a job of `tasks` tasks with a probability of at
/// most `epsilon`. Each copy straggles with probability `straggler`. The result is at least 1; it is `u32::MAX` if no
/// number is enough.
pub fn copies_for(tasks: u64, straggler: f64, epsilon: f64) -> u32 {
    // The accepted probability that all copies of one task straggle: 1 - (1 - epsilon)^(1/n), computed without loss of
    // digits for small numbers.
    let of_a_task = -((-epsilon).ln_1p() / tasks.max(1) as f64).exp_m1();
    let copies = of_a_task.ln() / straggler.ln();
    // Rounding errors must not turn a whole number of copies into one more: one task with p = epsilon needs one copy.
    let copies = (copies - 1e-9).ceil();
    if copies.is_nan() { 1 } else { copies.max(1.0) as u32 }
}

/// The pass that clones small jobs.
pub struct CloneSmallJobs {
    parameters: DollyParameters,
    /// Small jobs that have started, with the number of copies of each of their tasks: 1 unless the job was admitted.
    copies: BTreeMap<JobId, u32>,
    /// Small jobs that have started since the last round.
    new_jobs: Vec<JobId>,
    /// Running tasks of admitted jobs that need more clones.
    waiting: BTreeSet<TaskId>,
    /// B_U: the resources that the counted copies of admitted jobs hold or may still need.
    claimed: Resources,
    /// The resources that all attempts hold.
    in_use: Resources,
}

/// Returns an amount multiplied by `times`.
pub(crate) fn multiple(amount: &Resources, times: u64) -> Resources {
    Resources(amount.0.map(|units| units.saturating_mul(times)))
}

/// Returns true if an amount is at most `share` × `total` in every dimension.
pub(crate) fn within(amount: &Resources, share: f64, total: &Resources) -> bool {
    // Amounts are whole numbers (one slot is 1000). Half a unit of tolerance covers rounding errors of the product.
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
            // A task of an admitted job has started, possibly again after it had lost all its copies.
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
            let counted = self.parameters.admission.counted(*copies);
            self.claimed = self.claimed.minus(&multiple(phase.demand(), counted));
        }
        if job.is_over() && job.running_copies() == 0 {
            self.copies.remove(&task.job);
        }
    }

    /// Removes the claims of an abandoned job's tasks without running copies. The claims of the others end with their copies.
    fn abandoned(&mut self, id: JobId, cluster: &Cluster) {
        let Some((job, copies)) = cluster.job(id).zip(self.copies.get(&id)) else { return };
        let counted = self.parameters.admission.counted(*copies);
        for phase in job.phases().iter().filter(|phase| phase.may_be_copied()) {
            let idle = phase.tasks().iter().filter(|task| task.is_abandoned() && task.running_copies() == 0).count();
            self.claimed = self.claimed.minus(&multiple(phase.demand(), counted.saturating_mul(idle as u64)));
        }
        if job.running_copies() == 0 {
            self.copies.remove(&id);
        }
    }

    /// Recomputes `in_use` and `claimed` after a node was lost with all its attempts.
    fn recount(&mut self, cluster: &Cluster) {
        let held = cluster.jobs().map(Job::in_use);
        self.in_use = held.fold(Resources::NONE, |sum, held| sum.plus(&held));
        self.copies.retain(|job, _| cluster.job(*job).is_some_and(|job| !job.is_over() || job.running_copies() > 0));
        let admission = self.parameters.admission;
        let claims = self.copies.iter().map(|(job, copies)| claim(cluster, *job, admission.counted(*copies)));
        self.claimed = claims.fold(Resources::NONE, |sum, claim| sum.plus(&claim));
    }

    /// Admits or rejects the small jobs that have started since the last round.
    fn admit(&mut self, cluster: &Cluster) {
        let mut in_use = self.in_use;
        for id in std::mem::take(&mut self.new_jobs) {
            let Some(job) = cluster.job(id).filter(|job| !job.is_over()) else { continue };
            let copies = copies_for(job.tasks_to_do(), self.parameters.p, self.parameters.epsilon);
            let admission = self.parameters.admission;
            let counted = claim(cluster, id, admission.counted(copies));
            let others = match admission {
                // c·n includes the originals that have just started.
                Admission::Copies => in_use.minus(&held_by_copyable(job)),
                Admission::Clones => in_use,
            };
            let (claimed, used) = (self.claimed.plus(&counted), others.plus(&counted));
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

impl Admission {
    /// Returns how many copies of each task count for the budget if each task has `copies` copies. A job whose tasks
    /// have only one copy is not cloned, so none of its copies counts.
    pub(crate) fn counted(self, copies: u32) -> u64 {
        match self {
            Admission::Copies if copies > 1 => u64::from(copies),
            Admission::Copies => 0,
            Admission::Clones => u64::from(copies.saturating_sub(1)),
        }
    }
}

/// Returns the resources that a job's running copies hold, except those of phases that may not be copied.
fn held_by_copyable(job: &Job) -> Resources {
    let phases = job.phases().iter().filter(|phase| phase.may_be_copied());
    let held = phases.map(|phase| multiple(phase.demand(), u64::from(phase.running_copies())));
    held.fold(Resources::NONE, |sum, held| sum.plus(&held))
}

/// Returns the resources that a job claims if `counted` copies of each task count. Only tasks that have not finished or
/// still have running copies count.
fn claim(cluster: &Cluster, job: JobId, counted: u64) -> Resources {
    let phases = cluster.job(job).map_or(&[][..], Job::phases);
    let open = phases.iter().filter(|phase| phase.may_be_copied()).map(|phase| {
        let tasks = phase.tasks().iter().filter(|task| !task.is_finished() || task.running_copies() > 0).count() as u64;
        multiple(phase.demand(), tasks.saturating_mul(counted))
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
            Seen::Decision(Decision::Abandon { job }) => self.abandoned(*job, view.cluster),
            Seen::Event(Event::NodeLost { .. } | Event::TaskGivenUp { .. }, _) => self.recount(view.cluster),
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
            // A task without running copies is finished, or must get an original before it gets clones.
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
        // 10 tasks, p = 0.05, epsilon = 0.05: log(1 - 0.95^(1/10)) = log 0.005116 = -5.2753, log p = -2.9957; the
        // quotient is 1.761.
        assert_eq!(copies_for(10, 0.05, 0.05), 2);
        // epsilon = 0.005: log(1 - 0.995^(1/10)) = log 0.00050113 = -7.5987; the quotient is 2.54.
        assert_eq!(copies_for(10, 0.05, 0.005), 3);
        // 50 tasks: log(1 - 0.95^(1/50)) = log 0.0010253 = -6.8827; the quotient is 2.297.
        assert_eq!(copies_for(50, 0.05, 0.05), 3);
        // p = 0.2: the quotient is -5.2753 / -1.6094 = 3.278.
        assert_eq!(copies_for(10, 0.2, 0.05), 4);
        // One task and epsilon = p: one copy is just enough. A smaller epsilon needs two.
        assert_eq!((copies_for(1, 0.05, 0.05), copies_for(1, 0.05, 0.0499)), (1, 2));
        // Two tasks, p = 1/2, and an epsilon that accepts 1/1024 = p^10 for each task: ten copies.
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
