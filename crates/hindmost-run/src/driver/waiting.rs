//! Attempts that the policy has decided and that can't be started yet: the system lacks processes or open files, or the
//! attempt that they replace has not ended.
//!
//! Invariant: the driver tries to start an attempt again, with growing pauses, while another attempt runs whose end could
//! help. If no other attempt runs, it gives up after [`TRIES`] tries.

use hindmost_core::ids::{AttemptId, JobId};
use hindmost_core::time::Time;
use rustc_hash::FxHashMap;

/// Time between the first and the second try to start an attempt: 100 ms. It grows with each try, up to 1 s.
const RETRY: Time = Time(100_000_000);
/// Most tries to start an attempt while no other attempt runs. With their pauses they take a minute and a half.
const TRIES: u32 = 100;

/// The number of tries to start an attempt, and whether it waits for the next one.
#[derive(Default)]
struct Tried {
    times: u32,
    waits: bool,
}

/// The attempts that wait to be started.
#[derive(Default)]
pub(super) struct Waiting {
    tried: FxHashMap<AttemptId, Tried>,
    /// Replacements, by the attempt that they replace and whose end they wait for.
    replacements: FxHashMap<AttemptId, AttemptId>,
}

impl Waiting {
    /// True if an attempt that could not be started may be tried again.
    pub(super) fn may_retry(&self, attempt: AttemptId, others_run: bool) -> bool {
        others_run || self.tried.get(&attempt).is_none_or(|tried| tried.times < TRIES)
    }

    /// Counts a failed try to start an attempt. Returns the time until the next try, and whether this is the only attempt
    /// that has failed to start.
    pub(super) fn retry(&mut self, attempt: AttemptId) -> (Time, bool) {
        let is_first = self.tried.is_empty();
        let tried = self.tried.entry(attempt).or_default();
        tried.times += 1;
        tried.waits = true;
        (Time(RETRY.0 * u64::from(tried.times).min(10)), is_first)
    }

    /// True if an attempt waits for its next try.
    pub(super) fn waits(&self, attempt: AttemptId) -> bool {
        self.tried.get(&attempt).is_some_and(|tried| tried.waits)
    }

    /// True if an attempt of a job waits for its next try.
    pub(super) fn has_of(&self, job: JobId) -> bool {
        self.tried.iter().any(|(attempt, tried)| attempt.task.job == job && tried.waits)
    }

    /// True if no attempt waits for its next try.
    pub(super) fn is_empty(&self) -> bool {
        !self.tried.values().any(|tried| tried.waits)
    }

    /// Notes that an attempt is being started and no longer waits.
    pub(super) fn tries(&mut self, attempt: AttemptId) {
        if let Some(tried) = self.tried.get_mut(&attempt) {
            tried.waits = false;
        }
    }

    /// Discards the tries of an attempt that has ended.
    pub(super) fn forget(&mut self, attempt: AttemptId) {
        self.tried.remove(&attempt);
    }

    /// Lets the attempt `new` wait for the end of `old`, which it replaces.
    pub(super) fn replace(&mut self, old: AttemptId, new: AttemptId) {
        self.replacements.insert(old, new);
    }

    /// Removes and returns the attempt that waits for the end of `old`; `None` if there is none.
    pub(super) fn replacement_of(&mut self, old: AttemptId) -> Option<AttemptId> {
        self.replacements.remove(&old)
    }

    /// True if an attempt waits for the end of the attempt that it replaces.
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
    fn pauses_grow_and_tries_end_when_nothing_else_runs() {
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
    fn a_replacement_is_returned_once() {
        let mut waiting = Waiting::default();
        waiting.replace(copy(0), copy(1));
        assert!(waiting.is_replacement(copy(1)) && !waiting.is_replacement(copy(0)));
        assert_eq!((waiting.replacement_of(copy(0)), waiting.replacement_of(copy(0))), (Some(copy(1)), None));
    }
}
