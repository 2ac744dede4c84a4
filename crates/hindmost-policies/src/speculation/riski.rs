//! `riski` predicts how long a straggler and its backup would take, as ranges with probabilities, and starts the backup
//! where its expected gain is largest. Only time saved after the last finish of the other tasks counts.
//!
//! Paper: RiskI, section 6 (algorithm 2, figures 8 and 9): a risk-aware assignment of backups on top of profile-based
//! predictions. The predictions are the progress model `profiles`
//! ([`hindmost_core::profiles`]); under every other progress model the ranges follow from the distribution of the phase.
//!
//! Algorithm: in a phase without pending tasks, the straggler is the task that is expected to end last. Its remaining time s
//! is a range, given what is known of it. L is the last expected finish of the other tasks. For each node with free
//! resources the duration t of a backup is a range as well, and its expected gain is that of
//! [`theory::gain`](crate::theory::gain):
//! - `gain=replacement`: E\[max(s, L)] − E\[max(t, L)], the paper's;
//! - `gain=race`: E\[max(s, L)] − E\[max(min(s, t), L)], because the straggler runs on.
//!
//! The node with the largest gain gets the backup if the gain is positive; otherwise none starts. If the worst t is below the
//! best s, the straggler is stopped at once (`kill`). Then the next straggler is served, until one gets no backup.
//!
//! Passes: `[Originals(order), Backups(riski rule, best expected gain)]`.
//!
//! Readings where the paper is silent:
//! - Its job is here a phase: only its own tasks decide when the next phase begins. While a task of the phase is pending, the
//!   phase ends late anyway, and none of its tasks gets a backup.
//! - The paper finds the straggler "by comparing the average execution time of all the running tasks and the passed running
//!   time" in its text, and "by prediction" in Algorithm 2. By default it is the task with the longest expected remaining
//!   time, at any age; with `overdue=1`, the one of those that have run for longer than the mean of the execution times
//!   expected of the phase's running tasks, each on its node, when they start.
//! - The straggler is the last task with a single running copy. The expected finish of a task with several copies is the
//!   earliest one of its copies, and counts in L. A task whose remaining time is not known is no straggler, but counts in L
//!   by its expected remaining time at its age.
//! - An attempt that has run for longer than its whole range has the remaining time of the phase's distribution at its age.
//! - The paper does not say how often it looks. Here a phase is examined when one of its attempts starts or ends or its
//!   remaining time becomes known; where this follows from the age only, also after every `check` mean durations.
//! - If a backup gains nothing, the phase is examined again when a faster node has free resources than now. Under `profiles`,
//!   where every node may be the best one, it is instead examined again after `check` mean durations.
//! - Under `profiles` at most `compare` nodes with free resources are compared: the fastest one, and the others by place. The
//!   paper compares all, but a prediction for each of thousands of nodes takes longer than the scheduler has.
//! - A race has a positive gain nearly always, so a backup must bring `price` seconds for each second of its slot. With the
//!   default of 0 every positive gain is enough, as in the paper.
//! - A task gets at most `backups` backups, one at a time. Otherwise stopping stragglers at once could go on for ever.
//!
//! The differences from the source, and what this was written from, are in the catalogue (`catalogue/sources/`).

mod running_tasks;
mod survey;
mod waiting;

use std::collections::BTreeSet;

use hindmost_core::cluster::{Attempt, Cluster, Node, Phase};
use hindmost_core::estimator::{Estimator, Knowledge};
use hindmost_core::ids::{AttemptId, JobId, NodeId, TaskId};
use hindmost_core::policy::{Round, Seen, View};
use hindmost_core::record::{Condition, Decision, Event, StopReason};
use hindmost_core::time::Time;
use hindmost_math::outcomes::Outcomes;
use rustc_hash::{FxHashMap, FxHashSet};

use self::running_tasks::RunningTasks;
use self::survey::{Limits, Survey, survey};
use self::waiting::Waiting;
use super::{Cause, Rule};
use crate::theory::gain::{Gain, expected_gain, expected_slot_time, is_certain_to_win, most_gain};

