//! How long the copies of a phase take.

use hindmost_core::ids::JobId;
use hindmost_core::record::Event;
use hindmost_math::distribution::Distribution;

use super::{Observed, TELLING_AGE, middle_of};

/// The lightest tail that is assumed, as a Pareto index.
const LIGHTEST_TAIL: f64 = 3.0;
/// The heaviest.
const HEAVIEST_TAIL: f64 = 1.2;
/// An attempt at this pace says as much as two, once it is as old as the median copy when it ends.
const VERY_SLOW: f64 = 0.33;
/// Age, in medians, above which one without progress says that its node is slow.
const LATE_AGE: f64 = 1.5;
/// Winners from which on a run's own durations count alone.
const HISTORY_UNTIL: usize = 20;
/// First reports that are kept.
const FIRST_REPORTS: usize = 64;

/// What is known of one phase.
#[derive(Default)]
pub(super) struct PhaseSamples {
    /// Durations known from earlier runs, seconds.
    history: Vec<f64>,
    /// Durations of winners, seconds on a node of speed 1.
    pub(super) finished: Vec<f64>,
    /// Samples that the last event rested on.
    told: usize,
    /// Winners among them.
    told_finished: usize,
    pub(super) median: Option<f64>,
    /// Whether any attempt has told its progress.
    progress: bool,
    told_progress: bool,
    /// True if its commands read their input first and work then.
    pub(super) reads_first: bool,
    /// Ages at which attempts told their first progress, seconds.
    pub(super) first_reports: Vec<f64>,
    /// Shares of their work that they told first.
    pub(super) first_shares: Vec<f64>,
}

impl PhaseSamples {
    pub(super) fn new(history: Vec<f64>) -> PhaseSamples {
        PhaseSamples { history, ..PhaseSamples::default() }
    }

    /// Takes what an earlier process had learned.
    pub(super) fn recall(&mut self, median: f64, progress: bool, samples: u32) {
        self.median = Some(median);
        self.told = samples as usize;
        self.progress = progress;
        self.told_progress = progress;
    }

    /// An attempt has told its first progress.
    pub(super) fn first_progress(&mut self, age: f64, share: f64) {
        self.progress = true;
        if self.first_reports.len() < FIRST_REPORTS {
            self.first_reports.push(age);
            self.first_shares.push(share);
        }
    }

    /// Its commands read first: what seemed to be progress is none.
    pub(super) fn no_progress(&mut self) {
        self.reads_first = true;
        self.progress = false;
        self.first_reports.clear();
        self.first_shares.clear();
    }

    /// What has been learned of a phase with so many tasks, if that is enough and new. Progress foretells the durations
    /// `foretold`.
    pub(super) fn learned(&mut self, job: JobId, phase: u32, tasks: usize, foretold: &[f64]) -> Option<Event> {
        let enough = tasks.div_ceil(10).clamp(2, 5);
        let history = if self.finished.len() >= HISTORY_UNTIL { &[][..] } else { &self.history[..] };
        let count = history.len() + self.finished.len() + foretold.len();
        let more = self.told + self.told.div_ceil(4).max(1);
        let more_finished = self.told_finished + self.told_finished.div_ceil(4).max(1);
        let is_new = count >= more || self.finished.len() >= more_finished || self.progress != self.told_progress;
        if count < enough || (self.told > 0 && !is_new) {
            return None;
        }
        let mut values = [history, &self.finished, foretold].concat();
        values.retain(|seconds| seconds.is_finite() && *seconds > 0.0);
        values.sort_unstable_by(f64::total_cmp);
        let (durations, median, p90) = describe(&values)?;
        self.told = count;
        self.told_finished = self.finished.len();
        self.median = Some(median);
        self.told_progress = self.progress;
        let (progress, samples) = (self.progress, values.len() as u32);
        Some(Event::DurationsLearned { job, phase, durations, median, p90, progress, samples })
    }

    /// What an attempt says of its node: its pace, twice where it is very slow and has had the time to show.
    pub(super) fn evidence(&self, seen: &Observed) -> Vec<f64> {
        let Some((pace, at_most)) = self.pace(seen) else { return Vec::new() };
        let damning = at_most < VERY_SLOW && seen.age >= self.median.unwrap_or(f64::INFINITY);
        vec![pace; if damning { 2 } else { 1 }]
    }

    /// How fast an attempt goes through its work, relative to the median, and how fast at most; `None` where it does not
    /// tell.
    fn pace(&self, seen: &Observed) -> Option<(f64, f64)> {
        let sure = |pace: f64| (pace, pace);
        let median = self.median?;
        if seen.age <= 0.0 || median <= 0.0 {
            return None;
        }
        match seen.progress {
            Some(progress) if progress > 0.0 && seen.age >= TELLING_AGE * median => {
                Some(sure(progress * median / seen.age))
            }
            // Silent where others have long told something: no faster than if it now told as much.
            _ if self.progress => {
                let first = middle_of(&self.first_reports)?;
                let silent = seen.age > 2.0 * first.max(TELLING_AGE * median);
                silent.then(|| sure(first.max(TELLING_AGE * median) / seen.age))
            }
            // It is taken to need as long again as it has run.
            _ => (seen.age > LATE_AGE * median).then(|| (median / (2.0 * seen.age), median / seen.age)),
        }
    }
}

/// Mean and tail, median and 90th percentile of sorted durations.
fn describe(sorted: &[f64]) -> Option<(Distribution, f64, f64)> {
    let count = sorted.len() as f64;
    let mean = sorted.iter().sum::<f64>() / count;
    let variance = sorted.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    // The Pareto distribution whose coefficient of variation this is.
    let tail = 1.0 + (mean / variance.sqrt()).hypot(1.0);
    let tail = if tail.is_nan() { LIGHTEST_TAIL } else { tail.clamp(HEAVIEST_TAIL, LIGHTEST_TAIL) };
    let durations = Distribution::pareto_with_mean(tail, mean).ok()?;
    let rank = |share: f64| sorted.get(((share * count).ceil() as usize).max(1) - 1).copied();
    Some((durations, rank(0.5)?, rank(0.9)?))
}
