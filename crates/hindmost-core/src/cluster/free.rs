//! The index of nodes by free room: the next node, by id, on which a demand fits.
//!
//! A binary tree over the nodes whose inner vertices hold, in each dimension, the most that any node
//! below has free. A demand that exceeds this in some dimension fits on none of them, so a search passes
//! over them at once; where the most in two dimensions comes from two nodes, it looks further down.

use crate::resources::Resources;

/// See the module's documentation.
#[derive(Clone, Debug)]
pub(super) struct FreeIndex {
    /// Dimensions in use.
    width: usize,
    /// Leaves, a power of two; vertex `leaves + n` is node n, the children of vertex v are 2v and 2v + 1.
    leaves: usize,
    /// The most free, vertex by vertex, dimension by dimension.
    most: Vec<u64>,
}

impl FreeIndex {
    /// Without nodes, for room in so many dimensions.
    pub(super) fn new(width: usize) -> FreeIndex {
        FreeIndex { width, leaves: 1, most: vec![0; 2 * width] }
    }

    fn at(&self, vertex: usize) -> &[u64] {
        &self.most[vertex * self.width..(vertex + 1) * self.width]
    }

    /// A node has so much free; nothing if nothing may be started on it.
    pub(super) fn set(&mut self, node: u32, free: &Resources) {
        let node = node as usize;
        if node >= self.leaves {
            self.grow(node + 1);
        }
        let mut vertex = self.leaves + node;
        let begin = vertex * self.width;
        self.most[begin..begin + self.width].copy_from_slice(&free.0[..self.width]);
        while vertex > 1 {
            vertex /= 2;
            if !self.refresh(vertex) {
                return;
            }
        }
    }

    /// Computes an inner vertex anew; false if it stays as it was.
    fn refresh(&mut self, vertex: usize) -> bool {
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

    /// The first node with this id or a larger one on which a demand fits.
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
            // On to what is right of it: of its parent, if it is a right child itself.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn room(cpus: u64, memory: u64) -> Resources {
        let mut room = Resources::NONE;
        (room.0[0], room.0[1]) = (cpus, memory);
        room
    }

    proptest! {
        #[test]
        fn finds_what_a_scan_finds(
            nodes in prop::collection::vec((0u64..6, 0u64..6), 1..80),
            changes in prop::collection::vec((0usize..80, 0u64..6, 0u64..6), 0..40),
            asked in prop::collection::vec((0u32..100, 1u64..7, 0u64..7), 1..20),
        ) {
            let mut index = FreeIndex::new(2);
            let mut known: Vec<(u64, u64)> = nodes.clone();
            for (at, (cpus, memory)) in nodes.into_iter().enumerate() {
                index.set(at as u32, &room(cpus, memory));
            }
            for (at, cpus, memory) in changes {
                let at = at % known.len();
                known[at] = (cpus, memory);
                index.set(at as u32, &room(cpus, memory));
            }
            for (from, cpus, memory) in asked {
                let fits = |(at, (c, m)): &(usize, &(u64, u64))| *at >= from as usize && cpus <= *c && memory <= *m;
                let scanned = known.iter().enumerate().find(fits).map(|(at, _)| at as u32);
                prop_assert_eq!(index.next(from, &room(cpus, memory)), scanned);
            }
        }
    }
}
