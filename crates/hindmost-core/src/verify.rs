//! Whether a recorded run gives the same decisions again.
//!
//! The events of a journal are applied to an empty cluster and told to a fresh policy; at every
//! recorded round, and after every event that made the policy react, its decisions must be those
//! recorded, at the time of that event.
//!
//! A task has one winner. In a live run the first of its attempts to finish is the only one that is recorded as
//! finished: an attempt that ends later is stopped. In a simulated run a policy may let one copy run on beside the
//! winner on purpose ([`Keep`](crate::policy::losing_copies::Keep)), and that copy finishes too; a copy that the policy asked to
//! stop does not.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::cluster::{Applied, Attempt, AttemptState, Placement, RecordError};
use crate::ids::{AttemptId, JobId, TaskId};
use crate::record::{Change, Decision, Event, Record};
use crate::session::{Decided, Session, Sink};
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
    session: &'a mut Session,
    /// Decisions made and not yet found in the journal, in order.
    due: VecDeque<Decision>,
    /// The first attempt of each task to finish, and when; of simulated jobs only while they are active.
    winners: FxHashMap<JobId, FxHashMap<TaskId, (u32, Time)>>,
    allows_two_winners: bool,
    verified: Verified,
}

/// Keeps what the policy decides until it is found in the journal. The recorded run left out what was refused, too.
struct Due<'a>(&'a mut VecDeque<Decision>);

impl Sink for Due<'_> {
    type Error = RecordError;

    fn decided(&mut self, decided: Decided<'_>) -> Result<(), RecordError> {
        self.0.extend(decided.decisions.drain(..));
        Ok(())
    }
}

impl<'a> Verifier<'a> {
    /// From a session as the recorded run began: an empty cluster that places as the run's did, and a policy that has
    /// seen nothing yet.
    pub fn new(session: &'a mut Session) -> Verifier<'a> {
        let (due, winners, verified) = (VecDeque::new(), FxHashMap::default(), Verified::default());
        Verifier { session, due, winners, allows_two_winners: false, verified }
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
            Some(expected) => Err(differs(self.session.cluster().now(), None, Some(expected))),
            None => Ok(self.verified),
        }
    }

    /// The decisions that are made and not yet recorded, for a run that goes on in the session: those of a journal that
    /// was cut short.
    pub fn into_due(self) -> Vec<Decision> {
        self.due.into()
    }

    fn decision(&mut self, at: Time, recorded: &Decision) -> Result<(), Difference> {
        let expected = self.due.pop_front();
        if expected.as_ref() != Some(recorded) {
            return Err(differs(at, Some(recorded), expected.as_ref()));
        }
        let decided = self.session.cluster().now();
        if at != decided {
            return Err(Difference::Time { decision: text(recorded), recorded: at, decided });
        }
        self.verified.decisions += 1;
        Ok(())
    }

    /// True if the recorded run was a live one.
    fn is_live(&self) -> bool {
        self.session.cluster().placement() == Placement::Spread
    }

    /// Checks that an attempt which is about to finish is not the second winner of its task.
    fn check_winner(&self, at: Time, attempt: AttemptId) -> Result<(), Difference> {
        let AttemptId { task, copy } = attempt;
        let first = self.winners.get(&task.job).and_then(|tasks| tasks.get(&task)).copied();
        let Some((first, first_at)) = first else { return Ok(()) };
        let was_kept = |attempt: &Attempt| attempt.state() != AttemptState::Stopping;
        if !self.is_live() && (first == copy || self.session.cluster().attempt(attempt).is_some_and(was_kept)) {
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
        let stepped = self.session.step(at, event, &mut Due(&mut self.due));
        let stepped = stepped.map_err(|error| Difference::Record { at, error })?;
        self.verified.events += 1;
        self.verified.rounds += u64::from(*event == Event::Round);
        if let (Applied { won: true, .. }, Event::AttemptFinished { attempt }) = (stepped.applied, event) {
            self.winners.entry(attempt.task.job).or_default().insert(attempt.task, (attempt.copy, at));
        }
        if let Some(job) = stepped.retired.filter(|_| !self.is_live()) {
            self.winners.remove(&job.id());
        }
        Ok(())
    }
}

/// Replays the records of a whole run in a session as it began, and compares the policy's decisions with those
/// recorded.
///
/// # Errors
/// The first difference.
pub fn verify(mut session: Session, records: impl IntoIterator<Item = Record>) -> Result<Verified, Difference> {
    let mut verifier = Verifier::new(&mut session);
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
