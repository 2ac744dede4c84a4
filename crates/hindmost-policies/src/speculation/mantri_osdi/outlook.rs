//! What is known of a task when it is examined, and what can be done for it.

use std::cell::Cell;

use hindmost_core::cluster::{Attempt, AttemptState, Cluster, Phase};
use hindmost_core::estimator::{Knowledge, Test};
use hindmost_core::ids::TaskId;
use hindmost_core::policy::Round;
use hindmost_core::record::Condition;
use hindmost_core::time::Time;

use super::super::mantri::MantriParameters;
use super::{Helped, report};

/// The tests for a task with c copies, if the next copy starts on a node of a given speed.
pub(super) struct Tests {
    pub(super) restart: Test,
    pub(super) duplicate: Test,
    pub(super) spare: Test,
}

impl Tests {
    /// Returns the tests for a task of a phase with this number of copies.
    pub(super) fn of(parameters: &MantriParameters, phase: &Phase, copies: usize, speed: f64) -> Tests {
        let (new, report) = (phase.mean() / speed, report(parameters, phase));
        let running = copies as f64;
        Tests {
            restart: Test::RemainingAbove(new + report),
            duplicate: Test::FreshLikelyBetter { factor: (running + 1.0) / running / speed, chance: parameters.delta },
            spare: Test::RemainingAbove(new + parameters.spare * report),
        }
    }

    /// Returns the tests that can still lead to something for a task that was helped before.
    pub(super) fn open(self, parameters: &MantriParameters, helped: Helped) -> impl Iterator<Item = Test> + use<> {
        let Tests { restart, duplicate, spare } = self;
        let may_duplicate = helped.has_duplicates_left(parameters);
        let restart = Some(restart).filter(|_| helped.has_restarts_left(parameters));
        restart.into_iter().chain([duplicate, spare].into_iter().filter(move |_| may_duplicate))
    }
}

/// What can be done for a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Restart,
    Duplicate,
    Spare,
}

/// What is known of a task and its copies now.
pub(super) struct Outlook<'a> {
    parameters: &'a MantriParameters,
    task: TaskId,
    phase: &'a Phase,
    helped: Helped,
    /// Number of copies that are not being stopped.
    pub(super) copies: usize,
    /// The first known end of these copies.
    pub(super) end: Option<Time>,
    /// Whether the ends of all copies are known.
    pub(super) knows_all_ends: bool,
    /// Whether the ends of the phase's copies become known while they run. The tests then compare the remaining time
    /// with a threshold, and a remaining time that is known gets shorter.
    pub(super) sees_ends: bool,
    /// When the task will have reported on its newest copy; `None` if it has.
    pub(super) reports_at: Option<Time>,
    /// The remaining time of the copy that ends first, seconds, if the ends of all copies are known.
    remaining: Option<f64>,
    /// The quantile of the phase's durations that the test for duplicates needs, once it was computed.
    quantile: Cell<Option<f64>>,
}

