//! Which nodes are slow: van Elteren's test over phases, and how slow they are.
//!
//! Phases differ in how long their tasks take, so ranks are taken within each, and a node's rank sums are added up
//! with weights 1/(N + 1), N the phase's number of tasks: P. van Elteren, "On the combination of independent
//! two-sample tests of Wilcoxon", 1960. Ranks don't care how long the longest task took: a single straggler makes
//! no node slow, however long it is.
//!
//! The test compares each node with all others. Where several turn out to be slow, each stands among the others of
//! another, which would make them look less slow than they are: how slow each is, is estimated against the nodes that
//! were not found slow.

use std::collections::BTreeMap;

use hindmost_core::metrics::{SlowNode, Stragglers};
use hindmost_math::numeric::normal_survival;
use hindmost_math::random::mix;
use rustc_hash::{FxHashMap, FxHashSet};

use super::PhaseKey;

/// The level of the test over all nodes together.
const LEVEL: f64 = 0.05;
/// Nodes whose tasks take less than so many times as long are not called slow.
const LEAST_RATIO: f64 = 1.2;
/// The fewest tasks of a node that is tested.
const FEWEST: u64 = 10;
/// The least number of tasks of a node that they count for, with the others to which they are compared:
/// the sum of n·m/(n + m) over phases.
const LEAST_EFFECTIVE: f64 = 5.0;
/// Bins of residuals to a factor of e.
const BINS: f64 = 128.0;
/// Residuals beyond e to this power, either way, count as that.
const FURTHEST: f64 = 12.0;
/// Half the width of a 95 % interval of a median, in ranks over √n: 1.96 · ½.
const HALF_WIDTH: f64 = 0.98;

/// Observations that are kept for the estimates of several slow nodes: of more, those of a sample of the phases.
const KEPT: usize = 1 << 18;

/// What is known of a node from all phases.
#[derive(Debug, Default)]
struct Node {
    tasks: u64,
    phases: u64,
    /// Sums over phases: weighted rank sum less what is expected of it, its variance, n·m/(n + m).
    excess: f64,
    variance: f64,
    effective: f64,
    /// ln of how many times as long tasks took as the median of the other nodes' tasks, in bins.
    residuals: BTreeMap<i32, u64>,
}

impl Node {
    fn is_tested(&self) -> bool {
        self.tasks >= FEWEST && self.effective >= LEAST_EFFECTIVE && self.variance > 0.0
    }

    /// One-sided: small where tasks took longer.
    fn p(&self) -> f64 {
        normal_survival(self.excess / self.variance.sqrt())
    }

    /// The residuals' quantile, those of a bin evenly spread in it: of the middle two the mean, as for medians.
    fn residual(&self, share: f64) -> f64 {
        let rank = share.clamp(0.0, 1.0) * self.tasks as f64;
        f64::midpoint(self.at(rank.ceil() - 0.5), self.at(rank.floor() + 0.5))
    }

