//! Whether a recorded run gives the same decisions again.
//!
//! The events of a journal are applied to an empty cluster and told to a fresh policy; at every
//! recorded round, and after every event that made the policy react, its decisions must be those
//! recorded, at the time of that event.
//!
//! A task has one winner. In a live run the first of its attempts to finish is the only one that is recorded as
//! finished: an attempt that ends later is stopped. In a simulated run a policy may let one copy run on beside the
//! winner on purpose ([`Keep`](crate::policy::losers::Keep)), and that copy finishes too; a copy that the policy asked to
//! stop does not.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::cluster::{Attempt, AttemptState, Cluster, Placement, RecordError};
use crate::estimator::Estimator;
use crate::ids::{AttemptId, JobId, TaskId};
use crate::policy::Policy;
use crate::record::{Change, Decision, Event, Record};
use crate::time::Time;

/// How a journal differs from what the policy decides.
#[derive(Debug, thiserror::Error)]
pub enum Difference {
    /// The policy decides something else.
    #[error("at {at} the journal has {recorded}, but the policy decides {decided}")]
    Decision {
        /// When.
        at: Time,
        /// The recorded decision, or `nothing`.
        recorded: String,
        /// The policy's decision, or `nothing`.
        decided: String,
    },
    /// The policy decides the same, at another time.
    #[error("the journal has {decision} at {recorded}, but the policy decides it at {decided}")]
    Time {
        /// The decision.
        decision: String,
        /// When it was made according to the journal.
        recorded: Time,
        /// When the policy makes it: at the time of the event before.
        decided: Time,
    },
    /// Two attempts of a task are recorded as finished, and the second was not kept on purpose.
    #[error("{task} has two winners: attempt {first} finished at {first_at}, attempt {second} at {second_at}")]
    TwoWinners {
        /// The task.
        task: TaskId,
        /// The number of the attempt that finished first.
        first: u32,
        /// When it did.
        first_at: Time,
        /// The number of the attempt that finished after it.
        second: u32,
        /// When it did.
        second_at: Time,
    },
    /// A record does not fit the state.
    #[error("at {at}: {error}")]
    Record {
        /// When.
        at: Time,
        /// What is wrong.
        error: RecordError,
    },
}

/// What a verified journal holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Events.
    pub events: u64,
    /// Rounds among them.
    pub rounds: u64,
    /// Decisions, all as recorded.
    pub decisions: u64,
}

/// Replays records one by one and compares the policy's decisions with those recorded.
pub struct Verifier<'a> {
    cluster: Cluster,
    policy: &'a mut Policy,
    estimator: &'a dyn Estimator,
    /// Decisions made and not yet found in the journal, in order.
    due: VecDeque<Decision>,
    /// The empty list of decisions, kept for its room.
    decided: Vec<Decision>,
    /// The first attempt of each task to finish, and when; of simulated jobs only while they are active.
    winners: FxHashMap<JobId, FxHashMap<TaskId, (u32, Time)>>,
    allows_two_winners: bool,
    verified: Verified,
}

