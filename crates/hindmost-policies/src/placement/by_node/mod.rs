//! Placement node by node: each node with free resources takes the job that fits it best.
//!
//! Under orders such as `fifo`, the pass in `job_by_job.rs` takes the next job and looks for a node. `dollymp` takes a
//! node and chooses, level by level, the job whose next copy has the highest score there. `tetris` chooses the best pair
//! of task and node among all nodes (`pairs.rs`), of the lowest level that has one.
//!
//! A round does not check every node and every job. It visits only the nodes whose free resources have grown since the
//! last visit, and the nodes on which a copy fits that could not be started before. On every other node, no copy fitted
//! at the last visit, so none fits now.
//!
//! A sweep visits each of these nodes once and does its stages there. A stage starts originals, or clones of tasks with
//! a given number of copies. If clones may start only after originals have been tried on every node, clones have sweeps
//! of their own.
//!
//! The cluster's placement is the order in which a sweep visits nodes (`visit.rs`). Among equally good pairs of task and
//! node, it is the order in which nodes are preferred: a node is preferred to others of the same capacity and free
//! resources if it comes before them.
//!
//! If all tasks of a phase already have a copy on a node, the phase still counts as a candidate for a clone there until
//! it is chosen and none of its tasks can start. Until then, later phases of the same job are not considered.

mod node_kinds;
mod pairs;
mod serving;
mod visit;
mod withheld;

use std::collections::BTreeSet;

use hindmost_core::cluster::{Cluster, Job, Node};
use hindmost_core::id_set::IdSet;
use hindmost_core::ids::{JobId, NodeId, TaskId};
use hindmost_core::record::{Decision, Event};
use hindmost_core::resources::Resources;
use hindmost_core::time::Time;
use rustc_hash::FxHashMap;

use self::node_kinds::NodeKinds;
use self::serving::Serving;
use self::visit::Visit;
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

/// A score for copies on nodes. It sorts jobs into levels and measures how well a copy fits a node.
pub trait Fit: Send {
    /// Returns the job's level. Jobs of lower levels come first. By default, jobs with equal sort keys form a level.
    fn level(&self, job: &Job, cluster: &Cluster, queue: &JobQueue) -> u64 {
        queue.key_of(job, cluster)
    }

    /// Returns the level of one of a job's phases, by its number. `level` is the job's level. By default all phases have
    /// the job's level.
    fn level_of_phase(&self, level: u64, _job: &Job, _phase: u32) -> u64 {
        level
    }

    /// Returns the penalty of a job's copies, which is the same on all nodes.
    fn penalty(&self, _job: &Job, _cluster: &Cluster) -> f64 {
        0.0
    }

    /// Returns true if the penalty changes when a task finishes.
    fn follows_finishes(&self) -> bool {
        false
    }

    /// Called in each round before copies are started, with the candidates of a stage. A score that depends on all
    /// candidates computes its weights here.
    fn prepare(&mut self, _candidates: &Levels, _cluster: &Cluster) {}

    /// Returns the weights for the alignment of demands with a node's free resources. `dimensions` is the number of
    /// resources that the cluster counts.
    fn alignment(&self, node: &Node, dimensions: usize) -> Alignment {
        Alignment::normalised(node, dimensions)
    }

    /// Returns the weight of the penalty: the copy with the highest alignment − weight × penalty is next.
    fn penalty_weight(&self) -> f64 {
        0.0
    }

    /// Returns true if the pair of task and node with the highest score among all nodes is next, and all phases of a job
    /// with copies to start are considered. Otherwise each node in turn takes the copy with the highest score there.
    fn takes_best_pair(&self) -> bool {
        false
    }

    /// Returns true if only a job's first phase with copies to start is considered, whether or not a copy fits.
    fn first_phase_only(&self) -> bool {
        false
    }

    /// Returns the reason for a start, for display.
    fn because(&self) -> &'static str {
        "its job was among the next ones and fitted the node's free resources best"
    }
}

/// A score that uses the order's keys as levels and prefers the highest alignment within a level.
pub struct InKeyOrder;

