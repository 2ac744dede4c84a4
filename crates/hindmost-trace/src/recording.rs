//! What happened in one application: its jobs, phases, executors and attempts, in the form common to all formats.

use std::collections::BTreeMap;
use std::sync::Arc;

use hindmost_core::journal::Header;
use hindmost_core::metrics::{FailedJob, PhaseNeeds, SlowNode, Suggestion, Unsuccessful, Workers};
use hindmost_core::power::PowerModel;
use hindmost_core::resources::Resources;
use hindmost_core::workload::WorkloadJob;
use rustc_hash::FxHashMap;

/// An executor that is not known.
pub const UNKNOWN: u32 = u32::MAX;

/// What comes before the id in the name of an executor of Spark.
pub(crate) const NAMED: &str = "executor ";

/// One application of a Spark log, one job of a Hadoop log, or a recorded run. Times are in seconds on the log's clock.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// Number of the application within the log.
    pub application: u32,
    /// Id, if the log has one.
    pub id: Option<String>,
    /// Name, if the log has one.
    pub name: Option<String>,
    /// Version of the engine, if the log has it.
    pub version: Option<String>,
    /// What comes before the names of its jobs and executors if the log has several applications; empty where these have names of
    /// their own.
    pub prefix: String,
    /// True if phases belong to queries of Spark SQL.
    pub is_sql: bool,
    /// What runs attempts one after the other.
    pub workers: Workers,
    /// True if each attempt has a process of its own for certain, so that first attempts on a node share little.
    pub are_processes_separate: bool,
    /// When it began; `None` if the log does not say.
    pub from: Option<f64>,
    /// When it ended; `None` if the log does not say.
    pub to: Option<f64>,
    /// How it ended, if the log says that it did not succeed.
    pub unsuccessful: Option<Unsuccessful>,
    /// The jobs within it that failed because a phase did, in the order of their ends, at most 100.
    pub failed_jobs: Vec<FailedJob>,
    /// Settings of the engine.
    pub settings: BTreeMap<String, String>,
    /// Number of jobs that the log names.
    pub jobs: u64,
    /// When jobs began and ended, in any order. A job without an end runs to the end of the application. If it is empty, a job
    /// runs all the time.
    pub active: Vec<(f64, Option<f64>)>,
    /// Ids of these jobs, in the same order; empty if the log has none.
    pub active_ids: Vec<u32>,
    /// Executors, or nodes.
    pub executors: Vec<Executor>,
    /// Nodes that all jobs of the log together prove to be slow.
    pub slow_in_log: Vec<SlowNode>,
    /// How many slots other jobs of the log left for this one: the number at its begin, and all later changes. Empty if nothing says it.
    pub slots_left: Vec<(f64, i32)>,
    /// Phases with attempts whose times are known, in the order of their first attempt to end.
    pub phases: Vec<PhaseRows>,
    /// Phases of which no attempt has known times.
    pub without_times: Vec<PhaseRows>,
    /// For how long what starts attempts stood still while jobs ran, in seconds, so that slots were free although tasks waited.
    pub stood_still: f64,
    /// Attempts whose end the log does not have, although they had slots.
    pub unended: Vec<Unended>,
    /// Failed attempts and their seconds, by reason.
    pub failures: BTreeMap<String, (u64, f64)>,
    /// What the winners of its phases needed, and what these should reserve because of it; empty if the log does not record it.
    pub needs: (Vec<PhaseNeeds>, Vec<Suggestion>),
    /// The jobs of a replay, if the log says which phases wait for each other; recorded only if replays are wanted.
    pub plan: Vec<PlannedJob>,
}

/// A job of a replay: one or several of the engine's jobs, with those of their phases that have a task that succeeded.
#[derive(Clone, Debug, Default)]
pub struct PlannedJob {
    /// Ids of the engine's jobs that it joins.
    pub ids: Vec<u32>,
    /// Its name.
    pub name: String,
    /// When it was submitted; `None` if the log does not say.
    pub submitted: Option<f64>,
    /// Its phases, each after those for which it waits.
    pub phases: Vec<PlannedPhase>,
}

/// A phase of a job of a replay.
#[derive(Clone, Debug, Default)]
pub struct PlannedPhase {
    /// Number of the phase in the recording.
    pub phase: u32,
    /// Positions of the phases of the job for which it waits.
    pub after: Vec<u32>,
}

/// An executor or node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Executor {
    /// Name of its machine; its own name if the log does not name the machine.
    pub host: String,
    /// Its own name, if it is not the machine.
    pub name: Option<String>,
    /// How many tasks it runs at the same time; `None` if the log does not say.
    pub slots: Option<u32>,
    /// The most attempts that ran on it at the same time, and at least what the log says of its slots; 0 if the reader does not count them.
    pub most_at_once: u32,
    /// When it was added; `None` if unknown.
    pub added: Option<f64>,
    /// When it was removed; `None` if it stayed.
    pub removed: Option<f64>,
    /// When the engine counted it as slow and left slots there free: from when, until when.
    pub avoided: Vec<(f64, f64)>,
}

