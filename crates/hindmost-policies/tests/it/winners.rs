//! `verify` finds journals in which a task has two winners.

use hindmost_core::cluster::{Cluster, Placement};
use hindmost_core::estimator::{Knowledge, estimator};
use hindmost_core::ids::{AttemptId, JobId, NodeId, TaskId};
use hindmost_core::policy::Policy;
use hindmost_core::record::{Change, Decision, Event, Record};
use hindmost_core::resources::{Dimensions, Resources};
use hindmost_core::session::{Answers, Session};
use hindmost_core::time::Time;
use hindmost_core::timeline::{AttemptEnd, Timeline};
use hindmost_core::verify::{Difference, Verified, verify};
use hindmost_core::workload::{DemandByName, JobSpec, PhaseSpec};
use hindmost_policies::catalogue::{Setting, build};

const TASK: TaskId = TaskId { job: JobId(0), phase: 0, index: 0 };

fn copy(copy: u32) -> AttemptId {
    AttemptId { task: TASK, copy }
}

fn policy(name: &str) -> Policy {
    build(&name.parse().unwrap(), &Setting { order: "fifo", gamma: 1.0, queues: &[] }).unwrap()
}

fn finished(attempt: u32) -> Event {
    Event::AttemptFinished { attempt: copy(attempt) }
}

/// Returns what `verify` finds in the journal of a job whose first task (of two) runs in three copies. The journal ends
/// with these events: the first at 1 s, each of the others a second after the one before.
fn found(placement: Placement, keep: &str, ends: &[Event]) -> Result<Verified, Difference> {
    let name = format!("fifo+dollymp(keep={keep},clones=2)");
    let cluster = || Cluster::new(Dimensions::one_slot()).with_placement(placement);
    let session = || Session::new(cluster(), policy(&name), estimator(Knowledge::Age));
    let mut decides = session();
    let phase = PhaseSpec {
        name: "p".into(),
        after: Vec::new(),
        tasks: 2,
        demand: DemandByName::new(),
        mean: 1.0,
        sd: None,
        tail: None,
        input: None,
        assumed: false,
        never_copied: false,
        finished: Vec::new(),
    };
    let (name_of_job, arrival) = ("j".into(), Time::ZERO);
    let spec = JobSpec { name: name_of_job, arrival, deadline: None, weight: 1.0, queue: None, phases: vec![phase] };
    let mut events: Vec<(u64, Event)> = Vec::new();
    for node in 0..6 {
        let (name, capacity) = (format!("n{node}").into(), Resources::ONE_SLOT);
        events.push((0, Event::NodeJoined { node: NodeId(node), name, capacity, speed: 1.0, rack: None }));
    }
    events.push((0, Event::JobArrived { job: JobId(0), spec: spec.into() }));
    events.push((0, Event::Round));
    events.extend((1..).zip(ends.iter().cloned()));
    let mut records = Vec::new();
    for (at, event) in events {
        let at = Time::from_seconds(at as f64);
        let mut answers = Answers::default();
        decides.step(at, &event, &mut answers).unwrap();
        let decisions = answers.decisions;
        if event == Event::Round {
            let starts = decisions.iter().filter(|decision| matches!(decision, Decision::Start { .. }));
            assert_eq!(starts.count(), 6);
        }
        records.push(Record { at, change: Change::Event(event) });
        records.extend(decisions.into_iter().map(|decision| Record { at, change: Change::Decision(decision) }));
    }
    let again = Timeline::of(records.clone());
    let won = again.attempts_of(TASK).filter(|row| row.outcome == AttemptEnd::Won);
    assert!(won.count() <= 1, "the timeline has two winners");
    verify(session(), records)
}

#[test]
fn two_winners_are_found() {
    let ends = [finished(1), Event::AttemptStopped { attempt: copy(2) }, finished(0)];
    for placement in [Placement::Spread, Placement::FirstFit] {
        let difference = found(placement, "none", &ends).unwrap_err();
        assert_eq!(difference.to_string(), "task 0/0/0 has two winners: attempt 1 finished at 1 s, attempt 0 at 3 s");
    }
}

#[test]
fn a_stopped_attempt_does_not_win_later() {
    let ends = [finished(1), Event::AttemptStopped { attempt: copy(0) }, finished(0)];
    for placement in [Placement::Spread, Placement::FirstFit] {
        assert!(matches!(found(placement, "none", &ends), Err(Difference::TwoWinners { .. })));
    }
}

#[test]
fn a_kept_copy_finishes_in_simulations_alone() {
    let ends = [finished(1), Event::AttemptStopped { attempt: copy(2) }, finished(0)];
    assert!(found(Placement::FirstFit, "best_locality", &ends).is_ok());
    let difference = found(Placement::Spread, "best_locality", &ends).unwrap_err();
    assert!(matches!(difference, Difference::TwoWinners { first: 1, second: 0, .. }), "{difference}");
    // The policy has stopped the copy that it does not keep.
    let ends = [finished(1), finished(2)];
    assert!(matches!(found(Placement::FirstFit, "best_locality", &ends), Err(Difference::TwoWinners { .. })));
}

#[test]
fn a_finish_recorded_twice_is_found() {
    let ends = vec![finished(1), finished(1)];
    assert!(found(Placement::FirstFit, "none", &ends).is_ok());
    assert!(matches!(found(Placement::Spread, "none", &ends), Err(Difference::TwoWinners { .. })));
}

#[test]
fn one_winner_is_valid_however_the_others_end() {
    let (stopped, failed) = (
        |of| Event::AttemptStopped { attempt: copy(of) },
        |of| Event::AttemptFailed { attempt: copy(of), reason: None, external: None },
    );
    for ends in [
        vec![finished(2), stopped(0), stopped(1)],
        vec![finished(0), failed(1), stopped(2)],
        vec![failed(0), finished(1), stopped(1), stopped(2)],
        // A late event makes no winner of an attempt that was lost with its node.
        vec![Event::NodeLost { node: NodeId(0) }, finished(0), finished(1)],
    ] {
        for placement in [Placement::Spread, Placement::FirstFit] {
            let found = found(placement, "none", &ends);
            assert!(found.is_ok(), "{ends:?}: {}", found.unwrap_err());
        }
    }
}
