//! Counts the failures of tasks, and lists the tasks that have failed permanently.
//!
//! Invariant: a task is exhausted once it has failed more often than its phase has retries, or in a way that no further try can
//! mend. Only failures that the attempt itself has caused count. Each failure lists its task at most once.

use std::collections::{BTreeMap, BTreeSet};

use hindmost_core::ids::TaskId;
use hindmost_core::metrics::FailedTask;

use crate::job_file::Plan;

/// Failures of one task.
#[derive(Default)]
struct OfTask {
    count: u32,
    /// Failures before the run was resumed, which no longer count against the retries.
    earlier: u32,
    /// True if no further try can succeed.
    is_hopeless: bool,
    /// The last failure; `None` after it has been moved to `given_up`.
    last: Option<FailedTask>,
}

/// The failures of all tasks of a run.
#[derive(Default)]
pub(super) struct Failures {
    /// Name and retries of each phase.
    phases: Vec<(String, u32)>,
    of: BTreeMap<TaskId, OfTask>,
    /// Tasks that wait for their next try.
    delayed: BTreeSet<TaskId>,
    /// Tasks that have failed permanently, with their last failure.
    given_up: Vec<FailedTask>,
}

impl Failures {
    /// Creates the counts of a new run.
    pub(super) fn new(plan: &Plan) -> Failures {
        let phases = plan.phases.iter().map(|phase| (phase.name.clone(), phase.retries)).collect();
        Failures { phases, ..Failures::default() }
    }

    /// Notes how often a task had failed before the run was resumed. These failures are only reported.
    pub(super) fn remember(&mut self, task: TaskId, earlier: u32) {
        self.of.entry(task).or_default().earlier = earlier;
    }

    /// Counts a failed attempt of a task. `failed` describes the failure; its phase, task and number of failures are set here,
    /// with those before the run was resumed. Returns the number of failures that count against the retries.
    pub(super) fn count(&mut self, task: TaskId, failed: FailedTask) -> u32 {
        let found = self.of.entry(task).or_default();
        found.count += 1;
        let phase = self.phases[task.phase as usize].0.clone();
        let failures = found.earlier + found.count;
        found.last = Some(FailedTask { phase, task: task.index, failures, ..failed });
        found.count
    }

    /// Returns how often a task has failed, without failures that no longer count against the retries.
    pub(super) fn of(&self, task: TaskId) -> u32 {
        self.of.get(&task).map_or(0, |found| found.count)
    }

    /// Notes that a task waits for its next try.
    pub(super) fn delay(&mut self, task: TaskId) {
        self.delayed.insert(task);
    }

    /// Notes that a task no longer waits for its next try.
    pub(super) fn no_longer_delayed(&mut self, task: TaskId) {
        self.delayed.remove(&task);
    }

    /// True if a task waits for its next try.
    pub(super) fn has_delayed(&self) -> bool {
        !self.delayed.is_empty()
    }

    /// True if a task has failed more often than its phase allows, or in a way that no further try can mend.
    pub(super) fn is_exhausted(&self, task: TaskId) -> bool {
        let retries = |task: TaskId| self.phases[task.phase as usize].1;
        self.of.get(&task).is_some_and(|found| found.count > retries(task) || found.is_hopeless)
    }

    /// Notes that a task has failed in a way that no further try can mend.
    pub(super) fn exhaust(&mut self, task: TaskId) {
        self.of.entry(task).or_default().is_hopeless = true;
    }

    /// Adds a task to the list of permanently failed tasks.
    pub(super) fn give_up(&mut self, task: TaskId) {
        self.given_up.extend(self.of.get_mut(&task).and_then(|found| found.last.take()));
    }

    /// Adds failures from before the run was resumed. `earlier` has them for tasks that may not run twice (`idempotent = false`), and
    /// for no others. Returns the pending tasks that are exhausted now, also those that have failed only since.
    /// `describe` returns what is known of a failed task.
    pub(super) fn recall(
        &mut self,
        earlier: &[(TaskId, u32)],
        is_pending: impl Fn(TaskId) -> bool,
        describe: impl Fn(TaskId) -> FailedTask,
    ) -> Vec<TaskId> {
        for (task, count) in earlier {
            for _ in 0..*count {
                let reason = "it failed before the run was resumed".to_owned();
                self.count(*task, FailedTask { reason, ..describe(*task) });
            }
        }
        let tasks: Vec<TaskId> =
            self.of.keys().copied().filter(|task| self.is_exhausted(*task) && is_pending(*task)).collect();
        for task in &tasks {
            let is_recalled = earlier.iter().any(|(recalled, count)| recalled == task && *count > 0);
            if is_recalled && let Some(failed) = self.of.get_mut(task).and_then(|found| found.last.as_mut()) {
                failed.reason += "; it may not run twice (idempotent = false), unless its phase gets more retries";
            }
            self.give_up(*task);
        }
        tasks
    }

