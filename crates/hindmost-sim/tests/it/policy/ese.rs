//! `ese`: Enhanced Speculative Execution, in instances small enough to work out by hand.

use hindmost_sim::testing::World;

#[test]
fn the_longest_remaining_time_comes_first() {
    // As with SDA above, but the idle machine goes to task 2, which has 5 s left. At 3 task 1 ends and
    // task 0 has 0.1 s left.
    let world = World::machines(4).job("a").tasks([[3.1, 9.0], [3.0, 9.0], [5.0, 9.0]]).mean(2.0);
    assert_eq!(world.run("ese(sigma=1.5)").backups("a"), [(2, 0.0)]);
    assert_eq!(world.run("ese(sigma=2.5)").backups("a"), []);
}

#[test]
fn backups_then_started_jobs_then_new_ones() {
    let run = World::machines(2)
        .job("a")
        .tasks([[9.0, 2.0], [1.0, 2.0], [1.0, 2.0], [1.0, 2.0]])
        .mean(2.0)
        .job("b")
        .at(0.5)
        .tasks([[0.5, 2.0]])
        .run("ese(sigma=2)");
    assert_eq!(run.backups("a"), [(0, 1.0)]);
    assert_eq!(run.starts("a"), [0.0, 0.0, 3.0, 3.0]);
    assert_eq!(run.starts("b"), [4.0]);
}

#[test]
fn only_small_new_jobs_are_cloned() {
    // 40 machines, one new job: small is fewer than 0.1 × 40 = 4 tasks. γ = 0, so small jobs get all
    // they may. ξ must be raised above the mean of 2 s; the paper's 1 never fires.
    let world = |tasks: u32| World::machines(40).gamma(0.0).job("a").drawn(tasks, "pareto(alpha=2,mean=2)");
    let copies = |tasks, policy: &str| world(tasks).run(policy).result.copies_launched;
    assert_eq!(copies(3, "ese(xi=2.5,max_copies=3,sigma=1000)"), 6);
    assert_eq!(copies(4, "ese(xi=2.5,max_copies=3,sigma=1000)"), 0);
    assert_eq!(copies(3, "ese(max_copies=3,sigma=1000)"), 0);
    assert_eq!(copies(3, "ese(xi=2,max_copies=3,sigma=1000)"), 0, "the mean must be below ξ");
    assert_eq!(copies(4, "ese(xi=2.5,max_copies=3,sigma=1000,eta=0.11)"), 8);
}

#[test]
fn smallness_depends_on_idle_machines_and_new_jobs() {
    // Two new jobs of 3 tasks: 3 < 0.1 × 40/2 = 2 is false for the first. N is what is idle when the
    // job's turn comes, so with η = 0.2 the first (3 < 4) is cloned to 9 machines and the second still
    // (3 < 0.2 × 31/2 = 3.1); with 0.19 (3 < 3.8, 3 < 2.945) only the first.
    let world = World::machines(40)
        .gamma(0.0)
        .job("a")
        .drawn(3, "pareto(alpha=2,mean=2)")
        .job("b")
        .drawn(3, "pareto(alpha=2,mean=2)");
    for (eta, first, second) in [(0.1, 0, 0), (0.2, 6, 6), (0.19, 6, 0)] {
        let run = world.run(&format!("ese(xi=2.5,max_copies=3,sigma=1000,eta={eta})"));
        assert_eq!((run.backups("a").len(), run.backups("b").len()), (first, second), "η = {eta}");
    }
}

#[test]
fn copies_follow_equation_29() {
    // One task of Pareto(α = 2, μ = 1): c copies last 2c/(2c − 1) and cost γ·c times that. With γ = 0.1
    // 2 + 0.2, 4/3 + 0.267, 6/5 + 0.36, 8/7 + 0.457: 2.2, 1.6, 1.56, 1.6: three copies.
    let world = |gamma| World::machines(99).gamma(gamma).job("a").drawn(1, "pareto(alpha=2,minimum=1)");
    let copies = |gamma| 1 + world(gamma).run("ese(xi=9,sigma=1000)").result.copies_launched;
    assert_eq!(copies(0.1), 3);
    // γ = 1: 2 + 2 against 4/3 + 8/3, equal; of equals the fewest. A little less, and two are better.
    assert_eq!(copies(1.01), 1);
    assert_eq!(copies(0.99), 2);
}
