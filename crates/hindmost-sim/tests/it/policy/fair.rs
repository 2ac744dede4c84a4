//! The order `fair`, in instances small enough to work out by hand.

use hindmost_sim::testing::World;

#[test]
fn the_job_with_fewest_machines_comes_next() {
    let run = World::machines(4).job("a").same(4, 1.0).job("b").same(4, 1.0).run("fair");
    assert_eq!(run.starts("a"), [0.0, 0.0, 1.0, 1.0]);
    assert_eq!(run.starts("b"), [0.0, 0.0, 1.0, 1.0]);
    // With an odd number of machines, the last one goes to the job with the lower id.
    let run = World::machines(3).job("a").same(2, 1.0).job("b").same(2, 1.0).run("fair");
    assert_eq!(run.starts("a"), [0.0, 0.0]);
    assert_eq!(run.starts("b"), [0.0, 1.0]);
    // A job without machines comes before a job that has one, although it has arrived later.
    let run = World::machines(2)
        .job("a")
        .tasks([[1.0], [3.0], [5.0], [5.0]])
        .job("b")
        .at(0.5)
        .tasks([[5.0], [5.0]])
        .run("fair");
    assert_eq!(run.starts("b"), [1.0, 6.0]);
    // At 3 job a has no machine and b has one, so a is next. At 6 a has one and b has none, so b is next.
    assert_eq!(run.starts("a"), [0.0, 0.0, 3.0, 8.0]);
}

#[test]
fn machines_are_divided_by_weight() {
    // The job of weight 3 gets three machines for each machine of the job of weight 1.
    let run = World::machines(8).job("heavy").weight(3.0).same(8, 1.0).job("light").same(8, 1.0).run("fair");
    assert_eq!(run.starts("heavy").iter().filter(|start| **start == 0.0).count(), 6);
    assert_eq!(run.starts("light").iter().filter(|start| **start == 0.0).count(), 2);
}

#[test]
fn several_resources_compare_dominant_shares() {
    // A copy of a needs 1/4 of the memory, a copy of b 1/12 of the cpus. The dominant shares after the first starts are
    // a 1/4, then b 1/12, 2/12 and 3/12; then a is next by id. All cpus are in use with 3 copies of a and 9 of b.
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
fn fair_sca_uses_all_machines_under_load() {
    // 7 tasks are more than 4 machines, so SCA starts no clones. The two jobs take turns; when the only task of "small"
    // has started, "large" gets the remaining machines.
    let run = World::machines(4).job("large").same(6, 1.0).job("small").same(1, 1.0).run("fair+sca");
    assert_eq!(run.starts("small"), [0.0]);
    assert_eq!(run.starts("large"), [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
    // Two equal jobs get two machines each.
    let run = World::machines(4).job("a").same(3, 1.0).job("b").same(3, 1.0).run("fair+sca");
    assert_eq!(run.starts("a"), [0.0, 0.0, 1.0]);
    assert_eq!(run.starts("b"), [0.0, 0.0, 1.0]);
}
