//! Verifies a recorded run: replays its events and checks that the policy makes the recorded decisions again.
//!
//! The events of a journal are applied to an empty cluster and passed to a new policy. The decisions that the policy
//! makes at an event must be those that the journal has after this event, with the time of the event.
//!
//! A task has one winner. In a live run only the first attempt to finish is recorded as finished; an attempt that ends
//! later is recorded as stopped. In a simulated run a policy may keep one more copy running after the task has its
//! winner ([`Keep`](crate::policy::losing_copies::Keep)), and that copy finishes too. A copy that the policy has
//! stopped does not finish.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::cluster::{Applied, Attempt, AttemptState, RecordError};
use crate::ids::{AttemptId, JobId, TaskId};
use crate::record::{Change, Condition, Decision, Event, Record, StopReason};
use crate::session::{Decided, Session, Sink};
use crate::time::Time;

/// A difference between a journal and its replay.
#[derive(Debug, thiserror::Error)]
pub enum Difference {
    /// The policy makes another decision.
    #[error("at {at} the journal has {recorded}, but the policy decides {decided}")]
    Decision {
        /// Time of the journal's next record, or of its last event if no record follows.
        at: Time,
        /// The recorded decision in words.
        recorded: String,
        /// The policy's decision in words.
        decided: String,
    },
    /// The policy makes the same decision at another time.
    #[error("the journal has {decision} at {recorded}, but the policy decides it at {decided}")]
    Time {
        /// The decision in words.
        decision: String,
        /// Time of the decision in the journal.
        recorded: Time,
        /// Time at which the policy makes the decision, which is the time of the event before it.
        decided: Time,
    },
    /// Two attempts of a task are recorded as finished, although the policy did not keep the second one running.
    #[error("{task} has two winners: attempt {first} finished at {first_at}, attempt {second} at {second_at}")]
    TwoWinners {
        /// Id of the task.
        task: TaskId,
        /// The number of the attempt that finished first.
        first: u32,
        /// Time at which that attempt finished.
        first_at: Time,
        /// The number of the attempt that finished later.
        second: u32,
        /// Time at which that attempt finished.
        second_at: Time,
    },
    /// A record does not fit the state.
    #[error("at {at}: {error}")]
    Record {
        /// The time of the record.
        at: Time,
        /// Why the record does not fit.
        error: RecordError,
    },
}

/// Counts of the records that were verified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Number of events.
    pub events: u64,
    /// Number of rounds among the events.
    pub rounds: u64,
    /// Number of decisions that the policy made as recorded.
    pub decisions: u64,
}

/// The document that `hindmost verify --json` prints: whether the policy makes the recorded decisions again. All counts end
/// at the first difference, if there is one.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verification {
    /// Path of the journal.
    pub journal: String,
    /// The policy, as the journal names it.
    pub policy: String,
    /// The progress model.
    pub knowledge: String,
    /// Number of checked events.
    pub events: u64,
    /// Number of checked rounds of decisions.
    pub rounds: u64,
    /// Number of checked decisions.
    pub decisions: u64,
    /// True if all decisions are the same.
    pub same: bool,
    /// The first difference, in words; `None` if there is none.
    pub difference: Option<String>,
    /// True if the last line or the decisions of the last round are incomplete.
    pub cut_short: bool,
}

/// Replays records one by one and compares the policy's decisions with the recorded ones.
pub struct Verifier<'a> {
    session: &'a mut Session,
    /// Decisions that the policy made and that have not yet been found in the journal, in order.
    due: VecDeque<Decision>,
    /// The number of the first attempt of each task to finish, and the time. The entry of a simulated job is removed
    /// when the job leaves the cluster.
    winners: FxHashMap<JobId, FxHashMap<TaskId, (u32, Time)>>,
    allows_two_winners: bool,
    is_live: bool,
    verified: Verified,
}

/// Collects the policy's decisions until they are found in the journal. Refused decisions are dropped; the recorded run
/// dropped them too.
struct Due<'a>(&'a mut VecDeque<Decision>);

impl Sink for Due<'_> {
    type Error = RecordError;

    fn decided(&mut self, decided: Decided<'_>) -> Result<(), RecordError> {
        self.0.extend(decided.decisions.drain(..));
        Ok(())
    }
}

impl<'a> Verifier<'a> {
    /// Creates a verifier from a session in the state in which the recorded run began: an empty cluster with the run's
    /// placement, and a policy that has observed nothing. `is_live` says whether the run was live
    /// ([`Header::is_live`](crate::journal::Header::is_live)), because kept copies finish only in simulated runs.
    pub fn new(session: &'a mut Session, is_live: bool) -> Verifier<'a> {
        let (due, winners, verified) = (VecDeque::new(), FxHashMap::default(), Verified::default());
        Verifier { session, due, winners, allows_two_winners: false, is_live, verified }
    }

    /// Accepts a second winner of a task. A run that resumes from its journal uses this: a second winner has no effect
    /// and is no reason to refuse to resume.
    #[must_use]
    pub fn allowing_two_winners(mut self) -> Verifier<'a> {
        self.allows_two_winners = true;
        self
    }

