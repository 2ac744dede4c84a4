//! Rates that change while attempts run: contention on nodes, and neighbours' load.
//!
//! An attempt has work: the seconds that it takes on its node at the full rate. While its slow-down is s, it does 1/s
//! seconds of work per second. The slow-down is the product of the node's contention and of its neighbours' load, so the rate
//! is piecewise constant. Whenever something changes on a node, the work done so far is added up, and finishes and notices are
//! scheduled again. Entries of the agenda that no longer apply are skipped when they come up.
//!
//! What policies see:
//! - With `progress(S)`, the remaining time is revealed when the share S of the work is done, extrapolated at the rate of that
//!   moment. `oracle` reveals at the start and knows the present rate, but no future change.
//! - When the rate of an attempt changes whose expected finish the policy knows, the new finish is reported by
//!   `Event::WatchMet` without a condition, as live runs do.
//! - With `age`, a policy sees nothing. A change alone is no event and causes no round.
//! - Watched conditions are tested anew after each change. Each is reported once.
//!
//! Invariants: all changed nodes have changed at the same time (`changed_at`), and [`Rates::settle`] runs before time goes
//! on. The integral of an attempt's rate from its start to its finish is its work, up to the clock's resolution.

mod course;
mod neighbour;

use hindmost_core::cluster::Cluster;
use hindmost_core::ids::{AttemptId, NodeId};
use hindmost_core::record::Condition;
use hindmost_core::resources::Resources;
use hindmost_core::time::Time;

pub(super) use course::{Course, Plan};
use neighbour::Neighbour;

use super::{Setup, SimulationError};
use crate::agenda::{Agenda, Due};
use crate::disturbances::Contention;

/// A notice to the policy about an attempt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Notice {
    /// The finish that the policy may expect now; `None` if it is not revealed.
    pub(super) expected_finish: Option<Time>,
    /// True if a watched condition has come true; false if only the expected finish has changed.
    pub(super) condition_met: bool,
}

/// One node: what runs on it, and what slows it down.
struct NodeRates {
    capacity: Resources,
    contention: Contention,
    neighbour: Option<Neighbour>,
    courses: Vec<Course>,
    /// Time of the agenda's entry for the next change of the neighbours' load; `None` if it has none.
    next_switch: Option<Time>,
    has_changed: bool,
}

/// The rates of all running attempts.
pub(super) struct Rates {
    nodes: Vec<NodeRates>,
    changed: Vec<NodeId>,
    changed_at: Time,
    /// Conditions on replacements that have not begun. A policy watches a replacement when the replaced attempt stops.
    early: Vec<(AttemptId, Condition)>,
    /// Number of times that the rate of a running attempt has changed.
    pub(super) changes: u64,
}

impl Rates {
    /// Returns the rates of a run; `None` if they never change, so that the driver need not keep them.
    pub(super) fn of(setup: &Setup) -> Result<Option<Rates>, SimulationError> {
        let contends = |contention: &Contention| contention.degree > 1.0 && !setup.dimensions.is_one_slot();
        let changes = setup
            .disturbances
            .iter()
            .any(|node| node.neighbours.is_some() || node.contention.as_ref().is_some_and(contends));
        if !changes {
            return Ok(None);
        }
        let mut nodes = Vec::with_capacity(setup.nodes.len());
        for (at, node) in setup.nodes.iter().enumerate() {
            let disturbance = setup.disturbances.get(at);
            let load = disturbance.and_then(|disturbance| disturbance.neighbours.as_deref());
            let neighbour = load.map(|load| Neighbour::new(load, setup.seed, at as u64)).transpose();
            nodes.push(NodeRates {
                capacity: node.capacity,
                contention: disturbance.and_then(|disturbance| disturbance.contention).unwrap_or(Contention::NONE),
                neighbour: neighbour
                    .map_err(|error| SimulationError::Workload(format!("{}: neighbours: {error}", node.name)))?,
                courses: Vec::new(),
                next_switch: None,
                has_changed: false,
            });
        }
        Ok(Some(Rates { nodes, changed: Vec::new(), changed_at: Time::ZERO, early: Vec::new(), changes: 0 }))
    }

    /// Returns the time at which nodes have changed that are not settled; `None` if there are none.
    #[inline]
    pub(super) fn changed_at(&self) -> Option<Time> {
        (!self.changed.is_empty()).then_some(self.changed_at)
    }

    fn mark(&mut self, node: NodeId, at: Time) {
        let place = &mut self.nodes[node.0 as usize];
        if !place.has_changed {
            place.has_changed = true;
            self.changed.push(node);
        }
        self.changed_at = at;
    }

