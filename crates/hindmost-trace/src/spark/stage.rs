//! A stage of an application, and which task each of its attempts belongs to.

use super::connect;
use super::fields::StageInfo;
use super::id_sets::RangeSet;
use super::jobs::Jobs;
use super::resubmission::{Place, Resubmission};
use super::tally::Tally;

#[derive(Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "independent facts about the stage")]
pub(super) struct Stage {
    /// Whether the stage was submitted or ran. If not, it is here because a job lists it.
    pub ran: bool,
    pub name: Option<Box<str>>,
    pub parents: Option<Vec<u32>>,
    /// The SQL execution whose job lists the stage. If stages of different jobs have the same `execution` and the same
    /// `output`, they are one stage under different numbers.
    pub execution: Option<i64>,
    /// Id of the stage's output RDD.
    pub output: Option<u32>,
    /// Index of the first job that the stage ran for.
    pub owner: Option<u32>,
    /// Name of the job `owner`.
    pub job_name: Option<Box<str>>,
    /// Number of tasks of the first submission.
    pub size: Option<u32>,
    /// Number of tasks of the first submission, from the stage's own events only.
    stated: Option<u32>,
    /// The highest number of a submission so far.
    last_attempt: u32,
    /// Whether the stage is a barrier stage: all tasks run at the same time, and one failure fails the submission.
    pub barrier: bool,
    /// Whether the stage runs: after a submission or a task end event, until its end.
    pub running: bool,
    /// Whether a submission of the stage succeeded.
    pub succeeded: bool,
    /// The highest number of a submission that failed or was cancelled.
    pub failed_submission: Option<u32>,
    /// Why attempts of that submission were killed.
    pub given_up: Option<&'static str>,
    /// How many jobs had started when the stage's job was last determined.
    pub looked: u32,
    /// Whether all of the stage's tasks were counted in an earlier submission.
    pub counted: bool,
    /// Whether the recording has the stage's name.
    pub introduced: bool,
    /// Tasks with an attempt that ended.
    seen: RangeSet,
    /// Tasks with an attempt that succeeded.
    won: RangeSet,
    /// The latest resubmission, and outputs that were lost.
    resubmission: Option<Box<Resubmission>>,
    unmatched_winners: u32,
}

/// The fields of an attempt that are needed for counting it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counted {
    pub stage: u32,
    pub stage_attempt: u32,
    /// The attempt's partition; `None` if the log does not name it.
    pub partition: Option<u32>,
    /// The attempt's index within the submission.
    pub index: u32,
    pub succeeded: bool,
    pub speculative: bool,
}

impl Counted {
    /// Returns the number that the log gives the task: its partition, or else its index.
    pub(super) fn number(self) -> u32 {
        self.partition.unwrap_or(self.index)
    }

    /// Returns the task of the attempt; `None` if unknown.
    fn task(self, stage: &Stage) -> Option<u32> {
        match (self.partition, self.stage_attempt) {
            (Some(partition), _) => Some(partition),
            (None, 0) => Some(self.index),
            (None, _) => {
                let again = stage.resubmission.as_deref();
                let place = again.map_or(Place::Unknown, |again| again.place(self.stage_attempt, self.index));
                match place {
                    Place::Task(task) => Some(task),
                    Place::Unknown => None,
                }
            }
        }
    }
}

/// The result of counting an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// The task; `None` if the attempt belongs to a later submission and its task is unknown.
    pub task: Option<u32>,
    /// Whether the attempt ran because an output was lost.
    pub repeated: bool,
    /// Whether the attempt is the first of its task to succeed.
    pub wins: bool,
    /// Whether an attempt of the task has succeeded so far.
    pub has_winner: bool,
}

impl Stage {
    /// Creates a stage. `counted` says whether all of its tasks may have been counted before.
    pub(super) fn new(counted: bool) -> Stage {
        Stage { counted, ..Stage::default() }
    }

    /// Returns whether an attempt of the same task was counted; `None` if unknown.
    pub(super) fn knows(&self, attempt: Counted) -> Option<bool> {
        attempt.task(self).map(|task| self.counted || self.seen.contains(task))
    }

    /// Returns whether the submission of an attempt of a known task failed or was cancelled.
    pub(super) fn gave_up(&self, attempt: Counted) -> bool {
        attempt.task(self).is_some() && self.failed_submission >= Some(attempt.stage_attempt)
    }

