//! `tetris` packs tasks onto the nodes whose free resources match their demands best. It prefers jobs with little
//! remaining work.
//!
//! Paper: Grandl, Ananthanarayanan, Kandula, Rao & Akella, "Multi-Resource Packing for Cluster Schedulers", SIGCOMM
//! 2014.
//!
//! Algorithm: among all pairs of a pending task and a node on which it fits, the pair with the highest score a − ε·p is
//! next.
//! - a is the alignment of the copy's demand with the node's free resources: the inner product of demand and free
//!   resources, both as shares of the node's capacity.
//! - p is the job's remaining work. With `remaining=work` it is the sum of mean duration × demand over the job's
//!   unfinished tasks, with demands as shares of the cluster, summed over dimensions. With `remaining=time` it is the
//!   longest path of mean durations through unfinished phases.
//! - ε, unless it is given, is ā / p̄. ā is the mean alignment of the pending copies with an empty node of mean
//!   capacity, and p̄ is the mean of p over the jobs with pending tasks. Both are computed in every round.
//!
//! Readings:
//! - Xu, Liu & Lau 2022 print a + ε·p, which prefers the largest job. The Tetris paper, and this implementation, prefer
//!   the smallest.
//! - As in the paper, a node with free resources takes the task with the highest score there. If several nodes have
//!   free resources at the same time, the highest score of all pairs comes first.
//! - Tasks of all open phases are compared. Ties go to the first job and phase, then to the node that the cluster's
//!   placement prefers.
//! - The paper's penalty for remote reads and its fairness knob are left out (f = 0: most efficient). ε = 0 is packing
//!   without a preference for small jobs.

use hindmost_core::cluster::{Cluster, Job};
use hindmost_core::record::Event;
use hindmost_core::resources::Resources;

use crate::placement::by_node::Fit;
use crate::placement::candidates_by_level::Levels;
use hindmost_core::cluster::Applied;
use hindmost_core::policy::job_queue::JobQueue;
use hindmost_core::policy::order::{Concerned, Order, concerned};

/// The measure of a job's remaining work p.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remaining {
    /// Unfinished tasks × mean duration × demand, in seconds of the whole cluster, summed over dimensions.
    Work,
    /// The longest path of mean durations through unfinished phases, in seconds.
    Time,
}

crate::words!(Remaining: Work = "work", Time = "time");

crate::parameters! {
    /// The parameters of `tetris`.
    pub struct TetrisParameters {
        /// weight of a job's remaining work against alignment; auto: mean alignment / mean remaining work
        pub epsilon: Option<f64> = None, word auto, in 0.0..;
        /// measure of a job's remaining work: work (demand x time) or time (the longest path through its phases)
        pub remaining: Remaining = Remaining::Work;
    }
}

impl Remaining {
    fn of(self, job: &Job, cluster: &Cluster) -> f64 {
        match self {
            Remaining::Work => {
                let phases = job.phases().iter();
                let work = phases.map(|phase| {
                    f64::from(phase.unfinished()) * phase.mean() * phase.demand().summed_share(cluster.total())
                });
                work.sum()
            }
            Remaining::Time => job.longest_remaining_path(hindmost_core::cluster::Phase::mean),
        }
    }
}

/// The order by remaining work, the least first. Passes that go through jobs instead of nodes use it.
pub struct LeastRemaining(pub Remaining);

impl Order for LeastRemaining {
    fn key(&self, job: &Job, cluster: &Cluster) -> f64 {
        self.0.of(job, cluster)
    }

    fn observe(&mut self, event: &Event, applied: Applied, _cluster: &Cluster) -> Concerned {
        concerned(event, applied, self.0 == Remaining::Work)
    }
}

/// The score by which Tetris chooses a pair of task and node.
pub struct TetrisFit {
    parameters: TetrisParameters,
    /// ε in this round.
    current: f64,
}

impl TetrisFit {
    /// Creates the score with these parameters.
    pub fn new(parameters: TetrisParameters) -> TetrisFit {
        TetrisFit { parameters, current: parameters.epsilon.unwrap_or(0.0) }
    }
}

impl Fit for TetrisFit {
    fn level(&self, _job: &Job, _cluster: &Cluster, _queue: &JobQueue) -> u64 {
        0
    }

    fn penalty(&self, job: &Job, cluster: &Cluster) -> f64 {
        // With ε = 0 remaining work must not even break ties between jobs that pack equally well.
        if self.parameters.epsilon == Some(0.0) { 0.0 } else { self.parameters.remaining.of(job, cluster) }
    }

    fn prepare(&mut self, candidates: &Levels, cluster: &Cluster) {
        if self.parameters.epsilon.is_some() {
            return;
        }
        let nodes = cluster.nodes().len() as f64;
        let (mut alignment, mut remaining) = (0.0, 0.0);
        // Consecutive candidates usually have the same demand, so its alignment is computed once for all of them.
        let (mut demand, mut aligned) = (Resources::NONE, 0.0);
        for (_, candidate) in candidates.iter() {
            if candidate.demand != demand {
                (demand, aligned) = (candidate.demand, with_an_empty_node(&candidate.demand, cluster.total(), nodes));
            }
            alignment += aligned;
            remaining += candidate.penalty;
        }
        self.current = if remaining > 0.0 { alignment / remaining } else { 0.0 };
    }

    fn penalty_weight(&self) -> f64 {
        self.current
    }

    fn takes_best_pair(&self) -> bool {
        true
    }

    fn because(&self) -> &'static str {
        "its job had the highest score on the node: alignment with the free resources minus remaining work"
    }
}

/// Returns the alignment of a demand with an empty node of mean capacity.
fn with_an_empty_node(demand: &Resources, total: &Resources, nodes: f64) -> f64 {
    demand.summed_share(total) * nodes
}
