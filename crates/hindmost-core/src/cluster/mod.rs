//! The cluster: nodes and their free resources, jobs, phases, tasks and attempts. It is the only place that holds
//! state.
//!
//! A [`Cluster`] changes only by applying records (`apply.rs`); all other public methods except [`Cluster::retire`] are
//! queries. A finished or abandoned job leaves the cluster once none of its copies runs, so the size of the state depends on the
//! active jobs and not on the length of the run.
//!
//! Invariants, tested by `tests/it/every_policy/` of the simulator:
//! - the resources of a node that attempts hold, that are reserved and that are free add up to its capacity;
//! - a task has at most one winner, and no copy of the task starts after the winner has finished;
//! - no task of a phase starts before all tasks of its parents have finished;
//! - no attempt of a job starts after the job was abandoned.

mod abandon;
mod apply;
mod attempt;
mod begin;
mod edges;
mod end;
mod free;
mod job;
mod locality;
mod lookups;
mod node;
mod node_power;
mod own_demands;
mod phase;
mod placement;
mod ranked;
mod reservations;
mod task;
mod tasks_by_input;
mod withhold;

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};

pub use apply::{Applied, RecordError};
pub use attempt::{Attempt, AttemptState};
pub use job::{Job, longest_path};
pub use locality::Locality;
#[cfg(feature = "testing")]
pub use lookups::lookups;
pub use node::Node;
pub use phase::Phase;
pub use placement::Placement;
pub use reservations::Reservation;
pub use task::Task;

use crate::id_set::IdSet;
use crate::ids::{AttemptId, JobId, NodeId, TaskId};
use crate::resources::{Dimensions, Resources};
use crate::time::Time;

use attempt::Attempts;
use free::{FirstFits, FreeIndex};
use ranked::RankedNodes;
use reservations::Reservations;

/// The state of nodes, jobs, tasks and attempts.
///
/// ```
/// use hindmost_core::cluster::Cluster;
/// use hindmost_core::ids::NodeId;
/// use hindmost_core::record::Event;
/// use hindmost_core::resources::{Dimensions, Resources};
/// use hindmost_core::time::Time;
///
/// let mut cluster = Cluster::new(Dimensions::one_slot());
/// let (name, capacity) = ("n0".into(), Resources::ONE_SLOT);
/// let joined = Event::NodeJoined { node: NodeId(0), name, capacity, speed: 1.0, rack: None, power: None };
/// cluster.apply_event(Time::ZERO, &joined)?;
/// assert_eq!(cluster.open_nodes(), 1);
/// cluster.apply_event(Time::from_seconds(5.0), &Event::NodeLost { node: NodeId(0), time_is_up: false })?;
/// assert_eq!(cluster.find_node_for_demand(&Resources::ONE_SLOT), None);
/// # Ok::<(), hindmost_core::cluster::RecordError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Cluster {
    now: Time,
    dimensions: Dimensions,
    placement: Placement,
    /// The seed of [`Placement::Random`].
    placement_seed: u64,
    /// True if passes that go node by node visit nodes by id even under [`Placement::Spread`].
    visits_by_id: bool,
    nodes: Vec<Node>,
    total: Resources,
    joined_total: Resources,
    open: IdSet,
    /// The index of nodes by free resources; `None` on one-slot machines, which do not need it.
    free: Option<FreeIndex>,
    /// A cache of earlier searches in `free`. It makes searches faster and does not change their results.
    first_fits: RefCell<FirstFits>,
    /// Nodes ranked by speed, by free share and at random.
    ranked: RefCell<RankedNodes>,
    /// Number of times that a node has joined, was lost, has returned or has changed its speed.
    node_changes: u64,
    jobs: VecDeque<Option<Box<Job>>>,
    first_job: u32,
    active_jobs: usize,
    /// Number of pending tasks in open phases of all jobs.
    runnable: u64,
    attempts: Attempts,
    /// Number of attempts that have ever started.
    started: u64,
    reservations: Reservations,
    /// Nodes on which attempts of unfinished tasks have failed.
    failed_on: BTreeMap<TaskId, Vec<NodeId>>,
    /// What tasks demand whose phases say something else.
    own_demands: BTreeMap<TaskId, Resources>,
}

