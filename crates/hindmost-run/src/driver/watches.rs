//! The conditions that the policy wants to be notified about, and the last notification of each attempt.
//!
//! Invariant: the watched conditions follow from the journal's records alone ([`Watches::event`], [`Watches::decision`]),
//! so a resumed run watches the same conditions as before.
//!
//! Several passes may watch one attempt, so its conditions do not replace each other. Each condition is reported once; the
//! others stay. When the durations of a phase are learned again, passes watch its attempts with new limits. Only then does
//! a new condition replace an older one of its kind.

use hindmost_core::ids::AttemptId;
use hindmost_core::record::{Condition, Decision, Event};
use hindmost_core::time::Time;
use rustc_hash::FxHashMap;

use super::progress::{FIRST_POLL, Progress};

/// The driver corrects a reported expected finish when the remaining time differs by this share.
const CORRECTION: f64 = 0.25;
/// Age in seconds below which no attempt lags, because the time that a command takes to start says nothing
/// about its pace.
const LEAST_AGE: f64 = 0.1;
/// The least share of its work that an attempt without reports is assumed to have done.
const LEAST_SHARE: f64 = 0.02;

/// The first progress reports of a phase's attempts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FirstReports {
    /// Age in seconds above which an attempt has reported nothing for unusually long; `None` without reports.
    pub(super) late: Option<f64>,
    /// Median share of the work in the first report; `None` without reports.
    pub(super) share: Option<f64>,
}

/// Whether the policy is to be notified about an attempt.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Notice {
    /// The policy is not to be notified.
    None,
    /// The policy is not to be notified before this time, even if conditions are true. Otherwise a policy that renews its
    /// conditions could keep the driver busy.
    Later(Time),
    /// The policy is to be notified now that these conditions have come true. If there are none, the expected finish has
    /// changed, or the attempt has stalled or goes on.
    Now { conditions: Vec<Condition>, expected_finish: Option<Time>, guessed: bool, stalled: bool },
}

/// The watched conditions of one attempt.
#[derive(Default)]
struct Watched {
    /// The conditions that have not come true, and whether the durations were learned again after they were set.
    conditions: Vec<(Condition, bool)>,
    /// The expected finish of the last notification.
    reported_finish: Option<Time>,
    /// True if `reported_finish` is a guess, because the attempt had reported too little.
    is_guessed: bool,
    /// True if the attempt had stalled at that notification.
    is_stalled: bool,
    /// The time of the last notification.
    notified: Option<Time>,
}

/// The watched conditions of all attempts.
pub(super) struct Watches {
    of: FxHashMap<AttemptId, Watched>,
    /// Share of the work from which on progress reveals the remaining time; above 1 if policies may not know it.
    reveal_share: f64,
}

impl Watches {
    pub(super) fn new(reveal_share: f64) -> Watches {
        Watches { of: FxHashMap::default(), reveal_share }
    }

    /// Updates the conditions after an event, either a new one or one from the journal.
    pub(super) fn event(&mut self, event: &Event) {
        match event {
            Event::WatchMet { attempt, expected_finish, conditions, guessed, stalled } => {
                let watched = self.of.entry(*attempt).or_default();
                match conditions {
                    Some(met) => watched.conditions.retain(|(known, _)| !met.contains(known)),
                    // Journals of earlier versions do not name the conditions: a notification removed all of them.
                    None => watched.conditions.clear(),
                }
                if expected_finish.is_some() {
                    (watched.reported_finish, watched.is_guessed) = (*expected_finish, *guessed);
                    watched.is_stalled = *stalled;
                }
            }
            Event::DurationsLearned { phase, .. } => {
                let of_phase = self.of.iter_mut().filter(|(attempt, _)| attempt.task.phase == *phase);
                let conditions = of_phase.flat_map(|(_, watched)| &mut watched.conditions);
                conditions.for_each(|(_, is_outdated)| *is_outdated = true);
            }
            Event::AttemptFinished { attempt }
            | Event::AttemptFailed { attempt, .. }
            | Event::AttemptStopped { attempt } => self.forget(*attempt),
            _ => {}
        }
    }

    /// Updates the conditions after a decision, either a new one or one from the journal.
    pub(super) fn decision(&mut self, decision: &Decision) {
        if let Decision::Watch { attempt, condition } = decision {
            let kind = std::mem::discriminant(condition);
            let conditions = &mut self.of.entry(*attempt).or_default().conditions;
            conditions.retain(|(known, is_outdated)| {
                known != condition && !(*is_outdated && std::mem::discriminant(known) == kind)
            });
            conditions.push((*condition, false));
        }
    }

