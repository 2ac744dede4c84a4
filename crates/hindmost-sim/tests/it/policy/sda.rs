//! `sda`: the Straggler Detection Algorithm, in instances small enough to work out by hand.

use hindmost_sim::testing::World;

#[test]
fn backs_up_above_sigma_means_by_id_once() {
    let world = World::machines(4).job("a").tasks([[3.1, 9.0], [3.0, 9.0], [5.0, 9.0]]).mean(2.0);
    // 1.5 × 2 = 3: tasks 0 and 2, not 1. The one idle machine goes to 0, the lower id, though 2 has
    // more left; the next is free at 3, when task 2 has 2 s left.
    assert_eq!(world.run("sda(sigma=1.5,max_copies=2)").backups("a"), [(0, 0.0)]);
    assert_eq!(world.run("sda(sigma=2.4,max_copies=2)").backups("a"), [(2, 0.0)]);
    assert_eq!(world.run("sda(sigma=2.5,max_copies=2)").backups("a"), []);
}

#[test]
fn starts_the_number_of_copies_that_costs_least() {
    // Theorem 3: two copies for Pareto with α = 2, whatever r is. Below α ≈ 1.53 three are better.
    let world = |tail: &str| World::machines(9).job("a").tasks([[99.0; 9], [1.0; 9]]).tail(tail);
    assert_eq!(world("pareto(alpha=2,mean=1)").run("sda").backups("a"), [(0, 0.0)]);
    assert_eq!(world("pareto(alpha=1.4,mean=1)").run("sda").backups("a").len(), 2);
    assert_eq!(world("pareto(alpha=1.4,mean=1)").run("sda(max_copies=2)").backups("a").len(), 1);
    // Exponential durations have no best number: the more the better, up to r.
    assert_eq!(world("exponential(mean=1)").run("sda(max_copies=4)").backups("a").len(), 3);
}

#[test]
fn default_sigma_is_optimal_for_the_distribution() {
    // σ* = 1 + √2/2 = 1.7071 for α = 2: 1.70 stays alone, 1.72 does not.
    let world = World::machines(4).job("a").tasks([[1.70, 1.0], [1.72, 1.0]]).tail("pareto(alpha=2,mean=1)");
    assert_eq!(world.run("sda").backups("a"), [(1, 0.0)]);
}

#[test]
fn a_task_served_short_gets_nothing_later() {
    // Two copies are wanted, one machine is idle; those that come free later are not for task 0.
    let run = World::machines(3).job("a").tasks([[99.0; 3], [1.0; 3]]).tail("pareto(alpha=1.4,mean=1)").run("sda");
    assert_eq!(run.backups("a"), [(0, 0.0)]);
}

#[test]
fn stragglers_then_started_jobs_then_new_ones() {
    // At 1 one machine is free. a has a straggler (task 0) and a pending task; b is new and smaller.
    let run = World::machines(2)
        .job("a")
        .tasks([[9.0, 2.0], [1.0, 2.0], [1.0, 2.0], [1.0, 2.0]])
        .mean(2.0)
        .job("b")
        .at(0.5)
        .tasks([[0.5, 2.0]])
        .run("sda(sigma=2,max_copies=2)");
    // The copy runs from 1 to 3 and wins: two machines are free at 3, for a's two pending tasks.
    assert_eq!(run.backups("a"), [(0, 1.0)]);
    assert_eq!(run.starts("a"), [0.0, 0.0, 3.0, 3.0]);
    assert_eq!(run.starts("b"), [4.0]);
}
