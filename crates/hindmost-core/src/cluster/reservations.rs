//! Reservations: resources of a node that are kept for a task, or for any start on the node, until a time.
//!
//! A reservation for a task may be made before its resources are free. It then takes what comes free on its node until
//! it holds the whole amount; among the reservations of a node, the oldest one takes first. What it holds is not free, so
//! no other task can start on it. A reservation ends
//! - when its task starts an attempt, on any node, or finishes;
//! - when the job of its task is abandoned;
//! - when its node is lost;
//! - at its time ([`Reservation::until`]);
//! - when the policy releases it ([`Decision::Release`](crate::record::Decision::Release)).
//!
//! A task has at most one reservation.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use crate::ids::{JobId, NodeId, TaskId};
use crate::resources::Resources;
use crate::time::Time;

use super::apply::{Applied, RecordError};
use super::{Cluster, Node};

/// Resources on a node that are reserved until a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reservation {
    node: NodeId,
    resources: Resources,
    held: Resources,
    until: Time,
    task: Option<TaskId>,
}

impl Reservation {
    /// Returns the node on which the resources are reserved.
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// Returns the reserved amount.
    pub fn resources(&self) -> &Resources {
        &self.resources
    }

    /// Returns true if the whole amount has come free, so that the task can start on it.
    pub fn is_ready(&self) -> bool {
        self.held == self.resources
    }

    /// Returns the time at which the reservation ends.
    pub fn until(&self) -> Time {
        self.until
    }

    /// Returns the task for which the resources are reserved; `None` if any start on the node may use them.
    pub fn task(&self) -> Option<TaskId> {
        self.task
    }

    /// Returns the part of the amount that has not come free yet.
    fn missing(&self) -> Resources {
        self.resources.minus(&self.held)
    }
}

/// All reservations, in the order in which they were made.
#[derive(Clone, Debug, Default)]
pub(super) struct Reservations {
    /// Number of the next reservation.
    next: u64,
    all: BTreeMap<u64, Reservation>,
    of_node: FxHashMap<NodeId, Vec<u64>>,
    of_task: FxHashMap<TaskId, u64>,
    by_end: BTreeSet<(Time, u64)>,
}

/// What the expiry of reservations has changed, so that it can be undone.
#[derive(Debug, Default)]
pub(super) struct Expired {
    /// The reservations that have ended.
    ended: Vec<(u64, Reservation)>,
    /// The other reservations of their nodes, as they were before.
    others: Vec<(u64, Reservation)>,
    /// The free and the reserved resources of their nodes before.
    nodes: Vec<(NodeId, Resources, Resources)>,
}

impl Reservations {
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    fn add(&mut self, number: u64, reservation: Reservation) {
        let numbers = self.of_node.entry(reservation.node).or_default();
        let at = numbers.partition_point(|other| *other < number);
        numbers.insert(at, number);
        if let Some(task) = reservation.task {
            self.of_task.insert(task, number);
        }
        self.by_end.insert((reservation.until, number));
        self.all.insert(number, reservation);
    }

    fn remove(&mut self, number: u64) -> Option<Reservation> {
        let reservation = self.all.remove(&number)?;
        self.by_end.remove(&(reservation.until, number));
        if let Some(task) = reservation.task {
            self.of_task.remove(&task);
        }
        if let Some(numbers) = self.of_node.get_mut(&reservation.node) {
            numbers.retain(|other| *other != number);
            if numbers.is_empty() {
                self.of_node.remove(&reservation.node);
            }
        }
        Some(reservation)
    }

    /// Returns the numbers of a node's reservations, the oldest first.
    fn numbers_on(&self, node: NodeId) -> &[u64] {
        self.of_node.get(&node).map_or(&[], Vec::as_slice)
    }

    fn on(&self, node: NodeId) -> impl Iterator<Item = &Reservation> {
        self.numbers_on(node).iter().filter_map(|number| self.all.get(number))
    }

    fn of(&self, task: TaskId) -> Option<&Reservation> {
        self.all.get(self.of_task.get(&task)?)
    }
}

/// Adds up the missing parts of reservations.
fn sum_missing<'a>(reservations: impl Iterator<Item = &'a Reservation>) -> Resources {
    reservations.fold(Resources::NONE, |sum, reservation| sum.plus(&reservation.missing()))
}

