//! Learns the speeds of nodes from the paces of attempts, in live runs and in simulations with learned speeds.
//!
//! The pace of an attempt is its progress, divided by the progress that an attempt of its phase's median duration makes in
//! the same time. A node is slow if the median pace of the last attempts on it is below two thirds, and below two thirds
//! of the other nodes' median pace. This needs at least two samples. Otherwise the node's speed counts as 1: if all nodes are
//! behind, the tasks are longer and no node is slow. A slow node counts as normal again once no attempt on it has been
//! observed for ten median durations, at least ten seconds.
//!
//! A user may give the speeds of nodes. The pace of an attempt is then divided by the given speed of its node, and the node has its
//! given speed as long as its pace is normal. Where speeds are given, a node can also turn out to be faster: if its pace is
//! above three halves, and above three halves of the other nodes' median pace.
//!
//! Live runs also take samples from running attempts, leave out slow attempts if one that started later on the node has ended at a
//! normal pace, and evaluate every node after every observation ([`node_paces`], [`relative_paces`]). Simulations use
//! [`NodeSpeeds`]: samples are finished attempts only, and a node is evaluated when an attempt on it finishes. The tests and limits
//! are the same.

use hindmost_math::statistics::median_of_sorted;

use crate::ids::NodeId;
use crate::time::Time;

/// Pace, relative to the phases' medians, below which a node is slow.
pub const SLOW: f64 = 0.67;
/// Pace, relative to the median, below which an attempt gives two samples for the speed of its node, once the attempt
/// is as old as the median duration.
const VERY_SLOW: f64 = 0.33;
/// Age, as a share of the median duration, below which an attempt says nothing about its node.
pub const INFORMATIVE_AGE: f64 = 0.1;
/// Number of paces of ended attempts that are kept for each node.
const REMEMBERED: usize = 6;
/// Time without an attempt on a slow node, in median durations, after which the node counts as normal again.
const SILENCE: f64 = 10.0;
/// Least time without an attempt on a slow node, in seconds, before the node counts as normal again.
const LEAST_SILENCE: f64 = 10.0;
/// Simulated time, in seconds, after which [`NodeSpeeds`] looks again for slow nodes without attempts.
const BETWEEN_CHECKS: f64 = 1.0;

/// The paces of attempts on one node, and the speed that follows from them.
#[derive(Clone, Debug)]
pub struct NodeSamples {
    /// Paces of the last ended attempts, relative to their phases' medians and to the given speed.
    ended: Vec<f64>,
    /// Speed of the node while its pace is normal.
    given: f64,
    /// Whether the node may turn out to be faster than its given speed.
    may_be_faster: bool,
    /// Speed of the node; the given one unless its pace is not normal.
    speed: f64,
    /// When an attempt on the slow node was last observed.
    observed: Time,
}

impl Default for NodeSamples {
    fn default() -> NodeSamples {
        NodeSamples { ended: Vec::new(), given: 1.0, may_be_faster: false, speed: 1.0, observed: Time::ZERO }
    }
}

impl NodeSamples {
    /// Returns the samples of nodes with these given speeds; 1 is the speed of a node for which none was given.
    pub fn of_speeds(speeds: &[f64]) -> Vec<NodeSamples> {
        let may_be_faster = speeds.iter().any(|speed| *speed != 1.0);
        let of = |speed: &f64| NodeSamples { given: *speed, may_be_faster, speed: *speed, ..NodeSamples::default() };
        speeds.iter().map(of).collect()
    }

    /// Returns the node's speed as it was last learned; the given one unless the node's pace is not normal.
    pub fn speed(&self) -> f64 {
        self.speed
    }

    /// Returns the speed that the node has while its pace is normal.
    pub fn given(&self) -> f64 {
        self.given
    }

    /// Takes over a speed that an earlier process has learned.
    pub fn recall(&mut self, speed: f64) {
        self.speed = speed;
    }

