//! Policies: an order of jobs and a short list of passes over the free capacity.
//!
//! Every published system is an order of levels, each of which spends the room that the level
//! before left. So a [`Policy`] is a [`JobQueue`] (an order of the jobs with something to start) and
//! a list of [`Pass`]es. Passes are told of every record (`observe`), so that they keep indexes
//! instead of scanning, and asked in turn to `decide`.

pub mod job_queue;
pub mod losing_copies;
pub mod order;
pub mod queue_place;
mod round;
pub mod runnable_by_demand;

use crate::cluster::{Applied, Cluster, RecordError};
use crate::estimator::Estimator;
use crate::ids::{AttemptId, TaskId};
use crate::record::{Condition, Decision, Event, StopReason};
use crate::time::Time;

pub use job_queue::JobQueue;
pub use round::Round;

/// A record as passes are told of it, after it was applied.
#[derive(Clone, Copy, Debug)]
pub enum Seen<'a> {
    /// Something happened.
    Event(&'a Event, Applied),
    /// This policy asked for something.
    Decision(&'a Decision),
}

/// What a pass sees while it observes, and what it may ask for at once: things that need no room.
pub struct View<'a> {
    /// The state after the record.
    pub cluster: &'a Cluster,
    /// What is known of running attempts.
    pub estimator: &'a dyn Estimator,
    reactions: &'a mut Vec<Decision>,
    reasons: &'a mut Reasons,
}

impl View<'_> {
    /// Asks to be told when a condition on an attempt comes true.
    pub fn watch(&mut self, attempt: AttemptId, condition: Condition) {
        self.reactions.push(Decision::Watch { attempt, condition });
    }

    /// Asks for a round at a time.
    pub fn wake(&mut self, at: Time) {
        self.reactions.push(Decision::Wake { at });
    }

    /// Asks an attempt to stop.
    pub fn stop(&mut self, attempt: AttemptId, reason: StopReason) {
        self.reactions.push(Decision::Stop { attempt, reason });
    }

    /// Says why the last thing was asked for, where somebody wants to know.
    pub fn because(&mut self, why: impl FnOnce() -> String) {
        self.reasons.add(self.reactions.len(), why);
    }
}

/// One level of a policy.
pub trait Pass: Send {
    /// Is told of a record after it was applied, and may react with what needs no room.
    fn observe(&mut self, _seen: Seen<'_>, _view: &mut View<'_>) {}

    /// Spends free room.
    fn decide(&mut self, _round: &mut Round<'_>) {}
}

/// Why decisions were made, in words, by their number in the list that they were appended to; kept only
/// where somebody asked for it.
#[derive(Debug, Default)]
struct Reasons(Option<Vec<(usize, String)>>);

impl Reasons {
    /// Of the last of so many decisions.
    fn add(&mut self, decisions: usize, why: impl FnOnce() -> String) {
        if let Some(reasons) = &mut self.0
            && decisions > 0
        {
            reasons.push((decisions - 1, why()));
        }
    }

    /// The decision of this number was taken out of the list; those after it moved up.
    fn remove(&mut self, number: usize) {
        let Some(reasons) = &mut self.0 else { return };
        reasons.retain(|(of, _)| *of != number);
        for (of, _) in reasons.iter_mut().filter(|(of, _)| *of > number) {
            *of -= 1;
        }
    }
}

/// A decision that a policy asked for and that the state does not allow: a defect of the policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Refused {
    /// The decision. It has changed nothing and is not recorded.
    pub decision: Decision,
    /// Why the state does not allow it.
    pub error: RecordError,
}

/// A policy that can run: an order of jobs and its passes.
pub struct Policy {
    queue: JobQueue,
    passes: Vec<Box<dyn Pass>>,
    reasons: Reasons,
    refused: Vec<Refused>,
    #[cfg(any(test, feature = "testing"))]
    refuses_all: bool,
}

impl Policy {
    /// A policy of these passes, over jobs in this order. A last pass that stops the other copies
    /// of a finished task is added.
    pub fn new(order: Box<dyn order::Order>, mut passes: Vec<Box<dyn Pass>>) -> Policy {
        passes.push(Box::new(losing_copies::StopLosers::default()));
        Policy {
            queue: JobQueue::new(order),
            passes,
            reasons: Reasons::default(),
            refused: Vec::new(),
            #[cfg(any(test, feature = "testing"))]
            refuses_all: false,
        }
    }

    /// False if the order of jobs does not let the task have a copy now: with an idle cluster, never.
    pub(crate) fn permits(&mut self, task: TaskId, cluster: &Cluster) -> bool {
        self.queue.permits(task, cluster)
    }

    /// This policy, leaving one of a finished task's other copies alone.
    #[must_use]
    pub fn keeping(mut self, keep: losing_copies::Keep) -> Policy {
        // The last pass is the one that `new` has added.
        self.passes.pop();
        self.passes.push(Box::new(losing_copies::StopLosers { keep }));
        self
    }

