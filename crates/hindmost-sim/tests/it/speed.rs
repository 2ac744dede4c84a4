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
const SCANS: [(&str, f64); 3] = [("hadoop", 3.5), ("riski", 2.5), ("pace", 3.0)];

/// Returns how many nodes, jobs, tasks and attempts are looked up for each record of a run. A job keeps all machines busy for
/// several waves, with stragglers, while small jobs arrive.
fn per_record(policy: &str, knowledge: &str, size: u32) -> f64 {
    let durations = "pareto(alpha=1.5,mean=1)";
    let mut world = World::machines(10 * size).knowledge(knowledge).job("large").drawn(40 * size, durations);
    for at in 0..4 * size {
        world = world.job(&format!("small-{at}")).at(f64::from(at) / f64::from(size)).drawn(3, durations).deadline(6.0);
    }
    let before = lookups();
    let run = world.run(policy);
    (lookups() - before) as f64 / run.records.len() as f64
}

#[test]
fn no_policy_looks_at_everything_in_each_round() {
    let systems = SYSTEMS.iter().map(|system| system.name.to_owned());
    let orders = ORDERS.iter().map(|order| format!("{}+none", order.name));
    let mut wrong = Vec::new();
    for policy in systems.chain(orders) {
        for knowledge in ["progress(0.1)", "age"] {
            let [small, large] = [1, TIMES].map(|size| per_record(&policy, knowledge, size));
            println!(
                "{policy} {knowledge}: {small:.1} look-ups a record, {large:.1} where everything is {TIMES} times as large"
            );
            let most = SCANS.iter().find(|(name, _)| *name == policy).map_or(MOST, |(_, most)| *most);
            if large > most * small {
                wrong.push(format!("{policy} with {knowledge}: {small:.1} and {large:.1}"));
            }
        }
    }
    assert!(wrong.is_empty(), "these policies look up more for each record on a larger cluster: {wrong:#?}");
}
