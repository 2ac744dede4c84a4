//! Policies of instances that are about the simulator, and not about a policy of the catalogue.

use hindmost_core::ids::TaskId;
use hindmost_core::policy::losing_copies::Keep;
use hindmost_core::policy::queue_place::Which;
use hindmost_core::policy::{Pass, Policy, Round, Seen, View};
use hindmost_core::record::{Condition, Decision};
use hindmost_policies::orders::fifo::Fifo;
use hindmost_policies::placement::job_by_job::Originals;

/// Starts clones of each task, beginning with the newest job. Entry `i` is the number of copies that a task of phase
/// `i` gets in all rounds together.
struct Clones(Vec<u32>);

impl Pass for Clones {
    fn decide(&mut self, round: &mut Round<'_>) {
        let mut tasks = Vec::new();
        for job in round.cluster().jobs() {
            for (at, phase) in job.phases().iter().enumerate().filter(|(_, phase)| phase.is_open()) {
                for (index, task) in phase.tasks().iter().enumerate() {
                    let missing = self.0[at].saturating_sub(task.launched());
                    if !task.is_finished() && missing > 0 {
                        tasks.push((TaskId { job: job.id(), phase: at as u32, index: index as u32 }, missing));
                    }
                }
            }
        }
        for (task, missing) in tasks.into_iter().rev() {
            round.start_copies(task, missing);
        }
    }
}

/// Watches every attempt for one condition from its start on.
struct Watching(Condition);

impl Pass for Watching {
    fn observe(&mut self, seen: Seen<'_>, view: &mut View<'_>) {
        if let Seen::Decision(Decision::Start { attempt, .. }) = seen {
            view.watch(*attempt, self.0);
        }
    }
}

fn with_originals(pass: impl Pass + 'static) -> Policy {
    Policy::new(Box::new(Fifo), vec![Box::new(Originals::of(Which::Any)), Box::new(pass)])
}

/// Starts so many copies of each task of a phase, the first one in the order of arrivals.
pub fn cloning(copies: &[u32], keep: Keep) -> Policy {
    with_originals(Clones(copies.to_vec())).keeping(keep)
}

/// Watches every attempt for a condition, and starts no backups.
pub fn watching(condition: Condition) -> Policy {
    with_originals(Watching(condition))
}
