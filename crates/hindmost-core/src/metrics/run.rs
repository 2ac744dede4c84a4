//! The result of one live run of one job, as `hindmost run --json` prints it.

use std::collections::BTreeMap;

use hindmost_math::statistics::median_of_sorted;
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use crate::ids::{JobId, TaskId};
use crate::policy::Learned;
use crate::time::Time;
use crate::timeline::{AttemptEnd, Timeline, TimelineRow};

use super::{Copies, LiveEnergy, Needs, Suggestion, TimeSaved};

/// How a run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// Every task has its result, or has failed as its phase allows.
    #[default]
    Done,
    /// A task failed more often than allowed.
    Failed,
    /// The policy abandoned the job.
    Abandoned,
    /// The user interrupted the run.
    Interrupted,
}

/// A task that failed permanently.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FailedTask {
    /// Name of the task's phase.
    pub phase: String,
    /// Index of the task within its phase, from 0.
    pub task: u32,
    /// Number of attempts of the task that failed since the run began, or since it began again with its valid results. Attempts
    /// before the run was resumed count.
    pub failures: u32,
    /// Error of the task's last attempt.
    pub reason: String,
    /// The end of the last attempt's standard error.
    pub stderr: String,
    /// The task's input file, or the values of a map's task; `None` if it has neither.
    #[serde(default)]
    pub input: Option<String>,
    /// The task's values of the phase's matrix or table, by name; empty without either.
    #[serde(default)]
    pub matrix: BTreeMap<String, String>,
    /// The task's command, as the shell received it.
    #[serde(default)]
    pub command: String,
    /// Number of the last attempt that failed, from 0.
    #[serde(default)]
    pub attempt: u32,
    /// Exit code of that attempt's command; `None` if the attempt ended in another way, such as its time limit.
    #[serde(default)]
    pub exit_code: Option<i32>,
    /// Signal that ended the command, if its exit code shows one.
    #[serde(default)]
    pub signal: Option<i32>,
    /// The end of the last attempt's standard output.
    #[serde(default)]
    pub stdout: String,
    /// Path of the log of that attempt's standard error; `None` if it wrote nothing.
    #[serde(default)]
    pub stderr_log: Option<String>,
    /// Path of the log of that attempt's standard output; `None` if it wrote nothing.
    #[serde(default)]
    pub stdout_log: Option<String>,
}

/// The result of a phase. Times in seconds since the run began; they include the run's preparation and its pauses.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhaseSummary {
    /// Name of the phase.
    pub name: String,
    /// Number of tasks, including those that were finished before the run, without withdrawn ones.
    pub tasks: u64,
    /// Number of tasks that have their result, without withdrawn ones.
    pub finished: u64,
    /// Number of withdrawn tasks: their inputs or values are gone. Missing if there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub withdrawn: u64,
    /// Number of attempts started.
    pub attempts: u64,
    /// Number of attempts that failed, lost their node, or were stopped because the job was abandoned or the run ended.
    pub broken: u64,
    /// Redundant copies: attempts that ran at the same time as another copy of their task, or that replaced one.
    pub copies: Copies,
    /// Time at which the phase's first attempt was started; `None` if no attempt was started.
    pub start: Option<f64>,
    /// Time at which the phase's last task finished; `None` if a task is unfinished, or if all tasks were finished
    /// before the run.
    pub finish: Option<f64>,
    /// Median duration of winners, seconds; `None` if there are no winners.
    pub p50: Option<f64>,
    /// 95th percentile of the duration of winners, seconds; `None` if there are no winners.
    pub p95: Option<f64>,
    /// Longest duration of a winner, seconds; `None` if there are no winners.
    pub max: Option<f64>,
    /// What the winners needed; missing if nothing was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<Needs>,
    /// What a task that takes long may get instead of a copy; missing if it may get copies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead_of_copies: Option<InsteadOfCopies>,
    /// What the policy learned from the copies of the phase; missing if that is nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub learned: Option<Learned>,
}

