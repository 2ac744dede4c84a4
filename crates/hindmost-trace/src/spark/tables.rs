//! The winners of the tasks of a stage. Small indices, which nearly all tasks have, are stored densely; an isolated
//! large index costs one entry.

use std::cmp::Ordering;

use rustc_hash::FxHashMap;

/// Indices below this are always stored densely.
const ALWAYS_DENSE: u64 = 1 << 10;

/// Returns whether a dense table may grow up to an index. It may grow if it has enough entries in proportion to its new
/// size, so that an isolated large index never allocates much memory.
fn may_grow(to: u32, entries: usize) -> bool {
    u64::from(to) < ALWAYS_DENSE + 32 * entries as u64
}

/// The attempt of a task that succeeded first, in 24 bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Winner {
    /// Milliseconds since 1970; 0 if there is no winner.
    pub launch: i64,
    pub finish: i64,
    /// Index of the executor; `u32::MAX` if unknown.
    pub executor: u32,
    pub attempt: u16,
    pub stage_attempt: u8,
    pub speculative: bool,
}

impl Winner {
    const VACANT: Winner =
        Winner { launch: 0, finish: 0, executor: u32::MAX, attempt: 0, stage_attempt: 0, speculative: false };

    /// Returns the seconds from launch to finish, at least 0.001, the resolution of Spark's clock.
    pub(super) fn duration(self) -> f64 {
        (self.finish - self.launch).max(1) as f64 / 1000.0
    }
}

/// The winners of the tasks of a stage.
#[derive(Debug, Default)]
pub(super) struct Winners {
    dense: Vec<Winner>,
    sparse: Option<Box<FxHashMap<u32, Winner>>>,
    len: usize,
}

impl Winners {
    /// Adds an attempt that succeeded, and returns the attempt that loses, if any. The first attempt to finish wins; of
    /// two that finish at the same instant, the one that was added first wins. If the tasks run `together` (barrier
    /// stage), the attempt of the later submission wins, because one failed task makes the whole submission useless.
    pub(super) fn offer(&mut self, task: u32, attempt: Winner, together: bool) -> Option<Winner> {
        let index = task as usize;
        let stray = self.sparse.as_mut().and_then(|sparse| sparse.get_mut(&task));
        let entry = if let Some(entry) = stray {
            entry
        } else if index < self.dense.len() {
            &mut self.dense[index]
        } else if may_grow(task, self.len) {
            self.dense.resize(index + 1, Winner::VACANT);
            &mut self.dense[index]
        } else {
            self.sparse.get_or_insert_default().entry(task).or_insert(Winner::VACANT)
        };
        if *entry == Winner::VACANT {
            *entry = attempt;
            self.len += 1;
            return None;
        }
        let submissions = (attempt.stage_attempt, entry.stage_attempt);
        let sooner = match submissions.0.cmp(&submissions.1) {
            Ordering::Greater if together => true,
            Ordering::Less if together => false,
            _ => attempt.finish < entry.finish,
        };
        if sooner { Some(std::mem::replace(entry, attempt)) } else { Some(attempt) }
    }

    pub(super) fn get(&self, task: u32) -> Option<Winner> {
        let stray = self.sparse.as_ref().and_then(|sparse| sparse.get(&task));
        let winner = stray.or_else(|| self.dense.get(task as usize)).copied();
        winner.filter(|&winner| winner != Winner::VACANT)
    }

    /// Iterates over all winners by task.
    pub(super) fn in_order(&self) -> impl Iterator<Item = (u32, Winner)> + '_ {
        let mut sparse: Vec<_> = self.sparse.iter().flat_map(|sparse| sparse.iter()).map(|(&t, &w)| (t, w)).collect();
        sparse.sort_unstable_by_key(|&(task, _)| task);
        let dense = self.dense.iter().enumerate().map(|(index, &winner)| (index as u32, winner));
        // Sparse indices were above the dense part when they were added, but the dense part may have grown since.
        merge(dense.filter(|&(_, winner)| winner != Winner::VACANT), sparse.into_iter())
    }
}

fn merge(
    dense: impl Iterator<Item = (u32, Winner)>,
    sparse: impl Iterator<Item = (u32, Winner)>,
) -> impl Iterator<Item = (u32, Winner)> {
    let (mut dense, mut sparse) = (dense.peekable(), sparse.peekable());
    std::iter::from_fn(move || match (dense.peek(), sparse.peek()) {
        (Some(d), Some(s)) if s.0 < d.0 => sparse.next(),
        (Some(_), _) => dense.next(),
        (None, _) => sparse.next(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn winner(launch: i64, finish: i64) -> Winner {
        Winner { launch, finish, ..Winner::VACANT }
    }

    #[test]
    fn an_isolated_large_index_costs_one_entry() {
        let mut winners = Winners::default();
        assert_eq!(winners.offer(4_000_000_000, winner(1, 2), false), None);
        assert_eq!(winners.offer(1, winner(1, 2), false), None);
        assert_eq!(winners.offer(0, winner(5, 6), false), None);
        let tasks: Vec<_> = winners.in_order().map(|(task, _)| task).collect();
        assert_eq!(tasks, [0, 1, 4_000_000_000]);
    }

    #[test]
    fn the_first_to_finish_wins_in_any_order_of_records() {
        let mut winners = Winners::default();
        assert_eq!(winners.offer(0, winner(10, 50), false), None);
        assert_eq!(winners.offer(0, winner(20, 40), false), Some(winner(10, 50)));
        assert_eq!(winners.offer(0, winner(5, 40), false), Some(winner(5, 40)));
        assert_eq!(winners.in_order().next(), Some((0, winner(20, 40))));
        assert_eq!(winner(9, 3).duration(), 0.001);
    }

    #[test]
    fn in_a_barrier_stage_the_last_submission_wins() {
        let again = Winner { stage_attempt: 1, ..winner(60, 90) };
        let mut winners = Winners::default();
        assert_eq!(winners.offer(0, winner(10, 50), true), None);
        assert_eq!(winners.offer(0, again, true), Some(winner(10, 50)));
        assert_eq!(winners.offer(0, winner(10, 40), true), Some(winner(10, 40)));
        assert_eq!(winners.get(0), Some(again));
    }

    #[test]
    fn winners_do_not_depend_on_the_order_of_insertion() {
        for step in [1, 7919, 99_991] {
            let mut winners = Winners::default();
            for i in 0..100_000_u32 {
                let task = (u64::from(i) * step % 100_000) as u32;
                assert_eq!(winners.offer(task, winner(1, i64::from(task) + 2), false), None);
            }
            assert!(
                winners.in_order().enumerate().all(|(at, (task, w))| at as u32 == task && w.finish == at as i64 + 2)
            );
            assert_eq!(winners.in_order().count(), 100_000);
            let stray = winners.sparse.map_or(0, |sparse| sparse.len());
            assert!(stray < 4000, "{stray} of 100000 are stray with steps of {step}");
        }
    }
}
