//! Tests with nodes that have features and given speeds.

use std::fs;

use hindmost_core::record::{Change, Event};
use hindmost_core::timeline::AttemptEnd;
use hindmost_run::driver;
use hindmost_run::engine::Launch;
use hindmost_run::store::{Opening, Store};

use crate::place::Place;
use crate::policies::systems_and_orders;
use crate::test_run::{FinishedRun, TestRun, fails, is_sound, records, scratch, takes};

/// The nodes on which each phase of the job may run.
const ALLOWED: [&[&str]; 4] = [&["n1", "n2", "n3", "n4"], &["n1", "n3"], &["n3"], &["n2", "n3", "n4"]];

/// A job of four phases, three of which require features. In each some attempts take long, and some fail.
fn classes(policy: &str) -> TestRun {
    let nodes = TestRun::on("n1:2,n2:2,n3:2,n4:2").features("n1", "ssd").features("n2", "big");
    let nodes = nodes.features("n3", "big,ssd").features("n4", "big");
    let phases = nodes.phase("any", 12).phase_with("ssd", 9, "features = 'ssd'");
    let phases = phases.phase_with("both", 3, "features = ['ssd', 'big']").phase_with("big", 9, "features = ['big']");
    phases.policy(policy).behaviour(|launch: &Launch<'_>| {
        let (task, copy) = (launch.attempt.task, launch.attempt.copy);
        match (task.index % 4, copy) {
            (1, 0) => takes(90.0),
            (2, 0) => fails(3.0),
            _ => takes(8.0 + f64::from(task.index % 3)),
        }
    })
}

/// Checks that all attempts ran on nodes that have the features of their phases. Returns the number of copies in the phases that
/// require features.
fn check_nodes(finished: &FinishedRun, policy: &str) -> usize {
    let timeline = &finished.outcome.timeline;
    for row in &timeline.rows {
        let (phase, node) = (row.attempt.task.phase, timeline.node_name(row.node));
        assert!(
            ALLOWED[phase as usize].contains(&node),
            "{policy}: attempt {} of phase {phase} on {node}",
            row.attempt
        );
    }
    timeline.rows.iter().filter(|row| row.attempt.task.phase > 0 && row.redundant).count()
}

#[test]
fn attempts_run_only_on_nodes_with_the_features() {
    let mut copies = 0;
    for policy in systems_and_orders() {
        // Replaying the journal of each run makes the same decisions.
        copies += check_nodes(&classes(&policy).run().done(), &policy);
    }
    assert!(copies >= 30, "only {copies} copies");
}

#[test]
fn a_phase_waits_for_the_only_node_with_its_features() {
    for policy in ["pace", "mantri(kill_restart=true)", "late", "sca", "window"] {
        let finished = classes(policy).chaos("lose=n3:60s@20s").run().done();
        check_nodes(&finished, policy);
        let of_both = finished.outcome.timeline.rows.iter().filter(|row| row.attempt.task.phase == 2);
        assert!(of_both.clone().count() >= 3, "{policy}");
        for row in of_both {
            let start = row.start.seconds();
            assert!(!(20.0..80.0).contains(&start), "{policy}: an attempt starts at {start} on the lost node");
        }
    }
}

#[test]
fn features_hardly_count_as_resources() {
    let finished = TestRun::on("n1:2,n2:2").features("n1", "ssd").phase_with("a", 4, "features = 'ssd'").policy("drf");
    let finished = finished.behaviour(|_| takes(10.0)).run().done();
    // Four attempts of 10 s run two at a time on one of two nodes.
    assert_eq!(finished.flowtime().round(), 20.0);
    assert!((finished.outcome.summary.utilization.unwrap() - 0.5).abs() < 0.01, "{:?}", finished.outcome.summary);
}

#[test]
fn features_that_no_node_has_are_an_error() {
    let error = |nodes: TestRun, features: &str| {
        let test_run = nodes.phase_with("a", 1, features);
        let folder = scratch();
        let plan = test_run.plan(folder.path());
        driver::check(&plan, &driver::RunOptions::default(), &test_run.offers()).unwrap_err().to_string()
    };
    let nodes = || TestRun::on("n1:2,n2:4").features("n1", "ssd");
    let unknown = error(nodes(), "features = 'gpu'");
    assert!(
        unknown.contains("phase \"a\" requires nodes with gpu") && unknown.contains("n1 ssd; n2 none"),
        "{unknown}"
    );
    let none = error(TestRun::on("n1:2"), "features = ['ssd', 'big']");
    assert!(none.contains("requires nodes with ssd and big, but no node of the run has any feature"), "{none}");
    let small = error(nodes(), "features = 'ssd'\ncpus = 3");
    assert!(small.contains("demands 3 cpus, which is more than any node with ssd has (n1 2 cpus"), "{small}");
    let many = error(nodes(), "features = ['a', 'b', 'c', 'd', 'e', 'f', 'g']");
    assert!(many.contains("7 different features (a, b, c, d, e, f, g), but beside cpus, memory at most 6"), "{many}");
}

