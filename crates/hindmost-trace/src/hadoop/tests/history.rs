//! Tests of job histories in Avro's JSON, of several versions.

use hindmost_core::time::Time;
use hindmost_core::workload::Durations;
use serde_json::json;

use super::super::Locality;
use super::binary::history;
use super::{History, Run, Version, ZERO, counted, counters, numbers, run, task_id, trace, warning};
use crate::error::TraceError;
use crate::testing::Outcome;

const VERSIONS: [Version; 3] = [Version::V0, Version::V2, Version::V3];

#[test]
fn all_hadoop_versions_give_the_same_result() {
    for version in VERSIONS {
        let trace = history(version).read();
        let summary = trace.summary();
        assert_eq!(summary.format, "hadoop-jhist");
        assert_eq!((summary.jobs, summary.stages, summary.tasks, summary.nodes), (1, 2, 3, 2));
        assert_eq!(numbers(summary), (5, 1, 1, 1), "{version:?}");
        assert_eq!((summary.from, summary.to), (Some(1.7e9), Some(1.7e9 + 80.1)));
        assert_eq!(summary.warnings.len(), 1, "{:?}", summary.warnings);

        let facts = trace.facts();
        assert_eq!((facts.winners, facts.speculative_winners, facts.killed_losers), (3, 1, 1));
        assert_eq!(facts.failures.iter().collect::<Vec<_>>(), [(&"java.io.IOException".to_owned(), &1)]);
        assert_eq!(facts.kills.iter().collect::<Vec<_>>(), [(&"speculation".to_owned(), &1)]);
        assert_eq!((facts.splits.maps, facts.splits.locations, facts.splits.bytes_read), (2, 3, 2000));
        assert_eq!(facts.counters["HDFS_BYTES_READ"], 12345);

        let job = &trace.workload_jobs()[0];
        assert_eq!(&*job.spec.name, "job_1700_0001 sort");
        assert_eq!(job.spec.arrival, Time(0));
        // The reduce waits from 51 s until the last map ends at 60 s.
        assert_eq!(job.durations, [Durations::Recorded(vec![10.0, 20.0]), Durations::Recorded(vec![20.0])]);
        let [maps, reduces] = &job.spec.phases[..] else { panic!("two phases") };
        assert_eq!((&*maps.name, maps.tasks, maps.after.len(), maps.demand["cpus"]), ("map", 2, 0, 1.0));
        assert_eq!((&*reduces.name, reduces.tasks, &reduces.after[..]), ("reduce", 1, &[0][..]));

        let attempts: Vec<_> =
            trace.attempts().iter().map(|a| (a.stage, a.task, a.attempt, a.speculative, a.outcome)).collect();
        assert_eq!(
            attempts,
            [(0, 1, 0, false, Outcome::Lost), (1, 0, 0, false, Outcome::Failed), (0, 1, 1, true, Outcome::Won),]
        );
        assert_eq!((trace.attempts()[0].launch, trace.attempts()[0].finish), (Some(1.0), Some(60.5)));
        // Two attempts ran on h1 at the same time: first the first attempts of the two maps, later the slow attempt and
        // the reduce.
        let slots: Vec<_> = trace.cluster_nodes().iter().map(|node| (&*node.name, node.slots)).collect();
        assert_eq!(slots, [("h1", 2), ("h2", 1)]);
    }
}

#[test]
fn locality_comes_from_the_log_splits_or_counters() {
    let of = |version| history(version).read().facts().locality;
    // h3 holds the input of map 1, but both attempts ran on other machines, and the rack of h3 is unknown.
    assert_eq!(of(Version::V0), Locality { data_local: 1, rack_local: 0, off_switch: 0, unknown: 2 });
    assert_eq!(of(Version::V2), Locality { data_local: 3, rack_local: 0, off_switch: 0, unknown: 0 });
    let without_splits =
        History::begun(Version::V0, 1, 0).task('m', 0, "").attempt(run('m', 0, 0, 1, 2)).done(9, 1, 0).read();
    assert_eq!(without_splits.facts().locality, Locality { data_local: 1, ..Locality::default() });
}

