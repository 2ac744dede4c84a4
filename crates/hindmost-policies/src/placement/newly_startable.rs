//! Demands of which something can be started that could not be before, and the nodes on which they fit.

use hindmost_core::cluster::Cluster;
use hindmost_core::ids::NodeId;
use hindmost_core::resources::Resources;

/// More kinds of demands than this are searched for as one: the least of them, dimension by dimension.
const MOST: usize = 8;

/// See the module's documentation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fresh {
    demands: Vec<Demand>,
    /// There were too many, and the only one left is the least of them.
    is_least: bool,
}

#[derive(Clone, Copy, Debug)]
struct Demand {
    room: Resources,
    next: Next,
}

/// Where a demand fits next.
#[derive(Clone, Copy, Debug)]
enum Next {
    Unknown,
    On(NodeId),
    Nowhere,
}

impl Fresh {
    /// True if there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.demands.is_empty()
    }

    /// Something that demands this could not be started before.
    pub(crate) fn add(&mut self, room: &Resources) {
        if let (true, Some(least)) = (self.is_least, self.demands.first_mut()) {
            if !least.room.fits(room) {
                *least = Demand { room: least.room.least(room), next: Next::Unknown };
            }
            return;
        }
        // Mostly it is what the one before demanded.
        if self.demands.iter().rev().any(|known| known.room == *room) {
            return;
        }
        self.demands.push(Demand { room: *room, next: Next::Unknown });
        if self.demands.len() > MOST {
            self.keep_the_least();
        }
    }

    fn keep_the_least(&mut self) {
        let rooms = self.demands.iter().map(|demand| demand.room);
        if let Some(least) = rooms.reduce(|least, room| least.least(&room)) {
            self.demands.clear();
            self.demands.push(Demand { room: least, next: Next::Unknown });
            self.is_least = true;
        }
    }

    /// True if something that demands this may not have been startable before.
    pub(crate) fn covers(&self, room: &Resources) -> bool {
        let covers = |demand: &Demand| if self.is_least { demand.room.fits(room) } else { demand.room == *room };
        self.demands.iter().any(covers)
    }

    /// Adds all of another's, which is empty then.
    pub(crate) fn append(&mut self, other: &mut Fresh) {
        self.add_all(other);
        *other = Fresh::default();
    }

    /// Adds all of another's.
    pub(crate) fn add_all(&mut self, other: &Fresh) {
        for demand in &other.demands {
            self.add(&demand.room);
        }
        if other.is_least {
            self.keep_the_least();
        }
    }

    /// The first node, from an id on, on which one of the demands fits. Between two calls the ids may
    /// only go up, and room may only have shrunk on nodes that are still to come.
    pub(crate) fn next_node(&mut self, from: NodeId, cluster: &Cluster) -> Option<NodeId> {
        let mut first = None;
        for demand in &mut self.demands {
            let next = match demand.next {
                Next::On(node) if node >= from => Some(node),
                Next::Nowhere => None,
                Next::Unknown | Next::On(_) => {
                    let next = cluster.next_fitting(from, &demand.room);
                    demand.next = next.map_or(Next::Nowhere, Next::On);
                    next
                }
            };
            first = first.into_iter().chain(next).min();
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hindmost_core::record::Event;
    use hindmost_core::resources::{Dimensions, MEMORY};
    use hindmost_core::time::Time;
    use hindmost_core::workload::DemandByName;

    fn room(cpus: u64, memory: u64) -> Resources {
        let mut room = Resources::NONE;
        (room.0[0], room.0[1]) = (cpus, memory);
        room
    }

    /// A cluster of nodes with this room.
    fn cluster(nodes: &[(u64, u64)]) -> Cluster {
        let both = DemandByName::from([("cpus".to_owned(), 1.0), (MEMORY.to_owned(), 1.0)]);
        let mut cluster = Cluster::new(Dimensions::of([&both]).unwrap());
        for (at, (cpus, memory)) in (0..).zip(nodes) {
            let (name, capacity) = (format!("n{at}").into(), room(*cpus, *memory));
            let joined = Event::NodeJoined { node: NodeId(at), name, capacity, speed: 1.0, rack: None };
            cluster.apply_event(Time::ZERO, &joined).unwrap();
        }
        cluster
    }

    fn visited(fresh: &mut Fresh, cluster: &Cluster) -> Vec<u32> {
        let mut from = NodeId(0);
        let mut visited = Vec::new();
        while let Some(node) = fresh.next_node(from, cluster) {
            visited.push(node.0);
            from = NodeId(node.0 + 1);
        }
        visited
    }

    #[test]
    fn only_nodes_on_which_a_demand_fits_are_visited() {
        let cluster = cluster(&[(1, 1), (4, 1), (1, 4), (4, 4), (2, 2)]);
        let mut fresh = Fresh::default();
        for _ in 0..3 {
            fresh.add(&room(3, 1));
            fresh.add(&room(1, 3));
        }
        assert_eq!(visited(&mut fresh.clone(), &cluster), [1, 2, 3]);
        let mut all = Fresh::default();
        all.append(&mut fresh);
        assert!(fresh.is_empty() && !all.is_empty());
        assert!(all.covers(&room(3, 1)) && !all.covers(&room(3, 3)));
        assert_eq!(visited(&mut all, &cluster), [1, 2, 3]);
    }

    #[test]
    fn the_least_stands_for_many() {
        let cluster = cluster(&[(1, 1), (9, 9), (2, 3), (20, 2), (3, 20)]);
        let mut fresh = Fresh::default();
        for step in 0..=MOST as u64 {
            fresh.add(&room(2 + step, 3 + step));
        }
        assert_eq!(fresh.demands.len(), 1);
        assert_eq!(visited(&mut fresh.clone(), &cluster), [1, 2, 4]);
        fresh.add(&room(19, 2));
        assert!(fresh.covers(&room(2, 2)) && fresh.covers(&room(50, 7)) && !fresh.covers(&room(1, 7)));
        assert_eq!(visited(&mut fresh, &cluster), [1, 2, 3, 4], "now (2, 2) is the least");
    }
}
