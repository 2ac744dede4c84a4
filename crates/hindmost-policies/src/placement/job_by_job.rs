//! The pass that starts originals, job by job in the order of the job queue.

use hindmost_core::cluster::Cluster;
use hindmost_core::ids::{JobId, NodeId, TaskId};

use super::by_speed::GoodNodes;
use hindmost_core::policy::queue_place::Which;
use hindmost_core::policy::runnable_by_demand::Stuck;
use hindmost_core::policy::{Pass, Round};

/// The pass that starts pending tasks, one copy each: job by job in the order of the job queue, phase by phase, task by
/// task.
///
/// Each task goes to the node that the cluster's placement chooses among those on which it fits. If the location of its
/// input is known, the placement chooses among the nodes nearest to the input
/// ([`Cluster::find_nearest_node`](hindmost_core::cluster::Cluster::find_nearest_node)). A job is
/// skipped if its next task fits nowhere, or if the order permits the job no more copies. If a task gets no node
/// because it has failed on all nodes with free resources, the other tasks of its phase may still start.
pub struct Originals {
    which: Which,
    /// The nodes that are not slow, if the pass places tasks by speed (`pace`); otherwise `None`.
    good_nodes: Option<GoodNodes>,
}

impl Originals {
    /// Creates the pass for all jobs, for started ones, or for new ones.
    pub fn of(which: Which) -> Originals {
        Originals { which, good_nodes: None }
    }

    /// Creates the pass of `pace`, for all jobs. It places tasks on the fastest nodes, and on nodes below the speed
    /// `slow` only if the task is expected to end there before a faster node could take it.
    pub fn by_speed(slow: f64) -> Originals {
        Originals { which: Which::Any, good_nodes: Some(GoodNodes::above(slow)) }
    }
}

impl Pass for Originals {
    fn decide(&mut self, round: &mut Round<'_>) {
        // This round has served the jobs up to this place in the queue.
        let mut passed = None;
        let mut stuck = Stuck::default();
        let mut started_nothing = false;
        while round.cluster().open_nodes() > 0 && !self.waits_for_speed(round.cluster()) {
            // If the last job could start a task, the next one probably can too, so the check of demands is skipped.
            let next = if started_nothing {
                round.next_job_that_fits(self.which, passed, &mut stuck)
            } else {
                round.next_job(self.which, passed)
            };
            let Some(place) = next else { return };
            let job = place.job();
            let mut tried = Tried::default();
            let mut yielded = false;
            started_nothing = true;
            while let Some(task) = tried.next_task(job, round.cluster()) {
                if !self.place_task(round, task) {
                    self.mark_waiting_demand(task, round.cluster(), &mut stuck);
                    tried.add_failure(task, round.cluster());
                    continue;
                }
                started_nothing = false;
                if round.should_yield(job, self.which, passed) {
                    yielded = true;
                    break;
                }
            }
            if !yielded {
                passed = Some(place);
            }
        }
    }
}

/// Once a round has found no node for this many tasks of a job that have failed before, it skips all tasks of the job
/// that are pending again.
const MAX_AVOIDING: usize = 16;

/// The tasks and phases of a job for which a round has found no node.
#[derive(Debug, Default)]
pub(crate) struct Tried {
    /// Phases whose tasks fit nowhere now, one bit each. Phases from 63 on share the last bit.
    stuck: u64,
    /// Tasks that have failed before and got no node in this round. The reason may be that they avoid the nodes on which
    /// they have failed.
    avoiding: Vec<TaskId>,
}

impl Tried {
    /// Returns the job's next task that may still fit on a node.
    pub(crate) fn next_task(&self, job: JobId, cluster: &Cluster) -> Option<TaskId> {
        let again = |task| self.avoiding.len() < MAX_AVOIDING && !self.avoiding.contains(&task);
        cluster.job(job)?.next_runnable(|phase| self.stuck & phase_bit(phase) == 0, again)
    }

    /// Records that a task got no node. If the task has never failed, all tasks of its phase are skipped from now on,
    /// because they have the same demand. So are they if it demands more than they do: otherwise they would take what comes free.
    pub(crate) fn add_failure(&mut self, task: TaskId, cluster: &Cluster) {
        if cluster.has_failed(task) && !cluster.has_own_demand(task) && !self.avoiding.contains(&task) {
            self.avoiding.push(task);
        } else {
            self.stuck |= phase_bit(task.phase);
        }
    }
}

fn phase_bit(phase: u32) -> u64 {
    1 << phase.min(63)
}

impl Originals {
    /// Starts a task on a node on which it fits. Returns false if there is no such node, the order of jobs does not
    /// permit it, or the start is refused.
    fn place_task(&mut self, round: &mut Round<'_>, task: TaskId) -> bool {
        let Some(node) = self.node_for(round, task) else { return false };
        let started = round.start(task, node);
        round.because(|| "its job was next, and no copy of the task was running or had finished".to_owned());
        started
    }

    /// Returns true if every pending task should wait for a faster node. Always false on nodes with several resources,
    /// because there the answer depends on the task's demand.
    fn waits_for_speed(&mut self, cluster: &Cluster) -> bool {
        let Some(good_nodes) = &mut self.good_nodes else { return false };
        let Some(node) = cluster.node(NodeId(0)).filter(|_| cluster.dimensions().is_one_slot()) else { return false };
        good_nodes.all_should_wait(node.capacity(), cluster)
    }

    /// Marks a task's demand as stuck for this round if all copies with this demand should wait for a faster node.
    fn mark_waiting_demand(&mut self, task: TaskId, cluster: &Cluster, stuck: &mut Stuck) {
        let Some((good_nodes, phase)) = self.good_nodes.as_mut().zip(cluster.phase(task)) else { return };
        if good_nodes.all_should_wait(phase.demand(), cluster) {
            stuck.add(phase.demand());
        }
    }

    /// Returns the node on which the task starts now; `None` if it can't start or should wait for a faster node.
    fn node_for(&mut self, round: &mut Round<'_>, task: TaskId) -> Option<NodeId> {
        if !round.may_start(task) {
            return None;
        }
        let cluster = round.cluster();
        if let Some(good_nodes) = &mut self.good_nodes {
            return good_nodes.place(task, cluster);
        }
        let demand = cluster.demand(task)?;
        cluster.find_nearest_node(task, demand, |node, _| !cluster.avoids(task, node))
    }
}
