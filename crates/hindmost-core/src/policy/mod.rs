//! Policies: an order of jobs and a short list of passes over the free capacity.
//!
//! Every published system is an order of levels, each of which spends the room that the level
//! before left. So a [`Policy`] is a [`JobQueue`] (an order of the jobs with something to start) and
//! a list of [`Pass`]es. Passes are told of every record (`observe`), so that they keep indexes
//! instead of scanning, and asked in turn to `decide`. Each system has its file; `catalogue`
//! names them all.

pub mod by_node;
pub mod capacity;
pub mod carbyne;
pub mod catalogue;
mod clone_pool;
pub mod dolly;
pub mod dollymp;
pub mod drf;
pub mod ese;
mod fairness;
mod fresh;
pub mod graphene;
pub mod hadoop;
pub mod hopper;
pub mod late;
pub mod levels;
pub mod losers;
pub mod mantri;
pub mod order;
pub mod originals;
pub mod pace;
mod packing;
pub mod queue;
pub mod sca;
pub mod sda;
pub mod shapes;
mod space;
pub mod spark;
pub mod spec;
pub mod stragglers;
pub mod tetris;
mod troublesome;
mod turns;
mod waiting;

use crate::cluster::{Applied, Attempt, Cluster, Phase, RecordError};
use crate::estimator::Estimator;
use crate::ids::{AttemptId, NodeId, TaskId};
use crate::record::{Condition, Decision, Event, StopReason};
use crate::time::Time;

pub use queue::JobQueue;

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

/// What a pass decides with: the state, which its decisions change as they are made.
pub struct Round<'a> {
    cluster: &'a mut Cluster,
    /// What is known of running attempts.
    pub estimator: &'a dyn Estimator,
    /// The jobs with something to start, in the policy's order.
    pub queue: &'a mut JobQueue,
    decisions: &'a mut Vec<Decision>,
    refused: &'a mut Vec<Refused>,
    /// True if the last decision of the pass was refused: nothing is left to give a reason for.
    refused_last: bool,
    reasons: &'a mut Reasons,
    /// Refuses whatever is asked for.
    #[cfg(test)]
    refuses_all: bool,
}

