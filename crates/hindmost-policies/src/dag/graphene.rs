//! `graphene`: packing and dependency-aware scheduling.
//!
//! Paper: Grandl, Kandula, Rao, Akella & Kulkarni, "Graphene: Packing and Dependency-aware Scheduling for Data-Parallel
//! Clusters", OSDI 2016.
//!
//! **Offline**, once for each job: it makes a schedule of the job's phases alone on the cluster, in which phases that
//! run long or pack badly are placed first (`offline_schedule.rs`). The job's tasks start in the order in which they
//! begin in that schedule (`task_order.rs`). A phase's rank is its place among the phases by the begin of its first
//! task.
//!
//! **Online**, for each task to start: every job offers a task of the first phase in that order that fits. The offer
//! with the best score starts:
//!
//! ```text
//! score    = priority · alignment - eta · work
//! priority = 1 - rank / phases                    alignment = inner product of demand and free resources
//! work     = Σ over the job's phases of tasks not finished · effective time · dominant share   (SRPT)
//! eta      = srpt · mean of priority · alignment / mean of work
//! ```
//!
//! Deficits bound the unfairness of this choice. For every started task of dominant share d, each job with a pending
//! task earns its fair share d · weight / Σ weights, and the task's job pays d. A job's deficit is the sum of its
//! earnings minus the sum of its payments. While the largest deficit is at least kappa of the cluster, only the job
//! with this deficit is served.
//!
//! Readings, where the paper is silent or assumes another system:
//! - Within a job, the order of the schedule goes before packing.
//! - A priority belongs to a phase; in the paper each task has one.
//! - A job earns only while it has a pending task, and keeps its deficit while it has none.
//! - If jobs have different weights, their deficits are compared relative to the weights.
//! - A job with a large deficit that does not fit now does not keep others from starting (in the paper the machine
//!   would stay idle).
//! - Means are over the current offers, and η is computed when the offers are gathered. If more than 256 jobs have
//!   offers, those with the least work are compared.
//! - An offer is for the node that the cluster's placement chooses, as near to the task's input as resources allow,
//!   without the paper's penalty for remote reads (0.8).
//! - Backups and clones reduce their job's deficit as originals do.
//! - Schedules use effective times (mean + 1.5 standard deviations) and are not made again when durations are learned.
//!
//! With the default `srpt` = 0.2, packing decides among jobs: the makespan of a batch is short, but flowtimes (job
//! completion times, JCT) are long if far more work is offered than the cluster can do. With `srpt` = 5 they are about
//! as short as under `svf`.

use rustc_hash::{FxHashMap, FxHashSet};

use hindmost_core::cluster::{Cluster, Job};
use hindmost_core::ids::{AttemptId, JobId, NodeId, TaskId};
use hindmost_core::record::{Decision, Event};

use crate::dag::deficits::Deficits;
use crate::dag::packing::{Fitter, Offer};
use crate::dag::waiting_jobs::{Head, NodesByGroup, Place, WaitingJobs};
use hindmost_core::policy::queue_place::Which;
use hindmost_core::policy::{Pass, Round, Seen, View};

/// Maximum number of jobs whose offers are compared.
const COMPARED: usize = 256;

crate::parameters! {
    /// The parameters of `graphene`.
    pub struct GrapheneParameters {
        /// deficit, as a share of the cluster, from which on a job is served before all others
        pub kappa: f64 = 0.1, in 0.0..;
        /// weight of a job's remaining work relative to packing, which has weight 1
        pub srpt: f64 = 0.2, in 0.0..;
    }
}

/// The pass that starts pending tasks: the best score first, unless a job's deficit is too large.
pub struct TroublesomeFirst {
    which: Which,
    parameters: GrapheneParameters,
    waiting: WaitingJobs,
    deficits: Deficits,
    /// The number of this pass's own starts that it has not observed yet.
    own: usize,
}

/// A job's offer to start a task of a phase. The task starts on the node for all tasks with the same demand
/// ([`Known::nodes`]), unless the job has an entry in [`Known::own`].
type Candidate = (Place, Head);

/// The state of one round, in which free resources only shrink.
#[derive(Default)]
struct Known {
    fitter: Fitter,
    nodes: NodesByGroup,
    /// Offers whose node does not depend on the demand alone, because the task has failed before or has its input on
    /// certain nodes.
    own: FxHashMap<JobId, Offer>,
    /// Jobs of which no task can start in this round, although they are served first.
    not_startable: FxHashSet<JobId>,
}

impl Known {
    fn alignment(&self, (place, head): &Candidate) -> f64 {
        if head.is_simple {
            return self.nodes.alignment(head.group);
        }
        self.own.get(&place.job).map_or(0.0, |own| own.alignment)
    }
}

