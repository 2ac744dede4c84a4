//! The simulations that figures request, and the results of these simulations.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use hindmost_core::estimator::Knowledge;
use hindmost_core::metrics::JobResult;
use hindmost_core::time::Time;
use hindmost_policies::catalogue::spec::PolicySpec;

use super::digest::Digest;
use hindmost_sim::driver::SimulationError;
use hindmost_sim::experiment::{Execution, Experiment, FinishedOutput, run_all};
use hindmost_sim::output::Output;
use hindmost_sim::scenario::{PolicyEntry, Scenario};

/// A cluster with a workload, on which policies run: a built-in scenario with some changed keys.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct World {
    /// Name of the built-in scenario.
    pub scenario: &'static str,
    /// Keys of the scenario with their new values in TOML; applied before `set`.
    pub put: Vec<(&'static str, &'static str)>,
    /// Keys of the scenario with their new values.
    pub set: Vec<(&'static str, f64)>,
    /// Time between decisions, in the scenario's unit of time; 0: decisions after every event.
    pub slot: f64,
    /// What policies may know about running attempts.
    pub knowledge: Knowledge,
    /// Number of seeds, beginning with seed 1.
    pub seeds: u32,
}

/// Identifies the runs of one policy in one world on all seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Handle {
    world: usize,
    policy: usize,
}

/// The requested runs. A run that is requested twice is made once.
#[derive(Default)]
pub(super) struct Plan {
    /// Each world with the policies that run in it.
    worlds: Vec<(World, Vec<PolicySpec>)>,
}

/// The results of one policy in one world on one seed.
#[derive(Clone, Debug)]
struct Run {
    /// Summary of all jobs.
    all: Digest,
    /// Summary of the jobs that had finished when arrivals stopped.
    cut: Digest,
}

/// The results of all runs of a plan.
pub(super) struct Runs {
    /// Results by world, then by policy, then by seed.
    digests: Vec<Vec<Vec<Run>>>,
}

/// Which jobs of a run a measured value includes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    /// All jobs. The run ends when its last job is done.
    Drained,
    /// Only the jobs that had finished when arrivals stopped. Their results are those of a run that ends at that time.
    Cut,
}

/// The results of finished runs, by number of the world, name of the policy and seed.
type Store = Arc<Mutex<BTreeMap<(usize, String, u64), Run>>>;

impl Plan {
    /// Requests the runs of a policy in a world.
    ///
    /// # Errors
    /// If the policy's name is not valid.
    pub(super) fn add(&mut self, world: &World, policy: &str) -> Result<Handle, SimulationError> {
        let policy: PolicySpec = policy.parse().map_err(|error| SimulationError::Workload(format!("{error}")))?;
        let at = self.worlds.iter().position(|(known, _)| known == world).unwrap_or_else(|| {
            self.worlds.push((world.clone(), Vec::new()));
            self.worlds.len() - 1
        });
        let policies = &mut self.worlds[at].1;
        let place = policies.iter().position(|known| *known == policy).unwrap_or_else(|| {
            policies.push(policy);
            policies.len() - 1
        });
        Ok(Handle { world: at, policy: place })
    }

    /// Returns the number of runs: one for each world, policy and seed.
    pub(super) fn runs(&self) -> u64 {
        self.worlds.iter().map(|(world, policies)| u64::from(world.seeds) * policies.len() as u64).sum()
    }

    /// Simulates all requested runs.
    ///
    /// # Errors
    /// If a run fails or is interrupted.
    pub(super) fn run(&self, execution: &Execution<'_>) -> Result<Runs, SimulationError> {
        let experiments: Vec<Experiment> =
            self.worlds.iter().map(|(world, policies)| experiment(world, policies)).collect::<Result<_, _>>()?;
        let store = Store::default();
        // `run_all` keeps the results of all its runs in memory, so it gets the worlds in small batches. A batch has
        // about eight runs for each thread, so that no thread is idle for long at its end.
        let enough = 8 * execution.threads.max(1);
        let mut from = 0;
        while from < experiments.len() {
            let (mut to, mut runs) = (from, 0);
            while to < experiments.len() && (to == from || runs < enough) {
                runs += experiments[to].policies.len() * experiments[to].seeds.len();
                to += 1;
            }
            let open = |number: usize, policy: &PolicySpec, seed: u64| {
                Ok(Some(Box::new(Collector {
                    key: (from + number, policy.to_string(), seed),
                    horizon: experiments[from + number].setup.horizon.map(Time::seconds),
                    jobs: Vec::new(),
                    store: Arc::clone(&store),
                }) as Box<dyn FinishedOutput>))
            };
            let execution = Execution { output: Some(&open), ..*execution };
            run_all(&experiments[from..to], &execution)?;
            from = to;
        }
        let mut store = store.lock().unwrap_or_else(PoisonError::into_inner);
        let mut digests = Vec::with_capacity(experiments.len());
        for (number, experiment) in experiments.iter().enumerate() {
            let mut policies = Vec::with_capacity(experiment.policies.len());
            for policy in &experiment.policies {
                let name = policy.to_string();
                let seeds = experiment.seeds.iter().filter_map(|seed| store.remove(&(number, name.clone(), *seed)));
                policies.push(seeds.collect());
            }
            digests.push(policies);
        }
        Ok(Runs { digests })
    }
}

