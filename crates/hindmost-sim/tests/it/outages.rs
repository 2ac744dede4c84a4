//! Outages in scenarios.

use crate::experiments::{experiment, run_on};

#[test]
fn scenarios_name_the_nodes_that_are_lost() {
    // node-3, which runs one of four tasks of 10 s, is lost from 4 to 24.
    let ran = run_on(&experiment(include_str!("mistakes/outages.scenario.toml")), 1);
    // The fourth task starts again at 10, when the other three nodes are free.
    assert!(ran.iter().flatten().all(|run| run.makespan == 20.0 && run.lost_attempts == 1), "{ran:?}");
}
