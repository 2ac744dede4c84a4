//! The order `tetris`: instances worked out by hand, and a comparison with a plain program.

use hindmost_core::policy::Policy;
use hindmost_policies::orders::tetris::{LeastRemaining, Remaining};
use hindmost_sim::testing::World;
use proptest::prelude::*;

use super::dollymp::{figure_2, sum_of_flowtimes};
use super::plain_packing::{PlainPairs, Score, shares_product};
use crate::properties::any_cluster_of_dags;

#[test]
fn a_small_epsilon_prefers_the_large_job() {
    // 1 − 10 ε > 1/4 − p ε: p of a small job is 2 s of the server, or 8 s of time.
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
    // Two free nodes of 4 and 8 cpus. The task of 3 cpus aligns with 3/4 on the small node and 3/8 on the large one, that
    // of 8 with 1 on the large one; node by node the small node comes first, pair by pair the task of 8.
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
