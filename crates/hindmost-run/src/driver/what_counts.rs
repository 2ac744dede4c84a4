//! What of earlier processes of a run counts: the tasks that are finished, the results that are valid, and failures.

use std::collections::{BTreeMap, BTreeSet};

use hindmost_core::ids::{AttemptId, TaskId};
use hindmost_core::record::{Change, Event, Record};

use super::RunError;
use super::jobs::IN_FOLDER;
use crate::job_file::{MadeFrom, Plan, PlannedPhase, TaskReads, Tasks};
use crate::store::{GivenUp, ReadChange, ResultState, Store};

/// Why the result of a task does not count any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// The result is missing.
    Gone,
    /// The result differs from the committed one; holds the difference.
    Changed(String),
    /// Something that the task reads has changed.
    Read(ReadChange),
    /// Another command made the result.
    Command,
    /// The user requests it.
    Requested,
    /// The input of the task or its values are gone, so it runs no more.
    Withdrawn,
    /// The phase has another number of tasks now.
    Renewed,
}

/// A task that may not run twice (`idempotent = false`), and how often it has failed.
pub(super) type TaskFailures = (TaskId, u32);

/// Returns the tasks of a phase.
pub(super) fn tasks_of(plan: &Plan, phase: u32) -> impl Iterator<Item = TaskId> + use<> {
    let tasks = plan.phases.get(phase as usize).map_or(0, |planned| planned.tasks);
    (0..tasks).map(move |index| TaskId { job: IN_FOLDER, phase, index })
}

/// Returns the tasks that are finished according to a journal, including those that were finished when the job arrived.
pub(super) fn finished(records: &[Record]) -> BTreeSet<TaskId> {
    let mut finished = BTreeSet::new();
    for record in records {
        match &record.change {
            Change::Event(Event::AttemptFinished { attempt }) => _ = finished.insert(attempt.task),
            Change::Event(Event::JobArrived { spec, .. }) => {
                for (phase, spec) in (0..).zip(&spec.phases) {
                    finished.extend(spec.finished.iter().map(|index| TaskId { job: IN_FOLDER, phase, index: *index }));
                }
            }
            _ => {}
        }
    }
    finished
}

/// Returns the attempts that have won their tasks according to a journal.
pub(super) fn winners(records: &[Record]) -> BTreeMap<TaskId, u32> {
    let mut winners = BTreeMap::new();
    for record in records {
        if let Change::Event(Event::AttemptFinished { attempt }) = &record.change {
            winners.entry(attempt.task).or_insert(attempt.copy);
        }
    }
    winners
}

/// True if the job of a run has arrived according to its journal.
pub(super) fn has_job(records: &[Record]) -> bool {
    records.iter().any(|record| matches!(record.change, Change::Event(Event::JobArrived { .. })))
}

/// Returns the tasks that had failed permanently as their phases allow, according to a journal and to the record of the run,
/// which holds those of earlier journals. Withdrawn tasks, which were given up because their inputs are gone, do not count, nor
/// do those in `added`, which have come back.
pub(super) fn given_up(plan: &Plan, store: &Store, records: &[Record], added: &[(u32, u32)]) -> BTreeSet<TaskId> {
    let given_up = records.iter().filter_map(|record| match &record.change {
        Change::Event(Event::TaskGivenUp { task }) => Some(*task),
        _ => None,
    });
    let earlier = store.job().given_up.iter().map(GivenUp::id);
    let is_now = |task: &TaskId| {
        plan.phases
            .get(task.phase as usize)
            .is_some_and(|phase| task.index < phase.tasks && !phase.is_withdrawn(task.index))
    };
    let added: BTreeSet<&(u32, u32)> = added.iter().collect();
    given_up.chain(earlier).filter(|task| is_now(task) && !added.contains(&(task.phase, task.index))).collect()
}

