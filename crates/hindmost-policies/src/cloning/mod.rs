//! Cloning: copies of a task that start before anything is known of the first.

pub(crate) mod clone_pool;
pub mod dolly;
pub mod ese;
pub mod sca;
