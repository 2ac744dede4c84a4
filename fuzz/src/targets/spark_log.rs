//! Reads any bytes as a Spark event log, and checks that both ways of reading give the same counts.

use crate::{alike, check_counted, check_findings, check_jobs, check_recorded, check_summary};
use hindmost_trace::TraceSummary;
use hindmost_trace::spark::{diagnose_spark, read_spark};

/// Checks one input.
///
/// # Panics
/// If a check fails.
pub fn check(log: &[u8]) {
    let mut reported = 0;
    let mut progress = |read, _| reported = read;
    let diagnosed = diagnose_spark(log, "log", Some(&mut progress));
    if diagnosed.is_ok() {
        assert_eq!(reported, log.len() as u64, "progress ends at the end of the log");
    }
    let Some(((summary, findings, _), trace)) = alike(diagnosed, read_spark(log, "log", None)) else { return };
    check_summary(&summary);
    check_findings(&findings);
    check_counted(&summary, &findings);
    let winners = summary.spark.unwrap_or_default().winners;
    assert_eq!(findings.tasks, winners);

    let mut same = comparable(trace.summary());
    let counted = comparable(&summary);
    // Reading for a replay gives further warnings.
    assert!(counted.warnings.len() <= same.warnings.len());
    same.warnings.truncate(counted.warnings.len());
    assert_eq!(same, counted);
    check_jobs(trace.workload_jobs());
    check_recorded(trace.cluster_nodes(), trace.attempts());
    assert!(trace.workload_jobs().len() as u64 <= summary.jobs.max(summary.stages));
}

/// Returns the part of a summary that must be the same for every way of reading. The ways parse different parts of an
/// event, so they may report different bytes at which it is unreadable, and only some of them may find bytes that are
/// not UTF-8.
fn comparable(summary: &TraceSummary) -> TraceSummary {
    let mut same = summary.clone();
    same.warnings.retain(|warning| !warning.contains("not valid UTF-8"));
    for warning in &mut same.warnings {
        let end = warning.find("; the first is").unwrap_or(warning.len());
        warning.truncate(end);
    }
    same
}
