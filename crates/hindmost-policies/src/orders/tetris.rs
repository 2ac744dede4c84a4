//! `tetris`: multi-resource packing with a preference for little remaining work (Grandl,
//! Ananthanarayanan, Kandula, Rao & Akella, "Multi-Resource Packing for Cluster Schedulers", SIGCOMM 2014).
//!
//! Of all pairs of a waiting task and a node on which it fits the one with the highest score a − ε·p is
//! next: a is the alignment of the copy's demand with the node's free room, the inner product of both
//! as shares of the node's capacity; p is the job's remaining work. Xu, Liu & Lau 2022 print a + ε·p,
//! which prefers the largest job; Tetris' own paper prefers the smallest.
//!
//! p is Σ over the job's unfinished tasks of mean duration × demand summed over dimensions as shares of the
//! cluster (`remaining=work`), or the longest path of mean durations through unfinished phases
//! (`remaining=time`). ε unless given is ā / p̄: ā the mean alignment of the waiting copies with an empty node
//! of mean capacity, p̄ the mean of p over the waiting jobs, both computed anew in every round.
//!
//! Readings: a node that has room takes the task with the highest score there, as the paper has it, and where several
//! have room at once the highest score of all comes first; tasks of all open phases are compared; ties go to the first
//! job, phase and node. The paper's penalty for remote reads and its fairness knob are left out (f = 0: most
//! efficient); ε = 0 is packing alone.

use hindmost_core::cluster::{Cluster, Job};
use hindmost_core::record::Event;
use hindmost_core::resources::Resources;

use crate::placement::by_node::Fit;
use crate::placement::candidates_by_level::Levels;
use hindmost_core::cluster::Applied;
use hindmost_core::policy::job_queue::JobQueue;
use hindmost_core::policy::order::{Concerned, Order, concerned};

/// What is taken for a job's remaining work p.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remaining {
    /// Unfinished tasks × mean duration × demand, seconds of the whole cluster, summed over dimensions.
    Work,
    /// The longest path of mean durations through unfinished phases, seconds.
    Time,
}

crate::words!(Remaining: Work = "work", Time = "time");

crate::parameters! {
    /// Tetris' parameters. See the module's documentation.
    pub struct TetrisParameters {
        /// price of remaining work in units of alignment; auto: mean alignment / mean remaining work
        pub epsilon: Option<f64> = None, word auto, in 0.0..;
        /// what remains of a job: work (demand x time) or time (the longest path)
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

/// The order by remaining work, for passes that go through jobs rather than nodes.
pub struct LeastRemaining(pub Remaining);

impl Order for LeastRemaining {
    fn key(&self, job: &Job, cluster: &Cluster) -> f64 {
        self.0.of(job, cluster)
    }

    fn observe(&mut self, event: &Event, applied: Applied, _cluster: &Cluster) -> Concerned {
        concerned(event, applied, self.0 == Remaining::Work)
    }
}

/// Tetris' score. See the module's documentation.
pub struct TetrisFit {
    parameters: TetrisParameters,
    /// ε of this round.
    current: f64,
}

impl TetrisFit {
    /// With these parameters.
    pub fn new(parameters: TetrisParameters) -> TetrisFit {
        TetrisFit { parameters, current: parameters.epsilon.unwrap_or(0.0) }
    }
}

impl Fit for TetrisFit {
    fn level(&self, _job: &Job, _cluster: &Cluster, _queue: &JobQueue) -> u64 {
        0
    }

    fn penalty(&self, job: &Job, cluster: &Cluster) -> f64 {
        // Packing alone does not know what remains, not even where two jobs pack equally well.
        if self.parameters.epsilon == Some(0.0) { 0.0 } else { self.parameters.remaining.of(job, cluster) }
    }

    fn prepare(&mut self, candidates: &Levels, cluster: &Cluster) {
        if self.parameters.epsilon.is_some() {
            return;
        }
        let nodes = cluster.nodes().len() as f64;
        let (mut alignment, mut remaining) = (0.0, 0.0);
        // Mostly the next demands what the one before did.
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
        "alignment with the node's free room less remaining work was highest for its job"
    }
}

/// The alignment of a demand with an empty node that has its share of the cluster's room.
fn with_an_empty_node(demand: &Resources, total: &Resources, nodes: f64) -> f64 {
    demand.summed_share(total) * nodes
}
