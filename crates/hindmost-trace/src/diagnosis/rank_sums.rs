//! Finds slow nodes with van Elteren's test over phases, and estimates how slow they are.
//!
//! Phases differ in how long their tasks take, so ranks are taken within each phase. A node's rank sums are added up
//! with weights 1/(N + 1), where N is the number of the phase's tasks: P. van Elteren, "On the combination of
//! independent two-sample tests of Wilcoxon", 1960. Ranks do not depend on how long the longest task took, so a
//! single straggler never makes a node slow.
//!
//! The test compares each node with all others. If several nodes are slow, each of them is also compared with the other
//! slow nodes, which makes it look faster than it is. Therefore the slowness of each slow node is estimated against the
//! nodes that are not slow.

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use hindmost_core::metrics::SlowNode;
use hindmost_math::numeric::normal_survival;
use hindmost_math::random::mix;
use rustc_hash::FxHashSet;

use super::rank_test::{self, Own, Stratum};

/// A node is slow only if its tasks take at least this many times as long as those of other nodes.
const LEAST_RATIO: f64 = 1.2;
/// The least effective number of tasks with which the slowness of a node is estimated: the sum over phases of n·m/(n + m),
/// where n is the number of the node's tasks and m the number of other nodes' tasks.
const LEAST_EFFECTIVE: f64 = 5.0;
/// Histogram bins for each unit of a residual. A residual is a natural logarithm.
const BINS: f64 = 128.0;
/// Residuals are limited to the range from minus this value to this value.
const FURTHEST: f64 = 12.0;
/// Half the width of the 95% confidence interval of a median of n values, as a share of the n ranks, multiplied by √n:
/// 1.96 · ½.
const HALF_WIDTH: f64 = 0.98;

/// The most observations that are kept for estimating the slowness of several slow nodes. If there are more, only the
/// observations of a sample of the phases are kept.
const KEPT: usize = 1 << 18;

/// The most tasks of a node, of the phases where it ran, and of all phases, for which p-values are exact. For more tasks, they are those
/// of a normal distribution.
const EXACT_OWN: u64 = 64;
const EXACT_ALL: usize = 8192;
const EXACT_IN_ALL: usize = 1 << 15;
/// How much too large the rounding of a sum of logarithms may make it.
const ROUNDING: f64 = 1e-6;
/// The least standard score for which an exact p-value matters.
const EXACT_FROM: f64 = 1.5;

/// Statistics of a node's tasks over all phases.
#[derive(Debug, Default)]
struct Node {
    tasks: u64,
    phases: u64,
    /// Sum over phases of the weighted rank sum minus its expectation.
    excess: f64,
    /// Sum over phases of the variance of the weighted rank sum.
    variance: f64,
    /// What `excess` would be if each of the node's tasks had taken longer than all tasks of other nodes.
    most: f64,
    /// Sum over phases of n·m/(n + m); see [`LEAST_EFFECTIVE`].
    effective: f64,
    /// Number of tasks of its phases, on all nodes.
    all: usize,
    /// The least exact p-value that is possible, and a bound below that of its tasks, as ln.
    ln_least: f64,
    ln_as_large: f64,
}

impl Node {
    /// Returns the one-sided p-value, which is small if the node's tasks took longer than those of other nodes.
    fn p(&self) -> f64 {
        normal_survival(self.excess / self.variance.sqrt())
    }

    /// Returns the least p-value that the node could have.
    fn least_p(&self) -> f64 {
        if self.variance > 0.0 { normal_survival(self.most / self.variance.sqrt()) } else { 1.0 }
    }

    /// Returns whether the node's tasks took so much longer that its exact p-value matters.
    fn may_be_slow(&self) -> bool {
        self.variance > 0.0 && self.excess >= EXACT_FROM * self.variance.sqrt()
    }
}

