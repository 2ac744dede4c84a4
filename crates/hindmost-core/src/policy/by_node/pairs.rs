//! The best pair of task and node, of all nodes at once.
//!
//! Nodes of one capacity with the same room free are alike, and on a large cluster most are: each kind of them
//! offers what scores highest there, on the first of its nodes. Starting a copy takes room from one node, which then
//! is of another kind, and can take a phase's last task from all. So what the other kinds offer can only become
//! worse: an offer that is the best of all and still stands when it is looked at again is the best pair.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use rustc_hash::FxHashMap;

use crate::cluster::Node;
use crate::ids::NodeId;
use crate::resources::Resources;

use super::super::Round;
use super::super::fresh::Fresh;
use super::super::levels::JobPhase;
use super::super::queue::ordered;
use super::{ByNode, Start, next_node};

/// What a kind of nodes offers; the greatest is the best, ties go to the first job, phase and node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Offer {
    level: Reverse<u64>,
    /// Bits that sort as the score does.
    score: u64,
    phase: Reverse<JobPhase>,
    node: Reverse<NodeId>,
    kind: usize,
}

/// Nodes that are alike: capacity and free room; a node on which something was tried in vain is like no other.
type Alike = (Resources, Resources, Option<NodeId>);

/// The nodes of a sweep, by kind.
#[derive(Debug, Default)]
struct Kinds {
    places: FxHashMap<Alike, usize>,
    nodes: Vec<BTreeSet<NodeId>>,
    /// What was tried in vain on a node.
    passed: FxHashMap<NodeId, Vec<JobPhase>>,
}

impl Kinds {
    /// Puts a node among those like it; which kind that is.
    fn add(&mut self, id: NodeId, node: &Node) -> usize {
        let alike = (*node.capacity(), *node.free(), self.passed.contains_key(&id).then_some(id));
        let next = self.nodes.len();
        let kind = *self.places.entry(alike).or_insert(next);
        if kind == next {
            self.nodes.push(BTreeSet::new());
        }
        self.nodes[kind].insert(id);
        kind
    }
}

impl ByNode {
    /// As `sweep`, pair by pair.
    pub(super) fn sweep_by_pairs(&mut self, at: usize, round: &mut Round<'_>) {
        loop {
            let mut fresh = Fresh::default();
            self.sweeps[at].take_fresh(&mut fresh);
            let mut nodes = Vec::new();
            let mut from = NodeId(0);
            while let Some(node) = next_node(from, &self.sweeps[at].grown, &mut fresh, round.cluster()) {
                nodes.push(node);
                let Some(next) = node.0.checked_add(1) else { break };
                from = NodeId(next);
            }
            self.sweeps[at].grown.clear();
            if nodes.is_empty() {
                return;
            }
            for serving in 0..self.sweeps[at].servings.len() {
                if !self.serve_pairs((at, serving), &nodes, round) {
                    return;
                }
            }
        }
    }

    /// Starts what a stage has for these nodes. False on a fault.
    fn serve_pairs(&mut self, serving: (usize, usize), nodes: &[NodeId], round: &mut Round<'_>) -> bool {
        let mut kinds = Kinds::default();
        for id in nodes {
            if let Some(node) = round.cluster().node(*id) {
                kinds.add(*id, node);
            }
        }
        let offers = (0..kinds.nodes.len()).filter_map(|kind| self.offer(serving, kind, &kinds, round));
        let mut offers: BinaryHeap<Offer> = offers.collect();
        while let Some(best) = offers.pop() {
            let now = self.offer(serving, best.kind, &kinds, round);
            if now != Some(best) {
                offers.extend(now);
                continue;
            }
            let (Reverse(phase), Reverse(id)) = (best.phase, best.node);
            match self.start_of(serving, phase, id, round) {
                Start::Made => {}
                Start::Nothing => kinds.passed.entry(id).or_default().push(phase),
                Start::Fault => return false,
            }
            kinds.nodes[best.kind].remove(&id);
            offers.extend(self.offer(serving, best.kind, &kinds, round));
            let Some(node) = round.cluster().node(id) else { continue };
            let kind = kinds.add(id, node);
            offers.extend(self.offer(serving, kind, &kinds, round));
        }
        true
    }

    /// The best for a kind of nodes now.
    fn offer(&self, (sweep, at): (usize, usize), kind: usize, kinds: &Kinds, round: &Round<'_>) -> Option<Offer> {
        let dimensions = round.cluster().dimensions().names().len();
        let id = *kinds.nodes[kind].first()?;
        let node = round.cluster().node(id)?;
        let passed = kinds.passed.get(&id).map_or(&[][..], Vec::as_slice);
        let levels = &self.sweeps[sweep].servings[at].levels;
        let (alignment, weight) = (self.fit.alignment(node, dimensions), self.fit.penalty_weight());
        let mut level = None;
        loop {
            let next = levels.next_level(level, node.free())?;
            if let Some((score, phase)) = levels.best(next, node.free(), &alignment, weight, passed) {
                let (level, phase, node) = (Reverse(next), Reverse(phase), Reverse(id));
                return Some(Offer { level, score: ordered(score), phase, node, kind });
            }
            level = Some(next);
        }
    }
}
