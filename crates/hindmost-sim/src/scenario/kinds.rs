//! Kinds of jobs (`[[workload.job]]`), their phases (`[[workload.job.phase]]`), and the phases of the generated jobs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use hindmost_core::names::check_name;
use hindmost_core::resources::{Dimensions, Resources};
use hindmost_core::workload::DemandByName;
use hindmost_math::plain::Plain;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::parameter::Parameter;
use crate::phases::{Named, parents_first};
use crate::size::Size;

use super::DemandSpec;
use super::check::check_deadline;

/// Largest number of phases of a job, including all repetitions. Real jobs have far fewer, so a larger number is a
/// typing error.
const MOST_PHASES: u32 = 10_000;

/// A kind of job.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobKind {
    /// Prefix of the names of its jobs; the number of the job follows.
    pub name: String,
    /// Probability of this kind, relative to the other kinds.
    #[serde(default = "one")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub share: f64,
    /// Seconds from the arrival of a job of this kind to its deadline, in place of the workload's key; a distribution is
    /// drawn for each job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Parameter>,
    /// The deadline as a multiple of the job's ideal time, in place of the workload's key; a distribution is drawn for each
    /// job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_factor: Option<Parameter>,
    /// The phases of its jobs.
    #[serde(default)]
    #[schemars(!default, length(min = 1))]
    pub phase: Vec<PhaseKind>,
}

fn one() -> f64 {
    1.0
}

/// A phase of a kind of job.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PhaseKind {
    /// Name of the phase, unique within the kind.
    pub name: String,
    /// The phases that must be finished first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
    /// Whether each task waits only for the task with its number in each phase of `after`; false by default. The phase then
    /// has as many tasks as these, and no `tasks`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub each: bool,
    /// Number of repetitions of the phase; each one starts after the one before has finished. The repetitions are
    /// called `name-1`, `name-2`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10_000))]
    pub repeat: Option<u32>,
    /// Number of tasks; required unless `each` is true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks: Option<Parameter>,
    /// Duration of a copy on a node of speed 1, in seconds.
    pub duration: Parameter,
    /// Demand of a copy; one CPU by default. One-slot machines run one copy at a time for any demand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub demand: Option<DemandSpec>,
    /// Bytes that a task reads; a distribution is drawn for each task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Size>,
    /// Number of nodes with a replica of a task's input, in phases without parents; 3 by default. 0: the input is
    /// outside the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 512))]
    pub replicas: Option<u32>,
    /// Memory accesses per second of a running copy, for power models; 0 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub memory_accesses: Option<f64>,
    /// Whether a copy that starts from the progress of another leaves out the work that is done; true by default.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub resumes: bool,
}

