//! Properties of every run, checked on random clusters, workloads, policies, progress models and slots.

use std::collections::BTreeMap;
use std::sync::Arc;

use hindmost_core::ids::{AttemptId, NodeId};
use hindmost_core::journal::JournalReader;
use hindmost_core::policy::losing_copies::Keep;
use hindmost_core::record::{Change, Decision, Event, Record};
use hindmost_core::time::Time;
use hindmost_core::workload::InputSpec;
use hindmost_policies::catalogue::{ORDERS, SYSTEMS};
use hindmost_sim::driver::AsRecorded;
use hindmost_sim::output::Outcome;
use hindmost_sim::testing::{Run, World};
use proptest::prelude::*;

use crate::audit::{Limits, audit, audit_clones};
use crate::experiments::{experiment, run_on};
use crate::live_like::any_placement;

/// Systems with other parameters than their defaults.
const VARIANTS: [&str; 24] = [
    "hadoop(minimum_allowed=1)",
    "spark(quantile=0.3,multiplier=1.2,min_runtime=0)",
    "late(cap=1)",
    "late(cap=0.3,slow_task=0.5,slow_node=0.1,min_age=1)",
    "mantri(delta=0.01)",
    "mantri(delta=0.1,kill_restart=true)",
    "mantri(delta=0.1,kill_restart=true,backups=false)",
    "mantri(rule=osdi2010)",
    "mantri(rule=osdi2010,delta=0.1,copies=3,spare=0)",
    "pace(lag=1.2,margin=1,slow=0.9)",
    "sca(max_copies=3)",
    "sda(sigma=0.5,max_copies=3)",
    "ese(sigma=0.5)",
    "ese(xi=100,eta=2,max_copies=4)",
    "window(window=1,slow=1)",
    "window(window=1,slow=1,bandwidth=50)",
    "window(look_ahead=false,choice=first,slow=0.9)",
    "hete_aware(slow=1,window=0.01,closeness=ratio,bandwidth=100)",
    "riski(gain=race)",
    "riski(gain=race,price=0.5,kill=false,check=1)",
    "riski(backups=10,check=0.01)",
    "dolly(p=0.3,budget=0.5,utilization=1)",
    "dollymp(clones=3,per_node=2)",
    "dollymp(clones=1,budget=0.2,clone_pass=by_node)",
];

/// Draws a policy: a system of the catalogue or one of [`VARIANTS`], under its own order or an order of the catalogue.
pub fn any_policy() -> impl Strategy<Value = String> {
    let systems: Vec<&str> = SYSTEMS.iter().map(|system| system.name).chain(VARIANTS).collect();
    let orders: Vec<&str> = ORDERS.iter().map(|order| order.name).collect();
    (proptest::option::of(proptest::sample::select(orders)), proptest::sample::select(systems))
        .prop_map(|(order, system)| order.map_or(system.to_owned(), |order| format!("{order}+{system}")))
}

pub fn any_knowledge() -> impl Strategy<Value = String> {
    let fixed =
        vec!["oracle", "progress(0.1)", "progress(0.5)", "progress(uniform)", "age", "profiles", "profiles(0.5)"];
    proptest::sample::select(fixed).prop_map(str::to_owned)
}

/// A random phase. Bit `i` of `parents` says whether the phase depends on phase `i`, if that is an earlier one.
#[derive(Clone, Debug)]
struct PhasePlan {
    tasks: u32,
    durations: &'static str,
    cpus: f64,
    memory: f64,
    parents: u8,
}

#[derive(Clone, Debug)]
struct JobPlan {
    gap: f64,
    weight: f64,
    phases: Vec<PhasePlan>,
}

fn any_job() -> impl Strategy<Value = JobPlan> {
    let durations = vec![
        "1",
        "uniform(min=0.5,max=3)",
        "exponential(mean=2)",
        "pareto(alpha=2,mean=1)",
        "pareto(alpha=1.3,mean=1.5)",
        "log_normal(mean=1,cv=2)",
        "weibull(shape=0.5,mean=1)",
    ];
    let phase = (1..9u32, proptest::sample::select(durations), 1..5u32, 0..4u32, any::<u8>()).prop_map(
        |(tasks, durations, cpus, memory, parents)| PhasePlan {
            tasks,
            durations,
            cpus: f64::from(cpus) / 2.0,
            memory: f64::from(memory) * 1e9,
            parents,
        },
    );
    // Several jobs often arrive at the same time, and most arrivals are multiples of 0.5 s, so that events coincide.
    let gap = proptest::sample::select(vec![0.0, 0.0, 0.5, 1.0, 2.0, 0.123_456_789]);
    let weight = proptest::sample::select(vec![1.0, 1.0, 2.0, 0.3]);
    (gap, weight, proptest::collection::vec(phase, 1..4)).prop_map(|(gap, weight, phases)| JobPlan {
        gap,
        weight,
        phases,
    })
}

