//! Properties of runs whose rates change, checked by an independent computation from the attempts' times.

use hindmost_core::record::Change;
use hindmost_sim::output::Outcome;
use hindmost_sim::parameter::{Family, Parameter};
use hindmost_sim::testing::{Run, Try, World};
use proptest::prelude::*;

use crate::audit::audit;
use crate::properties::{any_cluster_of_dags, any_knowledge, any_policy};

/// Periods of a neighbour that begins quiet: quiet, busy, slow-down.
type Load = (f64, f64, f64);

fn any_load() -> impl Strategy<Value = Load> {
    let seconds = proptest::sample::select(vec![0.25, 0.5, 1.0, 1.7, 4.0]);
    (seconds.clone(), seconds, proptest::sample::select(vec![1.0, 1.5, 2.0, 5.0]))
}

prop_compose! {
    /// Draws a cluster of nodes with contention and neighbours, and jobs of several phases.
    fn any_disturbed_world()(
        world in any_cluster_of_dags(),
        knowledge in any_knowledge(),
        degree in proptest::sample::select(vec![1.0, 1.5, 2.5, 8.0]),
        exponent in proptest::sample::select(vec![0.5, 1.0, 2.0]),
        loads in proptest::collection::vec(proptest::option::of(any_load()), 8),
        stragglers in proptest::option::of((0.0..=1.0f64, any::<bool>())),
        learned in any::<bool>(),
        noise in proptest::sample::select(vec![0.0, 0.0, 0.5]),
        slow_from in proptest::sample::select(vec![0.0, 0.0, 0.4]),
    ) -> (World, Vec<Option<Load>>) {
        let nodes = world.setup.nodes.len();
        let mut world = world.contention(degree, exponent).knowledge(&knowledge).noise(noise).slow_from(slow_from);
        for (node, load) in loads.iter().enumerate().take(nodes) {
            if let Some((quiet, busy, slowdown)) = load {
                world = world.neighbour_on(node, *quiet, *busy, *slowdown);
            }
        }
        if let Some((ratio, copies)) = stragglers {
            world = world.stragglers(ratio, 2.0, copies);
        }
        if learned {
            world = world.learned_speeds();
        }
        (world, loads)
    }
}

/// Returns the slow-down by a neighbour in the middle of an interval without a change.
fn of_neighbour(load: Option<Load>, middle: f64) -> f64 {
    let Some((quiet, busy, slowdown)) = load else { return 1.0 };
    if middle.rem_euclid(quiet + busy) < quiet { 1.0 } else { slowdown }
}