impl<'a> Outlook<'a> {
    /// Returns the outlook of a task; `None` if its job has left the cluster.
    pub(super) fn of(
        parameters: &'a MantriParameters,
        task: TaskId,
        helped: Helped,
        round: &'a Round<'_>,
    ) -> Option<Outlook<'a>> {
        let cluster = round.cluster();
        let (phase, now) = (cluster.phase(task)?, cluster.now());
        let report = Time::from_seconds(report(parameters, phase));
        let (mut copies, mut known, mut end, mut reports_at) = (0, 0, None::<Time>, None);
        for copy in running(task, cluster) {
            copies += 1;
            if let Some(finish) = copy.expected_finish() {
                known += 1;
                end = Some(end.map_or(finish, |end| end.min(finish)));
            }
            if copy.id().copy > 0 {
                reports_at = reports_at.max(Some(copy.since() + report).filter(|at| now < *at));
            }
        }
        let knows_all_ends = known == copies;
        Some(Outlook {
            parameters,
            task,
            phase,
            helped,
            copies,
            end,
            knows_all_ends,
            sees_ends: sees_ends(phase, round),
            reports_at,
            remaining: end.filter(|_| knows_all_ends).map(|end| (end - now).seconds()),
            quantile: Cell::new(None),
        })
    }

    /// Returns the phase of the task.
    pub(super) fn phase(&self) -> &'a Phase {
        self.phase
    }

    /// Returns the remaining time above which a test holds, seconds, if ends become known.
    fn threshold(&self, test: Test) -> f64 {
        match test {
            Test::RemainingAbove(threshold) => threshold,
            Test::FreshLikelyBetter { factor, chance } => {
                let quantile = self.quantile.get().unwrap_or_else(|| self.phase.durations().quantile(chance));
                self.quantile.set(Some(quantile));
                factor * quantile
            }
        }
    }

    fn holds(&self, test: Test, round: &Round<'_>) -> bool {
        if self.sees_ends {
            return self.remaining.is_some_and(|remaining| remaining > self.threshold(test));
        }
        let cluster = round.cluster();
        self.copies > 0 && running(self.task, cluster).all(|copy| round.estimator.holds(test, cluster, copy))
    }

    /// Returns true if some test still holds on a node of this speed that can lead to something.
    pub(super) fn has_open_test(&self, speed: f64, round: &Round<'_>) -> bool {
        let tests = Tests::of(self.parameters, self.phase, self.copies, speed);
        tests.open(self.parameters, self.helped).any(|test| self.holds(test, round))
    }

    fn may_duplicate(&self) -> bool {
        let most = self.parameters.copies as usize;
        (1..=most).contains(&self.copies) && self.helped.has_duplicates_left(self.parameters)
    }

    fn may_restart(&self) -> bool {
        self.copies == 1 && self.helped.has_restarts_left(self.parameters)
    }

    /// Returns what may be done for the task if the next copy starts on a node of this speed, in the pass before
    /// originals (`contended`) or in the one after them. What may be done on a node may be done on a faster one.
    pub(super) fn action(&self, speed: f64, contended: bool, round: &Round<'_>) -> Option<Action> {
        if self.reports_at.is_some() {
            return None;
        }
        let tests = Tests::of(self.parameters, self.phase, self.copies, speed);
        if !contended {
            return (self.may_duplicate() && self.holds(tests.spare, round)).then_some(Action::Spare);
        }
        if self.may_restart() && self.holds(tests.restart, round) {
            return Some(Action::Restart);
        }
        (self.may_duplicate() && self.holds(tests.duplicate, round)).then_some(Action::Duplicate)
    }

    /// Returns a speed such that [`Outlook::action`] returns no action for lower ones; 0 if no such speed is known.
    pub(super) fn least_speed(&self, contended: bool) -> f64 {
        let Some(remaining) = self.remaining.filter(|_| self.sees_ends) else { return 0.0 };
        // The test for duplicates compares the remaining time with a multiple of one over the speed, the others add a
        // share of the time between reports.
        let Tests { duplicate, .. } = Tests::of(self.parameters, self.phase, self.copies, 1.0);
        let (mean, report) = (self.phase.mean(), report(self.parameters, self.phase));
        let spare = mean / (remaining - self.parameters.spare * report).max(0.0);
        let least = match (contended, self.may_restart()) {
            (false, _) => spare,
            (true, false) => self.threshold(duplicate) / remaining,
            (true, true) => (mean / (remaining - report).max(0.0)).min(self.threshold(duplicate) / remaining),
        };
        // A little slower, because of rounding.
        if least.is_nan() { 0.0 } else { least * (1.0 - 1e-9) }
    }

    /// Returns a time until which [`Outlook::action`] will return an action for this speed, if the task does not change;
    /// `None` if no such time is known.
    pub(super) fn acts_until(&self, speed: f64, contended: bool) -> Option<Time> {
        let end = self.end.filter(|_| self.sees_ends && self.knows_all_ends && self.reports_at.is_none())?;
        let tests = Tests::of(self.parameters, self.phase, self.copies, speed);
        let restart = Some(tests.restart).filter(|_| contended && self.may_restart());
        let duplicate = if contended { tests.duplicate } else { tests.spare };
        let duplicate = Some(duplicate).filter(|_| self.may_duplicate());
        let thresholds = [restart, duplicate].into_iter().flatten().map(|test| self.threshold(test));
        let above = Time::from_seconds(thresholds.reduce(f64::min)?);
        // A little earlier, because thresholds are rounded.
        Some(end - (above + Time(1000 + (above.0 >> 40))))
    }
}

/// Returns the copies of a task that are not being stopped.
pub(super) fn running(task: TaskId, cluster: &Cluster) -> impl Iterator<Item = &Attempt> {
    cluster.copies(task).filter(|copy| copy.state() != AttemptState::Stopping)
}

/// Returns true if the ends of a phase's attempts become known while they run.
pub(super) fn sees_ends(phase: &Phase, round: &Round<'_>) -> bool {
    phase.gives_progress() && !matches!(round.estimator.knowledge(), Knowledge::Age | Knowledge::History)
}

/// Returns the remaining time of a task in seconds; 0 if it is unknown.
pub(super) fn remaining(task: TaskId, round: &Round<'_>) -> f64 {
    let cluster = round.cluster();
    let known = running(task, cluster).filter_map(|copy| round.estimator.remaining(cluster, copy));
    known.reduce(f64::min).unwrap_or(0.0)
}

/// Returns the condition that comes true first. Both must be of the same kind.
pub(super) fn weaker(one: Condition, other: Condition) -> Condition {
    match (one, other) {
        (Condition::RemainingAbove(first), Condition::RemainingAbove(second)) => {
            Condition::RemainingAbove(first.min(second))
        }
        (Condition::ElapsedAbove(first), Condition::ElapsedAbove(second)) => Condition::ElapsedAbove(first.min(second)),
        (one, _) => one,
    }
}