    /// The residual at a rank, the smallest being at 0.5.
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

/// Durations of one phase, seconds, each with the number of its node.
type Observations = Box<[(f32, u32)]>;

/// The observations of phases, in their order within each; those whose keys scatter lowest if they are too many, so
/// that the order in which phases come makes no difference.
#[derive(Debug, Default)]
struct Kept {
    phases: BTreeMap<(u64, PhaseKey), Observations>,
    observations: usize,
    /// Phases from here on are not kept.
    beyond: Option<(u64, PhaseKey)>,
}

impl Kept {
    fn phase(&mut self, key: PhaseKey, observed: &[(f64, u32)]) {
        let place = (mix(u64::from(key.application) << 32 | u64::from(key.phase)), key);
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

    /// How slow a node is against those that are not among the slow ones: the ratio and its interval. `None` where
    /// too little is known.
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

/// The nodes of a log.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    nodes: BTreeMap<u32, Node>,
    kept: Kept,
}

impl Nodes {
    /// Takes in a phase: ln of durations, and the nodes.
    pub(super) fn phase(&mut self, key: PhaseKey, mut observed: Vec<(f64, u32)>) {
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

    /// How many nodes have tasks enough.
    pub(super) fn tested(&self) -> u64 {
        self.nodes.values().filter(|node| node.is_tested()).count() as u64
    }

    /// The slow nodes with their numbers, the slowest first.
    pub(super) fn slow(&self) -> Vec<(u32, SlowNode)> {
        let mut tested: Vec<(f64, u32, &Node)> =
            self.nodes.iter().filter(|(_, node)| node.is_tested()).map(|(id, node)| (node.p(), *id, node)).collect();
        tested.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let count = tested.len();
        // Holm: the smallest p counts for all nodes, the next for one less, and none for less than one before it.
        let mut corrected: f64 = 0.0;
        let mut slow = Vec::new();
        for (at, (p, id, node)) in tested.into_iter().enumerate() {
            corrected = corrected.max(((count - at) as f64 * p).min(1.0));
            let half = HALF_WIDTH / node.effective.sqrt();
            let [low, ratio, high] = [0.5 - half, 0.5, 0.5 + half].map(|share| node.residual(share).exp());
            if corrected <= LEVEL && ratio >= LEAST_RATIO && low > 1.0 {
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

/// Ranks from 1, equal values sharing the mean of theirs; and Σ t³ − t over groups of t equal ones.
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

/// The place of the `rank`-th value, from 0, when those at the places `own` (in order) don't count.
fn without(own: &[usize], rank: usize) -> usize {
    own.iter().fold(rank, |place, own| place + usize::from(*own <= place))
}

/// Logarithms of ratios are kept in steps of this.
const STEP: f64 = 0.05;

/// Stragglers that a node may explain, if it turns out to be slow enough: by node and by ln of the ratio that it
/// takes, rounded up to a step.
#[derive(Clone, Debug, Default)]
pub(super) struct Blame {
    stragglers: FxHashMap<(u32, u8), u64>,
}

impl Blame {
    /// A straggler on a node, which explains it if it is slow by a factor of e to this power.
    pub(super) fn push(&mut self, node: u32, needed: f64) {
        *self.stragglers.entry((node, (needed / STEP).ceil() as u8)).or_default() += 1;
    }

    pub(super) fn add(&mut self, other: &Blame) {
        for (what, count) in &other.stragglers {
            *self.stragglers.entry(*what).or_default() += count;
        }
    }

    /// How many stragglers a node explains that is slow by this ratio.
    pub(super) fn explained(&self, node: u32, ratio: f64) -> u64 {
        let explains = |(on, needed): &(u32, u8)| *on == node && ratio.ln() >= f64::from(*needed) * STEP;
        self.stragglers.iter().filter(|(what, _)| explains(what)).map(|(_, count)| count).sum()
    }

    /// Shares these stragglers out to slow nodes and what is not explained.
    pub(super) fn assign(&self, stragglers: &mut Stragglers, ratio_of: &dyn Fn(u32) -> Option<f64>) {
        for ((node, needed), count) in &self.stragglers {
            let explained = ratio_of(*node).is_some_and(|ratio| ratio.ln() >= f64::from(*needed) * STEP);
            *if explained { &mut stragglers.slow_node } else { &mut stragglers.other } += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_shared_by_equal_values() {
        let sorted = [1.0, 2.0, 2.0, 3.0, 3.0, 3.0].map(|value| (value, 0));
        assert_eq!(ranks(&sorted), (vec![1.0, 2.5, 2.5, 5.0, 5.0, 5.0], 6.0 + 24.0));
    }

    #[test]
    fn places_without_some() {
        assert_eq!([0, 1, 2].map(|rank| without(&[0, 2, 3], rank)), [1, 4, 5]);
        assert_eq!(without(&[], 3), 3);
    }
}
