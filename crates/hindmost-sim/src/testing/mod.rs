//! Builders for tests: they describe a cluster, jobs and a policy in a few lines, similar to the examples in papers.
//!
//! ```
//! use hindmost_sim::testing::World;
//!
//! let run = World::machines(3).slot(1.0).job("a").at(0.5).tasks([[4.0, 1.0], [2.0, 9.0]]).run("fifo");
//! assert_eq!(run.starts("a"), [1.0, 1.0]);
//! assert_eq!(run.job("a").finish, 5.0);
//! ```
//!
//! The builders panic with a message if a test makes a mistake or the simulation fails. Only [`World::try_run`] and
//! [`World::try_run_own`] return the errors of the simulator.

mod run;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use hindmost_core::cluster::Placement;
use hindmost_core::estimator::Knowledge;
use hindmost_core::ids::NodeId;
use hindmost_core::policy::Policy;
use hindmost_core::policy::losing_copies::Keep;
use hindmost_core::power::PowerModel;
use hindmost_core::profiles::Profile;
use hindmost_core::resources::{Dimensions, Resources};
use hindmost_core::time::Time;
use hindmost_core::workload::{
    DemandByName, Durations, InputSpec, JobSpec, PhaseSpec, QueueSpec, TaskEdges, WorkloadJob, edges_of_each,
};
use hindmost_math::distribution::Distribution;
use hindmost_policies::catalogue::{self, Setting};

use crate::disturbances::{Contention, Failures, NeighbourStart, Neighbours, Stragglers};
use crate::driver::{Control, NodeDisturbances, NodeSetup, Outage, Setup, SimulationError, simulate};
use crate::network::{Assignment, Network};
use crate::parameter::Parameter;
use crate::scenario::CommonPart;

use run::Collected;
pub use run::{Run, Try};

/// A cluster and its jobs. Methods about jobs and phases apply to the last job or phase.
#[derive(Clone, Debug)]
pub struct World {
    /// The settings of the run.
    pub setup: Setup,
    /// Order of jobs for policies that do not name one.
    pub order: String,
    /// The jobs, in the order in which they were added.
    pub jobs: Vec<WorkloadJob>,
    /// Which losing copy of a finished task keeps running.
    pub keep: Keep,
}

/// The policy of a run.
#[derive(Clone)]
enum Choice {
    /// A policy of the catalogue, by name.
    Named(String),
    /// A policy that the test builds.
    Own(OwnPolicy),
}

type OwnPolicy = Arc<dyn Fn() -> Policy + Send + Sync>;

impl fmt::Debug for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Choice {
    fn name(&self) -> &str {
        match self {
            Choice::Named(name) => name,
            Choice::Own(_) => "own",
        }
    }
}

impl World {
    fn of(dimensions: Dimensions, nodes: Vec<NodeSetup>) -> World {
        let setup = Setup {
            dimensions,
            nodes,
            slot: Time::ZERO,
            horizon: None,
            drain: true,
            knowledge: Knowledge::Oracle,
            placement: Placement::First,
            noise: 0.0,
            correlation: 0.0,
            common_part: CommonPart::FirstAttempt,
            slow_from: 0.0,
            seed: 1,
            gamma: 1.0,
            queues: Vec::new(),
            outages: Vec::new(),
            network: None,
            disturbances: Vec::new(),
            stragglers: None,
            learns_speeds: false,
            known_profiles: Arc::default(),
            keeps_profiles: false,
            as_recorded: None,
        };
        World { setup, order: catalogue::DEFAULT_ORDER.to_owned(), jobs: Vec::new(), keep: Keep::None }
    }

    /// Creates a cluster of one-slot machines.
    pub fn machines(count: u32) -> World {
        let node = |at| NodeSetup {
            name: format!("machine-{at}"),
            capacity: Resources::ONE_SLOT,
            speed: 1.0,
            rack: None,
            power: None,
        };
        World::of(Dimensions::one_slot(), (0..count).map(node).collect())
    }

