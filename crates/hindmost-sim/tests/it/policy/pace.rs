//! `pace`, in instances small enough to work out by hand.

use hindmost_sim::output::Outcome::{Lost, NodeLost, Won};
use hindmost_sim::testing::World;

const TICK: f64 = 1e-9;

/// Two tasks of 1 s and one that takes `slow` seconds, on four machines, so that one machine is free.
fn three(slow: f64) -> World {
    World::machines(4).job("a").tasks([[1.0, 1.0], [1.0, 1.0], [slow, 1.0]]).mean(1.0).sd(0.0)
}

#[test]
fn a_lagging_attempt_gets_a_backup_and_is_overtaken() {
    let run = three(8.0).run("pace");
    // Task 2 progresses at an eighth of the median's rate. With the oracle it is known that the backup takes 1 s and
    // that the original's remaining time is more than 1.5 times as long, so the original is stopped when the backup
    // starts.
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
    // Remaining times are known with a log-normal error of σ = 1, so the expected end of the slow task's original may
    // be in the past. A backup must not be stopped because it ends later than this; otherwise it is started again
    // endlessly.
    const MANY: usize = 100;
    for seed in 0..200 {
        let tasks = [1.0, 1.0, 8.0].map(|seconds| [seconds; MANY]);
        let run = World::machines(4).job("a").tasks(tasks).mean(1.0).sd(0.0).noise(1.0).seed(seed).run("pace");
        assert!(run.backups("a").len() < 12, "seed {seed}: {:?}", run.backups("a"));
    }
}

#[test]
fn without_progress_an_attempt_lags_by_its_age() {
    let run = three(8.0).knowledge("age").run("pace");
    // The limit is 1.2 times the 90th percentile, 1 s. Both copies run on, because it is not known which one is faster.
    assert_eq!(run.backups("a"), [(2, 1.2 + TICK)]);
    assert!((run.job("a").finish - (2.2 + TICK)).abs() < TICK / 2.0);
}

#[test]
fn a_slow_node_is_left_idle_unless_the_queue_is_long() {
    let world = |tasks| World::machines(3).speeds([1.0, 1.0, 0.125]).job("a").same(tasks, 1.0);
    // The two fast machines finish six tasks by 3 s. The slow machine would take 8 s for one task.
    assert_eq!(world(6).run("pace").starts("a"), [0.0, 0.0, 1.0, 1.0, 2.0, 2.0]);
    assert_eq!(world(6).run("none").job("a").finish, 8.0);
    // Forty tasks keep the fast machines busy for longer than 8 s, so the slow machine gets a task at 0.
    let many = world(40).run("pace");
    assert_eq!(many.starts("a").iter().filter(|start| **start == 0.0).count(), 3);
    assert!(many.job("a").finish <= 20.0);
    // Pending tasks of other jobs count as well. Each of these jobs alone would leave the slow machine idle.
    let jobs = ["a", "b", "c", "d"];
    let world = World::machines(3).speeds([1.0, 1.0, 0.125]);
    let run = jobs.into_iter().fold(world, |world, job| world.job(job).same(10, 1.0)).run("fifo+pace");
    let at_once: Vec<usize> = jobs.map(|job| run.starts(job).iter().filter(|start| **start == 0.0).count()).into();
    assert_eq!(at_once, [3, 0, 0, 0]);
}

#[test]
fn a_backup_waits_while_tasks_are_pending_unless_it_saves() {
    // The straggler, task 0, runs on one of two machines. At 1 its remaining 7 s are longer than two new copies of 1 s,
    // so its backup starts before the pending tasks 2 and 3.
    let tasks = [[8.0, 1.0], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0]];
    let run = World::machines(2).job("a").tasks(tasks).mean(1.0).sd(0.0).run("pace");
    assert_eq!(run.backups("a"), [(0, 1.0)]);
    // If task 0 takes 2.9 s, 1.9 s remain at 1: less than two new copies, so the pending tasks start first.
    let tasks = [[2.9, 1.0], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0]];
    let run = World::machines(2).job("a").tasks(tasks).mean(1.0).sd(0.0).run("pace");
    assert_eq!(run.starts("a")[1..4], [0.0, 1.0, 2.0]);
}

