//! What is counted of a run while it goes on, and who is told.
//!
//! Invariant: an attempt counts once among those that won, were killed by the policy, or failed.

use std::time::Duration;

use hindmost_core::cluster::Phase;
use hindmost_core::ids::AttemptId;
use hindmost_core::metrics::PhaseProgress;
use rustc_hash::FxHashSet;

/// Receives how a run goes.
pub trait Follower {
    /// How far its phases have got.
    fn phases(&mut self, phases: &[PhaseProgress], elapsed: Duration);

    /// How many attempts run on each node.
    fn nodes(&mut self, _running: &[(String, u64)]) {}

    /// Something worth a line: a failure, a node that is lost.
    fn message(&mut self, line: &str);
}

/// Follows nothing.
pub struct Unfollowed;

impl Follower for Unfollowed {
    fn phases(&mut self, _phases: &[PhaseProgress], _elapsed: Duration) {}

    fn message(&mut self, _line: &str) {}
}

/// What is counted of a phase while it runs.
#[derive(Clone, Debug, Default)]
struct OfPhase {
    copies_started: u64,
    copies_won: u64,
    killed: u64,
    failed: u64,
}

/// What is counted of a run's phases while they run. See the module's documentation.
pub(super) struct Counts {
    phases: Vec<OfPhase>,
    /// Copies that were started beside others.
    redundant: FxHashSet<AttemptId>,
}

impl Counts {
    /// Nothing has happened yet, in so many phases.
    pub(super) fn new(phases: usize) -> Counts {
        Counts { phases: vec![OfPhase::default(); phases], redundant: FxHashSet::default() }
    }

    fn of(&mut self, attempt: AttemptId) -> &mut OfPhase {
        &mut self.phases[attempt.task.phase as usize]
    }

    /// A copy is started, perhaps not for the first time, beside another one of its task.
    pub(super) fn copy_started(&mut self, attempt: AttemptId) {
        if self.redundant.insert(attempt) {
            self.of(attempt).copies_started += 1;
        }
    }

    /// An attempt has won.
    pub(super) fn won(&mut self, attempt: AttemptId) {
        let is_copy = self.redundant.contains(&attempt);
        self.of(attempt).copies_won += u64::from(is_copy);
    }

    /// The policy has stopped an attempt.
    pub(super) fn killed(&mut self, attempt: AttemptId) {
        self.of(attempt).killed += 1;
    }

    /// An attempt has failed.
    pub(super) fn failed(&mut self, attempt: AttemptId) {
        self.of(attempt).failed += 1;
    }

    /// Returns how far a phase is of which the cluster holds this, nothing if its job has finished. `done` is how much of
    /// their work the newest attempts of its running tasks have done, in tasks.
    pub(super) fn progress(
        &self,
        number: usize,
        name: &str,
        tasks: u32,
        phase: Option<&Phase>,
        done: f64,
    ) -> PhaseProgress {
        let (tasks, counts) = (u64::from(tasks), &self.phases[number]);
        let (finished, started, running) = phase.map_or((tasks, 0, 0), |phase| {
            let unfinished = u64::from(phase.unfinished());
            (tasks - unfinished, unfinished - u64::from(phase.pending()), u64::from(phase.running_copies()))
        });
        PhaseProgress {
            name: name.to_owned(),
            tasks,
            finished,
            running: started,
            copies: running.saturating_sub(started),
            copies_started: counts.copies_started,
            copies_won: counts.copies_won,
            killed: counts.killed,
            failed: counts.failed,
            progress: ((finished as f64 + done) / tasks as f64).min(1.0),
            waiting: phase.is_some_and(|phase| !phase.is_open()),
        }
    }
}

#[cfg(test)]
mod tests {
    use hindmost_core::ids::{JobId, TaskId};

    use super::*;

    #[test]
    fn only_copies_beside_others_are_counted_as_copies() {
        let attempt = |copy| AttemptId { task: TaskId { job: JobId(0), phase: 1, index: 0 }, copy };
        let mut counts = Counts::new(2);
        counts.copy_started(attempt(1));
        counts.copy_started(attempt(1));
        counts.won(attempt(0));
        assert_eq!(counts.progress(1, "map", 4, None, 0.0).copies_won, 0);
        counts.won(attempt(1));
        counts.killed(attempt(0));
        let phase = counts.progress(1, "map", 4, None, 0.5);
        assert_eq!((phase.copies_started, phase.copies_won, phase.killed, phase.failed), (1, 1, 1, 0));
        assert_eq!((phase.finished, phase.running, phase.progress), (4, 0, 1.0));
        assert_eq!(counts.progress(0, "end", 1, None, 0.0).killed, 0);
    }
}
