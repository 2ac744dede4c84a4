//! Tests with attempts that fail, end without an end marker or take too long, and of the effects on their tasks and the job.

use hindmost_core::metrics::RunState;
use hindmost_core::timeline::{AttemptEnd, Cause};

use crate::place::{Place, mended};
use crate::test_run::{FinishedRun, TestRun, fails, is_sound, result, takes, tasks, vanishes};

fn failed(end: &AttemptEnd) -> bool {
    matches!(end, AttemptEnd::Failed(Cause::Own(_)))
}

fn reason(end: &AttemptEnd) -> &str {
    if let AttemptEnd::Failed(Cause::Own(reason)) = end { reason } else { "" }
}

#[test]
fn a_task_that_fails_twice_is_tried_a_third_time() {
    let test_run = TestRun::on("n1:2,n2:2").phase("map", 6).phase("reduce", 1).policy("none");
    let finished = test_run.behaviour(|launch| {
        let task = launch.attempt.task;
        if (task.phase, task.index) == (0, 2) && launch.attempt.copy < 2 { fails(3.0) } else { takes(10.0) }
    });
    let finished = finished.run().done();
    let ends = finished.ends(0, 2);
    assert!(ends.len() == 3 && failed(&ends[0]) && failed(&ends[1]) && ends[2] == AttemptEnd::Won, "{ends:?}");
    assert!(reason(&ends[0]).contains("exit code 3"), "{ends:?}");
    // Six tasks of the first phase and one of the second, and two failed attempts.
    assert_eq!(finished.outcome.summary.attempts, 9);
    assert_eq!(finished.outcome.summary.phases[0].broken, 2);
    assert_eq!(finished.copies(), 0);
}

#[test]
fn a_task_that_fails_for_good_ends_the_job() {
    let test_run = TestRun::on("n1:3,n2:3").phase("map", 9).phase("reduce", 2).policy("none").behaviour(|launch| {
        if launch.attempt.task.index == 4 { fails(4.0) } else { takes(f64::from(1 + launch.attempt.task.index * 2)) }
    });
    let finished = test_run.run();
    let summary = &finished.outcome.summary;
    assert_eq!(summary.state, RunState::Failed);
    let failed_tasks: Vec<_> =
        summary.failed_tasks.iter().map(|task| (task.phase.as_str(), task.task, task.failures)).collect();
    assert_eq!(failed_tasks, [("map", 4, 3)]);
    assert!(summary.failed_tasks[0].reason.contains("exit code 3"), "{summary:?}");
    // The task failed for the third time at 12 s, or a little later if it waited for another node. Tasks that were finished
    // by then keep their results; running attempts were stopped.
    assert!((12.0..17.0).contains(&summary.flowtime), "{summary:?}");
    for (index, seconds) in [(0, 1.0), (1, 3.0), (2, 5.0), (3, 7.0), (5, 11.0)] {
        assert_eq!(finished.ends(0, index), [AttemptEnd::Won], "map/{index}, which takes {seconds} s");
    }
    for index in [7, 8] {
        assert_eq!(finished.ends(0, index), [AttemptEnd::Stopped], "map/{index}");
    }
    assert!(finished.ends(1, 0).is_empty() && finished.ends(1, 1).is_empty());
}

#[test]
fn a_failed_job_is_resumed_after_its_command_is_fixed() {
    let (works, behaviour) = mended(|launch| if launch.attempt.task.index == 6 { fails(1.0) } else { takes(5.0) });
    let place = TestRun::on("n1:2,n2:2").phase("map", 8).phase("reduce", 1).behaviour(behaviour).place();
    let Place { plan, out, .. } = &place;
    let outcome = place.run();
    assert_eq!(outcome.summary.state, RunState::Failed);
    is_sound(plan, out, &outcome.timeline);
    let before: Vec<_> = tasks(plan).filter(|task| result(plan, out, *task).exists()).collect();
    assert!(!before.is_empty());

    works.set(true);
    let mut checked_engine = place.engine();
    let outcome = place.run_on(&mut checked_engine);
    assert_eq!(outcome.summary.state, RunState::Done);
    is_sound(plan, out, &outcome.timeline);
    let again = checked_engine.started.iter().filter(|started| before.contains(&started.attempt.task)).count();
    assert_eq!(again, 0, "finished tasks were run again");
}

#[test]
fn an_attempt_that_ends_without_a_marker_has_failed() {
    let test_run = TestRun::on("n1:2")
        .phase("map", 4)
        .behaviour(|launch| if launch.attempt.copy < 2 { vanishes(2.0) } else { takes(2.0) });
    let finished = test_run.run().done();
    for index in 0..4 {
        let ends = finished.ends(0, index);
        assert!(ends.len() == 3 && reason(&ends[0]).contains("end marker"), "{ends:?}");
    }
    let never = TestRun::on("n1:2").phase("map", 4).behaviour(|_| vanishes(2.0)).run();
    assert_eq!(never.outcome.summary.state, RunState::Failed);
}

/// Checks that the first attempt of a task of the first phase is ended after this many seconds at its limit, and that the job is done
/// with so many attempts.
fn ends_at_limit(test_run: &TestRun, task: u32, (seconds, limit): (f64, u32), attempts: u64) {
    let finished = test_run.run().done();
    let ends = finished.ends(0, task);
    assert!(ends.len() == 2 && reason(&ends[0]).contains(&format!("time limit of {limit} s")), "{ends:?}");
    let row = finished.outcome.timeline.rows.iter().find(|row| failed(&row.outcome)).unwrap();
    assert!((seconds..seconds + 0.1).contains(&FinishedRun::seconds(row)), "{row:?}");
    assert_eq!(finished.outcome.summary.attempts, attempts);
}

