//! Real logs, counted a second time in the plainest way. Skipped unless `HINDMOST_DATA` names the
//! folder that holds them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use hindmost_core::workload::Durations;
use hindmost_trace::Outcome;
use hindmost_trace::spark::{open, read_spark, summarize};
use serde_json::{Value, json};

fn logs() -> Vec<PathBuf> {
    let Some(data) = std::env::var_os("HINDMOST_DATA") else {
        let test = std::thread::current();
        println!("{} skipped: HINDMOST_DATA is not set", test.name().unwrap_or("test"));
        return Vec::new();
    };
    // A relative folder is meant from the workspace's.
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(data).join("spark");
    let mut logs: Vec<_> = fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .collect();
    logs.sort();
    logs
}

fn log(name: &str) -> Option<PathBuf> {
    logs().into_iter().find(|path| path.ends_with(name))
}

fn name(event: &Value) -> &str {
    event["Event"].as_str().unwrap().trim_start_matches("SparkListener")
}

/// The counts, from every line parsed whole.
fn count(text: &str) -> Value {
    let mut jobs = BTreeSet::new();
    let mut stages = BTreeSet::new();
    let mut tasks = BTreeSet::new();
    let mut nodes = BTreeSet::new();
    let (mut attempts, mut speculative, mut failed, mut killed) = (0, 0, 0, 0);
    let (mut from, mut to) = (Value::Null, Value::Null);
    for line in text.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        match name(&event) {
            "ApplicationStart" => from = json!(event["Timestamp"].as_f64().unwrap() / 1000.0),
            "ApplicationEnd" => to = json!(event["Timestamp"].as_f64().unwrap() / 1000.0),
            "JobStart" => {
                jobs.insert(event["Job ID"].as_i64().unwrap());
            }
            "StageSubmitted" | "StageCompleted" => {
                stages.insert(event["Stage Info"]["Stage ID"].as_i64().unwrap());
            }
            "ExecutorAdded" => {
                nodes.insert(event["Executor ID"].to_string());
            }
            "TaskEnd" => {
                let info = &event["Task Info"];
                tasks.insert((event["Stage ID"].as_i64().unwrap(), info["Index"].as_i64().unwrap()));
                nodes.insert(info["Executor ID"].to_string());
                attempts += 1;
                speculative += i32::from(info["Speculative"] == true);
                match event["Task End Reason"]["Reason"].as_str().unwrap() {
                    "Success" => {}
                    "TaskKilled" => killed += 1,
                    _ => failed += 1,
                }
            }
            _ => {}
        }
    }
    json!({
        "format": "spark", "jobs": jobs.len(), "stages": stages.len(), "tasks": tasks.len(),
        "attempts": attempts, "speculative_attempts": speculative, "failed_attempts": failed,
        "killed_attempts": killed, "nodes": nodes.len(), "from": from, "to": to,
    })
}

#[test]
fn counts_are_exact() {
    for path in logs() {
        let expected = count(&fs::read_to_string(&path).unwrap());
        for summary in [summarize(&path, None).unwrap(), open(&path, None).unwrap().summary().clone()] {
            let mut counted = serde_json::to_value(&summary).unwrap();
            counted.as_object_mut().unwrap().remove("warnings");
            assert_eq!(counted, expected, "{}", path.display());
        }
    }
}

#[test]
fn durations_are_those_of_the_first_success() {
    for path in logs() {
        let mut winners: BTreeMap<(i64, i64), (i64, i64)> = BTreeMap::new();
        for line in fs::read_to_string(&path).unwrap().lines() {
            let event: Value = serde_json::from_str(line).unwrap();
            if name(&event) != "TaskEnd" || event["Task End Reason"]["Reason"] != "Success" {
                continue;
            }
            let field = |name: &str| event["Task Info"][name].as_i64().unwrap();
            let (launch, finish) = (field("Launch Time"), field("Finish Time"));
            let winner =
                winners.entry((event["Stage ID"].as_i64().unwrap(), field("Index"))).or_insert((launch, finish));
            if finish < winner.1 {
                *winner = (launch, finish);
            }
        }
        let mut expected: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for ((stage, _), (launch, finish)) in winners {
            let seconds = (finish - launch).max(1) as f64 / 1000.0;
            expected.entry(format!("stage {stage}")).or_default().push(seconds);
        }
        let trace = open(&path, None).unwrap();
        let mut read = BTreeMap::new();
        for job in trace.workload_jobs() {
            for (phase, durations) in job.spec.phases.iter().zip(&job.durations) {
                let Durations::Recorded(seconds) = durations else { panic!("recorded") };
                assert_eq!(seconds.len(), phase.tasks as usize);
                let stage = phase.name.split(':').next().unwrap();
                assert!(read.insert(stage.to_owned(), seconds.clone()).is_none());
            }
            for (index, phase) in job.spec.phases.iter().enumerate() {
                assert!(phase.after.iter().all(|&parent| (parent as usize) < index));
            }
        }
        assert_eq!(read, expected, "{}", path.display());
    }
}

#[test]
fn copies_that_lost_to_speculation_are_found() {
    let Some(path) = log("straggler-app-20261121002735-0000") else {
        return;
    };
    let trace = open(&path, None).unwrap();
    let outcomes: Vec<_> = trace.attempts().iter().map(|a| (a.speculative, a.outcome)).collect();
    let lost = (false, Outcome::Lost);
    let won = (true, Outcome::Won);
    assert_eq!(outcomes, [lost, lost, won, won]);
    assert!(trace.cluster_nodes().iter().all(|node| node.slots == 2));
}

#[test]
fn real_logs_cut_anywhere_are_read() {
    for path in logs() {
        let bytes = fs::read(&path).unwrap();
        for part in 1..=20 {
            let cut = bytes.len() * part / 21;
            let trace = read_spark(&bytes[..cut], "cut", None).unwrap();
            assert!(!trace.summary().warnings.is_empty(), "{} at {cut}", path.display());
            let text = String::from_utf8_lossy(&bytes[..cut]);
            let ends = text
                .lines()
                .filter_map(|line| serde_json::from_str::<Value>(line).ok())
                .filter(|event| name(event) == "TaskEnd")
                .count();
            assert_eq!(trace.summary().attempts, ends as u64, "{} at {cut}", path.display());
        }
    }
}
