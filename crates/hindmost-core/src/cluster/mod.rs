//! The one authority on state: nodes and their free room, jobs, phases, tasks and attempts.
//!
//! A [`Cluster`] changes only by applying records (`apply.rs`); everything else here asks. It
//! forgets a job once it is finished and none of its copies holds room, so its size grows with what
//! is active, not with what has passed.
//!
//! Invariants, tested by `tests/it/properties.rs` of the simulator:
//! - what attempts and reservations hold on a node, and what is free, add up to its capacity;
//! - a task has at most one winner, and no copy starts after it;
//! - no task of a phase starts before all tasks of its parents have finished.

mod apply;
mod attempt;
mod begin;
mod end;
mod fastest;
mod free;
mod job;
mod locality;
mod node;
mod phase;
mod task;
mod tasks_by_input;

use std::cell::{RefCell, RefMut};
use std::collections::{BTreeMap, VecDeque};

pub use apply::{Applied, RecordError};
pub use attempt::{Attempt, AttemptState};
pub use job::Job;
pub use locality::Locality;
pub use node::Node;
pub use phase::Phase;
pub use task::Task;

use crate::id_set::IdSet;
use crate::ids::{AttemptId, JobId, NodeId, TaskId};
use crate::resources::{Dimensions, Resources};
use crate::time::Time;
use serde::{Deserialize, Serialize};

use attempt::Attempts;
use fastest::FastestNodes;
use free::{FirstFits, FreeIndex};

/// Room kept on a node until a time.
#[derive(Clone, Copy, Debug)]
struct Reservation {
    node: NodeId,
    room: Resources,
    until: Time,
}

/// On which of the nodes with room a copy is started, for passes that have no wish of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// The first by id.
    #[default]
    FirstFit,
    /// The one with the largest share of its room free, the first of those by id.
    Spread,
}

/// The state of nodes, jobs, tasks and attempts. See the module's documentation.
#[derive(Clone, Debug)]
pub struct Cluster {
    now: Time,
    dimensions: Dimensions,
    placement: Placement,
    nodes: Vec<Node>,
    total: Resources,
    open: IdSet,
    /// Free room, where nodes are more than one slot each.
    free: Option<FreeIndex>,
    /// What is remembered of earlier searches in `free`: it changes how fast an answer is found, not the answer.
    first_fits: RefCell<FirstFits>,
    /// The open nodes by speed, once somebody has asked for the fastest.
    fastest: RefCell<Option<FastestNodes>>,
    /// How often a node has joined, was lost, has returned or changed its speed.
    node_changes: u64,
    jobs: VecDeque<Option<Box<Job>>>,
    first_job: u32,
    active_jobs: usize,
    /// Pending tasks in open phases of all jobs.
    runnable: u64,
    attempts: Attempts,
    reservations: Vec<Reservation>,
    /// Nodes on which attempts of unfinished tasks have failed.
    failed_on: BTreeMap<TaskId, Vec<NodeId>>,
}

impl Cluster {
    /// An empty cluster whose nodes, when they join, have room in these dimensions.
    pub fn new(dimensions: Dimensions) -> Cluster {
        let free = (!dimensions.is_one_slot()).then(|| FreeIndex::new(dimensions.names().len()));
        Cluster {
            now: Time::ZERO,
            dimensions,
            placement: Placement::default(),
            nodes: Vec::new(),
            total: Resources::NONE,
            open: IdSet::default(),
            free,
            first_fits: RefCell::default(),
            fastest: RefCell::default(),
            node_changes: 0,
            jobs: VecDeque::new(),
            first_job: 0,
            active_jobs: 0,
            runnable: 0,
            attempts: Attempts::default(),
            reservations: Vec::new(),
            failed_on: BTreeMap::new(),
        }
    }

    /// This cluster, placing as named.
    #[must_use]
    pub fn with_placement(mut self, placement: Placement) -> Cluster {
        self.placement = placement;
        self
    }

    /// How nodes are chosen for copies. Runs that spread them are live, all others are simulated.
    pub fn placement(&self) -> Placement {
        self.placement
    }

    /// The time of the last record.
    #[inline]
    pub fn now(&self) -> Time {
        self.now
    }

    /// The names of the dimensions of room.
    #[inline]
    pub fn dimensions(&self) -> &Dimensions {
        &self.dimensions
    }

