//! The interface through which a program follows a run.

use std::time::Duration;

use hindmost_core::ids::AttemptId;
use hindmost_core::metrics::PhaseProgress;

use super::task_ends::{EarlierResult, Next, TaskEnd};

/// Receives the progress of a run.
pub trait Follower {
    /// Receives the progress of each phase, and the time since the run began.
    fn phases(&mut self, phases: &[PhaseProgress], elapsed: Duration);

    /// Receives the number of running attempts on each node.
    fn nodes(&mut self, _running: &[(String, u64)]) {}

    /// True if the follower wants to receive the running attempts ([`Follower::running`]). It is called after
    /// [`Follower::phases`].
    fn wants_running(&mut self) -> bool {
        false
    }

    /// Receives the running attempts, the oldest first, and the time since each was started.
    fn running(&mut self, _attempts: &[(AttemptId, Duration)]) {}

    /// Receives a line for the user, for example about a lost node.
    fn message(&mut self, line: &str);

    /// Receives a line for the user about a slow task that gets a second attempt.
    fn second_attempt(&mut self, line: &str) {
        self.message(line);
    }

    /// Receives a line for the user about an attempt that has failed.
    fn failure(&mut self, line: &str) {
        self.message(line);
    }

    /// Receives a line for the user about a task whose output could not be placed.
    fn failure_of_output(&mut self, line: &str) {
        self.failure(line);
    }

    /// Receives the end of a task: its success, or its last failure. The logs of the attempt are in place. Returns whether the
    /// run continues.
    fn task_ended(&mut self, _end: &TaskEnd) -> Next {
        Next::Continue
    }

    /// True if the follower wants to receive the results that tasks had before this process ([`Follower::earlier`]).
    fn wants_earlier(&self) -> bool {
        false
    }

    /// Receives a task that had its result before this process, before any task ends.
    fn earlier(&mut self, _earlier: &EarlierResult) {}
}

/// A follower that ignores everything.
pub struct Unfollowed;

impl Follower for Unfollowed {
    fn phases(&mut self, _phases: &[PhaseProgress], _elapsed: Duration) {}

    fn message(&mut self, _line: &str) {}
}
