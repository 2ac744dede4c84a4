//! Reservations for tasks: what they take, what they keep from others, and when they end.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::ids::{AttemptId, JobId};
use crate::record::{Decision, Event, StopReason};
use crate::resources::{CPUS, Dimensions};
use crate::testing::add_nodes;
use crate::workload::{DemandByName, JobSpec, PhaseSpec};

const NODES: u32 = 3;

fn seconds(seconds: u32) -> Time {
    Time::from_seconds(f64::from(seconds))
}

/// Three nodes of four cpus. The job's phase 0 has eight tasks of one cpu, phase 1 four tasks of three.
fn cluster() -> Cluster {
    let capacity = DemandByName::from([(CPUS.to_owned(), 4.0)]);
    let dimensions = Dimensions::of([&capacity]).unwrap();
    let capacity = dimensions.amounts(&capacity).unwrap();
    let mut cluster = Cluster::new(dimensions);
    add_nodes(&mut cluster, [capacity; NODES as usize]);
    let phase = |name: &str, tasks, cpus| PhaseSpec {
        demand: DemandByName::from([(CPUS.to_owned(), cpus)]),
        ..PhaseSpec::new(name, tasks, 1.0)
    };
    let phases = vec![phase("small", 8, 1.0), phase("large", 4, 3.0)];
    let spec = JobSpec::new("job", phases);
    cluster.apply_event(Time::ZERO, &Event::JobArrived { job: JobId(0), spec: Arc::new(spec) }).unwrap();
    cluster
}

fn small(index: u32) -> TaskId {
    TaskId { job: JobId(0), phase: 0, index }
}

fn large(index: u32) -> TaskId {
    TaskId { job: JobId(0), phase: 1, index }
}

fn try_start(cluster: &mut Cluster, task: TaskId, node: u32) -> Result<Applied, RecordError> {
    let attempt = cluster.next_copy(task).unwrap();
    let start = Decision::Start { attempt, node: NodeId(node), from_progress: 0.0 };
    cluster.apply_decision(cluster.now(), &start)
}

fn start(cluster: &mut Cluster, task: TaskId, node: u32) {
    try_start(cluster, task, node).unwrap();
}

fn finish(cluster: &mut Cluster, task: TaskId) -> Applied {
    let attempt = AttemptId { task, copy: 0 };
    cluster.apply_event(cluster.now(), &Event::AttemptFinished { attempt }).unwrap()
}

fn try_reserve(cluster: &mut Cluster, task: TaskId, node: u32, until: Time) -> Result<Applied, RecordError> {
    let resources = Box::new(*cluster.phase(task).unwrap().demand());
    let reserve = Decision::Reserve { node: NodeId(node), resources, until, task: Some(Box::new(task)) };
    cluster.apply_decision(cluster.now(), &reserve)
}

fn reserve(cluster: &mut Cluster, task: TaskId, node: u32) {
    try_reserve(cluster, task, node, seconds(100)).unwrap();
}

/// Returns the free and the reserved cpus of a node.
fn cpus(cluster: &Cluster, node: u32) -> (u64, u64) {
    let node = cluster.node(NodeId(node)).unwrap();
    (node.free().0[0] / 1000, node.reserved().0[0] / 1000)
}

fn is_ready(cluster: &Cluster, task: TaskId) -> bool {
    cluster.reservation(task).is_some_and(Reservation::is_ready)
}

/// A cluster in which node 0 runs three small tasks, and one cpu of it and two future ones are reserved for large task 0,
/// which runs on node 1.
fn waiting() -> Cluster {
    let mut cluster = cluster();
    (0..3).for_each(|index| start(&mut cluster, small(index), 0));
    start(&mut cluster, large(0), 1);
    reserve(&mut cluster, large(0), 0);
    assert_eq!((cpus(&cluster, 0), is_ready(&cluster, large(0))), ((0, 1), false));
    assert_eq!(cluster.awaited(NodeId(0)).0[0], 2000);
    cluster
}

#[test]
fn a_reservation_takes_what_comes_free_until_it_is_whole() {
    let mut cluster = waiting();
    finish(&mut cluster, small(0));
    assert_eq!((cpus(&cluster, 0), is_ready(&cluster, large(0))), ((0, 2), false));
    assert!(try_start(&mut cluster, small(4), 0).is_err(), "a reserved cpu was given away");
    assert!(try_start(&mut cluster, large(0), 0).is_err(), "the copy starts before its resources are free");
    finish(&mut cluster, small(1));
    assert_eq!((cpus(&cluster, 0), is_ready(&cluster, large(0))), ((0, 3), true));
    assert!(try_start(&mut cluster, small(4), 0).is_err());
    // What comes free after that is free for all.
    finish(&mut cluster, small(2));
    assert_eq!(cpus(&cluster, 0), (1, 3));
    start(&mut cluster, large(0), 0);
    assert_eq!((cpus(&cluster, 0), cluster.reservation(large(0))), ((1, 0), None));
}

