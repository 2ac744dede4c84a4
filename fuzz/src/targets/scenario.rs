//! Reads any text as a scenario, builds its experiment without running it, and checks that the scenario's TOML form
//! gives the same scenario.

use std::path::Path;

use crate::stays_in_its_folder;
use hindmost_sim::experiment::Experiment;
use hindmost_sim::scenario::Scenario;

/// Experiments with more nodes than this are not set up.
const MOST_NODES: u32 = 1000;

/// Checks one input.
///
/// # Panics
/// If a check fails.
pub fn check(text: &str) {
    if !stays_in_its_folder(text) {
        return;
    }
    let folder = Path::new("/nonexistent");
    let scenario = match Scenario::parse(text, "s.toml", folder, &[]) {
        Ok(scenario) => scenario,
        Err(error) => {
            assert!(error.to_string().starts_with("s.toml"), "{error}");
            return;
        }
    };
    // A scenario that needs a file is an error without it.
    let Ok(experiment) = Experiment::of(&scenario, u64::MAX) else { return };
    assert_eq!(experiment.seeds.len(), scenario.seeds as usize);
    assert!(!experiment.policies.is_empty() && !experiment.nodes.is_empty());
    let nodes = experiment.nodes.iter().fold(0u32, |sum, kind| sum.saturating_add(kind.count));
    if nodes <= MOST_NODES
        && let Ok(setup) = experiment.setup_of(7)
    {
        assert_eq!(setup.nodes.len(), nodes as usize);
        assert!(setup.nodes.iter().all(|node| node.speed.is_finite() && node.speed > 0.0));
    }
    let written = toml::to_string(&scenario).expect("a scenario is TOML");
    let again = Scenario::parse(&written, "again", folder, &[]).unwrap_or_else(|error| panic!("{error}\n{written}"));
    assert_eq!(toml::to_string(&again).expect("a scenario is TOML"), written);
}
