//! Random worlds: clusters, jobs, what policies know, and one kind of what may happen besides.

use std::sync::Arc;

use hindmost_core::ids::NodeId;
use hindmost_core::policy::losing_copies::Keep;
use hindmost_core::power::{CpuPower, PowerModel, StaticWatts};
use hindmost_core::time::Time;
use hindmost_core::workload::InputSpec;
use hindmost_sim::driver::AsRecorded;
use hindmost_sim::testing::World;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::policies::any_knowledge;
use super::queues::QUEUES;
use crate::live_like::{any_edges, any_placement, edges};

/// A random phase. Bit `i` of `parents` says whether the phase depends on phase `i`, if that is an earlier one.
#[derive(Clone, Debug)]
struct PhasePlan {
    tasks: u32,
    durations: &'static str,
    cpus: f64,
    memory: f64,
    parents: u8,
    /// Bits for [`edges`].
    edges: u16,
}

#[derive(Clone, Debug)]
struct JobPlan {
    gap: f64,
    weight: f64,
    deadline: Option<f64>,
    queue: Option<&'static str>,
    phases: Vec<PhasePlan>,
}

fn any_job() -> impl Strategy<Value = JobPlan> {
    let durations = vec![
        "1",
        "uniform(min=0.5,max=3)",
        "exponential(mean=2)",
        "pareto(alpha=2,mean=1)",
        "pareto(alpha=1.3,mean=1.5)",
        "log_normal(mean=1,cv=2)",
        "weibull(shape=0.5,mean=1)",
    ];
    let phase = (1..9u32, select(durations), 1..5u32, 0..4u32, any::<u8>(), any_edges()).prop_map(
        |(tasks, durations, cpus, memory, parents, edges)| PhasePlan {
            tasks,
            durations,
            cpus: f64::from(cpus) / 2.0,
            memory: f64::from(memory) * 1e9,
            parents,
            edges,
        },
    );
    // Several jobs often arrive at the same time, and most arrivals are multiples of 0.5 s, so that events coincide.
    let gap = select(vec![0.0, 0.0, 0.5, 1.0, 2.0, 0.123_456_789]);
    let weight = select(vec![1.0, 1.0, 2.0, 0.3]);
    let deadline = option::weighted(0.3, 0.5..15.0f64);
    let queues = vec![None, Some("a"), Some("a.x"), Some("a.y"), Some("b"), Some("c"), Some("nowhere")];
    (gap, weight, deadline, select(queues), vec(phase, 1..4))
        .prop_map(|(gap, weight, deadline, queue, phases)| JobPlan { gap, weight, deadline, queue, phases })
}

const NAMES: [&str; 4] = ["p0", "p1", "p2", "p3"];

fn with_jobs(mut world: World, jobs: &[JobPlan]) -> World {
    let mut arrival = 0.0;
    for (number, job) in jobs.iter().enumerate() {
        arrival += job.gap;
        world = world.job(&number.to_string()).at(arrival).weight(job.weight);
        world = job.queue.into_iter().fold(world, World::queue);
        world = job.deadline.into_iter().fold(world, World::deadline);
        for (at, phase) in job.phases.iter().enumerate() {
            let parents: Vec<&str> =
                (0..at).filter(|parent| phase.parents >> parent & 1 == 1).map(|parent| NAMES[parent]).collect();
            let is_parent = |parent: &u32| phase.parents >> parent & 1 == 1;
            let edges = (0..at as u32)
                .filter(is_parent)
                .filter_map(|parent| edges(phase.edges, parent, (job.phases[parent as usize].tasks, phase.tasks)));
            world = world.phase(NAMES[at]).after(parents).edges(edges.collect());
            world = world.drawn(phase.tasks, phase.durations);
            world = world.demand([("cpus", phase.cpus), ("memory", phase.memory)]);
        }
    }
    world
}

/// Creates a cluster of nodes with these numbers of cpus, GB of memory and speeds.
fn nodes_of(nodes: &[(u32, u32, f64)]) -> World {
    let capacities =
        nodes.iter().map(|(cpus, memory, _)| [("cpus", f64::from(*cpus)), ("memory", f64::from(*memory) * 1e9)]);
    World::nodes(capacities).speeds(nodes.iter().map(|node| node.2))
}

prop_compose! {
    /// Draws a cluster of nodes with several resources and different speeds, and jobs of several phases.
    pub fn any_cluster_of_dags()(
        nodes in vec((2..6u32, 3..9u32, 0.3..3.0f64), 1..9),
        jobs in vec(any_job(), 1..9),
        slot in select(vec![0.0, 0.0, 0.3, 1.0]),
        placement in any_placement(),
        seed in any::<u64>(),
    ) -> World {
        with_jobs(nodes_of(&nodes).slot(slot).seed(seed).placement(placement), &jobs)
    }
}