/// Returns the tasks whose results are in place and valid and were made from valid results. Results that were made without
/// those of tasks in `given_up` are valid too.
///
/// # Errors
/// If results can't be read.
pub(super) fn valid_results(
    plan: &Plan,
    store: &Store,
    given_up: &BTreeSet<TaskId>,
) -> Result<BTreeSet<TaskId>, RunError> {
    let mut valid = BTreeSet::new();
    // Tasks that have no valid result, and so leave those after them without one.
    let mut made_from = MadeFrom::new(plan);
    for phase in 0..plan.phases.len() as u32 {
        let has_results = store.has_results(phase).map_err(unreadable(store))?;
        // A withdrawn task counts as finished, without a result.
        let withdrawn = tasks_of(plan, phase).filter(|task| plan.phases[phase as usize].is_withdrawn(task.index));
        let has_none = |task: &TaskId| given_up.contains(task) || plan.phases[phase as usize].is_withdrawn(task.index);
        let needs_none = || tasks_of(plan, phase).all(|task| has_none(&task));
        valid.extend(withdrawn);
        let reached = made_from.reached();
        if !has_results && !needs_none() || reached == Tasks::All {
            made_from.visit(Tasks::All);
            continue;
        }
        let mut incomplete = BTreeSet::new();
        for task in tasks_of(plan, phase) {
            if plan.phases[phase as usize].is_withdrawn(task.index) || reached.contains(task.index) {
                continue;
            }
            if why_broken(plan, store, task)?.is_none() {
                valid.insert(task);
            } else if !given_up.contains(&task) {
                incomplete.insert(task.index);
            }
        }
        made_from.visit(Tasks::Some(incomplete));
    }
    Ok(valid)
}

/// Returns why the result of a finished task does not count any more; `None` if it counts.
pub(super) fn why_broken(plan: &Plan, store: &Store, task: TaskId) -> Result<Option<Why>, RunError> {
    Ok(match store.result_state(task).map_err(unreadable(store))? {
        ResultState::Gone => Some(Why::Gone),
        ResultState::OtherCommand => Some(Why::Command),
        ResultState::Changed(how) => Some(Why::Changed(how)),
        ResultState::Valid => {
            let phase = &plan.phases[task.phase as usize];
            // A task that may not run twice keeps its result.
            let reads = phase.idempotent.then(|| phase.reads(task.index));
            reads.and_then(|reads| store.read_difference(task, &reads)).map(Why::Read)
        }
    })
}

/// Returns a function that turns a read error into the run's error. The run must end, because continuing could lose
/// results.
pub(super) fn unreadable(store: &Store) -> impl Fn(std::io::Error) -> RunError + '_ {
    |error| RunError::Io { path: store.folder().into(), error }
}

/// Returns what of that which an attempt reads has changed since it began, so that it does not count; `None` if nothing has. One of a
/// task that may not run twice counts in any case.
pub(super) fn changed_since(plan: &Plan, store: &Store, attempt: AttemptId) -> Option<ReadChange> {
    let phase = plan.phases.get(attempt.task.phase as usize).filter(|phase| phase.idempotent)?;
    store.noted_reads(attempt)?.difference(&read_from_begin(phase, attempt.task.index))
}

/// Returns what a task reads and does not change. A command of a map may change its file, so the state of that counts only once the
/// command has ended.
pub(super) fn read_from_begin(phase: &PlannedPhase, task: u32) -> TaskReads<'_> {
    let reads = phase.reads(task);
    if phase.may_change_inputs() { TaskReads { input: None, ..reads } } else { reads }
}

/// Counts the failures of tasks that may not run twice in a journal.
pub(super) fn failures(plan: &Plan, records: &[Record]) -> Vec<TaskFailures> {
    let mut failures: BTreeMap<TaskId, u32> = BTreeMap::new();
    for record in records {
        if let Change::Event(Event::AttemptFailed { attempt, reason: Some(_), .. }) = &record.change
            && plan.phases.get(attempt.task.phase as usize).is_some_and(|phase| !phase.idempotent)
        {
            *failures.entry(attempt.task).or_default() += 1;
        }
    }
    failures.into_iter().collect()
}
