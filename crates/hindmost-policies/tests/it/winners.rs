//! `verify` finds journals in which a task has two winners.

use hindmost_core::cluster::Cluster;
use hindmost_core::estimator::{Knowledge, estimator};
use hindmost_core::ids::{AttemptId, JobId, NodeId, TaskId};
use hindmost_core::policy::Policy;
use hindmost_core::record::{Change, Decision, Event, Record};
use hindmost_core::resources::{Dimensions, Resources};
use hindmost_core::session::{Answers, Session};
use hindmost_core::testing::joined;
use hindmost_core::time::Time;
use hindmost_core::timeline::{AttemptEnd, Timeline};
use hindmost_core::verify::{Difference, Verified, verify};
use hindmost_core::workload::{JobSpec, PhaseSpec};
use hindmost_policies::catalogue::{Setting, build};

const TASK: TaskId = TaskId { job: JobId(0), phase: 0, index: 0 };

fn copy(copy: u32) -> AttemptId {
    AttemptId { task: TASK, copy }
}

fn policy(name: &str) -> Policy {
    build(&name.parse().unwrap(), &Setting { order: "fifo", gamma: 1.0, queues: &[], live: false }).unwrap()
}

fn finished(attempt: u32) -> Event {
    Event::AttemptFinished { attempt: copy(attempt) }
}

/// Returns the result of `verify` for the journal of a job with two tasks, each with three running copies from 0 s on.
/// The journal ends with the events `ends`, which concern the first task: one event each second, from 1 s on. `keep` is
/// the parameter of `dollymp`, and `is_live` says whether the journal counts as that of a live run.
fn found(is_live: bool, keep: &str, ends: &[Event]) -> Result<Verified, Difference> {
    let name = format!("fifo+dollymp(keep={keep},clones=2)");
    let cluster = || Cluster::new(Dimensions::one_slot());
    let session = || Session::new(cluster(), policy(&name), estimator(Knowledge::Age));
    let mut decides = session();
    let phase = PhaseSpec::new("p", 2, 1.0);
    let spec = JobSpec::new("j", vec![phase]);
    let mut events: Vec<(u64, Event)> = (0..6).map(|node| (0, joined(node, Resources::ONE_SLOT))).collect();
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
    verify(session(), is_live, records)
}

#[test]
fn verify_rejects_a_second_winner() {
    let ends = [finished(1), Event::AttemptStopped { attempt: copy(2) }, finished(0)];
    for is_live in [true, false] {
        let difference = found(is_live, "none", &ends).unwrap_err();
        assert_eq!(difference.to_string(), "task 0/0/0 has two winners: attempt 1 finished at 1 s, attempt 0 at 3 s");
    }
}

#[test]
fn verify_rejects_a_finish_of_a_stopped_copy() {
    let ends = [finished(1), Event::AttemptStopped { attempt: copy(0) }, finished(0)];
    for is_live in [true, false] {
        assert!(matches!(found(is_live, "none", &ends), Err(Difference::TwoWinners { .. })));
    }
}

#[test]
fn a_kept_copy_may_finish_only_in_simulations() {
    let ends = [finished(1), Event::AttemptStopped { attempt: copy(2) }, finished(0)];
    assert!(found(false, "best_locality", &ends).is_ok());
    let difference = found(true, "best_locality", &ends).unwrap_err();
    assert!(matches!(difference, Difference::TwoWinners { first: 1, second: 0, .. }), "{difference}");
    // The policy keeps copy 0 and has stopped copy 2, so copy 2 must not finish.
    let ends = [finished(1), finished(2)];
    assert!(matches!(found(false, "best_locality", &ends), Err(Difference::TwoWinners { .. })));
}

#[test]
fn a_finish_recorded_twice_is_valid_only_in_simulations() {
    let ends = vec![finished(1), finished(1)];
    assert!(found(false, "none", &ends).is_ok());
    assert!(matches!(found(true, "none", &ends), Err(Difference::TwoWinners { .. })));
}

#[test]
fn one_winner_is_valid_however_other_copies_end() {
    let (stopped, failed) = (
        |of| Event::AttemptStopped { attempt: copy(of) },
        |of| Event::AttemptFailed { attempt: copy(of), reason: None, external: None },
    );
    for ends in [
        vec![finished(2), stopped(0), stopped(1)],
        vec![finished(0), failed(1), stopped(2)],
        vec![failed(0), finished(1), stopped(1), stopped(2)],
        // Attempt 0 was lost with its node, so its late finish does not make it a winner.
        vec![Event::NodeLost { node: NodeId(0), time_is_up: false }, finished(0), finished(1)],
    ] {
        for is_live in [true, false] {
            let found = found(is_live, "none", &ends);
            assert!(found.is_ok(), "{ends:?}: {}", found.unwrap_err());
        }
    }
}
