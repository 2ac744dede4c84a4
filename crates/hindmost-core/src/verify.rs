//! Whether a recorded run gives the same decisions again.
//!
//! The events of a journal are applied to an empty cluster and told to a fresh policy; at every
//! recorded round, and after every event that made the policy react, its decisions must be those
//! recorded.

use crate::cluster::{Cluster, RecordError};
use crate::estimator::Estimator;
use crate::policy::Policy;
use crate::record::{Change, Decision, Event, Record};
use crate::resources::Dimensions;
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

/// Replays records and compares the policy's decisions with those recorded.
///
/// # Errors
/// The first difference.
pub fn verify(
    dimensions: Dimensions,
    policy: &mut Policy,
    estimator: &dyn Estimator,
    records: impl IntoIterator<Item = Record>,
) -> Result<Verified, Difference> {
    let mut cluster = Cluster::new(dimensions);
    let mut verified = Verified::default();
    // Decisions made and not yet found in the journal, in order.
    let mut due: std::collections::VecDeque<Decision> = std::collections::VecDeque::new();
    let mut decided = Vec::new();
    for Record { at, change } in records {
        let event = match change {
            Change::Decision(recorded) => {
                let expected = due.pop_front();
                if expected.as_ref() != Some(&recorded) {
                    return Err(differs(at, Some(&recorded), expected.as_ref()));
                }
                verified.decisions += 1;
                continue;
            }
            Change::Event(event) => event,
        };
        if let Some(expected) = due.front() {
            return Err(differs(at, None, Some(expected)));
        }
        let fault = |error| Difference::Record { at, error };
        let applied = cluster.apply_event(at, &event).map_err(fault)?;
        verified.events += 1;
        if event == Event::Round {
            verified.rounds += 1;
            policy.decide(&mut cluster, estimator, &mut decided).map_err(fault)?;
        } else {
            policy.observe(&event, applied, &mut cluster, estimator, &mut decided).map_err(fault)?;
        }
        due.extend(decided.drain(..));
        let job = match event {
            Event::AttemptFinished { attempt }
            | Event::AttemptStopped { attempt }
            | Event::AttemptFailed { attempt, .. } => Some(attempt.task.job),
            _ => None,
        };
        if let Some(job) = job {
            cluster.retire(job);
        }
    }
    match due.front() {
        Some(expected) => Err(differs(cluster.now(), None, Some(expected))),
        None => Ok(verified),
    }
}

fn differs(at: Time, recorded: Option<&Decision>, decided: Option<&Decision>) -> Difference {
    let text = |decision: Option<&Decision>| decision.map_or("nothing".to_owned(), |found| format!("{found:?}"));
    Difference::Decision { at, recorded: text(recorded), decided: text(decided) }
}