#[test]
fn the_older_reservation_of_a_node_takes_first() {
    let mut cluster = waiting();
    start(&mut cluster, small(3), 1);
    reserve(&mut cluster, small(3), 0);
    finish(&mut cluster, small(0));
    finish(&mut cluster, small(1));
    assert!(is_ready(&cluster, large(0)) && !is_ready(&cluster, small(3)));
    // When the older one ends, what it held goes to the other one and to all.
    cluster.apply_decision(Time::ZERO, &Decision::Release { task: large(0) }).unwrap();
    assert!(is_ready(&cluster, small(3)));
    assert_eq!(cpus(&cluster, 0), (2, 1));
    assert!(!cluster.has_reservations(NodeId(1)) && cluster.has_reservations(NodeId(0)));
}

#[test]
fn a_reservation_ends_at_its_time_or_with_its_task_or_node() {
    // At its time.
    let mut late = waiting();
    late.apply_event(seconds(99), &Event::Round).unwrap();
    assert_eq!(cpus(&late, 0), (0, 1));
    late.apply_event(seconds(100), &Event::Round).unwrap();
    assert_eq!((cpus(&late, 0), late.reservation(large(0))), ((1, 0), None));
    // When its task finishes.
    let mut done = waiting();
    assert_eq!(finish(&mut done, large(0)).reservation_ended_on, Some(NodeId(0)));
    assert_eq!((cpus(&done, 0), done.reservations().count()), ((1, 0), 0));
    // When its node is lost, also if the node returns.
    let mut lost = waiting();
    lost.apply_event(Time::ZERO, &Event::NodeLost { node: NodeId(0), time_is_up: false }).unwrap();
    lost.apply_event(Time::ZERO, &Event::NodeReturned { node: NodeId(0) }).unwrap();
    assert_eq!((cpus(&lost, 0), lost.reservation(large(0))), ((4, 0), None));
    // When its task starts an attempt on another node.
    let mut elsewhere = waiting();
    start(&mut elsewhere, large(0), 2);
    assert_eq!((cpus(&elsewhere, 0), elsewhere.reservations().count()), ((1, 0), 0));
    // The end of the straggler alone does not end it: the task may start again on the reserved resources.
    let mut failed = waiting();
    let attempt = AttemptId { task: large(0), copy: 0 };
    failed.apply_event(Time::ZERO, &Event::AttemptFailed { attempt, reason: None, external: None }).unwrap();
    assert!(failed.reservation(large(0)).is_some());
}

#[test]
fn impossible_reservations_are_refused() {
    let mut cluster = waiting();
    let refused =
        |cluster: &mut Cluster, task, node| try_reserve(cluster, task, node, seconds(9)).unwrap_err().to_string();
    let words = "resources on node 1 can't be reserved for task 0/1/0: the task has a reservation already";
    assert_eq!(refused(&mut cluster, large(0), 1), words);
    finish(&mut cluster, small(0));
    assert!(refused(&mut cluster, small(0), 1).ends_with("the task has finished"));
    assert!(refused(&mut cluster, small(1), 7).contains("node 7"));
    cluster.apply_event(Time::ZERO, &Event::NodeLost { node: NodeId(2), time_is_up: false }).unwrap();
    assert!(refused(&mut cluster, small(1), 2).ends_with("the node is lost"));
    let too_much = Decision::Reserve {
        node: NodeId(1),
        resources: Box::new(Resources::ONE_SLOT.plus(cluster.node(NodeId(1)).unwrap().capacity())),
        until: seconds(9),
        task: Some(Box::new(small(1))),
    };
    assert!(cluster.apply_decision(Time::ZERO, &too_much).unwrap_err().to_string().ends_with("the node is too small"));
    let release = Decision::Release { task: small(1) };
    assert!(matches!(cluster.apply_decision(Time::ZERO, &release), Err(RecordError::Unknown(_))));
}

