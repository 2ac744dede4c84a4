//! What is usual of the attempts of a phase, with which its stragglers are compared.

use hindmost_math::statistics::{median, quantile};

use super::context::{FEWEST_ALIKE, log_bytes};
use super::typical::{LEAST, Typical};
use crate::recording::{AttemptRow, PhaseRows, TaskTimes};

/// A task that takes this many times as long as 95% of the others of its phase, without more input as far as that is known, is more likely
/// to hang, or to take so long by chance, than to have more work.
pub const FAR_BEYOND: f64 = 5.0;

/// Fewest tasks with input among which a single one may have far more.
const FEWEST_WITH_ONE_LARGE: usize = 20;
/// How many times as much as the others it must have read.
const FAR_MORE_INPUT: f64 = 3.0;
/// The others read about as much if the largest of them read at most this many times as much as the smallest.
const ALIKE: f64 = 1.5;

/// What is usual of the winners of a phase.
pub(super) struct Usual {
    pub(super) times: TaskTimes,
    /// The same of those in first waves.
    pub(super) first_times: TaskTimes,
    /// ln of the median bytes of those that read any.
    pub(super) bytes: Option<f64>,
    /// Seconds within which 95% of them ended, the longest one apart.
    pub(super) most: Option<f64>,
    /// Number of winners at each distance from their input, and ln of their median duration. Those without input don't count if others
    /// have some.
    distances: [(usize, f64); 4],
    /// ln of the median duration of those with input, if many others have none.
    with_input: Option<f64>,
    /// ln of the median and of the second largest number of bytes, if nearly all winners read about as much.
    alike: Option<[f64; 2]>,
}

impl Usual {
    pub(super) fn of(phase: &PhaseRows, typical: &Typical) -> Usual {
        let first = phase.rows.iter().zip(&typical.is_first).filter(|(row, is_first)| row.wins && **is_first);
        let has_input = |row: &&AttemptRow| row.bytes_read.is_some_and(|bytes| bytes > 0);
        let is_empty = |row: &&AttemptRow| row.bytes_read == Some(0);
        let mut with_input: Vec<f64> =
            phase.winners().filter(has_input).map(|row| row.seconds().max(LEAST).ln()).collect();
        let (filled, empty) = (with_input.len(), phase.winners().filter(is_empty).count());
        let is_divided = filled >= FEWEST_ALIKE && 4 * empty >= filled + empty;
        let at = |distance: u8| {
            let of = phase.winners().filter(|row| row.spent.distance == distance && !(filled > 0 && is_empty(row)));
            let mut all: Vec<f64> = of.map(|row| row.seconds().max(LEAST).ln()).collect();
            (all.len(), median(&mut all).unwrap_or(0.0))
        };
        let mut seconds: Vec<f64> = phase.winners().map(AttemptRow::seconds).collect();
        seconds.sort_unstable_by(f64::total_cmp);
        seconds.pop();
        Usual {
            most: quantile(&mut seconds, 0.95),
            times: median_times(&phase.rows.iter().filter(|row| row.wins)),
            first_times: median_times(&first.map(|(row, _)| row)),
            bytes: median(&mut phase.winners().filter_map(log_bytes).collect::<Vec<f64>>()),
            distances: [at(0), at(1), at(2), at(3)],
            with_input: median(&mut with_input).filter(|_| is_divided),
            alike: alike(phase),
        }
    }

    /// ln of how many times as much as others an attempt read, if it is the only one of many to read far more, so that durations can't be
    /// fitted to inputs. That this one is also long is chance in one of as many cases as the phase has tasks.
    pub(super) fn by_far_most_input(&self, row: &AttemptRow) -> Option<f64> {
        let [middle, second] = self.alike?;
        log_bytes(row).filter(|log| *log >= second + FAR_MORE_INPUT.ln()).map(|log| log - middle)
    }

    /// ln of how many times as long as is typical tasks with input take, if this attempt has some and many of the phase have none.
    pub(super) fn by_having_input(&self, row: &AttemptRow, typical: f64) -> Option<f64> {
        self.with_input.filter(|_| row.bytes_read.is_some_and(|bytes| bytes > 0)).map(|log| log - typical.ln())
    }

    /// ln of how many times as long tasks at this distance from their input take as nearer ones; `None` if too few are known.
    pub(super) fn by_distance(&self, distance: u8) -> Option<f64> {
        let (count, here) = *self.distances.get(usize::from(distance))?;
        let nearer = self.distances[..usize::from(distance)].iter().rev().find(|(count, _)| *count >= FEWEST_ALIKE)?;
        (count >= FEWEST_ALIKE).then_some(here - nearer.1)
    }

    /// True if no winner was nearer to its input.
    pub(super) fn is_nearest(&self, distance: u8) -> bool {
        self.distances[..usize::from(distance).min(self.distances.len())].iter().all(|(count, _)| *count == 0)
    }
}

/// Returns ln of the median and of the second largest number of bytes that winners read, if there are many, and apart from the largest
/// one they read about as much.
fn alike(phase: &PhaseRows) -> Option<[f64; 2]> {
    let mut all: Vec<f64> = phase.winners().filter_map(log_bytes).collect();
    all.sort_unstable_by(f64::total_cmp);
    let (least, second) = (*all.first()?, *all.get(all.len().checked_sub(2)?)?);
    let is_narrow = second - least <= ALIKE.ln();
    median(&mut all).filter(|_| all.len() >= FEWEST_WITH_ONE_LARGE && is_narrow).map(|middle| [middle, second])
}

/// The median of each time.
fn median_times<'a>(rows: &(impl Iterator<Item = &'a AttemptRow> + Clone)) -> TaskTimes {
    let middle = |of: &dyn Fn(&TaskTimes) -> f32| {
        // Most logs don't say where time went.
        if rows.clone().all(|row| of(&row.spent) == 0.0) {
            return 0.0;
        }
        let mut all: Vec<f64> = rows.clone().map(|row| f64::from(of(&row.spent))).collect();
        median(&mut all).unwrap_or(0.0) as f32
    };
    TaskTimes {
        garbage_collection: middle(&|times| times.garbage_collection),
        deserialization: middle(&|times| times.deserialization),
        fetch_wait: middle(&|times| times.fetch_wait),
        delay: middle(&|times| times.delay),
        spilled: middle(&|times| times.spilled),
        distance: 0,
        fetched_result: false,
        reads_files: false,
    }
}
