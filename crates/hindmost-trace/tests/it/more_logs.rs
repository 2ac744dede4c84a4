//! Tests what is true of further real logs. Skipped unless `HINDMOST_DATA` names the folder with the logs.

use std::path::PathBuf;

use crate::reading::{Trace, diagnose, open};
use hindmost_core::metrics::Cause;
use hindmost_trace::hadoop::JobEnds;

fn log(path: &str) -> Option<PathBuf> {
    hindmost_testing::data("more").map(|folder| folder.join(path))
}

fn opened(path: &str) -> Option<Trace> {
    Some(open(&log(path)?).unwrap())
}

#[test]
fn parts_of_databricks_are_one_application() {
    for (path, expected) in
        [("spark/databricks_example_1", (72, 72, 8247, 8)), ("spark/db_sim_eventlog", (1, 4, 2801, 1))]
    {
        let Some(trace) = opened(path) else { return };
        let summary = trace.summary();
        assert_eq!((summary.jobs, summary.stages, summary.tasks, summary.nodes), expected, "{path}");
        assert_eq!((summary.spark.unwrap().applications, trace.recordings().len()), (1, 1), "{path}");
        let missing =
            summary.warnings.iter().find(|warning| warning.contains("missing") && !warning.contains("The end"));
        assert_eq!(missing, None, "{path}");
    }
}

#[test]
fn attempts_that_ended_twice_count_once() {
    let Some(path) = log("spark/app-20150427150733-0000.inprogress") else { return };
    let (summary, findings, _) = diagnose(&path, None).unwrap();
    assert_eq!((summary.attempts, summary.failed_attempts, summary.speculative_attempts), (89, 9, 0));
    assert_eq!((findings.attempts.ended, findings.attempts.failed), (89, 9));
    // The cluster had 16 slots for 444 s.
    assert!(findings.machine_time.total < 16.0 * 444.0, "{:?}", findings.machine_time);
    assert!((findings.machine_time.total - 6716.185).abs() < 1e-6, "{:?}", findings.machine_time);
    let trace = open(&path).unwrap();
    assert_eq!((trace.summary().attempts, trace.summary().failed_attempts), (89, 9));
    assert!(trace.cluster_nodes().iter().all(|node| node.slots == 4));
}

#[test]
fn hadoop_tasks_without_attempts_and_unsuccessful_jobs_are_counted() {
    let jobs = |succeeded, failed, killed, unfinished| JobEnds { succeeded, failed, killed, unfinished };
    for (path, tasks, without, ends, warnings) in [
        ("hadoop/19-jobs.trace.json.gz", 11_829, 155, jobs(14, 5, 0, 0), vec!["5 jobs failed", "155 tasks never had"]),
        ("hadoop/input-trace.json", 203, 19, jobs(2, 0, 1, 1), vec!["1 job was killed", "1 job has no end in the log"]),
    ] {
        let Some(path) = log(path) else { return };
        let (summary, findings, _) = diagnose(&path, None).unwrap();
        let facts = summary.hadoop.as_ref().unwrap();
        assert_eq!((summary.tasks, facts.tasks_without_attempt, facts.jobs), (tasks, without, ends));
        for text in warnings {
            let mut all = summary.warnings.iter();
            assert!(all.any(|warning| warning.starts_with(text)), "{text}: {:?}", summary.warnings);
        }
        assert!(!summary.warnings.iter().any(|warning| warning.contains("records are missing")));
        let trace = open(&path).unwrap();
        let replayed: u64 =
            trace.workload_jobs().iter().flat_map(|job| &job.spec.phases).map(|p| u64::from(p.tasks)).sum();
        assert_eq!(replayed, findings.tasks, "{}", path.display());
    }
}

#[test]
fn a_median_is_the_mean_of_the_middle_two() {
    let Some(path) = log("spark/app-20161115172038-0000") else { return };
    let (_, findings, _) = diagnose(&path, None).unwrap();
    let [phase] = &findings.phases[..] else { panic!("one stage") };
    assert_eq!((phase.tasks, phase.durations.p50), (16, Some(0.319)));
}

#[test]
fn an_executor_has_a_slot_for_each_attempt_at_a_time() {
    let Some(trace) = opened("spark/application_1578436911597_0052") else { return };
    let [node] = trace.cluster_nodes() else { panic!("one executor") };
    assert_eq!((node.slots, node.slots_known), (2, false));
    let warnings = &trace.summary().warnings;
    assert!(warnings.iter().any(|warning| warning.contains("1 executor ran more attempts")), "{warnings:?}");
    // In all other logs the attempts fit the cores.
    for path in ["spark/delight_event_log.txt", "spark/nds_q72_dataproc_2_2.zstd", "spark/kubeflow_events_1"] {
        let Some(trace) = opened(path) else { return };
        assert!(trace.cluster_nodes().iter().all(|node| node.slots_known), "{path}");
    }
}

#[test]
fn stragglers_of_stages_are_those_of_the_diagnosis() {
    let Some(path) = log("spark/nds_q72_dataproc_2_2.zstd") else { return };
    let (_, findings, diagnoses) = diagnose(&path, None).unwrap();
    let of_cause = |cause| {
        let mut causes = diagnoses.iter().flat_map(|one| &one.stragglers.causes);
        causes.find(|found| found.cause == cause).map_or(0, |found| found.tasks)
    };
    let sum = findings.stragglers;
    assert_eq!(sum.tasks, diagnoses[0].stragglers.tasks);
    assert_eq!((sum.skew, sum.slow_node), (of_cause(Cause::Input), of_cause(Cause::SlowNode)));
    // Mostly cold executors, not skew.
    let stage = findings.phases.iter().find(|phase| phase.phase == 45).unwrap().stragglers;
    assert!(stage.tasks > 100 && stage.other > 10 * stage.skew, "{stage:?}");
}
