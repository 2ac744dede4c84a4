//! `hete_aware`: copies at the end of a phase, on the slots that save time and energy.

use hindmost_sim::testing::World;

#[test]
fn a_copy_goes_to_the_free_node_that_saves_most() {
    // Node 2 has half the speed: a copy would take 16 there and 8 on node 3. Both save time and energy; node 3 more.
    let world = World::machines(4).speeds([1.0, 1.0, 0.5, 1.0]).job("a").tasks([[60.0, 8.0], [8.0, 8.0]]).mean(8.0);
    let node = |policy: &str| {
        let run = world.run(policy);
        assert_eq!(run.backups("a"), [(0, 0.0)], "{policy}");
        run.tries("a")[1].node
    };
    assert_eq!(node("hete_aware"), 3);
    assert_eq!(node("window"), 3);
    // The first slot that saves time and energy is on node 2.
    assert_eq!(node("window(choice=first)"), 2);
}

#[test]
fn copies_wait_until_no_task_of_the_phase_is_pending() {
    // Machine 1 runs the other tasks one after the other until 24. Windows are 0.2 × 8 = 1.6 long, and one begins at 8 and
    // one at 24.
    let world = World::machines(2).job("a").tasks([[60.0, 8.0], [8.0, 8.0], [8.0, 8.0], [8.0, 8.0]]).mean(8.0);
    assert_eq!(world.run("hete_aware").backups("a"), [(0, 24.0)]);
    assert_eq!(world.run("window").backups("a"), [(0, 8.0)]);
}

#[test]
fn a_copy_that_saves_no_energy_is_not_started() {
    // At 24 the straggler has 16 left: a copy of 8 would save 8, and 8 − 8 = 0 core-seconds.
    let world = World::machines(2).job("a").tasks([[40.0, 8.0], [8.0, 8.0], [8.0, 8.0], [8.0, 8.0]]).mean(8.0);
    assert_eq!(world.run("hete_aware").backups("a"), []);
    // Before pending tasks, it has 32 left at 8.
    assert_eq!(world.run("window").backups("a"), [(0, 8.0)]);
}

#[test]
fn attempts_are_stragglers_below_a_share_of_the_mean_rate() {
    // Durations of 8, 8, 8 and 24: the mean rate is (3/8 + 1/24)/4 = 5/48, and the limit by default 2 × 48/5 = 19.2.
    let world = World::machines(6).job("a").tasks([[8.0, 8.0], [8.0, 8.0], [8.0, 8.0], [24.0, 8.0]]).mean(8.0);
    assert_eq!(world.run("hete_aware").backups("a"), [(3, 0.0)]);
    assert_eq!(world.run("hete_aware(slow=0.41)").backups("a"), [(3, 0.0)]);
    // A limit of 48/5/0.39 = 24.6.
    assert_eq!(world.run("hete_aware(slow=0.39)").backups("a"), []);
}
