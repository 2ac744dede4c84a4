//! Records when tasks finished, in bounded memory.

use std::collections::BTreeMap;

/// The most instants that are counted separately.
const INSTANTS: usize = 2048;

/// Counts of finished tasks by instant. An instant is an interval of one millisecond; it is doubled whenever there are
/// more than 2 048 instants. The result does not depend on the order of the tasks.
#[derive(Debug, Default)]
pub(super) struct Ends {
    /// An instant is 2^`doublings` milliseconds long.
    doublings: u32,
    counts: BTreeMap<i64, u64>,
}

impl Ends {
    pub(super) fn push(&mut self, end: f64) {
        let milliseconds = (end * 1000.0).round() as i64;
        *self.counts.entry(milliseconds >> self.doublings).or_default() += 1;
        while self.counts.len() > INSTANTS {
            self.doublings += 1;
            for (instant, count) in std::mem::take(&mut self.counts) {
                *self.counts.entry(instant >> 1).or_default() += count;
            }
        }
    }

    /// Returns the middle of the instant in which the `rank`-th task finished (counted from 1), in seconds; `None` if
    /// fewer tasks finished.
    pub(super) fn at(&self, rank: u64) -> Option<f64> {
        let mut up_to = 0;
        for (instant, count) in &self.counts {
            up_to += count;
            if up_to >= rank {
                let length = (1_i64 << self.doublings) as f64;
                return Some((*instant as f64 * length + (length - 1.0) / 2.0) / 1000.0);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finish_times_at_few_instants_are_exact() {
        let mut ends = Ends::default();
        for end in [1_600_000_000.123, -5.0, 3.5, 3.5] {
            ends.push(end);
        }
        assert_eq!([1, 2, 3, 4].map(|rank| ends.at(rank)), [Some(-5.0), Some(3.5), Some(3.5), Some(1_600_000_000.123)]);
        assert_eq!(ends.at(5), None);
    }

    #[test]
    fn many_instants_are_exact_to_a_thousandth_of_their_span() {
        let end = |task: u32| f64::from(task.wrapping_mul(2_654_435_761) % 100_000) * 0.01 - 300.0;
        let (mut forwards, mut backwards) = (Ends::default(), Ends::default());
        for task in 0..100_000 {
            forwards.push(end(task));
        }
        for task in (0..100_000).rev() {
            backwards.push(end(task));
        }
        let mut all: Vec<f64> = (0..100_000).map(end).collect();
        all.sort_by(f64::total_cmp);
        assert!(forwards.counts.len() <= INSTANTS && forwards.counts == backwards.counts);
        for rank in [1, 5_000, 95_000, 100_000] {
            let exact = all[rank as usize - 1];
            assert!((forwards.at(rank).unwrap() - exact).abs() <= 1.0, "{rank}");
        }
    }
}
