//! `spark` starts a backup for an attempt that has run much longer than the median finished task of its phase. It
//! starts no backups before most tasks of the phase have finished.
//!
//! Source: `TaskSetManager` and `TaskSchedulerImpl` of Apache Spark 4.3.0 (`spark.speculation`), as the code of its release
//! runs.
//!
//! Algorithm: every `interval`, running attempts are scanned. Once a share `quantile` of a phase's tasks has finished, an
//! attempt is slow if it has run longer than `multiplier` × the median duration of the finished tasks, and longer than
//! `min_runtime`. This limit is the threshold. An attempt that was found slow stays so, even if the threshold rises before
//! its backup starts. Its task gets one backup, on a host on which no attempt of the task has run, failed ones included.
//!
//! - The median of an even number of durations is the upper of the middle two.
//! - Before the quantile is reached, `duration_threshold` is the threshold in phases that have no more tasks than fit on one
//!   node. Only with it, a phase of one task gets a backup.
//! - On a node that leaves the cluster, an attempt is slow as well if it would still run `kill_interval` after the node
//!   began to leave, were it to take the median duration. This needs the quantile, too.
//! - Spark also has a test of efficiency: an attempt above the threshold must have run longer than `long_run` × the
//!   threshold, or process its input more slowly than `process_rate` × the mean rate of the finished tasks. But the rate
//!   of a running attempt is the number of records read divided by a run time that is 0 until the attempt ends, so it is
//!   unknown, counts as 0, and every attempt fails the test. The test decides something only with `live_rates`, which
//!   shows what it would do if these rates were known.
//!
//! Passes: `[Originals(order), Backups(spark rule)]`.
//!
//! Readings:
//! - A node stands for an executor. Its host is what follows the last `@` of its name, as in replays of Spark's logs; a node
//!   without such a name is a host of its own. If a cluster has only one host, backups may start there.
//! - Scans are at multiples of `interval`, whatever the begin of a job.
//! - The attempt that has run longest gets its backup first.
//! - With `live_rates`, an attempt's rate is the size of its task's input divided by the time that it takes in all; tasks
//!   whose input is unknown count as equally large. It is unknown until the attempt's progress shows when it finishes, and
//!   always under the progress model `age`.
//! - Tasks that were finished before the job arrived are not counted.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};

use rustc_hash::FxHashMap;

use hindmost_core::cluster::{Applied, Attempt, Cluster, Node, Phase};
use hindmost_core::ids::{AttemptId, JobId, NodeId, TaskId};
use hindmost_core::record::{Condition, Decision, Event};
use hindmost_core::resources::Resources;
use hindmost_core::time::Time;

use hindmost_core::policy::{Round, Seen, View};

use super::candidates::Candidates;
use super::{Cause, Rule, only_copy};

crate::parameters! {
    /// The parameters of `spark`.
    pub struct SparkParameters {
        /// share of a phase's tasks that must have finished before backups start (spark.speculation.quantile)
        pub quantile: f64 = 0.9, in 0.0..=1.0;
        /// an attempt gets a backup when it has run longer than this many median durations
        /// (spark.speculation.multiplier)
        pub multiplier: f64 = 3.0, in 0.0.., unit "medians";
        /// an attempt gets no backup before it has run this long (spark.speculation.minTaskRuntime)
        pub min_runtime: f64 = 0.1, in 0.0.., unit "s";
        /// time between two scans of running attempts; 0 scans all the time (spark.speculation.interval)
        pub interval: f64 = 0.1, in 0.0..=1e9, unit "s";
        /// an attempt gets a backup when it has run this long, although too few tasks have finished, in a phase whose
        /// tasks all fit on one node (spark.speculation.task.duration.threshold)
        pub duration_threshold: Option<f64> = None, word none, in 0.0.., unit "s";
        /// time that attempts on a leaving node have; those that need longer at the median duration get a backup
        /// (spark.executor.decommission.killInterval)
        pub kill_interval: Option<f64> = None, word none, in 0.0.., unit "s";
        /// whether an attempt must be inefficient to get a backup (spark.speculation.efficiency.enabled); has an effect
        /// only with live_rates=true
        pub efficiency: bool = true;
        /// an attempt is inefficient if it processes its input at less than this multiple of the mean rate of the finished
        /// tasks (spark.speculation.efficiency.processRateMultiplier); has an effect only with live_rates=true
        pub process_rate: f64 = 0.75, in 0.0.., unit "mean rates";
        /// an attempt that has run longer than this many thresholds counts as inefficient
        /// (spark.speculation.efficiency.longRunTaskFactor); has an effect only with live_rates=true
        pub long_run: f64 = 2.0, in 1.0.., unit "thresholds";
        /// whether the rates of running attempts are known to the test of efficiency; in Spark 4.3 they are not
        pub live_rates: bool = false;
    }
}

