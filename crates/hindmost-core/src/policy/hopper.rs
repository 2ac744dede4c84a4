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
//! Key: max(V_i, V'_i). Allocations are computed anew when virtual sizes have changed, in one pass over the active jobs.
//!
//! Parameters: `beta`, `fitted` or a number from 1, `fitted`; `epsilon`, in [0, 1], 0.1 as in the paper.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::cluster::{Applied, Cluster, Job, Phase};
use crate::distribution::Distribution;
use crate::ids::{JobId, TaskId};
use crate::record::Event;

use super::order::{Concerned, Order, concerned};

#[cfg(test)]
mod tests;

/// Slots that differ by less are the same.
const ROUNDING: f64 = 1e-9;

/// Virtual sizes and what jobs may hold. See the module's documentation.
pub struct Hopper {
    /// β for all phases; without it, each phase's own.
    beta: Option<f64>,
    epsilon: f64,
    sizes: FxHashMap<JobId, Size>,
    /// Active jobs, smallest key first, by the bits of their (not negative) keys.
    sorted: BTreeSet<(u64, JobId)>,
    /// False if what jobs may hold must be computed anew.
    allocated: bool,
}

/// Of an active job, in slots, or in shares of the cluster where nodes have several resources.
#[derive(Clone, Copy, Debug)]
struct Size {
    /// V_i.
    wanted: f64,
    /// max(V_i, V'_i).
    key: f64,
    /// The largest of its copies that may start now.
    copy: f64,
    /// √α_i.
    downstream: f64,
    weight: f64,
    /// What it may hold.
    given: f64,
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

/// Slots that a job holds.
fn held(job: &Job, cluster: &Cluster) -> f64 {
    job.phases().iter().map(|phase| f64::from(phase.alive()) * slots_of_copy(phase, cluster)).sum()
}

impl Hopper {
    /// With one β for all phases or each phase's own, and ε.
    pub fn new(beta: Option<f64>, epsilon: f64) -> Hopper {
        Hopper { beta, epsilon, sizes: FxHashMap::default(), sorted: BTreeSet::new(), allocated: true }
    }

    /// The virtual size of a phase in copies.
    fn virtual_size(&self, phase: &Phase) -> f64 {
        let beta = self.beta.unwrap_or_else(|| tail_index(phase)).max(1.0);
        ((2.0 / beta).max(1.0) * f64::from(phase.unfinished()) - ROUNDING).ceil()
    }

    fn size_of(&self, job: &Job, cluster: &Cluster) -> Size {
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
        let weight = job.spec().weight;
        Size { wanted, key: wanted.max(later), copy, downstream: alpha.sqrt(), weight, given: 0.0 }
    }

    /// Computes a job's size anew, or forgets the job.
    fn refresh(&mut self, id: JobId, cluster: &Cluster) {
        self.allocated = false;
        if let Some(before) = self.sizes.remove(&id) {
            self.sorted.remove(&(before.key.to_bits(), id));
        }
        if let Some(job) = cluster.job(id).filter(|job| job.finished().is_none()) {
            let size = self.size_of(job, cluster);
            self.sorted.insert((size.key.to_bits(), id));
            self.sizes.insert(id, size);
        }
    }

    /// Gives the slots to the active jobs.
    fn allocate(&mut self, cluster: &Cluster) {
        self.allocated = true;
        let slots = slots(cluster);
        // In this order, so that sums come out the same in every run.
        let (mut wanted, mut shared, mut weights) = (0.0, 0.0, 0.0);
        for (_, id) in &self.sorted {
            let Some(size) = self.sizes.get(id) else { continue };
            wanted += size.wanted;
            shared += size.downstream * size.wanted;
            weights += size.weight;
        }
        let mut left = slots - wanted;
        if left >= -ROUNDING {
            let left = left.max(0.0);
            for (_, id) in &self.sorted {
                let Some(size) = self.sizes.get_mut(id) else { continue };
                let part = if shared > 0.0 { size.downstream * size.wanted / shared } else { 0.0 };
                size.given = size.wanted + left * part;
            }
            return;
        }
        left = slots;
        for (_, id) in &self.sorted {
            let Some(size) = self.sizes.get_mut(id) else { continue };
            let fair = (1.0 - self.epsilon) * slots * size.weight / weights;
            let whole = if size.copy > 0.0 { (fair / size.copy + ROUNDING).floor() * size.copy } else { fair };
            size.given = whole.min(size.wanted);
            left -= size.given;
        }
        for (_, id) in &self.sorted {
            let Some(size) = self.sizes.get_mut(id) else { continue };
            let more = (size.wanted - size.given).min(left).max(0.0);
            size.given += more;
            left -= more;
        }
    }
}

impl Order for Hopper {
    fn key(&self, job: &Job, cluster: &Cluster) -> f64 {
        self.size_of(job, cluster).key
    }

    fn follows_ends(&self) -> bool {
        true
    }

    fn permits(&mut self, task: TaskId, cluster: &Cluster) -> bool {
        if !self.allocated {
            self.allocate(cluster);
        }
        let Some((job, phase)) = cluster.job(task.job).zip(cluster.phase(task)) else { return false };
        let Some(size) = self.sizes.get(&task.job) else { return false };
        held(job, cluster) + slots_of_copy(phase, cluster) <= size.given + ROUNDING
    }

    fn observe(&mut self, event: &Event, applied: Applied, cluster: &Cluster) -> Concerned {
        match event {
            Event::JobArrived { job, .. } | Event::DurationsLearned { job, .. } => self.refresh(*job, cluster),
            Event::AttemptFinished { attempt } if applied.won => self.refresh(attempt.task.job, cluster),
            // Shares of the cluster have changed.
            Event::NodeLost { .. } | Event::NodeReturned { .. } | Event::NodeJoined { .. } => {
                for job in cluster.jobs() {
                    self.refresh(job.id(), cluster);
                }
                self.allocated = false;
            }
            _ => {}
        }
        concerned(event, applied, true)
    }
}
