//! Experiments run every policy on every seed, in parallel. Results do not depend on the number of threads.
//!
//! Each thread takes whole runs (one policy, one seed). Results are in the order of policies and seeds, whichever run
//! finishes first.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use hindmost_core::cluster::Placement;
use hindmost_core::estimator::Knowledge;
use hindmost_core::policy::Policy;
use hindmost_core::power::PowerModel;
use hindmost_core::random::Purpose;
use hindmost_core::resources::{Dimensions, Resources};
use hindmost_core::time::Time;
use hindmost_core::workload::{Durations, WorkloadJob};
use hindmost_math::plain::Plain;
use hindmost_policies::catalogue::spec::PolicySpec;
use hindmost_policies::catalogue::{self, Setting};

use crate::driver::{Control, NodeDisturbances, NodeSetup, RunResult, Setup, SimulationError, simulate};
use crate::exact::read_exact;
use crate::generate::Generator;
use crate::output::{Output, Silent};
use crate::parameter::{Draws, Parameter};
use crate::scenario::{ClusterSpec, MeasuredSpeed, NetworkSpec, NodeClass, Scenario, Speeds, WorkloadSpec};

/// The source of an experiment's jobs.
#[derive(Clone)]
pub enum Jobs {
    /// Generated from a description, with different jobs for each seed.
    Generated {
        /// Description of the workload.
        spec: Box<WorkloadSpec>,
        /// The folder to which relative paths refer.
        folder: PathBuf,
    },
    /// The same jobs for each seed; only durations that are not given are drawn.
    Given(Arc<Vec<WorkloadJob>>),
}

/// Nodes of one kind, before their speeds are drawn.
#[derive(Clone, Debug)]
pub struct NodeKind {
    /// Number of nodes.
    pub count: u32,
    /// Name of each node, before its number.
    pub name: String,
    /// Whether a number follows the name; required if there are several nodes.
    pub numbered: bool,
    /// Capacity of each node.
    pub capacity: Resources,
    /// Speed of each node; a distribution is drawn for each node.
    pub speed: Parameter,
    /// Speeds from a file of measurements, in place of `speed`.
    pub measured_speed: Option<MeasuredSpeed>,
    /// The racks of the nodes.
    pub racks: Racks,
    /// What slows down or stops each of the nodes.
    pub disturbances: NodeDisturbances,
    /// Power model of each node; `None` if it is unknown.
    pub power: Option<Arc<PowerModel>>,
}

impl NodeKind {
    /// Returns whether no property of the nodes is drawn.
    fn draws_nothing(&self) -> bool {
        let NodeDisturbances { neighbours, failures, .. } = &self.disturbances;
        let is_measured = self.measured_speed.as_ref().is_some_and(MeasuredSpeed::is_drawn);
        self.speed.is_constant().is_some() && !is_measured && neighbours.is_none() && failures.is_none()
    }
}

/// Returns what slows down or stops the nodes of a class: its own keys, or else those of the cluster.
fn disturbances_of(cluster: &ClusterSpec, class: Option<&NodeClass>) -> NodeDisturbances {
    let neighbours = class.and_then(|class| class.neighbours.as_ref()).or(cluster.neighbours.as_ref());
    let failures = class.and_then(|class| class.failures.as_ref()).or(cluster.failures.as_ref());
    NodeDisturbances {
        contention: class.and_then(|class| class.contention).or(cluster.contention),
        neighbours: neighbours.cloned().map(Arc::new),
        failures: failures.cloned().map(Arc::new),
    }
}

/// The racks of nodes of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Racks {
    /// The racks are not known. All nodes without a known rack count as one rack.
    None,
    /// All nodes are in this rack.
    Named(Arc<str>),
    /// The nodes take turns over this many racks: `rack-0`, `rack-1`, …
    Dealt(u32),
}

impl Racks {
    fn of(named: Option<&str>, dealt: Option<u32>) -> Racks {
        match (named, dealt) {
            (Some(name), _) => Racks::Named(name.into()),
            (None, Some(racks)) => Racks::Dealt(racks.max(1)),
            (None, None) => Racks::None,
        }
    }

    /// Returns the rack of a node, numbered from 0 within its kind.
    fn rack(&self, node: u32) -> Option<Arc<str>> {
        match self {
            Racks::None => None,
            Racks::Named(name) => Some(name.clone()),
            Racks::Dealt(racks) => Some(format!("rack-{}", node % racks).into()),
        }
    }
}

