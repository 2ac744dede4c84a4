//! `spark` starts a backup for an attempt that has run much longer than the median finished task of its phase. It
//! starts no backups before most tasks of the phase have finished.
//!
//! Source: `TaskSetManager` of Apache Spark (`spark.speculation`).
//!
//! Algorithm: once a share `quantile` of a phase's tasks has finished, an attempt gets one backup if it has run longer
//! than `multiplier` × the median duration of the finished tasks, and longer than `min_runtime`. This limit is the
//! threshold. Since version 3.4, an attempt above the threshold must also be inefficient: it has run longer than
//! `long_run` × the threshold, or it processes its input more slowly than `process_rate` × the mean rate of the finished
//! tasks. So tasks that take long because they have much input get no backups.
//!
//! Passes: `[Originals(order), Backups(spark rule)]`.
//!
//! Readings:
//! - The rule is tested continuously (Spark tests it every 100 ms). As in Spark, an attempt that was found slow stays
//!   so, even if the threshold rises before its backup starts.
//! - The attempt that has run longest gets its backup first.
//! - As in Spark, phases of one task get no backups, and a copy does not go to a node that runs another copy of its task.
//!   Even with `quantile` = 0, backups start only after a task of the phase has finished.
//! - Spark's rate is the number of records read divided by the time. Here it is the size of a task's input divided by the
//!   time that an attempt takes in all; tasks whose input is unknown count as equally large. As in Spark, an attempt
//!   whose rate is unknown has the rate 0, so it is inefficient. It is unknown until the attempt's progress shows when it
//!   finishes, and always under the progress model `age`.
//! - Tasks that were finished before the job arrived are not counted.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};

use rustc_hash::FxHashMap;

use hindmost_core::cluster::{Applied, Attempt, Cluster, Phase};
use hindmost_core::ids::{AttemptId, JobId, TaskId};
use hindmost_core::record::{Condition, Decision, Event};
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
        /// whether an attempt must be inefficient to get a backup (spark.speculation.efficiency.enabled)
        pub efficiency: bool = true;
        /// an attempt is inefficient if it processes its input at less than this multiple of the mean rate of the finished
        /// tasks (spark.speculation.efficiency.processRateMultiplier)
        pub process_rate: f64 = 0.75, in 0.0.., unit "mean rates";
        /// an attempt that has run longer than this many thresholds counts as inefficient
        /// (spark.speculation.efficiency.longRunTaskFactor)
        pub long_run: f64 = 2.0, in 1.0.., unit "thresholds";
    }
}

/// The rule by which Apache Spark starts backups.
pub struct SparkRule {
    parameters: SparkParameters,
    phases: FxHashMap<(JobId, u32), PhaseWatch>,
    /// The times of requested wake-ups, with the phase for which each was requested.
    wakes: BTreeSet<(Time, (JobId, u32))>,
    candidates: Candidates,
}

/// The attempts and finished durations of a phase with unfinished tasks.
#[derive(Default)]
struct PhaseWatch {
    /// Attempts that are their task's only copy, in order of their starts. The front has run longest.
    running: VecDeque<(Time, AttemptId)>,
    /// The shorter half of the finished tasks' durations, in ticks, including the middle one of an odd number.
    shorter: BinaryHeap<u64>,
    /// The longer half of the finished tasks' durations, in ticks.
    longer: BinaryHeap<Reverse<u64>>,
    /// Elapsed time above which an attempt is too slow; `None` until enough tasks have finished.
    threshold: Option<Time>,
    /// The earliest requested wake-up in the future; `None` if there is none.
    wake: Option<Time>,
    /// Input of the finished tasks, and the time that their winners took, in seconds.
    processed: (f64, f64),
    /// Attempts above the threshold that are efficient, with the times from which on they have run too long.
    efficient: BTreeSet<(Time, AttemptId)>,
}

impl SparkRule {
    /// Creates the rule with these parameters.
    pub fn new(parameters: SparkParameters) -> SparkRule {
        SparkRule {
            parameters,
            phases: FxHashMap::default(),
            wakes: BTreeSet::new(),
            candidates: Candidates::default(),
        }
    }

    /// Adds a task's only copy to the attempts that may become slow.
    fn started(&mut self, task: TaskId, cluster: &Cluster) {
        let Some(copy) = cluster.copies(task).next() else { return };
        let is_single_task = cluster.phase(task).is_none_or(|phase| phase.to_do() < 2);
        if is_single_task || !cluster.is_only_copy(copy) {
            return;
        }
        let watch = self.phases.entry((task.job, task.phase)).or_default();
        // The copy is usually the newest attempt of the phase. It is older if it has become the only copy because its
        // sibling has failed.
        let entry = (copy.since(), copy.id());
        let at = watch.running.partition_point(|other| *other < entry);
        if watch.running.get(at) != Some(&entry) {
            watch.running.insert(at, entry);
        }
    }

