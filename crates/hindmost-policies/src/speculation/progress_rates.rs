//! Sorted progress rates of a phase's attempts, and the rate below which an attempt is slow (LATE's SlowTaskThreshold).

use std::collections::BTreeSet;
use std::ops::Bound;

use rustc_hash::FxHashMap;

use super::node_progress::rank;

/// An attempt of the phase: the index of its task, and its copy.
type Copy = (u32, u32);

/// A rate in 1/seconds, as the bits of a float. Positive floats sort as their bits do.
type Bits = u64;

/// What makes a rate slow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Threshold {
    /// It is below the smallest rate that at least this share of the rates does not exceed; in [0, 1].
    Percentile(f64),
    /// It is more than so many standard deviations below the mean of the rates; at least 0.
    Deviations(f64),
}

/// The known rates of a phase's attempts, including finished ones.
#[derive(Debug, Default)]
pub(super) struct ProgressRates {
    sorted: BTreeSet<(Bits, Copy)>,
    of: FxHashMap<Copy, Bits>,
    /// The entry at the percentile, and the number of entries before it; `None` while no rate is known.
    limit: Option<((Bits, Copy), usize)>,
    /// The limit by deviations from the mean, with the sums of the rates and of their squares.
    below_mean: Option<f64>,
    sum: f64,
    squares: f64,
}

impl ProgressRates {
    /// Sets an attempt's rate in 1/seconds. Returns the attempts that are slow now and were not slow before. All calls have
    /// the same threshold.
    pub(super) fn set(&mut self, copy: Copy, rate: f64, threshold: Threshold) -> Vec<Copy> {
        let before = self.limit();
        let entry = (rate.to_bits(), copy);
        if let Some(known) = self.of.insert(copy, entry.0) {
            self.remove((known, copy));
        }
        self.sorted.insert(entry);
        match threshold {
            Threshold::Percentile(share) => {
                match &mut self.limit {
                    Some((at, below)) => *below += usize::from(entry < *at),
                    None => self.limit = Some((entry, 0)),
                }
                self.move_limit(share);
            }
            Threshold::Deviations(number) => {
                self.sum += rate;
                self.squares += rate * rate;
                let count = self.sorted.len() as f64;
                let mean = self.sum / count;
                let deviation = (self.squares / count - mean * mean).max(0.0).sqrt();
                // Sums have rounding errors: of equal rates none is slow.
                self.below_mean = Some(((mean - number * deviation) * (1.0 - 1e-9)).max(0.0));
            }
        }
        let now = self.limit();
        let mut slow: Vec<Copy> = Vec::new();
        if now > before {
            let risen = self.sorted.range((before.to_bits(), (0, 0))..(now.to_bits(), (0, 0)));
            slow.extend(risen.map(|(_, copy)| *copy));
        }
        if rate < now && !(now > before && rate >= before) {
            slow.push(copy);
        }
        slow
    }

    fn remove(&mut self, entry: (Bits, Copy)) {
        self.sorted.remove(&entry);
        let rate = f64::from_bits(entry.0);
        self.sum -= rate;
        self.squares -= rate * rate;
        let Some((at, below)) = self.limit else { return };
        if entry < at {
            self.limit = Some((at, below - 1));
        } else if entry == at {
            let next = self.sorted.range((Bound::Excluded(at), Bound::Unbounded)).next();
            let last = self.sorted.last();
            self.limit = next.map(|next| (*next, below)).or_else(|| Some((*last?, below - 1)));
        }
    }

    /// Moves the limit to the percentile of the rates known now.
    fn move_limit(&mut self, share: f64) {
        let rank = rank(self.sorted.len(), share);
        while let Some((at, below)) = self.limit {
            let (next, below) = match below.cmp(&rank) {
                std::cmp::Ordering::Equal => return,
                std::cmp::Ordering::Greater => (self.sorted.range(..at).next_back(), below - 1),
                std::cmp::Ordering::Less => {
                    (self.sorted.range((Bound::Excluded(at), Bound::Unbounded)).next(), below + 1)
                }
            };
            self.limit = next.map(|next| (*next, below));
        }
    }

    /// Returns the rate in 1/seconds below which an attempt is slow; 0 while fewer than two rates are known.
    pub(super) fn limit(&self) -> f64 {
        let by_percentile = self.limit.map(|((rate, _), _)| f64::from_bits(rate));
        self.below_mean.or(by_percentile).filter(|_| self.sorted.len() > 1).unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn limit_and_newly_slow_attempts_agree_with_sorting(
            steps in prop::collection::vec((0u32..30, 1u32..8), 1..80),
            share in 0.0f64..=1.0,
        ) {
            let mut rates = ProgressRates::default();
            let mut known: std::collections::BTreeMap<u32, f64> = std::collections::BTreeMap::new();
            let mut were_slow: Vec<u32> = Vec::new();
            for (task, rate) in steps {
                let rate = f64::from(rate);
                let newly_slow = rates.set((task, 0), rate, Threshold::Percentile(share));
                known.insert(task, rate);
                let mut sorted: Vec<f64> = known.values().copied().collect();
                sorted.sort_by(f64::total_cmp);
                let limit = if sorted.len() < 2 { 0.0 } else { sorted[rank(sorted.len(), share)] };
                prop_assert_eq!(rates.limit(), limit);
                let slow: Vec<u32> = known.iter().filter(|(_, rate)| **rate < limit).map(|(task, _)| *task).collect();
                for new in slow.iter().filter(|task| !were_slow.contains(task)) {
                    prop_assert!(newly_slow.contains(&(*new, 0)), "task {} is newly slow, but was not returned", new);
                }
                prop_assert!(newly_slow.iter().all(|(task, _)| slow.contains(task)));
                were_slow = slow;
            }
        }
    }
    #[test]
    fn slow_by_deviations_from_the_mean() {
        let mut rates = ProgressRates::default();
        let one_below = Threshold::Deviations(1.0);
        // One rate is slow compared with nothing.
        assert!(rates.set((0, 0), 4.0, one_below).is_empty());
        assert_eq!(rates.limit(), 0.0);
        // 4, 4 and 1: the mean is 3 and the standard deviation √((1 + 1 + 4)/3) = √2, so rates below 1.586 are slow.
        assert!(rates.set((1, 0), 4.0, one_below).is_empty());
        assert_eq!(rates.set((2, 0), 1.0, one_below), [(2, 0)]);
        assert!((rates.limit() - (3.0 - 2.0_f64.sqrt())).abs() < 1e-8);
        // The slow attempt gets faster: 4, 4 and 3 have the mean 11/3 and the deviation √(2/9). Its rate is above the old limit,
        // but below the new one, 3.195.
        assert_eq!(rates.set((2, 0), 3.0, one_below), [(2, 0)]);
        assert!((rates.limit() - (11.0 - 2.0_f64.sqrt()) / 3.0).abs() < 1e-8);
        // Of equal rates none is slow.
        let mut equal = ProgressRates::default();
        assert!((0..9).all(|task| equal.set((task, 0), 0.1, one_below).is_empty()));
    }
}
