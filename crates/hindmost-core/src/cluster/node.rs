//! A node: its capacity, free resources and speed.

use std::sync::Arc;

use crate::power::PowerModel;
use crate::resources::Resources;

use super::task::NO_ATTEMPT;

/// A node of the cluster. What starts and ends of attempts read and change comes first, in one cache line if there are few
/// dimensions.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Node {
    /// Slots of the attempts on this node.
    pub(super) attempts: OnNode,
    /// The capacity before it began to leave; `None` if it does not leave.
    pub(super) before_leaving: Option<Box<Resources>>,
    pub(super) up: bool,
    pub(super) free: Resources,
    pub(super) speed: f64,
    pub(super) capacity: Resources,
    pub(super) reserved: Resources,
    pub(super) name: Arc<str>,
    pub(super) rack: Option<Arc<str>>,
    pub(super) power: Option<Arc<PowerModel>>,
}

/// Slots of attempts, in no particular order. The first is inline, because most machines of large clusters have one attempt.
#[derive(Clone, Debug)]
pub(super) struct OnNode {
    /// [`NO_ATTEMPT`] if there is none, and then there are no others.
    first: u32,
    others: Vec<u32>,
}

impl OnNode {
    pub(super) const NONE: OnNode = OnNode { first: NO_ATTEMPT, others: Vec::new() };

    pub(super) fn add(&mut self, slot: u32) {
        if self.first == NO_ATTEMPT { self.first = slot } else { self.others.push(slot) }
    }

    /// Removes a slot. The last one takes its place.
    pub(super) fn remove(&mut self, slot: u32) {
        if self.first == slot {
            self.first = self.others.pop().unwrap_or(NO_ATTEMPT);
        } else if let Some(at) = self.others.iter().position(|other| *other == slot) {
            self.others.swap_remove(at);
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        std::iter::once(self.first).filter(|first| *first != NO_ATTEMPT).chain(self.others.iter().copied())
    }
}

impl Node {
    /// Returns the name of the node, for display.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Returns the machine of the node, if its name ends with it after an `@`, such as `executor-3@host7`; several nodes may be on one.
    /// `None` if the node is a machine of its own.
    pub fn host(&self) -> Option<&str> {
        self.name.rsplit_once('@').map(|(_, host)| host).filter(|host| !host.is_empty())
    }

    /// Returns the rack of the node; `None` if it has none. All nodes without a rack count as one rack.
    pub fn rack(&self) -> Option<&Arc<str>> {
        self.rack.as_ref()
    }

    /// Returns the resources of the node when nothing runs on it.
    pub fn capacity(&self) -> &Resources {
        &self.capacity
    }

    /// Returns the resources that are neither held by attempts nor reserved.
    pub fn free(&self) -> &Resources {
        &self.free
    }

    /// Returns the share of the capacity that is free, in [0, 1]. If there are several dimensions, this is the smallest
    /// of their shares.
    pub fn free_share(&self) -> f64 {
        let dimensions = self.free.0.iter().zip(&self.capacity.0).filter(|(_, capacity)| **capacity > 0);
        dimensions.map(|(free, capacity)| *free as f64 / *capacity as f64).fold(1.0, f64::min)
    }

    /// Returns the resources that are reserved and that no attempt holds.
    pub fn reserved(&self) -> &Resources {
        &self.reserved
    }

    /// Returns the speed of the node: work done per second, relative to a node of speed 1.
    pub fn speed(&self) -> f64 {
        self.speed
    }

    /// Returns the power model of the node; `None` if its power is unknown.
    pub fn power(&self) -> Option<&PowerModel> {
        self.power.as_deref()
    }

    /// Returns false while the node is lost.
    pub fn is_up(&self) -> bool {
        self.up
    }

    /// Returns true while the node leaves: it takes no more attempts, and its capacity is what its attempts hold.
    pub fn is_leaving(&self) -> bool {
        self.before_leaving.is_some()
    }

    /// Returns the number of attempts on this node, including replacements that wait for resources.
    pub fn attempts(&self) -> usize {
        self.attempts.iter().count()
    }
}
