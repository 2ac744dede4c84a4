//! The cluster and the jobs of an instance, as its file writes them.

use std::collections::BTreeMap;
use std::sync::Arc;

use hindmost_core::cluster::Placement;
use hindmost_core::ids::NodeId;
use hindmost_core::policy::losing_copies::Keep;
use hindmost_core::power::PowerModel;
use hindmost_core::profiles::{Conditions, Profile};
use hindmost_core::time::Time;
use hindmost_core::workload::DemandByName;
use hindmost_sim::driver::AsRecorded;
use hindmost_sim::parameter::Parameter;
use hindmost_sim::testing::World;
use hindmost_testing::expected::{expanded, number};
use serde::Deserialize;
use toml::Value;

/// The keys of a cluster, of what policies know about it, and its jobs. CONTRIBUTING.md describes them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorldKeys {
    machines: Option<u32>,
    nodes: Option<Vec<Value>>,
    speeds: Option<Vec<f64>>,
    racks: Option<Vec<String>>,
    hosts: Option<Vec<String>>,
    placement: Option<Placement>,
    network: Option<NetworkKeys>,
    #[serde(default)]
    keep_nearest: bool,
    #[serde(default)]
    outages: Vec<OutageKeys>,
    #[serde(default)]
    leaving: Vec<LeavingKeys>,
    contention: Option<ContentionKeys>,
    neighbour: Option<NeighbourKeys>,
    failures: Option<FailureKeys>,
    stragglers: Option<StragglerKeys>,
    power: Option<PowerModel>,
    #[serde(default)]
    queues: Vec<QueueKeys>,
    profiles: Option<ProfileKeys>,
    order: Option<String>,
    slot: Option<f64>,
    stop_at: Option<f64>,
    gamma: Option<f64>,
    knowledge: Option<String>,
    noise: Option<f64>,
    correlation: Option<f64>,
    slow_from: Option<f64>,
    seed: Option<u64>,
    #[serde(default)]
    jobs: Vec<JobKeys>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NetworkKeys {
    rack: f64,
    remote: f64,
    delay: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OutageKeys {
    node: u32,
    from: f64,
    until: f64,
}

/// A node that takes no more attempts from a time on.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LeavingKeys {
    node: u32,
    at: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ContentionKeys {
    degree: f64,
    exponent: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NeighbourKeys {
    node: usize,
    quiet: f64,
    busy: f64,
    slowdown: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FailureKeys {
    node: usize,
    between: f64,
    repair: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StragglerKeys {
    ratio: f64,
    slowdown: f64,
    copies: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct QueueKeys {
    name: String,
    guaranteed: f64,
    maximum: f64,
}

/// So many profiles of a job on each machine, with these durations.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProfileKeys {
    job: String,
    tasks: u32,
    each: usize,
    seconds: Vec<f64>,
}

#[derive(Deserialize)]
struct JobKeys {
    name: String,
    /// This many equal jobs, whose names end in numbers from 0.
    times: Option<u32>,
    at: Option<f64>,
    deadline: Option<f64>,
    queue: Option<String>,
    weight: Option<f64>,
    /// The phases; without them the job has one phase, whose keys stand beside its own.
    phases: Option<Vec<PhaseKeys>>,
    #[serde(flatten)]
    only_phase: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PhaseKeys {
    #[serde(default = "only_phase")]
    name: String,
    #[serde(default)]
    after: Vec<String>,
    tasks: Value,
    seconds: Option<Value>,
    mean: Option<f64>,
    sd: Option<f64>,
    tail: Option<String>,
    demand: Option<DemandByName>,
    input: Option<Value>,
    replicas: Option<Vec<Value>>,
    accesses: Option<f64>,
    #[serde(default)]
    restarts: bool,
}

fn only_phase() -> String {
    "tasks".to_owned()
}

/// Applies a key to a world if the file has it.
fn set<T>(world: World, key: Option<T>, apply: impl FnOnce(World, T) -> World) -> World {
    match key {
        Some(value) => apply(world, value),
        None => world,
    }
}

impl WorldKeys {
    /// Builds the world.
    pub fn world(self) -> World {
        let world = match (self.machines, &self.nodes) {
            (Some(machines), None) => World::machines(machines),
            (None, Some(nodes)) => World::of_capacities(&expanded(nodes).into_iter().map(capacity).collect::<Vec<_>>()),
            _ => panic!("either `machines` or `nodes` must be given"),
        };
        let world = set(world, self.speeds, World::speeds);
        let world = set(world, self.racks, |world, racks| world.racks(racks.iter().map(String::as_str)));
        let world = set(world, self.hosts, |world, hosts| world.hosts(hosts.iter().map(String::as_str)));
        let world = set(world, self.placement, World::placement);
        let world = set(world, self.network, |world, network| {
            set(world.network(network.rack, network.remote), network.delay, World::delay)
        });
        let world = if self.keep_nearest { world.keeping(Keep::BestLocality) } else { world };
        let world = self.outages.iter().fold(world, |world, one| world.outage(one.node, one.from, one.until));
        let mut world = world;
        if !self.leaving.is_empty() {
            let leaving = self.leaving.iter().map(|one| (NodeId(one.node), Time::from_seconds(one.at))).collect();
            world.setup.as_recorded = Some(Arc::new(AsRecorded { leaving, ..AsRecorded::default() }));
        }
        let world = set(world, self.contention, |world, one| world.contention(one.degree, one.exponent));
        let world =
            set(world, self.neighbour, |world, one| world.neighbour_on(one.node, one.quiet, one.busy, one.slowdown));
        let world = set(world, self.failures, |world, one| {
            world.failures_on(one.node, Parameter::Number(one.between), Parameter::Number(one.repair))
        });
        let world = set(world, self.stragglers, |world, one| world.stragglers(one.ratio, one.slowdown, one.copies));
        let world = set(world, self.power, World::power);
        let queues = self.queues.iter().map(|queue| (queue.name.as_str(), queue.guaranteed, queue.maximum));
        let world = world.queues(queues);
        let world = set(world, self.profiles, |world, profiles| world.profiles(profiles.profiles()));
        let world = set(world, self.order, |world, order| world.order(&order));
        let world = set(world, self.slot, World::slot);
        let world = set(world, self.stop_at, World::stop_at);
        let world = set(world, self.gamma, World::gamma);
        let world = set(world, self.knowledge, |world, knowledge| world.knowledge(&knowledge));
        let world = set(world, self.noise, World::noise);
        let world = set(world, self.correlation, World::correlation);
        let world = set(world, self.slow_from, World::slow_from);
        let world = set(world, self.seed, World::seed);
        self.jobs.into_iter().fold(world, |world, job| job.add_to(world))
    }
}

impl ProfileKeys {
    fn profiles(&self) -> impl Iterator<Item = Profile> {
        let of = |(machine, seconds): (usize, &f64)| Profile {
            job: self.job.as_str().into(),
            phase: "tasks".into(),
            node: format!("machine-{machine}").into(),
            speed: 1.0,
            seconds: *seconds,
            conditions: Conditions { tasks: self.tasks, ..Conditions::default() },
        };
        (0..self.each).flat_map(move |_| self.seconds.iter().enumerate().map(of))
    }
}

impl JobKeys {
    fn add_to(self, world: World) -> World {
        let is_clear = self.phases.is_none() || self.only_phase.is_empty();
        assert!(is_clear, "job {:?} has phases, and keys that it does not know: {:?}", self.name, self.only_phase);
        let phases = self.phases.unwrap_or_else(|| {
            let keys = Value::Table(self.only_phase.clone().into_iter().collect());
            vec![keys.try_into().unwrap_or_else(|error| panic!("job {:?}: {error}", self.name))]
        });
        let names = match self.times {
            None => vec![self.name],
            Some(times) => (0..times).map(|number| format!("{}{number}", self.name)).collect(),
        };
        names.iter().fold(world, |world, name| {
            let world = set(world.job(name), self.at, World::at);
            let world = set(world, self.deadline, World::deadline);
            let world = set(world, self.queue.as_deref(), World::queue);
            let world = set(world, self.weight, World::weight);
            phases.iter().fold(world, |world, phase| phase.add_to(world))
        })
    }
}

impl PhaseKeys {
    fn add_to(&self, world: World) -> World {
        let world = world.phase(&self.name).after(self.after.iter().map(String::as_str));
        let world = match (&self.tasks, &self.seconds) {
            (Value::Array(tasks), None) => world.tasks(expanded(tasks).iter().map(copies)),
            (Value::Integer(tasks), Some(Value::String(drawn))) => world.drawn(*tasks as u32, drawn),
            (Value::Integer(tasks), Some(seconds)) => world.same(*tasks as u32, number(seconds)),
            _ => panic!("phase {:?}: `tasks` is a list, or a number beside `seconds`", self.name),
        };
        let world = set(world, self.tail.as_deref(), World::tail);
        let world = set(world, self.mean, World::mean);
        let world = set(world, self.sd, World::sd);
        let world = set(world, self.demand.clone(), World::demand_of);
        let world = if self.restarts { world.restarts() } else { world };
        let world = set(world, self.input.as_ref(), reading);
        let world = set(world, self.accesses, World::accesses);
        set(world, self.replicas.as_deref(), |world, tasks| {
            world.replicas(
                expanded(tasks).into_iter().map(|nodes| nodes.try_into::<Vec<u32>>().expect("nodes of a task")),
            )
        })
    }
}

fn capacity(node: Value) -> DemandByName {
    node.try_into().unwrap_or_else(|error| panic!("a node: {error}"))
}

/// Sets the bytes that the tasks read: one number for all of them, or a list.
fn reading(world: World, input: &Value) -> World {
    let Value::Array(each) = input else { return world.input(number(input) as u64) };
    let mut world = world.input(0);
    let phase = world.jobs.last_mut().and_then(|job| job.spec.phases.last_mut());
    if let Some(input) = phase.and_then(|phase| phase.input.as_mut()) {
        input.bytes = expanded(each).iter().map(|bytes| number(bytes) as u64).collect();
    }
    world
}

/// Reads the durations of a task's copies: a list, or a number if the task has one copy.
fn copies(task: &Value) -> Vec<f64> {
    match task {
        Value::Array(copies) => expanded(copies).iter().map(number).collect(),
        only => vec![number(only)],
    }
}
/// Returns the world of an instance with the changes of a run: other values of keys, and of keys of jobs by their names.
pub fn with_changes(instance: &toml::Table, changes: toml::Table) -> toml::Table {
    let mut world = instance.clone();
    for (key, value) in changes {
        if key != "job" {
            world.insert(key, value);
            continue;
        }
        let jobs = world.get_mut("jobs").and_then(Value::as_array_mut).expect("the instance has jobs");
        for (name, keys) in value.as_table().expect("`job.NAME` has keys of a job") {
            let named = |job: &&mut Value| job.get("name").and_then(Value::as_str) == Some(name);
            let job = jobs.iter_mut().find(named).unwrap_or_else(|| panic!("there is no job {name:?}"));
            let keys = keys.as_table().expect("`job.NAME` has keys of a job").clone();
            job.as_table_mut().expect("a job is a table").extend(keys);
        }
    }
    world
}
