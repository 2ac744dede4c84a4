//! What `pace` has learned from copies, in a form for people, and the attempts that got no backup because of it.

use hindmost_core::cluster::{Attempt, Cluster, Phase};
use hindmost_core::estimator::Estimator;
use hindmost_core::ids::{AttemptId, JobId, NodeId, TaskId};
use hindmost_core::policy::{Effect, HeldBack, HeldBackBy, Learned, Round};
use hindmost_core::time::Time;

use super::PaceRule;
use super::evidence::Outcomes;
use super::lateness::{IDLE, PENDING};
use super::worth::price;

/// A lagging attempt that gets no backup in a round, although a node has free resources for it.
#[derive(Clone, Copy)]
pub(super) struct WithoutBackup<'a> {
    pub(super) id: AttemptId,
    /// The node that has free resources.
    pub(super) node: NodeId,
    /// Remaining time of the attempt, in seconds.
    pub(super) remaining: f64,
    /// How many durations of a new copy the remaining time usually must exceed.
    pub(super) usual_factor: f64,
    /// True if only ages are known.
    pub(super) by_age: bool,
    /// True while tasks are pending.
    pub(super) pending: bool,
    /// True if a backup would start now if the budget paid for it.
    pub(super) pays: bool,
    /// Old attempts without copies.
    pub(super) late: &'a [AttemptId],
}

impl PaceRule {
    /// Returns what the copies of a phase have taught.
    pub(super) fn learned_of(&self, job: JobId, phase: u32, cluster: &Cluster, estimator: &dyn Estimator) -> Learned {
        let task = TaskId { job, phase, index: 0 };
        // What is known about single tasks is no property of the phase.
        let outcomes = Outcomes { stopped: 0, ..self.evidence.known_of(task, cluster) };
        let by_age = self.lateness(estimator, task, cluster).is_some();
        let factor = outcomes.factor();
        let effect = match () {
            () if factor > 1.0 => Effect::Rarer,
            () if by_age && outcomes.copies_win() => Effect::Sooner,
            () if by_age && !outcomes.promises() => Effect::OneAtATime,
            () => Effect::Usual,
        };
        let share = self.evidence.task_share(task, cluster);
        Learned {
            won: outcomes.won,
            lost: outcomes.losers,
            lost_weight: outcomes.lost,
            effect,
            factor,
            by_age,
            as_long: (!by_age && share > 0.0).then_some(share),
            held_back: HeldBack::default(),
        }
    }

    /// Notes why an attempt gets no backup, if what copies have shown or what they have cost is the reason.
    pub(super) fn note_held_back(&mut self, without: &WithoutBackup<'_>, round: &mut Round<'_>) {
        if !round.notes_held_back() {
            return;
        }
        let WithoutBackup { id, remaining, pending, .. } = *without;
        if pending && self.ends_with_the_queue(remaining, id, round.cluster()) {
            return;
        }
        if let Some((by, since, why)) = self.held_back(without, round) {
            round.hold_back(id, by, since, || why);
        }
    }

    /// Notes that no resources are free for a backup of a late attempt. It counts as held back by this once it has waited for as long as it
    /// took to be late, and seems to hang if only ages are known: that resources are used by other tasks for a moment is usual.
    pub(super) fn note_no_resources(&self, id: AttemptId, round: &mut Round<'_>) {
        let cluster = round.cluster();
        let Some(attempt) = cluster.attempt(id).filter(|_| round.notes_held_back()) else { return };
        if cluster.phase(id.task).is_none_or(Phase::is_assumed) || self.node_for(id.task, cluster).is_some() {
            return;
        }
        let hung = self.lateness(round.estimator, id.task, cluster).map(|ages| ages.hung(Outcomes::default()));
        let hung = hung.filter(|hung| hung.is_finite()).unwrap_or(0.0);
        let now = cluster.now();
        let since = (now + attempt.age(now)).max(attempt.began(now) + Time::from_seconds(hung));
        round.hold_back(id, HeldBackBy::Resources, since, || "no resources are free for a copy".to_owned());
    }