    /// Creates a cluster of nodes with several resources, given by name.
    pub fn nodes<const N: usize>(capacities: impl IntoIterator<Item = [(&'static str, f64); N]>) -> World {
        World::of_capacities(&capacities.into_iter().map(named).collect::<Vec<_>>())
    }

    /// Creates a cluster of nodes with these capacities.
    pub fn of_capacities(capacities: &[DemandByName]) -> World {
        let dimensions = Dimensions::of(capacities).expect("the test's nodes are valid");
        let node = |(at, capacity)| NodeSetup {
            name: format!("node-{at}"),
            capacity: dimensions.amounts(capacity).expect("the test's nodes are valid"),
            speed: 1.0,
            rack: None,
            power: None,
        };
        let nodes = capacities.iter().enumerate().map(node).collect();
        World::of(dimensions, nodes)
    }

    /// Sets how nodes for copies are chosen; without it, the first node by id is.
    pub fn placement(mut self, placement: Placement) -> World {
        self.setup.placement = placement;
        self
    }

    /// Sets the nodes' speeds, in order.
    pub fn speeds(mut self, speeds: impl IntoIterator<Item = f64>) -> World {
        for (node, speed) in self.setup.nodes.iter_mut().zip(speeds) {
            node.speed = speed;
        }
        self
    }

    /// Sets the nodes' racks, in order.
    pub fn racks<'a>(mut self, racks: impl IntoIterator<Item = &'a str>) -> World {
        for (node, rack) in self.setup.nodes.iter_mut().zip(racks) {
            node.rack = Some(rack.into());
        }
        self
    }

    /// Sets the host of each node, which its name ends with; an empty one leaves the node as it is.
    pub fn hosts<'a>(mut self, hosts: impl IntoIterator<Item = &'a str>) -> World {
        for (node, host) in self.setup.nodes.iter_mut().zip(hosts).filter(|(_, host)| !host.is_empty()) {
            node.name = format!("{}@{host}", node.name);
        }
        self
    }

    /// Gives every node a power model.
    pub fn power(mut self, model: PowerModel) -> World {
        let model = Arc::new(model);
        for node in &mut self.setup.nodes {
            node.power = Some(model.clone());
        }
        self
    }

    /// Sets the bandwidths of a copy that reads within its rack and from another rack, in bytes per second.
    pub fn network(mut self, rack_bandwidth: f64, remote_bandwidth: f64) -> World {
        self.setup.network = Some(Network { rack_bandwidth, remote_bandwidth, assignment: Assignment::First });
        self
    }

    /// Sets how long clones of downstream tasks wait for second upstream outputs, in seconds.
    pub fn delay(mut self, seconds: f64) -> World {
        let network = self.setup.network.as_mut().expect("the network is set before the delay");
        network.assignment = Assignment::Delay(Time::from_seconds(seconds));
        self
    }

    /// Sets which losing copy of a finished task keeps running. Policies that the test builds ignore this.
    pub fn keeping(mut self, keep: Keep) -> World {
        self.keep = keep;
        self
    }

    /// Adds an outage: a node, by number, is lost and returns, in seconds. With [`f64::INFINITY`] it does not return.
    pub fn outage(mut self, node: u32, from: f64, until: f64) -> World {
        let until = if until.is_finite() { Time::from_seconds(until) } else { Time::NEVER };
        self.setup.outages.push(Outage { node: NodeId(node), from: Time::from_seconds(from), until });
        self
    }

    fn disturb(mut self, change: impl Fn(&mut NodeDisturbances)) -> World {
        self.setup.disturbances.resize(self.setup.nodes.len(), NodeDisturbances::default());
        self.setup.disturbances.iter_mut().for_each(change);
        self
    }

    /// Sets the contention of all nodes.
    pub fn contention(self, degree: f64, exponent: f64) -> World {
        self.disturb(|node| node.contention = Some(Contention { degree, exponent }))
    }

    /// Sets the load of the neighbours of all nodes.
    pub fn neighbours(self, load: Neighbours) -> World {
        let load = Arc::new(load);
        self.disturb(|node| node.neighbours = Some(load.clone()))
    }

    /// Gives one node, by number, neighbours that are quiet and busy for so many seconds in turn, beginning with a quiet
    /// period, and that slow the node down by this factor.
    pub fn neighbour_on(self, node: usize, quiet: f64, busy: f64, slowdown: f64) -> World {
        let number = Parameter::Number;
        let (quiet, busy, slowdown) = (number(quiet), number(busy), number(slowdown));
        let mut world = self.disturb(|_| {});
        let load = Neighbours { quiet, busy, slowdown, start: NeighbourStart::Quiet };
        world.setup.disturbances[node].neighbours = Some(Arc::new(load));
        world
    }

