//! Replays of real logs.

use std::fs;
use std::path::PathBuf;

use crate::{json, run};

/// Returns the real logs below the folder `HINDMOST_DATA`; `None` if the variable is not set.
fn real_logs() -> Option<Vec<PathBuf>> {
    let mut logs: Vec<PathBuf> =
        fs::read_dir(hindmost_testing::data("spark")?).ok()?.map(|entry| entry.unwrap().path()).collect();
    logs.sort();
    Some(logs)
}

#[test]
fn every_real_log_is_read_and_replayed() {
    let Some(logs) = real_logs() else { return };
    assert!(!logs.is_empty());
    for log in logs {
        let log = log.to_str().unwrap();
        let counted = json(&["trace", "info", log, "--json"]);
        assert!(counted["attempts"].as_u64().unwrap() > 0, "{log}");
        let ran = run(&["replay", log, "--json", "--policy", "none,spark,mantri,sda,late,sca"]);
        assert_eq!(ran.code, Some(0), "{log}: {}", ran.stderr);
        let replayed: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        for result in replayed["results"].as_array().unwrap() {
            assert_eq!(result["unfinished_jobs"], 0, "{log}");
            // Counts are sums over the five seeds.
            assert!(result["tasks"].as_u64().unwrap() <= 5 * counted["tasks"].as_u64().unwrap(), "{log}");
        }
    }
}
