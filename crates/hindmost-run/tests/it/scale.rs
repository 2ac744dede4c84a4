//! A test of a run on 1000 nodes.

use crate::test_run::{TestRun, silently};

#[test]
fn backups_shorten_10000_tasks_on_1000_nodes() {
    let test_run = TestRun::on_nodes(1000).phase("map", 10_000).knowledge("age").chaos("slow=n7:8,slow=n500:4");
    let finished = test_run.behaviour(|launch| silently(10.0 + f64::from(launch.attempt.task.index % 7))).run().done();
    let outcome = &finished.outcome;
    println!(
        "{} attempts, {} rounds, {:.1} s; deciding took {:?} in total, {:?} at most for one event",
        outcome.summary.attempts,
        outcome.rounds,
        finished.flowtime(),
        outcome.deciding,
        outcome.longest_decision
    );
    // Ten waves of at most 16 s each. Without backups the slow nodes' tasks would take up to 128 s.
    assert!(finished.flowtime() < 250.0, "{}", finished.flowtime());
}
