//! `hadoop` scans each job from time to time. A scan gives at most one backup to each phase without pending tasks: to the
//! task whose attempt is expected to end the longest time after a new attempt would end.
//!
//! Source: `DefaultSpeculator`, `StartEndTimesBase`, `LegacyTaskRuntimeEstimator` and
//! `SimpleExponentialTaskRuntimeEstimator` of Apache Hadoop MapReduce 3
//! (`org.apache.hadoop.mapreduce.v2.app.speculate`). A phase here is a task type there (maps or reduces).
//!
//! Algorithm:
//! - A job is scanned when it arrives, 1 s after a scan that started no backup, and 15 s after a scan that started one.
//! - A scan skips a phase that has pending tasks or a backup that waits for free resources.
//! - It skips a phase until at least one task, and at least 5% of its tasks, have finished.
//! - It skips a phase that runs as many backups as it may: the largest of a fixed number, a share of the phase's tasks,
//!   and a share of its running tasks, each rounded down.
//! - A new attempt is expected to take the mean duration of the phase's finished tasks. With `estimator=exponential`,
//!   the upper end of the mean's 95% interval is used, plus half a standard deviation or a quarter of that end, whichever
//!   is less.
//! - Among the tasks with one running attempt, the one whose attempt ends the longest time after a new one would end
//!   gets a backup. No task does if no attempt ends later than a new one.
//! - If no resources are free, the backup starts as soon as some are. Until then its phase gets no other backup.
//!
//! Passes: `[Originals(order), Backups(hadoop rule, one in each phase and scan)]`.
//!
//! Readings:
//! - With `estimator=exponential`, Hadoop has no forecast for an attempt before its 25th progress report and then takes
//!   its remaining time for nearly infinite. So does this rule; reports come every `report` seconds.
//! - An attempt that starts at the instant of the scan has reported nothing yet, so only later scans compare it.
//! - Of tasks with equal estimates, the one with the smallest id is first.
//!
//! The differences from the source, and what this was written from, are in the catalogue (`catalogue/sources/`).

mod scans;

use std::cell::Cell;

use hindmost_core::cluster::{Attempt, Cluster, Phase};
use hindmost_core::estimator::{Estimator, Pace};
use hindmost_core::ids::{AttemptId, JobId, TaskId};
use hindmost_core::policy::{Round, Seen, View};
use hindmost_core::record::{Condition, Decision, Event};
use hindmost_core::time::Time;
use rustc_hash::FxHashMap;

use super::candidates::Candidates;
use super::{Cause, Rule, only_copy};
use scans::{Finished, PhaseScan, Scans};

crate::parameters! {
    /// The parameters of `hadoop`. A phase may run as many backups as the largest of three limits allows.
    pub struct HadoopParameters {
        /// backups that a phase may always run at the same time (mapreduce.job.speculative.minimum-allowed-tasks)
        pub minimum_allowed: u32 = 10, in 0..=1_000_000, unit "backups";
        /// backups that a phase may run at the same time, as a share of its tasks
        /// (mapreduce.job.speculative.speculative-cap-total-tasks)
        pub of_total_tasks: f64 = 0.01, in 0.0..=1.0;
        /// backups that a phase may run at the same time, as a share of its running tasks
        /// (mapreduce.job.speculative.speculative-cap-running-tasks)
        pub of_running_tasks: f64 = 0.1, in 0.0..=1.0;
        /// time to the next scan after a scan without a new backup (mapreduce.job.speculative.retry-after-no-speculate)
        pub retry_after_no_speculate: f64 = 1.0, in 0.001..=1e9, unit "s";
        /// time to the next scan after a scan with a new backup (mapreduce.job.speculative.retry-after-speculate)
        pub retry_after_speculate: f64 = 15.0, in 0.001..=1e9, unit "s";
        /// how the duration of a new attempt is estimated: legacy (mean) or exponential (upper end of its 95% interval
        /// and more) (yarn.app.mapreduce.am.job.task.estimator.class)
        pub estimator: RuntimeEstimator = RuntimeEstimator::Legacy;
        /// time between two progress reports of an attempt, for estimator=exponential
        /// (mapreduce.task.progress-report.interval)
        pub report: f64 = 6.0, in 0.0..=1e9, unit "s";
    }
}

