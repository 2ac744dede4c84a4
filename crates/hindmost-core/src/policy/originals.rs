//! The pass that starts pending tasks, one copy each, in the queue's order.

use crate::ids::TaskId;

use super::queue::Which;
use super::{Pass, Round};

/// Starts pending tasks, one copy each: job by job in the queue's order, phase by phase, task by
/// task, each on the first node with room. A job whose next task fits nowhere is passed over.
pub struct Originals {
    which: Which,
}

impl Originals {
    /// Of all jobs.
    pub fn of_all_jobs() -> Originals {
        Originals { which: Which::Any }
    }

    /// Of jobs that have been started.
    pub fn of_started_jobs() -> Originals {
        Originals { which: Which::Started }
    }
}

impl Pass for Originals {
    fn decide(&mut self, round: &mut Round<'_>) {
        // Jobs up to here have been given what fits.
        let mut passed = None;
        while round.cluster().open_nodes() > 0 {
            let Some(place) = round.queue.next(self.which, passed) else { return };
            let job = place.job();
            // Phases whose tasks fit nowhere now; a bit each, later phases share the last.
            let mut stuck = 0u64;
            let mut yielded = false;
            while let Some(task) = next_task(round, job, stuck) {
                match place_task(round, task) {
                    Some(true) => {}
                    Some(false) => return,
                    None => {
                        stuck |= phase_bit(task.phase);
                        continue;
                    }
                }
                if round.queue.should_yield(job, self.which, passed, round.cluster()) {
                    yielded = true;
                    break;
                }
            }
            round.requeue(job);
            if !yielded {
                passed = Some(place);
            }
        }
    }
}

fn phase_bit(phase: u32) -> u64 {
    1 << phase.min(63)
}

fn next_task(round: &Round<'_>, job: crate::ids::JobId, stuck: u64) -> Option<TaskId> {
    round.cluster().job(job)?.next_runnable(|phase| stuck & phase_bit(phase) == 0)
}

/// Starts a task on the first node with room: `None` if there is none, `Some(false)` on a fault.
fn place_task(round: &mut Round<'_>, task: TaskId) -> Option<bool> {
    let demand = *round.cluster().phase(task)?.demand();
    let node = round.cluster().find_node(&demand, |_, _| true)?;
    Some(round.start(task, node))
}
