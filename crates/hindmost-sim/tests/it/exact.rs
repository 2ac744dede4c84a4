//! Exact workloads: the duration of every copy is given in the workload.

use hindmost_sim::compare::policy_results;
use hindmost_sim::exact::read_exact_from;
use hindmost_sim::experiment::Experiment;
use hindmost_sim::scenario::Scenario;
use hindmost_sim::testing::World;
use proptest::prelude::*;

use crate::experiments::{experiment, run_on};

/// Creates the experiment of a scenario with an exact workload, whose file is written into a new folder.
fn with_workload(workload: &str, scenario: &str) -> Result<Experiment, String> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("w.jsonl"), workload).unwrap();
    let text = format!("{scenario}\n[workload]\nfile = \"w.jsonl\"\n");
    let scenario = Scenario::parse(&text, "test", folder.path(), &[]).map_err(|error| error.to_string())?;
    Experiment::of(&scenario, 1).map_err(|error| error.to_string().replace(&folder.path().display().to_string(), "."))
}

#[test]
fn a_workload_file_is_run_as_it_is_written() {
    let workload = r#"{"job":"j1","arrival":0.0,"deadline":14.0,"phases":[{"name":"map","after":[],"demand":{"cpus":1,"memory":"2GB"},"mean":10.0,"sd":8.1,"tasks":[[12.0,4.5],[9.0,30.0]]},{"name":"reduce","after":["map"],"demand":{"cpus":2,"memory":"4GB"},"mean":13.0,"tasks":[[11.0]]}]}
{"job":"j2","arrival":1.5,"deadline":30.0,"phases":[{"name":"only","demand":{"cpus":2},"tasks":[[4.0]]}]}
{"job":"j3","arrival":100.0,"deadline":5.0,"phases":[{"name":"only","tasks":[[5.0]]}]}
"#;
    let scenario = "seeds = 2\norder = \"fifo\"\n[[cluster.nodes]]\ncount = 1\ncpus = 3\nmemory = \"4GB\"\n[[policy]]\nname = \"none\"";
    let experiment = with_workload(workload, scenario).unwrap();
    let results = run_on(&experiment, 1);
    // The maps run from 0 to 12 and from 0 to 9. j2 needs two cpus and runs from 9 to 13; the reduce needs two as well
    // and runs from 13 to 24.
    assert_eq!(results[0][0].flowtime, [24.0, 11.5, 5.0]);
    assert_eq!(results[0][1].flowtime, results[0][0].flowtime, "listed durations do not depend on the seed");
    assert!(experiment.is_the_same_for_every_seed());
    // With both seeds, j1 misses its deadline, j2 meets its deadline, and j3 meets its deadline exactly.
    let compared = policy_results(&experiment, &results, &[]);
    assert_eq!(compared[0].pocd, Some(2.0 / 3.0));
    assert_eq!(results[0][0].deadlines, 3);
}

#[test]
fn seeds_differ_only_if_something_is_drawn() {
    let workload = r#"{"job":"a","arrival":0.0,"phases":[{"name":"p","tasks":[[5.0]]}]}"#;
    for (added, same) in [
        ("", true),
        ("knowledge = \"progress(0.2)\"\n", true),
        ("knowledge = \"progress(uniform)\"\n", false),
        ("noise = 0.1\n", false),
    ] {
        let experiment = with_workload(workload, &format!("{added}[cluster]\nmachines = 2")).unwrap();
        assert_eq!(experiment.is_the_same_for_every_seed(), same, "{added}");
    }
    let speed = "speed = { uniform = { min = 1, max = 2 } }";
    let experiment = with_workload(workload, &format!("[[cluster.nodes]]\ncount = 2\ncpus = 1\n{speed}")).unwrap();
    assert!(!experiment.is_the_same_for_every_seed());
}

