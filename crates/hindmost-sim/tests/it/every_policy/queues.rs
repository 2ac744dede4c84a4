//! The maxima of queues under the order `capacity`.

use std::collections::BTreeMap;

use hindmost_core::ids::AttemptId;
use hindmost_core::record::{Change, Decision, Event};
use hindmost_sim::testing::{Run, World};

/// The queues of random runs, each with its guaranteed share and its maximum share.
pub const QUEUES: [(&str, f64, f64); 6] =
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

/// Computes from the records which resources each queue holds, and checks that no queue exceeds its maximum.
pub fn check_maxima(world: &World, run: &Run) -> Result<(), String> {
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
                let demands = spec.phases.iter().map(|phase| dimensions.demand(&phase.demand).unwrap().0);
                jobs.push((limits(spec.queue.as_deref()), demands.collect::<Vec<_>>()));
            }
            Change::Decision(Decision::Start { attempt, .. }) => {
                let job = attempt.task.job.0 as usize;
                running.insert(*attempt, job);
                let (limits, demands) = &jobs[job];
                let demand = &demands[attempt.task.phase as usize];
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
                    let (limits, demands) = &jobs[job];
                    let demand = &demands[attempt.task.phase as usize];
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
