//! Jobs as they are submitted: what a policy may know about them, and how long their copies really take.
//!
//! A [`WorkloadJob`] comes from a generator, an exact workload file or a log. The driver splits it. The [`JobSpec`]
//! goes into the arrival record and is all that policies and estimators see; the [`Durations`] stay with the simulated
//! driver.

mod situated;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::ids::NodeId;
use crate::time::Time;
use hindmost_math::distribution::Distribution;
pub use situated::{
    NodeHistory, Situated, SituatedAttempt, SituatedDraws, SituatedEnd, SituatedTask, Situation, lasting, slowness,
};

/// Resources that one copy of a task needs, by dimension name: `cpus` in cores, `memory` in bytes, others in their own
/// unit. An empty map means one slot on one-slot machines and one cpu on other machines.
pub type DemandByName = BTreeMap<String, f64>;

/// A phase (stage, vertex) of a job: tasks of one kind whose durations share a distribution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub struct PhaseSpec {
    /// Name of the phase, unique within the job.
    pub name: Arc<str>,
    /// Indices of the parent phases, which must finish first, except for those in `edges`. Each is smaller than this phase's
    /// own index.
    pub after: Vec<u32>,
    /// The parents of which the phase's tasks wait for single tasks. The others must finish before any task of this
    /// phase starts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edges: Vec<TaskEdges>,
    /// Number of tasks of the phase; at least 1.
    pub tasks: u32,
    /// Resources that one copy of a task needs.
    pub demand: DemandByName,
    /// Mean duration of one copy on a node of speed 1, seconds.
    pub mean: f64,
    /// Standard deviation of the duration of one copy on a node of speed 1, seconds; `None` if it is unknown or
    /// infinite.
    pub sd: Option<f64>,
    /// Distribution of the duration of one copy, seconds on a node of speed 1. `None` if it is unknown; a distribution
    /// is then fitted to `mean` and `sd`.
    pub tail: Option<Distribution>,
    /// Size and location of the tasks' input; `None` if both are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<InputSpec>,
    /// Memory accesses per second of a running copy, for models of power; 0 if they are unknown.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub memory_accesses: f64,
    /// True if `mean` and `sd` are a guess, made before any copy has run. Speculation policies that compare durations
    /// start no backups in the phase until an [`Event::DurationsLearned`](crate::record::Event) replaces the guess.
    #[serde(default, skip_serializing_if = "is_default")]
    pub assumed: bool,
    /// True if a task may never have two running copies, because its work must not be done twice.
    #[serde(default, skip_serializing_if = "is_default")]
    pub never_copied: bool,
    /// True if an attempt of such a task (`never_copied`) may be stopped, so that the task starts again once it has ended: its work may
    /// be done twice, one time after the other.
    #[serde(default, skip_serializing_if = "is_default")]
    pub may_restart: bool,
    /// True if every attempt does its task's work from the beginning, even one that is started from the progress of
    /// another ([`Decision::Start`](crate::record::Decision::Start)). The default is false: an attempt can leave out work
    /// that is done.
    #[serde(default, skip_serializing_if = "is_default")]
    pub never_resumed: bool,
    /// Indices of tasks whose results existed before the job arrived, ascending. These tasks are finished from the
    /// start; no attempt of them runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub finished: Vec<u32>,
}

impl PhaseSpec {
    /// Returns a phase without parents whose tasks demand nothing and take `mean` seconds on average. Nothing else is known of
    /// them, and nothing is forbidden.
    pub fn new(name: impl Into<Arc<str>>, tasks: u32, mean: f64) -> PhaseSpec {
        PhaseSpec {
            name: name.into(),
            after: Vec::new(),
            edges: Vec::new(),
            tasks,
            demand: DemandByName::new(),
            mean,
            sd: None,
            tail: None,
            input: None,
            memory_accesses: 0.0,
            assumed: false,
            never_copied: false,
            may_restart: false,
            never_resumed: false,
            finished: Vec::new(),
        }
    }

    /// Returns the number of tasks that were not finished before the job arrived.
    pub fn tasks_to_do(&self) -> u32 {
        self.tasks.saturating_sub(self.finished.len() as u32)
    }

    /// Returns the indices of the parent phases that must finish before any task of this phase starts.
    pub fn barriers(&self) -> impl Iterator<Item = u32> + '_ {
        self.after.iter().copied().filter(|parent| self.edges_from(*parent).is_none())
    }

    /// Returns the edges from the tasks of a parent phase to those of this one; `None` if the whole parent must finish first.
    pub fn edges_from(&self, parent: u32) -> Option<&TaskEdges> {
        self.edges.iter().find(|edges| edges.parent == parent)
    }
}

