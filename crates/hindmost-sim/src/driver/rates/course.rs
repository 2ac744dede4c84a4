//! One running attempt whose rate may change: its work, its finish, and the notices that are due about it.

use hindmost_core::ids::AttemptId;
use hindmost_core::record::Condition;
use hindmost_core::resources::Resources;
use hindmost_core::time::Time;

use crate::truth::Curve;

/// What is known of an attempt when it begins. Work is in seconds at the full rate of its node.
#[derive(Clone, Copy, Debug)]
pub(in crate::driver) struct Plan {
    /// Work of the attempt, with the time for reading its input.
    pub(in crate::driver) work: f64,
    /// Work after which the remaining time is revealed; infinite if it never is.
    pub(in crate::driver) reveal: f64,
    /// Factor by which revealed remaining times are wrong; 1: they are exact.
    pub(in crate::driver) noise: f64,
    /// Progress as a function of the work done; `None` if policies do not observe progress.
    pub(in crate::driver) curve: Option<Curve>,
}

/// A condition that the policy watches.
#[derive(Clone, Copy, Debug)]
struct Watch {
    condition: Condition,
    /// True if the policy was notified of the attempt's age, and waits for the remaining time.
    by_age: bool,
    /// When the condition comes true at the present rate; `None` if it does not.
    due: Option<Time>,
    /// True until the condition is tested for the first time.
    is_new: bool,
}

/// A running attempt.
pub(in crate::driver) struct Course {
    attempt: AttemptId,
    demand: Resources,
    since: Time,
    plan: Plan,
    /// Work done up to `at`.
    done: f64,
    at: Time,
    /// Present slow-down; NaN before the first one is set.
    slowdown: f64,
    finish: Time,
    /// When the remaining time is or was revealed; [`Time::NEVER`] if it is not revealed at the present rate.
    revealed: Time,
    /// The finish that policies expect from then on.
    expected: Time,
    watches: Vec<Watch>,
    /// True if the changed finish is to be reported.
    reports: bool,
    /// Times of the agenda's entries that apply.
    scheduled_finish: Option<Time>,
    scheduled_notice: Option<Time>,
}

impl Course {
    pub(in crate::driver) fn new(attempt: AttemptId, demand: Resources, since: Time, plan: Plan) -> Course {
        Course {
            attempt,
            demand,
            since,
            plan,
            done: 0.0,
            at: since,
            slowdown: f64::NAN,
            finish: Time::NEVER,
            revealed: Time::NEVER,
            expected: Time::NEVER,
            watches: Vec::new(),
            reports: false,
            scheduled_finish: None,
            scheduled_notice: None,
        }
    }

    pub(super) fn attempt(&self) -> AttemptId {
        self.attempt
    }

    pub(super) fn demand(&self) -> &Resources {
        &self.demand
    }

    /// Returns when the attempt finishes at its present rate.
    pub(super) fn finish(&self) -> Time {
        self.finish
    }

    /// Sets the slow-down from now on. `is_known` says whether the policy knows the attempt's expected finish. Returns
    /// true if the attempt was running at another rate.
    pub(super) fn set_slowdown(&mut self, slowdown: f64, now: Time, is_known: bool) -> bool {
        if slowdown == self.slowdown {
            return false;
        }
        let has_begun = !self.slowdown.is_nan();
        if has_begun {
            self.done = (self.done + (now - self.at).seconds() / self.slowdown).min(self.plan.work);
        }
        (self.at, self.slowdown) = (now, slowdown);
        let after = |work: f64| now + Time::from_seconds(work.max(0.0) * slowdown);
        let Plan { work, reveal, noise, .. } = self.plan;
        self.finish = after(work - self.done);
        if self.revealed > now {
            self.revealed = if reveal.is_finite() { after(reveal - self.done) } else { Time::NEVER };
        }
        self.expected = if noise == 1.0 {
            self.finish
        } else {
            let left = work - self.done.max(reveal.min(work));
            self.revealed.max(now) + Time::from_seconds(left * slowdown * noise)
        };
        self.reports |= has_begun && is_known;
        for at in 0..self.watches.len() {
            self.watches[at].due = self.due(&self.watches[at], now);
            self.watches[at].is_new = false;
        }
        has_begun
    }

    /// Adds a watched condition. Returns false if it is watched already.
    pub(super) fn watch(&mut self, condition: Condition) -> bool {
        let is_known = self.watches.iter().any(|watch| watch.condition == condition && !watch.by_age);
        if !is_known {
            self.watches.push(Watch { condition, by_age: false, due: None, is_new: true });
        }
        !is_known
    }

