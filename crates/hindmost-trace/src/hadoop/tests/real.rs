//! Reads real logs, and compares the results with counts from other programs. Skipped unless `HINDMOST_DATA` names the
//! folder with the logs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use hindmost_core::workload::Durations;
use serde_json::{Value, json};

use super::super::{Hadoop, HadoopFormat, Locality, sniff};
use super::{counted, counts, find, numbers, open, warning};
use crate::summary::TraceSummary;
use crate::testing::Trace;

fn log(name: &str) -> Option<PathBuf> {
    let mut all: Vec<PathBuf> =
        fs::read_dir(hindmost_testing::data("hadoop")?).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.sort();
    let found = all.into_iter().find(|path| path.file_name().unwrap().to_string_lossy().starts_with(name));
    Some(found.unwrap_or_else(|| panic!("no {name}")))
}

fn as_json(summary: &TraceSummary) -> Value {
    let mut value = serde_json::to_value(summary).unwrap();
    value.as_object_mut().unwrap().remove("warnings");
    // The counts that only Hadoop logs have are tested separately.
    if let Some(all) = value.as_object_mut() {
        all.remove("hadoop");
    }
    value
}

/// The expected counts come from a separate parser in another language.
#[test]
fn counts_match_an_independent_count() {
    for (name, jobs, stages, tasks, attempts, nodes, from, to) in [
        ("job_1329348432655_0001", 1, 2, 12, 12, 1, 1_329_348_443.227, 1_329_348_468.601),
        ("job_1479206441898_508949", 1, 1, 1, 1, 1, 1_481_299_030.929, 1_481_299_043.114),
        ("job_1526555215992_0001", 1, 2, 2, 2, 1, 1_526_555_642.677, 1_526_555_658.299),
        ("job_1526555215992_0002", 1, 2, 2, 2, 1, 1_526_555_694.494, 1_526_555_709.175),
        ("2jobs2min-rumen-jh", 2, 2, 192, 192, 4, 1_371_222_054.499, 1_371_222_251.755),
        ("folder-input-trace", 59, 75, 1108, 1108, 784, 1_256_811_828.131, 1_256_812_854.166),
    ] {
        let Some(path) = log(name) else { return };
        let format = if name.starts_with("job_") { "hadoop-jhist" } else { "rumen" };
        let expected = json!({"format": format, "jobs": jobs, "stages": stages, "tasks": tasks,
            "attempts": attempts, "speculative_attempts": 0, "failed_attempts": 0, "killed_attempts": 0,
            "nodes": nodes, "from": from, "to": to});
        assert_eq!(as_json(&counts(&path).unwrap()), expected, "{name}");
        assert_eq!(as_json(open(&path, None).unwrap().summary()), expected, "{name}");
        assert!(find(&path).unwrap());
    }
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
fn hadoop_facts_of_real_logs_are_read() {
    let Some(path) = log("job_1526555215992_0001") else { return };
    let trace = open(&path, None).unwrap();
    let facts = trace.facts();
    assert_eq!((facts.winners, facts.jobs.succeeded), (2, 1));
    assert_eq!((facts.locality.data_local, facts.splits.located, facts.splits.bytes_read), (1, 1, 268));
    assert_eq!((facts.counters["HDFS_BYTES_READ"], facts.counters["DATA_LOCAL_MAPS"]), (268, 1));
    let job = &trace.workload_jobs()[0];
    assert!(job.spec.name.ends_with("QuasiMonteCarlo"));
    assert_eq!(job.spec.phases[1].after, [0]);
    assert_eq!(job.durations, [Durations::Recorded(vec![2.097]), Durations::Recorded(vec![2.211])]);

    let Some(path) = log("folder-input-trace") else { return };
    let summary = counts(&path).unwrap();
    let facts = summary.hadoop.as_deref().unwrap();
    assert_eq!(facts.splits.located, 541);
    assert_eq!(facts.setup_and_cleanup.attempts, 118);
    assert_eq!(facts.locality, Locality { data_local: 21, rack_local: 246, off_switch: 274, unknown: 246 });
    warning(&summary, "118 attempts of setup and cleanup");
}

#[test]
fn only_the_damaged_event_is_lost() {
    let Some(path) = log("job_1479206441898_508949") else { return };
    // In one event, a tool that masked a name left invalid JSON; the start of the attempt is recovered from it.
    let trace = open(&path, None).unwrap();
    warning(trace.summary(), "1 record was skipped, because it can't be read; the first is line 31");
    warning(trace.summary(), "1 start of an attempt was recovered");
    assert_eq!(trace.workload_jobs()[0].durations, [Durations::Recorded(vec![4.496])]);
}

#[test]
fn all_histories_of_a_folder_are_read_together() {
    let Some(folder) = hindmost_testing::data("hadoop") else { return };
    assert!(find(&folder).unwrap());
    let summary = counts(&folder).unwrap();
    assert_eq!((summary.format, summary.jobs, summary.attempts), ("hadoop-jhist", 4, 17));
    warning(&summary, "2 Rumen traces were left out, because the folder has job histories");
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
