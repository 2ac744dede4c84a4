//! The tree of queues, with each queue's guaranteed share, its maximum share and the resources that its jobs hold.

use std::cmp::Reverse;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use hindmost_core::cluster::{Cluster, Job};
use hindmost_core::ids::JobId;
use hindmost_core::policy::queue_place::ordered;
use hindmost_core::record::Event;
use hindmost_core::resources::{Dimensions, MEMORY, Resources};
use hindmost_core::submission_queues::{DEFAULT_QUEUE, parent_of};
use hindmost_core::workload::{JobSpec, QueueSpec};

/// The resource by which a queue's share of the cluster is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// The dimension with the largest share: YARN's `DominantResourceCalculator`.
    Dominant,
    /// Memory, or the first dimension if nodes have no memory: YARN's `DefaultResourceCalculator`.
    Memory,
}

/// The queue at the top of the tree. It stands for the whole cluster.
pub(crate) const ROOT: usize = 0;

/// Shares of the cluster that differ by less than this count as equal.
const ROUNDING: f64 = 1e-9;

struct Queue {
    name: Arc<str>,
    above: Option<usize>,
    /// The queues directly below, in configured order, an implicit `default` last.
    below: Vec<usize>,
    /// The guaranteed share, as a part of the queue above.
    guaranteed: f64,
    /// The maximum share, as a part of the cluster.
    maximum: f64,
    in_use: Resources,
}

/// The queues by number. Queues without queues below them are leaves; only leaves hold jobs.
pub(crate) struct QueueTree {
    queues: Vec<Queue>,
    by_name: FxHashMap<Arc<str>, usize>,
    counted: Counted,
    /// The leaf of each job that holds resources, and these resources.
    jobs: FxHashMap<JobId, (usize, Resources)>,
}

impl QueueTree {
    /// Builds the tree from valid queues (see [`hindmost_core::submission_queues::check`]). A queue without a
    /// configured parent is at the top.
    pub(crate) fn new(specs: &[QueueSpec], counted: Counted) -> QueueTree {
        let mut tree =
            QueueTree { queues: Vec::new(), by_name: FxHashMap::default(), counted, jobs: FxHashMap::default() };
        tree.add("".into(), None, 1.0, 1.0);
        // Parents come before their children; otherwise the configured order is kept.
        let mut sorted: Vec<&QueueSpec> = specs.iter().collect();
        sorted.sort_by_key(|spec| spec.name.split('.').count());
        for spec in sorted {
            let above = parent_of(&spec.name).and_then(|parent| tree.by_name.get(parent)).copied();
            tree.add(spec.name.clone(), Some(above.unwrap_or(ROOT)), spec.guaranteed, spec.maximum);
        }
        for queue in 0..tree.queues.len() {
            let above = &tree.queues[queue];
            let name = if queue == ROOT { DEFAULT_QUEUE.to_owned() } else { format!("{}.{DEFAULT_QUEUE}", above.name) };
            let is_leaf = queue != ROOT && above.below.is_empty();
            if !is_leaf && !tree.by_name.contains_key(name.as_str()) {
                let given: f64 = above.below.iter().map(|child| tree.queues[*child].guaranteed).sum();
                let left = if 1.0 - given > ROUNDING { 1.0 - given } else { 0.0 };
                tree.add(name.into(), Some(queue), left, 1.0);
            }
        }
        tree
    }

    fn add(&mut self, name: Arc<str>, above: Option<usize>, guaranteed: f64, maximum: f64) {
        let number = self.queues.len();
        let of_above = above.map_or(1.0, |above| self.queues[above].maximum);
        if let Some(above) = above {
            self.queues[above].below.push(number);
            self.by_name.insert(name.clone(), number);
        }
        let maximum = of_above * maximum;
        self.queues.push(Queue { name, above, below: Vec::new(), guaranteed, maximum, in_use: Resources::NONE });
    }

    /// Returns the number of queues. They are numbered from 0, [`ROOT`].
    pub(crate) fn len(&self) -> usize {
        self.queues.len()
    }

    /// Returns the path of a queue.
    pub(crate) fn name(&self, queue: usize) -> &str {
        &self.queues[queue].name
    }

    /// Returns the queues directly below a queue, in the order in which they are configured.
    pub(crate) fn below(&self, queue: usize) -> &[usize] {
        &self.queues[queue].below
    }

    /// Returns the leaf that a job waits in. If the job names a queue with queues below it, or no queue, it is a queue
    /// called `default`.
    pub(crate) fn leaf_of(&self, spec: &JobSpec) -> usize {
        let named = spec.queue.as_ref().and_then(|name| self.by_name.get(name)).copied();
        let mut queue = named.unwrap_or(ROOT);
        while let below @ [_, ..] = &self.queues[queue].below[..] {
            let is_default = |child: &&usize| {
                let name = &self.queues[**child].name;
                name.rsplit('.').next() == Some(DEFAULT_QUEUE)
            };
            let Some(child) = below.iter().find(is_default) else { break };
            queue = *child;
        }
        queue
    }

    /// Returns an amount as a share of the cluster's resources.
    fn share(&self, amount: &Resources, cluster: &Cluster) -> f64 {
        match self.counted {
            Counted::Dominant => amount.dominant_share(cluster.total()),
            Counted::Memory => {
                let at = memory_or_first(cluster.dimensions());
                match cluster.total().0[at] {
                    0 => 0.0,
                    all => amount.0[at] as f64 / all as f64,
                }
            }
        }
    }

