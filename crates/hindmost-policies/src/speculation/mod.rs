//! Speculation: backups for running attempts that a rule finds too slow. One pass, and a file a rule.
//!
//! The pass ([`Speculation`]) does what every rule needs: it watches each attempt that is its task's only copy for the
//! rule's condition, so that nothing is scanned; it watches again what was left alone by a failed copy or a lost node, and
//! what a rule asks anew once durations or speeds are learned; it keeps the attempts that met their condition as
//! candidates, and serves them in the rule's order until the rule has no more to give. A rule ([`Rule`]) says which
//! condition to watch for, how to rank candidates, whether one may be helped now, how many copies it gets and where, and
//! whether to replace it.

pub mod ese;
pub mod hadoop;
mod lagging;
pub mod late;
pub mod mantri;
mod node_progress;
pub mod pace;
mod progress_rates;
pub mod sda;
mod sigma_table;
pub mod spark;
mod straggler_test;

use hindmost_core::cluster::{Attempt, Cluster, Phase};
use hindmost_core::ids::AttemptId;
use hindmost_core::policy::{Pass, Round, Seen, View};
use hindmost_core::record::{Condition, Decision, Event};

/// Why an attempt that runs already may have to be watched anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Another copy of its task has failed or was stopped, so that it is the only one now.
    LeftAlone,
    /// A node was lost: copies may have been left alone, attempts are to be watched as after their start.
    NodeLost,
    /// The durations of its phase were learned.
    DurationsLearned,
    /// The speed of its node was learned.
    SpeedLearned,
}

/// What is to be done about a candidate now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Judgement {
    /// Help it; the smallest rank is first, then by id.
    Help(f64),
    /// Leave it alone for now; it stays a candidate.
    Wait,
    /// It is no candidate any more, until it meets a condition again.
    Forget,
    /// As `Forget`, and it is watched for this condition again.
    WatchAgain(Condition),
}

/// What came of helping a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// On with the next one.
    GoOn,
    /// As `GoOn`, and this one is no candidate any more.
    Forget,
    /// The rule has no more to give in this round.
    Enough,
}

