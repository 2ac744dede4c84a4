//! The power that a node draws, and the part of it that is due to one task.
//!
//! The model is that of Zhou, Phan, Ibrahim & He, "Energy-Efficient Speculative Execution using Advanced Reservation
//! for Heterogeneous Clusters", ICPP 2018, section 5.2.2. The power of a node is a static part and a dynamic part. The
//! static part is the idle power of processor, memory and network card. The dynamic part has three terms:
//!
//! - processor: watts per busy core, up to the number of cores (equation 4);
//! - memory: accesses per second of all running tasks × joules per access;
//! - network: bytes per second that tasks receive from other nodes × joules per byte.
//!
//! The power of one task is the power of its node with the task minus the power without it
//! ([`PowerModel::marginal_watts`]). These differences add up to the dynamic power of the node only while the node has
//! at most as many busy cores as cores, and every core draws the same power.
//!
//! Additions to the paper: the processor's power may be a measured curve ([`CpuPower::Curve`]) instead of watts per
//! core, and a task may keep several cores or a part of one core busy. A task's busy cores are its demand of `cpus`; on
//! machines without this dimension, each task has one.
//!
//! ```
//! use hindmost_core::power::{CpuPower, Load, PowerModel, StaticWatts};
//!
//! let model = PowerModel {
//!     static_watts: StaticWatts { cpu: 40.0, memory: 15.0, network: 5.0 },
//!     cpu: CpuPower::PerCore(10.0),
//!     cores: 2.0,
//!     joules_per_access: 0.0,
//!     joules_per_byte: 0.0,
//! };
//! assert_eq!(model.watts(0.0), 60.0);
//! assert_eq!(model.watts(1.0), 70.0);
//! assert_eq!(model.watts(3.0), 80.0); // No more than two cores can be busy.
//! let (task, alone) = (Load::of_cores(1.0), Load::default());
//! assert_eq!(model.marginal_watts(&alone, &task), 10.0);
//! assert_eq!(model.marginal_watts(&Load::of_cores(2.0), &task), 0.0);
//! ```

mod machines;
mod spec;

use std::ops::{Add, Sub};

pub use machines::{MACHINES, Machine};
pub use spec::{OwnPower, PowerSpec};

use hindmost_math::plain::Plain;
use serde::{Deserialize, Serialize};

use crate::resources::{CPUS, Dimensions, Resources};

/// The power model of a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PowerModel {
    /// Power that the node draws even if nothing runs on it, besides the first point of a curve.
    #[serde(default)]
    pub static_watts: StaticWatts,
    /// Power of the processor's busy cores.
    pub cpu: CpuPower,
    /// Number of cores; above 0. Further tasks draw no more processor power.
    pub cores: f64,
    /// Energy of one memory access, joules.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub joules_per_access: f64,
    /// Energy for one byte that the node receives from another node, joules.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub joules_per_byte: f64,
}

/// The static power of a node by component, watts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct StaticWatts {
    /// Idle power of the processor and of everything that no other component has, watts.
    pub cpu: f64,
    /// Idle power of the memory, watts.
    pub memory: f64,
    /// Idle power of the network card, watts.
    pub network: f64,
}

/// How the power of a node depends on its busy cores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CpuPower {
    /// Watts of one busy core.
    PerCore(f64),
    /// Power at increasing utilisations, as (share of the cores that is busy, watts). The first share is 0, the last
    /// one is 1, and the power is linear in between. Published curves, such as those of SPECpower, are of whole
    /// servers: their first point is the idle power of the server, so that [`PowerModel::static_watts`] stays zero.
    Curve(Vec<(f64, f64)>),
}

/// What runs on a node, as far as it needs power. Loads of tasks can be added.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    /// Number of busy cores. May be larger than the number of cores.
    pub busy_cores: f64,
    /// Memory accesses per second.
    pub accesses_per_second: f64,
    /// Bytes per second that are received from other nodes.
    pub bytes_per_second: f64,
}

impl Load {
    /// Returns the load of tasks that only keep cores busy.
    pub fn of_cores(busy_cores: f64) -> Load {
        Load { busy_cores, ..Load::default() }
    }
}

impl Add for Load {
    type Output = Load;

    fn add(self, other: Load) -> Load {
        Load {
            busy_cores: self.busy_cores + other.busy_cores,
            accesses_per_second: self.accesses_per_second + other.accesses_per_second,
            bytes_per_second: self.bytes_per_second + other.bytes_per_second,
        }
    }
}

/// The load without the load of one of its tasks. Rounding never makes a value negative.
impl Sub for Load {
    type Output = Load;

