//! Wrong input: the message says what is wrong, where, and what to do. The exit code is 2 (input) or 1 (work).

use std::fs;

use crate::{run, run_in};

const SCENARIO: &str =
    "[cluster]\nmachines = 4\n\n[workload]\narrival = { at_once = { jobs = 3 } }\ntasks = 2\nduration = 1.5\n";

/// Runs a scenario file, which must be refused, and returns the message.
fn refused(text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("s.toml"), text).unwrap();
    let ran = run_in(folder.path(), &["simulate", "s.toml"]);
    assert_eq!(ran.code, Some(2), "{text}\n{}{}", ran.stdout, ran.stderr);
    assert_eq!(ran.stdout, "");
    ran.stderr
}

#[test]
fn scenario_errors_say_the_line_and_what_to_do() {
    for (from, to, expected) in [
        ("machines = 4", "machine = 4", "did you mean \"machines\"?"),
        ("machines = 4", "machine = 4", "line 2"),
        ("machines = 4", "machines = \"four\"", "invalid type"),
        ("machines = 4", "machines = 0", "machines is 0"),
        ("machines = 4", "machines = -4", "invalid value"),
        ("at_once", "at_onc", "did you mean \"at_once\"?"),
        ("duration = 1.5", "duration = -1.5", "duration"),
        ("duration = 1.5", "duration = nan", "duration"),
        ("duration = 1.5", "duration = inf", "duration"),
        ("duration = 1.5", "duration = { pareto = { alpha = 1, mean = 2 } }", "alpha must be greater than 1"),
        ("tasks = 2", "tasks = 0", "0 is not a count"),
        ("tasks = 2", "tasks = 1.5", "1.5 is not a count"),
        ("at_once = { jobs = 3 }", "poisson = { rate = 2 }", "give a horizon"),
        ("at_once = { jobs = 3 }", "poisson = { rate = -2 }", "rate is -2"),
        ("[cluster]", "knowledge = \"all\"\n[cluster]", "is not a kind of knowledge"),
        ("[cluster]", "order = \"fairest\"\n[cluster]", "did you mean \"fair\"?"),
        ("[cluster]", "policy = [{ name = \"sca\", max_copy = 3 }]\n[cluster]", "did you mean \"max_copies\"?"),
        ("[cluster]", "gamma = -1\n[cluster]", "gamma is -1"),
        ("[cluster]", "gamma = -1e300\n[cluster]", "gamma is -1e300, but"),
        ("duration = 1.5", "duration = 1.5\ndemand = { cpus = -1 }", "workload.demand.cpus is -1, but"),
        (
            "duration = 1.5",
            "duration = 1.5\ndemand = { memory = \"8\" }",
            "workload.demand.memory: \"8\" is not a size",
        ),
        ("[cluster]", "policy = [{ name = \"mantri+tetris\" }]\n[cluster]", "did you mean \"tetris+mantri\"?"),
        (
            "machines = 4\n",
            "nodes = [{ count = 1, cpus = 4 }]\n",
            "a copy needs 5 cpus, and the node that comes closest has 4 cpus",
        ),
        ("[cluster]\n", "[cluster\n", "line 1"),
    ] {
        let demanding = expected.starts_with("a copy needs");
        let demand = if demanding { "demand = { cpus = 5 }\n" } else { "" };
        let message = refused(&(SCENARIO.replace(from, to) + demand));
        assert!(message.contains(expected), "{to}: {message}");
        assert!(message.starts_with("error: "), "{message}");
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("s.toml"), SCENARIO).unwrap();
    assert_eq!(run_in(folder.path(), &["simulate", "s.toml"]).code, Some(0));
}