const NAMES: [&str; 4] = ["p0", "p1", "p2", "p3"];

fn with_jobs(mut world: World, jobs: &[JobPlan]) -> World {
    let mut arrival = 0.0;
    for (number, job) in jobs.iter().enumerate() {
        arrival += job.gap;
        world = world.job(&number.to_string()).at(arrival).weight(job.weight);
        for (at, phase) in job.phases.iter().enumerate() {
            let parents: Vec<&str> =
                (0..at).filter(|parent| phase.parents >> parent & 1 == 1).map(|parent| NAMES[parent]).collect();
            world = world.phase(NAMES[at]).after(parents).drawn(phase.tasks, phase.durations);
            world = world.demand([("cpus", phase.cpus), ("memory", phase.memory)]);
        }
    }
    world
}

/// Creates a cluster of nodes with these numbers of cpus, GB of memory and speeds.
fn nodes_of(nodes: &[(u32, u32, f64)]) -> World {
    let capacities =
        nodes.iter().map(|(cpus, memory, _)| [("cpus", f64::from(*cpus)), ("memory", f64::from(*memory) * 1e9)]);
    World::nodes(capacities).speeds(nodes.iter().map(|node| node.2))
}

prop_compose! {
    /// Draws a cluster of nodes with several resources and different speeds, and jobs of several phases.
    pub fn any_cluster_of_dags()(
        nodes in proptest::collection::vec((2..6u32, 3..9u32, 0.3..3.0f64), 1..9),
        jobs in proptest::collection::vec(any_job(), 1..9),
        slot in proptest::sample::select(vec![0.0, 0.0, 0.3, 1.0]),
        placement in any_placement(),
        seed in any::<u64>(),
    ) -> World {
        with_jobs(nodes_of(&nodes).slot(slot).seed(seed).placement(placement), &jobs)
    }
}

prop_compose! {
    /// Draws a cluster of one-slot machines or of nodes with several resources and different speeds, and jobs.
    fn any_world()(
        one_slot in any::<bool>(),
        machines in 1..12u32,
        nodes in proptest::collection::vec((2..6u32, 3..9u32, 0.3..3.0f64), 1..6),
        jobs in proptest::collection::vec(any_job(), 1..7),
        slot in proptest::sample::select(vec![0.0, 0.0, 0.3, 1.0]),
        knowledge in any_knowledge(),
        noise in proptest::sample::select(vec![0.0, 0.0, 0.5]),
        correlation in proptest::sample::select(vec![0.0, 0.5, 1.0]),
        slow_from in proptest::sample::select(vec![0.0, 0.0, 0.4]),
        gamma in proptest::sample::select(vec![0.0, 0.01, 1.0]),
        outages in any_outages(),
        leaving in any_leaving(),
        placement in any_placement(),
        seed in any::<u64>(),
    ) -> World {
        let world = if one_slot { World::machines(machines) } else { nodes_of(&nodes) };
        let world = with_leaving(world, &leaving);
        let world = world.placement(placement);
        let world = world.slot(slot).knowledge(&knowledge).noise(noise).correlation(correlation).slow_from(slow_from);
        with_jobs(with_outages(world.gamma(gamma).seed(seed), &outages), &jobs)
    }
}

/// Outages of nodes, as (node, from, duration).
type Outages = Vec<(u32, u32, u32)>;

/// Often no outages; otherwise a few, on a grid so that they coincide with other events.
fn any_outages() -> impl Strategy<Value = Outages> {
    let outage = (any::<u32>(), 0..24u32, 1..12u32);
    prop_oneof![Just(Vec::new()), proptest::collection::vec(outage, 1..8)]
}

/// Often none; otherwise a few nodes that leave, and when, in half seconds.
fn any_leaving() -> impl Strategy<Value = Vec<(u32, u32)>> {
    prop_oneof![3 => Just(Vec::new()), 1 => proptest::collection::vec((any::<u32>(), 0..24u32), 1..4)]
}

