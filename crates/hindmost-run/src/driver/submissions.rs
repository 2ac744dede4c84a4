//! Jobs that arrive while a run goes on.

use super::{RunError, RunOutcome};
use crate::engine::NodeOffer;
use crate::store::Opened;

/// Supplies jobs while a run goes on, and receives the outcomes of all its jobs.
pub trait Submissions {
    /// True while other jobs may arrive.
    fn are_open(&self) -> bool;

    /// Returns the next job that has been submitted, in its opened folder; `None` if none waits. Its name differs from
    /// those of the jobs that run. `nodes` are those of the run.
    fn next(&mut self, nodes: &[NodeOffer]) -> Option<Opened>;

    /// Receives the name of a job that was supplied and can't run, and the reason.
    fn refused(&mut self, job: &str, why: &RunError);

    /// Receives the outcome of a job.
    fn ended(&mut self, outcome: RunOutcome);
}

/// The submissions of a run that has one job.
#[derive(Default)]
pub(super) struct OnlyJob(Option<RunOutcome>);

impl OnlyJob {
    /// Returns the outcome of the job; `None` if it has not ended.
    pub(super) fn take(self) -> Option<RunOutcome> {
        self.0
    }
}

impl Submissions for OnlyJob {
    fn are_open(&self) -> bool {
        false
    }

    fn next(&mut self, _nodes: &[NodeOffer]) -> Option<Opened> {
        None
    }

    fn refused(&mut self, _job: &str, _why: &RunError) {}

    fn ended(&mut self, outcome: RunOutcome) {
        self.0 = Some(outcome);
    }
}