/// What a task may get that has only one attempt at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum InsteadOfCopies {
    /// An attempt that seems to hang may be stopped, and the task starts again.
    Restarts,
    /// Nothing: its attempt is waited for.
    Nothing,
}

/// Redundant copies that failed, lost their node, or were stopped because the job was abandoned or the run ended.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BrokenCopies {
    /// Number of these copies.
    pub count: u64,
    /// Their running time as a share of the running time of all attempts.
    pub share: f64,
}

/// Returns true for 0, which some keys leave out.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The result of a run of one job.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunSummary {
    /// The job's name.
    pub job: String,
    /// How the run ended.
    pub state: RunState,
    /// Number of tasks, including those that were finished before the run, without withdrawn ones.
    pub tasks: u64,
    /// Number of withdrawn tasks: their inputs or values are gone. Missing if there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub withdrawn: u64,
    /// Number of attempts started.
    pub attempts: u64,
    /// Redundant copies: attempts that ran at the same time as another copy of their task, or that replaced one.
    pub copies: Copies,
    /// The redundant copies that failed, lost their node, or were stopped because the job was abandoned or the run ended. They
    /// are not part of `wasted_share`. Missing if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken_copies: Option<BrokenCopies>,
    /// By how much the job ended sooner because of its copies; missing without copies, and where it can't be estimated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saved: Option<TimeSaved>,
    /// Flowtime (job completion time, JCT): seconds from the start of the run to the last task's finish, or to the end
    /// of the run. The live driver leaves out the pauses of a resumed run.
    pub flowtime: f64,
    /// Results of the job's phases.
    pub phases: Vec<PhaseSummary>,
    /// Tasks that failed permanently.
    pub failed_tasks: Vec<FailedTask>,
    /// The policy as the user named it.
    pub policy: String,
    /// The progress model of the policy.
    pub knowledge: String,
    /// True if the job met its deadline; `None` if it has none.
    pub met_deadline: Option<bool>,
    /// The job's deadline, seconds from the start of the run; `None` if it has none.
    #[serde(default)]
    pub deadline: Option<f64>,
    /// Seconds from the deadline to the job's finish, or to the end of a run that did not finish it; 0 if it met the deadline,
    /// `None` if it has none. Pauses count.
    #[serde(default)]
    pub lateness: Option<f64>,
    /// Share of the nodes' capacity that attempts held from the start of the run to the job's finish or the end of the run,
    /// pauses left out, in the busiest dimension; missing if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub utilization: Option<f64>,
    /// Better values for `memory` and `cpus` of phases, from what their tasks needed; left out if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suggestions: Vec<Suggestion>,
    /// True if the results were synced to the disk, so that they survive a power failure.
    pub synced: bool,
    /// Begin and end of each pause of a resumed run, seconds since the run began; left out if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pauses: Vec<[f64; 2]>,
    /// The shell that ran the commands of phases that name no shell, such as `bash -euo pipefail -c`; `None` if it is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shell: Option<String>,
    /// Energy of the run; missing if it was not measured and the nodes have no power models.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub energy: Option<LiveEnergy>,
}

/// Counts of the attempts of a job or phase.
#[derive(Default)]
struct Counts {
    attempts: u64,
    broken: u64,
    launched: u64,
    won: u64,
    held: f64,
    wasted: f64,
    /// Number and running time of the redundant copies among `broken`.
    broken_copies: (u64, f64),
    durations: Vec<f64>,
    start: Option<f64>,
    finish: Option<f64>,
}

impl Counts {
    fn add(&mut self, row: &TimelineRow) {
        self.attempts += 1;
        self.launched += u64::from(row.redundant);
        let seconds = (row.end - row.start).seconds();
        self.held += seconds;
        self.start.get_or_insert(row.start.seconds());
        match row.outcome {
            AttemptEnd::Won => {
                self.won += u64::from(row.redundant);
                self.durations.push(seconds);
                self.finish = Some(self.finish.unwrap_or(0.0).max(row.end.seconds()));
            }
            AttemptEnd::Lost | AttemptEnd::Replaced => self.wasted += seconds,
            AttemptEnd::Failed(_) | AttemptEnd::NodeLost | AttemptEnd::Abandoned | AttemptEnd::Stopped => {
                self.broken += 1;
                if row.redundant {
                    self.broken_copies.0 += 1;
                    self.broken_copies.1 += seconds;
                }
            }
            AttemptEnd::Running => {}
        }
    }

