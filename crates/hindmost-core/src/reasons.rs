//! Why copies were started in a recorded run, for all of them at once.
//!
//! As in [`explain`](crate::explain), the records are replayed to a policy that keeps its reasons.

use std::collections::BTreeMap;

use crate::cluster::RecordError;
use crate::ids::AttemptId;
use crate::record::{Change, Decision, Record, StopReason};
use crate::session::{Decided, Session, Sink};

/// What a policy said of its decisions, kept as they are made.
#[derive(Clone, Debug, Default)]
pub struct Reasons {
    started: BTreeMap<AttemptId, String>,
    /// Of tasks of which an attempt was stopped to be started afresh: why.
    moved: BTreeMap<crate::ids::TaskId, String>,
}

impl Reasons {
    /// Adds a decision with its reason. Give it all decisions on a task, in their order. `fresh` is the attempt that a
    /// replacement has started, where one has.
    pub fn add(&mut self, decision: &Decision, fresh: Option<AttemptId>, why: String) {
        match decision {
            Decision::Start { attempt, .. } => {
                // What follows a stop for a fresh start is started because of that.
                let why = self.moved.remove(&attempt.task).unwrap_or(why);
                self.started.insert(*attempt, why);
            }
            Decision::Stop { attempt, reason: StopReason::Relaunched } => {
                self.moved.insert(attempt.task, why);
            }
            Decision::Replace { .. } => {
                if let Some(fresh) = fresh {
                    self.started.insert(fresh, why);
                }
            }
            Decision::Stop { .. } | Decision::Reserve { .. } | Decision::Wake { .. } | Decision::Watch { .. } => {}
        }
    }

    /// Why each attempt was started, where that was said.
    pub fn started(self) -> BTreeMap<AttemptId, String> {
        self.started
    }
}

impl Sink for Reasons {
    type Error = RecordError;

    fn decided(&mut self, decided: Decided<'_>) -> Result<(), RecordError> {
        for (decision, fresh, why) in decided.reasoned() {
            self.add(decision, fresh, why.to_owned());
        }
        Ok(())
    }
}

/// Why attempts were started, as far as the records give the same decisions again: what comes after a record
/// that does not fit is left out. `session` is as the recorded run began.
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
