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

use std::collections::BTreeMap;

use hindmost_core::metrics::SlowNode;
use hindmost_math::numeric::normal_survival;
use hindmost_math::random::mix;
use rustc_hash::FxHashSet;

use super::rank_test::{self, Stratum};

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
    /// Histogram of the residuals ln(duration / median duration of the other nodes' tasks of the phase).
    residuals: BTreeMap<i32, u64>,
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

    /// Returns a quantile of the residuals, which are assumed to be evenly spread within a bin. A quantile between two
    /// residuals is their mean.
    fn residual(&self, share: f64) -> f64 {
        let rank = share.clamp(0.0, 1.0) * self.tasks as f64;
        f64::midpoint(self.at(rank.ceil() - 0.5), self.at(rank.floor() + 0.5))
    }

    /// Returns the residual at a rank; the smallest residual has rank 0.5.
    fn at(&self, rank: f64) -> f64 {
        let mut below = 0.0;
        for (bin, count) in &self.residuals {
            let count = *count as f64;
            if below + count >= rank {
                return (f64::from(*bin) + ((rank - below) / count).clamp(0.0, 1.0)) / BINS;
            }
            below += count;
        }
        self.residuals.last_key_value().map_or(0.0, |(bin, _)| (f64::from(*bin) + 1.0) / BINS)
    }
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
}