    fn sub(self, other: Load) -> Load {
        Load {
            busy_cores: (self.busy_cores - other.busy_cores).max(0.0),
            accesses_per_second: (self.accesses_per_second - other.accesses_per_second).max(0.0),
            bytes_per_second: (self.bytes_per_second - other.bytes_per_second).max(0.0),
        }
    }
}

impl PowerModel {
    /// Returns the power of the node while this many cores are busy, watts, without dynamic power of memory and
    /// network.
    #[inline]
    pub fn watts(&self, busy_cores: f64) -> f64 {
        let StaticWatts { cpu, memory, network } = self.static_watts;
        let dynamic = match &self.cpu {
            CpuPower::PerCore(watts) => watts * busy_cores.clamp(0.0, self.cores),
            CpuPower::Curve(points) => on_curve(points, (busy_cores / self.cores).clamp(0.0, 1.0)),
        };
        cpu + memory + network + dynamic
    }

    /// Returns the power of the node while nothing runs on it, watts.
    pub fn idle_watts(&self) -> f64 {
        self.watts(0.0)
    }

    /// Returns the power of the node under a load, watts.
    pub fn watts_under(&self, load: &Load) -> f64 {
        self.watts(load.busy_cores) + self.linear_watts(load)
    }

    /// Returns the power of a slot with a task, watts: the power of the node with the task minus the power without it.
    /// `others` is the load of everything else that runs on the node.
    #[inline]
    pub fn marginal_watts(&self, others: &Load, task: &Load) -> f64 {
        let with = self.watts(others.busy_cores + task.busy_cores);
        with - self.watts(others.busy_cores) + self.linear_watts(task)
    }

    /// Returns the dynamic power of memory and network, watts. It is proportional to the load.
    fn linear_watts(&self, load: &Load) -> f64 {
        load.accesses_per_second * self.joules_per_access + load.bytes_per_second * self.joules_per_byte
    }

    /// Checks that all values are in their ranges.
    ///
    /// # Errors
    /// If a value is not a finite number of at least 0, there are no cores, or a curve does not rise from utilisation 0
    /// to 1. The message names the value.
    pub fn check(&self) -> Result<(), String> {
        let StaticWatts { cpu, memory, network } = self.static_watts;
        let amounts = [
            ("the static power of the processor", cpu),
            ("the static power of the memory", memory),
            ("the static power of the network card", network),
            ("the energy of a memory access", self.joules_per_access),
            ("the energy of a transferred byte", self.joules_per_byte),
        ];
        amounts.into_iter().try_for_each(|(what, value)| not_negative(what, value))?;
        if !(self.cores.is_finite() && self.cores > 0.0) {
            return Err(format!("the number of cores is {}, but must be above 0", Plain(self.cores)));
        }
        match &self.cpu {
            CpuPower::PerCore(watts) => not_negative("the power of a busy core", *watts),
            CpuPower::Curve(points) => check_curve(points),
        }
    }
}

/// Returns the power at a utilisation, linear between the points of a curve.
fn on_curve(points: &[(f64, f64)], utilisation: f64) -> f64 {
    let next = points.partition_point(|(at, _)| *at <= utilisation);
    match (next.checked_sub(1).map(|before| points[before]), points.get(next)) {
        (Some((from, low)), Some((to, high))) => low + (high - low) * (utilisation - from) / (to - from),
        (Some((_, watts)), None) | (None, Some(&(_, watts))) => watts,
        (None, None) => 0.0,
    }
}

fn not_negative(what: &str, value: f64) -> Result<(), String> {
    if is_amount(value) { Ok(()) } else { Err(format!("{what} is {}, but must be at least 0", Plain(value))) }
}

fn is_amount(value: f64) -> bool {
    value.is_finite() && value >= 0.0
}

