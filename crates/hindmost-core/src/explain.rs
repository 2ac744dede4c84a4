//! Why each copy of a task was started or stopped in a recorded run: what the policy knew and expected,
//! and what came of it.
//!
//! The journal is replayed to a policy that keeps its reasons; nothing is guessed from the outside.

use serde::Serialize;

use crate::cluster::{Applied, Attempt, Cluster, RecordError};
use crate::estimator::Estimator;
use crate::ids::{AttemptId, TaskId};
use crate::record::{Change, Decision, Event, Record, StopReason};
use crate::session::{Decided, Session, Sink};
use crate::time::Time;
use crate::verify::Difference;

/// What was known of a living copy at a time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Known {
    /// Which copy.
    pub copy: u32,
    /// Its node.
    pub node: String,
    /// How long it had run, seconds.
    pub elapsed: f64,
    /// How much longer it was expected to run, seconds, where something was known.
    pub remaining: Option<f64>,
}

/// A moment in a task's life.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// When, seconds since the run began.
    pub at: f64,
    /// Which copy it is about; `None` for what concerns the whole phase or a node.
    pub copy: Option<u32>,
    /// What happened or was decided.
    pub what: String,
    /// Why, in the policy's words.
    pub because: Option<String>,
    /// What was known of the copies alive before.
    pub knew: Vec<Known>,
}

/// Tells a task's story. `session` is as the recorded run began.
///
/// # Errors
/// If a record does not fit the state.
pub fn explain(
    mut session: Session,
    records: impl IntoIterator<Item = Record>,
    task: TaskId,
) -> Result<Vec<Step>, Difference> {
    session.keep_reasons();
    let mut story = Story { task, steps: Vec::new(), before: Vec::new(), after: Vec::new() };
    for Record { at, change } in records {
        let Change::Event(event) = change else { continue };
        story.before = story.known(&session, at);
        session.step(at, &event, &mut story).map_err(|error| Difference::Record { at, error })?;
    }
    Ok(story.steps)
}

/// What becomes of a task, written down as its run is replayed.
struct Story {
    task: TaskId,
    steps: Vec<Step>,
    /// What was known of its copies before the current event, and after it.
    before: Vec<Known>,
    after: Vec<Known>,
}

impl Story {
    fn known(&self, session: &Session, at: Time) -> Vec<Known> {
        let cluster = session.cluster();
        cluster.copies(self.task).map(|copy| known(cluster, session.estimator(), copy, at)).collect()
    }
}

impl Sink for Story {
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

/// What an event says of the task: of one of its copies, or of its phase.
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
            was_finished.then(|| (None, "its job arrived, and the task had its result already".to_owned()))
        }
        Event::AttemptFinished { attempt } => {
            let copy = of_task(attempt)?;
            let (after, result) = (ran(copy), if won { "the task has its result" } else { "too late" });
            Some((Some(copy), format!("finished after {after:.2} s: {result}")))
        }
        Event::AttemptFailed { attempt, reason, external } => {
            let copy = of_task(attempt)?;
            let what = match (reason, external) {
                (Some(reason), _) => format!("failed after {:.2} s: {reason}", ran(copy)),
                (None, Some(what)) => format!("was ended from outside after {:.2} s: {what}", ran(copy)),
                (None, None) => {
                    format!("was ended from outside after {:.2} s; the journal does not say by what", ran(copy))
                }
            };
            Some((Some(copy), what))
        }
        Event::AttemptStopped { attempt } => {
            let copy = of_task(attempt)?;
            Some((Some(copy), format!("has stopped, having run for {:.2} s", ran(copy))))
        }
        Event::WatchMet { attempt, expected_finish, .. } => {
            let copy = of_task(attempt)?;
            let told = match expected_finish {
                Some(finish) => {
                    format!("was seen to be slow, or how long it takes: expected to end at {:.2} s", finish.seconds())
                }
                None => format!("had run for {:.2} s, long enough to be looked at", ran(copy)),
            };
            Some((Some(copy), told))
        }
        Event::DurationsLearned { job, phase, median, p90, samples, progress, .. } => {
            let concerns = *job == task.job && *phase == task.phase && !running.is_empty();
            let by = if *progress { "progress is told" } else { "no progress is told" };
            concerns.then(|| {
                let copies = if *samples == 1 { "copy" } else { "copies" };
                let times = format!("median {median:.2} s, nine of ten within {p90:.2} s");
                (None, format!("learned from {samples} {copies} of the phase: {times}; {by}"))
            })
        }
        Event::NodeSpeedLearned { node, speed } => {
            let name = cluster.node(*node).map(|node| node.name().to_string())?;
            let concerns = running.iter().any(|known| known.node == name);
            concerns.then(|| (None, format!("learned that node {name} goes at {speed:.2} of the others' speed")))
        }
        Event::NodeLost { node } => {
            let name = cluster.node(*node).map(|node| node.name().to_string())?;
            let lost = running.iter().find(|known| known.node == name)?;
            Some((Some(lost.copy), format!("was lost with node {name} after {:.2} s", lost.elapsed)))
        }
        _ => None,
    }
}

fn decision_on(decision: &Decision, cluster: &Cluster, task: TaskId) -> Option<(u32, String)> {
    match decision {
        Decision::Start { attempt, node, .. } if attempt.task == task => {
            let node = cluster.node(*node).map_or("?", |node| node.name());
            Some((attempt.copy, format!("started on {node}")))
        }
        Decision::Stop { attempt, reason } if attempt.task == task => {
            let why = match reason {
                StopReason::Lost => "told to stop: it has lost",
                StopReason::Replaced => "told to stop for a fresh copy",
                StopReason::Overtaken => "told to stop: it is outrun",
                StopReason::Relaunched => "told to stop, to be started afresh elsewhere",
            };
            Some((attempt.copy, why.to_owned()))
        }
        Decision::Replace { attempt, .. } if attempt.task == task => {
            Some((attempt.copy, "told to stop; a fresh copy gets its room".to_owned()))
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
    fn a_failure_names_its_own_cause() {
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
        // Journals of earlier versions do not say.
        assert!(text(None, None).starts_with("was ended from outside after 2.50 s; the journal does not say"));
    }
}