    /// Adds the paces of an attempt that has ended.
    pub fn ended(&mut self, paces: Vec<f64>) {
        self.ended.extend(paces);
        let forgotten = self.ended.len().saturating_sub(REMEMBERED);
        self.ended.drain(..forgotten);
    }

    /// Returns the node's speed if it has changed. `pace` is the node's pace compared with the other nodes, `None` if too
    /// little is known. `is_observed` is true if an attempt runs on the node. `longest` is the longest median duration of
    /// the phases that count, in seconds.
    pub fn learned(&mut self, pace: Option<f64>, now: Time, is_observed: bool, longest: f64) -> Option<f64> {
        if is_observed || self.speed == self.given {
            self.observed = now;
        }
        let silence = Time::from_seconds((SILENCE * longest).max(LEAST_SILENCE));
        let speed = if self.speed < self.given && now - self.observed > silence {
            self.ended.clear();
            self.observed = now;
            self.given
        } else {
            pace.map_or(self.speed, |pace| {
                let is_fast = self.may_be_faster && pace > 1.0 / SLOW;
                if pace < SLOW || is_fast { self.given * pace.clamp(0.01, 100.0) } else { self.given }
            })
        };
        let is_new =
            (speed == self.given) != (self.speed == self.given) || !(0.75..=1.34).contains(&(speed / self.speed));
        if is_new {
            self.speed = speed;
        }
        is_new.then_some(speed)
    }
}

/// Returns an attempt's pace as samples for the speed of its node. `age` and `median`, the median duration of the phase, are
/// in seconds; `at_most` is an upper bound of the pace. The result contains the pace twice if the attempt is very slow and
/// at least as old as the median duration.
pub fn evidence(pace: f64, at_most: f64, age: f64, median: f64) -> Vec<f64> {
    let is_damning = at_most < VERY_SLOW && age >= median;
    vec![pace; if is_damning { 2 } else { 1 }]
}

/// Returns for each node the sorted paces of its running attempts and of the last attempts that ended there.
pub fn node_paces(nodes: &[NodeSamples], running: impl Iterator<Item = (NodeId, Vec<f64>)>) -> Vec<Vec<f64>> {
    let mut paces: Vec<Vec<f64>> = nodes.iter().map(|known| known.ended.clone()).collect();
    for (node, evidence) in running {
        if let Some(of_node) = paces.get_mut(node.0 as usize) {
            of_node.extend(evidence);
        }
    }
    for of_node in &mut paces {
        of_node.sort_unstable_by(f64::total_cmp);
    }
    paces
}

/// Returns each node's median pace. If the other nodes are behind or ahead too, the pace is relative to their median, because in
/// that case the tasks take longer or shorter. `None` for a node with too few samples.
pub fn relative_paces(paces: &[Vec<f64>]) -> Vec<Option<f64>> {
    let medians: Vec<Option<f64>> = paces.iter().map(|of_node| median_of_sorted(of_node)).collect();
    let mut sorted: Vec<f64> = medians.iter().copied().flatten().collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let relative = paces.iter().zip(medians);
    relative.map(|(of_node, median)| relative_pace(of_node.len(), median, &sorted, paces.len())).collect()
}

/// Returns the median pace of a node with this many samples, relative to the sorted medians of all nodes; `None` if it has
/// too few samples, or no other node exists.
fn relative_pace(samples: usize, median: Option<f64>, sorted: &[f64], nodes: usize) -> Option<f64> {
    let pace = median.filter(|_| samples >= 2 && nodes > 1)?;
    let others = median_of_others(sorted, median).unwrap_or(1.0);
    Some(if pace > 1.0 { (pace / others.max(1.0)).max(1.0) } else { (pace / others.min(1.0)).min(1.0) })
}

