//! The order `carbyne`, by instances small enough to be worked out by hand.

use hindmost_sim::testing::World;

/// Four machines. "dag" has a task of 10 s, two of 1 s that may wait, and one of 1 s after both; "other" three
/// of 2 s. Each is entitled to two machines.
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
fn tasks_that_can_wait_give_way_without_delay() {
    // By fair shares each job has two machines at 0. At 1 "dag" has one and "other" two running, so the second
    // short task is next, and the third task of "other" starts at 2.
    let fair = two_jobs().run("fair");
    assert_eq!(fair.starts("dag"), [0.0, 0.0, 1.0, 10.0]);
    assert_eq!(fair.starts("other"), [0.0, 0.0, 2.0]);
    assert_eq!((fair.job("dag").finish, fair.job("other").finish), (11.0, 4.0));
    // With two machines "dag" ends at 11; from there backwards its end begins at 10, the long task at 0 and the
    // short ones, beside it one after the other, at 8. So it leaves a machine over, and "other" is the shorter.
    // Of "other" itself one task is due: 2 + 1 tasks in two waves, the first of which may be the one.
    let run = two_jobs().run("carbyne");
    assert_eq!(run.starts("other"), [0.0, 0.0, 0.0]);
    assert_eq!(run.starts("dag"), [0.0, 2.0, 2.0, 10.0]);
    assert_eq!((run.job("dag").finish, run.job("other").finish), (11.0, 2.0));
    run.verify().unwrap();
}

#[test]
fn delayed_tasks_start_when_they_are_due() {
    // "dag" with one short task of 2 s, and 40 tasks of 1 s, each job with two machines. The short task may
    // wait until 8; the other job, whose remaining time is shorter, has three machines until then.
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
    // By fair shares neither ends sooner.
    let fair = world.run("fair");
    assert_eq!((fair.job("dag").finish, fair.job("other").finish), (11.0, 14.0));
}

#[test]
fn jobs_of_one_phase_delay_their_last_wave() {
    // Two machines each. a: 3 tasks of 4 s are 1 + 2, b: 5 of 1 s are 1 + 2 + 2. So at 0 one of each is due, and
    // two machines are left over for b, which is the shorter. At 1 nothing is due: two for b, one for a. At 2
    // b is over and a has the rest.
    let world = World::machines(4).job("a").same(3, 4.0).job("b").same(5, 1.0);
    let run = world.run("carbyne");
    assert_eq!(run.starts("b"), [0.0, 0.0, 0.0, 1.0, 1.0]);
    assert_eq!(run.starts("a"), [0.0, 1.0, 2.0]);
    // By fair shares b needs a second more, and a no less.
    let fair = world.run("fair");
    assert_eq!((fair.job("a").finish, fair.job("b").finish), (6.0, 3.0));
    assert_eq!((run.job("a").finish, run.job("b").finish), (6.0, 2.0));
}

#[test]
fn no_machine_is_left_idle() {
    // Alone, a job has what it put off itself.
    let run = World::machines(4).job("a").same(5, 1.0).run("carbyne");
    assert_eq!(run.starts("a"), [0.0, 0.0, 0.0, 0.0, 1.0]);
}

#[test]
fn leftover_goes_to_the_task_that_packs_best() {
    // Of 3 cpus "long" takes one for 20 s. The others may wait until 15 and 10; of what is left over "large",
    // 2 cpus, fills more than "small", which comes first in the job.
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
    // Of 12 cpus and 12 GB a task of "heavy" needs a twelfth, one of "light" a sixth. With weights 2 and 1
    // the cpus are full at dominant shares of 2/3 and 1/3: 8 tasks and 2, in full waves, so all are due.
    // Shortest first alone would give all to "heavy".
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
