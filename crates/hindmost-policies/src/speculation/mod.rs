//! Speculation: backups for running attempts that a rule finds too slow. One pass, and a file a rule.
//!
//! The pass ([`Speculation`]) does what every rule needs: it watches each attempt that is its task's only copy for the
//! rule's condition, so that nothing is scanned; it watches again what was left alone by a failed copy or a lost node, and
//! what a rule asks anew once durations or speeds are learned; and it hands the attempts that met their condition to the
//! rule ([`Rule::serve`]). Most rules test running attempts and help those that pass the test: they
//! implement `ByTest` (`straggler_test.rs`), which keeps and orders candidates.

mod by_age;
mod candidates;
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
mod slow_by_age;
pub mod spark;
mod straggler_test;

use hindmost_core::cluster::{Attempt, Phase};
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

    /// Serves the candidates: the attempts that met their condition and that the rule has not taken out since.
    fn serve(&mut self, candidates: &mut Vec<AttemptId>, round: &mut Round<'_>);
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
        let concerned = view.cluster.running().filter(|attempt| concerns(attempt));
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
