//! Progress of attempts, and the conditions on it that policies want to be told of.
//!
//! An attempt's end is foretold from its progress as if it went on at the same pace. Between two reports
//! it is taken to go on so, for as far as its last report took it and no further: so reports in coarse
//! steps do not look like standstill, and a standstill does.

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

/// How far an attempt has got.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    /// Share of its work that was last reported, or that it had read of its input.
    pub(super) share: f64,
    /// When that was first seen.
    at: Time,
    /// How much of the work the last report added.
    step: f64,
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
                Deadline::Launch(attempt) if self.scarce.contains_key(&attempt) => self.launch(attempt)?,
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
        let has_input = self.plan.phases[attempt.task.phase as usize].inputs.is_some();
        let reported = self.store.reported_progress(attempt);
        let seen = reported.or_else(|| {
            let read = if has_input { self.engine.read_share(attempt) } else { None };
            read.map(|share| (share, std::time::Duration::ZERO))
        });
        let Some((share, ago)) = seen else { return self.test(attempt) };
        if share > live.progress.share {
            if live.progress.share == 0.0 {
                self.learner.first_progress(attempt.task.phase, age.seconds(), share);
            }
            // When it was reported rather than when it was seen; no clock but ours is trusted far.
            let at = (now - Time(ago.as_nanos() as u64)).max(live.progress.at).max(live.since + Time(FIRST_LOOK.0 / 5));
            live.progress = Progress { share, at: at.min(now), step: share - live.progress.share };
        }
        self.seen = true;
        self.test(attempt)
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
        let foretold = |done: f64| live.since + Time::from_seconds(age / done);
        // A silent attempt may be about to tell what others told first.
        let least = (self.learner.first_share(attempt.task.phase).unwrap_or(0.0) / 2.0).max(LEAST_SHARE);
        let telling = if let Knowledge::Progress(share) = self.header.knowledge { share } else { 2.0 };
        let known = done > 0.0 && done >= telling;
        let expected = known.then(|| foretold(done));
        let remaining = expected.map(|finish| (finish - now).seconds());
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
                lags.then(|| Some(foretold(done.max(least))))
            }
        });
        let revealed = self.conditions.get(&attempt).is_some_and(|all| all.contains(&Condition::Revealed));
        if let Some(expected_finish) = met {
            self.conditions.remove(&attempt);
            // Ranks by progress are made once; other rules want to hear when it turns out otherwise.
            if let Some(finish) = expected_finish.filter(|_| !revealed) {
                self.told.insert(attempt, finish);
            }
            self.told_now(attempt, now);
            self.happen(&Event::WatchMet { attempt, expected_finish })?;
        } else if let Some(told) = self.told.get(&attempt).copied() {
            let (before, after) = ((told - now).seconds(), (foretold(done.max(least)) - now).seconds());
            if done > 0.0 && (after - before).abs() > CORRECTION * before.max(after).max(0.1) {
                let expected_finish = Some(now + Time::from_seconds(after));
                self.told.insert(attempt, now + Time::from_seconds(after));
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
