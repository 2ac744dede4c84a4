//! Nodes by kind: those of one capacity with the same room free are alike, and on a large cluster most are.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use hindmost_core::cluster::{Cluster, Node};
use hindmost_core::id_set::IdSet;
use hindmost_core::ids::NodeId;
use hindmost_core::resources::Resources;

/// Nodes that are alike.
#[derive(Clone, Debug)]
pub(crate) struct Kind {
    capacity: Resources,
    /// The room that is free on each.
    pub(crate) free: Resources,
    nodes: BTreeSet<NodeId>,
    /// The first of them.
    pub(crate) first: Option<NodeId>,
}

/// See the module's documentation. Kinds are numbered; a number is not used for another kind before the next call of
/// [`Alike::refresh`].
#[derive(Debug, Default)]
pub(crate) struct Alike {
    numbers: FxHashMap<(Resources, Resources), usize>,
    kinds: Vec<Kind>,
    /// The kind of each node that is up.
    of: Vec<Option<usize>>,
    /// Nodes that may be of another kind by now.
    changed: IdSet,
    /// Kinds that have lost their last node; some have got another since.
    emptied: Vec<usize>,
    unused: Vec<usize>,
}

impl Alike {
    /// Something on a node has changed.
    pub(crate) fn changed(&mut self, node: NodeId) {
        self.changed.insert(node.0);
    }

    /// Finds the kinds of all nodes that have changed.
    pub(crate) fn refresh(&mut self, cluster: &Cluster) {
        let mut next = self.changed.next(0);
        while let Some(node) = next {
            self.put(NodeId(node), cluster.node(NodeId(node)));
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

    /// Puts a node among those like it, or, without it, among none. Its kind, if that had no node before.
    pub(crate) fn put(&mut self, id: NodeId, node: Option<&Node>) -> Option<usize> {
        let at = id.0 as usize;
        if at >= self.of.len() {
            self.of.resize(at + 1, None);
        }
        let alike = node.filter(|node| node.is_up()).map(|node| (*node.capacity(), *node.free()));
        if let Some(before) = self.of[at] {
            let kind = &mut self.kinds[before];
            if alike == Some((kind.capacity, kind.free)) {
                return None;
            }
            kind.nodes.remove(&id);
            kind.first = kind.nodes.first().copied();
            if kind.first.is_none() {
                self.emptied.push(before);
            }
            self.of[at] = None;
        }
        let number = self.number(alike?);
        self.of[at] = Some(number);
        let kind = &mut self.kinds[number];
        kind.nodes.insert(id);
        let before = kind.first.replace(kind.first.map_or(id, |first| first.min(id)));
        before.is_none().then_some(number)
    }

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

    /// A kind by its number.
    pub(crate) fn kind(&self, number: usize) -> &Kind {
        &self.kinds[number]
    }

    /// The kind of a node.
    pub(crate) fn of(&self, node: NodeId) -> Option<usize> {
        self.of.get(node.0 as usize).copied().flatten()
    }

    /// All kinds of which there is a node, by number.
    pub(crate) fn all(&self) -> impl Iterator<Item = usize> + '_ {
        self.kinds.iter().enumerate().filter(|(_, kind)| kind.first.is_some()).map(|(number, _)| number)
    }
}
