//! Metrics of jobs and runs, and their summaries over seeds.

mod advice;
mod comparison;
mod curves;
mod deadlines;
mod diagnosis;
mod energy;
mod findings;
mod needs;
mod run;
mod saved;
mod slot_timeline;
mod spent;

pub use advice::{ByCorrelation, CorrelationResult, RatioAtCorrelation, Recommendation};
pub use comparison::{Comparison, Copies, Disturbances, OfferedLoad, PolicyResult, RecordedTime, VersusFirst};
pub use curves::{Cdf, PolicyCurves, ShownJob};
pub use deadlines::{Deadlines, SignedLateness};
pub use diagnosis::{
    Advice, Cause, Diagnosis, DiagnosisTotal, FailedJob, FailingNode, FailureCost, FinishedLast, LostWork, NoJobTime,
    PerhapsSlow, PhaseTime, Recommended, SettingChange, SingleTasks, StragglerCause, StragglersByCause,
    StragglersOfPhase, TaskTime, TimePart, TotalPart, Unsuccessful, Untested, Variance, VarianceShare, Waited,
    WallTime, Workers,
};
pub use energy::{Energy, EnergyParts, EnergySource, EnergyUse, LiveEnergy, NodesEnergy};
pub use findings::{
    AttemptCounts, Durations, Findings, JobFinding, MachineTime, PhaseFinding, Skew, SlowNode, Speculation, Stragglers,
    Waiting,
};
pub use needs::{Needs, PhaseNeeds, Spread, Suggestion, size, suggestions};
pub use run::{BrokenCopies, FailedTask, InsteadOfCopies, PhaseProgress, PhaseSummary, RunState, RunSummary};
pub use saved::{MeasuredFinish, TimeSaved, measured_finishes};
pub use slot_timeline::{JobSpan, PhaseSpan, SlotTimeline, SlotUse, SlotUses};
pub use spent::Spent;

use hindmost_math::pooled::Pooled;
use hindmost_math::statistics::{mean, student_interval};
use serde::Serialize;

use crate::cluster::{Cluster, Job};
use crate::resources::MAX_DIMENSIONS;
use crate::time::Time;

/// The metrics of one finished job. Times in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JobResult {
    /// Time at which the job was submitted.
    pub arrival: f64,
    /// Time at which the job's first copy was started.
    pub start: f64,
    /// Time at which the job's last task finished.
    pub finish: f64,
    /// Resource usage of the job. On one-slot machines: γ × the machine-time of all copies. On other machines: γ × the
    /// sum, over copies and dimensions, of demand × time / the total of all nodes that have joined.
    pub resource: f64,
    /// The part of `resource` that copies used which did not win.
    pub wasted: f64,
    /// Flowtime divided by the longest path of the phases' mean durations.
    pub slowdown: f64,
    /// Number of tasks, including those that were finished before the job arrived.
    pub tasks: u64,
    /// Number of attempts started.
    pub attempts: u64,
    /// Number of redundant copies started: see [`Job::extra_copies`].
    pub copies_launched: u64,
    /// Number of tasks that a redundant copy won: see [`Job::copies_won`].
    pub copies_won: u64,
    /// Whether the job met its deadline; `None` if it has none.
    pub met_deadline: Option<bool>,
    /// Time of the job's deadline; `None` if it has none.
    pub deadline: Option<f64>,
    /// Energy of the job's attempts, joules; `None` without power models. [`JobResult::of`] leaves it empty, because
    /// the state does not contain it.
    pub energy: Option<f64>,
}

impl JobResult {
    /// Returns the metrics of a job; `None` if the job has not finished. `gamma` is the price of a machine-second.
    pub fn of(job: &Job, cluster: &Cluster, gamma: f64) -> Option<JobResult> {
        let (start, finish) = (job.started()?.seconds(), job.finished()?.seconds());
        let arrival = job.arrival().seconds();
        let one_slot = cluster.dimensions().is_one_slot();
        let (mut resource, mut wasted) = (0.0, 0.0);
        for phase in job.phases() {
            let share = if one_slot { 1.0 } else { phase.demand().summed_share(cluster.joined_total()) };
            let (won, lost) = phase.held();
            resource += gamma * share * (won + lost).seconds();
            wasted += gamma * share * lost.seconds();
        }
        let ideal = job.longest_mean_path();
        Some(JobResult {
            arrival,
            start,
            finish,
            resource,
            wasted,
            slowdown: if ideal > 0.0 { (finish - arrival) / ideal } else { 1.0 },
            tasks: job.task_count(),
            attempts: u64::from(job.attempts()),
            copies_launched: job.extra_copies(),
            copies_won: u64::from(job.copies_won()),
            met_deadline: job.deadline().map(|deadline| job.finished() <= Some(deadline)),
            deadline: job.deadline().map(Time::seconds),
            energy: None,
        })
    }

