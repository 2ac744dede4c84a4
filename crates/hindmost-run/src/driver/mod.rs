//! The live driver: the wall clock, real attempts, and the loop between engine, cluster and policy.
//!
//! What happens becomes an event: applied to the cluster, written to the journal, told to the policy.
//! Then the policy decides; decisions are written and synced before they are carried out. So whatever
//! dies when, the journal and the renamed results tell how to go on (`resume.rs`).

mod attempts;
mod deadlines;
mod endings;
mod follow;
mod journal;
mod resume;
mod setting;
mod shutdown;
mod standing;
mod watches;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use hindmost_core::cluster::{Applied, Cluster, RecordError};
use hindmost_core::estimator::{Estimator, Knowledge, estimator};
use hindmost_core::ids::{AttemptId, JobId, NodeId, TaskId};
use hindmost_core::journal::{Header, JournalError};
use hindmost_core::metrics::{FailedTask, RunState, RunSummary};
use hindmost_core::policy::catalogue::{self, CatalogueError};
use hindmost_core::policy::spec::PolicySpec;
use hindmost_core::policy::{Policy, Refused};
use hindmost_core::record::{Condition, Decision, Event, StopReason};
use hindmost_core::resources::{ResourceError, Resources};
use hindmost_core::time::Time;
use hindmost_core::timeline::Timeline;
use rustc_hash::{FxHashMap, FxHashSet};

pub use follow::{Follower, Unfollowed};
pub(crate) use resume::check_knowledge;
pub use resume::recorded_nodes;
pub use setting::{check, chosen};

use crate::chaos::Chaos;
use crate::engine::Engine;
use crate::job_file::Plan;
use crate::learn::Learner;
use crate::store::{Opened, Pages, Store, StoreError};
use deadlines::{Deadline, Deadlines};
use journal::LiveJournal;

/// The policy of runs that name none.
pub const DEFAULT_POLICY: &str = "pace";
/// What policies know in runs that do not say: progress, which tells once a tenth of the work is done.
pub const DEFAULT_KNOWLEDGE: Knowledge = Knowledge::Progress(0.1);
/// γ for policies that weigh time against resources.
const GAMMA: f64 = 0.01;
/// The one job of a run.
const JOB: JobId = JobId(0);
/// So many refused decisions are said.
const MOST_REFUSED: usize = 10;
/// The loop looks up at least so often, seconds: for Ctrl-C and for whoever follows.
const LOOK_UP: f64 = 0.1;

/// How a run is to be done.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// The policy; without one the journal's on resume, else [`DEFAULT_POLICY`].
    pub policy: Option<PolicySpec>,
    /// What it knows of running attempts; likewise, else [`DEFAULT_KNOWLEDGE`].
    pub knowledge: Option<Knowledge>,
    /// What is done to the run.
    pub chaos: Chaos,
    /// Winners' durations of earlier runs, seconds, by the phase's name.
    pub history: BTreeMap<String, Vec<f64>>,
}

impl RunOptions {
    /// With the policy and knowledge with which the run in a folder was begun, where none are named.
    fn filled_from(&self, store: &Store) -> RunOptions {
        let mut filled = self.clone();
        if let Some(begun) = &store.job().begun_with {
            filled.policy = filled.policy.or_else(|| begun.policy.as_deref()?.parse().ok());
            filled.knowledge = filled.knowledge.or(begun.knowledge);
        }
        filled
    }
}

