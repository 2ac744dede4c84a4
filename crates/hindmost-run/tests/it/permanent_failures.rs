//! Tests of jobs that go on after tasks have failed permanently: `keep_going` and `allowed_failures`.

use std::collections::BTreeSet;
use std::fs;

use hindmost_core::metrics::{RunState, RunSummary};
use hindmost_core::record::{Change, Event};
use hindmost_core::timeline::AttemptEnd;
use hindmost_policies::catalogue::{ORDERS, SYSTEMS};
use hindmost_run::engine::Launch;

use crate::checked_engine::CheckedEngine;
use crate::crashes::contents;
use crate::fake_engine::FakeTask;
use crate::place::{Place, mended};
use crate::test_run::{TestRun, fails, is_sound, records, result, takes, tasks, verified};

/// Returns the names of the failed tasks.
fn failed(summary: &RunSummary) -> Vec<String> {
    summary.failed_tasks.iter().map(|task| format!("{}/{}", task.phase, task.task)).collect()
}

/// Tasks 1 and 3 of the first phase fail.
fn two_fail(launch: &Launch<'_>) -> FakeTask {
    let task = launch.attempt.task;
    if task.phase == 0 && [1, 3].contains(&task.index) { fails(1.0) } else { takes(4.0) }
}

#[test]
fn everything_that_can_run_is_run_before_the_job_fails() {
    let test_run = TestRun::on("n1:2").phase_with("map", 9, "keep_going = true").phase("reduce", 1);
    let finished = test_run.behaviour(two_fail).run();
    let summary = &finished.outcome.summary;
    assert_eq!((summary.state, failed(summary)), (RunState::Failed, vec!["map/1".to_owned(), "map/3".to_owned()]));
    assert_eq!(summary.failed_tasks[0].failures, 3);
    for index in [0, 2, 4, 5, 6, 7, 8] {
        // While a failed task waits for its retry, another one may get a backup.
        assert_eq!(finished.ends(0, index)[0], AttemptEnd::Won, "map/{index}");
    }
    assert!(finished.ends(1, 0).is_empty(), "the next phase waits for the failed tasks");
    let ends = |event: &Event| matches!(event, Event::TaskWithheld { until: None, .. });
    let withheld = records(&finished.place.out);
    let withheld = withheld.iter().filter(|record| matches!(&record.change, Change::Event(event) if ends(event)));
    assert_eq!(withheld.count(), 2);
}

#[test]
fn a_phase_that_does_not_keep_going_stops_the_job() {
    let test_run = TestRun::on("n1:1").phase_with("map", 9, "keep_going = false").behaviour(two_fail);
    let summary = test_run.run().outcome.summary;
    assert_eq!((summary.state, failed(&summary)), (RunState::Failed, vec!["map/1".to_owned()]));
    assert!(summary.phases[0].finished < 7, "{summary:?}");
}

#[test]
fn later_phases_run_without_tasks_that_may_fail() {
    for allowed in ["2", "\"25%\""] {
        let test_run = TestRun::on("n1:2").phase_with("map", 9, &format!("allowed_failures = {allowed}"));
        let finished = test_run.phase("reduce", 2).behaviour(two_fail).run();
        let summary = &finished.outcome.summary;
        assert_eq!((summary.state, failed(summary).len()), (RunState::Done, 2), "{summary:?}");
        let finishes: Vec<u64> = summary.phases.iter().map(|phase| phase.finished).collect();
        assert_eq!(finishes, [7, 2]);
        for task in tasks(&finished.place.plan) {
            let has_result = result(&finished.place.plan, &finished.place.out, task).exists();
            assert_eq!(has_result, task.phase == 1 || ![1, 3].contains(&task.index), "{task}");
        }
    }
}

#[test]
fn one_failure_more_than_allowed_fails_the_job() {
    let map = |keys: &str| TestRun::on("n1:2").phase_with("map", 9, keys).phase("reduce", 1).behaviour(two_fail).run();
    let at_once = map("allowed_failures = 1");
    let summary = &at_once.outcome.summary;
    assert_eq!((summary.state, failed(summary).len()), (RunState::Failed, 2));
    assert!(summary.phases[0].finished < 7, "{summary:?}");
    let at_the_end = map("allowed_failures = \"20%\"\nkeep_going = true");
    let summary = &at_the_end.outcome.summary;
    assert_eq!((summary.state, failed(summary).len(), summary.phases[0].finished), (RunState::Failed, 2, 7));
    assert!(at_the_end.ends(1, 0).is_empty());
}