type PhaseId = (JobId, u32);

/// The rule by which Apache Spark starts backups.
pub struct SparkRule {
    parameters: SparkParameters,
    phases: FxHashMap<PhaseId, PhaseWatch>,
    /// The times of planned scans, with the phase for which each was planned.
    scans: BTreeSet<(Time, PhaseId)>,
    candidates: Candidates,
    /// The node of each attempt, ended ones included, of tasks that are not finished.
    nodes: FxHashMap<AttemptId, NodeId>,
    /// The nodes of each host that has a name.
    on_host: FxHashMap<Box<str>, Vec<NodeId>>,
    /// When each leaving node began to leave.
    leaving: FxHashMap<NodeId, Time>,
    /// How many copies of a demand the largest node can hold, for `duration_threshold`.
    slots: FxHashMap<Resources, u64>,
}

/// The attempts and finished durations of a phase with unfinished tasks.
#[derive(Default)]
struct PhaseWatch {
    /// Attempts that are their task's only copy, in order of their starts. The front has run longest.
    running: VecDeque<(Time, AttemptId)>,
    /// The shorter half of the finished tasks' durations, in ticks, without the middle one of an odd number.
    shorter: BinaryHeap<u64>,
    /// The longer half of the finished tasks' durations, in ticks.
    longer: BinaryHeap<Reverse<u64>>,
    /// Number of finished tasks from which on the median counts.
    enough: usize,
    /// True if all tasks fit on one node; always false without `duration_threshold`.
    is_small: bool,
    /// The earliest planned scan; `None` if there is none.
    planned: Option<Time>,
    /// True if the next scan must test efficient attempts and those on leaving nodes again.
    has_changed: bool,
    /// Input of the finished tasks, and the time that their winners took, in seconds.
    processed: (f64, f64),
    /// Attempts that were above the threshold and efficient when they were last tested.
    efficient: Vec<AttemptId>,
    /// The earliest time from which on one of them has run too long.
    efficient_until: Option<Time>,
    /// Attempts on leaving nodes that are not slow.
    on_leaving: Vec<AttemptId>,
    /// Why the candidates of the phase are slow.
    slow: FxHashMap<AttemptId, Why>,
}

/// Why an attempt is slow.
#[derive(Clone, Copy)]
enum Why {
    /// It has run longer than this threshold, which follows from the median.
    Median(Time),
    /// It has run longer than `duration_threshold`.
    Duration,
    /// Its node leaves the cluster too early for it.
    Leaving,
}

impl SparkRule {
    /// Creates the rule with these parameters.
    pub fn new(parameters: SparkParameters) -> SparkRule {
        SparkRule {
            parameters,
            phases: FxHashMap::default(),
            scans: BTreeSet::new(),
            candidates: Candidates::default(),
            nodes: FxHashMap::default(),
            on_host: FxHashMap::default(),
            leaving: FxHashMap::default(),
            slots: FxHashMap::default(),
        }
    }

    /// Adds a task's only copy to the attempts that may become slow, and plans a scan for it.
    fn started(&mut self, task: TaskId, view: &mut View<'_>) {
        let cluster = view.cluster;
        let Some(copy) = cluster.copies(task).next() else { return };
        let Some(phase) = cluster.phase(task).filter(|_| cluster.is_only_copy(copy)) else { return };
        if phase.to_do() < 2 && self.parameters.duration_threshold.is_none() {
            return;
        }
        let key = (task.job, task.phase);
        if !self.phases.contains_key(&key) {
            // As in Spark: max(floor(quantile × tasks), 1).
            let enough = ((self.parameters.quantile * f64::from(phase.to_do())).floor() as usize).max(1);
            let is_small = self.parameters.duration_threshold.is_some() && self.fits_one_node(phase, cluster);
            self.phases.insert(key, PhaseWatch { enough, is_small, ..PhaseWatch::default() });
        }
        let Some(watch) = self.phases.get_mut(&key) else { return };
        // The copy is usually the newest attempt of the phase. It is older if it has become the only copy because its
        // sibling has failed.
        let entry = (copy.since(), copy.id());
        let at = watch.running.partition_point(|other| *other < entry);
        if watch.running.get(at) != Some(&entry) && !watch.efficient.contains(&copy.id()) {
            watch.running.insert(at, entry);
        }
        if self.leaving.contains_key(&copy.node()) && !watch.on_leaving.contains(&copy.id()) {
            watch.on_leaving.push(copy.id());
            watch.has_changed = true;
        }
        self.plan(key, view);
    }

