//! What is kept of the events: counts always; jobs, winners and losers when a workload is wanted.

use rustc_hash::FxHashMap;

use super::events::{
    ApplicationEnd, ApplicationStart, End, EnvironmentUpdate, JobEnd, JobStart, Kind, LogStart, StageEvent, StageInfo,
    TaskEnd, parse,
};
use super::executors::Executors;
use super::tables::{IndexSet, Winner, Winners};
use super::values::Number;

/// How much to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keep {
    /// What counts need: some bits a task.
    Counts,
    /// What a replay needs: 24 bytes a task, and the attempts that didn't win.
    Workload,
}

#[derive(Debug)]
pub(super) struct Collector {
    keep: Keep,
    /// In the order of the log; never empty. The last one is open.
    pub applications: Vec<Application>,
    pub attempts: u64,
    pub speculative: u64,
    pub failed: u64,
    pub killed: u64,
    /// Task starts, which are only counted.
    pub starts: u64,
    /// Task ends that don't say of which task.
    pub nameless: u64,
    /// Successes without a launch or finish time.
    pub untimed: u64,
}

/// One Spark application.
#[derive(Debug, Default)]
pub(super) struct Application {
    pub id: Option<String>,
    pub name: Option<String>,
    pub version: Option<String>,
    /// Whether its start was seen.
    pub started: bool,
    pub ended: bool,
    start: Option<i64>,
    end: Option<i64>,
    /// Earliest and latest of all times seen.
    span: Option<(i64, i64)>,
    pub executors: Executors,
    pub stages: FxHashMap<u32, Stage>,
    pub jobs: Vec<Job>,
    by_id: FxHashMap<u32, u32>,
    /// Indices of the jobs that have started and not ended, in that order.
    active: Vec<u32>,
    /// Attempts that are not their task's winner.
    pub losers: Vec<Loser>,
}

#[derive(Debug)]
pub(super) struct Job {
    pub id: u32,
    /// Milliseconds since 1970.
    pub submitted: Option<i64>,
    /// Stages it lists, sorted; empty once it has ended.
    stages: Vec<u32>,
}

#[derive(Debug, Default)]
pub(super) struct Stage {
    /// Whether it was submitted or ran; if not, some job has it in its list.
    pub ran: bool,
    pub name: Option<Box<str>>,
    pub parents: Option<Vec<u32>>,
    /// The job it ran for first, an index.
    pub owner: Option<u32>,
    /// Number of tasks of its first submission seen.
    size: Option<u32>,
    /// The largest number of a submission.
    pub last_attempt: u32,
    pub seen: IndexSet,
    pub won: IndexSet,
    pub winners: Winners,
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

impl Collector {
    pub(super) fn new(keep: Keep) -> Self {
        Collector {
            keep,
            applications: vec![Application::default()],
            attempts: 0,
            speculative: 0,
            failed: 0,
            killed: 0,
            starts: 0,
            nameless: 0,
            untimed: 0,
        }
    }

    /// Takes an event in. An error leaves everything as it was.
    pub(super) fn take(&mut self, kind: Kind, line: &[u8]) -> Result<(), serde_json::Error> {
        match kind {
            Kind::TaskEnd => {
                let event = parse(line)?;
                self.task_end(&event);
            }
            Kind::TaskStart => self.starts += 1,
            Kind::StageSubmitted | Kind::StageCompleted => {
                let event: StageEvent<'_> = parse(line)?;
                if let Some(info) = &event.info {
                    self.current().stage_event(info);
                }
            }
            Kind::JobStart => {
                let event = parse(line)?;
                let keep = self.keep;
                self.current().job_start(&event, keep);
            }
            Kind::JobEnd => {
                let event = parse(line)?;
                self.current().job_end(&event);
            }
            Kind::ExecutorAdded => {
                let event = parse(line)?;
                self.current().executors.added(&event);
                self.current().saw(event.time);
            }
            Kind::ExecutorRemoved => {
                let event = parse(line)?;
                self.current().executors.removed(&event);
                self.current().saw(event.time);
            }
            Kind::BlockManagerAdded => {
                let event = parse(line)?;
                self.current().executors.block_manager(&event);
                self.current().saw(event.time);
            }
            Kind::EnvironmentUpdate => {
                let event: EnvironmentUpdate = parse(line)?;
                let cpus = event.spark.and_then(|properties| properties.task_cpus.real());
                self.current().executors.set_task_cpus(cpus);
            }
            Kind::ResourceProfileAdded => {
                let event = parse(line)?;
                self.current().executors.profile(&event);
            }
            Kind::LogStart => {
                let event: LogStart<'_> = parse(line)?;
                if self.current().started {
                    self.applications.push(Application::default());
                }
                self.current().version = event.version.get().map(str::to_owned);
            }
            Kind::ApplicationStart => {
                let event = parse(line)?;
                self.application_start(&event);
            }
            Kind::ApplicationEnd => {
                let event: ApplicationEnd = parse(line)?;
                let application = self.current();
                application.ended = true;
                application.end = application.end.max(event.time.instant());
                application.saw(event.time);
            }
            Kind::OtherSpark | Kind::Foreign => {}
        }
        Ok(())
    }