fn with_leaving(mut world: World, leaving: &[(u32, u32)]) -> World {
    let nodes = world.setup.nodes.len() as u32;
    let of = |(node, at): &(u32, u32)| (NodeId(node % nodes), Time::from_seconds(f64::from(*at) / 2.0));
    let leaving: Vec<(NodeId, Time)> = leaving.iter().map(of).collect();
    if !leaving.is_empty() {
        world.setup.as_recorded = Some(Arc::new(AsRecorded { leaving, ..AsRecorded::default() }));
    }
    world
}

fn with_outages(mut world: World, outages: &Outages) -> World {
    let nodes = world.setup.nodes.len() as u32;
    for (node, from, duration) in outages {
        let from = f64::from(*from) / 2.0;
        world = world.outage(node % nodes, from, from + f64::from(*duration) / 2.0);
    }
    world
}

prop_compose! {
    /// Draws a world like [`any_world`] whose tasks read input from some of the nodes, and in which a losing copy of
    /// each finished task may keep running.
    fn any_world_of_readers()(
        world in any_world(),
        racks in proptest::collection::vec(proptest::sample::select(vec!["a", "b", "c"]), 12),
        bytes in proptest::collection::vec(0..500u64, 1..5),
        replicas in proptest::collection::vec(proptest::collection::vec(any::<u32>(), 0..4), 1..7),
        remote in proptest::sample::select(vec![20.0, 100.0, f64::INFINITY]),
        delay in proptest::option::of(proptest::sample::select(vec![0.0, 0.5, 100.0])),
        keep in any::<bool>(),
    ) -> World {
        let nodes = world.setup.nodes.len() as u32;
        let mut world = world.racks(racks).network(2.0 * remote, remote);
        world = if let Some(delay) = delay { world.delay(delay) } else { world };
        for job in &mut world.jobs {
            for phase in &mut job.spec.phases {
                let tasks = phase.tasks as usize;
                let on = |nodes_of: &Vec<u32>| nodes_of.iter().map(|node| NodeId(node % nodes)).collect();
                let lies_on = || replicas.iter().map(on).cycle().take(tasks).collect();
                let replicas = if phase.after.is_empty() { lies_on() } else { Vec::new() };
                let bytes = bytes.iter().copied().cycle().take(tasks).collect();
                phase.input = Some(InputSpec { bytes, replicas });
            }
        }
        world.keeping(if keep { Keep::BestLocality } else { Keep::None })
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(hindmost_testing::cases(600, 6000)))]

    #[test]
    fn every_run_passes_the_audit(world in any_world(), policy in any_policy()) {
        let run = world.run(&policy);
        audit(&world, &run);
    }

    #[test]
    fn clones_stay_within_their_limits(
        world in any_world(),
        order in proptest::option::of(proptest::sample::select(vec!["drf", "tetris", "srpt", "carbyne", "graphene"])),
        clones in 0..4usize,
        per_node in 1..3usize,
        budget in proptest::option::of(proptest::sample::select(vec![0.0, 0.1, 0.3, 0.5, 1.0])),
        pass in proptest::sample::select(vec!["after", "by_node"]),
    ) {
        let shown = budget.map_or("none".to_owned(), |budget| budget.to_string());
        let rule = format!("dollymp(clones={clones},per_node={per_node},clone_pass={pass},budget={shown})");
        let run = world.run(&order.map_or(rule.clone(), |order| format!("{order}+{rule}")));
        audit(&world, &run);
        audit_clones(&world, &run, Limits { clones, per_node, budget });
    }

    #[test]
    fn runs_with_inputs_and_kept_copies_pass_the_audit(world in any_world_of_readers(), policy in any_policy()) {
        let run = world.run(&policy);
        audit(&world, &run);
        let verified = run.verify();
        prop_assert!(verified.is_ok(), "{policy}: {}", verified.unwrap_err());
        let journal = run.journal();
        let records: Vec<Record> = JournalReader::new(&journal[..]).unwrap().map(Result::unwrap).collect();
        prop_assert_eq!(&records, &run.records);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(hindmost_testing::cases(120, 1200)))]

    #[test]
    fn the_same_seed_gives_the_same_bytes(world in any_world(), policy in any_policy()) {
        let (one, other) = (world.run(&policy), world.run(&policy));
        prop_assert_eq!(one.journal(), other.journal());
        prop_assert_eq!(one.result, other.result);
    }

    #[test]
    fn a_journal_replays_to_the_same_decisions(world in any_world(), policy in any_policy()) {
        let run = world.run(&policy);
        let journal = run.journal();
        let records: Vec<Record> = JournalReader::new(&journal[..]).unwrap().map(Result::unwrap).collect();
        prop_assert_eq!(&records, &run.records);
        let verified = run.verify_records(records);
        prop_assert!(verified.is_ok(), "{policy}: {}", verified.unwrap_err());
    }

    #[test]
    fn verify_notices_one_altered_decision(world in any_world(), policy in any_policy(), which in any::<prop::sample::Index>(), how in 0..3u32) {
        let run = world.run(&policy);
        let decisions: Vec<usize> = (0..run.records.len()).filter(|at| matches!(run.records[*at].change, Change::Decision(_))).collect();
        let at = decisions[which.index(decisions.len())];
        let mut records = run.records.clone();
        match (how, &mut records[at].change) {
            (0, _) => {
                records.remove(at);
            }
            (1, _) => records.insert(at, run.records[at].clone()),
            (_, Change::Decision(Decision::Start { node, .. })) => node.0 += 1,
            (_, Change::Decision(Decision::Watch { attempt, .. })) => attempt.task.index += 1,
            (_, Change::Decision(Decision::Stop { attempt, .. } | Decision::Replace { attempt, .. })) => attempt.copy += 1,
            (_, Change::Decision(Decision::Wake { at } | Decision::Reserve { until: at, .. })) => at.0 += 1,
            (_, Change::Decision(Decision::Release { task })) => task.index += 1,
            (_, Change::Decision(Decision::Abandon { job })) => job.0 += 1,
            (_, Change::Event(_)) => unreachable!(),
        }
        prop_assert!(run.verify_records(records).is_err(), "{policy}: verify does not notice that record {at} is altered, way {how}");
    }

    /// With one seed, all policies get the same jobs, and the k-th copy of a task takes the same time under all.
    #[test]
    fn all_policies_get_the_same_jobs_and_durations(world in any_world(), one in any_policy(), other in any_policy()) {
        let (one, other) = (world.run(&one), world.run(&other));
        let arrivals = |run: &Run| -> Vec<Change> {
            run.records.iter().map(|record| record.change.clone()).filter(|change| matches!(change, Change::Event(Event::JobArrived { .. }))).collect()
        };
        prop_assert_eq!(arrivals(&one), arrivals(&other));
        if world.setup.nodes.iter().any(|node| node.speed != 1.0) {
            return Ok(());
        }
        let lengths: BTreeMap<AttemptId, &hindmost_sim::testing::Try> = one.attempts.iter().map(|found| (found.id, found)).collect();
        for found in &other.attempts {
            let Some(same) = lengths.get(&found.id) else { continue };
            let (first, second) = (same.end - same.start, found.end - found.start);
            match (same.outcome, found.outcome) {
                (Outcome::Won, Outcome::Won) => prop_assert!((first - second).abs() < 2e-9, "{}", found.id),
                (Outcome::Won, _) => prop_assert!(second < first + 2e-9, "{}", found.id),
                (_, Outcome::Won) => prop_assert!(first < second + 2e-9, "{}", found.id),
                _ => {}
            }
        }
    }

    /// Jobs that arrive at different times may be added in any order.
    #[test]
    fn jobs_are_numbered_by_arrival(world in any_world(), policy in any_policy()) {
        let mut world = world;
        for (number, job) in world.jobs.iter_mut().enumerate() {
            job.spec.arrival.0 += number as u64;
        }
        let mut turned = world.clone();
        turned.jobs.reverse();
        prop_assert_eq!(world.run(&policy).result, turned.run(&policy).result);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(hindmost_testing::cases(600, 6000)))]

    /// The audit checks that reserved resources are kept for their tasks and that every reservation ends.
    #[test]
    fn runs_with_reservations_pass_the_audit(
        world in any_world_of_readers(),
        order in proptest::sample::select(vec!["fifo", "fair", "capacity", "hopper", "tetris", "srpt", "dollymp"]),
        window in proptest::sample::select(vec![0.2, 1.0]),
        slow in proptest::sample::select(vec![0.5, 1.0]),
        bandwidth in proptest::sample::select(vec!["unknown", "50"]),
    ) {
        let policy = format!("{order}+window(window={window},slow={slow},bandwidth={bandwidth})");
        let run = world.run(&policy);
        audit(&world, &run);
        let verified = run.verify();
        prop_assert!(verified.is_ok(), "{policy}: {}", verified.unwrap_err());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: hindmost_testing::cases(100, 1000), max_shrink_iters: 50, ..ProptestConfig::default() })]

    /// Only Mantri with `kill_restart` replaces attempts.
    #[test]
    fn runs_with_kill_restart_pass_the_audit(
        world in any_world(),
        order in proptest::sample::select(vec!["fifo", "fair", "srpt"]),
        delta in proptest::sample::select(vec![0.01, 0.25, 0.5]),
    ) {
        let policy = format!("{order}+mantri(delta={delta},kill_restart=true)");
        let run = world.try_run(&policy).map_err(|error| TestCaseError::fail(error.to_string()))?;
        // There are at most 6 jobs of 3 phases of 8 tasks, so a run with more records restarts attempts endlessly.
        prop_assert!(run.records.len() < 30_000, "{} records", run.records.len());
        audit(&world, &run);
        let verified = run.verify();
        prop_assert!(verified.is_ok(), "{policy}: {}", verified.unwrap_err());
    }
}

