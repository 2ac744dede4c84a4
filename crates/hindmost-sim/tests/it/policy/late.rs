//! `late`: LATE, in instances small enough to work out by hand.

use hindmost_sim::testing::World;

/// Eight tasks of which two are slower than the rest, on machines of their own.
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
fn backs_up_slow_rates_longest_first() {
    // Rates are known from the start: 1/16, 1/8, 1/4 × 6. The 25th percentile is the second smallest
    // of eight, 1/8; strictly below it is task 7 alone. A cap of 0.1 × 16 machines allows it.
    let run = eight().run("late");
    assert_eq!(run.backups("a"), [(7, 0.0)]);
    // Up to the third smallest, 1/4: tasks 6 and 7, the longest first; the cap of 0.05 × 16 = 0.8
    // allows one at a time, so 6 follows when the backup of 7 has won at 1.
    let run = eight().run("late(slow_task=0.375,cap=0.05)");
    assert_eq!(run.backups("a"), [(6, 1.0), (7, 0.0)]);
    // None at all.
    assert_eq!(eight().run("late(cap=0)").backups("a"), []);
    // The percentile 0 is the smallest: nothing is below.
    assert_eq!(eight().run("late(slow_task=0)").backups("a"), []);
}

#[test]
fn attempts_below_min_age_get_no_backup() {
    assert_eq!(eight().run("late(min_age=6)").backups("a"), [(7, 6.0)]);
    assert_eq!(eight().run("late(min_age=20)").backups("a"), []);
}

#[test]
fn one_backup_a_task_none_for_a_single_attempt() {
    let run = World::machines(9).job("a").tasks([[99.0, 98.0]]).run("late(cap=1)");
    assert_eq!(run.backups("a"), []);
    let run = World::machines(9).job("a").tasks([[99.0, 98.0], [1.0, 1.0]]).run("late(cap=1,slow_task=0.75)");
    assert_eq!(run.backups("a"), [(0, 0.0)]);
}

#[test]
fn slow_nodes_get_no_backup() {
    // A node's progress is one for each attempt it has finished and one half for each that runs.
    let world =
        World::machines(3).order("fifo").job("a").tasks([[1.0, 1.0], [2.0, 1.0], [9.0, 2.0], [1.0, 1.0], [1.0, 1.0]]);
    // Node 0: tasks 0 (to 1), 3 (to 2), 4 (2 to 3). Node 1: task 1 (to 2), then idle from 2 on.
    // At 2 the only free node is 1, with progress 1 (node 0: 2 + 1/2, node 2: 1/2).
    let any = world.run("late(slow_task=0.5,slow_node=0,cap=1)");
    assert_eq!((any.backups("a"), any.tries("a")[3].node), (vec![(2, 2.0)], 1));
    // The median of 1/2, 1, 2 1/2 is 1: node 1 is not below it.
    let median = world.run("late(slow_task=0.5,slow_node=0.5,cap=1)");
    assert_eq!((median.backups("a"), median.tries("a")[3].node), (vec![(2, 2.0)], 1));
    // Above 2/3 only node 0 will do, which is free from 3 on.
    let best = world.run("late(slow_task=0.5,slow_node=0.9,cap=1)");
    assert_eq!((best.backups("a"), best.tries("a")[3].node), (vec![(2, 3.0)], 0));
}
