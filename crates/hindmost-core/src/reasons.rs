//! Why copies were started in a recorded run, for all of them at once.
//!
//! As in [`explain`](crate::explain), the records are replayed to a policy that keeps its reasons.

use std::collections::BTreeMap;

use crate::cluster::Cluster;
use crate::estimator::Estimator;
use crate::ids::AttemptId;
use crate::policy::Policy;
use crate::record::{Change, Decision, Event, Record, StopReason};

/// What a policy said of its decisions, kept as they are made.
#[derive(Clone, Debug, Default)]
pub struct Reasons {
    started: BTreeMap<AttemptId, String>,
    /// Of tasks of which an attempt was stopped to be started afresh: why.
    moved: BTreeMap<crate::ids::TaskId, String>,
}

impl Reasons {
    /// A decision with what was said of it. Tell it of all decisions on a task, in their order. `fresh` is the
    /// attempt that a replacement has started, where one has.
    pub fn add(&mut self, decision: &Decision, fresh: Option<AttemptId>, why: String) {
        match decision {
            Decision::Start { attempt, .. } => {
                // What follows a stop for a fresh start is started because of that.
                let why = self.moved.remove(&attempt.task).unwrap_or(why);
                self.started.insert(*attempt, why);
            }
            Decision::Stop { attempt, reason: StopReason::Moved } => {
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

/// Why attempts were started, as far as the records give the same decisions again: what comes after a record
/// that does not fit is left out.
pub fn reasons(
    mut cluster: Cluster,
    policy: &mut Policy,
    estimator: &dyn Estimator,
    records: impl IntoIterator<Item = Record>,
) -> BTreeMap<AttemptId, String> {
    policy.keep_reasons();
    let mut found = Reasons::default();
    let mut decided = Vec::new();
    for Record { at, change } in records {
        let Change::Event(event) = change else { continue };
        let Ok(applied) = cluster.apply_event(at, &event) else { break };
        if event == Event::Round {
            policy.decide(&mut cluster, estimator, &mut decided);
        } else {
            policy.observe(&event, applied, &mut cluster, estimator, &mut decided);
        }
        // The recorded run left out what was refused, too.
        policy.take_refused();
        for (number, why) in policy.take_reasons() {
            let Some(decision) = decided.get(number) else { continue };
            let fresh = match decision {
                Decision::Replace { attempt, .. } => {
                    cluster.copies(attempt.task).map(crate::cluster::Attempt::id).max()
                }
                _ => None,
            };
            found.add(decision, fresh, why);
        }
        decided.clear();
        if let Event::AttemptFinished { attempt }
        | Event::AttemptStopped { attempt }
        | Event::AttemptFailed { attempt, .. } = event
        {
            cluster.retire(attempt.task.job);
        }
    }
    found.started()
}