impl Cluster {
    /// Returns the reservation for a task; `None` if it has none.
    pub fn reservation(&self, task: TaskId) -> Option<&Reservation> {
        self.reservations.of(task)
    }

    /// Returns all reservations, in the order in which they were made.
    pub fn reservations(&self) -> impl Iterator<Item = &Reservation> {
        self.reservations.all.values()
    }

    /// Returns true if resources of the node are reserved, or will be as soon as they come free.
    pub fn has_reservations(&self, node: NodeId) -> bool {
        !self.reservations.is_empty() && !self.reservations.numbers_on(node).is_empty()
    }

    /// Returns the resources of the node that its reservations will take as soon as they come free.
    pub fn awaited(&self, node: NodeId) -> Resources {
        sum_missing(self.reservations.on(node))
    }

    pub(super) fn reserve(
        &mut self,
        id: NodeId,
        resources: Resources,
        until: Time,
        task: Option<TaskId>,
    ) -> Result<Applied, RecordError> {
        let node = self.node(id).ok_or_else(|| RecordError::Unknown(id.to_string()))?;
        if let Some(task) = task {
            let found = self.task(task).ok_or_else(|| RecordError::Unknown(task.to_string()))?;
            let refuse = |reason| Err(RecordError::CannotReserveFor { node: id, task, reason });
            match () {
                () if !node.up => return refuse("the node is lost"),
                () if !resources.fits(&node.capacity) => return refuse("the node is too small"),
                () if found.is_abandoned() => return refuse("its job is abandoned"),
                () if found.is_finished() => return refuse("the task has finished"),
                () if self.reservation(task).is_some() => return refuse("the task has a reservation already"),
                () => {}
            }
        } else if !node.up || !resources.fits(&node.free) {
            return Err(RecordError::CannotReserve(id));
        }
        let number = self.reservations.next;
        self.reservations.next += 1;
        self.reservations.add(number, Reservation { node: id, resources, held: Resources::NONE, until, task });
        if task.is_none() {
            // The resources are free now. An older reservation of the node that waits for resources has none of them,
            // because it would have taken them when they came free.
            self.take(id, number);
        } else {
            self.fill_reservations(id);
        }
        self.refresh_open(id);
        Ok(Applied::default())
    }

    pub(super) fn release(&mut self, task: TaskId) -> Result<Applied, RecordError> {
        match self.reservations.of_task.get(&task).copied() {
            Some(number) => self.end_reservation(number),
            None => return Err(RecordError::Unknown(format!("a reservation for {task}"))),
        }
        Ok(Applied::default())
    }

    /// Lets a reservation take what it misses, as far as it is free.
    fn take(&mut self, id: NodeId, number: u64) {
        let Some(reservation) = self.reservations.all.get_mut(&number) else { return };
        let node = &mut self.nodes[id.0 as usize];
        let taken = reservation.missing().least(&node.free);
        reservation.held = reservation.held.plus(&taken);
        node.free = node.free.minus(&taken);
        node.reserved = node.reserved.plus(&taken);
    }

    /// Lets the reservations of a node take what they miss, the oldest first. Must be called whenever resources of the
    /// node have come free. The caller updates the indexes of free resources.
    pub(super) fn fill_reservations(&mut self, id: NodeId) {
        if self.reservations.is_empty() {
            return;
        }
        for at in 0..self.reservations.numbers_on(id).len() {
            let number = self.reservations.numbers_on(id)[at];
            self.take(id, number);
        }
    }

    /// Returns what a reservation holds to the free resources of its node, and removes it. Other reservations of the
    /// node do not take anything yet.
    fn dissolve(&mut self, number: u64) -> Option<NodeId> {
        let Reservation { node: id, held, .. } = self.reservations.remove(number)?;
        let node = &mut self.nodes[id.0 as usize];
        node.reserved = node.reserved.minus(&held);
        node.free = node.free.plus(&held);
        Some(id)
    }

    fn end_reservation(&mut self, number: u64) {
        let Some(node) = self.dissolve(number) else { return };
        self.fill_reservations(node);
        self.refresh_open(node);
    }

