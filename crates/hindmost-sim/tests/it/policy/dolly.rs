//! The budget of `dolly` in random runs.

use std::collections::BTreeMap;

use hindmost_core::ids::TaskId;
use hindmost_core::record::{Change, Decision, Event};
use hindmost_core::resources::Resources;
use hindmost_sim::testing::{Run, World};
use proptest::prelude::*;

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
