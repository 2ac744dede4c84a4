//! Tests of policies: a file for each system and order of the catalogue, and `plain_packing` for comparisons.

mod capacity;
mod carbyne;
mod chronos;
mod dolly;
mod dollymp;
mod drf;
mod ese;
mod fair;
mod fewest_remaining;
mod fifo;
mod graphene;
mod hadoop;
mod hete_aware;
mod hopper;
mod late;
mod mantri;
mod mantri_osdi;
mod none;
mod pace;
mod pace_restarts;
mod plain_packing;
mod riski;
mod sca;
mod sda;
mod shed;
mod smallest_workload;
mod spark;
mod srpt;
mod svf;
mod tetris;
mod window;

use std::path::Path;

use hindmost_policies::catalogue::{ORDERS, SYSTEMS};

#[test]
fn every_policy_of_the_catalogue_has_a_test_file() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/policy");
    let systems = SYSTEMS.iter().map(|system| system.name);
    for name in systems.chain(ORDERS.iter().map(|order| order.name)) {
        assert!(folder.join(format!("{name}.rs")).is_file(), "{name} has no tests in {}", folder.display());
    }
}