    /// Sets the random failures of one node, by number.
    pub fn failures_on(self, node: usize, between: Parameter, repair: Parameter) -> World {
        let mut world = self.disturb(|_| {});
        world.setup.disturbances[node].failures = Some(Arc::new(Failures { between, repair }));
        world
    }

    /// Sets the probability that a copy straggles, how many times as long it then takes, and whether copies other than
    /// the first straggle too.
    pub fn stragglers(mut self, ratio: f64, slowdown: f64, copies: bool) -> World {
        let (ratio, slowdown) = (Parameter::Number(ratio), Parameter::Number(slowdown));
        self.setup.stragglers = Some(Stragglers { ratio, slowdown, copies });
        self
    }

    /// Lets policies learn the speeds of nodes, which join with speed 1.
    pub fn learned_speeds(mut self) -> World {
        self.setup.learns_speeds = true;
        self
    }

    /// Sets the time between decisions, in seconds; without it, the policy decides after every event.
    pub fn slot(mut self, seconds: f64) -> World {
        self.setup.slot = Time::from_seconds(seconds);
        self
    }

    /// Sets the progress model, as written in scenario files.
    pub fn knowledge(mut self, text: &str) -> World {
        self.setup.knowledge = text.parse().expect("the test names a progress model");
        self
    }

    /// Sets the profiles of earlier runs, the oldest first.
    pub fn profiles(mut self, profiles: impl IntoIterator<Item = Profile>) -> World {
        self.setup.known_profiles = Arc::new(profiles.into_iter().collect());
        self
    }

    /// Sets σ of the log-normal error of estimated remaining times.
    pub fn noise(mut self, sigma: f64) -> World {
        self.setup.noise = sigma;
        self
    }

    /// Sets the share of a drawn duration that all copies of a task have in common.
    pub fn correlation(mut self, share: f64) -> World {
        self.setup.correlation = share;
        self
    }

    /// Sets where the common part of the durations of a task's copies comes from.
    pub fn common_part(mut self, part: CommonPart) -> World {
        self.setup.common_part = part;
        self
    }

    /// Sets the share of the work after which a slow copy becomes slow.
    pub fn slow_from(mut self, share: f64) -> World {
        self.setup.slow_from = share;
        self
    }

    /// Stops the run at a time, in seconds, instead of when every job is done.
    pub fn stop_at(mut self, seconds: f64) -> World {
        self.setup.horizon = Some(Time::from_seconds(seconds));
        self.setup.drain = false;
        self
    }

    /// Sets the horizon, in seconds: the end of the time over which utilization is measured.
    pub fn horizon(mut self, seconds: f64) -> World {
        self.setup.horizon = Some(Time::from_seconds(seconds));
        self
    }

    /// Sets the seed of all random numbers.
    pub fn seed(mut self, seed: u64) -> World {
        self.setup.seed = seed;
        self
    }

    /// Sets γ, the price of a machine-second.
    pub fn gamma(mut self, gamma: f64) -> World {
        self.setup.gamma = gamma;
        self
    }

    /// Sets the order of jobs for policies that are given without one.
    pub fn order(mut self, order: &str) -> World {
        order.clone_into(&mut self.order);
        self
    }

