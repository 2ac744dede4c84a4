//! The order `tetris`: instances worked out by hand, and a comparison with a simple program.

use hindmost_core::policy::Policy;
use hindmost_policies::orders::tetris::{ByRemaining, Remaining, Sign};
use hindmost_sim::testing::World;
use proptest::prelude::*;

use super::dollymp::{figure_2, sum_of_flowtimes};
use super::plain_packing::{PlainPairs, Score, shares_product};
use crate::properties::any_cluster_of_dags;

#[test]
fn a_small_epsilon_prefers_the_large_job() {
    // The large job is first if its score 1 − 10 ε is above the score 1/4 − p ε of a small job, where p is 2 s of the
    // whole server (`work`) or 8 s (`time`).
    for (remaining, border) in [("work", 0.75 / 8.0), ("time", 0.75 / 2.0)] {
        for (epsilon, sum) in [(border * 0.999, 46.0), (border * 1.001, 34.0)] {
            let run = figure_2().run(&format!("tetris(epsilon={epsilon},remaining={remaining})"));
            assert_eq!(sum_of_flowtimes(&run), sum, "{remaining} {epsilon}");
        }
    }
    // The default ε is mean alignment / mean p = (1 + 1/4 + 1/4) / (10 + 2 + 2).
    assert_eq!(sum_of_flowtimes(&figure_2().run("tetris")), 34.0);
}

#[test]
fn a_plus_before_epsilon_prefers_the_large_job() {
    // With a + ε·p, job 1 has the higher alignment (1 against 1/4) and more remaining work (10 against 2): it is first
    // under every ε. With a − ε·p, any ε above 0.094 makes it the last.
    for epsilon in ["auto", "0", "0.05", "0.1", "5"] {
        let sum = sum_of_flowtimes(&figure_2().run(&format!("tetris(epsilon={epsilon},sign=plus)")));
        assert_eq!(sum, 46.0, "{epsilon}");
    }
    assert_eq!(sum_of_flowtimes(&figure_2().run("tetris(epsilon=0.1,sign=minus)")), 34.0);
    // On equal nodes and demands only p decides.
    let world = World::machines(1).job("small").same(1, 1.0).job("large").same(2, 1.0);
    assert_eq!(world.run("tetris").started(), ["small/0", "large/0", "large/1"]);
    assert_eq!(world.run("tetris(sign=plus)").started(), ["large/0", "small/0", "large/1"]);
    assert_eq!(world.run("tetris(sign=plus,epsilon=0)").started(), ["small/0", "large/0", "large/1"]);
}

/// One machine. The map of "long" has four tasks of 1 s, its reduce ten; "short" arrives at 2.5 and has one task.
fn map_and_short_job() -> World {
    World::machines(1)
        .job("long")
        .phase("map")
        .same(4, 1.0)
        .phase("reduce")
        .after(["map"])
        .same(10, 1.0)
        .job("short")
        .at(2.5)
        .same(2, 1.0)
}

#[test]
fn the_last_tasks_before_a_barrier_go_first() {
    // At 3 three of the four maps have finished. "short" has less remaining work, so its tasks are next, and the last
    // map of "long" comes after them.
    let run = map_and_short_job().run("tetris");
    assert_eq!(run.starts("short"), [3.0, 4.0]);
    assert_eq!(run.starts("long")[3], 5.0);
    // With b = 0.75 the last map is before a barrier that three quarters of its phase have reached: it goes first. At 5
    // one of the two tasks of "short" has finished, which is less than 0.75, but it has less work than the reduce.
    let run = map_and_short_job().run("tetris(barrier=0.75)");
    assert_eq!(run.starts("long")[3], 3.0);
    assert_eq!(run.starts("short"), [4.0, 5.0]);
    // Three of four tasks are too few for b = 0.76.
    assert_eq!(map_and_short_job().run("tetris(barrier=0.76)").starts("short"), [3.0, 4.0]);
    // b = 1 means no preference, and b = 0 the same preference for all phases.
    for policy in ["tetris(barrier=1)", "tetris(barrier=0)"] {
        assert_eq!(map_and_short_job().run(policy).starts("short"), [3.0, 4.0], "{policy}");
    }
}

