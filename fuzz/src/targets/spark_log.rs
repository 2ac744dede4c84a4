//! Reads any bytes as a Spark event log, and checks that both ways of reading give the same counts.

use hindmost_trace::table::Columns;
use hindmost_trace::{Kind, Wanted, log};

use crate::check_log;

/// Checks one input.
///
/// # Panics
/// If a check fails.
pub fn check(bytes: &[u8]) {
    let mut reported = 0;
    let mut progress = |read, _| reported = read;
    let wanted = Wanted::DIAGNOSES;
    if log::read_as(Kind::Spark, bytes, "log", &Columns::default(), wanted, Some(&mut progress)).is_ok() {
        assert_eq!(reported, bytes.len() as u64, "progress ends at the end of the log");
    }
    let Some((diagnosed, replay)) = check_log(Kind::Spark, bytes) else { return };
    let summary = diagnosed.summary;
    assert_eq!(diagnosed.findings.tasks, summary.spark.unwrap_or_default().winners);
    assert!(replay.jobs.len() as u64 <= summary.jobs.max(summary.stages));
}
