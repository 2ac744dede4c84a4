//! The output of a run. It receives each job, attempt and record during the run, so that memory does not grow with the
//! run.

use std::io;
use std::sync::Arc;

use hindmost_core::ids::{AttemptId, NodeId};
use hindmost_core::metrics::{EnergyUse, JobResult};
use hindmost_core::record::{Decision, Record};
use hindmost_core::time::Time;
use hindmost_core::workload::JobSpec;

use crate::driver::result::RunResult;

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Finished before all other attempts of its task.
    Won,
    /// Finished later than another copy of its task, or stopped because another copy had finished or was expected to
    /// finish first, or stopped so that its task is relaunched on another node.
    Lost,
    /// Stopped and replaced by a new attempt of its task, which took over its resources or runs on another node.
    Replaced,
    /// Stopped because its job was abandoned.
    Abandoned,
    /// Lost with its node.
    NodeLost,
    /// Failed, as in the log that is replayed.
    Failed,
    /// Still running when the run stopped.
    Unfinished,
}

impl Outcome {
    /// Returns the name of the outcome in files.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Won => "won",
            Outcome::Lost => "lost",
            Outcome::Replaced => "replaced",
            Outcome::Abandoned => "abandoned",
            Outcome::NodeLost => "node_lost",
            Outcome::Failed => "failed",
            Outcome::Unfinished => "unfinished",
        }
    }
}

/// An attempt that has ended.
#[derive(Clone, Copy, Debug)]
pub struct AttemptResult<'a> {
    /// Id of the attempt.
    pub attempt: AttemptId,
    /// Description of its job, as submitted.
    pub job: &'a JobSpec,
    /// The node on which it ran.
    pub node: NodeId,
    /// Name of the node.
    pub node_name: &'a str,
    /// The time at which it received its resources.
    pub start: Time,
    /// The time at which it released its resources.
    pub end: Time,
    /// How it ended.
    pub outcome: Outcome,
    /// True if it started because all earlier copies of its task were lost with their nodes.
    pub is_relaunch: bool,
    /// Its energy; `None` unless all nodes have power models.
    pub energy: Option<AttemptEnergy>,
}

/// The energy of an attempt that has ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AttemptEnergy {
    /// The energy, joules.
    pub joules: f64,
    /// What it was used for.
    pub used_for: EnergyUse,
}

impl AttemptResult<'_> {
    /// Returns true if it is neither the first attempt of its task nor one that replaces lost attempts.
    pub fn is_copy(&self) -> bool {
        self.attempt.copy > 0 && !self.is_relaunch
    }

    /// Returns the name of the attempt's phase.
    pub fn phase_name(&self) -> &str {
        self.job.phases.get(self.attempt.task.phase as usize).map_or("", |phase| &phase.name)
    }
}

/// Receives the results of a run during the run.
pub trait Output {
    /// Receives a job that has finished.
    ///
    /// # Errors
    /// If the job cannot be written.
    fn job(&mut self, _name: &Arc<str>, _result: &JobResult) -> io::Result<()> {
        Ok(())
    }

    /// Returns whether [`Output::attempt`] is to be called.
    fn wants_attempts(&self) -> bool {
        false
    }

    /// Receives an attempt that has ended. The last attempts of a job may arrive after the job itself.
    ///
    /// # Errors
    /// If the attempt cannot be written.
    fn attempt(&mut self, _result: &AttemptResult<'_>) -> io::Result<()> {
        Ok(())
    }

    /// Returns whether [`Output::record`] is to be called.
    fn wants_records(&self) -> bool {
        false
    }

    /// Returns whether [`Output::reason`] is to be called.
    fn wants_reasons(&self) -> bool {
        false
    }

    /// Receives the policy's reason for a decision. `fresh` is the attempt that the decision starts if it is a
    /// replacement, else `None`.
    fn reason(&mut self, _decision: &Decision, _fresh: Option<AttemptId>, _why: &str) {}

    /// Receives the result of the run when it ends.
    fn end(&mut self, _result: &RunResult) {}

    /// Receives a record that has been applied.
    ///
    /// # Errors
    /// If the record cannot be written.
    fn record(&mut self, _record: &Record) -> io::Result<()> {
        Ok(())
    }
}

/// Discards all output.
pub struct Silent;

impl Output for Silent {}
