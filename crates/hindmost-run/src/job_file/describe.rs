//! Prints a plan as text and JSON, for `hindmost run --check`.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::copies::Copies;
use super::edges::PlannedEdges;
use super::matrix::Matrix;
use super::output::OutputTemplate;
use super::plan::{DEFAULT_LOSSES, Plan, PlannedPhase};
use super::printable::printable;
use super::shell::shell_in_words;
use super::table::Table;
use super::uses::RowLimits;
use super::values::KILL_AFTER;
use super::writes::Repeats;

/// Number of characters of a command that are shown at most.
const SHOWN: usize = 100;

impl Plan {
    /// Returns the plan as text, with a few lines for each phase.
    pub fn describe(&self) -> String {
        let mut text = format!(
            "job {}: {} in {}, from {}\n",
            self.name,
            many(self.tasks(), "task"),
            many(self.phases.len() as u64, "phase"),
            shown(&self.folder)
        );
        let settings = [
            self.policy.as_ref().map(|policy| format!("policy {policy}")),
            self.knowledge.as_ref().map(|knowledge| format!("knowledge {knowledge}")),
            self.nodes.as_ref().map(|nodes| format!("nodes {nodes}")),
            (!self.speeds.is_empty()).then(|| {
                let of = |(name, speed): (&String, &f64)| format!("{} = {speed}", printable(name));
                format!("speeds {}", self.speeds.iter().map(of).collect::<Vec<_>>().join(" and "))
            }),
            self.deadline.map(|deadline| format!("deadline {}", time(deadline))),
            Some(self.priority).filter(|priority| *priority != 1.0).map(|priority| format!("priority {priority}")),
        ];
        let settings: Vec<String> = settings.into_iter().flatten().collect();
        if !settings.is_empty() {
            let _ = writeln!(text, "  {}", settings.join(", "));
        }
        for phase in &self.phases {
            phase.describe(self, &mut text);
        }
        text
    }

    /// Returns the plan as JSON. Missing values are null; names that are not valid UTF-8 are shown with replacement
    /// characters.
    pub fn to_json(&self) -> Value {
        json!({
            "job": self.name,
            "folder": lossy(&self.folder),
            "policy": self.policy,
            "knowledge": self.knowledge,
            "nodes": self.nodes,
            "speeds": self.speeds,
            "deadline": self.deadline.map(|deadline| deadline.as_secs_f64()),
            "priority": self.priority,
            "digest": self.digest(),
            "tasks": self.tasks(),
            "phases": self.phases.iter().map(|phase| phase.to_json(self)).collect::<Vec<_>>(),
        })
    }

    fn names<'a>(&'a self, places: &'a [u32]) -> impl Iterator<Item = &'a str> {
        places.iter().filter_map(|place| self.phases.get(*place as usize)).map(|phase| phase.name.as_str())
    }
}

