//! Outages of simulated nodes, worked by hand.

use std::sync::Arc;

use hindmost_core::ids::NodeId;
use hindmost_core::policy::losing_copies::Keep;
use hindmost_core::record::{Change, Event};
use hindmost_core::time::Time;
use hindmost_sim::driver::AsRecorded;
use hindmost_sim::experiment::Experiment;
use hindmost_sim::output::Outcome::{Lost, NodeLost, Won};
use hindmost_sim::scenario::Scenario;
use hindmost_sim::testing::World;

use crate::experiments::run_on;
use crate::scenarios::parse;

#[test]
fn a_lost_attempt_starts_again_elsewhere() {
    // Node 0 is lost after 3 of 5 seconds. The task's second attempt takes 7 s on node 1 once it is free at 4.
    let world = World::machines(2).job("a").tasks([vec![5.0, 7.0], vec![4.0]]);
    let run = world.outage(0, 3.0, 100.0).run("none");
    assert_eq!(run.table("a"), [(0, 0, 0, 0.0, 3.0, NodeLost), (0, 1, 1, 4.0, 11.0, Won), (1, 0, 1, 0.0, 4.0, Won)]);
    let result = &run.result;
    assert_eq!((result.attempts, result.lost_attempts, result.copies_launched, result.copies_won), (3, 1, 0, 0));
    // 3 s were lost; 3 + 7 + 4 machine-seconds were used, of 2 × 11.
    assert_eq!((result.wasted, result.resource[0], result.makespan), (3.0, 14.0, 11.0));
    assert_eq!(result.utilization, 14.0 / 22.0);
    assert!(run.verify().is_ok());
}

#[test]
fn a_node_that_returns_is_used_again() {
    let run = World::machines(1).job("a").tasks([[5.0, 6.0]]).outage(0, 2.0, 9.5).run("none");
    assert_eq!(run.table("a"), [(0, 0, 0, 0.0, 2.0, NodeLost), (0, 1, 0, 9.5, 15.5, Won)]);
}

#[test]
fn a_node_that_leaves_takes_no_more_attempts() {
    // Two nodes of two processors; tasks take 2 s or 3 s. Node 1 leaves at 3, and its attempts end at 4 and at 5. With free slots
    // until it is empty, it would run all eight tasks to the end.
    let nodes = [[("cpus", 2.0)], [("cpus", 2.0)]];
    let mut world = World::nodes(nodes).job("a").tasks((0..8).map(|task| [if task % 4 == 3 { 3.0 } else { 2.0 }]));
    world.setup.as_recorded =
        Some(Arc::new(AsRecorded { leaving: vec![(NodeId(1), Time::from_seconds(3.0))], ..AsRecorded::default() }));
    let run = world.run("none");
    let of_node_1: Vec<(u32, f64, f64)> =
        run.table("a").into_iter().filter(|row| row.2 == 1).map(|row| (row.0, row.3, row.4)).collect();
    assert_eq!(of_node_1, [(2, 0.0, 2.0), (3, 0.0, 3.0), (6, 2.0, 4.0)]);
    // The last task waits for node 0.
    assert_eq!(run.result.makespan, 7.0);
    assert!(run.verify().is_ok());
    // The last node stays.
    let everything = vec![(NodeId(0), Time::from_seconds(1.0)), (NodeId(1), Time::from_seconds(1.0))];
    let mut world = World::machines(2).job("a").tasks([[2.0], [2.0], [2.0], [2.0]]);
    world.setup.as_recorded = Some(Arc::new(AsRecorded { leaving: everything, ..AsRecorded::default() }));
    assert_eq!(world.run("none").result.makespan, 6.0);
}

#[test]
fn overlapping_outages_are_merged() {
    let world = World::machines(1).job("a").tasks([[5.0, 6.0]]);
    let run = world.outage(0, 4.0, 9.0).outage(0, 2.0, 5.0).outage(0, 9.0, 10.0).outage(0, 3.0, 3.5).run("none");
    assert_eq!(run.table("a"), [(0, 0, 0, 0.0, 2.0, NodeLost), (0, 1, 0, 10.0, 16.0, Won)]);
}

#[test]
fn an_attempt_that_finishes_at_the_loss_has_won() {
    let run = World::machines(2).job("a").tasks([[5.0, 6.0]]).outage(0, 5.0, 9.0).run("none");
    assert_eq!(run.table("a"), [(0, 0, 0, 0.0, 5.0, Won)]);
}

#[test]
fn a_slot_delays_the_restart_but_not_the_loss() {
    let run = World::machines(2).slot(2.0).job("a").tasks([[5.0, 6.0]]).outage(0, 2.5, 9.0).run("none");
    assert_eq!(run.table("a"), [(0, 0, 0, 0.0, 2.5, NodeLost), (0, 1, 1, 4.0, 10.0, Won)]);
}

