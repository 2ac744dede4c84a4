//! Algorithm 1 with Theorem 1 and Corollary 4.1 (section 4.2), tested on small random instances, whose optimum is found by
//! trying all orders of jobs.

use hindmost_claims::Measured;
use hindmost_math::random::{hash, unit};
use hindmost_policies::theory::priorities::{SizedJob, printed_last_level, priorities};
use hindmost_policies::theory::speedup::copies_for_level;
use hindmost_policies::theory::transient::{Cloning, Scheduled, TransientJob, schedule};

use super::{one, text, total};

/// The stream of random numbers of instances; any number that nothing else uses.
const STREAM: u64 = 0x646f_6c6c;
/// Number of random instances.
pub(super) const INSTANCES: u64 = 200;
/// Number of jobs of an instance, all of whose orders are tried.
pub(super) const JOBS: usize = 5;

/// Returns a random number from 0 to below 1.
pub(super) fn random(instance: u64, job: usize, what: u64) -> f64 {
    unit(hash(instance, STREAM, job as u64, what))
}

/// Returns jobs with demands from 0.05 to `largest` of the server in two dimensions, lengths from 1 to 30 slots, and one
/// tail index.
pub(super) fn instance(number: u64, largest: f64) -> Vec<TransientJob> {
    let alpha = [2.0, 2.5, 4.0][(number % 3) as usize];
    (0..JOBS)
        .map(|job| TransientJob {
            demand: (0..2).map(|what| 0.05 + (largest - 0.05) * random(number, job, what).powi(2)).collect(),
            length: 30f64.powf(random(number, job, 2)),
            alpha,
        })
        .collect()
}

/// Calls a function with every order of the numbers below `count`.
fn orders(count: usize, mut each: impl FnMut(&[usize])) {
    fn permute(order: &mut [usize], fixed: usize, each: &mut impl FnMut(&[usize])) {
        if fixed == order.len() {
            return each(order);
        }
        for at in fixed..order.len() {
            order.swap(fixed, at);
            permute(order, fixed + 1, each);
            order.swap(fixed, at);
        }
    }
    permute(&mut (0..count).collect::<Vec<_>>(), 0, &mut each);
}

/// A job that has been placed: start, end, demand.
pub(super) type Placed = (f64, f64, Vec<f64>);

/// Returns the earliest start from `from` on at which a job fits beside the placed jobs on a server of this capacity.
fn earliest(placed: &[Placed], demand: &[f64], length: f64, from: f64, capacity: f64) -> f64 {
    let mut starts: Vec<f64> = placed.iter().map(|(_, end, _)| *end).filter(|end| *end > from).collect();
    starts.push(from);
    starts.sort_by(f64::total_cmp);
    let fits = |start: f64| {
        // Usage changes only where a job starts.
        let moments =
            placed.iter().map(|(start, ..)| *start).filter(|moment| *moment > start && *moment < start + length);
        moments.chain([start]).all(|moment| {
            (0..demand.len()).all(|dimension| {
                let running = placed.iter().filter(|(start, end, _)| *start <= moment && moment < *end);
                let used: f64 = running.map(|(_, _, demand)| demand[dimension]).sum();
                used + demand[dimension] <= capacity + 1e-9
            })
        })
    };
    starts.into_iter().find(|start| fits(*start)).unwrap_or(f64::INFINITY)
}

/// Returns the completion times, in ascending order, of the schedule of one copy of each job with the smallest total
/// flowtime. If each job of some order starts as early as possible, the best order gives an optimal schedule.
pub(super) fn optimum(jobs: &[TransientJob], arrivals: &[f64], capacity: f64) -> Vec<f64> {
    let mut best = (f64::INFINITY, Vec::new());
    orders(jobs.len(), |order| {
        let mut placed: Vec<Placed> = Vec::with_capacity(jobs.len());
        let mut flow = 0.0;
        for at in order {
            let job = &jobs[*at];
            let start = earliest(&placed, &job.demand, job.length, arrivals[*at], capacity);
            flow += start + job.length - arrivals[*at];
            if flow >= best.0 {
                return;
            }
            placed.push((start, start + job.length, job.demand.clone()));
        }
        let mut ends: Vec<f64> = placed.iter().map(|(_, end, _)| *end).collect();
        ends.sort_by(f64::total_cmp);
        best = (flow, ends);
    });
    best.1
}

pub(super) fn sizes(jobs: &[TransientJob]) -> Vec<SizedJob> {
    jobs.iter().map(|job| SizedJob { length: job.length, volume: job.share() * job.length }).collect()
}

