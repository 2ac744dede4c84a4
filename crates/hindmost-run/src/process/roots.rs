//! Starts the root processes of attempts, and lists the root processes that this process has started or adopted.

use std::collections::BTreeMap;
use std::io;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use rustix::process::{WaitId, WaitIdOptions, waitid};

use wait4::ResourceUsage;

use super::identity::Identity;
use super::mark::{Mark, Tag, WithMarks};
use super::pidfd;
use super::stat::Stat;

/// Root processes whose end has not been handled, by pid.
static ROOTS: Mutex<BTreeMap<u32, Root>> = Mutex::new(BTreeMap::new());

/// Locked from before a root process is started until it is in `ROOTS`. During this time this process has the attempt's
/// marks.
pub(super) static SPAWNING: Mutex<()> = Mutex::new(());

/// Number of calls of `adopt_orphans`. While it is 0, orphans become children of another process.
static ADOPTS: AtomicU32 = AtomicU32::new(0);

/// The root process of an attempt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Root {
    pub start_time: u64,
    pub tag: Tag,
    /// True for a child of this process, which keeps its pid until it is reaped; false for a root that an earlier process
    /// has started.
    pub is_child: bool,
}

/// Locks a mutex, even if a thread has panicked while it held the lock. This is safe, because each change under these locks
/// is a single step.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notes that this process receives orphans from now on.
pub(super) fn set_adopts_orphans() {
    ADOPTS.fetch_add(1, Ordering::Relaxed);
}

pub(super) fn adopts_orphans() -> bool {
    ADOPTS.load(Ordering::Relaxed) > 0
}

/// Starts the root process of an attempt with the attempt's marks, and returns its identity.
///
/// The command comes from [`super::apart`]. The caller sets input, output and environment; an input that is not set is
/// inherited, as usual with [`Command`]. After its end the process stays a zombie until [`super::Ending`] has handled it.
///
/// # Errors
///
/// If the process can't be started, or can't be identified. In the second case it is killed.
pub fn spawn(command: &mut Command, tag: Tag) -> io::Result<Identity> {
    let _spawning = locked(&SPAWNING);
    let with_marks = WithMarks::set(tag);
    let spawned = command.spawn();
    drop(with_marks);
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

/// Adopts an attempt whose root an earlier process has started. The root must be proven ([`super::is_proven`]).
pub fn adopt(root: &Identity, tag: Tag) {
    locked(&ROOTS).insert(root.pid, Root { start_time: root.start_time, tag, is_child: false });
}

/// Removes and returns a root; `None` if it is not known.
pub(super) fn take(root: &Identity) -> Option<Root> {
    let mut roots = locked(&ROOTS);
    let known = roots.get(&root.pid).copied().filter(|known| known.start_time == root.start_time)?;
    roots.remove(&root.pid);
    Some(known)
}

/// Reaps a child if it has ended, and returns its exit status; `None` if it has not ended.
pub(super) fn reap(pid: u32) -> Option<rustix::process::WaitIdStatus> {
    let number = pidfd::system_pid(pid)?;
    loop {
        match waitid(WaitId::Pid(number), WaitIdOptions::EXITED | WaitIdOptions::NOHANG) {
            Err(rustix::io::Errno::INTR) => {}
            other => return other.ok().flatten(),
        }
    }
}

/// Reaps a child as [`reap`] does, and returns its exit code, if it has one, with what it and the descendants that were waited for have
/// used; `None` if it has not ended.
pub(super) fn reap_measured(pid: u32) -> Option<(Option<i32>, ResourceUsage)> {
    let ended = wait4::try_wait4_pid(pid).ok().flatten()?;
    Some((ended.status.code(), ended.rusage))
}

/// Returns the exit code of a root process that has ended and has not been reaped, as shells report it: 128 plus the number of
/// the signal if one has killed it. `None` if it is not a child of this process, or has not ended.
pub fn exit_code(root: &Identity) -> Option<i32> {
    get(root.pid).filter(|known| known.is_child && known.start_time == root.start_time)?;
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let status = waitid(WaitId::Pid(pidfd::system_pid(root.pid)?), options).ok()??;
    status.exit_status().or_else(|| status.terminating_signal().map(|signal| 128 + signal))
}

/// Returns the root with this pid.
pub(super) fn get(pid: u32) -> Option<Root> {
    locked(&ROOTS).get(&pid).copied()
}

/// True if a root with this mark is known.
pub(super) fn is_known(mark: Mark) -> bool {
    locked(&ROOTS).values().any(|root| root.tag.attempt == mark)
}

/// Returns all roots by pid.
pub(super) fn all() -> Vec<(u32, Root)> {
    locked(&ROOTS).iter().map(|(pid, root)| (*pid, *root)).collect()
}

/// Removes roots from a list of children, including those that are being started.
pub(super) fn without_roots(mut children: Vec<u32>) -> Vec<u32> {
    // A listed child may be a root that another thread has started and not recorded yet. Wait for it.
    drop(locked(&SPAWNING));
    let roots = locked(&ROOTS);
    children.retain(|pid| roots.get(pid).is_none_or(|root| !root.is_child));
    children
}

/// The process group, session and terminal of this process.
pub(super) struct Own {
    pub group: u32,
    pub session: u32,
    /// The controlling terminal, 0 if there is none.
    pub terminal: u64,
}

pub(super) fn own() -> &'static Own {
    static OWN: OnceLock<Own> = OnceLock::new();
    // The numbers come from /proc. The system calls would return 0, which is no valid pid, if the leader of the group or
    // session is outside this container.
    OWN.get_or_init(|| {
        Stat::read(std::process::id()).map_or(Own { group: 0, session: 0, terminal: 0 }, |stat| Own {
            group: stat.group,
            session: stat.session,
            terminal: stat.terminal,
        })
    })
}
