//! The roots of attempts that this process runs, and how they are started.

use std::collections::BTreeMap;
use std::io;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use rustix::process::{WaitId, WaitIdOptions, waitid};

use super::identity::Identity;
use super::mark::{Mark, Tag, Worn};
use super::pidfd;
use super::stat::Stat;

/// Roots of attempts whose end has not been dealt with, by pid.
static ROOTS: Mutex<BTreeMap<u32, Root>> = Mutex::new(BTreeMap::new());

/// Held while a process is started, until it is in `ROOTS`: it has to be the only one to wear an
/// attempt's marks.
pub(super) static SPAWNING: Mutex<()> = Mutex::new(());

/// How many times orphans were asked for; none come to us before.
static ADOPTS: AtomicU32 = AtomicU32::new(0);

/// A root.
#[derive(Clone, Copy, Debug)]
pub(super) struct Root {
    pub start_time: u64,
    pub tag: Tag,
    /// True of a child of ours, which keeps its pid until we reap it; false of one that an earlier
    /// process has started.
    pub is_child: bool,
}

/// What is behind a lock, even if a thread panicked while it held it: no change here has a middle.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on orphans come to this process.
pub(super) fn orphans_come() {
    ADOPTS.fetch_add(1, Ordering::Relaxed);
}

pub(super) fn adopts_orphans() -> bool {
    ADOPTS.load(Ordering::Relaxed) > 0
}

/// Starts the root of an attempt, with the attempt's marks, and says which process it is.
///
/// The command comes from [`super::apart`]. Input, output and environment are the caller's to set: an
/// input that isn't set is our own, as always with [`Command`]. The process stays a zombie after its end
/// until [`super::Ending`] has dealt with it.
///
/// # Errors
///
/// If it can't be started, or can't be identified; it is killed then.
pub fn spawn(command: &mut Command, tag: Tag) -> io::Result<Identity> {
    let _spawning = locked(&SPAWNING);
    let worn = Worn::put_on(tag);
    let spawned = command.spawn();
    drop(worn);
    let mut child = spawned?;
    match Identity::of(child.id()) {
        Ok(identity) => {
            let root = Root { start_time: identity.start_time, tag, is_child: true };
            locked(&ROOTS).insert(identity.pid, root);
            Ok(identity)
        }
        Err(error) => {
            let _ = child.kill();
            let _ = child.wait();
            Err(error)
        }
    }
}

/// Takes over an attempt whose root an earlier process has started, and which [`super::is_proven`] to be one.
pub fn adopt(root: &Identity, tag: Tag) {
    locked(&ROOTS).insert(root.pid, Root { start_time: root.start_time, tag, is_child: false });
}

/// Takes out a root: what was known of it.
pub(super) fn take(root: &Identity) -> Option<Root> {
    let mut roots = locked(&ROOTS);
    let known = roots.get(&root.pid).copied().filter(|known| known.start_time == root.start_time)?;
    roots.remove(&root.pid);
    Some(known)
}

/// Reaps a child if it has ended: how.
pub(super) fn reap(pid: u32) -> Option<rustix::process::WaitIdStatus> {
    let number = pidfd::system_pid(pid)?;
    loop {
        match waitid(WaitId::Pid(number), WaitIdOptions::EXITED | WaitIdOptions::NOHANG) {
            Err(rustix::io::Errno::INTR) => {}
            other => return other.ok().flatten(),
        }
    }
}

/// The root with this pid.
pub(super) fn get(pid: u32) -> Option<Root> {
    locked(&ROOTS).get(&pid).copied()
}

/// Whether a root with this mark is known.
pub(super) fn is_known(mark: Mark) -> bool {
    locked(&ROOTS).values().any(|root| root.tag.attempt == mark)
}

/// All roots.
pub(super) fn all() -> Vec<(u32, Root)> {
    locked(&ROOTS).iter().map(|(pid, root)| (*pid, *root)).collect()
}

/// Leaves roots out, those that are just being started included.
pub(super) fn without_roots(mut children: Vec<u32>) -> Vec<u32> {
    // A child that was seen may be one that another thread is about to put among the roots.
    drop(locked(&SPAWNING));
    let roots = locked(&ROOTS);
    children.retain(|pid| roots.get(pid).is_none_or(|root| !root.is_child));
    children
}

/// Where this process is.
pub(super) struct Own {
    pub group: u32,
    pub session: u32,
    /// The controlling terminal, 0 if there is none.
    pub terminal: u64,
}

pub(super) fn own() -> &'static Own {
    static OWN: OnceLock<Own> = OnceLock::new();
    // Not asked from the system: it says 0 if the group's leader is outside of our container, which is
    // no pid. /proc says 0 too, and as a number that is fine.
    OWN.get_or_init(|| {
        Stat::read(std::process::id()).map_or(Own { group: 0, session: 0, terminal: 0 }, |stat| Own {
            group: stat.group,
            session: stat.session,
            terminal: stat.terminal,
        })
    })
}
