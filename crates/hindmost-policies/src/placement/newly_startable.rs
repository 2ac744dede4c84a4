//! The demands of copies that can be started now and could not before, and the nodes on which they fit.

use hindmost_core::cluster::Cluster;
use hindmost_core::resources::Resources;

/// Largest number of demands in a set. If there are more, one demand replaces all: their minimum in each dimension.
const MAX_DEMANDS: usize = 8;

/// A set of newly startable demands: demands of copies that can be started now and could not before.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fresh {
    demands: Vec<Demand>,
    /// True if there were too many demands, and the only one left is their minimum in each dimension.
    is_least: bool,
}

#[derive(Clone, Copy, Debug)]
struct Demand {
    amount: Resources,
    next: Next,
}

/// The next place on whose node a demand fits.
#[derive(Clone, Copy, Debug)]
enum Next {
    /// [`Fresh::next_place`] has not searched for it yet.
    Unknown,
    At(u32),
    Nowhere,
}

impl Fresh {
    /// Returns true if there is no demand.
    pub(crate) fn is_empty(&self) -> bool {
        self.demands.is_empty()
    }

    /// Adds a newly startable demand.
    pub(crate) fn add(&mut self, demand: &Resources) {
        if let (true, Some(least)) = (self.is_least, self.demands.first_mut()) {
            if !least.amount.fits(demand) {
                *least = Demand { amount: least.amount.least(demand), next: Next::Unknown };
            }
            return;
        }
        // The same demand is usually added several times in a row.
        if self.demands.iter().rev().any(|known| known.amount == *demand) {
            return;
        }
        self.demands.push(Demand { amount: *demand, next: Next::Unknown });
        if self.demands.len() > MAX_DEMANDS {
            self.keep_least();
        }
    }

    /// Replaces all demands by their minimum in each dimension.
    fn keep_least(&mut self) {
        let amounts = self.demands.iter().map(|demand| demand.amount);
        if let Some(least) = amounts.reduce(|least, amount| least.least(&amount)) {
            self.demands.clear();
            self.demands.push(Demand { amount: least, next: Next::Unknown });
            self.is_least = true;
        }
    }

    /// Returns true if this demand is in the set. If the set has only a minimum, returns true for every demand that is
    /// at least the minimum in each dimension.
    pub(crate) fn covers(&self, amount: &Resources) -> bool {
        let covers =
            |demand: &Demand| if self.is_least { demand.amount.fits(amount) } else { demand.amount == *amount };
        self.demands.iter().any(covers)
    }

    /// Moves all demands of another set to this one.
    pub(crate) fn append(&mut self, other: &mut Fresh) {
        self.add_all(other);
        *other = Fresh::default();
    }

    /// Adds all demands of another set.
    pub(crate) fn add_all(&mut self, other: &Fresh) {
        for demand in &other.demands {
            self.add(&demand.amount);
        }
        if other.is_least {
            self.keep_least();
        }
    }

    /// Returns the first place from `from` on ([`Cluster::place_of`]) on whose node one of the demands fits. Results of
    /// earlier calls are reused. Therefore, from one call to the next, `from` must not decrease, and the free resources of
    /// nodes at places from `from` on must not grow.
    pub(crate) fn next_place(&mut self, from: u32, cluster: &Cluster) -> Option<u32> {
        let mut first = None;
        for demand in &mut self.demands {
            let next = match demand.next {
                Next::At(place) if place >= from => Some(place),
                Next::Nowhere => None,
                Next::Unknown | Next::At(_) => {
                    let next = cluster.next_fitting_place(from, &demand.amount);
                    demand.next = next.map_or(Next::Nowhere, Next::At);
                    next
                }
            };
            first = first.into_iter().chain(next).min();
        }
        first
    }

    /// Discards the results of earlier calls of [`Fresh::next_place`], so that `from` may decrease.
    pub(crate) fn begin_again(&mut self) {
        for demand in &mut self.demands {
            demand.next = Next::Unknown;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hindmost_core::resources::{Dimensions, MEMORY};
    use hindmost_core::testing::{add_nodes, amount};
    use hindmost_core::workload::DemandByName;

    /// Creates a cluster of nodes with these capacities.
    fn cluster(nodes: &[(u64, u64)]) -> Cluster {
        let both = DemandByName::from([("cpus".to_owned(), 1.0), (MEMORY.to_owned(), 1.0)]);
        let mut cluster = Cluster::new(Dimensions::of([&both]).unwrap());
        add_nodes(&mut cluster, nodes.iter().map(|(cpus, memory)| amount(*cpus, *memory)));
        cluster
    }

    fn visited(fresh: &mut Fresh, cluster: &Cluster) -> Vec<u32> {
        let (mut from, mut visited) = (0, Vec::new());
        while let Some(node) = fresh.next_place(from, cluster) {
            visited.push(node);
            from = node + 1;
        }
        visited
    }

    #[test]
    fn only_nodes_on_which_a_demand_fits_are_visited() {
        let cluster = cluster(&[(1, 1), (4, 1), (1, 4), (4, 4), (2, 2)]);
        let mut fresh = Fresh::default();
        for _ in 0..3 {
            fresh.add(&amount(3, 1));
            fresh.add(&amount(1, 3));
        }
        assert_eq!(visited(&mut fresh.clone(), &cluster), [1, 2, 3]);
        let mut all = Fresh::default();
        all.append(&mut fresh);
        assert!(fresh.is_empty() && !all.is_empty());
        assert!(all.covers(&amount(3, 1)) && !all.covers(&amount(3, 3)));
        assert_eq!(visited(&mut all, &cluster), [1, 2, 3]);
    }

    #[test]
    fn many_demands_are_replaced_by_their_minimum() {
        let cluster = cluster(&[(1, 1), (9, 9), (2, 3), (20, 2), (3, 20)]);
        let mut fresh = Fresh::default();
        for step in 0..=MAX_DEMANDS as u64 {
            fresh.add(&amount(2 + step, 3 + step));
        }
        assert_eq!(fresh.demands.len(), 1);
        assert_eq!(visited(&mut fresh.clone(), &cluster), [1, 2, 4]);
        fresh.add(&amount(19, 2));
        assert!(fresh.covers(&amount(2, 2)) && fresh.covers(&amount(50, 7)) && !fresh.covers(&amount(1, 7)));
        assert_eq!(visited(&mut fresh, &cluster), [1, 2, 3, 4], "the minimum is (2, 2) now");
    }
}
