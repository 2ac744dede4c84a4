//! `hopper` allots slots to jobs in advance, including slots for the backups that they will probably need. It serves
//! the job with the smallest virtual size first.
//!
//! Paper: Ren, Ananthanarayanan, Wierman and Yu, "Hopper: Decentralized Speculation-aware Cluster Scheduling at Scale",
//! SIGCOMM 2015, in its centralised form.
//!
//! Algorithm: a job's virtual size is the number of slots, including those for backups, beyond which more slots help it
//! little: V_i(t) = (2/β) T_i(t), where T_i is the number of its unfinished tasks and β is the tail index of their
//! durations. Let S be the number of slots, which the jobs active at time t share:
//! - If Σ V_i > S, jobs get slots in ascending order of virtual size, each up to V_i slots, until no slot is left.
//! - Otherwise each job gets slots in proportion to its virtual size.
//!
//! The originals and backups of a job together hold at most its allotment, in whole copies. Allotted slots without an
//! original to run stay idle until a speculation policy starts a backup (`hopper+hadoop`, `hopper+spark`). So Hopper is
//! not work-conserving.
//!
//! **DAGs.** T_i counts the tasks of the phases that may run now. Jobs are served in ascending order of max(V_i, V'_i),
//! where V'_i is the largest virtual size of a phase that still waits for others. If there are slots for all jobs, a
//! job also has the weight √α_i, where α_i is the work left in waiting phases divided by the work left in phases that
//! may run.
//!
//! **ε-fairness.** Each job gets at least (1 − ε) of its fair share: S/N, or S·w_i/Σ w with weights.
//!
//! Key: max(V_i, V'_i). Allotments are computed from sums over blocks of jobs (`allotment.rs`), so a change of one job
//! needs no pass over all others.
//!
//! **Whole slots.** Virtual sizes are rarely whole numbers: with β = 1.6, a job with one task left has one of 1.25.
//! Allotments are computed without rounding. A job that is given its whole virtual size may start a copy while it holds
//! less than that. A job that is given less is the last one that gets slots; its allotment is rounded to the nearest
//! whole copy. So the jobs before it keep as many slots for backups as their virtual sizes exceed their tasks, summed
//! and then rounded, and any of them may use these slots. As β approaches 2, this reserve shrinks to nothing: 20 jobs
//! with one task each keep 5 slots at β = 1.6, 1 at β = 1.9 and none at β = 1.96. If each job rounded its own virtual
//! size up, they would keep 20 slots at any β below 2.
//!
//! Readings:
//! - 2/β counts as at least 1; otherwise a job could not run all of its tasks at the same time. A β below 1 counts as
//!   1.
//! - β is the tail index of a phase that is known to be Pareto. For other phases it is the tail index of a Pareto with
//!   the same mean and standard deviation: 1 + √(1 + (mean/sd)²). This is never below 2. So slots are kept for backups
//!   only with a known Pareto of α < 2, or with the parameter `beta`.
//! - Slots that a job gets beyond V_i, and its fair share, are rounded down to whole copies.
//! - A single small job can keep a slot for its last task's backup only if 2/β is at least 1.5, because half a slot is
//!   the least that is rounded to a whole one.
//! - On nodes with several resources a copy counts as its dominant share, and S is 1. So the demands of different jobs
//!   can be added.
//! - In the paper α_i measures communication: a shuffle runs at the same time as the upstream tasks. Here all work is
//!   in tasks. If √α_i weighted all slots, jobs with little downstream work would get less than V_i while slots are
//!   free. So every job gets V_i first, and the remaining S − Σ V_i slots are shared in proportion to √α_i V_i. With
//!   equal α this is the paper's V_i S/Σ V. For a job in its last phases α_i is 1.
//! - A job's fair share is at most V_i, because it cannot use more.
//! - If a job holds more than its present allotment, nothing is taken from it.
//!
//! The differences from the source, and what this was written from, are in the catalogue (`catalogue/sources/`).

mod allotment;

use hindmost_core::cluster::{Applied, Cluster, Job, Phase};
use hindmost_core::ids::{JobId, TaskId};
use hindmost_core::policy::order::{Concerned, Order, concerned};
use hindmost_core::policy::queue_place::{Place, ordered};
use hindmost_core::record::Event;
use hindmost_math::distribution::Distribution;

use allotment::{Allotment, Claim};

#[cfg(test)]
mod tests;

crate::parameters! {
    /// The parameters of `hopper`.
    pub struct HopperParameters {
        /// tail index of task durations; fitted: the index of each phase's own durations
        pub beta: Option<f64> = None, word fitted, in 1.0..;
        /// part of its fair share that a job may lack
        pub epsilon: f64 = 0.1, in 0.0..=1.0;
    }
}

/// The order of jobs by virtual size. It also limits each job to its allotment.
pub struct Hopper {
    /// β for all phases. `None`: each phase has the β of its own durations.
    beta: Option<f64>,
    allotment: Allotment,
}

/// Returns the tail index β of a phase's durations: that of a known Pareto distribution, otherwise that of a Pareto
/// with the same mean and standard deviation.
fn tail_index(phase: &Phase) -> f64 {
    match (phase.durations(), phase.sd()) {
        (Distribution::Pareto(pareto), _) => pareto.alpha(),
        (_, Some(sd)) if sd > 0.0 => 1.0 + (phase.mean() / sd).hypot(1.0),
        (_, Some(_)) => f64::INFINITY,
        // The standard deviation is unknown or infinite: a tail index of 2 keeps no slots for backups.
        (_, None) => 2.0,
    }
}

/// Returns S: the number of all slots, or 1 on nodes with several resources.
fn slots(cluster: &Cluster) -> f64 {
    if cluster.dimensions().is_one_slot() { cluster.total().0[0] as f64 / 1000.0 } else { 1.0 }
}

