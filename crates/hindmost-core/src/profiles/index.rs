//! Profiles in memory: the newest ones of each kind, and predictions from them.

use std::collections::VecDeque;
use std::sync::Arc;

use hindmost_math::outcomes::Outcomes;
use rustc_hash::FxHashMap;

use super::{Conditions, Profile, Weights};

/// Number of profiles that are kept for each phase and node, the newest.
pub const OF_NODE: usize = 64;
/// Number of profiles that are kept for each phase over all nodes, the newest.
pub const OF_PHASE: usize = 256;
/// Profiles within this distance are similar: durations that differ by about this share of their mean.
const THRESHOLD: f64 = 0.1;
/// Number of profiles that a prediction uses at least, if there are as many; and of a node's own profiles from which on
/// only these are used.
pub const ENOUGH: usize = 8;

/// A prediction, and how it was made.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// The duration of the copy, seconds.
    pub duration: Outcomes,
    /// Number of profiles that were compared with the copy; at most [`OF_NODE`] or [`OF_PHASE`].
    pub examined: usize,
    /// Number of similar profiles.
    pub used: usize,
}

/// The newest profiles of each job type and phase, in memory.
///
/// A prediction compares the copy with the newest [`OF_NODE`] profiles of its phase on its node or, if there are fewer
/// than [`ENOUGH`], with the newest [`OF_PHASE`] on any node; durations on other nodes are converted by the speeds of the
/// nodes. So its cost does not depend on how many profiles there are.
#[derive(Clone, Debug, Default)]
pub struct Index {
    /// By job type, then by phase.
    jobs: FxHashMap<Arc<str>, FxHashMap<Arc<str>, PhaseProfiles>>,
}

/// The profiles of one job type and phase, the oldest first.
#[derive(Clone, Debug, Default)]
struct PhaseProfiles {
    of_node: FxHashMap<Arc<str>, VecDeque<Arc<Profile>>>,
    newest: VecDeque<Arc<Profile>>,
    weights: Option<Arc<Weights>>,
    weights_of_node: FxHashMap<Arc<str>, Arc<Weights>>,
    added: u64,
    added_on_node: FxHashMap<Arc<str>, u64>,
}

fn push(to: &mut VecDeque<Arc<Profile>>, profile: Arc<Profile>, most: usize) {
    if to.len() >= most {
        to.pop_front();
    }
    to.push_back(profile);
}

impl Index {
    fn phase(&self, job: &str, phase: &str) -> Option<&PhaseProfiles> {
        self.jobs.get(job)?.get(phase)
    }

    fn phase_mut(&mut self, job: &Arc<str>, phase: &Arc<str>) -> &mut PhaseProfiles {
        self.jobs.entry(job.clone()).or_default().entry(phase.clone()).or_default()
    }

    /// Adds a profile; it is the newest one. Profiles that are not valid are ignored.
    pub fn add(&mut self, profile: Arc<Profile>) {
        if !profile.is_valid() {
            return;
        }
        let known = self.phase_mut(&profile.job, &profile.phase);
        known.added += 1;
        *known.added_on_node.entry(profile.node.clone()).or_default() += 1;
        push(known.of_node.entry(profile.node.clone()).or_default(), profile.clone(), OF_NODE);
        push(&mut known.newest, profile, OF_PHASE);
    }

    /// Sets the weights of a phase, or of a phase on a node. Weights that are not valid are ignored.
    pub fn set_weights(&mut self, weights: Arc<Weights>) {
        if !weights.is_valid() {
            return;
        }
        let known = self.phase_mut(&weights.job, &weights.phase);
        match &weights.node {
            Some(node) => drop(known.weights_of_node.insert(node.clone(), weights.clone())),
            None => known.weights = Some(weights),
        }
    }

    /// Returns whether there are profiles of a job type and phase.
    pub fn knows(&self, job: &str, phase: &str) -> bool {
        self.phase(job, phase).is_some_and(|known| known.added > 0)
    }

    /// Returns the number of profiles of a job type and phase that were added, and of those on one node.
    pub fn added(&self, job: &str, phase: &str, node: &str) -> (u64, u64) {
        let Some(known) = self.phase(job, phase) else { return (0, 0) };
        (known.added, known.added_on_node.get(node).copied().unwrap_or(0))
    }

