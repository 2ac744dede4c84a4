//! The last pass of every policy: once a task has its winner, its other copies are stopped; once a job is abandoned, all
//! its copies are stopped.
//!
//! The pass stops the copies as soon as the winner finishes and does not wait for a round. So in a simulation with time
//! slots the losers end together with the winner, as the papers' c·E\[min] assumes. The next round can use their
//! resources.
//!
//! A policy may keep one of the other copies running ([`Keep`]). In Xu, Liu & Lau 2022 (DollyMP), section 5.2,
//! "whenever a task or its cloned copy finishes, the corresponding AM keeps another running copy with the best data
//! locality level and kills the remaining", so that the clones of a downstream task can read from two outputs (delay
//! assignment). The kept copy runs to its end and holds its resources until then, and its job leaves the cluster only
//! then. By default no copy is kept.

use crate::cluster::{Attempt, AttemptState, Cluster};
use crate::ids::{AttemptId, JobId, TaskId};
use crate::record::{Decision, Event, StopReason};

use super::{Pass, Seen, View};

/// Selects the copy of a finished task, besides the winner, that keeps running.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// All other copies are stopped.
    #[default]
    None,
    /// The copy nearest to the task's input keeps running; the oldest one if several are equally near.
    BestLocality,
}

/// Stops the other copies of a finished task, and all copies of an abandoned job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StopLosers {
    /// Which copy, besides the winner, keeps running.
    pub keep: Keep,
}

impl StopLosers {
    /// Returns the copy of a finished task that keeps running; `None` if all other copies are stopped.
    fn kept(self, task: TaskId, cluster: &Cluster) -> Option<AttemptId> {
        // A stopping copy, or a replacement that waits for its resources, can't be kept.
        let runs = |copy: &&Attempt| copy.state() != AttemptState::Stopping && copy.replaces().is_none();
        match self.keep {
            Keep::None => None,
            Keep::BestLocality => {
                let running = cluster.copies(task).filter(runs);
                running.map(|copy| (cluster.locality(task, copy.node()), copy.id())).min().map(|(_, id)| id)
            }
        }
    }
}

/// Stops all attempts of a job that was abandoned, in the order of their tasks, and requests a round, in which others may use
/// their resources.
fn stop_all(job: JobId, view: &mut View<'_>) {
    let cluster = view.cluster;
    let Some(found) = cluster.job(job) else { return };
    for (phase, of_phase) in (0..).zip(found.phases()).filter(|(_, of_phase)| of_phase.running_copies() > 0) {
        for index in (0..).zip(of_phase.tasks()).filter(|(_, task)| task.unstopped_copies() > 0).map(|(index, _)| index)
        {
            let copies = cluster.copies(TaskId { job, phase, index });
            for copy in copies.filter(|copy| copy.state() != AttemptState::Stopping) {
                view.stop(copy.id(), StopReason::Abandoned);
            }
        }
    }
    // The reservations of the job have ended, and in a simulation the resources of its attempts are free after this round.
    view.wake(cluster.now());
}

impl Pass for StopLosers {
    fn observe(&mut self, seen: Seen<'_>, view: &mut View<'_>) {
        if let Seen::Decision(Decision::Abandon { job }) = seen {
            stop_all(*job, view);
        }
        let Seen::Event(Event::AttemptFinished { attempt }, applied) = seen else { return };
        if !applied.won {
            return;
        }
        let cluster = view.cluster;
        let kept = self.kept(attempt.task, cluster);
        let runs = |copy: &&Attempt| copy.state() != AttemptState::Stopping;
        for copy in cluster.copies(attempt.task).filter(runs).filter(|copy| Some(copy.id()) != kept) {
            view.stop(copy.id(), StopReason::Lost);
            view.because(|| "another copy of its task has finished".to_owned());
        }
    }
}
