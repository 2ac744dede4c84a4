//! Outages in scenarios.

use hindmost_sim::experiment::Experiment;
use hindmost_sim::scenario::Scenario;

use crate::experiments::run_on;
use crate::scenarios::parse;

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