    /// Counts the duration of a winner and updates the threshold of its phase.
    fn finished(&mut self, attempt: AttemptId, applied: Applied, view: &mut View<'_>, candidates: &mut Vec<AttemptId>) {
        if !applied.won {
            return;
        }
        let key = (attempt.task.job, attempt.task.phase);
        if applied.phase_finished {
            self.phases.remove(&key);
            return;
        }
        let Some(watch) = self.phases.get_mut(&key) else { return };
        let Some(phase) = view.cluster.phase(attempt.task) else { return };
        let Some((_, since)) = applied.released else { return };
        let duration = (view.cluster.now() - since).0;
        // As in Spark: max(floor(quantile × tasks), 1).
        let enough = ((self.parameters.quantile * f64::from(phase.to_do())).floor() as usize).max(1);
        watch.add(duration);
        watch.processed.0 += input_of(attempt.task, view.cluster);
        watch.processed.1 += Time(duration).seconds();
        if watch.shorter.len() + watch.longer.len() >= enough {
            let median = watch.median().seconds();
            let threshold = Time::from_seconds((self.parameters.multiplier * median).max(self.parameters.min_runtime));
            watch.threshold = Some(threshold);
        }
        // Threshold and mean rate have changed.
        candidates.extend(std::mem::take(&mut watch.efficient).into_iter().map(|(_, id)| id));
        self.look(key, view, candidates);
    }

    /// Moves attempts that have become too slow to the candidates, and requests a wake-up for the time at which the
    /// next one becomes too slow.
    fn look(&mut self, key: (JobId, u32), view: &mut View<'_>, candidates: &mut Vec<AttemptId>) {
        let Some(watch) = self.phases.get_mut(&key) else { return };
        let Some(threshold) = watch.threshold else { return };
        let now = view.cluster.now();
        while let Some((until, id)) = watch.efficient.first().copied().filter(|(until, _)| *until <= now) {
            watch.efficient.remove(&(until, id));
            candidates.push(id);
        }
        if watch.wake.is_some_and(|wake| wake <= now) {
            watch.wake = None;
        }
        while let Some((since, id)) = watch.running.front().copied() {
            let has_ended = view.cluster.attempt(id).is_none();
            if !has_ended && now - since <= threshold {
                let due = since + threshold + Time::TICK;
                if watch.wake.is_none_or(|wake| due < wake) {
                    watch.wake = Some(due);
                    self.wakes.insert((due, key));
                    view.wake(due);
                }
                return;
            }
            watch.running.pop_front();
            if !has_ended {
                candidates.push(id);
                if self.parameters.efficiency {
                    view.watch(id, Condition::Revealed);
                }
            }
        }
    }

    /// Decides about an attempt that has run longer than the threshold, or did so before. It becomes a candidate, or waits
    /// until it may be inefficient, or until it has run longer than the threshold.
    fn sort(&mut self, id: AttemptId, round: &mut Round<'_>) {
        let key = (id.task.job, id.task.phase);
        let cluster = round.cluster();
        let Some((attempt, phase)) = only_copy(id, cluster) else { return };
        let (Some(watch), false) = (self.phases.get_mut(&key), self.candidates.contains(id)) else { return };
        let (Some(threshold), since) = (watch.threshold, attempt.since()) else { return };
        watch.efficient.retain(|(_, other)| *other != id);
        if cluster.now() - since <= threshold {
            let at = watch.running.partition_point(|other| *other < (since, id));
            watch.running.insert(at, (since, id));
            let due = since + threshold + Time::TICK;
            if watch.wake.is_none_or(|wake| due < wake) {
                watch.wake = Some(due);
                self.wakes.insert((due, key));
                round.decide(Decision::Wake { at: due });
            }
        } else if let Some(until) = watch.efficient_until(attempt, &self.parameters, cluster) {
            watch.efficient.insert((until, id));
            self.wakes.insert((until, key));
            round.decide(Decision::Wake { at: until });
        } else {
            // Rank by start: the attempt that has run longest is first.
            self.candidates.put((0, since.0), id, Time::NEVER, phase.demand());
        }
    }
}

