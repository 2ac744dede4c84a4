//! The stages of an application. If only counts are needed, a finished stage is reduced to its number in a set of
//! ranges, so memory grows with the running stages and not with the log.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::fields::StageInfo;
use super::id_sets::RangeSet;
use super::jobs::Jobs;
use super::stage::{Counted, Found, Stage};
use super::tally::Tally;

/// The most stages that are kept if finished stages are dropped. The limit is reached if a log has missing parts,
/// because some of its stages never end. The oldest stages are evicted first, and running stages last.
const MOST_HELD: usize = 4096;

#[derive(Debug, Default)]
pub(super) struct Stages {
    /// Whether finished stages are dropped.
    drop_finished: bool,
    held: FxHashMap<u32, Stage>,
    /// Ids of stages in the order in which they appeared, including dropped stages; empty if finished stages are kept.
    order: VecDeque<u32>,
    /// Stages that ran or were submitted.
    ran: RangeSet,
    /// Stages that an active job listed when they ran or were submitted.
    owned: RangeSet,
    /// Stages that were submitted more than once.
    resubmitted: RangeSet,
    /// Barrier stages.
    barrier: RangeSet,
    /// Stages that were dropped after every task had been counted and had succeeded.
    settled: RangeSet,
    /// Stages that were evicted before every task had been counted and had succeeded.
    forgotten: RangeSet,
    /// Counts of tasks and their winners.
    counts: Tally,
}

impl Stages {
    pub(super) fn new(drop_finished: bool) -> Self {
        Stages { drop_finished, ..Stages::default() }
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

    /// Iterates over all stages that are held, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Stage)> {
        self.held.iter().map(|(&id, stage)| (id, stage))
    }

    pub(super) fn into_held(self) -> FxHashMap<u32, Stage> {
        self.held
    }

    /// Records a stage that a job lists, if finished stages are kept.
    pub(super) fn listed(&mut self, info: &StageInfo<'_>, execution: Option<i64>) {
        if let (false, Some(id)) = (self.drop_finished, info.id.id()) {
            let stage = self.held.entry(id).or_default();
            stage.learn(info);
            stage.execution = stage.execution.or(execution);
        }
    }

    /// Records that a stage was submitted. Returns the stage, and the stages that were evicted because of the limit.
    pub(super) fn submitted(&mut self, id: u32, info: &StageInfo<'_>, jobs: &mut Jobs) -> (&mut Stage, Vec<u32>) {
        self.note(id, info);
        let gone = self.evict_for(id);
        let counted = self.settled.contains(id) || self.forgotten.contains(id);
        let stage = Self::hold(&mut self.held, &mut self.order, self.drop_finished, id, counted);
        stage.learn(info);
        stage.own(info);
        stage.running = true;
        stage.runs(id, jobs, &mut self.owned);
        (stage, gone)
    }

    /// Records the end of a submission, successful or not. Returns the stage, and the stages that were evicted because
    /// of the limit.
    pub(super) fn completed(&mut self, id: u32, info: &StageInfo<'_>, jobs: &mut Jobs) -> (&mut Stage, Vec<u32>) {
        self.note(id, info);
        let gone = self.evict_for(id);
        let counted = self.settled.contains(id) || self.forgotten.contains(id);
        let stage = Self::hold(&mut self.held, &mut self.order, self.drop_finished, id, counted);
        stage.learn(info);
        stage.own(info);
        if !stage.ran {
            stage.runs(id, jobs, &mut self.owned);
        }
        stage.running = false;
        stage.succeeded |= info.failure.get().is_none();
        (stage, gone)
    }

    /// Returns whether an attempt of the same task was counted; `None` if unknown.
    pub(super) fn knows(&self, attempt: Counted) -> Option<bool> {
        match self.held.get(&attempt.stage) {
            Some(stage) => stage.knows(attempt),
            None if self.forgotten.contains(attempt.stage) => None,
            None => Some(self.settled.contains(attempt.stage)),
        }
    }

    /// Records that the output of an attempt that had succeeded was lost.
    pub(super) fn lost(&mut self, attempt: Counted) {
        if let Some(stage) = self.held.get_mut(&attempt.stage) {
            stage.lost(attempt);
        }
    }

    /// Counts an attempt. Returns the result, the attempt's stage (`None` if it was dropped), and the stages that were
    /// evicted because of the limit.
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
                // All tasks of a settled stage had succeeded before it was resubmitted.
                let repeated = settled && attempt.stage_attempt > 0;
                let task = attempt.partition.or(Some(attempt.index));
                return (Found { task, repeated, wins: false }, None, gone);
            }
            gone = self.evict_for(id);
        }
        let new = self.held.get(&id).is_none_or(|stage| !stage.ran);
        if new {
            self.ran.insert(id);
        }
        let stage = Self::hold(&mut self.held, &mut self.order, self.drop_finished, id, false);
        stage.running |= new;
        if stage.running && (new || stage.looked != jobs.started()) {
            stage.runs(id, jobs, &mut self.owned);
        }
        let found = stage.attempt(attempt, &mut self.counts);
        (found, Some(stage), gone)
    }

    /// Drops a stage if all of its tasks were counted and have succeeded. If finished stages are kept, the stage stays,
    /// but its attempts are no longer counted, so that the counts are the same in both cases.
    pub(super) fn settle(&mut self, id: u32) {
        let Some(stage) = self.held.get_mut(&id).filter(|stage| !stage.running && stage.is_done()) else { return };
        stage.counted = true;
        if self.drop_finished {
            self.held.remove(&id);
            if !self.forgotten.contains(id) {
                self.settled.insert(id);
            }
        }
    }

    /// Records that the last job that waits for a stage has ended. Returns the stage if it ran.
    pub(super) fn abandoned(&mut self, id: u32) -> Option<&mut Stage> {
        let stage = self.held.get_mut(&id).filter(|stage| stage.ran)?;
        stage.running = false;
        Some(stage)
    }

    /// Iterates over the stages that are held and not closed.
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
        drop_finished: bool,
        id: u32,
        counted: bool,
    ) -> &'s mut Stage {
        held.entry(id).or_insert_with(|| {
            if drop_finished {
                order.push_back(id);
            }
            Stage::new(counted)
        })
    }

    /// Evicts stages if the stage `coming` would exceed the limit. Returns the evicted stages that were not closed.
    fn evict_for(&mut self, coming: u32) -> Vec<u32> {
        let mut open = Vec::new();
        if !self.drop_finished {
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
        // Evicts a quarter at once, because the search takes time proportional to the number of stages.
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
