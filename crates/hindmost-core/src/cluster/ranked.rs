//! Orders of nodes other than by id: by speed, by free share, and a random one. Each is an index that finds nodes with
//! enough free resources. It is built at the first query, and rebuilt after nodes have joined or speeds have changed.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::id_set::IdSet;
use crate::ids::NodeId;
use crate::random::{Purpose, hash};
use crate::resources::{Dimensions, MAX_DIMENSIONS, Resources};

use super::free::FreeIndex;
use super::node::Node;

/// The first number of the identity of draws that sort nodes at random. No task has it.
const SHUFFLE: u64 = u64::MAX - 2;

/// How a [`Ranking`] sorts nodes.
#[derive(Clone, Copy, Debug)]
pub(super) enum RankBy {
    /// The fastest node first. Equally fast nodes are sorted by capacity, the largest first, if `ties_by_capacity`, and
    /// then by id.
    Speed { ties_by_capacity: bool },
    /// By id; all nodes form one group.
    Id,
    /// At random, fixed by a seed.
    Shuffle(u64),
}

/// The rankings that have been queried.
#[derive(Clone, Debug, Default)]
pub(super) struct RankedNodes {
    /// By speed; equally fast nodes by free share.
    pub(super) fastest: Option<Ranking>,
    /// By free share.
    pub(super) freest: Option<Ranking>,
    /// In a random order.
    pub(super) shuffled: Option<Ranking>,
    /// By id, with their speeds.
    pub(super) speeds: Option<OpenSpeeds>,
}

impl RankedNodes {
    /// Must be called after a node has joined, was lost, has returned or has changed its speed.
    pub(super) fn clear(&mut self) {
        *self = RankedNodes::default();
    }

    /// Must be called after the free resources of a node have changed, and after the node was lost or has returned.
    #[inline]
    pub(super) fn changed(&mut self, id: NodeId, node: &Node) {
        // This runs whenever an attempt starts or ends, and usually there is no ranking.
        if let Some(fastest) = &mut self.fastest {
            fastest.changed(id, node);
        }
        if let Some(freest) = &mut self.freest {
            freest.changed(id, node);
        }
        if let Some(shuffled) = &mut self.shuffled {
            shuffled.changed(id, node);
        }
        if let Some(speeds) = &mut self.speeds {
            speeds.changed(id, node);
        }
    }
}

/// An index of open nodes by id, free resources and speed. The speed is one more dimension of the free resources, as bits,
/// which sort like speeds.
#[derive(Clone, Debug)]
pub(super) struct OpenSpeeds {
    index: FreeIndex,
    /// The dimension of the speed.
    of_speed: usize,
}

impl OpenSpeeds {
    /// Returns true if nodes of these dimensions can be indexed: there must be space for one more.
    pub(super) fn suits(dimensions: &Dimensions) -> bool {
        dimensions.names().len() < MAX_DIMENSIONS
    }

    /// Builds the index of these nodes, whose resources have these dimensions.
    pub(super) fn of(nodes: &[Node], dimensions: &Dimensions) -> OpenSpeeds {
        let of_speed = dimensions.names().len();
        let mut speeds = OpenSpeeds { index: FreeIndex::new(of_speed + 1), of_speed };
        for (id, node) in (0..).map(NodeId).zip(nodes) {
            speeds.changed(id, node);
        }
        speeds
    }

    fn changed(&mut self, id: NodeId, node: &Node) {
        let mut free = Resources::NONE;
        if node.up && !node.free.is_none() {
            free = node.free;
            free.0[self.of_speed] = node.speed.to_bits();
        }
        self.index.set(id.0, &free);
    }

    /// Returns the speed of the fastest open node; `None` if no node is open.
    pub(super) fn fastest(&self) -> Option<f64> {
        Some(f64::from_bits(self.index.largest(self.of_speed))).filter(|speed| *speed > 0.0)
    }

    /// Returns the first open node with an id of at least `from` and a speed of at least `least` that has enough free
    /// resources for a demand; `None` if there is none.
    pub(super) fn next(&self, from: NodeId, demand: &Resources, least: f64) -> Option<NodeId> {
        let mut demand = *demand;
        // The speed of a node that is not open counts as 0.
        demand.0[self.of_speed] = least.max(f64::MIN_POSITIVE).to_bits();
        self.index.next(from.0, &demand).map(NodeId)
    }
}

