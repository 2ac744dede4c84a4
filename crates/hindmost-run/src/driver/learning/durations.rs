//! Learns how long the copies of a phase take.

use hindmost_core::ids::JobId;
use hindmost_core::record::Event;
use hindmost_math::distribution::Distribution;

use super::{INFORMATIVE_AGE, Observed, median_of};

/// The Pareto index of the lightest tail that is assumed.
const LIGHTEST_TAIL: f64 = 3.0;
/// The Pareto index of the heaviest tail that is assumed.
const HEAVIEST_TAIL: f64 = 1.2;
/// An attempt below this pace counts twice, once it is as old as the median duration.
const VERY_SLOW: f64 = 0.33;
/// Age, in median durations, above which an attempt without progress reports is evidence that its node is slow.
const LATE_AGE: f64 = 1.5;
/// Number of winners from which on the durations of earlier runs no longer count.
const HISTORY_UNTIL: usize = 20;
/// Most first reports that are kept.
const FIRST_REPORTS: usize = 64;

/// The samples of one phase.
#[derive(Default)]
pub(super) struct PhaseSamples {
    /// Durations from earlier runs, in seconds.
    history: Vec<f64>,
    /// Durations of winners, in seconds on a node of speed 1.
    pub(super) finished: Vec<f64>,
    /// Number of samples behind the last event.
    reported: usize,
    /// Number of winners among them.
    reported_finished: usize,
    pub(super) median: Option<f64>,
    /// True if any attempt has reported progress.
    progress: bool,
    reported_progress: bool,
    /// True if its commands read their input first and then work.
    pub(super) reads_first: bool,
    /// Ages of attempts at their first progress reports, in seconds.
    pub(super) first_reports: Vec<f64>,
    /// Shares of the work in these first reports.
    pub(super) first_shares: Vec<f64>,
}

impl PhaseSamples {
    pub(super) fn new(history: Vec<f64>) -> PhaseSamples {
        PhaseSamples { history, ..PhaseSamples::default() }
    }

    /// Takes over what an earlier process has learned.
    pub(super) fn recall(&mut self, median: f64, progress: bool, samples: u32) {
        self.median = Some(median);
        self.reported = samples as usize;
        self.progress = progress;
        self.reported_progress = progress;
    }

    /// Adds the first progress report of an attempt.
    pub(super) fn first_progress(&mut self, age: f64, share: f64) {
        self.progress = true;
        if self.first_reports.len() < FIRST_REPORTS {
            self.first_reports.push(age);
            self.first_shares.push(share);
        }
    }

    /// Notes that the commands read first, and discards what seemed to be progress.
    pub(super) fn no_progress(&mut self) {
        self.reads_first = true;
        self.progress = false;
        self.first_reports.clear();
        self.first_shares.clear();
    }

    /// Returns what has been learned of a phase with this many tasks; `None` if the samples are too few or nothing is new.
    /// `predicted` are the durations that follow from progress, in seconds.
    pub(super) fn learned(&mut self, job: JobId, phase: u32, tasks: usize, predicted: &[f64]) -> Option<Event> {
        let enough = tasks.div_ceil(10).clamp(2, 5);
        let history = if self.finished.len() >= HISTORY_UNTIL { &[][..] } else { &self.history[..] };
        let count = history.len() + self.finished.len() + predicted.len();
        let more = self.reported + self.reported.div_ceil(4).max(1);
        let more_finished = self.reported_finished + self.reported_finished.div_ceil(4).max(1);
        let is_new = count >= more || self.finished.len() >= more_finished || self.progress != self.reported_progress;
        if count < enough || (self.reported > 0 && !is_new) {
            return None;
        }
        let mut values = [history, &self.finished, predicted].concat();
        values.retain(|seconds| seconds.is_finite() && *seconds > 0.0);
        values.sort_unstable_by(f64::total_cmp);
        let (durations, median, p90) = describe(&values)?;
        self.reported = count;
        self.reported_finished = self.finished.len();
        self.median = Some(median);
        self.reported_progress = self.progress;
        let (progress, samples) = (self.progress, values.len() as u32);
        Some(Event::DurationsLearned { job, phase, durations, median, p90, progress, samples })
    }

    /// Returns the pace of an attempt as evidence about its node. The pace counts twice if the attempt is very slow and old
    /// enough to prove it.
    pub(super) fn evidence(&self, seen: &Observed) -> Vec<f64> {
        let Some((pace, at_most)) = self.pace(seen) else { return Vec::new() };
        let damning = at_most < VERY_SLOW && seen.age >= self.median.unwrap_or(f64::INFINITY);
        vec![pace; if damning { 2 } else { 1 }]
    }

    /// Returns the pace of an attempt relative to the median, and an upper bound of it. `None` if they are unknown.
    fn pace(&self, seen: &Observed) -> Option<(f64, f64)> {
        let sure = |pace: f64| (pace, pace);
        let median = self.median?;
        if seen.age <= 0.0 || median <= 0.0 {
            return None;
        }
        match seen.progress {
            Some(progress) if progress > 0.0 && seen.age >= INFORMATIVE_AGE * median => {
                Some(sure(progress * median / seen.age))
            }
            // It has reported nothing although others of its age have: it is at most as fast as if it made its first report now.
            _ if self.progress => {
                let first = median_of(&self.first_reports)?;
                let silent = seen.age > 2.0 * first.max(INFORMATIVE_AGE * median);
                silent.then(|| sure(first.max(INFORMATIVE_AGE * median) / seen.age))
            }
            // It is assumed to have done half of its work.
            _ => (seen.age > LATE_AGE * median).then(|| (median / (2.0 * seen.age), median / seen.age)),
        }
    }
}

/// Returns a Pareto distribution with the mean and spread of sorted durations, their median and their 90th percentile.
fn describe(sorted: &[f64]) -> Option<(Distribution, f64, f64)> {
    let count = sorted.len() as f64;
    let mean = sorted.iter().sum::<f64>() / count;
    let variance = sorted.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    // The index of the Pareto distribution with this coefficient of variation.
    let tail = 1.0 + (mean / variance.sqrt()).hypot(1.0);
    let tail = if tail.is_nan() { LIGHTEST_TAIL } else { tail.clamp(HEAVIEST_TAIL, LIGHTEST_TAIL) };
    let durations = Distribution::pareto_with_mean(tail, mean).ok()?;
    let rank = |share: f64| sorted.get(((share * count).ceil() as usize).max(1) - 1).copied();
    Some((durations, rank(0.5)?, rank(0.9)?))
}
