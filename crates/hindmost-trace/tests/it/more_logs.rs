//! Compares what readings of further real logs show. What is known of them is in `fixtures/real/`. Skipped unless `HINDMOST_DATA` names
//! the folder with the logs.

use std::path::PathBuf;

use crate::reading::{diagnose, open};
use hindmost_core::metrics::Cause;

fn log(path: &str) -> Option<PathBuf> {
    hindmost_testing::data("more").map(|folder| folder.join(path))
}

#[test]
fn replays_of_hadoop_have_the_tasks_of_the_findings() {
    for path in ["hadoop/19-jobs.trace.json.gz", "hadoop/input-trace.json"] {
        let Some(path) = log(path) else { return };
        let (_, findings, _) = diagnose(&path, None).unwrap();
        let trace = open(&path).unwrap();
        let replayed: u64 =
            trace.workload_jobs().iter().flat_map(|job| &job.spec.phases).map(|p| u64::from(p.tasks)).sum();
        assert_eq!(replayed, findings.tasks, "{}", path.display());
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
