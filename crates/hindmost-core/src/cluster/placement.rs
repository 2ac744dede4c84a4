//! Placement: which of the nodes with enough free resources a copy gets.

use std::cell::RefMut;
use std::fmt;

use hindmost_math::random::mix;
use serde::{Deserialize, Serialize};

use crate::ids::{NodeId, TaskId};
use crate::random::{Purpose, hash};
use crate::resources::{MAX_DIMENSIONS, Resources};

use super::ranked::{OpenSpeeds, RankBy, RankedNodes, Ranking};
use super::{Cluster, Node};

/// How a node is chosen among those on which a copy fits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// The first node by id, which is the order in which nodes have joined.
    #[default]
    First,
    /// A random node; each is equally likely.
    Random,
    /// The node with the largest share of its capacity free; the first by id if several are equal.
    Spread,
    /// The fastest node; the one with the largest share of its capacity free if several are equal, then the one with
    /// the largest capacity. The order of ids decides only between nodes that are equal in all of this.
    Fastest,
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Placement::First => "first",
            Placement::Random => "random",
            Placement::Spread => "spread",
            Placement::Fastest => "fastest",
        })
    }
}

// The first numbers of the identities of draws that are for no particular task. No task has them.
const FOR_A_DEMAND: u64 = u64::MAX;
const FOR_A_VISIT: u64 = u64::MAX - 1;

impl Cluster {
    /// Returns a node for the next copy of a task, chosen by the cluster's [`Placement`] among the nodes on which
    /// `demand` fits into the free resources and for which `allowed` holds. `None` if there is no such node.
    ///
    /// [`Placement::Random`] chooses each of these nodes with the same probability. The choice is a function of the seed,
    /// the ids of task and copy, and the set of these nodes.
    pub fn find_node(
        &self,
        task: TaskId,
        demand: &Resources,
        allowed: impl Fn(NodeId, &Node) -> bool,
    ) -> Option<NodeId> {
        self.choose(|| self.draw_for(task), demand, allowed)
    }

    /// Returns a node for a copy of any task with this demand, chosen by the cluster's [`Placement`]. `None` if the demand
    /// fits on no node.
    ///
    /// The choice of [`Placement::Random`] is a function of the seed, the demand, the number of attempts that have ever
    /// started, and the set of nodes on which the demand fits.
    pub fn find_node_for_demand(&self, demand: &Resources) -> Option<NodeId> {
        let identity = || demand.0.iter().fold(self.started, |identity, amount| mix(identity ^ amount));
        let draw = || hash(self.placement_seed, Purpose::Placement, FOR_A_DEMAND, identity());
        self.choose(draw, demand, |_, _| true)
    }

    fn choose(
        &self,
        draw: impl FnOnce() -> u64,
        demand: &Resources,
        allowed: impl Fn(NodeId, &Node) -> bool,
    ) -> Option<NodeId> {
        match self.placement {
            Placement::First => self.first_node(demand, allowed),
            Placement::Random => self.random_node(draw(), demand, allowed),
            Placement::Spread => self.freest_node(demand, allowed),
            Placement::Fastest => self.find_fastest_node(demand, allowed),
        }
    }

    /// Returns the draw that chooses the node of a task's next copy.
    fn draw_for(&self, task: TaskId) -> u64 {
        let copy = self.task(task).map_or(0, |found| found.launched);
        let first = (u64::from(task.job.0) << 32) | u64::from(task.phase);
        let second = (u64::from(task.index) << 32) | u64::from(copy);
        hash(self.placement_seed, Purpose::Placement, first, second)
    }

    fn first_node(&self, demand: &Resources, allowed: impl Fn(NodeId, &Node) -> bool) -> Option<NodeId> {
        let mut from = NodeId(0);
        loop {
            let id = self.next_fitting(from, demand)?;
            if allowed(id, self.node(id)?) {
                return Some(id);
            }
            from = NodeId(id.0.checked_add(1)?);
        }
    }

