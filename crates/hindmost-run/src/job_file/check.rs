//! Turns a job file into a plan: checks its values and sets its defaults.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Range, RangeInclusive};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hindmost_core::estimator::Knowledge;
use hindmost_math::plain::Quoted;
use hindmost_math::suggest::did_you_mean;
use hindmost_policies::catalogue;
use hindmost_policies::catalogue::spec::PolicySpec;
use toml::Spanned;

use super::commands::MOST_RECORDED;
use super::copies::Copies;
use super::edges::PlannedEdges;
use super::error::Wrong;
use super::format::{Cpus, JobFile, Limit, Parent, ParentEdges, Phase, Size};
use super::inputs;
use super::matrix::Matrix;
use super::order::parents_first;
use super::output::OutputTemplate;
use super::plan::{DEFAULT_LOSSES, Plan, PlannedPhase};
use super::row_command::with_columns;
use super::shell::{check_program, is_bourne};
use super::table::{Table, as_pattern};
use super::uses::{RowLimits, Uses, of_rows};
use super::values::{
    self, KILL_AFTER, allowance, check_environment, check_name, check_text, count, delay, features, positive, shell,
    time,
};
use crate::engine::check_speed;

/// Valid numbers of tasks, as in the simulator.
const TASKS: RangeInclusive<u32> = 1..=10_000_000;
const RETRIES: RangeInclusive<u32> = 0..=1_000_000;
const DEFAULT_RETRIES: u32 = 2;
const LOSSES: RangeInclusive<u32> = 0..=1_000_000;
const GPUS: RangeInclusive<u32> = 0..=10_000;

type Environment = BTreeMap<String, String>;

/// The progress models of live runs, as advice in errors.
pub const KNOWLEDGE_OF_RUNS: &str = "give progress(S) with S from 0 to below 1, age, history or profiles";

/// Checks that a live run supports a progress model. Some models need a simulation, which knows all durations.
pub(crate) fn check_knowledge(knowledge: Knowledge) -> Result<(), String> {
    match knowledge {
        Knowledge::Oracle | Knowledge::ProgressUniform => {
            Err(format!("knowledge {knowledge} is for simulations only: {KNOWLEDGE_OF_RUNS}"))
        }
        Knowledge::Progress(_) | Knowledge::Age | Knowledge::History | Knowledge::Profiles(_) => Ok(()),
    }
}

/// Returns the plan of a job file with valid keys and types.
pub(super) fn plan(job: JobFile, file: &Path, folder: &Path) -> Result<Plan, Wrong> {
    let name = job_name(job.name, file)?;
    let policy = checked_text(job.policy, check_policy)?;
    let knowledge = checked_text(job.knowledge, |text| {
        let wrong = |_| format!("knowledge: {} is not a progress model: {KNOWLEDGE_OF_RUNS}", Quoted(text));
        check_knowledge(text.parse().map_err(wrong)?)
    })?;
    let nodes = checked_text(job.nodes, |text| {
        if text.trim().is_empty() {
            return Err("nodes is empty: give names and cpus, \"n1:2,n2:2\"".to_owned());
        }
        crate::engine::parse_nodes(Some(text)).map(drop).map_err(|error| error.to_string())
    })?;
    let mut speeds = BTreeMap::new();
    for (name, speed) in job.speeds.map(Spanned::into_inner).unwrap_or_default() {
        let span = speed.span();
        let (name, speed) = (name.trim().to_owned(), speed.into_inner());
        check_speed(&name, speed).map_err(|error| Wrong::at(span, about("speeds", &error)))?;
        speeds.insert(name, speed);
    }
    let power = checked(job.power, |power| power.model(1.0).map(|_| power).map_err(|error| about("power", &error)))?;
    let deadline = checked(job.deadline, |span| time(&span).map_err(|error| about("deadline", &error)))?;
    let priority = checked(job.priority, |priority| positive("priority", priority))?.unwrap_or(1.0);
    let mut environment = environment(job.environment)?;
    let mut defaults = job.defaults.unwrap_or_default();
    environment.extend(self::environment(defaults.environment.take()).map_err(|wrong| wrong.within("[defaults]"))?);
    let directory = directory(job.directory, folder)?.unwrap_or_else(|| folder.to_path_buf());
    if job.phase.is_empty() {
        return Err(Wrong::anywhere(
            "the job has no phase; a phase begins with [[phase]] and has a name, tasks, inputs or a matrix, and a command",
        ));
    }
    let (order, after) = order(&job.phase)?;
    let place: BTreeMap<usize, u32> = order.iter().zip(0..).map(|(at, place)| (*at, place)).collect();
    let common = Common { folder, environment: &environment, directory: &directory };
    let mut phases: Vec<Option<Spanned<Phase>>> = job.phase.into_iter().map(Some).collect();
    let mut planned = Vec::with_capacity(phases.len());
    for at in order {
        let Some(mut phase) = phases[at].take() else { continue };
        phase.get_mut().fill_from(&defaults);
        let mut parents: Vec<u32> = after[at].iter().map(|parent| place[parent]).collect();
        parents.sort_unstable();
        let named = format!("phase {:?}", phase.get_ref().name());
        let planned_phase =
            edges(phase.get_ref(), &planned).and_then(|edges| common.phase(phase, (parents, edges), &planned));
        planned.push(planned_phase.map_err(|wrong| wrong.within(&named))?);
    }
    let plan = Plan {
        name,
        folder: folder.to_path_buf(),
        policy,
        knowledge,
        nodes,
        speeds,
        power,
        deadline,
        priority,
        phases: planned,
    };
    check_size_of_tables(&plan.phases)?;
    plan.check_outputs().map_err(Wrong::anywhere)?;
    Ok(plan)
}

