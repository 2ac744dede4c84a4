//! The keys of scenario files for disturbances and speeds.

use std::path::Path;

use hindmost_core::cluster::Placement;
use hindmost_sim::compare::policy_results;
use hindmost_sim::experiment::Experiment;
use hindmost_sim::scenario::Scenario;
use hindmost_sim::world_notes::notes;

use crate::experiments::{experiment, run_on};

/// Returns a scenario with these lines in its tables `cluster` and `workload`, and in the first class of nodes.
fn text(cluster: &str, class: &str, workload: &str) -> String {
    format!(
        "seeds = 2\nhorizon = 30\n[cluster]\n{cluster}\n[[cluster.nodes]]\ncount = 2\ncpus = 4\n{class}\n\
         [[cluster.nodes]]\ncount = 1\ncpus = 2\nname = \"other\"\n[workload]\narrival = {{ poisson = {{ rate = 1.0 }} }}\n\
         tasks = 4\nduration = {{ exponential = {{ mean = 2 }} }}\n{workload}\n[[policy]]\nname = \"fifo+none\"\n"
    )
}

#[test]
fn classes_override_the_keys_of_the_cluster() {
    let cluster = "contention = { degree = 2.5 }\nneighbours = { quiet = 5, busy = 1, slowdown = 2 }\n\
                   failures = { between = { exponential = { mean = 60 } }, repair = 5 }";
    let class = "contention = { degree = 1, exponent = 2 }\nneighbours = { quiet = 1, busy = 9, slowdown = 3, start = \"quiet\" }";
    let setup = experiment(&text(cluster, class, "")).setup_of(1).unwrap();
    let degrees = setup.disturbances.iter().map(|node| node.contention.map(|one| (one.degree, one.exponent)));
    assert_eq!(degrees.collect::<Vec<_>>(), [Some((1.0, 2.0)), Some((1.0, 2.0)), Some((2.5, 1.0))]);
    let busy = setup.disturbances.iter().map(|node| node.neighbours.as_ref().unwrap().busy.clone());
    assert_eq!(busy.collect::<Vec<_>>(), [9.0, 9.0, 1.0].map(hindmost_sim::parameter::Parameter::Number));
    assert!(setup.disturbances.iter().all(|node| node.failures.is_some()));
}

#[test]
fn a_scenario_with_all_disturbances_runs_and_counts_them() {
    let cluster = "speeds = \"learned\"\ncontention = { degree = 2.5, exponent = 0.5 }\n\
                   neighbours = { quiet = { exponential = { mean = 5 } }, busy = 2, slowdown = { uniform = { min = 1, max = 4 } } }\n\
                   failures = { between = { exponential = { mean = 20 } }, repair = { uniform = { min = 1, max = 2 } } }";
    let workload = "stragglers = { ratio = { uniform = { min = 0.1, max = 0.3 } }, slowdown = 3, copies = true }";
    let text = text(cluster, "speed = { uniform = { min = 0.3, max = 1 } }", workload);
    let experiment = experiment(&text);
    let [one, two] = [1, 2].map(|threads| run_on(&experiment, threads));
    assert_eq!(one, two);
    let count = |of: fn(&hindmost_sim::driver::RunResult) -> u64| one.iter().flatten().map(of).sum::<u64>();
    assert!(count(|run| run.rate_changes) > 100 && count(|run| run.stragglers) > 10);
    assert!(count(|run| run.node_failures) > 1 && count(|run| run.speeds_learned) > 0);
    assert_eq!(count(|run| run.unfinished), 0);
    assert!(!experiment.is_the_same_for_every_seed());
    // What is written again is the same scenario.
    let scenario = Scenario::parse(&text, "test", Path::new(""), &[]).unwrap();
    let written = toml::to_string(&scenario).unwrap();
    let again = Experiment::of(&Scenario::parse(&written, "again", Path::new(""), &[]).unwrap(), 1).unwrap();
    assert_eq!(run_on(&again, 2), one);
}

#[test]
fn the_order_of_policies_does_not_change_the_world() {
    let cluster = "contention = { degree = 2 }\nneighbours = { quiet = 3, busy = { exponential = { mean = 2 } }, slowdown = 2 }\n\
                   failures = { between = { exponential = { mean = 20 } }, repair = 1 }";
    let workload = "stragglers = { ratio = 0.3, slowdown = { uniform = { min = 2, max = 4 } } }";
    let mut experiment = experiment(&text(cluster, "", workload));
    let named = |name: &str| name.parse::<hindmost_policies::catalogue::spec::PolicySpec>().unwrap();
    experiment.policies = ["fifo+none", "fair+late", "sda"].map(named).to_vec();
    let forward = run_on(&experiment, 1);
    experiment.policies.reverse();
    let mut backward = run_on(&experiment, 1);
    backward.reverse();
    assert_eq!(forward, backward);
}

