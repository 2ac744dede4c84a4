//! Progress of attempts, and the conditions on it that policies want to be told of.
//!
//! An attempt's end is foretold from its progress as if it went on at the same pace. Between two reports
//! it is taken to go on so, for as far as its last report took it and no further: so reports in coarse
//! steps do not look like standstill, and a standstill does. One that stands still for longer than twice what
//! such a step took is expected to need at least as long again as it has stood, wherever it stands.
//!
//! How far a command has read its input tells of its progress only if it works while it reads. One that has read
//! all, or has closed the file, and goes on for longer than a quarter of what that took, read first and works
//! then: from then on its phase's attempts are judged by their age.

use hindmost_core::cluster::AttemptState;
use hindmost_core::estimator::Knowledge;
use hindmost_core::ids::AttemptId;
use hindmost_core::record::{Condition, Event};
use hindmost_core::time::Time;

use super::deadlines::Deadline;
use super::{Driver, Kill, Live, RunError};

/// First look at an attempt's progress after its start, and the least time between two looks.
pub(super) const FIRST_LOOK: Time = Time(50_000_000);
/// The longest time between two looks.
const LAST_LOOK: Time = Time(1_000_000_000);
/// An attempt is looked at again once it is older by this share.
const LOOKS: u64 = 20;
/// Attempts among which looks are shared out: with more, each is looked at less often.
const CROWD: u64 = 64;
/// An end that was told is corrected when its remaining time is off by this share.
const CORRECTION: f64 = 0.25;
/// Age below which no attempt is said to lag, seconds: what it takes to start says nothing of its pace.
const LEAST_AGE: f64 = 0.1;
/// The least share of its work that a silent attempt is taken to have done.
const LEAST_SHARE: f64 = 0.02;

/// Of the time that reading took, how much more a command may take after it has read all.
const AFTER_READING: f64 = 0.25;

/// How far an attempt has got.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    /// Share of its work that was last reported, or that it had read of its input.
    pub(super) share: f64,
    /// When that was first seen.
    at: Time,
    /// How much of the work the last report added.
    step: f64,
    /// True if it is how far the input has been read.
    by_reading: bool,
}

impl Progress {
    /// The share of the work that is done by now.
    pub(super) fn now(&self, since: Time, now: Time) -> f64 {
        let (age, silent) = ((self.at - since).seconds(), (now - self.at).seconds());
        if self.share <= 0.0 || age <= 0.0 {
            return 0.0;
        }
        (self.share + (self.share / age * silent).min(self.step)).min(1.0)
    }

    /// Seconds since it was last seen to get on, if that is longer than it should be.
    pub(super) fn stands(&self, since: Time, now: Time) -> Option<f64> {
        if self.share <= 0.0 {
            return None;
        }
        let silent = (now - self.at).seconds();
        let usual = (self.at - since).seconds() * self.step / self.share;
        (silent > 2.0 * (usual + FIRST_LOOK.seconds())).then_some(silent)
    }

    /// Seconds that it still needs if it goes on as before, having done at least the share `least`; as long again
    /// as it stands still if it does.
    fn remaining(&self, since: Time, now: Time, least: f64) -> f64 {
        let (age, done) = ((now - since).seconds(), self.now(since, now).max(least));
        (age * (1.0 - done) / done).max(self.stands(since, now).unwrap_or(0.0))
    }

    /// True once all has been read, or nobody reads any more, and it goes on as if that had been the smaller part.
    fn has_read_first(&self, is_read: bool, since: Time, now: Time) -> bool {
        let (reading, silent) = ((self.at - since).seconds(), (now - self.at).seconds());
        let over = self.share >= 1.0 || !is_read;
        self.by_reading && self.share > 0.0 && over && silent > AFTER_READING * reading + 2.0 * FIRST_LOOK.seconds()
    }
}

