//! Checks on resumption whether the results are still the committed ones, and prepares to repeat tasks where they are not.
//!
//! A task whose result is missing or has changed runs again, and so do the tasks of all later phases, which were made from
//! it. The run then begins again: its journal is put away, and in the new journal the tasks whose results are valid
//! are finished from the job's arrival on.

use std::collections::BTreeSet;

use hindmost_core::ids::TaskId;
use hindmost_core::record::{Change, Event, Record};

use super::{Follower, JOB, RunError};
use crate::engine::{Engine, RunIdentity};
use crate::job_file::Plan;
use crate::store::{EndMarker, ResultState, Store, Whereabouts};

/// A task that may not run twice (`idempotent = false`), and how often it has failed.
pub(super) type TaskFailures = (TaskId, u32);

/// Number of missing or changed results that are reported one by one; the others are only counted.
const NAMED: usize = 10;

/// Returns these phases and all phases that come after them, directly or through other phases.
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

/// Returns the tasks that are finished according to a journal, including those that were finished when the job arrived.
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

/// Returns the tasks that had failed permanently as their phases allow, according to a journal.
pub(super) fn given_up(records: &[Record]) -> BTreeSet<TaskId> {
    let given_up = records.iter().filter_map(|record| match &record.change {
        Change::Event(Event::TaskGivenUp { task }) => Some(*task),
        _ => None,
    });
    given_up.collect()
}

/// Returns the tasks whose results are in place and valid and were made from valid results.
///
/// # Errors
/// If results can't be read.
pub(super) fn valid_results(plan: &Plan, store: &Store) -> Result<BTreeSet<TaskId>, RunError> {
    let mut valid = BTreeSet::new();
    let mut incomplete = BTreeSet::new();
    for phase in 0..plan.phases.len() as u32 {
        let has_results = store.has_results(phase).map_err(unreadable(store))?;
        if !has_results || with_descendants(plan, &incomplete).contains(&phase) {
            incomplete.insert(phase);
            continue;
        }
        let before = valid.len();
        for task in tasks_of(plan, phase) {
            if store.result_state(task).map_err(unreadable(store))? == ResultState::Valid {
                valid.insert(task);
            }
        }
        if valid.len() - before < plan.phases[phase as usize].tasks as usize {
            incomplete.insert(phase);
        }
    }
    Ok(valid)
}

/// Returns a function that turns a read error into the run's error. The run must end, because continuing could lose
/// results.
fn unreadable(store: &Store) -> impl Fn(std::io::Error) -> RunError + '_ {
    |error| RunError::Io { path: store.folder().into(), error }
}

