//! The order in which a sweep visits nodes: the cluster's placement.

use std::cmp::Reverse;

use hindmost_core::cluster::{Cluster, Placement};
use hindmost_core::id_set::IdSet;
use hindmost_core::ids::NodeId;

use crate::placement::newly_startable::Fresh;

/// A visit of the nodes whose free resources have grown and of the nodes on which a newly startable demand fits. Each
/// node comes once. Other nodes may come too; nothing starts there.
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
    pub(super) fn begin(grown: &IdSet, cluster: &Cluster) -> Visit {
        match cluster.placement() {
            Placement::Spread if cluster.visits_freest_first() => Visit::freest_first(cluster),
            Placement::First | Placement::Spread => Visit::Ids(0),
            Placement::Random | Placement::Fastest => {
                let mut grown: Vec<u32> = grown.iter().map(|node| cluster.place_of(NodeId(node))).collect();
                grown.sort_unstable();
                let start = cluster.first_place();
                Visit::Places { grown, start, next: start, has_turned: false }
            }
        }
    }

    /// Visits all nodes that are up, because a demand that becomes startable during the visit may fit on any of
    /// them.
    fn freest_first(cluster: &Cluster) -> Visit {
        let mut nodes: Vec<(Reverse<u64>, NodeId)> = (0..)
            .map(NodeId)
            .zip(cluster.nodes())
            .filter(|(_, node)| node.is_up())
            .map(|(id, node)| (Reverse(node.free_share().to_bits()), id))
            .collect();
        nodes.sort_unstable();
        Visit::FreeShares(nodes.into_iter().map(|(_, id)| id).collect::<Vec<_>>().into_iter())
    }

    /// Returns the next node. `grown` is the same as at the beginning; demands may have been added to `fresh`. A node that
    /// comes because such a demand fits there is missing if its turn was before.
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
