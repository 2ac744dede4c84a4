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
//! | `core/learning/` | how long attempts take, and which nodes are slow |
//! | `fault_injection.rs` | the faults of `--chaos`, and when they happen |
//! | `node_loss.rs` | the nodes that the engine has lost, and tasks that wait for the ends of attempts there |
//! | `limits.rs` | how long attempts may take |
//! | `untouched.rs` | whether an attempt has changed files that its command does not write anew |
//! | `task_ends.rs` | how the last attempt of each failed task ended |
//! | `full_disk.rs` | since when the run waits for space on a disk |
//! | `shutdown.rs` | whether the run continues |
//! | `counts.rs` | the counts that the progress display shows |
//! | `recorder.rs`, `journal.rs` | the records to write, and the decisions to carry out |
//! | `deadlines.rs` | the times at which the driver has to act |
//!
//! The other files act on these parts: `begin.rs`, `launching.rs`, `polling.rs`, `endings.rs`, `permanent.rs`, `stopping.rs`,
//! `resume.rs`, `again.rs` and `recheck.rs`.

mod again;
mod arrivals;
mod attempts;
mod begin;
mod counts;
mod deadlines;
mod endings;
mod ends;
mod error;
mod failures;
mod fault_injection;
mod finished;
mod follow;
mod follower;
mod full_disk;
mod jobs;
mod journal;
mod launching;
mod limits;
mod memory;
mod node_loss;
mod options;
mod permanent;
mod polling;
mod profiles;
mod progress;
mod recheck;
mod recorder;
mod reports;
mod results_table;
mod resume;
mod second_attempts;
mod several;
mod shared_writes;
mod shutdown;
mod stopping;
mod submissions;
mod task_ends;
mod untouched;
mod utilization;
mod waiting;
mod watches;
mod what_counts;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use hindmost_core::cluster::{Applied, Attempt, Task};
use hindmost_core::ids::{AttemptId, JobId, TaskId};
use hindmost_core::journal::Header;
use hindmost_core::learning::Learner;
use hindmost_core::metrics::{PhaseProgress, RunState, RunSummary};
use hindmost_core::record::{Decision, Event, StopReason};
use hindmost_core::session::Session;
use hindmost_core::time::Time;
use hindmost_core::timeline::Timeline;

pub use again::{PhaseResumed, ResumePlan, RunsAgain};
pub use begin::{RunJobs, is_complete, resume_plan, run, run_jobs, run_under};
pub use error::RunError;
pub use follower::{Follower, Unfollowed};
pub use options::{DEFAULT_KNOWLEDGE, DEFAULT_POLICY, RunOptions, check, check_together, chosen};
pub use resume::recorded_nodes;
pub use submissions::Submissions;
pub use task_ends::{EarlierResult, How, Next, TaskEnd};

use crate::energy::EnergyMeter;
use crate::engine::Engine;
use crate::job_file::Plan;
use crate::store::{Pages, Store};
use attempts::{Attempts, Kill};
use deadlines::{Deadline, Deadlines};
use fault_injection::FaultInjection;
use full_disk::FullDisk;
use jobs::Jobs;
use node_loss::LostNodes;
use recorder::Recorder;
use shutdown::Request;
use waiting::Waiting;
use watches::Watches;

/// Name of the table of all tasks in a run's folder.
const RESULTS: &str = "results.tsv";
/// The longest time between two turns of the loop: 100 ms. Each turn checks for Ctrl-C and updates the progress display.
const WAKE_UP: Time = Time(100_000_000);

/// The result of a job, and how long the policy took to decide.
#[derive(Clone, Debug)]
pub struct RunOutcome {
    /// The figures of the run, as in `summary.json`.
    pub summary: RunSummary,
    /// The plan of the job, in which tasks have the numbers with which the run began.
    pub plan: Plan,
    /// All attempts of the job with their starts and ends.
    pub timeline: Timeline,
    /// Number of decision rounds in this process.
    pub rounds: u64,
    /// Total time that the policy took to observe events and to decide.
    pub deciding: Duration,
    /// The longest time that the policy took for one event.
    pub longest_decision: Duration,
    /// Writes the pages about the run, such as its report.
    pub pages: Pages,
    /// Absolute path of the folder with the results of the job.
    pub folder: PathBuf,
}

