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
//! - **Start again.** An attempt of unknown remaining time that is older than a* starts again in its slot if no other slot is free. Where
//!   copies may be slow together, it must save more than another copy in the next free slot would, a copy of the kind must have been tried,
//!   and progress must not show what remains.
//!
//! For a task whose input is b times as large as usual it is as if all nodes were b times as slow, where durations follow sizes
//! (`speculation/input_sizes.rs`): its attempts age b times as slowly, and its copies take b times as long. Where durations are stated, winners
//! must have shown that; where they are learned, it is assumed until winners show that it is not so.
//!
//! Each answer is a range of prices. Copies that may pay are kept in the order of the queue length up to which they do, so that a round looks
//! at those only that pay now (`queue`). A task is looked at again when something has happened to it, or at the next of some ages of
//! its attempts (`watch`); all tasks of a phase once enough of them have ended.
//!
//! Passes: `[Restarts, Stops, Copies, StartsAgain, Originals(order, by speed), Copies]`: one before originals and one after them, which share
//! what they know. Where a task may have only one attempt at a time, the pass `Restarts` of `pace` decides.

mod beside;
mod chain;
mod decisions;
mod durations;
mod fresh;
mod guard;
mod look;
mod observed;
mod predictions;
mod queue;
mod reveals;
mod share;
mod survival;
mod watch;
mod watched;
mod worth;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hindmost_core::cluster::{Attempt, Cluster, Task};
use hindmost_core::estimator::Knowledge;
use hindmost_core::ids::{AttemptId, JobId, TaskId};
use hindmost_core::policy::{Pass, Round, Seen, View};
use hindmost_core::record::{Condition, Decision, Event};
use hindmost_core::time::Time;
use rustc_hash::FxHashMap;

use crate::speculation::input_sizes::{self, InputSizes};
use crate::speculation::kinds::kind;
use durations::Durations;
use fresh::Tables;
use look::{Group, Seen as SeenTask, known_from};
use predictions::Predictions;
use queue::Queue;
use reveals::Reveals;
use share::{Known, Shares};
use watched::Scale;

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
    predictions: Predictions,
    durations: Durations,
    reveals: Reveals,
    input_sizes: InputSizes,
    /// True if jobs wait.
    waits: bool,
    /// True if nobody waited in the last round and the free slots sufficed for another copy of each task.
    is_idle: bool,
}

/// The pass of `auto` before originals, which also observes for both.
pub struct BeforeOriginals(Arc<Mutex<Auto>>);

/// The pass of `auto` after originals.
pub struct AfterOriginals(Arc<Mutex<Auto>>);

/// Returns both passes.
pub fn passes(parameters: AutoParameters) -> (BeforeOriginals, AfterOriginals) {
    let auto = Arc::new(Mutex::new(Auto::new(parameters)));
    (BeforeOriginals(auto.clone()), AfterOriginals(auto))
}

/// Returns what both passes know. Nobody else has it while one of them decides.
fn shared(auto: &Mutex<Auto>) -> MutexGuard<'_, Auto> {
    auto.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pass for BeforeOriginals {
    fn observe(&mut self, seen: Seen<'_>, view: &mut View<'_>) {
        shared(&self.0).observe(seen, view);
    }

    fn decide(&mut self, round: &mut Round<'_>) {
        shared(&self.0).before_originals(round);
    }
}

impl Pass for AfterOriginals {
    fn decide(&mut self, round: &mut Round<'_>) {
        shared(&self.0).after_originals(round);
    }
}

/// What the passes of `auto` know.
struct Auto {
    parameters: AutoParameters,
    lessons: Lessons,
    groups: FxHashMap<PhaseId, Group>,
    queue: Queue,
    /// Tasks that have changed since they were looked at.
    changed_tasks: Vec<TaskId>,
    /// Tasks whose attempts show more of what they have in common than was noted.
    unnoted: Vec<TaskId>,
    /// Phases of which all tasks are to be looked at.
    changed: BTreeSet<PhaseId>,
    /// The time of the next round that was requested.
    woken: Time,
    /// Number of running tasks with one copy.
    single: usize,
    /// The dominant share of a copy of the phase that was looked at last.
    share: f64,
}

