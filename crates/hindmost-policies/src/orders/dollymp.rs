//! `dollymp` serves jobs in priority levels computed from their remaining length and volume, and places each task on
//! the node that it fits best. Clones of the tasks use the resources that remain free, in the same order.
//!
//! Paper: Xu, Liu & Lau, "Multi Resource Scheduling with Task Cloning in Heterogeneous Clusters", ICPP 2022.
//!
//! Algorithm:
//! - **Priorities** (Algorithm 1, [`crate::theory::priorities`]). Whenever a job arrives, every job gets a new priority
//!   from its effective length e_j and its effective volume v_j, both in slots of time. e_j is the longest path through
//!   the job's unfinished phases, each with its effective time e = θ + r·σ (Eq. 17). A phase counts in full until its
//!   last task has finished. v_j = Σ n·e·d over unfinished tasks (Eq. 16), where d is the dominant share of one copy
//!   (Eq. 15). Priorities are not recomputed when tasks or jobs finish.
//! - **Placement** (Algorithm 2). The policy goes node by node, in the order that the cluster's placement gives, and on
//!   each node through the priority levels in order.
//!   Within a level it chooses, among the jobs whose next copy fits, the job with the largest inner product of demand
//!   and free resources. A job offers the first phase with a copy that fits.
//! - **Clones.** Then the policy goes through the same levels again for clones, once for each clone that a task may
//!   have. DollyMP⁰ to DollyMP³ allow 0 to 3 clones; DollyMP allows 2. A node runs at most one copy of a task.
//!
//! Passes: `[Originals(knapsack order, best fit), Clones(same order, ≤ clones, budget)]`.
//!
//! Readings, where the paper is silent or has a misprint:
//! - e = θ + r·σ with r = 1.5. (The paper's formula omits r, but its experiments set r.) An unknown or infinite σ
//!   counts as 0.
//! - Levels go on until every job has a priority. (The printed upper end can be infinite or negative.)
//! - In a scenario with slots of time, jobs also arrive between slot boundaries. Priorities are computed when a job
//!   arrives, not at the next boundary, at which it can first be placed.
//! - "The first available phase" of a job is the first open phase with a copy that fits (`phase=fitting`), because
//!   tasks are cloned only when no other task can be placed. Read literally, it could also be the first open phase
//!   whether or not it fits (`phase=first`).
//! - Inner products that differ only by rounding count as equal. Among equal ones, the job with the smallest id is
//!   chosen.
//! - A copy fits if its demand is at most the free resources. (The printed < forbids an exact fit.)
//! - The paper names no units for the inner product. It is computed from shares of the node's capacity
//!   (`fit=normalised`), or from cores, GB and whole units (`fit=raw`).
//! - Clones start after originals have been tried on every node, as the text says (`clone_pass=after`), or on each node
//!   right after its originals, as the loop is printed (`clone_pass=by_node`). The printed loop could also mean that a
//!   node starts no task of lower levels while a task of its top level waits, but that contradicts the text.
//! - δ, which the paper does not define and the experiments set to 0.3, is the share of the cluster that clones may
//!   hold, in each dimension. There is no limit by default, as in the paper's Figure 2.
//! - A node runs at most one copy of a task (x ∈ {0, 1} in Eq. 5). But in Figure 2 the only server runs two copies of a
//!   task; `per_node=2` allows that.
//! - When a copy has finished, all other copies of its task are stopped (`keep=none`). The paper's application master
//!   keeps one other running copy, the one with the best locality (`keep=best_locality`); with at most one clone a
//!   task, this means that no copy is ever stopped.

use std::cmp::Ordering;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::theory::priorities::{Knapsacks, SizedJob, first_level};
use hindmost_core::cluster::{Applied, Cluster, Job, Node};
use hindmost_core::ids::JobId;
use hindmost_core::record::Event;
use hindmost_core::resources::{MAX_DIMENSIONS, MEMORY, feature_of};

use crate::orders::effective_time::{effective_time_with, effective_volume};
use crate::placement::by_node::{ByNode, CloneLimits, Fit, Stage};
use crate::placement::candidates_by_level::{Alignment, Levels};
use hindmost_core::policy::losing_copies::Keep;
use hindmost_core::policy::order::{Concerned, Order, concerned};
use hindmost_core::policy::queue_place::Which;

crate::parameters! {
    /// The parameters of DollyMP's order and placement.
    pub struct DollympOrderParameters {
        /// number of standard deviations in an effective time (the paper's r)
        pub deviations: f64 = 1.5, in 0.0..=1e6, unit "standard deviations";
        /// length of a slot in Algorithm 1
        pub slot: f64 = 5.0, in 1e-9..=1e9, unit "s";
        /// amounts in the inner product: normalised (shares of the node's capacity) or raw (cores, GB and whole units)
        pub fit: Product = Product::Normalised;
        /// which open phase of a job is placed: fitting (the first with a copy that fits) or first (whether or not it
        /// fits)
        pub phase: PhaseChoice = PhaseChoice::Fitting;
    }
}

