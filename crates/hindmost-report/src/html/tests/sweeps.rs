//! Tests of pages of sweeps: the curves, and the texts about each point.

use hindmost_core::metrics::PolicyResult;

use super::{compared, comparison, result, sound};

#[test]
fn sweeps_are_drawn_for_numbers_and_for_names() {
    let mut results = Vec::new();
    for value in ["1", "2", "5"] {
        results.extend([result("none", &[("rate", value)], 1.0), result("pace", &[("rate", value)], 0.5)]);
    }
    let page = comparison(&compared(results), &[]);
    for part in ["Results by rate", "Mean flowtime by rate", "Results at rate = 5", "95th percentile of flowtimes"] {
        assert!(page.contains(part), "{part}");
    }
    let mut results = Vec::new();
    for value in ["oracle", "progress(0.2)"] {
        results.extend([result("none", &[("knowledge", value)], 1.0), result("pace", &[("knowledge", value)], 0.5)]);
    }
    let page = comparison(&compared(results), &[]);
    sound(&page);
    for part in ["Results by knowledge", "knowledge = progress(0.2)", "Mean flowtime for each knowledge"] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn sweeps_show_the_number_of_jobs_of_every_point() {
    let mut results = Vec::new();
    for (value, jobs) in [("0.5", 104), ("1", 211), ("2", 415)] {
        for policy in ["none", "pace"] {
            let set = [("workload.arrival.poisson.rate", value)];
            results.push(PolicyResult { jobs, tasks: jobs * 25, ..result(policy, &set, 1.0) });
        }
    }
    let page = comparison(&compared(results), &[]);
    sound(&page);
    for part in [
        "A comparison of 2 policies at 3 points of a sweep, each point on the same jobs for all policies.",
        "104 to 415 jobs of 2 600 to 10 375 tasks at each point of the sweep, over 2 seeds together",
        "211 jobs of 5 275 tasks. Flowtime (job completion time)",
        // The axis has the key's label, and the heading has the key.
        ">arrival rate (jobs a second)<",
        "Results by workload.arrival.poisson.rate",
        "How each metric changes with workload.arrival.poisson.rate (arrival rate, jobs a second) under",
        "Mean flowtime by arrival rate. Lower is better.",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
    let whole = comparison(&compared(vec![result("none", &[], 1.0), result("pace", &[], 1.0)]), &[]);
    assert!(
        whole.contains("A comparison of 2 policies, on the same jobs.") && !whole.contains(" at each point"),
        "{whole}"
    );
}

#[test]
fn a_policy_whose_parameter_is_swept_is_one_curve() {
    let mut results = Vec::new();
    for value in ["1", "2", "8"] {
        let set = [("policy.1.max_copies", value), ("seeds", "3")];
        // The catalogue writes names without parameters that have their default.
        let policy = if value == "8" { "sca".to_owned() } else { format!("sca(max_copies={value})") };
        results.extend([result("none", &set, 1.0), result(&policy, &set, 0.5)]);
    }
    let page = comparison(&compared(results), &[]);
    let found = sound(&page);
    let curves = found.iter().filter(|element| element.name == "title" && element.text == "sca (max_copies swept)");
    assert_eq!(curves.count(), 5, "each of the 5 pictures has one curve: {page}");
    for part in [
        ">sca: maximum number of copies of a task",
        "none and sca (max_copies swept)",
        "one of the swept keys",
        "over 3 seeds;",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
}
