//! Backups of backups in `pace`: a backup can hang or be slow as well as its original. If all copies of a task lag, the task
//! gets another copy.
//!
//! - If only ages are known, the newest copy must be older than an age that is unusual while tasks are pending, times
//!   2^(n−2) where n copies run. So each copy starts later after the one before.
//! - If copies report progress, the remaining time of each must be above the bound for a backup times 2^(n−1).
//!
//! If no resources are free for it, only ages are known and other tasks lag too, the newest copy is stopped once it is late (losses of
//! other tasks do not count), and a fresh
//! one may take its place.
//!
//! At most [`MOST_RUNNING`] copies of a task run at a time, and at most [`MOST_STARTED`] are started.

use hindmost_core::cluster::{Attempt, AttemptState, Cluster, Phase};
use hindmost_core::estimator::Estimator;
use hindmost_core::ids::{AttemptId, TaskId};
use hindmost_core::policy::{Round, View};
use hindmost_core::record::{Condition, Decision, StopReason};
use hindmost_core::time::Time;

use super::PaceRule;
use super::evidence::Outcomes;
use super::lateness::PENDING;
use super::worth::price;

/// The largest number of copies of a task that run at a time.
const MOST_RUNNING: usize = 5;
/// The largest number of copies that a task gets.
const MOST_STARTED: u32 = 8;

/// What becomes of a task with several copies in a round.
enum Further {
    /// It needs no other copy until something is learned about one of its copies.
    NotNeeded,
    /// It needs one, but now it cannot start.
    Waits,
    Started,
}

/// What becomes of a copy that has run for so long that the task itself seems to take long.
enum LateCopy {
    /// There is none, or it may run on.
    None,
    /// It may run on until the budget of its job is spent.
    RunsOn,
    Stopped,
}

impl PaceRule {
    /// Requests a notification when a copy that was started beside others is itself late.
    pub(super) fn watch_further(&self, id: AttemptId, view: &mut View<'_>) {
        if !self.saving {
            return;
        }
        let Some(phase) = view.cluster.phase(id.task).filter(|phase| !phase.is_assumed()) else { return };
        let running = view.cluster.copies(id.task).count();
        if running >= 2 {
            // Until copies win, it is also examined at the age from which on it counts as late.
            let late = self.ages(id.task, phase, view.cluster).limit(PENDING, Outcomes::default());
            let further = self.age_for_further(id.task, phase, running, view.cluster);
            let age = if self.evidence.of(id.task).copies_win() { further } else { further.min(late) };
            view.watch(id, Condition::ElapsedAbove(age.min(self.budget.allowance(id))));
        }
    }

    /// Returns the age above which the newest of `running` copies is late.
    fn age_for_further(&self, task: TaskId, phase: &Phase, running: usize, cluster: &Cluster) -> f64 {
        self.ages(task, phase, cluster).limit(PENDING, self.evidence.of_others(task))
            * doublings(running.saturating_sub(2))
    }

    /// Returns true if only the age of an attempt is known: its phase reports no progress, or the attempt itself has not shown its pace.
    fn counts_by_age(&self, id: AttemptId, estimator: &dyn Estimator, cluster: &Cluster) -> bool {
        let shows_pace = cluster.attempt(id).is_some_and(|attempt| attempt.measured_finish().is_some());
        !shows_pace || self.lateness(estimator, id.task, cluster).is_some()
    }

