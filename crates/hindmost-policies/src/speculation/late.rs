//! `late` starts backups for the attempts with the lowest progress rates, the longest estimated time to end first. It
//! starts them only on nodes that are not slow, and limits how much of the cluster runs backups.
//!
//! Paper: Zaharia et al., "Improving MapReduce performance in heterogeneous environments", OSDI 2008, section 4 (LATE:
//! Longest Approximate Time to End).
//!
//! Algorithm: an attempt's progress rate is its progress divided by the time it has run, and its time left is
//! (1 − progress)/rate. When a node has a free slot and no task is pending:
//! - If as many backups run as SpeculativeCap (`cap`, 10% of the slots) allows, none starts.
//! - If the summed progress of the node's finished and running tasks is below SlowNodeThreshold (`slow_node`, the 25th
//!   percentile of nodes), it gets no backup.
//! - Of the attempts whose tasks have no backup, which have run for a minute (`min_age`), and whose rates are below
//!   SlowTaskThreshold (`slow_task`, the 25th percentile), the one with the longest time left gets a backup.
//!
//! Passes: `[Originals(order), Backups(late rule, speculative cap)]`; with `originals_first=false` in the other order.
//!
//! Hadoop 0.21 differs from the paper, and can be had with `late(slow_by=deviation,slow_task=1,min_age=60,
//! originals_first=false)` and a `cap` of ten backups: an attempt is slow if its rate is more than one standard deviation
//! below the mean, a job may always run ten backups, and the first job in the queue gets backups before later jobs get
//! their pending tasks.
//!
//! Readings:
//! - A backup starts while fewer than `cap` times the slots run, so the cap is rounded up. The slots are the copies of the
//!   candidate's demand that fit into the whole cluster.
//! - The percentile is interpolated between the two nearest rates; only rates below it are slow. So of two to five attempts
//!   the slowest is slow with the default, and none of attempts with equal rates.
//! - It is taken over the attempts of the phase whose rate is known, including finished ones. Otherwise the last attempt
//!   of a phase would be compared with itself. While fewer than two rates are known, no attempt is slow by its rate.
//! - In LATE every running attempt has a rate. Where it is known only after a share of the work (`knowledge =
//!   "progress(S)"`), an attempt that started no later than one whose rate is known counts as slower than all known rates
//!   until its own is known. Otherwise the slower ones of the fastest attempts, which report first, would get the backups.
//! - A node whose progress equals the percentile is not slow. Otherwise all nodes would be slow if all had the same
//!   progress.
//!
//! - With `slow_by=deviation` an attempt whose rate is not known, but its age, is slow by the percentile 0.25.
//!
//! The differences from the source, and what this was written from, are in the catalogue (`catalogue/sources/`).

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeSet;

use hindmost_core::cluster::{Attempt, Cluster, Node, Phase, Placement};
use hindmost_core::estimator::{Knowledge, Pace};
use hindmost_core::ids::{AttemptId, JobId, TaskId};
use hindmost_core::policy::{Round, Seen, View};
use hindmost_core::record::{Condition, Decision, Event};
use hindmost_core::resources::Resources;
use hindmost_core::time::Time;
use hindmost_math::distribution::Distribution;
use rustc_hash::{FxHashMap, FxHashSet};

use super::candidates::Candidates;
use super::node_progress::NodeProgress;
use super::progress_rates::{ProgressRates, Threshold};
use super::slow_by_age::{SlowByAge, remaining};
use super::{Cause, Rule, by_age, is_only_copy, only_copy};

/// What the threshold on progress rates is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowBy {
    /// A percentile of the rates.
    Percentile,
    /// A number of standard deviations below their mean.
    Deviation,
}

crate::words!(SlowBy: Percentile = "percentile", Deviation = "deviation");

