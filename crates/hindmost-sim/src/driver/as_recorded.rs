//! What a log shows of a run beyond the durations: when tasks could start, and when nodes left.
//!
//! The tasks of a phase are withheld for a time after the phases that it waits for have finished: an engine takes time for its own work
//! between phases. A node that leaves finishes its attempts first, because a cluster gives back idle nodes; nodes that are
//! lost with their attempts are [`Outage`](super::Outage)s.

use hindmost_core::cluster::{Attempt, Phase};
use hindmost_core::ids::{JobId, NodeId, TaskId};
use hindmost_core::record::Event;
use hindmost_core::time::Time;
use rustc_hash::FxHashMap;

use super::{Driver, SimulationError};
use crate::agenda::{Agenda, Due};

/// What a log shows of a run beyond the durations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AsRecorded {
    /// How long each phase's tasks can't start after the phases that it waits for have finished, or after the job has arrived: jobs in the
    /// order of their arrivals, phases in the order of the job. Jobs and phases past the ends of the lists do not wait.
    pub lags: Vec<Vec<Time>>,
    /// Nodes that leave, and when.
    pub leaving: Vec<(NodeId, Time)>,
}

/// Phases whose tasks are withheld until their parents have finished.
#[derive(Debug, Default)]
pub(super) struct Withheld(FxHashMap<JobId, Vec<(u32, Time)>>);

impl AsRecorded {
    /// Schedules the nodes that leave.
    pub(super) fn schedule(&self, agenda: &mut Agenda) {
        for (node, at) in &self.leaving {
            agenda.push(*at, Due::Leave(*node));
        }
    }
}

impl Driver<'_> {
    /// Withholds the tasks of phases that cannot start as soon as the job has arrived, or their parents have finished.
    pub(super) fn withhold_phases(&mut self, job: JobId, at: Time) -> Result<(), SimulationError> {
        let Some(recorded) = self.setup.as_recorded.as_deref() else { return Ok(()) };
        let Some(lags) = recorded.lags.get(job.0 as usize) else { return Ok(()) };
        let tasks = |phase: u32| {
            let found = self.session.cluster().phase(TaskId { job, phase, index: 0 });
            found.map_or(0, |found| found.tasks().len() as u32)
        };
        let phases: Vec<(u32, Time, u32)> = (0..)
            .zip(lags)
            .filter(|(_, lag)| **lag > Time::ZERO)
            .map(|(phase, lag)| (phase, *lag, tasks(phase)))
            .collect();
        for (phase, lag, tasks) in phases {
            for index in 0..tasks {
                self.step(at, &Event::TaskWithheld { task: TaskId { job, phase, index }, until: None })?;
            }
            self.withheld.0.entry(job).or_default().push((phase, lag));
        }
        self.release_phases(job, at);
        Ok(())
    }

    /// Schedules the release of phases that wait for nothing any more.
    pub(super) fn release_phases(&mut self, job: JobId, at: Time) {
        let Some(withheld) = self.withheld.0.get_mut(&job) else { return };
        let cluster = self.session.cluster();
        withheld.retain(|(phase, lag)| {
            let found = cluster.phase(TaskId { job, phase: *phase, index: 0 });
            let is_open = found.is_some_and(Phase::is_open);
            if is_open {
                self.agenda.push(at + *lag, Due::Release(job, *phase));
            }
            !is_open && found.is_some()
        });
        if withheld.is_empty() {
            self.withheld.0.remove(&job);
        }
    }

    /// Lets the tasks of a phase start.
    pub(super) fn release(&mut self, job: JobId, phase: u32, at: Time) -> Result<(), SimulationError> {
        let found = self.session.cluster().phase(TaskId { job, phase, index: 0 });
        let tasks = found.map_or(0, |found| found.tasks().len() as u32);
        (0..tasks)
            .try_for_each(|index| self.step(at, &Event::TaskReturned { task: TaskId { job, phase, index } }).map(drop))
    }

    /// Removes a node, or does so when its attempts have finished. The last node stays.
    pub(super) fn leave_cluster(&mut self, node: NodeId, at: Time) -> Result<(), SimulationError> {
        let cluster = self.session.cluster();
        if cluster.nodes().iter().filter(|node| node.is_up()).count() < 2 {
            return Ok(());
        }
        let running: Vec<_> = cluster.attempts_on(node).map(Attempt::id).collect();
        let mut ends = None;
        for id in running {
            ends = ends.max(self.expected_end(id)?);
        }
        match ends {
            Some(end) => {
                self.agenda.push(end.max(at + Time::TICK), Due::Leave(node));
                Ok(())
            }
            None => self.outage_begins(node, at),
        }
    }
}