    /// Returns a random node. All nodes on which the demand fits and that are allowed have the same probability.
    ///
    /// Two searches take turns. One draws nodes until one suits; it is short if many nodes suit. The other lists the
    /// nodes on which the demand fits, to choose one of them in the end; it is short if there are few. When the searches
    /// take turns does not depend on the drawn numbers, so each result is uniform.
    fn random_node(&self, draw: u64, demand: &Resources, allowed: impl Fn(NodeId, &Node) -> bool) -> Option<NodeId> {
        let mut next = self.next_fitting(NodeId(0), demand);
        next?;
        let mut listed: Vec<NodeId> = Vec::new();
        let (mut drawn, mut turn) = (0u64, 4);
        let mut draw_below = |count: usize| {
            drawn += 1;
            // The probabilities of the results differ by less than 2^-40.
            ((u128::from(mix(draw.wrapping_add(drawn))) * count as u128) >> 64) as usize
        };
        loop {
            for _ in 0..turn {
                let at = draw_below(self.nodes.len());
                let (id, node) = (NodeId(at as u32), &self.nodes[at]);
                if self.open.contains(id.0) && demand.fits(&node.free) && allowed(id, node) {
                    return Some(id);
                }
            }
            for _ in 0..turn {
                let Some(id) = next else {
                    return if listed.is_empty() { None } else { Some(listed[draw_below(listed.len())]) };
                };
                if self.node(id).is_some_and(|node| allowed(id, node)) {
                    listed.push(id);
                }
                next = id.0.checked_add(1).and_then(|from| self.next_fitting(NodeId(from), demand));
            }
            turn *= 2;
        }
    }

    /// Returns the node with the largest free share; the first by id if several are equal.
    fn freest_node(&self, demand: &Resources, allowed: impl Fn(NodeId, &Node) -> bool) -> Option<NodeId> {
        if !self.fits_somewhere(demand) {
            return None;
        }
        let made = || Ranking::of(&self.nodes, &self.dimensions, RankBy::Id);
        let freest = RefMut::map(self.ranked.borrow_mut(), |ranked| ranked.freest.get_or_insert_with(made));
        freest.first(demand, |id| self.suits(id, demand, &allowed))
    }

    /// Returns the fastest node on which `demand` fits into the free resources and for which `allowed` holds, whatever
    /// the cluster's placement is. Among equally fast nodes it returns the one with the largest share of its capacity
    /// free, then the one with the largest capacity ([`Placement::First`] and [`Placement::Spread`]: then the first by
    /// id). `None` if there is no such node.
    pub fn find_fastest_node(&self, demand: &Resources, allowed: impl Fn(NodeId, &Node) -> bool) -> Option<NodeId> {
        // Usually the demand fits on no node. `fits_somewhere` finds this out quickly, because it caches its searches.
        if !self.fits_somewhere(demand) {
            return None;
        }
        self.by_speed().first(demand, |id| self.suits(id, demand, &allowed))
    }

    fn suits(&self, id: NodeId, demand: &Resources, allowed: &impl Fn(NodeId, &Node) -> bool) -> bool {
        self.node(id).is_some_and(|node| demand.fits(&node.free) && allowed(id, node))
    }

    /// Returns the speed of the fastest open node; `None` if no node is open.
    pub fn fastest_open_speed(&self) -> Option<f64> {
        // On one-slot machines the ranking by speed is cheap, and otherwise the index of speeds is, unless there is the
        // ranking anyway.
        if !self.dimensions.is_one_slot()
            && self.ranked.borrow().fastest.is_none()
            && let Some(speeds) = self.speeds()
        {
            return speeds.fastest();
        }
        let fastest = self.by_speed().first_open();
        self.node(fastest?).map(Node::speed)
    }

