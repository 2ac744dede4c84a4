//! `hadoop`: Apache Hadoop's speculator, in instances small enough to work out by hand.

use hindmost_sim::testing::World;

#[test]
fn waits_until_the_job_has_nothing_pending() {
    // Task 0 takes 9 s with a mean of 1; a fresh copy would take 1. A machine is free for another job
    // all the time, but backups wait until task 3 has started at 2.
    let run = World::machines(2)
        .job("a")
        .tasks([[9.0, 1.0], [1.0, 1.0], [1.0, 1.0], [1.5, 1.0]])
        .mean(1.0)
        .run("fifo+hadoop");
    assert_eq!(run.starts("a"), [0.0, 0.0, 1.0, 2.0]);
    // The first machine to be free after that comes at 3.5.
    assert_eq!(run.backups("a"), [(0, 3.5)]);
    assert_eq!(run.job("a").finish, 4.5);
}

#[test]
fn backs_up_the_task_expected_to_end_last() {
    let world = World::machines(4).job("a").tasks([[6.0, 9.0], [8.0, 9.0], [1.5, 9.0]]).mean(2.0);
    // One backup at a time: for task 1, which ends last, at once; task 2 is shorter than a fresh copy.
    let one = world.run("hadoop(minimum_allowed=1)");
    assert_eq!(one.backups("a"), [(1, 0.0)]);
    // Two are allowed, but the second machine comes free only at 1.5.
    let two = world.run("hadoop(minimum_allowed=2)");
    assert_eq!(two.backups("a"), [(0, 1.5), (1, 0.0)]);
    // None beyond the shares: 0.01 × 3 tasks and 0.1 × 3 running ones are less than one backup, but
    // what is allowed is compared before the backup starts, so a positive share allows one.
    assert_eq!(world.run("hadoop(minimum_allowed=0,of_running_tasks=0,of_total_tasks=0)").backups("a"), []);
}

#[test]
fn no_backup_that_would_not_finish_sooner() {
    // Remaining 2 = mean: a fresh copy is not expected to end sooner.
    let run = World::machines(3).job("a").tasks([[2.0, 1.0], [1.0, 1.0]]).mean(2.0).run("hadoop");
    assert_eq!(run.backups("a"), []);
}