    /// Forgets where the attempts of a task ran.
    fn forget(&mut self, task: TaskId, cluster: &Cluster) {
        for id in attempts(task, cluster) {
            self.nodes.remove(&id);
        }
    }

    /// Returns true if the largest node could hold all tasks of a phase.
    fn fits_one_node(&mut self, phase: &Phase, cluster: &Cluster) -> bool {
        let demand = *phase.demand();
        let most = || cluster.nodes().iter().filter(|node| node.is_up()).map(Node::capacity);
        let slots = *self
            .slots
            .entry(demand)
            .or_insert_with(|| most().map(|capacity| capacity.times(&demand)).max().unwrap_or(0).max(1));
        u64::from(phase.to_do()) <= slots
    }

    /// Counts the duration of a winner and plans a scan of its phase.
    fn finished(&mut self, attempt: AttemptId, applied: Applied, view: &mut View<'_>) {
        if !applied.won {
            return;
        }
        self.forget(attempt.task, view.cluster);
        let key = (attempt.task.job, attempt.task.phase);
        if applied.phase_finished {
            self.phases.remove(&key);
            return;
        }
        let Some(watch) = self.phases.get_mut(&key) else { return };
        let Some((_, since)) = applied.released else { return };
        let duration = view.cluster.now() - since;
        watch.add(duration.0);
        watch.processed.0 += input_of(attempt.task, view.cluster);
        watch.processed.1 += duration.seconds();
        watch.has_changed = true;
        self.plan(key, view);
    }

    /// Plans the next scan of a phase, if no earlier one is planned.
    fn plan(&mut self, key: PhaseId, view: &mut View<'_>) {
        if let Some(at) = self.planned(key, view.cluster) {
            // A round follows in any case.
            if at > view.cluster.now() {
                view.wake(at);
            }
        }
    }

    /// Returns the time of a phase's next scan, and adds it to the planned ones; `None` if there is one as early, or if a scan finds
    /// nothing before another event.
    fn planned(&mut self, key: PhaseId, cluster: &Cluster) -> Option<Time> {
        let watch = self.phases.get_mut(&key)?;
        let (threshold, _) = watch.threshold(&self.parameters)?;
        while watch.running.front().is_some_and(|(_, id)| cluster.attempt(*id).is_none()) {
            watch.running.pop_front();
        }
        let must_test = watch.has_changed && !(watch.efficient.is_empty() && watch.on_leaving.is_empty());
        let slow = watch.running.front().map(|(since, _)| *since + threshold + Time::TICK);
        let due = [must_test.then(|| cluster.now()), slow, watch.efficient_until];
        let due = due.into_iter().flatten().min()?.max(cluster.now());
        let interval = Time::from_seconds(self.parameters.interval);
        let at = if interval == Time::ZERO { due } else { Time(due.0.div_ceil(interval.0).saturating_mul(interval.0)) };
        if watch.planned.is_some_and(|planned| planned <= at) {
            return None;
        }
        if let Some(planned) = watch.planned.replace(at) {
            self.scans.remove(&(planned, key));
        }
        self.scans.insert((at, key));
        Some(at)
    }

    /// Scans a phase: moves slow attempts to the candidates, and plans the next scan.
    fn scan(&mut self, key: PhaseId, round: &mut Round<'_>) {
        let SparkRule { parameters, phases, candidates, leaving, .. } = self;
        let Some(watch) = phases.get_mut(&key) else { return };
        watch.planned = None;
        if let Some((threshold, why)) = watch.threshold(parameters) {
            let cluster = round.cluster();
            let now = cluster.now();
            let mut found: Vec<(AttemptId, Why)> = Vec::new();
            if std::mem::take(&mut watch.has_changed) && matches!(why, Why::Median(_)) {
                let median = Time(watch.median());
                watch.on_leaving.retain(|id| {
                    let Some(attempt) = cluster.attempt(*id) else { return false };
                    let (Some(left), Some(kill)) = (leaving.get(&attempt.node()), parameters.kill_interval) else {
                        return false;
                    };
                    let is_too_long = attempt.since() + median > *left + Time::from_seconds(kill);
                    found.extend(is_too_long.then_some((*id, Why::Leaving)));
                    !is_too_long
                });
            }
            let mut above = std::mem::take(&mut watch.efficient);
            while let Some((_, id)) = watch.running.front().copied().filter(|(since, _)| now - *since > threshold) {
                watch.running.pop_front();
                above.push(id);
            }
            watch.efficient_until = None;
            for id in above {
                let Some(attempt) = cluster.attempt(id) else { continue };
                if now - attempt.since() <= threshold {
                    // The threshold has risen.
                    let at = watch.running.partition_point(|other| *other < (attempt.since(), id));
                    watch.running.insert(at, (attempt.since(), id));
                } else if let Some(until) = watch.efficient_until(attempt, (threshold, why), parameters, cluster) {
                    watch.efficient.push(id);
                    watch.efficient_until = Some(watch.efficient_until.map_or(until, |first| first.min(until)));
                } else {
                    found.push((id, why));
                }
            }
            for (id, why) in found {
                if let (Some((attempt, phase)), false) = (only_copy(id, cluster), candidates.contains(id)) {
                    // Rank by start: the attempt that has run longest is first.
                    candidates.put((0, attempt.since().0), id, Time::NEVER, phase.demand());
                    watch.slow.insert(id, why);
                }
            }
        }
        if let Some(at) = self.planned(key, round.cluster()) {
            round.decide(Decision::Wake { at });
        }
    }

