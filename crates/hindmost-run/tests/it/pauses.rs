//! Tests that the flowtime (job completion time) of resumed runs leaves out the time in which no attempt of the run ran.

use std::fs;
use std::path::Path;

use hindmost_core::metrics::RunState;

use crate::checked_engine::CheckedEngine;
use crate::place::{Place, mended};
use crate::test_run::{TestRun, fails, open, takes};

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
    let (works, behaviour) = mended(|launch| if launch.attempt.task.index == 3 { fails(1.0) } else { takes(5.0) });
    let place = TestRun::on("n1:2").phase_with("map", 4, "retries = 0").behaviour(behaviour).place();
    let first = place.run().summary;
    assert_eq!(first.state, RunState::Failed);
    // The resumed run fails again. When it is resumed once more, it succeeds.
    let_pass(&place.out, 1000);
    let second = place.run().summary;
    assert_eq!(second.state, RunState::Failed);
    assert!((first.flowtime..50.0).contains(&second.flowtime), "{first:?} {second:?}");
    let_pass(&place.out, 2000);
    works.set(true);
    let third = place.run();
    assert_eq!(third.summary.state, RunState::Done);
    assert!((second.flowtime..100.0).contains(&third.summary.flowtime), "{:?}", third.summary);
    // The summary has both pauses, and the timeline shows them to charts.
    assert!((third.summary.paused() - 3000.0).abs() < 100.0, "{:?}", third.summary.pauses);
    assert_eq!((third.summary.pauses.len(), third.timeline.pauses.len()), (2, 2));
    // The journal's clock includes the pauses.
    assert!(third.timeline.end.seconds() > 3000.0);
    // Resuming a run that is done does not change its flowtime.
    let_pass(&place.out, 4000);
    assert_eq!(place.run().summary.flowtime, third.summary.flowtime);
}

#[test]
fn flowtime_includes_the_time_of_adopted_attempts() {
    let first = TestRun::on("n1:1").phase("map", 1).behaviour(|_| takes(5.0)).place();
    let places = (1..1000).map(|calls| (first.another(calls), calls));
    let mut died = places.map(|(place, calls)| (place.dies_at(calls, false), place));
    let runs = |(engine, place): &(CheckedEngine, Place)| {
        !engine.orphans.is_empty() && open(&place.plan, &place.out, true).unwrap().begun
    };
    let (mut engine, place) = died.find(runs).unwrap();
    let_pass(&place.out, 1000);
    let outcome = place.run_on(&mut engine);
    assert_eq!((engine.adopted.len(), outcome.summary.state), (1, RunState::Done));
    assert!(outcome.summary.flowtime > 1000.0, "{:?}", outcome.summary);
}
