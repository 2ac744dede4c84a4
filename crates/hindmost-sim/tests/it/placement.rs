//! Placement: which node a copy gets under each setting, and whether the order of the nodes changes results.

use std::path::Path;

use hindmost_core::cluster::Placement;
use hindmost_core::journal::JournalReader;
use hindmost_core::verify::Verifier;
use hindmost_policies::catalogue::session_of;
use hindmost_sim::experiment::Experiment;
use hindmost_sim::scenario::Scenario;
use hindmost_sim::testing::{Run, World};

use crate::experiments::{experiment, mean_and_error, run_on};

/// Returns a scenario with nodes of three speeds. The classes are in this order.
fn unequal(classes: [usize; 3], placement: &str, policies: &str) -> String {
    const CLASSES: [&str; 3] = ["count = 8\nspeed = 0.4", "count = 8\nspeed = 1.0", "count = 8\nspeed = 2.0"];
    let nodes = classes.map(|class| format!("[[cluster.nodes]]\ncpus = 2\n{}\n", CLASSES[class])).concat();
    let policies: Vec<String> = policies.split(' ').map(|name| format!("[[policy]]\nname = \"{name}\"\n")).collect();
    let policies = policies.concat();
    format!(
        "{placement}\nseeds = 16\nhorizon = 200.0\ngamma = 0.01\nknowledge = \"progress(0.1)\"\n[cluster]\n{nodes}
         [workload]\narrival = {{ poisson = {{ rate = 0.5 }} }}\ntasks = {{ uniform = {{ min = 1, max = 16 }} }}
         duration = {{ pareto = {{ alpha = 2.5, mean = 3.0 }} }}\n{policies}"
    )
}

/// Returns the mean flowtime of each policy on each seed.
fn flowtimes(text: &str) -> Vec<Vec<f64>> {
    let mean = |flowtimes: &[f64]| flowtimes.iter().sum::<f64>() / flowtimes.len() as f64;
    let results = run_on(&experiment(text), 2);
    results.iter().map(|seeds| seeds.iter().map(|seed| mean(&seed.flowtime)).collect()).collect()
}

/// Returns, for each policy, the mean over seeds of the difference that another order of classes makes, relative to the
/// mean flowtime, and its standard error.
fn differences(placement: &str, policies: &str) -> Vec<(f64, f64)> {
    let [one, other] = [[0, 1, 2], [2, 1, 0]].map(|classes| flowtimes(&unequal(classes, placement, policies)));
    let relative = |(one, other): (&Vec<f64>, &Vec<f64>)| {
        let (mean, _) = mean_and_error(one);
        mean_and_error(&one.iter().zip(other).map(|(one, other)| (other - one) / mean).collect::<Vec<_>>())
    };
    one.iter().zip(&other).map(relative).collect()
}

/// Policies that place copies in all ways: job by job, node by node, by best pair, by speed, by offers, and in clones.
const POLICIES: &str = "fifo+none mantri late sda pace hadoop sca dolly dollymp tetris+none carbyne+none graphene+none";

#[test]
fn the_order_of_classes_does_not_matter_by_default() {
    let differences = differences("", POLICIES);
    for ((mean, error), policy) in differences.into_iter().zip(POLICIES.split(' ')) {
        assert!(mean.abs() <= 3.5 * error && mean.abs() < 0.1, "{policy}: {mean} ± {error}");
    }
}

#[test]
fn under_first_the_order_of_classes_decides() {
    let [(none, _), (late, _), (pace, pace_error)] = differences("placement = \"first\"", "none late pace")[..] else {
        panic!("three policies")
    };
    // Fast nodes first: flowtimes are much shorter. Only `pace` looks at speeds.
    assert!(none < -0.25 && late < -0.25, "{none} {late}");
    assert!(pace.abs() < 3.5 * pace_error.max(1e-3), "{pace} ± {pace_error}");
}

