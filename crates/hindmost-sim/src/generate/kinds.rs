//! Kinds of jobs in the form that the generator uses, and the parameters that are drawn once per job and phase.

use hindmost_core::ids::NodeId;
use hindmost_core::random::{Purpose, draw};
use hindmost_core::time::Time;
use hindmost_core::workload::{DemandByName, InputSpec};
use hindmost_math::distribution::Distribution;
use hindmost_math::plain::Plain;

use crate::expected::{self, Expected};
use crate::parameter::{Draws, MOST_TASKS, Parameter};
use crate::scenario::{JobKind, PhaseKind, PlannedPhase, WorkloadSpec};
use crate::size::{Size, whole};

use super::replicas::Racks;

/// The longest time from a job's arrival to its deadline, seconds.
const LONGEST_DEADLINE: f64 = 1e10;

/// A kind of job of the scenario, or the only kind of a workload without kinds.
pub(super) struct Kind {
    /// Prefix of its jobs' names; the job's number follows. `None`: names are numbers only.
    pub(super) name: Option<String>,
    /// Sum of the shares of all kinds up to and including this one.
    pub(super) until: f64,
    /// When its jobs are due; `None` if they have no deadline.
    due: Option<DueKey>,
    /// The phases as they are written in the scenario.
    pub(super) written: Vec<Written>,
    /// The phases of its jobs: parents first, with repetitions.
    pub(super) plan: Vec<PlannedPhase>,
}

/// How the deadline of a job is given.
#[derive(Clone)]
enum DueKey {
    /// Seconds from the job's arrival.
    After(Parameter),
    /// A multiple of the job's ideal time.
    Factor(Parameter),
}

impl DueKey {
    fn of(deadline: Option<&Parameter>, factor: Option<&Parameter>) -> Option<DueKey> {
        let after = deadline.cloned().map(DueKey::After);
        after.or_else(|| factor.cloned().map(DueKey::Factor))
    }
}

/// A phase as it is written in the scenario.
pub(super) struct Written {
    tasks: Parameter,
    /// Index of the phase that has these `tasks`: another one if each task waits for a task of an earlier phase.
    counted_as: usize,
    duration: Parameter,
    pub(super) demand: DemandByName,
    /// Memory accesses per second of a running copy.
    pub(super) memory_accesses: f64,
    /// True if a copy that starts from progress does the whole work all the same.
    pub(super) never_resumed: bool,
    /// Bytes that a task reads; `None` if tasks read nothing.
    input: Option<Size>,
    /// Number of nodes with a replica of the input, in phases without parents.
    replicas: u32,
    /// Names of the kind and the phase, for errors.
    label: String,
}

/// The parameters of a phase that are drawn once per job.
pub(super) struct Drawn {
    pub(super) tasks: u32,
    pub(super) durations: Distribution,
    /// Distribution of the bytes that a task reads; `None` if tasks read nothing.
    input: Option<Distribution>,
}

impl Written {
    fn of(kind: &JobKind, phase: &PhaseKind, counted_as: usize) -> Result<Written, String> {
        let tasks = kind.phase[counted_as].tasks.clone();
        Ok(Written {
            tasks: tasks.ok_or_else(|| format!("job {:?}, phase {:?} has no tasks", kind.name, phase.name))?,
            counted_as,
            duration: phase.duration.clone(),
            demand: phase.demand_by_name()?,
            memory_accesses: phase.memory_accesses.unwrap_or(0.0),
            never_resumed: !phase.resumes,
            input: phase.input.clone(),
            replicas: phase.replicas(),
            label: format!("job {:?}, phase {:?}, ", kind.name, phase.name),
        })
    }

    /// Draws the parameters of the phase for one job; `draws` returns the random numbers for a purpose.
    fn draw(&self, draws: impl Fn(Purpose) -> Draws) -> Result<Drawn, String> {
        let label = &self.label;
        let tasks = self.tasks.draw_count(&mut draws(Purpose::Tasks));
        let tasks = tasks.map_err(|error| format!("{label}tasks: {error}"))?;
        let durations = self.duration.resolve(&mut draws(Purpose::Parameter));
        let durations = durations.and_then(|made| check_durations(&made).map(|()| made));
        let durations = durations.map_err(|error| format!("{label}duration: {error}"))?;
        let input = self.input.as_ref().map(|input| input.resolve(&mut draws(Purpose::Input))).transpose();
        let input = input.map_err(|error| format!("{label}input: {error}"))?;
        Ok(Drawn { tasks, durations, input })
    }

