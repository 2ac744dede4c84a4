//! Tests of the learner on a small cluster.

use std::sync::Arc;

use crate::ids::TaskId;
use crate::resources::{Dimensions, Resources};
use crate::testing::add_nodes;
use crate::workload::{DemandByName, JobSpec, PhaseSpec};

use super::*;

const JOB: JobId = JobId(0);
/// A task of the only phase.
const TASK: TaskId = TaskId { job: JOB, phase: 0, index: 0 };

/// Returns a cluster of two one-slot nodes, with a job that has one phase of ten tasks.
fn cluster() -> Cluster {
    let mut cluster = Cluster::new(Dimensions::of([&DemandByName::new()]).unwrap());
    add_nodes(&mut cluster, [Resources::ONE_SLOT; 2]);
    let phase = PhaseSpec { assumed: true, ..PhaseSpec::new("work", 10, 1.0) };
    let spec = JobSpec::new("job", vec![phase]);
    cluster.apply_event(Time::ZERO, &Event::JobArrived { job: JOB, spec: Arc::new(spec) }).unwrap();
    cluster
}

fn seen(index: u32, node: u32, age: f64, progress: Option<f64>) -> Observed {
    let task = TaskId { job: JOB, phase: 0, index };
    Observed {
        attempt: AttemptId { task, copy: 0 },
        node: NodeId(node),
        at: Time::from_seconds(100.0),
        age,
        work: 1.0,
        progress,
        predicts_duration: true,
    }
}

fn learner(history: Vec<f64>) -> Learner {
    let mut learner = Learner::new(&[1.0; 2], 0.1);
    learner.add_job([history]);
    learner
}

#[test]
fn two_winners_of_ten_tasks_give_durations() {
    let (cluster, mut learner) = (cluster(), learner(Vec::new()));
    learner.won(&seen(0, 0, 2.0, None));
    assert!(learner.learned(&cluster, &[]).is_empty());
    learner.won(&seen(1, 0, 4.0, None));
    let events = learner.learned(&cluster, &[]);
    let [Event::DurationsLearned { durations, median, p90, progress, samples, .. }] = &events[..] else {
        panic!("{events:?}")
    };
    assert!((durations.mean() - 3.0).abs() < 1e-9);
    assert_eq!((*median, *p90, *progress, *samples), (2.0, 4.0, false, 2));
    // The same two samples give no second event.
    assert!(learner.learned(&cluster, &[]).is_empty());
}

#[test]
fn progress_gives_durations_before_any_task_has_finished() {
    let (cluster, mut learner) = (cluster(), learner(Vec::new()));
    learner.first_progress(TASK, 0.1, 0.05);
    let running = [seen(0, 0, 0.5, Some(0.25)), seen(1, 1, 0.5, Some(0.05)), seen(2, 0, 0.5, Some(0.25))];
    let events = learner.learned(&cluster, &running);
    // The attempt at 5% has done too little to give a sample.
    let [Event::DurationsLearned { median, progress: true, samples: 2, .. }] = &events[..] else {
        panic!("{events:?}")
    };
    assert!((median - 2.0).abs() < 1e-9);
}

#[test]
fn tasks_of_equal_length_leave_the_tail_index_at_three() {
    let (cluster, mut learner) = (cluster(), learner(vec![1.0; 5]));
    let events = learner.learned(&cluster, &[]);
    let [Event::DurationsLearned { durations, .. }] = &events[..] else { panic!("{events:?}") };
    // Pareto with index 3: E[x − t | x > t] = t / 2 past its minimum.
    assert!((durations.mean_residual(2.0) - 1.0).abs() < 1e-6);
}

