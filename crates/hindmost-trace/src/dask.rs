//! Reads what Dask's scheduler records of tasks: its task stream (`client.get_task_stream()`, as JSON, JSON lines or CSV) and its log of
//! transitions (`scheduler.transition_log`, `scheduler.story()`, as JSON or CSV).
//!
//! A log is one application, a task's key is the task, and the prefix of its key (as `distributed.utils.key_split` has it) the phase.
//!
//! **Task streams** have a record for each attempt that ended on a worker and whose end the scheduler took. Its computation (`compute`
//! among its `startstops`) is the attempt; transfers run beside other computations and are no attempts. CSV may have a row for each record
//! or for each of its parts. A task that runs again after its result was lost repeats its work.
//!
//! **Logs of transitions** have all attempts, but neither when nor where they began: a task is `processing` from when the scheduler has
//! chosen a worker, which may have other tasks to run before.

use std::io::{BufReader, Cursor, Read};

use serde::Deserialize;
use serde_json::Value;

use crate::error::TraceError;
use crate::format::{LOOKED_AT, TaskFormat};
use crate::reading::json::{Keys, each_element, parse_cleaned};
use crate::reading::values::{Number, Text};
use crate::reading::window::Window;
use crate::recording::Ended;
use crate::tasks::header::Header;
use crate::tasks::row::Row;
use crate::tasks::units::time;
use crate::tasks::{Collector, Rows, lines};

/// The reader.
pub(crate) const READER: Rows<'static> = Rows { format: TaskFormat::Dask, is_one, in_folders: None, read: &read };

/// The part of a record that is the attempt.
const COMPUTE: &str = "compute";

/// What a log is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Records of a task stream, as JSON.
    Records,
    /// A table of a task stream.
    Table,
    /// Transitions, as an array of arrays.
    Transitions,
    /// The same as a table.
    TransitionTable,
    /// A page for a browser.
    Page,
}

impl Form {
    fn of(beginning: &[u8]) -> Option<Form> {
        let text = beginning.trim_ascii_start();
        let has = |part: &str| memchr::memmem::find(text, part.as_bytes()).is_some();
        if text.starts_with(b"<") {
            return (has("<title>Dask") || has("Dask Performance Report")).then_some(Form::Page);
        }
        let inner = text.strip_prefix(b"[").unwrap_or(text).trim_ascii_start();
        if inner.starts_with(b"{") {
            let has_key = |name: &str| Keys::of(inner).any(|key| key == name.as_bytes());
            return (has_key("startstops") && has_key("key")).then_some(Form::Records);
        }
        if text.starts_with(b"[") && inner.starts_with(b"[") {
            let state = |name: &str| has(&format!("\"{name}\""));
            return (state("waiting") && state("processing") && state("released")).then_some(Form::Transitions);
        }
        let header = Header::find(beginning, &["key"])?;
        let has_columns = |names: &[&str]| names.iter().all(|name| header.place(&[name]).is_some());
        if has_columns(&["start", "finish", "recommendations", "timestamp"]) {
            Some(Form::TransitionTable)
        } else if has_columns(&["worker", "startstops"]) || (has_columns(&["worker", "start", "stop"]) && has("://")) {
            Some(Form::Table)
        } else {
            None
        }
    }
}

/// Returns whether a log with this beginning is one of Dask, also one that is refused.
fn is_one(beginning: &[u8]) -> bool {
    Form::of(beginning).is_some()
}

/// Reads a log.
///
/// # Errors
/// If reading fails, or the log is a page for a browser.
fn read(mut window: Window<'_>, name: &str, collector: &mut Collector) -> Result<(), TraceError> {
    let held =
        window.hold(LOOKED_AT).map_err(|source| TraceError::Read { name: name.to_owned(), position: 0, source })?;
    match Form::of(held) {
        Some(Form::Transitions) => read_transitions(window, name, collector),
        Some(Form::TransitionTable) => read_transition_table(window, name, collector),
        Some(Form::Table) => read_table(window, name, collector),
        Some(Form::Page) => Err(TraceError::NoAttempt {
            name: name.to_owned(),
            format: TaskFormat::Dask.name(),
            why: ": this is a page for a browser; save the task stream as JSON: with get_task_stream() as stream: … and then \
                  json.dump(stream.data, file, default=str)"
                .to_owned(),
        }),
        _ => read_records(window, name, collector),
    }
}

fn note_what_streams_lack(collector: &mut Collector) {
    collector.issues.note(
        "Dask's task stream has no tries that failed and were tried again (retries=…), none whose worker died, and no cancelled tasks; \
         scheduler.transition_log counts them.",
    );
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Record<'a> {
    key: Value,
    #[serde(borrow)]
    worker: Text<'a>,
    #[serde(borrow)]
    status: Text<'a>,
    #[serde(borrow)]
    exception_text: Text<'a>,
    startstops: Vec<Part>,
}

/// A part of a record, such as the transfer of an input.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Part {
    action: String,
    start: Number,
    stop: Number,
}