/// The amounts in DollyMP's inner product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Product {
    /// Shares of the node's capacity.
    Normalised,
    /// Absolute amounts: cores, GB of memory, and whole units of other resources.
    Raw,
}

crate::words!(Product: Normalised = "normalised", Raw = "raw");

/// The open phase of a job that DollyMP places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhaseChoice {
    /// The first phase with a copy that fits.
    Fitting,
    /// The first phase, whether or not a copy fits.
    First,
}

crate::words!(PhaseChoice: Fitting = "fitting", First = "first");

crate::parameters! {
    /// The parameters of DollyMP's clones.
    pub struct DollympParameters {
        /// maximum number of clones of a task (0 to 3 for DollyMP^0 to DollyMP^3)
        pub clones: u32 = 2, in 0..=16, unit "clones";
        /// share of the cluster's capacity that clones may hold (the paper's delta); none: no limit
        pub budget: Option<f64> = None, word none, in 0.0..=1.0;
        /// maximum number of copies of a task on one node
        pub per_node: u32 = 1, in 1..=16, unit "copies";
        /// when clones start: after (originals were tried on every node) or by_node (after the originals of each node)
        pub clone_pass: ClonePass = ClonePass::After;
        /// which other copy of a finished task keeps running: none or best_locality
        pub keep: Keep = Keep::None;
    }
}

crate::words!(ClonePass: After = "after", ByNode = "by_node");
crate::words!(Keep: None = "none", BestLocality = "best_locality");

/// A job in the list sorted by volume.
#[derive(Clone, Copy, Debug)]
struct Ranked {
    /// Effective volume in slots.
    volume: f64,
    job: JobId,
    /// The first level whose length is at least the job's.
    first_level: u32,
    /// The job's priority, from 1. 0: the job has none yet. [`OUTDATED`]: the entry is no longer valid.
    priority: u32,
}

/// Marks an entry whose job has another volume now or has ended.
const OUTDATED: u32 = u32::MAX;

impl Ranked {
    /// Compares this entry with the entry of `job` with `volume`: the smaller volume comes first, then the smaller id.
    fn order(&self, volume: f64, job: JobId) -> Ordering {
        self.volume.total_cmp(&volume).then(self.job.cmp(&job))
    }
}

/// The volume and the priority of a job.
#[derive(Clone, Copy, Debug)]
struct Standing {
    /// The volume of the job's entry in the list sorted by volume.
    volume: f64,
    priority: u32,
}

/// Two sums of the same volumes, added in different orders, differ by less than this factor.
const ROUNDING: f64 = 1.0 + 1e-9;

/// The order of jobs by DollyMP's priorities.
pub struct KnapsackOrder {
    parameters: DollympOrderParameters,
    standings: FxHashMap<JobId, Standing>,
    /// The jobs sorted by volume, as of the last arrival.
    by_volume: Vec<Ranked>,
    /// The sum of the volumes in `by_volume`.
    total: f64,
    /// Jobs whose length or volume has changed since the last arrival.
    changed: FxHashSet<JobId>,
    /// True if the cluster's size, and so the volume of every job, has changed since the last arrival.
    all_changed: bool,
    knapsacks: Knapsacks,
    /// An empty list whose memory the next sorted list reuses.
    spare: Vec<Ranked>,
}

impl KnapsackOrder {
    /// Creates the order with these parameters.
    pub fn new(parameters: DollympOrderParameters) -> KnapsackOrder {
        KnapsackOrder {
            parameters,
            standings: FxHashMap::default(),
            by_volume: Vec::new(),
            total: 0.0,
            changed: FxHashSet::default(),
            all_changed: false,
            knapsacks: Knapsacks::default(),
            spare: Vec::new(),
        }
    }

    /// Returns the effective length and volume of a job's unfinished work, in slots.
    fn size(&self, job: &Job, cluster: &Cluster) -> SizedJob {
        let DollympOrderParameters { deviations, slot, .. } = self.parameters;
        let length = job.longest_remaining_path(|phase| effective_time_with(phase, deviations));
        let volume = |phase| effective_volume(phase, cluster.total(), deviations);
        let volume: f64 = job.phases().iter().map(volume).sum();
        SizedJob { length: length / slot, volume: volume / slot }.finite()
    }