impl TroublesomeFirst {
    /// Creates the pass for all jobs, for started jobs or for new jobs.
    pub fn of(which: Which, parameters: GrapheneParameters) -> TroublesomeFirst {
        let (waiting, deficits) = (WaitingJobs::default(), Deficits::default());
        TroublesomeFirst { which, parameters, waiting, deficits, own: 0 }
    }

    fn is_meant(&self, job: &Job) -> bool {
        match self.which {
            Which::Any => true,
            Which::Started => job.started().is_some(),
            Which::New => job.started().is_none(),
        }
    }

    fn plan(&mut self, job: &Job, cluster: &Cluster) {
        if self.waiting.plan(job, cluster) {
            self.deficits.planned(job.id());
        }
    }

    /// Returns the first of the job's phases, in the order of their turns, with a pending task that fits; `None` if no
    /// task fits.
    fn offer(&mut self, place: Place, cluster: &Cluster, known: &mut Known) -> Option<Candidate> {
        self.plan(cluster.job(place.job)?, cluster);
        let fits = |head: &&Head| {
            if head.is_simple {
                return self.waiting.node_for(head.group, cluster, &mut known.nodes).is_some();
            }
            let offer = known.fitter.offer(cluster, place.job, head.phase);
            offer.map(|offer| known.own.insert(place.job, offer)).is_some()
        };
        self.waiting.heads(place.job).iter().find(fits).map(|head| (place, *head))
    }

    /// Returns the offer of the job with the largest deficit among the jobs that fit and have a deficit of at least κ;
    /// `None` if there are none.
    fn owed(&mut self, cluster: &Cluster, known: &mut Known) -> Option<Candidate> {
        let mut passed = None;
        while let Some((place, deficit, most)) = self.deficits.next(passed) {
            if most < self.parameters.kappa || most <= 0.0 {
                return None;
            }
            passed = Some(place);
            let is_meant = cluster.job(place.1).is_some_and(|job| self.is_meant(job));
            if !is_meant || deficit < self.parameters.kappa || known.not_startable.contains(&place.1) {
                continue;
            }
            let offer = self.offer(Place::of(place.1), cluster, known);
            if offer.is_some() {
                return offer;
            }
            known.not_startable.insert(place.1);
        }
        None
    }

    /// Makes the offline schedules of the jobs with a deficit of at least κ.
    fn plan_owed(&mut self, cluster: &Cluster) {
        let mut passed = None;
        while let Some((place, deficit, most)) = self.deficits.next_unplanned(passed) {
            if most < self.parameters.kappa || most <= 0.0 {
                return;
            }
            passed = Some(place);
            let job = cluster.job(place.1).filter(|job| deficit >= self.parameters.kappa && self.is_meant(job));
            if let Some(job) = job {
                self.plan(job, cluster);
            }
        }
    }

    /// Returns the offers of the next jobs after a place, the least remaining work first.
    fn gather(&mut self, after: &mut Option<Place>, cluster: &Cluster, known: &mut Known) -> Vec<Candidate> {
        let mut candidates = Vec::new();
        while candidates.len() < COMPARED {
            let first = candidates.len();
            self.waiting.next(self.which, *after, COMPARED, cluster, &mut known.nodes, &mut candidates);
            let Some((last, _)) = candidates[first..].last() else { break };
            *after = Some(*last);
            let mut at = 0;
            candidates.retain_mut(|candidate| {
                at += 1;
                at <= first
                    || candidate.1.is_simple
                    || self.offer(candidate.0, cluster, known).map(|offer| *candidate = offer).is_some()
            });
        }
        candidates
    }

    /// Starts an offered task and returns its node; `None` if the start is refused.
    fn start(&mut self, round: &mut Round<'_>, taken: Candidate, known: &mut Known, why: &str) -> Option<NodeId> {
        let (cluster, (Place { job, .. }, head)) = (round.cluster(), taken);
        let (task, node) = if head.is_simple {
            let task = cluster.job(job)?.next_runnable(|at| at == head.phase, |_| true)?;
            (task, self.waiting.node_for(head.group, cluster, &mut known.nodes)?.0)
        } else {
            known.own.get(&job).map(|own| (own.task, own.node))?
        };
        if !round.start(task, node) {
            return None;
        }
        round.because(|| {
            let first = if head.priority >= 1.0 { "its phase is the first by rank in its job, and " } else { "" };
            format!("{first}{why}")
        });
        self.own += 1;
        self.pay(task, round.cluster());
        Some(node)
    }

    fn pay(&mut self, task: TaskId, cluster: &Cluster) {
        let demand = cluster.phase(task).map_or(0.0, |phase| phase.demand().dominant_share(cluster.total()));
        self.deficits.pay(task.job, demand);
        self.refresh(task.job, cluster);
    }

    fn refresh(&mut self, job: JobId, cluster: &Cluster) {
        self.deficits.refresh(job, cluster);
        self.waiting.refresh(job, cluster);
    }

