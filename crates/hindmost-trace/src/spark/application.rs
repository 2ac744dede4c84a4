//! One Spark application, as its events come.

use super::census::Census;
use super::collect::Keep;
use super::executors::Executors;
use super::feed::Feed;
use super::fields::{
    ApplicationEnd, ApplicationStart, BlockManagerAdded, End, ExecutorAdded, ExecutorRemoved, JobEnd, JobStart,
    Metrics, StageInfo, TaskEnd,
};
use super::jobs::Jobs;
use super::stages::{Counted, Stages};
use super::tables::Winner;
use super::tally::Tally;
use super::values::Number;

#[derive(Debug)]
#[allow(clippy::struct_excessive_bools, reason = "independent facts about what was seen of it")]
pub(super) struct Application {
    keep: Keep,
    pub id: Option<String>,
    /// Which attempt of the application, where the cluster manager numbers them.
    pub attempt: Option<String>,
    pub name: Option<String>,
    pub version: Option<String>,
    /// Whether any event of it was seen; its start; its end.
    pub touched: bool,
    pub started: bool,
    ended: bool,
    /// Whether its log is known to be cut short.
    pub cut: bool,
    start: Option<i64>,
    end: Option<i64>,
    /// Earliest and latest of all times seen.
    span: Option<(i64, i64)>,
    pub census: Census,
    /// Only if a workload is wanted.
    pub executors: Executors,
    pub stages: Stages,
    pub jobs: Jobs,
    /// Attempts that are not their task's winner, if a workload is wanted.
    pub losers: Vec<Loser>,
    pub starts: u64,
    pub speculation_asked: u64,
    attempts: u64,
    speculative: u64,
    failed: u64,
    killed: u64,
    nameless: u64,
    untimed: u64,
}

/// An attempt that is not its task's winner, times in milliseconds since 1970.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loser {
    pub stage: u32,
    pub stage_attempt: u32,
    pub task: u32,
    pub attempt: u32,
    pub executor: Option<u32>,
    pub launch: Option<i64>,
    pub finish: Option<i64>,
    pub speculative: bool,
    pub end: End,
}

impl Application {
    pub(super) fn new(keep: Keep) -> Self {
        let letting_go = keep != Keep::Workload;
        Application {
            keep,
            id: None,
            attempt: None,
            name: None,
            version: None,
            touched: false,
            started: false,
            ended: false,
            cut: false,
            start: None,
            end: None,
            span: None,
            census: Census::default(),
            executors: Executors::default(),
            stages: Stages::new(letting_go),
            jobs: Jobs::new(letting_go),
            losers: Vec::new(),
            starts: 0,
            speculation_asked: 0,
            attempts: 0,
            speculative: 0,
            failed: 0,
            killed: 0,
            nameless: 0,
            untimed: 0,
        }
    }

    /// What names of its jobs and executors begin with, where there are several applications.
    pub(super) fn prefix(&self, number: u32, several: bool) -> String {
        match (&self.id, &self.attempt) {
            _ if !several => String::new(),
            (Some(id), Some(attempt)) => format!("{id}_{attempt} "),
            (Some(id), None) => format!("{id} "),
            (None, _) => format!("application {} ", number + 1),
        }
    }

    /// Whether the event tells of this application's start.
    pub(super) fn is_of(&self, event: &ApplicationStart<'_>) -> bool {
        self.id.as_deref() == event.id.get()
            && self.attempt.as_deref() == event.attempt.get()
            && self.start == event.time.instant()
    }

    pub(super) fn start(&mut self, event: &ApplicationStart<'_>) {
        self.started = true;
        self.id = event.id.get().map(str::to_owned);
        self.attempt = event.attempt.get().map(str::to_owned);
        self.name = event.name.get().map(str::to_owned);
        self.start = event.time.instant();
        self.saw(event.time);
    }

    pub(super) fn ended(&mut self, event: &ApplicationEnd) {
        self.ended = true;
        self.end = self.end.max(event.time.instant());
        self.saw(event.time);
    }

    pub(super) fn saw(&mut self, time: Number) {
        if let Some(at) = time.instant() {
            let (from, to) = self.span.unwrap_or((at, at));
            self.span = Some((from.min(at), to.max(at)));
        }
    }

    /// When it started, or the earliest time seen.
    pub(super) fn from(&self) -> Option<i64> {
        self.start.or(self.span.map(|(from, _)| from))
    }

    /// When it ended, or the latest time seen.
    fn to(&self) -> Option<i64> {
        self.end.or(self.span.map(|(_, to)| to))
    }

    pub(super) fn executor_added(&mut self, event: &ExecutorAdded<'_>) {
        self.saw(event.time);
        self.census.announced(event.id.get());
        if self.keep == Keep::Workload {
            self.executors.added(event);
        }
    }

    pub(super) fn executor_removed(&mut self, event: &ExecutorRemoved<'_>) {
        self.saw(event.time);
        self.executors.removed(event);
    }

    pub(super) fn block_manager_added(&mut self, event: &BlockManagerAdded<'_>) {
        self.saw(event.time);
        self.census.block_manager(event.manager.as_ref().and_then(|manager| manager.executor.get()));
        if self.keep == Keep::Workload {
            self.executors.block_manager(event);
        }
    }

    pub(super) fn job_start(&mut self, event: &JobStart<'_>) {
        self.saw(event.time);
        for info in event.stages.iter().flatten() {
            self.stages.listed(info, event.execution());
        }
        self.jobs.start(event);
    }

    pub(super) fn job_end(&mut self, event: &JobEnd, mut feed: Option<&mut Feed>) {
        self.saw(event.time);
        for id in self.jobs.end(event.id.id()) {
            if let (Some(stage), Some(feed)) = (self.stages.abandoned(id), &mut feed) {
                feed.close(id, stage);
            }
            self.stages.settle(id);
        }
    }

