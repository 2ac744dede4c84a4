//! What an attempt needed: memory, CPU time, and what it read and wrote.

use serde::{Deserialize, Serialize};

/// What an attempt needed, as far as it was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Usage {
    /// Largest amount of memory, in bytes: that of the attempt's largest process, or of all its processes together at a moment at
    /// which they were looked at, whichever is more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// CPU time in seconds, in user and kernel mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_seconds: Option<f64>,
    /// Bytes that were read from storage; what was in the page cache already does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<u64>,
    /// Bytes that were written for storage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<u64>,
}

impl Usage {
    /// True if nothing was measured.
    pub fn is_empty(&self) -> bool {
        *self == Usage::default()
    }
}
