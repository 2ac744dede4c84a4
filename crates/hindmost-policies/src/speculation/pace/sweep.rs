//! Phases of very short tasks, in which attempts lag from the age `min_age` on. To watch each of their attempts would cost more
//! than the tasks, so `pace` looks for late attempts of such phases at intervals: when the oldest one that runs gets late.

use hindmost_core::cluster::{Attempt, Cluster, Phase};
use hindmost_core::ids::{AttemptId, TaskId};
use hindmost_core::policy::{Seen, View};
use hindmost_core::record::{Decision, Event};
use hindmost_core::time::Time;

use super::PaceRule;
use crate::speculation::only_copy;

/// When the attempts of short tasks were examined and are examined next.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    /// The time of the last one.
    last: Time,
    /// The time of the next one; `None` while no attempt of a short task runs.
    next: Option<Time>,
}

impl PaceRule {
    /// True if the attempts of a phase lag from the age `min_age` on, because its tasks are so short.
    pub(super) fn is_short(&self, task: TaskId, phase: &Phase, view: &View<'_>) -> bool {
        !phase.is_assumed()
            && !self.sees_progress(view.estimator, task, phase)
            && self.parameters.late * phase.p90().max(phase.median()) < self.parameters.min_age
    }

    /// Plans the next sweep when an attempt of a short task starts, and adds the attempts that are late to the candidates at the
    /// time of a sweep.
    pub(super) fn sweep(&mut self, seen: Seen<'_>, view: &mut View<'_>, candidates: &mut Vec<AttemptId>) {
        let cluster = view.cluster;
        match seen {
            Seen::Decision(Decision::Start { attempt, .. })
                if self.sweep.next.is_none()
                    && cluster.phase(attempt.task).is_some_and(|phase| self.is_short(attempt.task, phase, view)) =>
            {
                self.sweep_at(cluster.now() + self.short_age(), view);
            }
            // Attempts that have started at this moment are not watched either.
            Seen::Event(Event::DurationsLearned { job, phase, .. }, _) if self.sweep.next.is_none() => {
                let learned = cluster.job(*job).and_then(|job| job.phases().get(*phase as usize));
                if learned
                    .is_some_and(|found| self.is_short(TaskId { job: *job, phase: *phase, index: 0 }, found, view))
                {
                    self.sweep_at(cluster.now() + self.short_age(), view);
                }
            }
            Seen::Event(Event::Woken, _) if self.sweep.next.is_some_and(|next| next <= cluster.now()) => {
                let mut running = self.short_attempts(cluster, view);
                running.sort_unstable();
                let age = self.short_age();
                let late = |since: Time| since + age;
                let (last, now) = (std::mem::replace(&mut self.sweep.last, cluster.now()), cluster.now());
                for (_, id) in running.iter().filter(|(since, _)| late(*since) > last && late(*since) <= now) {
                    candidates.push(*id);
                    if self.saving {
                        self.wake_for(*id, view);
                    }
                }
                self.sweep.next = None;
                if let Some((since, _)) = running.iter().find(|(since, _)| late(*since) > now) {
                    self.sweep_at(late(*since), view);
                }
            }
            _ => {}
        }
    }

    /// Returns the time after its start from which on an attempt of a short task is late.
    fn short_age(&self) -> Time {
        Time::from_seconds(self.parameters.min_age) + Time::TICK
    }

    fn sweep_at(&mut self, at: Time, view: &mut View<'_>) {
        self.sweep.next = Some(at);
        // Both passes sweep at the same times, so one request is enough.
        if self.saving {
            view.wake(at);
        }
    }

    /// Returns the running attempts of short tasks, with their starts.
    fn short_attempts(&self, cluster: &Cluster, view: &View<'_>) -> Vec<(Time, AttemptId)> {
        let running = cluster.running().map(Attempt::id);
        let short = running.filter_map(|id| {
            let (attempt, phase) = only_copy(id, cluster)?;
            self.is_short(id.task, phase, view).then_some((attempt.began(cluster.now()), id))
        });
        short.collect()
    }
}
