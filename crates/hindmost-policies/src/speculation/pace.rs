//! `pace` starts a backup for an attempt that has made much less progress than other attempts of its phase at the same
//! age. It also avoids slow nodes when it starts originals.
//!
//! Source: Hindmost's own policy, designed for live clusters, where reported progress shows early that a node is slow.
//! The other speculation policies test the remaining time, and wait until a share S of the attempt's work is done
//! (progress model `progress(S)`). `pace` compares progress at the same age, so it need not wait until then.
//!
//! Algorithm for running attempts:
//! - **Lagging.** From the age of `after` medians on, an attempt lags if its progress is less than 1/`lag` of what the
//!   median copy of its phase has done at the same age. Its remaining time is extrapolated from its progress. If copies
//!   report no progress, an attempt lags once it has run longer than `late` times the 90th percentile of durations (and
//!   longer than `late` medians); its expected remaining time is then as long as it has run. If it is only as old as
//!   attempts become on its slow node, that is what the durations of the phase leave on average there.
//!   No attempt lags below the age `min_age`: a copy of a task of milliseconds costs more than it can gain. (`sweep`)
//! - **Backups.** A lagging attempt gets one backup, the longest remaining time first, on the fastest node with free
//!   resources. While tasks are pending, the backup must save resources: the remaining time must be above two durations
//!   of a new copy, as in Mantri. Otherwise the remaining time must be above `margin` durations of a new copy. An
//!   attempt on a slow node gets no backup if it is expected to end before the job's pending tasks do on the other nodes.
//!   Where no other node has free resources, the backup starts on the attempt's own node, unless that is slow:
//!   contention, a lost answer of a server or an unlucky process do not affect a second process.
//! - **Input sizes.** A task with a larger input than others may take longer by nature, and so may its copy. (`speculation/input_sizes.rs`)
//! - **Hung backups.** If all copies of a task lag, it gets another one, each time after waiting twice as long
//!   (`further`).
//! - **Learning.** How often copies take as long as their originals is learned for each kind of phase over all jobs, and a
//!   backup must be worth its resources (`task_share`). In each phase, losses double the age or remaining time that a
//!   backup needs; wins bring backups back. Until they win, those that start while tasks are pending may cost only a small share of the
//!   job's work (`budget`). If only ages are known, one backup of a phase is tried at a time until
//!   backups win (more if they leave slow nodes and no task is pending), and one that takes long as well is stopped while tasks are
//!   pending (`evidence`, `further`). Until they
//!   win, they may cost only a small share of the job's work, and less of it while tasks are pending (`budget`).
//! - **Hung attempts.** Where attempts much older than all winners of their phase hold half of the cluster, or hang on while no
//!   task is pending, their tasks get copies again, each at twice the age, whatever earlier copies have cost (`hung`).
//! - **Overtaken copies.** Once the ends of both copies can be extrapolated from their progress, a copy that will end
//!   well after its sibling is stopped; one that takes as long as an older sibling at once, because the task itself takes
//!   long. If copies report no progress, none is stopped before its sibling has finished, and once a task has had more than
//!   four attempts, none for a younger one.
//!   An attempt that has overtaken three siblings gets no more backups: the task itself takes long.
//! - **Misleading progress.** Where later progress refutes the ends that earlier progress let expect, only the ages of the phase's
//!   attempts count from then on (`predictions`).
//! - **Relaunches.** If no resources are free for a backup, a lagging attempt on a slow node is stopped and its task
//!   starts again on another node. Two conditions must hold, where p tasks of its job are pending and c copies fit on
//!   nodes that are not slow: its remaining time is above 2·(1 + p/c) medians, and so is the duration of a new copy on
//!   its node. Only the first copy of a task is relaunched.
//! - **Restarts.** Where a task may have only one attempt at a time because two would write one file, an attempt that seems to hang is
//!   stopped, and its task starts again. (`restarts`)
//!
//! Algorithm for pending tasks: originals go to the fastest node with the most free resources. A slow node of speed s
//! gets an original only if the original is expected to end there before the other nodes could take it: if
//! 1/s ≤ 1 + p/c, where p tasks are pending in all jobs and c copies fit on nodes that are not slow.
//!
//! Passes: `[Restarts, Backups(saving), Originals(order, by speed), Backups(sooner)]`. The pass `Backups(saving)` stops overtaken copies.