    /// Returns the mean number of tasks, with the medians of the parameters that are drawn.
    fn mean_tasks(&self) -> Result<f64, String> {
        let tasks = self.tasks.resolve(&mut Draws::always(0.5))?;
        Ok(tasks.mean().clamp(1.0, f64::from(MOST_TASKS)))
    }

    /// Returns the mean of the sum of the durations of the phase's tasks, one copy each, in seconds on a node of speed 1.
    pub(super) fn mean_seconds(&self) -> Result<Expected, String> {
        let label = &self.label;
        let tasks = expected::of_count(&self.tasks).map_err(|error| format!("{label}tasks: {error}"))?;
        let seconds = expected::of(&self.duration).map_err(|error| format!("{label}duration: {error}"))?;
        Ok(tasks.times(seconds))
    }

    fn has_replicas(&self, planned: &PlannedPhase) -> bool {
        self.input.is_some() && planned.after.is_empty() && self.replicas > 0
    }

    /// Draws the inputs of the tasks of a phase, for job number `index`; `None` if the phase reads nothing.
    pub(super) fn input(
        &self,
        drawn: &Drawn,
        planned: &PlannedPhase,
        racks: &Racks,
        (seed, index): (u64, u64),
    ) -> Option<InputSpec> {
        let sizes = drawn.input.as_ref()?;
        // The number of a draw has 14 bits for the phase, 14 for its repetition, 24 for the task and 10 for the
        // replica.
        let phase = (planned.written as u64) << 48 | u64::from(planned.copy) << 34;
        let number = |task: u32| phase | u64::from(task) << 10;
        let bytes = |task| whole(sizes.survival_quantile(draw(seed, Purpose::InputOfTask, index, number(task))));
        let nodes = |task| -> Vec<NodeId> {
            racks.place(self.replicas, |replica| draw(seed, Purpose::Replica, index, number(task) | replica))
        };
        let replicas = if self.has_replicas(planned) { (0..drawn.tasks).map(nodes).collect() } else { Vec::new() };
        Some(InputSpec { bytes: (0..drawn.tasks).map(bytes).collect(), replicas })
    }
}

impl Kind {
    /// Creates the only kind of a workload without kinds.
    fn only(spec: &WorkloadSpec) -> Result<Kind, String> {
        let missing = |what: &str| format!("the workload has no {what}");
        let written = Written {
            tasks: spec.tasks.clone().ok_or_else(|| missing("tasks"))?,
            counted_as: 0,
            duration: spec.duration.clone().ok_or_else(|| missing("duration"))?,
            demand: match &spec.demand {
                Some(demand) => demand.by_name().map_err(|error| format!("demand.{error}"))?,
                None => DemandByName::new(),
            },
            memory_accesses: spec.memory_accesses.unwrap_or(0.0),
            never_resumed: spec.resumes == Some(false),
            input: None,
            replicas: 0,
            label: String::new(),
        };
        let plan = vec![PlannedPhase { name: "tasks".into(), after: Vec::new(), each: false, written: 0, copy: 0 }];
        let due = DueKey::of(spec.deadline.as_ref(), spec.deadline_factor.as_ref());
        Ok(Kind { name: None, until: 1.0, due, written: vec![written], plan })
    }

    /// Creates a kind; `before` is the sum of the shares of the kinds before it.
    fn of(spec: &WorkloadSpec, kind: &JobKind, before: f64) -> Result<Kind, String> {
        let counted_as = kind.counted_as()?;
        let written = kind.phase.iter().zip(counted_as).map(|(phase, counted_as)| Written::of(kind, phase, counted_as));
        Ok(Kind {
            name: Some(kind.name.clone()),
            until: before + kind.share,
            due: DueKey::of(kind.deadline.as_ref(), kind.deadline_factor.as_ref())
                .or_else(|| DueKey::of(spec.deadline.as_ref(), spec.deadline_factor.as_ref())),
            written: written.collect::<Result<_, String>>()?,
            plan: kind.plan()?,
        })
    }