/// Returns the placement that is used if none is given, from the speeds of the nodes: [`Placement::First`] if all are
/// equal, otherwise [`Placement::Random`]. On nodes of unequal speed, the first node would depend on the order in which
/// the nodes are listed, and with it every result.
pub fn default_placement<'a>(speeds: impl IntoIterator<Item = &'a Parameter>) -> Placement {
    let mut speeds = speeds.into_iter().map(Parameter::is_constant);
    let first = speeds.next().flatten();
    let are_equal = first.is_some() && speeds.all(|speed| speed == first);
    if are_equal { Placement::First } else { Placement::Random }
}

/// A cluster, a workload and the policies to compare on them.
#[derive(Clone)]
pub struct Experiment {
    /// Name of the experiment, shown in results.
    pub name: String,
    /// Dimensions of the cluster's resources.
    pub dimensions: Dimensions,
    /// The nodes, grouped by kind.
    pub nodes: Vec<NodeKind>,
    /// The source of the jobs.
    pub jobs: Jobs,
    /// The policies to compare. Results are in this order.
    pub policies: Vec<PolicySpec>,
    /// The seeds. Every policy runs once on each seed.
    pub seeds: Vec<u64>,
    /// Order of jobs for policies that do not name one.
    pub order: String,
    /// The other settings; the seed and the nodes are added for each run.
    pub setup: Setup,
}

impl Experiment {
    /// Creates the experiment of a checked scenario. The seeds are `first`, `first` + 1, …, as many as the scenario
    /// has.
    ///
    /// # Errors
    /// If an exact workload cannot be read or parts of the scenario contradict each other.
    pub fn of(scenario: &Scenario, first: u64) -> Result<Experiment, SimulationError> {
        let wrong = SimulationError::Workload;
        let dimensions = scenario.cluster.dimensions().map_err(wrong)?;
        let mut nodes = Vec::new();
        if let Some(count) = scenario.cluster.machines {
            let speed = Parameter::Number(1.0);
            let racks = Racks::of(None, scenario.cluster.racks);
            let (name, capacity) = ("machine".to_owned(), Resources::ONE_SLOT);
            let (measured_speed, disturbances) = (None, disturbances_of(&scenario.cluster, None));
            let power = scenario.cluster.machine_power().map_err(wrong)?.map(Arc::new);
            nodes.push(NodeKind {
                count,
                name,
                numbered: true,
                capacity,
                speed,
                measured_speed,
                racks,
                disturbances,
                power,
            });
        }
        for class in &scenario.cluster.nodes {
            let capacity = class.capacity().map_err(wrong)?;
            nodes.push(NodeKind {
                count: class.count,
                name: class.prefix().to_owned(),
                numbered: true,
                capacity: dimensions.amounts(&capacity).map_err(|error| wrong(error.to_string()))?,
                speed: class.speed.clone(),
                measured_speed: class.measured_speed.clone(),
                racks: Racks::of(class.rack.as_deref(), class.racks),
                disturbances: disturbances_of(&scenario.cluster, Some(class)),
                power: class.power().map_err(wrong)?.map(Arc::new),
            });
        }
        let jobs = match &scenario.workload.file {
            Some(file) => {
                let jobs = read_exact(&scenario.folder.join(file)).map_err(|error| wrong(error.to_string()))?;
                let before = |job: &WorkloadJob| {
                    scenario.horizon.is_none_or(|horizon| job.spec.arrival < Time::from_seconds(horizon))
                };
                Jobs::Given(Arc::new(jobs.into_iter().filter(before).collect()))
            }
            None => Jobs::Generated { spec: Box::new(scenario.workload.clone()), folder: scenario.folder.clone() },
        };
        let setup = Setup {
            dimensions: dimensions.clone(),
            nodes: Vec::new(),
            slot: Time::from_seconds(scenario.slot.unwrap_or(0.0)),
            horizon: scenario.horizon.map(Time::from_seconds),
            drain: scenario.drain,
            knowledge: scenario.knowledge,
            placement: scenario.placement.unwrap_or_else(|| default_placement(nodes.iter().map(|kind| &kind.speed))),
            noise: scenario.noise,
            correlation: scenario.workload.correlation(),
            common_part: scenario.workload.common_part,
            slow_from: scenario.workload.slow_from,
            seed: 0,
            gamma: scenario.gamma,
            queues: scenario.queue.clone(),
            outages: scenario.cluster.outages().map_err(wrong)?,
            network: scenario.network.as_ref().map(NetworkSpec::network),
            disturbances: Vec::new(),
            stragglers: scenario.workload.stragglers.clone(),
            learns_speeds: scenario.cluster.speeds == Speeds::Learned,
            known_profiles: Arc::default(),
            keeps_profiles: false,
            as_recorded: None,
        };
        Ok(Experiment {
            name: scenario.name.clone(),
            dimensions,
            nodes,
            jobs,
            policies: scenario.policies().map_err(wrong)?,
            seeds: (0..u64::from(scenario.seeds)).map(|at| first.wrapping_add(at)).collect(),
            order: scenario.order.clone(),
            setup,
        })
    }

