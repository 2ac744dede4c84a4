//! `dollymp`: multi-resource scheduling with task cloning (Xu, Liu & Lau, "Multi Resource Scheduling with
//! Task Cloning in Heterogeneous Clusters", ICPP 2022).
//!
//! Whenever a job arrives, every job gets a priority anew from what remains of it (Algorithm 1,
//! [`crate::theory::priorities`]): its effective length e_j, the longest path through its unfinished
//! phases of effective times e = θ + r·σ (Eq. 17), and its effective volume v_j = Σ n·e·d over
//! unfinished tasks (Eq. 16), d being the dominant share of one copy (Eq. 15), both in slots of time. A phase
//! counts whole in e_j until its last task has finished. Priorities are not computed anew at completions.
//!
//! Placement is node by node (Algorithm 2): priority levels in order, and within a level, of the jobs whose
//! next copy fits, the one with the largest inner product of demand and free room; of a job the first
//! phase of which a copy fits; then the same levels again for clones, as often as a task may have clones (DollyMP⁰
//! to DollyMP³ are 0 to 3; 2 is DollyMP), at most one copy of a task on a node.
//!
//! Passes: `[Originals(knapsack order, best fit), Clones(same order, ≤ clones, budget)]`.
//!
//! Readings, where the paper is silent or misprinted:
//! - e = θ + r·σ with r = 1.5 (the formula drops r, the experiments set it); σ unknown or infinite counts 0;
//! - levels go on until every job has a priority (the printed upper end can be infinite or negative);
//! - time passes between slots where a scenario has them, and priorities are computed when a job arrives, not at the
//!   slot's boundary at which it can first be placed;
//! - of a job's open phases the first of which a copy fits is meant (`phase=fitting`), since nothing is to be cloned as
//!   long as any new task can be placed, or the first whether or not it fits (`phase=first`), which the letter of
//!   "the first available phase" could also be;
//! - products that differ by no more than rounding are equal, and the first job by id is taken;
//! - a copy fits if it demands at most what is free (the printed < forbids an exact fit);
//! - the inner product is of shares of the node's capacity (`fit=normalised`), or of cores, GB and whole
//!   units (`fit=raw`), since the paper names no units;
//! - clones come after originals have been tried on every node, as the prose has it (`clone_pass=after`), or
//!   node by node right after the node's originals, as the loop is printed (`clone_pass=by_node`). That a
//!   node waits for its top level, which the printed loop could also mean, contradicts the prose;
//! - δ, which the experiments set to 0.3 and the paper does not define, is the share of the cluster, in each
//!   dimension, that clones may hold; by default there is no limit, as in the paper's Figure 2;
//! - a node runs at most one copy of a task (x ∈ {0, 1} in Eq. 5), but Figure 2's only server runs two:
//!   `per_node=2` allows that;
//! - once a copy has finished all others of its task are stopped (`keep=none`); the paper's application master
//!   keeps one other running copy, that with the best locality (`keep=best_locality`), so that with one clone
//!   nothing is ever stopped.

use std::cmp::Ordering;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::theory::priorities::{Knapsacks, SizedJob, first_level};
use hindmost_core::cluster::{Applied, Cluster, Job, Node};
use hindmost_core::ids::JobId;
use hindmost_core::record::Event;
use hindmost_core::resources::{MAX_DIMENSIONS, MEMORY};

use crate::orders::effective_time::{effective_time_with, effective_volume};
use crate::placement::by_node::{ByNode, CloneLimits, Fit, Stage};
use crate::placement::candidates_by_level::{Alignment, Levels};
use hindmost_core::policy::losing_copies::Keep;
use hindmost_core::policy::order::{Concerned, Order, concerned};
use hindmost_core::policy::queue_place::Which;

crate::parameters! {
    /// The parameters of DollyMP's order and placement. See the module's documentation.
    pub struct DollympOrderParameters {
        /// standard deviations in an effective time (the paper's r)
        pub deviations: f64 = 1.5, in 0.0..=1e6, unit "standard deviations";
        /// seconds in a slot of Algorithm 1
        pub slot: f64 = 5.0, in 1e-9..=1e9, unit "s";
        /// inner product of shares of the node's capacity, or raw: of cores, GB and whole units
        pub fit: Product = Product::Normalised;
        /// of a job the first open phase of which a copy fits, or the first, whether or not it fits
        pub phase: PhaseChoice = PhaseChoice::Fitting;
    }
}

/// What DollyMP's inner product is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Product {
    /// Shares of the node's capacity.
    Normalised,
    /// Amounts: cores, GB and whole units of all else.
    Raw,
}

crate::words!(Product: Normalised = "normalised", Raw = "raw");

