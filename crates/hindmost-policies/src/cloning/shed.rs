//! `shed` divides the cluster's slots among jobs with deadlines: the job that is least likely to meet its deadline gets
//! clones of all its tasks first. The clones are chosen again whenever a job arrives.
//!
//! Paper: Alamro, Xu, Lan & Subramaniam, "Shed: Optimal Dynamic Cloning to Meet Application Deadlines in Cloud",
//! Algorithm 1 and its theorems.
//!
//! Algorithm, whenever a job is submitted:
//! 1. Jobs that have missed their deadlines are killed.
//! 2. If one job is left, each of its N tasks gets r = ⌊(λ·m − N − 1)/N⌋ clones, where λ·m is the number of slots.
//! 3. Otherwise the jobs share κ = λ·m − Σ N_j − |J| slots: the job with the lowest probability R_j of meeting its
//!    deadline gets one more clone of each of its tasks, until no clones fit. ([`crate::theory::shed`])
//!
//! Durations are Pareto(t_min, β). With D the deadline, τ the time since the submission, φ the progress and r the number of
//! clones ([`crate::theory::pocd`]):
//!
//! ```text
//! submitted job:  R = [1 − (t_min/D)^(β(r+1))]^N
//! running job:    R = [1 − ((1−φ)·t_min/(D−τ))^(β(r+1))]^N,   N unfinished tasks
//! ```
//!
//! With `start=restart` the clones of a running job start from the beginning. With a the mean age of its unfinished tasks
//! (of each its oldest copy; 0 for tasks that wait) and D − τ the time left,
//!
//! ```text
//! running job:    R = [1 − (max(a, t_min)/(a + D − τ))^β · min(1, t_min/(D−τ))^(βr)]^N
//! ```
//!
//! This is not in the paper.
//!
//! Passes: `[Abandon(late jobs), Originals(order), Clones(Shed)]`.
//!
//! Readings where the paper is silent:
//! - A slot is a copy of the most modest demand: λ·m is the largest number of copies of one phase that the empty cluster
//!   can run, and a copy of which only half as many fit uses two slots. With equal demands this is the paper's count.
//! - The application master of each job takes one slot, which stays free here, because nothing runs in it. `masters=0`
//!   uses it for clones, as do live runs by default (`masters=auto`): they have no application masters.
//! - Late jobs are killed when the next job arrives. A live run has one job, so that none arrives: only `kill=deadline` stops
//!   its job at the deadline.
//! - φ is the mean over a job's unfinished tasks of the known progress of their best copies. Tasks that wait, and tasks
//!   whose progress is not known yet, count as 0.
//! - Clones of a running task start with the progress of its best copy, as R for running jobs assumes (`start=resume`),
//!   or from the beginning (`start=restart`). R then counts the original's age instead of its progress.
//! - With less than t_min left, a clone from the beginning can't meet the deadline: R is the same with any r. As printed,
//!   such a job gets every slot that is left once its R is the lowest. Like a job without any chance it is skipped, and its
//!   tasks keep one copy each (`hopeless=skip`); `hopeless=clone` is the printed algorithm.
//! - A choice looks at every open phase. With n times as many phases as `exact` says, it takes place at every n-th of these
//!   times only, so that the work for each job does not grow with the cluster.
//! - All r_j begin at 0 in each choice, so a job may lose clones. Of each task, the copies that are expected to finish first
//!   remain. `stop_surplus=false` lets the others run on.
//! - A job without a deadline has one copy of each task. These tasks use slots, but get no clones.
//! - Of a job of several phases each open phase is treated as a job with a part of the time until the deadline
//!   (`phase_deadlines.rs`). The clones are chosen again when a phase opens, when a node is lost or returns, and when durations
//!   become known that were not.
//! - t_min and β are those of the phase's durations if they are Pareto, and otherwise of the Pareto distribution with the
//!   same mean and standard deviation.
//! - A copy that fails is replaced while its task runs. Tasks that may not be copied get no clones.
//! - A node runs at most one copy of a task, so r is at most the number of nodes on which it fits minus 1, and slots above
//!   this go to other jobs. The paper's r counts slots only, and copies of a task may share a machine there: `per_node` allows
//!   that. The count does not see on which nodes slots are free: a clone may wait for a slot on a node without its task.
//!
//! The differences from the source, and what this was written from, are in the catalogue (`catalogue/sources/`).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use hindmost_core::cluster::{Cluster, Job, Phase, Task};
use hindmost_core::ids::{AttemptId, JobId, TaskId};
use hindmost_core::policy::{Pass, Round, Seen, View};
use hindmost_core::record::{Condition, Decision, Event, StopReason};
use hindmost_core::time::Time;