impl Auto {
    fn new(parameters: AutoParameters) -> Auto {
        Auto {
            parameters,
            lessons: Lessons { is_idle: true, ..Lessons::default() },
            groups: FxHashMap::default(),
            queue: Queue::default(),
            changed_tasks: Vec::new(),
            unnoted: Vec::new(),
            changed: BTreeSet::new(),
            woken: Time::ZERO,
            single: 0,
            share: 1.0,
        }
    }

    /// Returns the kind of a task's phase.
    fn kind(&self, task: TaskId, cluster: &Cluster) -> u64 {
        let known = self.groups.get(&(task.job, task.phase)).and_then(|group| group.class);
        known.map_or_else(|| kind(task.job, task.phase, cluster).unwrap_or_default(), |class| class.kind)
    }

    /// Notes that something has happened to a task.
    fn change(&mut self, task: TaskId) {
        self.changed_tasks.push(task);
    }

    /// Notes that an attempt of a task has started.
    fn begin(&mut self, task: TaskId) {
        let group = self.groups.entry((task.job, task.phase)).or_default();
        group.tasks.entry(task.index).or_insert_with(|| {
            self.changed_tasks.push(task);
            Box::new(SeenTask::NEW)
        });
    }

    /// Notes that attempts of a task have started or were stopped, if that is not known yet.
    fn count(&mut self, task: TaskId, cluster: &Cluster) {
        let seen = self.groups.get(&(task.job, task.phase)).and_then(|group| group.tasks.get(&task.index));
        let is_known = seen
            .zip(cluster.task(task))
            .is_some_and(|(seen, task)| task.launched() == seen.launched && task.unstopped_copies() == seen.copies);
        if !is_known {
            self.change(task);
        }
    }

    fn forget(&mut self, phase: PhaseId) {
        let Some(group) = self.groups.remove(&phase) else { return };
        for (index, mut seen) in group.tasks {
            self.single -= usize::from(seen.copies == 1);
            self.queue.forget(TaskId { job: phase.0, phase: phase.1, index }, &mut seen);
        }
    }

    /// Notes that an attempt has ended or is being stopped.
    fn ended(&mut self, attempt: AttemptId, has_finished: bool, knowledge: Knowledge, cluster: &Cluster) {
        let Some(phase) = cluster.phase(attempt.task) else { return };
        let (now, kind) = (cluster.now(), self.kind(attempt.task, cluster));
        if has_finished && self.lessons.predictions.of(attempt, false).is_none() {
            self.lessons.reveals.note(kind, 1.0);
        }
        self.lessons.predictions.end(attempt, now, has_finished, phase.mean());
        let scale = self.lessons.scale((attempt.task.job, attempt.task.phase), phase, kind, knowledge);
        let group = self.groups.get(&(attempt.task.job, attempt.task.phase));
        // What the first attempt shows counts once: when it ends, or the task does.
        let first = AttemptId { copy: 0, ..attempt };
        let is_over = cluster.task(attempt.task).is_none_or(Task::is_finished);
        if (has_finished || attempt == first && !is_over) && !phase.is_assumed() {
            let seen = group.and_then(|group| group.tasks.get(&attempt.task.index)).and_then(|seen| seen.first);
            let running = cluster.attempt(first).filter(|_| !has_finished || attempt != first);
            let known = running.map(|running| watched::duration(running, scale, cluster)).or_else(|| {
                let (began, pace) = seen.filter(|_| attempt == first)?;
                Some(Known::Exactly((now - began).seconds() / f64::from(pace) / scale.mean))
            });
            if let Some(known) = known {
                let is_stated = !self.lessons.reveals.is_learned(kind);
                self.lessons.durations.note(kind, known, (phase.durations(), scale.mean), is_stated);
            }
        }
        if self.lessons.tasks.contains(attempt.task) {
            let mean = group.and_then(|group| group.class).map_or(scale.mean, |class| class.mean);
            let running = cluster.attempt(attempt).filter(|_| !has_finished);
            let (scale, times) = (Scale { mean, ..scale }, scale.times(attempt.task, cluster));
            let known = running.map(|running| watched::duration(running, scale, cluster));
            self.lessons.tasks.ended(attempt, |since, pace| {
                let ran = (now - since).seconds() / (pace * times) / mean;
                if has_finished { Known::Exactly(ran) } else { known.unwrap_or(Known::Above(ran)) }
            });
            if has_finished {
                self.note(attempt.task, knowledge, cluster);
                self.lessons.tasks.forget(attempt.task);
            } else {
                self.unnoted.push(attempt.task);
            }
        }
        if has_finished { self.change(attempt.task) } else { self.count(attempt.task, cluster) }
    }
}

