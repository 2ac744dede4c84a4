//! A stage of an application, and which of its tasks attempts are of.

use super::again::{Again, Place};
use super::fields::StageInfo;
use super::id_sets::RangeSet;
use super::jobs::Jobs;
use super::tables::{IndexSet, Winners};
use super::tally::Tally;

#[derive(Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "independent facts about what was seen of it")]
pub(super) struct Stage {
    /// Whether it was submitted or ran; if not, some job has it in its list.
    pub ran: bool,
    pub name: Option<Box<str>>,
    pub parents: Option<Vec<u32>>,
    /// The SQL execution whose job lists it, and the id of the RDD that is its output: a stage of another
    /// job that has both is the same by another number.
    pub execution: Option<i64>,
    pub output: Option<u32>,
    /// The job it ran for first, an index.
    pub owner: Option<u32>,
    /// The job's name, if it is active.
    pub job_name: Option<Box<str>>,
    /// Number of tasks of its first submission; as events of its own said.
    pub size: Option<u32>,
    stated: Option<u32>,
    /// The largest number of a submission.
    last_attempt: u32,
    /// Whether all tasks run at once, and a failure of one fails the submission.
    pub barrier: bool,
    /// Whether a submission of it was seen, or a task end, and no end of it after that.
    pub running: bool,
    /// Whether a submission of it succeeded.
    pub succeeded: bool,
    /// How many jobs had started when its job was last looked for.
    pub looked: u32,
    /// Whether all its tasks have been counted, in an earlier submission.
    pub counted: bool,
    /// What an analysis has been told: its name, and that it is over.
    pub introduced: bool,
    pub closed: bool,
    seen: IndexSet,
    won: IndexSet,
    /// Of submissions after the first, and of outputs that were lost.
    again: Option<Box<Again>>,
    unmatched_winners: u32,
    pub winners: Winners,
}

/// A task's attempt, as far as counts need it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counted {
    pub stage: u32,
    pub stage_attempt: u32,
    /// Its partition, if the log names it, and its index within the submission.
    pub partition: Option<u32>,
    pub index: u32,
    pub succeeded: bool,
    pub speculative: bool,
}

impl Counted {
    /// Which task it is an attempt of; `None` if that is not known.
    fn task(self, stage: &Stage) -> Option<u32> {
        match (self.partition, self.stage_attempt) {
            (Some(partition), _) => Some(partition),
            (None, 0) => Some(self.index),
            (None, _) => {
                let again = stage.again.as_deref();
                let place = again.map_or(Place::Unknown, |again| again.place(self.stage_attempt, self.index));
                match place {
                    Place::Task(task) => Some(task),
                    Place::Unknown => None,
                }
            }
        }
    }
}

/// What was found of an attempt when it was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// The task; `None`: one of a later submission that does not say which.
    pub task: Option<u32>,
    /// Whether it ran because the output of one that had succeeded was lost.
    pub repeated: bool,
    /// Whether it is the first of its task to succeed.
    pub wins: bool,
}

impl Stage {
    /// A stage, all of whose tasks may have been counted before.
    pub(super) fn new(counted: bool) -> Stage {
        Stage { counted, ..Stage::default() }
    }

    /// Whether an attempt of the same task was counted; `None` where that is not known.
    pub(super) fn knows(&self, attempt: Counted) -> Option<bool> {
        attempt.task(self).map(|task| self.counted || self.seen.contains(task))
    }

    /// Takes in that the output of an attempt that had succeeded was lost.
    pub(super) fn lost(&mut self, attempt: Counted) {
        if let Some(task) = attempt.task(self)
            && (self.counted || self.won.contains(task))
        {
            self.again.get_or_insert_default().lost(task);
        }
    }

    /// Counts an attempt.
    pub(super) fn attempt(&mut self, attempt: Counted, counts: &mut Tally) -> Found {
        self.submission(attempt.stage_attempt, None);
        let Some(task) = attempt.task(self) else {
            // Of a stage all of whose tasks have succeeded it does not matter which it is.
            counts.unmatched += u64::from(!self.counted);
            let alone = attempt.succeeded && !self.counted && self.may_want_a_winner();
            self.unmatched_winners += u32::from(alone);
            counts.unmatched_winners += u64::from(alone);
            return Found { task: None, repeated: true, wins: false };
        };
        let (counted, succeeded) = (self.counted, attempt.succeeded);
        let again = self.again.as_deref_mut();
        let repeated = again.is_some_and(|again| again.repeats(attempt.stage_attempt, task, counted, succeeded));
        let mut wins = false;
        if !counted {
            counts.tasks += u64::from(self.seen.insert(task));
            wins = succeeded && self.won.insert(task);
            counts.winners += u64::from(wins);
            counts.speculative_winners += u64::from(wins && attempt.speculative);
        }
        Found { task: Some(task), repeated, wins }
    }

    /// Notes that the stage was submitted or runs, for the first active job that lists it.
    pub(super) fn runs(&mut self, id: u32, jobs: &mut Jobs, owned: &mut RangeSet) {
        self.ran = true;
        self.looked = jobs.started();
        if let Some((index, name)) = jobs.ran(id) {
            owned.insert(id);
            if self.owner.is_none() {
                self.owner = Some(index);
                self.job_name = Some(name.into());
            }
        }
    }

    /// Takes in what an event of the stage's own says of a submission.
    pub(super) fn own(&mut self, info: &StageInfo<'_>) {
        let attempt = info.attempt.id().unwrap_or(0);
        self.submission(attempt, info.tasks.id());
        if attempt == 0 {
            self.stated = self.stated.max(info.tasks.id());
        }
    }

    /// Notes a submission, of so many tasks; if it is a further one, the tasks that were won before have lost their
    /// outputs as far as they are among its own.
    fn submission(&mut self, attempt: u32, tasks: Option<u32>) {
        if attempt > self.last_attempt {
            self.last_attempt = attempt;
            let Stage { stated, seen, won, counted, .. } = &*self;
            let again = Again::begin(attempt, tasks, *stated, (seen, won), *counted);
            self.again = Some(Box::new(again));
        }
    }

    /// Whether there are tasks without a success that attempts without a task can be of.
    fn may_want_a_winner(&self) -> bool {
        let tasks = self.stated.unwrap_or(0).max(self.seen.len());
        self.won.len() + self.unmatched_winners < tasks
    }

    /// How many tasks were not seen though a submission succeeded.
    pub(super) fn missing(&self) -> u64 {
        let known = self.seen.len() + self.unmatched_winners;
        let missing = self.stated.unwrap_or(0).saturating_sub(known);
        if self.succeeded && !self.counted { missing.into() } else { 0 }
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

    /// Whether every task has been seen and won.
    pub(super) fn is_done(&self) -> bool {
        let all = |set: &IndexSet| Some(set.len()) == self.stated;
        self.counted || all(&self.seen) && all(&self.won)
    }
}