/// Returns true if the paces of a node are lower than those of the other nodes beyond chance: all of them are below two thirds of
/// every other pace, or the rank test of Mann and Whitney (1947) shows it with this many standard deviations. Tasks that are long by
/// nature lower some paces on every node, a slow node lowers all of its own. Without paces of other nodes nothing speaks against it. All
/// slices are sorted; `all` holds the paces of all nodes, with those of this one.
#[must_use]
pub fn stands_out(paces: &[f64], all: &[f64], deviations: f64) -> bool {
    let Some(highest) = paces.last() else { return false };
    // The first pace that is not this node's: up to there both slices are equal.
    let Some(lowest) = all.get(all.iter().zip(paces).take_while(|(one, own)| one == own).count()) else { return true };
    if *highest < SLOW * lowest {
        return true;
    }
    let (own, other) = (paces.len() as f64, (all.len() - paces.len()) as f64);
    // The number of pairs in which this node's pace is the higher one; equal paces count half. Among the node's own paces it is the
    // higher one in half of the pairs.
    let higher = |pace: f64| {
        let (below, up_to) = (all.partition_point(|one| *one < pace), all.partition_point(|one| *one <= pace));
        f64::midpoint(below as f64, up_to as f64)
    };
    let pairs = paces.iter().map(|pace| higher(*pace)).sum::<f64>() - own * own / 2.0;
    let (mean, variance) = (own * other / 2.0, own * other * (own + other + 1.0) / 12.0);
    (mean - pairs) / variance.sqrt() > deviations
}

/// Returns the median of sorted values, without the value `own` if it is given.
pub fn median_of_others(sorted: &[f64], own: Option<f64>) -> Option<f64> {
    let Some(own) = own else { return median_of_sorted(sorted) };
    let left_out = sorted.partition_point(|value| *value < own);
    let at = |rank: usize| sorted.get(if rank < left_out { rank } else { rank + 1 }).copied();
    let count = sorted.len().checked_sub(1).filter(|count| *count > 0)?;
    Some(f64::midpoint(at((count - 1) / 2)?, at(count / 2)?))
}

/// An attempt that has finished, as a sample for the speed of its node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FinishedAttempt {
    /// The node on which the attempt ran.
    pub node: NodeId,
    /// Seconds from the start of the attempt to its finish.
    pub age: f64,
    /// Share of the task's work that the attempt did, in (0, 1].
    pub share: f64,
    /// Median duration of the attempt's phase, in seconds on a node of speed 1.
    pub median: f64,
}

/// The speeds of a cluster's nodes, learned from finished attempts alone.
///
/// ```
/// use hindmost_core::ids::NodeId;
/// use hindmost_core::node_speeds::{FinishedAttempt, NodeSpeeds};
/// use hindmost_core::time::Time;
///
/// let mut speeds = NodeSpeeds::new(2);
/// // An attempt on node 0 takes twice its phase's median, and then another one.
/// let slow = FinishedAttempt { node: NodeId(0), age: 2.0, share: 1.0, median: 1.0 };
/// assert_eq!(speeds.finished(slow, Time::from_seconds(2.0), |_| true), []);
/// assert_eq!(speeds.finished(slow, Time::from_seconds(4.0), |_| true), [(NodeId(0), 0.5)]);
/// ```
#[derive(Clone, Debug)]
pub struct NodeSpeeds {
    nodes: Vec<NodeSamples>,
    /// Median pace of each node with samples.
    medians: Vec<Option<f64>>,
    /// The medians of all nodes with samples, sorted.
    sorted: Vec<f64>,
    /// For each node the longest median duration of the phases whose attempts finished on it, in seconds.
    longest: Vec<f64>,
    /// The nodes that are slow.
    slow: Vec<NodeId>,
    /// When to look again for slow nodes without attempts.
    next_check: Time,
}

impl NodeSpeeds {
    /// Creates the learner for this many nodes, all of speed 1.
    pub fn new(nodes: usize) -> NodeSpeeds {
        NodeSpeeds {
            nodes: vec![NodeSamples::default(); nodes],
            medians: vec![None; nodes],
            sorted: Vec::new(),
            longest: vec![0.0; nodes],
            slow: Vec::new(),
            next_check: Time::ZERO,
        }
    }