mod budget;
mod evidence;
mod further;
mod held_back;
mod hung;
mod lateness;
mod predictions;
mod relaunch;
mod restarts;
mod sweep;
mod task_share;
mod worth;

use std::collections::BTreeSet;

use hindmost_core::cluster::{Attempt, AttemptState, Cluster, Node, Phase};
use hindmost_core::estimator::{Estimator, Knowledge};
use hindmost_core::ids::{AttemptId, JobId, NodeId, TaskId};
use hindmost_core::policy::queue_place::Which;
use hindmost_core::policy::{Learned, Round, Seen, View};
use hindmost_core::record::{Condition, Decision, Event, StopReason};
use hindmost_core::time::Time;
use rustc_hash::FxHashMap;

use super::candidates::Candidates;
use super::input_sizes::InputSizes;
use super::lagging::{Lagging, is_single};
use super::{Cause, Rule, is_only_copy, only_copy};
use crate::placement::by_speed::GoodNodes;
use budget::Budget;
use evidence::{Evidence, Outcomes};
use held_back::WithoutBackup;
use lateness::{Lateness, PENDING};
use predictions::Predictions;
use relaunch::RELAUNCH;
use sweep::Sweep;

pub use restarts::Restarts;

crate::parameters! {
    /// The parameters of `pace`.
    pub struct PaceParameters {
        /// an attempt lags if its progress is less than 1/lag of the median copy's progress at the same age
        pub lag: f64 = 2.0, in 1.0..;
        /// age below which an attempt's progress is not tested
        pub after: f64 = 0.1, in 0.0.., unit "medians";
        /// age from which an attempt lags if its phase reports no progress
        pub late: f64 = 1.2, in 1.0.., unit "times the 90th percentile";
        /// age below which an attempt gets no copy if its phase reports no progress
        pub min_age: f64 = 0.2, in 0.0.., unit "s";
        /// while nothing is pending, the remaining time must exceed margin times the duration of a backup
        pub margin: f64 = 1.2, in 1.0..;
        /// speed below which a node is slow, relative to 1
        pub slow: f64 = 0.67, in 0.0..=1.0;
    }
}

/// While tasks are pending, an attempt gets a backup only if its remaining time is above this many durations of a new
/// copy. Then the backup saves resources, because both copies run until the backup ends.
const SAVING: f64 = 2.0;

/// A copy is overtaken if its remaining time is more than this many times that of a younger sibling.
const OVERTAKEN: f64 = 1.5;
/// A backup is overtaken if its remaining time is more than this many times that of an older sibling. To stop it early costs
/// little, because it has not run for long.
const NOT_FASTER: f64 = 1.2;
/// Once a task has had more attempts than this, none is stopped for a younger one that seems faster. Each loses what it has done.
const MOST_GIVING_WAY: u32 = 4;

/// An attempt that has overtaken this many siblings gets no more backups.
const ENOUGH: u32 = 3;

/// A copy takes about as long as an older one if it takes at least this share of its time.
const ALIKE: f64 = 0.75;

/// Probability that copies of a phase take as long as their originals from which on one that does proves that its task takes long. The
/// first pair of a phase gives a third.
const PROOF: f64 = 0.33;

/// If there are more candidates than this, those that have ended are removed.
const MANY: usize = 1024;

/// The rule by which `pace` starts backups, stops overtaken copies and relaunches attempts.
pub struct PaceRule {
    parameters: PaceParameters,
    /// True for the pass before originals.
    saving: bool,
    lagging: Lagging,
    /// Lagging attempts with a known end whose jobs the order permits no more copies now.
    not_permitted: Candidates,
    /// The number of siblings that each attempt has overtaken.
    overtaken: FxHashMap<AttemptId, u32>,
    /// Tasks with several copies that may need another one.
    several: BTreeSet<TaskId>,
    evidence: Evidence,
    budget: Budget,
    /// The time of the last round that was requested to compare the cost of copies with the budget.
    budget_check: Time,
    good_nodes: GoodNodes,
    predictions: Predictions,
    input_sizes: InputSizes,
    sweep: Sweep,
}

