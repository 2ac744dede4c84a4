//! A checked job with all defaults and paths resolved.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hindmost_core::ids::{JobId, TaskId};
use hindmost_core::power::PowerSpec;
use hindmost_core::resources::{CPUS, FEATURE, MEMORY};
use hindmost_core::time::Time;
use hindmost_core::workload::{DemandByName, InputSpec, JobSpec, PhaseSpec, TaskEdges};

use super::allowance::Allowance;
use super::commands::TaskCommands;
use super::copies::Copies;
use super::digest::Digest;
use super::edges::PlannedEdges;
use super::matrix::Matrix;
use super::output::OutputTemplate;
use super::printable::printable;
use super::row_command::COLUMN_VARIABLE;
use super::shell::shell_in_words;
use super::table::Table;
use super::uses::{RowLimits, Uses};
use super::writes::{Found, Named, Repeats, VARIABLES, in_one_spelling, named, substituted, writes_value_of};
use crate::engine::{GPUS, NodeOffer, Speeds};

/// A job file, checked and resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Name of the job.
    pub name: String,
    /// Absolute path of the job file's folder.
    pub folder: PathBuf,
    /// Policy, if the job file names one.
    pub policy: Option<String>,
    /// Progress model (what the policy may know of running attempts), if the job file names one.
    pub knowledge: Option<String>,
    /// Nodes, such as `n1:2,n2:2`, if the job file names them.
    pub nodes: Option<String>,
    /// Speeds of nodes that the job file gives.
    pub speeds: Speeds,
    /// Power of each node, if the job file has it.
    pub power: Option<PowerSpec>,
    /// Time from the job's start until it should be done; `None` without a deadline.
    pub deadline: Option<Duration>,
    /// Weight among jobs, above 0.
    pub priority: f64,
    /// Phases in an order in which parents come before children.
    pub phases: Vec<PlannedPhase>,
}

/// One phase of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedPhase {
    /// Name, unique in the job and valid as a folder's name.
    pub name: String,
    /// Numbers of the phases that must be finished first, except for those in `edges`, in ascending order. Each is smaller
    /// than this phase's number.
    pub after: Vec<u32>,
    /// The phases in `after` of which tasks wait for single tasks.
    pub edges: Vec<PlannedEdges>,
    /// The phase in `edges` whose tasks these are, with their inputs and values; `None` if the phase has tasks of its own.
    pub tasks_of: Option<u32>,
    /// Number of tasks, at least 1.
    pub tasks: u32,
    /// Absolute path of each task's input file; `None` if the tasks have no inputs. Sorted, except in runs that were resumed
    /// after files were added or removed.
    pub inputs: Option<Vec<PathBuf>>,
    /// Variables of which each task gets one combination of values; `None` if there are none. With inputs, each input has one
    /// task for each combination, and stands in `inputs` as often.
    pub matrix: Option<Matrix>,
    /// The table whose rows are the tasks; `None` without one.
    pub table: Option<Arc<Table>>,
    /// The files that commands read besides their inputs.
    pub uses: Uses,
    /// What differs between the tasks of a table. `cpus`, `memory` and `time_limit` are then the largest values.
    pub row_limits: RowLimits,
    /// The command that the shell runs for every task. If tasks have `commands`, the template of these, for people.
    pub command: String,
    /// The command of each task, if tasks have commands of their own.
    pub commands: Option<TaskCommands>,
    /// The file that each task's standard output becomes; `None` if it stays in the run's folder.
    pub output: Option<OutputTemplate>,
    /// Place of each task in the order of the job file; `None` for tasks that are withdrawn. Absent if all tasks are in this
    /// order, as in a new run.
    pub places: Option<Vec<Option<u32>>>,
    /// What withdrawn tasks were recognised by, by their numbers, so that they get these numbers again if it comes back.
    /// Empty if each task has a command of its own, which then has the values.
    pub withdrawn_keys: BTreeMap<u32, Vec<String>>,
    /// The shell and its options, which the command follows; `None` for the run's default shell.
    pub shell: Option<Vec<String>>,
    /// Number of cpus of one attempt.
    pub cpus: f64,
    /// Memory of one attempt in bytes; `None` if it is not accounted for.
    pub memory: Option<u64>,
    /// How many times as much memory a retry gets after a kill for memory; its memory is a limit then. `None` if neither holds.
    pub memory_retry: Option<f64>,
    /// Number of GPUs of one attempt.
    pub gpus: u32,
    /// Features that a node must have so that attempts run on it.
    pub features: Vec<String>,
    /// How often a failed task is tried again before the job fails.
    pub retries: u32,
    /// How long a failed task waits for its first retry; zero for no delay.
    pub retry_delay: Duration,
    /// How often a task may be lost with its node before each further loss counts as its failure.
    pub allowed_losses: u32,
    /// Whether the other tasks of the job go on after a task of the phase has failed permanently.
    pub keep_going: bool,
    /// How many tasks of the phase may fail permanently without failing the job.
    pub allowed_failures: Allowance,
    /// How long one attempt may take; `None` for no limit.
    pub time_limit: Option<Duration>,
    /// How many times as long a retry may take after a time-out; `None` for no longer.
    pub time_limit_retry: Option<f64>,
    /// How long one attempt may take, as a multiple of the median duration of the phase's finished tasks. The limit holds
    /// once three tasks have finished; `None` for no such limit.
    pub time_limit_of_median: Option<f64>,
    /// How long the processes of a stopped attempt may take to end before they are killed; zero kills them at once.
    pub kill_after: Duration,
    /// Whether the command may run more than once for a task.
    pub idempotent: bool,
    /// Whether a task may have two attempts at a time, unless the phase is not idempotent.
    pub copies: Copies,
    /// Whether the command can continue from a share of its work that another attempt has done.
    pub resumes: bool,
    /// Environment variables of the command, from the job and the phase.
    pub environment: BTreeMap<String, String>,
    /// Absolute path of the folder in which the command runs.
    pub directory: PathBuf,
}