#[test]
fn a_refused_record_restores_reservations_that_expired_with_it() {
    let mut cluster = waiting();
    start(&mut cluster, small(3), 1);
    // Both reservations of node 0; the older one ends at 100 s.
    try_reserve(&mut cluster, small(3), 0, seconds(200)).unwrap();
    let before: Vec<Reservation> = cluster.reservations().cloned().collect();
    let unknown = Event::NodeLost { node: NodeId(9), time_is_up: false };
    assert!(cluster.apply_event(seconds(150), &unknown).is_err());
    assert_eq!(cluster.reservations().cloned().collect::<Vec<_>>(), before);
    assert_eq!((cluster.now(), cpus(&cluster, 0)), (Time::ZERO, (0, 1)));
    cluster.apply_event(seconds(150), &Event::Round).unwrap();
    assert!(is_ready(&cluster, small(3)) && cluster.reservation(large(0)).is_none());
    assert_eq!(cpus(&cluster, 0), (0, 1));
}

/// A random record: what happens, to which task or node, and how much time passes.
fn any_step() -> impl Strategy<Value = (u8, u32, u32, u32)> {
    (0..9u8, 0..12u32, 0..NODES, 0..4u32)
}

/// Asserts that the resources of each node add up to its capacity, and that reservations hold what the node says.
fn assert_sums(cluster: &Cluster) {
    for (at, node) in cluster.nodes().iter().enumerate() {
        let id = NodeId(at as u32);
        let attempts = cluster.attempts_on(id).filter(|attempt| attempt.replaces().is_none());
        let held = attempts.fold(Resources::NONE, |sum, one| sum.plus(cluster.phase(one.id().task).unwrap().demand()));
        let reserved = cluster.reservations.on(id).fold(Resources::NONE, |sum, one| sum.plus(&one.held));
        assert_eq!(reserved, *node.reserved());
        assert_eq!(held.plus(&reserved).plus(node.free()), *node.capacity());
        // Nothing is free that a reservation waits for.
        assert!(cluster.awaited(id).least(node.free()).is_none());
    }
    for reservation in cluster.reservations() {
        assert!(reservation.until() > cluster.now());
        let task = reservation.task().unwrap();
        assert!(!cluster.task(task).is_none_or(crate::cluster::Task::is_finished));
        assert!(cluster.node(reservation.node()).unwrap().is_up());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(hindmost_testing::cases(300, 3000)))]

    #[test]
    fn reserved_resources_are_never_given_away(steps in proptest::collection::vec(any_step(), 1..80)) {
        let mut cluster = cluster();
        for (what, number, node, later) in steps {
            let task = if number < 8 { small(number) } else { large(number - 8) };
            let newest = cluster.copies(task).map(crate::cluster::Attempt::id).next();
            let now = cluster.now() + if what == 8 { seconds(later) } else { Time::ZERO };
            let kept = cluster.reservations().filter(|one| one.task() != Some(task)).map(|one| (one.task(), one.held)).collect::<Vec<_>>();
            let mut copy = cluster.clone();
            let attempt = newest.unwrap_or(AttemptId { task, copy: 0 });
            let node = NodeId(node);
            let resources = Box::new(*cluster.phase(task).map_or(&Resources::NONE, |phase| phase.demand()));
            let applied = match what {
                0..=2 => try_start(&mut copy, task, node.0),
                3 => copy.apply_event(now, &Event::AttemptFinished { attempt }),
                4 => copy.apply_event(now, &Event::AttemptFailed { attempt, reason: None, external: None }),
                5 => copy.apply_event(now, &if later == 0 { Event::NodeLost { node, time_is_up: false } } else { Event::NodeReturned { node } }),
                6 => {
                    let until = now + seconds(later + 1);
                    copy.apply_decision(now, &Decision::Reserve { node, resources, until, task: Some(Box::new(task)) })
                }
                7 if later == 0 => copy.apply_decision(now, &Decision::Release { task }),
                7 => {
                    let stop = Decision::Stop { attempt, reason: StopReason::Lost };
                    copy.apply_decision(now, &stop).and_then(|_| copy.apply_event(now, &Event::AttemptStopped { attempt }))
                }
                _ => copy.apply_event(now, &Event::Round),
            };
            if applied.is_err() {
                continue;
            }
            cluster = copy;
            assert_sums(&cluster);
            if what <= 2 {
                // A start leaves the other reservations at least what they held.
                for (task, held) in kept {
                    let found = cluster.reservation(task.unwrap()).unwrap();
                    prop_assert!(held.fits(&found.held));
                }
                prop_assert!(cluster.reservation(task).is_none());
            }
        }
        // Whatever happened, every reservation has ended after its time.
        cluster.apply_event(cluster.now() + seconds(10), &Event::Round).unwrap();
        prop_assert_eq!(cluster.reservations().count(), 0);
        assert_sums(&cluster);
    }
}
