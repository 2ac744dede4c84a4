//! Placing node by node: each node with free room picks the job that fits it best.
//!
//! Orders such as `fifo` take the next job and look for a node. `tetris` and `dollymp` go the other way
//! round: they take a node and pick, level by level, the job whose next copy scores highest there. This pass
//! does so without looking at every node and every job each time: it visits the nodes whose free room has
//! grown since it last did, and those on which something fits that could not be started before. On all
//! others nothing fitted, and nothing does now.
//!
//! A sweep goes once through these nodes and does its stages on each: originals, or clones of tasks that
//! have so many copies. Where clones come after originals have been tried everywhere they have a sweep of their
//! own.
//!
//! `tetris` takes of all these nodes the best pair of task and node instead (`pairs.rs`).
//!
//! A phase all of whose tasks have a copy on the node already counts as one of which a clone fits until it is picked
//! there in vain; until then later phases of its job wait behind it.

mod alike;
mod pairs;
mod serving;
mod withheld;

use std::collections::BTreeSet;

use hindmost_core::cluster::{Cluster, Job, Node};
use hindmost_core::id_set::IdSet;
use hindmost_core::ids::{JobId, NodeId, TaskId};
use hindmost_core::record::{Decision, Event};
use hindmost_core::resources::Resources;

use self::alike::Alike;
use self::serving::Serving;
use self::withheld::{Awaits, Withheld};
use crate::cloning::clone_pool::ClonePool;
use crate::placement::candidates_by_level::{Alignment, Candidate, JobPhase, Levels};
use crate::placement::newly_startable::Fresh;
use hindmost_core::policy::job_queue::JobQueue;
use hindmost_core::policy::queue_place::Which;
use hindmost_core::policy::{Pass, Round, Seen, View};

pub use self::serving::Stage;
pub use self::withheld::CloneLimits;
pub(crate) use self::withheld::is_within_budget;

/// How jobs are grouped into levels, and how well a copy fits a node.
pub trait Fit: Send {
    /// The job's level; lower ones come first. By default every key of the order is a level of its own.
    fn level(&self, job: &Job, cluster: &Cluster, queue: &JobQueue) -> u64 {
        queue.key_of(job, cluster)
    }

    /// What speaks against a job wherever its copies go; not negative.
    fn penalty(&self, _job: &Job, _cluster: &Cluster) -> f64 {
        0.0
    }

    /// True if the penalty changes when a task finishes.
    fn follows_finishes(&self) -> bool {
        false
    }

    /// Is told before a round what could be started.
    fn prepare(&mut self, _candidates: &Levels, _cluster: &Cluster) {}

    /// What aligns a demand with a node's free room in so many dimensions.
    fn alignment(&self, node: &Node, dimensions: usize) -> Alignment {
        Alignment::normalised(node, dimensions)
    }

    /// What a penalty of 1 weighs against an alignment of 1: the copy with the highest alignment less weighed
    /// penalty is next.
    fn penalty_weight(&self) -> f64 {
        0.0
    }

    /// True if the pair of task and node with the highest score is next, of all nodes, rather than each node in
    /// turn takes what scores highest there. Then every phase of a job is meant that could start something.
    fn takes_best_pair(&self) -> bool {
        false
    }

    /// True if of a job only the first phase with something to start is meant, whether or not it fits.
    fn first_phase_only(&self) -> bool {
        false
    }

    /// Why a task was placed, in words.
    fn because(&self) -> &'static str {
        "of the jobs whose turn it was it fitted the node's free room best"
    }
}

/// The order's keys as levels, the best fit within one.
pub struct InKeyOrder;

impl Fit for InKeyOrder {}

/// One way through the nodes. See the module's documentation.
struct Sweep {
    servings: Vec<Serving>,
    /// Nodes whose free room has grown since they were last visited.
    grown: IdSet,
}

/// What has come of an attempt at starting a copy.
enum Start {
    Made,
    /// None of the tasks may run there, or the start was refused.
    Nothing,
    /// Nothing of the phase may start anywhere in this round: it was taken out.
    Withheld,
}

