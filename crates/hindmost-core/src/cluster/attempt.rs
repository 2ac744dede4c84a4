//! Attempts: copies of tasks on nodes.

use crate::ids::{AttemptId, NodeId};
use crate::time::Time;

use super::task::{NO_ATTEMPT, NO_NODE, Task};

/// Nanoseconds of a millisecond.
const MILLISECOND: u64 = 1_000_000;

/// The state of an attempt. An attempt holds its resources in every state, except while it is a replacement that waits
/// for the resources of the attempt that it replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptState {
    /// The start was decided; the driver has not yet reported that the attempt runs.
    Starting,
    /// The driver has reported that the attempt runs.
    Running,
    /// The stop was decided; the driver has not yet reported that the attempt has stopped.
    Stopping,
}

/// What the expected finish of an attempt is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FinishIs {
    /// Its progress shows it.
    Measured,
    /// Too little progress was reported.
    Guessed,
    /// It has stalled since it was measured.
    LowerBound,
}

/// A copy of a task on a node. It fills one cache line, because a large cluster has many attempts and reads them in
/// random order.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct Attempt {
    pub(super) id: AttemptId,
    pub(super) node: NodeId,
    pub(super) state: AttemptState,
    pub(super) since: Time,
    /// Milliseconds from `since` to the begin of the attempt's command.
    pub(super) waited: u32,
    pub(super) from_progress: f64,
    /// Time at which the attempt is expected to finish; [`Time::NEVER`] while this is unknown.
    pub(super) expected_finish: Time,
    pub(super) finish_is: FinishIs,
    /// Slot of the next older running copy of the task; [`NO_ATTEMPT`] if there is none.
    pub(super) older: u32,
    /// False while the attempt waits for the resources of the attempt that it replaces.
    pub(super) holds_resources: bool,
    /// True if the task's running copies had all failed or lost their nodes when the attempt started.
    pub(super) is_relaunch: bool,
    /// Slot of the attempt that replaces this one and gets its resources; [`NO_ATTEMPT`] if there is none.
    pub(super) replacement: u32,
    /// Number of the copy that this attempt replaces; [`NO_ATTEMPT`] if it replaces none.
    pub(super) replaces: u32,
}

impl Attempt {
    /// Returns the attempt's id.
    pub fn id(&self) -> AttemptId {
        self.id
    }

    /// Returns the id of the node on which the attempt runs.
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// Returns the state of the attempt.
    pub fn state(&self) -> AttemptState {
        self.state
    }

    /// Returns the time since which the attempt holds its resources or, if it is a waiting replacement, waits for them.
    pub fn since(&self) -> Time {
        self.since
    }

    /// Returns the time at which the attempt's command began. While the attempt is starting, this is `now`: the command has not begun.
    pub fn began(&self, now: Time) -> Time {
        match self.state {
            AttemptState::Starting => now.max(self.since),
            AttemptState::Running | AttemptState::Stopping => self.since + Time(u64::from(self.waited) * MILLISECOND),
        }
    }

    /// Returns for how long the attempt's command has run: zero while the attempt is starting.
    pub fn age(&self, now: Time) -> Time {
        now - self.began(now)
    }

    /// Sets the time from `since` to the begin of the attempt's command, to the millisecond.
    pub(super) fn wait(&mut self, waited: Time) {
        self.waited = u32::try_from(waited.0 / MILLISECOND).unwrap_or(u32::MAX);
    }

    /// Returns the attempt for whose resources this replacement waits; `None` if this attempt does not wait.
    pub fn replaces(&self) -> Option<AttemptId> {
        let replaced = AttemptId { copy: self.replaces, ..self.id };
        (self.replaces != NO_ATTEMPT && !self.holds_resources).then_some(replaced)
    }

    /// Returns true if the attempt started because all earlier copies of the task had failed or lost their nodes. Such
    /// an attempt is not a redundant copy.
    pub fn is_relaunch(&self) -> bool {
        self.is_relaunch
    }

    /// Returns the share of the work that was done before the attempt started, in [0, 1). It is 0 if the attempts of the
    /// phase can't resume ([`Phase::resumes`](super::Phase::resumes)), whatever the decision that started the attempt says.
    pub fn from_progress(&self) -> f64 {
        self.from_progress
    }

    /// Returns the time at which the attempt is expected to finish; `None` while this is unknown.
    pub fn expected_finish(&self) -> Option<Time> {
        (self.expected_finish != Time::NEVER).then_some(self.expected_finish)
    }

    /// Returns the time at which the attempt is expected to finish, if its progress was measured; `None` if the time is
    /// unknown or a guess.
    pub fn measured_finish(&self) -> Option<Time> {
        self.expected_finish().filter(|_| self.finish_is != FinishIs::Guessed)
    }

    /// Returns true if the attempt has reported no progress for much longer than its earlier pace lets one expect: then its expected finish
    /// is only a lower bound.
    pub fn has_stalled(&self) -> bool {
        self.expected_finish().is_some() && self.finish_is == FinishIs::LowerBound
    }
}

const _: () = assert!(size_of::<Attempt>() == 64);

/// All running attempts. Each has a slot, which is used again after the attempt has ended.
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

    /// Returns the slot of the first copy of the chain that begins at a slot for which `is_it` holds.
    pub(super) fn find(&self, newest: u32, is_it: impl Fn(&Attempt) -> bool) -> Option<u32> {
        self.chain(newest).find(|(_, copy)| is_it(copy)).map(|(slot, _)| slot)
    }

    /// Takes a copy out of its task's chain of copies, and out of the copy that it was to replace.
    pub(super) fn unlink(&mut self, slot: u32, task: &mut Task) {
        let Attempt { older, holds_resources, .. } = *self.get(slot);
        if task.newest == slot {
            task.newest = older;
        } else if let Some(newer) = self.find(task.newest, |copy| copy.older == slot) {
            self.get_mut(newer).older = older;
        }
        if !holds_resources && let Some(replaced) = self.find(older, |copy| copy.replacement == slot) {
            self.get_mut(replaced).replacement = NO_ATTEMPT;
        }
        task.nodes = self.nodes(task.newest);
    }

    /// Returns the nodes of the first two copies of the chain that begins at a slot, with [`NO_NODE`] for missing
    /// copies.
    fn nodes(&self, newest: u32) -> [u32; 2] {
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
