//! Tests of stages without attempt numbers, of resubmitted, skipped and barrier stages, and of logs without a
//! beginning.

use super::log::{Log, Task, ZERO, counts, recorded, task, warning};
use crate::summary::SparkCounts;
use crate::testing::Outcome;

fn spark(log: &Log) -> SparkCounts {
    log.read().summary().spark.unwrap()
}

#[test]
fn a_fetch_failure_makes_two_stages_run_again() {
    let fetch =
        Task { reason: "FetchFailed", more: r#","Shuffle ID":0,"Map ID":1,"Reduce ID":0"#, ..task(1, 0, 200, 250) };
    let again = |stage, index, partition, launch| Task {
        stage_attempt: 1,
        partition: Some(partition),
        ..task(stage, index, launch, launch + 50)
    };
    let log = Log::new()
        .executor("1", 4)
        .job(0, 0, &[(0, &[]), (1, &[0])])
        .submitted(0, 0, 3)
        .task(Task { partition: Some(0), ..task(0, 0, 0, 100) })
        .task(Task { partition: Some(1), ..task(0, 1, 0, 110) })
        .task(Task { partition: Some(2), ..task(0, 2, 0, 120) })
        .completed(0, 0, 3, "")
        .submitted(1, 0, 2)
        .task(Task { partition: Some(0), ..fetch })
        // The loss of an executor is reported by a second end event of the attempt that made the output.
        .task(Task { partition: Some(1), reason: "Resubmitted", ..task(0, 1, 0, 110) })
        .completed(1, 0, 2, "org.apache.spark.shuffle.FetchFailedException")
        // One partition of the first stage runs again; its index starts from 0.
        .submitted(0, 1, 1)
        .task(again(0, 0, 1, 300))
        .completed(0, 1, 1, "")
        .submitted(1, 1, 2)
        .task(again(1, 0, 0, 400))
        // A task of the first submission ends after the resubmission.
        .task(Task { partition: Some(1), ..task(1, 1, 200, 420) })
        .task(Task {
            reason: "TaskKilled",
            more: r#","Kill Reason":"another attempt succeeded""#,
            ..again(1, 1, 1, 400)
        })
        .completed(1, 1, 2, "")
        .job_end(0, 500)
        .end(600);
    let trace = log.read();
    let summary = trace.summary();
    assert_eq!((summary.stages, summary.tasks, summary.attempts), (2, 5, 9));
    assert_eq!((summary.failed_attempts, summary.killed_attempts), (1, 1));
    let counts = summary.spark.unwrap();
    assert_eq!((counts.winners, counts.resubmitted_stages, counts.skipped_stages), (5, 2, 0));
    assert_eq!(counts.outputs_lost, 1);
    let failures: Vec<_> = summary.failures.iter().map(|(cause, count)| (cause.as_str(), *count)).collect();
    assert_eq!(failures, [("FetchFailed", 1)]);
    warning(summary, "2 stages were submitted more than once");
    let job = &trace.workload_jobs()[0];
    assert_eq!(recorded(&job.durations[0]), [0.1, 0.11, 0.12]);
    assert_eq!(recorded(&job.durations[1]), [0.05, 0.22]);
    let attempts: Vec<_> = trace.attempts().iter().map(|a| (a.stage, a.task, a.outcome)).collect();
    assert_eq!(attempts, [(1, 0, Outcome::Failed), (0, 1, Outcome::Repeated), (1, 1, Outcome::Lost)]);
}

#[test]
fn stages_without_attempt_numbers_are_read() {
    let log = Log(usual_without_stage_attempts());
    let trace = log.read();
    let summary = trace.summary();
    assert_eq!((summary.stages, summary.tasks, summary.attempts), (1, 2, 3));
    assert_eq!((summary.killed_attempts, summary.spark.unwrap().resubmitted_stages), (1, 0));
    assert_eq!(summary.killed_by.keys().collect::<Vec<_>>(), ["not said"]);
    assert_eq!(summary.speculative_attempts, 0);
    assert_eq!(recorded(&trace.workload_jobs()[0].durations[0]), [0.1, 0.2]);
}

/// Returns a log of Spark 1.3, which has neither numbers of stage attempts nor `Speculative`.
fn usual_without_stage_attempts() -> String {
    let at = |ms: i64| ZERO + ms;
    let end = |index: i64, reason: &str, finish: i64, killed: bool| {
        format!(
            r#"{{"Event":"SparkListenerTaskEnd","Stage ID":0,"Task Type":"ResultTask","Task End Reason":{{"Reason":"{reason}"}},"Task Info":{{"Task ID":{index},"Index":{index},"Attempt":0,"Launch Time":{},"Executor ID":"<driver>","Host":"localhost","Locality":"PROCESS_LOCAL","Getting Result Time":0,"Finish Time":{},"Failed":false,"Killed":{killed},"Accumulables":[]}},"Task Metrics":{{"Host Name":"localhost"}}}}"#,
            at(0),
            at(finish),
        )
    };
    [
        format!(r#"{{"Event":"SparkListenerApplicationStart","App Name":"old","Timestamp":{},"User":"u"}}"#, at(0)),
        r#"{"Event":"SparkListenerJobStart","Job ID":0,"Stage IDs":[0]}"#.to_owned(),
        r#"{"Event":"SparkListenerStageSubmitted","Stage Info":{"Stage ID":0,"Stage Name":"count","Number of Tasks":2,"RDD Info":[]}}"#.to_owned(),
        end(0, "Success", 100, false),
        end(1, "TaskKilled", 150, true),
        end(1, "Success", 200, false),
        r#"{"Event":"SparkListenerStageCompleted","Stage Info":{"Stage ID":0,"Stage Name":"count","Number of Tasks":2,"RDD Info":[]}}"#.to_owned(),
        r#"{"Event":"SparkListenerJobEnd","Job ID":0,"Job Result":{"Result":"JobSucceeded"}}"#.to_owned(),
        format!(r#"{{"Event":"SparkListenerApplicationEnd","Timestamp":{}}}"#, at(300)),
    ]
    .join("\n")
}

#[test]
fn stages_not_submitted_before_the_job_ends_are_skipped() {
    let log = Log::new()
        .executor("1", 4)
        .job(0, 0, &[(0, &[]), (1, &[0])])
        .submitted(0, 0, 1)
        .task(task(0, 0, 0, 10))
        .completed(0, 0, 1, "")
        // Job 1 also lists stages 0 and 1. Stage 0 has ended, so job 1 skips it; stage 1 runs for both jobs.
        .job(1, 20, &[(0, &[]), (1, &[0]), (2, &[1])])
        .submitted(1, 0, 1)
        .task(task(1, 0, 20, 30))
        // A late loser of stage 0 does not make the stage run for the second job.
        .task(Task { reason: "TaskKilled", ..task(0, 0, 0, 31) })
        .completed(1, 0, 1, "")
        .job_end(0, 30)
        .submitted(2, 0, 1)
        .task(task(2, 0, 30, 40))
        .completed(2, 0, 1, "")
        .job_end(1, 40)
        // A job that is still running when the log ends has no skipped stages yet.
        .job(2, 50, &[(3, &[]), (4, &[3])])
        .submitted(3, 0, 1)
        .end(60);
    let counts = spark(&log);
    assert_eq!((counts.skipped_stages, log.read().summary().stages), (1, 4));
}

#[test]
fn in_a_barrier_stage_the_last_submission_counts() {
    let info = |id: i64, attempt: i64| {
        format!(
            r#""Stage Info":{{"Stage ID":{id},"Stage Attempt ID":{attempt},"Stage Name":"b","Number of Tasks":3,"RDD Info":[{{"RDD ID":1,"Barrier":false}},{{"RDD ID":2,"Barrier":true}}],"Parent IDs":[]}}"#
        )
    };
    let killed = Task {
        reason: "TaskKilled",
        more: r#","Kill Reason":"Task ResultTask(0, 1) from barrier stage ResultStage 0 (b at A) failed.""#,
        ..task(0, 2, 0, 60)
    };
    let again = |index, finish| Task { stage_attempt: 1, ..task(0, index, 100, finish) };
    let log = Log::new()
        .executor("1", 4)
        .job(0, 0, &[(0, &[])])
        .event("StageSubmitted", &info(0, 0))
        .task(task(0, 0, 0, 40))
        .task(Task { reason: "ExceptionFailure", more: r#","Class Name":"java.lang.Error""#, ..task(0, 1, 0, 50) })
        .task(killed)
        .event("StageCompleted", &info(0, 0))
        .event("StageSubmitted", &info(0, 1))
        .task(again(0, 200))
        .task(again(1, 210))
        .task(again(2, 220))
        .event("StageCompleted", &info(0, 1))
        .job_end(0, 220)
        .end(300);
    let trace = log.read();
    let summary = trace.summary();
    assert_eq!((summary.tasks, summary.attempts, summary.failed_attempts, summary.killed_attempts), (3, 6, 1, 1));
    assert_eq!(summary.spark.unwrap().barrier_stages, 1);
    assert_eq!(summary.killed_by.keys().collect::<Vec<_>>(), ["a task of the barrier stage failed"]);
    // These are the durations of the second submission; task 0 took 40 ms in the failed submission.
    assert_eq!(recorded(&trace.workload_jobs()[0].durations[0]), [0.1, 0.11, 0.12]);
}

#[test]
fn a_log_without_its_beginning_is_counted() {
    let log = Log::default()
        .task(task(7, 3, 0, 10))
        .task(Task { attempt: 1, speculative: true, reason: "TaskKilled", ..task(7, 3, 5, 11) })
        .completed(7, 0, 5, "")
        .job_end(2, 12)
        .job(3, 20, &[(8, &[7]), (7, &[])])
        .submitted(8, 0, 1)
        .task(task(8, 0, 20, 30))
        .completed(8, 0, 1, "")
        .job_end(3, 30)
        .end(40);
    let trace = log.read();
    let summary = trace.summary();
    assert_eq!((summary.jobs, summary.stages, summary.tasks, summary.attempts), (1, 2, 2, 3));
    assert_eq!((summary.speculative_attempts, summary.killed_attempts), (1, 1));
    assert_eq!(summary.spark.unwrap().skipped_stages, 1);
    assert_eq!(summary.from, Some(ZERO as f64 / 1000.0));
    warning(summary, "The start of the application is missing");
    // The stage ran for a job that started before the log begins.
    warning(summary, "1 stage ran for no job in the log");
}

#[test]
fn late_attempts_of_many_stages_are_counted() {
    // Most stages finish, some never do. Late attempts of both kinds follow.
    let stages = 6000;
    let mut log = Log::new().executor("1", 4);
    for id in 0..stages {
        log = log.submitted(id, 0, 2).task(task(id, 0, 0, 10));
        if id % 3 != 0 {
            log = log.task(task(id, 1, 0, 10)).completed(id, 0, 2, "");
        }
    }
    // An attempt of a finished stage: neither a new task nor a new stage.
    log = log.task(Task { speculative: true, reason: "TaskKilled", ..task(1, 1, 5, 20) });
    // Attempts of stages that never finished.
    log = log.task(task(0, 1, 5, 20)).task(task(stages - 3, 1, 5, 20)).end(30);
    let summary = counts(log.0.as_bytes());
    let done = 4000;
    assert_eq!((summary.stages, summary.attempts), (6000, 6000 + done + 3));
    assert_eq!((summary.tasks, summary.spark.unwrap().winners), (6000 + done + 2, 6000 + done + 2));
}