#[test]
fn the_default_depends_on_speeds_only() {
    let placement = |nodes: &str| {
        let text = format!(
            "horizon = 1.0\n{nodes}\n[workload]\narrival = {{ at_once = {{ jobs = 1 }} }}\ntasks = 1\nduration = 1.0"
        );
        let scenario = Scenario::parse(&text, "test", Path::new(""), &[]).unwrap();
        assert_eq!(scenario.placement, Some(Experiment::of(&scenario, 1).unwrap().placement()));
        scenario.placement.unwrap().to_string()
    };
    let class = |cpus: u32, speed: &str| format!("[[cluster.nodes]]\ncount = 2\ncpus = {cpus}\nspeed = {speed}\n");
    assert_eq!(placement("[cluster]\nmachines = 3"), "first");
    assert_eq!(placement(&(class(2, "1.5") + &class(8, "1.5"))), "first");
    assert_eq!(placement(&(class(2, "1.5") + &class(2, "1.6"))), "random");
    assert_eq!(placement(&class(2, "{ uniform = { min = 0.5, max = 2.0 } }")), "random");
    assert_eq!(placement(&format!("placement = \"spread\"\n{}{}", class(2, "1"), class(2, "2"))), "spread");
    assert_eq!(placement("placement = \"random\"\n[cluster]\nmachines = 3"), "random");
}

/// Returns four nodes of unequal speed and a job of `tasks` tasks.
fn four_machines(tasks: u32) -> World {
    let world = World::nodes([2.0, 2.0, 4.0, 4.0].map(|cpus| [("cpus", cpus)])).speeds([1.0, 2.0, 1.0, 4.0]);
    world.job("a").tasks(vec![[8.0, 8.0, 8.0, 8.0]; tasks as usize]).demand([("cpus", 1.0)])
}

fn nodes_of(run: &Run) -> Vec<u32> {
    run.tries("a").iter().map(|one| one.node).collect()
}

#[test]
fn random_visits_begin_on_every_node() {
    for policy in ["fifo", "dollymp(clones=0)", "tetris", "carbyne", "graphene"] {
        let mut firsts: Vec<u32> = (0..60)
            .map(|seed| {
                let run = four_machines(1).seed(seed).placement(Placement::Random).run(policy);
                run.verify().unwrap();
                nodes_of(&run)[0]
            })
            .collect();
        firsts.sort_unstable();
        firsts.dedup();
        // `tetris` takes the node that fits best, which is one of the large ones or of the small ones.
        let expected = if policy == "tetris" { firsts.len() >= 2 } else { firsts == [0, 1, 2, 3] };
        assert!(expected, "{policy}: {firsts:?}");
    }
}

#[test]
fn backups_are_spread_by_random_placement() {
    // Ten tasks leave two nodes idle. Task 0 is a straggler.
    let speeds = [3.0, 1.0, 1.1, 1.2, 1.3, 1.4, 2.0, 1.5, 0.9, 0.8, 0.6, 0.7];
    let tasks: Vec<[f64; 2]> = (0..10).map(|task| if task == 0 { [90.0, 3.0] } else { [3.0, 3.0] }).collect();
    for policy in ["fifo+mantri", "fifo+late(cap=1,slow_node=0)", "sda(sigma=0.5)"] {
        let node = |seed| {
            let world = World::nodes([[("cpus", 1.0)]; 12]).speeds(speeds).placement(Placement::Random).seed(seed);
            let run = world.job("a").tasks(tasks.clone()).demand([("cpus", 1.0)]).run(policy);
            run.verify().unwrap();
            let backup = run.tries("a").into_iter().find(|one| one.id.copy > 0 && one.start == 0.0);
            backup.unwrap_or_else(|| panic!("{policy}: no backup")).node
        };
        let random: std::collections::BTreeSet<u32> = (0..20).map(node).collect();
        assert!(random.len() >= 5, "{policy}: {random:?}");
    }
}

#[test]
fn a_replay_needs_the_seed_of_random_placement() {
    let run = four_machines(7).placement(Placement::Random).seed(3).run("fifo+mantri");
    let journal = run.journal();
    let reader = JournalReader::new(&journal[..]).unwrap();
    let header = reader.header().clone();
    assert_eq!((header.placement, header.placement_seed, header.is_live()), (Placement::Random, Some(3), false));
    let records: Vec<_> = reader.map(Result::unwrap).collect();
    let same = |seed| {
        let mut header = header.clone();
        header.placement_seed = Some(seed);
        let mut session = session_of(&header).unwrap();
        let mut verifier = Verifier::new(&mut session, header.is_live());
        records.iter().all(|record| verifier.check(record.clone()).is_ok()) && verifier.finish().is_ok()
    };
    assert!(same(3) && !same(4));
}