#[test]
fn the_output_names_the_order_if_a_policy_uses_it() {
    let printed = |policies: &str| {
        let ran = run(&["simulate", "quickstart", "--seeds", "1", "--policy", policies]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        ran.stdout
    };
    assert!(printed("none,mantri").contains("Order fair, decisions"));
    assert!(printed("svf+none,mantri").contains("Order fair for policies without an order of their own, decisions"));
    let none = printed("svf+none,fair+mantri");
    assert!(none.contains("Decisions after every event") && !none.contains("rder fair"), "{none}");
}

#[test]
fn a_missing_duration_is_reported_with_task_and_policy() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = "[cluster]\nmachines = 9\n[workload]\nfile = \"w.jsonl\"\n";
    fs::write(folder.path().join("s.toml"), scenario).unwrap();
    let job = r#"{"job":"j7","arrival":0,"phases":[{"name":"map","mean":5,"tasks":[[5,5]]}]}"#;
    fs::write(folder.path().join("w.jsonl"), job).unwrap();
    let ran =
        run_in(folder.path(), &["simulate", "s.toml", "--seeds", "1", "--policy", "dollymp(clones=3,per_node=2)"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stdout);
    let expected = "job \"j7\", phase \"map\", task 0: the workload lists the durations of 2 copies of it, but \
                    dollymp(clones=3,per_node=2) starts one more: list more durations, or choose";
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
}

#[test]
fn files_that_are_no_scenarios_or_logs_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("binary.toml"), [0u8, 159, 146, 150]).unwrap();
    fs::write(folder.path().join("empty.log"), "").unwrap();
    fs::write(folder.path().join("scenario.toml"), SCENARIO).unwrap();
    let job = "environment = { A = \"1\" }\n[[phase]]\nname = \"a\"\ntasks = 1\ncommand = \"true\"\n";
    fs::write(folder.path().join("job.toml"), job).unwrap();
    fs::write(folder.path().join("binary.log"), [0u8, 1, 2, 255, 0]).unwrap();
    for (args, expected) in [
        (&["simulate", "nowhere.toml"][..], "nowhere.toml"),
        (&["simulate", "quickstrat"], "did you mean \"quickstart\"?"),
        (&["simulate", "binary.toml"], "not a text file"),
        (&["simulate", "."], "this is a folder; name the scenario file in it"),
        (&["simulate", "job.toml"], "this is a job file, not a scenario: `hindmost run job.toml` runs it"),
        (
            &["run", "scenario.toml"],
            "this is a scenario, not a job file: `hindmost simulate scenario.toml` simulates it",
        ),
        (&["trace", "info", "nowhere"], "no such file"),
        (&["trace", "info", "empty.log"], "is empty"),
        (&["trace", "info", "binary.log"], "not a text file"),
        (&["replay", "empty.log"], "is empty"),
        (&["replay", "."], "directory"),
    ] {
        let ran = run_in(folder.path(), args);
        assert_eq!(ran.code, Some(2), "{args:?}");
        assert!(ran.stderr.contains(expected), "{args:?}: {}", ran.stderr);
        assert_eq!(ran.stdout, "");
    }
}

