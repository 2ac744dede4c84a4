//! The order `capacity`: maxima of queues in random runs, queues in scenarios.

use std::collections::BTreeMap;
use std::path::Path;

use hindmost_core::ids::AttemptId;
use hindmost_core::record::{Change, Decision, Event};
use hindmost_core::workload::QueueSpec;
use hindmost_policies::catalogue::SYSTEMS;
use hindmost_sim::scenario::Scenario;
use hindmost_sim::testing::{Run, World};
use proptest::prelude::*;

use crate::experiments::{experiment, run_on};

/// The queues of random runs, each with its guaranteed share and its maximum share.
const QUEUES: [(&str, f64, f64); 6] =
    [("a", 0.4, 0.7), ("a.x", 0.5, 0.6), ("a.y", 0.2, 1.0), ("b", 0.3, 0.5), ("c", 0.0, 0.8), ("default", 0.1, 0.9)];

/// Returns the queue of a job and its parents if they have a maximum, each with the maximum as a share of the cluster.
/// The shares are constants, so that they are independent of the policy's computation.
fn limits(queue: Option<&str>) -> Vec<(&'static str, f64)> {
    match queue {
        Some("a.x") => vec![("a.x", 0.42), ("a", 0.7)],
        Some("a.y" | "a") => vec![("a", 0.7)],
        Some("b") => vec![("b", 0.5)],
        Some("c") => vec![("c", 0.8)],
        _ => vec![("default", 0.9)],
    }
}

#[derive(Clone, Debug)]
struct JobPlan {
    gap: f64,
    queue: Option<&'static str>,
    tasks: u32,
    duration: &'static str,
    cpus: f64,
    memory: f64,
}

fn any_job() -> impl Strategy<Value = JobPlan> {
    let queues = vec![None, Some("a"), Some("a.x"), Some("a.y"), Some("b"), Some("c"), Some("nowhere")];
    let durations = vec!["1", "exponential(mean=2)", "pareto(alpha=1.3,mean=1)"];
    (
        proptest::sample::select(vec![0.0, 0.0, 0.5, 1.0]),
        proptest::sample::select(queues),
        1..12u32,
        proptest::sample::select(durations),
        1..4u32,
        1..4u32,
    )
        .prop_map(|(gap, queue, tasks, duration, cpus, memory)| JobPlan {
            gap,
            queue,
            tasks,
            duration,
            cpus: f64::from(cpus),
            memory: f64::from(memory) * 1e9,
        })
}

prop_compose! {
    fn any_world()(
        one_slot in any::<bool>(),
        machines in 5..20u32,
        nodes in proptest::collection::vec((5..9u32, 5..12u32), 2..5),
        jobs in proptest::collection::vec(any_job(), 1..9),
        seed in any::<u64>(),
    ) -> World {
        let mut world = if one_slot {
            World::machines(machines)
        } else {
            World::nodes(nodes.iter().map(|(cpus, memory)| [("cpus", f64::from(*cpus)), ("memory", f64::from(*memory) * 1e9)]))
        };
        world = world.queues(QUEUES).seed(seed).knowledge("progress(0.2)");
        let mut arrival = 0.0;
        for (number, job) in jobs.iter().enumerate() {
            arrival += job.gap;
            world = world.job(&number.to_string()).at(arrival).drawn(job.tasks, job.duration);
            world = world.demand([("cpus", job.cpus), ("memory", job.memory)]);
            if let Some(queue) = job.queue {
                world = world.queue(queue);
            }
        }
        world
    }
}

