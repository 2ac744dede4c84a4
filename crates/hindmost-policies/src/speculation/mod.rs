//! Speculation policies start backups for running attempts that are too slow. All of them share one pass,
//! [`Speculation`]; each one is a [`Rule`] in a file of its own.
//!
//! The pass does what every speculation policy needs:
//! - It watches each attempt that is its task's only copy for the condition of the rule, so that no round scans all
//!   running attempts.
//! - It watches an attempt again when a sibling copy has failed, a node was lost, or durations or speeds were learned.
//! - It calls the rule in each round with the candidates: the attempts that met their condition ([`Rule::serve`]).
//!
//! Mantri, SDA and ESE test running attempts one by one and start a backup for those that pass. They implement
//! `ByTest` (`straggler_test.rs`), which keeps and sorts their candidates.

pub mod auto;
mod by_age;
mod candidates;
pub mod chronos;
pub mod ese;
pub mod hadoop;
pub mod hete_aware;
mod input_sizes;
mod kinds;
mod lagging;
pub mod late;
pub mod mantri;
pub mod mantri_osdi;
pub mod mcp;
mod node_progress;
pub mod pace;
mod progress_rates;
pub mod riski;
pub mod sda;
mod sigma_table;
mod slow_by_age;
pub mod spark;
mod straggler_test;
pub mod window;

use hindmost_core::cluster::{Attempt, Cluster, Phase};
use hindmost_core::estimator::Estimator;
use hindmost_core::ids::{AttemptId, JobId};
use hindmost_core::policy::{Learned, Pass, Round, Seen, View};
use hindmost_core::record::{Condition, Decision, Event};

/// The reason why a running attempt may need a new watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A sibling copy has failed or was stopped, so the attempt is its task's only copy now.
    LeftAlone,
    /// A node was lost, so the attempt may be its task's only copy now.
    NodeLost,
    /// The durations of the attempt's phase were learned.
    DurationsLearned,
    /// The speed of the attempt's node was learned.
    SpeedLearned,
}

/// A speculation policy: decides which attempts are stragglers and which of them get a backup now.
pub trait Rule: Send {
    /// Returns the condition under which an attempt of this phase, which is its task's only copy, becomes a candidate;
    /// `None` if it never does.
    fn condition(&mut self, attempt: &Attempt, phase: &Phase, view: &View<'_>) -> Option<Condition>;

    /// Returns true if a running attempt needs a new watch for this cause.
    fn watches_again(&self, _cause: Cause, _attempt: &Attempt, _view: &View<'_>) -> bool {
        true
    }

    /// Observes a record, so that the rule can keep its own counts. The rule may add attempts to the candidates that met
    /// no watched condition.
    fn observe(&mut self, _seen: Seen<'_>, _view: &mut View<'_>, _candidates: &mut Vec<AttemptId>) {}

    /// Returns what the rule has learned from the copies of a phase; `None` if it does not learn from them.
    fn learned(&self, _job: JobId, _phase: u32, _cluster: &Cluster, _estimator: &dyn Estimator) -> Option<Learned> {
        None
    }

    /// Starts backups for the candidates: the attempts that met their condition. The rule removes the candidates that it
    /// needs no more; the next round passes it the remaining ones again.
    fn serve(&mut self, candidates: &mut Vec<AttemptId>, round: &mut Round<'_>);
}

/// Returns an attempt and its phase, if the attempt is the only running copy of its task and the task may have another.
fn only_copy(id: AttemptId, cluster: &Cluster) -> Option<(&Attempt, &Phase)> {
    cluster.attempt(id).filter(|attempt| cluster.is_only_copy(attempt)).zip(cluster.phase(id.task))
}

/// Returns true if an attempt is the only running copy of its task and the task may have another.
fn is_only_copy(id: AttemptId, cluster: &Cluster) -> bool {
    only_copy(id, cluster).is_some()
}

/// The pass that watches running attempts and lets a rule start backups.
pub struct Speculation<R> {
    rule: R,
    candidates: Vec<AttemptId>,
}

impl<R: Rule> Speculation<R> {
    /// Creates the pass for a rule.
    pub fn by(rule: R) -> Speculation<R> {
        Speculation { rule, candidates: Vec::new() }
    }

    fn watch(&mut self, id: AttemptId, view: &mut View<'_>) {
        let Some((attempt, phase)) = only_copy(id, view.cluster) else { return };
        if let Some(condition) = self.rule.condition(attempt, phase, view) {
            view.watch(id, condition);
        }
    }

    /// Sets new watches for the running attempts for which `concerns` is true, in order of their ids.
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
            Seen::Decision(Decision::Abandon { job }) => self.candidates.retain(|id| id.task.job != *job),
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

    fn learned(&self, job: JobId, phase: u32, cluster: &Cluster, estimator: &dyn Estimator) -> Option<Learned> {
        self.rule.learned(job, phase, cluster, estimator)
    }
}

/// Returns a number of things in words, for reasons of decisions: `1 clone`, `2 clones`.
pub(crate) fn counted(number: u32, what: &str) -> String {
    if number == 1 { format!("{number} {what}") } else { format!("{number} {what}s") }
}