    /// Adds an attempt that has finished, and returns the speeds that have changed. `is_observed` says whether an attempt
    /// runs on a node.
    pub fn finished(
        &mut self,
        attempt: FinishedAttempt,
        now: Time,
        is_observed: impl Fn(NodeId) -> bool,
    ) -> Vec<(NodeId, f64)> {
        let FinishedAttempt { node, age, share, median } = attempt;
        let mut changed = Vec::new();
        let at = node.0 as usize;
        if at < self.nodes.len() && median > 0.0 && age > 0.0 && age >= INFORMATIVE_AGE * median {
            let pace = share * median / age;
            self.nodes[at].ended(evidence(pace, pace, age, median));
            self.longest[at] = self.longest[at].max(median);
            self.update_median(at);
            changed.extend(self.evaluate(node, now, true));
        }
        if now >= self.next_check {
            self.next_check = now + Time::from_seconds(BETWEEN_CHECKS);
            for slow in self.slow.clone() {
                changed.extend(self.evaluate(slow, now, is_observed(slow)));
            }
        }
        changed
    }

    fn update_median(&mut self, at: usize) {
        if let Some(old) = self.medians[at] {
            let place = self.sorted.partition_point(|median| *median < old);
            self.sorted.remove(place);
        }
        let mut paces = self.nodes[at].ended.clone();
        paces.sort_unstable_by(f64::total_cmp);
        self.medians[at] = median_of_sorted(&paces);
        if let Some(new) = self.medians[at] {
            let place = self.sorted.partition_point(|median| *median < new);
            self.sorted.insert(place, new);
        }
    }

