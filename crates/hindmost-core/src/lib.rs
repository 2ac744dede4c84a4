//! The model, the cluster's state, the policies and the optimisation problems behind Hindmost.

pub mod distribution;
pub mod time;
pub mod workload;