    fn copies(&self) -> Copies {
        let wasted_share = if self.held > 0.0 { self.wasted / self.held } else { 0.0 };
        Copies { launched: self.launched, won: self.won, wasted_share }
    }

    fn broken_copies(&self) -> Option<BrokenCopies> {
        let (count, seconds) = self.broken_copies;
        let share = if self.held > 0.0 { seconds / self.held } else { 0.0 };
        (count > 0).then_some(BrokenCopies { count, share })
    }

    fn quantile(&self, share: f64) -> Option<f64> {
        let rank = ((share * self.durations.len() as f64).ceil() as usize).max(1) - 1;
        self.durations.get(rank).copied()
    }
}

impl RunSummary {
    /// Summarises the first job of a recorded run; `None` if the timeline has no job. `failed_tasks`, the policy and
    /// its progress model are copied into the summary. Attempts that follow a failure do not count as redundant copies.
    /// `wasted_share` is the running time of losing copies as a share of the running time of all attempts. Attempts that
    /// failed, lost their node or were stopped with the job or the run are no losing copies.
    pub fn of(
        timeline: &Timeline,
        state: RunState,
        failed_tasks: Vec<FailedTask>,
        policy: String,
        knowledge: String,
    ) -> Option<RunSummary> {
        let job = timeline.jobs.first()?;
        let of_job = || timeline.rows.iter().filter(|row| row.attempt.task.job == JobId(0));
        let mut all = Counts::default();
        let mut by_phase: Vec<Counts> = job.spec.phases.iter().map(|_| Counts::default()).collect();
        for row in of_job() {
            all.add(row);
            if let Some(counts) = by_phase.get_mut(row.attempt.task.phase as usize) {
                counts.add(row);
            }
        }
        let withdrawn: FxHashSet<TaskId> = timeline.withdrawn.iter().copied().collect();
        let won = of_job().filter(|row| row.outcome == AttemptEnd::Won).map(|row| row.attempt.task);
        let withdrawn_won: Vec<TaskId> = won.filter(|task| withdrawn.contains(task)).collect();
        let phases = (0..).zip(job.spec.phases.iter().zip(by_phase)).map(|(at, (phase, mut counts))| {
            counts.durations.sort_unstable_by(f64::total_cmp);
            let is_left = |index: &&u32| !withdrawn.contains(&TaskId { job: JobId(0), phase: at, index: **index });
            let won = counts.durations.len() - withdrawn_won.iter().filter(|task| task.phase == at).count();
            let finished = won as u64 + phase.finished.iter().filter(is_left).count() as u64;
            // A task may have been withdrawn before it ever was a task of the recorded job.
            let is_its = |task: &&TaskId| task.phase == at && task.index < phase.tasks;
            let tasks = u64::from(phase.tasks) - withdrawn.iter().filter(is_its).count() as u64;
            PhaseSummary {
                name: phase.name.to_string(),
                tasks,
                finished,
                withdrawn: withdrawn.iter().filter(|task| task.phase == at).count() as u64,
                attempts: counts.attempts,
                broken: counts.broken,
                copies: counts.copies(),
                start: counts.start,
                finish: counts.finish.filter(|_| finished == tasks),
                p50: median_of_sorted(&counts.durations),
                p95: counts.quantile(0.95),
                max: counts.durations.last().copied(),
                instead_of_copies: match (phase.never_copied, phase.may_restart) {
                    (false, _) => None,
                    (true, true) => Some(InsteadOfCopies::Restarts),
                    (true, false) => Some(InsteadOfCopies::Nothing),
                },
                learned: None,
                needs: Needs::of(of_job().filter(|row| row.attempt.task.phase == at)),
            }
        });
        let phases: Vec<PhaseSummary> = phases.collect();
        let finish: Time = job.finish.unwrap_or(timeline.end);
        Some(RunSummary {
            job: job.spec.name.to_string(),
            state,
            tasks: phases.iter().map(|phase| phase.tasks).sum(),
            withdrawn: withdrawn.len() as u64,
            attempts: all.attempts,
            copies: all.copies(),
            broken_copies: all.broken_copies(),
            flowtime: (finish - job.arrival).seconds(),
            phases,
            failed_tasks,
            policy,
            knowledge,
            met_deadline: job.spec.deadline.map(|deadline| job.finish.is_some_and(|at| at <= job.arrival + deadline)),
            deadline: job.spec.deadline.map(Time::seconds),
            lateness: job.spec.deadline.map(|deadline| (finish - (job.arrival + deadline)).seconds()),
            synced: true,
            pauses: timeline.pauses.iter().map(|pause| pause.map(Time::seconds)).collect(),
            ..RunSummary::default()
        })
    }