/// Returns the residual at a rank, where the bins of all are sorted; the smallest residual has rank 0.5.
fn residual(bins: &[(u32, i32)], rank: f64) -> f64 {
    let Some((_, bin)) = bins.get((rank.max(0.5) - 0.5) as usize).or(bins.last()) else { return 0.0 };
    let place = |is_before: &dyn Fn(&i32) -> bool| bins.partition_point(|(_, other)| is_before(other));
    let (from, until) = (place(&|other| other < bin), place(&|other| other <= bin));
    (f64::from(*bin) + ((rank - from as f64) / (until - from) as f64).clamp(0.0, 1.0)) / BINS
}

/// Observations of one phase: ln of the duration in seconds, and the number of the node.
type Observations = Box<[(f32, u32)]>;

/// Observations of phases, sorted within each phase. If there are more than `KEPT`, only the phases with the smallest
/// hashed keys are kept, so that the sample does not depend on the order of the phases.
#[derive(Debug, Default)]
struct Kept {
    phases: BTreeMap<(u64, u64), Observations>,
    observations: usize,
    /// Phases with this key or a larger one are not kept.
    beyond: Option<(u64, u64)>,
    /// The ranks of all observations, once they are needed.
    ranked: OnceCell<Ranked>,
}

/// Ranks of observations.
#[derive(Debug, Default)]
struct Ranked {
    /// Weighted ranks of the observations of each phase, minus their mean.
    scores: Vec<Box<[f64]>>,
    /// Nodes, the numbers of the phases in which they have observations, and these. Sorted.
    of_nodes: Vec<(u32, usize, Own)>,
}

impl Ranked {
    fn of<'o>(phases: impl Iterator<Item = &'o Observations>) -> Ranked {
        let mut ranked = Ranked::default();
        phases.for_each(|observed| ranked.phase(observed));
        ranked.of_nodes.sort_unstable_by_key(|(node, phase, _)| (*node, *phase));
        ranked
    }

    fn phase(&mut self, observed: &Observations) {
        let all = observed.len();
        let middle = f64::midpoint(all as f64, 1.0);
        let scores: Box<[f64]> = ranks(observed).0.iter().map(|rank| (rank - middle) / (2.0 * middle)).collect();
        let number = self.scores.len();
        let first = self.of_nodes.len();
        let mut places: Vec<(u32, Reverse<usize>)> =
            observed.iter().enumerate().map(|(place, (_, node))| (*node, Reverse(place))).collect();
        places.sort_unstable();
        for (node, Reverse(place)) in places {
            if self.of_nodes[first..].last().is_none_or(|(last, ..)| *last != node) {
                self.of_nodes.push((node, number, Own::NONE));
            }
            if let Some((.., own)) = self.of_nodes.last_mut() {
                own.add(scores[place]);
            }
        }
        self.scores.push(scores);
    }
}

impl Kept {
    fn phase(&mut self, key: u64, observed: &[(f64, u32)]) {
        let place = (mix(key), key);
        if self.beyond.is_some_and(|beyond| place >= beyond) {
            return;
        }
        self.ranked = OnceCell::new();
        let observed = observed.iter().map(|(log, node)| (*log as f32, *node)).collect::<Box<_>>();
        self.observations += observed.len();
        if let Some(before) = self.phases.insert(place, observed) {
            self.observations -= before.len();
        }
        while self.observations > KEPT
            && let Some((last, left_out)) = self.phases.pop_last()
        {
            self.observations -= left_out.len();
            self.beyond = Some(last);
        }
    }

    /// Returns whether the tasks of all phases are kept, and are few enough for exact p-values.
    fn are_few(&self) -> bool {
        self.beyond.is_none() && self.observations <= EXACT_IN_ALL
    }