crate::parameters! {
    /// The parameters of `late`.
    pub struct LateParameters {
        /// percentile of a phase's progress rates below which an attempt is slow; with slow_by=deviation, number of standard
        /// deviations below their mean
        pub slow_task: f64 = 0.25, in 0.0..=1.0;
        /// what slow_task is: percentile (as in the LATE paper) or deviation (as in Hadoop 0.21, where it is 1)
        pub slow_by: SlowBy = SlowBy::Percentile;
        /// percentile of the nodes' progress below which a node gets no backups
        pub slow_node: f64 = 0.25, in 0.0..=1.0;
        /// share of the cluster's capacity that may run backups
        pub cap: f64 = 0.1, in 0.0..=1.0;
        /// age below which an attempt gets no backup; 60 s in the LATE paper
        pub min_age: f64 = 0.0, in 0.0.., unit "s";
        /// pending tasks of all jobs start before any backup; false: a backup starts before pending tasks of other jobs,
        /// once none of its own phase is pending
        pub originals_first: bool = true;
    }
}

/// The rule by which LATE starts backups.
pub struct LateRule {
    parameters: LateParameters,
    /// Known progress rates of each phase's attempts.
    rates: FxHashMap<(JobId, u32), ProgressRates>,
    /// Attempts that are or were slow by their progress rate, grouped by the demand of a copy.
    slow: Vec<SlowAttempts>,
    /// Slow attempts with a known end whose jobs the order permits no more copies now.
    not_permitted: Candidates,
    /// Attempts that are slow by their age, or whose remaining times are estimated from their age.
    aged: SlowByAge,
    /// Running backups.
    backups: FxHashSet<AttemptId>,
    nodes: NodeProgress,
    /// The last result of [`age_when_slow`], with the durations and the pace for which it was computed.
    slow_age: Option<(Distribution, Pace, f64)>,
}

/// Slow attempts with the same demand.
struct SlowAttempts {
    demand: Resources,
    /// Expected ends with their attempts, the latest end first.
    attempts: BTreeSet<(Reverse<Time>, AttemptId)>,
}

impl SlowAttempts {
    /// Removes the attempts with the earliest expected ends, as far as they have ended.
    fn forget_ended(&mut self, cluster: &Cluster) {
        while let Some((Reverse(finish), id)) = self.attempts.last().copied() {
            if finish >= cluster.now() || cluster.attempt(id).is_some() {
                return;
            }
            self.attempts.pop_last();
        }
    }
}

impl LateRule {
    /// Creates the rule with these parameters.
    pub fn new(parameters: LateParameters) -> LateRule {
        LateRule {
            parameters,
            rates: FxHashMap::default(),
            slow: Vec::new(),
            not_permitted: Candidates::default(),
            aged: SlowByAge::default(),
            backups: FxHashSet::default(),
            nodes: NodeProgress::new(parameters.slow_node),
            slow_age: None,
        }
    }

    /// Returns the percentile by which an attempt of unknown rate is slow.
    fn percentile(&self) -> f64 {
        match self.parameters.slow_by {
            SlowBy::Percentile => self.parameters.slow_task,
            SlowBy::Deviation => 0.25,
        }
    }

    /// Returns what makes a rate slow.
    fn threshold(&self) -> Threshold {
        match self.parameters.slow_by {
            SlowBy::Percentile => Threshold::Percentile(self.parameters.slow_task),
            SlowBy::Deviation => Threshold::Deviations(self.parameters.slow_task),
        }
    }

    /// Adds attempts that have become slow. They are of the phase of `task`, given by the index of their task and their copy.
    fn add_slow(&mut self, task: TaskId, slow: Vec<(u32, u32)>, view: &View<'_>) {
        let Some(phase) = view.cluster.phase(task).filter(|_| !slow.is_empty()) else { return };
        for (index, copy) in slow {
            let id = AttemptId { task: TaskId { index, ..task }, copy };
            let Some(finish) = view.cluster.attempt(id).and_then(Attempt::expected_finish) else { continue };
            if estimates_by_age(view) {
                self.aged.add(id, view.cluster, view.estimator);
            } else {
                slow_of(&mut self.slow, phase.demand()).attempts.insert((Reverse(finish), id));
            }
        }
    }

