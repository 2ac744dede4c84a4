//! `chronos` gives the tasks of a job with a deadline r more attempts: as clones from the start, or as backups of attempts
//! that will miss the deadline, from the beginning or from the progress of the original. r has the best utility: a high
//! probability of meeting the deadline for little machine time.
//!
//! Paper: Xu, Alamro, Lan & Subramaniam, "Chronos: A Unifying Optimization Framework for Speculative Execution of
//! Deadline-Critical MapReduce Jobs", ICDCS 2018.
//!
//! Algorithm, for tasks with Pareto(t_min, β) durations and a deadline D:
//! - `strategy=clone`: r + 1 attempts of each task start together.
//! - `strategy=restart`: τ_est after the start of an original, if it is expected to end after the deadline, r backups
//!   start from the beginning.
//! - `strategy=resume`: in the same case the original is stopped, and r + 1 attempts start with its progress.
//! - τ_kill after the start of the original, all attempts of the task are stopped except the one that is expected to
//!   finish first (`chronos/ranking.rs`).
//! - r maximises U(r) = log₁₀(R(r) − R_min) − θ·E(T), where R is the probability that the job meets its deadline
//!   ([`crate::theory::pocd`]) and E(T) the expected machine time of its tasks ([`crate::theory::chronos`]). `r=N` fixes
//!   it.
//!
//! Passes: `[Originals(order), Copies(chronos)]`.
//!
//! Readings:
//! - τ_est and τ_kill are multiples of t_min. If an original is found late only later, its backups have until τ_kill − τ_est
//!   after that.
//! - A remaining time that is not known at τ_est is tested when it becomes known. An attempt that has done less than the
//!   share s of its work (`progress(s)`) needs at least elapsed/s in all; if that is after the deadline, it is late.
//!   Its replacement then starts from the beginning, because its progress is not known.
//! - At τ_kill the finish of an attempt may not be known. An attempt that is known to meet the deadline is ahead of all whose
//!   finish is not known: it makes the task safe. One that is known to miss it is ahead of none of them, unless they have run
//!   so long without becoming known that they end even later. Otherwise such an attempt has the finish that is expected of its
//!   age from the phase's durations, and expectations that differ by less than a tenth of the mean duration count as
//!   equal. Only an attempt with another one ahead of it is stopped. So none is stopped while nothing distinguishes them, and
//!   several may go on. They are compared again whenever the finish of one becomes known.
//! - Backups and clones start after originals, and wait for free resources. A node runs at most one copy of a task, and r is
//!   chosen without regard to this: on fewer than r + 1 nodes, some of the r attempts never start.
//! - Of a job of several phases each phase has a part of the time until the deadline
//!   (`cloning/phase_deadlines.rs`), counted from its first start, and an r of its own.
//! - Jobs without a deadline, and tasks that may not be copied, get no other attempts.
//! - t_min and β are those of the phase's durations if they are Pareto, and otherwise of the Pareto distribution with the
//!   same mean and standard deviation.
//!
//! The differences from the source, and what this was written from, are in the catalogue (`catalogue/sources/`).

mod ranking;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use hindmost_core::cluster::{Attempt, Cluster, Job, Phase, Task};
use hindmost_core::estimator::Knowledge;
use hindmost_core::ids::{AttemptId, JobId, TaskId};
use hindmost_core::policy::{Pass, Round, Seen, View};
use hindmost_core::record::{Condition, Decision, Event, StopReason};
use hindmost_core::time::Time;

use self::ranking::{behind_others, earliest_finish};
use super::counted;
use crate::cloning::known_progress::{progress_of, start_copy_from};
use crate::cloning::phase_deadlines;
use crate::theory::chronos::{ChronosJob, Strategy, Utility};
use crate::theory::pocd::ParetoTail;
use hindmost_math::plain::Plain;

