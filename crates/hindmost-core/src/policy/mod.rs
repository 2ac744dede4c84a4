//! Policies: an order of jobs and a short list of passes over the free resources.
//!
//! Published schedulers can be described as a list of levels, each of which uses the resources that the levels before
//! it left free. So a [`Policy`] is a [`JobQueue`] (the jobs with pending tasks, sorted by an order) and a list of
//! [`Pass`]es, one per level. Every pass observes every record (`observe`), so that it can keep indexes instead of
//! scanning the cluster. In a round, the passes decide one after another (`decide`).

pub mod job_queue;
mod learned;
pub mod losing_copies;
pub mod order;
pub mod queue_place;
mod round;
pub mod runnable_by_demand;

use std::collections::BTreeMap;

use crate::cluster::{Applied, Cluster, RecordError};
use crate::estimator::Estimator;
use crate::ids::{AttemptId, JobId, TaskId};
use crate::record::{Condition, Decision, Event, StopReason};
use crate::time::Time;

pub use job_queue::JobQueue;
use learned::HeldBackCounts;
pub use learned::{Effect, HeldBack, HeldBackBy, Learned, NoCopy};
pub use round::Round;

/// A record as passes observe it, after it was applied.
#[derive(Clone, Copy, Debug)]
pub enum Seen<'a> {
    /// An event, and the changes that it caused.
    Event(&'a Event, Applied),
    /// A decision of this policy.
    Decision(&'a Decision),
}

/// The interface with which a pass observes a record: the cluster's state, and functions for decisions that need no
/// free resources.
///
/// ```
/// use hindmost_core::policy::{Pass, Seen, View};
/// use hindmost_core::record::{Condition, Decision};
///
/// /// Requests a notification for attempts that run for longer than a minute.
/// struct WatchLong;
///
/// impl Pass for WatchLong {
///     fn observe(&mut self, seen: Seen<'_>, view: &mut View<'_>) {
///         if let Seen::Decision(Decision::Start { attempt, .. }) = seen {
///             view.watch(*attempt, Condition::ElapsedAbove(60.0));
///         }
///     }
/// }
/// ```
pub struct View<'a> {
    /// The state after the record.
    pub cluster: &'a Cluster,
    /// Evaluates tests on running attempts and estimates their remaining times.
    pub estimator: &'a dyn Estimator,
    /// The decisions that passes make while they observe.
    reactions: &'a mut Vec<Decision>,
    reasons: &'a mut Reasons,
}

impl View<'_> {
    /// Requests an [`Event::WatchMet`] when a condition on an attempt comes true.
    pub fn watch(&mut self, attempt: AttemptId, condition: Condition) {
        self.reactions.push(Decision::Watch { attempt, condition });
    }

    /// Requests a round at a time.
    pub fn wake(&mut self, at: Time) {
        self.reactions.push(Decision::Wake { at });
    }

    /// Stops an attempt.
    pub fn stop(&mut self, attempt: AttemptId, reason: StopReason) {
        self.reactions.push(Decision::Stop { attempt, reason });
    }

    /// Gives the reason for the last decision. `why` is called only if reasons are kept.
    pub fn because(&mut self, why: impl FnOnce() -> String) {
        self.reasons.add(self.reactions.len(), why);
    }
}

/// One level of a policy. The [crate's example](crate#example) has a pass that starts originals.
pub trait Pass: Send {
    /// Observes a record after it was applied. Through `view` it can make decisions that need no free resources.
    fn observe(&mut self, _seen: Seen<'_>, _view: &mut View<'_>) {}

    /// Decides, in a round, how free resources are used.
    fn decide(&mut self, _round: &mut Round<'_>) {}

    /// Adds what the pass has counted so far, such as how many slots it could choose from.
    fn counts(&self, _counts: &mut Counts) {}

    /// Returns what the pass has learned from the copies of a phase; `None` if it does not learn from them. Attempts that
    /// were held back need not be counted.
    fn learned(&self, _job: JobId, _phase: u32, _cluster: &Cluster, _estimator: &dyn Estimator) -> Option<Learned> {
        None
    }
}

/// Numbers that the passes of a policy have counted, by name.
pub type Counts = BTreeMap<&'static str, u64>;

/// The reasons for decisions, each with the index of its decision in the list of decisions. `None` if reasons are not
/// kept.
#[derive(Debug, Default)]
struct Reasons(Option<Vec<(usize, String)>>);

impl Reasons {
    /// Adds the reason for the last decision. `decisions` is the number of decisions so far.
    fn add(&mut self, decisions: usize, why: impl FnOnce() -> String) {
        if let Some(reasons) = &mut self.0
            && decisions > 0
        {
            reasons.push((decisions - 1, why()));
        }
    }

