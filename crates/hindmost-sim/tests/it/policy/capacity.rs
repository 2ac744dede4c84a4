//! `capacity`: queues, by sequences worked out by hand, and what must hold of every run.

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

/// The names of the jobs whose copies are started, in the order of the decisions.
fn sequence(run: &Run) -> String {
    let mut names = Vec::new();
    let mut started = String::new();
    for record in &run.records {
        match &record.change {
            Change::Event(Event::JobArrived { spec, .. }) => names.push(spec.name.to_string()),
            Change::Decision(Decision::Start { attempt, .. }) => started += &names[attempt.task.job.0 as usize],
            _ => {}
        }
    }
    started
}

#[test]
fn two_queues_of_60_and_40_and_three_jobs() {
    // Of five machines production is guaranteed three, research two. Used over guaranteed, step by step:
    // 0, 0: a; 1/3, 0: b; 1/3, 1/2: a; 2/3, 1/2: b; 2/3, 1: a. At 1 all are free again: a (its last), b, then c,
    // which came after a, b, c.
    let run = World::machines(5)
        .queues([("production", 0.6, 1.0), ("research", 0.4, 1.0)])
        .job("a")
        .queue("production")
        .same(4, 1.0)
        .job("b")
        .queue("research")
        .same(4, 1.0)
        .job("c")
        .queue("production")
        .same(2, 1.0)
        .run("capacity");
    assert_eq!(sequence(&run), "ababaabcbc");
    assert_eq!(run.starts("a"), [0.0, 0.0, 0.0, 1.0]);
    assert_eq!(run.starts("b"), [0.0, 0.0, 1.0, 1.0]);
    assert_eq!(run.starts("c"), [1.0, 1.0]);
}

#[test]
fn a_hierarchy_shares_level_by_level() {
    // Eight machines: a and b four each; of a's, x three and y one.
    // a, b: 0, 0 -> a: x (tied with y); b; 1/4, 1/4 -> a: x has 1/3, y 0 -> y; b; 2/4, 2/4 -> a: 1/3, 1 -> x; b;
    // 3/4, 3/4 -> a: 2/3, 1 -> x; b.
    let world = World::machines(8)
        .queues([("a", 0.5, 1.0), ("b", 0.5, 1.0), ("a.x", 0.75, 1.0), ("a.y", 0.25, 1.0)])
        .job("x")
        .queue("a.x")
        .same(8, 1.0)
        .job("y")
        .queue("a.y")
        .same(8, 1.0)
        .job("b")
        .queue("b")
        .same(8, 1.0);
    let run = world.run("capacity");
    assert_eq!(sequence(&run)[..8], *"xbybxbxb");
    // What x leaves is first its sibling's: without x, y has all of a's four.
    let without = World { jobs: world.jobs[1..].to_vec(), ..world };
    assert_eq!(sequence(&without.run("capacity"))[..8], *"ybybybyb");
}

#[test]
fn a_maximum_binds_though_machines_are_idle() {
    let research = |world: World| world.job("r").queue("research").same(10, 1.0);
    let run = research(World::machines(10).queues([("research", 0.3, 0.4)])).run("capacity");
    assert_eq!(run.starts("r"), [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 2.0, 2.0]);
    // That of a queue above binds those below together, and a share is one of the queue above: x may have 40%
    // of a half, both together the half.
    let run = World::machines(10)
        .queues([("a", 0.5, 0.5), ("a.x", 0.4, 0.4), ("a.y", 0.4, 1.0)])
        .job("x")
        .queue("a.x")
        .same(9, 1.0)
        .job("y")
        .queue("a.y")
        .same(9, 1.0)
        .run("capacity");
    let at_once = |job| run.starts(job).iter().filter(|start| **start == 0.0).count();
    assert_eq!((at_once("x"), at_once("y")), (2, 3));
}

#[test]
fn what_is_borrowed_is_given_back_as_attempts_end() {
    // r borrows all four machines. Each that it gives up goes to p, which uses less of its half, until both
    // have two.
    let run = World::machines(4)
        .queues([("production", 0.5, 1.0), ("research", 0.5, 1.0)])
        .job("r")
        .queue("research")
        .tasks([[1.0], [2.0], [3.0], [4.0], [20.0], [20.0]])
        .job("p")
        .at(0.5)
        .queue("production")
        .same(3, 10.0)
        .run("capacity");
    assert_eq!(run.starts("p"), [1.0, 2.0, 11.0]);
    assert_eq!(run.starts("r"), [0.0, 0.0, 0.0, 0.0, 3.0, 4.0]);
}

#[test]
fn a_task_that_fits_nowhere_blocks_no_other_job() {
    let run = World::nodes([[("cpus", 4.0)]])
        .queues([("q", 1.0, 1.0)])
        .job("first")
        .queue("q")
        .same(1, 10.0)
        .job("wide")
        .queue("q")
        .same(1, 1.0)
        .demand([("cpus", 4.0)])
        .job("thin")
        .queue("q")
        .same(2, 1.0)
        .run("capacity");
    assert_eq!((run.starts("thin"), run.starts("wide")), (vec![0.0, 0.0], vec![10.0]));
    // Nor does one that is over a maximum.
    let run = World::nodes([[("cpus", 4.0)]])
        .queues([("q", 0.5, 0.75)])
        .job("wide")
        .queue("q")
        .same(2, 1.0)
        .demand([("cpus", 2.0)])
        .job("thin")
        .queue("q")
        .same(2, 1.0)
        .run("capacity");
    assert_eq!((run.starts("wide"), run.starts("thin")), (vec![0.0, 1.0], vec![0.0, 1.0]));
}

