//! `hopper`: speculation-aware job scheduling (Ren, Ananthanarayanan, Wierman and Yu, "Hopper: Decentralized
//! Speculation-aware Cluster Scheduling at Scale", SIGCOMM 2015), in its centralised form.
//!
//! A job's virtual size is the number of slots beyond which more bring it little, copies against stragglers
//! included: V_i(t) = (2/β) T_i(t), with T_i the tasks it has left and β the tail index of their durations. With S
//! slots and the jobs active at t,
//! - if Σ V_i > S, jobs are served in ascending order of virtual size, each up to V_i slots until none is left;
//! - otherwise each is given slots in proportion to its virtual size.
//!
//! A job may hold what it is given and no more, originals and backups together. What it has no original for stays
//! idle until the rule under which it runs starts a backup (`hopper+hadoop`, `hopper+spark`): Hopper is not work
//! conserving.
//!
//! **DAGs.** T_i counts the tasks of the phases that may run now. Jobs go in ascending order of max(V_i, V'_i), V'_i
//! the largest virtual size of a phase that still waits for others. Where there are slots for all, a job is weighted
//! by √α_i as well, α_i the work left in phases that wait over the work left in those that may run.
//!
//! **ε-fairness.** Each job gets at least (1 − ε) of its fair share S/N, or of S w_i/Σ w with weights.
//!
//! Readings:
//! - 2/β is not below 1, or a job could not run its tasks at once; β below 1 counts as 1. β is the tail index of a
//!   phase known to be Pareto, otherwise that of a Pareto with its mean and standard deviation, 1 + √(1 +
//!   (mean/sd)²), which is never below 2: without a known Pareto of α < 2, or `beta`, no slot is kept for backups.
//! - Slots are whole, so each phase's part of V_i is rounded up, and a single task may have its backup. What
//!   a job is given beyond that, and its fair share, are in effect rounded down to whole copies.
//! - On nodes with several resources a job has as many slots as copies of its demand fit into its part of the
//!   cluster: a copy is its dominant share, S is 1, and so jobs of different demands add up.
//! - α_i is about communication in the paper, which a shuffle does beside the upstream tasks; here all work is in
//!   tasks. Weighting all slots by √α_i would leave jobs with little work downstream less than their V_i while
//!   slots are free. So every job is given V_i first, and of the S − Σ V_i left a part in proportion to √α_i V_i;
//!   with equal α this is the paper's V_i S/Σ V. α_i is 1 for a job in its last phases.
//! - A job's fair share is at most V_i: what it could make no use of is not kept for it.
//! - What a job holds beyond what it is given now, from earlier, is not taken from it.
//!
//! Key: max(V_i, V'_i). What a job may hold is found from sums over the jobs before it (`allotment.rs`), so that a job
//! that changes costs no pass over all others.

mod allotment;

use hindmost_core::cluster::{Applied, Cluster, Job, Phase};
use hindmost_core::ids::{JobId, TaskId};
use hindmost_core::policy::order::{Concerned, Order, concerned};
use hindmost_core::policy::queue_place::{Place, ordered};
use hindmost_core::record::Event;
use hindmost_math::distribution::Distribution;

use allotment::{Allotment, Claim, ROUNDING};

#[cfg(test)]
mod tests;

crate::parameters! {
    /// Hopper's parameters. See the module's documentation.
    pub struct HopperParameters {
        /// tail index of durations; fitted: each phase's own
        pub beta: Option<f64> = None, word fitted, in 1.0..;
        /// what a job's slots may be short of its fair share, as a part of it
        pub epsilon: f64 = 0.1, in 0.0..=1.0;
    }
}

/// Virtual sizes and what jobs may hold. See the module's documentation.
pub struct Hopper {
    /// β for all phases; without it, each phase's own.
    beta: Option<f64>,
    allotment: Allotment,
}

/// The tail index of a phase's durations, as far as they are known.
fn tail_index(phase: &Phase) -> f64 {
    match (phase.durations(), phase.sd()) {
        (Distribution::Pareto(pareto), _) => pareto.alpha(),
        (_, Some(sd)) if sd > 0.0 => 1.0 + (phase.mean() / sd).hypot(1.0),
        (_, Some(_)) => f64::INFINITY,
        // As everywhere where the standard deviation is unknown or infinite.
        (_, None) => 2.0,
    }
}

/// All slots.
fn slots(cluster: &Cluster) -> f64 {
    if cluster.dimensions().is_one_slot() { cluster.total().0[0] as f64 / 1000.0 } else { 1.0 }
}

/// Slots that a copy takes.
fn slots_of_copy(phase: &Phase, cluster: &Cluster) -> f64 {
    if cluster.dimensions().is_one_slot() { 1.0 } else { phase.demand().dominant_share(cluster.total()) }
}

/// Slots that a job holds, and those that the smallest copy takes that it could start; infinitely many if none.
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
    /// With these parameters.
    pub fn new(parameters: HopperParameters) -> Hopper {
        Hopper { beta: parameters.beta, allotment: Allotment::new(parameters.epsilon) }
    }

    /// The virtual size of a phase in copies.
    fn virtual_size(&self, phase: &Phase) -> f64 {
        let beta = self.beta.unwrap_or_else(|| tail_index(phase)).max(1.0);
        ((2.0 / beta).max(1.0) * f64::from(phase.unfinished()) - ROUNDING).ceil()
    }

    /// A job's key, max(V_i, V'_i), and what it asks for.
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

    /// Computes a job's virtual sizes anew, or forgets the job.
    fn refresh(&mut self, id: JobId, cluster: &Cluster) {
        match cluster.job(id).filter(|job| job.finished().is_none()) {
            Some(job) => {
                let (key, claim) = self.claim(job, cluster);
                self.allotment.set(Place::by_key(ordered(key), id), claim);
            }
            None => self.allotment.remove(id),
        }
    }

    /// Counts anew what a job holds.
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

    fn observe(&mut self, event: &Event, applied: Applied, cluster: &Cluster) -> Concerned {
        match event {
            Event::JobArrived { job, .. } | Event::DurationsLearned { job, .. } => self.refresh(*job, cluster),
            Event::AttemptFinished { attempt } if applied.won => self.refresh(attempt.task.job, cluster),
            Event::AttemptFinished { attempt }
            | Event::AttemptFailed { attempt, .. }
            | Event::AttemptStopped { attempt } => self.recount(attempt.task.job, cluster),
            // Shares of the cluster have changed.
            Event::NodeLost { .. } | Event::NodeReturned { .. } | Event::NodeJoined { .. } => {
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