impl PhaseWatch {
    /// Returns the time from which on an attempt above the threshold has run too long; `None` if it is inefficient now.
    fn efficient_until(&self, attempt: &Attempt, parameters: &SparkParameters, cluster: &Cluster) -> Option<Time> {
        let (threshold, finish) = (self.threshold?, attempt.expected_finish().filter(|_| parameters.efficiency)?);
        let until = attempt.since() + Time::from_seconds(parameters.long_run * threshold.seconds()) + Time::TICK;
        let (input, seconds) = self.processed;
        let rate = input_of(attempt.id().task, cluster) / (finish - attempt.since()).seconds();
        let is_efficient = input > 0.0 && cluster.now() < until && rate >= parameters.process_rate * input / seconds;
        is_efficient.then_some(until)
    }

    fn add(&mut self, duration: u64) {
        self.shorter.push(duration);
        self.longer.extend(self.shorter.pop().map(Reverse));
        if self.longer.len() > self.shorter.len() {
            self.shorter.extend(self.longer.pop().map(|Reverse(shortest)| shortest));
        }
    }

    /// Returns the median as Spark's `MedianHeap` does: for an even number, the mean of the middle two.
    fn median(&self) -> Time {
        let middle = self.shorter.peek().copied().unwrap_or(0);
        let next = self.longer.peek().filter(|_| self.longer.len() == self.shorter.len());
        Time(next.map_or(middle, |Reverse(next)| u64::midpoint(middle, *next)))
    }
}

/// Returns the size of a task's input in bytes; 1 if it is unknown.
fn input_of(task: TaskId, cluster: &Cluster) -> f64 {
    cluster.input_bytes(task).map_or(1.0, |bytes| bytes as f64)
}

impl Rule for SparkRule {
    /// Returns `None`. Instead of watching each attempt, the rule compares elapsed times with the phase's threshold when
    /// it wakes up.
    fn condition(&mut self, _attempt: &Attempt, _phase: &Phase, _view: &View<'_>) -> Option<Condition> {
        None
    }

    fn watches_again(&self, _cause: Cause, _attempt: &Attempt, _view: &View<'_>) -> bool {
        false
    }

    fn observe(&mut self, seen: Seen<'_>, view: &mut View<'_>, candidates: &mut Vec<AttemptId>) {
        self.candidates.observe(seen, view.cluster, candidates);
        match seen {
            // When a copy has failed or was stopped, its sibling may be the only copy now. When a task starts, its phase
            // may have reached the quantile before.
            Seen::Decision(Decision::Start { attempt, .. } | Decision::Replace { attempt, .. })
            | Seen::Event(Event::AttemptFailed { attempt, .. } | Event::AttemptStopped { attempt }, _) => {
                self.started(attempt.task, view.cluster);
                self.look((attempt.task.job, attempt.task.phase), view, candidates);
            }
            Seen::Decision(Decision::Abandon { job }) => self.phases.retain(|(other, _), _| other != job),
            Seen::Event(Event::NodeLost { .. }, _) => {
                let mut tasks: Vec<TaskId> = view.cluster.running().map(|attempt| attempt.id().task).collect();
                tasks.sort_unstable();
                tasks.dedup();
                for task in tasks {
                    self.started(task, view.cluster);
                    self.look((task.job, task.phase), view, candidates);
                }
            }
            Seen::Event(Event::AttemptFinished { attempt }, applied) => {
                self.finished(*attempt, applied, view, candidates);
            }
            Seen::Event(Event::Woken, _) => {
                let now = view.cluster.now();
                while let Some((due, key)) = self.wakes.first().copied().filter(|(due, _)| *due <= now) {
                    self.wakes.remove(&(due, key));
                    self.look(key, view, candidates);
                }
            }
            _ => {}
        }
    }

    fn serve(&mut self, new: &mut Vec<AttemptId>, round: &mut Round<'_>) {
        for id in std::mem::take(new) {
            self.sort(id, round);
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

impl SparkRule {
    /// Starts a backup for an attempt, if resources are free.
    fn help(&self, id: AttemptId, round: &mut Round<'_>) {
        if round.start_copies(id.task, 1).started > 0 {
            let threshold = self.phases.get(&(id.task.job, id.task.phase)).and_then(|watch| watch.threshold);
            round.because(|| {
                let threshold = threshold.unwrap_or(Time::ZERO).seconds();
                let copy = id.copy;
                format!(
                    "attempt {copy} had run longer than {threshold:.2} s, which is multiplier times the median duration or \
                     min_runtime, whichever is longer"
                )
            });
        }
    }
}
