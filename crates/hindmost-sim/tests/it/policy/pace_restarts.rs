//! Restarts of `pace`, where a task may have only one attempt at a time.

use hindmost_sim::testing::World;

const TICK: f64 = 1e-9;

/// Two tasks of 1 s and one whose first attempts take these times, on four machines. Only ages are known.
fn three<const N: usize>(slow: [f64; N]) -> World {
    let tasks = [[1.0; N], [1.0; N], slow];
    World::machines(4).knowledge("age").job("a").tasks(tasks).mean(1.0).sd(0.0).restarts()
}

fn close(one: f64, other: f64) {
    assert!((one - other).abs() < 100.0 * TICK, "{one} instead of {other}");
}

#[test]
fn an_attempt_that_hangs_is_stopped_and_its_task_starts_again() {
    let run = three([100.0, 1.0]).run("pace");
    // 1.2 times the 90th percentile are 1.2 s, and 1.5 times the longest winner 1.5 s.
    let of_task: Vec<_> = run.table("a").into_iter().filter(|row| row.0 == 2).collect();
    let [(.., first_end, _), (_, _, _, start, end, _)] = of_task[..] else { panic!("{of_task:?}") };
    close(first_end, 1.5);
    assert!(start >= first_end, "no two attempts at a time");
    close(start, 1.5);
    close(end, 2.5);
    run.verify().unwrap();
    // Without the permission, and under other policies, nothing is stopped.
    close(three([100.0, 1.0]).run("mantri").job("a").finish, 100.0);
    close(three([100.0, 1.0]).run("pace(late=200)").job("a").finish, 100.0);
}

#[test]
fn a_task_that_is_long_by_nature_loses_one_attempt() {
    let run = three([8.0; 4]).run("pace");
    // The second attempt is as old as the first at 3 s: the task itself is long.
    assert_eq!(run.table("a").len(), 4);
    close(run.job("a").finish, 9.5);
    // It is never stopped again, because nothing shows that a restart helps.
    let run = three([100.0, 100.0, 1.0]).run("pace");
    close(run.job("a").finish, 101.5);
}

#[test]
fn a_known_end_is_waited_for() {
    // The progress of the slow attempt shows that it will end at 8 s.
    let run = three([8.0, 1.0]).knowledge("progress(0.1)").run("pace");
    assert_eq!(run.table("a").len(), 3);
    close(run.job("a").finish, 8.0);
}

#[test]
fn at_most_two_restarts_are_tried_before_one_has_won() {
    // Ten tasks that are long by nature among forty, on fifty machines.
    let tasks: Vec<[f64; 4]> = (0..40).map(|task| if task < 10 { [8.0; 4] } else { [1.0; 4] }).collect();
    let world =
        |tasks: Vec<[f64; 4]>| World::machines(50).knowledge("age").job("a").tasks(tasks).mean(1.0).sd(0.0).restarts();
    let run = world(tasks).run("pace");
    // Two at 1.5 s. Both have lost at 3 s, which demands four times the age, 4.8 s: two more, which lose as late.
    assert_eq!(run.table("a").len(), 44);
    // All of ten attempts that hang are restarted once two have won.
    let tasks: Vec<[f64; 4]> = (0..40).map(|task| if task < 10 { [100.0, 1.0, 1.0, 1.0] } else { [1.0; 4] }).collect();
    let run = world(tasks).run("pace");
    assert_eq!(run.table("a").len(), 50);
    close(run.job("a").finish, 3.5);
}
