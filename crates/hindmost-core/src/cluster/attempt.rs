//! Attempts: copies of tasks that hold room on a node.

use crate::ids::{AttemptId, NodeId};
use crate::time::Time;

use super::task::{NO_ATTEMPT, NO_NODE};

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

/// A copy of a task on a node. A large cluster has many, and they are looked at in no order: each is one line
/// of the processor's cache.
#[derive(Clone, Debug)]
pub struct Attempt {
    pub(super) id: AttemptId,
    pub(super) node: NodeId,
    pub(super) state: AttemptState,
    pub(super) since: Time,
    pub(super) from_progress: f64,
    /// Never while it is not known.
    pub(super) expected_finish: Time,
    pub(super) is_finish_guessed: bool,
    /// The next older living copy of the task.
    pub(super) older: u32,
    /// False while it waits for the room of the attempt that it replaces.
    pub(super) holds_room: bool,
    /// The attempt that replaces this one and gets its room.
    pub(super) heir: u32,
    /// The copy that this one replaced.
    pub(super) replaces: u32,
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
        let replaced = AttemptId { copy: self.replaces, ..self.id };
        (self.replaces != NO_ATTEMPT && !self.holds_room).then_some(replaced)
    }

    /// Share of the work that was done before it began, in [0, 1).
    pub fn from_progress(&self) -> f64 {
        self.from_progress
    }

    /// When it is expected to finish, once its progress has told.
    pub fn expected_finish(&self) -> Option<Time> {
        (self.expected_finish != Time::NEVER).then_some(self.expected_finish)
    }

    /// When it is expected to finish, if that was measured and not guessed.
    pub fn measured_finish(&self) -> Option<Time> {
        self.expected_finish().filter(|_| !self.is_finish_guessed)
    }
}

const _: () = assert!(size_of::<Attempt>() == 64);

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

    /// The nodes of the first two copies of the chain that begins at a slot.
    pub(super) fn nodes(&self, newest: u32) -> [u32; 2] {
        let mut nodes = [NO_NODE; 2];
        for (place, (_, attempt)) in nodes.iter_mut().zip(self.chain(newest)) {
            *place = attempt.node.0;
        }
        nodes
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
