//! `dollymp`, compared with a simple program.

use hindmost_core::cluster::{Cluster, Job};
use hindmost_core::resources::Resources;
use hindmost_policies::orders::dollymp::{DollympOrderParameters, KnapsackOrder};
use proptest::prelude::*;

use super::plain_packing::{run_plain, shares_product};
use crate::every_policy::worlds::any_cluster_of_dags;

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
