//! The order `carbyne`, in instances small enough to work out by hand.

use hindmost_sim::testing::World;

/// Four machines, of which each of two jobs is entitled to two. "dag" has a task of 10 s, two tasks of 1 s that can
/// wait, and a task of 1 s that depends on all three. "other" has three tasks of 2 s.
fn two_jobs() -> World {
    World::machines(4)
        .job("dag")
        .phase("long")
        .same(1, 10.0)
        .phase("short")
        .same(2, 1.0)
        .phase("end")
        .after(["long", "short"])
        .same(1, 1.0)
        .job("other")
        .same(3, 2.0)
}

#[test]
fn tasks_that_can_wait_leave_machines_to_other_jobs() {
    // Under `fair` each job has two machines at 0. At 1 "dag" runs one task and "other" two, so the second short task
    // is next, and the third task of "other" starts at 2.
    let fair = two_jobs().run("fair");
    assert_eq!(fair.starts("dag"), [0.0, 0.0, 1.0, 10.0]);
    assert_eq!(fair.starts("other"), [0.0, 0.0, 2.0]);
    assert_eq!((fair.job("dag").finish, fair.job("other").finish), (11.0, 4.0));
    // With two machines "dag" can finish at 11. Scheduled backwards from 11, its last task starts at 10, the long task
    // at 0, and the short tasks, one after the other on the second machine, at 8 and 9. So at 0 "dag" needs only one
    // machine. "other" has three tasks in two waves, 1 + 2, so it needs only one machine as well. Both other machines
    // go to "other", which is the shorter job.
    let run = two_jobs().run("carbyne");
    assert_eq!(run.starts("other"), [0.0, 0.0, 0.0]);
    assert_eq!(run.starts("dag"), [0.0, 2.0, 2.0, 10.0]);
    assert_eq!((run.job("dag").finish, run.job("other").finish), (11.0, 2.0));
    run.verify().unwrap();
}

#[test]
fn delayed_tasks_start_when_they_are_due() {
    // "dag" has one short task of 2 s, which can wait until 8; "other" has 40 tasks of 1 s. Each job is entitled to two
    // machines. Until 8 "other", whose remaining time is shorter, has three machines.
    let world = World::machines(4)
        .job("dag")
        .phase("long")
        .same(1, 10.0)
        .phase("short")
        .same(1, 2.0)
        .phase("end")
        .after(["long", "short"])
        .same(1, 1.0)
        .job("other")
        .same(40, 1.0);
    let run = world.run("carbyne");
    assert_eq!(run.starts("dag"), [0.0, 8.0, 10.0]);
    assert_eq!(run.job("dag").finish, 11.0);
    let at = |second: f64| run.starts("other").iter().filter(|start| **start == second).count();
    let counts: Vec<usize> = (0..14).map(|second| at(f64::from(second))).collect();
    assert_eq!(counts, [3, 3, 3, 3, 3, 3, 3, 3, 2, 2, 3, 4, 4, 1]);
    // Under `fair` neither job finishes earlier.
    let fair = world.run("fair");
    assert_eq!((fair.job("dag").finish, fair.job("other").finish), (11.0, 14.0));
}

#[test]
fn jobs_of_one_phase_delay_their_last_wave() {
    // Each job is entitled to two machines. Scheduled backwards, a's 3 tasks of 4 s run in waves of 1 + 2 and b's 5
    // tasks of 1 s in waves of 1 + 2 + 2. So at 0 one task of each job is due, and the other two machines go to b, the
    // shorter job. At 1 no task is due, and of three free machines b takes two and a takes one. At 2 b has finished,
    // and a starts its last task.
    let world = World::machines(4).job("a").same(3, 4.0).job("b").same(5, 1.0);
    let run = world.run("carbyne");
    assert_eq!(run.starts("b"), [0.0, 0.0, 0.0, 1.0, 1.0]);
    assert_eq!(run.starts("a"), [0.0, 1.0, 2.0]);
    // Under `fair` b finishes a second later, and a finishes at the same time.
    let fair = world.run("fair");
    assert_eq!((fair.job("a").finish, fair.job("b").finish), (6.0, 3.0));
    assert_eq!((run.job("a").finish, run.job("b").finish), (6.0, 2.0));
}

#[test]
fn no_machine_is_left_idle() {
    // A job without competitors gets the machines for its own tasks that could wait.
    let run = World::machines(4).job("a").same(5, 1.0).run("carbyne");
    assert_eq!(run.starts("a"), [0.0, 0.0, 0.0, 0.0, 1.0]);
}

#[test]
fn unused_resources_go_to_the_task_that_packs_best() {
    // "long" uses one of 3 cpus for 20 s. "small" and "large" can wait until 15 and 10. The 2 cpus that are left go to
    // "large", which fills both, although "small" is listed before it.
    let world = World::nodes([[("cpus", 3.0)]])
        .job("a")
        .phase("long")
        .same(1, 20.0)
        .demand([("cpus", 1.0)])
        .phase("small")
        .same(1, 5.0)
        .demand([("cpus", 1.0)])
        .phase("large")
        .same(1, 5.0)
        .demand([("cpus", 2.0)]);
    assert_eq!(world.run("carbyne").starts("a"), [0.0, 5.0, 0.0]);
    assert_eq!(world.run("fair").starts("a"), [0.0, 0.0, 5.0]);
}

#[test]
fn shares_are_dominant_and_weighted() {
    // A task of "heavy" has a dominant share of 1/12, a task of "light" 1/6. With weights 2 and 1 the jobs are entitled
    // to shares of 2/3 and 1/3: 8 tasks and 2. 24 tasks are full waves for both, so all of these tasks are due at 0. If
    // only the shorter job counted, "heavy" would get all cpus.
    let world = World::nodes([[("cpus", 12.0), ("memory", 12e9)]])
        .job("heavy")
        .weight(2.0)
        .same(24, 1.0)
        .demand([("cpus", 1.0), ("memory", 0.0)])
        .job("light")
        .same(24, 10.0)
        .demand([("cpus", 2.0), ("memory", 2e9)]);
    let run = world.run("carbyne");
    let at_once = |job| run.starts(job).iter().filter(|start| **start == 0.0).count();
    assert_eq!((at_once("heavy"), at_once("light")), (8, 2));
}
