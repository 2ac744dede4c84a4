//! The stages of an application. What is kept of one that is over, when only counts are wanted, is its
//! number in a set of ranges; so memory grows with the stages that run, not with those of the log.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::again::{Again, Place};
use super::fields::StageInfo;
use super::ids::RangeSet;
use super::jobs::Jobs;
use super::tables::{IndexSet, Winners};

/// As many stages are held when finished ones are let go: a log of which parts are missing may have
/// stages that never end. The oldest go first, those that don't run before those that do.
const MOST_HELD: usize = 4096;

#[derive(Debug, Default)]
pub(super) struct Stages {
    /// Whether stages that are over are let go.
    letting_go: bool,
    held: FxHashMap<u32, Stage>,
    /// Held ones and others let go since, in the order in which they came; only where they are let go.
    order: VecDeque<u32>,
    /// Stages that ran, or were submitted; those of them that a job listed that was active then.
    ran: RangeSet,
    owned: RangeSet,
    resubmitted: RangeSet,
    barrier: RangeSet,
    /// Let go with every task counted and won.
    settled: RangeSet,
    /// Let go before that.
    forgotten: RangeSet,
    pub tasks: u64,
    pub winners: u64,
    pub speculative_winners: u64,
    /// Task ends of forgotten stages.
    pub late: u64,
    /// Attempts whose task isn't known, and how many tasks they may be the only success of.
    pub unmatched: u64,
    pub unmatched_winners: u64,
    /// Tasks of which nothing was seen, of forgotten stages that succeeded.
    missing: u64,
}

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
    running: bool,
    /// Whether a submission of it succeeded.
    succeeded: bool,
    /// How many jobs had started when its job was last looked for.
    looked: u32,
    /// Whether all its tasks have been counted, in an earlier submission.
    counted: bool,
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
    fn task(self, stage: Option<&Stage>) -> Option<u32> {
        match (self.partition, self.stage_attempt) {
            (Some(partition), _) => Some(partition),
            (None, 0) => Some(self.index),
            (None, _) => {
                let again = stage.and_then(|stage| stage.again.as_deref());
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
}

impl Stages {
    pub(super) fn new(letting_go: bool) -> Self {
        Stages { letting_go, ..Stages::default() }
    }

    pub(super) fn ran(&self) -> u64 {
        self.ran.len()
    }

    pub(super) fn resubmitted(&self) -> u64 {
        self.resubmitted.len()
    }

    pub(super) fn barrier(&self) -> u64 {
        self.barrier.len()
    }

    /// Stages that ran for no job that was active then.
    pub(super) fn without_job(&self) -> u64 {
        self.ran.beyond(&self.owned)
    }

    /// Tasks of which nothing was seen though their stage succeeded.
    pub(super) fn missing(&self) -> u64 {
        self.missing + self.held.values().map(Stage::missing).sum::<u64>()
    }

    pub(super) fn get(&self, id: u32) -> Option<&Stage> {
        self.held.get(&id)
    }

    /// All that are held, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Stage)> {
        self.held.iter().map(|(&id, stage)| (id, stage))
    }

    pub(super) fn into_held(self) -> FxHashMap<u32, Stage> {
        self.held
    }

    /// Learns of a stage that a job lists, if stages are kept.
    pub(super) fn listed(&mut self, info: &StageInfo<'_>, execution: Option<i64>) {
        if let (false, Some(id)) = (self.letting_go, info.id.id()) {
            let stage = self.held.entry(id).or_default();
            stage.learn(info);
            stage.execution = stage.execution.or(execution);
        }
    }

    /// Takes in that a stage was submitted. Gives stages that had to be let go with it.
    pub(super) fn submitted(&mut self, id: u32, info: &StageInfo<'_>, jobs: &mut Jobs) -> (&mut Stage, Vec<u32>) {
        self.note(id, info);
        let gone = self.make_room(id);
        let counted = self.settled.contains(id) || self.forgotten.contains(id);
        let stage = Self::hold(&mut self.held, &mut self.order, self.letting_go, id, counted);
        stage.learn(info);
        stage.own(info);
        stage.running = true;
        stage.runs(id, jobs, &mut self.owned);
        (stage, gone)
    }

    /// Takes in that a stage, or a submission of it, was completed, well or not.
    pub(super) fn completed(&mut self, id: u32, info: &StageInfo<'_>, jobs: &mut Jobs) -> (&mut Stage, Vec<u32>) {
        self.note(id, info);
        let gone = self.make_room(id);
        let counted = self.settled.contains(id) || self.forgotten.contains(id);
        let stage = Self::hold(&mut self.held, &mut self.order, self.letting_go, id, counted);
        stage.learn(info);
        stage.own(info);
        if !stage.ran {
            stage.runs(id, jobs, &mut self.owned);
        }
        stage.running = false;
        stage.succeeded |= info.failure.get().is_none();
        (stage, gone)
    }

    /// Whether an attempt of the same task was counted; `None` where that is not known.
    pub(super) fn knows(&self, attempt: Counted) -> Option<bool> {
        let stage = self.held.get(&attempt.stage);
        match stage {
            Some(stage) => attempt.task(Some(stage)).map(|task| stage.counted || stage.seen.contains(task)),
            None if self.forgotten.contains(attempt.stage) => None,
            None => Some(self.settled.contains(attempt.stage)),
        }
    }

    /// Takes in that the output of an attempt that had succeeded was lost.
    pub(super) fn lost(&mut self, attempt: Counted) {
        if let Some(stage) = self.held.get_mut(&attempt.stage)
            && let Some(task) = attempt.task(Some(stage))
            && (stage.counted || stage.won.contains(task))
        {
            stage.again.get_or_insert_default().lost(task);
        }
    }

    /// Counts an attempt. Gives what was found of it; its stage, unless that was let go; and those let go with it.
    pub(super) fn attempt(&mut self, attempt: Counted, jobs: &mut Jobs) -> (Found, Option<&mut Stage>, Vec<u32>) {
        let id = attempt.stage;
        let mut gone = Vec::new();
        if attempt.stage_attempt > 0 {
            self.resubmitted.insert(id);
        }
        if !self.held.contains_key(&id) {
            let settled = self.settled.contains(id);
            if settled || self.forgotten.contains(id) {
                self.late += u64::from(!settled);
                // All tasks of a settled stage had been won before it was submitted again.
                let repeated = settled && attempt.stage_attempt > 0;
                return (Found { task: attempt.partition.or(Some(attempt.index)), repeated }, None, gone);
            }
            gone = self.make_room(id);
        }
        let new = self.held.get(&id).is_none_or(|stage| !stage.ran);
        if new {
            self.ran.insert(id);
        }
        let stage = Self::hold(&mut self.held, &mut self.order, self.letting_go, id, false);
        stage.running |= new;
        if stage.running && (new || stage.looked != jobs.started()) {
            stage.runs(id, jobs, &mut self.owned);
        }
        stage.submission(attempt.stage_attempt, None);
        let task = attempt.task(Some(stage));
        let Some(task) = task else {
            // Of a stage all of whose tasks have succeeded it does not matter which it is.
            self.unmatched += u64::from(!stage.counted);
            let alone = attempt.succeeded && !stage.counted && stage.may_want_a_winner();
            stage.unmatched_winners += u32::from(alone);
            self.unmatched_winners += u64::from(alone);
            return (Found { task: None, repeated: true }, Some(stage), gone);
        };
        let (counted, succeeded) = (stage.counted, attempt.succeeded);
        let again = stage.again.as_deref_mut();
        let repeated = again.is_some_and(|again| again.repeats(attempt.stage_attempt, task, counted, succeeded));
        if !stage.counted {
            self.tasks += u64::from(stage.seen.insert(task));
            if attempt.succeeded && stage.won.insert(task) {
                self.winners += 1;
                self.speculative_winners += u64::from(attempt.speculative);
            }
        }
        (Found { task: Some(task), repeated }, Some(stage), gone)
    }

    /// Lets a stage go if nothing about it can change the counts any more; where stages are kept, it is counted no
    /// further, so that counts are the same.
    pub(super) fn settle(&mut self, id: u32) {
        let Some(stage) = self.held.get_mut(&id).filter(|stage| !stage.running && stage.is_done()) else { return };
        stage.counted = true;
        if self.letting_go {
            self.held.remove(&id);
            if !self.forgotten.contains(id) {
                self.settled.insert(id);
            }
        }
    }

    /// Takes in that the last job that waits for a stage has ended.
    pub(super) fn abandoned(&mut self, id: u32) -> Option<&mut Stage> {
        let stage = self.held.get_mut(&id).filter(|stage| stage.ran)?;
        stage.running = false;
        Some(stage)
    }

    /// All that are held and were not closed.
    pub(super) fn open(&mut self) -> impl Iterator<Item = (u32, &mut Stage)> {
        self.held.iter_mut().map(|(&id, stage)| (id, stage)).filter(|(_, stage)| stage.ran && !stage.closed)
    }

    fn note(&mut self, id: u32, info: &StageInfo<'_>) {
        self.ran.insert(id);
        if info.attempt.id().is_some_and(|attempt| attempt > 0) {
            self.resubmitted.insert(id);
        }
        if info.rdds.barrier {
            self.barrier.insert(id);
        }
    }

    fn hold<'s>(
        held: &'s mut FxHashMap<u32, Stage>,
        order: &mut VecDeque<u32>,
        letting_go: bool,
        id: u32,
        counted: bool,
    ) -> &'s mut Stage {
        held.entry(id).or_insert_with(|| {
            if letting_go {
                order.push_back(id);
            }
            Stage { counted, ..Stage::default() }
        })
    }

    /// Lets stages go before one more than the most is held; gives those that were not closed.
    fn make_room(&mut self, coming: u32) -> Vec<u32> {
        let mut open = Vec::new();
        if !self.letting_go {
            return open;
        }
        if self.order.len() >= 2 * MOST_HELD {
            let held = &self.held;
            let mut seen = rustc_hash::FxHashSet::default();
            self.order.retain(|id| held.contains_key(id) && seen.insert(*id));
        }
        if self.held.len() < MOST_HELD || self.held.contains_key(&coming) {
            return open;
        }
        // A quarter at a time: looking for them takes as long as there are stages.
        let mut most = MOST_HELD / 4;
        for running_too in [false, true] {
            let Stages { held, order, settled, forgotten, missing, .. } = self;
            order.retain(|&id| {
                let Some(stage) = held.get(&id) else { return false };
                if most == 0 || stage.running && !running_too {
                    return true;
                }
                most -= 1;
                if !stage.closed {
                    open.push(id);
                }
                *missing += stage.missing();
                if stage.is_done() {
                    settled.insert(id)
                } else {
                    forgotten.insert(id)
                };
                held.remove(&id);
                false
            });
        }
        open
    }
}

impl Stage {
    /// Notes that the stage was submitted or runs, for the first active job that lists it.
    fn runs(&mut self, id: u32, jobs: &mut Jobs, owned: &mut RangeSet) {
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
    fn own(&mut self, info: &StageInfo<'_>) {
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
    fn missing(&self) -> u64 {
        let known = self.seen.len() + self.unmatched_winners;
        let missing = self.stated.unwrap_or(0).saturating_sub(known);
        if self.succeeded && !self.counted { missing.into() } else { 0 }
    }

    fn learn(&mut self, info: &StageInfo<'_>) {
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
    fn is_done(&self) -> bool {
        let all = |set: &IndexSet| Some(set.len()) == self.stated;
        self.counted || all(&self.seen) && all(&self.won)
    }
}
