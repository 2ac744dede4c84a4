//! Cloning policies start several copies of a task from the beginning, before it is known whether one of them is slow.

pub(crate) mod clone_pool;
pub mod dolly;
pub mod ese;
pub mod sca;
