//! Failures of nodes at random times.

use std::sync::atomic::AtomicBool;

use hindmost_core::record::{Change, Event};
use hindmost_sim::experiment::{Execution, run_all};
use hindmost_sim::parameter::{Family, Parameter};
use hindmost_sim::testing::{Run, World};

const SECONDS: fn(f64) -> Parameter = Parameter::Number;

fn exponential(mean: f64) -> Parameter {
    Parameter::Drawn(Box::new(Family::Exponential { mean: SECONDS(mean) }))
}

/// Returns when the node was lost and when it returned, in order.
fn losses(run: &Run) -> Vec<(f64, bool)> {
    let changes = run.records.iter().filter_map(|record| match &record.change {
        Change::Event(Event::NodeLost { .. }) => Some((record.at.seconds(), false)),
        Change::Event(Event::NodeReturned { .. }) => Some((record.at.seconds(), true)),
        _ => None,
    });
    changes.collect()
}

#[test]
fn a_task_longer_than_the_time_between_failures_is_an_error() {
    // Up for 4 s at a time: a task of 5 s never finishes, one of 3.5 s does before the first failure.
    let experiment = |duration: f64| {
        let mut experiment = crate::experiments::experiment(&format!(
            "name = \"failing\"\n[cluster]\nmachines = 1\n[cluster.failures]\nbetween = 4.0\nrepair = 0.001\n\
             [workload]\narrival = {{ at_once = {{ jobs = 1 }} }}\ntasks = 1\nduration = {duration}\n"
        ));
        experiment.policies = vec!["none".parse().unwrap()];
        let stop = AtomicBool::new(false);
        run_all(&[experiment], &Execution { threads: 1, stop: &stop, progress: &|_| {}, output: None })
    };
    let error = experiment(5.0).unwrap_err().to_string();
    assert!(error.contains("can never finish: task 0 of its phase"), "{error}");
    assert!(error.contains("`between` of cluster.failures"), "{error}");
    assert_eq!(experiment(3.5).unwrap()[0][0][0].makespan, 3.5);
}

#[test]
fn policies_meet_the_same_failures() {
    let world = World::machines(4)
        .failures_on(0, exponential(5.0), exponential(1.0))
        .failures_on(3, exponential(2.0), SECONDS(0.5))
        .job("a")
        .drawn(60, "exponential(mean=1)");
    let [none, late] = ["none", "late"].map(|policy| losses(&world.run(policy)));
    let shorter = none.len().min(late.len());
    assert!(shorter > 4 && none[..shorter] == late[..shorter], "{none:?} {late:?}");
    assert_ne!(losses(&world.seed(2).run("none")), none);
}

#[test]
fn a_node_is_up_for_the_share_of_time_that_the_means_say() {
    // Up for 2 s on average and down for 1 s: on a long run, up for two thirds of the time.
    let world = World::machines(2).failures_on(1, exponential(2.0), exponential(1.0)).job("a").same(1, 20_000.0);
    let run = world.run("none");
    let (mut up, mut since, mut is_up) = (0.0, 0.0, true);
    for (at, returned) in losses(&run) {
        up += if is_up { at - since } else { 0.0 };
        (since, is_up) = (at, returned);
    }
    // About 6700 cycles: the standard error of the share is about 2/3·1/3·√(2/6700) = 0.004.
    assert!((up / 20_000.0 - 2.0 / 3.0).abs() < 0.016, "{up}");
}
