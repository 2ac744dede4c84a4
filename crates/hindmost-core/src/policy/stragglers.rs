//! Backups for attempts that a rule on remaining time finds too slow: the part that Mantri, SDA, ESE
//! and Hadoop's rule share.
//!
//! Each attempt that is its task's only copy is watched for the rule's condition, so nothing is
//! scanned. An attempt that meets it is a candidate until it ends, gets its backup or, asked again
//! when room is there, fails the test.

use crate::cluster::{Attempt, Cluster, Job, Node, Phase};
use crate::estimator::{Pace, Test};
use crate::ids::AttemptId;
use crate::record::{Decision, Event};
use crate::workload::PhaseSpec;

use super::{Pass, Round, Seen, View, is_only_copy};

/// What makes an attempt a straggler, and what is done about it.
pub trait StragglerRule: Send {
    /// The question asked of every attempt of a phase.
    fn test(&mut self, phase: &Phase, spec: &PhaseSpec) -> Test;

    /// Copies that a straggler's task shall have in all, its own included.
    fn copies(&mut self, _phase: &Phase) -> u32 {
        2
    }

    /// True if the candidate with the longest remaining time is served first; otherwise the first
    /// by id.
    fn longest_first(&self) -> bool {
        true
    }

    /// How often at most a task's straggler that gets no room is stopped and started afresh in its
    /// own.
    fn restarts(&self) -> u32 {
        0
    }

    /// True if backups of the job are allowed now.
    fn allows(&self, _job: &Job) -> bool {
        true
    }
}

/// The pass that starts backups for the stragglers of a rule. See the module's documentation.
pub struct Stragglers<R> {
    rule: R,
    candidates: Vec<AttemptId>,
}

impl<R: StragglerRule> Stragglers<R> {
    /// A pass for this rule.
    pub fn new(rule: R) -> Stragglers<R> {
        Stragglers { rule, candidates: Vec::new() }
    }

    fn watch(&mut self, id: AttemptId, view: &mut View<'_>) {
        let cluster = view.cluster;
        let Some(attempt) = cluster.attempt(id) else { return };
        if !is_only_copy(cluster, attempt) {
            return;
        }
        let Some((phase, spec)) = phase_of(cluster, attempt) else { return };
        let test = self.rule.test(phase, spec);
        if let Some(condition) = view.estimator.condition(test, phase, Pace::of(cluster, attempt)) {
            view.watch(id, condition);
        }
    }

    /// The candidates that are still stragglers and may be helped now, the first to be helped
    /// first. Those that never will be are forgotten.
    fn sort_candidates(&mut self, round: &Round<'_>) -> Vec<AttemptId> {
        let cluster = round.cluster();
        let mut waiting = Vec::with_capacity(self.candidates.len());
        let rule = &mut self.rule;
        self.candidates.retain(|id| {
            let Some(attempt) = cluster.attempt(*id).filter(|attempt| is_only_copy(cluster, attempt)) else {
                return false;
            };
            let Some((phase, spec)) = phase_of(cluster, attempt) else { return false };
            if !round.estimator.holds(rule.test(phase, spec), cluster, attempt) {
                // A known remaining time only gets shorter; by age it may yet grow.
                return attempt.expected_finish().is_none();
            }
            if cluster.job(id.task.job).is_some_and(|job| rule.allows(job)) {
                let remaining = round.estimator.remaining(cluster, attempt).unwrap_or(0.0);
                waiting.push((if rule.longest_first() { -remaining } else { 0.0 }, *id));
            }
            true
        });
        waiting.sort_unstable_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
        waiting.into_iter().map(|(_, id)| id).collect()
    }
}

fn phase_of<'a>(cluster: &'a Cluster, attempt: &Attempt) -> Option<(&'a Phase, &'a PhaseSpec)> {
    let job = cluster.job(attempt.id().task.job)?;
    let at = attempt.id().task.phase as usize;
    job.phases().get(at).zip(job.spec().phases.get(at))
}

/// True if an attempt's remaining time is longer than a fresh copy is expected to take on the same node.
fn restart_pays(round: &Round<'_>, id: AttemptId) -> bool {
    let cluster = round.cluster();
    let Some(attempt) = cluster.attempt(id) else { return false };
    let Some((_, spec)) = phase_of(cluster, attempt) else { return false };
    let fresh = Pace::new(cluster.node(attempt.node()).map_or(1.0, Node::speed), 0.0).seconds(spec.mean);
    round.estimator.remaining(cluster, attempt).is_some_and(|remaining| remaining > fresh)
}

impl<R: StragglerRule> Pass for Stragglers<R> {
    fn observe(&mut self, seen: Seen<'_>, view: &mut View<'_>) {
        match seen {
            Seen::Decision(Decision::Start { attempt, .. }) => self.watch(*attempt, view),
            Seen::Event(Event::WatchMet { attempt, .. }, _) => self.candidates.push(*attempt),
            // A copy that broke or was replaced may leave another alone, which then is watched.
            Seen::Event(Event::AttemptFailed { attempt } | Event::AttemptStopped { attempt }, _) => {
                let left = view.cluster.copies(attempt.task).next().map(Attempt::id);
                if let Some(left) = left {
                    self.watch(left, view);
                }
            }
            _ => {}
        }
    }

    fn decide(&mut self, round: &mut Round<'_>) {
        if self.candidates.is_empty() || (round.cluster().open_nodes() == 0 && self.rule.restarts() == 0) {
            return;
        }
        for id in self.sort_candidates(round) {
            // A backup of this round may have used up what the job is allowed.
            if !round.cluster().job(id.task.job).is_some_and(|job| self.rule.allows(job)) {
                continue;
            }
            let Some(phase) = round.cluster().phase(id.task) else { continue };
            let wanted = self.rule.copies(phase).saturating_sub(1);
            let helped = round.start_copies(id.task, wanted) > 0
                || (wanted > 0 && id.copy < self.rule.restarts() && restart_pays(round, id) && round.replace(id));
            if helped {
                round.requeue(id.task.job);
            } else if round.cluster().open_nodes() == 0 && self.rule.restarts() == 0 {
                return;
            }
        }
    }
}