impl PaceRule {
    /// Creates the rule for the pass before originals (`saving` is true) or for the one after them.
    pub fn new(parameters: PaceParameters, saving: bool) -> PaceRule {
        PaceRule {
            parameters,
            saving,
            lagging: Lagging::default(),
            not_permitted: Candidates::default(),
            overtaken: FxHashMap::default(),
            several: BTreeSet::new(),
            evidence: Evidence::default(),
            budget: Budget::default(),
            budget_check: Time::ZERO,
            good_nodes: GoodNodes::above(parameters.slow),
            predictions: Predictions::default(),
            input_sizes: InputSizes::default(),
            sweep: Sweep::default(),
        }
    }

    /// Returns true if attempts of a task's phase report progress, the progress model lets policies use it, and it does not mislead.
    fn sees_progress(&self, estimator: &dyn Estimator, task: TaskId, phase: &Phase) -> bool {
        phase.gives_progress()
            && !matches!(estimator.knowledge(), Knowledge::Age | Knowledge::History)
            && !self.predictions.mislead(task)
    }

    /// Returns the ages from which on attempts of a task's phase get copies if only their age is known; `None` if they report
    /// progress.
    fn lateness(&self, estimator: &dyn Estimator, task: TaskId, cluster: &Cluster) -> Option<Lateness> {
        let phase = cluster.phase(task)?;
        (!self.sees_progress(estimator, task, phase)).then(|| self.ages(task, phase, cluster))
    }

    /// Returns when an attempt is expected to end, if that is ahead and its progress does not mislead.
    fn expected_finish(&self, attempt: &Attempt, now: Time) -> Option<Time> {
        attempt.expected_finish().filter(|finish| *finish > now && !self.predictions.mislead(attempt.id().task))
    }

    /// Returns the ages from which on attempts of a task get copies if only their age is known.
    fn ages(&self, task: TaskId, phase: &Phase, cluster: &Cluster) -> Lateness {
        let factor = self.input_sizes.factor(task, true, cluster);
        Lateness::of(phase, factor, (self.parameters.late, self.parameters.min_age))
    }

    /// Requests rounds at the ages at which a lagging attempt may get a backup although nothing else happens.
    fn wake_for(&self, id: AttemptId, view: &mut View<'_>) {
        let cluster = view.cluster;
        let Some((attempt, _)) = only_copy(id, cluster) else { return };
        let Some(ages) = self.lateness(view.estimator, id.task, cluster) else { return };
        let (since, outcomes) = (attempt.began(cluster.now()), self.evidence.of(id.task));
        let mut age = (cluster.now() - since).seconds();
        let mut wake = |age: f64| view.wake(since + Time::from_seconds(age) + Time::TICK);
        let start = age;
        while let Some(limit) = ages.next_limit(age, outcomes) {
            wake(limit);
            age = limit;
        }
        // On a slow node attempts become older before their remaining time counts as unknown.
        let speed = PaceRule::node_speed(cluster, attempt).min(1.0);
        let later = [ages.lags / speed, ages.hung(outcomes) / speed];
        later.into_iter().filter(|later| speed < 1.0 && later.is_finite() && *later > start).for_each(wake);
    }

    /// Returns the node with free resources for a backup: the fastest one without a copy of the task, or else the fastest one
    /// that is not slow.
    fn node_for(&self, task: TaskId, cluster: &Cluster) -> Option<NodeId> {
        let demand = cluster.phase(task)?.demand();
        let elsewhere = |node, _: &Node| !cluster.has_copy_on(task, node) && !cluster.avoids(task, node);
        let same = |node, found: &Node| found.speed() >= self.parameters.slow && !cluster.avoids(task, node);
        cluster.find_fastest_node(demand, elsewhere).or_else(|| cluster.find_fastest_node(demand, same))
    }

