//! Distributions of durations.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A distribution of durations or parameters, in the unit of its parameters (seconds for durations).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// Always this value.
    Constant(f64),
    /// A sorted sample.
    Empirical(Arc<[f64]>),
}
