//! Scenario files: valid ones run, and errors of invalid ones say what is wrong, where, and what would be valid.

use std::path::Path;

use hindmost_sim::experiment::Experiment;
use hindmost_sim::scenario::{BUILT_IN, Scenario};
use proptest::prelude::*;

use crate::experiments::{experiment, run_on};

/// A valid scenario with most of the keys.
pub(crate) const VALID: &str = r#"name = "all"
order = "fair"
slot = 0.1
horizon = 20.0
drain = true
seeds = 2
knowledge = "progress(0.2)"
noise = 0.1
gamma = 0.01

[cluster]
[[cluster.nodes]]
count = 2
cpus = 4
memory = "8GB"
speed = { uniform = { min = 0.5, max = 1.5 } }

[workload]
arrival = { poisson = { rate = 0.5 } }
tasks = { uniform = { min = 1, max = 5 } }
duration = { pareto = { alpha = 2.0, mean = { uniform = { min = 1.0, max = 4.0 } } } }
demand = { cpus = 1, memory = "1GB" }
correlation = 0.2
slow_from = 0.1

[[policy]]
name = "sca"
max_copies = 4

[[policy]]
name = "fifo+mantri(delta=0.5)"
"#;

pub(crate) fn parse(text: &str, set: &[(&str, &str)]) -> Result<Scenario, String> {
    let set: Vec<(String, String)> = set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Scenario::parse(text, "s.toml", Path::new(""), &set).map_err(|error| error.to_string())
}