crate::parameters! {
    /// The parameters of `riski`.
    pub struct RiskiParameters {
        /// what a backup is expected to gain: replacement (it takes the straggler's place, as in the paper) or race (the
        /// first of both to finish counts)
        pub gain: Gain = Gain::Replacement;
        /// seconds that a backup must be expected to gain for each second that it holds its slot
        pub price: f64 = 0.0, in 0.0..;
        /// stop the straggler at once if its backup is certain to finish first
        pub kill: bool = true;
        /// most backups of a task, one at a time
        pub backups: u32 = 3, in 0..=1_000, unit "backups";
        /// time between two examinations of a phase whose attempts are known by their age only, in mean durations
        pub check: f64 = 0.1, in 0.001..=100.0;
        /// most nodes with free resources that are compared under the progress model profiles
        pub compare: u32 = 64, in 1..=1_000_000_000, unit "nodes";
        /// the remaining time of an attempt is known from its progress, once this is known; false: from profiles and the age
        /// alone, as in the paper; without profiles, only where no progress is reported
        pub progress: bool = true;
        /// age from which on a task can be the straggler, in mean execution times that were expected of the phase's running
        /// tasks on their nodes: 1 in the paper's text; 0: any age, by prediction alone
        pub overdue: f64 = 0.0, in 0.0..=1_000.0;
        /// pending tasks of all jobs start before any backup; false: a backup starts before pending tasks of other jobs,
        /// once none of its own phase is pending
        pub originals_first: bool = true;
    }
}

/// A phase of a job.
type PhaseId = (JobId, u32);

/// Gains of at most this many seconds are rounding errors.
const NO_GAIN: f64 = 1e-9;

/// Share of the numbers in a sum by which rounding errors may change it at most, and much more.
const ROUNDING: f64 = 1e-9;

/// The rule by which RiskI starts backups.
pub struct RiskiRule {
    parameters: RiskiParameters,
    /// The tasks with running copies, for each phase with unfinished tasks.
    running: FxHashMap<PhaseId, RunningTasks>,
    /// Phases to examine in the next round with free resources.
    due: BTreeSet<PhaseId>,
    /// Phases with a straggler that may gain on a node that is not free now.
    waiting: Waiting,
    /// Requested wake-ups, each with its phase.
    wakes: BTreeSet<(Time, PhaseId)>,
    /// The latest requested wake-up of each phase.
    next_wake: FxHashMap<PhaseId, Time>,
    /// Phases whose straggler gained nothing on the fastest node on which its backup fits, while a faster node was free.
    misfits: FxHashSet<PhaseId>,
    /// Speed of the fastest node that has joined.
    fastest: f64,
}

/// A node for a backup.
struct Choice {
    node: NodeId,
    gain: f64,
    duration: Outcomes,
}

/// Returns whether a backup of an attempt could start on some node now.
fn backup_fits(id: AttemptId, cluster: &Cluster) -> bool {
    let demand = cluster.phase(id.task).map(|phase| *phase.demand());
    let allowed = |node, _: &Node| cluster.may_copy_on(id.task, node) && !cluster.avoids(id.task, node);
    demand.is_some_and(|demand| cluster.find_fastest_node(&demand, allowed).is_some())
}

impl RiskiRule {
    /// Creates the rule with these parameters.
    pub fn new(parameters: RiskiParameters) -> RiskiRule {
        RiskiRule {
            parameters,
            running: FxHashMap::default(),
            due: BTreeSet::new(),
            waiting: Waiting::default(),
            wakes: BTreeSet::new(),
            next_wake: FxHashMap::default(),
            misfits: FxHashSet::default(),
            fastest: 0.0,
        }
    }

    fn forget(&mut self, phase: PhaseId) {
        self.running.remove(&phase);
        self.due.remove(&phase);
        self.waiting.remove(phase);
        self.next_wake.remove(&phase);
        self.misfits.remove(&phase);
    }

