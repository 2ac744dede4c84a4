//! Learns how long the copies of a phase take.

use crate::ids::JobId;
use crate::node_speeds;
use crate::record::Event;
use hindmost_math::fit::sample::{AssumedFromSample, describe_sample};

use super::{INFORMATIVE_AGE, Observed, SLOW, median_of};

/// Age, in median durations, above which an attempt without progress reports is evidence that its node is slow.
pub const LATE_AGE: f64 = 1.5;
/// Number of winners in this run from which on the durations of earlier runs no longer count.
const HISTORY_UNTIL: usize = 20;
/// The last report of a winner is wrong if it predicted more than this many times its duration, or less than its inverse.
const WRONG: f64 = 2.0;
/// Least number of wrong last reports that show that reports mislead. They must also be more than the right ones.
const FEWEST_WRONG: u32 = 3;
/// An attempt without reports is late above this many times the median age at the first report…
const LATE_REPORT: f64 = 2.0;
/// … and above this many times the 90th percentile.
const LATE_LONG_REPORT: f64 = 1.2;
/// Number of attempts of a phase whose first progress reports are kept.
const FIRST_REPORTS: usize = 64;

/// The samples of durations of one phase, and what was last reported about them.
#[derive(Default)]
pub(super) struct PhaseSamples {
    /// Durations from earlier runs, in seconds.
    history: Vec<f64>,
    /// Durations of winners, in seconds on a node of speed 1.
    pub(super) finished: Vec<f64>,
    /// Number of samples from which the last event was made.
    reported: usize,
    /// Number of winners among these samples.
    reported_finished: usize,
    /// Median duration in the last event, in seconds; `None` before the first event.
    pub(super) median: Option<f64>,
    /// True if any attempt has reported progress.
    progress: bool,
    /// Value of `progress` in the last event.
    reported_progress: bool,
    /// True if the commands of the phase read their input first and then work, so that reading is not progress.
    pub(super) reads_first: bool,
    /// Ages of attempts at their first progress reports, in seconds.
    pub(super) first_reports: Vec<f64>,
    /// Shares of the work in these first reports.
    pub(super) first_shares: Vec<f64>,
    /// Number of winners whose last report predicted about their duration.
    right: u32,
    /// Number of winners whose last report did not.
    wrong: u32,
}

impl PhaseSamples {
    pub(super) fn new(history: Vec<f64>) -> PhaseSamples {
        PhaseSamples { history, ..PhaseSamples::default() }
    }

    /// Takes over the median and the number of samples that an earlier process has reported, and whether progress was
    /// reported.
    pub(super) fn recall(&mut self, median: f64, progress: bool, samples: u32) {
        self.median = Some(median);
        self.reported = samples as usize;
        self.progress = progress;
        self.reported_progress = progress;
    }

    /// Adds the last report of a winner: the duration that it predicted, relative to the actual one. Returns true if this shows that
    /// reports mislead. Then those that were made are discarded, and no others count.
    pub(super) fn last_report(&mut self, ratio: f64) -> bool {
        if self.is_misled() {
            return false;
        }
        if (1.0 / WRONG..=WRONG).contains(&ratio) {
            self.right += 1;
        } else {
            self.wrong += 1;
        }
        if self.is_misled() {
            self.forget_reports();
        }
        self.is_misled()
    }

    /// Returns true if reports say little about durations.
    pub(super) fn is_misled(&self) -> bool {
        self.wrong >= FEWEST_WRONG && self.wrong > self.right
    }

    /// Adds the first progress report of an attempt.
    pub(super) fn first_progress(&mut self, age: f64, share: f64) {
        self.progress = true;
        if self.first_reports.len() < FIRST_REPORTS {
            self.first_reports.push(age);
            self.first_shares.push(share);
        }
    }

    /// Notes that the commands of the phase read their input first and then work. Discards the reports that were derived
    /// from reading.
    pub(super) fn no_progress(&mut self) {
        self.reads_first = true;
        self.forget_reports();
    }

    fn forget_reports(&mut self) {
        self.progress = false;
        self.first_reports.clear();
        self.first_shares.clear();
    }

    /// Returns the age in seconds above which an attempt has reported nothing for unusually long; `None` without reports. Attempts of
    /// which the first report comes at half of their time differ as much in its age as in their durations.
    pub(super) fn late_report(&self) -> Option<f64> {
        let median = median_of(&self.first_reports)?;
        let p90 = hindmost_math::statistics::quantile(&mut self.first_reports.clone(), 0.9)?;
        Some((LATE_REPORT * median).max(LATE_LONG_REPORT * p90))
    }