/// An attempt that has a start and no end in the log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unended {
    /// Index of its executor.
    pub executor: u32,
    /// When it was launched, in seconds.
    pub start: f64,
    /// Until when it may have run, in seconds; infinite if to the end of the application.
    pub until: f64,
}

/// A phase and its attempts.
#[derive(Clone, Debug, Default)]
pub struct PhaseRows {
    /// Number of the phase.
    pub phase: u32,
    /// Name, if the log has one.
    pub name: Option<String>,
    /// What it is called in every job, if that is not its name.
    pub work: Option<String>,
    /// Job to which the phase belongs.
    pub job: Option<String>,
    /// Number of this job, where jobs are recorded together that may have the same name; otherwise 0.
    pub of_job: u32,
    /// Number of tasks that the log states.
    pub tasks: Option<u32>,
    /// Number of tasks that the log lists, with or without attempts; `None` if it has no such list.
    pub listed: Option<u32>,
    /// Slots that each of its tasks uses; 0, if the log does not say, stands for 1.
    pub slots: u32,
    /// When its tasks could start; `None` if the log does not say.
    pub submitted: Option<f64>,
    /// When tasks could start that could not start when the phase was submitted: task and time, sorted.
    pub ready: Vec<(u32, f64)>,
    /// Names of the phases of its job for which it waits; `None` if the log does not say, or a plan has them.
    pub waits_for: Option<Vec<String>>,
    /// When it was complete; `None` if the log does not say.
    pub completed: Option<f64>,
    /// What its tasks have in common with those of the same phase in other jobs.
    pub in_every_job: InEveryJob,
    /// Its tasks that are long in most other jobs of the log.
    pub long_in_others: FxHashMap<u32, LongInOthers>,
    /// Which attempt of each task gives its duration in a replay.
    pub counting: Counting,
    /// Times for which attempts had slots before their work began: executor, from when, until when.
    pub before_work: Vec<(u32, f64, f64)>,
    /// Attempts that ended and whose times are known, in the order of the log.
    pub rows: Vec<AttemptRow>,
    /// Attempts that ended at an unknown time, or that started at one; also those that ended before they started. Only counts of attempts
    /// need them.
    pub without_times: Vec<AttemptRow>,
}

/// Which attempt of a task gives its duration in a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Counting {
    /// The one that won.
    #[default]
    Winner,
    /// The one that finished first of those that succeeded.
    FirstToFinish,
    /// The last one that succeeded: tasks run together, and one that fails makes the others useless.
    Last,
}

/// A task that is long in most other jobs of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LongInOthers {
    /// Whether it is in so many of them that it is no chance.
    pub is_no_chance: bool,
    /// What it is in all of them: a hash of its name.
    pub task: u64,
}

/// What identifies the tasks of a phase in other jobs with the same phase.
#[derive(Clone, Debug, Default)]
pub enum InEveryJob {
    /// Their numbers.
    #[default]
    Numbers,
    /// Their names: the tasks that have one, ascending, each with a hash of its name.
    Names(Vec<(u32, u64)>),
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ended {
    /// The attempt did all of its work, whether or not another attempt had won before.
    Succeeded,
    /// The attempt failed, for any reason.
    Failed,
    /// The attempt was killed, for any reason. If another attempt of its task wins, it has lost.
    Killed,
    /// The attempt was killed for a reason that has nothing to do with other attempts of its task, such as the loss of
    /// its node. An attempt of its task that wins later does not make it a loser.
    Interrupted,
}

/// An attempt that ended. Times are in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(clippy::struct_excessive_bools, reason = "independent facts about the attempt")]
pub struct AttemptRow {
    /// Index of the task.
    pub task: u32,
    /// Index of its executor, or [`UNKNOWN`].
    pub executor: u32,
    /// When it was launched; NaN if unknown.
    pub start: f64,
    /// When it ended; not before `start`, NaN if unknown.
    pub end: f64,
    /// Bytes of input and shuffle that it read; `None` if the log does not say.
    pub bytes_read: Option<u64>,
    /// Where its time went; 0 where the log does not say.
    pub spent: TaskTimes,
    /// How it ended.
    pub ended: Ended,
    /// Whether it was the first of its task to succeed.
    pub wins: bool,
    /// Whether it was started as a speculative copy.
    pub speculative: bool,
    /// Whether it ran again after its task had succeeded, such as because the output of the earlier attempt was lost.
    pub repeated: bool,
    /// True if the log does not say of which task it is; `task` is then a number that means something else.
    pub is_unmatched: bool,
}

/// Where the time of an attempt went, seconds; 0 where the log does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TaskTimes {
    /// Collection of garbage while it ran.
    pub garbage_collection: f32,
    /// Deserialization of the task.
    pub deserialization: f32,
    /// Wait for shuffle data.
    pub fetch_wait: f32,
    /// Time between launch and work, and between work and the arrival of the result.
    pub delay: f32,
    /// Bytes written to disk because memory did not suffice.
    pub spilled: f32,
    /// How far away its input was: 0 in its process or unknown, 1 on its node, 2 in its rack, 3 anywhere.
    pub distance: u8,
    /// True if its result was so large that the driver fetched it.
    pub fetched_result: bool,
    /// True if it read more from files than from shuffles.
    pub reads_files: bool,
}

