//! Finds the orphans of attempts among the children of this process, and reaps them.
//!
//! Other code in this process may have children too and waits for them, so only children that certainly belong to an
//! attempt may be reaped or killed. A child belongs to an attempt if
//! - it is in the process group or session of an attempt's root;
//! - its marks or its environment say so (`membership.rs`); children of other code have the marks of this process;
//! - it was known as a descendant of an attempt before it became a child of this process;
//! - it is in another process group that it does not lead, or in another session. Children of other code usually are in the
//!   group of this process or lead a group.
//!
//! Children that this process had before it adopted orphans never belong to an attempt.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Mutex, OnceLock};

use hindmost_core::usage::Usage;
use rustix::process::{Pid, set_child_subreaper};

use super::identity::Identity;
use super::mark::{Mark, enclosing};
use super::membership::Membership;
use super::roots::{self, locked};
use super::stat::Stat;
use super::{tree, usage};

/// Number of remembered descendants above which the ended ones are removed from the list.
const MANY: usize = 1024;

/// Children that are known orphans of attempts. They keep their pids until this process reaps them.
static ORPHANS: Mutex<BTreeMap<u32, Orphan>> = Mutex::new(BTreeMap::new());

/// Descendants of attempts that are or may become children of this process: pid and start time.
static REMEMBERED: Mutex<BTreeSet<(u32, u64)>> = Mutex::new(BTreeSet::new());

/// Children that this process had before it adopted orphans.
static BEFORE: OnceLock<BTreeSet<(u32, u64)>> = OnceLock::new();

/// A child that an attempt has left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Orphan {
    pub pid: u32,
    pub start_time: u64,
    /// Mark of the attempt that has left it behind; `None` if unknown.
    pub of: Option<Mark>,
}

/// Makes this process, instead of the machine's first process, adopt the orphans of its descendants, so that processes that
/// an attempt leaves are found among its children.
///
/// # Errors
///
/// If the system refuses.
pub fn adopt_orphans() -> io::Result<()> {
    except_children_of_now();
    set_child_subreaper(Some(Pid::INIT))?; // any pid means "yes"
    roots::set_adopts_orphans();
    Ok(())
}

/// Forgets the root process of an attempt that has ended completely. If it is a child of this process and has ended, reaps it and returns
/// its exit code, if it has one, and what the attempt has used.
pub(super) fn forget(root: &Identity) -> (Option<i32>, Usage) {
    let Some(known) = roots::take(root).filter(|known| known.is_child) else { return Default::default() };
    // The system knows them only until the process is reaped.
    let (read, written) = usage::storage_bytes(root.pid).unzip();
    let ended = roots::reap_measured(root.pid);
    if ended.is_none() {
        let orphan = Orphan { pid: root.pid, start_time: root.start_time, of: Some(known.tag.attempt) };
        locked(&ORPHANS).insert(root.pid, orphan);
    }
    let Some((code, used)) = ended else { return Default::default() };
    let cpu_seconds = Some((used.utime + used.stime).as_secs_f64());
    (code, Usage { memory: usage::own_peak(used.maxrss), cpu_seconds, read, written })
}

/// Forgets a root process that does not end.
pub fn abandon(root: &Identity) {
    forget(root);
}

/// Records the current children, once, as children that do not belong to attempts.
fn except_children_of_now() {
    BEFORE.get_or_init(|| {
        let children = roots::without_roots(tree::our_children());
        children.into_iter().filter_map(|pid| Stat::read(pid).ok()).map(|stat| stat.key()).collect()
    });
}

/// Records that these processes belong to attempts, so that they are recognised when their parents have ended.
pub(super) fn remember<'a>(members: impl IntoIterator<Item = &'a Stat>) {
    let mut remembered = locked(&REMEMBERED);
    remembered.extend(members.into_iter().map(Stat::key));
    if remembered.len() > MANY {
        remembered.retain(|(pid, start_time)| Stat::read(*pid).is_ok_and(|stat| stat.start_time == *start_time));
    }
}

/// Returns the running orphans, and reaps those that have ended.
pub(super) fn sweep() -> Vec<Orphan> {
    // An orphan that has ended may have left orphans, which are children of this process now: list again.
    loop {
        let (running, reaped) = list_and_reap();
        if !reaped {
            return running;
        }
    }
}

/// Reaps the orphans that have ended. Returns the running orphans, and whether any was reaped.
fn list_and_reap() -> (Vec<Orphan>, bool) {
    let (mut running, mut reaped) = (Vec::new(), false);
    if !roots::adopts_orphans() {
        return (running, reaped);
    }
    let children = roots::without_roots(tree::our_children());
    let listed: BTreeSet<u32> = children.iter().copied().collect();
    // Other code may have reaped some orphans, or the system if SIGCHLD is ignored.
    locked(&ORPHANS).retain(|pid, _| listed.contains(pid));
    for pid in children {
        let known = locked(&ORPHANS).get(&pid).copied();
        let Some(orphan) = known.or_else(|| identify(pid)) else { continue };
        if roots::reap(pid).is_some() {
            reaped = true;
            locked(&ORPHANS).remove(&pid);
            locked(&REMEMBERED).remove(&(pid, orphan.start_time));
        } else {
            locked(&ORPHANS).insert(pid, orphan);
            running.push(orphan);
        }
    }
    (running, reaped)
}

/// Records that an orphan belongs to this attempt.
pub(super) fn claim(orphan: &Orphan, attempt: Mark) {
    if let Some(known) = locked(&ORPHANS).get_mut(&orphan.pid) {
        known.of = Some(attempt);
    }
}

/// Identifies a child that is not a root; `None` if it does not belong to an attempt.
fn identify(pid: u32) -> Option<Orphan> {
    let stat = Stat::read(pid).ok()?;
    if BEFORE.get().is_some_and(|before| before.contains(&stat.key())) {
        return None;
    }
    let orphan = |of| Some(Orphan { pid, start_time: stat.start_time, of });
    // The system does not reuse the number of a group or session that has a member.
    let leaders = [stat.group, stat.session].map(roots::get);
    if let Some(root) = leaders.into_iter().flatten().find(|root| root.is_child) {
        return orphan(Some(root.tag.attempt));
    }
    if let Some(membership) = Membership::of(&stat) {
        let of = membership.find(|mark| roots::is_known(mark).then_some(mark));
        let marked = membership.marks.attempt;
        if of.is_some() || (marked.is_some() && marked != enclosing().own) {
            return orphan(of);
        }
    }
    let own = roots::own();
    let is_outside = stat.group != own.group && (stat.group != stat.pid || stat.session != own.session);
    if is_outside || locked(&REMEMBERED).contains(&stat.key()) { orphan(None) } else { None }
}