use super::known_progress::{best_first, running, start_copy_from, task_progress};
use super::open_phases::OpenPhases;
use super::phase_deadlines;
use crate::speculation::counted;
use crate::theory::pocd::{MissChance, ParetoTail};
use crate::theory::shed::{Hopeless, ShedJob, ShedProblem, solve};

/// When the clones of all jobs are chosen again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reoptimise {
    /// When a job arrives, as in the paper.
    Arrival,
    /// Also when a job ends.
    ArrivalAndEnd,
}

crate::words!(Reoptimise: Arrival = "arrival", ArrivalAndEnd = "arrival_and_end");

/// Where clones of running tasks start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloneStart {
    /// At the progress of the task's best copy.
    Resume,
    /// At the beginning.
    Restart,
}

crate::words!(CloneStart: Resume = "resume", Restart = "restart");

/// When jobs that have missed their deadlines are killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kill {
    /// When a job arrives, as in the paper.
    Arrival,
    /// As soon as the deadline has passed.
    Deadline,
    /// Never.
    Never,
}

crate::words!(Kill: Arrival = "arrival", Deadline = "deadline", Never = "never");

crate::parameters! {
    /// The parameters of `shed`.
    pub struct ShedParameters {
        /// when clones are chosen again: arrival (of a job), or arrival_and_end (also when a job ends)
        pub reoptimise: Reoptimise = Reoptimise::Arrival;
        /// when late jobs are killed: arrival (of the next job), deadline (as soon as it has passed) or never
        pub kill: Kill = Kill::Arrival;
        /// where clones of running tasks start: resume (at the progress of the best copy) or restart (at the beginning)
        pub start: CloneStart = CloneStart::Resume;
        /// what jobs get whose probability of meeting the deadline no clone raises: skip (no clones) or clone (clones first)
        pub hopeless: Hopeless = Hopeless::Skip;
        /// open phases up to which clones are chosen again each time when it is due, as in the paper; with n times as many, at
        /// every n-th time
        pub exact: u32 = 32, in 1..=1_000_000_000, unit "phases";
        /// slots that the application master of each job takes from the clones (fractions are cut off); auto: 1, and 0 in live
        /// runs, which have no application masters
        pub masters: Option<f64> = None, word auto, in 0.0..=1000.0, unit "slots";
        /// stop the copies that a job may no longer have when clones are chosen again
        pub stop_surplus: bool = true;
        /// maximum number of copies of a task on one node; nodes without a copy come first
        pub per_node: u32 = 1, in 1..=1_000, unit "copies";
    }
}

impl ShedParameters {
    /// Returns the slots that the application master of each job takes.
    pub(crate) fn masters(&self, is_live: bool) -> u32 {
        // The conversion cuts off fractions.
        self.masters.map_or(u32::from(!is_live), |masters| masters as u32)
    }
}

/// The pass that abandons the jobs that have missed their deadlines.
pub struct AbandonLateJobs {
    kill: Kill,
    is_due: bool,
    /// The deadlines of unfinished jobs, unless late jobs are never killed.
    deadlines: BTreeSet<(Time, JobId)>,
}

impl AbandonLateJobs {
    /// Creates the pass.
    pub fn new(parameters: ShedParameters) -> AbandonLateJobs {
        AbandonLateJobs { kill: parameters.kill, is_due: false, deadlines: BTreeSet::new() }
    }
}