    /// Returns the nodes of the hosts on which an attempt of a task has run; none if there is only one host.
    fn barred(&self, task: TaskId, cluster: &Cluster) -> Vec<NodeId> {
        let all = cluster.nodes().len();
        if all == 1 || self.on_host.values().any(|of_host| of_host.len() == all) {
            return Vec::new();
        }
        let mut barred: Vec<NodeId> = Vec::new();
        for node in attempts(task, cluster).filter_map(|id| self.nodes.get(&id).copied()) {
            let host = cluster.node(node).and_then(Node::host);
            barred.push(node);
            barred.extend(host.and_then(|host| self.on_host.get(host)).into_iter().flatten());
        }
        barred
    }

    /// Starts a backup for an attempt, if resources are free on a host that had no attempt of the task.
    fn help(&mut self, id: AttemptId, round: &mut Round<'_>) {
        let barred = self.barred(id.task, round.cluster());
        if round.start_copy(id.task, |node| !barred.contains(&node)).is_err() {
            return;
        }
        let why = self.phases.get_mut(&(id.task.job, id.task.phase)).and_then(|watch| watch.slow.remove(&id));
        round.because(|| {
            let copy = id.copy;
            match why {
                Some(Why::Duration) => format!("attempt {copy} had run longer than duration_threshold"),
                Some(Why::Leaving) => format!("the node of attempt {copy} leaves the cluster too early for it"),
                Some(Why::Median(threshold)) => format!(
                    "attempt {copy} had run longer than {:.2} s, which is multiplier times the median duration or \
                     min_runtime, whichever is longer",
                    threshold.seconds()
                ),
                None => format!("attempt {copy} was slow"),
            }
        });
    }
}

impl PhaseWatch {
    /// Returns the time above which an attempt is slow, and what it follows from; `None` while too few tasks have finished.
    fn threshold(&self, parameters: &SparkParameters) -> Option<(Time, Why)> {
        if self.shorter.len() + self.longer.len() >= self.enough {
            let median = Time(self.median()).seconds();
            let threshold = Time::from_seconds((parameters.multiplier * median).max(parameters.min_runtime));
            return Some((threshold, Why::Median(threshold)));
        }
        let threshold = parameters.duration_threshold.filter(|_| self.is_small)?;
        Some((Time::from_seconds(threshold), Why::Duration))
    }

    /// Returns the time from which on an attempt above the threshold has run too long; `None` if it is inefficient now.
    fn efficient_until(
        &self,
        attempt: &Attempt,
        (threshold, why): (Time, Why),
        parameters: &SparkParameters,
        cluster: &Cluster,
    ) -> Option<Time> {
        let is_tested = parameters.efficiency && parameters.live_rates && matches!(why, Why::Median(_));
        let finish = attempt.expected_finish().filter(|_| is_tested)?;
        let until = attempt.since() + Time::from_seconds(parameters.long_run * threshold.seconds()) + Time::TICK;
        let (input, seconds) = self.processed;
        let rate = input_of(attempt.id().task, cluster) / (finish - attempt.since()).seconds();
        let is_efficient = input > 0.0 && cluster.now() < until && rate >= parameters.process_rate * input / seconds;
        is_efficient.then_some(until)
    }

    fn add(&mut self, duration: u64) {
        self.shorter.push(duration);
        self.longer.extend(self.shorter.pop().map(Reverse));
        if self.longer.len() > self.shorter.len() + 1 {
            self.shorter.extend(self.longer.pop().map(|Reverse(shortest)| shortest));
        }
    }

