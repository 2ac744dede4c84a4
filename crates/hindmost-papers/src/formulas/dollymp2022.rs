//! Formulas of Xu, Liu & Lau 2022 (`DollyMP`): the speed-up by copies (section 3), the comparison of three schemes
//! (section 4.1), Algorithm 1 with Theorem 1 and Corollary 4.1 (section 4.2), Theorem 2 (section 5.1), and the scores of
//! the example in Figure 2.
//!
//! Theorems are tested on small random instances, whose optimum is found by trying all orders of jobs.

#![allow(clippy::unnecessary_wraps, reason = "all formulas have one type, which allows them to fail")]

use hindmost_core::reproduction::{Cell, DataTable, Measured};
use hindmost_math::distribution::Distribution;
use hindmost_math::random::{hash, unit};
use hindmost_policies::theory::priorities::{SizedJob, printed_last_level, priorities};
use hindmost_policies::theory::speedup::{copies_for_level, fitted_alpha, speedup};
use hindmost_policies::theory::transient::{Cloning, Scheduled, TransientJob, schedule};

use super::{ANALYSIS, Table, Value};

/// The values of this paper, by name.
pub(super) const VALUES: &[(&str, Value)] = &[
    ("example/job-1-first", example_scores),
    ("speedup/minimum", speedup_is_minimum),
    ("speedup/increasing", speedup_increases),
    ("speedup/concave", speedup_concave),
    ("speedup/third-copy", third_copy),
    ("speedup/fitted-alpha", smallest_fitted_alpha),
    ("schemes/one", scheme_1),
    ("schemes/three", scheme_3),
    ("schemes/three-random", scheme_3_random),
    ("schemes/differences", schemes_differences),
    ("schemes/condition-a", condition_a),
    ("schemes/condition-b", condition_b),
    ("schemes/order", schemes_order),
    ("transient/greedy", greedy_is_exact),
    ("transient/srpt-optimal", srpt_is_optimal),
    ("transient/all-prioritised", all_get_priorities),
    ("transient/busy-while-waiting", || busy(true)),
    ("transient/busy-always", || busy(false)),
    ("transient/makespan", makespan),
    ("transient/ratio", || transient_ratio(true)),
    ("transient/mean-ratio", || transient_ratio(false)),
    ("transient/lemma", key_lemma),
    ("transient/copies-ratio", copies_ratio),
    ("transient/copies-better", copies_better),
    ("transient/printed-copies", printed_copies),
    ("guarantee/size", guarantees),
    ("guarantee/against-hrdf", against_hrdf),
    ("guarantee/augmented", augmented),
];

/// The tables of this paper, by name.
pub(super) const TABLES: &[(&str, Table)] = &[
    ("overhead/copies", crate::overhead::copies_table),
    ("example/epsilon", epsilon_table),
    ("speedup/table", speedup_table),
    ("schemes/order-table", order_table),
    ("guarantee/table", guarantee_table),
];

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn exact(value: &str, number: f64, unit: &str) -> Measured {
    Measured::exact(ANALYSIS, value, Some(number), unit)
}

fn one(value: &str, number: f64, unit: &str) -> Result<Vec<Measured>, String> {
    Ok(vec![exact(value, number, unit)])
}

// ---- Figure 2 ----

/// Demand, duration in seconds, and demand × duration of the large job and of a small job of Figure 2.
const LARGE: (f64, f64) = (1.0, 10.0);
const SMALL: (f64, f64) = (0.25, 8.0);

/// Returns the score a + ε·p of a job on the empty server of capacity 1.
fn score((demand, duration): (f64, f64), epsilon: f64) -> f64 {
    demand + epsilon * demand * duration
}

fn example_scores() -> Result<Vec<Measured>, String> {
    let least = [0.0, 0.01, 0.05, 0.1, 0.5, 1.0, 10.0]
        .map(|epsilon| score(LARGE, epsilon) - score(SMALL, epsilon))
        .into_iter()
        .fold(f64::INFINITY, f64::min);
    one("smallest score a + ε·p of job 1 minus that of job 2, ε from 0 to 10", least, "")
}

