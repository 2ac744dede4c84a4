//! What is typical of a phase, and which attempts are in first waves.

use hindmost_math::statistics::{median, quantile};
use rustc_hash::FxHashMap;

use crate::recording::{AttemptRow, PhaseRows, UNKNOWN};

/// A winner that took more than this many times the typical duration is a straggler.
pub const STRAGGLER: f64 = 1.5;
/// Fewest winners after the first waves that show what is typical.
const FEWEST_LATER: usize = 5;
/// How many times as many winners there must be after the first waves as in them.
const LATER_PER_FIRST: usize = 2;
/// Fewest winners after the first waves that show this if they are much faster, and how much faster that is.
const FEWEST_FASTER: usize = 4;
const MUCH: f64 = 1.5;
/// The least share of the winners that the later ones must be then. What a few tasks took is not typical of all others.
const LEAST_SHARE: f64 = 0.1;
/// Inputs whose ln differs by less than this are the same.
const SAME_INPUT: f64 = 0.01;
/// Fewest winners of which durations and inputs show how they depend on each other.
const FEWEST_INPUTS: usize = 10;
/// Fewest winners of a phase for which a duration can be called too long.
const FEWEST: usize = 4;
/// Half the resolution of the clocks of logs, in seconds: the least typical duration.
pub const LEAST: f64 = 0.0005;

/// What is typical of a phase.
#[derive(Clone, Debug)]
pub struct Typical {
    /// The typical duration, seconds; `None` without a winner.
    pub seconds: Option<f64>,
    /// True if it is that of winners after the first waves.
    pub is_later: bool,
    /// For each attempt of the phase, whether it was in its executor's first wave.
    pub is_first: Vec<bool>,
    /// Number of winners.
    pub winners: usize,
}

impl Typical {
    /// Finds out what is typical of a phase.
    pub fn of(phase: &PhaseRows) -> Typical {
        let known = phase.rows.iter().map(|row| row.executor).filter(|executor| *executor != UNKNOWN);
        let executors = known.max().map_or(0, |last| last as usize + 1);
        let first_end = first_ends(&phase.rows, executors);
        let is_first = |row: &AttemptRow| row.start < first_end[(row.executor as usize).min(executors)];
        let is_first: Vec<bool> = phase.rows.iter().map(is_first).collect();
        let winners = || phase.rows.iter().zip(&is_first).filter(|(row, _)| row.wins);
        let mut later: Vec<f64> = winners().filter(|(_, first)| !**first).map(|(row, _)| row.seconds()).collect();
        let mut all: Vec<f64> = winners().map(|(row, _)| row.seconds()).collect();
        let count = all.len();
        let mut first: Vec<f64> = winners().filter(|(_, first)| **first).map(|(row, _)| row.seconds()).collect();
        let medians = quantile(&mut first, 0.5).zip(quantile(&mut later, 0.5));
        // A phase often ends with the smallest inputs.
        let by_input = medians.map_or(0.0, |_| by_input(winners())).exp();
        let is_faster = medians.is_some_and(|(first, later)| first >= MUCH * by_input * later.max(LEAST));
        let is_enough = later.len() >= FEWEST_FASTER && later.len() as f64 >= LEAST_SHARE * count as f64;
        let is_later = later.len() >= FEWEST_LATER && later.len() >= LATER_PER_FIRST * (count - later.len())
            || is_enough && is_faster;
        let median = quantile(if is_later { &mut later } else { &mut all }, 0.5);
        Typical { seconds: median.map(|median| median.max(LEAST)), is_later, is_first, winners: count }
    }

    /// The duration beyond which an attempt of the phase is a straggler; `None` if there are too few winners.
    pub fn limit(&self) -> Option<f64> {
        self.seconds.filter(|_| self.winners >= FEWEST).map(|seconds| STRAGGLER * seconds)
    }