/// Computes from the records which resources each queue holds, and checks that no queue exceeds its maximum.
fn check_maxima(world: &World, run: &Run) -> Result<(), String> {
    let dimensions = &world.setup.dimensions;
    let total = world.setup.nodes.iter().fold([0u64; 8], |mut sum, node| {
        sum.iter_mut().zip(node.capacity.0).for_each(|(sum, amount)| *sum += amount);
        sum
    });
    let mut jobs = Vec::new();
    let mut held: BTreeMap<&str, [u64; 8]> = BTreeMap::new();
    let mut running: BTreeMap<AttemptId, usize> = BTreeMap::new();
    for record in &run.records {
        match &record.change {
            Change::Event(Event::JobArrived { spec, .. }) => {
                let demand = dimensions.demand(&spec.phases[0].demand).unwrap();
                jobs.push((limits(spec.queue.as_deref()), demand.0));
            }
            Change::Decision(Decision::Start { attempt, .. }) => {
                let job = attempt.task.job.0 as usize;
                running.insert(*attempt, job);
                let (limits, demand) = &jobs[job];
                for (queue, maximum) in limits {
                    let in_use = held.entry(queue).or_default();
                    for at in 0..8 {
                        in_use[at] += demand[at];
                        let most = maximum * total[at] as f64;
                        if in_use[at] as f64 > most * (1.0 + 1e-6) {
                            return Err(format!("{queue} holds {in_use:?} of {total:?}"));
                        }
                    }
                }
            }
            Change::Event(Event::AttemptFinished { attempt } | Event::AttemptStopped { attempt }) => {
                if let Some(job) = running.remove(attempt) {
                    let (limits, demand) = &jobs[job];
                    for (queue, _) in limits {
                        let in_use = held.entry(queue).or_default();
                        in_use.iter_mut().zip(demand).for_each(|(held, amount)| *held -= amount);
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Shows that [`check_maxima`] finds an error: under `fifo`, queue b holds more than half of the machines.
#[test]
fn fifo_exceeds_the_queues_maxima() {
    let world = World::machines(5).queues(QUEUES).job("j").queue("b").same(3, 1.0);
    assert!(check_maxima(&world, &world.run("fifo")).unwrap_err().starts_with("b holds"));
    check_maxima(&world, &world.run("capacity")).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(hindmost_testing::cases(250, 2500)))]

    #[test]
    fn no_queue_exceeds_its_maximum(
        world in any_world(),
        rule in proptest::sample::select(SYSTEMS.iter().map(|system| system.name).collect::<Vec<_>>()),
    ) {
        let policy = format!("capacity+{rule}");
        let run = match world.try_run(&policy) {
            // In a small cluster the maximum of a queue may be less than one copy demands.
            Err(error) => {
                prop_assert!(error.to_string().contains("more than the maximum capacity of its queue"), "{policy}: {error}");
                return Ok(());
            }
            Ok(run) => run,
        };
        let within = check_maxima(&world, &run);
        prop_assert!(within.is_ok(), "{policy}: {}", within.unwrap_err());
        let verified = run.verify();
        prop_assert!(verified.is_ok(), "{policy}: {}", verified.unwrap_err());
    }

    /// Without queues, `capacity` and `fifo` give the same results.
    #[test]
    fn without_queues_capacity_is_fifo(world in any_world()) {
        let world = world.queues([]);
        prop_assert_eq!(world.run("capacity").result, world.run("fifo").result);
    }
}

/// A scenario with queues, and with the probabilities with which jobs are submitted to them.
const SCENARIO: &str = r#"
order = "capacity"
horizon = 50.0
[[queue]]
name = "production"
guaranteed = 0.7
maximum = 0.9
[[queue]]
name = "research"
guaranteed = 0.3
[[queue]]
name = "research.students"
guaranteed = 0.5
maximum = 0.5
[cluster]
machines = 10
[workload]
arrival = { poisson = { rate = 20.0 } }
tasks = { uniform = { min = 1, max = 5 } }
duration = { pareto = { alpha = 2.0, mean = { uniform = { min = 0.01, max = 0.1 } } } }
queues = { production = 0.6, "research.students" = 0.3 }
[[policy]]
name = "none"
"#;

fn error_with(from: &str, to: &str) -> String {
    assert!(SCENARIO.contains(from), "{from:?} is not in the scenario");
    match Scenario::parse(&SCENARIO.replacen(from, to, 1), "s.toml", Path::new(""), &[]) {
        Ok(_) => panic!("{to:?} is accepted"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn mistakes_in_queues_are_errors() {
    let scenario = Scenario::parse(SCENARIO, "s.toml", Path::new(""), &[]).unwrap();
    let everything = QueueSpec { name: "research".into(), guaranteed: 0.3, maximum: 1.0 };
    assert_eq!(scenario.queue[1], everything, "a queue without a maximum may use the whole cluster");
    // A scenario that is written back has the same queues.
    let again = toml::to_string(&scenario).unwrap();
    let again = Scenario::parse(&again, "again", Path::new(""), &[]).unwrap();
    assert_eq!((again.queue, again.workload.queues), (scenario.queue, scenario.workload.queues));
    for (from, to, expected) in [
        ("name = \"research\"", "name = \"production\"", "queue, entry 2 (\"production\"): entry 1 has the same name"),
        ("guaranteed = 0.3", "guaranteed = 0.4", "raises the sum for the top-level queues to 1.1"),
        (
            "maximum = 0.9",
            "maximum = 0.6",
            "queue, entry 1 (\"production\"): maximum is 0.6, but must be at least the guaranteed share, 0.7",
        ),
        ("maximum = 0.9", "maximum = 1.5", "at most 1"),
        (
            "name = \"research.students\"",
            "name = \"reserch.students\"",
            "queue, entry 3 (\"reserch.students\"): its parent \"reserch\" is not a queue; did you mean \"research\"?",
        ),
        ("maximum = 0.9", "most = 0.9", "there is no key \"most\""),
        (
            "{ production = 0.6",
            "{ prodution = 0.6",
            "workload.queues: \"prodution\" is not a queue; did you mean \"production\"?",
        ),
        ("{ production = 0.6", "{ production = 0.8", "the chances add up to 1.1, but must add up to at most 1"),
        ("{ production = 0.6", "{ production = -0.6", "workload.queues.production is -0.6, but must be from 0 to 1"),
        ("order = \"capacity\"", "order = \"capacity(resources=cpus)\"", "must be dominant or memory"),
        ("order = \"capacity\"", "order = \"hopper(beta=0.5)\"", "must be fitted, or a number from 1"),
        ("order = \"capacity\"", "order = \"hopper(epsilon=1.5)\"", "must be a number from 0 to 1"),
    ] {
        let error = error_with(from, to);
        assert!(error.contains(expected), "{error}\nnot {expected}");
    }
    let file = "[[queue]]\nname = \"q\"\nguaranteed = 1\n[cluster]\nmachines = 1\n[workload]\nfile = \"x\"\nqueues = { q = 1 }\n";
    let error = Scenario::parse(file, "s.toml", Path::new(""), &[]).unwrap_err().to_string();
    assert!(error.contains("leave workload.queues out"), "{error}");
}

/// Runs the first policy of a scenario on seed 1 and returns the jobs that arrived.
fn jobs_of(text: &str) -> Vec<std::sync::Arc<hindmost_core::workload::JobSpec>> {
    #[derive(Default)]
    struct Arrivals(Vec<std::sync::Arc<hindmost_core::workload::JobSpec>>);
    impl hindmost_sim::output::Output for Arrivals {
        fn wants_records(&self) -> bool {
            true
        }
        fn record(&mut self, record: &hindmost_core::record::Record) -> std::io::Result<()> {
            if let Change::Event(Event::JobArrived { spec, .. }) = &record.change {
                self.0.push(spec.clone());
            }
            Ok(())
        }
    }
    let experiment = experiment(text);
    let stop = std::sync::atomic::AtomicBool::new(false);
    let control = hindmost_sim::driver::Control { stop: &stop, progress: &|_| {} };
    let mut arrivals = Arrivals::default();
    experiment.run_one(&experiment.policies[0], 1, &mut arrivals, &control).unwrap();
    arrivals.0
}

#[test]
fn queues_of_generated_jobs_change_no_other_draw() {
    let with = jobs_of(SCENARIO);
    let without = jobs_of(&SCENARIO.replacen("queues = {", "# queues = {", 1));
    assert_eq!(with.len(), without.len());
    for (one, other) in with.iter().zip(&without) {
        let alike = hindmost_core::workload::JobSpec { queue: None, ..(**one).clone() };
        assert_eq!(alike, **other);
    }
    let count = with.len() as f64;
    let share = |queue: Option<&str>| with.iter().filter(|job| job.queue.as_deref() == queue).count() as f64 / count;
    for (queue, chance) in [(Some("production"), 0.6), (Some("research.students"), 0.3), (None, 0.1f64)] {
        // The tolerance is four standard errors.
        let error = 4.0 * (chance * (1.0 - chance) / count).sqrt();
        assert!((share(queue) - chance).abs() < error, "{queue:?}: {} ± {error}", share(queue));
    }
    assert!(run_on(&experiment(SCENARIO), 1)[0][0].finished > 500);
}
