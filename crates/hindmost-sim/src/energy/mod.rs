//! The energy of a run: what its nodes, attempts and jobs used, and for what.
//!
//! The power of a node is constant between the times at which attempts on it begin or end, so that its energy is a sum
//! of power × time. The energy of an attempt is the power of its node with it minus the power without it, added up in
//! the same way (Zhou, Phan, Ibrahim & He 2018, section 5.2.2; `hindmost_core::power` has the model). An attempt uses
//! power from the time at which it receives its resources until it releases them. A lost node uses none.
//!
//! Energy is measured from time 0 until the last attempt ends, or to the horizon if the run stops there.
//!
//! On most nodes the power of an attempt does not depend on what else runs: they have a fixed power per core and never
//! more busy cores than cores, or they run one attempt at a time. The energy of an attempt is then computed when it
//! ends. All other nodes need a `Shared`, which follows the busy cores.
//!
//! The paper sorts the energy of attempts into five groups, but does not say which originals are stragglers after the
//! fact. Here, a mark of the workload decides, if it has one for the attempt. Otherwise an original is a straggler if
//!
//! - it took longer than [`SLOW`] × the time that its work would take with the mean duration of its phase at the speed
//!   of its node, without the time for reading its input; or
//! - a copy of its task started later than it while it ran, or replaced it.
//!
//! Clones that start together with the original do not make it a straggler.

pub(crate) mod of_run;
mod profile;
mod shared;

use hindmost_core::cluster::{Attempt, Cluster};
use hindmost_core::estimator::Pace;
use hindmost_core::ids::{AttemptId, JobId, NodeId};
use hindmost_core::metrics::{EnergyParts, EnergyUse};
use hindmost_core::resources::CPUS;
use hindmost_core::time::Time;
use rustc_hash::FxHashSet;

use crate::driver::setup::Setup;
use crate::output::Outcome;

pub use of_run::RunEnergy;
use profile::Profile;
use shared::Shared;

/// An original is a straggler if it takes longer than this multiple of the mean time. The paper gives no multiple for
/// stragglers; its introduction calls the time of a copy "very bad" from the same multiple of the mean on.
pub const SLOW: f64 = 1.5;

/// Busy cores of a copy in thousandths, if the cluster has no cpus.
const ONE_CORE: u64 = 1000;

/// The energy of an attempt that ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    /// The energy, joules.
    pub(crate) joules: f64,
    is_original: bool,
    /// Whether it is a straggler. `None` if it is one only if another attempt replaces it.
    is_straggler: Option<bool>,
}

/// A node, as far as the meter follows it.
struct Node {
    /// Index of its profile.
    profile: u32,
    is_up: bool,
    /// Time since which it is up.
    since: Time,
    /// Time for which it was up before.
    up_time: Time,
    /// Energy of the attempts that have ended, joules: of the processor, and of memory and network.
    cpu: f64,
    linear: f64,
    /// Follows the busy cores, if the power of an attempt depends on them.
    shared: Option<Box<Shared>>,
}

/// Measures the energy of a run.
pub(crate) struct Meter {
    profiles: Vec<Profile>,
    nodes: Vec<Node>,
    /// Place of the cpus among the dimensions.
    cpus: Option<usize>,
    /// Energy of the ended attempts of each job.
    jobs: Vec<f64>,
    parts: EnergyParts,
    /// Running originals for which a copy was started later that has ended.
    with_backup: FxHashSet<AttemptId>,
    /// The last time at which the power of a node changed.
    latest: Time,
    /// Whether some node needs to know when attempts begin.
    is_shared: bool,
}

