//! Tests that the results of real logs match a second, simple count. Skipped unless `HINDMOST_DATA` names the folder
//! with the logs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::reading::{counts_at, counts_of, open, open_stream};
use crate::support::{CODECS, packed};
use hindmost_core::workload::Durations;
use hindmost_trace::recording::Ended;
use serde_json::{Value, json};

fn logs() -> Vec<PathBuf> {
    let Some(folder) = hindmost_testing::data("spark") else { return Vec::new() };
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

/// Returns the counts, from complete parses of all lines.
fn count(text: &str) -> Value {
    let mut jobs = BTreeSet::new();
    let mut stages = BTreeSet::new();
    let mut tasks = BTreeSet::new();
    let mut winners = BTreeMap::new();
    let mut nodes = BTreeSet::new();
    let mut running: BTreeMap<i64, BTreeMap<i64, bool>> = BTreeMap::new();
    let (mut excluded, mut excluded_hosts) = (BTreeSet::new(), BTreeSet::new());
    let (mut attempts, mut speculative, mut failed, mut killed, mut skipped) = (0, 0, 0, 0, 0);
    let (mut from, mut to) = (Value::Null, Value::Null);
    for line in text.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        match name(&event) {
            "ApplicationStart" => from = json!(event["Timestamp"].as_f64().unwrap() / 1000.0),
            "ApplicationEnd" => to = json!(event["Timestamp"].as_f64().unwrap() / 1000.0),
            "JobStart" => {
                let id = event["Job ID"].as_i64().unwrap();
                jobs.insert(id);
                let listed = event["Stage IDs"].as_array().unwrap().iter();
                running.insert(id, listed.map(|stage| (stage.as_i64().unwrap(), false)).collect());
            }
            "JobEnd" => {
                let ended = running.remove(&event["Job ID"].as_i64().unwrap()).unwrap();
                skipped += ended.values().filter(|ran| !**ran).count();
            }
            "StageSubmitted" | "StageCompleted" => {
                let id = event["Stage Info"]["Stage ID"].as_i64().unwrap();
                stages.insert(id);
                running.values_mut().filter_map(|listed| listed.get_mut(&id)).for_each(|ran| *ran = true);
            }
            "ExecutorAdded" => {
                nodes.insert(event["Executor ID"].to_string());
            }
            "org.apache.spark.scheduler.SparkListenerExecutorBlacklisted" => {
                excluded.insert(event["executorId"].to_string());
            }
            "org.apache.spark.scheduler.SparkListenerNodeBlacklisted" => {
                excluded_hosts.insert(event["hostId"].to_string());
            }
            "TaskEnd" => {
                let info = &event["Task Info"];
                let task = (event["Stage ID"].as_i64().unwrap(), info["Index"].as_i64().unwrap());
                tasks.insert(task);
                nodes.insert(info["Executor ID"].to_string());
                attempts += 1;
                speculative += i32::from(info["Speculative"] == true);
                match event["Task End Reason"]["Reason"].as_str().unwrap() {
                    "Success" => {
                        winners.entry(task).or_insert(info["Speculative"] == true);
                    }
                    "TaskKilled" => killed += 1,
                    _ => failed += 1,
                }
            }
            _ => {}
        }
    }
    json!({
        "format": "spark", "jobs": jobs.len(), "stages": stages.len(), "tasks": tasks.len(),
        "attempts": attempts + given_up(text), "speculative_attempts": speculative, "failed_attempts": failed,
        "killed_attempts": killed + given_up(text), "nodes": nodes.len(), "from": from, "to": to, "applications": 1,
        "winners": winners.len(), "speculative_winners": winners.values().filter(|speculative| **speculative).count(),
        "speculation_requests": 0, "skipped_stages": skipped, "resubmitted_stages": 0, "barrier_stages": 0,
        "excluded_executors": excluded.len(), "excluded_nodes": excluded_hosts.len(),
        "outputs_lost": 0, "stages_without_job": 0,
    })
}

/// Returns the number of attempts without an end whose stage failed or which lost against or as a copy: they count as killed.
pub fn given_up(text: &str) -> usize {
    let events: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let of = |kind: &'static str| events.iter().filter(move |event| name(event) == kind);
    let failed: BTreeSet<u64> = of("StageCompleted")
        .filter(|event| event["Stage Info"]["Failure Reason"].is_string())
        .filter_map(|event| event["Stage Info"]["Stage ID"].as_u64())
        .collect();
    let ended: BTreeSet<u64> = of("TaskEnd").filter_map(|event| event["Task Info"]["Task ID"].as_u64()).collect();
    let task = |event: &Value| (event["Stage ID"].as_u64(), event["Task Info"]["Index"].as_u64());
    let is_copy = |event: &Value| event["Task Info"]["Speculative"] == true;
    let won: BTreeMap<_, bool> = of("TaskEnd")
        .filter(|event| event["Task End Reason"]["Reason"] == "Success")
        .map(|event| (task(event), is_copy(event)))
        .collect();
    let runs = |event: &&Value| {
        let has_lost = won.get(&task(event)).is_some_and(|by_copy| *by_copy || is_copy(event));
        event["Task Info"]["Task ID"].as_u64().is_some_and(|id| !ended.contains(&id))
            && (has_lost || event["Stage ID"].as_u64().is_some_and(|stage| failed.contains(&stage)))
    };
    of("TaskStart").filter(runs).count()
}

