//! How long a policy takes to decide for 1 000 jobs on 30 000 machines: from scratch, and after one
//! more arrival on a busy cluster.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use hindmost_core::cluster::Cluster;
use hindmost_core::distribution::Distribution;
use hindmost_core::estimator::{Estimator, Knowledge, estimator};
use hindmost_core::ids::{JobId, NodeId};
use hindmost_core::policy::Policy;
use hindmost_core::policy::catalogue::{Setting, build};
use hindmost_core::record::Event;
use hindmost_core::resources::{Dimensions, Resources};
use hindmost_core::time::Time;
use hindmost_core::workload::{DemandByName, JobSpec, PhaseSpec};

const MACHINES: u32 = 30_000;
const JOBS: u32 = 1_000;

struct World {
    cluster: Cluster,
    policy: Policy,
    estimator: Box<dyn Estimator>,
}

fn job(number: u32) -> Arc<JobSpec> {
    let mean = 1.0 + f64::from(number % 7) / 2.0;
    let phase = PhaseSpec {
        name: "tasks".into(),
        after: Vec::new(),
        tasks: 1 + number % 50,
        demand: DemandByName::new(),
        mean,
        sd: None,
        tail: Distribution::pareto_with_mean(2.0, mean).ok(),
        input: None,
        assumed: false,
        never_copied: false,
    };
    Arc::new(JobSpec {
        name: number.to_string().into(),
        arrival: Time::ZERO,
        deadline: None,
        weight: 1.0,
        queue: None,
        phases: vec![phase],
    })
}

impl World {
    /// `JOBS` jobs have arrived on empty machines, one slot each; nothing is decided yet.
    fn new(policy: &str) -> World {
        let setting = Setting { order: "smallest_workload", gamma: 0.01, queues: &[] };
        let spec = policy.parse().expect("a policy's name");
        let mut world = World {
            cluster: Cluster::new(Dimensions::one_slot()),
            policy: build(&spec, &setting).expect("a policy of the catalogue"),
            estimator: estimator(Knowledge::Progress(0.2)),
        };
        for node in 0..MACHINES {
            let name = format!("n{node}").into();
            world.tell(&Event::NodeJoined {
                node: NodeId(node),
                name,
                capacity: Resources::ONE_SLOT,
                speed: 1.0,
                rack: None,
            });
        }
        for number in 0..JOBS {
            world.tell(&Event::JobArrived { job: JobId(number), spec: job(number) });
        }
        world
    }

    fn tell(&mut self, event: &Event) {
        let applied = self.cluster.apply_event(Time::ZERO, event).expect("a record that fits");
        let mut decisions = Vec::new();
        self.policy
            .observe(event, applied, &mut self.cluster, &*self.estimator, &mut decisions)
            .expect("reactions that fit");
    }

    fn decide(&mut self) -> usize {
        let mut decisions = Vec::new();
        self.policy.decide(&mut self.cluster, &*self.estimator, &mut decisions).expect("decisions that fit");
        decisions.len()
    }
}

fn decide(criterion: &mut Criterion) {
    for policy in ["none", "fair+none", "mantri", "sca", "sda", "ese", "late", "spark", "hadoop"] {
        let mut group = criterion.benchmark_group(format!("1000 jobs, 30000 machines, {policy}"));
        group.sample_size(10);
        group.bench_function("from scratch", |bencher| {
            bencher.iter_batched_ref(|| World::new(policy), |world| black_box(world.decide()), BatchSize::PerIteration);
        });
        group.bench_function("after one arrival", |bencher| {
            let busy = || {
                let mut world = World::new(policy);
                world.decide();
                world
            };
            let arrive = |world: &mut World| {
                world.tell(&Event::JobArrived { job: JobId(JOBS), spec: job(JOBS) });
                black_box(world.decide())
            };
            bencher.iter_batched_ref(busy, arrive, BatchSize::PerIteration);
        });
        group.finish();
    }
}

criterion_group!(benches, decide);
criterion_main!(benches);
