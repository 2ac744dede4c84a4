//! Renders tasks that have failed permanently as text for the terminal: what failed, with which input and command, the last
//! lines of its outputs, and where the logs are.

use hindmost_core::metrics::FailedTask;

use crate::text::{beginning, counted, escaped, wrapped};

/// Largest number of failed tasks that are shown in full.
const IN_FULL: usize = 5;
/// Largest number of failed tasks that are shown, most of them on one line. More failed tasks are only counted.
const SHOWN: usize = 100;
/// Number of lines that are shown from the end of each output of a failed task.
const LINES: usize = 10;
/// Largest number of lines that are shown of a command.
const COMMAND_LINES: usize = 10;
/// Columns of a label with the space after it.
const LABEL: usize = 9;
/// The spaces that replace a tab in a task's output.
const TAB: &str = "    ";
const ELLIPSIS: &str = "…";

/// Returns the failed tasks of a run: the first five in full, the others on one line each.
pub(crate) fn failed_tasks(failed: &[FailedTask], width: usize) -> String {
    let mut text = String::new();
    for task in failed.iter().take(IN_FULL) {
        text += &failed_task(task, width);
    }
    for task in failed.iter().take(SHOWN).skip(IN_FULL) {
        let with = with_what(task);
        let with = if with.is_empty() { String::new() } else { format!(" ({with})") };
        text += &format!("  {}\n", beginning(&format!("{}{with}", heading(task)), width.saturating_sub(2), ELLIPSIS));
    }
    if let Some(more) = failed.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        text += &format!("{ELLIPSIS} and {}\n", counted(more as u64, "more failed task"));
    }
    text
}

/// Returns a failed task in full, on lines of at most `width` columns that are indented by two columns. Paths are not shortened, so
/// that they can be copied: they may be longer than a line.
pub fn failed_task(task: &FailedTask, width: usize) -> String {
    let what = escaped(&heading(task));
    let mut text = format!("  {}\n", wrapped(&what, width.saturating_sub(2), 2).replace('\n', "\n  "));
    let space = width.saturating_sub(4);
    let path = |label: &str, path: &str| format!("    {label} {}\n", escaped(path));
    let label = |label: &str, value: &str| format!("    {}\n", beginning(&format!("{label} {value}"), space, ELLIPSIS));
    if let Some(input) = &task.input {
        text += &path("input:  ", input);
    }
    if !task.matrix.is_empty() {
        text += &label("values: ", &values(task));
    }
    for (number, line) in command_lines(&task.command, space.saturating_sub(LABEL)).iter().enumerate() {
        text += &format!("    {} {line}\n", if number == 0 { "command:" } else { "        " });
    }
    for (name, output, log) in
        [("stderr: ", &task.stderr, &task.stderr_log), ("stdout: ", &task.stdout, &task.stdout_log)]
    {
        if let Some(log) = log {
            text += &path(name, log);
        }
        let lines: Vec<&str> = output.trim_end().lines().filter(|line| !line.trim().is_empty()).collect();
        for line in &lines[lines.len().saturating_sub(LINES)..] {
            text += &label(" ", &line.trim_end().replace('\t', TAB));
        }
    }
    text
}

/// Returns the lines of a command without empty ones, each wrapped to lines of at most `width` columns; at most [`COMMAND_LINES`].
fn command_lines(command: &str, width: usize) -> Vec<String> {
    // Only what may be shown is wrapped, because commands can be very long.
    let most = COMMAND_LINES * width.max(1);
    let lines = command.lines().map(str::trim).filter(|line| !line.is_empty()).take(COMMAND_LINES + 1);
    let wrap = |line: &str| wrapped(&beginning(line, most, ELLIPSIS), width, 0);
    let mut shown: Vec<String> =
        lines.flat_map(|line| wrap(line).lines().map(str::to_owned).collect::<Vec<_>>()).collect();
    if shown.len() > COMMAND_LINES {
        shown.truncate(COMMAND_LINES - 1);
        shown.push(ELLIPSIS.to_owned());
    }
    shown
}

/// Returns the name of a failed task, how often it has failed and its last error.
fn heading(task: &FailedTask) -> String {
    let times = if task.failures == 1 { "once".to_owned() } else { format!("{} times", task.failures) };
    format!("{}/{}: failed {times}; last error: {}", task.phase, task.task, task.reason.trim())
}

/// Returns the values of a task's matrix, such as `lr=0.1 seed=2`.
pub(crate) fn values(task: &FailedTask) -> String {
    task.matrix.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
}

/// Returns the input and the values of a task; empty if it has none.
fn with_what(task: &FailedTask) -> String {
    let values = Some(values(task)).filter(|values| !values.is_empty());
    task.input.iter().cloned().chain(values).collect::<Vec<_>>().join(" ")
}