#[test]
fn a_clone_survives_the_loss_of_its_sibling() {
    // Of two clones on two nodes, the first would finish at 3; its node is lost at 1, so the second one wins at 8.
    let world = World::machines(2).job("a").tasks([[3.0, 8.0]]);
    let run = world.outage(0, 1.0, 2.0).run("dolly(p=0.2,budget=1,utilization=1)");
    assert_eq!(run.table("a"), [(0, 0, 0, 0.0, 1.0, NodeLost), (0, 1, 1, 0.0, 8.0, Won)]);
    assert_eq!((run.result.copies_launched, run.result.copies_won), (1, 1));
}

#[test]
fn losing_the_last_kept_copy_retires_its_job() {
    // The first copy wins at 3 on node 1; the second one is kept for its output until its node, node 0, is lost at 5.
    let mut world = World::machines(2).racks(["a", "b"]).network(1e9, 1e9).keeping(Keep::BestLocality);
    world = world.job("a").tasks([[3.0, 8.0]]).input(10).replicas([[1]]).job("b").at(6.0).same(1, 1.0);
    let run = world.outage(0, 5.0, 20.0).run("dolly(p=0.2,budget=1,utilization=1)");
    let kept = run.tries("a").into_iter().find(|one| one.outcome != Won).unwrap();
    assert_eq!((kept.end, kept.outcome), (5.0, NodeLost), "{:?}", run.tries("a"));
    assert_eq!(run.jobs.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert!(run.verify().is_ok());
}

#[test]
fn a_run_ends_with_its_jobs_before_later_outages() {
    let run = World::machines(1).job("a").same(1, 1.0).outage(0, 50.0, 60.0).run("none");
    let is_outage = |change: &Change| matches!(change, Change::Event(Event::NodeLost { .. }));
    assert!(!run.records.iter().any(|record| is_outage(&record.change)));
}

#[test]
fn jobs_that_no_remaining_node_can_run_are_an_error() {
    let world = World::machines(1).job("a").same(1, 5.0).outage(0, 2.0, f64::INFINITY);
    assert!(
        world.run_error("none").starts_with("job \"a\" can never finish: the nodes on which it could run are lost")
    );
}

#[test]
fn a_backup_of_a_relaunched_task_counts_as_a_copy() {
    // The first task is lost at 2 and starts again; after 3 s, three times the median, it gets a backup, which wins at 7.
    let world = World::machines(4).job("a").tasks([vec![9.0, 50.0, 2.0], vec![1.0], vec![1.0], vec![1.0]]);
    let run = world.outage(0, 2.0, 3.0).run("spark(quantile=0.5,multiplier=3,min_runtime=1)");
    let first: Vec<_> = run.table("a").into_iter().filter(|row| row.0 == 0).map(|row| row.5).collect();
    assert_eq!(first, [NodeLost, Lost, Won], "{:?}", run.table("a"));
    assert_eq!((run.result.copies_launched, run.result.copies_won), (1, 1));
}

/// A scenario of nodes `big-0` and `node-1` to `node-3` with an entry of `cluster.outage`.
fn scenario(outage: &str) -> Result<Scenario, String> {
    let text = format!(
        "seeds = 2\nknowledge = \"oracle\"\n[cluster]\nnodes = [{{ count = 1, cpus = 1, name = \"big\" }}, {{ count = 3, cpus = 1 }}]\n\
         outage = [{{ {outage} }}]\n[workload]\narrival = {{ at_once = {{ jobs = 1 }} }}\ntasks = 4\nduration = 10.0\n\
         [[policy]]\nname = \"fifo+none\"\n"
    );
    parse(&text, &[])
}

#[test]
fn scenarios_name_the_nodes_that_are_lost() {
    let scenario = scenario("node = \"node-3\", at = 4.0, duration = 20.0").unwrap();
    let ran = run_on(&Experiment::of(&scenario, 1).unwrap(), 1);
    // The fourth task starts again at 10, when the other three nodes are free.
    assert!(ran.iter().flatten().all(|run| run.makespan == 20.0 && run.lost_attempts == 1), "{ran:?}");
}

#[test]
fn wrong_outages_are_refused() {
    let nodes = "the nodes are called big-0 to node-3";
    for (outage, reason) in [
        ("node = \"big-1\", at = 1.0", nodes),
        ("node = \"node-0\", at = 1.0", nodes),
        ("node = \"node-4\", at = 1.0", nodes),
        ("node = \"node-03\", at = 1.0", nodes),
        ("node = \"3\", at = 1.0", nodes),
        ("node = \"node-1\", at = -1.0", "at is -1, but must be from 0 to 10000000000 seconds"),
        ("node = \"node-1\", at = 1.0, duration = 0.0", "duration is 0, but must be above 0"),
        ("node = \"node-1\", at = 1.0, duration = inf", "duration is inf, but must be above 0"),
        ("node = \"node-1\", for = 1.0", "for"),
    ] {
        let error = scenario(outage).unwrap_err();
        assert!(error.contains(reason), "{outage}: {error}");
    }
}