/// How the duration of a new attempt is estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuntimeEstimator {
    /// The mean duration of the phase's finished tasks (`LegacyTaskRuntimeEstimator`, Hadoop's default).
    Legacy,
    /// The upper end of the mean's 95% interval and more (`SimpleExponentialTaskRuntimeEstimator`).
    Exponential,
}

crate::words!(RuntimeEstimator: Legacy = "legacy", Exponential = "exponential");

/// Share of a phase's tasks that must have finished before it gets a backup
/// (`MINIMUM_COMPLETE_PROPORTION_TO_SPECULATE`). As in Hadoop, the comparison is one of single precision: 1 of 20 is enough.
const FINISHED_SHARE: f32 = 0.05;
/// The progress report from which on the exponential estimator forecasts. It skips the 24 before it
/// (`yarn.app.mapreduce.am.job.task.estimator.simple.exponential.smooth.skip-initials`).
const FIRST_FORECAST: f64 = 25.0;

type PhaseId = (JobId, u32);

/// The rule by which Hadoop MapReduce starts backups.
pub struct HadoopRule {
    parameters: HadoopParameters,
    /// The durations of finished tasks, for phases with unfinished tasks.
    finished: FxHashMap<PhaseId, Finished>,
    scans: Scans,
    /// Jobs of which a phase was entered in the current round. They are scanned in the next one, because the answers to
    /// the new watches come in between.
    entered: Vec<JobId>,
    /// The attempts whose tasks wait for free resources for a backup, at most one in each phase.
    requested: Candidates,
}

impl HadoopRule {
    /// Creates the rule with these parameters.
    pub fn new(parameters: HadoopParameters) -> HadoopRule {
        let scans = Scans::new(Time::from_seconds(parameters.retry_after_no_speculate));
        HadoopRule {
            parameters,
            finished: FxHashMap::default(),
            scans,
            entered: Vec::new(),
            requested: Candidates::default(),
        }
    }

    /// Returns true if the phase may run another backup.
    fn is_below_cap(&self, phase: &Phase) -> bool {
        let HadoopParameters { minimum_allowed, of_total_tasks, of_running_tasks, .. } = self.parameters;
        let running = phase.running_tasks();
        let backups = phase.running_copies().saturating_sub(running);
        let by_share = |share: f64, tasks: usize| (share * tasks as f64).floor();
        let cap = by_share(of_total_tasks, phase.tasks().len()).max(by_share(of_running_tasks, running as usize));
        f64::from(backups) < cap.max(f64::from(minimum_allowed))
    }

    /// Returns the expected duration of a new attempt of a phase, in seconds; `None` while too few tasks have finished.
    fn new_attempt(&self, id: PhaseId, phase: &Phase) -> Option<f64> {
        let finished = self.finished.get(&id)?;
        let (tasks, unfinished) = (phase.tasks().len() as f32, phase.unfinished() as f32);
        let enough = (tasks - unfinished) / tasks >= FINISHED_SHARE;
        enough.then(|| match self.parameters.estimator {
            RuntimeEstimator::Legacy => finished.mean(),
            RuntimeEstimator::Exponential => finished.upper_estimate(),
        })
    }

    /// Returns the remaining time of an attempt in seconds, as the scan estimates it; `None` if nothing is known.
    fn remaining(&self, attempt: &Attempt, phase: &Phase, cluster: &Cluster, estimator: &dyn Estimator) -> Option<f64> {
        let elapsed = (cluster.now() - attempt.since()).seconds();
        let by_age = || {
            let pace = Pace::of(cluster, attempt);
            (!phase.is_assumed()).then(|| pace.seconds(phase.durations().mean_residual(pace.age(elapsed))))
        };
        let remaining = estimator.remaining(cluster, attempt).or_else(by_age)?;
        // The first report comes one interval after the start.
        let few_reports = elapsed < FIRST_FORECAST * self.parameters.report;
        Some(if self.parameters.estimator == RuntimeEstimator::Exponential && few_reports {
            // Hadoop divides the share of work that remains by a rate of 1e-10 per millisecond.
            1e7 * remaining / (elapsed + remaining)
        } else {
            remaining
        })
    }