impl Pass for AbandonLateJobs {
    fn observe(&mut self, seen: Seen<'_>, view: &mut View<'_>) {
        let deadline = |job: JobId| view.cluster.job(job).and_then(Job::deadline);
        match seen {
            _ if self.kill == Kill::Never => {}
            Seen::Event(Event::JobArrived { job, .. }, _) => {
                self.is_due = true;
                let Some(deadline) = deadline(*job) else { return };
                self.deadlines.insert((deadline, *job));
                if self.kill == Kill::Deadline {
                    view.wake(deadline + Time::TICK);
                }
            }
            Seen::Event(
                Event::AttemptFinished { attempt: AttemptId { task, .. } } | Event::TaskGivenUp { task },
                applied,
            ) if applied.job_finished => {
                let job = task.job;
                if let Some(deadline) = deadline(job) {
                    self.deadlines.remove(&(deadline, job));
                }
            }
            Seen::Event(Event::Woken, _) => self.is_due |= self.kill == Kill::Deadline,
            _ => {}
        }
    }

    fn decide(&mut self, round: &mut Round<'_>) {
        // A resumed run can get here before it is woken.
        if !std::mem::take(&mut self.is_due) && self.kill != Kill::Deadline {
            return;
        }
        let now = round.cluster().now();
        let mut late: Vec<JobId> = Vec::new();
        while let Some((deadline, job)) = self.deadlines.first().copied().filter(|(deadline, _)| *deadline < now) {
            self.deadlines.remove(&(deadline, job));
            late.push(job);
        }
        late.sort_unstable();
        late.retain(|job| round.cluster().job(*job).is_some_and(|job| !job.is_over()));
        for job in late {
            round.abandon(job);
            round.because(|| "its deadline has passed".to_owned());
        }
    }
}

/// The pass that starts and stops clones.
pub struct CloneByDeadline {
    parameters: ShedParameters,
    /// Slots that the application master of each job takes.
    masters: u32,
    /// Number of times that the clones were due since they were chosen last, and this number when it was examined last.
    due: u64,
    examined: u64,
    open: OpenPhases,
    /// r_j of the phases that may have clones, where it is above 0.
    clones: BTreeMap<(JobId, u32), u32>,
    /// Running tasks that may have fewer copies than chosen.
    waiting: BTreeSet<TaskId>,
    /// True if tasks may have lost copies unnoticed, with their nodes.
    has_lost: bool,
}

impl CloneByDeadline {
    /// Creates the pass.
    pub fn new(parameters: ShedParameters, is_live: bool) -> CloneByDeadline {
        CloneByDeadline {
            parameters,
            masters: parameters.masters(is_live),
            due: 0,
            examined: 0,
            open: OpenPhases::default(),
            clones: BTreeMap::new(),
            waiting: BTreeSet::new(),
            has_lost: false,
        }
    }

    /// Returns r_j of a task's phase.
    fn clones_of(&self, task: TaskId) -> u32 {
        self.clones.get(&(task.job, task.phase)).copied().unwrap_or(0)
    }

    /// Returns the probability that a task of an open phase misses the deadline.
    fn miss(&self, job: &Job, at: u32, tail: ParetoTail, cluster: &Cluster) -> MissChance {
        let (Some(deadline), Some(phase)) = (job.deadline(), job.phases().get(at as usize)) else {
            return MissChance::CERTAIN;
        };
        let now = cluster.now();
        if deadline <= now {
            return MissChance::CERTAIN;
        }
        let share = if job.phases().len() == 1 { 1.0 } else { phase_deadlines::shares(job)[at as usize] };
        let left = (deadline - now).seconds() * share;
        match self.parameters.start {
            CloneStart::Resume => {
                let progress = |task| task_progress(cluster, task).unwrap_or(0.0);
                MissChance::resumed(tail, left, 0.0, mean_of_unfinished(job.id(), at, phase, progress))
            }
            CloneStart::Restart => {
                let age = |task| running(cluster, task).map(|copy| (now - copy.since()).seconds()).fold(0.0, f64::max);
                let age = mean_of_unfinished(job.id(), at, phase, age);
                MissChance::restarted(tail, left + age, age)
            }
        }
    }

