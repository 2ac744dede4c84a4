//! The tasks with more copies than may keep running, by when they must be examined, and which copies are
//! stopped.

use std::collections::BTreeSet;

use hindmost_core::cluster::Attempt;
use hindmost_core::ids::{AttemptId, TaskId};
use hindmost_core::policy::Round;
use hindmost_core::record::{Decision, StopReason};
use hindmost_core::time::Time;
use rustc_hash::FxHashMap;

use super::outlook::{running, sees_ends};
use super::{OsdiRule, report};

/// Tasks that may have more copies than may keep running.
#[derive(Debug, Default)]
pub(super) struct Crowded {
    /// The tasks to examine in the next round.
    next: BTreeSet<TaskId>,
    /// The tasks to examine once a copy has run for long enough or should have ended.
    later: BTreeSet<(Time, TaskId)>,
    /// The times by which `later` is sorted.
    due: FxHashMap<TaskId, Time>,
}

impl Crowded {
    /// Has a task examined in the next round.
    pub(super) fn add(&mut self, task: TaskId) {
        self.remove(task);
        self.next.insert(task);
    }

    /// Has a task examined at a time, unless it changes before.
    pub(super) fn wait(&mut self, task: TaskId, until: Time) {
        self.due.insert(task, until);
        self.later.insert((until, task));
    }

    /// Forgets a task.
    pub(super) fn remove(&mut self, task: TaskId) {
        self.next.remove(&task);
        if let Some(at) = self.due.remove(&task) {
            self.later.remove(&(at, task));
        }
    }

    /// Has a task that waits for its time examined in the next round, because it has changed.
    pub(super) fn changed(&mut self, task: TaskId) {
        if !self.due.is_empty() && self.due.contains_key(&task) {
            self.add(task);
        }
    }

    /// Has all tasks examined in the next round.
    pub(super) fn all_changed(&mut self) {
        self.next.extend(self.due.drain().map(|(task, _)| task));
        self.later.clear();
    }

    /// Removes and returns the tasks to examine now, in order.
    pub(super) fn take(&mut self, now: Time) -> BTreeSet<TaskId> {
        while let Some((at, task)) = self.later.first().copied().filter(|(at, _)| *at <= now) {
            self.later.remove(&(at, task));
            self.due.remove(&task);
            self.next.insert(task);
        }
        std::mem::take(&mut self.next)
    }
}

impl OsdiRule {
    /// Stops the copies that have run for Δ and are slower than α others, and forgets tasks that have no such copies.
    pub(super) fn stop_slow_copies(&mut self, round: &mut Round<'_>) {
        let kept = self.parameters.copies as usize;
        for task in self.crowded.take(round.cluster().now()) {
            let cluster = round.cluster();
            let Some(phase) = cluster.phase(task) else { continue };
            let (now, report) = (cluster.now(), Time::from_seconds(report(&self.parameters, phase)));
            let known = running(task, cluster).filter_map(|copy| {
                let remaining = round.estimator.remaining(cluster, copy)?;
                Some((remaining, copy.id(), copy.since() + report))
            });
            let mut known: Vec<(f64, AttemptId, Time)> = known.collect();
            known.sort_unstable_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
            let slow: Vec<AttemptId> =
                known.iter().skip(kept).filter(|copy| copy.2 <= now).map(|copy| copy.1).collect();
            if running(task, cluster).count() > kept + slow.len() {
                // The order of the copies changes when one does not end as expected, and whenever only ages are known.
                let old_enough = known.iter().skip(kept).map(|copy| copy.2).filter(|at| now < *at);
                let ends = running(task, cluster).filter_map(Attempt::expected_finish).filter(|end| now < *end);
                if slow.is_empty() && sees_ends(phase, round) {
                    self.crowded.wait(task, old_enough.chain(ends).min().unwrap_or(Time::NEVER));
                } else {
                    self.crowded.add(task);
                }
            }
            for attempt in slow {
                round.decide(Decision::Stop { attempt, reason: StopReason::Overtaken });
                round.because(|| format!("{kept} other copies of its task are expected to end sooner"));
                round.decide(Decision::Wake { at: now });
            }
        }
    }
}
