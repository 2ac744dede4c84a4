//! The progress of one attempt, and the remaining time that follows from it.
//!
//! The remaining time assumes that the attempt continues at the same pace. Between two reports its progress is assumed to
//! grow at that pace, but by no more than the last report added. So an attempt that reports in coarse steps does not seem
//! to have stalled, and one that has stalled does. An attempt has stalled if it reports nothing for longer than twice the
//! time (plus 0.1 s) that its last step took at its average pace. Then its remaining time is at least the time for which it
//! has stalled.
//!
//! A command that reads its input in blocks has not worked on the last one yet, and one that reads evenly has worked on
//! all that it has read. So half of what the last poll found counts as done.
//!
//! The first blocks of an input, and reports that begin at once, say little about the pace: a command may read or report the first part
//! before it has done it. The end that follows from them is a guess.
//!
//! The share of the input that a command has read is its progress only if the command works while it reads. If the command
//! has read everything, or has closed the file, and then runs for longer than a block and a quarter of the reading time, the driver
//! concludes that the commands of its phase read first and work afterwards. From then on it uses only the age of their
//! attempts. An input that was read by the first poll shows this only if most inputs of the phase were: other inputs are read for
//! longer.
//!
//! Reports count only as long as they say something about durations. The last report of each winner is compared with its duration:
//! where most predicted less than half or more than twice of it, the driver uses only the age of the phase's attempts.
//!
//! Invariant: the share of the work never decreases, except when the command's own reports replace the share of its input
//! that it has read.

use std::time::Duration;

use hindmost_core::time::Time;

/// Time from an attempt's start to the first poll of its progress, and the least time between two polls: 50 ms.
pub(super) const FIRST_POLL: Time = Time(50_000_000);
/// The longest time between two polls: 1 s.
const LONGEST_POLL: Time = Time(1_000_000_000);
/// The time until the next poll is the attempt's age divided by this.
const POLLS: u64 = 20;
/// With each further group of this many running attempts, each attempt is polled less often.
const MANY: u64 = 64;
/// How long a command that has read all its input may still run before its reading stops counting as progress, as a
/// share of the reading time.
const AFTER_READING: f64 = 0.25;

/// Returns the time until the next poll of an attempt of this age, when `running` attempts run.
pub(super) fn next_poll(age: Time, running: usize) -> Time {
    let scale = 1 + running as u64 / MANY;
    Time((age.0 / POLLS).clamp(FIRST_POLL.0 * scale, LONGEST_POLL.0 * scale))
}

/// A first report at a lower age than this may have been made before the work that it reports.
const EARLY: Time = Time(2 * FIRST_POLL.0);
/// The end that follows from reading, or from reports that began early, counts as measured if the last one has added at most this share of
/// the progress.
const LARGEST_STEP: f64 = 0.25;
/// Other reports show a pace from the first one on, unless it is larger than this: then all that follows may take longer.
const LARGEST_FIRST: f64 = 0.5;

/// The last reports of attempts that have run for less than this are not tested.
const LEAST_TESTED: Time = Time(4 * FIRST_POLL.0);

/// The progress of an attempt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    /// When the attempt was started.
    pub(super) since: Time,
    /// Share of the work that the attempt reported last, or share of the input that it had read at the last poll.
    pub(super) share: f64,
    /// When the attempt had done `share`.
    at: Time,
    /// Amount by which the last report raised `share`.
    step: f64,
    /// True if the first report came so early that the command may have made it before it had done what it reports.
    is_early: bool,
    /// True if `share` is the share of the input that has been read.
    pub(super) by_reading: bool,
    /// Share of its task's work that the attempt leaves out, because another attempt has done it. All other shares here are
    /// shares of the rest, which the attempt does itself.
    from: f64,
}

/// The outcome of a poll.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Poll {
    /// The attempt's progress is unknown.
    Unknown,
    /// The command read its input first and works now, so reading is not progress.
    ReadsFirst,
    /// The attempt's progress is known.
    Known {
        /// The reported share, if this is the first report.
        first: Option<f64>,
    },
}

impl Progress {
    /// Creates the progress of an attempt that started at `since`, does its whole task and has reported nothing.
    #[cfg(test)]
    pub(super) fn new(since: Time) -> Progress {
        Progress::resumed(since, 0.0)
    }

