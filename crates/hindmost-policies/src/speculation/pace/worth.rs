//! Whether a backup is worth its resources: how long an attempt still takes, whether it is old enough, and whether the budget
//! of its job pays for a copy.

use hindmost_core::cluster::{Attempt, Cluster, Node, Phase};
use hindmost_core::estimator::Pace;
use hindmost_core::ids::{AttemptId, NodeId, TaskId};
use hindmost_core::policy::Round;
use hindmost_core::time::Time;

use super::PaceRule;
use super::evidence::Outcomes;
use super::lateness::{IDLE, PENDING};

/// While tasks are pending, a backup must be expected to save this share of the time that it uses. If durations were only due to
/// luck and nodes, [`SAVING`] would demand more.
const SHARE_WHILE_PENDING: f64 = 0.5;

/// While tasks are pending, the first copy of a job may start whatever it may cost, if the attempt's measured remaining time is above this
/// many durations of a new copy.
const FIRST_SAVING: f64 = 4.0;

/// An attempt that should have ended by its progress is expected to need this many times as long as it is overdue, but not longer than it
/// has run: the ends that follow from progress are often wrong by a little.
const OVERDUE: f64 = 5.0;

impl PaceRule {
    /// Returns the remaining time of a lagging attempt in seconds, extrapolated from its progress. If that is impossible, it
    /// is infinite for an attempt that is too old for its phase's durations. For one that is only as old as attempts become on
    /// its slow node, it is what the durations of its phase leave on average; for others it is the time that the attempt has
    /// run, or [`OVERDUE`] times as long as its expected end is past.
    pub(super) fn remaining(&self, attempt: &Attempt, round: &Round<'_>) -> f64 {
        let cluster = round.cluster();
        let now = cluster.now();
        let age = attempt.age(now).seconds();
        if let Some(finish) = self.expected_finish(attempt, now) {
            return (finish - now).seconds();
        }
        let Some(phase) = cluster.phase(attempt.id().task) else { return age };
        let outcomes = self.evidence.of(attempt.id().task);
        // On a slow node every attempt takes longer.
        let speed = PaceRule::node_speed(cluster, attempt).min(1.0);
        let rest =
            fresh(cluster, attempt.node(), phase) * self.input_sizes.factor(attempt.id().task, true, cluster) - age;
        match self.lateness(round.estimator, attempt.id().task, cluster) {
            Some(ages) if age * speed > ages.hung(outcomes) => f64::INFINITY,
            Some(ages) if age * speed <= ages.lags => {
                let is_known = !self.predictions.mislead(attempt.id().task);
                let left = round.estimator.remaining(cluster, attempt).filter(|_| is_known);
                left.unwrap_or(rest).max(0.0)
            }
            None if let Some(end) = self.overdue_since(attempt, cluster) => {
                rest.max(age.min(OVERDUE * (now - end).seconds()))
            }
            _ => rest.max(age),
        }
    }

    /// Returns when an attempt should have ended by its measured progress, if that is past.
    fn overdue_since(&self, attempt: &Attempt, cluster: &Cluster) -> Option<Time> {
        attempt.measured_finish().filter(|end| *end <= cluster.now() && !self.predictions.mislead(attempt.id().task))
    }

    /// Returns true if a copy on a node is worth its resources although it takes as long as the attempt with the probability
    /// that copies of its phase have shown. `remaining` is the attempt's remaining time in seconds.
    ///
    /// With the probability w a copy takes as long as the attempt (L seconds on this node), otherwise as long as the median copy
    /// (m seconds). Before the attempt ends with R remaining seconds, it gains (1 − w)·(R − m) + w·(R − L), where a negative
    /// difference counts as 0, and it uses (1 − w)·min(m, R) + w·min(L, R). The gain must exceed a share of the use:
    /// `margin` − 1, or [`SHARE_WHILE_PENDING`].
    pub(super) fn is_worth(
        &self,
        id: AttemptId,
        node: NodeId,
        (remaining, pending): (f64, bool),
        cluster: &Cluster,
    ) -> bool {
        let Some(attempt) = cluster.attempt(id) else { return true };
        let w = self.evidence.task_share(id.task, cluster);
        if w <= 0.0 || !remaining.is_finite() {
            return true;
        }
        let median = self.fresh((id.task, node), false, cluster);
        let age = attempt.age(cluster.now()).seconds();
        let work = (age + remaining) * PaceRule::node_speed(cluster, attempt);
        let long = (work / cluster.node(node).map_or(1.0, Node::speed)).max(median);
        let gain = (1.0 - w) * (remaining - median).max(0.0) + w * (remaining - long).max(0.0);
        let used = (1.0 - w) * median.min(remaining) + w * long.min(remaining);
        gain > used * if pending { SHARE_WHILE_PENDING } else { self.parameters.margin - 1.0 }
    }

