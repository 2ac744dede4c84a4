//! What a phase shows of its attempts: their progress rates, which of them are stragglers, and when its next window
//! begins.

use std::collections::BTreeSet;

use hindmost_core::cluster::Phase;
use hindmost_core::ids::AttemptId;
use hindmost_core::time::Time;

use crate::theory::skyline::window_length;

/// One over a duration of this many ticks is the unit of progress rates.
const RATE_UNIT: u128 = 1_000_000_000_000_000_000_000_000;

/// Returns the progress rate of an attempt of this duration, in [`RATE_UNIT`].
fn rate(duration: Time) -> u128 {
    RATE_UNIT / u128::from(duration.0.max(1))
}

/// The least length of a window: 10 ms. A task that has done its work at once would otherwise make windows of nanoseconds, each of them a
/// round of decisions, as long as an attempt of its phase hangs.
const LEAST_WINDOW: Time = Time(10_000_000);

/// The floor is this share of the limit when it is set.
const FLOOR: f64 = 0.6;

/// The attempts of a phase.
#[derive(Debug, Default)]
pub(super) struct PhaseState {
    /// Number of attempts whose duration is known: those that have finished, and running ones with a known end.
    known: u32,
    /// Sum of their progress rates, in [`RATE_UNIT`]. Whole numbers, so that rates can be taken out again without error.
    rates: u128,
    /// Sum of their durations, in ticks.
    durations: u128,
    /// The shortest of the durations so far, seconds.
    fastest: Option<f64>,
    /// Running attempts that are their task's only copy and have no reservation, by known duration. Only those that are
    /// longer than `floor`.
    pub(super) by_duration: BTreeSet<(Time, AttemptId)>,
    /// Attempts that are not longer than `floor`. Some may have ended, or have another copy by now.
    aside: Vec<(Time, AttemptId)>,
    /// Duration below which attempts are too fast to be stragglers soon, seconds.
    floor: f64,
    /// Running attempts whose age alone is known, and which are so old that they are stragglers.
    pub(super) aged: BTreeSet<AttemptId>,
    /// Start of the current window.
    pub(super) began: Time,
    /// Start of the next window, if one is planned.
    pub(super) due: Option<Time>,
}

impl PhaseState {
    /// Creates the state of a phase whose first window begins at a time.
    pub(super) fn new(now: Time) -> PhaseState {
        PhaseState { began: now, ..PhaseState::default() }
    }

    /// Adds the duration of an attempt.
    pub(super) fn add(&mut self, duration: Time) {
        self.known += 1;
        self.rates += rate(duration);
        self.durations += u128::from(duration.0);
        let seconds = duration.seconds();
        self.fastest = Some(self.fastest.map_or(seconds, |fastest| fastest.min(seconds)));
    }

    /// Removes the duration of an attempt that was stopped or has another duration.
    pub(super) fn subtract(&mut self, duration: Time) {
        self.known -= 1;
        self.rates -= rate(duration);
        self.durations -= u128::from(duration.0);
    }

    /// Returns the mean progress rate, per second; `None` if no duration is known.
    fn mean_rate(&self) -> Option<f64> {
        let per_second = RATE_UNIT as f64 / 1e9;
        (self.known > 0).then(|| (self.rates as f64 / per_second / f64::from(self.known)).max(f64::MIN_POSITIVE))
    }

    /// Returns the mean of the known durations, seconds.
    fn mean_duration(&self) -> Option<f64> {
        (self.known > 0).then(|| self.durations as f64 / 1e9 / f64::from(self.known))
    }

    /// Adds an attempt whose duration is known and that may become a straggler.
    pub(super) fn put(&mut self, duration: Time, id: AttemptId) {
        if duration.seconds() > self.floor {
            self.by_duration.insert((duration, id));
        } else {
            self.aside.push((duration, id));
        }
    }

    /// Moves the floor away from `limit`, the duration from which on attempts are stragglers. Returns the attempts that
    /// were below it, if it has to be lower: the caller puts those back that still run.
    pub(super) fn move_floor(&mut self, limit: f64) -> Vec<(Time, AttemptId)> {
        if limit >= self.floor && (self.floor > 0.0 || !limit.is_finite()) {
            return Vec::new();
        }
        self.floor = FLOOR * limit;
        std::mem::take(&mut self.aside)
    }

    /// Returns true if the floor must be moved for this limit.
    pub(super) fn floor_is_above(&self, limit: f64) -> bool {
        limit < self.floor
    }

    /// Returns the duration, seconds, above which an attempt is a straggler: its rate is then below the share `slow` of
    /// the mean rate. `None` if nothing is known of the phase's durations.
    pub(super) fn limit(&self, slow: f64, phase: &Phase) -> Option<f64> {
        if let Some(rate) = self.mean_rate() {
            return Some(1.0 / (slow * rate));
        }
        (!phase.is_assumed()).then(|| phase.mean() / slow)
    }

    /// Returns the progress rate of an attempt of this duration, relative to the mean rate; `None` if that is unknown.
    pub(super) fn relative_rate(&self, seconds: f64) -> Option<f64> {
        self.mean_rate().map(|rate| 1.0 / (rate * seconds))
    }

    /// Returns the mean duration of a copy on a node of speed 1, seconds: the one that policies know or, while that is a
    /// guess, the mean of the known durations. `None` if nothing is known.
    pub(super) fn mean(&self, phase: &Phase) -> Option<f64> {
        if !phase.is_assumed() {
            return Some(phase.mean());
        }
        self.mean_duration()
    }

    /// Returns the length of a window; `None` if nothing is known of the phase's durations.
    pub(super) fn window(&self, share: f64, phase: &Phase) -> Option<Time> {
        let mean = self.mean_duration().or_else(|| self.mean(phase));
        let mean = mean.filter(|mean| mean.is_finite())?;
        let seconds = window_length(share, self.fastest.unwrap_or(mean), mean);
        Some(Time::from_seconds(seconds).max(LEAST_WINDOW))
    }

    /// Returns the start of the next window, at or after `now`. Windows of this length follow each other.
    pub(super) fn next_window(&self, length: Time, now: Time) -> Time {
        let windows = (now - self.began).0.div_ceil(length.0);
        Time(self.began.0.saturating_add(windows.saturating_mul(length.0)))
    }

    /// Returns true if an attempt of the phase may be a straggler now.
    pub(super) fn has_stragglers(&self, limit: f64) -> bool {
        !self.aged.is_empty() || self.by_duration.last().is_some_and(|(duration, _)| duration.seconds() > limit)
    }
}
