//! `graphene`: packing and dependency-aware scheduling (Grandl, Kandula, Rao, Akella & Kulkarni, "Graphene:
//! Packing and Dependency-aware Scheduling for Data-Parallel Clusters", OSDI 2016).
//!
//! **Offline**, once for each job: a schedule of its phases alone on the cluster, in which those that run long
//! or pack badly are placed first (`offline_schedule.rs`). The begins of its tasks there are the order in which the
//! job is served, in turns of its phases (`task_order.rs`). A phase's rank is its place by its first task's begin.
//!
//! **Online**, for each task that is started: every job offers a task of the first phase in turn for which there
//! is room. The offer with the best score is taken,
//!
//! ```text
//! score    = priority · alignment - eta · work
//! priority = 1 - rank / phases                    alignment = inner product of demand and free room
//! work     = Σ over the job's phases of tasks not finished · effective time · dominant share   (SRPT)
//! eta      = srpt · mean of priority · alignment / mean of work
//! ```
//!
//! unless somebody is treated too unfairly. Each job has a deficit: of every task of dominant share d that is
//! started, each job with something to start earns its fair share d · weight / Σ weights, and the one whose
//! task it is pays d. While the largest deficit is at least kappa of the cluster, only that job is served.
//!
//! Readings where the paper is silent, or where this is another world: turns come before packing within a job;
//! priorities are those of phases, where the paper has one for each task; a job earns only while it has something
//! to start, and keeps what it has earned; where weights differ, the largest deficit means the largest for the
//! weight; a job that is owed, but of which nothing fits now, does not keep others from the room (the paper's
//! machine would stand idle); means are over the offers at hand, and η is computed when they are gathered; of more
//! than 256 jobs with offers those with the least work are compared; an offer stands with the node that the
//! cluster's placement gives it, as near to the task's input as there is room, and without the paper's penalty for
//! remote reads (0.8); copies are paid for like originals. Schedules are made with effective times (mean and 1.5
//! standard deviations), and not again when durations are learned.
//!
//! With the small default of `srpt` packing decides among jobs: the makespan of a batch is short, but where far
//! more is offered than the cluster can do, flowtimes are long. A weight of 5 makes them about as short as
//! under `svf`.

use rustc_hash::{FxHashMap, FxHashSet};

use hindmost_core::cluster::{Cluster, Job};
use hindmost_core::ids::{JobId, NodeId, TaskId};
use hindmost_core::record::{Decision, Event};

use crate::dag::deficits::Deficits;
use crate::dag::packing::{Fitter, Offer};
use crate::dag::waiting_jobs::{Head, Place, Rooms, WaitingJobs};
use hindmost_core::policy::queue_place::Which;
use hindmost_core::policy::{Pass, Round, Seen, View};

/// Most jobs whose offers are compared.
const COMPARED: usize = 256;

crate::parameters! {
    /// Graphene's parameters. See the module's documentation.
    pub struct GrapheneParameters {
        /// share of the cluster that a job may be owed before it is served first
        pub kappa: f64 = 0.1, in 0.0..;
        /// weight of the work that a job has left, against packing
        pub srpt: f64 = 0.2, in 0.0..;
    }
}

/// The pass that starts pending tasks as Graphene does. See the module's documentation.
pub struct TroublesomeFirst {
    which: Which,
    parameters: GrapheneParameters,
    waiting: WaitingJobs,
    deficits: Deficits,
    /// Starts of this pass's own that it has not been told of yet.
    own: usize,
}

/// What a job offers to start. Where it stands is the same for all that demand as much, or in [`Known::own`].
type Candidate = (Place, Head);

/// What is known for a round, in which room only shrinks.
#[derive(Default)]
struct Known {
    fitter: Fitter,
    rooms: Rooms,
    /// Offers whose node is not that of all that demand as much.
    own: FxHashMap<JobId, Offer>,
    /// Jobs that are owed and found no room.
    in_vain: FxHashSet<JobId>,
}

impl Known {
    fn alignment(&self, (place, head): &Candidate) -> f64 {
        if head.is_simple {
            return self.rooms.alignment(head.group);
        }
        self.own.get(&place.job).map_or(0.0, |own| own.alignment)
    }
}

impl TroublesomeFirst {
    /// Of all jobs, of those that have been started, or of new ones.
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

    /// Of a job's phases with a task to start the first in turn that fits.
    fn offer(&mut self, place: Place, cluster: &Cluster, known: &mut Known) -> Option<Candidate> {
        self.plan(cluster.job(place.job)?, cluster);
        let fits = |head: &&Head| {
            if head.is_simple {
                return self.waiting.room(head.group, cluster, &mut known.rooms).is_some();
            }
            let offer = known.fitter.offer(cluster, place.job, head.phase);
            offer.map(|offer| known.own.insert(place.job, offer)).is_some()
        };
        self.waiting.heads(place.job).iter().find(fits).map(|head| (place, *head))
    }

