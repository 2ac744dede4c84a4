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

/// What a factor compares. `S` is the name of a kind of neighbours, borrowed or owned.
#[derive(Clone, Copy, Debug)]
enum Compared<S> {
    Node,
    Input,
    Remote,
    Tasks,
    Load,
    /// The attempts of one job type and phase on the node.
    Beside(S),
    /// All attempts on the node that have no factor of their own.
    Others,
    /// Nothing: the name is not known.
    Nothing,
}

impl<'a, S: From<&'a str> + AsRef<str>> Compared<S> {
    /// Reads the name of a factor.
    fn of(name: &'a str) -> Compared<S> {
        match name {
            NODE => Compared::Node,
            "input" => Compared::Input,
            "remote" => Compared::Remote,
            "tasks" => Compared::Tasks,
            "load" => Compared::Load,
            OTHERS => Compared::Others,
            _ => name.strip_prefix(BESIDE).map_or(Compared::Nothing, |kind| Compared::Beside(kind.into())),
        }
    }
}

impl<S: AsRef<str>> Compared<S> {
    /// Returns the value under some conditions; 0 for the node, which is no number.
    fn value(&self, conditions: &Conditions, has_factor: impl Fn(&str) -> bool) -> f64 {
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
                let found = conditions.beside.iter().find(|(known, _)| **known == *kind.as_ref());
                found.map_or(0.0, |(_, count)| f64::from(*count))
            }
        }
    }
}

/// A factor with a weight.
#[derive(Clone, Debug)]
struct Factor {
    compared: Compared<Arc<str>>,
    weight: f64,
    scale: f64,
}

/// The factors of a phase, or of a phase on a node, with their names read once for many profiles. Without factors all
/// distances are 0.
#[derive(Clone, Debug, Default)]
pub(super) struct Factors(Vec<Factor>);

impl Factors {
    /// Reads the factors of weights.
    pub(super) fn of(weights: &Weights) -> Factors {
        let read = |factor: &FactorWeight| Factor {
            compared: Compared::of(&factor.name),
            weight: factor.weight,
            scale: factor.scale,
        };
        Factors(weights.factors.iter().map(read).collect())
    }

    /// Returns the number of factors.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the values of all factors under some conditions; 0 for the node, which is no number.
    pub(super) fn values<'a>(&'a self, conditions: &'a Conditions) -> impl Iterator<Item = f64> + 'a {
        let has_factor =
            |name: &str| self.0.iter().any(|of| matches!(&of.compared, Compared::Beside(kind) if **kind == *name));
        self.0.iter().map(move |factor| factor.compared.value(conditions, has_factor))
    }

    /// Returns the distance between a profile with these values of the factors, on the same node or not, and a copy with
    /// those ones, as a share of the mean duration.
    pub(super) fn distance(&self, profile: impl Iterator<Item = f64>, copy: &[f64], same_node: bool) -> f64 {
        let squares = self.0.iter().zip(profile.zip(copy)).map(|(factor, (profile, copy))| {
            let difference = match factor.compared {
                Compared::Node => f64::from(u8::from(!same_node)),
                _ => profile - copy,
            };
            factor.weight * (difference / factor.scale).powi(2)
        });
        squares.sum::<f64>().max(0.0).sqrt()
    }
}

impl Weights {
    /// Returns the distance between a profile and a copy on a node under these conditions, as a share of the mean duration.
    pub fn distance(&self, profile: &Profile, node: &str, conditions: &Conditions) -> f64 {
        let factors = Factors::of(self);
        let copy: Vec<f64> = factors.values(conditions).collect();
        factors.distance(factors.values(&profile.conditions), &copy, *profile.node == *node)
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
    Compared::<&str>::of(name).value(conditions, has_factor)
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
