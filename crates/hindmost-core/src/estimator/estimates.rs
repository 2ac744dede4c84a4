//! What an estimator answers: tests on running attempts, and ranges of remaining times and of durations of new copies.

use std::sync::Arc;

use hindmost_math::outcomes::Outcomes;

use super::knowledge::Knowledge;
use crate::cluster::{Attempt, Cluster, Node, Phase};
use crate::ids::{NodeId, TaskId};
use crate::profiles::Profile;
use crate::record::{Condition, Event};

/// A test on a running attempt that a speculation policy applies. Times are seconds on a node of speed 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Test {
    /// The attempt's remaining time is above this.
    RemainingAbove(f64),
    /// The probability that the remaining time is longer than `factor` × the duration of a new copy is above `chance`.
    FreshLikelyBetter {
        /// Factor of the new copy's duration; > 0.
        factor: f64,
        /// Probability above which the test holds, in [0, 1).
        chance: f64,
    },
}

impl Test {
    /// Describes the test in words. `mean` is the mean duration of the attempt's phase, seconds.
    pub fn in_words(&self, mean: f64) -> String {
        match self {
            Test::RemainingAbove(limit) => format!("a remaining time above {limit:.2} s"),
            Test::FreshLikelyBetter { factor, chance } => format!(
                "a probability above {chance} that its remaining time is more than {factor} times the duration of a \
                 new copy, which takes {mean:.2} s on average"
            ),
        }
    }
}

/// Answers a policy's tests on running attempts from what the records contain.
pub trait Estimator: Send {
    /// Returns the progress model of this estimator.
    fn knowledge(&self) -> Knowledge;

    /// Returns the remaining time of an attempt, seconds; `None` while it is unknown. If only the age is known, this is
    /// the expected remaining time at that age.
    fn remaining(&self, cluster: &Cluster, attempt: &Attempt) -> Option<f64>;

    /// Returns whether a test holds now. False if the estimator does not know.
    fn holds(&self, test: Test, cluster: &Cluster, attempt: &Attempt) -> bool;

    /// Returns the condition that comes true when a test begins to hold for an attempt of this phase and pace; `None`
    /// if the test never holds. The driver watches the condition, so that policies need not repeat the test.
    fn condition(&self, test: Test, phase: &Phase, pace: Pace) -> Option<Condition>;

    /// Returns a time, in seconds from the start of an attempt of this phase and pace, before which a test can't hold.
    /// `None` if no such time is known.
    fn stays_no_until(&self, _test: Test, _phase: &Phase, _pace: Pace) -> Option<f64> {
        None
    }

    /// Returns how long a new copy of a task would take on a node, seconds, as a range with probabilities. `None` while
    /// the phase's durations are only a guess.
    fn new_copy_range(&self, cluster: &Cluster, task: TaskId, node: NodeId) -> Option<Outcomes> {
        new_copy_by_distribution(cluster, task, node)
    }

    /// Returns the mean of [`Estimator::new_copy_range`], without making the range where it is known.
    fn new_copy_mean(&self, cluster: &Cluster, task: TaskId, node: NodeId) -> Option<f64> {
        self.new_copy_range(cluster, task, node).map(|range| range.mean())
    }

    /// Returns the remaining time of an attempt, seconds, as a range with probabilities, given what is known of it.
    /// `None` while it is unknown.
    fn remaining_range(&self, cluster: &Cluster, attempt: &Attempt) -> Option<Outcomes>;

    /// Returns the mean of [`Estimator::remaining_range`], without making the range where this is possible.
    fn remaining_mean(&self, cluster: &Cluster, attempt: &Attempt) -> Option<f64> {
        self.remaining_range(cluster, attempt).map(|range| range.mean())
    }

    /// Returns true if [`Estimator::new_copy_range`] may differ between nodes of equal speed, so that the fastest node
    /// need not be the best one.
    fn distinguishes_nodes(&self) -> bool {
        false
    }

    /// Observes an event after it was applied.
    fn observe(&mut self, _event: &Event) {}

    /// Receives the profile of an attempt that has finished. Only called under [`Knowledge::Profiles`], or if the session
    /// collects profiles.
    fn learn(&mut self, _profile: &Arc<Profile>) {}
}

/// Number of equally likely values that stand for a distribution in a range.
const RANGE_PARTS: u32 = 20;

/// Returns the range of a new copy's duration on a node from the distribution of its phase. `None` while this is only a
/// guess.
pub(crate) fn new_copy_by_distribution(cluster: &Cluster, task: TaskId, node: NodeId) -> Option<Outcomes> {
    let phase = cluster.phase(task).filter(|phase| !phase.is_assumed())?;
    let pace = Pace::new(cluster.node(node)?.speed(), 0.0);
    Some(Outcomes::of(phase.durations(), RANGE_PARTS).scaled(pace.seconds(1.0)))
}

/// Returns the range of an attempt's remaining time from the distribution of its phase, given the attempt's age. `None`
/// while the distribution is only a guess.
pub(crate) fn remaining_by_distribution(cluster: &Cluster, attempt: &Attempt) -> Option<Outcomes> {
    let phase = cluster.phase(attempt.id().task).filter(|phase| !phase.is_assumed())?;
    let pace = Pace::of(cluster, attempt);
    let age = pace.age(elapsed(cluster, attempt));
    Some(Outcomes::of_tail(phase.durations(), age, RANGE_PARTS).scaled(pace.seconds(1.0)))
}

/// The duration of an attempt relative to that of a new copy on a node of speed 1. It depends on the node's speed and
/// on the share of the work that the attempt has to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace(f64);

impl Pace {
    /// Returns the pace of an attempt that starts with the share `from_progress` of its work done, on a node of this
    /// speed.
    pub fn new(speed: f64, from_progress: f64) -> Pace {
        Pace((1.0 - from_progress) / speed)
    }

    /// Returns the pace of a running attempt.
    pub fn of(cluster: &Cluster, attempt: &Attempt) -> Pace {
        let speed = cluster.node(attempt.node()).map_or(1.0, Node::speed);
        Pace::new(speed, attempt.from_progress())
    }

    /// Returns the time, in seconds, after which the attempt has the progress that a new copy on a node of speed 1 has
    /// after `seconds`.
    pub fn seconds(self, seconds: f64) -> f64 {
        seconds * self.0
    }

    /// Converts the time since the attempt's start, seconds, into the age at which a new copy on a node of speed 1 has
    /// the same progress.
    pub fn age(self, elapsed: f64) -> f64 {
        elapsed / self.0
    }
}

pub(super) fn elapsed(cluster: &Cluster, attempt: &Attempt) -> f64 {
    attempt.age(cluster.now()).seconds()
}