/// What holds for all phases whatever the job file says, such as what the options of a command say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overrides {
    /// Whether the other tasks go on after a task has failed permanently; if false, as the job file says.
    pub keep_going: bool,
    /// How many tasks of each phase may fail permanently; `None`: as the job file says.
    pub allowed_failures: Option<Allowance>,
    /// Whether tasks may have two attempts at a time; `None`: as the job file says.
    pub copies: Option<bool>,
    /// How long the processes of stopped attempts may take to end; `None`: as the job file says.
    pub kill_after: Option<Duration>,
}

impl Plan {
    /// Returns the plan of the folder of a run of several jobs: it has no phases. Each of the jobs has a plan and a folder of
    /// its own.
    pub fn of_several(folder: &Path) -> Plan {
        Plan {
            name: "several jobs".to_owned(),
            folder: folder.to_owned(),
            phases: Vec::new(),
            policy: None,
            knowledge: None,
            nodes: None,
            speeds: Speeds::new(),
            power: None,
            deadline: None,
            priority: 1.0,
        }
    }

    /// Gives the job another name.
    ///
    /// # Errors
    /// If it can't be the name of a folder.
    pub fn set_name(&mut self, name: &str) -> Result<(), String> {
        super::values::check_name(name)?;
        name.clone_into(&mut self.name);
        Ok(())
    }

    /// True if a task demands GPUs.
    pub fn demands_gpus(&self) -> bool {
        self.phases.iter().any(|phase| phase.gpus > 0)
    }

    /// True if a node has all features that some phase requires.
    pub fn can_use(&self, node: &NodeOffer) -> bool {
        self.phases.iter().any(|phase| node.has(&phase.features))
    }

    /// Returns the number of tasks of all phases.
    pub fn tasks(&self) -> u64 {
        self.phases.iter().map(|phase| u64::from(phase.tasks)).sum()
    }

    /// True if each task has a command of its own, as in a map.
    pub(crate) fn has_own_commands(&self) -> bool {
        self.phases.iter().all(|phase| phase.commands.is_some()) && !self.phases.is_empty()
    }

    /// Returns the withdrawn tasks of all phases.
    pub(crate) fn withdrawn(&self) -> Vec<TaskId> {
        let of = |(at, phase): (u32, &PlannedPhase)| {
            let task = move |index| TaskId { job: JobId(0), phase: at, index };
            phase.withdrawn_tasks().map(task).collect::<Vec<_>>()
        };
        (0..).zip(&self.phases).flat_map(of).collect()
    }

