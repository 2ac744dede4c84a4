//! Tests with small logs, one for each irregularity.

mod damaged;
mod findings;
mod log;
mod lost;
mod oddities;
mod spread;
mod sql;
mod stages;

use std::fmt::Write as _;

use hindmost_core::time::Time;

use super::Spark;
use crate::error::TraceError;
use crate::recorder::Wanted;
use crate::testing::Outcome;
use log::{Log, Task, ZERO, counts, read_spark, recorded, task, warning};

/// Returns a log of two jobs; the second job has a skipped stage.
fn usual() -> Log {
    Log::new()
        .executor("1", 4)
        .executor("2", 4)
        .job(0, 1000, &[(0, &[]), (1, &[0])])
        .stage(0, &[])
        .task(task(0, 1, 1010, 2010))
        .task(task(0, 0, 1000, 4000))
        .stage(1, &[0])
        .task(task(1, 0, 4000, 4500))
        .job_end(0, 4500)
        .job(1, 5000, &[(2, &[]), (3, &[2]), (4, &[3])])
        .stage(2, &[])
        .task(task(2, 0, 5000, 6000))
        .stage(4, &[3])
        .task(task(4, 0, 6000, 7000))
        .job_end(1, 7000)
        .end(8000)
}

#[test]
fn jobs_have_phases_that_wait_for_each_other() {
    let trace = usual().read();
    let summary = trace.summary();
    assert_eq!(summary.warnings, [""; 0]);
    assert_eq!((summary.jobs, summary.stages, summary.tasks), (2, 4, 5));
    assert_eq!((summary.attempts, summary.nodes), (5, 2));
    let seconds = ZERO as f64 / 1000.0;
    assert_eq!((summary.from, summary.to), (Some(seconds), Some(seconds + 8.0)));
    assert_eq!(trace.origin(), seconds + 1.0);
    assert_eq!(trace.version(), Some("4.0.0"));

    let [first, second] = trace.workload_jobs() else { panic!("two jobs") };
    assert_eq!((&*first.spec.name, first.spec.arrival), ("job 0", Time::ZERO));
    assert_eq!(second.spec.arrival, Time::from_seconds(4.0));
    let phase = &first.spec.phases[0];
    assert_eq!((&*phase.name, phase.tasks), ("stage 0: count at A.scala:0", 2));
    assert_eq!((phase.mean, phase.sd), (2.0, Some(1.0)));
    assert_eq!(recorded(&first.durations[0]), [3.0, 1.0]);
    assert_eq!((first.spec.phases[1].after.as_slice(), first.spec.phases[1].sd), (&[0][..], None));
    // Stage 4 waits for the skipped stage 3, and therefore for stage 2, the parent of stage 3.
    assert_eq!(second.spec.phases.len(), 2);
    assert_eq!(second.spec.phases[1].after, [0]);

    let node = &trace.cluster_nodes()[0];
    assert_eq!((node.name.as_str(), node.host.as_str(), node.slots), ("1", "h1", 4));
    assert_eq!(node.added, Some(-1.0));
}

