//! The summary of a sample that a fit needs.

use super::goodness::Reference;

/// A group of values that can't be distinguished, and the number of values up to this group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Logarithm of the lower end of the interval that these values represent.
    pub low: f64,
    /// Logarithm of a value in the middle of that interval.
    pub middle: f64,
    /// Logarithm of the upper end of that interval.
    pub high: f64,
    /// Number of values in this group and in all groups of smaller values.
    pub up_to: u64,
}

/// A summary of the logarithms of positive values.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    pub(super) count: u64,
    /// The smallest value.
    pub(super) smallest: f64,
    /// Logarithm of the smallest value.
    pub(super) lowest: f64,
    /// Mean of the logarithms.
    pub(super) mean: f64,
    /// Sum of the squared differences of the logarithms from their mean.
    pub(super) squares: f64,
    /// The largest values, largest first.
    pub(super) largest: Vec<f64>,
    /// Steps from the smallest to the largest value.
    pub(super) steps: Vec<Step>,
    /// All values are multiples of this; 0 if they are not rounded.
    pub(super) resolution: f64,
}

/// Accumulates a mean and the squared differences from it (Welford's method).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Moments {
    pub count: f64,
    pub mean: f64,
    pub squares: f64,
}

impl Moments {
    pub(super) fn add(&mut self, x: f64) {
        self.count += 1.0;
        let difference = x - self.mean;
        self.mean += difference / self.count;
        self.squares += difference * (x - self.mean);
    }

    /// Adds the same value several times.
    pub(super) fn add_many(&mut self, x: f64, times: f64) {
        if times > 0.0 {
            let difference = x - self.mean;
            let count = self.count + times;
            self.squares += difference * difference * self.count * times / count;
            self.mean += difference * times / count;
            self.count = count;
        }
    }
}

/// Returns the value, or half a tick if the value is smaller. `None` if the result is not a positive, finite number.
fn positive(value: f64, resolution: f64) -> Option<f64> {
    // Infinities and NaN are not durations; `max` would hide NaN.
    if !value.is_finite() {
        return None;
    }
    let value = value.max(resolution / 2.0);
    (value > 0.0).then_some(value)
}

/// Returns the logarithms of the ends of the interval that a rounded value represents, given the value's logarithm.
/// Without rounding, both are that logarithm.
fn ends(log: f64, resolution: f64) -> (f64, f64) {
    if resolution <= 0.0 {
        return (log, log);
    }
    let half = resolution / 2.0;
    let value = log.exp();
    // Half a tick represents everything that rounds to 0.
    if value < 0.75 * resolution { (f64::NEG_INFINITY, half.ln()) } else { ((value - half).ln(), (value + half).ln()) }
}

impl Summary {
    /// Summarises exact values, which are multiples of `resolution` (0: not rounded). NaN and infinities are left out;
    /// without a resolution, so are values that are not positive.
    pub fn of(values: &[f64], resolution: f64) -> Summary {
        let resolution = if resolution.is_finite() { resolution.max(0.0) } else { 0.0 };
        let mut counted: Vec<f64> = values.iter().filter_map(|value| positive(*value, resolution)).collect();
        counted.sort_unstable_by(f64::total_cmp);
        let mut moments = Moments::default();
        let mut steps: Vec<Step> = Vec::new();
        for (at, value) in counted.iter().enumerate() {
            let log = value.ln();
            moments.add(log);
            let up_to = at as u64 + 1;
            match steps.last_mut() {
                Some(step) if step.middle == log => step.up_to = up_to,
                _ => {
                    let (low, high) = ends(log, resolution);
                    steps.push(Step { low, middle: log, high, up_to });
                }
            }
        }
        Summary {
            count: counted.len() as u64,
            smallest: counted.first().copied().unwrap_or(f64::NAN),
            lowest: counted.first().map_or(f64::NAN, |value| value.ln()),
            mean: moments.mean,
            squares: moments.squares,
            largest: counted.into_iter().rev().collect(),
            steps,
            resolution,
        }
    }

    /// Returns the number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the largest vertical distance between the sample's distribution function and `cdf`, which takes a
    /// logarithm. The `without` smallest values are ignored.
    pub(super) fn distance(&self, without: u64, cdf: impl Fn(f64) -> f64) -> f64 {
        let count = (self.count - without.min(self.count)) as f64;
        let mut below = 0.0;
        let mut distance: f64 = 0.0;
        for step in &self.steps {
            let up_to = step.up_to.saturating_sub(without) as f64 / count;
            if step.up_to > without {
                let (low, high) = (cdf(step.low), cdf(step.high));
                distance = distance.max((low - below).abs()).max((up_to - high).abs());
            }
            below = up_to;
        }
        distance
    }

    /// Returns, for each step, the logarithm that represents its values, and their number.
    pub(super) fn grouped(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        let mut below = 0;
        self.steps.iter().map(move |step| {
            let count = step.up_to - below;
            below = step.up_to;
            (step.middle, count as f64)
        })
    }

    /// Compares the tail with the exponential distribution of mean `scale`. Takes the logarithms of the `tail` largest
    /// values, subtracts the logarithm of the next smaller value, and returns the largest vertical distance between
    /// both distribution functions.
    pub(super) fn tail_distance(&self, tail: usize, scale: f64) -> f64 {
        let Some(from) = self.largest.get(tail).map(|value| value.ln()) else { return f64::NAN };
        let mut distance: f64 = 0.0;
        let count = tail as f64;
        let mut at = 0;
        while at < tail {
            let value = self.largest[at];
            let ties = self.largest[at..tail].iter().take_while(|other| **other == value).count();
            let (low, high) = ends(value.ln(), self.resolution);
            let cdf = |log: f64| Reference::Exponential.cdf((log - from) / scale);
            let (below, up_to) = ((tail - at - ties) as f64 / count, (tail - at) as f64 / count);
            distance = distance.max((cdf(low) - below).abs()).max((up_to - cdf(high)).abs());
            at += ties;
        }
        distance
    }
}
