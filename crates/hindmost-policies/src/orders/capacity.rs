//! `capacity`: hierarchical queues with guaranteed and maximum shares, as Apache Hadoop YARN's
//! `CapacityScheduler` has them (the documentation "Hadoop: Capacity Scheduler", and the classes
//! `PriorityUtilizationQueueOrderingPolicy`, `AbstractCSQueue`, `FifoOrderingPolicy` of Hadoop 3).
//!
//! From the top of the tree down, the queue that uses the smallest part of what it is guaranteed goes first
//! (used / guaranteed); in a leaf jobs are served first in, first out. What others leave of their guarantees may
//! be borrowed, up to a queue's maximum; it is given back as attempts end, since a queue that is below its
//! guarantee goes first. Nothing is stopped to give it back: no preemption. A queue never gets a copy that
//! would take it, or a queue above it, over its maximum; rules' backups count and are asked for like any copy.
//!
//! What a queue uses is the dominant share of the cluster that its jobs' copies hold (`resources=dominant`, YARN's
//! `DominantResourceCalculator`), or the share of the memory alone (`resources=memory`, YARN's
//! `DefaultResourceCalculator`; where nodes have no memory, of the first dimension).
//!
//! Queues are configured with the scenario (`[[queue]]`), a job names its own. Jobs that name none, or one that
//! is not configured, are in `default`, which is guaranteed what the queues at the top leave of the cluster
//! unless it is configured itself. In the same way a queue with others below it has a `default` for the jobs
//! that name itself, where YARN refuses such jobs.
//!
//! Pass: from queue to queue, one task each time; in a queue from job to job, each as long as it has a task
//! that may start. Readings: a task that fits nowhere, or is over a maximum, does not hold up the jobs behind its
//! own (YARN may reserve a node for it instead); where used / guaranteed is equal, queues go in the order in
//! which they are configured, an implicit `default` last (YARN: the larger guarantee first); queues that are
//! guaranteed nothing are served after all others beside them. Left out: limits of users, of applications and
//! of application masters, priorities, node labels, elastic preemption.
//!
//! Order for other passes: arrival. Parameters: `resources`, `dominant` or `memory`, `dominant`.

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
    /// The parameters of `capacity`. See the module's documentation.
    pub struct CapacityParameters {
        /// what a queue's share is taken of: the dominant resource or memory alone
        pub resources: Counted = Counted::Dominant;
    }
}

/// First in, first out, within the queues' maxima: what passes other than [`CapacityOriginals`] go by.
pub struct CapacityOrder {
    tree: QueueTree,
}

impl CapacityOrder {
    /// Of queues that were checked.
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
        self.tree.has_room(self.tree.leaf_of(job.spec()), phase.demand(), cluster)
    }

    fn started(&mut self, task: TaskId, cluster: &Cluster) {
        self.tree.count(task.job, cluster);
    }

    fn observe(&mut self, event: &Event, applied: Applied, cluster: &Cluster) -> Concerned {
        self.tree.observe(event, cluster);
        concerned(event, applied, false)
    }
}

/// The jobs of a leaf with something to start, and how far they were served in this round.
#[derive(Default)]
struct Line {
    jobs: Waiting,
    /// What fits nowhere now, or would exceed what the leaf may have.
    stuck: Stuck,
    /// Jobs up to this one have been given what fits.
    passed: Option<Place>,
    /// The job that is being served.
    current: Option<(JobId, Tried)>,
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

/// Starts pending tasks, one copy each, from queue to queue. See the module's documentation.
pub struct CapacityOriginals {
    which: Which,
    tree: QueueTree,
    /// By queue; only leaves have any.
    waiting: Vec<Line>,
}

impl CapacityOriginals {
    /// Of queues that were checked; of all jobs, of started or of new ones.
    pub fn new(queues: &[QueueSpec], parameters: CapacityParameters, which: Which) -> CapacityOriginals {
        let tree = QueueTree::new(queues, parameters.resources);
        let waiting = (0..tree.len()).map(|_| Line::default()).collect();
        CapacityOriginals { which, tree, waiting }
    }

    /// Puts a job among those with something to start, or takes it out.
    fn refresh(&mut self, id: JobId, cluster: &Cluster) {
        let Some(job) = cluster.job(id) else { return };
        let waiting = &mut self.waiting[self.tree.leaf_of(job.spec())];
        if job.runnable() > 0 {
            waiting.jobs.set(Place::by_id(id), job);
        } else {
            waiting.jobs.remove(id);
        }
    }

    /// The leaf below a queue that is next, if any there has something left to try in this round.
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

    /// Starts the next task of a leaf that may start, if there is one.
    fn serve(&mut self, leaf: usize, round: &mut Round<'_>) {
        let waiting = &mut self.waiting[leaf];
        while !waiting.done {
            let cluster = round.cluster();
            let fits = |demand: &Resources| self.tree.has_room(leaf, demand, cluster) && cluster.fits_somewhere(demand);
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
            let node = if self.tree.has_room(leaf, phase.demand(), cluster) {
                cluster.find_nearest_node(task, phase.demand(), |node, _| !cluster.avoids(task, node))
            } else {
                None
            };
            if !node.is_some_and(|node| round.start(task, node)) {
                tried.in_vain(task, round.cluster());
                waiting.current = Some((job, tried));
                continue;
            }
            waiting.current = Some((job, tried));
            let name = self.tree.name(leaf);
            round.because(|| format!("it was the turn of queue {name}, and of its job there"));
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
