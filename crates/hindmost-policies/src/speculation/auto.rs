//! `auto` starts, keeps, stops and restarts attempts by one comparison: the job time that an attempt is expected to save, against what its
//! slot is worth to others. It needs to know neither the load nor whether copies help.
//!
//! Source: Hindmost's own rule.
//!
//! Times are in units of E, the mean duration of a copy of the phase. A slot-second costs
//!
//! ```text
//! ν = ν0 + k·Q·d,
//! ```
//!
//! where Q jobs have pending tasks and d is the dominant share of the copy's demand (1/M on M slots): that is how many jobs a second of
//! this slot delays. The remaining time of each attempt is a survival function (`survival`): a step where it is known, else what the
//! durations of the phase leave at its age (`fresh`). D(t) is the probability that all other tasks of the phase are done by the time t;
//! only then does the end of a task end its phase.
//!
//! - **Start.** A copy starts if the time that it saves, with its slot-seconds at the price ν, is positive, and no less than if it started
//!   later (`worth`).
//! - **Keep.** One of several copies is stopped if it does not save what its slot is worth. It is the one that is expected to end last.
//! - **Start again.** An attempt of unknown remaining time that is older than a* starts again in its slot if no other slot is free.
//!
//! Each answer is a range of prices. Copies that may pay are kept in the order of the queue length up to which they do, so that a round looks
//! at those only that pay now (`offers`). A phase is looked at again when something has happened to it, or at the next of some ages of
//! its attempts.
//!
//! Passes: `[Stops, Copies, StartsAgain, Originals(order), Copies]`, all in one pass.

mod decisions;
mod fresh;
mod guard;
mod look;
mod offers;
mod share;
mod survival;
mod watched;
mod worth;

use std::collections::BTreeSet;

use hindmost_core::cluster::{Attempt, Cluster, Phase};
use hindmost_core::estimator::Knowledge;
use hindmost_core::ids::{AttemptId, JobId, TaskId};
use hindmost_core::policy::queue_place::ordered;
use hindmost_core::policy::{Pass, Round, Seen, View};
use hindmost_core::record::{Condition, Decision, Event};
use hindmost_core::time::Time;
use rustc_hash::FxHashMap;

use fresh::Tables;
use look::{Group, Sight, known_from};
use share::{Known, Shares};

use super::kinds::kind;

crate::parameters! {
    /// The parameters of `auto`.
    pub struct AutoParameters {
        /// price of a slot-second while no job has pending tasks, in seconds of a job's time
        pub idle: f64 = 0.003, in 0.0..;
        /// how many jobs a slot-second delays for each job with pending tasks, relative to the share of the cluster that a copy takes
        pub queue: f64 = 10.0, in 0.0..;
    }
}

impl AutoParameters {
    /// Returns the price of a slot-second, if so many jobs wait and a copy takes this share of the cluster.
    fn price(&self, waiting: usize, share: f64) -> f64 {
        self.idle + self.queue * waiting as f64 * share
    }

    /// Returns the number of waiting jobs at which a price is reached.
    fn waiting_at(&self, price: f64, share: f64) -> f64 {
        (price - self.idle) / (self.queue * share)
    }
}

/// A phase: its job and its index.
type PhaseId = (JobId, u32);

/// What has been learned, and is needed to judge a phase.
#[derive(Default)]
struct Lessons {
    tables: Tables,
    shares: Shares,
    tasks: watched::Tasks,
    /// True if jobs wait.
    waits: bool,
    /// True if nobody waited in the last round and the free slots sufficed for another copy of each task.
    is_idle: bool,
}

impl Lessons {
    fn sight<'a>(&'a mut self, id: PhaseId, phase: &'a Phase, knowledge: Knowledge, cluster: &'a Cluster) -> Sight<'a> {
        Sight {
            id,
            cluster,
            phase,
            knowledge,
            fresh: self.tables.of(phase.durations(), known_from(knowledge, phase)),
            shares: &mut self.shares,
            kind: kind(id.0, id.1, cluster).unwrap_or_default(),
            tasks: &self.tasks,
            waits: self.waits,
            cloned: self.is_idle,
        }
    }

    /// Notes what the attempts of a task show of what they have in common, if it has had several.
    fn note(&mut self, task: TaskId, knowledge: Knowledge, cluster: &Cluster) {
        if !self.tasks.contains(task) {
            return;
        }
        let Some(phase) = cluster.phase(task) else { return };
        let sight = self.sight((task.job, task.phase), phase, knowledge, cluster);
        if let Some(likelihoods) = look::likelihoods(task, &sight) {
            let kind = sight.kind;
            self.shares.note(kind, task, likelihoods);
            self.tasks.note(task, cluster.now());
        }
    }
}

/// The pass of `auto`.
pub struct Auto {
    parameters: AutoParameters,
    originals: Box<dyn Pass>,
    lessons: Lessons,
    groups: FxHashMap<PhaseId, Group>,
    /// Tasks that have changed since they were looked at.
    changed_tasks: BTreeSet<TaskId>,
    /// Phases of which all tasks are to be looked at.
    changed: BTreeSet<PhaseId>,
    /// When phases are to be looked at again.
    due: BTreeSet<(Time, PhaseId)>,
    /// The time of the next round that was requested.
    wake: Time,
    /// Tasks that may get a copy, by the largest number of waiting jobs with which it pays, in descending order.
    offers: BTreeSet<(u64, TaskId)>,
    /// Tasks of which a copy may have to go, by the largest number of waiting jobs with which it is worth its slot.
    crowded: BTreeSet<(u64, TaskId)>,
    /// Tasks that may start again.
    old: BTreeSet<TaskId>,
    /// Number of running tasks with one copy.
    single: u64,
}

