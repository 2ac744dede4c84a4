//! `mcp` starts a backup for a slow attempt if the time that the backup saves is worth the slots that both hold. How much
//! slots are worth grows with the load of the cluster.
//!
//! Paper: Chen, Liu & Xiao, "Improving MapReduce Performance Using Smart Speculative Execution Strategy", IEEE
//! Transactions on Computers 63(4), 2014 (MCP: Maximum Cost Performance).
//!
//! Algorithm:
//! - Each progress report of an attempt gives a progress rate Y. The rate is predicted by an exponentially weighted moving
//!   average (`smoothing` = a): Z(t) = a·Y(t) + (1 − a)·Z(t − 1), with Z = Y at the first report. The process bandwidth is
//!   the rate times the bytes that the task reads.
//! - An attempt is slow if its predicted rate and its predicted bandwidth are both below the mean of its phase.
//! - Its remaining time is t_rem = (1 − progress)/Z. A backup takes t_backup = est·factor_d, where est is the mean duration
//!   of the phase's finished tasks and factor_d = Data_input/Data_avg the task's input, relative to their mean input.
//! - With a backup two slots are held for t_backup, without it one for t_rem. If α is the worth of time saved and β that of
//!   slot-time, the profits are α·(t_rem − t_backup) − 2β·t_backup and −β·t_rem. The first is larger if
//!   t_rem/t_backup > (1 + 2γ)/(1 + γ), with γ = β/α. γ is the load factor: the number of pending tasks divided by the number
//!   of free slots.
//! - Of the slow attempts that have run for a minute (`min_age`) and for which that holds, the one with the longest remaining
//!   time gets a backup, while backups run for less than 10% (`cap`) of the running tasks.
//! - A node's speed is the moving average of the bandwidth of attempts that finished on it and read their input there. The
//!   slowest nodes get no backup.
//!
//! Passes: `[Backups(mcp rule, speculative cap), Originals(order)]`.
//!
//! Readings:
//! - A phase is one stage of progress here. So the remaining time has no later stages, which a map or reduce task has in the
//!   paper (map and combine; copy, sort and reduce).
//! - An attempt waits while tasks of its own phase are pending, as in Hadoop. Tasks of other phases and jobs start after
//!   backups; they are why γ is not 0. The free slots are the copies of the attempt's demand that fit on free resources.
//! - Finished attempts count for the means, with their whole duration. No attempt of a phase gets a backup before a task of
//!   the phase has finished.
//! - Tasks of unknown input have equal inputs, and are local on every node.
//! - A bandwidth on a node is taken relative to the mean bandwidth of its phase, so that nodes that ran different jobs
//!   can be compared. A node is slow below a percentile (`slow_node`) of the nodes that have a speed; one without is not.
//! - Progress is known when the progress model reveals it. Its rate is even until a report shows another rate. Reports
//!   come every `report` seconds; as many as have come enter the average.
//! - A backup starts while fewer than `cap` times the running attempts are backups, so the cap is rounded up.
//!
//! The differences from the source, and what this was written from, are in the catalogue (`catalogue/sources/`).

mod phases;

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use hindmost_core::cluster::{Attempt, Cluster, Locality, Phase};
use hindmost_core::ids::{AttemptId, NodeId};
use hindmost_core::policy::{Round, Seen, View};
use hindmost_core::record::{Condition, Decision, Event};
use hindmost_core::time::Time;
use rustc_hash::{FxHashMap, FxHashSet};

use super::progress_rates::{ProgressRates, Threshold};
use super::{Cause, Rule, only_copy};
use crate::cloning::sca::Fitting;
use phases::{Entry, Phases, phase_of};

crate::parameters! {
    /// The parameters of `mcp`.
    pub struct McpParameters {
        /// weight of the newest progress report, and of the newest attempt on a node, in moving averages
        pub smoothing: f64 = 0.2, in 0.01..=1.0;
        /// time between two progress reports of an attempt
        pub report: f64 = 3.0, in 0.0..=1e9, unit "s";
        /// percentile of the nodes' speeds below which a node gets no backups
        pub slow_node: f64 = 0.25, in 0.0..=1.0;
        /// share of the running attempts that may be backups
        pub cap: f64 = 0.1, in 0.0..=1.0;
        /// age below which an attempt gets no backup; 60 s in the paper
        pub min_age: f64 = 0.0, in 0.0.., unit "s";
    }
}

