//! Scenario files: valid ones run, and errors of invalid ones say what is wrong, where, and what would be valid.

use std::path::Path;

use hindmost_sim::experiment::Experiment;
use hindmost_sim::scenario::{BUILT_IN, Scenario};
use proptest::prelude::*;

use crate::experiments::{experiment, run_on};

/// A valid scenario with most of the keys.
pub(crate) const VALID: &str = include_str!("mistakes/all_keys.scenario.toml");

pub(crate) fn parse(text: &str, set: &[(&str, &str)]) -> Result<Scenario, String> {
    let set: Vec<(String, String)> = set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Scenario::parse(text, "s.toml", Path::new(""), &set).map_err(|error| error.to_string())
}

#[test]
fn the_default_progress_model_is_a_tenth_of_the_work() {
    let text = "[cluster]\nmachines = 3\n[workload]\narrival = { at_once = { jobs = 1 } }\ntasks = 2\nduration = 1\n";
    assert_eq!(parse(text, &[]).unwrap().knowledge.to_string(), "progress(0.1)");
}

#[test]
fn the_valid_scenario_is_accepted_and_runs() {
    parse(VALID, &[]).unwrap();
    let results = run_on(&experiment(VALID), 2);
    assert_eq!((results.len(), results[0].len()), (2, 2));
    assert!(results[0][0].finished > 0);
}

#[test]
fn every_built_in_scenario_is_valid() {
    for (name, text) in BUILT_IN {
        let scenario = Scenario::load(name, &[]).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(scenario.name, *name);
        Experiment::of(&scenario, 1).unwrap();
        // A scenario that is written back is valid again.
        let again = toml::to_string(&scenario).unwrap();
        assert!(parse(&again, &[]).is_ok(), "{text}\n{again}");
    }
}

#[test]
fn a_cluster_without_machines_is_an_error() {
    let message = |cluster: &str| parse(&format!("[cluster]\n{cluster}\n[workload]\nfile = \"w\""), &[]).unwrap_err();
    assert!(message("machines = 0").contains("cluster.machines is 0, but must be from 1 to 10000000"));
    assert!(message("").contains("cluster needs machines = N (one slot each) or [[cluster.nodes]]"));
    assert!(message("machines = -3").contains("-3"));
}

#[test]
fn values_can_be_set_by_path() {
    let set = [
        ("workload.arrival.poisson.rate", "4"),
        ("slot", "0.5"),
        ("policy.0.max_copies", "2"),
        ("cluster.nodes.0.count", "7"),
        ("order", "fifo"),
        ("knowledge", "age"),
    ];
    let scenario = parse(VALID, &set).unwrap();
    let written = toml::to_string(&scenario).unwrap();
    for expected in
        ["rate = 4.0", "slot = 0.5", "max_copies = 2.0", "count = 7", "order = \"fifo\"", "knowledge = \"age\""]
    {
        assert!(written.contains(expected), "{expected}: {written}");
    }
}

#[test]
fn correlation_may_be_set_by_its_short_name() {
    for key in ["correlation", "workload.correlation"] {
        let scenario = parse(VALID, &[("slot", "0.5"), (key, "0.25")]).unwrap();
        assert_eq!(scenario.workload.correlation, Some(0.25), "{key}");
        let error = parse(VALID, &[("slot", "0.5"), (key, "much")]).unwrap_err();
        assert!(error.contains(&format!("--set {key}=much: invalid type")), "{error}");
        let error = parse(VALID, &[(key, "1.5")]).unwrap_err();
        assert!(error.contains("workload.correlation is 1.5"), "{error}");
    }
}

#[test]
fn an_unknown_name_is_an_error_that_suggests_a_scenario() {
    let message = |name: &str| Scenario::load(name, &[]).unwrap_err().to_string();
    assert!(message("xu2015-ligth").contains("did you mean \"xu2015-light\"?"));
    assert!(message("zebra").contains("built in are quickstart"));
    assert!(message("nowhere/file.toml").starts_with("nowhere/file.toml: "));
}