    /// Chooses the clones of all jobs. Returns them where they are above 0.
    fn choose(&self, free: f64, cluster: &Cluster) -> BTreeMap<(JobId, u32), u32> {
        // A copy uses at least one slot.
        if free + 1e-6 < 1.0 {
            return BTreeMap::new();
        }
        // λ·m counts copies of the most modest demand.
        let total = self.open.total();
        let mut chosen: Vec<((JobId, u32), ShedJob)> = Vec::new();
        let mut used = 0.0;
        for (id, phase) in self.open.iter().filter(|(_, phase)| phase.may_be_cloned) {
            let slots = self.open.slots_of(phase);
            // Tasks that fit on no node can't have clones.
            let Some(job) = cluster.job(id.0).filter(|_| slots.copies > 0) else { continue };
            let miss = self.miss(job, id.1, phase.tail, cluster);
            let (most_clones, copy_slots) = (slots.of_a_task.saturating_sub(1), total / slots.copies as f64);
            used += f64::from(phase.tasks) * copy_slots;
            chosen.push((id, ShedJob { copy_slots, most_clones, ..ShedJob::new(phase.tasks.into(), miss) }));
        }
        let jobs = chosen.iter().map(|(_, job)| *job).collect();
        // Everything that is not free and not used by these jobs: masters, and tasks that get no clones.
        let reserved = total - free - used;
        let hopeless = self.parameters.hopeless;
        let plan = solve(&ShedProblem { jobs, slots: total, reserved, hopeless });
        chosen.iter().map(|(id, _)| *id).zip(plan.clones).filter(|(_, clones)| *clones > 0).collect()
    }

    /// Stops the copies that tasks may no longer have, and notes the tasks that have too few. `before` has the clones that
    /// were chosen before.
    fn adjust(&mut self, before: &BTreeMap<(JobId, u32), u32>, round: &mut Round<'_>) {
        let all = std::mem::take(&mut self.has_lost);
        // The tasks of other phases have their copies, or wait for them.
        let mut changed: BTreeMap<(JobId, u32), u32> = BTreeMap::new();
        changed.extend(before.keys().filter(|id| !self.clones.contains_key(id)).map(|id| (*id, 0)));
        changed.extend(self.clones.iter().filter(|(id, clones)| all || before.get(id) != Some(clones)));
        let mut surplus: Vec<(AttemptId, u32)> = Vec::new();
        let cluster = round.cluster();
        for (&(job, at), &clones) in &changed {
            let Some(phase) = cluster.job(job).and_then(|job| job.phases().get(at as usize)) else { continue };
            for (index, found) in (0..).zip(phase.tasks()) {
                let copies = found.unstopped_copies();
                if found.is_finished() || copies == 0 {
                    continue;
                }
                let task = TaskId { job, phase: at, index };
                if copies <= clones {
                    self.waiting.insert(task);
                    continue;
                }
                self.waiting.remove(&task);
                if copies > clones + 1 && self.parameters.stop_surplus {
                    let rest = best_first(cluster, task).into_iter().skip(clones as usize + 1);
                    surplus.extend(rest.map(|copy| (copy.id(), clones)));
                }
            }
        }
        if !surplus.is_empty() {
            // In the next round others can use the resources of the stopped copies.
            let at = cluster.now();
            round.decide(Decision::Wake { at });
        }
        for (attempt, clones) in surplus {
            round.decide(Decision::Stop { attempt, reason: StopReason::Overtaken });
            round.because(|| {
                format!("its tasks may have {} each now, and others are ahead of it", counted(clones, "clone"))
            });
        }
    }
}