#[test]
fn the_end_of_a_job_is_a_barrier_too() {
    // One machine with a job of four tasks. At 3.0 its last task competes with a job of shorter tasks, of which it would
    // lose with a − ε·p: 1 s of work against 0.5 s.
    let world = World::machines(1).job("long").same(4, 1.0).job("short").at(2.5).same(1, 0.5);
    assert_eq!(world.run("tetris").starts("long")[3], 3.5);
    assert_eq!(world.run("tetris(barrier=0.75)").starts("long")[3], 3.0);
}

#[test]
fn the_best_pair_of_task_and_node_starts_first() {
    // Two free nodes have 4 and 8 cpus. The task of 3 cpus has an alignment of 3/4 on the small node and 3/8 on the
    // large one; the task of 8 cpus has 1 on the large one. Tetris compares all pairs of tasks and nodes and starts the
    // task of 8 cpus first. DollyMP considers one node after the other and starts the task of 3 cpus first.
    let world = World::nodes([[("cpus", 4.0)], [("cpus", 8.0)]]);
    let world = world.job("three").same(1, 10.0).demand([("cpus", 3.0)]).job("eight").same(1, 10.0);
    let world = world.demand([("cpus", 8.0)]);
    assert_eq!(world.run("tetris(epsilon=0)").started(), ["eight/0", "three/0"]);
    assert_eq!(world.run("dollymp(clones=0)").started(), ["three/0", "eight/0"]);
}

#[test]
fn equal_remaining_work_is_a_tie_whatever_its_parts() {
    // The job with more remaining work is first. After two tasks of job "one", three of 2 s are left; job "two" has a
    // task of 1 s and then seven with half the cpus. Both have 7 s of work: 3 · 2 · (2/3 + 1/2), and
    // 2/3 + 1/2 + 7 · (1/3 + 1/2). These sums differ in their last digits, and the first job goes on.
    let world = World::nodes([[("cpus", 3.0), ("memory", 6e9)]]);
    let world = world.job("one").same(5, 2.0).demand([("cpus", 2.0), ("memory", 3e9)]);
    let world = world.job("two").phase("first").same(1, 1.0).demand([("cpus", 2.0), ("memory", 3e9)]);
    let world = world.phase("second").after(["first"]).same(7, 1.0).demand([("cpus", 1.0), ("memory", 3e9)]);
    let started = world.run("tetris(epsilon=0.5,sign=plus)").started();
    assert_eq!(started.iter().take_while(|task| task.starts_with("one")).count(), 3);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(hindmost_testing::cases(200, 2000)))]

    #[test]
    fn the_highest_score_of_all_pairs_starts_first(world in any_cluster_of_dags()) {
        let scores: [Score; 3] = [
            |_, demand, _, cluster, node| shares_product(demand, cluster, node),
            |_, demand, key, cluster, node| shares_product(demand, cluster, node) - 0.5 * key,
            |_, demand, key, cluster, node| shares_product(demand, cluster, node) - 4.0 * key,
        ];
        for (score, epsilon) in scores.into_iter().zip([0.0, 0.5, 4.0]) {
            for barrier in [1.0, 0.5] {
                let run = world.run(&format!("tetris(epsilon={epsilon},barrier={barrier})"));
                prop_assert_eq!(run.decisions(), world.run_own(plain(Sign::Minus, score, barrier)).decisions());
            }
        }
        // With a plus the key is the negative remaining work, so the same formula adds it.
        for (score, epsilon) in scores.into_iter().zip([0.0, 0.5, 4.0]).skip(1) {
            let run = world.run(&format!("tetris(epsilon={epsilon},sign=plus)"));
            prop_assert_eq!(run.decisions(), world.run_own(plain(Sign::Plus, score, 1.0)).decisions());
        }
    }
}

/// Returns the simple program that the index is compared with.
fn plain(sign: Sign, score: Score, barrier: f64) -> impl Fn() -> Policy {
    move || {
        let order = || ByRemaining(Remaining::Work, sign);
        let pairs = PlainPairs { order: order(), score, barrier };
        Policy::new(Box::new(order()), vec![Box::new(pairs)])
    }
}
