//! `mantri`: Mantri, with and without kill and restart, in instances small enough to work out by hand.

use hindmost_sim::output::Outcome::{Lost, Replaced, Won};
use hindmost_sim::testing::World;

/// Durations with F⁻¹(1/4) = 1. The condition P(t_rem > 2·t_new) > 1/4 for a backup is then t_rem > 2.
const QUARTER_AT_ONE: &str = "uniform(min=0,max=4)";

#[test]
fn the_limit_is_twice_the_quantile_of_a_new_copy() {
    let long = World::machines(3).job("a").tasks([[2.1, 1.0], [2.0, 1.0]]).tail(QUARTER_AT_ONE);
    assert_eq!(long.run("mantri").backups("a"), [(0, 0.0)]);
    // With δ = 1/2 the limit is 2 × F⁻¹(1/2) = 4 s.
    assert_eq!(long.run("mantri(delta=0.5)").backups("a"), []);
}

#[test]
fn attempts_are_tested_again_when_a_machine_is_free() {
    // Job b runs on the second machine for 3, 2.5 or 2.4 s. Then 1.5, 2 or 2.1 s of a's 4.5 s are left; only 2.1 s is
    // above the limit of 2 s.
    let busy = |until| {
        World::machines(2)
            .order("fifo")
            .job("a")
            .tasks([[4.5, 1.0]])
            .tail(QUARTER_AT_ONE)
            .job("b")
            .tasks([[until, until]])
            .mean(99.0)
            .tail("constant(value=99)")
    };
    assert_eq!(busy(3.0).run("mantri").backups("a"), []);
    assert_eq!(busy(2.5).run("mantri").backups("a"), []);
    assert_eq!(busy(2.4).run("mantri").backups("a"), [(0, 2.4)]);
}

#[test]
fn backups_come_before_originals_longest_first() {
    // Tasks 0 and 1 are stragglers from the start. The third machine runs an original until 1. Then it runs a backup of
    // task 1, which has the most time left, before the original of task 3.
    let run = World::machines(3)
        .order("fifo")
        .job("a")
        .tasks([[6.0, 9.0], [7.0, 9.0], [1.0, 9.0], [1.0, 9.0]])
        .tail(QUARTER_AT_ONE)
        .run("mantri");
    assert_eq!(run.starts("a"), [0.0, 0.0, 0.0, 6.0]);
    assert_eq!(run.backups("a"), [(1, 1.0)]);
    // The backup takes 9 s and is a straggler, too, but a task gets only one backup.
    assert_eq!(run.result.copies_launched, 1);
}

#[test]
fn originals_first_leaves_backups_what_is_free() {
    // The world of the test before. The machine that is free from 1 on runs the original of task 3 until 2, then the
    // backup of task 1.
    let run = World::machines(3)
        .order("fifo")
        .job("a")
        .tasks([[6.0, 9.0], [7.0, 9.0], [1.0, 9.0], [1.0, 9.0]])
        .tail(QUARTER_AT_ONE)
        .run("mantri(originals_first=true)");
    assert_eq!(run.starts("a"), [0.0, 0.0, 0.0, 1.0]);
    assert_eq!(run.backups("a"), [(1, 2.0)]);
}

#[test]
fn kill_restart_replaces_if_no_machine_is_free() {
    let world = World::machines(1).job("a").tasks([[9.0, 8.0, 1.5, 1.0]]).tail(QUARTER_AT_ONE);
    assert_eq!(world.run("mantri").job("a").finish, 9.0);
    let run = world.run("mantri(kill_restart=true)");
    // With the oracle, the copies of 9 and 8 s are replaced as soon as they start. The copy of 1.5 s stays.
    assert_eq!(
        run.table("a"),
        [(0, 0, 0, 0.0, 0.0, Replaced), (0, 1, 0, 0.0, 0.0, Replaced), (0, 2, 0, 0.0, 1.5, Won)]
    );
    // If remaining times are known after half of the work, 4.5 of 9 s are left, then 4 of 8 s, then 0.75 of 1.5 s.
    let run = world.knowledge("progress(0.5)").run("mantri(kill_restart=true)");
    assert_eq!(
        run.table("a"),
        [(0, 0, 0, 0.0, 4.5, Replaced), (0, 1, 0, 4.5, 8.5, Replaced), (0, 2, 0, 8.5, 10.0, Won)]
    );
    assert_eq!((run.job("a").resource, run.job("a").wasted), (10.0, 8.5));
    assert_eq!((run.result.copies_launched, run.result.copies_won), (2, 1));
}

#[test]
fn kill_restart_does_not_restart_tasks_endlessly() {
    // All copies of a task take equally long and exceed the limit: because their durations are fully correlated,
    // because the only node is slow, or because the known mean is too low. More restarts would not finish the task
    // earlier.
    let causes = World::machines(1).correlation(1.0).job("a").drawn(9, "pareto(alpha=1.5,mean=1)");
    let slow = World::nodes([[("cpus", 1.0)]]).speeds([0.25]).job("a").same(1, 1.0);
    let wrong = World::machines(1).job("a").same(1, 9.0).tail("pareto(alpha=2,mean=1)");
    for world in [causes, slow, wrong] {
        for knowledge in ["oracle", "progress(0.1)"] {
            let run = world.clone().knowledge(knowledge).run("mantri(delta=0.1,kill_restart=true)");
            assert!(run.result.attempts < 10 * run.result.tasks, "{} attempts", run.result.attempts);
        }
    }
}

#[test]
fn kill_restart_prefers_a_backup_on_a_free_machine() {
    let run = World::machines(2).job("a").tasks([[9.0, 1.0]]).tail(QUARTER_AT_ONE).run("mantri(kill_restart=true)");
    assert_eq!(run.table("a"), [(0, 0, 0, 0.0, 1.0, Lost), (0, 1, 1, 0.0, 1.0, Won)]);
}

#[test]
fn without_backups_stragglers_are_only_restarted() {
    // The second machine is free, but copies of 9 and 8 s are replaced on the first one. The copy of 1.5 s stays.
    let world = World::machines(2).job("a").tasks([[9.0, 8.0, 1.5]]).tail(QUARTER_AT_ONE);
    let run = world.run("mantri(kill_restart=true,backups=false)");
    assert_eq!(
        run.table("a"),
        [(0, 0, 0, 0.0, 0.0, Replaced), (0, 1, 0, 0.0, 0.0, Replaced), (0, 2, 0, 0.0, 1.5, Won)]
    );
    // After one restart nothing more is done for the task.
    let run = world.run("mantri(kill_restart=true,backups=false,max_restarts=1)");
    assert_eq!(run.table("a"), [(0, 0, 0, 0.0, 0.0, Replaced), (0, 1, 0, 0.0, 8.0, Won)]);
    assert_eq!(world.run("mantri(backups=false)").backups("a"), []);
}
