//! The fields of a task's end that are needed, and what they say of how it ended.

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::reading::values::{Flag, Number, Text};

/// The end of an attempt, with its metrics as far as `M` takes them in: looking at their keys costs a tenth
/// of the time that reading a log takes.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "M: Deserialize<'de> + Default"))]
pub(super) struct TaskEnd<'a, M> {
    #[serde(rename = "Stage ID")]
    pub stage: Number,
    #[serde(rename = "Stage Attempt ID")]
    pub stage_attempt: Number,
    #[serde(rename = "Task End Reason", borrow)]
    pub reason: Option<EndReason<'a>>,
    #[serde(rename = "Task Info", borrow)]
    pub info: Option<TaskInfo<'a>>,
    #[serde(rename = "Task Metrics")]
    pub metrics: M,
}

/// Metrics that aren't wanted.
#[derive(Debug, Default, Deserialize)]
#[serde(from = "IgnoredAny")]
pub(super) struct Unread;

impl From<IgnoredAny> for Unread {
    fn from(_: IgnoredAny) -> Self {
        Unread
    }
}

/// Metrics, as far as they were taken in.
pub(super) trait Metrics {
    /// Bytes of input and shuffle, from wherever; `None` where nothing is said of any.
    fn bytes_read(&self) -> Option<u64>;
}

impl Metrics for Unread {
    fn bytes_read(&self) -> Option<u64> {
        None
    }
}

/// Of what a task did, only the bytes that it read.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct TaskMetrics {
    #[serde(rename = "Input Metrics")]
    input: Option<InputMetrics>,
    #[serde(rename = "Shuffle Read Metrics")]
    shuffle: Option<ShuffleReadMetrics>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct InputMetrics {
    #[serde(rename = "Bytes Read")]
    bytes: Number,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ShuffleReadMetrics {
    #[serde(rename = "Remote Bytes Read")]
    remote: Number,
    #[serde(rename = "Local Bytes Read")]
    local: Number,
}

impl Metrics for Option<TaskMetrics> {
    fn bytes_read(&self) -> Option<u64> {
        self.as_ref().and_then(TaskMetrics::bytes_read)
    }
}

impl TaskMetrics {
    fn bytes_read(&self) -> Option<u64> {
        let input = self.input.as_ref().map(|input| input.bytes);
        let shuffle = self.shuffle.iter().flat_map(|shuffle| [shuffle.remote, shuffle.local]);
        let said = input.into_iter().chain(shuffle).filter_map(Number::amount);
        said.fold(None, |sum: Option<u64>, bytes| Some(sum.unwrap_or(0).saturating_add(bytes)))
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct EndReason<'a> {
    #[serde(rename = "Reason", borrow)]
    pub reason: Text<'a>,
    /// Of an exception.
    #[serde(rename = "Class Name", borrow)]
    pub class: Text<'a>,
    #[serde(rename = "Kill Reason", borrow)]
    pub kill: Text<'a>,
    /// Of an executor.
    #[serde(rename = "Loss Reason", borrow)]
    pub loss: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct TaskInfo<'a> {
    #[serde(rename = "Task ID")]
    pub id: Number,
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

impl<M> TaskEnd<'_, M> {
    /// Whether this is no attempt's end, but tells that one that had succeeded has lost its output.
    pub(super) fn is_loss_of_output(&self) -> bool {
        self.reason.as_ref().and_then(|reason| reason.reason.get()) == Some("Resubmitted")
    }

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
    use super::super::events::parse;
    use super::*;

    #[test]
    fn bytes_read_are_those_that_are_told() {
        let bytes = |json: &str| parse::<TaskMetrics>(json.as_bytes()).unwrap().bytes_read();
        assert_eq!(bytes("{}"), None);
        assert_eq!(bytes(r#"{"Input Metrics":{"Bytes Read":7,"Records Read":9}}"#), Some(7));
        let shuffle = r#""Shuffle Read Metrics":{"Remote Bytes Read":10,"Local Bytes Read":20,"Fetch Wait Time":5}"#;
        assert_eq!(bytes(&format!("{{{shuffle}}}")), Some(30));
        assert_eq!(bytes(&format!(r#"{{{shuffle},"Input Metrics":{{"Bytes Read":-1}}}}"#)), Some(30));
    }

    #[test]
    fn ends_are_told_apart() {
        let end = |json: &str| parse::<TaskEnd<'_, Unread>>(json.as_bytes()).unwrap().end();
        assert_eq!(end(r#"{"Task End Reason":{"Reason":"Success"}}"#), End::Success);
        assert_eq!(end(r#"{"Task End Reason":{"Reason":"TaskKilled"}}"#), End::Killed);
        assert_eq!(end(r#"{"Task End Reason":{"Reason":"FetchFailed"}}"#), End::Failed);
        let killed = r#"{"Task End Reason":{"Reason":"UnknownReason"},"Task Info":{"Killed":true}}"#;
        assert_eq!(end(killed), End::Killed);
        assert_eq!(end(r#"{"Task Info":{"Failed":true}}"#), End::Failed);
        assert_eq!(end(r#"{"Task Info":{"Failed":false}}"#), End::Success);
    }
}
