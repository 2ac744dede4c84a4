//! Keeps the deficit of each job under `graphene`: its fair share of all started tasks minus the resources that it has
//! received.

use std::collections::BTreeSet;
use std::ops::Bound::{Excluded, Unbounded};

use rustc_hash::FxHashMap;

use hindmost_core::cluster::Cluster;
use hindmost_core::ids::JobId;

/// The deficits of all jobs, stored as start tags of fair queueing.
///
/// Each started task of dominant share d raises the level by d / Σ weights, and the tag of its job by d / weight. A
/// job's deficit is weight · (level − tag). With equal weights, the smallest tag is the largest deficit.
#[derive(Debug, Default)]
pub(crate) struct Deficits {
    /// The sum of d / Σ weights over all started tasks.
    level: f64,
    /// The sum of the weights of jobs with a pending task.
    weights: f64,
    /// The largest weight of all jobs so far.
    heaviest: f64,
    jobs: FxHashMap<JobId, Account>,
    /// Jobs with a pending task, by tag.
    waiting: BTreeSet<Tagged>,
    /// The jobs in `waiting` that have no offline schedule.
    unplanned: BTreeSet<Tagged>,
}

/// A job's tag as bits, and the job. The bits sort as the tags do, because tags are never negative.
pub(crate) type Tagged = (u64, JobId);

#[derive(Debug)]
struct Account {
    weight: f64,
    /// The tag; valid while the job has a pending task.
    tag: f64,
    /// level − tag; valid while the job has no pending task.
    kept: f64,
    waits: bool,
    is_planned: bool,
}

impl Deficits {
    /// Adds a job that has arrived.
    pub fn join(&mut self, job: JobId, weight: f64) {
        let weight = weight.max(f64::MIN_POSITIVE);
        let account = Account { weight, tag: self.level, kept: 0.0, waits: false, is_planned: false };
        self.heaviest = self.heaviest.max(account.weight);
        self.jobs.insert(job, account);
    }

    /// Notes whether a job has a pending task.
    pub fn refresh(&mut self, job: JobId, cluster: &Cluster) {
        let waits = cluster.job(job).is_some_and(|job| job.runnable() > 0);
        self.set_waiting(job, waits);
    }

    fn set_waiting(&mut self, job: JobId, waits: bool) {
        let Some(account) = self.jobs.get_mut(&job).filter(|account| account.waits != waits) else { return };
        account.waits = waits;
        if waits {
            account.tag = (self.level - account.kept).max(0.0);
            self.weights += account.weight;
            return self.insert(job);
        }
        account.kept = self.level - account.tag;
        let tagged = (account.tag.to_bits(), job);
        self.waiting.remove(&tagged);
        self.unplanned.remove(&tagged);
        // Reset the sum whenever it should be zero, so that rounding errors do not add up.
        self.weights = if self.waiting.is_empty() { 0.0 } else { self.weights - account.weight };
    }

    fn insert(&mut self, job: JobId) {
        let Some(account) = self.jobs.get(&job) else { return };
        let tagged = (account.tag.to_bits(), job);
        self.waiting.insert(tagged);
        if !account.is_planned {
            self.unplanned.insert(tagged);
        }
    }

    /// Notes that a job has its offline schedule.
    pub fn planned(&mut self, job: JobId) {
        if let Some(account) = self.jobs.get_mut(&job) {
            account.is_planned = true;
            self.unplanned.remove(&(account.tag.to_bits(), job));
        }
    }

    /// Removes a job that has ended.
    pub fn leave(&mut self, job: JobId) {
        self.set_waiting(job, false);
        self.jobs.remove(&job);
    }

    /// Subtracts a share of the cluster that a job has received from its deficit, and adds to the deficit of each job
    /// with a pending task its fair part of that share.
    pub fn pay(&mut self, job: JobId, share: f64) {
        if self.weights > 0.0 && !self.waiting.is_empty() {
            self.level += share / self.weights;
        }
        let Some(account) = self.jobs.get_mut(&job) else { return };
        if !account.waits {
            account.kept -= share / account.weight;
            return;
        }
        let before = (account.tag.to_bits(), job);
        account.tag += share / account.weight;
        self.waiting.remove(&before);
        self.unplanned.remove(&before);
        self.insert(job);
    }

    /// Returns the first job after `after`, in ascending order of tags; its deficit; and an upper bound of the deficits
    /// of this job and all jobs after it.
    pub fn next(&self, after: Option<Tagged>) -> Option<(Tagged, f64, f64)> {
        self.next_of(&self.waiting, after)
    }

    /// Returns the same as [`Deficits::next`], but among jobs without an offline schedule.
    pub fn next_unplanned(&self, after: Option<Tagged>) -> Option<(Tagged, f64, f64)> {
        self.next_of(&self.unplanned, after)
    }

    fn next_of(&self, jobs: &BTreeSet<Tagged>, after: Option<Tagged>) -> Option<(Tagged, f64, f64)> {
        let next = *jobs.range((after.map_or(Unbounded, Excluded), Unbounded)).next()?;
        let account = self.jobs.get(&next.1)?;
        let ahead = self.level - account.tag;
        Some((next, account.weight * ahead, self.heaviest * ahead))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deficit(deficits: &Deficits, job: u32) -> f64 {
        let account = &deficits.jobs[&JobId(job)];
        account.weight * if account.waits { deficits.level - account.tag } else { account.kept }
    }

    #[test]
    fn resources_for_one_job_raise_the_deficits_of_others() {
        let mut deficits = Deficits::default();
        for (job, weight) in [(0, 1.0), (1, 1.0), (2, 2.0)] {
            deficits.join(JobId(job), weight);
            deficits.set_waiting(JobId(job), true);
        }
        // Job 0 receives a share of 0.4, of which the jobs earn 0.1, 0.1 and 0.2.
        deficits.pay(JobId(0), 0.4);
        let all = [deficit(&deficits, 0), deficit(&deficits, 1), deficit(&deficits, 2)];
        for (found, expected) in all.into_iter().zip([-0.3, 0.1, 0.2]) {
            assert!((found - expected).abs() < 1e-12, "{all:?}");
        }
        // A job without a pending task earns nothing and keeps its deficit.
        deficits.set_waiting(JobId(1), false);
        deficits.pay(JobId(2), 0.3);
        deficits.set_waiting(JobId(1), true);
        let all = [deficit(&deficits, 0), deficit(&deficits, 1), deficit(&deficits, 2)];
        for (found, expected) in all.into_iter().zip([-0.2, 0.1, 0.1]) {
            assert!((found - expected).abs() < 1e-12, "{all:?}");
        }
        // Relative to its weight, the deficit of job 1 is larger than that of job 2.
        assert_eq!(deficits.next(None).unwrap().0.1, JobId(1));
        deficits.leave(JobId(1));
        assert_eq!(deficits.next(None).unwrap().0.1, JobId(2));
    }
}
