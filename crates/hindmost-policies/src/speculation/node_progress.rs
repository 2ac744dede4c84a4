//! Which nodes are slow by their progress (LATE's SlowNodeThreshold), kept up to date as attempts begin and end.
//!
//! A node's progress is the number of attempts that it has finished, and one half for each that runs; it is counted in
//! halves. The threshold is the progress at a percentile of the nodes that are up; nodes below it are slow. Nodes are kept
//! in buckets by progress, and a change moves one node by one bucket, so that the threshold moves by little. For the demands
//! asked for it is kept on which of the nodes that are not slow they fit.

use hindmost_core::cluster::{Cluster, Node};
use hindmost_core::id_set::IdSet;
use hindmost_core::ids::NodeId;
use hindmost_core::resources::Resources;
use rustc_hash::FxHashMap;

/// Demands of which it is kept where they fit; with more, all are forgotten.
const KEPT: usize = 64;

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct NodeProgress {
    /// The percentile, in [0, 1].
    share: f64,
    /// Attempts finished on each node.
    finished: Vec<u32>,
    /// The bucket of each node; `None` while it is down.
    bucket_of: Vec<Option<u32>>,
    buckets: Vec<IdSet>,
    /// The bucket of the threshold.
    threshold: u32,
    /// Nodes in buckets below the threshold's.
    below: usize,
    /// Nodes that are up.
    up: usize,
    /// Nodes that are up and not slow.
    good: IdSet,
    /// By demand, the nodes that are not slow and on which it fits. What has been started since the last record was
    /// observed is still to be taken out.
    fitting: Vec<(Resources, IdSet)>,
    /// Capacities, with how many nodes have them, of so many nodes; copies that they have resources for, by demand.
    capacities: FxHashMap<Resources, u64>,
    counted: usize,
    in_all: FxHashMap<Resources, u64>,
}

impl NodeProgress {
    /// Of no nodes yet; nodes below this percentile of progress, in [0, 1], will be slow.
    pub(super) fn new(share: f64) -> NodeProgress {
        NodeProgress {
            share,
            finished: Vec::new(),
            bucket_of: Vec::new(),
            buckets: Vec::new(),
            threshold: 0,
            below: 0,
            up: 0,
            good: IdSet::default(),
            fitting: Vec::new(),
            capacities: FxHashMap::default(),
            counted: 0,
            in_all: FxHashMap::default(),
        }
    }

    /// An attempt has finished on a node.
    pub(super) fn finished(&mut self, node: NodeId) {
        self.grow(node);
        self.finished[node.0 as usize] += 1;
    }

    /// What runs on a node, or whether it is up, has changed.
    pub(super) fn changed(&mut self, node: NodeId, cluster: &Cluster) {
        self.grow(node);
        let at = node.0 as usize;
        let running = |found: &Node| 2 * self.finished[at] + found.attempts() as u32;
        let now = cluster.node(node).filter(|found| found.is_up()).map(running);
        let before = std::mem::replace(&mut self.bucket_of[at], now);
        if now == before {
            self.refresh(node.0, cluster);
            return;
        }
        if let Some(bucket) = before {
            self.buckets[bucket as usize].remove(node.0);
            self.below -= usize::from(bucket < self.threshold);
            self.up -= 1;
            self.good.remove(node.0);
        }
        if let Some(bucket) = now {
            if bucket as usize >= self.buckets.len() {
                self.buckets.resize_with(bucket as usize + 1, IdSet::default);
            }
            self.buckets[bucket as usize].insert(node.0);
            self.below += usize::from(bucket < self.threshold);
            self.up += 1;
            if bucket >= self.threshold {
                self.good.insert(node.0);
            }
        }
        self.refresh(node.0, cluster);
        self.move_threshold(cluster);
    }

