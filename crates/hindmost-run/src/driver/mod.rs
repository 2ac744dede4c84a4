//! The live driver runs one job: it connects the engine, the cluster and the policy in real time.
//!
//! Each thing that happens becomes an event. The driver applies the event to the cluster, writes it to the journal and
//! passes it to the policy. Then the policy decides. The driver writes and syncs the decisions before it carries them out.
//! So the journal and the renamed results are enough to resume a run that stopped at any moment (`resume.rs`).
//!
//! The driver consists of parts. Each part has private state and a stated invariant, does not use the driver or the state
//! of other parts, and is tested without an engine:
//!
//! | part | keeps |
//! | --- | --- |
//! | `attempts.rs`, `progress.rs` | the attempts that the engine runs, why they are killed, their progress |
//! | `waiting.rs` | attempts that cannot be started yet |
//! | `failures.rs` | how often each task has failed, and which tasks have failed permanently |
//! | `watches.rs` | the conditions of which the policy is to be notified |
//! | `learning/` | how long attempts take, and which nodes are slow |
//! | `fault_injection.rs` | the faults of `--chaos`, and when they happen |
//! | `node_loss.rs` | the nodes that the engine has lost |
//! | `limits.rs` | how long attempts may take |
//! | `task_ends.rs` | how the last attempt of each failed task ended |
//! | `shutdown.rs` | whether the run continues |
//! | `follow.rs` | the counts that the progress display shows |
//! | `recorder.rs`, `journal.rs` | the records to write, and the decisions to carry out |
//! | `deadlines.rs` | the times at which the driver has to act |
//!
//! The other files act on these parts: `begin.rs`, `launching.rs`, `polling.rs`, `endings.rs`, `permanent.rs`, `stopping.rs`,
//! `resume.rs`, `again.rs` and `recheck.rs`.

mod again;
mod attempts;
mod begin;
mod deadlines;
mod endings;
mod error;
mod failures;
mod fault_injection;
mod follow;
mod journal;
mod launching;
mod learning;
mod limits;
mod node_loss;
mod options;
mod permanent;
mod polling;
mod profiles;
mod progress;
mod recheck;
mod recorder;
mod results_table;
mod resume;
mod shutdown;
mod stopping;
mod task_ends;
mod utilization;
mod waiting;
mod watches;

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use hindmost_core::cluster::{Applied, Attempt, Task};
use hindmost_core::ids::{AttemptId, JobId, TaskId};
use hindmost_core::journal::Header;
use hindmost_core::metrics::{RunState, RunSummary};
use hindmost_core::record::{Decision, Event};
use hindmost_core::session::Session;
use hindmost_core::time::Time;
use hindmost_core::timeline::Timeline;
use rustc_hash::{FxHashMap, FxHashSet};

pub use again::{PhaseResumed, ResumePlan, RunsAgain};
pub use begin::{resume_plan, run, run_under};
pub use error::RunError;
pub use follow::{Follower, Unfollowed};
pub use options::{DEFAULT_KNOWLEDGE, DEFAULT_POLICY, RunOptions, check, chosen};
pub use resume::recorded_nodes;
pub use task_ends::{How, Next, TaskEnd};

use crate::energy::EnergyMeter;
use crate::engine::Engine;
use crate::job_file::Plan;
use crate::store::{Pages, Store};
use attempts::{Attempts, Kill};
use deadlines::{Deadline, Deadlines};
use failures::Failures;
use fault_injection::FaultInjection;
use follow::Counts;
use learning::Learner;
use limits::TimeLimits;
use node_loss::LostNodes;
use profiles::RunProfiles;
use recorder::Recorder;
use shutdown::{Request, Shutdown};
use task_ends::Failing;
use utilization::utilization;
use waiting::Waiting;
use watches::Watches;

/// Id of the only job of a run.
const JOB: JobId = JobId(0);
/// Name of the table of all tasks in a run's folder.
const RESULTS: &str = "results.tsv";
/// The longest time between two turns of the loop: 100 ms. Each turn checks for Ctrl-C and updates the progress display.
const WAKE_UP: Time = Time(100_000_000);

