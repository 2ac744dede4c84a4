//! How certain mean ranks are: their intervals over seeds, and which policies are first when a world is left out.
//!
//! A resample draws as many seeds as a world has, with replacement, and gives all policies of the world the same ones
//! (paired bootstrap; B. Efron and R. Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 8). Worlds are drawn
//! independently of each other, and all of them stay in the comparison: an interval is about other seeds of these worlds.
//! Leaving out each world in turn says how much depends on the choice of worlds.

use hindmost_claims::{GroupKind, GroupMember, RankedGroup};
use hindmost_math::bootstrap::resampled_indices;
use hindmost_math::statistics::{mean, quantile};

/// Number of resamples of the seeds.
const RESAMPLES: u64 = 2000;

/// Mean ranks of policies over worlds. A policy that is not ranked in each world has the mean rank NaN.
pub(super) struct MeanRanks {
    /// The mean rank of each policy.
    means: Vec<f64>,
    /// The mean rank of each policy in each resample; empty for a single seed.
    resamples: Vec<Vec<f64>>,
    /// The mean rank of each policy without each of the worlds; empty for a single world.
    without: Vec<Vec<f64>>,
}

impl MeanRanks {
    /// Ranks policies by a value. `worlds` has, for each world, each policy and each seed, the value. All policies of a
    /// world have the same seeds. `smaller_is_better` gives the direction.
    pub(super) fn of(worlds: &[Vec<Vec<f64>>], smaller_is_better: bool) -> MeanRanks {
        let ranks_of = |means: &dyn Fn(&[f64]) -> f64, world: &Vec<Vec<f64>>| {
            let means: Vec<f64> = world.iter().map(|seeds| means(seeds)).collect();
            ranks_of_means(&means, smaller_is_better)
        };
        let plain = |seeds: &[f64]| mean(seeds).unwrap_or(f64::NAN);
        let ranks: Vec<Vec<f64>> = worlds.iter().map(|world| ranks_of(&plain, world)).collect();
        let all: Vec<&Vec<f64>> = ranks.iter().collect();
        let without = |left_out: usize| {
            let others: Vec<&Vec<f64>> =
                ranks.iter().enumerate().filter(|(world, _)| *world != left_out).map(|(_, ranks)| ranks).collect();
            mean_of(&others)
        };
        let resample = |number: u64| {
            let of_world = |(at, world): (usize, &Vec<Vec<f64>>)| {
                let count = world.first().map_or(0, Vec::len);
                let drawn: Vec<usize> = resampled_indices(at as u64, number, count).collect();
                let mean = |seeds: &[f64]| {
                    // A missing value of any seed keeps the policy out of the ranks, even if the seed is not drawn.
                    if !seeds.iter().all(|value| value.is_finite()) || seeds.len() != count {
                        return f64::NAN;
                    }
                    drawn.iter().map(|seed| seeds[*seed]).sum::<f64>() / count as f64
                };
                ranks_of(&mean, world)
            };
            let ranks: Vec<Vec<f64>> = worlds.iter().enumerate().map(of_world).collect();
            mean_of(&ranks.iter().collect::<Vec<_>>())
        };
        let several_seeds = worlds.iter().flatten().any(|seeds| seeds.len() > 1);
        MeanRanks {
            means: mean_of(&all),
            resamples: if several_seeds { (0..RESAMPLES).map(resample).collect() } else { Vec::new() },
            without: if worlds.len() > 1 { (0..worlds.len()).map(without).collect() } else { Vec::new() },
        }
    }

    /// Returns the 95% interval of the mean rank of the policy with this number; `None` without a mean rank or with a
    /// single seed.
    pub(super) fn ci95(&self, policy: usize) -> Option<[f64; 2]> {
        self.means.get(policy).filter(|rank| rank.is_finite())?;
        let mut ranks: Vec<f64> = self.resamples.iter().map(|resample| resample[policy]).collect();
        Some([quantile(&mut ranks, 0.025)?, quantile(&mut ranks, 0.975)?])
    }

    /// Compares the policies with these numbers and names for the first place.
    pub(super) fn group(&self, group: GroupKind, policies: &[(usize, &str)]) -> RankedGroup {
        let ranked: Vec<(usize, &str)> = policies
            .iter()
            .copied()
            .filter(|(at, _)| self.means.get(*at).is_some_and(|rank| rank.is_finite()))
            .collect();
        let is_first = |ranks: &[f64], at: usize| ranked.iter().all(|(other, _)| ranks[at] <= ranks[*other]);
        let times_first = |sets: &[Vec<f64>], at: usize| sets.iter().filter(|ranks| is_first(ranks, at)).count();
        let place = |(at, policy): (usize, &str)| GroupMember {
            policy: policy.to_owned(),
            mean_rank: self.means[at],
            ci95: self.ci95(at),
            first_in_resamples: if self.resamples.is_empty() {
                f64::from(u8::from(is_first(&self.means, at)))
            } else {
                times_first(&self.resamples, at) as f64 / self.resamples.len() as f64
            },
            first_without_a_world: times_first(&self.without, at),
        };
        let mut places: Vec<GroupMember> = ranked.iter().copied().map(place).collect();
        places.sort_by(|one, other| one.mean_rank.total_cmp(&other.mean_rank));
        RankedGroup { group, members: places }
    }
}

