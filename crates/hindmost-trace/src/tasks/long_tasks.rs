//! Tasks that are long in several jobs of a log.

use hindmost_math::statistics::median;
use rustc_hash::FxHashMap;

use super::held::Held;
use crate::diagnosis::{STRAGGLER, is_no_chance};
use crate::recording::Ended;
use crate::recording::LongInOthers;

/// The most tasks that are remembered.
const MOST_TASKS: usize = 1 << 20;
/// Fewest tasks of a phase of which one can be long.
const FEWEST: usize = 4;

/// In how many jobs tasks ran and were long, by the hash that a task has in every job.
#[derive(Debug, Default)]
pub(super) struct LongTasks(FxHashMap<u64, Runs>);

#[derive(Clone, Copy, Debug, Default)]
struct Runs {
    all: u32,
    long: u32,
    /// The runs of the other tasks of its phases, and how many of these are long.
    others: u64,
    long_others: u64,
}

impl LongTasks {
    /// Adds the rows of an application.
    pub(super) fn add(&mut self, rows: &[Held]) {
        let mut phases: FxHashMap<(u32, u32), FxHashMap<u64, f64>> = FxHashMap::default();
        for row in rows.iter().filter(|row| row.in_every_job != 0 && row.ended == Ended::Succeeded) {
            let Some((start, end)) = row.times() else { continue };
            let seconds =
                phases.entry((row.job, row.phase)).or_default().entry(row.in_every_job).or_insert(f64::INFINITY);
            *seconds = seconds.min(end - start);
        }
        for tasks in phases.into_values().filter(|tasks| tasks.len() >= FEWEST) {
            let Some(usual) = median(&mut tasks.values().copied().collect::<Vec<f64>>()) else { continue };
            let (all, limit) = (tasks.len() as u64, STRAGGLER * usual);
            let long = tasks.values().filter(|seconds| **seconds > limit).count() as u64;
            for (task, seconds) in tasks {
                if self.0.len() >= MOST_TASKS && !self.0.contains_key(&task) {
                    continue;
                }
                let (runs, is_long) = (self.0.entry(task).or_default(), seconds > limit);
                runs.all += 1;
                runs.long += u32::from(is_long);
                runs.others += all - 1;
                runs.long_others += long - u64::from(is_long);
            }
        }
    }

    /// Returns what the other jobs show of the task of a row, if it is long in its own job and in most of the others. Tasks of which only a
    /// number is known must be long in so many that it is no chance.
    pub(super) fn in_most_others(&self, row: &Held) -> Option<LongInOthers> {
        let Runs { all, long, others, long_others } = self.0.get(&row.in_every_job).copied()?;
        let again = long.checked_sub(1)?;
        if 2 * again < all {
            return None;
        }
        let is_no_chance = is_no_chance((again, all - 1), (long_others, others), self.0.len() as u64);
        (row.is_work_named || is_no_chance).then_some(LongInOthers { is_no_chance, task: row.in_every_job })
    }
}