    /// Returns the node and its speed, if the speed has changed.
    fn evaluate(&mut self, node: NodeId, now: Time, is_observed: bool) -> Option<(NodeId, f64)> {
        let at = node.0 as usize;
        let samples = self.nodes[at].ended.len();
        let pace = relative_pace(samples, self.medians[at], &self.sorted, self.nodes.len());
        let speed = self.nodes[at].learned(pace, now, is_observed, self.longest[at])?;
        self.slow.retain(|known| *known != node);
        if speed < 1.0 {
            self.slow.push(node);
        }
        if self.nodes[at].ended.is_empty() {
            // The node counts as normal again, and its samples are forgotten.
            self.longest[at] = 0.0;
            self.update_median(at);
        }
        Some((node, speed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(node: u32, age: f64) -> FinishedAttempt {
        FinishedAttempt { node: NodeId(node), age, share: 1.0, median: 1.0 }
    }

    fn seconds(seconds: f64) -> Time {
        Time::from_seconds(seconds)
    }

    #[test]
    fn a_nodes_own_pace_is_left_out_of_the_median() {
        let values = [1.0, 2.0, 2.0, 4.0, 8.0];
        assert_eq!(median_of_others(&values, Some(2.0)), Some(3.0));
        assert_eq!(median_of_others(&values, Some(8.0)), Some(2.0));
        assert_eq!(median_of_others(&values, None), Some(2.0));
        assert_eq!(median_of_others(&[1.0], Some(1.0)), None);
        assert_eq!(median_of_others(&[], None), None);
    }

    #[test]
    fn long_tasks_on_all_nodes_let_none_stand_out() {
        let stands_out = |paces: &[f64], others: &[f64], deviations| {
            let mut all = [paces, others].concat();
            all.sort_unstable_by(f64::total_cmp);
            stands_out(paces, &all, deviations)
        };
        let usual = [0.9, 1.0, 1.0, 1.1];
        assert!(stands_out(&[0.25, 0.26], &usual, 2.33), "all attempts of the node are slow");
        // Tasks are long on both nodes.
        let mixed = [0.1, 0.2, 0.9, 1.0, 1.0, 1.1];
        assert!(!stands_out(&[0.1, 0.1, 0.3, 1.0, 1.1], &mixed, 2.33));
        // One long task elsewhere: U = 4, so (20 − 4)/√(4·10·15/12) = 2.26.
        let one_long = [0.1, 0.9, 0.9, 0.9, 1.0, 1.0, 1.0, 1.1, 1.1, 1.1];
        assert!(stands_out(&[0.25; 4], &one_long, 2.2) && !stands_out(&[0.25; 4], &one_long, 2.3));
        // Equal paces count half: they show nothing.
        assert!(!stands_out(&[1.0; 5], &[1.0; 5], 0.1));
        assert!(!stands_out(&[], &usual, 2.33) && stands_out(&[0.1], &[], 2.33));
    }

    #[test]
    fn no_node_is_slow_if_all_are_behind() {
        let mut speeds = NodeSpeeds::new(3);
        for round in 1..4 {
            for node in 0..3 {
                let changed = speeds.finished(attempt(node, 2.5), seconds(2.5 * f64::from(round)), |_| true);
                // The first node with two samples has only others with one, which are as slow.
                assert!(changed.is_empty(), "{changed:?}");
            }
        }
    }

    #[test]
    fn one_very_slow_attempt_makes_a_node_slow() {
        let mut speeds = NodeSpeeds::new(2);
        assert_eq!(speeds.finished(attempt(1, 1.0), seconds(1.0), |_| true), []);
        assert_eq!(speeds.finished(attempt(0, 4.0), seconds(4.0), |_| true), [(NodeId(0), 0.25)]);
    }

    #[test]
    fn a_slow_node_without_attempts_counts_as_normal_again() {
        let mut speeds = NodeSpeeds::new(2);
        assert_eq!(speeds.finished(attempt(0, 4.0), seconds(4.0), |_| true), [(NodeId(0), 0.25)]);
        let idle = |node: NodeId| node.0 != 0;
        assert_eq!(speeds.finished(attempt(1, 1.0), seconds(13.9), idle), []);
        assert_eq!(speeds.finished(attempt(1, 1.0), seconds(15.0), idle), [(NodeId(0), 1.0)]);
        // Its samples are forgotten: one attempt at two thirds of the pace says nothing.
        assert_eq!(speeds.finished(attempt(0, 2.0), seconds(17.0), |_| true), []);
    }

    #[test]
    fn replacements_are_judged_by_the_work_that_they_do() {
        let mut speeds = NodeSpeeds::new(2);
        // Half of the work in half of the median is the normal pace.
        let half = FinishedAttempt { node: NodeId(0), age: 0.5, share: 0.5, median: 1.0 };
        for at in 1..9 {
            assert_eq!(speeds.finished(half, seconds(f64::from(at)), |_| true), []);
        }
    }

    #[test]
    fn a_given_speed_holds_until_the_pace_differs_much() {
        let learn = |given: f64, paces: [f64; 2]| {
            let mut nodes = NodeSamples::of_speeds(&[given, 1.0]);
            let paces = paces.map(|pace| vec![pace; 2]);
            nodes[0].learned(relative_paces(&paces)[0], seconds(1.0), true, 1.0)
        };
        // The node is as fast as given, up to a third; both nodes are behind or ahead, because tasks take longer or shorter.
        for paces in [[1.0, 1.0], [0.7, 1.0], [1.45, 1.0], [0.4, 0.4], [3.0, 3.0]] {
            assert_eq!(learn(2.0, paces), None, "{paces:?}");
        }
        assert_eq!((learn(2.0, [0.5, 1.0]), learn(0.5, [2.0, 1.0])), (Some(1.0), Some(1.0)));
        // Without given speeds no node is faster than normal.
        assert_eq!((learn(1.0, [2.0, 1.0]), learn(1.0, [0.5, 1.0])), (None, Some(0.5)));
    }

    #[test]
    fn medians_stay_sorted() {
        let mut speeds = NodeSpeeds::new(5);
        for at in 0..200u32 {
            let age = 0.3 + f64::from(at * 7 % 13);
            speeds.finished(attempt(at * 3 % 5, age), seconds(f64::from(at)), |_| true);
            let mut medians: Vec<f64> = speeds.medians.iter().copied().flatten().collect();
            medians.sort_unstable_by(f64::total_cmp);
            assert_eq!(speeds.sorted, medians);
        }
    }
}