    /// Begins to scan a phase once none of its tasks is pending.
    fn enter(&mut self, id: PhaseId, view: &mut View<'_>) {
        let cluster = view.cluster;
        let task = TaskId { job: id.0, phase: id.1, index: 0 };
        let Some(phase) = cluster.phase(task).filter(|phase| can_be_scanned(phase)) else { return };
        if self.scans.contains(id) {
            return;
        }
        let mut scan = PhaseScan::default();
        for index in 0..phase.tasks().len() as u32 {
            for copy in cluster.copies(TaskId { index, ..task }).filter(|copy| cluster.is_only_copy(copy)) {
                scan.put(copy);
                view.watch(copy.id(), Condition::Revealed);
            }
        }
        self.scans.enter(id, scan);
        self.entered.push(id.0);
    }

    /// Updates what is known of a task's attempts, and scans its job soon if that may lead to a backup.
    fn changed(&mut self, task: TaskId, ended: Option<AttemptId>, view: &mut View<'_>) {
        let id = (task.job, task.phase);
        let cluster = view.cluster;
        let Some(phase) = cluster.phase(task).filter(|phase| !phase.is_finished()) else {
            self.finished.remove(&id);
            return self.scans.leave(id);
        };
        if phase.pending() > 0 {
            return self.scans.leave(id);
        }
        self.enter(id, view);
        let Some(scan) = self.scans.phase(id) else { return };
        if let Some(ended) = ended {
            scan.remove(ended);
        }
        for copy in cluster.copies(task) {
            if cluster.is_only_copy(copy) { scan.put(copy) } else { scan.remove(copy.id()) }
        }
        self.plan(id, view);
    }

    /// Plans the next scan of a phase's job, if the scan may give the phase a backup.
    fn plan(&mut self, id: PhaseId, view: &mut View<'_>) {
        let Some(job) = view.cluster.job(id.0) else { return };
        let may_scan = self.may_get_backup(id, &job.phases()[id.1 as usize]);
        if may_scan && let Some(at) = self.scans.plan(job, view.cluster.now()) {
            view.wake(at);
        }
    }

    fn may_get_backup(&self, id: PhaseId, phase: &Phase) -> bool {
        self.scans.has_attempts(id)
            && self.new_attempt(id, phase).is_some()
            && self.requested.of_phase(id).next().is_none()
            && self.is_below_cap(phase)
    }

    /// Scans a phase. Returns the attempt that gets a backup, its remaining time, and the expected duration of a new
    /// attempt, both in seconds. Sets `left_out` if an attempt was left out because it has not reported yet.
    fn scan(&self, id: PhaseId, round: &Round<'_>, left_out: &Cell<bool>) -> Option<(AttemptId, f64, f64)> {
        let cluster = round.cluster();
        let phase = cluster.phase(TaskId { job: id.0, phase: id.1, index: 0 })?;
        if !self.may_get_backup(id, phase) {
            return None;
        }
        let new = self.new_attempt(id, phase)?;
        let estimated = |attempt: AttemptId| {
            let attempt = cluster.attempt(attempt)?;
            // Hadoop skips attempts that have not reported yet.
            if attempt.since() >= cluster.now() {
                left_out.set(true);
                return None;
            }
            Some((self.remaining(attempt, phase, cluster, round.estimator)?, attempt.id()))
        };
        let is_by_finish = self.parameters.estimator == RuntimeEstimator::Legacy;
        let found = self.scans.longest(id, is_by_finish, estimated)?;
        (found.0 > new).then_some((found.1, found.0, new))
    }

    /// Scans a job, and plans its next scan.
    fn scan_job(&mut self, job: JobId, round: &mut Round<'_>) {
        let now = round.cluster().now();
        let (mut found, left_out) = (false, Cell::new(false));
        for phase in self.scans.phases_of(job) {
            let Some((attempt, remaining, new)) = self.scan((job, phase), round, &left_out) else { continue };
            found = true;
            if start_backup(attempt, round) {
                round.because(|| reason(attempt, remaining, new));
            } else if let Some((_, phase)) = only_copy(attempt, round.cluster()) {
                self.requested.put((0, now.0), attempt, Time::NEVER, phase.demand());
                round.request_backup(attempt);
            }
        }
        let retry =
            if found { self.parameters.retry_after_speculate } else { self.parameters.retry_after_no_speculate };
        // An attempt whose finish is unknown may become the slowest while time passes.
        let again = found || left_out.get() || self.scans.has_unknown(job);
        if let Some(at) = self.scans.scanned(job, now + Time::from_seconds(retry), again) {
            round.decide(Decision::Wake { at });
        }
    }
}