fn job_name(given: Option<Spanned<String>>, file: &Path) -> Result<String, Wrong> {
    if let Some(name) = checked_text(given, |name| check_name(name).map_err(|error| about("name", &error)))? {
        return Ok(name);
    }
    let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    match check_name(&stem) {
        Ok(()) => Ok(stem),
        Err(error) => Err(Wrong::anywhere(format!(
            "the job has no name, and its file's name can't be used ({error}): add name = \"…\""
        ))),
    }
}

fn check_policy(text: &str) -> Result<(), String> {
    let spec: PolicySpec = text.parse().map_err(|error| format!("policy: {error}"))?;
    catalogue::check(&spec).map(drop).map_err(|error| format!("policy: {error}"))
}

/// Returns the phases in an order with parents first, and the parents of each phase, both by place in the file.
fn order(phases: &[Spanned<Phase>]) -> Result<(Vec<usize>, Vec<Vec<usize>>), Wrong> {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, phase) in phases.iter().enumerate() {
        let Some(name) = &phase.get_ref().name else {
            return Err(Wrong::at(phase.span(), "this phase has no name; give one: name = \"map\""));
        };
        check_name(name.get_ref()).map_err(|error| Wrong::at(name.span(), about("a phase's name", &error)))?;
        if places.insert(name.get_ref(), at).is_some() {
            return Err(Wrong::at(name.span(), format!("two phases are called {:?}", name.get_ref())));
        }
    }
    let mut after = vec![Vec::new(); phases.len()];
    for (phase, parents) in phases.iter().zip(&mut after) {
        let phase = phase.get_ref();
        for parent in phase.after.iter().flatten() {
            let name = parent.get_ref().name();
            let Some(at) = places.get(name) else {
                let near = did_you_mean(name, places.keys().copied().filter(|other| *other != phase.name()));
                let message =
                    format!("phase {:?} comes after {name:?}, which is not a phase of the job{near}", phase.name());
                return Err(Wrong::at(parent.span(), message));
            };
            parents.push(*at);
        }
        parents.sort_unstable();
        parents.dedup();
    }
    let order = parents_first(&after).map_err(|circle| {
        let name = |at: usize| format!("{:?}", phases[at].get_ref().name());
        let first = circle.first().copied().unwrap_or_default();
        let names: Vec<String> = circle.iter().chain([&first]).map(|at| name(*at)).collect();
        let message = format!("phases come after each other in a circle: {}", names.join(" after "));
        let span = phases[first].get_ref().name.as_ref().map_or_else(|| phases[first].span(), Spanned::span);
        Wrong::at(span, message)
    })?;
    Ok((order, after))
}