impl Kept {
    fn phase(&mut self, key: u64, observed: &[(f64, u32)]) {
        let place = (mix(key), key);
        if self.beyond.is_some_and(|beyond| place >= beyond) {
            return;
        }
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

    /// Returns the phases of a node with the ranks of their tasks; `None` if not all are kept, or if they have too many tasks.
    fn strata(&self, node: u32) -> Option<Vec<Stratum>> {
        if self.beyond.is_some() || self.observations > EXACT_IN_ALL {
            return None;
        }
        let own = |observed: &Observations| observed.iter().filter(|(_, on)| *on == node).count();
        let phases = || self.phases.values().filter(|observed| own(observed) > 0);
        let all: usize = phases().map(|observed| observed.len()).sum();
        if all > EXACT_ALL {
            return None;
        }
        let stratum = |observed: &Observations| {
            let sorted: Vec<(f64, u32)> = observed.iter().map(|(log, on)| (f64::from(*log), *on)).collect();
            let middle = f64::midpoint(sorted.len() as f64, 1.0);
            let scores: Vec<f64> = ranks(&sorted).0.iter().map(|rank| (rank - middle) / (2.0 * middle)).collect();
            let of_node = sorted.iter().zip(&scores).filter(|((_, on), _)| *on == node);
            let sum = of_node.map(|(_, score)| score).sum();
            Stratum { own: own(observed), sum, scores }
        };
        Some(phases().map(stratum).collect())
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
    nodes: BTreeMap<u32, Node>,
    kept: Kept,
}

impl Nodes {
    /// Adds a phase with this number of its own. `observed` has ln of the duration and the node of each of its tasks.
    pub(crate) fn phase(&mut self, key: u64, mut observed: Vec<(f64, u32)>) {
        let count = observed.len();
        observed.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut places: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (place, (_, node)) in observed.iter().enumerate() {
            places.entry(*node).or_default().push(place);
        }
        if places.len() < 2 {
            return;
        }
        self.kept.phase(key, &observed);
        let (ranks, ties) = ranks(&observed);
        let all = count as f64;
        let weight = 1.0 / (all + 1.0);
        for (node, own) in &places {
            let (n, m) = (own.len() as f64, (count - own.len()) as f64);
            let sum: f64 = own.iter().map(|place| ranks[*place]).sum();
            let known = self.nodes.entry(*node).or_default();
            known.tasks += own.len() as u64;
            known.phases += 1;
            known.excess += weight * (sum - n * (all + 1.0) / 2.0);
            known.variance += weight * weight * n * m * (all + 1.0 - ties / (all * (all - 1.0))) / 12.0;
            known.most += weight * n * m / 2.0;
            known.effective += n * m / all;
            let others = count - own.len();
            let other = |rank: usize| observed[without(own, rank)].0;
            let median = f64::midpoint(other((others - 1) / 2), other(others / 2));
            for place in own {
                let residual = (observed[*place].0 - median).clamp(-FURTHEST, FURTHEST);
                *known.residuals.entry((residual * BINS).floor() as i32).or_default() += 1;
            }
        }
    }

    /// Returns how many times as long a node's tasks take as those of other nodes; `None` if it has fewer than `fewest`.
    pub(crate) fn ratio_of(&self, node: u32, fewest: u64) -> Option<f64> {
        self.nodes.get(&node).filter(|node| node.tasks >= fewest).map(|node| node.residual(0.5).exp())
    }

    /// Returns the slow nodes with their numbers, the slowest first, and the numbers of all nodes that could be proven slow at this
    /// significance level (family-wise error rate). No fixed number of tasks is required, because a slow node runs fewer tasks than
    /// others. The p-values of nodes with few tasks are exact.
    pub(crate) fn provably_slow(&self, level: f64) -> (Vec<(u32, SlowNode)>, Vec<u32>) {
        // Only tests that could succeed count as tests: R. E. Tarone, "A modified Bonferroni method for discrete data", 1990.
        let of_nodes: BTreeMap<u32, f64> =
            self.nodes.keys().filter_map(|node| Some((*node, self.least_p_of(*node)?))).collect();
        let mut least: Vec<f64> = of_nodes.values().copied().collect();
        least.sort_by(f64::total_cmp);
        let within = |count: usize| least.partition_point(|p| p * count as f64 <= level);
        let count = (1..=least.len()).find(|count| within(*count) <= *count).unwrap_or(1);
        let is_tested = |node: &u32| of_nodes.get(node).is_some_and(|least| least * count as f64 <= level);
        let slow = self.slow_of(level, &|id, _| if is_tested(&id) { self.p_of(id) } else { None });
        (slow, of_nodes.keys().copied().filter(is_tested).collect())
    }

    /// Returns the p-value of a node: exact, if it has few tasks and they took longer than those of other nodes. `None` for an
    /// unknown node.
    pub(crate) fn p_of(&self, id: u32) -> Option<f64> {
        let node = self.nodes.get(&id).filter(|node| node.variance > 0.0)?;
        let exact = node.may_be_slow() && node.tasks <= EXACT_OWN;
        let exact = if exact { self.kept.strata(id) } else { None };
        Some(exact.map_or_else(|| node.p(), |strata| rank_test::p(&strata)))
    }

    fn least_p_of(&self, id: u32) -> Option<f64> {
        let node = self.nodes.get(&id)?;
        let exact = if node.tasks <= EXACT_OWN { self.kept.strata(id) } else { None };
        Some(exact.map_or_else(|| node.least_p(), |strata| rank_test::least_p(&strata)))
    }

    /// `p_of` returns the p-values of the nodes that are tested.
    fn slow_of(&self, level: f64, p_of: &dyn Fn(u32, &Node) -> Option<f64>) -> Vec<(u32, SlowNode)> {
        let tested = self.nodes.iter().filter_map(|(id, node)| Some((p_of(*id, node)?, *id, node)));
        let mut tested: Vec<(f64, u32, &Node)> = tested.collect();
        tested.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let count = tested.len();
        // Holm's correction: the smallest p-value is multiplied by the number of nodes, the next by one less, and no
        // corrected value is below the one before it.
        let mut corrected: f64 = 0.0;
        let mut slow = Vec::new();
        for (at, (p, id, node)) in tested.into_iter().enumerate() {
            corrected = corrected.max(((count - at) as f64 * p).min(1.0));
            let half = HALF_WIDTH / node.effective.sqrt();
            let [low, ratio, high] = [0.5 - half, 0.5, 0.5 + half].map(|share| node.residual(share).exp());
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
fn ranks(sorted: &[(f64, u32)]) -> (Vec<f64>, f64) {
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
fn without(own: &[usize], rank: usize) -> usize {
    own.iter().fold(rank, |place, own| place + usize::from(*own <= place))
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
            let mut nodes = Nodes::default();
            for phase in 0..phases {
                let log = |at: u32| (f64::from(at), if at >= 22 { 0 } else { 1 + at % 2 });
                nodes.phase(u64::from(phase), (0..24).map(log).collect());
            }
            nodes.provably_slow(0.001)
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
            let mut nodes = Nodes::default();
            for (number, phase) in (0..).zip(phases) {
                let of_node = |(node, seconds): (u32, &&[f64])| seconds.iter().map(move |s| (s.ln(), node)).collect();
                nodes.phase(number, (0..).zip(phase).flat_map(|of| -> Vec<_> { of_node(of) }).collect());
            }
            let slow = &nodes.nodes[&0];
            assert!((slow.p() / p - 1.0).abs() < 1e-9, "{}", slow.p());
            let found = slow.residual(0.5).exp();
            assert!(ratio.is_none_or(|ratio: f64| (found / ratio - 1.0).abs() < 0.03), "{found}");
        }
    }

    #[test]
    fn slowness_is_measured_against_normal_nodes() {
        // Three of eight nodes are slow, so each of them is compared with two other slow nodes as well.
        let slowness = [1.0, 1.0, 1.0, 2.0, 1.0, 3.0, 1.0, 2.0_f64];
        let mut nodes = Nodes::default();
        for phase in 0..4_u64 {
            let log = |at: u32| {
                let node = at % 8;
                let noise = (mix(phase << 32 | u64::from(at)) % 1000) as f64 / 1000.0 - 0.5;
                (slowness[node as usize].ln() + 0.6 * noise, node)
            };
            nodes.phase(phase, (0..200).map(log).collect());
        }
        let (slow, _) = nodes.provably_slow(0.01);
        let found: Vec<u32> = slow.iter().map(|(node, _)| *node).collect();
        assert!(found[0] == 5 && found.len() == 3, "{found:?}");
        for (node, found) in slow {
            assert!((found.ratio / slowness[node as usize]).ln().abs() < 0.05, "{node}: {found:?}");
        }
    }

    #[test]
    fn the_nth_value_skips_excluded_positions() {
        assert_eq!([0, 1, 2].map(|rank| without(&[0, 2, 3], rank)), [1, 4, 5]);
        assert_eq!(without(&[], 3), 3);
    }
}
