//! What a policy has learned from the copies of a phase, and the attempts that therefore got no copy.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::ids::{AttemptId, JobId};
use crate::record::{Decision, Event};
use crate::time::Time;

/// What a policy has learned from the copies of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Learned {
    /// Number of copies that were faster than an older attempt of their task.
    pub won: u32,
    /// Number of copies that were slower than an older attempt of their task, or took so long that their task itself seemed to
    /// take long. A copy that took long and won counts in both.
    pub lost: u32,
    /// The weights of the lost copies: less than 1 for a copy that had no time to finish.
    pub lost_weight: f64,
    /// What follows for the next copies of the phase.
    pub effect: Effect,
    /// How many times the usual age an attempt needs for a copy, or the usual remaining time if the phase reports progress.
    pub factor: f64,
    /// True if the policy knows only the ages of the phase's attempts, because they report no progress.
    pub by_age: bool,
    /// Probability that a copy takes as long as its original, in [0, 1]; `None` if the policy does not use it.
    pub as_long: Option<f64>,
    /// The attempts that got a copy later because of this, or none.
    pub held_back: HeldBack,
}

impl Learned {
    /// Returns true if no copy has taught anything and no attempt was held back.
    pub fn is_nothing(&self) -> bool {
        self.won == 0 && self.lost == 0 && self.held_back == HeldBack::default()
    }
}

/// What follows from the copies of a phase for its next ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Copies start under the usual conditions.
    Usual,
    /// Copies have neither won nor lost often enough: one of the phase is tried at a time.
    OneAtATime,
    /// Copies win: they start as soon as an attempt is late.
    Sooner,
    /// Copies lose: an attempt must be older, or need longer, before it gets one.
    Rarer,
}

/// Numbers of attempts that got a copy later than usual, or none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HeldBack {
    /// Because of what copies have shown.
    pub by_outcomes: u32,
    /// Because the copies of the job had cost as much as they may.
    pub by_budget: u32,
    /// Because no resources were free for a copy, and in the end for no other reason.
    pub by_resources: u32,
}

/// Why an attempt gets no copy now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HeldBackBy {
    /// What copies have shown.
    Outcomes,
    /// The copies of the job have cost as much as they may.
    Budget,
    /// No resources are free for a copy.
    Resources,
}

/// An attempt that gets no copy, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct NoCopy {
    /// The attempt.
    pub attempt: AttemptId,
    /// The kind of the reason.
    pub by: HeldBackBy,
    /// The reason.
    pub why: String,
}

/// Why a running attempt was held back.
#[derive(Debug, Default)]
struct Reasons {
    /// The time from which on it would usually have got a copy, for each reason.
    since: BTreeMap<HeldBackBy, Time>,
    /// The latest reason.
    latest: Option<HeldBackBy>,
}

/// Counts the attempts that were held back, by phase.
#[derive(Debug, Default)]
pub(crate) struct HeldBackCounts {
    /// The running attempts that were held back.
    running: BTreeMap<AttemptId, Reasons>,
    /// The attempts that have ended or got their copy.
    ended: BTreeMap<(JobId, u32), HeldBack>,
    /// The reasons since they were last taken.
    notes: Vec<NoCopy>,
}

impl HeldBackCounts {
    /// Notes that an attempt gets no copy now, although it usually gets one at the time `since`, which may lie ahead.
    pub(crate) fn add(&mut self, note: NoCopy, since: Time) {
        let reasons = self.running.entry(note.attempt).or_default();
        let known = reasons.since.entry(note.by).or_insert(since);
        *known = (*known).min(since);
        reasons.latest = Some(note.by);
        self.notes.push(note);
    }

    /// Returns the reasons since the last call.
    pub(crate) fn take_notes(&mut self) -> Vec<NoCopy> {
        std::mem::take(&mut self.notes)
    }

    /// Observes an event that was applied at the time `now`.
    pub(crate) fn event(&mut self, event: &Event, now: Time) {
        if let Event::AttemptFinished { attempt }
        | Event::AttemptFailed { attempt, .. }
        | Event::AttemptStopped { attempt } = event
        {
            self.end(*attempt, now);
        }
    }

