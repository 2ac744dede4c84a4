//! Reads queries of Trino (`/v1/query/ID`, the JSON that its web interface offers) and Presto.
//!
//! A query is one application, a stage a phase, and a task of a stage on a node a task. With retries of tasks (Trino's
//! fault-tolerant execution), a task has several attempts. The stages are in `stages`, or in older versions nested as
//! `outputStage` and `subStages`; Presto has `latestAttemptExecutionInfo` within each. A query that is cut short is read
//! up to the cut.
//!
//! Tasks of all stages of a query usually run at the same time: a task starts with the query, and waits until tasks of the
//! stages below its own have sent it data. This wait is no work, so an attempt begins when its inputs have ended, or before
//! by as long as its threads have worked: [`begin_of_work`].

use std::collections::BTreeMap;
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
use crate::tasks::units::{Unit, bytes, duration, time};
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
    let mut query = Query {
        collector,
        id: String::new(),
        is_presto: false,
        tasks: 0,
        held: Vec::new(),
        stages: Vec::new(),
        below: BTreeMap::new(),
    };
    loop {
        let walked = Walk(&mut query).deserialize(&mut json);
        query.take_all();
        match walked {
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
    /// Its tasks. They are held until it is known which stages are below others.
    held: Vec<HeldTask>,
    /// Stages that were read since the list of stages began that is being read.
    stages: Vec<String>,
    /// The stages from which each stage gets data, by their numbers in ids.
    below: BTreeMap<String, Vec<String>>,
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

    /// A stage that another one names as one below it.
    fn visit_str<E>(self, stage: &str) -> Result<(), E> {
        self.0.stages.push(stage.to_owned());
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
        let (mut stage, mut below) = (None, Vec::new());
        while let Some(key) = map.next_key::<String>()? {
            self.0.is_presto |= key == "latestAttemptExecutionInfo";
            match key.as_str() {
                "queryId" => self.0.begin(map.next_value::<Owned>()?.0.unwrap_or_default()),
                "stageId" => stage = map.next_value::<Owned>()?.0,
                "subStages" => {
                    let others = std::mem::take(&mut self.0.stages);
                    map.next_value_seed(Walk(self.0))?;
                    below = std::mem::replace(&mut self.0.stages, others);
                }
                "tasks" => map.next_value_seed(Tasks(self.0))?,
                key if NESTED.contains(&key) => map.next_value_seed(Walk(self.0))?,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        if let Some(stage) = stage {
            self.0
                .below
                .entry(number_of(&stage).to_owned())
                .or_default()
                .extend(below.iter().map(|id| number_of(id).to_owned()));
            self.0.stages.push(stage);
        }
        Ok(())
    }
}

/// The number of a stage in its id `QUERY.STAGE`.
fn number_of(stage: &str) -> &str {
    stage.rsplit('.').next().unwrap_or(stage)
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
            self.0.hold(&task);
        }
        Ok(())
    }
}

/// An input may end this long after the attempt that waits for it, seconds, or this share of its time.
const LATE: f64 = 1.0;
const LATE_SHARE: f64 = 0.01;

/// What is said of waits for inputs.
const WAITS: &str = "Tasks of a query wait for the tasks of the stages that send them data; the time of such waits is left out of their \
                     durations.";

/// What is kept of a task until its query has been read. Times are in seconds.
struct HeldTask {
    line: u64,
    /// Its stage, number and attempt, as its id has them.
    stage: Box<str>,
    number: Box<str>,
    attempt: u32,
    node: Box<str>,
    submitted: Option<f64>,
    start: Option<f64>,
    end: Option<f64>,
    /// How long a thread worked on average: [`Stats::worked`].
    worked: Option<f64>,
    state: Option<Ended>,
    cause: Box<str>,
    bytes: Option<u64>,
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
    #[serde(rename = "totalScheduledTime")]
    scheduled: Owned,
    #[serde(rename = "totalScheduledTimeInNanos")]
    scheduled_nanos: Owned,
    #[serde(rename = "totalDrivers")]
    drivers: Owned,
}

impl Stats {
    /// How long a thread of the task (a driver) worked on average, seconds. The task worked for at least that long.
    fn worked(&self) -> Option<f64> {
        let nanos = self.scheduled_nanos.get().and_then(|text| duration(text, Some(Unit::Nanoseconds)));
        let scheduled = nanos.or_else(|| duration(self.scheduled.get()?, None))?;
        let drivers = self.drivers.get().and_then(|text| text.parse().ok()).unwrap_or(1.0);
        Some(scheduled / f64::max(drivers, 1.0))
    }
}

/// Reads a time: a number of milliseconds, or a date and time.
fn at(text: &Owned) -> Option<f64> {
    let text = text.get()?;
    let millis = text.bytes().all(|byte| byte.is_ascii_digit()).then_some(Unit::Milliseconds);
    time(text, millis).filter(|at| *at > 0.0)
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

/// When the work of an attempt began that ran from `start` to `end` and whose threads worked for `worked` seconds on average: when
/// its inputs had ended, or before by as long as they worked. `inputs` are the ends of the tasks that send it data, ascending. An
/// input that ended after the attempt was not waited for; clocks may differ a little.
fn begin_of_work((start, end): (f64, f64), worked: Option<f64>, inputs: &[f64]) -> f64 {
    let known = inputs.partition_point(|input| *input <= end + f64::max(LATE, LATE_SHARE * (end - start)));
    let Some(ended) = known.checked_sub(1).map(|last| inputs[last].min(end)).filter(|ended| *ended > start) else {
        return start;
    };
    ended.min(end - worked.unwrap_or(0.0)).max(start)
}

impl Query<'_> {
    /// Begins a query, after the last one in a list of queries.
    fn begin(&mut self, id: String) {
        if !self.id.is_empty() && self.id != id {
            self.take_all();
        }
        self.id = id;
    }

    /// Holds a task until its query has been read.
    fn hold(&mut self, task: &Task) {
        let line = self.tasks;
        let id = task.status.id.filled().or(task.id.filled()).unwrap_or_default();
        let Some((stage, number, attempt)) = parts(id, self.is_presto) else {
            return self.collector.issues.unreadable(line, "the task has no id");
        };
        let Stats { created, start, last_end, end, processed, raw, physical, .. } = &task.stats;
        let (submitted, end) = (at(created), at(end).or(at(last_end)));
        let word = task.status.state.get().unwrap_or_default();
        let state = state(word).unwrap_or_else(|_| {
            self.collector.issues.unknown_state(line, word);
            end.map(|_| Ended::Succeeded)
        });
        let failure = task.status.failures.first();
        let cause = failure.and_then(|failure| failure.code.name.filled().or(failure.kind.filled()));
        self.held.push(HeldTask {
            line,
            stage: stage.into(),
            number: number.into(),
            attempt,
            node: host(task.status.location.get().unwrap_or_default())
                .or(task.status.node.filled())
                .or(task.node.filled())
                .unwrap_or_default()
                .into(),
            submitted,
            start: at(start).or(submitted),
            end,
            worked: task.stats.worked(),
            state,
            cause: cause.unwrap_or(word).into(),
            bytes: [processed, raw, physical].into_iter().filter_map(|text| bytes(text.get()?)).max(),
        });
    }

    /// Takes the tasks that are held.
    fn take_all(&mut self) {
        let (held, below) = (std::mem::take(&mut self.held), std::mem::take(&mut self.below));
        self.stages.clear();
        let mut ends: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for task in &held {
            ends.entry(&task.stage).or_default().extend(task.end);
        }
        let inputs = |stages: &Vec<String>| {
            let ends = stages.iter().filter_map(|stage| ends.get(stage.as_str()));
            let mut inputs: Vec<f64> = ends.flatten().copied().collect();
            inputs.sort_by(f64::total_cmp);
            inputs
        };
        let inputs: BTreeMap<&str, Vec<f64>> =
            below.iter().map(|(stage, stages)| (stage.as_str(), inputs(stages))).collect();
        for mut task in held {
            if let (Some(start), Some(end), Some(inputs)) = (task.start, task.end, inputs.get(&*task.stage)) {
                let begin = begin_of_work((start, end), task.worked, inputs);
                if begin > start {
                    (task.submitted, task.start) = (Some(begin), Some(begin));
                    self.collector.issues.note(WAITS);
                }
            }
            self.collector.add(
                task.line,
                &Row {
                    application: &self.id,
                    phase: &format!("stage {}", task.stage),
                    task: &task.number,
                    node: &task.node,
                    submitted: task.submitted,
                    start: task.start,
                    end: task.end,
                    state: task.state,
                    cause: &task.cause,
                    bytes: task.bytes,
                    attempt: Some(task.attempt),
                    ..Row::default()
                },
            );
        }
    }
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
    fn work_begins_when_the_inputs_have_ended() {
        // Inputs end at 10 and 90, the attempt at 100.
        let begin = |worked, inputs: &[f64]| begin_of_work((0.0, 100.0), worked, inputs);
        assert_eq!(begin(None, &[10.0, 90.0]), 90.0);
        // Its threads worked for less than that, and for more.
        assert_eq!(begin(Some(2.0), &[10.0, 90.0]), 90.0);
        assert_eq!(begin(Some(30.0), &[10.0, 90.0]), 70.0);
        assert_eq!(begin(Some(300.0), &[10.0, 90.0]), 0.0);
        // An input that ended a little later was waited for, one that ended much later was not.
        assert_eq!((begin(None, &[10.0, 100.9]), begin(None, &[10.0, 150.0])), (100.0, 10.0));
        // Nothing below it, and inputs that had ended before, as where stages run one after the other.
        assert_eq!((begin(None, &[]), begin_of_work((50.0, 60.0), Some(1.0), &[40.0])), (0.0, 50.0));
    }

    #[test]
    fn hosts_are_named_without_usual_ports() {
        assert_eq!(host("http://10.0.0.1:8080/v1/task/x"), Some("10.0.0.1"));
        assert_eq!(host("https://w:9999/v1"), Some("w:9999"));
        assert_eq!(host("nothing"), None);
    }
}