    /// Stops the copies of a task that will end well after a sibling. Considers only copies whose end is extrapolated
    /// from their progress.
    fn stop_overtaken(&mut self, task: TaskId, view: &mut View<'_>) {
        let cluster = view.cluster;
        // An expected end in the past was a wrong estimate and proves nothing.
        let expected = |copy: &Attempt| copy.measured_finish().filter(|finish| *finish > cluster.now());
        let known = cluster.copies(task).filter(|copy| copy.state() != AttemptState::Stopping);
        let mut known: Vec<(Time, AttemptId)> = known.filter_map(|copy| Some((expected(copy)?, copy.id()))).collect();
        known.sort_unstable_by_key(|(finish, _)| *finish);
        let remaining = |finish: Time| (finish - cluster.now()).seconds();
        let Some((first, fastest)) = known.first().copied() else { return };
        let best = remaining(first);
        let since = |id: AttemptId| cluster.attempt(id).map(Attempt::since);
        let takes = |id: AttemptId| cluster.attempt(id).and_then(evidence::measured).unwrap_or(f64::INFINITY);
        for (finish, attempt) in known {
            let is_younger = since(attempt) > since(fastest);
            // The task itself takes long if a copy takes about as long as an attempt that started before it.
            let is_alike = is_younger && takes(attempt) >= ALIKE * takes(fastest);
            let bound = match (is_alike, is_younger) {
                (true, _) => 1.0,
                (false, true) => NOT_FASTER,
                (false, false) => OVERTAKEN,
            };
            if attempt == fastest || remaining(finish) <= bound * best {
                continue;
            }
            // Progress that misleads proves nothing against an attempt that is ahead, nor does progress that has made others of the
            // task give way before.
            let gave_way = cluster.task(task).is_some_and(|task| task.launched() > MOST_GIVING_WAY);
            if !is_younger && (gave_way || self.predictions.mislead(task)) {
                continue;
            }
            self.evidence.overtaken(attempt, cluster);
            // Where copies are mostly much faster than originals, one that is not shows little.
            let is_proof = is_alike && self.evidence.task_share(task, cluster) >= PROOF;
            *self.overtaken.entry(fastest).or_default() += if is_proof { ENOUGH } else { 1 };
            // Both passes count overtaken copies; one of them stops them.
            if self.saving {
                view.stop(attempt, StopReason::Overtaken);
                view.because(|| {
                    if is_alike {
                        return format!(
                            "by its measured progress it takes as long as another copy that was expected to end {best:.2} s \
                             later, so the task itself takes long"
                        );
                    }
                    format!(
                        "another copy was expected to end {best:.2} s later, and this copy to need more than {bound} times as \
                         long"
                    )
                });
            }
        }
    }

    /// Returns true if an attempt has overtaken so many siblings that the task itself must take long. Returns false if
    /// the attempt's expected end is past, because then the estimate was wrong.
    fn has_overtaken_enough(&self, id: AttemptId, cluster: &Cluster) -> bool {
        let end_is_ahead = || cluster.attempt(id).and_then(Attempt::expected_finish) > Some(cluster.now());
        self.overtaken.get(&id).is_some_and(|copies| *copies >= ENOUGH) && end_is_ahead()
    }

    fn node_speed(cluster: &Cluster, attempt: &Attempt) -> f64 {
        cluster.node(attempt.node()).map_or(1.0, Node::speed)
    }

    /// Returns true if an attempt on a slow node is expected to end before the pending tasks of its job, which take a median on
    /// the other nodes once those have served the queue. A backup would take resources on those nodes, and free only a slow node
    /// early.
    fn ends_with_the_queue(&mut self, remaining: f64, id: AttemptId, cluster: &Cluster) -> bool {
        let Some((attempt, phase)) = cluster.attempt(id).zip(cluster.phase(id.task)) else { return false };
        PaceRule::node_speed(cluster, attempt) < self.parameters.slow
            && remaining <= (self.good_nodes.waves(id.task, cluster).unwrap_or(0.0) + 1.0) * phase.median()
    }

