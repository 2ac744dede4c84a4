//! Compares the findings of real Spark logs with a second, simple computation.
//! Skipped unless `HINDMOST_DATA` names the folder with the logs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::reading::diagnose;
use hindmost_math::statistics::quantile;
use serde_json::Value;

fn logs() -> Vec<PathBuf> {
    let Some(folder) = hindmost_testing::data("spark") else { return Vec::new() };
    let mut logs: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    logs.sort();
    logs
}

/// An attempt that ended. Times are in milliseconds.
struct Attempt {
    stage: u64,
    task: u64,
    times: (i64, i64),
    has_succeeded: bool,
    speculative: bool,
}

fn attempts(text: &str) -> Vec<Attempt> {
    let lines = text.lines().filter(|line| line.contains("\"SparkListenerTaskEnd\""));
    let attempt = |line| {
        let event: Value = serde_json::from_str(line).unwrap();
        let info = &event["Task Info"];
        let time = |key: &str| info[key].as_i64().unwrap();
        Attempt {
            stage: event["Stage ID"].as_u64().unwrap(),
            task: info["Index"].as_u64().unwrap(),
            times: (time("Launch Time"), time("Finish Time")),
            has_succeeded: event["Task End Reason"]["Reason"] == "Success",
            speculative: info["Speculative"] == true,
        }
    };
    lines.map(attempt).collect()
}

#[test]
fn findings_match_a_simple_computation() {
    for path in logs() {
        let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
        let attempts = attempts(&text);
        let ended = attempts.len() + crate::real_logs::given_up(&text);
        // The first success of each task by stage: duration and end in milliseconds.
        let mut won: BTreeMap<u64, Vec<(i64, i64)>> = BTreeMap::new();
        let (mut seen, mut stages, mut lost) = (BTreeSet::new(), BTreeSet::new(), 0);
        for Attempt { stage, task, times: (start, end), has_succeeded, speculative } in &attempts {
            stages.insert(*stage);
            if *has_succeeded && seen.insert((*stage, *task)) {
                won.entry(*stage).or_default().push((end - start, *end));
            } else {
                lost += u64::from(*speculative);
            }
        }
        let (_, findings, _) = diagnose(&path, None).unwrap();
        assert_eq!(findings.left_out + findings.phases.len() as u64, stages.len() as u64, "{}", path.display());
        assert_eq!((findings.tasks, findings.attempts.ended), (seen.len() as u64, ended as u64));
        assert_eq!(findings.speculation.lost, lost);
        for (stage, won) in &won {
            let Some(found) = findings.phases.iter().find(|found| u64::from(found.phase) == *stage) else { continue };
            let mut seconds: Vec<f64> = won.iter().map(|(took, _)| *took as f64 / 1000.0).collect();
            // Two middle values of an even number, which sorting finds more simply.
            seconds.sort_unstable_by(f64::total_cmp);
            let median = f64::midpoint(seconds[(seconds.len() - 1) / 2], seconds[seconds.len() / 2]);
            assert_eq!(found.durations.p50, Some(median), "{} stage {stage}", path.display());
            assert_eq!(found.durations.p95, quantile(&mut seconds, 0.95));
            assert_eq!(found.durations.max, quantile(&mut seconds, 1.0));
            let mut ends: Vec<i64> = won.iter().map(|(_, end)| *end).collect();
            ends.sort_unstable();
            let waited = ends[ends.len() - 1] - ends[(ends.len() * 95).div_ceil(100) - 1];
            assert!((found.waiting.seconds - waited as f64 / 1000.0).abs() < 1e-6, "{} stage {stage}", path.display());
        }
    }
}

#[test]
fn injected_stragglers_are_found() {
    for path in logs().iter().filter(|path| path.to_string_lossy().contains("straggler-app")) {
        let (_, findings, _) = diagnose(path, None).unwrap();
        let speculation = findings.speculation;
        assert_eq!((speculation.started, findings.attempts.killed), (2, 2), "{}", path.display());
        assert!(findings.stragglers.tasks > 0 && findings.machine_time.losers > 0.0);
    }
}