impl Fit for InKeyOrder {}

/// One sweep through the nodes, with its stages.
struct Sweep {
    servings: Vec<Serving>,
    /// Nodes whose free resources have grown since the last visit.
    grown: IdSet,
}

/// The result of trying to start a copy.
enum Start {
    /// The copy was started.
    Made,
    /// No task of the phase may run on the node, or the start was refused.
    Nothing,
    /// No task of the phase may start on any node in this round. The phase was removed from the candidates.
    Withheld,
}

/// The pass that places tasks node by node.
pub struct ByNode {
    fit: Box<dyn Fit>,
    sweeps: Vec<Sweep>,
    pool: ClonePool,
    limits: CloneLimits,
    /// The nodes by kind. Used only if the score takes the best pair of task and node.
    node_kinds: NodeKinds,
    withheld: Withheld,
    /// The ends of reservations, with their nodes. A reservation may have ended before.
    reserved: BTreeSet<(Time, NodeId)>,
    /// The node on which resources are reserved for a task.
    reserved_for: FxHashMap<TaskId, NodeId>,
    /// True if a start was refused although the copy fitted.
    refused: bool,
    /// True if some task may not run wherever it fits, because a candidate was withheld or an attempt has failed.
    has_exceptions: bool,
    /// Jobs whose candidates must be recomputed.
    touched: BTreeSet<JobId>,
    /// The value of `JobQueue::changes` when the candidates were last recomputed; `None` before the first time.
    as_of: Option<u64>,
    /// Number of copies that this pass has started and whose records it has not observed yet.
    own_starts: usize,
    /// The candidates of the job in [`ByNode::refresh`]. Kept so that their memory is reused.
    candidates: Vec<Candidate>,
}