impl Auto {
    fn observe(&mut self, seen: Seen<'_>, view: &mut View<'_>) {
        let (knowledge, cluster) = (view.estimator.knowledge(), view.cluster);
        let watch = |attempt: AttemptId, view: &mut View<'_>| {
            if view.cluster.phase(attempt.task).is_some_and(|phase| known_from(knowledge, phase) < 1.0) {
                view.watch(attempt, Condition::Revealed);
            }
        };
        match seen {
            Seen::Decision(Decision::Start { attempt, .. }) => {
                self.begin(attempt.task);
                self.lessons.tasks.started(*attempt, cluster);
                watch(*attempt, view);
            }
            Seen::Decision(decision @ (Decision::Stop { attempt, .. } | Decision::Replace { attempt, .. })) => {
                if matches!(decision, Decision::Replace { .. }) {
                    self.lessons.tasks.watch(attempt.task, cluster);
                }
                self.ended(*attempt, false, knowledge, cluster);
            }
            Seen::Decision(Decision::Abandon { job }) => {
                let phases: Vec<PhaseId> = self.groups.keys().filter(|(of, _)| of == job).copied().collect();
                for phase in phases {
                    self.forget(phase);
                }
            }
            Seen::Event(Event::AttemptFailed { attempt, .. }, _) => {
                self.lessons.predictions.forget(*attempt);
                let id = (attempt.task.job, attempt.task.phase);
                if let Some(class) = self.groups.get(&id).and_then(|group| group.class) {
                    // It would have taken longer than it has run.
                    let median = self.lessons.median_input(id, class.kind);
                    let times = median.map_or(1.0, |median| input_sizes::times(attempt.task, median, cluster));
                    let now = cluster.now();
                    let ran = |since, pace: f64| Known::Above((now - since).seconds() / (pace * times) / class.mean);
                    self.lessons.tasks.ended(*attempt, ran);
                }
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
            Seen::Event(Event::WatchMet { attempt, expected_finish, guessed, .. }, _) => {
                if let Some(finish) = expected_finish.filter(|_| !guessed) {
                    let kind = self.kind(attempt.task, cluster);
                    if self.lessons.predictions.of(*attempt, false).is_none()
                        && let Some(running) = cluster.attempt(*attempt)
                    {
                        let (began, now) = (running.began(cluster.now()), cluster.now());
                        let whole = (finish - began).seconds().max(1e-9);
                        self.lessons.reveals.note(kind, ((now - began).seconds() / whole).min(1.0));
                    }
                    self.lessons.predictions.predict(*attempt, kind, cluster.now(), finish);
                }
                if self.lessons.tasks.contains(attempt.task) {
                    self.unnoted.push(attempt.task);
                }
                self.change(attempt.task);
            }
            Seen::Event(Event::DurationsLearned { job, phase, .. }, _) => {
                self.lessons.reveals.learn(kind(*job, *phase, cluster).unwrap_or_default());
                self.changed.insert((*job, *phase));
            }
            Seen::Event(Event::NodeLost { .. }, _) => {
                self.lessons.predictions.keep(|attempt| cluster.attempt(attempt).is_some());
                self.changed.extend(self.groups.keys());
            }
            Seen::Event(Event::NodeReturned { .. } | Event::NodeSpeedLearned { .. }, _) => {
                self.changed.extend(self.groups.keys());
            }
            _ => {}
        }
        self.lessons.input_sizes.observe(seen, cluster);
    }

    fn before_originals(&mut self, round: &mut Round<'_>) {
        self.lessons.waits = round.queued_jobs() > 0;
        self.compare_durations(round);
        self.look_at_changed(round);
        self.stop(round);
        self.copy(round);
        self.start_again(round);
    }

    fn after_originals(&mut self, round: &mut Round<'_>) {
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
        self.wake(round);
    }

    /// True if there are free slots for another copy of each task that has one.
    fn has_space(&self, cluster: &Cluster) -> bool {
        let free = if cluster.dimensions().is_one_slot() {
            cluster.open_nodes() as f64
        } else {
            (1.0 / self.share).round() - cluster.running_attempts() as f64
        };
        free >= self.single as f64
    }
}