/// Which open phase of a job with something to start DollyMP places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhaseChoice {
    /// The first of which a copy fits.
    Fitting,
    /// The first, whether or not a copy fits.
    First,
}

crate::words!(PhaseChoice: Fitting = "fitting", First = "first");

crate::parameters! {
    /// The parameters of DollyMP's clones. See the module's documentation.
    pub struct DollympParameters {
        /// most clones of a task: DollyMP^0 to DollyMP^3 are 0 to 3
        pub clones: u32 = 2, in 0..=16, unit "clones";
        /// share of the cluster that clones may hold (the paper's delta), or none: no limit
        pub budget: Option<f64> = None, word none, in 0.0..=1.0;
        /// most copies of a task on a node
        pub per_node: u32 = 1, in 1..=16, unit "copies";
        /// clones after originals were tried on every node, or by_node: right after the node's originals
        pub clone_pass: ClonePass = ClonePass::After;
        /// of a finished task's other copies stop all (none), or let one run on: best_locality
        pub keep: Keep = Keep::None;
    }
}

crate::words!(ClonePass: After = "after", ByNode = "by_node");
crate::words!(Keep: None = "none", BestLocality = "best_locality");

/// A job in the order of volumes.
#[derive(Clone, Copy, Debug)]
struct Ranked {
    /// Effective volume, slots.
    volume: f64,
    job: JobId,
    /// The first level that is as long as the job.
    first_level: u32,
    /// 0 before it has one, [`GONE`] once the job stands elsewhere or has ended.
    priority: u32,
}

/// Marks an entry whose job stands elsewhere now or has ended.
const GONE: u32 = u32::MAX;

impl Ranked {
    /// Smallest volume first, then the earlier job.
    fn order(&self, volume: f64, job: JobId) -> Ordering {
        self.volume.total_cmp(&volume).then(self.job.cmp(&job))
    }
}

/// What is found of a job by its id.
#[derive(Clone, Copy, Debug)]
struct Standing {
    /// The volume with which it stands in the order of volumes.
    volume: f64,
    priority: u32,
}

/// Volumes that were added up in another order differ by less than this factor.
const ROUNDING: f64 = 1.0 + 1e-9;

/// The order by DollyMP's priorities. See the module's documentation.
pub struct KnapsackOrder {
    parameters: DollympOrderParameters,
    standings: FxHashMap<JobId, Standing>,
    /// The jobs by volume, as they were when the last one arrived.
    by_volume: Vec<Ranked>,
    /// What they had together then.
    total: f64,
    /// Jobs of which something else remains since then; all of them, if the cluster's size has changed.
    changed: FxHashSet<JobId>,
    all_changed: bool,
    knapsacks: Knapsacks,
    /// Room for the next order of volumes.
    spare: Vec<Ranked>,
}

impl KnapsackOrder {
    /// With these parameters.
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

    /// A job's effective length and volume, of what remains of it, in slots.
    fn size(&self, job: &Job, cluster: &Cluster) -> SizedJob {
        let DollympOrderParameters { deviations, slot, .. } = self.parameters;
        let length = job.longest_remaining_path(|phase| effective_time_with(phase, deviations));
        let volume = |phase| effective_volume(phase, cluster.total(), deviations);
        let volume: f64 = job.phases().iter().map(volume).sum();
        SizedJob { length: length / slot, volume: volume / slot }.finite()
    }

    /// Takes the jobs that have changed out of the order of volumes, and returns those that are unfinished as they are
    /// now, by volume.
    fn take_changed(&mut self, cluster: &Cluster) -> Vec<Ranked> {
        if std::mem::take(&mut self.all_changed) {
            self.changed.extend(cluster.jobs().map(Job::id));
        }
        let mut moved = Vec::with_capacity(self.changed.len());
        let mut changed = std::mem::take(&mut self.changed);
        for job in changed.drain() {
            let before = self.standings.get(&job).copied();
            if let Some(Standing { volume, .. }) = before
                && let Ok(at) = self.by_volume.binary_search_by(|ranked| ranked.order(volume, job))
            {
                self.by_volume[at].priority = GONE;
            }
            let Some(found) = cluster.job(job).filter(|job| job.finished().is_none()) else {
                self.standings.remove(&job);
                continue;
            };
            let (SizedJob { length, volume }, priority) =
                (self.size(found, cluster), before.map_or(0, |at| at.priority));
            self.standings.insert(job, Standing { volume, priority });
            moved.push(Ranked { volume, job, first_level: first_level(length), priority });
        }
        self.changed = changed;
        moved.sort_unstable_by(|one, other| one.order(other.volume, other.job));
        moved
    }

