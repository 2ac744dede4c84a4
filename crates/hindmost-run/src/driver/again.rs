//! What runs again when a run is resumed, and why.
//!
//! A result counts as long as it is the committed one and its task and input are the same. A task runs again if its result
//! is missing or has changed, if its input has changed, or on request. Then all tasks of later phases run again too, because
//! they were made from its result. Nothing is changed here: `recheck.rs` acts on what this module finds.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use hindmost_core::ids::TaskId;
use hindmost_core::record::Record;
use serde_json::json;

use super::jobs::IN_FOLDER;
use super::permanent::FailedAgain;
use super::what_counts::{Why, finished, given_up, tasks_of, unreadable, valid_results, why_broken};
use super::{RunError, what_counts};
use crate::job_file::{Later, Plan, TaskChanges, printable};
use crate::store::{EndMarker, ReadChange, ResultState, Store, WRITTEN_AGAIN, Whereabouts};

/// Number of tasks that are named for each reason; the others are only counted.
const NAMED: usize = 10;

/// A task that runs again, for people and programs.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct RunsAgain {
    /// Name of the phase.
    pub phase: String,
    /// Number of the task.
    pub task: u32,
    /// Why it runs again, as a text.
    pub why: String,
}

/// What a resumed run will do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResumePlan {
    /// What has changed, and what follows from it: one line each.
    pub messages: Vec<String>,
    /// The finished tasks that run again.
    pub again: Vec<RunsAgain>,
    /// What becomes of the tasks of each phase.
    pub phases: Vec<PhaseResumed>,
}

/// What becomes of the tasks of a phase in a resumed run.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct PhaseResumed {
    /// Name of the phase.
    pub phase: String,
    /// Number of tasks whose results count.
    pub finished: u32,
    /// How many of these have ended while no Hindmost ran.
    pub ended: u32,
    /// Number of tasks that will run.
    pub to_run: u32,
    /// Number of tasks that have failed as the phase allows, and stay so.
    pub failed: u32,
    /// Number of tasks whose inputs or values are gone.
    pub withdrawn: u32,
}

impl ResumePlan {
    /// Returns this as JSON: `phases` with the fields of [`PhaseResumed`]; `again` with `phase`, `task` and `why`; `messages`.
    pub fn to_json(&self) -> serde_json::Value {
        json!({"phases": self.phases, "again": self.again, "messages": self.messages})
    }
}

/// The results that do not count any more, and what follows.
#[derive(Debug)]
pub(super) struct Again<'a> {
    plan: &'a Plan,
    changes: &'a TaskChanges,
    /// Tasks whose results do not count, each with the reason.
    pub(super) broken: BTreeMap<TaskId, Why>,
    /// Tasks that are finished.
    pub(super) finished: BTreeSet<TaskId>,
    /// Tasks that had failed as their phases allow.
    given_up: BTreeSet<TaskId>,
    /// Those of them that do not stay failed.
    failed: FailedAgain,
    /// Whether the run has to begin again with its valid results.
    needed: bool,
    /// The tasks that come after tasks that run again.
    pub(super) later: Later,
    /// Tasks that may not run twice and keep their results although what they read has changed; holds the differences.
    kept_results: BTreeMap<TaskId, ReadChange>,
    /// True if the folder of the run is a copy.
    is_copy: bool,
    /// Number of tasks whose results or inputs can't be compared by checksums, although the user requests it.
    unchecked: usize,
}

