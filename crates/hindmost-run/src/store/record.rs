//! The record of a job in its run's folder (`job.json`): which job it is, when the run began, and in which folder.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use hindmost_core::estimator::Knowledge;
use hindmost_core::ids::{AttemptId, JobId, TaskId};
use hindmost_core::time::Time;
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use super::identity::{CacheIdentity, FolderIdentity};
use crate::engine::NodeOffer;
use crate::job_file::{Plan, PlannedPhase, RecordedPhase, default_shell, earlier_shell};

/// The options with which a run was begun. A run that was killed before it wrote its journal is resumed with them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BegunWith {
    /// Policy, if the user named one.
    pub policy: Option<String>,
    /// Progress model (what the policy may know), if the user named one.
    pub knowledge: Option<Knowledge>,
    /// Nodes on which the run was begun.
    pub nodes: Vec<NodeOffer>,
    /// Engine of the run. Earlier versions had only `local`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    /// Options of allocations, for engine `slurm`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slurm_args: Vec<String>,
}

/// Returns the options with which the run in a folder was begun; `None` if it holds no run. The folder is neither checked nor
/// locked.
pub fn begun_with(folder: &Path) -> Option<BegunWith> {
    let record = folder.join(super::INNER).join(super::JOB);
    if !std::fs::symlink_metadata(&record).ok()?.is_file() {
        return None;
    }
    let record: JobRecord = serde_json::from_slice(&std::fs::read(&record).ok()?).ok()?;
    record.begun_with
}

/// A task that had failed permanently, as its phase allows, when the run began again, and that stays so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenUp {
    /// Number of the phase.
    pub phase: u32,
    /// Number of the task.
    pub task: u32,
    /// Number of attempts that failed.
    pub failures: u32,
    /// Number of the last attempt that failed.
    pub attempt: u32,
    /// Error of that attempt.
    pub reason: String,
}

impl GivenUp {
    /// Returns the id of the task.
    pub fn id(&self) -> TaskId {
        TaskId { job: JobId(0), phase: self.phase, index: self.task }
    }
}

/// The record of a job in its run's folder.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct JobRecord {
    /// Name of the job.
    pub job: String,
    /// Identifies the job, including its commands ([`Plan::digest`]).
    pub digest: String,
    /// Identifies the job's tasks ([`Plan::shape`]).
    pub shape: String,
    /// Identifies each phase's commands ([`PlannedPhase::digest`]).
    pub phases: Vec<String>,
    /// The tasks of each phase. Earlier versions did not record them; their runs can only be resumed with the same tasks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<RecordedPhase>,
    /// Digests of earlier commands of each phase whose results are kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<Vec<String>>,
    /// Identifies the run. Every process of the run has it in its environment.
    pub run: String,
    /// Time at which the run began, in nanoseconds since 1970.
    pub began: u64,
    /// Time at which the run began, by the boot clock, which nobody can set: the id of the boot, and the nanoseconds from the
    /// boot to the begin of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began_since_boot: Option<(String, u64)>,
    /// The options with which the run was begun.
    #[serde(default)]
    pub begun_with: Option<BegunWith>,
    /// The shell of phases that name none, with its options. Earlier versions did not record it and used `sh -c`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell: Option<Vec<String>>,
    /// Identifies the run's folder, to distinguish it from its copies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<FolderIdentity>,
    /// Path of the folder when the run was last active, as its commands received it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Identifies the boot and mount under which the run was last active. Under another boot or mount, data that was not
    /// synced may have been lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheIdentity>,
    /// True if a manifest lists the results. Earlier versions had none.
    #[serde(default)]
    pub manifest: bool,
    /// Number of journals of the run that were put away and whose failures are counted.
    #[serde(default)]
    pub journals: u32,
    /// Failures of tasks that may not run twice in earlier journals of the run: phase, task, number of failures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<(u32, u32, u32)>,
    /// Tasks that had failed as their phases allow when the run last began again, and that stay so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub given_up: Vec<GivenUp>,
    /// Begin and end of each pause of the run, in nanoseconds since the run began, in order and without overlaps. A pause
    /// lasts from the last moment at which a process of the run ran until the run was resumed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pauses: Vec<(u64, u64)>,
}

/// Returns the nanoseconds since 1970.
fn wall_clock() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}

/// Returns the current boot, and the nanoseconds since it, including suspended time.
fn boot_clock() -> Option<(String, u64)> {
    let now = clock_gettime(ClockId::Boottime);
    let nanoseconds = u64::try_from(now.tv_sec).ok()? * 1_000_000_000 + u64::try_from(now.tv_nsec).ok()?;
    // Each time namespace has its own boot clock.
    let namespace = std::fs::read_link("/proc/self/ns/time").unwrap_or_default();
    Some((format!("{} {}", crate::process::boot_id().ok()?, namespace.display()), nanoseconds))
}

/// Returns an identity that no other run has.
fn new_run_id(began: u64) -> String {
    use std::hash::{BuildHasher, Hasher};
    // The hasher's seed is random in every process and differs between two hashers of one process.
    let random = std::collections::hash_map::RandomState::new().build_hasher().finish();
    format!("{began:x}-{random:016x}")
}

