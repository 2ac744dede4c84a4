//! Policies make each decision once: they do not stop a copy that is already stopping, and a straggler that meets its
//! watched condition twice gets one backup.

use hindmost_core::cluster::{Attempt, Cluster, Placement};
use hindmost_core::estimator::{Knowledge, estimator};
use hindmost_core::ids::{AttemptId, JobId, TaskId};
use hindmost_core::record::{Decision, Event, StopReason};
use hindmost_core::resources::{Dimensions, Resources};
use hindmost_core::session::{Answers, Session};
use hindmost_core::testing::joined;
use hindmost_core::time::Time;
use hindmost_core::workload::{JobSpec, PhaseSpec};
use hindmost_math::distribution::Distribution;
use hindmost_policies::catalogue::{Setting, build};

/// Returns a session of a policy after its first round, with one-slot machines and one job of one phase.
fn begun(policy: &str, knowledge: Knowledge, (machines, tasks): (u32, u32)) -> Session {
    let setting = Setting { order: "fifo", gamma: 0.01, queues: &[], live: false };
    let cluster = Cluster::new(Dimensions::one_slot()).with_placement(Placement::Spread, 0);
    let mut session = Session::new(cluster, build(&policy.parse().unwrap(), &setting).unwrap(), estimator(knowledge));
    let mut step = |event: Event| session.step(Time::ZERO, &event, &mut Answers::default()).map(drop).unwrap();
    for node in 0..machines {
        step(joined(node, Resources::ONE_SLOT));
    }
    let tail = Distribution::pareto_with_mean(2.0, 1.0).unwrap();
    let phase = PhaseSpec { tail: Some(tail), ..PhaseSpec::new("map", tasks, 1.0) };
    let spec = JobSpec::new("job", vec![phase]);
    step(Event::JobArrived { job: JobId(0), spec: spec.into() });
    step(Event::Round);
    let started: Vec<AttemptId> = session.cluster().running().map(Attempt::id).collect();
    for attempt in started {
        let running = Event::AttemptRunning { attempt, waited: None };
        session.step(Time::ZERO, &running, &mut Answers::default()).unwrap();
    }
    session
}

fn attempt(index: u32, copy: u32) -> AttemptId {
    AttemptId { task: TaskId { job: JobId(0), phase: 0, index }, copy }
}

/// Returns the decisions of a policy on an event at this time, in seconds.
fn decided(session: &mut Session, at: f64, event: &Event) -> Vec<Decision> {
    let mut answers = Answers::default();
    session.step(Time::from_seconds(at), event, &mut answers).unwrap();
    assert!(answers.refused.is_empty(), "{:?}", answers.refused);
    answers.decisions
}

#[test]
fn a_stopping_copy_is_not_stopped_again() {
    // Both copies of task 0 run. pace stops the original, which is expected to finish long after its backup.
    let mut session = begun("pace", Knowledge::Progress(0.1), (4, 2));
    let met = |copy, finish: f64| Event::WatchMet {
        attempt: attempt(0, copy),
        expected_finish: Some(Time::from_seconds(finish)),
        conditions: None,
        guessed: false,
        stalled: false,
    };
    decided(&mut session, 0.2, &met(0, 50.0));
    let backup = decided(&mut session, 0.2, &Event::Round);
    assert!(matches!(backup[0], Decision::Start { attempt, .. } if attempt.copy == 1), "{backup:?}");
    let stopped = decided(&mut session, 0.4, &met(1, 1.2));
    assert_eq!(stopped, [Decision::Stop { attempt: attempt(0, 0), reason: StopReason::Overtaken }]);
    // Killing takes time: the backup finishes while the original is still stopping.
    let finished = decided(&mut session, 1.2, &Event::AttemptFinished { attempt: attempt(0, 1) });
    assert_eq!(finished, []);
}

#[test]
fn a_straggler_that_meets_its_condition_twice_gets_one_backup() {
    for policy in ["late(slow_task=0.5,cap=1)", "mantri", "pace"] {
        let mut session = begun(policy, Knowledge::Age, (6, 2));
        for _ in 0..2 {
            let met = Event::WatchMet {
                attempt: attempt(0, 0),
                expected_finish: None,
                conditions: None,
                guessed: false,
                stalled: false,
            };
            decided(&mut session, 9.0, &met);
        }
        let starts = decided(&mut session, 9.0, &Event::Round);
        let starts = starts.iter().filter(|decision| matches!(decision, Decision::Start { .. }));
        assert_eq!(starts.count(), 1, "{policy}");
    }
}