#[test]
fn jobs_without_queue_use_default_zero_guarantee_is_last() {
    let jobs = |world: World| {
        world.job("d").same(2, 1.0).job("u").queue("unheard-of").same(1, 1.0).job("p").queue("p").same(2, 1.0)
    };
    // The default is guaranteed nothing.
    let run = jobs(World::machines(2).queues([("p", 1.0, 1.0)])).run("capacity");
    assert_eq!(sequence(&run), "ppddu");
    // It is guaranteed half.
    let run = jobs(World::machines(2).queues([("p", 0.5, 1.0)])).run("capacity");
    assert_eq!(sequence(&run), "pdpdu");
    // Without queues it is first in, first out.
    let run = jobs(World::machines(2)).run("capacity");
    assert_eq!(sequence(&run), "ddupp");
}

#[test]
fn a_share_is_of_the_dominant_resource_or_of_memory() {
    // A copy is a fifth of the cpus and a hundredth of the memory.
    let world = World::nodes([[("cpus", 10.0), ("memory", 100e9)]])
        .queues([("q", 0.5, 0.5)])
        .job("j")
        .queue("q")
        .same(5, 1.0)
        .demand([("cpus", 2.0), ("memory", 1e9)]);
    assert_eq!(world.run("capacity").starts("j"), [0.0, 0.0, 1.0, 1.0, 2.0]);
    assert_eq!(world.run("capacity(resources=memory)").starts("j"), [0.0; 5]);
    // Without memory it is the first dimension: here, machines.
    let world = World::machines(4).queues([("q", 0.5, 0.5)]).job("j").queue("q").same(3, 1.0);
    assert_eq!(world.run("capacity(resources=memory)").starts("j"), [0.0, 0.0, 1.0]);
}

#[test]
fn backups_stay_within_the_maximum_too() {
    let world =
        World::machines(4).queues([("q", 0.5, 0.5)]).job("j").queue("q").tasks([vec![1.0], vec![9.0, 1.0]]).mean(1.0);
    assert_eq!(world.run("fifo+hadoop").backups("j"), [(1, 0.0)]);
    assert_eq!(world.run("capacity+hadoop").backups("j"), [(1, 1.0)]);
}

#[test]
fn a_copy_beyond_the_maximum_of_its_queue_is_an_error() {
    let world = World::machines(2).queues([("q", 0.3, 0.4)]).job("j").queue("q").same(1, 1.0);
    let error = world.run_error("capacity");
    assert_eq!(
        error,
        "job \"j\" can never run: one copy of its phase \"tasks\" demands more than the maximum capacity of its queue (\"q\")"
    );
    assert_eq!(world.run("fifo").starts("j"), [0.0]);
}

// Queues for random runs: which, and at most which part of their maxima is in use at any time.

const QUEUES: [(&str, f64, f64); 6] =
    [("a", 0.4, 0.7), ("a.x", 0.5, 0.6), ("a.y", 0.2, 1.0), ("b", 0.3, 0.5), ("c", 0.0, 0.8), ("default", 0.1, 0.9)];

/// The queue of a job and those above it, each with its maximum as a share of the cluster: written down, not
/// computed as the policy does.
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

/// Rebuilds from the records what each queue holds, and checks it against the maxima.
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

/// The check can fail: fifo gives queue b half of the machines and more.
#[test]
fn fifo_exceeds_the_queues_maxima() {
    let world = World::machines(5).queues(QUEUES).job("j").queue("b").same(3, 1.0);
    assert!(check_maxima(&world, &world.run("fifo")).unwrap_err().starts_with("b holds"));
    check_maxima(&world, &world.run("capacity")).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(250))]

    #[test]
    fn no_queue_exceeds_its_maximum(
        world in any_world(),
        rule in proptest::sample::select(SYSTEMS.iter().map(|system| system.name).collect::<Vec<_>>()),
    ) {
        let policy = format!("capacity+{rule}");
        let run = match world.try_run(&policy) {
            // A queue of a small cluster may be smaller than a copy.
            Err(error) => {
                prop_assert!(error.to_string().contains("may hold at most"), "{policy}: {error}");
                return Ok(());
            }
            Ok(run) => run,
        };
        let within = check_maxima(&world, &run);
        prop_assert!(within.is_ok(), "{policy}: {}", within.unwrap_err());
        let verified = run.verify();
        prop_assert!(verified.is_ok(), "{policy}: {}", verified.unwrap_err());
    }

    /// Without queues it is first in, first out in all that it does.
    #[test]
    fn without_queues_it_is_fifo(world in any_world()) {
        let world = world.queues([]);
        prop_assert_eq!(world.run("capacity").result, world.run("fifo").result);
    }
}

// In scenario files.

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
    assert_eq!(scenario.queue[1], everything, "a maximum that is left out is everything");
    // What is written back means the same.
    let again = toml::to_string(&scenario).unwrap();
    let again = Scenario::parse(&again, "again", Path::new(""), &[]).unwrap();
    assert_eq!((again.queue, again.workload.queues), (scenario.queue, scenario.workload.queues));
    for (from, to, expected) in [
        (
            "name = \"research\"",
            "name = \"production\"",
            "queue, entry 2 (\"production\"): entry 1 has the same name",
        ),
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

/// The jobs that a scenario's first seed makes, by a run that starts nothing but them.
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
fn queue_shares_of_generated_jobs_change_nothing_else() {
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
        // Four standard errors.
        let error = 4.0 * (chance * (1.0 - chance) / count).sqrt();
        assert!((share(queue) - chance).abs() < error, "{queue:?}: {} ± {error}", share(queue));
    }
    assert!(run_on(&experiment(SCENARIO), 1)[0][0].finished > 500);
}