    /// Returns the age from which on a task of a phase can be the straggler, seconds: a multiple of the mean of the execution
    /// times that are expected of the first running copies of its tasks, each on its node, from start to end. 0 if no age is
    /// required, or if nothing is known.
    fn old_enough(&self, (job, phase): PhaseId, cluster: &Cluster, estimator: &dyn Estimator) -> f64 {
        if self.parameters.overdue <= 0.0 {
            return 0.0;
        }
        let running = self.running.get(&(job, phase)).into_iter().flat_map(RunningTasks::iter);
        let tasks = running.map(|running| TaskId { job, phase, index: running.index });
        let first = tasks.filter_map(|task| cluster.copies(task).next().map(|copy| (task, copy.node())));
        let expected = first.filter_map(|(task, node)| estimator.new_copy_range(cluster, task, node));
        let (sum, count) = expected.fold((0.0, 0.0), |(sum, count), range| (sum + range.mean(), count + 1.0));
        if count > 0.0 { self.parameters.overdue * sum / count } else { 0.0 }
    }

    /// Returns the node with free resources on which a backup is expected to gain most, if it gains anything.
    fn choose(&self, (id, remaining): &(AttemptId, Outcomes), last: f64, round: &Round<'_>) -> Option<Choice> {
        let (cluster, task) = (round.cluster(), id.task);
        let demand = *cluster.phase(task)?.demand();
        let allowed = |node: NodeId| cluster.may_copy_on(task, node) && !cluster.avoids(task, node);
        let RiskiParameters { gain: kind, price, .. } = self.parameters;
        let judge = |node: NodeId| {
            let duration = round.estimator.new_copy_range(cluster, task, node)?;
            let gain = expected_gain(kind, remaining, &duration, last);
            // A price of 0 takes away nothing.
            let cost = if price > 0.0 { price * expected_slot_time(kind, remaining, &duration) } else { 0.0 };
            Some(Choice { node, gain: gain - cost, duration })
        };
        let fastest = cluster.find_fastest_node(&demand, |node, _: &Node| allowed(node))?;
        if !round.estimator.distinguishes_nodes() {
            return judge(fastest).filter(|choice| choice.gain > NO_GAIN);
        }
        let mut from = 0;
        let others = std::iter::from_fn(|| {
            let place = cluster.next_fitting_place(from, &demand)?;
            from = place + 1;
            Some(cluster.node_at(place).filter(|node| *node != fastest && allowed(*node)))
        });
        let compared = std::iter::once(fastest).chain(others.flatten()).take(self.parameters.compare as usize);
        let without_backup = remaining.mean_of_larger(last);
        let mut best: Option<Choice> = None;
        for node in compared {
            // Most nodes gain less than the best one whatever the range around the mean, which is far cheaper to get.
            let Some(mean) = round.estimator.new_copy_mean(cluster, task, node) else { continue };
            let most = most_gain(kind, without_backup, mean, last);
            let needed = best.as_ref().map_or(NO_GAIN, |best| best.gain);
            if most < needed - ROUNDING * (1.0 + without_backup.abs() + mean.abs()) {
                continue;
            }
            let Some(choice) = judge(node).filter(|choice| choice.gain > NO_GAIN) else { continue };
            let is_better =
                |best: &Choice| choice.gain > best.gain || (choice.gain == best.gain && choice.node < best.node);
            if best.as_ref().is_none_or(is_better) {
                best = Some(choice);
            }
        }
        best
    }

