//! `capacity` shares the cluster between hierarchical queues with guaranteed and maximum shares. The queue that uses
//! the smallest part of its guarantee is next; inside a queue jobs are served first in, first out.
//!
//! Source: `CapacityScheduler` of Apache Hadoop YARN (the documentation "Hadoop: Capacity Scheduler", and the classes
//! `PriorityUtilizationQueueOrderingPolicy`, `AbstractCSQueue` and `FifoOrderingPolicy` of Hadoop 3).
//!
//! Algorithm:
//! - The policy goes down the tree from the top. At each level it chooses the queue with the smallest used /
//!   guaranteed. In the leaf it starts one task, of the first job with a task that may start. Then it begins at the top
//!   again.
//! - A queue may borrow the parts of other queues' guarantees that these do not use, up to its maximum. It gives
//!   borrowed resources back when its attempts end, because a queue below its guarantee is chosen first. No attempt is
//!   stopped for that: there is no preemption.
//! - No copy starts that would take its queue, or a queue above it, over its maximum (`AbstractCSQueue.accept`).
//! - Backups are requests like any others. They count in the used share and for the maximum of their queue. A backup
//!   that had to wait for free resources (`capacity+hadoop`) starts when the turn comes to its queue and, within the
//!   queue, to its job: before all jobs that arrived later.
//! - A queue uses the dominant share of the cluster that its jobs' copies hold (`resources=dominant`, YARN's
//!   `DominantResourceCalculator`), or their share of the memory (`resources=memory`, YARN's
//!   `DefaultResourceCalculator`; the first dimension if nodes have no memory).
//!
//! Queues are configured in the scenario (`[[queue]]`), and a job names its queue. Jobs that name no queue, or one that
//! is not configured, are in the queue `default`. Unless `default` is configured, its guarantee is the part of the
//! cluster that the top-level queues leave. In the same way, a queue with queues below it has a `default` below it for
//! the jobs that name the queue itself (YARN rejects such jobs).
//!
//! Order of jobs for other passes: arrival. Parameter: `resources`.
//!
//! Hadoop runs with speculation by default, `capacity` alone without: `capacity+hadoop` is YARN with MapReduce jobs, and
//! the baseline that Xu, Liu & Lau 2022 call Capacity Scheduler.
//!
//! Readings:
//! - Of queues with equal used / guaranteed, the one with the larger guarantee is next, as in YARN. If these are equal
//!   too, the queue that is configured first is next, an implicit `default` last.
//! - Queues with a guarantee of 0 are served after all others at their level.
//! - A job's pending tasks come before its backups.
//!
//! The differences from the source, and what this was written from, are in the catalogue (`catalogue/sources/`).

mod queue_tree;

use std::collections::BTreeSet;
use std::ops::Bound;

use hindmost_core::cluster::{Applied, Cluster, Job, Phase};
use hindmost_core::ids::{AttemptId, JobId, NodeId, TaskId};
use hindmost_core::record::{Decision, Event};
use hindmost_core::resources::Resources;
use hindmost_core::workload::QueueSpec;

use crate::placement::job_by_job::Tried;
use hindmost_core::policy::order::{Concerned, Order, concerned};
use hindmost_core::policy::queue_place::{Place, Which};
use hindmost_core::policy::runnable_by_demand::{Stuck, Waiting};
use hindmost_core::policy::{Pass, Round, Seen, View};

pub use queue_tree::Counted;
use queue_tree::{QueueTree, ROOT};

crate::words!(Counted: Dominant = "dominant", Memory = "memory");

crate::parameters! {
    /// The parameters of `capacity`.
    pub struct CapacityParameters {
        /// resource by which a queue's share is measured: dominant (the largest share of any resource) or memory
        pub resources: Counted = Counted::Dominant;
    }
}

/// First in, first out, within the maxima of the queues: the order of jobs for passes other than [`CapacityOriginals`].
pub struct CapacityOrder {
    tree: QueueTree,
}

impl CapacityOrder {
    /// Creates the order. The queues must be valid: see [`hindmost_core::submission_queues::check`].
    pub fn new(queues: &[QueueSpec], parameters: CapacityParameters) -> CapacityOrder {
        CapacityOrder { tree: QueueTree::new(queues, parameters.resources) }
    }
}

impl Order for CapacityOrder {
    fn key(&self, job: &Job, _cluster: &Cluster) -> f64 {
        job.arrival().0 as f64
    }

    fn permits(&mut self, task: TaskId, cluster: &Cluster) -> bool {
        let Some((job, phase)) = cluster.job(task.job).zip(cluster.phase(task)) else { return false };
        self.tree.stays_within_maxima(self.tree.leaf_of(job.spec()), phase.demand(), cluster)
    }

