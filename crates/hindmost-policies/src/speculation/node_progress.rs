//! Index of nodes by progress, which decides which nodes are slow (LATE's SlowNodeThreshold).
//!
//! A node's progress is the number of attempts that it has finished, plus one half for each attempt that it runs. The
//! threshold is the progress at a percentile of the nodes that are up. Nodes below the threshold are slow; all other
//! nodes that are up are good. Nodes are kept in buckets: the bucket number is twice the progress. One record moves one
//! node by a few buckets, so it moves the threshold only a little. For each demand that was looked up, the index also
//! keeps the good nodes on which it fits.

use hindmost_core::cluster::{Cluster, Node};
use hindmost_core::id_set::IdSet;
use hindmost_core::ids::NodeId;
use hindmost_core::resources::Resources;
use rustc_hash::FxHashMap;

/// Largest number of demands in a cache. When a cache is full, it is cleared.
const KEPT: usize = 64;

/// Nodes by progress, and which of them are good.
#[derive(Debug)]
pub(super) struct NodeProgress {
    /// The percentile of progress below which nodes are slow, in [0, 1].
    share: f64,
    /// The number of attempts that each node has finished, by node id.
    finished: Vec<u32>,
    /// The bucket of each node, by node id; `None` while the node is down.
    bucket_of: Vec<Option<u32>>,
    /// The nodes in each bucket.
    buckets: Vec<IdSet>,
    /// The bucket of the threshold.
    threshold: u32,
    /// Number of nodes in buckets below the threshold's.
    below: usize,
    /// Number of nodes that are up.
    up: usize,
    /// Nodes that are up and not slow.
    good: IdSet,
    /// By demand, the good nodes on which it fits. A node that copies of this round have filled is still in the set until
    /// a look-up removes it.
    fitting: Vec<(Resources, IdSet)>,
    /// The number of nodes with each capacity.
    capacities: FxHashMap<Resources, u64>,
    /// Number of nodes counted in `capacities`.
    counted: usize,
    /// By demand, the copies that fit on all nodes together when they are empty.
    in_all: FxHashMap<Resources, u64>,
}

impl NodeProgress {
    /// Creates an index without nodes. Nodes below this percentile of progress, in [0, 1], will be slow.
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

    /// Records that an attempt has finished on a node.
    pub(super) fn finished(&mut self, node: NodeId) {
        self.grow(node);
        self.finished[node.0 as usize] += 1;
    }

    /// Updates a node after attempts on it have started or ended, or it has gone up or down.
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

    /// Updates which demands fit on a node, after its free resources have changed or it has become slow or good.
    fn refresh(&mut self, node: u32, cluster: &Cluster) {
        for (demand, fitting) in &mut self.fitting {
            if self.good.contains(node) && fits(demand, NodeId(node), cluster) {
                fitting.insert(node);
            } else {
                fitting.remove(node);
            }
        }
    }

    /// Extends the vectors so that they have an entry for the node.
    fn grow(&mut self, node: NodeId) {
        let len = node.0 as usize + 1;
        if len > self.finished.len() {
            self.finished.resize(len, 0);
            self.bucket_of.resize(len, None);
        }
    }

    /// Moves the threshold to the bucket that holds the percentile now.
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

    /// Returns true if a node is up and not slow.
    pub(super) fn is_good(&self, node: NodeId) -> bool {
        self.good.contains(node.0)
    }

    /// Returns the first good node on which a demand fits and for which `allowed` holds.
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

    /// Returns how many copies with a demand fit on all nodes together when they are empty.
    pub(super) fn in_all(&mut self, demand: &Resources, cluster: &Cluster) -> u64 {
        let joined = cluster.nodes_after(self.counted);
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

/// Returns true if a node is up, has free resources, and the demand fits into them.
fn fits(demand: &Resources, node: NodeId, cluster: &Cluster) -> bool {
    cluster.node(node).is_some_and(|node| node.is_up() && !node.free().is_none() && demand.fits(node.free()))
}

/// Returns the index of the percentile `share` among `len` sorted values: the smallest value with at least this share
/// of the values at or below it.
pub(super) fn rank(len: usize, share: f64) -> usize {
    ((share * len as f64).ceil() as usize).clamp(1, len) - 1
}
