//! `late`: LATE, in instances small enough to work out by hand.

use hindmost_sim::testing::World;

/// Eight tasks on sixteen machines. Six tasks take 4 s; tasks 6 and 7 are slower.
fn eight() -> World {
    World::machines(16).job("a").tasks([
        [4.0, 1.0],
        [4.0, 1.0],
        [4.0, 1.0],
        [4.0, 1.0],
        [4.0, 1.0],
        [4.0, 1.0],
        [8.0, 1.0],
        [16.0, 1.0],
    ])
}

#[test]
fn attempts_with_slow_rates_get_backups_longest_first() {
    // Progress rates are known from the start: 1/16, 1/8 and six times 1/4. The 25th percentile is the second smallest
    // rate, 1/8; only task 7 is strictly below. The cap of 0.1 × 16 = 1.6 allows one backup.
    let run = eight().run("late");
    assert_eq!(run.backups("a"), [(7, 0.0)]);
    // With slow_task = 0.375 the limit is the third smallest rate, 1/4: tasks 6 and 7 are below. The cap of
    // 0.05 × 16 = 0.8 allows one backup at a time, so task 6 gets its backup when the backup of task 7 has won at 1.
    let run = eight().run("late(slow_task=0.375,cap=0.05)");
    assert_eq!(run.backups("a"), [(6, 1.0), (7, 0.0)]);
    // A cap of 0 allows no backups.
    assert_eq!(eight().run("late(cap=0)").backups("a"), []);
    // The 0th percentile is the smallest rate, so no rate is below.
    assert_eq!(eight().run("late(slow_task=0)").backups("a"), []);
}

#[test]
fn attempts_below_min_age_get_no_backup() {
    assert_eq!(eight().run("late(min_age=6)").backups("a"), [(7, 6.0)]);
    assert_eq!(eight().run("late(min_age=20)").backups("a"), []);
}

#[test]
fn a_phase_with_a_single_attempt_gets_no_backup() {
    let run = World::machines(9).job("a").tasks([[99.0, 98.0]]).run("late(cap=1)");
    assert_eq!(run.backups("a"), []);
    // A task gets at most one backup.
    let run = World::machines(9).job("a").tasks([[99.0, 98.0], [1.0, 1.0]]).run("late(cap=1,slow_task=0.75)");
    assert_eq!(run.backups("a"), [(0, 0.0)]);
}

#[test]
fn slow_nodes_get_no_backup() {
    // A node's progress is the number of attempts that it has finished, plus 1/2 for each attempt that it runs.
    let world =
        World::machines(3).order("fifo").job("a").tasks([[1.0, 1.0], [2.0, 1.0], [9.0, 2.0], [1.0, 1.0], [1.0, 1.0]]);
    // Node 0 runs tasks 0, 3 and 4, one after the other, until 3. Node 1 runs task 1 until 2 and is then idle. Node 2
    // runs task 2. At 2 only node 1 is free; its progress is 1, that of node 0 is 2 + 1/2 and that of node 2 is 1/2.
    let any = world.run("late(slow_task=0.5,slow_node=0,cap=1)");
    assert_eq!((any.backups("a"), any.tries("a")[3].node), (vec![(2, 2.0)], 1));
    // Node 1 has the median progress, 1. It is not below the median, so the backup may start there.
    let median = world.run("late(slow_task=0.5,slow_node=0.5,cap=1)");
    assert_eq!((median.backups("a"), median.tries("a")[3].node), (vec![(2, 2.0)], 1));
    // The 90th percentile is the progress of node 0, so only node 0 gets backups; it is free from 3 on.
    let best = world.run("late(slow_task=0.5,slow_node=0.9,cap=1)");
    assert_eq!((best.backups("a"), best.tries("a")[3].node), (vec![(2, 3.0)], 0));
}
