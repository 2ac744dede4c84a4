//! The energy of a run: what its nodes, attempts and jobs used, and for what.
//!
//! The power of a node is constant between the times at which attempts on it begin or end, so that its energy is a sum
//! of power × time ([`node::NodeMeter`]). The energy of an attempt is the power of its node with it minus the power
//! without it, added up in the same way (Zhou, Phan, Ibrahim & He 2018, section 5.2.2; `hindmost_core::power` has the
//! model). An attempt uses power from the time at which it receives its resources until it releases them. A lost node
//! uses none.
//!
//! Energy is measured from time 0 until the last attempt ends, or to the horizon if the run stops there.
//!
//! The paper sorts the energy of attempts into five groups, but does not say which originals are stragglers after the
//! fact. Here, a mark of the workload decides, if it has one for the attempt. Otherwise an original is a straggler if
//!
//! - it took longer than [`SLOW`] × the time that its work would take with the mean duration of its phase at the speed
//!   of its node, without the time for reading its input; or
//! - a copy of its task started later than it while it ran, or replaced it.
//!
//! Clones that start together with the original do not make it a straggler.

mod node;

use hindmost_core::cluster::{Attempt, Cluster};
use hindmost_core::ids::{AttemptId, JobId, NodeId};
use hindmost_core::metrics::EnergyParts;
use hindmost_core::power::busy_cores;
use hindmost_core::time::Time;

use crate::driver::Setup;
use crate::output::Outcome;

use node::{NodeMeter, Running};

/// An original is a straggler if it takes longer than this multiple of the mean time. The paper gives no multiple for
/// stragglers; its introduction calls the time of a copy "very bad" from the same multiple of the mean on.
pub const SLOW: f64 = 1.5;

/// The energy of a run, joules.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunEnergy {
    /// The energy of all nodes, by what it was used for.
    pub parts: EnergyParts,
    /// Energy of each job's attempts, in the order of ids; NaN if the job did not finish.
    pub jobs: Vec<f64>,
    /// Energy of each node, in the order of ids.
    pub nodes: Vec<f64>,
}

/// How an attempt ended, as far as its energy depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) outcome: Outcome,
    /// Whether its time or the mark of the workload makes it a straggler, if it is an original.
    pub(crate) is_straggler: bool,
    /// True if the workload has marked the attempt, so that copies of its task do not matter.
    pub(crate) is_marked: bool,
}

/// Measures the energy of a run.
pub(crate) struct Meter {
    nodes: Vec<NodeMeter>,
    /// Energy of the ended attempts of each job.
    jobs: Vec<f64>,
    parts: EnergyParts,
    /// The last time at which the power of a node changed.
    latest: Time,
}

impl Meter {
    /// Returns the meter of a run; `None` unless all nodes have power models.
    pub(crate) fn of(setup: &Setup) -> Option<Meter> {
        let models: Option<Vec<_>> = setup.nodes.iter().map(|node| node.power.clone()).collect();
        let nodes: Vec<NodeMeter> = models?.into_iter().map(NodeMeter::new).collect();
        let (jobs, parts) = (Vec::new(), EnergyParts::default());
        (!nodes.is_empty()).then_some(Meter { nodes, jobs, parts, latest: Time::ZERO })
    }

    /// Adds an attempt that has received its resources. `reading` is the time for which it reads its input.
    pub(crate) fn begin(&mut self, cluster: &Cluster, id: AttemptId, reading: Time) {
        let Some((attempt, phase)) = cluster.attempt(id).zip(cluster.phase(id.task)) else { return };
        let Some(node) = self.nodes.get_mut(attempt.node().0 as usize) else { return };
        let now = cluster.now();
        self.latest = self.latest.max(now);
        let is_original = id.copy == 0 || attempt.is_relaunch();
        let spec = cluster.job(id.task.job).and_then(|job| job.spec().phases.get(id.task.phase as usize));
        let model = node.model();
        let memory_watts = spec.map_or(0.0, |spec| spec.memory_accesses) * model.joules_per_access;
        let transfer = if model.joules_per_byte > 0.0 {
            cluster.transferred_bytes(id.task, attempt.node()) as f64 * model.joules_per_byte
        } else {
            0.0
        };
        let cores = (busy_cores(cluster.dimensions(), phase.demand()) * 1000.0) as u64;
        let since = attempt.since();
        node.begin(
            now,
            Running { id, since, reading, cores, memory_watts, transfer, is_original, has_backup: false, before: 0.0 },
        );
        if is_original {
            return;
        }
        for other in cluster.copies(id.task).filter(|other| other.id() != id && other.since() < now) {
            if let Some(node) = self.nodes.get_mut(other.node().0 as usize) {
                node.has_backup(other.id());
            }
        }
    }