    /// Adjusts the indexes after a decision was removed from the list.
    fn remove(&mut self, number: usize) {
        let Some(reasons) = &mut self.0 else { return };
        reasons.retain(|(of, _)| *of != number);
        for (of, _) in reasons.iter_mut().filter(|(of, _)| *of > number) {
            *of -= 1;
        }
    }
}

/// A decision that the state does not allow. This is a defect of the policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Refused {
    /// The refused decision. It changed nothing and is not recorded.
    pub decision: Decision,
    /// Why the state does not allow the decision.
    pub error: RecordError,
}

/// A policy that can run: an order of jobs and passes. The [crate's example](crate#example) builds and runs one.
pub struct Policy {
    queue: JobQueue,
    passes: Vec<Box<dyn Pass>>,
    reasons: Reasons,
    refused: Vec<Refused>,
    /// The attempts that were held back; `None` if they are not counted.
    held_back: Option<HeldBackCounts>,
    /// Decisions that passes make while they observe decisions; empty between rounds. The vector is kept to reuse its
    /// memory.
    reactions: Vec<Decision>,
    #[cfg(any(test, feature = "testing"))]
    refuses_all: bool,
}

impl Policy {
    /// Creates a policy from an order of jobs and a list of passes. Appends a pass that stops the other copies of a
    /// finished task.
    pub fn new(order: Box<dyn order::Order>, mut passes: Vec<Box<dyn Pass>>) -> Policy {
        passes.push(Box::new(losing_copies::StopLosers::default()));
        Policy {
            queue: JobQueue::new(order),
            passes,
            reasons: Reasons::default(),
            refused: Vec::new(),
            held_back: None,
            reactions: Vec::new(),
            #[cfg(any(test, feature = "testing"))]
            refuses_all: false,
        }
    }

    /// Returns what the passes have counted so far.
    pub(crate) fn counts(&self) -> Counts {
        let mut counts = Counts::new();
        for pass in &self.passes {
            pass.counts(&mut counts);
        }
        counts
    }

    /// Counts the attempts that are held back from now on, for [`Policy::learned`] and [`Policy::take_no_copies`].
    pub(crate) fn count_held_back(&mut self) {
        self.held_back.get_or_insert_default();
    }

    /// Returns why attempts got no copy since the last call.
    pub(crate) fn take_no_copies(&mut self) -> Vec<NoCopy> {
        self.held_back.as_mut().map(HeldBackCounts::take_notes).unwrap_or_default()
    }

    /// Returns what the policy has learned from the copies of a phase; `None` if that is nothing.
    pub(crate) fn learned(
        &self,
        job: JobId,
        phase: u32,
        cluster: &Cluster,
        estimator: &dyn Estimator,
    ) -> Option<Learned> {
        let learned = self.passes.iter().find_map(|pass| pass.learned(job, phase, cluster, estimator))?;
        let held_back = self.held_back.as_ref().map(|counts| counts.of(job, phase, cluster.now())).unwrap_or_default();
        Some(Learned { held_back, ..learned }).filter(|learned| !learned.is_nothing())
    }

    /// Forgets the held-back attempts of a job.
    pub(crate) fn forget_held_back(&mut self, job: JobId) {
        if let Some(counts) = &mut self.held_back {
            counts.forget(job);
        }
    }

    /// Returns false if the order of jobs does not let the task have a copy now. If the cluster is idle, the task can
    /// then never start.
    pub(crate) fn permits(&mut self, task: TaskId, cluster: &Cluster) -> bool {
        self.queue.permits(task, cluster)
    }

    /// Sets which copy of a finished task, besides the winner, keeps running. By default all other copies are stopped.
    #[must_use]
    pub fn keeping(mut self, keep: losing_copies::Keep) -> Policy {
        // The last pass is the one that `new` has added.
        self.passes.pop();
        self.passes.push(Box::new(losing_copies::StopLosers { keep }));
        self
    }

    /// Inserts a pass before the pass with this index, or before the last one, which stops losing copies, if the policy has
    /// fewer passes.
    #[must_use]
    pub fn with_pass(mut self, at: usize, pass: Box<dyn Pass>) -> Policy {
        self.passes.insert(at.min(self.passes.len() - 1), pass);
        self
    }

