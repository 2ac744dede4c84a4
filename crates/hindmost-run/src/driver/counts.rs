//! The counts of attempts that the progress display shows.
//!
//! Invariant: a copy is counted as started once, even if the driver tries several times to start it.

use hindmost_core::cluster::{Phase, Task};
use hindmost_core::ids::AttemptId;
use hindmost_core::metrics::PhaseProgress;
use rustc_hash::FxHashSet;

use crate::job_file::PlannedPhase;

/// The counts of one phase.
#[derive(Clone, Debug, Default)]
struct OfPhase {
    copies_started: u64,
    copies_won: u64,
    killed: u64,
    failed: u64,
}

/// The counts of all phases.
pub(super) struct Counts {
    phases: Vec<OfPhase>,
    /// Copies that were started while another copy of their task ran.
    redundant: FxHashSet<AttemptId>,
}

impl Counts {
    /// Creates counts of zero for `phases` phases.
    pub(super) fn new(phases: usize) -> Counts {
        Counts { phases: vec![OfPhase::default(); phases], redundant: FxHashSet::default() }
    }

    fn of(&mut self, attempt: AttemptId) -> &mut OfPhase {
        &mut self.phases[attempt.task.phase as usize]
    }

    /// Counts a copy that is started while another copy of its task runs. A second try to start it does not count again.
    pub(super) fn copy_started(&mut self, attempt: AttemptId) {
        if self.redundant.insert(attempt) {
            self.of(attempt).copies_started += 1;
        }
    }

    /// Counts an attempt that has won.
    pub(super) fn won(&mut self, attempt: AttemptId) {
        let is_copy = self.redundant.contains(&attempt);
        self.of(attempt).copies_won += u64::from(is_copy);
    }

    /// Counts an attempt that the policy has stopped.
    pub(super) fn killed(&mut self, attempt: AttemptId) {
        self.of(attempt).killed += 1;
    }

    /// Counts an attempt that has failed.
    pub(super) fn failed(&mut self, attempt: AttemptId) {
        self.of(attempt).failed += 1;
    }

    /// Returns the progress of a phase, without its withdrawn tasks. `number` is its index. `phase` is its state in the
    /// cluster, or, once the job has finished, the number of its tasks that have failed. `done` is the sum of the shares of
    /// work that running attempts have done, for one attempt of each task. `starting` is the number of tasks of which attempts are
    /// starting and none runs.
    pub(super) fn progress(
        &self,
        number: usize,
        planned: &PlannedPhase,
        phase: Result<&Phase, u64>,
        (done, starting): (f64, u64),
    ) -> PhaseProgress {
        let counts = &self.phases[number];
        let tasks = u64::from(planned.tasks - planned.withdrawn());
        let left = |failed: u64| (tasks.saturating_sub(failed), 0, 0);
        let (finished, started, running) = phase.map_or_else(left, |phase| {
            let unfinished = u64::from(phase.unfinished());
            // Withdrawn tasks count as finished or given up.
            let has_ended = |index: &u32| phase.tasks().get(*index as usize).is_some_and(Task::is_finished);
            let withdrawn = planned.withdrawn_tasks().filter(has_ended).count() as u64;
            let given_up = |index: &u32| phase.tasks().get(*index as usize).is_some_and(Task::is_abandoned);
            let withdrawn_given_up = planned.withdrawn_tasks().filter(given_up).count() as u64;
            let failed = u64::from(phase.abandoned()) - withdrawn_given_up;
            let ended = phase.tasks().len() as u64 - unfinished - withdrawn;
            (ended - failed, u64::from(phase.running_tasks()), u64::from(phase.running_copies()))
        });
        PhaseProgress {
            name: planned.name.clone(),
            tasks,
            finished,
            running: started.saturating_sub(starting),
            starting: starting.min(started),
            copies: running.saturating_sub(started),
            copies_started: counts.copies_started,
            copies_won: counts.copies_won,
            killed: counts.killed,
            failed: counts.failed,
            progress: ((finished as f64 + done) / tasks.max(1) as f64).min(1.0),
            waiting: phase.is_ok_and(|phase| !phase.is_open()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use hindmost_core::ids::{JobId, TaskId};

    use super::*;

    /// A phase of this many tasks.
    fn planned(tasks: u32) -> PlannedPhase {
        let text = format!("[[phase]]\nname = \"map\"\ntasks = {tasks}\ncommand = \"true\"\n");
        let plan = crate::job_file::parse(&text, Path::new("job.toml"), Path::new("/")).unwrap();
        plan.phases.into_iter().next().unwrap()
    }

    #[test]
    fn withdrawn_tasks_are_left_out() {
        let mut phase = planned(4);
        phase.places = Some(vec![None, Some(0), None, Some(1)]);
        let progress = Counts::new(1).progress(0, &phase, Err(1), (0.0, 0));
        assert_eq!((progress.tasks, progress.finished, progress.progress), (2, 1, 0.5));
    }

    #[test]
    fn a_tasks_only_attempt_is_not_counted_as_a_copy() {
        let attempt = |copy| AttemptId { task: TaskId { job: JobId(0), phase: 1, index: 0 }, copy };
        let mut counts = Counts::new(2);
        counts.copy_started(attempt(1));
        counts.copy_started(attempt(1));
        counts.won(attempt(0));
        assert_eq!(counts.progress(1, &planned(4), Err(0), (0.0, 0)).copies_won, 0);
        counts.won(attempt(1));
        counts.killed(attempt(0));
        let phase = counts.progress(1, &planned(4), Err(0), (0.5, 0));
        assert_eq!((phase.copies_started, phase.copies_won, phase.killed, phase.failed), (1, 1, 1, 0));
        assert_eq!((phase.finished, phase.running, phase.progress), (4, 0, 1.0));
        assert_eq!(counts.progress(0, &planned(1), Err(1), (0.0, 0)).finished, 0);
    }
}
