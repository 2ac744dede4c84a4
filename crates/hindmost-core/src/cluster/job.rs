//! An active job: its phases, tasks and counts.

use std::sync::Arc;

use crate::ids::{JobId, TaskId};
use crate::resources::Resources;
use crate::time::Time;
use crate::workload::{JobSpec, PhaseSpec};
use hindmost_math::distribution::Distribution;

use super::edges::block_tasks;
use super::phase::Phase;

/// A job that has arrived and has not yet left the cluster.
#[derive(Clone, Debug)]
pub struct Job {
    pub(super) id: JobId,
    pub(super) spec: Arc<JobSpec>,
    pub(super) phases: Vec<Phase>,
    pub(super) arrival: Time,
    pub(super) started: Option<Time>,
    pub(super) finished: Option<Time>,
    pub(super) abandoned: Option<Time>,
    pub(super) unfinished_phases: u32,
    pub(super) runnable: u32,
    pub(super) copies: u32,
    /// Sum of the demands of these copies.
    pub(super) in_use: Resources,
    /// The phases whose parents have finished and that have not, in the order of the specification. A job may have thousands of others.
    pub(super) open: Vec<u32>,
    pub(super) attempts: u32,
    pub(super) copies_won: u32,
    /// Number of attempts that started because all earlier copies of their task had failed or lost their nodes.
    pub(super) relaunches: u32,
}

impl Job {
    /// Creates a job that arrives at `arrival`. `known` has the demand and the assumed durations of each phase.
    pub(super) fn new(id: JobId, spec: Arc<JobSpec>, arrival: Time, known: Vec<(Resources, Distribution)>) -> Job {
        let is_to_do = |at: &u32| spec.phases[*at as usize].tasks_to_do() > 0;
        let parents_left = |phase: &PhaseSpec| phase.barriers().filter(is_to_do).count() as u32;
        let phases = spec.phases.iter().zip(known);
        let mut phases: Vec<Phase> = phases
            .map(|(phase, (demand, durations))| Phase::new(phase, parents_left(phase), demand, durations))
            .collect();
        block_tasks(&spec, &mut phases);
        let unfinished_phases = phases.iter().filter(|phase| !phase.is_finished()).count() as u32;
        let runnable = phases.iter().filter(|phase| phase.is_open()).map(|phase| phase.pending).sum();
        let is_open = |at: &u32| phases[*at as usize].is_open() && !phases[*at as usize].is_finished();
        let open = (0..phases.len() as u32).filter(is_open).collect();
        Job {
            id,
            arrival,
            started: None,
            finished: None,
            abandoned: None,
            unfinished_phases,
            runnable,
            copies: 0,
            in_use: Resources::NONE,
            open,
            attempts: 0,
            copies_won: 0,
            relaunches: 0,
            phases,
            spec,
        }
    }

    /// Returns the id of the job.
    #[inline]
    pub fn id(&self) -> JobId {
        self.id
    }

    /// Returns the specification with which the job arrived.
    #[inline]
    pub fn spec(&self) -> &Arc<JobSpec> {
        &self.spec
    }

    /// Returns the phases of the job, in the order of the specification.
    #[inline]
    pub fn phases(&self) -> &[Phase] {
        &self.phases
    }

    /// Returns the phases whose parents have finished and that have not, in the order of the specification.
    pub fn open_phases(&self) -> impl Iterator<Item = &Phase> {
        self.open.iter().map(|at| &self.phases[*at as usize])
    }

    /// Returns the time at which the job arrived.
    pub fn arrival(&self) -> Time {
        self.arrival
    }

    /// Returns the time at which the job's first copy was started; `None` if no copy was started yet.
    #[inline]
    pub fn started(&self) -> Option<Time> {
        self.started
    }

    /// Returns the time at which the job's last task finished; `None` if the job is unfinished or abandoned.
    #[inline]
    pub fn finished(&self) -> Option<Time> {
        self.finished
    }