/// The pass. See the module's documentation.
pub struct ByNode {
    fit: Box<dyn Fit>,
    sweeps: Vec<Sweep>,
    pool: ClonePool,
    limits: CloneLimits,
    /// Kept up to date where the best pair of task and node is taken.
    alike: Alike,
    withheld: Withheld,
    /// Nodes of which some room was reserved when a reservation could last have ended.
    reserved: BTreeSet<NodeId>,
    /// A start was refused, though it fitted.
    refused: bool,
    /// Something was withheld or has failed: not every task may run wherever it fits.
    has_exceptions: bool,
    touched: BTreeSet<JobId>,
    /// As of so many changes of keys; `None` at first.
    as_of: Option<u64>,
    /// Starts of this pass of which it has still to be told.
    own_starts: usize,
    /// Used again and again.
    candidates: Vec<Candidate>,
}

impl ByNode {
    /// One sweep after the other, each with its stages.
    pub fn new(fit: Box<dyn Fit>, sweeps: Vec<Vec<Stage>>) -> ByNode {
        let copies = |stage: &Stage| if let Stage::Clones { copies } = stage { *copies } else { 0 };
        let clones = sweeps.iter().flatten().map(copies).max().unwrap_or(0);
        let sweep = |stages: Vec<Stage>| Sweep {
            servings: stages.into_iter().map(Serving::of).collect(),
            grown: IdSet::default(),
        };
        ByNode {
            fit,
            sweeps: sweeps.into_iter().map(sweep).collect(),
            pool: ClonePool::new(clones),
            limits: CloneLimits::default(),
            alike: Alike::default(),
            withheld: Withheld::default(),
            reserved: BTreeSet::new(),
            refused: false,
            has_exceptions: false,
            touched: BTreeSet::new(),
            as_of: None,
            own_starts: 0,
            candidates: Vec::new(),
        }
    }

    /// With limits on its clones.
    #[must_use]
    pub fn with_limits(mut self, limits: CloneLimits) -> ByNode {
        self.limits = limits;
        self
    }

    /// A node is lost. Attempts that ended on it since the last round left free room, which is gone with it.
    fn node_lost(&mut self, node: NodeId, cluster: &Cluster) {
        self.alike.changed(node);
        for sweep in &mut self.sweeps {
            sweep.grown.remove(node.0);
        }
        self.pool.rebuild(cluster);
        // A task that has lost a copy may be cloned where its phase's other tasks may not.
        let running: BTreeSet<TaskId> = cluster.running().map(|attempt| attempt.id().task).collect();
        for task in running {
            self.place(task, cluster);
        }
        // Tasks of many phases may be pending again, or avoid no longer the nodes on which they have failed.
        self.look_everywhere();
    }

    /// A task has lost its last copy. It may go where others of its phase may not: these may avoid the node.
    fn pending_again(&mut self, task: TaskId, cluster: &Cluster) {
        let Some(phase) = cluster.phase(task) else { return };
        for serving in self.sweeps.iter_mut().flat_map(|sweep| &mut sweep.servings) {
            if matches!(serving.stage, Stage::Originals(_)) {
                serving.fresh.add(phase.demand());
            }
        }
    }

    fn room_grew(&mut self, node: NodeId) {
        self.alike.changed(node);
        for sweep in &mut self.sweeps {
            sweep.grown.insert(node.0);
        }
    }

    /// A task's copies have changed: it is found among those that may be cloned, or no more. True if there are
    /// such tasks of its phase for the first time, or no more.
    fn place(&mut self, task: TaskId, cluster: &Cluster) -> bool {
        let placed = self.pool.place(task, cluster);
        if let (Some(copies), Some(phase)) = (placed.copies, cluster.phase(task)) {
            for serving in self.sweeps.iter_mut().flat_map(|sweep| &mut sweep.servings) {
                if serving.stage == (Stage::Clones { copies }) {
                    serving.fresh.add(phase.demand());
                }
            }
        }
        placed.phase_changed
    }