/// Returns the edges from single tasks of earlier phases to those of a phase. `planned` are the phases before it.
fn edges(phase: &Phase, planned: &[PlannedPhase]) -> Result<Vec<PlannedEdges>, Wrong> {
    let each = phase.each.as_ref().filter(|each| *each.get_ref());
    if let Some(each) = each.filter(|_| phase.after.as_ref().is_none_or(Vec::is_empty)) {
        let message = "with each = true its tasks wait for those of another phase; name it: after = [\"…\"]";
        return Err(Wrong::at(each.span(), message));
    }
    let mut found: Vec<PlannedEdges> = Vec::new();
    for parent in phase.after.iter().flatten() {
        let wrong = |message: String| Wrong::at(parent.span(), message);
        let Some(at) = planned.iter().position(|other| other.name == parent.get_ref().name()) else { continue };
        let by = match parent.get_ref() {
            Parent::Edges(ParentEdges { each: true, by: Some(_), .. }) => {
                return Err(wrong("it has both each and by; give one of them".to_owned()));
            }
            Parent::Edges(ParentEdges { by: Some(by), .. }) => {
                let of_parent = &planned[at];
                if of_parent.value_of(0, by).is_none() {
                    let near = did_you_mean(by, of_parent.values(0).map(|(name, _)| name));
                    let parent = &of_parent.name;
                    return Err(wrong(format!("by: the tasks of phase {parent:?} have no variable {by:?}{near}")));
                }
                Some(by.clone())
            }
            Parent::Edges(ParentEdges { each: true, .. }) => None,
            Parent::Name(_) if each.is_some() => None,
            Parent::Name(_) | Parent::Edges(_) => continue,
        };
        if found.iter().any(|edges| edges.parent == at as u32) {
            return Err(wrong(format!("it comes after phase {:?} twice", parent.get_ref().name())));
        }
        found.push(PlannedEdges { parent: at as u32, by });
    }
    Ok(found)
}

/// Returns one task for each value that a variable has in the tasks of a phase, in the order of these.
fn values_of(parent: &PlannedPhase, by: &str) -> Matrix {
    let mut values: Vec<String> = Vec::new();
    let mut seen = BTreeSet::new();
    for value in (0..parent.tasks).filter_map(|task| parent.value_of(task, by)) {
        if seen.insert(value.clone()) {
            values.push(value);
        }
    }
    Matrix::of_variable(by, values)
}

/// Checks that the tasks for which the tasks of a phase wait are there.
fn check_edges(phase: &PlannedPhase, planned: &[PlannedPhase]) -> Result<(), String> {
    for edges in &phase.edges {
        let parent = &planned[edges.parent as usize];
        match &edges.by {
            None if parent.tasks != phase.tasks => {
                return Err(format!(
                    "each of its tasks waits for one task of phase {:?}, but it has {} tasks and that phase has {}",
                    parent.name, phase.tasks, parent.tasks
                ));
            }
            None => {}
            Some(by) => {
                let values: BTreeSet<String> = (0..parent.tasks).filter_map(|task| parent.value_of(task, by)).collect();
                let value = |task: u32| phase.value_of(task, by);
                match (0..phase.tasks)
                    .map(value)
                    .find(|value| value.as_ref().is_none_or(|value| !values.contains(value)))
                {
                    None => {}
                    Some(None) => {
                        return Err(format!(
                            "its tasks have no variable {by:?}; give it a matrix with this variable, or leave its tasks out"
                        ));
                    }
                    Some(Some(value)) => {
                        return Err(format!("no task of phase {:?} has the value {value:?} of {by}", parent.name));
                    }
                }
            }
        }
    }
    Ok(())
}

/// Settings that all phases share.
struct Common<'a> {
    folder: &'a Path,
    environment: &'a Environment,
    directory: &'a Path,
}