    /// Returns the total length of the pauses, in seconds.
    pub fn paused(&self) -> f64 {
        self.pauses.iter().map(|[begin, end]| end - begin).sum()
    }
}

/// The progress of a phase of a running job.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PhaseProgress {
    /// Name of the phase.
    pub name: String,
    /// Number of tasks.
    pub tasks: u64,
    /// Number of tasks that have their result.
    pub finished: u64,
    /// Number of tasks with running attempts.
    pub running: u64,
    /// Number of tasks of which attempts are starting and none runs.
    pub starting: u64,
    /// Number of running redundant copies.
    pub copies: u64,
    /// Number of redundant copies started so far.
    pub copies_started: u64,
    /// Number of redundant copies that won.
    pub copies_won: u64,
    /// Number of attempts stopped because another copy had won or because a replacement was started.
    pub killed: u64,
    /// Number of attempts that failed or lost their node.
    pub failed: u64,
    /// Share of the phase's work that is done, in [0, 1].
    pub progress: f64,
    /// True if a parent phase is not finished yet, so that no task of this phase can start.
    pub waiting: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{AttemptId, NodeId};
    use crate::record::{Change, Decision, Event, Record};
    use crate::workload::{JobSpec, PhaseSpec};

    #[test]
    fn tasks_finished_before_the_run_count_as_finished() {
        let phase = |name: &str, tasks, finished: &[u32]| PhaseSpec {
            finished: finished.to_vec(),
            ..PhaseSpec::new(name, tasks, 1.0)
        };
        let phases = vec![phase("all", 2, &[0, 1]), phase("some", 3, &[0, 2])];
        let spec = JobSpec::new("j", phases);
        let attempt = AttemptId { task: TaskId { job: JobId(0), phase: 1, index: 1 }, copy: 0 };
        let start = Decision::Start { attempt, node: NodeId(0), from_progress: 0.0 };
        let changes = [
            Change::Event(Event::JobArrived { job: JobId(0), spec: spec.into() }),
            Change::Decision(start),
            Change::Event(Event::AttemptFinished { attempt }),
        ];
        let records = (0..).zip(changes).map(|(at, change)| Record { at: Time::from_seconds(f64::from(at)), change });
        let timeline = Timeline::of(records);
        assert_eq!(timeline.jobs[0].finish, Some(Time::from_seconds(2.0)));
        let (policy, knowledge) = ("none".to_owned(), "age".to_owned());
        let summary = RunSummary::of(&timeline, RunState::Done, Vec::new(), policy, knowledge).unwrap();
        assert_eq!((summary.tasks, summary.attempts, summary.flowtime), (5, 1, 2.0));
        assert_eq!((summary.met_deadline, summary.deadline, summary.lateness), (None, None, None));
        let counts = summary.phases.iter().map(|phase| (phase.tasks, phase.finished, phase.attempts, phase.finish));
        assert_eq!(counts.collect::<Vec<_>>(), [(2, 2, 0, None), (3, 3, 1, Some(2.0))]);
    }
}
