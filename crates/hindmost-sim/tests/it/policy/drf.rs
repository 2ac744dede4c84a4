//! `drf`: the paper's own example, and instances worked out by hand.

use hindmost_core::record::{Change, Decision, Event};
use hindmost_sim::testing::{Run, World};

const GB: f64 = 1e9;

/// The names of the jobs whose copies are started, in the order of the decisions.
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

/// Section 4.1: 9 CPUs and 18 GB; A's tasks need 1 CPU and 4 GB, B's 3 CPUs and 1 GB.
fn papers_cluster() -> World {
    World::nodes([[("cpus", 9.0), ("memory", 18.0 * GB)]])
}

#[test]
fn the_papers_table_1_comes_out_step_by_step() {
    // B is picked first: of two jobs with nothing the first by id. Dominant shares after each step:
    // B 1/3; A 2/9; A 4/9; B 2/3; A 2/3; then all cpus are in use: 3 tasks for A, 2 for B.
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
    // A's tasks are 2/9 (memory), over its weight of 3: 2/27 each. B's are 1/3 (cpus).
    // A 2/27, B 9/27, A 4/27, A 6/27, then A has 12 of the 18 GB and a fourth would be its 8/27 < 9/27: A 8/27.
    // Now 7 of 9 cpus and 17 of 18 GB are in use: nothing fits.
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
    // 1/2, 2/2 and 1/1 of six: two for each copy of the lighter one.
    let run = World::machines(6).job("light").same(6, 1.0).job("heavy").weight(2.0).same(6, 1.0).run("drf");
    assert_eq!(sequence(&run)[..6], ["light", "heavy", "heavy", "light", "heavy", "heavy"]);
}

#[test]
fn a_task_that_fits_nowhere_is_skipped_until_it_fits() {
    // a holds nothing and would be next all the time, but needs both cpus of a node.
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
    // At 0.5 b starts one. At 1 both cpus are free, and a comes before b, by id.
    assert_eq!(run.starts("b"), [0.5, 2.0]);
    assert_eq!(run.starts("a"), [1.0]);
}

#[test]
fn a_share_shrinks_when_an_attempt_ends() {
    // Of three machines a has two until 1 and b one; when one of a's ends, both have one, and a is first by id;
    // at 2 a has two and b, whose task ends at 2, none; at 5 a's second ends, and all that is left is b's.
    let run = World::machines(3).job("a").tasks([[1.0], [5.0], [5.0]]).job("b").tasks([[2.0], [5.0], [5.0]]).run("drf");
    assert_eq!(run.starts("a"), [0.0, 0.0, 1.0]);
    assert_eq!(run.starts("b"), [0.0, 2.0, 5.0]);
}