    /// Sets whether every decision of a round is refused from now on. Only tests use this.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn refuse_all(&mut self, refuses: bool) {
        self.refuses_all = refuses;
    }

    /// Keeps reasons from now on, for [`Policy::take_reasons`].
    pub(crate) fn keep_reasons(&mut self) {
        self.reasons.0 = Some(Vec::new());
    }

    /// Returns the reasons since the last call, each with the index of its decision in the list of decisions. Not every
    /// decision has a reason.
    pub(crate) fn take_reasons(&mut self) -> Vec<(usize, String)> {
        self.reasons.0.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Returns the decisions that were refused since the last call, in order. A driver calls this after every
    /// [`Policy::observe`] and [`Policy::decide`]. A refused decision has changed nothing, so a recorded run that
    /// continues after it replays to the same decisions.
    pub(crate) fn take_refused(&mut self) -> Vec<Refused> {
        std::mem::take(&mut self.refused)
    }

    /// Lets the policy observe an event that was applied. The decisions that the policy makes are applied and appended
    /// to `decisions`. Decisions that the state does not allow are left out: see [`Policy::take_refused`].
    pub(crate) fn observe(
        &mut self,
        event: &Event,
        applied: Applied,
        cluster: &mut Cluster,
        estimator: &dyn Estimator,
        decisions: &mut Vec<Decision>,
    ) {
        // Passes and orders need not distinguish who has given up a job.
        let abandoned =
            if let Event::JobGivenUp { job } = event { Some(Decision::Abandon { job: *job }) } else { None };
        match event {
            Event::JobGivenUp { job } => self.queue.abandoned(*job, cluster),
            _ => self.queue.observe(event, applied, cluster),
        }
        if let Some(counts) = &mut self.held_back {
            counts.event(event, cluster.now());
        }
        let seen = abandoned.as_ref().map_or(Seen::Event(event, applied), Seen::Decision);
        let first = decisions.len();
        let mut view = View { cluster, estimator, reactions: decisions, reasons: &mut self.reasons };
        for pass in &mut self.passes {
            pass.observe(seen, &mut view);
        }
        apply_reactions(decisions, first, cluster, &mut self.refused, &mut self.reasons);
    }

    /// Lets the policy decide in a round. Its decisions are applied and appended to `decisions`, in order. Decisions
    /// that the state does not allow are left out: see [`Policy::take_refused`].
    pub(crate) fn decide(&mut self, cluster: &mut Cluster, estimator: &dyn Estimator, decisions: &mut Vec<Decision>) {
        for at in 0..self.passes.len() {
            let mut observed = decisions.len();
            let mut round =
                Round::new(cluster, estimator, &mut self.queue, decisions, &mut self.refused, &mut self.reasons);
            round.held_back = self.held_back.as_mut();
            #[cfg(any(test, feature = "testing"))]
            round.refuse_all(self.refuses_all);
            self.passes[at].decide(&mut round);
            self.queue.settle(cluster);
            // The decisions that passes make while they observe decisions are appended and observed too.
            while observed < decisions.len() {
                let until = decisions.len();
                let reactions = &mut self.reactions;
                // These decisions are watches, wake-ups and stops of abandoned jobs' attempts, which need no reasons.
                let mut unused = Reasons::default();
                for decision in &decisions[observed..until] {
                    let mut view = View { cluster, estimator, reactions, reasons: &mut unused };
                    for pass in &mut self.passes {
                        pass.observe(Seen::Decision(decision), &mut view);
                    }
                }
                apply_reactions(reactions, 0, cluster, &mut self.refused, &mut unused);
                decisions.append(reactions);
                observed = until;
            }
        }
    }
}

/// Applies the decisions from index `first` on. Moves those that the state does not allow to `refused`.
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
    use crate::ids::JobId;
    use crate::resources::{Dimensions, Resources};
    use crate::testing::joined;

    /// Sorts jobs by id.
    struct ById;

    impl order::Order for ById {
        fn key(&self, job: &Job, _cluster: &Cluster) -> f64 {
            f64::from(job.id().0)
        }
    }

    /// When a node joins, alternately stops attempts that do not exist and requests rounds.
    struct StopsAndWakes;

    impl Pass for StopsAndWakes {
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
    fn refused_decisions_leave_the_others_in_place() {
        let mut policy = Policy::new(Box::new(ById), vec![Box::new(StopsAndWakes)]);
        policy.keep_reasons();
        let mut cluster = Cluster::new(Dimensions::one_slot());
        let event = joined(0, Resources::ONE_SLOT);
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
