//! Ends attempts and releases their resources. The first attempt of a task to finish also finishes the task, and with
//! it perhaps its phase and job.

use crate::ids::AttemptId;
use crate::time::Time;

use super::attempt::{Attempt, AttemptState};
use super::edges::unblock_children;
use super::job::Job;
use super::task::NO_ATTEMPT;
use super::{Applied, Cluster, RecordError, job_at};

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// The attempt finished its work.
    Finished,
    /// The driver stopped the attempt.
    Stopped,
    /// The attempt failed, or its node was lost.
    Broken,
}

impl Cluster {
    /// Ends an attempt.
    pub(super) fn attempt_ended(&mut self, id: AttemptId, ending: Ending) -> Result<Applied, RecordError> {
        let Some(slot) = self.slot_of(id)? else { return Ok(Applied::default()) };
        let now = self.now;
        let ended = self.attempts.get(slot);
        let Attempt { node: node_id, since, holds_resources, replacement, state, is_relaunch, .. } = *ended;
        let waited = ended.began(since) - since;
        let released = holds_resources.then_some((node_id, since));
        let mut applied = Applied { released, ended_on: Some(node_id), waited, ..Applied::default() };
        let held = if holds_resources { now - since } else { Time::ZERO };

        let Some(demand) = self.demand(id.task).copied() else { return Ok(applied) };
        let Some(job) = job_at(&mut self.jobs, self.first_job, id.task.job) else { return Ok(applied) };
        let phase = &mut job.phases[id.task.phase as usize];
        let task = &mut phase.tasks[id.task.index as usize];
        self.attempts.unlink(slot, task);
        if replacement != NO_ATTEMPT {
            let replacement = self.attempts.get_mut(replacement);
            replacement.holds_resources = true;
            replacement.since = now;
        }
        self.attempts.release(slot);

        let runnable = u64::from(job.runnable);
        job.copies -= 1;
        phase.copies -= 1;
        job.in_use.take(&demand, self.dimensions.count());
        task.copies -= 1;
        task.stopping -= u16::from(state == AttemptState::Stopping);
        if ending == Ending::Finished && !task.finished {
            task.finished = true;
            applied.won = true;
            phase.useful_time += held;
            phase.unfinished -= 1;
            job.copies_won += u32::from(id.copy > 0 && !is_relaunch);
            applied.unblocked = unblock_children(job, id.task);
            if job.phases[id.task.phase as usize].unfinished == 0 {
                applied.phase_finished = true;
                finish_phase(job, id.task.phase, now, &mut applied);
            }
        } else {
            phase.wasted_time += held;
            if task.is_pending() {
                applied.pending_again = true;
                task.is_broken = ending == Ending::Broken;
                phase.add_pending(id.task.index);
                job.runnable += 1;
            }
        }
        let runnable_now = u64::from(job.runnable);
        self.runnable = self.runnable + runnable_now - runnable;

        if applied.won && !self.failed_on.is_empty() {
            self.failed_on.remove(&id.task);
        }
        let node = &mut self.nodes[node_id.0 as usize];
        node.attempts.remove(slot);
        if holds_resources && replacement == NO_ATTEMPT && node.up && node.is_leaving() {
            self.gone(node_id, &demand);
        } else if holds_resources && replacement == NO_ATTEMPT {
            node.free.add(&demand, self.dimensions.count());
            self.fill_reservations(node_id);
            self.refresh_open(node_id);
        }
        if applied.won {
            applied.reservation_ended_on = self.end_reservation_for(id.task);
        }
        Ok(applied)
    }
}

/// Finishes a phase: opens the phases that waited only for this one, and finishes the job if this was its last phase.
pub(super) fn finish_phase(job: &mut Job, finished: u32, now: Time, applied: &mut Applied) {
    job.unfinished_phases -= 1;
    job.open.retain(|phase| *phase != finished);
    if job.unfinished_phases == 0 {
        job.finished = Some(now);
        applied.job_finished = true;
        return;
    }
    for (at, spec) in job.spec.phases.iter().enumerate() {
        let waits_for_it = spec.barriers().filter(|parent| *parent == finished).count() as u32;
        if waits_for_it > 0 {
            let phase = &mut job.phases[at];
            phase.parents_left -= waits_for_it;
            if phase.parents_left == 0 {
                job.runnable += phase.pending;
                if !phase.is_finished() {
                    let place = job.open.partition_point(|other| (*other as usize) < at);
                    job.open.insert(place, at as u32);
                }
            }
        }
    }
}
