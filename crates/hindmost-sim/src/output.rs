//! What a run tells while it goes on, so that nothing that has passed needs to be kept.

use std::io;
use std::sync::Arc;

use hindmost_core::ids::{AttemptId, NodeId};
use hindmost_core::metrics::JobResult;
use hindmost_core::record::{Decision, Record};
use hindmost_core::time::Time;
use hindmost_core::workload::JobSpec;

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was the first of its task to finish.
    Won,
    /// Another copy of its task had finished.
    Lost,
    /// It was stopped and a fresh copy started in its room.
    Replaced,
    /// It was still running when the run stopped.
    Unfinished,
}

impl Outcome {
    /// As files write it.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Won => "won",
            Outcome::Lost => "lost",
            Outcome::Replaced => "replaced",
            Outcome::Unfinished => "unfinished",
        }
    }
}

/// One attempt that has ended.
#[derive(Clone, Copy, Debug)]
pub struct AttemptResult<'a> {
    /// Which.
    pub attempt: AttemptId,
    /// Its job, as it was given.
    pub job: &'a JobSpec,
    /// Where it ran.
    pub node: NodeId,
    /// That node's name.
    pub node_name: &'a str,
    /// When it began to hold its room.
    pub start: Time,
    /// When it gave it back.
    pub end: Time,
    /// How it ended.
    pub outcome: Outcome,
}

impl AttemptResult<'_> {
    /// The name of its phase.
    pub fn phase_name(&self) -> &str {
        self.job.phases.get(self.attempt.task.phase as usize).map_or("", |phase| &phase.name)
    }
}

/// Takes what a run tells.
pub trait Output {
    /// A job has finished.
    ///
    /// # Errors
    /// If it can't be written.
    fn job(&mut self, _name: &Arc<str>, _result: &JobResult) -> io::Result<()> {
        Ok(())
    }

    /// True if attempts are to be told.
    fn wants_attempts(&self) -> bool {
        false
    }

    /// An attempt has ended. A job's last attempts may be told after the job itself.
    ///
    /// # Errors
    /// If it can't be written.
    fn attempt(&mut self, _result: &AttemptResult<'_>) -> io::Result<()> {
        Ok(())
    }

    /// True if records are to be told.
    fn wants_records(&self) -> bool {
        false
    }

    /// True if reasons are to be told.
    fn wants_reasons(&self) -> bool {
        false
    }

    /// What the policy says of a decision. `fresh` is the attempt that a replacement starts.
    fn reason(&mut self, _decision: &Decision, _fresh: Option<AttemptId>, _why: &str) {}

    /// A record has been applied.
    ///
    /// # Errors
    /// If it can't be written.
    fn record(&mut self, _record: &Record) -> io::Result<()> {
        Ok(())
    }
}

/// Takes nothing.
pub struct Silent;

impl Output for Silent {}