/// Returns the ranks of values; 1 is the best. Equal values share the mean of their places. A value that is not finite has
/// the rank NaN and does not count for the others' ranks.
fn ranks_of_means(values: &[f64], smaller_is_better: bool) -> Vec<f64> {
    let sign = if smaller_is_better { 1.0 } else { -1.0 };
    let mut sorted: Vec<usize> = (0..values.len()).filter(|at| values[*at].is_finite()).collect();
    sorted.sort_by(|one, other| (sign * values[*one]).total_cmp(&(sign * values[*other])));
    let mut ranks = vec![f64::NAN; values.len()];
    let mut begin = 0;
    for equal in sorted.chunk_by(|one, other| values[*one] == values[*other]) {
        for at in equal {
            ranks[*at] = begin as f64 + f64::midpoint(1.0, equal.len() as f64);
        }
        begin += equal.len();
    }
    ranks
}

/// Returns the mean of each policy's ranks over worlds.
fn mean_of(worlds: &[&Vec<f64>]) -> Vec<f64> {
    let policies = worlds.first().map_or(0, |ranks| ranks.len());
    let of_policy = |at: usize| worlds.iter().map(|ranks| ranks[at]).sum::<f64>() / worlds.len() as f64;
    (0..policies).map(of_policy).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICIES: [(usize, &str); 3] = [(0, "a"), (1, "b"), (2, "c")];

    #[test]
    fn equal_means_share_the_mean_of_their_places() {
        assert_eq!(ranks_of_means(&[3.0, 1.0, 3.0, 2.0, 3.0], true), [4.0, 1.0, 4.0, 2.0, 4.0]);
        assert_eq!(ranks_of_means(&[3.0, 1.0, 3.0], false), [1.5, 3.0, 1.5]);
        let ranks = ranks_of_means(&[f64::NAN, 1.0, 0.0], true);
        assert!(ranks[0].is_nan() && ranks[1..] == [2.0, 1.0], "{ranks:?}");
    }

    /// By hand: in the only world, a has 0 on each of two seeds, and b has −1 and 2. The four resamples are equally
    /// likely: with seed 1 twice (1/4) b has −1 and is first; otherwise its mean is 0.5 or 2 and a is first. So a is first
    /// in 3/4 of the resamples, and both ends of both intervals are 1 and 2. c is always last.
    #[test]
    fn the_bootstrap_agrees_with_all_resamples() {
        let ranks = MeanRanks::of(&[vec![vec![0.0, 0.0], vec![-1.0, 2.0], vec![5.0, 5.0]]], true);
        let group = ranks.group(GroupKind::Systems, &POLICIES);
        let of = |at: usize| &group.members[at];
        assert_eq!([of(0), of(1), of(2)].map(|place| place.policy.as_str()), ["a", "b", "c"]);
        assert_eq!([of(0), of(1), of(2)].map(|place| place.mean_rank), [1.0, 2.0, 3.0]);
        assert_eq!([of(0), of(1), of(2)].map(|place| place.ci95), [[1.0, 2.0], [1.0, 2.0], [3.0, 3.0]].map(Some));
        // Four standard errors of a share of 3/4 of 2000 are 0.039.
        assert!((of(0).first_in_resamples - 0.75).abs() < 0.039, "{}", of(0).first_in_resamples);
        assert_eq!(of(0).first_in_resamples + of(1).first_in_resamples, 1.0);
        assert_eq!((of(2).first_in_resamples, of(2).first_without_a_world), (0.0, 0));
    }

    /// By hand: four worlds, in each of which all seeds are alike. Ranks of a: 1, 1, 1, 3; of b: 2, 2, 2, 1; of c: 3, 3,
    /// 3, 2. Sums without world 1, 2 or 3: a 5, b 5, c 8; without world 4: a 3, b 6, c 9. So b is first in three of the
    /// four sets, together with a, which is first in all of them.
    #[test]
    fn each_world_is_left_out_once() {
        let first = vec![vec![1.0; 2], vec![2.0; 2], vec![3.0; 2]];
        let last = vec![vec![3.0; 2], vec![1.0; 2], vec![2.0; 2]];
        let ranks = MeanRanks::of(&[first.clone(), first.clone(), first, last], true);
        let group = ranks.group(GroupKind::Systems, &POLICIES);
        assert_eq!(group.members[0].mean_rank, 1.5);
        assert_eq!(group.members.iter().map(|place| place.first_without_a_world).collect::<Vec<_>>(), [4, 3, 0]);
        // Resamples of equal seeds change nothing.
        assert_eq!(group.members.iter().map(|place| place.first_in_resamples).collect::<Vec<_>>(), [1.0, 0.0, 0.0]);
        assert_eq!(group.members[1].ci95, Some([1.75, 1.75]));
    }

    #[test]
    fn policies_without_a_value_take_no_part() {
        let ranks = MeanRanks::of(&[vec![vec![1.0, f64::NAN], vec![1.0, 2.0], vec![1.0, 2.0]]], true);
        let group = ranks.group(GroupKind::Systems, &POLICIES);
        let places: Vec<(&str, f64, f64)> =
            group.members.iter().map(|one| (one.policy.as_str(), one.mean_rank, one.first_in_resamples)).collect();
        assert_eq!(places, [("b", 1.5, 1.0), ("c", 1.5, 1.0)]);
        assert_eq!(ranks.ci95(0), None);
        let one_seed = MeanRanks::of(&[vec![vec![1.0], vec![2.0]]], true);
        assert_eq!(one_seed.ci95(0), None);
        assert_eq!(one_seed.group(GroupKind::Systems, &POLICIES[..2]).members[0].first_in_resamples, 1.0);
    }
}
