//! Nodes that are lost and return: by fault injection, or because the engine says so.
//!
//! The loss of a node is no failure of the tasks that ran there. The exception is a task that is cut off again and again because the
//! time is up for which nodes are allocated: it might start again without end.
//!
//! Invariant: a node that is lost for both reasons returns when both are over. It returns to the cluster only after all attempts
//! that ran on it have ended.

use hindmost_core::cluster::Task;
use hindmost_core::ids::{AttemptId, NodeId, TaskId};
use hindmost_core::record::{Change, Event, Record};
use hindmost_core::timeline::{AttemptEnd, TimelineBuilder, TimelineRow};
use rustc_hash::{FxHashMap, FxHashSet};

use super::attempts::Kill;
use super::deadlines::Deadline;
use super::progress::FIRST_POLL;
use super::{Driver, RunError};
use crate::engine::NodeLoss;

/// How often a task may be lost because the time is up for which its node was allocated. Further such losses count as its failures.
const TIMES_UP: u32 = 2;

/// The nodes that the engine has lost.
#[derive(Debug, Default)]
pub(super) struct LostNodes {
    nodes: FxHashSet<NodeId>,
    /// How often each task was lost because the time of its node was up.
    times_up: FxHashMap<TaskId, u32>,
}

impl LostNodes {
    /// True if the engine has lost any node, so that the run may wait for its return.
    pub(super) fn any(&self) -> bool {
        !self.nodes.is_empty()
    }

    /// Takes over from a journal how often each task was lost because the time of its node was up.
    pub(super) fn recall(&mut self, records: &[Record]) {
        let mut builder = TimelineBuilder::default();
        for record in records {
            let node = match &record.change {
                Change::Event(Event::NodeLost { node, time_is_up: true }) => Some(*node),
                _ => None,
            };
            let is_cut_off = |row: &&TimelineRow| {
                Some(row.node) == node && row.outcome == AttemptEnd::Running && !builder.is_stopping(row.attempt)
            };
            let rows = &builder.timeline().rows;
            let cut_off: FxHashSet<TaskId> = match node {
                Some(_) => rows.iter().filter(is_cut_off).map(|row| row.attempt.task).collect(),
                None => FxHashSet::default(),
            };
            builder.apply(record.clone());
            let goes_on = |row: &TimelineRow| matches!(row.outcome, AttemptEnd::Running | AttemptEnd::Won);
            for task in cut_off {
                if !builder.timeline().attempts_of(task).any(goes_on) {
                    *self.times_up.entry(task).or_default() += 1;
                }
            }
        }
    }

    /// Counts the loss of a task because the time of its node was up. Returns how often this has happened if it counts as a failure.
    fn time_is_up(&mut self, task: TaskId) -> Option<u32> {
        let times = self.times_up.entry(task).or_default();
        *times += 1;
        (*times > TIMES_UP).then_some(*times)
    }
}

