//! The order `smallest_workload`, in instances small enough to work out by hand.

use hindmost_sim::testing::World;

#[test]
fn started_jobs_first_then_tasks_times_mean() {
    let run = World::machines(1)
        .job("six")
        .tasks([[3.0], [3.0]])
        .job("four")
        .tasks([[1.0], [1.0], [1.0], [1.0]])
        .job("one")
        .at(0.5)
        .tasks([[1.0]])
        .run("smallest_workload");
    // "four" starts; "one" is smaller, but new, and waits for all of "four".
    assert_eq!(run.starts("four"), [0.0, 1.0, 2.0, 3.0]);
    assert_eq!(run.starts("one"), [4.0]);
    assert_eq!(run.starts("six"), [5.0, 8.0]);
}

#[test]
fn started_jobs_go_by_the_work_not_yet_started() {
    // Both maps run from 0 to 1. Then 3 s of b are left to start and 6 s of a: b goes first, and of a
    // one task has to wait until 3.
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