    /// Returns the newest profiles of a job type and phase, on a node or on any node, the oldest first.
    pub fn newest(&self, job: &str, phase: &str, node: Option<&str>) -> impl Iterator<Item = &Arc<Profile>> {
        let found = self.phase(job, phase).and_then(|known| match node {
            Some(node) => known.of_node.get(node),
            None => Some(&known.newest),
        });
        found.into_iter().flatten()
    }

    /// Predicts the duration of a copy of a job type and phase on a node of this speed, under these conditions. `None` if
    /// no profile of this job type and phase is known.
    pub fn predict(
        &self,
        (job, phase): (&str, &str),
        (node, speed): (&str, f64),
        conditions: &Conditions,
    ) -> Option<Prediction> {
        let known = self.phase(job, phase)?;
        let own = known.of_node.get(node).filter(|own| own.len() >= ENOUGH);
        let weights = own.and_then(|_| known.weights_of_node.get(node)).or(known.weights.as_ref());
        let candidates = own.unwrap_or(&known.newest);
        let distances = weights.map(|weights| weights.distances(node, conditions));
        // The newest first, so that of equally similar profiles the newer ones are used.
        let mut found: Vec<(f64, f64)> = Vec::with_capacity(candidates.len());
        found.extend(candidates.iter().rev().map(|profile| {
            let distance = distances.as_ref().map_or(0.0, |distances| distances.of(profile));
            let is_here = *profile.node == *node;
            (distance, if is_here { profile.seconds } else { profile.seconds_at_speed_1() / speed })
        }));
        let examined = found.len();
        if found.iter().filter(|(distance, _)| *distance <= THRESHOLD).count() >= ENOUGH {
            found.retain(|(distance, _)| *distance <= THRESHOLD);
        } else {
            found.sort_by(|one, other| one.0.total_cmp(&other.0));
            found.truncate(ENOUGH);
        }
        let used = found.len();
        let duration = Outcomes::equally_likely(found.into_iter().map(|(_, seconds)| seconds))?;
        Some(Prediction { duration, examined, used })
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

    fn seconds(index: &Index, node: &str, speed: f64, input: f64) -> Vec<f64> {
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
        assert_eq!(seconds(&index, "a", 1.0, 0.0), [10.0, 12.0]);
        assert_eq!(seconds(&index, "b", 2.0, 0.0), [5.0, 6.0]);
        // On a node that no profile knows, of speed 0.5, both are converted.
        assert_eq!(seconds(&index, "c", 0.5, 0.0), [20.0, 24.0]);
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
        index.set_weights(by_input(Some("a"), 1.0));
        let expected: Vec<f64> = (0..8).map(|at| 170.0 + 10.0 * f64::from(at)).collect();
        assert_eq!(seconds(&index, "a", 1.0, 100.0), expected);
        // With a hundredth of the weight a distance is a tenth: 0 to 190 bytes are within 0.1, and all 20 are used.
        index.set_weights(by_input(Some("a"), 0.01));
        assert_eq!(seconds(&index, "a", 1.0, 100.0).len(), 20);
    }

    #[test]
    fn a_node_with_enough_profiles_uses_its_own() {
        let mut index = Index::default();
        for at in 0..8u32 {
            index.add(profile("a", 1.0, 50.0, 0.0));
            index.add(profile("b", 1.0, 80.0 + f64::from(at), 0.0));
        }
        assert_eq!(seconds(&index, "a", 1.0, 0.0), [50.0]);
        assert!(!seconds(&index, "c", 1.0, 0.0).is_empty());
        assert_eq!(index.added("j", "map", "a"), (16, 8));
    }

    #[test]
    fn a_million_profiles_cost_no_more_than_a_few() {
        let mut index = Index::default();
        for at in 0..1_000_000u32 {
            index.add(profile(["a", "b", "c"][at as usize % 3], 1.0, 1.0 + f64::from(at % 7), f64::from(at % 100)));
        }
        let conditions = Conditions { input: 50.0, tasks: 4, ..Conditions::default() };
        let examined = |node| index.predict(("j", "map"), (node, 1.0), &conditions).unwrap().examined;
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
        index.set_weights(by_input(None, f64::NAN));
        index.add(profile("a", 1.0, 3.0, 0.0));
        assert_eq!(seconds(&index, "a", 1.0, 9.0), [3.0]);
    }
}
