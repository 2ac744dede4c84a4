//! Finds the reason for which each copy of a recorded run was started.
//!
//! As in [`explain`](crate::explain), the records are replayed to a policy that keeps its reasons.

use std::collections::BTreeMap;

use crate::cluster::RecordError;
use crate::ids::AttemptId;
use crate::record::{Change, Decision, Record, StopReason};
use crate::session::{Decided, Session, Sink};

/// The reasons that a policy gave for starting attempts.
#[derive(Clone, Debug, Default)]
pub struct Reasons {
    /// The reason for each started attempt for which the policy gave one.
    started: BTreeMap<AttemptId, String>,
    /// The reason for stopping an attempt, by task, for tasks that are to be relaunched.
    relaunched: BTreeMap<crate::ids::TaskId, String>,
}

impl Reasons {
    /// Adds the reason for a decision. The caller passes all decisions about a task, in order. `replacement` is the
    /// attempt that a [`Decision::Replace`] has started; `None` for other decisions.
    pub fn add(&mut self, decision: &Decision, replacement: Option<AttemptId>, why: String) {
        match decision {
            Decision::Start { attempt, .. } => {
                // The reason for relaunching a task is the one for which its attempt was stopped.
                let why = self.relaunched.remove(&attempt.task).unwrap_or(why);
                self.started.insert(*attempt, why);
            }
            Decision::Stop { attempt, reason: StopReason::Relaunched | StopReason::Restarted } => {
                self.relaunched.insert(attempt.task, why);
            }
            Decision::Replace { .. } => {
                if let Some(replacement) = replacement {
                    self.started.insert(replacement, why);
                }
            }
            Decision::Stop { .. }
            | Decision::Reserve { .. }
            | Decision::Release { .. }
            | Decision::Abandon { .. }
            | Decision::Wake { .. }
            | Decision::Watch { .. } => {}
        }
    }

    /// Returns the reason for which an attempt was started; `None` if the policy gave none.
    pub fn of(&self, attempt: AttemptId) -> Option<&str> {
        self.started.get(&attempt).map(String::as_str)
    }

    /// Returns the reason for each started attempt for which the policy gave one.
    pub fn started(self) -> BTreeMap<AttemptId, String> {
        self.started
    }
}

impl Sink for Reasons {
    type Error = RecordError;

    fn decided(&mut self, decided: Decided<'_>) -> Result<(), RecordError> {
        for (decision, replacement, why) in decided.reasoned() {
            self.add(decision, replacement, why.to_owned());
        }
        Ok(())
    }
}

/// Replays records and returns the reason for each started attempt for which the policy gives one. Stops at the first
/// record that does not fit the state. `session` is in the state in which the recorded run began.
pub fn reasons(mut session: Session, records: impl IntoIterator<Item = Record>) -> BTreeMap<AttemptId, String> {
    session.keep_reasons();
    let mut found = Reasons::default();
    for Record { at, change } in records {
        if let Change::Event(event) = change
            && session.step(at, &event, &mut found).is_err()
        {
            break;
        }
    }
    found.started()
}
