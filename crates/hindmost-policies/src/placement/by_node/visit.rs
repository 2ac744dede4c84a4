//! The order in which a sweep visits nodes: the cluster's placement.

use std::cmp::Reverse;

use hindmost_core::cluster::{Cluster, Node, Placement};
use hindmost_core::id_set::IdSet;
use hindmost_core::ids::NodeId;

use crate::placement::newly_startable::Fresh;

/// A visit of the nodes whose free resources have grown and of the nodes on which a newly startable demand fits. Each
/// node comes once.
pub(super) enum Visit {
    /// By id. The value is the smallest id that has not come yet.
    Ids(u32),
    /// By place ([`Cluster::place_of`]), from the cluster's first place on.
    Places {
        /// Places of nodes whose free resources have grown, in ascending order.
        grown: Vec<u32>,
        start: u32,
        /// The smallest place that has not come yet, in this turn.
        next: u32,
        /// True once the last place has come, so that the places before `start` follow.
        has_turned: bool,
    },
    /// The nodes with the largest free share at the beginning of the visit first; ties go to the smallest id.
    FreeShares(std::vec::IntoIter<NodeId>),
}

impl Visit {
    /// Begins a visit. `grown` has the nodes whose free resources have grown.
    pub(super) fn begin(grown: &IdSet, fresh: &Fresh, cluster: &Cluster) -> Visit {
        match cluster.placement() {
            Placement::Spread if cluster.visits_freest_first() => Visit::freest_first(grown, fresh, cluster),
            Placement::First | Placement::Spread => Visit::Ids(0),
            Placement::Random | Placement::Fastest => {
                let mut grown: Vec<u32> = grown.iter().map(|node| cluster.place_of(NodeId(node))).collect();
                grown.sort_unstable();
                let start = cluster.first_place();
                Visit::Places { grown, start, next: start, has_turned: false }
            }
        }
    }

    fn freest_first(grown: &IdSet, fresh: &Fresh, cluster: &Cluster) -> Visit {
        let mut fresh = fresh.clone();
        let mut by_id = Visit::Ids(0);
        let mut nodes: Vec<NodeId> = Vec::new();
        while let Some(node) = by_id.next(grown, &mut fresh, cluster) {
            nodes.push(node);
        }
        let share = |node: &NodeId| cluster.node(*node).map_or(0.0, Node::free_share);
        nodes.sort_by_cached_key(|node| (Reverse(share(node).to_bits()), *node));
        Visit::FreeShares(nodes.into_iter())
    }

    /// Returns the next node. `grown` is the same as at the beginning; demands may have been added to `fresh`. A node that
    /// comes because such a demand fits there is missing if its turn was before, and from [`Visit::FreeShares`].
    pub(super) fn next(&mut self, grown: &IdSet, fresh: &mut Fresh, cluster: &Cluster) -> Option<NodeId> {
        match self {
            Visit::Ids(next) => {
                let grown = if grown.is_empty() { None } else { grown.next(*next) };
                let node = fresh.next_place(*next, cluster).into_iter().chain(grown).min()?;
                *next = node.checked_add(1)?;
                Some(NodeId(node))
            }
            Visit::Places { grown, start, next, has_turned } => loop {
                let end = if *has_turned { *start } else { u32::MAX };
                let first_grown = grown[grown.partition_point(|place| place < next)..].first().copied();
                let place = fresh.next_place(*next, cluster).into_iter().chain(first_grown).min();
                if let Some(place) = place.filter(|place| *place < end) {
                    *next = place + 1;
                    return cluster.node_at(place);
                }
                if *has_turned || *start == 0 {
                    return None;
                }
                (*has_turned, *next) = (true, 0);
                fresh.begin_again();
            },
            Visit::FreeShares(nodes) => nodes.next(),
        }
    }
}
