//! What copies of attempts may cost a job as long as copies do not win: while tasks are pending, and at other times if only ages are known.
//!
//! A task can be long by nature. Then a copy of its attempt takes as long, and the slot-time of the copy is lost. While tasks
//! are pending, the copy also delays them. So such copies pay from a budget, in slot-time:
//!
//! ```text
//! total = slot-time of finished tasks + median · number of unfinished tasks + what running attempts exceed the median by.
//! ```
//!
//! - While tasks are pending, losing copies may cost [`PENDING_SHARE`] of the total. A copy starts only if the budget pays for
//!   a long one (the 90th percentile of durations). If only ages are known, it may run for as long as the budget lasts. A copy that wins
//!   costs nothing.
//! - While no task is pending, a copy delays nothing. But once all losing copies have cost [`IDLE_SHARE`] of the total, copies
//!   that are late themselves are stopped, and their tasks get no others until the total has grown.
//!
//! - The budget of a small job does not pay for a copy until an attempt that hangs has made the total grow, and by then another one
//!   may hold the last slot. So the first copy of a job may cost [`FIRST_SHARE`], if its original seems to hang or its progress is
//!   known, and more if the measured remaining time is much longer than a copy takes.
//!
//! An attempt that hangs makes the total grow, so its task gets a copy in the end, also in a very small job.

use std::collections::BTreeMap;

use hindmost_core::cluster::{Attempt, Cluster, Phase};
use hindmost_core::ids::{AttemptId, JobId};
use hindmost_core::policy::Seen;
use hindmost_core::record::{Decision, Event};
use hindmost_core::time::Time;

/// Share of a job's total slot-time that copies which start while tasks are pending may cost. A job is delayed by about as much.
pub(super) const PENDING_SHARE: f64 = 0.025;
/// The same where attempts that seem to hang hold much of the cluster (`hung`).
pub(super) const CROWD_SHARE: f64 = 0.03;
/// The same for the first copy of a job, if its original seems to hang.
pub(super) const FIRST_SHARE: f64 = 0.04;
/// Share of a job's total slot-time that all copies may cost.
pub(super) const IDLE_SHARE: f64 = 0.06;

/// A running copy.
#[derive(Clone, Copy, Debug)]
struct Paid {
    since: Time,
    /// The time that the copy may run while tasks are pending, in seconds. `None` if it does not pay from that budget.
    allowance: Option<f64>,
}

/// The copies of one job, in seconds of slot-time.
#[derive(Debug, Default)]
struct Account {
    /// What all losing copies have cost.
    lost: f64,
    /// What losing copies that started while tasks were pending have cost.
    lost_while_pending: f64,
    running: BTreeMap<AttemptId, Paid>,
}

impl Account {
    /// Removes a copy that has ended. `lost` is true if another copy of its task has won, or the copy failed.
    fn end(&mut self, copy: AttemptId, lost: bool, now: Time) {
        let Some(paid) = self.running.remove(&copy).filter(|_| lost) else { return };
        let cost = (now - paid.since).seconds();
        self.lost += cost;
        self.lost_while_pending += if paid.allowance.is_some() { cost } else { 0.0 };
    }

    /// Returns what the copies have cost and what running ones have reserved, in seconds. `pending` is true for the budget
    /// while tasks are pending.
    fn spent(&self, pending: bool, now: Time) -> f64 {
        let age = |paid: &Paid| (now - paid.since).seconds();
        if pending {
            let reserved = self.running.values().filter_map(|paid| Some(paid.allowance?.max(age(paid))));
            self.lost_while_pending + reserved.sum::<f64>()
        } else {
            self.lost + self.running.values().map(age).sum::<f64>()
        }
    }
}

/// The budgets of all jobs.
#[derive(Debug, Default)]
pub(super) struct Budget {
    jobs: BTreeMap<JobId, Account>,
}

impl Budget {
    /// Notes that a copy starts. `allowance` is the time that it may run while tasks are pending, in seconds; `None` if it does
    /// not pay from that budget. If the start was noted before, nothing changes.
    pub(super) fn starts(&mut self, copy: AttemptId, allowance: Option<f64>, now: Time) {
        let running = &mut self.jobs.entry(copy.task.job).or_default().running;
        running.entry(copy).or_insert(Paid { since: now, allowance });
    }

    /// Returns the time that a copy may run while tasks are pending, in seconds; infinite if it does not pay from that budget.
    pub(super) fn allowance(&self, copy: AttemptId) -> f64 {
        let paid = self.jobs.get(&copy.task.job).and_then(|account| account.running.get(&copy));
        paid.and_then(|paid| paid.allowance).unwrap_or(f64::INFINITY)
    }

    /// Returns what is left of a job's budget for copies, and the whole budget, in seconds of slot-time. `late` are old
    /// attempts without copies, of any job.
    pub(super) fn left(&self, job: JobId, pending: bool, late: &[AttemptId], cluster: &Cluster) -> (f64, f64) {
        let budget = if pending { PENDING_SHARE } else { IDLE_SHARE } * self.total(job, late, cluster);
        (budget - self.spent(job, pending, cluster), budget)
    }

    /// Returns true if a job's copies that started while tasks were pending have cost less than [`CROWD_SHARE`] of its total.
    pub(super) fn is_left_in_a_crowd(&self, job: JobId, late: &[AttemptId], cluster: &Cluster) -> bool {
        self.spent(job, true, cluster) < CROWD_SHARE * self.total(job, late, cluster)
    }