#[test]
fn without_deadlines_there_is_no_pocd() {
    let experiment =
        with_workload(r#"{"job":1,"arrival":0,"phases":[{"name":"a","tasks":[[1]]}]}"#, "[cluster]\nmachines = 1")
            .unwrap();
    assert!(policy_results(&experiment, &run_on(&experiment, 1), &[]).iter().all(|policy| policy.pocd.is_none()));
}

#[test]
fn jobs_after_the_horizon_do_not_arrive() {
    let workload = "{\"job\":1,\"arrival\":0,\"phases\":[{\"name\":\"a\",\"tasks\":[[1]]}]}\n{\"job\":2,\"arrival\":5,\"phases\":[{\"name\":\"a\",\"tasks\":[[1]]}]}";
    let experiment =
        with_workload(workload, "horizon = 5\n[cluster]\nmachines = 1\n[[policy]]\nname = \"none\"").unwrap();
    assert_eq!(run_on(&experiment, 1)[0][0].finished, 1);
}

#[test]
fn generated_jobs_arrive_before_the_horizon_as_listed_ones_do() {
    // One job every 2.5 s, as written in a file and as generated. The one at 5 does not arrive if that is the horizon.
    let listed: String = (0..4)
        .map(|job| f64::from(job) * 2.5)
        .map(|at| format!(r#"{{"job":"at {at}","arrival":{at},"phases":[{{"name":"a","tasks":[[1]]}}]}}"#) + "\n")
        .collect();
    let generated = "[workload]\narrival = { every = { gap = 2.5, jobs = 4 } }\ntasks = 1\nduration = 1";
    for (horizon, jobs) in [(4.9, 2), (5.0, 2), (5.1, 3), (7.5, 3), (20.0, 4)] {
        let head = format!("horizon = {horizon:?}\n[cluster]\nmachines = 1\n[[policy]]\nname = \"none\"");
        let finished = |experiment: &Experiment| run_on(experiment, 1)[0][0].finished;
        assert_eq!(finished(&with_workload(&listed, &head).unwrap()), jobs, "{horizon}");
        assert_eq!(finished(&experiment(&format!("{head}\n{generated}"))), jobs, "{horizon}");
    }
}

#[test]
fn a_duration_of_zero_is_valid() {
    let workload = r#"{"job":1,"arrival":1,"phases":[{"name":"a","tasks":[[0,0],[0,0]]},{"name":"b","after":["a"],"mean":0,"tasks":[[3,1]]}]}"#;
    let experiment = with_workload(workload, "[cluster]\nmachines = 1\n[[policy]]\nname = \"none\"").unwrap();
    assert_eq!(run_on(&experiment, 1)[0][0].flowtime, [3.0]);
}

#[test]
fn a_demand_that_no_node_has_is_named_in_the_error() {
    let scenario = "[[cluster.nodes]]\ncount = 2\ncpus = 4\n[[policy]]\nname = \"none\"";
    let message = |demand: &str| {
        let workload = format!(
            "{{\"job\":\"wide\",\"arrival\":0,\"phases\":[{{\"name\":\"map\",\"demand\":{demand},\"tasks\":[[1]]}}]}}"
        );
        let experiment = with_workload(&workload, scenario).unwrap();
        let stop = std::sync::atomic::AtomicBool::new(false);
        let control = hindmost_sim::driver::Control { stop: &stop, progress: &|_| {} };
        let result = experiment.run_one(&experiment.policies[0], 1, &mut hindmost_sim::output::Silent, &control);
        result.unwrap_err().to_string()
    };
    assert_eq!(
        message("{\"cpus\":5}"),
        "phase \"map\" of job \"wide\" fits on no node, not even an empty one: a copy needs 5 cpus, and the node that \
         comes closest has 4 cpus"
    );
    let error = message("{\"gpus\":1}");
    assert!(error.contains("\"wide\"") && error.contains("\"gpus\" is demanded") && error.contains("cpus"), "{error}");
    let error = message("{\"cpus\":-1}");
    assert!(error.contains("-1 cpus is not an amount"), "{error}");
}

#[test]
fn a_missing_workload_file_is_named() {
    let text = "[cluster]\nmachines = 1\n[workload]\nfile = \"nowhere.jsonl\"";
    let scenario = Scenario::parse(text, "test", std::path::Path::new("somewhere"), &[]).unwrap();
    let error = Experiment::of(&scenario, 1).err().unwrap().to_string();
    assert!(error.contains("nowhere.jsonl") && error.contains("somewhere"), "{error}");
}

/// Draws a valid line or a valid or invalid piece of a line.
fn fragment() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("{\"job\":\"a\",\"arrival\":0,\"phases\":[{\"name\":\"m\",\"tasks\":[[1,2]]}]}\n".to_owned()),
        proptest::sample::select(vec![
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            "\"",
            "\n",
            "null",
            "1e999",
            "-1",
            "0",
            "NaN",
            "\"job\":",
            "\"tasks\":[[",
            "1e308",
            "\"tail\":{\"pareto\":{\"alpha\":1}}",
            "\"after\":[\"m\"]",
            "\u{0}",
            "é",
            "[[[[[[[[",
        ])
        .prop_map(str::to_owned),
        ".{0,8}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(hindmost_testing::cases(300, 3000)))]

    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = read_exact_from(&bytes[..], "w");
    }

    #[test]
    fn random_pieces_never_panic(pieces in proptest::collection::vec(fragment(), 0..12)) {
        if let Err(error) = read_exact_from(pieces.concat().as_bytes(), "w") {
            prop_assert!(error.to_string().starts_with('w'));
        }
    }

    /// A workload that is read without an error runs, or ends with an error that is not an internal one.
    #[test]
    fn a_workload_that_parses_never_causes_an_internal_error(
        arrival in 0.0..9.0f64,
        mean in proptest::option::of(proptest::sample::select(vec![0.0, 1e-300, 1e-9, 1.0, 1e9, 1e300])),
        sd in proptest::option::of(proptest::sample::select(vec![0.0, 1e-300, 1e-9, 1.0, 1e9, 1e300])),
        cpus in proptest::sample::select(vec![0.0, 1e-9, 0.5, 1.0, 2.0, 3.0, 1e14, 1e300]),
        tasks in proptest::collection::vec(proptest::sample::select(vec![0.0, 1e-12, 0.5, 1.0, 7.0, 1e6, 1e18]), 1..4),
        policy in crate::every_policy::any_policy(),
        knowledge in crate::every_policy::any_knowledge(),
    ) {
        let number = |number: Option<f64>| number.map_or("null".to_owned(), |number| format!("{number:e}"));
        let tasks: Vec<String> = tasks.iter().map(|one| format!("{:?}", vec![*one; 64])).collect();
        let line = format!(
            "{{\"job\":\"a\",\"arrival\":{arrival},\"phases\":[{{\"name\":\"m\",\"mean\":{},\"sd\":{},\"demand\":{{\"cpus\":{cpus:e}}},\"tasks\":[{}]}}]}}",
            number(mean), number(sd), tasks.join(",")
        );
        let Ok(jobs) = read_exact_from(line.as_bytes(), "w") else { return Ok(()) };
        let mut world = World::nodes([[("cpus", 2.0)], [("cpus", 2.0)], [("cpus", 1.0)]]).knowledge(&knowledge);
        world.jobs = jobs;
        if let Err(error) = world.try_run(&policy.name) {
            prop_assert!(!error.to_string().contains("internal"), "{}, {knowledge}: {error}\n{line}", policy.name);
        }
    }
}
