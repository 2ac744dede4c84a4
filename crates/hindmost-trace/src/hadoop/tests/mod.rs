//! Tests with small logs of several Hadoop versions, one for each irregularity.

mod avro;
mod binary;
mod files;
mod fuzz;
mod history;
mod objects;
mod real;
mod rumen;
mod text_history;

use std::io::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use super::{Hadoop, HadoopFacts, is_log_directory};
use crate::Kind;
use crate::error::TraceError;
use crate::log::{self, Log};
use crate::reading::progress::OnProgress;
use crate::recorder::Wanted;
use crate::summary::TraceSummary;
use crate::testing::read_path;
use crate::testing::{self, Trace};

/// Milliseconds since 1970 at which the logs of these tests start.
const ZERO: i64 = 1_700_000_000_000;

fn counted(log: &[u8]) -> Result<(TraceSummary, HadoopFacts), TraceError> {
    let summary = testing::diagnosed(&Hadoop, log, "test")?.0;
    let facts = summary.hadoop.as_deref().unwrap().clone();
    Ok((summary, facts))
}

/// Returns what a diagnosis counts in the log at a path.
fn counts(path: &Path) -> Result<TraceSummary, TraceError> {
    diagnose(path).map(|log| log.summary)
}

/// Diagnoses the log at a path.
fn diagnose(path: &Path) -> Result<Log, TraceError> {
    read_path(&Hadoop, path, Wanted::DIAGNOSES, None)
}

/// Reads the log at a path for a replay.
fn open(path: &Path, progress: Option<OnProgress<'_>>) -> Result<Trace, TraceError> {
    read_path(&Hadoop, path, Wanted::REPLAYS, progress).map(Trace::of)
}

/// Returns whether there is a Hadoop log at a path.
fn find(path: &Path) -> Result<bool, TraceError> {
    if path.is_dir() { Ok(is_log_directory(path).unwrap()) } else { Ok(log::kind(path)? == Kind::Hadoop) }
}

/// Reads a log in every way, and checks that all ways give the same counts.
fn trace(log: &[u8]) -> Trace {
    let directory = tempfile::tempdir().unwrap();
    let plain = directory.path().join("log");
    std::fs::write(&plain, log).unwrap();
    let packed = directory.path().join("packed");
    std::fs::write(&packed, gzip(log)).unwrap();
    let trace = open(&plain, None).unwrap();
    let (summary, facts) = counted(log).unwrap();
    for path in [&plain, &packed] {
        assert_eq!(counts(path).unwrap(), summary);
        assert!(find(path).unwrap());
    }
    let Log { findings, diagnoses, .. } = diagnose(&plain).unwrap();
    assert_eq!(testing::diagnosed(&Hadoop, log, "log").unwrap(), (summary.clone(), findings, diagnoses));
    let read = Trace::read(&Hadoop, log, "log").unwrap();
    assert_eq!(
        (read.summary(), read.workload_jobs(), read.attempts()),
        (trace.summary(), trace.workload_jobs(), trace.attempts())
    );
    let mut same = trace.summary().clone();
    same.warnings.truncate(summary.warnings.len());
    assert_eq!(same, summary);
    assert_eq!(trace.facts(), &facts);
    trace
}

pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Returns the numbers of attempts, speculative attempts, failed attempts and killed attempts.
fn numbers(summary: &TraceSummary) -> (u64, u64, u64, u64) {
    (summary.attempts, summary.speculative_attempts, summary.failed_attempts, summary.killed_attempts)
}

/// Returns the warning that contains a text.
fn warning<'a>(summary: &'a TraceSummary, text: &str) -> &'a str {
    let found = summary.warnings.iter().find(|warning| warning.contains(text));
    found.unwrap_or_else(|| panic!("no {text:?} in {:?}", summary.warnings))
}

/// A version of Hadoop. The events of its job histories differ from those of other versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    /// 0.23: fields without unions.
    V0,
    /// 2.x: unions, the winner's id, locality and avataar.
    V2,
    /// 3.x: more unions, counters of failed attempts.
    V3,
}

