//! Similarity of profiles: a weighted Euclidean distance over normalised factors (RiskI, definition 1).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Conditions, Profile};

/// Name of the factor that is 0 between profiles of one node and 1 between profiles of different nodes.
pub(super) const NODE: &str = "node";
/// Prefix of the factors that count the attempts of one job type and phase on the node.
const BESIDE: &str = "beside ";
/// Name of the factor that counts all attempts on the node that have no factor of their own.
const OTHERS: &str = "beside others";
/// Names of the factors that every profile has.
const ALWAYS: [&str; 5] = [NODE, "input", "remote", "tasks", "load"];
/// Number of kinds of neighbours that have factors of their own: those that occur in most profiles.
const NEIGHBOURS: usize = 4;

/// The weight of a factor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FactorWeight {
    /// Name of the factor: `node`, `input`, `remote`, `tasks`, `load`, `beside TYPE/PHASE` or `beside others`.
    pub name: Arc<str>,
    /// Difference of the factor's values that counts as 1: the range of the values to which the weights were fitted.
    pub scale: f64,
    /// Weight of the squared difference.
    pub weight: f64,
}

/// The weights with which durations of a phase depend on factors, for one node or for all nodes.
///
/// They are fitted so that the squared distance of two profiles is near the square of the difference of their durations,
/// as a share of their mean duration. A distance of 0.1 so means: durations that differ by about 10% of the mean.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Weights {
    /// Type of the job.
    pub job: Arc<str>,
    /// Name of the phase.
    pub phase: Arc<str>,
    /// Name of the node to whose profiles the weights were fitted; `None` if to those of all nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<Arc<str>>,
    /// Number of profiles to which the weights were fitted.
    pub profiles: u32,
    /// The factors with a weight above 0.
    pub factors: Vec<FactorWeight>,
}

/// What a factor compares.
#[derive(Clone, Copy)]
enum Compared<'a> {
    Node,
    Input,
    Remote,
    Tasks,
    Load,
    /// The attempts of one job type and phase on the node.
    Beside(&'a str),
    /// All attempts on the node that have no factor of their own.
    Others,
    /// Nothing: the name is not known.
    Nothing,
}

impl Compared<'_> {
    /// Reads the name of a factor.
    fn of(name: &str) -> Compared<'_> {
        match name {
            NODE => Compared::Node,
            "input" => Compared::Input,
            "remote" => Compared::Remote,
            "tasks" => Compared::Tasks,
            "load" => Compared::Load,
            OTHERS => Compared::Others,
            _ => name.strip_prefix(BESIDE).map_or(Compared::Nothing, Compared::Beside),
        }
    }

    /// Returns the value under some conditions; 0 for the node, which is no number.
    fn value(self, conditions: &Conditions, has_factor: impl Fn(&str) -> bool) -> f64 {
        match self {
            Compared::Node | Compared::Nothing => 0.0,
            Compared::Input => conditions.input,
            Compared::Remote => f64::from(u8::from(conditions.remote)),
            Compared::Tasks => f64::from(conditions.tasks),
            Compared::Load => conditions.load,
            Compared::Others => {
                let others = conditions.beside.iter().filter(|(kind, _)| !has_factor(kind));
                others.map(|(_, count)| f64::from(*count)).sum()
            }
            Compared::Beside(kind) => {
                let found = conditions.beside.iter().find(|(known, _)| **known == *kind);
                found.map_or(0.0, |(_, count)| f64::from(*count))
            }
        }
    }
}

/// The distances of profiles from a copy on a node under some conditions.
pub(super) struct Distances<'a> {
    node: &'a str,
    /// What each factor compares, its weight, its scale, and the value of the copy.
    factors: Vec<(Compared<'a>, f64, f64, f64)>,
}

impl Distances<'_> {
    /// Returns the distance of a profile.
    pub(super) fn of(&self, profile: &Profile) -> f64 {
        let has_factor =
            |name: &str| self.factors.iter().any(|(of, ..)| matches!(of, Compared::Beside(kind) if *kind == name));
        let squares = self.factors.iter().map(|(compared, weight, scale, value)| {
            let difference = match compared {
                Compared::Node => f64::from(u8::from(*profile.node != *self.node)),
                _ => compared.value(&profile.conditions, has_factor) - value,
            };
            weight * (difference / scale).powi(2)
        });
        squares.sum::<f64>().max(0.0).sqrt()
    }
}

impl Weights {
    /// Returns the distance between a profile and a copy on a node under these conditions, as a share of the mean duration.
    pub fn distance(&self, profile: &Profile, node: &str, conditions: &Conditions) -> f64 {
        self.distances(node, conditions).of(profile)
    }