impl ByNode {
    /// Creates the pass. It does the sweeps one after the other, each with its stages on every node.
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
            node_kinds: NodeKinds::default(),
            withheld: Withheld::default(),
            reserved: BTreeSet::new(),
            reserved_for: FxHashMap::default(),
            refused: false,
            has_exceptions: false,
            touched: BTreeSet::new(),
            as_of: None,
            own_starts: 0,
            candidates: Vec::new(),
        }
    }

    /// Returns the pass with limits on its clones.
    #[must_use]
    pub fn with_limits(mut self, limits: CloneLimits) -> ByNode {
        self.limits = limits;
        self
    }

    /// Updates the candidates after a node was lost.
    fn node_lost(&mut self, node: NodeId, cluster: &Cluster) {
        self.node_kinds.changed(node);
        // The node may be in the set because attempts on it ended since the last round.
        for sweep in &mut self.sweeps {
            sweep.grown.remove(node.0);
        }
        self.pool.rebuild(cluster);
        // A task that has lost a copy may be cloned on nodes on which the other tasks of its phase may not.
        let running: BTreeSet<TaskId> = cluster.running().map(|attempt| attempt.id().task).collect();
        for task in running {
            self.place(task, cluster);
        }
        // Tasks of many phases may be pending again, or may no longer avoid nodes on which they have failed.
        self.look_everywhere();
    }

    /// Updates the candidates after a task has lost its last copy. The task may run on nodes that the other tasks of
    /// its phase avoid, so its demand counts as newly startable.
    fn pending_again(&mut self, task: TaskId, cluster: &Cluster) {
        let Some(phase) = cluster.phase(task) else { return };
        for serving in self.sweeps.iter_mut().flat_map(|sweep| &mut sweep.servings) {
            if matches!(serving.stage, Stage::Originals(_)) {
                serving.fresh.add(phase.demand());
            }
        }
    }

    /// Marks a node for a visit because its free resources have grown.
    fn resources_freed(&mut self, node: NodeId) {
        self.node_kinds.changed(node);
        for sweep in &mut self.sweeps {
            sweep.grown.insert(node.0);
        }
    }

    /// Marks the node of a reservation for a task, because the reservation has ended.
    fn reservation_ended(&mut self, task: TaskId, cluster: &Cluster) {
        if let Some(node) = self.reserved_for.remove(&task)
            && cluster.node(node).is_some_and(Node::is_up)
        {
            self.resources_freed(node);
        }
    }

    /// Marks the nodes of the reservations whose time has come.
    fn reservations_expired(&mut self, cluster: &Cluster) {
        let now = cluster.now();
        let mut expired = false;
        while let Some((_, node)) = self.reserved.first().copied().filter(|(until, _)| *until <= now) {
            self.reserved.pop_first();
            if cluster.node(node).is_some_and(Node::is_up) {
                self.resources_freed(node);
            }
            expired = true;
        }
        if expired {
            self.reserved_for.retain(|task, _| cluster.reservation(*task).is_some());
            self.look_everywhere();
        }
    }

    /// Updates a task in the index of tasks that may be cloned, after its copies have changed. Returns true if some stage
    /// of clones may now have to add the task's phase to its candidates or remove it.
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

    /// Recomputes the candidates of a job.
    fn refresh(&mut self, job: JobId, cluster: &Cluster, queue: &JobQueue) {
        self.withheld.forget(job);
        for serving in self.sweeps.iter_mut().flat_map(|sweep| &mut sweep.servings) {
            self.candidates.clear();
            if let Some(found) = cluster.job(job) {
                let level_and_penalty = || (self.fit.level(found, cluster, queue), self.fit.penalty(found, cluster));
                let of_phase = |level, phase| self.fit.level_of_phase(level, found, phase);
                serving.candidates(found, &self.pool, level_and_penalty, of_phase, &mut self.candidates);
            }
            if self.limits.budget.is_some() && matches!(serving.stage, Stage::Clones { .. }) {
                self.candidates.iter().for_each(|candidate| self.withheld.may_be_cloned(&candidate.demand));
            }
            serving.levels.set(job, &self.candidates, |demand| serving.fresh.add(&demand));
        }
    }

    /// Recomputes the candidates of every job whose tasks, phases or sort key have changed.
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

    /// Visits the nodes of a sweep, in the order of the cluster's placement, and does the stages on each.
    fn sweep(&mut self, at: usize, round: &mut Round<'_>) {
        let mut fresh = Fresh::default();
        self.sweeps[at].take_fresh(&mut fresh);
        // Demands that become startable during a sweep are tried on the nodes that follow, and then on all nodes.
        while !(self.sweeps[at].grown.is_empty() && fresh.is_empty()) {
            let mut added = Fresh::default();
            let mut visit = Visit::begin(&self.sweeps[at].grown, round.cluster());
            while let Some(node) = visit.next(&self.sweeps[at].grown, &mut fresh, round.cluster()) {
                if self.has_nothing(at, round.cluster()) {
                    break;
                }
                for serving in 0..self.sweeps[at].servings.len() {
                    self.serve((at, serving), node, round);
                }
                let mut here = Fresh::default();
                self.sweeps[at].take_fresh(&mut here);
                added.add_all(&here);
                fresh.append(&mut here);
            }
            self.sweeps[at].grown.clear();
            fresh = added;
        }
    }

    /// Returns true if the stages of a sweep have nothing to start on any node.
    fn has_nothing(&mut self, at: usize, cluster: &Cluster) -> bool {
        let no_clones = self.withheld.allows_no_clone(&self.limits, &self.pool, cluster);
        let is_withheld = |serving: &Serving| no_clones && matches!(serving.stage, Stage::Clones { .. });
        let mut left = self.sweeps[at].servings.iter().filter(|serving| !serving.levels.is_empty());
        let has_nothing = left.clone().all(is_withheld);
        self.withheld.clones |= left.any(is_withheld);
        has_nothing
    }

    /// Starts the copies of a stage that fit on a node, level by level.
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
            // Phases without a task that may run on this node.
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

    /// Starts a copy of a phase's next task that may run on a node.
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
        // Makes the next round try all candidates on all nodes.
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
            Stage::Clones { copies: 1 } => {
                round.because(|| "resources were free for a clone, and its task had one copy".to_owned());
            }
            Stage::Clones { copies } => {
                round.because(|| format!("resources were free for a clone, and its task had {copies} copies"));
            }
        }
        // The resources that clones hold are counted only if there is a budget.
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

