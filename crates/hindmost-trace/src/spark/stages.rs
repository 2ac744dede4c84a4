//! The stages of an application. What is kept of one that is over, when only counts are wanted, is its
//! number in a set of ranges; so memory grows with the stages that run, not with those of the log.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::fields::StageInfo;
use super::id_sets::RangeSet;
use super::jobs::Jobs;
use super::stage::{Counted, Found, Stage};
use super::tally::Tally;

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
    /// Tasks and who won them.
    counts: Tally,
}

impl Stages {
    pub(super) fn new(letting_go: bool) -> Self {
        Stages { letting_go, ..Stages::default() }
    }

    pub(super) fn tally(&self) -> Tally {
        Tally {
            stages: self.ran.len(),
            resubmitted_stages: self.resubmitted.len(),
            barrier_stages: self.barrier.len(),
            without_job: self.ran.beyond(&self.owned),
            missing: self.counts.missing + self.held.values().map(Stage::missing).sum::<u64>(),
            ..self.counts
        }
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
        match self.held.get(&attempt.stage) {
            Some(stage) => stage.knows(attempt),
            None if self.forgotten.contains(attempt.stage) => None,
            None => Some(self.settled.contains(attempt.stage)),
        }
    }

    /// Takes in that the output of an attempt that had succeeded was lost.
    pub(super) fn lost(&mut self, attempt: Counted) {
        if let Some(stage) = self.held.get_mut(&attempt.stage) {
            stage.lost(attempt);
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
                self.counts.late += u64::from(!settled);
                // All tasks of a settled stage had been won before it was submitted again.
                let repeated = settled && attempt.stage_attempt > 0;
                let task = attempt.partition.or(Some(attempt.index));
                return (Found { task, repeated, wins: false }, None, gone);
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
        let found = stage.attempt(attempt, &mut self.counts);
        (found, Some(stage), gone)
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
            Stage::new(counted)
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
            let Stages { held, order, settled, forgotten, counts, .. } = self;
            order.retain(|&id| {
                let Some(stage) = held.get(&id) else { return false };
                if most == 0 || stage.running && !running_too {
                    return true;
                }
                most -= 1;
                if !stage.closed {
                    open.push(id);
                }
                counts.missing += stage.missing();
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