#[test]
fn speculative_attempts_of_old_logs_are_found_by_time() {
    let killed = |run: Run| Run { end: "KILLED", ..run };
    let history = History::begun(Version::V0, 2, 0)
        .attempt(killed(run('m', 0, 0, 1000, 9000)))
        .attempt(run('m', 0, 1, 5000, 8000))
        // The attempt was preempted, and the next one started later, so it is not speculative.
        .attempt(killed(Run { error: "Container preempted by scheduler", ..run('m', 1, 0, 1000, 5000) }))
        .attempt(run('m', 1, 1, 5000, 8000))
        .done(9000, 2, 0);
    let trace = history.read();
    assert_eq!(numbers(trace.summary()), (4, 1, 0, 2));
    assert_eq!(trace.facts().killed_losers, 2);
    assert_eq!(trace.facts().kills["preempted"], 1);
    assert_eq!(trace.facts().kills["not said"], 1);
    // The same attempts in a version that marks each as not speculative.
    let said = History { version: Version::V2, ..history };
    let rewritten: String = said.json();
    assert_eq!(numbers(trace.summary()), numbers(&counted(rewritten.as_bytes()).unwrap().0));
    let virgin = rewritten.replace("\"hostname\"", "\"x\"");
    assert_eq!(counted(virgin.as_bytes()).unwrap().0.nodes, 1);
}

#[test]
fn an_attempt_whose_output_is_lost_counts_as_failed() {
    let lost =
        Run { end: "FAILED", error: "Too Many fetch failures.Failing the attempt", ..run('m', 0, 0, 1000, 90_000) };
    let trace = History::begun(Version::V2, 1, 1)
        .attempt(run('m', 0, 0, 1000, 11_000))
        .task_done('m', 0, 0)
        .attempt(run('r', 0, 0, 12_000, 50_000))
        .end(lost)
        .attempt(run('m', 0, 1, 91_000, 99_000))
        .task_done('m', 0, 1)
        .done(99_500, 1, 1)
        .read();
    assert_eq!(numbers(trace.summary()), (3, 0, 1, 0));
    assert_eq!((trace.facts().outputs_lost, trace.facts().winners), (1, 2));
    assert_eq!(trace.facts().failures["too many fetch failures"], 1);
    // The reduce ended before the last map did, so its whole run counts.
    let durations = &trace.workload_jobs()[0].durations;
    assert_eq!(durations, &[Durations::Recorded(vec![8.0]), Durations::Recorded(vec![38.0])]);
    assert_eq!(trace.attempts()[0].finish, Some(11.0));
}

#[test]
fn the_winner_is_the_one_that_the_log_names() {
    let both = |version, named| {
        let mut history = History::begun(version, 1, 0)
            .attempt(run('m', 0, 0, 1000, 9000))
            .attempt(Run { speculative: true, ..run('m', 0, 1, 5000, 8000) });
        history = history.task_done('m', 0, named).done(9000, 1, 0);
        history.read()
    };
    let durations = |trace: &crate::testing::Trace| trace.workload_jobs()[0].durations.clone();
    assert_eq!(durations(&both(Version::V2, 0)), [Durations::Recorded(vec![8.0])]);
    // Without a name in the log, the first to finish wins.
    assert_eq!(durations(&both(Version::V0, 0)), [Durations::Recorded(vec![3.0])]);
    let outcomes: Vec<_> = both(Version::V2, 0).attempts().iter().map(|a| (a.attempt, a.outcome)).collect();
    assert_eq!(outcomes, [(1, Outcome::Lost)]);
}

#[test]
fn setup_and_cleanup_attempts_are_counted_separately() {
    let mut history = History::begun(Version::V0, 1, 0).attempt(run('m', 0, 0, 1000, 2000));
    for (kind, index, event) in [("JOB_SETUP", 1, "MAP"), ("JOB_CLEANUP", 2, "REDUCE"), ("TASK_CLEANUP", 3, "CLEANUP")]
    {
        let letter = if event == "REDUCE" { 'r' } else { 'm' };
        let other = run(letter, index, 0, 1, 2);
        let task = task_id(letter, index);
        history = history
            .event(
                &format!("{event}_ATTEMPT_STARTED"),
                "TaskAttemptStarted",
                json!({"taskid": task, "taskType": kind, "attemptId": other.id(), "startTime": ZERO + 1}),
            )
            .event(
                &format!("{event}_ATTEMPT_{}", if index == 2 { "KILLED" } else { "FINISHED" }),
                "TaskAttemptFinished",
                json!({"taskid": task, "taskType": kind, "attemptId": other.id(), "finishTime": ZERO + 2,
                    "hostname": "h9", "rackname": null}),
            );
    }
    // This event has no task type, but its name shows the kind.
    history = history.event(
        "SETUP_ATTEMPT_FAILED",
        "TaskAttemptUnsuccessfulCompletion",
        json!({"attemptId": run('m', 9, 0, 0, 0).id(), "finishTime": ZERO + 2}),
    );
    let trace = history.done(3000, 1, 0).read();
    assert_eq!((numbers(trace.summary()), trace.summary().nodes), ((1, 0, 0, 0), 1));
    let others = trace.facts().setup_and_cleanup;
    assert_eq!((others.attempts, others.failed, others.killed), (4, 1, 1));
    warning(trace.summary(), "4 attempts of setup and cleanup");
}