/// Returns true if the start of a task's copy may have changed its job's candidates for originals.
fn is_outdated(stage: Stage, task: TaskId, cluster: &Cluster) -> bool {
    match stage {
        Stage::Originals(Which::Any) => cluster.phase(task).is_none_or(|phase| phase.pending() == 0),
        // The job counts as started now, so stages for new or started jobs see it differently.
        Stage::Originals(_) => true,
        Stage::Clones { .. } => false,
    }
}

impl Sweep {
    /// Moves the newly startable demands of all stages to another set.
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
                self.reservation_ended(attempt.task, view.cluster);
                if self.own_starts > 0 {
                    self.own_starts -= 1;
                    return;
                }
                if let Decision::Start { node, .. } = decision {
                    self.node_kinds.changed(*node);
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
                    self.resources_freed(node);
                }
                match event {
                    Event::JobArrived { job, .. } | Event::DurationsLearned { job, .. } | Event::JobGivenUp { job } => {
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
                        if applied.won {
                            self.reservation_ended(attempt.task, view.cluster);
                        }
                        self.touched.insert(attempt.task.job);
                    }
                    Event::NoMoreCopies { task, .. }
                    | Event::TaskWithheld { task, .. }
                    | Event::TaskReturned { task }
                    | Event::TaskDemands { task, .. }
                    | Event::TaskGivenUp { task } => {
                        self.reservation_ended(*task, view.cluster);
                        if applied.pending_again {
                            self.pending_again(*task, view.cluster);
                        }
                        self.touched.insert(task.job);
                    }
                    Event::NodeJoined { node, .. } | Event::NodeReturned { node } => {
                        self.resources_freed(*node);
                        // The cluster has grown, so orders and budgets may permit more copies.
                        self.touched.extend(self.withheld.take_all());
                    }
                    Event::NodeLost { node, .. } | Event::NodeLeaving { node } => self.node_lost(*node, view.cluster),
                    Event::Woken if !self.reserved.is_empty() => self.reservations_expired(view.cluster),
                    Event::NodeSpeedLearned { .. }
                    | Event::ProfilesRecalled { .. }
                    | Event::WeightsFitted { .. }
                    | Event::AttemptRunning { .. }
                    | Event::AttemptMeasured { .. }
                    | Event::WatchMet { .. }
                    | Event::Woken
                    | Event::Round => {}
                }
            }
            Seen::Decision(Decision::Reserve { node, until, task, .. }) => {
                self.reserved.insert((*until, *node));
                self.node_kinds.changed(*node);
                if let Some(task) = task {
                    self.reserved_for.insert(**task, *node);
                }
            }
            Seen::Decision(Decision::Abandon { job }) => {
                let reserved: Vec<TaskId> = self.reserved_for.keys().filter(|task| task.job == *job).copied().collect();
                for task in reserved {
                    self.reservation_ended(task, view.cluster);
                }
                self.touched.insert(*job);
            }
            Seen::Decision(Decision::Release { task }) => self.reservation_ended(*task, view.cluster),
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
            // `prepare` may set the penalty weight. The weight does not change the best pair if all candidates have one
            // level and one demand.
            let servings = &self.sweeps[at].servings;
            let is_weighed = self.has_exceptions
                || !self.fit.takes_best_pair()
                || servings.iter().any(|one| !matches!(one.stage, Stage::Originals(_)) || !one.levels.are_equal());
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
    /// Makes the next round try all candidates on all nodes.
    fn look_everywhere(&mut self) {
        self.touched.extend(self.withheld.take_all());
        for serving in self.sweeps.iter_mut().flat_map(|sweep| &mut sweep.servings) {
            if let Some(least) = serving.levels.least() {
                serving.fresh.add(&least);
            }
        }
    }
}