#[test]
fn two_slow_attempts_make_a_node_slow() {
    let (cluster, mut learner) = (cluster(), learner(vec![1.0; 5]));
    learner.first_progress(TASK, 0.05, 0.05);
    learner.learned(&cluster, &[]);
    let one = [seen(0, 1, 0.4, Some(0.05))];
    assert!(learner.learned(&cluster, &one).is_empty());
    let two = [seen(0, 1, 0.4, Some(0.05)), seen(1, 1, 0.4, Some(0.05)), seen(2, 0, 0.4, Some(0.4))];
    let events = learner.learned(&cluster, &two);
    let slow = |event: &Event| match event {
        Event::NodeSpeedLearned { node, speed } => Some((*node, *speed)),
        _ => None,
    };
    let learned: Vec<_> = events.iter().filter_map(slow).collect();
    assert_eq!(learned.len(), 1);
    assert_eq!(learned[0].0, NodeId(1));
    assert!((learned[0].1 - 0.125).abs() < 1e-9, "{learned:?}");
}

#[test]
fn no_node_is_slow_if_all_are_behind() {
    let (cluster, mut learner) = (cluster(), learner(vec![1.0; 5]));
    learner.first_progress(TASK, 0.05, 0.05);
    learner.learned(&cluster, &[]);
    let longer = [0, 1, 2, 3].map(|index| seen(index, index % 2, 0.4, Some(if index % 2 == 0 { 0.05 } else { 0.06 })));
    assert!(learner.learned(&cluster, &longer).is_empty());
    // A single node has no others to compare with.
    let mut alone = Learner::new(&[1.0], 0.1);
    alone.add_job([vec![1.0; 5]]);
    alone.first_progress(TASK, 0.05, 0.05);
    alone.learned(&cluster, &[]);
    let two = [seen(0, 0, 0.4, Some(0.05)), seen(1, 0, 0.4, Some(0.05))];
    assert!(alone.learned(&cluster, &two).is_empty());
}

#[test]
fn winners_outweigh_predicted_durations() {
    let (cluster, mut learner) = (cluster(), learner(Vec::new()));
    learner.first_progress(TASK, 0.1, 0.9);
    let early: Vec<Observed> = (0..8).map(|index| seen(index, 0, 0.1, Some(0.9))).collect();
    let median = |events: &[Event]| match events {
        [Event::DurationsLearned { median, .. }] => *median,
        other => panic!("{other:?}"),
    };
    assert!(median(&learner.learned(&cluster, &early)) < 0.12);
    // The attempts have stalled since then and give no samples. One of them ends after a second, and later another one.
    learner.won(&seen(0, 0, 1.0, None));
    let stalled: Vec<Observed> = early[2..].iter().map(|seen| Observed { predicts_duration: false, ..*seen }).collect();
    assert!(learner.learned(&cluster, &stalled).is_empty());
    learner.won(&seen(1, 0, 1.0, None));
    assert_eq!(median(&learner.learned(&cluster, &stalled)), 1.0);
}

#[test]
fn one_very_slow_attempt_makes_a_node_slow() {
    let (cluster, mut learner) = (cluster(), learner(vec![1.0; 5]));
    learner.first_progress(TASK, 0.05, 0.05);
    learner.learned(&cluster, &[]);
    let events = learner.learned(&cluster, &[seen(0, 1, 1.1, Some(0.1))]);
    let slow = |event: &&Event| matches!(event, Event::NodeSpeedLearned { node: NodeId(1), speed } if *speed < 0.1);
    assert_eq!(events.iter().filter(slow).count(), 1, "{events:?}");
}

#[test]
fn long_tasks_among_usual_ones_do_not_make_a_node_slow() {
    let (cluster, mut learner) = (cluster(), learner(vec![1.0; 5]));
    learner.learned(&cluster, &[]);
    // Three attempts on node 1 have run for 6, 7 and 8 medians, and others that started later there have taken one.
    let long: Vec<Observed> = (0..3).map(|index| seen(index, 1, 6.0 + f64::from(index), None)).collect();
    let is_slow = |event: &Event| matches!(event, Event::NodeSpeedLearned { speed, .. } if *speed < 1.0);
    let events = learner.learned(&cluster, &long);
    assert!(events.iter().any(is_slow), "nothing shows that the node is not slow: {events:?}");
    for index in 3..7 {
        learner.won(&seen(index, 1, 1.0, None));
    }
    let events = learner.learned(&cluster, &long);
    assert!(!events.iter().any(is_slow), "{events:?}");
    // An attempt that started after these is evidence again.
    let later = Observed { at: Time::from_seconds(110.0), ..seen(8, 1, 8.0, None) };
    let events =
        learner.learned(&cluster, &[later, Observed { attempt: AttemptId { copy: 1, ..later.attempt }, ..later }]);
    assert!(events.iter().any(is_slow), "{events:?}");
}

