//! Tests of attempts whose commands begin some time after their start, as in a step of Slurm that waits.

use std::fs;

use hindmost_core::record::{Change, Event};
use hindmost_core::time::Time;
use hindmost_core::timeline::AttemptEnd;
use hindmost_run::engine::Launch;
use hindmost_run::live_view::AttemptState;

use crate::fake_engine::FakeTask;
use crate::live_view::seen;
use crate::policies::systems_and_orders;
use crate::test_run::{FinishedRun, TestRun, journal_text, records, scratch, silently, takes};

/// Time after which the first attempt of task 5 begins.
const WAITS: f64 = 60.0;

/// A job of 12 tasks of 10 s. The first attempt of task 5 waits before it begins, and then takes so long.
fn run(policy: &str, task: fn(f64) -> FakeTask, seconds: f64) -> FinishedRun {
    let behaviour = move |launch: &Launch<'_>| {
        let attempt = launch.attempt;
        let is_late = (attempt.task.index, attempt.copy) == (5, 0);
        if is_late { FakeTask { begins: WAITS, ..task(seconds) } } else { task(10.0) }
    };
    TestRun::on("n1:2,n2:2").phase("map", 12).policy(policy).behaviour(behaviour).run().done()
}

/// Returns for how long attempts waited, in seconds.
fn waits(finished: &FinishedRun) -> Vec<f64> {
    let waited = |change| match change {
        Change::Event(Event::AttemptRunning { waited, .. }) => waited.map(Time::seconds),
        _ => None,
    };
    records(&finished.place.out).into_iter().filter_map(|record| waited(record.change)).collect()
}

#[test]
fn an_attempt_that_waits_to_begin_gets_no_copy() {
    for task in [takes, silently] {
        let finished = run("pace", task, 10.0);
        assert_eq!((finished.copies(), waits(&finished)), (0, vec![WAITS]));
        // It was started 10 s after the begin of the run.
        assert_eq!(finished.flowtime().round(), 80.0);
        let learned = finished.outcome.summary.phases[0].p50;
        assert_eq!(learned.map(f64::round), Some(10.0));
    }
}

#[test]
fn the_age_of_an_attempt_counts_from_its_begin() {
    let finished = run("pace", silently, 300.0);
    let of_task: Vec<_> = finished
        .outcome
        .timeline
        .attempts_of(
            finished.outcome.timeline.rows.iter().find(|row| row.attempt.task.index == 5).unwrap().attempt.task,
        )
        .collect();
    let [first, copy] = of_task[..] else { panic!("{of_task:?}") };
    assert_eq!((&first.outcome, &copy.outcome), (&AttemptEnd::Lost, &AttemptEnd::Won));
    // Late is an age of more than a median after the begin.
    let age = (copy.start - first.start).seconds() - WAITS;
    assert!((10.0..60.0).contains(&age), "{age}");
}

#[test]
fn every_policy_finishes_although_attempts_wait() {
    for policy in systems_and_orders() {
        for task in [takes, silently] {
            run(&policy, task, 90.0);
        }
    }
}

#[test]
fn a_time_limit_counts_from_the_begin() {
    let behaviour = |launch: &Launch<'_>| FakeTask {
        begins: if launch.attempt.task.index == 1 { WAITS } else { 0.0 },
        ..takes(10.0)
    };
    let limited = TestRun::on("n1:2").phase_with("map", 4, "time_limit = '20s'\nretries = 0").policy("none");
    let finished = limited.behaviour(behaviour).run().done();
    assert_eq!(finished.ends(0, 1), [AttemptEnd::Won]);
}

#[test]
fn an_attempt_that_waits_is_shown_as_starting() {
    let finished = run("none", takes, 10.0);
    let journal = journal_text(&finished.place.out);
    let lines: Vec<&str> = journal.split_inclusive('\n').collect();
    let begun = lines.iter().position(|line| line.contains("\"waited\"")).unwrap();
    let folder = scratch();
    fs::create_dir(folder.path().join(".hindmost")).unwrap();
    let shown = |count: usize| {
        fs::write(folder.path().join(".hindmost/journal.jsonl"), lines[..count].concat()).unwrap();
        seen(folder.path())
    };
    let before = shown(begun);
    assert_eq!((before.running_attempts, before.starting_attempts), (0, 1));
    let phase = &before.jobs[0].phases[0];
    assert_eq!((phase.running, phase.starting, phase.finished), (0, 1, 11));
    let [waiting] = &before.running[..] else { panic!("{before:?}") };
    assert_eq!((waiting.task, waiting.state), (5, AttemptState::Starting));
    let after = shown(begun + 1);
    assert_eq!((after.running_attempts, after.starting_attempts), (1, 0));
    assert_eq!((after.running[0].state, after.running[0].elapsed), (AttemptState::Running, 0.0));
}