    /// Removes an attempt that has released its resources, and returns its energy. 0 if it never had any resources.
    pub(crate) fn end(&mut self, id: AttemptId, node: NodeId, at: Time, ended: Ended) -> f64 {
        let Some((running, joules)) = self.nodes.get_mut(node.0 as usize).and_then(|node| node.end(id, at)) else {
            return 0.0;
        };
        self.latest = self.latest.max(at);
        let job = id.task.job.0 as usize;
        if self.jobs.len() <= job {
            self.jobs.resize(job + 1, 0.0);
        }
        self.jobs[job] += joules;
        let has_copy = !ended.is_marked && (running.has_backup || ended.outcome == Outcome::Replaced);
        let is_straggler = ended.is_straggler || has_copy;
        let parts = &mut self.parts;
        let part = match (ended.outcome, running.is_original, is_straggler) {
            (Outcome::NodeLost | Outcome::Unfinished, ..) => &mut parts.lost,
            (Outcome::Won, true, false) => &mut parts.normal_successful,
            (Outcome::Won, true, true) => &mut parts.stragglers_successful,
            (Outcome::Won, false, _) => &mut parts.copies_successful,
            (Outcome::Lost | Outcome::Replaced, true, false) => &mut parts.normal_killed,
            (Outcome::Lost | Outcome::Replaced, true, true) => &mut parts.stragglers_killed,
            (Outcome::Lost | Outcome::Replaced, false, _) => &mut parts.copies_killed,
        };
        *part += joules;
        joules
    }

    /// Sets whether a node is in the cluster. A lost node uses no power. Its attempts must have been ended before.
    pub(crate) fn set_up(&mut self, node: NodeId, at: Time, is_up: bool) {
        if let Some(node) = self.nodes.get_mut(node.0 as usize) {
            node.set_up(at, is_up);
            self.latest = self.latest.max(at);
        }
    }

    /// Returns the energy of a job's ended attempts.
    pub(crate) fn of_job(&self, job: JobId) -> f64 {
        self.jobs.get(job.0 as usize).copied().unwrap_or(0.0)
    }

    /// Returns the last time at which the power of a node changed.
    pub(crate) fn latest(&self) -> Time {
        self.latest
    }

    /// Returns the energy of the run up to `end`. All attempts must have been ended before. `is_finished` tells which
    /// jobs have finished, in the order of ids.
    pub(crate) fn finish(mut self, end: Time, is_finished: impl Iterator<Item = bool>) -> RunEnergy {
        let mut result = RunEnergy { parts: self.parts, ..RunEnergy::default() };
        for node in &mut self.nodes {
            let used = node.finish(end);
            result.parts.idle += used.idle;
            result.parts.remainder += used.remainder;
            result.nodes.push(used.total);
        }
        let jobs = self.jobs.iter().copied().chain(std::iter::repeat(0.0));
        result.jobs =
            is_finished.zip(jobs).map(|(finished, joules)| if finished { joules } else { f64::NAN }).collect();
        result
    }
}

/// Returns true if an original takes so long that it is a straggler. `mean` is the time that its work takes with the
/// mean duration of its phase at its node's speed, `reading` the time for which it reads its input.
pub(crate) fn is_slow(attempt: &Attempt, at: Time, mean: Time, reading: Time) -> bool {
    (at - attempt.since() - reading).seconds() > SLOW * mean.seconds()
}