    /// Removes an attempt that has ended.
    pub(super) fn forget(&mut self, attempt: AttemptId) {
        self.of.remove(&attempt);
    }

    /// Removes all attempts that do not run.
    pub(super) fn retain(&mut self, is_running: impl Fn(AttemptId) -> bool) {
        self.of.retain(|attempt, _| is_running(*attempt));
    }

    /// Notes that the policy was notified about an attempt at this time.
    pub(super) fn notified(&mut self, attempt: AttemptId, at: Time) {
        self.of.entry(attempt).or_default().notified = Some(at);
    }

    /// Discards the reported expected finish of an attempt, because it was derived from reading that was not progress. The
    /// driver does not correct this finish any more.
    pub(super) fn retract(&mut self, attempt: AttemptId) {
        if let Some(watched) = self.of.get_mut(&attempt) {
            watched.reported_finish = None;
        }
    }

    /// Returns the ages in seconds at which conditions on an attempt may come true without a new report.
    pub(super) fn ages(&self, attempt: AttemptId) -> impl Iterator<Item = f64> {
        self.of.get(&attempt).into_iter().flat_map(|watched| &watched.conditions).map(
            |(condition, _)| match condition {
                Condition::Revealed | Condition::RemainingAbove(_) => 0.0,
                Condition::ElapsedAbove(elapsed) | Condition::RemainingOrElapsedAbove(_, elapsed) => *elapsed,
                Condition::Lagging { after, .. } => *after,
            },
        )
    }

