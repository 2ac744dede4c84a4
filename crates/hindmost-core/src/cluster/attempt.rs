//! Attempts: copies of tasks that hold room on a node.

use crate::ids::{AttemptId, NodeId};
use crate::time::Time;

use super::job::NO_ATTEMPT;

/// Where an attempt is in its life. In every state it holds its room, except that one which replaces
/// another waits for the other's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptState {
    /// Asked for; the driver has not yet said that it runs.
    Starting,
    /// At work.
    Running,
    /// Asked to stop; the driver has not yet said that it has.
    Stopping,
}

/// A copy of a task on a node.
#[derive(Clone, Debug)]
pub struct Attempt {
    pub(super) id: AttemptId,
    pub(super) node: NodeId,
    pub(super) state: AttemptState,
    pub(super) since: Time,
    pub(super) from_progress: f64,
    pub(super) expected_finish: Option<Time>,
    /// The next older living copy of the task.
    pub(super) older: u32,
    /// False while it waits for the room of the attempt that it replaces.
    pub(super) holds_room: bool,
    /// The attempt that replaces this one and gets its room.
    pub(super) heir: u32,
    /// The attempt that this one replaced.
    pub(super) replaces: Option<AttemptId>,
}

impl Attempt {
    /// Its identity.
    pub fn id(&self) -> AttemptId {
        self.id
    }

    /// Where it runs.
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// Where it is in its life.
    pub fn state(&self) -> AttemptState {
        self.state
    }

    /// Since when it has held its room, or waits for it.
    pub fn since(&self) -> Time {
        self.since
    }

    /// The attempt whose room it waits for, if it does.
    pub fn replaces(&self) -> Option<AttemptId> {
        self.replaces.filter(|_| !self.holds_room)
    }

    /// Share of the work that was done before it began, in [0, 1).
    pub fn from_progress(&self) -> f64 {
        self.from_progress
    }

    /// When it is expected to finish, once its progress has told.
    pub fn expected_finish(&self) -> Option<Time> {
        self.expected_finish
    }
}

/// All living attempts, in slots that are used again.
#[derive(Clone, Debug, Default)]
pub(super) struct Attempts {
    slots: Vec<Attempt>,
    free: Vec<u32>,
}

impl Attempts {
    pub(super) fn insert(&mut self, attempt: Attempt) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = attempt;
            slot
        } else {
            self.slots.push(attempt);
            (self.slots.len() - 1) as u32
        }
    }

    pub(super) fn release(&mut self, slot: u32) {
        self.free.push(slot);
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    #[inline]
    pub(super) fn get(&self, slot: u32) -> &Attempt {
        &self.slots[slot as usize]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, slot: u32) -> &mut Attempt {
        &mut self.slots[slot as usize]
    }

    /// The chain of living copies that begins at a slot, newest first.
    #[inline]
    pub(super) fn chain(&self, newest: u32) -> impl Iterator<Item = (u32, &Attempt)> + '_ {
        let mut slot = newest;
        std::iter::from_fn(move || {
            if slot == NO_ATTEMPT {
                return None;
            }
            let at = slot;
            let attempt = self.get(at);
            slot = attempt.older;
            Some((at, attempt))
        })
    }
}
