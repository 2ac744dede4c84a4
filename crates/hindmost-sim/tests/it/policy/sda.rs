//! `sda`: the Straggler Detection Algorithm, in instances small enough to work out by hand.

use hindmost_sim::testing::World;

#[test]
fn attempts_above_sigma_means_get_one_backup_by_id() {
    let world = World::machines(4).job("a").tasks([[3.1, 9.0], [3.0, 9.0], [5.0, 9.0]]).mean(2.0);
    // The limit is 1.5 × 2 = 3 s: tasks 0 and 2 are above it, task 1 is not. The idle machine runs a backup of task 0,
    // which has the lower id, although task 2 has more time left. The next machine is free at 3, when task 2 has 2 s
    // left.
    assert_eq!(world.run("sda(sigma=1.5,max_copies=2)").backups("a"), [(0, 0.0)]);
    assert_eq!(world.run("sda(sigma=2.4,max_copies=2)").backups("a"), [(2, 0.0)]);
    assert_eq!(world.run("sda(sigma=2.5,max_copies=2)").backups("a"), []);
}

#[test]
fn a_straggler_gets_the_number_of_copies_that_costs_least() {
    // By Theorem 3, two copies are best for Pareto durations with α = 2, for any maximum r. Below α ≈ 1.53 three copies
    // are best.
    let world = |tail: &str| World::machines(9).job("a").tasks([[99.0; 9], [1.0; 9]]).tail(tail);
    assert_eq!(world("pareto(alpha=2,mean=1)").run("sda").backups("a"), [(0, 0.0)]);
    assert_eq!(world("pareto(alpha=1.4,mean=1)").run("sda").backups("a").len(), 2);
    assert_eq!(world("pareto(alpha=1.4,mean=1)").run("sda(max_copies=2)").backups("a").len(), 1);
    // For exponential durations more copies are always better, so the task gets the maximum of 4.
    assert_eq!(world("exponential(mean=1)").run("sda(max_copies=4)").backups("a").len(), 3);
}

#[test]
fn default_sigma_is_optimal_for_the_distribution() {
    // For α = 2 the optimal σ is 1 + √2/2 = 1.7071: the task of 1.70 s gets no backup, the task of 1.72 s gets one.
    let world = World::machines(4).job("a").tasks([[1.70, 1.0], [1.72, 1.0]]).tail("pareto(alpha=2,mean=1)");
    assert_eq!(world.run("sda").backups("a"), [(1, 0.0)]);
}

#[test]
fn a_task_gets_its_backups_at_one_time_only() {
    // SDA would start two backups of task 0, but only one machine is idle. Machines that become free later run no
    // backup.
    let run = World::machines(3).job("a").tasks([[99.0; 3], [1.0; 3]]).tail("pareto(alpha=1.4,mean=1)").run("sda");
    assert_eq!(run.backups("a"), [(0, 0.0)]);
}

#[test]
fn backups_come_before_started_jobs_and_new_jobs_last() {
    check_backups_then_started_then_new("sda(sigma=2,max_copies=2)");
}

/// Checks that a policy starts backups first, then tasks of started jobs, then new jobs.
pub fn check_backups_then_started_then_new(policy: &str) {
    // At 1 one machine is free. Job a has a straggler (task 0) and two pending tasks; b is new and smaller.
    let run = World::machines(2)
        .job("a")
        .tasks([[9.0, 2.0], [1.0, 2.0], [1.0, 2.0], [1.0, 2.0]])
        .mean(2.0)
        .job("b")
        .at(0.5)
        .tasks([[0.5, 2.0]])
        .run(policy);
    // The backup runs from 1 to 3 and wins, so two machines are free at 3, for a's two pending tasks.
    assert_eq!(run.backups("a"), [(0, 1.0)]);
    assert_eq!(run.starts("a"), [0.0, 0.0, 3.0, 3.0]);
    assert_eq!(run.starts("b"), [4.0]);
}
