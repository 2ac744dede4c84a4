//! The attempts that the engine runs.
//!
//! Invariant: the first reason to kill an attempt stays, and decides how its end is counted. Only the loss of the
//! attempt's node replaces an earlier reason, because the cluster has removed the attempt by then. Each attempt has a slot, a
//! number from 1 that no other running attempt has; new attempts get the lowest one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::hash_map::Entry;

use hindmost_core::ids::{AttemptId, JobId, NodeId, TaskId};
use hindmost_core::time::Time;
use rustc_hash::FxHashMap;

use super::progress::Progress;
use super::untouched::Untouched;
use crate::engine::WrittenFile;
use crate::store::Reads;
use hindmost_core::learning::Observed;

/// Number of files that are noted of an attempt at most.
const MOST_WRITTEN: usize = 16;

/// Why an attempt is being killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kill {
    /// The policy decided to stop the attempt.
    Decided,
    /// Fault injection (`--chaos kill`) kills the attempt.
    FaultInjection,
    /// The attempt has reached the time limit of its phase.
    TimeLimit,
    /// The attempt needs this many bytes of memory, more than its phase allows.
    Memory(u64),
    /// Two attempts of the task have one file open for writing.
    SharedFile,
    /// The attempt's node is lost.
    NodeLost,
    /// The run ends, and so do all its attempts.
    Shutdown,
}

/// An attempt that the engine runs.
#[derive(Clone, Debug)]
pub(super) struct Running {
    pub(super) node: NodeId,
    pub(super) progress: Progress,
    /// What it reads, as it was when it began.
    pub(super) reads: Reads,
    kill: Option<Kill>,
    slot: u32,
    /// When the engine was requested to start the attempt, if its command has not begun yet.
    launched: Option<Time>,
    /// What has ended the attempt, if its command is not to blame.
    pub(super) cut_short: Option<String>,
    /// Files outside its folder that it was seen to have open for writing, at most [`MOST_WRITTEN`].
    pub(super) wrote: Vec<WrittenFile>,
    /// What decides whether it may be stopped so that its task starts again; `None` if it has to be waited for.
    untouched: Option<Untouched>,
}

impl Running {
    /// True if the attempt's command has not begun yet.
    pub(super) fn is_starting(&self) -> bool {
        self.launched.is_some()
    }

    /// Returns what shows whether the attempt has changed files that its command names; `None` if nothing does.
    pub(super) fn untouched(&self) -> Option<&Untouched> {
        self.untouched.as_ref()
    }

    /// Returns why this attempt is being killed; `None` if it is not.
    pub(super) fn kill(&self) -> Option<Kill> {
        self.kill
    }

    /// Returns the observation of this attempt for the learner.
    pub(super) fn observed(&self, attempt: AttemptId, now: Time) -> Observed {
        let Progress { since, share, .. } = self.progress;
        let progress = Some(self.progress.now(now)).filter(|share| *share > 0.0);
        let predicts_duration = share < 1.0 && self.progress.stalled_for(now).is_none();
        let (age, work) = ((now - since).seconds(), self.progress.own_work());
        Observed {
            attempt,
            node: self.node,
            at: now,
            age,
            work,
            progress: progress.map(|own| own * work),
            predicts_duration,
        }
    }
}

/// The attempts that the engine runs, including those that are being killed and have not ended.
#[derive(Default)]
pub(super) struct Attempts {
    running: FxHashMap<AttemptId, Running>,
    /// Number of attempts of each job that has any.
    by_job: FxHashMap<JobId, usize>,
    /// Slots that were used and are free again.
    free: BinaryHeap<Reverse<u32>>,
    /// Number of slots that were ever used.
    slots: u32,
}

impl Attempts {
    /// Adds an attempt that the engine has started or adopted, that runs since `since`, and that leaves out the share `from`
    /// of its task's work. `reads` is what it reads.
    pub(super) fn insert(&mut self, attempt: AttemptId, node: NodeId, (since, from): (Time, f64), reads: Reads) {
        let slot = self.next_slot();
        if self.free.pop().is_none() {
            self.slots = slot;
        }
        let new = Running {
            node,
            progress: Progress::resumed(since, from),
            reads,
            kill: None,
            slot,
            launched: None,
            cut_short: None,
            wrote: Vec::new(),
            untouched: None,
        };
        match self.running.insert(attempt, new) {
            Some(earlier) => self.free.push(Reverse(earlier.slot)),
            None => *self.by_job.entry(attempt.task.job).or_default() += 1,
        }
    }