/// The result of a run, and how long the policy took to decide.
#[derive(Clone, Debug)]
pub struct RunOutcome {
    /// The figures of the run, as in `summary.json`.
    pub summary: RunSummary,
    /// The plan of the job, in which tasks have the numbers with which the run began.
    pub plan: Plan,
    /// All attempts with their starts and ends.
    pub timeline: Timeline,
    /// Number of decision rounds in this process.
    pub rounds: u64,
    /// Total time that the policy took to observe events and to decide.
    pub deciding: Duration,
    /// The longest time that the policy took for one event.
    pub longest_decision: Duration,
    /// Writes the pages about the run, such as its report.
    pub pages: Pages,
}

/// A run in progress.
struct Driver<'a> {
    plan: &'a Plan,
    store: Store,
    engine: &'a mut dyn Engine,
    follower: &'a mut dyn Follower,
    session: Session,
    header: Header,
    recorder: Recorder,
    attempts: Attempts,
    waiting: Waiting,
    failures: Failures,
    watches: Watches,
    learner: Learner,
    limits: TimeLimits,
    failing: Failing,
    profiles: RunProfiles,
    faults: FaultInjection<'a>,
    lost: LostNodes,
    shutdown: Shutdown,
    counts: Counts,
    deadlines: Deadlines,
    /// Tasks whose results are in place although the journal does not record their finish: an earlier process died between
    /// the rename and the record.
    in_place: FxHashSet<TaskId>,
    /// The largest share of its work that an attempt of each task has reported, for phases whose commands resume.
    reported: FxHashMap<TaskId, f64>,
    /// The time of the event that is being applied, if it happened before now.
    was_at: Option<Time>,
    /// True if the policy has to decide, because something has happened since the last round.
    is_due: bool,
    /// When the loop last updated the progress display.
    followed_at: Time,
}