    /// Counts a backup as lost once it is as old as attempts must be to get a copy, if only its age is known: the
    /// task itself seems to take long, or the copy hangs as well.
    pub(super) fn count_if_late(&mut self, id: AttemptId, view: &mut View<'_>) {
        let cluster = view.cluster;
        let Some((copy, phase)) = cluster.attempt(id).zip(cluster.phase(id.task)) else { return };
        if phase.is_assumed() || !self.counts_by_age(id, view.estimator, cluster) {
            return;
        }
        let ages = self.ages(id.task, phase, cluster);
        if !self.evidence.is_open(id) {
            return;
        }
        let (age, late) = (copy.age(cluster.now()).seconds(), ages.limit(PENDING, Outcomes::default()));
        let running = cluster.copies(id.task).count();
        let next = if age > late {
            self.evidence.late(id, cluster);
            self.age_for_further(id.task, phase, running, view.cluster)
        } else {
            // Longer durations are known now than when the copy started.
            late
        };
        if !self.saving {
            return;
        }
        if next > age {
            view.watch(id, Condition::ElapsedAbove(next));
        }
        for lagging in self.lagging.of_phase(id.task.job, id.task.phase) {
            self.wake_for(lagging, view);
        }
    }

    /// Starts another copy of each of the tasks whose copies are all late. A copy must pay `factor` times. `pending` is true
    /// while tasks are pending.
    pub(super) fn start_further(&mut self, factor: f64, pending: bool, round: &mut Round<'_>) {
        let tasks = std::mem::take(&mut self.several);
        let others_wait = tasks.len() > 1 || !self.lagging.is_empty();
        for task in tasks {
            let late_copy = self.late_copy(task, pending, round);
            if let LateCopy::Stopped = late_copy {
                // Another copy of the task may be late as well.
                self.several.insert(task);
                continue;
            }
            let waits = matches!(self.further(task, (factor, pending, others_wait), round), Further::Waits);
            if waits || matches!(late_copy, LateCopy::RunsOn) {
                self.several.insert(task);
            }
        }
    }

    fn further(
        &mut self,
        task: TaskId,
        (factor, pending, others_wait): (f64, bool, bool),
        round: &mut Round<'_>,
    ) -> Further {
        let cluster = round.cluster();
        let Some((found, phase)) = cluster.task(task).zip(cluster.phase(task)) else { return Further::NotNeeded };
        let copies: Vec<&Attempt> =
            cluster.copies(task).filter(|copy| copy.state() != AttemptState::Stopping).collect();
        let running = copies.len();
        let is_bounded = (2..MOST_RUNNING).contains(&running) && found.launched() < MOST_STARTED;
        if found.is_finished() || !is_bounded || !phase.may_be_copied() {
            return Further::NotNeeded;
        }
        let is_by_age = self.lateness(round.estimator, task, cluster).is_some();
        if is_by_age && !self.evidence.known_of(task, cluster).may_try() {
            return Further::Waits;
        }
        if copies.iter().any(|copy| self.has_overtaken_enough(copy.id(), cluster)) {
            return Further::NotNeeded;
        }
        let (now, bound) = (cluster.now(), factor * self.evidence.of(task).factor() * doublings(running - 1));
        let late_age = self.age_for_further(task, phase, running, cluster);
        let Some(node) = self.node_for(task, cluster) else {
            let newest =
                copies.iter().max_by_key(|copy| (copy.since(), copy.id())).map(|copy| (copy.id(), copy.age(now)));
            if let Some((newest, age)) = newest.filter(|_| is_by_age && others_wait) {
                // Losses are no reason to let a late copy keep the resources of others, only those of its own task are.
                let stopped = self.evidence.of(task).stopped;
                let late = self.ages(task, phase, cluster).limit(PENDING, Outcomes { stopped, ..Outcomes::default() });
                self.free_resources(newest, age.seconds() > late, round);
            }
            return Further::Waits;
        };
        let fresh = self.fresh((task, node), is_by_age, cluster);
        let end = |copy: &Attempt| self.expected_finish(copy, now);
        let ends_soon = |copy: &&Attempt| {
            let remaining = end(copy).map(|end| (end - now).seconds());
            let pays = |left| left > bound * fresh && self.is_worth(copy.id(), node, (left, pending), cluster);
            remaining.is_some_and(|left| !pays(left))
        };
        if copies.iter().any(ends_soon) {
            return Further::NotNeeded;
        }
        if copies.iter().any(|copy| end(copy).is_none() && copy.age(now).seconds() <= late_age) {
            return Further::Waits;
        }
        if is_by_age && !pending && self.is_over_budget(task, price(cluster, node, phase), cluster) {
            return Further::Waits;
        }
        if !round.may_start(task) || !round.start(task, node) {
            return Further::Waits;
        }
        round.because(|| format!("all {running} running copies of the task lag"));
        Further::Started
    }
}