/// The nodes on which copies of a task ran when [`Cluster::nodes_with_copies`] was called.
#[derive(Clone, Debug)]
pub struct NodesWithCopies(Vec<NodeId>);

impl NodesWithCopies {
    /// Returns the number of copies on a node.
    pub fn copies_on(&self, node: NodeId) -> u32 {
        let first = self.0.partition_point(|on| *on < node);
        self.0[first..].iter().take_while(|on| **on == node).count() as u32
    }

    /// Returns true if there is a copy on a node.
    pub fn contains(&self, node: NodeId) -> bool {
        self.0.binary_search(&node).is_ok()
    }
}

/// Returns an active job of a list that begins with the job `first`; `None` if the job has not arrived or has left the
/// cluster.
#[inline]
fn job_at(jobs: &mut VecDeque<Option<Box<Job>>>, first: u32, id: JobId) -> Option<&mut Job> {
    jobs.get_mut(id.0.checked_sub(first)? as usize)?.as_deref_mut()
}

impl Cluster {
    /// Creates an empty cluster whose nodes have resources in these dimensions.
    pub fn new(dimensions: Dimensions) -> Cluster {
        let free = (!dimensions.is_one_slot()).then(|| FreeIndex::new(dimensions.names().len()));
        Cluster {
            now: Time::ZERO,
            dimensions,
            placement: Placement::default(),
            placement_seed: 0,
            visits_by_id: false,
            nodes: Vec::new(),
            total: Resources::NONE,
            joined_total: Resources::NONE,
            open: IdSet::default(),
            free,
            first_fits: RefCell::default(),
            ranked: RefCell::default(),
            node_changes: 0,
            jobs: VecDeque::new(),
            first_job: 0,
            active_jobs: 0,
            runnable: 0,
            attempts: Attempts::default(),
            started: 0,
            reservations: Reservations::default(),
            failed_on: BTreeMap::new(),
            own_demands: BTreeMap::new(),
        }
    }

    /// Sets how nodes for copies are chosen. `seed` is the seed of [`Placement::Random`]; the other placements ignore it.
    #[must_use]
    pub fn with_placement(mut self, placement: Placement, seed: u64) -> Cluster {
        (self.placement, self.placement_seed) = (placement, seed);
        self
    }

    /// Makes passes that go node by node visit nodes by id under [`Placement::Spread`], instead of the node with the
    /// largest free share first. Live runs do this, so that journals of earlier versions verify.
    #[must_use]
    pub fn visiting_by_id(mut self) -> Cluster {
        self.visits_by_id = true;
        self
    }

    /// Returns how nodes for copies are chosen.
    #[inline]
    pub fn placement(&self) -> Placement {
        self.placement
    }

    /// Returns the time of the last record.
    #[inline]
    pub fn now(&self) -> Time {
        self.now
    }

    /// Returns the names of the resource dimensions.
    #[inline]
    pub fn dimensions(&self) -> &Dimensions {
        &self.dimensions
    }

    /// Returns all nodes that have ever joined, by id, including lost ones.
    pub fn nodes(&self) -> &[Node] {
        lookups::count(self.nodes.len());
        &self.nodes
    }

    /// Returns the number of nodes that have ever joined, including lost ones.
    pub fn joined_nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the nodes that joined after the first `known` ones, by id.
    pub fn nodes_after(&self, known: usize) -> &[Node] {
        let new = self.nodes.get(known..).unwrap_or_default();
        lookups::count(new.len());
        new
    }

    /// Returns a node; `None` if no node with this id has joined.
    pub fn node(&self, id: NodeId) -> Option<&Node> {
        lookups::count(1);
        self.nodes.get(id.0 as usize)
    }

    /// Returns the sum of the capacities of all nodes that are up.
    #[inline]
    pub fn total(&self) -> &Resources {
        &self.total
    }

    /// Returns the sum of the capacities of all nodes that have ever joined, including nodes that are lost now.
    pub fn joined_total(&self) -> &Resources {
        &self.joined_total
    }

