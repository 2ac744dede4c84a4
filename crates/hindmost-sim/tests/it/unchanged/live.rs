//! Runs like live ones: nodes are lost and return, attempts fail, and durations and speeds are learned during the run.

use std::sync::Arc;

use hindmost_core::cluster::Placement;
use hindmost_sim::output::Output;
use hindmost_sim::testing::World;

use super::Digests;
use crate::live_like::{LiveLike, Loss, policy};

/// Returns twelve jobs of two phases. `nodes`: whether tasks have demands.
fn jobs(nodes: bool) -> World {
    let gb = 1e9;
    let world = World::nodes([[("cpus", 1.0), ("memory", gb)]]);
    (0..12u32).fold(world, |world, number| {
        let world = world.job(&format!("job-{number}")).at(f64::from(number) * 0.75).weight(f64::from(1 + number % 3));
        let world = world.phase("map").drawn(3 + number * 7 % 9, "pareto(alpha=2,mean=1.5)");
        let world =
            if nodes { world.demand([("cpus", 1.0), ("memory", gb * f64::from(1 + number % 3))]) } else { world };
        let world = world.phase("reduce").after(["map"]).drawn(2 + number % 4, "log_normal(mean=2,cv=1)");
        if nodes { world.demand([("cpus", 2.0), ("memory", gb)]) } else { world }
    })
}

/// Returns the worlds with their names.
pub fn worlds() -> Vec<(&'static str, LiveLike)> {
    let specs = |nodes: bool, assumed: bool| {
        let specs = jobs(nodes).jobs.into_iter().enumerate().map(|(number, job)| {
            let mut spec = job.spec;
            for phase in &mut spec.phases {
                phase.assumed = assumed && number % 2 == 0;
            }
            Arc::new(spec)
        });
        specs.collect()
    };
    let loss = |node, at, away| Loss { node, at, away };
    let one_slot = LiveLike {
        nodes: Vec::new(),
        machines: 14,
        jobs: specs(false, true),
        losses: vec![loss(0, 2.0, 3.0), loss(5, 4.5, 2.0), loss(0, 9.0, 1.0), loss(13, 6.0, 20.0)],
        slot: 0.0,
        killing: 0.25,
        fails: 10,
        learns: true,
        knowledge: "progress(0.1)".parse().expect("a progress model"),
        placement: Placement::First,
        seed: 1,
    };
    let nodes = vec![(4, 8, 1.0), (4, 8, 0.4), (2, 6, 1.0), (2, 4, 2.0), (6, 6, 1.0), (2, 4, 1.0)];
    let spread = LiveLike {
        nodes: nodes.clone(),
        machines: 0,
        jobs: specs(true, false),
        knowledge: "history".parse().expect("a progress model"),
        placement: Placement::Spread,
        fails: 0,
        losses: vec![loss(1, 3.0, 4.0), loss(4, 8.0, 2.0)],
        seed: 2,
        ..one_slot.clone()
    };
    let slots = LiveLike {
        nodes,
        machines: 0,
        jobs: specs(true, true),
        slot: 0.3,
        killing: 0.0,
        knowledge: "age".parse().expect("a progress model"),
        seed: 3,
        losses: vec![loss(0, 1.0, 2.0), loss(2, 5.0, 3.0), loss(3, 5.0, 1.0)],
        ..one_slot.clone()
    };
    vec![("live_one_slot", one_slot), ("live_spread", spread), ("live_slots", slots)]
}

/// Runs a policy in a world and returns its line.
pub fn line(name: &str, world: &LiveLike, named: &str) -> String {
    let mut digests = Digests::new();
    let ran = world.run(policy(named));
    for record in ran.iter().flat_map(|ran| &ran.records) {
        digests.record(record).expect("writing to memory succeeds");
    }
    ran.unwrap_or_else(|error| panic!("{name}, {named}, seed {}: {error}", world.seed));
    digests.line(name, named, &world.seed.to_string())
}
