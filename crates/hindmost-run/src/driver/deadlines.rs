//! Times at which the driver has something to do.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hindmost_core::ids::AttemptId;
use hindmost_core::record::Decision;
use hindmost_core::time::Time;

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Deadline {
    /// The policy asked for a round at this time.
    Wake,
    /// An attempt that could not be started is to be tried again.
    Launch(AttemptId),
    /// Conditions on an attempt may have come true.
    Test(AttemptId),
    /// An attempt's progress is to be looked at.
    Look(AttemptId),
    /// An attempt has run for as long as it may.
    TimeLimit(AttemptId),
    /// Fault injection kills an attempt.
    Kill(AttemptId),
    /// Fault injection takes a node away: the number of the loss.
    Lose(usize),
    /// Fault injection brings it back.
    Return(usize),
}

/// Deadlines in the order of their times.
#[derive(Default)]
pub(super) struct Deadlines(BinaryHeap<Reverse<(Time, Deadline)>>);

impl Deadlines {
    pub(super) fn push(&mut self, at: Time, deadline: Deadline) {
        self.0.push(Reverse((at, deadline)));
    }

    /// The policy asked to be asked again, if it did.
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

    /// The next that has passed.
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
    fn what_has_passed_comes_in_order() {
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