    /// Changes all phases.
    pub fn override_with(&mut self, overrides: &Overrides) {
        for phase in &mut self.phases {
            phase.keep_going |= overrides.keep_going;
            phase.allowed_failures = overrides.allowed_failures.unwrap_or(phase.allowed_failures);
            if let Some(allowed) = overrides.copies {
                phase.copies = if allowed { Copies::Forced } else { Copies::Never };
            }
            phase.kill_after = overrides.kill_after.unwrap_or(phase.kill_after);
        }
    }

    /// Says which phases get no copies because of what their commands write: a line for each, without its phase's name if
    /// there is only one phase.
    pub fn copies_left_out(&self) -> Vec<String> {
        let line = |phase: &PlannedPhase| {
            let Copies::WouldShare(Found { file, .. }) = &phase.copies else { return None };
            let name = if self.phases.len() == 1 { String::new() } else { format!("phase {}: ", phase.name) };
            let output = if self.has_own_commands() { "--output FILE" } else { "the key output" };
            let file = printable(file);
            let waits = if phase.may_restart() { "" } else { "; an attempt that hangs is waited for" };
            Some(format!("{name}no copies, because the command writes {file} ({output} or --copies allow them){waits}"))
        };
        self.phases.iter().filter(|phase| phase.idempotent).filter_map(line).collect()
    }

    /// Returns a digest of the job's work, which is the same on every machine and in every version.
    ///
    /// It covers everything on which results depend: names, order, numbers of tasks, input files, commands, variables and
    /// folders. It does not cover settings that may change before a job is resumed, such as policy, nodes, cpus, retries and
    /// time limits.
    pub fn digest(&self) -> String {
        self.digest_of(PlannedPhase::add_work)
    }

    /// Returns a digest of the job's tasks without their commands: names, order, numbers of tasks, input files.
    pub fn shape(&self) -> String {
        self.digest_of(|_, _| ())
    }

    fn digest_of(&self, add: impl Fn(&PlannedPhase, &mut Digest)) -> String {
        let mut digest = Digest::new();
        digest.text("hindmost job 1");
        digest.text(&self.name);
        digest.number(self.phases.len() as u64);
        for phase in &self.phases {
            digest.text(&phase.name);
            digest.number(phase.after.len() as u64);
            phase.after.iter().for_each(|parent| digest.number(u64::from(*parent)));
            for edges in &phase.edges {
                digest.text("edges");
                digest.number(u64::from(edges.parent));
                edges.by.iter().for_each(|by| digest.text(by));
            }
            digest.number(u64::from(phase.tasks));
            if let Some(commands) = &phase.commands {
                // The values identify the tasks. Whether they name files may change while they run.
                commands.add_values(&mut digest);
            } else {
                digest.number(phase.inputs.as_ref().map_or(u64::MAX, |inputs| inputs.len() as u64));
                phase.inputs.iter().flatten().for_each(|input| digest.path(input));
            }
            if phase.table.is_some() {
                for (name, value) in (0..phase.tasks).flat_map(|task| phase.values(task)) {
                    digest.text(name);
                    digest.text(value);
                }
            }
            for (name, values) in phase.matrix.iter().flat_map(Matrix::keys) {
                digest.text(name);
                digest.number(values.len() as u64);
                for value in values {
                    digest.text(value);
                }
            }
            let withdrawn: Vec<u32> = phase.withdrawn_tasks().collect();
            if !withdrawn.is_empty() {
                digest.text("withdrawn");
                for task in withdrawn {
                    digest.number(u64::from(task));
                }
            }
            add(phase, &mut digest);
        }
        digest.in_hex()
    }

    /// Returns the job as policies see it, without the sizes of its inputs ([`PlannedPhase::input`]). Durations are unknown
    /// and marked as assumed.
    pub fn job_spec(&self) -> JobSpec {
        JobSpec {
            name: self.name.as_str().into(),
            arrival: Time::ZERO,
            deadline: self.deadline.map(|deadline| Time::from_seconds(deadline.as_secs_f64())),
            weight: self.priority,
            queue: None,
            phases: (0..).zip(&self.phases).map(|(at, phase)| phase.spec(self.edges(at))).collect(),
        }
    }
}

