//! Keeps the winners of a phase: all of them up to 2 048, beyond that a sample, a sketch of the durations and the
//! longest winners.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hindmost_core::metrics::Durations;
use hindmost_math::fit::{Fit, Sketch};
use hindmost_math::random::mix;
use hindmost_math::statistics::{median, quantile};

use super::ends::Ends;

/// Largest number of winners that are all kept. If there are more, a sample of this size is kept.
const SAMPLE: usize = 2048;
/// How many of the longest winners are kept if there are more than `SAMPLE` winners.
const LONGEST: usize = 1024;
/// Resolution of the clock if all durations are whole milliseconds, in seconds.
const MILLISECOND: f64 = 0.001;
/// Resolution of the clock if some duration is not a whole number of milliseconds, in seconds.
const MICROSECOND: f64 = 0.000_001;

/// The attempt that won a task. Times are in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Winner {
    pub task: u32,
    pub node: Option<u32>,
    pub seconds: f64,
    pub end: f64,
    pub bytes: Option<u64>,
    pub speculative: bool,
}

impl Winner {
    /// Returns a hash of the task. The winners with the smallest keys are a sample that does not depend on their order.
    fn key(&self) -> u64 {
        mix(u64::from(self.task))
    }
}

/// A winner ordered by duration, then by task.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Long(Winner);

impl Eq for Long {}
impl PartialOrd for Long {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Long {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.seconds.total_cmp(&other.0.seconds).then(self.0.task.cmp(&other.0.task))
    }
}

/// The data that are kept in addition to the sample if there are more than `SAMPLE` winners.
#[derive(Debug, Default)]
struct Many {
    sketch: Sketch,
    longest: BinaryHeap<Reverse<Long>>,
    ends: Ends,
    /// Winners with this key or a larger one are not in the sample.
    beyond: u64,
}

impl Many {
    fn push(&mut self, winner: &Winner) {
        self.sketch.push(winner.seconds);
        self.ends.push(winner.end);
        self.longest.push(Reverse(Long(*winner)));
        if self.longest.len() > LONGEST {
            self.longest.pop();
        }
    }
}

/// The winners of a phase that have known times.
#[derive(Debug, Default)]
pub(super) struct Winners {
    count: u64,
    sum: f64,
    max: f64,
    last_end: Option<f64>,
    fractions: bool,
    sample: Vec<Winner>,
    many: Option<Box<Many>>,
}

impl Winners {
    pub(super) fn push(&mut self, winner: Winner) {
        self.count += 1;
        self.sum += winner.seconds;
        self.max = self.max.max(winner.seconds);
        self.last_end = Some(self.last_end.map_or(winner.end, |last| last.max(winner.end)));
        let milliseconds = winner.seconds / MILLISECOND;
        self.fractions |= (milliseconds - milliseconds.round()).abs() > 1e-6 * milliseconds.max(1.0);
        if self.many.is_none() && self.sample.len() == SAMPLE {
            let mut many = Box::new(Many { beyond: u64::MAX, ..Many::default() });
            for winner in &self.sample {
                many.push(winner);
            }
            self.many = Some(many);
        }
        if let Some(many) = &mut self.many {
            many.push(&winner);
            if winner.key() < many.beyond {
                self.sample.push(winner);
                if self.sample.len() >= 2 * SAMPLE {
                    self.shrink();
                }
            }
        } else {
            self.sample.push(winner);
        }
    }

    /// Reduces the sample to the `SAMPLE` winners with the smallest keys.
    fn shrink(&mut self) {
        if let Some(many) = &mut self.many
            && self.sample.len() > SAMPLE
        {
            let (_, first_out, _) = self.sample.select_nth_unstable_by_key(SAMPLE, Winner::key);
            many.beyond = first_out.key();
            self.sample.truncate(SAMPLE);
        }
    }

    /// Returns the sample, sorted by task; all winners if there are at most 2 048.
    pub(super) fn sample(&mut self) -> &[Winner] {
        self.shrink();
        self.sample.sort_unstable_by_key(|winner| winner.task);
        &self.sample
    }

    /// Returns the resolution of the clock in seconds.
    pub(super) fn resolution(&self) -> f64 {
        if self.fractions { MICROSECOND } else { MILLISECOND }
    }

    pub(super) fn durations(&self) -> Durations {
        if self.count == 0 {
            return Durations::default();
        }
        let (p50, p95) = match &self.many {
            Some(many) => (many.sketch.median(), many.sketch.quantile(0.95)),
            None => (median(&mut self.seconds()), quantile(&mut self.seconds(), 0.95)),
        };
        Durations { mean: Some(self.sum / self.count as f64), p50, p95, max: Some(self.max) }
    }

    pub(super) fn fit(&self) -> Fit {
        match &self.many {
            Some(many) => Fit::of(&many.sketch.summary(self.resolution())),
            None => Fit::of_values(&self.seconds(), self.resolution()),
        }
    }

    /// Returns how many winners took longer than `limit` seconds, and the longest of these winners.
    pub(super) fn longer(&self, limit: f64) -> (u64, Vec<Winner>) {
        let longer = |winner: &&Winner| winner.seconds > limit;
        let mut known: Vec<Winner> = match &self.many {
            Some(many) => many.longest.iter().map(|winner| &winner.0.0).filter(longer).copied().collect(),
            None => self.sample.iter().filter(longer).copied().collect(),
        };
        known.sort_unstable_by_key(|winner| winner.task);
        let count = known.len() as u64;
        (self.many.as_ref().map_or(count, |many| many.sketch.above(limit).max(count)), known)
    }

    /// Returns when 95% of the winners (rounded up) had finished and when all winners had finished, in seconds; `None`
    /// if there are no winners.
    pub(super) fn wait(&self) -> Option<(f64, f64)> {
        let last = self.last_end?;
        let rank = (self.count * 95).div_ceil(100);
        if rank == self.count {
            return Some((last, last));
        }
        let most = if let Some(many) = &self.many {
            many.ends.at(rank)?
        } else {
            let mut ends: Vec<f64> = self.sample.iter().map(|winner| winner.end).collect();
            *ends.select_nth_unstable_by((rank as usize).max(1) - 1, f64::total_cmp).1
        };
        Some((most.min(last), last))
    }

    fn seconds(&self) -> Vec<f64> {
        self.sample.iter().map(|winner| winner.seconds).collect()
    }
}
