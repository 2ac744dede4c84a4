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
    // Progress rates are known from the start: 1/16, 1/8 and six times 1/4. The percentile 0.125 is at 0.125·7 = 0.875, between
    // 1/16 and 1/8; only task 7 is below.
    let run = eight().run("late(slow_task=0.125)");
    assert_eq!(run.backups("a"), [(7, 0.0)]);
    // The percentile 0.25 is at 1.75, between 1/8 and 1/4: tasks 6 and 7 are below. The cap of 0.05 × 16 = 0.8 allows one
    // backup at a time, so task 6 gets its backup when the backup of task 7 has won at 1.
    let run = eight().run("late(cap=0.05)");
    assert_eq!(run.backups("a"), [(6, 1.0), (7, 0.0)]);
    // Backups start while fewer than the cap run: with 0.1 × 16 = 1.6, both start at 0.
    let run = eight().run("late");
    assert_eq!(run.backups("a"), [(6, 0.0), (7, 0.0)]);
    // A cap of 0 allows no backups.
    assert_eq!(eight().run("late(cap=0)").backups("a"), []);
    // The 0th percentile is the smallest rate, so no rate is below.
    assert_eq!(eight().run("late(slow_task=0)").backups("a"), []);
}

#[test]
fn attempts_below_min_age_get_no_backup() {
    assert_eq!(eight().run("late(min_age=6)").backups("a"), [(6, 6.0), (7, 6.0)]);
    assert_eq!(eight().run("late(min_age=20)").backups("a"), []);
    // The paper's minute, for an attempt that starts when another one has ended, at 10.
    let tasks = [[10.0, 10.0], [40.0, 40.0], [200.0, 20.0]];
    let run = World::machines(2).job("a").tasks(tasks).run("late(min_age=60,slow_task=0.5)");
    assert_eq!(run.backups("a"), [(2, 70.0)]);
    // Remaining times that become known after the minute give a backup when they become known.
    let world = World::machines(2).job("a").tasks(tasks).knowledge("progress(0.5)");
    assert_eq!(world.run("late(min_age=60,slow_task=0.5)").backups("a"), [(2, 110.0)]);
    // If only ages are known, an attempt is slow from 100 s on: its expected duration, (100 + 200)/2, is then the upper
    // quartile.
    let world = World::machines(2).job("a").tasks([[190.0, 1.0]]).tail("uniform(min=0,max=200)").knowledge("age");
    for (policy, start) in [("late", 100.0), ("late(min_age=60)", 100.0), ("late(min_age=120)", 120.0)] {
        let backups = world.run(policy).backups("a");
        assert!((backups[0].1 - start).abs() < 1e-6, "{policy}: {backups:?}");
    }
}

#[test]
fn the_longest_time_left_is_first_not_the_slowest_rate() {
    // The machines are busy until 9. Task 0 has the lowest rate, 1/20, and 11 s left. Task 4 runs since 8 at a rate of 1/18
    // and has 17 s left. The median rate is 1/8, so both are slow. The cap of 0.3 allows one backup at a time.
    let run = World::machines(3)
        .order("fifo")
        .job("a")
        .tasks([[20.0, 1.0], [4.0, 9.0], [8.0, 9.0], [4.0, 9.0], [18.0, 1.0]])
        .job("b")
        .tasks([[1.0, 9.0]])
        .run("late(slow_task=0.5)");
    assert_eq!(run.starts("a"), [0.0, 0.0, 0.0, 4.0, 8.0]);
    assert_eq!(run.backups("a"), [(0, 10.0), (4, 9.0)]);
}