fn epsilon_table() -> Result<DataTable, String> {
    let rows = [0.0, 0.02, 0.05, 0.09, 0.1, 0.2, 0.5].map(|epsilon| {
        let of = |sign: f64| {
            let first = score(LARGE, sign * epsilon) > score(SMALL, sign * epsilon);
            Cell::from(if first { "job 1" } else { "jobs 2 and 3" })
        };
        vec![Cell::from(epsilon), of(1.0), of(-1.0)]
    });
    Ok(DataTable::new(
        "Which jobs go first in Figure 2 with the score a + ε·p, as printed, and with a − ε·p, as in Tetris; p is demand \
         × time",
        ["ε", "a + ε·p", "a − ε·p"].map(str::to_owned).to_vec(),
        rows.to_vec(),
    ))
}

// ---- Speed-up by copies ----

/// Tail indices for which the speed-up is computed.
const ALPHAS: [f64; 9] = [1.05, 1.2, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 10.0];
/// Largest number of copies for which the speed-up is computed.
const MOST_COPIES: u32 = 100;

fn speedup_is_minimum() -> Result<Vec<Measured>, String> {
    let mut worst: f64 = 0.0;
    for alpha in ALPHAS {
        let duration = Distribution::pareto_with_mean(alpha, 1.0).map_err(text)?;
        for copies in 1..=10 {
            let mean = duration.expected_minimum(f64::from(copies));
            worst = worst.max((mean * speedup(alpha, copies) - 1.0).abs());
        }
    }
    one("largest relative difference between θ / h(r) and the mean of the fastest of r copies", worst, "")
}

fn speedup_increases() -> Result<Vec<Measured>, String> {
    let steps =
        ALPHAS.iter().flat_map(|alpha| (1..MOST_COPIES).map(|it| speedup(*alpha, it + 1) - speedup(*alpha, it)));
    one("smallest h(x + 1) − h(x), x up to 99", steps.fold(f64::INFINITY, f64::min), "")
}

fn speedup_concave() -> Result<Vec<Measured>, String> {
    let bends = ALPHAS.iter().flat_map(|alpha| {
        (2..MOST_COPIES).map(|it| speedup(*alpha, it + 1) + speedup(*alpha, it - 1) - 2.0 * speedup(*alpha, it))
    });
    one("largest h(x + 1) − 2·h(x) + h(x − 1), x up to 99", bends.fold(f64::NEG_INFINITY, f64::max), "")
}

fn third_copy() -> Result<Vec<Measured>, String> {
    let share = |alpha: &f64| (speedup(*alpha, 3) - speedup(*alpha, 2)) / (speedup(*alpha, 2) - 1.0);
    let largest = ALPHAS.iter().map(share).fold(0.0, f64::max);
    one("h(3) − h(2) divided by h(2) − h(1), the same for all α", largest, "")
}

fn smallest_fitted_alpha() -> Result<Vec<Measured>, String> {
    let mut least = f64::INFINITY;
    for deviation in [0.1, 0.5, 1.0, 2.0] {
        least = least.min(fitted_alpha(1.0, deviation).map_err(text)?);
    }
    one("smallest α fitted to standard deviations from 0.1 to 2 means", least, "")
}

fn speedup_table() -> Result<DataTable, String> {
    let mut columns = vec!["α".to_owned()];
    columns.extend([2, 3, 4].map(|copies| format!("h({copies})")));
    columns.push("limit α / (α − 1)".to_owned());
    columns.extend([2, 3].map(|copies| format!("resource usage of {copies} copies")));
    let rows = ALPHAS.map(|alpha| {
        let mut row = vec![Cell::from(alpha)];
        row.extend([2, 3, 4].map(|copies| Cell::from(speedup(alpha, copies))));
        row.push(Cell::from(alpha / (alpha - 1.0)));
        row.extend([2, 3].map(|copies| Cell::from(f64::from(copies) / speedup(alpha, copies))));
        row
    });
    Ok(DataTable::new(
        "Speed-up h of a task by copies that start together, and their resource usage relative to one copy",
        columns,
        rows.to_vec(),
    ))
}