    fn serves_requests(&self) -> bool {
        true
    }

    fn started(&mut self, task: TaskId, cluster: &Cluster) {
        self.tree.count(task.job, cluster);
    }

    fn observe(&mut self, event: &Event, applied: Applied, cluster: &Cluster) -> Concerned {
        self.tree.observe(event, cluster);
        concerned(event, applied, false)
    }
}

/// The jobs of a leaf that have tasks to start, and the position of this round in them.
#[derive(Default)]
struct Line {
    jobs: Waiting,
    /// Demands that fit nowhere now, or would exceed a maximum.
    stuck: Stuck,
    /// The place up to which this round has served the jobs.
    passed: Option<Place>,
    /// The job that is being served, and what was tried for it without success.
    current: Option<(JobId, Tried)>,
    /// Attempts for which a backup was requested. Those that have ended are removed when their turn comes.
    requests: BTreeSet<AttemptId>,
    /// The request up to which this round has tried the requests.
    tried_requests: Option<AttemptId>,
    /// True if this round can start no further task of the leaf.
    done: bool,
}

impl Line {
    fn begin(&mut self) {
        (self.passed, self.current, self.tried_requests, self.done) = (None, None, None, false);
        self.stuck = Stuck::default();
    }

    fn has_more(&self) -> bool {
        !self.done && (self.current.is_some() || !self.jobs.is_empty() || !self.requests.is_empty())
    }

    /// Returns the next request of a job that arrived before `job`, or of any job if `job` is `None`. A round returns
    /// each request at most once.
    fn next_request(&mut self, job: Option<JobId>, cluster: &Cluster) -> Option<AttemptId> {
        loop {
            let from = self.tried_requests.map_or(Bound::Unbounded, Bound::Excluded);
            let next = *self.requests.range((from, Bound::Unbounded)).next()?;
            if job.is_some_and(|job| next.task.job >= job) {
                return None;
            }
            self.tried_requests = Some(next);
            let may_be_copied = cluster.phase(next.task).is_some_and(Phase::may_be_copied);
            if may_be_copied && cluster.attempt(next).is_some_and(|attempt| cluster.is_only_copy(attempt)) {
                return Some(next);
            }
            self.requests.remove(&next);
        }
    }
}

/// The pass that starts pending tasks, one copy each, queue by queue.
pub struct CapacityOriginals {
    which: Which,
    tree: QueueTree,
    /// The waiting jobs by queue. Only leaves have waiting jobs.
    waiting: Vec<Line>,
}

impl CapacityOriginals {
    /// Creates the pass for all jobs, for started ones, or for new ones. The queues must be valid: see
    /// [`hindmost_core::submission_queues::check`].
    pub fn new(queues: &[QueueSpec], parameters: CapacityParameters, which: Which) -> CapacityOriginals {
        let tree = QueueTree::new(queues, parameters.resources);
        let waiting = (0..tree.len()).map(|_| Line::default()).collect();
        CapacityOriginals { which, tree, waiting }
    }

    /// Adds a job to the waiting jobs of its leaf if it has pending tasks; otherwise removes it from them.
    fn refresh(&mut self, id: JobId, cluster: &Cluster) {
        let Some(job) = cluster.job(id) else { return };
        let waiting = &mut self.waiting[self.tree.leaf_of(job.spec())];
        if job.runnable() > 0 {
            waiting.jobs.set(Place::by_id(id), job);
        } else {
            waiting.jobs.remove(id);
        }
    }

    /// Returns the next leaf at or below a queue; `None` if no leaf there has anything left to try in this round.
    fn next_leaf(&self, queue: usize, cluster: &Cluster) -> Option<usize> {
        let below = self.tree.below(queue);
        if below.is_empty() {
            return self.waiting[queue].has_more().then_some(queue);
        }
        let leaves =
            below.iter().filter_map(|child| Some((self.tree.need(*child, cluster), self.next_leaf(*child, cluster)?)));
        // Of queues with equal keys, the first configured one is served.
        leaves.min_by_key(|(need, _)| *need).map(|(_, leaf)| leaf)
    }

