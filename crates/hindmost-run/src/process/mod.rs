//! Processes on this machine: which attempt they belong to, when they end, and how they are stopped.
//!
//! An attempt is a tree of processes under the *root* that [`spawn`] started in a process group of
//! its own. Members of the tree may leave the group (`timeout` does, and `setsid`) and may outlive
//! their parents, whereupon they become children of this process if it has called
//! [`adopt_orphans`], and of another one if this process has been killed. Several ways of finding them
//! complement each other:
//!
//! - downwards from the root (`tree.rs`), and by process group and session;
//! - by marks, which are inherited whatever a process does short of malice (`mark.rs`);
//! - by what their environment says (`environment.rs`);
//! - among our children, where every orphan of an attempt arrives (`orphans.rs`);
//! - by control group, where this process may make one (`cgroup.rs`).
//!
//! [`Ending`] ends an attempt: after it nothing of the attempt is left that could write.
//!
//! Nothing here trusts a pid alone: between hearing of one and using it, its process may have ended
//! and another one may have got its number. A process is told by its start time too ([`Identity`]). Nor is
//! a file trusted that names a process: only a process that [`is_proven`] to be of the attempt is adopted.
//!
//! All of this needs Linux (`/proc`, and pidfds: 5.3 or later). Elsewhere the same functions exist;
//! they find nothing, and starting or watching a process is an error that says so.

#[cfg(target_os = "linux")]
mod belonging;
#[cfg(target_os = "linux")]
mod cgroup;
#[cfg(target_os = "linux")]
mod ending;
#[cfg(target_os = "linux")]
mod environment;
mod identity;
#[cfg(target_os = "linux")]
mod mark;
#[cfg(target_os = "linux")]
mod orphans;
#[cfg(target_os = "linux")]
mod pidfd;
#[cfg(target_os = "linux")]
mod roots;
#[cfg(target_os = "linux")]
mod session;
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
pub use belonging::{find_root, is_proven};
#[cfg(target_os = "linux")]
pub use cgroup::{Group, is_of as is_group_of, remove as remove_group};
#[cfg(target_os = "linux")]
pub use ending::{Ending, Outcome, Strays, does_not_end, kill_now};
pub use identity::{Identity, boot_id};
#[cfg(target_os = "linux")]
pub(crate) use mark::own_limit;
#[cfg(target_os = "linux")]
pub use mark::{FOLDER_VARIABLE, KEY_VARIABLE, Mark, RUN_VARIABLE, Tag, WITHIN_VARIABLE, within};
#[cfg(target_os = "linux")]
pub use orphans::{abandon, adopt_orphans};
pub use roots::{adopt, spawn};
#[cfg(target_os = "linux")]
pub use session::{apart, can_start_processes, keeps_terminal};
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
