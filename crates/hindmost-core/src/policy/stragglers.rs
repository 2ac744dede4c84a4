//! Backups for attempts that a rule on remaining time finds too slow: the part that Mantri, SDA, ESE
//! and Hadoop's rule share.
//!
//! Each attempt that is its task's only copy is watched for the rule's condition, so nothing is
//! scanned. An attempt that meets it is a candidate until it ends, gets its backup or, asked again
//! when room is there, fails the test.

use crate::cluster::{Attempt, Job, Node, Phase};
use crate::estimator::{Pace, Test};
use crate::ids::AttemptId;
use crate::record::{Decision, Event};

use super::{Pass, Round, Seen, View, is_only_copy};

/// What makes an attempt a straggler, and what is done about it.
pub trait StragglerRule: Send {
    /// The question asked of every attempt of a phase.
    fn test(&mut self, phase: &Phase) -> Test;

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
        let Some(phase) = cluster.phase(id.task).filter(|phase| !phase.is_assumed()) else { return };
        let test = self.rule.test(phase);
        if let Some(condition) = view.estimator.condition(test, phase, Pace::of(cluster, attempt)) {
            view.watch(id, condition);
        }
    }

    fn watch_all(&mut self, view: &mut View<'_>, concerns: impl Fn(&Attempt) -> bool) {
        let mut concerned: Vec<AttemptId> =
            view.cluster.living().filter(|attempt| concerns(attempt)).map(Attempt::id).collect();
        concerned.sort_unstable();
        for id in concerned {
            self.watch(id, view);
        }
    }

    /// The candidates that are still stragglers and may be helped now, the first to be helped
    /// first. Those that never will be are forgotten.
    fn sort_candidates(&mut self, round: &mut Round<'_>) -> Vec<AttemptId> {
        let cluster = round.cluster();
        let mut waiting = Vec::with_capacity(self.candidates.len());
        let mut again = Vec::new();
        // An attempt may meet its watch by age and again by progress.
        self.candidates.sort_unstable();
        self.candidates.dedup();
        let rule = &mut self.rule;
        self.candidates.retain(|id| {
            let Some(attempt) = cluster.attempt(*id).filter(|attempt| is_only_copy(cluster, attempt)) else {
                return false;
            };
            let Some(phase) = cluster.phase(id.task) else { return false };
            let test = rule.test(phase);
            if !round.estimator.holds(test, cluster, attempt) {
                // By age the test may hold again later. A known remaining time only gets shorter, unless a
                // real attempt slows down: that is worth another watch, which costs a simulation nothing.
                let known = attempt.expected_finish().is_some();
                if known {
                    let condition = round.estimator.condition(test, phase, Pace::of(cluster, attempt));
                    again.extend(condition.map(|condition| Decision::Watch { attempt: *id, condition }));
                }
                return !known;
            }
            if cluster.job(id.task.job).is_some_and(|job| rule.allows(job)) {
                let remaining = round.estimator.remaining(cluster, attempt).unwrap_or(0.0);
                waiting.push((if rule.longest_first() { -remaining } else { 0.0 }, *id));
            }
            true
        });
        for watch in again {
            round.decide(watch);
        }
        waiting.sort_unstable_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
        waiting.into_iter().map(|(_, id)| id).collect()
    }
}

/// True if an attempt's remaining time is longer than a fresh copy is expected to take on the same node.
fn restart_pays(round: &Round<'_>, id: AttemptId) -> bool {
    let cluster = round.cluster();
    let Some(attempt) = cluster.attempt(id) else { return false };
    let Some(phase) = cluster.phase(id.task) else { return false };
    let fresh = Pace::new(cluster.node(attempt.node()).map_or(1.0, Node::speed), 0.0).seconds(phase.mean());
    round.estimator.remaining(cluster, attempt).is_some_and(|remaining| remaining > fresh)
}

impl<R: StragglerRule> Pass for Stragglers<R> {
    fn observe(&mut self, seen: Seen<'_>, view: &mut View<'_>) {
        match seen {
            Seen::Decision(Decision::Start { attempt, .. }) => self.watch(*attempt, view),
            Seen::Event(Event::WatchMet { attempt, .. }, _) => self.candidates.push(*attempt),
            // A copy that broke or was replaced may leave another alone, which then is watched.
            Seen::Event(Event::AttemptFailed { attempt, .. } | Event::AttemptStopped { attempt }, _) => {
                let left = view.cluster.copies(attempt.task).next().map(Attempt::id);
                if let Some(left) = left {
                    self.watch(left, view);
                }
            }
            // What is asked of a straggler depends on what is known of its phase and node, and a lost node
            // may have left copies alone.
            Seen::Event(Event::DurationsLearned { job, phase, .. }, _) => {
                self.watch_all(view, |attempt| attempt.id().task.job == *job && attempt.id().task.phase == *phase);
            }
            Seen::Event(Event::NodeSpeedLearned { node, .. }, _) => {
                self.watch_all(view, |attempt| attempt.node() == *node);
            }
            Seen::Event(Event::NodeLost { .. }, _) => self.watch_all(view, |_| true),
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
            let why = self.rule.test(phase).in_words(phase);
            let remaining = round.cluster().attempt(id).and_then(|a| round.estimator.remaining(round.cluster(), a));
            let helped = round.start_copies(id.task, wanted) > 0
                || (wanted > 0 && id.copy < self.rule.restarts() && restart_pays(round, id) && round.replace(id));
            if helped {
                round.because(|| {
                    let remaining = remaining.map_or_else(|| "unknown".to_owned(), |seconds| format!("{seconds:.2} s"));
                    format!("copy {} was found slow: {why} (its remaining time: {remaining})", id.copy)
                });
                round.requeue(id.task.job);
            } else if round.cluster().open_nodes() == 0 && self.rule.restarts() == 0 {
                return;
            }
        }
    }
}