/// Returns the seconds of work, at the full rate of its node, that an attempt did: the integral of its rate, computed
/// from the times of all attempts on its node.
fn work(world: &World, run: &Run, loads: &[Option<Load>], one: &Try) -> f64 {
    let node = one.node as usize;
    let demand = |id: hindmost_core::ids::AttemptId| {
        let name = run.records.iter().find_map(|record| match &record.change {
            Change::Event(hindmost_core::record::Event::JobArrived { job, spec }) if *job == id.task.job => {
                Some(spec.phases[id.task.phase as usize].demand.clone())
            }
            _ => None,
        });
        world.setup.dimensions.demand(&name.unwrap()).unwrap()
    };
    let (own, capacity) = (demand(one.id), world.setup.nodes[node].capacity);
    let beside: Vec<&Try> = run.attempts.iter().filter(|other| other.node == one.node && other.id != one.id).collect();
    let mut cuts = vec![one.start, one.end];
    cuts.extend(beside.iter().flat_map(|other| [other.start, other.end]));
    if let Some((quiet, busy, _)) = loads[node] {
        let mut at = 0.0;
        while at < one.end {
            cuts.extend([at, at + quiet]);
            at += quiet + busy;
        }
    }
    cuts.retain(|cut| (one.start..=one.end).contains(cut));
    cuts.sort_unstable_by(f64::total_cmp);
    let contention = world.setup.disturbances[node].contention.unwrap();
    let pieces = cuts.windows(2).filter(|piece| piece[1] - piece[0] > 1e-8).map(|piece| {
        let middle = f64::midpoint(piece[0], piece[1]);
        let others = beside.iter().filter(|other| other.start < middle && middle < other.end);
        let used = others.fold(hindmost_core::resources::Resources::NONE, |sum, other| sum.plus(&demand(other.id)));
        // The formula of docs/scenarios.md, written out again.
        let rest = capacity.minus(&own);
        let shares = used.0.iter().zip(&rest.0).filter(|(_, rest)| **rest > 0);
        let share = shares.map(|(used, rest)| *used as f64 / *rest as f64).fold(0.0, f64::max);
        let slowdown = 1.0 + (contention.degree - 1.0) * share.powf(contention.exponent);
        (piece[1] - piece[0]) / (slowdown * of_neighbour(loads[node], middle))
    });
    pieces.sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(hindmost_testing::cases(64, 640)))]

    /// Work is conserved: without stragglers, the k-th copy of a task has the same work on every node and under every
    /// rate. Runs keep all other invariants, and a replay makes the same decisions.
    #[test]
    fn work_is_conserved_when_rates_change((world, loads) in any_disturbed_world(), policy in any_policy()) {
        let run = world.run(&policy);
        audit(&world, &run);
        prop_assert!(run.verify().is_ok());
        // In a world without disturbances every copy of the same job takes its work divided by the node's speed.
        let mut still = world.clone();
        still.setup.disturbances.clear();
        still.setup.learns_speeds = false;
        still.setup.slot = hindmost_core::time::Time::ZERO;
        let plain = still.run("none");
        let mut compared = 0;
        for one in run.attempts.iter().filter(|one| one.outcome == Outcome::Won && one.id.copy == 0) {
            let speed = |node: u32| world.setup.nodes[node as usize].speed;
            let reference = plain.attempts.iter().find(|other| other.id == one.id).unwrap();
            let expected = (reference.end - reference.start) * speed(reference.node) / speed(one.node);
            let done = work(&world, &run, &loads, one);
            prop_assert!((done - expected).abs() < 1e-6 * (1.0 + expected), "{:?}: {done}, not {expected}", one);
            compared += 1;
        }
        prop_assert!(compared > 0 || run.attempts.iter().all(|one| one.id.copy > 0 || one.outcome != Outcome::Won));
    }

    #[test]
    fn the_same_seed_gives_the_same_journal((world, _) in any_disturbed_world(), policy in any_policy()) {
        prop_assert_eq!(world.run(&policy).journal(), world.run(&policy).journal());
    }

    /// A neighbour that slows nothing down changes nothing.
    #[test]
    fn rates_that_do_not_change_leave_runs_as_they_are(
        world in any_cluster_of_dags(), knowledge in any_knowledge(), policy in any_policy(),
        slow_from in proptest::sample::select(vec![0.0, 0.4]), noise in proptest::sample::select(vec![0.0, 0.5]),
    ) {
        let world = world.slot(0.0).knowledge(&knowledge).slow_from(slow_from).noise(noise);
        let with = world.clone().neighbour_on(0, 0.7, 0.3, 1.0);
        let (plain, run) = (world.run(&policy), with.run(&policy));
        prop_assert_eq!(run.result.rate_changes, 0);
        // Where rates may change, entries of the agenda for copies that were stopped cause no round. These policies test
        // attempts in every round, so their decisions may differ after such a round; what profiles predict may change
        // between rounds under every policy.
        let tests_in_rounds = ["hadoop", "spark", "mantri", "sda", "ese", "pace"].iter().any(|name| policy.contains(name));
        let tests_in_rounds = tests_in_rounds || knowledge.starts_with("profiles");
        // A watch whose condition is true already is met before the next round, or where rates may change after one at the same time.
        if !tests_in_rounds || !has_round_without_event(&plain) && !differ_first_by_a_round(&plain, &run) {
            prop_assert_eq!(&plain.attempts, &run.attempts);
        }
    }
}

/// Returns whether the policy decided at a time at which it observed nothing.
fn has_round_without_event(run: &Run) -> bool {
    let is_round = |change: &Change| *change == Change::Event(hindmost_core::record::Event::Round);
    run.records.windows(2).any(|pair| is_round(&pair[1].change) && pair[1].at > pair[0].at)
}

/// Returns whether the first difference between two runs is a round that only one of them has.
fn differ_first_by_a_round(one: &Run, other: &Run) -> bool {
    let is_round = |change: &Change| *change == Change::Event(hindmost_core::record::Event::Round);
    let mut pairs = one.records.iter().zip(&other.records);
    pairs.find(|(one, other)| one != other).is_some_and(|(one, other)| is_round(&one.change) != is_round(&other.change))
}

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