    /// True if a winner is a straggler.
    pub fn is_straggler(&self, row: &AttemptRow) -> bool {
        self.limit().is_some_and(|limit| row.seconds() > limit)
    }
}

/// Returns ln of how many times as long winners of first waves take because they have more input than the later ones; 0 if they don't.
/// Within first waves, and within the later ones, ln of the duration is fitted to ln of the bytes. Where all these have the same input, the
/// durations are taken to grow in proportion to it: this can't be distinguished from a first wave then.
fn by_input<'a>(winners: impl Iterator<Item = (&'a AttemptRow, &'a bool)>) -> f64 {
    let (mut all, mut points) = ([0, 0], [Vec::new(), Vec::new()]);
    for (row, is_first) in winners {
        let wave = usize::from(*is_first);
        all[wave] += 1;
        if let Some(bytes) = row.bytes_read.filter(|bytes| *bytes > 0) {
            points[wave].push(((bytes as f64).ln(), row.seconds().max(LEAST).ln()));
        }
    }
    if points.iter().zip(all).any(|(known, all)| known.is_empty() || 2 * known.len() < all) {
        return 0.0;
    }
    let middle = |wave: &[(f64, f64)]| median(&mut wave.iter().map(|(x, _)| *x).collect::<Vec<f64>>()).unwrap_or(0.0);
    let more = middle(&points[1]) - middle(&points[0]);
    if more <= SAME_INPUT {
        return 0.0;
    }
    let (mut xx, mut xy, mut count) = (0.0, 0.0, 0);
    for wave in &points {
        let mean = |of: fn(&(f64, f64)) -> f64| wave.iter().map(of).sum::<f64>() / wave.len() as f64;
        let (x, y) = (mean(|point| point.0), mean(|point| point.1));
        xx += wave.iter().map(|point| (point.0 - x).powi(2)).sum::<f64>();
        xy += wave.iter().map(|point| (point.0 - x) * (point.1 - y)).sum::<f64>();
        count += wave.len();
    }
    let is_known = count >= FEWEST_INPUTS && (xx / count as f64).sqrt() >= SAME_INPUT;
    more * if is_known { (xy / xx).clamp(0.0, 1.0) } else { 1.0 }
}

/// Returns for each of so many executors, and last where the executor is not known, until when attempts that start there belong to its first
/// wave: until the first of them has done nine tenths of its time. Engines log the end of an attempt a little later than they use its slot
/// again.
pub fn first_ends<'a>(rows: impl IntoIterator<Item = &'a AttemptRow>, executors: usize) -> Vec<f64> {
    let mut first: Vec<Option<&AttemptRow>> = vec![None; executors + 1];
    for row in rows {
        let earliest = &mut first[(row.executor as usize).min(executors)];
        if earliest.is_none_or(|earliest| row.end < earliest.end) {
            *earliest = Some(row);
        }
    }
    first.into_iter().map(|row| row.map_or(f64::INFINITY, |row| row.end - 0.1 * row.seconds())).collect()
}

