//! Prepares a resumed run to repeat tasks whose results no longer count.
//!
//! `again.rs` finds out what runs again. The run then begins again: its journal is put away, and in the new journal the tasks
//! whose results are valid are finished from the job's arrival on.

use std::collections::BTreeSet;
use std::os::fd::AsFd;

use hindmost_core::ids::{AttemptId, TaskId};
use hindmost_core::journal::Header;
use hindmost_core::record::Record;

use super::again::{Again, may_not_repeat, name};
use super::permanent::FailedBefore;
use super::what_counts::{
    TaskFailures, Why, changed_since, failures, has_job, read_from_begin, tasks_of, unreadable, valid_results,
};
use super::{Follower, RunError, journal};
use crate::engine::{Engine, RunIdentity};
use crate::job_file::Plan;
use crate::store::{EndMarker, InputState, Reads, Store, Whereabouts};

/// Returns the journal that was put away last, with the name of its file, if the run has no journal but all of its results.
/// Such a run was killed while it began again, and what was to run again has been taken back. `held` is the run's journal.
///
/// # Errors
/// If results or the journal can't be read.
pub(super) fn finished_journal(
    plan: &Plan,
    store: &Store,
    held: Option<&(Header, Vec<Record>)>,
) -> Result<Option<(String, Header, Vec<Record>)>, RunError> {
    if held.is_some_and(|(_, records)| has_job(records)) {
        return Ok(None);
    }
    let Some(name) = store.last_journal() else { return Ok(None) };
    if (valid_results(plan, store, &BTreeSet::new())?.len() as u64) < plan.tasks() {
        return Ok(None);
    }
    let Some((header, records)) = journal::read_named(store, &name)? else { return Ok(None) };
    Ok(has_job(&records).then_some((name, header, records)))
}

/// Checks that no attempt of a task runs that may not run twice: to begin again would stop it.
///
/// # Errors
/// If one runs, or the attempts can't be read.
pub(super) fn may_begin_again(plan: &Plan, store: &Store, engine: &dyn Engine) -> Result<(), RunError> {
    if !matches!(store.whereabouts(), Whereabouts::Same | Whereabouts::Moved) {
        return Ok(());
    }
    for attempt in store.attempts_there().map_err(unreadable(store))? {
        let is_single = plan
            .phases
            .get(attempt.task.phase as usize)
            .is_some_and(|phase| !phase.idempotent || phase.changes_files());
        if !is_single || !engine.is_running(&store.run(), attempt) {
            continue;
        }
        if store.end_marker(attempt).map_err(unreadable(store))? == EndMarker::Missing {
            return Err(still_running(plan, &attempt.task));
        }
    }
    Ok(())
}

fn still_running(plan: &Plan, task: &TaskId) -> RunError {
    let why = match plan.phases.get(task.phase as usize) {
        Some(phase) if phase.idempotent => "its command changes files",
        _ => "idempotent = false",
    };
    RunError::Input(format!(
        "{} is still running and may not be stopped ({why}): run --resume again once it has ended",
        name(plan, task)
    ))
}

