//! Placement passes decide on which node a task starts. [`job_by_job`] takes the next job and looks for a node.
//! [`by_node`] takes a node and looks for a job, or chooses the best pair of task and node. Which node is taken among
//! several possible ones is the cluster's [`Placement`](hindmost_core::cluster::Placement), a setting of the run.

pub mod by_node;
pub(crate) mod by_speed;
pub mod candidates_by_level;
pub mod job_by_job;
pub(crate) mod newly_startable;