    /// Returns the distances from a copy on a node under these conditions, for many profiles.
    pub(super) fn distances<'a>(&'a self, node: &'a str, conditions: &Conditions) -> Distances<'a> {
        let has_factor = |name: &str| self.factors.iter().any(|factor| factor.name.strip_prefix(BESIDE) == Some(name));
        let read = |factor: &'a FactorWeight| {
            let compared = Compared::of(&factor.name);
            (compared, factor.weight, factor.scale, compared.value(conditions, has_factor))
        };
        Distances { node, factors: self.factors.iter().map(read).collect() }
    }

    /// Returns whether all numbers are in their ranges.
    pub fn is_valid(&self) -> bool {
        let is_valid = |factor: &FactorWeight| {
            factor.weight.is_finite() && factor.weight >= 0.0 && factor.scale.is_finite() && factor.scale > 0.0
        };
        self.factors.iter().all(is_valid)
    }
}

/// Returns the names of the factors of some profiles: those that every profile has, and the kinds of neighbours that
/// occur in most profiles (ties by name).
pub fn factors_of<'a>(profiles: impl IntoIterator<Item = &'a Profile>) -> Vec<Arc<str>> {
    let mut counts: Vec<(Arc<str>, u32)> = Vec::new();
    let mut kinds = 0;
    for profile in profiles {
        for (name, _) in &profile.conditions.beside {
            match counts.binary_search_by(|(known, _)| (**known).cmp(name)) {
                Ok(at) => counts[at].1 += 1,
                Err(at) => {
                    counts.insert(at, (name.clone(), 1));
                    kinds += 1;
                }
            }
        }
    }
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts.truncate(NEIGHBOURS);
    let mut names: Vec<Arc<str>> = ALWAYS.iter().map(|name| (*name).into()).collect();
    names.extend(counts.into_iter().map(|(name, _)| format!("{BESIDE}{name}").into()));
    if kinds > NEIGHBOURS {
        names.push(OTHERS.into());
    }
    names
}

/// Returns the value of a factor under some conditions; 0 for `node`, which is no number, and for unknown names.
/// `has_factor` says which kinds of neighbours (`TYPE/PHASE`) have factors of their own and so are not among the others.
pub fn value_of(name: &str, conditions: &Conditions, has_factor: impl Fn(&str) -> bool) -> f64 {
    Compared::of(name).value(conditions, has_factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(node: &str, input: f64, beside: &[(&str, u32)]) -> Profile {
        let beside = beside.iter().map(|(name, count)| ((*name).into(), *count)).collect();
        let conditions = Conditions { input, remote: false, tasks: 10, load: 0.0, beside };
        Profile { job: "j".into(), phase: "map".into(), node: node.into(), speed: 1.0, seconds: 10.0, conditions }
    }

    fn weights(factors: &[(&str, f64, f64)]) -> Weights {
        let factors = factors.iter().map(|(name, scale, weight)| FactorWeight {
            name: (*name).into(),
            scale: *scale,
            weight: *weight,
        });
        Weights { job: "j".into(), phase: "map".into(), node: None, profiles: 9, factors: factors.collect() }
    }

    #[test]
    fn distance_is_the_weighted_euclidean_one() {
        let weights = weights(&[("node", 1.0, 0.25), ("input", 50.0, 4.0), ("beside io/map", 2.0, 9.0)]);
        let copy = profile("n1", 100.0, &[("io/map", 2)]);
        let distance = |other: &Profile| weights.distance(other, "n1", &copy.conditions);
        assert_eq!(distance(&copy), 0.0);
        // Another node: √0.25.
        assert_eq!(distance(&profile("n2", 100.0, &[("io/map", 2)])), 0.5);
        // 75 bytes are 1.5 scales: √(4·1.5²) = 3.
        assert_eq!(distance(&profile("n1", 25.0, &[("io/map", 2)])), 3.0);
        // All three: inputs differ by 2 scales and neighbours by 1: √(0.25 + 4·4 + 9·1).
        assert_eq!(distance(&profile("n2", 0.0, &[("cpu/map", 7)])), (0.25f64 + 16.0 + 9.0).sqrt());
    }

    #[test]
    fn neighbours_without_a_factor_are_summed() {
        let weights = weights(&[("beside a/x", 1.0, 0.0), ("beside others", 1.0, 1.0)]);
        let alone = profile("n", 0.0, &[]);
        // Of 3 + 4 + 5 neighbours, those of a/x have a factor of their own, of weight 0.
        let crowded = profile("n", 0.0, &[("a/x", 3), ("b/x", 4), ("c/x", 5)]);
        assert_eq!(weights.distance(&crowded, "n", &alone.conditions), 9.0);
    }

    #[test]
    fn the_commonest_neighbours_have_factors() {
        let profiles = [
            profile("n", 0.0, &[("a", 1), ("b", 1), ("c", 1)]),
            profile("n", 0.0, &[("b", 9), ("c", 1), ("d", 1)]),
            profile("n", 0.0, &[("c", 1), ("d", 1), ("e", 1)]),
        ];
        let names = factors_of(&profiles);
        let names: Vec<&str> = names.iter().map(|name| &**name).collect();
        // c occurs in three profiles, b and d in two, a and e in one; a comes before e.
        let expected = ["beside c", "beside b", "beside d", "beside a", "beside others"];
        assert_eq!(names[5..], expected);
        assert_eq!(factors_of(&profiles[..1]).len(), 8);
    }
}