/// JSON has no infinity, so a limit that overflows must be written as a value that can be read again.
#[test]
fn a_journal_with_infinite_limits_can_be_read_again() {
    let world = World::machines(4).job("a").drawn(3, "pareto(alpha=2,mean=100)");
    for policy in
        ["sda(sigma=1e308,max_copies=2)", "ese(sigma=1e308)", "spark(multiplier=1e308)", "late(min_age=1e300)"]
    {
        for knowledge in ["oracle", "age"] {
            let run = world.clone().knowledge(knowledge).run(policy);
            let journal = run.journal();
            let read: Result<Vec<Record>, _> = JournalReader::new(&journal[..]).unwrap().collect();
            match read {
                Ok(records) => assert_eq!(records, run.records),
                Err(error) => panic!("{policy}, {knowledge}: {error}"),
            }
        }
    }
}

/// Random draws may miss a combination of order and system, so this test runs each of them once.
#[test]
fn every_order_with_every_system_passes_the_audit() {
    let world = World::machines(5)
        .knowledge("progress(0.2)")
        .job("a")
        .phase("m")
        .drawn(12, "pareto(alpha=1.5,mean=2)")
        .phase("r")
        .after(["m"])
        .drawn(3, "pareto(alpha=2,mean=1)")
        .job("b")
        .at(0.7)
        .drawn(2, "pareto(alpha=1.2,mean=1)")
        .job("c")
        .at(1.5)
        .drawn(7, "weibull(shape=0.4,mean=2)")
        .job("d")
        .at(1.5)
        .drawn(1, "log_normal(mean=5,cv=3)");
    for order in ORDERS {
        for system in SYSTEMS {
            let policy = format!("{}+{}", order.name, system.name);
            for world in [world.clone(), world.clone().slot(0.5)] {
                let run = world.run(&policy);
                let verified = run.verify().unwrap_or_else(|error| panic!("{policy}: {error}"));
                assert!(verified.decisions >= 25);
                audit(&world, &run);
            }
        }
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let experiment = experiment(
        "slot = 0.1\nhorizon = 30\nseeds = 3\nknowledge = \"progress(0.1)\"\n[cluster]\nmachines = 30\n[workload]\n\
         arrival = { poisson = { rate = 2.0 } }\ntasks = { uniform = { min = 1, max = 20 } }\n\
         duration = { pareto = { alpha = 1.8, mean = { uniform = { min = 0.5, max = 2.0 } } } }\n",
    );
    assert_eq!(experiment.policies.len(), SYSTEMS.len(), "a scenario without policies runs all systems");
    let one = run_on(&experiment, 1);
    assert_eq!(one, run_on(&experiment, 4));
    // Each seed has its own jobs, and all policies get the same jobs.
    let tasks: Vec<Vec<u64>> = one.iter().map(|seeds| seeds.iter().map(|seed| seed.tasks).collect()).collect();
    assert!(tasks.iter().all(|seeds| *seeds == tasks[0]));
    assert!(tasks[0][0] != tasks[0][1] && tasks[0][1] != tasks[0][2]);
}