    /// Returns the phases of a node with the ranks of their tasks. All are kept.
    fn strata(&self, node: u32) -> Vec<Stratum<'_>> {
        let ranked = self.ranked.get_or_init(|| Ranked::of(self.phases.values()));
        let own = of_node(&ranked.of_nodes, node, |(of, ..)| *of);
        own.iter().map(|(_, phase, own)| Stratum { scores: &ranked.scores[*phase], own: *own }).collect()
    }

    /// Returns how many times as long the tasks of a slow node take as tasks of nodes that are not slow, and the 95%
    /// confidence interval of this ratio. `None` if there are too few observations.
    fn ratio(&self, node: u32, slow: &FxHashSet<u32>) -> Option<(f64, [f64; 2])> {
        let mut residuals = Vec::new();
        let mut effective = 0.0;
        for observed in self.phases.values() {
            let others: Vec<f64> =
                observed.iter().filter(|(_, on)| !slow.contains(on)).map(|(log, _)| f64::from(*log)).collect();
            let own = observed.iter().filter(|(_, on)| *on == node).map(|(log, _)| f64::from(*log));
            let (before, m) = (residuals.len(), others.len());
            if m > 0 {
                let median = f64::midpoint(others[(m - 1) / 2], others[m / 2]);
                residuals.extend(own.map(|log| (log - median).clamp(-FURTHEST, FURTHEST)));
                let n = residuals.len() - before;
                effective += (n * m) as f64 / (n + m) as f64;
            }
        }
        if effective < LEAST_EFFECTIVE {
            return None;
        }
        residuals.sort_unstable_by(f64::total_cmp);
        let at = |share: f64| {
            let rank = share.clamp(0.0, 1.0) * residuals.len() as f64;
            let value = |place: f64| residuals[(place as usize).min(residuals.len() - 1)];
            f64::midpoint(value((rank.ceil() - 1.0).max(0.0)), value(rank.floor())).exp()
        };
        let half = HALF_WIDTH / effective.sqrt();
        Some((at(0.5), [at(0.5 - half), at(0.5 + half)]))
    }
}

/// Statistics of the nodes of a log.
#[derive(Debug, Default)]
pub(crate) struct Nodes {
    statistics: BTreeMap<u32, Node>,
    /// The nodes and bins of the residuals ln(duration / median duration of the other nodes' tasks of the phase), sorted.
    residuals: Vec<(u32, i32)>,
    kept: Kept,
}

/// Returns what is of a node, where all is sorted by nodes.
fn of_node<T>(all: &[T], node: u32, of: impl Fn(&T) -> u32) -> &[T] {
    let own = &all[all.partition_point(|one| of(one) < node)..];
    &own[..own.partition_point(|one| of(one) == node)]
}

impl Nodes {
    /// Returns the statistics of all nodes that are `wanted` from phases, each with a number of its own, and with ln of the duration and the
    /// node of each of its tasks.
    pub(crate) fn of(phases: impl Iterator<Item = (u64, Vec<(f64, u32)>)>, wanted: impl Fn(u32) -> bool) -> Nodes {
        let mut nodes = Nodes::default();
        phases.for_each(|(key, observed)| nodes.phase(key, observed, &wanted));
        nodes.residuals.sort_unstable();
        nodes
    }

