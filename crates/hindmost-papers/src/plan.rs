//! The simulations that figures ask for, and their results.

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

/// What policies are run on: a built-in scenario and what is changed of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct World {
    pub scenario: &'static str,
    /// What is put in place of the scenario's own by path, in TOML, before values are set.
    pub put: Vec<(&'static str, &'static str)>,
    /// Values set by path.
    pub set: Vec<(&'static str, f64)>,
    pub slot: f64,
    pub knowledge: Knowledge,
    pub seeds: u32,
}

/// One policy in one world, over all its seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Handle {
    world: usize,
    policy: usize,
}

/// Runs to be made. What is asked for twice is run once.
#[derive(Default)]
pub(super) struct Plan {
    worlds: Vec<(World, Vec<PolicySpec>)>,
}

/// One run's results.
#[derive(Clone, Debug)]
struct Run {
    all: Digest,
    /// Of the jobs that had finished when arrivals stopped.
    cut: Digest,
}

/// The results of a plan.
pub(super) struct Runs {
    /// By world, policy and seed.
    digests: Vec<Vec<Vec<Run>>>,
}

/// Which jobs of a run count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    /// All, run until the last is done.
    Drained,
    /// Those that had finished when arrivals stopped: a run to that time would have had no others,
    /// and up to there nothing differs.
    Cut,
}

type Store = Arc<Mutex<BTreeMap<(usize, String, u64), Run>>>;

impl Plan {
    /// Asks for a policy in a world.
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

    /// Number of runs.
    pub(super) fn runs(&self) -> u64 {
        self.worlds.iter().map(|(world, policies)| u64::from(world.seeds) * policies.len() as u64).sum()
    }

    /// Makes the runs.
    ///
    /// # Errors
    /// If one fails or is interrupted.
    pub(super) fn run(&self, execution: &Execution<'_>) -> Result<Runs, SimulationError> {
        let experiments: Vec<Experiment> =
            self.worlds.iter().map(|(world, policies)| experiment(world, policies)).collect::<Result<_, _>>()?;
        let store = Store::default();
        // Whole results are held until a batch ends: batches are as small as threads allow.
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
    /// The results of a policy in a world, one a seed.
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

    /// All jobs of a policy's runs.
    pub(super) fn drained(&self, handle: Handle) -> Vec<Digest> {
        self.get(handle, Count::Drained)
    }
}

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

/// Gathers a run's jobs.
struct Collector {
    key: (usize, String, u64),
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
    fn a_drained_run_tells_what_a_cut_one_would_have() {
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

        let mut really_cut = experiment(&world, &plan.worlds[0].1).unwrap();
        really_cut.setup.drain = false;
        let results = run_all(&[really_cut], &execution).unwrap();
        for (digest, run) in cut.iter().zip(&results[0][0]) {
            assert!(run.unfinished > 0 && run.finished > 0);
            assert_eq!(digest.jobs, run.finished as f64);
            let sum: f64 = run.flowtime.iter().filter(|flowtime| flowtime.is_finite()).sum();
            assert!((digest.flowtime * digest.jobs - sum).abs() < 1e-6 * sum);
        }
    }
}
