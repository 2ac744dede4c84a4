//! The model, the cluster's state, the policies and the optimisation problems behind Hindmost.
//!
//! Data goes one way: a driver (simulated, live or replaying) tells the [`cluster::Cluster`] what
//! happened in [`record`]s; a [`policy::Policy`] observes them and decides; its decisions are records
//! again. The [`journal`] is their sequence, and [`verify`] checks that it gives the same decisions
//! again. Nothing here opens files or sockets.

pub mod cluster;
pub mod distribution;
pub mod estimator;
pub mod explain;
pub mod fit;
mod id_set;
pub mod ids;
pub mod journal;
pub mod metrics;
pub mod numeric;
pub mod overhead;
pub mod plain;
pub mod policy;
pub mod queues;
pub mod random;
pub mod reasons;
pub mod record;
pub mod reproduction;
pub mod resources;
pub mod suggest;
pub mod theory;
pub mod time;
pub mod timeline;
pub mod verify;
pub mod workload;