/// All nodes in one order. The place of a node is its position in this order, from 0. Neighbours with the same sort key
/// form a group.
#[derive(Clone, Debug)]
struct Places {
    /// The place of each node, by id.
    of: Vec<u32>,
    /// The id of the node at each place.
    node: Vec<u32>,
    /// For each place, the first place of its group and the place after its last one.
    group: Vec<(u32, u32)>,
}

impl Places {
    fn of(nodes: &[Node], by: RankBy) -> Places {
        let at = |id: u32| &nodes[id as usize];
        let mut node: Vec<u32> = (0..nodes.len() as u32).collect();
        match by {
            RankBy::Speed { ties_by_capacity } => node.sort_by_key(|id| {
                let capacity = if ties_by_capacity { at(*id).capacity } else { Resources::NONE };
                (Reverse(at(*id).speed.to_bits()), Reverse(capacity.0), *id)
            }),
            RankBy::Id => {}
            RankBy::Shuffle(seed) => {
                node.sort_by_cached_key(|id| (hash(seed, Purpose::Placement, SHUFFLE, u64::from(*id)), *id));
            }
        }
        let mut places = Places { of: vec![0; nodes.len()], group: vec![(0, 0); nodes.len()], node };
        let mut begin = 0;
        for place in 0..places.node.len() {
            places.of[places.node[place] as usize] = place as u32;
            let ends = places.node.get(place + 1).is_none_or(|next| {
                matches!(by, RankBy::Speed { .. })
                    && at(*next).speed.to_bits() != at(places.node[place]).speed.to_bits()
            });
            if ends {
                places.group[begin..=place].fill((begin as u32, place as u32 + 1));
                begin = place + 1;
            }
        }
        places
    }
}

/// A sort key: the first place of the node's group, the bits of its free share, and its place. Shares are not negative, so
/// they sort as their bits do.
type Entry = (u32, Reverse<u64>, u32);

/// Open nodes sorted by group and, within a group, by free share, the largest first.
#[derive(Clone, Debug)]
struct ByShare {
    sorted: BTreeSet<Entry>,
    /// The entry of each place; `None` if the node is not open.
    of: Vec<Option<Entry>>,
}

/// An index of open nodes by place.
#[derive(Clone, Debug)]
pub(super) struct Ranking {
    places: Places,
    /// Places of open nodes.
    open: IdSet,
    /// Free resources by place; `None` on one-slot machines.
    free: Option<FreeIndex>,
    /// `None` if nodes are not sorted by free share: in a random order, and on one-slot machines, where an open machine
    /// is entirely free.
    by_share: Option<ByShare>,
}

impl Ranking {
    /// Builds the index of these nodes, whose resources have these dimensions.
    pub(super) fn of(nodes: &[Node], dimensions: &Dimensions, by: RankBy) -> Ranking {
        let places = Places::of(nodes, by);
        let has_several = !dimensions.is_one_slot();
        let by_share = (has_several && !matches!(by, RankBy::Shuffle(_)))
            .then(|| ByShare { sorted: BTreeSet::new(), of: vec![None; nodes.len()] });
        let free = has_several.then(|| FreeIndex::new(dimensions.names().len()));
        let mut ranking = Ranking { places, open: IdSet::default(), free, by_share };
        for (id, node) in (0..).map(NodeId).zip(nodes) {
            ranking.changed(id, node);
        }
        ranking
    }

    /// Must be called after the free resources of a node have changed, and after the node was lost or has returned.
    pub(super) fn changed(&mut self, id: NodeId, node: &Node) {
        let place = self.place_of(id);
        let is_open = node.up && !node.free.is_none();
        if is_open {
            self.open.insert(place);
        } else {
            self.open.remove(place);
        }
        if let Some(free) = &mut self.free {
            free.set(place, if node.up { &node.free } else { &Resources::NONE });
        }
        if let Some(by_share) = &mut self.by_share {
            let (begin, _) = self.places.group[place as usize];
            let now = is_open.then(|| (begin, Reverse(node.free_share().to_bits()), place));
            let before = std::mem::replace(&mut by_share.of[place as usize], now);
            if before != now {
                before.map(|before| by_share.sorted.remove(&before));
                by_share.sorted.extend(now);
            }
        }
    }

    pub(super) fn place_of(&self, id: NodeId) -> u32 {
        self.places.of[id.0 as usize]
    }