fn check_curve(points: &[(f64, f64)]) -> Result<(), String> {
    let ends = (points.first().map(|point| point.0), points.last().map(|point| point.0));
    if points.len() < 2 || ends != (Some(0.0), Some(1.0)) {
        return Err("the curve must have its first point at utilisation 0 and its last one at 1".to_owned());
    }
    if let Some((at, watts)) = points.iter().find(|(_, watts)| !is_amount(*watts)) {
        return not_negative(&format!("the power at utilisation {}", Plain(*at)), *watts);
    }
    for pair in points.windows(2) {
        let ((before, low), (at, high)) = (pair[0], pair[1]);
        if at.is_nan() || at <= before {
            return Err(format!("utilisation {} comes after {}, but must be above it", Plain(at), Plain(before)));
        }
        if high < low {
            let at = Plain(at);
            return Err(format!("the power falls from {} to {} W at utilisation {at}", Plain(low), Plain(high)));
        }
    }
    Ok(())
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if passes a reference")]
fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

/// Returns how many cores a copy with this demand keeps busy: its `cpus`, or one if the cluster has no such dimension.
pub fn busy_cores(dimensions: &Dimensions, demand: &Resources) -> f64 {
    let at = dimensions.names().iter().position(|name| **name == *CPUS);
    at.map_or(1.0, |at| demand.0[at] as f64 / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::sync::Arc;

    use crate::cluster::Cluster;
    use crate::ids::{AttemptId, JobId, NodeId, TaskId};
    use crate::record::{Decision, Event};
    use crate::time::Time;
    use crate::workload::{DemandByName, InputSpec, JobSpec, PhaseSpec};

    const NODE: NodeId = NodeId(0);

    fn model(cpu: CpuPower) -> PowerModel {
        let static_watts = StaticWatts { cpu: 40.0, memory: 15.0, network: 5.0 };
        PowerModel { static_watts, cpu, cores: 2.0, joules_per_access: 1e-8, joules_per_byte: 2e-8 }
    }

    fn task(index: u32) -> TaskId {
        TaskId { job: JobId(0), phase: 0, index }
    }

    fn attempt(index: u32) -> AttemptId {
        AttemptId { task: task(index), copy: 0 }
    }

    /// A cluster with one node of four slots' worth of cpus but two cores, and one node without a power model. A job of
    /// four tasks of one cpu has arrived; each makes 10^8 memory accesses per second, and task 0 reads from node 0.
    fn cluster() -> Cluster {
        let capacity = DemandByName::from([(CPUS.to_owned(), 4.0)]);
        let dimensions = Dimensions::of([&capacity]).unwrap();
        let capacity = dimensions.amounts(&capacity).unwrap();
        let mut cluster = Cluster::new(dimensions);
        for (at, power) in [Some(Arc::new(model(CpuPower::PerCore(10.0)))), None].into_iter().enumerate() {
            let (node, name) = (NodeId(at as u32), "n".into());
            let joined = Event::NodeJoined { node, name, capacity, speed: 1.0, rack: None, power };
            cluster.apply_event(Time::ZERO, &joined).unwrap();
        }
        let replicas = vec![vec![NODE]; 4];
        let phase = PhaseSpec {
            input: Some(InputSpec { bytes: vec![1000; 4], replicas }),
            memory_accesses: 1e8,
            ..PhaseSpec::new("map", 4, 1.0)
        };
        let spec = JobSpec::new("job", vec![phase]);
        cluster.apply_event(Time::ZERO, &Event::JobArrived { job: JobId(0), spec: Arc::new(spec) }).unwrap();
        cluster
    }

    fn start(cluster: &mut Cluster, index: u32) {
        let start = Decision::Start { attempt: attempt(index), node: NODE, from_progress: 0.0 };
        cluster.apply_decision(Time::ZERO, &start).unwrap();
    }

    #[test]
    fn power_grows_per_core_up_to_the_cores() {
        let model = model(CpuPower::PerCore(10.0));
        // 40 + 15 + 5 W static.
        assert_eq!([0.0, 0.5, 1.0, 2.0, 5.0].map(|busy| model.watts(busy)), [60.0, 65.0, 70.0, 80.0, 80.0]);
        // 10^8 accesses/s × 10 nJ = 1 W; 10^8 bytes/s × 20 nJ = 2 W.
        let load = Load { busy_cores: 1.0, accesses_per_second: 1e8, bytes_per_second: 1e8 };
        assert!((model.watts_under(&load) - 73.0).abs() < 1e-9);
        assert!((model.marginal_watts(&Load::of_cores(1.0), &load) - 13.0).abs() < 1e-9);
        assert!((model.marginal_watts(&Load::of_cores(2.0), &load) - 3.0).abs() < 1e-9);
    }

    #[test]
    fn power_is_linear_between_points_of_a_curve() {
        let mut model = model(CpuPower::Curve(vec![(0.0, 50.0), (0.5, 100.0), (1.0, 120.0)]));
        model.static_watts = StaticWatts::default();
        assert_eq!(model.idle_watts(), 50.0);
        // Half of a core of two is a quarter of full load.
        assert_eq!([0.5, 1.0, 1.5, 2.0, 3.0].map(|busy| model.watts(busy)), [75.0, 100.0, 110.0, 120.0, 120.0]);
        // The second task adds less than the first.
        let one = Load::of_cores(1.0);
        assert_eq!([0.0, 1.0].map(|others| model.marginal_watts(&Load::of_cores(others), &one)), [50.0, 20.0]);
    }

    #[test]
    fn a_slots_power_depends_on_what_else_runs() {
        let mut cluster = cluster();
        // A first task draws 10 W for its core and 1 W for its accesses, a transfer of 10^8 bytes/s 2 W more.
        let copy = |cluster: &Cluster, leaving, bytes| cluster.watts_of_copy(task(0), NODE, leaving, bytes).unwrap();
        assert!((copy(&cluster, None, 0.0) - 11.0).abs() < 1e-9);
        assert!((copy(&cluster, None, 1e8) - 13.0).abs() < 1e-9);
        assert_eq!(cluster.watts_of_copy(task(0), NodeId(1), None, 0.0), None);
        assert_eq!(cluster.watts_of_attempt(attempt(0), 0.0), None);
        start(&mut cluster, 0);
        start(&mut cluster, 1);
        assert_eq!(cluster.load(NODE), Load { busy_cores: 2.0, accesses_per_second: 2e8, bytes_per_second: 0.0 });
        assert!((cluster.watts_of_attempt(attempt(0), 0.0).unwrap() - 11.0).abs() < 1e-9);
        // Both cores are busy: a third task draws power for its accesses only, unless it takes another one's place.
        assert!((copy(&cluster, None, 0.0) - 1.0).abs() < 1e-9);
        assert!((copy(&cluster, Some(attempt(1)), 0.0) - 11.0).abs() < 1e-9);
        start(&mut cluster, 2);
        assert!((cluster.watts_of_attempt(attempt(0), 0.0).unwrap() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_local_read_transfers_nothing() {
        let cluster = cluster();
        assert_eq!([0, 1].map(|node| cluster.transferred_bytes(task(0), NodeId(node))), [0, 1000]);
        assert_eq!(cluster.transferred_bytes(task(9), NODE), 0);
    }

    #[test]
    fn bad_models_are_refused_with_a_reason() {
        let curve = |points: &[(f64, f64)]| model(CpuPower::Curve(points.to_vec())).check().unwrap_err();
        assert!(curve(&[]).contains("first point at utilisation 0"));
        assert!(curve(&[(0.0, 1.0), (0.5, 2.0)]).contains("last one at 1"));
        assert!(curve(&[(0.0, 1.0), (0.5, 2.0), (0.5, 2.0), (1.0, 3.0)]).contains("0.5 comes after 0.5"));
        assert!(curve(&[(0.0, 1.0), (f64::NAN, 2.0), (1.0, 3.0)]).contains("NaN"));
        assert!(curve(&[(0.0, 5.0), (1.0, 3.0)]).contains("falls from 5 to 3 W"));
        assert!(curve(&[(0.0, f64::INFINITY), (1.0, 3.0)]).contains("must be at least 0"));
        assert!(model(CpuPower::PerCore(-1.0)).check().unwrap_err().contains("busy core is -1"));
        let no_cores = PowerModel { cores: 0.0, ..model(CpuPower::PerCore(1.0)) };
        let joined = Event::NodeJoined {
            node: NODE,
            name: "n".into(),
            capacity: Resources::ONE_SLOT,
            speed: 1.0,
            rack: None,
            power: Some(Arc::new(no_cores)),
        };
        let refused = Cluster::new(Dimensions::one_slot()).apply_event(Time::ZERO, &joined).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "node 0 can't have its power model: the number of cores is 0, but must be above 0"
        );
    }

    #[test]
    fn a_node_without_a_model_keeps_its_bytes() {
        let old = r#"{"node_joined":{"node":0,"name":"n","capacity":[1000,0,0,0,0,0,0,0],"speed":1.0}}"#;
        let event: Event = serde_json::from_str(old).unwrap();
        assert_eq!(serde_json::to_string(&event).unwrap(), old);
        let Event::NodeJoined { node, name, capacity, speed, rack, .. } = event else { panic!("{event:?}") };
        let power = Some(Arc::new(model(CpuPower::Curve(vec![(0.0, 50.0), (1.0, 120.5)]))));
        let event = Event::NodeJoined { node, name, capacity, speed, rack, power };
        let text = serde_json::to_string(&event).unwrap();
        assert!(text.contains(r#""power":{"static_watts":{"cpu":40.0,"memory":15.0,"network":5.0},"cpu":{"curve":[["#));
        assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event);
    }
}
