//! The index of nodes by free resources: finds the next node, by id, on which a demand fits.
//!
//! It is a binary tree whose leaves are the nodes. Each inner vertex has, in each dimension, the largest amount that
//! any node below the vertex has free. A demand that exceeds this amount in some dimension fits on no node below the
//! vertex, so a search skips all of these nodes. If the largest amounts in two dimensions come from different nodes, a
//! demand may pass this test although it fits on no node below the vertex. The search then tests the children.
//!
//! This is common on a busy cluster, where some nodes have free cores and others have free memory. Searches from the
//! first node on repeat a few demands, so [`FirstFits`] remembers for each of them the leading nodes on which it does
//! not fit.

use crate::id_set::IdSet;
use crate::resources::Resources;

/// A tree of the nodes' free resources.
#[derive(Clone, Debug)]
pub(super) struct FreeIndex {
    /// Number of dimensions in use.
    width: usize,
    /// Number of leaves, a power of two. Vertex `leaves + n` is node n; the children of vertex v are 2v and 2v + 1.
    leaves: usize,
    /// The largest free amount below each vertex in each dimension, `width` entries per vertex.
    most: Vec<u64>,
}

impl FreeIndex {
    /// Creates an index without nodes, for this number of dimensions.
    pub(super) fn new(width: usize) -> FreeIndex {
        FreeIndex { width, leaves: 1, most: vec![0; 2 * width] }
    }

    /// Returns the largest free amount of any node in a dimension.
    pub(super) fn largest(&self, dimension: usize) -> u64 {
        self.at(1)[dimension]
    }

    fn at(&self, vertex: usize) -> &[u64] {
        &self.most[vertex * self.width..(vertex + 1) * self.width]
    }

    /// Sets the free resources of a node. `free` must be zero if no attempt may start on the node. Returns true if the
    /// free resources grew in some dimension.
    pub(super) fn set(&mut self, node: u32, free: &Resources) -> bool {
        let node = node as usize;
        if node >= self.leaves {
            self.grow(node + 1);
        }
        let mut vertex = self.leaves + node;
        let begin = vertex * self.width;
        let leaf = &mut self.most[begin..begin + self.width];
        let grew = leaf.iter().zip(&free.0).any(|(before, now)| now > before);
        leaf.copy_from_slice(&free.0[..self.width]);
        while vertex > 1 {
            vertex /= 2;
            if !self.refresh(vertex) {
                break;
            }
        }
        grew
    }

    /// Recomputes an inner vertex. Returns false if it did not change.
    fn refresh(&mut self, vertex: usize) -> bool {
        // A fast path for two dimensions, the most common number. This function runs whenever an attempt starts or
        // ends.
        if self.width == 2 {
            let [left_0, left_1, right_0, right_1] = self.most[4 * vertex..4 * vertex + 4] else { return false };
            let now = [left_0.max(right_0), left_1.max(right_1)];
            let here = &mut self.most[2 * vertex..2 * vertex + 2];
            let changed = here != now;
            here.copy_from_slice(&now);
            return changed;
        }
        let (inner, below) = self.most.split_at_mut(2 * vertex * self.width);
        let inner = &mut inner[vertex * self.width..(vertex + 1) * self.width];
        let (left, right) = below[..2 * self.width].split_at(self.width);
        let mut changed = false;
        for (most, (left, right)) in inner.iter_mut().zip(left.iter().zip(right)) {
            let now = *left.max(right);
            changed |= *most != now;
            *most = now;
        }
        changed
    }

    fn grow(&mut self, nodes: usize) {
        let leaves = nodes.next_power_of_two();
        let mut most = vec![0; 2 * leaves * self.width];
        let old = self.leaves * self.width..;
        let new = leaves * self.width;
        most[new..new + self.leaves * self.width].copy_from_slice(&self.most[old]);
        (self.leaves, self.most) = (leaves, most);
        for vertex in (1..leaves).rev() {
            self.refresh(vertex);
        }
    }

    /// Returns the first node with an id of at least `from` on which a demand fits.
    pub(super) fn next(&self, from: u32, demand: &Resources) -> Option<u32> {
        if from as usize >= self.leaves {
            return None;
        }
        let demand = &demand.0[..self.width];
        let mut vertex = self.leaves + from as usize;
        loop {
            if demand.iter().zip(self.at(vertex)).all(|(need, most)| need <= most) {
                if vertex >= self.leaves {
                    return Some((vertex - self.leaves) as u32);
                }
                vertex *= 2;
                continue;
            }
            // Go to the next subtree to the right. From a right child, go up first.
            while vertex % 2 == 1 {
                vertex /= 2;
            }
            if vertex == 0 {
                return None;
            }
            vertex += 1;
        }
    }
}