    /// Returns the event with the durations of a phase of `tasks` tasks; `None` if there are too few samples, or too few new
    /// ones. `predicted` are the durations that follow from the progress of running attempts, in seconds.
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
        let AssumedFromSample { durations, median, p90 } = describe_sample(&values)?;
        self.reported = count;
        self.reported_finished = self.finished.len();
        self.median = Some(median);
        self.reported_progress = self.progress;
        let (progress, samples) = (self.progress, values.len() as u32);
        Some(Event::DurationsLearned { job, phase, durations, median, p90, progress, samples })
    }

    /// Returns the pace of an attempt, relative to the median, as samples for the speed of its node. The result
    /// contains the pace twice if the attempt is very slow and at least as old as the median duration. It is empty if
    /// the pace is unknown. `given` is the speed of the node while its pace is normal, and `winner` is the pace of the last winner
    /// on the node.
    pub(super) fn evidence(&self, seen: &Observed, given: f64, winner: Option<f64>) -> Vec<f64> {
        let Some((pace, at_most)) = self.pace(seen, given, winner) else { return Vec::new() };
        node_speeds::evidence(pace, at_most, seen.age, self.median.unwrap_or(f64::INFINITY) / given)
    }

    /// Returns the pace of an attempt relative to the median on its node, and an upper bound of it. `None` if they are unknown.
    fn pace(&self, seen: &Observed, given: f64, winner: Option<f64>) -> Option<(f64, f64)> {
        let sure = |pace: f64| (pace, pace);
        let median = self.median? / given;
        if seen.age <= 0.0 || median <= 0.0 {
            return None;
        }
        match seen.progress {
            Some(progress) if progress > 0.0 && seen.age >= INFORMATIVE_AGE * median => {
                Some(sure(progress * median / seen.age))
            }
            // The attempt has reported nothing at an age at which others have usually reported first. Its pace is at most that of an
            // attempt that makes its first report now.
            _ if self.progress => {
                let first = self.late_report()? / LATE_REPORT;
                let silent = seen.age > LATE_REPORT * first.max(INFORMATIVE_AGE * median);
                silent.then(|| sure(first.max(INFORMATIVE_AGE * median) / seen.age))
            }
            // No attempt of the phase reports progress, and this one has not done all of its work. If it is only as old as
            // winners become on its slow node, it confirms their pace. Otherwise it is assumed to have done half.
            _ => (seen.age > LATE_AGE * median).then(|| {
                let at_most = median / seen.age;
                let usual = winner.filter(|pace| *pace < SLOW && seen.age * pace <= LATE_AGE * median);
                (usual.map_or(at_most / 2.0, |pace| pace.min(at_most)), at_most)
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_wrong_last_reports_mislead_unless_as_many_were_right() {
        let misled = |ratios: &[f64]| {
            let mut samples = PhaseSamples::default();
            samples.first_progress(0.1, 0.5);
            let found: Vec<bool> = ratios.iter().map(|ratio| samples.last_report(*ratio)).collect();
            (samples.is_misled(), found.iter().filter(|is_new| **is_new).count(), samples.late_report().is_none())
        };
        assert_eq!(misled(&[0.4, 2.1]), (false, 0, false));
        // It is new once, and the reports are discarded.
        assert_eq!(misled(&[0.4, 2.1, 0.1, 9.0, 1.0]), (true, 1, true));
        assert_eq!(misled(&[1.0, 0.5, 2.0, 0.4, 2.1, 0.1]), (false, 0, false));
    }

    #[test]
    fn a_report_is_late_beyond_the_spread_of_the_others() {
        let late = |ages: &[f64]| {
            let mut samples = PhaseSamples::default();
            for age in ages {
                samples.first_progress(*age, 0.1);
            }
            samples.late_report()
        };
        assert_eq!(late(&[]), None);
        assert_eq!(late(&[0.5; 10]), Some(1.0), "twice the median");
        // The 90th percentile of 0, 1, …, 10 is 9, and the median 5.
        let ages: Vec<f64> = (0..=10).map(f64::from).collect();
        assert!((late(&ages).unwrap() - 10.8).abs() < 1e-9, "1.2 times the 90th percentile");
    }
}