/// Returns the slots that a copy takes: 1, or its dominant share on nodes with several resources.
fn slots_of_copy(phase: &Phase, cluster: &Cluster) -> f64 {
    if cluster.dimensions().is_one_slot() { 1.0 } else { phase.demand().dominant_share(cluster.total()) }
}

/// Returns the slots that a job holds, and the slots of the smallest copy that it could start (infinity if there is
/// none).
fn held(job: &Job, cluster: &Cluster) -> (f64, f64) {
    let (mut held, mut next) = (0.0, f64::INFINITY);
    for phase in job.phases().iter().filter(|phase| phase.running_copies() > 0 || phase.pending() > 0) {
        let of_copy = slots_of_copy(phase, cluster);
        held += f64::from(phase.running_copies()) * of_copy;
        if phase.is_open() && phase.pending() > 0 {
            next = next.min(of_copy);
        }
    }
    (held, next)
}

impl Hopper {
    /// Creates the order with these parameters.
    pub fn new(parameters: HopperParameters) -> Hopper {
        Hopper { beta: parameters.beta, allotment: Allotment::new(parameters.epsilon) }
    }

    /// Returns the virtual size of a phase in copies.
    fn virtual_size(&self, phase: &Phase) -> f64 {
        let beta = self.beta.unwrap_or_else(|| tail_index(phase)).max(1.0);
        (2.0 / beta).max(1.0) * f64::from(phase.unfinished())
    }

    /// Returns a job's key, max(V_i, V'_i), and its claim on slots.
    fn claim(&self, job: &Job, cluster: &Cluster) -> (f64, Claim) {
        let (mut wanted, mut later, mut copy) = (0.0, 0.0f64, 0.0f64);
        let (mut work_now, mut work_later) = (0.0, 0.0);
        for phase in job.phases().iter().filter(|phase| !phase.is_finished()) {
            let of_copy = slots_of_copy(phase, cluster);
            let size = self.virtual_size(phase) * of_copy;
            let work = f64::from(phase.unfinished()) * phase.mean() * of_copy;
            if phase.is_open() {
                wanted += size;
                work_now += work;
                copy = copy.max(of_copy);
            } else {
                later = later.max(size);
                work_later += work;
            }
        }
        let alpha = if work_later > 0.0 && work_now > 0.0 { work_later / work_now } else { 1.0 };
        let (held, next) = held(job, cluster);
        let claim = Claim { wanted, copy, downstream: alpha.sqrt(), weight: job.spec().weight, held, next };
        (wanted.max(later), claim)
    }

    /// Recomputes a job's virtual sizes. Removes the job if it has finished or was abandoned.
    fn refresh(&mut self, id: JobId, cluster: &Cluster) {
        match cluster.job(id).filter(|job| !job.is_over()) {
            Some(job) => {
                let (key, claim) = self.claim(job, cluster);
                self.allotment.set(Place::by_key(ordered(key), id), claim);
            }
            None => self.allotment.remove(id),
        }
    }

    /// Updates the slots that a job holds.
    fn recount(&mut self, id: JobId, cluster: &Cluster) {
        if let Some(job) = cluster.job(id) {
            let (held, next) = held(job, cluster);
            self.allotment.set_held(id, held, next);
        }
    }
}

impl Order for Hopper {
    fn key(&self, job: &Job, cluster: &Cluster) -> f64 {
        self.claim(job, cluster).0
    }

    fn follows_ends(&self) -> bool {
        true
    }

    fn permits(&mut self, task: TaskId, cluster: &Cluster) -> bool {
        let Some(phase) = cluster.phase(task) else { return false };
        self.allotment.permits(task.job, slots_of_copy(phase, cluster))
    }

    fn slack(&self) -> f64 {
        self.allotment.slack()
    }

    fn slack_needed(&self, task: TaskId, cluster: &Cluster) -> f64 {
        let slots = cluster.phase(task).map_or(0.0, |phase| slots_of_copy(phase, cluster));
        self.allotment.slack_needed(task.job, slots)
    }

    fn blocked_until(&self, place: Place) -> Option<Place> {
        self.allotment.blocked_until(place)
    }

    fn started(&mut self, task: TaskId, cluster: &Cluster) {
        self.recount(task.job, cluster);
    }

    fn abandoned(&mut self, job: JobId, cluster: &Cluster) -> Concerned {
        self.refresh(job, cluster);
        self.allotment.share_out(slots(cluster));
        Concerned::ItsJob
    }

    fn observe(&mut self, event: &Event, applied: Applied, cluster: &Cluster) -> Concerned {
        match event {
            Event::JobArrived { job, .. } | Event::DurationsLearned { job, .. } => self.refresh(*job, cluster),
            Event::AttemptFinished { attempt } if applied.won => self.refresh(attempt.task.job, cluster),
            Event::TaskWithheld { task, .. } | Event::TaskReturned { task } | Event::TaskGivenUp { task } => {
                self.refresh(task.job, cluster);
            }
            Event::AttemptFinished { attempt }
            | Event::AttemptFailed { attempt, .. }
            | Event::AttemptStopped { attempt } => self.recount(attempt.task.job, cluster),
            // A copy's share of the cluster has changed, so all claims have changed.
            Event::NodeLost { .. }
            | Event::NodeLeaving { .. }
            | Event::NodeReturned { .. }
            | Event::NodeJoined { .. } => {
                for job in cluster.jobs() {
                    self.refresh(job.id(), cluster);
                }
            }
            _ => return Concerned::Nobody,
        }
        self.allotment.share_out(slots(cluster));
        concerned(event, applied, true)
    }
}
