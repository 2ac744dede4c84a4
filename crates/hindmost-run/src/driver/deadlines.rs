//! The times at which the driver has to act.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hindmost_core::ids::{AttemptId, TaskId};
use hindmost_core::record::Decision;
use hindmost_core::time::Time;

/// What the driver does at a given time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Deadline {
    /// Lets the policy decide, because it requested a round at this time.
    Wake,
    /// Tries again to start an attempt.
    Launch(AttemptId),
    /// Makes a task pending again whose next try has waited.
    Retry(TaskId),
    /// Tests the watched conditions on an attempt.
    Test(AttemptId),
    /// Polls an attempt's progress.
    Poll(AttemptId),
    /// Says that a copy runs.
    Say(AttemptId),
    /// Kills an attempt that has reached its time limit.
    TimeLimit(AttemptId),
    /// Fault injection kills an attempt.
    Kill(AttemptId),
    /// Begins an injected loss of a node; holds the index of the loss.
    Lose(usize),
    /// Ends an injected loss of a node; holds the index of the loss.
    Return(usize),
}

/// Deadlines, ordered by time.
#[derive(Default)]
pub(super) struct Deadlines(BinaryHeap<Reverse<(Time, Deadline)>>);

impl Deadlines {
    pub(super) fn push(&mut self, at: Time, deadline: Deadline) {
        self.0.push(Reverse((at, deadline)));
    }

    /// Adds the time at which a decision requests another round. Ignores decisions that request none.
    pub(super) fn decision(&mut self, decision: &Decision) {
        if let Decision::Wake { at } | Decision::Reserve { until: at, .. } = decision {
            self.push(*at, Deadline::Wake);
        }
    }

    pub(super) fn next(&self) -> Option<Time> {
        self.0.peek().map(|Reverse((at, _))| *at)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes and returns the earliest deadline that has passed; `None` if none has.
    pub(super) fn pop(&mut self, now: Time) -> Option<Deadline> {
        if self.next()? > now {
            return None;
        }
        self.0.pop().map(|Reverse((_, deadline))| deadline)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passed_deadlines_are_returned_in_order_of_time() {
        let mut deadlines = Deadlines::default();
        deadlines.push(Time(7), Deadline::Return(0));
        deadlines.push(Time(3), Deadline::Lose(0));
        deadlines.decision(&Decision::Wake { at: Time(5) });
        assert_eq!(deadlines.next(), Some(Time(3)));
        let due: Vec<Deadline> = std::iter::from_fn(|| deadlines.pop(Time(5))).collect();
        assert_eq!(due, [Deadline::Lose(0), Deadline::Wake]);
        assert!(!deadlines.is_empty());
    }
}
