//! Stragglers by ratio.

use hindmost_sim::testing::World;

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