    /// Moves attempts from `not_permitted` back to `lagging` if the order may permit their jobs another copy now, or if
    /// they should have ended by now.
    fn permit_again(&mut self, round: &Round<'_>) {
        if self.not_permitted.is_empty() {
            return;
        }
        let cluster = round.cluster();
        let mut again = self.not_permitted.take_due(cluster.now());
        for id in &again {
            self.not_permitted.remove(*id);
        }
        again.extend(self.not_permitted.take_permitted(round).into_iter().map(|(_, id)| id));
        for id in again {
            if let Some((found, phase)) = only_copy(id, cluster) {
                self.lagging.add(found, phase.demand(), false);
            }
        }
    }

    /// Moves an attempt from `lagging` to `not_permitted`, because the order of jobs permits its job no copy now. Leaves
    /// the attempt in `lagging` and returns false if its end is unknown, it may be relaunched, or the slack of the order
    /// is high enough for a copy.
    fn move_to_not_permitted(&mut self, id: AttemptId, round: &Round<'_>) -> bool {
        let cluster = round.cluster();
        let Some((attempt, phase)) = cluster.attempt(id).zip(cluster.phase(id.task)) else { return false };
        let Some(finish) = attempt.expected_finish().filter(|finish| *finish > cluster.now()) else { return false };
        if self.may_relaunch(attempt, cluster) || round.slack() >= round.slack_needed(id.task) {
            return false;
        }
        self.lagging.remove(id);
        self.not_permitted.put((0, 0), id, finish, phase.demand());
        true
    }

    /// Returns the lagging attempts that this round must check, with their remaining times in seconds, the longest first.
    /// `factor` is how many durations of a new copy the remaining time must exceed for a backup.
    fn lagging_now(&mut self, factor: f64, round: &Round<'_>) -> Vec<(f64, AttemptId)> {
        let cluster = round.cluster();
        self.lagging.move_overdue(cluster);
        let bound = cluster.fastest_open_speed().map(|speed| factor / speed);
        let mut concerned = self.lagging.take_concerned(bound, cluster);
        concerned.sort_unstable();
        concerned.dedup();
        let single = concerned.into_iter().filter_map(|id| {
            let attempt = cluster.attempt(id).filter(|attempt| is_single(attempt, cluster))?;
            Some((self.remaining(attempt, round), id))
        });
        let mut single: Vec<(f64, AttemptId)> = single.collect();
        single.sort_unstable_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
        single
    }
}

impl Rule for PaceRule {
    fn condition(&mut self, attempt: &Attempt, phase: &Phase, view: &View<'_>) -> Option<Condition> {
        // Both passes are notified when an attempt lags, so one watch is enough.
        if !self.saving || phase.is_assumed() {
            return None;
        }
        // Attempts that start now are found by the next sweep.
        if attempt.since() == view.cluster.now() && self.is_short(attempt.id().task, phase, view) {
            return None;
        }
        let PaceParameters { lag, after, .. } = self.parameters;
        Some(if self.sees_progress(view.estimator, attempt.id().task, phase) {
            Condition::Lagging { rate: 1.0 / (lag * phase.median()), after: after * phase.median() }
        } else {
            Condition::ElapsedAbove(self.ages(attempt.id().task, phase, view.cluster).lags)
        })
    }

    fn watches_again(&self, cause: Cause, _attempt: &Attempt, _view: &View<'_>) -> bool {
        cause != Cause::SpeedLearned
    }

