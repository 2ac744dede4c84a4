//! `dollymp`: the paper's example, instances worked out by hand, and a comparison with a simple program.

use std::collections::BTreeSet;

use hindmost_core::cluster::{Cluster, Job};
use hindmost_core::resources::Resources;
use hindmost_policies::orders::dollymp::{DollympOrderParameters, KnapsackOrder};
use hindmost_sim::testing::{Run, World};
use proptest::prelude::*;

use super::plain_packing::{run_plain, shares_product};
use crate::properties::any_cluster_of_dags;

/// The paper's Figure 2: one server. Job 1 demands the whole server for 10 s; jobs 2 and 3 demand a quarter each for 8
/// s, or for 6 s with two copies.
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
fn sums_of_flowtimes_are_those_of_figure_2() {
    let sum = |policy: &str| sum_of_flowtimes(&figure_2().run(policy));
    assert_eq!(sum("tetris(epsilon=0.05)"), 46.0);
    assert_eq!(sum("tetris(epsilon=0.05)+dollymp(clones=1,per_node=2)"), 42.0);
    assert_eq!(sum("svf+none"), 34.0);
    assert_eq!(sum("dollymp(clones=0,deviations=0)"), 34.0);
    for clones in 1..=3 {
        assert_eq!(sum(&format!("dollymp(clones={clones},deviations=0,per_node=2)")), 28.0, "{clones} clones");
        assert_eq!(sum(&format!("dollymp(clones={clones},deviations=0,per_node=2,clone_pass=by_node)")), 28.0);
    }
    // If a node may run only one copy of a task, the only server cannot run clones.
    assert_eq!(sum("dollymp(deviations=0)"), 34.0);
}

#[test]
fn the_best_fit_comes_first_within_a_priority() {
    // All jobs have the same length and so the same priority. As shares of the node, the demands of (cpus, memory) are
    // (1/2, 1/8), (1/8, 1/2) and (1/4, 1/4). Their products with the free (1, 1) are 5/8, 5/8 and 1/2, so "cpu" is
    // first by id. (1/2, 7/8) are left, with products 0.3125, 0.5 and 0.34, so "memory" is next. (3/8, 3/8) are left,
    // where only "even" fits.
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
    // With `fit=raw` the products of amounts are 8·4 + 16·2 = 64, 8·1 + 16·8 = 136 and 8·2 + 16·4 = 80, so "memory" is
    // first. With 7 cpus and 8 GB left they are 28 + 16, 7 + 64 and 14 + 32: "memory" again.
    let raw = world.run("dollymp(clones=0,fit=raw)");
    assert_eq!(raw.started()[..2], ["memory/0", "memory/1"]);
}

#[test]
fn equal_products_are_sorted_by_id() {
    // 4 of 24 cores and 8 of 48 GB are free. 1 core and 7 GB have the product 4/24 · 1/24 + 8/48 · 7/48 = 1/32; 4 cores
    // and 1 GB have the product 4/24 · 4/24 + 8/48 · 1/48 = 1/32.
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
    // While the filler runs, the first phase of "a" does not fit. The second phase, which depends on no other, fits.
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
        // Three nodes can run the original and two clones, even if more clones are allowed.
        let nodes: BTreeSet<u32> = run.attempts.iter().map(|attempt| attempt.node).collect();
        assert_eq!(run.attempts.len(), 1 + clones.min(2));
        assert_eq!(nodes.len(), run.attempts.len());
    }
}

#[test]
fn every_task_gets_its_first_clone_before_any_gets_its_second() {
    // On six cpus both tasks have three copies. On five cpus only the first task has a third copy.
    for (free, copies) in [(6, [3, 3]), (5, [3, 2]), (4, [2, 2]), (3, [2, 1])] {
        let world = World::nodes((0..free).map(|_| [("cpus", 1.0)])).job("a").same(2, 5.0);
        let run = world.run("dollymp(clones=2)");
        let of = |index| run.attempts.iter().filter(|attempt| attempt.id.task.index == index).count();
        assert_eq!([of(0), of(1)], copies, "{free} cpus");
    }
}

