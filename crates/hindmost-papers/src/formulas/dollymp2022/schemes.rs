//! The comparison of three schemes (section 4.1).

use hindmost_claims::{Cell, DataTable, Measured};
use hindmost_policies::theory::speedup::speedup;
use hindmost_policies::theory::transient::{Cloning, TransientJob, schedule};

use super::super::ANALYSIS;
use super::speedup::ALPHAS;
use super::{one, text, total};

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

pub(super) fn scheme_1() -> Result<Vec<Measured>, String> {
    let mut worst: f64 = 0.0;
    for alpha in ALPHAS {
        for jobs in 1..=20 {
            let made = schedule(&section_4_1_jobs(alpha, jobs), Cloning::BeforeABlockedJob).map_err(text)?;
            worst = worst.max((total(&made) / flows(alpha, jobs)[0] - 1.0).abs());
        }
    }
    one("largest relative difference of flow1 from the schedule of Algorithm 1, N up to 20", worst, "")
}

pub(super) fn scheme_3() -> Result<Vec<Measured>, String> {
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

pub(super) fn scheme_3_random() -> Result<Vec<Measured>, String> {
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

pub(super) fn schemes_differences() -> Result<Vec<Measured>, String> {
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

pub(super) fn condition_a() -> Result<Vec<Measured>, String> {
    let largest = ALPHAS
        .iter()
        .flat_map(|alpha| {
            let from = (alpha / (alpha - 1.0)).ceil() as u32;
            (from..from + MOST_JOBS).map(|j| h_power(*alpha, j) - f64::from(j))
        })
        .fold(f64::NEG_INFINITY, f64::max);
    one("largest h(2^j) − j for j ≥ α/(α − 1)", largest, "")
}

pub(super) fn condition_b() -> Result<Vec<Measured>, String> {
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

pub(super) fn schemes_order() -> Result<Vec<Measured>, String> {
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

pub(super) fn order_table() -> Result<DataTable, String> {
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