/// A predicted rate this near to the newest one, relatively, counts as equal.
const SETTLED: f64 = 0.01;

/// The progress of an attempt and its predicted rate.
#[derive(Clone, Copy, Debug)]
struct Progress {
    /// The time from which on the rate is the newest one.
    at: Time,
    /// The share of the work that was done then.
    share: f64,
    /// The newest progress rate, per second.
    rate: f64,
    /// The moving average of rates then.
    average: f64,
    /// The predicted end with which the attempt is among the slow ones of its phase; `None` if it is not.
    listed: Option<Time>,
}

impl Progress {
    /// Returns the progress and average at a time, after the reports that have come until then.
    fn later(self, now: Time, parameters: &McpParameters) -> Progress {
        let elapsed = (now - self.at).seconds();
        let reports =
            if parameters.report > 0.0 { (elapsed / parameters.report + 1e-9).floor() } else { f64::INFINITY };
        let weight = if reports < 1.0 { 1.0 } else { (1.0 - parameters.smoothing).powf(reports) };
        Progress {
            average: self.rate + weight * (self.average - self.rate),
            share: self.share + elapsed * self.rate,
            ..self
        }
    }

    /// Returns the predicted remaining time in seconds.
    fn remaining(&self) -> f64 {
        (1.0 - self.share).max(0.0) / self.average
    }

    /// Returns the time of the next report after `now`; `None` if it leaves the average as it is.
    fn next_report(&self, now: Time, average: f64, parameters: &McpParameters) -> Option<Time> {
        if parameters.report == 0.0 || (average / self.rate - 1.0).abs() < SETTLED {
            return None;
        }
        let reports = ((now - self.at).seconds() / parameters.report + 1e-9).floor() + 1.0;
        Some(self.at + Time::from_seconds(reports * parameters.report))
    }
}

/// The rule by which MCP starts backups.
pub struct McpRule {
    parameters: McpParameters,
    phases: Phases,
    progress: FxHashMap<AttemptId, Progress>,
    /// The next reports of attempts whose predicted rate still changes.
    reports: BTreeSet<(Time, AttemptId)>,
    /// Running backups.
    backups: FxHashSet<AttemptId>,
    /// The moving average of each node's relative bandwidths, and the averages of all nodes in order.
    speeds: FxHashMap<NodeId, f64>,
    nodes: ProgressRates,
}

impl McpRule {
    /// Creates the rule with these parameters.
    pub fn new(parameters: McpParameters) -> McpRule {
        McpRule {
            parameters,
            phases: Phases::default(),
            progress: FxHashMap::default(),
            reports: BTreeSet::new(),
            backups: FxHashSet::default(),
            speeds: FxHashMap::default(),
            nodes: ProgressRates::default(),
        }
    }

    /// Records the expected finish that a report shows.
    fn reported(&mut self, id: AttemptId, cluster: &Cluster) {
        let Some(attempt) = cluster.attempt(id) else { return };
        let Some(finish) = attempt.expected_finish() else { return };
        let (now, since) = (cluster.now(), attempt.since());
        if let Some(known) = self.progress.get_mut(&id) {
            let reported = known.later(now, &self.parameters);
            let left = (finish - now).seconds();
            // An attempt that should have ended shows no rate.
            if left > 0.0 && reported.share < 1.0 {
                *known = Progress { at: now, rate: (1.0 - reported.share) / left, ..reported };
            }
        } else {
            let rate = 1.0 / (finish - since).seconds().max(1e-9);
            let share = ((now - since).seconds() * rate).min(1.0);
            self.progress.insert(id, Progress { at: now, share, rate, average: rate, listed: None });
        }
    }

    /// Updates the predicted rate of an attempt. Returns the times at which it needs rounds.
    fn update(&mut self, id: AttemptId, cluster: &Cluster) -> impl Iterator<Item = Time> + use<> {
        let (mut report, mut old_enough) = (None, None);
        // In a finished phase only a copy that is kept on purpose may still run.
        let running = cluster.attempt(id).filter(|_| cluster.phase(id.task).is_some_and(|phase| !phase.is_finished()));
        if let (Some(attempt), Some(known)) = (running, self.progress.get(&id)) {
            let (now, since) = (cluster.now(), attempt.since());
            let average = known.later(now, &self.parameters).average;
            report = known.next_report(now, average, &self.parameters);
            old_enough = Some(since + Time::from_seconds(self.parameters.min_age)).filter(|at| *at > now);
            self.reports.extend(report.map(|at| (at, id)));
            for id in self.phases.set_rate(id, since, average, cluster) {
                self.list_if_slow(id, cluster);
            }
        }
        report.into_iter().chain(old_enough)
    }

