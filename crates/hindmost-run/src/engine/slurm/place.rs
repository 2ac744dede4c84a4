//! A node of the run, with its allocation and what is known of both.

use std::process::Child;
use std::time::Instant;

use super::allocation::Requested;

/// A node of the run, and the allocation in which its attempts run.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) name: String,
    /// The allocation; `None` while there is none.
    pub(super) job: Option<u32>,
    /// A request for an allocation that Slurm has not granted.
    pub(super) requested: Option<Requested>,
    /// When not to request an allocation before.
    pub(super) next_request: Instant,
    pub(super) is_up: bool,
    /// Since when the node is up or lost: older snapshots say nothing about it.
    pub(super) since: Instant,
    /// When the last check of the node began.
    pub(super) checked: Option<Instant>,
    pub(super) is_being_checked: bool,
    /// When the last check began that has succeeded.
    pub(super) answered: Option<Instant>,
    /// Since when Slurm does not list the allocation; `None` if it does.
    pub(super) unlisted_since: Option<Instant>,
    /// The `srun` of a keeper of the allocation that this process has started.
    pub(super) keeper: Option<Child>,
    /// When a keeper was last known to run or was started. `None` if that is unknown.
    pub(super) kept: Option<Instant>,
    /// Number of checks in a row that have failed.
    pub(super) failures: u32,
    /// Which GPUs of the node are in use.
    pub(super) gpus: Vec<bool>,
}

/// Whether attempts can run on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Health {
    /// The node is up and so is its allocation.
    Up,
    /// The node is up, but Slurm does not list its allocation, which may have ended.
    Unlisted,
    /// The node is lost.
    Lost,
}

impl Place {
    pub(super) fn new(name: String, gpus: usize) -> Place {
        let now = Instant::now();
        Place {
            name,
            job: None,
            requested: None,
            next_request: now,
            is_up: false,
            since: now,
            checked: None,
            is_being_checked: false,
            answered: None,
            unlisted_since: None,
            keeper: None,
            kept: None,
            failures: 0,
            gpus: vec![false; gpus],
        }
    }

    pub(super) fn is_up(&self) -> bool {
        self.is_up
    }

    pub(super) fn health(&self) -> Health {
        match (self.is_up, self.unlisted_since) {
            (false, _) => Health::Lost,
            (true, Some(_)) => Health::Unlisted,
            (true, None) => Health::Up,
        }
    }

    /// Notes that Slurm has granted an allocation of the node.
    pub(super) fn grant(&mut self, job: u32) {
        self.requested = None;
        self.job = Some(job);
        self.unlisted_since = None;
        self.is_up = true;
        self.failures = 0;
        self.since = Instant::now();
    }

    /// Notes that Slurm has granted an allocation of the node, whose keeper runs.
    pub(super) fn grant_kept(&mut self, job: u32) {
        self.grant(job);
        self.kept = Some(Instant::now());
    }

    /// Notes that no attempts can be started on the node.
    pub(super) fn lose(&mut self) {
        self.is_up = false;
        self.since = Instant::now();
    }
}