    fn observe(&mut self, seen: Seen<'_>, view: &mut View<'_>, candidates: &mut Vec<AttemptId>) {
        let cluster = view.cluster;
        self.sweep(seen, view, candidates);
        self.budget.observe(seen, cluster);
        self.input_sizes.observe(seen, cluster);
        // New information about an attempt reaches `serve` as a candidate, so the list is not needed here.
        self.not_permitted.observe(seen, cluster, &mut Vec::new());
        let misled = match seen {
            Seen::Event(Event::WatchMet { attempt, .. }, _) => self.predictions.expect(*attempt, SAVING, cluster),
            _ => self.predictions.observe(seen, cluster),
        };
        let changed = [self.evidence.observe(seen, cluster), misled];
        for (job, phase) in changed.into_iter().flatten().filter(|_| self.saving) {
            for id in self.lagging.of_phase(job, phase) {
                self.wake_for(id, view);
            }
        }
        match seen {
            Seen::Decision(Decision::Start { attempt, .. }) => {
                if cluster.task(attempt.task).is_some_and(|task| task.running_copies() > 1) {
                    cluster.copies(attempt.task).for_each(|copy| self.lagging.copied(copy.id()));
                    let phase = cluster.phase(attempt.task);
                    if self.lateness(view.estimator, attempt.task, cluster).is_some() {
                        self.budget.starts(*attempt, None, cluster.now());
                    }
                    self.watch_further(*attempt, view);
                    if self.saving && phase.is_some_and(|phase| self.sees_progress(view.estimator, attempt.task, phase))
                    {
                        view.watch(*attempt, Condition::Revealed);
                    }
                } else {
                    self.lagging.unsettle(attempt.task.job);
                }
            }
            Seen::Decision(Decision::Abandon { job }) => {
                self.lagging.forget_job(*job);
                self.overtaken.retain(|id, _| id.task.job != *job);
            }
            Seen::Event(Event::WatchMet { attempt, .. }, _) => {
                self.stop_overtaken(attempt.task, view);
                if cluster.task(attempt.task).is_some_and(|task| task.running_copies() > 1) {
                    self.count_if_late(*attempt, view);
                    self.several.insert(attempt.task);
                } else if self.saving {
                    self.wake_for(*attempt, view);
                }
            }
            Seen::Event(
                Event::AttemptFinished { attempt }
                | Event::AttemptFailed { attempt, .. }
                | Event::AttemptStopped { attempt },
                _,
            ) => {
                self.lagging.remove(*attempt);
                self.overtaken.remove(attempt);
                // The last copy of a task may get another one.
                if let Some(last) = cluster.copies(attempt.task).next().map(Attempt::id)
                    && is_only_copy(last, cluster)
                    && last.copy < attempt.copy
                {
                    candidates.push(last);
                    if self.saving {
                        self.wake_for(last, view);
                    }
                }
            }
            Seen::Event(Event::DurationsLearned { job, phase, .. }, _) => {
                self.lagging.check_again(|task| (task.job, task.phase) == (*job, *phase));
            }
            Seen::Event(Event::NodeLost { .. }, _) => {
                self.lagging.forget_gone(cluster);
                self.overtaken.retain(|id, _| cluster.attempt(*id).is_some());
                self.lagging.check_again(|_| true);
            }
            Seen::Event(Event::NodeSpeedLearned { .. } | Event::NodeReturned { .. } | Event::NodeJoined { .. }, _) => {
                self.lagging.check_again(|_| true);
            }
            _ => {}
        }
    }

    fn learned(&self, job: JobId, phase: u32, cluster: &Cluster, estimator: &dyn Estimator) -> Option<Learned> {
        Some(self.learned_of(job, phase, cluster, estimator))
    }

