//! Errors of scenarios with invalid numbers, names, amounts of work and policy parameters.

use crate::scenarios::{VALID, changed, parse};

#[test]
fn errors_print_large_numbers_in_scientific_notation() {
    let error = changed("seeds = 2", "seeds = 1e300");
    assert!(error.contains("floating point `1e300`") && error.len() < 300, "{error}");
    for (path, value, expected) in [
        ("seeds", "1e300", "floating point `1e300`"),
        ("workload.tasks", "1e300", "tasks: 1e300 is not a count"),
        ("workload.tasks", "-1e300", "tasks: -1e300 is not a count"),
        ("workload.tasks", "1e-300", "tasks: 1e-300 is not a count"),
        ("workload.tasks", "{uniform={min=1e300,max=2e300}}", "e300 is not a count"),
        ("workload.tasks", "{uniform={min=1.5,max=1e300}}", "whole numbers with min ≤ max, not 1.5 and 1e300"),
        ("workload.duration", "1e300", "the mean of durations is 1e300"),
        ("workload.duration", "2e-20", "the mean of durations is 2e-20"),
        ("workload.duration.pareto.mean", "1e300", "the mean of durations is "),
        ("workload.duration", "{exponential={mean=1e300}}", "the mean of durations is 1e300"),
        ("workload.duration", "{constant={value=1e300}}", "the mean of durations is 1e300"),
        ("workload.duration", "{pareto={alpha=0.5,minimum=1,maximum=1e300}}", "the mean of durations is "),
        ("workload.slow_from", "1e300", "slow_from is 1e300, but must be from 0 to below 1"),
        ("workload.slow_from", "1.0", "slow_from is 1, but must be from 0 to below 1"),
        ("network", "{rack_bandwidth=1e300}", "rack_bandwidth is 1e300, but must be above 0 and below 10^15"),
    ] {
        let error = parse(VALID, &[(path, value)]).unwrap_err();
        assert!(error.contains(expected) && error.len() < 220, "{path}={value}: {error}");
    }
}

#[test]
fn blank_and_invisible_names_are_refused() {
    for (name, expected) in [
        ("", "must not be blank"),
        (" ", "must not be blank"),
        ("\\t", "must not be blank"),
        ("a\\nb", "must not contain control characters"),
        (" a", "must not begin or end with white space"),
        ("a\\u00a0", "must not begin or end with white space"),
    ] {
        let resources = format!("cpus = 4\nresources = {{ \"{name}\" = 1 }}");
        assert!(changed("cpus = 4", &resources).contains(expected), "{name:?}");
        let rack = format!("cpus = 4\nrack = \"{name}\"");
        assert!(changed("cpus = 4", &rack).contains(expected), "{name:?}");
        let demand = format!("cpus = 1, resources = {{ \"{name}\" = 1 }}");
        assert!(changed("cpus = 1", &demand).contains(expected), "{name:?}");
    }
    assert!(changed("cpus = 4", "cpus = 4\nname = \" \"").contains("name is \" \", but must not be blank"));
}

#[test]
fn more_tasks_than_can_be_simulated_are_refused() {
    for (arrival, tasks, expected) in [
        (
            "{ poisson = { rate = 1e300 } }",
            "3",
            "2e301 jobs of 3 tasks each would arrive on average, but at most 10000000",
        ),
        ("{ poisson = { rate = 1e12 } }", "3", "lower workload.arrival.poisson.rate or the horizon"),
        ("{ poisson = { rate = 5.1e5 } }", "1", "10200000 jobs"),
        ("{ poisson = { rate = 5e4 } }", "101", "or the number of tasks of a job"),
        ("{ at_once = { jobs = 4000000000 } }", "1", "4000000000 jobs of 1 tasks"),
        ("{ every = { gap = 0, jobs = 4000000000 } }", "1", "lower workload.arrival's jobs"),
        ("{ every = { gap = 1e-9, jobs = 4000000000 } }", "1", "4000000000 jobs"),
    ] {
        let error = parse(VALID, &[("workload.arrival", arrival), ("workload.tasks", tasks)]).unwrap_err();
        assert!(error.contains(expected), "{arrival}: {error}");
    }
    for (arrival, tasks) in [
        ("{ poisson = { rate = 4.9e5 } }", "10"),
        ("{ poisson = { rate = 4.9e4 } }", "{ uniform = { min = 1, max = 199 } }"),
        ("{ every = { gap = 1, jobs = 4000000000 } }", "3"),
    ] {
        parse(VALID, &[("workload.arrival", arrival), ("workload.tasks", tasks)]).unwrap();
    }
    parse(VALID, &[("workload.arrival", "{ poisson = { rate = 1e300 } }"), ("horizon", "1e-295")]).unwrap();
    let class = "count = 6000000\ncpus = 4\n[[cluster.nodes]]\ncount = 6000000\ncpus";
    assert!(changed("count = 2\ncpus", class).contains("has 12000000 nodes together, but must have at most 10000000"));
}

#[test]
fn invalid_parameters_name_their_policy() {
    for (value, expected) in [
        ("[4]", "policy \"sca\": \"max_copies\" is an array, but must be a number, true or false, or a word"),
        ("2026-01-01", "policy \"sca\": \"max_copies\" is a date or time"),
        ("{ a = 1 }", "policy \"sca\": \"max_copies\" is a table"),
        ("\"4\"", "sca: max_copies is \"4\", but must be a whole number from 1 to 64"),
        ("\"\"", "sca: max_copies is \"\", but"),
    ] {
        let error = changed("max_copies = 4", &format!("max_copies = {value}"));
        assert!(error.contains(expected), "{value}: {error}");
    }
    let twice = changed("name = \"sca\"", "name = \"sca(max_copies=8)\"");
    assert!(twice.contains("max_copies is given twice, 8 in the name and 4 as a key"), "{twice}");
    assert!(changed("name = \"sca\"", "name = 3").contains("a policy's name is a number, but must be a text"));
    assert!(changed("name = \"sca\"\n", "").contains("the key \"name\" is missing"));
}