/// Returns the error of the valid scenario after `from` is replaced by `to`.
pub(crate) fn changed(from: &str, to: &str) -> String {
    assert!(VALID.contains(from), "{from:?} is not in the scenario");
    match parse(&VALID.replacen(from, to, 1), &[]) {
        Ok(_) => panic!("{to:?} is accepted"),
        Err(error) => error,
    }
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
fn errors_name_the_mistake_and_the_valid_values() {
    for (from, to, expected) in [
        // Unknown keys and names, with the nearest known one.
        (
            "horizon = 20.0",
            "horizont = 20.0",
            &["there is no key \"horizont\"", "did you mean \"horizon\"?", "line 4"][..],
        ),
        ("cpus = 4", "cpu = 4", &["there is no key \"cpu\"", "did you mean \"cpus\"?"]),
        ("correlation = 0.2", "corelation = 0.2", &["did you mean \"correlation\"?"]),
        ("{ pareto = { alpha", "{ paretto = { alpha", &["paretto", "did you mean \"pareto\"?"]),
        ("{ poisson = {", "{ poison = {", &["poison", "did you mean \"poisson\"?"]),
        ("slot = 0.1", "load = 0.6", &["there is no key \"load\"", "as in arrival = { poisson = { load = 0.6 } }"]),
        (
            "{ poisson = { rate = 0.5 } }",
            "{ load = 0.6 }",
            &["\"load\" is not valid", "arrival = { poisson = { load = 0.6 } }"],
        ),
        ("order = \"fair\"", "order = \"fare\"", &["no order is called \"fare\"", "did you mean \"fair\"?"]),
        ("name = \"sca\"", "name = \"sac\"", &["no policy is called \"sac\"", "did you mean"]),
        ("max_copies = 4", "max_copy = 4", &["sca has no parameter \"max_copy\"", "did you mean \"max_copies\"?"]),
        // Wrong types.
        ("slot = 0.1", "slot = \"fast\"", &["line 3", "invalid type", "fast"]),
        ("drain = true", "drain = 1", &["line 5", "invalid type"]),
        ("seeds = 2", "seeds = 2.5", &["line 6", "invalid type"]),
        ("seeds = 2", "seeds = -1", &["line 6", "-1"]),
        ("tasks = { uniform = { min = 1, max = 5 } }", "tasks = \"many\"", &["a number or a distribution"]),
        (
            "knowledge = \"progress(0.2)\"",
            "knowledge = \"prophet\"",
            &["\"prophet\" is not a kind of knowledge", "oracle"],
        ),
        ("knowledge = \"progress(0.2)\"", "knowledge = \"progress(1)\"", &["S in [0, 1)"]),
        ("order = \"fair\"", "placement = \"fastet\"", &["fastet", "did you mean \"fastest\"?"]),
        ("memory = \"8GB\"", "memory = \"8\"", &["\"8\" is not a size", "\"48GB\""]),
        ("memory = \"8GB\"", "resources = { cpus = 400 }", &["entry 1", "resources: cpus has a key of its own"]),
        ("memory = \"8GB\"", "resources = { memory = 8 }", &["resources: memory has a key of its own", "with a unit"]),
        ("memory = \"8GB\"", "gpus = 1\nresources = { gpus = 2 }", &["resources: gpus has a key of its own"]),
        ("memory = \"8GB\"", "resources = { \"\" = 8 }", &["entry 1", "a name is \"\""]),
        ("demand = { cpus = 1,", "demand = { resources = { cpus = 2 },", &["workload.demand", "cpus has a key"]),
        ("memory = \"8GB\"", "memory = \"8 cats\"", &["entry 1", "is not a size"]),
        // Numbers out of range.
        ("slot = 0.1", "slot = 0", &["slot is 0, but must be above 0"]),
        ("slot = 0.1", "slot = nan", &["slot is NaN"]),
        ("slot = 0.1", "slot = inf", &["slot is inf"]),
        ("slot = 0.1", "slot = 1e-12", &["slot must be", "1e-9"]),
        ("horizon = 20.0", "horizon = -5", &["horizon is -5, but must be above 0"]),
        ("horizon = 20.0", "horizon = nan", &["horizon is NaN"]),
        ("seeds = 2", "seeds = 0", &["seeds is 0"]),
        ("noise = 0.1", "noise = -0.1", &["noise is -0.1"]),
        ("noise = 0.1", "noise = nan", &["noise is NaN"]),
        ("gamma = 0.01", "gamma = -1", &["gamma is -1, but must be at least 0"]),
        ("gamma = 0.01", "gamma = inf", &["gamma is inf"]),
        ("count = 2", "count = 0", &["entry 1", "count is 0, but must be at least 1"]),
        ("cpus = 4", "cpus = 0", &["entry 1", "cpus is 0, but must be above 0"]),
        ("cpus = 4", "cpus = -4", &["cpus is -4"]),
        ("cpus = 4", "cpus = nan", &["cpus is NaN"]),
        ("cpus = 4", "cpus = 1e300", &["is not an amount"]),
        ("speed = { uniform = { min = 0.5, max = 1.5 } }", "speed = 0", &["entry 1", "speed is 0"]),
        ("rate = 0.5", "rate = -0.5", &["workload.arrival.poisson.rate is -0.5, but must be above 0"]),
        ("rate = 0.5", "rate = 0", &["rate is 0"]),
        ("rate = 0.5", "rate = inf", &["rate is inf"]),
        ("rate = 0.5", "rate = nan", &["rate is NaN"]),
        ("alpha = 2.0", "alpha = 1.0", &["workload.duration", "alpha", "1"]),
        ("alpha = 2.0", "alpha = 0.5", &["workload.duration", "alpha", "0.5"]),
        ("alpha = 2.0", "alpha = nan", &["workload.duration", "alpha", "NaN"]),
        ("min = 1.0, max = 4.0", "min = 0.0, max = 0.0", &["workload.duration", "mean"]),
        ("min = 1.0, max = 4.0", "min = 4.0, max = 1.0", &["workload.duration", "m"]),
        ("min = 1, max = 5", "min = 0, max = 5", &["workload.tasks"]),
        ("min = 1, max = 5", "min = 1.5, max = 5", &["workload.tasks", "whole"]),
        ("min = 1, max = 5", "min = 5, max = 1", &["workload.tasks"]),
        ("tasks = { uniform = { min = 1, max = 5 } }", "tasks = 0", &["workload.tasks", "0 is not a count"]),
        ("tasks = { uniform = { min = 1, max = 5 } }", "tasks = 2.5", &["workload.tasks", "2.5 is not a count"]),
        ("tasks = { uniform = { min = 1, max = 5 } }", "tasks = 1e12", &["workload.tasks", "is not a count"]),
        ("correlation = 0.2", "correlation = 1.1", &["workload.correlation is 1.1, but must be from 0 to 1"]),
        ("slow_from = 0.1", "slow_from = 1.0", &["workload.slow_from is 1"]),
        ("max_copies = 4", "max_copies = 0", &["sca: max_copies is 0, but must be a whole number from 1 to 64"]),
        ("max_copies = 4", "max_copies = 1.5", &["max_copies is 1.5"]),
        ("max_copies = 4", "max_copies = true", &["max_copies is true"]),
        ("(delta=0.5)", "(delta=1)", &["mantri: delta is 1, but must be a number from 0 to below 1"]),
        ("(delta=0.5)", "(delta=NaN)", &["delta is NaN"]),
        ("(delta=0.5)", "(delta=0.5", &["parenthesis is not closed"]),
        ("(delta=0.5)", "(delta)", &["a parameter has the form name=value"]),
        ("(delta=0.5)", "(delta=0.5,,)", &["a parameter is empty"]),
        // A parameter of the order that is given as a key, though the name has an order and a system.
        (
            "name = \"fifo+mantri(delta=0.5)\"",
            "name = \"tetris+dollymp\"\nepsilon = 0.1",
            &["dollymp has no parameter \"epsilon\"", "in the name: \"tetris(epsilon=0.1)+dollymp\""],
        ),
        (
            "name = \"fifo+mantri(delta=0.5)\"",
            "name = \"tetris(epsilon=0.1)+dollymp\"\nremaining = \"time\"\nclones = 1",
            &["in the name: \"tetris(epsilon=0.1,remaining=time)+dollymp\""],
        ),
        // Parts that are missing or contradict each other.
        ("horizon = 20.0\n", "", &["poisson arrivals never end: give a horizon"]),
        ("tasks = { uniform = { min = 1, max = 5 } }\n", "", &["workload needs tasks"]),
        ("arrival = { poisson = { rate = 0.5 } }\n", "", &["workload needs arrival"]),
        (
            "alpha = 2.0, mean = { uniform = { min = 1.0, max = 4.0 } }",
            "alpha = 2.0",
            &["either its mean or its minimum"],
        ),
        ("[cluster]\n", "[cluster]\nmachines = 3\n", &["both machines and nodes"]),
        (
            "demand = { cpus = 1,",
            "demand = { cpus = 1, gpus = 1,",
            &["workload.demand", "\"gpus\" is demanded", "cpus"],
        ),
        ("[workload]\n", "[workload]\nfile = \"w.jsonl\"\n", &["leave the other keys out"]),
        // Files that do not exist.
        (
            "tasks = { uniform = { min = 1, max = 5 } }",
            "tasks = { empirical = { file = \"no.txt\" } }",
            &["workload.tasks", "no.txt"],
        ),
        ("{ poisson = { rate = 0.5 } }", "{ file = \"no.txt\" }", &["workload.arrival", "no.txt"]),
        // Texts that are not TOML.
        ("[cluster]", "[cluster", &["line 11"]),
        ("order = \"fair\"", "order = fair", &["line 2"]),
    ] {
        let error = changed(from, to);
        assert!(error.starts_with("s.toml: "), "{error}");
        for part in expected {
            assert!(error.contains(part), "{to:?}: {error:?} does not say {part:?}");
        }
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
fn an_unknown_path_is_an_error() {
    for (key, value, expected) in [
        (
            "workload.arrival.poisson.rat",
            "4",
            &[
                "--set workload.arrival.poisson.rat=4: there is no key \"rat\" in workload.arrival",
                "did you mean \"rate\"?",
            ][..],
        ),
        ("policy.9.name", "sda", &["--set policy.9.name=sda", "\"9\" is not an index of a list of 2"]),
        ("policy.first.name", "sda", &["\"first\" is not an index of a list"]),
        ("slot.deep", "1", &["--set slot.deep=1", "not a table"]),
        ("", "1", &["empty"]),
        ("workload..tasks", "1", &["a part of the key is empty"]),
        ("slot", "soon", &["--set slot=soon: invalid type", "expected a number in `slot`"]),
        ("slot", "-1", &["slot is -1"]),
        ("cluster", "3", &["--set cluster=3: invalid type: integer `3`, expected a table in `cluster`"]),
    ] {
        let error = parse(VALID, &[(key, value)]).unwrap_err();
        for part in expected {
            assert!(error.contains(part), "{key}={value}: {error:?} does not say {part:?}");
        }
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
    let every = "[cluster]\nmachines = 9\n[workload]\narrival = { every = { gap = 1.5, jobs = 4 } }\ntasks = 1\nduration = 1\n[[policy]]\nname = \"none\"";
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
        scenario.workload.arrival = parse("[cluster]\nmachines = 1\n[workload]\narrival = { at_once = { jobs = 3 } }\ntasks = 1\nduration = 1", &[]).unwrap().workload.arrival;
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

#[test]
fn errors_of_durations_are_from_zero_to_three() {
    for wrong in ["-0.1", "3.1", "nan"] {
        let error = changed("slow_from = 0.1\n", &format!("duration_error = {wrong}\n"));
        assert!(error.contains("workload.duration_error is"), "{error}");
    }
}
