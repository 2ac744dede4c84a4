//! Tests of causes of failures and kills, of exclusions, and of the data that the analysis receives.

use super::super::application::Keep;
use super::super::feed::Reported;
use super::super::reader::{Reading, Stream};
use super::log::{Log, Task, ZERO, task};
use crate::analysis::{Ended, EndedAttempt, PhaseFacts, PhaseKey};

/// Returns the data that an analysis of the log receives.
fn reported(log: &Log) -> Vec<Reported> {
    let mut reading = Reading::new(Keep::Diagnosis, false);
    let stream = Stream { name: "test", label: None, later_part: false, may_be_empty: false };
    reading.read(log.0.as_bytes(), &stream).unwrap();
    reading.finish().0.feed.reported
}

#[test]
fn failures_and_kills_are_counted_by_cause() {
    let end = |index, reason, more| Task { reason, more, ..task(0, index, 0, 10) };
    let log = Log::new()
        .executor("1", 4)
        .job(0, 0, &[(0, &[])])
        .submitted(0, 0, 9)
        .task(end(0, "ExceptionFailure", r#","Class Name":"java.io.IOException","Description":"x""#))
        .task(end(1, "ExceptionFailure", r#","Class Name":"java.io.IOException""#))
        .task(end(2, "ExceptionFailure", r#","Class Name":"java.lang.OutOfMemoryError""#))
        .task(end(3, "FetchFailed", r#","Message":"m""#))
        .task(end(
            4,
            "ExecutorLostFailure",
            r#","Exit Caused By App":true,"Loss Reason":"Remote RPC client disassociated.""#,
        ))
        .task(end(5, "TaskCommitDenied", r#","Job ID":0,"Partition ID":5,"Attempt Number":1"#))
        .task(end(6, "TaskResultLost", ""))
        .task(end(7, "UnknownReason", ""))
        .task(end(0, "TaskKilled", r#","Kill Reason":"another attempt succeeded""#))
        .task(end(1, "TaskKilled", r#","Kill Reason":"Stage cancelled: Job 0 cancelled""#))
        .task(end(2, "TaskKilled", ""))
        .end(20);
    let trace = log.read();
    let counts = |map: &std::collections::BTreeMap<String, u64>| -> Vec<(String, u64)> {
        map.iter().map(|(cause, count)| (cause.clone(), *count)).collect()
    };
    let expected = |pairs: &[(&str, u64)]| -> Vec<(String, u64)> {
        pairs.iter().map(|(cause, count)| ((*cause).to_owned(), *count)).collect()
    };
    assert_eq!(
        counts(&trace.summary().failures),
        expected(&[
            ("ExceptionFailure: java.io.IOException", 2),
            ("ExceptionFailure: java.lang.OutOfMemoryError", 1),
            ("ExecutorLostFailure: connection lost", 1),
            ("FetchFailed", 1),
            ("TaskCommitDenied", 1),
            ("TaskResultLost", 1),
            ("UnknownReason", 1),
        ])
    );
    assert_eq!(
        counts(&trace.summary().killed_by),
        expected(&[("another attempt succeeded", 1), ("not said", 1), ("stage cancelled", 1)])
    );
}

#[test]
fn exclusions_are_counted_under_old_and_new_names() {
    let event = |log: Log, name: &str, fields: &str| {
        log.line(&format!(r#"{{"Event":"org.apache.spark.scheduler.SparkListener{name}","time":{ZERO},{fields}}}"#))
    };
    let mut log = Log::new().executor("1", 1).executor("2", 1).executor("3", 1).executor("4", 1);
    // Spark 3.1 and later write the event under both names.
    for name in ["ExecutorBlacklisted", "ExecutorExcluded"] {
        log = event(log, name, r#""executorId":"1","taskFailures":2"#);
    }
    for name in ["ExecutorBlacklistedForStage", "ExecutorExcludedForStage"] {
        log = event(log, name, r#""executorId":"2","taskFailures":2,"stageId":0,"stageAttemptId":0"#);
    }
    for name in ["NodeBlacklisted", "NodeExcluded", "NodeBlacklistedForStage", "NodeExcludedForStage"] {
        log = event(log, name, r#""hostId":"h1","executorFailures":2"#);
    }
    log = event(log, "ExecutorUnexcluded", r#""executorId":"1""#);
    log = event(log, "ExecutorUnblacklisted", r#""executorId":"4""#);
    log = event(log, "NodeUnexcluded", r#""hostId":"h4""#);
    log = event(log, "SpeculativeTaskSubmitted", r#""stageId":0,"stageAttemptId":0,"taskIndex":1,"partitionId":1"#);
    let log = log
        .event("ExecutorRemoved", &format!(r#""Timestamp":{},"Executor ID":"1","Removed Reason":"idle""#, ZERO + 5))
        .executor("1", 1)
        .end(10);
    let trace = log.read();
    let counts = trace.summary().spark.unwrap();
    assert_eq!((trace.summary().nodes, counts.excluded_executors, counts.excluded_nodes), (4, 2, 1));
    assert_eq!((counts.speculation_requests, trace.summary().attempts), (1, 0));
    assert_eq!(trace.summary().warnings, [""; 0]);
}

#[test]
fn the_analysis_receives_attempts_as_they_end() {
    let shuffle =
        r#""Shuffle Read Metrics":{"Remote Bytes Read":300,"Local Bytes Read":20},"Input Metrics":{"Bytes Read":5000}"#;
    let log = Log::new()
        .executor("1", 2)
        .executor("2", 2)
        .job(0, 0, &[(0, &[])])
        .submitted(0, 0, 2)
        .task(Task { host: "one", metrics: shuffle, ..task(0, 0, 0, 1500) })
        .task(Task { host: "two", executor: "2", reason: "FetchFailed", ..task(0, 1, 250, 500) })
        .completed(0, 0, 2, "fetch")
        .submitted(0, 1, 1)
        // Another executor of the first host.
        .task(Task { host: "one", executor: "3", stage_attempt: 1, partition: Some(1), ..task(0, 0, 500, 900) })
        .task(Task { reason: "Resubmitted", ..task(0, 0, 0, 1500) })
        .completed(0, 1, 1, "")
        .task(Task { host: "two", speculative: true, reason: "TaskKilled", ..task(0, 0, 600, 1600) })
        .job_end(0, 1600)
        .end(2000);
    let key = PhaseKey { application: 0, phase: 0 };
    let at = |ms: i64| Some((ZERO + ms) as f64 / 1000.0);
    let attempt = |task, node, time: (i64, i64), bytes_read, speculative, ended| {
        let (start, end) = (at(time.0), at(time.1));
        let (node, repeated) = (Some(node), false);
        Reported::Ended(key, EndedAttempt { task, node, start, end, bytes_read, speculative, repeated, ended })
    };
    let facts = PhaseFacts {
        name: Some("stage 0: count at A.scala:0".to_owned()),
        job: Some("job 0".to_owned()),
        tasks: Some(2),
    };
    assert_eq!(
        reported(&log),
        [
            Reported::Phase(key, facts),
            attempt(0, 0, (0, 1500), Some(5320), false, Ended::Succeeded),
            attempt(1, 1, (250, 500), None, false, Ended::Failed),
            attempt(1, 0, (500, 900), None, false, Ended::Succeeded),
            Reported::Closed(key),
            attempt(0, 1, (600, 1600), None, true, Ended::Killed),
        ]
    );
}

#[test]
fn phases_are_closed_by_job_end_or_application_end() {
    let log = Log::new()
        .executor("1", 2)
        .job(0, 0, &[(0, &[])])
        .task(task(0, 0, 0, 10))
        .job_end(0, 20)
        .task(task(1, 0, 20, 30))
        .end(40);
    let second = log.0.replace("app-1", "app-2");
    let reported = reported(&Log(log.0 + &second));
    let key = |application, phase| PhaseKey { application, phase };
    let reported: Vec<_> = reported
        .into_iter()
        .filter_map(|reported| match reported {
            Reported::Phase(key, facts) => Some((key, format!("{} of {:?}", facts.name.unwrap(), facts.job))),
            Reported::Closed(key) => Some((key, "closed".to_owned())),
            Reported::Ended(..) => None,
        })
        .collect();
    let said = |application, phase, what: &str| (key(application, phase), what.to_owned());
    assert_eq!(
        reported,
        [
            said(0, 0, r#"stage 0 of Some("job 0")"#),
            said(0, 0, "closed"),
            said(0, 1, "stage 1 of None"),
            said(0, 1, "closed"),
            said(1, 0, r#"stage 0 of Some("app-2 job 0")"#),
            said(1, 0, "closed"),
            said(1, 1, "stage 1 of None"),
            said(1, 1, "closed"),
        ]
    );
}
