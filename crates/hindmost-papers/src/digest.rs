//! Summaries of runs: the means, quantiles and cumulative shares that figures use.

use hindmost_core::metrics::JobResult;
use hindmost_math::statistics::{mean, quantile};

/// Largest number of tasks of a small job. The largest jobs of Xu & Lau 2015 have 100 tasks.
pub(super) const SMALL_JOB_TASKS: u64 = 25;
/// Flowtimes t for which the share of jobs with a flowtime up to t is measured, in the units of time of Xu & Lau 2015.
pub(super) const FLOWTIME_GRID: [f64; 18] =
    [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 12.0, 15.0, 17.0, 18.0, 20.0, 25.0, 30.0, 40.0];
/// Resource usages R for which the share of jobs that use at most R is measured, in γ × machine time.
pub(super) const RESOURCE_GRID: [f64; 11] = [0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0];
/// Times t for which the share of jobs with a flowtime or running time up to t is measured, in seconds. For the jobs of
/// Xu, Liu & Lau 2022, which take minutes.
pub(super) const SECONDS_GRID: [f64; 18] = [
    50.0, 100.0, 150.0, 200.0, 250.0, 300.0, 350.0, 400.0, 500.0, 700.0, 1000.0, 2000.0, 4000.0, 6000.0, 8000.0,
    12000.0, 16000.0, 24000.0,
];

/// A summary of all or some jobs of one run. Times are in the scenario's unit of time. Without jobs all values but the
/// number of jobs are NaN.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Digest {
    /// Number of jobs.
    pub jobs: f64,
    /// Mean flowtime of a job.
    pub flowtime: f64,
    /// 80th percentile of flowtimes.
    pub flowtime_p80: f64,
    /// 90th percentile of flowtimes.
    pub flowtime_p90: f64,
    /// Mean flowtime of small jobs.
    pub small_flowtime: f64,
    /// Mean resource usage of a job, in γ × machine time.
    pub resource: f64,
    /// 80th percentile of resource usages.
    pub resource_p80: f64,
    /// Share of jobs with a flowtime up to each value of [`FLOWTIME_GRID`].
    pub flowtime_shares: Vec<f64>,
    /// Share of jobs with a resource usage up to each value of [`RESOURCE_GRID`].
    pub resource_shares: Vec<f64>,
    /// Mean number of copies of a task, without its first attempt.
    pub copies: f64,
    /// Mean running time: from the start of a job's first task to the job's finish.
    pub running: f64,
    /// Standard deviation of the running times divided by their mean.
    pub running_spread: f64,
    /// Share of jobs with a flowtime up to each value of [`SECONDS_GRID`].
    pub flowtime_by_second: Vec<f64>,
    /// Share of jobs with a running time up to each value of [`SECONDS_GRID`].
    pub running_by_second: Vec<f64>,
}

impl Digest {
    /// Summarises jobs.
    pub(super) fn of<'a>(jobs: impl Iterator<Item = &'a JobResult> + Clone) -> Digest {
        let mut flowtimes: Vec<f64> = jobs.clone().map(JobResult::flowtime).collect();
        let mut resources: Vec<f64> = jobs.clone().map(|job| job.resource).collect();
        let running: Vec<f64> = jobs.clone().map(|job| job.finish - job.start).collect();
        let small: Vec<f64> =
            jobs.clone().filter(|job| job.tasks <= SMALL_JOB_TASKS).map(JobResult::flowtime).collect();
        let (copies, tasks) =
            jobs.fold((0, 0), |(copies, tasks), job| (copies + job.copies_launched, tasks + job.tasks));
        let or_nan = |number: Option<f64>| number.unwrap_or(f64::NAN);
        Digest {
            jobs: flowtimes.len() as f64,
            flowtime: or_nan(mean(&flowtimes)),
            flowtime_shares: shares(&flowtimes, &FLOWTIME_GRID),
            flowtime_by_second: shares(&flowtimes, &SECONDS_GRID),
            flowtime_p80: or_nan(quantile(&mut flowtimes, 0.8)),
            flowtime_p90: or_nan(quantile(&mut flowtimes, 0.9)),
            small_flowtime: or_nan(mean(&small)),
            resource: or_nan(mean(&resources)),
            resource_shares: shares(&resources, &RESOURCE_GRID),
            resource_p80: or_nan(quantile(&mut resources, 0.8)),
            copies: copies as f64 / tasks as f64,
            running: or_nan(mean(&running)),
            running_spread: spread(&running),
            running_by_second: shares(&running, &SECONDS_GRID),
        }
    }

    /// Returns the share of jobs with a flowtime of at most `seconds`; NaN if [`SECONDS_GRID`] does not have this
    /// value.
    pub(super) fn within(&self, seconds: f64) -> f64 {
        at_second(&self.flowtime_by_second, seconds)
    }

    /// Returns the share of jobs with a running time of at most `seconds`; NaN if [`SECONDS_GRID`] does not have this
    /// value.
    pub(super) fn running_within(&self, seconds: f64) -> f64 {
        at_second(&self.running_by_second, seconds)
    }

    /// Returns the mean over jobs of utility minus resource usage, where the utility is −flowtime: the objective of
    /// problem P1 of Xu & Lau 2015.
    pub(super) fn net_utility(&self) -> f64 {
        -self.flowtime - self.resource
    }
}

