//! The order `drf`: the example of the paper, and other instances worked out by hand.

use hindmost_core::record::{Change, Decision, Event};
use hindmost_sim::testing::{Run, World};

const GB: f64 = 1e9;

/// Returns the name of the job of each started copy, in the order of the decisions.
fn sequence(run: &Run) -> Vec<String> {
    let mut names = Vec::new();
    let mut started = Vec::new();
    for record in &run.records {
        match &record.change {
            Change::Event(Event::JobArrived { spec, .. }) => names.push(spec.name.to_string()),
            Change::Decision(Decision::Start { attempt, .. }) => {
                started.push(names[attempt.task.job.0 as usize].clone());
            }
            _ => {}
        }
    }
    started
}

/// The cluster of section 4.1 of the paper: 9 CPUs and 18 GB. A's tasks need 1 CPU and 4 GB, B's need 3 CPUs and 1 GB.
fn papers_cluster() -> World {
    World::nodes([[("cpus", 9.0), ("memory", 18.0 * GB)]])
}

#[test]
fn tasks_start_in_the_order_of_the_papers_table_1() {
    // At first both jobs hold nothing, and B has the lower id. The dominant shares after each start are B 1/3, A 2/9,
    // A 4/9, B 2/3, A 2/3. Then all cpus are in use: A has 3 tasks, B has 2.
    let run = papers_cluster()
        .job("B")
        .same(6, 10.0)
        .demand([("cpus", 3.0), ("memory", GB)])
        .job("A")
        .same(9, 10.0)
        .demand([("cpus", 1.0), ("memory", 4.0 * GB)])
        .run("drf");
    assert_eq!(sequence(&run)[..5], ["B", "A", "A", "B", "A"]);
    let at_once = |job| run.starts(job).iter().filter(|start| **start == 0.0).count();
    assert_eq!((at_once("A"), at_once("B")), (3, 2));
}

#[test]
fn weights_divide_the_dominant_share() {
    // A task of A has a dominant share of 2/9 (memory), divided by A's weight of 3: 2/27. A task of B has 1/3 (cpus),
    // that is 9/27. The shares after each start are A 2/27, B 9/27, A 4/27, A 6/27, A 8/27. Then 7 of 9 cpus and 17 of
    // 18 GB are in use, and no task fits.
    let run = papers_cluster()
        .job("A")
        .weight(3.0)
        .same(9, 10.0)
        .demand([("cpus", 1.0), ("memory", 4.0 * GB)])
        .job("B")
        .same(6, 10.0)
        .demand([("cpus", 3.0), ("memory", GB)])
        .run("drf");
    assert_eq!(sequence(&run)[..5], ["A", "B", "A", "A", "A"]);
    let at_once = |job| run.starts(job).iter().filter(|start| **start == 0.0).count();
    assert_eq!((at_once("A"), at_once("B")), (4, 1));
}

#[test]
fn one_slot_shares_are_machines_over_weight() {
    // A copy adds 1/6 to the share of "light" and, with weight 2, 1/12 to that of "heavy". So "heavy" starts two copies
    // for each copy of "light".
    let run = World::machines(6).job("light").same(6, 1.0).job("heavy").weight(2.0).same(6, 1.0).run("drf");
    assert_eq!(sequence(&run)[..6], ["light", "heavy", "heavy", "light", "heavy", "heavy"]);
}

#[test]
fn a_task_that_fits_nowhere_is_skipped_until_it_fits() {
    // Job a holds nothing and is always next, but its task needs both cpus of the node.
    let run = World::nodes([[("cpus", 2.0)]])
        .job("first")
        .same(1, 1.0)
        .job("a")
        .at(0.5)
        .same(1, 1.0)
        .demand([("cpus", 2.0)])
        .job("b")
        .at(0.5)
        .same(2, 0.5)
        .run("drf");
    // At 0.5 a task of b starts on the free cpu. At 1 both cpus are free, and a comes before b by id.
    assert_eq!(run.starts("b"), [0.5, 2.0]);
    assert_eq!(run.starts("a"), [1.0]);
}

#[test]
fn a_share_shrinks_when_an_attempt_ends() {
    // On three machines, a starts two tasks and b one. At 1 a task of a ends: both jobs hold one machine, and a is next
    // by id. At 2 the task of b ends: b holds none and is next. At 5 a's second task ends, and only b has a pending
    // task.
    let run = World::machines(3).job("a").tasks([[1.0], [5.0], [5.0]]).job("b").tasks([[2.0], [5.0], [5.0]]).run("drf");
    assert_eq!(run.starts("a"), [0.0, 0.0, 1.0]);
    assert_eq!(run.starts("b"), [0.0, 2.0, 5.0]);
}