crate::parameters! {
    /// The parameters of `chronos`.
    pub struct ChronosParameters {
        /// how more attempts start: clone (with the original), restart (from the beginning, once the original is late) or
        /// resume (from its progress, in place of it)
        pub strategy: Strategy = Strategy::Resume;
        /// number of clones or backups of a task (fractions are cut off); auto: the number with the best utility
        pub r: Option<f64> = None, word auto, in 0.0..=64.0, unit "attempts";
        /// largest number of clones or backups of a task if r=auto
        pub max: u32 = 8, in 0..=64, unit "attempts";
        /// price of a second of machine time: the weight of machine time against the logarithm to the base 10 of the PoCD above
        /// r_min
        pub theta: f64 = 0.0001, in 0.0.., unit "1/s";
        /// PoCD that a job must exceed; none: its PoCD with r = 0
        pub r_min: Option<f64> = None, word none, in 0.0..=1.0;
        /// time from the start of an original to the test whether it is late
        pub tau_est: f64 = 0.3, in 0.0..=1000.0, unit "shortest durations";
        /// time from the start of an original to the end of all attempts but the best; at least tau_est
        pub tau_kill: f64 = 0.8, in 0.0..=1000.0, unit "shortest durations";
    }
}

impl ChronosParameters {
    /// Returns what is wrong with the parameters together; `None` if nothing is.
    pub(crate) fn check(self) -> Option<String> {
        let ChronosParameters { strategy, tau_est, tau_kill, .. } = self;
        let is_wrong = strategy != Strategy::Clone && tau_kill < tau_est;
        is_wrong.then(|| format!("tau_kill is {}, but must be at least tau_est, {}", Plain(tau_kill), Plain(tau_est)))
    }
}

/// What Chronos has chosen for a phase.
#[derive(Clone, Copy, Debug)]
struct PhasePlan {
    /// Number of clones or backups of each task.
    r: u32,
    deadline: Time,
    tau_est: Time,
    tau_kill: Time,
}

/// What is to be done with a task at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Check {
    /// Test whether the original is late.
    Late,
    /// Stop all attempts but one.
    Kill,
}

/// The pass that starts and stops clones and backups.
pub struct Copies {
    parameters: ChronosParameters,
    /// The plans of phases that have started; `None` for those whose tasks get no other attempts.
    plans: BTreeMap<(JobId, u32), Option<PhasePlan>>,
    /// The next checks, by time.
    checks: BTreeSet<(Time, TaskId, Check)>,
    /// Checks that wait until a remaining time becomes known.
    undecided: BTreeSet<(TaskId, Check)>,
    /// Checks for which it has become known.
    decidable: Vec<(TaskId, Check)>,
    /// Tasks that wait for free resources: the number of further attempts, and the progress from which they start.
    waiting: BTreeMap<TaskId, (u32, f64)>,
    /// True if attempts were stopped in this round.
    has_stopped: bool,
}

impl Copies {
    /// Creates the pass.
    pub fn new(parameters: ChronosParameters) -> Copies {
        Copies {
            parameters,
            plans: BTreeMap::new(),
            checks: BTreeSet::new(),
            undecided: BTreeSet::new(),
            decidable: Vec::new(),
            waiting: BTreeMap::new(),
            has_stopped: false,
        }
    }

    /// Returns the plan of a task's phase. Makes it when the phase starts.
    fn plan(&mut self, task: TaskId, cluster: &Cluster) -> Option<PhasePlan> {
        let id = (task.job, task.phase);
        if let Some(plan) = self.plans.get(&id) {
            return *plan;
        }
        let plan = cluster.job(task.job).and_then(|job| make_plan(&self.parameters, job, task.phase, cluster.now()));
        self.plans.insert(id, plan);
        plan
    }

    fn started(&mut self, attempt: AttemptId, view: &mut View<'_>) {
        let task = attempt.task;
        let Some(plan) = self.plan(task, view.cluster) else { return };
        view.watch(attempt, Condition::Revealed);
        // Other copies than the only one are clones and backups.
        if view.cluster.task(task).is_none_or(|task| task.running_copies() != 1) {
            return;
        }
        let now = view.cluster.now();
        let (at, check) = match self.parameters.strategy {
            Strategy::Clone | Strategy::Restart if plan.r == 0 => return,
            Strategy::Clone => {
                self.waiting.insert(task, (plan.r, 0.0));
                (now + plan.tau_kill, Check::Kill)
            }
            Strategy::Restart | Strategy::Resume => (now + plan.tau_est, Check::Late),
        };
        if self.add(at, task, check) {
            view.wake(at);
        }
    }