    /// Checks the next record.
    ///
    /// # Errors
    /// If the policy makes another decision, or the record does not fit the state. After an error, further checks are
    /// meaningless.
    pub fn check(&mut self, record: Record) -> Result<(), Difference> {
        let Record { at, change } = record;
        match change {
            Change::Decision(recorded) => self.decision(at, &recorded),
            Change::Event(event) => self.event(at, &event),
        }
    }

    /// Returns the counts of records checked so far.
    pub fn verified(&self) -> Verified {
        self.verified
    }

    /// Returns the counts at the end of a journal.
    ///
    /// # Errors
    /// If the last event led to decisions that are not in the journal. A journal that was cut short can lack them.
    pub fn finish(&self) -> Result<Verified, Difference> {
        match self.due.front() {
            Some(expected) => Err(differs(self.session.cluster().now(), None, Some(expected))),
            None => Ok(self.verified),
        }
    }

    /// Returns the decisions that the policy made but the journal lacks. A run that resumes from a journal that was cut
    /// short carries these decisions out.
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
            return Err(Difference::Time { decision: in_words(recorded), recorded: at, decided });
        }
        self.verified.decisions += 1;
        Ok(())
    }

    /// Checks that an attempt that is about to finish is not the second winner of its task.
    fn check_winner(&self, at: Time, attempt: AttemptId) -> Result<(), Difference> {
        let AttemptId { task, copy } = attempt;
        let first = self.winners.get(&task.job).and_then(|tasks| tasks.get(&task)).copied();
        let Some((first, first_at)) = first else { return Ok(()) };
        let was_kept = |attempt: &Attempt| attempt.state() != AttemptState::Stopping;
        if !self.is_live && (first == copy || self.session.cluster().attempt(attempt).is_some_and(was_kept)) {
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
        if !self.is_live {
            for job in &stepped.retired {
                self.winners.remove(&job.id());
            }
        }
        Ok(())
    }
}

/// Replays the records of a whole run and compares the policy's decisions with the recorded ones. `session` is in the
/// state in which the run began, and `is_live` says whether the run was live.
///
/// # Errors
/// Returns the first difference.
pub fn verify(
    mut session: Session,
    is_live: bool,
    records: impl IntoIterator<Item = Record>,
) -> Result<Verified, Difference> {
    let mut verifier = Verifier::new(&mut session, is_live);
    for record in records {
        verifier.check(record)?;
    }
    verifier.finish()
}

fn differs(at: Time, recorded: Option<&Decision>, decided: Option<&Decision>) -> Difference {
    let words = |decision: Option<&Decision>| decision.map_or("no decision".to_owned(), in_words);
    let (mut in_journal, mut made) = (words(recorded), words(decided));
    if in_journal == made {
        // Only the record shows the difference.
        let record = |decision: Option<&Decision>| decision.and_then(|decision| serde_json::to_string(decision).ok());
        in_journal += &record(recorded).map_or(String::new(), |record| format!(" {record}"));
        made += &record(decided).map_or(String::new(), |record| format!(" {record}"));
    }
    Difference::Decision { at, recorded: in_journal, decided: made }
}

/// Describes a decision by its kind and the ids that it names.
fn in_words(decision: &Decision) -> String {
    match decision {
        Decision::Start { attempt, node, .. } => format!("the start of {attempt} on {node}"),
        Decision::Stop { attempt, reason } => {
            let why = match reason {
                StopReason::Lost => "another copy has won",
                StopReason::Replaced => "a new copy replaces it",
                StopReason::Overtaken => "another copy of the task runs on",
                StopReason::Relaunched => "its task is relaunched on another node",
                StopReason::Restarted => "its task starts again",
                StopReason::Abandoned => "its job is abandoned",
            };
            format!("the stop of {attempt} ({why})")
        }
        Decision::Replace { attempt, .. } => format!("the replacement of {attempt}"),
        Decision::Reserve { node, until, task: None, .. } => format!("a reservation on {node} until {until}"),
        Decision::Reserve { node, until, task: Some(task), .. } => {
            format!("a reservation on {node} for {task} until {until}")
        }
        Decision::Release { task } => format!("the end of the reservation for {task}"),
        Decision::Abandon { job } => format!("the abandonment of {job}"),
        Decision::Wake { at } => format!("a round at {at}"),
        Decision::Watch { attempt, condition } => {
            let what = match condition {
                Condition::Revealed => "its remaining time becomes known".to_owned(),
                Condition::RemainingAbove(limit) => format!("its remaining time is above {limit} s"),
                Condition::ElapsedAbove(limit) => format!("it has run for more than {limit} s"),
                Condition::RemainingOrElapsedAbove(remaining, elapsed) => format!(
                    "its remaining time is above {remaining} s, or is unknown after a running time of {elapsed} s"
                ),
                Condition::Lagging { rate, after } => {
                    format!("its progress is below {rate} a second after a running time of {after} s")
                }
            };
            format!("a notification when {what}: {attempt}")
        }
    }
}