#[test]
fn attempts_as_old_as_usual_on_a_slow_node_confirm_its_speed() {
    let (cluster, mut learner) = (cluster(), learner(vec![1.0; 5]));
    learner.learned(&cluster, &[]);
    for (index, node) in [(0, 0), (1, 0), (2, 1), (3, 1)] {
        learner.won(&seen(index, node, if node == 1 { 4.0 } else { 1.0 }, None));
    }
    let speeds = |events: &[Event]| {
        let speed = |event: &Event| match event {
            Event::NodeSpeedLearned { node: NodeId(1), speed } => Some(*speed),
            _ => None,
        };
        events.iter().filter_map(speed).collect::<Vec<f64>>()
    };
    assert_eq!(speeds(&learner.learned(&cluster, &[])), [0.25]);
    // Attempts take four seconds there. So four of them that have run for three seconds are no news.
    let running = |age| [4, 5, 6, 7].map(|index| seen(index, 1, age, None));
    assert!(speeds(&learner.learned(&cluster, &running(3.0))).is_empty());
    // If they have run for ten seconds, the node has become slower.
    assert!(speeds(&learner.learned(&cluster, &running(10.0))).iter().all(|speed| *speed < 0.15));
    assert!(!speeds(&learner.learned(&cluster, &running(30.0))).is_empty());
}

#[test]
fn paces_are_relative_to_given_speeds() {
    let cluster = cluster();
    let learn = |given: f64, ages: [f64; 2]| {
        let mut learner = Learner::new(&[1.0, given], 0.1);
        learner.add_job([vec![1.0; 5]]);
        learner.learned(&cluster, &[]);
        for (index, node) in [(0, 0), (1, 0), (2, 1), (3, 1)] {
            learner.won(&seen(index, node, ages[node as usize], None));
        }
        let events = learner.learned(&cluster, &[]);
        let speed = |event: &Event| match event {
            Event::NodeSpeedLearned { node, speed } => Some((node.0, *speed)),
            _ => None,
        };
        events.iter().filter_map(speed).collect::<Vec<_>>()
    };
    // Attempts take as long as the given speeds say: 1 s on node 0.
    for (given, age) in [(4.0, 0.25), (0.25, 4.0), (0.5, 1.8), (1.0, 1.0)] {
        assert_eq!(learn(given, [1.0, age]), [], "speed {given}, {age} s");
    }
    assert_eq!(learn(4.0, [1.0, 1.0]), [(1, 1.0)]);
    assert_eq!(learn(0.25, [1.0, 1.0]), [(1, 1.0)]);
    assert_eq!(learn(4.0, [1.0, 4.0]), [(1, 0.25)]);
    // The median of the winners is 0.25 s now, so node 0 is not slow.
    assert_eq!(learn(1.0, [1.0, 0.25]), []);
}

#[test]
fn durations_are_those_of_a_node_of_speed_1() {
    let cluster = cluster();
    let mut learner = Learner::new(&[1.0, 4.0], 0.1);
    learner.add_job([Vec::new()]);
    learner.won(&seen(0, 1, 1.0, None));
    learner.won(&seen(1, 0, 4.0, None));
    let events = learner.learned(&cluster, &[]);
    let [Event::DurationsLearned { median, .. }] = &events[..] else { panic!("{events:?}") };
    assert_eq!(*median, 4.0);
}