impl Driver<'_> {
    /// Handles the loss of a node that the engine reports.
    pub(super) fn node_lost(&mut self, node: NodeId, loss: &NodeLoss) -> Result<(), RunError> {
        self.lost.nodes.insert(node);
        if let Some(why) = &loss.why {
            self.follower.message(&format!("node {} is lost: {why}", self.node_name(node)));
        }
        let is_cut_off = |attempt: &AttemptId| {
            self.attempts.get(*attempt).is_some_and(|running| running.node == node && running.kill().is_none())
        };
        let cut_off: Vec<AttemptId> =
            self.attempts.iter().map(|(attempt, _)| attempt).filter(|one| loss.is_time_up && is_cut_off(one)).collect();
        self.leave(node, loss.is_time_up)?;
        for attempt in cut_off {
            self.time_is_up(attempt)?;
        }
        if self.has_lost_all() && self.is_open() && self.engine.is_over().is_none() {
            self.follower.message("all nodes are lost; the run waits until one returns");
        }
        Ok(())
    }

    fn has_lost_all(&self) -> bool {
        self.lost.nodes.len() == self.session.cluster().nodes().len()
    }

    /// Interrupts the run if all nodes are lost and none can return.
    pub(super) fn check_nodes_can_return(&mut self) -> Result<(), RunError> {
        if self.is_stopped || !self.is_open() || !self.has_lost_all() {
            return Ok(());
        }
        let Some(why) = self.engine.is_over() else { return Ok(()) };
        let line = format!("all nodes are lost and none can return: {why}; the run is interrupted");
        self.follower.message(&line);
        self.stop_requested()
    }

    /// Handles the loss of an attempt because the time is up for which its node was allocated. The task may take longer than any
    /// allocation lasts, so this counts as a failure if it happens repeatedly.
    fn time_is_up(&mut self, attempt: AttemptId) -> Result<(), RunError> {
        let task = attempt.task;
        // If another copy runs, the task may still finish.
        if !self.is_open() || !self.session.cluster().task(task).is_some_and(Task::is_pending) {
            return Ok(());
        }
        let Some(times) = self.lost.time_is_up(task) else { return Ok(()) };
        let reason = format!(
            "cut off {times} times because an allocation reached its time limit, which is probably shorter than the task takes"
        );
        let job = &mut self.jobs[task.job];
        let tails = ["stdout", "stderr"].map(|name| job.store.output_tail(attempt, name));
        job.counts.failed(attempt);
        // What still runs of it stops when its folder is gone.
        self.clean(attempt, true);
        self.note_cut_off(attempt);
        let failed = self.failed_attempt(attempt, &reason, tails);
        self.jobs[task.job].failures.count(task, failed);
        let line = format!("{} attempt {}: {reason}{}", self.jobs.name(task), attempt.copy, self.next_try(task));
        self.follower.failure(&line);
        self.after_failure(task)
    }

    /// Handles the return of a node that the engine reports.
    pub(super) fn node_returned(&mut self, node: NodeId) -> Result<(), RunError> {
        self.lost.nodes.remove(&node);
        self.come_back(node, "")
    }

    /// Begins an injected loss of a node.
    pub(super) fn lose(&mut self, loss: usize) -> Result<(), RunError> {
        if !self.is_open() {
            return Ok(());
        }
        let Some((node, back)) = self.faults.lose(loss, self.engine.now()) else { return Ok(()) };
        self.follower.message(&format!("node {} is lost (fault injection)", self.node_name(node)));
        self.leave(node, false)?;
        self.deadlines.push(back, Deadline::Return(loss));
        Ok(())
    }

    /// Ends an injected loss of a node, once all attempts that ran there have ended.
    pub(super) fn bring_back(&mut self, loss: usize) -> Result<(), RunError> {
        let now = self.engine.now();
        let Some(node) = self.faults.is_over(loss, now) else { return Ok(()) };
        if self.attempts.iter().any(|(_, running)| running.node == node) {
            self.deadlines.push(now + FIRST_POLL, Deadline::Return(loss));
            return Ok(());
        }
        self.come_back(node, " (fault injection)")
    }

    /// Takes a node out of the cluster and kills its attempts. `time_is_up` says that the time is up for which it was allocated.
    fn leave(&mut self, node: NodeId, time_is_up: bool) -> Result<(), RunError> {
        let is_up = self.session.cluster().node(node).is_some_and(hindmost_core::cluster::Node::is_up);
        if is_up && self.is_open() {
            self.happen(&Event::NodeLost { node, time_is_up })?;
        }
        for attempt in self.kill_matching(Kill::NodeLost, |_, running| running.node == node) {
            self.check_given_up(attempt.task)?;
        }
        Ok(())
    }

    /// Returns a node to the cluster, unless it is lost for another reason too.
    fn come_back(&mut self, node: NodeId, how: &str) -> Result<(), RunError> {
        let is_down = self.session.cluster().node(node).is_some_and(|node| !node.is_up());
        let is_lost = self.lost.nodes.contains(&node) || self.faults.is_lost(node, self.engine.now());
        if is_down && !is_lost && self.is_open() {
            self.follower.message(&format!("node {} has returned{how}", self.node_name(node)));
            self.happen(&Event::NodeReturned { node })?;
        }
        Ok(())
    }
}
