//! Tasks that are long in several jobs of a log.

use hindmost_math::statistics::median;
use rustc_hash::{FxHashMap, FxHashSet};

use super::collect::Held;
use crate::analysis::Ended;
use crate::diagnosis::STRAGGLER;

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
            for (task, seconds) in tasks {
                if self.0.len() >= MOST_TASKS && !self.0.contains_key(&task) {
                    continue;
                }
                let runs = self.0.entry(task).or_default();
                runs.all += 1;
                runs.long += u32::from(seconds > STRAGGLER * usual);
            }
        }
    }

    /// Returns the tasks that are long in one of the jobs of these rows, and in most of the others.
    pub(super) fn in_most_others(&self, rows: &[Held]) -> FxHashSet<u64> {
        let is_long = |task: &u64| {
            let Runs { all, long } = self.0.get(task).copied().unwrap_or_default();
            2 * long.saturating_sub(1) > all.saturating_sub(1)
        };
        rows.iter().map(|row| row.in_every_job).filter(|task| *task != 0 && is_long(task)).collect()
    }
}
