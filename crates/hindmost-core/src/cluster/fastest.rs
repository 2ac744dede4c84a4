//! The index with which [`Cluster::find_fastest_node`](super::Cluster::find_fastest_node) searches. It sorts open nodes
//! by speed, and nodes of equal speed by the share of their capacity that is free. It is built at the first query, and
//! rebuilt after nodes have joined or speeds have changed.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::id_set::IdSet;
use crate::ids::NodeId;
use crate::resources::{Dimensions, Resources};

use super::free::FreeIndex;
use super::node::Node;

/// The index of open nodes by speed and free share.
#[derive(Clone, Debug)]
pub(super) enum FastestNodes {
    /// The index for one-slot machines. An open machine is entirely free, so the order of the nodes is fixed. `open`
    /// has the places of open nodes.
    OneSlot { places: Places, open: IdSet },
    /// The index for all other machines.
    Several { places: Places, open: BTreeSet<Entry>, entry_of: Vec<Option<Entry>>, by_place: FreeIndex },
}

/// A sort key: the bits of speed and free share, largest first, and the node's id.
type Entry = (Reverse<u64>, Reverse<u64>, u32);

/// Returns the sort key of an open node. Speeds and shares are not negative, so they sort as their bits do.
fn entry(at: u32, node: &Node) -> Option<Entry> {
    let is_open = node.up && !node.free.is_none();
    is_open.then(|| (Reverse(node.speed.to_bits()), Reverse(node.free_share().to_bits()), at))
}

/// All nodes sorted by speed, fastest first, then by id. The place of a node is its position in this order, from 0.
#[derive(Clone, Debug)]
pub(super) struct Places {
    /// The place of each node, by id.
    of: Vec<u32>,
    /// The id of the node at each place.
    node: Vec<u32>,
    /// For each place, the place after the last node of the same speed.
    end: Vec<u32>,
}

impl Places {
    fn of(nodes: &[Node]) -> Places {
        let speed = |at: u32| nodes[at as usize].speed.to_bits();
        let mut node: Vec<u32> = (0..nodes.len() as u32).collect();
        node.sort_by_key(|at| (Reverse(speed(*at)), *at));
        let mut places = Places { of: vec![0; nodes.len()], end: vec![0; nodes.len()], node };
        let mut end = nodes.len() as u32;
        for place in (0..places.node.len()).rev() {
            let at = places.node[place];
            if places.node.get(place + 1).is_some_and(|next| speed(*next) != speed(at)) {
                end = place as u32 + 1;
            }
            (places.of[at as usize], places.end[place]) = (place as u32, end);
        }
        places
    }
}

impl FastestNodes {
    /// Builds the index of these nodes, whose resources have these dimensions.
    pub(super) fn of(nodes: &[Node], dimensions: &Dimensions) -> FastestNodes {
        let places = Places::of(nodes);
        let entries = (0..).zip(nodes).map(|(at, node)| entry(at, node));
        if dimensions.is_one_slot() {
            let mut open = IdSet::default();
            entries.flatten().for_each(|(.., at)| {
                open.insert(places.of[at as usize]);
            });
            return FastestNodes::OneSlot { places, open };
        }
        let entry_of: Vec<Option<Entry>> = entries.collect();
        let mut by_place = FreeIndex::new(dimensions.names().len());
        for (place, at) in (0..).zip(&places.node) {
            let node = &nodes[*at as usize];
            by_place.set(place, if node.up { &node.free } else { &Resources::NONE });
        }
        FastestNodes::Several { places, open: entry_of.iter().flatten().copied().collect(), entry_of, by_place }
    }

    /// Must be called after the free resources of a node have changed, and after the node was lost or has returned.
    pub(super) fn changed(&mut self, id: NodeId, node: &Node) {
        let now = entry(id.0, node);
        match self {
            FastestNodes::OneSlot { places, open } => {
                let place = places.of[id.0 as usize];
                if now.is_some() {
                    open.insert(place);
                } else {
                    open.remove(place);
                }
            }
            FastestNodes::Several { places, open, entry_of, by_place } => {
                let before = std::mem::replace(&mut entry_of[id.0 as usize], now);
                if before != now {
                    before.map(|before| open.remove(&before));
                    open.extend(now);
                }
                by_place.set(places.of[id.0 as usize], if node.up { &node.free } else { &Resources::NONE });
            }
        }
    }

    /// Returns the first open node in the index; `None` if no node is open.
    pub(super) fn first_open(&self) -> Option<NodeId> {
        match self {
            FastestNodes::OneSlot { places, open } => open.next(0).map(|place| NodeId(places.node[place as usize])),
            FastestNodes::Several { open, .. } => open.first().map(|entry| NodeId(entry.2)),
        }
    }

