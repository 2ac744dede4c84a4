//! `ese`: Enhanced Speculative Execution, in instances small enough to work out by hand.

use hindmost_sim::testing::World;

use super::sda::check_backups_then_started_then_new;

#[test]
fn the_longest_remaining_time_gets_the_first_backup() {
    // The limit is 1.5 × 2 = 3 s: tasks 0 and 2 are above it. The idle machine runs a backup of task 2, which has 5 s
    // left. When task 1 ends at 3, task 0 has only 0.1 s left.
    let world = World::machines(4).job("a").tasks([[3.1, 9.0], [3.0, 9.0], [5.0, 9.0]]).mean(2.0);
    assert_eq!(world.run("ese(sigma=1.5)").backups("a"), [(2, 0.0)]);
    assert_eq!(world.run("ese(sigma=2.5)").backups("a"), []);
}

#[test]
fn backups_come_before_started_jobs_and_new_jobs_last() {
    check_backups_then_started_then_new("ese(sigma=2)");
}

#[test]
fn only_small_new_jobs_are_cloned() {
    // With 40 idle machines and one new job, a job of fewer than 0.1 × 40 = 4 tasks is small. With γ = 0 its tasks get
    // the maximum of 3 copies. ξ must be above the mean of 2 s: with the paper's ξ = 1 no job is cloned.
    let world = |tasks: u32| World::machines(40).gamma(0.0).job("a").drawn(tasks, "pareto(alpha=2,mean=2)");
    let copies = |tasks, policy: &str| world(tasks).run(policy).result.copies_launched;
    assert_eq!(copies(3, "ese(xi=2.5,max_copies=3,sigma=1000)"), 6);
    assert_eq!(copies(4, "ese(xi=2.5,max_copies=3,sigma=1000)"), 0);
    assert_eq!(copies(3, "ese(max_copies=3,sigma=1000)"), 0);
    assert_eq!(copies(3, "ese(xi=2,max_copies=3,sigma=1000)"), 0, "a job is cloned only if its mean is below ξ");
    assert_eq!(copies(4, "ese(xi=2.5,max_copies=3,sigma=1000,eta=0.11)"), 8);
}

#[test]
fn smallness_depends_on_idle_machines_and_new_jobs() {
    // A job is small if it has fewer than η·N/2 tasks, where N is the number of idle machines when it is the job's turn
    // and 2 the number of new jobs. Both jobs have 3 tasks. With η = 0.1 the first is not small: 0.1 × 40/2 = 2. With η
    // = 0.2 the first is small (3 < 4) and takes 9 machines; the second is small, too (3 < 0.2 × 31/2 = 3.1). With η =
    // 0.19 only the first is small (3 < 3.8, but 3 > 2.945).
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
fn the_number_of_copies_follows_equation_29() {
    // A task with durations of Pareto(α = 2, μ = 1) and c copies takes 2c/(2c − 1) s and costs γ·c times as much. With
    // γ = 0.1 the sums for one to four copies are 2 + 0.2 = 2.2, 4/3 + 0.267 = 1.6, 6/5 + 0.36 = 1.56 and
    // 8/7 + 0.457 = 1.6: three copies are best.
    let world = |gamma| World::machines(99).gamma(gamma).job("a").drawn(1, "pareto(alpha=2,minimum=1)");
    let copies = |gamma| 1 + world(gamma).run("ese(xi=9,sigma=1000)").result.copies_launched;
    assert_eq!(copies(0.1), 3);
    // With γ = 1 one copy and two copies are equally good: 2 + 2 = 4/3 + 8/3. Above 1 one copy is best, below 1 two.
    assert_eq!(copies(1.01), 1);
    assert_eq!(copies(0.99), 2);
}