    /// Returns the flowtime (job completion time, JCT): finish − arrival, seconds.
    pub fn flowtime(&self) -> f64 {
        between(self.arrival, self.finish)
    }

    /// Returns the signed lateness: finish − deadline, seconds, negative if the job finished before its deadline. `None` if
    /// the job has no deadline.
    pub fn lateness(&self) -> Option<f64> {
        let deadline = self.deadline?;
        Some(if self.finish < deadline { -between(self.finish, deadline) } else { between(deadline, self.finish) })
    }

    /// Returns the running time: finish − first start, seconds.
    pub fn running_time(&self) -> f64 {
        between(self.start, self.finish)
    }
}

/// Returns the seconds from one time to another. Computed in ticks, because the difference of two `f64` would show
/// rounding errors.
fn between(from: f64, to: f64) -> f64 {
    (Time::from_seconds(to) - Time::from_seconds(from)).seconds()
}

/// Summary of one metric: the mean over seeds with its interval, and quantiles over all jobs of all seeds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Summary {
    /// Mean over seeds of each seed's mean; `None` without jobs.
    pub mean: Option<f64>,
    /// 95% interval of the mean (Student's t over seeds); `None` for fewer than two seeds.
    pub ci95: Option<[f64; 2]>,
    /// Median: the smallest value with at least half of the values at or below it.
    pub p50: Option<f64>,
    /// 80th percentile.
    pub p80: Option<f64>,
    /// 90th percentile.
    pub p90: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// Largest value.
    pub max: Option<f64>,
    /// Intervals of the percentiles.
    pub quantile_ci95: QuantileIntervals,
    /// Sum of all values; `None` except for resource-time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
}

/// The 95% intervals of the percentiles of a [`Summary`], from the differences between seeds ([`Pooled::interval`] has
/// the method). Each is `None` for fewer than 3 seeds, or if fewer than 5 jobs are expected on one side of the percentile.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QuantileIntervals {
    /// Interval of the median.
    pub p50: Option<[f64; 2]>,
    /// Interval of the 80th percentile.
    pub p80: Option<[f64; 2]>,
    /// Interval of the 90th percentile.
    pub p90: Option<[f64; 2]>,
    /// Interval of the 95th percentile.
    pub p95: Option<[f64; 2]>,
    /// Interval of the 99th percentile.
    pub p99: Option<[f64; 2]>,
}

impl Summary {
    /// Summarises values, one slice per seed.
    pub fn of(seeds: &[&[f64]]) -> Summary {
        let means: Vec<f64> = seeds.iter().filter_map(|values| mean(values)).collect();
        let all = Pooled::new(seeds);
        let at = |share: f64| all.quantile(share);
        let around = |share: f64| all.interval(share);
        Summary {
            mean: mean(&means),
            ci95: student_interval(&means),
            p50: at(0.5),
            p80: at(0.8),
            p90: at(0.9),
            p95: at(0.95),
            p99: at(0.99),
            max: at(1.0),
            quantile_ci95: QuantileIntervals {
                p50: around(0.5),
                p80: around(0.8),
                p90: around(0.9),
                p95: around(0.95),
                p99: around(0.99),
            },
            total: None,
        }
    }
}

/// Adds up the time for which resources were held, from time 0 to a horizon.
#[derive(Clone, Copy, Debug)]
pub struct BusyTime {
    horizon: Time,
    /// For each dimension, the sum of held share of the cluster × seconds.
    held: [f64; MAX_DIMENSIONS],
}

impl BusyTime {
    /// Creates an empty sum. `horizon` is [`Time::NEVER`] if there is no horizon.
    pub fn until(horizon: Time) -> BusyTime {
        BusyTime { horizon, held: [0.0; MAX_DIMENSIONS] }
    }

    /// Adds the time between `from` and `to`, during which `shares` of the cluster were held in each dimension.
    #[inline]
    pub fn add(&mut self, shares: &[f64; MAX_DIMENSIONS], from: Time, to: Time) {
        let seconds = (to.min(self.horizon) - from).seconds();
        for (held, share) in self.held.iter_mut().zip(shares) {
            *held += share * seconds;
        }
    }

