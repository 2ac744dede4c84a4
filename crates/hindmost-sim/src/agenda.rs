//! The future events of a run: a heap sorted by time, kind and id.
//!
//! Each vertex of the heap has four children, which share a cache line: an entry has 16 bytes, its time, its kind and the
//! place of its subject. The subject is read only to compare events of one kind at the same time, and when its event is due.

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

const FINISH: u32 = 0;
const LOSE: u32 = 1;
const FAIL: u32 = 2;
const RETURN: u32 = 3;
const REPAIR: u32 = 4;
const SWITCH: u32 = 5;
const WATCH: u32 = 6;
const WATCH_REVEALED: u32 = 7;
const RELEASE: u32 = 8;
const LEAVE: u32 = 9;
const LOOK: u32 = 10;
const WAKE: u32 = 11;
/// The kind of [`Entry::NONE`], which comes after all others.
const NO_EVENT: u32 = u32::MAX;

/// A future event: its time in ticks, its kind, and the place of its subject in [`Agenda::subjects`].
#[derive(Clone, Copy)]
struct Entry {
    at: u64,
    kind: u32,
    subject: u32,
}

impl Entry {
    /// Stands where the heap has no entry.
    const NONE: Entry = Entry { at: u64::MAX, kind: NO_EVENT, subject: 0 };
}

/// The children of a vertex.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Children([Entry; 4]);

const _: () = assert!(size_of::<Children>() == 64);

/// The heap of future events.
pub(crate) struct Agenda {
    /// The next event; [`Entry::NONE`] if there is none.
    first: Entry,
    /// The children of the first entry, those of its first child, and so on: the children of entry n of all of these are at
    /// n + 1.
    below: Vec<Children>,
    /// Number of entries, with the first one.
    len: usize,
    /// What each entry is about, packed from an attempt or a node. Numbers are fast to compare.
    subjects: Vec<u128>,
    /// Places of `subjects` that no entry uses.
    unused: Vec<u32>,
}

impl Default for Agenda {
    fn default() -> Agenda {
        Agenda { first: Entry::NONE, below: Vec::new(), len: 0, subjects: Vec::new(), unused: Vec::new() }
    }
}

fn pack(attempt: AttemptId) -> u128 {
    let task = attempt.task;
    (u128::from(task.job.0) << 72)
        | (u128::from(task.phase) << 52)
        | (u128::from(task.index) << 20)
        | u128::from(attempt.copy)
}

fn unpack(subject: u128) -> AttemptId {
    AttemptId {
        task: TaskId {
            job: JobId((subject >> 72) as u32),
            phase: (subject >> 52) as u32 & 0xf_ffff,
            index: (subject >> 20) as u32,
        },
        copy: subject as u32 & 0xf_ffff,
    }
}

impl Agenda {
    pub(crate) fn push(&mut self, at: Time, due: Due) {
        let (kind, subject) = match due {
            Due::Finish(attempt) => (FINISH, pack(attempt)),
            Due::Lose(node) => (LOSE, u128::from(node.0)),
            Due::Fail(node) => (FAIL, u128::from(node.0)),
            Due::Return(node) => (RETURN, u128::from(node.0)),
            Due::Repair(node) => (REPAIR, u128::from(node.0)),
            Due::Switch(node) => (SWITCH, u128::from(node.0)),
            Due::Watch(attempt, false) => (WATCH, pack(attempt)),
            Due::Watch(attempt, true) => (WATCH_REVEALED, pack(attempt)),
            Due::Release(task) => (RELEASE, pack(AttemptId { task, copy: 0 })),
            Due::Leave(node) => (LEAVE, u128::from(node.0)),
            Due::Look => (LOOK, 0),
            Due::Wake => (WAKE, 0),
        };
        let place = if let Some(place) = self.unused.pop() {
            self.subjects[place as usize] = subject;
            place
        } else {
            self.subjects.push(subject);
            (self.subjects.len() - 1) as u32
        };
        self.rise(Entry { at: at.0, kind, subject: place });
    }

    /// Returns the time of the next event; `None` if there is none.
    #[inline]
    pub(crate) fn next_time(&self) -> Option<Time> {
        (self.len > 0).then_some(Time(self.first.at))
    }

    /// Returns whether the next event is a finish.
    #[inline]
    pub(crate) fn next_is_finish(&self) -> bool {
        self.first.kind == FINISH
    }