    /// Creates the progress of an attempt that started at `since`, leaves out the share `from` of its task's work, in
    /// [0, 1), and has reported nothing.
    pub(super) fn resumed(since: Time, from: f64) -> Progress {
        Progress { since, share: 0.0, at: since, step: 0.0, is_early: false, by_reading: false, from }
    }

    /// Returns the progress of the same attempt, whose command began at this time or, if that is later, at its start.
    pub(super) fn begun_at(&self, began: Time) -> Progress {
        Progress::resumed(began.max(self.since), self.from)
    }

    /// Returns this progress before the first report.
    pub(super) fn unreported(&self) -> Progress {
        Progress::resumed(self.since, self.from)
    }

    /// Returns the share of its task's work that the attempt does itself.
    pub(super) fn own_work(&self) -> f64 {
        1.0 - self.from
    }

    /// Returns the share of its task's work that is done, with the work that the attempt has left out.
    pub(super) fn of_task(&self) -> f64 {
        self.from + self.own_work() * self.share
    }

    /// Updates the progress. `reported` is the share of its task's work that the command has reported last and how long ago;
    /// `read` is the share of its input that it has read. `reads` is true while reading may count as progress in this phase, and
    /// `at_once` if most attempts of the phase had read everything at their first poll.
    pub(super) fn poll(
        &mut self,
        now: Time,
        reported: Option<(f64, Duration)>,
        read: Option<f64>,
        reads: bool,
        at_once: bool,
    ) -> Poll {
        let by_reading = reported.is_none();
        if by_reading && reads && self.has_read_first(read.is_some(), at_once, now) {
            return Poll::ReadsFirst;
        }
        let Some((share, ago)) = reported.or(read.map(|share| (share, Duration::ZERO))) else { return Poll::Unknown };
        let share = ((share - self.from) / self.own_work()).max(0.0);
        // The command's own reports outrank the share of the input that it has read.
        if self.by_reading && !by_reading {
            *self = self.unreported();
        }
        let mut first = None;
        if share > self.share {
            first = (self.share == 0.0).then_some(share);
            // The time of the report, not of this poll. It comes from the file system's clock, so it is kept in bounds.
            let at = (now - Time(ago.as_nanos() as u64)).max(self.at).max(self.since + Time(FIRST_POLL.0 / 5));
            let at = at.min(now);
            let is_early = if first.is_some() { at - self.since < EARLY } else { self.is_early };
            *self = Progress { share, at, step: share - self.share, is_early, by_reading, ..*self };
        }
        Poll::Known { first }
    }

    /// Returns true if the progress shows at which pace the attempt works, so that its end is measured and not guessed.
    pub(super) fn shows_pace(&self) -> bool {
        let may_be_ahead = self.by_reading || self.is_early;
        self.share > 0.0
            && self.step
                <= if may_be_ahead { LARGEST_STEP * self.share } else { LARGEST_FIRST.max(self.share - self.step) }
    }

    /// Returns which duration the command's last report predicted, relative to the actual one, when the attempt ends now. `None` if it
    /// has reported nothing, or if it ends so soon that polls say little about when it reported.
    pub(super) fn last_prediction(&self, now: Time) -> Option<f64> {
        let [reported, took] = [self.at, now].map(|time| (time - self.since).seconds());
        let is_known = self.share > 0.0 && !self.by_reading && took >= LEAST_TESTED.seconds();
        is_known.then(|| reported / self.share / took)
    }

    /// Returns the estimated share of the work that is done now.
    pub(super) fn now(&self, now: Time) -> f64 {
        let (age, silent) = ((self.at - self.since).seconds(), (now - self.at).seconds());
        if self.share <= 0.0 || age <= 0.0 {
            return 0.0;
        }
        let done = if self.by_reading { self.share - self.step / 2.0 } else { self.share };
        (done + (done / age * silent).min(self.step)).min(1.0)
    }