impl Runs {
    /// Returns the summary of each seed's run, over the jobs that `count` includes.
    pub(super) fn get(&self, handle: Handle, count: Count) -> Vec<Digest> {
        let runs = self.digests.get(handle.world).and_then(|policies| policies.get(handle.policy));
        runs.into_iter()
            .flatten()
            .map(|run| match count {
                Count::Drained => run.all.clone(),
                Count::Cut => run.cut.clone(),
            })
            .collect()
    }

    /// Returns the summary of each seed's run, over all jobs.
    pub(super) fn drained(&self, handle: Handle) -> Vec<Digest> {
        self.get(handle, Count::Drained)
    }
}

/// Creates the experiment that runs the policies in a world on all its seeds.
fn experiment(world: &World, policies: &[PolicySpec]) -> Result<Experiment, SimulationError> {
    let put = world.put.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
    let set = world.set.iter().map(|(path, value)| ((*path).to_owned(), value.to_string()));
    let set: Vec<(String, String)> = put.chain(set).collect();
    let wrong = |error: hindmost_sim::scenario::ScenarioError| SimulationError::Workload(error.to_string());
    let mut scenario = Scenario::load(world.scenario, &set).map_err(wrong)?;
    "smallest_workload".clone_into(&mut scenario.order);
    scenario.slot = (world.slot > 0.0).then_some(world.slot);
    scenario.knowledge = world.knowledge;
    scenario.seeds = world.seeds;
    scenario.drain = true;
    scenario.gamma = 0.01;
    scenario.policy = policies.iter().map(PolicyEntry::from).collect();
    Experiment::of(&scenario, 1)
}

/// Collects the finished jobs of a run and stores their summaries when the run ends.
struct Collector {
    /// The run's key in `store`.
    key: (usize, String, u64),
    /// Time at which arrivals stop; `None`: the workload has no such time, and `cut` includes all jobs.
    horizon: Option<f64>,
    jobs: Vec<JobResult>,
    store: Store,
}

impl Output for Collector {
    fn job(&mut self, _name: &Arc<str>, result: &JobResult) -> io::Result<()> {
        self.jobs.push(*result);
        Ok(())
    }
}

impl FinishedOutput for Collector {
    fn complete(self: Box<Self>) -> io::Result<()> {
        let end = self.horizon.unwrap_or(f64::INFINITY);
        let all = Digest::of(self.jobs.iter());
        let cut = Digest::of(self.jobs.iter().filter(|job| job.finish <= end));
        self.store.lock().unwrap_or_else(PoisonError::into_inner).insert(self.key, Run { all, cut });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn cut_results_equal_those_of_a_run_that_ends_early() {
        let world = World {
            scenario: "xu2015-heavy",
            put: Vec::new(),
            set: vec![("horizon", 20.0), ("cluster.machines", 100.0), ("workload.arrival.poisson.rate", 1.3)],
            slot: 0.1,
            knowledge: Knowledge::Progress(0.2),
            seeds: 2,
        };
        let mut plan = Plan::default();
        let handle = plan.add(&world, "mantri").unwrap();
        assert_eq!(plan.add(&world, "mantri").unwrap(), handle);
        assert_eq!(plan.runs(), 2);
        let stop = AtomicBool::new(false);
        let execution = Execution { threads: 2, stop: &stop, progress: &|_| {}, output: None };
        let cut = plan.run(&execution).unwrap().get(handle, Count::Cut);

        let mut ends_early = experiment(&world, &plan.worlds[0].1).unwrap();
        ends_early.setup.drain = false;
        let results = run_all(&[ends_early], &execution).unwrap();
        for (digest, run) in cut.iter().zip(&results[0][0]) {
            assert!(run.unfinished > 0 && run.finished > 0);
            assert_eq!(digest.jobs, run.finished as f64);
            let sum: f64 = run.flowtime.iter().filter(|flowtime| flowtime.is_finite()).sum();
            assert!((digest.flowtime * digest.jobs - sum).abs() < 1e-6 * sum);
        }
    }
}