    fn phase(&mut self, key: u64, mut observed: Vec<(f64, u32)>, wanted: impl Fn(u32) -> bool) {
        let count = observed.len();
        if observed.iter().all(|(_, node)| *node == observed[0].1) {
            return;
        }
        observed.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut places: Vec<(u32, usize)> = (0..).zip(&observed).map(|(place, (_, node))| (*node, place)).collect();
        places.retain(|(node, _)| wanted(*node));
        places.sort_unstable();
        self.kept.phase(key, &observed);
        let (ranks, ties) = ranks(&observed);
        let all = count as f64;
        let weight = 1.0 / (all + 1.0);
        for own in places.chunk_by(|a, b| a.0 == b.0) {
            let (n, m) = (own.len() as f64, (count - own.len()) as f64);
            let sum: f64 = own.iter().map(|(_, place)| ranks[*place]).sum();
            let known = self.statistics.entry(own[0].0).or_default();
            known.tasks += own.len() as u64;
            known.phases += 1;
            known.excess += weight * (sum - n * (all + 1.0) / 2.0);
            known.variance += weight * weight * n * m * (all + 1.0 - ties / (all * (all - 1.0))) / 12.0;
            known.most += weight * n * m / 2.0;
            known.effective += n * m / all;
            known.all += count;
            if own.len() as u64 <= EXACT_OWN && count <= EXACT_ALL {
                let smaller = |log: f64| observed.partition_point(|(other, _)| *other < log);
                let as_large = own.iter().rev().map(|(_, place)| count - smaller(observed[*place].0));
                known.ln_as_large += rank_test::ln_as_large(as_large, count);
                known.ln_least += rank_test::ln_largest(own.len(), count);
            }
            let others = count - own.len();
            let other = |rank: usize| observed[without(own.iter().map(|(_, place)| *place), rank)].0;
            let median = f64::midpoint(other((others - 1) / 2), other(others / 2));
            let bin = |place: usize| ((observed[place].0 - median).clamp(-FURTHEST, FURTHEST) * BINS).floor() as i32;
            self.residuals.extend(own.iter().map(|(node, place)| (*node, bin(*place))));
        }
    }

    /// Returns how many times as long a node's tasks take as those of other nodes; `None` if it has fewer than `fewest`.
    pub(crate) fn ratio_of(&self, node: u32, fewest: u64) -> Option<f64> {
        self.statistics.get(&node).filter(|node| node.tasks >= fewest)?;
        let [median] = self.residuals(node, [0.5]);
        Some(median.exp())
    }

    /// Returns quantiles of the residuals of a node, which are assumed to be evenly spread within a bin. A quantile between two
    /// residuals is their mean.
    fn residuals<const N: usize>(&self, node: u32, shares: [f64; N]) -> [f64; N] {
        let bins = of_node(&self.residuals, node, |(of, _)| *of);
        shares.map(|share| {
            let rank = share.clamp(0.0, 1.0) * bins.len() as f64;
            f64::midpoint(residual(bins, rank.ceil() - 0.5), residual(bins, rank.floor() + 0.5))
        })
    }

    /// Returns the slow nodes with their numbers, the slowest first, and the numbers of all nodes that could be proven slow at this
    /// significance level (family-wise error rate). No fixed number of tasks is required, because a slow node runs fewer tasks than
    /// others. The p-values of nodes with few tasks are exact.
    pub(crate) fn provably_slow(&self, level: f64) -> (Vec<(u32, SlowNode)>, Vec<u32>) {
        // Only tests that could succeed count as tests: R. E. Tarone, "A modified Bonferroni method for discrete data", 1990.
        let of_nodes: BTreeMap<u32, f64> =
            self.statistics.iter().map(|(id, node)| (*id, self.least_p_of(node))).collect();
        let mut least: Vec<f64> = of_nodes.values().copied().collect();
        least.sort_by(f64::total_cmp);
        let within = |count: usize| least.partition_point(|p| p * count as f64 <= level);
        let count = (1..=least.len()).find(|count| within(*count) <= *count).unwrap_or(1);
        let is_tested = |node: &u32| of_nodes.get(node).is_some_and(|least| least * count as f64 <= level);
        let tested: Vec<u32> = of_nodes.keys().copied().filter(is_tested).collect();
        (self.slow_of(level, &tested), tested)
    }

    /// Returns the p-value of a node if it is at most `limit`: exact, if the node has few tasks and they took longer than those of other
    /// nodes. `None` also for an unknown node.
    pub(crate) fn p_within(&self, id: u32, limit: f64) -> Option<f64> {
        let node = self.statistics.get(&id).filter(|node| node.variance > 0.0)?;
        if !node.may_be_slow() || !self.is_exact(node) {
            return Some(node.p()).filter(|p| *p <= limit);
        }
        // It costs much less to find that the p-value is larger.
        let may_be = node.ln_as_large - ROUNDING <= limit.ln();
        may_be.then(|| rank_test::p(&self.kept.strata(id))).filter(|p| *p <= limit)
    }