    /// Returns why an attempt gets no backup, and the time from which on it usually gets one.
    fn held_back(&self, without: &WithoutBackup<'_>, round: &Round<'_>) -> Option<(HeldBackBy, Time, String)> {
        let WithoutBackup { id, node, remaining, usual_factor, pending, .. } = *without;
        let cluster = round.cluster();
        let attempt = cluster.attempt(id)?;
        let (now, fresh) = (cluster.now(), self.fresh((id.task, node), without.by_age, cluster));
        if remaining <= usual_factor * fresh {
            return None;
        }
        let outcomes = self.evidence.of(id.task);
        let shown = shown(outcomes);
        if !without.by_age {
            let needed = usual_factor * outcomes.factor() * fresh;
            let share = self.evidence.task_share(id.task, cluster);
            let why = if remaining <= needed {
                format!("{shown}: its remaining time of {remaining:.2} s must be above {needed:.2} s for a copy")
            } else if self.is_worth(id, node, (remaining, pending), cluster) {
                return if without.pays { self.held_back_by_budget(without, cluster) } else { None };
            } else {
                format!(
                    "a copy takes as long as its original with a probability of {:.0}%, so it would not save enough of \
                     the remaining time of {remaining:.2} s",
                    100.0 * share
                )
            };
            return Some((HeldBackBy::Outcomes, now, why));
        }
        if without.pays {
            return self.held_back_by_budget(without, cluster);
        }
        let ages = self.lateness(round.estimator, id.task, cluster)?;
        let deviations = if pending { PENDING } else { IDLE };
        let usual = ages.limit(deviations, Outcomes::default());
        let needed = ages.limit(deviations, outcomes);
        let age = age_of(attempt, cluster);
        if age <= needed {
            let why = || format!("{shown}: it gets a copy only at the age of {needed:.2} s instead of {usual:.2} s");
            return (needed > usual)
                .then(|| (HeldBackBy::Outcomes, attempt.began(now) + Time::from_seconds(usual), why()));
        }
        (!self.may_try(id, without.node, pending, cluster)).then(|| {
            let why = format!("{shown}, so one copy of the phase is tried at a time, and another one runs");
            (HeldBackBy::Outcomes, now, why)
        })
    }

    fn held_back_by_budget(
        &self,
        without: &WithoutBackup<'_>,
        cluster: &Cluster,
    ) -> Option<(HeldBackBy, Time, String)> {
        let task = without.id.task;
        let now = cluster.now();
        if without.pending && self.evidence.of(task).stopped > 0 {
            let why = "a copy of this task took long as well, so the task itself seems to take long".to_owned();
            return Some((HeldBackBy::Outcomes, now, why));
        }
        let price = price(cluster, without.node, cluster.phase(task)?);
        let (left, budget) = self.budget.left(task.job, without.pending, without.late, cluster);
        (left < price).then(|| {
            let when = if without.pending { " while tasks are pending" } else { "" };
            let why = format!(
                "until copies win, they may cost the job {budget:.2} s of running time{when}, and {:.2} s of it are left: \
                 too little for a copy, which may take {price:.2} s",
                left.max(0.0)
            );
            (HeldBackBy::Budget, now, why)
        })
    }
}

/// Returns what the copies of a phase have shown, as the beginning of a sentence.
fn shown(outcomes: Outcomes) -> String {
    match (outcomes.won, outcomes.losers) {
        (0, 0) => "no copy of the phase has ended yet".to_owned(),
        (won, lost) => format!(
            "{won} copies of the phase were faster than an older attempt of their task and {lost} were slower or took long"
        ),
    }
}

fn age_of(attempt: &Attempt, cluster: &Cluster) -> f64 {
    attempt.age(cluster.now()).seconds()
}
