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
const COMMAND_LINES: usize = 3;
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

/// Returns a failed task in full, on lines of at most `width` columns that are indented by two columns.
pub fn failed_task(task: &FailedTask, width: usize) -> String {
    let what = escaped(&heading(task));
    let mut text = format!("  {}\n", wrapped(&what, width.saturating_sub(2), 2).replace('\n', "\n  "));
    let space = width.saturating_sub(4);
    let mut label = |label: &str, value: &str| {
        text += &format!("    {}\n", beginning(&format!("{label} {value}"), space, ELLIPSIS));
    };
    if let Some(input) = &task.input {
        label("input:  ", input);
    }
    if !task.matrix.is_empty() {
        label("values: ", &values(task));
    }
    let mut lines = task.command.lines().map(str::trim).filter(|line| !line.is_empty());
    for (number, line) in lines.by_ref().take(COMMAND_LINES).enumerate() {
        label(if number == 0 { "command:" } else { "        " }, line);
    }
    if lines.next().is_some() {
        label("        ", ELLIPSIS);
    }
    for (name, output, log) in
        [("stderr: ", &task.stderr, &task.stderr_log), ("stdout: ", &task.stdout, &task.stdout_log)]
    {
        if let Some(log) = log {
            label(name, log);
        }
        let lines: Vec<&str> = output.trim_end().lines().filter(|line| !line.trim().is_empty()).collect();
        for line in &lines[lines.len().saturating_sub(LINES)..] {
            label(" ", &line.trim_end().replace('\t', TAB));
        }
    }
    text
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
