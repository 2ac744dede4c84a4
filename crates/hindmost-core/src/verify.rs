//! Whether a recorded run gives the same decisions again.
//!
//! The events of a journal are applied to an empty cluster and told to a fresh policy; at every
//! recorded round, and after every event that made the policy react, its decisions must be those
//! recorded, at the time of that event.

use std::collections::VecDeque;

use crate::cluster::{Cluster, RecordError};
use crate::estimator::Estimator;
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
    verified: Verified,
}

impl<'a> Verifier<'a> {
    /// From an empty cluster, as the recorded run began, and a policy that has seen nothing yet.
    pub fn new(cluster: Cluster, policy: &'a mut Policy, estimator: &'a dyn Estimator) -> Verifier<'a> {
        let (due, decided, verified) = (VecDeque::new(), Vec::new(), Verified::default());
        Verifier { cluster, policy, estimator, due, decided, verified }
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

    fn event(&mut self, at: Time, event: &Event) -> Result<(), Difference> {
        if let Some(expected) = self.due.front() {
            return Err(differs(at, None, Some(expected)));
        }
        let fault = |error| Difference::Record { at, error };
        let Verifier { cluster, policy, estimator, decided, .. } = self;
        let applied = cluster.apply_event(at, event).map_err(fault)?;
        self.verified.events += 1;
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
            cluster.retire(attempt.task.job);
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
