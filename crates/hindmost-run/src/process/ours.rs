//! Children of this process: which of them are attempts' roots, which are orphans of attempts, and
//! which are none of our business.
//!
//! Other code in this process may have children too and waits for them itself, so nothing may be
//! reaped but what surely belongs to an attempt. That is told by three signs:
//! - a child that [`spawn`] started: a root;
//! - a child in another process group that it doesn't lead, or in another session: children of other
//!   code are in our group, or lead one, unless they go to lengths;
//! - a descendant of an attempt that was seen as such before it became our child (`timeout`, which
//!   leads a group in our session, can't be told otherwise).

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use rustix::process::{Pid, set_child_subreaper};

use super::identity::Identity;
use super::stat::Stat;

/// How many descendants are remembered before those that are gone are forgotten.
const MANY: usize = 1024;

/// Whether orphans come to us.
static ADOPTS: AtomicBool = AtomicBool::new(false);

/// Roots that nobody has been told the end of: pid and start time.
static ROOTS: Mutex<BTreeMap<u32, u64>> = Mutex::new(BTreeMap::new());

/// Held (shared) while a process is spawned, until it is in `ROOTS`.
static SPAWNING: RwLock<()> = RwLock::new(());

/// Descendants of attempts that are or may become our children: pid and start time.
static REMEMBERED: Mutex<BTreeSet<(u32, u64)>> = Mutex::new(BTreeSet::new());

/// What is behind a lock, even if a thread panicked while it held it: no change here has a middle.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes this process adopt the orphans of its descendants, rather than the machine's first process,
/// so that what an attempt leaves behind can still be found among our children.
///
/// # Errors
///
/// If the system refuses.
pub fn adopt_orphans() -> io::Result<()> {
    set_child_subreaper(Some(Pid::INIT))?; // any pid means "yes"
    ADOPTS.store(true, Ordering::Relaxed);
    Ok(())
}

pub(super) fn adopts_orphans() -> bool {
    ADOPTS.load(Ordering::Relaxed)
}

/// Starts a process in a group of its own, and tells which one it is.
///
/// Input, output and environment are the caller's to set: an input that isn't set is our own, as
/// always with [`Command`]. The process is to be watched with [`super::Watcher`], which reaps it.
///
/// # Errors
///
/// If it can't be started, or can't be identified; it is killed then.
pub fn spawn(command: &mut Command) -> io::Result<Identity> {
    let _spawning = SPAWNING.read().unwrap_or_else(PoisonError::into_inner);
    let mut child = command.process_group(0).spawn()?;
    match Identity::of(child.id()) {
        Ok(identity) => {
            locked(&ROOTS).insert(identity.pid, identity.start_time);
            Ok(identity)
        }
        Err(error) => {
            let _ = child.kill();
            let _ = child.wait();
            Err(error)
        }
    }
}

/// Forgets a root, now that its end is told.
pub(super) fn forget_root(pid: u32, start_time: u64) {
    let mut roots = locked(&ROOTS);
    if roots.get(&pid) == Some(&start_time) {
        roots.remove(&pid);
    }
}

/// Whether it is an attempt's root that was spawned by us and whose end hasn't been told.
pub(super) fn is_root(pid: u32, start_time: u64) -> bool {
    // A child that was seen may be one that another thread is about to put among the roots.
    drop(SPAWNING.write().unwrap_or_else(PoisonError::into_inner));
    locked(&ROOTS).get(&pid) == Some(&start_time)
}

/// Leaves roots out, as far as they can be told by their pids.
pub(super) fn without_roots(mut pids: Vec<u32>) -> Vec<u32> {
    let roots = locked(&ROOTS);
    pids.retain(|pid| !roots.contains_key(pid));
    pids
}

/// Remembers that these processes belong to attempts, whoever their parents are when they end.
pub(super) fn remember<'a>(members: impl IntoIterator<Item = &'a Stat>) {
    let mut remembered = locked(&REMEMBERED);
    remembered.extend(members.into_iter().map(Stat::key));
    if remembered.len() > MANY {
        remembered.retain(|(pid, start_time)| Stat::read(*pid).is_ok_and(|stat| stat.start_time == *start_time));
    }
}

/// Whether this child of ours has come to us as an orphan of an attempt. Of a root that isn't watched
/// yet it is not said.
pub(super) fn is_adopted(child: &Stat) -> bool {
    let own = own();
    let elsewhere = child.group != own.group && (child.group != child.pid || child.session != own.session);
    elsewhere || locked(&REMEMBERED).contains(&child.key())
}

/// Forgets a descendant, now that it is reaped.
pub(super) fn forget(pid: u32, start_time: u64) {
    locked(&REMEMBERED).remove(&(pid, start_time));
}

/// Whether this process is in the group.
pub(super) fn is_own_group(group: u32) -> bool {
    own().group == group
}

/// Where this process is.
struct Own {
    group: u32,
    session: u32,
}

fn own() -> &'static Own {
    static OWN: OnceLock<Own> = OnceLock::new();
    // Not asked from the system: it says 0 if the group's leader is outside of our container, which is
    // no pid. /proc says 0 too, and as a number that is fine.
    OWN.get_or_init(|| {
        Stat::read(std::process::id())
            .map_or(Own { group: 0, session: 0 }, |stat| Own { group: stat.group, session: stat.session })
    })
}