    /// All nodes that have ever joined, by id.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// A node.
    pub fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id.0 as usize)
    }

    /// The capacity of all nodes that are up.
    #[inline]
    pub fn total(&self) -> &Resources {
        &self.total
    }

    /// Nodes that are up and have some free room.
    #[inline]
    pub fn open_nodes(&self) -> usize {
        self.open.len()
    }

    /// A node on which `demand` fits into the free room and for which `allowed` holds, as the
    /// cluster's [`Placement`] says.
    pub fn find_node(&self, demand: &Resources, allowed: impl Fn(NodeId, &Node) -> bool) -> Option<NodeId> {
        let mut fitting = self.fitting(demand, allowed);
        match self.placement {
            Placement::FirstFit => fitting.next().map(|(id, _)| id),
            Placement::Spread => first_largest(fitting, |node| (0.0, node.free_share())),
        }
    }

    /// As [`Cluster::find_node`], of the fastest nodes the one with the largest share of its room free.
    pub fn find_fastest_node(&self, demand: &Resources, allowed: impl Fn(NodeId, &Node) -> bool) -> Option<NodeId> {
        // Mostly nothing fits anywhere, and that is known without a search.
        if !self.fits_somewhere(demand) {
            return None;
        }
        self.fastest_nodes()
            .first(demand, |id| self.node(id).is_some_and(|node| demand.fits(&node.free) && allowed(id, node)))
    }

    /// Speed of the fastest node that is up and has some free room.
    pub fn fastest_open_speed(&self) -> Option<f64> {
        self.node(self.fastest_nodes().first_open()?).map(Node::speed)
    }

    fn fastest_nodes(&self) -> RefMut<'_, FastestNodes> {
        let made = || FastestNodes::of(&self.nodes, &self.dimensions);
        RefMut::map(self.fastest.borrow_mut(), |index| index.get_or_insert_with(made))
    }

    /// How often a node has joined, was lost, has returned or changed its speed: while it stays the same, what is known
    /// of all nodes together does.
    pub fn node_changes(&self) -> u64 {
        self.node_changes
    }

    fn fitting<'a>(
        &'a self,
        demand: &'a Resources,
        allowed: impl Fn(NodeId, &Node) -> bool + 'a,
    ) -> impl Iterator<Item = (NodeId, &'a Node)> + 'a {
        let mut from = Some(NodeId(0));
        let fitting = std::iter::from_fn(move || {
            let next = self.next_fitting(from?, demand)?;
            from = next.0.checked_add(1).map(NodeId);
            Some((next, self.node(next)?))
        });
        fitting.filter(move |(id, node)| allowed(*id, node))
    }

    /// The first node with this id or a larger one that is up, has some room free, and enough for `demand`.
    pub fn next_fitting(&self, from: NodeId, demand: &Resources) -> Option<NodeId> {
        let Some(free) = &self.free else {
            let next = self.open.next(from.0)?;
            return demand.fits(&self.nodes[next as usize].free).then_some(NodeId(next));
        };
        if from.0 == 0 && !demand.is_none() {
            let fits = |node: u32| {
                let node = &self.nodes[node as usize];
                node.up && demand.fits(&node.free)
            };
            return self.first_fits.borrow_mut().first(demand, free, fits).map(NodeId);
        }
        let mut next = free.next(from.0, demand)?;
        // Nothing fits everywhere, even where no room is left.
        while demand.is_none() && !self.open.contains(next) {
            next = free.next(next + 1, demand)?;
        }
        Some(NodeId(next))
    }

    /// True if some node that is up has room for `demand`.
    pub fn fits_somewhere(&self, demand: &Resources) -> bool {
        self.next_fitting(NodeId(0), demand).is_some()
    }

    /// An active job.
    #[inline]
    pub fn job(&self, id: JobId) -> Option<&Job> {
        self.jobs.get(id.0.checked_sub(self.first_job)? as usize)?.as_deref()
    }

    #[inline]
    fn job_mut(&mut self, id: JobId) -> Option<&mut Job> {
        self.jobs.get_mut(id.0.checked_sub(self.first_job)? as usize)?.as_deref_mut()
    }

    /// The active jobs, by id.
    pub fn jobs(&self) -> impl Iterator<Item = &Job> {
        self.jobs.iter().filter_map(Option::as_deref)
    }

    /// Number of active jobs.
    pub fn active_jobs(&self) -> usize {
        self.active_jobs
    }

    /// Jobs that have arrived so far: the id of the next one.
    pub fn arrived_jobs(&self) -> u32 {
        self.first_job + self.jobs.len() as u32
    }

    /// A phase of an active job.
    #[inline]
    pub fn phase(&self, task: TaskId) -> Option<&Phase> {
        self.job(task.job)?.phases.get(task.phase as usize)
    }

    /// A task of an active job.
    #[inline]
    pub fn task(&self, id: TaskId) -> Option<&Task> {
        self.phase(id)?.tasks.get(id.index as usize)
    }

    fn task_mut(&mut self, id: TaskId) -> Option<&mut Task> {
        self.job_mut(id.job)?.phases.get_mut(id.phase as usize)?.tasks.get_mut(id.index as usize)
    }

    /// A living attempt.
    #[inline]
    pub fn attempt(&self, id: AttemptId) -> Option<&Attempt> {
        self.copies(id.task).find(|attempt| attempt.id == id)
    }

    /// The living copies of a task, newest first.
    #[inline]
    pub fn copies(&self, task: TaskId) -> impl Iterator<Item = &Attempt> + '_ {
        let newest = self.task(task).map_or(task::NO_ATTEMPT, |task| task.newest);
        self.attempts.chain(newest).map(|(_, attempt)| attempt)
    }

    /// True if an attempt is its task's only running copy, and the task is not finished and may have a second: what
    /// speculation looks for.
    pub fn is_only_copy(&self, attempt: &Attempt) -> bool {
        let phase = self.phase(attempt.id.task);
        phase.is_some_and(Phase::may_be_copied)
            && self.task(attempt.id.task).is_some_and(|task| task.running_copies() == 1 && !task.is_finished())
    }

    /// True if an attempt of the task has failed on the node, and there is another on which none has and
    /// that is large enough: a broken node, on which everything fails at once, is always the emptiest.
    pub fn avoids(&self, task: TaskId, node: NodeId) -> bool {
        let Some(failed) = self.failed_on.get(&task).filter(|failed| failed.contains(&node)) else { return false };
        let Some(demand) = self.phase(task).map(Phase::demand) else { return false };
        let mut others = self.nodes.iter().enumerate().filter(|(at, _)| !failed.contains(&NodeId(*at as u32)));
        others.any(|(_, other)| other.is_up() && demand.fits(&other.capacity))
    }

    /// True if the task may be better off on one node than on another, for an attempt of it has failed.
    pub fn has_failed(&self, task: TaskId) -> bool {
        self.failed_on.contains_key(&task)
    }

    /// True if a living copy of the task is on the node.
    pub fn has_copy_on(&self, task: TaskId, node: NodeId) -> bool {
        self.copies_on(task, node) > 0
    }

    /// Number of living copies of the task on the node.
    pub fn copies_on(&self, task: TaskId, node: NodeId) -> u32 {
        let Some(found) = self.task(task) else { return 0 };
        if found.running_copies() <= 2 {
            return found.nodes.iter().filter(|on| **on == node.0).count() as u32;
        }
        self.copies(task).filter(|copy| copy.node == node).count() as u32
    }

    /// Number of pending tasks in open phases, of all jobs.
    pub fn runnable(&self) -> u64 {
        self.runnable
    }

    /// Number of living attempts.
    pub fn running_attempts(&self) -> usize {
        self.attempts.len()
    }

    /// All living attempts, node by node.
    pub fn running(&self) -> impl Iterator<Item = &Attempt> + '_ {
        self.nodes.iter().flat_map(|node| &node.attempts).map(|slot| self.attempts.get(*slot))
    }

    /// The attempts that hold room on a node, in no particular order.
    pub fn attempts_on(&self, node: NodeId) -> impl Iterator<Item = &Attempt> + '_ {
        let slots = self.node(node).map_or(&[][..], |node| &node.attempts);
        slots.iter().map(|slot| self.attempts.get(*slot))
    }

    /// Takes out a job that is finished and whose copies have all ended; `None` if it is not there
    /// or not yet gone. Drivers call this after policies have observed the job's last record.
    pub fn retire(&mut self, id: JobId) -> Option<Box<Job>> {
        let at = id.0.checked_sub(self.first_job)? as usize;
        let place = self.jobs.get_mut(at)?;
        if !place.as_ref().is_some_and(|job| job.finished.is_some() && job.alive == 0) {
            return None;
        }
        let job = place.take();
        self.active_jobs -= 1;
        while self.jobs.front().is_some_and(Option::is_none) {
            self.jobs.pop_front();
            self.first_job += 1;
        }
        job
    }
}

/// The first of the nodes with the largest key.
fn first_largest<'a>(
    nodes: impl Iterator<Item = (NodeId, &'a Node)>,
    key: impl Fn(&Node) -> (f64, f64),
) -> Option<NodeId> {
    let mut best: Option<((f64, f64), NodeId)> = None;
    for (id, node) in nodes {
        let key = key(node);
        if best.is_none_or(|(largest, _)| key > largest) {
            best = Some((key, id));
        }
    }
    best.map(|(_, id)| id)
}