    /// From now on refuses every decision of a round, or no longer does: for tests of what a policy does then.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn refuse_all(&mut self, refuses: bool) {
        self.refuses_all = refuses;
    }

    /// From now on keeps why decisions are made; [`Policy::take_reasons`] gives it.
    pub(crate) fn keep_reasons(&mut self) {
        self.reasons.0 = Some(Vec::new());
    }

    /// Why decisions were made since the last time, by their number in the list that they were appended
    /// to. Not every decision has a reason in words.
    pub(crate) fn take_reasons(&mut self) -> Vec<(usize, String)> {
        self.reasons.0.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Returns the decisions that were refused since the last call, in order. A driver asks after every
    /// [`Policy::observe`] and [`Policy::decide`]. What is refused has changed nothing, so a recorded run that goes on
    /// after it replays to the same decisions.
    pub(crate) fn take_refused(&mut self) -> Vec<Refused> {
        std::mem::take(&mut self.refused)
    }

    /// Tells the policy of an event that was applied. What it asks for at once is applied and
    /// appended to `decisions`, except what the state does not allow: see [`Policy::take_refused`].
    pub(crate) fn observe(
        &mut self,
        event: &Event,
        applied: Applied,
        cluster: &mut Cluster,
        estimator: &dyn Estimator,
        decisions: &mut Vec<Decision>,
    ) {
        self.queue.observe(event, applied, cluster);
        let first = decisions.len();
        let mut view = View { cluster, estimator, reactions: decisions, reasons: &mut self.reasons };
        for pass in &mut self.passes {
            pass.observe(Seen::Event(event, applied), &mut view);
        }
        apply_reactions(decisions, first, cluster, &mut self.refused, &mut self.reasons);
    }

    /// Asks the policy to decide. Its decisions are applied and appended to `decisions`, in order, except those
    /// that the state does not allow: see [`Policy::take_refused`].
    pub(crate) fn decide(&mut self, cluster: &mut Cluster, estimator: &dyn Estimator, decisions: &mut Vec<Decision>) {
        for at in 0..self.passes.len() {
            let mut told = decisions.len();
            let mut round =
                Round::new(cluster, estimator, &mut self.queue, decisions, &mut self.refused, &mut self.reasons);
            #[cfg(any(test, feature = "testing"))]
            round.refuse_all(self.refuses_all);
            self.passes[at].decide(&mut round);
            self.queue.settle(cluster);
            // What passes ask for while they observe is appended and observed in turn.
            while told < decisions.len() {
                let until = decisions.len();
                let mut reactions = Vec::new();
                // What is asked for while decisions are observed are watches and wake-ups, which explain themselves.
                let mut unasked = Reasons::default();
                for decision in &decisions[told..until] {
                    let mut view = View { cluster, estimator, reactions: &mut reactions, reasons: &mut unasked };
                    for pass in &mut self.passes {
                        pass.observe(Seen::Decision(decision), &mut view);
                    }
                }
                apply_reactions(&mut reactions, 0, cluster, &mut self.refused, &mut unasked);
                decisions.append(&mut reactions);
                told = until;
            }
        }
    }
}

/// Applies the decisions from `first` on, and takes those out that the state does not allow.
fn apply_reactions(
    decisions: &mut Vec<Decision>,
    first: usize,
    cluster: &mut Cluster,
    refused: &mut Vec<Refused>,
    reasons: &mut Reasons,
) {
    let mut at = first;
    while at < decisions.len() {
        match cluster.apply_decision(cluster.now(), &decisions[at]) {
            Ok(_) => at += 1,
            Err(error) => {
                refused.push(Refused { decision: decisions.remove(at), error });
                reasons.remove(at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::Job;
    use crate::estimator::{Knowledge, estimator};
    use crate::ids::{JobId, NodeId};
    use crate::resources::Dimensions;

    /// The jobs by id.
    struct ById;

    impl order::Order for ById {
        fn key(&self, job: &Job, _cluster: &Cluster) -> f64 {
            f64::from(job.id().0)
        }
    }

    /// Asks at once for something that there is and something that there is not, in turn.
    struct AsksForBoth;

    impl Pass for AsksForBoth {
        fn observe(&mut self, seen: Seen<'_>, view: &mut View<'_>) {
            if !matches!(seen, Seen::Event(Event::NodeJoined { .. }, _)) {
                return;
            }
            let task = TaskId { job: JobId(7), phase: 0, index: 0 };
            for at in 1..4 {
                view.stop(AttemptId { task, copy: at }, StopReason::Lost);
                view.because(|| format!("stop {at}"));
                view.wake(Time(u64::from(at)));
                view.because(|| format!("wake {at}"));
            }
        }
    }

    #[test]
    fn reactions_that_are_refused_leave_the_others() {
        let mut policy = Policy::new(Box::new(ById), vec![Box::new(AsksForBoth)]);
        policy.keep_reasons();
        let mut cluster = Cluster::new(Dimensions::one_slot());
        let capacity = crate::resources::Resources::ONE_SLOT;
        let event = Event::NodeJoined { node: NodeId(0), name: "n".into(), capacity, speed: 1.0, rack: None };
        let applied = cluster.apply_event(Time::ZERO, &event).unwrap();
        let mut decisions = vec![Decision::Wake { at: Time(9) }];
        policy.observe(&event, applied, &mut cluster, &*estimator(Knowledge::Age), &mut decisions);
        let times = decisions.iter().map(|decision| if let Decision::Wake { at } = decision { at.0 } else { 0 });
        assert_eq!(times.collect::<Vec<_>>(), [9, 1, 2, 3]);
        let refused = policy.take_refused();
        assert_eq!(refused.len(), 3);
        assert!(refused.iter().all(|refused| matches!(refused.error, RecordError::Unknown(_))));
        assert!(policy.take_refused().is_empty());
        let reasons: Vec<(usize, String)> = (1..4).map(|at| (at, format!("wake {at}"))).collect();
        assert_eq!(policy.take_reasons(), reasons);
    }
}