impl Meter {
    /// Returns the meter of a run; `None` unless all nodes have power models.
    pub(crate) fn of(setup: &Setup) -> Option<Meter> {
        let cpus = setup.dimensions.names().iter().position(|name| **name == *CPUS);
        let (mut profiles, mut nodes): (Vec<Profile>, Vec<Node>) = (Vec::new(), Vec::new());
        for node in &setup.nodes {
            let model = node.power.as_ref()?;
            let profile = profiles.iter().position(|known| known.is_of(model)).unwrap_or_else(|| {
                profiles.push(Profile::new(model.clone()));
                profiles.len() - 1
            });
            // Without cpus, a machine has one slot and runs one attempt at a time.
            let most = cpus.map_or(ONE_CORE, |at| node.capacity.0[at]);
            let depends = cpus.is_some() && !profiles[profile].is_fixed_up_to(most);
            nodes.push(Node {
                profile: profile as u32,
                is_up: true,
                since: Time::ZERO,
                up_time: Time::ZERO,
                cpu: 0.0,
                linear: 0.0,
                shared: depends.then(Box::default),
            });
        }
        let is_shared = nodes.iter().any(|node| node.shared.is_some());
        let (jobs, parts, with_backup) = (Vec::new(), EnergyParts::default(), FxHashSet::default());
        let latest = Time::ZERO;
        (!nodes.is_empty()).then_some(Meter { profiles, nodes, cpus, jobs, parts, with_backup, latest, is_shared })
    }

    /// Notes that an attempt has received its resources.
    pub(crate) fn begin(&mut self, cluster: &Cluster, id: AttemptId) {
        if !self.is_shared {
            return;
        }
        let Some((attempt, phase)) = cluster.attempt(id).zip(cluster.phase(id.task)) else { return };
        if let Some(Node { shared: Some(shared), profile, .. }) = self.nodes.get_mut(attempt.node().0 as usize) {
            let cores = self.cpus.map_or(ONE_CORE, |at| phase.demand().0[at]);
            shared.begin(&self.profiles[*profile as usize], id, cores, cluster.now());
        }
    }

    /// Ends the measurement of an attempt that releases its resources at `at`. Must be called before the step in which
    /// it ends, because the step may remove its job. `reading` is the time for which it reads its input. `mark` is true
    /// or false if the workload marks it as a straggler or as a normal task. Returns its energy; `None` for a
    /// replacement that waits for resources.
    pub(crate) fn end(
        &mut self,
        cluster: &Cluster,
        id: AttemptId,
        (at, reading): (Time, Time),
        mark: Option<bool>,
    ) -> Option<Ended> {
        let (attempt, phase) = (cluster.attempt(id)?, cluster.phase(id.task)?);
        let node = self.nodes.get_mut(attempt.node().0 as usize)?;
        if attempt.replaces().is_some() {
            return None;
        }
        self.latest = self.latest.max(at);
        let profile = &self.profiles[node.profile as usize];
        let ran = at - attempt.since();
        let cpu = match &mut node.shared {
            Some(shared) => shared.end(profile, id, at),
            None => profile.watts(self.cpus.map_or(ONE_CORE, |at| phase.demand().0[at])) * ran.seconds(),
        };
        let mut linear = 0.0;
        let model = profile.model();
        if model.joules_per_access > 0.0 {
            let spec = cluster.job(id.task.job).and_then(|job| job.spec().phases.get(id.task.phase as usize));
            let accesses = spec.map_or(0.0, |spec| spec.memory_accesses);
            linear += accesses * model.joules_per_access * ran.seconds();
        }
        if model.joules_per_byte > 0.0 {
            // A copy that ends while it reads has received the part of its input that belongs to its time.
            let read = if ran < reading { ran.seconds() / reading.seconds() } else { 1.0 };
            let bytes = cluster.transferred_bytes(id.task, attempt.node()) as f64;
            linear += bytes * read * model.joules_per_byte;
        }
        node.cpu += cpu;
        node.linear += linear;
        let joules = cpu + linear;
        let job = id.task.job.0 as usize;
        if self.jobs.len() <= job {
            self.jobs.resize(job + 1, 0.0);
        }
        self.jobs[job] += joules;
        let is_original = id.copy == 0 || attempt.is_relaunch();
        let has_siblings = phase.tasks().get(id.task.index as usize).is_some_and(|task| task.launched() > 1);
        let has_backup = has_siblings && is_original && self.has_backup(cluster, attempt);
        if !is_original {
            self.is_backup(cluster, attempt);
        }
        let is_slow = || {
            let mean = Pace::of(cluster, attempt).seconds(phase.mean());
            (ran - reading).seconds() > SLOW * mean
        };
        // Copies are never stragglers.
        let is_straggler = mark.or_else(|| (is_original && (has_backup || is_slow())).then_some(true));
        Some(Ended { joules, is_original, is_straggler })
    }

