//! The order `fewest_remaining`, in instances small enough to work out by hand.

use hindmost_sim::testing::World;

#[test]
fn tasks_are_counted_whatever_their_length() {
    // Of the started jobs, a has one long task left, b two short ones.
    let run = World::nodes([[("cpus", 3.0)]])
        .job("a")
        .same(2, 4.0)
        .demand([("cpus", 2.0)])
        .job("b")
        .same(4, 2.0)
        .run("fewest_remaining");
    // New jobs go by workload: both 8 s, so a by id. At 2 b's one cpu is free for b alone; at 4 a has
    // one task left and b two: a takes its two cpus.
    assert_eq!(run.starts("a"), [0.0, 4.0]);
    assert_eq!(run.starts("b"), [0.0, 2.0, 4.0, 6.0]);
}
