//! The order `fifo`, in instances small enough to work out by hand.

use hindmost_sim::testing::World;

#[test]
fn the_first_job_starts_before_the_second() {
    let run = World::machines(2)
        .job("late")
        .at(0.5)
        .tasks([[1.0]])
        .job("early")
        .tasks([[2.0], [2.0], [2.0]])
        .job("tied")
        .at(0.5)
        .tasks([[1.0]])
        .run("fifo");
    assert_eq!(run.starts("early"), [0.0, 0.0, 2.0]);
    // Jobs that arrive at the same time are sorted by id, which is the order in which the test adds them.
    assert_eq!(run.starts("late"), [2.0]);
    assert_eq!(run.starts("tied"), [3.0]);
}

#[test]
fn a_job_that_fits_nowhere_is_skipped() {
    // The wide task uses both cpus until 1. Then one cpu is for the thin task of the same job, the other for "small".
    let run = World::nodes([[("cpus", 2.0)]])
        .job("large")
        .phase("wide")
        .same(1, 1.0)
        .demand([("cpus", 2.0)])
        .phase("thin")
        .same(1, 1.0)
        .job("small")
        .same(2, 1.0)
        .run("fifo");
    assert_eq!(run.starts("large"), [0.0, 1.0]);
    assert_eq!(run.starts("small"), [1.0, 2.0]);
    // "wide" does not fit while "first" runs, so the tasks of "thin", which fit, start before it.
    let run = World::nodes([[("cpus", 2.0)]])
        .job("first")
        .same(1, 3.0)
        .job("wide")
        .same(1, 1.0)
        .demand([("cpus", 2.0)])
        .job("thin")
        .same(2, 1.0)
        .run("fifo");
    assert_eq!(run.starts("thin"), [0.0, 1.0]);
    assert_eq!(run.starts("wide"), [3.0]);
}
