//! Recorded executors as nodes of a simulated cluster.

use std::collections::BTreeMap;

use hindmost_core::resources::Resources;
use hindmost_sim::driver::NodeDisturbances;
use hindmost_sim::experiment::{NodeKind, Racks};
use hindmost_sim::parameter::Parameter;
use hindmost_trace::replay::RecordedNode;

/// Returns a node with this name, capacity and speed factor.
pub fn node(name: &str, capacity: Resources, speed: f64) -> NodeKind {
    NodeKind {
        count: 1,
        name: name.to_owned(),
        numbered: false,
        capacity,
        speed: Parameter::Number(speed),
        measured_speed: None,
        racks: Racks::None,
        disturbances: NodeDisturbances::default(),
        power: None,
    }
}

/// Returns an executor as a node: a slot is one cpu. Its name ends with its host, so that policies know which executors share one.
pub fn of_executor(found: &RecordedNode) -> NodeKind {
    let mut capacity = Resources::NONE;
    capacity.0[0] = u64::from(found.slots.max(1)) * Resources::ONE_SLOT.0[0];
    let is_named = found.host.is_empty() || found.name.ends_with(&found.host);
    let name = if is_named { found.name.clone() } else { format!("{}@{}", found.name, found.host) };
    node(&name, capacity, 1.0)
}

/// Numbers the nodes that have the same name, so that all names differ.
pub fn with_unique_names(nodes: impl Iterator<Item = NodeKind>) -> Vec<NodeKind> {
    let mut nodes: Vec<NodeKind> = nodes.collect();
    let mut names = BTreeMap::<String, u32>::new();
    for node in &nodes {
        *names.entry(node.name.clone()).or_default() += 1;
    }
    for node in &mut nodes {
        node.numbered = names[&node.name] > 1;
    }
    nodes
}
