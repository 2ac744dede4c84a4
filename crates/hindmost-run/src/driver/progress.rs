//! How far an attempt has got, and when it is expected to end.
//!
//! An attempt's end is foretold from its progress as if it went on at the same pace. Between two reports
//! it is taken to go on so, for as far as its last report took it and no further: so reports in coarse
//! steps do not look like standstill, and a standstill does. One that stands still for longer than twice what
//! such a step took is expected to need at least as long again as it has stood, wherever it stands.
//!
//! How far a command has read its input tells of its progress only if it works while it reads. One that has read
//! all, or has closed the file, and goes on for longer than a quarter of what that took, read first and works
//! then: from then on its phase's attempts are judged by their age.
//!
//! Invariant: the share of the work never gets smaller, except when reports of the command itself replace what it has
//! read.

use std::time::Duration;

use hindmost_core::time::Time;

/// First look at an attempt's progress after its start, and the least time between two looks.
pub(super) const FIRST_LOOK: Time = Time(50_000_000);
/// The longest time between two looks.
const LAST_LOOK: Time = Time(1_000_000_000);
/// An attempt is looked at again once it is older by this share.
const LOOKS: u64 = 20;
/// Attempts among which looks are shared out: with more, each is looked at less often.
const CROWD: u64 = 64;
/// Of the time that reading took, how much more a command may take after it has read all.
const AFTER_READING: f64 = 0.25;

/// Time until the next look at an attempt of this age, where so many run.
pub(super) fn next_look(age: Time, running: usize) -> Time {
    let crowd = 1 + running as u64 / CROWD;
    Time((age.0 / LOOKS).clamp(FIRST_LOOK.0 * crowd, LAST_LOOK.0 * crowd))
}

/// How far an attempt has got.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    /// When the attempt was started.
    pub(super) since: Time,
    /// Share of its work that was last reported, or that it had read of its input.
    pub(super) share: f64,
    /// When that was first seen.
    at: Time,
    /// How much of the work the last report added.
    step: f64,
    /// True if it is how far the input has been read.
    pub(super) by_reading: bool,
}

/// What a look at an attempt has shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Look {
    /// Nothing is known of its progress.
    Silent,
    /// It read its input first and works now: reading tells nothing of its progress.
    ReadsFirst,
    /// Its progress is known.
    Known {
        /// The share of its work that it has reported, if it is the first report.
        first: Option<f64>,
    },
}

impl Progress {
    /// Nothing is known yet.
    pub(super) fn new(since: Time) -> Progress {
        Progress { since, share: 0.0, at: since, step: 0.0, by_reading: false }
    }

    /// Takes in what its command reports and how long ago it did, else how far it has read its input. `reads` says whether
    /// reading may tell of its progress.
    pub(super) fn look(
        &mut self,
        now: Time,
        reported: Option<(f64, Duration)>,
        read: Option<f64>,
        reads: bool,
    ) -> Look {
        let by_reading = reported.is_none();
        if by_reading && reads && self.has_read_first(read.is_some(), now) {
            return Look::ReadsFirst;
        }
        let Some((share, ago)) = reported.or(read.map(|share| (share, Duration::ZERO))) else { return Look::Silent };
        // What its command says itself outranks what was read.
        if self.by_reading && !by_reading {
            *self = Progress::new(self.since);
        }
        let mut first = None;
        if share > self.share {
            first = (self.share == 0.0).then_some(share);
            // When it was reported rather than when it was seen; no clock but ours is trusted far.
            let at = (now - Time(ago.as_nanos() as u64)).max(self.at).max(self.since + Time(FIRST_LOOK.0 / 5));
            *self = Progress { since: self.since, share, at: at.min(now), step: share - self.share, by_reading };
        }
        Look::Known { first }
    }

    /// The share of the work that is done by now.
    pub(super) fn now(&self, now: Time) -> f64 {
        let (age, silent) = ((self.at - self.since).seconds(), (now - self.at).seconds());
        if self.share <= 0.0 || age <= 0.0 {
            return 0.0;
        }
        (self.share + (self.share / age * silent).min(self.step)).min(1.0)
    }

