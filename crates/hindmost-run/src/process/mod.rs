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
//! All of this needs Linux (`/proc`, and pidfds: 5.3 or later).

mod cgroup;
mod common;
mod ending;
mod environment;
mod identity;
mod mark;
mod membership;
mod memory_kills;
mod open_files;
mod orphans;
mod pidfd;
mod roots;
mod session;
mod signal;
mod stat;
mod terminating;
mod tree;
mod usage;
mod watcher;

pub use common::{FOLDER_VARIABLE, KEY_VARIABLE, Outcome, RUN_VARIABLE, Strays, WITHIN_VARIABLE, WrittenFile};

pub use cgroup::{Group, is_of as is_group_of, remove as remove_group};
pub use ending::{Ending, does_not_end, kill_now};
pub use identity::{Identity, boot_id};
pub(crate) use mark::own_limit;
pub use mark::{Mark, Tag, within};
pub use membership::{find_root, is_proven};
pub use memory_kills::MemoryKills;
pub use open_files::{in_use, users_of, written_files};
pub use orphans::{abandon, adopt_orphans};
pub use roots::{adopt, exit_code, spawn};
pub use session::{apart, can_start_processes, keeps_terminal};
pub use signal::{continue_tree, hold_tree, kill_tree, signal_group, stop_tree};
pub use terminating::{terminate_shell, terminate_tree};
pub use tree::descendants;
pub use usage::{Memory, cpu_seconds, memory, read_share};
pub use watcher::Watcher;

#[cfg(test)]
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