/// Commits the output of attempts that ended while no Hindmost ran, before the run begins again. `later` are the phases
/// that run again because they come after missing or changed results. Returns the failures of tasks that may not run twice.
///
/// # Errors
/// If an attempt of a task that may not run twice still runs, or has used results that are made again.
fn count_ended(
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
        for attempt in store.attempts_there().map_err(unreadable(store))? {
            if finished.contains(&attempt.task) {
                continue;
            }
            let idempotent = plan.phases[attempt.task.phase as usize].idempotent;
            let marker = store.end_marker(attempt).map_err(unreadable(store))?;
            if !idempotent && later.contains(&attempt.task.phase) {
                return Err(may_not_repeat(&name(&attempt.task)));
            }
            if !idempotent && marker == EndMarker::Missing && engine.is_running(&store.run(), attempt) {
                return Err(RunError::Input(format!(
                    "{} is still running and may not be stopped (idempotent = false): run --resume again once it has ended",
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
                let has_output = store.prepare(attempt).map_err(unreadable(store))?;
                good.extend(has_output.then_some(attempt));
            }
            EndMarker::Exit(_) if !idempotent => failures.push((attempt.task, 1)),
            _ => {}
        }
    }
    store.check_place()?;
    store.make_durable().map_err(unreadable(store))?;
    for attempt in &good {
        store.commit(*attempt).map_err(unreadable(store))?;
    }
    store.sync_results(good.iter().map(|attempt| attempt.task)).map_err(unreadable(store))?;
    Ok(failures)
}

fn may_not_repeat(task: &str) -> RunError {
    RunError::Input(format!(
        "{task} would have to run again and may not (idempotent = false): restore the missing or changed results, leave \
                 --retry-failed out, or run the job in a new folder (--out DIR)"
    ))
}

/// Checks the results of the tasks that are finished according to the journal. If some are not valid, or if failed tasks
/// run again, prepares the run to begin again and returns true.
///
/// # Errors
/// If a task that may not run twice would have to run again.
pub(super) fn check(
    plan: &Plan,
    store: &mut Store,
    records: &[Record],
    failed_again: &BTreeSet<TaskId>,
    engine: &mut dyn Engine,
    follower: &mut dyn Follower,
) -> Result<bool, RunError> {
    let finished = finished(records);
    let mut broken: Vec<(TaskId, ResultState)> = Vec::new();
    for task in &finished {
        let state = store.result_state(*task).map_err(unreadable(store))?;
        if state != ResultState::Valid {
            broken.push((*task, state));
        }
    }
    if broken.is_empty() && failed_again.is_empty() {
        return Ok(false);
    }
    let name = |task: &TaskId| format!("{}/{}", plan.phases[task.phase as usize].name, task.index);
    let mut again: BTreeSet<TaskId> = broken.iter().map(|(task, _)| *task).collect();
    // In a run that begins again, all tasks run again that had failed as their phases allow.
    let given_up = given_up(records);
    let phases: BTreeSet<u32> = again.iter().chain(&given_up).map(|task| task.phase).collect();
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
            ResultState::Gone | ResultState::Valid => "is missing".to_owned(),
        };
        follower.message(&format!("the result of {} {what}: the task runs again", name(task)));
    }
    if broken.len() > NAMED {
        follower.message(&format!("{} more results are missing or have changed", broken.len() - NAMED));
    }
    match given_up.len() {
        0 => {}
        1 => follower.message("1 task that had failed runs again"),
        count => follower.message(&format!("{count} tasks that had failed run again")),
    }
    if again.len() > broken.len() {
        let names: Vec<&str> = later.iter().map(|phase| plan.phases[*phase as usize].name.as_str()).collect();
        follower.message(&format!("later phases that used these results run again: {}", names.join(", ")));
    }
    let mut failed = failures(plan, records);
    failed.extend(count_ended(plan, store, &finished, &later, engine, follower)?);
    for task in &again {
        let aside = store.set_aside(*task).map_err(|error| RunError::Io { path: store.folder().into(), error })?;
        if let Some(aside) = aside.filter(|_| broken.iter().any(|(broken, _)| broken == task)) {
            follower
                .message(&format!("what was in the place of the result of {} has been moved to {aside}", name(task)));
        }
    }
    clear(store, follower)?;
    store.begin_again(plan, &failed)?;
    Ok(true)
}

/// Removes the files of all attempts.
pub(super) fn clear(store: &Store, follower: &mut dyn Follower) -> Result<(), RunError> {
    let left = store.remove_strays(&[]).map_err(|error| RunError::Io { path: store.folder().into(), error })?;
    for left in left {
        follower.message(&format!("files of an earlier attempt can't be removed and are left: {left}"));
    }
    Ok(())
}

/// Kills the processes that earlier Hindmost processes of this run have left. Kills nothing if the folder is a copy, because
/// these processes belong to the original run.
pub(super) fn kill_earlier(store: &Store, engine: &mut dyn Engine, follower: &mut dyn Follower) {
    if store.whereabouts() != Whereabouts::Copied {
        kill(&store.run(), engine, follower);
        kill_moved(store, engine, follower);
    }
}

/// Kills the run's processes that were started before the folder was moved.
pub(super) fn kill_moved(store: &Store, engine: &mut dyn Engine, follower: &mut dyn Follower) {
    if let Some(before) = store.run_before_move() {
        kill(&before, engine, follower);
    }
}

/// Kills the processes of a run that do not belong to attempts of the engine, and reports processes that do not end.
pub(super) fn kill(run: &RunIdentity, engine: &mut dyn Engine, follower: &mut dyn Follower) {
    for what in engine.kill_strays(run) {
        follower.message(&format!("left by an earlier attempt: {what}"));
    }
}

/// Counts the failures of tasks that may not run twice in a journal.
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
    fn indirect_descendants_of_phases_are_found() {
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
