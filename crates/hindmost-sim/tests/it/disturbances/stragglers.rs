//! Stragglers by ratio.

use hindmost_sim::testing::World;

#[test]
fn every_first_copy_straggles_at_ratio_one() {
    let world = |copies| World::machines(2).stragglers(1.0, 4.0, copies).job("a").tasks([[5.0, 3.0]]).mean(5.0);
    // The backup starts at once, because 20 s are above 2 mean durations. It takes 3 s, or 12 s if copies straggle too.
    let end = |copies| world(copies).run("sda(sigma=2,max_copies=2)").job("a").finish;
    assert_eq!((end(false), end(true)), (3.0, 12.0));
    let count = |copies| world(copies).run("sda(sigma=2,max_copies=2)").result.stragglers;
    assert_eq!((count(false), count(true)), (1, 2));
}

#[test]
fn the_known_durations_are_those_of_normal_copies() {
    let run = World::machines(1).stragglers(1.0, 4.0, false).job("a").same(1, 5.0).run("none");
    assert_eq!((run.job("a").finish, run.job("a").slowdown), (20.0, 4.0));
}

#[test]
fn a_new_start_after_a_loss_straggles_only_if_copies_do() {
    let world =
        |copies| World::machines(1).stragglers(1.0, 2.0, copies).outage(0, 3.0, 4.0).job("a").tasks([[5.0, 5.0]]);
    let finish = |copies| world(copies).run("none").job("a").finish;
    assert_eq!((finish(false), finish(true)), (9.0, 14.0));
}

#[test]
fn policies_meet_the_same_stragglers() {
    let world = World::machines(40).stragglers(0.3, 3.0, true).job("a").drawn(200, "uniform(min=1,max=2)");
    let durations = |policy: &str| {
        let run = world.run(policy);
        let first = run.tries("a").into_iter().filter(|one| one.id.copy == 0);
        first
            .filter(|one| one.outcome == hindmost_sim::output::Outcome::Won)
            .map(|one| (one.id, ((one.end - one.start) * 1e9).round()))
            .collect()
    };
    let [none, late]: [std::collections::BTreeMap<_, _>; 2] = ["none", "late"].map(durations);
    assert!(late.len() > 100);
    assert!(late.iter().all(|(id, ticks)| (none[id] - ticks).abs() <= 1.0));
}
