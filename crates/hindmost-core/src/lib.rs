//! The kernel of Hindmost: the cluster's state, the records that change it, and what a policy is.
//!
//! Data goes one way: a driver (simulated, live or replaying) tells the [`cluster::Cluster`] what
//! happened in [`record`]s; a [`policy::Policy`] observes them and decides; its decisions are records
//! again. [`session`] is that step, the same for every driver. The [`journal`] is their sequence, and [`verify`] checks that it gives the same decisions
//! again. Nothing here opens files or sockets, and nothing names a published policy.

pub mod cluster;
pub mod estimator;
pub mod explain;
pub mod id_set;
pub mod ids;
pub mod journal;
pub mod metrics;
pub mod names;
pub mod policy;
pub mod random;
pub mod reasons;
pub mod record;
pub mod reproduction;
pub mod resources;
pub mod session;
pub mod submission_queues;
pub mod time;
pub mod timeline;
pub mod verify;
pub mod workload;
