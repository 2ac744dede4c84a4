//! The events of a Spark log: which there are, and the few fields of each that are needed.

use std::borrow::Cow;

use rustc_hash::FxHashMap;
use serde::Deserialize;

use super::values::{Flag, Number, Text};

/// Events that are read or counted; all others are skipped unparsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    LogStart,
    ApplicationStart,
    ApplicationEnd,
    EnvironmentUpdate,
    ResourceProfileAdded,
    ExecutorAdded,
    ExecutorRemoved,
    BlockManagerAdded,
    JobStart,
    JobEnd,
    StageSubmitted,
    StageCompleted,
    /// Only counted.
    TaskStart,
    TaskEnd,
    /// Any other event of Spark itself.
    OtherSpark,
    /// An event of something built on Spark.
    Foreign,
}

impl Kind {
    fn of(name: &[u8]) -> Kind {
        match name.strip_prefix(b"SparkListener") {
            Some(b"TaskEnd") => Kind::TaskEnd,
            Some(b"TaskStart") => Kind::TaskStart,
            Some(b"StageSubmitted") => Kind::StageSubmitted,
            Some(b"StageCompleted") => Kind::StageCompleted,
            Some(b"JobStart") => Kind::JobStart,
            Some(b"JobEnd") => Kind::JobEnd,
            Some(b"ExecutorAdded") => Kind::ExecutorAdded,
            Some(b"ExecutorRemoved") => Kind::ExecutorRemoved,
            Some(b"BlockManagerAdded") => Kind::BlockManagerAdded,
            Some(b"EnvironmentUpdate") => Kind::EnvironmentUpdate,
            Some(b"ResourceProfileAdded") => Kind::ResourceProfileAdded,
            Some(b"ApplicationStart") => Kind::ApplicationStart,
            Some(b"ApplicationEnd") => Kind::ApplicationEnd,
            Some(b"LogStart") => Kind::LogStart,
            Some(_) => Kind::OtherSpark,
            None if memchr::memmem::find(name, b"SparkListener").is_some() => Kind::OtherSpark,
            None => Kind::Foreign,
        }
    }

    /// Whether the event's fields are needed.
    pub(super) fn is_read(self) -> bool {
        !matches!(self, Kind::TaskStart | Kind::OtherSpark | Kind::Foreign)
    }
}

/// What the beginning of a line tells of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Head {
    /// An event of this kind.
    Event(Kind),
    /// A JSON object whose first key is another: the event's name may come later.
    Object,
    /// Not a JSON object.
    Other,
}

/// Looks at the beginning of a line (without leading blanks) and no further than the event's name,
/// which Spark writes first.
pub(super) fn head(line: &[u8]) -> Head {
    let Some(rest) = line.strip_prefix(b"{") else {
        return Head::Other;
    };
    name_if_first(rest).map_or(Head::Object, |name| Head::Event(Kind::of(name)))
}

fn name_if_first(rest: &[u8]) -> Option<&[u8]> {
    let rest = rest.trim_ascii_start().strip_prefix(b"\"Event\"")?;
    let rest = rest.trim_ascii_start().strip_prefix(b":")?;
    let rest = rest.trim_ascii_start().strip_prefix(b"\"")?;
    let end = memchr::memchr2(b'"', b'\\', rest)?;
    (rest[end] == b'"').then(|| &rest[..end])
}

/// The kind of an event whose name doesn't come first. `Ok(None)`: an object that names no event.
pub(super) fn kind_by_parsing(line: &[u8]) -> Result<Option<Kind>, serde_json::Error> {
    #[derive(Deserialize)]
    struct Named<'a> {
        #[serde(rename = "Event", borrow, default)]
        event: Text<'a>,
    }
    let named: Named<'_> = parse(line)?;
    Ok(named.event.get().map(|name| Kind::of(name.as_bytes())))
}