impl<'a> Verifier<'a> {
    /// From an empty cluster, as the recorded run began, and a policy that has seen nothing yet.
    pub fn new(cluster: Cluster, policy: &'a mut Policy, estimator: &'a dyn Estimator) -> Verifier<'a> {
        let (due, decided, verified) = (VecDeque::new(), Vec::new(), Verified::default());
        let winners = FxHashMap::default();
        Verifier { cluster, policy, estimator, due, decided, winners, allows_two_winners: false, verified }
    }

    /// This verifier, for a run that goes on from its journal: a second winner is no reason to give up a run, and it
    /// changes nothing.
    #[must_use]
    pub fn allowing_two_winners(mut self) -> Verifier<'a> {
        self.allows_two_winners = true;
        self
    }

    /// Checks the next record.
    ///
    /// # Errors
    /// If the policy decides something else, or the record does not fit the state. What comes after
    /// says nothing any more.
    pub fn check(&mut self, record: Record) -> Result<(), Difference> {
        let Record { at, change } = record;
        match change {
            Change::Decision(recorded) => self.decision(at, &recorded),
            Change::Event(event) => self.event(at, &event),
        }
    }

    /// What has been found the same so far.
    pub fn verified(&self) -> Verified {
        self.verified
    }

    /// What was found the same, at the end of a journal.
    ///
    /// # Errors
    /// If the last event led to decisions that have not been recorded. A journal that was cut short
    /// ends like that too.
    pub fn finish(&self) -> Result<Verified, Difference> {
        match self.due.front() {
            Some(expected) => Err(differs(self.cluster.now(), None, Some(expected))),
            None => Ok(self.verified),
        }
    }

    /// The state after the last record, for a run that goes on from there, and the decisions that are made
    /// and not yet recorded: those of a journal that was cut short.
    pub fn into_state(self) -> (Cluster, Vec<Decision>) {
        (self.cluster, self.due.into())
    }

    fn decision(&mut self, at: Time, recorded: &Decision) -> Result<(), Difference> {
        let expected = self.due.pop_front();
        if expected.as_ref() != Some(recorded) {
            return Err(differs(at, Some(recorded), expected.as_ref()));
        }
        let decided = self.cluster.now();
        if at != decided {
            return Err(Difference::Time { decision: text(recorded), recorded: at, decided });
        }
        self.verified.decisions += 1;
        Ok(())
    }

    /// Checks that an attempt which is about to finish is not the second winner of its task.
    fn check_winner(&self, at: Time, attempt: AttemptId) -> Result<(), Difference> {
        let AttemptId { task, copy } = attempt;
        let first = self.winners.get(&task.job).and_then(|tasks| tasks.get(&task)).copied();
        let Some((first, first_at)) = first else { return Ok(()) };
        let is_live = self.cluster.placement() == Placement::Spread;
        let was_kept = |attempt: &Attempt| attempt.state() != AttemptState::Stopping;
        if !is_live && (first == copy || self.cluster.attempt(attempt).is_some_and(was_kept)) {
            return Ok(());
        }
        Err(Difference::TwoWinners { task, first, first_at, second: copy, second_at: at })
    }

    fn event(&mut self, at: Time, event: &Event) -> Result<(), Difference> {
        if let Some(expected) = self.due.front() {
            return Err(differs(at, None, Some(expected)));
        }
        if let (false, Event::AttemptFinished { attempt }) = (self.allows_two_winners, event) {
            self.check_winner(at, *attempt)?;
        }
        let fault = |error| Difference::Record { at, error };
        let Verifier { cluster, policy, estimator, decided, .. } = self;
        let applied = cluster.apply_event(at, event).map_err(fault)?;
        self.verified.events += 1;
        if let (true, Event::AttemptFinished { attempt }) = (applied.won, event) {
            self.winners.entry(attempt.task.job).or_default().insert(attempt.task, (attempt.copy, at));
        }
        if *event == Event::Round {
            self.verified.rounds += 1;
            policy.decide(cluster, *estimator, decided);
        } else {
            policy.observe(event, applied, cluster, *estimator, decided);
        }
        // The recorded run left out what was refused, too.
        policy.take_refused();
        self.due.extend(decided.drain(..));
        if let Event::AttemptFinished { attempt }
        | Event::AttemptStopped { attempt }
        | Event::AttemptFailed { attempt, .. } = event
        {
            let retired = cluster.retire(attempt.task.job).is_some();
            if retired && cluster.placement() != Placement::Spread {
                self.winners.remove(&attempt.task.job);
            }
        }
        Ok(())
    }
}

/// Replays the records of a whole run on an empty cluster that places as the run's did, and compares
/// the policy's decisions with those recorded.
///
/// # Errors
/// The first difference.
pub fn verify(
    cluster: Cluster,
    policy: &mut Policy,
    estimator: &dyn Estimator,
    records: impl IntoIterator<Item = Record>,
) -> Result<Verified, Difference> {
    let mut verifier = Verifier::new(cluster, policy, estimator);
    for record in records {
        verifier.check(record)?;
    }
    verifier.finish()
}

fn differs(at: Time, recorded: Option<&Decision>, decided: Option<&Decision>) -> Difference {
    let told = |decision: Option<&Decision>| decision.map_or("nothing".to_owned(), text);
    Difference::Decision { at, recorded: told(recorded), decided: told(decided) }
}

