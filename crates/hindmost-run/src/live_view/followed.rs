//! Applies the lines of a journal that is being written to a timeline and a replayed session.

use std::collections::BTreeMap;

use hindmost_core::cluster::Cluster;
use hindmost_core::ids::{JobId, NodeId, TaskId};
use hindmost_core::journal::{Header, JournalError, JournalReader, MOST_TASKS};
use hindmost_core::reasons::Reasons;
use hindmost_core::record::{Change, Event, Record};
use hindmost_core::session::Session;
use hindmost_core::time::Time;
use hindmost_core::timeline::TimelineBuilder;
use hindmost_policies::catalogue;
use rustc_hash::FxHashSet;

/// What the records so far have shown. [`feed`](Followed::feed) may get the journal in pieces of any size.
#[derive(Default)]
pub(super) struct Followed {
    header: Option<Header>,
    pub(super) builder: TimelineBuilder,
    /// The replayed run; `None` if its policy is unknown here or decides otherwise, as with other versions of Hindmost. Then
    /// expected finishes, reasons and used resources are unknown.
    session: Option<Session>,
    pub(super) reasons: Reasons,
    /// Tasks that have failed permanently.
    pub(super) failed: FxHashSet<TaskId>,
    /// Tasks that may not run twice and wait for the ends of attempts on lost nodes.
    pub(super) awaiting: FxHashSet<TaskId>,
    /// Jobs that ended before they were done, while other jobs went on.
    pub(super) given_up: FxHashSet<JobId>,
    /// The speed with which each node joined.
    joined: Vec<f64>,
    /// The speed that was learned last for each node.
    learned: BTreeMap<NodeId, f64>,
    lines: u64,
    tasks: u64,
    /// Why the journal could not be read further.
    problem: Option<String>,
}

impl Followed {
    /// Applies all complete lines of `bytes`, and returns their length in bytes.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> usize {
        let mut used = 0;
        for line in bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n")) {
            used += line.len();
            if self.problem.is_none()
                && let Err(problem) = self.line(line)
            {
                self.problem = Some(problem);
            }
        }
        used
    }

    fn line(&mut self, line: &[u8]) -> Result<(), String> {
        self.lines += 1;
        if self.header.is_none() {
            let reader = JournalReader::new(line).map_err(|error| error.to_string())?;
            self.session = catalogue::session_of(reader.header()).ok();
            if let Some(session) = &mut self.session {
                session.keep_reasons();
            }
            self.header = Some(reader.header().clone());
            return Ok(());
        }
        let record: Record = serde_json::from_slice(line)
            .map_err(|error| JournalError::BadLine { line: self.lines, error }.to_string())?;
        self.apply(record)
    }

    fn apply(&mut self, record: Record) -> Result<(), String> {
        if let Change::Event(event) = &record.change {
            self.note(event)?;
            // The policy decides again; the recorded decisions are for the timeline.
            if let Some(session) = &mut self.session
                && session.step(record.at, event, &mut self.reasons).is_err()
            {
                self.session = None;
            }
        }
        self.builder.apply(record);
        Ok(())
    }

    /// Notes what neither the timeline nor the session keeps, and refuses jobs that would cost too much memory.
    fn note(&mut self, event: &Event) -> Result<(), String> {
        match event {
            Event::NodeJoined { speed, .. } => self.joined.push(*speed),
            Event::NodeSpeedLearned { node, speed } => _ = self.learned.insert(*node, *speed),
            Event::TaskWithheld { task, may_run: Some(_), .. } => _ = self.awaiting.insert(*task),
            Event::TaskWithheld { task, until: None, .. } => _ = self.failed.insert(*task),
            Event::TaskGivenUp { task } => {
                self.failed.insert(*task);
                self.awaiting.remove(task);
            }
            Event::TaskReturned { task } => {
                self.failed.remove(task);
                self.awaiting.remove(task);
            }
            Event::JobGivenUp { job } => _ = self.given_up.insert(*job),
            Event::JobArrived { spec, .. } => {
                self.tasks = self.tasks.saturating_add(spec.tasks());
                if self.tasks > MOST_TASKS {
                    let (line, tasks) = (self.lines, self.tasks);
                    return Err(format!("line {line}: the jobs have {tasks} tasks together, more than {MOST_TASKS}"));
                }
                if let Some(phase) = spec.phase_before_its_parent() {
                    return Err(format!("line {}: phase {:?} waits for itself", self.lines, phase.name));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns the header; `None` as long as the journal has none.
    pub(super) fn header(&self) -> Option<&Header> {
        self.header.as_ref()
    }

    /// Returns the cluster of the replayed run; `None` if it could not be replayed.
    pub(super) fn cluster(&self) -> Option<&Cluster> {
        self.session.as_ref().map(Session::cluster)
    }

    /// Returns the time of the last record.
    pub(super) fn end(&self) -> Time {
        self.builder.timeline().end
    }

    /// Returns the number of tasks of a phase that have failed permanently.
    pub(super) fn failed_in(&self, job: JobId, phase: u32) -> u64 {
        self.failed.iter().filter(|task| task.job == job && task.phase == phase).count() as u64
    }

    /// Returns the learned speed of a node relative to the speed with which it joined; `None` if none was learned.
    pub(super) fn learned_speed(&self, node: NodeId) -> Option<f64> {
        let joined = self.joined.get(node.0 as usize).copied().filter(|speed| speed.is_finite() && *speed > 0.0)?;
        self.learned.get(&node).map(|speed| speed / joined)
    }

    /// Returns why a part of the state is unknown; `None` if nothing is.
    pub(super) fn problem(&self) -> Option<String> {
        let replay = || {
            let unknown = self.header.is_some() && self.session.is_none();
            unknown.then(|| {
                "this version of Hindmost can't repeat the decisions of the run, so expected finishes, reasons and used \
                 resources are unknown"
                    .to_owned()
            })
        };
        self.problem.clone().or_else(replay)
    }
}
