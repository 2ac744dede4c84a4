//! Reads what Ray records of its tasks: timelines and lists.
//!
//! | file | what it does |
//! | --- | --- |
//! | `timeline.rs` | timelines (`ray timeline`, `ray.timeline()`, the dashboard's download) |
//! | `list.rs` | lists (`ray list tasks --detail`, the same of the REST interface, `list_tasks()` as CSV) |
//! | `row.rs` | the rows of lists |
//!
//! A remote function, or a method of an actor, is a phase. A name that a user gave to several tasks (`.options(name=…)`), as Ray Data does,
//! is a phase of its own; a name of one task is not. A cancelled task raises an exception, as one that fails does.

mod list;
mod row;
mod timeline;

use std::hash::BuildHasher as _;

use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::error::TraceError;
use crate::format::TaskFormat;
use crate::reading::window::Window;
use crate::recording::Ended;
use crate::tasks::row::Row;
use crate::tasks::{Collector, Names, Rows};

/// How to get a list that can be read, with as many tasks as Ray lists.
const LIST: &str = "ray list tasks --detail --format json --limit 10000";
/// The most attempts that are held until the names of tasks are known.
const MOST_HELD: usize = 1 << 17;
/// The exceptions of cancelled tasks; the second one is that of asynchronous methods.
const CANCELLED: [&str; 2] = ["KeyboardInterrupt", "ray.exceptions.TaskCancelledError"];

/// The reader.
pub(crate) const READER: Rows<'static> = Rows { format: TaskFormat::Ray, is_one, in_folders: None, read: &read };

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

/// An attempt, held until the names of tasks are known. Texts are numbers among those of [`Tasks`]. Times are in seconds since 1970; one that
/// is not known is NaN.
#[derive(Clone, Copy, Debug)]
struct Attempt {
    line: u64,
    /// The job of Ray, which is a driver; an empty text if it is not known.
    job: u32,
    /// The function or method.
    function: u32,
    /// The name of the task, which is that of the function unless the user gave another one.
    name: u32,
    /// Hash of the task's id; 0 if it is not known.
    task: u64,
    node: u32,
    submitted: f64,
    start: f64,
    end: f64,
    state: Option<Ended>,
    cause: u32,
    number: Option<u32>,
}

/// The texts of attempts, and the names that users gave to tasks.
#[derive(Debug, Default)]
struct Tasks {
    texts: Names,
    /// The first task with each name, and whether others have it.
    named: FxHashMap<u32, (u64, bool)>,
}

impl Tasks {
    /// Returns the number of a text.
    fn text(&mut self, text: &str) -> u32 {
        self.texts.number(text, MOST_HELD)
    }

    /// Takes note of an attempt's name.
    fn add(&mut self, attempt: &Attempt) {
        if attempt.name != attempt.function {
            let (first, has_others) = self.named.entry(attempt.name).or_insert((attempt.task, false));
            *has_others |= *first != attempt.task;
        }
    }

    /// Gives an attempt to the collector.
    fn give(&self, attempt: &Attempt, collector: &mut Collector) {
        // The last number stands for all texts that are not kept.
        let is_kept = attempt.name + 1 < MOST_HELD as u32;
        let has_others = is_kept && self.named.get(&attempt.name).is_some_and(|(_, has_others)| *has_others);
        let known = |time: f64| Some(time).filter(|time| !time.is_nan());
        collector.add(
            attempt.line,
            &Row {
                application: self.texts.get(attempt.job),
                phase: self.texts.get(if has_others { attempt.name } else { attempt.function }),
                task: &if attempt.task == 0 { String::new() } else { format!("{:x}", attempt.task) },
                node: self.texts.get(attempt.node),
                submitted: known(attempt.submitted),
                start: known(attempt.start),
                end: known(attempt.end),
                state: attempt.state,
                cause: self.texts.get(attempt.cause),
                attempt: attempt.number,
                ..Row::default()
            },
        );
    }
}

/// Returns the hash of a task's id; 0 for none.
fn hash(id: &str) -> u64 {
    if id.is_empty() { 0 } else { FxBuildHasher.hash_one(id).max(1) }
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