#[test]
fn counts_match_a_complete_parse_of_all_lines() {
    for path in logs() {
        let expected = count(&fs::read_to_string(&path).unwrap());
        for summary in [counts_at(&path, None).unwrap(), open(&path).unwrap().summary().clone()] {
            let mut counted = serde_json::to_value(&summary).unwrap();
            let counted_keys = counted.as_object_mut().unwrap();
            for key in ["warnings", "failures", "killed_by"] {
                counted_keys.shift_remove(key);
            }
            assert_eq!(summary.failures.values().sum::<u64>(), summary.failed_attempts);
            assert_eq!(summary.killed_by.values().sum::<u64>(), summary.killed_attempts);
            assert_eq!(counted, expected, "{}", path.display());
        }
    }
}

#[test]
fn compressed_and_rolling_logs_give_the_same_counts() {
    let home = tempfile::tempdir().unwrap();
    for path in logs() {
        let plain = counts_at(&path, None).unwrap();
        let bytes = fs::read(&path).unwrap();
        for codec in CODECS {
            let file = home.path().join(codec);
            fs::write(&file, packed(codec, &bytes)).unwrap();
            assert_eq!(counts_at(&file, None).unwrap(), plain, "{} in {codec}", path.display());
            let folder = roll(home.path(), &bytes, codec);
            assert_eq!(counts_at(&folder, None).unwrap(), plain, "{} rolled in {codec}", path.display());
        }
    }
}

#[test]
fn indented_logs_and_arrays_give_the_same_counts() {
    for path in logs() {
        let plain = counts_at(&path, None).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let indented: Vec<_> = events.iter().map(|event| serde_json::to_string_pretty(event).unwrap()).collect();
        let array = serde_json::to_string(&events).unwrap();
        let both = serde_json::to_string_pretty(&events).unwrap();
        for log in [indented.join("\n"), array, both] {
            assert_eq!(counts_of(log.as_bytes()).unwrap(), plain, "{}", path.display());
        }
    }
}

/// Splits the log over a dozen files of a rolling log.
fn roll(home: &Path, bytes: &[u8], codec: &str) -> PathBuf {
    let folder = home.join("eventlog_v2_app");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir(&folder).unwrap();
    let lines: Vec<&[u8]> = bytes.split_inclusive(|&byte| byte == b'\n').collect();
    for (number, part) in lines.chunks(lines.len().div_ceil(12)).enumerate() {
        fs::write(folder.join(format!("events_{}_app.{codec}", number + 1)), packed(codec, &part.concat())).unwrap();
    }
    folder
}

#[test]
fn counts_of_a_directory_are_sums_over_applications() {
    let logs = logs();
    let Some(folder) = logs.first().and_then(|log| log.parent()) else {
        return;
    };
    let all = counts_at(folder, None).unwrap();
    let each: Vec<_> = logs.iter().map(|log| counts_at(log, None).unwrap()).collect();
    assert_eq!(all.spark.unwrap().applications, logs.len() as u64);
    assert_eq!(all.attempts, each.iter().map(|one| one.attempts).sum::<u64>());
    assert_eq!(all.tasks, each.iter().map(|one| one.tasks).sum::<u64>());
    assert_eq!(all.nodes, each.iter().map(|one| one.nodes).sum::<u64>());
    assert_eq!(all.speculative_attempts, each.iter().map(|one| one.speculative_attempts).sum::<u64>());
}

#[test]
fn jobs_of_adaptive_queries_are_joined() {
    let Some(path) = log("aqeshuffle_eventlog") else {
        return;
    };
    let trace = open(&path).unwrap();
    let [job] = trace.workload_jobs() else { panic!("one query") };
    assert_eq!(&*job.spec.name, "jobs 0-3: count at <console>:25");
    let after: Vec<_> = job.spec.phases.iter().map(|phase| phase.after.clone()).collect();
    assert_eq!(after, [vec![], vec![], vec![0, 1], vec![2]]);
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
        let trace = open(&path).unwrap();
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
fn originals_that_lost_to_speculative_copies_are_found() {
    let Some(path) = log("straggler-app-20261121002735-0000") else {
        return;
    };
    let trace = open(&path).unwrap();
    let mut copied: Vec<_> = trace.attempts().into_iter().filter(|row| row.speculative || !row.wins).collect();
    copied.sort_by(|a, b| a.start.total_cmp(&b.start));
    let outcomes: Vec<_> = copied.iter().map(|row| (row.speculative, row.ended, row.wins)).collect();
    let (lost, won) = ((false, Ended::Killed, false), (true, Ended::Succeeded, true));
    assert_eq!(outcomes, [lost, lost, won, won]);
    assert!(trace.cluster_nodes().iter().all(|node| node.slots == 2));
}

#[test]
fn real_logs_cut_anywhere_are_read() {
    for path in logs() {
        let bytes = fs::read(&path).unwrap();
        for part in 1..=20 {
            let cut = bytes.len() * part / 21;
            let trace = open_stream(&bytes[..cut], "cut").unwrap();
            assert!(!trace.summary().warnings.is_empty(), "{} at {cut}", path.display());
            let text = String::from_utf8_lossy(&bytes[..cut]);
            let ends = text
                .lines()
                .filter_map(|line| serde_json::from_str::<Value>(line).ok())
                .filter(|event| name(event) == "TaskEnd")
                .count();
            assert_eq!(trace.summary().attempts, (ends + given_up(&text)) as u64, "{} at {cut}", path.display());
        }
    }
}