/// Maximum number of remembered demands. Beyond it, the least recently used demand is removed.
const REMEMBERED: usize = 48;

/// Remembers, for recent demands, the leading nodes on which they do not fit. Searches skip these nodes.
#[derive(Clone, Debug, Default)]
pub(super) struct FirstFits {
    known: Vec<FirstFit>,
    /// Number of queries so far.
    queries: u64,
}

/// A remembered demand. It fits on no node before `from`, except perhaps on the nodes in `grown`.
#[derive(Clone, Debug)]
struct FirstFit {
    demand: Resources,
    from: u32,
    grown: IdSet,
    /// Value of [`FirstFits::queries`] at the last query for this demand.
    last_query: u64,
}

impl FirstFits {
    /// Returns the first node on which a demand fits. `fits` returns whether the demand fits on a node.
    pub(super) fn first(&mut self, demand: &Resources, index: &FreeIndex, fits: impl Fn(u32) -> bool) -> Option<u32> {
        self.queries += 1;
        let known = self.entry(demand);
        while let Some(first) = known.grown.next(0) {
            if fits(first) {
                return Some(first);
            }
            known.grown.remove(first);
        }
        let first = index.next(known.from, demand);
        known.from = first.unwrap_or(u32::MAX);
        first
    }

    fn entry(&mut self, demand: &Resources) -> &mut FirstFit {
        let last_query = self.queries;
        let at = if let Some(at) = self.known.iter().position(|known| known.demand == *demand) {
            at
        } else {
            if self.known.len() == REMEMBERED {
                let oldest =
                    self.known.iter().enumerate().min_by_key(|(_, known)| known.last_query).map_or(0, |(at, _)| at);
                self.known.swap_remove(oldest);
            }
            self.known.push(FirstFit { demand: *demand, from: 0, grown: IdSet::default(), last_query });
            self.known.len() - 1
        };
        self.known[at].last_query = last_query;
        &mut self.known[at]
    }

    /// Must be called after the free resources of a node have grown.
    pub(super) fn grew(&mut self, node: u32, free: &Resources) {
        for known in &mut self.known {
            if node < known.from && known.demand.fits(free) {
                known.grown.insert(node);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::amount;

    proptest! {
        #[test]
        fn the_index_agrees_with_a_scan(
            nodes in prop::collection::vec((0u64..6, 0u64..6), 1..80),
            changes in prop::collection::vec((0usize..80, 0u64..6, 0u64..6), 0..40),
            queries in prop::collection::vec((0u32..100, 1u64..7, 0u64..7), 1..20),
        ) {
            let mut index = FreeIndex::new(2);
            let mut known: Vec<(u64, u64)> = nodes.clone();
            for (at, (cpus, memory)) in nodes.into_iter().enumerate() {
                index.set(at as u32, &amount(cpus, memory));
            }
            for (at, cpus, memory) in changes {
                let at = at % known.len();
                known[at] = (cpus, memory);
                index.set(at as u32, &amount(cpus, memory));
            }
            for (from, cpus, memory) in queries.clone() {
                let fits = |(at, (c, m)): &(usize, &(u64, u64))| *at >= from as usize && cpus <= *c && memory <= *m;
                let scanned = known.iter().enumerate().find(fits).map(|(at, _)| at as u32);
                prop_assert_eq!(index.next(from, &amount(cpus, memory)), scanned);
            }
        }

        #[test]
        fn first_fits_agree_with_a_scan(
            nodes in prop::collection::vec((0u64..6, 0u64..6), 1..80),
            steps in prop::collection::vec((prop::option::of((0usize..80, 0u64..6, 0u64..6)), 0u64..5, 0u64..5), 1..120),
        ) {
            let (mut index, mut first_fits) = (FreeIndex::new(2), FirstFits::default());
            let mut known: Vec<Resources> = nodes.into_iter().map(|(cpus, memory)| amount(cpus, memory)).collect();
            for (at, free) in known.iter().enumerate() {
                index.set(at as u32, free);
            }
            for (change, cpus, memory) in steps {
                if let Some((at, cpus, memory)) = change {
                    let at = at % known.len();
                    known[at] = amount(cpus, memory);
                    if index.set(at as u32, &known[at]) {
                        first_fits.grew(at as u32, &known[at]);
                    }
                }
                let demand = amount(cpus, memory);
                let fits = |node: u32| demand.fits(&known[node as usize]);
                let scanned = (0..known.len() as u32).find(|node| fits(*node));
                if !demand.is_none() {
                    prop_assert_eq!(first_fits.first(&demand, &index, fits), scanned);
                }
            }
        }
    }
}
