//! Nodes that are lost and return: by fault injection, or because the engine says so.
//!
//! The loss of a node is no failure of the tasks that ran there. The exceptions are tasks that are lost again and again, and might start
//! again without end: because the time is up for which nodes are allocated, or for other reasons such as preemption.
//!
//! A task that may not run twice waits until its attempt on the lost node has surely ended, as the engine reports.
//!
//! Invariant: a node that is lost for both reasons returns when both are over. It returns to the cluster only after all attempts
//! that ran on it have ended.

use std::collections::BTreeMap;

use hindmost_core::cluster::Task;
use hindmost_core::ids::{AttemptId, NodeId, TaskId};
use hindmost_core::record::{Change, Event, MayRun, Record};
use hindmost_core::time::Time;
use hindmost_core::timeline::{AttemptEnd, TimelineBuilder, TimelineRow};
use hindmost_math::plain::Plain;
use rustc_hash::{FxHashMap, FxHashSet};

use super::attempts::Kill;
use super::deadlines::Deadline;
use super::progress::FIRST_POLL;
use super::{Driver, RunError};
use crate::engine::NodeLoss;
use crate::store::Reads;

/// How often a task may be lost because the time is up for which its node was allocated. Further such losses count as its failures.
const TIMES_UP: u32 = 2;

/// Time after the loss of a node after which the user is notified that tasks wait for the ends of attempts there.
const QUIET: Time = Time(3_000_000_000);
/// Time until the next such notice. It doubles with each one.
const REMINDED: Time = Time(60_000_000_000);
/// The longest time between two notices.
const SELDOM: Time = Time(3_600_000_000_000);
/// Largest number of tasks that a notice names.
const NAMED: usize = 5;

/// An attempt on a lost node for whose end its task waits.
#[derive(Clone, Copy, Debug)]
struct Awaited {
    node: NodeId,
    since: Time,
    /// True if the user has been notified.
    is_said: bool,
}

/// The nodes that the engine has lost.
#[derive(Debug, Default)]
pub(super) struct LostNodes {
    nodes: FxHashSet<NodeId>,
    /// Attempts of tasks that may not run twice, which may still run.
    awaited: BTreeMap<AttemptId, Awaited>,
    /// When the user is reminded of them, and the time until the next reminder.
    reminder: Option<(Time, Time)>,
    /// How often each task was lost because the time of its node was up.
    times_up: FxHashMap<TaskId, u32>,
    /// How often each task was lost for another reason, in this process.
    losses: FxHashMap<TaskId, u32>,
}

impl LostNodes {
    /// True if the engine has lost any node, so that the run may wait for its return.
    pub(super) fn any(&self) -> bool {
        !self.nodes.is_empty()
    }

    /// True if a task waits for the end of this attempt.
    pub(super) fn is_awaited(&self, attempt: AttemptId) -> bool {
        self.awaited.contains_key(&attempt)
    }

    /// True if this task waits for the end of an attempt.
    pub(super) fn awaits(&self, task: TaskId) -> bool {
        self.awaited.keys().any(|attempt| attempt.task == task)
    }