    /// Adds an attempt that has started, if its progress rate will become known. Backups are not watched.
    fn started(&mut self, id: AttemptId, view: &View<'_>) {
        let Some((attempt, phase)) = view.cluster.attempt(id).zip(view.cluster.phase(id.task)) else { return };
        if rate(attempt).is_none() && !by_age(phase, view) {
            let rates = self.rates.entry((id.task.job, id.task.phase)).or_default();
            rates.started((id.task.index, id.copy), attempt.since());
        }
    }

    /// Removes an attempt that has ended from those whose rate is not known.
    fn ended(&mut self, id: AttemptId, view: &View<'_>) {
        let threshold = self.threshold();
        let Some(rates) = self.rates.get_mut(&(id.task.job, id.task.phase)) else { return };
        let slow = rates.ended((id.task.index, id.copy), threshold);
        self.add_slow(id.task, slow, view);
    }

    /// Returns the attempts without a known rate that no longer run, in the order of their ids.
    fn lost(&self, cluster: &Cluster) -> Vec<AttemptId> {
        let of_phase = |((job, phase), rates): (&(JobId, u32), &ProgressRates)| {
            let (job, phase) = (*job, *phase);
            let id = move |(index, copy)| AttemptId { task: TaskId { job, phase, index }, copy };
            rates.unknown().map(id).filter(|id| cluster.attempt(*id).is_none()).collect::<Vec<_>>()
        };
        let mut lost: Vec<AttemptId> = self.rates.iter().flat_map(of_phase).collect();
        lost.sort_unstable();
        lost
    }

    /// Records new information about an attempt: its progress rate is known, or it is slow by its age.
    fn update(&mut self, id: AttemptId, view: &mut View<'_>) {
        let cluster = view.cluster;
        let Some((attempt, phase)) = cluster.attempt(id).zip(cluster.phase(id.task)) else { return };
        // In a finished phase only a copy that the policy keeps on purpose may still run. Its rate is no longer used.
        if let Some(rate) = rate(attempt).filter(|_| !phase.is_finished()) {
            let threshold = self.threshold();
            let rates = self.rates.entry((id.task.job, id.task.phase)).or_default();
            let mut slow = rates.set((id.task.index, id.copy), attempt.since(), rate, threshold);
            // An attempt that was slow before is added again, because its expected end may have changed.
            slow.extend((rate < rates.limit()).then_some((id.task.index, id.copy)));
            self.add_slow(id.task, slow, view);
        } else {
            self.aged.add(id, cluster, view.estimator);
        }
        let old_enough = attempt.since() + Time::from_seconds(self.parameters.min_age);
        if old_enough > cluster.now() {
            view.wake(old_enough);
        }
    }

    /// Returns true if an attempt's progress rate is below the percentile of its phase. An attempt without a known rate
    /// counts as slow, because it became a candidate by its age.
    fn is_slow(&self, attempt: &Attempt) -> bool {
        let task = attempt.id().task;
        let limit = self.rates.get(&(task.job, task.phase)).map(ProgressRates::limit);
        rate(attempt).is_none_or(|rate| limit.is_some_and(|limit| rate < limit))
    }

    /// Returns true if an entry of `slow` is still valid: the attempt is slow, it is its task's only copy, and its
    /// expected end has not changed.
    fn is_valid(&self, (Reverse(finish), id): (Reverse<Time>, AttemptId), cluster: &Cluster) -> bool {
        self.may_be_helped(id, cluster) && cluster.attempt(id).and_then(Attempt::expected_finish) == Some(finish)
    }

    /// Returns true if an attempt is slow and its task's only copy.
    fn may_be_helped(&self, id: AttemptId, cluster: &Cluster) -> bool {
        only_copy(id, cluster).is_some_and(|(attempt, _)| self.is_slow(attempt))
    }

