//! The stragglers by what can be done for them: which ones a round tries to help, and which ones it can leave out because
//! no free node is fast or large enough for them.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::Bound;

use hindmost_core::ids::TaskId;
use hindmost_core::resources::Resources;
use hindmost_core::time::Time;
use rustc_hash::FxHashMap;

/// A straggler as it is sorted: by its end, the latest first, then by id.
pub(super) type Key = (Reverse<Time>, TaskId);

/// What a task waits for.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// Its copies, their known ends, or the nodes must change. The remaining time gets shorter, so a test that fails now
    /// fails later, too.
    Resting,
    /// The next round tries to help it.
    Next,
    /// A node faster than this must be open. These are the bits of the speed, which sort like speeds.
    FasterNode(u64),
    /// Its demand must fit on some node, or this time come, after which its remaining time may be too short for a node of
    /// the speed `stuck_speed`.
    Space(Resources, Time),
}

/// The tasks that were examined and for which nothing could be done so far.
#[derive(Debug, Default)]
pub(super) struct Stragglers {
    /// The end of each task's first copy, and what the task waits for.
    of: FxHashMap<TaskId, (Time, Place)>,
    next: BTreeSet<Key>,
    for_faster: BTreeSet<(u64, TaskId)>,
    /// The tasks that wait for space, by demand.
    stuck: FxHashMap<Resources, BTreeSet<Key>>,
    /// When the tasks that wait for space must be examined again.
    stuck_until: BTreeSet<(Time, TaskId)>,
    /// On an open node of this speed, something could be done for the tasks that wait for space.
    stuck_speed: f64,
}

impl Stragglers {
    /// Returns true if there is a task that can be helped, or that waits for a faster node or for space.
    pub(super) fn any_waits_for_nodes(&self) -> bool {
        !(self.next.is_empty() && self.for_faster.is_empty() && self.stuck.is_empty())
    }

    /// Adds a task for which nothing can be done until it or the nodes change.
    pub(super) fn rest(&mut self, task: TaskId) {
        self.of.insert(task, (Time::ZERO, Place::Resting));
    }

    /// Adds a straggler whose first copy ends at this time.
    pub(super) fn add(&mut self, task: TaskId, end: Time) {
        self.of.insert(task, (end, Place::Next));
        self.next.insert((Reverse(end), task));
    }

    /// Removes a task. Returns true if it was here.
    pub(super) fn forget(&mut self, task: TaskId) -> bool {
        if self.of.is_empty() {
            return false;
        }
        let Some((end, place)) = self.of.remove(&task) else { return false };
        self.leave(task, end, place);
        true
    }

    /// Removes a task from what it waits for.
    fn leave(&mut self, task: TaskId, end: Time, place: Place) {
        let key = (Reverse(end), task);
        match place {
            Place::Resting => {}
            Place::Next => {
                self.next.remove(&key);
            }
            Place::FasterNode(speed) => {
                self.for_faster.remove(&(speed, task));
            }
            Place::Space(demand, until) => {
                self.stuck_until.remove(&(until, task));
                if let Some(stuck) = self.stuck.get_mut(&demand) {
                    stuck.remove(&key);
                    if stuck.is_empty() {
                        self.stuck.remove(&demand);
                    }
                }
            }
        }
    }

    /// Removes and returns all tasks.
    pub(super) fn take(&mut self) -> impl Iterator<Item = TaskId> {
        let before = std::mem::take(self);
        before.of.into_keys()
    }

    /// Lets a straggler wait for a faster node than this.
    pub(super) fn wait_for_faster(&mut self, task: TaskId, speed: f64) {
        let Some((end, place)) = self.of.get_mut(&task) else { return };
        let (end, before) = (*end, std::mem::replace(place, Place::FasterNode(speed.to_bits())));
        self.leave(task, end, before);
        self.for_faster.insert((speed.to_bits(), task));
    }

    /// Returns the speed of an open node on which something could be done for the tasks that wait for space, if the next
    /// one begins to wait while the fastest open node has the speed `open`.
    pub(super) fn speed_for_space(&mut self, open: f64) -> f64 {
        if self.stuck.is_empty() {
            self.stuck_speed = open;
        }
        self.stuck_speed
    }

    /// Lets a straggler wait until its demand fits on some node. `until` is a time until which something could be done for
    /// it on a node of the speed [`Stragglers::speed_for_space`].
    pub(super) fn wait_for_space(&mut self, task: TaskId, demand: Resources, until: Time) {
        let Some((end, place)) = self.of.get_mut(&task) else { return };
        let (end, before) = (*end, std::mem::replace(place, Place::Space(demand, until)));
        self.leave(task, end, before);
        self.stuck.entry(demand).or_default().insert((Reverse(end), task));
        self.stuck_until.insert((until, task));
    }

    /// Has a task that waits helped in the next round.
    fn try_again(&mut self, task: TaskId) {
        let Some((end, place)) = self.of.get_mut(&task) else { return };
        let (end, before) = (*end, std::mem::replace(place, Place::Next));
        self.leave(task, end, before);
        self.next.insert((Reverse(end), task));
    }

    /// Begins a round: the tasks no longer wait that could be helped on a faster node than the last ones, and those that
    /// have waited for space for too long.
    pub(super) fn begin(&mut self, open: f64, now: Time) {
        while let Some((_, task)) = self.for_faster.first().copied().filter(|(slow, _)| *slow < open.to_bits()) {
            self.try_again(task);
        }
        while let Some((_, task)) = self.stuck_until.first().copied().filter(|(until, _)| *until <= now) {
            self.try_again(task);
        }
    }

    /// Must be called before the next task of a round is taken, with the speed of the fastest open node. On a slower node
    /// than that of [`Stragglers::speed_for_space`], there may be nothing to do for tasks that wait for space.
    pub(super) fn open_speed_is(&mut self, open: f64) {
        if !self.stuck.is_empty() && open < self.stuck_speed {
            let tasks: Vec<TaskId> = self.stuck_until.iter().map(|(_, task)| *task).collect();
            for task in tasks {
                self.try_again(task);
            }
        }
    }

    /// Returns the demands of the tasks that wait for space.
    pub(super) fn demands(&self) -> impl Iterator<Item = &Resources> {
        self.stuck.keys()
    }

    /// Returns the first straggler after `after` that the round tries to help: one that does not wait, or that waits for
    /// space for one of the demands `fitting`.
    pub(super) fn after(&self, after: Option<Key>, fitting: &[Resources]) -> Option<Key> {
        let range = (after.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded);
        let first = self.next.range(range).next();
        let stuck = fitting.iter().filter_map(|demand| self.stuck.get(demand)?.range(range).next());
        first.into_iter().chain(stuck).min().copied()
    }
}