/// Parses a line's needed fields.
pub(super) fn parse<'a, T: Deserialize<'a>>(line: &'a [u8]) -> Result<T, serde_json::Error> {
    serde_json::from_slice(line)
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct LogStart<'a> {
    #[serde(rename = "Spark Version", borrow)]
    pub version: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ApplicationStart<'a> {
    #[serde(rename = "App ID", borrow)]
    pub id: Text<'a>,
    #[serde(rename = "App Name", borrow)]
    pub name: Text<'a>,
    #[serde(rename = "Timestamp")]
    pub time: Number,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ApplicationEnd {
    #[serde(rename = "Timestamp")]
    pub time: Number,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct EnvironmentUpdate {
    #[serde(rename = "Spark Properties")]
    pub spark: Option<SparkProperties>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SparkProperties {
    #[serde(rename = "spark.task.cpus")]
    pub task_cpus: Number,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ResourceProfileAdded<'a> {
    #[serde(rename = "Resource Profile Id")]
    pub id: Number,
    #[serde(rename = "Executor Resource Requests", borrow)]
    pub executor: Option<FxHashMap<Cow<'a, str>, ResourceRequest>>,
    #[serde(rename = "Task Resource Requests", borrow)]
    pub task: Option<FxHashMap<Cow<'a, str>, ResourceRequest>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ResourceRequest {
    #[serde(rename = "Amount")]
    pub amount: Number,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ExecutorAdded<'a> {
    #[serde(rename = "Timestamp")]
    pub time: Number,
    #[serde(rename = "Executor ID", borrow)]
    pub id: Text<'a>,
    #[serde(rename = "Executor Info", borrow)]
    pub info: Option<ExecutorInfo<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ExecutorInfo<'a> {
    #[serde(rename = "Host", borrow)]
    pub host: Text<'a>,
    #[serde(rename = "Total Cores")]
    pub cores: Number,
    #[serde(rename = "Resource Profile Id")]
    pub profile: Number,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ExecutorRemoved<'a> {
    #[serde(rename = "Timestamp")]
    pub time: Number,
    #[serde(rename = "Executor ID", borrow)]
    pub id: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct BlockManagerAdded<'a> {
    #[serde(rename = "Timestamp")]
    pub time: Number,
    #[serde(rename = "Block Manager ID", borrow)]
    pub manager: Option<BlockManager<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct BlockManager<'a> {
    #[serde(rename = "Executor ID", borrow)]
    pub executor: Text<'a>,
    #[serde(rename = "Host", borrow)]
    pub host: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct JobStart<'a> {
    #[serde(rename = "Job ID")]
    pub id: Number,
    #[serde(rename = "Submission Time")]
    pub time: Number,
    #[serde(rename = "Stage Infos", borrow)]
    pub stages: Option<Vec<StageInfo<'a>>>,
    #[serde(rename = "Stage IDs")]
    pub stage_ids: Option<Vec<Number>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct JobEnd {
    #[serde(rename = "Job ID")]
    pub id: Number,
    #[serde(rename = "Completion Time")]
    pub time: Number,
}

/// `SparkListenerStageSubmitted` and `SparkListenerStageCompleted`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct StageEvent<'a> {
    #[serde(rename = "Stage Info", borrow)]
    pub info: Option<StageInfo<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct StageInfo<'a> {
    #[serde(rename = "Stage ID")]
    pub id: Number,
    #[serde(rename = "Stage Attempt ID")]
    pub attempt: Number,
    #[serde(rename = "Stage Name", borrow)]
    pub name: Text<'a>,
    #[serde(rename = "Number of Tasks")]
    pub tasks: Number,
    #[serde(rename = "Parent IDs")]
    pub parents: Option<Vec<Number>>,
    #[serde(rename = "Submission Time")]
    pub submitted: Number,
    #[serde(rename = "Completion Time")]
    pub completed: Number,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct TaskEnd<'a> {
    #[serde(rename = "Stage ID")]
    pub stage: Number,
    #[serde(rename = "Stage Attempt ID")]
    pub stage_attempt: Number,
    #[serde(rename = "Task End Reason", borrow)]
    pub reason: Option<EndReason<'a>>,
    #[serde(rename = "Task Info", borrow)]
    pub info: Option<TaskInfo<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct EndReason<'a> {
    #[serde(rename = "Reason", borrow)]
    pub reason: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct TaskInfo<'a> {
    #[serde(rename = "Index")]
    pub index: Number,
    #[serde(rename = "Attempt")]
    pub attempt: Number,
    #[serde(rename = "Partition ID")]
    pub partition: Number,
    #[serde(rename = "Launch Time")]
    pub launch: Number,
    #[serde(rename = "Finish Time")]
    pub finish: Number,
    #[serde(rename = "Executor ID", borrow)]
    pub executor: Text<'a>,
    #[serde(rename = "Host", borrow)]
    pub host: Text<'a>,
    #[serde(rename = "Speculative")]
    pub speculative: Flag,
    #[serde(rename = "Failed")]
    pub failed: Flag,
    #[serde(rename = "Killed")]
    pub killed: Flag,
}

/// How an attempt ended, as its event says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Success,
    Killed,
    Failed,
}

impl TaskEnd<'_> {
    /// The end reason decides; the task info's flags where there is none, and to tell a kill whose
    /// reason did not come through from a failure.
    pub(super) fn end(&self) -> End {
        let (failed, killed) = self.info.as_ref().map_or((false, false), |info| (info.failed.0, info.killed.0));
        match self.reason.as_ref().and_then(|reason| reason.reason.get()) {
            Some("Success") => End::Success,
            Some("TaskKilled") => End::Killed,
            _ if killed => End::Killed,
            None if !failed => End::Success,
            _ => End::Failed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_found_at_the_beginning_only() {
        let end = Head::Event(Kind::TaskEnd);
        assert_eq!(head(br#"{"Event":"SparkListenerTaskEnd","Stage ID":0}"#), end);
        assert_eq!(head(br#"{ "Event" : "SparkListenerTaskEnd" }"#), end);
        assert_eq!(head(br#"{"Stage ID":0,"Event":"SparkListenerTaskEnd"}"#), Head::Object);
        assert_eq!(head(br#"{"Event":"Spark\u004cistenerTaskEnd"}"#), Head::Object);
        assert_eq!(head(br#"{"Event":"SparkListenerTaskE"#), Head::Object);
        assert_eq!(head(b"[1]"), Head::Other);
        let sql = br#"{"Event":"org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart"}"#;
        assert_eq!(head(sql), Head::Event(Kind::OtherSpark));
        assert_eq!(head(br#"{"Event":"com.example.Mine"}"#), Head::Event(Kind::Foreign));
    }

    #[test]
    fn ends_are_told_apart() {
        let end = |json: &str| parse::<TaskEnd<'_>>(json.as_bytes()).unwrap().end();
        assert_eq!(end(r#"{"Task End Reason":{"Reason":"Success"}}"#), End::Success);
        assert_eq!(end(r#"{"Task End Reason":{"Reason":"TaskKilled"}}"#), End::Killed);
        assert_eq!(end(r#"{"Task End Reason":{"Reason":"FetchFailed"}}"#), End::Failed);
        let killed = r#"{"Task End Reason":{"Reason":"UnknownReason"},"Task Info":{"Killed":true}}"#;
        assert_eq!(end(killed), End::Killed);
        assert_eq!(end(r#"{"Task Info":{"Failed":true}}"#), End::Failed);
        assert_eq!(end(r#"{"Task Info":{"Failed":false}}"#), End::Success);
    }
}
