//! Ranks of policies from their values on the same seeds.

use hindmost_claims::Rank;
use hindmost_math::statistics::{mean, student_interval_at};

/// Confidence of the range of a policy's ranks.
const CONFIDENCE: f64 = 0.95;

/// Ranks policies by a value. `values` has, for each policy, the value on each seed; all policies have the same seeds.
/// A policy without values, or with one that is not finite, has no rank and does not count for the others' ranks.
/// `smaller_is_better` gives the direction.
///
/// A policy is better than another *with certainty* if the confidence interval of the difference on the same seeds lies
/// on one side of 0. The confidence is 1 − 0.05/(policies − 1), so that with at least 95% confidence all comparisons of
/// one policy with the others are right at the same time (Bonferroni).
pub(super) fn ranks(values: &[Vec<f64>], smaller_is_better: bool) -> Vec<Option<Rank>> {
    let is_ranked = |seeds: &[f64]| !seeds.is_empty() && seeds.iter().all(|value| value.is_finite());
    let ranked: Vec<bool> = values.iter().map(|seeds| is_ranked(seeds)).collect();
    let count = ranked.iter().filter(|ranked| **ranked).count();
    let comparisons = count.saturating_sub(1).max(1) as f64;
    let confidence = 1.0 - (1.0 - CONFIDENCE) / comparisons;
    let rank = |at: usize| {
        let own = &values[at];
        let (mut better, mut equal, mut surely_better, mut surely_worse) = (0, 0, 0, 0);
        for other in (0..values.len()).filter(|other| *other != at && ranked[*other]) {
            let sign = if smaller_is_better { 1.0 } else { -1.0 };
            let differences: Vec<f64> =
                values[other].iter().zip(own).map(|(other, own)| sign * (other - own)).collect();
            let difference = mean(&differences).unwrap_or(0.0);
            better += usize::from(difference < 0.0);
            equal += usize::from(difference == 0.0);
            if let Some([low, high]) = student_interval_at(&differences, confidence) {
                surely_better += usize::from(high < 0.0);
                surely_worse += usize::from(low > 0.0);
            }
        }
        Rank { rank: 1.0 + better as f64 + equal as f64 / 2.0, first: 1 + surely_better, last: count - surely_worse }
    };
    (0..values.len()).map(|at| ranked[at].then(|| rank(at))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(rank: f64, first: usize, last: usize) -> Rank {
        Rank { rank, first, last }
    }

    /// By hand: with three policies the confidence is 1 − 0.05/2 = 0.975, and with two seeds Student's t has one degree
    /// of freedom, whose quantile of 0.9875 is tan(π·0.4875) = 25.45. b − a is 10 and 10.2: mean 10.1, standard error
    /// 0.1, so the interval is 10.1 ± 2.5 and a is better with certainty. c − b is 1 and 3: 2 ± 25.45, so that b and c
    /// can change places. c − a is 11 and 13.2: 12.1 ± 28, so the order of a and c is uncertain.
    #[test]
    fn ranges_follow_from_simultaneous_paired_intervals() {
        let values = [vec![1.0, 1.0], vec![11.0, 11.2], vec![12.0, 14.2]];
        assert_eq!(ranks(&values, true), [rank(1.0, 1, 2), rank(2.0, 2, 3), rank(3.0, 1, 3)].map(Some));
        // The other direction reverses everything.
        assert_eq!(ranks(&values, false), [rank(3.0, 2, 3), rank(2.0, 1, 2), rank(1.0, 1, 3)].map(Some));
    }

    #[test]
    fn equal_values_share_places_and_missing_ones_do_not_count() {
        let values = [vec![2.0, 3.0], vec![f64::NAN, 1.0], vec![2.0, 3.0], vec![1.0, 2.0], Vec::new()];
        let ranks = ranks(&values, true);
        assert_eq!(ranks[0].map(|rank| rank.rank), Some(2.5));
        assert_eq!(ranks[2].map(|rank| rank.rank), Some(2.5));
        // The difference is 1 on both seeds, so it is certain.
        assert_eq!(ranks[3], Some(rank(1.0, 1, 1)));
        assert_eq!(ranks[0], Some(rank(2.5, 2, 3)));
        assert_eq!([ranks[1], ranks[4]], [None, None]);
    }
}