    fn is_old_enough(&self, id: AttemptId, cluster: &Cluster) -> bool {
        let min_age = Time::from_seconds(self.parameters.min_age);
        cluster.attempt(id).is_some_and(|attempt| cluster.now() - attempt.since() >= min_age)
    }

    /// Returns true if an attempt must wait because tasks of its own phase are pending. Where originals come first, those
    /// that are still pending fit nowhere.
    fn waits_for_originals(&self, id: AttemptId, cluster: &Cluster) -> bool {
        !self.parameters.originals_first && cluster.phase(id.task).is_some_and(|phase| phase.pending() > 0)
    }

    /// Adds attempts that are slow by their age to `found`, until the last entry of `found` has the longest remaining
    /// time of all such attempts that this round has not served. `found` is sorted, the shortest remaining time first.
    /// `last` is the attempt that was served last, and `backups` the number of running backups.
    fn find_aged(&mut self, last: Option<Found>, backups: usize, found: &mut Vec<Found>, round: &Round<'_>) {
        let cluster = round.cluster();
        loop {
            let left = |scale, rank| by_age::left(scale, rank, cluster.now());
            let above = found.last().map_or(f64::NEG_INFINITY, |(longest, _)| *longest);
            let (nodes, cap) = (&mut self.nodes, self.parameters.cap);
            let next = self.aged.known.next(left, above, |demand| {
                is_exhausted(cap, backups, demand, nodes, cluster)
                    || nodes.first_good(demand, cluster, |_| true).is_some()
            });
            let Some((_, id)) = next else { return };
            let entry = (remaining(id, round), id);
            if last.is_none_or(|last| shortest_first(&entry, &last).is_lt()) && self.may_be_helped(id, cluster) {
                found.insert(found.partition_point(|other| shortest_first(other, &entry).is_lt()), entry);
            }
        }
    }

    /// Moves attempts from `not_permitted` back to `slow` if the order may permit their jobs another copy now.
    fn permit_again(&mut self, round: &Round<'_>) {
        for (rank, id) in self.not_permitted.take_permitted(round) {
            if let Some(phase) = round.cluster().phase(id.task) {
                slow_of(&mut self.slow, phase.demand()).attempts.insert((Reverse(by_age::end(rank)), id));
            }
        }
    }

    /// Returns true if no backup can be started in this round: either no attempt is slow, or no progress rate is known
    /// and, for the demand of each attempt that is slow by its age, the cap is reached or no good node has free
    /// resources.
    fn is_in_vain(&mut self, round: &Round<'_>) -> bool {
        let cluster = round.cluster();
        self.aged.forget_copied(round);
        let (nodes, backups, cap) = (&mut self.nodes, self.backups.len(), self.parameters.cap);
        let mut in_vain = |demand: &Resources| {
            is_exhausted(cap, backups, demand, nodes, cluster) || nodes.first_good(demand, cluster, |_| true).is_none()
        };
        self.slow.is_empty()
            && (self.aged.is_empty() || self.rates.is_empty() && self.aged.demands(cluster).all(&mut in_vain))
    }

    /// Starts a backup on a good node, that is, one that is not slow. Returns `None` if the backup fits on no good node,
    /// and `Some(false)` if the start was refused.
    fn start_backup(&mut self, task: TaskId, demand: &Resources, round: &mut Round<'_>) -> Option<bool> {
        let cluster = round.cluster();
        let allowed = |node| cluster.may_copy_on(task, node) && !cluster.avoids(task, node);
        let first = self.nodes.first_good(demand, cluster, allowed)?;
        let is_allowed = |node, _: &Node| self.nodes.is_good(node) && allowed(node);
        let node = match cluster.placement() {
            Placement::First => first,
            Placement::Random | Placement::Spread | Placement::Fastest => {
                cluster.find_node(task, demand, is_allowed)?
            }
        };
        Some(round.start(task, node))
    }
}