// ---- Section 4.1 ----

/// The largest number of jobs N in section 4.1.
const MOST_JOBS: u32 = 60;

/// Returns h(2^j).
fn h_power(alpha: f64, j: u32) -> f64 {
    // 2^j copies; h depends on 1 / 2^j only.
    1.0 + (1.0 - 0.5f64.powi(j as i32)) / (alpha - 1.0)
}

/// Returns the flowtimes of the three schemes, as printed.
fn flows(alpha: f64, jobs: u32) -> [f64; 3] {
    let n = f64::from(jobs);
    let h2 = speedup(alpha, 2);
    let second = (1..=jobs).map(|j| f64::from(j) / h_power(alpha, j)).sum();
    [n - 1.0 + 1.0 / h2, second, (n + 1.0) / h2]
}

fn section_4_1_jobs(alpha: f64, jobs: u32) -> Vec<TransientJob> {
    (1..=jobs).map(|j| TransientJob { demand: vec![0.5f64.powi(j as i32); 2], length: 1.0, alpha }).collect()
}

fn total(schedule: &[Scheduled]) -> f64 {
    schedule.iter().map(|job| job.finish).sum()
}

fn scheme_1() -> Result<Vec<Measured>, String> {
    let mut worst: f64 = 0.0;
    for alpha in ALPHAS {
        for jobs in 1..=20 {
            let made = schedule(&section_4_1_jobs(alpha, jobs), Cloning::BeforeABlockedJob).map_err(text)?;
            worst = worst.max((total(&made) / flows(alpha, jobs)[0] - 1.0).abs());
        }
    }
    one("largest relative difference of flow1 from the schedule of Algorithm 1, N up to 20", worst, "")
}

fn scheme_3() -> Result<Vec<Measured>, String> {
    let mut worst: f64 = 0.0;
    for alpha in ALPHAS {
        let h2 = speedup(alpha, 2);
        for jobs in 2..=20u32 {
            // With two copies, jobs 2 to N hold 2·(1/2 − 2^−N) of the server, which is below 1, so they start together.
            // Job 1 holds the whole server after them.
            let held = 2.0 * (2..=jobs).map(|j| 0.5f64.powi(j as i32)).sum::<f64>();
            if held > 1.0 {
                return Err("the copies do not fit".to_owned());
            }
            let flow = f64::from(jobs - 1) / h2 + 2.0 / h2;
            worst = worst.max((flow / flows(alpha, jobs)[2] - 1.0).abs());
        }
    }
    one("largest relative difference of flow3 from the schedule, if every duration is its mean", worst, "")
}

fn scheme_3_random() -> Result<Vec<Measured>, String> {
    // Job 1 starts when the last of jobs 2 to N ends: the mean of the largest of N − 1 durations, each of which is the
    // fastest of two copies, and so Pareto distributed with 2α.
    let excess = |alpha: f64, jobs: u32| {
        let h2 = speedup(alpha, 2);
        let tail = 2.0 * alpha;
        let minimum = (1.0 / h2) * (tail - 1.0) / tail;
        let largest = minimum * (1..jobs).map(|k| f64::from(k) / (f64::from(k) - 1.0 / tail)).product::<f64>();
        100.0 * ((f64::from(jobs) / h2 + largest) / flows(alpha, jobs)[2] - 1.0)
    };
    Ok([1.5, 2.0, 3.0]
        .into_iter()
        .flat_map(|alpha| [5, 20].map(|jobs| (alpha, jobs)))
        .map(|(alpha, jobs)| {
            let reading = format!("{ANALYSIS}, α = {alpha}, N = {jobs}");
            let value = "mean total flowtime of scheme 3 with random durations compared with (N + 1)/h(2)";
            Measured::exact(&reading, value, Some(excess(alpha, jobs)), "%")
        })
        .collect())
}