    /// Observes a decision that was made at the time `now`. A copy of a task ends the waiting of its other attempts.
    pub(crate) fn decision(&mut self, decision: &Decision, now: Time) {
        if let Decision::Start { attempt, .. } = decision {
            let first = AttemptId { copy: 0, ..*attempt };
            let waiting: Vec<AttemptId> = self.running.range(first..*attempt).map(|(id, _)| *id).collect();
            for id in waiting {
                self.end(id, now);
            }
        }
    }

    fn end(&mut self, attempt: AttemptId, now: Time) {
        let Some(held) = self.running.remove(&attempt) else { return };
        self.ended.entry((attempt.task.job, attempt.task.phase)).or_default().add(&held, now);
    }

    /// Returns the counts of a phase at the time `now`.
    pub(crate) fn of(&self, job: JobId, phase: u32, now: Time) -> HeldBack {
        let mut counts = self.ended.get(&(job, phase)).copied().unwrap_or_default();
        for (_, held) in self.running.iter().filter(|(id, _)| (id.task.job, id.task.phase) == (job, phase)) {
            counts.add(held, now);
        }
        counts
    }

    /// Forgets a job.
    pub(crate) fn forget(&mut self, job: JobId) {
        self.running.retain(|id, _| id.task.job != job);
        self.ended.retain(|(of, _), _| *of != job);
    }
}

impl HeldBack {
    fn add(&mut self, held: &Reasons, now: Time) {
        let past: Vec<HeldBackBy> = held.since.iter().filter(|(_, since)| **since < now).map(|(by, _)| *by).collect();
        for by in &past {
            match by {
                HeldBackBy::Outcomes => self.by_outcomes += 1,
                HeldBackBy::Budget => self.by_budget += 1,
                // While another reason holds, free resources would not have been used.
                HeldBackBy::Resources => {
                    self.by_resources += u32::from(past.len() == 1 || held.latest == Some(HeldBackBy::Resources));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{NodeId, TaskId};

    fn attempt(index: u32, copy: u32) -> AttemptId {
        AttemptId { task: TaskId { job: JobId(0), phase: 0, index }, copy }
    }

    fn no_copy(index: u32, by: HeldBackBy) -> NoCopy {
        NoCopy { attempt: attempt(index, 0), by, why: String::new() }
    }

    #[test]
    fn attempts_count_once_their_usual_time_is_past() {
        let mut counts = HeldBackCounts::default();
        counts.add(no_copy(0, HeldBackBy::Outcomes), Time(5));
        counts.add(no_copy(0, HeldBackBy::Outcomes), Time(7));
        counts.add(no_copy(1, HeldBackBy::Outcomes), Time(9));
        counts.add(no_copy(1, HeldBackBy::Budget), Time(2));
        counts.add(no_copy(2, HeldBackBy::Budget), Time(3));
        assert_eq!(counts.take_notes().len(), 5);
        assert_eq!(counts.of(JobId(0), 0, Time(4)), HeldBack { by_budget: 2, ..HeldBack::default() });
        // Attempt 0 ends after its time, attempt 1 gets its copy before the time of one of its two reasons.
        counts.event(&Event::AttemptFinished { attempt: attempt(0, 0) }, Time(6));
        let start = Decision::Start { attempt: attempt(1, 1), node: NodeId(0), from_progress: 0.0 };
        counts.decision(&start, Time(8));
        assert_eq!(counts.of(JobId(0), 0, Time(20)), HeldBack { by_outcomes: 1, by_budget: 2, by_resources: 0 });
        assert_eq!(counts.of(JobId(0), 1, Time(20)), HeldBack::default());
        counts.forget(JobId(0));
        assert_eq!(counts.of(JobId(0), 0, Time(20)), HeldBack::default());
    }

    #[test]
    fn resources_count_if_they_are_the_last_reason() {
        let mut counts = HeldBackCounts::default();
        // Attempt 0 waited for resources at last, attempt 1 only at first.
        counts.add(no_copy(0, HeldBackBy::Budget), Time(2));
        counts.add(no_copy(0, HeldBackBy::Resources), Time(5));
        counts.add(no_copy(1, HeldBackBy::Resources), Time(5));
        counts.add(no_copy(1, HeldBackBy::Budget), Time(6));
        assert_eq!(counts.of(JobId(0), 0, Time(9)), HeldBack { by_outcomes: 0, by_budget: 2, by_resources: 1 });
    }
}