/// Returns true if the cap allows no backup with this demand in addition to `backups` running ones.
fn is_exhausted(cap: f64, backups: usize, demand: &Resources, nodes: &mut NodeProgress, cluster: &Cluster) -> bool {
    backups as f64 >= cap * nodes.in_all(demand, cluster) as f64
}

/// Returns the slow attempts with a demand. Adds an empty entry for a new demand.
fn slow_of<'a>(slow: &'a mut Vec<SlowAttempts>, demand: &Resources) -> &'a mut SlowAttempts {
    let at = slow.iter().position(|known| known.demand == *demand).unwrap_or_else(|| {
        slow.push(SlowAttempts { demand: *demand, attempts: BTreeSet::new() });
        slow.len() - 1
    });
    &mut slow[at]
}

/// Returns the progress rate in 1/seconds; `None` while it is unknown. It is one over the attempt's expected duration,
/// which assumes that progress is even.
fn rate(attempt: &Attempt) -> Option<f64> {
    attempt.expected_finish().map(|finish| 1.0 / (finish - attempt.since()).seconds().max(1e-9))
}

/// Returns true if remaining times are estimated from ages only.
fn estimates_by_age(view: &View<'_>) -> bool {
    matches!(view.estimator.knowledge(), Knowledge::Age | Knowledge::History)
}

/// Returns true if the progress of a phase's attempts is unknown, so that only their ages are known.
fn by_age(phase: &Phase, view: &View<'_>) -> bool {
    estimates_by_age(view) || !phase.gives_progress()
}

/// Returns the age at which an attempt becomes slow, in seconds on a node of speed 1. At this age its expected duration
/// E\[x | x > age], at its pace, reaches the duration that a share `slow` of its phase exceeds on a node of speed 1.
fn age_when_slow(durations: &Distribution, slow: f64, pace: Pace) -> f64 {
    let limit = durations.quantile((1.0 - slow).min(1.0 - f64::EPSILON)) / pace.seconds(1.0);
    let (mut low, mut high) = (0.0, limit);
    // E[x | x > age] grows with age and is above `limit` at age `limit`.
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if middle + durations.mean_residual(middle) > limit { high = middle } else { low = middle }
    }
    high
}

impl Rule for LateRule {
    fn condition(&mut self, attempt: &Attempt, phase: &Phase, view: &View<'_>) -> Option<Condition> {
        // A backup that is now its task's only copy no longer counts as a backup.
        self.backups.remove(&attempt.id());
        if !by_age(phase, view) {
            return Some(Condition::Revealed);
        }
        if phase.is_assumed() {
            return None;
        }
        let (durations, pace) = (phase.durations(), Pace::of(view.cluster, attempt));
        let known = self.slow_age.as_ref().filter(|(of, at, _)| *at == pace && of == durations);
        let age = known.map_or_else(|| age_when_slow(durations, self.percentile(), pace), |(_, _, age)| *age);
        if known.is_none() {
            self.slow_age = Some((durations.clone(), pace, age));
        }
        Some(Condition::ElapsedAbove(pace.seconds(age).max(self.parameters.min_age)))
    }

    fn watches_again(&self, cause: Cause, attempt: &Attempt, view: &View<'_>) -> bool {
        match cause {
            Cause::LeftAlone => true,
            Cause::NodeLost => attempt.expected_finish().is_none(),
            // If only the age is known, the condition depends on the phase's durations.
            Cause::DurationsLearned => {
                let gives_progress = view.cluster.phase(attempt.id().task).is_none_or(Phase::gives_progress);
                !gives_progress || view.estimator.knowledge() == Knowledge::History
            }
            Cause::SpeedLearned => false,
        }
    }

