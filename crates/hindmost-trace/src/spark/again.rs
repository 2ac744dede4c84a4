//! What runs a second time in a stage because outputs were lost, and which tasks the attempts of a submission of only
//! some of them are of.
//!
//! When a fetch fails, Spark submits the stage that made the output again with the partitions that are missing, and
//! then the one that fetched it. Those of them that had been made before run again though nothing overtook them. Spark
//! from 3.3 on names the partition of an attempt. Before, there is its index among the submission's tasks alone, which
//! are the missing partitions in their order: if the submission has as many as have not succeeded, they are these.

use super::tables::IndexSet;

/// A stage of more tasks is not searched for those without a success.
const MOST_TASKS: u32 = 1 << 24;

/// The last submission of a stage, and outputs that were lost.
#[derive(Debug, Default)]
pub(super) struct Again {
    /// Its number.
    submission: u32,
    /// Tasks that had been won before it; whose output was lost since.
    before: IndexSet,
    /// Those of them that have been won again.
    rewon: IndexSet,
    tasks: Tasks,
}

/// Which tasks the indices of a submission are.
#[derive(Debug, Default)]
enum Tasks {
    /// Each the one of its own number.
    #[default]
    All,
    Some(Vec<u32>),
    Unknown,
}

/// Which task an attempt is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Task(u32),
    Unknown,
}

impl Again {
    /// A submission of so many tasks after another: of a stage of so many, the ones given were seen and won, or all,
    /// if they are `settled`.
    pub(super) fn begin(
        submission: u32,
        tasks: Option<u32>,
        all: Option<u32>,
        (seen, won): (&IndexSet, &IndexSet),
        settled: bool,
    ) -> Again {
        let without_success = all.zip(tasks).filter(|(all, tasks)| *tasks == all.saturating_sub(won.len()));
        let tasks = match without_success {
            _ if settled => Tasks::Unknown,
            _ if tasks.is_some() && tasks == all => Tasks::All,
            Some((all, _)) if all <= MOST_TASKS => Tasks::Some((0..all).filter(|task| !won.contains(*task)).collect()),
            // Nothing is known to which indices could be taken for belonging wrongly.
            _ if seen.len() == 0 => Tasks::All,
            _ => Tasks::Unknown,
        };
        Again { submission, before: won.clone(), rewon: IndexSet::default(), tasks }
    }

    /// The task of an index of a submission.
    pub(super) fn place(&self, submission: u32, index: u32) -> Place {
        match &self.tasks {
            _ if submission != self.submission => Place::Unknown,
            Tasks::All => Place::Task(index),
            Tasks::Some(tasks) => tasks.get(index as usize).map_or(Place::Unknown, |task| Place::Task(*task)),
            Tasks::Unknown => Place::Unknown,
        }
    }

    /// Takes in that the output of a task was lost.
    pub(super) fn lost(&mut self, task: u32) {
        self.before.insert(task);
        self.rewon.remove(task);
    }

    /// Whether an attempt runs because an output was lost; if it succeeds, it makes it anew. Of a stage that was
    /// `settled` before, all outputs had been there.
    pub(super) fn repeats(&mut self, submission: u32, task: u32, settled: bool, succeeded: bool) -> bool {
        let had_been_won = self.before.contains(task) || settled && self.submission > 0;
        let repeats = submission == self.submission && had_been_won && !self.rewon.contains(task);
        if repeats && succeeded {
            self.rewon.insert(task);
        }
        repeats
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(tasks: &[u32]) -> IndexSet {
        let mut set = IndexSet::default();
        for task in tasks {
            set.insert(*task);
        }
        set
    }

    #[test]
    fn indices_of_the_tasks_without_a_success_are_theirs() {
        let (seen, won) = (set(&[0, 1, 2, 3]), set(&[1, 2]));
        let place = |again: &Again, index| again.place(1, index);
        let rest = Again::begin(1, Some(3), Some(5), (&seen, &won), false);
        assert_eq!([0, 1, 2].map(|index| place(&rest, index)), [0, 3, 4].map(Place::Task));
        assert_eq!((place(&rest, 3), rest.place(0, 0)), (Place::Unknown, Place::Unknown));
        // All of them; more than those, of which some must have been lost; nobody says how many.
        assert_eq!(place(&Again::begin(1, Some(5), Some(5), (&seen, &won), false), 4), Place::Task(4));
        assert_eq!(place(&Again::begin(1, Some(4), Some(5), (&seen, &won), false), 0), Place::Unknown);
        assert_eq!(place(&Again::begin(1, None, Some(5), (&seen, &won), false), 0), Place::Unknown);
        assert_eq!(place(&Again::begin(1, Some(2), Some(u32::MAX), (&seen, &won), false), 0), Place::Unknown);
        let nothing = IndexSet::default();
        assert_eq!(place(&Again::begin(2, None, None, (&nothing, &nothing), false), 0), Place::Unknown);
        assert_eq!(Again::begin(2, None, None, (&nothing, &nothing), false).place(2, 7), Place::Task(7));
        assert_eq!(place(&Again::begin(1, Some(2), Some(5), (&nothing, &nothing), true), 0), Place::Unknown);
    }

    #[test]
    fn what_was_won_before_is_repeated_once() {
        let (seen, won) = (set(&[0, 1, 2]), set(&[0, 1]));
        let mut again = Again::begin(1, Some(2), Some(3), (&seen, &won), false);
        assert!(!again.repeats(1, 2, false, true) && !again.repeats(0, 1, false, true));
        assert!(again.repeats(1, 1, false, false) && again.repeats(1, 1, false, true));
        // A copy of that one is overtaken.
        assert!(!again.repeats(1, 1, false, false));
        again.lost(1);
        assert!(again.repeats(1, 1, false, true) && !again.repeats(1, 1, false, true));
        let mut settled = Again::begin(1, Some(3), Some(3), (&seen, &won), true);
        assert!(settled.repeats(1, 2, true, true) && !settled.repeats(1, 2, true, true));
        // In the first submission only what was lost runs again.
        let mut first = Again::default();
        first.lost(4);
        assert!(first.repeats(0, 4, false, true) && !first.repeats(0, 5, false, true));
    }
}
