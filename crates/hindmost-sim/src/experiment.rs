//! Experiments: every policy on every seed, in threads, with identical results on any number.
//!
//! Whole runs (one policy, one seed) are what threads share out; their results are put together in
//! the order of policies and seeds, whichever thread finished first.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use hindmost_core::estimator::Knowledge;
use hindmost_core::policy::Policy;
use hindmost_core::random::Purpose;
use hindmost_core::resources::{Dimensions, Resources};
use hindmost_core::time::Time;
use hindmost_core::workload::{Durations, WorkloadJob};
use hindmost_math::plain::Plain;
use hindmost_policies::catalogue::spec::PolicySpec;
use hindmost_policies::catalogue::{self, Setting};

use crate::driver::{Control, NodeSetup, RunResult, Setup, SimulationError, simulate};
use crate::exact::read_exact;
use crate::generate::Generator;
use crate::output::{Output, Silent};
use crate::parameter::{Draws, Parameter};
use crate::scenario::{NetworkSpec, Scenario, WorkloadSpec};

/// Where an experiment's jobs come from.
#[derive(Clone)]
pub enum Jobs {
    /// Made from a description, anew for each seed.
    Generated {
        /// The description.
        spec: Box<WorkloadSpec>,
        /// Folder that relative paths are taken from.
        folder: PathBuf,
    },
    /// The same jobs for each seed; only what they leave open is drawn.
    Given(Arc<Vec<WorkloadJob>>),
}

/// Nodes of one kind, before their speeds are drawn.
#[derive(Clone, Debug)]
pub struct NodeKind {
    /// How many.
    pub count: u32,
    /// Their name.
    pub name: String,
    /// Whether a number follows the name, as it must where there are several of it.
    pub numbered: bool,
    /// Room of each.
    pub capacity: Resources,
    /// Speed of each.
    pub speed: Parameter,
    /// The racks that they are in.
    pub racks: Racks,
}

/// The racks of nodes of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Racks {
    /// Not known: such nodes share one.
    None,
    /// All in this one.
    Named(Arc<str>),
    /// Dealt out in turn over so many: `rack-0`, `rack-1`, …
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

    /// The rack of the n-th node, from 0.
    fn rack(&self, node: u32) -> Option<Arc<str>> {
        match self {
            Racks::None => None,
            Racks::Named(name) => Some(name.clone()),
            Racks::Dealt(racks) => Some(format!("rack-{}", node % racks).into()),
        }
    }
}

/// A cluster, a workload and the policies to compare on them.
#[derive(Clone)]
pub struct Experiment {
    /// Name for people.
    pub name: String,
    /// Dimensions of room.
    pub dimensions: Dimensions,
    /// The nodes.
    pub nodes: Vec<NodeKind>,
    /// The jobs.
    pub jobs: Jobs,
    /// The policies.
    pub policies: Vec<PolicySpec>,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// Order for policies that bring none.
    pub order: String,
    /// Everything else; its seed and nodes are filled in for each run.
    pub setup: Setup,
}