    /// Returns for how many seconds the attempt has stalled; `None` if it has not.
    pub(super) fn stalled_for(&self, now: Time) -> Option<f64> {
        // The first block is read at once. How long the next one takes is not known.
        if self.share <= 0.0 || (self.by_reading && self.step >= self.share) {
            return None;
        }
        let silent = (now - self.at).seconds();
        let usual = (self.at - self.since).seconds() * self.step / self.share;
        (silent > 2.0 * (usual + FIRST_POLL.seconds())).then_some(silent)
    }

    /// Returns the expected remaining time in seconds, at the same pace as before and with at least the share `least` done.
    /// The result is at least the time for which the attempt has stalled.
    pub(super) fn remaining(&self, now: Time, least: f64) -> f64 {
        let (age, done) = ((now - self.since).seconds(), self.now(now).max(least));
        (age * (1.0 - done) / done).max(self.stalled_for(now).unwrap_or(0.0))
    }

    /// True if the command has read all its input or has closed it, and has worked for so long since then that reading
    /// was only the smaller part of its work. An input so small that it was read by the first poll shows this only if `at_once`.
    fn has_read_first(&self, is_read: bool, at_once: bool, now: Time) -> bool {
        if self.step >= self.share && self.share >= 1.0 && !at_once {
            return false;
        }
        let (reading, silent) = ((self.at - self.since).seconds(), (now - self.at).seconds());
        let over = self.share >= 1.0 || !is_read;
        // The command works on its last block for as long as on one before.
        let last = if self.share > self.step { reading * self.step / (self.share - self.step) } else { 0.0 };
        let usual = last + AFTER_READING * reading + 2.0 * FIRST_POLL.seconds();
        self.by_reading && self.share > 0.0 && over && silent > usual
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::ZERO;

    fn seconds(seconds: f64) -> Time {
        Time::from_seconds(seconds)
    }

    #[test]
    fn remaining_time_assumes_the_same_pace() {
        let mut progress = Progress::new(seconds(10.0));
        assert_eq!(progress.poll(seconds(11.0), None, None, true, true), Poll::Unknown);
        assert_eq!(progress.remaining(seconds(11.0), 0.02), 49.0);
        let first = Poll::Known { first: Some(0.25) };
        assert_eq!(progress.poll(seconds(12.0), Some((0.25, NOW)), None, true, true), first);
        assert_eq!(progress.remaining(seconds(12.0), 0.02), 6.0);
        // This report was written one second before the poll.
        assert_eq!(
            progress.poll(seconds(15.0), Some((0.5, Duration::from_secs(1))), None, true, true),
            Poll::Known { first: None }
        );
        assert_eq!((progress.share, progress.now(seconds(14.0)), progress.now(seconds(15.0))), (0.5, 0.5, 0.625));
    }

    #[test]
    fn a_resumed_attempt_is_measured_by_its_own_work() {
        // It leaves out 60% of the work. After 2 s it reports 70%: a quarter of its own 40%, so 6 s are left.
        let mut progress = Progress::resumed(seconds(10.0), 0.6);
        assert_eq!(progress.poll(seconds(11.0), Some((0.6, NOW)), None, false, true), Poll::Known { first: None });
        let known = progress.poll(seconds(12.0), Some((0.7, NOW)), None, false, true);
        assert!(matches!(known, Poll::Known { first: Some(share) } if (share - 0.25).abs() < 1e-12), "{known:?}");
        assert!((progress.remaining(seconds(12.0), 0.02) - 6.0).abs() < 1e-9);
        assert!((progress.of_task() - 0.7).abs() < 1e-12 && (progress.own_work() - 0.4).abs() < 1e-12);
        assert_eq!(progress.unreported().share, 0.0);
    }

    #[test]
    fn progress_grows_by_one_step_and_then_stalls() {
        let mut progress = Progress::new(Time::ZERO);
        progress.poll(seconds(2.0), Some((0.25, NOW)), None, false, true);
        assert_eq!((progress.now(seconds(4.0)), progress.now(seconds(40.0))), (0.5, 0.5));
        assert_eq!(progress.stalled_for(seconds(6.0)), None);
        assert_eq!(progress.stalled_for(seconds(6.5)), Some(4.5));
        assert_eq!(progress.remaining(seconds(42.0), 0.02), 42.0);
    }

    #[test]
    fn reading_that_ends_early_is_not_progress() {
        let mut progress = Progress::new(Time::ZERO);
        assert_eq!(progress.poll(seconds(4.0), None, Some(1.0), true, true), Poll::Known { first: Some(1.0) });
        assert_eq!(progress.poll(seconds(5.0), None, None, true, true), Poll::Unknown);
        assert_eq!(progress.poll(seconds(5.2), None, None, true, true), Poll::ReadsFirst);
        // The command's own reports replace the share that it has read.
        assert_eq!(progress.poll(seconds(5.2), Some((0.1, NOW)), None, true, true), Poll::Known { first: Some(0.1) });
        assert_eq!((progress.share, progress.by_reading), (0.1, false));
    }

    #[test]
    fn small_inputs_read_at_once_show_nothing_about_larger_ones() {
        let mut progress = Progress::new(Time::ZERO);
        progress.poll(seconds(0.05), None, Some(1.0), true, false);
        assert_eq!(progress.poll(seconds(9.0), None, Some(1.0), true, false), Poll::Known { first: None });
        assert_eq!(progress.poll(seconds(9.0), None, Some(1.0), true, true), Poll::ReadsFirst);
    }

    #[test]
    fn the_first_blocks_of_an_input_show_no_pace() {
        let mut progress = Progress::new(Time::ZERO);
        let shows = [0.1, 0.2, 0.3, 0.4, 0.5].map(|share| {
            progress.poll(seconds(20.0 * share), None, Some(share), true, true);
            progress.shows_pace()
        });
        assert_eq!(shows, [false, false, false, false, true]);
        // Reports that do not begin at once show it, and early ones once they come in small steps.
        let mut progress = Progress::new(Time::ZERO);
        progress.poll(seconds(3.0), Some((0.2, NOW)), None, true, true);
        assert!(progress.shows_pace());
        let mut progress = Progress::new(Time::ZERO);
        let shows = [0.05, 0.55, 1.05, 1.55, 2.05, 2.55].map(|at| {
            progress.poll(seconds(at), Some((0.1 + 0.2 * (at - 0.05), NOW)), None, true, true);
            progress.shows_pace()
        });
        assert_eq!(shows, [false, false, false, true, true, true]);
    }

    #[test]
    fn a_first_report_of_more_than_half_shows_no_pace() {
        let shows = |shares: &[f64]| {
            let mut progress = Progress::new(Time::ZERO);
            for (at, share) in (1..).zip(shares) {
                progress.poll(seconds(f64::from(at)), Some((*share, NOW)), None, true, true);
            }
            progress.shows_pace()
        };
        assert_eq!([shows(&[0.5]), shows(&[0.9]), shows(&[0.9, 0.95])], [true, false, true]);
    }

    #[test]
    fn the_last_report_predicts_a_duration() {
        let mut progress = Progress::new(seconds(10.0));
        assert_eq!(progress.last_prediction(seconds(12.0)), None);
        progress.poll(seconds(11.0), Some((0.9, NOW)), None, true, true);
        // 90% after 1 s, and the rest takes 9 s.
        assert!((progress.last_prediction(seconds(20.0)).unwrap() - 1.0 / 9.0).abs() < 1e-9);
        let mut short = Progress::new(Time::ZERO);
        short.poll(seconds(0.05), Some((0.9, NOW)), None, true, true);
        assert_eq!(short.last_prediction(seconds(0.19)), None);
    }

    #[test]
    fn half_of_the_last_block_counts() {
        let mut progress = Progress::new(Time::ZERO);
        for share in [0.1, 0.2, 0.3, 0.4, 0.5] {
            progress.poll(seconds(20.0 * share), None, Some(share), true, true);
        }
        assert!((progress.now(seconds(10.0)) - 0.45).abs() < 1e-9, "{}", progress.now(seconds(10.0)));
    }

    #[test]
    fn polls_get_rarer_with_age_and_number_of_attempts() {
        assert_eq!(next_poll(Time::ZERO, 1), FIRST_POLL);
        assert_eq!(next_poll(seconds(10.0), 1), seconds(0.5));
        assert_eq!(next_poll(seconds(1000.0), 1), LONGEST_POLL);
        assert_eq!(next_poll(Time::ZERO, 640), Time(11 * FIRST_POLL.0));
    }
}
