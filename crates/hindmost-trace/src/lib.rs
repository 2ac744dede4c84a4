//! hindmost-trace
