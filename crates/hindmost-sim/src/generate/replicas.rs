//! Places the replicas of tasks' input on nodes.
//!
//! The rules are those of HDFS: two replicas in one rack, one in another. The first replica is on any node, the second
//! on another node of that rack, the third on a node of another rack, and the others on any other nodes. If a rule
//! leaves no node, the replica is on any node that has no replica yet. (HDFS puts the second replica into another rack
//! and the third next to it. That yields the same three nodes in another order, if every node is equally likely to be
//! the first.)

use hindmost_core::ids::NodeId;

use crate::driver::NodeSetup;

/// The cluster's nodes, grouped by rack.
pub(super) struct Racks {
    /// All nodes; those of a rack are adjacent.
    nodes: Vec<NodeId>,
    /// For each entry of `nodes`, the begin and end of its rack in `nodes`.
    rack: Vec<(usize, usize)>,
}

impl Racks {
    pub(super) fn of(setup: &[NodeSetup]) -> Racks {
        let rack_of = |node: &NodeId| setup[node.0 as usize].rack.as_deref();
        let mut nodes: Vec<NodeId> = (0..setup.len() as u32).map(NodeId).collect();
        nodes.sort_by_key(|node| (rack_of(node), *node));
        let mut rack = Vec::with_capacity(nodes.len());
        for group in nodes.chunk_by(|one, other| rack_of(one) == rack_of(other)) {
            let begin = rack.len();
            rack.resize(begin + group.len(), (begin, begin + group.len()));
        }
        Racks { nodes, rack }
    }

    /// Chooses `replicas` different nodes, or all nodes if there are fewer. `draw` returns the random number from (0,
    /// 1) for replica number n.
    pub(super) fn place(&self, replicas: u32, draw: impl Fn(u64) -> f64) -> Vec<NodeId> {
        let count = (replicas as usize).min(self.nodes.len());
        let all = (0, self.nodes.len());
        let mut places: Vec<usize> = Vec::with_capacity(count);
        while places.len() < count {
            let drawn = draw(places.len() as u64);
            let rack = places.first().map_or(all, |first| self.rack[*first]);
            let chosen = match places.len() {
                1 => pick(rack, &places, drawn),
                2 => pick_outside(all, rack, drawn),
                _ => None,
            };
            // Fewer nodes are chosen than exist, so there is a node without a replica.
            let chosen = chosen.filter(|place| !places.contains(place)).or_else(|| pick(all, &places, drawn));
            let Some(chosen) = chosen else { break };
            places.push(chosen);
        }
        places.into_iter().map(|place| self.nodes[place]).collect()
    }
}

/// Returns one of the indices from `begin` to before `end` that are not taken; `None` if all are.
fn pick((begin, end): (usize, usize), taken: &[usize], drawn: f64) -> Option<usize> {
    let mut taken: Vec<usize> = taken.iter().copied().filter(|place| (begin..end).contains(place)).collect();
    taken.sort_unstable();
    let mut place = begin + nth(end - begin - taken.len(), drawn)?;
    for taken in taken {
        place += usize::from(place >= taken);
    }
    Some(place)
}

/// Returns one of the indices from `begin` to before `end` outside the range from `from` to before `to`; `None` if
/// there is none.
fn pick_outside((begin, end): (usize, usize), (from, to): (usize, usize), drawn: f64) -> Option<usize> {
    let place = begin + nth(end - begin - (to - from), drawn)?;
    Some(if place < from { place } else { place + (to - from) })
}

/// Returns one of `among` equally likely indices; `None` if `among` is 0.
fn nth(among: usize, drawn: f64) -> Option<usize> {
    (among > 0).then(|| ((drawn * among as f64) as usize).min(among - 1))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use hindmost_core::random::{Purpose, draw};
    use hindmost_core::resources::Resources;
    use proptest::prelude::*;

    use super::*;

    fn racks(of: &[Option<&str>]) -> Racks {
        let node = |rack: Option<&str>| NodeSetup {
            name: String::new(),
            capacity: Resources::ONE_SLOT,
            speed: 1.0,
            rack: rack.map(Into::into),
            power: None,
        };
        Racks::of(&of.iter().copied().map(node).collect::<Vec<_>>())
    }

    fn placed(racks: &Racks, replicas: u32, seed: u64) -> Vec<usize> {
        let nodes = racks.place(replicas, |number| draw(seed, Purpose::Replica, 0, number));
        nodes.into_iter().map(|node| node.0 as usize).collect()
    }

    #[test]
    fn two_replicas_are_in_one_rack_and_one_in_another() {
        let of = [Some("a"), Some("b"), Some("a"), Some("c"), Some("b"), Some("c"), Some("a"), Some("b")];
        let racks = racks(&of);
        let mut first = BTreeMap::new();
        for seed in 0..8000 {
            let nodes = placed(&racks, 3, seed);
            assert_eq!(of[nodes[0]], of[nodes[1]]);
            assert_ne!(of[nodes[0]], of[nodes[2]]);
            assert_ne!(nodes[0], nodes[1]);
            *first.entry(nodes[0]).or_insert(0) += 1;
        }
        // Each of the 8 nodes is equally likely to have the first replica; the tolerance is five standard errors.
        let error = (8000.0f64 * 0.125 * 0.875).sqrt();
        assert!(
            first.len() == 8 && first.values().all(|count| (f64::from(*count) - 1000.0).abs() < 5.0 * error),
            "{first:?}"
        );
    }

    #[test]
    fn without_a_suitable_rack_any_node_is_chosen() {
        // In `alone` each node has its own rack; in `one` all nodes are in the same rack.
        let alone = racks(&[Some("a"), Some("b"), Some("c")]);
        let one = racks(&[None; 4]);
        for seed in 0..200 {
            let mut nodes = placed(&alone, 3, seed);
            nodes.sort_unstable();
            assert_eq!(nodes, [0, 1, 2]);
            let mut nodes = placed(&one, 9, seed);
            nodes.sort_unstable();
            assert_eq!(nodes, [0, 1, 2, 3]);
        }
        assert!(placed(&racks(&[]), 3, 1).is_empty());
    }

    proptest! {
        #[test]
        fn the_requested_number_of_different_nodes_is_chosen(
            of in prop::collection::vec(prop::option::of(prop::sample::select(vec!["a", "b", "c"])), 1..12),
            replicas in 1..8u32,
            seed in any::<u64>(),
        ) {
            let nodes = placed(&racks(&of), replicas, seed);
            let different: std::collections::BTreeSet<usize> = nodes.iter().copied().collect();
            prop_assert_eq!(different.len(), nodes.len());
            prop_assert_eq!(nodes.len(), (replicas as usize).min(of.len()));
            let other_racks = of.iter().any(|rack| *rack != of[nodes[0]]);
            if nodes.len() > 2 && other_racks {
                prop_assert!(nodes[1..3].iter().any(|node| of[*node] != of[nodes[0]]));
            }
        }
    }
}
