//! Tests of arrivals that are given by a load.

use std::path::Path;

use hindmost_core::metrics::OfferedLoad;
use hindmost_sim::compare::offered_load;
use hindmost_sim::experiment::Experiment;
use hindmost_sim::scenario::Scenario;
use hindmost_sim::world_notes;

use crate::experiments::{experiment, mean_and_error, run_on};

/// Returns the load of a scenario on a hundred machines, or of one with a cluster of its own.
fn offered(workload: &str) -> OfferedLoad {
    let cluster = if workload.contains("[cluster]") || workload.contains("[[cluster") {
        ""
    } else {
        "[cluster]\nmachines = 100\n"
    };
    offered_load(&experiment(&format!("horizon = 50\n[workload]\n{workload}\n{cluster}")), &[]).unwrap()
}

fn is_near(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 1e-9 * expected
}

const POISSON: &str = "arrival = { poisson = { load = 0.6 } }\n";

#[test]
fn the_rate_follows_from_work_and_capacity() {
    // Infinite variance: 0.6 · 100 machines / (4 tasks · 3 s) = 5 jobs per second.
    let found = offered(&format!("{POISSON}tasks = 4\nduration = {{ pareto = {{ alpha = 1.5, mean = 3 }} }}"));
    assert!(is_near(found.rate, 5.0) && is_near(found.work, 12.0), "{found:?}");
    assert_eq!((found.resource.as_str(), found.capacity, found.estimated), ("slots", 100.0, false));
    // Stragglers take 1 + 0.25 · (3 − 1) = 1.5 times as long on average.
    let stragglers = "stragglers = { ratio = 0.25, slowdown = 3.0 }";
    let found = offered(&format!("{POISSON}tasks = 4\nduration = 3\n{stragglers}"));
    assert!(is_near(found.rate, 5.0 / 1.5), "{found:?}");
}

#[test]
fn the_scarcest_resource_counts() {
    let nodes = "[[cluster.nodes]]\ncount = 4\ncpus = 8\nmemory = \"16GB\"\nspeed = { uniform = { min = 0.5, max = 1.5 } }\n\
                 [[cluster.nodes]]\ncount = 2\ncpus = 4\nmemory = \"8GB\"\nspeed = 0.5\n";
    // 4·8·1 + 2·4·0.5 = 36 cpus and 4·16 + 2·8·0.5 = 72 GB; a job takes 30 s · 1 cpu and 30 s · 4 GB, so that the memory is
    // scarcest: 0.6 · 72 / 120 = 0.36 jobs per second.
    let found =
        offered(&format!("{POISSON}tasks = 10\nduration = 3\ndemand = {{ cpus = 1, memory = \"4GB\" }}\n{nodes}"));
    assert!(found.resource == "memory" && is_near(found.rate, 0.36), "{found:?}");
    // With 2 GB the cpus are: 0.6 · 36 / 30 = 0.72.
    let found =
        offered(&format!("{POISSON}tasks = 10\nduration = 3\ndemand = {{ cpus = 1, memory = \"1GB\" }}\n{nodes}"));
    assert!(found.resource == "cpus" && is_near(found.rate, 0.72), "{found:?}");
}

#[test]
fn kinds_and_repeated_phases_are_weighted() {
    // A third of the jobs has 2·5 s, the others 3 repetitions of 4·2 s + 6 s: 10/3 + 2·30/3 = 70/3 s.
    let found = offered(&format!(
        "{POISSON}[[workload.job]]\nname = \"a\"\n[[workload.job.phase]]\nname = \"p\"\ntasks = 2\nduration = 5\n\
         [[workload.job]]\nname = \"b\"\nshare = 2\n[[workload.job.phase]]\nname = \"p\"\nrepeat = 3\ntasks = 4\nduration = 2\n\
         [[workload.job.phase]]\nname = \"q\"\nafter = [\"p\"]\ntasks = 1\nduration = {{ exponential = {{ mean = 6 }} }}\n"
    ));
    assert!(is_near(found.work, 70.0 / 3.0) && is_near(found.rate, 60.0 * 3.0 / 70.0), "{found:?}");
}

#[test]
fn without_copies_the_cluster_is_as_busy_as_the_load() {
    let text = |distribution: &str| {
        format!(
            "horizon = 20000\nseeds = 12\n[cluster]\nmachines = 20\n[workload]\n{POISSON}tasks = {{ uniform = {{ min = 1, max = 5 }} }}\n\
             duration = {distribution}\n[[policy]]\nname = \"none\"\n"
        )
    };
    for distribution in
        ["{ exponential = { mean = { uniform = { min = 1, max = 3 } } } }", "{ log_normal = { mean = 2, cv = 2 } }"]
    {
        let experiment = experiment(&text(distribution));
        let results = run_on(&experiment, 2);
        let busy: Vec<f64> = results[0].iter().map(|seed| seed.utilization).collect();
        let (mean, error) = mean_and_error(&busy);
        // Work that is in the system at the end is less than 10⁻³ of all work.
        assert!((mean - 0.6).abs() < 4.0 * error + 6e-4, "{distribution}: {mean} ± {error}");
    }
}