#[test]
fn summary_keys_are_in_the_documented_order() {
    let json = serde_json::to_string(usual().read().summary()).unwrap();
    let keys =
        "format jobs stages tasks attempts speculative_attempts failed_attempts killed_attempts nodes from to warnings";
    let mut from = 0;
    for key in keys.split(' ') {
        let at = json[from..].find(&format!("\"{key}\":")).unwrap_or_else(|| panic!("{key} in {json}"));
        from += at;
    }
    assert!(json.starts_with(r#"{"format":"spark","jobs":2,"#));
}

#[test]
fn losers_and_speculative_attempts_are_distinguished() {
    let log = Log::new()
        .executor("1", 2)
        .job(0, 0, &[(0, &[])])
        .stage(0, &[])
        // A speculative copy wins, and the original is killed.
        .task(Task { attempt: 1, speculative: true, ..task(0, 0, 500, 900) })
        .task(Task { reason: "TaskKilled", ..task(0, 0, 0, 950) })
        // Two attempts succeed; the one recorded later finished first.
        .task(Task { attempt: 1, speculative: true, ..task(0, 1, 100, 800) })
        .task(task(0, 1, 0, 700))
        // A failure, then a success, and another success after the output was lost.
        .task(Task { reason: "ExceptionFailure", ..task(0, 2, 0, 300) })
        .task(Task { attempt: 1, ..task(0, 2, 310, 400) })
        .task(Task { attempt: 2, ..task(0, 2, 450, 500) })
        // The attempt is killed, and no attempt of the task succeeds.
        .task(Task { reason: "TaskKilled", ..task(0, 3, 0, 1000) })
        .end(1000);
    let trace = log.read();
    let summary = trace.summary();
    assert_eq!((summary.tasks, summary.attempts), (4, 8));
    assert_eq!(summary.speculative_attempts, 2);
    assert_eq!((summary.failed_attempts, summary.killed_attempts), (1, 2));
    assert!(warning(summary, "never succeeded").starts_with("1 task "));
    assert_eq!(recorded(&trace.workload_jobs()[0].durations[0]), [0.4, 0.7, 0.09]);
    let attempts: Vec<_> = trace.attempts().iter().map(|a| (a.task, a.attempt, a.speculative, a.outcome)).collect();
    assert_eq!(
        attempts,
        [
            (0, 0, false, Outcome::Lost),
            (2, 0, false, Outcome::Failed),
            (3, 0, false, Outcome::Killed),
            (1, 1, true, Outcome::Lost),
            (2, 2, false, Outcome::Repeated),
            (0, 1, true, Outcome::Won),
        ]
    );
    assert_eq!(trace.attempts()[0].node, Some(0));
    assert_eq!((trace.attempts()[0].launch, trace.attempts()[0].finish), (Some(0.0), Some(0.95)));
}

#[test]
fn a_stage_submitted_again_counts_once_and_by_partition() {
    let first = |index, finish| Task { partition: Some(index), ..task(0, index, 0, finish) };
    let again =
        |index, partition, finish| Task { stage_attempt: 1, partition: Some(partition), ..task(0, index, 200, finish) };
    let log = Log::new()
        .executor("1", 2)
        .job(0, 0, &[(0, &[])])
        .stage(0, &[])
        .task(first(0, 100))
        .task(first(1, 110))
        .task(again(0, 1, 500))
        .task(again(1, 2, 600))
        .end(1000);
    let trace = log.read();
    assert_eq!((trace.summary().stages, trace.summary().tasks), (1, 3));
    warning(trace.summary(), "1 stage was submitted more than once");
    assert_eq!(recorded(&trace.workload_jobs()[0].durations[0]), [0.1, 0.11, 0.4]);
    assert_eq!(trace.attempts()[0].outcome, Outcome::Repeated);
}

#[test]
fn a_shared_stage_runs_for_the_first_job_that_lists_it() {
    let log = Log::new()
        .executor("1", 2)
        .job(0, 0, &[(0, &[])])
        .job(1, 10, &[(0, &[]), (1, &[0])])
        .stage(0, &[])
        .task(task(0, 0, 10, 20))
        .job_end(0, 20)
        .stage(1, &[0])
        .task(task(1, 0, 20, 30))
        .job_end(1, 30)
        .job(2, 40, &[(0, &[])])
        .job_end(2, 41)
        .end(50);
    let trace = log.read();
    assert_eq!(trace.summary().jobs, 3);
    warning(trace.summary(), "1 job has no task that succeeded");
    let jobs = trace.workload_jobs();
    assert_eq!(jobs.len(), 2);
    assert_eq!(&*jobs[1].spec.phases[0].name, "stage 1: count at A.scala:1");
    assert_eq!(jobs[1].spec.phases[0].after, [0_u32; 0]);
}

#[test]
fn a_job_without_submission_time_arrives_at_first_launch() {
    let log = Log::new()
        .executor("1", 2)
        .event("JobStart", r#""Job ID":0,"Stage IDs":[0]"#)
        .task(task(0, 1, 130, 190))
        .task(task(0, 0, 110, 210))
        .event("JobEnd", r#""Job ID":0"#)
        .event("JobStart", r#""Job ID":1,"Stage IDs":[1]"#)
        .task(task(1, 0, 310, 320))
        .end(400);
    let trace = log.read();
    let arrivals: Vec<_> = trace.workload_jobs().iter().map(|job| job.spec.arrival).collect();
    assert_eq!(arrivals, [Time::ZERO, Time::from_seconds(0.2)]);
    warning(trace.summary(), "2 stages do not name parent stages");
}

#[test]
fn cycles_of_stages_are_broken() {
    let log = Log::new()
        .executor("1", 2)
        .job(0, 0, &[(0, &[2]), (1, &[0]), (2, &[1])])
        .stage(0, &[2])
        .task(task(0, 0, 0, 10))
        .task(task(1, 0, 0, 10))
        .task(task(2, 0, 0, 10))
        .end(50);
    let trace = log.read();
    warning(trace.summary(), "1 cycle of stages");
    let phases = &trace.workload_jobs()[0].spec.phases;
    let after: Vec<_> = phases.iter().map(|phase| phase.after.clone()).collect();
    assert_eq!(after, [vec![], vec![0], vec![1]]);
}

#[test]
fn a_log_cut_at_any_byte_is_read_up_to_the_cut() {
    let log = usual().0;
    let whole = counts(log.as_bytes());
    for cut in 0..log.len() - 1 {
        let part = &log[..cut];
        let complete = part.lines().filter(|line| serde_json::from_str::<serde_json::Value>(line).is_ok());
        let ends = complete.clone().filter(|line| line.contains("TaskEnd")).count() as u64;
        match read_spark(part.as_bytes()) {
            Ok(trace) => {
                assert_eq!(trace.summary().attempts, ends, "cut at {cut}");
                let cut_in = part.lines().count();
                let warned = trace.summary().warnings.iter().any(|warning| {
                    warning.contains(&format!("cut short in line {cut_in};"))
                        || warning.contains("The end of the application is missing")
                });
                assert!(warned, "cut at {cut}: {:?}", trace.summary().warnings);
            }
            Err(TraceError::NothingComplete { line: 1, .. } | TraceError::Empty { .. }) => {
                assert_eq!(complete.count(), 0, "cut at {cut}");
            }
            Err(error) => panic!("cut at {cut}: {error}"),
        }
    }
    assert_eq!(counts(log.trim_end().as_bytes()), whole);
}

#[test]
fn line_ends_blank_lines_and_key_order_do_not_matter() {
    let log = usual().0;
    let whole = counts(log.as_bytes());
    let windows = format!("\u{feff}\n{}", log.replace('\n', "\r\n \r\n"));
    assert_eq!(counts(windows.as_bytes()), whole);
    let mut sorted = String::new();
    for line in log.lines() {
        // Sorts the keys: "App ID" comes before "Event".
        let mut value: serde_json::Value = serde_json::from_str(line).unwrap();
        value.sort_all_objects();
        writeln!(sorted, "{value}").unwrap();
    }
    assert!(sorted.contains(r#"{"App ID":"#));
    assert_eq!(counts(sorted.as_bytes()), whole);
}

#[test]
fn lines_that_are_no_events_are_skipped_with_a_warning() {
    let mut log = Vec::new();
    for (number, line) in usual().0.lines().enumerate() {
        match number {
            3 => log.extend_from_slice(b"WARN something else\n"),
            4 => log.extend_from_slice(b"{\"Event\":\"SparkListenerTaskEnd\",\"Stage\n"),
            5 => log.extend_from_slice(b"{\"Event\":\"SparkListenerTaskStart\",\n"),
            6 => log.extend_from_slice(b"[1]\n{\"a\":1}\n\xff\xfe\x00\n"),
            _ => {}
        }
        log.extend_from_slice(line.as_bytes());
        log.push(b'\n');
    }
    let read = counts(log.as_slice());
    assert_eq!(read.attempts, 5);
    assert_eq!(
        read.warnings,
        ["6 lines were skipped, because they can't be read as Spark events; the first is line 4: not a JSON object."]
    );
}

#[test]
fn invalid_utf8_is_replaced_in_fields_that_are_read() {
    let marked = usual().0.replace("count at", "COUNT").replace("TaskMetrics", "X");
    let mut log = Vec::new();
    for part in marked.split_inclusive("COUNT") {
        log.extend_from_slice(part.trim_end_matches("COUNT").as_bytes());
        if part.ends_with("COUNT") {
            log.push(0xff);
        }
    }
    let trace = read_spark(log.as_slice()).unwrap();
    assert_eq!((trace.summary().jobs, trace.summary().stages), (2, 4));
    warning(trace.summary(), "not valid UTF-8");
    assert_eq!(&*trace.workload_jobs()[0].spec.phases[0].name, "stage 0: \u{fffd} A.scala:0");
}

#[test]
fn applications_in_one_file_are_counted_separately() {
    let second = usual().0.replace("app-1", "app-2");
    let log = Log(format!("{}{second}", usual().0));
    let trace = log.read();
    let summary = trace.summary();
    assert_eq!((summary.jobs, summary.stages, summary.tasks, summary.nodes), (4, 8, 10, 4));
    warning(summary, "holds 2 applications");
    let names: Vec<_> = trace.workload_jobs().iter().map(|job| &*job.spec.name).collect();
    assert_eq!(names, ["app-1 job 0", "app-2 job 0", "app-1 job 1", "app-2 job 1"]);
    assert_eq!(trace.cluster_nodes()[2].name, "app-2 1");
}

#[test]
fn giant_lines_are_read_or_skipped() {
    let filler = "\u{e4}".repeat(1 << 20);
    let plan = format!(r#""physicalPlanDescription":"{filler}""#);
    let mut log = Log::new().event("UnheardOf", &plan);
    log = log.event("JobStart", &format!(r#""Details":"{filler}","Job ID":0,"Stage IDs":[0]"#));
    log = log.line(&filler).task(task(0, 0, 0, 10)).event("UnheardOf", &plan);
    let summary = log.read().summary().clone();
    assert_eq!((summary.jobs, summary.tasks), (1, 1));
    warning(&summary, "1 line was skipped, because it can't be read as a Spark event; the first is line 5");
}

#[test]
fn files_that_are_no_log_are_refused() {
    let said = |bytes: &[u8]| read_spark(bytes).unwrap_err().to_string();
    assert!(said(b"").contains("is empty"));
    assert!(said(b"\n \n").contains("is empty"));
    assert!(said(b"{\"a\":1}\n{\"a\":2}\n").contains(r#"line 1 is a JSON object with the keys "a""#));
    assert!(said(b"\n\njob,arrival\n").contains(r#"line 3 is the text "job,arrival""#));
    assert!(said(b"{\"Event\":\"com.example.Mine\"}").contains("isn't Spark's"));
    assert!(said(b"{\"Event\":\"SparkListenerLogSt").contains("no complete event"));
    assert!(said(b"{\"other\":\"SparkListenerLogSt").contains("none that can be read"));
    assert!(said("x".repeat(9 << 20).as_bytes()).contains("very long text"));
    assert!(said(b"a\0b").contains("not a text file"));
    for bytes in [&b"job,arrival\n"[..], b"Obj\x01avro", b"{\"name\":\"<root>\",\"children\":[]}\n", b""] {
        let said = said(bytes);
        assert!(said.contains("Hadoop job history (.jhist") && said.contains("Rumen trace"), "{said}");
    }
}

#[test]
fn progress_ends_at_the_length_of_the_log() {
    let log = usual().0;
    let mut last = (0, None);
    let mut on_progress = |read, total| last = (read, total);
    crate::testing::read(&Spark, log.as_bytes(), "test", Wanted::REPLAYS, Some(&mut on_progress)).unwrap();
    assert_eq!(last, (log.len() as u64, None));
}