    /// Creates all kinds of a workload.
    pub(super) fn all(spec: &WorkloadSpec) -> Result<Vec<Kind>, String> {
        if spec.job.is_empty() {
            return Ok(vec![Kind::only(spec)?]);
        }
        let mut kinds: Vec<Kind> = Vec::with_capacity(spec.job.len());
        for kind in &spec.job {
            let before = kinds.last().map_or(0.0, |kind| kind.until);
            kinds.push(Kind::of(spec, kind, before)?);
        }
        Ok(kinds)
    }

    /// Returns whether tasks of the kind read input that has replicas in the cluster.
    pub(super) fn has_replicas(&self) -> bool {
        self.plan.iter().any(|planned| self.written[planned.written].has_replicas(planned))
    }

    /// Returns the mean number of tasks of a job, over all phases.
    pub(super) fn mean_tasks(&self) -> Result<f64, String> {
        self.plan.iter().map(|planned| self.written[planned.written].mean_tasks()).sum()
    }

    /// Returns the ideal time of a job with these drawn phases, in seconds: the longest path through its phases at the true
    /// means of their durations.
    fn ideal(&self, drawn: &[Drawn]) -> f64 {
        let mut ends: Vec<f64> = Vec::with_capacity(self.plan.len());
        for planned in &self.plan {
            let begins = planned.after.iter().map(|parent| ends[*parent as usize]).fold(0.0, f64::max);
            ends.push(begins + drawn[planned.written].durations.mean());
        }
        ends.into_iter().fold(0.0, f64::max)
    }

    /// Draws the time from the arrival of a job with these drawn phases to its deadline; `None` if it has no deadline.
    pub(super) fn draw_deadline(&self, drawn: &[Drawn], draws: &mut Draws) -> Result<Option<Time>, String> {
        let Some(due) = &self.due else { return Ok(None) };
        let (seconds, key) = match due {
            DueKey::After(after) => (after.draw(draws), "deadline"),
            DueKey::Factor(factor) => (factor.draw(draws).map(|factor| factor * self.ideal(drawn)), "deadline_factor"),
        };
        let label = self.name.as_ref().map_or(String::new(), |name| format!("job {name:?}, "));
        let seconds = seconds.map_err(|error| format!("{label}{key}: {error}"))?;
        if seconds > 0.0 && seconds <= LONGEST_DEADLINE {
            return Ok(Some(Time::from_seconds(seconds)));
        }
        Err(format!(
            "{label}{key}: a deadline is {} seconds after the arrival, but must be above 0 and at most {LONGEST_DEADLINE}",
            Plain(seconds)
        ))
    }

    /// Draws the parameters of each phase of the scenario for one job; `draws` returns the random numbers for a purpose
    /// and a phase.
    pub(super) fn draw(&self, draws: impl Fn(Purpose, usize) -> Draws) -> Result<Vec<Drawn>, String> {
        let phases = self.written.iter().enumerate();
        let drawn = phases.map(|(part, written)| {
            written.draw(|purpose| draws(purpose, if purpose == Purpose::Tasks { written.counted_as } else { part }))
        });
        let drawn = drawn.collect::<Result<Vec<Drawn>, String>>()?;
        let tasks: u64 = self.plan.iter().map(|planned| u64::from(drawn[planned.written].tasks)).sum();
        if tasks > u64::from(MOST_TASKS) {
            let name = self.name.as_deref().unwrap_or_default();
            return Err(format!("job {name:?} has {tasks} tasks, but may have at most {MOST_TASKS}"));
        }
        Ok(drawn)
    }
}

fn check_durations(durations: &Distribution) -> Result<(), String> {
    // A mean may be from 1 000 ticks to half of the longest time that the clock can count.
    if (1e-6..=1e10).contains(&durations.mean()) {
        Ok(())
    } else {
        let mean = Plain(durations.mean());
        Err(format!("the mean of durations is {mean} seconds, but must be from 1e-6 to 1e10 seconds"))
    }
}