#[test]
fn a_job_may_consist_of_failed_tasks_only() {
    let test_run = TestRun::on("n1:2").phase_with("map", 3, "allowed_failures = \"100%\"").behaviour(|_| fails(1.0));
    let summary = test_run.run().outcome.summary;
    assert_eq!((summary.state, summary.failed_tasks.len()), (RunState::Done, 3));
}

#[test]
fn every_policy_goes_on_after_failures() {
    let systems = SYSTEMS.iter().map(|system| system.name.to_owned());
    let orders = ORDERS.iter().map(|order| order.name.to_owned());
    for policy in systems.chain(orders) {
        for (keys, state) in [("allowed_failures = 2", RunState::Done), ("keep_going = true", RunState::Failed)] {
            let test_run = TestRun::on("n1:2,n2:2").phase_with("map", 9, keys).phase("reduce", 2).policy(&policy);
            let summary = test_run.behaviour(two_fail).run().outcome.summary;
            assert_eq!((summary.state, failed(&summary).len()), (state, 2), "{policy}: {summary:?}");
            assert_eq!(summary.phases[0].finished, 7, "{policy}");
        }
    }
}

#[test]
fn a_task_that_always_takes_too_long_fails_whatever_copies_it_gets() {
    let systems = SYSTEMS.iter().map(|system| system.name.to_owned());
    for (policy, knowledge) in systems.flat_map(|name| [(name.clone(), "age"), (name, "progress(0.1)")]) {
        // Task 7 takes ten times as long as the others and longer than the limit, so each of its attempts fails.
        let long = |launch: &Launch<'_>| if launch.attempt.task.index == 7 { 60.0 } else { 6.0 };
        let test_run = TestRun::on("n1:2,n2:2").phase_with("map", 24, "time_limit = 20\nretries = 2");
        let test_run = test_run.policy(&policy).knowledge(knowledge);
        let finished = test_run.behaviour(move |launch| takes(long(launch))).run();
        let summary = &finished.outcome.summary;
        assert_eq!((summary.state, failed(summary)), (RunState::Failed, vec!["map/7".to_owned()]), "{policy}");
        // Two tries are left after the first failure. A copy runs beside each one at most, or a few for cloning policies.
        let attempts = finished.ends(0, 7).len();
        assert!((3..=16).contains(&attempts), "{policy}, {knowledge}: {attempts} attempts");
    }
}

#[test]
fn failed_tasks_of_a_failed_job_are_tried_again_when_it_is_resumed() {
    let (works, behaviour) = mended(two_fail);
    let test_run = TestRun::on("n1:2").phase_with("map", 6, "keep_going = true").phase("reduce", 1);
    let place = test_run.behaviour(behaviour).place();
    assert_eq!(place.run().summary.state, RunState::Failed);
    let again = place.run();
    assert_eq!((again.summary.state, failed(&again.summary).len()), (RunState::Failed, 2));
    works.set(true);
    let done = place.run();
    assert_eq!((done.summary.state, failed(&done.summary).len()), (RunState::Done, 0));
    is_sound(&place.plan, &place.out, &done.timeline);
}

#[test]
fn a_phase_with_too_many_failures_tries_all_failed_tasks_again() {
    for keys in ["allowed_failures = 1", "allowed_failures = 1\nkeep_going = true"] {
        let (works, behaviour) = mended(two_fail);
        let test_run = TestRun::on("n1:2").phase_with("map", 6, keys).phase("reduce", 1);
        let place = test_run.behaviour(behaviour).place();
        assert_eq!(place.run().summary.state, RunState::Failed);
        works.set(true);
        let done = place.run();
        // None of the two stays failed because it happened to fail first.
        assert_eq!((done.summary.state, failed(&done.summary).len()), (RunState::Done, 0));
        assert_eq!(contents(&place.plan, &place.out).len(), 7);
    }
}

#[test]
fn tasks_that_may_fail_stay_failed_until_the_user_wants_otherwise() {
    let (works, behaviour) = mended(two_fail);
    let test_run = TestRun::on("n1:2").phase_with("map", 6, "allowed_failures = 3").phase("reduce", 1);
    let place = test_run.behaviour(behaviour).place();
    assert_eq!(place.run().summary.state, RunState::Done);
    let before = contents(&place.plan, &place.out);
    works.set(true);
    let mut engine = place.engine();
    let same = place.run_on(&mut engine);
    assert!(engine.started.is_empty());
    assert_eq!((same.summary.state, failed(&same.summary).len()), (RunState::Done, 2));
    assert_eq!(same.summary.failed_tasks[0].failures, 3);
    assert_eq!(contents(&place.plan, &place.out), before);
    // The failed tasks and the phase that ran without their results run again.
    let place = place.with(place.test_run.clone().retry_failed());
    let mut engine = place.engine();
    let done = place.run_on(&mut engine);
    assert_eq!((started(&engine), engine.started.len()), (vec![(0, 1), (0, 3), (1, 0)], 3));
    assert_eq!((done.summary.state, failed(&done.summary).len()), (RunState::Done, 0));
    assert_eq!(contents(&place.plan, &place.out).len(), 7);
    verified(&place.out);
}