impl Driver<'_> {
    /// Does what is due by now.
    pub(super) fn pass_deadlines(&mut self) -> Result<(), RunError> {
        let now = self.engine.now();
        while let Some(deadline) = self.deadlines.pop(now) {
            match deadline {
                Deadline::Wake => {
                    if !self.finished && self.shutdown.is_none() {
                        self.happen(&Event::Woken)?;
                    }
                }
                Deadline::Launch(attempt) if self.scarce.contains(&attempt) => self.launch(attempt)?,
                Deadline::Launch(_) => {}
                Deadline::Test(attempt) => self.test(attempt)?,
                Deadline::Poll(attempt) => self.poll(attempt)?,
                Deadline::TimeLimit(attempt) => self.kill(attempt, Kill::TimeLimit),
                Deadline::Kill(attempt) => self.kill(attempt, Kill::Chaos),
                Deadline::Lose(loss) => self.lose(loss)?,
                Deadline::Return(loss) => self.bring_back(loss)?,
            }
        }
        Ok(())
    }

    /// Looks at an attempt's progress: what its command reports, else how far it has read its input.
    fn poll(&mut self, attempt: AttemptId) -> Result<(), RunError> {
        let now = self.engine.now();
        let crowd = 1 + self.live.len() as u64 / CROWD;
        let Some(live) = self.live.get_mut(&attempt) else { return Ok(()) };
        let age = now - live.since;
        let next = Time((age.0 / LOOKS).clamp(FIRST_LOOK.0 * crowd, LAST_LOOK.0 * crowd));
        self.deadlines.push(now + next, Deadline::Poll(attempt));
        let phase = attempt.task.phase as usize;
        let reads = self.plan.phases[phase].inputs.is_some() && !self.reads_first.contains(&attempt.task.phase);
        let reported = self.store.reported_progress(attempt);
        let by_reading = reported.is_none();
        let seen = reported.or_else(|| {
            let read = if reads { self.engine.read_share(attempt) } else { None };
            read.map(|share| (share, std::time::Duration::ZERO))
        });
        if reported.is_none() && reads && live.progress.has_read_first(seen.is_some(), live.since, now) {
            self.reading_tells_nothing(attempt.task.phase);
            return self.test(attempt);
        }
        let Some((share, ago)) = seen else {
            // That it still runs says something of its node, once its phase's other attempts would have ended.
            self.seen |= self.learner.median(attempt.task.phase).is_some_and(|median| age.seconds() > median);
            return self.test(attempt);
        };
        // What its command says itself outranks what was read.
        if live.progress.by_reading && !by_reading {
            live.progress = Progress::default();
        }
        if share > live.progress.share {
            if live.progress.share == 0.0 {
                self.learner.first_progress(attempt.task.phase, age.seconds(), share);
            }
            // When it was reported rather than when it was seen; no clock but ours is trusted far.
            let at = (now - Time(ago.as_nanos() as u64)).max(live.progress.at).max(live.since + Time(FIRST_LOOK.0 / 5));
            live.progress = Progress { share, at: at.min(now), step: share - live.progress.share, by_reading };
        }
        self.seen = true;
        self.test(attempt)
    }

    /// The commands of a phase read first and work then.
    fn reading_tells_nothing(&mut self, phase: u32) {
        self.reads_first.insert(phase);
        self.learner.no_progress(phase);
        self.seen = true;
        let of_phase =
            self.live.iter_mut().filter(|(attempt, live)| attempt.task.phase == phase && live.progress.by_reading);
        for (attempt, live) in of_phase {
            live.progress = Progress::default();
            self.told.remove(attempt);
        }
    }

    /// A policy wants to be told of a condition.
    pub(super) fn watch(&mut self, attempt: AttemptId, condition: Condition) {
        self.add_condition(attempt, condition);
        self.test_later(attempt);
    }

    /// Of conditions of one kind the last one counts.
    pub(super) fn add_condition(&mut self, attempt: AttemptId, condition: Condition) {
        let conditions = self.conditions.entry(attempt).or_default();
        let kind = std::mem::discriminant(&condition);
        conditions.retain(|known| std::mem::discriminant(known) != kind);
        conditions.push(condition);
    }

    /// Tests an attempt's conditions at the moments at which they may come true by themselves.
    pub(super) fn test_later(&mut self, attempt: AttemptId) {
        let Some(since) = self.live.get(&attempt).map(|live| live.since) else { return };
        for condition in self.conditions.get(&attempt).into_iter().flatten() {
            let after = match condition {
                Condition::Revealed | Condition::RemainingAbove(_) => 0.0,
                Condition::ElapsedAbove(elapsed) | Condition::RemainingOrElapsedAbove(_, elapsed) => *elapsed,
                Condition::Lagging { after, .. } => *after,
            };
            self.deadlines.push(since + Time::from_seconds(after) + Time::TICK, Deadline::Test(attempt));
        }
    }

    /// Tells the policy if a condition on an attempt has come true, or if what it was told is off.
    fn test(&mut self, attempt: AttemptId) -> Result<(), RunError> {
        let Some(live) = self.live.get(&attempt).filter(|live| live.kill.is_none()) else { return Ok(()) };
        let stopping = self.cluster.attempt(attempt).is_none_or(|found| found.state() == AttemptState::Stopping);
        if stopping || self.finished || self.shutdown.is_some() {
            return Ok(());
        }
        let now = self.engine.now();
        // No rule can keep the driver busy with asking again at once.
        if let Some(next) = live.told_at.map(|told| told + FIRST_LOOK).filter(|next| *next > now) {
            self.deadlines.push(next, Deadline::Test(attempt));
            return Ok(());
        }
        let done = live.progress.now(live.since, now);
        let age = (now - live.since).seconds();
        // A silent attempt may be about to tell what others told first.
        let least = (self.learner.first_share(attempt.task.phase).unwrap_or(0.0) / 2.0).max(LEAST_SHARE);
        let telling = if let Knowledge::Progress(share) = self.header.knowledge { share } else { 2.0 };
        let known = done > 0.0 && done >= telling;
        let left = live.progress.remaining(live.since, now, least);
        let foretold = now + Time::from_seconds(left);
        let expected = known.then_some(foretold);
        let remaining = known.then_some(left);
        let met = self.conditions.get(&attempt).into_iter().flatten().find_map(|condition| match *condition {
            Condition::Revealed => known.then_some(expected),
            Condition::RemainingAbove(limit) => (remaining? > limit).then_some(expected),
            Condition::ElapsedAbove(limit) => (age > limit).then_some(expected),
            Condition::RemainingOrElapsedAbove(limit, elapsed) => match remaining {
                Some(remaining) => (remaining > limit).then_some(expected),
                None => (age > elapsed).then_some(None),
            },
            Condition::Lagging { rate, after } => {
                let lags = age > after.max(LEAST_AGE) && done < rate * age && self.should_have_told(attempt, live, age);
                lags.then_some(Some(foretold))
            }
        });
        if let Some(expected_finish) = met {
            self.conditions.remove(&attempt);
            // Whoever was told wants to hear when it turns out otherwise.
            if let Some(finish) = expected_finish {
                self.told.insert(attempt, finish);
            }
            self.told_now(attempt, now);
            self.happen(&Event::WatchMet { attempt, expected_finish })?;
        } else if let Some(told) = self.told.get(&attempt).copied() {
            let before = (told - now).seconds();
            if done > 0.0 && (left - before).abs() > CORRECTION * before.max(left).max(0.1) {
                let expected_finish = Some(foretold);
                self.told.insert(attempt, foretold);
                // Whoever is told asks again for what it still wants to know.
                self.conditions.remove(&attempt);
                self.told_now(attempt, now);
                self.happen(&Event::WatchMet { attempt, expected_finish })?;
            }
        }
        Ok(())
    }

    fn told_now(&mut self, attempt: AttemptId, now: Time) {
        if let Some(live) = self.live.get_mut(&attempt) {
            live.told_at = Some(now);
        }
    }

    /// False for an attempt that is silent, but no longer than its phase's attempts are at first.
    fn should_have_told(&self, attempt: AttemptId, live: &Live, age: f64) -> bool {
        if live.progress.share > 0.0 {
            return true;
        }
        let first = self.learner.first_report(attempt.task.phase);
        first.is_some_and(|first| age > 2.0 * first + FIRST_LOOK.seconds())
    }
}