impl Experiment {
    /// Of a checked scenario. Seeds are `first`, `first` + 1, …, as many as the scenario says.
    ///
    /// # Errors
    /// If an exact workload can't be read or something does not fit together.
    pub fn of(scenario: &Scenario, first: u64) -> Result<Experiment, SimulationError> {
        let wrong = SimulationError::Workload;
        let dimensions = scenario.cluster.dimensions().map_err(wrong)?;
        let mut nodes = Vec::new();
        if let Some(count) = scenario.cluster.machines {
            let speed = Parameter::Number(1.0);
            let racks = Racks::of(None, scenario.cluster.racks);
            let (name, capacity) = ("machine".to_owned(), Resources::ONE_SLOT);
            nodes.push(NodeKind { count, name, numbered: true, capacity, speed, racks });
        }
        for class in &scenario.cluster.nodes {
            let capacity = class.capacity().map_err(wrong)?;
            nodes.push(NodeKind {
                count: class.count,
                name: class.name.clone().unwrap_or_else(|| "node".to_owned()),
                numbered: true,
                capacity: dimensions.amounts(&capacity).map_err(|error| wrong(error.to_string()))?,
                speed: class.speed.clone(),
                racks: Racks::of(class.rack.as_deref(), class.racks),
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
            noise: scenario.noise,
            correlation: scenario.workload.correlation,
            slow_from: scenario.workload.slow_from,
            seed: 0,
            gamma: scenario.gamma,
            queues: scenario.queue.clone(),
            network: scenario.network.as_ref().map(NetworkSpec::network),
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

    /// What policies know of running attempts.
    pub fn knowledge(&self) -> Knowledge {
        self.setup.knowledge
    }

    /// True if nothing is drawn, so that all seeds meet the same and give the same.
    pub fn is_the_same_for_every_seed(&self) -> bool {
        let listed = |job: &WorkloadJob| job.durations.iter().all(|one| matches!(one, Durations::Listed(_)));
        matches!(&self.jobs, Jobs::Given(jobs) if jobs.iter().all(listed))
            && self.nodes.iter().all(|kind| kind.speed.is_constant().is_some())
            && self.setup.noise == 0.0
            && self.setup.knowledge != Knowledge::ProgressUniform
    }

    /// The setup of one seed's runs: nodes with their speeds drawn.
    ///
    /// # Errors
    /// If a drawn speed is not above 0.
    pub fn setup_of(&self, seed: u64) -> Result<Setup, SimulationError> {
        let mut setup = self.setup.clone();
        setup.seed = seed;
        for kind in &self.nodes {
            for at in 0..kind.count {
                let number = setup.nodes.len();
                let mut draws = Draws::new(seed, Purpose::Node, number as u64);
                let speed = kind.speed.draw(&mut draws).map_err(|error| format!("speed: {error}"));
                let speed = speed.map_err(SimulationError::Workload)?;
                if !(speed.is_finite() && speed > 0.0) {
                    let speed = Plain(speed);
                    return Err(SimulationError::Workload(format!("a node's speed is {speed}, but must be above 0")));
                }
                let name = if kind.numbered { format!("{}-{number}", kind.name) } else { kind.name.clone() };
                let (capacity, rack) = (kind.capacity, kind.racks.rack(at));
                setup.nodes.push(NodeSetup { name, capacity, speed, rack });
            }
        }
        Ok(setup)
    }

    /// One run: one policy on one seed.
    ///
    /// # Errors
    /// As [`simulate`], and if the policy can't be built.
    pub fn run_one(
        &self,
        policy: &PolicySpec,
        seed: u64,
        output: &mut dyn Output,
        control: &Control<'_>,
    ) -> Result<RunResult, SimulationError> {
        let setting = Setting { order: &self.order, gamma: self.setup.gamma, queues: &self.setup.queues };
        let built = catalogue::build(policy, &setting).map_err(|error| SimulationError::Workload(error.to_string()))?;
        self.run_policy(built, seed, output, control).map_err(|error| match error {
            SimulationError::TooFewDurations { job, phase, task, listed, .. } => {
                SimulationError::TooFewDurations { job, phase, task, listed, policy: policy.to_string() }
            }
            other => other,
        })
    }

    /// One run of a policy that need not be in the catalogue, on one seed.
    ///
    /// # Errors
    /// As [`simulate`].
    pub fn run_policy(
        &self,
        policy: Policy,
        seed: u64,
        output: &mut dyn Output,
        control: &Control<'_>,
    ) -> Result<RunResult, SimulationError> {
        let setup = self.setup_of(seed)?;
        match &self.jobs {
            Jobs::Generated { spec, folder } => {
                let horizon = setup.horizon.map(Time::seconds);
                let mut jobs = Generator::new(spec, horizon, folder, (seed, &setup.nodes))?;
                simulate(&setup, &mut jobs, policy, output, control)
            }
            Jobs::Given(jobs) => simulate(&setup, &mut jobs.iter().map(|job| Ok(job.clone())), policy, output, control),
        }
    }

    /// About when the last job arrives, to tell how far a run has got.
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

/// Where a run's output goes, if anywhere: told the experiment's number, the policy and the seed.
pub type OutputOf<'a> = dyn Fn(usize, &PolicySpec, u64) -> std::io::Result<Option<Box<dyn FinishedOutput>>> + Sync + 'a;

/// An output that is completed once its run has succeeded.
pub trait FinishedOutput: Output {
    /// Completes what was written.
    ///
    /// # Errors
    /// If it can't be written.
    fn complete(self: Box<Self>) -> std::io::Result<()>;
}

/// How experiments are carried out.
pub struct Execution<'a> {
    /// Number of threads, at least 1.
    pub threads: usize,
    /// Set to stop all runs.
    pub stop: &'a AtomicBool,
    /// Told how many more runs are done, in parts of a run.
    pub progress: &'a (dyn Fn(f64) + Sync),
    /// Where each run's output goes.
    pub output: Option<&'a OutputOf<'a>>,
}

/// The results of one experiment: a list of policies, each a list of seeds.
pub type Results = Vec<Vec<RunResult>>;

/// Runs experiments; results come in the order of experiments, policies and seeds.
///
/// # Errors
/// The first error in that order; the other runs are stopped.
pub fn run_all(experiments: &[Experiment], execution: &Execution<'_>) -> Result<Vec<Results>, SimulationError> {
    let mut runs = Vec::new();
    for (number, experiment) in experiments.iter().enumerate() {
        for policy in &experiment.policies {
            runs.extend(experiment.seeds.iter().map(|seed| (number, experiment, policy, *seed)));
        }
    }
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
    let mut finished = Vec::with_capacity(runs.len());
    for place in done {
        match place.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(Ok(result)) => finished.push(Some(result)),
            Some(Err(error)) => return Err(error),
            None => finished.push(None),
        }
    }
    let mut finished = finished.into_iter();
    let mut all = Vec::new();
    for experiment in experiments {
        let mut results = Vec::new();
        for _ in &experiment.policies {
            let seeds: Option<Vec<RunResult>> = finished.by_ref().take(experiment.seeds.len()).collect();
            results.push(seeds.ok_or(SimulationError::Interrupted)?);
        }
        all.push(results);
    }
    Ok(all)
}

fn one(
    experiment: &Experiment,
    number: usize,
    policy: &PolicySpec,
    seed: u64,
    execution: &Execution<'_>,
) -> Result<RunResult, SimulationError> {
    // Draining may take longer than arriving: the bar waits just short of the run's end.
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
