//! The conditions under which an attempt runs: what may influence its duration and is known when it starts.

use std::sync::Arc;

use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use crate::cluster::{Attempt, Cluster, Locality};
use crate::ids::{NodeId, TaskId};
use crate::resources::Resources;

use super::job_type;

/// The conditions under which an attempt runs on its node (RiskI, section 5.3: input size, workload and what runs beside
/// it). The size of the output is left out: it is known only after the attempt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Conditions {
    /// Bytes of input that the task reads; 0 if unknown.
    pub input: f64,
    /// True if no replica of the input is on the node.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub remote: bool,
    /// Number of tasks of the phase: the size of the workload.
    pub tasks: u32,
    /// Share of the node's capacity that attempts of other tasks hold, in [0, 1]; the largest of all dimensions.
    pub load: f64,
    /// What runs on the node beside the attempt: attempts of other tasks by job type and phase, `TYPE/PHASE`, with their
    /// number, in alphabetical order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<(Arc<str>, u32)>,
}

/// Names of kinds of neighbours, `TYPE/PHASE`. There are few, and they occur in the conditions of very many attempts.
#[derive(Debug, Default)]
pub(super) struct Names {
    known: FxHashSet<Arc<str>>,
    /// The name that is looked up; kept to reuse its memory.
    wanted: String,
}

impl Names {
    fn of(&mut self, kind: &str, phase: &str) -> Arc<str> {
        self.wanted.clear();
        self.wanted.extend([kind, "/", phase]);
        if let Some(known) = self.known.get(self.wanted.as_str()) {
            return known.clone();
        }
        let name: Arc<str> = self.wanted.as_str().into();
        self.known.insert(name.clone());
        name
    }
}

impl Conditions {
    /// Returns the present conditions for a copy of a task on a node. Running copies of the task itself don't count, so
    /// the conditions of a running attempt and of one that might start are found in the same way.
    pub fn of(cluster: &Cluster, task: TaskId, node: NodeId) -> Conditions {
        Conditions::with_names(cluster, task, node, &mut Names::default())
    }

    /// As [`Conditions::of`], with names that are shared with earlier conditions.
    pub(super) fn with_names(cluster: &Cluster, task: TaskId, node: NodeId, names: &mut Names) -> Conditions {
        let spec = cluster.job(task.job).and_then(|job| job.spec().phases.get(task.phase as usize));
        let bytes = spec.and_then(|phase| phase.input.as_ref()?.bytes.get(task.index as usize));
        let mut held = Resources::NONE;
        let mut beside: Vec<(Arc<str>, u32)> = Vec::new();
        for other in cluster.attempts_on(node).filter(|other| other.id().task != task) {
            let other_task = Attempt::id(other).task;
            let Some((job, phase)) = cluster.job(other_task.job).zip(cluster.phase(other_task)) else { continue };
            held = held.plus(phase.demand());
            let phase_name = job.spec().phases.get(other_task.phase as usize).map_or("", |phase| &*phase.name);
            let kind = job_type(&job.spec().name);
            // Most neighbours are of few kinds, and a name needs memory.
            let is_kind = |name: &str| {
                name.strip_prefix(kind).and_then(|rest| rest.strip_prefix('/')).is_some_and(|rest| rest == phase_name)
            };
            if let Some((_, count)) = beside.iter_mut().find(|(known, _)| is_kind(known)) {
                *count += 1;
                continue;
            }
            let name = names.of(kind, phase_name);
            let at = beside.partition_point(|(known, _)| *known < name);
            beside.insert(at, (name, 1));
        }
        let capacity = cluster.node(node).map_or(Resources::NONE, |node| *node.capacity());
        Conditions {
            input: bytes.map_or(0.0, |bytes| *bytes as f64),
            remote: matches!(cluster.locality(task, node), Locality::Rack | Locality::Remote),
            tasks: spec.map_or(0, |phase| phase.tasks),
            load: held.dominant_share(&capacity).clamp(0.0, 1.0),
            beside,
        }
    }

    pub(super) fn is_valid(&self) -> bool {
        self.input.is_finite() && self.input >= 0.0 && (0.0..=1.0).contains(&self.load)
    }
}