    /// Returns the sort key of a queue among its siblings, the smallest first: queues with a guarantee by used /
    /// guaranteed, then queues without one by what they use. Of equal queues, the one with the larger guarantee is
    /// first.
    pub(crate) fn need(&self, queue: usize, cluster: &Cluster) -> (bool, u64, Reverse<u64>) {
        let Queue { guaranteed, in_use, .. } = &self.queues[queue];
        let used = self.share(in_use, cluster);
        let relative = if *guaranteed > 0.0 { used / guaranteed } else { used };
        (*guaranteed <= 0.0, ordered(relative), Reverse(ordered(*guaranteed)))
    }

    /// Returns true if a leaf and all queues above it stay within their maxima when a copy with this demand starts.
    pub(crate) fn stays_within_maxima(&self, leaf: usize, demand: &Resources, cluster: &Cluster) -> bool {
        let mut next = Some(leaf);
        while let Some(at) = next {
            let queue = &self.queues[at];
            if queue.maximum < 1.0 && self.share(&queue.in_use.plus(demand), cluster) > queue.maximum + ROUNDING {
                return false;
            }
            next = queue.above;
        }
        true
    }

    /// Updates the resources that a job holds, and those of its queues.
    pub(crate) fn count(&mut self, id: JobId, cluster: &Cluster) {
        let job = cluster.job(id);
        let now = job.map_or(Resources::NONE, Job::in_use);
        let known = self.jobs.get(&id).copied();
        let leaf = match (known, job) {
            (Some((leaf, _)), _) => leaf,
            (None, Some(job)) => self.leaf_of(job.spec()),
            (None, None) => return,
        };
        let before = known.map_or(Resources::NONE, |(_, before)| before);
        if now.is_none() {
            self.jobs.remove(&id);
        } else {
            self.jobs.insert(id, (leaf, now));
        }
        let mut next = Some(leaf);
        while let Some(at) = next {
            let queue = &mut self.queues[at];
            queue.in_use = queue.in_use.minus(&before).plus(&now);
            next = queue.above;
        }
    }

    /// Updates the resources that jobs and queues hold after an event.
    pub(crate) fn observe(&mut self, event: &Event, cluster: &Cluster) {
        match event {
            Event::AttemptFinished { attempt }
            | Event::AttemptFailed { attempt, .. }
            | Event::AttemptStopped { attempt } => self.count(attempt.task.job, cluster),
            Event::NodeLost { .. } => {
                for job in cluster.jobs() {
                    self.count(job.id(), cluster);
                }
            }
            _ => {}
        }
    }
}

/// Returns the dimension of memory, or the first dimension if there is no memory.
fn memory_or_first(dimensions: &Dimensions) -> usize {
    dimensions.names().iter().position(|name| **name == *MEMORY).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(queues: &[(&str, f64, f64)]) -> QueueTree {
        let queue = |(name, guaranteed, maximum): &(&str, f64, f64)| QueueSpec {
            name: (*name).into(),
            guaranteed: *guaranteed,
            maximum: *maximum,
        };
        QueueTree::new(&queues.iter().map(queue).collect::<Vec<_>>(), Counted::Dominant)
    }

    fn leaf<'a>(tree: &'a QueueTree, queue: Option<&str>) -> &'a str {
        let spec = JobSpec {
            name: "j".into(),
            arrival: hindmost_core::time::Time::ZERO,
            deadline: None,
            weight: 1.0,
            queue: queue.map(Into::into),
            phases: Vec::new(),
        };
        tree.name(tree.leaf_of(&spec))
    }

    #[test]
    fn jobs_without_a_configured_leaf_are_in_a_default_queue() {
        let queues = tree(&[("a.x", 0.25, 1.0), ("a", 0.5, 0.8), ("b", 0.2, 1.0), ("a.y", 0.5, 0.5)]);
        assert_eq!(leaf(&queues, None), "default");
        assert_eq!(leaf(&queues, Some("nobody")), "default");
        assert_eq!(leaf(&queues, Some("b")), "b");
        assert_eq!(leaf(&queues, Some("a.y")), "a.y");
        assert_eq!(leaf(&queues, Some("a")), "a.default");
        let share = |name: &str| queues.queues[queues.by_name[name]].guaranteed;
        assert!((share("default") - 0.3).abs() < 1e-12);
        assert_eq!(share("a.default"), 0.25);
        // A configured maximum is a share of the maximum of the queue above.
        assert_eq!(queues.queues[queues.by_name["a.y"]].maximum, 0.4);
        let names = |queue: &str| -> Vec<&str> {
            queues.below(queues.by_name[queue]).iter().map(|child| queues.name(*child)).collect()
        };
        assert_eq!(names("a"), ["a.x", "a.y", "a.default"]);
    }

    #[test]
    fn a_configured_default_takes_jobs_without_a_queue() {
        let queues = tree(&[("default", 0.2, 0.5), ("default.small", 0.9, 1.0)]);
        assert_eq!(leaf(&queues, None), "default.default");
        assert_eq!(leaf(&queues, Some("default.small")), "default.small");
        assert_eq!(leaf(&tree(&[]), Some("x")), "default");
        // The guarantees add up to 1, so the implicit default has none.
        let queues = tree(&[("a", 0.7, 1.0), ("b", 0.2, 1.0), ("c", 0.1, 1.0)]);
        assert_eq!(queues.queues[queues.by_name["default"]].guaranteed, 0.0);
    }
}