    pub(super) fn stage_submitted(&mut self, info: &StageInfo<'_>, feed: Option<&mut Feed>) {
        self.saw(info.submitted);
        let Some(id) = info.id.id() else { return };
        let (stage, gone) = self.stages.submitted(id, info, &mut self.jobs);
        stage.closed = false;
        if let Some(feed) = feed {
            feed.introduce(id, stage);
            feed.close_all(&gone);
        }
    }

    pub(super) fn stage_completed(&mut self, info: &StageInfo<'_>, feed: Option<&mut Feed>) {
        self.saw(info.submitted);
        self.saw(info.completed);
        let Some(id) = info.id.id() else { return };
        let (stage, gone) = self.stages.completed(id, info, &mut self.jobs);
        if let Some(feed) = feed {
            // A submission that failed is followed by another, or by the end of the job.
            if info.failure.get().is_none() {
                feed.close(id, stage);
            }
            feed.close_all(&gone);
        }
        self.stages.settle(id);
    }

    pub(super) fn task_end<M: Metrics>(&mut self, event: &TaskEnd<'_, M>, end: End, mut feed: Option<&mut Feed>) {
        self.attempts += 1;
        match end {
            End::Success => {}
            End::Killed => self.killed += 1,
            End::Failed => self.failed += 1,
        }
        let Some(info) = &event.info else {
            self.nameless += 1;
            return;
        };
        self.speculative += u64::from(info.speculative.0);
        self.saw(info.launch);
        self.saw(info.finish);
        self.census.ran(info.executor.get());
        let executor = if self.keep == Keep::Workload { self.executors.ran(info) } else { None };
        let (Some(id), Some(task)) = (event.stage.id(), info.partition.id().or(info.index.id())) else {
            self.nameless += 1;
            return;
        };
        let stage_attempt = event.stage_attempt.id().unwrap_or(0);
        let succeeded = end == End::Success;
        let speculative = info.speculative.0;
        let counted = Counted { stage: id, stage_attempt, task, succeeded, speculative };
        let (stage, gone) = self.stages.attempt(counted, &mut self.jobs);
        let (launch, finish) = (info.launch.instant(), info.finish.instant());
        if succeeded && (launch.is_none() || finish.is_none()) {
            self.untimed += 1;
        }
        // That an output was lost is told by a further end of the attempt that had made it.
        if event.is_loss_of_output() {
            return;
        }
        if let Some(feed) = &mut feed {
            feed.ended(id, task, event, info, end);
            feed.close_all(&gone);
        }
        let (Keep::Workload, Some(stage)) = (self.keep, stage) else {
            return;
        };
        let attempt = info.attempt.id().unwrap_or(0);
        let this = Loser { stage: id, stage_attempt, task, attempt, executor, launch, finish, speculative, end };
        match (end, launch, finish) {
            (End::Success, Some(launch), Some(finish)) => {
                let winner = this.as_winner(launch, finish);
                if let Some(loser) = stage.winners.offer(task, winner, stage.barrier) {
                    self.losers.push(Loser::from_winner(id, task, loser));
                }
            }
            (End::Success, ..) => {}
            _ => self.losers.push(this),
        }
    }

    /// Tells that everything is over.
    pub(super) fn close(&mut self, feed: &mut Feed) {
        let mut open: Vec<_> = self.stages.open().collect();
        open.sort_unstable_by_key(|(id, _)| *id);
        for (id, stage) in open {
            feed.close(id, stage);
        }
    }

    pub(super) fn tally(&self) -> Tally {
        Tally {
            applications: 1,
            jobs: self.jobs.len(),
            stages: self.stages.ran(),
            skipped_stages: self.jobs.skipped_stages,
            resubmitted_stages: self.stages.resubmitted(),
            barrier_stages: self.stages.barrier(),
            tasks: self.stages.tasks,
            winners: self.stages.winners,
            speculative_winners: self.stages.speculative_winners,
            attempts: self.attempts,
            speculative: self.speculative,
            failed: self.failed,
            killed: self.killed,
            speculation_asked: self.speculation_asked,
            executors: self.census.executors(),
            excluded_executors: self.census.excluded_executors(),
            excluded_hosts: self.census.excluded_hosts(),
            from: self.from(),
            to: self.to(),
            unannounced: self.census.unannounced(),
            unended: self.starts.saturating_sub(self.attempts),
            // Logs without any start are the work of tools that leave them out.
            unstarted: if self.starts > 0 { self.attempts.saturating_sub(self.starts) } else { 0 },
            nameless: self.nameless,
            untimed: self.untimed,
            late: self.stages.late,
            beheaded: u64::from(!self.started),
            endless: u64::from(!self.ended && !self.cut),
        }
    }
}

impl Loser {
    fn as_winner(&self, launch: i64, finish: i64) -> Winner {
        Winner {
            launch,
            finish,
            executor: self.executor.unwrap_or(u32::MAX),
            attempt: u16::try_from(self.attempt).unwrap_or(u16::MAX),
            stage_attempt: u8::try_from(self.stage_attempt).unwrap_or(u8::MAX),
            speculative: self.speculative,
        }
    }

    pub(super) fn from_winner(stage: u32, task: u32, winner: Winner) -> Loser {
        Loser {
            stage,
            stage_attempt: winner.stage_attempt.into(),
            task,
            attempt: winner.attempt.into(),
            executor: (winner.executor != u32::MAX).then_some(winner.executor),
            launch: Some(winner.launch),
            finish: Some(winner.finish),
            speculative: winner.speculative,
            end: End::Success,
        }
    }
}