    /// Ends the reservation for a task, if it has one. Returns its node.
    pub(super) fn end_reservation_for(&mut self, task: TaskId) -> Option<NodeId> {
        if self.reservations.is_empty() {
            return None;
        }
        let number = self.reservations.of_task.get(&task).copied()?;
        let node = self.reservations.all.get(&number).map(Reservation::node);
        self.end_reservation(number);
        node
    }

    /// Ends the reservations for all tasks of a job.
    pub(super) fn end_reservations_of(&mut self, job: JobId) {
        let of_job =
            |(number, found): (&u64, &Reservation)| found.task.is_some_and(|task| task.job == job).then_some(*number);
        let numbers: Vec<u64> = self.reservations.all.iter().filter_map(of_job).collect();
        for number in numbers {
            self.end_reservation(number);
        }
    }

    /// Returns the resources on which an attempt of a task can start on a node: what is free, and what is reserved there
    /// for the task or for any start.
    pub(super) fn usable(&self, task: TaskId, id: NodeId, node: &Node) -> Resources {
        if self.reservations.is_empty() {
            return node.free;
        }
        let usable = self.reservations.on(id).filter(|found| found.task.is_none_or(|other| other == task));
        usable.fold(node.free, |sum, found| sum.plus(&found.held))
    }

    /// Takes the resources of an attempt that starts. Ends the reservation for its task and, if that is not enough, the
    /// reservations of the node that any start may use, the oldest first.
    pub(super) fn take_for_start(&mut self, task: TaskId, id: NodeId, demand: &Resources) {
        if !self.reservations.is_empty() {
            let own = self.reservations.of_task.get(&task).copied();
            let elsewhere = own.and_then(|number| self.dissolve(number)).filter(|node| *node != id);
            if let Some(node) = elsewhere {
                self.fill_reservations(node);
                self.refresh_open(node);
            }
            while !demand.fits(&self.nodes[id.0 as usize].free) {
                let numbers = self.reservations.numbers_on(id).iter().copied();
                let is_open = |number: &u64| self.reservations.all.get(number).is_some_and(|one| one.task.is_none());
                let Some(number) = numbers.into_iter().find(is_open) else { break };
                self.dissolve(number);
            }
        }
        let dimensions = self.dimensions.count();
        self.nodes[id.0 as usize].free.take(demand, dimensions);
        self.fill_reservations(id);
        self.refresh_open(id);
    }

    /// Removes all reservations of a lost node.
    pub(super) fn forget_reservations(&mut self, id: NodeId) {
        for number in self.reservations.numbers_on(id).to_vec() {
            self.reservations.remove(number);
        }
    }

    /// Ends the reservations whose time has come. Returns what this has changed; `None` if nothing.
    pub(super) fn expire_reservations(&mut self) -> Option<Expired> {
        let now = self.now;
        if self.reservations.by_end.first().is_none_or(|(until, _)| *until > now) {
            return None;
        }
        let mut expired = Expired::default();
        while let Some((_, number)) = self.reservations.by_end.first().copied().filter(|(until, _)| *until <= now) {
            let Some(reservation) = self.reservations.all.get(&number) else { break };
            let id = reservation.node;
            if expired.nodes.iter().all(|(node, ..)| *node != id) {
                let node = &self.nodes[id.0 as usize];
                expired.nodes.push((id, node.free, node.reserved));
                let numbers = self.reservations.numbers_on(id).iter();
                let before = numbers.filter_map(|at| Some((*at, self.reservations.all.get(at)?.clone())));
                let (ended, others): (Vec<_>, Vec<_>) = before.partition(|(_, found)| found.until <= now);
                expired.ended.extend(ended);
                expired.others.extend(others);
            }
            self.end_reservation(number);
        }
        Some(expired)
    }

    /// Undoes the expiry of reservations.
    pub(super) fn reserve_again(&mut self, expired: Expired) {
        for (number, reservation) in expired.ended {
            self.reservations.add(number, reservation);
        }
        for (number, reservation) in expired.others {
            self.reservations.all.insert(number, reservation);
        }
        for (id, free, reserved) in expired.nodes {
            let node = &mut self.nodes[id.0 as usize];
            (node.free, node.reserved) = (free, reserved);
            self.refresh_open(id);
        }
    }
}

#[cfg(test)]
mod tests;
