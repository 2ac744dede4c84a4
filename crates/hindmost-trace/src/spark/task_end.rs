//! The fields of a task end event that are read, and how the attempt ended.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::second_ends::TaskOfAttempt;
use crate::reading::values::{Flag, Number, Text};
use crate::recording::TaskTimes;

/// A task end event. `M` is the type of its metrics: [`Unread`] skips them, which still takes a tenth of the time for
/// reading a log.
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

/// Metrics that are not read.
#[derive(Debug, Default, Deserialize)]
#[serde(from = "IgnoredAny")]
pub(super) struct Unread;

impl From<IgnoredAny> for Unread {
    fn from(_: IgnoredAny) -> Self {
        Unread
    }
}

/// Metrics of a task end event.
pub(super) trait Metrics {
    /// Returns the bytes of input and shuffle that were read; `None` if the metrics do not say.
    fn bytes_read(&self) -> Option<u64>;

    /// Returns where the time of the attempt went, as far as the metrics say.
    fn times(&self, info: &TaskInfo<'_>) -> TaskTimes;
}

impl Metrics for Unread {
    fn bytes_read(&self) -> Option<u64> {
        None
    }

    fn times(&self, info: &TaskInfo<'_>) -> TaskTimes {
        TaskTimes { distance: info.distance(), ..TaskTimes::default() }
    }
}

/// The metrics of a task: the bytes that it read, and where its time went.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct TaskMetrics {
    #[serde(rename = "Input Metrics")]
    input: Option<InputMetrics>,
    #[serde(rename = "Shuffle Read Metrics")]
    shuffle: Option<ShuffleReadMetrics>,
    #[serde(rename = "Executor Deserialize Time")]
    deserialization: Number,
    #[serde(rename = "Executor Run Time")]
    run: Number,
    #[serde(rename = "JVM GC Time")]
    garbage_collection: Number,
    #[serde(rename = "Result Serialization Time")]
    serialization: Number,
    #[serde(rename = "Disk Bytes Spilled")]
    spilled: Number,
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
    #[serde(rename = "Fetch Wait Time")]
    wait: Number,
}

impl Metrics for Option<TaskMetrics> {
    fn bytes_read(&self) -> Option<u64> {
        self.as_ref().and_then(TaskMetrics::bytes_read)
    }

    fn times(&self, info: &TaskInfo<'_>) -> TaskTimes {
        self.as_ref().map_or_else(|| Unread.times(info), |metrics| metrics.times(info))
    }
}

impl TaskMetrics {
    fn times(&self, info: &TaskInfo<'_>) -> TaskTimes {
        let seconds = |time: Number| time.amount().map_or(0.0, |milliseconds| milliseconds as f32 / 1000.0);
        let spent = seconds(self.run) + seconds(self.deserialization) + seconds(self.serialization);
        let duration = info.launch.instant().zip(info.finish.instant());
        let duration = duration.map_or(0.0, |(launch, finish)| (finish - launch) as f32 / 1000.0);
        TaskTimes {
            garbage_collection: seconds(self.garbage_collection),
            deserialization: seconds(self.deserialization),
            fetch_wait: self.shuffle.as_ref().map_or(0.0, |shuffle| seconds(shuffle.wait)),
            // Without the time for which it ran, the rest is not known.
            delay: if spent > 0.0 { (duration - spent).max(0.0) } else { 0.0 },
            spilled: self.spilled.amount().map_or(0.0, |bytes| bytes as f32),
            distance: info.distance(),
            fetched_result: info.result.amount().is_some_and(|at| at > 0),
            reads_files: self.bytes_of_files().unwrap_or(0) > self.shuffled().unwrap_or(0),
        }
    }

    /// Returns the bytes that came from files; `None` if the metrics do not say.
    fn bytes_of_files(&self) -> Option<u64> {
        self.input.as_ref().and_then(|input| input.bytes.amount())
    }

    /// Returns the bytes that came from shuffles; `None` if the metrics do not say.
    fn shuffled(&self) -> Option<u64> {
        let shuffle = self.shuffle.iter().flat_map(|shuffle| [shuffle.remote, shuffle.local]);
        shuffle.filter_map(Number::amount).reduce(u64::saturating_add)
    }

