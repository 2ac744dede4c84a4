//! Attempts that fail, vanish or take too long, and what becomes of their tasks and of the job.

use std::cell::Cell;
use std::rc::Rc;

use hindmost_core::metrics::RunState;
use hindmost_core::timeline::{AttemptEnd, Cause};

use crate::story::{Story, Told, fails, scratch, takes, tasks, vanishes};

fn failed(end: &AttemptEnd) -> bool {
    matches!(end, AttemptEnd::Failed(Cause::Own(_)))
}

fn reason(end: &AttemptEnd) -> &str {
    if let AttemptEnd::Failed(Cause::Own(reason)) = end { reason } else { "" }
}

#[test]
fn a_task_that_fails_twice_is_tried_a_third_time() {
    let story = Story::on("n1:2,n2:2").phase("map", 6).phase("reduce", 1).policy("none");
    let told = story.plays(|launch| {
        let task = launch.attempt.task;
        if (task.phase, task.index) == (0, 2) && launch.attempt.copy < 2 { fails(3.0) } else { takes(10.0) }
    });
    let told = told.run().done();
    let ends = told.ends(0, 2);
    assert!(ends.len() == 3 && failed(&ends[0]) && failed(&ends[1]) && ends[2] == AttemptEnd::Won, "{ends:?}");
    assert!(reason(&ends[0]).contains("exit code 3"), "{ends:?}");
    // Six of the others' ten seconds, and three and three and ten.
    assert_eq!(told.outcome.summary.attempts, 9);
    assert_eq!(told.outcome.summary.phases[0].broken, 2);
    assert_eq!(told.copies(), 0);
}

#[test]
fn a_task_that_fails_for_good_ends_the_job() {
    let story = Story::on("n1:3,n2:3").phase("map", 9).phase("reduce", 2).policy("none").plays(|launch| {
        if launch.attempt.task.index == 4 { fails(4.0) } else { takes(f64::from(1 + launch.attempt.task.index * 2)) }
    });
    let told = story.run();
    let summary = &told.outcome.summary;
    assert_eq!(summary.state, RunState::Failed);
    let failed_tasks: Vec<_> =
        summary.failed_tasks.iter().map(|task| (task.phase.as_str(), task.task, task.failures)).collect();
    assert_eq!(failed_tasks, [("map", 4, 3)]);
    assert!(summary.failed_tasks[0].reason.contains("exit code 3"), "{summary:?}");
    // It failed for the third time at 12 s, or a little later if it waited for another node. What was done by
    // then stays, what was at work was stopped.
    assert!((12.0..17.0).contains(&summary.flowtime), "{summary:?}");
    for (index, seconds) in [(0, 1.0), (1, 3.0), (2, 5.0), (3, 7.0), (5, 11.0)] {
        assert_eq!(told.ends(0, index), [AttemptEnd::Won], "map/{index}, which takes {seconds} s");
    }
    for index in [7, 8] {
        assert_eq!(told.ends(0, index), [AttemptEnd::Stopped], "map/{index}");
    }
    assert!(told.ends(1, 0).is_empty() && told.ends(1, 1).is_empty());
}

#[test]
fn a_job_that_failed_goes_on_once_its_command_works() {
    let works = Rc::new(Cell::new(false));
    let now_works = Rc::clone(&works);
    let story = Story::on("n1:2,n2:2")
        .phase("map", 8)
        .phase("reduce", 1)
        .plays(move |launch| if launch.attempt.task.index == 6 && !now_works.get() { fails(1.0) } else { takes(5.0) });
    let folder = scratch();
    let (plan, out) = (story.plan(folder.path()), folder.path().join("out"));
    std::fs::create_dir(&out).unwrap();
    let out = out.canonicalize().unwrap();
    let mut world = story.world(&plan, &out);
    let outcome = story.tell(&plan, &out, false, &mut world).unwrap();
    assert_eq!(outcome.summary.state, RunState::Failed);
    crate::story::is_sound(&plan, &out, &outcome.timeline);
    let before: Vec<_> = tasks(&plan).filter(|task| crate::story::result(&plan, &out, *task).exists()).collect();
    assert!(!before.is_empty());

    works.set(true);
    let mut world = story.world(&plan, &out);
    let outcome = story.tell(&plan, &out, true, &mut world).unwrap();
    assert_eq!(outcome.summary.state, RunState::Done);
    crate::story::is_sound(&plan, &out, &outcome.timeline);
    let again = world.started.iter().filter(|started| before.contains(&started.attempt.task)).count();
    assert_eq!(again, 0, "finished tasks were run again");
}