#[test]
fn failed_and_running_jobs_are_read() {
    let unsuccessful = |kind: &str| {
        History::begun(Version::V3, 1, 1)
            .task('m', 0, "h1")
            .task('r', 0, "")
            .attempt(Run { end: "KILLED", error: "Job received Kill", ..run('m', 0, 0, 1000, 2000) })
            .event(
                kind,
                "JobUnsuccessfulCompletion",
                json!({"jobid": "job_1700_0001", "finishTime": ZERO + 3000, "finishedMaps": 0, "finishedReduces": 0,
                    "jobStatus": "x", "diagnostics": {"string": "?"}, "failedMaps": 0}),
            )
            .read()
    };
    for (kind, ends) in [("JOB_FAILED", (1, 0)), ("JOB_ERROR", (1, 0)), ("JOB_KILLED", (0, 1))] {
        let trace = unsuccessful(kind);
        assert_eq!((trace.facts().jobs.failed, trace.facts().jobs.killed), ends);
        assert_eq!(numbers(trace.summary()), (1, 0, 0, 1));
        assert_eq!((trace.summary().stages, trace.summary().tasks, trace.summary().to), (2, 2, Some(1.7e9 + 3.0)));
        assert_eq!(trace.facts().tasks_without_attempt, 1);
        assert_eq!((trace.workload_jobs().len(), trace.attempts()[0].outcome), (0, Outcome::Killed));
        warning(trace.summary(), "1 task never succeeded");
        warning(trace.summary(), "1 job has no task that succeeded");
    }
    let running = History::begun(Version::V3, 2, 0).attempt(run('m', 0, 0, 1000, 2000)).start(run('m', 1, 0, 1000, 0));
    let trace = running.read();
    assert_eq!(numbers(trace.summary()), (1, 0, 0, 0));
    warning(trace.summary(), "1 job has no end in the log");
    warning(trace.summary(), "1 attempt was still running when the log ends");
    assert_eq!(trace.workload_jobs().len(), 1);
}

#[test]
fn missing_records_give_warnings() {
    // Two tasks that the job counts are not in the log.
    let trace = History::begun(Version::V2, 3, 0).attempt(run('m', 0, 0, 1000, 2000)).done(3000, 3, 0).read();
    warning(trace.summary(), "2 tasks succeeded according to the job, but not in the log");
    // An attempt has two finish events and no start event, and a kill event does not name its attempt.
    let trace = History::begun(Version::V2, 1, 0)
        .end(run('m', 0, 0, 1000, 2000))
        .end(run('m', 0, 0, 1000, 2000))
        .event(
            "MAP_ATTEMPT_KILLED",
            "TaskAttemptUnsuccessfulCompletion",
            json!({"taskType": "MAP", "status": "KILLED", "error": "?"}),
        )
        .done(3000, 1, 0)
        .read();
    assert_eq!(numbers(trace.summary()), (2, 0, 0, 1));
    warning(trace.summary(), "1 attempt has no start time; counted");
    warning(trace.summary(), "1 event repeats the end of an attempt");
    warning(trace.summary(), "1 event ends an attempt without naming it");
    warning(trace.summary(), "1 successful attempt has no start or finish time; left out of replays");
    assert_eq!(trace.workload_jobs().len(), 0);
}

#[test]
fn damaged_lines_are_skipped() {
    let whole = history(Version::V3).json();
    let (expected, _) = counted(whole.as_bytes()).unwrap();
    // A line that is not JSON, an event of a future version, and a line that was not written completely.
    let noise = whole.replacen(
        "{\"type\":\"TASK_STARTED\"",
        "%%% \
         noise\n{\"type\":\"TASK_FLOWN\",\"event\":{\"org.x.TaskFlown\":{\"taskid\":[1]}}}\n{\"type\":\"TASK_STARTED\",\"event\":{\"half\n\n{\"type\":\"TASK_STARTED\"",
        1,
    );
    let (summary, _) = counted(noise.as_bytes()).unwrap();
    assert_eq!(numbers(&summary), numbers(&expected));
    warning(&summary, "2 records were skipped, because they can't be read; the first is line ");
    // Cuts one event in half; all other events are read.
    let lines: Vec<&str> = whole.lines().collect();
    for (index, line) in lines.iter().enumerate().skip(2).filter(|(_, line)| line.contains("_ATTEMPT_F")) {
        let mut less = lines.clone();
        let half = &line[..line.len() / 2];
        less[index] = half;
        let (summary, _) = counted(less.join("\n").as_bytes()).unwrap();
        assert_eq!(summary.attempts, expected.attempts - 1, "line {index}");
        warning(&summary, "it is incomplete");
    }
    // Bytes that aren't UTF-8, and line breaks in a text.
    let mut bytes = whole.replace("\"jobName\":\"sort\"", "\"jobName\":\"s\u{1}o\nr\"").into_bytes();
    let at = memchr::memmem::find(&bytes, b"succeeded first").unwrap();
    bytes[at] = 0xff;
    let (summary, facts) = counted(&bytes).unwrap();
    assert_eq!(numbers(&summary), numbers(&expected));
    assert_eq!(facts.kills["speculation"], 1);
    warning(&summary, "2 records had bytes that JSON does not allow");
}