    /// Notes what decides whether an attempt may be stopped so that its task starts again.
    pub(super) fn note_untouched(&mut self, attempt: AttemptId, untouched: Option<Untouched>) {
        if let Some(running) = self.running.get_mut(&attempt) {
            running.untouched = untouched;
        }
    }

    /// Returns the slot that the next new attempt gets.
    pub(super) fn next_slot(&self) -> u32 {
        self.free.peek().map_or(self.slots + 1, |Reverse(slot)| *slot)
    }

    /// Removes an attempt that has ended.
    pub(super) fn remove(&mut self, attempt: AttemptId) -> Option<Running> {
        let removed = self.running.remove(&attempt);
        if removed.is_some()
            && let Entry::Occupied(mut count) = self.by_job.entry(attempt.task.job)
        {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
        self.free.extend(removed.iter().map(|running| Reverse(running.slot)));
        removed
    }

    pub(super) fn get(&self, attempt: AttemptId) -> Option<&Running> {
        self.running.get(&attempt)
    }

    pub(super) fn contains(&self, attempt: AttemptId) -> bool {
        self.running.contains_key(&attempt)
    }

    /// True if a job has attempts.
    pub(super) fn has_of(&self, job: JobId) -> bool {
        self.by_job.contains_key(&job)
    }

    pub(super) fn len(&self) -> usize {
        self.running.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// Returns all attempts in arbitrary order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (AttemptId, &Running)> {
        self.running.iter().map(|(attempt, running)| (*attempt, running))
    }

    /// Returns an attempt's progress, so that it can be updated.
    pub(super) fn progress_mut(&mut self, attempt: AttemptId) -> Option<&mut Progress> {
        self.running.get_mut(&attempt).map(|running| &mut running.progress)
    }

    /// Returns the attempts that fulfil a condition, sorted by id.
    pub(super) fn matching(&self, is_wanted: impl Fn(AttemptId, &Running) -> bool) -> Vec<AttemptId> {
        let wanted = self.iter().filter(|(attempt, running)| is_wanted(*attempt, running));
        let mut matching: Vec<AttemptId> = wanted.map(|(attempt, _)| attempt).collect();
        matching.sort_unstable();
        matching
    }

    /// Notes that the engine was requested to start an attempt, whose command has not begun yet.
    pub(super) fn launched(&mut self, attempt: AttemptId, at: Time) {
        if let Some(running) = self.running.get_mut(&attempt) {
            running.launched = Some(at);
        }
    }

    /// Notes that the command of an attempt has begun, this long after the engine was requested to start it. Returns the time of the
    /// begin; `None` if no begin of the attempt is expected.
    pub(super) fn begin(&mut self, attempt: AttemptId, after: Time, now: Time) -> Option<Time> {
        let running = self.running.get_mut(&attempt)?;
        let began = (running.launched.take()? + after).min(now);
        running.progress = running.progress.begun_at(began);
        Some(running.progress.since)
    }

    /// Notes files outside its folder that an attempt has open for writing.
    pub(super) fn note_written(&mut self, attempt: AttemptId, files: Vec<WrittenFile>) {
        let Some(running) = self.running.get_mut(&attempt) else { return };
        for file in files {
            if running.wrote.len() < MOST_WRITTEN && running.wrote.iter().all(|known| known.place != file.place) {
                running.wrote.push(file);
            }
        }
    }

    /// Notes what has ended an attempt whose command is not to blame.
    pub(super) fn note_cut_short(&mut self, attempt: AttemptId, why: String) {
        if let Some(running) = self.running.get_mut(&attempt) {
            running.cut_short = Some(why);
        }
    }

    /// Sets the reason to kill an attempt. Returns whether it is the first reason; `None` if the attempt does not run.
    pub(super) fn kill(&mut self, attempt: AttemptId, why: Kill) -> Option<bool> {
        let running = self.running.get_mut(&attempt)?;
        let is_first = running.kill.is_none();
        if is_first || why == Kill::NodeLost {
            running.kill = Some(why);
        }
        Some(is_first)
    }

    /// Returns the observations of all attempts whose commands have begun and that are not being killed, sorted by id.
    pub(super) fn observed(&self, now: Time) -> Vec<Observed> {
        let kept = self.iter().filter(|(_, running)| running.kill.is_none() && !running.is_starting());
        let mut observed: Vec<Observed> = kept.map(|(attempt, running)| running.observed(attempt, now)).collect();
        observed.sort_unstable_by_key(|seen| seen.attempt);
        observed
    }

    /// Discards the progress of all attempts of a task's phase that was derived from reading the input, or from reports. Returns the
    /// attempts whose progress is unknown again.
    pub(super) fn forget_progress(&mut self, task: TaskId, by_reading: bool) -> Vec<AttemptId> {
        let is_of_phase = |attempt: AttemptId| (attempt.task.job, attempt.task.phase) == (task.job, task.phase);
        let concerned =
            self.matching(|attempt, running| is_of_phase(attempt) && running.progress.by_reading == by_reading);
        for attempt in &concerned {
            if let Some(progress) = self.progress_mut(*attempt) {
                *progress = progress.unreported();
            }
        }
        concerned
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(index: u32) -> AttemptId {
        AttemptId { task: TaskId { job: JobId(0), phase: 0, index }, copy: 0 }
    }

    #[test]
    fn the_first_reason_to_kill_stays() {
        let mut attempts = Attempts::default();
        attempts.insert(attempt(0), NodeId(0), (Time::ZERO, 0.0), Reads::default());
        assert_eq!(attempts.kill(attempt(0), Kill::FaultInjection), Some(true));
        assert_eq!(attempts.kill(attempt(0), Kill::Decided), Some(false));
        assert_eq!(attempts.get(attempt(0)).unwrap().kill(), Some(Kill::FaultInjection));
        assert_eq!(attempts.kill(attempt(0), Kill::NodeLost), Some(false));
        assert_eq!(attempts.kill(attempt(0), Kill::Shutdown), Some(false));
        assert_eq!(attempts.remove(attempt(0)).unwrap().kill(), Some(Kill::NodeLost));
        assert_eq!(attempts.kill(attempt(0), Kill::Decided), None);
    }

    #[test]
    fn new_attempts_get_the_lowest_free_slot() {
        let mut attempts = Attempts::default();
        let slots = |attempts: &Attempts| {
            let mut slots: Vec<(u32, u32)> =
                attempts.iter().map(|(attempt, running)| (attempt.task.index, running.slot)).collect();
            slots.sort_unstable();
            slots
        };
        for index in 0..3 {
            attempts.insert(attempt(index), NodeId(0), (Time::ZERO, 0.0), Reads::default());
        }
        assert_eq!((slots(&attempts), attempts.next_slot()), (vec![(0, 1), (1, 2), (2, 3)], 4));
        attempts.remove(attempt(1));
        attempts.remove(attempt(0));
        assert_eq!(attempts.next_slot(), 1);
        attempts.insert(attempt(3), NodeId(0), (Time::ZERO, 0.0), Reads::default());
        attempts.insert(attempt(4), NodeId(0), (Time::ZERO, 0.0), Reads::default());
        assert_eq!((slots(&attempts), attempts.next_slot()), (vec![(2, 3), (3, 1), (4, 2)], 4));
    }

    #[test]
    fn attempts_being_killed_are_not_observed() {
        let mut attempts = Attempts::default();
        for index in [2, 0, 1] {
            attempts.insert(attempt(index), NodeId(index), (Time::ZERO, 0.0), Reads::default());
        }
        attempts.kill(attempt(1), Kill::Decided);
        let observed = attempts.observed(Time::from_seconds(3.0));
        let seen: Vec<_> = observed.iter().map(|seen| (seen.attempt, seen.age, seen.progress)).collect();
        assert_eq!(seen, [(attempt(0), 3.0, None), (attempt(2), 3.0, None)]);
    }
}
