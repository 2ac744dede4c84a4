//! `mantri`: Mantri, with and without kill and restart, in instances small enough to work out by hand.

use hindmost_sim::output::Outcome::{Lost, Replaced, Won};
use hindmost_sim::testing::World;

/// Durations with F⁻¹(1/4) = 1: P(t_rem > 2·t_new) > 1/4 is t_rem > 2.
const QUARTER_AT_ONE: &str = "uniform(min=0,max=4)";

#[test]
fn backs_up_above_twice_the_quantile_of_a_new_copy() {
    let long = World::machines(3).job("a").tasks([[2.1, 1.0], [2.0, 1.0]]).tail(QUARTER_AT_ONE);
    assert_eq!(long.run("mantri").backups("a"), [(0, 0.0)]);
    // δ = 1/2: more than 2 × 2 must be left.
    assert_eq!(long.run("mantri(delta=0.5)").backups("a"), []);
}

#[test]
fn tests_again_when_a_machine_becomes_free() {
    // Two machines: b keeps the second until 3. Of a's 4.5 s then 1.5 are left, too few.
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
    // 0 and 1 are stragglers from the start. At 0 the third machine has an original; at 1 it is free
    // for a backup: of 1, which has the most left, and before the original of task 3.
    let run = World::machines(3)
        .order("fifo")
        .job("a")
        .tasks([[6.0, 9.0], [7.0, 9.0], [1.0, 9.0], [1.0, 9.0]])
        .tail(QUARTER_AT_ONE)
        .run("mantri");
    assert_eq!(run.starts("a"), [0.0, 0.0, 0.0, 6.0]);
    assert_eq!(run.backups("a"), [(1, 1.0)]);
    // Its copy has 9 s and is a straggler itself, but the task has its backup.
    assert_eq!(run.result.copies_launched, 1);
}

#[test]
fn kill_restart_replaces_where_nothing_is_free() {
    let world = World::machines(1).job("a").tasks([[9.0, 8.0, 1.5, 1.0]]).tail(QUARTER_AT_ONE);
    assert_eq!(world.run("mantri").job("a").finish, 9.0);
    let run = world.run("mantri(kill_restart=true)");
    // The oracle sees at once that 9 and 8 are too long; 1.5 stays.
    assert_eq!(
        run.table("a"),
        [(0, 0, 0, 0.0, 0.0, Replaced), (0, 1, 0, 0.0, 0.0, Replaced), (0, 2, 0, 0.0, 1.5, Won)]
    );
    // Known only after half of the work: 4.5 of 9 are left, then 4 of 8, then 0.75 of 1.5.
    let run = world.knowledge("progress(0.5)").run("mantri(kill_restart=true)");
    assert_eq!(
        run.table("a"),
        [(0, 0, 0, 0.0, 4.5, Replaced), (0, 1, 0, 4.5, 8.5, Replaced), (0, 2, 0, 8.5, 10.0, Won)]
    );
    assert_eq!((run.job("a").resource, run.job("a").wasted), (10.0, 8.5));
    assert_eq!((run.result.copies_launched, run.result.copies_won), (2, 1));
}

#[test]
fn kill_restart_ends() {
    // Every copy is as long as the last and looks too long: because they share all causes, because the
    // node is slow, or because the known mean is too low. To try again for ever would help nobody.
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
