//! Attempts that were lost: their task ran again although they had not failed.
//!
//! Such an attempt is lost with its executor, or killed while no other attempt of its task runs (Hadoop does so when it loses a node). An
//! executor may be lost only for the driver, and its attempts go on. When they end, Spark counts what they did, but it has run their tasks
//! again in the meantime. For the replay they were lost when the executor was removed.

use rustc_hash::FxHashMap;

use crate::recording::Ended;
use crate::recording::{AttemptRow, PhaseRows, Recording};

/// An attempt that failed within this many seconds of the removal of its executor was lost with it.
const WITH_EXECUTOR: f64 = 5.0;

/// How an attempt was lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Loss {
    /// Seconds from its start until it was lost.
    pub seconds: f64,
    /// The executor with which it was lost, if it was.
    pub executor: Option<u32>,
}

/// The attempts of an application that were lost, by the index of their phase and their place among its rows.
#[derive(Debug, Default)]
pub(super) struct Losses(FxHashMap<(usize, usize), Loss>);

impl Losses {
    pub(super) fn of(recording: &Recording) -> Losses {
        let mut losses = Losses::default();
        for (at, phase) in recording.phases.iter().enumerate() {
            let runs = Runs::of(phase);
            for (number, row) in phase.rows.iter().enumerate() {
                let removed = recording.executors.get(row.executor as usize).and_then(|executor| executor.removed);
                if let Some(loss) = loss(row, removed, runs.0.get(&row.task)) {
                    losses.0.insert((at, number), loss);
                }
            }
        }
        losses
    }

    /// Returns how an attempt was lost, if it was.
    pub(super) fn get(&self, phase: usize, row: usize) -> Option<Loss> {
        self.0.get(&(phase, row)).copied()
    }

    /// True if attempts of a phase were lost with their executors.
    pub(super) fn with_executors_of(&self, phase: usize) -> bool {
        self.0.iter().any(|((at, _), loss)| *at == phase && loss.executor.is_some())
    }

    /// True if attempts were lost with an executor.
    pub(super) fn of_executor(&self, executor: u32) -> bool {
        self.0.values().any(|loss| loss.executor == Some(executor))
    }
}

/// When each task of a phase ran.
struct Runs(FxHashMap<u32, TaskRuns>);

/// When a task ran.
#[derive(Clone, Copy, Debug)]
struct TaskRuns {
    /// When its last attempt started that was not a copy.
    last: f64,
    /// When its winner started.
    winner: f64,
}

impl Runs {
    fn of(phase: &PhaseRows) -> Runs {
        let mut runs: FxHashMap<u32, TaskRuns> = FxHashMap::default();
        for row in &phase.rows {
            let task = runs.entry(row.task).or_insert(TaskRuns { last: f64::NEG_INFINITY, winner: f64::NEG_INFINITY });
            if !row.speculative && !row.repeated {
                task.last = task.last.max(row.start);
            }
            if row.wins {
                task.winner = row.start;
            }
        }
        Runs(runs)
    }
}

fn loss(row: &AttemptRow, removed: Option<f64>, task: Option<&TaskRuns>) -> Option<Loss> {
    let with_executor = |seconds: f64| Some(Loss { seconds, executor: Some(row.executor) });
    let removed = removed.filter(|removed| *removed > row.start);
    if let Some(removed) = removed {
        let is_near = (row.end - removed).abs() < WITH_EXECUTOR;
        if row.ended == Ended::Failed && is_near {
            return with_executor(row.seconds());
        }
        // It came back, but its task had been started again.
        if removed < row.end && task.is_some_and(|task| task.last >= removed) {
            return with_executor(removed - row.start);
        }
    }
    // An attempt that is overtaken is killed after the winner has started.
    let is_killed = row.ended == Ended::Killed && task.is_some_and(|task| task.winner >= row.end);
    is_killed.then_some(Loss { seconds: row.seconds(), executor: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{executor, phase, recording, row};

    fn losses(rows: Vec<AttemptRow>, removed: Option<f64>) -> Vec<Option<Loss>> {
        let count = rows.len();
        let mut recording = recording(vec![phase(rows)], vec![executor("a", 1), executor("b", 1)]);
        recording.executors[0].removed = removed;
        let losses = Losses::of(&recording);
        (0..count).map(|number| losses.get(0, number)).collect()
    }

    fn ended(row: AttemptRow, ended: Ended) -> AttemptRow {
        AttemptRow { ended, wins: false, ..row }
    }

    #[test]
    fn attempts_are_lost_with_their_executor() {
        let again = row(0, 1, 12.0, 20.0);
        let failed = ended(row(0, 0, 0.0, 10.5), Ended::Failed);
        let lost = |seconds| Some(Loss { seconds, executor: Some(0) });
        assert_eq!(losses(vec![failed, again], Some(10.0)), [lost(10.5), None]);
        assert_eq!(losses(vec![failed, again], Some(30.0)), [None, None], "it failed long before");
        // It comes back after its task has started again.
        let back = row(0, 0, 0.0, 15.0);
        assert_eq!(losses(vec![back, ended(again, Ended::Succeeded)], Some(10.0)), [lost(10.0), None]);
        assert_eq!(losses(vec![back], Some(10.0)), [None], "its task did not start again");
    }

    #[test]
    fn an_attempt_is_lost_that_is_killed_before_the_winner_starts() {
        let killed = ended(row(0, 0, 0.0, 10.0), Ended::Killed);
        let lost = Some(Loss { seconds: 10.0, executor: None });
        assert_eq!(losses(vec![killed, row(0, 1, 12.0, 20.0)], None), [lost, None]);
        assert_eq!(losses(vec![killed, row(0, 1, 8.0, 9.9)], None), [None, None], "it was overtaken");
        assert_eq!(losses(vec![killed], None), [None], "its task never succeeded");
    }
}