#[test]
fn a_binary_file_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.toml");
    std::fs::write(&path, b"\xff\xfe").unwrap();
    let error = Scenario::load(path.to_str().unwrap(), &[]).unwrap_err().to_string();
    assert!(error.contains("not a text file"), "{error}");
}

#[test]
fn empirical_files_are_relative_to_the_scenario() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("arrivals.txt", "# seconds\n3\n\n1\n2.5\n");
    write("durations.txt", "1\n2\n");
    write(
        "s.toml",
        "[cluster]\nmachines = 9\n[workload]\narrival = { file = \"arrivals.txt\" }\ntasks = 1\n\
         duration = { empirical = { file = \"durations.txt\" } }\n[[policy]]\nname = \"none\"",
    );
    let path = folder.path().join("s.toml");
    let scenario = Scenario::load(path.to_str().unwrap(), &[]).unwrap();
    let results = run_on(&Experiment::of(&scenario, 1).unwrap(), 1);
    assert_eq!(results[0][0].finished, 3);
    assert!(results[0][0].flowtime.iter().all(|one| [1.0, 2.0].contains(one)));
    for (text, expected) in [
        ("1\nx\n", "line 2: \"x\" is not a number"),
        ("1\n-2\n", "line 2: \"-2\" is not a number of at least 0"),
        ("inf", "line 1"),
        ("# nothing\n", "contains no numbers"),
    ] {
        write("durations.txt", text);
        let error = Scenario::load(path.to_str().unwrap(), &[]).unwrap_err().to_string();
        assert!(error.contains("durations.txt") && error.contains(expected), "{error}");
    }
}

#[test]
fn tasks_that_demand_nothing_all_run_at_the_same_time() {
    let text = "[[cluster.nodes]]\ncount = 3\ncpus = 1\n[workload]\narrival = { at_once = { jobs = 2 } }\ntasks = 9\n\
                duration = { pareto = { alpha = 2, mean = 1 } }\ndemand = { cpus = 0 }";
    // Under every policy, all tasks start when their jobs arrive.
    for seeds in run_on(&experiment(text), 1) {
        assert_eq!(seeds[0].finished, 2);
        assert_eq!(seeds[0].flowtime, seeds[0].running_time);
    }
}

#[test]
fn generated_workloads_follow_their_description() {
    // Poisson arrivals: the number over 40 seeds is within 4 standard deviations of 40 × rate × horizon.
    let text = "horizon = 1000\nseeds = 40\n[cluster]\nmachines = 1000\n[workload]\narrival = { poisson = { rate = 2.0 } }\n\
                tasks = { uniform = { min = 2, max = 6 } }\nduration = 0.001\n[[policy]]\nname = \"none\"";
    let results = &run_on(&experiment(text), 2)[0];
    let jobs: u64 = results.iter().map(|run| run.finished).sum();
    let expected = 2.0 * 1000.0 * 40.0;
    assert!((jobs as f64 - expected).abs() < 4.0 * f64::sqrt(expected), "{jobs}");
    // Numbers of tasks are uniform from 2 to 6, both included, with mean 4 and variance 2.
    let tasks: u64 = results.iter().map(|run| run.tasks).sum();
    let n = jobs as f64;
    assert!((tasks as f64 / n - 4.0).abs() < 4.0 * (2.0 / n).sqrt(), "{tasks}");
    // Four jobs arrive every 1.5 s from 0 on; then 20 jobs arrive at 0.
    let every = "[cluster]\nmachines = 9\n[workload]\narrival = { every = { gap = 1.5, jobs = 4 } }\ntasks = 1\nduration = \
                 1\n[[policy]]\nname = \"none\"";
    let run = &run_on(&experiment(every), 1)[0][0];
    assert_eq!((run.finished, run.makespan), (4, 5.5));
    let at_once = every.replace("every = { gap = 1.5, jobs = 4 }", "at_once = { jobs = 20 }");
    let run = &run_on(&experiment(&at_once), 1)[0][0];
    assert_eq!((run.finished, run.makespan), (20, 3.0));
}