impl JobRecord {
    /// Creates the record of a run that begins now.
    pub(super) fn new(plan: &Plan, begun_with: Option<BegunWith>) -> JobRecord {
        let began = wall_clock();
        JobRecord {
            job: plan.name.clone(),
            digest: plan.digest(),
            shape: plan.shape(),
            phases: plan.phases.iter().map(PlannedPhase::digest).collect(),
            tasks: plan.recorded_phases(),
            kept: Vec::new(),
            run: new_run_id(began),
            began,
            began_since_boot: boot_clock(),
            begun_with,
            shell: Some(default_shell()),
            folder: None,
            path: None,
            cache: None,
            manifest: true,
            journals: 0,
            failures: Vec::new(),
            given_up: Vec::new(),
            pauses: Vec::new(),
        }
    }

    /// Gives the run a new identity, so that it does not take over processes that were started under the old one.
    pub(super) fn renew_identity(&mut self) {
        self.run = new_run_id(wall_clock());
    }

    /// Records that the run begins again now, with its valid results. `journals` is the number of journals that are put away,
    /// `given_up` are the tasks that stay failed.
    pub(super) fn begin_again(&mut self, journals: u32, failures: &[(TaskId, u32)], given_up: Vec<GivenUp>) {
        self.renew_identity();
        self.journals = journals;
        self.began = wall_clock();
        self.began_since_boot = boot_clock();
        self.pauses.clear();
        self.given_up = given_up;
        for (task, count) in failures {
            self.failures.push((task.phase, task.index, *count));
        }
    }

    /// Records that the journal that was put away last is the run's journal again. `failures` are those that it holds of tasks
    /// that may not run twice.
    pub(super) fn take_back_journal(&mut self, failures: &[(TaskId, u32)]) {
        self.journals = self.journals.saturating_sub(1);
        for (task, count) in failures {
            let noted = (task.phase, task.index, *count);
            if let Some(at) = self.failures.iter().rposition(|failure| *failure == noted) {
                self.failures.remove(at);
            }
        }
    }

    /// Adds a pause from `begin` to `end`, given in time since the run began. A pause that overlaps the last one extends it.
    /// This happens if a resumed run was killed before any attempt ran.
    pub(super) fn add_pause(&mut self, begin: Time, end: Time) {
        match self.pauses.last_mut() {
            Some((_, last)) if *last >= begin.0 => *last = end.0.max(*last),
            _ => self.pauses.push((begin.0, end.0)),
        }
    }

    /// Returns the name of the folder of an attempt whose command has this digest.
    pub(crate) fn attempt_name(&self, attempt: AttemptId, command: &str) -> String {
        let task = attempt.task;
        format!("{}-{}.{}.{}.{command}", task.phase, task.index, attempt.copy, self.run)
    }

    /// Returns the shell of phases that name none, with its options.
    pub fn shell(&self) -> Vec<String> {
        self.shell.clone().unwrap_or_else(earlier_shell)
    }

    /// Returns the total length of the pauses before the time `until`.
    pub fn paused_until(&self, until: Time) -> Time {
        let parts = self.pauses.iter().map(|(begin, end)| until.0.min(*end).saturating_sub(*begin));
        Time(parts.sum())
    }

    /// Returns the nanoseconds since the run began, including pauses. While the machine is up, setting its clock does not
    /// change this.
    pub fn age(&self) -> u64 {
        match (&self.began_since_boot, boot_clock()) {
            (Some((began_boot, began)), Some((boot, now))) if *began_boot == boot => now.saturating_sub(*began),
            _ => wall_clock().saturating_sub(self.began),
        }
    }

    /// Returns the names of the phases whose command, variables or folder have changed since the run was last active.
    pub(super) fn changed(&self, plan: &Plan) -> Vec<String> {
        let phases = plan.phases.iter().zip(&self.phases);
        phases.filter(|(now, held)| now.digest() != **held).map(|(now, _)| now.name.clone()).collect()
    }

    /// Records the plan's current tasks and commands. `keep` says whether results of the earlier commands are kept.
    pub(super) fn take_over(&mut self, plan: &Plan, keep: bool) {
        self.kept.resize(plan.phases.len(), Vec::new());
        for ((phase, held), kept) in plan.phases.iter().zip(&mut self.phases).zip(&mut self.kept) {
            let now = phase.digest();
            if now != *held {
                let before = std::mem::replace(held, now);
                if !keep {
                    kept.clear();
                } else if !kept.contains(&before) {
                    kept.push(before);
                }
            }
        }
        let new = plan.phases.iter().skip(self.phases.len()).map(PlannedPhase::digest);
        self.phases.extend(new.collect::<Vec<_>>());
        self.digest = plan.digest();
        self.shape = plan.shape();
        self.tasks = plan.recorded_phases();
        self.job.clone_from(&plan.name);
    }

    /// True if results of the command with this digest count as results of the phase.
    pub(super) fn accepts(&self, phase: usize, command: &str) -> bool {
        self.phases.get(phase).is_some_and(|digest| digest == command) || self.keeps(phase, command)
    }

    /// True if results of the phase's earlier command with this digest are kept.
    pub(super) fn keeps(&self, phase: usize, command: &str) -> bool {
        self.kept.get(phase).is_some_and(|kept| kept.iter().any(|digest| digest == command))
    }

    /// Returns a path as text for the record.
    pub(super) fn path_text(path: &Path) -> String {
        path.to_string_lossy().into_owned()
    }
}