    /// Brings what could be started of a job up to date.
    fn refresh(&mut self, job: JobId, cluster: &Cluster, queue: &JobQueue) {
        self.withheld.forget(job);
        for serving in self.sweeps.iter_mut().flat_map(|sweep| &mut sweep.servings) {
            self.candidates.clear();
            if let Some(found) = cluster.job(job) {
                let stands = || (self.fit.level(found, cluster, queue), self.fit.penalty(found, cluster));
                serving.candidates(found, &self.pool, stands, &mut self.candidates);
            }
            if self.limits.budget.is_some() && matches!(serving.stage, Stage::Clones { .. }) {
                self.candidates.iter().for_each(|candidate| self.withheld.may_be_cloned(&candidate.demand));
            }
            serving.levels.set(job, &self.candidates, |demand| serving.fresh.add(&demand));
        }
    }

    /// Every job whose tasks, phases or key have changed is put into its place.
    fn refresh_touched(&mut self, round: &mut Round<'_>) {
        let (cluster, queue) = round.cluster_and_queue();
        match self.as_of.and_then(|changes| queue.changed_since(changes)) {
            Some(jobs) => self.touched.extend(jobs),
            None => self.touched.extend(cluster.jobs().map(Job::id)),
        }
        self.as_of = Some(queue.changes());
        while let Some(job) = self.touched.pop_first() {
            self.refresh(job, cluster, queue);
        }
    }

    fn sweep(&mut self, at: usize, round: &mut Round<'_>) {
        let mut fresh = Fresh::default();
        self.sweeps[at].take_fresh(&mut fresh);
        // What turns up on the way is looked for on the nodes that follow, and then on all.
        while !(self.sweeps[at].grown.is_empty() && fresh.is_empty()) {
            let mut turned_up = Fresh::default();
            let mut from = NodeId(0);
            while let Some(node) = next_node(from, &self.sweeps[at].grown, &mut fresh, round.cluster()) {
                if self.has_nothing(at, round.cluster()) {
                    break;
                }
                for serving in 0..self.sweeps[at].servings.len() {
                    self.serve((at, serving), node, round);
                }
                let mut here = Fresh::default();
                self.sweeps[at].take_fresh(&mut here);
                turned_up.add_all(&here);
                fresh.append(&mut here);
                let Some(next) = node.0.checked_add(1) else { break };
                from = NodeId(next);
            }
            self.sweeps[at].grown.clear();
            fresh = turned_up;
        }
    }

    /// True if a sweep's stages have nothing to start anywhere.
    fn has_nothing(&mut self, at: usize, cluster: &Cluster) -> bool {
        let no_clones = self.withheld.allows_no_clone(&self.limits, &self.pool, cluster);
        let is_withheld = |serving: &Serving| no_clones && matches!(serving.stage, Stage::Clones { .. });
        let mut left = self.sweeps[at].servings.iter().filter(|serving| !serving.levels.is_empty());
        let has_nothing = left.clone().all(is_withheld);
        self.withheld.clones |= left.any(is_withheld);
        has_nothing
    }

    /// Starts on a node what a stage has for it, level by level.
    fn serve(&mut self, (sweep, at): (usize, usize), node: NodeId, round: &mut Round<'_>) {
        let dimensions = round.cluster().dimensions().names().len();
        let weight = self.fit.penalty_weight();
        let mut level = None;
        let is_clones = matches!(self.sweeps[sweep].servings[at].stage, Stage::Clones { .. });
        if is_clones && self.withheld.allows_no_clone(&self.limits, &self.pool, round.cluster()) {
            self.withheld.clones = true;
            return;
        }
        loop {
            let Some(found) = round.cluster().node(node) else { return };
            let serving = &self.sweeps[sweep].servings[at];
            let Some(next) = serving.levels.next_level(level, found.free()) else { return };
            // What has nothing for this node.
            let mut passed: Vec<JobPhase> = Vec::new();
            while let Some(found) = round.cluster().node(node) {
                let serving = &self.sweeps[sweep].servings[at];
                let alignment = || self.fit.alignment(found, dimensions);
                let best = if weight == 0.0 {
                    serving.levels.best_on(next, found, alignment, &passed)
                } else {
                    let best = serving.levels.best(next, found.free(), &alignment(), weight, &passed);
                    best.map(|(_, phase)| phase)
                };
                let Some(phase) = best else { break };
                match self.start_of((sweep, at), phase, node, round) {
                    Start::Made | Start::Withheld => {}
                    Start::Nothing => passed.push(phase),
                }
            }
            level = Some(next);
        }
    }

