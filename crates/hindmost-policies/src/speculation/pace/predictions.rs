//! Whether the progress of a phase predicts when its attempts end.
//!
//! The end of an attempt is extrapolated from its progress as if it went on as before. Programs whose progress speeds up (bytes written
//! by one that first prepares, rounds that become shorter) seem to need many times as long as they do, so that attempts get copies that
//! nobody needs. Where that is found, only the ages of the phase's attempts count.
//!
//! An expectation is tested if it is a reason for a copy: when the attempt was found to lag, it was expected to need so long that a copy
//! pays. The latest end that was expected counts. It was wrong if the attempt then wins in less than 1/[`WRONG`] of the remaining time, or
//! is expected to do so by its later progress; otherwise it was right. A phase is misled from the second wrong expectation on, as long as
//! they are more than the right ones.

use hindmost_core::cluster::Cluster;
use hindmost_core::ids::{AttemptId, JobId, TaskId};
use hindmost_core::policy::Seen;
use hindmost_core::record::{Decision, Event};
use hindmost_core::time::Time;
use rustc_hash::FxHashMap;

/// An expected remaining time is wrong if it is more than this many times the actual one.
const WRONG: f64 = 2.0;
/// Number of wrong expectations from which on a phase is misled.
const FEWEST: u32 = 2;

/// The expectations of one phase that were tested.
#[derive(Clone, Copy, Debug, Default)]
struct Tested {
    wrong: u32,
    right: u32,
}

impl Tested {
    fn is_misled(self) -> bool {
        self.wrong >= FEWEST && self.wrong > self.right
    }
}

/// When an attempt was expected to need long.
#[derive(Clone, Copy, Debug)]
struct Expected {
    at: Time,
    /// The latest end that was expected.
    end: Time,
    /// True once it was found to be wrong.
    is_wrong: bool,
}

impl Expected {
    /// Returns true if the attempt ends at this time, or will, in much less than the remaining time that was expected at `from`.
    fn is_refuted(self, end: Time, from: Time) -> bool {
        WRONG * (end - from).seconds() < (self.end - from).seconds()
    }
}

/// The expectations of all phases.
#[derive(Debug, Default)]
pub(super) struct Predictions {
    /// The latest expectations of running attempts.
    expected: FxHashMap<AttemptId, Expected>,
    tested: FxHashMap<(JobId, u32), Tested>,
}

impl Predictions {
    /// Returns true if progress misleads about the ends of the attempts of a task's phase.
    pub(super) fn mislead(&self, task: TaskId) -> bool {
        !self.tested.is_empty() && self.tested.get(&(task.job, task.phase)).is_some_and(|tested| tested.is_misled())
    }

    /// Notes when an attempt is expected to end, if its progress is known and it is expected to need at least `medians` medians of its
    /// phase from now on. Compares it with what was expected before. Returns the phase if progress turns out to mislead.
    pub(super) fn expect(&mut self, attempt: AttemptId, medians: f64, cluster: &Cluster) -> Option<(JobId, u32)> {
        let (found, phase) = cluster.attempt(attempt).zip(cluster.phase(attempt.task))?;
        let now = cluster.now();
        let end = found.expected_finish().filter(|end| *end > now)?;
        let Some(known) = self.expected.get_mut(&attempt) else {
            if (end - now).seconds() > medians * phase.median() {
                self.expected.insert(attempt, Expected { at: now, end, is_wrong: false });
            }
            return None;
        };
        if end > known.end {
            *known = Expected { at: now, end, ..*known };
        } else if !known.is_wrong && known.is_refuted(end, now) {
            known.is_wrong = true;
            return self.count(attempt.task, true);
        }
        None
    }

    /// Counts an expectation. Returns the phase if it changes whether it is misled.
    fn count(&mut self, task: TaskId, is_wrong: bool) -> Option<(JobId, u32)> {
        let tested = self.tested.entry((task.job, task.phase)).or_default();
        let before = tested.is_misled();
        if is_wrong {
            tested.wrong += 1;
        } else {
            tested.right += 1;
        }
        (before != tested.is_misled()).then_some((task.job, task.phase))
    }

    /// Observes a record. Returns the phase of which it has become known that progress misleads, or no longer does.
    pub(super) fn observe(&mut self, seen: Seen<'_>, cluster: &Cluster) -> Option<(JobId, u32)> {
        match seen {
            Seen::Event(Event::AttemptFinished { attempt }, applied) => {
                let expected = self.expected.remove(attempt);
                if applied.job_finished {
                    self.forget_job(attempt.task.job);
                    return None;
                }
                let expected = expected.filter(|expected| applied.won && !expected.is_wrong)?;
                self.count(attempt.task, expected.is_refuted(cluster.now(), expected.at))
            }
            Seen::Event(Event::AttemptFailed { attempt, .. } | Event::AttemptStopped { attempt }, _) => {
                self.expected.remove(attempt);
                None
            }
            Seen::Event(Event::NodeLost { .. }, _) => {
                self.expected.retain(|attempt, _| cluster.attempt(*attempt).is_some());
                None
            }
            Seen::Decision(Decision::Abandon { job }) => {
                self.forget_job(*job);
                None
            }
            _ => None,
        }
    }

    fn forget_job(&mut self, job: JobId) {
        self.expected.retain(|attempt, _| attempt.task.job != job);
        self.tested.retain(|(known, _), _| *known != job);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_wrong_expectations_mislead_unless_as_many_are_right() {
        let tested = |wrong, right| Tested { wrong, right }.is_misled();
        assert_eq!(
            [tested(1, 0), tested(2, 0), tested(2, 1), tested(2, 2), tested(9, 4)],
            [false, true, true, false, true]
        );
    }

    #[test]
    fn an_end_in_half_of_the_expected_time_refutes_it() {
        let [at, end, soon, late] = [1.0, 9.0, 4.9, 5.1].map(Time::from_seconds);
        let expected = Expected { at, end, is_wrong: false };
        assert!(expected.is_refuted(soon, at) && !expected.is_refuted(late, at));
        // From 4 s on, the attempt was expected to need 5 s more.
        let now = Time::from_seconds(4.0);
        assert!(
            !expected.is_refuted(Time::from_seconds(6.6), now) && expected.is_refuted(Time::from_seconds(6.4), now)
        );
    }
}
