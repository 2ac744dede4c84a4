//! Attempts that are decided and can't be started yet: for want of processes or open files, or because they replace one
//! that has not ended.
//!
//! Invariant: an attempt is tried again and again, with longer pauses, for as long as the end of another one could help;
//! alone it is tried [`TRIES`] times.

use hindmost_core::ids::AttemptId;
use hindmost_core::time::Time;
use rustc_hash::FxHashMap;

/// Time until an attempt that could not be started is tried again, at first. It grows with each try, up to ten times.
const RETRY: Time = Time(100_000_000);
/// How often an attempt is tried to be started while nothing else runs whose end could help: a minute and a half.
const TRIES: u32 = 100;

/// How often an attempt was tried to be started, and whether it waits for the next time.
#[derive(Default)]
struct Tried {
    times: u32,
    waits: bool,
}

/// The attempts that wait to be started. See the module's documentation.
#[derive(Default)]
pub(super) struct Waiting {
    tried: FxHashMap<AttemptId, Tried>,
    /// The attempts that get the resources of those that are being replaced.
    replacements: FxHashMap<AttemptId, AttemptId>,
}

impl Waiting {
    /// True while an attempt that can't be started may be tried again.
    pub(super) fn may_retry(&self, attempt: AttemptId, others_run: bool) -> bool {
        others_run || self.tried.get(&attempt).is_none_or(|tried| tried.times < TRIES)
    }

    /// An attempt could not be started. Returns after which time it is tried again, and whether it is the only one.
    pub(super) fn retry(&mut self, attempt: AttemptId) -> (Time, bool) {
        let is_first = self.tried.is_empty();
        let tried = self.tried.entry(attempt).or_default();
        tried.times += 1;
        tried.waits = true;
        (Time(RETRY.0 * u64::from(tried.times).min(10)), is_first)
    }

    /// True if an attempt waits to be tried again.
    pub(super) fn waits(&self, attempt: AttemptId) -> bool {
        self.tried.get(&attempt).is_some_and(|tried| tried.waits)
    }

    /// True if no attempt waits to be tried again.
    pub(super) fn is_empty(&self) -> bool {
        !self.tried.values().any(|tried| tried.waits)
    }

    /// An attempt is being started: it does not wait any more.
    pub(super) fn tries(&mut self, attempt: AttemptId) {
        if let Some(tried) = self.tried.get_mut(&attempt) {
            tried.waits = false;
        }
    }

    /// An attempt has ended: how often it was tried does not matter any more.
    pub(super) fn forget(&mut self, attempt: AttemptId) {
        self.tried.remove(&attempt);
    }

    /// An attempt is started once another one, which it replaces, has ended.
    pub(super) fn replace(&mut self, old: AttemptId, new: AttemptId) {
        self.replacements.insert(old, new);
    }

    /// Returns the attempt that may be started now that this one has ended.
    pub(super) fn replacement_of(&mut self, old: AttemptId) -> Option<AttemptId> {
        self.replacements.remove(&old)
    }

    /// True if an attempt waits until the one that it replaces has ended.
    pub(super) fn is_replacement(&self, attempt: AttemptId) -> bool {
        self.replacements.values().any(|new| *new == attempt)
    }
}

#[cfg(test)]
mod tests {
    use hindmost_core::ids::{JobId, TaskId};

    use super::*;

    fn copy(copy: u32) -> AttemptId {
        AttemptId { task: TaskId { job: JobId(0), phase: 0, index: 0 }, copy }
    }

    #[test]
    fn pauses_grow_and_tries_end_unless_something_else_runs() {
        let mut waiting = Waiting::default();
        assert_eq!(waiting.retry(copy(0)), (RETRY, true));
        assert_eq!(waiting.retry(copy(1)), (RETRY, false));
        assert!(waiting.waits(copy(0)) && !waiting.is_empty());
        for time in 2..=TRIES {
            assert!(waiting.may_retry(copy(0), false));
            waiting.tries(copy(0));
            assert!(!waiting.waits(copy(0)));
            assert_eq!(waiting.retry(copy(0)).0, Time(RETRY.0 * u64::from(time.min(10))));
        }
        assert!(!waiting.may_retry(copy(0), false) && waiting.may_retry(copy(0), true));
        waiting.forget(copy(0));
        waiting.tries(copy(1));
        assert!(waiting.may_retry(copy(0), false) && waiting.is_empty());
    }

    #[test]
    fn a_replacement_waits_for_one_end() {
        let mut waiting = Waiting::default();
        waiting.replace(copy(0), copy(1));
        assert!(waiting.is_replacement(copy(1)) && !waiting.is_replacement(copy(0)));
        assert_eq!((waiting.replacement_of(copy(0)), waiting.replacement_of(copy(0))), (Some(copy(1)), None));
    }
}
