//! Reads timelines of Ray (`ray timeline`, `ray.timeline()`): a trace for Chrome as JSON.
//!
//! A timeline is one application. A remote function, or a method of an actor, is a phase; each event `task::NAME` is an
//! attempt of the task that it names. Events within tasks (`task:execute`) and those of the driver are not counted. Ray
//! starts a task again only if an attempt failed, so attempts with a later attempt have failed.

use std::io;

use rustc_hash::FxHashMap;
use serde::Deserialize;

use crate::error::TraceError;
use crate::format::{LOOKED_AT, TaskFormat};
use crate::reading::json::parse_cleaned;
use crate::reading::values::{Number, Text};
use crate::reading::window::Window;
use crate::recording::Ended;
use crate::tasks::row::Row;
use crate::tasks::{Collector, Rows, Rules, lines};

/// The key of an object that holds the events, instead of an array of them.
const WRAPPED: &[u8] = b"\"traceEvents\"";

/// The reader.
pub(crate) const READER: Rows<'static> = Rows { format: TaskFormat::Ray, is_one, in_folders: None, read: &read };

/// Returns whether a log with this beginning is a timeline of Ray.
fn is_one(beginning: &[u8]) -> bool {
    let text = beginning.trim_ascii_start();
    let has = |part: &str| memchr::memmem::find(text, part.as_bytes()).is_some();
    let is_trace = text.starts_with(b"[") || (text.starts_with(b"{") && has("\"traceEvents\""));
    is_trace && has("\"ph\"") && has("\"cat\"") && ["\"task::", "\"task:", "\"worker:", "\"ray."].into_iter().any(has)
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Event<'a> {
    #[serde(borrow)]
    cat: Text<'a>,
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    ph: Text<'a>,
    #[serde(borrow)]
    pid: Text<'a>,
    ts: Number,
    dur: Number,
    #[serde(borrow)]
    args: Option<Args<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Args<'a> {
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    task_id: Text<'a>,
    attempt_number: Number,
    #[serde(borrow)]
    traceback: Text<'a>,
    #[serde(rename = "type", borrow)]
    error: Text<'a>,
}

/// Reads a timeline.
///
/// # Errors
/// If reading fails.
fn read(mut window: Window<'_>, name: &str, collector: &mut Collector) -> Result<(), TraceError> {
    let failed = |source: io::Error| TraceError::Read { name: name.to_owned(), position: 0, source };
    let held = window.hold(LOOKED_AT).map_err(failed)?;
    if let Some(at) = memchr::memmem::find(held, WRAPPED).filter(|_| held.trim_ascii_start().starts_with(b"{")) {
        let array = memchr::memchr(b'[', &held[at..]).map_or(at, |array| at + array);
        window.take(array);
    }
    window.one_object_a_line();
    collector.rules = Rules { retried_have_failed: true, ..Rules::default() };
    let mut nodes: FxHashMap<String, String> = FxHashMap::default();
    lines::each(window, name, collector, |collector, line, text, terminated| {
        let text = text.trim().trim_start_matches(['[', ',']).trim_end_matches([',', ']']);
        if !text.starts_with('{') {
            return Ok(());
        }
        let mut cleaned = String::new();
        match parse_cleaned::<Event<'_>>(text.as_bytes(), &mut cleaned) {
            Ok(event) => take(&event, &mut nodes, collector, line),
            Err(_) if !terminated => collector.issues.cut(format!("in event {line}")),
            Err(why) => collector.issues.unreadable(line, &why),
        }
        Ok(())
    })?;
    collector.rename_nodes(&nodes);
    Ok(())
}

fn take(event: &Event<'_>, nodes: &mut FxHashMap<String, String>, collector: &mut Collector, line: u64) {
    let text = |text: &Text<'_>| text.get().unwrap_or_default().to_owned();
    let none = Args::default();
    let args = event.args.as_ref().unwrap_or(&none);
    let pid = text(&event.pid);
    if event.ph.get() == Some("M") {
        // From Ray 2.4 on nodes are numbers, which other events name.
        if event.name.get() == Some("process_name") {
            let name = text(&args.name);
            nodes.insert(pid, name.strip_prefix("Node ").unwrap_or(&name).to_owned());
        }
        return;
    }
    if event.ph.get() != Some("X") {
        return;
    }
    let cat = event.cat.get().unwrap_or_default();
    let function = match cat.strip_prefix("task::") {
        Some(function) => function,
        // Ray before 0.8 named the function elsewhere.
        None if cat == "task" => {
            args.name.filled().or(event.name.filled()).map_or("", |name| name.strip_prefix("task::").unwrap_or(name))
        }
        None => return,
    };
    let (Some(start), Some(length)) = (event.ts.real(), event.dur.real()) else {
        return collector.issues.unreadable(line, "it has no time or no duration");
    };
    let failed = args.traceback.filled().is_some();
    let error = args.error.filled().or(args.traceback.filled());
    collector.add(
        line,
        &Row {
            phase: function,
            task: args.task_id.get().unwrap_or_default(),
            node: &pid,
            start: Some(start / 1e6),
            end: Some((start + length.max(0.0)) / 1e6),
            state: Some(if failed { Ended::Failed } else { Ended::Succeeded }),
            cause: error.unwrap_or_default(),
            attempt: args.attempt_number.id(),
            ..Row::default()
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_traces_are_not_recognised() {
        assert!(!is_one(br#"[{"cat":"gc","name":"gc","ph":"X","pid":1,"ts":1,"dur":2}]"#));
        assert!(!is_one(b"{\"Event\":\"x\"}"));
    }
}