/// Returns, for each attempt of a phase, whether it does again what an earlier attempt of its task did not bring to an end:
/// the task's work, or an output that was lost.
pub fn retries(phase: &PhaseRows) -> Vec<bool> {
    // When the first attempt of each task that did not win ended.
    let mut broken: FxHashMap<u32, f64> = FxHashMap::default();
    for row in phase.rows.iter().filter(|row| row.ended != crate::recording::Ended::Succeeded) {
        let end = broken.entry(row.task).or_insert(row.end);
        *end = end.min(row.end);
    }
    let is_retry = |row: &AttemptRow| {
        row.repeated || broken.get(&row.task).is_some_and(|end| *end <= row.start) && !row.speculative
    };
    phase.rows.iter().map(is_retry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{phase, row};

    #[test]
    fn first_waves_are_set_aside_if_there_are_enough_later_tasks() {
        // Two slots on one executor: two cold tasks of 5 s, then six of 1 s.
        let mut rows = vec![row(0, 0, 0.0, 5.0), row(1, 0, 0.0, 5.5)];
        rows.extend((0..6).map(|at| row(2 + at, 0, 5.0 + f64::from(at), 6.0 + f64::from(at))));
        let typical = Typical::of(&phase(rows.clone()));
        assert_eq!(typical.is_first, [true, true, false, false, false, false, false, false]);
        assert_eq!((typical.seconds, typical.is_later), (Some(1.0), true));
        rows.truncate(5);
        let typical = Typical::of(&phase(rows));
        assert_eq!((typical.seconds, typical.is_later), (Some(1.0), false), "the median of 5, 5.5, 1, 1, 1");
        // As many first tasks as later ones, which are much faster.
        let mut rows: Vec<_> = (0..4).map(|at| row(at, 0, 0.0, 9.0)).collect();
        rows.extend((4..8).map(|at| row(at, 0, 9.0, 9.3)));
        let typical = Typical::of(&phase(rows));
        assert!(typical.is_later && (typical.seconds.unwrap() - 0.3).abs() < 1e-9);
    }

    /// Forty executors of two slots: first waves of `first`, then `later` tasks; each is seconds and bytes.
    fn two_waves(first: (f64, u64), later: (f64, u64), count: u32) -> Typical {
        let of = |task: u32, start: f64, (seconds, bytes): (f64, u64)| AttemptRow {
            bytes_read: Some(bytes + u64::from(task)),
            ..row(task, task % 40, start, start + seconds)
        };
        let mut rows: Vec<AttemptRow> = (0..80).map(|task| of(task, 0.0, first)).collect();
        rows.extend((80..80 + count).map(|task| of(task, first.0, later)));
        Typical::of(&phase(rows))
    }

    #[test]
    fn later_tasks_with_less_input_do_not_show_what_is_typical() {
        // A quarter of the input, a third of the time.
        let less = two_waves((9.0, 4_000_000), (3.0, 1_000_000), 40);
        assert_eq!((less.is_later, less.seconds), (false, Some(9.0)));
        let same = two_waves((9.0, 4_000_000), (3.0, 4_000_000), 40);
        assert_eq!((same.is_later, same.seconds), (true, Some(3.0)));
    }

    #[test]
    fn the_power_of_the_input_follows_from_tasks_of_the_same_wave() {
        // The input varies by half in each wave, without effect: the later tasks are faster because they are later.
        let of = |task: u32| {
            let is_first = task < 28;
            let (start, seconds, size) = if is_first { (0.0, 9.0, 2_000_000) } else { (9.0, 3.0, 1_000_000) };
            let bytes = if task.is_multiple_of(2) { size } else { size + size / 2 };
            AttemptRow { bytes_read: Some(bytes), ..row(task, task % 14, start, start + seconds) }
        };
        let typical = Typical::of(&phase((0..42).map(of).collect()));
        assert_eq!((typical.is_later, typical.seconds), (true, Some(3.0)));
    }

    #[test]
    fn few_later_tasks_are_not_typical_of_all_others() {
        let few = two_waves((9.0, 4_000_000), (3.0, 4_000_000), 5);
        assert_eq!((few.is_later, few.seconds), (false, Some(9.0)));
    }

    #[test]
    fn an_attempt_after_a_broken_one_is_a_retry_and_a_copy_is_none() {
        let mut rows = vec![row(0, 0, 0.0, 2.0), row(0, 1, 2.5, 4.0), row(1, 0, 0.0, 9.0), row(1, 1, 5.0, 8.0)];
        (rows[0].ended, rows[0].wins) = (crate::recording::Ended::Failed, false);
        (rows[2].ended, rows[2].wins) = (crate::recording::Ended::Killed, false);
        rows[3].speculative = true;
        assert_eq!(retries(&phase(rows)), [false, true, false, false]);
    }
}