impl Driver<'_> {
    /// Runs the loop until the job is done, has failed or is interrupted.
    fn work(&mut self, stop_requests: &AtomicU32) -> Result<RunState, RunError> {
        let mut happened = Vec::new();
        loop {
            if stop_requests.load(Ordering::Relaxed) > 0 {
                match self.shutdown.request() {
                    Some(Request::Interrupt) => self.shut_down(RunState::Interrupted),
                    Some(Request::StopTheRest) => self.kill_all(Kill::Shutdown),
                    None => {}
                }
            }
            if self.is_due && self.shutdown.is_open() {
                self.round()?;
            }
            self.settle()?;
            if self.shutdown.is_done() {
                self.kill_all(Kill::Shutdown);
            }
            if self.attempts.is_empty() && self.waiting.is_empty() {
                if self.shutdown.is_open() && self.is_held_up() {
                    self.shut_down(RunState::Failed);
                }
                if let Some(state) = self.shutdown.end() {
                    return Ok(state);
                }
                if !self.is_due && self.deadlines.is_empty() && !self.lost.any() {
                    return Err(RunError::Stuck);
                }
            }
            let now = self.engine.now();
            if now >= self.followed_at + WAKE_UP {
                self.followed_at = now;
                self.follow();
                self.store.check_place()?;
            }
            let now = self.engine.now();
            let until = self.deadlines.next().unwrap_or(Time::NEVER).min(now + WAKE_UP);
            let until = if self.is_due && self.shutdown.is_open() { now } else { until };
            self.engine.wait(until, &mut happened);
            self.happened(std::mem::take(&mut happened))?;
            self.pass_deadlines()?;
            self.learn()?;
        }
    }

    /// Applies an event, writes it and passes it to the policy. `settle` carries out what the policy decides.
    fn happen(&mut self, event: &Event) -> Result<Applied, RunError> {
        let at = self.was_at.unwrap_or_else(|| self.engine.now());
        let applied = self.step(at, event)?;
        self.is_due |= !matches!(event, Event::AttemptRunning { .. });
        if applied.job_finished {
            self.shutdown.job_done();
        }
        Ok(applied)
    }

    /// Lets the policy decide.
    fn round(&mut self) -> Result<(), RunError> {
        self.is_due = false;
        self.step(self.engine.now(), &Event::Round).map(drop)
    }

    /// Takes one step of the session. An event from before the cluster's time gets the cluster's time, so that time never
    /// goes back.
    fn step(&mut self, at: Time, event: &Event) -> Result<Applied, RunError> {
        let decided = self.recorder.actions.len();
        let stepped = self.session.step(at.max(self.session.cluster().now()), event, &mut self.recorder)?;
        self.watches.event(event);
        for decision in &self.recorder.actions[decided..] {
            self.watches.decision(decision);
        }
        for why in self.recorder.take_refused() {
            self.follower.message(&format!("the policy made an impossible decision, which is ignored: {why}"));
        }
        Ok(stepped.applied)
    }

    /// Carries out the decisions, after they are synced to the journal.
    fn settle(&mut self) -> Result<(), RunError> {
        while !self.recorder.actions.is_empty() {
            self.recorder.journal.sync()?;
            for decision in std::mem::take(&mut self.recorder.actions) {
                self.carry_out(&decision)?;
            }
        }
        // Events need no sync. Once flushed, they survive the end of this process. After a power cut, the next process finds
        // out from the run's folder what has happened.
        self.recorder.journal.flush()
    }

    fn carry_out(&mut self, decision: &Decision) -> Result<(), RunError> {
        match *decision {
            Decision::Start { attempt, .. } => self.launch(attempt)?,
            Decision::Stop { attempt, .. } => self.kill(attempt, Kill::Decided),
            Decision::Replace { attempt, .. } => {
                self.find_replacement(attempt);
                self.kill(attempt, Kill::Decided);
            }
            Decision::Watch { attempt, .. } => self.test_later(attempt),
            Decision::Reserve { .. } | Decision::Wake { .. } => self.deadlines.decision(decision),
            // The policy's last pass has decided to stop the attempts; these decisions follow.
            Decision::Abandon { .. } => {
                self.follower.message("the policy abandons the job");
                self.shutdown.begin(RunState::Abandoned);
            }
            Decision::Release { .. } => {}
        }
        Ok(())
    }

    /// Acts on all deadlines that have passed.
    fn pass_deadlines(&mut self) -> Result<(), RunError> {
        let now = self.engine.now();
        while let Some(deadline) = self.deadlines.pop(now) {
            match deadline {
                Deadline::Wake if self.shutdown.is_open() => _ = self.happen(&Event::Woken)?,
                Deadline::Launch(attempt) if self.waiting.waits(attempt) => self.launch(attempt)?,
                Deadline::Wake | Deadline::Launch(_) => {}
                Deadline::Retry(task) => self.retry(task)?,
                Deadline::Test(attempt) => self.test(attempt)?,
                Deadline::Poll(attempt) => self.poll(attempt)?,
                Deadline::TimeLimit(attempt) => self.check_time_limit(attempt),
                Deadline::Kill(attempt) => self.kill(attempt, Kill::FaultInjection),
                Deadline::Lose(loss) => self.lose(loss)?,
                Deadline::Return(loss) => self.bring_back(loss)?,
            }
        }
        Ok(())
    }

    /// Reports what the learner has learned from new observations, if there are any, as events.
    fn learn(&mut self) -> Result<(), RunError> {
        self.learn_profiles()?;
        if !self.learner.take_due() || !self.shutdown.is_open() {
            return Ok(());
        }
        let running = self.attempts.observed(self.engine.now());
        for event in self.learner.learned(self.session.cluster(), JOB, &running) {
            self.happen(&event)?;
        }
        Ok(())
    }

    /// Reports the progress of the run to the follower.
    fn follow(&mut self) {
        let (cluster, now) = (self.session.cluster(), self.engine.now());
        if cluster.job(JOB).is_none() && self.shutdown.end() == Some(RunState::Abandoned) {
            // The state no longer contains how many tasks had finished; the last report stays.
            return;
        }
        let mut done = vec![0.0; self.plan.phases.len()];
        for (attempt, running) in self.attempts.iter() {
            let is_newest = cluster.copies(attempt.task).next().is_some_and(|copy| copy.id() == attempt);
            done[attempt.task.phase as usize] += if is_newest { running.progress.of_task() } else { 0.0 };
        }
        // A job that is no longer in the cluster has finished.
        let phases = cluster.job(JOB).map_or(&[][..], |job| job.phases());
        let planned = self.plan.phases.iter().enumerate();
        let progress = |(at, phase): (usize, &crate::job_file::PlannedPhase)| {
            let state = phases.get(at).ok_or_else(|| self.failures.given_up_in(&phase.name));
            self.counts.progress(at, phase, state, done[at])
        };
        let progress: Vec<_> = planned.map(progress).collect();
        let nodes = cluster.nodes().iter().map(|node| (node.name().to_string(), node.attempts() as u64));
        self.follower.nodes(&nodes.collect::<Vec<_>>());
        self.follower.phases(&progress, Duration::from_nanos((now - self.store.job().paused_until(now)).0));
    }

    /// True if a task has its result, or if its job has left the cluster.
    fn is_finished(&self, task: TaskId) -> bool {
        self.session.cluster().task(task).is_none_or(Task::is_finished)
    }

    /// Returns the cluster's state of an attempt; `None` once it has ended.
    fn attempt(&self, attempt: AttemptId) -> Option<&Attempt> {
        self.session.cluster().attempt(attempt)
    }

    /// Returns the summary of a run that has ended, and writes it to the run's folder.
    fn outcome(mut self, state: RunState, energy: EnergyMeter) -> Result<RunOutcome, RunError> {
        self.follow();
        recheck::kill(&self.store.run(), self.engine, self.follower);
        self.recorder.journal.sync()?;
        let records = journal::read(&self.store)?.map(|(_, records)| records).unwrap_or_default();
        let pauses = self.store.job().pauses.iter().map(|(begin, end)| [Time(*begin), Time(*end)]).collect();
        // Only its pauses are used, before the real timeline takes the records.
        let clock = Timeline { pauses, ..Timeline::default() };
        let energy = energy.finish(&records, &self.header.dimensions, |at| clock.paused_until(at));
        let mut timeline = Timeline::of(records);
        timeline.pauses = clock.pauses;
        timeline.withdrawn = self.plan.withdrawn();
        let (policy, knowledge) = (self.header.policy.clone(), self.header.knowledge.to_string());
        let mut summary = RunSummary::of(&timeline, state, self.failures.into_given_up(), policy, knowledge)
            .ok_or_else(|| RunError::Input("the journal holds no job".to_owned()))?;
        summary.synced = self.store.is_synced();
        summary.energy = energy;
        summary.shell = Some(self.plan.shells_in_words(&self.store.job().shell()));
        summary.utilization = utilization(&timeline, &self.header.dimensions);
        let end = timeline.jobs.first().and_then(|job| job.finish).unwrap_or(timeline.end);
        summary.flowtime -= timeline.paused_until(end).seconds();
        let json = serde_json::to_string_pretty(&summary).unwrap_or_default();
        // The results of a phase of this name would be at the table's path.
        let taken = self.plan.phases.iter().any(|phase| phase.name == RESULTS);
        let earlier = self.store.pages().read(RESULTS, taken).unwrap_or_default();
        let table = results_table::of(self.plan, &timeline, &summary.failed_tasks, &earlier);
        if let Err(error) = self.store.pages().write(RESULTS, taken, &table) {
            self.follower.message(&format!("the table {RESULTS} could not be written: {error}"));
        }
        self.store.write_summary(&json).map_err(|error| RunError::Io { path: self.store.folder().into(), error })?;
        if state == RunState::Done {
            self.profiles.keep(self.follower);
        }
        Ok(RunOutcome {
            plan: self.plan.clone(),
            summary,
            timeline,
            rounds: self.recorder.rounds,
            deciding: self.recorder.deciding,
            longest_decision: self.recorder.longest,
            pages: self.store.pages(),
        })
    }
}
