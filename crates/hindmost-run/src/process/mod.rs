//! Finds, watches, stops and kills the processes of attempts on this machine.
//!
//! An attempt is a tree of processes under the *root* that [`spawn`] has started in its own process group. Members of the
//! tree may leave the group (as `timeout` and `setsid` do) and may outlive their parents. Orphans become children of this
//! process if it has called [`adopt_orphans`], and children of another process if this one has been killed. Several ways of
//! finding the members complement each other:
//!
//! - downwards from the root (`tree.rs`), and by process group and session;
//! - by marks, which processes inherit unless they remove them on purpose (`mark.rs`);
//! - by environment variables (`environment.rs`);
//! - among the children of this process, which receives every orphan (`orphans.rs`);
//! - by control group, if this process may create one (`cgroup.rs`).
//!
//! An attempt is stopped in two steps: its processes get `SIGTERM` ([`terminate_tree`]), and those that are left after a time are killed.
//! [`Ending`] ends an attempt: afterwards no process of the attempt is left that could write.
//!
//! A pid alone is never trusted, because its process may have ended and the system may have reused the pid. So a process is
//! identified by its start time too ([`Identity`]). A file that names a process is not trusted either: only a process that
//! [`is_proven`] to belong to the attempt is adopted.
//!
//! All of this needs Linux (`/proc`, and pidfds: 5.3 or later). On other systems the same functions exist, but they find
//! nothing, and starting or watching a process returns an error.

#[cfg(target_os = "linux")]
mod cgroup;
mod common;
#[cfg(target_os = "linux")]
mod ending;
#[cfg(target_os = "linux")]
mod environment;
mod identity;
#[cfg(target_os = "linux")]
mod mark;
#[cfg(target_os = "linux")]
mod membership;
#[cfg(target_os = "linux")]
mod open_files;
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
mod terminating;
#[cfg(target_os = "linux")]
mod tree;
#[cfg(target_os = "linux")]
mod usage;
#[cfg(target_os = "linux")]
mod watcher;

#[cfg(not(target_os = "linux"))]
mod unsupported;
#[cfg(not(target_os = "linux"))]
pub use unsupported::*;

pub use common::{FOLDER_VARIABLE, KEY_VARIABLE, Outcome, RUN_VARIABLE, Strays, WITHIN_VARIABLE, WrittenFile};

#[cfg(target_os = "linux")]
pub use cgroup::{Group, is_of as is_group_of, remove as remove_group};
#[cfg(target_os = "linux")]
pub use ending::{Ending, does_not_end, kill_now};
pub use identity::{Identity, boot_id};
#[cfg(target_os = "linux")]
pub(crate) use mark::own_limit;
#[cfg(target_os = "linux")]
pub use mark::{Mark, Tag, within};
#[cfg(target_os = "linux")]
pub use membership::{find_root, is_proven};
#[cfg(target_os = "linux")]
pub use open_files::{in_use, written_files};
#[cfg(target_os = "linux")]
pub use orphans::{abandon, adopt_orphans};
#[cfg(target_os = "linux")]
pub use roots::{adopt, exit_code, spawn};
#[cfg(target_os = "linux")]
pub use session::{apart, can_start_processes, keeps_terminal};
#[cfg(target_os = "linux")]
pub use signal::{continue_tree, kill_tree, signal_group, stop_tree};
#[cfg(target_os = "linux")]
pub use terminating::{terminate_shell, terminate_tree};
#[cfg(target_os = "linux")]
pub use tree::descendants;
#[cfg(target_os = "linux")]
pub use usage::{cpu_seconds, read_share};
#[cfg(target_os = "linux")]
pub use watcher::Watcher;

#[cfg(all(test, target_os = "linux"))]
mod tests;

/// A signal to processes. They can't catch or ignore `Kill` and `Stop`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Ends the process (`SIGKILL`).
    Kill,
    /// Requests the process to end (`SIGTERM`), which it may handle or ignore.
    Terminate,
    /// Stops the process until it is continued or killed (`SIGSTOP`).
    Stop,
    /// Continues a stopped process (`SIGCONT`).
    Continue,
}
