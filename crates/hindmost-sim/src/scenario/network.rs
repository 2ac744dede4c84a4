//! `[network]`: how long reading from other nodes takes.

use hindmost_core::time::Time;
use hindmost_math::plain::Plain;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::check::LONGEST;
use crate::network::{Assignment, Network};
use crate::size::{Bytes, LARGEST};

/// Default time for which a downstream clone waits for a second upstream output, in seconds: one slot of the
/// simulations of Xu, Liu & Lau 2022. Neither that paper nor Dolly's gives a number.
const DELAY: f64 = 5.0;

/// The network, with the keys of scenario files.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("anyOf" = [{"required": ["rack_bandwidth"]}, {"required": ["remote_bandwidth"]}]))]
pub struct NetworkSpec {
    /// Bandwidth of a copy that reads from another node of its rack, in bytes a second, such as "1GB". If left out, it
    /// is unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rack_bandwidth: Option<Bytes>,
    /// Bandwidth of a copy that reads from a node of another rack, in bytes a second, such as
    /// "100MB". If left out, it is `rack_bandwidth`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote_bandwidth: Option<Bytes>,
    /// Which upstream outputs the clones of a downstream task read.
    #[serde(default)]
    pub assignment: AssignmentName,
    /// Seconds for which a downstream clone waits for a second upstream output; unused with assignment `first`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1e10))]
    pub delay: Option<f64>,
}

/// Which upstream outputs the clones of a downstream task read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AssignmentName {
    /// All clones read the first output.
    #[default]
    First,
    /// The clones are spread over the first two outputs.
    Delay,
}

impl NetworkSpec {
    pub(super) fn check(&self) -> Result<(), String> {
        for (name, bandwidth) in [("rack_bandwidth", self.rack_bandwidth), ("remote_bandwidth", self.remote_bandwidth)]
        {
            if let Some(Bytes(bandwidth)) = bandwidth.filter(|Bytes(bytes)| !(*bytes > 0.0 && *bytes < LARGEST)) {
                let bandwidth = Plain(bandwidth);
                return Err(format!(
                    "network.{name} is {bandwidth}, but must be above 0 and below 10^15 bytes a second"
                ));
            }
        }
        if self.rack_bandwidth.is_none() && self.remote_bandwidth.is_none() {
            return Err("network needs rack_bandwidth or remote_bandwidth, such as \"100MB\" a second".to_owned());
        }
        if let (Some(rack), Some(remote)) = (self.rack_bandwidth, self.remote_bandwidth)
            && rack.0 < remote.0
        {
            return Err(format!("network.rack_bandwidth is {rack}, but must be at least remote_bandwidth, {remote}"));
        }
        match self.delay {
            Some(delay) if !(0.0..=LONGEST).contains(&delay) => {
                Err(format!("network.delay is {}, but must be from 0 to {LONGEST} seconds", Plain(delay)))
            }
            _ => Ok(()),
        }
    }

    /// Returns the network that the keys describe.
    pub fn network(&self) -> Network {
        let bandwidth = |given: Option<Bytes>| given.map_or(f64::INFINITY, |Bytes(bytes)| bytes);
        Network {
            rack_bandwidth: bandwidth(self.rack_bandwidth),
            remote_bandwidth: bandwidth(self.remote_bandwidth.or(self.rack_bandwidth)),
            assignment: match self.assignment {
                AssignmentName::First => Assignment::First,
                AssignmentName::Delay => Assignment::Delay(Time::from_seconds(self.delay.unwrap_or(DELAY))),
            },
        }
    }
}
