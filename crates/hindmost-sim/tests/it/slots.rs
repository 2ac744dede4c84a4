//! Slots: attempts finish at any time, but policies decide, and use free resources again, only at slot boundaries.

use hindmost_sim::output::Outcome::{Lost, Unfinished, Won};
use hindmost_sim::testing::World;

#[test]
fn a_machine_freed_inside_a_slot_is_reused_at_the_boundary() {
    let run = World::machines(1).slot(1.0).job("a").tasks([[1.3], [0.4]]).run("fifo");
    assert_eq!(run.table("a"), [(0, 0, 0, 0.0, 1.3, Won), (1, 0, 0, 2.0, 2.4, Won)]);
    assert_eq!(run.job("a").finish, 2.4);
    // The machine is idle from 1.3 to the boundary at 2: it is busy for 1.7 of 2.4 s.
    assert!((run.result.utilization - 1.7 / 2.4).abs() < 1e-12);
}

#[test]
fn a_machine_freed_on_a_boundary_is_reused_immediately() {
    let run = World::machines(1).slot(0.1).job("a").tasks([[0.3], [0.2]]).run("fifo");
    assert_eq!(run.starts("a"), [0.0, 0.3]);
}

#[test]
fn an_arrival_just_after_a_boundary_waits_for_the_next() {
    let run = World::machines(3)
        .slot(0.5)
        .job("on")
        .at(1.5)
        .tasks([[1.0]])
        .job("after")
        .at(1.500_000_001)
        .tasks([[1.0]])
        .job("before")
        .at(1.499_999_999)
        .tasks([[1.0]])
        .run("fifo");
    assert_eq!(run.starts("on"), [1.5]);
    assert_eq!(run.starts("after"), [2.0]);
    assert_eq!(run.starts("before"), [1.5]);
    assert_eq!(run.job("after").flowtime(), 3.0 - 1.500_000_001);
}

#[test]
fn jobs_that_arrive_in_one_slot_start_in_the_policys_order() {
    // The smaller job arrives later in the slot. It starts first under smallest_workload and second under fifo.
    let world =
        World::machines(1).slot(1.0).job("large").at(0.1).tasks([[3.0], [3.0]]).job("small").at(0.9).tasks([[2.0]]);
    assert_eq!(world.run("smallest_workload").starts("small"), [1.0]);
    assert_eq!(world.run("fifo").starts("small"), [7.0]);
}

#[test]
fn losers_stop_when_the_winner_finishes_inside_a_slot() {
    // Both copies of the task start at 0. The second copy wins at 1.3, and the first one ends at 1.3 as well, although
    // the machine is used again only from 2 on.
    let run = World::machines(3).slot(1.0).gamma(0.0).job("a").tasks([[5.0, 1.3]]).run("sca(max_copies=2)");
    assert_eq!(run.table("a"), [(0, 0, 0, 0.0, 1.3, Lost), (0, 1, 1, 0.0, 1.3, Won)]);
    let run = World::machines(3)
        .slot(1.0)
        .job("a")
        .tasks([[5.0, 1.3]])
        .tail("pareto(alpha=2,mean=10)")
        .job("b")
        .at(1.1)
        .tasks([[1.0], [1.0], [1.0]])
        .gamma(0.0)
        .run("sca(max_copies=2)");
    assert_eq!(run.starts("b"), [2.0, 2.0, 2.0]);
}

#[test]
fn two_copies_that_finish_together_have_one_winner() {
    let run = World::machines(3).gamma(0.0).job("a").tasks([[2.0, 2.0]]).run("sca(max_copies=2)");
    assert_eq!(run.table("a"), [(0, 0, 0, 0.0, 2.0, Won), (0, 1, 1, 0.0, 2.0, Lost)]);
    assert_eq!((run.result.copies_launched, run.result.copies_won), (1, 0));
}