    /// Returns whether the policy is to be notified about an attempt. `first` are the first reports of its phase's attempts.
    pub(super) fn test(&self, attempt: AttemptId, progress: &Progress, now: Time, first: FirstReports) -> Notice {
        let Some(watched) = self.of.get(&attempt) else { return Notice::None };
        if let Some(next) = watched.notified.map(|at| at + FIRST_POLL).filter(|next| *next > now) {
            return Notice::Later(next);
        }
        let done = progress.now(now);
        let age = (now - progress.since).seconds();
        // An attempt without reports is assumed to have done half of the share that others reported first.
        let left = progress.remaining(now, (first.share.unwrap_or(0.0) / 2.0).max(LEAST_SHARE));
        let finish = Some(now + Time::from_seconds(left));
        let is_known = done > 0.0 && done >= self.reveal_share;
        let stalled = progress.stalled_for(now).is_some();
        // An attempt without reports lags only once its phase's attempts have usually made their first report.
        let is_overdue = || first.late.is_some_and(|late| age > late + FIRST_POLL.seconds());
        let is_met = |condition: &Condition| match *condition {
            Condition::Revealed => is_known,
            Condition::RemainingAbove(limit) => is_known && left > limit,
            Condition::ElapsedAbove(limit) => age > limit,
            Condition::RemainingOrElapsedAbove(limit, elapsed) => {
                if is_known {
                    left > limit
                } else {
                    age > elapsed
                }
            }
            Condition::Lagging { rate, after } => {
                age > after.max(LEAST_AGE) && done < rate * age && (progress.share > 0.0 || is_overdue())
            }
        };
        let conditions = watched.conditions.iter().map(|(condition, _)| *condition);
        let conditions: Vec<Condition> = conditions.filter(is_met).collect();
        if !conditions.is_empty() {
            let lags = conditions.iter().any(|condition| matches!(condition, Condition::Lagging { .. }));
            let expected_finish = finish.filter(|_| is_known || lags);
            let guessed = expected_finish.is_some() && !progress.shows_pace();
            return Notice::Now { conditions, expected_finish, guessed, stalled: stalled && expected_finish.is_some() };
        }
        // A finish that was reported before is corrected when it is wrong, when it is no longer a guess, and when the attempt
        // stalls or goes on.
        let before = watched.reported_finish.map(|finish| (finish - now).seconds());
        let is_off = before.is_some_and(|before| (left - before).abs() > CORRECTION * before.max(left).max(0.1));
        let has_turned = before.is_some() && stalled != watched.is_stalled;
        let is_measured = progress.shows_pace();
        if done > 0.0 && (is_off || has_turned || (watched.is_guessed && is_measured)) {
            Notice::Now { conditions, expected_finish: finish, guessed: !is_measured, stalled }
        } else {
            Notice::None
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use hindmost_core::ids::{JobId, TaskId};
    use hindmost_math::distribution::Distribution;

    use super::*;

    const ATTEMPT: AttemptId = AttemptId { task: TaskId { job: JobId(0), phase: 0, index: 4 }, copy: 0 };

    fn watch(watches: &mut Watches, condition: Condition) {
        watches.decision(&Decision::Watch { attempt: ATTEMPT, condition });
    }

    fn met(conditions: Option<&[Condition]>) -> Event {
        let conditions = conditions.map(<[Condition]>::to_vec);
        Event::WatchMet { attempt: ATTEMPT, expected_finish: None, conditions, guessed: false, stalled: false }
    }

    /// Tests an attempt of this age that has just reported this share of its work, and most of it before.
    fn test(watches: &Watches, age: f64, share: f64) -> Notice {
        let now = Time::from_seconds(100.0 + age);
        let mut progress = Progress::new(Time::from_seconds(100.0));
        for part in [0.8, 1.0] {
            progress.poll(now, Some((part * share, Duration::ZERO)), None, false, false);
        }
        watches.test(ATTEMPT, &progress, now, FirstReports::default())
    }

    fn conditions(watches: &Watches) -> Vec<Condition> {
        watches.of[&ATTEMPT].conditions.iter().map(|(condition, _)| *condition).collect()
    }

    #[test]
    fn each_condition_is_reported_once_and_the_others_stay() {
        let [soon, late, slow] =
            [Condition::ElapsedAbove(2.0), Condition::ElapsedAbove(5.0), Condition::RemainingAbove(8.0)];
        let mut watches = Watches::new(0.1);
        for condition in [soon, late, slow, soon] {
            watch(&mut watches, condition);
        }
        assert_eq!(conditions(&watches), [late, slow, soon], "the same condition twice counts once");
        let Notice::Now { conditions: found, expected_finish: None, .. } = test(&watches, 3.0, 0.0) else { panic!() };
        assert_eq!(found, [soon]);
        watches.event(&met(Some(&found)));
        assert_eq!(test(&watches, 4.0, 0.6), Notice::None);
        // Both come true: 40% of the work took 6 s, so 9 s remain.
        let Notice::Now { conditions: found, expected_finish, .. } = test(&watches, 6.0, 0.4) else { panic!() };
        assert_eq!(found, [late, slow]);
        assert_eq!(expected_finish, Some(Time::from_seconds(115.0)));
        watches.event(&met(Some(&found)));
        assert_eq!(conditions(&watches), []);
    }

    #[test]
    fn a_corrected_finish_leaves_conditions_alone() {
        let mut watches = Watches::new(0.1);
        watch(&mut watches, Condition::Revealed);
        watch(&mut watches, Condition::ElapsedAbove(50.0));
        let Notice::Now { conditions: found, expected_finish, guessed, .. } = test(&watches, 2.0, 0.2) else {
            panic!()
        };
        let reported =
            Event::WatchMet { attempt: ATTEMPT, expected_finish, conditions: Some(found), guessed, stalled: false };
        watches.event(&reported);
        assert_eq!(test(&watches, 4.0, 0.4), Notice::None);
        let expected_finish = Some(Time::from_seconds(116.0));
        let corrected = Notice::Now { conditions: Vec::new(), expected_finish, guessed: false, stalled: false };
        assert_eq!(test(&watches, 4.0, 0.25), corrected);
        watches.event(&Event::WatchMet {
            attempt: ATTEMPT,
            expected_finish,
            conditions: Some(Vec::new()),
            guessed: false,
            stalled: false,
        });
        assert_eq!(test(&watches, 4.0, 0.25), Notice::None);
        assert_eq!(conditions(&watches), [Condition::ElapsedAbove(50.0)]);
        watches.retract(ATTEMPT);
        assert_eq!(test(&watches, 4.0, 0.4), Notice::None);
    }

    #[test]
    fn limits_of_newly_learned_durations_replace_older_ones() {
        let mut watches = Watches::new(0.1);
        let [one, other] = [1.0, 3.0].map(|after| Condition::Lagging { rate: 0.1, after });
        watch(&mut watches, one);
        watch(&mut watches, Condition::Revealed);
        let durations = Distribution::pareto_with_mean(2.0, 1.0).unwrap();
        let learned = |phase| Event::DurationsLearned {
            job: JobId(0),
            phase,
            durations: durations.clone(),
            median: 1.0,
            p90: 2.0,
            progress: true,
            samples: 3,
        };
        watches.event(&learned(1));
        watch(&mut watches, other);
        assert_eq!(conditions(&watches), [one, Condition::Revealed, other]);
        watches.event(&learned(0));
        let [third, fourth] = [2.0, 4.0].map(|after| Condition::Lagging { rate: 0.2, after });
        watch(&mut watches, third);
        watch(&mut watches, fourth);
        assert_eq!(conditions(&watches), [Condition::Revealed, third, fourth]);
    }

    #[test]
    fn journals_of_earlier_versions_drop_all_conditions() {
        let mut watches = Watches::new(0.1);
        watch(&mut watches, Condition::Revealed);
        watch(&mut watches, Condition::ElapsedAbove(5.0));
        watches.event(&met(None));
        assert_eq!(conditions(&watches), []);
        watches.retain(|_| false);
        assert!(watches.of.is_empty());
    }

    #[test]
    fn progress_that_policies_may_not_know_is_hidden() {
        let mut watches = Watches::new(2.0);
        watch(&mut watches, Condition::Revealed);
        watch(&mut watches, Condition::RemainingAbove(1.0));
        watch(&mut watches, Condition::RemainingOrElapsedAbove(1.0, 5.0));
        assert_eq!(test(&watches, 4.0, 0.4), Notice::None);
        let notice = Notice::Now {
            conditions: vec![Condition::RemainingOrElapsedAbove(1.0, 5.0)],
            expected_finish: None,
            guessed: false,
            stalled: false,
        };
        assert_eq!(test(&watches, 6.0, 0.4), notice);
        assert_eq!(watches.ages(ATTEMPT).collect::<Vec<_>>(), [0.0, 0.0, 5.0]);
    }

    #[test]
    fn an_attempt_that_stalls_or_goes_on_is_reported() {
        let mut watches = Watches::new(0.1);
        watch(&mut watches, Condition::Revealed);
        let mut progress = Progress::new(Time::ZERO);
        let mut at = |seconds: f64, share: f64| {
            let now = Time::from_seconds(seconds);
            progress.poll(now, Some((share, Duration::ZERO)), None, false, false);
            let Notice::Now { conditions, expected_finish, guessed, stalled } =
                watches.test(ATTEMPT, &progress, now, FirstReports::default())
            else {
                return None;
            };
            watches.event(&Event::WatchMet {
                attempt: ATTEMPT,
                expected_finish,
                conditions: Some(conditions),
                guessed,
                stalled,
            });
            Some((expected_finish.unwrap().seconds(), stalled))
        };
        assert_eq!(at(90.0, 0.45), Some((200.0, false)));
        assert_eq!(at(100.0, 0.5), None);
        // The last step of 5% took 10 s, so from 20.1 s on the attempt has stalled, although its expected end has hardly changed.
        assert_eq!(at(120.0, 0.5), None);
        let (finish, stalled) = at(121.0, 0.5).unwrap();
        assert!(stalled && (finish - 220.0).abs() < 0.1, "{finish}");
        assert_eq!(at(122.0, 0.5), None);
        assert_eq!(at(123.0, 0.56).map(|(_, stalled)| stalled), Some(false));
    }

    #[test]
    fn a_policy_is_notified_no_more_often_than_attempts_are_polled() {
        let mut watches = Watches::new(0.1);
        watch(&mut watches, Condition::ElapsedAbove(1.0));
        let at = Time::from_seconds(102.0) - Time(1);
        watches.notified(ATTEMPT, at);
        assert_eq!(test(&watches, 2.0, 0.0), Notice::Later(at + FIRST_POLL));
    }

    #[test]
    fn an_attempt_without_reports_lags_when_reports_are_overdue() {
        let mut watches = Watches::new(0.1);
        let lags = Condition::Lagging { rate: 0.1, after: 0.5 };
        watch(&mut watches, lags);
        let mut progress = Progress::new(Time::ZERO);
        let at = |watches: &Watches, progress: &Progress, seconds: f64, late: Option<f64>| {
            let first = FirstReports { late, share: Some(0.1) };
            watches.test(ATTEMPT, progress, Time::from_seconds(seconds), first)
        };
        assert_eq!(at(&watches, &progress, 9.0, None), Notice::None);
        assert_eq!(at(&watches, &progress, 1.9, Some(2.0)), Notice::None);
        // The attempt is assumed to have done 5% in 3 s, half of what others report first, so 57 s remain.
        let expected_finish = Some(Time::from_seconds(60.0));
        let guess = Notice::Now { conditions: vec![lags], expected_finish, guessed: true, stalled: false };
        assert_eq!(at(&watches, &progress, 3.0, Some(2.0)), guess);
        // A report that shows its pace is passed on although it agrees with the guess.
        let conditions = Some(vec![lags]);
        watches.event(&Event::WatchMet {
            attempt: ATTEMPT,
            expected_finish,
            conditions,
            guessed: true,
            stalled: false,
        });
        assert_eq!(at(&watches, &progress, 3.5, Some(2.0)), Notice::None);
        progress.poll(Time::from_seconds(3.0), Some((0.05, Duration::ZERO)), None, false, false);
        let measured = Notice::Now { conditions: Vec::new(), expected_finish, guessed: false, stalled: false };
        assert_eq!(at(&watches, &progress, 3.0, Some(2.0)), measured);
    }
}