/// Draws a change of the scenario's text: where it begins, how many characters are removed, and the text inserted.
fn any_change() -> impl Strategy<Value = (prop::sample::Index, usize, String)> {
    let piece = prop_oneof![
        Just(String::new()),
        proptest::sample::select(vec![
            "nan",
            "inf",
            "-inf",
            "-1",
            "0",
            "1e308",
            "1e-308",
            "99999999999999999999",
            "18446744073709551615",
            "true",
            "\"\"",
            "[]",
            "{}",
            "[[",
            "]]",
            "{ uniform = {",
            "}",
            "=",
            "\n",
            "\"",
            "\\",
            "[cluster]",
            "\u{0}",
            "é",
            "policy",
            "name",
            "file = \"x\"",
            "{ pareto = { alpha = 1.5, minimum = 1, maximum = 2 } }",
            "{ empirical = { file = \"x\" } }",
            "{ log_normal = { mean = 1, cv = 1e9 } }",
        ])
        .prop_map(str::to_owned),
        ".{0,6}",
    ];
    (any::<prop::sample::Index>(), 0..12usize, piece)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(hindmost_testing::cases(800, 8000)))]

    #[test]
    fn randomly_changed_scenarios_never_cause_a_panic(changes in proptest::collection::vec(any_change(), 1..4)) {
        let mut text: Vec<char> = VALID.chars().collect();
        for (at, length, piece) in changes {
            let at = at.index(text.len());
            let end = (at + length).min(text.len());
            text.splice(at..end, piece.chars());
            if text.is_empty() {
                return Ok(());
            }
        }
        let text: String = text.into_iter().collect();
        match parse(&text, &[]) {
            Err(error) => prop_assert!(error.starts_with("s.toml: ") && error.len() > 12, "{error}"),
            // Creating an experiment may fail, but must not panic.
            Ok(scenario) => drop(Experiment::of(&scenario, 1)),
        }
    }

    /// A scenario with numbers of any size is refused, runs, or ends with an error that is not an internal one.
    #[test]
    fn numbers_of_any_size_never_cause_an_internal_error(
        changes in proptest::collection::vec(
            (
                proptest::sample::select(vec![
                    "slot", "noise", "gamma", "workload.duration.pareto.alpha", "workload.duration.pareto.mean", "workload.duration",
                    "workload.demand.cpus", "workload.correlation", "workload.slow_from", "cluster.nodes.0.speed", "cluster.nodes.0.cpus",
                    "policy.1.delta", "workload.arrival.poisson.rate", "horizon",
                ]),
                proptest::sample::select(vec![
                    "0", "1e-300", "1e-12", "1e-9", "0.001", "0.3", "0.999999", "1", "1.0000001", "3", "50", "1e6", "1e9", "1e10", "1e15", "1e300",
                ]),
            ),
            1..4,
        ),
    ) {
        let Ok(mut scenario) = parse(VALID, &changes) else { return Ok(()) };
        // Three jobs are enough, even if the horizon is long.
        scenario.workload.arrival = parse("[cluster]\nmachines = 1\n[workload]\narrival = { at_once = { jobs = 3 } }\ntasks = \
                                           1\nduration = 1", &[]).unwrap().workload.arrival;
        let experiment = Experiment::of(&scenario, 1).map_err(|error| TestCaseError::fail(error.to_string()));
        let stop = std::sync::atomic::AtomicBool::new(false);
        let control = hindmost_sim::driver::Control { stop: &stop, progress: &|_| {} };
        let experiment = experiment?;
        for policy in &experiment.policies {
            let result = experiment.run_one(policy, 1, &mut hindmost_sim::output::Silent, &control);
            if let Err(error) = result {
                prop_assert!(!error.to_string().contains("internal"), "{changes:?}: {error}");
            }
        }
    }
}