/// A recorded run, ready for a replay. Times are counted from the beginning of the run.
#[derive(Clone, Debug)]
pub struct RecordedRun {
    /// Policy, order, progress model (`knowledge`) and dimensions of the run.
    pub header: Header,
    /// The jobs, in the order of their arrival; `None` if no task has finished.
    pub jobs: Option<Vec<WorkloadJob>>,
    /// The nodes, in the order in which they joined.
    pub nodes: Vec<JournalNode>,
    /// How a replay differs from the recorded run, and how long the run took, as sentences for the user.
    pub notes: Vec<String>,
}

/// A node of a recorded run.
#[derive(Clone, Debug, PartialEq)]
pub struct JournalNode {
    /// The node's name.
    pub name: Arc<str>,
    /// The node's resources, in the dimensions of the journal's header.
    pub capacity: Resources,
    /// The node's speed; 1 is normal. If the run found that the node is slow, this is the geometric mean of the speeds
    /// that the run learned, otherwise the speed with which the node joined.
    pub speed: f64,
    /// The node's power model; `None` if the journal has none.
    pub power: Option<Arc<PowerModel>>,
}

impl AttemptRow {
    /// True if start and end are known, and in this order.
    pub fn has_times(&self) -> bool {
        self.start <= self.end
    }

    /// How long the attempt ran.
    pub fn seconds(&self) -> f64 {
        self.end - self.start
    }
}

impl PhaseRows {
    /// The attempts that won.
    pub fn winners(&self) -> impl Iterator<Item = &AttemptRow> {
        self.rows.iter().filter(|row| row.wins)
    }

    /// The attempts that give tasks their durations in a replay, by task.
    pub fn counted(&self) -> BTreeMap<u32, &AttemptRow> {
        let mut counted: BTreeMap<u32, &AttemptRow> = BTreeMap::new();
        for row in &self.rows {
            let counts = match self.counting {
                Counting::Winner => row.wins,
                Counting::FirstToFinish | Counting::Last => row.ended == Ended::Succeeded && !row.is_unmatched,
            };
            if counts {
                let first = counted.entry(row.task).or_insert(row);
                if self.counting == Counting::Last || row.end < first.end {
                    *first = row;
                }
            }
        }
        counted
    }

    /// What identifies a task in other jobs with the same phase; `None` if nothing does.
    pub fn in_every_job(&self, task: u32) -> Option<u64> {
        match &self.in_every_job {
            InEveryJob::Numbers => Some(u64::from(task)),
            InEveryJob::Names(names) => {
                let at = names.binary_search_by_key(&task, |(number, _)| *number).ok()?;
                Some(names[at].1)
            }
        }
    }

    /// Slots that each of its tasks uses, at least 1.
    pub fn slots_of_a_task(&self) -> u32 {
        self.slots.max(1)
    }

    /// When it began and ended, given the start of its earliest attempt; `None` if the log does not say.
    pub fn span(&self, earliest: Option<f64>) -> Option<(f64, f64)> {
        let latest = self.rows.iter().map(|row| row.end).max_by(f64::total_cmp);
        let (begin, end) = self.submitted.or(earliest).zip(self.completed.or(latest))?;
        let begin = earliest.map_or(begin, |earliest| begin.min(earliest));
        Some((begin, end.max(begin)))
    }

    /// Number of tasks: as stated, or at least those that have attempts.
    pub fn size(&self) -> u64 {
        let seen = self.rows.iter().map(|row| row.task).max().map_or(0, |task| u64::from(task) + 1);
        self.tasks.map_or(seen, u64::from)
    }
}

impl Recording {
    /// Adds a failed attempt.
    pub fn failed(&mut self, reason: &str, seconds: f64) {
        let (attempts, sum) = match self.failures.get_mut(reason) {
            Some(found) => found,
            None => self.failures.entry(reason.to_owned()).or_default(),
        };
        (*attempts, *sum) = (*attempts + 1, *sum + seconds);
    }

    /// When it began and ended: as the log says, but not before its last attempt. `None` if the log says nothing of it.
    pub fn span(&self) -> Option<(f64, f64)> {
        let rows = || self.phases.iter().flat_map(|phase| &phase.rows);
        let from = self.from.or_else(|| rows().map(|row| row.start).min_by(f64::total_cmp))?;
        let last = rows().map(|row| row.end).max_by(f64::total_cmp);
        Some((from, self.to.or(last)?.max(last.unwrap_or(from)).max(from)))
    }

    /// Name of the machine of an attempt; `None` if its executor is not known.
    pub fn host(&self, row: &AttemptRow) -> Option<&str> {
        self.executors.get(row.executor as usize).map(|executor| &*executor.host)
    }
}
