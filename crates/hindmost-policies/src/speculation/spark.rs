//! `spark` starts a backup for an attempt that has run much longer than the median finished task of its phase. It
//! starts no backups before most tasks of the phase have finished.
//!
//! Source: `TaskSetManager` of Apache Spark (`spark.speculation`).
//!
//! Algorithm: once a share `quantile` of a phase's tasks has finished, an attempt gets one backup if it has run longer
//! than `multiplier` × the median duration of the finished tasks, and longer than `min_runtime`.
//!
//! Passes: `[Originals(order), Backups(spark rule)]`.
//!
//! Readings:
//! - The rule is tested continuously (Spark tests it every 100 ms).
//! - The attempt that has run longest gets its backup first.
//! - As in Spark, phases of one task get no backups, and a copy does not go to a node that runs another copy of its task.
//!   Even with `quantile` = 0, backups start only after a task of the phase has finished.
//! - Tasks that were finished before the job arrived are not counted.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};

use rustc_hash::FxHashMap;

use hindmost_core::cluster::{Applied, Attempt, Cluster, Phase};
use hindmost_core::ids::{AttemptId, JobId, TaskId};
use hindmost_core::record::{Condition, Decision, Event};
use hindmost_core::time::Time;

use hindmost_core::policy::{Round, Seen, View};

use super::candidates::{Candidates, Entry};
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
    }
}

/// The rule by which Apache Spark starts backups.
pub struct SparkRule {
    parameters: SparkParameters,
    phases: FxHashMap<(JobId, u32), PhaseWatch>,
    /// The times of requested wake-ups, with the phase for which each was requested.
    wakes: BTreeSet<(Time, (JobId, u32))>,
    candidates: Candidates,
    /// Phases whose threshold has risen since the last round.
    risen: Vec<(JobId, u32)>,
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
}

impl SparkRule {
    /// Creates the rule with these parameters.
    pub fn new(parameters: SparkParameters) -> SparkRule {
        SparkRule {
            parameters,
            phases: FxHashMap::default(),
            wakes: BTreeSet::new(),
            candidates: Candidates::default(),
            risen: Vec::new(),
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
        if watch.shorter.len() + watch.longer.len() >= enough {
            let median = watch.median().seconds();
            let threshold = Time::from_seconds((self.parameters.multiplier * median).max(self.parameters.min_runtime));
            if watch.threshold.is_some_and(|before| before < threshold) {
                self.risen.push(key);
            }
            watch.threshold = Some(threshold);
        }
        self.look(key, view, candidates);
    }

    /// Moves attempts that have become too slow to the candidates, and requests a wake-up for the time at which the
    /// next one becomes too slow.
    fn look(&mut self, key: (JobId, u32), view: &mut View<'_>, candidates: &mut Vec<AttemptId>) {
        let Some(watch) = self.phases.get_mut(&key) else { return };
        let Some(threshold) = watch.threshold else { return };
        let now = view.cluster.now();
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
            }
        }
    }

    /// Moves a candidate that is no longer slow, because the median has risen, back to the attempts that may become
    /// slow.
    fn put_back(&mut self, id: AttemptId, round: &mut Round<'_>) {
        let key = (id.task.job, id.task.phase);
        let Some(since) = round.cluster().attempt(id).map(Attempt::since) else { return };
        let Some(watch) = self.phases.get_mut(&key) else { return };
        let Some(threshold) = watch.threshold else { return };
        let at = watch.running.partition_point(|other| *other < (since, id));
        watch.running.insert(at, (since, id));
        let due = since + threshold + Time::TICK;
        if watch.wake.is_none_or(|wake| due < wake) {
            watch.wake = Some(due);
            self.wakes.insert((due, key));
            round.decide(Decision::Wake { at: due });
        }
    }

    fn is_slow(&self, cluster: &Cluster, attempt: &Attempt) -> bool {
        let task = attempt.id().task;
        let threshold = self.phases.get(&(task.job, task.phase)).and_then(|watch| watch.threshold);
        threshold.is_some_and(|threshold| cluster.now() - attempt.since() > threshold)
    }
}

impl PhaseWatch {
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
        if (new.is_empty() && self.candidates.is_empty()) || round.cluster().open_nodes() == 0 {
            return;
        }
        let cluster = round.cluster();
        for id in new.drain(..) {
            if let Some((attempt, phase)) = only_copy(id, cluster) {
                // Rank by start: the attempt that has run longest is first.
                self.candidates.put((0, attempt.since().0), id, Time::NEVER, phase.demand());
            }
        }
        self.candidates.forget_copied(cluster);
        self.candidates.close(|task| round.slack_needed(task), round.slack());
        let mut no_longer_slow = self.take_no_longer_slow(cluster);
        let mut first = None;
        loop {
            let cluster = round.cluster();
            first = first.or_else(|| self.candidates.next(|_, _| 0.0, -1.0, |demand| cluster.fits_somewhere(demand)));
            if let Some(entry) = no_longer_slow.pop_if(|entry| first.is_none_or(|first| *entry < first)) {
                self.put_back(entry.1, round);
            } else if let Some((_, id)) = first.take() {
                self.help(id, round);
            } else {
                break;
            }
        }
        self.candidates.end_round();
    }
}

impl SparkRule {
    /// Removes and returns the candidates that are no longer slow because their phase's threshold has risen. The attempt
    /// that has run longest is last.
    fn take_no_longer_slow(&mut self, cluster: &Cluster) -> Vec<Entry> {
        let mut taken = Vec::new();
        for key in std::mem::take(&mut self.risen) {
            let of_phase = self.candidates.of_phase(key).rev();
            let slow = |id| cluster.attempt(id).is_some_and(|attempt| self.is_slow(cluster, attempt));
            let no_longer: Vec<Entry> = of_phase.take_while(|(_, id)| !slow(*id)).collect();
            for (_, id) in &no_longer {
                self.candidates.remove(*id);
            }
            taken.extend(no_longer);
        }
        taken.sort_unstable_by(|one, other| other.cmp(one));
        taken
    }

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
