//! Reads real logs, and compares the results with a list of another program. Counts are in `tests/it/fixtures/real/`. Skipped unless
//! `HINDMOST_DATA` names the folder with the logs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use hindmost_core::workload::Durations;
use serde_json::{Value, json};

use super::super::{Hadoop, HadoopFormat, sniff};
use super::{counted, counts, find, numbers, open};
use crate::testing::Trace;

fn log(name: &str) -> Option<PathBuf> {
    let mut all: Vec<PathBuf> =
        fs::read_dir(hindmost_testing::data("hadoop")?).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.sort();
    let found = all.into_iter().find(|path| path.file_name().unwrap().to_string_lossy().starts_with(name));
    Some(found.unwrap_or_else(|| panic!("no {name}")))
}

#[test]
fn counts_match_a_separate_list_of_attempts() {
    let Some(list) = log("rumen_attempts_flat.csv") else { return };
    let list = fs::read_to_string(list).unwrap();
    let header: Vec<&str> = list.lines().next().unwrap().split(',').collect();
    let rows: Vec<BTreeMap<&str, &str>> =
        list.lines().skip(1).map(|line| header.iter().copied().zip(line.split(',')).collect()).collect();
    let files: BTreeSet<&str> = rows.iter().map(|row| row["file"]).collect();
    assert_eq!(files.len(), 3);
    for file in files {
        let of_file = || rows.iter().filter(|row| row["file"] == file);
        let counting = || of_file().filter(|row| row["type"] != "other");
        let count = |result: &str| counting().filter(|row| row["result"] == result).count() as u64;
        let tasks: BTreeSet<&str> = counting().map(|row| row["task"]).collect();
        let won: BTreeSet<&str> = counting().filter(|row| row["result"] == "SUCCESS").map(|row| row["task"]).collect();
        // A task with overlapping attempts has two attempts; one of them is speculative.
        let overlapping: BTreeSet<&str> =
            counting().filter(|row| row["overlaps_other_attempt"] == "1").map(|row| row["task"]).collect();
        let trace = match hindmost_testing::data("hadoop").unwrap().join(file) {
            path if path.exists() => open(&path, None).unwrap(),
            // If the log itself is missing, a trace is built from the list.
            _ => Trace::read(&Hadoop, rumen_of(of_file()).as_bytes(), "log").unwrap(),
        };
        let summary = trace.summary();
        assert_eq!(
            numbers(summary),
            (counting().count() as u64, overlapping.len() as u64, count("FAILED"), count("KILLED")),
            "{file}"
        );
        assert_eq!(summary.tasks, tasks.len() as u64);
        assert_eq!(trace.facts().winners, won.len() as u64);
        assert_eq!(trace.facts().setup_and_cleanup.attempts, (of_file().count() - counting().count()) as u64);
        let losers = counting().filter(|row| row["result"] == "KILLED" && won.contains(row["task"])).count();
        assert_eq!(trace.facts().killed_losers, losers as u64);
        let mut seconds: Vec<f64> = Vec::new();
        for job in trace.workload_jobs() {
            if let Durations::Recorded(of_maps) = &job.durations[0] {
                seconds.extend(of_maps);
            }
        }
        let mut expected: Vec<f64> = counting()
            .filter(|row| row["type"] == "map" && row["result"] == "SUCCESS")
            .map(|row| row["duration_ms"].parse::<f64>().unwrap().max(1.0) / 1000.0)
            .collect();
        seconds.sort_by(f64::total_cmp);
        expected.sort_by(f64::total_cmp);
        if file != "folder-input-trace.json.gz" {
            assert_eq!(seconds, expected, "{file}");
        }
        assert!(expected.iter().all(|duration| seconds.contains(duration)), "{file}");
    }
}

/// Builds a pretty-printed Rumen trace from attempts in a list.
fn rumen_of<'a>(rows: impl Iterator<Item = &'a BTreeMap<&'a str, &'a str>>) -> String {
    let mut jobs: BTreeMap<&str, BTreeMap<&str, BTreeMap<&str, Vec<Value>>>> = BTreeMap::new();
    let mut submitted: BTreeMap<&str, i64> = BTreeMap::new();
    for row in rows {
        let time = |name: &str| row[name].parse::<i64>().unwrap();
        submitted.insert(row["job"], time("job_submit_ms"));
        let attempt = json!({"attemptID": row["attempt"], "result": row["result"], "hostName": row["host"],
            "startTime": time("start_ms"), "finishTime": time("finish_ms"), "location": null});
        let tasks = jobs.entry(row["job"]).or_default().entry(row["type"]).or_default();
        tasks.entry(row["task"]).or_default().push(attempt);
    }
    let mut text = String::new();
    for (id, of_job) in jobs {
        let list = |kind: &str| -> Vec<Value> {
            let tasks = of_job.get(kind).into_iter().flatten();
            tasks.map(|(task, attempts)| json!({"attempts": attempts, "taskID": task})).collect()
        };
        let job = json!({"priority": "NORMAL", "jobID": id, "submitTime": submitted[id], "outcome": "SUCCESS",
            "mapTasks": list("map"), "reduceTasks": list("reduce"), "otherTasks": list("other")});
        text += &serde_json::to_string_pretty(&job).unwrap();
        text.push('\n');
    }
    text
}

#[test]
fn real_logs_cut_anywhere_are_read() {
    for (name, step) in [("job_1329348432655", 1999), ("job_1479206441898", 499), ("2jobs2min", 19_999)] {
        let Some(path) = log(name) else { return };
        let bytes = fs::read(path).unwrap();
        let mut last = 0;
        for cut in (0..bytes.len()).step_by(step) {
            let read = counted(&bytes[..cut]);
            let Ok((summary, _)) = read else {
                assert!(last == 0, "{name} at {cut}: {:?}", read.err());
                continue;
            };
            assert!(!summary.warnings.is_empty(), "{name} at {cut}");
            assert!(summary.attempts >= last, "{name} at {cut}");
            last = summary.attempts;
            let marks: &[u8] = if name.starts_with("job_") { b"_ATTEMPT_FINISHED\"" } else { b"\"taskStatus\"" };
            // All complete records are counted; only the last record may be incomplete.
            let whole = memchr::memmem::find_iter(&bytes[..cut], marks).count() as u64;
            let schema = u64::from(name.starts_with("job_")) * 4;
            assert!(summary.attempts + 1 + schema >= whole, "{name} at {cut}: {} of {whole}", summary.attempts);
        }
        assert!(last > 0);
    }
}

#[test]
fn spark_logs_are_not_recognised_as_hadoop_logs() {
    let Some(folder) = hindmost_testing::data("hadoop") else { return };
    let spark = folder.parent().unwrap().join("spark");
    for entry in fs::read_dir(&spark).unwrap() {
        let path = entry.unwrap().path();
        assert!(!find(&path).unwrap(), "{}", path.display());
        let bytes = fs::read(&path).unwrap();
        assert_eq!(sniff(&bytes), None::<HadoopFormat>);
    }
    let error = counts(&spark).unwrap_err().to_string();
    assert!(error.contains("holds no Hadoop log"), "{error}");
}