    /// Returns whether the p-values of a node are exact.
    fn is_exact(&self, node: &Node) -> bool {
        node.tasks <= EXACT_OWN && node.all <= EXACT_ALL && self.kept.are_few()
    }

    fn least_p_of(&self, node: &Node) -> f64 {
        if self.is_exact(node) { node.ln_least.exp() } else { node.least_p() }
    }

    fn slow_of(&self, level: f64, tested: &[u32]) -> Vec<(u32, SlowNode)> {
        let differ = |id: &&u32| self.statistics.get(id).is_some_and(|node| node.variance > 0.0);
        let count = tested.iter().filter(differ).count();
        // Those with a larger p-value come later and are not slow.
        let within = |id: &u32| Some((self.p_within(*id, level)?, *id, self.statistics.get(id)?));
        let mut within: Vec<(f64, u32, &Node)> = tested.iter().filter_map(within).collect();
        within.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        // Holm's correction: the smallest p-value is multiplied by the number of nodes, the next by one less, and no
        // corrected value is below the one before it.
        let mut corrected: f64 = 0.0;
        let mut slow = Vec::new();
        for (at, (p, id, node)) in within.into_iter().enumerate() {
            corrected = corrected.max(((count - at) as f64 * p).min(1.0));
            let half = HALF_WIDTH / node.effective.sqrt();
            let [low, ratio, high] = self.residuals(id, [0.5 - half, 0.5, 0.5 + half]).map(f64::exp);
            if corrected <= level && ratio >= LEAST_RATIO && low > 1.0 {
                slow.push((
                    id,
                    SlowNode {
                        node: String::new(),
                        tasks: node.tasks,
                        phases: node.phases,
                        ratio,
                        ratio_ci95: [low, high],
                        p,
                        p_corrected: corrected,
                        stragglers: 0,
                    },
                ));
            }
        }
        if slow.len() > 1 {
            let all: FxHashSet<u32> = slow.iter().map(|(id, _)| *id).collect();
            for (id, found) in &mut slow {
                (found.ratio, found.ratio_ci95) = self.kept.ratio(*id, &all).unwrap_or((found.ratio, found.ratio_ci95));
            }
        }
        slow.sort_by(|a, b| b.1.ratio.total_cmp(&a.1.ratio).then(a.0.cmp(&b.0)));
        slow
    }
}

/// Returns the ranks from 1, where equal values share their mean rank, and Σ (t³ − t) over groups of t equal values.
fn ranks<T: PartialEq>(sorted: &[(T, u32)]) -> (Vec<f64>, f64) {
    let mut ranks = Vec::with_capacity(sorted.len());
    let mut ties = 0.0;
    for group in sorted.chunk_by(|a, b| a.0 == b.0) {
        let count = group.len() as f64;
        let rank = ranks.len() as f64 + f64::midpoint(count, 1.0);
        ranks.extend(std::iter::repeat_n(rank, group.len()));
        ties += count.powi(3) - count;
    }
    (ranks, ties)
}

