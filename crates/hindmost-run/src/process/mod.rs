//! Processes on this machine: their identity, their descendants, when they end, and how they are
//! stopped.
//!
//! An attempt is a tree of processes under the *root* that [`spawn`] started in a process group of
//! its own. Members of the tree may leave the group (`timeout` does, and `setsid`) and may outlive
//! their parents, whereupon they become children of this process if it has called
//! [`adopt_orphans`]. Three ways of finding them complement each other: downwards from the root
//! (`tree.rs`), by process group, and by what their environment says (`environment.rs`).
//!
//! Nothing here trusts a pid alone: between hearing of one and using it, its process may have ended
//! and another one may have got its number. A process is told by its start time too ([`Identity`]).
//!
//! All of this needs Linux (`/proc`, and pidfds: 5.3 or later). Elsewhere the same functions exist;
//! they find nothing, and starting or watching a process is an error that says so.

#[cfg(target_os = "linux")]
mod environment;
mod identity;
#[cfg(target_os = "linux")]
mod ours;
#[cfg(target_os = "linux")]
mod pidfd;
#[cfg(target_os = "linux")]
mod signal;
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
mod stat;
#[cfg(target_os = "linux")]
mod tree;
#[cfg(target_os = "linux")]
mod usage;
#[cfg(target_os = "linux")]
mod watcher;

#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(not(target_os = "linux"))]
pub use elsewhere::*;

#[cfg(target_os = "linux")]
pub use environment::{adopted_orphans, find_by_environment};
pub use identity::{Identity, boot_id};
#[cfg(target_os = "linux")]
pub use ours::{adopt_orphans, spawn};
#[cfg(target_os = "linux")]
pub use signal::{continue_tree, kill_tree, signal_group, stop_tree};
#[cfg(target_os = "linux")]
pub use tree::descendants;
#[cfg(target_os = "linux")]
pub use usage::{cpu_seconds, read_share};
#[cfg(target_os = "linux")]
pub use watcher::Watcher;

#[cfg(all(test, target_os = "linux"))]
mod tests;

/// What can be sent to processes. None of these can be caught or ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Ends them (`SIGKILL`).
    Kill,
    /// Halts them until they are continued or killed (`SIGSTOP`).
    Stop,
    /// Lets halted ones run again (`SIGCONT`).
    Continue,
}