    /// Marks the entries of changed jobs as outdated. Returns new entries for the changed jobs that are unfinished,
    /// sorted by volume.
    fn take_changed(&mut self, cluster: &Cluster) -> Vec<Ranked> {
        if std::mem::take(&mut self.all_changed) {
            self.changed.extend(cluster.jobs().map(Job::id));
        }
        let mut updated = Vec::with_capacity(self.changed.len());
        let mut changed = std::mem::take(&mut self.changed);
        for job in changed.drain() {
            let before = self.standings.get(&job).copied();
            if let Some(Standing { volume, .. }) = before
                && let Ok(at) = self.by_volume.binary_search_by(|ranked| ranked.order(volume, job))
            {
                self.by_volume[at].priority = OUTDATED;
            }
            let Some(found) = cluster.job(job).filter(|job| !job.is_over()) else {
                self.standings.remove(&job);
                continue;
            };
            let (SizedJob { length, volume }, priority) =
                (self.size(found, cluster), before.map_or(0, |at| at.priority));
            self.standings.insert(job, Standing { volume, priority });
            updated.push(Ranked { volume, job, first_level: first_level(length), priority });
        }
        self.changed = changed;
        updated.sort_unstable_by(|one, other| one.order(other.volume, other.job));
        updated
    }

    /// Recomputes all priorities. Returns the jobs whose priority has changed, sorted by id.
    fn compute_priorities(&mut self, cluster: &Cluster) -> Vec<JobId> {
        let updated = self.take_changed(cluster);
        // An upper bound for the sum of all volumes: the old total still includes the outdated entries.
        let updated_total: f64 = updated.iter().map(|ranked| ranked.volume).sum();
        self.knapsacks.empty((self.total + updated_total) * ROUNDING);
        self.total = 0.0;
        let (mut by_volume, before) = (std::mem::take(&mut self.spare), std::mem::take(&mut self.by_volume));
        let mut moved = Vec::new();
        let mut rank = |mut ranked: Ranked| {
            self.total += ranked.volume;
            let now = self.knapsacks.pack(ranked.first_level, ranked.volume);
            if ranked.priority != now {
                ranked.priority = now;
                moved.push(ranked.job);
                if let Some(standing) = self.standings.get_mut(&ranked.job) {
                    standing.priority = now;
                }
            }
            by_volume.push(ranked);
        };
        let mut updated = updated.into_iter().peekable();
        for kept in before.iter().filter(|ranked| ranked.priority != OUTDATED) {
            while let Some(earlier) = updated.next_if(|entry| entry.order(kept.volume, kept.job).is_lt()) {
                rank(earlier);
            }
            rank(*kept);
        }
        updated.for_each(rank);
        (self.by_volume, self.spare) = (by_volume, before);
        self.spare.clear();
        moved.sort_unstable();
        moved
    }
}

impl Order for KnapsackOrder {
    fn key(&self, job: &Job, _cluster: &Cluster) -> f64 {
        self.standings.get(&job.id()).map_or(f64::INFINITY, |standing| f64::from(standing.priority))
    }

    fn abandoned(&mut self, job: JobId, _cluster: &Cluster) -> Concerned {
        self.changed.insert(job);
        Concerned::ItsJob
    }

    fn observe(&mut self, event: &Event, applied: Applied, cluster: &Cluster) -> Concerned {
        match event {
            Event::JobArrived { job, .. } | Event::DurationsLearned { job, .. } => _ = self.changed.insert(*job),
            Event::AttemptFinished { attempt } if applied.won => _ = self.changed.insert(attempt.task.job),
            Event::TaskGivenUp { task } => _ = self.changed.insert(task.job),
            Event::NodeJoined { .. }
            | Event::NodeLost { .. }
            | Event::NodeLeaving { .. }
            | Event::NodeReturned { .. } => self.all_changed = true,
            _ => {}
        }
        if !matches!(event, Event::JobArrived { .. }) {
            return concerned(event, applied, false);
        }
        Concerned::These(self.compute_priorities(cluster))
    }
}

/// The inner product of demand and free resources, by which DollyMP chooses a job within a level.
pub struct InnerProduct {
    /// By dimension, the amount in [`Resources`](hindmost_core::resources::Resources) that counts as 1 in the inner
    /// product, such as one core. `None`: the inner product is computed from shares of the node's capacity.
    units: Option<[f64; MAX_DIMENSIONS]>,
    phase: PhaseChoice,
}

impl InnerProduct {
    /// Creates the inner product with these parameters.
    pub fn new(parameters: DollympOrderParameters) -> InnerProduct {
        let units = (parameters.fit == Product::Raw).then_some([1.0; MAX_DIMENSIONS]);
        InnerProduct { units, phase: parameters.phase }
    }
}

const UNITS_PER_WHOLE: f64 = 1000.0;
const BYTES_PER_GB: f64 = 1024.0 * 1024.0 * 1024.0;

impl Fit for InnerProduct {
    fn prepare(&mut self, _candidates: &Levels, cluster: &Cluster) {
        if let Some(units) = &mut self.units {
            for (unit, name) in units.iter_mut().zip(cluster.dimensions().names()) {
                *unit = match &**name {
                    MEMORY => BYTES_PER_GB,
                    // Features decide where a task may run. They do not count as free resources.
                    name if feature_of(name).is_some() => f64::INFINITY,
                    _ => UNITS_PER_WHOLE,
                };
            }
        }
    }

