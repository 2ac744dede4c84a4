//! Reads traces of Nextflow (`trace.txt`, `execution_trace_….txt`), also with other fields, raw values or separators.
//!
//! A trace is one application. A process is a phase, and a task a row of the trace. A task that is retried has a row for
//! each attempt; they have the same name and belong together if the earlier ones failed. Tasks whose result was cached
//! did not run in this run and are left out. If the trace has no `start` and `complete`, an attempt ends at `submit` plus
//! `duration`, and ran for `realtime`.

use rustc_hash::FxHashMap;

use crate::error::TraceError;
use crate::format::TaskFormat;
use crate::reading::window::Window;
use crate::recording::Ended;
use crate::tasks::header::Header;
use crate::tasks::row::{Row, state};
use crate::tasks::units::{Unit, bytes, duration, number, time};
use crate::tasks::{Collector, Rows};

/// Fields of which a trace has at least two, and other logs have none.
const FIELDS: &[&str] = &["hash", "native_id", "realtime", "%cpu", "workdir", "peak_rss", "error_action"];

fn header(beginning: &[u8]) -> Option<Header> {
    let named =
        Header::find(beginning, &["name", "status"]).or_else(|| Header::find(beginning, &["process", "status"]));
    let is_trace = |header: &Header| {
        FIELDS.iter().filter(|name| header.place(&[name]).is_some()).count() >= 2
            || (header.place(&["realtime"]).is_some() && header.place(&["task_id", "process"]).is_some())
    };
    named.filter(is_trace)
}

/// The reader.
pub(crate) const READER: Rows<'static> = Rows { format: TaskFormat::Nextflow, is_one, in_folders: None, read: &read };

/// Returns whether a log with this beginning is a trace.
fn is_one(beginning: &[u8]) -> bool {
    header(beginning).is_some()
}

/// Reads a trace.
///
/// # Errors
/// If reading fails, or the trace lacks the fields for times.
fn read(window: Window<'_>, name: &str, collector: &mut Collector) -> Result<(), TraceError> {
    let refused = |why: &str| TraceError::NoAttempt {
        name: name.to_owned(),
        format: TaskFormat::Nextflow.name(),
        why: format!(": {why}"),
    };
    let header = header(window.held()).ok_or_else(|| refused("it has no header"))?;
    let [task_name, process, word, exit, attempt, submit, start, complete, took, ran, cpus] =
        ["name", "process", "status", "exit", "attempt", "submit", "start", "complete", "duration", "realtime", "cpus"]
            .map(|name| header.place(&[name]));
    let input = header.place(&["rchar", "read_bytes"]);
    let host = header.place(&["hostname"]);
    let has_end = complete.is_some() || submit.is_some() && took.is_some();
    if !has_end && !(start.is_some() && (ran.is_some() || took.is_some())) {
        return Err(refused(
            "it has no times; set trace.fields = \
             'task_id,process,name,status,exit,attempt,submit,start,complete,realtime,cpus,rchar,hostname'",
        ));
    }
    let mut retries = Retries::default();
    let mut cause = String::new();
    header.rows(window, name, collector, |collector, line, fields| {
        let text = |place: Option<usize>| place.map_or("", |at| fields.get(at)).trim_matches('-');
        let word = text(word);
        if word.eq_ignore_ascii_case("cached") {
            return collector.issues.left_out(line, "cached tasks, which did not run");
        }
        let at = |place| time(text(place), None).filter(|at| *at > 0.0);
        let span = |place| duration(text(place), Some(Unit::Milliseconds));
        let (submitted, ran, took) = (at(submit), span(ran), span(took));
        let start = at(start);
        let end = at(complete).or_else(|| Some(submitted? + took?)).or_else(|| Some(start? + ran.or(took)?));
        let start = start.or_else(|| Some(end? - ran?)).or(submitted);
        let ended = state(word).unwrap_or_else(|_| {
            collector.issues.unknown_state(line, word);
            Some(Ended::Succeeded)
        });
        if end.is_none() && (ended.is_none() || start.is_none()) {
            return collector.issues.left_out(line, "tasks that had not ended");
        }
        let name = text(task_name);
        let process = match text(process) {
            "" => name.split_once(" (").map_or(name, |(process, _)| process),
            process => process,
        };
        let attempt = number(text(attempt)).map(|n| n as u32);
        cause.clear();
        cause.push_str(word);
        if !text(exit).is_empty() && ended == Some(Ended::Failed) {
            cause = format!("exit code {}", text(exit));
        }
        collector.add(
            line,
            &Row {
                phase: process,
                task: retries.task(name, attempt, ended == Some(Ended::Succeeded)),
                node: text(host),
                // A wrong clock of a node may give a start before the submission.
                submitted: submitted.filter(|at| start.is_none_or(|start| *at <= start)),
                start,
                end,
                state: ended,
                cause: &cause,
                bytes: bytes(text(input)),
                attempt,
                slots: number(text(cpus)),
                ..Row::default()
            },
        );
    })
}

/// Names of tasks of which an attempt failed.
#[derive(Debug, Default)]
struct Retries {
    /// How many tasks with this name have been retried with success.
    done: FxHashMap<String, u32>,
    task: String,
}

impl Retries {
    /// Returns the task of an attempt; empty for a task of its own. Tasks may share a name, so only attempts after one
    /// that failed are of its task.
    fn task(&mut self, name: &str, attempt: Option<u32>, succeeded: bool) -> &str {
        self.task.clear();
        if name.is_empty() {
            return "";
        }
        let may_be_retry = attempt.is_none_or(|attempt| attempt > 1);
        match (self.done.get_mut(name), succeeded) {
            (Some(done), true) if may_be_retry => {
                self.task = format!("{name} {done}");
                *done += 1;
            }
            (_, true) => {}
            (Some(done), false) => self.task = format!("{name} {done}"),
            (None, false) => {
                self.done.insert(name.to_owned(), 0);
                self.task = format!("{name} 0");
            }
        }
        &self.task
    }
}