    /// Returns the first open node for which `suits` holds; `None` if there is none. `suits` must be false for nodes on
    /// which the demand does not fit.
    pub(super) fn first(&self, demand: &Resources, mut suits: impl FnMut(NodeId) -> bool) -> Option<NodeId> {
        let (places, open, entry_of, by_place) = match self {
            FastestNodes::OneSlot { places, open } => {
                return open.iter().map(|place| NodeId(places.node[place as usize])).find(|node| suits(*node));
            }
            FastestNodes::Several { places, open, entry_of, by_place } => (places, open, entry_of, by_place),
        };
        let mut from = 0;
        loop {
            // The fastest node on which the demand fits, and all nodes of the same speed.
            let mut fitting = by_place.next(from, demand);
            let place = fitting? as usize;
            let Some((speed, ..)) = entry_of[*places.node.get(place)? as usize] else {
                // The node is not open. The search returns it only for a demand of zero, which fits everywhere.
                from = place as u32 + 1;
                continue;
            };
            from = places.end[place];
            let as_fast = (speed, Reverse(u64::MAX), 0)..=(speed, Reverse(0), u32::MAX);
            // Two searches over the nodes of this speed take turns. One takes the nodes by free share, and is short if
            // nodes with large free shares suit. The other takes only nodes on which the demand fits, and is short if
            // there are few of them.
            let mut best: Option<Entry> = None;
            for entry in open.range(as_fast) {
                if suits(NodeId(entry.2)) {
                    return Some(NodeId(entry.2));
                }
                let Some(place) = fitting.filter(|place| *place < from) else { break };
                let at = places.node[place as usize];
                let found = entry_of[at as usize].filter(|_| suits(NodeId(at)));
                best = [best, found].into_iter().flatten().min();
                fitting = by_place.next(place + 1, demand);
            }
            if let Some((.., at)) = best {
                return Some(NodeId(at));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;

    fn amount(cpus: u64, memory: u64) -> Resources {
        let mut amount = Resources::NONE;
        (amount.0[0], amount.0[1]) = (cpus, memory);
        amount
    }

    fn node(speed: u32, capacity: (u64, u64), free: (u64, u64), up: bool) -> Node {
        let capacity = amount(capacity.0 + 1, capacity.1 + 1);
        Node {
            name: Arc::from("n"),
            rack: None,
            free: amount(free.0, free.1).least(&capacity),
            capacity,
            reserved: Resources::NONE,
            speed: f64::from(speed) / 2.0,
            power: None,
            up,
            attempts: Vec::new(),
        }
    }

    proptest! {
        #[test]
        fn the_index_agrees_with_a_scan(
            nodes in prop::collection::vec((1u32..4, (0u64..6, 0u64..6), (0u64..7, 0u64..7), any::<bool>()), 1..40),
            changes in prop::collection::vec((0usize..40, (0u64..7, 0u64..7), any::<bool>()), 0..30),
            queries in prop::collection::vec((0u64..7, 0u64..7, 0u32..4), 1..10),
        ) {
            let names = [("cpus".to_owned(), 1.0), ("memory".to_owned(), 1.0)].into_iter().collect();
            let dimensions = Dimensions::of([&names]).unwrap();
            let mut nodes: Vec<Node> =
                nodes.into_iter().map(|(speed, capacity, free, up)| node(speed, capacity, free, up)).collect();
            let mut index = FastestNodes::of(&nodes, &dimensions);
            for (at, free, up) in changes {
                let at = at % nodes.len();
                nodes[at].free = amount(free.0, free.1).least(&nodes[at].capacity);
                nodes[at].up = up;
                index.changed(NodeId(at as u32), &nodes[at]);
            }
            for (cpus, memory, but) in queries {
                let demand = amount(cpus, memory);
                let suits = |id: NodeId| demand.fits(&nodes[id.0 as usize].free) && id.0 % 4 != but;
                let all = (0..).zip(&nodes).filter_map(|(at, node)| entry(at, node));
                prop_assert_eq!(index.first_open(), all.min().map(|entry| NodeId(entry.2)));
                let all = (0..).zip(&nodes).filter_map(|(at, node)| entry(at, node));
                let scanned = all.filter(|entry| suits(NodeId(entry.2))).min().map(|entry| NodeId(entry.2));
                prop_assert_eq!(index.first(&demand, suits), scanned);
            }
        }
    }
}
