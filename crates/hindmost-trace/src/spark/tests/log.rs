//! Builds logs event by event.

use hindmost_core::metrics::{Diagnosis, Findings};

use super::super::Spark;
use crate::error::TraceError;
use crate::summary::TraceSummary;
use crate::testing::{self, Trace};

/// Milliseconds since 1970 at which the logs of these tests start.
pub(super) const ZERO: i64 = 1_700_000_000_000;

/// A log that is built event by event. Times are milliseconds after [`ZERO`].
#[derive(Clone, Default)]
pub(super) struct Log(pub String);

/// A task end event; tests change the fields that matter to them.
#[derive(Clone, Copy)]
pub(super) struct Task {
    pub stage: i64,
    pub stage_attempt: i64,
    pub index: i64,
    pub partition: Option<i64>,
    pub attempt: i64,
    pub time: (i64, i64),
    pub speculative: bool,
    pub reason: &'static str,
}

pub(super) fn task(stage: i64, index: i64, launch: i64, finish: i64) -> Task {
    Task {
        stage,
        stage_attempt: 0,
        index,
        partition: None,
        attempt: 0,
        time: (launch, finish),
        speculative: false,
        reason: "Success",
    }
}

impl Task {
    /// Returns a task id that is unique to the attempt.
    fn id(&self) -> i64 {
        ((self.stage * 4 + self.stage_attempt) * 64 + self.index % 64) * 8
            + self.attempt * 2
            + i64::from(self.speculative)
    }
}

impl Log {
    pub fn new() -> Log {
        Log::default().event("LogStart", r#""Spark Version":"4.0.0""#).application("app-1", 0)
    }

    pub fn line(mut self, line: &str) -> Log {
        self.0 += line;
        self.0.push('\n');
        self
    }

    pub fn event(self, name: &str, fields: &str) -> Log {
        self.line(&format!(r#"{{"Event":"SparkListener{name}",{fields}}}"#))
    }

    pub fn application(self, id: &str, at: i64) -> Log {
        let fields = format!(r#""App Name":"test","App ID":"{id}","Timestamp":{}"#, ZERO + at);
        self.event("ApplicationStart", &fields)
    }

    pub fn executor(self, id: &str, cores: u32) -> Log {
        let fields = format!(
            r#""Timestamp":{ZERO},"Executor ID":"{id}","Executor Info":{{"Host":"h{id}","Total Cores":{cores}}}"#
        );
        self.event("ExecutorAdded", &fields)
    }

    /// Adds a job with its stages and their parents.
    pub fn job(self, id: i64, at: i64, stages: &[(i64, &[i64])]) -> Log {
        let infos: Vec<String> = stages.iter().map(|(id, parents)| info(*id, parents)).collect();
        let ids: Vec<i64> = stages.iter().map(|(id, _)| *id).collect();
        let fields = format!(
            r#""Job ID":{id},"Submission Time":{},"Stage Infos":[{}],"Stage IDs":{ids:?}"#,
            ZERO + at,
            infos.join(",")
        );
        self.event("JobStart", &fields)
    }

    pub fn job_end(self, id: i64, at: i64) -> Log {
        self.event("JobEnd", &format!(r#""Job ID":{id},"Completion Time":{}"#, ZERO + at))
    }

    /// Adds a submission of a stage with `tasks` tasks.
    pub fn submitted(self, id: i64, attempt: i64, tasks: i64) -> Log {
        let info = submission(id, attempt, tasks, "");
        self.event("StageSubmitted", &format!(r#""Stage Info":{info}"#))
    }

    /// Adds the end of a submission; `failure` is the reason if it failed.
    pub fn completed(self, id: i64, attempt: i64, tasks: i64, failure: &str) -> Log {
        let failure = if failure.is_empty() { String::new() } else { format!(r#","Failure Reason":"{failure}""#) };
        let info = submission(id, attempt, tasks, &failure);
        self.event("StageCompleted", &format!(r#""Stage Info":{info}"#))
    }

    /// Adds the start and end of an attempt. For a loss of output, only adds the second end.
    pub fn task(self, task: Task) -> Log {
        let id = task.id();
        let Task { stage, stage_attempt, index, attempt, speculative, reason, .. } = task;
        let partition = task.partition.map(|p| format!(r#""Partition ID":{p},"#)).unwrap_or_default();
        let (launch, finish) = (ZERO + task.time.0, ZERO + task.time.1);
        let of_stage = format!(r#""Stage ID":{stage},"Stage Attempt ID":{stage_attempt}"#);
        let start = format!(r#"{of_stage},"Task Info":{{"Task ID":{id},"Index":{index}}}"#);
        let end = format!(
            r#"{of_stage},"Task Type":"ResultTask","Task End Reason":{{"Reason":"{reason}","Index":77}},"Task Info":{{"Task ID":{id},"Index":{index},"Attempt":{attempt},{partition}"Launch Time":{launch},"Executor ID":"1","Host":"h","Speculative":{speculative},"Finish Time":{finish},"Failed":false,"Killed":{},"Accumulables":[{{"ID":1,"Name":"Launch Time","Value":"1"}}]}},"Task Metrics":{{"Finish Time":5}}"#,
            reason == "TaskKilled",
        );
        let started = if reason == "Resubmitted" { self } else { self.event("TaskStart", &start) };
        started.event("TaskEnd", &end)
    }

    pub fn end(self, at: i64) -> Log {
        self.event("ApplicationEnd", &format!(r#""Timestamp":{}"#, ZERO + at))
    }

    pub fn read(&self) -> Trace {
        let trace = read_spark(self.0.as_bytes()).unwrap();
        let counted = counts(self.0.as_bytes());
        let mut same = trace.summary().clone();
        same.warnings.truncate(counted.warnings.len());
        assert_eq!(counted, same, "diagnosing and reading for a replay give the same counts");
        assert_eq!(counted.failures.values().sum::<u64>(), counted.failed_attempts);
        assert_eq!(counted.killed_by.values().sum::<u64>(), counted.killed_attempts);
        trace
    }
}

/// Reads a log for a replay.
pub(super) fn read_spark(log: &[u8]) -> Result<Trace, TraceError> {
    Trace::read(&Spark, log, "test")
}

/// Diagnoses a log.
pub(super) fn diagnose_spark(log: &[u8]) -> Result<(TraceSummary, Findings, Vec<Diagnosis>), TraceError> {
    testing::diagnosed(&Spark, log, "test")
}

/// Returns what a diagnosis counts in a log.
pub fn counts(log: &[u8]) -> TraceSummary {
    diagnose_spark(log).unwrap().0
}

fn submission(id: i64, attempt: i64, tasks: i64, more: &str) -> String {
    format!(
        r#"{{"Stage ID":{id},"Stage Attempt ID":{attempt},"Stage Name":"count at A.scala:{id}","Number of Tasks":{tasks},"RDD Info":[{{"RDD ID":{id},"Barrier":false}}],"Parent IDs":[]{more}}}"#
    )
}

pub(super) fn info(id: i64, parents: &[i64]) -> String {
    format!(
        r#"{{"Stage ID":{id},"Stage Attempt ID":0,"Stage Name":"count at A.scala:{id}","Number of Tasks":2,"RDD Info":[{{"Parent IDs":[99]}}],"Parent IDs":{parents:?}}}"#
    )
}

/// Returns the warning that contains a text.
pub(super) fn warning<'a>(summary: &'a TraceSummary, text: &str) -> &'a str {
    let found = summary.warnings.iter().find(|warning| warning.contains(text));
    found.unwrap_or_else(|| panic!("no {text:?} in {:?}", summary.warnings))
}