impl<'a> Again<'a> {
    /// Finds out what runs again. `records` is the journal, if there is one; `failed` are the tasks that do not stay failed,
    /// `redo` those that run again on request.
    ///
    /// # Errors
    /// If results can't be read, or if a task that may not run twice would have to run again.
    pub(super) fn of(
        plan: &'a Plan,
        store: &Store,
        records: Option<&[Record]>,
        failed: FailedAgain,
        changes: &'a TaskChanges,
        redo: &BTreeSet<(u32, u32)>,
    ) -> Result<Again<'a>, RunError> {
        let task = |(phase, index): &(u32, u32)| TaskId { job: IN_FOLDER, phase: *phase, index: *index };
        let given_up = given_up(plan, store, records.unwrap_or_default(), &changes.added);
        let mut finished = match records {
            Some(records) => finished(records),
            None => valid_results(plan, store, &given_up)?,
        };
        // A task that was withdrawn counted as finished, without a result.
        for task in changes.added.iter().map(task) {
            if store.result_state(task).map_err(unreadable(store))? == ResultState::Gone {
                finished.remove(&task);
            }
        }
        let renewed: BTreeSet<u32> = changes.renewed.iter().map(|(phase, _)| *phase).collect();
        let mut broken = BTreeMap::new();
        for task in &finished {
            let Some(phase) = plan.phases.get(task.phase as usize) else { continue };
            if phase.is_withdrawn(task.index) {
                // It has no result, unless it is withdrawn now.
            } else if renewed.contains(&task.phase) {
                broken.insert(*task, Why::Renewed);
            } else if redo.contains(&(task.phase, task.index)) {
                broken.insert(*task, Why::Requested);
            } else if let Some(why) = why_broken(plan, store, *task)? {
                broken.insert(*task, why);
            }
        }
        let mut again = Again {
            plan,
            changes,
            broken,
            finished,
            given_up,
            failed,
            needed: false,
            later: Later::default(),
            kept_results: BTreeMap::new(),
            is_copy: store.whereabouts() == Whereabouts::Copied,
            unchecked: 0,
        };
        let TaskChanges { added, withdrawn: _, renewed, phases, rewired } = changes;
        let has_other_tasks = !(added.is_empty() && renewed.is_empty() && phases.is_empty());
        let has_failed = !(again.failed.again.is_empty() && again.failed.too_many.is_empty());
        again.needed = has_other_tasks || !again.broken.is_empty() || has_failed;
        for task in changes.withdrawn.iter().map(task) {
            // A task that may not run twice keeps its result.
            let keeps = !plan.phases[task.phase as usize].idempotent && !redo.contains(&(task.phase, task.index));
            let has_result = store.result_state(task).map_err(unreadable(store))? != ResultState::Gone;
            if has_result && !keeps {
                again.broken.insert(task, Why::Withdrawn);
            }
        }
        again.later = again.made_from_these();
        // If tasks are only withdrawn and nothing else is left to run, the journal goes on: they are given up.
        let is_left = |task: &TaskId| {
            !again.finished.contains(task)
                && !again.given_up.contains(task)
                && !plan.phases[task.phase as usize].is_withdrawn(task.index)
        };
        let mut all = (0..plan.phases.len() as u32).flat_map(|phase| tasks_of(plan, phase));
        let has_later = || again.finished.iter().any(|task| again.later.contains(*task));
        if !(changes.withdrawn.is_empty() && rewired.is_empty()) && (all.any(|task| is_left(&task)) || has_later()) {
            again.needed = true;
        }
        let may_not = |task: &TaskId| {
            !plan.phases[task.phase as usize].idempotent
                && !matches!(again.broken.get(task), Some(Why::Requested | Why::Withdrawn))
        };
        if again.needed
            && let Some(task) = again.tasks().find(may_not)
        {
            return Err(may_not_repeat(&name(plan, &task)));
        }
        let run_again: BTreeSet<TaskId> = again.tasks().collect();
        for task in again.finished.difference(&run_again) {
            again.unchecked += usize::from(store.lacks_checksums(*task));
            let phase = plan.phases.get(task.phase as usize).filter(|phase| !phase.idempotent);
            let reads = phase.map(|phase| phase.reads(task.index));
            if let Some(difference) = reads.and_then(|reads| store.read_difference(*task, &reads)) {
                again.kept_results.insert(*task, difference);
            }
        }
        Ok(again)
    }

    /// True if a phase has other tasks than before.
    pub(super) fn is_renewed(&self, phase: u32) -> bool {
        self.changes.renewed.iter().any(|(renewed, _)| *renewed == phase)
    }

    /// True if the run has to begin again with its valid results.
    pub(super) fn is_needed(&self) -> bool {
        self.needed
    }

    /// Returns the tasks that come after tasks that run again or are withdrawn.
    fn made_from_these(&self) -> Later {
        let failed = self.failed.again.iter().chain(&self.failed.too_many);
        let run_again = self.broken.keys().chain(failed).map(|task| (task.phase, task.index));
        let tasks = run_again.chain(self.changes.added.iter().copied()).collect();
        Later::of(self.plan, &tasks, &BTreeSet::new())
    }

    /// Returns the finished tasks of a phase that come after tasks that run again.
    fn later_of(&self, phase: u32) -> impl Iterator<Item = TaskId> + '_ {
        let tasks = self.later.of_phase(phase, self.plan.phases[phase as usize].tasks);
        tasks.into_iter().filter(|task| self.finished.contains(task))
    }

    /// Returns the finished tasks that run again, sorted.
    pub(super) fn tasks(&self) -> impl Iterator<Item = TaskId> + '_ {
        let later = (0..self.plan.phases.len() as u32).flat_map(|phase| self.later_of(phase));
        self.broken.keys().copied().chain(later).collect::<BTreeSet<_>>().into_iter()
    }

    /// Returns the tasks that had failed as their phases allow, and stay so.
    pub(super) fn stay_failed(&self) -> impl Iterator<Item = TaskId> + '_ {
        let stays = |task: &TaskId| {
            let is_failed_again = self.failed.again.contains(task) || self.failed.too_many.contains(task);
            let is_other = self.is_renewed(task.phase) || self.later.contains(*task);
            !self.needed || !is_failed_again && !is_other && !self.finished.contains(task)
        };
        self.given_up.iter().copied().filter(move |task| stays(task))
    }

    /// Returns the tasks that had failed as their phases allow, and run again.
    fn given_up_again(&self) -> impl Iterator<Item = TaskId> + '_ {
        let stay: BTreeSet<TaskId> = self.stay_failed().collect();
        let runs = move |task: &TaskId| !stay.contains(task) && !self.failed.too_many.contains(task);
        self.given_up.iter().copied().filter(runs)
    }

    /// Returns the lines that say what runs again and why.
    pub(super) fn messages(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let plan = self.plan;
        let input = |task: &TaskId| {
            let input = plan.phases[task.phase as usize].compared_input(task.index);
            input.map_or_else(String::new, |path| shortened(plan, &path))
        };
        let runs_again = |text: String| format!("{text}: the task runs again");
        let of = |kind: fn(&Why) -> bool| self.broken.iter().filter(move |(_, why)| kind(why));
        let gone_or_changed = of(|why| matches!(why, Why::Gone | Why::Changed(_)));
        named(
            &mut lines,
            gone_or_changed.map(|(task, why)| match why {
                Why::Changed(how) => runs_again(format!("the result of {} has changed ({how})", name(plan, task))),
                _ => runs_again(format!("the result of {} is missing", name(plan, task))),
            }),
            |more| format!("{more} more results are missing or have changed"),
        );
        let has_other_time = |why: &Why| matches!(why, Why::Changed(how) if how.ends_with(WRITTEN_AGAIN));
        let rewritten = self.broken.values().filter(|why| has_other_time(why)).count();
        if self.is_copy && rewritten > 0 {
            let results =
                if rewritten == 1 { "1 result differs".to_owned() } else { format!("{rewritten} results differ") };
            lines.push(format!(
                "the folder is a copy, and {results} only in the times of their files, so their contents may be the same: copy the \
                 run with `cp -a`, which keeps times, instead of `cp -r`; or run jobs with --checksum, so that contents are compared"
            ));
        }
        let changed = |task: &TaskId, change: &ReadChange| {
            let (name, phase) = (name(plan, task), &plan.phases[task.phase as usize]);
            match change {
                ReadChange::Input(how) => format!("the input {} of {name} has changed ({how})", input(task)),
                ReadChange::Used(path, how) => {
                    format!("{}, which {name} uses, has changed ({how})", shortened(plan, path))
                }
                ReadChange::Row(how) => {
                    let table = phase.table.as_ref().map_or_else(String::new, |table| printable(&table.name()));
                    format!("the row of {name} in {table} has changed ({how})")
                }
            }
        };
        let mut by_file: BTreeMap<(u32, &Path, &str), usize> = BTreeMap::new();
        for (task, why) in &self.broken {
            if let Why::Read(ReadChange::Used(path, how)) = why {
                *by_file.entry((task.phase, path, how)).or_default() += 1;
            }
        }
        // A file that several tasks of a phase use is named once.
        by_file.retain(|_, tasks| *tasks > 1);
        lines.extend(by_file.iter().map(|((phase, path, how), tasks)| {
            let phase = &plan.phases[*phase as usize].name;
            format!("{}, which phase {phase} uses, has changed ({how}): {tasks} tasks run again", shortened(plan, path))
        }));
        let is_named = |task: &TaskId, why: &Why| match why {
            Why::Read(ReadChange::Used(path, how)) => by_file.contains_key(&(task.phase, path.as_path(), how.as_str())),
            _ => false,
        };
        named(
            &mut lines,
            // Later tasks of a chain have the same input.
            of(|why| matches!(why, Why::Read(_)))
                .filter(|(task, why)| !is_named(task, why) && !self.later.contains(**task))
                .map(|(task, why)| match why {
                    Why::Read(change) => runs_again(changed(task, change)),
                    _ => String::new(),
                }),
            |more| format!("{more} more inputs, files or rows have changed"),
        );
        named(
            &mut lines,
            self.kept_results.iter().map(|(task, change)| {
                let name = name(plan, task);
                let why = match plan.phases[task.phase as usize].commands {
                    None => format!("because of idempotent = false; --redo {name} runs it again"),
                    Some(_) => "because of --once; without --once the task runs again".to_owned(),
                };
                format!("{}, but its result stays, {why}", changed(task, change))
            }),
            |more| format!("{more} more inputs, files or rows have changed, but the results stay"),
        );
        let mut commands: BTreeMap<u32, usize> = BTreeMap::new();
        of(|why| *why == Why::Command).for_each(|(task, _)| *commands.entry(task.phase).or_default() += 1);
        lines.extend(commands.iter().map(|(phase, tasks)| {
            let run = if *tasks == 1 { "1 task runs again".to_owned() } else { format!("{tasks} tasks run again") };
            format!("the command of phase {} has changed: {run}", plan.phases[*phase as usize].name)
        }));
        for (phase, before) in &self.changes.renewed {
            let phase = &plan.phases[*phase as usize];
            if *before == phase.tasks {
                lines.push(format!(
                    "the tasks of phase {} are other ones than before, so all of them run again",
                    phase.name
                ));
                continue;
            }
            lines.push(format!(
                "phase {} has {} task{} now instead of {before}, so all of them run again",
                phase.name,
                phase.tasks,
                if phase.tasks == 1 { "" } else { "s" }
            ));
        }
        for phase in &self.changes.rewired {
            lines
                .push(format!("tasks of phase {} wait for other tasks than before", plan.phases[*phase as usize].name));
        }
        for phase in &self.changes.phases {
            lines.push(format!("phase {} is new", plan.phases[*phase as usize].name));
        }
        let id = |(phase, index): &(u32, u32)| TaskId { job: IN_FOLDER, phase: *phase, index: *index };
        named(
            &mut lines,
            self.changes
                .added
                .iter()
                .map(id)
                .filter(|task| !self.later.contains(*task))
                .map(|task| format!("{} is new: {}", name(plan, &task), about(plan, &task))),
            |more| format!("{more} more tasks are new"),
        );
        named(
            &mut lines,
            self.changes.withdrawn.iter().map(id).map(|task| {
                let phase = &plan.phases[task.phase as usize];
                let is_file = phase.inputs.is_some() && phase.commands.is_none();
                let what = match (&phase.commands, &phase.table) {
                    (None, Some(table)) => format!("its row of {} ({})", printable(&table.name()), about(plan, &task)),
                    (None, None) if is_file => input(&task),
                    (None, None) => "its values".to_owned(),
                    (Some(_), _) => format!("its value {}", about(plan, &task)),
                };
                let result = if self.broken.contains_key(&task) {
                    "its result no longer counts"
                } else if self.finished.contains(&task) && !phase.idempotent {
                    "its result stays, because the task may not run twice"
                } else {
                    "the task is left out"
                };
                let verb = if is_file || phase.commands.is_some() || phase.table.is_some() { "is" } else { "are" };
                format!("{}: {what} {verb} gone; {result}", name(plan, &task))
            }),
            |more| format!("{more} more tasks are gone"),
        );
        let requested: Vec<&TaskId> = of(|why| *why == Why::Requested).map(|(task, _)| task).collect();
        match requested.as_slice() {
            [] => {}
            [task] => lines.push(format!("{} runs again, as --redo says", name(plan, task))),
            several => lines.push(format!("{} tasks run again, as --redo says", several.len())),
        }
        for (phase, failed) in &self.failed.phases {
            let phase = &plan.phases[*phase as usize];
            let tasks = if phase.may_fail() == 1 { "task" } else { "tasks" };
            lines.push(format!("phase {} allows {} failed {tasks} now and has {failed}", phase.name, phase.may_fail()));
        }
        let left_out = plan.left_out(&self.given_up);
        match self.given_up_again().filter(|task| !left_out.contains(task)).count() + self.failed.open {
            0 => {}
            1 => lines.push("1 task that had failed runs again".to_owned()),
            count => lines.push(format!("{count} tasks that had failed run again")),
        }
        let left_out = plan.left_out(&self.given_up);
        let stay_failed = self.stay_failed().filter(|task| !left_out.contains(task));
        let (stuck, stay): (Vec<_>, Vec<_>) = stay_failed.partition(|task| self.failed.stuck.contains(task));
        match stay.len() {
            0 => {}
            1 => lines.push("1 task stays failed; --retry-failed tries it again".to_owned()),
            count => lines.push(format!("{count} tasks stay failed; --retry-failed tries them again")),
        }
        match stuck.len() {
            0 => {}
            1 => lines.push("1 task stays failed: it may not run twice, and its retries are used up".to_owned()),
            count => {
                lines.push(format!("{count} tasks stay failed: they may not run twice, and their retries are used up"));
            }
        }
        let later = (0..).zip(&plan.phases).filter_map(|(at, phase)| {
            let is_there = |task: &TaskId| !phase.is_withdrawn(task.index);
            let again = self.later_of(at).filter(is_there).count();
            let finished = tasks_of(plan, at).filter(|task| self.finished.contains(task) && is_there(task));
            match again {
                0 => None,
                again if again == finished.count() => Some(phase.name.clone()),
                1 => Some(format!("{} (1 task)", phase.name)),
                again => Some(format!("{} ({again} tasks)", phase.name)),
            }
        });
        let later: Vec<String> = later.collect();
        if self.unchecked > 0 {
            let tasks = if self.unchecked == 1 { "task" } else { "tasks" };
            lines.push(format!(
                "the run has no checksums of the results or inputs of {} {tasks}, because they were used without --checksum: \
                 names, sizes and times are compared",
                self.unchecked
            ));
        }
        if !later.is_empty() {
            lines.push(format!("later phases that used these results run again: {}", later.join(", ")));
        }
        lines
    }

    /// Returns what the resumed run will do.
    pub(super) fn resume_plan(&self) -> ResumePlan {
        let plan = self.plan;
        let tasks: BTreeSet<TaskId> = self.tasks().collect();
        let why = |task: &TaskId| match self.broken.get(task) {
            Some(Why::Gone) => "its result is missing".to_owned(),
            Some(Why::Changed(how)) => format!("its result has changed: {how}"),
            Some(Why::Read(change)) => change.to_string(),
            Some(Why::Command) => "its command has changed".to_owned(),
            Some(Why::Requested) => "--redo".to_owned(),
            Some(Why::Renewed) => "its phase has another number of tasks".to_owned(),
            Some(Why::Withdrawn) | None => "it uses results of tasks that run again".to_owned(),
        };
        let is_withdrawn = |task: &TaskId| {
            let phase = &plan.phases[task.phase as usize];
            phase.is_withdrawn(task.index) || task.index >= phase.tasks
        };
        let again = tasks.iter().filter(|task| !is_withdrawn(task)).map(|task| RunsAgain {
            phase: plan.phases[task.phase as usize].name.clone(),
            task: task.index,
            why: why(task),
        });
        let again = again.collect();
        let stay_failed: BTreeSet<TaskId> = self.stay_failed().collect();
        let phases = (0..).zip(&plan.phases).map(|(at, phase)| {
            let mut counts =
                PhaseResumed { phase: phase.name.clone(), withdrawn: phase.withdrawn(), ..PhaseResumed::default() };
            for task in tasks_of(plan, at).filter(|task| !is_withdrawn(task)) {
                let is_kept = self.finished.contains(&task) && !tasks.contains(&task);
                match is_kept {
                    true => counts.finished += 1,
                    false if stay_failed.contains(&task) => counts.failed += 1,
                    false => counts.to_run += 1,
                }
            }
            counts
        });
        ResumePlan { messages: self.messages(), again, phases: phases.collect() }
    }
}