    /// Returns the time at which the job was abandoned ([`Decision::Abandon`](crate::record::Decision::Abandon)); `None`
    /// if it was not.
    #[inline]
    pub fn abandoned(&self) -> Option<Time> {
        self.abandoned
    }

    /// Returns true once the job is finished or abandoned. No attempt of it starts any more, but attempts that are being
    /// stopped or were kept may still run.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.finished.is_some() || self.abandoned.is_some()
    }

    /// Returns the absolute time of the job's deadline; `None` if the job has none.
    pub fn deadline(&self) -> Option<Time> {
        self.spec.deadline.map(|after| self.arrival + after)
    }

    /// Returns the number of pending tasks in open phases. These are the tasks that can start now.
    #[inline]
    pub fn runnable(&self) -> u32 {
        self.runnable
    }

    /// Returns the number of the job's copies that are starting, running or stopping.
    #[inline]
    pub fn running_copies(&self) -> u32 {
        self.copies
    }

    /// Returns the number of unfinished tasks with a running copy.
    pub fn running_tasks(&self) -> u32 {
        self.phases.iter().map(Phase::running_tasks).sum()
    }

    /// Returns the number of attempts started so far.
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Returns the number of tasks whose winner is not the first copy. A winner does not count if it started because all
    /// earlier copies had failed or lost their nodes.
    pub fn copies_won(&self) -> u32 {
        self.copies_won
    }

    /// Returns the number of tasks in all phases, including tasks that were finished before the job arrived.
    pub fn task_count(&self) -> u64 {
        self.phases.iter().map(|phase| phase.tasks.len() as u64).sum()
    }

    /// Returns the number of tasks in all phases that were unfinished when the job arrived.
    pub fn tasks_to_do(&self) -> u64 {
        self.phases.iter().map(|phase| u64::from(phase.to_do)).sum()
    }

    /// Returns the number of copies started so far, not counting the first copy of each task and copies that started
    /// because all earlier ones had failed or lost their nodes.
    pub fn extra_copies(&self) -> u64 {
        let tasks = self.phases.iter().flat_map(|phase| &phase.tasks);
        let later: u64 = tasks.map(|task| u64::from(task.launched.saturating_sub(1))).sum();
        later - u64::from(self.relaunches)
    }

    /// Returns the work of all pending and blocked tasks: their number × mean duration, seconds on a node of speed 1.
    pub fn pending_workload(&self) -> f64 {
        self.phases.iter().map(|phase| f64::from(phase.to_start()) * phase.mean).sum()
    }

    /// Returns the sum of the demands of the job's starting, running and stopping copies.
    pub fn in_use(&self) -> Resources {
        self.in_use
    }

    /// Returns the longest path through unfinished phases, in seconds. `time(phase)` is the time until the last task of
    /// a phase has finished, in seconds.
    pub fn longest_remaining_path(&self, time: impl Fn(&Phase) -> f64) -> f64 {
        longest_path(&self.spec, |at| Some(&self.phases[at]).filter(|phase| !phase.is_finished()).map(&time))
    }

    /// Returns the longest path through all phases at their mean durations, in seconds. Phases that were finished
    /// before the job arrived take no time.
    pub fn longest_mean_path(&self) -> f64 {
        longest_path(&self.spec, |at| Some(&self.phases[at]).filter(|phase| phase.to_do > 0).map(|phase| phase.mean))
    }

    /// Returns the next task that can start: a pending task of the first open phase for which `allowed(phase index)`
    /// holds. A task to be retried, because it lost all its copies, counts only if `again(task)` holds. `None` if there
    /// is no such task.
    pub fn next_runnable(&self, allowed: impl Fn(u32) -> bool, again: impl Fn(TaskId) -> bool) -> Option<TaskId> {
        if self.runnable == 0 {
            return None;
        }
        self.open.iter().find_map(|at| {
            let (at, phase) = (*at, &self.phases[*at as usize]);
            if !allowed(at) {
                return None;
            }
            let task = |index| TaskId { job: self.id, phase: at, index };
            phase.next_pending(|index| again(task(index))).map(task)
        })
    }
}