/// Edges from the tasks of a parent phase to those of a phase: which single tasks each task waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskEdges {
    /// Index of the parent phase.
    pub parent: u32,
    /// The groups of both phases' tasks. `None` if task i waits for task i alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<TaskGroups>,
}

/// The groups of the tasks of two phases: a task waits for the parent's tasks of its own group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskGroups {
    /// The group of each task of the parent phase. Groups are numbered from 0; there are at most as many as tasks of
    /// both phases.
    pub of_parents: Vec<u32>,
    /// The group of each task of the phase itself.
    pub of_tasks: Vec<u32>,
}

/// Returns the edges of a phase each of whose tasks waits for the task with its number in each of these parents; none if
/// `each` is false.
pub fn edges_of_each(each: bool, parents: &[u32]) -> Vec<TaskEdges> {
    let mut parents = if each { parents.to_vec() } else { Vec::new() };
    parents.sort_unstable();
    parents.dedup();
    parents.into_iter().map(|parent| TaskEdges { parent, groups: None }).collect()
}

impl TaskEdges {
    /// Returns the edges between the tasks that are left of both phases. `parent` is the new index of the parent phase;
    /// `finished` are the tasks of the parent and of the phase itself that are left out, ascending.
    pub fn without_finished(&self, parent: u32, finished: (&[u32], &[u32]), tasks: (u32, u32)) -> TaskEdges {
        if self.groups.is_none() && finished.0 == finished.1 {
            return TaskEdges { parent, groups: None };
        }
        let left = |finished: &[u32], tasks: u32, groups: Option<&[u32]>| -> Vec<u32> {
            let left = (0..tasks).filter(|task| finished.binary_search(task).is_err());
            left.map(|task| groups.map_or(task, |groups| groups[task as usize])).collect()
        };
        let groups = self.groups.as_ref();
        let mut of_parents = left(finished.0, tasks.0, groups.map(|groups| &groups.of_parents[..]));
        let mut of_tasks = left(finished.1, tasks.1, groups.map(|groups| &groups.of_tasks[..]));
        // Groups are numbered without gaps.
        let mut numbers: Vec<u32> = of_parents.iter().chain(&of_tasks).copied().collect();
        numbers.sort_unstable();
        numbers.dedup();
        for group in of_parents.iter_mut().chain(&mut of_tasks) {
            *group = numbers.partition_point(|number| number < group) as u32;
        }
        TaskEdges { parent, groups: Some(TaskGroups { of_parents, of_tasks }) }
    }

    /// Returns the tasks of the parent phase for which a task waits, by index.
    pub fn parents_of(&self, task: u32) -> Vec<u32> {
        self.groups
            .as_ref()
            .map_or_else(|| vec![task], |groups| members(&groups.of_parents, groups.of_tasks.get(task as usize)))
    }

    /// Returns the tasks that wait for a task of the parent phase, by index.
    pub fn children_of(&self, parent: u32) -> Vec<u32> {
        self.groups
            .as_ref()
            .map_or_else(|| vec![parent], |groups| members(&groups.of_tasks, groups.of_parents.get(parent as usize)))
    }

    /// Returns what is wrong with the edges of a phase of `tasks` tasks whose parent has `parents`; `None` if nothing is.
    fn fault(&self, parents: u32, tasks: u32) -> Option<String> {
        let Some(TaskGroups { of_parents, of_tasks }) = &self.groups else {
            return (parents != tasks)
                .then(|| format!("each of its {tasks} tasks waits for one task of a phase that has {parents}"));
        };
        if (of_parents.len(), of_tasks.len()) != (parents as usize, tasks as usize) {
            return Some("the groups of its edges are not given for each task".to_owned());
        }
        let most = of_parents.len() + of_tasks.len();
        let largest = of_parents.iter().chain(of_tasks).max();
        largest.filter(|group| **group as usize >= most).map(|group| format!("its edges have no group {group}"))
    }
}

/// Returns the positions at which a group is listed; none if there is no group.
fn members(groups: &[u32], group: Option<&u32>) -> Vec<u32> {
    let Some(group) = group else { return Vec::new() };
    (0..).zip(groups).filter(|(_, of)| *of == group).map(|(at, _)| at).collect()
}

/// The size and location of the input of a phase's tasks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputSpec {
    /// Number of bytes that each task reads, one entry per task.
    pub bytes: Vec<u64>,
    /// The nodes that hold a replica of each task's input, one entry per task. Empty if the phase reads the output of
    /// its parents or, without parents, data outside the cluster.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replicas: Vec<Vec<NodeId>>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if passes a reference")]
