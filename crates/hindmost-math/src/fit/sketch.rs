//! A stream of numbers in bounded memory.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::summary::{Moments, Step, Summary};

/// Bins to a factor of e: each is 0.78 % wide.
const BINS: f64 = 128.0;
/// As many of the largest numbers are kept exactly.
const LARGEST: usize = 1024;

/// A number that has an order.
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

/// Numbers of a stream: how many, the smallest and the largest, the sums of their logarithms and of the squares
/// of these, the 1 024 largest exactly, and all in logarithmic bins that are 0.8 % wide. What it keeps grows
/// with the logarithm of the ratio of the largest to the smallest number alone.
#[derive(Clone, Debug, Default)]
pub struct Sketch {
    zeros: u64,
    smallest: Option<f64>,
    moments: Moments,
    largest: BinaryHeap<Reverse<Ordered>>,
    bins: BTreeMap<i32, u64>,
}

impl Sketch {
    /// An empty one.
    pub fn new() -> Sketch {
        Sketch::default()
    }

    /// Takes a number in. Negative ones count as zero; NaN and infinities are left out.
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

    /// How many numbers it has taken in.
    pub fn count(&self) -> u64 {
        self.zeros + self.moments.count as u64
    }

    /// The smallest number with at least this share of the numbers at or below it, to 0.4 %; exact among the
    /// 1 024 largest. `None` of nothing.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let count = self.count();
        let exact = share * count as f64;
        let rank = ((exact - exact.abs() * 1e-12).ceil() as u64).clamp(1, count.max(1));
        if count == 0 {
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

    /// How many numbers are larger than a limit: exact if it lies among the 1 024 largest, else to a bin.
    pub fn above(&self, limit: f64) -> u64 {
        let all = self.largest.len() as u64 == self.moments.count as u64;
        if all || self.largest.peek().is_some_and(|least| least.0.0 <= limit) {
            return self.largest.iter().filter(|value| value.0.0 > limit).count() as u64;
        }
        let bin = if limit > 0.0 { (limit.ln() * BINS).floor() as i32 } else { i32::MIN };
        self.bins.range(bin.saturating_add(1)..).map(|(_, count)| count).sum()
    }

    /// What a fit needs, where the numbers are multiples of a resolution (0: not rounded).
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
            // A bin holds whole ticks: what they stand for begins and ends half-way between two of them.
            let edge = |log: f64| {
                if resolution > 0.0 {
                    ((log.exp() / resolution).ceil() - 0.5).max(0.0).ln() + resolution.ln()
                } else {
                    log
                }
            };
            steps.push(Step { low: edge(low), middle: f64::midpoint(low, high), high: edge(high), up_to });
        }
        // Nothing lies beyond the smallest and the largest number.
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
