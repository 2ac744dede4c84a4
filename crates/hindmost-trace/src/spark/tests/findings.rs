//! Tests of causes of failures and kills, of exclusions, and of the recording of each application.

use super::super::Spark;
use super::log::{Log, Task, ZERO, task};
use crate::recorder::Wanted;
use crate::recording::{Ended, Recording};

/// Returns the recordings of the applications of a log.
fn recordings(log: &Log) -> Vec<Recording> {
    crate::testing::read(&Spark, log.0.as_bytes(), "test", Wanted::REPLAYS, None).unwrap().recordings().to_vec()
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
fn attempts_are_recorded_as_they_end() {
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
    let all = recordings(&log);
    let [phase] = &all[0].phases[..] else { panic!("one stage") };
    assert_eq!((phase.name.as_deref(), phase.job.as_deref()), (Some("stage 0: count at A.scala:0"), Some("job 0")));
    assert_eq!((phase.phase, phase.tasks, all[0].executors.len()), (0, Some(2), 3));
    let seconds = |ms: i64| (ZERO + ms) as f64 / 1000.0;
    let row = |task, executor, time: (i64, i64), bytes_read: Option<u64>, speculative, ended| {
        (task, executor, seconds(time.0), seconds(time.1), bytes_read, speculative, ended)
    };
    let found: Vec<_> = phase
        .rows
        .iter()
        .map(|row| {
            assert!(!row.repeated && row.wins == (row.ended == Ended::Succeeded));
            (row.task, row.executor, row.start, row.end, row.bytes_read, row.speculative, row.ended)
        })
        .collect();
    assert_eq!(
        found,
        [
            row(0, 0, (0, 1500), Some(5320), false, Ended::Succeeded),
            row(1, 1, (250, 500), None, false, Ended::Failed),
            row(1, 2, (500, 900), None, false, Ended::Succeeded),
            row(0, 0, (600, 1600), None, true, Ended::Killed),
        ]
    );
}

#[test]
fn stages_without_events_of_their_own_have_names() {
    let log = Log::new()
        .executor("1", 2)
        .job(0, 0, &[(0, &[])])
        .task(task(0, 0, 0, 10))
        .job_end(0, 20)
        .task(task(1, 0, 20, 30))
        .end(40);
    let second = log.0.replace("app-1", "app-2");
    let all = recordings(&Log(log.0 + &second));
    let found = all.iter().flat_map(|one| one.phases.iter().map(|phase| (one.application, phase)));
    let found: Vec<_> =
        found.map(|(at, phase)| (at, phase.name.as_deref().unwrap_or_default(), phase.job.as_deref())).collect();
    assert_eq!(
        found,
        [
            (0, "stage 0: count at A.scala:0", Some("job 0")),
            (0, "stage 1", None),
            (1, "stage 0: count at A.scala:0", Some("app-2 job 0")),
            (1, "stage 1", None),
        ]
    );
}