/// Returns the mean over the unfinished tasks of a phase of a value that is 0 for tasks without running copies.
fn mean_of_unfinished(job: JobId, at: u32, phase: &Phase, value: impl Fn(TaskId) -> f64) -> f64 {
    if phase.running_copies() == 0 || phase.unfinished() == 0 {
        return 0.0;
    }
    let runs = (0..).zip(phase.tasks()).filter(|(_, task)| !task.is_finished() && task.running_copies() > 0);
    let sum: f64 = runs.map(|(index, _)| value(TaskId { job, phase: at, index })).sum();
    sum / f64::from(phase.unfinished())
}

impl Pass for CloneByDeadline {
    fn observe(&mut self, seen: Seen<'_>, view: &mut View<'_>) {
        self.open.observe(&seen, view);
        match seen {
            Seen::Decision(Decision::Start { attempt, .. }) => {
                let task = attempt.task;
                if view.cluster.job(task.job).is_some_and(|job| job.deadline().is_some()) {
                    // The progress is needed when clones are chosen again.
                    view.watch(*attempt, Condition::Revealed);
                    if self.clones_of(task) > 0 {
                        self.waiting.insert(task);
                    }
                }
            }
            Seen::Event(Event::JobArrived { .. } | Event::DurationsLearned { .. }, _) => self.due += 1,
            Seen::Event(
                Event::NodeJoined { .. }
                | Event::NodeLost { .. }
                | Event::NodeLeaving { .. }
                | Event::NodeReturned { .. },
                _,
            ) => {
                self.due += 1;
                self.has_lost = true;
            }
            Seen::Event(
                Event::AttemptFinished { attempt: AttemptId { task, .. } } | Event::TaskGivenUp { task },
                applied,
            ) => {
                if applied.won {
                    self.waiting.remove(task);
                }
                let ends = self.parameters.reoptimise == Reoptimise::ArrivalAndEnd && applied.job_finished;
                self.due += u64::from(ends || (applied.phase_finished && !applied.job_finished));
            }
            Seen::Event(Event::AttemptFailed { attempt, .. }, _) if self.clones_of(attempt.task) > 0 => {
                self.waiting.insert(attempt.task);
            }
            _ => {}
        }
    }

    fn decide(&mut self, round: &mut Round<'_>) {
        if self.due != self.examined {
            self.examined = self.due;
            if self.parameters.kill != Kill::Never {
                self.open.remove_abandoned(round.cluster());
            }
            self.open.count_slots(round.cluster(), self.parameters.per_node);
            let free = self.open.free_slots(self.masters);
            // With many phases, a choice takes long, and few clones change.
            if free < 1.0 || self.due * u64::from(self.parameters.exact) >= self.open.len() as u64 {
                (self.due, self.examined) = (0, 0);
                let chosen = self.choose(free, round.cluster());
                let before = std::mem::replace(&mut self.clones, chosen);
                self.adjust(&before, round);
            }
        }
        if self.waiting.is_empty() || round.cluster().open_nodes() == 0 {
            return;
        }
        // Many tasks may wait, and few get clones in a round.
        let mut next = self.waiting.first().copied();
        while let Some(task) = next.filter(|_| round.cluster().open_nodes() > 0) {
            next = self.waiting.range((Bound::Excluded(task), Bound::Unbounded)).next().copied();
            self.waiting.remove(&task);
            let clones = self.clones_of(task);
            let cluster = round.cluster();
            let running = cluster.task(task).filter(|task| !task.is_finished()).map_or(0, Task::unstopped_copies);
            // A task without running copies is finished, or must get an original before it gets clones.
            if running == 0 || running > clones {
                continue;
            }
            let progress = match self.parameters.start {
                CloneStart::Resume => task_progress(cluster, task).unwrap_or(0.0),
                CloneStart::Restart => 0.0,
            };
            let per_node = self.parameters.per_node;
            for _ in running..=clones {
                if round.cluster().open_nodes() == 0 || !start_copy_from(round, task, progress, per_node) {
                    self.waiting.insert(task);
                    break;
                }
                round.because(|| {
                    format!("each task of its job has {}, so that it meets its deadline", counted(clones, "clone"))
                });
            }
        }
    }
}
