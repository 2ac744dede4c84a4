//! Passes real Spark logs to the analysis line by line, and compares the findings with a second, simple computation.
//! Skipped unless `HINDMOST_DATA` names the folder with the logs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use hindmost_math::statistics::quantile;
use hindmost_trace::analysis::{Analysis, Ended, EndedAttempt, PhaseKey};
use serde_json::Value;

fn logs() -> Vec<PathBuf> {
    let Some(folder) = hindmost_testing::data("spark") else { return Vec::new() };
    let mut logs: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    logs.sort();
    logs
}

/// Returns the attempts that ended, with their stages. Hosts are numbered in order of appearance.
fn attempts(text: &str) -> Vec<(u32, EndedAttempt)> {
    let mut hosts = Vec::new();
    let mut attempts = Vec::new();
    for line in text.lines().filter(|line| line.contains("\"SparkListenerTaskEnd\"")) {
        let event: Value = serde_json::from_str(line).unwrap();
        let info = &event["Task Info"];
        let host = info["Host"].as_str().unwrap().to_owned();
        let node = hosts.iter().position(|known| *known == host).unwrap_or(hosts.len());
        if node == hosts.len() {
            hosts.push(host);
        }
        let seconds = |key: &str| info[key].as_f64().map(|milliseconds| milliseconds / 1000.0);
        let metrics = &event["Task Metrics"];
        let bytes = |part: &str, key: &str| metrics[part][key].as_u64();
        let read = [
            bytes("Input Metrics", "Bytes Read"),
            bytes("Shuffle Read Metrics", "Local Bytes Read"),
            bytes("Shuffle Read Metrics", "Remote Bytes Read"),
        ];
        let attempt = EndedAttempt {
            task: info["Index"].as_u64().unwrap() as u32,
            node: Some(node as u32),
            start: seconds("Launch Time"),
            end: seconds("Finish Time"),
            bytes_read: read.iter().any(Option::is_some).then(|| read.iter().flatten().sum()),
            speculative: info["Speculative"] == true,
            repeated: false,
            ended: match event["Task End Reason"]["Reason"].as_str().unwrap() {
                "Success" => Ended::Succeeded,
                "TaskKilled" => Ended::Killed,
                _ => Ended::Failed,
            },
        };
        attempts.push((event["Stage ID"].as_u64().unwrap() as u32, attempt));
    }
    attempts
}

#[test]
fn findings_match_a_simple_computation() {
    for path in logs() {
        let attempts = attempts(&String::from_utf8_lossy(&std::fs::read(&path).unwrap()));
        let mut analysis = Analysis::new();
        // The first success of each task by stage: duration and end in milliseconds.
        let mut won: BTreeMap<u32, Vec<(i64, i64)>> = BTreeMap::new();
        let (mut seen, mut stages, mut lost) = (BTreeSet::new(), BTreeSet::new(), 0);
        for (stage, attempt) in &attempts {
            analysis.ended(PhaseKey { application: 0, phase: *stage }, attempt);
            stages.insert(*stage);
            let milliseconds = |seconds: Option<f64>| (seconds.unwrap() * 1000.0).round() as i64;
            let end = milliseconds(attempt.end);
            if attempt.ended == Ended::Succeeded && seen.insert((*stage, attempt.task)) {
                won.entry(*stage).or_default().push((end - milliseconds(attempt.start), end));
            } else {
                lost += u64::from(attempt.speculative);
            }
        }
        let findings = analysis.findings(&|node| format!("h{node}"));
        assert_eq!(findings.left_out + findings.phases.len() as u64, stages.len() as u64, "{}", path.display());
        assert_eq!((findings.tasks, findings.attempts.ended), (seen.len() as u64, attempts.len() as u64));
        assert_eq!(findings.speculation.lost, lost);
        let mut stragglers = 0;
        for (stage, won) in &won {
            let Some(found) = findings.phases.iter().find(|found| found.phase == *stage) else { continue };
            let mut seconds: Vec<f64> = won.iter().map(|(took, _)| *took as f64 / 1000.0).collect();
            // Two middle values of an even number, which sorting finds more simply.
            seconds.sort_unstable_by(f64::total_cmp);
            let median = f64::midpoint(seconds[(seconds.len() - 1) / 2], seconds[seconds.len() / 2]);
            assert_eq!(found.durations.p50, Some(median), "{} stage {stage}", path.display());
            assert_eq!(found.durations.p95, quantile(&mut seconds, 0.95));
            assert_eq!(found.durations.max, quantile(&mut seconds, 1.0));
            let count = seconds.iter().filter(|seconds| **seconds > 1.5 * median.max(0.0005)).count() as u64;
            assert_eq!(found.stragglers.tasks, count, "{} stage {stage}", path.display());
            stragglers += count;
            let mut ends: Vec<i64> = won.iter().map(|(_, end)| *end).collect();
            ends.sort_unstable();
            let waited = ends[ends.len() - 1] - ends[(ends.len() * 95).div_ceil(100) - 1];
            assert!((found.waiting.seconds - waited as f64 / 1000.0).abs() < 1e-6, "{} stage {stage}", path.display());
        }
        if findings.left_out == 0 {
            assert_eq!(findings.stragglers.tasks, stragglers);
        }
    }
}

#[test]
fn injected_stragglers_are_found() {
    for path in logs().iter().filter(|path| path.to_string_lossy().contains("straggler-app")) {
        let mut analysis = Analysis::new();
        for (stage, attempt) in attempts(&std::fs::read_to_string(path).unwrap()) {
            analysis.ended(PhaseKey { application: 0, phase: stage }, &attempt);
        }
        let findings = analysis.findings(&|node| format!("h{node}"));
        let speculation = findings.speculation;
        assert_eq!((speculation.started, findings.attempts.killed), (2, 2), "{}", path.display());
        assert!(findings.stragglers.tasks > 0 && findings.machine_time.losers > 0.0);
    }
}
