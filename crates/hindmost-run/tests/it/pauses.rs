//! Tests that the flowtime (job completion time) of resumed runs leaves out the time in which no attempt of the run ran.

use std::cell::Cell;
use std::fs;
use std::path::Path;
use std::rc::Rc;

use hindmost_core::metrics::RunState;

use crate::crashes::{ProcessRun, run_until_death};
use crate::test_run::{TestRun, fails, open, scratch, takes};

/// Changes the record of a run so that the run has begun this many seconds earlier, as if it had been paused for so long.
fn let_pass(out: &Path, seconds: u64) {
    let job = out.join(".hindmost/job.json");
    let mut record: serde_json::Value = serde_json::from_str(&fs::read_to_string(&job).unwrap()).unwrap();
    record["began"] = (record["began"].as_u64().unwrap() - seconds * 1_000_000_000).into();
    record["began_since_boot"] = serde_json::Value::Null;
    fs::write(&job, record.to_string()).unwrap();
}

#[test]
fn flowtime_leaves_out_the_pauses_between_runs() {
    let works = Rc::new(Cell::new(false));
    let now_works = Rc::clone(&works);
    let test_run = TestRun::on("n1:2").phase_with("map", 4, "retries = 0").behaviour(move |launch| {
        if launch.attempt.task.index == 3 && !now_works.get() { fails(1.0) } else { takes(5.0) }
    });
    let folder = scratch();
    let (plan, out) = (test_run.plan(folder.path()), folder.path().join("out"));
    let resume = |is_resumed| {
        let mut engine = test_run.checked_engine(&plan, &out);
        test_run.run_in(&plan, &out, is_resumed, &mut engine).unwrap()
    };
    let first = resume(false).summary;
    assert_eq!(first.state, RunState::Failed);
    let out_of_first = out.canonicalize().unwrap();
    // The resumed run fails again. When it is resumed once more, it succeeds.
    let_pass(&out_of_first, 1000);
    let second = resume(true).summary;
    assert_eq!(second.state, RunState::Failed);
    assert!((first.flowtime..50.0).contains(&second.flowtime), "{first:?} {second:?}");
    let_pass(&out_of_first, 2000);
    works.set(true);
    let third = resume(true);
    assert_eq!(third.summary.state, RunState::Done);
    assert!((second.flowtime..100.0).contains(&third.summary.flowtime), "{:?}", third.summary);
    // The summary has both pauses, and the timeline shows them to charts.
    assert!((third.summary.paused() - 3000.0).abs() < 100.0, "{:?}", third.summary.pauses);
    assert_eq!((third.summary.pauses.len(), third.timeline.pauses.len()), (2, 2));
    // The journal's clock includes the pauses.
    assert!(third.timeline.end.seconds() > 3000.0);
    // Resuming a run that is done does not change its flowtime.
    let_pass(&out_of_first, 4000);
    assert_eq!(resume(true).summary.flowtime, third.summary.flowtime);
}

#[test]
fn flowtime_includes_the_time_of_adopted_attempts() {
    let test_run = TestRun::on("n1:1").phase("map", 1).behaviour(|_| takes(5.0));
    let folder = scratch();
    let (plan, out) = (test_run.plan(folder.path()), folder.path().join("out"));
    let mut engine = test_run.checked_engine(&plan, &out);
    let dies_with_one = (1..1000).find(|calls| {
        let out = folder.path().join(calls.to_string());
        let mut engine = test_run.checked_engine(&plan, &out);
        engine.dies_after = Some(*calls);
        let ProcessRun::Died(left) = run_until_death(&test_run, &plan, &out, false, &mut engine, false) else {
            panic!("the run ends before an attempt runs")
        };
        !left.is_empty() && open(&plan, &out, true).unwrap().begun
    });
    engine.dies_after = dies_with_one;
    let died = run_until_death(&test_run, &plan, &out, false, &mut engine, false);
    let ProcessRun::Died(left) = died else { panic!("the driver did not die") };
    let_pass(&out, 1000);
    let mut engine = test_run.checked_engine(&plan, &out);
    engine.orphans = left;
    let outcome = test_run.run_in(&plan, &out, true, &mut engine).unwrap();
    assert_eq!((engine.adopted.len(), outcome.summary.state), (1, RunState::Done));
    assert!(outcome.summary.flowtime > 1000.0, "{:?}", outcome.summary);
}
