//! When nodes are lost and return.

use hindmost_core::ids::NodeId;
use hindmost_core::time::Time;

/// A time during which a node is lost. Its running attempts end when the outage begins, and their tasks are pending
/// again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    /// The node.
    pub node: NodeId,
    /// When the node is lost.
    pub from: Time,
    /// When it returns; [`Time::NEVER`] if it does not return.
    pub until: Time,
}

/// Returns the outages, sorted by node and time. Outages of one node that overlap or follow each other without a gap
/// become one.
pub(crate) fn merged(outages: &[Outage]) -> Vec<Outage> {
    let mut sorted = outages.to_vec();
    sorted.sort_unstable_by_key(|outage| (outage.node, outage.from));
    let mut merged: Vec<Outage> = Vec::with_capacity(sorted.len());
    for outage in sorted {
        match merged.last_mut() {
            Some(last) if last.node == outage.node && outage.from <= last.until => {
                last.until = last.until.max(outage.until);
            }
            _ => merged.push(outage),
        }
    }
    merged.retain(|outage| outage.from < outage.until);
    merged
}