    fn first_phase_only(&self) -> bool {
        self.phase == PhaseChoice::First
    }

    fn alignment(&self, node: &Node, dimensions: usize) -> Alignment {
        match &self.units {
            None => Alignment::normalised(node, dimensions),
            Some(units) => Alignment::raw(node, units),
        }
    }
}

/// The time at which clones start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClonePass {
    /// After originals have been tried on every node.
    After,
    /// On each node right after its originals.
    ByNode,
}

/// Creates the pass that starts originals and clones. Without `originals` it starts only clones, because another pass
/// starts the originals.
pub fn pass(fit: Box<dyn Fit>, parameters: DollympParameters, originals: bool) -> ByNode {
    let originals = originals.then_some(Stage::Originals(Which::Any));
    let clones = (1..=parameters.clones).map(|copies| Stage::Clones { copies });
    let stages = originals.into_iter().chain(clones);
    let sweeps = match parameters.clone_pass {
        ClonePass::After => stages.map(|stage| vec![stage]).collect(),
        ClonePass::ByNode => vec![stages.collect()],
    };
    let limits = CloneLimits { budget: parameters.budget, per_node: parameters.per_node };
    ByNode::new(fit, sweeps).with_limits(limits)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use hindmost_core::ids::NodeId;
    use hindmost_core::record::Decision;
    use hindmost_core::resources::{Dimensions, Resources};
    use hindmost_core::testing::joined;
    use hindmost_core::time::Time;
    use hindmost_core::workload::JobSpec;
    use hindmost_math::random::{hash, unit};
    use serde_json::json;

    use super::*;
    use crate::theory::priorities::priorities;

    /// Applies an event and lets the order observe it. After an arrival, checks every key against Algorithm 1.
    fn happen(event: &Event, cluster: &mut Cluster, order: &mut KnapsackOrder) {
        let applied = cluster.apply_event(Time::ZERO, event).unwrap();
        order.observe(event, applied, cluster);
        if matches!(event, Event::JobArrived { .. }) {
            let jobs: Vec<&Job> = cluster.jobs().filter(|job| job.finished().is_none()).collect();
            let sizes: Vec<SizedJob> = jobs.iter().map(|job| order.size(job, cluster)).collect();
            let expected: Vec<f64> = priorities(&sizes).into_iter().map(f64::from).collect();
            let keys: Vec<f64> = jobs.iter().map(|job| order.key(job, cluster)).collect();
            assert_eq!(keys, expected);
        }
    }

    #[test]
    fn priorities_after_each_arrival_agree_with_algorithm_1() {
        let mut cluster = Cluster::new(Dimensions::one_slot());
        let mut order = KnapsackOrder::new(DollympOrderParameters::default());
        let draw = |what, at| unit(hash(7, what, at, 0));
        for at in 0..300 {
            if at % 40 == 0 {
                happen(&joined((at / 40) as u32, Resources::ONE_SLOT), &mut cluster, &mut order);
            }
            let phase = |name: &str, after: &[u32], what| {
                let (tasks, mean) = (1 + (4.0 * draw(what, at)) as u32, 20.0 * draw(what + 1, at).powi(3) + 0.1);
                json!({ "name": name, "after": after, "tasks": tasks, "demand": {}, "mean": mean, "sd": 0.5, "tail": null })
            };
            let phases = [phase("one", &[], 1), phase("other", &[0], 3)];
            let spec = json!({ "name": "job", "arrival": 0, "deadline": null, "weight": 1.0, "phases": phases });
            let spec: Arc<JobSpec> = Arc::new(serde_json::from_value(spec).unwrap());
            happen(&Event::JobArrived { job: JobId(at as u32), spec }, &mut cluster, &mut order);
            // Run and finish one task of up to eight jobs, so that about as many jobs end as arrive.
            for number in 0..8 {
                let waiting: Vec<&Job> = cluster.jobs().filter(|job| job.runnable() > 0).collect();
                let Some(job) = waiting.get((draw(10 + number, at) * waiting.len() as f64) as usize) else { break };
                let task = job.next_runnable(|_| true, |_| true).unwrap();
                let attempt = cluster.next_copy(task).unwrap();
                let start = Decision::Start { attempt, node: NodeId(0), from_progress: 0.0 };
                cluster.apply_decision(Time::ZERO, &start).unwrap();
                happen(&Event::AttemptFinished { attempt }, &mut cluster, &mut order);
                cluster.retire(task.job);
            }
        }
        assert!(order.standings.len() < 250 && order.by_volume.len() >= order.standings.len());
    }
}
