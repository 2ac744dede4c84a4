//! `dollymp`: the paper's example, instances worked out by hand, and a comparison with a plain program.

use std::collections::BTreeSet;

use hindmost_core::cluster::{Cluster, Job};
use hindmost_core::resources::Resources;
use hindmost_policies::orders::dollymp::{DollympOrderParameters, KnapsackOrder};
use hindmost_sim::testing::{Run, World};
use proptest::prelude::*;

use super::plain_packing::{run_plain, shares_product};
use crate::properties::any_cluster_of_dags;

/// Figure 2: one server; job 1 demands all of it for 10 s, jobs 2 and 3 a quarter for 8 s, or 6 s with two
/// copies.
pub fn figure_2() -> World {
    World::nodes([[("cpus", 1.0)]])
        .job("1")
        .tasks([[10.0]])
        .demand([("cpus", 1.0)])
        .job("2")
        .tasks([[8.0, 6.0]])
        .demand([("cpus", 0.25)])
        .job("3")
        .tasks([[8.0, 6.0]])
        .demand([("cpus", 0.25)])
}

pub fn sum_of_flowtimes(run: &Run) -> f64 {
    run.result.flowtime.iter().sum()
}

#[test]
fn the_example_of_figure_2() {
    let sum = |policy: &str| sum_of_flowtimes(&figure_2().run(policy));
    assert_eq!(sum("tetris(epsilon=0.05)"), 46.0);
    assert_eq!(sum("tetris(epsilon=0.05)+dollymp(clones=1,per_node=2)"), 42.0);
    assert_eq!(sum("svf+none"), 34.0);
    assert_eq!(sum("dollymp(clones=0,deviations=0)"), 34.0);
    for clones in 1..=3 {
        assert_eq!(sum(&format!("dollymp(clones={clones},deviations=0,per_node=2)")), 28.0, "{clones} clones");
        assert_eq!(sum(&format!("dollymp(clones={clones},deviations=0,per_node=2,clone_pass=by_node)")), 28.0);
    }
    // With one copy of a task on a node the only server has no place for clones.
    assert_eq!(sum("dollymp(deviations=0)"), 34.0);
}

#[test]
fn the_best_fit_within_a_priority() {
    // All of equal length, so all of one priority. The empty node has 8 cpus and 16 GB; as shares, jobs
    // demand (1/2, 1/8), (1/8, 1/2) and (1/4, 1/4): their products with (1, 1) are 5/8, 5/8 and 1/2. The
    // first goes, and leaves (1/2, 7/8): products 0.3125, 0.5, 0.34: the second; then (3/8, 3/8) is left,
    // too little for another of either, and the third takes (1/4, 1/4).
    const GB: f64 = 1024.0 * 1024.0 * 1024.0;
    let world = World::nodes([[("cpus", 8.0), ("memory", 16.0 * GB)]])
        .job("cpu")
        .same(2, 4.0)
        .demand([("cpus", 4.0), ("memory", 2.0 * GB)])
        .job("memory")
        .same(2, 4.0)
        .demand([("cpus", 1.0), ("memory", 8.0 * GB)])
        .job("even")
        .same(2, 4.0)
        .demand([("cpus", 2.0), ("memory", 4.0 * GB)]);
    let run = world.run("dollymp(clones=0)");
    assert_eq!(run.started()[..3], ["cpu/0", "memory/0", "even/0"]);
    assert_eq!(run.starts("even"), [0.0, 4.0]);
    // As amounts, memory counts more: products 8·4 + 16·2 = 64, 8·1 + 16·8 = 136, 8·2 + 16·4 = 80, then,
    // with 7 and 8 left, 28 + 16, 7 + 64 and 14 + 32: memory again.
    let raw = world.run("dollymp(clones=0,fit=raw)");
    assert_eq!(raw.started()[..2], ["memory/0", "memory/1"]);
}

#[test]
fn equal_products_go_by_id() {
    // On 4 cores and 8 GB of 24 and 48, 1 core and 7 GB score 4/24 · 1/24 + 8/48 · 7/48 = 1/32, and so do 4 cores and 1 GB.
    for policy in ["dollymp(clones=0)", "tetris(epsilon=0)"] {
        let world = World::nodes([[("cpus", 24.0), ("memory", 48e9)]]).job("filler").tasks([[1000.0]]);
        let world = world.demand([("cpus", 20.0), ("memory", 40e9)]);
        let world = world.job("a").at(1.0).same(1, 30.0).demand([("cpus", 1.0), ("memory", 7e9)]);
        let world = world.job("b").at(1.0).same(1, 30.0).demand([("cpus", 4.0), ("memory", 1e9)]);
        assert_eq!(world.run(policy).started(), ["filler/0", "a/0", "b/0"], "{policy}");
    }
}

#[test]
fn phase_first_places_only_the_first_open_phase() {
    // The job's first phase does not fit beside the filler, its second, which waits for nothing, does.
    let world = || {
        let world = World::nodes([[("cpus", 4.0)]]).job("filler").same(1, 10.0).demand([("cpus", 2.0)]);
        let world = world.job("a").at(1.0).phase("large").same(1, 5.0).demand([("cpus", 3.0)]);
        world.phase("small").same(1, 5.0).demand([("cpus", 1.0)])
    };
    let starts = |order: &str| -> Vec<f64> {
        world().run(&format!("{order}+none")).tries("a").iter().map(|one| one.start).collect()
    };
    assert_eq!(starts("dollymp"), [10.0, 1.0]);
    assert_eq!(starts("dollymp(phase=first)"), [10.0, 10.0]);
}

