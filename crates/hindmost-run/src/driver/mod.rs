//! The live driver: the wall clock, real attempts, and the loop between engine, cluster and policy.
//!
//! What happens becomes an event: applied to the cluster, written to the journal, shown to the policy.
//! Then the policy decides; decisions are written and synced before they are carried out. So whatever
//! dies when, the journal and the renamed results say how to go on (`resume.rs`).
//!
//! The driver is put together from parts. Each keeps what it knows to itself, names its invariant, knows nothing of the
//! driver or of the other parts' state, and is tested without an engine:
//!
//! | part | keeps |
//! | --- | --- |
//! | `attempts.rs`, `progress.rs` | the attempts that the engine runs, why they are killed, how far they have got |
//! | `waiting.rs` | attempts that can't be started yet |
//! | `failures.rs` | how often tasks have failed, and which are given up |
//! | `watches.rs` | the conditions of which the policy wants to be notified |
//! | `learning/` | how long attempts take, and which nodes are slow |
//! | `fault_injection.rs` | what `--chaos` does, and when |
//! | `shutdown.rs` | whether the run goes on |
//! | `follow.rs` | what is counted for whoever follows the run |
//! | `recorder.rs`, `journal.rs` | what is written, and the decisions that are to be carried out |
//! | `deadlines.rs` | when the driver has something to do |
//!
//! The other files carry out what the parts say: `begin.rs`, `launching.rs`, `looking.rs`, `endings.rs`, `stopping.rs`,
//! `resume.rs` and `standing.rs`.

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
mod looking;
mod progress;
mod recorder;
mod resume;
mod setting;
mod shutdown;
mod standing;
mod stopping;
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
use rustc_hash::FxHashSet;

pub use begin::{run, run_under};
pub use error::RunError;
pub use follow::{Follower, Unfollowed};
pub use resume::recorded_nodes;
pub use setting::{DEFAULT_KNOWLEDGE, DEFAULT_POLICY, RunOptions, check, chosen};

use crate::engine::Engine;
use crate::job_file::Plan;
use crate::store::{Pages, Store};
use attempts::{Attempts, Kill};
use deadlines::{Deadline, Deadlines};
use failures::Failures;
use fault_injection::FaultInjection;
use follow::Counts;
use learning::Learner;
use recorder::Recorder;
use shutdown::{Request, Shutdown};
use waiting::Waiting;
use watches::Watches;

/// The one job of a run.
const JOB: JobId = JobId(0);
/// The loop wakes up at least so often: for Ctrl-C and for whoever follows.
const WAKE_UP: Time = Time(100_000_000);

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
    /// Where pages about the run are written.
    pub pages: Pages,
}

/// A run in progress. See the module's documentation.
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
    faults: FaultInjection<'a>,
    shutdown: Shutdown,
    counts: Counts,
    deadlines: Deadlines,
    /// Tasks without a recorded finish whose results are in place all the same: their run was cut off in between.
    in_place: FxHashSet<TaskId>,
    /// The time of the event that is being reported, if that was before now.
    was_at: Option<Time>,
    /// True if something has happened since the last round.
    is_due: bool,
    /// When the loop last looked up.
    looked_up: Time,
}

