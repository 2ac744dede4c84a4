//! Tests with logs whose events span several lines, or are the elements of an array.

use serde_json::Value;

use super::USUAL;
use super::log::{counts, diagnose_spark, read_spark, warning};
use crate::error::TraceError;

fn events() -> Vec<Value> {
    USUAL.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the events in several lines each, with a line feed after each event.
fn indented(events: &[Value]) -> String {
    events.iter().map(|event| serde_json::to_string_pretty(event).unwrap() + "\n").collect()
}

#[test]
fn events_in_any_layout_give_the_same_counts() {
    let events = events();
    let (whole, findings, _) = diagnose_spark(USUAL.as_bytes()).unwrap();
    let jobs = read_spark(USUAL.as_bytes()).unwrap().workload_jobs().to_vec();
    let mut sorted = events.clone();
    sorted.iter_mut().for_each(Value::sort_all_objects);
    let lines: Vec<&str> = USUAL.lines().collect();
    for log in [
        indented(&events),
        indented(&events).replace('\n', "\r\n"),
        indented(&events).replace("}\n{", "}{"),
        // Without indentation, nested objects begin like events.
        indented(&events).lines().map(|line| line.trim_start().to_owned() + "\n").collect(),
        indented(&sorted),
        serde_json::to_string(&events).unwrap(),
        serde_json::to_string_pretty(&events).unwrap(),
        format!("\u{feff}\n [\n{}\n]\n", lines.join(",\n")),
    ] {
        let (summary, same, _) = diagnose_spark(log.as_bytes()).unwrap();
        assert_eq!((summary, same), (whole.clone(), findings.clone()), "{log}");
        assert_eq!(read_spark(log.as_bytes()).unwrap().workload_jobs(), jobs);
    }
}

#[test]
fn an_indented_log_cut_anywhere_is_read_up_to_the_cut() {
    let events = events();
    let log = serde_json::to_string_pretty(&events).unwrap();
    let mut ends = vec![];
    for cut in 0..log.len() {
        match read_spark(&log.as_bytes()[..cut]) {
            Ok(trace) => {
                let summary = trace.summary();
                // Only the array's bracket is missing if the last event is complete.
                assert!(!summary.warnings.is_empty() || cut >= log.len() - 2, "cut at {cut}");
                ends.push(summary.attempts);
            }
            Err(
                TraceError::NothingComplete { .. } | TraceError::Empty { .. } | TraceError::NotSpark { line: 1, .. },
            ) => assert!(ends.is_empty(), "cut at {cut}"),
            Err(error) => panic!("cut at {cut}: {error}"),
        }
    }
    assert!(ends.is_sorted() && ends.last() == Some(&5), "{ends:?}");
    let cut = counts(&log.as_bytes()[..log.len() - 30]);
    warning(&cut, &format!("The log is cut short in object {};", events.len()));
}

#[test]
fn of_indented_events_only_incomplete_ones_are_lost() {
    let log = serde_json::to_string_pretty(&events()).unwrap();
    // The first task end breaks off.
    let at = log.find("\"Executor ID\": \"1\",\n      \"Host\": \"h\"").unwrap();
    let next = at + log[at..].find("\n  {\n").unwrap();
    let broken = format!("{}\"Executor I{}", &log[..at], &log[next..]);
    let summary = counts(broken.as_bytes());
    assert_eq!(summary.attempts, 4);
    warning(&summary, "1 object was skipped, because it can't be read as a Spark event; the first is object 8");
}