fn read_records(mut window: Window<'_>, name: &str, collector: &mut Collector) -> Result<(), TraceError> {
    window.one_object_a_line();
    note_what_streams_lack(collector);
    lines::each(window, name, collector, |collector, line, text, terminated| {
        let text = text.trim().trim_end_matches(',');
        if matches!(text, "[" | "]") {
            return Ok(());
        }
        let mut cleaned = String::new();
        match parse_cleaned::<Record<'_>>(text.as_bytes(), &mut cleaned) {
            Ok(record) => {
                let said = Said {
                    key: &key(&record.key),
                    worker: record.worker.get().unwrap_or_default(),
                    status: record.status.get().unwrap_or_default(),
                    error: record.exception_text.get().unwrap_or_default(),
                };
                said.take(&record.startstops, collector, line);
            }
            Err(_) if !terminated => collector.issues.cut(format!("in line {line}")),
            Err(why) => collector.issues.unreadable(line, &why),
        }
        Ok(())
    })
}

/// Reads a table with a row for each record, or for each of its parts.
fn read_table(window: Window<'_>, name: &str, collector: &mut Collector) -> Result<(), TraceError> {
    let Some(header) = Header::find(window.held(), &["key"]) else { return Ok(()) };
    let [key, worker, status, error, parts, action, start, stop] =
        ["key", "worker", "status", "exception_text", "startstops", "action", "start", "stop"]
            .map(|name| header.place(&[name]));
    note_what_streams_lack(collector);
    header.rows(window, name, collector, |collector, line, fields| {
        let text = |place: Option<usize>| place.map_or("", |at| fields.get(at));
        let said = Said { key: text(key), worker: text(worker), status: text(status), error: text(error) };
        let number = |place| time(text(place), None).map_or(Number::Absent, Number::Real);
        let of_row = || Part {
            action: if action.is_some() { text(action) } else { COMPUTE }.to_owned(),
            start: number(start),
            stop: number(stop),
        };
        match parts.map(|_| literal(text(parts))) {
            None => said.take(&[of_row()], collector, line),
            Some(Some(parts)) => said.take(&parts, collector, line),
            Some(None) => collector.issues.unreadable(line, "its startstops are no list of parts"),
        }
    })
}

/// Reads a Python literal such as `({'action': 'compute', 'start': 1.5, 'stop': 2.5},)`.
fn literal(text: &str) -> Option<Vec<Part>> {
    let json = text.replace('\'', "\"").replace('(', "[").replace(')', "]").replace(",]", "]");
    serde_json::from_str(&json).ok()
}

/// What a record says beside its times.
struct Said<'a> {
    key: &'a str,
    worker: &'a str,
    status: &'a str,
    error: &'a str,
}

impl Said<'_> {
    /// Takes the computations among the parts of a record as attempts.
    fn take(&self, parts: &[Part], collector: &mut Collector, line: u64) {
        let mut computed = false;
        for part in parts.iter().filter(|part| part.action == COMPUTE) {
            let (Some(start), Some(end)) = (part.start.real(), part.stop.real()) else {
                collector.issues.unreadable(line, "it has no start or no stop");
                return;
            };
            computed = true;
            let ended = if self.status == "error" { Ended::Failed } else { Ended::Succeeded };
            collector.add(
                line,
                &Row {
                    phase: &prefix(self.key),
                    task: self.key,
                    node: self.worker.split_once("://").map_or(self.worker, |(_, address)| address),
                    start: Some(start),
                    end: Some(end),
                    state: Some(ended),
                    cause: if self.error.is_empty() { self.status } else { self.error },
                    ..Row::default()
                },
            );
        }
        if !computed {
            collector.issues.left_out(line, "transfers and other parts of tasks that compute nothing");
        }
    }
}

/// Transitions while they are read.
#[derive(Default)]
struct Transitions {
    /// Attempts that were assigned to a worker and then given up.
    uncertain: u64,
    /// Results that were lost with their workers.
    lost: u64,
}

impl Transitions {
    /// Takes a transition from one state to another one; `stimulus` is what caused it.
    fn take(
        &mut self,
        key: &str,
        (from, to): (&str, &str),
        stimulus: &str,
        at: Option<f64>,
        collector: &mut Collector,
        line: u64,
    ) {
        let lost_worker = stimulus.contains("worker");
        let (ended, cause) = match (from, to) {
            ("processing", "memory") => (Ended::Succeeded, ""),
            ("memory", "released") if lost_worker => {
                self.lost += 1;
                return;
            }
            ("processing", _) if lost_worker => (Ended::Interrupted, "worker lost"),
            ("processing", "erred" | "released") if stimulus.starts_with("task-erred") => (Ended::Failed, "error"),
            ("processing", "released" | "forgotten") if stimulus.contains("cancel") || stimulus.contains("client") => {
                (Ended::Interrupted, "cancelled")
            }
            ("processing", "erred") => (Ended::Failed, "error"),
            // Stolen and rescheduled tasks go on elsewhere; other transitions do not end an attempt.
            _ => return,
        };
        let Some(at) = at else { return collector.issues.unreadable(line, "it has no timestamp") };
        self.uncertain += u64::from(ended == Ended::Interrupted);
        collector.add(
            line,
            &Row { phase: &prefix(key), task: key, end: Some(at), state: Some(ended), cause, ..Row::default() },
        );
    }

