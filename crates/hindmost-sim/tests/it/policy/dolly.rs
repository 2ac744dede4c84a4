//! `dolly`, in instances small enough to work out by hand, and its budget in random ones.

use std::collections::BTreeMap;

use hindmost_core::ids::TaskId;
use hindmost_core::record::{Change, Decision, Event};
use hindmost_core::resources::Resources;
use hindmost_sim::output::Outcome::{Lost, Won};
use hindmost_sim::testing::{Run, World};
use proptest::prelude::*;

/// Dolly with the whole cluster as budget. Jobs of 2 to 10 tasks get two copies of each task.
const WIDE: &str = "fifo+dolly(budget=1,utilization=1)";

#[test]
fn a_small_job_starts_with_clones_and_the_first_copy_wins() {
    // For two tasks and p = ε = 0.05, log(1 − 0.95^(1/2)) / log 0.05 = −3.676 / −2.996 = 1.23: two copies of each task.
    let run = World::machines(4).job("a").tasks([[4.0, 1.0], [2.0, 3.0]]).run(WIDE);
    assert_eq!(run.backups("a"), [(0, 0.0), (1, 0.0)]);
    assert_eq!(
        run.table("a"),
        [(0, 0, 0, 0.0, 1.0, Lost), (0, 1, 2, 0.0, 1.0, Won), (1, 0, 1, 0.0, 2.0, Won), (1, 1, 3, 0.0, 2.0, Lost)]
    );
    run.verify().unwrap();
}

#[test]
fn the_number_of_copies_follows_the_papers_formula() {
    // With p = 0.2 the tasks of a job of two tasks get log 0.0253 / log 0.2 = 2.28, rounded up to three copies; a
    // single task gets log 0.05 / log 0.2 = 1.86, rounded up to two copies.
    let world = World::machines(9).job("a").tasks([[5.0; 4], [5.0; 4]]).job("b").tasks([[5.0; 4]]);
    let run = world.run("fifo+dolly(p=0.2,budget=1,utilization=1)");
    assert_eq!(run.backups("a"), [(0, 0.0), (0, 0.0), (1, 0.0), (1, 0.0)]);
    assert_eq!(run.backups("b"), [(0, 0.0)]);
}

#[test]
fn big_jobs_are_never_cloned() {
    let eleven = World::machines(100).job("a").tasks([[3.0, 1.0]; 11]);
    assert_eq!(eleven.run(WIDE).backups("a"), []);
    assert_eq!(eleven.run("fifo+dolly(budget=1,utilization=1,small=11)").backups("a").len(), 11);
    // The tasks of all phases count together.
    let phases = World::machines(100)
        .job("a")
        .phase("map")
        .tasks([[1.0, 1.0]; 6])
        .phase("reduce")
        .after(["map"])
        .tasks([[1.0, 1.0]; 5]);
    assert_eq!(phases.run(WIDE).backups("a"), []);
}

#[test]
fn all_tasks_of_a_job_are_cloned_or_none() {
    // The budget is 6 of 30 machines. The copies of "a" need 4, its originals included. "b" needs 4 as well, but the
    // budget has only 2 left, so it gets no clones.
    let world = World::machines(30)
        .job("a")
        .tasks([[5.0, 5.0], [5.0, 5.0]])
        .job("b")
        .tasks([[9.0, 1.0], [9.0, 1.0]])
        .job("c")
        .at(1.0)
        .tasks([[5.0, 5.0]])
        .job("d")
        .at(5.0)
        .tasks([[2.0, 1.0], [2.0, 1.0]]);
    let run = world.run("fifo+dolly(budget=0.2)");
    assert_eq!((run.backups("a").len(), run.backups("b").len()), (2, 0));
    // "a" finishes at 5, so the budget is free for "d". "b" still gets no clones, because that was decided at its
    // start.
    assert_eq!(run.backups("d"), [(0, 5.0), (1, 5.0)]);
    let run = world.run("fifo+dolly(budget=0.2,p=0.06,epsilon=0.05)");
    // With p = 0.06 a single task needs two copies as well (log 0.05 / log 0.06 = 1.06), so "c" uses the rest of the
    // budget.
    assert_eq!((run.backups("a").len(), run.backups("b").len(), run.backups("c").len()), (2, 0, 1));
}

#[test]
fn the_budget_counts_originals_of_cloned_jobs() {
    // Two jobs of two tasks get c = 2 copies of each task: c·n = 4 for each job. The budget is 4 of 40 machines, so
    // only the first job is admitted. If only the (c − 1)·n = 2 clones counted, both would be.
    let world = World::machines(40)
        .job("a")
        .tasks([[5.0, 5.0], [5.0, 5.0]])
        .job("b")
        .tasks([[5.0, 5.0], [5.0, 5.0]])
        .job("c")
        .at(5.0)
        .tasks([[1.0, 1.0], [1.0, 1.0]]);
    let clones = |policy: &str| ["a", "b", "c"].map(|job| world.run(policy).backups(job).len());
    assert_eq!(clones("fifo+dolly(budget=0.1)"), [2, 0, 2]);
    assert_eq!(clones("fifo+dolly(budget=0.1,admission=clones)"), [2, 2, 2]);
    // With a budget of 3 machines not even the first job fits.
    assert_eq!(clones("fifo+dolly(budget=0.075)"), [0, 0, 0]);
    assert_eq!(clones("fifo+dolly(budget=0.075,admission=clones)"), [2, 0, 2]);
}