/// Returns the phases and numbers of the tasks of which an engine has started attempts, sorted, each once.
fn started(engine: &CheckedEngine) -> Vec<(u32, u32)> {
    let tasks = engine.started.iter().map(|started| (started.attempt.task.phase, started.attempt.task.index));
    tasks.collect::<BTreeSet<_>>().into_iter().collect()
}

/// Runs a job of which tasks 1 and 3 fail as allowed, and removes the result of task 0.
fn lose_a_result(place: Place) -> Place {
    assert_eq!(place.run().summary.state, RunState::Done);
    fs::remove_dir_all(place.out.join("map/0")).unwrap();
    place
}

#[test]
fn tasks_that_may_fail_stay_failed_when_others_run_again() {
    let test_run = TestRun::on("n1:2").phase_with("map", 6, "allowed_failures = 2").phase("reduce", 1);
    let test_run = test_run.phase_with("last", 2, "allowed_failures = 1").policy("none").behaviour(|launch| {
        let task = launch.attempt.task;
        if (task.phase, task.index) == (2, 1) { fails(1.0) } else { two_fail(launch) }
    });
    let whole = lose_a_result(test_run.place());
    let mut engine = whole.engine();
    let again = whole.run_on(&mut engine);
    // A task that had failed runs again if it comes after one that runs again.
    assert_eq!(started(&engine), [(0, 0), (1, 0), (2, 0), (2, 1)]);
    let names = ["map/1", "map/3", "last/1"].map(str::to_owned);
    for outcome in [&again, &whole.run()] {
        let summary = &outcome.summary;
        assert_eq!((summary.state, failed(summary)), (RunState::Done, names.to_vec()));
        assert!(summary.failed_tasks.iter().all(|task| (task.failures, task.exit_code) == (3, Some(3))), "{summary:?}");
    }
    let table = fs::read_to_string(whole.out.join("results.tsv")).unwrap();
    assert!(table.contains("map\t1\t\t\t3\t\tfailed\t\t\t\t\n"), "{table}");
    verified(&whole.out);
    // The same holds wherever the resumed run dies.
    for (number, moment) in engine.moments.iter().enumerate() {
        let place = lose_a_result(whole.another(number));
        let mut engine = place.dies_at(*moment, number % 2 == 0);
        let outcome = place.run_on(&mut engine);
        assert_eq!((outcome.summary.state, failed(&outcome.summary)), (RunState::Done, names.to_vec()), "{moment}");
        assert!(started(&engine).iter().all(|task| ![(0, 1), (0, 3)].contains(task)), "moment {moment}");
        verified(&place.out);
    }
}

#[test]
fn fewer_allowed_failures_let_the_failed_tasks_run_again() {
    let (works, behaviour) = mended(two_fail);
    let allowing =
        |keys: &str| TestRun::on("n1:2").phase_with("map", 6, keys).phase("reduce", 1).behaviour(behaviour.clone());
    let first = allowing("allowed_failures = 2").place();
    assert_eq!(first.run().summary.state, RunState::Done);
    for keys in ["", "allowed_failures = 1"] {
        let fewer = first.with(allowing(&format!("{keys}\nkeep_going = true")));
        let mut engine = fewer.engine();
        let again = fewer.run_on(&mut engine);
        assert_eq!((again.summary.state, failed(&again.summary).len()), (RunState::Failed, 2), "{keys}");
        assert_eq!(started(&engine), [(0, 1), (0, 3)], "{keys}");
    }
    works.set(true);
    let done = first.run();
    // The failure that the last run allowed stays.
    assert_eq!((done.summary.state, contents(&first.plan, &first.out).len()), (RunState::Done, 6));
    verified(&first.out);
}

#[test]
fn fewer_allowed_failures_fail_a_job_whose_tasks_may_not_run_twice() {
    let allowing = |number: u32| {
        let keys = format!("allowed_failures = {number}\nidempotent = false");
        TestRun::on("n1:2").phase_with("map", 6, &keys).behaviour(two_fail)
    };
    let first = allowing(2).place();
    assert_eq!(first.run().summary.state, RunState::Done);
    for (allowed, state) in [(1, RunState::Failed), (0, RunState::Failed), (2, RunState::Done)] {
        let place = first.with(allowing(allowed));
        let mut engine = place.engine();
        let outcome = place.run_on(&mut engine);
        assert_eq!((outcome.summary.state, engine.started.is_empty()), (state, true), "{allowed}");
        assert_eq!(contents(&place.plan, &place.out).len(), 4);
        verified(&place.out);
    }
}