    /// Adds a check. Returns true if it is the first one at its time.
    fn add(&mut self, at: Time, task: TaskId, check: Check) -> bool {
        let is_first = self.checks.range((at, TaskId { job: JobId(0), phase: 0, index: 0 }, Check::Late)..).next();
        let is_first = is_first.is_none_or(|(next, ..)| *next != at);
        self.checks.insert((at, task, check));
        is_first
    }

    /// Starts backups of a task if its original is late.
    fn test(&mut self, task: TaskId, round: &mut Round<'_>) {
        let cluster = round.cluster();
        let Some(plan) = self.plan(task, cluster) else { return };
        // Only an original that runs alone is tested.
        let copies: Vec<&Attempt> = cluster.copies(task).collect();
        let [original] = copies[..] else { return };
        let now = cluster.now();
        let remaining = round.estimator.remaining(cluster, original);
        let finish = match remaining {
            Some(remaining) => now + Time::from_seconds(remaining.max(0.0)),
            None => earliest_finish(round.estimator.knowledge(), original, now),
        };
        if finish <= plan.deadline {
            if remaining.is_none() {
                self.undecided.insert((task, Check::Late));
            }
            return;
        }
        let (id, progress) = (original.id(), progress_of(original, now).unwrap_or(0.0));
        let why = || {
            let more = counted(plan.r, "more attempt");
            format!("attempt {} will end after the deadline of its job: its task gets {more}", id.copy)
        };
        if self.parameters.strategy == Strategy::Resume {
            if !round.replace_from(id, progress) {
                return;
            }
            round.because(why);
        }
        if plan.r > 0 {
            let progress = if self.parameters.strategy == Strategy::Resume { progress } else { 0.0 };
            self.waiting.insert(task, (plan.r, progress));
            let at = now + (plan.tau_kill - plan.tau_est);
            if self.add(at, task, Check::Kill) {
                round.decide(Decision::Wake { at });
            }
        }
    }

    /// Stops the attempts of a task that have another one ahead of them.
    fn kill(&mut self, task: TaskId, round: &mut Round<'_>) {
        self.waiting.remove(&task);
        let cluster = round.cluster();
        let Some(plan) = self.plan(task, cluster) else { return };
        let behind = behind_others(cluster, round.estimator, task, plan.deadline);
        let may_become_known = cluster.phase(task).is_some_and(Phase::gives_progress)
            && !matches!(round.estimator.knowledge(), Knowledge::Age | Knowledge::History);
        let running = cluster.task(task).map_or(0, Task::unstopped_copies) as usize;
        if running > behind.len() + 1 && may_become_known {
            self.undecided.insert((task, Check::Kill));
        }
        for (attempt, ahead) in behind {
            round.decide(Decision::Stop { attempt, reason: StopReason::Overtaken });
            round.because(|| {
                format!("attempt {} is ahead of it: after tau_kill only the best one continues", ahead.copy)
            });
            self.has_stopped = true;
        }
    }

    fn forget(&mut self, task: TaskId) {
        self.waiting.remove(&task);
        self.undecided.remove(&(task, Check::Late));
        self.undecided.remove(&(task, Check::Kill));
    }

    fn forget_job(&mut self, job: JobId) {
        let of_job = (job, 0)..=(job, u32::MAX);
        while let Some(phase) = self.plans.range(of_job.clone()).next().map(|(phase, _)| *phase) {
            self.plans.remove(&phase);
        }
    }
}

