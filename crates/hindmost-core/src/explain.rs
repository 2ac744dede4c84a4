//! Explains a recorded run: why each copy of a task was started or stopped, what the progress model showed at that
//! time, and how the copy ended.
//!
//! The journal is replayed to a policy that keeps its reasons, so every reason comes from the policy that made the
//! decision.

use serde::Serialize;

use crate::cluster::{Applied, Attempt, Cluster, RecordError};
use crate::estimator::Estimator;
use crate::ids::{AttemptId, TaskId};
use crate::record::{Change, Decision, Event, Record, StopReason};
use crate::session::{Decided, Session, Sink};
use crate::time::Time;
use crate::verify::Difference;

/// What the progress model showed about a running copy at the time of a decision.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Known {
    /// The number of the copy, from 0.
    pub copy: u32,
    /// The name of the node on which the copy ran.
    pub node: String,
    /// Time for which the copy had been running, seconds.
    pub elapsed: f64,
    /// The copy's remaining time by the progress model, seconds; `None` where it is unknown. If the policy used an
    /// estimate of its own, that estimate is in [`Step::because`].
    pub remaining: Option<f64>,
}

/// An event or decision that concerns the explained task.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Step {
    /// The time, seconds since the run began.
    pub at: f64,
    /// The number of the copy that the step concerns; `None` if the step concerns the whole phase or a node.
    pub copy: Option<u32>,
    /// Text that says what happened or was decided.
    pub what: String,
    /// The policy's reason for a decision; `None` for events and for decisions without a reason.
    pub because: Option<String>,
    /// The task's copies that were running before a decision; empty for events.
    pub knew: Vec<Known>,
}

/// Returns the events and decisions that concern a task, in order of time. `session` is in the state in which the
/// recorded run began.
///
/// # Errors
/// If a record does not fit the state.
pub fn explain(
    mut session: Session,
    records: impl IntoIterator<Item = Record>,
    task: TaskId,
) -> Result<Vec<Step>, Difference> {
    session.keep_reasons();
    let mut history = History { task, steps: Vec::new(), before: Vec::new(), after: Vec::new() };
    for Record { at, change } in records {
        let Change::Event(event) = change else { continue };
        history.before = history.known(&session, at);
        session.step(at, &event, &mut history).map_err(|error| Difference::Record { at, error })?;
    }
    Ok(history.steps)
}

/// Collects the steps of a task while its run is replayed.
struct History {
    task: TaskId,
    steps: Vec<Step>,
    /// The task's running copies before the current event.
    before: Vec<Known>,
    /// The task's running copies after the current event.
    after: Vec<Known>,
}

impl History {
    fn known(&self, session: &Session, at: Time) -> Vec<Known> {
        let cluster = session.cluster();
        cluster.copies(self.task).map(|copy| known(cluster, session.estimator(), copy, at)).collect()
    }
}

impl Sink for History {
    type Error = RecordError;

    fn applied(&mut self, at: Time, event: &Event, applied: Applied, state: &Session) -> Result<(), RecordError> {
        self.after = self.known(state, at);
        if let Some((copy, what)) = happened(event, applied.won, state.cluster(), self.task, &self.before) {
            self.steps.push(Step { at: at.seconds(), copy, what, because: None, knew: Vec::new() });
        }
        Ok(())
    }

    fn decided(&mut self, decided: Decided<'_>) -> Result<(), RecordError> {
        for (number, decision) in decided.decisions.iter().enumerate() {
            let Some((copy, what)) = decision_on(decision, decided.cluster, self.task) else { continue };
            let because = decided.reasons.iter().find(|(of, _)| *of == number).map(|(_, why)| why.clone());
            let at = decided.at.seconds();
            self.steps.push(Step { at, copy: Some(copy), what, because, knew: self.after.clone() });
        }
        Ok(())
    }
}

fn known(cluster: &Cluster, estimator: &dyn Estimator, copy: &Attempt, at: Time) -> Known {
    Known {
        copy: copy.id().copy,
        node: cluster.node(copy.node()).map_or_else(String::new, |node| node.name().to_string()),
        elapsed: (at - copy.since()).seconds(),
        remaining: estimator.remaining(cluster, copy),
    }
}

