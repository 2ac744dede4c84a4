//! `hadoop`: Apache Hadoop's speculator, in instances small enough to work out by hand.

use hindmost_sim::testing::World;

#[test]
fn a_backup_waits_until_no_task_of_its_job_is_pending() {
    // Task 0 takes 9 s, its backup would take 1 s. Backups wait while tasks are pending, so the second machine runs
    // tasks 1, 2 and 3 first; the last of them starts at 2.
    let run = World::machines(2)
        .job("a")
        .tasks([[9.0, 1.0], [1.0, 1.0], [1.0, 1.0], [1.5, 1.0]])
        .mean(1.0)
        .run("fifo+hadoop");
    assert_eq!(run.starts("a"), [0.0, 0.0, 1.0, 2.0]);
    // After this, the next machine becomes free at 3.5.
    assert_eq!(run.backups("a"), [(0, 3.5)]);
    assert_eq!(run.job("a").finish, 4.5);
}

#[test]
fn the_task_expected_to_end_last_gets_the_first_backup() {
    let world = World::machines(4).job("a").tasks([[6.0, 9.0], [8.0, 9.0], [1.5, 9.0]]).mean(2.0);
    // One backup at a time is allowed: task 1, which ends last, gets it at 0.
    let one = world.run("hadoop(minimum_allowed=1)");
    assert_eq!(one.backups("a"), [(1, 0.0)]);
    // Two are allowed, but the second machine becomes free only at 1.5.
    let two = world.run("hadoop(minimum_allowed=2)");
    assert_eq!(two.backups("a"), [(0, 1.5), (1, 0.0)]);
    // Shares of 0 allow no backup. Any positive share would allow one, because the number of running backups is
    // compared with the limit before the new backup starts.
    assert_eq!(world.run("hadoop(minimum_allowed=0,of_running_tasks=0,of_total_tasks=0)").backups("a"), []);
}

#[test]
fn a_backup_that_would_not_end_earlier_is_not_started() {
    // The remaining time of task 0 is 2 s, which is the mean, so a backup is not expected to end earlier.
    let run = World::machines(3).job("a").tasks([[2.0, 1.0], [1.0, 1.0]]).mean(2.0).run("hadoop");
    assert_eq!(run.backups("a"), []);
}
