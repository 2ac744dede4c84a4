//! Abandons jobs: a job that a policy gives up gets no further attempts.
//!
//! An abandoned job looks to policies like a finished job with losing copies that still run: it has no pending or unfinished tasks,
//! and it leaves the cluster when its last attempt has ended. The difference is in [`Job::abandoned`](super::Job::abandoned), and
//! [`Phase::abandoned`] counts the tasks that get no result.

use crate::ids::{JobId, TaskId};

use super::apply::{Applied, RecordError};

use super::{Cluster, Phase};

impl Cluster {
    pub(super) fn abandon(&mut self, id: JobId) -> Result<Applied, RecordError> {
        let refuse = |reason| Err(RecordError::CannotAbandon { job: id, reason });
        let arrived = self.arrived_jobs();
        let now = self.now;
        let Some(job) = self.job_mut(id) else {
            let has_left = id.0 < arrived;
            return if has_left {
                refuse("it has left the cluster")
            } else {
                Err(RecordError::Unknown(id.to_string()))
            };
        };
        if job.finished.is_some() {
            return refuse("it has finished");
        }
        if job.abandoned.is_some() {
            return refuse("it was abandoned before");
        }
        job.abandoned = Some(now);
        let runnable = u64::from(std::mem::take(&mut job.runnable));
        job.phases.iter_mut().for_each(Phase::abandon);
        self.runnable -= runnable;
        if !self.failed_on.is_empty() {
            self.failed_on.retain(|task: &TaskId, _| task.job != id);
        }
        self.end_reservations_of(id);
        Ok(Applied::default())
    }
}