/// Returns the index of the `rank`-th value (from 0) that is not at one of the sorted positions `own`.
fn without(own: impl Iterator<Item = usize>, rank: usize) -> usize {
    own.fold(rank, |place, own| place + usize::from(own <= place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_share_their_mean_rank() {
        let sorted = [1.0, 2.0, 2.0, 3.0, 3.0, 3.0].map(|value| (value, 0));
        assert_eq!(ranks(&sorted), (vec![1.0, 2.5, 2.5, 5.0, 5.0, 5.0], 6.0 + 24.0));
    }

    #[test]
    fn a_few_tasks_prove_a_slow_node_if_all_others_were_faster() {
        // In each phase 2 of 24 tasks on node 0, the longest ones, and 11 on each of two other nodes.
        let with = |phases: u32| {
            let log = |at: u32| (f64::from(at), if at >= 22 { 0 } else { 1 + at % 2 });
            let phase = |phase: u32| (u64::from(phase), (0..24).map(log).collect());
            Nodes::of((0..phases).map(phase), |_| true).provably_slow(0.001)
        };
        // One of 24·23/2 pairs in each phase.
        let (slow, tested) = with(4);
        assert_eq!((tested, slow.len()), (vec![0, 1, 2], 1));
        assert!((slow[0].1.p * 276.0_f64.powi(4) - 1.0).abs() < 1e-9);
        let (slow, tested) = with(1);
        assert_eq!((slow.len(), tested), (0, vec![1, 2]), "two tasks can't prove it, eleven could");
    }

    #[test]
    fn p_values_of_slow_nodes_match_a_statistics_package() {
        // Expected p-values from SciPy 1.17: mannwhitneyu(…, use_continuity=False) for the first phase; for both phases
        // computed from its ranks, with weights.
        let first: [&[f64]; 2] = [
            &[12., 15., 15., 18., 20., 22., 25., 25., 30., 31., 40., 90.],
            &[8., 9., 10., 10., 11., 12., 12., 13., 15., 15., 16., 18., 19., 21., 25.],
        ];
        let second: [&[f64]; 2] =
            [&[3., 4., 4.5, 5., 6., 2.5, 4., 7., 9., 3.5, 5., 4.], &[2., 2., 3., 3., 2.5, 4., 3., 1., 6.]];
        for (phases, p, ratio) in
            [(&[first][..], 0.001_305_829_448_565, None), (&[first, second], 4.493_346_941_675e-5, Some(1.602_564))]
        {
            let of_node = |(node, seconds): (u32, &&[f64])| seconds.iter().map(move |s| (s.ln(), node)).collect();
            let of_phase = |phase: &[&[f64]; 2]| (0..).zip(phase).flat_map(|of| -> Vec<_> { of_node(of) }).collect();
            let nodes = Nodes::of((0..).zip(phases.iter().map(of_phase)), |_| true);
            let slow = &nodes.statistics[&0];
            assert!((slow.p() / p - 1.0).abs() < 1e-9, "{}", slow.p());
            let found = nodes.residuals(0, [0.5])[0].exp();
            assert!(ratio.is_none_or(|ratio: f64| (found / ratio - 1.0).abs() < 0.03), "{found}");
        }
    }

    #[test]
    fn slowness_is_measured_against_normal_nodes() {
        // Three of eight nodes are slow, so each of them is compared with two other slow nodes as well.
        let slowness = [1.0, 1.0, 1.0, 2.0, 1.0, 3.0, 1.0, 2.0_f64];
        let of_phase = |phase: u64| {
            let log = |at: u32| {
                let node = at % 8;
                let noise = (mix(phase << 32 | u64::from(at)) % 1000) as f64 / 1000.0 - 0.5;
                (slowness[node as usize].ln() + 0.6 * noise, node)
            };
            (phase, (0..200).map(log).collect())
        };
        let (slow, _) = Nodes::of((0..4).map(of_phase), |_| true).provably_slow(0.01);
        let found: Vec<u32> = slow.iter().map(|(node, _)| *node).collect();
        assert!(found[0] == 5 && found.len() == 3, "{found:?}");
        for (node, found) in slow {
            assert!((found.ratio / slowness[node as usize]).ln().abs() < 0.05, "{node}: {found:?}");
        }
    }

    #[test]
    fn the_nth_value_skips_excluded_positions() {
        assert_eq!([0, 1, 2].map(|rank| without([0, 2, 3].into_iter(), rank)), [1, 4, 5]);
        assert_eq!(without(std::iter::empty(), 3), 3);
    }
}
