//! Why each copy of a task was started or stopped in a recorded run: what the policy knew and expected,
//! and what came of it.
//!
//! The journal is replayed to a policy that keeps its reasons; nothing is guessed from the outside.

use serde::Serialize;

use crate::cluster::{Attempt, Cluster};
use crate::estimator::Estimator;
use crate::ids::{AttemptId, TaskId};
use crate::policy::Policy;
use crate::record::{Change, Decision, Event, Record, StopReason};
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

/// Tells a task's story.
///
/// # Errors
/// If the journal does not give the same decisions again: then nobody knows why they were made.
pub fn explain(
    mut cluster: Cluster,
    policy: &mut Policy,
    estimator: &dyn Estimator,
    records: impl IntoIterator<Item = Record>,
    task: TaskId,
) -> Result<Vec<Step>, Difference> {
    policy.keep_reasons();
    let mut steps = Vec::new();
    let mut decided = Vec::new();
    for Record { at, change } in records {
        let Change::Event(event) = change else { continue };
        let fault = |error| Difference::Record { at, error };
        let seconds = at.seconds();
        let before = |cluster: &Cluster| cluster.copies(task).map(|copy| known(cluster, estimator, copy, at)).collect();
        let knew: Vec<Known> = before(&cluster);
        let running = knew.clone();
        let applied = cluster.apply_event(at, &event).map_err(fault)?;
        let knows: Vec<Known> = before(&cluster);
        if let Some((copy, what)) = happened(&event, applied.won, &cluster, task, &running) {
            steps.push(Step { at: seconds, copy, what, because: None, knew: Vec::new() });
        }
        if event == Event::Round {
            policy.decide(&mut cluster, estimator, &mut decided);
        } else {
            policy.observe(&event, applied, &mut cluster, estimator, &mut decided);
        }
        // The recorded run left out what was refused, too.
        policy.take_refused();
        let reasons = policy.take_reasons();
        for (number, decision) in decided.drain(..).enumerate() {
            let Some((copy, what)) = decision_on(&decision, &cluster, task) else { continue };
            let because = reasons.iter().find(|(of, _)| *of == number).map(|(_, why)| why.clone());
            steps.push(Step { at: seconds, copy: Some(copy), what, because, knew: knows.clone() });
        }
        if let Event::AttemptFinished { attempt }
        | Event::AttemptStopped { attempt }
        | Event::AttemptFailed { attempt, .. } = event
        {
            cluster.retire(attempt.task.job);
        }
    }
    Ok(steps)
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
        Event::AttemptFailed { attempt, reason } => {
            let copy = of_task(attempt)?;
            let reason =
                reason.as_deref().unwrap_or("it was killed by the rehearsal, or lost while nobody looked after it");
            Some((Some(copy), format!("failed after {:.2} s: {reason}", ran(copy))))
        }
        Event::AttemptStopped { attempt } => {
            let copy = of_task(attempt)?;
            Some((Some(copy), format!("has stopped, having run for {:.2} s", ran(copy))))
        }
        Event::WatchMet { attempt, expected_finish } => {
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
                StopReason::Outrun => "told to stop: it is outrun",
                StopReason::Moved => "told to stop, to be started afresh elsewhere",
            };
            Some((attempt.copy, why.to_owned()))
        }
        Decision::Replace { attempt, .. } if attempt.task == task => {
            Some((attempt.copy, "told to stop; a fresh copy gets its room".to_owned()))
        }
        _ => None,
    }
}