    /// Returns the node at a place; `None` if there are fewer nodes.
    pub(super) fn node_at(&self, place: u32) -> Option<NodeId> {
        self.places.node.get(place as usize).copied().map(NodeId)
    }

    /// Returns the first open node; `None` if no node is open.
    pub(super) fn first_open(&self) -> Option<NodeId> {
        self.node_at(self.open.next(0)?)
    }

    /// Returns the first place from `from` on whose node is open and has enough free resources for a demand; `None` if
    /// there is none. On one-slot machines every demand fits on an open machine.
    pub(super) fn next(&self, from: u32, demand: &Resources) -> Option<u32> {
        let Some(free) = &self.free else { return self.open.next(from) };
        let mut next = free.next(from, demand)?;
        // A demand of zero fits on every node, so nodes that are not open must be skipped here.
        while demand.is_none() && !self.open.contains(next) {
            next = free.next(next + 1, demand)?;
        }
        Some(next)
    }

    /// Returns the first open node for which `suits` holds; `None` if there is none. Nodes come in order of their groups
    /// and, within a group, of their free shares. `suits` must be false for nodes on which the demand does not fit.
    pub(super) fn first(&self, demand: &Resources, mut suits: impl FnMut(NodeId) -> bool) -> Option<NodeId> {
        let id = |place: u32| NodeId(self.places.node[place as usize]);
        let Some(by_share) = &self.by_share else {
            return self.open.iter().map(id).find(|node| suits(*node));
        };
        let mut from = 0;
        loop {
            // The first node on which the demand fits, and all nodes of its group.
            let mut fitting = self.next(from, demand);
            let (begin, end) = self.places.group[fitting? as usize];
            from = end;
            let group = (begin, Reverse(u64::MAX), 0)..=(begin, Reverse(0), u32::MAX);
            // Two searches over the nodes of this group take turns. One takes the nodes by free share, and is short if
            // nodes with large free shares suit. The other takes only nodes on which the demand fits, and is short if
            // there are few of them.
            let mut best: Option<Entry> = None;
            for entry in by_share.sorted.range(group) {
                if suits(id(entry.2)) {
                    return Some(id(entry.2));
                }
                let Some(place) = fitting.filter(|place| *place < end) else { break };
                let found = by_share.of[place as usize].filter(|_| suits(id(place)));
                best = [best, found].into_iter().flatten().min();
                fitting = self.next(place + 1, demand);
            }
            if let Some((.., place)) = best {
                return Some(id(place));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::cluster::node::OnNode;
    use crate::testing::amount;

    fn node(speed: u32, capacity: (u64, u64), free: (u64, u64), up: bool) -> Node {
        let capacity = amount(capacity.0 + 1, capacity.1 + 1);
        Node {
            name: Arc::from("n"),
            rack: None,
            power: None,
            free: amount(free.0, free.1).least(&capacity),
            capacity,
            reserved: Resources::NONE,
            speed: f64::from(speed) / 2.0,
            up,
            before_leaving: None,
            attempts: OnNode::NONE,
        }
    }

    /// Returns the open nodes, best first.
    fn sorted(nodes: &[Node], by: RankBy) -> Vec<u32> {
        let mut open: Vec<u32> = (0..nodes.len() as u32).collect();
        open.retain(|id| nodes[*id as usize].up && !nodes[*id as usize].free.is_none());
        open.sort_by_key(|id| {
            let node = &nodes[*id as usize];
            let (speed, capacity) = match by {
                RankBy::Speed { ties_by_capacity: true } => (node.speed, node.capacity),
                RankBy::Speed { .. } => (node.speed, Resources::NONE),
                RankBy::Id | RankBy::Shuffle(_) => (0.0, Resources::NONE),
            };
            (Reverse(speed.to_bits()), Reverse(node.free_share().to_bits()), Reverse(capacity.0), *id)
        });
        open
    }

    proptest! {
        #[test]
        fn the_index_agrees_with_a_scan(
            nodes in prop::collection::vec((1u32..4, (0u64..6, 0u64..6), (0u64..7, 0u64..7), any::<bool>()), 1..40),
            changes in prop::collection::vec((0usize..40, (0u64..7, 0u64..7), any::<bool>()), 0..30),
            queries in prop::collection::vec((0u64..7, 0u64..7, 0u32..4), 1..10),
            which in 0..3,
        ) {
            let by = match which {
                0 => RankBy::Id,
                _ => RankBy::Speed { ties_by_capacity: which == 1 },
            };
            let names = [("cpus".to_owned(), 1.0), ("memory".to_owned(), 1.0)].into_iter().collect();
            let dimensions = Dimensions::of([&names]).unwrap();
            let mut nodes: Vec<Node> =
                nodes.into_iter().map(|(speed, capacity, free, up)| node(speed, capacity, free, up)).collect();
            let mut index = Ranking::of(&nodes, &dimensions, by);
            for (at, free, up) in changes {
                let at = at % nodes.len();
                nodes[at].free = amount(free.0, free.1).least(&nodes[at].capacity);
                nodes[at].up = up;
                index.changed(NodeId(at as u32), &nodes[at]);
            }
            let sorted = sorted(&nodes, by);
            let speed = |id: NodeId| if matches!(by, RankBy::Id) { 0.0 } else { nodes[id.0 as usize].speed };
            prop_assert_eq!(index.first_open().map(speed), sorted.first().map(|id| speed(NodeId(*id))));
            for (cpus, memory, but) in queries {
                let demand = amount(cpus, memory);
                let suits = |id: NodeId| demand.fits(&nodes[id.0 as usize].free) && id.0 % 4 != but;
                let scanned = sorted.iter().map(|id| NodeId(*id)).find(|id| suits(*id));
                prop_assert_eq!(index.first(&demand, suits), scanned);
            }
        }
    }

    proptest! {
        #[test]
        fn speeds_of_open_nodes_agree_with_a_scan(
            nodes in prop::collection::vec((1u32..5, (0u64..4, 0u64..4), (0u64..5, 0u64..5), any::<bool>()), 1..40),
            changes in prop::collection::vec((0usize..40, (0u64..5, 0u64..5), any::<bool>()), 0..30),
            queries in prop::collection::vec((0u32..45, 0u64..5, 0u64..5, 0u32..6), 1..12),
        ) {
            let names = [("cpus".to_owned(), 1.0), ("memory".to_owned(), 1.0)].into_iter().collect();
            let dimensions = Dimensions::of([&names]).unwrap();
            prop_assert!(OpenSpeeds::suits(&dimensions));
            let mut nodes: Vec<Node> =
                nodes.into_iter().map(|(speed, capacity, free, up)| node(speed, capacity, free, up)).collect();
            let mut index = OpenSpeeds::of(&nodes, &dimensions);
            for (at, free, up) in changes {
                let at = at % nodes.len();
                nodes[at].free = amount(free.0, free.1).least(&nodes[at].capacity);
                nodes[at].up = up;
                index.changed(NodeId(at as u32), &nodes[at]);
            }
            let is_open = |node: &&Node| node.up && !node.free.is_none();
            prop_assert_eq!(index.fastest(), nodes.iter().filter(is_open).map(|node| node.speed).reduce(f64::max));
            for (from, cpus, memory, speed) in queries {
                let (demand, least) = (amount(cpus, memory), f64::from(speed) / 2.0);
                let fits = |(at, node): &(u32, &Node)| {
                    *at >= from && is_open(node) && demand.fits(&node.free) && node.speed >= least
                };
                let scanned = (0..).zip(&nodes).find(fits).map(|(at, _)| NodeId(at));
                prop_assert_eq!(index.next(NodeId(from), &demand, least), scanned);
            }
        }
    }

    #[test]
    fn every_node_has_a_place_in_a_random_order() {
        let nodes: Vec<Node> = (0..200).map(|_| node(2, (3, 3), (2, 2), true)).collect();
        let names = [("cpus".to_owned(), 1.0), ("memory".to_owned(), 1.0)].into_iter().collect();
        let dimensions = Dimensions::of([&names]).unwrap();
        let order = |seed| {
            let ranking = Ranking::of(&nodes, &dimensions, RankBy::Shuffle(seed));
            let order: Vec<u32> = (0..200).map(|place| ranking.node_at(place).unwrap().0).collect();
            assert!(order.iter().zip(0..).all(|(id, place)| ranking.place_of(NodeId(*id)) == place));
            assert_eq!((ranking.node_at(200), ranking.next(150, &amount(2, 2))), (None, Some(150)));
            order
        };
        let (one, other) = (order(1), order(2));
        assert_eq!(one, order(1));
        assert_ne!(one, other);
        let mut ids = one;
        ids.sort_unstable();
        assert_eq!(ids, (0..200).collect::<Vec<_>>());
    }
}
