//! Profiles in memory: the newest ones of each kind, and predictions from them.

use std::sync::Arc;

use hindmost_math::outcomes::Outcomes;
use rustc_hash::FxHashMap;

use crate::cluster::Node;
use crate::ids::NodeId;

use super::ring::{Copy, Ring};
use super::similarity::Factors;
use super::{Conditions, Profile, Weights};

/// Number of profiles that are kept for each phase and node, the newest.
pub const OF_NODE: usize = 64;
/// Number of profiles that are kept for each phase over all nodes, the newest.
pub const OF_PHASE: usize = 256;
/// Number of profiles that a prediction uses at least, if there are as many; and of a node's own profiles from which on
/// only these are used.
pub const ENOUGH: usize = 8;
/// Number of predictions that are kept for a node's own profiles, and for those of a phase: those for the conditions under
/// which the latest jobs ask. They bound the memory; what no longer fits is computed again.
const KEPT: (usize, usize) = (8, 256);

/// A prediction, and how it was made.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// The duration of the copy, seconds.
    pub duration: Outcomes,
    /// The mean of `duration`.
    pub mean: f64,
    /// Number of profiles that were compared with the copy; at most [`OF_NODE`] or [`OF_PHASE`].
    pub examined: usize,
    /// Number of similar profiles.
    pub used: usize,
}

/// The newest profiles of each job type and phase, in memory.
///
/// A prediction compares the copy with the newest [`OF_NODE`] profiles of its phase on its node or, if there are fewer
/// than [`ENOUGH`], with the newest [`OF_PHASE`] on any node; durations on other nodes are converted by the speeds of the
/// nodes. So its cost does not depend on how many profiles there are. Predictions are kept until a profile or weights
/// arrive that they depend on, because policies ask for the same ones many times.
#[derive(Clone, Debug, Default)]
pub struct Index {
    /// Places in `kinds`, by job type, then by phase.
    places: FxHashMap<Arc<str>, FxHashMap<Arc<str>, usize>>,
    kinds: Vec<PhaseProfiles>,
}

/// The place of a job type and phase in an [`Index`], which saves the search by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind(usize);

/// The profiles of one job type and phase.
#[derive(Clone, Debug)]
struct PhaseProfiles {
    newest: Ring,
    /// Places in `nodes`, by name. A node has a place from its first profile or weights on.
    places: FxHashMap<Arc<str>, u32>,
    nodes: Vec<NodeProfiles>,
    factors: Option<Arc<Factors>>,
    added: u64,
    predictions: Predictions,
    scratch: Scratch,
    /// Places by the ids of nodes that were looked up, [`NO_PLACE`] if not known: found faster than by name.
    places_by_id: Vec<u32>,
}

/// In a list of places: none.
const NO_PLACE: u32 = u32::MAX;

/// The profiles of one job type and phase on one node.
#[derive(Clone, Debug)]
struct NodeProfiles {
    own: Ring,
    /// The factors by the weights of this node.
    factors: Option<Arc<Factors>>,
    added: u64,
    /// Number of its profiles among the newest of the phase.
    among_newest: u32,
    predictions: Predictions,
}

/// Predictions by what they depend on besides profiles and weights, as bits of numbers.
#[derive(Clone, Debug, Default)]
struct Predictions {
    /// The one that depends on nothing else.
    plain: Option<Arc<Prediction>>,
    by_key: FxHashMap<Box<[u64]>, Arc<Prediction>>,
}

impl Predictions {
    fn clear(&mut self) {
        self.plain = None;
        if !self.by_key.is_empty() {
            self.by_key.clear();
        }
    }

    fn get_or_make(
        &mut self,
        key: &[u64],
        most: usize,
        make: impl FnOnce() -> Option<Prediction>,
    ) -> Option<Arc<Prediction>> {
        if key.is_empty() {
            if self.plain.is_none() {
                self.plain = make().map(Arc::new);
            }
            return self.plain.clone();
        }
        if let Some(known) = self.by_key.get(key) {
            return Some(known.clone());
        }
        let made = Arc::new(make()?);
        if self.by_key.len() >= most {
            self.by_key.clear();
        }
        self.by_key.insert(key.into(), made.clone());
        Some(made)
    }
}