/// A job history that is built event by event. Times are milliseconds after [`ZERO`].
#[derive(Clone)]
struct History {
    version: Version,
    /// Type, class and fields of each event.
    events: Vec<(String, &'static str, Value)>,
}

/// An attempt; tests change the fields that matter to them.
#[derive(Clone, Copy)]
struct Run {
    kind: char,
    task: u32,
    attempt: u32,
    host: &'static str,
    time: (i64, i64),
    end: &'static str,
    error: &'static str,
    speculative: bool,
}

fn run(kind: char, task: u32, attempt: u32, start: i64, finish: i64) -> Run {
    Run { kind, task, attempt, host: "h1", time: (start, finish), end: "FINISHED", error: "", speculative: false }
}

impl Run {
    fn id(&self) -> String {
        format!("attempt_1700_0001_{}_{:06}_{}", self.kind, self.task, self.attempt)
    }

    fn name(&self) -> &'static str {
        if self.kind == 'm' { "MAP" } else { "REDUCE" }
    }
}

fn task_id(kind: char, task: u32) -> String {
    format!("task_1700_0001_{kind}_{task:06}")
}

fn counters(values: &[(&str, i64)]) -> Value {
    let counts: Vec<Value> =
        values.iter().map(|(name, value)| json!({"name": name, "displayName": "shown", "value": value})).collect();
    json!({"name": "COUNTERS", "groups": [{"name": "group", "displayName": "shown", "counts": counts}]})
}

impl History {
    fn new(version: Version) -> History {
        History { version, events: Vec::new() }
    }

    /// Returns a history with the beginning of a job.
    fn begun(version: Version, maps: u32, reduces: u32) -> History {
        let id = "job_1700_0001";
        let mut submitted = json!({"jobid": id, "jobName": "sort", "userName": "u", "submitTime": ZERO,
            "jobConfPath": "hdfs://x/job.xml", "acls": {"view": "*"}, "jobQueueName": "default"});
        if version != Version::V0 {
            submitted["workflowId"] = json!({"string": ""});
            submitted["workflowTags"] = Value::Null;
        }
        History::new(version)
            .event(
                "AM_STARTED",
                "AMStarted",
                json!({"applicationAttemptId": "appattempt_1700_0001_000001", "startTime": ZERO + 100,
                    "containerId": "c", "nodeManagerHost": "am", "nodeManagerPort": 1, "nodeManagerHttpPort": 2}),
            )
            .event("JOB_SUBMITTED", "JobSubmitted", submitted)
            .event(
                "JOB_INITED",
                "JobInited",
                json!({"jobid": id, "launchTime": ZERO + 500, "totalMaps": maps, "totalReduces": reduces,
                    "jobStatus": "INITED", "uberized": false}),
            )
            .event(
                "JOB_INFO_CHANGED",
                "JobInfoChange",
                json!({"jobid": id, "submitTime": ZERO, "launchTime": ZERO + 500}),
            )
    }

    fn event(mut self, kind: &str, class: &'static str, fields: Value) -> History {
        self.events.push((kind.to_owned(), class, fields));
        self
    }

    fn task(self, kind: char, task: u32, splits: &str) -> History {
        let name = if kind == 'm' { "MAP" } else { "REDUCE" };
        self.event(
            "TASK_STARTED",
            "TaskStarted",
            json!({"taskid": task_id(kind, task), "taskType": name, "startTime": ZERO + 600,
                "splitLocations": splits}),
        )
    }

    fn task_done(self, kind: char, task: u32, winner: u32) -> History {
        let name = if kind == 'm' { "MAP" } else { "REDUCE" };
        let mut fields = json!({"taskid": task_id(kind, task), "taskType": name, "finishTime": ZERO + 900_000,
            "status": "SUCCEEDED", "counters": counters(&[])});
        if self.version != Version::V0 {
            fields["successfulAttemptId"] = json!({"string": run(kind, task, winner, 0, 0).id()});
        }
        self.event("TASK_FINISHED", "TaskFinished", fields)
    }