/// A rule for backups. See the module's documentation.
pub trait Rule: Send {
    /// Returns the condition under which an attempt of this phase, which is its task's only copy, becomes a candidate;
    /// `None` if it never does.
    fn condition(&mut self, attempt: &Attempt, phase: &Phase, view: &View<'_>) -> Option<Condition>;

    /// True if an attempt that runs already is watched anew for this cause.
    fn watches_again(&self, _cause: Cause, _attempt: &Attempt, _view: &View<'_>) -> bool {
        true
    }

    /// Observes a record, for what the rule counts itself. May add candidates that met no watched condition.
    fn observe(&mut self, _seen: Seen<'_>, _view: &mut View<'_>, _candidates: &mut Vec<AttemptId>) {}

    /// Serves the candidates: the attempts that met their condition and were not forgotten since. Rules that judge and
    /// help one candidate after the other leave it to [`serve_in_turn`].
    fn serve(&mut self, candidates: &mut Vec<AttemptId>, round: &mut Round<'_>);
}

/// A rule that judges all candidates and then helps them one after the other.
pub trait InTurn {
    /// False if nothing can be done in this round, whoever the candidates are.
    fn is_ready(&self, cluster: &Cluster) -> bool {
        cluster.open_nodes() > 0
    }

    /// Judges a candidate that is its task's only copy.
    fn judge(&mut self, attempt: &Attempt, phase: &Phase, round: &Round<'_>) -> Judgement;

    /// Helps a candidate, if it still can be helped: starts backups or replaces it.
    fn help(&mut self, id: AttemptId, round: &mut Round<'_>) -> Served;
}

/// Judges all candidates, then helps those that are to be helped, the smallest rank first.
pub fn serve_in_turn(rule: &mut impl InTurn, candidates: &mut Vec<AttemptId>, round: &mut Round<'_>) {
    if candidates.is_empty() || !rule.is_ready(round.cluster()) {
        return;
    }
    let mut forgotten = Vec::new();
    for id in ranked(rule, candidates, round) {
        match rule.help(id, round) {
            Served::GoOn => {}
            Served::Forget => forgotten.push(id),
            Served::Enough => break,
        }
    }
    candidates.retain(|id| !forgotten.contains(id));
}

/// Judges all candidates; forgets those that are none any more, and returns those to be helped, in order.
fn ranked(rule: &mut impl InTurn, candidates: &mut Vec<AttemptId>, round: &mut Round<'_>) -> Vec<AttemptId> {
    // An attempt may meet its condition by age and again by progress.
    candidates.sort_unstable();
    candidates.dedup();
    let cluster = round.cluster();
    let mut helped = Vec::with_capacity(candidates.len());
    let mut again = Vec::new();
    candidates.retain(|id| {
        let attempt = cluster.attempt(*id).filter(|attempt| cluster.is_only_copy(attempt));
        let Some((attempt, phase)) = attempt.zip(cluster.phase(id.task)) else { return false };
        match rule.judge(attempt, phase, round) {
            Judgement::Help(rank) => helped.push((rank, *id)),
            Judgement::Wait => {}
            Judgement::Forget => return false,
            Judgement::WatchAgain(condition) => {
                again.push(Decision::Watch { attempt: *id, condition });
                return false;
            }
        }
        true
    });
    for watch in again {
        round.decide(watch);
    }
    helped.sort_unstable_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
    helped.into_iter().map(|(_, id)| id).collect()
}

/// The pass that starts backups by a rule. See the module's documentation.
pub struct Speculation<R> {
    rule: R,
    candidates: Vec<AttemptId>,
}

impl<R: Rule> Speculation<R> {
    /// A pass for this rule.
    pub fn by(rule: R) -> Speculation<R> {
        Speculation { rule, candidates: Vec::new() }
    }

    fn watch(&mut self, id: AttemptId, view: &mut View<'_>) {
        let cluster = view.cluster;
        let attempt = cluster.attempt(id).filter(|attempt| cluster.is_only_copy(attempt));
        let Some((attempt, phase)) = attempt.zip(cluster.phase(id.task)) else { return };
        if let Some(condition) = self.rule.condition(attempt, phase, view) {
            view.watch(id, condition);
        }
    }

    /// Watches running attempts anew, by id.
    fn watch_again(&mut self, cause: Cause, concerns: impl Fn(&Attempt) -> bool, view: &mut View<'_>) {
        let concerned = view.cluster.living().filter(|attempt| concerns(attempt));
        let concerned = concerned.filter(|attempt| self.rule.watches_again(cause, attempt, view));
        let mut concerned: Vec<AttemptId> = concerned.map(Attempt::id).collect();
        concerned.sort_unstable();
        for id in concerned {
            self.watch(id, view);
        }
    }
}

impl<R: Rule> Pass for Speculation<R> {
    fn observe(&mut self, seen: Seen<'_>, view: &mut View<'_>) {
        match seen {
            Seen::Decision(Decision::Start { attempt, .. }) => self.watch(*attempt, view),
            Seen::Event(Event::WatchMet { attempt, .. }, _) => self.candidates.push(*attempt),
            Seen::Event(Event::AttemptFailed { attempt, .. } | Event::AttemptStopped { attempt }, _) => {
                let left = view.cluster.copies(attempt.task).next();
                let left = left.filter(|left| self.rule.watches_again(Cause::LeftAlone, left, view));
                if let Some(left) = left.map(Attempt::id) {
                    self.watch(left, view);
                }
            }
            Seen::Event(Event::DurationsLearned { job, phase, .. }, _) => {
                let of_phase = |attempt: &Attempt| (attempt.id().task.job, attempt.id().task.phase) == (*job, *phase);
                self.watch_again(Cause::DurationsLearned, of_phase, view);
            }
            Seen::Event(Event::NodeSpeedLearned { node, .. }, _) => {
                self.watch_again(Cause::SpeedLearned, |attempt| attempt.node() == *node, view);
            }
            Seen::Event(Event::NodeLost { .. }, _) => self.watch_again(Cause::NodeLost, |_| true, view),
            _ => {}
        }
        self.rule.observe(seen, view, &mut self.candidates);
    }

    fn decide(&mut self, round: &mut Round<'_>) {
        self.rule.serve(&mut self.candidates, round);
    }
}