    /// Returns the number of open nodes. A node is open if it is up and has free resources.
    #[inline]
    pub fn open_nodes(&self) -> usize {
        self.open.len()
    }

    /// Returns the number of times that a node has joined, was lost, has returned or has changed its speed. While this
    /// number does not change, results computed from the set of nodes and their speeds stay valid.
    pub fn node_changes(&self) -> u64 {
        self.node_changes
    }

    /// Returns the first node with an id of at least `from` that is open and has enough free resources for `demand`.
    /// `None` if there is none.
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
        // A demand of zero fits on every node, so nodes that are not open must be skipped here.
        while demand.is_none() && !self.open.contains(next) {
            next = free.next(next + 1, demand)?;
        }
        Some(NodeId(next))
    }

    /// Returns true if `demand` fits into the free resources of some node.
    pub fn fits_somewhere(&self, demand: &Resources) -> bool {
        self.next_fitting(NodeId(0), demand).is_some()
    }

    /// Returns an active job; `None` if the job has not arrived or has left the cluster.
    #[inline]
    pub fn job(&self, id: JobId) -> Option<&Job> {
        lookups::count(1);
        self.jobs.get(id.0.checked_sub(self.first_job)? as usize)?.as_deref()
    }

    #[inline]
    fn job_mut(&mut self, id: JobId) -> Option<&mut Job> {
        job_at(&mut self.jobs, self.first_job, id)
    }

    /// Returns the active jobs, by id.
    pub fn jobs(&self) -> impl Iterator<Item = &Job> {
        self.jobs.iter().filter_map(Option::as_deref).inspect(|_| lookups::count(1))
    }

    /// Returns the number of active jobs.
    pub fn active_jobs(&self) -> usize {
        self.active_jobs
    }

    /// Returns the number of jobs that have arrived so far, which is the id of the next job.
    pub fn arrived_jobs(&self) -> u32 {
        self.first_job + self.jobs.len() as u32
    }

    /// Returns the phase of a task; `None` if no active job has such a phase.
    #[inline]
    pub fn phase(&self, task: TaskId) -> Option<&Phase> {
        self.job(task.job)?.phases.get(task.phase as usize)
    }

    /// Returns a task; `None` if no active job has this task.
    #[inline]
    pub fn task(&self, id: TaskId) -> Option<&Task> {
        self.phase(id)?.tasks.get(id.index as usize)
    }

    /// Returns the number of bytes that a task reads; `None` if it is unknown.
    pub fn input_bytes(&self, task: TaskId) -> Option<u64> {
        let phase = self.job(task.job)?.spec().phases.get(task.phase as usize)?;
        phase.input.as_ref()?.bytes.get(task.index as usize).copied()
    }

    fn task_mut(&mut self, id: TaskId) -> Option<&mut Task> {
        self.job_mut(id.job)?.phases.get_mut(id.phase as usize)?.tasks.get_mut(id.index as usize)
    }

    /// Returns an attempt; `None` if the attempt has ended or was never started.
    #[inline]
    pub fn attempt(&self, id: AttemptId) -> Option<&Attempt> {
        self.copies(id.task).find(|attempt| attempt.id == id)
    }

    /// Returns the running copies of a task, newest first.
    #[inline]
    pub fn copies(&self, task: TaskId) -> impl Iterator<Item = &Attempt> + '_ {
        let newest = self.task(task).map_or(task::NO_ATTEMPT, |task| task.newest);
        self.attempts.chain(newest).map(|(_, attempt)| attempt).inspect(|_| lookups::count(1))
    }

    /// Returns true if an attempt is the only running copy of its unfinished task, and the task may have another copy.
    /// Such attempts are candidates for backups.
    pub fn is_only_copy(&self, attempt: &Attempt) -> bool {
        let phase = self.phase(attempt.id.task);
        phase.is_some_and(Phase::may_be_copied)
            && self
                .task(attempt.id.task)
                .is_some_and(|task| task.running_copies() == 1 && !task.is_finished() && !task.has_last_copies())
    }

    /// Returns true if an attempt of the task has failed on the node, and the task fits on another node on which no
    /// attempt of it has failed. The task is then not started on this node. Otherwise a broken node, on which every
    /// attempt fails at once, would get the task again and again, because it always has the most free resources.
    pub fn avoids(&self, task: TaskId, node: NodeId) -> bool {
        let Some(failed) = self.failed_on.get(&task).filter(|failed| failed.contains(&node)) else { return false };
        let Some(demand) = self.demand(task) else { return false };
        let mut others = self.nodes.iter().enumerate().filter(|(at, _)| !failed.contains(&NodeId(*at as u32)));
        others.any(|(_, other)| other.is_up() && demand.fits(&other.capacity))
    }

    /// Returns true if an attempt of the task has failed. Only then can [`Cluster::avoids`] be true for the task.
    pub fn has_failed(&self, task: TaskId) -> bool {
        self.failed_on.contains_key(&task)
    }

    /// Returns true if a running copy of the task is on the node.
    pub fn has_copy_on(&self, task: TaskId, node: NodeId) -> bool {
        self.copies_on(task, node) > 0
    }

    /// Returns true if another copy of the task may start on the node: no copy of it runs there, or the cluster has no other
    /// node. A copy on the same node helps against everything but a slow node.
    pub fn may_copy_on(&self, task: TaskId, node: NodeId) -> bool {
        self.has_one_node() || !self.has_copy_on(task, node)
    }

    /// Returns true if the cluster has a single node, up or not.
    pub fn has_one_node(&self) -> bool {
        self.nodes.len() == 1
    }

    /// Returns the number of running copies of the task on the node.
    pub fn copies_on(&self, task: TaskId, node: NodeId) -> u32 {
        let Some(found) = self.task(task) else { return 0 };
        if found.running_copies() <= 2 {
            return found.nodes.iter().filter(|on| **on == node.0).count() as u32;
        }
        self.copies(task).filter(|copy| copy.node == node).count() as u32
    }

    /// Returns the nodes with running copies of a task, for a search through many nodes: [`Cluster::copies_on`] visits
    /// all copies each time.
    pub fn nodes_with_copies(&self, task: TaskId) -> NodesWithCopies {
        let mut nodes: Vec<NodeId> = self.copies(task).map(|copy| copy.node).collect();
        nodes.sort_unstable();
        NodesWithCopies(nodes)
    }

    /// Returns the number of pending tasks in open phases of all jobs.
    pub fn runnable(&self) -> u64 {
        self.runnable
    }

    /// Returns the number of running attempts.
    pub fn running_attempts(&self) -> usize {
        self.attempts.len()
    }

    /// Returns all running attempts, node by node.
    pub fn running(&self) -> impl Iterator<Item = &Attempt> + '_ {
        lookups::count(self.nodes.len());
        let attempts = self.nodes.iter().flat_map(|node| node.attempts.iter()).map(|slot| self.attempts.get(slot));
        attempts.inspect(|_| lookups::count(1))
    }

    /// Returns the attempts on a node, in no particular order.
    pub fn attempts_on(&self, node: NodeId) -> impl Iterator<Item = &Attempt> + '_ {
        let slots = self.node(node).into_iter().flat_map(|node| node.attempts.iter());
        slots.map(|slot| self.attempts.get(slot)).inspect(|_| lookups::count(1))
    }

    /// Removes and returns a job that is finished or abandoned and whose copies have all ended. `None` if the job is not in the
    /// cluster or can't be removed yet. [`Session::step`](crate::session::Session::step) calls this after the policy
    /// has observed the event that ended the job's last copy, or the round in which a job without copies was abandoned.
    pub fn retire(&mut self, id: JobId) -> Option<Box<Job>> {
        let at = id.0.checked_sub(self.first_job)? as usize;
        let place = self.jobs.get_mut(at)?;
        if !place.as_ref().is_some_and(|job| job.is_over() && job.copies == 0) {
            return None;
        }
        let job = place.take();
        self.own_demands.retain(|task, _| task.job != id);
        self.active_jobs -= 1;
        while self.jobs.front().is_some_and(Option::is_none) {
            self.jobs.pop_front();
            self.first_job += 1;
        }
        job
    }
}