#[test]
fn a_queue_with_one_server_has_its_known_flowtime() {
    // M/M/1 with load 0.5 and a mean service time of 1 s: the mean time in the system is 1/(1 − 0.5) = 2 s.
    let experiment = experiment(
        "horizon = 20000\nseeds = 20\norder = \"fifo\"\n[cluster]\nmachines = 1\n[workload]\narrival = { poisson = { load = 0.5 } }\n\
         tasks = 1\nduration = { exponential = { mean = 1 } }\n[[policy]]\nname = \"none\"\n",
    );
    let results = run_on(&experiment, 2);
    let means: Vec<f64> =
        results[0].iter().map(|seed| seed.flowtime.iter().sum::<f64>() / seed.flowtime.len() as f64).collect();
    let (mean, error) = mean_and_error(&means);
    assert!((mean - 2.0).abs() < 4.0 * error, "{mean} ± {error}");
}

#[test]
fn arrivals_at_intervals_take_a_load_too() {
    let found = offered("arrival = { every = { load = 0.5, jobs = 9 } }\ntasks = 5\nduration = 2");
    assert!(is_near(found.rate, 5.0), "{found:?}");
    let experiment = experiment(
        "[cluster]\nmachines = 100\n[workload]\narrival = { every = { load = 0.5, jobs = 9 } }\ntasks = 5\nduration = 2\n\
         [[policy]]\nname = \"none\"\n",
    );
    let results = run_on(&experiment, 1);
    // The last of 9 jobs arrives after 8 gaps of 0.2 s and takes 2 s.
    assert!((results[0][0].makespan - 3.6).abs() < 1e-6, "{}", results[0][0].makespan);
}

#[test]
fn the_note_states_the_rate() {
    let experiment = |workload: &str| -> Experiment {
        experiment(&format!("horizon = 9\n[cluster]\nmachines = 100\n[workload]\n{POISSON}{workload}"))
    };
    let exact = experiment("tasks = 4\nduration = 3");
    assert_eq!(
        world_notes::notes(&[&exact], &[]),
        [
            "load 0.6: 5 jobs arrive per second, because a job is 12 slot-seconds of work on average without copies, and the \
          cluster does 100 per second"
        ]
    );
    let sampled =
        experiment("tasks = 4\nduration = { pareto = { alpha = { uniform = { min = 2, max = 3 } }, minimum = 1 } }");
    assert!(world_notes::notes(&[&sampled], &[])[0].contains("by a sample of its parameters"));
    // At points of a sweep the note names the load.
    let notes = world_notes::notes(&[&exact, &sampled], &[]);
    assert!(notes.len() == 2 && notes.iter().all(|note| note.starts_with("load 0.6: ")), "{notes:?}");
}

#[test]
fn a_load_on_the_command_line_replaces_the_rate() {
    let set = |pairs: &[(&str, &str)]| {
        let pairs: Vec<(String, String)> = pairs.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
        Scenario::load("quickstart", &pairs).map_err(|error| error.to_string())
    };
    // A job has 25.5 tasks of 2.25 s on average: 0.3 · 400 / 57.375 jobs per second.
    let scenario = set(&[("load", "0.3")]).unwrap();
    let found = scenario.workload.offered.as_ref().unwrap();
    assert!(is_near(found.rate, 120.0 / 57.375), "{found:?}");
    // The printed scenario has the load, and can be read again.
    let printed = toml::to_string(&scenario).unwrap();
    assert!(printed.contains("load = 0.3") && !printed.contains("rate"), "{printed}");
    Scenario::parse(&printed, "printed", Path::new(""), &[]).unwrap();
    for (pairs, reason) in [
        (&[("workload.arrival.poisson.load", "0.3")][..], "has both rate and load; give only one of them"),
        (&[("load", "0")][..], "workload.arrival.poisson.load is 0, but must be above 0"),
        (&[("load", "high")][..], "expected a number"),
        (
            &[("workload.arrival", "{ at_once = { jobs = 3 } }"), ("load", "0.3")][..],
            "a load needs arrivals with a rate",
        ),
        (&[("workload.arrival", "{ poisson = {} }")][..], "workload.arrival.poisson needs rate or load"),
        (&[("workload.arrival", "{ every = { jobs = 2 } }")][..], "workload.arrival.every needs gap or load"),
        (
            &[
                ("load", "0.3"),
                ("workload.duration", "{ pareto = { alpha = { uniform = { min = 1, max = 2 } }, minimum = 1 } }"),
            ][..],
            "workload.arrival: the load: duration: its mean is infinite",
        ),
    ] {
        let error = set(pairs).unwrap_err();
        assert!(error.contains(reason), "{pairs:?}: {error}");
    }
}
