//! `[[cluster.outage]]`: when nodes are lost and return.

use hindmost_core::ids::NodeId;
use hindmost_core::time::Time;
use hindmost_math::plain::{Plain, Quoted};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ClusterSpec;
use super::check::LONGEST;
use crate::driver::Outage;

/// Most outages. Every outage is an event, so a larger number is a mistake.
const MOST_OUTAGES: usize = 10_000_000;

/// An outage of a node, with the keys of scenario files. The attempts that run on the node when it is lost end, and
/// their tasks start again from their beginning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutageSpec {
    /// Name of the node, such as "machine-3" or "node-0": the name of its class and its number over all classes, from 0.
    pub node: String,
    /// When the node is lost, in seconds.
    #[schemars(range(min = 0, max = 1e10))]
    pub at: f64,
    /// Seconds until it returns; if left out, it does not return.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0), range(max = 1e10))]
    pub duration: Option<f64>,
}

impl ClusterSpec {
    /// Returns the outages, with the nodes' numbers.
    ///
    /// # Errors
    /// If a time is not valid or a node does not exist; the message names the entry.
    pub fn outages(&self) -> Result<Vec<Outage>, String> {
        if self.outage.len() > MOST_OUTAGES {
            return Err(format!("cluster.outage has {} entries, but at most {MOST_OUTAGES}", self.outage.len()));
        }
        let outages = self.outage.iter().enumerate().map(|(entry, outage)| {
            let wrong = |error: String| format!("cluster.outage, entry {}: {error}", entry + 1);
            if !(0.0..=LONGEST).contains(&outage.at) {
                return Err(wrong(format!("at is {}, but must be from 0 to {LONGEST} seconds", Plain(outage.at))));
            }
            if let Some(duration) = outage.duration.filter(|seconds| !(*seconds > 0.0 && *seconds <= LONGEST)) {
                let duration = Plain(duration);
                return Err(wrong(format!(
                    "duration is {duration}, but must be above 0 and at most {LONGEST} seconds"
                )));
            }
            let node = self.node_of_name(&outage.node).ok_or_else(|| {
                let names = self.first_and_last_name();
                wrong(format!("there is no node {}{names}", Quoted(&outage.node)))
            })?;
            let from = Time::from_seconds(outage.at);
            let until = outage.duration.map_or(Time::NEVER, |duration| from + Time::from_seconds(duration));
            Ok(Outage { node, from, until })
        });
        outages.collect()
    }

    /// Returns the name and the number of nodes of each class, in the order of the nodes' numbers.
    fn classes(&self) -> impl Iterator<Item = (&str, u32)> {
        let machines = self.machines.map(|count| ("machine", count));
        machines.into_iter().chain(self.nodes.iter().map(|class| (class.prefix(), class.count)))
    }

    fn node_of_name(&self, name: &str) -> Option<NodeId> {
        let (prefix, digits) = name.rsplit_once('-')?;
        let number: u32 = digits.parse().ok().filter(|number: &u32| number.to_string() == digits)?;
        let mut first = 0;
        for (class, count) in self.classes() {
            if class == prefix && (first..first + count).contains(&number) {
                return Some(NodeId(number));
            }
            first += count;
        }
        None
    }

    /// Returns ": the nodes are called … to …"; empty for a cluster without nodes.
    fn first_and_last_name(&self) -> String {
        let nodes: u32 = self.classes().map(|(_, count)| count).sum();
        let (Some((first, _)), Some((last, _))) = (self.classes().next(), self.classes().last()) else {
            return String::new();
        };
        format!(": the nodes are called {first}-0 to {last}-{}", nodes.saturating_sub(1))
    }
}
