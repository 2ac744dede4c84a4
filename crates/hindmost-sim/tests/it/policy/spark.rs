//! `spark`: Apache Spark's speculative execution, in instances small enough to work out by hand.
//!
//! A condition "above a limit" is met one nanosecond, the clock's tick, past the limit.

use hindmost_sim::testing::World;

const TICK: f64 = 1e-9;

/// Ten tasks of 1 s and, on machines of their own, two long ones.
fn twelve(long: [f64; 2]) -> World {
    let mut tasks = vec![[1.0, 0.5]; 10];
    tasks.extend(long.map(|one| [one, 0.5]));
    World::machines(12).job("a").tasks(tasks)
}

#[test]
fn waits_for_the_quantile_then_the_multiplier() {
    // floor(0.9 × 12) = 10 have finished at 1: the median is 1, the limit 3.
    let run = twelve([9.0, 2.9]).run("spark");
    assert_eq!(run.backups("a"), [(10, 3.0 + TICK)]);
    assert_eq!(run.job("a").finish, 3.5 + TICK);
    // floor(0.95 × 12) = 11: only once task 11 has finished at 5, when task 10 is past any limit.
    let run = twelve([9.0, 5.0]).run("spark(quantile=0.95)");
    assert_eq!(run.backups("a"), [(10, 5.0)]);
    // All must have finished: never.
    assert_eq!(twelve([9.0, 5.0]).run("spark(quantile=1)").backups("a"), []);
    // The multiplier, and the floor below which nothing is slow.
    assert_eq!(twelve([9.0, 1.0]).run("spark(multiplier=1.5)").backups("a"), [(10, 1.5 + TICK)]);
    assert_eq!(twelve([9.0, 1.0]).run("spark(min_runtime=4)").backups("a"), [(10, 4.0 + TICK)]);
    assert_eq!(twelve([9.0, 1.0]).run("spark(min_runtime=9)").backups("a"), []);
}

#[test]
fn median_of_an_even_count_is_the_middle_mean() {
    // Finished 1 and 2: median 1.5, limit 3 at the multiplier 2. With 1, 2, 2.5 it is 2, limit 4.
    let run = World::machines(4).job("a").tasks([[1.0, 1.0], [2.0, 1.0], [9.0, 1.0], [9.0, 1.0]]);
    assert_eq!(run.run("spark(quantile=0.5,multiplier=2)").backups("a"), [(2, 3.0 + TICK), (3, 3.0 + TICK)]);
    let run = World::machines(4).job("a").tasks([[1.0, 1.0], [2.0, 1.0], [2.5, 1.0], [9.0, 1.0]]);
    assert_eq!(run.run("spark(quantile=0.5,multiplier=2)").backups("a"), [(3, 4.0 + TICK)]);
}

#[test]
fn a_phase_of_one_task_gets_no_backup() {
    let run = World::machines(5)
        .job("a")
        .phase("map")
        .tasks([[1.0, 1.0], [1.0, 1.0]])
        .phase("reduce")
        .after(["map"])
        .tasks([[99.0, 1.0]])
        .run("spark(quantile=0,multiplier=1)");
    assert_eq!(run.result.copies_launched, 0);
    assert_eq!(run.job("a").finish, 100.0);
}

#[test]
fn quantile_zero_still_needs_one_finished_task() {
    let run =
        World::machines(3).job("a").tasks([[2.0, 1.0], [9.0, 1.0]]).run("spark(quantile=0,multiplier=0,min_runtime=0)");
    assert_eq!(run.backups("a"), [(1, 2.0)]);
}

#[test]
fn the_longest_running_attempt_comes_first() {
    // The limit is 8 median seconds: task 1 of "b" is slow from 8 on, that of "a", in a phase that
    // opened at 1, from 9 on. Two machines go free, at 10 and at 11; "a" has the lower id.
    let run = World::machines(4)
        .job("a")
        .phase("first")
        .tasks([[1.0, 1.0]])
        .phase("second")
        .after(["first"])
        .tasks([[1.0, 1.0], [50.0, 5.0]])
        .job("b")
        .tasks([[1.0, 1.0], [50.0, 5.0]])
        .job("c")
        .tasks([[10.0, 1.0], [9.0, 1.0]])
        .run("fifo+spark(quantile=0.5,multiplier=8)");
    assert_eq!(run.starts("c"), [0.0, 2.0]);
    assert_eq!(run.backups("b"), [(1, 10.0)]);
    assert_eq!(run.backups("a"), [(1, 11.0)]);
}

#[test]
fn a_risen_median_ends_and_renews_slowness() {
    // Of five tasks two have finished at 1: limit 2.5. Task 2 is past it at 2.5, but every machine is
    // taken until 4. By then the median of 1, 1, 3, 3 is 2 and the limit 5: not slow any more, and
    // slow again at 5, when machines stand idle.
    let run = World::machines(3)
        .job("a")
        .tasks([[1.0, 9.0], [1.0, 9.0], [100.0, 9.0], [3.0, 9.0], [3.0, 9.0]])
        .run("fifo+spark(quantile=0.4,multiplier=2.5)");
    assert_eq!(run.backups("a"), [(2, 5.0 + TICK)]);
    assert_eq!(run.job("a").finish, 14.0 + TICK);
}

#[test]
fn the_backup_avoids_the_original_node() {
    // Both free cpus are on the straggler's own node until the other node's long task ends at 8.
    let run = World::nodes([[("cpus", 3.0)], [("cpus", 1.0)]])
        .order("fifo")
        .job("a")
        .tasks([[9.0, 1.0], [1.0, 1.0], [1.0, 1.0]])
        .job("b")
        .tasks([[8.0, 1.0]])
        .run("spark(quantile=0.6,multiplier=2)");
    let backup = run.tries("a")[1];
    assert_eq!((backup.id.copy, backup.node, backup.start), (1, 1, 8.0));
}