    /// Takes the attempts of which the user is to be notified now, by node, with the time for which the first of them has been awaited.
    fn due(&mut self, now: Time) -> Vec<(NodeId, Time, Vec<TaskId>)> {
        let is_new = |one: &Awaited| !one.is_said && one.since + QUIET <= now;
        let reminds = self.reminder.is_some_and(|(at, _)| at <= now);
        if !reminds && !self.awaited.values().any(is_new) {
            return Vec::new();
        }
        let pause =
            self.reminder.map_or(REMINDED, |(_, pause)| if reminds { (pause + pause).min(SELDOM) } else { pause });
        self.reminder = (!self.awaited.is_empty()).then_some((now + pause, pause));
        let mut due: BTreeMap<NodeId, (Time, Vec<TaskId>)> = BTreeMap::new();
        for (attempt, one) in self.awaited.iter_mut().filter(|(_, one)| reminds || is_new(one)) {
            one.is_said = true;
            let of_node = due.entry(one.node).or_insert((one.since, Vec::new()));
            of_node.0 = of_node.0.min(one.since);
            of_node.1.push(attempt.task);
        }
        due.into_iter().map(|(node, (since, tasks))| (node, now - since, tasks)).collect()
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

    /// Counts the loss of a task that may be lost so many times. Returns the reason of the failure if the loss counts as one.
    pub(super) fn lost(&mut self, task: TaskId, allowed: u32) -> Option<String> {
        let times = self.losses.entry(task).or_default();
        *times += 1;
        let often = if *times == 1 { "once".to_owned() } else { format!("{times} times") };
        (*times > allowed).then(|| format!("lost {often}, more often than allowed_losses = {allowed} allows"))
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
        let mut cut_off: Vec<AttemptId> = self.attempts.iter().map(|(attempt, _)| attempt).filter(is_cut_off).collect();
        cut_off.sort_unstable();
        self.leave(node, loss.is_time_up)?;
        for attempt in cut_off {
            self.was_lost(attempt, loss.is_time_up)?;
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
        self.stop_requested(1)
    }

    /// Handles the loss of an attempt with its node, which counts as a failure of its task if it happens repeatedly. If the time is up for
    /// which the node was allocated, the task may take longer than any allocation lasts.
    fn was_lost(&mut self, attempt: AttemptId, time_is_up: bool) -> Result<(), RunError> {
        let task = attempt.task;
        // If another copy runs, the task may still finish.
        let is_pending = self.session.cluster().task(task).is_some_and(Task::is_pending);
        if !self.is_open() || !is_pending && !self.lost.awaits(task) {
            return Ok(());
        }
        let reason = if time_is_up {
            self.lost.time_is_up(task).map(|times| {
                format!(
                    "cut off {times} times because an allocation reached its time limit, which is probably shorter than the task takes"
                )
            })
        } else {
            self.lost.lost(task, self.jobs[task.job].phase(task).allowed_losses)
        };
        let Some(reason) = reason else { return Ok(()) };
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
            let task = attempt.task;
            self.check_given_up(task)?;
            let job = &self.jobs[task.job];
            if self.is_pending(task) && job.shutdown.is_open() && !job.phase(task).idempotent {
                self.await_end_of(attempt, node);
                self.withhold_awaiting(attempt, node)?;
            }
        }
        Ok(())
    }

    /// Lets the task of an attempt on a lost node wait for the end of this attempt, which the engine will report.
    pub(super) fn await_end_of(&mut self, attempt: AttemptId, node: NodeId) {
        let since = self.engine.now();
        self.lost.awaited.insert(attempt, Awaited { node, since, is_said: false });
        self.jobs[attempt.task.job].failures.delay(attempt.task);
        if !self.attempts.contains(attempt) {
            self.attempts.insert(attempt, node, (since, 0.0), Reads::default());
            self.attempts.kill(attempt, Kill::NodeLost);
        }
    }

    /// Withholds the task of an attempt that may still run on a lost node.
    pub(super) fn withhold_awaiting(&mut self, attempt: AttemptId, node: NodeId) -> Result<(), RunError> {
        let may_run = Some(MayRun { copy: attempt.copy, node });
        self.happen(&Event::TaskWithheld { task: attempt.task, until: None, may_run }).map(drop)
    }

    /// Handles the end of an attempt on a lost node for which its task has waited. Returns true if the attempt may nevertheless
    /// run, because the run ends: its folder stays, so that the next process can find out.
    pub(super) fn no_longer_awaited(&mut self, attempt: AttemptId) -> Result<bool, RunError> {
        let Some(awaited) = self.lost.awaited.remove(&attempt) else { return Ok(false) };
        if self.lost.awaited.is_empty() {
            self.lost.reminder = None;
        }
        let task = attempt.task;
        if !self.jobs.get(task.job).is_some_and(|job| job.shutdown.is_open()) {
            return Ok(true);
        }
        if awaited.is_said {
            let node = self.node_name(awaited.node);
            let name = self.jobs.name(task);
            self.follower.message(&format!("{name} can start again: its attempt on the lost node {node} has ended"));
        }
        self.retry(task)?;
        self.check_given_up(task)?;
        Ok(false)
    }

    /// Notifies the user of tasks that wait for the ends of attempts on lost nodes, and no longer waits for those of jobs that end.
    pub(super) fn tend_awaited(&mut self) {
        for attempt in self.lost.awaited.keys() {
            if !self.jobs.get(attempt.task.job).is_some_and(|job| job.shutdown.is_open()) {
                self.engine.let_go(*attempt);
            }
        }
        for (node, time, tasks) in self.lost.due(self.engine.now()) {
            let mut names: Vec<String> = tasks.iter().take(NAMED).map(|task| self.jobs.name(*task)).collect();
            if tasks.len() > NAMED {
                names.push(format!("{} others", tasks.len() - NAMED));
            }
            let names = names.join(", ");
            let (waits, attempts) =
                if tasks.len() == 1 { ("waits", "its attempt") } else { ("wait", "their attempts") };
            let node = self.node_name(node);
            let since = if time < REMINDED {
                String::new()
            } else {
                format!(" (for {} s by now)", Plain(time.seconds().round()))
            };
            self.follower.message(&format!(
                "{names} may not run twice (idempotent = false) and {waits}{since} until {attempts} on the lost node {node} has surely \
                 ended, for example because the node is known to be down"
            ));
        }
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
