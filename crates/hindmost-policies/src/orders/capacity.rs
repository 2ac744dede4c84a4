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
//! - No copy starts that would take its queue, or a queue above it, over its maximum. Backups count like any other
//!   copy.
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
//! Readings:
//! - A task that fits nowhere, or would exceed a maximum, does not block the jobs behind its own. (YARN may reserve a
//!   node for it instead.)
//! - Queues with equal used / guaranteed are served in the order in which they are configured, an implicit `default`
//!   last. (YARN: the larger guarantee first.)
//! - Queues with a guarantee of 0 are served after all others at their level.
//! - Left out: limits for users, applications and application masters; priorities; node labels; elastic preemption.

mod queue_tree;

use hindmost_core::cluster::{Applied, Cluster, Job};
use hindmost_core::ids::{JobId, TaskId};
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
    /// True if this round can start no further task of the leaf.
    done: bool,
}

impl Line {
    fn begin(&mut self) {
        (self.passed, self.current, self.done) = (None, None, false);
        self.stuck = Stuck::default();
    }

    fn has_more(&self) -> bool {
        !self.done && (self.current.is_some() || !self.jobs.is_empty())
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
        let first = leaves.min_by(|((later, used), _), ((other_later, other_used), _)| {
            later.cmp(other_later).then(used.total_cmp(other_used))
        });
        first.map(|(_, leaf)| leaf)
    }

    /// Starts the first task of a leaf's jobs that may start now, if there is one.
    fn serve(&mut self, leaf: usize, round: &mut Round<'_>) {
        let waiting = &mut self.waiting[leaf];
        while !waiting.done {
            let cluster = round.cluster();
            let fits = |demand: &Resources| {
                self.tree.stays_within_maxima(leaf, demand, cluster) && cluster.fits_somewhere(demand)
            };
            let next = waiting.current.take().or_else(|| {
                let place = waiting.jobs.next(self.which, waiting.passed, &mut waiting.stuck, fits)?;
                Some((place.job(), Tried::default()))
            });
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
            }
            Seen::Event(Event::JobArrived { job, .. }, _) => self.refresh(*job, cluster),
            Seen::Event(
                Event::AttemptFinished { attempt }
                | Event::AttemptFailed { attempt, .. }
                | Event::AttemptStopped { attempt },
                applied,
            ) if applied.pending_again || applied.phase_finished => self.refresh(attempt.task.job, cluster),
            Seen::Event(Event::NodeLost { .. }, _) => {
                for job in cluster.jobs() {
                    self.refresh(job.id(), cluster);
                }
            }
            _ => {}
        }
    }

    fn decide(&mut self, round: &mut Round<'_>) {
        self.waiting.iter_mut().for_each(Line::begin);
        while round.cluster().open_nodes() > 0 {
            let Some(leaf) = self.next_leaf(ROOT, round.cluster()) else { return };
            self.serve(leaf, round);
        }
    }
}