    fn observe(&mut self, seen: Seen<'_>, view: &mut View<'_>, _candidates: &mut Vec<AttemptId>) {
        let cluster = view.cluster;
        self.aged.observe(seen, view);
        // `update` records a changed end, so the list of candidates with new information is not needed.
        self.not_permitted.observe(seen, cluster, &mut Vec::new());
        match seen {
            Seen::Decision(Decision::Start { attempt, node, .. }) => {
                if cluster.task(attempt.task).is_some_and(|task| task.running_copies() > 1) {
                    self.backups.insert(*attempt);
                } else {
                    self.started(*attempt, view);
                }
                self.nodes.changed(*node, cluster);
            }
            Seen::Decision(Decision::Replace { attempt, .. }) => {
                self.started(*attempt, view);
                if let Some(node) = cluster.attempt(*attempt).map(Attempt::node) {
                    self.nodes.changed(node, cluster);
                }
            }
            Seen::Decision(Decision::Abandon { job }) => self.rates.retain(|(other, _), _| other != job),
            Seen::Event(Event::WatchMet { attempt, .. }, _) => self.update(*attempt, view),
            Seen::Event(
                Event::AttemptFinished { attempt }
                | Event::AttemptFailed { attempt, .. }
                | Event::AttemptStopped { attempt },
                applied,
            ) => {
                self.backups.remove(attempt);
                let finished = matches!(seen, Seen::Event(Event::AttemptFinished { .. }, _));
                if let Some((node, _)) = applied.released.filter(|_| finished) {
                    self.nodes.finished(node);
                }
                if let Some(node) = applied.ended_on {
                    self.nodes.changed(node, cluster);
                }
                if finished && applied.phase_finished {
                    self.rates.remove(&(attempt.task.job, attempt.task.phase));
                } else {
                    self.ended(*attempt, view);
                }
            }
            Seen::Event(Event::NodeLost { node, .. }, _) => {
                self.backups.retain(|id| cluster.attempt(*id).is_some());
                for id in self.lost(cluster) {
                    self.ended(id, view);
                }
                self.nodes.changed(*node, cluster);
            }
            Seen::Event(Event::NodeJoined { node, .. } | Event::NodeReturned { node }, _) => {
                self.nodes.changed(*node, cluster);
            }
            _ => {}
        }
    }