#[test]
fn clones_wait_until_no_original_fits() {
    // Two nodes have three cpus each. Job b is shorter and comes first. One of its tasks of two cpus and the only task
    // of a fill the first node. The second task of b starts on the second node, and a's clone gets the remaining cpu
    // there.
    let world =
        World::nodes([[("cpus", 3.0)]; 2]).job("b").same(2, 20.0).demand([("cpus", 2.0)]).job("a").same(1, 40.0);
    for pass in ["after", "by_node"] {
        let run = world.run(&format!("dollymp(clones=1,clone_pass={pass})"));
        assert_eq!(run.started(), ["b/0", "a/0", "b/1", "a/0"], "{pass}");
    }
}

#[test]
fn clone_pass_decides_whether_clones_wait_for_other_nodes() {
    // At 1 the first and the third node become free and b arrives, which fits only on the third node. By the paper's
    // text (`after`), b starts before any clone. By its printed loop (`by_node`), the first node starts a clone of a
    // before the third node is considered.
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
    // Ten tasks on two nodes of ten cpus have ten clones without a budget, and two if the budget is a tenth of 20 cpus.
    let world = || World::nodes([[("cpus", 10.0)]; 2]).job("a").same(10, 5.0);
    let copies = |policy: &str| world().run(policy).attempts.len();
    assert_eq!(copies("dollymp(clones=1)"), 20);
    assert_eq!(copies("dollymp(clones=1,budget=0.1)"), 12);
    assert_eq!(copies("dollymp(clones=1,budget=0)"), 10);
}

#[test]
fn budget_returned_by_clones_is_used_again() {
    // The budget allows one clone at a time, so the second task gets a clone when the first task has finished.
    let world = World::nodes([[("cpus", 2.0)]; 2]).job("a").tasks([[9.0, 3.0], [9.0, 2.0]]);
    let run = world.run("dollymp(clones=1,budget=0.25)");
    let clones: Vec<f64> =
        run.attempts.iter().filter(|attempt| attempt.id.copy == 1).map(|attempt| attempt.start).collect();
    assert_eq!(clones, [0.0, 3.0]);
    assert_eq!(run.result.makespan, 5.0);
}

#[test]
fn priorities_change_at_arrivals_only() {
    // One cpu, slots of 1 s. Here a job's priority is the smallest k such that the volumes of the jobs up to this one
    // add up to at most 2^k. At 0, a has 4 tasks of 2 s: volume 8 ≤ 2^3, priority 3. b has one task of 16 s: 8 + 16 ≤
    // 2^5, priority 5. At 5, c arrives with 3 tasks of 3 s, volume 9. a has 2 tasks left, one of them running: volume 4
    // ≤ 2^2, priority 2. c: 4 + 9 ≤ 2^4, priority 4. So the order is a, c, b.
    let world =
        World::nodes([[("cpus", 1.0)]]).job("a").same(4, 2.0).job("b").same(1, 16.0).job("c").at(5.0).same(3, 3.0);
    let run = world.run("dollymp(clones=0,slot=1)");
    assert_eq!(run.started(), ["a/0", "a/1", "a/2", "a/3", "c/0", "c/1", "c/2", "b/0"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(hindmost_testing::cases(200, 2000)))]

    #[test]
    fn the_index_makes_the_decisions_of_a_full_scan(world in any_cluster_of_dags(), clones in 0u32..4, first in any::<bool>()) {
        let phase = if first { "first" } else { "fitting" };
        let indexed = world.run(&format!("dollymp(phase={phase})+dollymp(clones={clones})")).decisions();
        let score = |_: &Job, demand: &Resources, _: f64, cluster: &Cluster, node| shares_product(demand, cluster, node);
        let scanned = run_plain(&world, || KnapsackOrder::new(DollympOrderParameters::default()), first, clones, score);
        let differs = indexed.iter().zip(&scanned).position(|(one, other)| one != other);
        prop_assert_eq!(differs, None, "{:?}, but {:?}", &indexed[differs.unwrap_or(0)], &scanned[differs.unwrap_or(0)]);
        prop_assert_eq!(indexed.len(), scanned.len());
    }
}