    /// Sets the queues, each with its path, its guaranteed share and its maximum share.
    pub fn queues<'a>(mut self, queues: impl IntoIterator<Item = (&'a str, f64, f64)>) -> World {
        let queue =
            |(name, guaranteed, maximum): (&'a str, f64, f64)| QueueSpec { name: name.into(), guaranteed, maximum };
        self.setup.queues = queues.into_iter().map(queue).collect();
        self
    }

    /// Adds a job; by default it arrives at 0.
    pub fn job(mut self, name: &str) -> World {
        let spec = JobSpec::new(name, Vec::new());
        self.jobs.push(WorkloadJob { spec, durations: Vec::new() });
        self
    }

    fn last_job(&mut self) -> &mut WorkloadJob {
        self.jobs.last_mut().expect("the test adds a job first")
    }

    fn last_phase(&mut self) -> &mut PhaseSpec {
        self.last_job().spec.phases.last_mut().expect("the test adds the job's tasks first")
    }

    /// Sets the arrival of the job, in seconds.
    pub fn at(mut self, seconds: f64) -> World {
        self.last_job().spec.arrival = Time::from_seconds(seconds);
        self
    }

    /// Sets the deadline of the job, in seconds from its arrival.
    pub fn deadline(mut self, seconds: f64) -> World {
        self.last_job().spec.deadline = Some(Time::from_seconds(seconds));
        self
    }

    /// Sets the queue of the job.
    pub fn queue(mut self, name: &str) -> World {
        self.last_job().spec.queue = Some(name.into());
        self
    }

    /// Sets the weight of the job for fair orders.
    pub fn weight(mut self, weight: f64) -> World {
        self.last_job().spec.weight = weight;
        self
    }

    /// Adds a phase to the job; its tasks must follow.
    pub fn phase(mut self, name: &str) -> World {
        let phase = PhaseSpec::new(name, 0, 0.0);
        let job = self.last_job();
        job.spec.phases.push(phase);
        job.durations.push(Durations::Listed(Vec::new()));
        self
    }

    /// Sets the parents of the phase: the phases, by name, that must be finished first.
    pub fn after<'a>(mut self, parents: impl IntoIterator<Item = &'a str>) -> World {
        let spec = &mut self.last_job().spec;
        let place = |name: &str| {
            let at = spec.phases.iter().position(|phase| *phase.name == *name);
            at.unwrap_or_else(|| panic!("there is no phase {name:?}")) as u32
        };
        let after = parents.into_iter().map(place).collect();
        self.last_phase().after = after;
        self
    }

    /// Lets the tasks of the phase wait for single tasks of these parents.
    pub fn edges(mut self, edges: Vec<TaskEdges>) -> World {
        self.last_phase().edges = edges;
        self
    }

    /// Lets each task of the phase wait only for the task with its number in each of these phases.
    pub fn after_each<'a>(self, parents: impl IntoIterator<Item = &'a str>) -> World {
        let mut world = self.after(parents);
        let phase = world.last_phase();
        phase.edges = edges_of_each(true, &phase.after);
        world
    }

    /// Lets the tasks of the phase have only one attempt at a time, which may be stopped so that its task starts again.
    pub fn restarts(mut self) -> World {
        let phase = self.last_phase();
        (phase.never_copied, phase.may_restart) = (true, true);
        self
    }

    /// Sets the durations of the last phase if it has none; otherwise adds a phase with these durations.
    fn fill(self, tasks: u32, durations: Durations) -> World {
        let open = self.jobs.last().and_then(|job| job.spec.phases.last()).is_some_and(|phase| phase.tasks == 0);
        let mut world = if open { self } else { self.phase("tasks") };
        world.last_phase().tasks = tasks;
        if let Some(place) = world.last_job().durations.last_mut() {
            *place = durations;
        }
        world
    }

    /// Adds tasks with the durations of their first, second, … copy, in seconds. The mean that policies know is that of
    /// the first copies, unless the test sets another one.
    pub fn tasks<C: IntoIterator<Item = f64>>(self, tasks: impl IntoIterator<Item = C>) -> World {
        let tasks: Vec<Vec<f64>> = tasks.into_iter().map(|copies| copies.into_iter().collect()).collect();
        let mean = tasks.iter().map(|copies| copies[0]).sum::<f64>() / tasks.len() as f64;
        self.fill(tasks.len() as u32, Durations::Listed(tasks)).mean(mean)
    }

    /// Adds tasks whose copies all take this many seconds; policies know the duration.
    pub fn same(self, tasks: u32, seconds: f64) -> World {
        self.drawn(tasks, &seconds.to_string())
    }

    /// Adds tasks whose durations are drawn from a distribution such as `pareto(alpha=2,mean=1)`; policies know the
    /// distribution.
    pub fn drawn(self, tasks: u32, distribution: &str) -> World {
        let drawn: Distribution = distribution.parse().expect("the test names a distribution");
        self.fill(tasks, Durations::Drawn(drawn)).tail(distribution)
    }

    /// Sets the mean duration of the phase that policies know, in seconds. The durations do not change.
    pub fn mean(mut self, seconds: f64) -> World {
        self.last_phase().mean = seconds;
        self
    }

    /// Sets the standard deviation of the durations that policies know, in seconds. The durations do not change.
    pub fn sd(mut self, seconds: f64) -> World {
        self.last_phase().sd = Some(seconds);
        self
    }

    /// Sets the distribution of durations that policies know, with its mean and standard deviation. The durations do
    /// not change.
    pub fn tail(mut self, distribution: &str) -> World {
        let tail: Distribution = distribution.parse().expect("the test names a distribution");
        let phase = self.last_phase();
        phase.mean = tail.mean();
        phase.sd = tail.sd();
        phase.tail = Some(tail);
        self
    }

    /// Sets the number of bytes that each task of the phase reads.
    pub fn input(mut self, bytes: u64) -> World {
        let phase = self.last_phase();
        phase.input = Some(InputSpec { bytes: vec![bytes; phase.tasks as usize], replicas: Vec::new() });
        self
    }

    /// Sets the memory accesses per second of the phase's copies.
    pub fn accesses(mut self, per_second: f64) -> World {
        self.last_phase().memory_accesses = per_second;
        self
    }

    /// Sets the nodes that hold the input, one list of node numbers for each task.
    pub fn replicas<N: IntoIterator<Item = u32>>(mut self, tasks: impl IntoIterator<Item = N>) -> World {
        let replicas = tasks.into_iter().map(|nodes| nodes.into_iter().map(NodeId).collect()).collect();
        self.last_phase().input.as_mut().expect("the input is set before its replicas").replicas = replicas;
        self
    }

    /// Sets the demand of a copy of the phase's tasks.
    pub fn demand<const N: usize>(self, demand: [(&'static str, f64); N]) -> World {
        self.demand_of(named(demand))
    }

    /// As [`World::demand`].
    pub fn demand_of(mut self, demand: DemandByName) -> World {
        self.last_phase().demand = demand;
        self
    }

    /// Runs the jobs under a policy of the catalogue, named as on the command line.
    pub fn run(&self, policy: &str) -> Run {
        self.try_run(policy).unwrap_or_else(|error| panic!("{policy}: {error}"))
    }

    /// Runs the jobs under a policy that the test builds.
    pub fn run_own(&self, policy: impl Fn() -> Policy + Send + Sync + 'static) -> Run {
        self.try_run_own(policy).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Like [`World::run_own`], but returns errors.
    ///
    /// # Errors
    /// Returns the errors of the simulator.
    pub fn try_run_own(&self, policy: impl Fn() -> Policy + Send + Sync + 'static) -> Result<Run, SimulationError> {
        self.run_chosen(Choice::Own(Arc::new(policy)))
    }

    /// Like [`World::run`], but returns errors.
    ///
    /// # Errors
    /// Returns the errors of the simulator.
    pub fn try_run(&self, policy: &str) -> Result<Run, SimulationError> {
        self.run_chosen(Choice::Named(policy.to_owned()))
    }

    fn run_chosen(&self, policy: Choice) -> Result<Run, SimulationError> {
        let mut jobs = self.jobs.clone();
        jobs.sort_by_key(|job| job.spec.arrival);
        let mut collected = Collected::default();
        let stop = AtomicBool::new(false);
        let control = Control { stop: &stop, progress: &|_| {} };
        let mut source = jobs.into_iter().map(Ok);
        let result = simulate(&self.setup, &mut source, self.policy(&policy), &mut collected, &control)?;
        Ok(collected.into_run(result, self.clone(), policy))
    }

    /// Returns the message of the error with which a run under a policy ends.
    pub fn run_error(&self, policy: &str) -> String {
        match self.try_run(policy) {
            Ok(_) => panic!("{policy}: the run succeeds"),
            Err(error) => error.to_string(),
        }
    }

    fn policy(&self, policy: &Choice) -> Policy {
        let policy = match policy {
            Choice::Named(name) => name,
            Choice::Own(build) => return build(),
        };
        let spec = policy.parse().expect("the test names a policy");
        let setting = Setting { order: &self.order, gamma: self.setup.gamma, queues: &self.setup.queues, live: false };
        let policy = catalogue::build(&spec, &setting).expect("the test names a policy");
        if self.keep == Keep::None { policy } else { policy.keeping(self.keep) }
    }
}

fn named<const N: usize>(amounts: [(&'static str, f64); N]) -> DemandByName {
    amounts.into_iter().map(|(name, amount)| (name.to_owned(), amount)).collect()
}