#[test]
fn a_backup_that_is_lost_with_its_node_costs_its_job_nothing() {
    // Attempts show their pace after a tenth of their work, task 0 at 0.8. The whole job is 14 s of work at most, so
    // that 2.5 % of it never pay for a copy of 1 s while tasks are pending. But a job's first copy may start if the
    // remaining time is above four copies. At 1 it is 7 s, and machine 1 is lost before the copy has shown its pace. At
    // 2 no copy runs and none has lost, and 6 s remain: the next copy is the first again. At 2.1 it overtakes the
    // original, and at 3 it finishes.
    let task = |number: usize| [if number == 0 { 8.0 } else { 1.0 }, 1.0, 1.0];
    let world = World::machines(3).job("a").tasks((0..7).map(task)).mean(1.0).sd(0.0).knowledge("progress(0.1)");
    let run = world.outage(1, 1.05, f64::INFINITY).run("pace");
    let of_task: Vec<_> = run.table("a").into_iter().filter(|row| row.0 == 0).collect();
    let [(_, 0, _, _, _, Lost), (_, 1, 1, first, lost, NodeLost), (_, 2, 2, second, end, Won)] = of_task[..] else {
        panic!("{of_task:?}")
    };
    assert_eq!((first, lost, second, end), (1.0, 1.05, 2.0, 3.0));
    assert_eq!(run.backups("a").len(), 2);
    run.verify().unwrap();
}

#[test]
fn an_original_on_a_slow_node_runs_on_with_its_backup() {
    // The slow machine takes 20 s for a task. 41 tasks keep the fast machines busy for 20 s, so it gets one of them, which gets no
    // backup: it ends with the queue.
    let alike = World::machines(3).speeds([1.0, 1.0, 0.05]).job("a").same(41, 1.0).mean(1.0).sd(0.0);
    let run = alike.knowledge("age").run("pace");
    assert_eq!((run.backups("a"), run.job("a").finish), (vec![], 20.0));
    // If the task takes 40 s there, it lags at 24 s: 1.2 times as old as attempts become there. Without progress it is not known which
    // copy is faster, so the original runs until the backup has finished.
    let first = |number: usize| if number == 2 { [2.0, 1.0] } else { [1.0, 1.0] };
    let tasks: Vec<[f64; 2]> = (0..41).map(first).collect();
    let world = World::machines(3).speeds([1.0, 1.0, 0.05]).job("a").tasks(tasks).mean(1.0).sd(0.0);
    let run = world.knowledge("age").run("pace");
    let [(task, begun)] = run.backups("a")[..] else { panic!("{:?}", run.backups("a")) };
    let of_task: Vec<_> = run.table("a").into_iter().filter(|row| row.0 == task).collect();
    let ended = |how| of_task.iter().filter(|row| row.5 == how).map(|row| row.4).collect::<Vec<_>>();
    assert!((ended(Won)[0] - begun - 1.0).abs() < 1e-6 && ended(Lost) == ended(Won), "{of_task:?}");
    assert!((begun - 24.0).abs() < 1e-6, "{begun}");
    run.verify().unwrap();
    // With 400 tasks the attempt ends long before the last pending task starts, and the slow machine gets further
    // tasks.
    let long = World::machines(3).speeds([1.0, 1.0, 0.05]).job("a").same(400, 1.0).mean(1.0).sd(0.0);
    let run = long.knowledge("age").run("pace");
    let slow = run.table("a").into_iter().filter(|row| row.5 == Won && (row.4 - row.3 - 20.0).abs() < 1e-6).count();
    assert!(slow >= 8, "{slow}");
    assert!(run.backups("a").len() <= 1, "{:?}", run.backups("a"));
    // On equally fast machines both copies run until one of them wins.
    let run = three(8.0).knowledge("age").run("pace");
    let lost: Vec<_> = run.table("a").into_iter().filter(|row| row.5 == Lost).collect();
    assert!(lost.len() == 1 && (lost[0].4 - 2.2).abs() < 1e-6, "{lost:?}");
}

