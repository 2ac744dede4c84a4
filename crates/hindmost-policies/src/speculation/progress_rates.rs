//! Sorted progress rates of a phase's attempts, and the rate below which an attempt is slow (LATE's SlowTaskThreshold).
//!
//! LATE knows the rate of every running attempt. Here a rate may become known only after a share of the work, which fast
//! attempts do first. So an attempt whose rate is not known, although that of an attempt that started later is, counts as
//! slower than all with a known rate. Otherwise the slower ones of the fastest attempts would look slow.

use std::collections::BTreeSet;
use std::ops::Bound;

use hindmost_core::time::Time;
use rustc_hash::FxHashMap;

/// An attempt of the phase: the index of its task, and its copy.
type Copy = (u32, u32);

/// A rate in 1/seconds, as the bits of a float. Positive floats sort as their bits do.
type Bits = u64;

/// What makes a rate slow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Threshold {
    /// It is below this percentile of the rates, interpolated between the two nearest ones; in [0, 1].
    Percentile(f64),
    /// It is more than so many standard deviations below the mean of the rates; at least 0.
    Deviations(f64),
}

/// The known rates of a phase's attempts, including finished ones.
#[derive(Debug, Default)]
pub(super) struct ProgressRates {
    sorted: BTreeSet<(Bits, Copy)>,
    of: FxHashMap<Copy, Bits>,
    /// Starts of the running attempts without a known rate.
    unknown: FxHashMap<Copy, Time>,
    /// Those of them that are not overtaken.
    waiting: BTreeSet<(Time, Copy)>,
    /// Those of them that are overtaken: they started no later than one whose rate is known.
    overtaken: BTreeSet<(Time, Copy)>,
    /// Latest start of an attempt whose rate is known.
    latest_known: Option<Time>,
    /// The entry at the percentile, and the number of entries before it; `None` while no rate is known.
    limit: Option<((Bits, Copy), usize)>,
    /// The limit by deviations from the mean, with the sums of the rates and of their squares.
    below_mean: Option<f64>,
    sum: f64,
    squares: f64,
}

impl ProgressRates {
    /// Adds an attempt that has started at `since` and will report its progress.
    pub(super) fn started(&mut self, copy: Copy, since: Time) {
        self.forget_unknown(copy);
        self.unknown.insert(copy, since);
        self.waiting.insert((since, copy));
    }

    /// Removes an attempt that has ended. Returns the attempts that are slow now and were not slow before. A known rate
    /// stays.
    pub(super) fn ended(&mut self, copy: Copy, threshold: Threshold) -> Vec<Copy> {
        let before = self.limit();
        if let (true, Threshold::Percentile(share)) = (self.forget_unknown(copy), threshold) {
            self.move_limit(share);
        }
        self.risen(before)
    }

