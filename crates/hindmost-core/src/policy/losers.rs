//! The default last pass of every policy: once a task has its winner, its other copies stop.
//!
//! It reacts to the finish itself rather than waiting for a round: that a copy is of no use any more
//! is not a question of scheduling, and in a slotted run the losers' time on their machines ends with
//! the winner's, as the papers' c·E\[min] assumes. The room is used again from the next round on.

use crate::record::{Event, StopReason};

use super::{Pass, Seen, View};

/// Stops the other copies of a finished task.
pub struct StopLosers;

impl Pass for StopLosers {
    fn observe(&mut self, seen: Seen<'_>, view: &mut View<'_>) {
        let Seen::Event(Event::AttemptFinished { attempt }, applied) = seen else { return };
        if !applied.won {
            return;
        }
        let cluster = view.cluster;
        for copy in cluster.copies(attempt.task) {
            view.stop(copy.id(), StopReason::Lost);
            view.because(|| "another copy of its task has finished".to_owned());
        }
    }
}
