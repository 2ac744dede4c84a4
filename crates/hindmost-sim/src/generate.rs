//! Workloads made from a scenario's description, one job after another in order of arrival.
//!
//! Every number of a job is drawn from a hash of the seed and the job, so all policies on one seed
//! meet the same jobs.

use std::path::Path;

use hindmost_core::distribution::Distribution;
use hindmost_core::random::{Purpose, draw};
use hindmost_core::time::Time;
use hindmost_core::workload::{DemandByName, Durations, JobSpec, PhaseSpec, WorkloadJob};

use crate::driver::SimulationError;
use crate::parameter::{Draws, Parameter, read_numbers};
use crate::scenario::{ArrivalSpec, DemandSpec, JobKind, PlannedPhase, WorkloadSpec};

/// When the next job arrives.
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
    next: u32,
}

/// A kind of job, ready to make jobs of.
struct Kind {
    /// Beginning of its jobs' names, which end in their numbers.
    name: Option<String>,
    /// The sum of the shares up to this kind's.
    until: f64,
    /// The phases as written.
    written: Vec<Written>,
    /// The phases that its jobs have.
    plan: Vec<PlannedPhase>,
}

/// A phase as the scenario writes it.
struct Written {
    tasks: Parameter,
    duration: Parameter,
    demand: DemandByName,
    /// Where it is written, for errors.
    label: String,
}

/// What is drawn of a written phase, once a job.
struct Drawn {
    tasks: u32,
    durations: Distribution,
}

impl Written {
    /// `draws` gives the numbers for a purpose.
    fn draw(&self, draws: impl Fn(Purpose) -> Draws) -> Result<Drawn, String> {
        let label = &self.label;
        let tasks = self.tasks.draw_count(&mut draws(Purpose::Tasks));
        let tasks = tasks.map_err(|error| format!("{label}tasks: {error}"))?;
        let durations = self.duration.resolve(&mut draws(Purpose::Parameter));
        let durations = durations.and_then(|made| check_durations(&made).map(|()| made));
        Ok(Drawn { tasks, durations: durations.map_err(|error| format!("{label}duration: {error}"))? })
    }
}

/// Tasks of a job, at most.
const MOST_TASKS: u64 = (u32::MAX >> 8) as u64;

impl Kind {
    /// The one kind of a workload that describes its jobs without kinds.
    fn only(spec: &WorkloadSpec) -> Result<Kind, String> {
        let missing = |what: &str| format!("the workload has no {what}");
        let written = Written {
            tasks: spec.tasks.clone().ok_or_else(|| missing("tasks"))?,
            duration: spec.duration.clone().ok_or_else(|| missing("duration"))?,
            demand: spec.demand.as_ref().map_or_else(|| Ok(DemandByName::new()), DemandSpec::by_name)?,
            label: String::new(),
        };
        let plan = vec![PlannedPhase { name: "tasks".into(), after: Vec::new(), written: 0 }];
        Ok(Kind { name: None, until: 1.0, written: vec![written], plan })
    }

    /// A kind that comes after others with so large shares together.
    fn of(kind: &JobKind, before: f64) -> Result<Kind, String> {
        let written = kind.phase.iter().map(|phase| {
            let (tasks, duration) = (phase.tasks.clone(), phase.duration.clone());
            let label = format!("job {:?}, phase {:?}, ", kind.name, phase.name);
            Ok(Written { tasks, duration, demand: phase.demand_by_name()?, label })
        });
        Ok(Kind {
            name: Some(kind.name.clone()),
            until: before + kind.share,
            written: written.collect::<Result<_, String>>()?,
            plan: kind.plan()?,
        })
    }

    /// All kinds of a workload.
    fn all(spec: &WorkloadSpec) -> Result<Vec<Kind>, String> {
        if spec.job.is_empty() {
            return Ok(vec![Kind::only(spec)?]);
        }
        let mut kinds: Vec<Kind> = Vec::with_capacity(spec.job.len());
        for kind in &spec.job {
            let before = kinds.last().map_or(0.0, |kind| kind.until);
            kinds.push(Kind::of(kind, before)?);
        }
        Ok(kinds)
    }

