//! The fields of events that are read.

use std::borrow::Cow;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Deserializer};

use crate::reading::values::{Flag, Number, Text};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct LogStart<'a> {
    #[serde(rename = "Spark Version", borrow)]
    pub version: Text<'a>,
}

/// The first line of each part of a log of Databricks.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Rollover {
    #[serde(rename = "Rollover Number")]
    pub number: Number,
    #[serde(rename = "SparkContext Id")]
    pub context: Number,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ApplicationStart<'a> {
    #[serde(rename = "App ID", borrow)]
    pub id: Text<'a>,
    #[serde(rename = "App Attempt ID", borrow)]
    pub attempt: Text<'a>,
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

/// The environment with all properties of Spark.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Settings<'a> {
    #[serde(rename = "Spark Properties", borrow)]
    pub spark: Option<FxHashMap<Cow<'a, str>, Text<'a>>>,
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
    #[serde(rename = "Removed Reason", borrow)]
    pub reason: Text<'a>,
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
    #[serde(rename = "Properties", borrow)]
    pub properties: Option<JobProperties<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct JobProperties<'a> {
    #[serde(rename = "spark.sql.execution.id")]
    pub execution: Number,
    #[serde(rename = "spark.job.description", borrow)]
    pub description: Text<'a>,
    #[serde(rename = "spark.job.tags", borrow)]
    pub tags: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct JobEnd {
    #[serde(rename = "Job ID")]
    pub id: Number,
    #[serde(rename = "Completion Time")]
    pub time: Number,
}

/// An event `SparkListenerStageSubmitted` or `SparkListenerStageCompleted`.
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
    #[serde(rename = "RDD Info")]
    pub rdds: Rdds,
    #[serde(rename = "Failure Reason", borrow)]
    pub failure: Text<'a>,
    #[serde(rename = "Submission Time")]
    pub submitted: Number,
    #[serde(rename = "Completion Time")]
    pub completed: Number,
}

/// Facts about a stage that follow from its RDDs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rdds {
    /// Whether any RDD is a barrier RDD, so that all tasks run at the same time.
    pub barrier: bool,
    /// The largest RDD id. It is the stage's output, because Spark creates it after the RDDs from which it is computed.
    pub last: Option<u32>,
}

impl<'de> Deserialize<'de> for Rdds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Rdd {
            #[serde(rename = "RDD ID")]
            id: Number,
            #[serde(rename = "Barrier")]
            barrier: Flag,
        }
        let rdds = Option::<Vec<Rdd>>::deserialize(deserializer)?.unwrap_or_default();
        let barrier = rdds.iter().any(|rdd| rdd.barrier.0);
        Ok(Rdds { barrier, last: rdds.iter().filter_map(|rdd| rdd.id.id()).max() })
    }
}

/// The executor or host that an event about exclusions names.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Excluded<'a> {
    #[serde(rename = "executorId", borrow)]
    pub executor: Text<'a>,
    #[serde(rename = "hostId", borrow)]
    pub host: Text<'a>,
    pub time: Number,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SqlEnd {
    #[serde(rename = "executionId")]
    pub execution: Number,
}

impl JobStart<'_> {
    /// Returns the SQL execution that the job belongs to.
    pub(super) fn execution(&self) -> Option<i64> {
        self.properties.as_ref().and_then(|properties| properties.execution.whole())
    }
}