    /// Adds a task to the list that had failed permanently, as its phase allows, before the run was resumed.
    pub(super) fn recall_given_up(&mut self, task: TaskId, failed: FailedTask) {
        let phase = self.phases[task.phase as usize].0.clone();
        self.given_up.push(FailedTask { phase, task: task.index, ..failed });
    }

    /// Returns why a task has failed permanently; `None` if it has not.
    pub(super) fn reason(&self, task: TaskId) -> Option<&str> {
        let phase = &self.phases[task.phase as usize].0;
        let failed = self.given_up.iter().rev().find(|failed| failed.task == task.index && failed.phase == *phase);
        failed.map(|failed| &*failed.reason)
    }

    /// Returns the number of tasks of a phase that have failed permanently.
    pub(super) fn given_up_in(&self, phase: &str) -> u64 {
        self.given_up.iter().filter(|failed| failed.phase == phase).count() as u64
    }

    /// Returns the tasks that have failed permanently, in the order in which they did.
    pub(super) fn given_up(&self) -> &[FailedTask] {
        &self.given_up
    }

    /// Returns the tasks that have failed permanently, by phase and number.
    pub(super) fn into_given_up(mut self) -> Vec<FailedTask> {
        let place = |name: &str| self.phases.iter().position(|(phase, _)| phase == name);
        self.given_up.sort_by_key(|failed| (place(&failed.phase), failed.task));
        self.given_up
    }
}

#[cfg(test)]
mod tests {
    use hindmost_core::ids::JobId;

    use super::*;

    fn failures() -> Failures {
        Failures { phases: vec![("map".to_owned(), 1), ("end".to_owned(), 0)], ..Failures::default() }
    }

    fn failed(reason: &str, stderr: &str) -> FailedTask {
        FailedTask { reason: reason.to_owned(), stderr: stderr.to_owned(), ..FailedTask::default() }
    }

    fn task(phase: u32, index: u32) -> TaskId {
        TaskId { job: JobId(0), phase, index }
    }

    #[test]
    fn a_task_is_given_up_when_its_retries_are_used_up() {
        let mut failures = failures();
        failures.count(task(0, 7), failed("exit code 1", "first"));
        assert!(!failures.is_exhausted(task(0, 7)));
        failures.count(task(0, 7), failed("exit code 2", "second"));
        assert!(failures.is_exhausted(task(0, 7)) && !failures.is_exhausted(task(0, 8)));
        failures.give_up(task(0, 7));
        failures.give_up(task(0, 7));
        let [failed] = &failures.into_given_up()[..] else { panic!() };
        let expected = ("map", 7, 2, "exit code 2", "second");
        assert_eq!((&*failed.phase, failed.task, failed.failures, &*failed.reason, &*failed.stderr), expected);
    }

    #[test]
    fn failures_before_a_resumption_are_only_reported() {
        let mut failures = failures();
        failures.remember(task(0, 7), 2);
        assert_eq!((failures.of(task(0, 7)), failures.is_exhausted(task(0, 7))), (0, false));
        assert_eq!(failures.count(task(0, 7), failed("exit code 1", "")), 1);
        assert!(!failures.is_exhausted(task(0, 7)));
        failures.count(task(0, 7), failed("exit code 1", ""));
        failures.give_up(task(0, 7));
        assert_eq!(failures.into_given_up()[0].failures, 4);
    }

    #[test]
    fn earlier_failures_exhaust_pending_tasks() {
        let mut failures = failures();
        // It failed while no Hindmost ran, so the journal does not hold this failure.
        failures.count(task(0, 1), failed("exit code 3", ""));
        // This one, too, and it may run twice.
        failures.count(task(1, 4), failed("exit code 143", ""));
        let earlier = [(task(1, 0), 1), (task(0, 1), 1), (task(0, 2), 1), (task(1, 3), 9)];
        let exhausted = failures.recall(&earlier, |task| task.index != 3, |_| FailedTask::default());
        assert_eq!(exhausted, [task(0, 1), task(1, 0), task(1, 4)]);
        let given_up = failures.into_given_up();
        let names: Vec<_> = given_up.iter().map(|failed| (&*failed.phase, failed.task, failed.failures)).collect();
        assert_eq!(names, [("map", 1, 2), ("end", 0, 1), ("end", 4, 1)]);
        let (recalled, other) = given_up.split_at(2);
        assert!(recalled.iter().all(|failed| failed.reason.contains("idempotent = false")));
        assert_eq!(other[0].reason, "exit code 143");
    }
}