    /// Starts a copy of a phase's next task on a node, if there is one that may run there.
    fn start_of(&mut self, (sweep, at): (usize, usize), phase: JobPhase, node: NodeId, round: &mut Round<'_>) -> Start {
        let serving = &self.sweeps[sweep].servings[at];
        let stage = serving.stage;
        let Some(task) = serving.task(phase, node, round.cluster(), &self.pool, self.limits.per_node) else {
            return Start::Nothing;
        };
        let is_clone = matches!(stage, Stage::Clones { .. });
        let has_budget = is_clone && self.limits.budget.is_some();
        let demand = if has_budget { serving.levels.get(phase).map(|candidate| candidate.demand) } else { None };
        let awaits = if round.may_start(task) {
            let is_over = |demand: &Resources| !self.limits.allow(demand, &self.pool, round.cluster());
            demand.filter(is_over).map(Awaits::Budget)
        } else {
            Some(Awaits::Slack(round.slack_needed(task)))
        };
        if let Some(awaits) = awaits {
            self.withheld.add(phase.0, awaits);
            self.sweeps[sweep].servings[at].levels.remove(phase);
            return Start::Withheld;
        }
        if self.start(stage, task, node, round) {
            return Start::Made;
        }
        // The next round looks everywhere again.
        self.refused = true;
        Start::Nothing
    }

    fn start(&mut self, stage: Stage, task: TaskId, node: NodeId, round: &mut Round<'_>) -> bool {
        let Some(attempt) = round.cluster().next_copy(task) else { return false };
        if !round.start(task, node) {
            return false;
        }
        self.own_starts += 1;
        match stage {
            Stage::Originals(_) => round.because(|| self.fit.because().to_owned()),
            Stage::Clones { copies: 1 } => round.because(|| "its task had one copy, and room was left".to_owned()),
            Stage::Clones { copies } => round.because(|| format!("its task had {copies} copies, and room was left")),
        }
        // Only a budget asks what clones hold.
        if let (Stage::Clones { .. }, Some(_), Some(phase)) = (stage, self.limits.budget, round.cluster().phase(task)) {
            self.pool.clone_started(attempt, *phase.demand());
        }
        let phase_changed = self.place(task, round.cluster());
        let (cluster, queue) = round.cluster_and_orders();
        if phase_changed || queue.takes_turns() || is_outdated(stage, task, cluster) {
            self.refresh(task.job, cluster, queue);
        }
        true
    }
}

/// True if what could be started as an original may not be what it was before a copy of the task was started.
fn is_outdated(stage: Stage, task: TaskId, cluster: &Cluster) -> bool {
    match stage {
        Stage::Originals(Which::Any) => cluster.phase(task).is_none_or(|phase| phase.pending() == 0),
        // Its job has been started.
        Stage::Originals(_) => true,
        Stage::Clones { .. } => false,
    }
}

/// The first node, from an id on, whose room has grown or on which one of these demands fits.
fn next_node(from: NodeId, grown: &IdSet, fresh: &mut Fresh, cluster: &Cluster) -> Option<NodeId> {
    let grown = if grown.is_empty() { None } else { grown.next(from.0).map(NodeId) };
    fresh.next_node(from, cluster).into_iter().chain(grown).min()
}

impl Sweep {
    /// Moves what is fresh at any stage.
    fn take_fresh(&mut self, to: &mut Fresh) {
        for serving in &mut self.servings {
            to.append(&mut serving.fresh);
        }
    }
}

