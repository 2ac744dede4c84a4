//! Tests of `hindmost advise` with real logs of which the truth is known.

use hindmost_testing::{data, is_nightly};
use serde_json::Value;

use crate::json;

fn advice(paths: &[&str]) -> Value {
    let args: Vec<&str> = ["advise", "--json"].into_iter().chain(paths.iter().copied()).collect();
    json(&args)
}

/// Seconds of a part of the wall time.
fn part(application: &Value, what: &str) -> f64 {
    let parts = application["wall_time"]["parts"].as_array().unwrap();
    parts.iter().find(|part| part["what"] == what).map_or(0.0, |part| part["seconds"].as_f64().unwrap())
}

/// The share of the excess of all stragglers that a cause has.
fn share(application: &Value, cause: &str) -> f64 {
    let stragglers = &application["stragglers"];
    let causes = stragglers["causes"].as_array().unwrap();
    let found = causes.iter().find(|found| found["cause"] == cause);
    found.map_or(0.0, |found| found["excess_seconds"].as_f64().unwrap())
        / stragglers["excess_seconds"].as_f64().unwrap()
}

#[test]
fn two_tasks_on_four_cores_are_too_few_tasks() {
    let Some(log) = data("more/spark/kubeflow_events_1") else { return };
    let advice = advice(&[log.to_str().unwrap()]);
    let application = &advice["logs"][0]["applications"][0];
    // Stage 7 has two tasks for 287 s.
    assert!((part(application, "few_tasks") - 287.0).abs() < 10.0, "{application}");
    let part = &application["wall_time"]["parts"][0];
    assert_eq!((part["what"].as_str(), part["phases"][0]["phase"].as_u64()), (Some("few_tasks"), Some(7)));
    assert!(part["used_share"].as_f64().unwrap() < 0.55);
}

#[test]
fn cold_executors_are_no_skew() {
    let Some(log) = data("more/spark/nds_q72_dataproc_2_2.zstd") else { return };
    let advice = advice(&[log.to_str().unwrap()]);
    let application = &advice["logs"][0]["applications"][0];
    assert!(share(application, "first_wave") > 0.6 && share(application, "input") < 0.05, "{application}");
    assert!(application["slow_nodes"].as_array().unwrap().is_empty());
}

#[test]
fn jobs_of_hadoop_wait_for_long_attempts_late_starts_and_retries() {
    let Some(log) = data("more/hadoop/19-jobs.trace.json.gz") else { return };
    let advice = advice(&["--forecasts", "0", log.to_str().unwrap()]);
    let last = &advice["total"]["finished_last"];
    let phases = |what: &str| last[what]["phases"].as_u64().unwrap();
    assert_eq!(phases("long_attempt") + phases("late_start") + phases("retry"), phases("all"));
    for what in ["long_attempt", "late_start", "retry"] {
        assert!(phases(what) > 0, "{last}");
    }
}

#[test]
fn jobs_of_one_log_have_ends_and_forecasts_of_their_own() {
    let Some(log) = data("more/hadoop/19-jobs.trace.json.gz") else { return };
    // Forecasts of all jobs take minutes.
    let (forecasts, least) = if is_nightly() { ("20", 18) } else { ("6", 6) };
    let advice = advice(&["--forecasts", forecasts, log.to_str().unwrap()]);
    let applications = advice["logs"][0]["applications"].as_array().unwrap();
    assert_eq!(applications.iter().filter(|one| one["unsuccessful"] == "failed").count(), 5);
    let ratios = applications.iter().filter_map(|one| one["advice"]["calibration"]["ratio"].as_f64());
    let ratios: Vec<f64> = ratios.collect();
    // Of two of these jobs, the last tasks ran again after their nodes were lost. Of one job, copies
    // that ran while maps still did started at 86 to 111 s. The replayed rule is that of Hadoop 2, which is younger than the log,
    // and starts them at 130 s.
    let calibrated = ratios.iter().filter(|ratio| (*ratio - 1.0).abs() <= 0.1).count();
    assert!(ratios.len() >= least && calibrated + 1 >= ratios.len(), "{ratios:?}");
    for one in applications {
        let Some(recorded) = one["advice"]["calibration"]["job_time_mean"].as_f64() else { continue };
        let wall = one["wall_time"]["seconds"].as_f64().unwrap();
        // Only tasks that finished are replayed: of one job 1 task of 501. Some attempts seem to start before their job was
        // submitted, because the clocks of hosts differ.
        if one["tasks"].as_u64().unwrap() * 2 >= one["all_tasks"].as_u64().unwrap() {
            assert!((recorded - wall).abs() <= 0.01 * wall, "{}: {recorded} {wall}", one["id"]);
        }
    }
}

#[test]
fn the_parts_of_a_log_of_databricks_are_one_application() {
    let Some(log) = data("more/spark/databricks_example_1") else { return };
    let advice = advice(&[log.to_str().unwrap()]);
    assert_eq!(advice["total"]["applications"], 1);
    let application = &advice["logs"][0]["applications"][0];
    let time = &application["wall_time"];
    // 6% of 256 cores were in use, and no job ran for 52% of the time.
    assert!((time["slots"].as_f64().unwrap() - 256.0).abs() < 2.0, "{time}");
    assert!((time["used_share"].as_f64().unwrap() - 0.06).abs() < 0.01, "{time}");
    assert!((part(application, "no_job") / time["seconds"].as_f64().unwrap() - 0.52).abs() < 0.01, "{time}");
}
