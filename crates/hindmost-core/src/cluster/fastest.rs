//! The open nodes from the fastest on, and of equally fast ones from the one with the largest share of its capacity free:
//! the index behind [`Cluster::find_fastest_node`](super::Cluster::find_fastest_node). It is made when it is first asked
//! for, and made anew after nodes have joined or their speeds have changed.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::id_set::IdSet;
use crate::ids::NodeId;

use super::node::Node;

/// See the module's documentation.
#[derive(Clone, Debug)]
pub(super) enum FastestNodes {
    /// Of one-slot machines: an open one is all free, so their order never changes. Places in that order, of open nodes.
    OneSlot { place_of: Vec<u32>, node_at: Vec<u32>, open: IdSet },
    /// Of all others.
    Several { open: BTreeSet<Entry>, entry_of: Vec<Option<Entry>> },
}

/// Bits that sort as speed and free share, the largest first, and the node.
type Entry = (Reverse<u64>, Reverse<u64>, u32);

/// Speeds and shares are not negative: they sort as their bits do.
fn entry(at: u32, node: &Node) -> Option<Entry> {
    let is_open = node.up && !node.free.is_none();
    is_open.then(|| (Reverse(node.speed.to_bits()), Reverse(node.free_share().to_bits()), at))
}

impl FastestNodes {
    /// Of these nodes.
    pub(super) fn of(nodes: &[Node], one_slot: bool) -> FastestNodes {
        if !one_slot {
            let entry_of: Vec<Option<Entry>> = (0..).zip(nodes).map(|(at, node)| entry(at, node)).collect();
            return FastestNodes::Several { open: entry_of.iter().flatten().copied().collect(), entry_of };
        }
        let mut node_at: Vec<u32> = (0..nodes.len() as u32).collect();
        node_at.sort_by_key(|at| (Reverse(nodes[*at as usize].speed.to_bits()), *at));
        let mut place_of = vec![0; nodes.len()];
        let mut open = IdSet::default();
        for (place, at) in (0..).zip(&node_at) {
            place_of[*at as usize] = place;
            if entry(*at, &nodes[*at as usize]).is_some() {
                open.insert(place);
            }
        }
        FastestNodes::OneSlot { place_of, node_at, open }
    }

    /// What is free on a node, or whether it is up, has changed.
    pub(super) fn changed(&mut self, id: NodeId, node: &Node) {
        let now = entry(id.0, node);
        match self {
            FastestNodes::OneSlot { place_of, open, .. } => {
                let place = place_of[id.0 as usize];
                if now.is_some() {
                    open.insert(place);
                } else {
                    open.remove(place);
                }
            }
            FastestNodes::Several { open, entry_of } => {
                let before = std::mem::replace(&mut entry_of[id.0 as usize], now);
                if before != now {
                    before.map(|before| open.remove(&before));
                    open.extend(now);
                }
            }
        }
    }

    /// Returns the first open node for which `suits` holds.
    pub(super) fn first(&self, mut suits: impl FnMut(NodeId) -> bool) -> Option<NodeId> {
        match self {
            FastestNodes::OneSlot { node_at, open, .. } => {
                open.iter().map(|place| NodeId(node_at[place as usize])).find(|node| suits(*node))
            }
            FastestNodes::Several { open, .. } => open.iter().map(|entry| NodeId(entry.2)).find(|node| suits(*node)),
        }
    }
}