/// Memory for one question, kept to be used again.
#[derive(Clone, Debug, Default)]
struct Scratch {
    key: Vec<u64>,
    values: Vec<f64>,
}

impl Scratch {
    /// Reads the values of factors under the present conditions, and begins a key with them.
    fn read(&mut self, factors: Option<&Factors>, conditions: impl FnOnce() -> Conditions) {
        self.key.clear();
        self.values.clear();
        if let Some(factors) = factors.filter(|factors| factors.len() > 0) {
            self.values.extend(factors.values(&conditions()));
            self.key.extend(self.values.iter().map(|value| value.to_bits()));
        }
    }
}

impl Default for PhaseProfiles {
    fn default() -> PhaseProfiles {
        PhaseProfiles {
            newest: Ring::new(OF_PHASE),
            places: FxHashMap::default(),
            nodes: Vec::new(),
            factors: None,
            added: 0,
            predictions: Predictions::default(),
            scratch: Scratch::default(),
            places_by_id: Vec::new(),
        }
    }
}

impl PhaseProfiles {
    /// Returns the place of a node, which it gets now if it has none.
    fn place(&mut self, node: &Arc<str>) -> u32 {
        if let Some(place) = self.places.get(node) {
            return *place;
        }
        let place = self.nodes.len() as u32;
        self.places.insert(node.clone(), place);
        let (own, predictions) = (Ring::new(OF_NODE), Predictions::default());
        self.nodes.push(NodeProfiles { own, factors: None, added: 0, among_newest: 0, predictions });
        place
    }

    fn add(&mut self, profile: Arc<Profile>) {
        let place = self.place(&profile.node);
        self.added += 1;
        self.predictions.clear();
        let of_node = &mut self.nodes[place as usize];
        of_node.added += 1;
        of_node.among_newest += 1;
        of_node.predictions.clear();
        of_node.own.push(profile.clone(), place);
        if let Some(dropped) = self.newest.push(profile, place) {
            self.nodes[dropped as usize].among_newest -= 1;
        }
    }

    /// Returns the place of a node by its id; `None` if it has none.
    fn place_by_id(&mut self, id: NodeId, name: &str) -> Option<u32> {
        let at = id.0 as usize;
        if let Some(place) = self.places_by_id.get(at).filter(|place| **place != NO_PLACE) {
            return Some(*place);
        }
        let place = self.places.get(name).copied()?;
        if self.places_by_id.len() <= at {
            self.places_by_id.resize(at + 1, NO_PLACE);
        }
        self.places_by_id[at] = place;
        Some(place)
    }

    fn predict(
        &mut self,
        place: Option<u32>,
        speed: f64,
        conditions: impl FnOnce() -> Conditions,
    ) -> Option<Arc<Prediction>> {
        let PhaseProfiles { newest, nodes, factors: of_phase, predictions, scratch, .. } = self;
        let of_node = place.and_then(|place| nodes.get_mut(place as usize));
        let is_here = of_node.as_ref().is_some_and(|of_node| of_node.among_newest > 0);
        if let Some(NodeProfiles { own, factors, predictions, .. }) = of_node.filter(|of| of.own.len() >= ENOUGH) {
            let factors = factors.as_ref().or(of_phase.as_ref());
            scratch.read(factors.map(|factors| &**factors), conditions);
            let copy = Copy { place, speed, values: &scratch.values };
            return predictions.get_or_make(&scratch.key, KEPT.0, || own.predict(&copy, factors));
        }
        let factors = of_phase.as_ref();
        scratch.read(factors.map(|factors| &**factors), conditions);
        // Where no profile of the node takes part, the prediction is the same for every node of its speed.
        let which = place.filter(|_| is_here).map_or(u64::MAX, u64::from);
        scratch.key.extend([speed.to_bits(), which]);
        let copy = Copy { place, speed, values: &scratch.values };
        predictions.get_or_make(&scratch.key, KEPT.1, || newest.predict(&copy, factors))
    }
}

impl Index {
    /// Returns the place of a job type and phase; `None` if no profile or weights of it are known. It stays the same.
    pub fn kind(&self, job: &str, phase: &str) -> Option<Kind> {
        self.places.get(job)?.get(phase).copied().map(Kind)
    }

    fn phase(&self, job: &str, phase: &str) -> Option<&PhaseProfiles> {
        self.kind(job, phase).and_then(|kind| self.kinds.get(kind.0))
    }

