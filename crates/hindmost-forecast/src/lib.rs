//! What would have made recorded applications faster: replays of applications as they ran, under other policies and settings.
//!
//! 1. A log gives jobs, executors and a [`RecordedWorld`](hindmost_trace::replay::RecordedWorld).
//! 2. [`world::World`] sets up a simulation in which the policy that ran gives the recorded times.
//! 3. If it does ([`RecordedTime::calibrated`](hindmost_core::metrics::RecordedTime)), [`forecast::advice`] replays the
//!    changes of [`candidates`] in the same world, over several seeds and over everything that the log leaves open, and
//!    recommends those that help.
//!
//! A forecast is a range, because no log shows how long copies would have taken that never ran.

pub mod candidates;
mod changes;
pub mod cluster;
mod evidence;
pub mod forecast;
pub mod order;
pub mod recorded;
mod runs;
pub mod settings;
pub mod version;
mod warnings;
pub mod world;