    /// Records that the output of an attempt that had succeeded was lost.
    pub(super) fn lost(&mut self, attempt: Counted) {
        if let Some(task) = attempt.task(self)
            && (self.counted || self.won.contains(task))
        {
            self.resubmission.get_or_insert_default().lost(task);
        }
    }

    /// Counts an attempt, and returns its task.
    pub(super) fn attempt(&mut self, attempt: Counted, counts: &mut Tally) -> Found {
        self.submission(attempt.stage_attempt, None);
        let Some(task) = attempt.task(self) else {
            // If all tasks of the stage have succeeded, it does not matter which task this is.
            counts.unmatched += u64::from(!self.counted);
            let alone = attempt.succeeded && !self.counted && self.may_have_task_without_winner();
            self.unmatched_winners += u32::from(alone);
            counts.unmatched_winners += u64::from(alone);
            return Found { task: None, repeated: true, wins: false, has_winner: false };
        };
        let (counted, succeeded) = (self.counted, attempt.succeeded);
        let again = self.resubmission.as_deref_mut();
        let repeated = again.is_some_and(|again| again.repeats(attempt.stage_attempt, task, counted, succeeded));
        let mut wins = false;
        if !counted {
            counts.tasks += u64::from(self.seen.insert(task));
            wins = succeeded && self.won.insert(task);
            counts.winners += u64::from(wins);
            counts.speculative_winners += u64::from(wins && attempt.speculative);
        }
        Found { task: Some(task), repeated, wins, has_winner: counted || self.won.contains(task) }
    }

    /// Records that the stage was submitted or runs, for the first active job that lists it.
    pub(super) fn runs(&mut self, id: u32, jobs: &mut Jobs, owned: &mut RangeSet) {
        self.ran = true;
        self.looked = jobs.started();
        if let Some((index, name)) = jobs.ran(id) {
            owned.insert(id);
            if self.owner.is_none() {
                self.owner = Some(index);
                self.job_name = Some(name.into());
                connect::name_stage(&mut self.name, name);
            }
        }
    }

    /// Applies an event of the stage: the number of a submission, and how many tasks it has.
    pub(super) fn own(&mut self, info: &StageInfo<'_>) {
        let attempt = info.attempt.id().unwrap_or(0);
        self.submission(attempt, info.tasks.id());
        if attempt == 0 {
            self.stated = self.stated.max(info.tasks.id());
        }
    }

    /// Records a submission and its number of tasks. If a resubmission includes tasks that had succeeded, their outputs
    /// were lost.
    fn submission(&mut self, attempt: u32, tasks: Option<u32>) {
        if attempt > self.last_attempt {
            self.last_attempt = attempt;
            let Stage { stated, seen, won, counted, .. } = &*self;
            let again = Resubmission::begin(attempt, tasks, *stated, (seen, won), *counted);
            self.resubmission = Some(Box::new(again));
        }
    }

    /// Returns whether there are tasks without a success. An attempt whose task is unknown may belong to one of them.
    fn may_have_task_without_winner(&self) -> bool {
        let tasks = u64::from(self.stated.unwrap_or(0)).max(self.seen.len());
        self.won.len() + u64::from(self.unmatched_winners) < tasks
    }

    /// Returns how many tasks have no attempt in the log although a submission succeeded.
    pub(super) fn missing(&self) -> u64 {
        let known = self.seen.len() + u64::from(self.unmatched_winners);
        let missing = u64::from(self.stated.unwrap_or(0)).saturating_sub(known);
        if self.succeeded && !self.counted { missing } else { 0 }
    }

    pub(super) fn learn(&mut self, info: &StageInfo<'_>) {
        if let (None, Some(parents)) = (&self.parents, &info.parents) {
            self.parents = Some(parents.iter().filter_map(|id| id.id()).collect());
        }
        if let (None, Some(name)) = (&self.name, info.name.get()) {
            self.name = Some(name.into());
        }
        // Later submissions have only the tasks whose output was lost.
        if info.attempt.id().unwrap_or(0) == 0 {
            self.size = self.size.max(info.tasks.id());
        }
        self.barrier |= info.rdds.barrier;
        self.output = self.output.or(info.rdds.last);
    }

    /// Returns whether every task has an attempt and a success.
    pub(super) fn is_done(&self) -> bool {
        let all = |set: &RangeSet| Some(set.len()) == self.stated.map(u64::from);
        self.counted || all(&self.seen) && all(&self.won)
    }
}
