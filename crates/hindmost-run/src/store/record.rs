//! What a run's folder says of its job: which job it is, when it began, and which folder it began in.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use hindmost_core::estimator::Knowledge;
use hindmost_core::ids::TaskId;
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use super::identity::{CacheIdentity, FolderIdentity};
use crate::engine::NodeOffer;
use crate::job_file::{Plan, PlannedPhase};

/// What a run was begun with, for a resumption of one that was killed before it wrote its journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BegunWith {
    /// The policy, where one was named.
    pub policy: Option<String>,
    /// What it may know, where that was named.
    pub knowledge: Option<Knowledge>,
    /// The nodes.
    pub nodes: Vec<NodeOffer>,
}

/// What a run's folder says of its job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct JobRecord {
    /// The job's name.
    pub job: String,
    /// Identifies the job and all that its commands do ([`Plan::digest`]).
    pub digest: String,
    /// Identifies its tasks ([`Plan::shape`]).
    pub shape: String,
    /// Identifies what each phase's commands do ([`PlannedPhase::digest`]).
    pub phases: Vec<String>,
    /// Commands that the phases had before, and whose results are kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<Vec<String>>,
    /// Identifies the run: every process of it carries this in its environment.
    pub run: String,
    /// When it began, nanoseconds since 1970.
    pub began: u64,
    /// The same by a clock that nobody sets: since which start of the machine, and nanoseconds since that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began_since_boot: Option<(String, u64)>,
    /// What it was begun with.
    #[serde(default)]
    pub begun_with: Option<BegunWith>,
    /// The folder in which it is, to be told from its copies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<FolderIdentity>,
    /// The folder's path when the run was last at work, as its commands know it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Since when what was not synced could have been lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheIdentity>,
    /// True if results are listed in a manifest.
    #[serde(default)]
    pub manifest: bool,
    /// Journals of the run that were put away, and whose failures are counted.
    #[serde(default)]
    pub journals: u32,
    /// Failures in earlier journals of the run, of tasks that may not run twice: phase, task, failures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<(u32, u32, u32)>,
}

/// Nanoseconds since 1970.
fn wall_clock() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}

/// The start of the machine, and nanoseconds since it; suspended time counts.
fn boot_clock() -> Option<(String, u64)> {
    let now = clock_gettime(ClockId::Boottime);
    let nanoseconds = u64::try_from(now.tv_sec).ok()? * 1_000_000_000 + u64::try_from(now.tv_nsec).ok()?;
    // Namespaces of time have clocks of their own.
    let namespace = std::fs::read_link("/proc/self/ns/time").unwrap_or_default();
    Some((format!("{} {}", crate::process::boot_id().ok()?, namespace.display()), nanoseconds))
}

/// An identity that no other run has.
fn new_run_id(began: u64) -> String {
    use std::hash::{BuildHasher, Hasher};
    // Its seed is random in every process, and differs between two of one process.
    let random = std::collections::hash_map::RandomState::new().build_hasher().finish();
    format!("{began:x}-{random:016x}")
}

impl JobRecord {
    /// Of a run that begins now.
    pub(super) fn new(plan: &Plan, begun_with: Option<BegunWith>) -> JobRecord {
        let began = wall_clock();
        JobRecord {
            job: plan.name.clone(),
            digest: plan.digest(),
            shape: plan.shape(),
            phases: plan.phases.iter().map(PlannedPhase::digest).collect(),
            kept: Vec::new(),
            run: new_run_id(began),
            began,
            began_since_boot: boot_clock(),
            begun_with,
            folder: None,
            path: None,
            cache: None,
            manifest: true,
            journals: 0,
            failures: Vec::new(),
        }
    }

    /// The run gets another identity, so that nothing of what was started before is taken for its own.
    pub(super) fn renew_identity(&mut self) {
        self.run = new_run_id(wall_clock());
    }

    /// The run begins again now, with what it has.
    pub(super) fn begin_again(&mut self, journals: u32, failures: &[(TaskId, u32)]) {
        self.renew_identity();
        self.journals = journals;
        self.began = wall_clock();
        self.began_since_boot = boot_clock();
        for (task, count) in failures {
            self.failures.push((task.phase, task.index, *count));
        }
    }

    /// Nanoseconds since the run began. As long as the machine runs, no step of its clock changes that.
    pub fn age(&self) -> u64 {
        match (&self.began_since_boot, boot_clock()) {
            (Some((began_boot, began)), Some((boot, now))) if *began_boot == boot => now.saturating_sub(*began),
            _ => wall_clock().saturating_sub(self.began),
        }
    }

    /// The names of phases whose commands, variables or folder are others than when the run was last at work.
    pub(super) fn changed(&self, plan: &Plan) -> Vec<String> {
        let phases = plan.phases.iter().zip(&self.phases);
        phases.filter(|(now, held)| now.digest() != **held).map(|(now, _)| now.name.clone()).collect()
    }

    /// Takes over what the plan's commands are now; results of what they were are kept if `keep`.
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
        self.digest = plan.digest();
        self.job.clone_from(&plan.name);
    }

    /// True if results of a command, by its digest, are results of the phase.
    pub(super) fn accepts(&self, phase: usize, command: &str) -> bool {
        self.phases.get(phase).is_some_and(|digest| digest == command) || self.keeps(phase, command)
    }

    /// True if results of an earlier command of the phase are kept.
    pub(super) fn keeps(&self, phase: usize, command: &str) -> bool {
        self.kept.get(phase).is_some_and(|kept| kept.iter().any(|digest| digest == command))
    }

    /// A path as it is recorded.
    pub(super) fn path_text(path: &Path) -> String {
        path.to_string_lossy().into_owned()
    }
}
