//! A task: its running copies, and whether it has finished.

/// Marks the end of a task's chain of copies.
pub(super) const NO_ATTEMPT: u32 = u32::MAX;

/// Marks a missing node in [`Task::nodes`].
pub(super) const NO_NODE: u32 = u32::MAX;

/// A task. It is pending while it has no running copy and has not finished; it is finished once one copy has finished, or
/// once it is given up or its job is abandoned. A withheld or blocked task is neither.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, and tasks are many, so each has one byte")]
pub struct Task {
    /// Slot of the newest running copy; [`NO_ATTEMPT`] if there is none. The copies form a chain from the newest to the
    /// oldest.
    pub(super) newest: u32,
    /// Number of copies started so far, including those that have ended. The next copy gets this number.
    pub(super) launched: u32,
    /// Number of copies that are starting, running or stopping.
    pub(super) copies: u16,
    /// Number of copies that are stopping. They are also counted in `copies`.
    pub(super) stopping: u16,
    /// Nodes of the two newest running copies. Most tasks never have more than two, so most queries need not follow the
    /// chain.
    pub(super) nodes: [u32; 2],
    /// True if a copy has finished, or if the task was given up or the job abandoned before one did.
    pub(super) finished: bool,
    /// True if the task was given up, or the job abandoned, before a copy of the task finished.
    pub(super) abandoned: bool,
    /// True while the task gets no attempt although it is unfinished and no copy runs.
    pub(super) withheld: bool,
    /// True while the task waits for single tasks of earlier phases.
    pub(super) blocked: bool,
    /// True if no other attempt starts while attempts of the task run.
    pub(super) no_more_copies: bool,
    /// True if an attempt of the task may be stopped so that the task starts again, because it gets no copies.
    pub(super) may_restart: bool,
    /// True if the task is pending because its last running copy failed or lost its node. The next copy then counts as a
    /// relaunch, not as a redundant copy.
    pub(super) is_broken: bool,
    /// True while the task is in its phase's list of tasks to be retried.
    pub(super) retrying: bool,
}

impl Task {
    /// Returns the number of copies started so far, including those that have ended.
    pub fn launched(&self) -> u32 {
        self.launched
    }

    /// Returns the number of copies that are starting, running or stopping.
    pub fn running_copies(&self) -> u32 {
        u32::from(self.copies)
    }

    /// Returns the number of copies that are starting or running, without those that are stopping.
    pub fn unstopped_copies(&self) -> u32 {
        u32::from(self.copies - self.stopping)
    }

    /// Returns true once the task needs no copy any more: a copy has finished, or the task was given up or the job abandoned
    /// ([`Task::is_abandoned`]).
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// Returns true if the task was given up, or the job abandoned, before a copy of the task finished.
    pub fn is_abandoned(&self) -> bool {
        self.abandoned
    }

    /// Returns true if attempts of the task run and no other one may start beside them
    /// ([`Event::NoMoreCopies`](crate::record::Event::NoMoreCopies)).
    pub fn has_last_copies(&self) -> bool {
        self.no_more_copies && self.copies > 0
    }

    /// Returns true if an attempt of the task may be stopped so that the task starts again, because another one beside it would
    /// write the same file.
    pub fn may_restart(&self) -> bool {
        self.may_restart
    }

    /// Returns true while the task gets no attempt although it is unfinished and no copy runs
    /// ([`Event::TaskWithheld`](crate::record::Event::TaskWithheld)).
    pub fn is_withheld(&self) -> bool {
        self.withheld
    }

    /// Returns true while the task waits for single tasks of earlier phases
    /// ([`PhaseSpec::edges`](crate::workload::PhaseSpec::edges)).
    pub fn is_blocked(&self) -> bool {
        self.blocked
    }

    /// Returns true if no copy runs, none has finished, and the task is neither blocked nor withheld nor given up nor its
    /// job abandoned.
    pub fn is_pending(&self) -> bool {
        !self.finished && self.copies == 0 && !self.withheld && !self.blocked
    }
}