impl Common<'_> {
    fn phase(
        &self,
        phase: Spanned<Phase>,
        (after, edges): (Vec<u32>, Vec<PlannedEdges>),
        planned: &[PlannedPhase],
    ) -> Result<PlannedPhase, Wrong> {
        let span = phase.span();
        let phase = phase.into_inner();
        let Some(command) = phase.command else {
            let message = "it has no command; give the command that the shell runs for each task: command = \"…\"";
            return Err(Wrong::at(span, message));
        };
        let command_span = command.span();
        let command = checked_text(Some(command), |command| {
            if command.trim().is_empty() {
                return Err("its command is empty".to_owned());
            }
            check_text("its command", command)
        })?;
        let mut all = self.environment.clone();
        all.extend(environment(phase.environment)?);
        let has_own =
            phase.tasks.is_some() || phase.inputs.is_some() || phase.matrix.is_some() || phase.table.is_some();
        // Where tasks wait for single tasks, these say which tasks there are.
        let first = edges.first().filter(|_| !has_own);
        let from = first.map(|edges| (&planned[edges.parent as usize], edges));
        let tasks_of = from.filter(|(_, edges)| edges.by.is_none()).map(|(_, edges)| edges.parent);
        let mut matrix = match phase.matrix {
            Some(matrix) if phase.tasks.is_some() => {
                let message = "it has both tasks and a matrix; leave tasks out: each combination of values is a task";
                return Err(Wrong::at(matrix.span(), message));
            }
            Some(matrix) if matrix.get_ref().is_empty() => {
                let message = "its matrix is empty: give variables and values, matrix = { seed = [1, 2, 3] }";
                return Err(Wrong::at(matrix.span(), message));
            }
            Some(matrix) => Some((matrix.span(), Matrix::checked(matrix.into_inner(), &all)?)),
            None => None,
        };
        let table = checked(phase.table, |given| {
            let table = Table::read(&self.folder.join(&given), &given).map_err(|error| about("table", &error))?;
            if phase.tasks.is_some() || matrix.is_some() {
                let other = if matrix.is_some() { "a matrix" } else { "tasks" };
                return Err(format!("it has both a table and {other}; leave one out: each row of a table is a task"));
            }
            Ok(Arc::new(table))
        })?;
        let rows = table.clone();
        let table =
            table.or_else(|| from.filter(|(_, edges)| edges.by.is_none()).and_then(|(parent, _)| parent.table.clone()));
        let columns = table.as_deref();
        let combinations = matrix.as_ref().map_or(1, |(_, matrix)| matrix.combinations());
        let bounded = |tasks: u64, span: Range<usize>, what: &str| {
            let number = u32::try_from(tasks).ok().filter(|tasks| TASKS.contains(tasks));
            number.ok_or_else(|| Wrong::at(span, format!("{what}, but at most {} are possible", TASKS.end())))
        };
        let (tasks, inputs) = match (phase.tasks, phase.inputs) {
            (_, inputs) if let Some(table) = rows.as_deref() => {
                let inputs =
                    checked(inputs, |patterns| inputs_of_rows(&patterns.into_list(), table, (self.folder, &all)))?;
                (table.rows(), inputs)
            }
            (None, None) => {
                if let Some((parent, edges)) = from {
                    let values = edges.by.as_ref().map(|by| values_of(parent, by));
                    let tasks = values.as_ref().map_or(u64::from(parent.tasks), Matrix::combinations);
                    matrix = values.or_else(|| parent.matrix.clone()).map(|values| (span.clone(), values));
                    (
                        bounded(tasks, span.clone(), "its tasks are those of another phase")?,
                        parent.inputs.clone().filter(|_| edges.by.is_none()),
                    )
                } else if let Some((span, _)) = &matrix {
                    let what = format!("its matrix has {combinations} combinations");
                    (bounded(combinations, span.clone(), &what)?, None)
                } else {
                    let message = "it has neither tasks nor inputs nor a matrix nor a table; give tasks = N, inputs = \"PATTERN\", \
                                   matrix = { NAME = [VALUES] } or table = \"FILE.csv\", or each = true if it has one task for each of \
                                   the phase before";
                    return Err(Wrong::at(span, message));
                }
            }
            (Some(_), Some(inputs)) => {
                let message = "it has both tasks and inputs; give one of them: each input is a task";
                return Err(Wrong::at(inputs.span(), message));
            }
            (tasks @ Some(_), None) => (checked(tasks, |tasks| count("tasks", tasks, &TASKS))?.unwrap_or(1), None),
            (None, Some(patterns)) => {
                let span = patterns.span();
                let patterns = patterns.into_inner().into_list();
                let files = inputs::files("inputs", &patterns, self.folder, &all)
                    .map_err(|message| Wrong::at(span.clone(), message))?;
                let what = match combinations {
                    1 => format!("inputs are {} files", files.len()),
                    _ => {
                        format!("inputs are {} files with {combinations} combinations of the matrix each", files.len())
                    }
                };
                let tasks = bounded((files.len() as u64).saturating_mul(combinations), span, &what)?;
                let each = |file: PathBuf| std::iter::repeat_n(file, combinations as usize);
                (tasks, Some(files.into_iter().flat_map(each).collect()))
            }
        };
        let output = checked(phase.output, |text| {
            let of_matrix = matrix.iter().flat_map(|(_, matrix)| matrix.keys()).map(|(name, _)| name);
            let variables = of_matrix.chain(columns.into_iter().flat_map(Table::columns));
            OutputTemplate::of_phase(&text, inputs.is_some(), variables).map_err(|error| about("output", &error))
        })?;
        let directory = directory(phase.directory, self.folder)?.unwrap_or_else(|| self.directory.to_path_buf());
        let idempotent = phase.idempotent.unwrap_or(true);
        let retries = checked(phase.retries, |retries| count("retries", retries, &RETRIES))?;
        let shell = checked(phase.shell, |words| {
            let words = shell(words)?;
            check_program(&words, &all, &directory).map(|()| words)
        })?;
        let mut command = command.unwrap_or_default();
        if let Some(table) = columns
            && shell.as_ref().is_none_or(|words| words.first().is_some_and(|program| is_bourne(program)))
        {
            let no_column = |name: String| {
                let what = table.no_column(&name);
                Wrong::at(
                    command_span.clone(),
                    format!("its command: {what}; write '{{{name}}}' in quotes where no column is meant"),
                )
            };
            command = with_columns(&command, table.columns()).map_err(no_column)?;
        }
        let uses = checked(phase.uses, |patterns| Uses::found(&patterns.into_list(), columns, (self.folder, &all)))?;
        let (cpus, row_cpus) = of_rows(phase.cpus, columns, Cpus::text, |_, text| Cpus::Column(text), values::cpus)?;
        let memory = |size| values::memory(&size);
        let (memory, row_memory) = of_rows(phase.memory, columns, |size| Some(size.text()), Size::with, memory)?;
        let limit = |given| values::limit(&given).map_err(|error| about("time_limit", &error));
        let with = |given: &Limit, text| given.with(values::span(text));
        let (time_limit, row_time_limits) = of_rows(phase.time_limit, columns, Limit::text, with, limit)?;
        let copies = match phase.copies {
            None => Copies::of(&command, shell.as_deref()),
            Some(true) => Copies::Forced,
            Some(false) => Copies::Never,
        };
        let planned_phase = PlannedPhase {
            after,
            edges,
            tasks_of,
            tasks,
            inputs,
            cpus: cpus.unwrap_or(1.0),
            memory: memory.map(|(bytes, _)| bytes),
            memory_retry: memory.and_then(|(_, retry)| retry),
            row_limits: RowLimits {
                cpus: row_cpus,
                memory: row_memory.into_iter().map(|(bytes, _)| bytes).collect(),
                time_limit: row_time_limits.into_iter().map(|(limit, _)| limit).collect(),
            },
            uses: uses.unwrap_or_default(),
            gpus: checked(phase.gpus, |gpus| count("gpus", gpus, &GPUS))?.unwrap_or(0),
            features: checked(phase.features, features)?.unwrap_or_default(),
            retries: retries.unwrap_or(if idempotent { DEFAULT_RETRIES } else { 0 }),
            retry_delay: checked(phase.retry_delay, |span| delay(&span).map_err(|error| about("retry_delay", &error)))?
                .unwrap_or_default(),
            allowed_losses: checked(phase.allowed_losses, |losses| count("allowed_losses", losses, &LOSSES))?
                .unwrap_or(DEFAULT_LOSSES),
            shell,
            copies,
            matrix: matrix.map(|(_, matrix)| matrix),
            table,
            keep_going: phase.keep_going.unwrap_or(false),
            allowed_failures: checked(phase.allowed_failures, |allowed| allowance(&allowed))?.unwrap_or_default(),
            time_limit: time_limit.map(|(limit, _)| limit),
            time_limit_retry: time_limit.and_then(|(_, retry)| retry),
            time_limit_of_median: None,
            kill_after: checked(phase.kill_after, |span| delay(&span).map_err(|error| about("kill_after", &error)))?
                .unwrap_or(KILL_AFTER),
            idempotent,
            resumes: phase.resumes.unwrap_or(false),
            environment: all,
            directory,
            name: phase.name.map(Spanned::into_inner).unwrap_or_default(),
            command,
            commands: None,
            output,
            places: None,
            withdrawn_keys: BTreeMap::new(),
        };
        check_edges(&planned_phase, planned).map_err(|message| Wrong::at(span, message))?;
        Ok(planned_phase)
    }
}

