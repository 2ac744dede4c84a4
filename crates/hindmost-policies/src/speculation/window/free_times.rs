//! When slots come free: the expected ends of running attempts, and the nodes that have free resources now.

use hindmost_core::cluster::{Attempt, Cluster, Phase};
use hindmost_core::id_set::IdSet;
use hindmost_core::ids::{AttemptId, NodeId};
use hindmost_core::resources::Resources;
use hindmost_core::time::Time;

use super::ends_by_time::{End, EndsByTime};

/// Of the slots that are free now, a search looks at this many, the fastest by history.
const MOST_FREE: usize = 32;
/// A search for fast nodes looks at most at this many nodes.
const MOST_VISITED: usize = 256;

/// Number of classes of nodes by the relative duration of a copy.
const CLASSES: usize = 256;
/// Relative durations below this exponent of two share the first class.
const LEAST_EXPONENT: u64 = 1023 - 8;

/// Returns the class of a relative duration. There are sixteen classes in each power of two. The class follows from the
/// bits of the number, so that it is the same on all machines.
fn class_of(relative: f64) -> u8 {
    let sixteenths = relative.max(0.0).to_bits() >> 48;
    sixteenths.saturating_sub(LEAST_EXPONENT << 4).min(CLASSES as u64 - 1) as u8
}

/// The expected ends of attempts and the nodes with free resources.
#[derive(Debug)]
pub(super) struct FreeTimes {
    /// The expected ends whose resources are not reserved.
    ends: EndsByTime,
    /// The nodes that are up and have free resources, by class.
    open: Vec<IdSet>,
    /// The classes with such nodes.
    classes: IdSet,
    /// The class of each node in `open`.
    class: Vec<Option<u8>>,
}

impl Default for FreeTimes {
    fn default() -> FreeTimes {
        FreeTimes {
            ends: EndsByTime::default(),
            open: vec![IdSet::default(); CLASSES],
            classes: IdSet::default(),
            class: Vec::new(),
        }
    }
}

impl FreeTimes {
    /// Updates whether a node has free resources. `relative` is the relative duration of a copy on it.
    pub(super) fn refresh(&mut self, id: NodeId, relative: f64, cluster: &Cluster) {
        let at = id.0 as usize;
        if self.class.len() <= at {
            self.class.resize(at + 1, None);
        }
        let is_open = cluster.node(id).is_some_and(|node| node.is_up() && !node.free().is_none());
        let class = is_open.then(|| class_of(relative));
        let before = std::mem::replace(&mut self.class[at], class);
        if before == class {
            return;
        }
        if let Some(class) = before {
            let open = &mut self.open[usize::from(class)];
            open.remove(id.0);
            if open.is_empty() {
                self.classes.remove(class.into());
            }
        }
        if let Some(class) = class {
            self.open[usize::from(class)].insert(id.0);
            self.classes.insert(class.into());
        }
    }

    /// Adds the expected end of an attempt.
    pub(super) fn add(&mut self, end: End) {
        self.ends.insert(end);
    }

    /// Removes the expected end of an attempt.
    pub(super) fn remove(&mut self, end: &End) {
        self.ends.remove(end);
    }

    /// Adds the ends of a node whose resources are not reserved, and removes its other ends. Called after the
    /// reservations of the node have changed, with all known ends on it.
    pub(super) fn reserve(&mut self, node: NodeId, mut ends: Vec<End>, cluster: &Cluster) {
        ends.sort_unstable();
        let awaited = cluster.awaited(node);
        let mut freed = Resources::NONE;
        for end in ends {
            let spare = freed.minus(&awaited);
            freed = freed.plus(&demand_of(end.2, cluster));
            if freed.minus(&awaited) == spare {
                self.ends.remove(&end);
            } else {
                self.ends.insert(end);
            }
        }
    }

    /// Returns the ends after `now` and before `until`, in order of time and node.
    pub(super) fn between(&self, now: Time, until: Time) -> impl Iterator<Item = &End> {
        self.ends.between(now, until)
    }

    /// Returns the number of ends after `now` and before `until`. `now` must not be before that of an earlier count.
    pub(super) fn count_between(&mut self, now: Time, until: Time) -> u64 {
        self.ends.count_between(now, until)
    }

    /// Returns nodes on which a demand fits now, in order of their ids: all of them if they are at most [`MOST_FREE`],
    /// otherwise about the fastest ones by class.
    pub(super) fn fitting_now(&self, demand: &Resources, cluster: &Cluster) -> Vec<NodeId> {
        if cluster.open_nodes() == 0 || !cluster.fits_somewhere(demand) {
            return Vec::new();
        }
        let mut found = Vec::new();
        if cluster.open_nodes() > MOST_FREE {
            let open = self.classes.iter().flat_map(|class| self.open[class as usize].iter());
            let open = open.take(MOST_VISITED).map(NodeId);
            let fits = |id: &NodeId| cluster.node(*id).is_some_and(|node| demand.fits(node.free()));
            found.extend(open.filter(fits).take(MOST_FREE));
        }
        let mut from = NodeId(0);
        // Few of the visited nodes have free resources: the first ones by id may be all that have.
        for _ in found.len()..MOST_FREE {
            let Some(node) = cluster.next_fitting(from, demand) else { break };
            found.push(node);
            from = NodeId(node.0 + 1);
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// Returns the resources that an attempt holds; none if its job has left the cluster.
pub(super) fn demand_of(id: AttemptId, cluster: &Cluster) -> Resources {
    cluster.phase(id.task).map_or(Resources::NONE, |phase| *Phase::demand(phase))
}

/// Returns true if a demand will fit on a node when an attempt ends, if attempts end as expected. `claimed` is what this
/// window has given away on the node.
pub(super) fn fits_after(demand: &Resources, (at, id, ends): End, claimed: &Resources, cluster: &Cluster) -> bool {
    let Some(node) = cluster.node(id).filter(|node| node.is_up()) else { return false };
    let is_kept = !claimed.is_none() || cluster.has_reservations(id);
    if cluster.dimensions().is_one_slot() {
        return !is_kept;
    }
    if !is_kept && demand.fits(&node.free().plus(&demand_of(ends, cluster))) {
        return true;
    }
    let now = cluster.now();
    let ends = |attempt: &&Attempt| attempt.measured_finish().is_some_and(|finish| now < finish && finish <= at);
    let ending = cluster.attempts_on(id).filter(ends).map(|attempt| demand_of(attempt.id(), cluster));
    let available = ending.fold(*node.free(), |sum, demand| sum.plus(&demand));
    cluster.awaited(id).plus(claimed).plus(demand).fits(&available)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_grow_with_the_duration() {
        assert_eq!([0.0, 1.0 / 512.0, 1.0, 1.03, 1.07, 2.0, 1e9].map(class_of), [0, 0, 128, 128, 129, 144, 255]);
    }
}
