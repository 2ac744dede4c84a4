//! The policy `pace`, by instances small enough to be worked out by hand.

use hindmost_sim::output::Outcome::{Lost, Won};
use hindmost_sim::testing::World;

const TICK: f64 = 1e-9;

/// Two tasks of 1 s and one that is slow, each on a machine of its own, and one machine free.
fn three(slow: f64) -> World {
    World::machines(4).job("a").tasks([[1.0, 1.0], [1.0, 1.0], [slow, 1.0]]).mean(1.0).sd(0.0)
}

#[test]
fn a_lagging_attempt_gets_a_backup_and_is_overtaken() {
    let run = three(8.0).run("pace");
    // Task 2 goes at an eighth of the median's pace. With the oracle the backup's end is known at once: it
    // comes 1 s later, and what remains of the original is more than 1.5 times that.
    let seen = 0.1 + TICK;
    assert_eq!(run.backups("a"), [(2, seen)]);
    assert!((run.job("a").finish - (seen + 1.0)).abs() < TICK / 2.0, "{}", run.job("a").finish);
    let of_task: Vec<_> = run.table("a").into_iter().filter(|row| row.0 == 2).collect();
    let outcomes: Vec<_> = of_task.iter().map(|row| (row.4, row.5)).collect();
    let ended = |at: f64, how| outcomes.iter().any(|(end, outcome)| (end - at).abs() < TICK / 2.0 && *outcome == how);
    assert!(ended(seen, Lost) && ended(seen + 1.0, Won), "{of_task:?}");
    run.verify().unwrap();
}

#[test]
fn attempts_up_to_twice_the_median_get_no_backup() {
    assert_eq!(three(2.0).run("pace").backups("a"), []);
    assert_eq!(three(2.0).run("pace(lag=1.5)").backups("a"), [(2, 0.1 + TICK)]);
}

#[test]
fn an_overdue_estimate_stops_no_copy() {
    // What is known of the ends is wrong by a factor whose logarithm has σ = 1. Where the only copy of the slow task should
    // have ended by now, each backup of it was once stopped at once, because it ends later than that, and started again.
    const MANY: usize = 100;
    for seed in 0..200 {
        let tasks = [1.0, 1.0, 8.0].map(|seconds| [seconds; MANY]);
        let run = World::machines(4).job("a").tasks(tasks).mean(1.0).sd(0.0).noise(1.0).seed(seed).run("pace");
        assert!(run.backups("a").len() < 12, "seed {seed}: {:?}", run.backups("a"));
    }
}

#[test]
fn without_progress_age_above_the_90th_percentile_counts() {
    let run = three(8.0).knowledge("age").run("pace");
    // 1.2 times the age that nine of ten do not exceed; both copies run on, for nobody knows which is faster.
    assert_eq!(run.backups("a"), [(2, 1.2 + TICK)]);
    assert!((run.job("a").finish - (2.2 + TICK)).abs() < TICK / 2.0);
}

#[test]
fn a_slow_node_is_left_idle_unless_the_queue_is_long() {
    let world = |tasks| World::machines(3).speeds([1.0, 1.0, 0.125]).job("a").same(tasks, 1.0);
    // Of six tasks the two fast machines have done all by 3; the slow one would take 8 for a single one.
    assert_eq!(world(6).run("pace").starts("a"), [0.0, 0.0, 1.0, 1.0, 2.0, 2.0]);
    assert_eq!(world(6).run("none").job("a").finish, 8.0);
    // Forty keep them busy for longer than 8, so one is done on the slow machine.
    let many = world(40).run("pace");
    assert_eq!(many.starts("a").iter().filter(|start| **start == 0.0).count(), 3);
    assert!(many.job("a").finish <= 20.0);
    // What waits of other jobs counts as well: each of these would leave the slow machine idle.
    let jobs = ["a", "b", "c", "d"];
    let world = World::machines(3).speeds([1.0, 1.0, 0.125]);
    let run = jobs.into_iter().fold(world, |world, job| world.job(job).same(10, 1.0)).run("fifo+pace");
    let at_once: Vec<usize> = jobs.map(|job| run.starts(job).iter().filter(|start| **start == 0.0).count()).into();
    assert_eq!(at_once, [3, 0, 0, 0]);
}

#[test]
fn a_backup_waits_while_tasks_are_pending_unless_it_saves() {
    // One machine beside the straggler's; task 1 to 3 are pending. At 1 the backup would still save: remaining
    // 7 s against two fresh copies.
    let tasks = [[8.0, 1.0], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0]];
    let run = World::machines(2).job("a").tasks(tasks).mean(1.0).sd(0.0).run("pace");
    assert_eq!(run.backups("a"), [(0, 1.0)]);
    // With 2.9 s in all remain 1.9 s at 1: less than two fresh copies, so the pending tasks go first.
    let tasks = [[2.9, 1.0], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0]];
    let run = World::machines(2).job("a").tasks(tasks).mean(1.0).sd(0.0).run("pace");
    assert_eq!(run.starts("a")[1..4], [0.0, 1.0, 2.0]);
}

#[test]
fn an_original_on_a_slow_node_runs_on_with_its_backup() {
    // The queue is so long at first that the slow machine, which needs 20, gets one. It needs no backup as long as
    // the others are not done with the queue before it: at 10 they have twenty of forty-one before them, which take
    // 10 as well. At 11 it is taken to need as long again as it has run, 11, and the queue takes 9: it gets a backup that
    // needs 1. No progress proves that it is slower, so it runs until the backup has finished.
    let tasks = World::machines(3).speeds([1.0, 1.0, 0.05]).job("a").same(41, 1.0).mean(1.0).sd(0.0);
    let run = tasks.knowledge("age").run("pace");
    let [(task, begun)] = run.backups("a")[..] else { panic!("{:?}", run.backups("a")) };
    let of_task: Vec<_> = run.table("a").into_iter().filter(|row| row.0 == task).collect();
    let ended = |how| of_task.iter().filter(|row| row.5 == how).map(|row| row.4).collect::<Vec<_>>();
    assert!((ended(Won)[0] - begun - 1.0).abs() < 1e-6 && ended(Lost) == ended(Won), "{of_task:?}");
    assert_eq!(begun, 11.0);
    run.verify().unwrap();
    // With four hundred tasks it ends long before the queue, and the slow machine gets more of them.
    let long = World::machines(3).speeds([1.0, 1.0, 0.05]).job("a").same(400, 1.0).mean(1.0).sd(0.0);
    let run = long.knowledge("age").run("pace");
    let slow = run.table("a").into_iter().filter(|row| row.5 == Won && (row.4 - row.3 - 20.0).abs() < 1e-6).count();
    assert!(slow >= 8, "{slow}");
    assert!(run.backups("a").len() <= 1, "{:?}", run.backups("a"));
    // Age shows nothing between equally fast machines: both copies run until one of them wins.
    let run = three(8.0).knowledge("age").run("pace");
    let lost: Vec<_> = run.table("a").into_iter().filter(|row| row.5 == Lost).collect();
    assert!(lost.len() == 1 && (lost[0].4 - 2.2).abs() < 1e-6, "{lost:?}");
}
