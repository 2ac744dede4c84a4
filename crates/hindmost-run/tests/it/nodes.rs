//! Tests with nodes that are lost and return, one by one or all at once.

use hindmost_core::timeline::AttemptEnd;

use crate::test_run::{FinishedRun, TestRun, takes};

fn run_with_faults(policy: &str, chaos: &str) -> FinishedRun {
    let test_run =
        TestRun::on("n1:2,n2:2,n3:2").phase_with("map", 18, "retries = 0").phase_with("reduce", 3, "retries = 0");
    test_run.policy(policy).chaos(chaos).behaviour(|_| takes(10.0)).run().done()
}

const POLICIES: [&str; 8] = ["none", "pace", "mantri(kill_restart=true)", "late", "sca", "ese", "window", "hete_aware"];

fn lost(finished: &FinishedRun) -> usize {
    finished.outcome.timeline.rows.iter().filter(|row| row.outcome == AttemptEnd::NodeLost).count()
}

/// Returns the number of attempts that started on a node between two times, in seconds.
fn starts_on(finished: &FinishedRun, node: u32, from: f64, to: f64) -> usize {
    let rows = finished.outcome.timeline.rows.iter();
    rows.filter(|row| row.node.0 == node && (from..to).contains(&row.start.seconds())).count()
}

#[test]
fn a_lost_node_is_not_used_until_it_returns() {
    for policy in POLICIES {
        let finished = run_with_faults(policy, "lose=n2:15s@5s");
        assert!((1..=2).contains(&lost(&finished)), "{policy}");
        assert_eq!(starts_on(&finished, 1, 5.0, 20.0), 0, "{policy}");
        assert!(starts_on(&finished, 1, 20.0, 1000.0) > 0, "{policy}: the node is not used again");
        let node = &finished.outcome.timeline.nodes[1];
        let times: Vec<f64> = node.lost_and_returned.iter().map(|time| time.seconds()).collect();
        assert!(times.len() == 2 && (5.0..5.1).contains(&times[0]) && (20.0..20.2).contains(&times[1]), "{times:?}");
    }
}

#[test]
fn two_nodes_are_lost_at_once() {
    for policy in POLICIES {
        let finished = run_with_faults(policy, "lose=n1:25s@5s,lose=n3:5s@5s");
        assert!((2..=4).contains(&lost(&finished)), "{policy}");
        assert_eq!(starts_on(&finished, 0, 5.0, 30.0) + starts_on(&finished, 2, 5.0, 10.0), 0, "{policy}");
    }
}

#[test]
fn all_nodes_are_lost_for_a_while() {
    for policy in POLICIES {
        let finished = run_with_faults(policy, "lose=n1:100s@5s,lose=n2:100s@5s,lose=n3:200s@5s");
        let idle = (0..3).map(|node| starts_on(&finished, node, 5.0, 105.0)).sum::<usize>();
        assert_eq!(idle, 0, "{policy}");
        assert!(finished.flowtime() > 105.0 + 20.0, "{policy}: {}", finished.flowtime());
    }
}

#[test]
fn a_node_may_be_lost_many_times() {
    let losses: Vec<String> = (0..12).map(|at| format!("lose=n{}:1s@{}s", 1 + at % 3, 3 + at * 4)).collect();
    for policy in POLICIES {
        run_with_faults(policy, &losses.join(","));
    }
}

#[test]
fn a_node_stays_lost_until_its_last_loss_is_over() {
    let finished = run_with_faults("none", "lose=n1:1s@1s,lose=n1:15s@1.5s");
    assert_eq!(starts_on(&finished, 0, 1.0, 16.4), 0);
}

#[test]
fn a_failed_task_stays_failed_when_its_last_copy_is_lost() {
    // Each task has two copies. The copies on n1 fail at 2 s, and the copies on n2 are lost with the node at 5 s.
    let test_run = TestRun::on("n1:4,n2:4").phase_with("map", 2, "retries = 0").policy("sca(max_copies=2)");
    let test_run = test_run
        .chaos("lose=n2:5s@5s")
        .behaviour(|launch| if launch.node.0 == 0 { crate::test_run::fails(2.0) } else { takes(20.0) });
    let finished = test_run.run();
    assert_eq!(finished.outcome.summary.state, hindmost_core::metrics::RunState::Failed);
    assert_eq!(finished.outcome.summary.attempts, 4, "{:?}", finished.outcome.timeline.rows);
}

/// The policies of the catalogue that place tasks node by node, and one that does not.
const BY_NODE: [&str; 6] =
    ["dollymp", "dollymp(clone_pass=by_node)", "dollymp(clones=0)", "fifo+dollymp", "tetris", "fifo"];

#[test]
fn nothing_starts_on_a_node_lost_as_a_task_ends() {
    for policy in BY_NODE {
        // Tasks end on n3 at the same time at which it is lost, before the next round.
        let test_run = TestRun::on("n1:2,n2:2,n3:2").phase("map", 20).phase("reduce", 3).policy(policy);
        let test_run = test_run.chaos("lose=n3:5s@10s,lose=n3:3s@20s").behaviour(|_| takes(10.0));
        let finished = test_run.run().done();
        assert_eq!(starts_on(&finished, 2, 10.0, 15.0), 0, "{policy}");
        let messages = test_run.messages();
        assert!(!messages.iter().any(|line| line.contains("impossible")), "{policy}: {messages:?}");
    }
}