    /// Lists an attempt by its predicted end if it is slow and its task's only copy.
    fn list_if_slow(&mut self, id: AttemptId, cluster: &Cluster) {
        self.unlist(id, cluster);
        let (Some(_), Some(known)) = (only_copy(id, cluster), self.progress.get_mut(&id)) else { return };
        let now = known.later(cluster.now(), &self.parameters);
        if self.phases.is_slow(id, now.average, cluster) {
            let end = cluster.now() + Time::from_seconds(now.remaining());
            known.listed = Some(end);
            self.phases.add_slow((Reverse(end), id), cluster);
        }
    }

    fn unlist(&mut self, id: AttemptId, cluster: &Cluster) {
        if let Some(end) = self.progress.get_mut(&id).and_then(|known| known.listed.take()) {
            self.phases.remove_slow((Reverse(end), id), cluster);
        }
    }

    fn forget(&mut self, id: AttemptId, cluster: &Cluster) {
        self.unlist(id, cluster);
        self.progress.remove(&id);
        self.backups.remove(&id);
    }

    /// Counts an attempt that has won.
    fn won(&mut self, id: AttemptId, node: NodeId, since: Time, cluster: &Cluster) {
        let seconds = (cluster.now() - since).seconds().max(1e-9);
        let speed = self.phases.finished(id.task, seconds, cluster);
        let is_local = cluster.replicas(id.task).is_empty() || cluster.locality(id.task, node) == Locality::Node;
        if let Some(speed) = speed.filter(|_| is_local) {
            let average = self.speeds.entry(node).or_insert(speed);
            *average += self.parameters.smoothing * (speed - *average);
            self.nodes.set((node.0, 0), Time::ZERO, *average, Threshold::Percentile(self.parameters.slow_node));
        }
        for id in self.phases.set_rate(id, since, 1.0 / seconds, cluster) {
            self.list_if_slow(id, cluster);
        }
    }

    /// Starts a backup for a slow attempt if that is worth its cost. Returns true if one was started.
    fn help(&mut self, id: AttemptId, round: &mut Round<'_>) -> bool {
        let cluster = round.cluster();
        let Some((attempt, phase)) = only_copy(id, cluster) else { return false };
        let Some(known) = self.progress.get(&id).map(|known| known.later(cluster.now(), &self.parameters)) else {
            return false;
        };
        if !self.phases.is_slow(id, known.average, cluster) {
            // It is listed again if it becomes slow.
            self.unlist(id, cluster);
            return false;
        }
        let min_age = Time::from_seconds(self.parameters.min_age);
        let Some(backup) = self.phases.backup(id.task, cluster) else { return false };
        if phase.pending() > 0 || cluster.now() - attempt.since() < min_age {
            return false;
        }
        let (remaining, pending) = (known.remaining(), cluster.runnable());
        let pays = |free| free > 0 && remaining > least_ratio(pending, free) * backup;
        if !Fitting::of(phase.demand(), cluster).reach(pays, cluster) {
            return false;
        }
        let limit = self.nodes.limit();
        let is_good = |node| self.speeds.get(&node).is_none_or(|speed| *speed >= limit);
        let started = round.start_copy(id.task, is_good).is_ok();
        if started {
            round.because(|| {
                format!(
                    "attempt {} was below the mean rate of its phase: its remaining time was {remaining:.2} s, and a backup \
                     was expected to take {backup:.2} s",
                    id.copy
                )
            });
        }
        started
    }
}

/// Returns the ratio of the remaining time to the duration of a backup that a backup must exceed to be worth its cost.
fn least_ratio(pending: u64, free: u64) -> f64 {
    let load = pending as f64 / free as f64;
    if load.is_finite() { (1.0 + 2.0 * load) / (1.0 + load) } else { 2.0 }
}

