//! Attempts: copies of tasks on nodes.

use crate::ids::{AttemptId, NodeId};
use crate::time::Time;

use super::task::{NO_ATTEMPT, NO_NODE};

/// The state of an attempt. In every state it holds its resources, except a replacement that waits for those of the
/// attempt that it replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptState {
    /// The start was decided; the driver has not yet reported that the attempt runs.
    Starting,
    /// The attempt runs.
    Running,
    /// The stop was decided; the driver has not yet reported that the attempt has stopped.
    Stopping,
}

/// A copy of a task on a node. Its size is one cache line, because a large cluster has many attempts and reads them in
/// random order.
#[derive(Clone, Debug)]
pub struct Attempt {
    pub(super) id: AttemptId,
    pub(super) node: NodeId,
    pub(super) state: AttemptState,
    pub(super) since: Time,
    pub(super) from_progress: f64,
    /// [`Time::NEVER`] while it is unknown.
    pub(super) expected_finish: Time,
    pub(super) is_finish_guessed: bool,
    /// The slot of the next older running copy of the task.
    pub(super) older: u32,
    /// False while it waits for the resources of the attempt that it replaces.
    pub(super) holds_resources: bool,
    /// The slot of the attempt that replaces this one and gets its resources.
    pub(super) replacement: u32,
    /// The number of the copy that this one replaces.
    pub(super) replaces: u32,
}

impl Attempt {
    /// Returns the attempt's id.
    pub fn id(&self) -> AttemptId {
        self.id
    }

    /// Returns the node on which it runs.
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// Returns its state.
    pub fn state(&self) -> AttemptState {
        self.state
    }

    /// Returns the time since which it holds its resources, or waits for them.
    pub fn since(&self) -> Time {
        self.since
    }

    /// Returns the attempt for whose resources it waits; `None` if it does not wait.
    pub fn replaces(&self) -> Option<AttemptId> {
        let replaced = AttemptId { copy: self.replaces, ..self.id };
        (self.replaces != NO_ATTEMPT && !self.holds_resources).then_some(replaced)
    }

    /// Returns the share of its work that was done before it started, in [0, 1).
    pub fn from_progress(&self) -> f64 {
        self.from_progress
    }

    /// Returns when it is expected to finish; `None` while that is unknown.
    pub fn expected_finish(&self) -> Option<Time> {
        (self.expected_finish != Time::NEVER).then_some(self.expected_finish)
    }

    /// Returns when it is expected to finish, if that was measured; `None` if it is unknown or a guess.
    pub fn measured_finish(&self) -> Option<Time> {
        self.expected_finish().filter(|_| !self.is_finish_guessed)
    }
}

const _: () = assert!(size_of::<Attempt>() == 64);

/// All running attempts, in slots that are reused.
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

    /// Returns the nodes of the first two copies of the chain that begins at a slot.
    pub(super) fn nodes(&self, newest: u32) -> [u32; 2] {
        let mut nodes = [NO_NODE; 2];
        for (place, (_, attempt)) in nodes.iter_mut().zip(self.chain(newest)) {
            *place = attempt.node.0;
        }
        nodes
    }

    /// Returns the running copies of the chain that begins at a slot, newest first.
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
