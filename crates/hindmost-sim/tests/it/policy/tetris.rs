//! The order `tetris`, compared with a simple program.

use hindmost_core::policy::Policy;
use hindmost_policies::orders::tetris::{ByRemaining, Remaining, Sign};
use proptest::prelude::*;

use super::plain_packing::{PlainPairs, Score, shares_product};
use crate::every_policy::worlds::any_cluster_of_dags;

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