fn schemes_differences() -> Result<Vec<Measured>, String> {
    let mut worst: f64 = 0.0;
    for alpha in ALPHAS {
        for jobs in 2..=MOST_JOBS {
            let [one, two, three] = flows(alpha, jobs);
            let second: f64 = (2..=jobs).map(|j| (h_power(alpha, j) - f64::from(j)) / h_power(alpha, j)).sum();
            let third = f64::from(jobs) - 1.0 - f64::from(jobs) / speedup(alpha, 2);
            worst = worst.max((one - two - second).abs()).max((one - three - third).abs());
        }
    }
    one("largest difference between both sides of the two equations, N up to 60", worst, "")
}

fn condition_a() -> Result<Vec<Measured>, String> {
    let largest = ALPHAS
        .iter()
        .flat_map(|alpha| {
            let from = (alpha / (alpha - 1.0)).ceil() as u32;
            (from..from + MOST_JOBS).map(|j| h_power(*alpha, j) - f64::from(j))
        })
        .fold(f64::NEG_INFINITY, f64::max);
    one("largest h(2^j) − j for j ≥ α/(α − 1)", largest, "")
}

fn condition_b() -> Result<Vec<Measured>, String> {
    let least = ALPHAS
        .iter()
        .flat_map(|alpha| {
            let above = move |jobs: &u32| f64::from(*jobs) > 2.0 * *alpha - 1.0 + 1e-9;
            (2..=MOST_JOBS).filter(above).map(|jobs| speedup(*alpha, 2) - f64::from(jobs) / f64::from(jobs - 1))
        })
        .fold(f64::INFINITY, f64::min);
    one("smallest h(2) − N/(N − 1) for N > 2α − 1", least, "")
}

/// Returns the numbers of jobs N > 2α − 1 up to [`MOST_JOBS`], each with whether flow3 < flow1 < flow2.
fn order_holds(alpha: f64) -> Vec<(u32, bool)> {
    (2..=MOST_JOBS)
        .filter(|jobs| f64::from(*jobs) > 2.0 * alpha - 1.0 + 1e-9)
        .map(|jobs| {
            let [one, two, three] = flows(alpha, jobs);
            (jobs, three < one && one < two)
        })
        .collect()
}

fn schemes_order() -> Result<Vec<Measured>, String> {
    let share = |alpha: f64| {
        let cases = order_holds(alpha);
        100.0 * cases.iter().filter(|(_, holds)| *holds).count() as f64 / cases.len() as f64
    };
    Ok([1.05, 1.2, 1.5, 1.75, 2.0, 3.0]
        .map(|alpha| {
            let reading = format!("{ANALYSIS}, α = {alpha}");
            let value = "share of N with 2α − 1 < N ≤ 60 for which flow3 < flow1 < flow2";
            Measured::exact(&reading, value, Some(share(alpha)), "%")
        })
        .to_vec())
}

fn order_table() -> Result<DataTable, String> {
    let rows = ALPHAS.map(|alpha| {
        let cases = order_holds(alpha);
        let failing: Vec<u32> = cases.iter().filter(|(_, holds)| !holds).map(|(jobs, _)| *jobs).collect();
        let text = match (failing.first(), failing.last()) {
            (Some(first), Some(last)) => format!("{first} to {last}"),
            _ => "none".to_owned(),
        };
        let first = cases.first().map(|(jobs, _)| f64::from(*jobs));
        let mut row = vec![Cell::from(alpha), Cell::from(first), Cell::Text(text)];
        row.extend(flows(alpha, 10).map(Cell::from));
        row
    });
    Ok(DataTable::new(
        "Numbers of jobs N > 2α − 1, up to 60, for which flow3 < flow1 < flow2 does not hold, and the three flowtimes with \
         N = 10",
        ["α", "smallest N > 2α − 1", "N without this order", "flow1", "flow2", "flow3"].map(str::to_owned).to_vec(),
        rows.to_vec(),
    ))
}

// ---- Algorithm 1 on small instances ----

/// The stream of random numbers of instances; any number that nothing else uses.
const STREAM: u64 = 0x646f_6c6c;
/// Number of random instances.
const INSTANCES: u64 = 200;
/// Number of jobs of an instance, all of whose orders are tried.
const JOBS: usize = 5;

