//! Tests with logs that are cut, damaged or long. Small logs, one for each irregularity, are in `tests/it/fixtures/spark/`.

mod damaged;
mod log;
mod spread;

use super::Spark;
use crate::error::TraceError;
use crate::recorder::Wanted;
use log::{Log, Task, counts, read_spark, task, warning};

/// A log of two jobs; the second job has a skipped stage.
const USUAL: &str = include_str!("../../tests/it/fixtures/spark/usual.jsonl");

#[test]
fn summary_keys_are_in_the_documented_order() {
    let json = serde_json::to_string(&counts(USUAL.as_bytes())).unwrap();
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
fn a_log_cut_at_any_byte_is_read_up_to_the_cut() {
    let whole = counts(USUAL.as_bytes());
    for cut in 0..USUAL.len() - 1 {
        let part = &USUAL[..cut];
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
    assert_eq!(counts(USUAL.trim_end().as_bytes()), whole);
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
fn a_description_is_found_before_a_plan_of_any_length() {
    let log = include_str!("../../tests/it/fixtures/spark/ended_query.jsonl");
    let long = log.replace("Exchange", &"x".repeat(3 << 20));
    assert_eq!(counts(long.as_bytes()), counts(log.as_bytes()));
    let names = |log: &str| -> Vec<String> {
        let trace = read_spark(log.as_bytes()).unwrap();
        trace.workload_jobs().iter().map(|job| job.spec.name.to_string()).collect()
    };
    assert_eq!(names(&long), names(log));
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
    let mut last = (0, None);
    let mut on_progress = |read, total| last = (read, total);
    crate::testing::read(&Spark, USUAL.as_bytes(), "test", Wanted::REPLAYS, Some(&mut on_progress)).unwrap();
    assert_eq!(last, (USUAL.len() as u64, None));
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