    /// Starts backups for the stragglers of a phase, one after another, until one gains nothing.
    fn examine(&mut self, phase: PhaseId, round: &mut Round<'_>) {
        loop {
            let cluster = round.cluster();
            let found = cluster.job(phase.0).and_then(|job| job.phases().get(phase.1 as usize));
            let Some(found) = found.filter(|found| !found.is_finished()) else { return self.forget(phase) };
            if found.pending() > 0 || found.is_assumed() {
                return;
            }
            let (mean, now) = (found.mean(), cluster.now());
            let old_enough = self.old_enough(phase, cluster, round.estimator);
            let Some(tasks) = self.running.get(&phase) else { return };
            let limits = Limits { backups: self.parameters.backups, old_enough };
            let Survey { straggler, last, by_age, until_overdue } =
                survey(tasks, phase, limits, cluster, round.estimator);
            if until_overdue.is_finite() {
                self.wake(phase, now + Time::from_seconds(until_overdue), round);
            }
            if by_age {
                self.wake(phase, now + Time::from_seconds(self.parameters.check * mean), round);
            }
            let Some(straggler) = straggler.filter(|(_, remaining)| remaining.greatest() > last) else { return };
            let id = straggler.0;
            if !round.may_start(id.task) {
                self.waiting.insert(phase, 0.0);
                return;
            }
            let choice = self.choose(&straggler, last, round);
            let Some(choice) = choice else {
                let cluster = round.cluster();
                // Another node may be better, once it has free resources.
                let open = cluster.fastest_open_speed().unwrap_or(0.0);
                if !backup_fits(id, cluster) {
                    self.waiting.insert(phase, 0.0);
                } else if round.estimator.distinguishes_nodes() {
                    self.wake(phase, cluster.now() + Time::from_seconds(self.parameters.check * mean), round);
                } else if open < self.fastest {
                    // The gain on the same nodes only falls with time, unless remaining times are known by age.
                    self.waiting.insert(phase, if by_age { 0.0 } else { open });
                } else {
                    self.misfits.insert(phase);
                }
                return;
            };
            if !self.start(&straggler, last, &choice, round) {
                return;
            }
            if let Some(tasks) = self.running.get_mut(&phase) {
                tasks.copied(id.task.index);
            }
        }
    }

    /// Starts a backup and, if it is certain to win, stops the straggler. Returns false if the start was refused.
    fn start(
        &self,
        (id, remaining): &(AttemptId, Outcomes),
        last: f64,
        choice: &Choice,
        round: &mut Round<'_>,
    ) -> bool {
        if !round.start(id.task, choice.node) {
            return false;
        }
        let (least, mean, greatest) = (choice.duration.least(), choice.duration.mean(), choice.duration.greatest());
        round.because(|| {
            format!(
                "attempt {} was expected to end last of its phase, in {:.2} s ({:.2} to {:.2} s; the other tasks in {last:.2} s); \
                 a backup on this node was expected to take {mean:.2} s ({least:.2} to {greatest:.2} s) and to gain {:.2} s",
                id.copy,
                remaining.mean(),
                remaining.least(),
                remaining.greatest(),
                choice.gain
            )
        });
        if self.parameters.kill && is_certain_to_win(remaining, &choice.duration) {
            round.decide(Decision::Stop { attempt: *id, reason: StopReason::Overtaken });
            round.because(|| {
                format!(
                    "its backup was expected to take at most {greatest:.2} s, and this attempt at least {:.2} s",
                    remaining.least()
                )
            });
            // Its resources come free, and other tasks may wait for them.
            round.decide(Decision::Wake { at: round.cluster().now() });
        }
        true
    }

    /// Requests a round at a time to examine a phase again, unless an earlier one is requested.
    fn wake(&mut self, phase: PhaseId, at: Time, round: &mut Round<'_>) {
        let now = round.cluster().now();
        // With an age required of stragglers, the wake-up for this age may be earlier than the next examination.
        let is_known = |wake: &Time| *wake > now && (self.parameters.overdue <= 0.0 || *wake <= at);
        if self.next_wake.get(&phase).is_some_and(is_known) || at <= now {
            return;
        }
        self.next_wake.insert(phase, at);
        self.wakes.insert((at, phase));
        round.decide(Decision::Wake { at });
    }
}

impl Rule for RiskiRule {
    fn condition(&mut self, _attempt: &Attempt, phase: &Phase, view: &View<'_>) -> Option<Condition> {
        let is_hidden = matches!(view.estimator.knowledge(), Knowledge::Age | Knowledge::History);
        (self.parameters.progress && !is_hidden && phase.gives_progress()).then_some(Condition::Revealed)
    }

    fn watches_again(&self, cause: Cause, attempt: &Attempt, _view: &View<'_>) -> bool {
        matches!(cause, Cause::LeftAlone | Cause::NodeLost) && attempt.expected_finish().is_none()
    }

