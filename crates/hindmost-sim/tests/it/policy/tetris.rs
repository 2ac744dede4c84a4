//! The order `tetris`: instances worked out by hand, and a comparison with a simple program.

use hindmost_core::policy::Policy;
use hindmost_policies::orders::tetris::{LeastRemaining, Remaining};
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_highest_score_of_all_pairs_starts_first(world in any_cluster_of_dags()) {
        let scores: [Score; 3] = [
            |_, demand, _, cluster, node| shares_product(demand, cluster, node),
            |_, demand, key, cluster, node| shares_product(demand, cluster, node) - 0.5 * key,
            |_, demand, key, cluster, node| shares_product(demand, cluster, node) - 4.0 * key,
        ];
        for (score, epsilon) in scores.into_iter().zip([0.0, 0.5, 4.0]) {
            let run = world.run(&format!("tetris(epsilon={epsilon})"));
            let plain = move || {
                let pairs = PlainPairs { order: LeastRemaining(Remaining::Work), score };
                Policy::new(Box::new(LeastRemaining(Remaining::Work)), vec![Box::new(pairs)])
            };
            prop_assert_eq!(run.decisions(), world.run_own(plain).decisions());
        }
    }
}