/// How often a task may be lost with its node, if its job file does not say so.
pub(crate) const DEFAULT_LOSSES: u32 = 20;

impl Plan {
    /// Returns the shells of all phases in words: the shell that most use, and those of phases with another one. `default` is
    /// the shell of phases that name none.
    pub fn shells_in_words(&self, default: &[String]) -> String {
        let of = |at: usize| shell_in_words(self.phases[at].shell.as_deref().unwrap_or(default));
        let all: Vec<String> = (0..self.phases.len()).map(of).collect();
        let default = shell_in_words(default);
        match all.first() {
            Some(first) if all.iter().all(|shell| shell == first) => first.clone(),
            _ => {
                let others = self.phases.iter().zip(&all).filter(|(_, shell)| **shell != default);
                let others: Vec<String> = others.map(|(phase, shell)| format!("{}: {shell}", phase.name)).collect();
                format!("{default} ({})", others.join(", "))
            }
        }
    }
}

impl PlannedPhase {
    /// Returns the command of a task as text, for people. `{%}` stands for the number of its slot.
    pub fn command_of(&self, task: u32) -> String {
        match self.commands.as_ref().and_then(|commands| commands.get(task)) {
            Some(own) => String::from_utf8_lossy(&own.command).replace('\0', "{%}"),
            None => self.command.clone(),
        }
    }

    /// Returns a digest of the phase's command, variables and folder, and of its shell if it names one.
    pub fn digest(&self) -> String {
        let mut digest = Digest::new();
        self.add_work(&mut digest);
        digest.in_hex()
    }

    /// Returns the present sizes of the input files, one for each task; `None` if the tasks have no inputs. A file whose
    /// size cannot be read counts 0 bytes. Where the files are stored is unknown.
    pub fn input(&self) -> Option<InputSpec> {
        let size = |file: &PathBuf| std::fs::metadata(file).map_or(0, |found| found.len());
        let bytes = self.inputs.as_ref()?.iter().map(size).collect();
        Some(InputSpec { bytes, replicas: Vec::new() })
    }

    fn add_work(&self, digest: &mut Digest) {
        digest.text(&self.command);
        self.commands.iter().for_each(|commands| commands.add_template(digest));
        digest.number(self.environment.len() as u64);
        for (name, value) in &self.environment {
            digest.text(name);
            digest.text(value);
        }
        digest.path(&self.directory);
        if let Some(output) = &self.output {
            output.add_to(digest);
        }
        // A phase that names no shell keeps the one with which its run began, so the default shell is not part of its work.
        if let Some(shell) = &self.shell {
            digest.text("shell");
            digest.number(shell.len() as u64);
            for word in shell {
                digest.text(word);
            }
        }
    }

    /// Returns the resources that each task demands of its node, by name. Features are among them (see [`FEATURE`]). If they differ
    /// between the rows of a table, these are the largest.
    pub fn demand(&self) -> DemandByName {
        self.demand_for(self.cpus, self.memory)
    }

    /// Returns the resources that a task demands.
    pub(crate) fn demand_of(&self, task: u32) -> DemandByName {
        let row = self.place_of(task).map_or(usize::MAX, |row| row as usize);
        let cpus = self.row_limits.cpus.get(row).copied().unwrap_or(self.cpus);
        self.demand_for(cpus, self.row_limits.memory.get(row).copied().or(self.memory))
    }

    fn demand_for(&self, cpus: f64, memory: Option<u64>) -> DemandByName {
        let mut demand = DemandByName::from([(CPUS.to_owned(), cpus)]);
        demand.extend(memory.map(|bytes| (MEMORY.to_owned(), bytes as f64)));
        demand.extend((self.gpus > 0).then(|| (GPUS.to_owned(), f64::from(self.gpus))));
        demand.extend(self.features.iter().map(|name| (format!("{FEATURE}{name}"), 1.0)));
        demand
    }

    /// True if a task may have two attempts at a time.
    pub fn may_be_copied(&self) -> bool {
        self.idempotent && matches!(self.copies, Copies::Allowed | Copies::Forced)
    }