    fn serve(&mut self, candidates: &mut Vec<AttemptId>, round: &mut Round<'_>) {
        if self.lagging.is_empty() && self.not_permitted.is_empty() && self.several.is_empty() && candidates.is_empty()
        {
            return;
        }
        let pending = round.next_job(Which::Any, None).is_some();
        if pending && !self.saving {
            // Candidates may wait here for a long time, so remove those that have ended when the list is long.
            if candidates.len() > MANY.max(2 * round.cluster().running_attempts()) {
                candidates.retain(|id| round.cluster().attempt(*id).is_some());
            }
            return;
        }
        self.lagging.forget_copied(round.cluster());
        self.permit_again(round);
        for id in candidates.drain(..) {
            let cluster = round.cluster();
            self.not_permitted.remove(id);
            if let Some((found, phase)) = only_copy(id, cluster) {
                self.lagging.add(found, phase.demand(), self.may_relaunch(found, cluster));
                self.note_no_resources(id, round);
            }
        }
        let factor = if pending { SAVING } else { self.parameters.margin };
        let lagging = self.lagging_now(factor, round);
        let late: Vec<AttemptId> = lagging.iter().map(|(_, id)| *id).collect();
        let crowds = self.crowds(&late, round.cluster());
        // Phases whose jobs can't pay for a copy in this round.
        let mut spent: BTreeSet<(JobId, u32)> = BTreeSet::new();
        for (remaining, id) in lagging {
            let cluster = round.cluster();
            let Some(phase) = cluster.phase(id.task) else { continue };
            let median = phase.median();
            if self.has_overtaken_enough(id, cluster) {
                self.lagging.checked(id, remaining / median);
                continue;
            }
            let Some(node) = self.node_for(id.task, cluster) else {
                if self.should_relaunch(remaining, id, cluster) {
                    round.decide(Decision::Stop { attempt: id, reason: StopReason::Relaunched });
                    round.because(|| {
                        format!(
                            "its node is slow, and pace estimates its remaining time at {remaining:.2} s, more than \
                             {RELAUNCH} times as long as the other nodes need for the job's pending tasks: its task \
                             is relaunched on another node"
                        )
                    });
                }
                continue;
            };
            self.lagging.leave_unsettled(id);
            let by_age = self.lateness(round.estimator, id.task, cluster).is_some();
            let fresh = self.fresh((id.task, node), by_age, cluster);
            let larger = self.input_sizes.factor(id.task, by_age, cluster);
            let usual_factor = factor;
            let factor = if by_age { factor } else { factor * self.evidence.of(id.task).factor() };
            let retries = by_age && self.may_retry(id, (&late, pending), &crowds, cluster);
            let pays = remaining > factor * fresh
                && (!by_age || self.may_try(id, node, pending, cluster))
                && (by_age || self.is_worth(id, node, (remaining, pending), cluster))
                && (retries || self.is_old_enough(id, pending, round))
                && !(pending && self.ends_with_the_queue(remaining, id, cluster));
            let of_phase = (id.task.job, id.task.phase);
            let allowed = if !by_age {
                if pays {
                    self.allowed_by_progress(id, node, (remaining, fresh), (&late, pending), cluster)
                } else {
                    None
                }
            } else if pays && retries {
                Some(self.ages(id.task, phase, cluster).limit(PENDING, Outcomes::default()))
            } else if pays && !spent.contains(&of_phase) {
                self.allowed(id, node, (&late, pending), cluster)
            } else {
                None
            };
            if by_age && pays && allowed.is_none() {
                spent.insert(of_phase);
            }
            if allowed.is_none() || !pays {
                let late = &late;
                let without = WithoutBackup { id, node, remaining, usual_factor, by_age, pending, pays, late };
                self.note_held_back(&without, round);
            }
            if !by_age && pays && allowed.is_none() {
                continue;
            }
            let pays = pays && allowed.is_some();
            let is_permitted = pays && round.may_start(id.task);
            if pays && !is_permitted && self.move_to_not_permitted(id, round) {
                continue;
            }
            let copy = round.cluster().next_copy(id.task);
            if !is_permitted || !round.start(id.task, node) {
                self.lagging.checked(id, remaining / median);
                continue;
            }
            if let Some((copy, allowance)) = copy.zip(allowed).filter(|(_, allowance)| allowance.is_finite()) {
                self.budget.starts(copy, Some(allowance), round.cluster().now());
            }
            round.because(|| {
                let (copy, queue) = (id.copy, if pending { "tasks are pending" } else { "no tasks are pending" });
                if remaining.is_infinite() {
                    return format!(
                        "attempt {copy} seems to hang: it is older than the durations of its phase explain (median \
                         {median:.2} s); {queue}"
                    );
                }
                let input =
                    if larger > 1.0 { format!(", with {larger:.1} times the usual input") } else { String::new() };
                format!(
                    "attempt {copy} lags: pace estimates its remaining time at {remaining:.2} s, above {factor} times \
                     the duration of a new copy ({fresh:.2} s{input}); {queue}"
                )
            });
        }
        self.start_further(factor, pending, round);
    }
}
