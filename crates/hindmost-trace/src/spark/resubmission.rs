//! Resubmissions of stages whose outputs were lost: which tasks run again, and which tasks the attempts of a
//! resubmission belong to.
//!
//! When a fetch fails, Spark resubmits the stage that made the output with its missing partitions, and then the stage
//! that fetched it. Tasks whose output was lost run again, although no copy overtook them. From Spark 3.3 on, an
//! attempt names its partition. Before, only its index among the submission's tasks is known; these are the missing
//! partitions in ascending order. If the submission has as many tasks as have not succeeded, its tasks are assumed to
//! be the tasks without a success.

use super::id_sets::RangeSet;

/// In a stage with more tasks, the tasks without a success are not determined.
const MOST_TASKS: u32 = 1 << 24;

/// The latest submission of a stage, and outputs that were lost.
#[derive(Debug, Default)]
pub(super) struct Resubmission {
    /// The submission's number.
    submission: u32,
    /// Tasks whose output had been made before this submission, or was lost since.
    before: RangeSet,
    /// Tasks of `before` that have succeeded again.
    won_again: RangeSet,
    tasks: Tasks,
}

/// How the indices of a submission map to tasks.
#[derive(Debug, Default)]
enum Tasks {
    /// Each index is the task of the same number.
    #[default]
    All,
    /// The task of each index.
    Some(Vec<u32>),
    /// The tasks can't be determined.
    Unknown,
}

/// The task of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Task(u32),
    Unknown,
}

impl Resubmission {
    /// Begins a submission of `tasks` tasks after an earlier one. `all` is the number of the stage's tasks; `seen` are
    /// the tasks with an attempt, and `won` the tasks with a success. If `settled`, all tasks had succeeded.
    pub(super) fn begin(
        submission: u32,
        tasks: Option<u32>,
        all: Option<u32>,
        (seen, won): (&RangeSet, &RangeSet),
        settled: bool,
    ) -> Resubmission {
        let without_success =
            all.zip(tasks).filter(|(all, tasks)| u64::from(*tasks) == u64::from(*all).saturating_sub(won.len()));
        let tasks = match without_success {
            _ if settled => Tasks::Unknown,
            _ if tasks.is_some() && tasks == all => Tasks::All,
            Some((all, _)) if all <= MOST_TASKS => Tasks::Some((0..all).filter(|task| !won.contains(*task)).collect()),
            // The stage has no attempts yet, so no attempt can be assigned to the wrong task.
            _ if seen.len() == 0 => Tasks::All,
            _ => Tasks::Unknown,
        };
        Resubmission { submission, before: won.clone(), won_again: RangeSet::default(), tasks }
    }

    /// Returns the task for an index within a submission.
    pub(super) fn place(&self, submission: u32, index: u32) -> Place {
        match &self.tasks {
            _ if submission != self.submission => Place::Unknown,
            Tasks::All => Place::Task(index),
            Tasks::Some(tasks) => tasks.get(index as usize).map_or(Place::Unknown, |task| Place::Task(*task)),
            Tasks::Unknown => Place::Unknown,
        }
    }

    /// Records that the output of a task was lost.
    pub(super) fn lost(&mut self, task: u32) {
        self.before.insert(task);
        self.won_again.remove(task);
    }

    /// Returns whether an attempt runs because an output was lost. If the attempt `succeeded`, the output exists again.
    /// If the stage was `settled`, all of its tasks had succeeded before the submission.
    pub(super) fn repeats(&mut self, submission: u32, task: u32, settled: bool, succeeded: bool) -> bool {
        let had_been_won = self.before.contains(task) || settled && self.submission > 0;
        let repeats = submission == self.submission && had_been_won && !self.won_again.contains(task);
        if repeats && succeeded {
            self.won_again.insert(task);
        }
        repeats
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(tasks: &[u32]) -> RangeSet {
        let mut set = RangeSet::default();
        for task in tasks {
            set.insert(*task);
        }
        set
    }

    #[test]
    fn indices_map_to_the_tasks_without_a_success() {
        let (seen, won) = (set(&[0, 1, 2, 3]), set(&[1, 2]));
        let place = |again: &Resubmission, index| again.place(1, index);
        let rest = Resubmission::begin(1, Some(3), Some(5), (&seen, &won), false);
        assert_eq!([0, 1, 2].map(|index| place(&rest, index)), [0, 3, 4].map(Place::Task));
        assert_eq!((place(&rest, 3), rest.place(0, 0)), (Place::Unknown, Place::Unknown));
        // The submission has all tasks; then more tasks than have no success, because some outputs were lost; then an
        // unknown number of tasks.
        assert_eq!(place(&Resubmission::begin(1, Some(5), Some(5), (&seen, &won), false), 4), Place::Task(4));
        assert_eq!(place(&Resubmission::begin(1, Some(4), Some(5), (&seen, &won), false), 0), Place::Unknown);
        assert_eq!(place(&Resubmission::begin(1, None, Some(5), (&seen, &won), false), 0), Place::Unknown);
        assert_eq!(place(&Resubmission::begin(1, Some(2), Some(u32::MAX), (&seen, &won), false), 0), Place::Unknown);
        let nothing = RangeSet::default();
        assert_eq!(place(&Resubmission::begin(2, None, None, (&nothing, &nothing), false), 0), Place::Unknown);
        assert_eq!(Resubmission::begin(2, None, None, (&nothing, &nothing), false).place(2, 7), Place::Task(7));
        assert_eq!(place(&Resubmission::begin(1, Some(2), Some(5), (&nothing, &nothing), true), 0), Place::Unknown);
    }

    #[test]
    fn a_task_that_had_succeeded_is_repeated_once() {
        let (seen, won) = (set(&[0, 1, 2]), set(&[0, 1]));
        let mut again = Resubmission::begin(1, Some(2), Some(3), (&seen, &won), false);
        assert!(!again.repeats(1, 2, false, true) && !again.repeats(0, 1, false, true));
        assert!(again.repeats(1, 1, false, false) && again.repeats(1, 1, false, true));
        // A copy of an attempt that has succeeded again is overtaken.
        assert!(!again.repeats(1, 1, false, false));
        again.lost(1);
        assert!(again.repeats(1, 1, false, true) && !again.repeats(1, 1, false, true));
        let mut settled = Resubmission::begin(1, Some(3), Some(3), (&seen, &won), true);
        assert!(settled.repeats(1, 2, true, true) && !settled.repeats(1, 2, true, true));
        // In the first submission, only tasks whose output was lost run again.
        let mut first = Resubmission::default();
        first.lost(4);
        assert!(first.repeats(0, 4, false, true) && !first.repeats(0, 5, false, true));
    }
}
