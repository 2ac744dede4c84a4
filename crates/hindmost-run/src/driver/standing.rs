//! Whether the results of a run that is resumed still stand, and what is done where some don't.
//!
//! A task whose result is gone or has changed is run again, and so is all that was made from it: the tasks of every
//! later phase. The run then begins again: its journal is put away, and in the new one the job arrives with the tasks
//! whose results stand.

use std::collections::BTreeSet;

use hindmost_core::ids::TaskId;
use hindmost_core::record::{Change, Event, Record};

use super::{Follower, JOB, RunError};
use crate::engine::{Engine, RunIdentity};
use crate::job_file::Plan;
use crate::store::{EndMarker, ResultState, Store, Whereabouts};

/// A task that may not run twice, and how often it has failed.
pub(super) type TaskFailures = (TaskId, u32);

/// Tasks of one name are listed up to this number.
const NAMED: usize = 10;

/// Phases that come after others, directly or not, those themselves included.
fn with_descendants(plan: &Plan, phases: &BTreeSet<u32>) -> BTreeSet<u32> {
    let mut reached = phases.clone();
    // Parents come before their children.
    for (at, phase) in plan.phases.iter().enumerate() {
        if phase.after.iter().any(|parent| reached.contains(parent)) {
            reached.insert(at as u32);
        }
    }
    reached
}

fn tasks_of(plan: &Plan, phase: u32) -> impl Iterator<Item = TaskId> + use<> {
    let tasks = plan.phases.get(phase as usize).map_or(0, |planned| planned.tasks);
    (0..tasks).map(move |index| TaskId { job: JOB, phase, index })
}

/// The tasks that a journal says are finished, those included that were when the job arrived.
fn finished(records: &[Record]) -> BTreeSet<TaskId> {
    let mut finished = BTreeSet::new();
    for record in records {
        match &record.change {
            Change::Event(Event::AttemptFinished { attempt }) => _ = finished.insert(attempt.task),
            Change::Event(Event::JobArrived { spec, .. }) => {
                for (phase, spec) in (0..).zip(&spec.phases) {
                    finished.extend(spec.finished.iter().map(|index| TaskId { job: JOB, phase, index: *index }));
                }
            }
            _ => {}
        }
    }
    finished
}

/// The tasks, by phase, whose results are in their places and stand, and were made from results that stand.
///
/// # Errors
/// If results can't be looked at.
pub(super) fn standing(plan: &Plan, store: &Store) -> Result<BTreeSet<TaskId>, RunError> {
    let mut stands = BTreeSet::new();
    let mut incomplete = BTreeSet::new();
    for phase in 0..plan.phases.len() as u32 {
        let has_results = store.has_results(phase).map_err(unseen(store))?;
        if !has_results || with_descendants(plan, &incomplete).contains(&phase) {
            incomplete.insert(phase);
            continue;
        }
        let before = stands.len();
        for task in tasks_of(plan, phase) {
            if store.result_state(task).map_err(unseen(store))? == ResultState::Stands {
                stands.insert(task);
            }
        }
        if stands.len() - before < plan.phases[phase as usize].tasks as usize {
            incomplete.insert(phase);
        }
    }
    Ok(stands)
}

/// What is in the run's folder can't be looked at: going on could lose it.
fn unseen(store: &Store) -> impl Fn(std::io::Error) -> RunError + '_ {
    |error| RunError::Io { path: store.folder().into(), error }
}

/// Attempts that have ended while nobody looked count before a run begins again. Returns failures of tasks that may not
/// run twice.
///
/// # Errors
/// If one that may not run twice is at work, or its results were made from some that are made again.
fn count_unseen(
    plan: &Plan,
    store: &mut Store,
    finished: &BTreeSet<TaskId>,
    later: &BTreeSet<u32>,
    engine: &mut dyn Engine,
    follower: &mut dyn Follower,
) -> Result<Vec<TaskFailures>, RunError> {
    let name = |task: &TaskId| format!("{}/{}", plan.phases[task.phase as usize].name, task.index);
    let mut ended = Vec::new();
    if matches!(store.whereabouts(), Whereabouts::Same | Whereabouts::Moved) {
        for attempt in store.attempts_there().map_err(unseen(store))? {
            if finished.contains(&attempt.task) {
                continue;
            }
            let idempotent = plan.phases[attempt.task.phase as usize].idempotent;
            let marker = store.end_marker(attempt).map_err(unseen(store))?;
            if !idempotent && later.contains(&attempt.task.phase) {
                return Err(may_not_repeat(&name(&attempt.task)));
            }
            if !idempotent && marker == EndMarker::Missing && engine.is_at_work(&store.run(), attempt) {
                return Err(RunError::Input(format!(
                    "{} is at work, and may not be cut off (idempotent = false): --resume again once it has ended",
                    name(&attempt.task)
                )));
            }
            ended.push((attempt, marker, idempotent));
        }
    }
    kill_earlier(store, engine, follower);
    let mut failures = Vec::new();
    let mut good = Vec::new();
    for (attempt, marker, idempotent) in ended {
        match marker {
            EndMarker::Exit(0) if !later.contains(&attempt.task.phase) => {
                let has_output = store.prepare(attempt).map_err(unseen(store))?;
                good.extend(has_output.then_some(attempt));
            }
            EndMarker::Exit(_) if !idempotent => failures.push((attempt.task, 1)),
            _ => {}
        }
    }
    store.check_place()?;
    store.make_durable().map_err(unseen(store))?;
    for attempt in &good {
        store.commit(*attempt).map_err(unseen(store))?;
    }
    store.sync_results(good.iter().map(|attempt| attempt.task)).map_err(unseen(store))?;
    Ok(failures)
}

