//! The measures of one run that are ranked.

use hindmost_claims::Estimate;
use hindmost_math::statistics::{mean, quantile, student_interval};
use hindmost_sim::driver::RunResult;

/// What is kept of the run of a policy on a seed. A number that the run does not have is NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Measures {
    /// Mean flowtime, seconds.
    pub(super) flowtime: f64,
    /// The flowtime that 99% of the jobs do not exceed, seconds.
    pub(super) flowtime_p99: f64,
    /// Mean time from arrival to the first attempt, seconds.
    pub(super) waiting: f64,
    /// Mean time from the first attempt to the finish, seconds.
    pub(super) running: f64,
    /// Mean resource usage of a job.
    pub(super) resource: f64,
    /// Energy without the idle power of nodes for each job, joules.
    pub(super) energy: f64,
    /// Share of the jobs with a deadline that met it.
    pub(super) pocd: f64,
    /// Copies for each task.
    pub(super) copies: f64,
    /// Share of the resource usage that went to attempts that did not win.
    pub(super) wasted_share: f64,
    /// Share of the jobs that were abandoned or did not finish.
    pub(super) abandoned_share: f64,
    /// Share of the busiest resource in use.
    pub(super) utilization: f64,
    /// Number of jobs.
    pub(super) jobs: u64,
    /// Number of tasks.
    pub(super) tasks: u64,
}

impl Measures {
    /// Returns the measures of a run. Times, resource usage and energy are NaN if not all jobs finished, because their
    /// means over the other jobs would not be comparable.
    pub(super) fn of(run: &RunResult) -> Measures {
        let jobs = run.finished + run.unfinished + run.abandoned;
        let all_finished = run.finished == jobs;
        let of_all = |value: Option<f64>| value.filter(|_| all_finished).unwrap_or(f64::NAN);
        let flowtime = of_all(mean(&run.flowtime));
        let running = of_all(mean(&run.running_time));
        let resource: f64 = run.resource.iter().sum();
        let energy = run.energy.as_ref().map(|energy| (energy.parts.total() - energy.parts.idle) / jobs as f64);
        let decided = run.deadlines - run.undecided_deadlines;
        Measures {
            flowtime,
            flowtime_p99: of_all(quantile(&mut run.flowtime.clone(), 0.99)),
            waiting: flowtime - running,
            running,
            resource: of_all(mean(&run.resource)),
            energy: of_all(energy),
            pocd: run.met_deadlines as f64 / decided as f64,
            copies: run.copies_launched as f64 / run.tasks as f64,
            wasted_share: if all_finished { run.wasted / resource } else { f64::NAN },
            abandoned_share: (jobs - run.finished) as f64 / jobs as f64,
            utilization: run.utilization,
            jobs,
            tasks: run.tasks,
        }
    }
}

/// Returns the mean over seeds with its interval; nothing if a value is not finite.
pub(super) fn estimate(values: &[f64]) -> Estimate {
    if values.iter().all(|value| value.is_finite()) {
        Estimate { mean: mean(values), ci95: student_interval(values) }
    } else {
        Estimate { mean: None, ci95: None }
    }
}
