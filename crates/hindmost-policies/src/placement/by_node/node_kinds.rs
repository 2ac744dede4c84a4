//! Nodes grouped by kind. Nodes with the same capacity and the same free resources are of one kind; a large cluster has
//! few kinds.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use hindmost_core::cluster::{Cluster, Node, Placement};
use hindmost_core::id_set::IdSet;
use hindmost_core::ids::NodeId;
use hindmost_core::resources::Resources;

/// The nodes of one kind.
#[derive(Clone, Debug)]
pub(crate) struct Kind {
    capacity: Resources,
    /// The free resources of each node.
    pub(crate) free: Resources,
    /// The places of the nodes ([`Cluster::place_of`]), with their ids.
    nodes: BTreeSet<(u32, NodeId)>,
    /// The node that is preferred.
    pub(crate) first: Option<Turn>,
}

impl Kind {
    /// Returns the first node from the place `start` on; the first place follows the last.
    fn first_from(&self, start: u32) -> Option<Turn> {
        let later = self.nodes.range((start, NodeId(0))..).next();
        later.or_else(|| self.nodes.first()).map(|(place, node)| Turn::new(*place, *node, start))
    }
}

/// When a node's turn is: the node with the smallest turn is preferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Turn {
    /// True if the node's place is before the place at which the turns begin.
    is_late: bool,
    place: u32,
    pub(crate) node: NodeId,
}

impl Turn {
    fn new(place: u32, node: NodeId, start: u32) -> Turn {
        Turn { is_late: place < start, place, node }
    }
}

/// The kinds of all nodes. Kinds are numbered; the number of an empty kind is not reused before the next call of
/// [`NodeKinds::refresh`].
#[derive(Debug, Default)]
pub(crate) struct NodeKinds {
    /// The number of each kind, by capacity and free resources.
    numbers: FxHashMap<(Resources, Resources), usize>,
    kinds: Vec<Kind>,
    /// The number of each node's kind, by node id; `None` if the node is down.
    of: Vec<Option<usize>>,
    /// Nodes whose kind may have changed.
    changed: IdSet,
    /// Kinds that have lost their last node since the last refresh; some may have got another node since.
    emptied: Vec<usize>,
    /// Numbers that may be reused for new kinds.
    unused: Vec<usize>,
    /// The place at which the turns begin.
    start: u32,
    /// The value of [`Cluster::node_changes`] for which places are valid.
    as_of: u64,
}

impl NodeKinds {
    /// Marks a node whose free resources or state may have changed.
    pub(crate) fn changed(&mut self, node: NodeId) {
        self.changed.insert(node.0);
    }

    /// Updates the kinds of all nodes that have changed.
    pub(crate) fn refresh(&mut self, cluster: &Cluster) {
        let mut next = self.changed.next(0);
        while let Some(node) = next {
            self.put(NodeId(node), cluster.node(NodeId(node)), cluster);
            next = self.changed.next(node + 1);
        }
        self.changed.clear();
        for number in self.emptied.drain(..) {
            let kind = &self.kinds[number];
            if kind.first.is_none() && self.numbers.remove(&(kind.capacity, kind.free)).is_some() {
                self.unused.push(number);
            }
        }
    }

    /// Begins the turns at the cluster's first place. If the places of nodes have changed, the next refresh groups all nodes
    /// again.
    pub(crate) fn begin_turns(&mut self, cluster: &Cluster) {
        if matches!(cluster.placement(), Placement::First | Placement::Spread) {
            return;
        }
        if self.as_of != cluster.node_changes() {
            *self = NodeKinds { as_of: cluster.node_changes(), ..NodeKinds::default() };
            (0..cluster.joined_nodes() as u32).for_each(|node| _ = self.changed.insert(node));
        }
        let start = cluster.first_place();
        if self.start != start {
            self.start = start;
            self.kinds.iter_mut().for_each(|kind| kind.first = kind.first_from(start));
        }
    }

    /// Updates the kind of a node. If `node` is `None` or down, it has no kind from now on. Returns the number of the
    /// node's kind if the kind had no node before.
    pub(crate) fn put(&mut self, id: NodeId, node: Option<&Node>, cluster: &Cluster) -> Option<usize> {
        let place = cluster.place_of(id);
        let at = id.0 as usize;
        if at >= self.of.len() {
            self.of.resize(at + 1, None);
        }
        let found = node.filter(|node| node.is_up()).map(|node| (*node.capacity(), *node.free()));
        if let Some(before) = self.of[at] {
            let kind = &mut self.kinds[before];
            if found == Some((kind.capacity, kind.free)) {
                return None;
            }
            kind.nodes.remove(&(place, id));
            kind.first = kind.first_from(self.start);
            if kind.first.is_none() {
                self.emptied.push(before);
            }
            self.of[at] = None;
        }
        let number = self.number(found?);
        self.of[at] = Some(number);
        let kind = &mut self.kinds[number];
        kind.nodes.insert((place, id));
        let turn = Turn::new(place, id, self.start);
        let before = kind.first.replace(kind.first.map_or(turn, |first| first.min(turn)));
        before.is_none().then_some(number)
    }

    /// Returns the number of a kind. Creates the kind if it does not exist.
    fn number(&mut self, (capacity, free): (Resources, Resources)) -> usize {
        let (kinds, unused) = (&mut self.kinds, &mut self.unused);
        *self.numbers.entry((capacity, free)).or_insert_with(|| {
            let kind = Kind { capacity, free, nodes: BTreeSet::new(), first: None };
            if let Some(number) = unused.pop() {
                kinds[number] = kind;
                return number;
            }
            kinds.push(kind);
            kinds.len() - 1
        })
    }

    /// Returns when a node's turn is.
    pub(crate) fn turn_of(&self, node: NodeId, cluster: &Cluster) -> Turn {
        Turn::new(cluster.place_of(node), node, self.start)
    }

    /// Returns a kind by its number.
    pub(crate) fn kind(&self, number: usize) -> &Kind {
        &self.kinds[number]
    }

    /// Returns the number of a node's kind; `None` if the node is down.
    pub(crate) fn of(&self, node: NodeId) -> Option<usize> {
        self.of.get(node.0 as usize).copied().flatten()
    }

    /// Returns the numbers of all kinds that have a node.
    pub(crate) fn all(&self) -> impl Iterator<Item = usize> + '_ {
        self.kinds.iter().enumerate().filter(|(_, kind)| kind.first.is_some()).map(|(number, _)| number)
    }
}