    /// Returns the number of entries.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn pop(&mut self) -> Option<(Time, Due)> {
        let Entry { at, kind, subject: place } = self.first;
        if self.len == 0 {
            return None;
        }
        let subject = self.subjects[place as usize];
        self.sink_last();
        self.unused.push(place);
        let node = NodeId(subject as u32);
        let due = match kind {
            FINISH => Due::Finish(unpack(subject)),
            LOSE => Due::Lose(node),
            FAIL => Due::Fail(node),
            RETURN => Due::Return(node),
            REPAIR => Due::Repair(node),
            SWITCH => Due::Switch(node),
            WATCH => Due::Watch(unpack(subject), false),
            WATCH_REVEALED => Due::Watch(unpack(subject), true),
            RELEASE => Due::Release(unpack(subject).task),
            LEAVE => Due::Leave(node),
            LOOK => Due::Look,
            _ => Due::Wake,
        };
        Some((Time(at), due))
    }

    /// Returns true if an entry comes before another one.
    #[inline]
    fn is_before(&self, one: Entry, other: Entry) -> bool {
        if one.at == other.at { self.is_before_at_once(one, other) } else { one.at < other.at }
    }

    #[cold]
    fn is_before_at_once(&self, one: Entry, other: Entry) -> bool {
        let subject = |entry: Entry| self.subjects.get(entry.subject as usize);
        (one.kind, subject(one)) < (other.kind, subject(other))
    }

    /// Adds an entry at the end and lets it rise to its place.
    fn rise(&mut self, entry: Entry) {
        self.len += 1;
        if self.len == 1 {
            self.first = entry;
            return;
        }
        // The place of the entry among all but the first.
        let mut at = self.len - 2;
        if at / 4 == self.below.len() {
            self.below.push(Children([Entry::NONE; 4]));
        }
        while at >= 4 {
            let above = at / 4 - 1;
            let parent = self.below[above / 4].0[above % 4];
            if !self.is_before(entry, parent) {
                self.below[at / 4].0[at % 4] = entry;
                return;
            }
            self.below[at / 4].0[at % 4] = parent;
            at = above;
        }
        if self.is_before(entry, self.first) {
            self.below[0].0[at] = std::mem::replace(&mut self.first, entry);
        } else {
            self.below[0].0[at] = entry;
        }
    }

    /// Removes the first entry, puts the last one in its place, and lets that sink to its own.
    fn sink_last(&mut self) {
        self.len -= 1;
        let Some(end) = self.len.checked_sub(1) else {
            self.first = Entry::NONE;
            return;
        };
        let last = std::mem::replace(&mut self.below[end / 4].0[end % 4], Entry::NONE);
        // The place of the gap among all but the first; `None`: the gap is the first.
        let mut gap: Option<usize> = None;
        let mut below = 0;
        while 4 * below < end {
            let Children(children) = self.below[below];
            let mut least = 0;
            for other in 1..4 {
                if self.is_before(children[other], children[least]) {
                    least = other;
                }
            }
            if !self.is_before(children[least], last) {
                break;
            }
            self.fill(gap, children[least]);
            let at = 4 * below + least;
            (gap, below) = (Some(at), at + 1);
        }
        self.fill(gap, last);
    }

    /// Puts an entry at a place among all but the first, or at the first.
    #[inline]
    fn fill(&mut self, place: Option<usize>, entry: Entry) {
        match place {
            Some(at) => self.below[at / 4].0[at % 4] = entry,
            None => self.first = entry,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use hindmost_core::random::{Purpose, hash};

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

    #[test]
    fn entries_come_in_order_while_others_are_added() {
        let mut agenda = Agenda::default();
        let mut expected = BTreeSet::new();
        // As many entries as in a heap of six levels, many of them at the same time.
        for step in 0..6000u32 {
            let (at, node) =
                (hash(1, Purpose::Duration, step.into(), 0) % 500, hash(1, Purpose::Node, step.into(), 0) as u32);
            agenda.push(Time(at), Due::Lose(NodeId(node)));
            expected.insert((at, node));
            for _ in 0..u32::from(step >= 1500) * (step % 3) {
                let next = expected.pop_first().map(|(at, node)| (Time(at), Due::Lose(NodeId(node))));
                assert_eq!(
                    (agenda.len(), agenda.next_time()),
                    (expected.len() + usize::from(next.is_some()), next.map(|next| next.0))
                );
                assert_eq!(agenda.pop(), next);
            }
        }
    }
}