    /// Returns whether results have energies: whether all nodes have power models.
    pub fn has_power(&self) -> bool {
        !self.nodes.is_empty() && self.nodes.iter().all(|kind| kind.power.is_some())
    }

    /// Returns the progress model: what policies know of running attempts.
    pub fn knowledge(&self) -> Knowledge {
        self.setup.knowledge
    }

    /// Returns how nodes for copies are chosen.
    pub fn placement(&self) -> Placement {
        self.setup.placement
    }

    /// Returns whether a job may have a deadline.
    pub fn has_deadlines(&self) -> bool {
        match &self.jobs {
            Jobs::Given(jobs) => jobs.iter().any(|job| job.spec.deadline.is_some()),
            Jobs::Generated { spec, .. } => {
                let of_kind = spec.job.iter().any(|kind| kind.deadline.is_some() || kind.deadline_factor.is_some());
                of_kind || spec.deadline.is_some() || spec.deadline_factor.is_some()
            }
        }
    }

    /// Returns whether the world has contention, neighbours' load, stragglers, random failures or learned speeds.
    pub fn is_disturbed(&self) -> bool {
        self.setup.stragglers.is_some()
            || self.setup.learns_speeds
            || self.nodes.iter().any(|kind| kind.disturbances != NodeDisturbances::default())
    }

    /// Returns whether nothing is drawn, so that all seeds have the same jobs and results.
    pub fn is_the_same_for_every_seed(&self) -> bool {
        let listed = |job: &WorkloadJob| job.durations.iter().all(|one| matches!(one, Durations::Listed(_)));
        matches!(&self.jobs, Jobs::Given(jobs) if jobs.iter().all(listed)) && self.draws_only_durations()
    }

    /// Returns whether nothing is drawn but durations that the jobs do not give, so that all seeds have the same results unless one
    /// needs them.
    fn draws_only_durations(&self) -> bool {
        matches!(&self.jobs, Jobs::Given(_))
            && self.nodes.iter().all(NodeKind::draws_nothing)
            && self.setup.stragglers.is_none()
            && self.setup.noise == 0.0
            && self.setup.placement != Placement::Random
            && self.setup.knowledge != Knowledge::ProgressUniform
    }

    /// Returns the setup of one seed's runs, with the nodes' speeds drawn.
    ///
    /// # Errors
    /// If a drawn speed is not above 0.
    pub fn setup_of(&self, seed: u64) -> Result<Setup, SimulationError> {
        let mut setup = self.setup.clone();
        setup.seed = seed;
        let is_disturbed = self.nodes.iter().any(|kind| kind.disturbances != NodeDisturbances::default());
        for kind in &self.nodes {
            for at in 0..kind.count {
                let number = setup.nodes.len();
                let mut draws = Draws::new(seed, Purpose::Node, number as u64);
                let speed = match &kind.measured_speed {
                    Some(measured) => Ok(measured.speed(seed, number as u64, u64::from(at))),
                    None => kind.speed.draw(&mut draws).map_err(|error| format!("speed: {error}")),
                };
                let speed = speed.map_err(SimulationError::Workload)?;
                if !(speed.is_finite() && speed > 0.0) {
                    let speed = Plain(speed);
                    return Err(SimulationError::Workload(format!("a node's speed is {speed}, but must be above 0")));
                }
                let name = if kind.numbered { format!("{}-{number}", kind.name) } else { kind.name.clone() };
                let (capacity, rack, power) = (kind.capacity, kind.racks.rack(at), kind.power.clone());
                setup.nodes.push(NodeSetup { name, capacity, speed, rack, power });
                if is_disturbed {
                    setup.disturbances.push(kind.disturbances.clone());
                }
            }
        }
        Ok(setup)
    }

