//! Jobs of `sacct --json`. Numbers are numbers or, since Slurm 23.11, objects such as `{"set": true, "infinite": false, "number": 5}`; the
//! state is a text or an array.

use std::borrow::Cow;
use std::io;

use serde::Deserialize;
use serde_json::Value;

use super::Job;
use crate::error::TraceError;
use crate::format::LOOKED_AT;
use crate::reading::json::parse_cleaned;
use crate::reading::window::Window;
use crate::tasks::{Collector, lines};

/// The key of the jobs.
const JOBS: &[u8] = b"\"jobs\"";

/// Returns whether a log with this beginning is what `sacct --json` prints.
pub(super) fn is_one(beginning: &[u8]) -> bool {
    let has = |key: &[u8]| memchr::memmem::find(beginning, key).is_some();
    beginning.trim_ascii_start().starts_with(b"{")
        && has(JOBS)
        && has(b"\"allocation_nodes\"")
        && has(b"\"association\"")
}

/// A job, as far as it is needed. Steps and most other keys are skipped.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Found {
    job_id: Value,
    name: Value,
    submit_line: Value,
    array: Value,
    time: Value,
    state: Value,
    exit_code: Value,
    nodes: Value,
    allocation_nodes: Value,
    tres: Value,
}

/// Calls `take` with the number of each job, counted from 1, and the job.
///
/// # Errors
/// If reading fails.
pub(super) fn read(
    mut window: Window<'_>,
    name: &str,
    collector: &mut Collector,
    mut take: impl FnMut(&mut Collector, u64, &Job<'_>),
) -> Result<(), TraceError> {
    let failed = |source: io::Error| TraceError::Read { name: name.to_owned(), position: 0, source };
    let held = window.hold(LOOKED_AT).map_err(failed)?;
    let at = memchr::memmem::find(held, JOBS).unwrap_or(0);
    let array = memchr::memchr(b'[', &held[at..]).map_or(at, |array| at + array);
    window.take(array);
    window.one_object_a_line();
    lines::each(window, name, collector, |collector, line, text, terminated| {
        let text = text.trim().trim_start_matches(['[', ',']).trim_end_matches([',', ']']);
        if !text.starts_with('{') {
            return Ok(());
        }
        let mut cleaned = String::new();
        match parse_cleaned::<Found>(text.as_bytes(), &mut cleaned) {
            Ok(found) if found.job_id.is_null() => {}
            Ok(found) => take(collector, line, &found.job()),
            Err(_) if !terminated => collector.issues.cut(format!("in job {line}")),
            Err(why) => collector.issues.unreadable(line, &why),
        }
        Ok(())
    })
}

impl Found {
    fn job(&self) -> Job<'_> {
        let time = |key: &str| text(&self.time[key]);
        let cpus = self.tres["allocated"].as_array().into_iter().flatten().find(|one| one["type"] == "cpu");
        let status = self.exit_code.get("signal").map(|signal| signal.get("signal_id").unwrap_or(&signal["id"]));
        let (code, signal) = (text(&self.exit_code["return_code"]), status.map(text).unwrap_or_default());
        let or_0 = |text: Cow<'_, str>| if text.is_empty() { "0".to_owned() } else { text.into_owned() };
        Job {
            id: self.id(),
            name: text(&self.name),
            command: text(&self.submit_line),
            state: text(&self.state["current"]),
            exit: format!("{}:{}", or_0(code), or_0(signal)).into(),
            submit: time("submission"),
            eligible: time("eligible"),
            start: Some(time("start")),
            end: time("end"),
            elapsed: time("elapsed"),
            suspended: time("suspended"),
            nodes: text(&self.nodes),
            node_count: text(&self.allocation_nodes),
            cpus: cpus.map(|cpus| text(&cpus["count"])).unwrap_or_default(),
        }
    }

    /// Returns the id as `sacct` prints it in rows.
    fn id(&self) -> Cow<'_, str> {
        let [array, task, waiting] = ["job_id", "task_id", "task"].map(|key| text(&self.array[key]));
        if matches!(&*array, "" | "0") {
            text(&self.job_id)
        } else if !task.is_empty() {
            format!("{array}_{task}").into()
        } else if !waiting.is_empty() {
            format!("{array}_[{waiting}]").into()
        } else {
            text(&self.job_id)
        }
    }
}

/// Returns a value as text: a number, the number of an object that has it set, or the first element of an array; empty if it is not set.
fn text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        Value::Number(number) => number.to_string().into(),
        Value::Object(object) if object.get("set") == Some(&Value::Bool(true)) => {
            object.get("number").map(text).unwrap_or_default()
        }
        Value::Array(all) => all.first().map(text).unwrap_or_default(),
        _ => Cow::Borrowed(""),
    }
}