/// A run in progress.
struct Driver<'a> {
    jobs: Jobs,
    /// The folder of the run, if this is not that of its only job.
    home: Option<Store>,
    options: &'a RunOptions,
    submissions: &'a mut dyn Submissions,
    engine: &'a mut dyn Engine,
    follower: &'a mut dyn Follower,
    session: Session,
    header: Header,
    recorder: Recorder,
    attempts: Attempts,
    waiting: Waiting,
    watches: Watches,
    learner: Learner,
    faults: FaultInjection<'a>,
    lost: LostNodes,
    deadlines: Deadlines,
    energy: Option<EnergyMeter>,
    /// True if the user has requested to stop: no more jobs arrive.
    is_stopped: bool,
    /// The time of the event that is being applied, if it happened before now.
    was_at: Option<Time>,
    /// True if the policy has to decide, because something has happened since the last round.
    is_due: bool,
    disk: FullDisk,
    /// Number of second attempts of slow tasks so far.
    seconds_said: u32,
    /// Tasks of which two attempts have had one file open for writing, and why a task can't begin again; `None` if it can.
    shared: BTreeMap<TaskId, Option<String>>,
    /// Attempts that are stopped until the policy has decided whether they end beside a winner.
    frozen: Vec<AttemptId>,
    /// Copies that were not said yet, with the policy's reasons.
    unsaid: BTreeMap<AttemptId, Option<String>>,
    /// When the loop last updated the progress display.
    followed_at: Time,
    /// The last progress of jobs that have ended, for the display.
    ended: Vec<PhaseProgress>,
}