/// Chooses r for a phase whose first task starts now. `None` if its tasks get no other attempts.
fn make_plan(parameters: &ChronosParameters, job: &Job, at: u32, now: Time) -> Option<PhasePlan> {
    let phase = job.phases().get(at as usize).filter(|phase| phase.may_be_copied())?;
    let end = job.deadline().filter(|deadline| *deadline > now)?;
    let share = phase_deadlines::shares(job).get(at as usize).copied().unwrap_or(1.0);
    let deadline = (end - now).seconds() * share;
    let durations = ParetoTail::of(phase.durations());
    let tau_est = parameters.tau_est * durations.t_min();
    let tau_kill = parameters.tau_kill.max(parameters.tau_est) * durations.t_min();
    let tasks = u64::from(phase.unfinished());
    let strategy = parameters.strategy;
    let model = ChronosJob { strategy, durations, tasks, deadline, tau_est, tau_kill };
    let utility = Utility { theta: parameters.theta, r_min: parameters.r_min, most: parameters.max };
    // The conversion cuts off fractions.
    let r = parameters.r.map_or_else(|| model.best(&utility), |r| r as u32);
    let (deadline, tau_est) = (now + Time::from_seconds(deadline), Time::from_seconds(tau_est));
    Some(PhasePlan { r, deadline, tau_est, tau_kill: Time::from_seconds(tau_kill).max(tau_est) })
}

impl Pass for Copies {
    fn observe(&mut self, seen: Seen<'_>, view: &mut View<'_>) {
        match seen {
            Seen::Decision(Decision::Start { attempt, .. }) => self.started(*attempt, view),
            Seen::Decision(Decision::Replace { attempt, .. }) => {
                let (task, is_replacement) = (attempt.task, |copy: &&Attempt| copy.replaces() == Some(*attempt));
                let replacement = view.cluster.copies(task).find(is_replacement).map(Attempt::id);
                if let Some(id) = replacement.filter(|_| self.plans.contains_key(&(task.job, task.phase))) {
                    view.watch(id, Condition::Revealed);
                }
            }
            Seen::Decision(Decision::Abandon { job }) => self.forget_job(*job),
            Seen::Event(Event::WatchMet { attempt, .. }, _) => {
                for check in [Check::Late, Check::Kill] {
                    if self.undecided.remove(&(attempt.task, check)) {
                        self.decidable.push((attempt.task, check));
                    }
                }
            }
            Seen::Event(Event::AttemptFinished { attempt }, applied) => {
                if applied.won {
                    self.forget(attempt.task);
                }
                if applied.job_finished {
                    self.forget_job(attempt.task.job);
                }
            }
            Seen::Event(Event::TaskGivenUp { task }, applied) if applied.job_finished => self.forget_job(task.job),
            _ => {}
        }
    }

    fn decide(&mut self, round: &mut Round<'_>) {
        let now = round.cluster().now();
        let mut due = std::mem::take(&mut self.decidable);
        while let Some(&(at, task, check)) = self.checks.first().filter(|(at, ..)| *at <= now) {
            self.checks.remove(&(at, task, check));
            due.push((task, check));
        }
        for (task, check) in due {
            let runs = round.cluster().task(task).is_some_and(|task| !task.is_finished() && task.running_copies() > 0);
            match check {
                Check::Late if runs => self.test(task, round),
                Check::Kill if runs => self.kill(task, round),
                Check::Late | Check::Kill => self.forget(task),
            }
        }
        if std::mem::take(&mut self.has_stopped) {
            // In the next round others can use their resources.
            round.decide(Decision::Wake { at: now });
        }
        if self.waiting.is_empty() || round.cluster().open_nodes() == 0 {
            return;
        }
        // Many tasks may wait, and few get copies in a round.
        let mut next = self.waiting.first_key_value().map(|(task, more)| (*task, *more));
        while let Some((task, (more, progress))) = next {
            let running = round.cluster().task(task).filter(|task| !task.is_finished()).map_or(0, Task::running_copies);
            let mut left = if running == 0 { 0 } else { more };
            while left > 0 && start_copy_from(round, task, progress, 1) {
                left -= 1;
                round.because(|| format!("chronos gives each such task of its job {}", counted(more, "more attempt")));
            }
            if left == 0 {
                self.waiting.remove(&task);
            } else {
                self.waiting.insert(task, (left, progress));
            }
            if round.cluster().open_nodes() == 0 {
                return;
            }
            let after = self.waiting.range((Bound::Excluded(task), Bound::Unbounded)).next();
            next = after.map(|(task, more)| (*task, *more));
        }
    }
}