    /// Gives every job its priority anew; returns the jobs that have another one, by id.
    fn rank_anew(&mut self, cluster: &Cluster) -> Vec<JobId> {
        let moved = self.take_changed(cluster);
        // What they have together, or more: some of what they had then is gone.
        let moved_total: f64 = moved.iter().map(|ranked| ranked.volume).sum();
        self.knapsacks.empty((self.total + moved_total) * ROUNDING);
        self.total = 0.0;
        let (mut by_volume, before) = (std::mem::take(&mut self.spare), std::mem::take(&mut self.by_volume));
        let mut others = Vec::new();
        let mut rank = |mut ranked: Ranked| {
            self.total += ranked.volume;
            let now = self.knapsacks.pack(ranked.first_level, ranked.volume);
            if ranked.priority != now {
                ranked.priority = now;
                others.push(ranked.job);
                if let Some(standing) = self.standings.get_mut(&ranked.job) {
                    standing.priority = now;
                }
            }
            by_volume.push(ranked);
        };
        let mut moved = moved.into_iter().peekable();
        for kept in before.iter().filter(|ranked| ranked.priority != GONE) {
            while let Some(earlier) = moved.next_if(|moved| moved.order(kept.volume, kept.job).is_lt()) {
                rank(earlier);
            }
            rank(*kept);
        }
        moved.for_each(rank);
        (self.by_volume, self.spare) = (by_volume, before);
        self.spare.clear();
        others.sort_unstable();
        others
    }
}

impl Order for KnapsackOrder {
    fn key(&self, job: &Job, _cluster: &Cluster) -> f64 {
        self.standings.get(&job.id()).map_or(f64::INFINITY, |standing| f64::from(standing.priority))
    }

    fn observe(&mut self, event: &Event, applied: Applied, cluster: &Cluster) -> Concerned {
        match event {
            Event::JobArrived { job, .. } | Event::DurationsLearned { job, .. } => _ = self.changed.insert(*job),
            Event::AttemptFinished { attempt } if applied.won => _ = self.changed.insert(attempt.task.job),
            Event::NodeJoined { .. } | Event::NodeLost { .. } | Event::NodeReturned { .. } => self.all_changed = true,
            _ => {}
        }
        if !matches!(event, Event::JobArrived { .. }) {
            return concerned(event, applied, false);
        }
        Concerned::These(self.rank_anew(cluster))
    }
}

/// DollyMP's best fit within a level.
pub struct InnerProduct {
    /// Small units of each dimension to one, where the product is of amounts rather than of shares.
    units: Option<[f64; MAX_DIMENSIONS]>,
    phase: PhaseChoice,
}

impl InnerProduct {
    /// With these parameters.
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
                *unit = if **name == *MEMORY { BYTES_PER_GB } else { UNITS_PER_WHOLE };
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

/// When clones are started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClonePass {
    /// After originals have been tried on every node.
    After,
    /// On each node right after its originals.
    ByNode,
}

/// The pass of originals and clones, or of clones alone where another order places the originals.
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
    use hindmost_core::time::Time;
    use hindmost_core::workload::JobSpec;
    use hindmost_math::random::{hash, unit};
    use serde_json::json;

    use super::*;
    use crate::theory::priorities::priorities;

    /// The event is applied, the order sees it, and right after an arrival every key is what Algorithm 1 gives.
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
    fn each_arrival_ranks_all_jobs_as_algorithm_1_does() {
        let mut cluster = Cluster::new(Dimensions::one_slot());
        let mut order = KnapsackOrder::new(DollympOrderParameters::default());
        let draw = |what, at| unit(hash(7, what, at, 0));
        for at in 0..300 {
            if at % 40 == 0 {
                let (node, name) = (NodeId((at / 40) as u32), format!("n{at}").into());
                let joined = Event::NodeJoined { node, name, capacity: Resources::ONE_SLOT, speed: 1.0, rack: None };
                happen(&joined, &mut cluster, &mut order);
            }
            let phase = |name: &str, after: &[u32], what| {
                let (tasks, mean) = (1 + (4.0 * draw(what, at)) as u32, 20.0 * draw(what + 1, at).powi(3) + 0.1);
                json!({ "name": name, "after": after, "tasks": tasks, "demand": {}, "mean": mean, "sd": 0.5, "tail": null })
            };
            let phases = [phase("one", &[], 1), phase("other", &[0], 3)];
            let spec = json!({ "name": "job", "arrival": 0, "deadline": null, "weight": 1.0, "phases": phases });
            let spec: Arc<JobSpec> = Arc::new(serde_json::from_value(spec).unwrap());
            happen(&Event::JobArrived { job: JobId(at as u32), spec }, &mut cluster, &mut order);
            // Of up to eight jobs a task runs and finishes, more or less as many as arrive.
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