#[test]
fn slow_rates_are_below_the_percentile_of_all_attempts() {
    // Of two to five rates the slowest is below the percentile 0.25, which is interpolated; a single one is not.
    let tasks = |count: usize| (0..count).map(move |task| if task == 0 { [40.0, 1.0] } else { [4.0, 1.0] });
    assert_eq!(World::machines(9).job("a").tasks(tasks(1)).run("late").backups("a"), []);
    for count in [2, 4, 5] {
        assert_eq!(World::machines(9).job("a").tasks(tasks(count)).run("late").backups("a"), [(0, 0.0)]);
    }
    // At 8 only task 4 runs. It is slow compared with the four tasks that have finished.
    let last = [[4.0, 9.0], [4.0, 9.0], [4.0, 9.0], [4.0, 9.0], [8.0, 1.0]];
    let run = World::machines(2).job("a").tasks(last).run("late");
    assert_eq!((run.starts("a")[4], run.backups("a")), (8.0, vec![(4, 8.0)]));
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

#[test]
fn attempts_are_slow_by_deviations_from_the_mean_rate() {
    // Rates are 1/16, 1/8 and six times 1/4: the mean is 0.211 and the standard deviation 0.069. So tasks 6 and 7, below
    // 0.141, are slow, where the percentile has only task 7.
    assert_eq!(eight().run("late(slow_by=deviation,slow_task=1)").backups("a"), [(6, 0.0), (7, 0.0)]);
    // Rates of 5, 5, 5, 10 and 10 s: the 25th percentile is 1/10, and none is below. By the deviation those below
    // 0.16 − 0.049 are slow: both of 10 s.
    let five = World::machines(10).job("a").tasks([[5.0, 1.0], [5.0, 1.0], [5.0, 1.0], [10.0, 1.0], [10.0, 1.0]]);
    assert_eq!(five.clone().run("late(cap=1)").backups("a"), []);
    assert_eq!(five.run("late(cap=1,slow_by=deviation,slow_task=1)").backups("a"), [(3, 0.0), (4, 0.0)]);
}

#[test]
fn backups_may_come_before_pending_tasks_of_later_jobs() {
    // Five machines. Job a has four tasks of 5 s and one of 40 s; job b waits with eight tasks of 5 s.
    let world = || {
        let world = World::machines(5).job("a").tasks([[5.0, 5.0], [5.0, 5.0], [5.0, 5.0], [5.0, 5.0], [40.0, 5.0]]);
        world.job("b").tasks([[5.0, 5.0]; 8])
    };
    // Job b takes four machines from 5 to 15, so the backup starts at 15.
    let run = world().run("fifo+late");
    assert_eq!((run.backups("a"), run.job("a").finish), (vec![(4, 15.0)], 20.0));
    // Otherwise it starts at 5.
    let run = world().run("fifo+late(originals_first=false)");
    assert_eq!((run.backups("a"), run.job("a").finish), (vec![(4, 5.0)], 10.0));
    // A phase with pending tasks gets no backup: task 2 of job a starts at 5, when a backup of task 1 could start.
    let pending = World::machines(2).job("a").tasks([[5.0, 5.0], [40.0, 5.0], [5.0, 5.0]]);
    assert_eq!(pending.run("late(originals_first=false,slow_task=0.5)").backups("a"), [(1, 10.0)]);
}

#[test]
fn fast_attempts_that_report_first_are_not_slow() {
    // 20 tasks of 10, 20, …, 200 s report after a tenth of their work, the fastest first, so a task of 10·n s reports at n
    // seconds. The percentile 0.25 of 20 is at 4.75: the five slowest are slow, those of 160 to 200 s, when they report. The
    // cap of 0.1 × 40 = 4 slots lets four of the five backups start, at 16, 17, 18 and 19; the first of them ends at 26.
    let tasks = (1..=20).map(|n| [10.0 * f64::from(n), 10.0]);
    let run = World::machines(40).job("a").tasks(tasks).knowledge("progress(0.1)").run("late(slow_node=0)");
    assert_eq!(run.backups("a"), [(15, 16.0), (16, 17.0), (17, 18.0), (18, 19.0), (19, 26.0)]);
}
