//! Tests that every policy of the catalogue finishes a live job.

use hindmost_policies::catalogue::{ORDERS, SYSTEMS};
use hindmost_run::engine::Launch;
use hindmost_testing::sample;

use crate::fake_engine::FakeTask;
use crate::test_run::{TestRun, silently, takes};

/// Returns every system, every order, some tuned policies, and every order with every system; of these pairs only some in a usual run of
/// the tests.
fn policies() -> Vec<String> {
    let pairs = ORDERS.iter().flat_map(|order| SYSTEMS.iter().map(|system| format!("{}+{}", order.name, system.name)));
    let tuned = ["mantri(kill_restart=true)", "sca(max_copies=2)", "spark(quantile=0.5,multiplier=1.5)", "late(cap=1)"];
    let mut policies = systems_and_orders();
    policies.extend(sample(12, pairs).chain(tuned.map(str::to_owned)));
    policies
}

/// Returns every system and every order.
pub fn systems_and_orders() -> Vec<String> {
    let systems = SYSTEMS.iter().map(|system| system.name.to_owned());
    systems.chain(ORDERS.iter().map(|order| order.name.to_owned())).collect()
}

/// Returns the duration of an attempt in seconds. Tasks differ, and the first attempt of one task takes much longer.
fn uneven(launch: &Launch<'_>) -> f64 {
    let task = launch.attempt.task;
    if (task.phase, task.index, launch.attempt.copy) == (0, 3, 0) { 90.0 } else { 8.0 + f64::from(task.index % 5) }
}

fn two_phases(policy: &str, knowledge: &str, keys: &str, behaviour: fn(&Launch<'_>) -> FakeTask) -> TestRun {
    let test_run = TestRun::on("n1:2,n2:2,n3:2").phase_with("map", 14, keys).phase("reduce", 3);
    test_run.policy(policy).knowledge(knowledge).chaos("slow=n3:4").behaviour(behaviour)
}

#[test]
fn every_policy_finishes_a_job_of_two_phases() {
    for policy in policies() {
        two_phases(&policy, "progress(0.1)", "", |launch| takes(uneven(launch))).run().done();
    }
}

#[test]
fn every_policy_finishes_without_progress_reports() {
    for policy in policies() {
        let knowledge = if policy.len() % 2 == 0 { "age" } else { "history" };
        two_phases(&policy, knowledge, "", |launch| silently(uneven(launch))).run().done();
    }
}

#[test]
fn tasks_of_no_duration_leave_rounds_at_intervals() {
    // Windows follow from the duration of the fastest task. Without a least length, a hung attempt of 5 s gets one round a nanosecond.
    for policy in ["window(slow=0.9)", "hete_aware", "riski", "pace"] {
        let behaviour = |launch: &Launch<'_>| takes(if launch.attempt.task.index == 0 { 5.0 } else { 1e-9 });
        let finished = TestRun::on("n1:2,n2:2").phase("map", 8).policy(policy).behaviour(behaviour).run().done();
        assert!(finished.outcome.rounds < 2_000, "{policy}: {} rounds", finished.outcome.rounds);
    }
}

#[test]
fn no_policy_copies_tasks_that_may_not_run_twice() {
    for policy in policies() {
        // The engine checks that no second copy is started. Retries of failed attempts are allowed.
        let finished = two_phases(&policy, "progress(0.1)", "idempotent = false", |launch| takes(uneven(launch))).run();
        let finished = finished.done();
        for index in 0..14 {
            assert_eq!(finished.ends(0, index).len(), 1, "{policy}: attempts of map/{index}");
        }
    }
}

#[test]
fn tasks_that_may_not_run_twice_are_retried_if_allowed() {
    let behaviour = |launch: &Launch<'_>| FakeTask { exit: Some(i32::from(launch.attempt.copy == 0)), ..takes(5.0) };
    for policy in policies() {
        let finished = two_phases(&policy, "progress(0.1)", "idempotent = false\nretries = 1", behaviour).run().done();
        for index in 0..14 {
            assert_eq!(finished.ends(0, index).len(), 2, "{policy}: attempts of map/{index}");
        }
    }
}
