//! Starts attempts, on free resources or in place of an attempt that they replace, and marks attempts as stopping.

use crate::ids::{AttemptId, NodeId, TaskId};
use crate::resources::Resources;
use crate::time::Time;

use super::apply::{Applied, RecordError};
use super::attempt::{Attempt, AttemptState, FinishIs};
use super::task::NO_ATTEMPT;
use super::{Cluster, job_at};

impl Cluster {
    /// Returns the id that the next copy of a task will have; `None` if no active job has this task.
    pub fn next_copy(&self, task: TaskId) -> Option<AttemptId> {
        self.task(task).map(|found| AttemptId { task, copy: found.launched })
    }

    pub(super) fn start(&mut self, id: AttemptId, node_id: NodeId, from_progress: f64) -> Result<(), RecordError> {
        let refuse = |reason| RecordError::CannotStart { attempt: id, reason };
        let node = self.nodes.get(node_id.0 as usize).ok_or_else(|| RecordError::Unknown(node_id.to_string()))?;
        if !node.up {
            return Err(refuse("its node is lost"));
        }
        let demand = self.check_start(id, from_progress)?;
        if !demand.fits(&node.free) && !demand.fits(&self.usable(id.task, node_id, node)) {
            return Err(refuse("its node does not have enough free resources"));
        }
        self.take_for_start(id.task, node_id, &demand);
        self.enter(id, node_id, from_progress, NO_ATTEMPT);
        Ok(())
    }

    /// Checks that an attempt can be the next copy of its task, and returns its demand. `from_progress` is the share of
    /// the work that it need not repeat.
    fn check_start(&self, id: AttemptId, from_progress: f64) -> Result<Resources, RecordError> {
        let refuse = |reason| RecordError::CannotStart { attempt: id, reason };
        let phase = self.phase(id.task).ok_or_else(|| RecordError::Unknown(id.task.to_string()))?;
        let task = phase.tasks.get(id.task.index as usize).ok_or_else(|| RecordError::Unknown(id.task.to_string()))?;
        if phase.parents_left > 0 {
            return Err(refuse("its phase waits for other phases"));
        }
        if task.abandoned {
            let is_given_up = self.job(id.task.job).is_some_and(|job| job.abandoned.is_none());
            return Err(refuse(if is_given_up { "its task was given up" } else { "its job is abandoned" }));
        }
        if task.withheld {
            return Err(refuse("its task is withheld"));
        }
        if task.blocked {
            return Err(refuse("its task waits for other tasks"));
        }
        if task.finished {
            return Err(refuse("its task has finished"));
        }
        if id.copy != task.launched {
            return Err(refuse("it is not the next copy of its task"));
        }
        if phase.never_copied && task.copies > 0 {
            return Err(refuse("its task may not have a second copy"));
        }
        if task.has_last_copies() {
            return Err(refuse("its task has used up its retries"));
        }
        if task.copies == u16::MAX {
            return Err(refuse("its task has too many copies"));
        }
        if !(0.0..1.0).contains(&from_progress) {
            return Err(refuse("the share of its work that is already done is not from 0 to below 1"));
        }
        Ok(*self.demand(id.task).unwrap_or(&phase.demand))
    }

    /// Adds an attempt to the running copies of its task and returns the attempt's slot; `None` if no active job has the
    /// task. `replaces` is the number of the copy that it replaces, whose resources it gets later; [`NO_ATTEMPT`] if it
    /// replaces none.
    fn enter(&mut self, id: AttemptId, node: NodeId, from_progress: f64, replaces: u32) -> Option<u32> {
        let now = self.now;
        let demand = *self.demand(id.task)?;
        let job = job_at(&mut self.jobs, self.first_job, id.task.job)?;
        job.started.get_or_insert(now);
        job.attempts += 1;
        job.copies += 1;
        let phase = &mut job.phases[id.task.phase as usize];
        phase.copies += 1;
        job.in_use.add(&demand, self.dimensions.count());
        let task = &mut phase.tasks[id.task.index as usize];
        let was_pending = task.is_pending();
        let is_relaunch = std::mem::take(&mut task.is_broken);
        job.relaunches += u32::from(is_relaunch);
        let slot = self.attempts.insert(Attempt {
            id,
            node,
            state: AttemptState::Starting,
            since: now,
            waited: 0,
            from_progress: if phase.never_resumed { 0.0 } else { from_progress },
            expected_finish: Time::NEVER,
            finish_is: FinishIs::Measured,
            older: task.newest,
            holds_resources: replaces == NO_ATTEMPT,
            is_relaunch,
            replacement: NO_ATTEMPT,
            replaces,
        });
        task.newest = slot;
        task.launched += 1;
        task.copies += 1;
        task.nodes = [node.0, task.nodes[0]];
        if was_pending {
            task.no_more_copies = false;
            phase.pending -= 1;
            job.runnable -= 1;
            if task.retrying {
                task.retrying = false;
                phase.retry.retain(|index| *index != id.task.index);
            } else if let Some(edges) = phase.edges.as_mut().filter(|edges| edges.has_parents()) {
                edges.started(id.task.index);
            } else {
                // Skip tasks that have started. Pending tasks before `phase.next` are in `phase.retry`.
                let begins = phase.next as usize;
                let started = phase.tasks[begins..].iter().take_while(|task| !task.is_pending()).count();
                phase.next += started as u32;
            }
        }
        self.started += 1;
        self.runnable -= u64::from(was_pending);
        self.nodes[node.0 as usize].attempts.add(slot);
        Some(slot)
    }

    pub(super) fn replace(&mut self, id: AttemptId, from_progress: f64) -> Result<Applied, RecordError> {
        let slot = self.slot_of(id)?.ok_or_else(|| RecordError::Unknown(id.to_string()))?;
        let attempt = self.attempts.get(slot);
        let (node, holds_resources, replacement) = (attempt.node, attempt.holds_resources, attempt.replacement);
        let launched = self.task(id.task).map_or(0, |task| task.launched);
        let new = AttemptId { task: id.task, copy: launched };
        if !holds_resources || replacement != NO_ATTEMPT {
            return Err(RecordError::CannotStart { attempt: new, reason: "the attempt is already being replaced" });
        }
        self.check_start(new, from_progress)?;
        let replacement = self.enter(new, node, from_progress, id.copy).unwrap_or(NO_ATTEMPT);
        self.attempts.get_mut(slot).replacement = replacement;
        self.mark_stopping(slot);
        Ok(Applied::default())
    }

    pub(super) fn mark_stopping(&mut self, slot: u32) {
        let attempt = self.attempts.get_mut(slot);
        if attempt.state == AttemptState::Stopping {
            return;
        }
        attempt.state = AttemptState::Stopping;
        let task = attempt.id.task;
        if let Some(task) = self.task_mut(task) {
            task.stopping += 1;
        }
    }
}