    /// Returns whether a copy started later than an original that now ends.
    fn has_backup(&mut self, cluster: &Cluster, original: &Attempt) -> bool {
        let (id, since) = (original.id(), original.since());
        let ended = !self.with_backup.is_empty() && self.with_backup.remove(&id);
        ended || cluster.copies(id.task).any(|copy| copy.since() > since)
    }

    /// Notes for which running originals a copy that now ends was a backup.
    fn is_backup(&mut self, cluster: &Cluster, backup: &Attempt) {
        let earlier = cluster.copies(backup.id().task).filter(|other| other.since() < backup.since());
        let originals = earlier.filter(|other| other.id().copy == 0 || other.is_relaunch());
        self.with_backup.extend(originals.map(Attempt::id));
    }

    /// Adds the energy of an ended attempt to what it was used for, and returns what that is.
    pub(crate) fn add(&mut self, ended: Ended, outcome: Outcome) -> EnergyUse {
        let is_straggler = ended.is_straggler.unwrap_or(outcome == Outcome::Replaced);
        let used_for = match (outcome, ended.is_original, is_straggler) {
            (Outcome::NodeLost | Outcome::Failed | Outcome::Abandoned | Outcome::Unfinished, ..) => EnergyUse::Lost,
            (Outcome::Won, true, false) => EnergyUse::NormalSuccessful,
            (Outcome::Won, true, true) => EnergyUse::StragglersSuccessful,
            (Outcome::Won, false, _) => EnergyUse::CopiesSuccessful,
            (Outcome::Lost | Outcome::Replaced, true, false) => EnergyUse::NormalKilled,
            (Outcome::Lost | Outcome::Replaced, true, true) => EnergyUse::StragglersKilled,
            (Outcome::Lost | Outcome::Replaced, false, _) => EnergyUse::CopiesKilled,
        };
        self.parts.add_attempt(used_for, ended.joules);
        used_for
    }

    /// Sets whether a node is in the cluster. A lost node uses no power. Its attempts must have been ended before.
    pub(crate) fn set_up(&mut self, node: NodeId, at: Time, is_up: bool) {
        let Some(node) = self.nodes.get_mut(node.0 as usize) else { return };
        node.set_up(at, is_up);
        self.latest = self.latest.max(at);
    }

    /// Returns the energy of a job's ended attempts.
    pub(crate) fn of_job(&self, job: JobId) -> f64 {
        self.jobs.get(job.0 as usize).copied().unwrap_or(0.0)
    }

    /// Returns the last time at which the power of a node changed.
    pub(crate) fn latest(&self) -> Time {
        self.latest
    }

    /// Returns the energy of the run up to `end`. All attempts must have been ended before. `is_finished` says which
    /// jobs have finished, in the order of ids.
    pub(crate) fn finish(mut self, end: Time, is_finished: impl Iterator<Item = bool>) -> RunEnergy {
        let mut result = RunEnergy { parts: self.parts, ..RunEnergy::default() };
        for node in &mut self.nodes {
            node.set_up(end, false);
            let idle = self.profiles[node.profile as usize].idle_watts() * node.up_time.seconds();
            let dynamic = node.shared.as_ref().map_or(node.cpu, |shared| shared.joules());
            result.parts.idle += idle;
            result.parts.remainder += dynamic - node.cpu;
            result.nodes.push(idle + dynamic + node.linear);
        }
        let jobs = self.jobs.iter().copied().chain(std::iter::repeat(0.0));
        result.jobs =
            is_finished.zip(jobs).map(|(finished, joules)| if finished { joules } else { f64::NAN }).collect();
        result
    }
}

impl Node {
    fn set_up(&mut self, at: Time, is_up: bool) {
        if self.is_up {
            self.up_time += at - self.since;
        }
        (self.since, self.is_up) = (at, is_up);
    }
}
