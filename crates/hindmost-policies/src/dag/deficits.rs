//! What each job is owed under `graphene`.

use std::collections::BTreeSet;
use std::ops::Bound::{Excluded, Unbounded};

use rustc_hash::FxHashMap;

use hindmost_core::cluster::Cluster;
use hindmost_core::ids::JobId;

/// What each job is owed, kept as start tags of fair queueing: the level rises with what is handed out, by
/// d / Σ weights; a job's tag with what it gets, by d / weight; its deficit is weight · (level − tag). With
/// equal weights the smallest tag is the largest deficit.
#[derive(Debug, Default)]
pub(crate) struct Deficits {
    level: f64,
    /// Weights of jobs with something to start.
    weights: f64,
    /// The largest weight of all jobs so far.
    heaviest: f64,
    jobs: FxHashMap<JobId, Account>,
    /// Jobs with something to start, by tag.
    waiting: BTreeSet<Tagged>,
    /// Those of which no turns have been made.
    unplanned: BTreeSet<Tagged>,
}

/// A job's tag as bits that sort as numbers do, for tags are never negative; and the job.
pub(crate) type Tagged = (u64, JobId);

#[derive(Debug)]
struct Account {
    weight: f64,
    /// While the job has something to start.
    tag: f64,
    /// While it has not: level − tag.
    kept: f64,
    waits: bool,
    is_planned: bool,
}

impl Deficits {
    /// A job has arrived.
    pub fn join(&mut self, job: JobId, weight: f64) {
        let weight = weight.max(f64::MIN_POSITIVE);
        let account = Account { weight, tag: self.level, kept: 0.0, waits: false, is_planned: false };
        self.heaviest = self.heaviest.max(account.weight);
        self.jobs.insert(job, account);
    }

    /// Takes note of whether a job has something to start.
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
        // Sums of weights must not drift.
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

    /// A job's turns have been made.
    pub fn planned(&mut self, job: JobId) {
        if let Some(account) = self.jobs.get_mut(&job) {
            account.is_planned = true;
            self.unplanned.remove(&(account.tag.to_bits(), job));
        }
    }

    /// A job has ended.
    pub fn leave(&mut self, job: JobId) {
        self.set_waiting(job, false);
        self.jobs.remove(&job);
    }

    /// A job gets a share of the cluster, of which each job with something to start earns its part.
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

    /// The job with the smallest tag, or the next after one; its deficit; and what no further job's exceeds.
    pub fn next(&self, after: Option<Tagged>) -> Option<(Tagged, f64, f64)> {
        self.next_of(&self.waiting, after)
    }

    /// As [`Deficits::next`], of the jobs of which no turns have been made.
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
    fn what_one_gets_the_others_earn() {
        let mut deficits = Deficits::default();
        for (job, weight) in [(0, 1.0), (1, 1.0), (2, 2.0)] {
            deficits.join(JobId(job), weight);
            deficits.set_waiting(JobId(job), true);
        }
        // Of a share of 0.4 the jobs earn 0.1, 0.1 and 0.2.
        deficits.pay(JobId(0), 0.4);
        let all = [deficit(&deficits, 0), deficit(&deficits, 1), deficit(&deficits, 2)];
        for (found, expected) in all.into_iter().zip([-0.3, 0.1, 0.2]) {
            assert!((found - expected).abs() < 1e-12, "{all:?}");
        }
        // Who has nothing to start earns nothing, and keeps what it has.
        deficits.set_waiting(JobId(1), false);
        deficits.pay(JobId(2), 0.3);
        deficits.set_waiting(JobId(1), true);
        let all = [deficit(&deficits, 0), deficit(&deficits, 1), deficit(&deficits, 2)];
        for (found, expected) in all.into_iter().zip([-0.2, 0.1, 0.1]) {
            assert!((found - expected).abs() < 1e-12, "{all:?}");
        }
        // For its weight, job 1 is owed more than job 2.
        assert_eq!(deficits.next(None).unwrap().0.1, JobId(1));
        deficits.leave(JobId(1));
        assert_eq!(deficits.next(None).unwrap().0.1, JobId(2));
    }
}