    /// Runs one policy on one seed.
    ///
    /// # Errors
    /// If the policy cannot be built; and the errors of [`simulate`].
    pub fn run_one(
        &self,
        policy: &PolicySpec,
        seed: u64,
        output: &mut dyn Output,
        control: &Control<'_>,
    ) -> Result<RunResult, SimulationError> {
        let setting = Setting { order: &self.order, gamma: self.setup.gamma, queues: &self.setup.queues, live: false };
        let built = catalogue::build(policy, &setting).map_err(|error| SimulationError::Workload(error.to_string()))?;
        let keeps_profiles = self.setup.keeps_profiles && self.policies.first() == Some(policy);
        self.run_built(built, seed, keeps_profiles, output, control).map_err(|error| match error {
            SimulationError::TooFewDurations { job, phase, task, listed, .. } => {
                SimulationError::TooFewDurations { job, phase, task, listed, policy: policy.to_string() }
            }
            other => other,
        })
    }

    /// Runs a policy, which need not be in the catalogue, on one seed.
    ///
    /// # Errors
    /// Returns the errors of [`simulate`].
    pub fn run_policy(
        &self,
        policy: Policy,
        seed: u64,
        output: &mut dyn Output,
        control: &Control<'_>,
    ) -> Result<RunResult, SimulationError> {
        self.run_built(policy, seed, self.setup.keeps_profiles, output, control)
    }

    fn run_built(
        &self,
        policy: Policy,
        seed: u64,
        keeps_profiles: bool,
        output: &mut dyn Output,
        control: &Control<'_>,
    ) -> Result<RunResult, SimulationError> {
        let setup = Setup { keeps_profiles, ..self.setup_of(seed)? };
        match &self.jobs {
            Jobs::Generated { spec, folder } => {
                let horizon = setup.horizon.map(Time::seconds);
                let mut jobs = Generator::new(spec, horizon, folder, (seed, &setup.nodes))?;
                simulate(&setup, &mut jobs, policy, output, control)
            }
            Jobs::Given(jobs) => simulate(&setup, &mut jobs.iter().map(|job| Ok(job.clone())), policy, output, control),
        }
    }

    /// Returns approximately when the last job arrives, for progress bars; `None` if unknown.
    fn expected_end(&self) -> Option<Time> {
        match &self.jobs {
            Jobs::Given(jobs) => jobs.last().map(|job| job.spec.arrival),
            Jobs::Generated { .. } => None,
        }
        .into_iter()
        .chain(self.setup.horizon)
        .min()
        .filter(|end| *end > Time::ZERO)
    }
}

/// A function that opens the output of a run; `None` if the run has no output. The arguments are the number of the
/// experiment, the policy and the seed.
pub type OutputOf<'a> = dyn Fn(usize, &PolicySpec, u64) -> std::io::Result<Option<Box<dyn FinishedOutput>>> + Sync + 'a;

/// An output that is completed after its run has succeeded.
pub trait FinishedOutput: Output {
    /// Completes the output.
    ///
    /// # Errors
    /// If the output cannot be written.
    fn complete(self: Box<Self>) -> std::io::Result<()>;
}

/// How experiments are carried out.
pub struct Execution<'a> {
    /// Number of threads, at least 1.
    pub threads: usize,
    /// Set to true to stop all runs.
    pub stop: &'a AtomicBool,
    /// Called with the progress since the last call, as a part of one run. The parts of a run add up to 1.
    pub progress: &'a (dyn Fn(f64) + Sync),
    /// Opens the output of each run; `None`: no run has output.
    pub output: Option<&'a OutputOf<'a>>,
}

/// The results of one experiment: for each policy, the result of each seed.
pub type Results = Vec<Vec<RunResult>>;

/// A policy on a seed, in the experiment with a number.
type Run<'a> = (usize, &'a Experiment, &'a PolicySpec, u64);

/// Runs experiments. Results are in the order of experiments, policies and seeds. Where only durations may be drawn, and the first seed
/// drew none, all others have its results and do not run.
///
/// # Errors
/// Returns the first error in this order. After an error no further runs begin.
pub fn run_all(experiments: &[Experiment], execution: &Execution<'_>) -> Result<Vec<Results>, SimulationError> {
    let mut policies = Vec::new();
    for (number, experiment) in experiments.iter().enumerate() {
        policies.extend(experiment.policies.iter().map(|policy| OfPolicy {
            number,
            experiment,
            policy,
            done: Vec::new(),
        }));
    }
    let may_follow = |one: &Experiment| execution.output.is_none() && one.draws_only_durations();
    run_more(&mut policies, |one| if may_follow(one.experiment) { 1 } else { usize::MAX }, execution);
    run_more(&mut policies, |one| if one.drew() { usize::MAX } else { 0 }, execution);
    for one in &mut policies {
        // What the other seeds would repeat is known.
        if let [Some(Ok(only))] = &one.done[..] {
            let repeated: Vec<_> = one.experiment.seeds[1..].iter().map(|_| Some(Ok(only.clone()))).collect();
            for _ in &repeated {
                (execution.progress)(1.0);
            }
            one.done.extend(repeated);
        }
    }
    let mut all: Vec<Results> = experiments.iter().map(|_| Vec::new()).collect();
    for OfPolicy { number, experiment, done, .. } in policies {
        let runs = done.into_iter().map(|run| run.unwrap_or(Err(SimulationError::Interrupted)));
        let runs = runs.collect::<Result<Vec<RunResult>, _>>()?;
        if runs.len() < experiment.seeds.len() {
            return Err(SimulationError::Interrupted);
        }
        all[number].push(runs);
    }
    Ok(all)
}