impl Again<'_> {
    /// Returns the tasks that count as finished once the run is resumed, although the journal does not say so: an attempt has
    /// succeeded while no Hindmost ran, or its result is in place and its end was not recorded.
    ///
    /// # Errors
    /// If files can't be read.
    fn ended_unrecorded(&self, store: &Store) -> Result<BTreeSet<TaskId>, RunError> {
        let plan = self.plan;
        let is_open = |task: &TaskId| {
            let phase = plan.phases.get(task.phase as usize);
            phase.is_some_and(|phase| task.index < phase.tasks && !phase.is_withdrawn(task.index))
                && !self.is_renewed(task.phase)
                && !self.later.contains(*task)
                && !self.finished.contains(task)
                && !self.given_up.contains(task)
        };
        let mut ended = BTreeSet::new();
        for phase in 0..plan.phases.len() as u32 {
            if !store.has_results(phase).map_err(unreadable(store))? {
                continue;
            }
            for task in tasks_of(plan, phase).filter(is_open) {
                if why_broken(plan, store, task)?.is_none() {
                    ended.insert(task);
                }
            }
        }
        if !matches!(store.whereabouts(), Whereabouts::Same | Whereabouts::Moved) {
            return Ok(ended);
        }
        for attempt in store.attempts_there().map_err(unreadable(store))? {
            let task = attempt.task;
            let marker = store.end_marker(attempt).map_err(unreadable(store))?;
            if is_open(&task)
                && marker == EndMarker::Exit(0)
                && store.has_output(attempt)
                && what_counts::changed_since(plan, store, attempt).is_none()
            {
                ended.insert(task);
            }
        }
        Ok(ended)
    }

    /// Counts the tasks as finished that have ended while no Hindmost ran.
    ///
    /// # Errors
    /// If files can't be read.
    pub(super) fn count_ended(&self, store: &Store, resumed: &mut ResumePlan) -> Result<(), RunError> {
        for task in self.ended_unrecorded(store)? {
            let phase = &mut resumed.phases[task.phase as usize];
            phase.finished += 1;
            phase.ended += 1;
            phase.to_run = phase.to_run.saturating_sub(1);
        }
        Ok(())
    }
}