    fn note(&self, collector: &mut Collector) {
        collector.issues.note(
            "Dask's log of transitions says when tasks ended, and not when and on which worker they began: it counts attempts, and the task \
             stream (client.get_task_stream) has their durations.",
        );
        if self.uncertain > 0 {
            collector.issues.note(format!(
                "Of tasks that were cancelled, or whose worker was lost, the log does not say whether they had begun: {} of them are counted as \
                 killed.",
                self.uncertain
            ));
        }
        if self.lost > 0 {
            collector
                .issues
                .note(format!("{} results were lost with their workers, so that tasks ran again.", self.lost));
        }
    }
}

fn read_transitions(window: Window<'_>, name: &str, collector: &mut Collector) -> Result<(), TraceError> {
    let (held, plain) = window.into_rest();
    let stream = BufReader::with_capacity(1 << 16, Cursor::new(held).chain(plain));
    let mut json = serde_json::Deserializer::from_reader(stream);
    let mut all = Transitions::default();
    let mut number = 0;
    let read = each_element(&mut json, |transition: Vec<Value>| {
        number += 1;
        let [named, from, to, .., stimulus, at] = &transition[..] else {
            return collector.issues.unreadable(number, "it is no transition");
        };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        all.take(&key(named), (&text(from), &text(to)), &text(stimulus), at.as_f64(), collector, number);
    });
    match read {
        Err(error) if error.is_io() => {
            return Err(TraceError::Read { name: name.to_owned(), position: 0, source: error.into() });
        }
        Err(error) => collector.issues.json(&error),
        Ok(()) => {}
    }
    all.note(collector);
    Ok(())
}

fn read_transition_table(window: Window<'_>, name: &str, collector: &mut Collector) -> Result<(), TraceError> {
    let Some(header) = Header::find(window.held(), &["key", "timestamp"]) else { return Ok(()) };
    let [key, from, to, stimulus, at] =
        ["key", "start", "finish", "stimulus_id", "timestamp"].map(|name| header.place(&[name]));
    let mut all = Transitions::default();
    header.rows(window, name, collector, |collector, line, fields| {
        let text = |place: Option<usize>| place.map_or("", |at| fields.get(at));
        all.take(text(key), (text(from), text(to)), text(stimulus), time(text(at), None), collector, line);
    })?;
    all.note(collector);
    Ok(())
}

/// Returns a key as text; one that is a tuple has the form of Python's.
fn key(key: &Value) -> String {
    match key {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let part = |part: &Value| part.as_str().map_or_else(|| part.to_string(), |text| format!("'{text}'"));
            format!("({})", parts.iter().map(part).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// Returns the prefix of a key, by the rules of `distributed.utils.key_split`: without hashes, numbers and ids at its end.
fn prefix(key: &str) -> String {
    let name = match key.strip_prefix('(') {
        Some(tuple) => tuple.split(',').next().unwrap_or_default().trim_matches(['\'', '"', ')', ' ']),
        None => key,
    };
    let mut words = name.split('-');
    let first = words.next().unwrap_or_default();
    let mut prefix = if first.starts_with(char::is_alphabetic) {
        first.to_owned()
    } else {
        first.split(',').next().unwrap_or_default().trim_matches(['_', '\'', '(', ')', '"']).to_owned()
    };
    let is_hash = |word: &str| word.len() == 8 && word.bytes().all(|byte| matches!(byte, b'a'..=b'f'));
    for word in words.take_while(|word| !word.is_empty() && word.chars().all(char::is_alphabetic) && !is_hash(word)) {
        prefix.push('-');
        prefix.push_str(word);
    }
    if prefix.len() == 32 && prefix.bytes().all(|byte| matches!(byte, b'a'..=b'f' | b'0'..=b'9')) {
        return "data".to_owned();
    }
    prefix
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_those_of_dask() {
        // distributed.utils.key_split gives these for the same keys.
        for (key, expected) in [
            ("x", "x"),
            ("x-1", "x"),
            ("x-1-2-3", "x"),
            ("('x-2', 1)", "x"),
            ("hello-world-1", "hello-world"),
            ("ae05086432ca935f6eba409a8ecd4896", "data"),
            ("x-abcdefab", "x"),
            ("x-abcde", "x-abcde"),
            ("_(x)", "x"),
            ("sum-792511d0-dc54-4d58-8a58-77f3bfb5f5e9", "sum"),
        ] {
            assert_eq!(prefix(key), expected, "{key}");
        }
    }

    #[test]
    fn pages_for_browsers_are_recognised() {
        assert_eq!(Form::of(b"<!DOCTYPE html>\n<title>Dask Performance Report</title>"), Some(Form::Page));
        assert_eq!(Form::of(b"<!DOCTYPE html>\n<title>Others</title>"), None);
    }
}