impl Pass for ByNode {
    fn observe(&mut self, seen: Seen<'_>, view: &mut View<'_>) {
        match seen {
            Seen::Decision(decision @ (Decision::Start { attempt, .. } | Decision::Replace { attempt, .. })) => {
                if self.own_starts > 0 {
                    self.own_starts -= 1;
                    return;
                }
                if let Decision::Start { node, .. } = decision {
                    self.alike.changed(*node);
                }
                self.place(attempt.task, view.cluster);
                self.touched.insert(attempt.task.job);
            }
            Seen::Decision(Decision::Stop { attempt, .. }) => {
                self.place(attempt.task, view.cluster);
                self.touched.insert(attempt.task.job);
            }
            Seen::Event(event, applied) => {
                if let Some((node, _)) = applied.released {
                    self.room_grew(node);
                }
                match event {
                    Event::JobArrived { job, .. } | Event::DurationsLearned { job, .. } => {
                        self.touched.insert(*job);
                    }
                    Event::AttemptFinished { attempt }
                    | Event::AttemptFailed { attempt, .. }
                    | Event::AttemptStopped { attempt } => {
                        self.place(attempt.task, view.cluster);
                        self.pool.attempt_ended(*attempt);
                        self.has_exceptions |= matches!(event, Event::AttemptFailed { .. });
                        if applied.pending_again {
                            self.pending_again(attempt.task, view.cluster);
                        }
                        self.touched.insert(attempt.task.job);
                    }
                    Event::NodeJoined { node, .. } | Event::NodeReturned { node } => {
                        self.room_grew(*node);
                        // A job's share of the cluster is another.
                        self.touched.extend(self.withheld.take_all());
                    }
                    Event::NodeLost { node } => self.node_lost(*node, view.cluster),
                    Event::Woken if !self.reserved.is_empty() => {
                        // Their reservations may have ended.
                        self.reserved.iter().for_each(|node| self.alike.changed(*node));
                        let is_reserved = |node: &Node| !node.reserved().is_none();
                        self.reserved.retain(|node| view.cluster.node(*node).is_some_and(is_reserved));
                        self.look_everywhere();
                    }
                    Event::NodeSpeedLearned { .. }
                    | Event::AttemptRunning { .. }
                    | Event::WatchMet { .. }
                    | Event::Woken
                    | Event::Round => {}
                }
            }
            Seen::Decision(Decision::Reserve { node, .. }) => {
                self.reserved.insert(*node);
                self.alike.changed(*node);
            }
            Seen::Decision(_) => {}
        }
    }

    fn decide(&mut self, round: &mut Round<'_>) {
        let dimensions = round.cluster().dimensions().names().len();
        for serving in self.sweeps.iter_mut().flat_map(|sweep| &mut sweep.servings) {
            serving.levels.use_dimensions(dimensions);
            serving.levels.any_phase = self.fit.takes_best_pair();
            serving.first_phase_only = self.fit.first_phase_only();
        }
        self.has_exceptions |= self.refused || !self.withheld.is_empty();
        self.touched.extend(self.withheld.take_changed(&self.limits, &self.pool, round));
        let no_clones = self.withheld.allows_no_clone(&self.limits, &self.pool, round.cluster());
        if self.refused || (self.withheld.clones && !no_clones) {
            (self.withheld.clones, self.refused) = (no_clones, false);
            self.look_everywhere();
        }
        self.refresh_touched(round);
        for at in 0..self.sweeps.len() {
            // Where the only pair that is the best of its demand always is the best of all, nothing is weighed.
            let servings = &self.sweeps[at].servings;
            let is_weighed = self.has_exceptions
                || !self.fit.takes_best_pair()
                || servings.iter().any(|one| !matches!(one.stage, Stage::Originals(_)) || !one.levels.are_alike());
            for serving in servings.iter().filter(|_| is_weighed) {
                self.fit.prepare(&serving.levels, round.cluster());
            }
            if self.fit.takes_best_pair() {
                self.sweep_by_pairs(at, round);
            } else {
                self.sweep(at, round);
            }
        }
    }
}

impl ByNode {
    /// What could be started may fit anywhere.
    fn look_everywhere(&mut self) {
        self.touched.extend(self.withheld.take_all());
        for serving in self.sweeps.iter_mut().flat_map(|sweep| &mut sweep.servings) {
            if let Some(least) = serving.levels.least() {
                serving.fresh.add(&least);
            }
        }
    }
}