    /// Starts a requested backup on a node without a copy of its task. Returns false if there is no such node, or if the
    /// backup would exceed a maximum.
    fn start_backup(&mut self, leaf: usize, request: AttemptId, round: &mut Round<'_>) -> bool {
        let (task, cluster) = (request.task, round.cluster());
        let Some(demand) = cluster.phase(task).map(Phase::demand) else { return false };
        if !self.tree.stays_within_maxima(leaf, demand, cluster) {
            return false;
        }
        let may_run = |node: NodeId| cluster.may_copy_on(task, node) && !cluster.avoids(task, node);
        let node = cluster.find_nearest_node(task, demand, |node, _| may_run(node));
        if !node.is_some_and(|node| round.start(task, node)) {
            return false;
        }
        let (name, copy) = (self.tree.name(leaf), request.copy);
        round.because(|| format!("queue {name} was next, and a backup of attempt {copy} had been requested"));
        self.waiting[leaf].requests.remove(&request);
        self.tree.count(task.job, round.cluster());
        true
    }

    /// Starts the first task of a leaf's jobs that may start now, or the first backup that was requested for a job before
    /// them, if there is one.
    fn serve(&mut self, leaf: usize, round: &mut Round<'_>) {
        let mut waiting = &mut self.waiting[leaf];
        while !waiting.done {
            let cluster = round.cluster();
            let fits = |demand: &Resources| {
                self.tree.stays_within_maxima(leaf, demand, cluster) && cluster.fits_somewhere(demand)
            };
            let next = waiting.current.take().or_else(|| {
                let place = waiting.jobs.next(self.which, waiting.passed, &mut waiting.stuck, fits)?;
                Some((place.job(), Tried::default()))
            });
            if let Some(request) = waiting.next_request(next.as_ref().map(|(job, _)| *job), cluster) {
                waiting.current = next;
                if self.start_backup(leaf, request, round) {
                    return;
                }
                waiting = &mut self.waiting[leaf];
                continue;
            }
            let Some((job, mut tried)) = next else {
                waiting.done = true;
                break;
            };
            let Some((task, phase)) = tried.next_task(job, cluster).and_then(|task| Some((task, cluster.phase(task)?)))
            else {
                waiting.passed = Some(Place::by_id(job));
                continue;
            };
            let node = if self.tree.stays_within_maxima(leaf, phase.demand(), cluster) {
                cluster.find_nearest_node(task, phase.demand(), |node, _| !cluster.avoids(task, node))
            } else {
                None
            };
            if !node.is_some_and(|node| round.start(task, node)) {
                tried.add_failure(task, round.cluster());
                waiting.current = Some((job, tried));
                continue;
            }
            waiting.current = Some((job, tried));
            let name = self.tree.name(leaf);
            round.because(|| format!("queue {name} was next, and its job was next in that queue"));
            self.tree.count(job, round.cluster());
            return;
        }
    }
}

impl Pass for CapacityOriginals {
    fn observe(&mut self, seen: Seen<'_>, view: &mut View<'_>) {
        let cluster = view.cluster;
        if let Seen::Event(event, _) = seen {
            self.tree.observe(event, cluster);
        }
        match seen {
            Seen::Decision(Decision::Start { attempt, .. } | Decision::Replace { attempt, .. }) => {
                self.tree.count(attempt.task.job, cluster);
                self.refresh(attempt.task.job, cluster);
                if let Some(job) = cluster.job(attempt.task.job).filter(|_| attempt.copy > 0) {
                    let requests = &mut self.waiting[self.tree.leaf_of(job.spec())].requests;
                    requests.retain(|request| request.task != attempt.task);
                }
            }
            Seen::Decision(Decision::Abandon { job }) => {
                self.refresh(*job, cluster);
                self.waiting.iter_mut().for_each(|line| line.requests.retain(|request| request.task.job != *job));
            }
            Seen::Event(Event::JobArrived { job, .. }, _) => self.refresh(*job, cluster),
            Seen::Event(
                Event::AttemptFinished { attempt }
                | Event::AttemptFailed { attempt, .. }
                | Event::AttemptStopped { attempt },
                applied,
            ) if applied.makes_pending() => self.refresh(attempt.task.job, cluster),
            Seen::Event(
                Event::TaskWithheld { task, .. } | Event::TaskReturned { task } | Event::TaskGivenUp { task },
                _,
            ) => self.refresh(task.job, cluster),
            Seen::Event(Event::NodeLost { .. } | Event::NodeLeaving { .. }, _) => {
                for job in cluster.jobs() {
                    self.refresh(job.id(), cluster);
                }
            }
            _ => {}
        }
    }

    fn decide(&mut self, round: &mut Round<'_>) {
        self.waiting.iter_mut().for_each(Line::begin);
        for request in round.take_requests() {
            if let Some(job) = round.cluster().job(request.task.job) {
                self.waiting[self.tree.leaf_of(job.spec())].requests.insert(request);
            }
        }
        while round.cluster().open_nodes() > 0 {
            let Some(leaf) = self.next_leaf(ROOT, round.cluster()) else { return };
            self.serve(leaf, round);
        }
    }
}
