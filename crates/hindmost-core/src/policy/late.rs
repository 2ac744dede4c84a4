//! `late`: Longest Approximate Time to End (Zaharia et al., "Improving MapReduce performance in
//! heterogeneous environments", OSDI 2008).
//!
//! An attempt's progress rate is its progress over the time it has run. Attempts whose rate is below
//! the `slow_task` percentile of their phase are candidates; the one with the longest estimated time
//! to end gets a backup, one a task, as long as fewer than a share `cap` of the cluster's room runs
//! backups (SpeculativeCap), and only on nodes whose summed progress is not below the `slow_node`
//! percentile.
//!
//! Passes: `[Originals(order), Backups(late rule, speculative cap)]`.
//!
//! Readings: the percentile is over the phase's attempts whose rate is known, finished ones included,
//! each counted at the time it becomes known (in a live run again when it turns out otherwise), and needs at
//! least two of them; a node's progress is
//! the number of attempts it has finished plus one half for each that runs (what it has done of them
//! is not known in between); nodes at the percentile are not slow, or with equal nodes none would do. With `age` no
//! rate is known: an attempt is then slow once its expected duration, given its age, is above the
//! same percentile of the phase's distribution.
//!
//! Parameters: `slow_task`, 0.25; `slow_node`, 0.25; `cap`, 0.1; `min_age`, seconds, 0 (LATE's own: 60).

use rustc_hash::FxHashMap;

use crate::cluster::{Attempt, Cluster, Phase};
use crate::estimator::{Knowledge, Pace};
use crate::ids::{AttemptId, JobId, NodeId};
use crate::record::{Condition, Decision, Event};
use crate::resources::Resources;
use crate::time::Time;

use super::{Pass, Round, Seen, View, is_only_copy};

/// LATE's parameters. See the module's documentation.
#[derive(Clone, Copy, Debug)]
pub struct LateParameters {
    /// SlowTaskThreshold: percentile of progress rates, in [0, 1].
    pub slow_task: f64,
    /// SlowNodeThreshold: percentile of nodes' progress, in [0, 1].
    pub slow_node: f64,
    /// SpeculativeCap: share of the cluster's room that may run backups.
    pub cap: f64,
    /// Age below which an attempt is left alone, seconds.
    pub min_age: f64,
}

/// The progress rate of an attempt, 1/seconds.
struct Rate {
    per_second: f64,
    attempt: AttemptId,
    /// True while the attempt is among the candidates.
    candidate: bool,
}

/// LATE's rule. See the module's documentation.
pub struct LateBackups {
    parameters: LateParameters,
    /// Known progress rates of each phase's attempts, slowest first.
    rates: FxHashMap<(JobId, u32), Vec<Rate>>,
    /// Phases in which a rate has become known since candidates were last looked for.
    changed: Vec<(JobId, u32)>,
    /// Attempts that are or were slow, without a backup.
    candidates: Vec<AttemptId>,
    /// Living backups.
    backups: Vec<AttemptId>,
    /// Attempts finished on each node.
    finished: Vec<u32>,
}

impl LateBackups {
    /// With these parameters.
    pub fn new(parameters: LateParameters) -> LateBackups {
        LateBackups {
            parameters,
            rates: FxHashMap::default(),
            changed: Vec::new(),
            candidates: Vec::new(),
            backups: Vec::new(),
            finished: Vec::new(),
        }
    }

    fn started(&mut self, attempt: AttemptId, view: &mut View<'_>) {
        let cluster = view.cluster;
        let Some(found) = cluster.attempt(attempt) else { return };
        if !is_only_copy(cluster, found) {
            self.backups.push(attempt);
            return;
        }
        self.watch(attempt, view);
    }

    fn watch(&self, attempt: AttemptId, view: &mut View<'_>) {
        let cluster = view.cluster;
        let Some((found, phase)) = cluster.attempt(attempt).zip(cluster.phase(attempt.task)) else { return };
        let by_age = matches!(view.estimator.knowledge(), Knowledge::Age | Knowledge::History);
        let condition = if by_age || !phase.gives_progress() {
            if phase.is_assumed() {
                return;
            }
            let pace = Pace::of(cluster, found);
            let age = age_when_slow(phase, self.parameters.slow_task, pace);
            Condition::ElapsedAbove(pace.seconds(age).max(self.parameters.min_age))
        } else {
            Condition::Revealed
        };
        view.watch(attempt, condition);
    }

