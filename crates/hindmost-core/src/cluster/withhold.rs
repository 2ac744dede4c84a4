//! Withholds tasks and gives tasks up: what a live run does with tasks that have failed.
//!
//! A withheld task is unfinished, but no attempt of it starts until it returns: its next try waits for a time, or it has
//! failed permanently while the rest of its job goes on. Blocked tasks are not withheld: they wait for other tasks anyway. A task that is given up counts as finished without a result, so that
//! its phase and job can finish. To policies it looks like a task of an abandoned job.

use crate::ids::TaskId;

use super::apply::{Applied, RecordError};
use super::edges::unblock_children;
use super::end::finish_phase;
use super::task::Task;
use super::{Cluster, Phase};

impl Cluster {
    /// Withholds a pending task.
    pub(super) fn withhold(&mut self, id: TaskId) -> Result<Applied, RecordError> {
        let task = self.task(id).ok_or_else(|| RecordError::Unknown(id.to_string()))?;
        if !task.is_pending() {
            return Err(RecordError::CannotWithhold { task: id, reason: why_not_pending(task) });
        }
        self.take_from_pending(id);
        if let Some(job) = self.job_mut(id.job) {
            let phase = &mut job.phases[id.phase as usize];
            phase.withheld += 1;
            phase.tasks[id.index as usize].withheld = true;
        }
        Ok(Applied { reservation_ended_on: self.end_reservation_for(id), ..Applied::default() })
    }

    /// Lets no other attempt of a task start while attempts of it run. `may_restart` says whether an attempt may be stopped instead.
    pub(super) fn end_copying(&mut self, id: TaskId, may_restart: bool) -> Result<Applied, RecordError> {
        self.task(id).ok_or_else(|| RecordError::Unknown(id.to_string()))?;
        let reservation_ended_on = self.end_reservation_for(id);
        if let Some(job) = self.job_mut(id.job) {
            let task = &mut job.phases[id.phase as usize].tasks[id.index as usize];
            task.no_more_copies = true;
            task.may_restart |= may_restart;
        }
        Ok(Applied { reservation_ended_on, ..Applied::default() })
    }

    /// Makes a withheld task pending again.
    pub(super) fn return_task(&mut self, id: TaskId) -> Result<Applied, RecordError> {
        let task = self.task(id).ok_or_else(|| RecordError::Unknown(id.to_string()))?;
        if !task.withheld {
            return Err(RecordError::CannotWithhold { task: id, reason: "it is not withheld, so it can't return" });
        }
        let Some(job) = self.job_mut(id.job) else { return Ok(Applied::default()) };
        let phase = &mut job.phases[id.phase as usize];
        phase.tasks[id.index as usize].withheld = false;
        phase.withheld -= 1;
        phase.add_pending(id.index);
        if phase.is_open() {
            job.runnable += 1;
            self.runnable += 1;
        }
        Ok(Applied { pending_again: true, ..Applied::default() })
    }

    /// Gives up a task without running copies: it counts as finished and has no result.
    pub(super) fn give_up(&mut self, id: TaskId) -> Result<Applied, RecordError> {
        let task = self.task(id).ok_or_else(|| RecordError::Unknown(id.to_string()))?;
        let (withheld, blocked) = (task.withheld, task.blocked);
        if !task.is_pending() && !withheld && !blocked {
            return Err(RecordError::CannotWithhold { task: id, reason: why_not_pending(task) });
        }
        if !withheld && !blocked {
            self.take_from_pending(id);
        }
        let reservation_ended_on = self.end_reservation_for(id);
        let mut applied = Applied { reservation_ended_on, ..Applied::default() };
        self.failed_on.remove(&id);
        let now = self.now;
        let Some(job) = self.job_mut(id.job) else { return Ok(applied) };
        let before = u64::from(job.runnable);
        let phase = &mut job.phases[id.phase as usize];
        let task = &mut phase.tasks[id.index as usize];
        (task.finished, task.abandoned, task.withheld, task.blocked) = (true, true, false, false);
        phase.withheld -= u32::from(withheld);
        phase.blocked -= u32::from(blocked);
        phase.unfinished -= 1;
        phase.abandoned += 1;
        applied.unblocked = unblock_children(job, id);
        if job.phases[id.phase as usize].unfinished == 0 {
            applied.phase_finished = true;
            finish_phase(job, id.phase, now, &mut applied);
        }
        let after = u64::from(job.runnable);
        self.runnable = self.runnable + after - before;
        Ok(applied)
    }