    /// The offer of the job that is owed the most, if anyone is owed as much as κ and fits.
    fn owed(&mut self, cluster: &Cluster, known: &mut Known) -> Option<Candidate> {
        let mut passed = None;
        while let Some((place, deficit, most)) = self.deficits.next(passed) {
            if most < self.parameters.kappa || most <= 0.0 {
                return None;
            }
            passed = Some(place);
            let is_meant = cluster.job(place.1).is_some_and(|job| self.is_meant(job));
            if !is_meant || deficit < self.parameters.kappa || known.in_vain.contains(&place.1) {
                continue;
            }
            let offer = self.offer(Place::of(place.1), cluster, known);
            if offer.is_some() {
                return offer;
            }
            known.in_vain.insert(place.1);
        }
        None
    }

    /// Makes the turns of jobs that are owed as much as κ.
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

    /// Gathers the offers of the next jobs after a place, those with the least work first.
    fn gather(&mut self, after: &mut Option<Place>, cluster: &Cluster, known: &mut Known) -> Vec<Candidate> {
        let mut candidates = Vec::new();
        while candidates.len() < COMPARED {
            let first = candidates.len();
            self.waiting.next(self.which, *after, COMPARED, cluster, &mut known.rooms, &mut candidates);
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

    /// Starts what is offered, and tells on which node; nothing if that is refused.
    fn start(&mut self, round: &mut Round<'_>, taken: Candidate, known: &mut Known, why: &str) -> Option<NodeId> {
        let (cluster, (Place { job, .. }, head)) = (round.cluster(), taken);
        let (task, node) = if head.is_simple {
            let task = cluster.job(job)?.next_runnable(|at| at == head.phase, |_| true)?;
            (task, self.waiting.room(head.group, cluster, &mut known.rooms)?.0)
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

    /// Makes offers anew that a start has taken: those of its job, and those for its node.
    fn renew(
        &mut self,
        candidates: &mut Vec<Candidate>,
        job: JobId,
        node: NodeId,
        cluster: &Cluster,
        known: &mut Known,
    ) {
        known.rooms.taken(node);
        candidates.retain_mut(|candidate| {
            let (place, head) = *candidate;
            let stands = if head.is_simple {
                self.waiting.room(head.group, cluster, &mut known.rooms).is_some()
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

/// η: how much of the packing score a second of work is worth, so that on the average of these offers the
/// two terms are as 1 to `srpt`.
fn eta(candidates: &[Candidate], known: &Known, srpt: f64) -> f64 {
    let (mut packing, mut work) = (0.0, 0.0);
    for candidate in candidates {
        packing += candidate.1.priority * known.alignment(candidate);
        work += candidate.0.work();
    }
    if work > 0.0 { srpt * packing / work } else { 0.0 }
}

/// The candidate with the best score, the first of those.
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
            Seen::Event(Event::JobArrived { job, spec }, _) => {
                self.deficits.join(*job, spec.weight);
                self.refresh(*job, cluster);
            }
            Seen::Event(Event::DurationsLearned { job, .. }, _) => self.refresh(*job, cluster),
            Seen::Event(
                Event::AttemptFinished { attempt }
                | Event::AttemptFailed { attempt, .. }
                | Event::AttemptStopped { attempt },
                applied,
            ) => {
                let job = attempt.task.job;
                if applied.job_finished {
                    self.waiting.leave(job);
                    self.deficits.leave(job);
                } else {
                    self.refresh(job, cluster);
                }
            }
            Seen::Event(Event::NodeLost { .. } | Event::NodeJoined { .. } | Event::NodeReturned { .. }, _) => {
                for job in cluster.jobs() {
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
            if !self.waiting.has_room(round.cluster(), &mut known.rooms) {
                return self.plan_owed(round.cluster());
            }
            let (taken, why) = if let Some(owed) = self.owed(round.cluster(), &mut known) {
                (owed, "its job was owed more of the cluster than unfairness is bounded by")
            } else {
                if candidates.is_empty() {
                    candidates = self.gather(&mut after, round.cluster(), &mut known);
                    weight_of_work = eta(&candidates, &known, self.parameters.srpt);
                }
                let Some(best) = best(&candidates, &known, weight_of_work) else { return };
                (best, "it packed best for the little work that its job has left")
            };
            let job = taken.0.job;
            let Some(node) = self.start(round, taken, &mut known, why) else {
                known.in_vain.insert(job);
                candidates.retain(|candidate| candidate.0.job != job);
                continue;
            };
            if round.cluster().open_nodes() > 0 {
                self.renew(&mut candidates, job, node, round.cluster(), &mut known);
            }
        }
    }
}