    fn current(&mut self) -> &mut Application {
        let last = self.applications.len() - 1;
        &mut self.applications[last]
    }

    fn application_start(&mut self, event: &ApplicationStart<'_>) {
        let (id, time) = (event.id.get(), event.time.instant());
        let current = self.current();
        if current.started && (current.id.as_deref() != id || current.start != time) {
            self.applications.push(Application::default());
        }
        let current = self.current();
        current.started = true;
        current.id = id.map(str::to_owned);
        current.name = event.name.get().map(str::to_owned);
        current.start = time;
        current.saw(event.time);
    }

    fn task_end(&mut self, event: &TaskEnd<'_>) {
        let end = event.end();
        self.attempts += 1;
        match end {
            End::Success => {}
            End::Killed => self.killed += 1,
            End::Failed => self.failed += 1,
        }
        let keep = self.keep;
        let Some(info) = &event.info else {
            self.nameless += 1;
            return;
        };
        self.speculative += u64::from(info.speculative.0);
        let application = self.current();
        application.saw(info.launch);
        application.saw(info.finish);
        let executor = application.executors.ran(info);
        let (Some(id), Some(task)) = (event.stage.id(), info.partition.id().or(info.index.id())) else {
            self.nameless += 1;
            return;
        };

        let Application { stages, jobs, active, losers, .. } = application;
        let stage = stages.entry(id).or_default();
        stage.runs(id, jobs, active);
        let stage_attempt = event.stage_attempt.id().unwrap_or(0);
        stage.last_attempt = stage.last_attempt.max(stage_attempt);
        stage.seen.insert(task);
        let (launch, finish) = (info.launch.instant(), info.finish.instant());
        let this = Loser {
            stage: id,
            stage_attempt,
            task,
            attempt: info.attempt.id().unwrap_or(0),
            executor,
            launch,
            finish,
            speculative: info.speculative.0,
            end,
        };
        match (end, launch, finish) {
            (End::Success, Some(launch), Some(finish)) => {
                stage.won.insert(task);
                if keep == Keep::Workload {
                    let winner = this.as_winner(launch, finish);
                    let expected = stage.size.unwrap_or(0);
                    if let Some(loser) = stage.winners.offer(task, winner, expected) {
                        losers.push(Loser::from_winner(id, task, loser));
                    }
                }
            }
            (End::Success, ..) => {
                stage.won.insert(task);
                self.untimed += 1;
            }
            _ if keep == Keep::Workload => losers.push(this),
            _ => {}
        }
    }
}

impl Application {
    fn saw(&mut self, time: Number) {
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
    pub(super) fn to(&self) -> Option<i64> {
        self.end.or(self.span.map(|(_, to)| to))
    }

    fn stage_event(&mut self, info: &StageInfo<'_>) {
        self.saw(info.submitted);
        self.saw(info.completed);
        let Some(id) = info.id.id() else { return };
        let Application { stages, jobs, active, .. } = self;
        let stage = stages.entry(id).or_default();
        stage.runs(id, jobs, active);
        stage.learn(info);
        stage.last_attempt = stage.last_attempt.max(info.attempt.id().unwrap_or(0));
        if let (None, Some(name)) = (&stage.name, info.name.get()) {
            stage.name = Some(name.into());
        }
    }

    fn job_start(&mut self, event: &JobStart<'_>, keep: Keep) {
        self.saw(event.time);
        let Some(id) = event.id.id() else { return };
        let index = self.jobs.len() as u32;
        if *self.by_id.entry(id).or_insert(index) != index {
            return;
        }
        let mut listed: Vec<u32> = Vec::new();
        if keep == Keep::Workload {
            for info in event.stages.iter().flatten() {
                if let Some(stage) = info.id.id() {
                    self.stages.entry(stage).or_default().learn(info);
                    listed.push(stage);
                }
            }
            listed.extend(event.stage_ids.iter().flatten().filter_map(|id| id.id()));
            listed.sort_unstable();
            listed.dedup();
            self.active.push(index);
        }
        self.jobs.push(Job { id, submitted: event.time.instant(), stages: listed });
    }

    fn job_end(&mut self, event: &JobEnd) {
        self.saw(event.time);
        let index = event.id.id().and_then(|id| self.by_id.get(&id));
        if let Some(&index) = index {
            self.active.retain(|&active| active != index);
            self.jobs[index as usize].stages = Vec::new();
        }
    }
}

impl Stage {
    /// Notes that the stage was submitted or runs, for the first active job that lists it.
    fn runs(&mut self, id: u32, jobs: &[Job], active: &[u32]) {
        self.ran = true;
        if self.owner.is_none() {
            self.owner = active.iter().copied().find(|&job| jobs[job as usize].stages.binary_search(&id).is_ok());
        }
    }

    fn learn(&mut self, info: &StageInfo<'_>) {
        if let (None, Some(parents)) = (&self.parents, &info.parents) {
            self.parents = Some(parents.iter().filter_map(|id| id.id()).collect());
        }
        self.size = self.size.or(info.tasks.id());
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