    fn start(self, run: Run) -> History {
        let mut fields = json!({"taskid": task_id(run.kind, run.task), "taskType": run.name(),
            "attemptId": run.id(), "startTime": ZERO + run.time.0, "trackerName": run.host, "httpPort": 8042,
            "shufflePort": 13562, "containerId": "c"});
        if self.version != Version::V0 {
            fields["locality"] = json!({"string": "NODE_LOCAL"});
            fields["avataar"] = json!({"string": if run.speculative { "SPECULATIVE" } else { "VIRGIN" }});
        }
        self.event(&format!("{}_ATTEMPT_STARTED", run.name()), "TaskAttemptStarted", fields)
    }

    fn end(self, run: Run) -> History {
        let kind = format!("{}_ATTEMPT_{}", run.name(), run.end);
        let mut fields = json!({"taskid": task_id(run.kind, run.task), "attemptId": run.id(),
            "taskType": run.name(), "finishTime": ZERO + run.time.1, "hostname": run.host, "port": 45454,
            "rackname": "/rack1", "clockSplits": [1, 2], "cpuUsages": [], "vMemKbytes": [3], "physMemKbytes": []});
        if run.end != "FINISHED" {
            fields["status"] = json!(run.end);
            fields["error"] = json!(run.error);
            if self.version == Version::V3 {
                let class = "org.apache.hadoop.mapreduce.jobhistory.JhCounters";
                fields["counters"] = json!({ class: counters(&[("HDFS_BYTES_READ", 7)]) });
            }
            return self.event(&kind, "TaskAttemptUnsuccessfulCompletion", fields);
        }
        fields["taskStatus"] = json!("SUCCEEDED");
        fields["state"] = json!("done");
        if run.kind == 'm' {
            fields["mapFinishTime"] = json!(ZERO + run.time.1);
            fields["counters"] =
                counters(&[("HDFS_BYTES_READ", 1000), ("FILE_BYTES_READ", 5), ("MAP_INPUT_RECORDS", 9)]);
            return self.event(&kind, "MapAttemptFinished", fields);
        }
        fields["shuffleFinishTime"] = json!(ZERO + run.time.1);
        fields["sortFinishTime"] = json!(ZERO + run.time.1);
        fields["counters"] = counters(&[("REDUCE_SHUFFLE_BYTES", 50), ("FILE_BYTES_READ", 60)]);
        self.event(&kind, "ReduceAttemptFinished", fields)
    }

    fn attempt(self, run: Run) -> History {
        self.start(run).end(run)
    }

    fn done(self, at: i64, maps: u32, reduces: u32) -> History {
        let total = counters(&[
            ("HDFS_BYTES_READ", 12345),
            ("DATA_LOCAL_MAPS", i64::from(maps)),
            ("MILLIS_MAPS", 1000),
            ("MB_MILLIS_MAPS", 2_048_000),
        ]);
        self.event(
            "JOB_FINISHED",
            "JobFinished",
            json!({"jobid": "job_1700_0001", "finishTime": ZERO + at, "finishedMaps": maps,
                "finishedReduces": reduces, "failedMaps": 0, "failedReduces": 0, "totalCounters": total,
                "mapCounters": counters(&[]), "reduceCounters": counters(&[])}),
        )
    }

    /// Returns the history in Avro's JSON, with the separators of its version.
    fn json(&self) -> String {
        let mut text = format!("Avro-Json\n{}\n", binary::schema());
        for (kind, class, fields) in &self.events {
            let class = format!("org.apache.hadoop.mapreduce.jobhistory.{class}");
            let event = json!({"type": kind, "event": {class: fields}});
            text += &event.to_string();
            text += match self.version {
                Version::V0 => "\n ",
                Version::V2 => "\n",
                Version::V3 => "\n\n",
            };
        }
        text
    }

    fn read(&self) -> Trace {
        trace(self.json().as_bytes())
    }
}

fn on_disk(path: &Path, log: &[u8]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, log).unwrap();
}
