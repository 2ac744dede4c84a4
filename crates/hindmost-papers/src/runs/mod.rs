//! The simulations that claims and tables need, and their results.
//!
//! The evaluation of claims runs twice. In the first pass every request only records what is needed and returns no
//! numbers. Then all simulations run in parallel. In the second pass the same requests return numbers. A simulation
//! that several requests need runs once, and only the requested numbers of its jobs are kept. The earlier runs whose
//! profiles a world knows are short, and run while simulations are requested.

mod cache;
mod collect;
mod history;

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, PoisonError};

use hindmost_core::cluster::Placement;
use hindmost_core::estimator::Knowledge;
use hindmost_core::time::Time;
use hindmost_math::statistics::mean;
use hindmost_policies::catalogue::spec::PolicySpec;
use hindmost_sim::cautions::cautions;
use hindmost_sim::driver::SimulationError;
use hindmost_sim::exact::read_exact_from;
use hindmost_sim::experiment::{Execution, Experiment, FinishedOutput, Jobs, run_all};
use hindmost_sim::scenario::{PolicyEntry, Scenario, ScenarioError};

use crate::data::{Paper, PaperError, ReadingSpec, Settings, SweepSpec, WorldSpec};
use crate::metric::{JobRow, Metric, Quantity};
pub use cache::Cache;
use collect::{Collector, Store};
use history::Histories;

/// The size of the simulations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// As in the paper.
    Full,
    /// Shorter, with fewer readings and swept values.
    Quick,
    /// Very short, for tests; the numbers say nothing about the paper.
    Short,
}

/// Consecutive seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Seeds {
    /// The first seed.
    pub first: u64,
    /// Number of seeds.
    pub count: u32,
}

impl Seeds {
    /// Returns the seeds one by one.
    pub fn list(self) -> Vec<u64> {
        (0..u64::from(self.count)).map(|at| self.first + at).collect()
    }
}

/// Identifies the runs of one policy in one world under one reading, on all their seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunId(usize);

/// What is kept of the jobs of a run.
#[derive(Clone, Debug, PartialEq)]
enum Want {
    /// A number.
    Metric(Metric),
    /// Cumulative shares of jobs, from 0 to 1, for each value of a grid.
    Shares(Quantity, Vec<f64>),
    /// A quantity of each job of up to so many tasks.
    ByJob(Quantity, Option<f64>),
    /// All jobs; `true` if their attempts matter.
    Rows(bool),
}

impl Want {
    fn needs_attempts(&self) -> bool {
        match self {
            Want::Metric(metric) => metric.needs_attempts(),
            Want::Shares(quantity, _) | Want::ByJob(quantity, _) => quantity.needs_attempts(),
            Want::Rows(needs_attempts) => *needs_attempts,
        }
    }
}

/// What was kept of the jobs of a run.
#[derive(Clone, Debug)]
enum Kept {
    Number(f64),
    Shares(Vec<f64>),
    /// Hash of the job's name, which takes less memory than the name, and the value.
    ByJob(Vec<(u64, f64)>),
    Rows(Arc<Vec<JobRow>>),
}

struct Planned {
    experiment: Experiment,
    /// Everything that the runs depend on, besides the seed.
    key: String,
    /// Requests; `true`: only jobs that had finished when arrivals stopped.
    wants: Vec<(Want, bool)>,
    /// What was kept for each seed, in the order of `wants`; empty before the run.
    kept: Vec<Vec<Kept>>,
}

/// The simulations of a reproduction.
pub struct Runs<'a> {
    paper: &'a Paper,
    size: Size,
    /// Number of seeds given on the command line.
    given_seeds: Option<u32>,
    planned: Vec<Planned>,
    index: HashMap<String, RunId>,
    /// The scenarios by their files and changed keys, without policies: policies and claims share them, and checking one computes
    /// its load.
    scenarios: HashMap<(String, Vec<(String, String)>), Scenario>,
    /// Whether [`Runs::execute`] was called.
    executed: bool,
    cache: Option<Cache>,
    histories: Histories,
}

/// A place of a sweep: the sweep and one of its values.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The sweep.
    pub sweep: &'a SweepSpec,
    /// The value.
    pub value: &'a toml::Value,
}