#[test]
fn a_start_is_recovered_from_broken_json() {
    let text = history(Version::V2).json().replacen("\"h1\",\"httpPort\":8042", "\"h1\":8042", 1);
    let trace = trace(text.as_bytes());
    assert_eq!(numbers(trace.summary()), (5, 1, 1, 1));
    assert_eq!(trace.workload_jobs()[0].durations[0], Durations::Recorded(vec![10.0, 20.0]));
    warning(trace.summary(), "1 start of an attempt was recovered");
    warning(trace.summary(), "1 record was skipped, because it can't be read");
}

#[test]
fn unusual_headers_are_accepted() {
    let whole = history(Version::V0).json();
    let (expected, _) = counted(whole.as_bytes()).unwrap();
    let schema = super::binary::schema();
    let pretty = serde_json::to_string_pretty(&schema).unwrap();
    for odd in [
        format!("<!--\n Licensed to {{nobody}}\n-->\n{whole}").replace("{nobody}", "nobody"),
        format!("\u{feff}{whole}"),
        whole.replace('\n', "\r\n"),
        whole.replace(&schema.to_string(), &pretty),
        whole.lines().skip(1).collect::<Vec<_>>().join("\n"),
        whole.lines().skip(2).collect::<Vec<_>>().join("\n"),
    ] {
        let (summary, _) = counted(odd.as_bytes()).unwrap();
        assert_eq!(summary, expected, "{}", &odd[..80]);
    }
    for nothing in ["Avro-Json\n", "Avro-Json\n{\"type\":\"rec", "Avro-Binary\n"] {
        let error = counted(nothing.as_bytes()).unwrap_err();
        assert!(matches!(error, TraceError::NothingComplete { .. }), "{error}");
    }
    let error = counted(b"").unwrap_err().to_string();
    assert!(error.contains("it is empty"), "{error}");
    let error = counted(b"{\"Event\":\"SparkListenerLogStart\"}").unwrap_err().to_string();
    assert!(error.contains("no Hadoop log") && error.contains("SparkListener"), "{error}");
}

#[test]
fn several_jobs_in_one_file_are_read_separately() {
    let first = history(Version::V2).json();
    let second = first.replace("1700_0001", "1700_0002");
    let trace = trace(format!("{first}{second}").as_bytes());
    assert_eq!((trace.summary().jobs, trace.summary().stages), (2, 4));
    assert_eq!(numbers(trace.summary()), (10, 2, 2, 2));
    assert_eq!(trace.workload_jobs().len(), 2);
    assert_eq!(trace.workload_jobs()[1].spec.arrival, Time(0));
    let applications: Vec<_> = trace.attempts().iter().map(|attempt| attempt.application).collect();
    assert_eq!(applications.iter().filter(|&&number| number == 1).count(), 3);
}

#[test]
fn attempts_of_a_restarted_master_are_not_speculative() {
    let trace = History::begun(Version::V0, 1, 0)
        .start(run('m', 0, 0, 1000, 0))
        .attempt(run('m', 0, 1000, 50_000, 60_000))
        .done(61_000, 1, 0)
        .read();
    assert_eq!(numbers(trace.summary()), (1, 0, 0, 0));
    warning(trace.summary(), "1 attempt was still running when the log ends");
}

#[test]
fn unfinished_jobs_use_the_counters_of_their_attempts() {
    let trace = History::begun(Version::V2, 2, 0)
        .attempt(run('m', 0, 0, 1000, 2000))
        .attempt(run('m', 1, 0, 1000, 2000))
        .attempt(Run { end: "FAILED", ..run('m', 2, 0, 1000, 2000) })
        .read();
    assert_eq!(trace.facts().counters["HDFS_BYTES_READ"], 2000);
    assert_eq!(trace.facts().counters["MAP_INPUT_RECORDS"], 18);
    assert_eq!(
        counters(&[]),
        json!({"name": "COUNTERS", "groups": [{"name": "group", "displayName": "shown", "counts": []}]})
    );
}