prop_compose! {
    /// Draws a cluster of one-slot machines or of nodes, its jobs, and what policies know of them.
    fn any_usual_world()(
        one_slot in option::weighted(0.4, 1..12u32),
        world in any_cluster_of_dags(),
        knowledge in any_knowledge(),
        noise in select(vec![0.0, 0.0, 0.5]),
        correlation in select(vec![0.0, 0.5, 1.0]),
        slow_from in select(vec![0.0, 0.0, 0.4]),
        gamma in select(vec![0.0, 0.01, 1.0]),
    ) -> World {
        let mut world = world;
        if let Some(machines) = one_slot {
            let one_slot = World::machines(machines);
            (world.setup.nodes, world.setup.dimensions) = (one_slot.setup.nodes, one_slot.setup.dimensions);
        }
        world.knowledge(&knowledge).noise(noise).correlation(correlation).slow_from(slow_from).gamma(gamma)
    }
}

/// Periods of a neighbour that begins quiet: quiet, busy, slow-down.
pub type Load = (f64, f64, f64);

/// What may happen in a world besides its jobs.
#[derive(Clone, Debug)]
pub enum Happening {
    /// Nodes are lost and return, or leave.
    Losses,
    /// Tasks read input, and a losing copy may keep running. Nodes are lost as well.
    Reading,
    /// Rates change: contention, and neighbours of the nodes.
    Rates(Vec<Option<Load>>),
    /// Jobs are submitted to queues.
    Queues,
    /// Nodes have power models. Nodes are lost, tasks may read input through a network with these bandwidths, and the run may stop
    /// at a horizon.
    Power { network: Option<(f64, f64)>, stops: Option<f64> },
}

/// Losses on a grid, so that they coincide with other events: outages as (node, from, duration), and nodes that leave, and
/// when, in half seconds.
type Losses = (Vec<(u32, u32, u32)>, Vec<(u32, u32)>);

/// Often no losses; otherwise a few.
fn any_losses() -> impl Strategy<Value = Losses> {
    let outage = (any::<u32>(), 0..24u32, 1..12u32);
    let outages = prop_oneof![Just(Vec::new()), vec(outage, 1..8)];
    let leaving = prop_oneof![3 => Just(Vec::new()), 1 => vec((any::<u32>(), 0..24u32), 1..4)];
    (outages, leaving)
}

fn with_losses(mut world: World, (outages, leaving): &Losses) -> World {
    let nodes = world.setup.nodes.len() as u32;
    for (node, from, duration) in outages {
        let from = f64::from(*from) / 2.0;
        world = world.outage(node % nodes, from, from + f64::from(*duration) / 2.0);
    }
    let of = |(node, at): &(u32, u32)| (NodeId(node % nodes), Time::from_seconds(f64::from(*at) / 2.0));
    let leaving: Vec<(NodeId, Time)> = leaving.iter().map(of).collect();
    if !leaving.is_empty() {
        world.setup.as_recorded = Some(Arc::new(AsRecorded { leaving, ..AsRecorded::default() }));
    }
    world
}

prop_compose! {
    fn any_reading()(
        losses in any_losses(),
        racks in vec(select(vec!["a", "b", "c"]), 12),
        bytes in vec(0..500u64, 1..5),
        replicas in vec(vec(any::<u32>(), 0..4), 1..7),
        remote in select(vec![20.0, 100.0, f64::INFINITY]),
        delay in option::of(select(vec![0.0, 0.5, 100.0])),
        keep in any::<bool>(),
        world in any_usual_world(),
    ) -> World {
        let nodes = world.setup.nodes.len() as u32;
        let mut world = with_losses(world, &losses).racks(racks).network(2.0 * remote, remote);
        world = if let Some(delay) = delay { world.delay(delay) } else { world };
        for phase in world.jobs.iter_mut().flat_map(|job| &mut job.spec.phases) {
            let tasks = phase.tasks as usize;
            let on = |nodes_of: &Vec<u32>| nodes_of.iter().map(|node| NodeId(node % nodes)).collect();
            let lies_on = || replicas.iter().map(on).cycle().take(tasks).collect();
            let replicas = if phase.after.is_empty() { lies_on() } else { Vec::new() };
            let bytes = bytes.iter().copied().cycle().take(tasks).collect();
            phase.input = Some(InputSpec { bytes, replicas });
        }
        world.keeping(if keep { Keep::BestLocality } else { Keep::None })
    }
}