fn yes() -> bool {
    true
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if passes a reference")]
fn is_true(value: &bool) -> bool {
    *value
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

/// Default number of replicas of a block (HDFS: `dfs.replication`).
const REPLICAS: u32 = 3;
/// Largest number of replicas of a block (HDFS: `dfs.replication.max`).
const MOST_REPLICAS: u32 = 512;

/// A phase of the generated jobs of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlannedPhase {
    /// Name of the phase, with the number of the repetition if it is repeated.
    pub(crate) name: Arc<str>,
    /// Indices of its parents in the plan.
    pub(crate) after: Vec<u32>,
    /// Whether each task waits only for the parents' tasks with its number.
    pub(crate) each: bool,
    /// Index of the phase of the scenario from which this phase is made.
    pub(crate) written: usize,
    /// Number of the repetition, from 0.
    pub(crate) copy: u32,
}

impl JobKind {
    /// Returns the phases of the kind's jobs, parents first, including all repetitions.
    ///
    /// # Errors
    /// If there are no phases or too many, or names or parents are not valid.
    pub(crate) fn plan(&self) -> Result<Vec<PlannedPhase>, String> {
        if self.phase.is_empty() {
            return Err("it has no phases; add [[workload.job.phase]]".to_owned());
        }
        let named: Vec<Named<'_>> = self.phase.iter().map(|phase| (phase.name.as_str(), &phase.after[..])).collect();
        let order = parents_first(&named)?;
        let places: BTreeMap<&str, usize> = named.iter().enumerate().map(|(at, (name, _))| (*name, at)).collect();
        // For each phase of the scenario, the index in the plan of its last repetition.
        let mut last = vec![0u32; self.phase.len()];
        let mut plan: Vec<PlannedPhase> = Vec::new();
        let mut names = BTreeSet::new();
        for at in order {
            let phase = &self.phase[at];
            let named = |message: String| format!("phase {:?}: {message}", phase.name);
            let copies = phase.repeat.unwrap_or(1);
            if copies == 0 {
                return Err(named("repeat is 0, but must be at least 1".to_owned()));
            }
            if u64::from(copies) + plan.len() as u64 > u64::from(MOST_PHASES) {
                return Err(named(format!("the job has more than {MOST_PHASES} phases, including repetitions")));
            }
            let place = |name: &String| places.get(name.as_str());
            let mut after: Vec<u32> = phase.after.iter().filter_map(place).map(|parent| last[*parent]).collect();
            after.dedup();
            for copy in 1..=copies {
                let name = if copies == 1 { phase.name.clone() } else { format!("{}-{copy}", phase.name) };
                if !names.insert(name.clone()) {
                    return Err(format!("two phases are called {name:?}"));
                }
                last[at] = plan.len() as u32;
                let after_it = std::mem::replace(&mut after, vec![last[at]]);
                plan.push(PlannedPhase {
                    name: name.into(),
                    after: after_it,
                    each: phase.each,
                    written: at,
                    copy: copy - 1,
                });
            }
        }
        Ok(plan)
    }

    /// Returns, for each phase, the phase whose `tasks` are its number of tasks: itself, or the one that its chain of `each`
    /// begins with.
    ///
    /// # Errors
    /// If a phase has no `tasks`, or has them although its parents' numbers hold, or if these may differ.
    pub(crate) fn counted_as(&self) -> Result<Vec<usize>, String> {
        let named: Vec<Named<'_>> = self.phase.iter().map(|phase| (phase.name.as_str(), &phase.after[..])).collect();
        let mut counted: Vec<usize> = (0..self.phase.len()).collect();
        for at in parents_first(&named)? {
            let phase = &self.phase[at];
            let wrong = |message: &str| Err(format!("phase {:?}: {message}", phase.name));
            match (phase.each, &phase.tasks) {
                (false, Some(_)) => continue,
                (false, None) => return wrong("it has no tasks; add tasks = 10, for example"),
                (true, Some(_)) => {
                    return wrong("with each = true it has as many tasks as the phases in after; remove tasks");
                }
                (true, None) if phase.after.is_empty() => {
                    return wrong("with each = true its tasks wait for those of another phase; add after = [\"…\"]");
                }
                (true, None) => {}
            }
            let is_parent = |parent: &usize| phase.after.contains(&self.phase[*parent].name);
            let first: Vec<usize> = (0..self.phase.len()).filter(is_parent).map(|parent| counted[parent]).collect();
            let tasks = |of: usize| self.phase[of].tasks.as_ref();
            let is_same = |of: usize| {
                of == first[0] || matches!(tasks(of), Some(Parameter::Number(_))) && tasks(of) == tasks(first[0])
            };
            if !first.iter().all(|of| is_same(*of)) {
                return wrong("with each = true the phases in after must have the same number of tasks");
            }
            counted[at] = first[0];
        }
        Ok(counted)
    }

    /// Checks everything that is independent of the cluster, and reads the files that parameters name.
    pub(super) fn check(&mut self, folder: &Path) -> Result<(), String> {
        check_name(&self.name).map_err(|error| format!("its name {error}"))?;
        if !(self.share.is_finite() && self.share > 0.0) {
            return Err(format!("share is {}, but must be above 0", Plain(self.share)));
        }
        self.plan()?;
        self.counted_as()?;
        check_deadline((&mut self.deadline, &mut self.deadline_factor), folder)?;
        for phase in &mut self.phase {
            phase.demand_by_name().map_err(|error| format!("phase {:?}, demand: {error}", phase.name))?;
            phase.check_replicas().map_err(|error| format!("phase {:?}: {error}", phase.name))?;
            if let Some(accesses) = phase.memory_accesses.filter(|accesses| !(accesses.is_finite() && *accesses >= 0.0))
            {
                let (name, accesses) = (&phase.name, Plain(accesses));
                return Err(format!("phase {name:?}: memory_accesses is {accesses}, but must be at least 0"));
            }
            let PhaseKind { name, tasks, duration, input, .. } = phase;
            if let Some(input) = input {
                input.load(folder).map_err(|error| format!("phase {name:?}, input: {error}"))?;
            }
            for (what, parameter) in tasks.iter_mut().map(|tasks| ("tasks", tasks)).chain([("duration", duration)]) {
                parameter.load(folder).map_err(|error| format!("phase {name:?}, {what}: {error}"))?;
            }
        }
        Ok(())
    }

    /// Checks that the copies of each phase fit on a node of at least one of these capacities.
    pub(super) fn check_demands(&self, dimensions: &Dimensions, capacities: &[Resources]) -> Result<(), String> {
        for phase in &self.phase {
            let wrong = |error: String| format!("phase {:?}, demand: {error}", phase.name);
            let named = phase.demand_by_name().map_err(wrong)?;
            let demand = dimensions.demand(&named).map_err(|error| wrong(error.to_string()))?;
            let lacking = dimensions.lacking(&demand, capacities).filter(|_| !dimensions.is_one_slot());
            if let Some((wants, has)) = lacking {
                return Err(wrong(format!(
                    "it fits on no node, not even an empty one: a copy needs {wants}, and the node that comes closest has \
                     {has}"
                )));
            }
        }
        Ok(())
    }
}

impl PhaseKind {
    /// Returns the number of nodes with a replica of a task's input; unused in phases that read other phases' outputs.
    pub(crate) fn replicas(&self) -> u32 {
        self.replicas.unwrap_or(REPLICAS)
    }

    fn check_replicas(&self) -> Result<(), String> {
        match self.replicas {
            Some(_) if self.input.is_none() => Err("it has replicas, but no input".to_owned()),
            Some(_) if !self.after.is_empty() => {
                Err("it has replicas, but reads the outputs of other phases, which have no replicas".to_owned())
            }
            Some(replicas) if replicas > MOST_REPLICAS => {
                Err(format!("replicas is {replicas}, but must be from 0 to {MOST_REPLICAS}"))
            }
            _ => Ok(()),
        }
    }

    /// Returns the demand of a copy by dimension.
    ///
    /// # Errors
    /// If an amount is not valid.
    pub(crate) fn demand_by_name(&self) -> Result<DemandByName, String> {
        self.demand.as_ref().map_or_else(|| Ok(DemandByName::new()), DemandSpec::by_name)
    }
}
