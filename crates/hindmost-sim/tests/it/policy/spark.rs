//! `spark`: Apache Spark's speculative execution, in instances small enough to work out by hand.
//!
//! A condition such as "running time above a limit" becomes true one tick of the clock, 1 ns, after the limit.

use hindmost_sim::testing::World;

const TICK: f64 = 1e-9;

/// Twelve tasks on twelve machines: ten of 1 s, and two with these durations. Each backup takes 0.5 s.
fn twelve(long: [f64; 2]) -> World {
    let mut tasks = vec![[1.0, 0.5]; 10];
    tasks.extend(long.map(|one| [one, 0.5]));
    World::machines(12).job("a").tasks(tasks)
}

#[test]
fn backups_wait_for_the_quantile_and_the_multiplier() {
    // floor(0.9 × 12) = 10 tasks must have finished, which is at 1. The median is 1 s, the limit 3 s.
    let run = twelve([9.0, 2.9]).run("spark");
    assert_eq!(run.backups("a"), [(10, 3.0 + TICK)]);
    assert_eq!(run.job("a").finish, 3.5 + TICK);
    // floor(0.95 × 12) = 11 tasks must have finished, which is at 5. Task 10 is above the limit by then.
    let run = twelve([9.0, 5.0]).run("spark(quantile=0.95)");
    assert_eq!(run.backups("a"), [(10, 5.0)]);
    // With quantile 1 all tasks must have finished, so there is never a backup.
    assert_eq!(twelve([9.0, 5.0]).run("spark(quantile=1)").backups("a"), []);
    // The limit is the median times the multiplier, but at least min_runtime.
    assert_eq!(twelve([9.0, 1.0]).run("spark(multiplier=1.5)").backups("a"), [(10, 1.5 + TICK)]);
    assert_eq!(twelve([9.0, 1.0]).run("spark(min_runtime=4)").backups("a"), [(10, 4.0 + TICK)]);
    assert_eq!(twelve([9.0, 1.0]).run("spark(min_runtime=9)").backups("a"), []);
}

#[test]
fn the_median_of_an_even_number_is_the_mean_of_the_middle() {
    // The median of the finished tasks of 1 and 2 s is 1.5 s; with multiplier 2 the limit is 3 s. In the second run the
    // median of 1, 2 and 2.5 s is 2 s, and the limit is 4 s.
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
    // The limit is 8 medians, 8 s: task 1 of "b" is slow from 8 on, and task 1 of the second phase of "a", which starts
    // at 1, from 9 on. Machines become free at 10 and at 11. "b" gets the first one, although "a" has the lower id.
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
fn an_attempt_found_slow_stays_so_when_the_median_rises() {
    // At 1 two of five tasks have finished: the limit is 2.5 s. Task 2 is slow from 2.5 on, but all machines are busy
    // until 4. Then the median of 1, 1, 3 and 3 s is 2 s and the limit 5 s, but the task has been marked before.
    let run = World::machines(3)
        .job("a")
        .tasks([[1.0, 9.0], [1.0, 9.0], [100.0, 9.0], [3.0, 9.0], [3.0, 9.0]])
        .run("fifo+spark(quantile=0.4,multiplier=2.5)");
    assert_eq!(run.backups("a"), [(2, 4.0)]);
    assert_eq!(run.job("a").finish, 13.0);
}

#[test]
fn a_backup_starts_on_another_node_than_the_original() {
    // Free cpus are only on the straggler's node until the task on the other node ends at 8.
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

#[test]
fn a_task_with_much_input_gets_no_backup_while_it_is_efficient() {
    // Ten tasks read 100 bytes in 1 s each, so the threshold is 3 s. The last task takes 10 s.
    let world = |bytes: u64, knowledge: &str| {
        let tasks = (0..11).map(|task| if task < 10 { [1.0, 1.0] } else { [10.0, 9.0] });
        let mut world = World::machines(20).knowledge(knowledge).job("a").tasks(tasks).input(100);
        world.jobs[0].spec.phases[0].input.as_mut().unwrap().bytes[10] = bytes;
        world
    };
    let backups = |bytes: u64, policy: &str| world(bytes, "progress(0.1)").run(policy).backups("a");
    // 1000 bytes in 10 s are as fast as the others; after 2 · 3 s the task counts as inefficient all the same.
    assert_eq!(backups(1000, "spark"), [(10, 6.0 + TICK)]);
    assert_eq!(backups(1000, "spark(long_run=4)"), []);
    assert_eq!(backups(1000, "spark(efficiency=false)"), [(10, 3.0 + TICK)]);
    // 75 bytes a second are just enough, 74 are not.
    assert_eq!(backups(750, "spark(long_run=4)"), []);
    assert_eq!(backups(740, "spark(long_run=4)"), [(10, 3.0 + TICK)]);
    assert_eq!(backups(740, "spark(long_run=4,process_rate=0.7)"), []);
    // Without progress the rate is unknown and counts as 0.
    assert_eq!(world(1000, "age").run("spark").backups("a"), [(10, 3.0 + TICK)]);
}

#[test]
fn a_finished_task_makes_the_test_of_efficiency_again() {
    // Tasks 0 to 2 read 100 bytes in 1 s, task 3 in 4 s, task 4 in 20 s; the threshold is 3 s from 1 on. At 3 the mean
    // rate is 100 bytes/s: task 3 reads 25 bytes/s and gets a backup. Task 4 reads 1600 bytes, 80 bytes/s, and is efficient.
    // At 4 task 3 finishes. The mean rate falls to 400/7 bytes/s, so task 4 stays efficient, until 6.
    let tasks = [[1.0, 1.0], [1.0, 1.0], [1.0, 1.0], [4.0, 9.0], [20.0, 9.0]];
    let mut world = World::machines(20).job("a").tasks(tasks).input(100);
    world.jobs[0].spec.phases[0].input.as_mut().unwrap().bytes[4] = 1600;
    let run = world.run("spark(quantile=0.5)");
    assert_eq!(run.backups("a"), [(3, 3.0 + TICK), (4, 6.0 + TICK)]);
    // With 500 bytes in its fourth task, finished at 4, the mean rate rises to 800/7 = 114 bytes/s: 80 is too slow then.
    world.jobs[0].spec.phases[0].input.as_mut().unwrap().bytes[3] = 500;
    assert_eq!(world.run("spark(quantile=0.5)").backups("a"), [(4, 4.0)]);
}