    /// What is free on a node, or whether it is slow, has changed.
    fn refresh(&mut self, node: u32, cluster: &Cluster) {
        for (demand, fitting) in &mut self.fitting {
            if self.good.contains(node) && fits(demand, NodeId(node), cluster) {
                fitting.insert(node);
            } else {
                fitting.remove(node);
            }
        }
    }

    fn grow(&mut self, node: NodeId) {
        let len = node.0 as usize + 1;
        if len > self.finished.len() {
            self.finished.resize(len, 0);
            self.bucket_of.resize(len, None);
        }
    }

    /// Moves the threshold to the bucket in which the percentile lies now.
    fn move_threshold(&mut self, cluster: &Cluster) {
        if self.up == 0 {
            return;
        }
        let rank = rank(self.up, self.share);
        while self.below > rank {
            self.threshold -= 1;
            let bucket = &self.buckets[self.threshold as usize];
            self.below -= bucket.len();
            self.good.insert_all(bucket);
            for (demand, fitting) in &mut self.fitting {
                bucket
                    .iter()
                    .filter(|node| fits(demand, NodeId(*node), cluster))
                    .for_each(|node| _ = fitting.insert(node));
            }
        }
        while self.below + self.buckets[self.threshold as usize].len() <= rank {
            let bucket = &self.buckets[self.threshold as usize];
            self.below += bucket.len();
            self.good.remove_all(bucket);
            self.fitting.iter_mut().for_each(|(_, fitting)| fitting.remove_all(bucket));
            self.threshold += 1;
        }
    }

    /// True if a node is up and not slow.
    pub(super) fn is_good(&self, node: NodeId) -> bool {
        self.good.contains(node.0)
    }

    /// Returns the first node that is not slow, on which a demand fits and for which `allowed` holds.
    pub(super) fn first_good(
        &mut self,
        demand: &Resources,
        cluster: &Cluster,
        allowed: impl Fn(NodeId) -> bool,
    ) -> Option<NodeId> {
        let known = self.fitting.iter().position(|(known, _)| known == demand);
        let at = known.unwrap_or_else(|| {
            if self.fitting.len() == KEPT {
                self.fitting.clear();
            }
            let mut fitting = IdSet::default();
            self.good
                .iter()
                .filter(|node| fits(demand, NodeId(*node), cluster))
                .for_each(|node| _ = fitting.insert(node));
            self.fitting.push((*demand, fitting));
            self.fitting.len() - 1
        });
        let fitting = &mut self.fitting[at].1;
        let mut from = 0;
        loop {
            let node = fitting.next(from)?;
            if !fits(demand, NodeId(node), cluster) {
                fitting.remove(node);
            } else if allowed(NodeId(node)) {
                return Some(NodeId(node));
            }
            from = node + 1;
        }
    }

    /// Returns how many copies of a demand all nodes together, empty, have resources for.
    pub(super) fn in_all(&mut self, demand: &Resources, cluster: &Cluster) -> u64 {
        let joined = &cluster.nodes()[self.counted..];
        if !joined.is_empty() {
            for node in joined {
                *self.capacities.entry(*node.capacity()).or_default() += 1;
            }
            self.counted += joined.len();
            self.in_all.clear();
        }
        if self.in_all.len() > KEPT {
            self.in_all.clear();
        }
        *self.in_all.entry(*demand).or_insert_with(|| {
            let copies = self.capacities.iter().map(|(capacity, nodes)| capacity.times(demand).saturating_mul(*nodes));
            copies.fold(0, u64::saturating_add)
        })
    }
}

/// True if a demand fits on a node that is up and has some free room.
fn fits(demand: &Resources, node: NodeId, cluster: &Cluster) -> bool {
    cluster.node(node).is_some_and(|node| node.is_up() && !node.free().is_none() && demand.fits(node.free()))
}

/// Index of the smallest of `len` sorted values with at least this share at or below.
pub(super) fn rank(len: usize, share: f64) -> usize {
    ((share * len as f64).ceil() as usize).clamp(1, len) - 1
}