    /// Removes a pending task from the tasks that can start.
    fn take_from_pending(&mut self, id: TaskId) {
        let Some(job) = self.job_mut(id.job) else { return };
        let phase = &mut job.phases[id.phase as usize];
        phase.pending -= 1;
        let task = &mut phase.tasks[id.index as usize];
        if std::mem::take(&mut task.retrying) {
            phase.retry.retain(|index| *index != id.index);
        } else if let Some(edges) = &mut phase.edges {
            edges.started(id.index);
        }
        if phase.is_open() {
            job.runnable -= 1;
            self.runnable -= 1;
        }
    }
}

impl Phase {
    /// Counts a task as pending that has lost its last copy or is no longer withheld.
    pub(super) fn add_pending(&mut self, index: u32) {
        self.pending += 1;
        if index < self.next {
            self.tasks[index as usize].retrying = true;
            self.retry.push(index);
        }
    }
}

fn why_not_pending(task: &Task) -> &'static str {
    match (task.withheld, task.finished) {
        (true, _) => "it is withheld already",
        (false, true) => "it has finished",
        (false, false) if task.blocked => "it waits for other tasks",
        (false, false) => "copies of it run",
    }
}

#[cfg(test)]
mod tests {
    use super::super::Job;
    use super::*;
    use crate::ids::{AttemptId, JobId, NodeId};
    use crate::record::{Decision, Event};
    use crate::testing::machines;
    use crate::time::Time;
    use crate::workload::{JobSpec, PhaseSpec};

    const JOB: JobId = JobId(0);

    fn phase(name: &str, tasks: u32, after: &[u32]) -> PhaseSpec {
        PhaseSpec { after: after.to_vec(), ..PhaseSpec::new(name, tasks, 1.0) }
    }

    /// A node of one slot, and a job with a phase of three tasks and one that waits for it.
    fn cluster() -> Cluster {
        let mut cluster = machines(1);
        let phases = vec![phase("first", 3, &[]), phase("second", 1, &[0])];
        let spec = JobSpec::new("j", phases);
        cluster.apply_event(Time::ZERO, &Event::JobArrived { job: JOB, spec: spec.into() }).unwrap();
        cluster
    }

    fn task(index: u32) -> TaskId {
        TaskId { job: JOB, phase: 0, index }
    }

    fn happen(cluster: &mut Cluster, event: &Event) -> Applied {
        cluster.apply_event(Time::ZERO, event).unwrap()
    }

    fn next(cluster: &Cluster) -> Option<(u32, u32)> {
        let task = cluster.job(JOB)?.next_runnable(|_| true, |_| true)?;
        Some((task.phase, task.index))
    }

    fn start(cluster: &mut Cluster, task: TaskId) -> AttemptId {
        let attempt = cluster.next_copy(task).unwrap();
        let start = Decision::Start { attempt, node: NodeId(0), from_progress: 0.0 };
        cluster.apply_decision(Time::ZERO, &start).unwrap();
        attempt
    }

    fn fail(cluster: &mut Cluster, task: TaskId) {
        let attempt = start(cluster, task);
        let failed = Event::AttemptFailed { attempt, reason: Some("exit code 1".into()), external: None };
        assert!(happen(cluster, &failed).pending_again);
    }

    fn counts(cluster: &Cluster) -> (u32, u32, u32, u32) {
        let job = cluster.job(JOB).unwrap();
        let phase = &job.phases()[0];
        assert_eq!(u64::from(job.runnable()), cluster.runnable());
        (phase.pending(), phase.withheld(), phase.unfinished(), job.runnable())
    }