#[test]
fn clones_never_share_a_node_and_stop_at_their_limit() {
    for clones in 0..4 {
        let world = World::nodes([[("cpus", 4.0)]; 3]).job("a").same(1, 5.0);
        let run = world.run(&format!("dollymp(clones={clones})"));
        // Three nodes: the original and two clones at most, whatever is allowed.
        let nodes: BTreeSet<u32> = run.attempts.iter().map(|attempt| attempt.node).collect();
        assert_eq!(run.attempts.len(), 1 + clones.min(2));
        assert_eq!(nodes.len(), run.attempts.len());
    }
}

#[test]
fn every_task_gets_its_first_clone_before_any_gets_its_second() {
    // Six cpus for two tasks: three copies each; five: the third copy goes to the first task.
    for (free, copies) in [(6, [3, 3]), (5, [3, 2]), (4, [2, 2]), (3, [2, 1])] {
        let world = World::nodes((0..free).map(|_| [("cpus", 1.0)])).job("a").same(2, 5.0);
        let run = world.run("dollymp(clones=2)");
        let of = |index| run.attempts.iter().filter(|attempt| attempt.id.task.index == index).count();
        assert_eq!([of(0), of(1)], copies, "{free} cpus");
    }
}

#[test]
fn clones_wait_until_no_original_fits() {
    // Two nodes of three cpus. b, shorter, comes first: one of its tasks of two cpus fits on a node, and beside
    // it a's only one; b's second goes to the second node, and a's clone gets what is left there.
    let world =
        World::nodes([[("cpus", 3.0)]; 2]).job("b").same(2, 20.0).demand([("cpus", 2.0)]).job("a").same(1, 40.0);
    for pass in ["after", "by_node"] {
        let run = world.run(&format!("dollymp(clones=1,clone_pass={pass})"));
        assert_eq!(run.started(), ["b/0", "a/0", "b/1", "a/0"], "{pass}");
    }
}

#[test]
fn the_two_readings_of_the_clone_passes() {
    // Three full nodes; at 1 the first and the third are free again, when b comes, which fits on the third alone.
    // As the prose has it b is placed before anything is cloned; as the loop is printed the first node clones
    // a before the third is looked at.
    let world = World::nodes([[("cpus", 1.0)], [("cpus", 1.0)], [("cpus", 2.0)]])
        .job("y")
        .same(1, 1.0)
        .job("a")
        .same(1, 60.0)
        .job("z")
        .same(1, 1.0)
        .demand([("cpus", 2.0)])
        .job("b")
        .at(1.0)
        .same(1, 20.0)
        .demand([("cpus", 2.0)]);
    let started = |pass: &str| world.run(&format!("dollymp(clones=1,clone_pass={pass})")).started();
    assert_eq!(started("after"), ["y/0", "a/0", "z/0", "b/0", "a/0"]);
    assert_eq!(started("by_node"), ["y/0", "a/0", "z/0", "a/0", "b/0"]);
}

#[test]
fn clones_hold_no_more_than_their_budget() {
    // Ten tasks on two nodes of ten cpus: ten clones without a limit, two with a tenth of twenty cpus.
    let world = || World::nodes([[("cpus", 10.0)]; 2]).job("a").same(10, 5.0);
    let copies = |policy: &str| world().run(policy).attempts.len();
    assert_eq!(copies("dollymp(clones=1)"), 20);
    assert_eq!(copies("dollymp(clones=1,budget=0.1)"), 12);
    assert_eq!(copies("dollymp(clones=1,budget=0)"), 10);
}

#[test]
fn budget_returned_by_clones_is_used_again() {
    // One clone at a time: the second task gets its own when the first is done.
    let world = World::nodes([[("cpus", 2.0)]; 2]).job("a").tasks([[9.0, 3.0], [9.0, 2.0]]);
    let run = world.run("dollymp(clones=1,budget=0.25)");
    let clones: Vec<f64> =
        run.attempts.iter().filter(|attempt| attempt.id.copy == 1).map(|attempt| attempt.start).collect();
    assert_eq!(clones, [0.0, 3.0]);
    assert_eq!(run.result.makespan, 5.0);
}

#[test]
fn priorities_change_at_arrivals_only() {
    // Slots of a second on one cpu. At 0: a is 4 tasks of 2 s, length 2, volume 8: priority 3 (2^3 ≥ 8); b is one
    // task of 16 s: length and volume 16, priority 5 with a's 8 (8 + 16 = 24 ≤ 32).
    // c arrives at 5 with 3 tasks of 3 s: volume 9. By then a has 2 tasks (one of them running) left: volume 4,
    // priority 2; c: 4 + 9 = 13 ≤ 16: priority 4. So a, c, b.
    let world =
        World::nodes([[("cpus", 1.0)]]).job("a").same(4, 2.0).job("b").same(1, 16.0).job("c").at(5.0).same(3, 3.0);
    let run = world.run("dollymp(clones=0,slot=1)");
    assert_eq!(run.started(), ["a/0", "a/1", "a/2", "a/3", "c/0", "c/1", "c/2", "b/0"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_index_finds_what_a_scan_finds(world in any_cluster_of_dags(), clones in 0u32..4, first in any::<bool>()) {
        let phase = if first { "first" } else { "fitting" };
        let indexed = world.run(&format!("dollymp(phase={phase})+dollymp(clones={clones})")).decisions();
        let score = |_: &Job, demand: &Resources, _: f64, cluster: &Cluster, node| shares_product(demand, cluster, node);
        let scanned = run_plain(&world, || KnapsackOrder::new(DollympOrderParameters::default()), first, clones, score);
        let differs = indexed.iter().zip(&scanned).position(|(one, other)| one != other);
        prop_assert_eq!(differs, None, "{:?}, but {:?}", &indexed[differs.unwrap_or(0)], &scanned[differs.unwrap_or(0)]);
        prop_assert_eq!(indexed.len(), scanned.len());
    }
}