/// Returns the key of a number of waiting jobs: larger numbers have smaller keys if `descending` is true.
fn key(waiting: f64, descending: bool) -> u64 {
    if descending { !ordered(waiting) } else { ordered(waiting) }
}

impl Auto {
    /// Creates the pass; `originals` starts the pending tasks.
    pub fn new(parameters: AutoParameters, originals: Box<dyn Pass>) -> Auto {
        Auto {
            parameters,
            originals,
            lessons: Lessons { is_idle: true, ..Lessons::default() },
            groups: FxHashMap::default(),
            changed_tasks: BTreeSet::new(),
            changed: BTreeSet::new(),
            due: BTreeSet::new(),
            wake: Time::ZERO,
            offers: BTreeSet::new(),
            crowded: BTreeSet::new(),
            old: BTreeSet::new(),
            single: 0,
        }
    }

    /// Notes that something has happened to a task.
    fn change(&mut self, task: TaskId) {
        if self.groups.contains_key(&(task.job, task.phase)) {
            self.changed_tasks.insert(task);
        }
    }

    fn forget(&mut self, phase: PhaseId) {
        let Some(group) = self.groups.remove(&phase) else { return };
        self.due.remove(&(group.due, phase));
        self.single -= group.single;
        self.withdraw(&group, phase);
    }
}

impl Auto {
    /// Notes that an attempt has ended or is being stopped.
    fn ended(&mut self, attempt: AttemptId, has_finished: bool, knowledge: Knowledge, cluster: &Cluster) {
        if self.lessons.tasks.contains(attempt.task)
            && let Some(phase) = cluster.phase(attempt.task)
        {
            let (now, mean) = (cluster.now(), phase.mean());
            let running = cluster.attempt(attempt).filter(|_| !has_finished);
            let known = running.map(|running| watched::duration(running, mean, known_from(knowledge, phase), cluster));
            self.lessons.tasks.ended(attempt, |since, pace| {
                let ran = (now - since).seconds() / pace / mean;
                if has_finished { Known::Exactly(ran) } else { known.unwrap_or(Known::Above(ran)) }
            });
            self.lessons.note(attempt.task, knowledge, cluster);
            if has_finished {
                self.lessons.tasks.forget(attempt.task);
            }
        }
        self.change(attempt.task);
    }
}

impl Pass for Auto {
    fn observe(&mut self, seen: Seen<'_>, view: &mut View<'_>) {
        let (knowledge, cluster) = (view.estimator.knowledge(), view.cluster);
        let watch = |attempt: AttemptId, view: &mut View<'_>| {
            if view.cluster.phase(attempt.task).is_some_and(|phase| known_from(knowledge, phase) < 1.0) {
                view.watch(attempt, Condition::Revealed);
            }
        };
        match seen {
            Seen::Decision(Decision::Start { attempt, .. }) => {
                let group = self.groups.entry((attempt.task.job, attempt.task.phase)).or_default();
                group.running.insert(attempt.task.index);
                self.lessons.tasks.started(*attempt, cluster);
                watch(*attempt, view);
                self.change(attempt.task);
            }
            Seen::Decision(Decision::Stop { attempt, .. } | Decision::Replace { attempt, .. }) => {
                self.ended(*attempt, false, knowledge, cluster);
            }
            Seen::Decision(Decision::Abandon { job }) => {
                let phases: Vec<PhaseId> = self.groups.keys().filter(|(of, _)| of == job).copied().collect();
                for phase in phases {
                    self.forget(phase);
                }
            }
            Seen::Event(Event::AttemptFailed { attempt, .. }, _) => {
                self.lessons.tasks.failed(*attempt);
                self.change(attempt.task);
            }
            Seen::Event(Event::AttemptStopped { attempt }, _) => {
                // A replacement begins when the attempt that it replaces has stopped.
                let begun = cluster.copies(attempt.task).filter(|copy| copy.since() == cluster.now());
                for id in begun.map(Attempt::id).collect::<Vec<_>>() {
                    self.lessons.tasks.started(id, cluster);
                    watch(id, view);
                    self.change(attempt.task);
                }
            }
            Seen::Event(Event::AttemptFinished { attempt }, _) => self.ended(*attempt, true, knowledge, cluster),
            Seen::Event(Event::WatchMet { attempt, .. }, _) => {
                self.lessons.note(attempt.task, knowledge, cluster);
                self.change(attempt.task);
            }
            Seen::Event(Event::DurationsLearned { job, phase, .. }, _) => {
                self.change(TaskId { job: *job, phase: *phase, index: 0 });
            }
            Seen::Event(Event::NodeLost { .. } | Event::NodeReturned { .. } | Event::NodeSpeedLearned { .. }, _) => {
                self.changed.extend(self.groups.keys());
            }
            _ => {}
        }
        self.originals.observe(seen, view);
    }

    fn decide(&mut self, round: &mut Round<'_>) {
        self.lessons.waits = round.queued_jobs() > 0;
        self.look_at_changed(round);
        self.stop(round);
        self.copy(round);
        self.start_again(round);
        self.originals.decide(round);
        self.lessons.waits = round.queued_jobs() > 0;
        let was_idle = self.lessons.is_idle;
        self.lessons.is_idle = !self.lessons.waits && self.has_space(round.cluster());
        if !self.lessons.waits {
            if self.lessons.is_idle && !was_idle {
                self.changed.extend(self.groups.keys());
            }
            self.look_at_changed(round);
            self.copy(round);
        }
    }
}

impl Auto {
    /// True if there are free slots for another copy of each task that has one.
    fn has_space(&self, cluster: &Cluster) -> bool {
        let Some(share) = self.groups.values().next().map(|group| group.share) else { return true };
        let free = (1.0 / share).round() - cluster.running_attempts() as f64;
        free >= self.single as f64
    }
}
