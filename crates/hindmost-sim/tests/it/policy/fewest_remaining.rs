//! The order `fewest_remaining`, in instances small enough to work out by hand.

use hindmost_sim::testing::World;

#[test]
fn the_job_with_fewer_but_longer_tasks_comes_first() {
    let run = World::nodes([[("cpus", 3.0)]])
        .job("a")
        .same(2, 4.0)
        .demand([("cpus", 2.0)])
        .job("b")
        .same(4, 2.0)
        .run("fewest_remaining");
    // New jobs are sorted by workload: both have 8 s, so a is first by id, and b gets the third cpu. At 2 one cpu is
    // free, on which only b's tasks fit. At 4 a has one task left and b two, so a is first, although its task is
    // longer.
    assert_eq!(run.starts("a"), [0.0, 4.0]);
    assert_eq!(run.starts("b"), [0.0, 2.0, 4.0, 6.0]);
}
