//! Reads what Ray records of its tasks: timelines and lists.
//!
//! | file | what it does |
//! | --- | --- |
//! | `timeline.rs` | timelines (`ray timeline`, `ray.timeline()`, the dashboard's download) |
//! | `list.rs` | lists (`ray list tasks --detail`, the same of the REST interface, `list_tasks()` as CSV) |
//!
//! A remote function, or a method of an actor, is a phase. A name that a user gave to several tasks (`.options(name=…)`), as Ray Data does,
//! is a phase of its own; a name of one task is not. A cancelled task raises an exception, as one that fails does.

mod list;
mod timeline;

use rustc_hash::FxHashMap;

use crate::error::TraceError;
use crate::format::TaskFormat;
use crate::reading::window::Window;
use crate::recording::Ended;
use crate::tasks::row::Row;
use crate::tasks::{Collector, Rows};

/// How to get a list that can be read, with as many tasks as Ray lists.
const LIST: &str = "ray list tasks --detail --format json --limit 10000";
/// The most attempts that are held until the names of tasks are known.
const MOST_HELD: usize = 1 << 17;
/// The exceptions of cancelled tasks; the second one is that of asynchronous methods.
const CANCELLED: [&str; 2] = ["KeyboardInterrupt", "ray.exceptions.TaskCancelledError"];

/// The reader.
pub(crate) const READER: Rows<'static> = Rows { format: TaskFormat::Ray, is_one, read: &read };

/// Returns whether a log with this beginning is one of Ray.
fn is_one(beginning: &[u8]) -> bool {
    timeline::is_one(beginning) || list::is_one(beginning)
}

/// Reads a log of Ray.
///
/// # Errors
/// If reading fails, or the log has no times.
fn read(window: Window<'_>, name: &str, collector: &mut Collector) -> Result<(), TraceError> {
    let read = if timeline::is_one(window.held()) { timeline::read } else { list::read };
    read(window, name, collector)
}

/// How an attempt ended that raised an exception of this type, which Ray writes as `<class 'ValueError'>`, and the type's name.
fn raised(exception: &str) -> (Ended, &str) {
    let name = exception.strip_prefix("<class '").and_then(|rest| rest.strip_suffix("'>")).unwrap_or(exception);
    (if CANCELLED.contains(&name) { Ended::Killed } else { Ended::Failed }, name)
}

/// An attempt, held until the names of tasks are known. Times are in seconds since 1970.
#[derive(Debug, Default)]
struct Attempt {
    line: u64,
    /// The job of Ray, which is a driver; empty if it is not known.
    job: String,
    /// The function or method.
    function: String,
    /// The name of the task, which is that of the function unless the user gave another one.
    name: String,
    task: String,
    node: String,
    submitted: Option<f64>,
    start: Option<f64>,
    end: Option<f64>,
    state: Option<Ended>,
    cause: String,
    number: Option<u32>,
}

/// The names that users gave to tasks, as many as are kept.
#[derive(Debug, Default)]
struct Names {
    /// The first task with each name, and whether others have it.
    tasks: FxHashMap<String, (String, bool)>,
}

impl Names {
    fn add(&mut self, attempt: &Attempt) {
        if attempt.name == attempt.function {
            return;
        }
        if let Some((first, has_others)) = self.tasks.get_mut(&attempt.name) {
            *has_others |= attempt.task.is_empty() || *first != attempt.task;
        } else if self.tasks.len() < MOST_HELD {
            self.tasks.insert(attempt.name.clone(), (attempt.task.clone(), false));
        }
    }

    /// Gives an attempt to the collector.
    fn give(&self, attempt: &Attempt, collector: &mut Collector) {
        let has_others = self.tasks.get(&attempt.name).is_some_and(|(_, has_others)| *has_others);
        collector.add(
            attempt.line,
            &Row {
                application: &attempt.job,
                phase: if has_others { &attempt.name } else { &attempt.function },
                task: &attempt.task,
                node: &attempt.node,
                submitted: attempt.submitted,
                start: attempt.start,
                end: attempt.end,
                state: attempt.state,
                cause: &attempt.cause,
                attempt: attempt.number,
                ..Row::default()
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_logs_are_not_recognised() {
        assert!(!is_one(br#"[{"cat":"gc","name":"gc","ph":"X","pid":1,"ts":1,"dur":2}]"#));
        assert!(!is_one(b"{\"Event\":\"x\"}"));
        assert!(!is_one(b"task_id,attempt_number,start\n1,0,2\n"));
        assert!(!is_one(b"---\n- task_id: 1\n  start: 2\n"));
    }
}