#[test]
fn on_a_single_node_a_backup_runs_beside_its_original() {
    let one = |cpus| World::nodes([[("cpus", cpus)]]).knowledge("age").job("a");
    let tasks = [[1.0, 1.0], [1.0, 1.0], [100.0, 1.0]];
    let run = one(4.0).tasks(tasks).demand([("cpus", 1.0)]).mean(1.0).sd(0.0).run("pace");
    assert_eq!(run.backups("a"), [(2, 1.2 + TICK)]);
    run.verify().unwrap();
    // Other policies may not start a copy on a node with one, unless there is no other node.
    for policy in ["mantri", "late(min_age=1)", "spark"] {
        let run = one(4.0).tasks(tasks).demand([("cpus", 1.0)]).mean(1.0).sd(0.0).knowledge("oracle").run(policy);
        assert!(run.job("a").finish < 10.0, "{policy}: {:?}", run.table("a"));
    }
    // Where another node is full, the backup starts beside its original as well: task 3 holds the only cpu of the second
    // node, and hangs as task 0 does.
    let two = World::nodes([[("cpus", 3.0)], [("cpus", 1.0)]]).knowledge("age").job("b");
    let tasks = [[100.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [100.0, 1.0, 1.0]];
    let run = two.tasks(tasks).demand([("cpus", 1.0)]).mean(1.0).sd(0.0).run("pace");
    assert_eq!(run.backups("b").iter().map(|(task, _)| *task).collect::<Vec<_>>(), [0, 3]);
    assert!(run.job("b").finish < 2.5, "{:?}", run.table("b"));
}

#[test]
fn a_task_whose_backup_hangs_too_gets_another_copy() {
    let tasks: [&[f64]; 3] = [&[1.0], &[1.0], &[100.0, 100.0, 1.0]];
    let tasks = tasks.map(|copies| copies.iter().copied().chain(std::iter::repeat_n(1.0, 8)).collect::<Vec<f64>>());
    let run = World::machines(5).job("a").tasks(tasks).mean(1.0).sd(0.0).knowledge("age").run("pace");
    // The third copy starts when the second is as old as the first was.
    let starts: Vec<f64> = run.backups("a").iter().map(|(_, at)| *at).collect();
    assert!(starts.len() == 2 && (starts[0] - 1.2).abs() < 1e-6 && (starts[1] - 2.4).abs() < 1e-6, "{starts:?}");
    assert!((run.job("a").finish - 3.4).abs() < 1e-6);
    run.verify().unwrap();
    // If all copies hang, their number is bounded.
    let tasks = [[100.0; 20]; 1];
    let run = World::machines(30).job("a").tasks(tasks).mean(1.0).sd(0.0).knowledge("age").run("pace");
    assert_eq!(run.backups("a").len(), 4, "{:?}", run.backups("a"));
}

#[test]
fn a_backup_that_took_long_delays_the_next_one() {
    // Tasks 0 and 3 take as long again when they are copied. At 1.2 task 0 gets a backup on the machine that has come
    // free; it has run for 1.8 s when the original finishes at 3, so copies must pay twice. Task 3, which started at 1,
    // gets its backup at an age of 2.4 s instead of as soon as a machine is free, at 3.
    let tasks = [[3.0; 4], [1.0; 4], [1.0; 4], [5.0; 4]];
    let run = World::machines(3).job("a").tasks(tasks).mean(1.0).sd(0.0).knowledge("age").run("pace");
    let [(0, first), (3, second), ..] = run.backups("a")[..] else { panic!("{:?}", run.backups("a")) };
    assert!((first - 1.2).abs() < 1e-6 && (second - 3.4).abs() < 1e-6, "{first} {second}");
}

#[test]
fn tasks_that_are_long_by_nature_are_hardly_copied() {
    // Copies take exactly as long as their originals, and only ages are known.
    let (mut time, mut work) = (0.0, 0.0);
    let (seeds, tasks, machines) = (40, 100, 8);
    for seed in 1..=seeds {
        let world = World::machines(machines).job("a").drawn(tasks, "log_normal(mean=1,cv=1)").correlation(1.0);
        let world = world.knowledge("age").seed(seed);
        let held = |run: &hindmost_sim::testing::Run| run.table("a").iter().map(|row| row.4 - row.3).sum::<f64>();
        let (none, pace) = (world.run("none"), world.run("pace"));
        let ratio = pace.job("a").finish / none.job("a").finish;
        time += ratio / seeds as f64;
        work += held(&pace) / held(&none) / seeds as f64;
        assert!(ratio < 1.1, "seed {seed}: {ratio}");
    }
    assert!(time < 1.01 && work < 1.05, "{time} times the time, {work} times the work");
}
