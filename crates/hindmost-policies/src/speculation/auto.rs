//! `auto` starts, keeps, stops and restarts attempts by one comparison: the job time that an attempt is expected to save, against what its
//! slot is worth to others. It is told neither the load nor whether copies help.
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

mod fresh;
mod guard;
mod look;
mod share;
mod survival;
mod watched;
mod worth;

use std::collections::BTreeSet;

use hindmost_core::cluster::{Attempt, Cluster, Node, Phase};
use hindmost_core::estimator::Knowledge;
use hindmost_core::ids::{AttemptId, JobId, NodeId, TaskId};
use hindmost_core::policy::queue_place::ordered;
use hindmost_core::policy::{Pass, Round, Seen, View};
use hindmost_core::record::{Condition, Decision, Event, StopReason};
use hindmost_core::time::Time;
use rustc_hash::FxHashMap;

use fresh::Tables;
use look::{Finding, Group, Sight, known_from};
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

/// A phase is looked at again once so large a share of its unfinished tasks has ended.
const CHANGED: f64 = 0.05;
/// The same for phases with at most [`SMALL`] unfinished tasks.
const CHANGED_WHEN_SMALL: f64 = 0.1;
/// Number of unfinished tasks up to which a phase is small.
const SMALL: u32 = 20;
/// What was seen of a phase counts for this long, in E.
const FRESH: f64 = 0.25;
/// Phases are looked at because of the ages of their attempts at most once in this time, in E.
const APART: f64 = 0.05;
/// What the attempts of a task show is noted after so long if nothing happens, in E: else short tasks would be seen first.
const NOTED: f64 = 0.25;
/// Number of offers that are compared at a time.
const COMPARED: usize = 8;

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

    /// Looks again at the tasks that have changed, at all tasks of the phases that have changed enough, and at those whose time has come.
    fn look_at_changed(&mut self, round: &mut Round<'_>) {
        let (now, knowledge) = (round.cluster().now(), round.estimator.knowledge());
        let mut tasks = std::mem::take(&mut self.changed_tasks);
        let mut phases = std::mem::take(&mut self.changed);
        let mut last = None;
        for task in &tasks {
            let id = (task.job, task.phase);
            if last.replace(id) == Some(id) {
                continue;
            }
            let Some(group) = self.groups.get(&id) else { continue };
            let phase = round.cluster().phase(*task);
            let has_changed = phase.is_none_or(|phase| {
                let limit = if group.size <= SMALL { CHANGED_WHEN_SMALL } else { CHANGED };
                let changed = f64::from(group.size.abs_diff(phase.unfinished()));
                group.size == 0 || changed >= (limit * f64::from(group.size)).max(1.0)
                    || (now - group.seen).seconds() >= FRESH * phase.mean()
            });
            if has_changed {
                phases.insert(id);
            }
        }
        while let Some((at, phase)) = self.due.first().copied().filter(|(at, _)| *at <= now) {
            self.due.remove(&(at, phase));
            phases.insert(phase);
        }
        tasks.retain(|task| !phases.contains(&(task.job, task.phase)));
        for phase in phases {
            self.look(phase, knowledge, round.cluster());
        }
        for task in tasks {
            self.look_at(task, knowledge, round.cluster());
        }
        if let Some((at, _)) = self.due.first().copied()
            && (at < self.wake || self.wake <= now)
        {
            self.wake = at;
            round.decide(Decision::Wake { at });
        }
    }

    /// Looks at all tasks of a phase.
    fn look(&mut self, id: PhaseId, knowledge: Knowledge, cluster: &Cluster) {
        let Some(phase) = cluster.job(id.0).filter(|job| !job.is_over()).map(|job| &job.phases()[id.1 as usize]) else {
            self.forget(id);
            return;
        };
        let Some(mut group) = self.groups.remove(&id) else { return };
        self.withdraw(&group, id);
        self.due.remove(&(group.due, id));
        self.single -= group.single;
        group.offered.clear();
        group.crowded.clear();
        let apart = Time::from_seconds(NOTED * phase.mean());
        for index in &group.running {
            let task = TaskId { job: id.0, phase: id.1, index: *index };
            if self.lessons.tasks.noted(task).is_some_and(|at| at + apart <= cluster.now()) {
                self.lessons.note(task, knowledge, cluster);
            }
        }
        let mut findings = Vec::new();
        let mut sight = self.lessons.sight(id, phase, knowledge, cluster);
        let next = group.look(&mut sight, |finding| findings.push(finding));
        if group.running.is_empty() {
            return;
        }
        self.find(id, &mut group, findings);
        self.single += group.single;
        group.due = Time::NEVER;
        self.be_due(id, &mut group, next, (phase, cluster));
        self.groups.insert(id, group);
    }

    /// Looks at one task.
    fn look_at(&mut self, task: TaskId, knowledge: Knowledge, cluster: &Cluster) {
        let id = (task.job, task.phase);
        let Some(phase) = cluster.phase(task) else { return };
        let Some(mut group) = self.groups.remove(&id) else { return };
        if let Some(key) = group.offered.remove(&task.index) {
            self.offers.remove(&(key, task));
        }
        if let Some(key) = group.crowded.remove(&task.index) {
            self.crowded.remove(&(key, task));
        }
        self.old.remove(&task);
        if cluster.task(task).is_some_and(|task| !task.is_finished() && task.running_copies() > 0) {
            let mut findings = Vec::new();
            let mut sight = self.lessons.sight(id, phase, knowledge, cluster);
            let next = group.look_at(task.index, &mut sight, |finding| findings.push(finding));
            self.find(id, &mut group, findings);
            self.be_due(id, &mut group, next, (phase, cluster));
        } else {
            group.finished(task.index);
        }
        self.groups.insert(id, group);
    }

    /// Notes when a phase is to be looked at again, if that is before the time known so far.
    fn be_due(&mut self, id: PhaseId, group: &mut Group, next: Time, (phase, cluster): (&Phase, &Cluster)) {
        let next = next.max(cluster.now() + Time::from_seconds(APART * phase.mean()));
        if next < group.due {
            self.due.remove(&(group.due, id));
            group.due = next;
            self.due.insert((next, id));
        }
    }

    /// Notes what a look has found.
    fn find(&mut self, id: PhaseId, group: &mut Group, findings: Vec<Finding>) {
        let task = |index| TaskId { job: id.0, phase: id.1, index };
        for finding in findings {
            match finding {
                Finding::Offer(index, prices) => {
                    let key = key(self.parameters.waiting_at(prices.below, group.share), true);
                    group.offered.insert(index, key);
                    self.offers.insert((key, task(index)));
                }
                Finding::Crowded(index, price) => {
                    let key = key(self.parameters.waiting_at(price, group.share), false);
                    group.crowded.insert(index, key);
                    self.crowded.insert((key, task(index)));
                }
                Finding::StartsAgain(index) => {
                    self.old.insert(task(index));
                }
            }
        }
    }

    /// Removes what was found in a phase.
    fn withdraw(&mut self, group: &Group, phase: PhaseId) {
        let task = |index| TaskId { job: phase.0, phase: phase.1, index };
        for (index, key) in &group.offered {
            self.offers.remove(&(*key, task(*index)));
        }
        for (index, key) in &group.crowded {
            self.crowded.remove(&(*key, task(*index)));
        }
        let of_phase: Vec<TaskId> = self.old.range(task(0)..=task(u32::MAX)).copied().collect();
        for task in of_phase {
            self.old.remove(&task);
        }
    }

    /// Stops copies that are not worth their slots.
    fn stop(&mut self, round: &mut Round<'_>) {
        let waiting = round.queued_jobs();
        let limit = key(waiting as f64, false);
        let mut has_stopped = false;
        let over: Vec<(u64, TaskId)> = self.crowded.range(..(limit, TaskId { job: JobId(0), phase: 0, index: 0 })).copied().collect();
        for (key, task) in over {
            let phase_id = (task.job, task.phase);
            let cluster = round.cluster();
            let judged = self.groups.get(&phase_id).zip(cluster.phase(task)).and_then(|(group, phase)| {
                let mut sight = self.lessons.sight(phase_id, phase, round.estimator.knowledge(), cluster);
                Some((group.crowded(task, &mut sight)?, group.share))
            });
            self.crowded.remove(&(key, task));
            if let Some(group) = self.groups.get_mut(&phase_id) {
                group.crowded.remove(&task.index);
            }
            let Some(((attempt, value), share)) = judged else { continue };
            let price = self.parameters.price(waiting, share);
            if value.at(price) >= 0.0 {
                continue;
            }
            if round.decide(Decision::Stop { attempt, reason: StopReason::Overtaken }) {
                round.because(|| {
                    format!(
                        "it is expected to save {:.3} of a mean duration and to use {:.3} at a price of {price:.3}: another copy of the \
                         task does as well",
                        value.gain, -value.slots
                    )
                });
                self.change(task);
                has_stopped = true;
            }
        }
        if has_stopped {
            // The next round uses what comes free.
            let at = round.cluster().now();
            round.decide(Decision::Wake { at });
        }
    }

    /// Starts the copies that pay, those with the largest value for each slot-second first.
    fn copy(&mut self, round: &mut Round<'_>) {
        // A refused start must not be tried again in the same round.
        let mut refused: BTreeSet<TaskId> = BTreeSet::new();
        while round.cluster().open_nodes() > 0 {
            let waiting = round.queued_jobs();
            let limit = key(waiting as f64, true);
            let cluster = round.cluster();
            let mut best: Vec<(f64, TaskId)> = Vec::new();
            let mut worthless: Vec<(u64, TaskId, Option<f64>)> = Vec::new();
            let tried = self.offers.iter().take_while(|(key, _)| *key < limit).filter(|(_, task)| !refused.contains(task));
            // Their order is of no importance if there is space for all.
            let compared = if cluster.open_nodes() >= self.offers.len() { 1 } else { COMPARED };
            let tried: Vec<(u64, TaskId)> = tried.take(compared).copied().collect();
            for (key, task) in &tried {
                let Some((group, phase)) = self.groups.get(&(task.job, task.phase)).zip(cluster.phase(*task)) else {
                    worthless.push((*key, *task, None));
                    continue;
                };
                let Some(node) = node_for(*task, cluster) else {
                    refused.insert(*task);
                    continue;
                };
                let phase_id = (task.job, task.phase);
                let mut sight = self.lessons.sight(phase_id, phase, round.estimator.knowledge(), cluster);
                let offer = group.offer(*task, node, &mut sight);
                let price = self.parameters.price(waiting, group.share);
                match offer {
                    Some(offer) if offer.prices.contain(price) => {
                        best.push((offer.value.at(price) / offer.uses.max(1e-9), *task));
                    }
                    Some(offer) if !offer.prices.is_empty() => worthless.push((*key, *task, Some(offer.prices.below))),
                    _ => worthless.push((*key, *task, None)),
                }
            }
            for (key, task, below) in worthless {
                self.offer_again(key, task, below, waiting);
            }
            best.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
            if best.is_empty() {
                if self.offers.iter().take_while(|(key, _)| *key < limit).all(|(_, task)| refused.contains(task)) {
                    return;
                }
                continue;
            }
            // What is started changes what the others of its job are worth.
            let mut served: BTreeSet<PhaseId> = BTreeSet::new();
            for (value, task) in best {
                let phase_id = (task.job, task.phase);
                if !served.insert(phase_id) {
                    continue;
                }
                let node = node_for(task, round.cluster()).filter(|_| round.may_start(task));
                if !node.is_some_and(|node| round.start(task, node)) {
                    refused.insert(task);
                    continue;
                }
                round.because(|| {
                    format!("a copy is worth {value:.3} of a mean duration for each that it uses, while {waiting} jobs have pending tasks")
                });
                let knowledge = round.estimator.knowledge();
                self.look_at(task, knowledge, round.cluster());
            }
        }
    }

    /// Withdraws an offer, or makes it again for prices below a lower one: waiting is worth more than was assumed.
    fn offer_again(&mut self, old: u64, task: TaskId, below: Option<f64>, waiting: usize) {
        self.offers.remove(&(old, task));
        let Some(group) = self.groups.get_mut(&(task.job, task.phase)) else { return };
        group.offered.remove(&task.index);
        let key = below.map(|below| key(self.parameters.waiting_at(below, group.share), true));
        // An offer for the present number of waiting jobs would be looked at for ever.
        if let Some(key) = key.filter(|key| *key >= crate::speculation::auto::key(waiting as f64, true)) {
            group.offered.insert(task.index, key);
            self.offers.insert((key, task));
        }
    }

    /// Starts attempts again that are too old, if no slot is free for a copy.
    fn start_again(&mut self, round: &mut Round<'_>) {
        for task in std::mem::take(&mut self.old) {
            let cluster = round.cluster();
            let Some((group, phase)) = self.groups.get(&(task.job, task.phase)).zip(cluster.phase(task)) else { continue };
            if cluster.fits_somewhere(phase.demand()) {
                self.old.insert(task);
                continue;
            }
            // A copy that waits for the resources of another one is new already.
            let is_unknown = look::running(task, cluster)
                .all(|copy| copy.measured_finish().is_none() && copy.replaces().is_none());
            let oldest = look::running(task, cluster).min_by_key(|copy| copy.since()).map(Attempt::id);
            let by_age = known_from(round.estimator.knowledge(), phase) >= 1.0;
            let price = self.parameters.price(round.cluster_and_orders().1.jobs(), group.share);
            let mut sight = self.lessons.sight((task.job, task.phase), phase, round.estimator.knowledge(), cluster);
            let Some(value) = group.restart(task, &mut sight) else { continue };
            let pays = !by_age || look::running(task, cluster).count() == 1 && value.at(price) > 0.0;
            let Some(oldest) = oldest.filter(|_| is_unknown && pays && sight.is_old(task)) else { continue };
            if round.may_start(task) && round.replace(oldest) {
                round.because(|| "it is older than most attempts become, and a fresh one is expected to end sooner".to_owned());
                self.change(task);
            }
        }
    }
}

/// Returns the fastest node with free resources on which a copy of a task may start.
fn node_for(task: TaskId, cluster: &Cluster) -> Option<NodeId> {
    let elsewhere = |node: NodeId, _: &Node| cluster.may_copy_on(task, node) && !cluster.avoids(task, node);
    cluster.find_fastest_node(cluster.phase(task)?.demand(), elsewhere)
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
impl Drop for Auto {
    fn drop(&mut self) {
        self.lessons.shares.show();
    }
}