pub(super) fn may_not_repeat(task: &str) -> RunError {
    RunError::Input(format!(
        "{task} would have to run again and may not (idempotent = false): restore the missing or changed results, leave \
         --retry-failed and --redo out, allow as many failures as before, allow it with --redo {task}, or run the job in a new \
         folder (--out DIR)"
    ))
}

/// Returns the name of a task, such as `map/3`.
pub(super) fn name(plan: &Plan, task: &TaskId) -> String {
    format!("{}/{}", plan.phases.get(task.phase as usize).map_or("", |phase| phase.name.as_str()), task.index)
}

/// Returns a path on one line, from the job's folder if it is in there.
fn shortened(plan: &Plan, path: &Path) -> String {
    printable(&path.strip_prefix(&plan.folder).unwrap_or(path).to_string_lossy())
}

/// Returns the input and values of a task as text.
fn about(plan: &Plan, task: &TaskId) -> String {
    let phase = &plan.phases[task.phase as usize];
    if let Some(command) = phase.commands.as_ref().and_then(|commands| commands.get(task.index)) {
        return printable(&String::from_utf8_lossy(&command.values.join(&b' ')));
    }
    let input = phase.input_of(task.index).map(|path| shortened(plan, path));
    // The first columns name a row.
    let shown = if phase.table.is_some() { 2 } else { usize::MAX };
    let values = phase.values(task.index).take(shown).map(|(name, value)| format!("{name}={}", printable(value)));
    input.into_iter().chain(values).collect::<Vec<_>>().join(" ")
}

/// Adds the first lines, and one that counts the others.
fn named(lines: &mut Vec<String>, of: impl Iterator<Item = String>, more: impl Fn(usize) -> String) {
    let all: Vec<String> = of.collect();
    let others = all.len().saturating_sub(NAMED);
    lines.extend(all.into_iter().take(NAMED));
    if others > 0 {
        lines.push(more(others));
    }
}