#[test]
fn a_task_that_may_not_run_twice_stays_failed_in_every_resumed_run() {
    let keys = "idempotent = false\nkeep_going = true";
    let place = TestRun::on("n1:2").phase_with("map", 6, keys).behaviour(two_fail).place();
    for resumes in [false, true, true] {
        let mut engine = place.engine();
        let outcome = place.run_on(&mut engine);
        assert_eq!(engine.started.is_empty(), resumes);
        assert_eq!((outcome.summary.state, failed(&outcome.summary).len()), (RunState::Failed, 2));
        verified(&place.out);
    }
}

#[test]
fn a_run_with_failed_tasks_can_be_resumed_at_any_moment() {
    let test_run =
        TestRun::on("n1:2,n2:1").phase_with("map", 7, "allowed_failures = 1\nkeep_going = true\nretries = 1");
    let whole = test_run.phase("reduce", 1).behaviour(two_fail).place();
    let mut engine = whole.engine();
    assert_eq!(whole.run_on(&mut engine).summary.state, RunState::Failed);
    for (number, moment) in engine.moments.iter().enumerate() {
        let place = whole.another(number);
        let (plan, out) = (&place.plan, &place.out);
        let mut engine = place.dies_at(*moment, number % 2 == 0);
        let held = contents(plan, out);
        let outcome = place.run_on(&mut engine);
        assert_eq!((outcome.summary.state, failed(&outcome.summary).len()), (RunState::Failed, 2), "moment {moment}");
        // A run that died after one failure too many begins again: its earlier winners are in the earlier journal.
        if out.join(".hindmost/journal-1.jsonl").exists() {
            verified(out);
        } else {
            is_sound(plan, out, &outcome.timeline);
        }
        let now = contents(plan, out);
        assert_eq!(now.len(), 5);
        assert!(held.iter().all(|(task, by)| now[task] == *by));
    }
}

/// Task 0 fails twice.
fn fails_twice(launch: &Launch<'_>) -> FakeTask {
    let is_first = launch.attempt.task.index == 0 && launch.attempt.copy < 2;
    if is_first { fails(1.0) } else { takes(4.0) }
}

#[test]
fn retries_wait_longer_and_longer_while_others_run() {
    let test_run = TestRun::on("n1:1").phase_with("map", 6, "retry_delay = \"5s\"").policy("none");
    let finished = test_run.behaviour(fails_twice).run().done();
    let task = hindmost_core::ids::TaskId { job: hindmost_core::ids::JobId(0), phase: 0, index: 0 };
    let rows: Vec<_> = finished.outcome.timeline.attempts_of(task).collect();
    let pauses: Vec<f64> = rows.windows(2).map(|pair| (pair[1].start - pair[0].end).seconds()).collect();
    assert!(pauses.len() == 2 && pauses[0] >= 5.0 && pauses[1] >= 10.0, "{pauses:?}");
    // The other tasks use the slot meanwhile: five of them and three attempts take 26 s, without long gaps.
    assert!(finished.flowtime() < 30.0, "{}", finished.flowtime());
}

#[test]
fn a_delayed_retry_survives_the_death_of_the_driver() {
    let whole = TestRun::on("n1:2").phase_with("map", 2, "retry_delay = \"30s\"").behaviour(fails_twice).place();
    let mut engine = whole.engine();
    whole.run_on(&mut engine);
    let mut waited = 0;
    for (number, moment) in engine.moments.iter().enumerate() {
        let place = whole.another(number);
        let out = &place.out;
        let mut engine = place.dies_at(*moment, false);
        let withheld = |record: &hindmost_core::record::Record| match &record.change {
            Change::Event(Event::TaskWithheld { until, .. }) => *until,
            _ => None,
        };
        let until = records(out).iter().rev().find_map(withheld);
        let returned = |change: &Change| matches!(change, Change::Event(Event::TaskReturned { .. }));
        let had_returned = records(out).iter().filter(|record| returned(&record.change)).count();
        let outcome = place.run_on(&mut engine);
        assert_eq!(outcome.summary.state, RunState::Done, "moment {moment}");
        is_sound(&place.plan, out, &outcome.timeline);
        let all = records(out);
        let mut returns = all.iter().filter(|record| returned(&record.change));
        if let (Some(until), Some(first)) = (until, returns.nth(had_returned)) {
            assert!(first.at >= until, "moment {moment}: returned at {} before {until}", first.at);
            waited += 1;
        }
    }
    assert!(waited > 0, "no driver died while a task waited");
}
