//! Moments at which the driver has something to do.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hindmost_core::ids::AttemptId;
use hindmost_core::time::Time;

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Deadline {
    /// A wake-up that a policy asked for.
    Wake,
    /// An attempt that could not be started is to be tried again.
    Launch(AttemptId),
    /// Conditions on an attempt may have come true.
    Test(AttemptId),
    /// An attempt's progress is to be read.
    Poll(AttemptId),
    /// An attempt has run for as long as it may.
    TimeLimit(AttemptId),
    /// The rehearsal kills an attempt.
    Kill(AttemptId),
    /// The rehearsal takes a node away: which of its losses.
    Lose(usize),
    /// The rehearsal brings it back.
    Return(usize),
}

/// Deadlines in the order of their times.
#[derive(Default)]
pub(super) struct Deadlines(BinaryHeap<Reverse<(Time, Deadline)>>);

impl Deadlines {
    pub(super) fn push(&mut self, at: Time, deadline: Deadline) {
        self.0.push(Reverse((at, deadline)));
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
