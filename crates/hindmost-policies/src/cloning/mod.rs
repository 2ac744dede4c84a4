//! Cloning policies start several copies of a task from the beginning, before it is known whether one of them is slow.

pub(crate) mod clone_pool;
pub mod dolly;
pub mod ese;
pub(crate) mod known_progress;
mod open_phases;
pub(crate) mod phase_deadlines;
pub mod sca;
pub mod shed;