    fn serve(&mut self, candidates: &mut Vec<AttemptId>, round: &mut Round<'_>) {
        candidates.clear();
        if round.cluster().open_nodes() == 0 {
            return;
        }
        self.permit_again(round);
        if self.is_in_vain(round) {
            return self.aged.keep_new(round);
        }
        let mut new = self.aged.take_new(round);
        new.retain(|id| self.may_be_helped(*id, round.cluster()));
        let mut by_age: Vec<Found> = new.iter().map(|id| (remaining(*id, round), *id)).collect();
        by_age.sort_unstable_by(shortest_first);
        let mut last = None;
        // `self.backups` gets the backups of this round only when their records are observed.
        let mut backups = self.backups.len();
        let mut slow = std::mem::take(&mut self.slow);
        // For each demand: the attempt served last, and whether the demand fits on no good node.
        let mut served: Vec<Option<(Reverse<Time>, AttemptId)>> = vec![None; slow.len()];
        let mut nowhere = vec![false; slow.len()];
        let now = round.cluster().now();
        loop {
            self.find_aged(last, backups, &mut by_age, round);
            let heads = slow.iter().enumerate().filter(|(at, _)| !nowhere[*at]).filter_map(|(at, of_demand)| {
                let next = after(&of_demand.attempts, served[at]);
                next.map(|entry| (entry, at))
            });
            let head = heads.min();
            let oldest = by_age.last().copied();
            if let Some(((Reverse(finish), _), _)) = head
                && finish <= now
            {
                // This attempt and all attempts after it should have ended by now. Their remaining time counts as 0,
                // so they are served in order of their ids.
                for (of_demand, nowhere) in slow.iter().zip(&mut nowhere) {
                    let overdue = of_demand.attempts.range((Reverse(now), FIRST)..);
                    let valid = overdue.filter(|entry| !*nowhere && self.is_valid(**entry, round.cluster()));
                    by_age.extend(valid.map(|(_, id)| (0.0, *id)));
                    *nowhere = true;
                }
                by_age.sort_unstable_by(shortest_first);
                continue;
            }
            // The attempt with the longest remaining time is next; ties go to the smaller id.
            let (id, at) = match (head, oldest) {
                (Some(((Reverse(finish), id), at)), oldest)
                    if oldest.is_none_or(|oldest| shortest_first(&((finish - now).seconds(), id), &oldest).is_gt()) =>
                {
                    served[at] = Some((Reverse(finish), id));
                    last = Some(((finish - now).seconds(), id));
                    if !self.is_valid((Reverse(finish), id), round.cluster()) {
                        slow[at].attempts.remove(&(Reverse(finish), id));
                        continue;
                    }
                    (id, Some((at, finish)))
                }
                (_, Some((_, id))) => {
                    last = by_age.pop();
                    (id, None)
                }
                (_, None) => break,
            };
            let cluster = round.cluster();
            let Some(demand) = cluster.phase(id.task).map(|phase| *phase.demand()) else { continue };
            if !self.is_old_enough(id, cluster) || self.waits_for_originals(id, cluster) {
                continue;
            }
            if !round.may_start(id.task) {
                if let Some((at, finish)) = at.filter(|_| round.slack() < round.slack_needed(id.task)) {
                    slow[at].attempts.remove(&(Reverse(finish), id));
                    self.not_permitted.put(by_age::ends(finish), id, Time::NEVER, &demand);
                }
                continue;
            }
            let cluster = round.cluster();
            if is_exhausted(self.parameters.cap, backups, &demand, &mut self.nodes, cluster) {
                break;
            }
            match self.start_backup(id.task, &demand, round) {
                Some(true) => {
                    round.because(|| {
                        let share = 100.0 * self.parameters.slow_task;
                        match self.parameters.slow_by {
                            SlowBy::Percentile => format!(
                                "attempt {} was among the slowest {share}% of its phase by progress rate",
                                id.copy
                            ),
                            SlowBy::Deviation => format!(
                                "the progress rate of attempt {} was more than {} standard deviations below the mean of its phase",
                                id.copy, self.parameters.slow_task
                            ),
                        }
                    });
                    backups += 1;
                    self.aged.known.try_again();
                }
                Some(false) => {}
                None => {
                    if let Some((at, _)) = at {
                        nowhere[at] = self.nodes.first_good(&demand, round.cluster(), |_| true).is_none();
                    }
                }
            }
        }
        for of_demand in &mut slow {
            of_demand.forget_ended(round.cluster());
        }
        slow.retain(|of_demand| !of_demand.attempts.is_empty());
        self.slow = slow;
        self.aged.known.end_round();
        new.retain(|id| is_only_copy(*id, round.cluster()));
        self.aged.new = new;
        self.aged.keep_new(round);
    }
}

/// A remaining time in seconds and its attempt.
type Found = (f64, AttemptId);

/// The smallest attempt id.
const FIRST: AttemptId = AttemptId { task: TaskId { job: JobId(0), phase: 0, index: 0 }, copy: 0 };

/// Sorts the shortest remaining time first, and equal remaining times by descending id.
fn shortest_first(one: &Found, other: &Found) -> Ordering {
    one.0.total_cmp(&other.0).then(other.1.cmp(&one.1))
}

/// Returns the first entry after `entry`, or the first of all entries if `entry` is `None`.
fn after(
    entries: &BTreeSet<(Reverse<Time>, AttemptId)>,
    entry: Option<(Reverse<Time>, AttemptId)>,
) -> Option<(Reverse<Time>, AttemptId)> {
    match entry {
        None => entries.first().copied(),
        Some(entry) => entries.range((std::ops::Bound::Excluded(entry), std::ops::Bound::Unbounded)).next().copied(),
    }
}