    /// Watches attempts again, by id, that are their task's only copy.
    fn watch_again(&mut self, concerns: impl Fn(&Attempt) -> bool, view: &mut View<'_>) {
        let cluster = view.cluster;
        let living = cluster.living().filter(|attempt| is_only_copy(cluster, attempt) && concerns(attempt));
        let mut again: Vec<AttemptId> = living.map(Attempt::id).collect();
        again.sort_unstable();
        for attempt in again {
            self.backups.retain(|backup| *backup != attempt);
            self.watch(attempt, view);
        }
    }

    fn known(&mut self, id: AttemptId, view: &mut View<'_>) {
        let cluster = view.cluster;
        let Some(attempt) = cluster.attempt(id) else { return };
        let key = (id.task.job, id.task.phase);
        // Of a phase that has finished only a copy that its policy keeps may be left: nobody asks any more.
        let over = cluster.phase(id.task).is_some_and(Phase::is_finished);
        if let Some(rate) = rate(attempt).filter(|_| !over) {
            let rates = self.rates.entry(key).or_default();
            // It may have turned out otherwise than was told before.
            if let Some(before) = rates.iter().position(|known| known.attempt == id) {
                rates.remove(before);
            }
            let at = rates.partition_point(|known| known.per_second < rate);
            rates.insert(at, Rate { per_second: rate, attempt: id, candidate: false });
            if self.changed.last() != Some(&key) {
                self.changed.push(key);
            }
        } else {
            // By age: it is slow from now on.
            self.candidates.push(id);
        }
        let old_enough = attempt.since() + Time::from_seconds(self.parameters.min_age);
        if old_enough > cluster.now() {
            view.wake(old_enough);
        }
    }

    /// Makes the attempts that are below their phase's percentile candidates, where it has changed.
    fn find_candidates(&mut self) {
        let mut changed = std::mem::take(&mut self.changed);
        changed.sort_unstable();
        changed.dedup();
        for key in changed {
            let Some(rates) = self.rates.get_mut(&key) else { continue };
            let limit = slow_rate(rates, self.parameters.slow_task);
            for known in rates.iter_mut().take_while(|known| known.per_second < limit) {
                if !known.candidate {
                    known.candidate = true;
                    self.candidates.push(known.attempt);
                }
            }
        }
    }

    /// Forgets candidates that have ended, have their backup or are not slow any more, and returns
    /// those that may be helped now, the longest remaining time first.
    fn sort_candidates(&mut self, round: &Round<'_>) -> Vec<AttemptId> {
        let cluster = round.cluster();
        let min_age = Time::from_seconds(self.parameters.min_age);
        let mut slow: Vec<(f64, AttemptId)> = Vec::new();
        let (rates, parameters) = (&mut self.rates, &self.parameters);
        self.candidates.retain(|id| {
            let Some(attempt) = cluster.attempt(*id).filter(|attempt| is_only_copy(cluster, attempt)) else {
                return false;
            };
            if let Some(rate) = rate(attempt) {
                let Some(rates) = rates.get_mut(&(id.task.job, id.task.phase)) else { return false };
                if rate >= slow_rate(rates, parameters.slow_task) {
                    if let Some(known) = rates.iter_mut().find(|known| known.attempt == *id) {
                        known.candidate = false;
                    }
                    return false;
                }
            }
            if cluster.now() - attempt.since() >= min_age {
                slow.push((round.estimator.remaining(cluster, attempt).unwrap_or(0.0), *id));
            }
            true
        });
        slow.sort_unstable_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
        slow.into_iter().map(|(_, id)| id).collect()
    }

    /// Nodes with less progress than this are slow.
    fn slow_node_progress(&self, cluster: &Cluster) -> f64 {
        let nodes = cluster.nodes().iter().enumerate().filter(|(_, node)| node.is_up());
        let mut progress: Vec<f64> = nodes.map(|(at, _)| self.node_progress(NodeId(at as u32), cluster)).collect();
        if progress.is_empty() {
            return 0.0;
        }
        let at = rank(progress.len(), self.parameters.slow_node);
        *progress.select_nth_unstable_by(at, f64::total_cmp).1
    }

    fn node_progress(&self, id: NodeId, cluster: &Cluster) -> f64 {
        let finished = self.finished.get(id.0 as usize).copied().unwrap_or(0);
        let running = cluster.node(id).map_or(0, super::super::cluster::Node::attempts);
        f64::from(finished) + 0.5 * running as f64
    }
}

/// Progress rate, 1/seconds, once it is known: with work going on evenly, one over the duration.
fn rate(attempt: &Attempt) -> Option<f64> {
    attempt.expected_finish().map(|finish| 1.0 / (finish - attempt.since()).seconds().max(1e-9))
}

/// Index of the smallest of `len` sorted values with at least this share at or below.
fn rank(len: usize, share: f64) -> usize {
    ((share * len as f64).ceil() as usize).clamp(1, len) - 1
}