impl Round<'_> {
    /// The state, with all decisions of this round so far.
    pub fn cluster(&self) -> &Cluster {
        self.cluster
    }

    /// Starts the next copy of a task on a node, from scratch. The queue is not told: call
    /// [`Round::requeue`] once the pass has started what it wants of the job.
    ///
    /// False if the state does not allow it; see [`Round::decide`].
    pub fn start(&mut self, task: TaskId, node: NodeId) -> bool {
        // Of a job that has left there is no copy to name: the cluster refuses any.
        let attempt = self.cluster.next_copy(task).unwrap_or(AttemptId { task, copy: 0 });
        self.decide(Decision::Start { attempt, node, from_progress: 0.0 })
    }

    /// False if the order of jobs does not let the task have another copy now: its job or queue has all that
    /// it may have. A pass that starts copies with [`Round::start`] asks before.
    pub fn may_start(&mut self, task: TaskId) -> bool {
        self.queue.permits(task, self.cluster)
    }

    /// Stops an attempt and starts the next copy of its task in its room.
    ///
    /// False if the state does not allow it; see [`Round::decide`].
    pub fn replace(&mut self, attempt: AttemptId) -> bool {
        self.decide(Decision::Replace { attempt, from_progress: 0.0 })
    }

    /// Puts a job into its place in the queue after its copies or tasks have changed.
    pub fn requeue(&mut self, job: crate::ids::JobId) {
        self.queue.refresh(job, self.cluster);
    }

    /// Makes a decision.
    ///
    /// Returns false if the state does not allow it. Then nothing changes, the decision is not recorded, and
    /// [`Policy::take_refused`] returns it. The round goes on: a pass must not try the same again in this round.
    pub fn decide(&mut self, decision: Decision) -> bool {
        #[cfg(test)]
        if self.refuses_all {
            let error = RecordError::Unknown("this".to_owned());
            self.refused.push(Refused { decision, error });
            self.refused_last = true;
            return false;
        }
        match self.cluster.apply_decision(self.cluster.now(), &decision) {
            Ok(_) => {
                if let Decision::Start { attempt, .. } | Decision::Replace { attempt, .. } = &decision {
                    self.queue.started(attempt.task, self.cluster);
                }
                self.decisions.push(decision);
                self.refused_last = false;
                true
            }
            Err(error) => {
                self.refused.push(Refused { decision, error });
                self.refused_last = true;
                false
            }
        }
    }

    /// Says why the last decision was made, where somebody wants to know. Says nothing if it was refused.
    pub fn because(&mut self, why: impl FnOnce() -> String) {
        if !self.refused_last {
            self.reasons.add(self.decisions.len(), why);
        }
    }

    /// Starts up to `copies` copies of a task on different nodes, each as near to its input as possible, as far as
    /// the order of jobs lets it have them; the number started.
    pub fn start_copies(&mut self, task: TaskId, copies: u32) -> u32 {
        let Some(phase) = self.cluster.phase(task) else { return 0 };
        let (demand, alone) = (*phase.demand(), !phase.may_be_copied());
        if alone && self.cluster.task(task).is_some_and(|task| task.alive() > 0) {
            return 0;
        }
        let copies = if alone { copies.min(1) } else { copies };
        for started in 0..copies {
            if !self.may_start(task) {
                return started;
            }
            let elsewhere = self.cluster.find_nearest_node(task, &demand, |node, _| {
                !self.cluster.has_copy_on(task, node) && !self.cluster.avoids(task, node)
            });
            let Some(node) = elsewhere else { return started };
            if !self.start(task, node) {
                return started;
            }
        }
        copies
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

/// A policy that can run: what [`catalogue`] builds from a [`spec::PolicySpec`].
pub struct Policy {
    queue: JobQueue,
    passes: Vec<Box<dyn Pass>>,
    reasons: Reasons,
    refused: Vec<Refused>,
    #[cfg(test)]
    refuses_all: bool,
}

impl Policy {
    /// A policy of these passes, over jobs in this order. A last pass that stops the other copies
    /// of a finished task is added.
    pub fn new(order: Box<dyn order::Order>, mut passes: Vec<Box<dyn Pass>>) -> Policy {
        passes.push(Box::new(losers::StopLosers::default()));
        Policy {
            queue: JobQueue::new(order),
            passes,
            reasons: Reasons::default(),
            refused: Vec::new(),
            #[cfg(test)]
            refuses_all: false,
        }
    }

    /// False if the order of jobs does not let the task have a copy now: with an idle cluster, never.
    pub fn permits(&mut self, task: TaskId, cluster: &Cluster) -> bool {
        self.queue.permits(task, cluster)
    }

    /// This policy, leaving one of a finished task's other copies alone.
    #[must_use]
    pub fn keeping(mut self, keep: losers::Keep) -> Policy {
        // The last pass is the one that `new` has added.
        self.passes.pop();
        self.passes.push(Box::new(losers::StopLosers { keep }));
        self
    }

    /// From now on keeps why decisions are made; [`Policy::take_reasons`] gives it.
    pub fn keep_reasons(&mut self) {
        self.reasons.0 = Some(Vec::new());
    }

    /// Why decisions were made since the last time, by their number in the list that they were appended
    /// to. Not every decision has a reason in words.
    pub fn take_reasons(&mut self) -> Vec<(usize, String)> {
        self.reasons.0.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Returns the decisions that were refused since the last call, in order. A driver asks after every
    /// [`Policy::observe`] and [`Policy::decide`]. What is refused has changed nothing, so a recorded run that goes on
    /// after it replays to the same decisions.
    pub fn take_refused(&mut self) -> Vec<Refused> {
        std::mem::take(&mut self.refused)
    }

    /// Tells the policy of an event that was applied. What it asks for at once is applied and
    /// appended to `decisions`, except what the state does not allow: see [`Policy::take_refused`].
    pub fn observe(
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
    pub fn decide(&mut self, cluster: &mut Cluster, estimator: &dyn Estimator, decisions: &mut Vec<Decision>) {
        for at in 0..self.passes.len() {
            let mut told = decisions.len();
            let mut round = Round {
                cluster,
                estimator,
                queue: &mut self.queue,
                decisions,
                refused: &mut self.refused,
                refused_last: false,
                reasons: &mut self.reasons,
                #[cfg(test)]
                refuses_all: self.refuses_all,
            };
            self.passes[at].decide(&mut round);
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

/// True if an attempt is its task's only living copy, its task is not finished and may have a second:
/// what rules that make one backup look for.
fn is_only_copy(cluster: &Cluster, attempt: &Attempt) -> bool {
    cluster.phase(attempt.id().task).is_some_and(Phase::may_be_copied)
        && cluster.task(attempt.id().task).is_some_and(|task| task.alive() == 1 && !task.is_finished())
}

#[cfg(test)]
mod tests {
    use super::catalogue::{ORDERS, SYSTEMS, Setting, build};
    use super::*;
    use crate::estimator::{Knowledge, estimator};
    use crate::ids::JobId;
    use crate::resources::Dimensions;
    use crate::workload::{DemandByName, JobSpec, PhaseSpec};

    /// A cluster of three nodes with two jobs, and what a policy asks for in a round that refuses everything and in the
    /// next, which does not; with the tasks that were refused.
    fn two_rounds(policy: &mut Policy) -> (Vec<Decision>, Vec<Refused>) {
        let amounts = |cpus: f64| DemandByName::from([("cpus".to_owned(), cpus), ("memory".to_owned(), cpus * 1e9)]);
        let dimensions = Dimensions::of([&amounts(4.0)]).unwrap();
        let mut cluster = Cluster::new(dimensions.clone());
        let known = estimator(Knowledge::Progress(0.1));
        let mut decisions = Vec::new();
        let mut tell = |event: Event, cluster: &mut Cluster, policy: &mut Policy| {
            let applied = cluster.apply_event(Time::ZERO, &event).unwrap();
            policy.observe(&event, applied, cluster, &*known, &mut decisions);
        };
        for node in 0..3 {
            let (name, capacity) = (format!("n{node}").into(), dimensions.amounts(&amounts(4.0)).unwrap());
            let event = Event::NodeJoined { node: NodeId(node), name, capacity, speed: 1.0, rack: None };
            tell(event, &mut cluster, policy);
        }
        for job in 0..2 {
            let phase = |name: &str, after: Vec<u32>| PhaseSpec {
                name: name.into(),
                after,
                tasks: 5,
                demand: amounts(1.0),
                mean: 2.0,
                sd: Some(1.0),
                tail: None,
                input: None,
                assumed: false,
                never_copied: false,
                finished: Vec::new(),
            };
            let phases = vec![phase("a", Vec::new()), phase("b", Vec::new()), phase("c", vec![0])];
            let (name, arrival) = (format!("j{job}").into(), Time::ZERO);
            let spec = JobSpec { name, arrival, deadline: None, weight: 1.0, queue: None, phases };
            tell(Event::JobArrived { job: JobId(job), spec: spec.into() }, &mut cluster, policy);
        }
        assert!(decisions.is_empty());
        policy.refuses_all = true;
        policy.decide(&mut cluster, &*known, &mut decisions);
        assert!(decisions.is_empty(), "{decisions:?}");
        assert_eq!(cluster.living_attempts(), 0);
        let refused = policy.take_refused();
        policy.refuses_all = false;
        policy.decide(&mut cluster, &*known, &mut decisions);
        assert_eq!(policy.take_refused(), []);
        (decisions, refused)
    }

    #[test]
    fn every_policy_goes_on_after_refusals() {
        let setting = Setting { order: "fair", gamma: 0.01, queues: &[] };
        for order in ORDERS {
            for system in SYSTEMS {
                let name = format!("{}+{}", order.name, system.name);
                let mut policy = build(&name.parse().unwrap(), &setting).unwrap();
                policy.keep_reasons();
                let (decisions, refused) = two_rounds(&mut policy);
                assert!((1..1000).contains(&refused.len()), "{name}: {} refused", refused.len());
                let starts = decisions.iter().filter(|decision| matches!(decision, Decision::Start { .. }));
                assert!(starts.count() >= 10, "{name}: {decisions:?}");
                let reasons = policy.take_reasons();
                assert!(reasons.iter().all(|(number, _)| *number < decisions.len()), "{name}");
                assert!(reasons.len() <= decisions.len(), "{name}: reasons of what was refused are kept");
            }
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
        let mut policy = Policy::new(Box::new(order::Fifo), vec![Box::new(AsksForBoth)]);
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
