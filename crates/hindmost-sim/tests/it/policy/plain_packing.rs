//! Slow and simple versions of `dollymp` and `tetris` without indexes, with which the real ones are compared.

use std::cmp::Reverse;

use hindmost_core::cluster::{Cluster, Job, Node, Task};
use hindmost_core::ids::{JobId, NodeId, TaskId};
use hindmost_core::policy::order::Order;
use hindmost_core::policy::{Pass, Policy, Round, Seen, View};
use hindmost_core::record::Decision;
use hindmost_core::resources::Resources;
use hindmost_policies::orders::tetris::ByRemaining;
use hindmost_policies::placement::candidates_by_level::without_rounding;
use hindmost_sim::testing::World;

/// Computes the score of a job's next copy from the job, the copy's demand, the job's key, the cluster and the node.
pub type Score = fn(&Job, &Resources, f64, &Cluster, NodeId) -> f64;

/// A phase with tasks to start: the job's key, the score, the job, the number of the phase, and the tasks. The smallest
/// is next.
type Ranked = (u64, Reverse<u64>, JobId, u32, Vec<TaskId>);

/// The passes of DollyMP without an index: each round examines every node and every job.
pub struct Plain {
    pub order: Box<dyn Order>,
    pub score: Score,
    /// True if only a job's first open phase may start.
    pub first_phase: bool,
    pub clones: u32,
}

/// Tetris without an index: starts the pair of task and node with the highest score.
pub struct PlainPairs {
    pub order: ByRemaining,
    /// The paper's knob b: phases of which this share of the tasks has finished go first; 1 if none does.
    pub barrier: f64,
    pub score: Score,
}

impl PlainPairs {
    /// Returns the best pair. Ties go to the first task and to the first of `nodes`.
    fn best(&self, nodes: &[NodeId], cluster: &Cluster) -> Option<(TaskId, NodeId)> {
        let mut pairs = Vec::new();
        for job in cluster.jobs().filter(|job| job.finished().is_none()) {
            let key = self.order.key(job, cluster);
            for (phase, found) in (0..).zip(job.phases()).filter(|(_, phase)| phase.is_open() && phase.pending() > 0) {
                let first = found.tasks().iter().position(Task::is_pending)?;
                let task = TaskId { job: job.id(), phase, index: first as u32 };
                for (turn, node) in nodes.iter().enumerate() {
                    if found.demand().fits(cluster.node(*node)?.free()) {
                        let score = (self.score)(job, found.demand(), key, cluster, *node);
                        let finished = found.tasks().iter().filter(|task| task.is_finished()).count() as f64;
                        let is_last_part = finished / found.tasks().len() as f64 >= self.barrier - 1e-9;
                        let after_barrier = !(self.barrier < 1.0 && is_last_part);
                        pairs.push((after_barrier, Reverse(bits(score)), task, turn, *node));
                    }
                }
            }
        }
        pairs.into_iter().min().map(|(_, _, task, _, node)| (task, node))
    }
}

impl Pass for PlainPairs {
    fn decide(&mut self, round: &mut Round<'_>) {
        let nodes = by_place(round.cluster());
        while let Some((task, node)) = self.best(&nodes, round.cluster()) {
            assert!(round.start(task, node));
        }
    }
}

impl Plain {
    /// Returns the number and the tasks to start of the job's first phase that has such tasks and fits into `free`.
    fn phase(
        &self,
        job: &Job,
        copies: Option<u32>,
        free: &Resources,
        passed: &[(JobId, u32)],
    ) -> Option<(u32, Vec<TaskId>)> {
        let fits = |at: u32| job.phases()[at as usize].demand().fits(free) && !passed.contains(&(job.id(), at));
        let phases = (0..).zip(job.phases()).filter(|(_, phase)| phase.is_open());
        let wanted =
            phases.filter(|(at, _)| self.first_phase || !passed.contains(&(job.id(), *at))).map(|(at, phase)| {
                let of_phase = (0..).zip(phase.tasks()).filter(|(_, task)| match copies {
                    None => task.is_pending(),
                    Some(copies) => !task.is_finished() && task.running_copies() == copies,
                });
                (at, of_phase.map(|(index, _)| TaskId { job: job.id(), phase: at, index }).collect::<Vec<_>>())
            });
        let mut waiting = wanted.into_iter().filter(|(_, tasks)| !tasks.is_empty());
        if self.first_phase { waiting.next().filter(|(at, _)| fits(*at)) } else { waiting.find(|(at, _)| fits(*at)) }
    }