impl PlannedPhase {
    fn describe(&self, plan: &Plan, text: &mut String) {
        // Writing to a string can't fail.
        let _ = write!(text, "\n{}: {}", self.name, many(u64::from(self.tasks), "task"));
        if !self.after.is_empty() {
            let _ = write!(text, ", after {}", self.parents_in_words(plan).join(", "));
        }
        let most = |differs: bool| if differs { "up to " } else { "" };
        let RowLimits { cpus, memory, time_limit } = &self.row_limits;
        let _ = write!(
            text,
            "\n  each       {}{}",
            most(!cpus.is_empty()),
            if self.cpus == 1.0 { "1 cpu".to_owned() } else { format!("{} cpus", self.cpus) }
        );
        if let Some(bytes) = self.memory {
            let _ = write!(text, ", {}{} of memory", most(!memory.is_empty()), size(bytes));
        }
        if let Some(retry) = self.memory_retry {
            let _ = write!(text, " at most ({retry} times as much after a kill for it)");
        }
        if self.gpus > 0 {
            let _ = write!(text, ", {} GPU{}", self.gpus, if self.gpus == 1 { "" } else { "s" });
        }
        if !self.features.is_empty() {
            let _ = write!(text, ", only on nodes with {}", self.features.join(" and "));
        }
        let _ = match self.retries {
            0 => write!(text, ", no retries"),
            1 => write!(text, ", 1 retry"),
            retries => write!(text, ", {retries} retries"),
        };
        if !self.retry_delay.is_zero() {
            let _ = write!(text, " after {} or longer", time(self.retry_delay));
        }
        if self.allowed_losses != DEFAULT_LOSSES {
            let times = if self.allowed_losses == 1 { "loss" } else { "losses" };
            let _ = write!(text, ", {} {times} allowed", self.allowed_losses);
        }
        if self.keep_going {
            let _ = write!(text, ", keeps going");
        }
        if !self.allowed_failures.is_none() {
            let _ = write!(text, ", {} may fail", many(u64::from(self.allowed_failures.of(self.tasks)), "task"));
        }
        if let Some(limit) = self.time_limit {
            let differs = if time_limit.is_empty() { "" } else { ", by row" };
            let _ = write!(text, ", at most {}{differs}", time(limit));
        }
        if let Some(retry) = self.time_limit_retry {
            let _ = write!(text, " ({retry} times as long after a time-out)");
        }
        if self.kill_after.is_zero() {
            let _ = write!(text, ", killed at once");
        } else if self.kill_after != KILL_AFTER {
            let _ = write!(text, ", killed after {}", time(self.kill_after));
        }
        let _ = match &self.copies {
            _ if !self.idempotent => write!(text, ", never copied"),
            Copies::Allowed | Copies::Forced => Ok(()),
            Copies::Never => write!(text, ", no copies"),
            Copies::WouldShare(found) => {
                let file = printable(&found.file);
                match found.repeats {
                    _ if !found.shows_files => write!(text, ", no copies (writes {file})"),
                    Repeats::Always => write!(text, ", restarts and no copies (writes {file})"),
                    Repeats::UntilItChanges => write!(text, ", restarts until it has changed {file}, and no copies"),
                    Repeats::Never => write!(text, ", no copies (writes {file})"),
                }
            }
        };
        if self.resumes {
            let _ = write!(text, ", can resume");
        }
        text.push('\n');
        let within = |path| Path::strip_prefix(path, &plan.folder).unwrap_or(path);
        if let Some((first, last)) = self.inputs.as_ref().and_then(|inputs| Some((inputs.first()?, inputs.last()?))) {
            let combinations = self.matrix.as_ref().map_or(1, Matrix::combinations);
            let count = many(u64::from(self.tasks) / combinations.max(1), "file");
            let _ = if first == last {
                writeln!(text, "  inputs     {}", shown(within(first)))
            } else {
                writeln!(text, "  inputs     {count}, {} to {}", shown(within(first)), shown(within(last)))
            };
        }
        if let Some(table) = &self.table {
            let columns = printable(&table.columns().join(", "));
            let _ = writeln!(text, "  table      {}: {}", shown(within(table.file())), cut(&columns));
        }
        let used = self.uses.common.iter().chain(self.uses.of_rows.iter().flatten()).collect::<BTreeSet<_>>();
        if let (Some(first), Some(last)) = (used.first(), used.last()) {
            let _ = if first == last {
                writeln!(text, "  uses       {}", shown(within(first)))
            } else {
                let (first, last) = (shown(within(first)), shown(within(last)));
                writeln!(text, "  uses       {}, {first} to {last}", many(used.len() as u64, "file"))
            };
        }
        if let Some(matrix) = &self.matrix {
            let keys: Vec<String> =
                matrix.keys().iter().map(|(name, values)| format!("{name} = {}", values.join(", "))).collect();
            let _ = writeln!(text, "  matrix     {}", cut(&printable(&keys.join("; "))));
        }
        if !self.environment.is_empty() {
            let names: Vec<&str> = self.environment.keys().map(String::as_str).collect();
            let _ = writeln!(text, "  variables  {}", printable(&names.join(", ")));
        }
        if self.directory != plan.folder {
            let _ = writeln!(text, "  directory  {}", shown(&self.directory));
        }
        if let Some(shell) = &self.shell {
            let _ = writeln!(text, "  shell      {}", printable(&shell_in_words(shell)));
        }
        let _ = writeln!(text, "  command    {}", one_line(&self.command));
        if let Some(output) = &self.output {
            let _ = writeln!(text, "  output     {}", printable(output.text()));
        }
    }