fn ends(made: &[Scheduled]) -> Vec<f64> {
    let mut ends: Vec<f64> = made.iter().map(|job| job.finish).collect();
    ends.sort_by(f64::total_cmp);
    ends
}

pub(super) fn greedy_is_exact() -> Result<Vec<Measured>, String> {
    let exact_count = (0..INSTANCES).filter(|number| {
        let volumes: Vec<f64> = sizes(&instance(*number, 1.0)).iter().map(|size| size.volume).collect();
        let limit = 16.0;
        let mut sorted = volumes.clone();
        sorted.sort_by(f64::total_cmp);
        let mut sum = 0.0;
        let greedy = sorted
            .iter()
            .take_while(|volume| {
                sum += **volume;
                sum <= limit
            })
            .count();
        let best = (0u32..1 << volumes.len())
            .filter(|chosen| {
                let packed = volumes.iter().enumerate().filter(|(at, _)| (chosen >> at) & 1 == 1);
                packed.map(|(_, volume)| volume).sum::<f64>() <= limit
            })
            .map(u32::count_ones)
            .max();
        best == Some(greedy as u32)
    });
    let share = 100.0 * exact_count.count() as f64 / INSTANCES as f64;
    one("share of random instances in which the smallest weights are as many as an exhaustive search packs", share, "%")
}

pub(super) fn srpt_is_optimal() -> Result<Vec<Measured>, String> {
    let mut worst: f64 = 0.0;
    for number in 0..INSTANCES / 3 {
        let mut jobs = instance(number, 1.0);
        // A server that runs two jobs at once.
        for job in &mut jobs {
            job.demand = vec![0.5, 0.5];
        }
        let best: f64 = optimum(&jobs, &[0.0; JOBS], 1.0).iter().sum();
        jobs.sort_by(|one, other| one.length.total_cmp(&other.length));
        let mut placed: Vec<Placed> = Vec::new();
        for job in &jobs {
            let start = earliest(&placed, &job.demand, job.length, 0.0, 1.0);
            placed.push((start, start + job.length, job.demand.clone()));
        }
        let shortest_first: f64 = placed.iter().map(|(_, end, _)| *end).sum();
        worst = worst.max(shortest_first / best - 1.0);
    }
    one(
        "largest excess of the total flowtime with the shortest job first over the optimum, equal demands",
        100.0 * worst,
        "%",
    )
}

pub(super) fn all_get_priorities() -> Result<Vec<Measured>, String> {
    let all = (0..INSTANCES).filter(|number| {
        let jobs = instance(*number, 0.9);
        let shares: Vec<f64> = jobs.iter().map(TransientJob::share).collect();
        let last = printed_last_level(&sizes(&jobs), &shares);
        let levels = priorities(&sizes(&jobs));
        last.is_some_and(|last| levels.iter().all(|level| f64::from(*level) <= last))
    });
    let share = 100.0 * all.count() as f64 / INSTANCES as f64;
    one("share of random instances in which all jobs have a priority by level g", share, "%")
}

/// Measures by how much the used share of the server is at least above 1 − max d, at the starts of all intervals between
/// events, except after the last start if only the time in which jobs wait counts.
pub(super) fn busy(waiting: bool) -> Result<Vec<Measured>, String> {
    let mut least = f64::INFINITY;
    for number in 0..INSTANCES {
        let jobs = instance(number, 0.9);
        let made = schedule(&jobs, Cloning::None).map_err(text)?;
        let most = jobs.iter().map(TransientJob::share).fold(0.0, f64::max);
        let last_start = made.iter().map(|job| job.start).fold(0.0, f64::max);
        let end = made.iter().map(|job| job.finish).fold(0.0, f64::max);
        let moments = made.iter().flat_map(|job| [job.start, job.finish]);
        // The final slot does not count.
        for moment in moments.filter(|moment| *moment < if waiting { last_start } else { end - 1.0 }) {
            let running = || made.iter().zip(&jobs).filter(|(one, _)| one.start <= moment && moment < one.finish);
            let used = |dimension: usize| running().map(|(_, job)| job.demand[dimension]).sum::<f64>();
            least = least.min(used(0).max(used(1)) - (1.0 - most));
        }
    }
    let when = if waiting { "while a job waits" } else { "until the final slot" };
    let value = format!("smallest used share of the server minus (1 − max d), {when}");
    // Ignores rounding errors of sums.
    one(&value, (least * 1e9).round() / 1e9, "of the server")
}

