//! What fits a node but may not start now: the order of jobs permits its job no more copies, or clones hold all that their
//! budget lets them have. It is looked at again once that may have changed, and not on each node in each round.

use rustc_hash::FxHashMap;

use hindmost_core::cluster::Cluster;
use hindmost_core::ids::JobId;
use hindmost_core::policy::Round;
use hindmost_core::resources::Resources;

use crate::cloning::clone_pool::ClonePool;

/// Limits on clones.
#[derive(Clone, Copy, Debug)]
pub struct CloneLimits {
    /// Share of the cluster that clones may hold, in each dimension.
    pub budget: Option<f64>,
    /// Most copies of a task on a node, at least 1.
    pub per_node: u32,
}

impl Default for CloneLimits {
    /// No budget, one copy of a task on a node.
    fn default() -> CloneLimits {
        CloneLimits { budget: None, per_node: 1 }
    }
}

impl CloneLimits {
    /// True if clones, with those that run, may hold another one of this demand.
    pub(super) fn allow(&self, demand: &Resources, pool: &ClonePool, cluster: &Cluster) -> bool {
        self.budget.is_none_or(|budget| is_within_budget(&pool.held().plus(demand), budget, cluster.total()))
    }
}

/// True if so much is at most a share `budget` of a cluster's `total` in each dimension.
pub(crate) fn is_within_budget(held: &Resources, budget: f64, total: &Resources) -> bool {
    // A thousandth of a unit is no more than rounding.
    held.0.iter().zip(&total.0).all(|(held, total)| *held as f64 <= budget * *total as f64 + 1e-3)
}

/// What one of a job's phases waits for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Awaits {
    /// The order to have so much slack: see [`Order::slack_needed`](hindmost_core::policy::order::Order::slack_needed).
    Slack(f64),
    /// The budget to have room for a clone of this demand.
    Budget(Resources),
}

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct Withheld {
    jobs: FxHashMap<JobId, Vec<Awaits>>,
    /// True if clones were not looked at, for the budget allows not even the smallest.
    pub(super) clones: bool,
    /// The least that any clone demanded until now.
    least_clone: Option<Resources>,
}

impl Withheld {
    /// True if nothing is withheld.
    pub(super) fn is_empty(&self) -> bool {
        self.jobs.is_empty() && !self.clones
    }

    /// A phase of a job has to wait.
    pub(super) fn add(&mut self, job: JobId, awaits: Awaits) {
        self.jobs.entry(job).or_default().push(awaits);
    }

    /// There are clones of this demand.
    pub(super) fn may_be_cloned(&mut self, demand: &Resources) {
        self.least_clone = Some(self.least_clone.map_or(*demand, |least| least.least(demand)));
    }

    /// True if the budget allows no clone at all.
    pub(super) fn allows_no_clone(&self, limits: &CloneLimits, pool: &ClonePool, cluster: &Cluster) -> bool {
        limits.budget.is_some() && self.least_clone.is_some_and(|least| !limits.allow(&least, pool, cluster))
    }

    /// Forgets the jobs that may have something to start again, and returns them.
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

    /// A job is looked at in any case.
    pub(super) fn forget(&mut self, job: JobId) {
        self.jobs.remove(&job);
    }

    /// Forgets all jobs, and returns them.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = JobId> {
        std::mem::take(&mut self.jobs).into_keys()
    }
}