    #[test]
    fn a_withheld_task_starts_only_after_its_return() {
        let mut cluster = cluster();
        fail(&mut cluster, task(0));
        happen(&mut cluster, &Event::TaskWithheld { task: task(0), until: Some(Time(5)), may_run: None });
        assert_eq!((counts(&cluster), next(&cluster)), ((2, 1, 3, 2), Some((0, 1))));
        assert_eq!(cluster.job(JOB).map(Job::running_tasks), Some(0));
        let again = cluster.apply_event(Time::ZERO, &Event::TaskWithheld { task: task(0), until: None, may_run: None });
        assert!(matches!(again, Err(RecordError::CannotWithhold { .. })), "{again:?}");
        let attempt = cluster.next_copy(task(0)).unwrap();
        let start = Decision::Start { attempt, node: NodeId(0), from_progress: 0.0 };
        let refused = cluster.apply_decision(Time::ZERO, &start);
        assert!(matches!(refused, Err(RecordError::CannotStart { .. })), "{refused:?}");
        // A task that has not started yet can be withheld too, and returns behind `next`.
        happen(&mut cluster, &Event::TaskWithheld { task: task(1), until: None, may_run: None });
        assert_eq!(next(&cluster), Some((0, 2)));
        let attempt = self::start(&mut cluster, task(2));
        happen(&mut cluster, &Event::AttemptFinished { attempt });
        assert_eq!((counts(&cluster), next(&cluster)), ((0, 2, 2, 0), None));
        for index in [1, 0] {
            assert!(happen(&mut cluster, &Event::TaskReturned { task: task(index) }).pending_again);
            assert_eq!(next(&cluster), Some((0, index)));
        }
        assert_eq!(counts(&cluster), (2, 0, 2, 2));
        for index in [0, 1] {
            let attempt = self::start(&mut cluster, task(index));
            happen(&mut cluster, &Event::AttemptFinished { attempt });
        }
        assert_eq!(next(&cluster), Some((1, 0)));
    }

    #[test]
    fn the_last_copies_of_a_task_stay_alone() {
        let mut cluster = cluster();
        let first = start(&mut cluster, task(0));
        happen(&mut cluster, &Event::NoMoreCopies { task: task(0), may_restart: false });
        let second = Decision::Start { attempt: AttemptId { copy: 1, ..first }, node: NodeId(0), from_progress: 0.0 };
        let refused = cluster.apply_decision(Time::ZERO, &second);
        assert!(matches!(refused, Err(RecordError::CannotStart { .. })), "{refused:?}");
        let attempt = cluster.attempt(first).unwrap();
        assert!(!cluster.is_only_copy(attempt) && cluster.task(task(0)).unwrap().has_last_copies());
        // Once it has ended, the task may start again, and get copies again.
        happen(&mut cluster, &Event::AttemptFailed { attempt: first, reason: Some("late".into()), external: None });
        assert!(!cluster.task(task(0)).unwrap().has_last_copies());
        start(&mut cluster, task(0));
        assert!(!cluster.task(task(0)).unwrap().has_last_copies());
    }

    #[test]
    fn a_phase_finishes_without_the_tasks_that_were_given_up() {
        let mut cluster = cluster();
        fail(&mut cluster, task(0));
        assert!(!happen(&mut cluster, &Event::TaskGivenUp { task: task(0) }).phase_finished);
        assert_eq!(counts(&cluster), (2, 0, 2, 2));
        fail(&mut cluster, task(2));
        happen(&mut cluster, &Event::TaskWithheld { task: task(2), until: None, may_run: None });
        let attempt = start(&mut cluster, task(1));
        assert!(!happen(&mut cluster, &Event::AttemptFinished { attempt }).phase_finished);
        assert_eq!(next(&cluster), None);
        let applied = happen(&mut cluster, &Event::TaskGivenUp { task: task(2) });
        assert!(applied.phase_finished && !applied.job_finished);
        assert_eq!((counts(&cluster), next(&cluster)), ((0, 0, 0, 1), Some((1, 0))));
        assert_eq!(cluster.job(JOB).unwrap().phases()[0].abandoned(), 2);
        let last = TaskId { phase: 1, ..task(0) };
        let running = start(&mut cluster, last);
        let refused = cluster.apply_event(Time::ZERO, &Event::TaskGivenUp { task: last });
        assert!(matches!(refused, Err(RecordError::CannotWithhold { .. })), "{refused:?}");
        let failed = Event::AttemptFailed { attempt: running, reason: Some("exit code 1".into()), external: None };
        happen(&mut cluster, &failed);
        let applied = happen(&mut cluster, &Event::TaskGivenUp { task: last });
        assert!(applied.job_finished && cluster.job(JOB).unwrap().finished().is_some());
        assert!(cluster.retire(JOB).is_some());
    }
}