    /// Returns the median as Spark's `PercentileHeap` does: for an even number, the upper of the middle two.
    fn median(&self) -> u64 {
        self.longer.peek().map_or(0, |Reverse(middle)| *middle)
    }
}

/// Returns the ids of all attempts that a task has had.
fn attempts(task: TaskId, cluster: &Cluster) -> impl Iterator<Item = AttemptId> {
    (0..cluster.next_copy(task).map_or(0, |next| next.copy)).map(move |copy| AttemptId { task, copy })
}

/// Returns the size of a task's input in bytes; 1 if it is unknown.
fn input_of(task: TaskId, cluster: &Cluster) -> f64 {
    cluster.input_bytes(task).map_or(1.0, |bytes| bytes as f64)
}

impl Rule for SparkRule {
    /// Watches no elapsed times: scans compare them with the phase's threshold.
    fn condition(&mut self, _attempt: &Attempt, _phase: &Phase, _view: &View<'_>) -> Option<Condition> {
        (self.parameters.efficiency && self.parameters.live_rates).then_some(Condition::Revealed)
    }

    fn watches_again(&self, _cause: Cause, _attempt: &Attempt, _view: &View<'_>) -> bool {
        false
    }

    fn observe(&mut self, seen: Seen<'_>, view: &mut View<'_>, candidates: &mut Vec<AttemptId>) {
        self.candidates.observe(seen, view.cluster, candidates);
        // Scans find the candidates.
        candidates.clear();
        match seen {
            Seen::Decision(Decision::Start { attempt, node, .. }) => {
                self.nodes.insert(*attempt, *node);
                self.started(attempt.task, view);
            }
            // When a copy has failed or was stopped, its sibling may be the only copy now.
            Seen::Decision(Decision::Replace { attempt, .. })
            | Seen::Event(Event::AttemptFailed { attempt, .. } | Event::AttemptStopped { attempt }, _) => {
                self.started(attempt.task, view);
            }
            Seen::Decision(Decision::Abandon { job }) => {
                self.phases.retain(|(other, _), _| other != job);
                self.nodes.retain(|id, _| id.task.job != *job);
            }
            Seen::Event(Event::TaskGivenUp { task }, _) => self.forget(*task, view.cluster),
            Seen::Event(Event::AttemptFinished { attempt }, applied) => self.finished(*attempt, applied, view),
            Seen::Event(Event::WatchMet { attempt, .. }, _) => {
                let key = (attempt.task.job, attempt.task.phase);
                if let Some(watch) = self.phases.get_mut(&key) {
                    watch.has_changed = true;
                    self.plan(key, view);
                }
            }
            Seen::Event(Event::NodeLost { node, .. }, _) => {
                self.leaving.remove(node);
                let mut tasks: Vec<TaskId> = view.cluster.running().map(|attempt| attempt.id().task).collect();
                tasks.sort_unstable();
                tasks.dedup();
                for task in tasks {
                    self.started(task, view);
                }
            }
            Seen::Event(Event::NodeLeaving { node }, _) if self.parameters.kill_interval.is_some() => {
                self.leaving.insert(*node, view.cluster.now());
                let mut tasks: Vec<TaskId> = view.cluster.attempts_on(*node).map(|attempt| attempt.id().task).collect();
                tasks.sort_unstable();
                for task in tasks {
                    self.started(task, view);
                }
            }
            Seen::Event(Event::NodeReturned { node }, _) => {
                self.leaving.remove(node);
            }
            Seen::Event(Event::NodeJoined { node, .. }, _) => {
                self.slots.clear();
                if let Some(host) = view.cluster.node(*node).and_then(Node::host) {
                    self.on_host.entry(host.into()).or_default().push(*node);
                }
            }
            _ => {}
        }
    }

    fn serve(&mut self, _new: &mut Vec<AttemptId>, round: &mut Round<'_>) {
        while let Some((at, key)) = self.scans.first().copied().filter(|(at, _)| *at <= round.cluster().now()) {
            self.scans.remove(&(at, key));
            self.scan(key, round);
        }
        if self.candidates.is_empty() || round.cluster().open_nodes() == 0 {
            return;
        }
        self.candidates.forget_copied(round.cluster());
        self.candidates.close(|task| round.slack_needed(task), round.slack());
        loop {
            let cluster = round.cluster();
            let next = self.candidates.next(|_, _| 0.0, -1.0, |demand| cluster.fits_somewhere(demand));
            let Some((_, id)) = next else { break };
            self.help(id, round);
        }
        self.candidates.end_round();
    }
}
