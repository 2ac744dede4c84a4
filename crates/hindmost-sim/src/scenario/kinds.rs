//! Kinds of jobs: what `[[workload.job]]` and `[[workload.job.phase]]` write, and the phases that its jobs have.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use hindmost_core::names::check_name;
use hindmost_core::resources::{Dimensions, Resources};
use hindmost_core::workload::DemandByName;
use hindmost_math::plain::Plain;
use serde::{Deserialize, Serialize};

use crate::parameter::Parameter;
use crate::phases::{Named, parents_first};
use crate::size::Size;

use super::DemandSpec;

/// Phases of a job, copies of repeated ones included, at most: far more than any job has, and a slip of the pen is
/// told.
const MOST_PHASES: u32 = 10_000;

/// A kind of job.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobKind {
    /// Beginning of its jobs' names.
    pub name: String,
    /// Its chance among the kinds, relative to theirs.
    #[serde(default = "one")]
    pub share: f64,
    /// Its phases.
    #[serde(default)]
    pub phase: Vec<PhaseKind>,
}

fn one() -> f64 {
    1.0
}

/// A phase of a kind of job.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhaseKind {
    /// Name, unique within the kind.
    pub name: String,
    /// The phases that must be finished first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
    /// Copies of the phase, each after the one before; they are called `name-1`, `name-2`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<u32>,
    /// Its tasks.
    pub tasks: Parameter,
    /// Duration of a copy on a node of speed 1, seconds.
    pub duration: Parameter,
    /// What a copy needs; one cpu unless given. One-slot machines take one copy whatever it needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub demand: Option<DemandSpec>,
    /// Bytes that a task reads; drawn for each task if a distribution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Size>,
    /// Nodes that hold a replica of a task's input, in phases without parents; 3 unless given. 0: it lies
    /// outside the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<u32>,
}

/// Replicas of a block unless told otherwise (HDFS: `dfs.replication`).
const REPLICAS: u32 = 3;
/// The most replicas of a block (HDFS: `dfs.replication.max`).
const MOST_REPLICAS: u32 = 512;

/// A phase that a kind's jobs have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlannedPhase {
    /// Its name.
    pub(crate) name: Arc<str>,
    /// Its parents' places in the plan.
    pub(crate) after: Vec<u32>,
    /// The place of the phase in the file that it is, or is a copy of.
    pub(crate) written: usize,
    /// Which copy it is, from 0.
    pub(crate) copy: u32,
}

impl JobKind {
    /// The phases that its jobs have, parents first: repeated phases with all their copies.
    ///
    /// # Errors
    /// If there are none or too many, or their names and parents make no sense.
    pub(crate) fn plan(&self) -> Result<Vec<PlannedPhase>, String> {
        if self.phase.is_empty() {
            return Err("it has no phases; add [[workload.job.phase]]".to_owned());
        }
        let named: Vec<Named<'_>> = self.phase.iter().map(|phase| (phase.name.as_str(), &phase.after[..])).collect();
        let order = parents_first(&named)?;
        let places: BTreeMap<&str, usize> = named.iter().enumerate().map(|(at, (name, _))| (*name, at)).collect();
        // The last copy of each written phase that is planned already.
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
                return Err(named(format!("with it the job has more than {MOST_PHASES} phases")));
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
                plan.push(PlannedPhase { name: name.into(), after: after_it, written: at, copy: copy - 1 });
            }
        }
        Ok(plan)
    }

    /// Checks everything that does not depend on the cluster and reads the files that parameters name.
    pub(super) fn check(&mut self, folder: &Path) -> Result<(), String> {
        check_name(&self.name).map_err(|error| format!("its name {error}"))?;
        if !(self.share.is_finite() && self.share > 0.0) {
            return Err(format!("share is {}, but must be above 0", Plain(self.share)));
        }
        self.plan()?;
        for phase in &mut self.phase {
            phase.demand_by_name().map_err(|error| format!("phase {:?}, demand: {error}", phase.name))?;
            phase.check_replicas().map_err(|error| format!("phase {:?}: {error}", phase.name))?;
            let PhaseKind { name, tasks, duration, input, .. } = phase;
            if let Some(input) = input {
                input.load(folder).map_err(|error| format!("phase {name:?}, input: {error}"))?;
            }
            for (what, parameter) in [("tasks", tasks), ("duration", duration)] {
                parameter.load(folder).map_err(|error| format!("phase {name:?}, {what}: {error}"))?;
            }
        }
        Ok(())
    }

    /// Checks that copies fit on a node of one of these capacities.
    pub(super) fn check_demands(&self, dimensions: &Dimensions, capacities: &[Resources]) -> Result<(), String> {
        for phase in &self.phase {
            let wrong = |error: String| format!("phase {:?}, demand: {error}", phase.name);
            let named = phase.demand_by_name().map_err(wrong)?;
            let demand = dimensions.demand(&named).map_err(|error| wrong(error.to_string()))?;
            let lacking = dimensions.lacking(&demand, capacities).filter(|_| !dimensions.is_one_slot());
            if let Some((wants, has)) = lacking {
                return Err(wrong(format!(
                    "it fits on no node, even an empty one: a copy wants {wants}, and the node that comes nearest has {has}"
                )));
            }
        }
        Ok(())
    }
}

impl PhaseKind {
    /// Nodes that hold a replica of a task's input, where it does not read what other phases have put out.
    pub(crate) fn replicas(&self) -> u32 {
        self.replicas.unwrap_or(REPLICAS)
    }

    fn check_replicas(&self) -> Result<(), String> {
        match self.replicas {
            Some(_) if self.input.is_none() => Err("it has replicas, but no input".to_owned()),
            Some(_) if !self.after.is_empty() => {
                Err("it reads what other phases have put out, of which there are no replicas".to_owned())
            }
            Some(replicas) if replicas > MOST_REPLICAS => {
                Err(format!("replicas is {replicas}, but must be from 0 to {MOST_REPLICAS}"))
            }
            _ => Ok(()),
        }
    }

    /// What a copy needs, by dimension.
    ///
    /// # Errors
    /// If an amount is not one.
    pub(crate) fn demand_by_name(&self) -> Result<DemandByName, String> {
        self.demand.as_ref().map_or_else(|| Ok(DemandByName::new()), DemandSpec::by_name)
    }
}
