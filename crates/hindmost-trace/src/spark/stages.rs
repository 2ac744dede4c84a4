//! The stages of an application. What is kept of one that is over, when only counts are wanted, is its
//! number in a set of ranges; so memory grows with the stages that run, not with those of the log.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

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
    /// Stages that ran, or were submitted.
    ran: RangeSet,
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
    /// Number of tasks of its first submission.
    pub size: Option<u32>,
    /// The largest number of a submission.
    last_attempt: u32,
    /// Whether all tasks run at once, and a failure of one fails the submission.
    pub barrier: bool,
    /// Whether a submission of it was seen, or a task end, and no end of it after that.
    running: bool,
    /// How many jobs had started when its job was last looked for.
    looked: u32,
    /// Whether its tasks have been counted, in an earlier submission.
    counted: bool,
    /// What an analysis has been told: its name, and that it is over.
    pub introduced: bool,
    pub closed: bool,
    seen: IndexSet,
    won: IndexSet,
    pub winners: Winners,
}

/// A task's attempt, as far as counts need it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counted {
    pub stage: u32,
    pub stage_attempt: u32,
    pub task: u32,
    pub succeeded: bool,
    pub speculative: bool,
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
        stage.running = true;
        stage.runs(id, jobs);
        (stage, gone)
    }

    /// Takes in that a stage, or a submission of it, was completed, well or not.
    pub(super) fn completed(&mut self, id: u32, info: &StageInfo<'_>, jobs: &mut Jobs) -> (&mut Stage, Vec<u32>) {
        self.note(id, info);
        let gone = self.make_room(id);
        let counted = self.settled.contains(id) || self.forgotten.contains(id);
        let stage = Self::hold(&mut self.held, &mut self.order, self.letting_go, id, counted);
        stage.learn(info);
        if !stage.ran {
            stage.runs(id, jobs);
        }
        stage.running = false;
        (stage, gone)
    }

    /// Counts an attempt. Gives its stage, unless that was let go, and those let go with it.
    pub(super) fn attempt(&mut self, attempt: Counted, jobs: &mut Jobs) -> (Option<&mut Stage>, Vec<u32>) {
        let id = attempt.stage;
        let mut gone = Vec::new();
        if !self.held.contains_key(&id) {
            if self.settled.contains(id) {
                return (None, gone);
            }
            if self.forgotten.contains(id) {
                self.late += 1;
                return (None, gone);
            }
            gone = self.make_room(id);
        }
        let new = self.held.get(&id).is_none_or(|stage| !stage.ran);
        if new {
            self.ran.insert(id);
        }
        if attempt.stage_attempt > 0 {
            self.resubmitted.insert(id);
        }
        let stage = Self::hold(&mut self.held, &mut self.order, self.letting_go, id, false);
        stage.running |= new;
        if stage.running && (new || stage.looked != jobs.started()) {
            stage.runs(id, jobs);
        }
        stage.last_attempt = stage.last_attempt.max(attempt.stage_attempt);
        if !stage.counted {
            self.tasks += u64::from(stage.seen.insert(attempt.task));
            if attempt.succeeded && stage.won.insert(attempt.task) {
                self.winners += 1;
                self.speculative_winners += u64::from(attempt.speculative);
            }
        }
        (Some(stage), gone)
    }

    /// Lets a stage go if nothing about it can change the counts any more.
    pub(super) fn settle(&mut self, id: u32) {
        if self.letting_go && self.held.get(&id).is_some_and(|stage| !stage.running && stage.is_done()) {
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
            let Stages { held, order, settled, forgotten, .. } = self;
            order.retain(|&id| {
                let Some(stage) = held.get(&id) else { return false };
                if most == 0 || stage.running && !running_too {
                    return true;
                }
                most -= 1;
                if !stage.closed {
                    open.push(id);
                }
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
    fn runs(&mut self, id: u32, jobs: &mut Jobs) {
        self.ran = true;
        self.looked = jobs.started();
        if let Some((index, name)) = jobs.ran(id)
            && self.owner.is_none()
        {
            self.owner = Some(index);
            self.job_name = Some(name.into());
        }
    }

    fn learn(&mut self, info: &StageInfo<'_>) {
        if let (None, Some(parents)) = (&self.parents, &info.parents) {
            self.parents = Some(parents.iter().filter_map(|id| id.id()).collect());
        }
        if let (None, Some(name)) = (&self.name, info.name.get()) {
            self.name = Some(name.into());
        }
        let attempt = info.attempt.id().unwrap_or(0);
        self.last_attempt = self.last_attempt.max(attempt);
        // Later submissions have only the tasks whose output was lost.
        if attempt == 0 {
            self.size = self.size.max(info.tasks.id());
        }
        self.barrier |= info.rdds.barrier;
        self.output = self.output.or(info.rdds.last);
    }

    /// Whether every task has been seen and won.
    fn is_done(&self) -> bool {
        let all = |set: &IndexSet| Some(set.len()) == self.size;
        self.counted || all(&self.seen) && all(&self.won)
    }
}
