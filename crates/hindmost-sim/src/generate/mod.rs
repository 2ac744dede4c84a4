//! Generates the workload that a scenario describes, one job after another in order of arrival.
//!
//! Every random number of a job is a hash of the seed and the job, so all policies run the same jobs on one seed.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use hindmost_core::random::{Purpose, draw};
use hindmost_core::time::Time;
use hindmost_core::workload::{Durations, JobSpec, PhaseSpec, WorkloadJob, edges_of_each};
use hindmost_math::distribution::Distribution;

use crate::driver::{NodeSetup, SimulationError};
use crate::parameter::{Draws, Parameter, read_numbers};
use crate::scenario::{ArrivalSpec, EveryArrivals, PoissonArrivals, WorkloadSpec};

mod kinds;
mod offered;
mod replicas;

use kinds::Kind;
pub(crate) use offered::{in_words as load_in_words, load, offered};
use replicas::Racks;

/// The arrival process.
enum Arrivals {
    Poisson { rate: f64, last: f64 },
    AtOnce { jobs: u32 },
    Every { gap: Parameter, jobs: u32, last: f64 },
    Listed(Vec<f64>),
}

/// The jobs of a generated workload, in order of arrival.
pub(crate) struct Generator {
    seed: u64,
    horizon: f64,
    arrivals: Arrivals,
    kinds: Vec<Kind>,
    racks: Racks,
    /// Queues, each with the probability that a job is in this queue or one before it.
    queues: Vec<(Arc<str>, f64)>,
    /// The factor by which the durations that policies know differ from the true ones.
    error: Option<Distribution>,
    next: u32,
}

impl Generator {
    /// Creates the generator of a checked description, for a cluster of these nodes.
    pub(crate) fn new(
        spec: &WorkloadSpec,
        horizon: Option<f64>,
        folder: &Path,
        (seed, nodes): (u64, &[NodeSetup]),
    ) -> Result<Generator, SimulationError> {
        let missing = |what: &str| SimulationError::Workload(format!("the workload has no {what}"));
        let arrivals = match spec.arrival.as_ref().ok_or_else(|| missing("arrival"))? {
            ArrivalSpec::Poisson(arrivals) => {
                let rate = rate(spec, arrivals).ok_or_else(|| missing("rate of arrivals"))?;
                Arrivals::Poisson { rate, last: 0.0 }
            }
            ArrivalSpec::AtOnce { jobs } => Arrivals::AtOnce { jobs: *jobs },
            ArrivalSpec::Every(arrivals) => {
                let gap = gap(spec, arrivals).ok_or_else(|| missing("gap between arrivals"))?;
                Arrivals::Every { gap, jobs: arrivals.jobs, last: 0.0 }
            }
            ArrivalSpec::File(path) => {
                let mut times = read_numbers(&folder.join(path)).map_err(SimulationError::Workload)?;
                times.sort_unstable_by(f64::total_cmp);
                Arrivals::Listed(times)
            }
        };
        let kinds = Kind::all(spec).map_err(SimulationError::Workload)?;
        let horizon = horizon.unwrap_or(f64::INFINITY);
        let nodes = if kinds.iter().any(Kind::has_replicas) { nodes } else { &[] };
        let (racks, queues) = (Racks::of(nodes), cumulative(&spec.queues));
        let error = (spec.duration_error > 0.0)
            .then(|| Distribution::log_normal(1.0, (spec.duration_error.powi(2).exp() - 1.0).sqrt()))
            .transpose()
            .map_err(|error| SimulationError::Workload(format!("workload.duration_error: {error}")))?;
        Ok(Generator { seed, horizon, arrivals, kinds, racks, queues, error, next: 0 })
    }

    /// Draws the kind of job number `index`.
    fn kind(&self, index: u64) -> Option<&Kind> {
        let (last, others) = self.kinds.split_last()?;
        let drawn = draw(self.seed, Purpose::Kind, index, 0) * last.until;
        Some(others.iter().find(|kind| drawn < kind.until).unwrap_or(last))
    }

    fn next_arrival(&mut self) -> Result<Option<f64>, String> {
        let index = u64::from(self.next);
        let time = match &mut self.arrivals {
            Arrivals::Poisson { rate, last } => {
                *last -= draw(self.seed, Purpose::Arrival, index, 0).ln() / *rate;
                *last
            }
            Arrivals::AtOnce { jobs } if self.next < *jobs => 0.0,
            Arrivals::Every { gap, jobs, last } if self.next < *jobs => {
                if self.next > 0 {
                    *last += gap.draw(&mut Draws::new(self.seed, Purpose::Arrival, index))?;
                }
                *last
            }
            Arrivals::Listed(times) => match times.get(self.next as usize) {
                Some(time) => *time,
                None => return Ok(None),
            },
            Arrivals::AtOnce { .. } | Arrivals::Every { .. } => return Ok(None),
        };
        Ok((time < self.horizon).then_some(time))
    }

    /// Draws the queue of job number `index`; `None` for the default queue.
    fn queue_of(&self, index: u64) -> Option<Arc<str>> {
        if self.queues.is_empty() {
            return None;
        }
        let number = draw(self.seed, Purpose::Queue, index, 0);
        self.queues.iter().find(|(_, until)| number < *until).map(|(name, _)| name.clone())
    }

    /// Returns the durations of a phase as policies know them.
    fn known(&self, durations: &Distribution, (job, phase): (u64, u64)) -> Distribution {
        let Some(error) = &self.error else { return durations.clone() };
        durations.scaled(error.survival_quantile(draw(self.seed, Purpose::DurationError, job, phase)))
    }