/// Returns the element of `shares` that belongs to a value of [`SECONDS_GRID`]; NaN if the grid does not have the
/// value.
fn at_second(shares: &[f64], seconds: f64) -> f64 {
    let place = SECONDS_GRID.iter().position(|place| *place == seconds);
    place.and_then(|at| shares.get(at)).copied().unwrap_or(f64::NAN)
}

/// Returns the standard deviation of the values divided by their mean.
fn spread(values: &[f64]) -> f64 {
    let Some(mean) = mean(values) else { return f64::NAN };
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (squares / values.len() as f64).sqrt() / mean
}

/// Returns the share of values that are at most as large as each element of `grid`.
fn shares(values: &[f64], grid: &[f64]) -> Vec<f64> {
    let share = |place: &f64| values.iter().filter(|value| *value <= place).count() as f64 / values.len() as f64;
    grid.iter().map(share).collect()
}

/// Applies `of` to the run of each seed.
pub(super) fn each(runs: &[Digest], of: impl Fn(&Digest) -> f64) -> Vec<f64> {
    runs.iter().map(of).collect()
}

/// Applies `of` to the run of each seed and returns the mean; NaN without seeds.
pub(super) fn average(runs: &[Digest], of: impl Fn(&Digest) -> f64) -> f64 {
    mean(&each(runs, of)).unwrap_or(f64::NAN)
}

/// Returns how much larger `of` is in `runs` than in `base`, in per cent, for each seed; negative if it is smaller.
pub(super) fn change(runs: &[Digest], base: &[Digest], of: impl Fn(&Digest) -> f64) -> Vec<f64> {
    runs.iter().zip(base).map(|(run, base)| 100.0 * (of(run) / of(base) - 1.0)).collect()
}

/// Returns the cumulative shares of a grid as means over seeds. `of` selects the shares of a run.
pub(super) fn average_shares(runs: &[Digest], of: impl Fn(&Digest) -> &[f64]) -> Vec<f64> {
    let places = runs.first().map_or(0, |run| of(run).len());
    (0..places).map(|at| average(runs, |run| of(run)[at])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_has_means_and_shares_of_its_jobs() {
        let job = |finish: f64, resource: f64, tasks: u64| JobResult {
            arrival: 1.0,
            start: 1.0,
            finish,
            resource,
            wasted: 0.0,
            slowdown: 1.0,
            tasks,
            attempts: tasks,
            copies_launched: 1,
            copies_won: 0,
            met_deadline: None,
            energy: None,
        };
        let one = Digest::of([job(3.0, 1.0, 10), job(5.0, 2.0, 30)].iter());
        assert_eq!((one.flowtime, one.small_flowtime, one.resource, one.copies), (3.0, 2.0, 1.5, 0.05));
        assert_eq!(one.flowtime_shares[1], 0.5);
        assert_eq!((one.running, one.running_spread), (3.0, 1.0 / 3.0));
        assert_eq!((one.within(50.0), one.running_within(350.0)), (1.0, 1.0));
        assert!(one.within(51.0).is_nan());
        let other = Digest::of([job(4.0, 1.0, 10), job(10.0, 2.0, 30)].iter());
        assert_eq!(change(&[one], &[other], |run| run.flowtime), [-50.0]);
        assert!(Digest::of([].iter()).flowtime.is_nan());
    }
}