    /// Returns true if a backup of an attempt may be tried on a node although only ages are known: one of a phase at a time until
    /// backups win. An attempt on a slow node has a known reason to lag, which its backup on another node does not meet. While no
    /// task is pending, such backups need not wait for one another.
    pub(super) fn may_try(&self, id: AttemptId, node: NodeId, pending: bool, cluster: &Cluster) -> bool {
        let is_slow = |speed: f64| speed < self.parameters.slow;
        let leaves_slow_node =
            cluster.attempt(id).is_some_and(|attempt| is_slow(PaceRule::node_speed(cluster, attempt)))
                && cluster.node(node).is_some_and(|node| !is_slow(node.speed()));
        (leaves_slow_node && !pending) || self.evidence.known_of(id.task, cluster).may_try()
    }

    /// Returns true if a backup of an attempt need not pay from the budget: copies of its phase win, or it leaves a slow node.
    fn is_free(&self, attempt: &Attempt, cluster: &Cluster) -> bool {
        self.evidence.known_of(attempt.id().task, cluster).promises()
            || PaceRule::node_speed(cluster, attempt) < self.parameters.slow
    }

    /// Returns the time that a backup of an attempt of which only the age is known may run while tasks are pending, in
    /// seconds: infinite if it need not pay from the budget. `None` if the budget does not pay for it, or if a copy of the
    /// task has shown that the task takes long. `late` are old attempts without copies.
    pub(super) fn allowed(
        &self,
        id: AttemptId,
        node: NodeId,
        (late, pending): (&[AttemptId], bool),
        cluster: &Cluster,
    ) -> Option<f64> {
        let (attempt, phase) = cluster.attempt(id).zip(cluster.phase(id.task))?;
        let known = self.evidence.known_of(id.task, cluster);
        if self.is_free(attempt, cluster) || (!pending && known.stopped == 0) {
            return Some(f64::INFINITY);
        }
        if pending && known.stopped > 0 {
            return None;
        }
        let (left, _) = self.budget.left(id.task.job, pending, late, cluster);
        let (price, usual) =
            (price(cluster, node, phase), self.ages(id.task, phase, cluster).limit(PENDING, Outcomes::default()));
        if left < price {
            let is_first = self.seems_to_hang(attempt, 0, cluster)
                && self.budget.pays_for_first(id.task.job, price, late, cluster);
            return is_first.then_some(usual);
        }
        Some(if pending { left.min(usual) } else { f64::INFINITY })
    }

    /// Returns the same for an attempt whose remaining time follows from its progress. While tasks are pending, such copies pay
    /// from the budget until copies win: a losing one that shows its pace is stopped early, and another one once it has cost the
    /// price of a long copy.
    pub(super) fn allowed_by_progress(
        &self,
        id: AttemptId,
        node: NodeId,
        (remaining, fresh): (f64, f64),
        (late, pending): (&[AttemptId], bool),
        cluster: &Cluster,
    ) -> Option<f64> {
        let (attempt, phase) = cluster.attempt(id).zip(cluster.phase(id.task))?;
        if self.is_free(attempt, cluster) || !pending {
            return Some(f64::INFINITY);
        }
        if self.evidence.of(id.task).stopped > 0 {
            return None;
        }
        let (left, _) = self.budget.left(id.task.job, true, late, cluster);
        let price = price(cluster, node, phase);
        // A guess is no reason to exceed the budget, unless the attempt seems to hang.
        let pays_for_first = || match attempt.measured_finish() {
            Some(_) if remaining > FIRST_SAVING * fresh => self.budget.is_first(id.task.job),
            None if !self.seems_to_hang(attempt, 0, cluster) => false,
            _ => self.budget.pays_for_first(id.task.job, price, late, cluster),
        };
        (left >= price || pays_for_first()).then_some(price)
    }

    /// Returns true if a lagging attempt is old enough for a backup. If its progress is known, any age is.
    pub(super) fn is_old_enough(&self, id: AttemptId, pending: bool, round: &Round<'_>) -> bool {
        let cluster = round.cluster();
        let Some(attempt) = cluster.attempt(id) else { return false };
        let Some(ages) = self.lateness(round.estimator, id.task, cluster) else { return true };
        let age = attempt.age(cluster.now()).seconds();
        age > ages.limit(if pending { PENDING } else { IDLE }, self.evidence.of(id.task))
    }
}

impl PaceRule {
    /// Returns the expected duration of a new copy of a task on a node, in seconds. `by_age` is true if only ages are known.
    pub(super) fn fresh(&self, (task, node): (TaskId, NodeId), by_age: bool, cluster: &Cluster) -> f64 {
        let median = cluster.phase(task).map_or(0.0, |phase| fresh(cluster, node, phase));
        median * self.input_sizes.factor(task, by_age, cluster)
    }
}

/// Returns the duration of the median copy of a phase on a node, in seconds.
fn fresh(cluster: &Cluster, node: NodeId, phase: &Phase) -> f64 {
    Pace::new(cluster.node(node).map_or(1.0, Node::speed), 0.0).seconds(phase.median())
}

/// Returns the duration of a long copy of a phase on a node, in seconds: the 90th percentile.
pub(super) fn price(cluster: &Cluster, node: NodeId, phase: &Phase) -> f64 {
    Pace::new(cluster.node(node).map_or(1.0, Node::speed), 0.0).seconds(phase.p90().max(phase.median()))
}
