//! The future events of a run: a heap sorted by time, kind and id.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hindmost_core::ids::{AttemptId, JobId, NodeId, TaskId};
use hindmost_core::time::Time;

/// A future event. Events at the same time occur in the order of these variants. The agenda does not contain the
/// arrivals of jobs; they occur after the finishes and before the losses of nodes at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// An attempt finishes, if it is still running.
    Finish(AttemptId),
    /// A node is lost.
    Lose(NodeId),
    /// A node fails at a random time.
    Fail(NodeId),
    /// A lost node returns.
    Return(NodeId),
    /// A node that has failed at a random time is repaired.
    Repair(NodeId),
    /// The load of a node's neighbours changes.
    Switch(NodeId),
    /// A watched condition on this attempt becomes true. If the flag is true, the event reveals the attempt's expected
    /// finish.
    Watch(AttemptId, bool),
    /// A task can start.
    Release(TaskId),
    /// A node leaves when no attempt runs there.
    Leave(NodeId),
    /// Late attempts are looked at, because they may show that their nodes are slow.
    Look,
    /// The policy is notified, because it requested a wake-up or a reservation ends.
    Wake,
}

/// Largest number of phases of a job: an entry of the agenda has 20 bits for the phase.
pub(crate) const MOST_PHASES: usize = 1 << 20;
/// Largest number of attempts of a task: an entry of the agenda has 20 bits for the copy.
pub(crate) const MOST_COPIES: u32 = 1 << 20;

const FINISH: u128 = 0;
const LOSE: u128 = 1;
const FAIL: u128 = 2;
const RETURN: u128 = 3;
const REPAIR: u128 = 4;
const SWITCH: u128 = 5;
const WATCH: u128 = 6;
const WATCH_REVEALED: u128 = 7;
const RELEASE: u128 = 8;
const LEAVE: u128 = 9;
const LOOK: u128 = 10;
const WAKE: u128 = 11;

/// The heap of future events. An entry has the time in ticks and a number that is packed from kind and attempt, because
/// numbers are fast to compare.
#[derive(Default)]
pub(crate) struct Agenda {
    heap: BinaryHeap<Reverse<(u64, u128)>>,
}

fn pack(kind: u128, attempt: AttemptId) -> u128 {
    let task = attempt.task;
    (kind << 124)
        | (u128::from(task.job.0) << 72)
        | (u128::from(task.phase) << 52)
        | (u128::from(task.index) << 20)
        | u128::from(attempt.copy)
}

fn unpack(key: u128) -> AttemptId {
    AttemptId {
        task: TaskId {
            job: JobId((key >> 72) as u32),
            phase: (key >> 52) as u32 & 0xf_ffff,
            index: (key >> 20) as u32,
        },
        copy: key as u32 & 0xf_ffff,
    }
}

impl Agenda {
    pub(crate) fn push(&mut self, at: Time, due: Due) {
        let key = match due {
            Due::Finish(attempt) => pack(FINISH, attempt),
            Due::Lose(node) => LOSE << 124 | u128::from(node.0),
            Due::Fail(node) => FAIL << 124 | u128::from(node.0),
            Due::Return(node) => RETURN << 124 | u128::from(node.0),
            Due::Repair(node) => REPAIR << 124 | u128::from(node.0),
            Due::Switch(node) => SWITCH << 124 | u128::from(node.0),
            Due::Watch(attempt, false) => pack(WATCH, attempt),
            Due::Watch(attempt, true) => pack(WATCH_REVEALED, attempt),
            Due::Release(task) => pack(RELEASE, AttemptId { task, copy: 0 }),
            Due::Leave(node) => LEAVE << 124 | u128::from(node.0),
            Due::Look => LOOK << 124,
            Due::Wake => WAKE << 124,
        };
        self.heap.push(Reverse((at.0, key)));
    }

    /// Returns the time of the next event; `None` if there is none.
    #[inline]
    pub(crate) fn next_time(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse((at, _))| Time(*at))
    }

    /// Returns whether the next event is a finish.
    #[inline]
    pub(crate) fn next_is_finish(&self) -> bool {
        self.heap.peek().is_some_and(|Reverse((_, key))| key >> 124 == FINISH)
    }

    /// Returns the number of entries.
    pub(crate) fn len(&self) -> usize {
        self.heap.len()
    }

    pub(crate) fn pop(&mut self) -> Option<(Time, Due)> {
        let Reverse((at, key)) = self.heap.pop()?;
        let due = match key >> 124 {
            FINISH => Due::Finish(unpack(key)),
            LOSE => Due::Lose(NodeId(key as u32)),
            FAIL => Due::Fail(NodeId(key as u32)),
            RETURN => Due::Return(NodeId(key as u32)),
            REPAIR => Due::Repair(NodeId(key as u32)),
            SWITCH => Due::Switch(NodeId(key as u32)),
            WATCH => Due::Watch(unpack(key), false),
            WATCH_REVEALED => Due::Watch(unpack(key), true),
            RELEASE => Due::Release(unpack(key).task),
            LEAVE => Due::Leave(NodeId(key as u32)),
            LOOK => Due::Look,
            _ => Due::Wake,
        };
        Some((Time(at), due))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_ordered_by_time_then_kind_then_id() {
        let attempt = |job, phase, index, copy| AttemptId { task: TaskId { job: JobId(job), phase, index }, copy };
        let mut agenda = Agenda::default();
        let in_order = [
            (5, Due::Finish(attempt(u32::MAX, 0xf_ffff, u32::MAX, 0xf_ffff))),
            (7, Due::Finish(attempt(1, 0, 2, 0))),
            (7, Due::Finish(attempt(1, 0, 2, 1))),
            (7, Due::Finish(attempt(1, 1, 0, 0))),
            (7, Due::Lose(NodeId(u32::MAX))),
            (7, Due::Fail(NodeId(0))),
            (7, Due::Return(NodeId(0))),
            (7, Due::Repair(NodeId(9))),
            (7, Due::Switch(NodeId(2))),
            (7, Due::Watch(attempt(0, 0, 0, 0), false)),
            (7, Due::Watch(attempt(0, 0, 0, 0), true)),
            (7, Due::Release(TaskId { job: JobId(3), phase: 0xf_ffff, index: 9 })),
            (7, Due::Leave(NodeId(4))),
            (7, Due::Look),
            (7, Due::Wake),
        ];
        for (at, due) in in_order.iter().rev() {
            agenda.push(Time(*at), *due);
        }
        for (at, due) in in_order {
            assert_eq!(agenda.pop(), Some((Time(at), due)));
        }
        assert_eq!(agenda.pop(), None);
    }
}
