//! The stages of an application. A diagnosis does not need the details of a finished stage, so only its number is kept.

use rustc_hash::FxHashMap;

use super::fields::StageInfo;
use super::id_sets::RangeSet;
use super::jobs::Jobs;
use super::reasons::{STAGE_FAILED, of_given_up_stage};
use super::stage::{Counted, Found, Stage};
use super::tally::Tally;

#[derive(Debug, Default)]
pub(super) struct Stages {
    /// Whether finished stages are dropped.
    drop_finished: bool,
    held: FxHashMap<u32, Stage>,
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
            missing: self.held.values().map(Stage::missing).sum(),
            ..self.counts
        }
    }

    /// Returns the stages that are held, by id.
    pub(super) fn held(&self) -> &FxHashMap<u32, Stage> {
        &self.held
    }

    /// Records a stage that a job lists, if finished stages are kept.
    pub(super) fn listed(&mut self, info: &StageInfo<'_>, execution: Option<i64>) {
        if let (false, Some(id)) = (self.drop_finished, info.id.id()) {
            let stage = self.held.entry(id).or_default();
            stage.learn(info);
            stage.execution = stage.execution.or(execution);
        }
    }

    /// Records that a stage was submitted, and returns it.
    pub(super) fn submitted(&mut self, id: u32, info: &StageInfo<'_>, jobs: &mut Jobs) -> &mut Stage {
        self.note(id, info);
        let counted = self.settled.contains(id);
        let stage = self.held.entry(id).or_insert_with(|| Stage::new(counted));
        stage.learn(info);
        stage.own(info);
        stage.running = true;
        stage.runs(id, jobs, &mut self.owned);
        stage
    }

    /// Records the end of a submission, successful or not, and returns its stage.
    pub(super) fn completed(&mut self, id: u32, info: &StageInfo<'_>, jobs: &mut Jobs) -> &mut Stage {
        self.note(id, info);
        let counted = self.settled.contains(id);
        let stage = self.held.entry(id).or_insert_with(|| Stage::new(counted));
        stage.learn(info);
        stage.own(info);
        if !stage.ran {
            stage.runs(id, jobs, &mut self.owned);
        }
        stage.running = false;
        if info.failure.get().is_none() {
            stage.succeeded = true;
        } else {
            stage.given_up = Some(of_given_up_stage(info.failure.get()));
            stage.failed_submission = stage.failed_submission.max(Some(info.attempt.id().unwrap_or(0)));
        }
        stage
    }

    /// Returns whether an attempt of the same task was counted; `None` if unknown.
    pub(super) fn knows(&self, attempt: Counted) -> Option<bool> {
        match self.held.get(&attempt.stage) {
            Some(stage) => stage.knows(attempt),
            None => Some(self.settled.contains(attempt.stage)),
        }
    }

    /// Returns whether the submission of an attempt failed or was cancelled.
    pub(super) fn gave_up(&self, attempt: Counted) -> bool {
        self.held.get(&attempt.stage).is_some_and(|stage| stage.gave_up(attempt))
    }

    /// Returns whether a submission of a stage failed, and was not cancelled.
    pub(super) fn has_failed(&self, stage: u32) -> bool {
        self.held.get(&stage).and_then(|stage| stage.given_up) == Some(STAGE_FAILED)
    }

    /// Returns why attempts of a stage were killed whose submission failed or was cancelled.
    pub(super) fn given_up_because(&self, attempt: Counted) -> &'static str {
        self.held.get(&attempt.stage).and_then(|stage| stage.given_up).unwrap_or_else(|| of_given_up_stage(None))
    }

    /// Records that the output of an attempt that had succeeded was lost.
    pub(super) fn lost(&mut self, attempt: Counted) {
        if let Some(stage) = self.held.get_mut(&attempt.stage) {
            stage.lost(attempt);
        }
    }

    /// Counts an attempt.
    pub(super) fn attempt(&mut self, attempt: Counted, jobs: &mut Jobs) -> Found {
        let id = attempt.stage;
        if attempt.stage_attempt > 0 {
            self.resubmitted.insert(id);
        }
        if !self.held.contains_key(&id) && self.settled.contains(id) {
            // All tasks of the stage had succeeded before it was resubmitted.
            let task = attempt.partition.or(Some(attempt.index));
            return Found { task, repeated: attempt.stage_attempt > 0, wins: false, has_winner: true };
        }
        let new = self.held.get(&id).is_none_or(|stage| !stage.ran);
        if new {
            self.ran.insert(id);
        }
        let stage = self.held.entry(id).or_insert_with(|| Stage::new(false));
        stage.running |= new;
        if stage.running && (new || stage.looked != jobs.started()) {
            stage.runs(id, jobs, &mut self.owned);
        }
        stage.attempt(attempt, &mut self.counts)
    }

    /// Drops a stage if all of its tasks were counted and have succeeded. If finished stages are kept, the stage stays,
    /// but its attempts are no longer counted, so that the counts are the same in both cases.
    pub(super) fn settle(&mut self, id: u32) {
        let Some(stage) = self.held.get_mut(&id).filter(|stage| !stage.running && stage.is_done()) else { return };
        stage.counted = true;
        if self.drop_finished {
            self.held.remove(&id);
            self.settled.insert(id);
        }
    }

    /// Records that the last job that waits for a stage has ended. Returns the stage if it ran.
    pub(super) fn abandoned(&mut self, id: u32) -> Option<&mut Stage> {
        let stage = self.held.get_mut(&id).filter(|stage| stage.ran)?;
        stage.running = false;
        Some(stage)
    }

    /// Iterates over the stages that are held and ran.
    pub(super) fn that_ran(&mut self) -> impl Iterator<Item = (u32, &mut Stage)> {
        self.held.iter_mut().map(|(&id, stage)| (id, stage)).filter(|(_, stage)| stage.ran)
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
}