#[test]
fn an_attempt_that_ends_without_a_marker_has_failed() {
    let story = Story::on("n1:2")
        .phase("map", 4)
        .plays(|launch| if launch.attempt.copy < 2 { vanishes(2.0) } else { takes(2.0) });
    let told = story.run().done();
    for index in 0..4 {
        let ends = told.ends(0, index);
        assert!(ends.len() == 3 && reason(&ends[0]).contains("end marker"), "{ends:?}");
    }
    let never = Story::on("n1:2").phase("map", 4).plays(|_| vanishes(2.0)).run();
    assert_eq!(never.outcome.summary.state, RunState::Failed);
}

#[test]
fn an_attempt_may_take_as_long_as_its_time_limit() {
    let story = Story::on("n1:1,n2:1").phase_with("map", 4, "time_limit = \"20s\"").policy("none").plays(|launch| {
        let stuck = launch.attempt.task.index == 1 && launch.attempt.copy == 0;
        takes(if stuck { 1000.0 } else { 19.0 })
    });
    let told = story.run().done();
    let ends = told.ends(0, 1);
    assert!(ends.len() == 2 && reason(&ends[0]).contains("time limit of 20 s"), "{ends:?}");
    let row = told.outcome.timeline.rows.iter().find(|row| failed(&row.outcome)).unwrap();
    assert!((20.0..20.1).contains(&Told::seconds(row)), "{row:?}");
    assert_eq!(told.outcome.summary.attempts, 5);
}

#[test]
fn without_retries_one_failure_is_enough() {
    let story = Story::on("n1:2")
        .phase_with("map", 4, "idempotent = false")
        .plays(|launch| if launch.attempt.task.index == 1 { fails(2.0) } else { takes(5.0) });
    let told = story.run();
    assert_eq!(told.outcome.summary.state, RunState::Failed);
    assert_eq!(told.ends(0, 1).len(), 1);
}

#[test]
fn a_node_on_which_everything_fails_does_not_fail_the_job() {
    // Tried again, on another node if there is one.
    for policy in ["none", "pace", "mantri", "late"] {
        let story = Story::on("n1:2,n2:2,n3:2")
            .phase("map", 12)
            .policy(policy)
            .plays(|launch| if launch.node.0 == 0 { fails(0.5) } else { takes(10.0) });
        let told = story.run();
        assert_eq!(told.outcome.summary.state, RunState::Done, "{policy}: {:?}", told.outcome.summary.failed_tasks);
    }
}

#[test]
fn what_fault_injection_kills_is_no_failure() {
    for seed in 0..20 {
        for policy in ["none", "pace", "sca", "mantri(kill_restart=true)"] {
            let story = Story::on("n1:2,n2:2").phase_with("map", 12, "retries = 0").phase_with("end", 2, "retries = 0");
            // Without durations that are known, a second is typical.
            let told = story.policy(policy).chaos(&format!("kill=0.5,seed={seed}")).plays(|_| takes(2.0)).run();
            let told = told.done();
            let killed = AttemptEnd::Failed(Cause::External(Some("killed by fault injection".into())));
            let count = told.outcome.timeline.rows.iter().filter(|row| row.outcome == killed).count();
            assert!(count > 0, "seed {seed}: nothing was killed");
        }
    }
}

#[test]
fn copies_that_fail_do_not_fail_a_task_while_another_runs() {
    // Clones of each task: the first fail at once, one works.
    let story = Story::on("n1:4,n2:4,n3:4")
        .phase_with("map", 2, "retries = 0")
        .policy("sca")
        .plays(|launch| if launch.attempt.copy == 0 { takes(30.0) } else { fails(1.0) });
    let told = story.run().done();
    assert!(told.copies() > 0, "{:?}", told.outcome.summary);
    for index in 0..2 {
        assert_eq!(told.ends(0, index)[0], AttemptEnd::Won);
    }
}

#[test]
fn a_task_that_avoids_the_free_node_does_not_hold_up_the_others() {
    for policy in ["none", "pace", "mantri"] {
        // The first fails on n1 after 1 s and waits for n2, which is free at 10 s; n1 goes on with the next.
        let story = Story::on("n1:1,n2:1").phase("map", 4).policy(policy).plays(|launch| {
            if launch.attempt.task.index == 0 && launch.attempt.copy == 0 { fails(1.0) } else { takes(10.0) }
        });
        let told = story.run().done();
        assert_eq!(told.nodes_of(0, 0), ["n1", "n2"], "{policy}");
        assert!((told.flowtime() - 21.0).abs() < 0.1, "{policy}: {}", told.flowtime());
    }
}
