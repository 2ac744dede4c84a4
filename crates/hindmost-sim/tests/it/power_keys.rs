//! The key `power` of clusters and node classes, and `memory_accesses` of phases.

use hindmost_core::power::{CpuPower, StaticWatts};
use hindmost_sim::compare::policy_results;
use hindmost_sim::experiment::Experiment;
use hindmost_sim::scenario::Scenario;

use crate::experiments::{experiment, run_on};
use crate::scenarios::{VALID, parse};

/// Two classes of nodes with power, and a workload of two jobs.
const POWERED: &str = include_str!("power_keys/powered.toml");

#[test]
fn node_classes_have_the_power_that_they_name() {
    let scenario = parse(POWERED, &[]).unwrap();
    let experiment = Experiment::of(&scenario, 1).unwrap();
    assert!(experiment.has_power());
    let nodes = experiment.setup_of(1).unwrap().nodes;
    let (old, own) = (nodes[0].power.as_ref().unwrap(), nodes[2].power.as_ref().unwrap());
    assert_eq!((old.idle_watts(), old.watts(4.0), old.cores), (58.4, 222.0, 4.0));
    assert_eq!((&own.cpu, own.cores, own.watts(9.0)), (&CpuPower::PerCore(10.0), 2.0, 80.0));
    assert_eq!(own.static_watts, StaticWatts { cpu: 40.0, memory: 15.0, network: 5.0 });
    // One-slot machines are fully busy with one task.
    let cluster = "[cluster]\nmachines = 3\npower = { machine = \"hp_ml110_g5\" }\n";
    let text = format!("{cluster}{}", &POWERED[POWERED.find("[workload]").unwrap()..]);
    let machine = experiment_of(&text).setup_of(1).unwrap().nodes.pop().unwrap().power.unwrap();
    assert_eq!((machine.watts(1.0), machine.cores), (135.0, 1.0));
    // The printed scenario has the same power.
    let printed = toml::to_string(&scenario).unwrap();
    let again = Experiment::of(&parse(&printed, &[]).unwrap(), 1).unwrap();
    assert_eq!(again.setup_of(1).unwrap().nodes[2].power, nodes[2].power);
}

fn experiment_of(text: &str) -> Experiment {
    let scenario: Scenario = parse(text, &[]).unwrap();
    Experiment::of(&scenario, 1).unwrap()
}

#[test]
fn results_have_the_energy_of_all_seeds() {
    let experiment = experiment(POWERED);
    let results = run_on(&experiment, 2);
    for (result, seeds) in policy_results(&experiment, &results, &[]).iter().zip(&results) {
        let of_seeds: f64 = seeds.iter().map(|seed| seed.energy.as_ref().unwrap().nodes.iter().sum::<f64>()).sum();
        let total = result.energy_joules.unwrap();
        let energy = result.energy.as_ref().unwrap();
        assert!((total - of_seeds).abs() < 1e-6 * total && (energy.parts.total() - total).abs() < 1e-9 * total);
        assert!((energy.nodes.iter().map(|nodes| nodes.joules).sum::<f64>() - total).abs() < 1e-9 * total);
        assert_eq!(
            energy.nodes.iter().map(|nodes| (&*nodes.name, nodes.count)).collect::<Vec<_>>(),
            [("old", 2), ("own", 1)]
        );
        // A job's eight tasks of 4 s on average make 10^8 accesses per second.
        assert!(energy.job.mean.is_some_and(|mean| mean > 0.0) && energy.parts.idle > 0.0);
        let json = serde_json::to_value(result).unwrap();
        assert_eq!(json["energy"]["static"], energy.parts.idle);
        assert_eq!(json["energy"]["normal_successful"], energy.parts.normal_successful);
    }
    // Without power models, there is no energy.
    let without = experiment_of(VALID);
    assert!(!without.has_power());
    let results = policy_results(&without, &run_on(&without, 2), &[]);
    assert!(results.iter().all(|result| result.energy_joules.is_none() && result.energy.is_none()));
    let json = serde_json::to_value(&results[0]).unwrap();
    assert!(json["energy_joules"].is_null() && json.get("energy").is_none());
}

#[test]
fn negative_memory_accesses_of_a_phase_are_an_error() {
    let phase = parse(&POWERED.replace("1e8", "-5"), &[]).err().unwrap();
    assert!(phase.contains("memory_accesses is -5, but must be at least 0"), "{phase}");
}