    /// As [`Cluster::find_nearest_node`], if `allowed` is false for all nodes slower than `least`. Finds a fast node
    /// without visiting slow ones under [`Placement::First`].
    pub fn find_nearest_fast_node(
        &self,
        task: TaskId,
        demand: &Resources,
        least: f64,
        allowed: impl Fn(NodeId, &Node) -> bool,
    ) -> Option<NodeId> {
        if self.placement == Placement::First && self.replicas(task).is_empty() {
            let mut next = self.next_fitting(NodeId(0), demand);
            if next.and_then(|id| self.node(id)).is_some_and(|node| node.speed >= least) || least <= 0.0 {
                return self.first_node(demand, allowed);
            }
            if let Some(speeds) = self.speeds() {
                while let Some(from) = next {
                    let id = speeds.next(from, demand, least)?;
                    if allowed(id, self.node(id)?) {
                        return Some(id);
                    }
                    next = id.0.checked_add(1).map(NodeId);
                }
                return None;
            }
        }
        self.find_nearest_node(task, demand, |id, node| node.speed >= least && allowed(id, node))
    }

    /// Returns the index of the speeds of open nodes; `None` if there are too many dimensions for it.
    fn speeds(&self) -> Option<RefMut<'_, OpenSpeeds>> {
        let made = || OpenSpeeds::of(&self.nodes, &self.dimensions);
        let index = || RefMut::map(self.ranked.borrow_mut(), |ranked| ranked.speeds.get_or_insert_with(made));
        OpenSpeeds::suits(&self.dimensions).then(index)
    }

    fn by_speed(&self) -> RefMut<'_, Ranking> {
        let by = RankBy::Speed { ties_by_capacity: matches!(self.placement, Placement::Random | Placement::Fastest) };
        let made = || Ranking::of(&self.nodes, &self.dimensions, by);
        let mut ranked = self.ranked.borrow_mut();
        if ranked.fastest.is_none() {
            // It answers all that the index of speeds is needed for, and each of them costs time whenever a node changes.
            *ranked = RankedNodes { fastest: Some(made()), speeds: None, ..std::mem::take(&mut *ranked) };
        }
        RefMut::map(ranked, |ranked| ranked.fastest.get_or_insert_with(made))
    }

    /// Returns how good a node is for the next copy of a task; the largest is the best, and ties go to the first node by
    /// id. Used to choose among a few nodes.
    pub(super) fn preference(&self, task: TaskId, id: NodeId, node: &Node) -> (u64, u64, [u64; MAX_DIMENSIONS]) {
        let share = || node.free_share().to_bits();
        match self.placement {
            Placement::First => (0, 0, Resources::NONE.0),
            // The node with the largest of independent draws is a random one.
            Placement::Random => (mix(self.draw_for(task) ^ mix(u64::from(id.0))), 0, Resources::NONE.0),
            Placement::Spread => (share(), 0, Resources::NONE.0),
            Placement::Fastest => (node.speed.to_bits(), share(), node.capacity.0),
        }
    }
}

/// The order of nodes for passes that go node by node instead of looking for a node for a task. The place of a node is
/// its position in this order, from 0.
///
/// | placement | order |
/// | --- | --- |
/// | [`Placement::First`], [`Placement::Spread`] | by id |
/// | [`Placement::Random`] | random, fixed by the seed |
/// | [`Placement::Fastest`] | the fastest first; equally fast nodes by capacity, the largest first |
///
/// Under [`Placement::Spread`], passes visit the node with the largest free share first instead, if
/// [`Cluster::visits_freest_first`]. Places stay valid while [`Cluster::node_changes`] stays the same.
impl Cluster {
    /// Returns the place of a node that has joined.
    pub fn place_of(&self, node: NodeId) -> u32 {
        self.visited().map_or(node.0, |ranking| ranking.place_of(node))
    }

    /// Returns the node at a place; `None` if there are fewer nodes.
    pub fn node_at(&self, place: u32) -> Option<NodeId> {
        match self.visited() {
            Some(ranking) => ranking.node_at(place),
            None => ((place as usize) < self.nodes.len()).then_some(NodeId(place)),
        }
    }

