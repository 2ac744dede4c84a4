//! A thousand nodes.

use crate::story::{Story, silently};

#[test]
fn ten_thousand_tasks_on_a_thousand_nodes() {
    let story = Story::on_nodes(1000).phase("map", 10_000).knowledge("age").chaos("slow=n7:8,slow=n500:4");
    let told = story.plays(|launch| silently(10.0 + f64::from(launch.attempt.task.index % 7))).run().done();
    let outcome = &told.outcome;
    println!(
        "{} attempts, {} rounds, {:.1} s; deciding took {:?} in all, {:?} at most",
        outcome.summary.attempts,
        outcome.rounds,
        told.flowtime(),
        outcome.deciding,
        outcome.longest_decision
    );
    // Ten waves of 16 s and a little; the slow nodes' tasks would take 128 s each.
    assert!(told.flowtime() < 250.0, "{}", told.flowtime());
}
