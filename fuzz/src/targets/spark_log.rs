//! Any bytes as a Spark event log: the three ways of reading it count alike.

use crate::{alike, check_findings, check_jobs, check_recorded, check_summary, check_told};
use hindmost_trace::TraceSummary;
use hindmost_trace::spark::{analyse_spark, read_spark, summarize_spark};

/// Checks one input.
///
/// # Panics
/// If what must hold does not.
pub fn check(log: &[u8]) {
    let mut told = 0;
    let mut progress = |read, _| told = read;
    let counted = summarize_spark(log, "log", Some(&mut progress));
    if counted.is_ok() {
        assert_eq!(told, log.len() as u64, "progress ends at the end");
    }
    let analysed = analyse_spark(log, "log", None);
    let Some((summary, (analysed, findings))) = alike(counted, analysed) else {
        assert!(read_spark(log, "log", None).is_err());
        return;
    };
    check_summary(&summary);
    assert_eq!(told_alike(&analysed), told_alike(&summary));
    check_findings(&findings);
    check_told(&summary, &findings);
    let winners = summary.spark.unwrap_or_default().winners;
    if !summary.warnings.iter().any(|warning| warning.contains("seen long before")) {
        assert_eq!(findings.tasks, winners);
    }

    let trace = read_spark(log, "log", None).expect("what can be counted can be read");
    let mut same = told_alike(trace.summary());
    let counted = told_alike(&summary);
    // A replay warns of more.
    assert!(counted.warnings.len() <= same.warnings.len());
    same.warnings.truncate(counted.warnings.len());
    assert_eq!(same, counted);
    check_jobs(trace.workload_jobs());
    check_recorded(trace.cluster_nodes(), trace.attempts());
    assert!(trace.workload_jobs().len() as u64 <= summary.jobs.max(summary.stages));
}

/// What every way of reading must tell alike. How much of an event is looked at differs: so does at which of its
/// bytes it is found unreadable, and whether there are some in it that have to be replaced.
fn told_alike(summary: &TraceSummary) -> TraceSummary {
    let mut told = summary.clone();
    told.warnings.retain(|warning| !warning.contains("not UTF-8"));
    for warning in &mut told.warnings {
        let end = warning.find("; the first is").unwrap_or(warning.len());
        warning.truncate(end);
    }
    told
}
