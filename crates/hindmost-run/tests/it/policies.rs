//! Every policy of the catalogue gets a live job done.

use hindmost_policies::catalogue::{ORDERS, SYSTEMS};
use hindmost_run::engine::Launch;

use crate::fake_engine::FakeTask;
use crate::story::{Story, silently, takes};

/// Every system, and every order under every system.
fn policies() -> Vec<String> {
    let systems = SYSTEMS.iter().map(|system| system.name.to_owned());
    let orders = ORDERS.iter().map(|order| order.name.to_owned());
    let pairs = ORDERS.iter().flat_map(|order| SYSTEMS.iter().map(|system| format!("{}+{}", order.name, system.name)));
    let tuned = ["mantri(kill_restart=true)", "sca(max_copies=2)", "spark(quantile=0.5,multiplier=1.5)", "late(cap=1)"];
    systems.chain(orders).chain(pairs).chain(tuned.map(str::to_owned)).collect()
}

/// Some tasks take longer than others, one much longer in its first attempt.
fn uneven(launch: &Launch<'_>) -> f64 {
    let task = launch.attempt.task;
    if (task.phase, task.index, launch.attempt.copy) == (0, 3, 0) { 90.0 } else { 8.0 + f64::from(task.index % 5) }
}

fn two_phases(policy: &str, knowledge: &str, keys: &str, plays: fn(&Launch<'_>) -> FakeTask) -> Story {
    let story = Story::on("n1:2,n2:2,n3:2").phase_with("map", 14, keys).phase("reduce", 3);
    story.policy(policy).knowledge(knowledge).chaos("slow=n3:4").plays(plays)
}

#[test]
fn every_policy_finishes_a_job_of_two_phases() {
    for policy in policies() {
        two_phases(&policy, "progress(0.1)", "", |launch| takes(uneven(launch))).run().done();
    }
}

#[test]
fn every_policy_finishes_by_age_alone() {
    for policy in policies() {
        let knowledge = if policy.len() % 2 == 0 { "age" } else { "history" };
        two_phases(&policy, knowledge, "", |launch| silently(uneven(launch))).run().done();
    }
}

#[test]
fn no_policy_copies_what_may_not_run_twice() {
    for policy in policies() {
        // The engine watches that no second copy is started; restarts of what failed are allowed.
        let told = two_phases(&policy, "progress(0.1)", "idempotent = false", |launch| takes(uneven(launch))).run();
        let told = told.done();
        for index in 0..14 {
            assert_eq!(told.ends(0, index).len(), 1, "{policy}: attempts of map/{index}");
        }
    }
}

#[test]
fn what_may_not_run_twice_is_tried_again_where_retries_allow_it() {
    let plays = |launch: &Launch<'_>| FakeTask { exit: Some(i32::from(launch.attempt.copy == 0)), ..takes(5.0) };
    for policy in policies() {
        let told = two_phases(&policy, "progress(0.1)", "idempotent = false\nretries = 1", plays).run().done();
        for index in 0..14 {
            assert_eq!(told.ends(0, index).len(), 2, "{policy}: attempts of map/{index}");
        }
    }
}