fn may_not_repeat(task: &str) -> RunError {
    RunError::Input(format!(
        "{task} would have to run again, and may not (idempotent = false): put the results back that are gone or have \
         changed, or run the job elsewhere with --out DIR"
    ))
}

/// Checks the results of the tasks that a journal says are finished. Returns whether the run must begin again because
/// some don't stand; it has been prepared for that then.
///
/// # Errors
/// If a task would have to be run again that may not be.
pub(super) fn check(
    plan: &Plan,
    store: &mut Store,
    records: &[Record],
    engine: &mut dyn Engine,
    follower: &mut dyn Follower,
) -> Result<bool, RunError> {
    let finished = finished(records);
    let mut broken: Vec<(TaskId, ResultState)> = Vec::new();
    for task in &finished {
        let state = store.result_state(*task).map_err(unseen(store))?;
        if state != ResultState::Stands {
            broken.push((*task, state));
        }
    }
    if broken.is_empty() {
        return Ok(false);
    }
    let name = |task: &TaskId| format!("{}/{}", plan.phases[task.phase as usize].name, task.index);
    let mut again: BTreeSet<TaskId> = broken.iter().map(|(task, _)| *task).collect();
    let phases: BTreeSet<u32> = again.iter().map(|task| task.phase).collect();
    let reached = with_descendants(plan, &phases);
    let comes_after = |phase: &u32| plan.phases[*phase as usize].after.iter().any(|parent| reached.contains(parent));
    let later: BTreeSet<u32> = reached.iter().copied().filter(comes_after).collect();
    for phase in &later {
        again.extend(tasks_of(plan, *phase).filter(|task| finished.contains(task)));
    }
    if let Some(task) = again.iter().find(|task| !plan.phases[task.phase as usize].idempotent) {
        return Err(may_not_repeat(&name(task)));
    }
    for (task, state) in broken.iter().take(NAMED) {
        let what = match state {
            ResultState::Changed(how) => format!("has changed ({how})"),
            ResultState::Gone | ResultState::Stands => "is gone".to_owned(),
        };
        follower.message(&format!("the result of {} {what}: it is made again", name(task)));
    }
    if broken.len() > NAMED {
        follower.message(&format!("and {} more results", broken.len() - NAMED));
    }
    if again.len() > broken.len() {
        let names: Vec<&str> = later.iter().map(|phase| plan.phases[*phase as usize].name.as_str()).collect();
        follower.message(&format!("what was made from them is made again: {}", names.join(", ")));
    }
    let mut failed = failures(plan, records);
    failed.extend(count_unseen(plan, store, &finished, &later, engine, follower)?);
    for task in &again {
        let aside = store.set_aside(*task).map_err(|error| RunError::Io { path: store.folder().into(), error })?;
        if let Some(aside) = aside.filter(|_| broken.iter().any(|(broken, _)| broken == task)) {
            follower.message(&format!("what was in the place of {} is in {aside} now", name(task)));
        }
    }
    clear(store, follower)?;
    store.begin_again(plan, &failed)?;
    Ok(true)
}

/// Removes what is left of attempts.
pub(super) fn clear(store: &Store, follower: &mut dyn Follower) -> Result<(), RunError> {
    let left = store.remove_strays(&[]).map_err(|error| RunError::Io { path: store.folder().into(), error })?;
    for left in left {
        follower.message(&format!("can't be removed and is left: {left}"));
    }
    Ok(())
}

/// Kills what earlier processes of the run have left, but nothing of a run of which this folder is a copy.
pub(super) fn kill_earlier(store: &Store, engine: &mut dyn Engine, follower: &mut dyn Follower) {
    if store.whereabouts() != Whereabouts::Copied {
        kill(&store.run(), engine, follower);
        kill_moved(store, engine, follower);
    }
}

/// Kills what knows the run's folder by an old path.
pub(super) fn kill_moved(store: &Store, engine: &mut dyn Engine, follower: &mut dyn Follower) {
    if let Some(before) = store.run_before_move() {
        kill(&before, engine, follower);
    }
}

/// Kills what is left of a run, and says what does not end.
pub(super) fn kill(run: &RunIdentity, engine: &mut dyn Engine, follower: &mut dyn Follower) {
    for what in engine.kill_strays(run) {
        follower.message(&format!("of an earlier attempt {what}"));
    }
}

/// Failures in a journal of tasks that may not run twice.
pub(super) fn failures(plan: &Plan, records: &[Record]) -> Vec<TaskFailures> {
    let mut failures: std::collections::BTreeMap<TaskId, u32> = std::collections::BTreeMap::new();
    for record in records {
        if let Change::Event(Event::AttemptFailed { attempt, reason: Some(_), .. }) = &record.change
            && plan.phases.get(attempt.task.phase as usize).is_some_and(|phase| !phase.idempotent)
        {
            *failures.entry(attempt.task).or_default() += 1;
        }
    }
    failures.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_phases_are_found_however_far() {
        let phase = |name: &str, after: &str| {
            format!("[[phase]]\nname = \"{name}\"\ntasks = 2\ncommand = \"true\"\nafter = [{after}]\n")
        };
        let text =
            phase("a", "") + &phase("b", "") + &phase("c", "\"a\"") + &phase("d", "\"c\"") + &phase("e", "\"b\"");
        let folder = std::path::Path::new("/tmp");
        let plan = crate::job_file::parse(&text, &folder.join("job.toml"), folder).unwrap();
        assert_eq!(with_descendants(&plan, &BTreeSet::from([0])), BTreeSet::from([0, 2, 3]));
        assert_eq!(with_descendants(&plan, &BTreeSet::from([1])), BTreeSet::from([1, 4]));
    }
}