    /// Returns the utilization, in [0, 1], of the busiest dimension: the average share that was held from time 0 to the
    /// horizon, or to `end` if there is no horizon.
    pub fn utilization(&self, end: Time) -> f64 {
        let span = self.horizon.min(end).seconds();
        let span = if self.horizon == Time::NEVER { span } else { self.horizon.seconds() };
        if span > 0.0 { self.held.iter().fold(0.0, |most: f64, held| most.max(*held)) / span } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use hindmost_math::statistics::quantile;

    use super::*;

    #[test]
    fn a_summary_has_intervals_of_its_percentiles() {
        // Three seeds with the values 1 to 100, the second one shifted by 10. Of 300 values 15 are expected above the
        // 95th percentile, and 3 above the 99th, which is too few.
        let values = |shift: u32| (1..=100).map(|value| f64::from(value + shift)).collect::<Vec<f64>>();
        let summary = Summary::of(&[&values(0), &values(10), &values(0)]);
        assert_eq!(summary.p50, Some(54.0));
        let intervals = summary.quantile_ci95;
        // 54, 44 and 54 values are at most 54, in all 152 of 300: a = 0.50667, and se² = 3/2 · (3.333² + 6.667² +
        // 3.333²)/300² = 1.1111e-3. With Student's t 4.302653, the ends are the quantiles at 0.5 ± 0.143422: ranks 107
        // and 194 of the 300 values. At most v are 3v − 10 values for v from 11 to 100: v = 39 and v = 68.
        assert_eq!(intervals.p50, Some([39.0, 68.0]));
        assert!(intervals.p95.is_some() && intervals.p99.is_none(), "{intervals:?}");
        let json = serde_json::to_value(&intervals).unwrap();
        assert_eq!(json["p50"], serde_json::json!([39.0, 68.0]));
        assert_eq!(json["p99"], serde_json::Value::Null);
        assert_eq!(Summary::of(&[&[1.0]]).quantile_ci95, QuantileIntervals::default());
    }

    #[test]
    fn a_quantile_has_at_least_its_share_at_or_below() {
        let mut values: Vec<f64> = (1..=20).rev().map(f64::from).collect();
        assert_eq!(quantile(&mut values, 0.95), Some(19.0));
        assert_eq!(quantile(&mut values, 0.951), Some(20.0));
        assert_eq!(quantile(&mut values, 0.5), Some(10.0));
        assert_eq!(quantile(&mut values, 1.0), Some(20.0));
        assert_eq!(quantile(&mut [], 0.5), None);
    }

    #[test]
    fn intervals_follow_students_t() {
        // Student's t at 0.975 with 4 degrees of freedom is 2.776445. The sample standard deviation of 1, …, 5 is √2.5.
        let [low, high] = student_interval(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        let half = 2.776_445_105 * (2.5f64 / 5.0).sqrt();
        assert!((low - (3.0 - half)).abs() < 1e-6 && (high - (3.0 + half)).abs() < 1e-6);
        assert_eq!(student_interval(&[1.0]), None);
    }

    #[test]
    fn busy_time_stops_at_the_horizon() {
        let seconds = Time::from_seconds;
        let mut busy = BusyTime::until(seconds(10.0));
        let mut add = |share, from, to| {
            let mut shares = [0.0; MAX_DIMENSIONS];
            shares[0] = share;
            busy.add(&shares, seconds(from), seconds(to));
        };
        add(0.5, 0.0, 4.0);
        add(1.0, 8.0, 20.0);
        add(1.0, 12.0, 20.0);
        assert!((busy.utilization(seconds(20.0)) - 0.4).abs() < 1e-12);
    }

    #[test]
    fn utilization_is_that_of_the_busiest_dimension() {
        let mut busy = BusyTime::until(Time::NEVER);
        let mut add = |first, second, to| {
            let mut shares = [0.0; MAX_DIMENSIONS];
            (shares[0], shares[1]) = (first, second);
            busy.add(&shares, Time::ZERO, Time::from_seconds(to));
        };
        // Utilization of both dimensions over 4 s: (0.75 · 1 + 0.125 · 2) / 4 = 0.25 and (0.25 · 1 + 0.5 · 2) / 4 =
        // 0.3125.
        add(0.75, 0.25, 1.0);
        add(0.125, 0.5, 2.0);
        assert!((busy.utilization(Time::from_seconds(4.0)) - 0.3125).abs() < 1e-12);
    }
}
