//! When `hadoop` scans each job, and the attempts that a scan compares.

use std::collections::{BTreeMap, BTreeSet};

use hindmost_core::cluster::{Attempt, Job};
use hindmost_core::ids::{AttemptId, JobId};
use hindmost_core::time::Time;
use rustc_hash::FxHashMap;

use super::PhaseId;

/// The durations of a phase's finished tasks, in seconds (`DataStatistics`).
#[derive(Debug, Default)]
pub(super) struct Finished {
    count: f64,
    sum: f64,
    squares: f64,
}

impl Finished {
    pub(super) fn add(&mut self, duration: f64) {
        self.count += 1.0;
        self.sum += duration;
        self.squares += duration * duration;
    }

    pub(super) fn mean(&self) -> f64 {
        self.sum / self.count
    }

    /// Returns the estimate of `SimpleExponentialTaskRuntimeEstimator` for a new attempt, in seconds. As in Hadoop, it is
    /// 0 for a single finished task.
    pub(super) fn upper_estimate(&self) -> f64 {
        if self.count <= 1.0 {
            return 0.0;
        }
        let mean = self.mean();
        let sd = (self.squares / self.count - mean * mean).max(0.0).sqrt();
        let upper = mean + 1.96 * sd / self.count.sqrt();
        upper + (0.25 * upper).min(sd / 2.0)
    }
}

/// The attempts of a phase that are the only copies of their tasks.
#[derive(Debug, Default)]
pub(super) struct PhaseScan {
    /// The attempts whose finish is known, sorted by it; of those with the same finish, the smallest id is last.
    by_finish: BTreeSet<(Time, std::cmp::Reverse<AttemptId>)>,
    /// The other attempts.
    unknown: BTreeSet<AttemptId>,
    /// The known finish of each attempt; `None` if it is unknown.
    finishes: FxHashMap<AttemptId, Option<Time>>,
}

impl PhaseScan {
    /// Adds an attempt or updates its finish.
    pub(super) fn put(&mut self, attempt: &Attempt) {
        let (id, finish) = (attempt.id(), attempt.expected_finish());
        self.remove(id);
        self.finishes.insert(id, finish);
        match finish {
            Some(finish) => self.by_finish.insert((finish, std::cmp::Reverse(id))),
            None => self.unknown.insert(id),
        };
    }

    pub(super) fn remove(&mut self, id: AttemptId) {
        match self.finishes.remove(&id) {
            Some(Some(finish)) => self.by_finish.remove(&(finish, std::cmp::Reverse(id))),
            Some(None) => self.unknown.remove(&id),
            None => false,
        };
    }
}

/// The scans of one job.
#[derive(Debug)]
struct JobScan {
    /// The earliest time of the next scan; later ones follow at intervals of [`Scans::interval`].
    next: Time,
    /// The time of the planned scan; `None` if no scan can find anything before another event.
    planned: Option<Time>,
    phases: BTreeMap<u32, PhaseScan>,
}

/// The scans of all jobs. A scan that can find nothing is left out.
pub(super) struct Scans {
    /// Time between two scans without a new backup.
    interval: Time,
    jobs: FxHashMap<JobId, JobScan>,
    planned: BTreeSet<(Time, JobId)>,
}

impl Scans {
    pub(super) fn new(interval: Time) -> Scans {
        Scans { interval, jobs: FxHashMap::default(), planned: BTreeSet::new() }
    }

    pub(super) fn contains(&self, (job, phase): PhaseId) -> bool {
        self.jobs.get(&job).is_some_and(|scans| scans.phases.contains_key(&phase))
    }

    pub(super) fn phase(&mut self, (job, phase): PhaseId) -> Option<&mut PhaseScan> {
        self.jobs.get_mut(&job)?.phases.get_mut(&phase)
    }

    pub(super) fn has_attempts(&self, (job, phase): PhaseId) -> bool {
        self.jobs.get(&job).and_then(|scans| scans.phases.get(&phase)).is_some_and(|scan| !scan.finishes.is_empty())
    }

    pub(super) fn has_unknown(&self, job: JobId) -> bool {
        self.jobs.get(&job).is_some_and(|scans| scans.phases.values().any(|scan| !scan.unknown.is_empty()))
    }

    pub(super) fn phases_of(&self, job: JobId) -> Vec<u32> {
        self.jobs.get(&job).map_or_else(Vec::new, |scans| scans.phases.keys().copied().collect())
    }

