//! Decisions of `window` event by event: which slot a straggler gets by power and by the location of its input, and how
//! reservations end.

use std::sync::Arc;

use hindmost_core::cluster::{Cluster, Placement};
use hindmost_core::estimator::{Knowledge, estimator};
use hindmost_core::ids::{AttemptId, JobId, NodeId, TaskId};
use hindmost_core::power::{CpuPower, PowerModel, StaticWatts};
use hindmost_core::record::{Decision, Event};
use hindmost_core::resources::{Dimensions, Resources};
use hindmost_core::session::{Answers, Session};
use hindmost_core::time::Time;
use hindmost_core::workload::{InputSpec, JobSpec, PhaseSpec};
use hindmost_policies::catalogue::{Setting, build};

/// A session of a policy, and what it decided last.
struct Story {
    session: Session,
    last: Answers,
}

fn task(job: u32, index: u32) -> TaskId {
    TaskId { job: JobId(job), phase: 0, index }
}

fn attempt(job: u32, index: u32, copy: u32) -> AttemptId {
    AttemptId { task: task(job, index), copy }
}

impl Story {
    fn of(policy: &str, knowledge: Knowledge) -> Story {
        let setting = Setting { order: "fifo", gamma: 1.0, queues: &[], live: false };
        let cluster = Cluster::new(Dimensions::one_slot()).with_placement(Placement::First, 0);
        let policy = build(&policy.parse().unwrap(), &setting).unwrap();
        let mut session = Session::new(cluster, policy, estimator(knowledge));
        session.keep_reasons();
        Story { session, last: Answers::default() }
    }

    fn step(&mut self, at: f64, event: &Event) {
        let mut answers = Answers::default();
        self.session.step(Time::from_seconds(at), event, &mut answers).unwrap();
        assert!(answers.refused.is_empty(), "{:?}", answers.refused);
        self.last = answers;
    }

    /// Adds one-slot machines with these speeds and watts of their core.
    fn nodes(mut self, nodes: &[(f64, Option<f64>)]) -> Story {
        for (at, (speed, watts)) in nodes.iter().enumerate() {
            let model = |watts: &f64| PowerModel {
                static_watts: StaticWatts::default(),
                cpu: CpuPower::PerCore(*watts),
                cores: 1.0,
                joules_per_access: 0.0,
                joules_per_byte: 0.0,
            };
            let (node, name, capacity) = (NodeId(at as u32), format!("n{at}").into(), Resources::ONE_SLOT);
            let power = watts.as_ref().map(model).map(Arc::new);
            self.step(0.0, &Event::NodeJoined { node, name, capacity, speed: *speed, rack: None, power });
        }
        self
    }

    /// Adds a job whose tasks of 100 bytes lie on these nodes; a task takes 10 s on average.
    fn job(mut self, job: u32, replicas: &[&[u32]]) -> Story {
        let tasks = replicas.len() as u32;
        let replicas = replicas.iter().map(|nodes| nodes.iter().copied().map(NodeId).collect()).collect();
        let phase = PhaseSpec {
            input: Some(InputSpec { bytes: vec![100; tasks as usize], replicas }),
            ..PhaseSpec::new("map", tasks, 10.0)
        };
        let spec = JobSpec::new(format!("job {job}"), vec![phase]);
        self.step(0.0, &Event::JobArrived { job: JobId(job), spec: spec.into() });
        self
    }

    /// The expected end of an attempt becomes known.
    fn ends(&mut self, at: f64, attempt: AttemptId, finish: f64) {
        let expected_finish = Some(Time::from_seconds(finish));
        self.step(at, &Event::WatchMet { attempt, expected_finish, conditions: None, guessed: false, stalled: false });
    }

    fn finish(&mut self, at: f64, attempt: AttemptId) {
        self.step(at, &Event::AttemptFinished { attempt });
    }

    /// Returns the starts, reservations and releases of a round as text.
    fn round(&mut self, at: f64) -> Vec<String> {
        self.step(at, &Event::Round);
        let text = |decision: &Decision| match decision {
            Decision::Start { attempt, node, .. } => Some(format!("start {attempt} on {node}")),
            Decision::Reserve { node, until, task: Some(task), .. } => {
                Some(format!("reserve {node} for {task} until {}", until.seconds()))
            }
            Decision::Release { task } => Some(format!("release {task}")),
            _ => None,
        };
        self.last.decisions.iter().filter_map(text).collect()
    }
}

