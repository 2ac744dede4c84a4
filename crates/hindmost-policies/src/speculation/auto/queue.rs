//! Which copies may pay, in the order of the queue length up to which they do, and when tasks are looked at again.
//!
//! What a copy is worth is computed only when it can matter: after something has happened to a task its bounds are unknown, and a round
//! computes those that it needs.

use std::collections::{BTreeSet, VecDeque};

use hindmost_core::ids::{JobId, TaskId};
use hindmost_core::policy::queue_place::ordered;
use hindmost_core::time::Time;

use super::look::Seen;

/// Up to how many waiting jobs something pays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Bound {
    /// Never.
    None,
    /// It is not known yet.
    Unknown,
    /// Up to this key of a number.
    At(u64),
}

/// A task under the key of its bound.
pub(super) type Keyed = (u64, TaskId);

const NO_TASK: TaskId = TaskId { job: JobId(0), phase: 0, index: 0 };

/// Returns the key of a number of waiting jobs up to which a copy pays: larger numbers come first.
pub(super) fn offer_key(waiting: f64) -> u64 {
    !ordered(waiting)
}

/// Returns the key of a number of waiting jobs up to which a copy is worth its slot: smaller numbers come first.
pub(super) fn crowd_key(waiting: f64) -> u64 {
    ordered(waiting)
}

/// All tasks by their bounds.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// Tasks that may get a copy.
    offers: BTreeSet<Keyed>,
    /// Tasks of which it is not known up to when another copy pays, in the order in which something happened to them.
    unknown_offers: VecDeque<TaskId>,
    /// Tasks of which a copy may have to go.
    crowded: BTreeSet<Keyed>,
    /// Tasks of which it is not known up to when their copies are worth their slots.
    unknown_crowds: Vec<TaskId>,
    /// Tasks that may start again.
    pub(super) old: BTreeSet<TaskId>,
    /// When tasks are to be looked at again.
    due: BTreeSet<(Time, TaskId)>,
}

impl Queue {
    /// Notes up to when another copy of a task pays.
    pub(super) fn offer(&mut self, task: TaskId, seen: &mut Seen, bound: Bound) {
        if seen.offered == bound {
            return;
        }
        if let Bound::At(key) = seen.offered {
            self.offers.remove(&(key, task));
        }
        match bound {
            Bound::None => {}
            Bound::Unknown => self.unknown_offers.push_back(task),
            Bound::At(key) => {
                self.offers.insert((key, task));
            }
        }
        seen.offered = bound;
    }

    /// Notes up to when the copies of a task are worth their slots.
    pub(super) fn crowd(&mut self, task: TaskId, seen: &mut Seen, bound: Bound) {
        if seen.crowded == bound {
            return;
        }
        if let Bound::At(key) = seen.crowded {
            self.crowded.remove(&(key, task));
        }
        match bound {
            Bound::None => {}
            Bound::Unknown => self.unknown_crowds.push(task),
            Bound::At(key) => {
                self.crowded.insert((key, task));
            }
        }
        seen.crowded = bound;
    }

    /// Notes when a task is to be looked at again.
    pub(super) fn be_due(&mut self, task: TaskId, seen: &mut Seen, at: Time) {
        if seen.due == at {
            return;
        }
        if seen.due != Time::NEVER {
            self.due.remove(&(seen.due, task));
        }
        if at != Time::NEVER {
            self.due.insert((at, task));
        }
        seen.due = at;
    }

    /// Forgets a task.
    pub(super) fn forget(&mut self, task: TaskId, seen: &mut Seen) {
        self.offer(task, seen, Bound::None);
        self.crowd(task, seen, Bound::None);
        self.be_due(task, seen, Time::NEVER);
        self.old.remove(&task);
    }

    /// Returns the number of tasks that may get a copy.
    pub(super) fn offers(&self) -> usize {
        self.offers.len() + self.unknown_offers.len()
    }

    /// Returns the tasks that may get a copy while jobs wait up to a number with this key, from the one after `passed` on.
    pub(super) fn offers_to(&self, limit: u64, passed: Option<Keyed>) -> impl Iterator<Item = &Keyed> {
        let from = passed.map_or((0, NO_TASK), |(key, task)| (key, TaskId { index: task.index + 1, ..task }));
        self.offers.range(from..).take_while(move |(key, _)| *key < limit)
    }

    /// Takes the next task of which it may not be known up to when another copy pays.
    pub(super) fn next_unknown_offer(&mut self) -> Option<TaskId> {
        self.unknown_offers.pop_front()
    }

    /// Takes a task that may have a copy too many while jobs wait in a number with this key.
    pub(super) fn next_crowded(&self, limit: u64) -> Option<TaskId> {
        self.crowded.first().filter(|(key, _)| *key < limit).map(|(_, task)| *task)
    }

    /// Takes a task of which it may not be known whether it has a copy too many.
    pub(super) fn next_unknown_crowd(&mut self) -> Option<TaskId> {
        self.unknown_crowds.pop()
    }

    /// Takes a task that is to be looked at by now.
    pub(super) fn next_due(&self, now: Time) -> Option<TaskId> {
        self.due.first().filter(|(at, _)| *at <= now).map(|(_, task)| *task)
    }

    /// Returns the first time at which a task is to be looked at.
    pub(super) fn first_due(&self) -> Option<Time> {
        self.due.first().map(|(at, _)| *at)
    }
}