    /// Tests conditions that were added since the last change.
    pub(super) fn test_new_watches(&mut self, now: Time) {
        for at in 0..self.watches.len() {
            if std::mem::take(&mut self.watches[at].is_new) {
                self.watches[at].due = self.due(&self.watches[at], now);
            }
        }
    }

    /// Returns when a condition comes true at the present rate, not before `now`; `None` if it does not.
    fn due(&self, watch: &Watch, now: Time) -> Option<Time> {
        let seen = self.revealed.max(now);
        let is_long = |limit: f64| (self.expected - seen).seconds() > limit;
        let at_age = |elapsed: f64| (self.since + Time::from_seconds(elapsed) + Time::TICK).max(now);
        let due = match watch.condition {
            Condition::Revealed => Some(seen),
            Condition::RemainingAbove(limit) => Some(seen).filter(|_| is_long(limit)),
            Condition::ElapsedAbove(elapsed) => Some(at_age(elapsed)),
            Condition::RemainingOrElapsedAbove(limit, elapsed) => {
                let by_age = Some(at_age(elapsed)).filter(|at| !watch.by_age && *at < seen);
                // A policy that was notified of the attempt's age is notified again when its remaining time is revealed.
                by_age.or_else(|| Some(seen).filter(|_| watch.by_age || is_long(limit)))
            }
            Condition::Lagging { rate, after } => self.lags_at(rate, Time::from_seconds(after), now),
        };
        due.filter(|at| *at < self.finish)
    }

    /// Returns when the attempt's average progress is below `rate` per second, after it has run for longer than `after`, at
    /// the present rate.
    fn lags_at(&self, rate: f64, after: Time, now: Time) -> Option<Time> {
        let curve = self.plan.curve?;
        let first = (self.since + after + Time::TICK).max(now);
        let mut age = (first - self.since).seconds();
        let done = self.done + (first - self.at).seconds() / self.slowdown;
        let mut share = curve.progress(done, self.plan.work);
        if rate * age > share {
            return Some(first);
        }
        // Progress is linear on each piece of the curve. It falls behind rate·age where the lines cross.
        let mut from = done;
        for (end, per_work) in curve.pieces(self.plan.work) {
            if end <= from {
                continue;
            }
            let (per_second, until) = (per_work / self.slowdown, age + (end - from) * self.slowdown);
            if rate > per_second {
                let crosses = age + (share - rate * age) / (rate - per_second);
                if crosses <= until {
                    return Some(first.max(self.since + Time::from_seconds(crosses) + Time::TICK));
                }
            }
            share += per_work * (end - from);
            (age, from) = (until, end);
        }
        None
    }

    /// Returns what the policy is notified about at a time for which the agenda had an entry; `None` if the entry no
    /// longer applies. Removes the conditions that have come true.
    pub(super) fn notice(&mut self, at: Time) -> Option<super::Notice> {
        if self.scheduled_notice != Some(at) {
            return None;
        }
        self.scheduled_notice = None;
        let is_revealed = self.revealed <= at;
        let (mut condition_met, mut reveals) = (false, false);
        let mut watches = std::mem::take(&mut self.watches);
        watches.retain_mut(|watch| {
            if watch.due.is_none_or(|due| due > at) {
                return true;
            }
            condition_met = true;
            // A condition on the age alone reveals nothing.
            reveals |= match watch.condition {
                Condition::Lagging { .. } => true,
                Condition::ElapsedAbove(_) => false,
                _ => is_revealed,
            };
            let waits = matches!(watch.condition, Condition::RemainingOrElapsedAbove(..)) && !is_revealed;
            watch.by_age |= waits;
            watch.due = if waits { self.due(watch, at) } else { None };
            waits
        });
        self.watches = watches;
        let reports = std::mem::take(&mut self.reports);
        let expected_finish = (reveals || reports).then_some(self.expected);
        (condition_met || reports).then_some(super::Notice { expected_finish, condition_met })
    }

    /// Returns the time of the finish if the agenda has no entry for it.
    pub(super) fn schedule_finish(&mut self) -> Option<Time> {
        if self.scheduled_finish == Some(self.finish) {
            return None;
        }
        self.scheduled_finish = Some(self.finish);
        self.scheduled_finish
    }

    /// Returns the time of the next notice if the agenda has no entry for it.
    pub(super) fn schedule_notice(&mut self) -> Option<Time> {
        let report = self.reports.then_some(self.at);
        let next = self.watches.iter().filter_map(|watch| watch.due).chain(report).min();
        let is_new = next != self.scheduled_notice;
        self.scheduled_notice = next;
        next.filter(|_| is_new)
    }
}
