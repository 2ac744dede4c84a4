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
    /// Attempts that got `SIGTERM` are killed at once.
    KillTheRest,
}

/// Whether a run ends, and why.
#[derive(Debug, Default)]
pub(super) struct Shutdown {
    state: Option<RunState>,
    is_done: bool,
    /// Number of the user's requests to stop that had an effect.
    requests: u32,
    drains: bool,
    /// True if no attempt may run to its end any more.
    spares_none: bool,
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

    /// Returns the next effect of the user's requests to stop, of which there were so many; `None` if all of them had their effects.
    pub(super) fn request(&mut self, requests: u32) -> Option<Request> {
        if self.requests >= requests.min(3) {
            return None;
        }
        self.requests += 1;
        Some(match self.requests {
            // Nothing is lost then.
            _ if self.is_done => Request::KillTheRest,
            1 if !self.has_begun() => Request::Interrupt,
            1 | 2 => Request::StopTheRest,
            _ => Request::KillTheRest,
        })
    }

    /// True if an attempt may run to its end although the run ends. This holds for tasks that may not run twice (`idempotent = false`),
    /// because a task that is stopped could not run again.
    pub(super) fn spares(&self, is_idempotent: bool) -> bool {
        matches!(self.state, Some(RunState::Failed | RunState::Interrupted)) && !is_idempotent && !self.spares_none
    }

    /// Lets no attempt run to its end any more if the run ends.
    pub(super) fn spare_none(&mut self) {
        self.spares_none = true;
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
    fn each_request_to_stop_counts_once() {
        let mut run = Shutdown::default();
        assert_eq!((run.request(1), run.request(1)), (Some(Request::Interrupt), None));
        run.begin(RunState::Interrupted);
        assert!(run.spares(false) && !run.spares(true));
        assert_eq!((run.request(2), run.request(2)), (Some(Request::StopTheRest), None));
        assert_eq!((run.request(3), run.request(9)), (Some(Request::KillTheRest), None));
        let mut failed = Shutdown::default();
        failed.begin(RunState::Failed);
        assert_eq!(failed.request(1), Some(Request::StopTheRest));
        // A signal that counts as two.
        let mut both = Shutdown::default();
        assert_eq!(both.request(2), Some(Request::Interrupt));
        assert_eq!((both.request(2), both.request(2)), (Some(Request::StopTheRest), None));
        let mut done = Shutdown::default();
        done.job_done();
        assert_eq!((done.request(1), done.end()), (Some(Request::KillTheRest), Some(RunState::Done)));
        assert!(!done.spares(false));
        run.spare_none();
        assert!(!run.spares(false));
    }
}