/// Commits the output of attempts that ended while no Hindmost ran, before the run begins again. Returns the failures of tasks that
/// may not run twice.
///
/// # Errors
/// If an attempt of a task that may not run twice still runs, or has used results that are made again.
fn count_ended(
    plan: &Plan,
    store: &mut Store,
    again: &Again<'_>,
    engine: &mut dyn Engine,
    follower: &mut dyn Follower,
) -> Result<Vec<TaskFailures>, RunError> {
    let (mut ended, mut stopped) = (Vec::new(), 0);
    if matches!(store.whereabouts(), Whereabouts::Same | Whereabouts::Moved) {
        for attempt in store.attempts_there().map_err(unreadable(store))? {
            let Some(phase) = plan.phases.get(attempt.task.phase as usize) else { continue };
            let idempotent = phase.idempotent;
            let is_open = idempotent && !again.finished.contains(&attempt.task);
            let marker = store.end_marker(attempt).map_err(unreadable(store))?;
            if is_open && marker == EndMarker::Missing && engine.is_running(&store.run(), attempt) {
                stopped += 1;
            }
            // Tasks that are withdrawn or have become other tasks, and attempts that read something else, do not count.
            let is_other = phase.is_withdrawn(attempt.task.index) || again.is_renewed(attempt.task.phase);
            let has_read_other = || changed_since(plan, store, attempt).is_some();
            if again.finished.contains(&attempt.task) || idempotent && (is_other || has_read_other()) {
                continue;
            }
            if !idempotent && again.later.contains(attempt.task) {
                return Err(may_not_repeat(&name(plan, &attempt.task)));
            }
            let may_be_stopped = idempotent && !phase.changes_files();
            if !may_be_stopped && marker == EndMarker::Missing && engine.is_running(&store.run(), attempt) {
                return Err(still_running(plan, &attempt.task));
            }
            ended.push((attempt, marker, idempotent));
        }
    }
    match stopped {
        0 => {}
        1 => {
            follower
                .message("1 attempt that still ran is stopped, because the run begins again; its task starts again");
        }
        count => follower.message(&format!(
            "{count} attempts that still ran are stopped, because the run begins again; their tasks start again"
        )),
    }
    kill_earlier(store, engine, follower);
    let mut failures = Vec::new();
    let mut good = Vec::new();
    for (attempt, marker, idempotent) in ended {
        match marker {
            EndMarker::Exit(0) if !again.later.contains(attempt.task) => {
                let phase = &plan.phases[attempt.task.phase as usize];
                let now = phase.reads(attempt.task.index);
                let seconds = store.ran_for(attempt).map(|time| time.as_secs_f64());
                let mut reads = store
                    .noted_reads(attempt)
                    .unwrap_or_else(|| Reads::of(&read_from_begin(phase, attempt.task.index)));
                // A command that may change its input leaves it to its end which state counts.
                let path = now.input.as_deref().filter(|_| reads.input.is_none());
                reads.input = reads.input.or_else(|| path.and_then(InputState::of_file));
                let output = phase.output_of(attempt.task.index);
                let prepared = store.prepare(attempt, Some((&now, reads)), seconds, output.as_deref());
                let has_output = prepared.map_err(unreadable(store))?;
                good.extend(has_output.then_some(attempt));
            }
            EndMarker::Exit(_) if !idempotent && cut_short_by(store, engine, attempt, marker).is_none() => {
                failures.push((attempt.task, 1));
            }
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

/// Returns why the command of an attempt that ended while no Hindmost ran is not to blame for this end; `None` if it is, or if it
/// succeeded.
pub(super) fn cut_short_by(
    store: &Store,
    engine: &mut dyn Engine,
    attempt: AttemptId,
    marker: EndMarker,
) -> Option<String> {
    let EndMarker::Exit(code) = marker else { return None };
    let folder = store.open_attempt(attempt).ok().filter(|_| code != 0)?;
    engine.cut_short(folder.as_fd(), code)
}

/// Carries out that the run begins again: puts results that no longer count aside, and prepares the run to begin again.
///
/// # Errors
/// If an attempt of a task that may not run twice still runs, or if the folder can't be changed.
pub(super) fn begin_again(
    again: &Again<'_>,
    plan: &Plan,
    store: &mut Store,
    records: Option<&[Record]>,
    engine: &mut dyn Engine,
    follower: &mut dyn Follower,
) -> Result<(), RunError> {
    let mut failed = failures(plan, records.unwrap_or_default());
    failed.extend(count_ended(plan, store, again, engine, follower)?);
    put_aside(again, plan, store, follower)?;
    let stay_failed: BTreeSet<TaskId> = again.stay_failed().collect();
    put_unrecorded_aside(plan, store, &stay_failed)?;
    store.keep_logs_of_results().map_err(unreadable(store))?;
    clear(store, follower)?;
    let before = FailedBefore::of(plan, store, records.unwrap_or_default());
    let stay_failed = stay_failed.into_iter().map(|task| before.given_up_task(task)).collect();
    store.begin_again(plan, &failed, stay_failed)?;
    Ok(())
}

/// Puts the results aside that no longer count.
///
/// # Errors
/// If the folder can't be changed.
pub(super) fn put_aside(
    again: &Again<'_>,
    plan: &Plan,
    store: &Store,
    follower: &mut dyn Follower,
) -> Result<(), RunError> {
    let mut put_aside = 0;
    for task in again.tasks() {
        let aside = store.set_aside(task).map_err(|error| RunError::Io { path: store.folder().into(), error })?;
        let Some(aside) = aside else { continue };
        match again.broken.get(&task) {
            Some(Why::Gone | Why::Changed(_)) => {
                let name = name(plan, &task);
                follower.message(&format!("what was in the place of the result of {name} has been moved to {aside}"));
            }
            _ => put_aside += 1,
        }
    }
    match put_aside {
        0 => {}
        1 => follower.message("1 result that no longer counts has been moved to .hindmost/set-aside"),
        count => {
            follower.message(&format!("{count} results that no longer count have been moved to .hindmost/set-aside"));
        }
    }
    Ok(())
}

/// Puts the results aside that are in place although their tasks will run: an earlier process died between a rename and its
/// record, and now the result does not count. Otherwise it would be in the way of the new one.
fn put_unrecorded_aside(plan: &Plan, store: &Store, stay_failed: &BTreeSet<TaskId>) -> Result<(), RunError> {
    let valid = valid_results(plan, store, stay_failed)?;
    for task in (0..plan.phases.len() as u32).flat_map(|phase| tasks_of(plan, phase)) {
        if !valid.contains(&task) {
            store.set_aside(task).map_err(unreadable(store))?;
        }
    }
    Ok(())
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
