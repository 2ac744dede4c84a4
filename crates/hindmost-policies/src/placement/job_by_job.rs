//! The pass that starts pending tasks, one copy each, in the queue's order.

use hindmost_core::cluster::Cluster;
use hindmost_core::ids::{JobId, NodeId, TaskId};

use super::by_speed::GoodNodes;
use hindmost_core::policy::queue_place::Which;
use hindmost_core::policy::runnable_by_demand::Stuck;
use hindmost_core::policy::{Pass, Round};

/// Starts pending tasks, one copy each: job by job in the queue's order, phase by phase, task by
/// task, each on the first node with room, or where it is known where its input lies on one as near to it as
/// possible ([`Cluster::find_nearest_node`](hindmost_core::cluster::Cluster::find_nearest_node)). A job whose next task
/// fits nowhere, or that has all that the order lets it have, is passed over; a task that only avoids the nodes
/// with room does not hold up the others of its phase.
pub struct Originals {
    which: Which,
    /// For placing by speed.
    good_nodes: Option<GoodNodes>,
}

impl Originals {
    /// Of all jobs, of those that have been started, or of new ones.
    pub fn of(which: Which) -> Originals {
        Originals { which, good_nodes: None }
    }

    /// Of all jobs, on the fastest nodes, and on those below the speed `slow` only where that pays (`pace`).
    pub fn by_speed(slow: f64) -> Originals {
        Originals { which: Which::Any, good_nodes: Some(GoodNodes::above(slow)) }
    }
}

impl Pass for Originals {
    fn decide(&mut self, round: &mut Round<'_>) {
        // Jobs up to here have been given what fits.
        let mut passed = None;
        let mut stuck = Stuck::default();
        let mut in_vain = false;
        while round.cluster().open_nodes() > 0 && !self.waits_for_speed(round.cluster()) {
            // As long as jobs can start something the next one probably can.
            let next = if in_vain {
                round.next_job_that_fits(self.which, passed, &mut stuck)
            } else {
                round.next_job(self.which, passed)
            };
            let Some(place) = next else { return };
            let job = place.job();
            let mut tried = Tried::default();
            let mut yielded = false;
            in_vain = true;
            while let Some(task) = tried.next_task(job, round.cluster()) {
                if !self.place_task(round, task) {
                    self.note_slow_room(task, round.cluster(), &mut stuck);
                    tried.in_vain(task, round.cluster());
                    continue;
                }
                in_vain = false;
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

/// Tasks that have failed and are tried in a round without finding a node, at most.
const CHOOSY: usize = 16;

/// What of a job was tried in a round without finding room.
#[derive(Debug, Default)]
pub(crate) struct Tried {
    /// Phases whose tasks fit nowhere now; a bit each, later phases share the last.
    stuck: u64,
    /// Tasks that have failed somewhere and find no other node now.
    choosy: Vec<TaskId>,
}

impl Tried {
    /// The job's next task that may still find room.
    pub(crate) fn next_task(&self, job: JobId, cluster: &Cluster) -> Option<TaskId> {
        // Once many were tried in vain, only tasks that have not failed are.
        let again = |task| self.choosy.len() < CHOOSY && !self.choosy.contains(&task);
        cluster.job(job)?.next_runnable(|phase| self.stuck & phase_bit(phase) == 0, again)
    }

    /// A task found no room: others of its phase won't either, unless it only avoids the nodes with room.
    pub(crate) fn in_vain(&mut self, task: TaskId, cluster: &Cluster) {
        if cluster.has_failed(task) && !self.choosy.contains(&task) {
            self.choosy.push(task);
        } else {
            self.stuck |= phase_bit(task.phase);
        }
    }
}

fn phase_bit(phase: u32) -> u64 {
    1 << phase.min(63)
}

impl Originals {
    /// Starts a task where there is room for it. False if there is none, the order does not let the task have it, or
    /// the start is refused.
    fn place_task(&mut self, round: &mut Round<'_>, task: TaskId) -> bool {
        let Some(node) = self.node_for(round, task) else { return false };
        let started = round.start(task, node);
        round.because(|| "it was its turn: no copy of the task ran or had finished".to_owned());
        started
    }

    /// True if every task waits for a faster node than those with room: on machines of one slot all of them ask the same.
    fn waits_for_speed(&mut self, cluster: &Cluster) -> bool {
        let Some(good_nodes) = &mut self.good_nodes else { return false };
        let Some(node) = cluster.nodes().first().filter(|_| cluster.dimensions().is_one_slot()) else { return false };
        good_nodes.all_should_wait(node.capacity(), cluster)
    }

    /// Where copies with a task's demand all wait for a faster node they need not be tried again in this round.
    fn note_slow_room(&mut self, task: TaskId, cluster: &Cluster, stuck: &mut Stuck) {
        let Some((good_nodes, phase)) = self.good_nodes.as_mut().zip(cluster.phase(task)) else { return };
        if good_nodes.all_should_wait(phase.demand(), cluster) {
            stuck.add(phase.demand());
        }
    }

    fn node_for(&mut self, round: &mut Round<'_>, task: TaskId) -> Option<NodeId> {
        if !round.may_start(task) {
            return None;
        }
        let cluster = round.cluster();
        if let Some(good_nodes) = &mut self.good_nodes {
            return good_nodes.place(task, cluster);
        }
        let demand = cluster.phase(task)?.demand();
        cluster.find_nearest_node(task, demand, |node, _| !cluster.avoids(task, node))
    }
}