    /// Returns the first place from `from` on whose node is open and has enough free resources for `demand`; `None` if
    /// there is none.
    pub fn next_fitting_place(&self, from: u32, demand: &Resources) -> Option<u32> {
        match self.visited() {
            Some(ranking) => ranking.next(from, demand),
            None => self.next_fitting(NodeId(from), demand).map(|node| node.0),
        }
    }

    /// Returns the place at which a visit of all nodes begins; the first place follows the last. It is 0 unless the
    /// placement is [`Placement::Random`]. Then it is drawn: a function of the seed and of the number of attempts that
    /// have ever started. So different nodes come first in different visits. Each place is drawn with the same probability;
    /// if a visit passes over some nodes, the node after a longer gap comes first more often.
    pub fn first_place(&self) -> u32 {
        if self.placement != Placement::Random {
            return 0;
        }
        let drawn = hash(self.placement_seed, Purpose::Placement, FOR_A_VISIT, self.started);
        ((u128::from(drawn) * self.nodes.len() as u128) >> 64) as u32
    }

    /// Returns true if passes that go node by node visit the node with the largest free share first, and not by place.
    pub fn visits_freest_first(&self) -> bool {
        self.placement == Placement::Spread && !self.visits_by_id
    }

    /// Returns the order in which nodes are visited; `None` if it is by id.
    fn visited(&self) -> Option<RefMut<'_, Ranking>> {
        match self.placement {
            Placement::First | Placement::Spread => None,
            Placement::Fastest => Some(self.by_speed()),
            Placement::Random => {
                let made = || Ranking::of(&self.nodes, &self.dimensions, RankBy::Shuffle(self.placement_seed));
                Some(RefMut::map(self.ranked.borrow_mut(), |ranked| ranked.shuffled.get_or_insert_with(made)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::JobId;
    use crate::record::{Decision, Event};
    use crate::resources::Dimensions;
    use crate::testing::add_nodes;
    use crate::time::Time;

    /// Returns a cluster of nodes with these capacities in cpus and these speeds.
    fn cluster(placement: Placement, nodes: &[(f64, f64)]) -> Cluster {
        let cpus = |cpus| [("cpus".to_owned(), cpus)].into_iter().collect();
        let dimensions = Dimensions::of([&cpus(1.0)]).unwrap();
        let mut cluster = Cluster::new(dimensions.clone()).with_placement(placement, 1);
        for (node, (capacity, speed)) in (0..).map(NodeId).zip(nodes) {
            let capacity = dimensions.amounts(&cpus(*capacity)).unwrap();
            let joined = Event::NodeJoined {
                node,
                name: node.to_string().into(),
                capacity,
                speed: *speed,
                rack: None,
                power: None,
            };
            cluster.apply_event(Time::ZERO, &joined).unwrap();
        }
        cluster
    }

    fn reserve(cluster: &mut Cluster, node: u32, cpus: f64) {
        let resources = cluster.dimensions().amounts(&[("cpus".to_owned(), cpus)].into_iter().collect()).unwrap();
        let reserve =
            Decision::Reserve { node: NodeId(node), resources: Box::new(resources), until: Time::NEVER, task: None };
        cluster.apply_decision(Time::ZERO, &reserve).unwrap();
    }

    fn one_cpu(cluster: &Cluster) -> Resources {
        cluster.dimensions().amounts(&[("cpus".to_owned(), 1.0)].into_iter().collect()).unwrap()
    }

    fn task(index: u32) -> TaskId {
        TaskId { job: JobId(index / 1000), phase: 0, index: index % 1000 }
    }

    /// Asserts that each of the nodes `expected` is found equally often, and no other one.
    fn is_uniform(expected: &[u32], find: impl Fn(TaskId) -> Option<NodeId>) {
        let draws = 400 * expected.len() as u32;
        let mut found = vec![0u32; expected.len()];
        for index in 0..draws {
            let node = find(task(index)).unwrap().0;
            found[expected.iter().position(|one| *one == node).unwrap()] += 1;
        }
        let chi_square: f64 = found.iter().map(|count| (f64::from(*count) - 400.0).powi(2) / 400.0).sum();
        // Three standard deviations above the mean of the chi-square distribution with n - 1 degrees of freedom.
        let freedom = expected.len() as f64 - 1.0;
        assert!(chi_square < freedom + 3.0 * (2.0 * freedom).sqrt(), "{chi_square} for {freedom}: {found:?}");
        assert!(chi_square > freedom - 3.0 * (2.0 * freedom).sqrt(), "{chi_square} for {freedom}: {found:?}");
    }

    #[test]
    fn a_random_node_is_any_fitting_one_equally_often() {
        // All nodes are free; some are; few of many are, so that they are listed. Neighbours and gaps do not matter.
        let few = [0, 1, 2, 17, 18, 700, 1000, 1401, 1499];
        for (count, free) in [(50, (0..50).collect::<Vec<_>>()), (60, (20..35).collect()), (1500, few.into())] {
            let mut cluster = cluster(Placement::Random, &vec![(2.0, 1.0); count]);
            for node in (0..count as u32).filter(|node| !free.contains(node)) {
                reserve(&mut cluster, node, 1.5);
            }
            let demand = one_cpu(&cluster);
            is_uniform(&free, |task| cluster.find_node(task, &demand, |_, _| true));
            let even: Vec<u32> = free.iter().copied().filter(|node| node % 2 == 0).collect();
            is_uniform(&even, |task| cluster.find_node(task, &demand, |node, _| node.0 % 2 == 0));
            assert_eq!(cluster.find_node(task(0), &demand, |_, _| false), None);
            let far: Vec<NodeId> = free.iter().copied().map(NodeId).collect();
            is_uniform(&free, |task| {
                let preferred = |node: &&NodeId| cluster.preference(task, **node, cluster.node(**node).unwrap());
                far.iter().max_by_key(preferred).copied()
            });
        }
    }

    #[test]
    fn a_random_idle_machine_is_any_one_equally_often() {
        let mut cluster = Cluster::new(Dimensions::one_slot()).with_placement(Placement::Random, 5);
        add_nodes(&mut cluster, std::iter::repeat_n(Resources::ONE_SLOT, 300));
        is_uniform(&(0..300).collect::<Vec<_>>(), |task| cluster.find_node(task, &Resources::ONE_SLOT, |_, _| true));
        for node in (0..300).filter(|node| node % 60 != 7).map(NodeId) {
            cluster.apply_event(Time::ZERO, &Event::NodeLost { node, time_is_up: false }).unwrap();
        }
        let idle = [7, 67, 127, 187, 247];
        is_uniform(&idle, |task| cluster.find_node(task, &Resources::ONE_SLOT, |_, _| true));
        for node in idle.map(NodeId) {
            cluster.apply_event(Time::ZERO, &Event::NodeLost { node, time_is_up: false }).unwrap();
        }
        assert_eq!(cluster.find_node(task(0), &Resources::ONE_SLOT, |_, _| true), None);
    }

    #[test]
    fn random_choices_depend_on_seed_and_identity_only() {
        let same = cluster(Placement::Random, &[(2.0, 1.0); 40]);
        let choices = |cluster: &Cluster| {
            let demand = one_cpu(cluster);
            (0..50).map(|index| cluster.find_node(task(index), &demand, |_, _| true).unwrap()).collect::<Vec<_>>()
        };
        // Queries leave no trace.
        assert_eq!(choices(&same), choices(&same));
        assert_eq!(choices(&same), choices(&cluster(Placement::Random, &[(2.0, 1.0); 40])));
        assert_ne!(choices(&same), choices(&same.clone().with_placement(Placement::Random, 2)));
        let demand = one_cpu(&same);
        assert_eq!(same.find_node_for_demand(&demand), same.find_node_for_demand(&demand));
    }

    #[test]
    fn each_placement_takes_its_node() {
        // Capacity, speed and reserved cpus of each node.
        let nodes =
            [(2.0, 1.0, 0.5), (4.0, 1.0, 1.0), (2.0, 3.0, 1.0), (8.0, 3.0, 4.0), (1.0, 9.0, 0.5), (4.0, 2.0, 0.0)];
        let find = |placement, allowed: &dyn Fn(u32) -> bool| {
            let mut cluster = cluster(placement, &nodes.map(|(capacity, speed, _)| (capacity, speed)));
            for (node, (.., reserved)) in (0..).zip(nodes).filter(|(_, node)| node.2 > 0.0) {
                reserve(&mut cluster, node, reserved);
            }
            let demand = one_cpu(&cluster);
            cluster.find_node(task(0), &demand, |node, _| allowed(node.0)).map(|node| node.0)
        };
        assert_eq!(find(Placement::First, &|_| true), Some(0));
        assert_eq!(find(Placement::First, &|node| node > 0), Some(1));
        assert_eq!(find(Placement::Spread, &|_| true), Some(5));
        // Nodes 0 and 1 have the same share free.
        assert_eq!(find(Placement::Spread, &|node| node != 5), Some(0));
        // Node 4 is faster, but full. Nodes 2 and 3 are equally fast, and the same share of them is free: the larger one
        // comes first.
        assert_eq!(find(Placement::Fastest, &|_| true), Some(3));
        assert_eq!(find(Placement::Fastest, &|node| node != 3), Some(2));
        assert_eq!(find(Placement::Fastest, &|node| !(2..=3).contains(&node)), Some(5));
        assert_eq!(find(Placement::Random, &|node| node == 1 || node == 4), Some(1));
        for placement in [Placement::First, Placement::Random, Placement::Spread, Placement::Fastest] {
            assert_eq!(find(placement, &|node| node == 4), None);
        }
    }

    #[test]
    fn fast_nodes_are_found_as_by_a_search_of_all() {
        let speeds = [0.5, 1.0, 3.0, 2.0, 3.0, 0.5, 2.5];
        for placement in [Placement::First, Placement::Random, Placement::Spread, Placement::Fastest] {
            let mut cluster = cluster(placement, &speeds.map(|speed| (2.0, speed)));
            reserve(&mut cluster, 2, 1.5);
            let demand = one_cpu(&cluster);
            for (least, but) in [0.0, 0.5, 1.5, 2.5, 3.0, 4.0].into_iter().flat_map(|least| [(least, 0), (least, 4)]) {
                let allowed = |id: NodeId, node: &Node| node.speed() >= least && id.0 != but;
                let all = cluster.find_nearest_node(task(0), &demand, allowed);
                assert_eq!(
                    cluster.find_nearest_fast_node(task(0), &demand, least, allowed),
                    all,
                    "{placement} {least}"
                );
            }
            assert_eq!(cluster.fastest_open_speed(), Some(3.0));
        }
    }

    #[test]
    fn places_follow_the_placement() {
        let speeds = [(2.0, 1.0), (4.0, 1.0), (2.0, 3.0), (8.0, 3.0), (1.0, 9.0)];
        let order = |placement| {
            let cluster = cluster(placement, &speeds);
            let order: Vec<u32> = (0..).map_while(|place| cluster.node_at(place)).map(|node| node.0).collect();
            assert!((0..5).all(|node| order[cluster.place_of(NodeId(node)) as usize] == node));
            assert!(cluster.first_place() < 5);
            assert_eq!(cluster.next_fitting_place(2, &one_cpu(&cluster)), Some(2));
            assert_eq!(cluster.next_fitting_place(5, &one_cpu(&cluster)), None);
            order
        };
        assert_eq!(order(Placement::First), [0, 1, 2, 3, 4]);
        assert_eq!(order(Placement::Spread), [0, 1, 2, 3, 4]);
        assert_eq!(order(Placement::Fastest), [4, 3, 2, 1, 0]);
        let mut random = order(Placement::Random);
        random.sort_unstable();
        assert_eq!(random, [0, 1, 2, 3, 4]);
    }
}
