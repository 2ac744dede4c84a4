//! The order `svf`, in instances small enough to work out by hand.

use hindmost_sim::testing::World;

#[test]
fn the_smallest_remaining_volume_comes_first() {
    // Volumes in seconds of the whole cluster of 4 cpus: wide 2 × 4/4 = 2, long 6 × 1/4 = 1.5, many 3 × 3 × 1/4 = 2.25.
    let run = World::nodes([[("cpus", 4.0)]])
        .job("wide")
        .same(1, 2.0)
        .demand([("cpus", 4.0)])
        .job("long")
        .same(1, 6.0)
        .demand([("cpus", 1.0)])
        .job("many")
        .same(3, 3.0)
        .demand([("cpus", 1.0)])
        .run("svf");
    // "wide" comes second, but does not fit beside "long", so "many" starts; it waits until "long" has finished.
    assert_eq!(run.starts("long"), [0.0]);
    assert_eq!(run.starts("many"), [0.0, 0.0, 0.0]);
    assert_eq!(run.starts("wide"), [6.0]);
}

#[test]
fn volume_counts_deviations_and_unfinished_tasks_alone() {
    // One machine. "sure" has 2 × 3 = 6 s, "unsure" 2 + 1.5 × 2 = 5 s: it comes first. At 2 "sure" has 6 s, "late" 5 s.
    let run = World::machines(1)
        .job("sure")
        .tasks([[3.0], [3.0]])
        .job("unsure")
        .tasks([[2.0]])
        .mean(2.0)
        .sd(2.0)
        .job("late")
        .at(1.0)
        .tasks([[5.0]])
        .run("svf");
    assert_eq!(run.starts("unsure"), [0.0]);
    assert_eq!(run.starts("late"), [2.0]);
    assert_eq!(run.starts("sure"), [7.0, 10.0]);
}