    /// True if tasks get no copies only because of what their command writes, and it may be seen that it has changed nothing yet
    /// but what it writes from the beginning each time: an attempt may be stopped and its task started again.
    pub fn may_restart(&self) -> bool {
        self.idempotent && self.restarts().is_some()
    }

    /// Returns how attempts are restarted, if tasks get no copies because of what their command writes.
    fn restarts(&self) -> Option<Repeats> {
        match &self.copies {
            Copies::WouldShare(found) if found.shows_files && found.repeats != Repeats::Never => Some(found.repeats),
            _ => None,
        }
    }

    /// True if an attempt may be stopped for a restart only as long as it has changed nothing that it does not write anew.
    pub fn restarts_until_it_changes(&self) -> bool {
        self.restarts() == Some(Repeats::UntilItChanges)
    }

    /// True if the command changes files that are there, so that an attempt must not be stopped in the middle.
    pub fn changes_files(&self) -> bool {
        matches!(self.copies, Copies::WouldShare(Found { changes_files: true, .. }))
    }

    /// True if commands may change the input files of their tasks. Then the state of these at the end of an attempt counts.
    pub fn may_change_inputs(&self) -> bool {
        self.commands.is_some() || writes_value_of(&self.command, "HINDMOST_INPUT")
    }

    /// Returns the files that a task's command names, with `$HINDMOST_INPUT` and `$HINDMOST_TASK` in place; `None` if its text does
    /// not show them.
    pub fn named_by(&self, task: u32) -> Option<Named> {
        let mut found = named(&self.command_of(task))?;
        let mut values = Vec::new();
        let is_known = |name: &&String| {
            let is_own = name.starts_with("HINDMOST_") && !name.starts_with(COLUMN_VARIABLE);
            !is_own || VARIABLES.contains(&name.as_str())
        };
        for name in found.uses.iter().filter(is_known) {
            values.push((name, self.variable_of(task, name)?));
        }
        let resolve = |file: &mut String| {
            *file = in_one_spelling(file);
            for (name, value) in &values {
                *file = substituted(file, name, value);
            }
        };
        found.files.iter_mut().map(|file| &mut file.file).for_each(resolve);
        found.written_anew.iter_mut().for_each(resolve);
        Some(found)
    }

    /// Returns the value that a variable has when the command of a task begins; `None` if it may stand for several words, or is no text.
    fn variable_of(&self, task: u32, name: &str) -> Option<String> {
        let value = match name {
            "HINDMOST_INPUT" => self.input_of(task).map_or(Some(""), |input| input.to_str())?.to_owned(),
            "HINDMOST_TASK" => task.to_string(),
            "PWD" => self.directory.to_str()?.to_owned(),
            _ => {
                let of_task = self.variables(task).find(|(own, _)| own == name).map(|(_, value)| value.to_owned());
                match of_task.or_else(|| self.environment.get(name).cloned()) {
                    Some(value) => value,
                    None => match std::env::var(name) {
                        Ok(value) => value,
                        Err(std::env::VarError::NotPresent) => String::new(),
                        Err(std::env::VarError::NotUnicode(_)) => return None,
                    },
                }
            }
        };
        // The input may have any name: it is written in quotes.
        let is_one_word = name == "HINDMOST_INPUT" || !value.contains([' ', '\t', '\n', '*', '?', '[']);
        is_one_word.then_some(value)
    }

    /// True if the command names files for writing outside the folders of its attempts.
    pub fn names_files(&self) -> bool {
        matches!(self.copies, Copies::WouldShare(_))
    }

    /// True if tasks may run again after an attempt that has done part of its work: they may run twice, and their command adds to
    /// no file that it names.
    pub fn may_repeat(&self) -> bool {
        self.idempotent
            && !matches!(
                self.copies,
                Copies::WouldShare(Found { repeats: Repeats::Never | Repeats::UntilItChanges, .. })
            )
    }

    fn spec(&self, edges: Vec<TaskEdges>) -> PhaseSpec {
        let demand = self.demand();
        PhaseSpec {
            after: self.after.clone(),
            edges,
            demand,
            assumed: true,
            never_copied: !self.may_be_copied(),
            may_restart: self.may_restart(),
            never_resumed: !self.resumes,
            ..PhaseSpec::new(self.name.as_str(), self.tasks, 1.0)
        }
    }
}