    fn phase_mut(&mut self, job: &Arc<str>, phase: &Arc<str>) -> &mut PhaseProfiles {
        let place = self.kind(job, phase).map_or_else(
            || {
                self.kinds.push(PhaseProfiles::default());
                let place = self.kinds.len() - 1;
                self.places.entry(job.clone()).or_default().insert(phase.clone(), place);
                place
            },
            |kind| kind.0,
        );
        &mut self.kinds[place]
    }

    /// Adds a profile; it is the newest one. Profiles that are not valid are ignored.
    pub fn add(&mut self, profile: Arc<Profile>) {
        if profile.is_valid() {
            self.phase_mut(&profile.job, &profile.phase).add(profile);
        }
    }

    /// Sets the weights of a phase, or of a phase on a node. Weights that are not valid are ignored.
    pub fn set_weights(&mut self, weights: &Weights) {
        if !weights.is_valid() {
            return;
        }
        let known = self.phase_mut(&weights.job, &weights.phase);
        let factors = Some(Arc::new(Factors::of(weights)));
        if let Some(node) = &weights.node {
            let place = known.place(node) as usize;
            known.nodes[place].factors = factors;
            known.nodes[place].predictions.clear();
        } else {
            known.factors = factors;
            known.predictions.clear();
            // Nodes without weights of their own use these.
            known.nodes.iter_mut().filter(|of| of.factors.is_none()).for_each(|of| of.predictions.clear());
        }
    }

    /// Returns whether there are profiles of a job type and phase.
    pub fn knows(&self, job: &str, phase: &str) -> bool {
        self.phase(job, phase).is_some_and(|known| known.added > 0)
    }

    /// Returns the number of profiles of a job type and phase that were added, and of those on one node.
    pub fn added(&self, job: &str, phase: &str, node: &str) -> (u64, u64) {
        let Some(known) = self.phase(job, phase) else { return (0, 0) };
        (known.added, known.places.get(node).map_or(0, |place| known.nodes[*place as usize].added))
    }

    /// Returns the newest profiles of a job type and phase, on a node or on any node, the oldest first.
    pub fn newest(&self, job: &str, phase: &str, node: Option<&str>) -> impl Iterator<Item = &Arc<Profile>> {
        let found = self.phase(job, phase).and_then(|known| match node {
            Some(node) => known.places.get(node).map(|place| &known.nodes[*place as usize].own),
            None => Some(&known.newest),
        });
        found.into_iter().flat_map(Ring::iter)
    }

    /// Predicts the duration of a copy of a job type and phase on a node of this speed, under these conditions. `None` if
    /// no profile of this job type and phase is known.
    pub fn predict(
        &mut self,
        (job, phase): (&str, &str),
        (node, speed): (&str, f64),
        conditions: &Conditions,
    ) -> Option<Arc<Prediction>> {
        let Kind(kind) = self.kind(job, phase)?;
        let known = self.kinds.get_mut(kind)?;
        let place = known.places.get(node).copied();
        known.predict(place, speed, || conditions.clone())
    }

    /// As [`Index::predict`], for a kind whose place is known and a node with an id, which must always be the same node.
    /// `conditions` is called only if the prediction depends on them.
    pub fn predict_on(
        &mut self,
        Kind(kind): Kind,
        (id, node): (NodeId, &Node),
        conditions: impl FnOnce() -> Conditions,
    ) -> Option<Arc<Prediction>> {
        let known = self.kinds.get_mut(kind)?;
        let place = known.place_by_id(id, node.name());
        known.predict(place, node.speed(), conditions)
    }
}

#[cfg(test)]
mod tests {
    use super::super::FactorWeight;
    use super::*;

    fn profile(node: &str, speed: f64, seconds: f64, input: f64) -> Arc<Profile> {
        let conditions = Conditions { input, tasks: 4, ..Conditions::default() };
        let (job, phase) = ("j".into(), "map".into());
        Arc::new(Profile { job, phase, node: node.into(), speed, seconds, conditions })
    }

    fn by_input(node: Option<&str>, weight: f64) -> Arc<Weights> {
        let factors = vec![FactorWeight { name: "input".into(), scale: 100.0, weight }];
        Arc::new(Weights { job: "j".into(), phase: "map".into(), node: node.map(Into::into), profiles: 8, factors })
    }