fn is_default(value: &bool) -> bool {
    !value
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if passes a reference")]
fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

/// A queue to which jobs are submitted. Orders such as `capacity` share the cluster among queues.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct QueueSpec {
    /// Path of the queue: the names of its parent queues, from the top, and its own name, separated by dots.
    /// `production.reports` is below `production`.
    pub name: Arc<str>,
    /// Guaranteed share of the parent queue, or of the cluster if there is no parent, in [0, 1].
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 1)))]
    pub guaranteed: f64,
    /// Maximum share of the parent queue, or of the cluster if there is no parent, in (0, 1]. The default is 1.
    #[serde(default = "everything")]
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0), range(max = 1)))]
    pub maximum: f64,
}

fn everything() -> f64 {
    1.0
}

/// A job as policies see it when it arrives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobSpec {
    /// The job's name, shown in reports.
    pub name: Arc<str>,
    /// Time at which the job is submitted.
    pub arrival: Time,
    /// Deadline, measured from the arrival; `None` if the job has no deadline.
    pub deadline: Option<Time>,
    /// Weight of the job in orders that share the cluster among jobs. The default is 1.
    pub weight: f64,
    /// Path of the queue to which the job is submitted, such as `production.reports`. `None` means the queue `default`.
    /// Only orders that share the cluster among queues use it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Arc<str>>,
    /// Phases of the job. Every phase comes after its parents.
    pub phases: Vec<PhaseSpec>,
}

impl JobSpec {
    /// Returns a job that is submitted at time 0, with the weight 1 and without a deadline or queue.
    pub fn new(name: impl Into<Arc<str>>, phases: Vec<PhaseSpec>) -> JobSpec {
        JobSpec { name: name.into(), arrival: Time::ZERO, deadline: None, weight: 1.0, queue: None, phases }
    }

    /// Returns the number of tasks of all phases.
    pub fn tasks(&self) -> u64 {
        self.phases.iter().map(|phase| u64::from(phase.tasks)).sum()
    }

    /// Returns what is wrong with the edges between single tasks of a job; `None` if nothing is.
    pub fn fault_of_edges(&self) -> Option<String> {
        self.phases.iter().find_map(|phase| {
            let fault = |edges: &TaskEdges| {
                let parent = self.phases.get(edges.parent as usize).filter(|_| phase.after.contains(&edges.parent));
                parent.map_or_else(
                    || Some("its edges come from a phase that is not its parent".to_owned()),
                    |parent| edges.fault(parent.tasks, phase.tasks),
                )
            };
            let twice = |edges: &TaskEdges| phase.edges.iter().filter(|other| other.parent == edges.parent).count() > 1;
            let fault = phase.edges.iter().find_map(|edges| {
                fault(edges).or_else(|| twice(edges).then(|| "edges from one phase are given twice".to_owned()))
            });
            fault.map(|fault| format!("phase {:?}: {fault}", phase.name))
        })
    }

    /// Returns a phase that waits for itself or for a later phase; `None` if every phase comes after its parents. Jobs in
    /// files of unknown origin are checked with it.
    pub fn phase_before_its_parent(&self) -> Option<&PhaseSpec> {
        let mut phases = (0..).zip(&self.phases);
        phases.find(|(at, phase)| phase.after.iter().any(|parent| parent >= at)).map(|(_, phase)| phase)
    }
}

/// How long the copies of a phase's tasks take on a node of speed 1.
#[derive(Clone, Debug, PartialEq)]
pub enum Durations {
    /// Each copy's duration is drawn from this distribution, independently.
    Drawn(Distribution),
    /// Durations of the first, second, … copy of each task, seconds. A copy past the end of its task's list is an
    /// error.
    Listed(Vec<Vec<f64>>),
    /// Duration of the first copy of each task, seconds, as recorded in a log. Every further start of a task takes the
    /// duration of another task of the phase, drawn at random.
    Recorded(Vec<f64>),
    /// What a recorded run shows about the duration of each copy. The duration of an unrecorded copy is drawn at random
    /// from `known`.
    Observed {
        /// The first, second, … copy of each task, one list per task. Tasks past the end of the outer list have no
        /// recorded copies.
        tasks: Vec<Vec<ObservedCopy>>,
        /// Durations of the phase to draw from, seconds, ascending. Has at least one entry.
        known: Vec<f64>,
    },
    /// What a log shows about each attempt and about what it met: see [`Situated`].
    Situated(Arc<Situated>),
}

/// What a recorded run shows about the duration of a copy, on a node of speed 1 and from the start of its work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ObservedCopy {
    /// The copy finished after this many seconds.
    Took(f64),
    /// The copy ended after this many seconds without finishing. Its duration is drawn at random from the phase's
    /// longer known durations; if there are none, the copy takes this value.
    AtLeast(f64),
}

/// A job with the true durations of its copies.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadJob {
    /// The job as policies see it.
    pub spec: JobSpec,
    /// The true durations of the copies, one entry per phase of `spec`.
    pub durations: Vec<Durations>,
}