#[test]
fn notes_say_what_world_it_was() {
    let cluster = "speeds = \"learned\"\ncontention = { degree = 2.5 }\nneighbours = { quiet = { exponential = { mean = 5 } }, \
                   busy = 2, slowdown = 2 }\nfailures = { between = { exponential = { mean = 9 } }, repair = 1 }";
    let whole = text(
        cluster,
        "neighbours = { quiet = 1, busy = 9, slowdown = 3, start = \"quiet\" }",
        "stragglers = { ratio = 0.2, slowdown = 3 }",
    );
    let disturbed = experiment(&whole);
    let rows = policy_results(&disturbed, &run_on(&disturbed, 2), &[]);
    let counts = rows[0].disturbances.unwrap();
    assert!(counts.rate_changes > 0 && counts.stragglers > 0 && counts.node_failures > 0);
    let expected = [
        format!(
            "attempts on a node slow each other down: degree 2.5, exponent 1 (changes of rates over all seeds: {})",
            counts.rate_changes
        ),
        "nodes have load of others that comes and goes: quiet 1 s, busy 9 s, slow-down 3, quiet at first; quiet \
         exponential(mean=5) s, busy 2 s, slow-down 2"
            .to_owned(),
        format!(
            "stragglers: ratio 0.2, slow-down 3, only first copies straggle; the known durations do not include them \
             (stragglers started over all seeds: {})",
            counts.stragglers
        ),
        format!(
            "nodes fail at random: exponential(mean=9) s between failures, repair 1 s (failures over all seeds: {})",
            counts.node_failures
        ),
        format!(
            "policies learn the speeds of nodes from finished attempts (speeds learned over all seeds: {})",
            counts.speeds_learned
        ),
    ];
    assert_eq!(notes(&[&disturbed], &rows), expected);
    // A sweep's notes say where they hold.
    let calm = experiment(&text("", "", ""));
    let of_sweep = notes(&[&calm, &disturbed], &rows);
    assert!(of_sweep.iter().all(|note| note.starts_with("at some points of the sweep, ")), "{of_sweep:?}");
    let rows = policy_results(&calm, &run_on(&calm, 2), &[]);
    assert!(rows[0].disturbances.is_none() && notes(&[&calm], &rows).is_empty());
}

#[test]
fn absent_keys_are_not_written() {
    let written = toml::to_string(&Scenario::parse(&text("", "", ""), "test", Path::new(""), &[]).unwrap()).unwrap();
    for key in ["contention", "neighbours", "failures", "speeds", "measured_speed", "stragglers"] {
        assert!(!written.contains(key), "{written}");
    }
}

#[test]
fn speeds_are_read_from_a_file_of_measurements() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("scores.csv");
    std::fs::write(&file, "score,machine\n50,a\n100,b\n150,c\n").unwrap();
    let parse = |class: &str| Scenario::parse(&text("", class, ""), "test", folder.path(), &[]);
    let speeds = |class: &str, seed| {
        let experiment = Experiment::of(&parse(class).unwrap(), 1).unwrap();
        let setup = experiment.setup_of(seed).unwrap();
        setup.nodes.iter().map(|node| node.speed).collect::<Vec<f64>>()
    };
    let in_turn = "measured_speed = { file = \"scores.csv\", column = \"score\", take = \"in_turn\" }";
    assert_eq!((speeds(in_turn, 1), speeds(in_turn, 2)), (vec![0.5, 1.0, 1.0], vec![0.5, 1.0, 1.0]));
    let drawn = "measured_speed = { file = \"scores.csv\", column = 1, divide_by = \"median\" }";
    assert!((1..30).any(|seed| speeds(drawn, seed) != speeds(drawn, 0)));
    assert_eq!(parse(drawn).unwrap().placement, Some(Placement::Random));
    let wrong = parse("measured_speed = { file = \"scores.csv\" }").unwrap_err().to_string();
    assert!(wrong.contains("cluster.nodes, entry 1: measured_speed:") && wrong.contains("has 2 columns"), "{wrong}");
    std::fs::write(&file, "score\n1\nx\n").unwrap();
    let wrong = parse("measured_speed = { file = \"scores.csv\" }").unwrap_err().to_string();
    assert!(wrong.contains("scores.csv, line 3: \"x\" is not a number above 0"), "{wrong}");
}

/// Tries the benchmark scores of cloud machines, if the folder of real data is there.
#[test]
fn real_measurements_of_cloud_machines_are_read() {
    let Some(folder) = hindmost_testing::data("azure") else { return };
    let Some(file) = std::fs::read_dir(&folder).ok().and_then(|mut files| files.next()?.ok()) else { return };
    let name = file.file_name().into_string().unwrap();
    let class = format!("measured_speed = {{ file = \"{name}\", column = \"value\" }}");
    let scenario = Scenario::parse(&text("", &class, ""), "test", &folder, &[]).unwrap();
    let setup = Experiment::of(&scenario, 1).unwrap().setup_of(1).unwrap();
    assert!(setup.nodes.iter().all(|node| (0.5..2.0).contains(&node.speed)));
}
