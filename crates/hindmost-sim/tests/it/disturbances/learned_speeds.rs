//! Learned speeds: policies learn which nodes are slow from finished attempts.

use std::sync::Arc;

use hindmost_core::record::{Change, Event};
use hindmost_sim::driver::{AsRecorded, Learns};
use hindmost_sim::testing::{Run, World};

fn learned(run: &Run) -> Vec<(f64, u32, f64)> {
    let learned = run.records.iter().filter_map(|record| match &record.change {
        Change::Event(Event::NodeSpeedLearned { node, speed }) => Some((record.at.seconds(), node.0, *speed)),
        _ => None,
    });
    learned.collect()
}

fn two_nodes(speed: f64) -> World {
    World::nodes([[("cpus", 1.0)], [("cpus", 1.0)]]).speeds([1.0, speed])
}

#[test]
fn nodes_join_with_speed_one_and_are_learned() {
    let run = two_nodes(0.5).learned_speeds().job("a").same(9, 1.0).run("none");
    let joined = run.records.iter().filter_map(|record| match &record.change {
        Change::Event(Event::NodeJoined { speed, .. }) => Some(*speed),
        _ => None,
    });
    assert_eq!(joined.collect::<Vec<_>>(), [1.0, 1.0]);
    // The truth keeps the real speed. The second attempt on node 1 finishes at 4: two samples at half the pace.
    assert!(run.tries("a").iter().all(|one| one.end - one.start == if one.node == 0 { 1.0 } else { 2.0 }));
    assert_eq!(learned(&run), [(4.0, 1, 0.5)]);
    assert_eq!(run.result.speeds_learned, 1);
    assert!(run.verify().is_ok());
}

#[test]
fn known_speeds_are_not_learned() {
    let run = two_nodes(0.5).job("a").same(9, 1.0).run("none");
    assert_eq!(learned(&run), []);
}

#[test]
fn learned_speeds_change_remaining_times() {
    // 4 s on a node of half the speed take 8 s. The oracle reveals the real remaining time, whatever speed is known.
    let world = |knowledge: &str| two_nodes(0.5).learned_speeds().knowledge(knowledge).job("a").tasks([[4.0], [4.0]]);
    let run = world("oracle").mean(3.0).run("sda(sigma=2,max_copies=2)");
    assert!(run.tries("a").iter().any(|one| one.end == 8.0));
}

#[test]
fn fastest_placement_prefers_nodes_not_known_to_be_slow() {
    use hindmost_core::cluster::Placement;
    let run = two_nodes(0.25).learned_speeds().placement(Placement::Fastest).job("a").same(3, 1.0);
    let run = run.job("b").at(10.0).same(1, 1.0).run("none");
    // Node 1 was very slow once, at 4.
    assert_eq!(learned(&run), [(4.0, 1, 0.25)]);
    assert_eq!(run.tries("b")[0].node, 0);
}

#[test]
fn replays_of_live_runs_learn_from_attempts_that_run() {
    let learned_with = |learns| {
        let mut world = two_nodes(0.125);
        world.setup.as_recorded = Some(Arc::new(AsRecorded { learns, ..AsRecorded::default() }));
        world.job("a").same(9, 1.0).run("none")
    };
    // The durations are known after the second task, at 2. The attempt on node 1 has then lasted for 2 medians, and for 3 at 3: from there
    // on it counts twice.
    let run = learned_with(Learns::DurationsAndSpeeds);
    let [(at, 1, speed), ..] = learned(&run)[..] else { panic!("{:?}", learned(&run)) };
    assert!((3.0..3.5).contains(&at) && speed < 0.3, "{at} {speed}");
    assert!(run.result.speeds_learned > 0 && run.verify().is_ok());
    // Only the durations are learned.
    let durations = |run: &Run| {
        let is_learned = |change: &Change| matches!(change, Change::Event(Event::DurationsLearned { .. }));
        run.records.iter().find(|record| is_learned(&record.change)).map(|record| record.at.seconds())
    };
    assert_eq!(durations(&run), Some(2.0));
    let run = learned_with(Learns::Durations);
    assert_eq!((learned(&run), durations(&run)), (Vec::new(), Some(2.0)));
    let run = learned_with(Learns::Nothing);
    assert_eq!((learned(&run), durations(&run)), (Vec::new(), None));
}