fn any_load() -> impl Strategy<Value = Load> {
    let seconds = select(vec![0.25, 0.5, 1.0, 1.7, 4.0]);
    (seconds.clone(), seconds, select(vec![1.0, 1.5, 2.0, 5.0]))
}

prop_compose! {
    fn any_rates()(
        world in any_cluster_of_dags(),
        knowledge in any_knowledge(),
        degree in select(vec![1.0, 1.5, 2.5, 8.0]),
        exponent in select(vec![0.5, 1.0, 2.0]),
        loads in vec(option::of(any_load()), 8),
        stragglers in option::of((0.0..=1.0f64, any::<bool>())),
        learned in any::<bool>(),
        noise in select(vec![0.0, 0.0, 0.5]),
        slow_from in select(vec![0.0, 0.0, 0.4]),
    ) -> (World, Happening) {
        let nodes = world.setup.nodes.len();
        let mut world = world.contention(degree, exponent).knowledge(&knowledge).noise(noise).slow_from(slow_from);
        for (node, load) in loads.iter().enumerate().take(nodes) {
            if let Some((quiet, busy, slowdown)) = load {
                world = world.neighbour_on(node, *quiet, *busy, *slowdown);
            }
        }
        if let Some((ratio, copies)) = stragglers {
            world = world.stragglers(ratio, 2.0, copies);
        }
        if learned {
            world = world.learned_speeds();
        }
        (world, Happening::Rates(loads))
    }
}

prop_compose! {
    fn any_model()(
        fixed in prop::array::uniform3(0.0..30.0f64),
        curve in option::of(vec(0.0..40.0f64, 2..6)),
        per_core in 0.0..20.0f64,
        cores in 1..8u32,
        joules in (0.0..1e-3f64, 0.0..1e-3f64),
    ) -> PowerModel {
        let [cpu_watts, memory, network] = fixed;
        let mut watts = 0.0;
        let rising = |steps: Vec<f64>| {
            let last = (steps.len() - 1) as f64;
            let point = |(at, step): (usize, f64)| { watts += step; (at as f64 / last, watts) };
            steps.into_iter().enumerate().map(point).collect()
        };
        PowerModel {
            static_watts: StaticWatts { cpu: cpu_watts, memory, network },
            cpu: curve.map(rising).map_or(CpuPower::PerCore(per_core), CpuPower::Curve),
            cores: f64::from(cores) / 2.0,
            joules_per_access: joules.0,
            joules_per_byte: joules.1,
        }
    }
}

prop_compose! {
    fn any_power()(
        world in any_cluster_of_dags(),
        models in vec(any_model(), 3),
        knowledge in any_knowledge(),
        accesses in vec(0.0..1e4f64, 3),
        inputs in vec(option::of((0..5000u64, vec(0..9u32, 0..3))), 3),
        network in option::of((500.0..5000.0f64, 100.0..500.0f64)),
        outages in vec((0..9u32, 0.0..8.0f64, 0.0..4.0f64), 0..4),
        stops in option::weighted(0.3, 1.0..12.0f64),
    ) -> (World, Happening) {
        let mut world = world;
        let nodes = world.setup.nodes.len() as u32;
        for (at, node) in world.setup.nodes.iter_mut().enumerate() {
            node.power = Some(models[at % models.len()].clone().into());
        }
        for (number, phase) in world.jobs.iter_mut().flat_map(|job| &mut job.spec.phases).enumerate() {
            phase.memory_accesses = accesses[number % accesses.len()];
            // Only phases without parents: their reading times do not depend on other copies.
            if let Some((bytes, on)) = inputs[number % inputs.len()].as_ref().filter(|_| phase.after.is_empty()) {
                let replicas = on.iter().map(|node| NodeId(node % nodes)).collect();
                let tasks = phase.tasks as usize;
                phase.input = Some(InputSpec { bytes: vec![*bytes; tasks], replicas: vec![replicas; tasks] });
            }
        }
        for (node, from, length) in outages {
            world = world.outage(node % nodes, from, from + length);
        }
        world = network.into_iter().fold(world, |world, (rack, remote)| world.network(rack, remote));
        world = stops.into_iter().fold(world, World::stop_at).knowledge(&knowledge);
        (world, Happening::Power { network, stops })
    }
}

/// Draws a world with what happens in it.
pub fn any_world() -> impl Strategy<Value = (World, Happening)> {
    let losses = (any_usual_world(), any_losses());
    prop_oneof![
        4 => losses.prop_map(|(world, losses)| (with_losses(world, &losses), Happening::Losses)),
        3 => any_reading().prop_map(|world| (world, Happening::Reading)),
        1 => any_rates(),
        1 => any_usual_world().prop_map(|world| (world.queues(QUEUES), Happening::Queues)),
        1 => any_power(),
    ]
}