    /// What is drawn of each written phase; `draws` gives the numbers for a purpose and a phase.
    fn draw(&self, draws: impl Fn(Purpose, usize) -> Draws) -> Result<Vec<Drawn>, String> {
        let phases = self.written.iter().enumerate();
        let drawn = phases.map(|(part, written)| written.draw(|purpose| draws(purpose, part)));
        let drawn = drawn.collect::<Result<Vec<Drawn>, String>>()?;
        let tasks: u64 = self.plan.iter().map(|planned| u64::from(drawn[planned.written].tasks)).sum();
        if tasks > MOST_TASKS {
            let name = self.name.as_deref().unwrap_or_default();
            return Err(format!("job {name:?} has {tasks} tasks, but may have at most {MOST_TASKS}"));
        }
        Ok(drawn)
    }
}

impl Generator {
    /// Of a checked description.
    pub(crate) fn new(
        spec: &WorkloadSpec,
        horizon: Option<f64>,
        folder: &Path,
        seed: u64,
    ) -> Result<Generator, SimulationError> {
        let missing = |what: &str| SimulationError::Workload(format!("the workload has no {what}"));
        let arrivals = match spec.arrival.as_ref().ok_or_else(|| missing("arrival"))? {
            ArrivalSpec::Poisson { rate } => Arrivals::Poisson { rate: *rate, last: 0.0 },
            ArrivalSpec::AtOnce { jobs } => Arrivals::AtOnce { jobs: *jobs },
            ArrivalSpec::Every { gap, jobs } => Arrivals::Every { gap: gap.clone(), jobs: *jobs, last: 0.0 },
            ArrivalSpec::File(path) => {
                let mut times = read_numbers(&folder.join(path)).map_err(SimulationError::Workload)?;
                times.sort_unstable_by(f64::total_cmp);
                Arrivals::Listed(times)
            }
        };
        let kinds = Kind::all(spec).map_err(SimulationError::Workload)?;
        Ok(Generator { seed, horizon: horizon.unwrap_or(f64::INFINITY), arrivals, kinds, next: 0 })
    }

    /// The kind of the `index`-th job.
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

    fn make(&mut self) -> Result<Option<WorkloadJob>, String> {
        let Some(arrival) = self.next_arrival()? else { return Ok(None) };
        let index = u64::from(self.next);
        let Some(kind) = self.kind(index) else { return Ok(None) };
        let drawn = kind.draw(|purpose, part| Draws::of_part(self.seed, purpose, index, part))?;
        let (mut phases, mut durations) = (Vec::with_capacity(kind.plan.len()), Vec::with_capacity(kind.plan.len()));
        for planned in &kind.plan {
            let (written, drawn) = (&kind.written[planned.written], &drawn[planned.written]);
            phases.push(PhaseSpec {
                name: planned.name.clone(),
                after: planned.after.clone(),
                tasks: drawn.tasks,
                demand: written.demand.clone(),
                mean: drawn.durations.mean(),
                sd: drawn.durations.sd(),
                tail: Some(drawn.durations.clone()),
                assumed: false,
                never_copied: false,
            });
            durations.push(Durations::Drawn(drawn.durations.clone()));
        }
        let name = match &kind.name {
            Some(name) => format!("{name}-{}", self.next),
            None => self.next.to_string(),
        };
        let arrival = Time::from_seconds(arrival);
        let spec = JobSpec { name: name.into(), arrival, deadline: None, weight: 1.0, queue: None, phases };
        self.next += 1;
        Ok(Some(WorkloadJob { spec, durations }))
    }
}

fn check_durations(durations: &Distribution) -> Result<(), String> {
    // A thousand ticks, and half of what can be counted.
    if (1e-6..=1e10).contains(&durations.mean()) {
        Ok(())
    } else {
        Err(format!("durations have the mean {}, but it must be from 1e-6 to 1e10 seconds", durations.mean()))
    }
}

impl Iterator for Generator {
    type Item = Result<WorkloadJob, SimulationError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.make().map_err(SimulationError::Workload).transpose()
    }
}

/// Draws jobs' parameters at the ends and in the middle of what they may be, to find what makes no sense before anything runs.
pub(crate) fn trial(spec: &WorkloadSpec) -> Result<(), String> {
    let kinds = Kind::all(spec)?;
    // Of what is drawn, the ends and the middle.
    for number in [1e-9, 0.25, 0.5, 0.75, 1.0 - 1e-9] {
        for kind in &kinds {
            kind.draw(|_, _| Draws::always(number))?;
        }
        if let Some(ArrivalSpec::Every { gap, .. }) = &spec.arrival {
            gap.draw(&mut Draws::always(number)).map_err(|error| format!("arrival.every.gap: {error}"))?;
        }
    }
    Ok(())
}