    /// Returns the phases before this one, each with the tasks of it for which a task waits if these are not all.
    fn parents_in_words(&self, plan: &Plan) -> Vec<String> {
        let names = self.after.iter().zip(plan.names(&self.after));
        let in_words = |(parent, name): (&u32, &str)| match self.edges.iter().find(|edges| edges.parent == *parent) {
            None => name.to_owned(),
            Some(PlannedEdges { by: None, .. }) => format!("{name} task by task"),
            Some(PlannedEdges { by: Some(by), .. }) => format!("{name} by {}", printable(by)),
        };
        names.map(in_words).collect()
    }

    fn to_json(&self, plan: &Plan) -> Value {
        let edges = |edges: &PlannedEdges| {
            let name = plan.names(&[edges.parent]).collect::<String>();
            json!({"phase": name, "each": edges.by.is_none(), "by": edges.by})
        };
        json!({
            "name": self.name,
            "after": plan.names(&self.after).collect::<Vec<_>>(),
            "edges": self.edges.iter().map(edges).collect::<Vec<_>>(),
            "tasks": self.tasks,
            "inputs": self.inputs.as_ref().map(|inputs| inputs.iter().map(|input| lossy(input)).collect::<Vec<_>>()),
            "command": self.command,
            "output": self.output.as_ref().map(OutputTemplate::text),
            "cpus": self.cpus,
            "memory": self.memory,
            "memory_retry": self.memory_retry,
            "gpus": self.gpus,
            "features": self.features,
            "retries": self.retries,
            "retry_delay": self.retry_delay.as_secs_f64(),
            "allowed_losses": self.allowed_losses,
            "shell": self.shell,
            "matrix": self.matrix.as_ref().map(Matrix::to_json),
            "table": self.table.as_deref().map(Table::to_json),
            "uses": self.uses.common.iter().chain(self.uses.of_rows.iter().flatten()).map(|file| lossy(file)).collect::<BTreeSet<_>>(),
            "keep_going": self.keep_going,
            "allowed_failures": self.allowed_failures.of(self.tasks),
            "time_limit": self.time_limit.map(|limit| limit.as_secs_f64()),
            "time_limit_retry": self.time_limit_retry,
            "kill_after": self.kill_after.as_secs_f64(),
            "idempotent": self.idempotent,
            "copies": self.may_be_copied(),
            "restarts": self.may_restart(),
            "resumes": self.resumes,
            "environment": self.environment,
            "directory": lossy(&self.directory),
        })
    }
}

fn lossy(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Returns a path with control characters escaped.
fn shown(path: &Path) -> String {
    printable(&path.to_string_lossy())
}

/// Returns a command on one line, without comments and cut after 100 characters.
fn one_line(command: &str) -> String {
    let lines = command.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let lines: Vec<String> = lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    let line = printable(&lines.join(" ⏎ "));
    cut(&line)
}

/// Returns a line, cut after 100 characters.
fn cut(line: &str) -> String {
    match line.char_indices().nth(SHOWN) {
        None => line.to_owned(),
        Some((cut, _)) => format!("{}…", line[..cut].trim_end()),
    }
}

fn many(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// Returns a duration as in job files, in the largest unit that gives a whole number.
fn time(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    let units = [("d", 86_400.0), ("h", 3600.0), ("m", 60.0)];
    let whole = units.into_iter().find(|(_, unit)| seconds >= *unit && seconds % unit == 0.0);
    let (unit, length) = whole.unwrap_or(("s", 1.0));
    format!("{}{unit}", seconds / length)
}

/// Returns a size as in job files, in the largest unit that gives a whole number.
fn size(bytes: u64) -> String {
    let units = [("TB", 40), ("GB", 30), ("MB", 20), ("kB", 10)];
    let whole = units.into_iter().find(|(_, power)| bytes > 0 && bytes.is_multiple_of(1 << power));
    let (unit, power) = whole.unwrap_or(("B", 0));
    format!("{}{unit}", bytes >> power)
}