    fn course(&mut self, node: NodeId, attempt: AttemptId) -> Option<&mut Course> {
        self.nodes.get_mut(node.0 as usize)?.courses.iter_mut().find(|course| course.attempt() == attempt)
    }

    /// Adds an attempt that begins now.
    pub(super) fn begin(&mut self, node: NodeId, mut course: Course, now: Time) {
        let id = course.attempt();
        for (_, condition) in self.early.extract_if(.., |(attempt, _)| *attempt == id) {
            course.watch(condition);
        }
        let place = &mut self.nodes[node.0 as usize];
        if let Some(neighbour) = &mut place.neighbour {
            neighbour.advance(now);
        }
        place.courses.push(course);
        self.mark(node, now);
    }

    /// Removes an attempt that has ended.
    pub(super) fn end(&mut self, node: NodeId, attempt: AttemptId, now: Time) {
        let courses = &mut self.nodes[node.0 as usize].courses;
        if let Some(at) = courses.iter().position(|course| course.attempt() == attempt) {
            courses.swap_remove(at);
            self.mark(node, now);
        }
    }

    /// Removes all attempts of a node that is lost.
    pub(super) fn lose(&mut self, node: NodeId) {
        self.early.clear();
        self.nodes[node.0 as usize].courses.clear();
    }

    /// Adds a condition that the policy watches.
    pub(super) fn watch(&mut self, node: NodeId, attempt: AttemptId, condition: Condition, now: Time) {
        match self.course(node, attempt).map(|course| course.watch(condition)) {
            Some(true) => self.mark(node, now),
            Some(false) => {}
            None => self.early.push((attempt, condition)),
        }
    }

    /// Returns when an attempt finishes at its present rate; `None` if it does not run.
    pub(super) fn finish(&mut self, node: NodeId, attempt: AttemptId) -> Option<Time> {
        self.course(node, attempt).map(|course| course.finish())
    }

    /// Returns what the policy is notified about an attempt at a time for which the agenda had an entry; `None` if the
    /// entry no longer applies.
    pub(super) fn notice(&mut self, node: NodeId, attempt: AttemptId, at: Time, agenda: &mut Agenda) -> Option<Notice> {
        let course = self.course(node, attempt)?;
        let notice = course.notice(at);
        if let Some(next) = course.schedule_notice() {
            agenda.push(next, Due::Watch(attempt, true));
        }
        notice
    }

    /// Changes the load of a node's neighbours, for an entry of the agenda. The load of an idle node is advanced when
    /// its next attempt begins.
    pub(super) fn switch(&mut self, node: NodeId, at: Time) {
        let place = &mut self.nodes[node.0 as usize];
        if place.next_switch == Some(at) {
            place.next_switch = None;
        }
        if !place.courses.is_empty()
            && let Some(neighbour) = &mut place.neighbour
            && neighbour.advance(at)
        {
            self.mark(node, at);
        }
    }

    /// Computes the rates on all changed nodes as of the time at which they changed, and schedules the finishes and
    /// notices that follow.
    pub(super) fn settle(&mut self, cluster: &Cluster, agenda: &mut Agenda) {
        let now = self.changed_at;
        for node in std::mem::take(&mut self.changed) {
            let place = &mut self.nodes[node.0 as usize];
            place.has_changed = false;
            let all = place.courses.iter().fold(Resources::NONE, |all, course| all.plus(course.demand()));
            let factor = place.neighbour.as_ref().map_or(1.0, Neighbour::slowdown);
            for course in &mut place.courses {
                let others = all.minus(course.demand());
                let slowdown = factor * place.contention.slowdown(&place.capacity, course.demand(), &others);
                let is_known = cluster.attempt(course.attempt()).is_some_and(|one| one.expected_finish().is_some());
                self.changes += u64::from(course.set_slowdown(slowdown, now, is_known));
                course.test_new_watches(now);
                if let Some(finish) = course.schedule_finish() {
                    agenda.push(finish, Due::Finish(course.attempt()));
                }
                if let Some(at) = course.schedule_notice() {
                    agenda.push(at, Due::Watch(course.attempt(), true));
                }
            }
            if !place.courses.is_empty()
                && let Some(until) = place.neighbour.as_ref().and_then(Neighbour::until)
                && place.next_switch != Some(until)
            {
                place.next_switch = Some(until);
                agenda.push(until, Due::Switch(node));
            }
        }
    }
}
