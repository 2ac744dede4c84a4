//! Tests of Rumen traces.

use hindmost_core::time::{TICKS_PER_SECOND, Time};
use hindmost_core::workload::Durations;
use serde_json::{Value, json};

use super::super::Locality;
use super::{ZERO, counted, numbers, trace, warning};
use crate::error::TraceError;
use crate::testing::Outcome;

fn attempt(kind: char, task: u32, number: u32, times: (i64, i64), result: &str) -> Value {
    json!({"location": {"layers": ["rack1", r"h1\.example"]}, "hostName": r"/rack1/h1\.example",
        "attemptID": format!("attempt_2009_0001_{kind}_{task:06}_{number}"), "result": result,
        "startTime": ZERO + times.0, "finishTime": ZERO + times.1, "shuffleFinished": -1, "sortFinished": -1,
        "hdfsBytesRead": 100, "fileBytesRead": -1, "mapInputBytes": 7, "reduceShuffleBytes": 40,
        "resourceUsageMetrics": {"heapUsage": 1}})
}

fn task(kind: char, number: u32, attempts: &[Value]) -> Value {
    json!({"attempts": attempts, "preferredLocations": [{"layers": ["rack1", r"h1\.example"]}],
        "taskID": format!("task_2009_0001_{kind}_{number:06}"), "taskType": "MAP", "taskStatus": "SUCCESS"})
}

/// Returns a job with a speculative copy that won, a failure, and a reduce that waited for the last map.
fn job() -> Value {
    json!({"priority": "NORMAL", "jobID": "job_2009_0001",
        "mapTasks": [
            task('m', 0, &[attempt('m', 0, 0, (1000, 61_000), "KILLED"), attempt('m', 0, 1, (30_000, 60_000), "SUCCESS")]),
            task('m', 1, &[attempt('m', 1, 0, (1000, 2000), "FAILED"), attempt('m', 1, 1, (3000, 8000), "SUCCESS")]),
        ],
        "reduceTasks": [task('r', 0, &[attempt('r', 0, 0, (10_000, 75_000), "SUCCESS")])],
        "otherTasks": [task('m', 2, &[attempt('m', 2, 0, (1, 2), "SUCCESS")])],
        "submitTime": ZERO, "launchTime": ZERO + 500, "finishTime": ZERO + 76_000, "user": "u", "jobName": null,
        "outcome": "SUCCESS", "totalMaps": 2, "totalReduces": 1, "jobMapMB": 200, "jobReduceMB": -1,
        "jobProperties": {"mapreduce.reduce.memory.mb": "4096", "x": "y"},
        "successfulMapAttemptCDFs": [{"rankings": [{"datum": 1}]}]})
}

fn pretty(job: &Value) -> String {
    serde_json::to_string_pretty(job).unwrap() + "\n"
}

#[test]
fn a_job_is_read_with_its_attempts() {
    let trace = trace(pretty(&job()).as_bytes());
    let summary = trace.summary();
    assert_eq!((summary.format, summary.jobs, summary.stages, summary.tasks), ("rumen", 1, 2, 3));
    assert_eq!((numbers(summary), summary.nodes), ((5, 1, 1, 1), 1));
    assert_eq!((summary.from, summary.to), (Some(1.7e9), Some(1.7e9 + 76.0)));
    warning(summary, "1 attempt of setup and cleanup");
    let facts = trace.facts();
    assert_eq!((facts.winners, facts.speculative_winners, facts.killed_losers), (3, 1, 1));
    assert_eq!(facts.locality, Locality { data_local: 4, ..Locality::default() });
    assert_eq!((facts.splits.bytes_read, facts.counters["REDUCE_SHUFFLE_BYTES"]), (200, 120));
    assert_eq!((facts.failures["not said"], facts.jobs.succeeded), (1, 1));
    let job = &trace.workload_jobs()[0];
    assert_eq!(job.durations, [Durations::Recorded(vec![30.0, 5.0]), Durations::Recorded(vec![15.0])]);
    let outcomes: Vec<_> = trace.attempts().iter().map(|a| (a.task, a.attempt, a.outcome)).collect();
    assert_eq!(outcomes, [(0, 0, Outcome::Lost), (1, 0, Outcome::Failed), (0, 1, Outcome::Won)]);
    let node = &trace.cluster_nodes()[0];
    assert_eq!((&*node.name, node.slots), ("h1.example", 3));
}

#[test]
fn jobs_may_be_separated_in_any_way() {
    let mut second = job();
    second["jobID"] = json!("job_2009_0002");
    second["submitTime"] = json!(ZERO + 5000);
    let compact = format!("{} {}", job(), second);
    let (expected, facts) = counted(compact.as_bytes()).unwrap();
    assert_eq!((expected.jobs, expected.attempts), (2, 10));
    for text in [
        format!("{}{}", pretty(&job()), pretty(&second)),
        format!("{}\n{}\n", job(), second),
        format!("{}{}", job(), second),
        format!("[{},\r\n{}]\n", job(), second),
        format!("\u{feff}{compact}"),
    ] {
        assert_eq!(counted(text.as_bytes()).unwrap(), (expected.clone(), facts.clone()));
    }
    let trace = trace(compact.as_bytes());
    let arrivals: Vec<_> = trace.workload_jobs().iter().map(|job| job.spec.arrival).collect();
    assert_eq!(arrivals, [Time(0), Time(5 * TICKS_PER_SECOND)]);
    // Tools that shorten traces may give jobs the same id.
    let folded = format!("{}{}", job(), job());
    assert_eq!(counted(folded.as_bytes()).unwrap().0.jobs, 2);
}