#[test]
fn an_attempt_is_killed_at_its_time_limit() {
    let test_run =
        TestRun::on("n1:1,n2:1").phase_with("map", 4, "time_limit = \"20s\"").policy("none").behaviour(|launch| {
            let stuck = launch.attempt.task.index == 1 && launch.attempt.copy == 0;
            takes(if stuck { 1000.0 } else { 19.0 })
        });
    ends_at_limit(&test_run, 1, (20.0, 20), 5);
}

#[test]
fn a_limit_by_the_median_ends_an_attempt_that_has_run_longer_when_it_becomes_known() {
    // Task 0 hangs on one cpu; the others run one after the other. The third one finishes at 30 s: the limit is 20 s.
    let test_run = TestRun::on("n1:2").phase("map", 5).policy("none").time_limit_of_median(2.0).behaviour(|launch| {
        let hangs = launch.attempt.task.index == 0 && launch.attempt.copy == 0;
        takes(if hangs { 1000.0 } else { 10.0 })
    });
    ends_at_limit(&test_run, 0, (30.0, 20), 6);
}

#[test]
fn a_limit_by_the_median_that_becomes_lower_holds_for_running_attempts() {
    // The limit is 120 s when task 3 starts. When four tasks of 4 s have finished, 8 s later, it is 12 s.
    let test_run = TestRun::on("n1:3").phase("map", 8).policy("none").time_limit_of_median(3.0).behaviour(|launch| {
        takes(match (launch.attempt.task.index, launch.attempt.copy) {
            (0..3, _) => 40.0,
            (3, 0) => 1000.0,
            _ => 4.0,
        })
    });
    ends_at_limit(&test_run, 3, (12.0, 12), 9);
}

#[test]
fn without_retries_one_failure_fails_the_job() {
    let test_run = TestRun::on("n1:2")
        .phase_with("map", 4, "idempotent = false")
        .behaviour(|launch| if launch.attempt.task.index == 1 { fails(2.0) } else { takes(5.0) });
    let finished = test_run.run();
    assert_eq!(finished.outcome.summary.state, RunState::Failed);
    assert_eq!(finished.ends(0, 1).len(), 1);
}

#[test]
fn a_node_where_everything_fails_does_not_fail_the_job() {
    // A failed task is tried again on another node.
    for policy in ["none", "pace", "mantri", "late"] {
        let test_run = TestRun::on("n1:2,n2:2,n3:2")
            .phase("map", 12)
            .policy(policy)
            .behaviour(|launch| if launch.node.0 == 0 { fails(0.5) } else { takes(10.0) });
        let finished = test_run.run();
        assert_eq!(
            finished.outcome.summary.state,
            RunState::Done,
            "{policy}: {:?}",
            finished.outcome.summary.failed_tasks
        );
    }
}

#[test]
fn attempts_killed_by_fault_injection_do_not_count_as_failed() {
    for seed in 0..20 {
        for policy in ["none", "pace", "sca", "mantri(kill_restart=true)"] {
            let test_run =
                TestRun::on("n1:2,n2:2").phase_with("map", 12, "retries = 0").phase_with("end", 2, "retries = 0");
            // Before durations are known, the typical duration is taken as 1 s.
            let finished =
                test_run.policy(policy).chaos(&format!("kill=0.5,seed={seed}")).behaviour(|_| takes(2.0)).run();
            let finished = finished.done();
            let killed = AttemptEnd::Failed(Cause::External(Some("killed by fault injection".into())));
            let count = finished.outcome.timeline.rows.iter().filter(|row| row.outcome == killed).count();
            assert!(count > 0, "seed {seed}: nothing was killed");
        }
    }
}

#[test]
fn failed_copies_do_not_fail_a_task_while_another_runs() {
    // Each task has clones: the first copy works, the others fail after 1 s.
    let test_run = TestRun::on("n1:4,n2:4,n3:4")
        .phase_with("map", 2, "retries = 0")
        .policy("sca")
        .behaviour(|launch| if launch.attempt.copy == 0 { takes(30.0) } else { fails(1.0) });
    let finished = test_run.run().done();
    assert!(finished.copies() > 0, "{:?}", finished.outcome.summary);
    for index in 0..2 {
        assert_eq!(finished.ends(0, index)[0], AttemptEnd::Won);
    }
}

#[test]
fn a_task_that_avoids_the_free_node_does_not_delay_others() {
    for policy in ["none", "pace", "mantri"] {
        // The first task fails on n1 after 1 s and waits for n2, which is free at 10 s. n1 continues with the next task.
        let test_run = TestRun::on("n1:1,n2:1").phase("map", 4).policy(policy).behaviour(|launch| {
            if launch.attempt.task.index == 0 && launch.attempt.copy == 0 { fails(1.0) } else { takes(10.0) }
        });
        let finished = test_run.run().done();
        assert_eq!(finished.nodes_of(0, 0), ["n1", "n2"], "{policy}");
        assert!((finished.flowtime() - 21.0).abs() < 0.1, "{policy}: {}", finished.flowtime());
    }
}
