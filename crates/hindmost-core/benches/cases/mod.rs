//! The case that is measured: 1 000 jobs on 30 000 machines, of one slot each or of several resources.

use std::hint::black_box;
use std::sync::Arc;

use hindmost_core::cluster::Cluster;
use hindmost_core::distribution::Distribution;
use hindmost_core::estimator::{Estimator, Knowledge, estimator};
use hindmost_core::ids::{JobId, NodeId};
use hindmost_core::policy::Policy;
use hindmost_core::policy::catalogue::{Setting, build};
use hindmost_core::record::{Decision, Event};
use hindmost_core::resources::{Dimensions, Resources};
use hindmost_core::time::Time;
use hindmost_core::workload::{DemandByName, JobSpec, PhaseSpec};

pub const MACHINES: u32 = 30_000;
pub const JOBS: u32 = 1_000;
const GB: f64 = 1024.0 * 1024.0 * 1024.0;

/// What the machines are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machines {
    /// One slot each.
    OneSlot,
    /// Cores and memory, in the proportions of Xu, Liu & Lau 2022: 2 of 24 cores and 48 GB, 7 of 16 cores and 32
    /// to 64 GB, 21 of 8 cores and 16 GB, of every 30.
    Heterogeneous,
}

/// A cluster with its policy.
pub struct World {
    machines: Machines,
    cluster: Cluster,
    policy: Policy,
    estimator: Box<dyn Estimator>,
}

fn amounts(cpus: f64, gigabytes: f64) -> DemandByName {
    DemandByName::from([("cpus".to_owned(), cpus), ("memory".to_owned(), gigabytes * GB)])
}

fn capacity(node: u32) -> DemandByName {
    match node % 30 {
        0 | 1 => amounts(24.0, 48.0),
        at @ 2..=8 => amounts(16.0, if at % 2 == 0 { 32.0 } else { 64.0 }),
        _ => amounts(8.0, 16.0),
    }
}

fn phase(name: &str, after: Vec<u32>, tasks: u32, mean: f64, demand: DemandByName) -> PhaseSpec {
    PhaseSpec {
        name: name.into(),
        after,
        tasks,
        demand,
        mean,
        sd: Some(mean),
        tail: Distribution::pareto_with_mean(2.4, mean).ok(),
        input: None,
        assumed: false,
        never_copied: false,
    }
}

/// Of one phase of 1 to 50 tasks on one-slot machines; elsewhere two phases, 40 kinds of demands, 1 to 50
/// tasks first.
fn job(number: u32, machines: Machines) -> Arc<JobSpec> {
    let mean = 1.0 + f64::from(number % 7) / 2.0;
    let phases = match machines {
        Machines::OneSlot => vec![PhaseSpec {
            sd: None,
            tail: Distribution::pareto_with_mean(2.0, mean).ok(),
            ..phase("tasks", Vec::new(), 1 + number % 50, mean, DemandByName::new())
        }],
        Machines::Heterogeneous => {
            let (cpus, gigabytes) = (1.0 + f64::from(number % 5), 1.0 + f64::from(number % 8));
            vec![
                phase("map", Vec::new(), 1 + number * 7 % 50, 10.0 * mean, amounts(cpus, gigabytes)),
                phase("reduce", vec![0], 1 + number % 20, 15.0 * mean, amounts(2.0, 4.0)),
            ]
        }
    };
    let name = number.to_string().into();
    Arc::new(JobSpec { name, arrival: Time::ZERO, deadline: None, weight: 1.0, queue: None, phases })
}

impl World {
    /// `JOBS` jobs have arrived on empty machines; nothing is decided yet.
    pub fn new(machines: Machines, policy: &str) -> World {
        let setting = Setting { order: "smallest_workload", gamma: 0.01, queues: &[] };
        let spec = policy.parse().expect("a policy's name");
        let dimensions = match machines {
            Machines::OneSlot => Dimensions::one_slot(),
            Machines::Heterogeneous => Dimensions::of([&capacity(0)]).expect("two dimensions"),
        };
        let mut world = World {
            machines,
            cluster: Cluster::new(dimensions.clone()),
            policy: build(&spec, &setting).expect("a policy of the catalogue"),
            estimator: estimator(Knowledge::Progress(0.2)),
        };
        for node in 0..MACHINES {
            let capacity = match machines {
                Machines::OneSlot => Resources::ONE_SLOT,
                Machines::Heterogeneous => dimensions.amounts(&capacity(node)).expect("amounts"),
            };
            let name = format!("n{node}").into();
            world.tell(&Event::NodeJoined { node: NodeId(node), name, capacity, speed: 1.0, rack: None });
        }
        for number in 0..JOBS {
            world.arrive(number);
        }
        world
    }

    /// As `new`, and everything that fits has been started.
    pub fn busy(machines: Machines, policy: &str) -> World {
        let mut world = World::new(machines, policy);
        world.decide();
        world
    }

    fn arrive(&mut self, number: u32) {
        let spec = job(number, self.machines);
        self.tell(&Event::JobArrived { job: JobId(number), spec });
    }

    fn tell(&mut self, event: &Event) {
        let applied = self.cluster.apply_event(Time::ZERO, event).expect("a record that fits");
        let mut decisions = Vec::new();
        self.policy
            .observe(event, applied, &mut self.cluster, &*self.estimator, &mut decisions)
            .expect("reactions that fit");
    }

    /// A round; the number of decisions.
    pub fn decide(&mut self) -> usize {
        let mut decisions: Vec<Decision> = Vec::new();
        self.policy.decide(&mut self.cluster, &*self.estimator, &mut decisions).expect("decisions that fit");
        black_box(decisions.len())
    }

    /// One more job arrives, and a round; the number of decisions.
    pub fn after_one_arrival(&mut self) -> usize {
        self.arrive(JOBS);
        self.decide()
    }
}