#[test]
fn a_trace_cut_anywhere_keeps_its_complete_tasks() {
    let text = format!("{}{}", pretty(&job()), job());
    let mut last = 0;
    for cut in (0..text.len()).filter(|&cut| text.is_char_boundary(cut)) {
        match counted(&text.as_bytes()[..cut]) {
            Ok((summary, _)) => {
                assert!((last..=10).contains(&summary.attempts), "{cut}");
                last = summary.attempts;
                if cut != pretty(&job()).len() && cut != pretty(&job()).len() - 1 {
                    assert!(summary.warnings.len() > 1, "{cut}");
                }
            }
            Err(error) => {
                assert_eq!(last, 0, "{cut}: {error}");
                assert!(matches!(error, TraceError::NothingComplete { .. } | TraceError::NotHadoop { .. }), "{error}");
            }
        }
    }
    assert_eq!(last, 10);
    let half = pretty(&job());
    let damaged = format!("{}\n{}", &half[..half.len() / 2], pretty(&job()));
    let (summary, _) = counted(damaged.as_bytes()).unwrap();
    warning(&summary, "an incomplete job");
    assert!(summary.attempts > 5 && summary.jobs == 2);
}

#[test]
fn missing_fields_are_tolerated() {
    let mut odd = job();
    odd["reduceTasks"] = Value::Null;
    odd["otherTasks"] = json!([]);
    odd["mapTasks"][0]["attempts"][0]["result"] = Value::Null;
    odd["mapTasks"][0]["attempts"][1] = json!({"result": "success", "startTime": ZERO, "finishTime": ZERO + 5000});
    odd["mapTasks"][1]["taskID"] = Value::Null;
    odd["mapTasks"][1]["preferredLocations"] = Value::Null;
    odd["totalMaps"] = json!(5);
    let trace = trace(pretty(&odd).as_bytes());
    assert_eq!(numbers(trace.summary()), (3, 0, 1, 0));
    assert_eq!((trace.summary().stages, trace.facts().winners), (1, 2));
    warning(trace.summary(), "1 attempt was still running when the log ends");
    warning(trace.summary(), "4 tasks succeeded according to the job");
    // A task whose attempts have another type is skipped, and the rest is read.
    let mut damaged = job();
    damaged["mapTasks"][0]["attempts"] = json!("none");
    let (summary, _) = counted(pretty(&damaged).as_bytes()).unwrap();
    assert_eq!(summary.attempts, 3);
    warning(&summary, "1 record was skipped, because it can't be read; the first is line 1");
    // Tasks without ids count as separate tasks.
    let without_ids =
        json!({"jobID": "x", "mapTasks": [{"attempts": [{"result": "KILLED"}]}, {"attempts": [{"result": "KILLED"}]}]});
    let (summary, _) = counted(without_ids.to_string().as_bytes()).unwrap();
    assert_eq!((summary.tasks, summary.killed_attempts, summary.from), (2, 2, None));
    // JSON of another kind is refused.
    let error = counted(br#"{"name":"<root>","children":[]}"#).unwrap_err();
    assert!(matches!(error, TraceError::NotHadoop { .. }), "{error}");
}

#[test]
fn tasks_without_attempts_and_unsuccessful_jobs_are_counted() {
    let ended = |outcome: &str, finish: i64| {
        let mut job = job();
        job["outcome"] = json!(outcome);
        job["finishTime"] = json!(finish);
        let never = |kind, number| json!({"taskID": format!("task_2009_0001_{kind}_{number:06}"), "attempts": []});
        job["mapTasks"].as_array_mut().unwrap().push(never('m', 7));
        job["reduceTasks"].as_array_mut().unwrap().push(never('r', 1));
        trace(pretty(&job).as_bytes())
    };
    for (outcome, finish, ends, said) in [
        ("FAILED", ZERO + 76_000, [0, 1, 0, 0], "1 job failed;"),
        ("KILLED", ZERO + 76_000, [0, 0, 1, 0], "1 job was killed;"),
        // Rumen writes -1 for a job that has not finished, and SUCCESS by default.
        ("SUCCESS", -1, [0, 0, 0, 1], "1 job has no end in the log"),
    ] {
        let trace = ended(outcome, finish);
        let (summary, facts) = (trace.summary(), trace.facts());
        let jobs = facts.jobs;
        assert_eq!([jobs.succeeded, jobs.failed, jobs.killed, jobs.unfinished], ends, "{outcome}");
        assert_eq!((summary.tasks, summary.attempts, facts.tasks_without_attempt, facts.winners), (5, 5, 2, 3));
        warning(summary, said);
        warning(
            summary,
            "2 tasks never had an attempt: their jobs ended before, or had not ended; left out of replays.",
        );
        assert!(!summary.warnings.iter().any(|warning| warning.contains("records are missing")));
        let tasks: Vec<_> = trace.workload_jobs()[0].spec.phases.iter().map(|phase| phase.tasks).collect();
        assert_eq!(tasks, [2, 1]);
    }
}