pub(super) fn makespan() -> Result<Vec<Measured>, String> {
    let mut largest: f64 = 0.0;
    for number in 0..INSTANCES {
        let jobs = instance(number, 0.9);
        let made = schedule(&jobs, Cloning::None).map_err(text)?;
        let volume: f64 = sizes(&jobs).iter().map(|size| size.volume).sum();
        let most = jobs.iter().map(TransientJob::share).fold(0.0, f64::max);
        largest = largest.max(ends(&made).last().copied().unwrap_or(0.0) / (volume / (1.0 - most)));
    }
    one("largest makespan of Algorithm 1 divided by Σ v / (1 − max d)", largest, "")
}

/// Returns the total flowtimes of Algorithm 1 without cloning divided by the optimum without clones, for each instance.
/// An optimum with clones is at least 1/R of that, because no task is more than R times as fast, so that a ratio of 6
/// here is one of at most 6R.
fn transient_ratios() -> Result<Vec<f64>, String> {
    (0..INSTANCES)
        .map(|number| {
            let jobs = instance(number, 1.0);
            let made = schedule(&jobs, Cloning::None).map_err(text)?;
            Ok(total(&made) / optimum(&jobs, &[0.0; JOBS], 1.0).iter().sum::<f64>())
        })
        .collect()
}

pub(super) fn transient_ratio(worst: bool) -> Result<Vec<Measured>, String> {
    let ratios = transient_ratios()?;
    if worst {
        let largest = ratios.into_iter().fold(0.0, f64::max);
        one("largest flowtime of Algorithm 1 divided by the optimum without clones; ≤ 6 implies ≤ 6R", largest, "")
    } else {
        let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
        one("mean flowtime of Algorithm 1 divided by the optimum without clones", mean, "")
    }
}

pub(super) fn key_lemma() -> Result<Vec<Measured>, String> {
    let mut holding = 0;
    for number in 0..INSTANCES {
        let jobs = instance(number, 1.0);
        let made = ends(&schedule(&jobs, Cloning::None).map_err(text)?);
        let best = optimum(&jobs, &[0.0; JOBS], 1.0);
        // R is 1, because the optimum has no clones.
        let by = |ends: &[f64], limit: f64| ends.iter().filter(|end| **end <= limit).count();
        let holds = (0..12).all(|level| by(&made, 3.0 * 2f64.powi(level)) >= by(&best, 2f64.powi(level)));
        holding += u64::from(holds);
    }
    let share = 100.0 * holding as f64 / INSTANCES as f64;
    one(
        "share of random instances in which Algorithm 1 has finished as many jobs by 3·2^l as the optimum by 2^l",
        share,
        "%",
    )
}

pub(super) fn copies_ratio() -> Result<Vec<Measured>, String> {
    let mut largest: f64 = 0.0;
    for number in 0..INSTANCES {
        let jobs = instance(number, 1.0);
        let made = schedule(&jobs, Cloning::ForLevel).map_err(text)?;
        let most = jobs.iter().map(|job| job.alpha / (job.alpha - 1.0)).fold(1.0, f64::max);
        let bound = optimum(&jobs, &[0.0; JOBS], 1.0).iter().sum::<f64>() / most;
        largest = largest.max(total(&made) / bound);
    }
    one(
        "largest flowtime with the copies of Corollary 4.1 divided by a lower bound of the optimum with clones",
        largest,
        "",
    )
}

pub(super) fn copies_better() -> Result<Vec<Measured>, String> {
    let mut changes = 0.0;
    for number in 0..INSTANCES {
        let jobs = instance(number, 1.0);
        let with = total(&schedule(&jobs, Cloning::ForLevel).map_err(text)?);
        let without = total(&schedule(&jobs, Cloning::None).map_err(text)?);
        changes += 100.0 * (with / without - 1.0) / INSTANCES as f64;
    }
    one("mean change of the total flowtime by the copies of Corollary 4.1", changes, "%")
}

pub(super) fn printed_copies() -> Result<Vec<Measured>, String> {
    let mut most = 0;
    for number in 0..INSTANCES {
        for job in instance(number, 1.0) {
            // As printed, level l takes only jobs with θ ≤ 2^l.
            for level in (0..12).filter(|level| job.length <= 2f64.powi(*level as i32)) {
                most = most.max(copies_for_level(job.length, job.alpha, level).unwrap_or(0));
            }
        }
    }
    one(
        "largest number of copies r_j of a job that step 5 of Algorithm 1 admits, as printed",
        f64::from(most),
        "copies",
    )
}