impl Rule for McpRule {
    fn condition(&mut self, attempt: &Attempt, _phase: &Phase, _view: &View<'_>) -> Option<Condition> {
        // A backup that is now its task's only copy no longer counts as a backup.
        self.backups.remove(&attempt.id());
        Some(Condition::Revealed)
    }

    fn watches_again(&self, cause: Cause, attempt: &Attempt, view: &View<'_>) -> bool {
        let had_copies = || view.cluster.task(attempt.id().task).is_some_and(|task| task.launched() > 1);
        match cause {
            Cause::LeftAlone => true,
            Cause::NodeLost => attempt.expected_finish().is_none() || had_copies(),
            Cause::DurationsLearned | Cause::SpeedLearned => false,
        }
    }

    fn observe(&mut self, seen: Seen<'_>, view: &mut View<'_>, _candidates: &mut Vec<AttemptId>) {
        let cluster = view.cluster;
        match seen {
            Seen::Decision(Decision::Start { attempt, .. }) => {
                if cluster.task(attempt.task).is_some_and(|task| task.running_copies() > 1) {
                    self.backups.insert(*attempt);
                    for copy in cluster.copies(attempt.task) {
                        self.unlist(copy.id(), cluster);
                    }
                }
                self.phases.refresh(attempt.task, cluster);
            }
            Seen::Decision(Decision::Abandon { job }) => self.phases.forget(|(other, _)| other == *job),
            Seen::Event(Event::WatchMet { attempt, .. }, _) => {
                self.reported(*attempt, cluster);
                self.update(*attempt, cluster).for_each(|at| view.wake(at));
            }
            Seen::Event(Event::AttemptFinished { attempt }, applied) => {
                self.forget(*attempt, cluster);
                if let Some((node, since)) = applied.released.filter(|_| applied.won) {
                    self.won(*attempt, node, since, cluster);
                }
                self.phases.refresh(attempt.task, cluster);
                if applied.phase_finished {
                    self.phases.remove(phase_of(attempt.task));
                }
            }
            Seen::Event(Event::AttemptFailed { attempt, .. } | Event::AttemptStopped { attempt }, _) => {
                self.forget(*attempt, cluster);
                self.phases.refresh(attempt.task, cluster);
            }
            Seen::Event(
                Event::TaskWithheld { task, .. } | Event::TaskReturned { task } | Event::TaskGivenUp { task },
                applied,
            ) => {
                self.phases.refresh(*task, cluster);
                if applied.phase_finished {
                    self.phases.remove(phase_of(*task));
                }
            }
            Seen::Event(Event::NodeLost { .. }, _) => {
                let known = self.progress.keys().chain(&self.backups).copied();
                let lost: Vec<AttemptId> = known.filter(|id| cluster.attempt(*id).is_none()).collect();
                for id in lost {
                    self.forget(id, cluster);
                }
            }
            _ => {}
        }
    }

    fn serve(&mut self, candidates: &mut Vec<AttemptId>, round: &mut Round<'_>) {
        candidates.clear();
        let now = round.cluster().now();
        while let Some((_, id)) = self.reports.first().copied().filter(|(at, _)| *at <= now) {
            self.reports.pop_first();
            for at in self.update(id, round.cluster()) {
                round.decide(Decision::Wake { at });
            }
        }
        let cluster = round.cluster();
        if cluster.open_nodes() == 0 {
            return;
        }
        let one_slot = cluster.dimensions().is_one_slot();
        let ratio = if one_slot { least_ratio(cluster.runnable(), cluster.open_nodes() as u64) } else { 1.0 };
        let later_first = |(Reverse(end), id): Entry| (end, Reverse(id));
        let mut heads: BinaryHeap<(Time, Reverse<AttemptId>)> =
            self.phases.exceeding(ratio, now).map(later_first).collect();
        // `self.backups` gets the backups of this round only when their records are observed.
        let mut backups = self.backups.len();
        while (backups as f64) < self.parameters.cap * round.cluster().running_attempts() as f64 {
            let Some((end, Reverse(id))) = heads.pop() else { break };
            if !round.may_start(id.task) {
                continue;
            }
            heads.extend(self.phases.after((Reverse(end), id), now).map(later_first));
            backups += usize::from(self.help(id, round));
        }
    }
}