    fn make(&mut self) -> Result<Option<WorkloadJob>, String> {
        let Some(arrival) = self.next_arrival()? else { return Ok(None) };
        let index = u64::from(self.next);
        let Some(kind) = self.kind(index) else { return Ok(None) };
        let drawn = kind.draw(|purpose, part| Draws::of_part(self.seed, purpose, index, part))?;
        let (mut phases, mut durations) = (Vec::with_capacity(kind.plan.len()), Vec::with_capacity(kind.plan.len()));
        for planned in &kind.plan {
            let (written, drawn) = (&kind.written[planned.written], &drawn[planned.written]);
            let known = self.known(&drawn.durations, (index, phases.len() as u64));
            phases.push(PhaseSpec {
                after: planned.after.clone(),
                edges: edges_of_each(planned.each, &planned.after),
                demand: written.demand.clone(),
                sd: known.sd(),
                tail: Some(known.clone()),
                input: written.input(drawn, planned, &self.racks, (self.seed, index)),
                memory_accesses: written.memory_accesses,
                never_resumed: written.never_resumed,
                ..PhaseSpec::new(planned.name.clone(), drawn.tasks, known.mean())
            });
            durations.push(Durations::Drawn(drawn.durations.clone()));
        }
        let name = match &kind.name {
            Some(name) => format!("{name}-{}", self.next),
            None => self.next.to_string(),
        };
        let arrival = Time::from_seconds(arrival);
        let deadline = kind.draw_deadline(&drawn, &mut Draws::new(self.seed, Purpose::Deadline, index))?;
        let spec = JobSpec { name: name.into(), arrival, deadline, weight: 1.0, queue: self.queue_of(index), phases };
        self.next += 1;
        Ok(Some(WorkloadJob { spec, durations }))
    }
}

/// Returns the mean number of jobs per second: that of the scenario, or the one that gives its load.
fn rate(spec: &WorkloadSpec, arrivals: &PoissonArrivals) -> Option<f64> {
    arrivals.rate.or(spec.offered.as_ref().map(|offered| offered.rate))
}

/// Returns the gap between arrivals: that of the scenario, or the constant one that gives its load.
fn gap(spec: &WorkloadSpec, arrivals: &EveryArrivals) -> Option<Parameter> {
    let by_load = spec.offered.as_ref().map(|offered| Parameter::Number(1.0 / offered.rate));
    arrivals.gap.clone().or(by_load)
}

impl Iterator for Generator {
    type Item = Result<WorkloadJob, SimulationError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.make().map_err(SimulationError::Workload).transpose()
    }
}

/// Draws the parameters of jobs at five quantiles from the lowest to the highest, to find invalid ones before anything
/// runs.
pub(crate) fn trial(spec: &WorkloadSpec) -> Result<(), String> {
    let kinds = Kind::all(spec)?;
    for number in [1e-9, 0.25, 0.5, 0.75, 1.0 - 1e-9] {
        for kind in &kinds {
            let drawn = kind.draw(|_, _| Draws::always(number))?;
            kind.draw_deadline(&drawn, &mut Draws::always(number))?;
        }
        if let Some(ArrivalSpec::Every(EveryArrivals { gap: Some(gap), .. })) = &spec.arrival {
            gap.draw(&mut Draws::always(number)).map_err(|error| format!("arrival.every.gap: {error}"))?;
        }
    }
    Ok(())
}

/// Returns the mean number of jobs of a checked description and the mean number of tasks of a job, with the medians of
/// the parameters that are drawn.
pub(crate) fn expected(spec: &WorkloadSpec, horizon: Option<f64>) -> Result<(f64, f64), String> {
    let horizon = horizon.unwrap_or(f64::INFINITY);
    let jobs = match &spec.arrival {
        Some(ArrivalSpec::Poisson(arrivals)) => (rate(spec, arrivals).unwrap_or(0.0) * horizon).min(f64::MAX),
        Some(ArrivalSpec::AtOnce { jobs }) => f64::from(*jobs),
        Some(ArrivalSpec::Every(arrivals)) => {
            let gap = gap(spec, arrivals).unwrap_or(Parameter::Number(0.0));
            let mean = gap.resolve(&mut Draws::always(0.5))?.mean();
            // If the mean gap is 0, the quotient is infinite or NaN, and `min` returns the number of jobs.
            f64::from(arrivals.jobs).min(horizon / mean + 1.0)
        }
        Some(ArrivalSpec::File(path)) => read_numbers(path)?.len() as f64,
        None => 0.0,
    };
    let kinds = Kind::all(spec)?;
    let shares = kinds.last().map_or(1.0, |kind| kind.until);
    let (mut tasks, mut before) = (0.0, 0.0);
    for kind in &kinds {
        tasks += kind.mean_tasks()? * (kind.until - before) / shares;
        before = kind.until;
    }
    Ok((jobs, tasks))
}

/// Returns the names with cumulative probabilities. If they add up to 1 except for rounding, the last is exactly 1.
fn cumulative(chances: &BTreeMap<String, f64>) -> Vec<(Arc<str>, f64)> {
    let mut sum = 0.0;
    let mut queues: Vec<(Arc<str>, f64)> = chances
        .iter()
        .map(|(name, chance)| {
            sum += chance;
            (Arc::from(name.as_str()), sum)
        })
        .collect();
    // The last queue with a positive probability is the first one whose sum is complete.
    if (sum - 1.0).abs() < 1e-9
        && let Some((_, until)) = queues.iter_mut().find(|(_, until)| *until == sum)
    {
        *until = 1.0;
    }
    queues
}