    /// Renews the offers that a start has changed: the offer of `job`, which has started a task, and the offers for
    /// `node`, on which it runs.
    fn renew(
        &mut self,
        candidates: &mut Vec<Candidate>,
        job: JobId,
        node: NodeId,
        cluster: &Cluster,
        known: &mut Known,
    ) {
        known.nodes.taken(node);
        candidates.retain_mut(|candidate| {
            let (place, head) = *candidate;
            let stands = if head.is_simple {
                self.waiting.node_for(head.group, cluster, &mut known.nodes).is_some()
            } else {
                known.own.get(&place.job).is_some_and(|own| own.node != node)
            };
            if place.job != job && (stands || head.is_simple && head.is_alone) {
                return stands;
            }
            self.offer(place, cluster, known).map(|offer| *candidate = offer).is_some()
        });
    }
}

/// Returns η, the weight of a second of work against packing. With this weight, the mean of η · work over these offers
/// is `srpt` times the mean of priority · alignment.
fn eta(candidates: &[Candidate], known: &Known, srpt: f64) -> f64 {
    let (mut packing, mut work) = (0.0, 0.0);
    for candidate in candidates {
        packing += candidate.1.priority * known.alignment(candidate);
        work += candidate.0.work();
    }
    if work > 0.0 { srpt * packing / work } else { 0.0 }
}

/// Returns the first candidate with the best score.
fn best(candidates: &[Candidate], known: &Known, eta: f64) -> Option<Candidate> {
    let mut best: Option<(f64, &Candidate)> = None;
    for candidate in candidates {
        let score = candidate.1.priority * known.alignment(candidate) - eta * candidate.0.work();
        if best.is_none_or(|(best, _)| score > best) {
            best = Some((score, candidate));
        }
    }
    best.map(|(_, candidate)| *candidate)
}

impl Pass for TroublesomeFirst {
    fn observe(&mut self, seen: Seen<'_>, view: &mut View<'_>) {
        let cluster = view.cluster;
        match seen {
            Seen::Decision(Decision::Start { .. }) if self.own > 0 => self.own -= 1,
            Seen::Decision(Decision::Start { attempt, .. }) => {
                self.pay(attempt.task, cluster);
            }
            Seen::Decision(Decision::Abandon { job }) => {
                self.waiting.leave(*job);
                self.deficits.leave(*job);
            }
            Seen::Event(Event::JobArrived { job, spec }, _) => {
                self.deficits.join(*job, spec.weight);
                self.refresh(*job, cluster);
            }
            Seen::Event(Event::DurationsLearned { job, .. }, _) => self.refresh(*job, cluster),
            Seen::Event(
                Event::AttemptFinished { attempt: AttemptId { task, .. } }
                | Event::AttemptFailed { attempt: AttemptId { task, .. }, .. }
                | Event::AttemptStopped { attempt: AttemptId { task, .. } }
                | Event::TaskWithheld { task, .. }
                | Event::TaskReturned { task }
                | Event::TaskGivenUp { task },
                _,
            ) => {
                let job = task.job;
                if cluster.job(job).is_none_or(Job::is_over) {
                    self.waiting.leave(job);
                    self.deficits.leave(job);
                } else {
                    self.refresh(job, cluster);
                }
            }
            Seen::Event(
                Event::NodeLost { .. }
                | Event::NodeLeaving { .. }
                | Event::NodeJoined { .. }
                | Event::NodeReturned { .. },
                _,
            ) => {
                for job in cluster.jobs().filter(|job| !job.is_over()) {
                    self.refresh(job.id(), cluster);
                }
            }
            _ => {}
        }
    }

    fn decide(&mut self, round: &mut Round<'_>) {
        let mut known = Known::default();
        let mut after = None;
        let mut candidates: Vec<Candidate> = Vec::new();
        let mut weight_of_work = 0.0;
        while round.cluster().open_nodes() > 0 {
            if !self.waiting.has_free_node(round.cluster(), &mut known.nodes) {
                return self.plan_owed(round.cluster());
            }
            let (taken, why) = if let Some(owed) = self.owed(round.cluster(), &mut known) {
                (owed, "its job had received less than its fair share by at least kappa of the cluster")
            } else {
                if candidates.is_empty() {
                    candidates = self.gather(&mut after, round.cluster(), &mut known);
                    weight_of_work = eta(&candidates, &known, self.parameters.srpt);
                }
                let Some(best) = best(&candidates, &known, weight_of_work) else { return };
                (best, "it had the best score: packing minus its job's remaining work")
            };
            let job = taken.0.job;
            let Some(node) = self.start(round, taken, &mut known, why) else {
                known.not_startable.insert(job);
                candidates.retain(|candidate| candidate.0.job != job);
                continue;
            };
            if round.cluster().open_nodes() > 0 {
                self.renew(&mut candidates, job, node, round.cluster(), &mut known);
            }
        }
    }
}