/// Returns a random number from 0 to below 1.
fn random(instance: u64, job: usize, what: u64) -> f64 {
    unit(hash(instance, STREAM, job as u64, what))
}

/// Returns jobs with demands from 0.05 to `largest` of the server in two dimensions, lengths from 1 to 30 slots, and one
/// tail index.
fn instance(number: u64, largest: f64) -> Vec<TransientJob> {
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
type Placed = (f64, f64, Vec<f64>);

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
fn optimum(jobs: &[TransientJob], arrivals: &[f64], capacity: f64) -> Vec<f64> {
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

fn sizes(jobs: &[TransientJob]) -> Vec<SizedJob> {
    jobs.iter().map(|job| SizedJob { length: job.length, volume: job.share() * job.length }).collect()
}

fn ends(made: &[Scheduled]) -> Vec<f64> {
    let mut ends: Vec<f64> = made.iter().map(|job| job.finish).collect();
    ends.sort_by(f64::total_cmp);
    ends
}

fn greedy_is_exact() -> Result<Vec<Measured>, String> {
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

fn srpt_is_optimal() -> Result<Vec<Measured>, String> {
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

fn all_get_priorities() -> Result<Vec<Measured>, String> {
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
fn busy(waiting: bool) -> Result<Vec<Measured>, String> {
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

fn makespan() -> Result<Vec<Measured>, String> {
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

fn transient_ratio(worst: bool) -> Result<Vec<Measured>, String> {
    let ratios = transient_ratios()?;
    if worst {
        let largest = ratios.into_iter().fold(0.0, f64::max);
        one("largest flowtime of Algorithm 1 divided by the optimum without clones; ≤ 6 implies ≤ 6R", largest, "")
    } else {
        let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
        one("mean flowtime of Algorithm 1 divided by the optimum without clones", mean, "")
    }
}

fn key_lemma() -> Result<Vec<Measured>, String> {
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

fn copies_ratio() -> Result<Vec<Measured>, String> {
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

fn copies_better() -> Result<Vec<Measured>, String> {
    let mut changes = 0.0;
    for number in 0..INSTANCES {
        let jobs = instance(number, 1.0);
        let with = total(&schedule(&jobs, Cloning::ForLevel).map_err(text)?);
        let without = total(&schedule(&jobs, Cloning::None).map_err(text)?);
        changes += 100.0 * (with / without - 1.0) / INSTANCES as f64;
    }
    one("mean change of the total flowtime by the copies of Corollary 4.1", changes, "%")
}

fn printed_copies() -> Result<Vec<Measured>, String> {
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

// ---- Guarantees ----

/// Values of ε for which guarantees are computed.
const EPSILONS: [f64; 5] = [0.01, 0.1, 0.5, 1.0, 2.0];

fn competitive(epsilon: f64) -> f64 {
    (3.0 + 3.0 * epsilon) / epsilon
}

fn guarantees() -> Result<Vec<Measured>, String> {
    let mut all = vec![exact("Theorem 1's ratio with R = 1, no stragglers", 6.0, "times the optimum")];
    for epsilon in [0.1, 1.0] {
        let value = format!("ratio (3 + 3ε)/ε without stragglers, on 2 + ε times the capacity, ε = {epsilon}");
        all.push(exact(&value, competitive(epsilon), "times the optimum"));
    }
    Ok(all)
}

fn against_hrdf() -> Result<Vec<Measured>, String> {
    let ratio = |epsilon: f64| (3.0 + 3.0 * epsilon) / (5.0 + 3.0 * epsilon);
    Ok([0.01, 0.1]
        .map(|epsilon| {
            let reading = format!("{ANALYSIS}, ε = {epsilon}");
            Measured::exact(&reading, "guarantee of DollyMP divided by that of HRDF", Some(ratio(epsilon)), "")
        })
        .to_vec())
}

fn guarantee_table() -> Result<DataTable, String> {
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

fn augmented() -> Result<Vec<Measured>, String> {
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