/// Returns true if a scan may give the phase a backup once enough of its tasks have finished.
fn can_be_scanned(phase: &Phase) -> bool {
    phase.is_open() && phase.pending() == 0 && !phase.is_finished() && phase.may_be_copied()
}

fn start_backup(attempt: AttemptId, round: &mut Round<'_>) -> bool {
    round.cluster().open_nodes() > 0 && round.start_copies(attempt.task, 1).started > 0
}

fn reason(attempt: AttemptId, remaining: f64, new: f64) -> String {
    let copy = attempt.copy;
    format!(
        "attempt {copy} was expected to end last of its phase, in {remaining:.2} s, and a new attempt to take {new:.2} s"
    )
}

impl Rule for HadoopRule {
    fn condition(&mut self, _attempt: &Attempt, phase: &Phase, _view: &View<'_>) -> Option<Condition> {
        can_be_scanned(phase).then_some(Condition::Revealed)
    }

    fn watches_again(&self, cause: Cause, _attempt: &Attempt, _view: &View<'_>) -> bool {
        matches!(cause, Cause::LeftAlone | Cause::NodeLost)
    }

    fn observe(&mut self, seen: Seen<'_>, view: &mut View<'_>, candidates: &mut Vec<AttemptId>) {
        self.requested.observe(seen, view.cluster, candidates);
        // The rule keeps its own index of attempts.
        candidates.clear();
        if matches!(seen, Seen::Event(..)) {
            self.entered.clear();
        }
        match seen {
            Seen::Event(Event::AttemptFinished { attempt }, applied) => {
                if let (true, Some((_, since))) = (applied.won, applied.released) {
                    let finished = self.finished.entry((attempt.task.job, attempt.task.phase)).or_default();
                    finished.add((view.cluster.now() - since).seconds());
                }
                self.changed(attempt.task, Some(*attempt), view);
                if applied.job_finished {
                    self.scans.forget(attempt.task.job);
                }
            }
            Seen::Event(Event::AttemptFailed { attempt, .. } | Event::AttemptStopped { attempt }, _) => {
                self.changed(attempt.task, Some(*attempt), view);
            }
            Seen::Event(
                Event::TaskWithheld { task, .. } | Event::TaskReturned { task } | Event::TaskGivenUp { task },
                applied,
            ) => {
                self.changed(*task, None, view);
                if applied.job_finished {
                    self.scans.forget(task.job);
                }
            }
            Seen::Decision(Decision::Start { attempt, .. } | Decision::Replace { attempt, .. }) => {
                self.changed(attempt.task, None, view);
            }
            Seen::Decision(Decision::Abandon { job }) => {
                self.finished.retain(|(other, _), _| other != job);
                self.scans.forget(*job);
            }
            Seen::Event(Event::WatchMet { attempt, .. }, _) => {
                let id = (attempt.task.job, attempt.task.phase);
                if let (Some((found, _)), Some(scan)) = (only_copy(*attempt, view.cluster), self.scans.phase(id)) {
                    scan.put(found);
                    self.plan(id, view);
                }
            }
            Seen::Event(Event::NodeLost { .. }, _) => {
                // Any phase may have pending tasks again, or tasks with one copy left.
                for id in self.scans.all() {
                    self.scans.leave(id);
                    self.enter(id, view);
                    self.plan(id, view);
                }
            }
            _ => {}
        }
    }

    fn serve(&mut self, candidates: &mut Vec<AttemptId>, round: &mut Round<'_>) {
        candidates.clear();
        let now = round.cluster().now();
        for job in self.scans.take_due(now) {
            if self.entered.contains(&job) {
                self.scans.postpone(job, now);
                round.decide(Decision::Wake { at: now });
            } else {
                self.scan_job(job, round);
            }
        }
        if self.requested.is_empty() || round.cluster().open_nodes() == 0 {
            return;
        }
        self.requested.forget_copied(round.cluster());
        self.requested.close(|task| round.slack_needed(task), round.slack());
        while round.cluster().open_nodes() > 0 {
            let cluster = round.cluster();
            let next = self.requested.next(|_, _| 0.0, -1.0, |demand| cluster.fits_somewhere(demand));
            let Some((_, attempt)) = next else { break };
            if start_backup(attempt, round) {
                round.because(|| format!("a scan had requested a backup of attempt {}", attempt.copy));
            }
        }
        self.requested.end_round();
    }
}