impl Driver<'_> {
    /// The loop, until the job is done, has failed or was interrupted.
    fn work(&mut self, presses: &AtomicU32) -> Result<RunState, RunError> {
        let mut happened = Vec::new();
        loop {
            if presses.load(Ordering::Relaxed) > 0 {
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
                if let Some(state) = self.shutdown.end() {
                    return Ok(state);
                }
                if !self.is_due && self.deadlines.is_empty() {
                    return Err(RunError::Stuck);
                }
            }
            let now = self.engine.now();
            if now >= self.looked_up + WAKE_UP {
                self.looked_up = now;
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

    /// Applies an event, writes it and shows it to the policy. What that decides is carried out by `settle`.
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

    /// One step of the session. Time never goes back.
    fn step(&mut self, at: Time, event: &Event) -> Result<Applied, RunError> {
        let decided = self.recorder.actions.len();
        let stepped = self.session.step(at.max(self.session.cluster().now()), event, &mut self.recorder)?;
        self.watches.event(event);
        for decision in &self.recorder.actions[decided..] {
            self.watches.decision(decision);
        }
        for why in self.recorder.take_refused() {
            self.follower.message(&format!("the policy asked for something impossible, which was left out: {why}"));
        }
        Ok(stepped.applied)
    }

    /// Carries out what was decided, after it is safely written.
    fn settle(&mut self) -> Result<(), RunError> {
        while !self.recorder.actions.is_empty() {
            self.recorder.journal.sync()?;
            for decision in std::mem::take(&mut self.recorder.actions) {
                self.carry_out(&decision)?;
            }
        }
        // What merely happened is given to the system: it survives this process, and a new machine would find
        // out by itself.
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
        }
        Ok(())
    }

    /// Does what is due by now.
    fn pass_deadlines(&mut self) -> Result<(), RunError> {
        let now = self.engine.now();
        while let Some(deadline) = self.deadlines.pop(now) {
            match deadline {
                Deadline::Wake if self.shutdown.is_open() => _ = self.happen(&Event::Woken)?,
                Deadline::Launch(attempt) if self.waiting.waits(attempt) => self.launch(attempt)?,
                Deadline::Wake | Deadline::Launch(_) => {}
                Deadline::Test(attempt) => self.test(attempt)?,
                Deadline::Look(attempt) => self.look(attempt)?,
                Deadline::TimeLimit(attempt) => self.kill(attempt, Kill::TimeLimit),
                Deadline::Kill(attempt) => self.kill(attempt, Kill::FaultInjection),
                Deadline::Lose(loss) => self.lose(loss)?,
                Deadline::Return(loss) => self.bring_back(loss)?,
            }
        }
        Ok(())
    }

    /// Asks the learner, if it has seen something, and reports what it has learned.
    fn learn(&mut self) -> Result<(), RunError> {
        if !self.learner.take_due() || !self.shutdown.is_open() {
            return Ok(());
        }
        let running = self.attempts.observed(self.engine.now());
        for event in self.learner.learned(self.session.cluster(), JOB, &running) {
            self.happen(&event)?;
        }
        Ok(())
    }

    /// Tells whoever follows how far the run is.
    fn follow(&mut self) {
        let (cluster, now) = (self.session.cluster(), self.engine.now());
        let mut done = vec![0.0; self.plan.phases.len()];
        for (attempt, running) in self.attempts.iter() {
            let is_newest = cluster.copies(attempt.task).next().is_some_and(|copy| copy.id() == attempt);
            done[attempt.task.phase as usize] += if is_newest { running.progress.share } else { 0.0 };
        }
        // A job that is gone has finished.
        let phases = cluster.job(JOB).map_or(&[][..], |job| job.phases());
        let planned = self.plan.phases.iter().enumerate();
        let progress = |(at, phase): (usize, &crate::job_file::PlannedPhase)| {
            self.counts.progress(at, &phase.name, phase.tasks, phases.get(at), done[at])
        };
        let progress: Vec<_> = planned.map(progress).collect();
        let nodes = cluster.nodes().iter().map(|node| (node.name().to_string(), node.attempts() as u64));
        self.follower.nodes(&nodes.collect::<Vec<_>>());
        self.follower.phases(&progress, Duration::from_nanos(now.0));
    }

    /// True if a task has its result, or is gone with its job.
    fn is_finished(&self, task: TaskId) -> bool {
        self.session.cluster().task(task).is_none_or(Task::is_finished)
    }

    /// An attempt that has not ended, as the cluster knows it.
    fn attempt(&self, attempt: AttemptId) -> Option<&Attempt> {
        self.session.cluster().attempt(attempt)
    }

    /// Sums up a run that has ended.
    fn outcome(mut self, state: RunState) -> Result<RunOutcome, RunError> {
        self.follow();
        standing::kill(&self.store.run(), self.engine, self.follower);
        self.recorder.journal.sync()?;
        let records = journal::read(&self.store)?.map(|(_, records)| records).unwrap_or_default();
        let timeline = Timeline::of(records);
        let (policy, knowledge) = (self.header.policy.clone(), self.header.knowledge.to_string());
        let mut summary = RunSummary::of(&timeline, state, self.failures.into_given_up(), policy, knowledge)
            .ok_or_else(|| RunError::Input("the journal holds no job".to_owned()))?;
        summary.synced = self.store.is_synced();
        let json = serde_json::to_string_pretty(&summary).unwrap_or_default();
        self.store.write_summary(&json).map_err(|error| RunError::Io { path: self.store.folder().into(), error })?;
        Ok(RunOutcome {
            summary,
            timeline,
            rounds: self.recorder.rounds,
            deciding: self.recorder.deciding,
            longest_decision: self.recorder.longest,
            pages: self.store.pages(),
        })
    }
}