#[test]
fn resource_usage_counts_all_copies_and_waste_the_losers() {
    let run = World::machines(3).gamma(0.5).job("a").tasks([[10.0, 2.0]]).mean(1.0).run("sda(sigma=2,max_copies=2)");
    // The oracle knows from the start that 10 s is above 2 mean durations, so the backup starts at 0.
    assert_eq!(run.table("a"), [(0, 0, 0, 0.0, 2.0, Lost), (0, 1, 1, 0.0, 2.0, Won)]);
    assert_eq!((run.job("a").resource, run.job("a").wasted), (2.0, 1.0));
    assert_eq!(run.result.wasted, 1.0);
    assert_eq!((run.result.copies_launched, run.result.copies_won), (1, 1));
}

#[test]
fn utilization_counts_the_winner_of_a_cloned_last_task() {
    // Two of three machines run a copy during the whole run, whether resources are slots or cpus. The finish of the
    // winner ends both the job and the losing copy.
    let slots = World::machines(3).gamma(0.0).job("a").tasks([[5.0, 3.0]]);
    let cpus =
        World::nodes([[("cpus", 1.0)], [("cpus", 1.0)], [("cpus", 1.0)]]).gamma(0.0).job("a").tasks([[5.0, 3.0]]);
    for world in [slots, cpus] {
        let run = world.run("sca(max_copies=2)");
        assert_eq!(run.result.attempts, 2);
        assert!((run.result.utilization - 2.0 / 3.0).abs() < 1e-12, "{}", run.result.utilization);
    }
}

#[test]
fn utilization_is_the_share_of_the_busiest_dimension() {
    // The node has 4 cpus and 8 bytes. a holds 3 cpus and 1 byte for 4 s; b holds 1 cpu and 7 bytes for 2 s. Over 4 s,
    // cpus are busy for (3·4 + 1·2) / 16 = 0.875 and memory for (1·4 + 7·2) / 32. The sum of the copies' dominant
    // shares would be wrong: 3/4 · 4 + 7/8 · 2 = 4.75 of 4 s.
    let run = World::nodes([[("cpus", 4.0), ("memory", 8.0)]])
        .job("a")
        .same(1, 4.0)
        .demand([("cpus", 3.0), ("memory", 1.0)])
        .job("b")
        .same(1, 2.0)
        .demand([("cpus", 1.0), ("memory", 7.0)])
        .run("fifo");
    assert_eq!((run.starts("a"), run.starts("b")), (vec![0.0], vec![0.0]));
    assert!((run.result.utilization - 0.875).abs() < 1e-12, "{}", run.result.utilization);
}

#[test]
fn a_run_that_is_not_drained_stops_at_its_horizon() {
    let run = World::machines(1)
        .stop_at(2.5)
        .job("a")
        .deadline(1.5)
        .tasks([[1.0]])
        .job("b")
        .deadline(9.0)
        .tasks([[1.0], [1.0], [1.0]])
        .run("fifo");
    assert_eq!((run.result.finished, run.result.unfinished), (1, 1));
    assert!(run.result.flowtime[1].is_nan());
    let unfinished = run.tries("b")[1];
    assert_eq!((unfinished.start, unfinished.end, unfinished.outcome), (2.0, 2.5, Unfinished));
    assert_eq!(run.result.utilization, 1.0);
    assert_eq!((run.result.tasks, run.result.attempts), (4, 3));
    // A job that did not finish has not met its deadline.
    assert_eq!((run.result.deadlines, run.result.met_deadlines), (2, 1));
}

#[test]
fn events_up_to_the_horizon_count_within_a_slot() {
    // The boundary at 3 is after the horizon at 2.3. The finish at 2.2 counts, but no task starts.
    let run = World::machines(1).slot(1.0).stop_at(2.3).job("a").tasks([[2.2]]).job("b").tasks([[1.0]]).run("fifo");
    assert_eq!((run.result.finished, run.result.unfinished), (1, 1));
    assert_eq!(run.job("a").finish, 2.2);
    assert!(run.tries("b").is_empty());
}
