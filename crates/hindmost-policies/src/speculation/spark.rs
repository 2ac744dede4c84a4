//! `spark`: the rule of Apache Spark's `TaskSetManager` (`spark.speculation`).
//!
//! In a phase of which a share `quantile` of the tasks has finished, an attempt that has run for
//! longer than `multiplier` × the median duration of those finished, and longer than `min_runtime`,
//! gets one backup.
//!
//! Passes: `[Originals(order), Backups(spark rule)]`.
//!
//! Readings: the rule is tested all the time (Spark: each 100 ms); the attempt that has run longest is
//! served first; as in Spark, phases of one task are left alone, a copy does not go where another of
//! its task runs, and at least one task must have finished; tasks that were finished before the job arrived are not
//! counted.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};

use rustc_hash::FxHashMap;

use hindmost_core::cluster::{Applied, Attempt, Cluster, Phase};
use hindmost_core::ids::{AttemptId, JobId, TaskId};
use hindmost_core::record::{Condition, Decision, Event};
use hindmost_core::time::Time;

use hindmost_core::policy::{Round, Seen, View};

use super::candidates::{Candidates, Entry};
use super::{Cause, Rule};

crate::parameters! {
    /// The parameters of Spark's rule. See the module's documentation.
    pub struct SparkParameters {
        /// share of a phase's tasks that must have finished (spark.speculation.quantile)
        pub quantile: f64 = 0.9, in 0.0..=1.0;
        /// how many medians an attempt may run (spark.speculation.multiplier)
        pub multiplier: f64 = 3.0, in 0.0.., unit "medians";
        /// seconds that every attempt may run (spark.speculation.minTaskRuntime)
        pub min_runtime: f64 = 0.1, in 0.0.., unit "s";
    }
}

/// Spark's rule. See the module's documentation.
pub struct SparkRule {
    parameters: SparkParameters,
    phases: FxHashMap<(JobId, u32), PhaseWatch>,
    /// Wake-ups that were asked for, and for which phase.
    wakes: BTreeSet<(Time, (JobId, u32))>,
    candidates: Candidates,
    /// Phases whose threshold has risen since a round last looked.
    risen: Vec<(JobId, u32)>,
}

/// What is kept of a phase with unfinished tasks.
#[derive(Default)]
struct PhaseWatch {
    /// First copies in the order of their starts; the front is the one that has run longest.
    running: VecDeque<(Time, AttemptId)>,
    /// Durations of finished tasks in ticks: the shorter half, with the one in the middle, and the longer half.
    shorter: BinaryHeap<u64>,
    longer: BinaryHeap<Reverse<u64>>,
    /// Elapsed time above which an attempt is too slow; known once enough have finished.
    threshold: Option<Time>,
    /// The earliest wake-up asked for and not yet past.
    wake: Option<Time>,
}

impl SparkRule {
    /// With these parameters.
    pub fn new(parameters: SparkParameters) -> SparkRule {
        SparkRule {
            parameters,
            phases: FxHashMap::default(),
            wakes: BTreeSet::new(),
            candidates: Candidates::default(),
            risen: Vec::new(),
        }
    }

    fn started(&mut self, task: TaskId, cluster: &Cluster) {
        let Some(copy) = cluster.copies(task).next() else { return };
        let alone = cluster.phase(task).is_none_or(|phase| phase.to_do() < 2);
        if alone || !cluster.is_only_copy(copy) {
            return;
        }
        let watch = self.phases.entry((task.job, task.phase)).or_default();
        // Mostly the newest, but a copy that was left alone may be older than others.
        let entry = (copy.since(), copy.id());
        let at = watch.running.partition_point(|other| *other < entry);
        if watch.running.get(at) != Some(&entry) {
            watch.running.insert(at, entry);
        }
    }

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
        // Spark: max(floor(quantile × tasks), 1).
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

    /// Moves attempts that have become too slow to the candidates, and asks for a wake-up when the
    /// next one will be.
    fn look(&mut self, key: (JobId, u32), view: &mut View<'_>, candidates: &mut Vec<AttemptId>) {
        let Some(watch) = self.phases.get_mut(&key) else { return };
        let Some(threshold) = watch.threshold else { return };
        let now = view.cluster.now();
        if watch.wake.is_some_and(|wake| wake <= now) {
            watch.wake = None;
        }
        while let Some((since, id)) = watch.running.front().copied() {
            let gone = view.cluster.attempt(id).is_none();
            if !gone && now - since <= threshold {
                let due = since + threshold + Time::TICK;
                if watch.wake.is_none_or(|wake| due < wake) {
                    watch.wake = Some(due);
                    self.wakes.insert((due, key));
                    view.wake(due);
                }
                return;
            }
            watch.running.pop_front();
            if !gone {
                candidates.push(id);
            }
        }
    }

    /// A candidate that is not slow any more, because the median has risen, goes back among the
    /// attempts that may become slow.
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

    /// The median as Spark's `MedianHeap` tells it: the mean of the middle two of an even number.
    fn median(&self) -> Time {
        let middle = self.shorter.peek().copied().unwrap_or(0);
        let next = self.longer.peek().filter(|_| self.longer.len() == self.shorter.len());
        Time(next.map_or(middle, |Reverse(next)| u64::midpoint(middle, *next)))
    }
}

impl Rule for SparkRule {
    /// The rule compares elapsed times with a threshold of the whole phase: it asks to be woken instead.
    fn condition(&mut self, _attempt: &Attempt, _phase: &Phase, _view: &View<'_>) -> Option<Condition> {
        None
    }

    fn watches_again(&self, _cause: Cause, _attempt: &Attempt, _view: &View<'_>) -> bool {
        false
    }

    fn observe(&mut self, seen: Seen<'_>, view: &mut View<'_>, candidates: &mut Vec<AttemptId>) {
        self.candidates.observe(seen, view.cluster, candidates);
        match seen {
            // A copy that has gone may leave another alone; a phase may already be past its quantile when its last tasks
            // start.
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
            let attempt = cluster.attempt(id).filter(|attempt| cluster.is_only_copy(attempt));
            if let Some((attempt, phase)) = attempt.zip(cluster.phase(id.task)) {
                // The one that has run longest is first.
                self.candidates.put((0, attempt.since().0), id, Time::NEVER, phase.demand());
            }
        }
        self.candidates.forget_copied(cluster);
        self.candidates.close(|_| true, |task| round.slack_needed(task), round.slack());
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
    /// Takes out the candidates that have not run for too long any more, the one that has run longest last.
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

    fn help(&self, id: AttemptId, round: &mut Round<'_>) {
        if round.start_copies(id.task, 1).started > 0 {
            let threshold = self.phases.get(&(id.task.job, id.task.phase)).and_then(|watch| watch.threshold);
            round.because(|| {
                let threshold = threshold.unwrap_or(Time::ZERO).seconds();
                format!("copy {} had run for longer than {threshold:.2} s, the multiplier times the median", id.copy)
            });
        }
    }
}
