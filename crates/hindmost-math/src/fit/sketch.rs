//! A summary of a stream of numbers in bounded memory.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::summary::{Moments, Step, Summary};

/// Number of bins per factor of e; each bin is 0.78 % wide.
const BINS: f64 = 128.0;
/// Number of largest values that are kept exactly.
const LARGEST: usize = 1024;

/// A number with a total order.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ordered(f64);

impl Eq for Ordered {}
impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// A sketch of a stream: the count, the smallest and the largest value, the sums of logarithms and of their squares,
/// the 1024 largest values exactly, and all values in logarithmic bins of 0.8 % width. Its memory grows only with the
/// logarithm of largest value / smallest value.
///
/// ```
/// use hindmost_math::fit::Sketch;
///
/// let mut sketch = Sketch::new();
/// (1..=2000).for_each(|second| sketch.push(f64::from(second)));
/// assert_eq!(sketch.count(), 2000);
/// assert_eq!(sketch.quantile(0.95), Some(1900.0)); // Exact, because it is among the 1024 largest.
/// assert_eq!(sketch.above(1900.0), 100);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Sketch {
    zeros: u64,
    smallest: Option<f64>,
    moments: Moments,
    largest: BinaryHeap<Reverse<Ordered>>,
    bins: BTreeMap<i32, u64>,
}

impl Sketch {
    /// Creates an empty sketch.
    pub fn new() -> Sketch {
        Sketch::default()
    }

    /// Adds a number. Negative numbers count as zero; NaN and infinities are left out.
    pub fn push(&mut self, value: f64) {
        if !value.is_finite() {
            return;
        }
        if value <= 0.0 {
            self.zeros += 1;
            return;
        }
        self.smallest = Some(self.smallest.map_or(value, |smallest| smallest.min(value)));
        let log = value.ln();
        self.moments.add(log);
        *self.bins.entry((log * BINS).floor() as i32).or_default() += 1;
        if self.largest.len() < LARGEST {
            self.largest.push(Reverse(Ordered(value)));
        } else if let Some(mut least) = self.largest.peek_mut()
            && least.0.0 < value
        {
            *least = Reverse(Ordered(value));
        }
    }

    /// Returns the number of values.
    pub fn count(&self) -> u64 {
        self.zeros + self.moments.count as u64
    }

    /// Returns the smallest value with at least this share of the values at or below it, with an error of up to 0.4 %.
    /// The result is exact if it is among the 1024 largest values. `None` if there are no values.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let count = self.count();
        let exact = share * count as f64;
        self.at(((exact - exact.abs() * 1e-12).ceil() as u64).clamp(1, count.max(1)))
    }

    /// Returns the median: the mean of the middle two values if their number is even. The error is that of
    /// [`Sketch::quantile`]. `None` if there are no values.
    pub fn median(&self) -> Option<f64> {
        let count = self.count();
        let lower = self.at(count.div_ceil(2))?;
        self.at(count / 2 + 1).map(|upper| f64::midpoint(lower, upper))
    }

    /// Returns the value at a rank, from 1 to the number of values; `None` for another rank.
    fn at(&self, rank: u64) -> Option<f64> {
        let count = self.count();
        if rank == 0 || rank > count {
            return None;
        }
        if count - rank < self.largest.len() as u64 {
            let mut largest: Vec<f64> = self.largest.iter().map(|value| value.0.0).collect();
            largest.sort_unstable_by(|a, b| b.total_cmp(a));
            return largest.get((count - rank) as usize).copied();
        }
        let mut up_to = self.zeros;
        if rank <= up_to {
            return Some(0.0);
        }
        for (bin, counted) in &self.bins {
            up_to += counted;
            if rank <= up_to {
                let middle = ((f64::from(*bin) + 0.5) / BINS).exp();
                return Some(middle.max(self.smallest.unwrap_or(0.0)));
            }
        }
        None
    }

    /// Returns how many values are larger than a limit. Exact if the limit is among the 1024 largest values; otherwise
    /// values in the limit's bin are not counted.
    pub fn above(&self, limit: f64) -> u64 {
        let all = self.largest.len() as u64 == self.moments.count as u64;
        if all || self.largest.peek().is_some_and(|least| least.0.0 <= limit) {
            return self.largest.iter().filter(|value| value.0.0 > limit).count() as u64;
        }
        let bin = if limit > 0.0 { (limit.ln() * BINS).floor() as i32 } else { i32::MIN };
        self.bins.range(bin.saturating_add(1)..).map(|(_, count)| count).sum()
    }

    /// Returns the summary that a fit needs. The values that were added must be multiples of `resolution` (0: not
    /// rounded).
    pub fn summary(&self, resolution: f64) -> Summary {
        let resolution = if resolution.is_finite() { resolution.max(0.0) } else { 0.0 };
        let mut moments = self.moments;
        let mut steps = Vec::with_capacity(self.bins.len() + 1);
        let mut up_to = 0;
        let half = resolution / 2.0;
        if half > 0.0 && self.zeros > 0 {
            moments.add_many(half.ln(), self.zeros as f64);
            up_to = self.zeros;
            steps.push(Step { low: f64::NEG_INFINITY, middle: half.ln(), high: half.ln(), up_to });
        }
        for (bin, count) in &self.bins {
            up_to += count;
            let (low, high) = (f64::from(*bin) / BINS, (f64::from(*bin) + 1.0) / BINS);
            // The values in a bin are whole ticks. The interval that they represent ends half-way between two ticks.
            let edge = |log: f64| {
                if resolution > 0.0 {
                    ((log.exp() / resolution).ceil() - 0.5).max(0.0).ln() + resolution.ln()
                } else {
                    log
                }
            };
            steps.push(Step { low: edge(low), middle: f64::midpoint(low, high), high: edge(high), up_to });
        }
        // The smallest value counts as at least half a tick.
        let smallest = if half > 0.0 && self.zeros > 0 { half } else { self.smallest.unwrap_or(f64::NAN).max(half) };
        let mut largest: Vec<f64> = self.largest.iter().map(|value| value.0.0).collect();
        largest.sort_unstable_by(|a, b| b.total_cmp(a));
        Summary {
            count: up_to,
            smallest,
            lowest: smallest.ln(),
            mean: moments.mean,
            squares: moments.squares,
            largest,
            steps,
            resolution,
        }
    }
}