    /// Returns the task to start next on a node: a pending task if `copies` is `None`, else a task with this number of
    /// running copies, to be cloned. Adds phases without a task for the node to `passed`.
    fn best(
        &self,
        copies: Option<u32>,
        node: NodeId,
        cluster: &Cluster,
        passed: &mut Vec<(JobId, u32)>,
    ) -> Option<TaskId> {
        let free = *cluster.node(node)?.free();
        loop {
            let mut found: Vec<Ranked> = Vec::new();
            for job in cluster.jobs().filter(|job| job.finished().is_none()) {
                let Some((phase, tasks)) = self.phase(job, copies, &free, passed) else { continue };
                let demand = job.phases()[phase as usize].demand();
                let key = self.order.key(job, cluster);
                let score = (self.score)(job, demand, key, cluster, node);
                found.push((bits(key), Reverse(bits(score)), job.id(), phase, tasks));
            }
            found.sort_unstable();
            let (_, _, job, phase, tasks) = found.into_iter().next()?;
            match tasks.into_iter().find(|task| copies.is_none() || !cluster.has_copy_on(*task, node)) {
                Some(task) => return Some(task),
                None => passed.push((job, phase)),
            }
        }
    }

    fn sweep(&self, copies: Option<u32>, round: &mut Round<'_>) {
        loop {
            let mut any = false;
            for node in visited(round.cluster()) {
                let mut passed = Vec::new();
                while let Some(task) = self.best(copies, node, round.cluster(), &mut passed) {
                    assert!(round.start(task, node));
                    any = true;
                }
            }
            if !any {
                return;
            }
        }
    }
}

/// Returns the nodes in the order of their places, from the cluster's first place on.
fn by_place(cluster: &Cluster) -> Vec<NodeId> {
    let count = cluster.nodes().len() as u32;
    let places = (0..count).map(|turn| (cluster.first_place() + turn) % count);
    places.filter_map(|place| cluster.node_at(place)).collect()
}

/// Returns the nodes in the order in which a sweep visits them.
fn visited(cluster: &Cluster) -> Vec<NodeId> {
    let mut nodes = by_place(cluster);
    if cluster.visits_freest_first() {
        let share = |node: &NodeId| cluster.node(*node).map_or(0.0, Node::free_share);
        nodes.sort_by(|one, other| share(other).total_cmp(&share(one)));
    }
    nodes
}

/// Converts a number to an integer that sorts in the same way.
fn bits(number: f64) -> u64 {
    let bits = (number + 0.0).to_bits();
    if bits >> 63 == 0 { bits | (1 << 63) } else { !bits }
}

impl Pass for Plain {
    fn observe(&mut self, seen: Seen<'_>, view: &mut View<'_>) {
        if let Seen::Event(event, applied) = seen {
            self.order.observe(event, applied, view.cluster);
        }
    }

    fn decide(&mut self, round: &mut Round<'_>) {
        self.sweep(None, round);
        for copies in 1..=self.clones {
            self.sweep(Some(copies), round);
        }
    }
}

/// Returns the inner product of demand and free resources that DollyMP and Tetris use, both as shares of the node's
/// capacity.
pub fn shares_product(demand: &Resources, cluster: &Cluster, node: NodeId) -> f64 {
    let node = cluster.node(node).expect("a node of the cluster");
    // The terms are added in the same order as in the index, so that sums and ties are exactly equal.
    let weight = |at: usize| {
        let capacity = node.capacity().0[at] as f64;
        if capacity > 0.0 { node.free().0[at] as f64 / (capacity * capacity) } else { 0.0 }
    };
    without_rounding(demand.0.iter().enumerate().map(|(at, amount)| *amount as f64 * weight(at)).sum())
}

/// Runs the jobs under [`Plain`] and returns its decisions. `order` creates the order of jobs.
pub fn run_plain<O: Order + 'static>(
    world: &World,
    order: fn() -> O,
    first_phase: bool,
    clones: u32,
    score: Score,
) -> Vec<(f64, Decision)> {
    let policy = move || {
        let plain = Plain { order: Box::new(order()), score, first_phase, clones };
        Policy::new(Box::new(order()), vec![Box::new(plain)])
    };
    world.run_own(policy).decisions()
}