#[test]
fn a_slot_must_save_more_time_and_more_energy() {
    // The straggler, task 0 on node 0 of 10 W, has 60 s left at time 2. Node 2 saves 60 − 10 = 50 s and 10 × 50 − 10 × 10 =
    // 400 J. Node 3 is faster: it saves 60 − 8 = 52 s. With 10 W it saves 10 × 52 − 10 × 8 = 440 J, so it is better. With
    // 40 W it saves 520 − 320 = 200 J, so node 2 stays. Task 1 ends at 10, so that a window is 2 s long.
    let first_copy = |powers: [Option<f64>; 4]| {
        let [a, b, c, d] = powers;
        let story = Story::of("window", Knowledge::Progress(0.1));
        let mut story = story.nodes(&[(1.0, a), (1.0, b), (1.0, c), (1.25, d)]).job(0, &[&[], &[]]);
        assert_eq!(story.round(0.0).len(), 2);
        story.ends(2.0, attempt(0, 1, 0), 10.0);
        story.ends(2.0, attempt(0, 0, 0), 62.0);
        (
            story.round(2.0).join(", "),
            story.last.reasons.iter().map(|(_, why)| why.clone()).collect::<Vec<_>>().join("; "),
        )
    };
    let (copy, why) = first_copy([Some(10.0); 4]);
    assert_eq!(copy, "start task 0/0/0 attempt 1 on node 3");
    let text = "attempt 0 runs at 0.28 times the mean rate of its phase and has 60.00 s left; a copy is expected to take \
                8.00 s there, and to save 52.00 s and 440.00 J";
    assert!(why.contains(text), "{why}");
    let (copy, why) = first_copy([Some(10.0), Some(10.0), Some(10.0), Some(40.0)]);
    assert_eq!(copy, "start task 0/0/0 attempt 1 on node 2");
    assert!(why.contains("50.00 s and 400.00 J"), "{why}");
    // If some node has no power model, all cores count as equal.
    let (copy, why) = first_copy([Some(10.0), None, Some(10.0), Some(40.0)]);
    assert_eq!(copy, "start task 0/0/0 attempt 1 on node 3");
    assert!(why.contains("52.00 s and 44.00 core-seconds"), "{why}");
}

/// Two stragglers of job 0 at 20 s: task 0 has 60 s left, task 1 55 s. Node 2 is free and holds the input of task 1. Node
/// 3 is expected to come free at `free_at`. A copy takes 10 s, and 10 s more if it transfers its 100 bytes. Tasks 2 and 3
/// have taken 20 s, so that a window is 20 s long; their nodes are lost.
fn two_stragglers(policy: &str, free_at: f64) -> Story {
    let story = Story::of(policy, Knowledge::Progress(0.1)).nodes(&[(1.0, None); 6]);
    let mut story = story.job(0, &[&[0], &[1, 2], &[4], &[5]]).job(1, &[&[3]]);
    assert_eq!(story.round(0.0).len(), 5);
    for (index, finish) in [(0, 80.0), (1, 75.0), (2, 20.0), (3, 20.0)] {
        story.ends(10.0, attempt(0, index, 0), finish);
    }
    story.ends(10.0, attempt(1, 0, 0), free_at);
    for index in [2, 3] {
        story.finish(20.0, attempt(0, index, 0));
        story.step(20.0, &Event::NodeLost { node: NodeId(2 + index), time_is_up: false });
    }
    story
}

const LOCAL: &str = "window(window=1,bandwidth=10)";

#[test]
fn a_straggler_leaves_its_slot_to_one_whose_input_is_there() {
    // Task 0 would take node 2 (40 s, 20 core-seconds saved). Task 1 would then save 75 − 56 = 19 s on node 3, but no energy.
    // On node 2 it saves 45 s and 35 core-seconds, and task 0 saves 80 − 56 = 24 s and 4 core-seconds on node 3.
    let mut story = two_stragglers(LOCAL, 36.0);
    let expected = ["reserve node 3 for task 0/0/0 until 40", "start task 0/0/1 attempt 1 on node 2"];
    assert_eq!(story.round(20.0), expected);
    story.finish(36.0, attempt(1, 0, 0));
    assert_eq!(story.round(36.0), ["start task 0/0/0 attempt 1 on node 3"]);
    // Without exchanges, and without the time of transfers, the most critical straggler keeps node 2.
    let mut story = two_stragglers("window(window=1,bandwidth=10,exchanges=0)", 36.0);
    assert_eq!(story.round(20.0), ["start task 0/0/0 attempt 1 on node 2"]);
    // Then a copy takes 10 s anywhere: task 1 saves 29 s and 19 core-seconds on node 3.
    let mut story = two_stragglers("window(window=1)", 36.0);
    let expected = ["start task 0/0/0 attempt 1 on node 2", "reserve node 3 for task 0/0/1 until 40"];
    assert_eq!(story.round(20.0), expected);
}

