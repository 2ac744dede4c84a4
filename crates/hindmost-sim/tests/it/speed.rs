//! The cost of policies does not grow with the cluster: what they look up for each record is counted, not timed.

use hindmost_core::cluster::lookups;
use hindmost_policies::catalogue::{ORDERS, SYSTEMS};
use hindmost_sim::testing::World;

/// How many times as large the large cluster and its jobs are.
const TIMES: u32 = 8;

/// How many times as much a policy may look up for each record on the large cluster.
const MOST: f64 = 2.0;

/// Policies that may look up more, and how many times as much: they scan a job's attempts from time to time, as their papers or
/// their tests of ages require. docs/performance.md has their times, which keep to the rule.
const SCANS: [(&str, f64); 4] = [("hadoop", 3.5), ("riski", 2.5), ("pace", 3.5), ("auto", 2.5)];

/// A cluster and its jobs, so many times as large.
type OfSize = fn(u32) -> World;

/// A job that keeps all machines busy for several waves, while small jobs arrive.
fn one_large_job(size: u32) -> World {
    let mut world = World::machines(10 * size).job("large").drawn(40 * size, DURATIONS);
    for at in 0..4 * size {
        world = world.job(&format!("small-{at}")).at(f64::from(at) / f64::from(size)).drawn(3, DURATIONS).deadline(6.0);
    }
    world
}

/// Many jobs at a time, each with stragglers, on a cluster that is overloaded.
fn many_jobs(size: u32) -> World {
    let mut world = World::machines(10 * size);
    for at in 0..20 * size {
        world =
            world.job(&format!("job-{at}")).at(f64::from(at) / f64::from(10 * size)).drawn(4, DURATIONS).deadline(20.0);
    }
    world
}

const DURATIONS: &str = "pareto(alpha=1.5,mean=1)";

/// Returns how many nodes, jobs, tasks and attempts are looked up for each record of a run.
fn per_record(policy: &str, knowledge: &str, world: World) -> f64 {
    let before = lookups();
    let run = world.knowledge(knowledge).run(policy);
    (lookups() - before) as f64 / run.records.len() as f64
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "optimised builds do not count look-ups")]
fn no_policy_looks_at_everything_in_each_round() {
    let systems = SYSTEMS.iter().map(|system| system.name.to_owned());
    let orders = ORDERS.iter().map(|order| format!("{}+none", order.name));
    let mut wrong = Vec::new();
    for policy in systems.chain(orders) {
        for knowledge in ["progress(0.1)", "age"] {
            for (name, of_size) in [("one large job", one_large_job as OfSize), ("many jobs", many_jobs)] {
                let [small, large] = [1, TIMES].map(|size| per_record(&policy, knowledge, of_size(size)));
                let measured = format!(
                    "{policy}, {knowledge}, {name}: {small:.1} look-ups a record, {large:.1} where all is {TIMES} times as large"
                );
                println!("{measured}");
                let most = SCANS.iter().find(|(name, _)| *name == policy).map_or(MOST, |(_, most)| *most);
                if large > most * small {
                    wrong.push(measured);
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "these policies look up more for each record on a larger cluster: {wrong:#?}\nA round may look only at what has changed: see \
         \"Which index to use\" in CONTRIBUTING.md."
    );
}
