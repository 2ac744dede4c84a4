//! The order in which the tasks of a job start under `graphene`: the order in which they begin in the offline schedule.
//!
//! Tasks of a phase are alike, so only the order between phases matters. If two phases could both start a task, the
//! phase whose next task begins earlier in the schedule goes first. So parallel phases alternate as their waves do in
//! the schedule. If both begin at the same time, the phase that was placed earlier goes first: a troublesome phase
//! before all others, and among others the phase with the longest path.

use crate::dag::resource_profile::{Block, Moment};

/// The places of a phase in a schedule.
#[derive(Clone, Debug, Default)]
pub(crate) struct Placed {
    /// The places of the phase's tasks; empty if the job has no schedule.
    pub blocks: Vec<Block>,
    /// The number of phases that were placed before this one.
    pub after: u32,
}

impl Placed {
    /// Returns the time at which a task begins; tasks are counted from 0. For a number beyond the last task, returns
    /// the begin of the last task.
    fn begin(&self, task: u64) -> Moment {
        if let [block] = &self.blocks[..] {
            return block.begin((task / block.width.max(1)).min(block.waves.saturating_sub(1)));
        }
        let mut low = self.blocks.iter().map(|block| block.start).min().unwrap_or(0);
        let mut high = self.blocks.iter().map(|block| block.begin(block.waves.saturating_sub(1))).max().unwrap_or(0);
        // Find the first time at which more than `task` tasks have begun.
        while low < high {
            let middle = low + (high - low) / 2;
            let begun = self.blocks.iter().fold(0u64, |sum, block| sum.saturating_add(block.begun(middle)));
            if begun > task {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }
}

/// The order in which a job's phases start their tasks.
#[derive(Debug)]
pub(crate) struct Turns {
    phases: Vec<Turn>,
    /// Phases with a pending task, as (begin of the next task, phases placed before, phase).
    waiting: Vec<(Moment, u32, u32)>,
}

#[derive(Debug)]
struct Turn {
    placed: Placed,
    /// The number of the job's phases that begin before this one.
    rank: u32,
    /// The number of started tasks at the last call of [`Turns::in_order`], and the begin of the next task.
    next: (u64, Moment),
}

impl Turns {
    /// Creates the turns of a schedule. `schedule` has the places of each phase at the phase's index in the job.
    pub fn of(schedule: Vec<Placed>) -> Turns {
        let mut turns: Vec<Turn> = Vec::with_capacity(schedule.len());
        for placed in schedule {
            let next = (0, placed.begin(0));
            turns.push(Turn { placed, rank: 0, next });
        }
        let mut order: Vec<usize> = (0..turns.len()).collect();
        order.sort_by_key(|at| (turns[*at].next.1, turns[*at].placed.after, *at));
        for (rank, at) in order.into_iter().enumerate() {
            turns[at].rank = rank as u32;
        }
        Turns { phases: turns, waiting: Vec::new() }
    }

    /// Returns the phases with a pending task in the order of their turns, each with its priority: 1 for the job's
    /// first phase, less for others. `started` returns the number of a phase's started tasks; `None` if no task is
    /// pending.
    pub fn in_order(&mut self, started: impl Fn(usize) -> Option<u64>) -> impl Iterator<Item = (u32, f64)> {
        self.waiting.clear();
        for (at, turn) in self.phases.iter_mut().enumerate() {
            let Some(started) = started(at) else { continue };
            if turn.next.0 != started {
                turn.next = (started, turn.placed.begin(started));
            }
            self.waiting.push((turn.next.1, turn.placed.after, at as u32));
        }
        self.waiting.sort_unstable();
        let (phases, count) = (&self.phases, self.phases.len() as f64);
        self.waiting.iter().map(move |(.., at)| (*at, 1.0 - f64::from(phases[*at as usize].rank) / count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(start: Moment, width: u64, waves: u64, duration: Moment) -> Block {
        Block { start, width, waves, duration }
    }

    fn order(turns: &mut Turns, started: &[Option<u64>]) -> Vec<u32> {
        turns.in_order(|at| started[at]).map(|(at, _)| at).collect()
    }

    #[test]
    fn the_next_task_of_a_phase_begins_with_its_wave() {
        let placed = Placed { blocks: vec![block(2, 3, 2, 5), block(4, 1, 3, 5)], after: 0 };
        let begins: Vec<Moment> = (0..11).map(|task| placed.begin(task)).collect();
        // Three tasks begin at 2, one at 4, three at 7, one at 9 and one at 14.
        assert_eq!(begins, [2, 2, 2, 4, 7, 7, 7, 9, 14, 14, 14]);
        let placed = Placed { blocks: vec![block(-10, 4, 2, 5)], after: 0 };
        assert_eq!([0, 3, 4, 7, 8].map(|task| placed.begin(task)), [-10, -10, -5, -5, -5]);
    }

    #[test]
    fn parallel_phases_alternate() {
        // The phase `narrow` begins tasks at 0, 2 and 4, the phase `long` begins one at 2. Both begin a task at 2;
        // `long` goes first, because it was placed earlier.
        let narrow = Placed { blocks: vec![block(0, 1, 3, 2)], after: 1 };
        let long = Placed { blocks: vec![block(2, 1, 1, 9)], after: 0 };
        let mut turns = Turns::of(vec![narrow, long]);
        assert_eq!(order(&mut turns, &[Some(0), Some(0)]), [0, 1]);
        assert_eq!(order(&mut turns, &[Some(1), Some(0)]), [1, 0]);
        assert_eq!(order(&mut turns, &[Some(1), None]), [0]);
        // The first task has failed and is pending again.
        assert_eq!(order(&mut turns, &[Some(0), Some(0)]), [0, 1]);
        let priorities: Vec<f64> = turns.in_order(|_| Some(2)).map(|(_, priority)| priority).collect();
        assert_eq!(priorities, [0.5, 1.0]);
    }
}
