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
//! **Barriers.** The paper's knob b (`barrier`): once a share b of the tasks of a phase that precedes a barrier have
//! finished, its remaining tasks go before those of all other phases. Among such phases the score decides. Here phases
//! wait for whole phases, so each phase precedes a barrier; the last ones precede the end of their job. The paper uses
//! b = 0.9. The default, b = 1, leaves the preference out, as Xu, Liu & Lau 2022 do in their description of Tetris.
//!
//! Readings:
//! - Xu, Liu & Lau 2022 print a + ε·p (section 2), which prefers the largest job. The Tetris paper, and this
//!   implementation, prefer the smallest. `sign=plus` is the printed formula, for comparison.
//! - As in the paper, a node with free resources takes the task with the highest score there. If several nodes have
//!   free resources at the same time, the highest score of all pairs comes first.
//! - Tasks of all open phases are compared. Ties go to the first job and phase, then to the node that the cluster's
//!   placement prefers.
//! - Tasks that had finished before their job arrived count as finished for b. Other passes that choose copies by this
//!   score, such as the clones of `dollymp`, follow b too.
//!
//! The differences from the source, and what this was written from, are in the catalogue (`catalogue/sources/`).

use hindmost_core::cluster::{Cluster, Job, Phase};
use hindmost_core::record::Event;
use hindmost_core::resources::Resources;

use crate::placement::by_node::Fit;
use crate::placement::candidates_by_level::{Levels, without_rounding};
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

/// The sign of ε·p in the score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// a − ε·p: jobs with little remaining work first, as in the Tetris paper.
    Minus,
    /// a + ε·p: jobs with much remaining work first, as printed by Xu, Liu & Lau 2022.
    Plus,
}

crate::words!(Sign: Minus = "minus", Plus = "plus");

crate::parameters! {
    /// The parameters of `tetris`.
    pub struct TetrisParameters {
        /// weight of a job's remaining work against alignment; auto: mean alignment / mean remaining work
        pub epsilon: Option<f64> = None, word auto, in 0.0..;
        /// measure of a job's remaining work: work (demand x time) or time (the longest path through its phases)
        pub remaining: Remaining = Remaining::Work;
        /// sign of epsilon x remaining work in the score: minus prefers small jobs; plus, a misprint in the paper of
        /// DollyMP, prefers large ones
        pub sign: Sign = Sign::Minus;
        /// share of a phase's tasks after which its remaining tasks go before those of all other phases; 1: never
        pub barrier: f64 = 1.0, in 0.0..=1.0;
    }
}

impl Remaining {
    /// Rounded, so that jobs with equal remaining work are equal whatever the order in which it was added up.
    fn of(self, job: &Job, cluster: &Cluster) -> f64 {
        without_rounding(match self {
            Remaining::Work => {
                let phases = job.phases().iter();
                let work = phases.map(|phase| {
                    f64::from(phase.unfinished()) * phase.mean() * phase.demand().summed_share(cluster.total())
                });
                work.sum()
            }
            Remaining::Time => job.longest_remaining_path(Phase::mean),
        })
    }
}

impl Sign {
    /// Returns a job's remaining work so that the job with the smallest result is preferred.
    fn of(self, remaining: f64) -> f64 {
        match self {
            Sign::Minus => remaining,
            Sign::Plus => -remaining,
        }
    }
}

/// The order by remaining work, the least first with [`Sign::Minus`]. Passes that go through jobs instead of nodes use
/// it.
pub struct ByRemaining(pub Remaining, pub Sign);

impl Order for ByRemaining {
    fn key(&self, job: &Job, cluster: &Cluster) -> f64 {
        self.1.of(self.0.of(job, cluster))
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

    fn level_of_phase(&self, level: u64, job: &Job, phase: u32) -> u64 {
        let barrier = self.parameters.barrier;
        let is_near_barrier = |phase: &Phase| {
            let tasks = f64::from(phase.task_count());
            // The margin covers rounding errors of the product.
            tasks - f64::from(phase.unfinished()) >= barrier * tasks - 1e-9
        };
        let goes_first = barrier < 1.0 && job.phases().get(phase as usize).is_some_and(is_near_barrier);
        level + u64::from(!goes_first)
    }

    fn penalty(&self, job: &Job, cluster: &Cluster) -> f64 {
        let TetrisParameters { epsilon, remaining, sign, .. } = self.parameters;
        // With ε = 0 remaining work must not even break ties between jobs that pack equally well.
        if epsilon == Some(0.0) { 0.0 } else { sign.of(remaining.of(job, cluster)) }
    }

    fn prepare(&mut self, candidates: &Levels, cluster: &Cluster) {
        if self.parameters.epsilon.is_some() {
            return;
        }
        let nodes = cluster.joined_nodes() as f64;
        let (mut alignment, mut remaining) = (0.0, 0.0);
        // Consecutive candidates usually have the same demand, so its alignment is computed once for all of them.
        let (mut demand, mut aligned) = (Resources::NONE, 0.0);
        for (_, candidate) in candidates.iter() {
            if candidate.demand != demand {
                (demand, aligned) = (candidate.demand, with_an_empty_node(&candidate.demand, cluster.total(), nodes));
            }
            alignment += aligned;
            remaining += candidate.penalty.abs();
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
        match (self.parameters.sign, self.parameters.barrier < 1.0) {
            (Sign::Minus, false) => {
                "its job had the highest score on the node: alignment with the free resources minus remaining work"
            }
            (Sign::Plus, false) => {
                "its job had the highest score on the node: alignment with the free resources plus remaining work"
            }
            (_, true) => {
                "its phase was almost finished, or no such phase had a task that fitted; among these phases its job had \
                 the highest score on the node"
            }
        }
    }
}

/// Returns the alignment of a demand with an empty node of mean capacity.
fn with_an_empty_node(demand: &Resources, total: &Resources, nodes: f64) -> f64 {
    demand.summed_share(total) * nodes
}
