//! Keeps the winners of a phase: all of them up to 2 048, beyond that a sketch of their durations and ends.

use hindmost_core::metrics::Durations;
use hindmost_math::fit::{Fit, Sketch};
use hindmost_math::statistics::{median, quantile};

use super::ends::Ends;

/// Largest number of winners that are all kept.
const KEPT: usize = Durations::EXACT as usize;
/// Resolution of the clock if all durations are whole milliseconds, in seconds.
const MILLISECOND: f64 = 0.001;
/// Resolution of the clock if some duration is not a whole number of milliseconds, in seconds.
const MICROSECOND: f64 = 0.000_001;

/// The data that are kept if there are more than `KEPT` winners.
#[derive(Debug, Default)]
struct Many {
    sketch: Sketch,
    ends: Ends,
}

impl Many {
    fn push(&mut self, seconds: f64, end: f64) {
        self.sketch.push(seconds);
        self.ends.push(end);
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
    /// Durations and ends of the first winners.
    kept: Vec<(f64, f64)>,
    many: Option<Box<Many>>,
}

impl Winners {
    /// Adds a winner that took `seconds` until `end`.
    pub(super) fn push(&mut self, seconds: f64, end: f64) {
        self.count += 1;
        self.sum += seconds;
        self.max = self.max.max(seconds);
        self.last_end = Some(self.last_end.map_or(end, |last| last.max(end)));
        let milliseconds = seconds / MILLISECOND;
        self.fractions |= (milliseconds - milliseconds.round()).abs() > 1e-6 * milliseconds.max(1.0);
        if self.kept.len() < KEPT {
            self.kept.push((seconds, end));
            return;
        }
        let many = self.many.get_or_insert_with(|| {
            let mut many = Box::new(Many::default());
            for (seconds, end) in &self.kept {
                many.push(*seconds, *end);
            }
            many
        });
        many.push(seconds, end);
    }

    /// The bytes that the winners take, about: a sketch and the counts by instant are as large as they can get.
    pub(super) fn bytes(&self) -> usize {
        let sketch = 64 << 10;
        self.kept.capacity() * size_of::<(f64, f64)>() + if self.many.is_some() { sketch } else { 0 }
    }

    /// Returns the resolution of the clock in seconds.
    fn resolution(&self) -> f64 {
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
        let are_approximate = self.many.is_some();
        Durations { mean: Some(self.sum / self.count as f64), p50, p95, max: Some(self.max), are_approximate }
    }

    pub(super) fn fit(&self) -> Fit {
        match &self.many {
            Some(many) => Fit::of(&many.sketch.summary(self.resolution())),
            None => Fit::of_values(&self.seconds(), self.resolution()),
        }
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
            let mut ends: Vec<f64> = self.kept.iter().map(|(_, end)| *end).collect();
            *ends.select_nth_unstable_by((rank as usize).max(1) - 1, f64::total_cmp).1
        };
        Some((most.min(last), last))
    }

    fn seconds(&self) -> Vec<f64> {
        self.kept.iter().map(|(seconds, _)| *seconds).collect()
    }
}