impl<'a> Runs<'a> {
    /// Creates an empty plan.
    pub fn new(paper: &'a Paper, size: Size, given_seeds: Option<u32>, cache: Option<Cache>) -> Runs<'a> {
        Runs {
            paper,
            size,
            given_seeds,
            planned: Vec::new(),
            index: HashMap::new(),
            scenarios: HashMap::new(),
            executed: false,
            cache,
            histories: Histories::default(),
        }
    }

    /// Returns the size of the simulations.
    pub fn size(&self) -> Size {
        self.size
    }

    /// Returns the seeds of a world's simulations.
    pub fn seeds(&self, world: &WorldSpec) -> Seeds {
        let usual = world.seeds.or(self.paper.seeds).unwrap_or(5);
        let count = match self.size {
            Size::Full => self.given_seeds.unwrap_or(usual),
            Size::Quick => self.given_seeds.unwrap_or(usual.min(3)),
            Size::Short => usual.min(2),
        };
        Seeds { first: 1, count }
    }

    /// Requests the runs of a policy.
    ///
    /// # Errors
    /// If the world, a setting or the policy is not valid.
    pub fn run(
        &mut self,
        world: &WorldSpec,
        label: &str,
        reading: &ReadingSpec,
        place: Option<Place<'_>>,
        seeds: Seeds,
    ) -> Result<RunId, PaperError> {
        let (scenario, spec) = self.resolve(world, label, reading, place)?;
        let text = serde_json::to_string(&scenario).unwrap_or_default();
        let has_history = chain(self.paper, reading).iter().filter_map(|part| part.history).next_back();
        let has_history = has_history.unwrap_or(world.history) && matches!(scenario.knowledge, Knowledge::Profiles(_));
        let mut key = format!("{text}\n{spec}\n{}", world.jobs.as_deref().unwrap_or_default());
        if has_history {
            key += "\nwith the profiles of an earlier run";
        }
        let with_seeds = format!("{key}\n{seeds:?}");
        if let Some(id) = self.index.get(&with_seeds) {
            return Ok(*id);
        }
        let mut experiment = Experiment::of(&scenario, seeds.first)?;
        experiment.seeds = seeds.list();
        if let Some(file) = &world.jobs {
            let text = self.paper.folder.text(file)?.ok_or_else(|| PaperError::Data {
                file: file.clone(),
                message: format!("there is no such file; world {} needs it", world.name),
            })?;
            let jobs = read_exact_from(text.as_bytes(), file)
                .map_err(|error| PaperError::Data { file: file.clone(), message: error.to_string() })?;
            experiment.jobs = Jobs::Given(Arc::new(jobs));
            key += &text;
        }
        if has_history {
            experiment.setup.known_profiles = self.histories.of(&scenario, &experiment)?;
        }
        let id = RunId(self.planned.len());
        self.planned.push(Planned { experiment, key, wants: Vec::new(), kept: Vec::new() });
        self.index.insert(with_seeds, id);
        Ok(id)
    }

    /// Returns the scenario of a run, and the policy.
    fn resolve(
        &mut self,
        world: &WorldSpec,
        label: &str,
        reading: &ReadingSpec,
        place: Option<Place<'_>>,
    ) -> Result<(Scenario, PolicySpec), PaperError> {
        let mut set = Vec::new();
        add(&mut set, &world.set);
        match self.size {
            Size::Full => {}
            Size::Quick => add(&mut set, &world.quick),
            Size::Short => {
                add(&mut set, &world.quick);
                add(&mut set, &world.short);
            }
        }
        let mut spec = self.paper.policy(label).map_or_else(|| label.to_owned(), |policy| policy.spec.clone());
        // A combined reading may include readings of other worlds.
        let in_world = |part: &&ReadingSpec| part.worlds.is_empty() || part.worlds.contains(&world.name);
        let chain: Vec<&ReadingSpec> = chain(self.paper, reading).into_iter().filter(in_world).collect();
        for part in &chain {
            add(&mut set, &part.set);
        }
        for change in chain.iter().filter_map(|part| part.policy.get(label)) {
            add(&mut set, &change.set);
            spec = change.spec.clone().unwrap_or(spec);
        }
        if let Some(place) = place {
            add(&mut set, &place.sweep.set);
            let value = plain(place.value);
            let taken = place.sweep.values.iter().position(|value| value == place.value);
            let taken = taken.and_then(|at| place.sweep.takes.get(at)).unwrap_or(place.value);
            for key in &place.sweep.keys {
                let text = match (place.sweep.over, taken.as_float().or(taken.as_integer().map(|it| it as f64))) {
                    (Some(over), Some(number)) => (over / number).to_string(),
                    _ => plain(taken),
                };
                set.push((key.clone(), text));
            }
            if let Some(template) = place.sweep.specs.get(label) {
                spec = template.replace("{}", &value);
            }
        }
        let wrong = |error: ScenarioError| match &reading.file {
            // A reading of the paper's own is checked by tests, so the file of a user is wrong.
            Some((file, _)) => PaperError::Data {
                file: file.display().to_string(),
                message: format!("in world {}: {}", world.name, error.to_string().replace("--set ", "")),
            },
            None => PaperError::World { world: world.name.clone(), error },
        };
        let key = (world.scenario.clone(), set);
        let mut scenario = if let Some(known) = self.scenarios.get(&key) {
            known.clone()
        } else {
            let scenario = loaded(self.paper, world, key.1.clone())?.map_err(wrong)?;
            self.scenarios.insert(key, scenario.clone());
            scenario
        };
        let parsed: PolicySpec = spec.parse().map_err(|error| PaperError::Data {
            file: format!("paper {}", self.paper.key),
            message: format!("policy {spec}: {error}"),
        })?;
        scenario.policy = vec![PolicyEntry::from(&parsed)];
        scenario.seeds = 1;
        Ok((scenario, parsed))
    }

    fn position(&mut self, id: RunId, want: Want, cut: bool) -> usize {
        let wants = &mut self.planned[id.0].wants;
        let known = wants.iter().position(|(known, known_cut)| *known == want && *known_cut == cut);
        known.unwrap_or_else(|| {
            wants.push((want, cut));
            wants.len() - 1
        })
    }

    /// Returns a metric of each seed's run. In the first pass these are NaN.
    pub fn values(&mut self, id: RunId, metric: Metric, cut: bool) -> Vec<f64> {
        let at = self.position(id, Want::Metric(metric), cut);
        let planned = &self.planned[id.0];
        if planned.kept.is_empty() {
            return vec![f64::NAN; planned.experiment.seeds.len()];
        }
        planned
            .kept
            .iter()
            .map(|kept| match kept.get(at) {
                Some(Kept::Number(number)) => *number,
                _ => f64::NAN,
            })
            .collect()
    }

    /// Returns a metric that compares two runs on each seed. In the first pass these are NaN.
    pub fn pair_values(&mut self, id: RunId, other: RunId, metric: Metric, cut: bool) -> Vec<f64> {
        let Some(quantity) = metric.pairs_quantity() else { return Vec::new() };
        let want = Want::ByJob(quantity, None);
        let (at, other_at) = (self.position(id, want.clone(), cut), self.position(other, want, cut));
        let seeds = 0..self.planned[id.0].experiment.seeds.len();
        seeds.map(|seed| metric.of_two(self.by_job(id, at, seed), self.by_job(other, other_at, seed))).collect()
    }

    /// Returns the kept quantity of each job of a seed's run. Empty in the first pass.
    fn by_job(&self, id: RunId, at: usize, seed: usize) -> &[(u64, f64)] {
        match self.planned[id.0].kept.get(seed).and_then(|kept| kept.get(at)) {
            Some(Kept::ByJob(jobs)) => jobs,
            _ => &[],
        }
    }

    /// Returns the means of a quantity under two policies on each seed, over the jobs of up to `up_to` tasks that had
    /// finished under both policies when arrivals stopped. In the first pass these are NaN.
    pub fn common_means(
        &mut self,
        (one, other): (RunId, RunId),
        quantity: Quantity,
        up_to: Option<f64>,
    ) -> Vec<(f64, f64)> {
        let want = Want::ByJob(quantity, up_to);
        let (at, other_at) = (self.position(one, want.clone(), true), self.position(other, want, true));
        let seeds = self.planned[one.0].experiment.seeds.len();
        let means = |seed: usize| {
            let others: HashMap<u64, f64> = self.by_job(other, other_at, seed).iter().copied().collect();
            let both = self.by_job(one, at, seed).iter().filter_map(|(name, value)| Some((*value, *others.get(name)?)));
            let (first, second): (Vec<f64>, Vec<f64>) = both.unzip();
            (mean(&first).unwrap_or(f64::NAN), mean(&second).unwrap_or(f64::NAN))
        };
        (0..seeds).map(means).collect()
    }

    /// Returns the cumulative shares of jobs, from 0 to 1, as means over seeds. Empty in the first pass.
    pub fn shares(&mut self, id: RunId, quantity: Quantity, grid: &[f64], cut: bool) -> Vec<f64> {
        let at = self.position(id, Want::Shares(quantity, grid.to_vec()), cut);
        let kept = &self.planned[id.0].kept;
        let of_seeds: Vec<&Vec<f64>> = kept
            .iter()
            .filter_map(|kept| match kept.get(at) {
                Some(Kept::Shares(shares)) => Some(shares),
                _ => None,
            })
            .collect();
        let places = of_seeds.first().map_or(0, |shares| shares.len());
        (0..places).map(|at| of_seeds.iter().map(|shares| shares[at]).sum::<f64>() / of_seeds.len() as f64).collect()
    }

    /// Returns all jobs of each seed's run. Empty in the first pass.
    pub fn rows(&mut self, id: RunId, cut: bool) -> Vec<Arc<Vec<JobRow>>> {
        self.rows_with(id, cut, false)
    }

    fn rows_with(&mut self, id: RunId, cut: bool, needs_attempts: bool) -> Vec<Arc<Vec<JobRow>>> {
        let at = self.position(id, Want::Rows(needs_attempts), cut);
        self.planned[id.0]
            .kept
            .iter()
            .filter_map(|kept| match kept.get(at) {
                Some(Kept::Rows(rows)) => Some(Arc::clone(rows)),
                _ => None,
            })
            .collect()
    }

    /// Returns the seeds of a run.
    pub fn seeds_of(&self, id: RunId) -> &[u64] {
        &self.planned[id.0].experiment.seeds
    }

    /// Returns the policy of a run as it is written on the command line.
    pub fn policy_of(&self, id: RunId) -> String {
        self.planned[id.0].experiment.policies.first().map_or_else(String::new, PolicySpec::to_string)
    }

    /// Returns how the runs choose among nodes.
    pub fn placement_of(&self, id: RunId) -> Placement {
        self.planned[id.0].experiment.placement()
    }

    /// Returns what limits conclusions from means of the runs: heavy tails. Each is a sentence without a capital letter
    /// and full stop.
    pub fn cautions_of(&self, id: RunId) -> Vec<String> {
        // A single seed, the other caution, is what `--seeds 1` requests.
        let experiment = &self.planned[id.0].experiment;
        let several = Experiment { seeds: vec![1, 2], ..experiment.clone() };
        cautions(&[&several])
    }

    /// Returns whether runs are still being requested, so that no result is used yet.
    pub fn is_planning(&self) -> bool {
        !self.executed
    }

    /// Returns the number of simulations that have not run: one for each run and seed.
    pub fn left(&self) -> u64 {
        self.planned.iter().filter(|run| run.kept.is_empty()).map(|run| run.experiment.seeds.len() as u64).sum()
    }

    /// Runs all simulations that have not run.
    ///
    /// # Errors
    /// If a run fails or is interrupted.
    pub fn execute(&mut self, execution: &Execution<'_>) -> Result<(), PaperError> {
        self.executed = true;
        self.load_kept(execution);
        let waiting: Vec<usize> = (0..self.planned.len()).filter(|at| self.planned[*at].kept.is_empty()).collect();
        // The results of a batch are in memory until its end, so batches are small. A batch has about eight runs for
        // each thread, so that no thread is idle for long at its end.
        let enough = 8 * execution.threads.max(1);
        let mut from = 0;
        while from < waiting.len() {
            let (mut to, mut runs) = (from, 0);
            while to < waiting.len() && runs < enough {
                runs += self.planned[waiting[to]].experiment.seeds.len();
                to += 1;
            }
            self.execute_batch(&waiting[from..to], execution)?;
            from = to;
        }
        Ok(())
    }

    /// Takes the results of earlier simulations from the cache.
    fn load_kept(&mut self, execution: &Execution<'_>) {
        let Some(cache) = &self.cache else { return };
        for run in self.planned.iter_mut().filter(|run| run.kept.is_empty()) {
            let seeds = run.experiment.seeds.iter();
            let kept: Option<Vec<_>> = seeds.map(|seed| cache.load(&run.key, *seed, &run.wants)).collect();
            if let Some(kept) = kept {
                (execution.progress)(kept.len() as f64);
                run.kept = kept;
            }
        }
    }

    fn execute_batch(&mut self, batch: &[usize], execution: &Execution<'_>) -> Result<(), PaperError> {
        let store: Store = Arc::default();
        let experiments: Vec<Experiment> = batch.iter().map(|at| self.planned[*at].experiment.clone()).collect();
        let wants: Vec<Arc<Vec<(Want, bool)>>> =
            batch.iter().map(|at| Arc::new(self.planned[*at].wants.clone())).collect();
        let open = |number: usize, _: &PolicySpec, seed: u64| -> io::Result<Option<Box<dyn FinishedOutput>>> {
            let horizon = experiments[number].setup.horizon.map_or(f64::INFINITY, Time::seconds);
            let wants = Arc::clone(&wants[number]);
            Ok(Some(Box::new(Collector::new((number, seed), horizon, wants, Arc::clone(&store)))))
        };
        run_all(&experiments, &Execution { output: Some(&open), ..*execution })?;
        let mut store = store.lock().unwrap_or_else(PoisonError::into_inner);
        for (number, at) in batch.iter().enumerate() {
            let seeds = experiments[number].seeds.iter();
            let kept: Option<Vec<Vec<Kept>>> = seeds.map(|seed| store.remove(&(number, *seed))).collect();
            let kept = kept.ok_or(SimulationError::Interrupted)?;
            let run = &mut self.planned[*at];
            if let Some(cache) = &self.cache {
                for (seed, kept) in run.experiment.seeds.iter().zip(&kept) {
                    cache.store(&run.key, *seed, &run.wants, kept).map_err(PaperError::Cache)?;
                }
            }
            run.kept = kept;
        }
        Ok(())
    }
}

/// Returns a reading after the readings that it includes, in the order in which their changes are made.
pub fn chain<'a>(paper: &'a Paper, reading: &'a ReadingSpec) -> Vec<&'a ReadingSpec> {
    /// Readings that include each other in a circle are cut off at this depth.
    const DEEPEST: usize = 16;
    fn collect<'a>(paper: &'a Paper, reading: &'a ReadingSpec, depth: usize, into: &mut Vec<&'a ReadingSpec>) {
        if depth < DEEPEST {
            for included in reading.includes.iter().filter_map(|name| paper.reading(name)) {
                collect(paper, included, depth + 1, into);
            }
        }
        into.push(reading);
    }
    let mut all = Vec::new();
    collect(paper, reading, 0, &mut all);
    all
}

