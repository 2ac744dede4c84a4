//! Whether a run continues, and how it ends.
//!
//! Invariant: the first reason to end a run stays. Once a run ends, or its job is done, the policy makes no more decisions.

use hindmost_core::metrics::RunState;

/// The effect of the user's request to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// The run is interrupted.
    Interrupt,
    /// The run was ending already; now the attempts that were allowed to run to their ends are stopped too.
    StopTheRest,
}

/// Whether a run ends, and why.
#[derive(Debug, Default)]
pub(super) struct Shutdown {
    state: Option<RunState>,
    is_done: bool,
    is_requested: bool,
    drains: bool,
}

impl Shutdown {
    /// True while the policy decides and its decisions are carried out.
    pub(super) fn is_open(&self) -> bool {
        self.state.is_none() && !self.is_done
    }

    /// True if the run ends before its job is done.
    pub(super) fn has_begun(&self) -> bool {
        self.state.is_some()
    }

    /// True if every task of the job has its result.
    pub(super) fn is_done(&self) -> bool {
        self.is_done
    }

    /// Ends the run in this state, unless it ends in another one already.
    pub(super) fn begin(&mut self, state: RunState) {
        self.state.get_or_insert(state);
    }

    /// Ends the run in this state: running attempts finish, and no others start.
    pub(super) fn drain(&mut self, state: RunState) {
        if self.state.is_none() {
            self.begin(state);
            self.drains = true;
        }
    }

    /// True if the run ends once its running attempts have finished.
    pub(super) fn drains(&self) -> bool {
        self.drains
    }

    /// Notes that every task of the job has its result.
    pub(super) fn job_done(&mut self) {
        self.is_done = true;
    }

    /// Returns the effect of the user's request to stop; `None` if the job is done, and from the second call on.
    pub(super) fn request(&mut self) -> Option<Request> {
        if self.is_done || std::mem::replace(&mut self.is_requested, true) {
            return None;
        }
        Some(if self.has_begun() { Request::StopTheRest } else { Request::Interrupt })
    }

    /// True if an attempt may run to its end. After a failure this holds for tasks that may not run twice
    /// (`idempotent = false`), because a task that is stopped could not run again.
    pub(super) fn spares(&self, is_idempotent: bool) -> bool {
        self.state == Some(RunState::Failed) && !is_idempotent
    }

    /// Returns the final state of the run, once no attempt runs; `None` while it continues.
    pub(super) fn end(&self) -> Option<RunState> {
        self.state.or(self.is_done.then_some(RunState::Done))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_reason_to_end_stays() {
        let mut run = Shutdown::default();
        assert!(run.is_open() && run.end().is_none());
        run.begin(RunState::Failed);
        run.begin(RunState::Interrupted);
        run.job_done();
        assert!(!run.is_open());
        assert_eq!(run.end(), Some(RunState::Failed));
        assert!(run.spares(false) && !run.spares(true));
    }

    #[test]
    fn a_run_that_drains_keeps_its_first_reason_to_end() {
        let mut run = Shutdown::default();
        run.drain(RunState::Failed);
        assert!(run.drains() && run.has_begun() && !run.is_open());
        let mut stopped = Shutdown::default();
        stopped.begin(RunState::Interrupted);
        stopped.drain(RunState::Failed);
        assert_eq!((stopped.drains(), stopped.end()), (false, Some(RunState::Interrupted)));
    }

    #[test]
    fn a_request_to_stop_counts_once() {
        let mut run = Shutdown::default();
        assert_eq!((run.request(), run.request()), (Some(Request::Interrupt), None));
        let mut failed = Shutdown::default();
        failed.begin(RunState::Failed);
        assert_eq!(failed.request(), Some(Request::StopTheRest));
        let mut done = Shutdown::default();
        done.job_done();
        assert_eq!((done.request(), done.end()), (None, Some(RunState::Done)));
        assert!(!done.spares(false));
    }
}