    fn bytes_read(&self) -> Option<u64> {
        self.bytes_of_files().into_iter().chain(self.shuffled()).reduce(u64::saturating_add)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct EndReason<'a> {
    #[serde(rename = "Reason", borrow)]
    pub reason: Text<'a>,
    /// The class of the exception, if an exception ended the task.
    #[serde(rename = "Class Name", borrow)]
    pub class: Text<'a>,
    /// The message of that exception.
    #[serde(rename = "Description", borrow)]
    pub description: Text<'a>,
    #[serde(rename = "Kill Reason", borrow)]
    pub kill: Text<'a>,
    /// Why the executor was lost; only set if it was.
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
    /// When the driver began to fetch the result; 0 if it came with the end of the attempt.
    #[serde(rename = "Getting Result Time")]
    pub result: Number,
    #[serde(rename = "Executor ID", borrow)]
    pub executor: Text<'a>,
    #[serde(rename = "Host", borrow)]
    pub host: Text<'a>,
    #[serde(rename = "Locality", borrow)]
    pub locality: Text<'a>,
    #[serde(rename = "Speculative")]
    pub speculative: Flag,
    #[serde(rename = "Failed")]
    pub failed: Flag,
    #[serde(rename = "Killed")]
    pub killed: Flag,
}

/// The start of an attempt.
#[derive(Debug, Deserialize)]
pub(super) struct TaskStart<'a> {
    #[serde(rename = "Stage ID", default)]
    pub stage: Number,
    #[serde(rename = "Stage Attempt ID", default)]
    pub stage_attempt: Number,
    #[serde(rename = "Task Info", borrow, default)]
    pub info: Option<TaskInfo<'a>>,
}

impl TaskInfo<'_> {
    /// How far away the attempt's input was; see [`TaskTimes::distance`].
    fn distance(&self) -> u8 {
        match self.locality.get() {
            Some("NODE_LOCAL") => 1,
            Some("RACK_LOCAL") => 2,
            Some("ANY") => 3,
            _ => 0,
        }
    }
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Success,
    Killed,
    Failed,
}

impl<M> TaskEnd<'_, M> {
    /// Returns whether the event reports that a successful attempt has lost its output. Such an event is not the end of
    /// an attempt.
    pub(super) fn is_loss_of_output(&self) -> bool {
        self.reason.as_ref().and_then(|reason| reason.reason.get()) == Some("Resubmitted")
    }

    /// Returns whether the event reports that the driver lost the attempt's executor. The attempt may end again.
    pub(super) fn is_loss_of_executor(&self) -> bool {
        self.reason.as_ref().and_then(|reason| reason.reason.get()) == Some("ExecutorLostFailure")
    }

    /// Returns the task id and the task of the attempt; `None` without a task id.
    pub(super) fn attempt(&self) -> Option<(u32, TaskOfAttempt)> {
        let info = self.info.as_ref()?;
        Some((info.id.id()?, (self.stage.id(), self.stage_attempt.id(), info.index.id())))
    }

    /// Returns how the attempt ended. The end reasons `Success` and `TaskKilled` decide. Otherwise an attempt whose
    /// task info has `Killed` set was killed. Any other attempt with an end reason failed; without an end reason,
    /// `Failed` in the task info decides.
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
    fn bytes_read_are_input_plus_shuffle() {
        let bytes = |json: &str| parse::<TaskMetrics>(json.as_bytes()).unwrap().bytes_read();
        assert_eq!(bytes("{}"), None);
        assert_eq!(bytes(r#"{"Input Metrics":{"Bytes Read":7,"Records Read":9}}"#), Some(7));
        let shuffle = r#""Shuffle Read Metrics":{"Remote Bytes Read":10,"Local Bytes Read":20,"Fetch Wait Time":5}"#;
        assert_eq!(bytes(&format!("{{{shuffle}}}")), Some(30));
        assert_eq!(bytes(&format!(r#"{{{shuffle},"Input Metrics":{{"Bytes Read":-1}}}}"#)), Some(30));
    }

    #[test]
    fn an_attempt_that_reads_more_from_files_reads_files() {
        let reads = |input: u64, shuffled: u64| {
            let json = format!(
                r#"{{"Input Metrics":{{"Bytes Read":{input}}},"Shuffle Read Metrics":{{"Remote Bytes Read":0,"Local Bytes Read":{shuffled}}}}}"#
            );
            let metrics = parse::<TaskMetrics>(json.as_bytes()).unwrap();
            metrics.times(&TaskInfo::default()).reads_files
        };
        assert_eq!([reads(9, 0), reads(9, 8), reads(8, 9), reads(0, 0)], [true, true, false, false]);
    }

    #[test]
    fn the_end_of_an_attempt_is_classified() {
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