    fn seconds(index: &mut Index, node: &str, speed: f64, input: f64) -> Vec<f64> {
        let conditions = Conditions { input, tasks: 4, ..Conditions::default() };
        let made = index.predict(("j", "map"), (node, speed), &conditions).unwrap();
        made.duration.values().iter().map(|(value, _)| *value).collect()
    }

    #[test]
    fn few_profiles_are_all_used_and_converted_by_speed() {
        let mut index = Index::default();
        assert_eq!(index.predict(("j", "map"), ("a", 1.0), &Conditions::default()), None);
        index.add(profile("a", 1.0, 10.0, 0.0));
        index.add(profile("b", 2.0, 6.0, 0.0));
        // On a: 10 s as observed, and 6 s at speed 2 are 12 s at speed 1. On b: 10 s become 5 s.
        assert_eq!(seconds(&mut index, "a", 1.0, 0.0), [10.0, 12.0]);
        assert_eq!(seconds(&mut index, "b", 2.0, 0.0), [5.0, 6.0]);
        // On a node that no profile knows, of speed 0.5, both are converted.
        assert_eq!(seconds(&mut index, "c", 0.5, 0.0), [20.0, 24.0]);
    }

    #[test]
    fn profiles_within_the_threshold_are_used_or_else_the_nearest() {
        let mut index = Index::default();
        for at in 0..20u32 {
            // Input 0, 10, …, 190 bytes takes 100, 110, …, 290 s.
            index.add(profile("a", 1.0, 100.0 + 10.0 * f64::from(at), 10.0 * f64::from(at)));
        }
        // Distance |Δ input|/100: within 0.1 of 100 bytes are only 90, 100 and 110. So the eight nearest are used: 60 to
        // 140 bytes without one of the two ends. Both are 0.4 away, and the newer one (140) is used.
        index.set_weights(&by_input(Some("a"), 1.0));
        let expected: Vec<f64> = (0..8).map(|at| 170.0 + 10.0 * f64::from(at)).collect();
        assert_eq!(seconds(&mut index, "a", 1.0, 100.0), expected);
        // With a hundredth of the weight a distance is a tenth: 0 to 190 bytes are within 0.1, and all 20 are used.
        index.set_weights(&by_input(Some("a"), 0.01));
        assert_eq!(seconds(&mut index, "a", 1.0, 100.0).len(), 20);
    }

    #[test]
    fn a_node_with_enough_profiles_uses_its_own() {
        let mut index = Index::default();
        for at in 0..8u32 {
            index.add(profile("a", 1.0, 50.0, 0.0));
            index.add(profile("b", 1.0, 80.0 + f64::from(at), 0.0));
        }
        assert_eq!(seconds(&mut index, "a", 1.0, 0.0), [50.0]);
        assert!(!seconds(&mut index, "c", 1.0, 0.0).is_empty());
        assert_eq!(index.added("j", "map", "a"), (16, 8));
    }

    #[test]
    fn a_million_profiles_cost_no_more_than_a_few() {
        let mut index = Index::default();
        for at in 0..1_000_000u32 {
            index.add(profile(["a", "b", "c"][at as usize % 3], 1.0, 1.0 + f64::from(at % 7), f64::from(at % 100)));
        }
        let conditions = Conditions { input: 50.0, tasks: 4, ..Conditions::default() };
        let mut examined = |node| index.predict(("j", "map"), (node, 1.0), &conditions).unwrap().examined;
        assert_eq!((examined("a"), examined("unknown")), (OF_NODE, OF_PHASE));
        assert_eq!(index.added("j", "map", "b"), (1_000_000, 333_333));
    }

    #[test]
    fn numbers_out_of_range_are_ignored() {
        let mut index = Index::default();
        for (speed, seconds) in [(0.0, 1.0), (1.0, f64::NAN), (1.0, 0.0), (f64::INFINITY, 1.0)] {
            index.add(profile("a", speed, seconds, 0.0));
        }
        assert!(!index.knows("j", "map"));
        index.set_weights(&by_input(None, f64::NAN));
        index.add(profile("a", 1.0, 3.0, 0.0));
        assert_eq!(seconds(&mut index, "a", 1.0, 9.0), [3.0]);
    }
}
