//! hindmost-sim
