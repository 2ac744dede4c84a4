//! What a log shows of a run beyond the durations: when tasks could start, and when nodes left.
//!
//! The tasks of a phase are withheld for a time after the phases that it waits for have finished: an engine takes time for its own work
//! between phases. A node that leaves finishes its attempts first, because a cluster gives back idle nodes; nodes that are
//! lost with their attempts are [`Outage`](super::Outage)s.

use std::sync::Arc;

use hindmost_core::cluster::{Attempt, Node, Task};
use hindmost_core::ids::{AttemptId, JobId, NodeId, TaskId};
use hindmost_core::record::Event;
use hindmost_core::time::Time;
use rustc_hash::FxHashMap;

use super::{Driver, Outage, SimulationError};
use crate::agenda::{Agenda, Due};

/// What a log shows of a run beyond the durations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AsRecorded {
    /// When the tasks of each phase can start: jobs in the order of their arrivals, phases in the order of the job. The tasks of jobs and
    /// phases past the ends of the lists can start at once.
    pub lags: Vec<Vec<Lag>>,
    /// Nodes that leave, and when.
    pub leaving: Vec<(NodeId, Time)>,
    /// Whether a task may run again where an attempt of it has failed.
    pub retries_anywhere: bool,
    /// What policies learn while the run goes on.
    pub learns: Learns,
}

/// What policies learn while a replay goes on, as in a live run whose commands report no progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Learns {
    /// Nothing: they know the durations of the phases, and all nodes have their given speeds.
    #[default]
    Nothing,
    /// The durations of the phases.
    Durations,
    /// The durations of the phases and the speeds of the nodes.
    DurationsAndSpeeds,
}

/// When the tasks of a phase can start, after the phases that it waits for have finished, or after the job has arrived.
#[derive(Clone, Debug, PartialEq)]
pub enum Lag {
    /// All after this time.
    Together(Time),
    /// Each task after a time of its own; tasks past the end of the list at once.
    Each(Arc<Vec<Time>>),
}

impl Lag {
    fn of(&self, task: u32) -> Time {
        match self {
            Lag::Together(lag) => *lag,
            Lag::Each(lags) => lags.get(task as usize).copied().unwrap_or(Time::ZERO),
        }
    }
}

/// Phases whose tasks are withheld until their parents have finished: jobs, and the phases of each.
#[derive(Debug, Default)]
pub(super) struct Withheld(FxHashMap<JobId, Vec<u32>>);

impl AsRecorded {
    /// Schedules the nodes that leave.
    pub(super) fn schedule(&self, agenda: &mut Agenda) {
        for (node, at) in &self.leaving {
            agenda.push(*at, Due::Leave(*node));
        }
    }

    fn lag(&self, job: JobId, phase: u32) -> Option<&Lag> {
        self.lags.get(job.0 as usize)?.get(phase as usize)
    }
}

impl Driver<'_> {
    /// Withholds the tasks that cannot start as soon as the job has arrived, or the parents of their phase have finished.
    pub(super) fn withhold_tasks(&mut self, job: JobId, at: Time) -> Result<(), SimulationError> {
        let Some(recorded) = self.setup.as_recorded.as_deref() else { return Ok(()) };
        let phases = recorded.lags.get(job.0 as usize).map_or(0, Vec::len) as u32;
        for phase in 0..phases {
            let cluster = self.session.cluster();
            // Blocked tasks wait for others already.
            let is_blocked = |task: &TaskId| cluster.task(*task).is_some_and(Task::is_blocked);
            let lagging = self.lagging(job, phase).map(|(task, _)| task);
            let tasks: Vec<TaskId> = lagging.filter(|task| !is_blocked(task)).collect();
            for task in &tasks {
                self.step(at, &Event::TaskWithheld { task: *task, until: None, may_run: None })?;
            }
            if !tasks.is_empty() {
                self.withheld.0.entry(job).or_default().push(phase);
            }
        }
        self.release_tasks(job, at);
        Ok(())
    }

    /// The tasks of a phase that cannot start at once, and after which time they can.
    fn lagging(&self, job: JobId, phase: u32) -> impl Iterator<Item = (TaskId, Time)> + use<> {
        let lag = self.setup.as_recorded.as_deref().and_then(|recorded| recorded.lag(job, phase)).cloned();
        let found = self.session.cluster().phase(TaskId { job, phase, index: 0 });
        let tasks = found.map_or(0, |found| found.tasks().len() as u32);
        let of = move |index| {
            let lag = lag.as_ref().map_or(Time::ZERO, |lag| lag.of(index));
            (lag > Time::ZERO).then_some((TaskId { job, phase, index }, lag))
        };
        (0..tasks).filter_map(of)
    }

    /// Schedules the releases of the tasks of phases that wait for no other phase any more.
    pub(super) fn release_tasks(&mut self, job: JobId, at: Time) {
        let Some(phases) = self.withheld.0.remove(&job) else { return };
        let (mut open, mut closed) = (Vec::new(), Vec::new());
        for phase in phases {
            match self.session.cluster().phase(TaskId { job, phase, index: 0 }) {
                Some(found) if found.is_open() => open.push(phase),
                Some(_) => closed.push(phase),
                // The job has ended.
                None => {}
            }
        }
        if !closed.is_empty() {
            self.withheld.0.insert(job, closed);
        }
        for phase in open {
            for (task, lag) in self.lagging(job, phase) {
                self.agenda.push(at + lag, Due::Release(task));
            }
        }
    }

    /// Withholds the task of an attempt that has failed or was lost, for the time that the log shows.
    pub(super) fn withhold_again(&mut self, attempt: AttemptId, at: Time) -> Result<(), SimulationError> {
        let (task, after) = (attempt.task, Time::from_seconds(self.truth.again_after(attempt)));
        if after > Time::ZERO && self.session.cluster().task(task).is_some_and(Task::is_pending) {
            self.step(at, &Event::TaskWithheld { task, until: None, may_run: None })?;
            self.agenda.push(at + after, Due::Release(task));
        }
        Ok(())
    }

    /// Removes a node: it takes no more attempts, and has left when its own have finished. The last node stays,
    /// unless another one comes.
    pub(super) fn leave_cluster(&mut self, node: NodeId, at: Time) -> Result<(), SimulationError> {
        let cluster = self.session.cluster();
        let is_leaving = cluster.node(node).is_some_and(Node::is_leaving);
        let others = cluster.nodes().iter().filter(|node| node.is_up() && !node.is_leaving()).count();
        let comes = |outage: &Outage| outage.node != node && outage.until > at && outage.until < Time::NEVER;
        if !is_leaving && others < 2 && !self.setup.outages.iter().any(comes) {
            return Ok(());
        }
        let running: Vec<_> = cluster.attempts_on(node).map(Attempt::id).collect();
        let mut ends = None;
        for id in running {
            ends = ends.max(self.expected_end(id)?);
        }
        match ends {
            Some(end) => {
                if !is_leaving {
                    self.step(at, &Event::NodeLeaving { node })?;
                }
                self.agenda.push(end.max(at + Time::TICK), Due::Leave(node));
                Ok(())
            }
            None => self.outage_begins(node, at),
        }
    }
}