#[test]
fn no_slot_changes_hands_if_none_is_left_for_the_other() {
    // Node 3 comes free after the window. The straggler that is left is tested again in the next one.
    let mut story = two_stragglers(LOCAL, 41.0);
    assert_eq!(story.round(20.0), ["start task 0/0/0 attempt 1 on node 2"]);
    // At 40 the copy on node 2 is not yet known to end. On node 3, free at 41, task 1 would save 75 − 61 = 14 s, no energy.
    assert_eq!(story.round(40.0), [""; 0]);
}

#[test]
fn a_reservation_is_released_when_its_copy_can_no_longer_help() {
    // The straggler turns out to end at 50, 30 s after now: a copy of 20 s saves no energy any more.
    let mut story = two_stragglers(LOCAL, 36.0);
    story.round(20.0);
    story.ends(30.0, attempt(0, 0, 0), 50.0);
    assert_eq!(story.round(30.0), ["release task 0/0/0"]);
    // If it ends later than expected, the reservation stays.
    let mut story = two_stragglers(LOCAL, 36.0);
    story.round(20.0);
    story.ends(30.0, attempt(0, 0, 0), 95.0);
    assert_eq!(story.round(30.0), [""; 0]);
    assert!(story.session.cluster().reservation(task(0, 0)).is_some());
}

#[test]
fn a_failed_straggler_starts_again_elsewhere() {
    let mut story = two_stragglers(LOCAL, 36.0);
    story.round(20.0);
    let failed = Event::AttemptFailed { attempt: attempt(0, 0, 0), reason: None, external: None };
    story.step(25.0, &failed);
    // Its node is free, so the task starts there, and node 3 is not reserved any more.
    assert_eq!(story.round(25.0), ["release task 0/0/0", "start task 0/0/0 attempt 1 on node 0"]);
    assert_eq!(story.session.cluster().reservations().count(), 0);
}

#[test]
fn a_reservation_ends_with_its_window_its_task_or_its_node() {
    // The attempt on node 3 runs on beyond the window, so the reservation ends at 40. Nothing is known of its end then.
    let mut story = two_stragglers(LOCAL, 36.0);
    story.round(20.0);
    assert_eq!(story.round(40.0), [""; 0]);
    assert_eq!(story.session.cluster().reservations().count(), 0);
    // The straggler finishes.
    let mut story = two_stragglers(LOCAL, 36.0);
    story.round(20.0);
    story.finish(30.0, attempt(0, 0, 0));
    assert_eq!(story.session.cluster().reservations().count(), 0);
    assert_eq!(story.round(30.0), [""; 0]);
    // The node is lost. At the start of the next window the straggler has 40 s left, and no node is free.
    let mut story = two_stragglers(LOCAL, 36.0);
    story.round(20.0);
    story.step(30.0, &Event::NodeLost { node: NodeId(3), time_is_up: false });
    assert_eq!(story.session.cluster().reservations().count(), 0);
    story.round(30.0);
    // The task that ran on node 3 is pending again; the node that the copy of task 1 frees goes to the straggler or to it.
    story.finish(31.0, attempt(0, 1, 1));
    story.step(31.0, &Event::AttemptStopped { attempt: attempt(0, 1, 0) });
    assert_eq!(story.round(31.0), ["start task 1/0/0 attempt 1 on node 1"]);
    // Node 2 stays free until the next window. There the straggler has 40 s left. The last task on node 2
    // took 11 s with local input, so a copy is expected to take 21 s: it saves no energy.
    assert_eq!(story.round(40.0), [""; 0]);
}

#[test]
fn an_attempt_of_unknown_end_is_a_straggler_by_its_age() {
    // A rate of 1/10 is expected, so that the limit is an age of 20 s. The job has two tasks; one has finished after 10 s.
    let story = Story::of("window", Knowledge::Age).nodes(&[(1.0, None); 2]);
    let mut story = story.job(0, &[&[], &[]]);
    story.round(0.0);
    let requested = story.last.decisions.iter().filter(|one| matches!(one, Decision::Watch { .. })).count();
    assert_eq!(requested, 2);
    story.finish(10.0, attempt(0, 1, 0));
    assert_eq!(story.round(10.0), [""; 0]);
    let met = Event::WatchMet {
        attempt: attempt(0, 0, 0),
        expected_finish: None,
        conditions: None,
        guessed: false,
        stalled: false,
    };
    story.step(20.1, &met);
    let wakes = story.last.decisions.iter().filter(|one| matches!(one, Decision::Wake { .. })).count();
    assert_eq!(wakes, 1, "the next window is planned");
}