#[test]
fn utilization_counts_all_copies_of_the_job() {
    // "big" uses 6 of 10 machines. The clock starts with the map of "small" (1 task); its two reduces come later. Its
    // c·n = 2 · 3 copies and the 6 of "big" are 12 machines; the original that runs already is one of the 6 copies. If
    // only clones counted, it would be 6 + 1 + 3 = 10.
    let world = World::machines(10)
        .job("big")
        .same(6, 9.0)
        .job("small")
        .at(1.0)
        .phase("map")
        .tasks([[2.0, 1.0]])
        .phase("reduce")
        .after(["map"])
        .tasks([[2.0, 1.0], [2.0, 1.0]]);
    let with = |options: &str| world.run(&format!("fifo+dolly(small=3,budget=1,utilization=1{options})"));
    assert_eq!(with("").backups("small"), []);
    assert_eq!(with(",admission=clones").backups("small").len(), 3);
    // Without two of the attempts of "big", 4 + 6 machines are just enough.
    let world = World::machines(10)
        .job("big")
        .same(4, 9.0)
        .job("small")
        .at(1.0)
        .phase("map")
        .tasks([[2.0, 1.0]])
        .phase("reduce")
        .after(["map"])
        .tasks([[2.0, 1.0], [2.0, 1.0]]);
    assert_eq!(world.run("fifo+dolly(small=3,budget=1,utilization=1)").backups("small").len(), 3);
    assert_eq!(world.run("fifo+dolly(small=3,budget=1,utilization=0.99)").backups("small").len(), 0);
}

#[test]
fn no_clones_above_the_utilization_limit() {
    // "big" uses 6 of 10 machines when "small" starts. With 2 originals and 2 clones of "small", all machines are in
    // use.
    let world = World::machines(10).job("big").same(6, 9.0).job("small").at(1.0).tasks([[2.0, 1.0], [2.0, 1.0]]);
    let at = |limit: &str| world.run(&format!("fifo+dolly(small=3,budget=1,utilization={limit})")).backups("small");
    assert_eq!(at("0.99"), []);
    assert_eq!(at("1"), [(0, 1.0), (1, 1.0)]);
}

#[test]
fn later_phases_keep_their_part_of_the_budget() {
    // The map and the reduce of "a" reserve two copies each, which is the whole budget of 4. "b" gets no clones,
    // although only the map's copies are running at 1. The reduce starts with its clone.
    let world = World::machines(20)
        .job("a")
        .phase("map")
        .tasks([[4.0, 4.0]])
        .phase("reduce")
        .after(["map"])
        .tasks([[3.0, 2.0]])
        .job("b")
        .at(1.0)
        .tasks([[9.0, 1.0], [9.0, 1.0]])
        .job("c")
        .at(4.5)
        .tasks([[1.0, 1.0], [1.0, 1.0]])
        .job("d")
        .at(7.0)
        .tasks([[1.0, 1.0], [1.0, 1.0]]);
    let run = world.run("fifo+dolly(budget=0.2)");
    assert_eq!(run.backups("a"), [(0, 0.0), (0, 4.0)]);
    assert_eq!(run.backups("b"), []);
    // The map ends at 4 and its part of the budget is free, but "c" needs four copies. The reduce ends at 6, so the
    // whole budget is free for "d".
    assert_eq!(run.backups("c"), []);
    assert_eq!(run.backups("d").len(), 2);
    assert_eq!(run.job("a").finish, 6.0);
}

#[test]
fn a_clone_waits_for_a_node_without_a_copy_of_its_task() {
    // Both originals run on the large node. The small node has resources for one clone: first that of task 0, and when
    // task 0 has finished at 2, that of task 1.
    let run = World::nodes([[("cpus", 4.0)], [("cpus", 1.0)]]).job("a").tasks([[2.0, 3.0], [9.0, 1.0]]).run(WIDE);
    let placed: Vec<_> = run.table("a").iter().map(|row| (row.0, row.1, row.2, row.3, row.4)).collect();
    assert_eq!(placed, [(0, 0, 0, 0.0, 2.0), (0, 1, 1, 0.0, 2.0), (1, 0, 0, 0.0, 3.0), (1, 1, 1, 2.0, 3.0)]);
}