    fn observe(&mut self, seen: Seen<'_>, view: &mut View<'_>, _candidates: &mut Vec<AttemptId>) {
        let of = |id: &AttemptId| (id.task.job, id.task.phase);
        match seen {
            Seen::Decision(Decision::Start { attempt, .. }) => {
                self.running.entry(of(attempt)).or_default().add(attempt.task.index);
                self.due.insert(of(attempt));
            }
            Seen::Decision(Decision::Replace { attempt, .. } | Decision::Stop { attempt, .. }) => {
                if let Some(tasks) = self.running.get_mut(&of(attempt)) {
                    tasks.read(attempt.task, view.cluster);
                }
            }
            Seen::Event(
                Event::AttemptFinished { attempt: AttemptId { task, .. } } | Event::TaskGivenUp { task },
                applied,
            ) if applied.phase_finished => self.forget((task.job, task.phase)),
            Seen::Event(Event::TaskWithheld { task, .. }, _) if self.running.contains_key(&(task.job, task.phase)) => {
                self.due.insert((task.job, task.phase));
            }
            Seen::Event(Event::AttemptFinished { attempt }, applied) if applied.won => {
                let Some(tasks) = self.running.get_mut(&of(attempt)) else { return };
                let finish = tasks.remove(attempt.task.index);
                // A task that finishes when it was expected to was not the last one, and the gain of a backup of the last
                // one only falls with time.
                let is_hidden = matches!(view.estimator.knowledge(), Knowledge::Age | Knowledge::History);
                let changes_nothing = !is_hidden
                    && self.parameters.overdue <= 0.0
                    && finish.is_some_and(|finish| finish <= view.cluster.now())
                    && !view.estimator.distinguishes_nodes()
                    && !self.misfits.contains(&of(attempt));
                if !changes_nothing {
                    self.due.insert(of(attempt));
                }
            }
            Seen::Event(
                Event::AttemptFinished { attempt }
                | Event::AttemptFailed { attempt, .. }
                | Event::AttemptStopped { attempt }
                | Event::WatchMet { attempt, .. },
                _,
            ) => {
                if let Some(tasks) = self.running.get_mut(&of(attempt)) {
                    tasks.read(attempt.task, view.cluster);
                    self.due.insert(of(attempt));
                }
            }
            Seen::Event(Event::DurationsLearned { job, phase, .. }, _)
                if self.running.contains_key(&(*job, *phase)) =>
            {
                self.due.insert((*job, *phase));
            }
            Seen::Event(Event::NodeLost { .. } | Event::NodeSpeedLearned { .. }, _) => {
                self.due.extend(self.running.keys().copied());
                self.running.iter_mut().for_each(|(phase, tasks)| tasks.read_all(*phase, view.cluster));
                let speeds = view.cluster.nodes().iter().map(Node::speed);
                self.fastest = speeds.fold(self.fastest, f64::max);
            }
            Seen::Event(Event::NodeJoined { speed, .. }, _) => self.fastest = self.fastest.max(*speed),
            Seen::Event(Event::Woken, _) => {
                let now = view.cluster.now();
                while let Some((at, phase)) = self.wakes.first().copied().filter(|(at, _)| *at <= now) {
                    self.wakes.remove(&(at, phase));
                    if self.running.contains_key(&phase) {
                        self.due.insert(phase);
                    }
                }
            }
            _ => {}
        }
    }

    fn serve(&mut self, candidates: &mut Vec<AttemptId>, round: &mut Round<'_>) {
        candidates.clear();
        if round.cluster().open_nodes() == 0 || (self.due.is_empty() && self.waiting.is_empty()) {
            return;
        }
        let mut phases = std::mem::take(&mut self.due);
        if !self.waiting.is_empty() {
            for phase in &phases {
                self.waiting.remove(*phase);
            }
            self.waiting.take_slower(round.cluster().fastest_open_speed().unwrap_or(0.0), &mut phases);
        }
        for phase in phases {
            self.examine(phase, round);
        }
    }
}