/// Returns the scenario of a paper's world under the base reading, with further settings.
///
/// # Errors
/// If a setting is not valid.
pub(crate) fn scenario_of(
    paper: &Paper,
    world: &WorldSpec,
    more: Vec<(String, String)>,
) -> Result<Scenario, PaperError> {
    let mut set = Vec::new();
    add(&mut set, &world.set);
    if let Some(base) = paper.base().filter(|base| base.worlds.is_empty() || base.worlds.contains(&world.name)) {
        add(&mut set, &base.set);
    }
    set.extend(more);
    loaded(paper, world, set)?.map_err(|error| PaperError::World { world: world.name.clone(), error })
}

/// Returns the scenario of a world with settings. The inner error is that of the scenario.
fn loaded(
    paper: &Paper,
    world: &WorldSpec,
    mut set: Vec<(String, String)>,
) -> Result<Result<Scenario, ScenarioError>, PaperError> {
    // A slot of 0 means that policies decide after every event, which scenarios write by leaving the key out.
    let slot = set.iter().rev().find(|(key, _)| key == "slot").map(|(_, text)| text.clone());
    let no_slot = slot.is_some_and(|text| text.parse::<f64>() == Ok(0.0));
    set.retain(|(key, text)| key != "slot" || text.parse::<f64>() != Ok(0.0));
    let mut scenario = match paper.folder.text(&world.scenario)? {
        Some(text) => Scenario::parse(&text, &world.scenario, std::path::Path::new("."), &set),
        None => Scenario::load(&world.scenario, &set),
    };
    if let (true, Ok(scenario)) = (no_slot, &mut scenario) {
        scenario.slot = None;
    }
    Ok(scenario)
}

pub(crate) fn add(set: &mut Vec<(String, String)>, settings: &Settings) {
    set.extend(settings.iter().map(|(key, value)| (key.clone(), plain(value))));
}

/// Formats a value for a setting: texts without quotes.
fn plain(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