/// The runs of a policy in the experiment with a number.
struct OfPolicy<'a> {
    number: usize,
    experiment: &'a Experiment,
    policy: &'a PolicySpec,
    /// The results of the first seeds; `None` for runs that were not begun.
    done: Vec<Option<Result<RunResult, SimulationError>>>,
}

impl OfPolicy<'_> {
    /// Returns whether the workload lacked a duration that a run needed.
    fn drew(&self) -> bool {
        self.done.iter().flatten().any(|run| run.as_ref().is_ok_and(|run| run.drawn > 0))
    }
}

/// Carries out as many further runs of each policy as `count` returns, at most those of all seeds.
fn run_more(policies: &mut [OfPolicy<'_>], count: impl Fn(&OfPolicy<'_>) -> usize, execution: &Execution<'_>) {
    if policies.iter().flat_map(|one| &one.done).any(|run| matches!(run, Some(Err(_)))) {
        return;
    }
    let mut runs = Vec::new();
    for (at, one) in policies.iter().enumerate() {
        let seeds = one.experiment.seeds.iter().skip(one.done.len()).take(count(one));
        runs.extend(seeds.map(|seed| (at, (one.number, one.experiment, one.policy, *seed))));
    }
    let (of, runs): (Vec<usize>, Vec<Run<'_>>) = runs.into_iter().unzip();
    let done = in_parallel(&runs, execution);
    for (at, run) in of.into_iter().zip(done) {
        policies[at].done.push(run);
    }
}

/// Carries out runs. None is begun after an error or an interruption, and these have no result.
fn in_parallel(runs: &[Run<'_>], execution: &Execution<'_>) -> Vec<Option<Result<RunResult, SimulationError>>> {
    let done: Vec<Mutex<Option<Result<RunResult, SimulationError>>>> = runs.iter().map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some((number, experiment, policy, seed)) = runs.get(at) else { break };
            if failed.load(Ordering::Relaxed) || execution.stop.load(Ordering::Relaxed) {
                break;
            }
            let result = one(experiment, *number, policy, *seed, execution);
            if result.is_err() {
                failed.store(true, Ordering::Relaxed);
            }
            *done[at].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..execution.threads.min(runs.len()) {
            scope.spawn(work);
        }
        work();
    });
    done.into_iter().map(|place| place.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
}

fn one(
    experiment: &Experiment,
    number: usize,
    policy: &PolicySpec,
    seed: u64,
    execution: &Execution<'_>,
) -> Result<RunResult, SimulationError> {
    // Draining may take longer than the arrivals, so progress stays at this share until the run has ended.
    const NEARLY: f64 = 0.95;
    let expected = experiment.expected_end();
    let reached = Mutex::new(0.0f64);
    let progress = |now: Time| {
        if let Some(end) = expected {
            let fraction = (now.seconds() / end.seconds() * NEARLY).min(NEARLY);
            let mut reached = reached.lock().unwrap_or_else(PoisonError::into_inner);
            if fraction > *reached {
                (execution.progress)(fraction - *reached);
                *reached = fraction;
            }
        }
    };
    let control = Control { stop: execution.stop, progress: &progress };
    let output = match execution.output {
        Some(open) => open(number, policy, seed)?,
        None => None,
    };
    let result = match output {
        None => experiment.run_one(policy, seed, &mut Silent, &control),
        Some(mut output) => {
            let result = experiment.run_one(policy, seed, &mut *output, &control)?;
            output.complete()?;
            Ok(result)
        }
    };
    let reached = *reached.lock().unwrap_or_else(PoisonError::into_inner);
    (execution.progress)(1.0 - reached);
    result
}
