//! The order `smallest_workload`, in instances small enough to work out by hand.

use hindmost_sim::testing::World;

#[test]
fn started_jobs_come_first_then_the_smallest_workload() {
    let run = World::machines(1)
        .job("six")
        .tasks([[3.0], [3.0]])
        .job("four")
        .tasks([[1.0], [1.0], [1.0], [1.0]])
        .job("one")
        .at(0.5)
        .tasks([[1.0]])
        .run("smallest_workload");
    // "four" has the smallest workload at 0. "one" is smaller but arrives later, and waits until all tasks of "four", a
    // started job, have started.
    assert_eq!(run.starts("four"), [0.0, 1.0, 2.0, 3.0]);
    assert_eq!(run.starts("one"), [4.0]);
    assert_eq!(run.starts("six"), [5.0, 8.0]);
}

#[test]
fn started_jobs_are_sorted_by_their_pending_work() {
    // Both maps run from 0 to 1. Then b has 2 s of pending work and a has 6 s: b is first, and one task of a waits
    // until 3.
    let run = World::machines(2)
        .job("a")
        .phase("map")
        .same(1, 1.0)
        .phase("reduce")
        .after(["map"])
        .same(2, 3.0)
        .job("b")
        .phase("map")
        .same(1, 1.0)
        .phase("reduce")
        .after(["map"])
        .same(1, 2.0)
        .run("smallest_workload");
    assert_eq!(run.starts("b"), [0.0, 1.0]);
    assert_eq!(run.starts("a"), [0.0, 1.0, 3.0]);
}