/// Returns the input file of each row of a table.
fn inputs_of_rows(
    patterns: &[String],
    table: &Table,
    (folder, environment): (&Path, &Environment),
) -> Result<Vec<PathBuf>, String> {
    let [pattern] = patterns else {
        return Err("inputs: with a table, give one pattern, whose file is the input of the row; the other files that a task reads \
                    belong to uses, also with columns: uses = [\"{reads_2}\"]"
            .to_owned());
    };
    let text = Table::columns_in(Some(table), pattern).map_err(|error| format!("inputs: {error}"))?;
    if text.is_same_for_all() {
        return Err(format!(
            "inputs: {pattern:?} is the same for all rows of {}: name a column in it, such as {{{}}}, or put it under uses",
            table.name(),
            table.columns()[0]
        ));
    }
    let file = |row| {
        let pattern = table.fill(&text, row, as_pattern);
        let mut files = inputs::files("inputs", std::slice::from_ref(&pattern), folder, environment)?;
        match files.len() {
            1 => Ok(files.swap_remove(0)),
            several => Err(format!(
                "inputs: {pattern:?} matches {several} files, but a row has one input: name the others in a column and under uses"
            )),
        }
    };
    (0..table.rows()).map(|row| file(row).map_err(|error: String| table.about(row, error))).collect()
}