/// The rate below which an attempt is slow: nothing is, while fewer than two rates are known.
fn slow_rate(rates: &[Rate], share: f64) -> f64 {
    if rates.len() < 2 { 0.0 } else { rates[rank(rates.len(), share)].per_second }
}

/// The age, on a node of speed 1, at which the expected duration E\[x | x > age] of an attempt of this
/// pace reaches the duration that a share `slow` of its phase exceeds on a node of speed 1.
fn age_when_slow(phase: &Phase, slow: f64, pace: Pace) -> f64 {
    let durations = phase.durations();
    let limit = durations.quantile((1.0 - slow).min(1.0 - f64::EPSILON)) / pace.seconds(1.0);
    let (mut low, mut high) = (0.0, limit);
    // E[x | x > age] grows with age and is above `limit` at age `limit`.
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if middle + durations.mean_residual(middle) > limit { high = middle } else { low = middle }
    }
    high
}

impl Pass for LateBackups {
    fn observe(&mut self, seen: Seen<'_>, view: &mut View<'_>) {
        match seen {
            Seen::Decision(Decision::Start { attempt, .. }) => self.started(*attempt, view),
            Seen::Event(Event::WatchMet { attempt, .. }, _) => self.known(*attempt, view),
            // By age the condition depends on the durations; a copy may have been left alone.
            Seen::Event(Event::DurationsLearned { job, phase, .. }, _) => {
                let by_age = view.cluster.job(*job).and_then(|job| job.phases().get(*phase as usize));
                let by_age = by_age.is_some_and(|phase| !phase.gives_progress())
                    || view.estimator.knowledge() == Knowledge::History;
                if by_age {
                    let key = (*job, *phase);
                    self.watch_again(|attempt| (attempt.id().task.job, attempt.id().task.phase) == key, view);
                }
            }
            Seen::Event(Event::AttemptFailed { attempt, .. } | Event::AttemptStopped { attempt }, _) => {
                let task = attempt.task;
                if view.cluster.task(task).is_some_and(|task| task.alive() == 1) {
                    self.watch_again(|attempt| attempt.id().task == task, view);
                }
            }
            Seen::Event(Event::NodeLost { .. }, _) => {
                self.watch_again(|attempt| attempt.expected_finish().is_none(), view);
            }
            Seen::Event(Event::AttemptFinished { attempt }, applied) => {
                if let Some((node, _)) = applied.released {
                    let at = node.0 as usize;
                    if at >= self.finished.len() {
                        self.finished.resize(at + 1, 0);
                    }
                    self.finished[at] += 1;
                }
                if applied.phase_finished {
                    self.rates.remove(&(attempt.task.job, attempt.task.phase));
                }
            }
            _ => {}
        }
    }

    fn decide(&mut self, round: &mut Round<'_>) {
        if round.cluster().open_nodes() == 0 {
            return;
        }
        self.find_candidates();
        if self.candidates.is_empty() {
            return;
        }
        let slow = self.sort_candidates(round);
        let cluster = round.cluster();
        self.backups.retain(|id| cluster.attempt(*id).is_some());
        if slow.is_empty() {
            return;
        }
        // Backups of this round join the list when they are observed.
        let mut backups = self.backups.len();
        let slow_node = self.slow_node_progress(cluster);
        // The cluster's room in backups, of the last demand asked for: mostly all are alike.
        let mut room: Option<(Resources, u64)> = None;
        for id in slow {
            if !round.may_start(id.task) {
                continue;
            }
            let cluster = round.cluster();
            let Some(demand) = cluster.phase(id.task).map(|phase| *phase.demand()) else { continue };
            if room.is_none_or(|(known, _)| known != demand) {
                let fits = cluster.nodes().iter().map(|node| node.capacity().times(&demand));
                room = Some((demand, fits.fold(0, u64::saturating_add)));
            }
            let all = room.map_or(0, |(_, all)| all);
            if backups as f64 >= self.parameters.cap * all as f64 {
                return;
            }
            let good = |node, _: &_| {
                self.node_progress(node, cluster) >= slow_node
                    && !cluster.has_copy_on(id.task, node)
                    && !cluster.avoids(id.task, node)
            };
            let Some(node) = cluster.find_node(&demand, good) else { continue };
            if !round.start(id.task, node) {
                continue;
            }
            round.because(|| {
                let share = 100.0 * self.parameters.slow_task;
                format!("copy {} was among the slowest {share}% of its phase by progress rate", id.copy)
            });
            backups += 1;
            round.requeue(id.task.job);
        }
    }
}
