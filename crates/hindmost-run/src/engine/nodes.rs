//! The nodes of engine `local`: this machine as one node, or split into named nodes.

use std::fs;

use hindmost_core::resources::{CPUS, MEMORY, parse_size};
use hindmost_core::workload::DemandByName;
use hindmost_math::plain::Quoted;

use super::NodeOffer;

/// A `--nodes` text that is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "nodes {}: {reason}; write NAME:CPUS or NAME:CPUS:MEMORY, separated by commas, as in n1:2,n2:2:4GB",
    Quoted(text)
)]
pub struct NodesError {
    text: String,
    reason: String,
}

/// Largest number of cpus of a node.
const MOST_CPUS: f64 = 1e6;

/// Returns this machine as one node, with its host name, cores and memory.
fn whole_machine() -> NodeOffer {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = if name.trim().is_empty() { "localhost" } else { name.trim() };
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut capacity = DemandByName::from([(CPUS.to_owned(), cores as f64)]);
    if let Some(bytes) = total_memory() {
        capacity.insert(MEMORY.to_owned(), bytes);
    }
    NodeOffer::new(name.to_owned(), capacity)
}

fn total_memory() -> Option<f64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok()? * 1024.0)
}

/// Returns the nodes of a text such as `n1:2,n2:2:4GB`; without a text, this machine as a single node. Nodes without a
/// memory size share the machine's memory in proportion to their cpus.
///
/// # Errors
/// If the text is not valid. The error names the wrong part and a valid form.
pub fn parse_nodes(text: Option<&str>) -> Result<Vec<NodeOffer>, NodesError> {
    let Some(text) = text else { return Ok(vec![whole_machine()]) };
    let wrong = |reason: String| NodesError { text: text.to_owned(), reason };
    let mut nodes: Vec<NodeOffer> = Vec::new();
    for part in text.split(',') {
        let mut pieces = part.trim().split(':');
        let name = pieces.next().unwrap_or_default().trim();
        if name.is_empty() || name.chars().any(|letter| letter.is_control() || letter.is_whitespace()) {
            return Err(wrong(format!("{} is not a valid node name", Quoted(name))));
        }
        if nodes.iter().any(|node| node.name == name) {
            return Err(wrong(format!("{name:?} is named twice")));
        }
        let cpus = pieces.next().map(str::trim).unwrap_or_default();
        let count: f64 = cpus.parse().unwrap_or(f64::NAN);
        if !(count > 0.0 && count <= MOST_CPUS) {
            let cpus = Quoted(cpus);
            return Err(wrong(format!("{name} has {cpus} cpus, but must have above 0 and at most {MOST_CPUS}")));
        }
        let mut capacity = DemandByName::from([(CPUS.to_owned(), count)]);
        if let Some(memory) = pieces.next() {
            let bytes = parse_size(memory.trim()).map_err(|error| wrong(format!("{name}: {error}")))?;
            capacity.insert(MEMORY.to_owned(), bytes);
        }
        if pieces.next().is_some() {
            return Err(wrong(format!("{} has too many parts", Quoted(part))));
        }
        nodes.push(NodeOffer::new(name.to_owned(), capacity));
    }
    let cpus: f64 = nodes.iter().filter_map(|node| node.capacity.get(CPUS)).sum();
    if let Some(bytes) = total_memory() {
        for node in &mut nodes {
            let share = node.capacity.get(CPUS).copied().unwrap_or(0.0) / cpus;
            node.capacity.entry(MEMORY.to_owned()).or_insert((bytes * share).floor());
        }
    }
    Ok(nodes)
}