#[test]
fn options_out_of_range_are_refused() {
    for (args, expected) in [
        (&["simulate", "--policy", "mantry"][..], "did you mean \"mantri\"?"),
        (&["simulate", "--policy", "sca,sca"], "named twice"),
        (&["simulate", "--policy", "sca(max_copies=many)"], "must be a whole number from 1 to 64"),
        (&["simulate", "--knowledge", "progress(2)"], "is not a progress model"),
        (&["simulate", "--set", "slot"], "write KEY=VALUE"),
        (&["simulate", "--set", "slot.x.y=1"], "invalid type: map, expected a number in `slot`"),
        (&["simulate", "--sweep", "slot=0.1,,0.2"], "a value is empty"),
        (&["simulate", "--sweep", "gamma=1,1"], "a value is given twice"),
        (&["simulate", "--sweep", "gamma=1,2", "--sweep", "gamma=3"], "gamma is swept twice"),
        (
            &["simulate", "--sweep", "correlation=0,0.5", "--sweep", "workload.correlation=0.9"],
            "workload.correlation is swept twice",
        ),
        (&["simulate", "--policy", "fair+fifo"], "write fifo+SYSTEM"),
        (&["simulate", "--set", "workload.duration.pareto.alpha.uniform={min=0.9,max=3}"], "alpha"),
        (&["simulate", "--set", "cluster.machines=4000000000"], "must be from 1 to 10000000"),
        (
            &["simulate", "--policy", "sca,sca(max_copies=8)"],
            "sca(max_copies=8) is named twice: sca is the same policy",
        ),
        (
            &["simulate", "--policy", "sca(max_copies=8),sca"],
            "sca is named twice: sca(max_copies=8) is the same policy",
        ),
        (&["simulate", "--set", "workload.duration={exponential={mean=1e300}}"], "from 1e-6 to 1e10 seconds"),
        (&["simulate", "--set", "slot=1e10", "--policy", "none,sda"], "more than 500 years"),
        (&["simulate", "--seeds", "0"], "give a whole number from 1 to 100000"),
        (&["simulate", "--seeds", "-1"], "give a whole number from 1 to 100000"),
        (&["simulate", "--seed", "-1"], "give a whole number from 0\n"),
        (&["demo", "--slow", "x"], "give a number\n"),
        (&["theory", "cutoff", "--alpha", "x"], "give a number\n"),
        (&["simulate", "--records", "parquet"], "--out <DIR>"),
        (&["replay", "log", "--records", "parquet"], "--out <DIR>"),
        (&["simulate", "--sweep", "gamma"], "--sweep gamma: write KEY=A,B,C"),
        (&["simulate", "--sweep", "foo=1,2"], "quickstart: --sweep foo=1: there is no key \"foo\""),
        (&["simulate", "--set", "gamma=1", "--set", "foo=1"], "quickstart: --set foo=1: there is no key \"foo\""),
        (
            &["simulate", "--set", "cluster.machines=-1"],
            "--set cluster.machines=-1: invalid value: integer `-1`, expected a whole number from 0",
        ),
        (
            &["simulate", "--set", "cluster.outage={}"],
            "expected a list: write the name of such a table in two brackets",
        ),
        (&["simulate", "--set", "cluster.outage=[{at=1}]"], "the key \"node\" is missing"),
        (&["simulate", "--set", "cluster.failures.repair=1"], "the key \"between\" is missing"),
        (
            &["simulate", "--set", "cluster.failures.repair=1", "--sweep", "cluster.failures.betwen=9"],
            "--sweep cluster.failures.betwen=9: there is no key \"betwen\"",
        ),
        (
            &["simulate", "--set", "cluster.outage=[{node=\"0\"}]", "--set", "cluster.outage.0.at=true"],
            "--set cluster.outage.0.at=true: invalid type: boolean `true`, expected a number",
        ),
        (&["simulate", "--records", "xml"], "possible values: csv, parquet"),
        (&["reproduce", "xu2016"], "did you mean \"xu2015\"?"),
        (&["reproduce", "rankings"], "did you mean \"ranking\"?"),
        (&["reproduce", "ranking", "--figure", "2"], "\"ranking\" has no figures, claims or readings"),
        (&["simulat"], "similar subcommand exists"),
    ] {
        let ran = run(args);
        assert_eq!(ran.code, Some(2), "{args:?}");
        assert!(ran.stderr.contains(expected), "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn messages_quote_only_a_part_of_long_inputs() {
    let long = "x".repeat(80_000);
    let parameter = format!("sca(max_copies={long})");
    let set = format!("order={long}");
    for args in [
        &["simulate", &long][..],
        &["simulate", "--policy", &long],
        &["simulate", "--policy", &parameter],
        &["simulate", "--knowledge", &long],
        &["simulate", "--set", &set],
        &["theory", "sigma", "--rule", "sda", "--duration", &long],
    ] {
        let ran = run(args);
        assert_eq!(ran.code, Some(2), "{}", &ran.stderr[..200]);
        assert!(ran.stderr.len() < 1000, "{}", ran.stderr);
    }
}

#[test]
fn a_copy_beyond_the_listed_durations_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let job = "{\"job\":\"a\",\"arrival\":0,\"phases\":[{\"name\":\"p\",\"mean\":1,\"tasks\":[[9]]}]}\n";
    fs::write(folder.path().join("w.jsonl"), job).unwrap();
    fs::write(folder.path().join("s.toml"), "[cluster]\nmachines = 2\n[workload]\nfile = \"w.jsonl\"\n").unwrap();
    let ran = run_in(folder.path(), &["simulate", "s.toml", "--policy", "sda"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("lists the duration of one copy of it, but sda starts one more"), "{}", ran.stderr);
    assert_eq!(run_in(folder.path(), &["simulate", "s.toml", "--policy", "none"]).code, Some(0));
}
