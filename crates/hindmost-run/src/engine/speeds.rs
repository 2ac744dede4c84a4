//! Speeds of nodes that a user gives, by the name of a node or of a feature.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::str::FromStr;

use hindmost_math::plain::{Plain, Quoted};

use super::NodeOffer;

/// Valid speeds.
const SPEEDS: RangeInclusive<f64> = 0.001..=1000.0;

/// Speeds by the name of a node or of a feature, relative to a node of speed 1.
pub type Speeds = BTreeMap<String, f64>;

/// The speed of a node or of all nodes with a feature, written `NAME=SPEED`.
///
/// ```
/// use hindmost_run::engine::NodeSpeed;
///
/// let fast: NodeSpeed = "fast=2".parse()?;
/// assert_eq!((fast.name.as_str(), fast.speed), ("fast", 2.0));
/// assert!("fast=0".parse::<NodeSpeed>().is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct NodeSpeed {
    /// Name of the node or feature.
    pub name: String,
    /// Speed relative to a node of speed 1.
    pub speed: f64,
}

impl FromStr for NodeSpeed {
    type Err = String;

    fn from_str(text: &str) -> Result<NodeSpeed, String> {
        let wrong = || format!("{} is not NAME=SPEED, such as fast=2 or n3=0.5", Quoted(text));
        let (name, speed) = text.split_once('=').ok_or_else(wrong)?;
        let (name, speed) = (name.trim(), speed.trim().parse().map_err(|_| wrong())?);
        if name.is_empty() {
            return Err(wrong());
        }
        check_speed(name, speed)?;
        Ok(NodeSpeed { name: name.to_owned(), speed })
    }
}

/// Checks a given speed.
///
/// # Errors
/// If it is out of range.
pub(crate) fn check_speed(name: &str, speed: f64) -> Result<(), String> {
    if SPEEDS.contains(&speed) {
        return Ok(());
    }
    let (from, to) = (SPEEDS.start(), SPEEDS.end());
    Err(format!("the speed of {} is {}, but must be from {from} to {to}", Quoted(name), Plain(speed)))
}

/// Gives nodes their speeds. The speed of a node's name outranks those of its features. A node that none of them concerns keeps
/// its speed.
///
/// # Errors
/// If the features of a node have different speeds.
pub fn give_speeds(nodes: &mut [NodeOffer], speeds: &Speeds) -> Result<(), String> {
    for node in nodes {
        if let Some(speed) = speeds.get(&node.name) {
            node.speed = *speed;
            continue;
        }
        let mut of_features = node.features.iter().filter_map(|name| Some((name, *speeds.get(name)?)));
        let Some((first, speed)) = of_features.next() else { continue };
        if let Some((other, different)) = of_features.find(|(_, other)| *other != speed) {
            return Err(format!(
                "node {} has the features {first} of speed {} and {other} of speed {}: give the speed of the node by its name, \
                 such as {}={}",
                node.name,
                Plain(speed),
                Plain(different),
                node.name,
                Plain(speed)
            ));
        }
        node.speed = speed;
    }
    Ok(())
}

/// Returns an error about the first name that is neither a node nor a feature of a node.
///
/// # Errors
/// If there is such a name.
pub fn check_names(nodes: &[NodeOffer], speeds: &Speeds) -> Result<(), String> {
    let is_known = |name: &String| nodes.iter().any(|node| node.name == *name || node.features.contains(name));
    let Some(unknown) = speeds.keys().find(|name| !is_known(name)) else { return Ok(()) };
    let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
    let features = features_of(nodes);
    let features = if features.is_empty() {
        "nodes have no features".to_owned()
    } else {
        format!("the features are {}", features.join(", "))
    };
    Err(format!("{unknown:?} is neither a node nor a feature of one: the nodes are {}; {features}", names.join(", ")))
}

/// Returns the features of nodes, sorted, each once.
pub(crate) fn features_of(nodes: &[NodeOffer]) -> Vec<&str> {
    let mut features: Vec<&str> = nodes.iter().flat_map(|node| &node.features).map(String::as_str).collect();
    features.sort_unstable();
    features.dedup();
    features
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, features: &[&str]) -> NodeOffer {
        let mut nodes = super::super::parse_nodes(Some(&format!("{name}:1"))).unwrap();
        nodes[0].features = features.iter().map(|name| (*name).to_owned()).collect();
        nodes.remove(0)
    }

    fn speeds(pairs: &[(&str, f64)]) -> Speeds {
        pairs.iter().map(|(name, speed)| ((*name).to_owned(), *speed)).collect()
    }

    #[test]
    fn a_nodes_name_outranks_its_features() {
        let mut nodes = [node("n1", &["fast", "ssd"]), node("n2", &["fast"]), node("n3", &["slow"]), node("n4", &[])];
        give_speeds(&mut nodes, &speeds(&[("fast", 2.0), ("ssd", 2.0), ("n2", 3.0), ("slow", 0.5)])).unwrap();
        assert_eq!(nodes.each_ref().map(|node| node.speed), [2.0, 3.0, 0.5, 1.0]);
    }

    #[test]
    fn features_of_different_speeds_are_an_error() {
        let mut nodes = [node("n1", &["fast", "old"])];
        let given = speeds(&[("fast", 2.0), ("old", 0.5)]);
        let error = give_speeds(&mut nodes, &given).unwrap_err();
        assert!(
            error.contains("n1") && error.contains("fast of speed 2") && error.contains("old of speed 0.5"),
            "{error}"
        );
        give_speeds(&mut nodes, &speeds(&[("fast", 2.0), ("old", 0.5), ("n1", 1.5)])).unwrap();
        assert_eq!(nodes[0].speed, 1.5);
    }

    #[test]
    fn unknown_names_are_found() {
        let nodes = [node("n1", &["fast"]), node("n2", &[])];
        assert_eq!(check_names(&nodes, &speeds(&[("n2", 2.0), ("fast", 2.0)])), Ok(()));
        let error = check_names(&nodes, &speeds(&[("fats", 2.0)])).unwrap_err();
        assert_eq!(
            error,
            "\"fats\" is neither a node nor a feature of one: the nodes are n1, n2; the features are fast"
        );
    }

    #[test]
    fn a_speed_is_a_positive_number() {
        for wrong in ["fast", "=2", "fast=", "fast=x", "fast=0", "fast=-1", "fast=nan", "fast=1e9"] {
            assert!(wrong.parse::<NodeSpeed>().is_err(), "{wrong}");
        }
    }
}