/// Why a run could not be done.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// What was asked for makes no sense.
    #[error("{0}")]
    Input(String),
    /// The run's folder.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The policy.
    #[error(transparent)]
    Policy(#[from] CatalogueError),
    /// A demand or a node's room.
    #[error(transparent)]
    Resource(#[from] ResourceError),
    /// The journal can't be read or written.
    #[error("journal {}: {error}", path.display())]
    Journal {
        /// The journal.
        path: PathBuf,
        /// Why.
        error: JournalError,
    },
    /// A file of the run.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// What was written did not all get to the disk.
    #[error("{}: results could not be written to the disk ({error}), so none of what was being made counts; --resume makes it again", path.display())]
    NotDurable {
        /// The run's folder.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A record that the state does not allow: a defect of the policy or the driver.
    #[error("internal error, please report it: {0}")]
    Record(#[from] RecordError),
    /// Tasks that wait while nothing is at work: a defect of the policy.
    #[error("internal error, please report it: tasks wait, but the policy starts nothing")]
    Stuck,
}

/// What came of a run, and what it cost to decide.
#[derive(Clone, Debug)]
pub struct RunOutcome {
    /// What came of it.
    pub summary: RunSummary,
    /// Attempt by attempt.
    pub timeline: Timeline,
    /// Rounds of decisions in this process.
    pub rounds: u64,
    /// Time that policies took to observe and decide.
    pub deciding: Duration,
    /// The longest of it at one time.
    pub longest_decision: Duration,
    /// Where pages that tell of it are written.
    pub pages: Pages,
}

/// Why an attempt is being killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kill {
    /// The policy decided it.
    Decided(StopReason),
    /// The rehearsal.
    Chaos,
    /// Its time limit.
    TimeLimit,
    /// Its node is lost.
    NodeLost,
    /// The run ends.
    Shutdown,
}

/// What is kept of an attempt that the engine runs.
#[derive(Clone, Debug)]
struct Live {
    node: NodeId,
    since: Time,
    kill: Option<Kill>,
    progress: watches::Progress,
    /// When the policy was last told of it.
    told_at: Option<Time>,
}

/// A run at work. See the module's documentation.
#[allow(clippy::struct_excessive_bools, reason = "independent facts about a run, not a state")]
struct Driver<'a> {
    plan: &'a Plan,
    options: &'a RunOptions,
    store: Store,
    engine: &'a mut dyn Engine,
    follower: &'a mut dyn Follower,
    journal: LiveJournal,
    cluster: Cluster,
    policy: Policy,
    estimator: Box<dyn Estimator>,
    header: Header,
    learner: Learner,
    live: FxHashMap<AttemptId, Live>,
    /// What policies want to be told of attempts.
    conditions: FxHashMap<AttemptId, Vec<Condition>>,
    /// What policies were told of attempts' ends, to be corrected when it turns out otherwise.
    told: FxHashMap<AttemptId, Time>,
    /// When what is told now happened, if that was before now.
    was_at: Option<Time>,
    /// Phases whose commands read their input first and work then.
    reads_first: BTreeSet<u32>,
    /// Copies that were started beside others.
    redundant: FxHashSet<AttemptId>,
    /// Attempts that could not be started yet, for want of open files or processes.
    scarce: FxHashSet<AttemptId>,
    /// How often these were tried to be started.
    tries: FxHashMap<AttemptId, u32>,
    /// Tasks without a recorded finish whose results are in place all the same: their run was cut off in between.
    in_place: FxHashSet<TaskId>,
    /// The file system has not kept what was written: nothing that is not a result yet may become one.
    distrusted: bool,
    /// Phases whose commands are others than when the run was last at work, by name.
    changed: Vec<String>,
    /// Failures of tasks that may not run twice, from before this journal.
    earlier_failures: Vec<(TaskId, u32)>,
    /// When the folder was last seen to be in its place.
    looked: Time,
    /// Attempts that get the room of those that are being replaced.
    heirs: FxHashMap<AttemptId, AttemptId>,
    /// Until when the rehearsal keeps nodes away.
    away: FxHashMap<NodeId, Time>,
    deadlines: Deadlines,
    /// Decisions that are written and not yet carried out.
    actions: Vec<Decision>,
    failures: FxHashMap<TaskId, u32>,
    last_failure: FxHashMap<TaskId, FailedTask>,
    failed_tasks: Vec<FailedTask>,
    counts: Vec<follow::Counts>,
    /// What of the policy's wishes was refused, as the user was told: once is enough.
    refused: FxHashSet<String>,
    /// Something has happened since the last round.
    due: bool,
    /// Something has been seen since the learner was last asked.
    seen: bool,
    finished: bool,
    shutdown: Option<RunState>,
    followed: Time,
    rounds: u64,
    deciding: Duration,
    longest: Duration,
}

/// Runs a job in a folder. `presses` counts how often the user has asked to stop.
///
/// With a folder that holds the same job's run, begun earlier and resumed, goes on with it: `opened` comes
/// from [`Store::open`].
///
/// # Errors
/// If something makes no sense or a file can't be read or written. Nothing is left running then.
pub fn run(
    plan: &Plan,
    options: &RunOptions,
    opened: Opened,
    engine: &mut dyn Engine,
    presses: &AtomicU32,
    follower: &mut dyn Follower,
) -> Result<RunOutcome, RunError> {
    run_under(None, plan, options, opened, engine, presses, follower)
}

/// As [`run`], under a policy that the caller has made, which may be one that no catalogue knows.
///
/// # Errors
/// As [`run`].
pub fn run_under(
    own: Option<Policy>,
    plan: &Plan,
    options: &RunOptions,
    opened: Opened,
    engine: &mut dyn Engine,
    presses: &AtomicU32,
    follower: &mut dyn Follower,
) -> Result<RunOutcome, RunError> {
    let Opened { mut store, begun, changed } = opened;
    let names: Vec<String> = engine.nodes().iter().map(|node| node.name.clone()).collect();
    check(plan, options, engine.nodes())?;
    let mut held = if begun { journal::read(&store)? } else { None };
    let header = match &held {
        Some((header, records)) => {
            resume::check_nodes(records, &names)?;
            resume::check_header(header, options)?
        }
        None => setting::new_header(plan, &options.filled_from(&store), engine)?,
    };
    let spec: PolicySpec = header.policy.parse().map_err(|error| RunError::Input(format!("{error}")))?;
    let setting = header.setting();
    let policy = own.map_or_else(|| catalogue::build(&spec, &setting), Ok)?;
    let capacities = engine.nodes().iter().map(|node| header.dimensions.amounts(&node.capacity));
    let total = capacities.collect::<Result<Vec<_>, _>>()?.iter().fold(Resources::NONE, Resources::plus);
    if let Some(why) = catalogue::without_clones(&spec, &plan.job_spec(), &header.dimensions, (names.len(), &total)) {
        follower.message(&why);
    }
    let again = match &held {
        Some((_, records)) => standing::check(plan, &mut store, records, engine, follower)?,
        None => false,
    };
    if again {
        held = None;
    } else {
        // Nothing refuses it any more.
        standing::kill_moved(&store, engine, follower);
        store.accept(plan)?;
    }
    let earlier_failures = store.earlier_failures();
    let history = plan.phases.iter().map(|phase| options.history.get(&phase.name).cloned().unwrap_or_default());
    let telling = if let Knowledge::Progress(share) = header.knowledge { share } else { 2.0 };
    let learner = Learner::new(plan.phases.len(), names.len(), telling, history.collect());
    let journal = LiveJournal::open(&store, if held.is_some() { None } else { Some(&header) });
    let journal = journal.inspect_err(|_| standing::kill_earlier(&store, engine, follower))?;
    let mut driver = Driver {
        plan,
        options,
        engine,
        follower,
        journal,
        cluster: Cluster::new(header.dimensions.clone()).with_placement(header.placement),
        policy,
        estimator: estimator(header.knowledge),
        header,
        learner,
        live: FxHashMap::default(),
        conditions: FxHashMap::default(),
        told: FxHashMap::default(),
        was_at: None,
        reads_first: BTreeSet::new(),
        redundant: FxHashSet::default(),
        scarce: FxHashSet::default(),
        tries: FxHashMap::default(),
        in_place: FxHashSet::default(),
        distrusted: false,
        changed,
        earlier_failures,
        looked: Time::ZERO,
        heirs: FxHashMap::default(),
        away: FxHashMap::default(),
        deadlines: Deadlines::default(),
        actions: Vec::new(),
        failures: FxHashMap::default(),
        last_failure: FxHashMap::default(),
        failed_tasks: Vec::new(),
        counts: vec![follow::Counts::default(); plan.phases.len()],
        refused: FxHashSet::default(),
        due: true,
        seen: false,
        finished: false,
        shutdown: None,
        followed: Time::ZERO,
        rounds: 0,
        deciding: Duration::ZERO,
        longest: Duration::ZERO,
        store,
    };
    let result = match held {
        Some((_, records)) => driver.resume(records),
        None => driver.begin(),
    };
    let result = result.and_then(|()| driver.work(presses));
    if result.is_err() {
        driver.kill_everything();
    }
    let state = result?;
    driver.outcome(state)
}

impl Driver<'_> {
    /// The first records of a run: a new one, or one that begins again with the results that it has.
    fn begin(&mut self) -> Result<(), RunError> {
        standing::kill(&self.store.run(), self.engine, self.follower);
        standing::clear(&self.store, self.follower)?;
        let mut spec = self.plan.job_spec();
        let stands = standing::standing(self.plan, &self.store)?;
        if stands.len() as u64 == self.plan.tasks() {
            return Err(RunError::Input(format!(
                "{} has every result of {:?} and no journal: nothing is left to do",
                self.store.folder().display(),
                self.plan.name
            )));
        }
        for task in stands {
            spec.phases[task.phase as usize].finished.push(task.index);
        }
        let nodes = self.engine.nodes().to_vec();
        for (at, node) in nodes.iter().enumerate() {
            let capacity = self.header.dimensions.amounts(&node.capacity)?;
            let name = node.name.as_str().into();
            self.happen(&Event::NodeJoined { node: NodeId(at as u32), name, capacity, speed: 1.0, rack: None })?;
        }
        self.happen(&Event::JobArrived { job: JOB, spec: spec.into() })?;
        self.recall_failures(&[]);
        self.prepare(Time::ZERO)
    }

    /// What a new and a resumed run share before their first round.
    fn prepare(&mut self, now: Time) -> Result<(), RunError> {
        for at in 0..self.options.chaos.lose.len() {
            self.deadlines.push(now + self.options.chaos.lose[at].at, Deadline::Lose(at));
        }
        self.seen = true;
        self.learn()
    }

    /// The loop, until the job is done, has failed or was interrupted.
    fn work(&mut self, presses: &AtomicU32) -> Result<RunState, RunError> {
        let mut happened = Vec::new();
        let mut asked = false;
        loop {
            if presses.load(Ordering::Relaxed) > 0 && !asked && !self.finished {
                asked = true;
                if self.shutdown.is_none() {
                    self.shut_down(RunState::Interrupted);
                } else {
                    // What a failure has left running to its end is stopped too.
                    self.kill_all(Kill::Shutdown);
                }
            }
            if self.due && self.shutdown.is_none() && !self.finished {
                self.round()?;
            }
            self.settle()?;
            if self.finished {
                self.kill_all(Kill::Shutdown);
            }
            if self.live.is_empty() && self.scarce.is_empty() {
                if let Some(state) = self.shutdown {
                    return Ok(state);
                }
                if self.finished {
                    return Ok(RunState::Done);
                }
                if !self.due && self.deadlines.is_empty() {
                    return Err(RunError::Stuck);
                }
            }
            self.follow();
            self.look_after_folder()?;
            let now = self.engine.now();
            let until = self.deadlines.next().unwrap_or(Time::NEVER).min(now + Time::from_seconds(LOOK_UP));
            let until = if self.due && self.shutdown.is_none() && !self.finished { now } else { until };
            self.engine.wait(until, &mut happened);
            self.happened(std::mem::take(&mut happened))?;
            self.pass_deadlines()?;
            self.learn()?;
        }
    }

    /// From time to time sees whether the run's folder is where it was.
    fn look_after_folder(&mut self) -> Result<(), RunError> {
        let now = self.engine.now();
        if now >= self.looked + Time::from_seconds(LOOK_UP) {
            self.looked = now;
            self.store.check_place()?;
        }
        Ok(())
    }

    /// Applies an event, writes it, tells the policy; what that asks for is carried out by `settle`.
    fn happen(&mut self, event: &Event) -> Result<Applied, RunError> {
        let at = self.was_at.unwrap_or_else(|| self.engine.now()).max(self.cluster.now());
        let applied = self.cluster.apply_event(at, event)?;
        self.journal.event(at, event)?;
        let begun = Instant::now();
        let first = self.actions.len();
        self.policy.observe(event, applied, &mut self.cluster, &*self.estimator, &mut self.actions);
        self.decided(begun, at, first)?;
        self.due |= !matches!(event, Event::AttemptRunning { .. });
        self.finished |= applied.job_finished;
        if let Event::AttemptFinished { attempt }
        | Event::AttemptStopped { attempt }
        | Event::AttemptFailed { attempt, .. } = event
        {
            self.cluster.retire(attempt.task.job);
        }
        Ok(applied)
    }

    fn round(&mut self) -> Result<(), RunError> {
        self.due = false;
        let at = self.engine.now().max(self.cluster.now());
        self.cluster.apply_event(at, &Event::Round)?;
        self.journal.event(at, &Event::Round)?;
        let begun = Instant::now();
        let first = self.actions.len();
        self.policy.decide(&mut self.cluster, &*self.estimator, &mut self.actions);
        self.rounds += 1;
        self.decided(begun, at, first)
    }

    /// Writes the decisions from `first` on and counts what they cost.
    fn decided(&mut self, begun: Instant, at: Time, first: usize) -> Result<(), RunError> {
        let took = begun.elapsed();
        for refused in self.policy.take_refused() {
            self.tell_refused(&refused);
        }
        self.deciding += took;
        self.longest = self.longest.max(took);
        for decision in &self.actions[first..] {
            self.journal.decision(at, decision)?;
        }
        Ok(())
    }

    /// Says that the policy asked for what the state does not allow. Nothing has changed by it, so the run goes on.
    /// Every error is said once, and only the first few.
    fn tell_refused(&mut self, refused: &Refused) {
        let told = refused.error.to_string();
        if self.refused.len() < MOST_REFUSED && self.refused.insert(told.clone()) {
            self.follower.message(&format!("the policy asked for something impossible, which was left out: {told}"));
        }
    }

    /// Carries out what was decided, after it is safely written.
    fn settle(&mut self) -> Result<(), RunError> {
        while !self.actions.is_empty() {
            self.journal.sync()?;
            for decision in std::mem::take(&mut self.actions) {
                self.carry_out(&decision)?;
            }
        }
        // What merely happened is given to the system: it survives this process, and a new machine would find
        // out by itself.
        self.journal.flush()
    }

    fn carry_out(&mut self, decision: &Decision) -> Result<(), RunError> {
        match *decision {
            Decision::Start { attempt, .. } => self.launch(attempt)?,
            Decision::Stop { attempt, reason } => self.kill(attempt, Kill::Decided(reason)),
            Decision::Replace { attempt, .. } => {
                let heir = self.cluster.copies(attempt.task).find(|copy| copy.replaces() == Some(attempt));
                if let Some(heir) = heir {
                    self.heirs.insert(attempt, heir.id());
                }
                self.kill(attempt, Kill::Decided(StopReason::Replaced));
            }
            Decision::Reserve { until, .. } => self.deadlines.push(until, Deadline::Wake),
            Decision::Wake { at } => self.deadlines.push(at, Deadline::Wake),
            Decision::Watch { attempt, condition } => self.watch(attempt, condition),
        }
        Ok(())
    }

    /// Asks the learner, and tells what it has learned.
    fn learn(&mut self) -> Result<(), RunError> {
        if !std::mem::take(&mut self.seen) || self.finished || self.shutdown.is_some() {
            return Ok(());
        }
        let running = self.observed();
        for event in self.learner.learned(&self.cluster, JOB, &running) {
            self.happen(&event)?;
        }
        Ok(())
    }

    fn outcome(mut self, state: RunState) -> Result<RunOutcome, RunError> {
        self.follow_now();
        standing::kill(&self.store.run(), self.engine, self.follower);
        self.journal.sync()?;
        let records = journal::read(&self.store)?.map(|(_, records)| records).unwrap_or_default();
        let timeline = Timeline::of(records);
        let (policy, knowledge) = (self.header.policy.clone(), self.header.knowledge.to_string());
        let mut summary = RunSummary::of(&timeline, state, self.failed_tasks, policy, knowledge)
            .ok_or_else(|| RunError::Input("the journal holds no job".to_owned()))?;
        summary.synced = self.store.is_synced();
        let json = serde_json::to_string_pretty(&summary).unwrap_or_default();
        self.store.write_summary(&json).map_err(|error| RunError::Io { path: self.store.folder().into(), error })?;
        Ok(RunOutcome {
            summary,
            timeline,
            rounds: self.rounds,
            deciding: self.deciding,
            longest_decision: self.longest,
            pages: self.store.pages(),
        })
    }
}