impl Phase {
    /// Marks the unfinished tasks as abandoned.
    fn abandon(&mut self) {
        for task in self.tasks.iter_mut().filter(|task| !task.finished) {
            (task.finished, task.abandoned, task.retrying) = (true, true, false);
            (task.withheld, task.blocked) = (false, false);
        }
        self.abandoned += self.unfinished;
        (self.pending, self.unfinished, self.withheld, self.blocked) = (0, 0, 0, 0);
        self.next = self.tasks.len() as u32;
        self.retry.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::super::{AttemptState, Cluster, Job, RecordError, Task};
    use super::*;
    use crate::ids::{AttemptId, NodeId};
    use crate::record::{Decision, Event};
    use crate::resources::Resources;
    use crate::testing::machines;
    use crate::time::Time;
    use crate::workload::{JobSpec, PhaseSpec};

    const JOB: JobId = JobId(0);

    fn phase(name: &str, tasks: u32, after: &[u32]) -> PhaseSpec {
        PhaseSpec { after: after.to_vec(), ..PhaseSpec::new(name, tasks, 1.0) }
    }

    /// Four nodes of one slot, and a job with a phase of three tasks and one that waits for it.
    fn cluster() -> Cluster {
        let mut cluster = machines(4);
        let phases = vec![phase("first", 3, &[]), phase("second", 2, &[0])];
        let spec = JobSpec { deadline: Some(Time(7)), ..JobSpec::new("j", phases) };
        cluster.apply_event(Time(2), &Event::JobArrived { job: JOB, spec: spec.into() }).unwrap();
        cluster
    }

    fn task(index: u32) -> TaskId {
        TaskId { job: JOB, phase: 0, index }
    }

    fn attempt(index: u32, copy: u32) -> AttemptId {
        AttemptId { task: task(index), copy }
    }

    fn decide(cluster: &mut Cluster, at: u64, decision: &Decision) -> Result<Applied, RecordError> {
        cluster.apply_decision(Time(at), decision)
    }

    fn start(cluster: &mut Cluster, at: u64, attempt: AttemptId, node: u32) -> Result<Applied, RecordError> {
        decide(cluster, at, &Decision::Start { attempt, node: NodeId(node), from_progress: 0.0 })
    }

    fn abandon(cluster: &mut Cluster, at: u64, job: JobId) -> Result<Applied, RecordError> {
        decide(cluster, at, &Decision::Abandon { job })
    }

    fn reserve(cluster: &mut Cluster, at: u64, index: u32, node: u32) -> Result<Applied, RecordError> {
        let (resources, task) = (Box::new(Resources::ONE_SLOT), Some(Box::new(task(index))));
        decide(cluster, at, &Decision::Reserve { node: NodeId(node), resources, until: Time(99), task })
    }

    #[test]
    fn an_abandoned_job_has_nothing_to_start() {
        let mut cluster = cluster();
        assert_eq!(cluster.job(JOB).and_then(Job::deadline), Some(Time(9)));
        start(&mut cluster, 3, attempt(0, 0), 0).unwrap();
        start(&mut cluster, 3, attempt(1, 0), 1).unwrap();
        cluster.apply_event(Time(4), &Event::AttemptFinished { attempt: attempt(0, 0) }).unwrap();
        reserve(&mut cluster, 4, 2, 3).unwrap();
        assert_eq!((cluster.runnable(), cluster.open_nodes()), (1, 2));
        abandon(&mut cluster, 5, JOB).unwrap();
        // The reserved slot is free again; only task 1 still holds one.
        assert_eq!((cluster.runnable(), cluster.open_nodes()), (0, 3));
        assert!(cluster.reservation(task(2)).is_none());
        let job = cluster.job(JOB).unwrap();
        assert!(job.is_over());
        assert_eq!(
            (job.abandoned(), job.finished(), job.runnable(), job.running_copies()),
            (Some(Time(5)), None, 0, 1)
        );
        assert_eq!(job.next_runnable(|_| true, |_| true), None);
        let counts: Vec<_> =
            job.phases().iter().map(|phase| (phase.pending(), phase.unfinished(), phase.abandoned())).collect();
        assert_eq!(counts, [(0, 0, 2), (0, 0, 2)]);
        let abandoned: Vec<bool> = job.phases()[0].tasks().iter().map(Task::is_abandoned).collect();
        assert_eq!(abandoned, [false, true, true]);
        assert!(cluster.copies(task(1)).all(|copy| !cluster.is_only_copy(copy)));
        for (refused, node) in [(attempt(2, 0), 2), (attempt(1, 1), 2)] {
            let error = start(&mut cluster, 6, refused, node).unwrap_err();
            assert_eq!(error, RecordError::CannotStart { attempt: refused, reason: "its job is abandoned" });
        }
        let replace = Decision::Replace { attempt: attempt(1, 0), from_progress: 0.0 };
        assert!(matches!(decide(&mut cluster, 6, &replace), Err(RecordError::CannotStart { .. })));
        assert!(matches!(reserve(&mut cluster, 6, 2, 2), Err(RecordError::CannotReserveFor { .. })));
    }

    #[test]
    fn a_job_leaves_after_the_last_attempt() {
        let mut cluster = cluster();
        start(&mut cluster, 3, attempt(0, 0), 0).unwrap();
        start(&mut cluster, 3, attempt(1, 0), 1).unwrap();
        abandon(&mut cluster, 5, JOB).unwrap();
        for index in [0, 1] {
            let stop = Decision::Stop { attempt: attempt(index, 0), reason: crate::record::StopReason::Abandoned };
            decide(&mut cluster, 5, &stop).unwrap();
            assert_eq!(
                cluster.attempt(attempt(index, 0)).map(super::super::attempt::Attempt::state),
                Some(AttemptState::Stopping)
            );
        }
        // An attempt that finishes all the same wins nothing and makes no task pending.
        let applied = cluster.apply_event(Time(6), &Event::AttemptFinished { attempt: attempt(0, 0) }).unwrap();
        assert!(!applied.won && !applied.phase_finished && !applied.pending_again);
        assert!(cluster.retire(JOB).is_none());
        let failed = Event::AttemptFailed { attempt: attempt(1, 0), reason: Some("late".into()), external: None };
        let applied = cluster.apply_event(Time(7), &failed).unwrap();
        assert!(!applied.pending_again);
        assert_eq!((cluster.open_nodes(), cluster.runnable()), (4, 0));
        // Two attempts held a slot, for 3 and 4 ticks, and neither won.
        let job = cluster.retire(JOB).unwrap();
        assert_eq!(job.phases()[0].held(), (Time::ZERO, Time(7)));
        assert_eq!(cluster.active_jobs(), 0);
    }

    #[test]
    fn only_an_unfinished_job_can_be_abandoned() {
        let mut cluster = cluster();
        assert!(matches!(abandon(&mut cluster, 3, JobId(1)), Err(RecordError::Unknown(_))));
        abandon(&mut cluster, 3, JOB).unwrap();
        let again = abandon(&mut cluster, 3, JOB).unwrap_err();
        assert_eq!(again, RecordError::CannotAbandon { job: JOB, reason: "it was abandoned before" });
        assert!(cluster.retire(JOB).is_some());
        let left = abandon(&mut cluster, 3, JOB).unwrap_err();
        assert_eq!(left, RecordError::CannotAbandon { job: JOB, reason: "it has left the cluster" });
        let spec = JobSpec::new("k", vec![phase("only", 1, &[])]);
        cluster.apply_event(Time(4), &Event::JobArrived { job: JobId(1), spec: spec.into() }).unwrap();
        let task = TaskId { job: JobId(1), phase: 0, index: 0 };
        for copy in [0, 1] {
            start(&mut cluster, 4, AttemptId { task, copy }, copy).unwrap();
        }
        cluster.apply_event(Time(5), &Event::AttemptFinished { attempt: AttemptId { task, copy: 0 } }).unwrap();
        let finished = abandon(&mut cluster, 5, JobId(1)).unwrap_err();
        assert_eq!(finished, RecordError::CannotAbandon { job: JobId(1), reason: "it has finished" });
    }

    #[test]
    fn only_phases_that_resume_start_from_progress() {
        for (never_resumed, known) in [(false, 0.25), (true, 0.0)] {
            let mut cluster = cluster();
            let phases = vec![PhaseSpec { never_resumed, ..phase("only", 1, &[]) }];
            let spec = JobSpec::new("k", phases);
            cluster.apply_event(Time(3), &Event::JobArrived { job: JobId(1), spec: spec.into() }).unwrap();
            let task = TaskId { job: JobId(1), phase: 0, index: 0 };
            assert_eq!(cluster.phase(task).map(Phase::resumes), Some(!never_resumed));
            let first = AttemptId { task, copy: 0 };
            let from = |from_progress| Decision::Start { attempt: first, node: NodeId(0), from_progress };
            for wrong in [-0.1, 1.0, f64::NAN] {
                assert!(
                    matches!(decide(&mut cluster, 3, &from(wrong)), Err(RecordError::CannotStart { .. })),
                    "{wrong}"
                );
            }
            decide(&mut cluster, 3, &from(0.25)).unwrap();
            assert_eq!(cluster.attempt(first).map(super::super::attempt::Attempt::from_progress), Some(known));
            decide(&mut cluster, 4, &Decision::Replace { attempt: first, from_progress: 0.25 }).unwrap();
            let second = AttemptId { task, copy: 1 };
            assert_eq!(cluster.attempt(second).map(super::super::attempt::Attempt::from_progress), Some(known));
        }
    }
}
