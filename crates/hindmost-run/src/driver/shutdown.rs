//! Whether a run goes on, and how it ends.
//!
//! Invariant: the first reason to end a run stays. Once a run ends, or its job is done, the policy is asked no more.

use hindmost_core::metrics::RunState;

/// What the user's request to stop leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// The run is interrupted.
    Interrupt,
    /// The run ends already: what it has left running to its end is stopped too.
    StopTheRest,
}

/// How far a run is from its end. See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct Shutdown {
    state: Option<RunState>,
    is_done: bool,
    is_requested: bool,
}

impl Shutdown {
    /// True while the policy is asked, and what it decides is carried out.
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

    /// The run ends in this state, unless it ends in another one already.
    pub(super) fn begin(&mut self, state: RunState) {
        self.state.get_or_insert(state);
    }

    /// Every task of the job has its result.
    pub(super) fn job_done(&mut self) {
        self.is_done = true;
    }

    /// Returns what the user's request leads to, once.
    pub(super) fn request(&mut self) -> Option<Request> {
        if self.is_done || std::mem::replace(&mut self.is_requested, true) {
            return None;
        }
        Some(if self.has_begun() { Request::StopTheRest } else { Request::Interrupt })
    }

    /// True if an attempt goes on to its end. After a failure those do whose tasks may not run twice: cut off, they would
    /// never be done.
    pub(super) fn spares(&self, is_idempotent: bool) -> bool {
        self.state == Some(RunState::Failed) && !is_idempotent
    }

    /// Returns how the run has ended, if nothing of it runs any more.
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