    /// Returns all scanned phases, sorted.
    pub(super) fn all(&self) -> Vec<PhaseId> {
        let mut all: Vec<PhaseId> =
            self.jobs.iter().flat_map(|(job, scans)| scans.phases.keys().map(|phase| (*job, *phase))).collect();
        all.sort_unstable();
        all
    }

    pub(super) fn enter(&mut self, (job, phase): PhaseId, scan: PhaseScan) {
        let new = || JobScan { next: Time::NEVER, planned: None, phases: BTreeMap::new() };
        self.jobs.entry(job).or_insert_with(new).phases.insert(phase, scan);
    }

    /// Stops scanning a phase.
    pub(super) fn leave(&mut self, (job, phase): PhaseId) {
        if let Some(scans) = self.jobs.get_mut(&job) {
            scans.phases.remove(&phase);
        }
    }

    /// Removes a job that has finished or was abandoned.
    pub(super) fn forget(&mut self, job: JobId) {
        if let Some(at) = self.jobs.remove(&job).and_then(|scans| scans.planned) {
            self.planned.remove(&(at, job));
        }
    }

    /// Plans the job's next scan. Returns its time if no earlier one was planned.
    pub(super) fn plan(&mut self, job: &Job, now: Time) -> Option<Time> {
        let scans = self.jobs.get_mut(&job.id())?;
        if scans.next == Time::NEVER {
            scans.next = job.arrival();
        }
        let late = now.0.saturating_sub(scans.next.0);
        let at = scans.next + Time(late.div_ceil(self.interval.0) * self.interval.0);
        if scans.planned.is_some_and(|planned| planned <= at) {
            return None;
        }
        if let Some(planned) = scans.planned.replace(at) {
            self.planned.remove(&(planned, job.id()));
        }
        self.planned.insert((at, job.id()));
        Some(at)
    }

    /// Notes that a job was scanned and may be scanned from `next` on. If `again` is true, plans that scan and returns its
    /// time.
    pub(super) fn scanned(&mut self, job: JobId, next: Time, again: bool) -> Option<Time> {
        let scans = self.jobs.get_mut(&job)?;
        scans.next = next;
        if again {
            scans.planned = Some(next);
            self.planned.insert((next, job));
        }
        scans.planned
    }

    /// Returns the jobs whose planned scans are due, and removes these plans.
    pub(super) fn take_due(&mut self, now: Time) -> Vec<JobId> {
        let mut due = Vec::new();
        while let Some((at, job)) = self.planned.first().copied().filter(|(at, _)| *at <= now) {
            self.planned.remove(&(at, job));
            if let Some(scans) = self.jobs.get_mut(&job) {
                scans.planned = None;
                due.push(job);
            }
        }
        due.sort_unstable();
        due
    }

    /// Plans a scan again that [`Scans::take_due`] has returned.
    pub(super) fn postpone(&mut self, job: JobId, at: Time) {
        if let Some(scans) = self.jobs.get_mut(&job) {
            scans.planned = Some(at);
            self.planned.insert((at, job));
        }
    }

    /// Returns the attempt of a phase with the longest remaining time, in seconds. `estimated` returns the remaining time of an
    /// attempt, or `None` if it is unknown or the attempt is not compared. If `is_by_finish` is true, the remaining times of
    /// attempts with a known finish have the order of their finishes.
    pub(super) fn longest(
        &self,
        (job, phase): PhaseId,
        is_by_finish: bool,
        estimated: impl Fn(AttemptId) -> Option<(f64, AttemptId)>,
    ) -> Option<(f64, AttemptId)> {
        let scan = self.jobs.get(&job)?.phases.get(&phase)?;
        let known = scan.by_finish.iter().rev().filter_map(|(_, id)| estimated(id.0));
        let known = known.take(if is_by_finish { 1 } else { usize::MAX });
        let estimates = known.chain(scan.unknown.iter().filter_map(|id| estimated(*id)));
        estimates.max_by(|one, other| one.0.total_cmp(&other.0).then(other.1.cmp(&one.1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_of_new_attempts_are_those_of_hadoop() {
        let mut finished = Finished::default();
        finished.add(2.0);
        assert_eq!((finished.mean(), finished.upper_estimate()), (2.0, 0.0));
        finished.add(4.0);
        finished.add(6.0);
        // Mean 4, variance 56/3 - 16, so sd 1.63299: 4 + 1.96 · 1.63299/√3 = 5.84791, and sd/2 = 0.81650 more.
        assert_eq!(finished.mean(), 4.0);
        assert!((finished.upper_estimate() - 6.66441).abs() < 1e-4, "{}", finished.upper_estimate());
    }
}
