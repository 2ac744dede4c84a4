//! The default last pass of every policy: once a task has its winner, its other copies stop.
//!
//! It reacts to the finish itself rather than waiting for a round: that a copy is of no use any more
//! is not a question of scheduling, and in a slotted run the losers' time on their machines ends with
//! the winner's, as the papers' c·E\[min] assumes. The room is used again from the next round on.
//!
//! A policy may keep one of them ([`Keep`]): in Xu, Liu & Lau 2022 (DollyMP), section 5.2, "whenever a task or its
//! cloned copy finishes, the corresponding AM keeps another running copy with the best data locality level and kills
//! the remaining", so that the clones of a downstream task can read from two outputs (delay assignment). The copy runs
//! on to its end, at the cost of its room, and its job leaves the cluster only then. The default keeps none.

use crate::cluster::{Attempt, AttemptState, Cluster};
use crate::ids::{AttemptId, TaskId};
use crate::record::{Event, StopReason};

use super::{Pass, Seen, View};

/// Which of the other copies of a finished task runs on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// None.
    #[default]
    None,
    /// The one that is nearest to the task's input, the oldest of those that are equally near.
    BestLocality,
}

/// Stops the other copies of a finished task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StopLosers {
    /// The copy that is left alone.
    pub keep: Keep,
}

impl StopLosers {
    /// The copy of a finished task that runs on.
    fn kept(self, task: TaskId, cluster: &Cluster) -> Option<AttemptId> {
        // A copy that is stopping anyway, or waits for the room of one that is, is no running copy.
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

impl Pass for StopLosers {
    fn observe(&mut self, seen: Seen<'_>, view: &mut View<'_>) {
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
