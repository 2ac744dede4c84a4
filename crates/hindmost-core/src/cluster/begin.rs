//! How attempts begin, on a node with room or in the room of one that they replace, and are asked to stop.

use crate::ids::{AttemptId, NodeId, TaskId};
use crate::resources::Resources;
use crate::time::Time;

use super::Cluster;
use super::apply::{Applied, RecordError};
use super::attempt::{Attempt, AttemptState};
use super::task::NO_ATTEMPT;

impl Cluster {
    /// The next copy of a task, as a policy would start it.
    pub fn next_copy(&self, task: TaskId) -> Option<AttemptId> {
        self.task(task).map(|found| AttemptId { task, copy: found.launched })
    }

    pub(super) fn start(&mut self, id: AttemptId, node_id: NodeId, from_progress: f64) -> Result<(), RecordError> {
        let refuse = |reason| RecordError::CannotStart { attempt: id, reason };
        let node = self.nodes.get(node_id.0 as usize).ok_or_else(|| RecordError::Unknown(node_id.to_string()))?;
        if !node.up {
            return Err(refuse("its node is lost"));
        }
        let demand = self.check_start(id)?;
        if !demand.fits(&node.free) {
            if !demand.fits(&node.free.plus(&node.reserved)) {
                return Err(refuse("its node has no room for it"));
            }
            self.use_reservation(node_id, &demand);
        }
        let node = &mut self.nodes[node_id.0 as usize];
        node.free = node.free.minus(&demand);
        self.refresh_open(node_id);
        self.enter(id, node_id, from_progress, true);
        Ok(())
    }

    /// Checks that an attempt could be the next copy of its task, and tells its demand.
    fn check_start(&self, id: AttemptId) -> Result<Resources, RecordError> {
        let refuse = |reason| RecordError::CannotStart { attempt: id, reason };
        let phase = self.phase(id.task).ok_or_else(|| RecordError::Unknown(id.task.to_string()))?;
        let task = phase.tasks.get(id.task.index as usize).ok_or_else(|| RecordError::Unknown(id.task.to_string()))?;
        if phase.parents_left > 0 {
            return Err(refuse("its phase waits for others"));
        }
        if task.finished {
            return Err(refuse("its task has finished"));
        }
        if id.copy != task.launched {
            return Err(refuse("it is not the next copy of its task"));
        }
        if phase.never_copied && task.alive > 0 {
            return Err(refuse("its task may not have a second copy"));
        }
        if task.alive == u16::MAX {
            return Err(refuse("its task has too many copies"));
        }
        Ok(phase.demand)
    }

    /// Makes an attempt a living copy of its task, with or without room of its own; tells its slot.
    fn enter(&mut self, id: AttemptId, node: NodeId, from_progress: f64, holds_room: bool) -> u32 {
        let now = self.now;
        let slot = self.attempts.insert(Attempt {
            id,
            node,
            state: AttemptState::Starting,
            since: now,
            from_progress,
            expected_finish: Time::NEVER,
            is_finish_guessed: false,
            older: NO_ATTEMPT,
            holds_room,
            heir: NO_ATTEMPT,
            replaces: NO_ATTEMPT,
        });
        self.nodes[node.0 as usize].attempts.push(slot);
        let Some(job) = self.job_mut(id.task.job) else { return slot };
        job.started.get_or_insert(now);
        job.attempts += 1;
        job.alive += 1;
        let phase = &mut job.phases[id.task.phase as usize];
        phase.alive += 1;
        let task = &mut phase.tasks[id.task.index as usize];
        let was_pending = task.is_pending();
        let older = std::mem::replace(&mut task.newest, slot);
        task.launched += 1;
        task.alive += 1;
        task.nodes = [node.0, task.nodes[0]];
        if was_pending {
            phase.pending -= 1;
            job.runnable -= 1;
            if task.retrying {
                task.retrying = false;
                phase.retry.retain(|index| *index != id.task.index);
            } else {
                // What comes before the next one and is pending is in the list of those to be tried again.
                let begins = phase.next as usize;
                let started = phase.tasks[begins..].iter().take_while(|task| !task.is_pending()).count();
                phase.next += started as u32;
            }
        }
        self.runnable -= u64::from(was_pending);
        self.attempts.get_mut(slot).older = older;
        slot
    }

    pub(super) fn replace(&mut self, id: AttemptId, from_progress: f64) -> Result<Applied, RecordError> {
        let slot = self.slot_of(id)?.ok_or_else(|| RecordError::Unknown(id.to_string()))?;
        let attempt = self.attempts.get(slot);
        let (node, holds_room, heir) = (attempt.node, attempt.holds_room, attempt.heir);
        let launched = self.task(id.task).map_or(0, |task| task.launched);
        let fresh = AttemptId { task: id.task, copy: launched };
        if !holds_room || heir != NO_ATTEMPT {
            return Err(RecordError::CannotStart { attempt: fresh, reason: "what it replaces is being replaced" });
        }
        self.check_start(fresh)?;
        let heir = self.enter(fresh, node, from_progress, false);
        self.attempts.get_mut(heir).replaces = id.copy;
        self.attempts.get_mut(slot).heir = heir;
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