#[test]
fn whether_a_job_gets_clones_is_decided_at_its_start() {
    // With two clones the job would need four machines, but there are three. So it gets no clones, although one machine
    // is free at its start and two are free later.
    let run = World::machines(3).job("a").tasks([[1.0, 3.0], [9.0, 1.0]]).run(WIDE);
    assert_eq!(run.backups("a"), []);
}

#[test]
fn the_budget_holds_in_every_dimension() {
    // The budget is a fifth of 40 cpus and 40 GB. Four copies of 1 cpu and 3 GB hold 4 cpus, but 12 GB.
    let world = |memory: f64| {
        World::nodes([[("cpus", 10.0), ("memory", 10.0e9)]; 4])
            .job("a")
            .tasks([[2.0, 1.0], [2.0, 1.0]])
            .demand([("cpus", 1.0), ("memory", memory)])
    };
    assert_eq!(world(3e9).run("fifo+dolly(budget=0.2)").backups("a"), []);
    assert_eq!(world(2e9).run("fifo+dolly(budget=0.2)").backups("a").len(), 2);
}

/// Returns the largest share of the cluster, over dimensions and time, that clones held. All running copies of a task
/// except one count as clones.
fn largest_share_of_clones(world: &World, run: &Run) -> f64 {
    let mut total = Resources::NONE;
    let mut specs = Vec::new();
    let mut running: BTreeMap<TaskId, u64> = BTreeMap::new();
    let mut extra = Resources::NONE;
    let mut largest = 0.0f64;
    for record in &run.records {
        let (task, starts) = match &record.change {
            Change::Event(Event::NodeJoined { capacity, .. }) => {
                total = total.plus(capacity);
                continue;
            }
            Change::Event(Event::JobArrived { spec, .. }) => {
                specs.push(spec.clone());
                continue;
            }
            Change::Decision(Decision::Start { attempt, .. }) => (attempt.task, true),
            Change::Event(Event::AttemptFinished { attempt } | Event::AttemptStopped { attempt }) => {
                (attempt.task, false)
            }
            _ => continue,
        };
        let spec = &specs[task.job.0 as usize].phases[task.phase as usize];
        let demand = world.setup.dimensions.demand(&spec.demand).unwrap();
        let copies = running.entry(task).or_default();
        if starts {
            *copies += 1;
            extra = if *copies > 1 { extra.plus(&demand) } else { extra };
        } else {
            extra = if *copies > 1 { extra.minus(&demand) } else { extra };
            *copies -= 1;
        }
        largest = largest.max(extra.dominant_share(&total));
    }
    largest
}

prop_compose! {
    fn small_jobs()(
        gap in prop::sample::select(vec![0.0, 0.3, 1.0]),
        phases in prop::collection::vec((1..7u32, 1..4u32, 0..4u32), 1..4),
    ) -> (f64, Vec<(u32, u32, u32)>) {
        (gap, phases)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(hindmost_testing::cases(200, 2000)))]

    #[test]
    fn the_budget_is_never_exceeded_and_jobs_are_cloned_whole(
        jobs in prop::collection::vec(small_jobs(), 1..25),
        nodes in 2..12u32,
        budget in prop::sample::select(vec![0.0, 0.05, 0.1, 0.3, 1.0]),
        utilization in prop::sample::select(vec![0.5, 0.8, 1.0]),
        p in prop::sample::select(vec![0.05, 0.3]),
        admission in prop::sample::select(vec!["copies", "clones"]),
        seed in any::<u64>(),
    ) {
        const NAMES: [&str; 3] = ["one", "two", "three"];
        let mut world = World::nodes(vec![[("cpus", 4.0), ("memory", 8e9)]; nodes as usize]).seed(seed);
        let mut arrival = 0.0;
        for (number, (gap, phases)) in jobs.iter().enumerate() {
            arrival += gap;
            world = world.job(&number.to_string()).at(arrival);
            for (at, (tasks, cpus, memory)) in phases.iter().enumerate() {
                let parents = at.checked_sub(1).map(|parent| NAMES[parent]);
                world = world.phase(NAMES[at]).after(parents).drawn(*tasks, "pareto(alpha=1.5,mean=1)");
                world = world.demand([("cpus", f64::from(*cpus)), ("memory", f64::from(*memory) * 1e9)]);
            }
        }
        let run = world.run(&format!("fair+dolly(budget={budget},utilization={utilization},p={p},admission={admission})"));
        let largest = largest_share_of_clones(&world, &run);
        prop_assert!(largest <= budget + 1e-9, "clones held {largest} of the cluster");
        for (number, (_, phases)) in jobs.iter().enumerate() {
            let tasks: u32 = phases.iter().map(|phase| phase.0).sum();
            let clones = run.tries(&number.to_string()).iter().filter(|one| one.id.copy > 0).count();
            prop_assert!(tasks <= 10 || clones == 0, "a job of {tasks} tasks has clones");
        }
    }
}
