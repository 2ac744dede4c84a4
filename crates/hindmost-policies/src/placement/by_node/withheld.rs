//! Candidates that fit a node but may not start now, because the order of jobs permits their job no more copies, or
//! because the budget for clones is used up. They are checked again when one of these conditions may have changed,
//! instead of on each node in each round.

use rustc_hash::FxHashMap;

use hindmost_core::cluster::Cluster;
use hindmost_core::ids::JobId;
use hindmost_core::policy::Round;
use hindmost_core::resources::Resources;

use crate::cloning::clone_pool::ClonePool;

/// Limits on clones.
#[derive(Clone, Copy, Debug)]
pub struct CloneLimits {
    /// Share of the cluster's capacity that clones may hold, in each dimension; `None` for no limit.
    pub budget: Option<f64>,
    /// Maximum number of copies of a task on one node, at least 1.
    pub per_node: u32,
}

impl Default for CloneLimits {
    /// Returns limits without a budget and with one copy of a task on a node.
    fn default() -> CloneLimits {
        CloneLimits { budget: None, per_node: 1 }
    }
}

impl CloneLimits {
    /// Returns true if the budget allows another clone with this demand in addition to the running ones.
    pub(super) fn allow(&self, demand: &Resources, pool: &ClonePool, cluster: &Cluster) -> bool {
        self.budget.is_none_or(|budget| is_within_budget(&pool.held().plus(demand), budget, cluster.total()))
    }
}

/// Returns true if an amount is at most a share `budget` of a cluster's `total` in each dimension.
pub(crate) fn is_within_budget(held: &Resources, budget: f64, total: &Resources) -> bool {
    // An excess of a thousandth of a unit is rounding.
    held.0.iter().zip(&total.0).all(|(held, total)| *held as f64 <= budget * *total as f64 + 1e-3)
}

/// The condition that a withheld phase waits for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Awaits {
    /// The order of jobs has this much slack: see
    /// [`Order::slack_needed`](hindmost_core::policy::order::Order::slack_needed).
    Slack(f64),
    /// The budget allows a clone with this demand.
    Budget(Resources),
}

/// The jobs with withheld candidates, and the conditions that they wait for.
#[derive(Debug, Default)]
pub(super) struct Withheld {
    jobs: FxHashMap<JobId, Vec<Awaits>>,
    /// True if stages of clones were skipped because the budget did not allow even the smallest clone.
    pub(super) clones: bool,
    /// The minimum, in each dimension, of the demands passed to [`Withheld::may_be_cloned`]; `None` before the first.
    least_clone: Option<Resources>,
}

impl Withheld {
    /// Returns true if nothing is withheld.
    pub(super) fn is_empty(&self) -> bool {
        self.jobs.is_empty() && !self.clones
    }

    /// Records that a phase of a job waits for a condition.
    pub(super) fn add(&mut self, job: JobId, awaits: Awaits) {
        self.jobs.entry(job).or_default().push(awaits);
    }

    /// Records that the clones to start include clones with this demand.
    pub(super) fn may_be_cloned(&mut self, demand: &Resources) {
        self.least_clone = Some(self.least_clone.map_or(*demand, |least| least.least(demand)));
    }

    /// Returns true if the budget allows no clone at all.
    pub(super) fn allows_no_clone(&self, limits: &CloneLimits, pool: &ClonePool, cluster: &Cluster) -> bool {
        limits.budget.is_some() && self.least_clone.is_some_and(|least| !limits.allow(&least, pool, cluster))
    }

    /// Removes and returns the jobs whose conditions hold for at least one phase.
    pub(super) fn take_changed(&mut self, limits: &CloneLimits, pool: &ClonePool, round: &Round<'_>) -> Vec<JobId> {
        let (slack, cluster) = (round.slack(), round.cluster());
        let may_start = |awaits: &Awaits| match awaits {
            Awaits::Slack(needed) => *needed <= slack,
            Awaits::Budget(demand) => limits.allow(demand, pool, cluster),
        };
        let changed = self.jobs.iter().filter(|(_, awaits)| awaits.iter().any(may_start));
        let changed: Vec<JobId> = changed.map(|(job, _)| *job).collect();
        for job in &changed {
            self.jobs.remove(job);
        }
        changed
    }

    /// Removes a job, because its candidates are recomputed.
    pub(super) fn forget(&mut self, job: JobId) {
        self.jobs.remove(&job);
    }

    /// Removes and returns all jobs.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = JobId> {
        std::mem::take(&mut self.jobs).into_keys()
    }
}
