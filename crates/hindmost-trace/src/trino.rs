//! Reads queries of Trino (`/v1/query/ID`, the JSON that its web interface offers) and Presto.
//!
//! A query is one application, a stage a phase, and a task of a stage on a node a task. With retries of tasks (Trino's
//! fault-tolerant execution), a task has several attempts. The stages are in `stages`, or in older versions nested as
//! `outputStage` and `subStages`; Presto has `latestAttemptExecutionInfo` within each. A query that is cut short is read
//! up to the cut.
//!
//! Tasks of all stages of a query usually run at the same time, each with many splits, so a task's duration includes
//! waiting for other stages.

use std::fmt;
use std::io::{BufReader, Cursor, Read};

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::error::TraceError;
use crate::format::TaskFormat;
use crate::reading::json::Keys;
use crate::reading::values::Owned;
use crate::reading::window::Window;
use crate::recording::Ended;
use crate::tasks::row::{Row, state};
use crate::tasks::units::{Unit, bytes, time};
use crate::tasks::{Collector, Rows};

/// Keys whose values have tasks in them, at some depth.
const NESTED: &[&str] =
    &["stages", "outputStage", "subStages", "latestAttemptExecutionInfo", "previousAttemptsExecutionInfos"];

/// The reader.
pub(crate) const READER: Rows<'static> = Rows { format: TaskFormat::Trino, is_one, in_folders: None, read: &read };

/// Returns whether a log with this beginning is a query of Trino or Presto.
fn is_one(beginning: &[u8]) -> bool {
    let text = beginning.trim_ascii_start();
    let text = text.strip_prefix(b"[").unwrap_or(text);
    if !text.trim_ascii_start().starts_with(b"{") {
        return false;
    }
    let has = |name: &str| Keys::of(text).any(|key| key == name.as_bytes());
    has("queryId") && ["session", "queryStats", "outputStage", "stages", "self", "state"].into_iter().any(has)
}

/// Reads queries.
///
/// # Errors
/// If reading fails.
fn read(window: Window<'_>, name: &str, collector: &mut Collector) -> Result<(), TraceError> {
    let (held, plain) = window.into_rest();
    let stream = BufReader::with_capacity(1 << 16, Cursor::new(held).chain(plain));
    let mut json = serde_json::Deserializer::from_reader(stream);
    let mut query = Query { collector, id: String::new(), is_presto: false, tasks: 0 };
    loop {
        match Walk(&mut query).deserialize(&mut json) {
            Ok(()) if json.end().is_ok() => return Ok(()),
            // Another query follows.
            Ok(()) => {}
            Err(error) if error.is_io() => {
                return Err(TraceError::Read { name: name.to_owned(), position: 0, source: error.into() });
            }
            Err(error) => {
                query.collector.issues.json(&error);
                return Ok(());
            }
        }
    }
}

/// The query that is being read.
struct Query<'c> {
    collector: &'c mut Collector,
    id: String,
    /// Whether the log has Presto's stage executions, so that ids of tasks have one part more.
    is_presto: bool,
    /// Number of tasks so far.
    tasks: u64,
}

/// Walks through a value and takes the tasks in it.
struct Walk<'q, 'c>(&'q mut Query<'c>);

impl<'de> DeserializeSeed<'de> for Walk<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a query")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(Walk(self.0))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            self.0.is_presto |= key == "latestAttemptExecutionInfo";
            match key.as_str() {
                "queryId" => map.next_value::<Owned>()?.get().unwrap_or_default().clone_into(&mut self.0.id),
                "tasks" => map.next_value_seed(Tasks(self.0))?,
                key if NESTED.contains(&key) => map.next_value_seed(Walk(self.0))?,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

/// A list of tasks, which are taken one by one.
struct Tasks<'q, 'c>(&'q mut Query<'c>);

impl<'de> DeserializeSeed<'de> for Tasks<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Tasks<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of tasks")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut tasks: A) -> Result<(), A::Error> {
        while let Some(task) = tasks.next_element::<Task>()? {
            self.0.tasks += 1;
            take(&task, self.0);
        }
        Ok(())
    }
}