    /// Seconds since it was last seen to get on, if that is longer than it should be.
    pub(super) fn stands(&self, now: Time) -> Option<f64> {
        if self.share <= 0.0 {
            return None;
        }
        let silent = (now - self.at).seconds();
        let usual = (self.at - self.since).seconds() * self.step / self.share;
        (silent > 2.0 * (usual + FIRST_LOOK.seconds())).then_some(silent)
    }

    /// Seconds that it still needs if it goes on as before, having done at least the share `least`; as long again
    /// as it stands still if it does.
    pub(super) fn remaining(&self, now: Time, least: f64) -> f64 {
        let (age, done) = ((now - self.since).seconds(), self.now(now).max(least));
        (age * (1.0 - done) / done).max(self.stands(now).unwrap_or(0.0))
    }

    /// True once all has been read, or nobody reads any more, and it goes on as if that had been the smaller part.
    fn has_read_first(&self, is_read: bool, now: Time) -> bool {
        let (reading, silent) = ((self.at - self.since).seconds(), (now - self.at).seconds());
        let over = self.share >= 1.0 || !is_read;
        self.by_reading && self.share > 0.0 && over && silent > AFTER_READING * reading + 2.0 * FIRST_LOOK.seconds()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT_ONCE: Duration = Duration::ZERO;

    fn seconds(seconds: f64) -> Time {
        Time::from_seconds(seconds)
    }

    #[test]
    fn the_end_is_foretold_at_the_same_pace() {
        let mut progress = Progress::new(seconds(10.0));
        assert_eq!(progress.look(seconds(11.0), None, None, true), Look::Silent);
        assert_eq!(progress.remaining(seconds(11.0), 0.02), 49.0);
        let first = Look::Known { first: Some(0.25) };
        assert_eq!(progress.look(seconds(12.0), Some((0.25, AT_ONCE)), None, true), first);
        assert_eq!(progress.remaining(seconds(12.0), 0.02), 6.0);
        // A report that was made a second ago.
        assert_eq!(
            progress.look(seconds(15.0), Some((0.5, Duration::from_secs(1))), None, true),
            Look::Known { first: None }
        );
        assert_eq!((progress.share, progress.now(seconds(14.0)), progress.now(seconds(15.0))), (0.5, 0.5, 0.625));
    }

    #[test]
    fn it_goes_on_for_one_step_and_then_stands_still() {
        let mut progress = Progress::new(Time::ZERO);
        progress.look(seconds(2.0), Some((0.25, AT_ONCE)), None, false);
        assert_eq!((progress.now(seconds(4.0)), progress.now(seconds(40.0))), (0.5, 0.5));
        assert_eq!(progress.stands(seconds(6.0)), None);
        assert_eq!(progress.stands(seconds(6.5)), Some(4.5));
        assert_eq!(progress.remaining(seconds(42.0), 0.02), 42.0);
    }

    #[test]
    fn reading_that_ends_early_is_no_progress() {
        let mut progress = Progress::new(Time::ZERO);
        assert_eq!(progress.look(seconds(4.0), None, Some(1.0), true), Look::Known { first: Some(1.0) });
        assert_eq!(progress.look(seconds(5.0), None, None, true), Look::Silent);
        assert_eq!(progress.look(seconds(5.2), None, None, true), Look::ReadsFirst);
        // The command's own reports replace what it has read.
        assert_eq!(progress.look(seconds(5.2), Some((0.1, AT_ONCE)), None, true), Look::Known { first: Some(0.1) });
        assert_eq!((progress.share, progress.by_reading), (0.1, false));
    }

    #[test]
    fn looks_get_rarer_with_age_and_with_the_crowd() {
        assert_eq!(next_look(Time::ZERO, 1), FIRST_LOOK);
        assert_eq!(next_look(seconds(10.0), 1), seconds(0.5));
        assert_eq!(next_look(seconds(1000.0), 1), LAST_LOOK);
        assert_eq!(next_look(Time::ZERO, 640), Time(11 * FIRST_LOOK.0));
    }
}