/// Checks that the record of a run can hold the values of all tables, by which a resumed run recognises their tasks.
fn check_size_of_tables(phases: &[PlannedPhase]) -> Result<(), Wrong> {
    let tables = phases.iter().filter_map(|phase| phase.table.as_deref());
    let size: usize = tables.map(Table::recorded_size).sum();
    if size <= MOST_RECORDED {
        return Ok(());
    }
    Err(Wrong::anywhere(format!(
        "the tables of all phases have about {} MiB, but at most {} are possible: leave out columns that no command uses, or split \
         the job",
        size >> 20,
        MOST_RECORDED >> 20
    )))
}

fn environment(given: Option<Spanned<Environment>>) -> Result<Environment, Wrong> {
    let given = checked(given, |environment| check_environment(&environment).map(|()| environment))?;
    Ok(given.unwrap_or_default())
}

/// Checks that a folder exists, and returns its path.
fn directory(given: Option<Spanned<String>>, folder: &Path) -> Result<Option<PathBuf>, Wrong> {
    checked(given, |text| {
        let path = folder.join(&text);
        let found = path.canonicalize().map_err(|error| format!("directory: {}: {error}", path.display()))?;
        if found.is_dir() { Ok(found) } else { Err(format!("directory: {} is not a folder", path.display())) }
    })
}

/// Returns the checked value, or the place and reason of the mistake.
fn checked<T, U>(given: Option<Spanned<T>>, check: impl FnOnce(T) -> Result<U, String>) -> Result<Option<U>, Wrong> {
    given
        .map(|given| {
            let span = given.span();
            check(given.into_inner()).map_err(|message| Wrong::at(span, message))
        })
        .transpose()
}

/// Does the same as `checked` for a text, and returns the text unchanged.
fn checked_text(
    given: Option<Spanned<String>>,
    check: impl Fn(&str) -> Result<(), String>,
) -> Result<Option<String>, Wrong> {
    checked(given, |text| check(&text).map(|()| text))
}

/// Returns a message about the value that is called `what`.
fn about(what: &str, complaint: &str) -> String {
    if complaint.starts_with("is ") { format!("{what} {complaint}") } else { format!("{what}: {complaint}") }
}