/// What is read of a task.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Task {
    #[serde(rename = "taskId")]
    id: Owned,
    #[serde(rename = "nodeId")]
    node: Owned,
    #[serde(rename = "taskStatus")]
    status: Status,
    stats: Stats,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Status {
    #[serde(rename = "taskId")]
    id: Owned,
    state: Owned,
    #[serde(rename = "self")]
    location: Owned,
    #[serde(rename = "nodeId")]
    node: Owned,
    failures: Vec<Failure>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Failure {
    #[serde(rename = "type")]
    kind: Owned,
    #[serde(rename = "errorCode")]
    code: Code,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Code {
    name: Owned,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Stats {
    #[serde(rename = "createTime", alias = "createTimeInMillis")]
    created: Owned,
    #[serde(rename = "firstStartTime", alias = "firstStartTimeInMillis")]
    start: Owned,
    #[serde(rename = "lastEndTime", alias = "lastEndTimeInMillis")]
    last_end: Owned,
    #[serde(rename = "endTime", alias = "endTimeInMillis")]
    end: Owned,
    #[serde(rename = "processedInputDataSize", alias = "processedInputDataSizeInBytes")]
    processed: Owned,
    #[serde(rename = "rawInputDataSize", alias = "rawInputDataSizeInBytes")]
    raw: Owned,
    #[serde(rename = "physicalInputDataSize", alias = "physicalInputDataSizeInBytes")]
    physical: Owned,
}

/// The parts of a task's id: `QUERY.STAGE.TASK` with `.ATTEMPT` behind it, and in Presto the stage's execution before the
/// task.
fn parts(id: &str, is_presto: bool) -> Option<(&str, &str, u32)> {
    let mut parts = id.split('.');
    let (_query, stage) = (parts.next()?, parts.next()?);
    let rest: Vec<&str> = parts.collect();
    let number = |text: &str| text.parse().ok();
    match (&rest[..], is_presto) {
        ([task], _) => Some((stage, task, 0)),
        ([task, attempt], false) | ([attempt, task], true) | ([_, task, attempt], _) => {
            Some((stage, task, number(attempt)?))
        }
        _ => None,
    }
}

fn take(task: &Task, query: &mut Query<'_>) {
    let line = query.tasks;
    let id = task.status.id.filled().or(task.id.filled()).unwrap_or_default();
    let Some((stage, number, attempt)) = parts(id, query.is_presto) else {
        return query.collector.issues.unreadable(line, "the task has no id");
    };
    let at = |text: &Owned| {
        let millis =
            text.get().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit())).map(|_| Unit::Milliseconds);
        text.get().and_then(|text| time(text, millis)).filter(|at| *at > 0.0)
    };
    let Stats { created, start, last_end, end, processed, raw, physical } = &task.stats;
    let created = at(created);
    let word = task.status.state.get().unwrap_or_default();
    let ended = state(word).unwrap_or_else(|_| {
        query.collector.issues.unknown_state(line, word);
        at(end).or(at(last_end)).map(|_| Ended::Succeeded)
    });
    let read = [processed, raw, physical].into_iter().filter_map(|text| bytes(text.get()?));
    let failure = task.status.failures.first();
    let cause = failure.and_then(|failure| failure.code.name.filled().or(failure.kind.filled()));
    query.collector.add(
        line,
        &Row {
            application: &query.id,
            phase: &format!("stage {stage}"),
            task: number,
            node: host(task.status.location.get().unwrap_or_default())
                .or(task.status.node.filled())
                .or(task.node.filled())
                .unwrap_or_default(),
            submitted: created,
            start: at(start).or(created),
            end: at(end).or(at(last_end)),
            state: ended,
            cause: cause.unwrap_or(word),
            bytes: read.max(),
            attempt: Some(attempt),
            ..Row::default()
        },
    );
}

/// Returns the machine in the address of a task, without the ports that servers usually have.
fn host(address: &str) -> Option<&str> {
    let (_, rest) = address.split_once("://")?;
    let authority = rest.split('/').next().filter(|authority| !authority.is_empty())?;
    let usual = [":8080", ":8443", ":443", ":80"].into_iter().find_map(|port| authority.strip_suffix(port));
    Some(usual.unwrap_or(authority))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_named_without_usual_ports() {
        assert_eq!(host("http://10.0.0.1:8080/v1/task/x"), Some("10.0.0.1"));
        assert_eq!(host("https://w:9999/v1"), Some("w:9999"));
        assert_eq!(host("nothing"), None);
    }
}