    /// Returns the running attempts without a known rate.
    pub(super) fn unknown(&self) -> impl Iterator<Item = Copy> + '_ {
        self.unknown.keys().copied()
    }

    /// Removes an attempt from those without a known rate. Returns true if it was overtaken.
    fn forget_unknown(&mut self, copy: Copy) -> bool {
        let Some(since) = self.unknown.remove(&copy) else { return false };
        self.waiting.remove(&(since, copy));
        self.overtaken.remove(&(since, copy))
    }

    /// Returns the attempts below the limit that were not below it before.
    fn risen(&self, before: f64) -> Vec<Copy> {
        let now = self.limit();
        if now <= before {
            return Vec::new();
        }
        let risen = self.sorted.range((before.to_bits(), (0, 0))..(now.to_bits(), (0, 0)));
        risen.map(|(_, copy)| *copy).collect()
    }

    /// Sets the rate in 1/seconds of an attempt that started at `since`. Returns the attempts that are slow now and were not
    /// slow before. All calls have the same threshold.
    pub(super) fn set(&mut self, copy: Copy, since: Time, rate: f64, threshold: Threshold) -> Vec<Copy> {
        let before = self.limit();
        self.forget_unknown(copy);
        if self.latest_known.is_none_or(|latest| latest < since) {
            self.latest_known = Some(since);
        }
        let overtaken = self.waiting.iter().take_while(|(start, _)| Some(*start) <= self.latest_known).count();
        for _ in 0..overtaken {
            self.overtaken.extend(self.waiting.pop_first());
        }
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
        let mut slow = self.risen(before);
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

    /// Moves the limit to the percentile of the rates known now and of the overtaken attempts, which are below them.
    fn move_limit(&mut self, share: f64) {
        let place = percentile_place(self.sorted.len() + self.overtaken.len(), share);
        let rank = place.saturating_sub(self.overtaken.len());
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

/// Returns the place, from 0, of the smallest of `count` sorted values that is not below a percentile, which is interpolated
/// between the two nearest values: it is at share·(count − 1).
fn percentile_place(count: usize, share: f64) -> usize {
    let place = share * count.saturating_sub(1) as f64;
    // 0.1·30 must give place 3, so the product is reduced by a relative 1e-12.
    ((place - place * 1e-12).ceil() as usize).min(count.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn limit_and_newly_slow_attempts_agree_with_sorting(
            steps in prop::collection::vec((0u32..30, 0u32..8), 1..80),
            starts in prop::collection::vec(0u32..6, 30),
            share in 0.0f64..=1.0,
        ) {
            let since = |task: u32| Time::from_seconds(f64::from(starts[task as usize]));
            let threshold = Threshold::Percentile(share);
            let mut rates = ProgressRates::default();
            let mut known: std::collections::BTreeMap<u32, f64> = std::collections::BTreeMap::new();
            let mut unknown: std::collections::BTreeSet<u32> = (0..30).step_by(2).collect();
            for task in &unknown {
                rates.started((*task, 0), since(*task));
            }
            let mut were_slow: Vec<u32> = Vec::new();
            for (task, rate) in steps {
                // A rate of 0 stands for the end of the attempt.
                let newly_slow = if rate == 0 {
                    rates.ended((task, 0), threshold)
                } else {
                    known.insert(task, f64::from(rate));
                    rates.set((task, 0), since(task), f64::from(rate), threshold)
                };
                unknown.remove(&task);
                let latest = known.keys().map(|task| since(*task)).max();
                let overtaken = unknown.iter().filter(|task| Some(since(**task)) <= latest).count();
                let mut sorted = vec![0.0; overtaken];
                sorted.extend(known.values());
                sorted.sort_by(f64::total_cmp);
                let place = (share * (sorted.len() as f64 - 1.0) - 1e-9).ceil().max(0.0) as usize;
                // Below a limit of 0, or of the slowest known rate, is no known rate.
                let limit = if known.len() < 2 { 0.0 } else { sorted[place] };
                let slowest = known.values().copied().reduce(f64::min).unwrap_or(0.0);
                prop_assert_eq!(rates.limit().max(slowest), limit.max(slowest));
                let slow: Vec<u32> = known.iter().filter(|(_, rate)| **rate < limit).map(|(task, _)| *task).collect();
                for new in slow.iter().filter(|task| !were_slow.contains(task)) {
                    prop_assert!(newly_slow.contains(&(*new, 0)), "task {} is newly slow, but was not returned", new);
                }
                prop_assert!(newly_slow.iter().all(|(task, _)| slow.contains(task)));
                were_slow = slow;
            }
        }
    }

    /// By hand: of 4 rates the percentile 0.25 is at 0.75 between the first two, so the slowest is slow; of 5 it is the
    /// second, so the slowest is slow; of 20 it is at 4.75, so five are slow.
    #[test]
    fn the_percentile_is_interpolated() {
        assert_eq!([1, 2, 4, 5, 6, 20].map(|count| percentile_place(count, 0.25)), [0, 1, 1, 1, 2, 5]);
        assert_eq!([1, 2, 4].map(|count| percentile_place(count, 0.0)), [0, 0, 0]);
        assert_eq!([1, 2, 4].map(|count| percentile_place(count, 1.0)), [0, 1, 3]);
        assert_eq!(percentile_place(31, 0.1), 3);
    }

    /// Eight attempts start together, and report after a tenth of their work, the fastest first. The percentile 0.25 of eight
    /// is at 1.75, so that two are slow: the last two. Without the attempts that have not reported, the first of three would
    /// have been slow.
    #[test]
    fn attempts_that_have_not_reported_are_slower() {
        let quarter = Threshold::Percentile(0.25);
        let mut rates = ProgressRates::default();
        (0..8).for_each(|task| rates.started((task, 0), Time::ZERO));
        for task in 0..6 {
            assert_eq!(rates.set((task, 0), Time::ZERO, 1.0 / f64::from(task + 1), quarter), [], "task {task}");
        }
        assert_eq!(rates.set((6, 0), Time::ZERO, 1.0 / 7.0, quarter), [(6, 0)]);
        assert_eq!(rates.set((7, 0), Time::ZERO, 1.0 / 8.0, quarter), [(7, 0)]);
        // One that started later says nothing yet.
        rates.started((8, 0), Time::from_seconds(1.0));
        assert!(rates.limit() > 1.0 / 7.0);
    }

    #[test]
    fn slow_by_deviations_from_the_mean() {
        let mut rates = ProgressRates::default();
        let one_below = Threshold::Deviations(1.0);
        // One rate is slow compared with nothing.
        assert!(rates.set((0, 0), Time::ZERO, 4.0, one_below).is_empty());
        assert_eq!(rates.limit(), 0.0);
        // 4, 4 and 1: the mean is 3 and the standard deviation √((1 + 1 + 4)/3) = √2, so rates below 1.586 are slow.
        assert!(rates.set((1, 0), Time::ZERO, 4.0, one_below).is_empty());
        assert_eq!(rates.set((2, 0), Time::ZERO, 1.0, one_below), [(2, 0)]);
        assert!((rates.limit() - (3.0 - 2.0_f64.sqrt())).abs() < 1e-8);
        // The slow attempt gets faster: 4, 4 and 3 have the mean 11/3 and the deviation √(2/9). Its rate is above the old limit,
        // but below the new one, 3.195.
        assert_eq!(rates.set((2, 0), Time::ZERO, 3.0, one_below), [(2, 0)]);
        assert!((rates.limit() - (11.0 - 2.0_f64.sqrt()) / 3.0).abs() < 1e-8);
        // Of equal rates none is slow.
        let mut equal = ProgressRates::default();
        assert!((0..9).all(|task| equal.set((task, 0), Time::ZERO, 0.1, one_below).is_empty()));
    }
}