impl Driver<'_> {
    /// Runs the loop until every job is done, has failed or is interrupted, and no other arrives.
    fn work(&mut self, stop_requests: &AtomicU32) -> Result<(), RunError> {
        let mut happened = Vec::new();
        // Nodes that can't be used yet are lost before anything is started on them.
        self.engine.wait(self.engine.now(), &mut happened);
        self.happened(std::mem::take(&mut happened))?;
        loop {
            let requests = stop_requests.load(Ordering::Relaxed);
            if requests > 0 {
                self.stop_requested(requests)?;
            }
            self.submitted()?;
            if self.is_due && self.is_open() {
                self.round()?;
            }
            self.settle()?;
            if self.recorder.actions.is_empty() {
                self.thaw_kept();
            }
            self.end_jobs()?;
            if self.jobs.is_empty() && !self.may_arrive() {
                return Ok(());
            }
            let is_idle = self.attempts.is_empty() && self.waiting.is_empty();
            let is_settled = !self.is_due && self.recorder.actions.is_empty();
            if is_idle && is_settled && self.deadlines.is_empty() && !self.jobs.is_empty() && !self.lost.any() {
                return Err(RunError::Stuck);
            }
            let now = self.engine.now();
            if now >= self.followed_at + WAKE_UP {
                self.followed_at = now;
                self.follow();
                self.check_places()?;
                self.look_at_disks();
            }
            let now = self.engine.now();
            let until = self.deadlines.next().unwrap_or(Time::NEVER).min(now + WAKE_UP);
            let until = if self.is_due && self.is_open() { now } else { until };
            self.engine.wait(until, &mut happened);
            self.happened(std::mem::take(&mut happened))?;
            self.check_nodes_can_return()?;
            self.tend_awaited();
            self.pass_deadlines()?;
            self.learn()?;
        }
    }

    /// True while the policy decides and its decisions are carried out.
    fn is_open(&self) -> bool {
        self.jobs.any_open()
    }

    /// True if other jobs may arrive.
    fn may_arrive(&self) -> bool {
        !self.is_stopped && self.submissions.are_open()
    }

    /// Returns the folder with the journal: that of the run, or of its only job.
    fn home(&self) -> Option<&Store> {
        self.home.as_ref().or_else(|| self.jobs.iter().next().map(|job| &job.store))
    }

    /// Checks that the folders of the run and its jobs are still at their paths.
    fn check_places(&self) -> Result<(), RunError> {
        self.home.iter().chain(self.jobs.iter().map(|job| &job.store)).try_for_each(Store::check_place)?;
        Ok(())
    }

    /// Ends the jobs, because the user has requested it so many times.
    fn stop_requested(&mut self, requests: u32) -> Result<(), RunError> {
        self.is_stopped = true;
        for job in self.jobs.ids() {
            if requests > 1 {
                self.jobs[job].shutdown.spare_none();
            }
            while let Some(request) = self.jobs[job].shutdown.request(requests) {
                match request {
                    Request::Interrupt => self.shut_down(job, RunState::Interrupted)?,
                    Request::StopTheRest => self.stop_the_rest(job),
                    Request::KillTheRest => self.kill_at_once(job),
                }
            }
        }
        Ok(())
    }

    /// Ends the jobs of which nothing runs any more and nothing is left to run.
    fn end_jobs(&mut self) -> Result<(), RunError> {
        if !self.write_journal()? {
            return Ok(());
        }
        for job in self.jobs.ids() {
            if self.jobs[job].shutdown.is_done() {
                self.kill_job(job, Kill::Shutdown);
            }
            if self.attempts.has_of(job) || self.waiting.has_of(job) {
                continue;
            }
            if self.jobs[job].shutdown.is_open() && self.is_held_up(job) {
                self.shut_down(job, RunState::Failed)?;
            }
            if let Some(state) = self.jobs[job].shutdown.end() {
                self.end_job(job, state)?;
            }
        }
        Ok(())
    }

    /// Applies an event, writes it and passes it to the policy. `settle` carries out what the policy decides.
    fn happen(&mut self, event: &Event) -> Result<Applied, RunError> {
        let at = self.was_at.unwrap_or_else(|| self.engine.now());
        let applied = self.step(at, event)?;
        self.is_due |= !matches!(event, Event::AttemptRunning { .. });
        if applied.job_finished
            && let Some(job) = finished_by(event).and_then(|job| self.jobs.get_mut(job))
        {
            job.shutdown.job_done();
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
            // What the disk has no space for stays in memory. Attempts that end meanwhile may free some.
            if !self.write_journal()? {
                return Ok(());
            }
            self.recorder.journal.sync()?;
            for decision in std::mem::take(&mut self.recorder.actions) {
                self.carry_out(&decision)?;
            }
        }
        // Events need no sync. Once flushed, they survive the end of this process. After a power cut, the next process finds
        // out from the run's folder what has happened.
        self.write_journal().map(drop)
    }

    fn carry_out(&mut self, decision: &Decision) -> Result<(), RunError> {
        match *decision {
            Decision::Start { attempt, .. } => {
                let why = self.recorder.take_reason(attempt);
                self.launch(attempt)?;
                self.say_copy(attempt, why);
            }
            Decision::Stop { attempt, reason } => {
                let why = self.recorder.take_reason(attempt);
                if reason == StopReason::Restarted {
                    self.stop_for_restart(attempt, why.as_deref());
                    return Ok(());
                }
                if !self.is_finished(attempt.task) && self.is_loser(attempt) && self.attempts.contains(attempt) {
                    self.end_beside_another(attempt)?;
                } else {
                    self.kill(attempt, Kill::Decided);
                }
            }
            Decision::Replace { attempt, .. } => {
                self.find_replacement(attempt);
                self.kill(attempt, Kill::Decided);
            }
            Decision::Watch { attempt, .. } => self.test_later(attempt),
            Decision::Reserve { .. } | Decision::Wake { .. } => self.deadlines.decision(decision),
            // The policy's last pass has decided to stop the attempts; these decisions follow.
            Decision::Abandon { job } => {
                let Some(abandoned) = self.jobs.get_mut(job) else { return Ok(()) };
                abandoned.shutdown.begin(RunState::Abandoned);
                let which = if self.home.is_some() { format!("job {}", abandoned.plan.name) } else { "the job".into() };
                self.follower.message(&format!("the policy abandons {which}"));
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
                Deadline::Wake if self.is_open() => _ = self.happen(&Event::Woken)?,
                Deadline::Launch(attempt) if self.waiting.waits(attempt) => self.launch(attempt)?,
                Deadline::Wake | Deadline::Launch(_) => {}
                Deadline::Retry(task) if self.jobs.get(task.job).is_none() => {}
                Deadline::Retry(task) => self.retry(task)?,
                Deadline::Test(attempt) => self.test(attempt)?,
                Deadline::Poll(attempt) => self.poll(attempt)?,
                Deadline::Say(copy) => self.say_later(copy),
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
        if !self.learner.take_due() || !self.is_open() {
            return Ok(());
        }
        let running = self.attempts.observed(self.engine.now());
        for event in self.learner.learned(self.session.cluster(), &running) {
            self.happen(&event)?;
        }
        Ok(())
    }

    /// True if a task has its result, or if its job has left the cluster.
    fn is_finished(&self, task: TaskId) -> bool {
        self.session.cluster().task(task).is_none_or(Task::is_finished)
    }

    /// Returns the cluster's state of an attempt; `None` once it has ended.
    fn attempt(&self, attempt: AttemptId) -> Option<&Attempt> {
        self.session.cluster().attempt(attempt)
    }
}

/// Returns the job whose last task an event may have finished.
fn finished_by(event: &Event) -> Option<JobId> {
    match event {
        Event::AttemptFinished { attempt } => Some(attempt.task.job),
        Event::TaskGivenUp { task } => Some(task.job),
        _ => None,
    }
}