/// Returns the number of the copy that an event concerns (`None` for the whole phase or a node) and a text that says
/// what happened. `None` if the event does not concern the task.
fn happened(
    event: &Event,
    won: bool,
    cluster: &Cluster,
    task: TaskId,
    running: &[Known],
) -> Option<(Option<u32>, String)> {
    let of_task = |attempt: &AttemptId| (attempt.task == task).then_some(attempt.copy);
    let ran = |copy: u32| running.iter().find(|known| known.copy == copy).map_or(0.0, |known| known.elapsed);
    match event {
        Event::JobArrived { job, spec } if *job == task.job => {
            let phase = spec.phases.get(task.phase as usize)?;
            let was_finished = phase.finished.contains(&task.index);
            was_finished.then(|| (None, "the job arrived; this task had its result already".to_owned()))
        }
        Event::AttemptFinished { attempt } => {
            let copy = of_task(attempt)?;
            let (after, result) =
                (ran(copy), if won { "the task has its result" } else { "too late, the task already had its result" });
            Some((Some(copy), format!("finished after {after:.2} s: {result}")))
        }
        Event::AttemptFailed { attempt, reason, external } => {
            let copy = of_task(attempt)?;
            let what = match (reason, external) {
                (Some(reason), _) => format!("failed after {:.2} s: {reason}", ran(copy)),
                (None, Some(what)) => format!("was ended from outside after {:.2} s: {what}", ran(copy)),
                (None, None) => {
                    format!("was ended from outside after {:.2} s; the journal does not record the cause", ran(copy))
                }
            };
            Some((Some(copy), what))
        }
        Event::AttemptStopped { attempt } => {
            let copy = of_task(attempt)?;
            Some((Some(copy), format!("stopped after {:.2} s", ran(copy))))
        }
        Event::WatchMet { attempt, expected_finish, .. } => {
            let copy = of_task(attempt)?;
            let what = match expected_finish {
                Some(finish) => format!("was expected to finish at {:.2} s; the policy was notified", finish.seconds()),
                None => format!("had been running for {:.2} s; the policy was notified", ran(copy)),
            };
            Some((Some(copy), what))
        }
        Event::DurationsLearned { job, phase, median, p90, samples, progress, .. } => {
            let concerns = *job == task.job && *phase == task.phase && !running.is_empty();
            let by = if *progress { "copies report progress" } else { "no copy has shown progress yet" };
            concerns.then(|| {
                let copies = if *samples == 1 { "copy" } else { "copies" };
                let times = format!("median {median:.2} s, 90th percentile {p90:.2} s");
                (None, format!("durations of the phase estimated from {samples} {copies}: {times}; {by}"))
            })
        }
        Event::NodeSpeedLearned { node, speed } => {
            let name = cluster.node(*node).map(|node| node.name().to_string())?;
            let concerns = running.iter().any(|known| known.node == name);
            concerns.then(|| (None, format!("speed of node {name} estimated: {speed:.2} (1 is normal)")))
        }
        Event::NodeLost { node } => {
            let name = cluster.node(*node).map(|node| node.name().to_string())?;
            let lost = running.iter().find(|known| known.node == name)?;
            Some((Some(lost.copy), format!("was lost with node {name} after {:.2} s", lost.elapsed)))
        }
        _ => None,
    }
}

/// Returns the number of the copy that a decision concerns and a text that says what was decided. `None` if the
/// decision does not concern the task.
fn decision_on(decision: &Decision, cluster: &Cluster, task: TaskId) -> Option<(u32, String)> {
    match decision {
        Decision::Start { attempt, node, .. } if attempt.task == task => {
            let node = cluster.node(*node).map_or("?", |node| node.name());
            Some((attempt.copy, format!("started on {node}")))
        }
        Decision::Stop { attempt, reason } if attempt.task == task => {
            let what = match reason {
                StopReason::Lost => "is stopped: another copy has won",
                StopReason::Replaced => "is stopped: a new copy replaces it",
                StopReason::Overtaken => "is stopped: another copy will finish first",
                StopReason::Relaunched => "is stopped, to be relaunched on another node",
            };
            Some((attempt.copy, what.to_owned()))
        }
        Decision::Replace { attempt, .. } if attempt.task == task => {
            Some((attempt.copy, "is stopped: a new copy starts on its resources".to_owned()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::JobId;
    use crate::resources::Dimensions;

    #[test]
    fn a_failure_is_shown_with_its_cause() {
        let task = TaskId { job: JobId(0), phase: 0, index: 3 };
        let attempt = AttemptId { task, copy: 1 };
        let cluster = Cluster::new(Dimensions::one_slot());
        let running = [Known { copy: 1, node: "n1".to_owned(), elapsed: 2.5, remaining: None }];
        let text = |reason: Option<&str>, external: Option<&str>| {
            let (reason, external) = (reason.map(Into::into), external.map(Into::into));
            let event = Event::AttemptFailed { attempt, reason, external };
            happened(&event, false, &cluster, task, &running).unwrap().1
        };
        assert_eq!(text(Some("exit code 3"), None), "failed after 2.50 s: exit code 3");
        let lost = text(None, Some("its node was lost"));
        assert_eq!(lost, "was ended from outside after 2.50 s: its node was lost");
        // Journals of earlier versions do not record the cause.
        assert!(text(None, None).starts_with("was ended from outside after 2.50 s; the journal does not record"));
    }
}