/// Returns the speeds that a run has learned, by node.
fn learned(finished: &FinishedRun) -> Vec<(u32, f64)> {
    let speed = |change| match change {
        Change::Event(Event::NodeSpeedLearned { node, speed }) => Some((node.0, speed)),
        _ => None,
    };
    records(&finished.place.out).into_iter().filter_map(|record| speed(record.change)).collect()
}

/// A run on two nodes of speed 1 and one with the feature `fast`, which has speed 4 if `is_fast`. Its speed is given as 4.
fn on_a_fast_node(is_fast: bool, tasks: u32) -> FinishedRun {
    let nodes = TestRun::on("n1:2,n2:2,n3:2").features("n3", "fast").speed("fast", 4.0);
    let seconds = move |node: u32| if is_fast && node == 2 { 2.5 } else { 10.0 };
    let behaviour = move |launch: &Launch<'_>| {
        let even = seconds(launch.node.0);
        takes(even * (1.0 + 0.01 * f64::from(launch.attempt.task.index % 7)))
    };
    nodes.phase("a", tasks).policy("pace").behaviour(behaviour).run().done()
}

#[test]
fn the_first_decision_uses_given_speeds() {
    let finished = on_a_fast_node(true, 2);
    let joined = records(&finished.place.out).into_iter().filter_map(|record| match record.change {
        Change::Event(Event::NodeJoined { speed, .. }) => Some(speed),
        _ => None,
    });
    assert_eq!(joined.collect::<Vec<_>>(), [1.0, 1.0, 4.0]);
    // Without speeds the tasks would be spread over the nodes.
    assert_eq!((finished.nodes_of(0, 0), finished.nodes_of(0, 1)), (vec!["n3".to_owned()], vec!["n3".to_owned()]));
}

#[test]
fn a_right_speed_is_kept_and_needs_no_copies() {
    let finished = on_a_fast_node(true, 40);
    assert_eq!(learned(&finished), []);
    assert_eq!(finished.copies(), 0, "attempts on normal nodes are not late");
    let median = records(&finished.place.out).into_iter().rev().find_map(|record| match record.change {
        Change::Event(Event::DurationsLearned { median, .. }) => Some(median),
        _ => None,
    });
    // Durations are those of a node of speed 1.
    assert!((9.9..10.7).contains(&median.unwrap()), "{median:?}");
}

#[test]
fn a_wrong_speed_is_replaced_by_what_is_measured() {
    let finished = on_a_fast_node(false, 40);
    let learned = learned(&finished);
    let last =
        |node: u32, given: f64| learned.iter().rev().find(|(of, _)| *of == node).map_or(given, |(_, speed)| *speed);
    let ratio = last(2, 4.0) / last(0, 1.0);
    assert!((0.7..1.5).contains(&ratio), "{learned:?}");
}

#[test]
fn a_resumed_run_keeps_features_and_speeds() {
    let test_run = classes("pace").speed("ssd", 2.0).speed("n3", 3.0);
    let finished = test_run.run().done();
    // The run was killed half-way: the rest of its journal and its results are gone.
    let place = test_run.clone().place();
    let Place { plan, out, .. } = &place;
    place.run();
    let journal = out.join(".hindmost/journal.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    let kept: Vec<&str> = text.lines().take(text.lines().count() / 2).collect();
    fs::write(&journal, kept.join("\n") + "\n").unwrap();
    let opening = Opening { resume: true, ..Opening::default() };
    let store = Store::open(out, plan, &opening).unwrap().store;
    let nodes = driver::recorded_nodes(&store).unwrap().unwrap();
    drop(store);
    assert_eq!(nodes, test_run.offers());
    // Without the speeds with which it began, the run can't be resumed.
    let other = place.with(classes("pace"));
    let error = other.try_on(&mut other.engine()).unwrap_err().to_string();
    assert!(error.contains("begun with speed 2 of node n1"), "{error}");
    let outcome = place.run();
    is_sound(plan, out, &outcome.timeline);
    for row in &outcome.timeline.rows {
        let node = outcome.timeline.node_name(row.node);
        assert!(ALLOWED[row.attempt.task.phase as usize].contains(&node), "{row:?}");
    }
    let won = outcome.timeline.rows.iter().filter(|row| row.outcome == AttemptEnd::Won).count();
    assert_eq!(won as u64, finished.outcome.summary.tasks);
}
