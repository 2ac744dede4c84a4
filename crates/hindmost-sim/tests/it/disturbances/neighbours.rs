//! The load of neighbours at random times.

use hindmost_sim::parameter::{Family, Parameter};
use hindmost_sim::testing::World;

#[test]
fn neighbours_do_not_depend_on_the_policy_or_its_order() {
    let exponential = |mean| Parameter::Drawn(Box::new(Family::Exponential { mean: Parameter::Number(mean) }));
    let load = hindmost_sim::disturbances::Neighbours {
        quiet: exponential(3.0),
        busy: exponential(1.0),
        slowdown: Parameter::Drawn(Box::new(Family::Uniform {
            min: Parameter::Number(1.0),
            max: Parameter::Number(4.0),
        })),
        start: hindmost_sim::disturbances::NeighbourStart::Random,
    };
    // Jobs of one task arrive on one machine, far apart, so that each attempt runs alone at the same time.
    let mut world = World::machines(1).neighbours(load);
    for job in 0..30 {
        world = world.job(&job.to_string()).at(f64::from(job) * 40.0).tasks([[5.0]]);
    }
    let ends = |policy: &str| world.run(policy).attempts.iter().map(|one| one.end).collect::<Vec<f64>>();
    let (none, srpt) = (ends("fifo+none"), ends("srpt+none"));
    assert_eq!(none, srpt);
    // The load makes durations differ.
    let spans: std::collections::BTreeSet<u64> =
        none.iter().enumerate().map(|(job, end)| ((end - 40.0 * job as f64) * 1e6) as u64).collect();
    assert!(spans.len() > 10, "{spans:?}");
}