    /// Returns true if no copy of a job has lost or runs, and its first one would cost at most [`FIRST_SHARE`] of its total.
    pub(super) fn pays_for_first(&self, job: JobId, price: f64, late: &[AttemptId], cluster: &Cluster) -> bool {
        self.is_first(job) && price <= FIRST_SHARE * self.total(job, late, cluster)
    }

    /// Returns true if no copy of a job has lost or runs.
    pub(super) fn is_first(&self, job: JobId) -> bool {
        self.jobs.get(&job).is_none_or(|account| account.lost == 0.0 && account.running.is_empty())
    }

    fn spent(&self, job: JobId, pending: bool, cluster: &Cluster) -> f64 {
        self.jobs.get(&job).map_or(0.0, |account| account.spent(pending, cluster.now()))
    }

    /// Returns an estimate of a job's total slot-time without copies, in seconds.
    fn total(&self, job: JobId, late: &[AttemptId], cluster: &Cluster) -> f64 {
        let Some(found) = cluster.job(job) else { return 0.0 };
        let phases = found.phases().iter().map(|phase| {
            // Durations that are only assumed promise nothing.
            let median = if phase.is_assumed() { 0.0 } else { phase.median() };
            phase.held().0.seconds() + f64::from(phase.unfinished()) * median
        });
        let excess = |attempt: &Attempt| {
            let median = cluster.phase(attempt.id().task).map_or(0.0, Phase::median);
            (attempt.age(cluster.now()).seconds() - median).max(0.0)
        };
        let late = late.iter().filter(|id| id.task.job == job).filter_map(|id| cluster.attempt(*id));
        let copied = self.jobs.get(&job).into_iter().flat_map(|account| account.running.keys());
        let mut copied: Vec<_> = copied.map(|id| id.task).collect();
        copied.dedup();
        let oldest = copied.into_iter().filter_map(|task| cluster.copies(task).min_by_key(|copy| copy.id()));
        phases.sum::<f64>() + late.map(excess).sum::<f64>() + oldest.map(excess).sum::<f64>()
    }

    /// Observes a record after it was applied.
    pub(super) fn observe(&mut self, seen: Seen<'_>, cluster: &Cluster) {
        if self.jobs.is_empty() {
            return;
        }
        let (copy, lost) = match seen {
            Seen::Event(Event::AttemptFinished { attempt }, applied) => {
                if applied.job_finished {
                    self.jobs.remove(&attempt.task.job);
                    return;
                }
                (attempt, !applied.won)
            }
            Seen::Event(Event::AttemptFailed { attempt, .. } | Event::AttemptStopped { attempt }, _) => (attempt, true),
            Seen::Event(Event::NodeLost { .. }, _) => {
                for account in self.jobs.values_mut() {
                    account.running.retain(|copy, _| cluster.attempt(*copy).is_some());
                }
                return;
            }
            Seen::Decision(Decision::Abandon { job }) => {
                self.jobs.remove(job);
                return;
            }
            _ => return,
        };
        if let Some(account) = self.jobs.get_mut(&copy.task.job) {
            account.end(*copy, lost, cluster.now());
        }
    }
}

#[cfg(test)]
mod tests {
    use hindmost_core::ids::TaskId;

    use super::*;

    fn copy(index: u32) -> AttemptId {
        AttemptId { task: TaskId { job: JobId(0), phase: 0, index }, copy: 1 }
    }

    fn at(seconds: f64) -> Time {
        Time::from_seconds(seconds)
    }

    #[test]
    fn running_copies_reserve_their_allowance_and_losers_pay_their_time() {
        let mut account = Account::default();
        account.running.insert(copy(0), Paid { since: at(1.0), allowance: Some(0.5) });
        account.running.insert(copy(1), Paid { since: at(1.0), allowance: None });
        // At 1.2 the first has reserved 0.5 s and the second does not count. Both have run for 0.2 s.
        assert!((account.spent(true, at(1.2)) - 0.5).abs() < 1e-9);
        assert!((account.spent(false, at(1.2)) - 0.4).abs() < 1e-9);
        // The first is stopped at 1.3.
        account.end(copy(0), true, at(1.3));
        assert!((account.spent(true, at(2.0)) - 0.3).abs() < 1e-9);
        assert!((account.spent(false, at(2.0)) - 1.3).abs() < 1e-9);
    }

    #[test]
    fn winners_cost_nothing() {
        let mut account = Account::default();
        account.running.insert(copy(0), Paid { since: at(1.0), allowance: Some(0.5) });
        account.end(copy(0), false, at(1.3));
        assert_eq!((account.spent(true, at(9.0)), account.spent(false, at(9.0))), (0.0, 0.0));
    }

    #[test]
    fn a_copy_that_runs_longer_than_allowed_reserves_its_age() {
        let mut budget = Budget::default();
        budget.starts(copy(0), Some(0.5), at(1.0));
        budget.starts(copy(0), None, at(2.0));
        assert_eq!((budget.allowance(copy(0)), budget.allowance(copy(1))), (0.5, f64::INFINITY));
        assert!((budget.jobs[&JobId(0)].spent(true, at(1.9)) - 0.9).abs() < 1e-9);
    }
}
