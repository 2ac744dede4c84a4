//! Theorem 2 (section 5.1) and what it is compared with.

use hindmost_claims::{Cell, DataTable, Measured};
use hindmost_policies::theory::priorities::priorities;
use hindmost_policies::theory::transient::TransientJob;

use super::super::ANALYSIS;
use super::exact;
use super::instances::{INSTANCES, JOBS, Placed, instance, optimum, random, sizes};

/// Values of ε for which guarantees are computed.
const EPSILONS: [f64; 5] = [0.01, 0.1, 0.5, 1.0, 2.0];

fn competitive(epsilon: f64) -> f64 {
    (3.0 + 3.0 * epsilon) / epsilon
}

pub(super) fn guarantees() -> Result<Vec<Measured>, String> {
    let mut all = vec![exact("Theorem 1's ratio with R = 1, no stragglers", 6.0, "times the optimum")];
    for epsilon in [0.1, 1.0] {
        let value = format!("ratio (3 + 3ε)/ε without stragglers, on 2 + ε times the capacity, ε = {epsilon}");
        all.push(exact(&value, competitive(epsilon), "times the optimum"));
    }
    Ok(all)
}

pub(super) fn against_hrdf() -> Result<Vec<Measured>, String> {
    let ratio = |epsilon: f64| (3.0 + 3.0 * epsilon) / (5.0 + 3.0 * epsilon);
    Ok([0.01, 0.1]
        .map(|epsilon| {
            let reading = format!("{ANALYSIS}, ε = {epsilon}");
            Measured::exact(&reading, "guarantee of DollyMP divided by that of HRDF", Some(ratio(epsilon)), "")
        })
        .to_vec())
}

pub(super) fn guarantee_table() -> Result<DataTable, String> {
    let rows = EPSILONS.map(|epsilon| {
        let hrdf = (5.0 + 3.0 * epsilon) / epsilon;
        [epsilon, 2.0 + epsilon, competitive(epsilon), hrdf].map(Cell::from).to_vec()
    });
    Ok(DataTable::new(
        "Guaranteed ratios to the optimum on a server of capacity 1, without stragglers",
        ["ε", "capacity", "DollyMP, (3 + 3ε)/ε", "HRDF, (5 + 3ε)/ε"].map(str::to_owned).to_vec(),
        rows.to_vec(),
    ))
}

/// Runs Algorithm 2 without clones on one server of this capacity and returns the total flowtime. Each arrival renews
/// all priorities. If the first job does not fit, the next one is tried.
fn online(jobs: &[TransientJob], arrivals: &[f64], capacity: f64) -> f64 {
    let mut placed: Vec<Placed> = Vec::new();
    let mut waiting: Vec<usize> = Vec::new();
    let mut levels = vec![u32::MAX; jobs.len()];
    let (mut flow, mut next, mut now) = (0.0, 0, 0.0);
    while next < jobs.len() || !waiting.is_empty() {
        if next < jobs.len() && arrivals[next] <= now {
            waiting.push(next);
            next += 1;
            let sized: Vec<TransientJob> = waiting.iter().map(|at| jobs[*at].clone()).collect();
            for (at, level) in waiting.iter().zip(priorities(&sizes(&sized))) {
                levels[*at] = level;
            }
            continue;
        }
        waiting.sort_by_key(|at| (levels[*at], *at));
        waiting.retain(|at| {
            let job = &jobs[*at];
            let fits = (0..job.demand.len()).all(|dimension| {
                let running = placed.iter().filter(|(_, end, _)| *end > now);
                running.map(|(_, _, demand)| demand[dimension]).sum::<f64>() + job.demand[dimension] <= capacity + 1e-9
            });
            if fits {
                placed.push((now, now + job.length, job.demand.clone()));
                flow += now + job.length - arrivals[*at];
            }
            !fits
        });
        let ends = placed.iter().map(|(_, end, _)| *end).filter(|end| *end > now);
        let arrival = arrivals.get(next).copied().unwrap_or(f64::INFINITY);
        let event = ends.fold(arrival, f64::min);
        if !event.is_finite() {
            break;
        }
        now = event;
    }
    flow
}

pub(super) fn augmented() -> Result<Vec<Measured>, String> {
    Ok([0.1, 0.5, 1.0]
        .map(|epsilon| {
            let largest = (0..INSTANCES)
                .map(|number| {
                    let jobs = instance(number, 1.0);
                    let mut arrivals: Vec<f64> = (0..JOBS).map(|job| 20.0 * random(number, job, 3)).collect();
                    arrivals.sort_by(f64::total_cmp);
                    let best: f64 = optimum(&jobs, &arrivals, 1.0).iter().sum::<f64>() - arrivals.iter().sum::<f64>();
                    online(&jobs, &arrivals, 2.0 + epsilon) / best / competitive(epsilon)
                })
                .fold(0.0, f64::max);
            let reading = format!("{ANALYSIS}, ε = {epsilon}");
            let value = "largest flowtime on 2 + ε times the capacity divided by the optimum, as a share of (3 + 3ε)/ε";
            Measured::exact(&reading, value, Some(largest), "")
        })
        .to_vec())
}
