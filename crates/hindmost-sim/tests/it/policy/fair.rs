//! The order `fair`, in instances small enough to work out by hand.

use hindmost_sim::testing::World;

#[test]
fn the_job_with_fewest_machines_comes_next() {
    let run = World::machines(4).job("a").same(4, 1.0).job("b").same(4, 1.0).run("fair");
    assert_eq!(run.starts("a"), [0.0, 0.0, 1.0, 1.0]);
    assert_eq!(run.starts("b"), [0.0, 0.0, 1.0, 1.0]);
    // An odd one goes to the lower id.
    let run = World::machines(3).job("a").same(2, 1.0).job("b").same(2, 1.0).run("fair");
    assert_eq!(run.starts("a"), [0.0, 0.0]);
    assert_eq!(run.starts("b"), [0.0, 1.0]);
    // Who has none comes before who has been there for long.
    let run = World::machines(2)
        .job("a")
        .tasks([[1.0], [3.0], [5.0], [5.0]])
        .job("b")
        .at(0.5)
        .tasks([[5.0], [5.0]])
        .run("fair");
    assert_eq!(run.starts("b"), [1.0, 6.0]);
    // At 3 both have nothing but b's one: a is next; at 6 a runs one, b none.
    assert_eq!(run.starts("a"), [0.0, 0.0, 3.0, 8.0]);
}

#[test]
fn machines_are_divided_by_weight() {
    // Three machines to the job of weight 3 for each one of weight 1.
    let run = World::machines(8).job("heavy").weight(3.0).same(8, 1.0).job("light").same(8, 1.0).run("fair");
    assert_eq!(run.starts("heavy").iter().filter(|start| **start == 0.0).count(), 6);
    assert_eq!(run.starts("light").iter().filter(|start| **start == 0.0).count(), 2);
}

#[test]
fn several_resources_compare_dominant_shares() {
    // Of 12 cpus and 12 GB: a needs a quarter of the memory for each copy, b a twelfth of the cpus.
    // The shares go a 1/4, b 1/12, 2/12, 3/12; then a is next by id: 1/2, but no memory is short.
    let run = World::nodes([[("cpus", 12.0), ("memory", 12.0e9)]])
        .job("a")
        .same(4, 1.0)
        .demand([("cpus", 1.0), ("memory", 3.0e9)])
        .job("b")
        .same(9, 1.0)
        .demand([("cpus", 1.0), ("memory", 0.0)])
        .run("fair");
    let at_once = |job| run.starts(job).iter().filter(|start| **start == 0.0).count();
    assert_eq!((at_once("a"), at_once("b")), (3, 9));
}

#[test]
fn fair_sca_leaves_no_machine_idle_under_load() {
    // 7 tasks on 4 machines: no cloning, one copy each until machines run out. The two jobs take
    // turns, and when the small one has its only task, the large one has the rest.
    let run = World::machines(4).job("large").same(6, 1.0).job("small").same(1, 1.0).run("fair+sca");
    assert_eq!(run.starts("small"), [0.0]);
    assert_eq!(run.starts("large"), [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
    // And nobody gets more than a fair share.
    let run = World::machines(4).job("a").same(3, 1.0).job("b").same(3, 1.0).run("fair+sca");
    assert_eq!(run.starts("a"), [0.0, 0.0, 1.0]);
    assert_eq!(run.starts("b"), [0.0, 0.0, 1.0]);
}