impl PaceRule {
    /// Stops a copy that is late itself, because no resources are free for another one and other tasks lag too: the original runs
    /// on, and one of the tasks gets a fresh copy on what becomes free. So tasks that hang in several attempts do not keep all
    /// slots from one another.
    fn free_resources(&self, newest: AttemptId, is_late: bool, round: &mut Round<'_>) {
        if is_late && !self.evidence.is_open(newest) {
            round.decide(Decision::Stop { attempt: newest, reason: StopReason::Overtaken });
            round.because(|| "it is late itself, and no resources are free for another copy of its task".to_owned());
        }
    }

    /// Returns true if the copies of a job have cost so much that its budget does not pay this price, in seconds, and copies
    /// of the phase do not win. A job whose whole budget is below the price of one copy is too small for a budget.
    fn is_over_budget(&self, task: TaskId, price: f64, cluster: &Cluster) -> bool {
        let (left, budget) = self.budget.left(task.job, false, &[], cluster);
        budget >= price && left < price && !self.evidence.known_of(task, cluster).promises()
    }

    /// Stops the newest copy of a task if only its age is known, copies of the phase do not win, and one of these is true:
    /// - Tasks are pending, and the copy was counted as lost or has used up what it may cost: it takes the place of a task.
    /// - The copy was counted as lost, and all copies of the job have cost too much.
    fn late_copy(&mut self, task: TaskId, pending: bool, round: &mut Round<'_>) -> LateCopy {
        let cluster = round.cluster();
        let now = cluster.now();
        let Some(phase) = cluster.phase(task) else { return LateCopy::None };
        if self.evidence.known_of(task, cluster).promises() {
            return LateCopy::None;
        }
        let copies = cluster.copies(task).filter(|copy| copy.state() != AttemptState::Stopping);
        let mut copies: Vec<(Time, AttemptId)> = copies.map(|copy| (copy.since(), copy.id())).collect();
        copies.sort_unstable();
        let Some((since, newest)) = copies.pop().filter(|_| !copies.is_empty()) else { return LateCopy::None };
        if !self.counts_by_age(newest, round.estimator, cluster) {
            return LateCopy::None;
        }
        let is_late = !self.evidence.is_open(newest);
        let is_spent = pending && (now - since).seconds() > self.budget.allowance(newest);
        if !is_late && !is_spent {
            return LateCopy::None;
        }
        if !pending {
            let (left, budget) = self.budget.left(task.job, false, &[], cluster);
            let median = phase.median();
            if budget < phase.p90().max(median) {
                return LateCopy::None;
            }
            if left > 0.0 {
                // If copies of other tasks run, the budget is spent earlier than at this time. One request at a time is
                // enough.
                if self.budget_check <= now {
                    self.budget_check =
                        now + Time::from_seconds((left / copies.len() as f64).max(0.1 * median)) + Time::TICK;
                    round.decide(Decision::Wake { at: self.budget_check });
                }
                return LateCopy::RunsOn;
            }
        }
        round.decide(Decision::Stop { attempt: newest, reason: StopReason::Overtaken });
        round.because(|| {
            let takes = "takes long as well, so the task itself seems to take long";
            match (is_late, pending) {
                (true, true) => format!("it {takes}, and other tasks are pending"),
                (true, false) => format!("it {takes}, and copies have cost the job enough"),
                (false, _) => "it has cost as much as a copy may while other tasks are pending".to_owned(),
            }
        });
        LateCopy::Stopped
    }
}

/// Returns 2 to the power of a number of copies.
fn doublings(copies: usize) -> f64 {
    (copies as f64).exp2()
}