/// Returns the longest path through a job's phases. `time(index)` is the time that a phase takes. A phase for which it
/// is `None` takes no time, and its children do not wait for it. Parents that do not exist are ignored.
pub fn longest_path(spec: &JobSpec, time: impl Fn(usize) -> Option<f64>) -> f64 {
    if spec.phases.len() == 1 {
        return time(0).unwrap_or(0.0);
    }
    let mut ends = vec![0.0f64; spec.phases.len()];
    for (at, phase) in spec.phases.iter().enumerate() {
        let Some(time) = time(at) else { continue };
        let begins = phase.after.iter().filter_map(|parent| ends.get(*parent as usize).copied()).fold(0.0, f64::max);
        ends[at] = begins + time;
    }
    ends.into_iter().fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::super::{Cluster, RecordError};
    use super::*;
    use crate::ids::{AttemptId, NodeId};
    use crate::record::{Decision, Event};
    use crate::testing::machines;
    use crate::workload::InputSpec;

    /// Phases as (number of tasks, parents, tasks finished before the job arrived).
    type Phases<'a> = &'a [(u32, &'a [u32], &'a [u32])];

    fn spec(phases: Phases<'_>) -> JobSpec {
        let phase = |(at, (tasks, after, finished)): (usize, &(u32, &[u32], &[u32]))| PhaseSpec {
            after: after.to_vec(),
            finished: finished.to_vec(),
            ..PhaseSpec::new(format!("p{at}"), *tasks, 1.0)
        };
        let phases = phases.iter().enumerate().map(phase).collect();
        JobSpec::new("j", phases)
    }

    fn arrived(spec: JobSpec) -> Result<Cluster, RecordError> {
        let mut cluster = machines(4);
        cluster.apply_event(Time::ZERO, &Event::JobArrived { job: JobId(0), spec: spec.into() })?;
        Ok(cluster)
    }

    fn with_phases(phases: Phases<'_>) -> Cluster {
        arrived(spec(phases)).unwrap()
    }

    fn job(cluster: &Cluster) -> &Job {
        cluster.job(JobId(0)).unwrap()
    }

    fn open(cluster: &Cluster) -> Vec<bool> {
        job(cluster).phases().iter().map(Phase::is_open).collect()
    }

    /// Runs the next task and returns its phase and index.
    fn run_next(cluster: &mut Cluster) -> Option<(u32, u32)> {
        let task = job(cluster).next_runnable(|_| true, |_| true)?;
        let attempt = cluster.next_copy(task).unwrap();
        let start = Decision::Start { attempt, node: NodeId(0), from_progress: 0.0 };
        cluster.apply_decision(Time::ZERO, &start).unwrap();
        cluster.apply_event(Time::ZERO, &Event::AttemptFinished { attempt }).unwrap();
        Some((task.phase, task.index))
    }

    #[test]
    fn finished_tasks_are_neither_pending_nor_run() {
        let mut cluster = with_phases(&[(5, &[], &[0, 2, 3]), (2, &[0], &[1])]);
        let found = job(&cluster);
        assert_eq!((found.runnable(), found.task_count(), found.tasks_to_do()), (2, 7, 3));
        assert_eq!(cluster.runnable(), 2);
        assert_eq!((found.running_tasks(), found.pending_workload()), (0, 3.0));
        let first = &found.phases()[0];
        assert_eq!((first.pending(), first.unfinished(), first.to_do()), (2, 2, 2));
        assert!(!first.is_finished() && open(&cluster) == [true, false]);
        let mut ran = Vec::new();
        while let Some(task) = run_next(&mut cluster) {
            ran.push(task);
        }
        assert_eq!(ran, [(0, 1), (0, 4), (1, 0)]);
        let found = job(&cluster);
        assert!(found.finished().is_some());
        assert_eq!((found.attempts(), found.extra_copies(), found.runnable()), (3, 0, 0));
        assert_eq!(cluster.runnable(), 0);
    }

    #[test]
    fn children_of_finished_phases_are_open() {
        // The phases are a chain 0 → 1 → 2 → 3 → 4. Phases 0 to 2 were finished before the job arrived.
        let cluster =
            with_phases(&[(1, &[], &[0]), (2, &[0], &[0, 1]), (1, &[1], &[0]), (1, &[2], &[]), (1, &[2, 3], &[])]);
        assert_eq!(open(&cluster), [true, true, true, true, false]);
        assert_eq!(job(&cluster).runnable(), 1);
        assert_eq!(job(&cluster).longest_mean_path(), 2.0);
    }

    #[test]
    fn a_finished_phase_may_have_an_unfinished_parent() {
        // The phases are a chain 0 → 1 → 2. Only phase 1 was finished before the job arrived.
        let mut cluster = with_phases(&[(1, &[], &[]), (1, &[0], &[0]), (1, &[1], &[])]);
        assert_eq!(open(&cluster), [true, false, true]);
        assert_eq!(job(&cluster).runnable(), 2);
        assert_eq!(job(&cluster).longest_mean_path(), 1.0);
        assert_eq!([run_next(&mut cluster), run_next(&mut cluster)], [Some((0, 0)), Some((2, 0))]);
        assert!(job(&cluster).finished().is_some());
    }

    #[test]
    fn finished_tasks_of_a_waiting_phase_stay_finished() {
        let mut cluster = with_phases(&[(1, &[], &[]), (3, &[0, 0], &[1])]);
        assert_eq!(job(&cluster).runnable(), 1);
        run_next(&mut cluster);
        assert_eq!((job(&cluster).runnable(), cluster.runnable()), (2, 2));
        assert_eq!([run_next(&mut cluster), run_next(&mut cluster)], [Some((1, 0)), Some((1, 2))]);
    }

    #[test]
    fn a_finished_task_cannot_be_started() {
        let mut cluster = with_phases(&[(2, &[], &[1])]);
        let attempt = AttemptId { task: TaskId { job: JobId(0), phase: 0, index: 1 }, copy: 0 };
        let start = Decision::Start { attempt, node: NodeId(0), from_progress: 0.0 };
        let refused = cluster.apply_decision(Time::ZERO, &start);
        assert!(matches!(refused, Err(RecordError::CannotStart { .. })), "{refused:?}");
        let finished = cluster.apply_event(Time::ZERO, &Event::AttemptFinished { attempt });
        assert!(matches!(finished, Err(RecordError::Unknown(_))), "{finished:?}");
    }

    #[test]
    fn no_node_takes_a_finished_task() {
        let mut read = spec(&[(3, &[], &[0])]);
        let replicas = vec![vec![NodeId(1)], vec![NodeId(2)], vec![NodeId(1)]];
        read.phases[0].input = Some(InputSpec { bytes: vec![1; 3], replicas });
        let cluster = arrived(read).unwrap();
        let nearest = |node| cluster.pending_task_for(JobId(0), 0, NodeId(node)).map(|task| task.index);
        assert_eq!([nearest(1), nearest(2)], [Some(2), Some(1)]);
    }

    #[test]
    fn bad_finished_indices_are_refused() {
        for (tasks, finished, reason) in [
            (2, &[2][..], "has no task 2"),
            (3, &[1, 0], "ascending"),
            (3, &[1, 1], "ascending"),
            (2, &[9, 0], "ascending"),
            (2, &[0, 1], "all of its tasks have finished"),
        ] {
            let error = arrived(spec(&[(tasks, &[], finished)])).unwrap_err();
            assert!(matches!(error, RecordError::BadJob { .. }), "{error:?}");
            assert!(error.to_string().contains(reason), "{error}");
        }
    }

    #[test]
    fn a_spec_without_finished_tasks_has_no_finished_key() {
        let text = serde_json::to_string(&spec(&[(2, &[], &[])])).unwrap();
        assert!(!text.contains("finished"), "{text}");
        let some = spec(&[(2, &[], &[1])]);
        let text = serde_json::to_string(&some).unwrap();
        assert!(text.contains("\"finished\":[1]"), "{text}");
        assert_eq!(serde_json::from_str::<JobSpec>(&text).unwrap(), some);
    }
}