/// A decision as the journal writes it.
fn text(decision: &Decision) -> String {
    serde_json::to_string(decision).unwrap_or_else(|_| format!("{decision:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimator::{Knowledge, estimator};
    use crate::ids::NodeId;
    use crate::policy::catalogue::{Setting, build};
    use crate::resources::{Dimensions, Resources};
    use crate::timeline::{AttemptEnd, Timeline};
    use crate::workload::{DemandByName, JobSpec, PhaseSpec};

    const TASK: TaskId = TaskId { job: JobId(0), phase: 0, index: 0 };

    fn copy(copy: u32) -> AttemptId {
        AttemptId { task: TASK, copy }
    }

    fn policy(name: &str) -> Policy {
        build(&name.parse().unwrap(), &Setting { order: "fifo", gamma: 1.0, queues: &[] }).unwrap()
    }

    fn finished(attempt: u32) -> Event {
        Event::AttemptFinished { attempt: copy(attempt) }
    }

    /// What is found in the journal of three copies of a job's first of two tasks that ends with these events, each a
    /// second after the one before, from 1 s on.
    fn found(placement: Placement, keep: &str, ends: &[Event]) -> Result<Verified, Difference> {
        let name = format!("fifo+dollymp(keep={keep},clones=2)");
        let cluster = || Cluster::new(Dimensions::one_slot()).with_placement(placement);
        let mut decides = (cluster(), policy(&name));
        let known = estimator(Knowledge::Age);
        let phase = PhaseSpec {
            name: "p".into(),
            after: Vec::new(),
            tasks: 2,
            demand: DemandByName::new(),
            mean: 1.0,
            sd: None,
            tail: None,
            input: None,
            assumed: false,
            never_copied: false,
            finished: Vec::new(),
        };
        let (name_of_job, arrival) = ("j".into(), Time::ZERO);
        let spec =
            JobSpec { name: name_of_job, arrival, deadline: None, weight: 1.0, queue: None, phases: vec![phase] };
        let mut events: Vec<(u64, Event)> = Vec::new();
        for node in 0..6 {
            let (name, capacity) = (format!("n{node}").into(), Resources::ONE_SLOT);
            events.push((0, Event::NodeJoined { node: NodeId(node), name, capacity, speed: 1.0, rack: None }));
        }
        events.push((0, Event::JobArrived { job: JobId(0), spec: spec.into() }));
        events.push((0, Event::Round));
        events.extend((1..).zip(ends.iter().cloned()));
        let mut records = Vec::new();
        for (at, event) in events {
            let at = Time::from_seconds(at as f64);
            let (cluster, policy) = &mut decides;
            let applied = cluster.apply_event(at, &event).unwrap();
            let mut decisions = Vec::new();
            if event == Event::Round {
                policy.decide(cluster, &*known, &mut decisions);
                let starts = decisions.iter().filter(|decision| matches!(decision, Decision::Start { .. }));
                assert_eq!(starts.count(), 6);
            } else {
                policy.observe(&event, applied, cluster, &*known, &mut decisions);
            }
            records.push(Record { at, change: Change::Event(event) });
            records.extend(decisions.into_iter().map(|decision| Record { at, change: Change::Decision(decision) }));
        }
        let again = Timeline::of(records.clone());
        let won = again.attempts_of(TASK).filter(|row| row.outcome == AttemptEnd::Won);
        assert!(won.count() <= 1, "the timeline has two winners");
        verify(cluster(), &mut policy(&name), &*known, records)
    }

    #[test]
    fn two_winners_are_found() {
        let ends = [finished(1), Event::AttemptStopped { attempt: copy(2) }, finished(0)];
        for placement in [Placement::Spread, Placement::FirstFit] {
            let difference = found(placement, "none", &ends).unwrap_err();
            assert_eq!(
                difference.to_string(),
                "task 0/0/0 has two winners: attempt 1 finished at 1 s, attempt 0 at 3 s"
            );
        }
    }

    #[test]
    fn a_stopped_attempt_does_not_win_later() {
        let ends = [finished(1), Event::AttemptStopped { attempt: copy(0) }, finished(0)];
        for placement in [Placement::Spread, Placement::FirstFit] {
            assert!(matches!(found(placement, "none", &ends), Err(Difference::TwoWinners { .. })));
        }
    }

    #[test]
    fn a_kept_copy_finishes_in_simulations_alone() {
        let ends = [finished(1), Event::AttemptStopped { attempt: copy(2) }, finished(0)];
        assert!(found(Placement::FirstFit, "best_locality", &ends).is_ok());
        let difference = found(Placement::Spread, "best_locality", &ends).unwrap_err();
        assert!(matches!(difference, Difference::TwoWinners { first: 1, second: 0, .. }), "{difference}");
        // The copy that is not the one kept was asked to stop.
        let ends = [finished(1), finished(2)];
        assert!(matches!(found(Placement::FirstFit, "best_locality", &ends), Err(Difference::TwoWinners { .. })));
    }

    #[test]
    fn a_finish_that_is_recorded_twice_is_found() {
        let ends = vec![finished(1), finished(1)];
        assert!(found(Placement::FirstFit, "none", &ends).is_ok());
        assert!(matches!(found(Placement::Spread, "none", &ends), Err(Difference::TwoWinners { .. })));
    }

    #[test]
    fn one_winner_is_right_whatever_the_others_do() {
        let (stopped, failed) = (
            |of| Event::AttemptStopped { attempt: copy(of) },
            |of| Event::AttemptFailed { attempt: copy(of), reason: None },
        );
        for ends in [
            vec![finished(2), stopped(0), stopped(1)],
            vec![finished(0), failed(1), stopped(2)],
            vec![failed(0), finished(1), stopped(1), stopped(2)],
            // News of an attempt that was lost with its node makes it no winner.
            vec![Event::NodeLost { node: NodeId(0) }, finished(0), finished(1)],
        ] {
            for placement in [Placement::Spread, Placement::FirstFit] {
                let found = found(placement, "none", &ends);
                assert!(found.is_ok(), "{ends:?}: {}", found.unwrap_err());
            }
        }
    }
}
